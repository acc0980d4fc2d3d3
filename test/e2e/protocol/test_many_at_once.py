# SPDX-License-Identifier: Apache-2.0
"""Requests of many connections that one turn of an event loop finds together: the phases of all of them run before their
handlers (server/loop/loop_run.c), and each client gets what it gets alone. The server's process is stopped while the requests
are sent, so that they are all there when it goes on."""
import os
import random
import signal
import socket
import struct

import pytest

from http_client import Truncated, request_bytes
from processes import wait_until
from tls_site import TLSClient, certificate

CONNECTIONS = 48  # what one turn reads from is 64
CONFIG = """
EventLoops 1
ServerProcesses 1
MaxKeepAliveRequests 0
Header echo ^X-Id$
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory "@ROOT@/htdocs">
    Options +Includes +Indexes
    Require all granted
</Directory>
<Location "/denied">
    Require all denied
</Location>
Redirect /moved /n1.txt
"""
FILES = {f"n{i}.txt": f"file number {i}\n" * (1 + i * i) for i in range(20)}
FILES |= {"page.shtml": "<!--#echo var='REQUEST_URI' --> <!--#include virtual='/n3.txt' -->", "index.html": "home\n", "large.bin": "0123456789" * 30000, "list/x.txt": "x\n",
          "denied/a.txt": "no\n"}
# Method and target, fields, body; each with its own number.
ASKS = [("GET", f"/n{i}.txt", {}, b"") for i in range(20)] + [
    ("GET", "/none", {}, b""), ("GET", "/denied/a.txt", {}, b""), ("HEAD", "/n4.txt", {}, b""), ("GET", "/n5.txt", {"Range": "bytes=3-9"}, b""),
    ("GET", "/n5.txt", {"Range": "bytes=1-2,7-12"}, b""), ("GET", "/n6.txt", {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}, b""),
    ("GET", "/", {}, b""), ("GET", "/list", {}, b""), ("GET", "/list/", {}, b""), ("GET", "/moved", {}, b""), ("GET", "/page.shtml?q", {}, b""),
    ("POST", "/n7.txt", {}, b"some body"), ("PUT", "/n7.txt", {}, b"x" * 20000), ("POST", "/page.shtml", {}, b"b" * 5000), ("GET", "/large.bin", {}, b""),
    ("OPTIONS", "/n1.txt", {}, b""), ("TRACE", "/n1.txt", {}, b""), ("BREW", "/n1.txt", {}, b""), ("GET", "/n8.txt", {"Expect": "nothing"}, b""),
    ("GET", "/n9.txt", {"Connection": "close"}, b""),
]


def essence(response):
    """What does not differ between two answers to the same request."""
    fields = sorted((n.lower(), v) for n, v in response.headers if n.lower() not in ("date", "x-id", "keep-alive", "age"))
    return response.status, fields, response.body if "boundary=" not in (response["Content-Type"] or "") else len(response.body)


TLS = """
SSLEngine on
SSLCertificateFile "@ROOT@/conf/cert.pem"
SSLCertificateKeyFile "@ROOT@/conf/key.pem"
"""


@pytest.fixture(scope="module", params=["cache", "no cache", "TLS"])
def server(request, serve_module):
    if request.param == "TLS":
        server = serve_module.unstarted("FileCacheEntries 0\n" + TLS + CONFIG, FILES)
        certificate(server)
        server.start()
        server.connect = lambda: TLSClient(server)
    else:
        server = serve_module(("FileCacheEntries 0\n" if request.param == "no cache" else "") + CONFIG, FILES)
    for name in FILES:  # the entity tag of a file that has just changed is weak
        os.utime(server.path("htdocs", name), (1e9, 1e9))
    return server


class Stopped:
    """The server's process does nothing in this block."""

    def __init__(self, server):
        (self.pid,) = server.children()

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        wait_until(self.is_stopped, "the process to stop")

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)

    def is_stopped(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] == "T"


def with_id(ask, number):
    method, target, fields, body = ask
    return request_bytes(method, target, {**fields, "X-Id": number}, body)


def alone(server, ask):
    with server.connect() as c:
        c.send(with_id(ask, "alone"))
        return essence(c.read_response(ask[0]))


def judge(client, ask, number, expected):
    response = client.read_response(ask[0])
    assert essence(response) == expected, (ask[:3], response)
    assert response["X-Id"] in (number, None), (ask[:3], response)
    assert response["X-Id"] or response.status >= 300, (ask[:3], response)


@pytest.mark.threads
@pytest.mark.only("brigade")
def test_each_gets_its_own(server):
    expected = {i: alone(server, ask) for i, ask in enumerate(ASKS)}
    rng = random.Random(14)
    clients = []
    for _ in range(12):
        clients = [c for c in clients if c] + [server.connect() for _ in range(CONNECTIONS - len(clients))]
        asked = [[rng.randrange(len(ASKS)) for _ in range(rng.choice((1, 1, 1, 2, 5)))] for _ in clients]
        with Stopped(server):
            for n, (client, which) in enumerate(zip(clients, asked)):
                client.send(b"".join(with_id(ASKS[i], f"{n}-{k}") for k, i in enumerate(which)))
        for n, (client, which) in enumerate(zip(clients, asked)):
            for k, i in enumerate(which):
                try:
                    judge(client, ASKS[i], f"{n}-{k}", expected[i])
                except Truncated:  # an earlier answer was the last one
                    assert k > 0, ASKS[i][:3]
                    break
            if any("close" in ASKS[i][2].get("Connection", "") or ASKS[i][0] in ("PUT", "POST", "BREW", "TRACE") or "Expect" in ASKS[i][2] for i in which):
                client.close()
                clients[n] = None


@pytest.mark.only("brigade")
def test_clients_that_leave(server):
    """Some close their side, some reset the connection, before the server looks: the others are answered."""
    halves = "SSLEngine" not in server.config
    expected = alone(server, ASKS[0])
    clients = [server.connect() for _ in range(CONNECTIONS)]
    for c in clients:
        c.send(with_id(ASKS[0], "before"))
        judge(c, ASKS[0], "before", expected)
    with Stopped(server):
        for n, c in enumerate(clients):
            c.send(with_id(ASKS[0], str(n)))
            if n % 3 == 1 and halves:
                c.half_close()
            elif n % 3 == 2:
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()
    for n, c in enumerate(clients):
        if n % 3 != 2:
            judge(c, ASKS[0], str(n), expected)
        if n % 3 == 1 and halves:
            assert c.at_end()
        c.close()
    assert alone(server, ASKS[0]) == expected


@pytest.mark.only("brigade")
def test_pipelines_share_a_turn(server):
    """Connections with a thousand requests each give way to each other, and to one with a single request."""
    clients = [server.connect() for _ in range(8)]
    one = server.connect()
    with Stopped(server):
        for n, c in enumerate(clients):
            c.send(b"".join(with_id(ASKS[k % 5], f"{n}-{k}") for k in range(300)))
        one.send(with_id(ASKS[1], "one"))
    expected = [alone(server, ask) for ask in ASKS[:5]]
    judge(one, ASKS[1], "one", expected[1])
    for n, c in enumerate(clients):
        for k in range(300):
            judge(c, ASKS[k % 5], f"{n}-{k}", expected[k % 5])


@pytest.mark.only("brigade")
def test_a_graceful_stop_meets_a_full_turn(serve):
    """All that was sent before the order is answered."""
    server = serve("FileCacheEntries 0\n" + CONFIG, FILES)
    expected = alone(server, ASKS[3])
    clients = [server.connect() for _ in range(CONNECTIONS)]
    for c in clients:
        c.send(with_id(ASKS[3], "before"))
        judge(c, ASKS[3], "before", expected)
    before = server.error_log().count(b"gracefully")
    with Stopped(server):
        for n, c in enumerate(clients):
            c.send(with_id(ASKS[3], str(n)))
        server.signal(signal.SIGWINCH)
        wait_until(lambda: server.error_log().count(b"gracefully") > before, "the order")
    for n, c in enumerate(clients):
        response = c.read_response()
        assert response.status == 200 and response["X-Id"] == str(n)
        assert response.body == FILES["n3.txt"].encode()
