# SPDX-License-Identifier: Apache-2.0
"""Twins: clients of a server that sends requests on by plans, or of one that has none. A request is asked for, and what its client and its
backend got of it is told, and what logs tell of all. What requests have: text, method, leaves, of_stream (test_planned_random.py)."""
import random
import re

import h2_client
from brigade import PATIENCE
from http_client import Truncated
from planned_site import full_ways, neutral

LEFT = b"x-left: 1"  # of requests whose client leaves: when they come is chance


class Peer:
    """A server with its backend, and the connection that is kept to it."""

    def __init__(self, server, backend):
        self.server, self.backend, self.client = server, backend, None

    def leave(self):
        if self.client:
            self.client.socket.close()
        self.client = None

    def ask(self, request):
        before = self.count()
        self.client = self.client or self.connect()
        got = self.get(request)
        return got, self.since(before)

    def count(self):
        """Requests that the backend got so far."""
        return len(self.backend.requests)

    def since(self, before):
        port = str(self.backend.port).encode()
        return [(r.head.replace(port, b"BACKEND"), r.raw_body) for r in self.backend.requests[before:] if LEFT not in r.head.lower()]


class PeerOfHTTP1(Peer):
    def connect(self):
        return self.server.connect()

    def abandon(self, request):
        """Leave within the request, or once it is sent."""
        self.client = self.client or self.connect()
        text = request.text.replace("\r\n", f"\r\n{LEFT.decode()}\r\n", 1)
        self.client.send(text[:int(len(text) * 1.5 * request.leaves) or 1])
        self.leave()

    def get(self, request):
        try:
            self.client.send(request.text)
            got = self.answer(request.method == "HEAD")
        except (Truncated, ConnectionError) as e:
            got = bytes(self.client.buffer) + type(e).__name__.encode()
            self.leave()
        return neutral(self.server, got)

    def answer(self, headed):
        head = self.client.read_until(b"\r\n\r\n")
        if re.match(rb"HTTP/1.1 1", head):
            return head + b"\r\n\r\n" + self.answer(headed)
        length, body = re.search(rb"^content-length: *(\d+)", head, re.M | re.I), b""
        if headed or re.match(rb"HTTP/1.1 (204|304)", head):
            pass
        elif length:
            body = self.client.read_exactly(int(length[1]))
        elif re.search(rb"^transfer-encoding: *chunked", head, re.M | re.I):
            body = self.client.read_chunks()
        else:
            body = self.client.read_to_end()
        if re.search(rb"^connection: *close", head, re.M | re.I) or not (headed or length or body or b"chunked" in head):
            self.leave()
        return head + b"\r\n\r\n" + body


class PeerOfHTTP2(Peer):
    def connect(self):
        return h2_client.Client("127.0.0.1", self.server.port, PATIENCE)

    def abandon(self, request):
        self.leave()
        block = h2_client.request_block(path=request.of_stream[1], method="GET", fields=[LEFT.decode().split(": ")])
        with h2_client.Connection(self.server.port) as connection:
            text = h2_client.frame(h2_client.HEADERS, 5, 1, block) + h2_client.frame(h2_client.RST_STREAM, 0, 1, b"\0\0\0\x08")
            connection.send(text[:int(len(text) * 1.5 * request.leaves) or 1])

    def get(self, request):
        try:
            got = self.client.request(*request.of_stream)
            return neutral(self.server, got.head), got.body, got.trailers
        except (Truncated, OSError):
            self.leave()
            return "it broke off"


def lines_of(server):
    root = str(server.root).encode()
    return [line.replace(root, b"ROOT") for line in server.read("logs/access.log").splitlines() if b" /metrics" not in line and line.startswith(b"- ")]


def compare(peers, request_of, count, seed, order=None):
    """Ask the twins, the first of which has plans, the same. @param request_of  a function that makes one, by chance @param order  of lines of
    logs; None: as they were written, but for streams: a worker's line may be behind that of the next one @return how many requests were asked, and how many of them took the full way"""
    chance = random.Random(seed)
    before, asked = full_ways(peers[0].server), 0
    for n in range(count):
        request = request_of(chance)
        if request.leaves is not None:
            for peer in peers:
                peer.abandon(request)
            continue
        asked += 1
        planned, full = (peer.ask(request) for peer in peers)
        assert planned == full, f"request {n} of TEST_SEED={seed}: {request.text!r}"
    ways = full_ways(peers[0].server) - before
    for peer in peers:
        peer.leave()
        peer.server.stop()
    lines = [lines_of(peer.server) for peer in peers]
    order = order or (list if isinstance(peers[0], PeerOfHTTP1) else sorted)
    differing = [pair for pair in zip(*map(order, lines), strict=True) if pair[0] != pair[1]]
    assert not differing, differing[:2]
    assert all(LEFT not in line.lower() for line in lines[0])
    return asked, ways
