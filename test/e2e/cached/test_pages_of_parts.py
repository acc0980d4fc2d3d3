# SPDX-License-Identifier: Apache-2.0
"""Pages (SSI) around fragments that are stored: memory answers them until the first of their parts ends."""
import base64
import hashlib
import re
import threading

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import DATE, config, fields

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

METRICS = "<Location /metrics>\nSetHandler metrics\n</Location>\n"
SITE = METRICS + """LogLevel info
CachePurge 127.0.0.1
CustomLog @ROOT@/logs/pages.log "%U %>s %b"
<Directory @ROOT@/htdocs>
Options +Includes
AllowOverride All
AddOutputFilter INCLUDES .shtml
</Directory>
"""
PARTS = "<Directory @ROOT@/htdocs>\nSSIETag parts\nSSILastModified parts\n</Directory>\n"
PAGE = '<!--#include virtual="/p/a" --> <!--#include virtual="/p/b" --> <!--#include virtual="text.html" -->\n'


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def numbered(*more, age=1000):
    count = [0]

    def script(connection, request):
        count[0] += 1
        return answer(f"{request.target[1:]}{count[0]}".encode(), fields=fields(*more, age=age))
    return script


def start(serve, backend, more="", page=PAGE, loops=1):
    backend.scripts.setdefault("/a", numbered(("Cache-Tag", "red")))
    backend.scripts.setdefault("/b", numbered(("Cache-Tag", "blue, all")))
    return serve(config(backend, SITE + more, loops=loops), files={"page.shtml": page, "text.html": "text"})


def asked(server):
    """How often the store was."""
    found = re.findall(rb'^brigade_shared_cache_requests_total\{result="\w+"\} (\d+)', server.get("/metrics").body, re.M)
    assert found
    return sum(map(int, found))


def is_from_memory(server, path="/page.shtml", headers=()):
    """The page was not made: its parts were not asked for."""
    before = asked(server)
    assert server.get(path, headers=headers).status in (200, 304)
    return asked(server) == before


def remembered(server, path="/page.shtml", headers=()):
    """What memory answers."""
    wait_until(lambda: is_from_memory(server, path, headers), f"{path} from memory")
    return server.get(path, headers=headers)


def test_memory_answers(serve, backend):
    server = start(serve, backend)
    assert remembered(server).body == b"a1 b1 text\n"
    assert all(is_from_memory(server) for _ in range(5))
    assert len(backend.requests) == 2


@pytest.mark.parametrize("headers,target", [({}, "/p/a"), ({"Cache-Tag": "red"}, "/p/x"), ({}, "/p/*"), ({"Fastly-Soft-Purge": "1"}, "/p/a"),
                                            ({"Fastly-Soft-Purge": "1", "Cache-Tag": "red"}, "/p/x")])
def test_a_purge_of_a_part_ends_it(serve, backend, headers, target):
    server = start(serve, backend)
    for i in range(1, 4):
        assert remembered(server).body.startswith(b"a%d " % i)
        assert server.request("PURGE", target, headers=headers).status == 200
        assert server.get("/page.shtml").body.startswith(b"a%d " % (i + 1))


def test_a_purge_of_something_else_does_not(serve, backend):
    server = start(serve, backend)
    remembered(server)
    for target in ("/p/other", "/q"):
        server.request("PURGE", target)
    assert all(is_from_memory(server) for _ in range(3)) and len(backend.requests) == 2


def test_an_unsafe_request_for_a_part_ends_it(serve, backend):
    server = start(serve, backend)
    assert remembered(server).body == b"a1 b1 text\n"
    assert server.request("DELETE", "/p/b").status == 200  # the second answer to that target
    assert server.get("/page.shtml").body == b"a1 b3 text\n"


def test_the_first_part_that_ends_ends_it(serve, backend):
    backend.scripts["/b"] = numbered(age=2)
    server = start(serve, backend)
    assert re.fullmatch(rb"a1 b\d+ text\n", remembered(server).body)
    last = int(re.search(rb" b(\d+)", server.get("/page.shtml").body)[1])
    wait_until(lambda: int(re.search(rb" b(\d+)", server.get("/page.shtml").body)[1]) > last, "the part to end")
    assert [r.target for r in backend.requests].count("/a") == 1
    assert remembered(server).body.startswith(b"a1 b")


def test_files_count_too(serve, backend):
    server = start(serve, backend)
    assert remembered(server).body == b"a1 b1 text\n"
    server.write("text.html", "other")
    assert server.get("/page.shtml").body == b"a1 b1 other\n"
    assert remembered(server).body == b"a1 b1 other\n"
    server.write("page.shtml", '<!--#include virtual="/p/a" -->\n')
    assert server.get("/page.shtml").body == b"a1\n"
    server.write(".htaccess", "Require all denied\n")
    assert server.get("/page.shtml").status == 403


@pytest.mark.parametrize("script", [numbered(age=0), numbered(("Set-Cookie", "x=1")), lambda c, r: answer(b"x", fields=[("Cache-Control", "no-store")]),
                                    lambda c, r: answer(b"x", fields=[("Cache-Control", "private, max-age=100")])])
def test_not_where_a_part_is_not_stored(serve, backend, script):
    backend.scripts["/b"] = script
    server = start(serve, backend)
    assert not any(is_from_memory(server) for _ in range(8))
    assert [r.target for r in backend.requests].count("/b") == 8


def test_the_switch(serve, backend):
    server = start(serve, backend, "CacheDisable /p/b\n")
    assert not any(is_from_memory(server) for _ in range(8))


def test_access_to_a_part_is_asked(serve, backend):
    """By something that is not known of the next request."""
    server = start(serve, backend, "<Location /p/a>\nRequire expr %{HTTP:X-Me} == 'yes'\n</Location>\n")
    for _ in range(6):
        assert server.get("/page.shtml", headers={"X-Me": "yes"}).body == b"a1 b1 text\n"
        assert b"a1" not in server.get("/page.shtml").body


def test_clients_are_told_apart(serve, backend):
    server = start(serve, backend, "<Location /p/a>\nRequire ip 192.0.2.1\n</Location>\n")
    for _ in range(6):
        assert b"a1" not in server.get("/page.shtml").body


@pytest.mark.parametrize("memory", ["", "MemorySystem request system\n"])
def test_variants(serve, backend, memory):
    """Names of fields that parts vary by outlive the parts: with the C library's memory their bytes would be gone."""
    def script(connection, request):
        return answer((request["X-Kind"] or "-").encode(), fields=fields(("Vary", "X-Kind")))
    backend.scripts["/b"] = script
    server = start(serve, backend, memory)
    for _ in range(2):
        for kind in ("one", "two", None):
            headers = {"X-Kind": kind} if kind else {}
            assert remembered(server, headers=headers).body == f"a1 {kind or '-'} text\n".encode()


@pytest.mark.parametrize("name,value", [("Cache-Control", "no-cache"), ("Pragma", "no-cache"), ("Authorization", "Basic eDp5")])
def test_who_says_how_takes_the_full_way(serve, backend, name, value):
    server = start(serve, backend)
    remembered(server)
    assert not is_from_memory(server, headers={name: value})


def test_validators(serve, backend):
    backend.scripts["/a"] = numbered(("Last-Modified", DATE))
    backend.scripts["/b"] = numbered(("Last-Modified", "Tue, 03 Nov 2026 10:00:00 GMT"))
    server = start(serve, backend, PARTS, page=PAGE.replace(' <!--#include virtual="text.html" -->', ""))
    got = remembered(server)
    assert got["ETag"] and got["Last-Modified"]
    for name, value in (("If-None-Match", got["ETag"]), ("If-Modified-Since", got["Last-Modified"])):
        again = server.get("/page.shtml", headers={name: value})
        assert again.status == 304 and again["ETag"] == got["ETag"]
    server.request("PURGE", "/p/a")
    other = server.get("/page.shtml", headers={"If-None-Match": got["ETag"]})
    assert other.status == 200 and other.body == b"a2 b1\n"
    assert remembered(server)["ETag"] not in (None, got["ETag"])


def test_a_page_in_a_page(serve, backend):
    server = start(serve, backend)
    server.write("outer.shtml", '[<!--#include virtual="page.shtml" -->]\n')
    assert remembered(server, "/outer.shtml").body == b"[a1 b1 text\n]\n"
    server.request("PURGE", "/p/b")
    assert server.get("/outer.shtml").body == b"[a1 b2 text\n]\n"


def test_many_parts(serve, backend):
    """More than are kept: the page is made each time."""
    backend.scripts["*"] = lambda c, r: answer(r.target[1:].encode(), fields=fields())
    for n, kept in ((64, True), (65, False)):
        page = "".join(f'<!--#include virtual="/p/{i}" -->,' for i in range(n))
        server = start(serve, backend, page=page)
        expected = "".join(f"{i}," for i in range(n)).encode()
        if kept:
            assert remembered(server).body == expected
        else:
            assert not any(is_from_memory(server) for _ in range(8)) and server.get("/page.shtml").body == expected


def test_logged(serve, backend):
    server = start(serve, backend)
    remembered(server)
    lines = lambda: [line for line in server.read("logs/pages.log").splitlines() if line.startswith(b"/page.shtml")]  # noqa: E731
    n = len(lines())
    server.get("/page.shtml")
    wait_until(lambda: len(lines()) > n, "the log")
    assert set(lines()) == {b"/page.shtml 200 11"}


def test_nothing_old_after_a_purge(serve, backend):
    """Clients of two loops ask while parts are purged; what is asked for after a purge is new."""
    server = start(serve, backend, "MaxKeepAliveRequests 0\n", loops=2)
    problems, done = [], threading.Event()

    def client():
        connection = server.connect()
        while not done.is_set():
            newest = floor[0]
            got = connection.get("/page.shtml").body
            found = re.fullmatch(rb"a(\d+) b\d+ text\n", got)
            if not found or int(found[1]) < newest:
                problems.append((newest, got))
        connection.close()

    floor = [1]
    threads = [threading.Thread(target=client) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(30):
        remembered(server)
        now = int(re.match(rb"a(\d+) ", server.get("/page.shtml").body)[1])
        server.request("PURGE", "/p/a")
        floor[0] = now + 1
    done.set()
    for t in threads:
        t.join()
    assert problems == []


STORED = """CacheEnable memory /
<Files page.shtml>
Header set Cache-Control max-age=500
</Files>
"""


def test_a_page_that_is_stored_itself(serve, backend):
    """CacheEnable for it, too, and it says how long it is fresh: it ends with its first part."""
    server = start(serve, backend, STORED)
    assert [server.get("/page.shtml").body for _ in range(3)] == [b"a1 b1 text\n"] * 3
    wait_until(lambda: server.get("/page.shtml")["X-Cache"].startswith("HIT"), "the page from the store")
    assert len(backend.requests) == 2
    for i, (headers, target) in enumerate([({}, "/p/a"), ({"Cache-Tag": "red"}, "/p/x"), ({}, "/p/*")], 2):
        assert server.request("PURGE", target, headers=headers).status == 200
        if target == "/p/*":  # by what the page's own target begins with
            continue
        assert server.get("/page.shtml").body.startswith(b"a%d b1" % i)
        wait_until(lambda: server.get("/page.shtml")["X-Cache"].startswith("HIT"), "the page from the store")


def test_a_stored_page_ends_with_its_first_part(serve, backend):
    backend.scripts["/b"] = numbered(age=2)
    server = start(serve, backend, STORED)
    wait_until(lambda: server.get("/page.shtml")["X-Cache"].startswith("HIT"), "the page from the store")
    last = server.get("/page.shtml").body
    wait_until(lambda: server.get("/page.shtml").body != last, "the part to end")
    assert [r.target for r in backend.requests].count("/a") == 1


def test_a_page_is_not_stored_with_a_part_that_is_not(serve, backend):
    backend.scripts["/b"] = numbered(("Set-Cookie", "x=1"))
    server = start(serve, backend, STORED)
    assert [server.get("/page.shtml").body for _ in range(3)] == [b"a1 b%d text\n" % i for i in (1, 2, 3)]


def test_a_part_that_is_a_page_is_asked_for_by_another_worker(serve, backend):
    """What parts that page has is not known to the outer one, which is not stored with it."""
    backend.scripts["/b"] = numbered(("Set-Cookie", "x=1"))
    server = start(serve, backend, STORED.replace("page.shtml", "outer.shtml"))
    server.write("outer.shtml", '<!--#include virtual="page.shtml" --><!--#include virtual="/p/a" -->\n')
    bodies = [server.get("/outer.shtml").body for _ in range(4)]
    assert len(set(bodies)) == 4, bodies


@pytest.mark.parametrize("where", ["page.shtml", "inner.shtml"])
def test_a_stored_page_varies_by_its_parts(serve, backend, where):
    """One user's part does not come to another one out of the page, nor out of a page in a page; who asks next is told by Vary, too."""
    backend.scripts["/b"] = lambda c, r: answer((r["Cookie"] or "nobody").encode(), fields=fields(("Vary", "Cookie")))
    inner = where == "inner.shtml"
    server = start(serve, backend, STORED.replace("page.shtml", where), page='<!--#include virtual="inner.shtml" -->\n' if inner else PAGE)
    server.write("inner.shtml", PAGE)
    expected = {who: f"a1 {who} text\n".encode() + (b"\n" if inner else b"") for who in ("alice", "bob", "nobody")}
    for _ in range(4):
        for who, body in expected.items():
            got = server.get("/page.shtml", headers={"Cookie": who} if who != "nobody" else {})
            assert got.body == body
            assert inner or got["Vary"] == "cookie" or "a part of it is not stored" in got["X-Cache-Detail"]
    wait_until(lambda: server.get(f"/{where}", headers={"Cookie": "bob"})["X-Cache"].startswith("HIT"), "the page from the store")
    assert [r.target for r in backend.requests].count("/b") == 3


GUARDS = {
    "ip": ("<Location {}>\nRequire ip 127.0.0.2\n</Location>", {}, "127.0.0.2"),
    "expr": ("<Location {}>\nRequire expr %{{HTTP:X-Me}} == 'yes'\n</Location>", {"X-Me": "yes"}, None),
    "env": ("SetEnvIf X-Me yes me\n<Location {}>\nRequire env me\n</Location>", {"X-Me": "yes"}, None),
    "if": ("<Location {}>\n<If \"%{{HTTP:X-Me}} != 'yes'\">\nRequire all denied\n</If>\n</Location>", {"X-Me": "yes"}, None),
    "user": ("<Location {}>\nAuthType Basic\nAuthName x\nAuthUserFile @ROOT@/htdocs/.users\nRequire user me\n</Location>",
             {"Authorization": "Basic bWU6bWU="}, None),
    "compat": ("<Location {}>\nOrder deny,allow\nDeny from all\nAllow from 127.0.0.2\n</Location>", {}, "127.0.0.2"),
    "compat env": ("SetEnvIf X-Me yes me\n<Location {}>\nOrder deny,allow\nDeny from all\nAllow from env=me\n</Location>", {"X-Me": "yes"}, None)}


def get_as(server, headers, address):
    with server.connect(source=address) as client:
        return client.get("/page.shtml", headers=list(headers.items()))


@pytest.mark.parametrize("first", ["who may", "who may not"])
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("part", ["/p/a", "/text.html"])
def test_a_page_with_a_guarded_part_is_not_stored(serve, backend, guard, part, first):
    """Nobody gets a part out of the store that an access rule keeps from him; and who may have it is not left without it."""
    rule, headers, address = GUARDS[guard]
    backend.scripts["/a"] = numbered(("Cache-Control", "public"))
    server = start(serve, backend, STORED + rule.format(part))
    server.write(".users", "me:{SHA}%s\n" % base64.b64encode(hashlib.sha1(b"me").digest()).decode())
    theirs = b"a1" if part == "/p/a" else b"text"
    for i in range(6):
        if (i % 2 == 0) == (first == "who may"):
            got = get_as(server, headers, address).body
            assert theirs in got, (i, got)
        else:
            got = server.get("/page.shtml").body
            assert theirs not in got and b" b" in got, (i, got)


def test_a_rule_that_the_page_has_too(serve, backend):
    """A part behind the rule of its page is no reason not to store the page."""
    server = start(serve, backend, STORED + "<Location />\nRequire ip 127.0.0.0/8\n</Location>\n")
    wait_until(lambda: server.get("/page.shtml")["X-Cache"].startswith("HIT"), "the page from the store")


def test_a_part_that_comes_late(serve, backend):
    """The page is on its way to others already when a part of another lifetime, and another user's, comes: its bytes are not among theirs."""
    backend.scripts["/b"] = lambda c, r: answer((r["Cookie"] or "nobody").encode(), fields=fields(("Vary", "Cookie")))
    server = start(serve, backend, STORED, page=200000 * "x" + PAGE)
    for _ in range(4):
        for who in ("alice", "bob"):
            assert server.get("/page.shtml", headers={"Cookie": who}).body.endswith(f"a1 {who} text\n".encode())
