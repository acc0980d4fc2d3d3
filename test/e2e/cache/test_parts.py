# SPDX-License-Identifier: Apache-2.0
"""One part of a stored file (206) from memory: the same answers as on the full way."""
import mmap

import pytest

from cache_site import one_loop, settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

BODY = bytes(range(256)) * 40
RANGES = ["bytes=0-0", "bytes=0-", "bytes=5-9", "bytes=10239-", "bytes=10239-99999", "bytes=-1", "bytes=-99999", "BYTES=1-2", "bytes=0-10239",
          "bytes=10240-", "bytes=5-4", "bytes=", "bytes=-0", "bytes=-", "bytes=a-b", "bytes=1-2,4-5", "bytes=1-2,", "bytes= 1-2", "bytes=1 -2", "lines=1-2",
          "bytes=1-99999999999999999999", "bytes=99999999999999999999-", "bytes=1-2-3", "bytes=0-4,5-9"]
LOG = 'LogFormat "%>s %{Content-Range}o %{Range}i" parts\nCustomLog @ROOT@/logs/parts parts\n'


def seen(answer):
    """Without the date, and with a fixed boundary between parts, whose length differs from server to server."""
    boundary = dict(answer.headers).get("Content-Type", "").partition("boundary=")[2]
    fields = [(n, v) for n, v in answer.headers if n != "Date" and not (boundary and n == "Content-Length")]
    body = answer.body.replace(boundary.encode(), b"B") if boundary else answer.body
    return answer.status, [(n, v.replace(boundary, "B") if boundary else v) for n, v in fields], body


def ask(server, conditions=()):
    """What each range gets, the third time that it is asked for, and the lines of the log."""
    with server.connect() as c:
        for _ in range(4):
            c.get("/a.bin", {"Range": "bytes=2-3"})
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
                      {"If-Range": "Tue, 14 Nov 2023 22:13:21 GMT"}, {"If-None-Match": tag}, {"If-None-Match": '"x"'}, {"If-Match": '"x"'}):
        for one, other, name in zip(ask(with_cache, condition), ask(without, condition), RANGES):
            assert one == other, (name, condition)
    if logged:
        lines = [s.stop() or open(s.path("logs/parts")).read().splitlines() for s in (with_cache, without)]
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
