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


@pytest.mark.parametrize("method", ["byrequests", "bytraffic", "bybusyness"])
def test_each_has_its_share(serve, backends, method):
    """Those with twice the factor twice as many, and nobody is asked twice."""
    server = serve(config(backends, parameters=("loadfactor=2", "loadfactor=1"), of_balancer=f"ProxySet lbmethod={method}"))
    with server.connect() as client:
        ask(client, n=60)
    one, two = counts(backends)
    assert one + two == 60
    if method != "bybusyness":
        assert 35 <= one <= 45
    assert full_ways(server) < 10


@pytest.mark.parametrize("setting", ["ProxySet stickysession=S", "ProxySet lbmethod=hash", "ProxySet failonstatus=500"])
def test_balancers_that_need_the_request(serve, backends, setting):
    server = serve(config(backends, of_balancer=setting))
    with server.connect() as client:
        ask(client, n=6)
    assert full_ways(server) == 6


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
