# SPDX-License-Identifier: Apache-2.0
"""Files that change: while they are sent, between two requests, and in every way that the cache must notice."""
import functools
import os
import shutil

import pytest

from http_client import Truncated, request_bytes
from trouble import answers, slow_client

OLD = (1_500_000_000, 1_500_000_000)
SIZES = [10, 10_000, 100_000, 1_500_000]
MODES = ["", "EnableSendfile On\n", "EnableMMAP Off\n", "FileReadSize 0\nEnableSendfile On\n", "FileCacheValidate stat\n"]


@functools.lru_cache(64)
def letters(size, letter):
    """Bytes that differ everywhere, so that a piece at the wrong place is seen."""
    return b"".join(b"%s%07d" % (letter.encode(), i) for i in range(size // 8 + 1))[:size]


def put(server, name, data, times=OLD):
    """Write in place and give the file the old time again, so that nothing but an event tells of the change."""
    path = server.write(name, data)
    if times:
        os.utime(path, times)
    return path


def warm(c, target, body=None, status=200):
    """Ask until the answer comes from memory, if ever it does."""
    for _ in range(4):
        r = c.get(target)
        assert r.status == status and (body is None or r.body == body), r
    return r


# ---- While it is sent -----------------------------------------------------------------------------------------

@pytest.fixture(scope="module", params=MODES, ids=lambda m: m.replace("\n", ";") or "default")
def server(serve_module, request):
    server = serve_module(request.param + "EventLoops 1\nMaxKeepAliveRequests 0\nSendBufferSize 32768\n", {"a.txt": "A\n"})
    server.by_reference = "EnableSendfile On" in request.param or not request.param  # large files are mapped by default
    return server


def is_old(server, body, old, cut):
    """All of it is the old content. With sendfile and from a mapping the kernel sends the file's own pages, and cutting
    a file clears what of them lies behind its new end, even if it waits in a socket."""
    if server.by_reference:
        return body[:cut] == old[:cut][:len(body)] and all(b in (0, o) for b, o in zip(body[cut:], old[cut:]))
    return body == old[:len(body)]


def begin(server, name, remembered):
    """A client that got the head and no more than the start of the body."""
    c = slow_client(server, 60_000)
    if remembered:
        warm(c, "/" + name)
    c.send(request_bytes("GET", "/" + name) + request_bytes("GET", "/a.txt"))
    head = c.read_head()
    return c, int(head["Content-Length"])


def rest(c, size):
    """What comes of the body, and whether all of it did."""
    try:
        return c.read_exactly(size), True
    except Truncated as e:
        return e.args[0], False


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_truncated(server, size, remembered):
    """A part of the old content and the end of the connection, or all of it and the next answer."""
    path = put(server, "cut", letters(size, "o"))
    c, length = begin(server, "cut", remembered)
    with c:
        os.truncate(path, size // 3)
        body, whole = rest(c, length)
        assert is_old(server, body, letters(size, "o"), size // 3)
        if whole:
            assert c.read_response().body == b"A\n"
    assert server.get("/cut").body == letters(size // 3, "o")
    assert answers(server)


@pytest.mark.parametrize("server", [""], indirect=True, ids=["mapped"])
@pytest.mark.parametrize("remembered", [False, True])
def test_truncated_while_it_is_mapped(server, remembered):
    """No signal ends a server process."""
    processes = server.children()
    test_truncated(server, 12_000_000, remembered)
    assert server.children() == processes


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("change", ["delete", "replace", "grow", "chmod"])
def test_changed(server, size, change, remembered):
    """The answer that began is finished from the file that it began with."""
    path = put(server, "file", letters(size, "o"))
    c, length = begin(server, "file", remembered)
    with c:
        if change == "delete":
            os.unlink(path)
        elif change == "replace":
            os.rename(server.write("file.new", letters(size // 2, "n")), path)
        elif change == "chmod":
            os.chmod(path, 0)
        else:
            with open(path, "ab") as f:
                f.write(b"more")
        body, whole = rest(c, length)
        assert whole and body == letters(size, "o")
        assert c.read_response().body == b"A\n"
        r = c.get("/file")
        if change == "delete":
            assert r.status == 404
        elif change == "chmod":
            assert r.status == 403
            os.chmod(path, 0o644)
        else:
            assert r.body == (letters(size // 2, "n") if change == "replace" else letters(size, "o") + b"more")


@pytest.mark.parametrize("size", SIZES)
def test_range_of_a_file_that_shrinks(server, size):
    path = put(server, "part", letters(size, "o"))
    with slow_client(server, 60_000) as c:
        c.send(request_bytes("GET", "/part", {"Range": f"bytes={size // 2}-"}) + request_bytes("GET", "/a.txt"))
        head = c.read_head()
        os.truncate(path, size // 2 + 1)
        body, whole = rest(c, int(head["Content-Length"]))
        assert is_old(server, body, letters(size, "o")[size // 2:], 1)
        if whole:
            assert c.read_response().body == b"A\n"
    assert answers(server)


# ---- The cache is current -------------------------------------------------------------------------------------

@pytest.fixture(scope="module", params=["inotify", "stat"])
def current(serve_module, request):
    server = serve_module(f"FileCacheValidate {request.param}\nEventLoops 2\nMaxKeepAliveRequests 0\n", {"a.txt": "A\n"})
    server.fixed_time = OLD if request.param == "inotify" else None  # stat sees times, and only times
    return server


@pytest.mark.threads
@pytest.mark.parametrize("size", [5, 3000, 90_000])
def test_rewritten_a_thousand_times(current, size):
    """Same size, same second, same time stamp: each request gets what was written before it."""
    with current.connect() as c:
        for i in range(1000 if size == 5 else 300):
            data = letters(size - 4, chr(97 + i % 26)) + b"%4d" % i
            put(current, "f.txt", data, current.fixed_time)
            for _ in range(3 if i % 3 else 1):
                r = c.get("/f.txt")
                assert r.body == data, i


@pytest.mark.threads
def test_written_in_place_a_thousand_times(current):
    """One byte changes, by pwrite, and nothing else is called."""
    path = put(current, "g.txt", b"x" * 50, OLD)
    with current.connect() as c, open(path, "r+b", buffering=0) as f:
        for i in range(1000):
            if i % 4 == 0:
                os.utime(path, OLD)
                warm(c, "/g.txt")
            os.pwrite(f.fileno(), b"%03d" % i, 10)
            assert c.get("/g.txt").body[10:13] == b"%03d" % i


@pytest.mark.threads
def test_replaced_a_thousand_times(current):
    with current.connect() as c:
        for i in range(1000):
            put(current, "r.tmp", b"%6d" % i)
            os.rename(current.path("htdocs/r.tmp"), current.path("htdocs/r.txt"))
            for _ in range(1 + i % 3):
                assert c.get("/r.txt").body == b"%6d" % i


@pytest.mark.threads
def test_deleted_and_made_again(current):
    with current.connect() as c:
        for i in range(400):
            path = put(current, "here/now.txt", b"%d" % i)
            for _ in range(1 + i % 4):
                assert c.get("/here/now.txt").body == b"%d" % i
            if i % 5:
                os.unlink(path)
            else:
                shutil.rmtree(current.path("htdocs/here"))
            for _ in range(1 + i % 4):
                assert c.get("/here/now.txt").status == 404


@pytest.mark.threads
def test_htaccess_comes_and_goes(current):
    """At each level above the file, whatever was remembered."""
    put(current, "p/q/z.txt", "Z")
    levels = [current.path("htdocs", d, ".htaccess") for d in ("", "p", "p/q")]
    with current.connect() as c:
        for i in range(300):
            path = levels[i % 3]
            with open(path, "w") as f:
                f.write("Require all denied\n" if i % 2 else "Header set X-Here yes\n")
            for _ in range(1 + i % 4):
                r = c.get("/p/q/z.txt")
                assert (r.status == 403) if i % 2 else (r["X-Here"] == "yes"), (i, r)
            os.unlink(path)
            for _ in range(1 + i % 4):
                r = c.get("/p/q/z.txt")
                assert r.status == 200 and r["X-Here"] is None, (i, r)


@pytest.mark.threads
def test_permissions_come_and_go(current):
    """Of the file, and of a directory above it."""
    put(current, "c/d/e.txt", "E")
    things = [(current.path("htdocs/c/d/e.txt"), 0o644), (current.path("htdocs/c/d"), 0o755),
              (current.path("htdocs/c"), 0o755)]
    with current.connect() as c:
        for i in range(200):
            path, mode = things[i % 3]
            warm(c, "/c/d/e.txt", b"E")
            os.chmod(path, 0)
            try:
                assert c.get("/c/d/e.txt").status == 403, (i, path)
            finally:
                os.chmod(path, mode)


@pytest.mark.threads
def test_directories_change_places(current):
    for name in ("one", "two"):
        put(current, f"{name}/deep/n.txt", name)
    where = {n: current.path("htdocs", n) for n in ("one", "two", "spare", "live")}
    os.symlink("one", where["live"])
    with current.connect() as c:
        for i in range(200):
            shown = c.get("/one/deep/n.txt").body
            warm(c, "/one/deep/n.txt", shown)
            os.rename(where["one"], where["spare"])
            os.rename(where["two"], where["one"])
            os.rename(where["spare"], where["two"])
            assert c.get("/one/deep/n.txt").body == (b"two" if shown == b"one" else b"one"), i
        for i in range(200):
            shown = c.get("/live/deep/n.txt").body
            warm(c, "/live/deep/n.txt", shown)
            os.symlink("two" if os.readlink(where["live"]) == "one" else "one", where["spare"])
            os.rename(where["spare"], where["live"])
            assert c.get("/live/deep/n.txt").body == (b"two" if shown == b"one" else b"one"), i
    os.unlink(where["live"])


@pytest.mark.threads
def test_link_targets_change(current):
    os.makedirs(current.path("htdocs/t"), exist_ok=True)
    target = current.path("htdocs/t/real.txt")
    os.symlink("t/real.txt", current.path("htdocs/pointer.txt"))
    try:
        with current.connect() as c:
            for i in range(200):
                put(current, "t/real.tmp", b"%d" % i)
                os.rename(current.path("htdocs/t/real.tmp"), target)
                for _ in range(1 + i % 4):
                    assert c.get("/pointer.txt").body == b"%d" % i
    finally:
        os.unlink(current.path("htdocs/pointer.txt"))


@pytest.mark.threads
def test_index_comes_and_goes(current):
    os.makedirs(current.path("htdocs/dir"), exist_ok=True)
    with current.connect() as c:
        for i in range(200):
            path = put(current, "dir/index.html", b"index %d" % i)
            for _ in range(1 + i % 4):
                assert c.get("/dir/").body == b"index %d" % i
            os.unlink(path)
            for _ in range(1 + i % 4):
                assert b"index %d" % i not in c.get("/dir/").body


@pytest.mark.threads
def test_all_connections_see_the_change(current):
    """One after another over all loops, each of which remembers by itself."""
    clients = [current.connect() for _ in range(12)]
    try:
        put(current, "all.txt", "begin")
        for i in range(100):
            for c in clients:
                warm(c, "/all.txt") if i % 10 == 0 else None
            put(current, "all.txt", b"%5d" % i, current.fixed_time)
            for c in clients:
                assert c.get("/all.txt").body == b"%5d" % i
    finally:
        for c in clients:
            c.close()
