# SPDX-License-Identifier: Apache-2.0
"""ErrorDocument: texts, pages of the site, URLs, expressions, failures of the page itself, and what pages are told."""
import pytest

TELL = "".join(f'Header always set X-{name} "%{{REDIRECT_{name}}}e"\n' for name in ("STATUS", "X", "REQUEST_METHOD"))
CONFIG = """
ErrorDocument 404 /page.txt
ErrorDocument 405 /page.txt
<Location /text>
    ErrorDocument 404 "just \\"text\\" <b>"
</Location>
<Location /plain>
    ErrorDocument 404 default
</Location>
<Location /url>
    ErrorDocument 404 http://elsewhere.example/lost?x=1
</Location>
<Location /expr>
    ErrorDocument 404 /%{tolower:PAGE.TXT}
</Location>
<Location /exprtext>
    ErrorDocument 404 "lost: %{REQUEST_URI} by %{REQUEST_METHOD}"
</Location>
<Location /missing>
    ErrorDocument 404 /nowhere/page.txt
</Location>
<Location /closed>
    ErrorDocument 403 /closed/page.txt
    Require all denied
</Location>
<Location /chain>
    ErrorDocument 404 /barred/page.txt
</Location>
<Location /barred>
    Require all denied
</Location>
<Location /told>
    SetEnv X inherited
</Location>
<Location /folder>
    ErrorDocument 404 /dir/
</Location>
<Location /unreadable>
    ErrorDocument 404 /dir
</Location>
<Location /query>
    ErrorDocument 404 /page.txt?from=error
</Location>
<Location /page.txt>
@TELL@</Location>
""".replace("@TELL@", TELL)

FILES = {"page.txt": "the page\n", "closed/page.txt": "page of a closed folder\n", "dir/index.html": "index of errors\n", "told/a.txt": "a"}


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module(CONFIG, FILES)


def built_in(status, title, r):
    assert r.status == status
    assert f"<h1>{title}</h1>".encode() in r.body
    return r


def test_page_of_the_site(server):
    r = server.get("/none")
    assert (r.status, r.body, r["Content-Type"]) == (404, b"the page\n", "text/plain")
    assert r["Last-Modified"] and r["Content-Length"] == "9"


@pytest.mark.parametrize("method,body", [("HEAD", b""), ("POST", b"the page\n"), ("PUT", b"the page\n")])
def test_methods(server, method, body):
    r = server.request(method, "/none", body=b"" if method == "HEAD" else b"x=1")
    assert r.body == body
    assert r.status in (404, 405)
    assert r["X-REQUEST_METHOD"] == method


def test_what_the_page_is_told(server):
    r = server.get("/told/none?a=b&c")
    assert r.body == b"the page\n"
    assert (r["X-STATUS"], r["X-X"], r["X-REQUEST_METHOD"]) == ("404", "inherited", "GET")


def test_nothing_is_told_without_an_error(server):
    r = server.get("/page.txt")
    assert r.status == 200
    assert r["X-STATUS"] == "(null)"


def test_text(server):
    r = server.get("/text/none")
    assert (r.status, r.body) == (404, b'just "text" <b>')
    assert r["Content-Type"].startswith("text/html")


def test_default(server):
    built_in(404, "Not Found", server.get("/plain/none"))


def test_url(server):
    r = built_in(302, "Found", server.get("/url/none"))
    assert r["Location"] == "http://elsewhere.example/lost?x=1"


def test_expression(server):
    r = server.get("/expr/none")
    assert (r.status, r.body) == (404, b"the page\n")


def test_expression_in_a_text(server):
    assert server.get("/exprtext/one").body == b"lost: /exprtext/one by GET"
    assert server.get("/exprtext/two").body == b"lost: /exprtext/two by GET"
    assert server.request("DELETE", "/exprtext/two").status in (404, 405)


def test_query_of_the_page(server):
    r = server.get("/query/none?mine")
    assert (r.status, r.body) == (404, b"the page\n")


def test_missing_page(server):
    r = built_in(404, "Not Found", server.get("/missing/none"))
    assert b"Additionally, a 404 Not Found" in r.body


def test_page_below_the_same_denial(server):
    """What denied the request denies its error page no more: it was asked already."""
    r = server.get("/closed/none")
    assert (r.status, r.body) == (403, b"page of a closed folder\n")


def test_page_that_fails_otherwise(server):
    r = built_in(404, "Not Found", server.get("/chain/none"))
    assert b"Additionally, a 40" in r.body


def test_index_as_a_page(server):
    r = server.get("/folder/none")
    assert (r.status, r.body) == (404, b"index of errors\n")


def test_page_that_redirects(server):
    r = server.get("/unreadable/none")
    assert r.status in (301, 404)


def test_kept_connection(server):
    with server.connect() as c:
        for target in ("/none", "/text/none", "/missing/none", "/page.txt", "/closed/none", "/none"):
            assert c.get(target).status in (200, 403, 404)
        assert c.get("/none").body == b"the page\n"


def test_conditions_do_not_hide_an_error(server):
    date = server.get("/page.txt")["Last-Modified"]
    tag = server.get("/page.txt")["ETag"]
    assert server.get("/none", {"If-Modified-Since": date}).status == 404
    assert server.get("/none", {"If-None-Match": tag}).status == 404
    assert server.get("/none", {"Range": "bytes=0-1"}).body == b"the page\n"


def test_loop_of_redirects(serve):
    server = serve("LimitInternalRecursion 4\nFallbackResource /again/x\n<Location /again>\nFallbackResource /none\n</Location>\n",
                   {"a.txt": "a"})
    assert server.get("/lost").status in (404, 500)
    assert server.get("/a.txt").body == b"a"


def test_errors_of_the_protocol(serve):
    server = serve('ErrorDocument 400 "bad <i>\nErrorDocument 413 "large\nErrorDocument 414 /page.txt\n'
                   'LimitRequestLine 200\nLimitRequestBody 5\n', FILES)
    assert b"bad <i>" in server.raw(b"GET /x HTTP/1.1\r\n\r\n")
    assert server.request("POST", "/page.txt", body=b"x" * 6).body == b"large"
    assert b"the page" in server.raw(b"GET /" + b"x" * 300 + b" HTTP/1.1\r\n\r\n")
