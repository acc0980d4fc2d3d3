# SPDX-License-Identifier: Apache-2.0
"""Twins for URLs that nobody asked for before, which rules lead to one script: a plan for all that is not there below a folder. Backends get
the same variables, clients the same answers, and logs tell the same as from a server without plans; and files, folders and rules that appear
count at once. TEST_COUNT=60000 sends so many, TEST_SEED repeats them."""
import os
import random
import re

import pytest

import effort
from planned_peers import compare
from planned_scripts import LOG, SCRIPTS, ScriptsOfHTTP1, ScriptsOfHTTP2, old, script
from planned_site import CONFIG, figures_of, full_ways
from script_backend import Script
from tls_site import start

pytestmark = pytest.mark.only("brigade")

COUNT = effort.count(4000, 40000)
SEED = int(effort.seed(random.randrange(1 << 30)))
RULES = "RewriteEngine On\nRewriteRule ^metrics$ - [L]\n{before}RewriteRule ^index\\.php$ - [L]\nRewriteCond %{{REQUEST_FILENAME}} !-f\nRewriteCond %{{REQUEST_FILENAME}} !-d\nRewriteRule . {to} [L]\n"
AUTHORIZATION = "RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\n"
EXPLOITS = "".join(f"RewriteCond %{{QUERY_STRING}} {pattern} [OR]\n" for pattern in ("mosConfig_[a-z]{1,21}(=|%3D)", "base64_encode[^(]*\\([^)]*\\)", "x=y&(.*)x")) \
    + "RewriteCond %{QUERY_STRING} (<|%3C)|a\\[\\] [NC]\nRewriteRule .* index.php [F]\n"
OPEN = SCRIPTS + "<Directory />\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\n"


def rules(to, before=""):
    return RULES.format(to=to, before=before)


def asks(to, before=""):
    return rules("to", before).replace("RewriteRule . to [L]", f"RewriteRule ^(.*)$ {to}".replace("{{", "{").replace("}}", "}"))


# As Symfony, Laminas and TYPO3 find the folder that they are in.
SYMFONY = "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteCond %{REQUEST_URI}::$0 ^(/.+)/(.*)::\\2$\nRewriteRule .* - [E=BASE:%1]\nRewriteCond %{HTTP:Authorization} .+\nRewriteRule ^ - [E=HTTP_AUTHORIZATION:%0]\n" \
    "RewriteCond %{ENV:REDIRECT_STATUS} =\"\"\nRewriteRule ^index\\.php(?:/(.*)|$) %{ENV:BASE}/$1 [R=301,L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ %{ENV:BASE}/index.php [L]\n"
LAMINAS = "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteCond %{REQUEST_FILENAME} -s [OR]\nRewriteCond %{REQUEST_FILENAME} -l [OR]\nRewriteCond %{REQUEST_FILENAME} -d\nRewriteRule ^.*$ - [L]\n" \
    "RewriteCond $0::%{REQUEST_URI} ^([^:]*+(?::[^:]*+)*?)::(/.+?)\\1$\nRewriteRule .+ - [E=BASE:%2]\nRewriteRule .* %{ENV:BASE}index.php [L]\n"
TYPO3 = "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteCond %{REQUEST_URI}::$1 ^(/.+)/(.*)::\\2$\nRewriteRule ^(.*)$ - [E=CWD:%1]\nRewriteRule ^(?:typo3temp/|favicon\\.ico) - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\n" \
    "RewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_FILENAME} !-l\nRewriteRule ^.*$ %{ENV:CWD}index.php [QSA,L]\n"
PARENT = "RewriteEngine On\nRewriteRule ^(metrics|d/.*)$ - [L]\nRewriteCond %{REQUEST_URI} !^/(public|here)\nRewriteRule ^(.*)$ public/$1 [L]\n"
PUBLIC = {"public/index.php": old, "public/2026/10.html": old, "public/blog/x.txt": old, "public/77": old}


# name: (configuration, files, 1: most new URLs go by plans, 0: none does, None: some do, of those that are decided alike)
SITES = {
    "root": (OPEN, {".htaccess": rules("/index.php", AUTHORIZATION)}, 1),
    "base": (OPEN, {"blog/.htaccess": rules("/blog/index.php", "RewriteBase /blog/\n"), ".htaccess": rules("/index.php")}, 1),
    "relative": (OPEN, {".htaccess": rules("index.php")}, 1),
    "alias": (OPEN + "Alias /2026 \"@ROOT@/htdocs/blog\"\nAlias /deep/er \"@ROOT@/htdocs/blog\"\n<Directory \"@ROOT@/htdocs\">\nRequire all granted\n</Directory>\n",
              {".htaccess": rules("/index.php"), "blog/.htaccess": rules("/blog/index.php")}, 1),
    "query": (OPEN, {".htaccess": rules("/index.php?a=b")}, None),
    "added": (OPEN, {".htaccess": rules("/index.php").replace("[L]", "[L,QSA]")}, 1),
    "variables": (OPEN + "SetEnvIf Request_URI ^/2026 YEAR=1\nSetEnvIf Request_URI /x A=b\nSetEnv C d\n", {".htaccess": rules("/index.php", "RewriteRule ^2026 - [E=E:f]\n")}, None),
    "moved": (OPEN, {".htaccess": rules("/index.php", "RewriteRule ^2026/[0-9]*/x$ /moved [R=301,L]\nRewriteRule ^deep/1 - [F]\n")}, 1),
    "cookies": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{HTTP_COOKIE} c=d\nRewriteRule ^2026 /d/b.php [L]\n")}, None),
    "part": (OPEN, {".htaccess": rules("/index.php", "RewriteRule ^2026/([0-9]*) - [E=NUMBER:$1]\n")}, None),
    "whole": (OPEN, {".htaccess": rules("/index.php/$0")}, 0),
    "of-server": (OPEN + "RewriteEngine On\nRewriteRule ^/never - [F]\n", {".htaccess": rules("/index.php")}, 1),
    "of-server-alone": (OPEN + "RewriteEngine On\nUseCanonicalName On\nServerName a.example:8080\n", {".htaccess": rules("/index.php", AUTHORIZATION)}, 1),
    "to-https": (OPEN + "RewriteEngine On\nRewriteCond %{{HTTP:X-B}} 1\nRewriteRule ^/(.*)$ https://localhost/$1 [R=301,L]\n", {".htaccess": rules("/index.php")}, None),
    "set-url": (OPEN + "RewriteEngine On\nSetEnv SCRIPT_URL /here\nSetEnv SCRIPT_URI /there\n", {".htaccess": rules("/index.php")}, None),
    "qualified": (OPEN + "QualifyRedirectURL On\n", {".htaccess": rules("/index.php")}, 1),
    "copied": (OPEN + "SetEnvIf Request_URI ^/2026/(.*) REST=$1\n", {".htaccess": rules("/index.php")}, None),
    "chained": (OPEN, {".htaccess": rules("/index.php", "RewriteRule ^2026/1 - [C]\nRewriteRule ^(.*)$ /d/b.php [L]\nRewriteRule ^deep/er/1 - [F]\n")}, 1),
    "skipping": (OPEN, {".htaccess": rules("/index.php", "RewriteRule ^2026/1 - [S=1]\nRewriteRule ^2026 - [F]\n")}, 1),
    "sections": (OPEN + "<Location /2026/1>\nSetEnv OF section\n</Location>\n<LocationMatch ^/deep/er/1>\nRequire all denied\n</LocationMatch>\n"
                 "<Files 2026>\nSetEnv FILE yes\n</Files>\n", {".htaccess": rules("/index.php")}, None),
    "uri": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{REQUEST_URI} !^/(2026|deep)/[0-4]\nRewriteCond %{REQUEST_URI} [13579]/?$\nRewriteRule . /d/b.php [L]\n")}, None),
    "uri-part": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{REQUEST_URI} ^/(2026/.)\nRewriteRule . - [E=PART:%1]\n")}, None),
    "slashes": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{HTTP:X-B} .\nRewriteRule .* - [E=B:%{HTTP:X-B}]\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_URI} (.+)/$\nRewriteRule ^ %1 [L,R=301]\n")}, None),
    "either": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{REQUEST_URI} ^(.*)?/(1) [OR]\nRewriteCond %{REQUEST_URI} ^(.*)/(2)\nRewriteCond %{REQUEST_URI} !deep\nRewriteRule ^ %1/core/%2 [L,QSA,R=301]\n"
                                        "RewriteCond %{REQUEST_URI} =/2026/7/x [OR]\nRewriteCond %{REQUEST_URI} !x\nRewriteRule ^([0-9]+) - [E=ONE:$1]\nRewriteCond %{REQUEST_URI} !=/blog/12\nRewriteRule ^blog - [E=TWO:2]\n")}, None),
    "chained-paths": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{REQUEST_URI} =/2026/3\nRewriteRule ^(.*)$ $1 [C]\nRewriteRule ^ - [F]\nRewriteCond %{REQUEST_URI} /4\nRewriteRule ^(.*)$ /d/b.php?$1 [S=1]\nRewriteRule ^deep/.*5 - [G]\n")}, None),
    "exploits": (OPEN, {".htaccess": rules("/index.php", EXPLOITS)}, 1),
    "queries": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{QUERY_STRING} ^$\nRewriteRule ^2026/.*1 - [E=NONE:1]\nRewriteCond %{QUERY_STRING} !UTM [NC]\nRewriteCond %{QUERY_STRING} !^(\\d)\n"
                                        "RewriteRule ^ - [E=PLAIN:1]\nRewriteCond %{QUERY_STRING} ^([0-9]).*(\\1)$\nRewriteRule ^ - [E=TWICE:%1]\nRewriteRule ^deep/.*2 /blog/x?x=y [QSA]\nRewriteCond %{QUERY_STRING} x=y\nRewriteRule ^ /d/b.php [L]\n"
                                        "RewriteCond %{QUERY_STRING} !^5\nRewriteRule ^2026/.*/x$ /moved [R=301,L]\nRewriteCond %{QUERY_STRING} s=a [OR]\nRewriteCond %{REQUEST_URI} 7\nRewriteRule ^blog - [F]\n")}, None),
    "many-queries": (OPEN, {".htaccess": rules("/index.php", "".join(f"RewriteCond %{{QUERY_STRING}} z{n}=\nRewriteRule ^ - [F]\n" for n in range(30)))}, None),
    "queries-of-server": (OPEN + "RewriteEngine On\nRewriteCond %{QUERY_STRING} x=\nRewriteRule ^/2026 - [F]\n", {".htaccess": rules("/index.php")}, None),
    "asked-query": (OPEN, {".htaccess": rules("/index.php", "RewriteCond %{QUERY_STRING} a=b\nRewriteRule . /d/b.php [L]\n")}, None),
    "if-file": (OPEN + "<FilesMatch \\.php$>\n<If \"-f %{{REQUEST_FILENAME}} && %{{REQUEST_URI}} !~ m#/2026/1#\">\nSetEnv IF file\n</If>\n</FilesMatch>\n", {".htaccess": rules("/index.php")}, 1),
    "if-led": (OPEN + "<FilesMatch \\.php$>\n<If \"%{{REQUEST_URI}} =~ m#/(d)/#\">\nSetEnv IF d\n</If>\n</FilesMatch>\n",
               {".htaccess": rules("/index.php", "RewriteRule ^deep/.*(b|x) /d/$1.php [L]\nRewriteRule ^2026/.*/(.) /d/$1.php [L]\n")}, None),
    "fallback": (OPEN, {".htaccess": rules("/index.php") + "FallbackResource /d/b.php\n"}, 1),
    "fallback-alone": (OPEN, {".htaccess": "FallbackResource /index.php\n"}, None),
    "asked": (OPEN, {".htaccess": asks("index.php?q=$1 [L,QSA]")}, 1),
    "asked-alone": (OPEN, {".htaccess": asks("/index.php?q=$1&x=y [L]"), "blog/.htaccess": asks("d.php?q=/$0 [QSA,END]"), "blog/d.php": old}, 1),
    "asked-twice": (OPEN, {".htaccess": asks("index.php?q=$1&p=$1 [L,QSA]")}, 0),
    "asked-escaped": (OPEN, {".htaccess": asks("index.php?q=$1 [B,L,QSA]")}, 0),
    "asked-by-flags": (OPEN, {".htaccess": asks("index.php?q=$1 [L,QSD]", "RewriteRule ^2026/[0-4](.*) index.php?x=?q=$1 [L,QSL]\nRewriteRule ^deep index.php?$1 [L,qslast]\n")}, None),
    "asked-by-uri": (OPEN, {".htaccess": asks("index.php?/=%{{REQUEST_URI}}&x [L,QSA]")}, 1),
    "asked-in-parts": (OPEN, {".htaccess": asks("index.php?q=$1 [L,QSA]", "RewriteRule ^(2026)/(.*)$ d/b.php?year=$1&q=$2&all=$0 [L]\nRewriteRule ^blog/(.*)$ d/b.php?$1 [L]\nRewriteRule ^(d.)ep/(.*)$ d/b.php?q=$0&$1&a [L]\n")}, None),
    "asked-always": (OPEN, {".htaccess": asks("index.php?a=b [L,QSA]")}, 1),
    "asked-and-asked": (OPEN, {".htaccess": asks("index.php?q=$1 [L,QSA]", "RewriteCond %{{QUERY_STRING}} q=.*[13579]\nRewriteRule ^ - [F]\n")}, None),
    "asked-and-refused": (OPEN, {".htaccess": asks("index.php?q=$1 [L,QSA]", EXPLOITS)}, None),
    "asked-in-a-row": (OPEN, {".htaccess": asks("d/b.php?q=$1 [QSA]\nRewriteRule ^(d/.*)$ index.php?p=$1 [QSA,L]")}, 0),
    "led-in-a-row": (OPEN, {".htaccess": rules("d/b.php").replace("d/b.php [L]", "d/b.php\nRewriteRule ^(d/.*)$ index.php?p=$1 [L]")}, 0),
    "env-of-redirects": (OPEN, {".htaccess": asks("index.php?q=$1 [L,QSA]", "RewriteCond %{{ENV:REDIRECT_URL}} [13]/?$\nRewriteRule ^index - [F]\nRewriteCond %{{ENV:REDIRECT_QUERY_STRING}} [57]\nRewriteRule ^index - [F]\n")}, None),
    "env-of-servers": (OPEN + "RewriteEngine On\n", {".htaccess": rules("/index.php", "RewriteCond %{{ENV:SCRIPT_URL}} [13579]/?$\nRewriteRule ^index - [F]\n".replace("{{", "{").replace("}}", "}"))}, None),
    "parent": (OPEN, {".htaccess": PARENT, "public/.htaccess": rules("index.php"), "public/index.php": old, "public/77": old}, 1),
    "parent-of-all": (OPEN, {".htaccess": PARENT.replace("RewriteCond", "#"), "public/.htaccess": rules("index.php?url=$0&x"), **PUBLIC}, None),
    "parent-asked": (OPEN, {".htaccess": PARENT, "public/.htaccess": asks("index.php?url=$1 [QSA,L]"), "public/index.php": old, "public/77": old}, 1),
    "parent-info": (OPEN, {".htaccess": PARENT, "public/.htaccess": asks("index.php/$1 [QSA,L]"), **PUBLIC}, 0),
    "parent-parts": (OPEN, {".htaccess": PARENT.replace("^(.*)$ public/$1", "^(2026|.)(.*)$ public/$1$2"), "public/.htaccess": rules("index.php"), **PUBLIC}, 0),
    "parent-apart": (OPEN, {".htaccess": PARENT.replace("RewriteCond", "RewriteRule ^(blog)/(.*)$ public/$1 [L]\nRewriteRule ^2026/(.*)$ public/$1 [L]\nRewriteCond", 1), "public/.htaccess": rules("index.php"), **PUBLIC}, None),
    "parent-decides": (OPEN + "SetEnvIf Request_URI /2026/.*[13579]/ ODD=1\n<LocationMatch ^/public/2026/.*2>\nSetEnv TWO 2\n</LocationMatch>\n",
                       {".htaccess": PARENT, "public/.htaccess": rules("index.php", "RewriteRule ^2026/.*4 - [E=FOUR:4]\nRewriteRule ^[13579] /d/b.php [L]\nRewriteRule ^blog/.*6 - [F]\nRewriteCond %{REQUEST_URI} ^/public/8\nRewriteRule ^ /d/b.php [L]\n"), **PUBLIC}, None),
    "parent-deep": (OPEN, {".htaccess": PARENT, "public/.htaccess": rules("more/$0"), "public/more/.htaccess": rules("index.php"), "public/more/index.php": old}, None),
    "parent-files": (OPEN, {".htaccess": PARENT.replace("public/$1", "$1.html"), **PUBLIC}, None),
    "parent-of-server": (OPEN + "RewriteEngine On\n", {".htaccess": PARENT, "public/.htaccess": rules("index.php"), "public/index.php": old, "public/77": old}, 1),
    "to-a-folder": (OPEN, {".htaccess": PARENT, **PUBLIC}, None),
    "symfony": (OPEN, {".htaccess": SYMFONY, "blog/.htaccess": SYMFONY}, None),
    "laminas": (OPEN, {".htaccess": LAMINAS, "blog/.htaccess": LAMINAS}, None),
    "typo3": (OPEN, {".htaccess": TYPO3, "blog/.htaccess": TYPO3}, None),
    "base-by-path": (OPEN + "SetEnvIf Request_URI ^/2026/.*[13579] BASE=/d/b.php?\nSetEnvIf Request_URI ^/deep(.*) BASE=$1/\n", {".htaccess": SYMFONY}, None),
    "matched": (OPEN, {".htaccess": rules("index.php", "RewriteCond $0:$0 ^(2.*1):\\1$\nRewriteRule ^2.*[0-4] /d/b.php [L]\nRewriteCond x%{REQUEST_URI}$0 !x/?(.)\\1\nRewriteRule !^2 - [E=NOT:2]\nRewriteCond $0 =2026/7\nRewriteRule ^.{6} - [F]\n")}, None),
    "asked-if": (OPEN + "<If \"%{{QUERY_STRING}} =~ /q=.*[13579]/\">\nSetEnv IF odd\n</If>\n", {".htaccess": asks("index.php?q=$1 [L,QSA]")}, None),
    "asked-of-server": (OPEN + "RewriteEngine On\n", {".htaccess": asks("index.php?q=$1 [L,QSA]", AUTHORIZATION)}, 1),
    "beyond-ascii": (OPEN + "SetEnvIf Request_URI ^/caf\u00e9/1 ONE=1\n<LocationMatch ^/\u00e9-2>\nRequire all denied\n</LocationMatch>\n",
                     {".htaccess": rules("/index.php", "RewriteRule ^2026/\u4e2d1 /d/b.php [L]\nRewriteRule ^(2026/\u4e2d)2.*$ - [E=TWO:2]\nRewriteRule ^.{3}\u00e9[3-5] - [F]\n"), "caf\u00e9/.htaccess": rules("/d/b.php"), "caf\u00e9/30": old}, None),
    "expression": (OPEN + "<If \"%{{REQUEST_URI}} =~ m#/1#\">\nSetEnv IF yes\n</If>\n", {".htaccess": rules("/index.php")}, 0),
}
PATHS = ["/d/", "/d/?{}", "/caf%C3%A9/{}", "/2026/{}/x/", "/2026/{}/x", "/2026/{}", "/2026/{}/", "/{}", "/{}/", "/blog/{}", "/blog/{}/page/2/", "/deep/er/{}/", "/deep/{}", "/deep/er/.{}", "/2026//{}", "/2026/./{}",
         "/2026/%41{}", "/2026/%e4%b8%ad{}/%E6%96%87", "/%C3%A9-{}/?s=%C3%A9", "/2026/{}%20%C3%A9", "/%C3{}", "/%C3%GG{}", "/x%2F%C3%A9{}", "/%80.%80/.%80", "/%C3%A9{}%", "/caf%C3%A9/../%C3%A9{}", "/%C3%A9/%C2%B7{}.php", "/caf\u00e9/{}", "/2026/{}?a=b", "/2026/{}?", "/2026/{}?a={}", "/{}/?{}&x=%2f/../x", "/{}?a b", "/{}?a#b", "/2026/../{}", "/{}.php", "/{}.css", "/2026/{}.html/x", "/here.txt/{}", "/index.php/{}", "/2026/{}~x", "/a-{}/b_c.d/e", "/q", "/x", "/y", "/b", "/a", "/b?b", "/q?a=q", "/x?x=y", "/b/b?b"]
FIELDS = ["Cookie: a=b", "Cookie: c=d", "Authorization: Basic eDp5", "X-B: 1", "Referer: http://localhost/2026/1/x/", "Connection: close", "If-None-Match: \"x\"", "Host: other:81"]


class Request:
    def __init__(self, chance):
        self.method, self.leaves = "GET", None
        path = chance.choice(PATHS[2:9]) if chance.random() < .7 else chance.choice(PATHS)
        self.target = path.format(*[chance.randrange(10000)] * 2)
        if "?" not in path and chance.random() < .3:
            self.target += chance.choice(["?s=a+b", "?utm_source=x&y=%C3%A4", "?" + str(chance.randrange(1000)), "?a[]=b|c", "?a=b?c=d", "?\"<", "?x=y&x=y"])
        extra = chance.sample(FIELDS, chance.choice([0, 0, 0, 1, 2]))
        self.fields = [] if any(f.startswith("Host") for f in extra) else ["Host: localhost"]
        self.fields += [f"X-Answer: {chance.choice(['plain', 'php', 'status'])}", *extra]

    @property
    def text(self):
        return "\r\n".join([f"{self.method} {self.target} HTTP/1.1", *self.fields, "", ""])

    @property
    def of_stream(self):
        pairs = [(name, value.strip()) for name, _, value in (f.partition(":") for f in self.fields) if name != "Connection"]
        return self.method, self.target, pairs, b""


def of_site(text, backend):
    return CONFIG + text.replace("{path}", backend.path).replace("{{", "{").replace("}}", "}") + LOG


@pytest.mark.parametrize("protocol", [ScriptsOfHTTP1, ScriptsOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("site", SITES)
def test_new_urls(serve, site, protocol):
    more, files, planned_too = SITES[site]
    files = {"index.php": "x", "blog/index.php": "x", "d/b.php": "x", "deep/er/x.txt": old, "here.txt": old, **files}
    with Script("fcgi", script) as backend:
        servers = []
        for first in ("", "FileCacheEntries 0\n"):
            server = serve.unstarted(first + of_site(more, backend), files)
            servers.append(start(server))
        asked, ways = compare([protocol(server, backend) for server in servers], Request, COUNT // len(SITES) // 2, SEED, order=sorted)  # one that a worker ends may be behind the next
    print(f"{site}: {asked} requests, {ways} of them the full way")  # the first of each kind go it
    assert planned_too is None or asked < 100 or (ways < asked * .6 if planned_too else ways > asked * .9)


def test_paths_behind_a_script_take_no_worker(serve):
    """PATH_INFO. The kernel answers EAGAIN for such a path, as for what it has to read first."""
    with Script("fcgi", script) as backend:
        server = serve(of_site(OPEN, backend), files={"index.php": old, "d/b.php": old})

        def waits():
            return int(re.search(r"^brigade_worker_wait_seconds_count (\d+)$", figures_of(server).page(), re.M)[1])

        with server.connect() as client:
            for behind in ("/a", "/a/b/c?x", "/a" * 8):
                for path in ("/index.php", "/d/b.php"):
                    client.get(path + behind)
                    before = waits()
                    for n in range(10):
                        assert client.get(f"{path}/{n}{behind}".replace("/a" * 8, "/a" * 7)).status == 200
                    assert waits() - before <= 1, behind  # the page that tells it
            assert client.get("/index.php" + "/a" * 30).status == 200
            assert dict(told(backend))["PATH_INFO"] == "/a" * 30


def wordpress(serve, backend, files=None):
    server = serve(of_site(OPEN, backend), files={"index.php": old, "d/b.php": old, ".htaccess": rules("/index.php"), **(files or {})})
    with server.connect() as client:
        for n in range(12):
            assert client.get(f"/first/{n}/").body == b"hello\n"
    return server


def told(backend):
    return backend.seen[-1][0]


def test_one_plan_for_all(serve):
    """Once the folder is known no new URL takes the full way, and scripts are told of each as it is."""
    with Script("fcgi", script) as backend:
        server = wordpress(serve, backend)
        before = full_ways(server)
        with server.connect() as client:
            for n in range(50):
                path = f"/{'year' if n % 2 else 'tag'}/{n}/a-title{'/' if n % 3 else ''}"
                assert client.get(path).body == b"hello\n"
                params = told(backend)
                assert params["REQUEST_URI"] == params["REDIRECT_URL"] == path
                assert params["SCRIPT_NAME"] == "/index.php" and params["REDIRECT_STATUS"] == "200" and params["QUERY_STRING"] == ""
                assert "PATH_INFO" not in params and "REDIRECT_QUERY_STRING" not in params
            for n in range(50):
                assert client.get(f"/tag/{n}/?s={n}").body == b"hello\n"
                params = told(backend)
                assert params["REQUEST_URI"] == f"/tag/{n}/?s={n}" and params["REDIRECT_URL"] == f"/tag/{n}/"
                assert params["QUERY_STRING"] == params["REDIRECT_QUERY_STRING"] == f"s={n}"
        assert full_ways(server) - before <= 4  # the first of the connection, and those with a query until that is known


FRONT = "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n"
# Ways to one script that applications have: (configuration, files, target)
KINDS = {
    "beyond ASCII": ("", {".htaccess": FRONT + "RewriteRule . /index.php [L]\n"}, "/caf%C3%A9/{}%e4%b8%ad/x?s=%C3%A9"),
    "path in the query": ("", {".htaccess": FRONT + "RewriteRule ^(.*)$ index.php?q=$1 [L,QSA]\n"}, "/y/{}/x"),
    "path before the query": ("", {".htaccess": FRONT + "RewriteRule (.*) index.php?id=$1 [QSA,L]\n"}, "/y/{}/x?a={}"),
    "path in the query, by base": ("", {"blog/.htaccess": FRONT.replace("On\n", "On\nRewriteBase /blog/\n") + "RewriteRule ^(.+)$ index.php?in=blog&q=/$1&x [L]\n", "blog/index.php": old}, "/blog/caf%C3%A9/{}/x"),
    "base by condition": ("", {".htaccess": SYMFONY}, "/y/{}/x"),
    "base by condition, links": ("", {".htaccess": TYPO3}, "/y/{}/x?a={}"),
    "base by condition, joined": ("", {".htaccess": LAMINAS}, "/y/{}/x"),
    "two folders": ("", {".htaccess": "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteRule ^$ webroot/ [L]\nRewriteRule (.*) webroot/$1 [L]\n",
                         "webroot/.htaccess": FRONT + "RewriteRule ^ index.php [L]\n", "webroot/index.php": old}, "/y/{}/x"),
    "two folders, path in the query": ("", {".htaccess": "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteRule ^(.*)$ app/public/$1 [L]\n",
                                            "app/public/.htaccess": FRONT + "RewriteRule ^(.*)$ index.php?url=$1 [QSA,L]\n", "app/public/index.php": old}, "/caf%C3%A9/{}/x?a={}"),
    "two folders below another": ("", {"blog/.htaccess": FRONT.replace("RewriteCond %{REQUEST_FILENAME} !-d\n", "") + "RewriteRule ^(.*)$ webroot/$1 [L]\n",
                                       "blog/webroot/.htaccess": FRONT + "RewriteRule ^ index.php [L]\n", "blog/webroot/index.php": old}, "/blog/y/{}/x"),
    "rules of a server": ("RewriteEngine On\nRewriteCond %{{HTTPS}} other\nRewriteRule ^/(.*)$ https://localhost/$1 [R=301,L]\n", {".htaccess": FRONT + "RewriteRule . /index.php [L]\n"}, "/y/{}/x"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_applications(serve, kind):
    """Once a way is known, no new URL takes the full one."""
    more, files, target = KINDS[kind]
    with Script("fcgi", script) as backend:
        server = serve(of_site(OPEN + more, backend), files={"index.php": old, **files})
        with server.connect() as client:
            for n in range(20):
                assert client.get(target.format(*[n] * 2)).body == b"hello\n"
            before = full_ways(server)
            for n in range(1000, 1050):
                assert client.get(target.format(*[n] * 2)).body == b"hello\n"
            assert told(backend)["REQUEST_URI"] == target.format(*[n] * 2)
        assert full_ways(server) - before == 0


def test_a_front_page_has_a_plan(serve):
    """DirectoryIndex leads to the script: its redirect leaves a variable of the rules twice."""
    with Script("fcgi", script) as backend:
        server = wordpress(serve, backend, {".htaccess": rules("/index.php", "RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\n") + "DirectoryIndex index.php\n"})
        with server.connect() as client:
            for _ in range(4):
                assert client.get("/").body == b"hello\n"
            full = told(backend)
            before = full_ways(server)
            for _ in range(20):
                assert client.get("/").body == b"hello\n"
            assert {name: told(backend).get(name) for name in full} == full and full["HTTP_AUTHORIZATION"] == ""
            assert client.get("/", headers={"Authorization": "Basic eDp5"}).body == b"hello\n"
            assert told(backend)["HTTP_AUTHORIZATION"] == "Basic eDp5"
        assert full_ways(server) - before <= 1


CHANGES = {
    "file": (lambda server: server.write("year", "a file\n"), "/year", b"a file\n"),
    "folder": (lambda server: server.write("year/2026", "a file\n"), "/year/2026", b"a file\n"),
    "script": (lambda server: server.write("year.php", "x"), "/year.php", "/year.php"),
    "rules": (lambda server: server.write(".htaccess", rules("/d/b.php")), "/year/2026", "/d/b.php"),
    "refused": (lambda server: server.write(".htaccess", "Require all denied\n" + rules("/index.php")), "/year/2026", 403),
    "end": (lambda server: os.unlink(server.path("htdocs", ".htaccess")), "/year/2026", 404),
    "access": (lambda server: server.write(".htaccess", rules("/index.php") + "SetEnv NEW yes\n"), "/year/2026", "NEW"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_counts_at_once(serve, change):
    act, target, outcome = CHANGES[change]
    with Script("fcgi", script) as backend:
        server = wordpress(serve, backend)
        with server.connect() as client:
            for n in range(4):
                assert client.get(f"/year/{n}").body == b"hello\n"
            assert client.get(target).body == b"hello\n"
            act(server)
            answer = client.get(target)
        if isinstance(outcome, int):
            assert answer.status == outcome
        elif isinstance(outcome, bytes):
            assert answer.body == outcome
        elif outcome == "NEW":
            assert told(backend)["NEW"] == "yes"
        else:
            assert told(backend)["SCRIPT_NAME"] == outcome


def test_queries_that_rules_look_at(serve):
    """A query that a pattern matches is refused, whatever plans and answers there are for those that it does not match."""
    with Script("fcgi", script) as backend:
        server = wordpress(serve, backend, {".htaccess": rules("/index.php", EXPLOITS)})
        server.write("old.txt", "a file\n")
        os.utime(server.path("htdocs", "old.txt"), (1700000000, 1700000000))
        with server.connect() as client:
            for n in range(8):
                for path, body in (("/year/", b"hello\n"), ("/index.php", b"hello\n"), ("/old.txt", b"a file\n")):
                    assert client.get(f"{path}?id={n}").body == body
            before = full_ways(server)
            for n in range(50):
                assert client.get(f"/year/{n}?id={n}").body == client.get(f"/index.php?id={n}").body == b"hello\n"
                assert told(backend)["QUERY_STRING"] == f"id={n}"
                assert client.get(f"/old.txt?v={n}").body == b"a file\n"
            assert full_ways(server) - before <= 1
            for n in range(3):
                for path in ("/year/1", "/index.php", "/old.txt"):
                    for query in ("x=y&x=y", "A[]=1", "a=%3Cscript", "mosConfig_x=1", f"mosConfig_x%3D{n}"):
                        assert client.get(f"{path}?{query}").status == 403
                        assert client.get(f"{path}?id={n}").status == client.get(path).status == 200


def test_what_a_query_shows_by_chance(serve):
    """Names that stand in the text of a rule, too, and queries that stand in its: each folder's plan is made of other ones, and is right for the next."""
    chance = random.Random(SEED)
    ways = [("p/=p/$1 [QSA,L]", lambda rest, query: f"p/=p/{rest}" + ("&" + query if query else "")), ("p/pp$1p/p [L]", lambda rest, query: f"p/pp{rest}p/p"), ("p/p=p [L]", lambda rest, query: "p/p=p"),
            ("p/p=p [L,QSA]", lambda rest, query: "p/p=p" + ("&" + query if query else "")), ("p%{REQUEST_URI}p [QSA,L]", None)]
    with Script("fcgi", script) as backend:
        server = serve(of_site(OPEN, backend), files={f"p{n}/{file}": text for n in range(60) for file, text in
                                                      (("index.php", old), (".htaccess", FRONT + f"RewriteRule ^(.*)$ index.php?{ways[n % 5][0]}\n"))})
        with server.connect() as client:
            for n in range(60):
                made = ways[n % 5][1] or (lambda rest, query: f"p/p{n}/{rest}p" + ("&" + query if query else ""))
                for _ in range(30):
                    rest = re.sub("/+", "/", chance.choice("pq") + "".join(chance.choice(["p", "/p", "/", "p/p"]) for _ in range(chance.randrange(4))))
                    query = chance.choice(["", "p", "p/p", "=p", "p&p"])
                    assert client.get(f"/p{n}/{rest}" + ("?" + query if query else "")).body == b"hello\n"
                    assert told(backend)["QUERY_STRING"] == made(rest, query), f"TEST_SEED={SEED}"
        assert full_ways(server) < 60 * 25


TWO_FOLDERS_CHANGE = {
    "file": (lambda server: server.write("public/year", "a file\n"), "/year", b"a file\n"),
    "folder": (lambda server: server.write("public/year/2026", "a file\n"), "/year/2026", b"a file\n"),
    "before": (lambda server: server.write("year/x", "a file\n"), "/year/2026", "/public/index.php"),
    "rules": (lambda server: server.write("public/.htaccess", rules("/d/b.php")), "/year/2026", "/d/b.php"),
    "first rules": (lambda server: server.write(".htaccess", rules("/d/b.php")), "/year/2026", "/d/b.php"),
    "access": (lambda server: server.write("public/.htaccess", "Require all denied\n"), "/year/2026", 403),
    "end": (lambda server: os.unlink(server.path("htdocs", "public/.htaccess")), "/year/2026", 404),
    "folder that goes": (lambda server: os.rename(server.path("htdocs", "public"), server.path("htdocs", "private")), "/year/2026", 404),
}


@pytest.mark.parametrize("change", TWO_FOLDERS_CHANGE)
def test_two_folders_that_change(serve, change):
    act, target, outcome = TWO_FOLDERS_CHANGE[change]
    with Script("fcgi", script) as backend:
        server = serve(of_site(OPEN, backend), files={".htaccess": PARENT, "public/.htaccess": rules("index.php"), "public/index.php": old, "d/b.php": old})
        with server.connect() as client:
            for n in range(20):
                assert client.get(f"/tag/{n}").body == b"hello\n"
            before = full_ways(server)
            for path in ("/year", "/year/2026", "/year/1"):
                assert client.get(path).body == b"hello\n"
                assert told(backend)["REDIRECT_URL"] == "/public" + path
            assert full_ways(server) == before
            act(server)
            answer = client.get(target)
        if isinstance(outcome, bytes):
            assert answer.body == outcome
        elif isinstance(outcome, str):
            assert told(backend)["SCRIPT_NAME"] == outcome and told(backend)["REQUEST_URI"] == target
        else:
            assert answer.status == outcome


def test_a_folder_that_goes(serve):
    """Its own rules go with it; those above lead its names elsewhere."""
    with Script("fcgi", script) as backend:
        server = wordpress(serve, backend, {"blog/.htaccess": rules("/d/b.php")})
        with server.connect() as client:
            for n in range(5):
                assert client.get(f"/blog/{n}/x").body == b"hello\n"
                assert told(backend)["SCRIPT_NAME"] == "/d/b.php"
            os.rename(server.path("htdocs", "blog"), server.path("htdocs", "other"))
            for n in range(5):
                assert client.get(f"/blog/{n}/y").body == b"hello\n"
                assert told(backend)["SCRIPT_NAME"] == "/index.php"
                assert client.get(f"/other/{n}/x").body == b"hello\n"
                assert told(backend)["SCRIPT_NAME"] == "/d/b.php"
