# SPDX-License-Identifier: Apache-2.0
"""Connections, descriptors, threads and disks run out: what cannot be served is refused, all else goes on."""
import contextlib
import os
import resource
import signal
import socket
import ssl
import subprocess
import time

import pytest

from brigade import PATIENCE, wait_until
from http_client import Truncated, request_bytes
from processes import Load
from tls_site import certificate
from trouble import descriptors, with_trouble

FILES = {"index.html": "home\n", "a.txt": "A\n"}


@pytest.mark.only("brigade")
@pytest.mark.parametrize("loops,processes", [(1, 1), (2, 1), (2, 2)])
def test_connections_are_limited_by_process(serve, loops, processes):
    """AsyncRequestWorkerFactor times MaxRequestWorkers beside those: the rest wait in the kernel, and are served later."""
    server = serve(f"EventLoops {loops}\nServerProcesses {processes}\nMaxRequestWorkers {8 * processes}\nAsyncRequestWorkerFactor 0.5\n"
                   "KeepAliveTimeout 60\n", FILES)
    clients = [server.connect() for _ in range(60)]
    try:
        for c in clients:
            c.send(request_bytes("GET", "/a.txt") + b"GET /a.t")  # none is idle, and can be closed to make room
            c.socket.setblocking(False)

        def served():
            n = 0
            for c in clients:
                try:
                    c.buffer += c.socket.recv(1000)
                except BlockingIOError:
                    pass
                n += b"A\n" in c.buffer
            return n
        wait_until(lambda: served() >= 6 * processes, "the first answers")
        assert served() <= 12 * processes
        while clients:
            wait_until(lambda: served() > 0, "answers to those that waited")
            for c in [c for c in clients if b"A\n" in c.buffer]:
                c.close()
                clients.remove(c)
    finally:
        for c in clients:
            c.close()


def idle_clients(server, n):
    """Connections whose one request was answered, and that send nothing more."""
    clients = []
    for _ in range(n):
        c = server.connect()
        assert c.get("/a.txt").body == b"A\n"
        clients.append(c)
    return clients


def shed(server):
    lines = server.get("/metrics").body.decode().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("brigade_connections_shed_total"))


@pytest.mark.only("brigade")
@pytest.mark.parametrize("loops", [1, 2])
def test_idle_connections_make_room(serve, loops):
    """Clients that ask for nothing keep nobody out until KeepAliveTimeout is over."""
    server = serve(f"EventLoops {loops}\nMaxRequestWorkers {10 * loops}\nAsyncRequestWorkerFactor 1\nKeepAliveTimeout 300\n"
                   "<Location /metrics>\nSetHandler metrics\n</Location>\n", FILES)
    with idle_clients(server, 100)[0] as first:
        with pytest.raises((Truncated, ConnectionError)):
            first.get("/a.txt")
    assert shed(server) >= 100 - 20 * loops


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
ASKED = bytes([0, 0, 20, 1, 5, 0, 0, 0, 1]) + b"\x82\x86\x04\x06/a.txt\x01\x09localhost"
SILENT = {"head": b"GET /a", "next head": request_bytes("GET", "/a.txt") + b"GET /a", "preface": PREFACE, "http2": PREFACE + ASKED, "proxy": b"PROXY TC",
          "hello": b"\x16\x03\x01\x01\x00\x01\x00\x00\xfc"}


@pytest.mark.only("brigade")
@pytest.mark.parametrize("kind", SILENT)
def test_silent_connections_make_room(serve, kind):
    """More of them than there are descriptors: those that have said nothing for the longest go, and who comes is served."""
    server = serve.unstarted("EventLoops 2\nServerProcesses 1\nProtocols h2c http/1.1\nKeepAliveTimeout 300\nRequestReadTimeout header=300 handshake=300\n"
                             + {"hello": "BuiltinModule ssl_module On\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\n"
                                         "SSLCertificateKeyFile @ROOT@/conf/key.pem\n", "proxy": "RemoteIPProxyProtocol On\n"}.get(kind, ""),
                             FILES, limits={resource.RLIMIT_NOFILE: 128}, modules=())
    certificate(server)
    server.start()
    begins = {"proxy": b"PROXY UNKNOWN\r\n"}.get(kind, b"")
    with contextlib.ExitStack() as ends:
        def connect(data):
            made = ends.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE))
            made.sendall(data)
            return made

        for _ in range(300):
            connect(SILENT[kind])
        for _ in range(3):
            began, client = time.monotonic(), connect(begins)
            if kind == "hello":
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                client = ends.enter_context(context.wrap_socket(client))
            client.sendall(request_bytes("GET", "/a.txt"))
            assert client.recv(1000).startswith(b"HTTP/1.1 200 OK")
            assert time.monotonic() - began < 5


@pytest.mark.only("brigade")
@pytest.mark.parametrize("loops", [1, 2])
def test_descriptors_run_out_again_and_again(serve, loops):
    """So few that connections alone use them up: those that wait are served when others go, and the log stays short."""
    server = serve(f"EventLoops {loops}\nKeepAliveTimeout 60\n", FILES, limits={resource.RLIMIT_NOFILE: 12 + 7 * loops})
    child = server.children()[0]
    begin = time.monotonic()
    for turn in range(2):
        clients = [server.connect() for _ in range(30)]
        for c in clients:
            c.send(request_bytes("GET", "/a.txt"))
        wait_until(lambda: server.error_log().count(b"cannot accept connections") > turn, "the message")
        for c in clients:
            r = c.read_response()
            assert r.status == 503 or r.body == b"A\n", r
            c.close()
    said = server.error_log().count(b"cannot accept connections")
    assert said <= time.monotonic() - begin + 1, "said more than once a second"
    assert server.children() == [child]


@pytest.mark.only("brigade")
def test_files_do_not_use_up_the_descriptors(serve):
    """Remembered files that are kept open leave room for connections."""
    files = {f"f{i}.bin": bytes([i % 256]) * 100_000 for i in range(150)}
    server = serve("EnableSendfile On\nEventLoops 2\nMaxKeepAliveRequests 0\n", files, limits={resource.RLIMIT_NOFILE: 128})
    for name in files:
        os.utime(server.path("htdocs", name), (1_500_000_000, 1_500_000_000))
    for _ in range(4):
        with server.connect() as one, server.connect() as two:
            for name, content in files.items():
                assert one.get("/" + name).body == content
                assert two.get("/" + name).body == content
    clients = [server.connect() for _ in range(30)]
    for c in clients:
        assert c.get("/f0.bin").status == 200
    for c in clients:
        c.close()
    wait_until(lambda: descriptors(server.children()[0]) < 70, "descriptors to be closed")
    assert b"oo many open files" not in server.error_log()


def test_threads_cannot_be_made(serve):
    """Work that needs a thread gets 503 or waits; the rest is served."""
    if os.geteuid() == 0:
        pytest.skip("limits of processes do not bind root")
    server = serve(with_trouble(), FILES)
    child = server.children()[0]
    limit = resource.prlimit(child, resource.RLIMIT_NPROC)
    resource.prlimit(child, resource.RLIMIT_NPROC, (1, limit[1]))
    assert server.get("/trouble?pid").status in (200, 503)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.threads
def test_all_logs_full(serve):
    server = serve("ErrorLog /dev/full\nCustomLog /dev/full \"%r\"\nLogLevel debug\n", FILES)
    with Load(server, clients=3) as load:
        wait_until(lambda: load.done > 300, "requests")
        for _ in range(20):
            assert server.get("/missing").status == 404
        server.signal(signal.SIGUSR1)
        count = load.done
        wait_until(lambda: load.done > count + 300, "requests")
    assert load.failed == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_disk_full_and_free_again(serve):
    server = serve.unstarted("ErrorLog @ROOT@/small/error\nCustomLog @ROOT@/small/access \"%r\"\n", FILES)
    small = server.path("small")
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k,mode=755", "none", small]).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        server.start()
        target = "/a.txt?" + "x" * 1000
        for _ in range(60):
            assert server.get(target).body == b"A\n"
        wait_until(lambda: os.statvfs(small).f_bfree == 0, "the disk to be full")

        def is_written():
            if b"room-again" in server.read("small/access"):
                return True
            if os.statvfs(small).f_bfree == 0:  # again, if lines were still under way
                os.truncate(os.path.join(small, "access"), 0)
            server.get("/a.txt?room-again")
            return False
        wait_until(is_written, "a line after there is room again")
        server.stop()
    finally:
        server.stop()
        subprocess.run(["umount", "-l", small])
