# SPDX-License-Identifier: Apache-2.0
"""PURGE: by target with all variants, by prefix and by tag, from clients that CachePurge names alone."""

import threading

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, kind, start_with_disk

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def tagged(connection, request):
    tags = {"/a": "red,green", "/b": "green", "/c": "blue"}.get(request.target, "none")
    return answer(request.target.encode(), fields=fields(("Cache-Tag", tags), ("Vary", "Accept-Language"), ("ETag", '"1"')))


def known(server, *paths):
    return [kind(server.get(p, headers={"Accept-Language": "de"})) for p in paths]


PATHS = ("/p/a", "/p/b", "/p/c", "/p/x/d", "/p/x/e?q")


@pytest.mark.parametrize("target,more,gone", [
    ("/p/a", {}, {"/p/a"}),
    ("/p/x/*", {}, {"/p/x/d", "/p/x/e?q"}),
    ("/p/*", {}, set(PATHS)),
    ("/p/nothing", {"Cache-Tag": "green"}, {"/p/a", "/p/b"}),
    ("/p/nothing", {"Surrogate-Key": "red blue"}, {"/p/a", "/p/c"}),
    ("/p/nothing", {"Cache-Tag": "other"}, set())])
def test_purge(serve, backend, target, more, gone):
    backend.scripts["*"] = tagged
    server = serve(config(backend, "CachePurge 127.0.0.0/8"))
    known(server, *PATHS)
    assert known(server, *PATHS) == ["HIT"] * 5
    got = server.request("PURGE", target, headers=more)
    assert got.status == 200 and got.body.startswith(b"purged: ")
    assert known(server, *PATHS) == ["MISS" if p in gone else "HIT" for p in PATHS]
    assert not [r for r in backend.requests if r.method == "PURGE"]


SITES = """
<VirtualHost *>
ServerName one
</VirtualHost>
<VirtualHost *>
ServerName two
ServerAlias zwei
</VirtualHost>
"""


@pytest.mark.parametrize("how,gone", [
    ("one", {"one"}), ("two", {"two", "zwei"}), ("zwei", {"two", "zwei"}), ("soft", {"one"}), ("command", {"one", "two", "zwei"})])
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_tag_is_of_its_site(serve, backend, tmp_path, how, gone, where):
    """Who may purge at one site ends nothing of another one's with a tag that both have; an alias is the same site."""
    backend.scripts["/a"] = answer(b"x", fields=fields(("Cache-Tag", "news"), age=1000))
    more = "CachePurge 127.0.0.1\n" + SITES
    server = start_with_disk(serve, backend, tmp_path, more)[0] if where == "disk" else serve(config(backend, more))

    def asked():
        return {host for host in ("one", "two", "zwei") if kind(server.get("/p/a", headers={"Host": host})) != "HIT"}

    asked()
    assert asked() == set()
    if how == "command":
        wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
        told = server.run("-k", "cache", "tag:news").stdout.decode()
        assert {f"http://{host}/p/a" for host in ("one", "two", "zwei")} <= set(told.split()), told
        assert server.run("-k", "purge", "tag:news").returncode == 0
    else:
        headers = {"Host": how if how in ("two", "zwei") else "one", "Surrogate-Key": "news", **({"Fastly-Soft-Purge": "1"} if how == "soft" else {})}
        assert server.request("PURGE", "/p/none", headers=headers).status == 200
    assert asked() == gone


def test_soft(serve, backend):
    backend.scripts["/a"] = lambda c, r: answer(b"", "304 Not Modified", fields(("ETag", '"1"'))).replace(b"Content-Length: 0\r\n", b"") \
        if r["If-None-Match"] else answer(b"body", fields=fields(("ETag", '"1"')))
    server = serve(config(backend, "CachePurge 127.0.0.1"))
    server.get("/p/a")
    assert server.request("PURGE", "/p/a", headers={"Fastly-Soft-Purge": "1"}).status == 200
    assert [kind(server.get("/p/a")) for _ in range(2)] == ["REVALIDATE", "HIT"]


@pytest.mark.parametrize("line", ["", "CachePurge None", "CachePurge 192.0.2.1"])
def test_others_are_not_heard(serve, backend, line):
    backend.scripts["/a"] = lambda c, r: answer(b"no", "405 Not Allowed") if r.method == "PURGE" else answer(fields=fields())
    server = serve(config(backend, line))
    server.get("/p/a")
    assert server.request("PURGE", "/p/a").status == 405
    assert kind(server.get("/p/a")) == "HIT"


@pytest.mark.parametrize("by", ["key", "tag"])
def test_while_it_is_fetched(serve, backend, by):
    """Who asks after a purge gets nothing that was asked for before it, also if that is on its way."""
    more, n = threading.Event(), []

    def script(connection, request):
        n.append(1)
        if len(n) > 1:
            return answer(b"new", fields=fields(("Cache-Tag", "red")))
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nCache-Tag: red\r\nContent-Length: 6\r\n\r\nold")
        assert more.wait(20)
        return b"old"

    backend.scripts["/a"] = script
    server = serve(config(backend, "CachePurge 127.0.0.1"))
    with server.connect() as first:
        first.send(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert first.read_head().status == 200 and first.read_exactly(3) == b"old"
        assert server.request("PURGE", "/p/a", headers={"Cache-Tag": "red"} if by == "tag" else {}).status == 200
        assert server.get("/p/a").body == b"new"
        more.set()
        assert first.read_exactly(3) == b"old"
    assert server.get("/p/a").body == b"new"


GROUPED = {"/a": '"one", "two"', "/b": '"two"', "/c": '"three";x=1', "/d": '"one", 5', "/e": "one", "/f": '"a \\"b\\""'}


@pytest.mark.parametrize("said,status,gone", [
    ('"one"', "200 OK", {"/a"}), ('"two"', "204 No Content", {"/a", "/b"}), ('"one", "three"', "200 OK", {"/a", "/c"}), ('"One"', "200 OK", set()),
    ('"a \\"b\\""', "200 OK", {"/f"}), ("one", "200 OK", set()), ('"one", 5', "200 OK", set()), ('"two"', "500 Internal Server Error", set()), ("", "200 OK", set())])
def test_groups(serve, backend, said, status, gone):
    """RFC 9875: of an unsafe request that succeeded; fields that are no list of strings are ignored."""
    for path, groups in GROUPED.items():
        backend.scripts[path] = answer(b"x", fields=fields(("Cache-Groups", groups)))
    backend.scripts["/change"] = lambda c, r: answer(b"", status, [("Cache-Group-Invalidation", said)])
    server = serve(config(backend))
    for path in GROUPED:
        server.get("/p" + path)
        server.get("/p" + path, headers={"Host": "other"})
    server.get("/p/change")  # a safe request ends nothing
    assert server.request("POST", "/p/change", body=b"x").status == int(status[:3])
    assert {path for path in GROUPED if kind(server.get("/p" + path)) == "MISS"} == gone
    assert {path for path in GROUPED if kind(server.get("/p" + path, headers={"Host": "other"})) == "MISS"} == set(), "another origin"
