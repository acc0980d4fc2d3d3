#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others notice while some clients ask for many pages that take long.

    BRIGADE=out/release/brigade test/bench/h2_burst.py [--seconds 4] [--includes 400] [SERVER ...]

Servers: brigade, apache, nginx, as far as they are installed. The page has as many includes as said, and depends on its client, so that
nobody keeps it. Another client asks for a small file every few milliseconds, and a third one for the page itself, over HTTP/1. Shown is how
long these took, median and 99 of 100, and the longest for the file:

    alone     nobody else asks for anything
    http1     10 connections of HTTP/1, each asks for the page again and again
    streams   10 connections of HTTP/2, each asks for the page with 100 streams, again when all are answered
    mixed     streams, one of ten for the page, the others for a small file
    left      10 connections of HTTP/2 ask with 100 streams each, and are closed at once; again each second
    reset     10 connections of HTTP/2, each resets the 100 streams that it asked with, and begins anew each second
"""
import argparse
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), HERE]

import brigade  # noqa: E402
from ports import free_port  # noqa: E402
from h2_client import END_HEADERS, END_STREAM, HEADERS, RST_STREAM, Closed, Connection, frame, request_block  # noqa: E402

CONNECTIONS, STREAMS = 10, 100
CONFIG = """
Protocols h2c http/1.1
MaxKeepAliveRequests 0
KeepAliveTimeout 60
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory @DOCS@>
    Options Includes FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
"""
NGINX = """worker_processes auto; daemon off; error_log {root}/error.log; pid {root}/nginx.pid; events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 100000000; types {{ text/html html shtml; }} ssi on;
client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3; uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
server {{ listen 127.0.0.1:{port}; listen 127.0.0.1:{streams} http2; root {docs}; }} }}
"""


def make_site(includes):
    docs = tempfile.mkdtemp(prefix="h2-burst-")
    os.chmod(docs, 0o755)
    files = {"probe.txt": "p" * 100, "part.html": "<p>A part.</p>\n",
             "page.shtml": '<!--#echo var="REMOTE_PORT" -->\n' + '<!--#include virtual="/part.html" -->\n' * includes}
    for name, text in files.items():
        with open(os.path.join(docs, name), "w", encoding="ascii") as f:
            f.write(text)
    return docs


class Nginx:
    """nginx as brigade.Server has servers, with a port of its own for HTTP/2."""

    def __init__(self, docs):
        self.root = tempfile.mkdtemp(prefix="h2-burst-nginx-")
        os.chmod(self.root, 0o755)
        self.port, self.streams = free_port(), free_port()
        with open(f"{self.root}/nginx.conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(root=self.root, port=self.port, streams=self.streams, docs=docs))

    def __enter__(self):
        self.process = subprocess.Popen(["nginx", "-p", self.root, "-c", f"{self.root}/nginx.conf"], stderr=subprocess.DEVNULL)
        brigade.wait_until(self.answers, "nginx")
        return self

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.root, ignore_errors=True)


def server_of(name, docs):
    if name == "nginx":
        return Nginx(docs)
    server = brigade.Server(CONFIG.replace("@DOCS@", docs) + f"DocumentRoot {docs}\n", modules=["http2", "include"],
                            binary=shutil.which("apache2", path="/usr/sbin:" + os.environ["PATH"]) if name == "apache" else None)
    server.expect_trouble = True
    return server


def ask(c, first, path_of):
    c.send(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, first + 2 * i, request_block(path_of(i))) for i in range(STREAMS)))


def read_all(c, left):
    while left:
        kind, flags, stream, payload = c.receive()
        if kind == RST_STREAM or (stream and flags & END_STREAM and kind in (0, HEADERS)):
            left -= 1
        elif kind == 0 and payload and left:
            c.send(frame(8, payload=len(payload).to_bytes(4, "big")))


def wide(c):
    c.send(frame(8, payload=(1 << 30).to_bytes(4, "big")))


def attack_streams(port, over, path_of):
    with Connection(port, settings=b"\0\4\x7f\xff\xff\xff") as c:
        wide(c)
        first = 1
        while not over.is_set():
            ask(c, first, path_of)
            read_all(c, STREAMS)
            first += 2 * STREAMS


def attack_http1(port, over):
    with socket.create_connection(("127.0.0.1", port)) as s:
        f = s.makefile("rb")
        while not over.is_set():
            s.sendall(b"GET /page.shtml HTTP/1.1\r\nHost: localhost\r\n\r\n")
            read_http1(f)


def attack_left(port, over):
    while not over.is_set():
        c = Connection(port)
        ask(c, 1, page)
        c.sock.close()
        over.wait(1)


def attack_reset(port, over):
    while not over.is_set():
        with Connection(port) as c:
            ask(c, 1, page)
            c.send(b"".join(frame(RST_STREAM, 0, 1 + 2 * i, b"\0\0\0\x08") for i in range(STREAMS)))
            over.wait(1)


def page(_):
    return "/page.shtml"


def mixed(i):
    return "/page.shtml" if i % 10 == 0 else "/probe.txt"


ATTACKS = {"alone": None, "http1": attack_http1, "streams": lambda p, o: attack_streams(p, o, page),
           "mixed": lambda p, o: attack_streams(p, o, mixed), "left": attack_left, "reset": attack_reset}


def attack(name, port, over):
    def one():
        try:
            ATTACKS[name](port, over)
        except (OSError, Closed):
            pass
    threads = [threading.Thread(target=one, daemon=True) for _ in range(CONNECTIONS)]
    for t in threads:
        t.start()
    over.wait()


def read_http1(f):
    length, chunked = 0, False
    status = f.readline()
    while (line := f.readline().strip().lower()):
        if line.startswith(b"content-length:"):
            length = int(line[15:])
        chunked |= line.startswith(b"transfer-encoding:")
    if not chunked:
        f.read(length)
    while chunked:
        size = int(f.readline(), 16)
        f.read(size + 2)
        chunked = size > 0
    return status


def probe(port, path, until, took, pause):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        f = s.makefile("rb")
        while time.monotonic() < until:
            at = time.monotonic()
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            status = read_http1(f)
            if b" 200 " not in status:
                sys.stderr.write(f"{path}: {status.decode()}")
            took.append(time.monotonic() - at)
            time.sleep(pause)


def measure(server, name, docs, seconds):
    with server_of(server, docs) as s:
        for path in ("/probe.txt", "/page.shtml"):
            probe(s.port, path, time.monotonic() + 0.1, [], 0)
        over = multiprocessing.Event()
        attacker = multiprocessing.Process(target=attack, args=(name, s.port if name == "http1" else getattr(s, "streams", s.port), over), daemon=True)
        if ATTACKS[name]:
            attacker.start()
            time.sleep(0.2)
        until, files, pages = time.monotonic() + seconds, [], []
        threads = [threading.Thread(target=probe, args=(s.port, "/probe.txt", until, files, 0.004)),
                   threading.Thread(target=probe, args=(s.port, "/page.shtml", until, pages, 0.05))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        over.set()
        if ATTACKS[name]:
            attacker.join(5)
            attacker.kill()
    show = [f"{statistics.median(took) * 1e3:.1f}, {sorted(took)[len(took) * 99 // 100] * 1e3:.1f} ms" for took in (files, pages)]
    print(f"| {name} | {server} | {show[0]} | {max(files) * 1e3:.1f} ms | {show[1]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--includes", type=int, default=1200)
    parser.add_argument("--only", nargs="*", default=list(ATTACKS))
    parser.add_argument("servers", nargs="*", default=["brigade", "apache", "nginx"])
    a = parser.parse_args()
    docs = make_site(a.includes)
    try:
        print("| Load | Server | File: median, 99 of 100 | longest | Page: median, 99 of 100 |\n|---|---|---|---|---|")
        for name in a.only:
            for server in a.servers:
                if server == "brigade" or shutil.which({"apache": "apache2"}.get(server, server), path="/usr/sbin:" + os.environ["PATH"]):
                    measure(server, name, docs, a.seconds)
    finally:
        shutil.rmtree(docs, ignore_errors=True)


if __name__ == "__main__":
    main()
