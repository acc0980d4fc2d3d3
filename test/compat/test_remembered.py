# SPDX-License-Identifier: Apache-2.0
"""What Brigade answers from memory is what Apache says each time: every request is sent as often as it takes to be
remembered, and the answers stay alike. Debian's own configuration, with what sites add to it."""
import gzip
import os
import random

import pytest

import brigade
import test_debian_config as debian
from stock import driver
from stock.driver import Case, Step

pytestmark = debian.pytestmark
TIMES = 5
FIREFOX = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}
OLD = {"User-Agent": "Mozilla/2.0 (X11)"}
TEXT = "".join(random.Random(1).choices(["the ", "quick ", "brown ", "fox\n"], k=25000))
LONG = TEXT * 5
SMALL = {"long.html": LONG, "index.html": "<h1>It works</h1>\n" * 100, "big.html": TEXT, "empty.html": "", "image.png": b"\x89PNG" * 500, "page.shtml": '<!--#echo var="DOCUMENT_NAME" -->\n' * 90}


def accept(coding, **more):
    return {"Accept-Encoding": coding, **more}


CODINGS = ["gzip", "gzip, deflate, br, zstd", "identity", "GZIP", "deflate", "gzip;q=0", "gzip;q=1.0, *;q=0.1", "*", "", "x-gzip", "br", "gzip,,deflate", "zip gzip"]


def rounds(steps):
    return [step for _ in range(TIMES) for step in steps]


def compare(steps, files=(), modules=(), conf="", unframed=False):
    files = dict(SMALL, **dict(files))
    servers = [debian.DebianServer(binary, modules, "ServerSignature Off\n" + conf) for binary in (driver.APACHE, brigade.BINARY)]
    for server in servers:
        write = server.write_config

        def write_all(config=None, server=server, write=write):
            write(config)
            for name, text in files.items():
                server.write(name, text, base="www/html")
            driver.settle(server.path("www"))
        server.write_config = write_all
    try:
        for server in servers:
            server.start()
        differences = driver.drive(servers, Case("remembered", "", rounds(steps), unify=debian.UNIFY, unframed=unframed))
        assert not differences, "\n".join(differences[:20])
        return servers
    finally:
        for server in servers:
            server.close()


@pytest.mark.parametrize("target", ["/index.html", "/big.html", "/long.html", "/empty.html", "/image.png", "/none.html", "/"])
def test_codings(target):
    compare([Step(target, accept(c)) for c in CODINGS] + [Step(target), Step(target, accept("gzip", **FIREFOX)), Step(target, OLD), Step(target, accept("gzip", **OLD)),
             Step(f"HEAD {target}", accept("gzip")), Step(f"HEAD {target}"), Step(target, accept("gzip"), version="1.0"), Step(target, accept("gzip", Connection="keep-alive"), version="1.0")])


def tag(suffix=""):
    """The entity tag of the last full answer, with or without what the filter puts there."""
    def headers(before):
        value = next((r["ETag"] for r in reversed(before) if r.status == 200 and r["ETag"]), '"none"').replace("-gzip", "").strip('"')
        return accept("gzip", **{"If-None-Match": f'"{value}{suffix}"'})
    return headers


@pytest.mark.parametrize("target", ["/index.html", "/big.html", "/long.html"])
def test_validators_of_compressed_files(target):
    date = "Sun, 09 Sep 2001 01:46:40 GMT"
    compare([Step(target, accept("gzip")), Step(target, tag("-gzip")), Step(target, tag()), Step(target, accept("gzip", **{"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"})),
             Step(target, accept("gzip", **{"If-Modified-Since": date})), Step(target, accept("gzip", **{"If-None-Match": "*"})), Step(target, accept("gzip", Range="bytes=0-9")),
             Step(target, accept("gzip", **{"If-Range": '"x"', "Range": "bytes=0-9"})), Step(target, {"If-None-Match": '"x"'})])


RULES = """
BrowserMatch Old no-gzip
BrowserMatch Picky gzip-only-text/html
<Location />
  Header set X-Frame-Options DENY
  Header always set X-Content-Type-Options nosniff
  Header append Vary X-Other env=other
  SetEnvIf X-Other . other
  ExpiresActive On
  ExpiresByType image/png "access plus 1 month"
</Location>
"""


def test_headers_expires_and_browsers():
    agents = [{}, FIREFOX, {"User-Agent": "Old/1"}, {"User-Agent": "Picky"}, {"X-Other": "1"}]
    compare([Step(t, accept("gzip", **a)) for t in ("/index.html", "/big.html", "/none") for a in agents] + [Step(t, a) for t in ("/index.html", "/none") for a in agents],
            modules=["headers", "expires"], conf=RULES)


def test_file_that_changes():
    """The compressed form goes with the file."""
    server = debian.DebianServer(brigade.BINARY)
    try:
        server.start()
        for text in ("one\n" * 500, "two\n" * 700, "three\n" * 300, "four\n" * 90000, "five\n" * 80000):
            server.write("c.html", text, base="www/html")
            driver.settle(server.path("www"))
            for _ in range(TIMES):
                assert gzip.decompress(server.get("/c.html", accept("gzip")).body) == text.encode()
                assert server.get("/c.html").body == text.encode()
    finally:
        server.close()


def test_parsed_pages():
    compare([Step("/page.shtml", accept("gzip")), Step("/page.shtml"), Step("/page.shtml", accept("gzip", **FIREFOX))], modules=["include"],
            conf="<Directory />\nOptions +Includes\n</Directory>\n", unframed=True)


def test_clear_connections_beside_other_protocols():
    """With mod_ssl and mod_http2 loaded, connections in which they take no part are as quick as without, until one asks
    for another protocol."""
    ask = {"Connection": "Upgrade", "Upgrade": "other/1"}
    compare([Step("/index.html"), Step("/index.html"), Step("/index.html", ask), Step("/big.html", accept("gzip")), Step("/none"), Step("/index.html", {"Connection": "close"}),
             Step("POST /index.html", ask, b"body"), Step("/index.html")], modules=["ssl", "socache_shmcb", "http2"])
    compare([Step("/index.html"), Step("/index.html", ask), Step("/index.html", {"Connection": "close"})], modules=["http2"], conf="Protocols http/1.1\n")


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def test_http2_after_http1():
    """The other protocol begins in the middle of a connection, or a byte at a time."""
    server = debian.DebianServer(brigade.BINARY, ["ssl", "socache_shmcb", "http2"])
    try:
        server.start()
        with server.connect() as c:
            for i in range(len(PREFACE)):
                c.send(PREFACE[i:i + 1])
            assert c.read_exactly(9)[3] == 4, "a SETTINGS frame"
        with server.connect() as c:
            for _ in range(TIMES):
                assert c.get("/index.html").status == 200
            c.send(b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + b"GET /index.html HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                   b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" + PREFACE)
            for _ in range(3):
                assert c.read_response().status == 200
            assert c.read_head().status == 101 and c.read_exactly(9)[3] == 4
    finally:
        server.close()


WORDPRESS = """RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.html [L]
"""
BY_FIELDS = """RewriteEngine On
RewriteCond %{HTTP_USER_AGENT} bad-?bot [NC]
RewriteRule . - [F]
RewriteCond %{HTTP_COOKIE} (?:^|;\\s*)theme=dark
RewriteRule . - [E=DARK:1]
Header set X-Theme dark env=DARK
RewriteCond %{THE_REQUEST} ^HEAD
RewriteRule . - [E=HEAD:1]
Header set X-Head yes env=HEAD
RewriteCond %{HTTP:X-Forwarded-Proto} ^http$
RewriteRule (.*) https://localhost/$1 [R=301,L]
RewriteCond %{HTTP_HOST} ^www\\.
RewriteRule (.*) http://localhost/$1 [R=301,L]
"""
IN_SERVER = """RewriteEngine On
RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f
RewriteRule ^/gone - [G]
RewriteCond %{DOCUMENT_ROOT}/other/%{REQUEST_URI} -f
RewriteRule ^(.*)$ /other/$1
RewriteCond %{REMOTE_ADDR} ^10\\.
RewriteRule . - [F]
"""
HTACCESS = "<Directory @ROOT@/www/>\nAllowOverride All\n</Directory>\n"
ASKED = [Step("/index.html"), Step("/big.html", accept("gzip")), Step("/none"), Step("/"), Step("HEAD /index.html"), Step("/index.html", version="1.0"), Step("/index.html", {"User-Agent": "Badbot/1"}),
         Step("/index.html", {"User-Agent": "Goodbot/1"}), Step("/image.png", {"Cookie": "a=b; theme=dark"}), Step("/image.png", {"Cookie": "theme=light"}), Step("/image.png"), Step("/image.png", host="www.localhost"),
         Step("/image.png", {"X-Forwarded-Proto": "http"}), Step("/image.png?x=1"), Step("/gone"), Step("/only.html"), Step("/sub/x.html")]
MORE_FILES = {"other/only.html": "other\n", "sub/x.html": "x\n"}


@pytest.mark.parametrize("rules", ["WORDPRESS", "BY_FIELDS"])
def test_rewriting_in_htaccess(rules):
    compare(ASKED, {**MORE_FILES, ".htaccess": globals()[rules]}, ["rewrite", "headers"], HTACCESS)


def test_rewriting_in_the_server():
    compare(ASKED, MORE_FILES, ["rewrite", "headers"], IN_SERVER.replace("RewriteEngine", "<VirtualHost *:1>\n</VirtualHost>\nRewriteEngine") + "RewriteOptions InheritDown\n")


def test_files_that_rules_look_for():
    """What a rule found missing is looked for again when it comes."""
    server = debian.DebianServer(brigade.BINARY, ["rewrite"], HTACCESS)
    rules = ("RewriteEngine On\nRewriteCond %{DOCUMENT_ROOT}/cache/%{REQUEST_URI} -f\nRewriteRule (.*) /cache/$1 [L]\n"
             "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . /index.html [L]\n")
    try:
        server.start()

        def write(name, text):  # and leave all else alone
            os.utime(server.write(name, text, base="www/html"), (1e9, 1e9))

        write(".htaccess", rules)
        write("page.html", "page\n")
        write("cache/other.html", "")

        def expect(target, body):
            for _ in range(TIMES):
                assert server.get(target).body == body.encode()
        expect("/page.html", "page\n")
        expect("/late.html", debian.FILES["index.html"])
        write("late.html", "late\n")
        expect("/late.html", "late\n")
        write("cache/page.html", "cached\n")
        expect("/page.html", "cached\n")
        write(".htaccess", "")
        expect("/page.html", "page\n")
    finally:
        server.close()
