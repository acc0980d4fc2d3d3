# SPDX-License-Identifier: Apache-2.0
"""What scripts of FastCGI are told, in which order: the same as by Apache, whatever the server knows of the folders on the way.

Random targets for a site of WordPress' kind (rules of an access file, PATH_INFO, encoded and odd names, DirectoryIndex, MultiViews, Alias) go to
Apache, to Brigade twice, so that the second finds what the first made known, and to one that remembers nothing.
TEST_COUNT=N tries N targets; TEST_SEED another seed.
"""
import contextlib
import os
import random
import shutil
import tempfile

import pytest

import effort
import brigade
from script_backend import Script
from test_compare import APACHE, pytestmark  # noqa: F401

COUNT = effort.count(300)
SEED = effort.seed(1)
CONF = """DocumentRoot "@SITE@"
DirectoryIndex index.php index.html
AllowEncodedSlashes {slashes}
Alias /alias "@SITE@/wp/"
<Directory "@SITE@">
    Options FollowSymLinks
    AllowOverride All
    Require all granted
</Directory>
<Directory "@SITE@/multi">
    Options FollowSymLinks MultiViews
</Directory>
<FilesMatch "\\.(php|phtml)$">
    SetHandler "proxy:unix:@SCRIPT@|fcgi://localhost{path}"
</FilesMatch>
ProxyPass /pass "unix:@SCRIPT@|fcgi://localhost/there"
ProxyPass /raw "unix:@SCRIPT@|fcgi://localhost/there" nocanon
AddType application/x-httpd-php .php
<Location "/loc">
    SetEnv IN_LOCATION "yes it is"
</Location>
SetEnvIf Request_URI "^/shop" SHOP=1 HTTP_X_TWO=from-the-server
CustomLog "@ROOT@/logs/access_log" "%r %>s"
RewriteEngine On
RewriteRule "^/server/(.*)$" "/index.php/$1" [PT,E=RULE:$1]
"""
SITE = {
    ".htaccess": "RewriteEngine On\nRewriteBase /\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteRule ^index\\.php$ - [L]\n"
                 "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]\n",
    "index.php": "", "info.php": "", "style.css": "css\n", "a b.php": "", "plus+and&.php": "", "umlaut-\u00e4.php": "", "q?mark.php": "", "per%cent.php": "",
    "wp/.htaccess": "RewriteEngine Off\n", "wp/index.php": "", "wp/post.php": "", "wp/sub/index.php": "", "wp/sub/deep/page.phtml": "", "wp/none/x.css": "x\n",
    "shop/.htaccess": "SetEnv SHOP_ENV 1\nRewriteEngine On\nRewriteRule ^item/([0-9]+)/?(.*)$ cart.php?id=$1&rest=$2 [QSA,L,E=ITEM:$1]\n"
                      "RewriteRule ^go/(.*)$ cart.php/$1 [L]\n",
    "shop/cart.php": "", "shop/index.html": "shop\n",
    "multi/.htaccess": "RewriteEngine Off\n", "multi/page.php": "", "multi/page.txt.en": "text\n", "multi/other.phtml": "", "multi/index.php": "",
    "loc/.htaccess": "RewriteEngine Off\nFallbackResource /loc/front.php\nAcceptPathInfo Off\n", "loc/front.php": "", "loc/other.php": "",
}
PATHS = ["/", "/index.php", "/info.php", "/style.css", "/a%20b.php", "/plus+and&.php", "/umlaut-%C3%A4.php", "/q%3Fmark.php", "/per%25cent.php", "/wp", "/wp/", "/wp/index.php",
         "/wp/post.php", "/wp/sub", "/wp/sub/", "/wp/sub/deep/page.phtml", "/wp/none/", "/shop/", "/shop/cart.php", "/shop/item/12", "/shop/item/7/rest", "/shop/go/away", "/multi/",
         "/multi/page", "/multi/page.php", "/multi/other", "/loc/", "/loc/other.php", "/loc/none", "/alias", "/alias/", "/alias/post.php", "/alias/sub/", "/server/x", "/server/",
         "/pass", "/pass/x.php", "/raw/x.php", "/raw/a%20b%3Fc"]
SEGMENTS = ["hello-world", "2026", "a%20b", "%C3%A4%C3%B6", "%25", "%3f", "%23", "x=y", "a;b", "it's", "<b>", "%22q%22", "%2e%2e", "..", ".", "", "caf%E9", "~user", "a+b", "a%2Bb", "x.php", "style.css", "%7Ex",
            "UPPER", "feed", "page", "a%2Fb", "%5Cx", "(1)", "a:b", "*", "a,b", "%0a", "%09", "$1", "%7B%7D", "[x]", "^", "`", "|"]
QUERIES = ["", "", "", "?", "?a=1", "?a=%20&b=+", "?x/y", "?%C3%A4", "?a=1?b=2", "?caf%E9", "?a[]=1&a[]=2", "?%", "?s=%22'<>", "?=", "?&&"]
FIELDS = [("Cookie", "a=b; c=d"), ("X-Two", "1"), ("X_Under", "2"), ("X.Dot", "3"), ("Authorization", "Basic YTpi"), ("Proxy", "http://evil/"), ("Content-Type", "text/x"),
          ("Accept-Language", "en, de"), ("Referer", "http://www.example/caf\u00e9?x"), ("X-Two", "again"), ("If-None-Match", '"x"'), ("Accept", "text/html, */*")]
METHODS = ["GET"] * 6 + ["HEAD", "POST", "OPTIONS", "PUT", "DELETE"]
HOSTS = ["www.example"] * 4 + ["WWW.Example:80", "www.example:8080", "10.1.2.3", "[::1]:99"]


def requests(n):
    lot = random.Random(SEED)
    for _ in range(n):
        path = lot.choice(PATHS)
        if lot.random() < 0.6:
            path = path.rstrip("/") + "".join("/" + lot.choice(SEGMENTS) for _ in range(lot.randrange(1, 4)))
        if lot.random() < 0.05:
            path = path.replace("/", "//", 1)
        if lot.random() < 0.1:
            path += "/"
        target = path + lot.choice(QUERIES)
        if lot.random() < 0.05:
            target = "http://absolute.example" + target
        method = lot.choice(METHODS)
        fields = lot.sample(FIELDS, lot.randrange(0, 5))
        yield method, target, fields, b"body=1" if method in ("POST", "PUT") else b"", lot.choice(HOSTS)


class Asked:
    """A server, the folder of documents that all have in common, and the backend."""

    def __init__(self, site, one, binary, slashes, path, more=""):
        self.one = one
        config = (CONF.format(slashes=slashes, path=path) + more).replace("@SITE@", site).replace("@SCRIPT@", one.path)
        self.server = brigade.Server(config, binary=binary, modules=["proxy", "proxy_fcgi", "rewrite", "negotiation", "setenvif", "env", "alias"])
        self.server.start()
        self.connection = None

    def ask(self, method, target, fields, body, host):
        data = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields)
        data = data.encode("latin-1") + (b"Content-Length: %d\r\n" % len(body) if body else b"") + b"\r\n" + body
        self.one.seen.clear()
        for again in (1, 0):
            if not self.connection:
                self.connection = self.server.connect()
            try:
                self.connection.send(data)
                answer = self.connection.read_response(method)
                break
            except (ConnectionError, EOFError):
                self.connection = None
                assert again
        if (answer["Connection"] or "").lower() == "close":
            self.connection.close()
            self.connection = None
        return answer.status, [self.clean(p, b) for p, b in self.one.seen]

    def clean(self, params, body):
        ours = {"SERVER_SOFTWARE": "software", "SERVER_SIGNATURE": "signature", "REMOTE_PORT": "port"}
        shown = [(n, ours.get(n, v).replace(str(self.server.port), "PORT")) for n, v in params.items()]
        return shown, body

    def close(self):
        if self.connection:
            self.connection.close()
        self.server.expect_trouble = True
        self.server.close()


@contextlib.contextmanager
def asked(one, slashes, path):
    site = tempfile.mkdtemp(prefix="brigade-docs-")
    os.chmod(site, 0o755)
    servers = []
    try:
        for name, text in SITE.items():
            os.makedirs(os.path.dirname(f"{site}/{name}"), exist_ok=True)
            with open(f"{site}/{name}", "w", encoding="ascii") as f:
                f.write(text)
        for binary, more in ((APACHE, ""), (brigade.BINARY, "EventLoops 1\n"), (brigade.BINARY, "EventLoops 1\nFileCacheEntries 0\n")):
            servers.append(Asked(site, one, binary, slashes, path, more))
        yield servers
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(site)


@pytest.mark.parametrize("slashes, path", [("Off", ""), ("NoDecode", "/"), ("On", "")])
def test_environments(slashes, path):
    with Script("fcgi", lambda params, body, send: one.answer(send, b"page\n")) as one, asked(one, slashes, path) as (apache, ours, forgetful):
        wrong, scripts = [], 0
        for request in requests(COUNT):
            theirs = apache.ask(*request)
            scripts += bool(theirs[1])
            for who, server in (("first", ours), ("second", ours), ("forgetful", forgetful)):
                mine = server.ask(*request)
                if mine != theirs:
                    wrong.append(f"{who}: {request}\n  Apache:  {differing(theirs, mine)}\n  Brigade: {differing(mine, theirs)}")
        assert scripts > COUNT / 3
        assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])


def differing(one, other):
    """What one has and the other has not; all where only the order differs."""
    if one[0] != other[0] or len(one[1]) != len(other[1]):
        return one[0], [dict(p).get("SCRIPT_FILENAME") for p, _ in one[1]]
    told = [[pair for pair in p if pair not in q] for (p, _), (q, _) in zip(one[1], other[1])]
    return told if any(told) else one
