# SPDX-License-Identifier: Apache-2.0
"""A Node.js application behind the proxy: WebSocket and server-sent events."""
import base64
import hashlib
import os
import shutil
import struct
import subprocess

import pytest

from brigade import wait_until

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")]


@pytest.fixture
def node():
    """Its port."""
    app = subprocess.Popen(["node", os.path.join(os.path.dirname(__file__), "node_app.js")], stdout=subprocess.PIPE, text=True)
    yield int(app.stdout.readline())
    app.kill()
    app.wait()
    app.stdout.close()


def frame(data, kind=2):
    """A masked frame of RFC 6455."""
    mask, n = b"\x11\x22\x33\x44", len(data)
    head = bytes([0x80 | kind]) + (bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0x80 | 126, n) if n < 65536 else struct.pack(">BQ", 0x80 | 127, n))
    return head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(data))


def read_frame(read):
    head = read(2)
    n = head[1] & 127
    n = struct.unpack(">H", read(2))[0] if n == 126 else struct.unpack(">Q", read(8))[0] if n == 127 else n
    return head[0] & 15, read(n)


def exactly(client):
    """A function that reads from a connection of the tests' client."""
    held = [b""]

    def read(n):
        while len(held[0]) < n:
            data = client.socket.recv(65536)
            assert data, "the connection ended"
            held[0] += data
        data, held[0] = held[0][:n], held[0][n:]
        return data
    return read, held


def handshake(client, path):
    key = base64.b64encode(bytes(range(16))).decode()
    client.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {key}\r\n\r\n")
    head = client.read_until(b"\r\n\r\n").decode().lower()
    accept = base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode().lower()
    assert " 101 " in head and f"sec-websocket-accept: {accept}" in head and "upgrade: websocket" in head, head


@pytest.mark.parametrize("target", ["ws://127.0.0.1:{}/ws", "http://127.0.0.1:{}/ws upgrade=websocket"], ids=["ws", "upgrade"])
def test_websocket_echo(serve, node, target):
    server = serve("EventLoops 1\nProxyPass /ws " + target.format(node) + "\n")
    clients = [server.connect() for _ in range(3)]
    for client in clients:
        handshake(client, "/ws")
    for size in (0, 5, 125, 126, 65535, 300000):
        for client in clients:
            data = bytes((i * 7 + size) & 255 for i in range(size))
            client.send(frame(data))
            read, held = exactly(client)
            assert read_frame(read) == (2, data) and held[0] == b""
    for client in clients:
        client.send(frame(b"\x03\xe8", kind=8))
        read, _ = exactly(client)
        assert read_frame(read) == (8, b"\x03\xe8")
        assert client.socket.recv(10) == b""
        client.close()


def test_events_come_one_by_one(serve, node):
    server = serve(f"EventLoops 1\nAddOutputFilterByType DEFLATE text/html\nProxyPass / http://127.0.0.1:{node}/\n")
    with server.connect() as client:
        client.send(b"GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
        assert b"text/event-stream" in client.read_until(b"\r\n\r\n")
        assert client.read_until(b": welcome\n\n") is not None
        for n in range(20):  # the next one is not sent before this one is here
            server.get(f"/tick/{n}")
            assert client.read_until(f"data: {n}\n\n".encode()) is not None
    assert wait_until(lambda: server.get("/").body == b"0", "the application to see that its client left")
