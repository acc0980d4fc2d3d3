# SPDX-License-Identifier: Apache-2.0
"""Stored answers that the loops' own caches send: they are what the store would have sent, are logged and counted as that, and end with it."""
import email.utils
import itertools
import random
import re
import threading
import time

import pytest

import h2_client
from backend import Backend, answer
from brigade import wait_until
from cache_site import await_hits, hits
from cached_site import DATE, config, fields, kind
from planned_site import full_ways

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

METRICS = "<Location /metrics>\nSetHandler metrics\n</Location>\n"
ALL = METRICS + """LogLevel info
CacheStatusHeader On
Protocols h2c http/1.1
SetEnvIf User-Agent old agent=old
CustomLog @ROOT@/logs/all.log "%m %U%q %>s %b %{X-A}o %{Server}o %{ETag}o %{Content-Type}o %f %{cache-hit}e %{agent}e %{Age}o %O"
CustomLog @ROOT@/logs/squid.log "%{cache-result}e/%>s %m %U%q %{cache-hierarchy}e %O"
"""


def now():
    """Of the test, not of the time when it was collected: that may be as long ago as answers are fresh."""
    return email.utils.formatdate(usegmt=True)


BACKED = [("Server", "origin"), ("ETag", '"e"'), ("Last-Modified", DATE), ("Content-Type", "text/plain"), ("X-A", "1")]


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def answered(backend):
    dated = [("Date", now()), *BACKED]
    backend.scripts.update({
        "/a": answer(b"0123456789" * 100, fields=fields(*dated)),
        "/plain": answer(b"no validators\n", fields=fields()),
        "/weak": answer(b"weak\n", fields=fields(("ETag", 'W/"w"'), dated[0])),
        "/long": answer(b"long " * 40000, fields=fields(*dated)),
        "/empty": answer(b"", fields=fields(*dated)),
        "/gone": answer(b"gone\n", "410 Not here", fields(*dated)),
        "/moved": answer(b"moved\n", "301 Moved Permanently", fields(("Location", "/b"))),
        "/cookie": answer(b"for all\n", fields=[("Cache-Control", "public, max-age=100"), ("X-A", "2")]),
        "/vary": lambda c, r: answer(f"{r['X-Kind']} {r['Accept-Language']}\n".encode(), fields=fields(("Vary", "X-Kind, Accept-Language"), *dated)),
    })


def sent(got):
    """All that came, but for what goes with the clock."""
    clock = rb"(?mi)^(age): .*$" if re.search(rb"(?mi)^server: origin", got.head) else rb"(?mi)^(age|date): .*$"
    head = re.sub(clock, rb"\1", got.head)
    return re.sub(rb"ttl=\d+", b"ttl", head), got.body


PLAIN = [{}] * 4
ASKED = {
    "/p/a": [*PLAIN, {"If-None-Match": '"e"'}, {"If-None-Match": '"e"'}, {"If-None-Match": '"e"'}, {"If-None-Match": '"x"'}, {"If-None-Match": 'W/"e"'},
             {"If-None-Match": '"x", "e"'}, {"If-None-Match": "*"}, {"If-Modified-Since": DATE}, {"If-Modified-Since": "Sun, 01 Nov 2026 10:00:00 GMT"},
             {"If-Match": '"e"'}, {"If-Match": '"x"'}, {"Range": "bytes=2-4"}, {"Range": "bytes=2-4"}, {"Range": "bytes=5000-"},
             {"Range": "bytes=0-1", "If-Range": '"x"'}, {"Range": "bytes=0-1", "If-None-Match": '"e"'}, {"Cache-Control": "max-age=1000"},
             {"Cache-Control": "only-if-cached"}, {"Cookie": "a=b"}, {"User-Agent": "old"}, {"User-Agent": "old"}, {"User-Agent": "old"},
             {"Host": "LOCALHOST"}, {"Connection": "keep-alive"}, {"Connection": "close"}, *PLAIN],
    "/p/plain": [*PLAIN, {"If-None-Match": '"e"'}, {"If-Modified-Since": DATE}, *PLAIN],
    "/p/weak": [*PLAIN, {"If-None-Match": 'W/"w"'}, {"If-None-Match": '"w"'}, *PLAIN],
    "/p/long": PLAIN, "/p/empty": PLAIN, "/p/gone": [*PLAIN, {"If-None-Match": '"e"'}], "/p/moved": PLAIN,
    "/p/cookie": [*PLAIN, {"Authorization": "Basic eDp5"}, {"Authorization": "Basic eDp5"}, *PLAIN],
    "/p/vary": [*PLAIN, *[{"X-Kind": k, "Accept-Language": v} for k in "ab" for v in ("de", "fr") for i in range(3)],
                {"X-Kind": "a"}, {"x-kind": "b", "accept-language": "fr"}, {"X-Kind": "a", "Accept-Language": "DE"}, *PLAIN],
}


def log_of(server, name):
    def text():
        return open(f"{server.root}/logs/{name}", encoding="latin-1").read()
    wait_until(lambda: text().count("\n") >= len(REQUESTS) + 1 and text().endswith("\n"), f"all lines of {name}")
    return [line for line in text().splitlines() if "/p/" in line and (name != "squid.log" or "/p/3/" not in line)]


def unaged(line):
    """Without Age, and bytes that an Age of one digit more makes."""
    return re.sub(r"( \d+)? \d+$", "", line)


def bytes_of(line):
    return int((re.findall(r" (\d+)$", line) or ["0"])[0])


REQUESTS = [("GET", path, headers) for path, asked in ASKED.items() for headers in asked] + [("HEAD", path, {}) for path in ASKED for i in range(2)]


def figures(server):
    text = server.get("/metrics").body.decode()
    return dict(re.findall(r'^brigade_shared_cache_requests_total\{result="(\w+)"\} (\d+)$', text, re.M))


@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/2"])
def test_as_the_store_does(serve, backend, protocol):
    """The same requests, to a server whose loops have no cache."""
    answered(backend)
    servers = [serve(config(backend, ALL + f"FileCacheEntries {n}")) for n in (1000, 0)]
    clients = servers if protocol == "HTTP/1.1" else [h2_client.Client("127.0.0.1", server.port, 20) for server in servers]
    for method, path, headers in REQUESTS:
        if protocol == "HTTP/2":
            headers = {name: value for name, value in headers.items() if name not in ("Host", "Connection")}
        got = [sent(client.request(method, path, headers=headers)) for client in clients]
        assert got[0] == got[1], (method, path, headers)
    server = servers[0]
    await_hits(server, 40)
    assert hits(servers[1]) == 0
    assert figures(server) == figures(servers[1])
    for server in servers:
        server.get("/metrics")
    for name in ("access.log", "all.log", "squid.log"):
        ours, stored = log_of(servers[0], name), log_of(servers[1], name)
        assert [unaged(line) for line in ours] == [unaged(line) for line in stored]
        assert all(abs(bytes_of(a) - bytes_of(b)) <= 2 for a, b in zip(ours, stored))


KINDS_OF_TARGET = ["/p/{}/a", "/p/{}/a?q={}", "/p/{}/plain", "/p/{}/weak", "/p/{}/long", "/p/{}/empty", "/p/{}/gone", "/p/{}/moved", "/p/{}/cookie",
                   "/p/{}/vary", "/p/{}/told", "/p/{}/named", "/p//{}/double", "/p/{}/%41%2f"]


@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/2"])
def test_first_hits(serve, backend, protocol):
    """Targets that a loop never sent, on a host that it knows: as the store sends them, and without a request_rec."""
    answered(backend)
    plain = dict(backend.scripts)
    plain["/told"] = answer(b"told\n", fields=fields(("Age", "3"), ("Cache-Status", "origin; hit"), ("X-Cache", "HIT from origin")))
    plain["/named"] = answer(b"named\n", "200 Fine", fields(("Vary", "X-Kind ,X-Other, x-kind"), ("Content-Language", "de"), ("Expires", DATE)))
    backend.scripts["*"] = lambda c, r: (lambda one: one(c, r) if callable(one) else one)(plain["/" + (r.target.split("?")[0].rsplit("/", 1)[1])]
                                        if "/" + r.target.split("?")[0].rsplit("/", 1)[1] in plain else plain["/plain"])
    more = ALL.replace("SetEnvIf", "#SetEnvIf") + "MaxKeepAliveRequests 0\nCacheHeader On\nCacheDetailHeader On\nCacheDisable /p/3/\n"
    servers = [serve(config(backend, more + f"FileCacheEntries {n}")) for n in (1000, 0)]
    clients = [server.connect() for server in servers] if protocol == "HTTP/1.1" else [h2_client.Client("127.0.0.1", s.port, 20) for s in servers]
    headers = {"X-Kind": "a", "Accept-Language": "de"}
    for i in range(12):
        for pattern in KINDS_OF_TARGET:
            target = pattern.format(i, i)
            for one in ({}, headers, headers, {**headers, "Cache-Control": "max-age=1000"}, {**headers, "Connection": "Keep-Alive"}):
                if protocol == "HTTP/2":
                    one = {name: value for name, value in one.items() if name != "Connection"}
                got = [sent(c.request("GET", target, headers=one) if protocol == "HTTP/2" else c.get(target, one)) for c in clients]
                assert got[0] == got[1], (target, one)
    await_hits(servers[0], 2 * 12 * len(KINDS_OF_TARGET))  # a copy that the full way makes answers once of five times
    assert figures(servers[0]) == figures(servers[1])
    for name in ("all.log", "squid.log"):
        def lines(server):
            return [unaged(line) for line in open(f"{server.root}/logs/{name}", encoding="latin-1") if "/p/" in line]
        wait_until(lambda: all(len(lines(server)) == 5 * 12 * len(KINDS_OF_TARGET) for server in servers), f"all lines of {name}")
        assert [a for a, b in zip(*map(lines, servers)) if a != b and not a.startswith("TCP_MEM_HIT/404")] == []  # of files, under CacheDisable


def test_a_limit_of_a_location_is_for_its_paths(serve, backend):
    """What is below it is counted in the phases; all else comes from the loop's memory as without it."""
    backend.scripts["*"] = lambda c, r: answer(r.target.encode(), fields=fields(("Date", now())))
    server = serve(config(backend, ALL + "<Location /p/few>\nRequestLimit few rate=1/h burst=4\n</Location>"))
    before = hits(server)
    assert {server.get("/p/fewer").status for _ in range(12)} == {200}
    await_hits(server, before + 8)
    below = ["/p/few", "/p/few/a", "/p/%66ew", "/p//few", "/p/b/../few"]
    assert [server.get(path).status for path in below] == [200] * 5
    assert {server.get(path).status for path in below * 2} == {429}
    assert server.get("/p/fewer").status == 200


@pytest.mark.parametrize("more, who, path", [("CacheBypassCookies sess*", {"Cookie": "a=b; session=1"}, "/p/a"), ("SetEnvIf Cookie sess no-cache", {"Cookie": "session=1"}, "/p/a"),
                                             ("CacheDisable /p/own", {}, "/p/own")])
def test_who_is_bypassed_has_a_plan(serve, backend, more, who, path):
    """Whom the store has nothing for does not pay for it; all others have what is stored."""
    numbers = itertools.count()
    backend.scripts["*"] = lambda c, r: answer(f"{next(numbers)}".encode(), fields=fields(("Date", now()), ("Content-Type", "text/plain")))
    server = serve(config(backend, ALL + more))
    with server.connect() as client:
        stored = {client.get("/p/a").body for _ in range(8)}
        own = {client.get(path, who).body for _ in range(8)}
        before = full_ways(server)
        own |= {client.get(path, who).body for _ in range(20)}
        assert full_ways(server) - before <= 1
        assert len(stored) == 1 and len(own) == 28 and not stored & own
        assert client.get("/p/a").body in stored


BEFORE = {
    "no-cache": ("SetEnvIf X-No 1 no-cache", [{}, {}, {"X-No": "1"}, {}, {"X-No": "1"}, {"X-No": "0"}, {}]),
    "early field": ("RequestHeader set X-Kind evil early", [{}, {"X-Kind": "a"}, {"X-Kind": "a"}, {}, {"X-Kind": "evil"}]),
    "early edit": ("RequestHeader edit X-Kind a b early", [{}, {"X-Kind": "a"}, {"X-Kind": "b"}, {}, {"X-Kind": "a"}, {"X-Kind": "c"}]),
    "late field": ("RequestHeader set X-Other 1", [{}, {}, {"X-Kind": "a"}, {"X-Kind": "a"}, {"X-Kind": "a"}]),
    "client": ("RemoteIPHeader X-Client\nSetEnvIf Remote_Addr ^10\\. no-cache", [{}, {}, {"X-Client": "10.0.0.1"}, {}, {"X-Client": "192.0.2.1"}, {"X-Client": "10.0.0.2"}]),
    "client by table": ("SetEnvIf Remote_Addr ^127 no-cache", [{}, {}, {}]),
    "method": ("SetEnvIf Request_Method HEAD no-cache", [{}, {}, {}]),
    "keep-alive": ("BrowserMatch old nokeepalive", [{}, {}, {"User-Agent": "old"}, {"User-Agent": "new"}, {"User-Agent": "old"}, {}]),
    "limit": ("RequestLimit one rate=1/h burst=11", [{}] * 20),
    "id": ("RequestId On", [{}, {}]),
    "header": ("Header set X-Late %t\nHeader set X-Soon 1 early", [{}, {}]),
    "in the handler": ("CacheQuickHandler Off", [{}, {}, {"X-Kind": "a"}, {"X-Kind": "a"}]),
    "rewritten": ("RewriteEngine On\nRewriteCond %{HTTP:X-Kind} a\nRewriteRule ^/p/a$ /p/b [PT]", [{}, {}, {"X-Kind": "a"}, {"X-Kind": "a"}, {}]),
    "bypassed": ("CacheBypassCookies sess*", [{}, {}, {"Cookie": "session=1"}, {}, {"Cookie": "a=b; session"}, {"Cookie": "b=sess"}, {}]),
    "bypassed by a variable": ("SetEnvIf Cookie sess no-cache", [{}, {}, {"Cookie": "session=1"}, {}, {"Cookie": "b"}]),
    "denied": ("<Location /p/>\nRequire all denied\n</Location>", [{}, {}, {}]),
}


@pytest.mark.parametrize("before", BEFORE)
def test_what_comes_before_the_phases(serve, backend, before):
    """Modules that look at a request before the cache does have their say."""
    date = now()
    backend.scripts["*"] = lambda c, r: answer(f"{r.target} {r['X-Kind']}".encode(), fields=fields(("Vary", "X-Kind"), ("Date", date), ("Server", "origin")))
    more, asked = BEFORE[before]
    servers = [serve(config(backend, ALL + f"{more}\nFileCacheEntries {n}")) for n in (1000, 0)]
    for headers in asked * 4:
        got = [server.get("/p/a", headers=headers) for server in servers]
        assert [sent(g)[1] for g in got] == [sent(g)[1] for g in got][:1] * 2 and [g.status for g in got] == [got[1].status] * 2, headers
        assert kind(got[0]) == kind(got[1]), headers
        if before not in ("id", "limit", "header"):
            assert sent(got[0]) == sent(got[1]), headers


def test_more_variants_than_a_loop_keeps(serve, backend):
    backend.scripts["/a"] = lambda c, r: answer(r["X-Kind"].encode(), fields=fields(("Vary", "X-Kind")))
    server = serve(config(backend, METRICS + "MaxKeepAliveRequests 0"))
    with server.connect() as client:
        for i in range(600):
            name = f"{i % 3}" if i % 2 else f"{i % 40}"
            got = client.get("/p/a", {"X-Kind": name})
            assert got.body == name.encode()
    assert len(backend.requests) == 21
    await_hits(server, 200)


def test_age(serve, backend):
    backend.scripts["/a"] = answer(b"x", fields=[("Cache-Control", "max-age=4"), ("Age", "1")])
    server = serve(config(backend, METRICS + "CacheStatusHeader On"))
    begin = time.monotonic()
    seen = set()
    while time.monotonic() - begin < 2.8:
        got = server.get("/p/a")
        if kind(got) == "HIT":
            age, left = int(got["Age"]), int(re.search(r"ttl=(\d+)", got["Cache-Status"]).group(1))
            assert age + left == 4
            seen.add(age)
        time.sleep(0.02)
    assert {1, 2, 3} <= seen and len(backend.requests) == 1
    await_hits(server, 20)
    wait_until(lambda: kind(server.get("/p/a")) != "HIT", "its end")
    assert time.monotonic() - begin > 2.9


@pytest.mark.parametrize("end", ["PURGE", "soft", "tag", "prefix", "POST"])
def test_ends_for_all_loops_at_once(serve, backend, end):
    state = {"n": 0}

    def script(connection, request):
        state["n"] += 1
        return answer(b"%d" % state["n"], fields=fields(("Cache-Tag", "t"), ("ETag", f'"{state["n"]}"')))

    backend.scripts["/a"] = script
    server = serve(config(backend, METRICS + "CachePurge 127.0.0.1", loops=4))
    clients = [server.connect() for i in range(12)]

    def ask(client):
        client.send(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client.read_response("GET").body

    for rounds in range(6):
        before = state["n"]
        for i in range(4):
            bodies = {ask(client) for client in clients}
        assert bodies == {b"%d" % state["n"]} and state["n"] == before + (rounds == 0)
        if end == "POST":
            backend.scripts["/a"] = answer(b"done\n")
            server.request("POST", "/p/a", body=b"x")
            backend.scripts["/a"] = script
        else:
            headers = {"soft": {"Fastly-Soft-Purge": "1"}, "tag": {"Cache-Tag": "t"}}.get(end, {})
            assert server.request("PURGE", "/p/*" if end == "prefix" else "/p/a", headers=headers).status == 200
        assert ask(clients[rounds]) == b"%d" % (state["n"])
        assert state["n"] == before + 1 + (rounds == 0)
    await_hits(server, 100)


def test_a_newer_one_for_all_loops_at_once(serve, backend):
    backend.scripts["/a"] = lambda c, r: answer(b"%d" % len(backend.requests), fields=fields())
    server = serve(config(backend, METRICS, loops=4))
    clients = [server.connect() for i in range(12)]
    for rounds in range(1, 6):
        assert clients[rounds].get("/p/a", {"Cache-Control": "no-cache"}).body == b"%d" % rounds
        for i in range(4):
            assert {client.get("/p/a").body for client in clients} == {b"%d" % rounds}
    await_hits(server, 100)


def test_nothing_old_after_a_purge(serve, backend):
    """Clients of all loops ask while others purge: who begins to ask after the end of a purge gets what came later."""
    paths = [f"/p/{i}" for i in range(6)]
    made, least = dict.fromkeys(paths, 0), dict.fromkeys(paths, 0)
    lock, faults = threading.Lock(), []
    until = None

    def goes_on():
        """For two seconds, or longer on a machine that is busy."""
        return not faults and (time.monotonic() < until or sum(made.values()) <= 20) and time.monotonic() < until + 20

    def script(connection, request):
        path = "/p" + request.target
        with lock:
            made[path] += 1
            return answer(b"%d" % made[path], fields=fields(("Cache-Tag", request.target[1:])))

    def ask():
        with server.connect() as client:
            while goes_on():
                path = random.choice(paths)
                with lock:
                    wanted = least[path]
                got = client.get(path)
                if got.status != 200 or int(got.body) < wanted:
                    faults.append((path, wanted, got))

    def purge():
        with server.connect() as client:
            while goes_on():
                path = random.choice(paths)
                with lock:
                    wanted = made[path] + 1
                client.request("PURGE", path, headers=[("Cache-Tag", path[3:])] if random.random() < 0.5 else [])
                with lock:
                    least[path] = max(least[path], wanted)

    for path in paths:
        backend.scripts[path[2:]] = script
    server = serve(config(backend, METRICS + "CachePurge 127.0.0.1\nMaxKeepAliveRequests 0", loops=2))
    for path in paths:
        server.get(path)
    until = time.monotonic() + 2
    threads = [threading.Thread(target=ask) for i in range(6)] + [threading.Thread(target=purge)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and sum(made.values()) > 20
    await_hits(server, 20)
