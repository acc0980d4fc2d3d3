# SPDX-License-Identifier: Apache-2.0
"""A site with every kind of answer, and the requests for them."""
import gzip
import os
import shutil
import socket
import ssl
import subprocess
import threading

import brigade
import h2_client
from fault_backends import filled_in
from http_client import Client, Truncated, request_bytes

FLOOD_BYTES = 200_000  # more than that a fault shall not put into the error log
LONG_AGO = 1_600_000_000
PAGE = ('<!--#set var="a" value="b" --><!--#if expr="v(\'a\') = \'b\'" -->yes<!--#else -->no<!--#endif -->'
        '<!--#include virtual="part.shtml" --><!--#include file="a.txt" --><!--#fsize file="a.txt" -->\n')
CGI = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nlength %s '\nexec /usr/bin/wc -c\n"
LONG_CGI = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec /usr/bin/head -c 300000 /dev/zero\n"
FILES = {
    "control.txt": "control\n",
    "networks.txt": "203.0.113.0/24 64999\n",
    "a.txt": "hello\n" * 20,
    "full/a.txt": "hello\n" * 2000,
    "full/.htaccess": "Header set X-H here\n",
    "middle.bin": b"0123456789abcdef" * 4096,
    "big.bin": b"0123456789abcdef" * 200_000,
    "pre/a.txt": "hello\n" * 20, "pre/a.txt.gz": gzip.compress(b"hello\n" * 20, mtime=0),
    "errors/404.html": "not here, says a page\n",
    "list/a": "a", "list/bb.txt": "bb", "list/c/d": "d",
    "ssi/a.txt": "hello\n",
    "ssi/part.shtml": 'part of <!--#echo var="DOCUMENT_NAME" -->\n',
    "ssi/page.shtml": PAGE,
    "ssi/proxied.shtml": 'before <!--#include virtual="/p/small" --> after\n',
    "ssi/exec.shtml": 'before <!--#exec cmd="printf done" --> after\n',
    "cgi/count.cgi": CGI,
    "cgi/long.cgi": LONG_CGI,
}
CONFIG = """EventLoops 1
ServerLimit 1\nThreadsPerChild 4
Timeout 10
EnableSendfile On
LogLevel info
LogFormat "%s %b \\"%r\\"" short
CustomLog logs/access short
CustomLog "|/bin/cat" short
ErrorDocument 404 /errors/404.html
<Directory @ROOT@/htdocs/list>
    DirectoryIndex disabled
    IndexOptions FancyIndexing
</Directory>
<Directory @ROOT@/htdocs/ssi>
    Options +Includes
    AddOutputFilter INCLUDES .shtml
    SSILastModified off
</Directory>
"""
CGID = """LoadModule cgid_module @MODULES@/mod_cgid.so
ScriptSock @ROOT@/logs/cgisock
<Directory @ROOT@/htdocs/cgi>
    Options +ExecCGI
    AddHandler cgi-script .cgi
</Directory>
"""
CGI_FORK = CGID.replace("mod_cgid.so", "mod_cgi.so").replace("cgid_module", "cgi_module").replace(
    "ScriptSock @ROOT@/logs/cgisock\n", "")
TLS_HOST = """SSLSessionCache none
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
    SSLEngine on
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""
TLS = """BuiltinModule ssl_module Off
LoadModule socache_shmcb_module @MODULES@/mod_socache_shmcb.so
LoadModule ssl_module @MODULES@/mod_ssl.so
""" + TLS_HOST
# The built-in one has faults of OpenSSL's functions, too (test_tls.py).
OWN_TLS = "BuiltinModule ssl_module On\nProtocols h2 http/1.1\n" + TLS_HOST
PROXY_HEADER = b"PROXY TCP4 192.0.2.7 127.0.0.1 40000 80\r\n"
PROXY = "RemoteIPProxyProtocol On\nRemoteIPProxyProtocolExceptions 127.0.0.1\n"  # those who look at the server come from there
DEFLATE = """LoadModule deflate_module @MODULES@/mod_deflate.so
<Location /big.bin>
    SetOutputFilter DEFLATE
</Location>
"""
CODED = "<Location />\n    SetOutputFilter BROTLI_COMPRESS;ZSTD_COMPRESS;DEFLATE\n</Location>\n"
PRECOMPRESSED = "<Directory @ROOT@/htdocs/pre>\n    PrecompressedFiles gzip\n</Directory>\n"
SERVICES = """CustomLog syslog:local1:www:@ROOT@/logs/service short
CustomLog journald:www:@ROOT@/logs/service short
<VirtualHost *>
    ServerName localhost
</VirtualHost>
<VirtualHost *>
    ServerName one
    ErrorLog syslog:local1:www:@ROOT@/logs/service
    <Location /a.txt>
        Require all denied
    </Location>
</VirtualHost>
<VirtualHost *>
    ServerName two
    ErrorLog journald:www:@ROOT@/logs/service
    <Location /a.txt>
        Require all denied
    </Location>
</VirtualHost>
"""
BACKEND = "ProxyPass /p/ http://127.0.0.1:@BACKEND@/ retry=0\n"
FRESH = "ProxyPass /p/ http://127.0.0.1:@BACKEND@/ retry=0 disablereuse=on\n"
BACKEND_TLS = """BuiltinModule ssl_module On
SSLProxyEngine On
SSLProxyVerify none
SSLProxyCheckPeerName Off
SSLProxyCheckPeerCN Off
ProxyPass /p/ https://127.0.0.1:@TLSBACKEND@/ retry=0
"""
BACKEND_HTTP2 = "ProxyPass /p/ h2c://127.0.0.1:@STREAMS@/ retry=0\n"
BACKEND_UPGRADE = "ProxyPass /p/ http://127.0.0.1:@BACKEND@/ retry=0 upgrade=websocket\n"
BALANCER = """<Proxy balancer://b>
    BalancerMember http://127.0.0.1:@BACKEND@ retry=0
    BalancerMember http://127.0.0.1:@OTHER@ retry=0
    ProxySet nofailover=off
</Proxy>
ProxyPass /p/ balancer://b/
"""
SCRIPTS = """ProxyPass /f/ unix:@FCGI@|fcgi://f/ retry=0
ProxyPass /s/ unix:@SCGI@|scgi://s/ retry=0
"""
RELOADED = [("Cache-Control", "no-cache")]
STORED = BACKEND + "CacheEnable memory /p/\nCacheMemory 8M\n"
STORED_DISK = BACKEND + """CacheEnable disk /p/
CacheRoot @CACHEROOT@
CacheMemory 8M
CacheMaxSize 64M
CacheMaxFileSize 2000000
"""
NETWORKS = """ASTable file @ROOT@/htdocs/networks.txt
Header set X-H "expr=%{CLIENT_ASN}"
"""


def has_module(name):
    return os.path.exists(f"{brigade.APACHE_MODULES}/mod_{name}.so")


def threads_of(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def certificate(server):
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj",
                           "/CN=localhost", "-keyout", server.path("conf/key.pem"), "-out", server.path("conf/cert.pem")],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


class Mark(int):
    """A place in the error log, and in what services heard."""


class Site:
    """A server of its own under faults."""

    def __init__(self, serve, faults, config="", environment=()):
        self.tls = brigade.free_port()
        self.server = serve.unstarted(filled_in(CONFIG + config).replace("@TLS@", str(self.tls)), FILES,
                                      env={**faults.environment(), **dict(environment)})
        for name in ("count", "long"):
            os.chmod(self.server.path(f"htdocs/cgi/{name}.cgi"), 0o755)
        if "SSLEngine" in config:
            certificate(self.server)
        self.heard = take_in_datagrams(self.server.path("logs/service")) if "logs/service" in config else []
        for name in FILES:
            self.touch(name)
        self.server.expect_trouble = True  # told by the sweeps

    def log_size(self):
        size = Mark(os.stat(self.server.path("logs/error_log")).st_size)
        size.heard = len(self.heard)
        return size

    def log_since(self, size):
        """What the error log says from there on, a flood not whole, and what services for logs were told."""
        with open(self.server.path("logs/error_log"), "rb") as f:
            f.seek(size)
            said = f.read(FLOOD_BYTES + 1)
        return (said + b"".join(self.heard[getattr(size, "heard", 0):])).decode(errors="replace")

    def processes(self):
        """The server processes: children that have threads. Piped loggers and the daemon of mod_cgid have none."""
        return [pid for pid in self.server._children() if threads_of(pid) > 1]

    def touch(self, *names):
        """Whoever remembers these files looks at them again; nothing about them changes."""
        for name in names:
            os.utime(self.server.path("htdocs", name), (LONG_AGO, LONG_AGO))

    def connect(self, shape, timeout=3):
        if shape.http2:
            return h2_client.Client(self.server.address, self.tls, timeout, lambda s: wrapped(s, "h2"))
        if not shape.tls and not shape.begin:
            return self.server.connect(timeout)
        c = Client.__new__(Client)
        c.buffer = b""
        if shape.tls:
            c.socket = wrapped(socket.create_connection((self.server.address, self.tls), timeout=timeout), "http/1.1")
        else:
            c.socket = socket.create_connection((self.server.address, self.server.port), timeout, ("127.0.0.2", 0))
            c.send(shape.begin)
        return c


def take_in_datagrams(path):
    """A service for logs, to the end of the test program. @return a list that grows by what it is told"""
    heard = []
    service = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    service.bind(path)
    os.chmod(path, 0o666)

    def take():
        while True:
            heard.append(service.recv(65536) + b"\n")
    threading.Thread(target=take, daemon=True).start()
    return heard


def wrapped(plain, protocol):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    try:
        return context.wrap_socket(plain)
    except BaseException:
        plain.close()
        raise


class Shape:
    """Requests on one connection, and what they need to be as the first time.

    requests   (method, target, fields, body)
    touched    files that are looked at anew
    at_once    send all before reading
    marks      bytes of bodies that may be incomplete, if the log says why
    lacks      a response may lack a field that is compared, if the log says why
    http2      over TLS and HTTP/2
    begin      bytes before the first request, from another address
    tunnel     bytes that come back once the last answer, 101, has switched protocols
    stock      calls that are left out: messages to mod_cgid's daemon, which are whole, and cannot fail while that lives
    """

    def __init__(self, *requests, touched=(), at_once=False, tls=False, config="", needs=None, marks=b"",
                 stock=(), http2=False, begin=b"", lacks=False, tunnel=b""):
        self.requests = [(*r, *("GET", "/", (), b"")[len(r):]) for r in requests]
        self.touched, self.at_once, self.tls, self.config, self.needs = touched, at_once, tls, config, needs
        self.marks, self.stock, self.http2, self.begin, self.lacks, self.tunnel = marks, stock, http2, begin, lacks, tunnel

    def bytes_of(self, request):
        method, target, fields, body = request
        return request_bytes(method, target, fields, body)


SSI_FILES = ("ssi/page.shtml", "ssi/part.shtml", "ssi/a.txt")
ERROR = b"[an error occurred"
LIST = b"<title>Index of"  # leaves out what cannot be looked at
UPLOAD = b"u" * 100_000
SHAPES = {
    "remembered": Shape(("GET", "/a.txt")),
    "cold": Shape(*[("GET", "/a.txt")] * 3, touched=("a.txt",)),
    "full": Shape(*[("GET", "/full/a.txt")] * 3, touched=("full/a.txt", "full/.htaccess")),
    "sendfile": Shape(("GET", "/big.bin")),
    "sendfile-cold": Shape(*[("GET", "/big.bin")] * 3, touched=("big.bin",)),
    "middle-cold": Shape(*[("GET", "/middle.bin")] * 2, touched=("middle.bin",)),
    "not-modified": Shape(*[("GET", "/a.txt", [("If-Modified-Since", "Sun, 13 Sep 2020 12:26:40 GMT")])] * 2,
                          touched=("a.txt",)),
    "ranges": Shape(*[("GET", "/middle.bin", [("Range", "bytes=10-19")]),
                      ("GET", "/middle.bin", [("Range", "bytes=0-3,70-40000")])], touched=("middle.bin",)),
    "head": Shape(*[("HEAD", "/a.txt")] * 2, touched=("a.txt",)),
    "none": Shape(*[("GET", "/none.txt")] * 2, touched=("errors/404.html",)),
    "redirect": Shape(("GET", "/list")),
    "listing": Shape(("GET", "/list/"), touched=("list/a",), marks=LIST),
    "page": Shape(*[("GET", "/ssi/page.shtml")] * 3, touched=SSI_FILES, marks=ERROR),
    "exec": Shape(("GET", "/ssi/exec.shtml"), touched=("ssi/exec.shtml",), marks=ERROR),
    "upload": Shape(("POST", "/a.txt", (), UPLOAD)),
    "pipelined": Shape(("GET", "/a.txt"), ("GET", "/middle.bin"), ("HEAD", "/a.txt"), ("GET", "/big.bin"),
                       ("GET", "/none.txt"), ("GET", "/list/"), ("GET", "/a.txt"), at_once=True, marks=LIST),
    "cgid": Shape(("POST", "/cgi/count.cgi", (), UPLOAD), config=CGID, needs="cgid", marks=b"length ",
                  stock=(("writev", "socket"), ("shutdown", "socket"), ("sendmsg", "socket"))),
    "cgi": Shape(("POST", "/cgi/count.cgi", (), UPLOAD), config=CGI_FORK, needs="cgi", marks=b"length ", stock=(("sendmsg", "socket"),)),
    "cgi-long": Shape(("GET", "/cgi/long.cgi"), config=CGI_FORK, needs="cgi"),
    "deflate": Shape(("GET", "/big.bin", [("Accept-Encoding", "gzip")]), touched=("big.bin",), config=DEFLATE,
                     needs="deflate"),
    "coded": Shape(*[("GET", name, [("Accept-Encoding", coding)]) for coding in ("br", "zstd", "gzip")
                     for name in ("/a.txt", "/middle.bin")], touched=("a.txt", "middle.bin"), config=CODED),
    "precompressed": Shape(*[("GET", "/pre/a.txt", [("Accept-Encoding", "gzip")])] * 3, touched=("pre/a.txt", "pre/a.txt.gz"),
                           config=PRECOMPRESSED, marks=b"hello\n"),
    "services": Shape(("GET", "/a.txt"), ("GET", "/a.txt", [("Host", "one")]), ("GET", "/a.txt", [("Host", "two")]), config=SERVICES),
    "digest": Shape(*[("GET", "/full/a.txt"), ("GET", "/a.txt")] * 2, touched=("a.txt", "full/a.txt"), config="FileETag Digest\n", lacks=True),
    "proxy": Shape(("GET", "/a.txt"), ("GET", "/full/a.txt"), touched=("full/a.txt",), config=PROXY, begin=PROXY_HEADER),
    "own-tls": Shape(("GET", "/a.txt"), ("GET", "/full/a.txt"), ("GET", "/big.bin"), touched=("full/a.txt",), config=OWN_TLS,
                     tls=True),
    "http2": Shape(("GET", "/a.txt"), ("GET", "/full/a.txt"), ("GET", "/big.bin"), ("POST", "/a.txt", (), UPLOAD),
                   touched=("full/a.txt",), config=OWN_TLS, http2=True),
    "backend": Shape(("GET", "/p/small"), ("POST", "/p/count", (), UPLOAD), ("GET", "/p/chunked"), ("GET", "/p/big"), config=BACKEND),
    "backend-fresh": Shape(("GET", "/p/small"), ("POST", "/p/count", (), UPLOAD), ("GET", "/p/close"), config=FRESH),
    "backend-page": Shape(*[("GET", "/ssi/proxied.shtml")] * 2, touched=("ssi/proxied.shtml",), marks=b" after", config=BACKEND),
    "backend-tls": Shape(("GET", "/p/small"), ("POST", "/p/count", (), UPLOAD), ("GET", "/p/big"), config=BACKEND_TLS),
    "backend-tls-fresh": Shape(("GET", "/p/small"), ("GET", "/p/close"), config=BACKEND_TLS),
    "backend-http2": Shape(("GET", "/p/small"), ("POST", "/p/count", (), UPLOAD), ("GET", "/p/big"), config=BACKEND_HTTP2),
    "http2-backend": Shape(("GET", "/p/small"), ("POST", "/p/count", (), UPLOAD), ("GET", "/p/big"), config=BACKEND + OWN_TLS, http2=True),
    "balancer": Shape(*[("GET", "/p/small")] * 4, config=BALANCER),
    "tunnel": Shape(("GET", "/p/echo", [("Connection", "Upgrade"), ("Upgrade", "websocket")]), tunnel=UPLOAD[:30_000], config=BACKEND_UPGRADE),
    "fcgi": Shape(("GET", "/f/small"), ("POST", "/f/count", (), UPLOAD), ("GET", "/f/big"), config=SCRIPTS),
    "scgi": Shape(("GET", "/s/small"), ("POST", "/s/count", (), UPLOAD), ("GET", "/s/big"), config=SCRIPTS),
    "stored": Shape(("GET", "/p/stored", RELOADED), ("GET", "/p/stored"), ("GET", "/p/large", RELOADED), ("GET", "/p/large"), config=STORED),
    "stored-disk": Shape(("GET", "/p/large", RELOADED), *[("GET", f"/p/large?{i}") for i in range(12)], config=STORED_DISK),
    "tls": Shape(("GET", "/a.txt"), ("GET", "/big.bin"), config=TLS, needs="ssl", tls=True),
}


class Outcome:
    """What a client saw. end: "whole", "closed" (before the last answer), "hung", "torn" (not HTTP)."""

    def __init__(self):
        self.answers, self.end, self.detail = [], "whole", ""

    def key(self):
        """What must be the same each time. Whether a page is sent with its length is not part of it."""
        names = ("Content-Type", "Content-Range", "ETag", "Last-Modified", "Location", "X-H")
        return [(r.status, r.body if "multipart" not in (r["Content-Type"] or "") else len(r.body),
                 [r[n] for n in names if n != "Content-Type" or "multipart" not in (r[n] or "")])
                for r in self.answers]

    def __repr__(self):
        return f"{self.end} {[(r.status, len(r.body)) for r in self.answers]} {self.detail}"


def _converse(site, shape, c, outcome):
    if shape.http2:
        outcome.answers = []
        for method, target, fields, body in shape.requests:
            outcome.answers.append(c.request(method, target, fields, body))
    elif shape.at_once:
        c.send(b"".join(shape.bytes_of(r) for r in shape.requests))
    for request in () if shape.http2 else shape.requests:
        if not shape.at_once:
            c.send(shape.bytes_of(request))
        answer = c.read_response(request[0])
        if answer.status == 101:
            c.send(shape.tunnel)
            answer.body = c.read_exactly(len(shape.tunnel))
        outcome.answers.append(answer)
        if (answer["Connection"] or "").lower() == "close":
            outcome.detail = "Connection: close"
            assert c.at_end(), "bytes behind the last answer"
            outcome.end = "whole" if len(outcome.answers) == len(shape.requests) else "closed"
            return
        if answer.status == 101:
            return
    try:
        after = c.get("/control.txt")
    except (Truncated, ConnectionError, ssl.SSLError) as e:
        assert shape.http2 or not getattr(e, "args", [b""])[0] or not isinstance(e, Truncated), f"torn: {e!r}"
        outcome.detail = "closed after the last answer"
        return
    if after.status < 400:  # it may meet the fault, too
        assert (after.status, after.body) == (200, b"control\n"), f"the next request got {after!r}"


def exchange(site, shape, patience=3):
    """The requests of a shape on a connection, and one more that shows whether both sides are still in step."""
    outcome = Outcome()
    try:
        with site.connect(shape, patience) as c:
            _converse(site, shape, c, outcome)
    except (socket.timeout, TimeoutError):
        outcome.end = "hung"
    except (Truncated, ConnectionError, ssl.SSLError, EOFError) as e:
        outcome.end, outcome.detail = "closed", repr(e)[:120]
    except (AssertionError, ValueError, IndexError) as e:
        outcome.end, outcome.detail = "torn", repr(e)[:300]
    return outcome
