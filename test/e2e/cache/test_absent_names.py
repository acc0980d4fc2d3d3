# SPDX-License-Identifier: Apache-2.0
"""Names that a folder does not hold: once some were answered, others get the same from memory, as by the full way: until one of them
comes, or a rule changes; with their own names in both logs; and only where nothing decides by the name."""
import difflib
import os
import random
import re
import time

import pytest

import brigade
from brigade import APACHE_MODULES
from cache_site import await_hits, from_memory, hits, known, lines, one_loop, settle, steady
from tls_site import certificate

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads, pytest.mark.slow]

CONFIG = f"""MaxKeepAliveRequests 0
LoadModule rewrite_module {APACHE_MODULES}/mod_rewrite.so
<Location /metrics>
SetHandler metrics
</Location>
<Location /deny/section>
Require all granted
</Location>
<Directory "@ROOT@/htdocs">
AllowOverride All
</Directory>
<FilesMatch "^\\.ht">
Require all denied
</FilesMatch>
<FilesMatch "secret">
Require all denied
</FilesMatch>
SetEnvIf Request_URI "picture" image
Header always set X-Image 1 env=image
Alias /none/alias @ROOT@/htdocs/a.txt
RedirectMatch 301 "^/none/go(.*)" "/a$1"
RedirectMatch gone "^/none/past"
Redirect permanent /none/far https://elsewhere.example/near
ErrorDocument 410 /gone.html
LogFormat "%h %u \\"%r\\" %>s %B %U %f %{{X-Image}}o" short
CustomLog @ROOT@/access short
"""
MOVED = """RewriteEngine On
RewriteBase /moved/
RewriteRule ^there$ - [L]
RewriteRule ^old-(.*)$ /a/$1 [R=301,L]
RewriteRule ^part([0-9]+)x$ /b/$1 [R=301,L]
RewriteRule ^gone - [G]
RewriteRule ^denied - [F]
RewriteRule ^inside(.*)$ /a.txt [L]
RewriteCond %{HTTP_USER_AGENT} robot
RewriteRule ^(.*)$ https://elsewhere.example/robots/$1 [R=302,L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteRule ^x(.*)$ https://%{HTTP_HOST}%{REQUEST_URI} [R=307,L]
RewriteRule ^twice(.*)$ /$0/$0 [R,L]
RewriteRule ^y /a.txt [R,L]
RewriteRule ^(.*)$ https://elsewhere.example/all/$1 [R=303]
"""
FILES = {"a.txt": "x", "deny/.htaccess": "Require all denied\n", "deny/there": "x", "none/there": "x", "none/x": "x", "views/.htaccess": "Options +MultiViews\n", "views/a.txt": "x",
         "back/.htaccess": "FallbackResource /a.txt\n", "rules/.htaccess": "RewriteEngine On\nRewriteRule ^go(.*) /a.txt [R]\n", "files/.htaccess": "<Files hidden>\nRequire all denied\n</Files>\n", "files/a": "x",
         "expr/.htaccess": 'Require expr %{REQUEST_URI} =~ /good/\n', "expr/a": "x", "login/.htaccess": "AuthType Basic\nAuthName m\nAuthUserFile /nowhere\nRequire valid-user\n", "login/a": "x",
         "gone.html": "<p>gone</p>\n", "lost.html": "<p>not here</p>\n", "lost/.htaccess": "ErrorDocument 404 /lost.html\nErrorDocument 403 /lost.html\n", "lost/there": "x",
         "shut/.htaccess": "Require all denied\nErrorDocument 403 /lost.html\n", "shut/there": "x",
         "moved/.htaccess": MOVED, "moved/there": "x", "away/.htaccess": "Redirect 302 /away https://elsewhere.example/base\n", "away/there": "x"}
SAID = ("Location", "Content-Type", "Content-Length", "WWW-Authenticate", "X-Image", "Last-Modified", "ETag", "Accept-Ranges", "Vary")
ODD = ["there", "x", "section", "section2", ".htaccess", "a secret", "secret.txt", "picture", "picture2.png", "alias", "aliases", "go", "going", "pastry", "a", "hidden", "hidden2", "good", "goods", "..", "%2e", "x%2fy", "x?y", "x/", "", "a;b", "~a",
       "old-", "old-1", "part", "part1x", "part22x", "gone", "gone.txt", "denied", "denied2", "inside", "inside2", "xy", "x.y", "x-1", "twice", "twice2", "y", "yy", "far", "far/a", "example", "all", "1", "html", "n" * 256, "n" * 250, "é", "a.b.c", "good.png"]


def twin(serve, config=CONFIG, more_files=None):
    servers = [one_loop(serve, more + config, files={**FILES, **(more_files or {})}) for more in ("FileCacheEntries 4096\n", "FileCacheEntries 0\n")]
    for server in servers:
        settle(server.path("htdocs"))
    return servers


def said(answer, server):
    return answer.status, [re.sub(r';[0-9a-f]+"', '"', (answer[n] or "").replace(str(server.port), "PORT")) for n in SAID], answer.body.replace(str(server.port).encode(), b"PORT")


@pytest.mark.parametrize("folder,status", [("/deny/", 403), ("/none/", 404), ("/login/", 401), ("/files/", 404), ("/lost/", 404), ("/shut/", 403), ("/moved/", 303), ("/away/", 302), ("/rules/", 404),
                                           ("/none/far/", 301), ("/none/no/", 404), ("/none/no/such/", 404), ("/deny/no/", 403), ("/login/no/", 401), ("/lost/no/", 404), ("/shut/no/", 403)])
def test_new_names_come_from_memory(serve, folder, status):
    server, plain = twin(serve)
    with server.connect() as c, plain.connect() as p:
        known(c, folder)
        assert from_memory(server, c, folder) == 20
        for i in range(5):
            one, other = c.get(f"{folder}other{i}"), p.get(f"{folder}other{i}")
            assert one.status == status and said(one, server) == said(other, plain)
        known(c, folder)
        assert from_memory(server, c, folder, ".png") >= 16  # a kind of its own


@pytest.mark.parametrize("folder", ["/none/", "/deny/", "/lost/", "/shut/", "/login/", "/"])
def test_folders_that_are_not_there(serve, folder):
    """Whatever they are called, and whatever stands behind them: one answer for all, until one of them comes."""
    server, plain = twin(serve)
    with server.connect() as c, plain.connect() as p:
        for client in (c, p):
            known(client, folder + "lacks/")
        before = hits(server)
        for i in range(40):
            target = f"{folder}folder{i % 7}" + ("/deep" * (i % 4)) + f"/n{i}"
            assert said(c.get(target), server) == said(p.get(target), plain), target
        await_hits(server, before + 40)
        for i, rest in enumerate(["", "/", "/x/", "//x", "/./x", "/../x", "/x.png", "/picture", "/a.b/x", "/x?q", "/x/.htaccess", "/%41", "/secret/x", "/there", "/none/far", "/n" * 30]):
            for name in ("other", "there", "folder.png", "secret", "picture", ".htaccess", "far", "alias", "go", "no"):
                assert said(c.get(f"{folder}{name}{rest}"), server) == said(p.get(f"{folder}{name}{rest}"), plain), (name, rest)
        for which in (server, plain):
            which.write(folder[1:] + "folder1/new", "x")
            which.write(folder[1:] + "folder2/.htaccess", "Require all granted\nErrorDocument 404 /gone.html\n")
        for name, status in (("folder1/new", {403, 401, 200}), ("folder2/new", {404}), ("folder3/new", {401, 403, 404})):
            one, other = c.get(folder + name), p.get(folder + name)
            assert one.status in status and said(one, server)[::2] == said(other, plain)[::2], name
    server.stop()
    plain.stop()
    assert lines(server, "access") == lines(plain, "access")
    assert lines(server, "logs/error_log") == lines(plain, "logs/error_log")


@pytest.mark.parametrize("folder", ["/views/", "/back/", "/expr/"])
def test_where_names_count_none_do(serve, folder):
    server, plain = twin(serve)
    with server.connect() as c, plain.connect() as p:
        known(c, folder)
        assert from_memory(server, c, folder) == 0
        for name in ODD:
            if " " not in name and "é" not in name:
                assert said(c.get(folder + name), server) == said(p.get(folder + name), plain), name


def test_each_is_answered_and_logged_as_by_the_full_way(serve):
    server, plain = twin(serve)
    rng = random.Random(7)
    folders = ["/deny/", "/none/", "/login/", "/files/", "/views/", "/back/", "/rules/", "/expr/", "/", "/lacking/", "/lost/", "/shut/", "/moved/", "/away/", "/none/far/", "/none/no/", "/deny/no/such/", "/lost/no/", "/shut/no/", "/moved/no/", "/login/no/"]
    with server.connect() as c, plain.connect() as p:
        for folder in folders:
            known(c, folder)
            known(p, folder)
        before = hits(server)
        for i in range(1200):
            folder = rng.choice(folders)
            name = rng.choice(ODD) if rng.random() < 0.4 else f"n{i}" + rng.choice(["", ".png", ".txt", ".html.de"])
            target = folder + name.replace(" ", "%20").replace("é", "%c3%a9")
            fields = rng.choice([{}, {}, {}, {"If-None-Match": "*"}, {"Range": "bytes=0-1"}, {"Accept-Encoding": "gzip"}, {"User-Agent": "a robot"}])
            assert said(c.get(target, fields), server) == said(p.get(target, fields), plain), (i, target, fields)
        await_hits(server, before + 100)
    server.stop()
    plain.stop()
    assert lines(server, "access") == lines(plain, "access")
    here, there = lines(server, "logs/error_log"), lines(plain, "logs/error_log")
    assert here == there, list(difflib.unified_diff(here, there, n=0))[:20]


@pytest.mark.parametrize("folder,make,status", [
    ("/none/", {"none/new": "x"}, 200), ("/deny/", {"deny/new/.htaccess": "Require all granted\n"}, 404), ("/none/", {"none/.htaccess": "Require all denied\n"}, 403),
    ("/deny/", {"deny/.htaccess": "Require all granted\n"}, 404), ("/lost/", {"lost/new": "x"}, 200), ("/lost/", {"lost/.htaccess": "Require all denied\n"}, 403), ("/moved/", {"moved/.htaccess": "Redirect gone /moved/new\n"}, 410), ("/none/", {".htaccess": "Redirect gone /none/new\n"}, 410), ("/files/", {"files/.htaccess": "<Files new>\nRequire all denied\n</Files>\n"}, 403)])
def test_changes_count_at_once(serve, folder, make, status):
    server, _ = twin(serve)
    with server.connect() as c:
        known(c, folder)
        assert from_memory(server, c, folder) == 20
        for name, text in make.items():
            os.makedirs(os.path.dirname(server.path("htdocs", name)), exist_ok=True)
            server.write(name, text)
        target = folder + ("new/x" if any("new/" in name for name in make) else "new")
        assert c.get(target).status == status
        assert c.get(folder + "another").status in ((403, 404) if status != 410 else (404,))


def test_a_folder_that_is_exchanged(serve):
    server, _ = twin(serve, more_files={"second/new": "y"})
    with server.connect() as c:
        known(c, "/none/")
        assert from_memory(server, c, "/none/") == 20
        os.rename(server.path("htdocs/none"), server.path("htdocs/third"))
        os.rename(server.path("htdocs/second"), server.path("htdocs/none"))
        assert c.get("/none/new").status == 200
        assert c.get("/none/there").status == 404


def test_a_flood_of_names_pushes_no_files_out(serve):
    """New names are one entry; new extensions are errors, which have a share of their own."""
    server, _ = twin(serve, CONFIG.replace("MaxKeep", "FileCacheEntries 64\nMaxKeep", 1))
    with server.connect() as c:
        known(c, "/none/")
        for _ in range(6):
            assert c.get("/a.txt").status == 200
        for i in range(300):
            for k in range(3):
                assert c.get(f"/none/n{k}.e{i}").status == 404
        before = steady(server)
        for _ in range(5):
            assert c.get("/a.txt").status == 200
        await_hits(server, before + 5)


HTTPS = """BuiltinModule ssl_module On
BuiltinModule md_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
LoadModule md_module @MODULES@/mod_md.so
<MDomainSet localhost>
MDCertificateFile @ROOT@/conf/cert.pem
MDCertificateKeyFile @ROOT@/conf/key.pem
MDRequireHttps permanent
</MDomainSet>
ServerName other.example
Listen 127.0.0.1:@TLS@
<VirtualHost *:@PORT@>
ServerName metrics.example
</VirtualHost>
<VirtualHost *:@PORT@>
ServerName localhost
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
</VirtualHost>
"""


def test_names_that_are_sent_to_https(serve):
    """By a managed domain's rule, for whatever name; but for those of challenges."""
    servers = []
    for more in ("FileCacheEntries 4096\n", "FileCacheEntries 0\n"):
        server = serve.unstarted("EventLoops 1\n" + more + HTTPS.replace("@TLS@", str(brigade.free_port())) + CONFIG.replace("%U %f", "%U"), FILES)
        certificate(server)
        servers.append(server.start())
        settle(server.path("htdocs"))
    server, plain = servers

    def found():
        return int(re.search(r"^brigade_cache_hits_total (\d+)$", server.get("/metrics", host="metrics.example").body.decode(), re.M)[1])
    with server.connect() as c, plain.connect() as p:
        before = found()
        for i in range(30):
            for target in (f"/somewhere/n{i}", f"/none/n{i}.png", f"/.well-known/n{i}", f"/n{i}?q=1", "/twice"):
                one, other = c.get(target), p.get(target)
                assert said(one, server) == said(other, plain), target
                assert "well-known" in target or one.status == 301 and one["Location"] == f"https://localhost{target}"
        brigade.wait_until(lambda: found() - before >= 70, "answers from memory")
    server.stop()
    plain.stop()
    assert [line for line in lines(server, "access") if "metrics" not in line] == [line for line in lines(plain, "access") if "metrics" not in line]


def test_an_error_document_that_changes(serve):
    """What it was for is not looked at again, but the page is another one: at once."""
    server, _ = twin(serve)
    with server.connect() as c:
        known(c, "/lost/")
        assert from_memory(server, c, "/lost/") == 20
        server.write("lost.html", "<p>somewhere else</p>\n")
        assert c.get("/lost/new").body == b"<p>somewhere else</p>\n"
        os.unlink(server.path("htdocs/lost.html"))
        assert b"somewhere" not in c.get("/lost/newer").body
        server.write("lost/.htaccess", "ErrorDocument 404 /gone.html\n")
        assert c.get("/lost/newest").body == b"<p>gone</p>\n"


def test_one_name_with_an_error_document(serve):
    """Asked for again and again, with a query and without, by GET and by other methods."""
    server, plain = twin(serve)
    with server.connect() as c, plain.connect() as p:
        for _ in range(4):
            assert c.get("/a.txt").status == 200
        before = steady(server)
        for _ in range(8):
            for target in ("/lost/name", "/lost/name?q", "/shut/name"):
                assert said(c.get(target), server) == said(p.get(target), plain)
        for method in ("HEAD", "POST", "OPTIONS", "PUT"):
            for target in ("/lost/name", "/shut/name"):
                assert said(c.request(method, target), server) == said(p.request(method, target), plain)
        for _ in range(5):
            c.get("/a.txt")
        await_hits(server, before + 12)
    server.stop()
    plain.stop()
    assert [line for line in lines(server, "access") if "/a.txt" not in line] == lines(plain, "access")
    assert lines(server, "logs/error_log") == lines(plain, "logs/error_log")


@pytest.mark.parametrize("log", ["%h %<f %>s", "%h %>U %>s"])
def test_logs_that_tell_both_requests_apart(serve, log):
    """A sign in the format asks for the request that came in, or for the one that answered: no answer with an error document is from memory."""
    server, plain = twin(serve, CONFIG.replace('%h %u \\"%r\\" %>s %B %U %f %{X-Image}o', log))
    with server.connect() as c, plain.connect() as p:
        known(c, "/lost/")
        assert from_memory(server, c, "/lost/") == 0
        assert from_memory(server, c, "/none/") >= 0
        for i in range(3):
            assert said(c.get(f"/lost/other{i}"), server) == said(p.get(f"/lost/other{i}"), plain)
