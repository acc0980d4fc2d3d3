# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a start refused in turn: a message and exit status 1, and never a crash.

TEST_FAULTS=all tries every allocation of a start, which takes long; else the first, the last and some between.
"""
import os
import random

import pytest

import brigade
import http_client
from brigade import wait_until

pytestmark = pytest.mark.only("brigade")
COMPLETE = os.environ.get("TEST_FAULTS") == "all"
CONFIG = """ErrorDocument 404 "none"
LogFormat "%h %s" short
CustomLog logs/access short
AddOutputFilter INCLUDES .shtml
<IfModule alias_module>
    Alias /a/ @ROOT@/htdocs/b/
</IfModule>
<VirtualHost *:@PORT@>
    ServerName one.test
    <Location /private>
        Require expr %{HTTP_HOST} =~ /test/
    </Location>
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName two.test
    Header set X-A "b"
    <FilesMatch "\\.x$">
        ForceType text/x-x
    </FilesMatch>
</VirtualHost>
"""


class Start:
    """One start after the other, in the same folder."""

    def __init__(self, serve, scope):
        self.server = serve.unstarted(CONFIG, {"a.txt": "hello\n"})
        self.variable = "BRIGADE_MEMORY_" + scope.upper()
        self.scope = scope

    def _remove_logs(self):
        for name in ("error_log", "stderr"):
            try:
                os.remove(self.server.path("logs", name))
            except FileNotFoundError:
                pass

    def __call__(self, fault):
        """Start with a memory system that refuses; whether it served. What else it may do is to end with a message."""
        server = self.server
        self._remove_logs()
        server.env[self.variable] = f"fault({fault}) arena"
        server.port = brigade.free_port()
        server.write_config()
        server._spawn()
        try:
            served = server._ready() and self._answered()
        finally:
            status = server.stop()
        log = server.error_log().decode(errors="replace")
        server.check_logs()
        refused = f'out of memory in scope {self.scope}, memory system "fault(' in log
        allowed = (0, 1) if served and refused else (0,) if served else (1,)  # an end allocates as well
        assert status in allowed and (served or refused), f"{fault}: status {status}\n{log[-4000:]}"
        return served

    def _answered(self):
        """Whether a server process came up: the sockets are there before it. One that was refused memory when it served
        already has a successor, which in this case fares no better."""
        def settled():
            if self.server.process.poll() is not None:
                return "ended"
            if b"ended unexpectedly with status 1\n" in self.server.error_log():
                return b"hello\n"
            try:
                return self.server.get("/a.txt").body
            except (OSError, http_client.Truncated):
                return None
        return wait_until(settled, "an answer or an end") == b"hello\n"

    def count(self):
        """How many allocations a start makes: the largest N so that it fails when everything from the Nth on does."""
        low, high = 0, 1
        while not self(f"from={high}"):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if self(f"from={middle}"):
                high = middle
            else:
                low = middle
        return low


def chosen(count, ends, between):
    if COMPLETE or count <= 2 * ends + between:
        return range(1, count + 1)
    middle = random.Random(count).sample(range(ends + 1, count - ends + 1), between)
    return [*range(1, ends + 1), *sorted(middle), *range(count - ends + 1, count + 1)]


@pytest.mark.parametrize("scope", ["process", "configuration", "log"])
def test_each_allocation_of_a_start(serve, scope):
    start = Start(serve, scope)
    count = start.count()
    assert count > (5 if scope == "log" else 100)
    print(f"{scope}: {count} allocations")
    for n in chosen(count, 20, 60):
        start(f"nth={n}")
