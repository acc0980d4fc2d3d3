# SPDX-License-Identifier: Apache-2.0
"""Remembered answers: each way in which the right answer can change between two requests for the same URI."""
import mmap
import os

import pytest

from cache_site import one_loop, settle, warm

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

# With .htaccess files allowed, one look at the file does not show all that an answer depends on.
NO_OVERRIDES = """
ServerRoot "@ROOT@"
ServerName localhost
Listen 127.0.0.1:@PORT@
PidFile "@ROOT@/logs/httpd.pid"
ErrorLog "@ROOT@/logs/error_log"
TypesConfig /dev/null
DocumentRoot "@ROOT@/htdocs"
"""

CHANGES = {
    "rewritten": (lambda s: s.write("d/a.txt", "new"), 200, b"new"),
    "same size and time": (lambda s: (s.write("d/a.txt", "OLD"), settle(s.path("htdocs"))), 200, b"OLD"),
    "replaced": (lambda s: (s.write("d/b.txt", "new"), os.rename(s.path("htdocs/d/b.txt"), s.path("htdocs/d/a.txt"))),
                 200, b"new"),
    "deleted": (lambda s: os.unlink(s.path("htdocs/d/a.txt")), 404, None),
    "unreadable": (lambda s: os.chmod(s.path("htdocs/d/a.txt"), 0), 403, None),
    "directory moved": (lambda s: os.rename(s.path("htdocs/d"), s.path("htdocs/e")), 404, None),
    "directory closed": (lambda s: os.chmod(s.path("htdocs/d"), 0), 403, None),
    "htaccess": (lambda s: s.write(".htaccess", "Require all denied\n"), 403, None),
    "htaccess nearby": (lambda s: s.write("d/.htaccess", "Header set X-New 1\n"), 200, b"old"),
}


@pytest.mark.parametrize("validate", ["inotify", "stat"])
@pytest.mark.parametrize("change", sorted(CHANGES))
def test_change(serve, change, validate):
    server = one_loop(serve, f"FileCacheValidate {validate}\n<Directory \"@ROOT@/htdocs\">\nAllowOverride All\n</Directory>\n",
                   files={"d/a.txt": "old"})
    settle(server.path("htdocs"))
    warm(server, "/d/a.txt", b"old")
    act, status, body = CHANGES[change]
    act(server)
    try:
        answer = server.get("/d/a.txt")
        assert answer.status == status
        if body is not None:
            assert answer.body == body
        if change == "htaccess nearby":
            assert answer["X-New"] == "1"
    finally:
        for path in ("htdocs/d", "htdocs/d/a.txt"):
            if os.path.exists(server.path(path)):
                os.chmod(server.path(path), 0o755)


def test_many_changes_in_a_row(serve):
    """Each answer shows the write that came just before the request, a thousand times over."""
    server = one_loop(serve, "MaxKeepAliveRequests 0\n", files={"a.txt": "0000"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for i in range(1000):
            text = f"{i:04d}"
            path = server.path("htdocs/a.txt")
            if i % 3:
                server.write("a.txt", text)
            else:
                server.write("tmp", text)
                os.rename(server.path("htdocs/tmp"), path)
            if i % 2:
                os.utime(path, (1.7e9, 1.7e9))
            for _ in range(1 + i % 4):
                assert c.get("/a.txt").body == text.encode()


def test_symbolic_link_switched(serve):
    server = one_loop(serve, "Alias /app @ROOT@/current\n<Directory \"@ROOT@\">\nRequire all granted\nOptions FollowSymLinks\n"
                   "</Directory>\n", files={})
    for release in "12":
        server.write(f"r{release}/a.txt", f"release {release}", base="")
    settle(server.root)
    os.symlink("r1", server.path("current"))
    warm(server, "/app/a.txt", b"release 1")
    os.symlink("r2", server.path("next"))
    os.rename(server.path("next"), server.path("current"))
    assert server.get("/app/a.txt").body == b"release 2"


def test_missing_file_appears(serve):
    server = one_loop(serve, "", files={"d/other.txt": "x"})
    warm(server, "/d/a.txt", status=404)
    server.write("d/a.txt", "now")
    assert server.get("/d/a.txt").body == b"now"
    warm(server, "/d/sub/a.txt", status=404)
    server.write("d/sub/a.txt", "now")
    assert server.get("/d/sub/a.txt").body == b"now"


def test_index(serve):
    server = one_loop(serve, "DirectoryIndex first.html index.html\n", files={"d/index.html": "index"})
    settle(server.path("htdocs"))
    warm(server, "/d/", b"index")
    server.write("d/first.html", "first")
    assert server.get("/d/").body == b"first"
    os.unlink(server.path("htdocs/d/first.html"))
    assert server.get("/d/").body == b"index"


def test_fallback_resource(serve):
    server = one_loop(serve, "FallbackResource /fall.html\n", files={"fall.html": "fall", "d/x": "x"})
    settle(server.path("htdocs"))
    warm(server, "/page", b"fall")
    server.write("page", "page")
    assert server.get("/page").body == b"page"
    warm(server, "/d/", b"fall")
    server.write("d/index.html", "index")
    assert server.get("/d/").body == b"index"


def test_depends_on_the_client(serve):
    """What varies with a header or with the address is asked anew each time."""
    server = one_loop(serve, '<If "%{HTTP:X-Who} == \'bad\'">\nRequire all denied\n</If>\n'
                   'SetEnvIf User-Agent robot is_robot\nHeader set X-Robot yes env=is_robot\n',
                   files={"a.txt": "a"})
    settle(server.path("htdocs"))
    warm(server, "/a.txt", b"a")
    assert server.get("/a.txt", {"X-Who": "bad"}).status == 403
    assert server.get("/a.txt", {"User-Agent": "robot 1"})["X-Robot"] == "yes"
    assert server.get("/a.txt")["X-Robot"] is None


def test_virtual_hosts_do_not_share(serve):
    server = one_loop(serve, "<VirtualHost *:@PORT@>\nServerName one\nDocumentRoot @ROOT@/htdocs/one\n</VirtualHost>\n"
                   "<VirtualHost *:@PORT@>\nServerName two\nDocumentRoot @ROOT@/htdocs/two\n</VirtualHost>\n",
                   files={"one/a.txt": "1", "two/a.txt": "2"})
    settle(server.path("htdocs"))
    for _ in range(4):
        assert server.get("/a.txt", {"Host": "one"}).body == b"1"
        assert server.get("/a.txt", {"Host": "two"}).body == b"2"
        assert server.get("/a.txt", {"Host": "TWO"}).body == b"2"


def test_conditional_and_head(serve):
    server = one_loop(serve, "", files={"a.txt": "text"})
    settle(server.path("htdocs"))
    for _ in range(4):
        full = server.get("/a.txt")
        tag, date = full["ETag"], full["Last-Modified"]
        assert full.status == 200 and full.body == b"text"
        for headers in ({"If-None-Match": tag}, {"If-Modified-Since": date},
                        {"If-Modified-Since": "Fri, 01 Jan 2025 00:00:00 GMT"},
                        {"If-None-Match": tag, "If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}):
            answer = server.get("/a.txt", headers)
            assert (answer.status, answer.body) == (304, b""), headers
            assert answer["ETag"] == tag and answer["Content-Length"] is None
        for headers in ({"If-None-Match": '"x"'}, {"If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"},
                        {"If-None-Match": '"x"', "If-Modified-Since": date},
                        {"If-Modified-Since": "nonsense"}):
            assert server.get("/a.txt", headers).status == 200, headers
        assert server.get("/a.txt", {"Range": "bytes=1-2"}).body == b"ex"
        assert server.get("/a.txt", {"If-Match": '"x"'}).status == 412


def test_access_log_sees_every_answer(serve):
    server = one_loop(serve, 'LogFormat "%m %U %>s %B %{X-Id}i" probe\nCustomLog logs/probe probe\n', files={"a.txt": "text"})
    settle(server.path("htdocs"))
    for i in range(6):
        server.get("/a.txt", {"X-Id": f"n{i}"})
        server.get("/absent", {"X-Id": f"m{i}"})
    for i in range(6):
        server.wait_for_log(rf"(?m)^GET /a\.txt 200 4 n{i}$", "logs/probe")
        server.wait_for_log(rf"(?m)^GET /absent 404 \d+ m{i}$", "logs/probe")


def test_large_file_changes_under_slow_readers(serve):
    """Those who read the old file get all of the old one, or a closed connection; the next gets the new one."""
    size = 3 << 20
    server = one_loop(serve, "EnableSendfile On\n", files={"big": b"a" * size})
    settle(server.path("htdocs"))
    warm(server, "/big")
    with server.connect() as slow:
        slow.send(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.read_head()  # the answer is under way, and larger than what the sockets hold
        server.write("new", b"b" * size)
        os.rename(server.path("htdocs/new"), server.path("htdocs/big"))
        assert server.get("/big").body == b"b" * size
        assert slow.read_exactly(size) == b"a" * size


def test_more_files_than_are_kept(serve):
    server = one_loop(serve, "FileCacheEntries 10\nMaxKeepAliveRequests 0\n", files={f"{i}.txt": f"text {i}" for i in range(40)})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(5):
            for i in range(40):
                assert c.get(f"/{i}.txt").body == f"text {i}".encode()


def test_age_is_trusted_where_asked_for(serve):
    """Also shows that answers are remembered at all."""
    server = one_loop(serve, "FileCacheValidate 3600\n" + NO_OVERRIDES, files={"a.txt": "old"}, bare=True)
    settle(server.path("htdocs"))
    warm(server, "/a.txt", b"old")
    server.write("a.txt", "new")
    assert server.get("/a.txt").body == b"old"


def test_date_that_a_directive_sets(serve):
    """Conditions are about the file's own date, also when the answer is remembered."""
    date = "Sat, 01 Jan 2000 00:00:00 GMT"
    server = one_loop(serve, f'Header set Last-Modified "{date}"\n', files={"a.txt": "a"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(5):
            assert c.get("/a.txt")["Last-Modified"] == date
            assert c.get("/a.txt", {"If-Modified-Since": date}).status == 200
            assert c.get("/a.txt", {"If-Modified-Since": "Tue, 14 Nov 2023 22:13:20 GMT"}).status == 304


@pytest.mark.parametrize("method,headers", [("HEAD", ()), ("GET", {"Range": "bytes=1-2"}), ("GET", {"Range": "bytes=0-0,2-2"})])
def test_what_asks_for_less_than_the_file_counts(serve, method, headers):
    """A HEAD arms and fills as a GET does, a range arms: seen by a change that inotify does not tell of."""
    server = one_loop(serve, "", files={"a.txt": "old\n"})
    settle(server.path("htdocs"))
    with server.connect() as c, open(server.path("htdocs/a.txt"), "r+b") as f, mmap.mmap(f.fileno(), 4) as view:
        for _ in range(8):  # some may be a worker's, where the kernel had to look for a name: these do not count
            assert c.request(method, "/a.txt", headers).status == (206 if headers else 200)
        full = [c.get("/a.txt") for _ in range(2)][1] if headers else None
        view[0:4] = b"new\n"
        stored = c.get("/a.txt")
        assert stored.body == b"old\n"
        assert c.request("HEAD", "/a.txt")["Content-Length"] == stored["Content-Length"] == "4"
        if full:
            assert [h for h in full.headers if h[0] != "Date"] == [h for h in stored.headers if h[0] != "Date"]
