# SPDX-License-Identifier: Apache-2.0
"""The server that is profiled, and its clients: one site, two configurations, and a way to ask for each shape of request."""
import email.utils
import gzip
import itertools
import os
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import h2_client  # noqa: E402
from http3_client import http3_python  # noqa: E402
from ports import free_port  # noqa: E402
from profile_http3 import Http3  # noqa: E402

AT_REST = 2.2  # seconds; what changed less than two seconds before is not remembered
USER = "User nobody\nGroup nogroup\n"
BASE = """ServerName localhost
ServerRoot {root}
DocumentRoot {site}/htdocs
PidFile {root}/pid
ErrorLog {root}/error_log
EventLoops 1
ServerProcesses 1
KeepAliveTimeout 60
MaxKeepAliveRequests 0
LogLevel crit
TypesConfig {site}/mime.types
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml .scan
AddHandler send-as-is .asis .scan
<Directory {site}/htdocs>
    Options +Includes
    Require all granted
</Directory>
Listen 127.0.0.1:{plain}
"""
HTTP2 = """Listen 127.0.0.1:{http2}
Protocols h2c http/1.1
"""
STORED = """<Files coded.bin>
    PrecompressedFiles gzip
</Files>
Listen 127.0.0.1:{log}
Listen 127.0.0.1:{squid}
Listen 127.0.0.1:{hit}
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
<VirtualHost 127.0.0.1:{log}>
    CustomLog {root}/access_log combined
</VirtualHost>
<VirtualHost 127.0.0.1:{squid}>
    CustomLog {root}/squid_log squid
</VirtualHost>
<VirtualHost 127.0.0.1:{hit}>
    ProxyPass / http://127.0.0.1:{plain}/
    CacheEnable memory /
</VirtualHost>
Listen 127.0.0.1:{kept}
<VirtualHost 127.0.0.1:{kept}>
    ProxyPass / http://127.0.0.1:{keeper}/
    CacheEnable memory /
</VirtualHost>
Listen 127.0.0.1:{plugin}
<VirtualHost 127.0.0.1:{plugin}>
    DocumentRoot {site}/htdocs/wild/plugin
    LiteSpeedCache On
    DirectoryIndex index.script
    <Files index.script>
        SetHandler "proxy:unix:{site}/plugin.sock|fcgi://localhost/"
    </Files>
</VirtualHost>
Listen 127.0.0.1:{gzip}
<VirtualHost 127.0.0.1:{gzip}>
    AddOutputFilterByType DEFLATE text/html
    <Files page.script>
        SetHandler "proxy:unix:{site}/script.sock|fcgi://localhost/"
    </Files>
</VirtualHost>
<Files page.script>
    SetHandler "proxy:unix:{site}/script.sock|fcgi://localhost/"
</Files>
<Directory {site}/htdocs/wild>
    AllowOverride All
    Options FollowSymLinks
</Directory>
"""
TLS = """Listen 127.0.0.1:{tls}
<VirtualHost 127.0.0.1:{tls}>
    SSLEngine On
    SSLCertificateFile {site}/cert.pem
    SSLCertificateKeyFile {site}/key.pem
</VirtualHost>
"""
HTTP3 = """Listen 127.0.0.1:{http3}
<VirtualHost 127.0.0.1:{http3}>
    Protocols h3 http/1.1
    SSLEngine On
    SSLCertificateFile {site}/cert.pem
    SSLCertificateKeyFile {site}/key.pem
</VirtualHost>
"""
PROXIED = """Listen 127.0.0.1:{proxied}
<VirtualHost 127.0.0.1:{proxied}>
    ProxyPass /p/ http://127.0.0.1:{backend}/
    ProxyPass /s/ http://127.0.0.1:{small}/
</VirtualHost>
Listen 127.0.0.1:{http2-proxied}
<VirtualHost 127.0.0.1:{http2-proxied}>
    ProxyPass /p/ http://127.0.0.1:{backend}/
</VirtualHost>
"""
WILD = {
    "denied/.htaccess": "Require all denied\n", "missing/.htaccess": "ErrorDocument 404 /wild/404.html\n", "404.html": "<p>not here</p>\n",
    "moved/.htaccess": "RewriteEngine On\nRewriteRule ^(.*)$ https://elsewhere.example/$1 [R=301,L]\n",
    "wordpress/.htaccess": "RewriteEngine On\nRewriteBase /wild/wordpress/\nRewriteRule ^page\\.script$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\n"
                           "RewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /wild/wordpress/page.script [L]\n",
    "wordpress/page.script": "answered by a backend\n",
    "plugin/.htaccess": "CacheLookup on\nRewriteEngine On\nRewriteRule .* - [E=Cache-Control:no-autoflush]\nCacheKeyModify -qs:utm*\nRewriteRule ^index\\.script$ - [L]\n"
                        "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.script [L]\n",
    "plugin/index.script": "answered by a backend\n",
}
FULL = "FileCacheEntries 0\n"
PREFORK = "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\n"
BACKEND = (b"HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 08:00:00 GMT\r\nServer: backend\r\nLast-Modified: Fri, 20 Nov 2026 08:00:00 GMT\r\n"
           b"ETag: \"v1-1000\"\r\nCache-Control: no-store\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000)
HEAD = BACKEND.partition(b"\r\n\r\n")[0]
SMALL = HEAD.replace(b"Length: 1000", b"Length: 100") + b"\r\n\r\n" + b"x" * 100
FRESH = (re.sub(rb"(?m)^Date: .*GMT", b"Date: " + email.utils.formatdate(usegmt=True).encode(), HEAD)
         .replace(b"no-store", b"max-age=86400").replace(b"Length: 1000", b"Length: 10240") + b"\r\n\r\n" + b"x" * 10240)
SCRIPT = b"Content-type: text/html;charset=UTF-8\r\n\r\n" + b"hello " * 200
PLUGIN = b"Content-type: text/html;charset=UTF-8\r\nX-LiteSpeed-Cache-Control: public,max-age=86400\r\nX-LiteSpeed-Tag: front\r\n\r\n" + b"x" * 10240
PAGE = """<html><head><title>page</title></head><body>
<!--#set var="a" value="b" --><!--#if expr="$a = /b/" --><p>yes</p><!--#else --><p>no</p><!--#endif -->
<!--#include virtual="/part.html" --><!--#echo var="DOCUMENT_NAME" --><!--#flastmod file="part.html" -->
""" + "<p>some text that stands between the elements</p>\n" * 40 + "</body></html>\n"
TEXT = "Content-Type: text/html\n\n" + "<p>some text that stands between the elements of a page, and goes on for a while</p>\n" * 120 + "<!-- a comment -->\n" + '<!--#echo var="DOCUMENT_NAME" -->\n'
AGENT = "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n"
UNCODED = "Accept-Encoding: identity\r\n"  # of shapes that have none of their own

# name: (configuration, port, target, request fields, what it is). @N@ in a target is another number for each request.
SHAPES = {
    "stored": ("stored", "plain", "/10k.bin", "", "10 KB from memory"),
    "hit": ("stored", "hit", "/10k.bin", "", "10 KB of a backend, stored and fresh"),
    "first-hit": ("stored", "kept", "/@N@", "", "10 KB of a backend, stored and fresh, which the loop did not send before"),
    "plugin-hit": ("stored", "plugin", "/", "", "10 KB that a plugin of a PHP application stored (LiteSpeedCache), for a visitor without a session"),
    "stored-miss": ("stored", "kept", "/@N@", "", "10 KB that another server answers, and the store keeps"),
    "not-modified": ("stored", "plain", "/10k.bin", "If-None-Match: @ETAG@\r\n", "304 from memory"),
    "range": ("stored", "plain", "/10k.bin", "Range: bytes=100-4195\r\n", "4 KB of 10 KB from memory"),
    "large": ("stored", "plain", "/64k.bin", "", "64 KB from memory, which the kernel sends without a copy"),
    "coded": ("stored", "plain", "/coded.bin", "Accept-Encoding: gzip, deflate\r\n", "a compressed form from memory"),
    "log": ("stored", "log", "/10k.bin", "Referer: http://localhost/\r\n", "10 KB from memory, combined log"),
    "tls": ("stored", "tls", "/10k.bin", "", "10 KB from memory over TLS 1.3"),
    "http2": ("stored", "http2", "/10k.bin", "", "10 KB from memory over HTTP/2"),
    "http3": ("stored", "http3", "/10k.bin", "", "10 KB from memory over HTTP/3"),
    "http3-small": ("stored", "http3", "/small.bin", "", "100 bytes from memory over HTTP/3"),
    "http3-connection": ("stored", "http3", "/small.bin", "", "100 bytes from memory over HTTP/3, a handshake for each"),
    "full": ("full", "plain", "/10k.bin", "", "10 KB, all phases, filters and the file"),
    "full-304": ("full", "plain", "/304.bin", "If-None-Match: @ETAG@\r\n", "304 of a file, all phases"),
    "full-206": ("full", "plain", "/206.bin", "Range: bytes=100-4195\r\n", "4 KB of 10 KB, all phases, filters and the file"),
    "full-large": ("full", "plain", "/100k.bin", "", "100 KB, all phases, filters and the file in two pieces"),
    "http2-full": ("full", "http2", "/10k.bin", "", "10 KB over HTTP/2, all phases, filters and the file"),
    "ssi": ("full", "plain", "/page.shtml", "", "a page with six elements, rendered"),
    "scan": ("full", "plain", "/text.scan", "", "text of 10 KB that a handler sends through SSI: it is searched, not compiled"),
    "proxied": ("stored", "proxied", "/p/page", "", "1 KB that another server answers"),
    "proxied-small": ("stored", "proxied", "/s/small", "", "100 bytes that another server answers"),
    "proxied-full": ("full", "proxied", "/p/page", "", "1 KB that another server answers, by all phases, an exchange and filters"),
    "http2-proxied": ("stored", "http2-proxied", "/p/page", "", "1 KB that another server answers, over HTTP/2"),
    "http2-proxied-full": ("full", "http2-proxied", "/p/page", "", "the same, by all phases, an exchange and filters"),
    "fastcgi": ("stored", "plain", "/page.script", "", "1 KB of a FastCGI backend, over a connection of its own"),
    "fastcgi-gzip": ("stored", "gzip", "/page.script", "Accept-Encoding: gzip\r\n", "the same, compressed on its way"),
    "worker": ("full", "plain", "/page.asis", "", "a page that a worker sends"),
    "squid": ("stored", "squid", "/10k.bin", "", "10 KB from memory, the log of Squid"),
    "prefork": ("prefork", "plain", "/10k.bin", "", "10 KB, the full way in a process with one thread"),
    "denied": ("stored", "plain", "/wild/denied/@N@", "", "403 by an access file, for a name that nobody asked for before"),
    "missing": ("stored", "plain", "/wild/missing/@N@", "", "404 with an ErrorDocument, for a new name"),
    "new-file": ("stored", "plain", "/wild/new/@N@", "", "10 KB of a file that nobody asked for before"),
    "redirect": ("stored", "plain", "/wild/moved/@N@", "", "301 by a rule of an access file, for a new name"),
    "wordpress": ("stored", "plain", "/wild/wordpress/2026/@N@/", "", "1 KB of a FastCGI backend behind WordPress' rules, for a new URL"),
    "connection": ("stored", "log", "/10k.bin", "", "10 KB from memory, combined log, a connection for each request"),
}
NEW = 8000  # names of files that nobody asked for before
CONFIGURATIONS = ("stored", "full", "prefork")
ANEW = {"connection", "http3-connection"}  # shapes of one request on each connection
KNOWN = {"first-hit": 1200}  # so many targets were asked for once before
ALONE = {"prefork"}  # while they have a connection, the server takes no other one: it ends with their requests


def make_site(root):
    os.chmod(root, 0o755)
    os.makedirs(f"{root}/htdocs")
    os.chmod(root, 0o777)
    for name, content in {"htdocs/10k.bin": b"x" * 10240, "htdocs/304.bin": b"x" * 10240, "htdocs/206.bin": b"x" * 10240, "htdocs/100k.bin": b"x" * 102400,
                          "htdocs/64k.bin": b"x" * 65536, "htdocs/small.bin": b"x" * 100, "htdocs/coded.bin": b"x" * 10240,
                          "htdocs/coded.bin.gz": gzip.compress(b"x" * 10240), "htdocs/part.html": b"<p>part</p>\n", "htdocs/page.shtml": PAGE.encode(),
                          "htdocs/text.scan": TEXT.encode(), "htdocs/page.asis": b"Content-Type: text/html\n\n<p>page</p>\n",
                          "htdocs/page.script": b"answered by a backend\n",
                          "mime.types": b"text/html html\n",
                          **{f"htdocs/wild/{name}": text.encode() for name, text in WILD.items()}}.items():
        os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
        with open(f"{root}/{name}", "wb") as f:
            f.write(content)
    os.makedirs(f"{root}/htdocs/wild/new")
    for number in range(NEW):  # names of two files
        os.link(f"{root}/htdocs/{'10k.bin' if number % 2 else '304.bin'}", f"{root}/htdocs/wild/new/{number:06}")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
    os.chmod(f"{root}/key.pem", 0o644)
    old = time.time() - 3600
    for at, folders, files in os.walk(f"{root}/htdocs"):
        for name in files + folders:
            os.utime(f"{at}/{name}", (old, old))


def has_tls(program):
    return b"SSLEngine" in open(program, "rb").read()


def has_http3(program):
    return b"H3IdleTimeout" in open(program, "rb").read() and http3_python(os.path.join(HERE, "..", "..")) is not None


def is_there(program, shape):
    """Whether the program was built with it, and there is a client for it."""
    port = SHAPES[shape][1]
    return has_http3(program) if port == "http3" else has_tls(program) if port == "tls" else True


class Backend:
    """Another server: the same answer to each request, over connections that it keeps."""

    def __init__(self, answer=BACKEND):
        self.answer = answer
        self.listener = self._listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _listen(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        return listener

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            head = b""
            while data := connection.recv(65536):
                head += data
                if b"\r\n\r\n" in head:
                    connection.sendall(self.answer)
                    head = b""

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Scripts(Backend):
    """A FastCGI backend on a Unix socket, which closes each connection after its answer, as PHP-FPM does."""

    def __init__(self, path, answer=SCRIPT):
        self.path = path
        super().__init__(answer)

    def _listen(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        os.chmod(self.path, 0o777)
        listener.listen(128)
        return listener

    def _serve(self, connection):
        with connection:
            came = b""
            while not came.endswith(b"\x01\x05\x00\x01\x00\x00\x00\x00"):  # the end of STDIN
                if not (data := connection.recv(65536)):
                    return
                came += data
            padding = -len(self.answer) % 8
            connection.sendall(struct.pack("!BBHHBx", 1, 6, 1, len(self.answer), padding) + self.answer + bytes(padding) + struct.pack("!BBHHBx", 1, 3, 1, 8, 0) + bytes(8))


class Site:
    """What is served, old enough to be remembered."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="brigade-profile-")
        self.root = self.folder.name
        make_site(self.root)
        self.at_rest = time.monotonic() + AT_REST
        self.backend, self.scripts = Backend(), Scripts(f"{self.root}/script.sock")
        self.keeper, self.small, self.plugin = Backend(FRESH), Backend(SMALL), Scripts(f"{self.root}/plugin.sock", PLUGIN)
        return self

    def __exit__(self, *_):
        for backend in (self.backend, self.scripts, self.keeper, self.small, self.plugin):
            backend.close()
        self.folder.cleanup()


def is_open_to_all(program):
    """Whether another user can run it: each folder above it lets everybody through."""
    return all(os.stat(folder).st_mode & 1 for folder in pathlib.Path(program).resolve().parents)


class Server:
    """The program, under another one if wanted, with the configuration 'stored' or 'full'. Its own files are in the folder root."""

    made = 0

    def __init__(self, site, program, configuration, under=(), patience=60, more=""):
        Server.made += 1
        self.root = f"{site.root}/{configuration}-{Server.made}"
        os.mkdir(self.root)
        os.chmod(self.root, 0o777)
        self.ports = {name: free_port() for name in ("plain", "log", "squid", "hit", "kept", "plugin", "gzip", "tls", "http2", "http3", "proxied", "http2-proxied")}
        secure = (TLS if has_tls(program) else "") + (HTTP3 if has_http3(program) else "")
        text = BASE + HTTP2 + PROXIED + (STORED + secure if configuration == "stored" else FULL)
        text = (PREFORK if configuration == "prefork" else "") + (USER if os.getuid() == 0 else "") + text
        with open(f"{self.root}/httpd.conf", "w", encoding="utf-8") as f:
            f.write((text + more).format(root=self.root, site=site.root, backend=site.backend.port, keeper=site.keeper.port, small=site.small.port, **self.ports))
        who = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 and is_open_to_all(program) else {}
        self.log = open(f"{self.root}/output", "wb")
        self.process = subprocess.Popen([w.replace("@ROOT@", self.root) for w in under] + [program, "-X", "-f", f"{self.root}/httpd.conf"],
                                        stdout=self.log, stderr=self.log, **who)
        self._wait(patience)
        time.sleep(max(0, site.at_rest - time.monotonic()))

    def _wait(self, patience):
        until = time.monotonic() + patience
        while True:
            try:
                # An answer, not only a port: a start opens the ports one after the other.
                with socket.create_connection(("127.0.0.1", self.ports["plain"]), timeout=patience) as s:
                    s.sendall(b"GET /none HTTP/1.0\r\n\r\n")
                    if s.recv(1):
                        return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    text = open(f"{self.root}/output", errors="replace").read()
                    self.stop()
                    raise RuntimeError(f"the server did not start: {text[-2000:]}") from None
                time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Client:
    """A connection that asks for one shape, one request after the other."""

    numbers = itertools.count()  # of all clients

    def __init__(self, server, shape):
        _, port, self.target, self.fields, _ = SHAPES[shape]
        self.agent = AGENT + ("" if "Accept-Encoding" in self.fields else UNCODED)
        self.http2 = self.http3 = None
        if port == "http3":
            self.http3 = Http3(http3_python(os.path.join(HERE, "..", "..")), server.ports[port], self.target, shape in ANEW)
            return
        if port.startswith("http2"):
            self.http2 = h2_client.Connection(server.ports[port])
            self.stream, self.update = 1, b""
            return
        known = [next(Client.numbers) for _ in range(KNOWN.get(shape, 0))]
        self.address, self.anew = ("127.0.0.1", server.ports[port]), shape in ANEW
        self.alone = shape in ALONE
        if self.alone:
            self.sock = None
            return
        self._connect()
        if port == "tls":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            self.sock = context.wrap_socket(self.sock)
        for number in known + known[:1] * 4:  # the loop knows how requests of the host go
            self._get(self.fields, number)
        if known:
            self.numbers = itertools.chain(known[1:], Client.numbers)
        if "@ETAG@" in self.fields:
            head = self._get(self.fields.replace("@ETAG@", '"none"'))
            self.fields = self.fields.replace("@ETAG@", re.search(rb'(?i)etag: ("[^"]*")', head).group(1).decode())

    def _connect(self):
        self.sock = socket.create_connection(self.address, timeout=120)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _get(self, fields, number=None):
        target = self.target
        if "@N@" in target:
            target = target.replace("@N@", f"{next(self.numbers) if number is None else number:06}")
        self.sock.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{self.agent}{fields}\r\n".encode())
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, rest = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        want = int(length.group(1)) if length and b" 304 " not in head[:16] else 0
        while len(rest) < want or (not length and b"chunked" in head and not rest.endswith(b"0\r\n\r\n")):
            rest += self._more()
        return head

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise RuntimeError("the server closed the connection")
        return data

    def run(self, n):
        """@return the status of the last response"""
        if self.http3:
            return self.http3.run(n)
        if not self.http2:
            if self.alone:
                self._connect()
            for _ in range(n):
                if self.anew:
                    self.sock.close()
                    self._connect()
                head = self._get(self.fields)
            if self.alone:
                self.close()
            return int(head.split(b" ", 2)[1])
        for _ in range(n):
            block = h2_client.request_block(path=self.target)
            head = h2_client.frame(h2_client.HEADERS, h2_client.END_HEADERS | h2_client.END_STREAM, self.stream, block)
            self.http2.send(self.update + head)
            status, body = self.http2.response(self.stream)
            # What was received may be sent again. A packet of its own would now and then take a turn of its own.
            self.update = h2_client.frame(h2_client.WINDOW_UPDATE, payload=len(body).to_bytes(4, "big"))
            self.stream += 2
        return int(status)

    def close(self):
        if self.http3:
            self.http3.close()
            return
        sock = (self.http2 or self).sock
        if sock:
            sock.close()
