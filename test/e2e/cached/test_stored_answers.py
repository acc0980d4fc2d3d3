# SPDX-License-Identifier: Apache-2.0
"""Answers of backends from the store: what is stored, for whom, how long, and what ends it."""
import email.utils
import os
import signal
import socket
import time

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import DATE, config, fields, kind, kinds

pytestmark = pytest.mark.only("brigade")

@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def test_hit(serve, backend):
    backend.scripts["/a"] = answer(b"stored\n", "200 Fine", fields(("X-A", "1"), ("Link", "<a>"), ("Link", "<b>"), ("ETag", '"e"')))
    server = serve(config(backend))
    first, second = server.get("/p/a"), server.get("/p/a")
    assert kind(first) == "MISS" and kind(second) == "HIT"
    assert (second.status, second.body) == (200, b"stored\n") and second.reason == first.reason
    assert second.all("Link") == ["<a>", "<b>"] and second["X-A"] == "1" and second["Content-Length"] == "7"
    assert int(second["Age"]) <= 5 and first["Age"] is None
    assert len(backend.requests) == 1
    assert second["X-Cache-Detail"] == '"cache hit" from localhost'
    server.wait_for_log("GET /p/a cache miss: attempting entity save TCP_MISS", "logs/access.log")
    server.wait_for_log("GET /p/a cache hit TCP_HIT", "logs/access.log")


def test_hit_of_other_loops(serve, backend):
    backend.scripts["/a"] = answer(b"stored\n", fields=fields())
    server = serve(config(backend, loops=4))
    server.get("/p/a")
    assert {kind(server.get("/p/a")) for _ in range(40)} == {"HIT"}
    assert len(backend.requests) == 1


def test_large_bodies(serve, backend):
    body = bytes(range(256)) * 4096 * 5  # 5 MiB: several pieces of the store
    backend.scripts["/long"] = answer(body, fields=fields())
    backend.scripts["/chunked"] = (b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                   b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n")
    server = serve(config(backend, "CacheMaxFileSize 10000000"))
    for path in ("/p/long", "/p/chunked"):
        assert server.get(path).body == body
        got = server.get(path)
        assert kind(got) == "HIT" and got.body == body and got["Content-Length"] == str(len(body))
    got = server.get("/p/long", headers={"Range": "bytes=3000000-3000009"})
    assert got.status == 206 and got.body == body[3000000:3000010]


def test_head_and_ranges_and_conditions(serve, backend):
    backend.scripts["/a"] = answer(b"0123456789", fields=fields(("ETag", '"e"'), ("Last-Modified", DATE)))
    server = serve(config(backend))
    server.get("/p/a")
    head = server.request("HEAD", "/p/a")
    assert head.status == 200 and head.body == b"" and head["Content-Length"] == "10" and kind(head) == "HIT"
    got = server.get("/p/a", headers={"Range": "bytes=2-4"})
    assert (got.status, got.body, got["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    got = server.get("/p/a", headers={"Range": "bytes=20-"})
    assert got.status == 416
    got = server.get("/p/a", headers={"If-None-Match": '"e"'})
    assert got.status == 304 and got.body == b"" and got["ETag"] == '"e"'
    assert server.get("/p/a", headers={"If-Modified-Since": DATE}).status == 304
    assert server.get("/p/a", headers={"If-Match": '"other"'}).status == 412
    assert len(backend.requests) == 1


@pytest.mark.parametrize("more,why", [
    ([("Cache-Control", "no-store")], "Cache-Control: no-store present"),
    ([("Cache-Control", "private, max-age=9")], "Cache-Control: private present"),
    ([("Cache-Control", "max-age=9"), ("Vary", "*")], "Vary header contains '*'"),
    ([("Cache-Control", "max-age=9"), ("Set-Cookie", "a=b")], "the response sets a cookie"),
    ([], "No Last-Modified; Etag; Expires; Cache-Control:max-age or Cache-Control:s-maxage headers")])
def test_not_stored(serve, backend, more, why):
    backend.scripts["/a"] = answer(fields=more)
    server = serve(config(backend))
    got = server.get("/p/a")
    assert got["X-Cache-Detail"] == f'"{why}" from localhost'
    assert kind(server.get("/p/a")) == "MISS" and len(backend.requests) == 2


def test_authorization(serve, backend):
    backend.scripts["/a"] = answer(fields=fields())
    backend.scripts["/public"] = answer(fields=[("Cache-Control", "public, max-age=100")])
    server = serve(config(backend))
    with_it = {"Authorization": "Basic eDp5"}
    assert kinds(server, ("/p/a", with_it), ("/p/a", {}), ("/p/a", {}), ("/p/a", with_it)) == ["MISS", "MISS", "HIT", "MISS"]
    assert kinds(server, ("/p/public", with_it), ("/p/public", {}), ("/p/public", with_it)) == ["MISS", "HIT", "HIT"]


@pytest.mark.parametrize("more", ["", "CacheIgnoreHeaders Set-Cookie"])
def test_cookie_is_not_stored_beside_a_public_answer(serve, backend, more):
    server = serve(config(backend, more))
    backend.scripts["/a"] = answer(fields=[("Cache-Control", "public, max-age=100"), ("Set-Cookie", "secret=1")])
    assert server.get("/p/a")["Set-Cookie"] == "secret=1"
    got = server.get("/p/a")
    assert kind(got) == "HIT" and got["Set-Cookie"] is None


def test_variants(serve, backend):
    backend.scripts["/a"] = lambda c, r: answer((r["Accept-Language"] or "none").encode(), fields=fields(("Vary", "Accept-Language")))
    server = serve(config(backend))
    for rounds in range(2):
        for language in ("de", "fr", None):
            got = server.get("/p/a", headers={"Accept-Language": language} if language else {})
            assert got.body == (language or "none").encode() and kind(got) == ("HIT" if rounds else "MISS")
    assert len(backend.requests) == 3
    server.request("POST", "/p/a", body=b"x")
    assert kind(server.get("/p/a", headers={"Accept-Language": "de"})) == "MISS"


def test_queries_hosts_and_session_names(serve, backend):
    backend.scripts["/a"] = lambda c, r: answer(r.target.encode(), fields=fields())
    server = serve(config(backend, "CacheIgnoreURLSessionIdentifiers jsessionid"))
    assert server.get("/p/a?x=1").body == b"/a?x=1" and server.get("/p/a?x=2").body == b"/a?x=2"
    assert kinds(server, ("/p/a?x=1", {}), ("/p/a", {}), ("/p/a?x=1&jsessionid=7", {}), ("/p/a?jsessionid=7&x=1", {})) == \
        ["HIT", "MISS", "HIT", "HIT"]
    assert kinds(server, ("/p/a?x=1", {"Host": "other"}), ("/p/a?x=1", {"Host": "other:81"}), ("/p/a?x=1", {"Host": "OTHER"})) == \
        ["MISS", "MISS", "HIT"]


def test_validation(serve, backend):
    state = {"body": b"one\n", "tag": '"1"'}

    def script(connection, request):
        same = request["If-None-Match"] == state["tag"]
        lines = fields(("ETag", state["tag"]), ("X-Round", str(len(backend.requests))), age=1)
        return answer(b"", "304 Not Modified", lines).replace(b"Content-Length: 0\r\n", b"") if same else answer(state["body"], fields=lines)

    backend.scripts["/a"] = script
    server = serve(config(backend))
    server.get("/p/a")
    time.sleep(1.1)
    got = server.get("/p/a", headers={"Range": "bytes=0-1"})
    assert (got.status, got.body, kind(got), got["X-Round"]) == (206, b"on", "REVALIDATE", "2")
    assert backend.requests[1]["If-None-Match"] == '"1"' and backend.requests[1]["Range"] is None
    assert got["X-Cache-Detail"] == '"conditional cache hit: entity refreshed" from localhost'
    assert kind(server.get("/p/a")) == "HIT"
    server.wait_for_log("conditional cache hit: entity refreshed TCP_REFRESH_HIT", "logs/access.log")
    time.sleep(1.1)
    got = server.get("/p/a", headers={"If-None-Match": '"1"'})
    assert got.status == 304 and kind(got) == "REVALIDATE"
    state.update(body=b"two\n", tag='"2"')
    time.sleep(1.1)
    got = server.get("/p/a", headers={"If-None-Match": '"1"'})
    assert (got.status, got.body, kind(got)) == (200, b"two\n", "MISS")
    assert server.get("/p/a").body == b"two\n" and len(backend.requests) == 4


def test_what_one_request_wants_ends_nothing(serve, backend):
    """Ranges, conditions, HEAD: what is not stored of them leaves what is stored as it is."""
    def script(connection, request):
        line = fields(("ETag", '"1"'), age=2)
        if request["Range"]:
            return answer(b"ab", "206 Partial Content", [*line, ("Content-Range", "bytes 0-1/6")])
        if request["If-None-Match"]:
            return answer(b"", "304 Not Modified", line).replace(b"Content-Length: 0\r\n", b"")
        if request.method == "HEAD":
            return answer(b"", fields=line).replace(b"Content-Length: 0", b"Content-Length: 6")
        return answer(b"abcdef", fields=line)

    backend.scripts["/a"] = script
    server = serve(config(backend))
    server.get("/p/a")
    for more in ({"Range": "bytes=0-1"}, {"If-None-Match": '"1"'}):
        assert server.get("/p/a", headers={"Cache-Control": "no-cache", **more}).status in (206, 304)
        assert kind(server.get("/p/a")) == "HIT"
    time.sleep(2.1)
    got = server.request("HEAD", "/p/a")
    assert got.status == 200 and got["Content-Length"] == "6"
    got = server.get("/p/a")
    assert kind(got) == "HIT" and got.body == b"abcdef"


def test_wishes_of_requests(serve, backend):
    backend.scripts["/a"] = answer(fields=fields())
    server = serve(config(backend))
    assert server.get("/p/a", headers={"Cache-Control": "only-if-cached"}).status == 504
    assert kinds(server, ("/p/a", {}), ("/p/a", {"Cache-Control": "no-cache"}), ("/p/a", {"Cache-Control": "no-store"}),
                 ("/p/a", {"Cache-Control": "max-age=0"}), ("/p/a", {"Pragma": "no-cache"}), ("/p/a", {"Cache-Control": "only-if-cached"})) == \
        ["MISS", "MISS", "MISS", "MISS", "MISS", "HIT"]
    server = serve(config(backend, "CacheIgnoreCacheControl On"))
    assert kinds(server, ("/p/a", {}), ("/p/a", {"Cache-Control": "no-cache"})) == ["MISS", "HIT"]


def test_stale_on_error(serve, backend):
    backend.scripts["/a"] = answer(b"good\n", fields=fields(("ETag", '"1"'), age=1))
    server = serve(config(backend))
    server.get("/p/a")
    backend.scripts["/a"] = answer(b"bad\n", "503 Service Unavailable")
    time.sleep(1.1)
    got = server.get("/p/a")
    assert (got.status, got.body) == (200, b"good\n") and got["Warning"] == "111 Revalidation failed"
    assert got["X-Cache-Detail"] == '"cache hit: 503 status; stale content returned" from localhost'
    backend.listener.shutdown(socket.SHUT_RDWR)
    backend.close()
    wait_until(lambda: backend.open == 0, "connections end")
    got = server.get("/p/a")
    assert (got.status, got.body) == (200, b"good\n") and got["X-Cache-Detail"].startswith('"cache hit: 50')
    server.wait_for_log("AH01114")


def test_stale_on_error_off(serve, backend):
    backend.scripts["/a"] = answer(b"good\n", fields=fields(("ETag", '"1"'), age=1))
    server = serve(config(backend, "CacheStaleOnError Off"))
    server.get("/p/a")
    backend.scripts["/a"] = answer(b"bad\n", "503 Service Unavailable")
    time.sleep(1.1)
    assert server.get("/p/a").status == 503


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "STRANGE"])
def test_invalidation(serve, backend, method):
    for path in ("/a", "/b"):
        backend.scripts[path] = lambda c, r: answer(fields=fields(("Location", "/p/b")) if r.method != "GET" else fields())
    server = serve(config(backend))
    server.get("/p/a"), server.get("/p/b")
    assert kinds(server, ("/p/a", {}), ("/p/b", {})) == ["HIT", "HIT"]
    server.request(method, "/p/a", body=b"")
    assert kinds(server, ("/p/a", {}), ("/p/b", {})) == ["MISS", "MISS"]
    server.wait_for_log(f"{method} /p/a cache invalidated by {method} TCP_MISS", "logs/access.log")


def test_failed_change_ends_nothing(serve, backend):
    backend.scripts["/a"] = lambda c, r: answer(fields=fields()) if r.method == "GET" else answer(b"", "500 No")
    server = serve(config(backend))
    server.get("/p/a")
    assert server.request("POST", "/p/a", body=b"x").status == 500
    assert kind(server.get("/p/a")) == "HIT"


@pytest.mark.parametrize("quick", ["On", "Off"])
@pytest.mark.parametrize("status", ["400 Bad", "401 Unauthorized", "403 Forbidden", "404 Not Found", "405 Method Not Allowed", "409 Conflict", "412 Precondition Failed",
                                    "429 Too Many", "501 Not Implemented", "503 Later"])
def test_a_change_that_the_backend_refused_ends_nothing(serve, backend, status, quick):
    """Neither the target nor the names of its answer: also where a page of our own is sent in its place."""
    refused = answer(b"no", status, [("Location", "/p/b"), ("Content-Location", "/p/b"), ("Cache-Group-Invalidation", '"all"'), ("WWW-Authenticate", "Basic realm=x")])
    for path in ("/a", "/b"):
        backend.scripts[path] = lambda c, r: answer(fields=fields(("Cache-Groups", '"all"'))) if r.method == "GET" else refused
    server = serve(config(backend, f"""CacheQuickHandler {quick}
<Location /p/a>
ProxyErrorOverride On
</Location>
ErrorDocument {status[:3]} /page.html
"""), {"page.html": "page"})
    for path in ("/p/a", "/p/b"):
        server.get(path)
    for method in ("POST", "PUT", "DELETE", "PATCH", "STRANGE"):
        for path in ("/p/a", "/p/b"):
            got = server.request(method, path, body=b"x")
            assert got.status == int(status[:3]), (method, got)
    assert kinds(server, ("/p/a", {}), ("/p/b", {})) == ["HIT", "HIT"]


@pytest.mark.parametrize("quick", ["On", "Off"])
@pytest.mark.parametrize("remedy,status", [
    ("<LimitExcept GET>\nRequire ip 192.0.2.1\n</LimitExcept>", 403),
    ("RequestLimit changes rate=1/h \"when=%{REQUEST_METHOD} != 'GET'\"", 429)])
def test_who_may_end_what_is_stored(serve, backend, remedy, status, quick):
    """RFC 9111, 4.4: whoever asks. The guide's remedies: methods that are refused here, and limits."""
    backend.scripts["/a"] = lambda c, r: answer(fields=fields())
    server = serve(config(backend, f"CacheQuickHandler {quick}\nErrorDocument {status} /page.html\n<Location /p/>\n{remedy}\n</Location>"), {"page.html": "page"})
    if status == 429:
        assert server.request("POST", "/p/a", body=b"x").status == 200
    server.get("/p/a")
    asked = len(backend.requests)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert server.request(method, "/p/a", body=b"x").status == status
    assert kinds(server, ("/p/a", {})) == ["HIT"] and len(backend.requests) == asked


def test_no_cache_by_environment(serve, backend):
    backend.scripts["*"] = answer(fields=fields())
    server = serve(config(backend, 'SetEnvIf Request_URI "^/p/no" no-cache\nCacheDisable /p/off'))
    for path in ("/p/no", "/p/off"):
        assert [kind(server.get(path)) for _ in range(2)] == ["-", "-"]
    assert [kind(server.get("/p/yes")) for _ in range(2)] == ["MISS", "HIT"]


def test_cut_answers_are_not_stored(serve, backend):
    def cut(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 100\r\n\r\nhalf")
        return False

    backend.scripts["/a"] = cut
    server = serve(config(backend))
    with pytest.raises(Exception):
        server.get("/p/a")
    backend.scripts["/a"] = answer(b"whole\n", fields=fields())
    got = server.get("/p/a")
    assert kind(got) == "MISS" and got.body == b"whole\n"
    assert server.get("/p/a").body == b"whole\n" and len(backend.requests) == 2


def test_sizes(serve, backend):
    backend.scripts["/short"] = answer(b"x", fields=fields())
    backend.scripts["/long"] = answer(b"x" * 2000, fields=fields())
    server = serve(config(backend, "CacheMinFileSize 2\nCacheMaxFileSize 1000"))
    for path in ("/p/short", "/p/long"):
        assert [kind(server.get(path)) for _ in range(2)] == ["MISS", "MISS"]


def test_answers_without_a_body(serve, backend):
    """Redirects often have none. A page without any is not kept, as with Apache's least size of 1."""
    for path, status in (("/moved", "301 Moved Permanently"), ("/gone", "410 Gone"), ("/page", "200 OK")):
        backend.scripts[path] = answer(b"", status, fields(("Location", "/elsewhere")))
        ended = backend.scripts[path].replace(b"Content-Length: 0", b"Connection: close")
        backend.scripts[path + "-ended"] = lambda connection, request, head=ended: (connection.send(head), False)[1]
    server = serve(config(backend, "CacheMinFileSize 1"))
    for path in ("/p/moved", "/p/moved-ended", "/p/gone", "/p/gone-ended"):
        first, second = server.get(path), server.get(path)
        assert [kind(first), kind(second)] == ["MISS", "HIT"]
        assert (second.status, second.body, second["Location"], second["Content-Length"]) == (first.status, b"", first["Location"], "0")
        assert kind(server.request("HEAD", path)) == "HIT"
    for path in ("/p/page", "/p/page-ended"):
        assert [kind(server.get(path)) for _ in range(2)] == ["MISS", "MISS"]


def test_in_sections_and_behind_access_control(serve, backend):
    backend.scripts["*"] = answer(b"ok\n", fields=fields())
    server = serve(f"""
CacheQuickHandler Off
CacheHeader On
ProxyPass /p/ http://127.0.0.1:{backend.port}/
<Location /p/in/>
CacheEnable memory
</Location>
<Location /p/in/closed>
Require all denied
</Location>
""")
    assert kinds(server, ("/p/in/a", {}), ("/p/in/a", {}), ("/p/out", {}), ("/p/out", {})) == ["MISS", "HIT", "-", "-"]
    assert server.get("/p/in/closed").status == 403


def test_answers_of_programs_and_files(serve):
    server = serve("""
CacheEnable memory /
CacheHeader On
CacheIgnoreNoLastMod On
AddHandler cgi-script .cgi
<Directory @ROOT@/htdocs>
Options ExecCGI
</Directory>
""", {"a.txt": "text\n"})
    path = server.write("a.cgi", "#!/bin/sh\nprintf 'Content-Type: text/plain\\nCache-Control: max-age=100\\n\\n'\ndate +%s.%N\n")
    os.chmod(path, 0o755)
    os.utime(server.path("htdocs", "a.txt"), (1e9, 1e9))
    assert [kind(server.get("/a.txt")) for _ in range(2)] == ["MISS", "HIT"]
    first, second = server.get("/a.cgi"), server.get("/a.cgi")
    assert first.status == 200 and first.body == second.body and kind(second) == "HIT"
    assert second["Content-Type"] == "text/plain"


def test_survives_a_reload_and_processes_that_are_killed(serve, backend):
    backend.scripts["/a"] = answer(b"stored\n", fields=fields(age=1000))
    server = serve(config(backend))
    server.get("/p/a")
    child = server.children()[0]
    server.signal(signal.SIGUSR1)
    wait_until(lambda: child not in server.children(), "another process serves")
    assert kind(server.get("/p/a")) == "HIT"
    server.expect_trouble = True
    child = server.children()[0]
    os.kill(child, signal.SIGKILL)
    wait_until(lambda: child not in server.children() and answers(server), "another process serves")
    assert kind(server.get("/p/a")) == "HIT" and len(backend.requests) == 1


def answers(server):
    try:
        return server.get("/p/a").status == 200
    except OSError:
        return False


def test_memory_is_bounded(serve, backend):
    backend.scripts["*"] = lambda c, r: answer(r.target.encode().ljust(100000, b"."), fields=fields())
    server = serve(config(backend, "CacheMemory 8M\nCacheMaxFileSize 200000"))
    for n in range(300):
        assert server.get(f"/p/{n}").body.startswith(b"/%d." % n)
    assert len(backend.requests) == 300
    last = server.get("/p/299")
    assert last.body.startswith(b"/299.")


def test_head_is_the_stored_one(serve, backend):
    backend.scripts["*"] = answer(b"x", fields=fields(("Date", DATE), ("Server", "origin"), age=10**9))
    server = serve(config(backend))
    for expected in ("MISS", "HIT", "HIT"):
        got = server.get("/p/a")
        assert (kind(got), got["Date"], got["Server"]) == (expected, DATE, "origin")


def test_answers_without_a_body_of_their_status_are_stored(serve, backend):
    backend.scripts["*"] = answer(b"", "204 No Content", fields())
    server = serve(config(backend))
    assert [(kind(got), got.status) for got in (server.get("/p/a"), server.get("/p/a"))] == [("MISS", 204), ("HIT", 204)]


def closes(connection, request):
    raise ConnectionResetError


@pytest.mark.parametrize("control,status", [("max-age=0", 200), ("max-age=0, must-revalidate", 502), ("max-age=0, s-maxage=0", 502), ("no-cache", 502)])
def test_backend_that_closes_in_place_of_a_validation(serve, backend, control, status):
    """On a connection that has had answers, too: RFC 9111, 5.2.2.2."""
    backend.scripts["*"] = answer(b"stored", fields=[("Cache-Control", control), ("ETag", '"1"')])
    server = serve(config(backend))
    with server.connect() as c:
        assert c.get("/p/a").status == 200
        backend.scripts["*"] = closes
        got = c.get("/p/a")
    assert got.status == status and (status != 200 or got.body == b"stored")


def test_if_modified_since_without_last_modified(serve, backend):
    """RFC 9111, 4.3.2: Date counts."""
    now = time.time()
    date = [email.utils.formatdate(now + more, usegmt=True) for more in (-20, -10)]  # not the second of the requests
    backend.scripts["/a"] = answer(b"stored\n", fields=fields(("Date", date[1]), age=1000))
    server = serve(config(backend))
    server.get("/p/a")
    for rounds in range(3):
        assert server.get("/p/a", headers={"If-Modified-Since": date[0]}).status == 200
        got = server.get("/p/a", headers={"If-Modified-Since": date[1]})
        assert got.status == 304 and got["Last-Modified"] is None and kind(got) == "HIT"
        assert server.get("/p/a").body == b"stored\n"
    assert len(backend.requests) == 1


@pytest.mark.parametrize("said,wanted", [([("Content-Type", "text/plain;charset=utf-8")], "text/plain;charset=utf-8"), ([], "text/x-stored")])
def test_the_type_that_a_304_says(serve, backend, said, wanted):
    """It is that of the stored bytes from then on: RFC 9111, 3.2. What the server guesses by the name is not."""
    def script(connection, request):
        if request["If-None-Match"]:
            return answer(b"", "304 Not Modified", fields(("ETag", '"1"'), *said)).replace(b"Content-Length: 0\r\n", b"")
        return answer(b"body", fields=fields(("ETag", '"1"'), ("Content-Type", "text/x-stored"), age=0))

    backend.scripts["/a.html"] = script
    server = serve(config(backend, "AddType text/html .html"))
    server.get("/p/a.html")
    for kind_of in ("REVALIDATE", "HIT"):
        got = server.get("/p/a.html")
        assert (kind(got), got["Content-Type"]) == (kind_of, wanted)


@pytest.mark.parametrize("line,second,cookie", [("", "MISS", None), ("CacheIgnoreHeaders Set-Cookie", "HIT", None), ("CacheIgnoreHeaders X-Other", "MISS", None),
                                                ("CacheStoreCookies On", "HIT", "a=1"), ("CacheStoreCookies On\nCacheIgnoreHeaders Set-Cookie", "HIT", None),
                                                ("CacheQuickHandler Off\n<Location /p/a>\nCacheStoreCookies On\n</Location>", "HIT", "a=1"), ("CacheStoreCookies Off", "MISS", None)])
def test_cookies_that_are_not_to_be_stored(serve, backend, line, second, cookie):
    """Who leaves the field out has the rest stored, if it says for how long; each client but the first comes without the cookie. With
    CacheStoreCookies all get it."""
    backend.scripts["/a"] = answer(fields=fields(("Set-Cookie", "a=1")))
    backend.scripts["/guess"] = answer(fields=[("Set-Cookie", "a=1"), ("Last-Modified", DATE)])
    server = serve(config(backend, line))
    assert server.get("/p/a")["Set-Cookie"] == "a=1"
    got = server.get("/p/a")
    assert kind(got) == second and got["Set-Cookie"] == ("a=1" if second == "MISS" else cookie)
    assert kinds(server, ("/p/guess", {}), ("/p/guess", {})) == ["MISS", "MISS"]


def test_the_later_date_stays(serve, backend):
    """Of two answers that could be used the latest by Date is (RFC 9111, 4): an older one, of a cache on the way, replaces none that is fresh."""
    now = int(time.time())
    dates = []

    def script(connection, request):
        return answer(b"%d" % len(backend.requests), fields=fields(("Date", email.utils.formatdate(dates[len(backend.requests) - 1], usegmt=True)), age=60))

    backend.scripts["*"] = script
    dates += [now - 20, now - 30, now - 20, now - 10, now - 59]
    server = serve(config(backend, "CacheStatusHeader On"))
    reload = {"Cache-Control": "no-cache"}
    assert server.get("/p/a").body == b"1"
    got = server.get("/p/a", headers=reload)
    assert got.body == b"2" and "what is stored has a later Date" in got["Cache-Status"]
    assert server.get("/p/a").body == b"1"
    for stored in (b"3", b"4"):
        server.get("/p/a", headers=reload)
        assert server.get("/p/a").body == stored
    # What is there is stale, or gone: there is nothing to choose.
    dates[:] = [now] * len(backend.requests) + [now - 70, now - 80]
    assert [server.get("/p/b").body for _ in range(2)] == [b"5", b"6"]
