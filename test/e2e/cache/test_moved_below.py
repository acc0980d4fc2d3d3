# SPDX-License-Identifier: Apache-2.0
"""Redirects by rules of a server: once some of the URLs below a prefix were asked for, others get theirs from memory, as by the full way,
byte for byte: with their own path and query, in both logs; and only where nothing else decides by them. TEST_SEED repeats the random ones,
TEST_COUNT=20000 sends so many."""
import random

import pytest

import effort
from brigade import APACHE_MODULES
from cache_site import await_hits, from_memory, known, lines, one_loop, settle
from planned_peers import PeerOfHTTP1, PeerOfHTTP2

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

COUNT = effort.count(3000, 20000)
SEED = int(effort.seed(random.randrange(1 << 30)))
CONFIG = f"""MaxKeepAliveRequests 0
KeepAliveTimeout 300
RequestReadTimeout header=0 body=0
Protocols h2c http/1.1
LoadModule rewrite_module {APACHE_MODULES}/mod_rewrite.so
<Location /metrics>
SetHandler metrics
</Location>
<Location /all/section>
Header set X-Section 1
</Location>
SetEnvIf Request_URI "picture" image
Header always set X-Image 1 env=image
RewriteEngine On
RewriteRule ^/a\\.txt$ - [L]
RewriteRule ^/all/(.*)$ https://elsewhere.example/all/$1 [R=301,L]
RewriteRule ^/same https://%{{HTTP_HOST}}%{{REQUEST_URI}} [R=307,L]
RewriteCond %{{HTTP_USER_AGENT}} robot
RewriteRule ^/robots/(.*)$ https://elsewhere.example/robots/$1 [R,L]
RewriteRule ^/robots/(.*)$ https://elsewhere.example/people/$1 [R=303,L]
RewriteRule ^/lang/([a-z]+)/(.*)$ https://$1.example/$2 [R,L]
RewriteRule ^/number/([0-9]+)/(.*)$ /n/$2?id=$1 [R,L]
RewriteRule ^/appended/(.*)$ https://elsewhere.example/q/$1?a=b [R,L,QSA]
RewriteRule ^/dropped/(.*)$ https://elsewhere.example/d/$1 [R,L,QSD]
RewriteCond %{{QUERY_STRING}} secret
RewriteRule ^/asked/ - [F]
RewriteRule ^/asked/(.*)$ https://elsewhere.example/asked/$1 [R,L]
RewriteRule ^/strip/[^/]+/(.*)$ /x/$1 [R,L]
RewriteRule ^/twice/(.*)$ /$1/$1 [R,L]
RewriteRule ^/go/.*secret - [F]
RewriteRule ^/go/(.*) https://elsewhere.example/go/$1 [R=301,L,NE]
RewriteRule ^/gone/ - [G]
RewriteCond %{{REQUEST_FILENAME}} !-f
RewriteRule ^/file/(.*)$ https://elsewhere.example/file/$1 [R,L]
RewriteRule ^/inside/(.*)$ /a.txt [L]
RedirectMatch 301 "^/match/(.*)$" "https://elsewhere.example/m/$1"
RedirectMatch "^/two/([a-z]+)/(.*)$" "https://$1.example/two/$2"
RedirectMatch "^/three/([a-z]+)/([a-z]+)/(.*)$" "https://$1.example/$2/$3"
RedirectMatch "^/old/(.*)\\.old$" "https://elsewhere.example/$1.new"
RedirectMatch "^/cut/[^/]*/(.*)$" "/cut/$1"
RedirectMatch gone "^/past/"
Redirect permanent /far https://elsewhere.example/near
Redirect /near/er https://other.example/er
Redirect 302 /near /there
LogFormat "%h \\"%r\\" %>s %B %U %q %f %{{SCRIPT_URL}}e %{{SCRIPT_URI}}e %{{X-Image}}o %{{Location}}o" all
CustomLog @ROOT@/access all
"""
FILES = {"a.txt": "x", "file/there": "x", "there/x": "x"}
PREFIXES = ["/all/", "/same/", "/robots/", "/lang/de/", "/lang/de/x/", "/lang/", "/number/7/", "/appended/", "/dropped/", "/asked/", "/strip/", "/strip/x/", "/twice/", "/go/", "/gone/", "/file/", "/inside/", "/match/", "/match/a/",
            "/two/de/", "/two/", "/three/a/b/", "/old/", "/cut/", "/cut/x/", "/past/", "/far/", "/near/", "/near/er/", "/there/", "/"]
NAMES = ["a", "b", "n1", "x.html", "x.png", "picture", "secret", "section", "there", "x", "y.old", "z.old", "de", "near", "all", "1", "UPPER", "a_b-c~d", "a.b.c", "é", "%41", "%2f", "%20", "a+b", "a,b;c", "a&b", "a'b", ".", "..", ".x", "", "n" * 200]
QUERIES = ["", "", "", "", "?a=b", "?a=1&b=2&c", "?", "?x=%20y", "?secret", "?a=b/c/d", "?u=https://x/", "?a'b", "?a=<b>", "?a?b", "?&amp;", "?a=b+c"]
FIELDS = [[], [], [], ["User-Agent: a robot"], ["Accept-Encoding: gzip"], ["If-None-Match: *"], ["Range: bytes=0-1"], ["Cookie: a=b"], ["Cache-Control: no-cache"]]


class Request:
    leaves = None

    def __init__(self, chance):
        parts = [chance.choice(NAMES) if chance.random() < .3 else f"n{chance.randrange(10 ** 6)}" + chance.choice(["", "", "", ".html", ".png"]) for _ in range(chance.choice([1, 1, 2, 3, 5]))]
        self.target = (chance.choice(PREFIXES) + "/".join(parts) + chance.choice(["", "", "", "/"])).replace("é", "%c3%a9") + chance.choice(QUERIES)
        self.method = "HEAD" if chance.random() < .05 else "GET"
        self.version = "1.0\r\nConnection: keep-alive" if chance.random() < .05 else "1.1"
        self.fields = chance.choice(FIELDS)

    @property
    def text(self):
        return "\r\n".join([f"{self.method} {self.target} HTTP/{self.version}", "Host: localhost", *self.fields, "", ""])

    @property
    def of_stream(self):
        return self.method, self.target, [tuple(f.split(": ")) for f in self.fields], b""


class Backend:
    """There is none."""
    requests, port = [], "no port"


def twins(serve, config=CONFIG):
    servers = [one_loop(serve, more + config, files=FILES) for more in ("FileCacheEntries 4096\n", "FileCacheEntries 0\n")]
    for server in servers:
        settle(server.path("htdocs"))
    return servers


@pytest.mark.parametrize("prefix,tail,is_known", [
    ("/all/", "", 1), ("/same/", "", 1), ("/lang/de/", "", 1), ("/asked/", "", 1), ("/go/", "", 1), ("/match/", "", 1), ("/two/de/", "", 1), ("/far/", "", 1), ("/near/", "", 1), ("/near/er/", "", 1), ("/dropped/", "", 1),
    ("/all/", "?a=b&c=d", 1), ("/same/", "?a", 1), ("/match/", "?a=1", 1), ("/far/", "?a=1", 1),
    ("/asked/", "?a=b", 1), ("/asked/", "?secret", 0), ("/number/7/", "", 0), ("/appended/", "?a", 0), ("/dropped/", "?a", 0), ("/three/a/b/", "", 0), ("/old/", ".old", 0), ("/file/", "", 0), ("/all/", "?a=%20", 0)])
def test_new_urls_come_from_memory(serve, prefix, tail, is_known):
    """Below the prefix, however deep; or not, where something else counts."""
    server, plain = twins(serve)
    with server.connect() as c, plain.connect() as p:
        for i in range(8):
            c.get(f"{prefix}warm{i}/warm/warm{tail}")
        assert from_memory(server, c, f"{prefix}a/b/c/", tail) == (20 if is_known else 0)
        for i in range(5):
            target = f"{prefix}d{i}/e/f{tail}"
            one, other = c.get(target), p.get(target)
            assert (one.status, one["Location"], one.body) == (other.status, other["Location"], other.body), target


@pytest.mark.parametrize("folder,status", [("/there/", 404), ("/past/", 410)])
def test_names_beside_rules_come_from_memory(serve, folder, status):
    """Rules of the server that do not match keep nothing out."""
    server, plain = twins(serve)
    with server.connect() as c, plain.connect() as p:
        known(c, folder)
        assert from_memory(server, c, folder) == 20
        assert c.get(folder + "other").status == p.get(folder + "other").status == status


@pytest.mark.parametrize("protocol", [PeerOfHTTP1, PeerOfHTTP2], ids=["http1", "http2"])
def test_each_is_answered_and_logged_as_by_the_full_way(serve, protocol):
    chance = random.Random(SEED)
    servers = twins(serve)
    peers = [protocol(server, Backend) for server in servers]
    for _ in range(COUNT):
        request = Request(chance)
        one, other = (peer.ask(request)[0] for peer in peers)
        assert one == other, f"TEST_SEED={SEED}: {request.text!r}"
    for peer in peers:
        peer.leave()
    await_hits(servers[0], COUNT // 20)
    for server in servers:
        server.stop()
    for name in ("access", "logs/error_log"):  # streams end in any order
        assert sorted(lines(servers[0], name)) == sorted(lines(servers[1], name))
