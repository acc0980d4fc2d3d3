# SPDX-License-Identifier: Apache-2.0
"""Files on which another process has a lease, as file servers have: the kernel asks it to give that up."""
import fcntl
import os
import signal
import time

import pytest

from brigade import wait_until

pytestmark = pytest.mark.only("brigade")
F_SETLEASE = 1024


class Lease:
    """A write lease that is given up when the kernel asks."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR)
        self.asked = 0
        self.old = signal.signal(signal.SIGIO, self.give_up)
        try:
            fcntl.fcntl(self.fd, F_SETLEASE, fcntl.F_WRLCK)
        except OSError as e:
            pytest.skip(f"no lease here: {e}")

    def give_up(self, *_):
        self.asked += 1
        fcntl.fcntl(self.fd, F_SETLEASE, fcntl.F_UNLCK)

    def close(self):
        signal.signal(signal.SIGIO, self.old)
        os.close(self.fd)


@pytest.mark.parametrize("options", ["", "Options -FollowSymLinks\n", "ServerLimit 1\nThreadsPerChild 1\n"])
def test_a_file_with_a_lease(serve, options):
    server = serve(("<Directory @ROOT@/htdocs>\n%s</Directory>\n" % options) if "Options" in options else options, {"a.txt": "content", "page.shtml": "x"})
    lease = Lease(server.path("htdocs/a.txt"))
    try:
        began = time.monotonic()
        response = server.get("/a.txt")
        assert (response.status, response.body) == (200, b"content")
        assert lease.asked == 1 and time.monotonic() - began < 20
        assert server.get("/a.txt").body == b"content"
    finally:
        lease.close()
    wait_until(lambda: server.get("/page.shtml").status == 200, "the server to go on")
