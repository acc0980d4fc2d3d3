# SPDX-License-Identifier: Apache-2.0
"""What the configuration says beside planned requests (test_planned.py): settings, files that are looked at, users, TLS, modules of files."""
import base64
import os
import re
import shutil
import subprocess

import pytest

from backend import Backend
from brigade import APACHE_MODULES, wait_until
from http_client import Truncated
from planned_client import HEAD, REQUESTS, is_planned, one, warm
from planned_site import CONFIG, PLAIN, config, full_ways, neutral, twins
from tls_site import TLSClient, certificate, start

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


SETTINGS = {  # 1: requests beside it may still have plans
    "RequestHeader set X-New 1": 1,
    "RequestHeader set x-new 1\nRequestHeader set User-Agent b\nRequestHeader set X-Forwarded-Proto expr=%{REQUEST_SCHEME}\nRequestHeader unset Cookie": 1,
    "RequestHeader unset User-Agent": 1,
    "RequestHeader set X-New 1 early": 1,
    "RequestHeader set X-New %{UNIQUE_ID}e": 0,
    "RequestHeader set X-New expr=%{TIME_SEC}": 0,
    "RequestHeader setifempty X-New 1": 1,
    "RequestHeader edit User-Agent a b": 1,
    "RequestHeader set X-New 1\nRequestHeader edit User-Agent a b\nRequestHeader edit Host l m": 0,
    "RequestHeader set X-Forwarded-For 192.0.2.1": 0,
    "RequestHeader set Host other": 0,
    "RequestHeader set X-New 1 env=absent": 1,
    "<Location /p/>\nRequestHeader append Accept b\n</Location>": 1,
    "Header set X-New 1": 1,
    "Header always set X-New 1": 1,
    "Header always set X-New 1 early": 0,
    "<Location /p/>\nHeader unset X-A\n</Location>": 1,
    "ProxyAddHeaders Off": 1,
    "ProxyPreserveHost On": 1,
    "ProxyErrorOverride On": 1,
    "ProxyVia On": 1,
    "ProxyVia Full": 1,
    "ProxyVia Block": 1,
    "ProxyMaxForwards 5": 1,
    "ProxyStatusField On": 1,
    "AddDefaultCharset utf-8": 1,
    "AddDefaultCharset On": 1,
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
    "<Location /p/>\nSetOutputFilter DEFLATE\n</Location>": 1,
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


EDITS = ["edit X-A a b", "edit X-A none b", "edit* X-A a b\nRequestHeader edit X-B 1 2", "set X-New 1\nRequestHeader edit X-A a b", "append X-A b", "setifempty X-A b", "setifempty X-New b",
         "edit X-None a b", "edit X-B 1 2\nRequestHeader edit X-A a b"]


SHOWN = "LogFormat \"%{X-A}i %{X-B}i %{X-New}i\" fields\nCustomLog logs/access.log fields\n"


@pytest.mark.parametrize("edit", EDITS)
def test_fields_that_are_edited_keep_their_order(serve, backend, edit):
    """What is edited goes behind all others."""
    head = HEAD + "x-a: aa\r\nAccept: */*\r\nX-B: 1\r\nCookie: a=b\r\n"
    seen = []
    for server in twins(serve, backend, f"RequestHeader {edit}\n{SHOWN}"):
        before = len(backend.requests)
        with server.connect() as client:
            for text in [head] * 5 + [head.replace("x-a: aa", "X-A: ca")] * 4 + [head.replace("x-a: aa", "X-a: aa")]:
                one(client, text + "\r\n")
        seen.append([r.head for r in backend.requests[before:]])
        server.stop()
        seen[-1].append(server.read("logs/access.log"))
    assert seen[0] == seen[1]
    for more in ("", SHOWN):
        assert is_planned(serve(config(backend, f"RequestHeader {edit}\n{more}")), head)


def test_connections_that_are_not_kept(serve, backend):
    """Each request of a plan has one of its own."""
    server = serve(config(backend, parameters="disablereuse=on"))
    before = len(backend.requests)
    assert is_planned(server)
    assert [r["Connection"] for r in backend.requests[before:]] == ["close"] * 10
    assert wait_until(lambda: backend.open == 0, "they are closed") is not None


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


def test_a_client_for_whom_it_was_not_decided(serve, backend):
    server = serve(config(backend, "<Location /p/>\nRequire ip 127.0.0.1\n</Location>"))
    assert is_planned(server)
    with server.connect(source="127.0.0.2") as client:
        for _ in range(3):
            assert b" 403 " in one(client, HEAD + "\r\n").split(b"\r\n")[0]


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


LOOKS = {  # rules of a folder or of the server that look at files before they send a request on
    "condition": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule ^x$ http://127.0.0.1:PORT/x [P]\n",
    "other": "RewriteEngine On\nRewriteCond %{DOCUMENT_ROOT}/maintenance !-f\nRewriteRule ^x$ http://127.0.0.1:PORT/x [P]\n",
    "expression": "RewriteEngine On\nRewriteCond expr \"! -f '%{DOCUMENT_ROOT}/maintenance'\"\nRewriteRule ^x$ http://127.0.0.1:PORT/x [P]\n",
}
FILES = f"""{CONFIG}
<Directory "/">
    AllowOverride All
    Require all granted
</Directory>
"""
AT_X = "GET /x HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("place", ["folder", "server"])
@pytest.mark.parametrize("rules", LOOKS)
def test_files_that_are_looked_at(serve, backend, rules, place):
    """Plans beside them, which end with each change."""
    text = LOOKS[rules].replace("PORT", str(backend.port))
    if place == "server":
        text = text.replace("^x$", "^/x$").replace("%{REQUEST_FILENAME}", "%{DOCUMENT_ROOT}%{REQUEST_URI}")
    worker = f"<Proxy http://127.0.0.1:{backend.port}/>\nProxySet timeout=60\n</Proxy>\n"
    server = serve(FILES + worker + (text if place == "server" else ""), files={".htaccess": text} if place == "folder" else {})
    name = "x" if rules == "condition" else "maintenance"
    assert is_planned(server, AT_X, first=5)
    with server.connect() as client:
        for _ in range(3):
            warm(server, client, AT_X)
            server.write(name, "a file\n")
            before = len(backend.requests)
            got = one(client, AT_X + "\r\n")
            assert len(backend.requests) == before and (got.endswith(b"a file\n") if name == "x" else b" 404 " in got)
            os.unlink(server.path(f"htdocs/{name}"))
            assert one(client, AT_X + "\r\n").endswith(b"hello\n")
    assert is_planned(server, AT_X, first=5)


def test_a_handler_that_sends_requests_on(serve, backend):
    """Its file has to be there."""
    handler = f"<Files x>\nSetHandler proxy:http://127.0.0.1:{backend.port}\n</Files>\n"
    server = serve(FILES, files={".htaccess": handler, "x": "a file\n"})
    with server.connect() as client:
        warm(server, client, AT_X)
        for text, answered in ((handler, b"hello\n"), ("", b"a file\n"), (handler, b"hello\n"), ("Require all denied\n" + handler, None), (handler, b"hello\n")):
            server.write(".htaccess", text)
            for _ in range(4):
                got = one(client, AT_X + "\r\n")
                assert got.endswith(answered) if answered else b" 403 " in got


def test_an_access_file_that_changes_while_requests_come(serve, backend):
    """The plan of a folder's rules is made by a request that found what another one had found."""
    server = serve(FILES + "MaxKeepAliveRequests 0\n", files={".htaccess": ""})
    rule = "RewriteEngine On\nRewriteRule ^x$ http://127.0.0.1:{}/{} [P]\n"
    with server.connect() as client:
        for i in range(60):
            server.write(".htaccess", rule.format(backend.port, i))
            for _ in range(i % 4 + 1):
                before = len(backend.requests)
                one(client, AT_X + "\r\n")
                assert [r.target for r in backend.requests[before:]] == [f"/{i}"]


PASSWORDS = """LogFormat "%u %>s %l" u
CustomLog logs/access.log u
<Location /p/>
    AuthType Basic
    AuthName x
    AuthUserFile htdocs/users
    Require valid-user
</Location>
"""


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_clients_with_passwords(serve, backend):
    """Those whose password is known need no phases; the others are asked for one."""
    users = "".join(f"{name}:{subprocess.run(['openssl', 'passwd', '-apr1', name], capture_output=True, text=True, check=True).stdout}" for name in ("a", "b"))
    seen = []
    for more in ("", "FileCacheEntries 0\n"):
        server = serve(config(backend, more + PASSWORDS), files={"users": users})
        def fields(user):
            return "Authorization: Basic " + base64.b64encode(user.encode()).decode() + "\r\n"
        if not more:  # a file that changed just now may change again
            wait_until(lambda s=server: is_planned(s, HEAD + fields("a:a"), first=5), "it is remembered who has a password")
        with server.connect() as client:
            for user in ("a:a", "b:b"):
                warm(server, client, HEAD + fields(user))
            before, got = full_ways(server), []
            for user in ("a:a", "b:b", "a:b", "a:a", "c:c", "b:b", None, "a:a"):
                text = one(client, HEAD + (fields(user) if user else "") + "\r\n")
                got.append(neutral(server, text))
                assert (b" 200 " in text) == (user in ("a:a", "b:b")), user
            planned = full_ways(server) - before
            server.write("users", users.replace("a:", "d:"))
            assert b" 401 " in one(client, HEAD + fields("a:a") + "\r\n") and b" 200 " in one(client, HEAD + fields("b:b") + "\r\n")
        server.stop()
        seen.append((got, [line for line in server.read("logs/access.log").splitlines() if not line.startswith(b"- 200")][-18:], planned))
    assert seen[0][:2] == seen[1][:2]
    assert seen[0][2] <= 3 and seen[1][2] == 8


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
    """Those of which it is known what they do, and that it is nothing here; others may do anything."""
    load = "LoadModule {0}_module " + APACHE_MODULES + "/mod_{0}.so\n"
    assert is_planned(serve(config(backend, "".join(load.format(name) for name in ("socache_shmcb", "dialup", "usertrack", "ext_filter", "lua", "buffer")))))
    assert not is_planned(serve(config(backend, load.format("session"))))


FILE_SETTINGS = [("dialup", "<Location /p/>\nModemStandard V.21\n</Location>"), ("ext_filter", "ExtFilterDefine x cmd=/bin/cat\n<Location /p/>\nSetOutputFilter x\n</Location>"),
                 ("usertrack", "CookieTracking On"), ("log_forensic", "ForensicLog logs/forensic")]


@pytest.mark.skipif(not os.path.exists(f"{APACHE_MODULES}/mod_socache_shmcb.so"), reason="no modules of Apache's")
@pytest.mark.parametrize("name,setting", FILE_SETTINGS)
def test_modules_of_files_that_take_part(serve, backend, name, setting):
    server = serve(config(backend, f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n{setting}"))
    with server.connect() as client:
        for _ in range(6):
            one(client, HEAD + "\r\n")
    assert full_ways(server) == 6
