# SPDX-License-Identifier: Apache-2.0
"""The built-in modules deflate, brotli and zstd."""
import base64
import gzip
import os

import pytest

from cache_site import one_loop, settle
from codings import builtin, decoded, needs_all

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

TEXT = b"".join(b"line %d of a text that can be compressed, as most of them can\n" % (i * i) for i in range(300))
ALL = "AddOutputFilterByType BROTLI_COMPRESS;ZSTD_COMPRESS;DEFLATE text/html text/css\nAddType text/html .html\nAddType image/png .png\n"


def site(serve, config=ALL, files=None, **more):
    server = one_loop(serve, config, files={"a.html": TEXT.decode(), "a.css": TEXT.decode(), "a.png": TEXT.decode(), **(files or {})}, **more)
    settle(server.path("htdocs"))
    return server


def script(server, name, text):
    path = server.path("htdocs/" + name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


CGI = "LoadModule cgi_module @MODULES@/mod_cgi.so\n<Location />\nOptions +ExecCGI\n</Location>\nAddHandler cgi-script .cgi\n"


@needs_all
@pytest.mark.parametrize("accept,coding", [
    (None, None), ("gzip", "gzip"), ("x-gzip", "gzip"), ("GZIP", "gzip"), ("br", "br"), ("zstd", "zstd"), ("gzip, deflate, br, zstd", "br"), ("*", "br"),
    ("br;q=0.5, gzip", "gzip"), ("br;q=0, zstd;q=0.2, gzip;q=0.1", "zstd"), ("*;q=0.1, gzip;q=0.2", "gzip"), ("*, br;q=0", "zstd"), ("identity;q=0, gzip", "gzip"),
    ("identity, gzip;q=0.5", None), ("gzip;q=0", None), ("deflate", None), ("*;q=0", None)])
def test_what_is_accepted(serve, accept, coding):
    server = site(serve)
    with server.connect() as c:
        tags = set()
        for _ in range(5):  # the last ones are from memory
            answer = c.get("/a.html", {} if accept is None else {"Accept-Encoding": accept})
            assert (answer.status, answer["Content-Encoding"], answer["Vary"]) == (200, coding, "Accept-Encoding")
            assert answer["Content-Length"] == str(len(answer.body)) and decoded(answer) == TEXT
            tags.add((answer["ETag"], answer.body))
        assert len(tags) == 1  # an entity tag stands for the same bytes
        tag = tags.pop()[0]
        suffix = {None: "", "gzip": "-gzip", "br": "-br", "zstd": "-zstd"}[coding]
        assert tag.endswith(suffix + '"') and tag.count("-") == 1 + bool(suffix)
        other = c.get("/a.png", {} if accept is None else {"Accept-Encoding": accept})
        assert other["Content-Encoding"] is None and other["Vary"] is None and other.body == TEXT


@needs_all
def test_variables_of_the_request(serve):
    server = site(serve, ALL + 'SetEnvIf X-Off ^no-brotli$ no-brotli\nSetEnvIf X-Off ^no-zstd$ no-zstd\nSetEnvIf X-Off ^no-gzip$ no-gzip\nSetEnvIf X-Off force force-gzip\n<Location /css>\nSetOutputFilter DEFLATE\nSetEnv gzip-only-text/html 1\n</Location>\nAlias /css "@ROOT@/htdocs"\n')
    with server.connect() as c:
        every = {"Accept-Encoding": "br, zstd, gzip"}
        for off, coding in (("no-brotli", "zstd"), ("no-zstd", "br"), ("no-gzip", "br")):
            assert c.get("/a.html", {**every, "X-Off": off})["Content-Encoding"] == coding
        assert c.get("/a.html", {"Accept-Encoding": "gzip", "X-Off": "no-gzip"})["Content-Encoding"] is None
        assert c.get("/a.html", {"X-Off": "force-gzip"})["Content-Encoding"] == "gzip"
        assert c.get("/css/a.html", every)["Content-Encoding"] == "gzip"  # its filter stands before those by type
        assert c.get("/css/a.png", every)["Content-Encoding"] is None


@needs_all
def test_clients_that_take_less_of_what_is_stored(serve):
    """Where a filter leaves the response to the next one, memory keeps those apart who take both and who take one."""
    server = site(serve, ALL + "SetEnv no-brotli 1\n<Location /s>\nUnsetEnv no-brotli\n</Location>\n"
                  'Alias /s/ "@ROOT@/htdocs/"\n<Location /s>\nSetOutputFilter DEFLATE;BROTLI_COMPRESS\n</Location>\n', files={"short.html": "a short text"})
    with server.connect() as c:
        for _ in range(5):
            for accept, coding in (("br, gzip", "gzip"), ("br", None), ("br;q=0.5, *", "zstd"), ("gzip", "gzip")):
                assert c.get("/a.html", {"Accept-Encoding": accept})["Content-Encoding"] == coding
            for accept, coding in (("br, gzip", "br"), ("gzip", None), ("br", "br")):
                assert c.get("/s/short.html", {"Accept-Encoding": accept})["Content-Encoding"] == coding


@needs_all
def test_credentials(serve):
    """What depends on them is compressed only where it is said."""
    cgi = 'printf "Content-Type: text/html\\n${QUERY_STRING:-X:y}\\n\\n"; head -c 4000 /dev/zero | tr "\\0" a\n'
    server = site(serve, CGI + "SetOutputFilter BROTLI_COMPRESS;ZSTD_COMPRESS;DEFLATE\n<Location /open>\nDeflatePrivate On\nBrotliPrivate On\nZstdPrivate On\n</Location>\n"
                  'Alias /open "@ROOT@/htdocs"\n')
    script(server, "x.cgi", cgi)
    basic = {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}
    with server.connect() as c:
        for coding in ("gzip", "br", "zstd"):
            for target, fields, private in (("", {}, False), ("", basic, True), ("Cache-Control:private", {}, True), ("Cache-Control:max-age=1,no-store", {}, True), ("Vary:Cookie", {}, True),
                                            ("Vary:Accept,Authorization", {}, True), ("Cache-Control:max-age=3", {"Cookie": "a=b"}, False)):
                for prefix, may in (("", not private), ("/open", True)):
                    answer = c.get(f"{prefix}/x.cgi?{target}", {"Accept-Encoding": coding, **fields})
                    assert (answer["Content-Encoding"] == coding) == may, (prefix, target)
                    assert decoded(answer) == b"a" * 4000


@needs_all
def test_stream_is_flushed(serve):
    """A handler that flushes is seen at once, though it goes on later."""
    server = site(serve, CGI + "SetOutputFilter DEFLATE\n")
    os.mkfifo(server.path("go"))
    os.chmod(server.path("go"), 0o666)
    script(server, "nph-x.cgi", f'printf "HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\nfirst"; read x < {server.path("go")}; printf second\n')
    script(server, "x.cgi", "printf 'Content-Type: text/plain\\n\\n'; head -c 300000 /dev/zero | tr '\\0' a; echo end\n")
    answer = server.get("/x.cgi", {"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.body) == b"a" * 300000 + b"end\n" and answer["Content-Encoding"] == "gzip"


@needs_all
def test_notes_in_logs(serve):
    """Also of answers from memory."""
    server = site(serve, 'SetOutputFilter DEFLATE\nDeflateFilterNote Input in\nDeflateFilterNote Output out\nDeflateFilterNote ratio\nLogFormat "%U %{in}n %{out}n %{ratio}n" z\nCustomLog "@ROOT@/z.log" z\n')
    with server.connect() as c:
        for _ in range(5):
            body = c.get("/a.html", {"Accept-Encoding": "gzip"}).body
    server.stop()
    with open(server.path("z.log")) as f:
        lines = f.read().splitlines()
    assert lines == [f"/a.html {len(TEXT)} {len(body) - 18} {(len(body) - 18) * 100 // len(TEXT)}"] * 5  # without gzip's head and trailer


@needs_all
@pytest.mark.parametrize("mode,tag", [("AddSuffix", "-gzip"), ("NoChange", ""), ("Remove", None)])
def test_entity_tag(serve, mode, tag):
    server = site(serve, f"SetOutputFilter DEFLATE\nDeflateAlterETag {mode}\n")
    with server.connect() as c:
        plain = c.get("/a.html")["ETag"]
        for _ in range(4):
            assert c.get("/a.html", {"Accept-Encoding": "gzip"})["ETag"] == (None if tag is None else plain[:-1] + tag + '"')


@needs_all
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_conditions(serve, coding):
    """The tag of a coded form is answered 304, by the full way and from memory; that of the file is another one."""
    server = site(serve)
    with server.connect() as c:
        plain, coded = (c.get("/a.html", fields)["ETag"] for fields in ({}, {"Accept-Encoding": coding}))
        assert plain != coded
        for _ in range(5):
            for tag, accept, status in ((coded, coding, 304), (plain, coding, 200), (coded, "identity", 200), (plain, "identity", 304), ("W/" + coded, coding, 304),
                                        (f'"x", {coded}', coding, 304)):
                answer = c.get("/a.html", {"Accept-Encoding": accept, "If-None-Match": tag})
                assert (answer.status, answer["Vary"]) == (status, "Accept-Encoding"), (tag, accept)
                assert answer["ETag"] == (plain if accept == "identity" else coded)
            assert c.get("/a.html", {"Accept-Encoding": coding, "If-Match": coded}).status == 200
            assert c.get("/a.html", {"Accept-Encoding": coding, "If-Match": plain}).status == 412
            since = c.get("/a.html", {"Accept-Encoding": coding, "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"})
            assert since.status in (200, 304) and since["ETag"] == coded


# ---- INFLATE, and request bodies ----

def test_inflate_of_responses(serve):
    if not builtin("deflate"):
        pytest.skip("built without zlib")
    server = site(serve, "AddEncoding x-gzip .gz\n<Location />\nSetOutputFilter INFLATE\n</Location>\n")
    with open(server.path("htdocs/a.html.gz"), "wb") as f:
        f.write(gzip.compress(TEXT[:9000]) + gzip.compress(TEXT[9000:]))  # two members
    with open(server.path("htdocs/short.html.gz"), "wb") as f:
        f.write(gzip.compress(TEXT)[:-9])
    with server.connect() as c:
        for _ in range(4):
            answer = c.get("/a.html.gz")
            assert (answer.body, answer["Content-Encoding"]) == (TEXT, None) and answer["ETag"].endswith('-gunzip"')
    assert server.get("/short.html.gz").status == 500  # nothing of it was sent
    assert b"its end is missing" in server.error_log()


BODY = CGI + "<Location />\nSetInputFilter DEFLATE\n</Location>\n"
ECHO = 'printf "Content-Type: text/plain\\n\\n"; exec cat\n'


@pytest.fixture
def echo(serve):
    if not builtin("deflate"):
        pytest.skip("built without zlib")
    def start(config=""):
        server = site(serve, BODY + config)
        script(server, "x.cgi", ECHO)
        script(server, "count.cgi", 'printf "Content-Type: text/plain\\n\\n"; exec wc -c\n')
        return server
    return start


def test_request_bodies(echo):
    server = echo()
    raw = gzip.compress(TEXT)
    with server.connect() as c:
        for coding in ("gzip", "x-gzip", "GZIP"):
            assert c.request("POST", "/x.cgi", {"Content-Encoding": coding}, raw).body == TEXT
        assert c.request("POST", "/x.cgi", {"Content-Encoding": "br"}, raw).body == raw
        assert c.request("POST", "/x.cgi", {}, raw).body == raw
        assert c.request("POST", "/x.cgi", {"Content-Encoding": "gzip"}, b"").body == b""
        assert c.request("POST", "/x.cgi", {"Content-Encoding": "gzip"}, raw + gzip.compress(b"more") + b"garbage").body == TEXT + b"more"


def test_bombs(echo):
    """A small body that becomes a large one is refused, before it was made."""
    server = echo("<Location /small>\nDeflateInflateLimitRequestBody 5000\n</Location>\nAlias /small \"@ROOT@/htdocs\"\n<Location /much>\nDeflateInflateRatioLimit 2000\n</Location>\nAlias /much \"@ROOT@/htdocs\"\n")
    bomb = gzip.compress(bytes(30_000_000), 9)
    assert server.request("POST", "/x.cgi", {"Content-Encoding": "gzip"}, bomb).status in (400, 413)
    assert server.request("POST", "/much/count.cgi", {"Content-Encoding": "gzip"}, bomb).body == b"30000000\n"
    assert server.request("POST", "/small/x.cgi", {"Content-Encoding": "gzip"}, gzip.compress(TEXT)).status == 413
    assert server.request("POST", "/small/x.cgi", {"Content-Encoding": "gzip"}, gzip.compress(TEXT[:4000])).body == TEXT[:4000]
    log = server.error_log()
    assert b"DeflateInflateRatioLimit" in log and b"DeflateInflateLimitRequestBody" in log


@needs_all
def test_a_page_is_parsed_before_it_is_compressed(serve):
    """By-type filters stand where the filters that they name belong, wherever they were asked for."""
    server = site(serve, ALL, files={"p/a.html": '<!--#echo var="REQUEST_METHOD" -->' + TEXT.decode(),
                                     "p/.htaccess": "Options +Includes\nAddOutputFilterByType INCLUDES text/html\n"})
    with server.connect() as c:
        for accept in ("gzip", "br", "zstd", "identity"):
            for _ in range(3):
                assert decoded(c.get("/p/a.html", {"Accept-Encoding": accept})) == b"GET" + TEXT
