# SPDX-License-Identifier: Apache-2.0
"""Listings of folders as BuiltinPages modern has them: order, names with a dot, sums; Apache's stay as they are."""
import re

import pytest

pytestmark = pytest.mark.only("brigade")
NAMES = ["a.txt", "B.txt", "Übung.txt", "zebra.txt", "file10.txt", "file9.txt", "file09.txt", "Ärger.txt", "z.txt", "éa.txt", "e.txt", "f.txt", "λ.txt", "Λa.txt"]
ORDER = ["a.txt", "Ärger.txt", "B.txt", "e.txt", "éa.txt", "f.txt", "file9.txt", "file09.txt", "file10.txt", "Übung.txt", "z.txt", "zebra.txt", "λ.txt", "Λa.txt"]
LISTING = "BuiltinPages {pages}\nIndexOptions {options}\n<Directory @ROOT@/htdocs>\nOptions +Indexes\n</Directory>\n"


def names(server, query=""):
    return [name for name in re.findall(r'<a href="[^"?/]+">([^<]+)</a>', server.get(f"/d/{query}").body.decode()) if name != "Parent Directory"]


@pytest.fixture
def listing(serve):
    def start(pages="modern", options="FancyIndexing"):
        files = {f"d/{name}": "x" * 1000 for name in NAMES} | {"d/.hidden": "x", "d/.git/config": "x"}
        return serve(LISTING.format(pages=pages, options=options), files)
    return start


def test_names_have_an_order_for_people(listing):
    """9 before 10, with marks and without, small and capital: all where one looks for them."""
    server = listing()
    found = names(server)
    assert [name for name in found if "9" not in name] == [name for name in ORDER if "9" not in name]
    assert set(found[6:8]) == {"file9.txt", "file09.txt"}
    assert names(server, "?C=N;O=D")[::-1] == found


def test_names_with_a_dot_are_hidden_until_asked_for(listing):
    server = listing()
    for query in ("", "?F=1", "?P=.*"):
        assert b".hidden" not in server.get("/d/" + query).body and b".git" not in server.get("/d/" + query).body
    body = listing(options="+ShowDotFiles").get("/d/").body
    assert b".hidden" in body and b".git/" in body


def test_pages_of_apache_show_them(listing):
    assert b".hidden" in listing(pages="apache").get("/d/").body


def test_sums(listing):
    body = listing().get("/d/").body
    assert b'<p role="status">0 folders, 14 files, 14 KiB</p>' in body
    assert b"files<" in listing(options="+SuppressSize").get("/d/").body


def test_script_and_style_have_urls(listing):
    """A policy that allows what the site has itself allows them; browsers keep them."""
    server = listing()
    body = server.get("/d/").body.decode()
    assert "<script>" not in body and "<style>" not in body
    for query, kind in re.findall(r'(?:href|src)="(\?(style|script)=\w+)"', body):
        part = server.get("/d/" + query)
        assert part.status == 200 and "immutable" in part["Cache-Control"] and ("css" if kind == "style" else "javascript") in part["Content-Type"]
        assert len(part.body) == int(part["Content-Length"]) > 500
