# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 with other people's clients, as far as they are installed (curl, h2load and h2spec: test_http2.py), and many streams that end on
workers while their client resets them."""
import random
import shutil
import socket
import struct
import subprocess
import threading

import pytest

import brigade
from h2_client import (CANCEL, DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE, Closed, Connection, frame,
                       request_block)

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")

CONFIG = """
Protocols h2c http/1.1
EventLoops 2
LoadModule reflector_module @MODULES@/mod_reflector.so
AddOutputFilter INCLUDES .shtml
<Location /echo>
SetHandler reflector
</Location>
<Location /page.shtml>
Options +Includes
</Location>
"""
FILES = {"a.txt": "first\n", "b.txt": "b" * 10240, "big.bin": bytes(range(256)) * 2000, "echo": "", "page.shtml": '<!--#echo var="HTTP2" -->\n'}


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module(CONFIG, FILES, modules=["reflector"])


def url(server, path):
    return f"http://127.0.0.1:{server.port}{path}"


@pytest.mark.skipif(not shutil.which("nghttp"), reason="nghttp is not installed")
def test_nghttp(server):
    urls = [url(server, "/" + name) for name in FILES if name != "echo"]
    done = subprocess.run(["nghttp", "-v", "-n", "-m3", *urls], capture_output=True, text=True, timeout=60)
    assert done.stdout.count(":status: 200") == 3 * len(urls), done.stdout[-3000:]
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.skipif(not shutil.which("nghttp"), reason="nghttp is not installed")
@pytest.mark.parametrize("more", [[], ["--no-content-length"], ["--trailer", "x-end: yes"], ["-b", "200"]], ids=lambda m: m[0] if m else "plain")
def test_nghttp_sends_a_body(server, more):
    done = subprocess.run(["nghttp", *more, "-d", server.path("htdocs/big.bin"), url(server, "/echo")], capture_output=True, timeout=60)
    assert done.stdout == FILES["big.bin"], done.stderr[-1000:]


def test_python_h2(server):
    """Three requests and a body, by a library that checks each frame."""
    h2 = {name: pytest.importorskip(f"h2.{name}") for name in ("connection", "config", "events")}
    conn = h2["connection"].H2Connection(h2["config"].H2Configuration(client_side=True, header_encoding="utf-8"))
    status, bodies, sent = {}, {}, FILES["big.bin"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=brigade.PATIENCE) as s:
        conn.initiate_connection()
        common = [(":scheme", "http"), (":authority", "localhost")]
        for stream, path in ((1, "/a.txt"), (3, "/big.bin"), (5, "/page.shtml")):
            conn.send_headers(stream, [(":method", "GET"), (":path", path), *common], end_stream=True)
        conn.send_headers(7, [(":method", "POST"), (":path", "/echo"), *common])
        at, ended = 0, set()
        while len(ended) < 4:
            while at < len(sent) and (room := min(conn.local_flow_control_window(7), conn.max_outbound_frame_size, len(sent) - at)):
                conn.send_data(7, sent[at:at + room], end_stream=at + room == len(sent))
                at += room
            s.sendall(conn.data_to_send())
            data = s.recv(65536)
            assert data
            for event in conn.receive_data(data):
                if isinstance(event, h2["events"].ResponseReceived):
                    status[event.stream_id] = dict(event.headers)[":status"]
                elif isinstance(event, h2["events"].DataReceived):
                    bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                    conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2["events"].StreamEnded):
                    ended.add(event.stream_id)
                assert not isinstance(event, (h2["events"].StreamReset, h2["events"].ConnectionTerminated)), event
    assert set(status.values()) == {"200"}
    assert bodies == {1: b"first\n", 3: FILES["big.bin"], 5: b"on\n", 7: sent}


def visit(server, seed, rounds, failures):
    """Requests for workers, each reset at some moment or completed; one that is completed earns what another wastes."""
    rng = random.Random(seed)
    try:
        with Connection(server.port) as c:
            c.send(frame(WINDOW_UPDATE, payload=struct.pack("!I", 1 << 30)))
            for stream in range(1, 2 * rounds, 2):
                c.send(frame(HEADERS, END_HEADERS, stream, request_block("/echo", "POST")))
                for _ in range(rng.randrange(3)):
                    c.send(frame(DATA, 0, stream, b"x" * rng.randrange(3000)))
                if rng.random() < 0.6:
                    c.send(frame(RST_STREAM, 0, stream, struct.pack("!I", CANCEL)))
                    continue
                c.send(frame(DATA, END_STREAM, stream, b"x" * rng.randrange(1, 3000)))
                if rng.random() < 0.3:
                    c.send(frame(RST_STREAM, 0, stream, struct.pack("!I", CANCEL)))
                elif c.response(stream)[0] != 200:
                    failures.append(f"stream {stream} of {seed}")
                    return
    except (Closed, OSError) as e:
        failures.append(repr(e))


@pytest.mark.threads
def test_resets_while_workers_finish(server):
    failures = []
    clients = [threading.Thread(target=visit, args=(server, seed, 60, failures)) for seed in range(6)]
    for t in clients:
        t.start()
    for t in clients:
        t.join()
    assert failures == []
    with Connection(server.port) as c:
        c.request(1, path="/a.txt")
        assert c.response(1) == (200, b"first\n")
