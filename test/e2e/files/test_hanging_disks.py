# SPDX-License-Identifier: Apache-2.0
"""Files on file systems that do not answer, and files that are no files."""
import collections
import contextlib
import os
import time

import pytest

from brigade import wait_until
from fuse_fs import HangingFolder
from ssi_site import CONF

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"), reason="needs root and /dev/fuse")

CONFIG = "EventLoops 2\nFileCacheEntries 0\n"


@pytest.fixture
def hanging(serve):
    server = serve(CONFIG, {"plain.txt": "P", "hung/below.txt": "not seen"})
    try:
        folder = HangingFolder(server.path("htdocs/hung"), {"a.txt": b"A" * 100, "b.txt": b"B", "big.bin": b"x" * 300000})
    except OSError as e:
        pytest.skip(f"no FUSE here: {e}")
    with folder:
        yield server, folder


def ask(server, target):
    c = server.connect()
    c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return c


def processor_time(server):
    """Seconds, of the server's processes."""
    fields = [open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split() for pid in server.children()]
    return sum(int(f[11]) + int(f[12]) for f in fields) / os.sysconf("SC_CLK_TCK")


def serves_on(server, n=40):
    """Connections come to both loops."""
    for _ in range(n):
        began = time.monotonic()
        assert server.get("/plain.txt").body == b"P"
        assert time.monotonic() - began < 2


def test_it_serves_files_of_fuse(hanging):
    server, _ = hanging
    for _ in range(2):
        assert server.get("/hung/a.txt").body == b"A" * 100
        assert server.get("/hung/big.bin").body == b"x" * 300000
        assert server.get("/hung/nothing").status == 404


@pytest.mark.parametrize("known", [False, True], ids=["cold", "known to the kernel"])
def test_requests_for_files_that_hang_stop_nobody_else(hanging, known):
    server, folder = hanging
    if known:
        assert server.get("/hung/a.txt").body == b"A" * 100
        assert server.get("/hung/b.txt").body == b"B"
    folder.hang()
    stuck = [ask(server, target) for target in ["/hung/a.txt", "/hung/b.txt"] * 4]
    wait_until(lambda: folder.asked >= 1, "a request to come to the file system")
    serves_on(server)
    for c in stuck:
        c.close()


@pytest.mark.parametrize("sendfile", ["Off", "On"])
def test_the_rest_of_a_file_that_hangs_stops_nobody_else(serve, sendfile):
    """The response began, its client is slow, and then the disk no longer answers."""
    content = b"0123456789abcdef" * (1 << 20)
    server = serve(CONFIG + f"EnableSendfile {sendfile}\n", {"plain.txt": "P", "hung/below.txt": "not seen"})
    try:
        folder = HangingFolder(server.path("htdocs/hung"), {"huge.bin": content})
    except OSError as e:
        pytest.skip(f"no FUSE here: {e}")
    with folder:
        slow = [ask(server, "/hung/huge.bin") for _ in range(4)]
        heads = [c.read_head() for c in slow]
        assert all(h["Content-Length"] == str(len(content)) for h in heads)
        counts = []
        wait_until(lambda: counts.append(folder.asked) or time.sleep(0.1) or counts[-4:] == [folder.asked] * 4,
                   "the sockets to be full")
        before = processor_time(server)
        serves_on(server)
        time.sleep(1)
        assert processor_time(server) - before < 0.5, "clients that take nothing are waited for, though nothing tells what of the file is in memory"
        folder.hang()
        for c in slow:
            c.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                while c.socket.recv(1 << 20):
                    pass
        serves_on(server)
        for c in slow:
            c.close()


def test_fifos_and_devices_are_refused_at_once(serve):
    server = serve("", {"a.txt": "A"})
    os.mkfifo(server.path("htdocs/fifo"))
    os.mknod(server.path("htdocs/device"), 0o20644, os.makedev(5, 0))
    for target in ("/fifo", "/device"):
        assert server.get(target).status == 403


@pytest.mark.parametrize("known", [False, True], ids=["cold", "known to the kernel"])
def test_pages_that_hang_stop_nobody_else(serve, known):
    server = serve.unstarted(CONFIG + CONF, {"plain.txt": "P", "hung/below.txt": "not seen"})
    try:
        folder = HangingFolder(server.path("htdocs/hung"), {"a.shtml": b'<!--#echo var="DOCUMENT_NAME" -->', "i.txt": b"I"})
    except OSError as e:
        pytest.skip(f"no FUSE here: {e}")
    server.start()
    server.write("page.shtml", '<!--#include virtual="/hung/i.txt" -->')
    with folder:
        if known:
            assert server.get("/hung/a.shtml").body == b"a.shtml"
            assert server.get("/page.shtml").body == b"I"
        folder.hang()
        stuck = [ask(server, target) for target in ["/hung/a.shtml", "/page.shtml"] * 4]
        wait_until(lambda: folder.asked >= 1, "a request to come to the file system")
        serves_on(server)
        for c in stuck:
            c.close()


@pytest.mark.parametrize("n", [1, 60], ids=["a few bytes", "over a megabyte"])
def test_files_without_a_size_have_their_content(serve, n):
    """Files of /proc say 0; Apache sends nothing for them."""
    server = serve("Alias /proc /proc\n<Directory /proc>\nRequire all granted\n</Directory>\n" + CONF,
                   {"page.shtml": '<!--#include virtual="/proc/version" -->'})
    with open("/proc/version", "rb") as f:
        version = f.read()
    for _ in range(3):
        r = server.get("/proc/version")
        assert r.body == version and r["Content-Length"] == str(len(version)) and not r["ETag"] and not r["Last-Modified"]
        assert server.request("HEAD", "/proc/version")["Content-Length"] == str(len(version))
        assert server.get("/page.shtml").body == version
    if n > 1:
        assert server.get("/proc/kallsyms").body.count(b"\n") > 1000


def test_a_fifo_in_place_of_an_access_file_is_refused_at_once(serve):
    """Nobody writes to it, ever."""
    server = serve("EventLoops 1\n<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\n", {"a.txt": "A", "d/b.txt": "B"})
    os.mkfifo(server.path("htdocs/d/.htaccess"))
    for _ in range(5):
        assert server.get("/d/b.txt").status == 403
        assert server.get("/a.txt").body == b"A"
    server.wait_for_log("unable to check htaccess file")
    os.unlink(server.path("htdocs/d/.htaccess"))
    assert server.get("/d/b.txt").body == b"B"


def trips(server, folder, target, n=20, status=200, **fields):
    """What a request asks of the file system, besides what the kernel does when the file is closed."""
    before = collections.Counter(folder.trips)
    for _ in range(n):
        assert server.get(target, **fields).status == status
    folder.trips.pop("release", None)
    return {name: (count - before[name]) / n for name, count in folder.trips.items() if count > before[name]}


@pytest.mark.parametrize("kept", [0, 10000], ids=["full way", "kept"])
def test_a_request_makes_few_round_trips(serve, kept):
    """On a file system that asks its server each time, as NFS does: a file is looked up once and opened, and no stat() goes before that.
    One that is kept costs a look at the file, since nothing else tells of changes there."""
    server = serve(f"EventLoops 1\nFileCacheEntries {kept}\n<Directory @ROOT@/htdocs>\nAllowOverride None\n</Directory>\n", {"plain.txt": "P", "slow/below.txt": "not seen"})
    try:
        folder = HangingFolder(server.path("htdocs/slow"), {"a.txt": b"A" * 100, "b.txt": b"B"}, valid=0)
    except OSError as e:
        pytest.skip(f"no FUSE here: {e}")
    with folder:
        trips(server, folder, "/slow/a.txt", 5)
        found = trips(server, folder, "/slow/a.txt")
        tag = server.get("/slow/a.txt")["ETag"]
        again = trips(server, folder, "/slow/a.txt", status=304, headers={"If-None-Match": tag})
        missing = trips(server, folder, "/slow/none.txt", status=404)
    assert set(found) <= {"lookup", "getattr", "open", "read"}, found
    assert found.get("lookup", 0) <= 2 and found.get("getattr", 0) <= 2 and found.get("open", 0) <= 1 and found.get("read", 0) <= 1, found
    assert sum(found.values()) <= 5 and sum(again.values()) <= 4 and again.get("read", 0) == 0, (found, again)
    missing.pop("29", None)  # releasedir
    assert sum(missing.values()) <= 4, missing  # the folder is opened, to tell "not there" from "not found here"
    print("round trips", found, again, missing)
