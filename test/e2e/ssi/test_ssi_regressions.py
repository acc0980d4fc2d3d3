# SPDX-License-Identifier: Apache-2.0
"""Mistakes that servers made with server-side includes, each by its number where it has one."""
import gzip
import os
import time

import pytest

from brigade import REPOSITORY
from ssi_site import CONF, ERROR, body, condition, echo, include, is_sanitized, open_files, resident_kb, set_to

NAME = echo("DOCUMENT_NAME")


@pytest.fixture(scope="module")
def site(serve_module):
    """One server for pages that need no configuration of their own."""
    return serve_module(CONF, files={"inc.txt": "included", "error.shtml": "x"})


def page(site, name, text, query=""):
    site.write(name, text)
    return body(site, f"/{name}{query}")


# -- edges ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edge", [0, 4096, 8000, 8192, 16384, 65536])
def test_pr44447_pr21095_directive_at_the_edge_of_a_buffer(site, edge):
    for offset in range(max(edge - 40, 0), edge + 3):
        text = "x" * offset + NAME + "y" * 20
        assert page(site, "edge.shtml", text) == b"x" * offset + b"edge.shtml" + b"y" * 20, offset


@pytest.mark.parametrize("length", range(0, 7))
def test_files_shorter_than_a_tag(site, length):
    text = "<!--#e"[:length]
    expected = text.encode() if length < 5 else ERROR
    assert page(site, f"short-{length}.shtml", text) == expected


@pytest.mark.parametrize("end", ["<", "<!", "<!-", "<!--"])
def test_nginx_0_3_6_part_of_a_tag_at_the_end(site, end):
    assert page(site, "end.shtml", NAME + end) == b"end.shtml" + end.encode()


def test_nginx_0_3_50_nothing_lost_or_doubled_around_includes(site):
    text = "a<" + include("inc.txt") + "<!--" + include("inc.txt") + "<" + include("inc.txt") + "<!-"
    assert page(site, "around.shtml", text) == b"a<included<!--included<included<!-"


def test_nginx_0_7_4_large_includes_are_whole(site):
    large = "".join(f"{i:07}\n" for i in range(200000))
    site.write("large.txt", large)
    site.write("large.shtml", NAME + large + include("inc.txt"))
    text = "<" + include("large.txt") + ">" + include("large.shtml") + "<" + include("large.txt") + ">"
    expected = f"<{large}>larges.shtml{large}included<{large}>".encode()
    got = page(site, "larges.shtml", text)
    assert len(got) == len(expected) and got == expected


def test_nginx_0_8_45_compression_after_includes(serve):
    large = "".join(f"{i:07}\n" for i in range(100000))
    server = serve("LoadModule deflate_module @MODULES@/mod_deflate.so\n" + CONF.replace("INCLUDES .shtml", "INCLUDES;DEFLATE .shtml"),
                   files={"a.shtml": NAME + include("large.txt") + "<" + include("empty.txt") + include("large.txt") + ">",
                          "large.txt": large, "empty.txt": ""}, modules=("include",))
    for _ in range(2):
        answer = server.get("/a.shtml", {"Accept-Encoding": "gzip"})
        assert answer["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.body) == f"a.shtml{large}<{large}>".encode()
    assert body(server, "/a.shtml") == f"a.shtml{large}<{large}>".encode()


# -- variables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 129, 192, 256, 4096, 8191, 8192])
def test_pr32985_expansion_of_any_length(site, length):
    value = "v" * length
    text = set_to("a", value) + set_to("b", "$a$a") + echo("b") + set_to("c", "<$a>") + echo("c", 'encoding="none" ')
    assert page(site, "expand.shtml", text) == f"{value}{value}<{value}>".encode()


def test_pr12655_environment_survives_nested_includes(site):
    for level in range(5):
        names = "".join(set_to(f"v{level}_{n}", f"{level}.{n}") for n in range(40))
        site.write(f"nest-{level}.shtml", names + (include(f"nest-{level + 1}.shtml") if level < 4 else ""))
    text = include("nest-0.shtml") + "".join(echo(f"v{level}_{n}") + " " for level in range(5) for n in range(40))
    expected = "".join(f"{level}.{n} " for level in range(5) for n in range(40))
    assert page(site, "nest.shtml", text + echo("DOCUMENT_NAME")) == (expected + "nest.shtml").encode()


def test_pr39369_time_format_with_two_filters(serve):
    server = serve(CONF + "<Location /two.shtml>\n    SetOutputFilter INCLUDES;INCLUDES\n</Location>\n", modules=("include",),
                   files={"two.shtml": '<!--#config timefmt="%Y" -->' + echo("LAST_MODIFIED") + " " + echo("DATE_GMT")})
    year = time.strftime("%Y", time.gmtime())
    assert body(server, "/two.shtml") == f"{year} {year}".encode()


def test_double_substitution(site):
    """devongarde/ssc 32: what a value brings in is not looked at again."""
    text = set_to("a", r"\$DOCUMENT_NAME \${b}") + set_to("b", "B") + set_to("c", "$a") + echo("c")
    assert page(site, "twice.shtml", text) == b"$DOCUMENT_NAME ${b}"


def test_groups_of_an_empty_variable(site):
    text = (set_to("e", "") + condition("v('e') =~ /^(x?)(y)?/", set_to("m", "[$0|$1|$2|$3]") + echo("m"))
            + condition("v('nothing') =~ /(.*)/", set_to("m", "[$0|$1|$2]") + echo("m")))
    assert page(site, "empty.shtml", text) == b"[|||][||]"


@pytest.mark.only("brigade")
def test_groups_after_an_expression_that_did_not_match(site):
    """Apache reads the groups of a match that is gone, and ends."""
    text = condition("'xyz' =~ /(y)/") + condition("'abc' =~ /(q)(r)(s)/") + set_to("m", "[$0$1$2$9]") + echo("m")
    for _ in range(20):
        assert page(site, "groups.shtml", text).startswith(b"yesno[")


def test_pr59844_conditions_keep_their_own_answer(site):
    text = "".join(condition(f"%{{QUERY_STRING}} == '{n}'", "1", "0") for n in range(50))
    site.write("answers.shtml", text)
    for n in (0, 7, 49, 50, 7):
        assert body(site, f"/answers.shtml?{n}") == b"".join(b"1" if i == n else b"0" for i in range(50))


def test_pr54548_elif_has_the_parser_of_if(serve):
    legacy = set_to("a", "x") + '<!--#if expr="$a = y" -->1<!--#elif expr="$a = x && z" -->2<!--#else -->3<!--#endif -->'
    modern = set_to("a", "x") + "<!--#if expr=\"v('a') == 'y'\" -->1<!--#elif expr=\"v('a') == 'x'\" -->2<!--#else -->3<!--#endif -->"
    server = serve(CONF + "<Directory @ROOT@/htdocs/old>\n    SSILegacyExprParser On\n</Directory>\n", modules=("include",),
                   files={"old/a.shtml": legacy, "new/a.shtml": modern})
    assert body(server, "/old/a.shtml") == b"2"
    assert body(server, "/new/a.shtml") == b"2"


def test_pr60624_document_uri_in_an_included_condition(site):
    site.write("inner.shtml", condition("v('DOCUMENT_URI') == '/outer.shtml'") + echo("DOCUMENT_URI"))
    assert page(site, "outer.shtml", include("inner.shtml")) == b"yes/outer.shtml"


def test_2_4_11_function_names_in_capitals(site):
    text = set_to("a", "1") + "".join(condition(f"{f}('a') == '1'") for f in ("env", "ENV", "reqenv", "v", "V"))
    assert page(site, "env.shtml", text) == b"yes" * 5


# -- configuration --------------------------------------------------------------------------------------------


def test_2_3_13_settings_of_folders_are_merged_one_by_one(serve):
    text = '<!--#nothing -->|' + echo("none") + "|" + '<!--#flastmod file="a.shtml" -->'
    server = serve(CONF + """SSIErrorMsg server
<Directory @ROOT@/htdocs/a>
    SSITimeFormat time
</Directory>
<Directory @ROOT@/htdocs/a/b>
    SSIUndefinedEcho undefined
</Directory>
<Directory @ROOT@/htdocs/a/b/c>
    SSIErrorMsg inner
</Directory>
""", modules=("include",), files={"a/a.shtml": text, "a/b/a.shtml": text, "a/b/c/a.shtml": text})
    assert body(server, "/a/a.shtml") == b"server|(none)|time"
    assert body(server, "/a/b/a.shtml") == b"server|undefined|time"
    assert body(server, "/a/b/c/a.shtml") == b"inner|undefined|time"


EXEC = """<IfModule !mod_cgid.c>
    LoadModule cgid_module @MODULES@/mod_cgid.so
</IfModule>
ScriptSock @ROOT@/logs/cgisock
"""


@pytest.mark.parametrize("override,htaccess,status,runs", [
    ("Options=IncludesNOEXEC", "Options +Includes", 500, None),
    ("Options=IncludesNOEXEC", "Options Includes", 500, None),
    ("Options=IncludesNOEXEC", "Options +IncludesNOEXEC", 200, False),
    ("Options=Indexes", "Options +Includes", 500, None),
    ("Options=Includes", "Options +Includes", 200, True),
    ("Options", "Options +Includes", 200, True),
    ("None", "Options +Includes", 200, False),
])
def test_cve_2009_1195_override_does_not_bring_exec(serve, override, htaccess, status, runs):
    server = serve(EXEC + CONF.replace("AllowOverride All", f"AllowOverride {override}").replace("Options Includes", "Options IncludesNOEXEC"),
                   modules=("include", "cgid"), files={"a.shtml": '<!--#exec cmd="echo ran" -->', ".htaccess": htaccess + "\n"})
    text = body(server, "/a.shtml", status=status)
    if status == 200:
        assert text == (b"ran\n" if runs else ERROR)


@pytest.fixture(scope="module")
def commands(serve_module):
    server = serve_module(EXEC + CONF + "LimitInternalRecursion 15\n", modules=("include", "cgid"), files={"inc.txt": "included"})
    os.mkdir(server.path("htdocs", "out"))
    os.chmod(server.path("htdocs", "out"), 0o777)
    return server


@pytest.mark.parametrize("query", ["?one+two", "?%3Becho%20bad", "?`echo+bad`", "?$(echo+bad)", "?-x", "?%0aecho%20bad"])
def test_cve_2025_58098_no_query_in_a_command(commands, query):
    assert page(commands, "query.shtml", '<!--#exec cmd="echo arguments: \\$#" -->', query) == b"arguments: 0\n"


def test_lighttpd_3275_exec_runs(commands):
    text = '<!--#exec cmd="echo one" -->' + set_to("a", "A") + '<!--#exec cmd="echo \\$a; cat" -->' + include("inc.txt")
    assert page(commands, "runs.shtml", text) == b"one\nA\nincluded"


@pytest.mark.only("brigade")
def test_a_command_that_takes_too_long_ends_with_its_group(serve):
    server = serve(CONF + "SSIExecTimeout 1\nSandboxAllow write @ROOT@/htdocs/out\n", files={"out/x": ""})
    os.chmod(server.path("htdocs", "out"), 0o777)
    command = r"cd out; sleep 300 & echo \$! > child; echo \$\$ > shell; echo begun; sleep 300; echo never"
    begun = time.monotonic()
    text = page(server, "long.shtml", f'a<!--#exec cmd="{command}" -->b{NAME}')
    assert text.startswith(b"abegun\n") and text.endswith(b"blong.shtml") and b"never" not in text
    assert time.monotonic() - begun < 20
    server.wait_for_log("SSIExecTimeout")
    for name in ("child", "shell"):
        pid = int(server.read(f"htdocs/out/{name}"))
        deadline = time.monotonic() + 20
        while is_running(pid) and time.monotonic() < deadline:
            os.sched_yield()
        assert not is_running(pid), name


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.only("brigade")
def test_what_came_before_a_slow_command_is_sent_at_once(serve):
    server = serve(CONF, files={"out/x": ""})
    os.chmod(server.path("htdocs", "out"), 0o777)
    os.mkfifo(server.path("htdocs", "out", "gate"))
    os.chmod(server.path("htdocs", "out", "gate"), 0o666)
    server.write("slow.shtml", 'before <!--#exec cmd="echo early; cat out/gate; echo late" -->after')
    with server.connect() as c:
        c.send(b"GET /slow.shtml HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        c.read_until(b"before")
        c.read_until(b"early")
        with open(server.path("htdocs", "out", "gate"), "w") as gate:
            gate.write("opened\n")
        c.read_until(b"opened")
        c.read_until(b"after")


# -- protocol -------------------------------------------------------------------------------------------------


def test_range_that_hits_an_include(site):
    site.write("range.shtml", "0123456789" + include("inc.txt") + "end")
    whole = b"0123456789includedend"
    for field, part in (("bytes=2-5", whole[2:6]), ("bytes=8-12", whole[8:13]), ("bytes=12-14", whole[12:15]), ("bytes=-3", whole[-3:])):
        answer = site.get("/range.shtml", {"Range": field})
        assert (answer.status, answer.body) in ((200, whole), (206, part)), field
    answer = site.get("/range.shtml", {"Range": "bytes=500-600"})
    assert answer.status in (200, 416)
    assert answer.status == 416 or answer.body == whole


def test_pr19355_304_has_the_entity_tag(serve):
    server = serve(CONF + "<Directory @ROOT@/htdocs>\n    SSIETag On\n    SSILastModified On\n    XBitHack Full\n</Directory>\n", modules=("include",), files={"a.html": NAME})
    os.chmod(server.path("htdocs", "a.html"), 0o755)
    os.utime(server.path("htdocs", "a.html"), (1600000000, 1600000000))
    first = server.get("/a.html")
    assert first.body == b"a.html" and first["ETag"] and first["Last-Modified"] == "Sun, 13 Sep 2020 12:26:40 GMT"
    second = server.get("/a.html", {"If-None-Match": first["ETag"]})
    assert second.status == 304 and second["ETag"] == first["ETag"] and second.body == b""


def test_2_0_25_the_source_is_never_sent(site):
    site.write("source.shtml", "a<!--#comment secret -->b" + NAME + include("inc.txt"))
    for method in ("GET", "POST", "HEAD"):
        for headers in ({}, {"Range": "bytes=0-"}, {"If-Modified-Since": "Fri, 01 Jan 2038 00:00:00 GMT"}, {"If-None-Match": '"x"'},
                        {"Accept-Encoding": "gzip"}, {"If-Range": '"x"', "Range": "bytes=0-50"}):
            answer = site.request(method, "/source.shtml", headers)
            assert b"secret" not in answer.body and b"<!--#" not in answer.body
            assert answer.status in (200, 206) and (method == "HEAD" or answer.body)


def test_a_page_without_validators_has_none(site):
    site.write("none.shtml", NAME)
    answer = site.get("/none.shtml")
    assert answer["ETag"] is None and answer["Last-Modified"] is None


# -- many ------------------------------------------------------------------------------------------------------


def test_2_0_29_no_descriptor_is_lost_per_include(site):
    site.write("many.shtml", "".join(include(f"part-{n}.txt") for n in range(30)))
    for n in range(30):
        site.write(f"part-{n}.txt", f"{n} ")
    expected = "".join(f"{n} " for n in range(30)).encode()
    assert body(site, "/many.shtml") == expected
    before = open_files(site)
    for n in range(40):
        site.write("part-3.txt", "3 ")
        assert body(site, f"/many.shtml?{n}") == expected
    assert open_files(site) <= before + 8


@pytest.mark.only("brigade")
@pytest.mark.default_memory
@pytest.mark.parametrize("part", ["inc.txt", "parsed.shtml"])
def test_memory_does_not_grow_with_the_number_of_includes(serve, part):
    server = serve(CONF, files={
        "inc.txt": "included\n", "parsed.shtml": set_to("a", "included") + echo("a") + "\n",
        "few.shtml": include(part) * 100, "lots.shtml": include(part) * 10000})
    assert body(server, "/few.shtml") == b"included\n" * 100
    before = resident_kb(server)
    for _ in range(2):
        assert body(server, "/lots.shtml") == b"included\n" * 10000
    # A sanitizer keeps what was freed.
    assert is_sanitized(server) or resident_kb(server) - before < 16 * 1024


def test_nginx_0_4_13_more_than_fifty_includes(site):
    assert page(site, "fifty.shtml", include("inc.txt") * 200) == b"included" * 200


def test_nginx_877_missing_includes_come_to_an_end(site):
    """Also when the error page is a page that includes something missing."""
    site.write("missing.shtml", "m" + include("not-there"))
    assert page(site, "miss.shtml", include("missing.shtml") + "|" + include("nor-this")) == b"m" + ERROR + b"|" + ERROR


def test_nginx_877_error_document_with_a_missing_include(serve):
    server = serve(CONF + "ErrorDocument 404 /error.shtml\n", modules=("include",),
                   files={"error.shtml": "error" + include("not-there")})
    assert body(server, "/nothing", status=404) == b"error" + ERROR


@pytest.mark.only("brigade")
def test_nginx_426_a_stub_is_shown_once(serve):
    server = serve(CONF, files={"a.shtml": '<!--#block name="s" -->stub<!--#endblock -->[' + include("not-there", 'stub="s" ') + "|"
                                           + include("empty.txt", 'stub="s" ') + "|" + include("inc.txt", 'stub="s" ') + "]",
                                "empty.txt": "", "inc.txt": "included"})
    assert body(server, "/a.shtml") == b"[stub|stub|included]"


def test_a_page_that_includes_itself_ends(site):
    site.write("self.shtml", "x" + include("self.shtml") + "y")
    text = body(site, "/self.shtml")
    assert text.startswith(b"xxx") and text.endswith(b"yyy") and text.count(ERROR) == 1
    site.wait_for_log("AH00125")
    assert page(site, "alive.shtml", NAME) == b"alive.shtml"


# -- the sample site ------------------------------------------------------------------------------------------


def sample_site():
    root, files = os.path.join(REPOSITORY, "test", "site"), {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, root)] = f.read()
    return files


def test_pages_of_the_sample_site(serve):
    server = serve(CONF + """SSIErrorMsg "[SSI error]"
SSIUndefinedEcho "[undefined]"
<Directory @ROOT@/htdocs>
    <FilesMatch "^(head|nav|foot)\\.html$">
        SetOutputFilter INCLUDES
    </FilesMatch>
</Directory>
""", modules=("include",), files=sample_site())
    pages = [name for name in sample_site() if name.endswith(".shtml")]
    assert len(pages) >= 2
    for name in pages:
        text = body(server, f"/{name}?a&b").decode()
        assert "<!--#" not in text and "[SSI error]" not in text and "[undefined]" not in text
        for part in ("<!DOCTYPE html>", "<title>", "<header>", "<nav>", 'href="/live.shtml"', "<footer>", "</html>"):
            assert text.count(part) == 1 or (part.startswith("href") and part in text), (name, part)
    assert "a&amp;b" in body(server, "/live.shtml?a&b").decode()
    assert "<title>A live page</title>" in body(server, "/live.shtml").decode()


def test_the_query_and_path_after_a_command_are_the_pages_own(serve):
    """A command sees those of the page that was included last, as in Apache; what comes after it sees its own page's."""
    server = serve(CONF + "AcceptPathInfo On\n", {
                       "q.shtml": '<!--#include virtual="/r.shtml/x?k=v" -->\n'
                                  '2 <!--#exec cmd="echo $PATH_INFO:$QUERY_STRING" -->'
                                  '3 <!--#echo var="PATH_INFO" -->:<!--#echo var="QUERY_STRING" -->:'
                                  '<!--#echo var="QUERY_STRING_UNESCAPED" -->',
                       "r.shtml": '1 <!--#exec cmd="echo $PATH_INFO:$QUERY_STRING" -->'
                                  '<!--#echo var="PATH_INFO" -->:<!--#echo var="QUERY_STRING" -->'})
    assert server.get("/q.shtml/info?q=%41b").body == b"1 /info:k=v\n/x:k=v\n2 /x:k=v\n3 /info:q=%41b:q=Ab"
    assert server.get("/q.shtml?q=c").body == b"1 /x:k=v\n/x:k=v\n2 /x:k=v\n3 /x:q=c:q=c"
