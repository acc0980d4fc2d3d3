# SPDX-License-Identifier: Apache-2.0
"""Requests that a loop sends to members of a balancer without phases: chosen as for any other request, and asked once."""
import re

import pytest

from backend import Backend, answer
from brigade import wait_until
from planned_site import CONFIG, DATED, PLAIN, full_ways, neutral

pytestmark = pytest.mark.only("brigade")

HEAD = "GET /p/x HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def backends():
    with Backend({"*": PLAIN}) as one, Backend({"*": PLAIN}) as two:
        yield one, two


def config(backends, more="", path="", parameters=("", ""), of_balancer="", first="EventLoops 1\n"):
    members = "\n".join(f"BalancerMember http://127.0.0.1:{b.port}{path} {own}" for b, own in zip(backends, parameters))
    return f"{first}{CONFIG}<Proxy balancer://b>\n{members}\n{of_balancer}\n</Proxy>\nProxyPass /p/ balancer://b/\n{more}\n"


def twins(serve, backends, **way):
    return [serve(config(backends, first=first, **way)) for first in ("", "FileCacheEntries 0\n")]


def ask(client, head=HEAD, n=1):
    for _ in range(n):
        client.send(head + "\r\n")
        got = client.read_until(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", got)
        got += client.read_exactly(int(length[1]))
    return got


def counts(backends):
    return [len(b.requests) for b in backends]


@pytest.mark.parametrize("more", ["", "ProxyPreserveHost On", "ProxyAddHeaders Off", "ProxyVia On", "ProxyMaxForwards 3", "ProxyErrorOverride On"])
@pytest.mark.parametrize("path", ["", "/deep/er"])
def test_members_get_what_they_get_without_a_plan(serve, backends, more, path):
    got = []
    for server in twins(serve, backends, more=more, path=path):
        before = counts(backends)
        with server.connect() as client:
            ask(client, n=4)
            planned = full_ways(server)
            texts = [neutral(server, ask(client, HEAD.replace("/x", f"/x?{i}") + "Cookie: a=b\r\n")) for i in range(8)]
            planned = full_ways(server) - planned
        sent = [sorted(r.head for r in b.requests[n:]) for b, n in zip(backends, before)]
        got.append((texts, sent, planned))
    assert got[0][:2] == got[1][:2]
    assert got[0][2] == 0 and got[1][2] == 8


@pytest.mark.parametrize("method", ["byrequests", "bytraffic", "bybusyness", "random2"])
def test_each_has_its_share(serve, backends, method):
    """Those with twice the factor twice as many, and nobody is asked twice."""
    server = serve(config(backends, parameters=("loadfactor=2", "loadfactor=1"), of_balancer=f"ProxySet lbmethod={method}"))
    with server.connect() as client:
        ask(client, n=60)
    one, two = counts(backends)
    assert one + two == 60
    if method not in ("bybusyness", "random2"):
        assert 35 <= one <= 45
    assert full_ways(server) < 10


KEYS = {"uri": lambda i: HEAD.replace("/x", f"/x?{i}"), "client": lambda i: HEAD, "X-Key": lambda i: HEAD + f"X-Key: {i}\r\n", "Cookie": lambda i: HEAD + f"Cookie: {i}\r\n"}


@pytest.mark.parametrize("key", KEYS)
def test_hashes(serve, backends, key):
    """By a plan each goes where it goes without one."""
    went = []
    for server in twins(serve, backends, of_balancer=f"ProxySet lbmethod=hash hashkey={key}"):
        with server.connect() as client:
            ask(client, n=4)
            planned, to = full_ways(server), []
            for i in range(20):
                before = counts(backends)
                ask(client, KEYS[key](i % 10))
                to.append([now - was for now, was in zip(counts(backends), before)])
            planned = full_ways(server) - planned
        went.append((to, planned))
    assert went[0][0] == went[1][0] and went[0][1] == 0 and went[1][1] == 20
    assert key == "client" or [1, 0] in went[0][0] and [0, 1] in went[0][0]


SESSIONS = {"cookie": ("stickysession=S", lambda route: HEAD + f"Cookie: A=b; S=x.{route}; C=d\r\n"), "parameter": ("stickysession=S|s", lambda route: HEAD.replace("/x", f"/x?s=y.{route}")),
            "path": ("stickysession=S|s scolonpathdelim=On", lambda route: HEAD.replace("/x", f"/x;s=y.{route}")), "dash": ("stickysession=S stickysessionsep=-", lambda route: HEAD + f"Cookie: S=x-{route}\r\n")}
OF_SESSIONS = "LogFormat \"%{BALANCER_WORKER_ROUTE}e %{BALANCER_SESSION_ROUTE}e %{BALANCER_SESSION_STICKY}e %{BALANCER_ROUTE_CHANGED}e %{session-route}n %{session-sticky}n\" b\nCustomLog logs/access.log b"


def lines_of(server, n):
    """Of requests to members, once there are so many."""
    def lines():
        found = [line for line in server.read("logs/access.log").splitlines() if not line.startswith(b"-")]
        return len(found) == n and found
    return wait_until(lines, "its lines")


@pytest.mark.parametrize("kind", SESSIONS)
def test_sessions(serve, backends, kind):
    """To the member of their route; without one, or with one that nobody has, to any. Logs tell of the request's own session."""
    setting, head = SESSIONS[kind]
    routes = ["a", "b", "b", "b", "a", "other", "a", "", "b", "b"]
    seen = []
    for server in twins(serve, backends, of_balancer=f"ProxySet {setting}", parameters=("route=a", "route=b"), more=OF_SESSIONS):
        with server.connect() as client:
            for route in dict.fromkeys(routes):  # each path has a plan of its own
                ask(client, head(route), n=4)
            planned, to = full_ways(server), []
            for route in routes:
                before = counts(backends)
                ask(client, head(route) if route else HEAD)
                to.append([now - was for now, was in zip(counts(backends), before)])
                assert route not in "ab" or not route or to[-1] == ([1, 0] if route == "a" else [0, 1])
            planned = full_ways(server) - planned
        lines = [re.sub(rb"^[ab] (?=other|-)", b"ANY ", line) for line in lines_of(server, 10 + 4 * len(set(routes)))[-10:]]
        seen.append((lines, planned))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1] <= (4 if kind == "path" else 0) and seen[1][1] == 10  # HEAD alone has no plan of its own there


def test_a_session_whose_answer_needs_the_request(serve, backends):
    """The request that is made then has the member that was asked, and the session."""
    lines = []
    for server in twins(serve, backends, of_balancer="ProxySet stickysession=S", parameters=("route=a", "route=b"), more=OF_SESSIONS):
        head = HEAD + "Cookie: S=x.b\r\n"
        for b in backends:
            b.scripts["*"] = PLAIN
        with server.connect() as client:
            ask(client, head, n=4)
            for b in backends:
                b.scripts["*"] = answer(b"no", status="401 Unauthorized", fields=[*DATED, ("WWW-Authenticate", "Basic realm=x")])
            before = counts(backends)
            for _ in range(3):
                assert b" 401 " in ask(client, head)
            ask(client, HEAD + "Cookie: S=x.other\r\n")
        assert [now - was for now, was in zip(counts(backends), before)] in ([0, 4], [1, 3])
        lines.append([re.sub(rb"^[ab] (?=other)", b"ANY ", line) for line in lines_of(server, 8)])
    assert lines[0] == lines[1]


def test_statuses_by_which_a_member_fails(serve, backends):
    """failonstatus=: the request is made for such an answer, and its member is out."""
    one, two = backends
    server = serve(config(backends, of_balancer="ProxySet failonstatus=404"))
    with server.connect() as client:
        ask(client, n=6)
        before = full_ways(server)
        ask(client, n=4)
        assert full_ways(server) == before
        one.scripts["*"] = answer(b"no", status="404 Not Found", fields=DATED)
        ask(client, n=4)
        before = counts(backends)
        ask(client, n=6)
    assert [now - was for now, was in zip(counts(backends), before)] == [0, 6]
    assert b"AH01174" in server.error_log()


def test_a_member_that_goes(serve, backends):
    """Its requests go to the other one, each once."""
    one, two = backends
    server = serve(config(backends, parameters=("retry=60", "retry=60")))
    with server.connect() as client:
        ask(client, n=10)
        one.scripts["*"] = lambda connection, request: False
        for _ in range(3):
            got = ask(client)
            assert b"hello" in got or b" 502 " in got
        before = counts(backends)
        assert before[0] + before[1] <= 10 + 3 * 2


def test_logs_name_the_member(serve, backends):
    lines = []
    for server in twins(serve, backends, more="LogFormat \"%{BALANCER_NAME}e %{BALANCER_WORKER_NAME}e %{BALANCER_WORKER_ROUTE}e %>s\" b\nCustomLog logs/access.log b",
                        parameters=("route=a", "route=b")):
        with server.connect() as client:
            ask(client, n=8)
        wait_until(lambda s=server: s.read("logs/access.log").count(b"\n") == 8, "its lines")
        lines.append(sorted(server.read("logs/access.log").splitlines()))
    assert lines[0] == lines[1] and len(set(lines[0])) == 2


def test_an_answer_that_needs_the_request_is_asked_for_once(serve, backends):
    """The member that was asked is the one whose answer comes."""
    server = serve(config(backends))
    with server.connect() as client:
        ask(client, n=4)
        for b, name in zip(backends, (b"one", b"two")):
            b.scripts["*"] = answer(name, status="401 Unauthorized", fields=[*DATED, ("WWW-Authenticate", "Basic realm=x")])
        before = counts(backends)
        got = [ask(client)[-3:] for _ in range(10)]
    assert [now - was for now, was in zip(counts(backends), before)] == [got.count(b"one"), got.count(b"two")] == [5, 5]


def test_redirects_and_cookies(serve, backends):
    """ProxyPassReverse and its forms for cookies, without the request."""
    more = "ProxyPassReverse /p/ balancer://b/\nProxyPassReverseCookiePath / /p/\nProxyPassReverseCookieDomain inner outer\n"
    got = []
    for server in twins(serve, backends, more=more):
        with server.connect() as client:
            ask(client, n=4)
            planned = full_ways(server)
            texts = []
            for i, b in enumerate(backends * 4):
                for to in backends:
                    to.scripts["*"] = answer(b"", status="302 Found", fields=[*DATED, ("Location", f"http://127.0.0.1:{b.port}/to/{i}"),
                                                                           ("Set-Cookie", "a=b; path=/; domain=inner")])
                texts.append(neutral(server, ask(client)))
            planned = full_ways(server) - planned
        for b in backends:
            b.scripts["*"] = PLAIN
        got.append((texts, planned))
    assert got[0][0] == got[1][0] and b"localhost/p//to/3" in got[0][0][3] and b"path=/p/; domain=outer" in got[0][0][3]
    assert got[0][1] == 0 and got[1][1] == 8


def test_no_connection_is_idle(serve, backends):
    """A plan opens one: no phases run because of that."""
    server = serve(config(backends))
    with server.connect() as client:
        ask(client, n=4)
        for b in backends:
            b.close_connections()
        before = full_ways(server)
        ask(client, n=8)
    assert full_ways(server) - before <= 2  # a kept connection may be found closed


@pytest.mark.parametrize("to", ["%{HTTP:X-To}", "%{TIME_SEC}%{HTTP:X-To}", "%{QUERY_STRING}", "%{HTTP_USER_AGENT}", "%{ENV:Y}"])
def test_rules_that_send_requests_on(serve, backends, to):
    """What a rule makes of each request counts for it."""
    rule = f"RewriteEngine On\nSetEnvIf X-To (.*) Y=$1\nRewriteRule ^/r/ balancer://b/to/{to} [P]"
    for server in twins(serve, backends, more=rule):
        with server.connect() as client:
            for i, name in enumerate("aaaabbcacb"):
                before = counts(backends)
                ask(client, f"GET /r/x?{name} HTTP/1.1\r\nHost: localhost\r\nX-To: {name}\r\nUser-Agent: {name}\r\n")
                sent = [r.target for b, n in zip(backends, before) for r in b.requests[n:]]
                assert len(sent) == 1 and sent[0].split("?")[0].endswith(name), (i, name, sent)


@pytest.mark.parametrize("method", ["byrequests", "bytraffic", "bybusyness"])
def test_members_that_have_no_plan_get_their_share(serve, backends, method):
    """One of two members is asked by new connections, of which there is no plan: the choice that is made for it is not made twice."""
    shares = []
    for server in twins(serve, backends, parameters=("", "disablereuse=On"), of_balancer=f"ProxySet lbmethod={method}"):
        before = counts(backends)
        with server.connect() as client:
            for i in range(40):
                ask(client, HEAD.replace("/x", f"/x?{i}"))
        shares.append([now - was for now, was in zip(counts(backends), before)])
    assert shares[0] == shares[1] == [20, 20], shares
