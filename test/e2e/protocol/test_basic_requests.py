# SPDX-License-Identifier: Apache-2.0
"""Basics: methods, targets, hosts, persistent connections."""
import os
import re

import pytest

import brigade
from http_client import split_responses

FILES = {
    "index.html": "<h1>home</h1>\n",
    "a.txt": "text of a\n",
    "empty.txt": "",
    "dir/index.html": "<h1>dir</h1>\n",
    "dir/file with space.txt": "spaced\n",
    "noindex/one.txt": "1\n",
    "caf\u00e9.txt": "coffee\n",
    "100%.txt": "percent\n",
    "semi;colon.txt": "semi\n",
}


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module("Options -Indexes\n<Directory @ROOT@/htdocs>\nOptions -Indexes\n</Directory>\n", FILES)


@pytest.mark.parametrize("target,status,body", [
    ("/", 200, b"<h1>home</h1>\n"),
    ("/index.html", 200, b"<h1>home</h1>\n"),
    ("/a.txt", 200, b"text of a\n"),
    ("/a.txt?query=1&x", 200, b"text of a\n"),
    ("/a.txt?", 200, b"text of a\n"),
    ("/empty.txt", 200, b""),
    ("/dir/", 200, b"<h1>dir</h1>\n"),
    ("/dir/file%20with%20space.txt", 200, b"spaced\n"),
    ("/dir/../a.txt", 200, b"text of a\n"),
    ("/./a.txt", 200, b"text of a\n"),
    ("//a.txt", 200, b"text of a\n"),
    ("/dir//index.html", 200, b"<h1>dir</h1>\n"),
    ("/%61.txt", 200, b"text of a\n"),
    ("/dir/%2e%2e/a.txt", 200, b"text of a\n"),
    ("/caf%C3%A9.txt", 200, b"coffee\n"),
    ("/caf%c3%a9.txt", 200, b"coffee\n"),
    ("/100%25.txt", 200, b"percent\n"),
    ("/semi;colon.txt", 200, b"semi\n"),
    ("/semi%3Bcolon.txt", 200, b"semi\n"),
    ("http://localhost/a.txt", 200, b"text of a\n"),
    ("http://localhost", 200, b"<h1>home</h1>\n"),
    ("HTTP://LOCALHOST/a.txt", 200, b"text of a\n"),
    ("/nothing", 404, None),
    ("/a.txt/", 404, None),
    ("/a.txt/more", 404, None),
    ("/dir/nothing.html", 404, None),
    ("/noindex/", 403, None),
    ("/%2e%2e/a.txt", 400, None),
    ("/../a.txt", 400, None),
    ("/dir/../../a.txt", 400, None),
    ("/%00", 404, None),
    ("/a.txt%00.html", 404, None),
    ("/dir%2findex.html", 404, None),
    ("/%zz", 400, None),
    ("/%4", 400, None),
    ("/%", 400, None),
    ("*", 400, None),
    ("a.txt", 400, None),
])
def test_target(server, target, status, body):
    r = server.get(target)
    assert r.status == status, r
    if body is not None:
        assert r.body == body
        assert r["Content-Length"] == str(len(body))
    else:
        assert r["Content-Type"] == "text/html; charset=iso-8859-1"
        assert f"<title>{status} ".encode() in r.body
    assert r["Date"] and r["Server"]


@pytest.mark.parametrize("target,location", [
    ("/dir", "http://localhost:PORT/dir/"),
    ("/dir?x=1", "http://localhost:PORT/dir/?x=1"),
    ("/noindex", "http://localhost:PORT/noindex/"),
    ("/./dir", "http://localhost:PORT/dir/"),
])
def test_directory_without_slash(server, target, location):
    r = server.get(target, {"Host": f"localhost:{server.port}"})
    assert r.status == 301
    assert r["Location"] == location.replace("PORT", str(server.port))
    assert r["Location"].encode() in r.body.replace(b"&amp;", b"&")


@pytest.mark.parametrize("method,target,status,allow", [
    ("POST", "/a.txt", 200, None),
    ("PUT", "/a.txt", 405, "HEAD,GET,OPTIONS"),
    ("DELETE", "/a.txt", 405, "HEAD,GET,OPTIONS"),
    ("PATCH", "/a.txt", 405, "HEAD,GET,OPTIONS"),
    ("OPTIONS", "/a.txt", 200, "HEAD,GET,OPTIONS"),
    ("OPTIONS", "/", 200, None),
    ("OPTIONS", "*", 200, None),
    ("TRACE", "/a.txt", 405, None),
    ("get", "/a.txt", 501, None),
    ("UNKNOWN", "/a.txt", 501, None),
])
def test_method(server, method, target, status, allow):
    r = server.request(method, target)
    assert r.status == status, r
    if allow:
        assert set(a.strip() for a in r["Allow"].split(",")) >= {"GET", "HEAD", "OPTIONS"}, r
    if method == "OPTIONS":
        assert r["Content-Length"] == "0" or r.body == b""


@pytest.mark.parametrize("target", ["/", "/a.txt", "/nothing", "/dir", "/noindex/", "/empty.txt"])
def test_head_is_get_without_body(server, target):
    get, head = server.get(target), server.request("HEAD", target)
    assert head.status == get.status
    skip = {"date", "content-length"}
    assert [h for h in head.headers if h[0].lower() not in skip] == [h for h in get.headers if h[0].lower() not in skip]
    raw = server.raw(f"HEAD {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert raw.endswith(b"\r\n\r\n") and raw.count(b"\r\n\r\n") == 1


@pytest.mark.parametrize("version,headers,stays", [
    ("1.1", {}, True),
    ("1.1", {"Connection": "keep-alive"}, True),
    ("1.1", {"Connection": "close"}, False),
    ("1.1", {"Connection": "Close"}, False),
    ("1.1", {"Connection": "foo, close"}, False),
    ("1.0", {}, False),
    ("1.0", {"Connection": "keep-alive"}, True),
    ("1.0", {"Connection": "Keep-Alive"}, True),
    ("1.0", {"Connection": "close"}, False),
])
def test_persistence(server, version, headers, stays):
    with server.connect() as c:
        r = c.get("/a.txt", headers, version=version)
        assert r.status == 200
        if stays:
            assert c.get("/a.txt", {"Connection": "close"}).body == b"text of a\n"
            if version == "1.0":
                assert r["Connection"].lower() == "keep-alive"
                assert "timeout=" in r["Keep-Alive"]
        else:
            assert r["Connection"] == "close"
        assert c.at_end()


def test_many_requests_on_one_connection(server):
    with server.connect() as c:
        for i in range(90):
            r = c.get("/a.txt" if i % 3 else "/nothing")
            assert r.status == (200 if i % 3 else 404)


def test_keepalive_ends_after_max_requests(serve):
    server = serve("MaxKeepAliveRequests 3\n", {"a.txt": "A"})
    with server.connect() as c:
        answers = [c.get("/a.txt")["Connection"] for _ in range(4)]
        assert answers == [None, None, None, "close"]
        assert c.at_end()


def test_keepalive_off(serve):
    server = serve("KeepAlive Off\n", {"a.txt": "A"})
    with server.connect() as c:
        assert c.get("/a.txt")["Connection"] == "close"
        assert c.at_end()


def test_keepalive_timeout_closes_silently(serve):
    server = serve("KeepAliveTimeout 200ms\n", {"a.txt": "A"})
    with server.connect() as c:
        assert c.get("/a.txt").status == 200
        assert c.at_end()


@pytest.mark.threads
def test_pipelining_keeps_order(server):
    targets = ["/a.txt", "/nothing", "/empty.txt", "/dir/", "/a.txt"] * 10
    data = "".join(f"GET {t} HTTP/1.1\r\nHost: localhost\r\n\r\n" for t in targets)
    data += "HEAD /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    found = split_responses(server.raw(data), ["GET"] * len(targets) + ["HEAD"])
    expected = {"/a.txt": (200, b"text of a\n"), "/empty.txt": (200, b""), "/dir/": (200, b"<h1>dir</h1>\n")}
    assert len(found) == len(targets) + 1
    for target, r in zip(targets, found):
        if target == "/nothing":
            assert r.status == 404
        else:
            assert (r.status, r.body) == expected[target]


@pytest.mark.parametrize("data,status", [
    (b"GET /a.txt HTTP/1.1\r\n\r\n", 400),
    (b"GET /a.txt HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 400),
    (b"GET /a.txt HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    (b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n", 400),
    (b"GET /a.txt HTTP/1.1\r\nHost: /etc\r\n\r\n", 400),
    (b"GET /a.txt HTTP/1.1\r\nHost: localhost:port\r\n\r\n", 400),
    (b"GET /a.txt HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n", 200),
    (b"GET /a.txt HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n", 200),
    (b"GET /a.txt HTTP/1.1\r\nHost: unheard.of.example\r\nConnection: close\r\n\r\n", 200),
    (b"GET http://localhost/a.txt HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n", 200),
    (b"GET /a.txt HTTP/1.0\r\n\r\n", 200),
])
def test_host_rules(server, data, status):
    assert split_responses(server.raw(data))[0].status == status


def test_http_09_is_refused_or_plain(server):
    answer = server.raw(b"GET /a.txt\r\n")
    assert answer == b"text of a\n" or b"400 Bad Request" in answer


def test_error_page_has_signature_only_if_asked(serve):
    server = serve("ServerSignature On\n<Location /plain>\nServerSignature Off\n</Location>\n")
    assert b"<address>" in server.get("/nothing").body
    assert b"<address>" not in server.get("/plain/nothing").body


@pytest.mark.parametrize("tokens,pattern", [
    ("Full", r"^(Brigade|Apache)/\d"), ("Prod", r"^(Brigade|Apache)$"), ("Major", r"^(Brigade|Apache)/\d+$"),
    ("Minor", r"^(Brigade|Apache)/\d+\.\d+$"), ("Min", r"^(Brigade|Apache)/\d+\.\d+\.\d+$"),
    ("OS", r"^(Brigade|Apache)/\d+\.\d+\.\d+ \("),
])
def test_server_tokens(serve, tokens, pattern):
    assert re.match(pattern, serve(f"ServerTokens {tokens}\n").get("/")["Server"])


@pytest.mark.parametrize("line", ["KeepAliveTimeout 0", "KeepAlive Off"])
def test_every_answer_says_that_the_connection_ends(serve, line):
    """Those from memory as well: a file that did not change lately is answered from there after some requests."""
    server = serve("EventLoops 1\n" * (not brigade.is_apache(brigade.BINARY)) + line + "\n", {"a.txt": "A"})
    os.utime(server.path("htdocs/a.txt"), (1e9, 1e9))
    for _ in range(6):
        with server.connect() as c:
            assert c.request("GET", "/a.txt")["Connection"] == "close"
            assert c.read_to_end() == b""
