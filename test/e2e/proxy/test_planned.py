# SPDX-License-Identifier: Apache-2.0
"""Requests that a loop sends to a backend by what was decided for others of their target, without phases. Everything that a backend and a
client get is held against a server without such plans (FileCacheEntries 0)."""
import os
import re
import shutil
import socket

import pytest

from backend import Backend, answer
from brigade import APACHE_MODULES, PATIENCE, wait_until
from http_client import Client, Truncated
from planned_site import ANSWERS, CONFIG, DATE, DATED, NOT_WHOLE, PIECES, PLAIN, TYPE, WHOLE, config, full_ways, in_pieces, neutral, text_of, twins
from processes import reload
from tls_site import TLSClient, certificate, start

pytestmark = pytest.mark.only("brigade")

HEAD = "GET /p/x HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


def one(client, text):
    """A request as it is, and the bytes of its answer; the connection's end where the body's is not told."""
    client.send(text)
    return rest(client, text.startswith("HEAD"))


def rest(client, headed=False):
    head = client.read_until(b"\r\n\r\n")
    length = re.search(rb"^content-length: *(\d+)", head, re.M | re.I)
    if headed or re.match(rb"HTTP/1.1 (1|204|304)", head):
        return head
    if length:
        return head + b"\r\n\r\n" + client.read_exactly(int(length[1]))
    if re.search(rb"^transfer-encoding: *chunked", head, re.M | re.I):
        body = b""
        while not body.endswith(b"0\r\n\r\n"):
            body += client.read_exactly(1)
        return head + b"\r\n\r\n" + body
    return head + b"\r\n\r\n" + client.read_to_end()


def warm(server, client, head=HEAD):
    """From here on there is a plan, if there may be one, and a connection to the backend that waits."""
    for _ in range(4):
        one(client, head + "\r\n")


def outcome(server, backend, text, head=HEAD):
    """What client and backend get of a request on a connection that had some."""
    with server.connect() as client:
        warm(server, client, head)
        before = len(backend.requests)
        got = one(client, text)
        return got, [(r.head, r.raw_body) for r in backend.requests[before:]]


def is_planned(server, head=HEAD, text=None):
    """1: of ten requests to a target no more than the first two of the connection take the full way."""
    before = full_ways(server)
    with server.connect() as client:
        warm(server, client, head)
        for _ in range(6):
            one(client, text or head + "\r\n")
    return full_ways(server) <= before + 2


def test_no_phases_run(serve, backend):
    server, without = twins(serve, backend)
    assert is_planned(server) and not is_planned(without)
    assert is_planned(server, text=HEAD + "Cookie: a=b\r\nAuthorization: Basic eDp5\r\nIf-None-Match: \"x\"\r\n\r\n")
    assert is_planned(server, text=HEAD.replace("/x", "/x?q=1") + "\r\n"), "one plan is for all queries"


REQUESTS = {
    "plain": HEAD + "\r\n",
    "fields": HEAD + "Accept: */*\r\nUser-Agent: a b\r\nCookie: a=b\r\nAuthorization: Basic eDp5\r\nX-Real-IP: 192.0.2.1\r\n\r\n",
    "keep-alive": HEAD + "Connection: keep-alive\r\n\r\n",
    "close": HEAD + "Connection: close\r\n\r\n",
    "named": HEAD + "X-B: 1\r\nConnection: X-B\r\n\r\n",
    "named-and-close": HEAD + "X-B: 1\r\nConnection: close, X-B\r\n\r\n",
    "hop": HEAD + "Keep-Alive: timeout=3\r\nProxy-Connection: keep-alive\r\nTrailer: X-C\r\n\r\n",
    "te": HEAD + "TE: trailers\r\nConnection: TE\r\n\r\n",
    "upgrade": HEAD + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "query": HEAD.replace("/x", "/x?a=b&c=%20d?e") + "\r\n",
    "query-empty": HEAD.replace("/x", "/x?") + "\r\n",
    "forwarded": HEAD + "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Server: b\r\nX-Forwarded-Proto: https\r\n\r\n",
    "forwarded-host": HEAD + "x-forwarded-host: a\r\n\r\n",
    "forwarded-server": HEAD + "X-forwarded-server: a\r\n\r\n",
    "via": HEAD + "Via: 1.0 a\r\n\r\n",
    "max-forwards": HEAD + "Max-Forwards: 3\r\n\r\n",
    "max-forwards-0": HEAD + "Max-Forwards: 0\r\n\r\n",
    "proxy-authorization": HEAD + "Proxy-Authorization: Basic eDp5\r\n\r\n",
    "twice": HEAD + "X-B: 1\r\nX-b: 2\r\n\r\n",
    "twice-known": HEAD + "Cookie: a=b\r\nCookie: c=d\r\n\r\n",
    "blanks": HEAD + "X-B:1\r\nX-C:   2  \r\nX-D:\r\n\r\n",
    "range": HEAD + "Range: bytes=1-2\r\n\r\n",
    "conditions": HEAD + "If-None-Match: \"x\"\r\nIf-Modified-Since: Fri, 20 Nov 2026 08:00:00 GMT\r\n\r\n",
    "if-match": HEAD + "If-Match: \"x\"\r\n\r\n",
    "expect": HEAD + "Expect: 100-continue\r\n\r\n",
    "large": HEAD + f"X-B: {'b' * 3900}\r\n\r\n",
    "head": "HEAD /p/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "post": "POST /p/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
    "get-with-a-body": HEAD + "Content-Length: 3\r\n\r\nabc",
    "empty-body": HEAD + "Content-Length: 0\r\n\r\n",
    "1.0": "GET /p/x HTTP/1.0\r\nHost: localhost\r\n\r\n",
    "1.0-keep-alive": "GET /p/x HTTP/1.0\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n",
    "other-host": "GET /p/x HTTP/1.1\r\nHost: other:81\r\n\r\n",
    "absolute": "GET http://localhost/p/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "encoded": "GET /p/%78 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "elsewhere": "GET /q HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


def test_requests_are_sent_and_answered_as_without_a_plan(serve, backend):
    servers = twins(serve, backend)
    for name, text in REQUESTS.items():
        first, second = ((neutral(server, got), sent) for server in servers for got, sent in [outcome(server, backend, text)])
        assert first == second, name


def what_comes(client):
    """Interim answers included; nothing where the connection ends instead."""
    try:
        got = rest(client)
        return got + rest(client) if got.startswith(b"HTTP/1.1 103") else got
    except (Truncated, OSError):
        return b"closed"


@pytest.mark.parametrize("more", ["", "ProxyPassReverse /p/ http://127.0.0.1:{port}/\nProxyPassReverseCookiePath / /p/\nProxyPassReverseCookieDomain inner outer\n"],
                         ids=["plain", "reverse"])
def test_answers_are_sent_as_without_a_plan(serve, backend, more):
    servers = twins(serve, backend, more.replace("{port}", str(backend.port)))
    for name, script in ANSWERS.items():
        got = []
        for server in servers:
            with server.connect() as client:
                backend.scripts["/x"] = PLAIN
                warm(server, client)
                backend.scripts["/x"] = script.replace(b"{port}", str(backend.port).encode()) if isinstance(script, bytes) else script
                client.send(HEAD + ("Connection: close\r\n" if name == "early-hints" else "") + "\r\n")
                got.append(neutral(server, what_comes(client)))
        assert got[0] == got[1], name


def test_whole_answers_need_no_request(serve, backend):
    server = serve(config(backend))
    for name in WHOLE:
        backend.scripts["/x"] = ANSWERS[name]
        assert is_planned(server), name
    for name in NOT_WHOLE:
        backend.scripts["/x"] = ANSWERS[name]
        assert not is_planned(server), name


def body_of(client, head):
    """What of it came, whatever it was framed with; and how it ended."""
    length = re.search(rb"^content-length: *(\d+)", head, re.M | re.I)
    try:
        if length:
            return client.read_exactly(int(length[1])), "whole"
        if b"chunked" in head:
            return client._chunked()[0], "whole"  # a length is told where all came at once
        return client.read_to_end(), "whole"
    except (Truncated, OSError, ValueError) as cut:
        if b"chunked" not in head:
            return cut.args[0], "cut"
        return b"", "cut"


def piecemeal(server, client, log):
    """Head and body of an answer, if the connection goes on behind it, and its line of the log."""
    try:
        head = client.read_until(b"\r\n\r\n")
    except (Truncated, OSError):
        return "closed", log()
    return neutral(server, head), body_of(client, head), log()


PIECEMEAL = "LogFormat \"%>s %b %B %X %m %U %q %{X-A}o %{Content-Type}o\" all\nCustomLog logs/access.log all\n"


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_pieces_are_sent_as_without_a_plan(serve, backend, name, version):
    """Heads, bodies, logs, and what the next client gets."""
    got = []
    for server in twins(serve, backend, PIECEMEAL):
        backend.scripts["/x"] = PLAIN
        with server.connect() as client:
            warm(server, client)
            backend.scripts["/x"] = PIECES[name]
            client.send(HEAD.replace("1.1", version) + "Connection: close\r\n\r\n")
            got.append(piecemeal(server, client, lambda s=server: wait_until(lambda: s.read("logs/access.log").count(b"\n") == 5, "its line") and s.read("logs/access.log")))
        backend.scripts["/x"] = PLAIN
        assert b" 200 " in outcome(server, backend, HEAD + "\r\n")[0]
    lines = [re.sub(rb"\r\n(Transfer-Encoding: chunked|Content-Length: \d+)", b"", g[0]) if len(g) == 3 else g[0] for g in got]
    for i, g in enumerate(got):  # fields of an answer that failed behind its head are in no log here
        got[i] = tuple(re.sub(rb"(\n502 .*) \S+ \S+\n", rb"\1\n", part) if isinstance(part, bytes) else part for part in g)
    assert lines[0] == lines[1] and [g[1:] for g in got][0] == [g[1:] for g in got][1]


@pytest.mark.parametrize("name", ["head-alone", "two", "bytes", "long", "middling", "chunks", "chunks-in-pieces", "no-chunk", "trailers", "long-chunks"])
def test_pieces_need_no_request(serve, backend, name):
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = PIECES[name]
        before = full_ways(server)
        for _ in range(6):
            one(client, HEAD + "\r\n")
    assert full_ways(server) == before


def test_a_client_that_leaves_within_an_answer(serve, backend):
    """Its backend's connection ends, and the log has what was sent."""
    server = serve(config(backend, PIECEMEAL))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: (connection.send(text_of("200 OK", DATE, TYPE, "Content-Length: 9", body=b"abc")), connection.more())
        client.send(HEAD + "\r\n")
        client.read_until(b"\r\n\r\nabc")
    wait_until(lambda: backend.open == 0, "the backend's connection is closed")
    assert wait_until(lambda: server.read("logs/access.log").count(b"\n") == 5, "its line")
    assert server.read("logs/access.log").splitlines()[-1].startswith(b"200 3 3 ")


def pausing(came):
    """A script of the backend: half of an answer, and the rest when came has something."""
    def script(connection, request):
        connection.send(text_of("200 OK", DATE, TYPE, "Content-Length: 4", body=b"ab"))
        wait_until(lambda: came, "the client has it")
        connection.send(b"cd")
    return script


def test_a_client_that_ends_its_sending(serve, backend):
    """Within an answer to its last request: it has the rest."""
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        came = []
        backend.scripts["/x"] = pausing(came)
        client.send(HEAD + "Connection: close\r\n\r\n")
        client.read_until(b"\r\n\r\nab")
        client.half_close()
        came.append(1)
        assert client.read_to_end() == b"cd"


def test_a_backend_that_is_silent_within_an_answer(serve, backend):
    server = serve(config(backend, parameters="timeout=1"))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: (connection.send(text_of("200 OK", DATE, TYPE, "Content-Length: 4", body=b"ab")), connection.more())
        client.send(HEAD + "\r\n")
        assert client.read_to_end().endswith(b"\r\n\r\nab")
    assert wait_until(lambda: b"AH01110" in server.error_log(), "the reason")


SETTINGS = {  # 1: requests beside it may still have plans
    "RequestHeader set X-New 1": 0,
    "RequestHeader unset User-Agent": 0,
    "RequestHeader set X-New 1 early": 0,
    "RequestHeader set X-New 1 env=absent": 1,
    "<Location /p/>\nRequestHeader append Accept b\n</Location>": 0,
    "Header set X-New 1": 0,
    "Header always set X-New 1": 0,
    "<Location /p/>\nHeader unset X-A\n</Location>": 0,
    "ProxyAddHeaders Off": 1,
    "ProxyPreserveHost On": 1,
    "ProxyErrorOverride On": 1,
    "ProxyVia On": 1,
    "ProxyVia Full": 1,
    "ProxyVia Block": 1,
    "ProxyMaxForwards 5": 1,
    "ProxyStatusField On": 0,
    "AddDefaultCharset utf-8": 0,
    "SetEnv proxy-nokeepalive 1": 0,
    "SetEnv force-proxy-request-1.0 1": 0,
    "SetEnvIf User-Agent b proxy-nokeepalive": 1,
    "SetEnvIf User-Agent a proxy-nokeepalive": 0,
    "SetEnvIf User-Agent a X=1": 1,
    "BrowserMatch a nokeepalive": 0,
    "<Location /p/>\nRequire ip 127.0.0.1\n</Location>": 1,
    "<Location /p/>\n<RequireAll>\nRequire not ip 127.0.0.2\nRequire all granted\n</RequireAll>\n</Location>": 1,
    "<Location /p/>\nRequire ip 192.0.2.1\n</Location>": 0,
    "<Location /p/>\nRequire all denied\n</Location>": 0,
    "<If \"%{HTTP_USER_AGENT} == 'a'\">\nRequire all denied\n</If>": 0,
    "<Location /p/>\nSetOutputFilter DEFLATE\n</Location>": 0,
    "<Location /p/>\n<Limit GET>\nRequire all denied\n</Limit>\n</Location>": 0,
    "RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} a\nRewriteRule ^/p/ - [F]": 0,
    "Redirect /p/x /elsewhere": 0,
    "RequestId On": 0,
    "<Location /p/>\nProxyPassReverse http://127.0.0.1/\n</Location>": 1,
    "CacheEnable memory /p/": 0,
    "KeepAlive Off": 0,
    "MaxKeepAliveRequests 5": 1,
    "HostnameLookups On": 0,
    "LogLevel debug": 0,
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_hold_beside_a_plan(serve, backend, setting):
    servers = twins(serve, backend, setting)
    got = []
    for server in servers:
        texts = []
        with server.connect() as client:
            for agent in ("c", "c", "c", "a", "b", "a"):
                before = len(backend.requests)
                text = HEAD + f"User-Agent: {agent}\r\nConnection: keep-alive\r\n\r\n"
                try:
                    texts.append(neutral(server, one(client, text)))
                except (Truncated, OSError):  # the connection ended behind the answer before
                    texts.append(b"closed")
                    break
                texts += [r.head for r in backend.requests[before:]]
        got.append([re.sub(rb"(?i)(request-id: )[^\r]*", rb"\1ID", t) for t in texts])
    assert got[0] == got[1]


@pytest.mark.parametrize("setting", [s for s, planned in SETTINGS.items() if planned and s != "MaxKeepAliveRequests 5"])
def test_settings_that_leave_plans(serve, backend, setting):
    assert is_planned(serve(config(backend, setting)))


OTHERS = ("Require", "KeepAlive Off", "[F]", "Redirect", "BrowserMatch a")  # a page of the server's own, or one request for each connection


@pytest.mark.parametrize("setting", [s for s, planned in SETTINGS.items() if not planned and not any(o in s for o in OTHERS)])
def test_settings_that_need_each_request(serve, backend, setting):
    server = serve(config(backend, setting))
    with server.connect() as client:
        head = HEAD + "User-Agent: a\r\nConnection: keep-alive\r\n"
        warm(server, client, head)
        for _ in range(3):
            one(client, head + "\r\n")
    assert full_ways(server) == 7


@pytest.mark.parametrize("preserve", ["On", "Off"])
@pytest.mark.parametrize("names", [["localhost", None, "", "other"], [None, "localhost", None, ""], ["", None, "localhost", None], ["other", "", None, "other:8080"]])
def test_requests_without_a_host(serve, backend, preserve, names):
    """HTTP/1.0: the backend is told ServerName where ProxyPreserveHost is On, whatever plans there are of requests with other hosts. An empty one is refused."""
    seen = {}
    for server in twins(serve, backend, f"ProxyPreserveHost {preserve}\n"):
        del backend.requests[:]
        for name in names * 4:
            if not name:
                server.raw(b"GET /p/x HTTP/1.0\r\n" + (b"\r\n" if name is None else b"Host:\r\n\r\n"))
            else:
                with server.connect() as client:
                    for _ in range(3):
                        one(client, f"GET /p/x HTTP/1.1\r\nHost: {name}\r\n\r\n")
        seen[server] = [r["Host"] for r in backend.requests]
    planned, full = seen.values()
    own = f"127.0.0.1:{backend.port}"
    wanted = [host for name in names * 4 for host in (["localhost"] if name is None else [name] * 3 if name else [])]
    assert planned == full == (wanted if preserve == "On" else [own] * len(wanted))
    if names[0]:
        assert is_planned(next(iter(seen)), HEAD.replace("localhost", names[0]))


def test_an_access_file_that_sends_requests_on(serve, backend):
    """What it says now counts for each request."""
    server = serve(f"""{CONFIG}
<Directory "/">
    AllowOverride All
    Require all granted
</Directory>
""", files={".htaccess": f"RewriteEngine On\nRewriteRule ^x$ http://127.0.0.1:{backend.port}/first [P]\n", "x": "a file\n"})
    head = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.connect() as client:
        for target in ("first", "second", None, "third"):
            server.write(".htaccess", f"RewriteEngine On\nRewriteRule ^x$ http://127.0.0.1:{backend.port}/{target} [P]\n" if target else "")
            for _ in range(4):
                before = len(backend.requests)
                got = one(client, head)
                assert got.endswith(b"hello\n" if target else b"a file\n")
                assert [r.target for r in backend.requests[before:]] == ([f"/{target}"] if target else [])


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_clients_over_tls(serve, backend):
    got = []
    for more in ("", "FileCacheEntries 0\n"):
        server = serve.unstarted(config(backend, more + "SSLEngine On\nSSLCertificateFile conf/cert.pem\nSSLCertificateKeyFile conf/key.pem\n"))
        certificate(server)
        start(server)
        with TLSClient(server) as client:
            texts = []
            for text in ("plain", "fields", "query", "forwarded", "keep-alive", "plain", "close"):
                before = len(backend.requests)
                texts.append((one(client, REQUESTS[text]), [r.head for r in backend.requests[before:]]))
        got.append(texts)
    assert got[0] == got[1]


@pytest.mark.skipif(not os.path.exists(f"{APACHE_MODULES}/mod_socache_shmcb.so"), reason="no modules of Apache's")
def test_modules_of_files(serve, backend):
    """Debian loads one for TLS, which has nothing to do with requests; others may do anything."""
    load = "LoadModule {0}_module " + APACHE_MODULES + "/mod_{0}.so"
    assert is_planned(serve(config(backend, load.format("socache_shmcb"))))
    assert not is_planned(serve(config(backend, load.format("dialup"))))


def test_a_client_for_whom_it_was_not_decided(serve, backend):
    server = serve(config(backend, "<Location /p/>\nRequire ip 127.0.0.1\n</Location>"))
    assert is_planned(server)
    with Client("127.0.0.1", server.port, PATIENCE, source="127.0.0.2") as client:
        for _ in range(3):
            assert b" 403 " in one(client, HEAD + "\r\n").split(b"\r\n")[0]


def test_reload(serve, backend):
    server = serve(config(backend))
    assert is_planned(server)
    before = reload(server, config(backend, "ProxyAddHeaders Off"))
    wait_until(lambda: not before & set(server.children()), "the processes of before have ended")
    _, sent = outcome(server, backend, HEAD + "\r\n")
    assert b"X-Forwarded" not in sent[0][0]


@pytest.mark.parametrize("length", [6, 60000])
def test_logs_tell_the_same(serve, backend, length):
    backend.scripts["/x"] = answer(b"l" * length, fields=[*DATED, ("X-A", "b")])
    more = "LogFormat \"%h %u %r %>s %b %B %I %O %S %k %m %U %q %H %f %R %X %{X-A}o %{Date}o %{Content-Length}o %{Referer}i %{backend-tries}n %{cache-result}e %{cache-hierarchy}e %{cache-url}e\" all\n" \
           "CustomLog logs/access.log all\nLogFormat \"%h %>s %b %I %O %k %U %q %f %R %X %{X-A}o %{Date}o %{Server}o %{Content-Length}o %{Referer}i %{X}e %{cache-result}e %{cache-hierarchy}e\" some\n" \
           "CustomLog logs/some.log some\nSetEnv X y\n"
    for formats in (more, more.replace("CustomLog logs/access.log all\n", "")):
        lines = []
        for server in twins(serve, backend, formats):
            with server.connect() as client:
                for n in range(6):
                    one(client, HEAD.replace("/x", f"/x?{n}") + "Referer: r\r\nConnection: keep-alive\r\n\r\n")
            wait_until(lambda s=server: s.read("logs/some.log").count(b"\n") == 6, "six lines")
            lines.append([server.read("logs/some.log"), server.read("logs/access.log") if formats == more else ""])
        assert lines[0] == lines[1]


def test_pipelined_requests(serve, backend):
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        client.send((HEAD + "\r\n") * 5 + HEAD + "Connection: close\r\n\r\n")
        assert client.read_to_end().count(b"\r\n\r\nhello\n") == 6


def test_a_kept_connection_that_its_backend_closes(serve, backend):
    """Whatever is asked for next is answered, and once."""
    def close_behind(connection, request):
        connection.send(PLAIN)
        return False
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        for _ in range(20):
            backend.scripts["/x"] = close_behind
            assert b" 200 " in one(client, HEAD + "\r\n")
            backend.scripts["/x"] = PLAIN
            assert b" 200 " in one(client, HEAD + "\r\n")


def test_a_backend_that_closes_without_an_answer(serve, backend):
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        before = len(backend.requests)
        backend.scripts["/x"] = lambda connection, request: False if connection.served > 1 else PLAIN
        assert b" 200 " in one(client, HEAD + "\r\n")
        assert len(backend.requests) == before + 2, "a kept connection was tried, then a new one"


def test_a_backend_that_does_not_answer_in_time(serve, backend):
    server = serve(config(backend, parameters="timeout=1"))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: connection.more()
        assert b" 504 " in one(client, HEAD + "\r\n") or b" 502 " in one(client, HEAD + "\r\n")
    assert wait_until(lambda: b"AH01102" in server.error_log(), "the reason")


def test_a_client_that_leaves(serve, backend):
    """Its connection to the backend ends, and others are served."""
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: connection.more()
        before = backend.open
        client.send(HEAD + "\r\n")
        wait_until(lambda: len(backend.requests) > 4, "the request came")
        assert before == 1
    wait_until(lambda: backend.open == 0, "the backend's connection is closed")
    backend.scripts["/x"] = PLAIN
    assert b" 200 " in outcome(server, backend, HEAD + "\r\n")[0]


def test_a_piece_is_not_waited_for(serve, backend):
    """A client gets the beginning of an answer while its backend pauses."""
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        came = []
        backend.scripts["/x"] = pausing(came)
        client.send(HEAD + "\r\n")
        client.read_until(b"\r\n\r\nab")
        came.append(1)
        assert client.read_exactly(2) == b"cd"


BLOCK = 32768  # what the network is read into
LENGTHS = [BLOCK - 200, *range(BLOCK - 120, BLOCK - 100), BLOCK, BLOCK + 1, 2 * BLOCK - 110, 2 * BLOCK, 100000, 4 * BLOCK - 120,
           4 * BLOCK - 1, 4 * BLOCK + 1, 300000]


def long_answer(length):
    """Each of its bytes tells where it stands."""
    body = b"".join(b"%07d\n" % i for i in range(length // 8 + 1))[:length]
    return answer(body, fields=DATED), body


def test_long_answers(serve, backend):
    """Of one block of memory and more: whole, in pieces wherever those end, with bytes behind them, and cut."""
    server = serve(config(backend))
    for length in LENGTHS:
        whole, body = long_answer(length)
        cuts = [1, len(whole) - length + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, len(whole) - 1]
        for script in [whole, *(in_pieces(whole[:at], whole[at:]) for at in cuts if at < len(whole)), whole + b"HTTP/1.1 200 OK\r\n\r\n"]:
            backend.scripts["/x"] = PLAIN
            with server.connect() as client:
                warm(server, client)
                backend.scripts["/x"] = script
                assert one(client, HEAD + "\r\n").endswith(b"\r\n\r\n" + body), length
                backend.scripts["/x"] = PLAIN
                assert one(client, HEAD + "\r\n").endswith(b"\r\n\r\nhello\n"), length


@pytest.mark.parametrize("length", [BLOCK + 1, 100000])
def test_a_long_answer_that_is_cut(serve, backend, length):
    server = serve(config(backend))
    whole, _ = long_answer(length)

    def cut_at(at):
        def script(connection, request):
            connection.send(whole[:at])
            return False
        return script
    for at in (BLOCK - 1, BLOCK, BLOCK + 1, len(whole) - 1):
        if at >= len(whole):
            continue
        backend.scripts["/x"] = PLAIN
        with server.connect() as client:
            warm(server, client)
            backend.scripts["/x"] = cut_at(at)
            client.send(HEAD + "\r\n")
            with pytest.raises((Truncated, OSError)):
                rest(client)


def test_long_answers_are_planned_where_all_is_here(serve, backend):
    """A backend's write, and so the server's read, may be in pieces: of some answers at least one comes whole."""
    server = serve(config(backend))
    backend.scripts["/x"] = long_answer(60000)[0]
    with server.connect() as client:
        warm(server, client)
        before = full_ways(server)
        for _ in range(50):
            one(client, HEAD + "\r\n")
    assert full_ways(server) < before + 50


def test_a_long_answer_for_a_client_that_reads_later(serve, backend):
    """The backend is free before the client has taken it."""
    server = serve(config(backend))
    whole, body = long_answer(120000)
    with server.connect() as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        warm(server, client)
        backend.scripts["/x"] = whole
        client.send((HEAD + "\r\n") * 20)
        wait_until(lambda: len(backend.requests) >= 4 + 2, "the next one was asked for")
        for _ in range(20):
            assert rest(client).endswith(b"\r\n\r\n" + body)
