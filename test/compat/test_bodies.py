# SPDX-License-Identifier: Apache-2.0
"""Request bodies of all sizes to whoever reads them, over HTTP/1, HTTPS and HTTP/2: both servers hand the same bytes on, and
give the same answer back."""
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import threading

import pytest

import brigade
from php_fpm import IS_THERE, php
from stock import driver
from tls_site import certificate

CURL = shutil.which("curl")
WSGI = os.path.exists(f"{driver.MODULES}/mod_wsgi.so")
pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not CURL or b"HTTP2" not in subprocess.run([CURL, "-V"], capture_output=True).stdout, reason="no curl with HTTP/2"),
    pytest.mark.skipif(not os.path.exists(f"{driver.MODULES}/mod_http2.so"), reason="no mod_http2.so"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
SIZES = [0, 1, 8191, 65537, 5000000]
MODULES = ["socache_shmcb", "ssl", "http2", "cgid", "proxy", "proxy_http", "proxy_fcgi", "dav", "dav_fs", "lua", *(["wsgi"] if WSGI else [])]
CONFIG = """Listen 127.0.0.1:@TLS@
Protocols h2 h2c http/1.1
SSLSessionCache none
ScriptSock @ROOT@/logs/cgisock
ScriptAlias /cgi @ROOT@/htdocs/cgi/sum
ProxyPass /proxy http://127.0.0.1:@BACKEND@/
DavLockDB @ROOT@/dav/lock
Alias /dav @ROOT@/dav/files
<Directory @ROOT@/dav/files>
    Dav On
    Require all granted
</Directory>
<Location /fpm>
    SetHandler "proxy:unix:@ROOT@/fpm/socket|fcgi://php"
</Location>
<Files *.lua>
    SetHandler lua-script
</Files>
<Location /forbidden>
    Require all denied
</Location>
<If "%{HTTP:X-Limit} =~ /./">
    LimitRequestBody 1000
</If>
<VirtualHost *:@TLS@>
    SSLEngine on
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""
ON_WSGI = "WSGIScriptAlias /wsgi @ROOT@/htdocs/app.wsgi\n"
SUM = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\necho \"$REQUEST_METHOD $CONTENT_LENGTH $(md5sum | cut -d' ' -f1)\"\n"
APP = """import hashlib
def application(environ, start):
    body = environ['wsgi.input'].read()
    start('200 OK', [('Content-Type', 'text/plain')])
    return [('%s %d %s\\n' % (environ['REQUEST_METHOD'], len(body), hashlib.md5(body).hexdigest())).encode()]
"""
LUA = """function handle(r)
    local body = r:requestbody()
    r.content_type = 'text/plain'
    r:puts('stored ', body and #body or 'nothing')
    return apache2.OK
end
"""
PHP = '<?php $body = file_get_contents("php://input"); header("Content-Type: text/plain"); echo $_SERVER["REQUEST_METHOD"], " ", strlen($body), " ", md5($body), "\\n";'
PROTOCOLS = {"http1": ["--http1.1"], "https": ["--http1.1", "-k"], "h2c": ["--http2-prior-knowledge"], "h2": ["--http2", "-k"]}


class Backend(http.server.BaseHTTPRequestHandler):
    """Says what it got, by length or in chunks."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = f"{self.command} {len(body)} {hashlib.md5(body).hexdigest()}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *args):
        pass


def body(size):
    return (b"%d of a body, " % size * (size // 10 + 1))[:size]


class BodyServer(brigade.Server):
    def start(self):
        self.tls = brigade.free_port()
        config = CONFIG + (ON_WSGI if WSGI else "")
        if not self.apache:
            config = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES) + config
        self.config = config.replace("@TLS@", str(self.tls)).replace("@BACKEND@", str(self.backend))
        if not os.path.exists(self.path("conf/key.pem")):
            certificate(self)
        return super().start()


def make(binary, backend, folder):
    server = BodyServer("", {"cgi/sum": SUM, "app.wsgi": APP, "fpm/sum.php": PHP, "store.lua": LUA, "page.txt": "page\n"}, binary=binary, modules=MODULES)
    server.backend = backend
    os.chmod(server.path("htdocs/cgi/sum"), 0o755)
    os.makedirs(server.path("dav/files"))
    for name in ("dav", "dav/files"):
        os.chmod(server.path(name), 0o777)
    os.symlink(folder, server.path("fpm"))
    return server


@pytest.fixture(scope="module")
def fpm():
    with php() as folder:
        yield folder


@pytest.fixture(scope="module")
def servers(fpm):
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    both = [make(binary, backend.server_address[1], fpm) for binary in (driver.APACHE, brigade.BINARY)]
    try:
        for server in both:
            server.start()
        yield both
    finally:
        for server in both:
            server.close()
        backend.shutdown()
        backend.server_close()


def send(server, protocol, path, file, *more):
    """Status, version of HTTP, and body."""
    tls = protocol in ("https", "h2")
    url = f"http{'s' if tls else ''}://localhost:{server.tls if tls else server.port}{path}"
    done = subprocess.run([CURL, "-sS", "--noproxy", "*", "--max-time", "30", *PROTOCOLS[protocol], "-H", "Expect:", "-H", "Content-Type: text/plain", *more, "-w", "%{http_code} %{http_version}", url,
                           "--data-binary", f"@{file}"], capture_output=True)
    assert done.returncode == 0, (server.binary, done.stderr)
    return done.stdout


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("reader", ["cgi", "proxy", "fpm", "wsgi", "dav"])
def test_body(servers, tmp_path, reader, protocol):
    if reader == "fpm" and not IS_THERE:
        pytest.skip("no php-fpm (php8.2-fpm), or not root")
    if reader == "wsgi" and not WSGI:
        pytest.skip("no mod_wsgi (libapache2-mod-wsgi-py3)")
    for size in SIZES:
        file = tmp_path / str(size)
        file.write_bytes(body(size))
        for chunked in ([], ["-H", "Transfer-Encoding: chunked"]) if protocol in ("http1", "https") else ([],):
            path = {"fpm": "/fpm/sum.php", "dav": f"/dav/{protocol}-{size}{'-chunked' if chunked else ''}"}.get(reader, f"/{reader}")
            answers = [send(server, protocol, path, file, *chunked, *(["-X", "PUT"] if reader == "dav" else [])) for server in servers]
            answers = [re.sub(rb"(?i)apache/[\d.]+[^\n<]*|brigade/[\d.]+[^\n<]*", b"SERVER", re.sub(rb"(?i)localhost:\d+|port \d+", b"", a)) for a in answers]
            # A long body without a length reaches PHP-FPM through Brigade (docs/differences-from-apache.md), not through Apache.
            assert answers[0] == answers[1] or (chunked and reader == "fpm" and answers[0].startswith(b"POST 0 ")), (size, chunked)
            if reader == "dav":
                for server in servers:
                    with open(server.path("dav/files", os.path.basename(path)), "rb") as f:
                        assert f.read() == body(size), (size, chunked)
            elif not (chunked and answers[0].endswith(b"\n411 1.1")):
                assert hashlib.md5(body(size)).hexdigest().encode() in answers[1], (size, chunked, answers)


LIMITED = {"cgi": "/cgi", "proxy": "/proxy", "fpm": "/fpm/sum.php", "wsgi": "/wsgi", "dav": "/dav/limited", "lua": "/store.lua", "file": "/page.txt", "forbidden": "/forbidden"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("reader", LIMITED)
def test_limit_of_a_body(servers, tmp_path, reader, protocol):
    """LimitRequestBody holds for what this server takes by itself, not for what it hands on; a body that is too large was never stored."""
    if reader == "fpm" and not IS_THERE:
        pytest.skip("no php-fpm (php8.2-fpm), or not root")
    if reader == "wsgi" and not WSGI:
        pytest.skip("no mod_wsgi (libapache2-mod-wsgi-py3)")
    if reader in ("file", "forbidden") and protocol.startswith("h2"):
        pytest.skip("curl may not see an answer that comes before its body has left")
    for size in (900, 3000):
        file = tmp_path / str(size)
        file.write_bytes(body(size))
        for more in ([], ["-H", "Expect: 100-continue"], ["-H", "Transfer-Encoding: chunked"]) if protocol == "http1" else ([],):
            if "Transfer" in str(more) and reader in ("lua", "forbidden"):
                continue  # "bodies that a handler leaves"
            more = ["-H", "X-Limit: yes", *more, *(["-X", "PUT"] if reader == "dav" else []), "-o", os.devnull]
            there, here = (send(server, p, LIMITED[reader], file, *more)[:3] for server, p in zip(servers, ("http1", protocol)))  # mod_http2 resets streams
            assert there == here, (size, more)
            if size == 3000:
                assert here in ([b"200"] if reader in ("proxy", "fpm") else [b"413", b"411"]), more
