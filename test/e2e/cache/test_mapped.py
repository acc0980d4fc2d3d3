# SPDX-License-Identifier: Apache-2.0
"""Answers from memory to targets that rules of a server lead to another path ([PT]), by maps too."""
import os

import pytest

import brigade
from cache_site import hits, settle, warm

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of Brigade's response cache")
CONFIG = """
<Location /metrics>
SetHandler metrics
</Location>
DirectoryIndex first.html index.html
RewriteEngine On
RewriteMap m txt:@ROOT@/conf/map.txt
RewriteMap l int:tolower
RewriteMap r rnd:@ROOT@/conf/map.txt
RewriteRule ^/m/(.*)$ /${m:$1|none.txt} [PT]
RewriteRule ^/l/(.*)$ /${l:$1} [PT]
RewriteRule ^/r/(.*)$ /${r:$1} [PT]
RewriteRule ^/plain$ /a.txt [PT]
RewriteCond %{HTTP:X-Kind} =b
RewriteRule ^/kind$ /b.txt [PT]
RewriteRule ^/kind$ /a.txt [PT]
<Location /closed>
Require all denied
</Location>
"""
FILES = {"a.txt": "a\n", "b.txt": "b\n", "none.txt": "none\n", "folder/index.html": "index\n", "closed/x.txt": "x\n"}
MAP = "one a.txt\ntwo b.txt\nfolder folder/\nclosed closed/x.txt\n"


@pytest.fixture(name="server")
def fixture_server(serve):
    server = serve.unstarted("EventLoops 1\n" + CONFIG, FILES)
    server.write("map.txt", MAP, base="conf")
    server.start()
    settle(server.path("htdocs"))
    settle(server.path("conf"))
    return server


def stored(server, target, body, **headers):
    warm(server, target, body, **headers)
    before = hits(server)
    for _ in range(20):
        assert server.get(target, headers).body == body
    brigade.wait_until(lambda: hits(server) >= before + 20, "answers from memory")


@pytest.mark.parametrize("target,body", [("/m/one", b"a\n"), ("/m/three", b"none\n"), ("/m/folder", b"index\n"), ("/l/A.TXT", b"a\n"), ("/plain", b"a\n")])
def test_stored(server, target, body):
    stored(server, target, body)


def test_another_map(server):
    stored(server, "/m/one", b"a\n")
    stored(server, "/m/two", b"b\n")
    server.write("map.txt", MAP.replace("one a.txt", "one b.txt"), base="conf")
    assert server.get("/m/one").body == b"b\n"
    settle(server.path("conf"))
    stored(server, "/m/one", b"b\n")
    os.unlink(server.path("conf/map.txt"))
    assert server.get("/m/one").body == b"none\n"
    server.expect_trouble = True


def test_changes_of_files(server):
    stored(server, "/m/one", b"a\n")
    server.write("a.txt", "other\n")
    assert server.get("/m/one").body == b"other\n"
    stored(server, "/m/folder", b"index\n")
    server.write("folder/first.html", "first\n")
    assert server.get("/m/folder").body == b"first\n"


def test_conditions_and_sections(server):
    stored(server, "/kind", b"a\n")
    stored(server, "/kind", b"b\n", **{"X-Kind": "b"})
    assert server.get("/kind").body == b"a\n"
    for _ in range(3):
        assert server.get("/m/closed").status == 403


def test_what_is_chosen_by_chance(server):
    """Is not stored."""
    server.write("map.txt", "one a.txt|b.txt\n", base="conf")
    assert {server.get("/r/one").body for _ in range(60)} == {b"a\n", b"b\n"}
