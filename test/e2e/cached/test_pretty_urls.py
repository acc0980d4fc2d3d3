# SPDX-License-Identifier: Apache-2.0
"""Addresses that rules of .htaccess lead to one script, as WordPress' do: each is stored as the page that the client asked for."""
import re
import threading

import pytest

from backend import Backend, answer
from brigade import wait_until
from script_backend import Script

pytestmark = pytest.mark.only("brigade")

RULES = """RewriteEngine On
RewriteBase /
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
"""
FPM = '<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{path}|fcgi://localhost/"\n</FilesMatch>\n'
CACHE = "CacheEnable memory /\nCacheHeader On\nCacheDetailHeader On\nCacheStatusHeader On\nCachePurge 127.0.0.1\n"
QUICK = ("On", "Off")


def site(serve, one, cache, more="", rules=RULES, files=(), loops=1):
    return serve(f"""EventLoops {loops}
FileETag None
DirectoryIndex index.php index.html
<Directory @ROOT@/htdocs>
AllowOverride All
</Directory>
{FPM.format(path=one.path)}{more}
{cache}""", files={".htaccess": rules, "index.php": "never sent\n", **dict(files)})


def pages(params, body, send):
    """Each address is a page of its own; what comes as query says more of the answer."""
    uri = params["REQUEST_URI"]
    kind = params.get("HTTP_X_KIND", "-")
    extra, status, age = "", "200 OK", "Cache-Control: max-age=100\r\n"
    if "/vary" in uri:
        extra = "Vary: X-Kind\r\n"
    if "/private" in uri:
        age = "Cache-Control: private\r\n"
    if "/missing" in uri:
        status = "404 Not Found"
    if "/tagged" in uri:
        extra = "Cache-Tag: t\r\n"
    if "/etag" in uri and params.get("HTTP_IF_NONE_MATCH") == '"e"':
        status = "304 Not Modified"
    if "/etag" in uri:
        extra, age = 'ETag: "e"\r\n', "Cache-Control: max-age=0\r\n" if "/etag/old" in uri else age
    if "/sent" in uri:
        extra = "X-Accel-Redirect: /static.html\r\n"
    one = pages.one
    text = f"{params['REQUEST_METHOD']} {params.get('HTTP_HOST')} {uri} {params['SCRIPT_NAME']} {params.get('REDIRECT_URL')} {kind}\n"
    one.answer(send, b"" if status.startswith("304") else text.encode(), status, extra + age)


@pytest.fixture
def one():
    with Script("fcgi", pages) as one:
        pages.one = one
        yield one


def kind(got):
    return (got["X-Cache"] or "-").split(" ")[0]


def kinds(server, *paths, **headers):
    return [kind(server.get(path, headers={k.replace("_", "-"): v for k, v in headers.items()})) for path in paths]


TOLD = rb"(?mi)^(last-modified|x-cache|x-cache-detail|cache-status|age|date|connection|keep-alive|content-length|transfer-encoding): .*\r\n"


def plain(got):
    return got.status, sorted(re.sub(TOLD, b"", got.head + b"\r\n").splitlines()), got.body


def asked(one):
    return [params["REQUEST_URI"] for params, _ in one.seen]


REQUESTS = [(path, headers) for path in (
    "/", "/a-post/", "/b-post/", "/2026/11/c/", "/a-post", "/a-post/?page=2", "/a-post/?page=3", "/?p=1", "/index.php", "/index.php?p=1", "/index.php/a-post/",
    "/static.html", "/private/", "/missing/", "/etag/", "/etag/old/", "/a%20b/", "/%C3%A4/", "/a;b/", "/sent/", "/dir/", "/dir/x/")
    for headers in ({}, {"Host": "www.example.org"}, {"Host": "www.example.net"}, {"If-None-Match": '"e"'})] + [
    ("/vary/", {"X-Kind": k}) for k in ("a", "b", "")] + [("/vary/x/", {"X-Kind": k}) for k in ("b", "a")]


@pytest.mark.parametrize("quick", QUICK)
def test_each_its_own_page(serve, one, quick):
    """As without a cache; and what may be stored comes from the store."""
    files = {"static.html": "a file\n", "dir/index.html": "an index\n", "dir/.htaccess": RULES.replace("/index.php", "/index.php?dir")}
    accel = "<FilesMatch \"\\.php$\">\nProxyFCGIInternalRedirect On\n</FilesMatch>"
    servers = [site(serve, one, cache, accel, files=files) for cache in (CACHE + f"CacheQuickHandler {quick}\n", "")]
    for _ in range(3):
        for path, headers in REQUESTS:
            got = [server.get(path, headers=headers) for server in servers]
            assert plain(got[0]) == plain(got[1]), (path, headers)
            if got[0].status == 200 and ".php" not in path and b" /" in got[0].body:
                assert f" {path} ".encode() in got[0].body
    seen = len(one.seen)
    paths = ["/a-post/", "/b-post/", "/2026/11/c/", "/a-post", "/a-post/?page=2", "/a-post/?page=3", "/?p=1", "/a%20b/", "/%C3%A4/", "/dir/x/"]
    assert kinds(servers[0], *paths) == ["HIT"] * len(paths) and len(one.seen) == seen


@pytest.mark.parametrize("quick", QUICK)
def test_queries_fields_and_hosts(serve, one, quick):
    server = site(serve, one, CACHE + f"CacheQuickHandler {quick}\n")
    asks = [("/vary/", {"X-Kind": "a"}), ("/vary/", {"X-Kind": "b"}), ("/vary/?q", {"X-Kind": "a"}), ("/vary/", {"Host": "other", "X-Kind": "a"}),
            ("/vary/?q", {"Host": "other", "X-Kind": "b"})]
    bodies = [server.get(path, headers=headers).body for path, headers in asks]
    assert len(set(bodies)) == 5 == len(one.seen)
    for _ in range(3):
        got = [server.get(path, headers=headers) for path, headers in asks]
        assert [g.body for g in got] == bodies and [kind(g) for g in got] == ["HIT"] * 5
    assert len(one.seen) == 5


@pytest.mark.parametrize("quick", QUICK)
@pytest.mark.parametrize("end", ["PURGE", "prefix", "tag", "POST", "command"])
def test_ends_of_one_page(serve, one, quick, end):
    server = site(serve, one, CACHE + f"CacheQuickHandler {quick}\n")
    paths = ["/tagged/", "/other/", "/tag"]
    assert kinds(server, *paths) == ["MISS"] * 3 and kinds(server, *paths) == ["HIT"] * 3
    if end == "POST":
        assert server.request("POST", "/tagged/", body=b"x").body.startswith(b"POST")
    elif end == "command":
        wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
        assert server.run("-k", "purge", "http://localhost/tagged/").returncode == 0
    else:
        got = server.request("PURGE", {"prefix": "/tagged*"}.get(end, "/tagged/" if end == "PURGE" else "/"), headers={"Cache-Tag": "t"} if end == "tag" else {})
        assert got.status == 200 and got.body.startswith(b"purged"), got
    assert kinds(server, *paths) == ["MISS", "HIT", "HIT"]
    assert kinds(server, *paths) == ["HIT"] * 3


def detail(server, path, **headers):
    got = server.get(path, headers=headers)
    return got.status, kind(got), re.sub('" from .*', "", got["X-Cache-Detail"] or "-").strip('"')


def why(server, path):
    wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
    return server.run("-k", "cache", f"http://localhost{path}").stdout.decode()


NOT_LED = {
    "error document": ("ErrorDocument 404 /error.html\nProxyErrorOverride On\n", "/missing/", 404, "an error document answers"),
    "accel": ("ProxyFCGIInternalRedirect On\n", "/sent/", 200, "another URL answers, by an internal redirect"),
    "action": ("</Directory>\nAction odd /index.php\n<Files x.odd>\nSetHandler odd\n</Files>\n<Directory @ROOT@/htdocs>\n", "/x.odd", 200, "another URL answers, by an internal redirect"),
    "private": ("", "/private/", 200, "Cache-Control: private present"),
    "expression": ("", "/express/", 200, "RewriteCond expr, without NV, led to the URL that answers"),
    "no-cache": ("", "/quiet/", 200, "environment variable 'no-cache' is set"),
}


@pytest.mark.parametrize("case", NOT_LED)
def test_what_is_not_stored_says_why(serve, one, case):
    more, path, status, reason = NOT_LED[case]
    rules = RULES.replace("RewriteCond", "RewriteRule quiet /index.php [E=no-cache:1,L]\nRewriteCond expr \"%{HTTP:X-Kind} == 'a'\"\nRewriteRule express /never.php [L]\nRewriteCond", 1)
    files = {"error.html": "an error\n", "static.html": "a file\n", "x.odd": "odd\n"}
    servers = [site(serve, one, cache, f"<Directory @ROOT@/htdocs>\n{more}</Directory>\n", rules, files) for cache in (CACHE, "")]
    for _ in range(3):
        assert detail(servers[0], path) == (status, "MISS", reason)
        assert plain(servers[0].get(path)) == plain(servers[1].get(path))
    assert reason in why(servers[0], path)


@pytest.mark.parametrize("path", ["/a", "/index.php"])
def test_conditions_of_the_store_are_not_the_redirects(serve, one, path):
    """A page that is stale, and asked for by its ETag: the file that the script leads to is not asked so."""
    state = {"sent": False}

    def script(params, body, send):
        extra = "X-Accel-Redirect: /static.html\r\n" if state["sent"] else ""
        one.answer(send, b"first\n", fields=f"{state['etag']}Cache-Control: max-age=0\r\n{extra}")

    server = site(serve, one, CACHE, "ProxyFCGIInternalRedirect On\nFileETag MTime Size\n", files={"static.html": "a file\n"})
    state["etag"] = f"ETag: {server.get('/static.html')['ETag']}\r\n"
    one.script = script
    assert server.get(path).body == b"first\n"
    state["sent"] = True
    got = server.get(path)
    assert (got.status, got.body) == (200, b"a file\n")


def test_a_stale_page_in_place_of_an_error_document(serve, one):
    state = {"status": "200 OK"}
    one.script = lambda params, body, send: one.answer(send, b"page\n", state["status"], "Cache-Control: max-age=0\r\nETag: \"1\"\r\n")
    more = "<Directory @ROOT@/htdocs>\nErrorDocument 503 /error.html\nProxyErrorOverride On\n</Directory>\n"
    server = site(serve, one, CACHE, more, files={"error.html": "an error\n"})
    assert server.get("/a").body == b"page\n"
    state["status"] = "503 Not now"
    assert (server.get("/b").status, server.get("/b").body) == (503, b"an error\n")
    got = server.get("/a")
    assert (got.status, got.body) == (200, b"page\n")
    state["status"] = "200 OK"
    assert server.get("/b").body == b"page\n"


@pytest.mark.parametrize("quick", QUICK)
def test_a_loop_of_rules(serve, one, quick):
    rules = "RewriteEngine On\nRewriteBase /\nRewriteRule ^loop(.*)$ /loopx$1 [L]\n"
    servers = [site(serve, one, cache, rules=rules) for cache in (CACHE + f"CacheQuickHandler {quick}\n", "")]
    for _ in range(3):
        got = [server.get("/loop") for server in servers]
        assert [g.status for g in got] == [500, 500] and plain(got[0]) == plain(got[1])


def test_rules_that_look_at_fields(serve, one):
    """RewriteCond on a field: its values lead to other pages, and the script says nothing of that."""
    rules = "RewriteEngine On\nRewriteBase /\nRewriteRule ^(index|in).php$ - [L]\nRewriteCond %{HTTP:X-Kind} a\nRewriteRule . /in.php [L]\nRewriteRule . /index.php [L]\n"
    for quick in QUICK:
        servers = [site(serve, one, cache, rules=rules, files={"in.php": ""}) for cache in (CACHE + f"CacheQuickHandler {quick}\n", "")]
        for k in ("a", "b", "a", "b", "ca", "b"):
            got = [server.get("/p/", headers={"X-Kind": k}) for server in servers]
            assert got[0].body == got[1].body and (b"/in.php" in got[0].body) == ("a" in k)
            assert got[0]["Vary"] == "X-Kind"
        assert kinds(servers[0], "/p/", X_Kind="a") == ["HIT"]


def test_access_of_the_script(serve, one):
    """With CacheQuickHandler Off access to the file that answers is asked for each time."""
    more = '<Files index.php>\nRequire expr "%{HTTP:X-Kind} == \'a\'"\n</Files>\n'
    server = site(serve, one, CACHE + "CacheQuickHandler Off\n", more)
    asks = [server.get("/a/", headers={"X-Kind": k}).status for k in ("b", "a", "a", "b", "a")]
    assert asks == [403, 200, 200, 403, 200] and len(one.seen) == 1


@pytest.mark.parametrize("quick", QUICK)
def test_one_fetch_for_many(serve, one, quick):
    gate, began = threading.Event(), threading.Event()

    def script(params, body, send):
        began.set()
        gate.wait(30)
        pages(params, body, send)

    one.script = script
    server = site(serve, one, CACHE + f"CacheQuickHandler {quick}\n")
    with server.connect() as a, server.connect() as b, server.connect() as c:
        a.send(b"GET /x/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert began.wait(30)
        for client in (b, c):
            client.send(b"GET /x/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        gate.set()
        bodies = {client.read_response().body for client in (a, b, c)}
    assert len(bodies) == 1 and len(one.seen) == 1


def test_a_part_of_a_page(serve, one):
    """SSI includes addresses that rules lead on."""
    more = "<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\nExpiresActive On\nExpiresDefault A100\n"
    rules = "RewriteEngine On\nRewriteBase /\nRewriteRule ^(a|b)-post/$ /$1.html [L]\nRewriteRule ^the-page/$ /page.shtml [L]\n"
    files = {"page.shtml": '[<!--#include virtual="/a-post/" --><!--#include virtual="/b-post/" -->]', "a.html": "A", "b.html": "B"}
    server = site(serve, one, CACHE, more, rules, files)
    for path in ("/page.shtml", "/the-page/") * 3:
        assert server.get(path).body == b"[AB]"
    for path, body in (("/a-post/", b"A"), ("/b-post/", b"B")):
        assert server.get(path).body == body and kinds(server, path) == ["HIT"]
    assert server.request("PURGE", "/a-post/").status == 200
    server.write("a.html", "C")
    assert server.get("/the-page/").body == b"[CB]" == server.get("/page.shtml").body


def test_a_backend_by_http(serve, one):
    """RewriteRule [P] of the script's folder, behind the redirect."""
    with Backend() as backend:
        backend.scripts["*"] = lambda c, r: answer(r.target.encode(), fields=[("Cache-Control", "max-age=100"), ("Vary", "Cookie")])
        rules = f"RewriteEngine On\nRewriteBase /\nRewriteRule ^app(/.*)$ http://127.0.0.1:{backend.port}$1 [P,L]\nRewriteRule (.*) /app/$1 [L]\n"
        server = site(serve, one, CACHE, rules=rules)
        for path in ("/a", "/b", "/a", "/b"):
            assert server.get(path).body == path.encode()
        assert kinds(server, "/a", "/b", "/app/a") == ["HIT", "HIT", "MISS"] and len(backend.requests) == 3
