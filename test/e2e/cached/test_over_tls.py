# SPDX-License-Identifier: Apache-2.0
"""Stored answers over TLS: hits, and a client that leaves while others wait for what it asked for."""
import re
import threading
import time

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, kind
from tls_site import TLSClient, certificate, start

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


@pytest.fixture
def server(serve, backend):
    server = serve.unstarted(config(backend, "SSLEngine On\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"
                                             "CacheMaxFileSize 10000000\nLogLevel ssl:warn\n"))
    certificate(server)
    return start(server)


def test_hits(server, backend):
    body = bytes(range(256)) * 16384
    backend.scripts["/a"] = answer(body, fields=fields())
    client = TLSClient(server)
    for wanted in ("MISS", "HIT", "HIT"):
        got = client.request("GET", "/p/a")
        assert got.body == body and kind(got) == wanted


def test_hits_of_the_loops_cache(server, backend):
    backend.scripts["/a"] = answer(b"stored\n", fields=fields())
    client = TLSClient(server)
    got = [client.request("GET", "/p/a") for i in range(10)]
    assert [kind(g) for g in got] == ["MISS"] + ["HIT"] * 9 and {g.body for g in got} == {b"stored\n"}
    assert len({re.sub(rb"Age: \d+", b"", g.head) for g in got[1:]}) == 1 and len(backend.requests) == 1


def test_the_first_client_leaves(server, backend):
    more, half = threading.Event(), b"h" * 100000

    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 200000\r\n\r\n" + half)
        assert more.wait(20)
        return half

    backend.scripts["/a"] = script
    first = TLSClient(server)
    first.socket.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: backend.requests, "the first one")
    got = []

    def ask():
        got.append(TLSClient(server).request("GET", "/p/a"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    time.sleep(0.4)
    first.socket.close()
    time.sleep(0.2)
    more.set()
    for t in threads:
        t.join(20)
    assert [g.body == 2 * half for g in got] == [True] * 4 and len(backend.requests) == 1
