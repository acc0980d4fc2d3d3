# SPDX-License-Identifier: Apache-2.0
"""Ways around rules: paths, methods, hosts and trailers that mean something else to a rule than to the file that is sent.

Each request goes to Apache and to Brigade, twice on one connection, so that the second may be answered from memory. Status, body of
what was allowed, Location and Allow are alike. TEST_COUNT is the number of requests that are tried, TEST_SEED where they begin.
"""
import gzip
import os
import random

import pytest

import effort
import brigade
from http_client import Client
from stock import driver

pytestmark = pytest.mark.skipif(not os.path.exists(driver.APACHE) or brigade.is_apache(brigade.BINARY), reason="Apache beside Brigade")
COUNT, SEED = effort.count(700), effort.seed("ways")
SECRET = "secret\n"
FILES = {"a.txt": "a\n", "index.html": "index\n", "denied/a.txt": SECRET, "denied/in/a.txt": SECRET, "loc/a.txt": SECRET, "re/a.txt": SECRET,
         "files/secret.txt": SECRET, "files/a.txt": "a\n", "files/a.bak": SECRET, "files/Secret.txt": "other\n", "en code/a.txt": SECRET,
         "limit/a.txt": "a\n", "except/a.txt": "a\n", "several/a.txt": "a\n", "acc/a.txt": SECRET, "acc/.htaccess": "Require all denied\n",
         "acc2/a.txt": SECRET, "acc2/b.txt": "b\n", "acc2/.htaccess": "<Files a.txt>\nRequire all denied\n</Files>\n",
         "pre/a.html": "a\n", "pre/a.html.gz": gzip.compress(b"a\n", mtime=0), "pre2/a.html": SECRET, "pre2/a.html.gz": gzip.compress(b"secret\n", mtime=0),
         "real/a.txt": SECRET, "rw/a.txt": SECRET, "info/a.txt": "a\n", "info/page.shtml": '<!--#echo var="PATH_INFO" -->\n', "list/a.txt": "a\n", "list/b.bak": SECRET,
         "ssi/in.shtml": '<!--#include virtual="/denied/a.txt" --><!--#include virtual="/files/secret.txt" --><!--#include virtual="/denied%2fa.txt" -->|\n',
         "ssi/fields.shtml": '<!--#echo var="HTTP_HOST" -->,<!--#echo var="HTTP_COOKIE" -->,<!--#echo var="HTTP_AUTHORIZATION" -->,<!--#echo var="REQUEST_METHOD" -->,'
                             '<!--#echo var="SERVER_NAME" -->\n'}
CONFIG = """LoadModule rewrite_module @MODULES@/mod_rewrite.so
LogLevel crit
UseCanonicalName Off
KeepAlive On
DirectorySlash On
<Directory @ROOT@/htdocs>
    Options Indexes Includes FollowSymLinks
    AllowOverride All
    Require all granted
    AddOutputFilter INCLUDES .shtml
    AddType text/html .shtml
</Directory>
<Directory @ROOT@/htdocs/denied>
    Require all denied
</Directory>
<Location /loc>
    Require all denied
</Location>
<LocationMatch "^/re(/|$)">
    Require all denied
</LocationMatch>
<Location "/en code">
    Require all denied
</Location>
<Files secret.txt>
    Require all denied
</Files>
<FilesMatch "\\.(bak|inc)$">
    Require all denied
</FilesMatch>
<Directory @ROOT@/htdocs/limit>
    <Limit GET>
        Require all denied
    </Limit>
</Directory>
<Directory @ROOT@/htdocs/except>
    <LimitExcept GET>
        Require all denied
    </LimitExcept>
</Directory>
<Directory @ROOT@/htdocs/several>
    <Limit POST PUT DELETE>
        Require all denied
    </Limit>
</Directory>
<Directory @ROOT@/htdocs/pre>
    <Files "*.gz">
        Require all denied
    </Files>
</Directory>
<Directory @ROOT@/htdocs/pre2>
    <Files "a.html">
        Require all denied
    </Files>
</Directory>
Alias /al/ @ROOT@/htdocs/real/
<Location /al>
    Require all denied
</Location>
<Location /real>
    Require all denied
</Location>
RewriteEngine On
RewriteRule ^/rw/ - [F]
<VirtualHost *:@PORT@>
    ServerName localhost
    RewriteEngine On
    RewriteRule ^/rw/ - [F]
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName other.example
    <Location /a.txt>
        Require all denied
    </Location>
</VirtualHost>
"""
PATHS = ["/" + name for name in FILES if not name.endswith(".htaccess")] + ["/al/a.txt", "/acc/.htaccess", "/denied/", "/denied", "/list/", "/loc", "/", "/en%20code/a.txt", "/none"]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get", "Get", "GETS", "FOO", "PROPFIND", "CONNECT", "LOCK", "M-SEARCH"]
TRAILERS = ["Host: other.example", "Authorization: Basic YTph", "Cookie: a=b", "Content-Length: 3", "Range: bytes=0-0", "If-None-Match: *", "X-HTTP-Method-Override: DELETE",
            "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", "Transfer-Encoding: chunked", "Connection: close"]
FIELDS = ["X-HTTP-Method-Override: DELETE", "X-HTTP-Method: PUT", "X-Original-URL: /a.txt", "X-Rewrite-URL: /a.txt", "Accept-Encoding: gzip", "Range: bytes=0-0",
          "X-Forwarded-Host: other.example", "Forwarded: host=other.example", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"]


def encode(rng, path, share):
    return "".join(f"%{ord(c):02{rng.choice('xX')}}" if c != "/" and rng.random() < share else c for c in path)


def double(rng, path):
    at = rng.randrange(1, len(path) + 1)
    return path[:at] + rng.choice(["%2e", "%252e%252e/", "%25", "%2525", "%c0%af", "%e0%80%af", "%00", "%0a", "%09", "%7f", "%ff"]) + path[at:]


def slashes(rng, path):
    return path[0] + path[1:].replace("/", rng.choice(["//", "/./", "%2f", "%2F", "%5c", "\\\\", "/x/../", "/%2e/", "/%2e%2e/", "/.%2e/", "///", "/..;/", "/;/"]), rng.choice([1, 2, 9]))


WAYS = [lambda rng, p: p, lambda rng, p: encode(rng, p, 0.2), lambda rng, p: encode(rng, p, 1), double, slashes, lambda rng, p: slashes(rng, encode(rng, p, 0.2)),
        lambda rng, p: p.upper(), lambda rng, p: p.title(), lambda rng, p: p + rng.choice([".", "/", "%20", " .", "::$DATA", "/.", "/..", "/../a.txt", "/x", "//", ";a=b", ";", "~", "%2f", "?", "?x=/a.txt", "#x", "/%2e"]),
        lambda rng, p: "/a.txt/.." + p, lambda rng, p: "/.." + p, lambda rng, p: "/x/%2e%2e" + p, lambda rng, p: p.lstrip("/"), lambda rng, p: "/" + p, lambda rng, p: "//other.example" + p,
        lambda rng, p: "http://" + rng.choice(["other.example", "localhost", "LOCALHOST.", "other.example:80", "a@localhost", ""]) + p, lambda rng, p: "HTTP://localhost" + p,
        lambda rng, p: "ftp://localhost" + p, lambda rng, p: p.replace(".", "%2E"), lambda rng, p: "*"]


def is_range_elsewhere(method, text):
    """docs/differences-from-apache.md, "ranges of GET only" and "ranges of pages"."""
    return "\nRange: " in text.split("\r\n\r\n")[0] and (method != "GET" or "html" in text.lower() or "%" in text)


def is_told_otherwise(config, text, apache, ours):
    """docs/differences-from-apache.md, "absolute targets" and "merged trailers"; and which of two mistakes is told."""
    if "MergeTrailers On" in config and any(f"\n{trailer}\r\n\r\n" in text for trailer in TRAILERS if trailer[:3] in ("If-", "Con", "Ran")):
        return True
    if "RegisteredMethods" in config and apache[0][0] == 501:
        return ours[0][0] == 400
    return (is_stricter(text) or "Unsafe" in config and "//a@" in text) and ours[0][0] == 400


def is_stricter(text):
    target, host = text.split(" ")[1], text.split("\r\n")[1].removeprefix("Host: ")
    return target.lower().startswith("http:///") or "://" in target and (not host or " " in host)


def request(rng):
    """One request as bytes, with the method."""
    method = "GET" if rng.random() < 0.6 else rng.choice(METHODS)
    target = rng.choice(WAYS)(rng, rng.choice(PATHS))
    host = "localhost" if rng.random() < 0.8 else rng.choice(["other.example", "LOCALHOST", "localhost.", "other.example:81", "localhost:@PORT@", "[::1]", "", "a b", "other.example, localhost"])
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    if rng.random() < 0.2:
        lines.append(rng.choice(FIELDS))
    body = ""
    if method not in ("GET", "HEAD", "TRACE", "CONNECT") and rng.random() < 0.5 or rng.random() < 0.1:
        lines.append("Transfer-Encoding: chunked")
        body = "1\r\nx\r\n0\r\n" + (rng.choice(TRAILERS) + "\r\n" if rng.random() < 0.7 else "") + "\r\n"
    return method, "\r\n".join(lines) + "\r\n\r\n" + body


def ask(server, method, text):
    """[(status, body of what was allowed, Location, Allow)], the request twice on a connection."""
    said = []
    data = text.replace("@PORT@", str(server.port)).encode("latin-1")
    try:
        with Client("127.0.0.1", server.port, 10) as c:
            for _ in range(2):
                c.send(data)
                answer = c.read_response(method)
                allow = ",".join(sorted((answer["Allow"] or "").replace(" ", "").split(",")))
                location = (answer["Location"] or "").replace(str(server.port), "PORT")
                body = answer.body.replace(b":%d" % server.port, b":PORT") if answer.status < 300 and method not in ("TRACE", "OPTIONS") else b""
                said.append((answer.status, body, location, allow))
                if (answer["Connection"] or "").lower() == "close":
                    break
    except (OSError, EOFError, ValueError, AssertionError) as e:
        said.append(type(e).__name__)
    return said


def shape(said):
    """What a rule decides."""
    return [(one[0] if one[0] != 206 else 200, *one[2:]) if isinstance(one, tuple) else one for one in said]


def settle(server):
    for name in FILES:
        os.utime(server.path("htdocs", name), (1e9, 1e9))


SETTINGS = ["", "AllowEncodedSlashes On\n", "AllowEncodedSlashes NoDecode\n", "MergeSlashes Off\n", "MergeTrailers On\n", "TraceEnable extended\n", "TraceEnable off\n",
            "HttpProtocolOptions Unsafe\n", "HttpProtocolOptions RegisteredMethods\n", "AcceptPathInfo On\n", "UseCanonicalName On\n", "StrictHostCheck ON\n"]


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda text: text.strip() or "as ever")
def pair(request):
    servers = [brigade.Server(CONFIG.replace("LogLevel crit\n", "LogLevel crit\n" + request.param), FILES, binary=binary, modules=("include",)) for binary in (driver.APACHE, brigade.BINARY)]
    for server in servers:
        settle(server)
        server.expect_trouble = True
        server.start()
    yield servers
    for server in servers:
        server.close()


def test_a_search(pair):
    rng, different = random.Random(SEED + pair[0].config), []
    for _ in range(COUNT):
        method, text = request(rng)
        apache, ours = (ask(server, method, text) for server in pair)
        if apache != ours and not is_told_otherwise(pair[0].config, text, apache, ours) and not (is_range_elsewhere(method, text) and shape(apache) == shape(ours)):
            different.append(f"{text!r}\n   Apache  {apache}\n   Brigade {ours}")
    assert not different, f"{len(different)} of {COUNT}:\n" + "\n".join(different[:40])
