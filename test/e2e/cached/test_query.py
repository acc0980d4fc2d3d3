# SPDX-License-Identifier: Apache-2.0
"""QUERY (RFC 10008), where CacheMethods names it: answers are stored by target, body and what says what the body means."""
import contextlib
import os
import random
import threading

import pytest

import h2_client
import http_client
from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, is_written, kind, start_with_disk
from tier_site import TIERS, tier
import tier_site

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

ON = "CacheMethods GET QUERY\nCacheStatusHeader On\n"
JSON = {"Content-Type": "application/json"}
TAG = '"1"'
LIMIT = 65536


@pytest.fixture
def backend():
    """Each answer has the body that came, and the number of the request."""
    with Backend() as backend:
        backend.scripts["*"] = lambda c, r: answer(b"%d " % len(backend.requests) + r.method.encode() + b" " + r.body,
                                                   fields=fields(age=1000))
        yield backend


def query(server, body=b"", path="/p/a", headers=JSON):
    return server.request("QUERY", path, headers, body)


def gone(backend):
    """Bodies that came to the backend."""
    return [r.body for r in backend.requests]


@pytest.mark.parametrize("quick", ["On", "Off"])
def test_hits_by_body(serve, backend, quick):
    server = serve(config(backend, ON + f"CacheQuickHandler {quick}", loops=2))
    bodies = [b"a", b"b", b"", b"a\0", b"a" * LIMIT, b"a" * (LIMIT - 1) + b"b"]
    first = [query(server, b) for b in bodies]
    assert [kind(g) for g in first] == ["MISS"] * 6 and gone(backend) == bodies
    for b, was in zip(bodies, first):
        got = query(server, b)
        assert kind(got) == "HIT" and got.body == was.body and "hit" in got["Cache-Status"]
    assert server.get("/p/a").body.startswith(b"7 GET") and kind(server.get("/p/a")) == "HIT"
    assert kind(query(server, b"a", path="/p/a?x")) == "MISS"


@pytest.mark.parametrize("more", ["", "CacheMethods GET"])
def test_not_where_it_is_not_named(serve, backend, more):
    server = serve(config(backend, more))
    for _ in range(3):
        got = query(server, b"a")
        assert got.body == b"%d QUERY a" % len(backend.requests) and not got["X-Cache"]
    assert len(backend.requests) == 3


def test_methods_without_get(serve, backend):
    server = serve(config(backend, "CacheMethods QUERY"))
    assert not server.get("/p/a")["X-Cache"] and not server.get("/p/a")["X-Cache"]
    assert [kind(query(server, b"a")) for _ in range(2)] == ["MISS", "HIT"]


@pytest.mark.parametrize("name", ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location"])
def test_fields_of_the_body_count(serve, backend, name):
    server = serve(config(backend, ON))
    heads = [{}, {name: ""}, {name: "a"}, {name: "A"}, {name: "ab"}]
    assert [kind(query(server, b"x", headers=h)) for h in heads * 2] == ["MISS"] * 5 + ["HIT"] * 5
    # A body is not taken for the end of a field.
    assert kind(query(server, b"bx", headers={name: "a"})) == "MISS"


def test_longer_bodies_pass_by(serve, backend):
    server = serve(config(backend, ON))
    long = os.urandom(LIMIT + 1)
    chunked = b"%x\r\n" % (3 * LIMIT) + b"c" * (3 * LIMIT) + b"\r\n0\r\n\r\n"
    for _ in range(2):
        got = query(server, long)
        assert kind(got) == "MISS" and gone(backend)[-1] == long
        assert 'fwd=bypass' in got["Cache-Status"] and "longer than 64 KiB" in got["Cache-Status"]
        got = query(server, chunked, headers={**JSON, "Transfer-Encoding": "chunked"})
        assert gone(backend)[-1] == b"c" * (3 * LIMIT) and "longer than 64 KiB" in got["Cache-Status"]
    assert len(backend.requests) == 4


def slices(body):
    at, dice = 0, random.Random(len(body))
    while at < len(body):
        n = dice.randrange(1, 30000)
        yield body[at:at + n]
        at += n


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("expect", [False, True])
def test_bodies_that_come_slowly(serve, backend, chunked, expect):
    """Another client is answered meanwhile; what the backend gets is whole."""
    server = serve(config(backend, ON))
    body = os.urandom(50000)
    for turn in ("MISS", "HIT", "HIT"):
        with server.connect() as c:
            c.send("QUERY /p/a HTTP/1.1\r\nHost: localhost\r\n" + ("Expect: 100-continue\r\n" if expect else "") +
                   ("Transfer-Encoding: chunked\r\n\r\n" if chunked else f"Content-Length: {len(body)}\r\n\r\n"))
            if expect:
                assert c.read_response(interim=True).status == 100
            for piece in slices(body):
                assert server.get("/p/other").status == 200
                c.send(b"%x\r\n" % len(piece) + piece + b"\r\n" if chunked else piece)
            if chunked:
                c.send(b"0\r\n\r\n")
            got = c.read_response()
            assert kind(got) == turn and got.body.endswith(body)
            assert c.get("/p/other").status == 200  # the connection goes on
    assert [b for b in gone(backend) if b] == [body]


def test_bodies_that_are_cut(serve, backend):
    """They are no one's: neither looked up nor sent on."""
    server = serve(config(backend, ON + "Timeout 1"))
    assert kind(query(server, b"aaaa", headers={})) == "MISS"
    head = "QUERY /p/a HTTP/1.1\r\nHost: localhost\r\n"
    for lie in ("Content-Length: 8\r\n\r\naaaa", "Transfer-Encoding: chunked\r\n\r\n4\r\naaaa\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\naaaa"):
        assert b" 200 " not in server.raw((head + lie).encode(), half_close=True).split(b"\r\n")[0]
    for lie in ("Content-Length: 4\r\nContent-Length: 5\r\n\r\naaaa", "Content-Length: -4\r\n\r\naaaa", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\naaaa",
                "Transfer-Encoding: chunked\r\n\r\nzz\r\naaaa\r\n0\r\n\r\n"):
        assert server.raw((head + lie).encode(), half_close=True).split(b" ")[1] == b"400", lie
    # It does not come: on a loop, which waits for it no longer than Timeout.
    assert b" 408 " in server.raw((head + "Content-Length: 8\r\n\r\naaaa").encode()).split(b"\r\n")[0]
    assert len(backend.requests) == 1
    # A shorter length than what comes: the rest is the next request.
    got = server.raw((head + "Content-Length: 4\r\n\r\naaaaGET /p/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").encode())
    assert got.count(b"HTTP/1.1 200") == 2 and b"HIT" in got and got.endswith(b"2 GET ")


def test_pipelined(serve, backend):
    server = serve(config(backend, ON))
    one = b"QUERY /p/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
    with server.connect() as c:
        c.send(b"".join(one + b for b in (b"a", b"b", b"a", b"b")))
        got = [c.read_response() for _ in range(4)]
    assert [g.body for g in got] == [b"1 QUERY a", b"2 QUERY b", b"1 QUERY a", b"2 QUERY b"]
    assert [kind(g) for g in got] == ["MISS", "MISS", "HIT", "HIT"]


def test_targets_cannot_name_a_body(serve, backend):
    """The key of a QUERY is no other target's."""
    server = serve(config(backend, ON + "Protocols h2c http/1.1"))
    query(server, b"a")
    for sep in (" ", "%20"):
        got = server.raw(f"GET /p/a{sep}QUERY{sep}{'0' * 64} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert b"HIT" not in got
    with h2_client.Client("127.0.0.1", server.port, 20) as c:
        with contextlib.suppress(http_client.Truncated):
            assert kind(c.get("/p/a QUERY " + "0" * 64)) != "HIT"
    assert len(backend.requests) <= 2 and not any(" " in r.target for r in backend.requests)


def test_http2(serve, backend):
    server = serve(config(backend, ON + "Protocols h2c http/1.1", loops=2))
    with h2_client.Client("127.0.0.1", server.port, 20) as c:
        for body in (b"", b"a", b"b" * 40000):
            got = [c.request("QUERY", "/p/a", JSON, body) for _ in range(3)]
            assert [kind(g) for g in got] == ["MISS", "HIT", "HIT"] and gone(backend)[-1] == body
            assert {g.body for g in got} == {got[0].body} and kind(query(server, body)) == "HIT"
        got = c.request("QUERY", "/p/a", JSON, b"c" * (2 * LIMIT))
        assert gone(backend)[-1] == b"c" * (2 * LIMIT) and "longer than 64 KiB" in got["Cache-Status"]


def test_one_fetch_for_many(serve, backend):
    opened = threading.Event()

    def script(connection, request):
        assert opened.wait(20)
        return answer(request.body, fields=fields())

    backend.scripts["/a"] = script
    server = serve(config(backend, ON, loops=2))
    bodies = [b"x" * 3000, b"y" * 3000]
    got = [None] * 40

    def one(i):
        got[i] = query(server, bodies[i % 2])

    threads = [threading.Thread(target=one, args=(i,)) for i in range(40)]
    for t in threads:
        t.start()
    wait_until(lambda: len(backend.requests) == 2, "one of each body")
    opened.set()
    for t in threads:
        t.join(30)
    assert sorted(gone(backend)) == bodies and all(g.body == bodies[i % 2] for i, g in enumerate(got))


def test_validated(serve, backend):
    """The body goes along with the validators; a client's own conditions are answered as those of GET."""
    def script(connection, request):
        if request["If-None-Match"] == TAG:
            return answer(b"", "304 Not Modified", fields(("ETag", TAG), age=0)).replace(b"Content-Length: 0\r\n", b"")
        return answer(b"0123456789", fields=fields(("ETag", TAG), ("Cache-Tag", "t"), age=0 if request.target == "/stale" else 100))

    backend.scripts["*"] = script
    server = serve(config(backend, ON))
    got = [query(server, b"q", "/p/stale") for _ in range(3)]
    assert [g.body for g in got] == [b"0123456789"] * 3 and [kind(g) for g in got] == ["MISS", "REVALIDATE", "REVALIDATE"]
    assert gone(backend) == [b"q"] * 3 and [r["If-None-Match"] for r in backend.requests] == [None, TAG, TAG]
    query(server, b"q")
    for head, status, body in [({"If-None-Match": TAG}, 304, b""), ({"If-None-Match": '"2"'}, 200, b"0123456789"), ({"If-Match": '"2"'}, 412, None),
                               ({"Range": "bytes=2-4"}, 206, b"234"), ({"Range": "bytes=2-4", "If-Range": '"2"'}, 200, b"0123456789"),
                               ({"Range": "bytes=20-"}, 416, None)]:
        got = query(server, b"q", headers={**JSON, **head})
        assert got.status == status and (body is None or got.body == body), (head, got)
    assert len(backend.requests) == 4
    assert query(server, b"other", headers={**JSON, "Cache-Control": "only-if-cached"}).status == 504
    assert query(server, b"q", headers={**JSON, "Cache-Control": "only-if-cached"}).status == 200
    for _ in range(2):
        query(server, b"none", headers={**JSON, "Cache-Control": "no-store"})
    assert len(backend.requests) == 6


def test_stale_while_revalidate(serve, backend):
    def asked():
        return [r.body for r in backend.requests if r.method == "QUERY"]

    backend.scripts["/a"] = lambda c, r: answer(b"%d %s" % (len(asked()), r.body), fields=[("Cache-Control", "max-age=0, stale-while-revalidate=100")])
    server = serve(config(backend, ON))
    body = os.urandom(20000)
    with server.connect() as c:
        for i in range(5):
            got = c.request("QUERY", "/p/a", body=body)
            assert got.body == b"%d " % max(i, 1) + body and kind(got) == ("HIT" if i else "MISS")
            assert c.get("/p/x").status == 200  # it comes behind what was asked for
            assert asked() == [body] * (i + 1)


def test_variants(serve, backend):
    backend.scripts["*"] = lambda c, r: answer(r["Accept"].encode() + b" " + r.body, fields=fields(("Vary", "Accept")))
    server = serve(config(backend, ON + "CacheMaxVariants 3"))
    for turn in ("MISS", "HIT"):
        for accept in "abc":
            for body in (b"1", b"2", b"3", b"4"):
                got = query(server, body, headers={"Accept": accept})
                assert kind(got) == turn and got.body == accept.encode() + b" " + body
    assert [kind(query(server, b"1", headers={"Accept": "d"})) for _ in range(2)] == ["MISS", "MISS"]


@pytest.mark.parametrize("how", ["PURGE", "prefix", "tag", "command", "POST", "soft"])
def test_purges(serve, backend, how):
    backend.scripts["*"] = lambda c, r: answer(r.body, fields=fields(("Cache-Tag", "t"), ("Vary", "Accept")) if r.target != "/b" else fields())
    server = serve(config(backend, ON + "CachePurge 127.0.0.1", loops=2))
    bodies = [b"%d" % i for i in range(20)]
    assert [kind(query(server, b)) for b in [*bodies, *bodies]] == ["MISS"] * 20 + ["HIT"] * 20
    query(server, b"kept", "/p/b")
    if how == "command":
        wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
        shown = server.run("-k", "cache", "http://localhost/p/a")
        assert shown.stdout.decode().count(" QUERY ") == 40, shown  # each has a list of fields and a variant
        assert server.run("-k", "purge", "http://localhost/p/a").returncode == 0
    elif how == "prefix":
        assert server.request("PURGE", "/p/a*").status == 200
    else:
        head = {"tag": {"Cache-Tag": "t"}, "soft": {"Fastly-Soft-Purge": "1"}}.get(how, {})
        assert server.request("POST" if how == "POST" else "PURGE", "/p/a", head).status == 200
    assert [kind(query(server, b)) for b in bodies] == ["MISS"] * 20
    assert kind(query(server, b"kept", "/p/b")) == "HIT"


def test_on_disk(serve, backend, tmp_path):
    server, _ = start_with_disk(serve, backend, tmp_path, ON)
    assert [kind(query(server, b"%d" % i)) for i in range(5)] == ["MISS"] * 5
    wait_until(lambda: is_written(server), "something is written")
    server.stop()
    server, _ = start_with_disk(serve, backend, tmp_path, ON + "CachePurge 127.0.0.1")
    got = [query(server, b"%d" % i) for i in range(5)]
    assert "HIT" in {kind(g) for g in got} and all(g.body.endswith(b"%d" % i) for i, g in enumerate(got))
    before = len(backend.requests)
    assert server.request("PURGE", "/p/a").status == 200
    server.stop()
    server, _ = start_with_disk(serve, backend, tmp_path, ON)
    assert [kind(query(server, b"%d" % i)) for i in range(5)] == ["MISS"] * 5 and len(backend.requests) == before + 5


@pytest.mark.parametrize("name", sorted(TIERS))
def test_on_several_machines(serve, backend, name):
    with tier(name) as t:
        a, b = serve(tier_site.config(backend, t.place, ON)), serve(tier_site.config(backend, t.place, ON))
        assert [kind(query(a, x)) for x in (b"x", b"y")] == ["MISS"] * 2
        wait_until(lambda: t.objects() >= 4, "both are in the tier")
        assert [kind(query(b, x)) for x in (b"x", b"y")] == ["HIT"] * 2
        assert a.request("PURGE", "/p/a").status == 200
        wait_until(lambda: kind(query(b, b"x")) == "MISS", "the purge is known")
        assert kind(query(b, b"y")) == "MISS"


def test_behind_access_control(serve, backend):
    """A stored answer is sent to whom the target is for."""
    server = serve(config(backend, ON + '<Location /p/>\nRequire expr "%{HTTP:X-In} == \'1\'"\n</Location>'))
    assert query(server, b"a").status == 403
    assert [kind(query(server, b"a", headers={**JSON, "X-In": "1"})) for _ in range(2)] == ["MISS", "HIT"]
    assert query(server, b"a").status == 403 and len(backend.requests) == 1


def test_programs(serve):
    """A handler that runs on a worker."""
    server = serve("""
CacheEnable memory /
CacheHeader On
CacheMethods GET QUERY
ScriptAlias /cgi/ @ROOT@/cgi/
<Directory @ROOT@/cgi>
Require all granted
</Directory>
""")
    server.write("echo", "#!/bin/sh\necho Cache-Control: max-age=100\necho\nprintf '%s ' $REQUEST_METHOD\ncat\n", base="cgi")
    os.chmod(server.path("cgi", "echo"), 0o755)
    os.chmod(server.path("cgi"), 0o755)
    for body in (b"one", b"", b"z" * 60000, b"y" * 70000):
        got = [query(server, body, "/cgi/echo") for _ in range(2)]
        assert [g.body for g in got] == [b"QUERY " + body] * 2, got
        assert [kind(g) for g in got] == ["MISS", "HIT" if len(body) <= LIMIT else "MISS"]
