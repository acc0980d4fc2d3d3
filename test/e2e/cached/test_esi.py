# SPDX-License-Identifier: Apache-2.0
"""Edge Side Includes (SSIEsi): documents of backends, put together out of parts of this site."""
import pytest

from backend import Backend, answer
from cached_site import config, fields

pytestmark = pytest.mark.only("brigade")

ESI = ("Surrogate-Control", 'max-age=5, content="ESI/1.0"')
SITE = """LogLevel info
CachePurge 127.0.0.1
<Location />
Options +Includes
SSIEsi On
</Location>
"""


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def document(text, *more, status="200 OK"):
    return answer(text.encode(), status, [("Content-Type", "text/html"), ESI, *more])


def start(serve, backend, text, more="", site=SITE, **kw):
    backend.scripts["/page"] = document(text) if isinstance(text, str) else text
    backend.scripts.setdefault("/a", answer(b"A", fields=fields()))
    backend.scripts.setdefault("/b", answer(b"B", fields=fields()))
    backend.scripts.setdefault("/gone", answer(b"no\n", "404 Not Found"))
    return serve(config(backend, site + more), **kw)


@pytest.mark.parametrize("text,expected", [
    ('[<esi:include src="/p/a"/>]', "[A]"),
    ('[<esi:include src="/p/a"></esi:include>]', "[A]"),
    ("[<esi:include  alt='/p/a'\n src='/p/b' />]", "[B]"),
    ('<esi:include src="/p/a"/><esi:include src="/p/b"/>', "AB"),
    ('[<esi:include src="/p/gone" alt="/p/b"/>]', "[B]"),
    ('[<esi:include src="/p/gone" onerror="continue"/>]', "[]"),
    ('[<esi:include src="/p/gone" alt="/p/gone" onerror="continue"/>]', "[]"),
    ('[<esi:remove>x <esi:include src="/p/a"/> y</esi:remove>]', "[]"),
    ('[<esi:comment text="x"/>]', "[]"),
    ('[<!--esi <p><esi:include src="/p/a"/></p> -->]', "[ <p>A</p> ]"),
    ('[<!--esi x --> <!-- y --> <!--esi z -->]', "[ x  <!-- y -->  z ]"),
    ('[<esi:vars>$(X)</esi:vars>]', "[<esi:vars>$(X)</esi:vars>]"),
    ('[<esi:include/>][<esi:include src=""/>]', '[<esi:include/>][<esi:include src=""/>]'),
    ('[<esi:include src="/p/a]', '[<esi:include src="/p/a]'),
    ('[<esi:remove>x]', "[<esi:remove>x]"),
    ('[<esi:include src="q"/>]', "[Q]"),
    ('[<esi:include src="/p/query?x=1&amp;y=2"/>]', "[/query?x=1&y=2]"),
    ('[<esi:include src="http://localhost/p/a"/>]', "[A]"),
    ('<!--esi', "<!--esi"), ("<esi:", "<esi:"), ("", ""), ("plain", "plain"),
])
def test_documents(serve, backend, text, expected):
    backend.scripts["/q"] = answer(b"Q")
    backend.scripts["*"] = lambda c, r: answer(r.target.encode())
    server = start(serve, backend, text)
    got = server.get("/p/page")
    assert (got.status, got.body.decode()) == (200, expected)
    assert got["Content-Length"] == str(len(expected)) and got["Surrogate-Control"] is None


@pytest.mark.parametrize("target", ["http://192.0.2.1/a", "https://example.com/p/a", "//example.com/p/a", "http://localhost:1/p/a",
                                    "http://user@localhost/p/a", "ftp://localhost/p/a", "/p/a b", "/p/\x01a", "javascript:a"])
def test_other_sites_are_refused(serve, backend, target):
    server = start(serve, backend, f'[<esi:include src="{target}" onerror="continue"/>]')
    got = server.get("/p/page")
    assert got.status == 200 and got.body == b"[]"
    assert [r.target for r in backend.requests] == ["/page"]
    assert b"is not included" in server.read("logs/error_log")


def test_a_part_that_fails(serve, backend):
    server = start(serve, backend, 'x<esi:include src="/p/gone"/>y')
    got = server.get("/p/page")
    assert got.status == 502 and b"x" not in got.body.split(b"<")[0]


def test_only_what_says_so(serve, backend):
    text = '<esi:include src="/p/a"/>'
    server = start(serve, backend, answer(text.encode(), fields=[("Content-Type", "text/html"), ("ETag", '"1"')]))
    got = server.get("/p/page")
    assert got.body == text.encode() and got["ETag"] == '"1"'


@pytest.mark.parametrize("value,is_esi", [('content="ESI/1.0"', 1), ('content="ESI/1.0 ESI-INV/1.0"', 1), ('max-age=1;x, content = "X/1 ESI/1.0"', 1),
                                          ('content="ESI/1.1"', 0), ("content=ESI/1.0", 0), ('content="ESI/1.0', 0), ("max-age=3", 0),
                                          ('discontent="ESI/1.0"', 0), ('content=""', 0)])
def test_surrogate_control(serve, backend, value, is_esi):
    text = b'<esi:include src="/p/a"/>'
    server = start(serve, backend, answer(text, fields=[("Surrogate-Control", value)]))
    assert server.get("/p/page").body == (b"A" if is_esi else text)


def test_the_switch(serve, backend):
    text = '<esi:include src="/p/a"/>'
    server = start(serve, backend, text, site="<Location /p/page>\nOptions +Includes\nSSIEsi Off\n</Location>")
    assert server.get("/p/page").body == text.encode()
    server = start(serve, backend, answer(text.encode(), fields=[("Content-Type", "text/html")]),
                   site="<Location />\nOptions +Includes\nSSIEsi Always\n</Location>")
    assert server.get("/p/page").body == b"A"
    server = start(serve, backend, text, site="<Location />\nOptions -Includes\nSSIEsi Always\n</Location>")
    assert server.get("/p/page").body == text.encode()
    server = start(serve, backend, text, site="<Directory @ROOT@/htdocs>\nAllowOverride All\nOptions +Includes\n</Directory>",
                   files={"x/.htaccess": "SSIEsi Always\n", "x/file.html": f"[{text}]", "file.html": f"[{text}]"})
    assert server.get("/x/file.html").body == b"[A]" and server.get("/file.html").body == f"[{text}]".encode()


def test_nesting(serve, backend):
    backend.scripts["/in"] = document('(<esi:include src="/p/a"/>)')
    server = start(serve, backend, '[<esi:include src="/p/in"/>]')
    assert server.get("/p/page").body == b"[(A)]"
    backend.scripts["/loop"] = document('<esi:include src="/p/loop" onerror="continue"/>.')
    assert 1 < len(server.get("/p/loop").body) < 200


def test_counted(serve, backend):
    server = start(serve, backend, '<esi:include src="/p/a"/>' * 4, "SSIMaxIncludes 3")
    assert server.get("/p/page").status == 502
    server = start(serve, backend, '<esi:include src="/p/a"/>' * 3, "SSIMaxIncludes 3")
    assert server.get("/p/page").body == b"AAA"


def test_not_what_cannot_be_read(serve, backend):
    text = b'<esi:include src="/p/a"/>'
    server = start(serve, backend, answer(text, fields=[ESI, ("Content-Encoding", "x-other")]))
    assert server.get("/p/page").body == text
    long = text + b"x" * (1024 * 1024)
    backend.scripts["/page"] = answer(long, fields=[ESI])
    assert server.get("/p/page").body == long
    exact = text + b"x" * (1024 * 1024 - len(text))
    backend.scripts["/page"] = answer(exact, fields=[ESI])
    assert server.get("/p/page").body == b"A" + exact[len(text):]


def test_cut_at_every_byte(serve, backend):
    text = b'[<esi:include src="/p/a"/><!--esi <esi:remove>x</esi:remove> --><esi:comment text="c"/>]'
    at = [0]

    def script(connection, request):
        head = b"HTTP/1.1 200 OK\r\n" + f"{ESI[0]}: {ESI[1]}\r\n".encode() + b"Transfer-Encoding: chunked\r\n\r\n"
        parts = [p for p in (text[:at[0]], text[at[0]:]) if p]
        return head + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"

    server = start(serve, backend, script)
    with server.connect() as connection:
        for at[0] in range(len(text) + 1):
            assert connection.get("/p/page").body == b"[A  ]", at[0]


def test_parts_are_stored_each_for_itself(serve, backend):
    server = start(serve, backend, '[<esi:include src="/p/a"/>]', "CacheDisable /p/page\n")
    for _ in range(3):
        assert server.get("/p/page").body == b"[A]"
    assert [r.target for r in backend.requests].count("/a") == 1


def test_the_page_is_stored_until_a_part_ends(serve, backend):
    count = [0]

    def script(connection, request):
        count[0] += 1
        return answer(f"a{count[0]}".encode(), fields=fields(("Cache-Tag", "red")))
    backend.scripts["/a"] = script
    server = start(serve, backend, document('[<esi:include src="/p/a"/>]', ("Cache-Control", "max-age=500"), ("ETag", '"1"')))
    for i in range(1, 4):
        assert server.get("/p/page").body == b"[a%d]" % i
        got = server.get("/p/page")
        assert got.body == b"[a%d]" % i and got["X-Cache"].startswith("HIT") and got["ETag"] is None
        if i == 2:
            server.request("PURGE", "/p/x", headers={"Cache-Tag": "red"})
        else:
            server.request("PURGE", "/p/a")
    assert [r.target for r in backend.requests].count("/page") == 3


def test_conditions_and_ranges(serve, backend):
    server = start(serve, backend, '[<esi:include src="/p/a"/>]')
    for headers in ({"If-None-Match": '"1"'}, {"Range": "bytes=0-3"}):
        got = server.get("/p/page", headers=headers)
        assert got.body in (b"[A]", b"[A]"[:4]) and b"esi" not in got.body
    assert not [r for r in backend.requests if r["Range"]]
    assert all(r["Surrogate-Capability"] for r in backend.requests if r.target == "/page")


def test_head(serve, backend):
    server = start(serve, backend, document('[<esi:include src="/p/a"/>]', ("ETag", '"1"')))
    got = server.request("HEAD", "/p/page")
    assert got.status == 200 and got["ETag"] is None and got["Surrogate-Control"] is None and got["Content-Length"] in (None, "0")


def test_a_part_that_does_not_come(serve, backend):
    backend.scripts["/slow"] = lambda connection, request: connection.more()  # until the server gives up
    server = start(serve, backend, '[<esi:include src="/p/slow" alt="/p/a"/>]', "SSIIncludeTimeout 1\n")
    assert server.get("/p/page").body == b"[A]"
