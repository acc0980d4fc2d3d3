#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of .htaccess files, combined at random: Brigade answers as Apache does, the first time and from memory.

    test/campaign/htaccess.py --trials 5000 --seed 2
    test/campaign/htaccess.py --trials 5000 --seed 2 --all     with what is listed in KNOWN, too

A trial is a folder with a .htaccess file (and at times one below it), and requests, each sent three times to both servers: most over
HTTP/1, some over TLS, some over HTTP/2. Status line, fields in their order and body are compared. A difference is shrunk to the fewest
lines that show it.
"""
import argparse
import os
import random
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import zlib
import zlib
from email.utils import parsedate_to_datetime

import support
import h2_client
import htaccess_lines
from http_client import dechunk, raw_exchange, request_bytes
from support import brigade

APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
MODULES = ("authz_core authz_host access_compat dir mime alias env setenvif headers expires filter reqtimeout autoindex negotiation rewrite deflate brotli include "
           "substitute authn_core authn_file auth_basic authz_user actions asis cgi speling socache_shmcb ssl http2 version").split()
ROUNDS, SETTLED = 3, 1_000_000_000
SCRIPT = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\nX-Script: yes\\r\\n\\r\\n'
for n in REQUEST_METHOD REQUEST_URI SCRIPT_NAME PATH_INFO QUERY_STRING REDIRECT_STATUS REDIRECT_URL REDIRECT_QUERY_STRING HTTP_AUTHORIZATION REMOTE_USER APP_ENV BASE HTTP_X_OWN; do
eval "printf '%s=%s\\n' $n \\"\\$$n\\""
done
"""
TEXT = "<h1>text</h1> of a page\n" * 12
SITE = {"index.html": "index of @BASE@\n" + TEXT, "index.php": SCRIPT, "page.html": "page\n" + TEXT, "a.html": "a " + TEXT * 9, "b.txt": "text of b\n", "style.css": "p { color: red }\n" * 40,
        "style.css.gz": b"\x1f\x8bnone", "script.js": "1;\n" * 200, "pic.png": b"\x89PNG" * 50, "pic.webp": b"RIFF" * 40, "pic.gif": b"GIF8" * 9, "x.own": "own\n", "inc.shtml": '<!--#echo var="REQUEST_METHOD" --> ' + TEXT,
        "note.asis": "Status: 404 None\nContent-Type: text/x\n\nnote\n", "n.html.de": "deutsch\n" + TEXT, "n.html.en": "english\n" + TEXT, "t.php5": "five\n", "old.bak": "bak\n", "empty.html": "",
        "sub/index.html": "sub index\n", "sub/a.html": "sub a\n" + TEXT, "sub/b.txt": "sub b\n", "bare/b.txt": "bare b\n", "bare/pic.png": b"\x89PNG" * 5}
TARGETS = ["", "", "", "index.html", "index.php", "index.php/more", "page.html", "page", "a.html", "a.html", "a.html", "b.txt", "b.txt", "style.css", "style.css.gz", "script.js", "pic.png", "pic.png", "pic.webp", "pic.gif", "x.own", "inc.shtml",
           "note.asis", "n", "n.html", "t.php5", "old.bak", "empty.html", "sub", "sub/", "sub/a.html", "sub/b.txt", "bare/", "bare", "bare/b.txt", "none", "none/more/", "a.html/more", "b.txt?no=1", "a.html?x=1&no=1", "item/7", "old/x.html",
           ".htaccess", "%2e", "A.html", "secure", "?x=1"]
FIELDS = [("Accept-Encoding", "gzip, deflate, br"), ("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip, deflate, br"), ("Accept-Encoding", "br"), ("Accept", "image/webp,*/*"), ("Accept", "text/html"), ("Accept-Language", "de, en;q=0.5"), ("User-Agent", "bot/1"),
          ("User-Agent", "badbot"), ("User-Agent", "Mozilla/4.06"), ("Referer", "http://elsewhere.example/"), ("Origin", "https://origin.example"), ("Cookie", "seen=1"), ("Cookie", "logged_in=1"), ("Authorization", "Basic dTpw"), ("Authorization", "Bearer x"), ("X-Forwarded-Proto", "https"),
          ("If-None-Match", "*"), ("If-None-Match", '"x"'), ("If-Modified-Since", "Sun, 09 Sep 2001 01:46:40 GMT"), ("Range", "bytes=0-4"), ("X-Own", "yes"), ("Connection", "keep-alive"), ("Connection", "close"), ("Cache-Control", "no-cache")]

CONFIG = """ServerRoot @ROOT@
PidFile @ROOT@/logs/httpd.pid
Mutex file:@ROOT@/logs default
@EXTRA@
Listen 127.0.0.1:@PORT@
Listen 127.0.0.1:@TLS@
Listen 127.0.0.1:@CLEAR2@
ServerName localhost
ServerAdmin admin@localhost
ErrorLog @ROOT@/logs/error_log
LogLevel crit
DocumentRoot @SITE@
TypesConfig @ROOT@/conf/mime.types
TraceEnable Off
KeepAliveTimeout 5
AddType text/html .shtml
AddHandler cgi-script .php
<Directory />
    AllowOverride None
    Require all denied
</Directory>
<Directory @SITE@>
    Options Indexes FollowSymLinks ExecCGI
    AllowOverride All
    Require all granted
</Directory>
<Files ".ht*">
    Require all denied
</Files>
<VirtualHost *:@PORT@>
    ServerName localhost
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName packed.example
    AddOutputFilterByType DEFLATE text/html text/plain text/css
    ExpiresActive On
    ExpiresDefault A60
    Header always set X-Server packed
    DirectoryIndex index.php index.html
</VirtualHost>
<VirtualHost *:@TLS@>
    ServerName localhost
    SSLEngine On
    SSLCertificateFile @SITE@.pem
</VirtualHost>
<VirtualHost *:@CLEAR2@>
    ServerName localhost
    Protocols h2c http/1.1
</VirtualHost>
"""


class Server(brigade.Server):
    """With its configuration alone: what is built in is what LoadModule names, as in a configuration of Apache's."""

    def command(self, *args):
        return [self.binary, "-d", self.root, "-f", self.path("conf/httpd.conf"), *args]


class Pair:
    def __init__(self):
        self.site = tempfile.mkdtemp(prefix="brigade-htaccess-")
        os.chmod(self.site, 0o755)
        self.number, self.servers = 0, []
        self.write("top.html", "top\n")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.site + ".key", "-out", self.site + ".crt",
                        "-subj", "/CN=localhost", "-days", "30"], check=True, capture_output=True)
        with open(self.site + ".pem", "w", encoding="ascii") as out:
            for part in (".key", ".crt"):
                with open(self.site + part, encoding="ascii") as f:
                    out.write(f.read())
        with open(self.site + ".users", "w", encoding="ascii") as f:
            f.write("u:" + subprocess.check_output(["openssl", "passwd", "-apr1", "p"], text=True))
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        try:
            for binary in (APACHE, brigade.BINARY):
                self.start(binary)
        except BaseException:
            self.close()
            raise

    def start(self, binary):
        loads = "".join(f"LoadModule {m}_module {brigade.APACHE_MODULES}/mod_{m}.so\n" for m in ["mpm_event", *MODULES]
                        if os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so"))
        config = loads + CONFIG.replace("@EXTRA@", "" if brigade.is_apache(binary) else "EventLoops 1").replace("@SITE@", self.site)
        ports = [brigade.free_port(), brigade.free_port()]
        config = config.replace("@TLS@", str(ports[0])).replace("@CLEAR2@", str(ports[1]))
        if os.geteuid() == 0:
            config += f"User {brigade.unprivileged_user()}\nGroup {'www-data' if brigade.unprivileged_user() == 'www-data' else 'nogroup'}\n"
        server = Server(config, bare=True, binary=binary, modules=None, pages=None)
        server.tls_port, server.h2_port = ports
        self.servers.append(server)
        server.start()

    def write(self, name, content):
        path = os.path.join(self.site, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        if content is SCRIPT:
            os.chmod(path, 0o755)
        os.utime(path, (SETTLED, SETTLED))

    def folder(self, upper, lower):
        """A new folder of the site with these blocks; its path as clients say it."""
        self.number += 1
        base = f"/t{self.number:06}/"
        for name, content in SITE.items():
            self.write(base[1:] + name, content)
        for name, blocks in ((".htaccess", upper), ("sub/.htaccess", lower)):
            if blocks:
                self.write(base[1:] + name, "\n".join(blocks).replace("@BASE@", base).replace("@USERS@", self.site + ".users") + "\n")
        for folder, _, _ in os.walk(self.site + base):
            os.utime(folder, (SETTLED, SETTLED))
        return base

    def close(self):
        for server in self.servers:
            server.close()
        shutil.rmtree(self.site, ignore_errors=True)
        for part in (".key", ".crt", ".pem", ".users"):
            if os.path.exists(self.site + part):
                os.unlink(self.site + part)


class Request:
    def __init__(self, rng):
        self.target, self.fields = rng.choice(TARGETS), dict(rng.sample(FIELDS, rng.choice([0, 1, 1, 2, 3])))
        self.method = rng.choice(["GET"] * 16 + ["HEAD", "OPTIONS", "POST", "DELETE"])
        self.host = rng.choice(["localhost"] * 4 + ["www.localhost", "packed.example"])
        self.way = rng.choice(["http/1"] * 12 + ["http/1.0", "tls", "h2"])
        if "If-None-Match" in self.fields:
            self.fields.pop("If-Modified-Since", None)  # precedence of conditions: see differences.py
        if self.method != "GET" or self.way == "http/1.0":
            self.fields.pop("Range", None)
        if self.way == "h2":
            self.fields.pop("Connection", None)
            self.method = self.method.replace("HEAD", "GET")  # mod_http2 sends the body of a script

    def __str__(self):
        return f"{self.way} {self.method} {self.host}/{self.target} {self.fields or ''}"

    def send(self, server, base):
        fields = [*self.fields.items()]
        if self.way == "h2":
            with h2_client.Client("127.0.0.1", server.h2_port, brigade.PATIENCE) as c:
                r = c.request(self.method, base + self.target, fields, b"a=1" if self.method == "POST" else b"", host=self.host)
            return Answer(f"HTTP/2 {r.status}".encode(), [(n.lower(), v) for n, v in r.headers], r.body, False)
        data = request_bytes(self.method, base + self.target, fields, b"a=1" if self.method == "POST" else b"", "1.0" if self.way == "http/1.0" else "1.1", self.host)
        data = data.replace(b"Connection: keep-alive", b"Connection: close")
        if b"\r\nConnection:" not in data and self.way != "http/1.0":  # the last one: a client that says more and closes has left
            data = data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
        if self.way == "tls":
            return Answer.of(self.over_tls(server, data))
        return Answer.of(raw_exchange("127.0.0.1", server.port, data, brigade.PATIENCE, half_close=True))

    @staticmethod
    def over_tls(server, data):
        import socket
        got = []
        with socket.create_connection(("127.0.0.1", server.tls_port), timeout=brigade.PATIENCE) as s, server.context.wrap_socket(s) as t:
            t.sendall(data)
            while piece := t.recv(65536):
                got.append(piece)
        return b"".join(got)


class Answer:
    """A response in a form that can be compared: dates that go with the time as their distance from Date."""

    def __init__(self, line, fields, body, ordered=True):
        self.line, self.body, self.framed = line, body, None
        date = next((v for n, v in fields if n.lower() == "date"), None)
        self.script = any(n.lower() == "x-script" for n, _ in fields)
        kept = [(n, self.value(n, v, date)) for n, v in fields if n.lower() not in ("date", "server")]
        if self.script:  # whether the length is known depends on how fast a script is
            kept = [(n, v) for n, v in kept if n.lower() not in ("content-length", "transfer-encoding", "connection", "keep-alive")]
        self.fields = kept if ordered else sorted(kept)

    @staticmethod
    def value(name, value, date):
        if name.lower() == "expires" and date and value.endswith("GMT"):
            try:
                return f"Date + {int((parsedate_to_datetime(value) - parsedate_to_datetime(date)).total_seconds())}"
            except (ValueError, TypeError):
                return value
        if name.lower() == "allow":
            return ",".join(sorted(re.split(r"\s*,\s*", value)))
        if name.lower() == "etag" and ";" in value:  # tags of negotiated files: see differences.py
            return re.sub(r"[^;]?\"?$", "", value)
        return value

    @staticmethod
    def of(data):
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        fields = [tuple(p.decode("latin-1").strip() for p in line.split(b":", 1)) for line in lines[1:] if b":" in line]
        answer = Answer(lines[0], fields, body)
        if answer.script and any(n.lower() == "transfer-encoding" for n, _ in fields):
            try:
                answer.body = dechunk(body)[0]
            except (ValueError, IndexError):
                pass
        if answer.script and answer.body[:2] == b"\x1f\x8b":  # it is compressed in as many pieces as the machine makes of it
            answer.body = zlib.decompress(answer.body, 47)
        return answer

    def get(self, name):
        return next((v for n, v in self.fields if n.lower() == name.lower()), None)

    def plain(self):
        if self.get("Content-Encoding") == "gzip" and self.body[:2] == b"\x1f\x8b":
            try:
                return zlib.decompress(self.body, 31)
            except zlib.error:
                pass
        return self.body

    def __eq__(self, other):
        return (self.line, self.fields, self.body) == (other.line, other.fields, other.body)


def tell(a, b):
    """What differs, in one line or two."""
    if a.line != b.line:
        return f"{a.line!r} / {b.line!r}"
    only = [x for x in a.fields if x not in b.fields], [x for x in b.fields if x not in a.fields]
    if a.fields != b.fields:
        return f"{only[0]} / {only[1]}" if only[0] or only[1] else f"order: {[n for n, _ in a.fields]} / {[n for n, _ in b.fields]}"
    return f"body: {a.plain()[:120]!r} / {b.plain()[:120]!r}"


# What differs on purpose: ARCHITECTURE.md, "Differences from Apache". name -> (text of the blocks, request, Apache's answer, ours) -> true
FRAMING = ("content-length", "transfer-encoding", "accept-ranges", "content-range", "etag", "vary", "content-encoding")


def without(answer, names):
    return [(n, v) for n, v in answer.fields if n.lower() not in names]


def of_a_page(text, request, a, b):
    """Length of parsed pages, and ranges of them."""
    if not re.search(r"(?i)includes|server-parsed|XBitHack", text):
        return False
    return b.line.split()[1] == b"206" and a.line.split()[1] == b"200" or without(a, FRAMING) == without(b, FRAMING)


def of_a_tag(text, request, a, b):
    """Conditions of coded responses."""
    return "If-None-Match" in request.fields and {a.line.split()[1], b.line.split()[1]} == {b"200", b"304"} and bool(re.search(r"(?i)deflate|brotli", text))


KNOWN = {"parsed pages": of_a_page, "conditions of coded responses": of_a_tag}


# ---- trials ----

def compare(pair, upper, lower, requests, limit=1):
    """Requests whose answers differ in a new folder: (request, round, text of the difference, known name or None)."""
    base, found = pair.folder(upper, lower), []
    for request in requests:
        for number in range(ROUNDS):
            a, b = [request.send(server, base) for server in pair.servers]
            if a == b:
                continue
            text = "\n".join([*upper, *lower])
            name = next((n for n, f in KNOWN.items() if f(text, request, a, b)), None)
            found.append((request, number + 1, tell(a, b).replace(base, "@BASE@"), name))
            break
        if len(found) >= limit:
            break
    shutil.rmtree(pair.site + base)
    return found


def still(pair, upper, lower, request):
    return any(name is None for _, _, _, name in compare(pair, upper, lower, [request]))


def shrink(pair, upper, lower, request):
    """Fewer blocks, then fewer lines, with which it still shows."""
    for which in (0, 1):
        parts = [list(upper), list(lower)]
        for step in ("blocks", "lines"):
            if step == "lines":
                parts[which] = "\n".join(parts[which]).split("\n") if parts[which] else []
            i = 0
            while i < len(parts[which]):
                fewer = [list(p) for p in parts]
                del fewer[which][i]
                if still(pair, *fewer, request):
                    parts = fewer
                else:
                    i += 1
        upper, lower = parts
    for name in list(request.fields):
        value = request.fields.pop(name)
        if not still(pair, upper, lower, request):
            request.fields[name] = value
    return upper, lower


def run(pair, arguments, show=print):
    rng, count, seen = random.Random(arguments.seed), {}, set()
    ends = time.monotonic() + arguments.seconds if arguments.seconds else None
    trial = sent = differ = 0
    while trial < arguments.trials and (not ends or time.monotonic() < ends) and differ < arguments.most:
        trial += 1
        upper = [htaccess_lines.block(rng) for _ in range(rng.choice([1, 2, 2, 3, 4, 6]))]
        lower = [htaccess_lines.block(rng) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        requests = [Request(rng) for _ in range(arguments.requests)]
        sent += len(requests) * ROUNDS
        for request, number, text, name in compare(pair, upper, lower, requests, limit=3):
            if name and not arguments.all:
                count[name] = count.get(name, 0) + 1
                continue
            few = shrink(pair, upper, lower, request)
            again = compare(pair, *few, [request])
            number, text = again[0][1:3] if again else (number, text + " (not again)")
            key = re.sub(r"\d+|'[^']*'", "", "\n".join(few[0] + few[1])) + re.sub(r"\d+", "", text)
            if key in seen:
                continue
            seen.add(key)
            differ += 1
            show(f"--- trial {trial}: {request}, answer {number}\n    {text}\n" + "\n".join("    | " + line for line in "\n".join(few[0]).split("\n")) +
                 ("\n" + "\n".join("    sub | " + line for line in "\n".join(few[1]).split("\n")) if few[1] else ""), flush=True)
    show(f"{trial} trials, {sent} requests to each server, {differ} differences; known: {count}", flush=True)
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=12, help="of each trial")
    parser.add_argument("--most", type=int, default=20, help="end after so many differences")
    parser.add_argument("--all", action="store_true", help="tell of known differences, too")
    arguments = parser.parse_args()
    pair = Pair()
    for server in pair.servers:
        server.context = pair.tls
    try:
        return 1 if run(pair, arguments) else 0
    finally:
        pair.close()


if __name__ == "__main__":
    sys.exit(main())
