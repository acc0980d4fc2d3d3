# SPDX-License-Identifier: Apache-2.0
"""Paths that try to leave the document root, odd names, and things that are no regular files."""
import os
import re
import socket
import stat

import pytest

import brigade
from http_client import Truncated

FILES = {"index.html": "home\n", "a.txt": "A\n"}
DOTS = ["..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "..;", "..%00", "%uff0e%uff0e",
        "....", ". .", "..%20", "%2e%2e%20"]
SLASHES = ["/", "%2f", "%2F", "\\", "%5c", "%252f", "//", "/./", "%c0%af", "/%00/", "%2f/", "/%2f"]


@pytest.mark.parametrize("setting", ["Off", "On", "NoDecode"])
def test_nothing_outside_the_root_is_served(serve, setting):
    """A file beside the document root, and everything above it, asked for in every spelling."""
    server = serve(f"AllowEncodedSlashes {setting}\nAlias /icons @ROOT@/icons\n"
                   "<Directory @ROOT@>\nRequire all granted\n</Directory>\n", {"d/e/f.txt": "F"})
    server.write("secret.txt", "SECRET", base=".")
    server.write("icons/i.txt", "I", base=".")
    with server.connect() as c:
        for start in ("/", "/d/", "/d/e/", "/icons/", "//", "/nowhere/", "/d/e/f.txt/", "/icons", "http://localhost/d/"):
            for dots in DOTS:
                for slash in SLASHES:
                    for depth in (1, 2, 3):
                        target = start + (dots + slash) * depth + "secret.txt"
                        try:
                            r = c.get(target)
                            gone = r["Connection"] == "close"
                        except Truncated:
                            gone = True
                        else:
                            assert b"SECRET" not in r.body and 300 <= r.status < 500, (target, r)
                        if gone:
                            c.close()
                            c.__init__(server.address, server.port, 20)
    assert server.get("/d/e/f.txt").body == b"F"


@pytest.mark.parametrize("target,statuses", [
    ("/a.txt%00", (400, 404)), ("/%00", (400, 404)), ("/a.txt%00.html", (400, 404)), ("/a%2etxt", (200,)),
    ("/%61.txt", (200,)), ("/a.txt%", (400,)), ("/a.txt%zz", (400,)), ("/a.txt%2", (400,)), ("/a.txt?%00", (200,)),
    ("/./a.txt", (200,)), ("/x/../a.txt", (200, 404)), ("/../a.txt", (400, 200)), ("//a.txt", (200,)), ("/a.txt/", (404,)),
    ("/a.txt/..", (200, 400, 403, 404)), ("/a.txt%ff", (404,)), ("/%e2%82%ac", (404,)), ("/" + "a" * 300, (403, 404)),
    ("/" + "d/" * 2500, (403, 404, 414)), ("/" + "%2e/" * 500, (200, 404)), ("/" + "../" * 50, (400, 404)),
    ("/~root/", (404,)), ("/a.txt::$DATA", (404,)), ("/con", (404,)), ("/*", (404,))])
def test_odd_targets(serve_odd, target, statuses):
    r = serve_odd.get(target)
    assert r.status in statuses, r
    assert serve_odd.get("/a.txt").body == b"A\n"


@pytest.fixture(scope="module")
def serve_odd(serve_module):
    return serve_module("", FILES)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)


def make_device(path):
    if os.geteuid():
        pytest.skip("needs root to make a device")
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # an endless source of zeros
    except PermissionError:
        pytest.skip("devices cannot be made here")


@pytest.mark.only("brigade")
@pytest.mark.parametrize("make", [os.mkfifo, make_socket, make_device])
def test_special_files(serve, make):
    """Refused at once and by the look at its kind, whoever waits at the other end; also by a link, in a listing, and in place of a file."""
    server = serve("", {"a.txt": "A\n", "d/x.txt": "X"})
    make(server.path("htdocs/d/odd.txt"))
    os.symlink("d/odd.txt", server.path("htdocs/link.txt"))
    with server.connect(timeout=5) as c:
        for method in ("GET", "HEAD", "POST"):
            for target in ("/d/odd.txt", "/link.txt", "/d/odd.txt/more"):
                assert c.request(method, target).status in (403, 404), (method, target)
        assert c.get("/d/").status == 200
        for _ in range(4):
            assert c.get("/d/x.txt").body == b"X"
        os.rename(server.path("htdocs/d/odd.txt"), server.path("htdocs/d/x.txt"))
        assert c.get("/d/x.txt").status == 403
        assert c.get("/a.txt").body == b"A\n"
    log = server.error_log()
    assert log.count(b"AH00038: Forbidden") >= 7 and b"not a regular file" not in log  # no handler saw it


@pytest.mark.parametrize("make", [os.mkfifo, make_socket, make_device])
def test_special_files_are_passed_over(serve, make):
    """As an index file, and as what a rewrite rule asks for: the next one is taken."""
    if not os.path.exists(f"{brigade.APACHE_MODULES}/mod_rewrite.so"):
        pytest.skip("no mod_rewrite")
    load = "" if brigade.is_apache(brigade.BINARY) else "LoadModule rewrite_module @MODULES@/mod_rewrite.so\n"
    server = serve(load + "DirectoryIndex index.html index.txt\n<Directory @ROOT@/htdocs>\nOptions Indexes FollowSymLinks\n</Directory>\n"
                   "<Directory @ROOT@/htdocs/rw>\nRewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\n"
                   "RewriteRule ^(.*)\\.htm$ $1.html [L]\n</Directory>\n",
                   {"alone/seen": "", "next/index.txt": "next", "rw/page.html": "page"}, modules=("rewrite",))
    for name in ("alone/index.html", "next/index.html", "rw/page.htm"):
        make(server.path("htdocs", name))
    for _ in range(3):
        assert b"seen" in server.get("/alone/").body
        assert server.get("/next/").body == b"next"
        assert server.get("/rw/page.htm").body == b"page"
    os.unlink(server.path("htdocs/alone/index.html"))
    server.write("alone/index.html", "there")
    assert server.get("/alone/").body == b"there"


def test_links_that_lead_nowhere(serve):
    """A slash behind one makes no difference."""
    server = serve("<Directory @ROOT@/htdocs>\nOptions FollowSymLinks\n</Directory>\n", {"a.txt": "A"})
    os.symlink("nowhere", server.path("htdocs/link"))
    os.symlink("a.txt", server.path("htdocs/file"))
    assert [server.get(t).status for t in ("/link", "/link/", "/link/x", "/none/", "/file/", "/a.txt/")] == [403, 403, 403, 404, 404, 404]


def test_link_loops(serve):
    server = serve("", {"a.txt": "A\n"})
    root = server.path("htdocs")
    os.symlink("self", f"{root}/self")
    os.symlink("two", f"{root}/one")
    os.symlink("one", f"{root}/two")
    os.symlink(".", f"{root}/here")
    os.symlink("..", f"{root}/up")
    for target in ("/self", "/self/x", "/one", "/one/a.txt"):
        assert server.get(target).status in (403, 404), target
    assert server.get("/here/here/here/a.txt").body == b"A\n"
    assert server.get("/" + "here/" * 39 + "a.txt").status in (200, 403, 404)
    assert server.get("/" + "here/" * 200 + "a.txt").status in (200, 403, 404)
    assert server.get("/up/secret").status in (403, 404)
    assert server.get("/here/").status == 200


@pytest.mark.parametrize("name", [b"\xff", b"a\xc3", b"\x80\x81", b"x\ny", b"x\ry", b"tab\there", b"quo\"te", b"<b>", b"a&b",
                                  b"per%20cent", b"q?x", b"h#x", b"sp ace", b"\x01", b"\x7f", b"semi;colon", b"back\\slash",
                                  b"e\xcc\x81", b"\xe2\x80\xae", b"a" * 255])
def test_odd_names(serve_names, name):
    """Served under their escaped name, listed so that the link leads there, and no head or log line is split by them."""
    server, path = serve_names, os.path.join(serve_names.path("htdocs").encode(), name)
    with open(path, "wb") as f:
        f.write(b"content of it")
    try:
        escaped = "".join(f"%{b:02x}" for b in name)
        r = server.get("/" + escaped)
        assert r.body == b"content of it"
        listing = server.get("/").body
        links = [m.decode() for m in re.findall(rb'href="([^"]+)"', listing) if not m.startswith((b"?", b"/"))]
        assert len(links) == 1 and b"\nhref" not in listing, links
        assert server.get("/" + links[0].replace("&amp;", "&")).body == b"content of it"
        os.mkdir(path + b"d" if len(name) < 255 else path[:-1])
        r = server.get("/" + escaped + "d" if len(name) < 255 else "/" + escaped[:-3])
        assert r.status == 301 and len(r.all("Location")) == 1 and set(r["Location"]) <= {chr(c) for c in range(33, 127)}
    finally:
        os.unlink(path)
        os.rmdir(path + b"d" if len(name) < 255 else path[:-1])
    for line in server.error_log().splitlines():
        assert line.startswith(b"["), line


@pytest.fixture(scope="module")
def serve_names(serve_module):
    return serve_module("LogLevel debug\n")
