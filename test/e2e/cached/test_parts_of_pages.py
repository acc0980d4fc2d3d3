# SPDX-License-Identifier: Apache-2.0
"""Fragments that pages include (SSI) come from the store, each with its own lifetime."""
import re
import threading

import pytest

from backend import Backend, answer
from cached_site import config, fields

pytestmark = pytest.mark.only("brigade")

PAGE = "<p><!--#include virtual=\"/p/a\" --></p><p><!--#include virtual=\"/p/b?x=1\" --></p>\n"
SITE = """Options +Includes
<Directory @ROOT@/htdocs>
Options +Includes
AddOutputFilter INCLUDES .shtml
</Directory>
"""
PARTS = "<Directory @ROOT@/htdocs>\nSSIETag parts\nSSILastModified parts\n</Directory>\n"


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def numbered(*more, age=100):
    count = {}

    def script(connection, request):
        count[request.target] = count.get(request.target, 0) + 1
        return answer(f"{request.target}:{count[request.target]}".encode(), fields=fields(*more, age=age))
    return script


def start(serve, backend, more="", files=None, loops=1):
    return serve(config(backend, SITE + more, loops=loops), files={"page.shtml": PAGE, **(files or {})})


def asked(backend):
    return [r.target for r in backend.requests]


def test_fragments_are_stored(serve, backend):
    backend.scripts["*"] = numbered()
    server = start(serve, backend)
    for _ in range(4):
        got = server.get("/page.shtml")
        assert got.status == 200 and got.body == b"<p>/a:1</p><p>/b?x=1:1</p>\n"
    assert sorted(asked(backend)) == ["/a", "/b?x=1"]
    assert server.get("/p/a").body == b"/a:1" and len(backend.requests) == 2


def test_what_a_client_asked_for_is_included(serve, backend):
    backend.scripts["*"] = numbered()
    server = start(serve, backend)
    server.get("/p/a")
    assert server.get("/page.shtml").body == b"<p>/a:1</p><p>/b?x=1:1</p>\n"


def test_each_has_its_own_lifetime(serve, backend):
    backend.scripts["/a"] = numbered()
    backend.scripts["/b"] = numbered(age=0)
    server = start(serve, backend)
    assert [server.get("/page.shtml").body for _ in range(3)] == [b"<p>/a:1</p><p>/b?x=1:%d</p>\n" % i for i in (1, 2, 3)]
    assert asked(backend).count("/a") == 1


def test_purged(serve, backend):
    backend.scripts["*"] = numbered(("Cache-Tag", "red"))
    server = start(serve, backend, "CachePurge 127.0.0.1")
    for i in range(1, 3):
        assert server.get("/page.shtml").body == server.get("/page.shtml").body == b"<p>/a:%d</p><p>/b?x=1:%d</p>\n" % (i, i)
        assert server.request("PURGE", "/p/x", headers={"Surrogate-Key": "red"}).status == 200


def test_conditions_and_ranges_are_of_the_page(serve, backend):
    backend.scripts["*"] = numbered(("ETag", '"1"'))
    server = start(serve, backend)
    for _ in range(2):
        got = server.get("/page.shtml", headers={"If-None-Match": '"1"', "Range": "bytes=0-2"})
        assert got.status in (200, 206) and got.body in (b"<p>/a:1</p><p>/b?x=1:1</p>\n", b"<p>")
    assert server.get("/page.shtml").body == b"<p>/a:1</p><p>/b?x=1:1</p>\n"
    assert not [r for r in backend.requests if r["If-None-Match"] or r["Range"]] and len(backend.requests) == 2


def test_not_for_all(serve, backend):
    backend.scripts["/a"] = numbered(("Set-Cookie", "x=1"))
    backend.scripts["/b"] = numbered(("Vary", "Accept-Language"))
    server = start(serve, backend)
    for i, language in enumerate(("de", "fr", "de"), 1):
        got = server.get("/page.shtml", headers={"Accept-Language": language})
        assert got.body == b"<p>/a:%d</p><p>/b?x=1:%d</p>\n" % (i, {"de": 1, "fr": 2}[language])


def test_the_switch(serve, backend):
    backend.scripts["*"] = numbered()
    server = start(serve, backend, "CacheDisable /p/a")
    assert [server.get("/page.shtml").body for _ in range(2)] == [b"<p>/a:%d</p><p>/b?x=1:1</p>\n" % i for i in (1, 2)]


def test_access_control_is_asked(serve, backend):
    backend.scripts["*"] = numbered()
    server = start(serve, backend, "<Location /p/a>\nRequire expr %{HTTP:X-Me} == 'yes'\n</Location>\n")
    assert server.get("/page.shtml", headers={"X-Me": "yes"}).body == b"<p>/a:1</p><p>/b?x=1:1</p>\n"
    got = server.get("/page.shtml")
    assert b"/a:" not in got.body and b"/b?x=1:1" in got.body


def test_without_exec_only_text_is_included(serve, backend):
    backend.scripts["*"] = numbered(("Content-Type", "application/x-other"))
    server = start(serve, backend, "<Directory @ROOT@/htdocs>\nOptions +IncludesNOEXEC\n</Directory>\n")
    bodies = {server.get("/page.shtml").body for _ in range(3)}
    assert len(bodies) == 1, bodies


@pytest.mark.parametrize("length", [10, 16 * 1024 + 1, 300000])
def test_lengths(serve, backend, length):
    body = bytes(i % 251 for i in range(length))
    backend.scripts["*"] = answer(body, fields=fields())
    server = start(serve, backend, "CacheMaxFileSize 10000000")
    for _ in range(3):
        assert server.get("/page.shtml").body == b"<p>" + body + b"</p><p>" + body + b"</p>\n"
    assert len(backend.requests) == 2


def test_tags_and_dates_of_parts(serve, backend):
    backend.scripts["*"] = numbered(("Last-Modified", "Mon, 02 Nov 2026 10:00:00 GMT"))
    server = start(serve, backend, PARTS + "CachePurge 127.0.0.1\n")
    server.get("/page.shtml")
    got = server.get("/page.shtml")
    again = server.get("/page.shtml")
    assert got["ETag"] and got["ETag"] == again["ETag"] and got["Last-Modified"] is not None
    assert server.get("/page.shtml", headers={"If-None-Match": got["ETag"]}).status == 304
    server.request("PURGE", "/p/a")
    server.get("/page.shtml")
    other = server.get("/page.shtml", headers={"If-None-Match": got["ETag"]})
    assert other.status == 200 and other.body == b"<p>/a:2</p><p>/b?x=1:1</p>\n" and other["ETag"] != got["ETag"]


def test_a_part_without_a_date(serve, backend):
    backend.scripts["*"] = numbered()
    server = start(serve, backend, PARTS)
    server.get("/page.shtml")
    got = server.get("/page.shtml")
    assert got["ETag"] and got["Last-Modified"] is None


def test_stale_ones_when_the_backend_fails(serve, backend):
    backend.scripts["*"] = numbered(age=0)
    backend.scripts["/a"] = answer(b"good", fields=[("Cache-Control", "max-age=0, stale-if-error=100"), ("ETag", '"1"')])
    server = start(serve, backend)
    assert b"<p>good</p>" in server.get("/page.shtml").body
    backend.scripts["/a"] = answer(b"bad", "503 Service Unavailable")
    assert b"<p>good</p>" in server.get("/page.shtml").body


@pytest.mark.threads
def test_many_at_once(serve, backend):
    backend.scripts["*"] = numbered()
    server = start(serve, backend, loops=2)
    got = []

    def client():
        connection = server.connect()
        for _ in range(20):
            got.append(connection.get("/page.shtml").body)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 80 and all(re.fullmatch(rb"<p>/a:\d</p><p>/b\?x=1:\d</p>\n", b) for b in got)
    assert server.get("/page.shtml").status == 200
