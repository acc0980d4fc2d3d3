# SPDX-License-Identifier: Apache-2.0
"""Answers of MultiViews from memory: one for each value of the fields that choices go by; names that come and go in the folder count."""
import os

import pytest

import brigade
from cache_site import hits, one_loop, settle as settle_files, warm

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of Brigade's response cache")
CONFIG = """
<Location /metrics>
SetHandler metrics
</Location>
DirectoryIndex index.html
<Directory @ROOT@/htdocs>
Options MultiViews FollowSymLinks Indexes
AllowOverride All
AddLanguage en .en
AddLanguage de .de
AddLanguage it .it
AddEncoding x-gzip .gz
LanguagePriority en de
ForceLanguagePriority Prefer Fallback
</Directory>
"""
FILES = {"page.html.en": "english\n", "page.html.de": "deutsch\n", "index.html.en": "index\n", "index.html.de": "Index\n", "sub/page.html.en": "sub english\n",
         "include.shtml": '<!--#include virtual="/page" -->\n'}
DE, EN, IT = ({"Accept-Language": v} for v in ("de", "en", "it"))


def settle(folder):
    """Folders, too: the tag of what is chosen has their age, and is weak as long as they are young."""
    settle_files(folder)
    for path, _, _ in os.walk(folder):
        os.utime(path, (1.7e9, 1.7e9))


@pytest.fixture(name="server")
def fixture_server(serve):
    server = one_loop(serve, CONFIG, files=FILES)
    settle(server.path("htdocs"))
    return server


def stored(server, target, headers, body, status=200):
    """The answer, which comes from memory."""
    warm(server, target, body, status, **headers)
    before = hits(server)
    for _ in range(20):
        r = server.get(target, headers)
        assert (r.status, r.body) == (status, body)
    brigade.wait_until(lambda: hits(server) >= before + 20, "answers from memory")
    return r


@pytest.mark.parametrize("target,bodies", [("/page", [b"deutsch\n", b"english\n"]), ("/page.html", [b"deutsch\n", b"english\n"]), ("/", [b"Index\n", b"index\n"])])
def test_each_value_has_its_own(server, target, bodies):
    for headers, body in zip((DE, EN), bodies):
        r = stored(server, target, headers, body)
        assert r["Vary"] == "negotiate,accept-language" and r["TCN"] == "choice"
    for headers, body in zip((DE, EN, IT, {}), (*bodies, bodies[1], bodies[1])):
        assert server.get(target, headers).body == body
        assert server.request("HEAD", target, headers)["Content-Length"] == str(len(body))


def test_a_variant_comes_and_goes(server):
    stored(server, "/page", IT, b"english\n")
    stored(server, "/page", DE, b"deutsch\n")
    server.write("page.html.it", "italiano\n")
    assert server.get("/page", IT).body == b"italiano\n" and server.get("/page", DE).body == b"deutsch\n"
    settle(server.path("htdocs"))
    stored(server, "/page", IT, b"italiano\n")
    os.rename(server.path("htdocs/page.html.it"), server.path("htdocs/other.html.it"))
    assert server.get("/page", IT).body == b"english\n"
    server.write("page.html.de", "Deutsch\n")
    assert server.get("/page", DE).body == b"Deutsch\n"


def test_the_name_itself_comes(server):
    """A file of that very name needs no choice; nor does a type map."""
    stored(server, "/page.html", DE, b"deutsch\n")
    path = server.write("page.html", "the page\n")
    assert server.get("/page.html", DE).body == b"the page\n"
    os.unlink(path)
    assert server.get("/page.html", DE).body == b"deutsch\n"


def test_rules_of_the_folder(server):
    """An access file that comes, for a variant alone, or for all of the folder."""
    stored(server, "/sub/page", DE, b"sub english\n")
    server.write("sub/.htaccess", "<Files page.html.en>\nRequire all denied\n</Files>\n")
    assert server.get("/sub/page", DE).status == 403
    os.unlink(server.path("htdocs/sub/.htaccess"))
    assert server.get("/sub/page", DE).body == b"sub english\n"
    settle(server.path("htdocs"))
    stored(server, "/sub/page", DE, b"sub english\n")
    server.write("sub/.htaccess", "Options -MultiViews\n")
    assert server.get("/sub/page", DE).status == 404


def test_the_folder_moves(server):
    stored(server, "/sub/page", EN, b"sub english\n")
    os.rename(server.path("htdocs/sub"), server.path("htdocs/gone"))
    assert server.get("/sub/page", EN).status == 404
    os.rename(server.path("htdocs/gone"), server.path("htdocs/sub"))
    assert server.get("/sub/page", EN).body == b"sub english\n"


def test_other_fields(server):
    """What is refused is refused for those who refuse it alone."""
    server.write("b.txt.gz", "packed")
    server.write("b.txt", "b.txt\n", base="other")
    settle(server.path("htdocs"))
    stored(server, "/b.txt", {"Accept-Encoding": "gzip"}, b"packed")
    assert server.get("/page", {"Accept": "image/png"}).status == 406
    stored(server, "/page", {**DE, "Accept": "text/html"}, b"deutsch\n")
    assert server.get("/page", {**DE, "Accept": "image/png"}).status == 406
    assert server.get("/page", {**DE, "Negotiate": "vlist"}).status == 300
    assert server.get("/page", {**DE, "Accept": "text/html"}).body == b"deutsch\n"


def test_old_versions(server):
    """HTTP/1.0 gets the same, as from Apache."""
    stored(server, "/page", DE, b"deutsch\n")
    for _ in range(3):
        old = server.raw(b"GET /page HTTP/1.0\r\nHost: localhost\r\nAccept-Language: de\r\n\r\n")
        assert old.endswith(b"\r\n\r\ndeutsch\n") and b"\r\nExpires: " not in old


def test_a_part_of_a_page(serve):
    server = one_loop(serve, CONFIG + "<Location />\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Location>\n", files=FILES)
    settle(server.path("htdocs"))
    for _ in range(4):
        for headers, body in ((DE, b"deutsch\n\n"), (EN, b"english\n\n")):
            assert server.get("/include.shtml", headers).body == body
    server.write("page.html.it", "italiano\n")
    assert server.get("/include.shtml", IT).body == b"italiano\n\n"


def test_many_values(server):
    """As many as there are languages of browsers: memory is bounded, answers are right."""
    stored(server, "/page", DE, b"deutsch\n")
    for n in range(300):
        assert server.get("/page", {"Accept-Language": f"de;q=0.{n + 100}, x-{n}"}).body == b"deutsch\n"
        assert server.get("/page", EN).body == b"english\n"
    assert server.get("/page", DE).body == b"deutsch\n"


MAP = "URI: page.html.en\nContent-Type: text/html\nContent-Language: en\n\nURI: page.html.de\nContent-Type: text/html\nContent-Language: de\n"


@pytest.fixture(name="mapped")
def fixture_mapped(serve):
    config = CONFIG + 'AddHandler type-map .var\nAddOutputFilter INCLUDES .shtml\n<Directory @ROOT@/htdocs>\nOptions +Includes\n</Directory>\nCustomLog @ROOT@/logs/own "%U %f %s %>s"\n'
    server = one_loop(serve, config, files={**FILES, "map.var": MAP, "include.shtml": '<!--#include virtual="/map.var" -->\n',
                                            "pages.var": "URI: include.shtml\nContent-Type: text/html\n",
                                            "body.var": "Content-Language: en\nContent-Type: text/plain\nBody:----end\nin the map\n----end\n"})
    settle(server.path("htdocs"))
    return server


def test_a_type_map(mapped):
    """Its variants come from memory; logs have the map's name and the variant's file."""
    for headers, body in ((DE, b"deutsch\n"), (EN, b"english\n")):
        r = stored(mapped, "/map.var", headers, body)
        assert r["Vary"] == "negotiate,accept-language" and r["Content-Location"] == f"page.html.{headers['Accept-Language']}"
        assert r["Content-Language"] == headers["Accept-Language"] and ";" in r["ETag"]
        assert mapped.get("/map.var", {**headers, "If-None-Match": r["ETag"]}).status == 304
    assert mapped.get("/map.var", {**IT, "Accept": "image/png"}).status == 406
    own = {line for line in mapped.read("logs/own").decode().splitlines() if line.startswith("/map.var ") and line.endswith(" 200 200")}
    assert own == {f"/map.var {mapped.path('htdocs')}/page.html.{n} 200 200" for n in ("de", "en")}


def test_changes_of_a_type_map(mapped):
    stored(mapped, "/map.var", DE, b"deutsch\n")
    mapped.write("page.html.de", "anders\n")
    assert mapped.get("/map.var", DE).body == b"anders\n"
    settle(mapped.path("htdocs"))
    stored(mapped, "/map.var", DE, b"anders\n")
    mapped.write("map.var", MAP.replace("page.html.de", "index.html.de"))
    assert mapped.get("/map.var", DE).body == b"Index\n"
    settle(mapped.path("htdocs"))
    stored(mapped, "/map.var", DE, b"Index\n")
    mapped.write(".htaccess", "<Files index.html.de>\nRequire all denied\n</Files>\n")
    assert mapped.get("/map.var", DE).status == 403


def test_what_a_type_map_does_not_take(mapped):
    """A page with includes, a variant in the map itself, a map in a page, POST: as ever."""
    for _ in range(3):
        assert mapped.get("/pages.var", DE).body == b"deutsch\n\n"
        assert mapped.get("/body.var").body == b"in the map\n"
        assert mapped.get("/include.shtml", EN).body == b"english\n\n"
        assert mapped.request("POST", "/map.var", DE, body=b"x").status in (200, 405)
