# SPDX-License-Identifier: Apache-2.0
"""TLS clients that are slow, torn, greedy or gone: each is bounded, and the others are served."""
import contextlib
import os
import resource
import shutil
import socket
import ssl
import struct
import threading
import time

import pytest

import effort
import brigade
import libssl
import trouble
from tls_site import certificate

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")]
needs_libssl = pytest.mark.skipif(not libssl.LIB, reason="no libssl.so.3")

CONFIG = """
BuiltinModule ssl_module On
EventLoops 1
ServerProcesses 1
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
"""
REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def server(serve_module):
    made = serve_module.unstarted(CONFIG + "RequestReadTimeout handshake=1 header=5\n", {"a.txt": "text\n", "big.bin": os.urandom(3_000_000)}, modules=())
    certificate(made)
    return made.start()


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made


def is_served(server):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s, context().wrap_socket(s) as t:
        t.sendall(LAST)
        data = b""
        while more := t.recv(1000):
            data += more
    assert data.endswith(b"\r\n\r\ntext\n")
    return time.monotonic() - began


class Handshake:
    """A client's bytes, for those who carry them themselves."""

    def __init__(self):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context().wrap_bio(self.incoming, self.outgoing)

    def messages(self):
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()


def split_records(data, size):
    """The same handshake bytes in records of their own."""
    out = b""
    while data:
        n = struct.unpack(">H", data[3:5])[0]
        head, body, data = data[:3], data[5:5 + n], data[5 + n:]
        for at in range(0, n, size):
            piece = body[at:at + size]
            out += head + struct.pack(">H", len(piece)) + piece
    return out


def finish(s, made):
    """Carry bytes until the handshake is done."""
    while True:
        made.incoming.write(s.recv(65536))
        try:
            made.tls.do_handshake()
        except ssl.SSLWantReadError:
            continue
        s.sendall(made.outgoing.read())
        return


def exchange(s, made, data):
    made.tls.write(data)
    s.sendall(made.outgoing.read())
    answer = b""
    while not answer.endswith(b"\r\n\r\ntext\n"):
        more = s.recv(65536)
        assert more, answer
        made.incoming.write(more)
        try:
            answer += made.tls.read(65536)
        except ssl.SSLWantReadError:
            pass
    return answer


def test_a_hello_byte_by_byte(server):
    made = Handshake()
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in made.messages():
            s.sendall(bytes([byte]))
        finish(s, made)
        exchange(s, made, REQUEST)


def test_a_hello_in_records_of_one_byte(server):
    made = Handshake()
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
        s.sendall(split_records(made.messages(), 1))
        finish(s, made)
        exchange(s, made, REQUEST)


def test_empty_records(server):
    """They end the connection, and nothing else."""
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
        try:
            for _ in range(1000):
                s.sendall(b"\x16\x03\x01\x00\x00" * 100)
            while s.recv(1000):
                pass
        except OSError:
            pass
    is_served(server)


@needs_libssl
@pytest.mark.parametrize("version", [libssl.TLS1_2, libssl.TLS1_3], ids=["1.2", "1.3"])
def test_requests_in_records_of_one_byte(server, version):
    with libssl.Peer(server.port, version) as p:
        for byte in REQUEST * 20 + LAST:
            assert p.write(bytes([byte])) == 1
        assert p.read_to_end().count(b"\r\n\r\ntext\n") == 21


@needs_libssl
@pytest.mark.parametrize("kind", [libssl.KEY_UPDATE_NOT_REQUESTED, libssl.KEY_UPDATE_REQUESTED], ids=["ours", "both"])
def test_key_updates_between_requests(server, kind):
    with libssl.Peer(server.port) as p:
        for _ in range(20):
            assert p.update_key(kind)
            p.write(REQUEST)
            answer = b""
            while not answer.endswith(b"\r\n\r\ntext\n"):
                more = p.read()
                assert more, answer
                answer += more


def ends(p, act):
    """Do it until the server has had enough. @return how often that was"""
    n = 0
    while act() and n < 200_000:
        n += 1
    return n


@needs_libssl
@pytest.mark.parametrize("kind", [libssl.KEY_UPDATE_NOT_REQUESTED, libssl.KEY_UPDATE_REQUESTED], ids=["ours", "both"])
def test_key_updates_without_end(server, kind):
    before = server.error_log().count(b"asked for more than 100")
    with libssl.Peer(server.port) as p:
        assert ends(p, lambda: p.update_key(kind)) < 200_000
        assert p.read_to_end() == b""
    brigade.wait_until(lambda: server.error_log().count(b"asked for more than 100") == before + 1, "a line of the log")
    is_served(server)


@needs_libssl
def test_renegotiation_is_refused(server):
    with libssl.Peer(server.port, libssl.TLS1_2) as p:
        assert not p.renegotiate()
    is_served(server)


def test_rubbish_after_the_handshake(server):
    made = Handshake()
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
        s.sendall(made.messages())
        finish(s, made)
        exchange(s, made, REQUEST)
        s.sendall(b"\x17\x03\x03\x00\x20" + os.urandom(32))
        while s.recv(1000):
            pass
    is_served(server)


@pytest.mark.parametrize("how", ["half-closed", "gone", "reset"])
@pytest.mark.parametrize("part", [1, 5, 100, None])
def test_gone_in_the_handshake(server, how, part):
    data = Handshake().messages()
    s = socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE)
    s.sendall(data[:part])
    if how == "half-closed":
        s.shutdown(socket.SHUT_WR)
        while s.recv(10000):
            pass
    elif how == "reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    is_served(server)


@needs_libssl
@pytest.mark.parametrize("notify", [True, False], ids=["close-notify", "fin"])
@pytest.mark.parametrize("version", [libssl.TLS1_2, libssl.TLS1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("at_once", [True, False])
def test_half_closed_after_a_request(server, version, notify, at_once):
    """Its answer comes whole, in full and from memory (a server that closes at once meets close_notify with a reset)."""
    for _ in range(4):
        with libssl.Peer(server.port, version) as p:
            p.write(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert len(p.read_to_end()) > 3_000_000
    with libssl.Peer(server.port, version) as p:
        p.write(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got = 0 if at_once else len(p.read(1))
        if notify:
            libssl.LIB.SSL_shutdown(p.ssl)
        with contextlib.suppress(OSError):  # it may be over already: then all of it is here
            p.socket.shutdown(socket.SHUT_WR)
        while more := p.read():
            got += len(more)
        assert got > 3_000_000


@pytest.mark.slow
def test_many_unfinished_handshakes(serve):
    """A loop that has thousands of them serves others; they end in time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(effort.count(1500), hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, most + 500)), hard))
    s = serve.unstarted(CONFIG + "RequestReadTimeout handshake=3\nMaxRequestWorkers 10000\n", {"a.txt": "text\n"}, modules=())
    certificate(s)
    s.start()
    data, opened = Handshake().messages(), []
    try:
        for i in range(most):
            c = socket.create_connection(("127.0.0.1", s.port), brigade.PATIENCE)
            opened.append(c)
            c.sendall(data[:i % 3 * 100])
        took = sorted(is_served(s) for _ in range(50))
        print(f"{most} unfinished handshakes: a request takes {took[25] * 1000:.1f} ms, at most {took[-1] * 1000:.1f} ms")
        assert took[25] < 1
        for c in opened:
            assert c.recv(100) == b""
    finally:
        for c in opened:
            c.close()
    is_served(s)


def test_a_flood_of_handshakes_leaves_room_for_requests(server):
    """A warm connection is answered while others begin."""
    stop, made = threading.Event(), []

    def flood():
        while not stop.is_set():
            with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s, context().wrap_socket(s):
                made.append(1)

    threads = [threading.Thread(target=flood) for _ in range(4)]
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s, context().wrap_socket(s) as t:
        for thread in threads:
            thread.start()
        try:
            for _ in range(100):
                t.sendall(REQUEST)
                assert t.recv(10000).endswith(b"text\n")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert made


@pytest.mark.skipif("asan" in brigade.BINARY or "tsan" in brigade.BINARY, reason="memory of a sanitizer")
@pytest.mark.parametrize("length", [0, 3, 200])
def test_a_silent_client_costs_what_it_sent(serve, length):
    """Who connects and says nothing, or not all of a ClientHello, has no buffers yet; and goes on when it sends the rest."""
    s = serve.unstarted(CONFIG, {"a.txt": "text\n"}, modules=())
    certificate(s)
    s.start()
    hello, process, count = Handshake().messages(), s.children()[0], 400
    with contextlib.ExitStack() as ends:
        def connect():
            made = ends.enter_context(socket.create_connection(("127.0.0.1", s.port), brigade.PATIENCE))
            made.sendall(hello[:length])
            return made

        for _ in range(100):
            last = connect()
        is_served(s)
        before = trouble.memory(process)
        for _ in range(count):
            last = connect()
        is_served(s)
        assert (trouble.memory(process) - before) / count < 3000
        last.sendall(hello[length:])
        assert last.recv(5)[:1] == b"\x16"


@pytest.mark.parametrize("first", [b"\x16\x03\x01\x00\x20\x05" + b"x" * 31, b"\x16\x03\x01\x00\x05\x01\x00\x00\x01x"], ids=["message", "hello"])
def test_an_alert_arrives_whatever_else_was_sent(server, first):
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
        s.sendall(first + b"y" * 300_000)
        s.sendall(b"z" * 1000)
        alert = b""
        while more := s.recv(100):
            alert += more
        assert alert[:1] == b"\x15" and len(alert) == 7
        s.sendall(b"z")
        assert s.recv(100) == b""
