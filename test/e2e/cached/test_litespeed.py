# SPDX-License-Identifier: Apache-2.0
"""The page cache that plugins of PHP applications know (LiteSpeedCache), with a real PHP-FPM. The page does what a request's query says, as
a plugin would; test_wordpress.py has the plugin itself."""
import re

import pytest

from cache_site import await_hits
from php_fpm import IS_THERE, POOL, php

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not IS_THERE, reason="no php-fpm (php8.2-fpm), or not root")]

# Each answer has a number of its own: what is the same twice came from the cache.
PAGE = r"""<?php
$q = $_GET;
foreach (['Cache-Control', 'Tag', 'Vary', 'Purge', 'Purge2'] as $name)
    if (isset($q[strtolower($name)])) header("X-LiteSpeed-$name: " . $q[strtolower($name)]);
if (isset($q['p'])) header('X-LiteSpeed-Cache-Control: public,max-age=100');
if (isset($q['cookie'])) setcookie('set', 'one');
if (isset($q['status'])) http_response_code((int) $q['status']);
header('Content-Type: text/plain');
echo bin2hex(random_bytes(8)), ' ', $_SERVER['REQUEST_URI'], ' ', $_COOKIE['user'] ?? '-', ' ', json_encode(array_filter($_SERVER, fn ($k) => str_contains($k, 'LSCACHE') || str_contains($k, 'LITESPEED'), ARRAY_FILTER_USE_KEY));
"""
RULES = """<IfModule LiteSpeed>
CacheLookup on
RewriteEngine On
RewriteRule .* - [E=Cache-Control:no-autoflush]
%s
CacheKeyModify -qs:fbclid
CacheKeyModify -qs:utm*
</IfModule>
RewriteEngine On
RewriteRule ^index\\.php$ - [L]
RewriteCond %%{REQUEST_FILENAME} !-f
RewriteRule . /index.php [L]
"""
PUBLIC = "cache-control=public,max-age=100"


@pytest.fixture
def site(serve):
    with php(POOL) as fpm:
        def start(rules="", more="", host="", files=()):
            one = f'<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{fpm}/socket|fcgi://localhost"\n</FilesMatch>\n'
            return serve(f"EventLoops 1\nLiteSpeedCache On\nCacheStatusHeader On\nCacheDetailHeader On\nDirectoryIndex index.php\n{one}{more}\n{host}",
                         files={".htaccess": RULES % rules, "index.php": PAGE, "other.php": PAGE, **dict(files)})
        yield start


def ask(server, target, cookie=None, **fields):
    got = server.get(target, headers={**({"Cookie": cookie} if cookie else {}), **fields})
    assert got.status != 500, got
    assert not [n for n, _ in got.headers if n.lower().startswith("x-litespeed-") and n.lower() != "x-litespeed-cache"], got.headers
    return got


def number(got):
    return got.body.split(b" ")[0]


def same(server, target, *cookies, **fields):
    """Is it one answer for all of these cookies?"""
    return len({number(ask(server, target, cookie, **fields)) for cookie in cookies}) == 1


def test_fills_and_hits(site):
    server = site()
    first, second = ask(server, f"/a/page?{PUBLIC}"), ask(server, f"/a/page?{PUBLIC}")
    assert number(first) == number(second) and (first["X-LiteSpeed-Cache"], second["X-LiteSpeed-Cache"]) == ("miss", "hit")
    assert "hit" in second["Cache-Status"] and second["Content-Type"].startswith("text/plain")
    assert same(server, f"/a/page?{PUBLIC}", None, "_ga=1", "x=y") and same(server, f"/a/page?{PUBLIC}&utm_source=a&fbclid=b", None) and same(server, f"/a/page?{PUBLIC}&x=1", None, None)
    assert number(ask(server, f"/a/page?{PUBLIC}&utm_source=c")) == number(first)
    assert number(ask(server, f"/a/page?{PUBLIC}", **{"Cache-Control": "no-cache", "Pragma": "no-cache"})) == number(first), "who reloads gets it, too"


@pytest.mark.parametrize("said", ["", "cache-control=no-cache", "cache-control=no-cache,esi=on", "cache-control=public", "cache-control=public,max-age=0", "cache-control=private,max-age=100"])
def test_what_is_not_stored(site, said):
    server = site()
    assert not same(server, f"/a?{said}", None, None)


def test_private_copies_by_session(site):
    server = site()
    page = "/a?cache-control=private,max-age=100"
    a, b = "PHPSESSID=1; user=anna", "user=bert; PHPSESSID=2"
    assert same(server, page, a, a) and same(server, page, b, b) and not same(server, page, a, b)
    assert ask(server, page, a)["X-LiteSpeed-Cache"] == "hit,private" and b"anna" in ask(server, page, a).body
    assert not same(server, page, None, None), "no session, no copy"
    assert not same(server, page, a, "PHPSESSID=1; wordpress_logged_in_x=2; user=anna")
    assert same(server, "/b?cache-control=private,max-age=100", "own=1", "own=1") is False


def test_shared_private_copies(site):
    server = site()
    page = "/a?cache-control=shared,private,max-age=100"
    assert same(server, page, "_lscache_vary=team; PHPSESSID=1", "_lscache_vary=team; PHPSESSID=2", "_lscache_vary=team")
    assert not same(server, page, "_lscache_vary=team; PHPSESSID=1", "_lscache_vary=other; PHPSESSID=1") and not same(server, page, None, None)


def test_vary_values(site):
    server = site()
    page = f"/a?{PUBLIC}"
    assert same(server, page, None, "_lscache_vary=") and same(server, page, "_lscache_vary=x", "a=b; _lscache_vary=x")
    assert not same(server, page, None, "_lscache_vary=x") and not same(server, page, "_lscache_vary=x", "_lscache_vary=y")
    assert not same(server, page, "_lscache_vary=" + "x" * 100, "_lscache_vary=" + "x" * 99 + "y")
    free = "/a?cache-control=public,no-vary,max-age=100"
    assert same(server, free, None, "_lscache_vary=x", "_lscache_vary=y", "PHPSESSID=2")


def test_cookies_and_values_of_rules(site):
    rules = ('RewriteCond %{HTTP_USER_AGENT} Mobile\nRewriteRule .* - [E=Cache-Control:vary=%{ENV:LSCACHE_VARY_VALUE}+ismobile]\n'
             'RewriteCond %{HTTP_ACCEPT} image/webp\nRewriteRule .* - [E=Cache-Control:vary=%{ENV:LSCACHE_VARY_VALUE}+webp]\n'
             'RewriteRule .? - [E="Cache-Vary:,login,currency"]\n'
             'RewriteCond %{HTTP_COOKIE} nocache\nRewriteRule .* - [E=Cache-Control:no-cache]')
    server = site(rules)
    page = f"/a?{PUBLIC}"
    assert same(server, page, None, None) and not same(server, page, None, "currency=EUR") and same(server, page, "currency=EUR", "currency=EUR; z=1")
    seen = {}
    for kind, fields in {"plain": {}, "mobile": {"User-Agent": "Mobile x"}, "webp": {"Accept": "image/webp"}, "both": {"User-Agent": "Mobile x", "Accept": "image/webp"}}.items():
        got = ask(server, page, **fields)
        seen[kind] = number(got)
        assert number(ask(server, page, **fields)) == seen[kind]
        value = {"plain": b"", "mobile": b'"LSCACHE_VARY_VALUE":"ismobile"', "webp": b'"LSCACHE_VARY_VALUE":"webp"', "both": b'"LSCACHE_VARY_VALUE":"ismobile+webp"'}[kind]
        assert value in got.body and b'"LSCACHE_VARY_COOKIE":"login,currency"' in got.body, got.body
    assert len(set(seen.values())) == 4
    assert not same(server, page, "nocache=1", "nocache=1")


METRICS = "<Location /metrics>\nSetHandler metrics\nRewriteEngine Off\nCacheDisable on\n</Location>\nMaxKeepAliveRequests 0\n"
# What a client sends, and who else gets the same.
CLIENTS = [({}, "all"), ({"Cookie": "_ga=1; x=y"}, "all"), ({"User-Agent": "Mobile x"}, "mobile"), ({"Accept": "image/webp"}, "webp"),
           ({"User-Agent": "Mobile x", "Accept": "image/webp"}, "both"), ({"Cookie": "_lscache_vary=a"}, "a"), ({"Cookie": "q=1; _lscache_vary=a"}, "a"),
           ({"Cookie": "_lscache_vary=b"}, "b"), ({"Cookie": "nocache=1"}, None), ({"Cookie": "_lscache_vary="}, "all")]


@pytest.mark.parametrize("target", ["/", "/index.php", "/other.php"])
def test_the_loop_itself_answers_a_visitor(site, target):
    """A page for all, whose rules looked at what each visitor sends: hits need no phases, and everybody gets what the store would give."""
    rules = ('RewriteCond %{HTTP_USER_AGENT} Mobile\nRewriteRule .? - [E=Cache-Control:vary=%{ENV:LSCACHE_VARY_VALUE}+ismobile]\n'
             'RewriteCond %{HTTP_ACCEPT} image/webp\nRewriteRule .? - [E=Cache-Control:vary=%{ENV:LSCACHE_VARY_VALUE}+webp]\n'
             'RewriteCond %{HTTP_COOKIE} nocache\nRewriteRule .? - [E=Cache-Control:no-cache]')
    server = site(rules, METRICS)
    page = f"{target}?{PUBLIC}&tag=t"
    groups = {}
    with server.connect() as client:
        for i in range(8):
            for fields, group in CLIENTS:
                groups.setdefault(group, set()).add(number(client.get(page, fields)))
        for _ in range(20):
            groups["all"].add(number(client.get(page)))
    fresh = groups.pop(None)
    assert all(len(numbers) == 1 for numbers in groups.values()) and len(set.union(*groups.values())) == len(groups), groups
    assert len(fresh) == 8 and not fresh & set.union(*groups.values())
    await_hits(server, 25)
    before = groups["all"].pop()
    assert same(server, f"/other.php?{PUBLIC}&private=1", None, None)
    server.get("/other.php?purge=t")
    after = number(ask(server, page))
    assert after != before and same(server, page, None, "_ga=2", None)
    for _ in range(5):
        assert number(ask(server, page)) == after
    with open(server.path("htdocs/.htaccess"), "w") as f:
        f.write("CacheLookup off\n")
    assert len({number(ask(server, page)) for _ in range(4)} | {after}) == 5


def test_rules_give_a_lifetime(site):
    server = site('RewriteRule other\\.php - [E=cache-control:max-age=3600]')
    assert same(server, "/other.php?x=1", None, None) and not same(server, "/a?x=1", None, None) and not same(server, "/other.php?cache-control=no-cache", None, None)


def test_cookies_that_an_answer_names(site):
    server = site()
    page = f"/a?{PUBLIC}&vary=cookie=currency,cookie=size"
    assert same(server, page, None, "x=y") and same(server, page, "currency=A", "b=c; currency=A") and not same(server, page, "currency=A", "currency=B")
    assert not same(server, page, "currency=A", "currency=A; size=1") and not same(server, page, "currency=A,1", "currency=A,2")


def test_purges(site):
    server = site()
    pages = {name: f"/{name}?{PUBLIC}&tag=3e1_P.{name},3e1_all" for name in ("a", "b")}

    def purge(what, cookie=None, target="/"):
        before = {name: number(ask(server, page)) for name, page in pages.items()}
        ask(server, f"{target}?cache-control=no-cache&{what}", cookie)
        return "".join(name for name, page in pages.items() if number(ask(server, page)) != before[name])
    assert purge("purge=public,3e1_P.a") == "a" and purge("purge=3e1_P.b") == "b" and purge("purge=tag=3e1_P.a") == "a"
    assert purge("purge=public,3e1_P.a,3e1_P.b") == "ab" and purge("purge2=public,3e1_all") == "ab" and purge("purge=*") == "ab"
    assert purge("purge=none") == "" and purge("purge=private,3e1_all;public,3e1_P.b") == "b" and purge("purge=private,*") == ""
    was = number(ask(server, "/u?p")), number(ask(server, "/v?p"))
    ask(server, "/?purge=/u%3Fp")
    assert number(ask(server, "/u?p")) != was[0] and number(ask(server, "/v?p")) == was[1]
    assert purge("purge=stale,3e1_P.a") == "a" and purge("purge=public,3e1_P.a&status=302") == "a" and purge("purge=public,3e1_P.a&status=404") == "a"


def test_a_post_purges(site):
    server = site()
    page = f"/a?{PUBLIC}&tag=t1"
    assert same(server, page, None, None)
    before = number(ask(server, page))
    assert server.request("POST", "/wp-admin/post.php?purge=public,t1", body=b"x=1")["X-LiteSpeed-Purge"] is None
    assert number(ask(server, page)) != before


def test_private_purges(site):
    server = site()
    page, a, b = "/a?cache-control=private,max-age=100&tag=cart,public:shop", "PHPSESSID=1", "PHPSESSID=2"

    def purge(what, cookie):
        before = [number(ask(server, page, c)) for c in (a, b)]
        ask(server, f"/?{what}", cookie)
        return [number(ask(server, page, c)) != was for c, was in zip((a, b), before)]
    assert purge("purge=private,cart", a) == [True, False] and purge("purge=private,*", b) == [False, True]
    assert purge("purge=cart", a) == [False, False] and purge("purge=private,cart", None) == [False, False]
    assert purge("purge=public,shop", None) == [True, True] and purge("purge=*", a) == [True, True]


def test_hosts_end_nothing_of_each_other(site):
    host = "<VirtualHost *:*>\nServerName {}\nDocumentRoot @ROOT@/htdocs\nLiteSpeedCache On\n</VirtualHost>\n"
    server = site(host=host.format("one.example") + host.format("two.example"))
    page = f"/a?{PUBLIC}&tag=t"
    one, two = ({"Host": name} for name in ("one.example", "two.example"))

    def get(target, host):
        return number(server.request("GET", target, host=host["Host"]))
    before = get(page, one), get(page, two)
    assert before[0] != before[1] and (get(page, one), get(page, two)) == before
    for purge in ("purge=t", "purge=*", "purge=/a", "purge=public,t"):
        was = get(page, two)
        get(f"/?{purge}", one)
        assert get(page, two) == was, purge
    get("/?purge=*", two)
    assert get(page, two) != before[1]


def test_php_alone_says_it(site):
    """Neither a client's fields nor a backend's of HTTP count, and PHP sees none that a client sent."""
    server = site()
    body = ask(server, "/a", **{"X-LSCACHE": "evil", "X_LSCACHE": "evil", "X-LSCACHE-Vary-Value": "evil", "X-LSCACHE-VARY-COOKIE": "evil"}).body
    assert b"evil" not in body and b'"X-LSCACHE":"on,crawler,esi"' in body
    assert not same(server, "/a", None, None, **{"X-LiteSpeed-Cache-Control": "public,max-age=100"})
    page = f"/b?{PUBLIC}&tag=t"
    before = number(ask(server, page))
    server.request("POST", "/c", headers={"X-LiteSpeed-Purge": "*", "X-LiteSpeed-Purge2": "*"}, body=b"x")
    assert number(ask(server, page)) == before


def test_off_it_does_nothing(serve):
    with php(POOL) as fpm:
        server = serve(f'CacheEnable memory /none/\nDirectoryIndex index.php\n<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{fpm}/socket|fcgi://localhost"\n</FilesMatch>\n', files={".htaccess": RULES % "", "index.php": PAGE, "b/.htaccess": "CacheLookup on\n", "b/a.txt": "", "c/.htaccess": "CacheEnable memory /\n", "c/a.txt": ""})
        first, second = server.get(f"/a?{PUBLIC}"), server.get(f"/a?{PUBLIC}")
        assert number(first) != number(second) and first["X-LiteSpeed-Cache-Control"] and first["X-LiteSpeed-Cache"] is None and b"LSCACHE" not in first.body
        assert server.get("/b/a.txt").status == 500 and server.get("/c/a.txt").status == 500
        server.wait_for_log(r"b/\.htaccess:1: Invalid command 'CacheLookup'")
        server.wait_for_log(r"c/\.htaccess:1: CacheEnable not allowed here")


def test_where_folders_look_up(site):
    server = site(files={"off/.htaccess": "CacheLookup off\n", "off/x.php": PAGE, "part/.htaccess": "CacheDisable public /part/no\n", "part/x.php": PAGE, "part/no.php": PAGE})
    assert not same(server, f"/off/x.php?{PUBLIC}", None, None) and same(server, f"/part/x.php?{PUBLIC}", None, None) and not same(server, f"/part/no.php?{PUBLIC}", None, None)


# ---- attacks ----

def test_access_control_comes_first(site):
    """A page behind a password is sent to nobody without it, though PHP said that it is public."""
    server = site(more='<Location "/secret">\nAuthType Basic\nAuthName x\nAuthBasicProvider file\nAuthUserFile @ROOT@/htdocs/users\nRequire valid-user\n</Location>\n', files={"users": "a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"})
    page, fields = f"/secret/a?{PUBLIC}", {"Authorization": "Basic YTp0ZXN0"}
    assert same(server, page, None, None, **fields)
    assert server.get(page).status == 401


def test_deception_by_a_suffix(site):
    """A private page under the name of a style sheet is private all the same."""
    server = site()
    page = "/index.php/account.css?cache-control=private,max-age=100"
    assert ask(server, page, "PHPSESSID=1; user=anna").status == 200
    assert b"anna" not in ask(server, page).body and b"anna" not in ask(server, page, "PHPSESSID=2").body


def test_poisoning_by_what_does_not_count(site):
    server = site()
    ask(server, f"/a?{PUBLIC}&utm_source=evil&fbclid=evil")
    assert b"evil" not in ask(server, f"/a?{PUBLIC}").body


def test_poisoning_by_hosts_and_cookies(site):
    server = site()
    page = f"/a?{PUBLIC}"
    clean = number(ask(server, page))
    assert number(server.request("GET", page, host="evil.example")) != clean
    for cookie in ("_lscache_vary=x LS V", "_lscache_vary= LS N", "_lscache_vary=;PHPSESSID=1"):
        ask(server, page, cookie)
        assert number(ask(server, page)) == clean
    private = "/p?cache-control=private,max-age=100"
    ask(server, private, "PHPSESSID=1; user=anna")
    assert b"anna" not in ask(server, private, "PHPSESSID=1x").body
    got = server.raw(f"GET {private} HTTP/1.1\r\nHost: localhost\r\nCookie: PHPSESSID=2\r\nCookie: user=x; PHPSESSID=1\r\nConnection: close\r\n\r\n".encode())
    assert b"anna" not in got


LOGIN = r"""<?php
header('X-LiteSpeed-Cache-Control: public,max-age=100');
foreach (['test=WP Cookie check; path=/', 'second=1; expires=Thu, 01 Jan 2037 00:00:00 GMT; path=/', 'third=3'] as $cookie) {
    header("Set-Cookie: $cookie", false);
    header("lsc-cookie: $cookie", false);
}
header('Set-Cookie: own=' . bin2hex(random_bytes(4)), false);
echo bin2hex(random_bytes(4));
"""


def test_cookies_for_all(site):
    """lsc-cookie: what a stored login page sets for everybody, since it asks for the cookie again; no other cookie, and no client sees the field."""
    server = site(files={"login.php": LOGIN})
    first, *hits = (server.get("/login.php") for _ in range(8))
    cookies = [[v for n, v in got.headers if n.lower() == "set-cookie"] for got in (first, *hits)]
    assert {got.body for got in hits} == {first.body} and {got["X-LiteSpeed-Cache"] for got in hits} == {"hit"}
    assert cookies[1:] == [cookies[0][:3]] * 7 and cookies[0][:3] == ["test=WP Cookie check; path=/", "second=1; expires=Thu, 01 Jan 2037 00:00:00 GMT; path=/", "third=3"]
    assert cookies[0][3].startswith("own=")
    assert not [n for got in (first, *hits) for n, _ in got.headers if n.lower() == "lsc-cookie"]


SEEN = r"""<?php
if (isset($_GET['p'])) header('X-LiteSpeed-Cache-Control: public,max-age=100');
if (isset($_GET['vary'])) header("X-LiteSpeed-Vary: $_GET[vary]");
if (isset($_GET['cc'])) header("Cache-Control: $_GET[cc]");
if (isset($_GET['cookie'])) setcookie('set', 'one');
echo json_encode($_COOKIE), $_SERVER['PHP_AUTH_USER'] ?? '-', bin2hex(random_bytes(4));
"""


@pytest.mark.parametrize("query, name", [("p", "_lscache_vary"), ("p&vary=cookie=my_currency", "my_currency"), ("p&vary=cookie=size,cookie=my_currency", "my_currency")])
def test_cookies_are_read_as_php_reads_them(site, query, name):
    """Else a page that PHP made for one value would be kept under another one: parts end at semicolons alone, the first of a name counts."""
    server = site(files={"seen.php": SEEN})
    page = f"/seen.php?{query}"
    for poison in (f"x=1,{name}=A", f"x=1, {name}=A", f"{name}=B; {name}=A", f"{name}=; {name}=A", f"size=1cookie=my_currency; x={name}=A", f"x =1 {name}=A"):
        ask(server, page, poison)
    for poison in (name.replace("_", ".") + "=EVIL", name.replace("_", " ") + "=EVIL", name.replace("_", "[") + "=EVIL", f"{name}[x]=EVIL"):
        ask(server, page, poison)
        assert b"EVIL" not in ask(server, page).body, poison
    assert f'"{name}":"A"'.encode() in ask(server, page, f"{name}=A").body
    assert f'"{name}":"A"'.encode() in server.raw(f"GET {page}&2 HTTP/1.1\r\nHost: localhost\r\nCookie: {name}=A\r\nConnection: close\r\n\r\n".encode())


@pytest.mark.parametrize("said", ["cookie", "cc=private", "cc=no-store", "cc=no-cache", "auth"])
def test_a_rules_lifetime_is_for_pages_that_are_for_all(site, said):
    """A rule knows nothing of the page; PHP that starts a session, or asks for a password, says so."""
    server = site("RewriteRule .* - [E=cache-control:max-age=3600]", files={"seen.php": SEEN})
    fields = {"Authorization": "Basic YW5uYTp4"} if said == "auth" else {}
    assert ask(server, f"/seen.php?{said}", **fields).status == 200
    first = ask(server, f"/seen.php?{said}")
    assert first["X-LiteSpeed-Cache"] != "hit" and b"anna" not in first.body
    assert same(server, "/seen.php?cc=max-age=5", None, None), "others are kept"


def test_cookies_of_one_client_are_not_stored(site):
    server = site()
    assert server.get(f"/a?{PUBLIC}&cookie=1")["Set-Cookie"] and not server.get(f"/a?{PUBLIC}&cookie=1")["Set-Cookie"]


# ---- blocks ----

BLOCKS = r"""<?php
if (isset($_GET['block'])) {
    header('X-LiteSpeed-Cache-Control: ' . $_GET['_control']);
    header('X-LiteSpeed-Tag: ' . $_GET['block']);
    echo $_GET['block'], '=', $_COOKIE['user'] ?? '-', '=', bin2hex(random_bytes(4)), '=', $_SERVER['ESI_REFERER'];
    exit;
}
foreach (['purge'] as $name) if (isset($_GET[$name])) header("X-LiteSpeed-Purge: $_GET[$name]");
header('X-LiteSpeed-Cache-Control: public,max-age=100,esi=on');
header('X-LiteSpeed-Tag: page');
header('ETag: "same"');
echo 'page ', bin2hex(random_bytes(4)), " [<esi:include src='/?block=cart&_control=private%2Cmax-age%3D100' cache-control='private' as-var='1' />] [<esi:include src='/?block=news&_control=public%2Cmax-age%3D100' />]",
    " [<esi:include src='/?block=nonce&_control=no-cache' combine='sub' />]<esi:inline name='/?x' cache-control='no-cache' cache-tag='t'>inline</esi:inline>";
"""
ESI = '<Directory @ROOT@/htdocs>\nOptions +Includes\nSSIEsi On\n</Directory>\n'


def parts(server, target, cookie=None, **fields):
    got = ask(server, target, cookie, **fields)
    assert got.status == 200 and b"esi:" not in got.body and b"inline" not in got.body and not got["Surrogate-Control"], got.body
    page, cart, news, nonce = re.fullmatch(rb"page (\w+) \[cart=(.*?)\] \[news=(.*?)\] \[nonce=(.*?)\]", got.body).groups()
    return got["X-LiteSpeed-Cache"], page, cart, news, nonce


def test_blocks_of_a_stored_page(site):
    server = site(more=ESI, files={"index.php": BLOCKS})
    anna, bert = "PHPSESSID=1; user=anna", "PHPSESSID=2; user=bert"
    first, again = parts(server, "/", anna), parts(server, "/", anna)
    assert (first[0], again[0]) == ("miss", "hit") and first[1:4] == again[1:4] and first[4] != again[4] and first[2].startswith(b"anna=") and first[2].endswith(b"=/")
    other = parts(server, "/", bert, **{"If-None-Match": '"same"', "If-Modified-Since": "Mon, 01 Jan 2035 00:00:00 GMT"})
    assert other[1] == first[1] and other[3] == first[3] and other[2].startswith(b"bert=") and parts(server, "/", bert)[2] == other[2]
    assert parts(server, "/")[2].startswith(b"-=") and parts(server, "/")[2] != parts(server, "/")[2], "no session: asked for each time"


def test_a_block_is_purged_by_itself(site):
    server = site(more=ESI, files={"index.php": BLOCKS})
    a = "PHPSESSID=1; user=anna"
    first = parts(server, "/", a)
    ask(server, "/other?purge=private,cart", a)
    second = parts(server, "/", a)
    assert second[1] == first[1] and second[3] == first[3] and second[2] != first[2]
    ask(server, "/other?purge=news", a)
    third = parts(server, "/", a)
    assert third[1] == first[1] and third[3] != second[3] and third[2] == second[2]
    ask(server, "/other?purge=page", a)
    assert parts(server, "/", a)[1] != first[1]


def test_blocks_without_the_filter_are_not_stored(site):
    server = site(files={"index.php": BLOCKS})
    assert number(ask(server, "/")) == b"page" and ask(server, "/").body != ask(server, "/").body
