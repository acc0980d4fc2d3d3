# SPDX-License-Identifier: Apache-2.0
"""What modules make of a request is the same over HTTP/3 as over HTTP/1.1 with TLS, from memory and the full way."""
import gzip
import os
import shutil
import types

import pytest

import brigade
from backend import Backend
from http3_client import ask, http3_python
from script_backend import Script, end, record, STDOUT
from tls_site import TLSAuthority, TLSClient, certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 http/1.1
EventLoops 2
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
RequestLimit few rate=1/h burst=2 "when=%{REQUEST_URI} == '/few.txt'"
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
ProxyPass /up/ http://127.0.0.1:@UP@/
ProxyPass /script/ unix:@SOCKET@|fcgi://localhost/
AddOutputFilterByType DEFLATE text/css
Redirect 301 /old /new
RewriteEngine On
RewriteRule ^/rewritten$ /a.txt [L]
ErrorDocument 404 /missing.txt
<Location /denied.txt>
Require all denied
</Location>
<Location /a.txt>
Header set X-Made "%{SSL_PROTOCOL}s"
ExpiresActive On
ExpiresDefault "access plus 1 day"
</Location>
<Location /password>
AuthType Basic
AuthName here
AuthUserFile @ROOT@/conf/users
Require valid-user
</Location>
SSLCACertificateFile @ROOT@/conf/ca/ca.pem
<Location /inner>
SSLVerifyClient require
</Location>
</VirtualHost>
"""
FILES = {"a.txt": "first\n", "b.css": "b { color: red }\n" * 200, "few.txt": "few\n", "missing.txt": "gone\n", "denied.txt": "x", "password/c.txt": "secret\n", "inner/d.txt": "inner\n",
         "list/1.txt": "1", "list/2.txt": "2"}
# of a connection, of a protocol, or of the moment
OTHER = {"connection", "keep-alive", "date", "expires", "alt-svc", "upgrade", "transfer-encoding", "content-length", "server"}


TRAILERS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n"


def script(params, body, send):
    send(record(STDOUT, f"Content-Type: text/plain\r\nStatus: 203\r\n\r\n{params['REQUEST_METHOD']} {params['REQUEST_URI']} {params['HTTPS']} {len(body)}\n".encode()) + end())


@pytest.fixture(scope="module")
def server(serve_module):
    tls, backend, up = brigade.free_port(), Script("fcgi", script), Backend({"/trailers": TRAILERS})
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@SOCKET@", backend.path).replace("@UP@", str(up.port)), FILES)
    certificate(made)
    made.write("users", "user:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n", base="conf")  # of "password"
    TLSAuthority(made.path("conf/ca"))
    for folder, _, names in os.walk(made.path("htdocs")):
        for name in names:  # old enough for memory
            os.utime(os.path.join(folder, name), (1e9, 1e9))
    made.up, made.tls, made.url = up, tls, f"https://127.0.0.1:{tls}"
    yield made.start()


def over_http3(server, path, headers=(), **more):
    return ask(PYTHON, "curl", [{"url": server.url + path, "headers": dict(headers), **more}])[0]


def kept(headers):
    return sorted((name.lower(), value) for name, value in headers if name.lower() not in OTHER)


USER = [("Authorization", "Basic dXNlcjpwYXNzd29yZA==")]


@pytest.mark.parametrize("path,headers,status", [
    ("/a.txt", [], 200), ("/b.css", [], 200), ("/b.css", [("Accept-Encoding", "gzip")], 200), ("/old/x", [], 301), ("/rewritten", [], 200), ("/none", [], 404), ("/denied.txt", [], 403),
    ("/password/c.txt", [], 401), ("/password/c.txt", USER, 200), ("/script/x?y", [], 203), ("/list/", [], 200), ("/list", [], 301)], ids=lambda v: v if isinstance(v, str) else "")
def test_as_over_http_1(server, path, headers, status):
    for _ in range(3):  # from memory, too, where it may be
        three = over_http3(server, path, headers)
        with TLSClient(types.SimpleNamespace(port=server.tls)) as client:
            one = client.request("GET", path, headers, host=f"127.0.0.1:{server.tls}")
        assert three.status == one.status == status
        assert three.body == one.body
        assert kept(three.headers.items()) == kept(one.headers)
    if ("Accept-Encoding", "gzip") in headers:
        assert gzip.decompress(three.body) == FILES["b.css"].encode()


def test_bodies_to_a_script(server):
    assert over_http3(server, "/script/p", body=b"x" * 70000).body == b"POST /script/p on 70000\n"


def test_trailers(server):
    """Of an answer; those of a request end its body."""
    told = ask(PYTHON, "aioquic", [{"url": server.url + "/up/trailers", "headers": {"TE": "trailers"}}, {"url": server.url + "/up/x", "body": b"body", "trailers": {"x-sum": "1"}}])
    assert (told[0].body, told[0].trailers) == (b"ab", {"x-sum": "1"}), (told[0], told[0].trailers)
    assert told[1].body == b"ok\n" and server.up.requests[-1].body == b"body"


def test_request_limit(server):
    assert [over_http3(server, "/few.txt").status for _ in range(5)] == [200] * 3 + [429] * 2


def test_a_certificate_for_a_folder(server):
    """Refused, as with HTTP/2: nobody asks for one behind the handshake (RFC 9001, 4.4)."""
    answer = over_http3(server, "/inner/d.txt")
    assert answer.status == 403 and b"inner" not in answer.body
