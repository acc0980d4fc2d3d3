# SPDX-License-Identifier: Apache-2.0
"""Error pages as BuiltinPages modern and negotiated have them."""
import base64
import hashlib
import html.parser
import json
import os
import re

import pytest

import brigade
import h2_client

pytestmark = pytest.mark.only("brigade")

MANUAL = os.path.join(brigade.REPOSITORY, "docs/manual/directives/core.txt")
JSON = "application/problem+json"


class Balanced(html.parser.HTMLParser):
    """Every element is ended, in order, and none is a script."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        assert tag != "script" and not any(name.startswith("on") or name == "style" for name, _ in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(response):
    text = response.body.decode("utf-8")
    assert response["Content-Type"] == "text/html; charset=utf-8" and text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert len(text) < 1536 and int(response["Content-Length"]) == len(response.body)
    Balanced(text)
    return text


def test_pages(serve):
    server = serve("BuiltinPages modern\nServerSignature On\nRedirect 302 /away http://other.example/?a=1&b=%22\n"
                   "Redirect 410 /gone\nRedirect 451 /law\nRedirect 402 /pay\nLimitRequestBody 10\n", {"a.txt": "A"})
    for target, status, words in (("/none", 404, "There is nothing at this address."), ("/gone", 410, "will not come back"),
                                  ("/law", 451, "legal reasons"), ("/pay", 402, "could not do what")):
        response = server.get(target)
        text = page(response)
        assert response.status == status and words in text and f"<title>{status} " in text and "<address>" in text
        assert server.request("HEAD", target)["Content-Type"] == response["Content-Type"]
    assert '<a href="http://other.example/?a=1&amp;b=' in page(server.get("/away"))
    assert page(server.request("POST", "/a.txt", body=b"12345678901")).count("larger than allowed") == 1
    with server.connect() as c:
        c.send("GET /%zz HTTP/1.1\r\nHost: <b>\r\n\r\n")
        assert "did not understand" in page(c.read_response())


def test_error_documents_go_first(serve):
    server = serve('BuiltinPages negotiated\nErrorDocument 404 "own words\nErrorDocument 403 /own.html\nErrorDocument 410 /none\n'
                   "Redirect 410 /gone\n<Files no>\nRequire all denied\n</Files>\n", {"own.html": "a file\n", "no": ""})
    own = server.get("/none", {"Accept": JSON})
    assert (own.body, own["Content-Type"]) == (b"own words", "text/html; charset=iso-8859-1") and not own["Vary"]
    assert server.get("/no").body == b"a file\n"
    both = server.get("/gone")
    assert both.status == 410 and "could not be shown" in page(both)


def test_only_server_errors_show_the_request(serve):
    """An id would keep a page out of memory."""
    server = serve("BuiltinPages modern\nRequestId On\nRedirect 500 /fails\nRedirect 503 /busy\n")
    ids = {re.search(r"Request ([0-9a-f-]{36})<", page(server.get(target)))[1] for target in ("/fails", "/fails", "/busy")}
    assert len(ids) == 3
    assert "Request " not in page(server.get("/none"))


@pytest.mark.parametrize("accept,json_wanted", [
    (None, 0), ("*/*", 0), ("text/html", 0), ("application/json", 1), ("application/json, text/plain, */*", 1),
    ("application/vnd.api+json", 1), (JSON + ";q=0.5", 1), ("application/json;q=0", 0), ("application/json;q=0.000", 0),
    ("text/html, application/json", 0), ("text/html;q=0.5, application/json;v=1;q=0.6", 1), ("application/json;q=0.4 , text/html ; q=0.5", 0),
    ("application/xhtml+xml;q=0.9,application/json", 1), ("APPLICATION/JSON", 1), ("application/jsonx", 0), ("x", 0), (",;,=;q=", 0),
    ("application/json;q=" + "9" * 200, 1)])
def test_negotiation(serve, accept, json_wanted):
    server = serve("BuiltinPages negotiated\n")
    for _ in range(3):  # from memory, too
        response = server.get("/none", {"Accept": accept} if accept else {})
        assert response.status == 404 and response["Vary"] == "Accept"
        assert (response["Content-Type"] == JSON) == bool(json_wanted), response
    if json_wanted:
        assert json.loads(response.body) == {"type": "about:blank", "title": "Not Found", "status": 404,
                                             "detail": "There is nothing at this address."}
    else:
        page(response)


def test_each_kind_is_stored_for_itself(serve):
    server = serve("BuiltinPages negotiated\nRequestId On\nRedirect 500 /fails\n<Location /status>\nSetHandler server-status\n</Location>\n")
    fields = ({"Accept": "application/json"}, {}, {"Accept": "text/html"}, {"Accept": "a/b, application/json"})
    for _ in range(4):
        kinds = [server.get("/none", more)["Content-Type"] for more in fields]
        assert [kind == JSON for kind in kinds] == [True, False, False, True]
    said = json.loads(server.get("/fails", fields[0]).body)
    assert said["status"] == 500 and re.fullmatch("[0-9a-f-]{36}", said["request_id"])
    assert server.get("/status/", {"Accept": "application/json"}).status == 200
    assert page(serve("BuiltinPages modern\n").get("/none", fields[0]))


def test_policy_hash(serve):
    style = re.search(r"<style>(.*)</style>", page(serve("BuiltinPages modern\n").get("/none")))[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in open(MANUAL, encoding="utf-8").read()


@pytest.mark.parametrize("protocol", ["http/1.0", "h2c"])
def test_other_protocols(serve, protocol):
    server = serve("BuiltinPages modern\nProtocols h2c http/1.1\n")
    if protocol == "http/1.0":
        assert b"There is nothing" in server.raw(b"GET /none HTTP/1.0\r\n\r\n")
    else:
        with h2_client.Client("127.0.0.1", server.port, brigade.PATIENCE) as client:
            assert "There is nothing" in page(client.get("/none"))
