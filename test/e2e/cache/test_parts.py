# SPDX-License-Identifier: Apache-2.0
"""Parts of a stored file (206, 416) from memory: the same answers as on the full way."""
import mmap
import re

import pytest

from brigade import APACHE_MODULES
from cache_site import one_loop, settle
from http_client import request_bytes

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

BODY = bytes(range(256)) * 40
RANGES = ["bytes=0-0", "bytes=0-", "bytes=5-9", "bytes=10239-", "bytes=10239-99999", "bytes=-1", "bytes=-99999", "BYTES=1-2", "bytes=0-10239",
          "bytes=10240-", "bytes=5-4", "bytes=", "bytes=-0", "bytes=-", "bytes=a-b", "bytes=1-2,4-5", "bytes=1-2,", "bytes= 1-2", "bytes=1 -2", "lines=1-2",
          "bytes=0-0,2-2,4-4,6-6,8-8", "bytes=99999-,3-4", "bytes=20000-", "bytes=10240-,20000-", ",".join(["bytes=0-0"] + [f"{i}-{i}" for i in range(2, 60, 2)]),
          "bytes=1-99999999999999999999", "bytes=99999999999999999999-", "bytes=1-2-3", "bytes=0-4,5-9"]
LOG = 'LogFormat "%>s %B %{Content-Range}o %{Range}i" parts\nCustomLog @ROOT@/logs/parts parts\n'


def seen(answer):
    """Without the date, and with a fixed boundary between parts, whose length differs from server to server."""
    boundary = dict(answer.headers).get("Content-Type", "").partition("boundary=")[2]
    fields = [(n, v) for n, v in answer.headers if n != "Date" and not (boundary and n == "Content-Length")]
    body = answer.body.replace(boundary.encode(), b"B") if boundary else answer.body
    return answer.status, [(n, v.replace(boundary, "B") if boundary else v) for n, v in fields], body


def ask(server, conditions=()):
    """What each range gets, the third time that it is asked for, and the lines of the log."""
    with server.connect() as c:
        for r in ("bytes=2-3", "bytes=2-3,5-6", "bytes=99999-"):
            for _ in range(4):
                c.get("/a.bin", {"Range": r})
        return [seen([c.get("/a.bin", {"Range": r, **dict(conditions)}) for _ in range(3)][2]) for r in RANGES]


@pytest.mark.parametrize("logged", [False, True])
def test_as_on_the_full_way(serve, logged):
    config = "MaxKeepAliveRequests 0\n" + (LOG if logged else "")
    with_cache = one_loop(serve, config, files={"a.bin": BODY})
    without = one_loop(serve, config + "FileCacheEntries 0\n", files={"a.bin": BODY})
    for server in with_cache, without:
        settle(server.path("htdocs"))
    tag = without.get("/a.bin")["ETag"]
    for condition in ({}, {"If-Range": tag}, {"If-Range": '"other"'}, {"If-Range": "W/" + tag}, {"If-Range": "Tue, 14 Nov 2023 22:13:20 GMT"},
                      {"If-Range": "Tue, 14 Nov 2023 22:13:21 GMT"}, {"If-None-Match": tag}, {"If-None-Match": '"x"'}, {"If-Match": '"x"'}, {"If-Range": "W/"}, {"If-Range": "no date"},
                      {"If-Modified-Since": "Tue, 14 Nov 2023 22:13:20 GMT"}, {"If-Modified-Since": "Tue, 14 Nov 2023 22:13:19 GMT"}):
        for one, other, name in zip(ask(with_cache, condition), ask(without, condition), RANGES):
            assert one == other, (name, condition)
    if logged:
        lines = [s.stop() or open(s.path("logs/parts")).read().splitlines() for s in (with_cache, without)]
        several = re.compile(r"^206 \d+ -")  # their size goes with the length of the boundary
        lines = [[several.sub("206", line) for line in log] for log in lines]
        assert lines[0] == lines[1][1:]  # less the request for the tag


def test_stored_by_clients_that_ask_for_parts_alone(serve):
    """The change that inotify does not tell of shows that the part came from memory; one that it tells of is seen."""
    server = one_loop(serve, "", files={"a.txt": "old\n"})
    settle(server.path("htdocs"))
    with server.connect() as c, open(server.path("htdocs/a.txt"), "r+b") as f, mmap.mmap(f.fileno(), 4) as view:
        for _ in range(8):
            assert c.get("/a.txt", {"Range": "bytes=0-0"}).status == 206
        for _ in range(3):  # the body that is there is used for the whole, too
            whole = c.get("/a.txt")
            assert whole.status == 200 and whole.body == b"old\n" and "Content-Range" not in dict(whole.headers)
        view[0:4] = b"new\n"
        assert [c.get("/a.txt", {"Range": r}).body for r in ("bytes=0-2", "bytes=1-", "bytes=-2")] == [b"old", b"ld\n", b"d\n"]
        assert c.get("/a.txt").body == b"old\n"
        server.write("a.txt", "later\n")
        assert c.get("/a.txt", {"Range": "bytes=1-2"}).body == b"at"


def test_several_parts_and_none_are_from_memory(serve):
    """Shown by a change that inotify does not tell of."""
    server = one_loop(serve, "", files={"a.txt": "0123456789"})
    settle(server.path("htdocs"))
    several, outside = {"Range": "bytes=0-1,4-5"}, {"Range": "bytes=10-"}
    with server.connect() as c, open(server.path("htdocs/a.txt"), "r+b") as f, mmap.mmap(f.fileno(), 10) as view:
        first = []
        for _ in range(5):
            first = [c.get("/a.txt", fields) for fields in ({}, several, outside)]
        assert [a.status for a in first] == [200, 206, 416] and first[2]["Content-Range"] == "bytes */10"
        view[0:10] = b"abcdefghij"
        for fields, before in zip(({}, several, outside), first):
            assert c.get("/a.txt", fields).body == before.body
        server.write("a.txt", "later text")
        assert b"at" not in c.get("/a.txt", several).body and b"la" in c.get("/a.txt", several).body


def test_parts_of_pipelined_requests(serve):
    """More output than the loop gathers at once, in the right order."""
    server = one_loop(serve, "MaxKeepAliveRequests 0\n", files={"a.bin": BODY})
    settle(server.path("htdocs"))
    ranges = ",".join(f"{i * 20}-{i * 20 + 4}" for i in range(16))
    with server.connect() as c:
        one = [c.get("/a.bin", {"Range": f"bytes={ranges}"}) for _ in range(6)][-1]
        assert one.status == 206 and one.body.count(b"Content-range") == 16
        c.send(request_bytes("GET", "/a.bin", {"Range": f"bytes={ranges}"}) * 12 + request_bytes("GET", "/a.bin"))
        assert all(c.read_response().body == one.body for _ in range(12)) and c.read_response().body == BODY


@pytest.mark.parametrize("value", ["bytes=0-0,2-3", "bytes=0-0"])
def test_each_kind_alone_fills(serve, value):
    server = one_loop(serve, "", files={"a.txt": "0123456789"})
    settle(server.path("htdocs"))
    with server.connect() as c, open(server.path("htdocs/a.txt"), "r+b") as f, mmap.mmap(f.fileno(), 10) as view:
        before = [c.get("/a.txt", {"Range": value}).body for _ in range(6)][-1]
        view[0:10] = b"abcdefghij"
        assert c.get("/a.txt", {"Range": value}).body == before


def test_module_that_takes_the_field_away(serve):
    server = one_loop(serve, "RequestHeader unset Range\n", files={"a.txt": "text"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for i in range(6):
            assert c.get("/a.txt", {"Range": "bytes=1-2"} if i % 2 else {}).status == 200


def test_large_file_kept_open(serve):
    """Files above FileCacheMaxFile are sent from the descriptor, from the right place."""
    server = one_loop(serve, "FileCacheMaxFile 1000\nEnableSendfile On\n", files={"a.bin": BODY})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(6):
            assert c.get("/a.bin", {"Range": "bytes=300-9000"}).body == BODY[300:9001]
            assert c.get("/a.bin").body == BODY
            several = c.get("/a.bin", {"Range": "bytes=300-9000,9500-,5-5"}).body
            assert all(part in several for part in (BODY[300:9001], BODY[9500:], b"\r\n\r\n" + BODY[5:6] + b"\r\n--"))
            assert c.get("/a.bin", {"Range": "bytes=99999-"}).status == 416


def test_page_of_416_that_ended_with_its_connection(serve):
    """A client of HTTP/1.0 that keeps its connection does not get one without a length."""
    server = one_loop(serve, f"LoadModule deflate_module {APACHE_MODULES}/mod_deflate.so\nSetOutputFilter DEFLATE\n", files={"a.txt": "text"})
    settle(server.path("htdocs"))
    for _ in range(4):
        assert server.get("/a.txt").status == 200
    outside = {"Range": "bytes=99-"}
    for _ in range(3):
        with server.connect() as c:
            c.send(request_bytes("GET", "/a.txt", outside, version="1.0"))
            assert c.read_response().status == 416
    with server.connect() as c:
        c.send(request_bytes("GET", "/a.txt", {**outside, "Connection": "keep-alive"}, version="1.0"))
        answer = c.read_response()
        assert answer.status == 416 and (answer["Content-Length"] or answer["Connection"] != "Keep-Alive")
