# SPDX-License-Identifier: Apache-2.0
"""Reloads, upgrades and killed processes while clients ask and a backend comes and goes."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import effort
from backend import Backend, answer
import h2_client
import h2_streams
from brigade import BINARY, wait_until
from http_client import Truncated
from processes import Load, configured, reload
from script_backend import Script

pytestmark = pytest.mark.only("brigade")

ROUNDS = effort.count(2)  # 20 by hand
LONG = effort.everything("minutes")  # build/test all
CONFIG = """EventLoops 2
MaxKeepAliveRequests 0
KeepAliveTimeout 30
<Proxy balancer://b>
@MEMBERS@
</Proxy>
ProxyPass /b/ balancer://b/
<Location /metrics>
SetHandler metrics
</Location>
"""


class Flapping(Backend):
    """A backend that goes away, with all its connections, and comes back by the same port, which nobody else gets meanwhile."""

    def down(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.close_connections()

    def up(self):
        self.listener.listen(512)
        threading.Thread(target=self._accept, daemon=True).start()


class FlappingStreams(h2_streams.Backend):
    """The same, of HTTP/2."""

    def down(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.close_connections()

    def up(self):
        self.listener.listen(512)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def requests(self):
        return self.streams


class FlappingScripts(Script):
    """The same, of FastCGI."""

    def __init__(self):
        super().__init__("fcgi", self._in_one_piece)  # an answer that has begun is not asked for once more
        self.port, self.requests, self.sockets = 0, self.seen, set()

    def _in_one_piece(self, _params, _body, send):
        pieces = []
        self.answer(pieces.append, b"A\n")
        send(b"".join(pieces))

    def _serve(self, connection):
        self.sockets.add(connection)
        super()._serve(connection)
        self.sockets.discard(connection)

    def down(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in list(self.sockets):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended meanwhile
                pass

    def up(self):
        os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(512)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class Flaps:
    """It goes each time that it has served some requests, and comes once others have served some."""

    def __init__(self, backend, load):
        self.backend, self.load, self.end, self.times = backend, load, threading.Event(), 0
        self.thread = threading.Thread(target=self._run)

    def _reached(self, count, more):
        target = count() + more
        wait_until(lambda: count() >= target or self.end.is_set(), "requests")

    def _run(self):
        while not self.end.is_set():
            self._reached(lambda: len(self.backend.requests), 10)
            self.backend.down()
            self._reached(lambda: self.load.done, 20)
            self.backend.up()
            self.times += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()


@pytest.fixture
def backends():
    scripts = {"*": answer(b"A\n")}
    with Backend(scripts) as first, Backend(scripts) as second, Flapping(scripts) as flapping:
        yield first, second, flapping


def site(serve, backends, parameters="retry=0", more="", scheme="http"):
    places = [f"unix:{b.path}|fcgi://{i}" if scheme == "fcgi" else f"{scheme}://127.0.0.1:{b.port}" for i, b in enumerate(backends)]
    members = "\n".join(f"BalancerMember {place} {parameters}" for place in places)
    server = serve.unstarted(more + CONFIG.replace("@MEMBERS@", members), {})
    server.binary = server.path("brigade")
    shutil.copy(BINARY, server.binary)
    server.start()
    wait_until(lambda: configured(server), "the start")
    wait_until(server.children, "processes")
    return server


def upgrade(server):
    before, count = set(server.children()), configured(server)
    shutil.copy(BINARY, server.binary + ".new")
    os.rename(server.binary + ".new", server.binary)
    done = subprocess.run(server.command("-k", "upgrade"), capture_output=True, env=server.env, timeout=60, check=False)
    assert done.returncode == 0, done
    wait_until(lambda: configured(server) > count, "the new program")
    wait_until(lambda: set(server.children()) - before, "new processes")


def figures(server):
    return json.loads(server.get("/metrics?json").body)["backends"]


def at_rest(server):
    """No request is counted, and each connection that a backend has is one that the server knows of."""
    return wait_until(lambda: all(b["in_flight"] == 0 == b["queue"] and b["connections"] == b["idle"] for b in figures(server)), "rest")


@pytest.mark.parametrize("way", [reload, upgrade], ids=["reload", "upgrade"])
def test_no_request_fails(serve, backends, way):
    server = site(serve, backends)
    with Load(server, clients=2, target="/b/x") as kept, Load(server, clients=1, keepalive=False, target="/b/y") as fresh:
        with Flaps(backends[2], kept) as flaps:
            for _ in range(ROUNDS):
                way(server)
            wait_until(lambda: flaps.times >= 3, "a backend that came and went")
    assert not kept.failed and not fresh.failed, (kept.failed[:5], fresh.failed[:5])
    counts = figures(server)
    assert sum(b["retries"] for b in counts) > 0 and all(b["answers"][1] > 10 for b in counts)
    wait_until(lambda: len(server.children()) == 1, "the end of the old processes")
    at_rest(server)
    seen = []  # what a failure tells

    def known():
        seen[:] = [figures(server), [b.open for b in backends], server.children()]
        return sum(b["connections"] for b in seen[0]) == sum(seen[1])
    wait_until(known, seen)


class Wrk:
    """wrk, for as long as wanted."""

    def __init__(self, server, target):
        self.process = subprocess.Popen(["wrk", "-t1", "-c8", "-d3600s", f"http://127.0.0.1:{server.port}{target}"], stdout=subprocess.PIPE, text=True)

    def end(self):
        """@return requests; what failed"""
        self.process.send_signal(signal.SIGINT)
        output = self.process.communicate(timeout=60)[0]
        return int(re.search(r"(\d+) requests in", output)[1]), re.findall(r"Socket errors.*|Non-2xx.*", output)


class Served:
    """Requests that backends got, as Flaps counts those of clients."""

    def __init__(self, backends):
        self.backends = backends

    @property
    def done(self):
        return sum(len(b.requests) for b in self.backends)


def streams_of(n):
    return [FlappingStreams(lambda stream: stream.answer(b"A\n")) for _ in range(n)]


class Streams(h2_client.Client):
    """Knows the last request that the server takes."""
    last = None

    def receive(self):
        got = h2_client.Connection.receive(self)
        if got[0] == h2_client.GOAWAY:
            self.last = int.from_bytes(got[3][:4], "big") & 0x7fffffff
        return got


class Http2Load(Load):
    """A request that the server did not take, and said so, is made on another connection."""

    def _client(self):
        while not self.end.is_set():
            with Streams(self.server.address, self.server.port, 20) as c:
                while not self.end.is_set() and c.last is None:
                    self._one(c)

    def _one(self, c):
        number = c.next_id
        try:
            r = c.get(self.target)
            if (r.status, r.body) != (200, self.body):
                self.failed.append(repr(r))
        except (Truncated, OSError, h2_client.Closed) as e:
            if c.last is None or c.last >= number and c.last != 0x7fffffff:
                self.failed.append(f"{e!r}, GOAWAY {c.last}, stream {number}")
            c.last = c.last or 0
        self.done += 1


HEALTH = """ProxyHCExpr ok {%{REQUEST_STATUS} =~ /200/}
"""
KINDS = {  # scheme, parameters of members, more configuration
    "http": ("http", "retry=0", ""),
    "h2c": ("h2c", "retry=0", ""),
    "fcgi": ("fcgi", "retry=0", ""),
    "cached": ("http", "retry=0", "CacheEnable memory /b/\nCacheMemory 8M\n"),
    "hcheck": ("http", "retry=0 hcmethod=GET hcinterval=1 hcexpr=ok hcuri=/health", HEALTH),
}


def three_of(kind):
    if kind == "h2c":
        return streams_of(3)
    if kind == "fcgi":
        return [FlappingScripts() for _ in range(3)]
    made = answer(b"A\n", fields=[("Cache-Control", "max-age=0, must-revalidate")] if kind == "cached" else ())
    return [Flapping({"*": made}) for _ in range(3)]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way, rounds", [(reload, 100 if LONG else 5), (upgrade, 20 if LONG else 2)], ids=["reload", "upgrade"])
def test_no_request_of_wrk_fails(serve, kind, way, rounds):
    """A hundred reloads, twenty upgrades; one of three backends comes and goes."""
    scheme, parameters, more = KINDS[kind]
    three = three_of(kind)
    with three[0], three[1], three[2]:
        server = site(serve, three, parameters, "Protocols h2c http/1.1\n" + more, scheme)
        load = Wrk(server, "/b/x")
        with Http2Load(server, clients=2, target="/b/y") as streams, Flaps(three[2], Served(three[:2])) as flaps:
            for _ in range(rounds):
                way(server)
            wait_until(lambda: flaps.times >= 3, "a backend that came and went", 60)
        requests, failed = load.end()
        assert not failed and requests > 100 and not streams.failed, (failed, requests, streams.failed[:5], streams.done)
        wait_until(lambda: len(server.children()) == 1, "the end of the old processes")
        at_rest(server)


def test_a_check_ends_with_its_answer(serve):
    """Its backend may keep the connection; whoever waits until that closes calls a good backend late, and has one more connection each time."""
    with Backend() as backend:
        member = f"http://127.0.0.1:{backend.port} hcmethod=GET hcinterval=1 hcexpr=ok hcuri=/health"
        server = serve(HEALTH + f"<Proxy balancer://b>\nBalancerMember {member}\n</Proxy>\nProxyPass /b/ balancer://b/\n")
        wait_until(lambda: len(backend.requests) >= 3, "checks")
        wait_until(lambda: backend.open == 0, "their end")
        assert server.get("/b/x").status == 200


def test_a_killed_process_takes_only_its_own_along(serve, backends):
    server = site(serve, backends[:2], parameters="", more="ServerProcesses 2\n")
    wait_until(lambda: len(server.children()) == 2, "two processes")
    with Load(server, clients=3, target="/b/x") as load:
        for _ in range(3):
            before = server.children()
            os.kill(before[0], signal.SIGKILL)
            wait_until(lambda: len(server.children()) == 2 and server.children() != before, "another process")
            done = load.done
            wait_until(lambda: load.done > done + 30, "further answers")
    assert all("truncated" in f or "Reset" in f or "Broken" in f for f in load.failed), load.failed  # no 502, no 503
    at_rest(server)
    assert all(b["up"] and not sum(b["failures"].values()) for b in figures(server))
    wait_until(lambda: sum(b.open for b in backends) == sum(b["connections"] for b in figures(server)), "the end of what the killed ones had")
