# SPDX-License-Identifier: Apache-2.0
"""Keys without noise: names of parameters that do not count, their order, expressions; clients whom no stored answer is for."""
import pytest

from backend import Backend, answer
from cached_site import config, fields, kind, kinds
from script_backend import Script

pytestmark = pytest.mark.only("brigade")
NOISE = "CacheIgnoreQuery utm_* fbclid gclid\n"


def echo(connection, request):
    return answer(request.target.encode(), fields=fields())


def asked(backend):
    return [r.target for r in backend.requests]


@pytest.mark.parametrize("quick", ["On", "Off"])
def test_names_that_do_not_count(serve, quick):
    with Backend({"*": echo}) as backend:
        server = serve(config(backend, NOISE + f"CacheQuickHandler {quick}\n"))
        for target in ("a?utm_source=x", "a", "a?fbclid=1&utm_medium=%22", "a?", "a?gclid"):
            assert server.get("/p/" + target).body == b"/a", target
        assert server.get("/p/a?id=1&utm_source=y&b=2").body == b"/a?id=1&b=2"
        assert server.get("/p/a?id=1&b=2&fbclid=z").body == b"/a?id=1&b=2"
        assert server.get("/p/a?utm=1").body == b"/a?utm=1"
        assert asked(backend) == ["/a", "/a?id=1&b=2", "/a?utm=1"]


def test_what_does_not_count_reaches_no_backend(serve):
    """A page that repeats a parameter would repeat one client's for all others."""
    with Backend({"*": echo}) as backend:
        server = serve(config(backend, NOISE))
        for _ in range(4):
            assert server.get("/p/page?utm_source=<script>evil</script>").body == b"/page"
        assert server.get("/p/page").body == b"/page" and len(backend.requests) == 1


def test_scripts_do_not_get_it_either(serve):
    def script(params, body, send):
        one.answer(send, "|".join((params["QUERY_STRING"], params["REQUEST_URI"])).encode(), fields="Cache-Control: max-age=100\r\n")
    with Script("fcgi", script) as one:
        server = serve(f'EventLoops 1\n{NOISE}CacheEnable memory /\nCacheHeader On\nRewriteEngine On\n<Directory @ROOT@/htdocs>\nRewriteEngine On\nRewriteRule ^x /i.php [L]\n</Directory>\n'
                       f'<Files "i.php">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</Files>\n', files={"i.php": ""})
        assert server.get("/i.php?utm_source=evil&a=1").body == b"a=1|/i.php?a=1"
        assert server.get("/i.php?utm_source=evil").body == b"|/i.php"
        assert server.get("/x?fbclid=evil&a=2").body == b"a=2|/x?a=2"
        assert kinds(server, ("/x?a=2&utm_x", {}), ("/i.php", {})) == ["HIT", "HIT"]


ALIKE = [("//{}", "/{}"), ("/{}//a", "/{}/a"), ("/{}/%61", "/{}/a"), ("/{}/./a", "/{}/a"), ("/{}/x/../a", "/{}/a"), ("/{}/a%3Fb=1", "/{}/a?b=1"), ("/{}/a%20KEY%20b", "/{}/a"),
         ("/{}/%c3%a4", "/{}/%C3%A4"), ("http://localhost/{}/a", "/{}/a"), ("http://localhost/{}/a?b", "/{}/a?b"), ("/{}/a;b", "/{}/a")]


@pytest.mark.parametrize("more", ["", "CacheQuickHandler Off\n", "<Location /login>\nRequestLimit login by=client rate=10/s\n</Location>\n", NOISE])
def test_scripts_see_what_the_key_has(serve, more):
    """A script that redirects //a to /a, as WordPress does, would else redirect everybody from /a to /a; and a path that is decoded could be another
    one with a query, or with what CacheKey adds."""
    def script(params, body, send):
        one.answer(send, params["REQUEST_URI"].encode(), fields="Cache-Control: max-age=100\r\n")
    with Script("fcgi", script) as one:
        server = serve(f'EventLoops 1\nCacheEnable memory /\nCacheHeader On\n<Directory @ROOT@/htdocs>\nFallbackResource /i.php\n</Directory>\n'
                       f'<Files "i.php">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</Files>\n{more}', files={"i.php": ""})
        for number, pair in enumerate(ALIKE):
            for other, target in (pair, pair[::-1]):
                name = f"{number}{'ab'[pair[0] == target]}"
                for _ in range(3):
                    assert server.get(other.format(name)).body.decode() in (other.format(name), target.format(name).replace("http://localhost", ""))
                for _ in range(3):
                    assert server.get(target.format(name)).body.decode() == target.format(name).replace("http://localhost", ""), (other, target)
        assert kind(server.get("/a/b?utm_x=1&c" if more == NOISE else "/a/b?c")) == "MISS" and kind(server.get("/a/b?c")) == "HIT"


@pytest.mark.parametrize("quick", ["On", "Off"])
def test_a_path_by_another_name_is_disabled_too(serve, quick):
    """A link to /p/%61ccount would leave the page of who follows it for everybody."""
    with Backend({"*": lambda c, r: answer(r.target.encode(), fields=fields())}) as backend:
        server = serve(config(backend, f"CacheDisable /p/account\nCacheQuickHandler {quick}\n"))
        for target in ("/p/account", "/p/%61ccount", "/p//account", "/p/x/../account", "/p/./account", "/p/%2e/account/x", "/p/acc%6Funt?a=1"):
            assert kinds(server, (target, {}), (target, {}), (target, {})) == ["-"] * 3, target
        assert kinds(server, ("/p/%2561ccount", {}), ("/p/%2561ccount", {}), ("/p/%62", {}), ("/p/%62", {})) == ["MISS", "HIT"] * 2


def test_without_the_directive_all_counts(serve):
    with Backend({"*": echo}) as backend:
        server = serve(config(backend))
        assert server.get("/p/a?utm_source=1").body == b"/a?utm_source=1" and server.get("/p/a").body == b"/a"


def test_the_order_of_parameters(serve):
    with Backend({"*": echo}) as backend:
        server = serve(config(backend, "CacheSortQuery On\n"))
        assert server.get("/p/a?b=1&a=2&a=1").body == b"/a?b=1&a=2&a=1"
        assert server.get("/p/a?a=2&b=1&a=1").body == b"/a?b=1&a=2&a=1"
        assert server.get("/p/a?a=1&b=1&a=2").body == b"/a?a=1&b=1&a=2", "values of one name have an order of their own"
        assert len(backend.requests) == 2


def test_an_expression(serve):
    with Backend({"*": lambda c, r: answer((r["X-Site"] or "-").encode(), fields=fields())}) as backend:
        server = serve(config(backend, 'CacheKey "%{HTTP:X-Site}"\nCachePurge 127.0.0.1\n'))
        for _ in range(2):
            for site in ("a", "b", "a b", ""):
                assert server.get("/p/x", headers={"X-Site": site}).body == (site.encode() or b"-")
        assert len(backend.requests) == 4
        assert server.request("PURGE", "/p/x").status == 200
        assert kinds(server, *[("/p/x", {"X-Site": site}) for site in ("a", "b")]) == ["MISS", "MISS"], "the URL ends with all of its answers"
        assert kinds(server, ("/p/x", {"X-Site": "x" * 2000}), ("/p/x", {"X-Site": "x" * 2000})) == ["-", "-"]


LOGGED_IN = {"Cookie": "a=b; wordpress_logged_in_0123=admin%7C; c=d"}


@pytest.mark.parametrize("quick", ["On", "Off"])
def test_cookies_that_bypass(serve, quick):
    with Backend({"*": lambda c, r: answer((r["Cookie"] or "-").encode(), fields=fields())}) as backend:
        server = serve(config(backend, f"CacheBypassCookies wordpress_logged_in_* wp-postpass_* comment_author_*\nCacheQuickHandler {quick}\n"))
        for _ in range(3):
            assert server.get("/p/x", headers=LOGGED_IN).body == LOGGED_IN["Cookie"].encode()
        for _ in range(5):
            assert server.get("/p/x").body == b"-"
        for cookie in ("wordpress_logged_in_=", "wp-postpass_x", " comment_author_1=x", "a=;wordpress_logged_in_a=b", "wordpress.logged.in.a=b", "wordpress[logged in_a=b",
                       f"wordpress_logged_in_{'a' * 200}=b"):
            assert server.get("/p/x", headers={"Cookie": cookie}).body == cookie.strip().encode(), "neither from the loop's cache"
        got = server.raw(b"GET /p/x HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\nCookie: wordpress_logged_in_1=2\r\nConnection: close\r\n\r\n")
        assert b"wordpress_logged_in_1=2" in got.split(b"\r\n\r\n", 1)[1]
        assert server.get("/p/x", headers={"Cookie": "xwordpress_logged_in_1=2; _ga=1"}).body == b"-"
        assert kind(server.get("/p/x")) == "HIT"


def test_a_post_of_theirs_ends_the_page(serve):
    with Backend({"*": lambda c, r: answer(b"x", fields=fields())}) as backend:
        server = serve(config(backend, "CacheBypassCookies wordpress_logged_in_*\n"))
        assert kinds(server, ("/p/x", {}), ("/p/x", {})) == ["MISS", "HIT"]
        server.request("POST", "/p/x", headers=LOGGED_IN)
        assert kind(server.get("/p/x")) == "MISS"


def test_lists_are_a_hosts_own(serve):
    done = serve.unstarted("CacheIgnoreQuery a\n<VirtualHost *:*>\nCacheIgnoreQuery None\nCacheBypassCookies x*\nCacheKey \"%{HTTP:X\"\n</VirtualHost>\n").run("-t")
    assert done.returncode == 1 and b"CacheKey: cannot parse" in done.stderr


# ---- No-Vary-Search ----

def says(value):
    return lambda c, r: answer(r.target.encode(), fields=fields(("No-Vary-Search", value)))


@pytest.mark.parametrize("value,same,other", [
    ('params=("utm" "id x")', ["/p/a?q=1", "/p/a?q=1&utm=2", "/p/a?utm&q=1", "/p/a?q=1&id+x=3&id%20x=4", "/p/a?q=1&%75tm=3"], ["/p/a?q=2", "/p/a", "/p/a?q=1&utmx=2", "/p/b?q=1"]),
    ("key-order", ["/p/a?b=1&a=2", "/p/a?a=2&b=1"], ["/p/a?a=1&b=2", "/p/a?a=2", "/p/a?a=2&b=1&a=2"]),
    ('params, except=("q")', ["/p/a?q=1", "/p/a?q=1&x=2", "/p/a?y=1&q=1"], ["/p/a?q=2", "/p/a?q=1&q=1"]),
    ("params", ["/p/a", "/p/a?x=1", "/p/a?"], ["/p/b"]),
])
def test_no_vary_search(serve, value, same, other):
    with Backend({"*": says(value)}) as backend:
        server = serve(config(backend, "CacheNoVarySearch On\nCacheQuickHandler On\n"))
        for _ in range(2):
            server.get(same[0])  # the path has a rule, and its answer
        bodies = {server.get(target).body for target in same}
        assert len(bodies) == 1 and [kind(server.get(target)) for target in same] == ["HIT"] * len(same)
        for target in other:
            assert server.get(target).body not in bodies, target


@pytest.mark.parametrize("value", ['except=("q")', "params=1", "params=(a)", 'key-order="x"', "params=(\"a\"", "a b", 'params=?0'])
def test_no_vary_search_that_says_nothing(serve, value):
    with Backend({"*": says(value)}) as backend:
        server = serve(config(backend, "CacheNoVarySearch On\n"))
        for _ in range(3):
            assert server.get("/p/a?a=1&b=2").body != server.get("/p/a?b=2&a=1").body and server.get("/p/a?a=1").body != server.get("/p/a").body


def test_no_vary_search_is_asked_for(serve):
    with Backend({"*": says("params")}) as backend:
        server = serve(config(backend))
        assert server.get("/p/a?x=1").body != server.get("/p/a").body


def test_no_vary_search_may_change(serve):
    with Backend({"*": says("params")}) as backend:
        server = serve(config(backend, "CacheNoVarySearch On\nCachePurge 127.0.0.1\n"))
        for _ in range(2):
            server.get("/p/a")
        assert server.get("/p/a?x=1").body == server.get("/p/a?x=2").body
        backend.scripts["*"] = echo
        server.request("PURGE", "/p/a?x=3")
        for _ in range(3):
            seen = server.get("/p/a?x=1").body, server.get("/p/a?x=2").body
        assert seen == (b"/a?x=1", b"/a?x=2")
