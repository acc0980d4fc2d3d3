# SPDX-License-Identifier: Apache-2.0
"""Validators of pages that the server does not remember: conditional requests are answered without rendering."""
import os
import time

import pytest

from ssi_site import CONF, ERROR, condition, echo, include

pytestmark = pytest.mark.only("brigade")

# Nothing is remembered, and one thread sees all.
PARTS = ("FileCacheEntries 0\nEventLoops 1\n"
         + CONF.replace("AllowOverride All", "AllowOverride All\n    SSIETag Parts\n    SSILastModified Parts"))
# Each rendering says so in the log.
MARK = "<!--#nothing -->"
COOKIE = {"Cookie": "a=1"}


def levels(more=""):
    return {"a.shtml": MARK + "1" + more + include("b.shtml"), "b.shtml": "2" + include("c.shtml"), "c.shtml": "3" + include("d.txt"),
            "d.txt": "4", "e.txt": "5"}


def renderings(server):
    return server.read("logs/error_log").count(b"AH01371")


def asked_again(server, answer, headers, target="/a.shtml"):
    before = renderings(server)
    again = server.get(target, {**headers, "If-None-Match": answer["ETag"]})
    return again, renderings(server) - before


def first_and_known(server, headers=None, target="/a.shtml"):
    """The page, when the server answers for it without rendering: files have to be older than two seconds for that."""
    headers = headers or {}
    answer = server.get(target, headers)
    assert answer.status == 200 and answer["ETag"], answer.head
    deadline = time.monotonic() + 20
    while True:
        again, rendered = asked_again(server, answer, headers, target)
        assert (again.status, again.body, again["ETag"]) == (304, b"", answer["ETag"])
        for name in ("Last-Modified", "Vary", "Cache-Control"):
            assert again[name] in (answer[name], None) and (rendered or again[name] == answer[name])
        if not rendered:
            return answer
        assert time.monotonic() < deadline
        server.get(target, headers)


PAGES = {
    "files": ("", {}, ""),
    "query": (echo("QUERY_STRING"), {}, ""),
    "cookie": (echo("HTTP_COOKIE"), COOKIE, ""),
    "no cookie": (echo("HTTP_COOKIE"), {}, ""),
    "condition": (condition("%{HTTP_COOKIE} =~ /a=1/"), COOKIE, ""),
    "function": (condition("http('Cookie') =~ /a=1/"), COOKIE, ""),
    "variable in a condition": (condition("v('HTTP_COOKIE') =~ /a=1/"), COOKIE, ""),
    "of the page": (echo("LAST_MODIFIED") + echo("DOCUMENT_URI"), {}, ""),
    "of a module": (echo("mark"), COOKIE, "SetEnvIf Cookie a=(.*) mark=$1\n"),
}


@pytest.fixture(scope="module")
def pages(serve_module):
    """A server for each, all begun at once: their files grow old together."""
    return {name: serve_module(PARTS + conf, files=levels(more)) for name, (more, _, conf) in PAGES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_not_modified_without_rendering(pages, name):
    server, (more, headers, _) = pages[name], PAGES[name]
    answer = first_and_known(server, headers)
    other = {"Cookie": "a=2"}
    changed = server.get("/a.shtml", {**other, "If-None-Match": answer["ETag"]})
    again = server.get("/a.shtml", other)
    assert changed.status == (304 if again.body == answer.body else 200)
    assert (again["ETag"] == answer["ETag"]) == (again.body == answer.body)
    assert ("a=1" in answer.body.decode()) <= (again.body != answer.body)
    assert asked_again(server, answer, headers)[0].status == 304
    assert server.get("/a.shtml?q", {**headers, "If-None-Match": answer["ETag"]}).status == (200 if "QUERY" in more else 304)


def write_again(server):
    server.write("d.txt", "6")


CHANGES = {
    "written": write_again,
    "other include": lambda s: s.write("c.shtml", "3" + include("e.txt")),
    "replaced": lambda s: os.replace(s.write("new.txt", "5"), s.path("htdocs", "d.txt")),
    "removed": lambda s: os.unlink(s.path("htdocs", "d.txt")),
    "the page itself": lambda s: s.write("a.shtml", "other"),
    "settings": lambda s: s.write(".htaccess", "SSIErrorMsg other\n"),
    "denied": lambda s: s.write(".htaccess", "<Files d.txt>\nRequire all denied\n</Files>\n"),
}


@pytest.fixture(scope="module")
def changing(serve_module):
    return {name: serve_module(PARTS, files=levels(echo("HTTP_COOKIE"))) for name in CHANGES}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_the_next_request_shows_a_change(changing, name):
    server = changing[name]
    answer = first_and_known(server, COOKIE)
    CHANGES[name](server)
    again = asked_again(server, answer, COOKIE)[0]
    assert again.status == 200 and again.body != answer.body


def test_a_part_that_appears(serve):
    server = serve(PARTS, files={"a.shtml": MARK + echo("HTTP_COOKIE") + include("b.txt", 'onerror="c.txt" '), "c.txt": "instead"})
    answer = first_and_known(server, COOKIE)
    server.write("b.txt", "wanted")
    again = asked_again(server, answer, COOKIE)[0]
    assert again.status == 200 and again.body.endswith(b"wanted")


def test_settings_that_appear_beside_a_part(serve):
    server = serve(PARTS, files={**levels(echo("HTTP_COOKIE")), "c.shtml": include("sub/d.shtml"), "sub/d.shtml": echo("nothing")})
    answer = first_and_known(server, COOKIE)
    server.write("sub/.htaccess", "SSIUndefinedEcho changed\n")
    again = asked_again(server, answer, COOKIE)[0]
    assert again.status == 200 and again.body.endswith(b"changed")


def test_a_part_that_not_everyone_may_see(serve):
    server = serve(PARTS + "<Directory @ROOT@/htdocs>\n<Files d.txt>\n    Require expr %{HTTP_COOKIE} == 'a=1'\n</Files>\n</Directory>\n",
                   files=levels())
    answer = server.get("/a.shtml", COOKIE)
    for _ in range(3):
        assert asked_again(server, answer, {})[0].body.endswith(b"3" + ERROR)
        assert asked_again(server, answer, COOKIE)[0].status == 304


def test_other_hosts_have_other_pages(serve):
    server = serve(PARTS, files=levels(echo("SERVER_NAME") + condition("%{SERVER_NAME} == 'localhost'")))
    answer = first_and_known(server)
    again = server.get("/a.shtml", {"If-None-Match": answer["ETag"]}, host="other")
    assert again.status == 200 and b"other" in again.body


def test_many_variants_have_their_own(pages):
    server = pages["cookie"]
    first_and_known(server, COOKIE)
    tags = {n: server.get("/a.shtml", {"Cookie": str(n)})["ETag"] for n in range(20)}
    assert len(set(tags.values())) == 20
    for n, tag in tags.items():
        again = server.get("/a.shtml", {"Cookie": str(n), "If-None-Match": tag})
        assert again.status == 304
        assert server.get("/a.shtml", {"Cookie": "x", "If-None-Match": tag}).status == 200


def test_a_condition_that_fails(pages):
    server = pages["files"]
    answer = first_and_known(server)
    assert server.get("/a.shtml", {"If-Match": '"other"'}).status == 412
    assert server.get("/a.shtml", {"If-Match": answer["ETag"]}).body == answer.body
    assert server.get("/a.shtml", {"If-Match": '"other"', "If-None-Match": answer["ETag"]}).status == 412


@pytest.mark.slow
@pytest.mark.parametrize("parts", ["", include("b.shtml")], ids=["alone", "with includes"])
def test_a_page_that_is_too_large_to_be_kept_back(serve, parts):
    """It gets validators when it is known what they will be."""
    server = serve(PARTS + "EventLoops 1\nServerLimit 1\nThreadsPerChild 1\n", files={**levels(parts), "a.shtml": MARK + parts + "0123456789abcdef" * 150000})
    deadline = time.monotonic() + 20
    while not (answer := server.get("/a.shtml"))["ETag"]:
        assert answer.status == 200 and time.monotonic() < deadline
    whole = answer.body
    assert len(whole) > 2000000 and answer["Last-Modified"]
    while (found := asked_again(server, answer, {}))[1]:  # until the files are old enough to be known
        assert found[0].status in (200, 304) and time.monotonic() < deadline
    again, rendered = found
    assert (again.status, again.body, again["ETag"], rendered) == (304, b"", answer["ETag"], 0)
    assert server.get("/a.shtml").body == whole
    server.write("a.shtml", parts + "0123456789abcdeF" * 150000)
    again = server.get("/a.shtml", {"If-None-Match": answer["ETag"]})
    assert again.status == 200 and again.body.endswith(b"F") and again["ETag"] != answer["ETag"]
