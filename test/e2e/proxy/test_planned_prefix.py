# SPDX-License-Identifier: Apache-2.0
"""Twins for URLs that nobody asked for before, below the prefix of a ProxyPass: one plan for all of them. Backends get the same bytes, clients
the same answers, and logs tell the same as from a server without plans. TEST_COUNT=60000 sends so many, TEST_SEED repeats them."""
import random

import pytest

import effort
from brigade import APACHE_MODULES
from backend import Backend
from planned_peers import PeerOfHTTP1, PeerOfHTTP2, compare
from planned_site import ANSWERS, CONFIG, DATE, NOT_WHOLE, TYPE, WHOLE, full_ways, text_of

pytestmark = pytest.mark.only("brigade")

COUNT = effort.count(9000, 60000)
SEED = int(effort.seed(random.randrange(1 << 30)))
TO = "http://127.0.0.1:{port}"
PASS = f"ProxyPass /p/ {TO}/base/\n"
BALANCER = f"<Proxy balancer://b>\nBalancerMember {TO}\nBalancerMember http://localhost:{{port}}/second\nProxySet lbmethod=hash\n</Proxy>\n"
APPLICATION = (  # as sites have it
    "<FilesMatch \"^\\.ht\">\nRequire all denied\n</FilesMatch>\n<FilesMatch \"\\.php$\">\nSetHandler \"proxy:unix:/nowhere|fcgi://localhost/\"\n</FilesMatch>\n"
    "<Directory />\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\nDirectoryIndex index.html index.php\nSetEnvIf Request_URI \"\\.png$\" image\n"
    "AddOutputFilterByType DEFLATE text/html text/css application/json\nHeader always set X-Content-Type-Options nosniff\nProxyPreserveHost On\n"
    f"RequestHeader set X-Forwarded-Proto http\n{BALANCER}ProxyPass /p/ balancer://b/\nProxyPassReverse /p/ balancer://b/\n"
    "ProxyPass /shop/ balancer://b/\nProxyPassReverse /shop/ balancer://b/\nCacheEnable memory /shop/\n")

LOADED = "BuiltinModules all\n" + "".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n" for name in ("lua", "dav", "dav_fs", "sed", "ext_filter"))

# name: (configuration, 1: most new URLs go by plans, 0: none does, None: some do, of those that are decided alike)
SITES = {
    "folder": (PASS, 1),
    "root": (f"ProxyPass /metrics !\nProxyPass / {TO}/\n", 1),
    "no-slash": (f"ProxyPass /p {TO}/base\nProxyPass /q {TO}\n", 1),
    "name": (f"ProxyPass /p/ {TO}/base-\n", 0),
    "nested": (f"ProxyPass /p/deep/er/ {TO}/nested/\nProxyPass /p/deep/ !\n{PASS}ProxyPass /p/a/ {TO}/never/\n", None),
    "patterns": (f"ProxyPassMatch ^/p/[0-4] !\nProxyPassMatch ^/p/a/[5-9] {TO}/matched\n{PASS}", None),
    "pattern": (f"ProxyPassMatch ^/p/(.*)$ {TO}/base/$1\n", 0),
    "application": (APPLICATION, 1),
    "loaded": (LOADED + APPLICATION, 1),
    "host": (f"{PASS}ProxyPreserveHost On\nProxyVia On\n", 1),
    "member": (f"{BALANCER}ProxyPass /p/ balancer://b/\nProxyPassReverse /p/ balancer://b/\n", 1),
    "reverse": (f"{PASS}ProxyPassReverse /p/ {TO}/base/\nProxyPassReverseCookiePath /base/ /p/\n", 1),
    "changed": (f"{PASS}RequestHeader set X-B 2\nRequestHeader unset Referer\nHeader set X-New 1\nHeader edit Set-Cookie a=b a=c\n", 1),
    "unset": (f"{PASS}RequestHeader unset X-Forwarded-For\nRequestHeader unset X-Forwarded-Host\nRequestHeader unset Via\n", 1),
    "files": (f"{PASS}<FilesMatch \"html$\">\nRequire all denied\n</FilesMatch>\n", 1),
    "types": (f"{PASS}AddType text/x-a .html\nAddType text/x-b .a.html\nAddOutputFilterByType DEFLATE text/x-b\n", 1),
    "locations": (f"{PASS}<Location /p/deep>\nRequestHeader set X-Of section\n</Location>\n<LocationMatch ^/p/a/[0-4]>\nRequire all denied\n</LocationMatch>\n", None),
    "location": (f"{PASS}<Location /p/>\nRequestHeader set X-Of section\n</Location>\n", 1),
    "named-location": (f"{PASS}<LocationMatch ^/p/(?<name>[0-9]+)>\nRequestHeader set X-Of %{{MATCH_NAME}}e\n</LocationMatch>\n", None),
    "if-location": (f"{PASS}<Location /p/>\n<If \"%{{REQUEST_URI}} =~ m#/1#\">\nRequestHeader set X-Of if\n</If>\n</Location>\n", 0),
    "in-location": (f"<Location /p/>\nProxyPass {TO}/base/\n</Location>\nProxyPass /q {TO}\n", 1),
    "in-location-with-sections": (f"<Location /p/>\nProxyPass {TO}/base/\n</Location>\n<Proxy {TO}/base/deep>\nRequestHeader set X-Of section\n</Proxy>\n", 0),
    "deep-in-location": (f"{PASS}<Location /p/deep/>\nProxyPass {TO}/of-section/\nHeader set X-New 1\n</Location>\n<Location /p/a>\nProxyPass !\n</Location>\n", None),
    "sections": (f"{PASS}<Proxy {TO}/base/deep>\nRequestHeader set X-Of section\n</Proxy>\n<ProxyMatch /a/[0-4]>\nRequestHeader set X-Matched 1\n</ProxyMatch>\n", None),
    "denied": (f"{PASS}<Proxy {TO}/base/deep>\nRequire all denied\n</Proxy>\n", None),
    "section-reads": (f"{PASS}<Proxy *>\nSetEnvIf Request_URI /([0-9]) DIGIT=$1\n</Proxy>\nRequestHeader set X-Digit %{{DIGIT}}e env=DIGIT\n", 0),
    "groups": (f"{PASS}<ProxyMatch /(?<digit>[0-9])[^/]*$>\nRequestHeader set X-Digit %{{MATCH_DIGIT}}e\n</ProxyMatch>\n", 0),
    "variables": (f"{PASS}SetEnvIf Request_URI ^/p/a A=1\nRequestHeader set X-Of %{{A}}e env=A\n", None),
    "copied": (f"{PASS}SetEnvIf Request_URI ^/p/(.*) REST=$1\nRequestHeader set X-Rest %{{REST}}e\n", 0),
    "expression": (f"{PASS}RequestHeader set X-Path expr=%{{REQUEST_URI}}\n", 0),
    "condition": (f"{PASS}<If \"%{{REQUEST_URI}} =~ m#/1#\">\nRequestHeader set X-Of if\n</If>\n", 0),
    "barred": (f"{PASS}SetEnvIf Request_URI ^/p/a/[0-4] no-proxy\n", None),
    "worker": (f"ProxyPass /special/ {TO}/base/deep/er/ disablereuse=on\n{PASS}", 0),
    "worker-of-pattern": (f"ProxyPassMatch ^/special/(.*)$ {TO}/base/deep/$1 disablereuse=on\n{PASS}", 0),
    "remote": (f"{PASS}ProxyRemote {TO}/base/deep/ {TO}\n", 0),
    "rules": (f"{PASS}RewriteEngine On\nRewriteRule ^/p/a/0 - [F]\n", 1),
    "ruled": (f"RewriteEngine On\nRewriteRule ^/p/(.*) {TO}/base/$1 [P]\n", 0),
    "servlet": (PASS.replace("base/\n", "base/ mapping=servlet\n"), 0),
    "encoded": (PASS.replace("base/\n", "base/ mapping=encoded\n"), 0),
    "nocanon": (PASS.replace("base/\n", "base/ nocanon\n"), 0),
    "interpolated": (f"ProxyPassInterpolateEnv On\nProxyPass /p/ {TO}/base/ interpolate\n", 0),
    "cached": (f"{PASS}CacheEnable memory /p/deep/\n", None),
    "limited": (f"{PASS}RequestLimit a \"key=%{{HTTP_COOKIE}}\" rate=1/h burst=5\n", None),
    "limits": (f"{PASS}RequestLimit a by=client rate=1000000/s\n<Location /p/deep>\nRequestLimit b by=client \"key=%{{HTTP_COOKIE}}\" rate=1/h burst=5\n</Location>\n", None),
    "limited-by-path": (f"{PASS}RequestLimit a by=path rate=1000000/s\n", 0),
    "limited-by-uri": (f"{PASS}RequestLimit a \"key=%{{REQUEST_URI}}\" rate=1000000/s\n", 0),
    "limited-if": (f"{PASS}RequestLimit a \"when=%{{REQUEST_URI}} =~ m#/1#\" rate=1000000/s\n", 0),
}
PATHS = ["/p/{}", "/p/a/{}", "/p/deep/er/{}", "/p/deep/{}/", "/p/{}/x/y.html", "/p/a/{}.html", "/q/{}", "/{}", "/p/a/{}.a.html", "/p/{}~x", "/p/a-{}/b_c.d/e", "/p/.{}", "/p//{}",
         "/p/./{}", "//p/{}", "/p/a//{}", "/p/%41{}", "/p/a/%2e%2e/{}", "/p/a/../{}", "/p/{};x=y", "/p/{}?", "/p/{}?a b", "/p/{}?a#b", "/p/{}+", "/p/{}%20", "/p/", "/p", "/p{}",
         "/shop/{}", "/special/{}", "/p/{}.php", "/p/{}.png", "/p/{}/.htaccess", "/p/{}:1", "/p/@{}", "http://localhost/p/{}", "/P/{}"]
FIELDS = ["Cookie: a=b", "Authorization: Basic eDp5", "X-B: 1", "Referer: http://localhost/p/1", "Connection: close", "If-None-Match: \"x\"", "Host: other:81", "Accept-Encoding: gzip",
          "X-Forwarded-For: 192.0.2.1"]
ANSWERED = [*["plain"] * 8, *["here"] * 3, *WHOLE, *NOT_WHOLE]
LOG = "KeepAliveTimeout 300\nMaxKeepAliveRequests 0\nProtocols h2c http/1.1\n" \
      "LogFormat \"- %m %U %q %>s %B %f %{X-A}o %{Content-Type}o %{Set-Cookie}o %{Referer}i %{X-Of}i %{A}e %{REST}e\" all\nCustomLog logs/access.log all\n"


def here(port, target):
    return text_of("302 Found", DATE, TYPE, f"Location: http://127.0.0.1:{port}{target}", f"Set-Cookie: a=b; path={target.partition('?')[0]}", "Content-Length: 2", body=b"ab")


def answers(connection, request):
    name = request["X-Answer"] or "plain"
    port = connection.socket.getsockname()[1]
    return here(port, request.target) if name == "here" else ANSWERS[name].replace(b"{port}", str(port).encode())


class Request:
    def __init__(self, chance):
        self.method = chance.choices(["GET", "HEAD", "POST"], [96, 3, 1])[0]
        self.leaves = None
        self.body = "abc" if self.method == "POST" else ""
        path = chance.choice(PATHS[:7]) if chance.random() < .8 else chance.choice(PATHS)
        self.target = path.format(chance.randrange(10000))
        if "?" not in path and chance.random() < .3:
            self.target += chance.choice(["?s=a+b", "?utm=x&y=%C3%A4", "?" + str(chance.randrange(1000)), "?a[]=b|c", "?a=b?c=d", "?\"<", "?x=/p/../y"])
        extra = chance.sample(FIELDS, chance.choice([0, 0, 0, 1, 2]))
        self.fields = [] if any(f.startswith("Host") for f in extra) else ["Host: localhost"]
        self.fields += [f"X-Answer: {chance.choice(ANSWERED)}", *extra, *(["Content-Length: 3"] if self.body else [])]

    @property
    def text(self):
        return "\r\n".join([f"{self.method} {self.target} HTTP/1.1", *self.fields, "", self.body])

    @property
    def of_stream(self):
        pairs = [(name, value.strip()) for name, _, value in (f.partition(":") for f in self.fields) if name not in ("Connection", "Content-Length")]
        return self.method, self.target.replace("http://localhost", ""), pairs, self.body.encode()


def of_site(text, backend):
    return CONFIG + text.replace("{port}", str(backend.port)) + LOG


@pytest.mark.parametrize("protocol", [PeerOfHTTP1, PeerOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("site", SITES)
def test_new_urls(serve, site, protocol):
    more, planned_too = SITES[site]
    with Backend({"*": answers}) as backend:
        peers = [protocol(serve(first + of_site(more, backend)), backend) for first in ("", "FileCacheEntries 0\n")]
        asked, ways = compare(peers, Request, COUNT // len(SITES), SEED, order=sorted)  # a line may be behind that of the next request
    print(f"{site}: {asked} requests, {ways} of them the full way")
    assert planned_too is None or asked < 200 or (ways < asked * .75 if planned_too else ways > asked * .8)


@pytest.mark.parametrize("site", ["folder", "root", "no-slash", "application"])
def test_one_plan_for_all(serve, site):
    """Once the prefix is known no new URL takes the full way, and the backend is asked for each as it is."""
    base = {"folder": "/base", "root": "/p", "no-slash": "/base", "application": ""}[site]
    with Backend({"*": answers}) as backend:
        server = serve(of_site(SITES[site][0].replace("/second", ""), backend))
        with server.connect() as client:
            for n in range(6):
                assert client.get(f"/p/first/{n}").body == b"hello\n"
                assert client.get(f"/p/first/{n}?s={n}").body == b"hello\n"
            before = full_ways(server)
            for n in range(50):
                for path in (f"/{n}", f"/{n}/a-title/", f"/tag/x/{n}?a={n}&b=/c"):
                    assert client.get(f"/p{path}").body == b"hello\n"
                    assert backend.requests[-1].target == base + path
        assert full_ways(server) - before <= 1


def test_each_extension_has_its_own(serve):
    """Types follow from it, and what is done for one type is not done for another."""
    with Backend({"*": lambda connection, request: text_of("200 OK", DATE, "Content-Length: 2", body=b"ab")}) as backend:
        server = serve(of_site(f"{PASS}AddType text/x-a .aaa\nAddType text/x-b .bbb\n", backend))
        with server.connect() as client:
            for n in range(6):
                for extension, kind in (("aaa", "text/x-a"), ("bbb", "text/x-b")):
                    assert client.get(f"/p/d.bbb/{n}.{extension}")["Content-Type"] == kind
