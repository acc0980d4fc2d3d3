# SPDX-License-Identifier: Apache-2.0
"""What one client sends does not change what another one gets from the store: fields that are forwarded, targets that look alike, errors that
somebody provoked, answers that are for one user alone."""
import random
import time

import pytest

import brigade
from backend import Backend, answer
from cached_site import config, fields, kind

pytestmark = pytest.mark.only("brigade")

BODY = b"0123456789" * 300
TAG = '"tag"'
FORWARDED = {
    "plain": {}, "accept": {"Accept": "text/evil"}, "coding": {"Accept-Encoding": "gzip;q=0, evil"}, "language": {"Accept-Language": "xx"},
    "agent": {"User-Agent": "evil"}, "referer": {"Referer": "http://evil/"}, "origin": {"Origin": "http://evil"}, "cookie": {"Cookie": "a=evil"},
    "via": {"Via": "1.1 evil"}, "forwarded": {"Forwarded": "host=evil;proto=https"}, "x-host": {"X-Forwarded-Host": "evil"},
    "x-proto": {"X-Forwarded-Proto": "https"}, "x-scheme": {"X-Forwarded-Scheme": "https"}, "x-port": {"X-Forwarded-Port": "81"},
    "x-url": {"X-Original-URL": "/evil"}, "x-rewrite": {"X-Rewrite-URL": "/evil"}, "x-server": {"X-Forwarded-Server": "evil"},
    "override": {"X-HTTP-Method-Override": "POST"}, "override2": {"X-Method-Override": "DELETE"}, "range": {"Range": "bytes=0-4"},
    "ranges": {"Range": "bytes=0-4,9-12"}, "no range": {"Range": "bytes=99999-"}, "if-range": {"Range": "bytes=0-4", "If-Range": TAG},
    "none-match": {"If-None-Match": TAG}, "none-match *": {"If-None-Match": "*"}, "match": {"If-Match": '"evil"'},
    "since": {"If-Modified-Since": "Mon, 02 Nov 2037 10:00:00 GMT"}, "unmodified": {"If-Unmodified-Since": "Mon, 02 Nov 1998 10:00:00 GMT"},
    "oversize": {"X-Long": "x" * 7000}, "meta": {"X-Meta": "a\x01b"}, "expect": {"Expect": "100-continue"}, "te": {"TE": "trailers"},
    "connection": {"Connection": "Cache-Control, ETag, X-Forwarded-For, Host"}, "pragma": {"Pragma": "no-cache"}, "reload": {"Cache-Control": "no-cache"},
    "no-store": {"Cache-Control": "no-store"}, "max-age": {"Cache-Control": "max-age=0"}, "stale": {"Cache-Control": "max-stale"},
    "only": {"Cache-Control": "only-if-cached"}, "upgrade": {"Upgrade": "h2c", "Connection": "Upgrade"}, "proxy": {"Proxy": "http://evil"},
    "max-forwards": {"Max-Forwards": "0"}, "authorization": {"Authorization": "Basic eDp5"}, "purge": {"Cache-Tag": "all", "Surrogate-Key": "all"},
}


def origin(age):
    """Does what an origin may do with such fields, wrong things included."""
    def script(connection, request):
        more = fields(("ETag", TAG), ("X-Same", "1"), age=age)
        if request["X-Method-Override"] or request["X-HTTP-Method-Override"]:
            return answer(b"method", "405 Method Not Allowed")
        if request["X-Original-URL"] or request["X-Rewrite-URL"]:
            return answer(b"elsewhere", "404 Not Found")
        if request["X-Long"]:
            return answer(b"long", "431 Request Header Fields Too Large")
        if request["X-Meta"]:
            return answer(b"meta", "400 Bad Request")
        if request["If-Match"]:
            return answer(b"", "412 Precondition Failed", more)
        if request["If-None-Match"]:
            return answer(b"", "304 Not Modified", more)
        if request["Range"] and request["Range"].startswith("bytes=0-4"):
            return answer(BODY[:5], "206 Partial Content", [("Content-Range", f"bytes 0-4/{len(BODY)}"), *more])
        if request["Range"]:
            return answer(b"", "416 Range Not Satisfiable", [("Content-Range", f"bytes */{len(BODY)}")])
        return answer(BODY, fields=more)
    return script


def seen(got):
    return got.status, [f for f in got.headers if f[0] not in ("Age", "Date", "X-Cache", "X-Cache-Detail", "Connection")], got.body


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


@pytest.mark.parametrize("protocol", ["fresh", "stale"])
def test_forwarded_fields(serve, backend, protocol):
    """Each before anything is stored, and then while it is stored: others get what they would have got."""
    backend.scripts["*"] = origin(100 if protocol == "fresh" else 0)
    server = serve(config(backend, "CacheStoreExpired On"))
    wanted = seen(server.get("/p/first"))
    assert wanted[0] == 200 and wanted[2] == BODY
    for number, evil in enumerate(FORWARDED.values()):
        path = f"/p/{number}"
        server.get(path, headers=evil)
        for rounds in range(3):
            assert seen(server.get(path)) == wanted, (evil, rounds)
            server.get(path, headers=evil)
    everything = list(FORWARDED.values())
    for i in range(300):
        server.get("/p/all", headers=random.choice(everything))
        assert seen(server.get("/p/all")) == wanted


TARGETS = ["/p/a", "/p/a;x.css", "/p/a%3bx.css", "/p/a%2fb", "/p/a/b", "/p/a%2Fb", "/p/a/%2e%2e/b", "/p/a/../b", "/p/b", "/p//a", "/p/./a", "/p/a%3fx", "/p/a?x",
           "/p/a%23x", "/p/%61", "/p/a%00", "/p/a%0a", "/p/a%20", "/p/a+", "/p/a%2b", "/p/A", "/p/a.", "/p/a/", "/p/a?", "/p/a?x=1&y=2", "/p/a?y=2&x=1",
           "/p/a?x=%31", "/p/a?x=1#y", "/p/a..%2fb", "/p/a%5cb", "/p/a%c0%af", "/p/a?/p/b", "/p/a?x=1;y=2"]


def test_targets_that_look_alike(serve, backend):
    """What is stored of a target is what its backend says of it."""
    backend.scripts["*"] = lambda c, r: answer(r.target.encode(), fields=fields())
    cached, plain = serve(config(backend)), serve(config(backend, "CacheDisable /"))
    for rounds in range(4):
        for target in random.sample(TARGETS, len(TARGETS)):
            got, wanted = cached.get(target), plain.get(target)
            assert (got.status, got.body) == (wanted.status, wanted.body), target


@pytest.mark.parametrize("host", ["localhost", "localhost:81", "LOCALHOST", "evil", "localhost.", "[::1]"])
def test_hosts_are_apart(serve, backend, host):
    backend.scripts["*"] = lambda c, r: answer((r["X-Forwarded-Host"] or "-").encode(), fields=fields())
    server = serve(config(backend))
    for rounds in range(4):
        for name in (host, "other"):
            assert server.get("/p/a", headers={"Host": name}).body.lower() == name.lower().encode()


@pytest.mark.parametrize("more", ["", "ProxyPreserveHost On\n"])
def test_without_a_host(serve, backend, more):
    """HTTP/1.0: the backend is told another host than clients of the site name, so its answer is not theirs. A change of the target is one of all."""
    backend.scripts["*"] = lambda c, r: answer(f"{r['Host']} {r['X-Forwarded-Host']}".encode(), fields=fields())
    server = serve(config(backend, more))
    bare = b"GET /p/a HTTP/1.0\r\n\r\n"
    told = b"localhost None" if more else b"127.0.0.1:%d None" % backend.port
    name = "localhost"
    wanted = f"{name if more else f'127.0.0.1:{backend.port}'} {name}".encode()
    for _ in range(3):
        assert server.raw(bare).endswith(b"\r\n\r\n" + told)
        assert server.get("/p/a", headers={"Host": name}).body == wanted
    assert kind(server.get("/p/a", headers={"Host": name})) == "HIT"
    server.raw(b"POST /p/a HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
    assert kind(server.get("/p/a", headers={"Host": name})) == "MISS"


@pytest.mark.parametrize("name", ["Origin", "Accept", "Accept-Language", "User-Agent", "Referer", "X-Kind", "Accept-Encoding", "Range", "If-None-Match",
                                  "Cookie", "X-Forwarded-Proto", "Forwarded", "Via", "Access-Control-Request-Method", "Sec-Fetch-Site", "Save-Data", "DNT"])
@pytest.mark.parametrize("form", ["{}", "close, {}", "{}, keep-alive", "Upgrade , {}"])
def test_a_field_that_is_taken_back(serve, name, form):
    """A field that Connection names does not reach the backend: what that says then is not stored as the answer to requests that have it."""
    with Backend() as backend:
        backend.scripts["*"] = lambda c, r: answer((r[name] or "none").encode(), fields=fields(("Vary", name)))
        server = serve(config(backend))
        for path in ("/p/a", "/p/b"):
            for _ in range(2):
                server.get(path, headers={name: "v", "Connection": form.format(name)})
            assert server.get(path, headers={name: "v"}).body in (b"v", b"1.1 v", b"v, 127.0.0.1")


@pytest.mark.parametrize("status", ["400 Bad Request", "405 Method Not Allowed", "413 Content Too Large", "431 Request Header Fields Too Large",
                                    "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "429 Too Many Requests"])
def test_errors_are_stored_if_they_say_so(serve, backend, status):
    backend.scripts["/silent"] = answer(b"error", status, [("Last-Modified", "Mon, 02 Nov 1998 10:00:00 GMT"), ("ETag", TAG)])
    backend.scripts["/told"] = answer(b"error", status, fields())
    server = serve(config(backend, "CacheDefaultExpire 1000"))
    assert [kind(server.get("/p/silent")) for i in range(3)] == ["MISS"] * 3
    assert [kind(server.get("/p/told")) for i in range(4)] == ["MISS"] + ["HIT"] * 3


@pytest.mark.parametrize("more", ["", "CacheIgnoreCacheControl On\nCacheStorePrivate On\nCacheStoreNoStore On\nCacheDefaultExpire 1000\nCacheIgnoreNoLastMod On"])
def test_what_is_for_one_user(serve, backend, more):
    """Cookies, and what came with credentials, whatever the target's name, and whatever the configuration ignores."""
    made = []

    def cookie(connection, request):
        made.append(1)
        return answer(b"%d" % len(made), fields=[("Cache-Control", "max-age=100"), ("Set-Cookie", f"session={len(made)}")])

    backend.scripts["/cookie.css"] = cookie
    backend.scripts["/user.css"] = lambda c, r: answer((r["Authorization"] or "nobody").encode(), fields=fields())
    backend.scripts["/account.css"] = lambda c, r: answer((r["Cookie"] or "nobody").encode())
    server = serve(config(backend, more))
    for i in range(1, 5):
        got = server.get("/p/cookie.css")
        assert got.body == b"%d" % i and got["Set-Cookie"] == f"session={i}"
    for name in ("Basic YTph", "Basic Yjpi", None, "Basic Yzpj", None):
        got = server.get("/p/user.css", headers={"Authorization": name} if name else {})
        assert got.body == (name or "nobody").encode()
    if not more:
        for name in ("a=1", "a=2", None):
            assert server.get("/p/account.css", headers={"Cookie": name} if name else {}).body == (name or "nobody").encode()


def test_fat_get(serve, backend):
    backend.scripts["*"] = lambda c, r: answer(r.body or b"none", fields=fields())
    server = serve(config(backend))
    for rounds in range(3):
        server.request("GET", "/p/a", body=b"evil")
        assert server.get("/p/a").body == b"none"
    assert server.request("GET", "/p/a", body=b"mine").body == b"mine"


def test_a_purge_needs_leave(serve, backend):
    backend.scripts["*"] = answer(b"x", fields=fields(("Cache-Tag", "t")))
    server = serve(config(backend))
    server.get("/p/a")
    for headers in ({}, {"Cache-Tag": "t"}):
        server.request("PURGE", "/p/b", headers=headers)
    server.request("PURGE", "/p/*")
    time.sleep(0.01)
    assert kind(server.get("/p/a")) == "HIT"


@pytest.mark.parametrize("scheme", ["http", "https", "HTTPS"])
def test_a_target_names_no_other_host_than_the_request(serve, backend, scheme):
    """The host of an absolute target counts where it is of the server's scheme, else the Host field: what that host answers is its own."""
    backend.scripts["*"] = lambda c, r: answer(r["Host"].encode(), fields=fields())
    host = '<VirtualHost *:*>\nServerName {0}\nProxyPreserveHost On\n{1}</VirtualHost>\n'
    server = serve("EventLoops 1\n" + "".join(host.format(name, config(backend).split("EventLoops 1\n")[-1]) for name in ("evil", "good")))
    for target in ("/p/a", "/p/b"):
        evil = server.raw(f"GET {scheme}://good{target} HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n".encode())
        assert evil.endswith(b"good" if scheme == "http" else b"evil")
        for _ in range(3):
            assert server.get(target, host="good").body == b"good" and server.get(target, host="evil").body == b"evil"


def asks(port, host, target="/x"):
    got = brigade.raw_exchange("127.0.0.1", port, f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode(), brigade.PATIENCE)
    return got.rsplit(b"\r\n", 1)[1].decode(), b"X-Cache: HIT" in got


@pytest.mark.parametrize("other", ["good", "evil"])
def test_a_port_has_answers_of_its_own(serve, backend, other):
    """Its server answers whatever the Host field says, and not for the server of that name."""
    backend.scripts["*"] = lambda c, r: answer(r["X-Server"].encode(), fields=fields())
    ports = [brigade.free_port(), brigade.free_port()]
    host = ("Listen 127.0.0.1:{1}\n<VirtualHost *:{1}>\nServerName {0}\nServerAlias www.{0}\nRequestHeader set X-Server of{1}\n"
            f"ProxyPass / http://127.0.0.1:{backend.port}/\nCacheEnable memory /\nCacheHeader On\nCachePurge 127.0.0.1\n</VirtualHost>\n")
    serve("EventLoops 1\n" + host.format("good", ports[0]) + host.format(other, ports[1]))
    for name in ("good", f"good:{ports[0]}", "www.good", "nobody", "evil"):
        for rounds in range(3):
            for port in ports[::-1]:
                assert asks(port, name) == (f"of{port}", rounds > 0), name
        purge = f"PURGE /x HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
        assert b" 200 " in brigade.raw_exchange("127.0.0.1", ports[0], purge, brigade.PATIENCE)
        assert [asks(port, name)[1] for port in ports] == [False, False], "a URL ends with the answers of all servers"


def test_the_usual_port_is_not_kept(serve, backend):
    """An application that sends good:80 on to good would send everybody there, and those at good, too."""
    backend.scripts["*"] = lambda c, r: answer(r["Host"].encode(), fields=fields())
    server = serve(config(backend, "ProxyPreserveHost On\n"))
    for name, seen in (("good:80", "good:80"), ("good", "good"), ("good:443", "good:443"), ("good:80", "good:80"), ("good", "good")):
        for _ in range(2):
            assert server.get("/p/a", host=name).body.decode() == seen
    assert kind(server.get("/p/a", host="good")) == "HIT"
