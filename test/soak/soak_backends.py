#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that are handed on, for a long time, and whether anything is left: memory, descriptors, threads, processes, connections to backends.

    BRIGADE=out/release/brigade test/soak/soak_backends.py --seconds 600 --reload 5

HTTP/1, HTTP/2 and TLS clients; a balancer, a cache, pages with proxied parts, FastCGI, a WebSocket, uploads, clients that leave, access files that
are rewritten while requests run. In the first half the server reloads every few seconds, in the second one process serves, and may not grow.
At the end, and in the middle, everything is at rest; the exit status is 1 if an answer was wrong or something was left.
"""
import argparse
import json
import os
import random
import signal
import socket
import ssl
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import brigade  # noqa: E402
import h2_client  # noqa: E402
import held  # noqa: E402
from backend import Backend, answer  # noqa: E402
from http_client import Client, Truncated, request_bytes  # noqa: E402
from processes import configured  # noqa: E402
from script_backend import Script  # noqa: E402
from soak_measure import Samples, descriptors_of, grown, processes_of  # noqa: E402
from tls_site import certificate  # noqa: E402

CONFIG = """Timeout 60
KeepAliveTimeout 10
Protocols h2 h2c http/1.1
BuiltinModule ssl_module On
CustomLog logs/access "%h %r %>s %b %{cache-status}e"
CacheEnable memory /c/
CacheMemory 8M
<Proxy balancer://b>
    BalancerMember http://127.0.0.1:@ONE@ retry=0
    BalancerMember http://127.0.0.1:@TWO@ retry=0
</Proxy>
ProxyPass /b/ balancer://b/
ProxyPass /c/ http://127.0.0.1:@ONE@/
ProxyPass /w/ http://127.0.0.1:@TWO@/ upgrade=websocket
ProxyPass /f/ "unix:@FCGI@|fcgi://f/" enablereuse=on
<Directory @ROOT@/htdocs>
    Options +Includes
    AddOutputFilter INCLUDES .shtml
</Directory>
<Location /metrics>
    SetHandler metrics
</Location>
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
    SSLEngine on
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""
FILES = {"a.txt": "A\n", "page.shtml": '<!--#include virtual="/b/part" -->|<!--#include virtual="/a.txt" -->', "ht/a.txt": "H\n",
         "ht/.htaccess": "Header set X-H 0\n"}
LARGE = b"0123456789abcdef" * 30_000
UPLOAD = b"u" * 60_000


def echo(connection, _request):
    connection.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    while True:
        data, connection.buffer = connection.buffer, b""
        if data:
            connection.send(data)
        connection.more()


def same(_connection, request):
    """The address is the answer, so that nobody takes another's for his. What is stored of it is renewed by a 304."""
    tag = f'"{request.target}"'
    if request.method == "GET" and request["If-None-Match"] == tag:
        return answer(b"", "304 Not Modified", [("ETag", tag), ("Cache-Control", f"max-age={len(request.target) % 3}")])
    return answer(request.target.encode() if request.method != "POST" else b"%d %s" % (len(request.body), request.target.encode()),
                  fields=[("Cache-Control", f"max-age={len(request.target) % 3}"), ("ETag", tag)])


class Forgetful(list):
    def append(self, item):
        pass


class Site:
    def __init__(self):
        scripts = {"/large": answer(LARGE), "/part": answer(b"part"), "/echo": echo, "*": same}
        self.backends = [Backend(scripts) for _ in range(2)]
        for b in self.backends:
            b.requests = Forgetful()
        self.script = Script("fcgi", lambda params, body, send: self.script.answer(send, params["REQUEST_URI"].encode()))
        self.script.seen = Forgetful()
        self.tls = brigade.free_port()
        text = CONFIG
        for mark, value in {"@ONE@": self.backends[0].port, "@TWO@": self.backends[1].port, "@FCGI@": self.script.path, "@TLS@": self.tls}.items():
            text = text.replace(mark, str(value))
        self.server = brigade.Server(text, FILES)
        certificate(self.server)

    def figures(self):
        return json.loads(self.server.get("/metrics?json").body)["backends"]

    def from_store(self):
        """Requests that the cache answered so far: at once, stale, or after a 304."""
        cache = json.loads(self.server.get("/metrics?json").body)["shared_cache"]
        return cache["hits"] + cache["stale"] + cache["revalidated"]

    def reload(self):
        before, count = set(self.server.children()), configured(self.server)
        self.server.signal(signal.SIGUSR1)
        brigade.wait_until(lambda: configured(self.server) > count and set(self.server.children()) - before, "a reload", 60)

    def at_rest(self):
        """One process, no request, and no connection to a backend but those that wait for the next one."""
        seen = []

        def resting():
            found = self.figures()
            seen[:] = [found, [b.open for b in self.backends], len(processes_of(self.server.process.pid))]
            return all(b["in_flight"] == 0 == b["queue"] and b["connections"] == b["idle"] for b in found) and seen[2] == 1 and \
                sum(b["connections"] for b in found if "fcgi" not in b["backend"]) == sum(seen[1])
        try:
            brigade.wait_until(resting, "rest", 90)
        except AssertionError:
            return f"not at rest: {seen}"
        left = held.now(self.server)
        return f"held at rest: {left}" if left else None


class Traffic:
    def __init__(self, site, options):
        self.site, self.server, self.options = site, site.server, options
        self.end, self.wrong, self.done, self.lock, self.rewritten = threading.Event(), [], {}, threading.Lock(), 0
        self.threads = [threading.Thread(target=self._client, args=(i,)) for i in range(options.clients)]
        self.threads.append(threading.Thread(target=self._rewrite))

    def _rewrite(self):
        """The access file is another all the time, and whole at any time."""
        while not self.end.wait(0.05):
            self.rewritten += 1
            made = self.server.write("new", f"Header set X-H {self.rewritten}\n")
            os.replace(made, self.server.path("htdocs/ht/.htaccess"))

    def _client(self, number):
        rnd = random.Random(f"{self.options.seed}/{number}")
        while not self.end.is_set():
            kind = rnd.choice(list(ACTIONS))
            try:
                ACTIONS[kind](self, rnd)
            except (AssertionError, OSError, Truncated, h2_client.Closed, EOFError, ValueError) as e:
                with self.lock:
                    self.wrong.append(f"{kind}: {e!r}"[:400])
            with self.lock:
                self.done[kind] = self.done.get(kind, 0) + 1

    def expect(self, got, body):
        assert (got.status, got.body) == (200, body), f"{got!r} for {body[:100]!r}"

    def _targets(self, rnd):
        name = f"/{rnd.randrange(300)}" + "x" * rnd.randrange(3)
        return {"/b" + name: name.encode(), "/c" + name: name.encode(), "/f" + name: ("/f" + name).encode(), "/b/large": LARGE, "/a.txt": b"A\n",
                "/page.shtml": b"part|A\n"}

    def _asked_on(self, c, rnd, http2=False):
        """Some requests; a process that ends may close a connection between two of them."""
        for i in range(rnd.randrange(1, 8)):
            target, body = rnd.choice(list(self._targets(rnd).items()))
            try:
                if rnd.random() < 0.2 and target.startswith("/b/") and target != "/b/large":
                    got, body = c.request("POST", target, (), UPLOAD), b"%d %s" % (len(UPLOAD), body)
                else:
                    got = c.get(target)
            except (Truncated, ConnectionError, ssl.SSLError) as e:
                begun = isinstance(e, Truncated) and e.args[0] and not http2
                if i and not begun and not (http2 and getattr(c, "last", None) is None and not self.options.reload):
                    return
                raise
            self.expect(got, body)
            if (got["Connection"] or "") == "close":
                return

    def http1(self, rnd):
        with self.server.connect(60) as c:
            self._asked_on(c, rnd)

    def http2(self, rnd):
        with h2_client.Client("127.0.0.1", self.server.port, 60) as c:
            self._asked_on(c, rnd, http2=True)

    def tls(self, rnd):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        protocol = rnd.choice(["h2", "http/1.1"])
        context.set_alpn_protocols([protocol])
        if protocol == "h2":
            with h2_client.Client("127.0.0.1", self.site.tls, 60, context.wrap_socket) as c:
                self._asked_on(c, rnd, http2=True)
            return
        c = Client.__new__(Client)
        c.buffer, c.socket = b"", context.wrap_socket(socket.create_connection(("127.0.0.1", self.site.tls), 60))
        with c:
            self._asked_on(c, rnd)

    def leaves(self, rnd):
        """In the middle of a request or of its answer."""
        data = request_bytes(*rnd.choice([("GET", "/b/large", ()), ("POST", "/b/1", (), UPLOAD), ("GET", "/page.shtml", ()), ("GET", "/c/7", ())]))
        with socket.create_connection(("127.0.0.1", self.server.port), 60) as s:
            s.sendall(data[:rnd.randrange(1, len(data) + 1)])
            if rnd.random() < 0.5:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def leaves_stream(self, rnd):
        with h2_client.Connection(self.server.port) as c:
            c.request(1, path="/b/large")
            c.request(3, end=False, path="/b/2", method="POST")
            c.send(h2_client.frame(h2_client.DATA, 0, 3, UPLOAD[:rnd.randrange(16000)]))
            if rnd.random() < 0.5:
                c.send(h2_client.frame(h2_client.RST_STREAM, 0, rnd.choice([1, 3]), b"\0\0\0\x08"))

    def socket(self, rnd):
        with self.server.connect(60) as c:
            c.send(request_bytes("GET", "/w/echo", [("Connection", "Upgrade"), ("Upgrade", "websocket")]))
            assert c.read_response().status == 101
            for _ in range(rnd.randrange(5)):
                data = os.urandom(rnd.randrange(1, 5000))
                c.send(data)
                assert c.read_exactly(len(data)) == data

    def access(self, _rnd):
        before = self.rewritten
        got = self.server.get("/ht/a.txt")
        assert got.status == 200 and int(got["X-H"]) >= before - 1, f"{got!r}, {before}"

    def run(self, seconds, reload_seconds, samples):
        for t in self.threads:
            t.start()
        until, reload_at = time.monotonic() + seconds, time.monotonic() + reload_seconds
        self.hits = [self.site.from_store()]
        slices = [until - seconds * i / SLICES for i in range(SLICES - 1, -1, -1)]
        while time.monotonic() < until and len(self.wrong) < 20:
            samples.take(self.server.process.pid, open=0)
            if reload_seconds and time.monotonic() >= reload_at:
                self.site.reload()
                reload_at = time.monotonic() + reload_seconds
            if len(self.hits) < SLICES and time.monotonic() >= slices[len(self.hits) - 1]:
                self.hits.append(self.site.from_store())
            time.sleep(0.5)
        self.hits.append(self.site.from_store())
        self.end.set()
        for t in self.threads:
            t.join()


SLICES = 6


def hits_stopped(hits):
    """The cache answers to the end about as often as at the beginning."""
    each = [b - a for a, b in zip(hits, hits[1:])]
    return f"answers from the store, by sixths of the time: {each}" if min(each) * 5 < max(each) else None


ACTIONS = {"http1": Traffic.http1, "http2": Traffic.http2, "tls": Traffic.tls, "leaves": Traffic.leaves, "leaves-stream": Traffic.leaves_stream,
           "socket": Traffic.socket, "access": Traffic.access}


def supervised(site):
    """Descriptors of the supervisor, and of its process."""
    pid = site.server.process.pid
    return descriptors_of(pid), descriptors_of(processes_of(pid)[-1])


def half(site, options, reload_seconds, complaints):
    """@return what was done"""
    traffic, samples = Traffic(site, options), Samples()
    traffic.run(options.seconds / 2, reload_seconds, samples)
    complaints += [f"{len(traffic.wrong)} answers were wrong: {traffic.wrong[:5]}"] if traffic.wrong else []
    complaints += [w for w in [hits_stopped(traffic.hits), site.at_rest()] if w]
    if not reload_seconds:
        complaints += grown(samples, options.seconds / 6)
    return {**traffic.done, "from the store": traffic.hits[-1] - traffic.hits[0]}, samples


def run(options):
    """(figures as text, complaints)"""
    site, complaints = Site(), []
    with site.server:
        warm = Traffic(site, options)
        warm.run(min(5, options.seconds / 10), 0, Samples())
        site.reload()
        site.server.get("/b/1")
        complaints += [w for w in [site.at_rest()] if w]
        before = supervised(site)
        reloaded, _ = half(site, options, options.reload, complaints)
        between = supervised(site)
        stayed, samples = half(site, options, 0, complaints)
        time.sleep(11)  # KeepAliveTimeout: clients that said nothing
        after = supervised(site)
        if after[0] > before[0] + 2 or between[0] > before[0] + 2:
            complaints.append(f"descriptors of the supervisor: {before[0]}, {between[0]}, {after[0]}")
        if after[1] > before[1] + options.clients * 2 + 16:
            complaints.append(f"descriptors of a process at rest: {before[1]}, later {after[1]}")
        figures = f"with reloads {reloaded}, without {stayed}; descriptors of supervisor and process {before}, {between}, {after}; " \
                  f"PSS {samples.rows[0]['pss']:.1f} to {samples.rows[-1]['pss']:.1f} MiB"
    return figures, complaints, samples


def options_of(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--reload", type=float, default=5, help="seconds between reloads in the first half, 0: none")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main():
    figures, complaints, samples = run(options_of())
    print(samples.plot())
    print(figures)
    for complaint in complaints:
        print("left or failed:", complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
