# SPDX-License-Identifier: Apache-2.0
"""A plain file is stored once for all queries where nobody looks at them; what looks at the query is asked each time."""
import pytest

import brigade
from cache_site import await_hits, hits, settle

FILES = {"a.txt": "plain\n", "page.shtml": '<!--#echo var="QUERY_STRING" -->\n', "d/index.html": "index\n", "list/one.txt": "1\n", "list/two.txt": "22\n"}
LOADS = f"LoadModule rewrite_module {brigade.APACHE_MODULES}/mod_rewrite.so\n"


@pytest.fixture
def site(serve):
    def start(config, **more):
        directives = "" if brigade.is_apache(brigade.BINARY) else "EventLoops 1\n"
        server = serve(directives + "FileETag None\n" + config, files=FILES, **more)
        settle(server.path("htdocs"))
        with server.connect() as c:
            for i in range(6):
                for target in ("/a.txt", "/d/"):
                    assert c.get(f"{target}?{i}").status in (200, 403)
                    assert c.get(target).status in (200, 403)
        return server
    return start


def asked(server, target, *queries):
    with server.connect() as c:
        return [c.get(f"{target}?{q}" if q is not None else target) for q in queries * 4]


@pytest.mark.parametrize("rule", [
    "<If \"%{QUERY_STRING} == 'no'\">\nRequire all denied\n</If>\n",
    "<Location />\nRequire expr \"%{QUERY_STRING} != 'no'\"\n</Location>\n",
    "<If \"reqenv('REFUSED') == '1'\">\nRequire all denied\n</If>\nSetEnvIfExpr \"%{QUERY_STRING} == 'no'\" REFUSED=1\n",
    "<If \"%{THE_REQUEST} =~ /[?]no /\">\nRequire all denied\n</If>\n"])
def test_rules_that_look_at_it(site, rule):
    server = site(rule)
    for target in ("/a.txt", "/d/"):
        assert [a.status for a in asked(server, target, None, "no", "x", "no", "y", "no")] == [200, 403, 200, 403, 200, 403] * 4


def test_a_rewrite_condition(site):
    rules = "RewriteEngine On\nRewriteCond %{QUERY_STRING} ^no$\nRewriteRule ^ - [F]\n"
    server = site(rules, modules=["rewrite"]) if brigade.is_apache(brigade.BINARY) else site("BuiltinModules all\n" + LOADS + rules)
    assert [a.status for a in asked(server, "/a.txt", None, "no", "x", "no")] == [200, 403, 200, 403] * 4


@pytest.mark.only("brigade")
def test_a_rewrite_condition_that_comes(site):
    server = site("BuiltinModules all\n" + LOADS + "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n")
    assert {a.status for a in asked(server, "/a.txt", "1", None, "no")} == {200}
    server.write(".htaccess", "RewriteEngine On\nRewriteCond %{QUERY_STRING} ^no$\nRewriteRule ^ - [F]\n")
    assert [a.status for a in asked(server, "/a.txt", "1", None, "no", "2")] == [200, 200, 403, 200] * 4


LUA = """function of_query(r)
    r.headers_out["X-Query"] = r.args or "none"
    return apache2.DECLINED
end
"""


LUA_LOADED = f"BuiltinModules all\nLoadModule lua_module {brigade.APACHE_MODULES}/mod_lua.so\n<Location /metrics>\nSetHandler metrics\n</Location>\n"


def test_a_module_that_begins_to_look_at_it(site):
    """Without its directives mod_lua leaves queries alone."""
    access_files = "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n"
    mine = not brigade.is_apache(brigade.BINARY)
    server = site(LUA_LOADED + access_files) if mine else site(access_files, modules=["lua"])
    before = hits(server) if mine else 0
    assert {a["X-Query"] for a in asked(server, "/a.txt", *map(str, range(20)))} == {None}
    if mine:
        await_hits(server, before + 70)
    server.write("of_query.lua", LUA, "conf")
    server.write(".htaccess", f"LuaHookFixups {server.path('conf/of_query.lua')} of_query\n")
    assert [a["X-Query"] for a in asked(server, "/a.txt", "1", None, "2")] == ["1", "none", "2"] * 4


def test_a_field_of_the_response(site):
    server = site('Header set X-Query "expr=[%{QUERY_STRING}]"\n')
    assert [a["X-Query"] for a in asked(server, "/a.txt", "1", None, "2", "1")] == ["[1]", "[]", "[2]", "[1]"] * 4


def test_an_access_file_that_comes(site):
    server = site("<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n")
    assert {a.status for a in asked(server, "/a.txt", "1", None, "no")} == {200}
    server.write(".htaccess", "<If \"%{QUERY_STRING} == 'no'\">\nRequire all denied\n</If>\n")
    assert [a.status for a in asked(server, "/a.txt", "1", None, "no")] == [200, 200, 403] * 4
    server.write("a.txt", "other\n")
    assert {a.body for a in asked(server, "/a.txt", "1", None, "2")} == {b"other\n"}


def test_pages_and_listings(site):
    server = site("<Directory @ROOT@/htdocs>\nOptions +Includes +Indexes\n</Directory>\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\nIndexOptions FancyIndexing\n", modules=["include"])
    assert [a.body for a in asked(server, "/page.shtml", "one", "two")] == [b"one\n", b"two\n"] * 4
    up, down = asked(server, "/list/", "C=N;O=A", "C=N;O=D")[:2]
    assert up.body.index(b"one.txt") < up.body.index(b"two.txt") and down.body.index(b"two.txt") < down.body.index(b"one.txt")


def test_log_lines_have_their_own(site):
    server = site('CustomLog "@ROOT@/logs/access_log" "%r|%U|%q"\n')
    queries = ["1", None, "b=2", "l" * 3000, ""]
    asked(server, "/a.txt", *queries)
    server.stop()
    targets = [("/a.txt", "") if q is None else (f"/a.txt?{q}", f"?{q}") for q in queries]
    lines = server.read("logs/access_log").decode().splitlines()[-20:]
    assert lines == [f"GET {target} HTTP/1.1|/a.txt|{shown}" for target, shown in targets] * 4


def test_targets_that_are_refused(site):
    server = site("LimitRequestLine 200\n")
    assert [a.status for a in asked(server, "/a.txt", "x" * 100)] == [200] * 4
    for query, status in (("x" * 300, 414), ("x#y", 400)):
        with server.connect() as c:
            assert c.get("/a.txt?" + query).status == status
