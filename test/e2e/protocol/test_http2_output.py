# SPDX-License-Identifier: Apache-2.0
"""Responses that HTTP/2 clients take slowly, or not at all: workers, memory, and who is told."""
import struct

import pytest

import brigade
from brigade import wait_until
from h2_client import CANCEL, DATA, END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE, Connection, frame
from trouble import STATUS, compiled, status

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")
HANDLERS = "".join(f"<Location /{name}>\nSetHandler {name}\n</Location>\n" for name in ("sleep", "much", "drip"))
SIZE = 2_000_000


def config(more=""):
    return ("Protocols h2c http/1.1\nEventLoops 1\nServerLimit 1\nThreadsPerChild 2\nTimeout 60\n"
            f'LoadModule busy_module "{compiled("mod_busy")}"\n' + HANDLERS + STATUS + more)


def counters(size):
    return struct.pack(f"={size // 8}Q", *range(size // 8))


def busy(server):
    return status(server)["workers"]["busy"]


def window(stream, more):
    return frame(WINDOW_UPDATE, stream=stream, payload=struct.pack("!I", more))


def heads(h2, streams, got):
    """Until all heads came; data that comes before goes into got."""
    left = set(streams)
    while left:
        kind, _, stream, payload = h2.expect(HEADERS, DATA)
        got[stream] += payload if kind == DATA else b""
        left -= {stream} if kind == HEADERS else set()


def bodies(h2, got):
    left = set(got)
    while left:
        _, flags, stream, payload = h2.expect(DATA)
        got[stream] += payload
        if flags & END_STREAM:
            left.remove(stream)


def test_readers_that_stop_hold_no_worker(serve):
    """Six streams of a worker each, whose client's windows are closed."""
    server = serve(config())
    got = dict.fromkeys(range(1, 13, 2), b"")
    with Connection(server.port) as h2:
        for stream in got:
            h2.request(stream, path=f"/much?{'flush-' if stream & 2 else ''}{SIZE}")
        heads(h2, got, got)
        wait_until(lambda: busy(server) == 0, "all handlers to end")
        assert server.get("/sleep?1").status == 200
        h2.send(window(0, len(got) * SIZE) + b"".join(window(s, SIZE) for s in got))
        bodies(h2, got)
    assert all(body == counters(SIZE) for body in got.values())


def test_a_stream_that_is_reset_frees_its_worker(serve):
    server = serve(config("OutputSpoolSize 65536\n"))
    with Connection(server.port) as h2:
        for stream in (1, 3):
            h2.request(stream, path=f"/much?{SIZE}")
        wait_until(lambda: busy(server) == 2, "both workers to wait")
        for stream in (1, 3):
            h2.send(frame(RST_STREAM, stream=stream, payload=struct.pack("!I", CANCEL)))
        wait_until(lambda: busy(server) == 0, "both workers to be free")
        h2.send(window(0, SIZE))
        h2.request(5, path="/sleep?1")
        assert h2.response(5) == (200, b"slept\n")


def test_a_connection_that_ends_frees_its_workers(serve):
    server = serve(config("OutputSpoolSize 65536\n"))
    with Connection(server.port) as h2:
        for stream in (1, 3):
            h2.request(stream, path=f"/much?{SIZE}")
        wait_until(lambda: busy(server) == 2, "both workers to wait")
    wait_until(lambda: busy(server) == 0, "both workers to be free")


def test_what_was_flushed_is_sent_while_its_handler_goes_on(serve):
    server = serve(config("ServerLimit 1\nThreadsPerChild 4\n"))
    size = 1_000_000
    with Connection(server.port) as h2:
        h2.request(1, path=f"/drip?{size},3000")
        h2.send(window(0, SIZE) + window(1, SIZE))
        got = 0
        while got < size:
            got += len(h2.expect(DATA)[3])
        assert busy(server) >= 1
