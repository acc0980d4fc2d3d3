# SPDX-License-Identifier: Apache-2.0
"""Random requests with random answers, to a server that sends them on by plans and to one that has none: clients and backends get the
same. TEST_PLANNED=60000 sends so many, TEST_MODEL_SEED repeats them."""
import os
import random
import re

import pytest

from backend import Backend
from http_client import Truncated
from planned_site import ANSWERS, WHOLE, full_ways, neutral, twins

pytestmark = pytest.mark.only("brigade")

COUNT = int(os.environ.get("TEST_PLANNED", "20000" if os.environ.get("TEST_LONG") else "600"))
SEED = int(os.environ.get("TEST_MODEL_SEED") or random.randrange(1 << 30))
FIELDS = ["Accept: */*", "Cookie: a=b", "Cookie: c=d", "cookie:e=f", "Authorization: Basic eDp5", "Authorization: Bearer x", "X-B: 1", "X-b:  2 ", "X-C:",
          "Connection: keep-alive", "Connection: close", "Connection: X-B", "Connection: X-B, close", "Connection: TE", "TE: trailers", "Keep-Alive: timeout=3",
          "Proxy-Connection: keep-alive", "Trailer: X-C", "Upgrade: websocket", "Connection: Upgrade", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Host: a",
          "x-forwarded-server: b", "Via: 1.0 a", "Max-Forwards: 3", "Max-Forwards: 0", "Range: bytes=1-2", "If-None-Match: \"x\"", "If-Match: \"y\"",
          "If-Modified-Since: Fri, 20 Nov 2026 08:00:00 GMT", "Expect: 100-continue", "Expect: odd", "Proxy-Authorization: Basic eDp5", f"X-Long: {'b' * 3000}",
          "Accept-Encoding: gzip", "Cache-Control: no-cache", "Pragma: no-cache", "X-Odd:\t1\t2\t"]
TARGETS = [*["/p/{}"] * 6, *["/p/{}?a=b"] * 3, "/p/{}?", "/p/./{}", "/p//{}", "http://localhost/p/{}", "/p/{}?%2f?x", "/p/%6e%6f/../{}"]
# What ends both connections, and what is split as chance will have it, is left to the tests that have one such answer.
USED = [name for name in ANSWERS if name not in ("pieces", "nothing")]


def text_of_request(chance):
    method = chance.choices(["GET", "HEAD", "POST", "OPTIONS"], [90, 5, 3, 2])[0]
    target = chance.choice(TARGETS).format(chance.choice(WHOLE if chance.random() < .7 else USED))
    fields = [f"Host: {chance.choice(['localhost'] * 8 + ['other:81'])}", *chance.sample(FIELDS, chance.choice([0, 0, 0, 1, 1, 2, 4]))]
    chance.shuffle(fields)
    body = "abc" if method == "POST" or chance.random() < .02 else ""
    if body:
        fields.append(chance.choice(["Content-Length: 3", "Content-Length: 3", "Transfer-Encoding: chunked"]))
    if fields[-1].startswith("Transfer"):
        body = "3\r\nabc\r\n0\r\n\r\n"
    if "/large" in target and "Range: bytes=1-2" in fields:
        fields.remove("Range: bytes=1-2")  # a part is sent of what came as a whole (as from Apache), which chance decides
    version = chance.choices(["1.1", "1.0"], [95, 5])[0]
    return "\r\n".join([f"{method} {target} HTTP/{version}", *fields, "", body])


class Peer:
    """A server with its backend, and the connection that is kept to it."""

    def __init__(self, server, backend):
        self.server, self.backend, self.client = server, backend, None

    def ask(self, text):
        before = len(self.backend.requests)
        self.client = self.client or self.server.connect()
        try:
            self.client.send(text)
            got = self.answer(text.startswith("HEAD"))
        except (Truncated, ConnectionError) as e:
            got = bytes(self.client.buffer) + type(e).__name__.encode()
            self.client.close()
            self.client = None
        port = str(self.backend.port).encode()
        return neutral(self.server, got), [(r.head.replace(port, b"BACKEND"), r.raw_body) for r in self.backend.requests[before:]]

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
            while not body.endswith(b"0\r\n\r\n"):
                body += self.client.read_exactly(1)
        else:
            body = self.client.read_to_end()
        if re.search(rb"^connection: *close", head, re.M | re.I) or not (headed or length or body or b"chunked" in head):
            self.client.close()
            self.client = None
        return head + b"\r\n\r\n" + body


@pytest.mark.parametrize("more", ["", "ProxyPreserveHost On\n"], ids=["plain", "host"])
def test_random_requests(serve, more):
    chance = random.Random(SEED)
    with Backend({}) as backend:
        for name, script in ANSWERS.items():
            backend.scripts[f"/{name}"] = script.replace(b"{port}", str(backend.port).encode()) if isinstance(script, bytes) else script
        # A machine that has much to do may pause for longer than connections are kept.
        peers = [Peer(server, backend) for server in twins(serve, backend, more + "KeepAliveTimeout 300\nRequestReadTimeout header=0 body=0\n")]
        before = full_ways(peers[0].server)
        for n in range(COUNT // 2):
            text = text_of_request(chance)
            planned, full = (peer.ask(text) for peer in peers)
            assert planned == full, f"request {n} of TEST_MODEL_SEED={SEED}: {text!r}"
        ways = full_ways(peers[0].server) - before
    print(f"{COUNT // 2} requests, {ways} of them the full way")
    assert ways < COUNT // 2 * .9, "some go on by a plan"
