# SPDX-License-Identifier: Apache-2.0
"""Fields of the connection that a configuration sets: an answer from memory has them as the first one had."""
import re

import pytest

from cache_site import one_loop, settle
from http_client import request_bytes

pytestmark = [pytest.mark.only("brigade")]
LINES = {"keep": "Header set Connection keep-alive", "close": "Header set Connection close", "two": "Header always merge Connection X-Foo\nHeader merge Connection X-Bar",
         "terms": 'Header set Keep-Alive "timeout=5, max=500"', "type": "Header set Content-Type text/x-own", "many": "Header add Content-Length 9",
         "second": "Header always set Content-Length 0", "chunked": "Header set Transfer-Encoding chunked"}
ASKED = [("GET", {}, "1.1"), ("GET", {"Connection": "keep-alive"}, "1.1"), ("GET", {"Connection": "close"}, "1.1"), ("GET", {"Connection": "keep-alive"}, "1.0"),
         ("GET", {}, "1.0"), ("HEAD", {}, "1.1"), ("GET", {"If-None-Match": "*"}, "1.1"), ("GET", {"Range": "bytes=0-1"}, "1.1"), ("GET", {"Range": "bytes=0-1,3-4"}, "1.1")]


def text(server, data):
    answer = re.sub(rb"\r\nDate: [^\r]*", b"", server.raw(data, half_close=True))
    found = re.search(rb"\r\n--([0-9a-f]+)\r\n", answer)
    if not found:
        return answer
    return re.sub(rb"\r\nContent-Length: [0-9]+", b"", answer.replace(found[1], b"B"))  # the length of a boundary varies


@pytest.mark.parametrize("name", LINES)
def test_remembered_as_it_was(serve, name):
    files = {f"{i}/a.txt": "text of a\n" for i in range(len(ASKED))}
    server = one_loop(serve, "FileCacheEntries 1000\n", files={**files, ".htaccess": LINES[name] + "\n"})
    other = one_loop(serve, "FileCacheEntries 0\n", files={**files, ".htaccess": LINES[name] + "\n"})
    settle(server.path("htdocs"))
    settle(other.path("htdocs"))
    for i, (method, fields, version) in enumerate(ASKED):
        data = request_bytes(method, f"/{i}/a.txt", fields, version=version)
        wanted = text(other, data)
        for _ in range(4):
            assert text(server, data) == wanted
        for _ in range(4):  # and after what others left
            text(server, request_bytes("GET", f"/{i}/a.txt"))
            assert text(server, data) == wanted


def test_codings_that_nobody_decodes_are_refused(serve):
    server = serve(files={"a.txt": "a\n", ".htaccess": "Header set Transfer-Encoding x\n"})
    for _ in range(3):
        answer = server.get("/a.txt")
        assert answer.status == 500 and answer["Transfer-Encoding"] is None
    server.wait_for_log("Response with Transfer-Encoding 'x'")
