# SPDX-License-Identifier: Apache-2.0
"""Pages that change, that go wrong, and that are too much: validators, errors, limits, and what others do not have."""
import os
import subprocess

import pytest

from ssi_site import CONF, ERROR, body, condition, echo, include, set_to

NAME = echo("DOCUMENT_NAME")

pytestmark = pytest.mark.only("brigade")

PARTS = CONF.replace("AllowOverride All", "AllowOverride All\n    SSIETag Parts\n    SSILastModified Parts")


def levels():
    return {"a.shtml": "1" + include("b.shtml"), "b.shtml": "2" + include("c.shtml"), "c.shtml": "3" + include("d.txt"), "d.txt": "4"}


def age(server, *names, seconds=1600000000):
    for name in names:
        os.utime(server.path("htdocs", name), (seconds, seconds))


def test_a_change_three_levels_down(serve):
    server = serve(PARTS, files=levels())
    age(server, *levels())
    seen = set()
    for n in range(6):
        first = server.get("/a.shtml")
        assert first.status == 200 and first.body == b"123" + (b"4" if not n else f"changed {n}".encode())
        assert first["ETag"] and first["ETag"] not in seen
        seen.add(first["ETag"])
        for _ in range(2):
            again = server.get("/a.shtml", {"If-None-Match": first["ETag"]})
            assert (again.status, again.body, again["ETag"]) == (304, b"", first["ETag"])
        old = first["ETag"]
        server.write("d.txt", f"changed {n + 1}")
        assert server.get("/a.shtml", {"If-None-Match": old}).status == 200


def test_last_modified_of_the_newest_part(serve):
    server = serve(PARTS, files=levels())
    age(server, *levels())
    age(server, "d.txt", seconds=1600000100)
    answer = server.get("/a.shtml")
    assert answer["Last-Modified"] == "Sun, 13 Sep 2020 12:28:20 GMT"
    assert server.get("/a.shtml", {"If-Modified-Since": answer["Last-Modified"]}).status == 304
    age(server, "b.shtml", seconds=1600000200)
    again = server.get("/a.shtml", {"If-Modified-Since": answer["Last-Modified"]})
    assert (again.status, again["Last-Modified"]) == (200, "Sun, 13 Sep 2020 12:30:00 GMT")


@pytest.mark.parametrize("change", [
    pytest.param(lambda s: s.write("d.txt", "5"), id="written"),
    pytest.param(lambda s: s.write("c.shtml", "3" + include("e.txt")), id="other include"),
    pytest.param(lambda s: os.replace(s.write("new.txt", "5"), s.path("htdocs", "d.txt")), id="replaced"),
    pytest.param(lambda s: os.truncate(s.path("htdocs", "d.txt"), 0), id="truncated"),
    pytest.param(lambda s: os.unlink(s.path("htdocs", "d.txt")), id="removed"),
    pytest.param(lambda s: s.write(".htaccess", "Require all denied\n"), id="denied"),
])
def test_the_next_request_shows_any_change(serve, change):
    server = serve(PARTS, files={**levels(), "e.txt": "5"})
    assert [body(server, "/a.shtml") for _ in range(3)] == [b"1234"] * 3
    tag = server.get("/a.shtml")["ETag"]
    change(server)
    answer = server.get("/a.shtml", {"If-None-Match": tag})
    assert answer.status != 304 and answer.body != b"1234"


def test_a_part_that_appears(serve):
    server = serve(PARTS, files={"a.shtml": include("b.txt", 'onerror="c.txt" '), "c.txt": "instead"})
    for _ in range(3):
        first = server.get("/a.shtml")
        assert first.body == b"instead"
    server.write("b.txt", "wanted")
    assert server.get("/a.shtml", {"If-None-Match": first["ETag"] or '"x"'}).body == b"wanted"


@pytest.mark.parametrize("what", [
    pytest.param(echo("DATE_LOCAL"), id="local date"), pytest.param(echo("DATE_GMT"), id="date"),
    pytest.param(echo("REMOTE_PORT"), id="port"), pytest.param("<!--#printenv -->", id="printenv"),
    pytest.param('<!--#exec cmd="echo x" -->', id="exec"), pytest.param(condition("%{TIME_SEC} -gt 30"), id="condition")])
def test_pages_of_the_moment_have_no_validators(serve, what):
    server = serve(PARTS, files={"a.shtml": NAME + what, "b.shtml": "x" + include("a.shtml")})
    for target in ("/a.shtml", "/b.shtml"):
        for _ in range(2):
            answer = server.get(target)
            assert answer.status == 200 and answer["Last-Modified"] is None
            assert answer["ETag"] is None
            assert server.get(target, {"If-None-Match": "*", "If-Modified-Since": "Fri, 01 Jan 2038 00:00:00 GMT"}).status == 200


def test_different_queries_have_different_tags(serve):
    server = serve(PARTS, files={"a.shtml": echo("QUERY_STRING")})
    one, two = server.get("/a.shtml?1"), server.get("/a.shtml?2")
    assert (one.body, two.body) == (b"1", b"2")
    assert one["ETag"] is None or one["ETag"] != two["ETag"]


def test_what_depends_on_a_field_varies(serve):
    server = serve(PARTS, files={"a.shtml": condition("%{HTTP_USER_AGENT} == 'x'"), "b.shtml": echo("HTTP_USER_AGENT")})
    for name in ("/a.shtml", "/b.shtml"):
        one, two = server.get(name, {"User-Agent": "x"}), server.get(name, {"User-Agent": "y"})
        assert one.body != two.body
        assert "user-agent" in (one["Vary"] or "").lower() and "user-agent" in (two["Vary"] or "").lower()
        assert one["ETag"] is None or one["ETag"] != two["ETag"]


# -- what goes wrong ------------------------------------------------------------------------------------------


def test_an_include_that_is_cut_off(serve):
    server = serve(CONF, files={"a.shtml": "a" + include("b.shtml") + "c", "b.shtml": 'b<!--#echo var="DOC'})
    assert body(server, "/a.shtml") == b"ab" + ERROR + b"c"
    server.wait_for_log("AH01372.*b.shtml")


def test_an_include_that_cannot_be_read(serve):
    server = serve(CONF, files={"a.shtml": "a" + include("b.txt") + "c", "b.txt": "secret", "d.shtml": "a" + include("e.shtml") + "c",
                                "e.shtml": "secret"})
    os.chmod(server.path("htdocs", "b.txt"), 0)
    os.chmod(server.path("htdocs", "e.shtml"), 0)
    for name in ("/a.shtml", "/d.shtml"):
        assert body(server, name) == b"a" + ERROR + b"c"
    server.wait_for_log("AH00132.*b.txt")
    server.wait_for_log("unable to include \"e.shtml\"")


def test_a_loop_of_includes(serve):
    server = serve(CONF, files={"a.shtml": "a" + include("b.shtml"), "b.shtml": "b" + include("a.shtml")})
    text = body(server, "/a.shtml")
    assert text == b"ab" * 5 + ERROR or text.replace(b"ab", b"") in (ERROR, b"a" + ERROR)
    server.wait_for_log("AH00125")


# -- limits ---------------------------------------------------------------------------------------------------


def test_limit_of_includes(serve):
    server = serve(CONF + "SSIMaxIncludes 5\n", files={"a.shtml": include("inc.txt") * 7 + "end", "inc.txt": "i",
                                                       "b.shtml": include("inc.txt") * 5 + "end"})
    assert body(server, "/a.shtml") == b"iiiii" + ERROR * 2 + b"end"
    assert body(server, "/b.shtml") == b"iiiiiend"
    server.wait_for_log("SSIMaxIncludes")


def test_limit_of_includes_counts_those_of_included_pages(serve):
    server = serve(CONF + "SSIMaxIncludes 4\n", files={"a.shtml": include("b.shtml") * 3, "b.shtml": include("inc.txt") + ";", "inc.txt": "i"})
    assert body(server, "/a.shtml").count(b"i") - ERROR.count(b"i") * body(server, "/a.shtml").count(ERROR) == 2


def test_limit_of_depth(serve):
    server = serve(CONF + "SSIMaxDepth 2\n", files=levels())
    assert body(server, "/a.shtml") == b"123" + ERROR
    assert body(server, "/b.shtml") == b"234"
    server.wait_for_log("SSIMaxDepth")


def test_limit_of_bytes(serve):
    server = serve(CONF + "SSIMaxBytes 1000\n", files={"a.shtml": include("inc.txt") * 5, "inc.txt": "i" * 300, "b.shtml": include("inc.txt") * 3})
    text = body(server, "/a.shtml")
    assert text.startswith(b"i" * 900) and text.count(b"i" * 300) == 3 and len(text) < 1300
    assert body(server, "/b.shtml") == b"i" * 900
    server.wait_for_log("SSIMaxBytes")


def test_limit_of_values(serve):
    double = "".join(set_to("a", "$a$a") for _ in range(12))
    server = serve(CONF + "SSIMaxValue 1000\n", files={"a.shtml": set_to("a", "x" * 10) + double + "[" + echo("a") + "]" + NAME})
    text = body(server, "/a.shtml")
    assert text.endswith(b"]a.shtml") and len(text) < 2500 + 12 * len(ERROR)
    server.wait_for_log("SSIMaxValue")


def test_limit_of_values_by_default(serve):
    """Thirty doublings would be ten gigabytes."""
    double = "".join(set_to("a", "$a$a") for _ in range(30))
    server = serve(CONF, files={"a.shtml": set_to("a", "x" * 10) + double + NAME})
    assert body(server, "/a.shtml").endswith(b"a.shtml")


def test_limit_of_time_for_an_include(serve):
    server = serve(CONF + "SSIIncludeTimeout 1\n", files={"a.shtml": "a" + include("b.shtml") + "c", "b.shtml": "b" + '<!--#exec cmd="sleep 100" -->' * 3})
    text = body(server, "/a.shtml")
    assert text.startswith(b"ab") and text.endswith(b"c") and ERROR in text
    server.wait_for_log("SSIIncludeTimeout")


@pytest.mark.parametrize("line", ["SSIMaxIncludes x", "SSIMaxIncludes -1", "SSIMaxBytes 1Q", "SSIExecTimeout -5", "SSICacheSize", "SSIETag maybe",
                                  "SSIStartTag \"<! --\"", "SSIEndTag \"\"", "SSIUnknownDirectives perhaps", "XBitHack maybe"])
def test_directives_refuse_nonsense(serve, line):
    done = serve.unstarted(CONF + line + "\n").run("-t")
    assert done.returncode != 0 and line.split()[0].encode() in done.stderr


# -- beyond Apache --------------------------------------------------------------------------------------------


def test_set_and_default(serve):
    server = serve(CONF, files={"a.shtml": include("inc.txt", 'set="got" wait="yes" ') + "[" + echo("got") + "]"
                                + echo("nothing", 'default="(default)" '), "inc.txt": "<i>"})
    assert body(server, "/a.shtml") in (b"[&lt;i&gt;](default)",)


def test_unknown_directives_can_pass(serve):
    server = serve(CONF + "SSIUnknownDirectives Pass\n", files={"a.shtml": 'a<!--#esi-thing x="1" -->b' + NAME + "<!--# -->"})
    assert body(server, "/a.shtml") == b'a<!--#esi-thing x="1" -->ba.shtml<!--# -->'


def test_trace_tells_where_things_come_from(serve):
    server = serve(CONF + "SSITrace On\n", files={"a.shtml": "one\n" + include("b.shtml") + "\n", "b.shtml": "two\n\n" + NAME})
    text = body(server, "/a.shtml").decode()
    assert "b.shtml" in text and "a.shtml:2" in text.replace(" line ", ":").replace(", ", "")
    assert text.count("<!--") == text.count("-->") > 0


def test_check_of_files(serve):
    server = serve.unstarted(CONF, files={"good.shtml": NAME, "bad.shtml": 'line\n  <!--#nothing -->\n<!--#if expr="true" -->\n<!--#echo "x" -->'})
    good = subprocess.run([server.binary, "--check-ssi", server.path("htdocs", "good.shtml")], capture_output=True, text=True)
    assert good.returncode == 0, good.stderr
    bad = subprocess.run([server.binary, "--check-ssi", server.path("htdocs", "bad.shtml")], capture_output=True, text=True)
    words = bad.stdout + bad.stderr
    assert bad.returncode != 0
    assert "bad.shtml:2:3" in words and "bad.shtml:3:1" in words and "bad.shtml:4:" in words, words
