# SPDX-License-Identifier: Apache-2.0
"""Modules of our own that stand for Apache's, beside these: requests that a proxy, an internal redirect or another method makes of a
plain one, and what Apache's own suite found."""
import itertools
import os

import pytest

import brigade
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]


def answers(config, files, requests, fields=("Content-Type", "Location", "Allow", "Vary", "Content-Location", "X-Seen"), modules=()):
    """What each server answers: status, fields and body of each request."""
    found = []
    for binary in (driver.APACHE, brigade.BINARY):
        with brigade.Server(config, files=files, binary=binary, modules=modules) as server:
            server.expect_trouble = True
            got = []
            for method, target, headers in requests:
                answer = server.request(method, target, headers)
                text = [f"{name}: {value}" for name in fields for value in answer.all(name)]
                body = answer.body if answer.status < 300 else b""
                got.append((method, target, answer.status, *(t.replace(str(server.port), "PORT") for t in text), body.replace(str(server.port).encode(), b"PORT")))
            found.append(got)
    return found


def same(config, files, requests, modules=(), **more):
    apache, ours = answers(config, files, requests, modules=modules, **more)
    differ = [pair for pair in zip(apache, ours) if pair[0] != pair[1]]
    assert not differ, "\n".join(f"Apache: {a}\nhere:   {b}" for a, b in differ)
    return apache


MAP = """URI: a.txt
Content-Type: text/plain
Body:---
text/plain---

URI: a.html
Content-Type: text/html
Body:--- 
one
two
 --- behind the word
Description: "after the body"

URI: a.gif
Content-Type: image/gif
Body:---
---
"""


def test_end_of_a_body_in_a_type_map():
    """The word ends the body wherever it stands in a line."""
    asked = [("GET", "/a.var", {"Accept": kind}) for kind in ("text/plain", "text/html", "image/gif", "image/png")] + [("HEAD", "/a.var", {"Accept": "text/plain"})]
    apache = same("AddHandler type-map .var\n", {"a.var": MAP}, asked, modules=["negotiation"])
    assert [a[-1] for a in apache[:3]] == [b"text/plain", b"one\ntwo\n ", b""]


TYPES = {"p": "text/plain", "h": "text/html", "1": "text/html;level=1", "3": "text/html;level=3", "q": "text/plain;level=4", "x": "application/xhtml+xml"}


def test_levels_of_types():
    """Levels tell variants of one type apart, and no others."""
    maps = {"".join(names) + ".var": "\n".join(f"URI: {name}.t\nContent-Type: {TYPES[name]}\nBody:--\n{name}--\n" for name in names)
            for n in (2, 3) for names in itertools.permutations(TYPES, n)}
    accepted = ["*/*", "text/*", "text/html;level=2, text/plain", "text/html, text/plain;q=0.9"]
    same("AddHandler type-map .var\n", maps, [("GET", f"/{name}", {"Accept": accept}) for name in maps for accept in accepted], modules=["negotiation"], fields=())


@pytest.mark.parametrize("lines,target,headers", [
    ("LimitRequestLine 200", "/" + "x" * 300, {}), ("LimitRequestFieldSize 200", "/", {"X-Long": "x" * 300}), ("LimitRequestFields 5", "/", {f"X-{i}": "x" for i in range(9)})])
def test_limits_of_heads_count_where_a_virtual_host_begins(lines, target, headers):
    """What the main server says behind a virtual host does not hold for it."""
    host = "<VirtualHost *:@PORT@>\nServerName localhost\n{}</VirtualHost>\n"
    for config in (f"{lines}\n" + host.format(""), host.format("") + f"{lines}\n", host.format(f"{lines}\n"), f"{lines}\n" + host.format(f"{lines}00\n"), host.format(f"{lines}00\n") + f"{lines}\n"):
        same(config, {}, [("GET", target, headers)], modules=["autoindex"], fields=())


MATCHES = ["%{REQUEST_URI} !~ /(zz)/", "%{REQUEST_URI} =~ /(t)xt/", "%{REQUEST_URI} =~ m#/(.)# && %{REQUEST_URI} !~ /(zz)/", "%{REQUEST_URI} !~ /(zz)/ && %{REQUEST_URI} =~ m#/(.)#",
           "%{REQUEST_URI} =~ m#/(.)# && %{REQUEST_URI} =~ /txt/", "%{REQUEST_URI} =~ m#/(q)# || %{REQUEST_URI} =~ m#a#", "%{REQUEST_URI} =~ m#/(.)# && %{REQUEST_URI} !~ /zz/"]


@pytest.mark.parametrize("expression", MATCHES)
def test_references_behind_an_expression_that_did_not_match(expression):
    config = (f'SetEnvIfExpr "{expression}" V=[$0][$1][x]\nHeader set X-Seen "%{{V}}e"\n'
              + "".join(f"<If \"{expression} && '$1' == '{value}'\">\nHeader append X-Seen \"{name}\"\n</If>\n" for name, value in (("a", "a"), ("none", ""))))
    same(config, {"a.txt": "a"}, [("GET", "/a.txt", {})], modules=["headers"])


@pytest.mark.parametrize("lines", ["", "CheckCaseOnly On", "CheckCaseOnly On\nCheckBasenameMatch Off", "CheckBasenameMatch Off"])
def test_speling_by_case_and_by_basename(lines):
    files = {"good.html": "", "several1.html": "", "several2.html": ""}
    names = ["god.html", "goood.html", "good.wrong", "GOOD.wrong", "Bad.html", "several0.html", "GOOD.html", "several1.HTML"]
    same(f"CheckSpelling On\n{lines}\n", files, [("GET", f"/{name}", {}) for name in names], modules=["speling"])


SUBSTITUTIONS = ["/to/$1", "/to/$1?x=1", "/to/x?q=$1", "/to/%1", "/to/%{REQUEST_URI}", "/to/%{QUERY_STRING}", "/to/${low:$1}", "/to/$1-%1", "/to/a?$1?b", "/to/%{ENV:E}", "/to/${low:y|z?w}",
                 "%{REQUEST_URI}", "http://localhost:@PORT@/to/$1", "/to/%{THE_REQUEST}", "/to/${m:k}", "/to/${m:n|d?e}", "/to/a\\?$1", "/to/$1?", "/to/a?b$1?", "/to/%{QUERY_STRING}?", "?$1", "/to/x?$1&y=%{QUERY_STRING}"]


@pytest.mark.parametrize("flags", ["", "QSA", "QSD", "QSL", "UnsafeAllow3F", "B", "BNP", "R", "R,QSL", "R,NE", "P", "QSL,UnsafeAllow3F", "PT", "B,QSL", "QSA,QSL"])
def test_a_question_mark_that_an_expansion_brings(flags):
    """It begins no query, but for UnsafeAllow3F: wherever it comes from, with QSL as without."""
    config = "RewriteEngine On\nRewriteMap low int:tolower\nRewriteMap m txt:@ROOT@/htdocs/m.txt\nSetEnvIf Request_URI . E=a?b\nProxyRequests Off\n"
    for i, substitution in enumerate(SUBSTITUTIONS):
        config += f'RewriteCond %{{REQUEST_URI}} ^/r{i}/(.*)\nRewriteRule ^/r{i}/(.*) "{substitution}" [{flags + "," if flags else ""}END]\n'
    config += 'Header always set X-Seen "expr=%{REQUEST_URI} [%{QUERY_STRING}] %{REQUEST_STATUS}"\n'
    targets = ["a%3fb", "a%3Fb?q=1%3f2", "ab?q=1%3f2", "ab?x?y", "a%253fb", "ab"]
    asked = [("GET", f"/r{i}/{target}", {}) for i, target in itertools.product(range(len(SUBSTITUTIONS)), targets)]
    apache = same(config, {"m.txt": "k v?w\n"}, asked, modules=["rewrite", "headers", "setenvif", "proxy", "proxy_http"])
    assert "UnsafeAllow3F" in flags or any(a[2] == 403 for a in apache)
