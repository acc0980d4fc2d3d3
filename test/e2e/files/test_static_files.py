# SPDX-License-Identifier: Apache-2.0
"""Static files: content of every size by every way of delivery, and files that change under way."""
import os

import pytest

from brigade import wait_until
from cache_site import settle
from file_content import content
from http_client import Truncated

SIZES = [0, 1, 2, 100, 255, 256, 4095, 4096, 4097, 8000, 8191, 8192, 16384, 65535, 65536, 65537, 262144, 1048576, 3000001]


@pytest.fixture(scope="module", params=["default", "sendfile", "mmap", "read"])
def server(request, serve_module):
    config = {"default": "", "sendfile": "EnableSendfile On\n", "mmap": "EnableSendfile Off\nEnableMMAP On\n",
              "read": "EnableSendfile Off\nEnableMMAP Off\n"}[request.param]
    return serve_module(config, {f"{size}.bin": content(size) for size in SIZES})


@pytest.mark.parametrize("size", SIZES)
def test_whole(server, size):
    r = server.get(f"/{size}.bin")
    assert r.status == 200
    assert r["Content-Length"] == str(size)
    assert r["Accept-Ranges"] == "bytes"
    assert r["Content-Type"] == "application/octet-stream"
    assert r.body == content(size)


@pytest.mark.threads
def test_all_sizes_on_one_connection(server):
    with server.connect() as c:
        for _ in range(2):
            for size in SIZES:
                assert c.get(f"/{size}.bin").body == content(size)


@pytest.mark.threads
def test_windows(server):
    """Files that are mapped in pieces, from the full way and then from memory."""
    size = 13_000_001
    if not os.path.exists(server.path("htdocs/large.bin")):
        settle(os.path.dirname(server.write("large.bin", content(size))))
    with server.connect() as c:
        for _ in range(2):
            assert c.get("/large.bin").body == content(size)
            part = c.get("/large.bin", {"Range": "bytes=4097-12999999"})
            assert part.status == 206 and part.body == content(size)[4097:13_000_000]


def test_slow_reader(server):
    """The socket's buffer fills up; everything arrives all the same."""
    with server.connect() as c:
        c.send("GET /3000001.bin HTTP/1.1\r\nHost: localhost\r\n\r\nGET /100.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        c._fill()
        wait_until(lambda: True)
        assert c.read_response().body == content(3000001)
        assert c.read_response().body == content(100)


@pytest.mark.parametrize("size", [100, 65536, 3000001])
@pytest.mark.parametrize("spec,first,last", [
    ("0-0", 0, 0), ("0-9", 0, 9), ("5-", 5, None), ("-1", -1, None), ("-50", -50, None), ("99-", 99, None),
    ("0-", 0, None), ("0-99999999", 0, None), ("-99999999", 0, None), ("10-19", 10, 19),
])
def test_single_range(server, size, spec, first, last):
    whole = content(size)
    begin = size + first if first < 0 else first
    end = min(size - 1 if last is None else last, size - 1)
    r = server.get(f"/{size}.bin", {"Range": f"bytes={spec}"})
    if end - begin + 1 == size and spec not in ("0-", "0-99999999", "-99999999"):
        assert r.status in (200, 206)
        return
    assert r.status == 206, r
    assert r["Content-Range"] == f"bytes {begin}-{end}/{size}"
    assert r["Content-Length"] == str(end - begin + 1)
    assert r.body == whole[begin:end + 1]


@pytest.mark.parametrize("spec", ["100-", "100-200", "999-"])
def test_unsatisfiable_range(server, spec):
    r = server.get("/100.bin", {"Range": f"bytes={spec}"})
    assert r.status == 416
    assert r["Content-Range"] in (None, "bytes */100")


@pytest.mark.parametrize("value", ["bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "chars=0-1", "bytes 0-1", "bytes=0-1;2-3",
                                   "bytes=--1", "0-1"])
def test_bad_range_is_ignored(server, value):
    r = server.get("/100.bin", {"Range": value})
    assert (r.status, r.body) == (200, content(100)), r


def parts(r):
    """(range, bytes) of each part of a multipart/byteranges response."""
    boundary = r["Content-Type"].split("boundary=")[1].strip('"').encode()
    assert r.body.startswith(b"\r\n--" + boundary) or r.body.startswith(b"--" + boundary)
    found = []
    for piece in r.body.split(b"--" + boundary)[1:]:
        if piece.startswith(b"--"):
            break
        head, data = piece.split(b"\r\n\r\n", 1)
        line = [h for h in head.split(b"\r\n") if h.lower().startswith(b"content-range:")][0]
        found.append((line.split(b":", 1)[1].strip().decode(), data[:-2]))
    return found


@pytest.mark.parametrize("spec,expected", [
    ("0-1,4-5", [(0, 1), (4, 5)]),
    ("0-0,-1", [(0, 0), (99, 99)]),
    ("50-59,10-19", [(50, 59), (10, 19)]),
    ("0-1,200-300,4-5", [(0, 1), (4, 5)]),
])
def test_multiple_ranges(server, spec, expected):
    r = server.get("/100.bin", {"Range": f"bytes={spec}"})
    assert r.status == 206
    assert r["Content-Type"].startswith("multipart/byteranges; boundary=")
    assert int(r["Content-Length"]) == len(r.body)
    assert parts(r) == [(f"bytes {a}-{b}/100", content(100)[a:b + 1]) for a, b in expected]


def test_multiple_ranges_of_a_big_file(server):
    r = server.get("/3000001.bin", {"Range": "bytes=0-999999,2000000-2000009,-5"})
    whole = content(3000001)
    assert [data for _, data in parts(r)] == [whole[:1000000], whole[2000000:2000010], whole[-5:]]


@pytest.mark.parametrize("config,spec,status", [
    ("MaxRanges 2\n", "0-0,2-2", 206), ("MaxRanges 2\n", "0-0,2-2,4-4", 200), ("MaxRanges none\n", "0-0", 200),
    ("MaxRanges unlimited\n", ",".join(f"{i}-{i}" for i in range(0, 100, 2)), 206),
    ("MaxRangeOverlaps 1\n", "0-5,3-9,4-9,1-2", 200), ("MaxRangeOverlaps 5\n", "0-5,3-9,4-9,1-2", 206),
])
def test_limits_of_ranges(serve, config, spec, status):
    r = serve(config, {"f.bin": content(100)}).get("/f.bin", {"Range": f"bytes={spec}"})
    assert r.status == status
    assert (r["Accept-Ranges"] == "none") == (config == "MaxRanges none\n")


# ---- Conditions -----------------------------------------------------------------------------------------------

OLD, NEW = "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"


def rfc(*values):
    """A case where Apache does not follow RFC 9110, section 13.2.2."""
    return pytest.param(*values, marks=pytest.mark.only("brigade"))


@pytest.fixture(scope="module")
def aged(serve_module):
    server = serve_module("", {"f.txt": "0123456789"})
    os.utime(server.path("htdocs/f.txt"), (1e9, 1e9))
    return server


def etag_and_date(aged):
    r = aged.get("/f.txt")
    assert r["Last-Modified"] == "Sun, 09 Sep 2001 01:46:40 GMT"
    assert r["ETag"] == '"a-3ab31ed5fd400"' or r["ETag"].strip('"').startswith("a-")
    return r["ETag"], r["Last-Modified"]


@pytest.mark.parametrize("headers,status", [
    ({"If-None-Match": "ETAG"}, 304),
    ({"If-None-Match": "W/ETAG"}, 304),
    ({"If-None-Match": '"x", ETAG'}, 304),
    ({"If-None-Match": '"x"'}, 200),
    ({"If-None-Match": "*"}, 304),
    ({"If-Modified-Since": "DATE"}, 304),
    ({"If-Modified-Since": NEW}, 200),
    ({"If-Modified-Since": OLD}, 200),
    ({"If-Modified-Since": "no date"}, 200),
    ({"If-Modified-Since": "Sunday, 09-Sep-01 01:46:40 GMT"}, 304),
    ({"If-Modified-Since": "Sun Sep  9 01:46:40 2001"}, 304),
    ({"If-None-Match": '"x"', "If-Modified-Since": "DATE"}, 200),
    rfc({"If-None-Match": "ETAG", "If-Modified-Since": OLD}, 304),
    ({"If-Match": "ETAG"}, 200),
    ({"If-Match": "*"}, 200),
    ({"If-Match": '"x"'}, 412),
    ({"If-Match": "W/ETAG"}, 412),
    ({"If-Match": '"x", ETAG'}, 200),
    ({"If-Unmodified-Since": "DATE"}, 200),
    ({"If-Unmodified-Since": OLD}, 412),
    ({"If-Unmodified-Since": NEW}, 200),
    rfc({"If-Match": "ETAG", "If-Unmodified-Since": OLD}, 200),
    ({"If-Match": '"x"', "If-None-Match": "ETAG"}, 412),
    ({"If-Range": "ETAG", "Range": "bytes=2-3"}, 206),
    ({"If-Range": '"x"', "Range": "bytes=2-3"}, 200),
    ({"If-Range": "DATE", "Range": "bytes=2-3"}, 206),
    ({"If-Range": OLD, "Range": "bytes=2-3"}, 200),
    ({"If-Range": "W/ETAG", "Range": "bytes=2-3"}, 200),
    ({"If-None-Match": "ETAG", "Range": "bytes=2-3"}, 304),
    ({"If-Match": '"x"', "Range": "bytes=2-3"}, 412),
])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_conditions(aged, method, headers, status):
    etag, date = etag_and_date(aged)
    sent = {n: v.replace("ETAG", etag).replace("DATE", date) for n, v in headers.items()}
    r = aged.request(method, "/f.txt", sent)
    if method == "HEAD" and status == 206:
        assert r.status in (200, 206)
        return
    assert r.status == status, r
    if status == 304:
        assert r.body == b"" and r["ETag"] == etag and r["Content-Length"] is None and r["Content-Type"] is None
    if status == 206:
        assert r.body == b"23"
    if status == 200 and method == "GET":
        assert r.body == b"0123456789"


@pytest.mark.parametrize("setting,pattern", [("None", None), ("MTime Size", r'^"a-[0-9a-f]+"$'), ("Size", r'^"a"$'),
                                             ("All", r'^"[0-9a-f]+-a-[0-9a-f]+"$'), ("INode", r'^"[0-9a-f]+"$'),
                                             ("Digest", r'^"[A-Za-z0-9+/=]+"$')])
def test_file_etag(serve, setting, pattern):
    import re
    server = serve(f"FileETag {setting}\n", {"f.txt": "0123456789"})
    os.utime(server.path("htdocs/f.txt"), (1e9, 1e9))
    etag = server.get("/f.txt")["ETag"]
    assert etag is None if pattern is None else re.match(pattern, etag), etag


# ---- Files that change ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("size", [10, 5000, 100000, 2000000])
def test_change_is_seen_at_once(server, size):
    path = server.path("htdocs/changing.bin")
    with server.connect() as c:
        for turn in range(8):
            data = bytes([65 + turn]) * size
            server.write("changing.bin", data)
            assert c.get("/changing.bin").body == data, f"turn {turn}"
        os.unlink(path)
        assert c.get("/changing.bin").status == 404
        server.write("changing.bin", b"back")
        assert c.get("/changing.bin").body == b"back"


def test_replacement_by_rename_is_seen_at_once(server):
    with server.connect() as c:
        for turn in range(10):
            server.write("new.tmp", f"version {turn}")
            os.rename(server.path("htdocs/new.tmp"), server.path("htdocs/renamed.txt"))
            assert c.get("/renamed.txt").body == f"version {turn}".encode()


def test_a_new_index_is_seen_at_once(server):
    with server.connect() as c:
        os.makedirs(server.path("htdocs/fresh"), exist_ok=True)
        server.write("fresh/index.html", "first")
        assert c.get("/fresh/").body == b"first"
        os.unlink(server.path("htdocs/fresh/index.html"))
        assert c.get("/fresh/").body != b"first"
        server.write("fresh/index.html", "second")
        assert c.get("/fresh/").body == b"second"


def test_truncated_while_sent(server):
    """What was promised cannot be kept: the connection ends, nothing else is sent in its place."""
    size = 40_000_000
    path = server.path("htdocs/shrinking.bin")
    with open(path, "wb") as f:
        f.truncate(size)
    with server.connect() as c:
        c.send("GET /shrinking.bin HTTP/1.1\r\nHost: localhost\r\n\r\nGET /100.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = c.read_head()
        assert head["Content-Length"] == str(size)
        os.truncate(path, 1000)
        try:
            body = c.read_exactly(size)
            assert body.count(0) == size, "bytes that were never in the file"
        except Truncated as e:
            assert e.args[0].count(0) == len(e.args[0]), "bytes that were never in the file"
    assert server.get("/100.bin").body == content(100)


@pytest.mark.parametrize("change", ["delete", "replace", "grow"])
def test_changed_while_sent(server, change):
    size = 20_000_000
    path = server.path(f"htdocs/{change}.bin")
    with open(path, "wb") as f:
        f.truncate(size)
    with server.connect() as c:
        c.send(f"GET /{change}.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert c.read_head()["Content-Length"] == str(size)
        if change == "delete":
            os.unlink(path)
        elif change == "replace":
            server.write("other.tmp", b"x" * 100)
            os.rename(server.path("htdocs/other.tmp"), path)
        else:
            with open(path, "ab") as f:
                f.write(b"more")
        assert c.read_exactly(size).count(0) == size
        assert c.get("/100.bin").body == content(100)


def test_more_than_4_gib(server):
    size = 5 * 2**30 + 3
    path = server.path("htdocs/huge.bin")
    with open(path, "wb") as f:
        f.truncate(size)
        f.seek(size - 3)
        f.write(b"end")
    try:
        r = server.request("HEAD", "/huge.bin")
        assert r["Content-Length"] == str(size)
        r = server.get("/huge.bin", {"Range": f"bytes={size - 5}-"})
        assert r.status == 206 and r.body == b"\0\0end"
        assert r["Content-Range"] == f"bytes {size - 5}-{size - 1}/{size}"
        r = server.get("/huge.bin", {"Range": f"bytes={2**32 - 1}-{2**32 + 1}"})
        assert r.body == b"\0\0\0"
    finally:
        os.unlink(path)


# ---- What is no plain file ------------------------------------------------------------------------------------

@pytest.mark.only("brigade")
def test_fifo_is_forbidden(serve):
    server = serve("", {"a.txt": "A"})
    os.mkfifo(server.path("htdocs/pipe"))
    assert server.get("/pipe").status == 403
    assert server.get("/a.txt").status == 200


def test_unreadable_file_is_forbidden(serve):
    server = serve("", {"secret.txt": "S", "closed/x.txt": "X"})
    os.chmod(server.path("htdocs/secret.txt"), 0)
    os.chmod(server.path("htdocs/closed"), 0)
    try:
        assert server.get("/secret.txt").status == 403
        assert server.get("/closed/x.txt").status == 403
    finally:
        os.chmod(server.path("htdocs/closed"), 0o755)


LINKS = [("FollowSymLinks", "inside", 200), ("FollowSymLinks", "outside", 200), ("FollowSymLinks", "dirlink/f.txt", 200),
         ("None", "inside", 403), ("None", "dirlink/f.txt", 403), ("None", "real/f.txt", 200),
         ("SymLinksIfOwnerMatch", "inside", 200), ("SymLinksIfOwnerMatch", "dirlink/f.txt", 200),
         ("FollowSymLinks", "loop", 403), ("FollowSymLinks", "dangling", 403)]


@pytest.mark.parametrize("options,target,status", LINKS)
def test_symlinks(serve, options, target, status):
    server = serve(f"<Directory @ROOT@/htdocs>\nOptions {options}\n</Directory>\n"
                   "<Directory @ROOT@/else>\nRequire all granted\n</Directory>\n", {"real/f.txt": "F", "f.txt": "F", "../else/f.txt": "O"})
    for name, to in (("inside", "f.txt"), ("outside", server.path("else/f.txt")), ("dirlink", "real"), ("loop", "loop"),
                     ("dangling", "nowhere")):
        os.symlink(to, server.path("htdocs", name))
    r = server.get("/" + target)
    assert r.status == status or (target in ("loop", "dangling") and r.status in (403, 404)), r


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a link to another user")
def test_symlink_of_another_owner(serve):
    server = serve("<Directory @ROOT@/htdocs>\nOptions SymLinksIfOwnerMatch\n</Directory>\n", {"f.txt": "F"})
    os.symlink("f.txt", server.path("htdocs/link"))
    os.lchown(server.path("htdocs/link"), 12345, 12345)
    assert server.get("/link").status == 403
    assert server.get("/f.txt").status == 200


def test_names_outside_utf8(serve):
    server = serve()
    name = os.path.join(server.path("htdocs").encode(), b"\xff\xfe name.txt")
    with open(name, "wb") as f:
        f.write(b"odd")
    assert server.get("/%ff%fe%20name.txt").body == b"odd"


@pytest.mark.parametrize("setting,target,status", [
    ("Off", "/d%2ff.txt", 404), ("On", "/d%2ff.txt", 200), ("NoDecode", "/d%2ff.txt", 404), ("Off", "/d/f.txt", 200),
    ("On", "/d%2f%2e%2e%2ff.txt", 200), ("NoDecode", "/d%2Ff.txt", 404)])
def test_encoded_slashes(serve, setting, target, status):
    server = serve(f"AllowEncodedSlashes {setting}\n", {"d/f.txt": "F", "f.txt": "F"})
    r = server.get(target)
    assert r.status == status or (setting == "On" and r.status in (200, 404, 400)), r


@pytest.mark.parametrize("setting,status", [("On", 200), ("Off", 404), ("Default", 404)])
def test_accept_path_info(serve, setting, status):
    server = serve(f"AcceptPathInfo {setting}\n", {"f.txt": "F"})
    assert server.get("/f.txt/more/path").status == status
