# SPDX-License-Identifier: Apache-2.0
"""Folders that become symbolic links between the look at a path and the open of its file."""
import os
import pwd
import subprocess
import sys

import pytest

from brigade import BINARY, is_apache, unprivileged_user

CONFIG = "" if is_apache(BINARY) else "FileCacheEntries 0\n"
CONFIG += "MaxKeepAliveRequests 0\n"
SECONDS = 3
SECRET = "secret of another"


# Exchange two names as fast as can be, until the end of the time.
SWAPPER = """
import ctypes, os, sys, time
libc, until = ctypes.CDLL(None), time.monotonic() + float(sys.argv[1])
d, link = (os.path.join(sys.argv[2], name).encode() for name in ("d", "link"))
while time.monotonic() < until:
    for _ in range(100):
        libc.renameat2(-100, d, -100, link, 2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", ["SymLinksIfOwnerMatch", "None"])
@pytest.mark.parametrize("target", ["/pub/d/f.txt", "/pub/d/"], ids=["file", "index"])
def test_a_link_that_is_not_allowed_leaks_nothing(serve, options, target):
    server = serve(f"{CONFIG}DirectoryIndex f.txt\n<Directory @ROOT@/htdocs>\nOptions {options}\n</Directory>\n"
                   f"<Directory @ROOT@/other>\nOptions {options}\nRequire all granted\n</Directory>\n")
    server.write("other/secret/f.txt", SECRET, base="")
    server.write("pub/d/f.txt", "harmless")
    os.symlink(server.path("other/secret"), server.path("htdocs/pub/link"))
    if os.geteuid() == 0:
        os.lchown(server.path("htdocs/pub/link"), pwd.getpwnam(unprivileged_user()).pw_uid, -1)
    elif options != "None":
        pytest.skip("needs root: the link has to have another owner")
    bodies = {}
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, str(SECONDS), server.path("htdocs/pub")])
    with server.connect() as c:
        while swapper.poll() is None:
            c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            for _ in range(50):
                r = c.read_response()
                what = r.body if r.status == 200 else r.status
                bodies[what] = bodies.get(what, 0) + 1
    assert SECRET.encode() not in bodies, bodies
    assert b"harmless" in bodies and set(bodies) <= {b"harmless", 403, 404}, bodies


@pytest.mark.parametrize("owner,status", [("same", 200), ("other", 403)])
def test_links_of_the_same_owner_are_followed(serve, owner, status):
    server = serve("<Directory @ROOT@/htdocs>\nOptions SymLinksIfOwnerMatch\n</Directory>\n"
                   "<Directory @ROOT@/htdocs/pub/real/free>\nOptions FollowSymLinks\n</Directory>\n", {"pub/real/f.txt": "F"})
    os.symlink("real", server.path("htdocs/pub/link"))
    os.symlink("f.txt", server.path("htdocs/pub/real/l.txt"))
    if owner == "other":
        if os.geteuid():
            pytest.skip("needs root")
        for name in ("link", "real/l.txt"):
            os.lchown(server.path("htdocs/pub", name), pwd.getpwnam(unprivileged_user()).pw_uid, -1)
    for target in ("/pub/link/f.txt", "/pub/real/l.txt", "/pub/link/l.txt"):
        for _ in range(3):
            assert server.get(target).status == status, target
    assert server.get("/pub/real/f.txt").body == b"F"
