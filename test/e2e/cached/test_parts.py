# SPDX-License-Identifier: Apache-2.0
"""Parts of answers (RFC 9111, 3.3 and 3.4): 206 is stored, joined and completed; a 200 that was cut, too."""
import random
import re

import pytest

from backend import Backend, answer
from cached_site import config, fields, kind

pytestmark = pytest.mark.only("brigade")

BODY = bytes(random.Random(7).randrange(256) for _ in range(200))


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


class Origin:
    """A representation that is asked for by ranges."""

    def __init__(self, body=BODY, tag='"1"', more=(), piece=None, age=100, ranges="bytes"):
        self.ranges, self.body, self.tag, self.more, self.piece, self.age = ranges, body, tag, list(more), piece, age

    def __call__(self, connection, request):
        named = fields(*([("ETag", self.tag)] if self.tag else []), *([("Accept-Ranges", self.ranges)] if self.ranges else []), age=self.age)
        if not request["If-Range"]:
            named += [("Content-Type", "text/x-parts"), *self.more]  # others need not be sent then: RFC 9110, 15.3.7
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", request["Range"] or "")
        if request["If-None-Match"] and request["If-None-Match"] == self.tag:
            return answer(b"", "304 Not Modified", named).replace(b"Content-Length: 0\r\n", b"")
        if not wanted or (request["If-Range"] and request["If-Range"] != self.tag):
            return self.sent(connection, answer(self.body, fields=named))
        first = int(wanted[1]) if wanted[1] else max(len(self.body) - int(wanted[2]), 0)
        last = min(int(wanted[2]), len(self.body) - 1) if wanted[1] and wanted[2] else len(self.body) - 1
        if first >= len(self.body):
            return answer(b"", "416 Range Not Satisfiable", named)
        return self.sent(connection, answer(self.body[first:last + 1], "206 Partial Content",
                                            [*named, ("Content-Range", f"bytes {first}-{last}/{len(self.body)}")]))

    def sent(self, connection, data):
        for i in range(0, len(data), self.piece or len(data)):
            connection.send(data[i:i + (self.piece or len(data))])
        return b""


def ask(server, wanted=None, path="/p/a", **more):
    return server.get(path, headers={**({"Range": f"bytes={wanted}"} if wanted else {}), **{k.replace("_", "-"): v for k, v in more.items()}})


def part(got, first, last, body=BODY):
    return got.status == 206 and got.body == body[first:last + 1] and got["Content-Range"] == f"bytes {first}-{last}/{len(body)}"


def ranges(backend):
    return [r["Range"] for r in backend.requests]


def test_a_part_answers_what_lies_within(serve, backend):
    backend.scripts["/a"] = Origin(more=[("X-Other", "1")])
    server = serve(config(backend))
    got = ask(server, "50-149")
    assert part(got, 50, 149) and kind(got) == "MISS"
    for wanted, first, last in (("50-149", 50, 149), ("60-60", 60, 60), ("149-149", 149, 149), ("50-", 50, None), ("-60", 140, None)):
        got = ask(server, wanted)
        if last is None:
            continue
        assert part(got, first, last) and kind(got) == "HIT" and got["X-Other"] == "1" and got["Age"] is not None, wanted
    assert part(ask(server, "70-79", If_Range='"1"'), 70, 79)
    assert ask(server, "70-79", If_Range='"2"').status == 200


@pytest.mark.parametrize("first,second", [("0-99", "100-199"), ("100-199", "0-99"), ("0-120", "80-199"), ("80-199", "0-120"), ("50-60", "0-199"),
                                          ("0-198", "-1")])
@pytest.mark.parametrize("piece", [None, 1])
def test_parts_become_the_whole(serve, backend, first, second, piece):
    """Byte by byte, too: heads and bodies are cut everywhere."""
    backend.scripts["/a"] = Origin(piece=piece)
    server = serve(config(backend))
    assert ask(server, first).status == ask(server, second).status == 206
    got = ask(server)
    assert (got.status, kind(got), got.body, got["Content-Range"]) == (200, "HIT", BODY, None)
    assert part(ask(server, "3-197"), 3, 197) and len(backend.requests) == 2
    assert ask(server, If_None_Match='"1"').status == 304


@pytest.mark.parametrize("asked,stored", [(["0-49", "100-149"], "100-149"), (["0-99", "120-129"], "0-99"), (["50-99", "100-129", "20-60"], "20-129"),
                                          (["50-99", "60-70"], "50-99")])
def test_what_is_stored_of_parts(serve, backend, asked, stored):
    backend.scripts["/a"] = Origin()
    server = serve(config(backend))
    for wanted in asked:
        assert ask(server, wanted).status == 206
    asked_for = len(backend.requests)
    first, last = map(int, stored.split("-"))
    got = ask(server, stored)
    assert part(got, first, last) and kind(got) == "HIT" and len(backend.requests) == asked_for


@pytest.mark.parametrize("tag", ['W/"1"', None])
def test_without_a_strong_tag_nothing_is_joined(serve, backend, tag):
    backend.scripts["/a"] = Origin(tag=tag)
    server = serve(config(backend))
    ask(server, "0-99")
    assert kind(ask(server, "10-19")) == "HIT"
    ask(server, "100-199")
    assert kind(ask(server, "110-119")) == "HIT" and kind(ask(server, "10-19")) == "MISS"
    got = ask(server)
    assert got.status == 200 and got.body == BODY and ranges(backend)[-1] is None


def test_the_rest_is_fetched(serve, backend):
    backend.scripts["/a"] = Origin()
    server = serve(config(backend, "CacheStatusHeader On"))
    ask(server, "0-99")
    got = ask(server)
    assert (got.status, got.body, got["Content-Length"], got["Content-Range"]) == (200, BODY, "200", None)
    assert "fwd=partial" in got["Cache-Status"] and "stored" in got["Cache-Status"]
    assert (ranges(backend)[-1], backend.requests[-1]["If-Range"]) == ("bytes=100-", '"1"')
    got = ask(server)
    assert kind(got) == "HIT" and got.body == BODY and len(backend.requests) == 2


def test_the_rest_of_what_changed(serve, backend):
    backend.scripts["/a"] = Origin()
    server = serve(config(backend))
    ask(server, "0-99")
    backend.scripts["/a"] = Origin(BODY[::-1], '"2"')
    assert ask(server).body == BODY[::-1] and kind(ask(server)) == "HIT"


@pytest.mark.parametrize("wrong", [
    answer(BODY[100:], "206 Partial Content", fields(("ETag", '"2"'), ("Content-Range", "bytes 100-199/200"))),
    answer(BODY[101:], "206 Partial Content", fields(("ETag", '"1"'), ("Content-Range", "bytes 101-199/200"))),
    answer(BODY[100:199], "206 Partial Content", fields(("ETag", '"1"'), ("Content-Range", "bytes 100-198/200"))),
    answer(BODY[100:], "206 Partial Content", fields(("ETag", '"1"'), ("Content-Range", "bytes 100-199/300"))),
    answer(BODY[100:], "206 Partial Content", fields(("ETag", '"1"'))),
    answer(b"", "416 Range Not Satisfiable", fields())])
def test_a_rest_that_is_none(serve, backend, wrong):
    backend.scripts["/a"] = Origin()
    server = serve(config(backend))
    ask(server, "0-99")
    backend.scripts["/a"] = wrong
    assert ask(server).status == 502
    backend.scripts["/a"] = Origin()
    got = ask(server)
    assert got.status == 200 and got.body == BODY and ranges(backend)[-1] is None


def test_a_rest_that_is_none_is_asked_for_once(serve, backend):
    """Whatever parts clients ask for after that."""
    def origin(connection, request):
        if request["Range"] and request["Range"] != "bytes=0-99":
            return answer(b"", "416 Range Not Satisfiable", fields())
        return Origin()(connection, request)

    backend.scripts["/a"] = origin
    server = serve(config(backend))
    ask(server, "0-99")
    assert ask(server).status == 502
    for _ in range(3):
        ask(server, "0-99", Cache_Control="no-cache")
        assert ask(server, Cache_Control="no-cache").body == BODY
        ask(server, "0-99")
        assert ask(server).body == BODY


@pytest.mark.parametrize("said", [None, "none"])
def test_the_rest_is_not_asked_for(serve, backend, said):
    """Where the origin does not say that it sends ranges."""
    backend.scripts["/a"] = Origin(ranges=said)
    server = serve(config(backend))
    ask(server, "0-99")
    got = ask(server)
    assert got.body == BODY and ranges(backend)[-1] is None


def test_a_part_without_its_fields(serve, backend):
    """It came to a request with If-Range: alone it is not stored, and joined it has those of the part that was there."""
    backend.scripts["/a"] = Origin(more=[("X-Other", "1")])
    server = serve(config(backend))
    ask(server, "100-199", If_Range='"1"')
    assert kind(ask(server, "0-99")) == "MISS"
    assert ask(server, "100-199", If_Range='"1"')["X-Other"] is None
    got = ask(server)
    assert (got.body, kind(got), got["X-Other"], got["Content-Type"]) == (BODY, "HIT", "1", "text/x-parts")


def test_the_rest_without_its_fields(serve, backend):
    backend.scripts["/a"] = Origin(more=[("X-Other", "1"), ("Content-Encoding", "x-odd")])
    server = serve(config(backend))
    ask(server, "0-99")
    for wanted in ("MISS", "HIT"):
        got = ask(server)
        assert (got.body, kind(got), got["X-Other"], got["Content-Type"], got["Content-Encoding"]) == (BODY, wanted, "1", "text/x-parts", "x-odd")


@pytest.mark.parametrize("wrong", [("Content-Range", "bytes 0-98/200"), ("Content-Range", "bytes 0-99/*"), ("Content-Range", "bytes 0-99/50"),
                                   ("Content-Range", "lines 0-99/200"), ("Content-Type", "multipart/byteranges; boundary=x")])
def test_what_is_no_part(serve, backend, wrong):
    backend.scripts["/a"] = answer(BODY[:100], "206 Partial Content", fields(("ETag", '"1"'), wrong))
    server = serve(config(backend))
    assert [kind(ask(server, "0-99")) for _ in range(2)] == ["MISS"] * 2


def test_a_whole_answer_stays(serve, backend):
    backend.scripts["/a"] = Origin()
    server = serve(config(backend))
    ask(server)
    assert kind(ask(server, "0-9", Cache_Control="no-cache")) == "MISS"
    assert kind(ask(server)) == "HIT"


def test_variants_are_not_joined(serve, backend):
    origins = {"de": Origin(more=[("Vary", "Accept-Language")]), "fr": Origin(BODY[::-1], more=[("Vary", "Accept-Language")])}
    backend.scripts["/a"] = lambda c, r: origins[r["Accept-Language"]](c, r)
    server = serve(config(backend))
    ask(server, "0-99", Accept_Language="de")
    ask(server, "100-199", Accept_Language="fr")
    assert part(ask(server, "0-99", Accept_Language="de"), 0, 99)
    assert ask(server, Accept_Language="de").body == BODY and ask(server, Accept_Language="fr").body == BODY[::-1]


def test_a_part_that_is_stale(serve, backend):
    """It is not validated; but what comes is joined to it, if it has the same tag."""
    backend.scripts["/a"] = Origin(age=0, more=[("Expires", "0")])
    server = serve(config(backend))
    ask(server, "0-99")
    assert kind(ask(server, "0-99")) == "MISS"
    backend.scripts["/a"] = Origin()
    ask(server, "100-199")
    got = ask(server)
    assert got.body == BODY and kind(got) == "HIT"


def test_purged(serve, backend):
    backend.scripts["/a"] = Origin(more=[("Cache-Tag", "red")])
    server = serve(config(backend, "CachePurge 127.0.0.1"))
    ask(server, "0-99")
    assert server.request("PURGE", "/p/nothing", headers={"Cache-Tag": "red"}).status == 200
    assert kind(ask(server, "0-99")) == "MISS"


def test_an_answer_that_was_cut(serve, backend):
    body = bytes(range(256)) * 1000

    def cut(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:100000])
        return False

    backend.scripts["/a"] = cut
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.read_to_end()
    backend.scripts["/a"] = Origin(body)
    got = ask(server)
    assert got.status == 200 and got.body == body
    assert ranges(backend)[-1] == "bytes=100000-"
    assert kind(ask(server)) == "HIT"


def test_random_ranges(serve, backend):
    """Whatever was asked for before, bytes are those of the version that the tag says."""
    dice = random.Random(11)
    versions = [Origin(bytes(dice.randrange(256) for _ in range(97)), f'"{i}"', piece=dice.choice((None, 1, 7))) for i in range(3)]
    server = serve(config(backend, "MaxKeepAliveRequests 0", loops=2))
    client = server.connect()
    for step in range(600):
        path = f"/{dice.randrange(3)}"
        if not step or not dice.randrange(12):
            current = dice.choice(versions)
            for i in range(3):
                backend.scripts[f"/{i}"] = current
        first = dice.randrange(97)
        last = min(first + dice.randrange(60), 96)
        wanted = dice.choice([f"{first}-{last}", f"{first}-", f"-{97 - first}", None])
        got = client.get("/p" + path, headers={"Range": f"bytes={wanted}"} if wanted else {})
        body = versions[int(got["ETag"].strip('"'))].body
        if wanted is None:
            assert got.status == 200 and got.body == body, (step, wanted, got.status)
        else:
            end = last if wanted[0] != "-" and wanted[-1] != "-" else 96
            assert part(got, first, end, body), (step, wanted, got.status, got["Content-Range"])
    assert len(backend.requests) < 500
