#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions per request, exact, by callgrind: for changes that must not cost anything.

    BRIGADE=out/release/brigade test/bench/instructions.py [--other OTHER/brigade] [SHAPE ...]

Each shape is run twice under valgrind with a different number of requests over one connection; the difference of the
instruction counts, by request, is what one request costs. --other measures a second program and prints the ratio.
"""
import argparse
import gzip
import hashlib
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

FEW, MANY = 200, 700
AT_REST = 2.5  # seconds; pages whose file changed less than two seconds before are read and parsed for each request
CONFIG = """ServerName localhost
Listen 127.0.0.1:{port}
ServerRoot {root}
DocumentRoot {root}/htdocs
PidFile {root}/pid
ErrorLog {root}/error_log
Define APACHE_RUN_DIR {root}
Define APACHE_LOG_DIR {root}
EventLoops 1
ServerProcesses 1
KeepAliveTimeout 60
MaxKeepAliveRequests 0
LogLevel crit
TypesConfig {root}/mime.types
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory {root}/htdocs>
Options +Includes +Indexes
Require all granted
</Directory>
"""
PAGE = """<html><head><title>page</title></head><body>
<!--#set var="a" value="b" --><!--#if expr="$a = /b/" --><p>yes</p><!--#else --><p>no</p><!--#endif -->
<!--#include virtual="/part.html" --><!--#echo var="DOCUMENT_NAME" --><!--#flastmod file="part.html" -->
""" + "<p>some text that stands between the elements</p>\n" * 40 + "</body></html>\n"

# What Debian enables, and what people enable there; nothing of it is used.
POPULAR = """access_compat alias auth_basic authn_core authn_file authz_core authz_host authz_user autoindex deflate dir env filter mime
negotiation reqtimeout setenvif status headers expires rewrite include socache_shmcb ssl http2 proxy proxy_http proxy_fcgi proxy_wstunnel
slotmem_shm proxy_balancer lbmethod_byrequests cgid userdir dav dav_fs cache cache_disk remoteip brotli auth_digest session session_cookie
info speling vhost_alias actions macro wsgi fcgid xsendfile"""
MODULES = "/usr/lib/apache2/modules"
LOADED = "".join(f"LoadModule {m}_module {MODULES}/mod_{m}.so\n" for m in POPULAR.split() if os.path.exists(f"{MODULES}/mod_{m}.so"))

AVAILABLE = "/etc/apache2/mods-available"
CONFIGURED = "".join(f"Include {AVAILABLE}/{m}.conf\n" for m in POPULAR.split() if os.path.exists(f"{AVAILABLE}/{m}.conf"))

LOG = """LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined\nCustomLog log combined\n"""

# A table as large as one of a million routes is deep: a route for each 16 bits, and longer ones.
NETWORKS = "ASTable file {root}/nets.txt\n"

TLS = """SSLEngine on
SSLCertificateFile {root}/cert.pem
SSLCertificateKeyFile {root}/key.pem
"""

# Behind a password: the hash does not matter, since it is checked once.
AUTH = """<Location />
AuthType {kind}
AuthName r
AuthUserFile {root}/{file}
Require valid-user
</Location>
"""

# Files that are chosen among five languages.
NEGOTIATED = """<Directory {root}/htdocs/languages>
Options MultiViews
AddLanguage de .de
AddLanguage en .en
AddLanguage es .es
AddLanguage fr .fr
AddLanguage it .it
AddHandler type-map .var
</Directory>
"""
LANGUAGES = "Accept: text/html,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate\r\nAccept-Language: de,en;q=0.7\r\n"

# The rules that WordPress writes, for a file that is there.
REWRITTEN = """<Directory {root}/htdocs>
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
</Directory>
"""
MAPPED = "RewriteEngine On\nRewriteMap m txt:{root}/%s\nRewriteRule ^/m/(.*)$ /${m:$1} [PT]\n"

# name: (target, request fields, further configuration)
SHAPES = {
    "stored-10k-popular": ("/10k.bin", "", LOADED),
    "stored-10k-debian": ("/10k.bin", "", LOADED + CONFIGURED),
    "stored-10k": ("/10k.bin", "", ""),
    "full-10k": ("/10k.bin", "", "FileCacheEntries 0\n"),
    "full-10k-worker": ("/10k.bin", "", "FileCacheEntries 0\nBuiltinModules all\nLoadModule unique_id_module /usr/lib/apache2/modules/mod_unique_id.so\n"),
    "ssi-full": ("/page.shtml", "", "FileCacheEntries 0\n"),
    "not-modified-full": ("/10k.bin", "If-None-Match: @ETAG@\r\n", "FileCacheEntries 0\n"),
    "range-stored": ("/10k.bin", "Range: bytes=100-4195\r\n", ""),
    "ranges-stored": ("/10k.bin", "Range: bytes=0-99,5000-5099,-100\r\n", ""),
    "range-outside-stored": ("/10k.bin", "Range: bytes=99999-\r\n", ""),
    "log-stored": ("/10k.bin", "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nReferer: http://localhost/\r\n", LOG),
    "log-asn-stored": ("/10k.bin", "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nReferer: http://localhost/\r\n", NETWORKS + LOG.replace('%h', '%{asn}C %h', 1)),
    "require-ip-stored": ("/10k.bin", "", "<Location />\nRequire ip 127.0.0.0/8\n</Location>\n"),
    "require-asn-stored": ("/10k.bin", "", NETWORKS + "<Location />\nRequire asn 64000-65000\n</Location>\n"),
    "limit-stored": ("/10k.bin", "", "RequestLimit one rate=1000000/s burst=1000000\n"),
    "field-stored": ("/10k.bin", "X-Api-Key: 0123456789abcdef\r\n", ""),  # what limit-field-stored is compared with
    "limit-field-stored": ("/10k.bin", "X-Api-Key: 0123456789abcdef\r\n", "RequestLimit one rate=1000000/s burst=1000000 by=field:X-Api-Key\n"),
    "limit-key-stored": ("/10k.bin", "X-Api-Key: 0123456789abcdef\r\n", 'RequestLimit one rate=1000000/s burst=1000000 "key=%{HTTP:X-Api-Key}"\n'),
    "limit-when-stored": ("/10k.bin", "X-Api-Key: 0123456789abcdef\r\n", "RequestLimit one rate=1000000/s burst=1000000 \"when=%{REQUEST_METHOD} == 'GET'\"\n"),
    "limit-inflight-stored": ("/10k.bin", "", "RequestLimit one inflight=50\n"),
    "basic-stored": ("/10k.bin", "Authorization: Basic am9lOnNlY3JldA==\r\n", AUTH.replace("{kind}", "Basic").replace("{file}", "users")),
    "digest-stored": ("/10k.bin", "Authorization: @DIGEST@\r\n", AUTH.replace("{kind}", "Digest").replace("{file}", "digest")),
    "bcrypt-stored": ("/10k.bin", "Authorization: Basic am9lOnNlY3JldA==\r\n", AUTH.replace("{kind}", "Basic").replace("{file}", "bcrypt")),
    "rewrite-stored": ("/10k.bin", "", REWRITTEN),
    "rewrite-full": ("/10k.bin", "", REWRITTEN + "FileCacheEntries 0\n"),
    "map-10": ("/m/k7", "", MAPPED % "map10"),
    "map-100000": ("/m/k7", "", MAPPED % "map100000"),
    "negotiated-stored": ("/languages/page", LANGUAGES, NEGOTIATED),
    "negotiated-full": ("/languages/page", LANGUAGES, NEGOTIATED + "FileCacheEntries 0\n"),
    "type-map": ("/languages/map.var", LANGUAGES, NEGOTIATED),
    "not-modified-stored": ("/10k.bin", "If-None-Match: @ETAG@\r\n", ""),
    "coded-stored": ("/coded.bin", "Accept-Encoding: gzip, deflate\r\n", "PrecompressedFiles gzip\n"),
    **{f"mix-{share}-stored": ("/10k.bin", "", "") for share in (0, 50, 95)},  # of a hundred, so many with If-None-Match
    **{f"mix-{share}-full": ("/10k.bin", "", "FileCacheEntries 0\n") for share in (0, 50, 95)},
    "listing": ("/dir/", "", ""),
    "close-10k": ("/10k.bin", "", ""),
    "pipelined-10k": ("/10k.bin", "", ""),
    "targets-10k": ("/10k.bin", "", ""),
    "https-10k": ("/10k.bin", "", TLS),
    "https-ssi": ("/page.shtml", "", TLS),
    "https-1m": ("/1m.bin", "", TLS),
    "https-close": ("/10k.bin", "", TLS),
    "https-resumed": ("/10k.bin", "", TLS),
}


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def digest(head, target):
    """The field for a challenge."""
    nonce = re.search(rb'nonce="([^"]+)', head)
    nonce = nonce.group(1).decode() if nonce else ""
    proof = md5(f"{md5('joe:r:secret')}:{nonce}:00000001:c:auth:{md5('GET:' + target)}")
    return f'Digest username="joe", realm="r", nonce="{nonce}", uri="{target}", qop=auth, nc=00000001, cnonce="c", response="{proof}"'


def site(root):
    os.makedirs(f"{root}/htdocs/dir")
    os.makedirs(f"{root}/htdocs/languages")
    with open(f"{root}/mime.types", "w", encoding="utf-8") as f:
        f.write("text/html html\n")
    for name, content in {"10k.bin": b"x" * 10240, "coded.bin": b"x" * 10240, "coded.bin.gz": gzip.compress(b"x" * 10240), "1m.bin": b"z" * (1 << 20), "part.html": b"<p>part</p>\n", "page.shtml": PAGE.encode()}.items():
        with open(f"{root}/htdocs/{name}", "wb") as f:
            f.write(content)
    for language in ("de", "en", "es", "fr", "it"):
        with open(f"{root}/htdocs/languages/page.html.{language}", "wb") as f:
            f.write(b"l" * 10240)
    with open(f"{root}/htdocs/languages/map.var", "w", encoding="ascii") as f:
        f.writelines(f"URI: page.html.{n}\nContent-Type: text/html\nContent-Language: {n}\n\n" for n in ("de", "en"))
    for n in (10, 100000):
        with open(f"{root}/map{n}", "w", encoding="ascii") as f:
            f.writelines(f"k{i} 10k.bin\n" for i in range(n))
    for i in range(40):
        with open(f"{root}/htdocs/dir/file{i}.txt", "wb") as f:
            f.write(b"y" * i)
    with open(f"{root}/nets.txt", "w", encoding="ascii") as f:
        f.writelines(f"{a}.{b}.0.0/16 {64000 + b}\n{a}.{b}.0.0/24 {64001 + b}\n" for a in (126, 127) for b in range(256))
    with open(f"{root}/users", "w", encoding="ascii") as f:
        f.write("joe:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")
    with open(f"{root}/bcrypt", "w", encoding="ascii") as f:
        f.write("joe:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n")
    with open(f"{root}/digest", "w", encoding="ascii") as f:
        f.write(f"joe:r:{md5('joe:r:secret')}\n")
    old = time.time() - 3600
    for at, _, files in os.walk(f"{root}/htdocs"):
        for f in files:
            os.utime(f"{at}/{f}", (old, old))
        os.utime(at, (old, old))
    time.sleep(AT_REST)


def certificate(root):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
    os.chmod(f"{root}/key.pem", 0o644)


class Plain:
    """How to connect."""

    def __init__(self, port, resume=False):
        self.port = port

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


class Secure(Plain):
    def __init__(self, port, resume=False):
        super().__init__(port)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.resume, self.last, self.session = resume, None, None

    def connect(self):
        if self.resume and self.last:
            self.session = self.last.session or self.session
        self.last = self.context.wrap_socket(super().connect(), session=self.session)
        return self.last


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def response(s, buffer):
    while b"\r\n\r\n" not in buffer:
        buffer += s.recv(65536)
    head, _, rest = buffer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    if length:
        want = int(length.group(1))
        while len(rest) < want:
            rest += s.recv(65536)
        return head, rest[want:]
    if b"chunked" in head.lower():
        while b"\r\n0\r\n\r\n" not in b"\r\n" + rest:
            rest += s.recv(65536)
        return head, b""
    return head, rest


def one_each(way, request, n):
    """A connection for each request."""
    for _ in range(n):
        with way.connect() as s:
            s.sendall(request("Connection: close\r\n"))
            head, _ = response(s, b"")
            while s.recv(65536):
                pass
    return head


def pipelined(way, request, n):
    """20 requests at a time."""
    with way.connect() as s:
        rest = b""
        for _ in range(n // 20):
            s.sendall(request("") * 20)
            for _ in range(20):
                head, rest = response(s, rest)
    return head


def many_targets(way, request, n):
    """Each target is asked for once."""
    with way.connect() as s:
        rest = b""
        for i in range(n):
            s.sendall(request("").replace(b" HTTP/", b"?%d HTTP/" % i, 1))
            head, rest = response(s, rest)
    return head


def mixed(share):
    """So many of a hundred requests have the file already: 304, else 200."""
    def way(connect, request, n):
        with connect.connect() as s:
            s.sendall(request(""))
            head, rest = response(s, b"")
            tag = re.search(rb'(?i)etag: ("[^"]*")', head).group(1).decode()
            for k in range(n):
                known = (k + 1) * share // 100 > k * share // 100
                s.sendall(request(f"If-None-Match: {tag}\r\n" if known else ""))
                head, rest = response(s, rest)
                if (b" 304 " in head[:16]) != known:
                    raise RuntimeError(head.decode())
        return head
    return way


# Shapes that are not asked for one by one on a connection.
WAYS = {**{f"mix-{share}-{kind}": mixed(share) for share in (0, 50, 95) for kind in ("stored", "full")}, "close-10k": one_each, "https-close": one_each, "https-resumed": one_each, "pipelined-10k": pipelined, "targets-10k": many_targets}


def talk(connect, target, fields, n, way=None):
    def request(more):
        return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode()
    if way:
        return way(connect, request, n).split(b"\r\n")[0].decode()
    with connect.connect() as s:
        for _ in range(3):  # the whole is stored, as it is beside clients that ask for parts
            s.sendall(request(""))
            head, rest = response(s, b"")
        tag = re.search(rb'(?i)etag: ("[^"]*")', head)
        fields = fields.replace("@ETAG@", tag.group(1).decode() if tag else '""').replace("@DIGEST@", digest(head, target))
        for _ in range(n):
            s.sendall(request(fields))
            head, rest = response(s, rest)
        return head.split(b"\r\n")[0].decode()


def count(program, shape, n):
    target, fields, more = SHAPES[shape]
    with tempfile.TemporaryDirectory(prefix="brigade-instructions-") as root:
        os.chmod(root, 0o777)
        site(root)
        if more is TLS:
            certificate(root)
        port = free_port()
        with open(f"{root}/httpd.conf", "w", encoding="utf-8") as f:
            f.write(CONFIG.format(port=port, root=root) + more.replace("{root}", root))
        server = subprocess.Popen(["valgrind", "--tool=callgrind", f"--callgrind-out-file={root}/out.%p", program, "-X", "-f",
                                   f"{root}/httpd.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  **({"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}))
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if server.poll() is not None:
                        sys.exit(server.stderr.read().decode())
                    time.sleep(0.1)
            connect = (Secure if more is TLS else Plain)(port, shape.endswith("-resumed"))
            status = talk(connect, target, fields, n, WAYS.get(shape))
        finally:
            server.send_signal(signal.SIGTERM)
            text = server.communicate(timeout=60)[1].decode()
        total = sum(int(m) for m in re.findall(r"Collected : (\d+)", text))
    return total, status


def per_request(program, shape):
    few, _ = count(program, shape, FEW)
    many, status = count(program, shape, MANY)
    return (many - few) / (MANY - FEW), status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--other")
    parser.add_argument("shapes", nargs="*", default=list(SHAPES))
    arguments = parser.parse_args()
    program = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))
    for shape in arguments.shapes:
        ours, status = per_request(program, shape)
        line = f"{shape:22} {ours:12.0f}  {status}"
        if arguments.other:
            other, _ = per_request(os.path.abspath(arguments.other), shape)
            line += f"  other {other:12.0f}  {ours / other:.4f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
