# SPDX-License-Identifier: Apache-2.0
"""Every allocation refused in turn. Of a start: a message and exit status 1. Of a request: 503 for this one, and nothing
for any other. Never a crash, a leak or a sanitizer's finding.

TEST_LONG=faults tries every allocation of a start, which takes a minute (three under AddressSanitizer); else the first,
the last and some between.
"""
import os
import random
import re

import pytest

import effort
import brigade
import http_client
from brigade import wait_until
from memory_site import is_stock

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(is_stock(), reason="built with stock APR pools")]
COMPLETE = effort.everything("faults")
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
        for _ in range(5):
            try:
                return self._start(fault)
            except AssertionError:
                if b"ddress already in use" not in self.server.error_log():
                    raise
        raise AssertionError("no port was free")

    def _start(self, fault):
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
@pytest.mark.slow
def test_each_allocation_of_a_start(serve, scope):
    start = Start(serve, scope)
    count = start.count()
    assert count > (5 if scope == "log" else 100)
    print(f"{scope}: {count} allocations")
    for n in chosen(count, 20, 60):
        start(f"nth={n}")


def test_environment(serve):
    """Names what scopes begin with, and what they use where the configuration says nothing."""
    server = serve.unstarted("MemorySystem connection system\n")
    server.env.update(BRIGADE_MEMORY="trivial", BRIGADE_MEMORY_LOG="guard")
    shown = server.run("-t", "-D", "DUMP_MEMORY").stdout.decode()
    assert re.search(r"^  process +trivial\(", shown, re.M), shown
    assert re.search(r"^  connection +system$", shown, re.M), shown
    assert re.search(r"^  log +guard\(", shown, re.M), shown
    server.env["BRIGADE_MEMORY_LOG"] = "nonsense"
    refused = server.run("-t")
    assert refused.returncode == 1
    assert b'BRIGADE_MEMORY_LOG: unknown memory system "nonsense"; there are arena(' in refused.stderr


# ---- requests ----

SITE = {
    "a.txt": "hello\n",
    "dir/index.html": "index",
    "list/a": "", "list/bb.txt": "",
    "part.shtml": 'part of <!--#echo var="DOCUMENT_NAME" -->\n',
    "page.shtml": '<!--#set var="a" value="b$QUERY_STRING" --><!--#if expr="v(\'a\') =~ /b/" -->yes<!--#else -->no'
                  '<!--#endif --><!--#include virtual="part.shtml" --><!--#include virtual="/a.txt" -->'
                  '<!--#include file="a.txt" --><!--#echo var="a" --><!--#fsize file="a.txt" -->\n',
    "ht/.htaccess": 'Header set A b\nAddType text/x-y .txt\n<If "%{QUERY_STRING} =~ /x/">\nHeader set X y\n</If>\n'
                    "ErrorDocument 503 /e503.html\n",
    "ht/a.txt": "hello\n" * 20000,
    "e503.html": "503, says a page",
}
RANGES = [("Range", "bytes=0-1,3-4")]
# name: target, fields, least number of allocations that it must take
REQUESTS = {
    "static": ("/a.txt?x", (), 8),
    "page": ("/page.shtml?x", (), 120),
    "index": ("/dir/?x", (), 20),
    "redirect": ("/dir?x", (), 5),
    "list": ("/list/?x", (), 60),
    "none": ("/none?x", (), 5),
    "ranges": ("/a.txt?x", RANGES, 15),
    "htaccess": ("/ht/a.txt?x", (), 12),  # what a loop knows of a folder is not of the request's memory
}
LEARNT = 8  # so many allocations more are of a request by which a loop learns something
INCLUDES = """LogFormat "%V %{allocs}M" m
CustomLog logs/access m
<Directory @ROOT@/htdocs>
    Options +Includes
    AddOutputFilter INCLUDES .shtml
</Directory>
"""


def without_names(body):
    """Multipart boundaries and host names differ from request to request."""
    return re.sub(rb"--[0-9a-f]+|\bn\d+\b|\bwhole\b", b"", body)


def host(name, n, kind):
    system = f"MemorySystem request fault(nth={n}) {kind}\n" if n else ""
    return f"<VirtualHost *:@PORT@>\nServerName {name}\n{system}</VirtualHost>\n"


@pytest.mark.parametrize("name, kind", [*((name, "system") for name in REQUESTS), ("static", "arena"), ("page", "arena")])
def test_each_allocation_of_a_request(serve, name, kind):
    """A virtual host for each: its first request is refused its Nth allocation."""
    target, fields, least = REQUESTS[name]
    server = serve(INCLUDES + host("whole", 0, kind), SITE)
    expected = server.get(target, fields, host="whole")
    line = server.wait_for_log(r"whole (\d+)\n", "logs/access")
    count = int(line[1])
    server.stop()
    server = serve(INCLUDES + host("whole", 0, kind) + "".join(host(f"n{n}", n, kind) for n in range(1, count + 1)), SITE)
    before = server.children()
    refused = []
    for n in range(1, count + 1):
        answer = server.get(target, fields, host=f"n{n}")
        if answer.status == 503:
            assert b"503" in answer.body
            refused.append(n)
        else:
            assert answer.status == expected.status, n
            assert without_names(answer.body) == without_names(expected.body), n
        assert server.get("/a.txt", host="whole").body == b"hello\n"
    made = next(n for n in range(1, count + 2) if n not in refused)  # from here on the response was made already,
    assert max(refused) < made + LEARNT  # but where a request is the one by which the loop learns something of the folder
    assert len(refused) >= least
    for n in refused[::10]:
        answer = server.get(target, fields, host=f"n{n}")
        assert answer.status == expected.status and without_names(answer.body) == without_names(expected.body)
    assert server.children() == before


@pytest.mark.parametrize("scope", ["request", "connection", "bucket"])
def test_first_allocations(serve, scope):
    """What comes before the virtual host of a request is known, and what belongs to its connection."""
    for n in range(1, 60, 1 if COMPLETE else 6):
        server = serve(f"EventLoops 1\nMemorySystem {scope} fault(nth={n}) system\n" + INCLUDES, SITE)
        before = server.children()
        answers = [server.get(target).status for target in ("/a.txt", "/page.shtml?x")]
        assert set(answers) <= {200, 503}, (n, answers)
        if scope == "request" and n < 30:
            assert answers[0] == 503
        assert server.get("/a.txt").status == 200
        assert server.children() == before
        assert server.stop() == 0
