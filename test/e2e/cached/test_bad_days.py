# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed while they write and lead, and backends that come and go, for as long as TEST_COUNT and TEST_SECONDS say:
500 and a minute's in a long run, some of them else."""
import os
import random
import re
import signal
import socket
import threading
import time

import pytest

import effort
from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields
from http_client import Truncated

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow]

KILLS = effort.count(8, 500)
FLAP_SECONDS = effort.seconds(4)


def body_of(target):
    return target.encode() * 9000


def in_two_parts(go):
    """The head and a half of the body; the rest when it may go on."""
    def script(connection, request):
        if not request.target.startswith("/led"):
            return answer(body_of(request.target), fields=fields(age=1000))
        body = body_of(request.target)
        connection.send(f"HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:len(body) // 2])
        assert go.wait(60)
        connection.send(body[len(body) // 2:])
        return None
    return script


def ask(server, target, outcomes):
    """A connection of its own, so that each process gets some; a cut one is told as None."""
    try:
        client = server.connect()
        outcomes.append(client.get("/p" + target).body)
        client.close()
    except (OSError, Truncated):
        outcomes.append(None)


def test_killed_while_they_write_and_lead(serve):
    """Each time one of two processes is killed while an answer is on its way into memory, which clients of both wait for. Whoever is answered has all of
    it, right; who leads when its leader dies fetches once; what was stored before is there, or fetched anew."""
    go = threading.Event()
    cut = 0
    with Backend({"*": in_two_parts(go)}) as backend:
        server = serve(config(backend, "ServerProcesses 2\nKeepAlive Off\n", loops=1))
        server.expect_trouble = True
        for n in range(KILLS):
            go.clear()
            target, outcomes = f"/led{n}", []
            clients = [threading.Thread(target=ask, args=(server, target, outcomes)) for _ in range(6)]
            for client in clients:
                client.start()
            wait_until(lambda: any(r.target == target for r in backend.requests), "the fetch")
            child = random.choice(server.children())
            os.kill(child, signal.SIGKILL)
            go.set()
            for client in clients:
                client.join(60)
            wait_until(lambda: child not in server.children() and len(server.children()) == 2, "another process serves")
            wrong = [o for o in outcomes if o is not None and o != body_of(target)]
            assert not wrong and len(outcomes) == 6, (n, [len(w) for w in wrong])
            cut += outcomes.count(None)
            for known in (target, f"/led{random.randint(0, n)}", f"/plain{n % 7}"):
                got = []
                wait_until(lambda: got.clear() or ask(server, known, got) or got[0] is not None, "an answer")
                assert got[0] == body_of(known), (n, known)
            asked = len([r for r in backend.requests if r.target == target])
            assert asked <= 8, (n, asked)
    print(f"{KILLS} kills, {cut} of {6 * KILLS} clients cut")


class Flapping:
    """A backend on one port that answers, refuses connections, takes them and says nothing, closes them, or answers 503, by turns."""

    STATES = ("answers", "refuses", "closes", "503", "mute")

    def __init__(self):
        self.state, self.version, self.listener = "answers", 0, None
        self.taken, self.turns = [], dict.fromkeys(self.STATES, 0)
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        self.listen()

    def listen(self):
        if not self.listener:
            self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
            threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                s, _ = listener.accept()
            except OSError:
                return
            self.taken.append(s)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        try:
            got = b""
            while True:
                while b"\r\n\r\n" not in got:
                    more = s.recv(65536)
                    if not more:
                        return
                    got += more
                head, got = got.split(b"\r\n\r\n", 1)
                target = head.split(b" ")[1].decode()
                if self.state == "closes":
                    return
                if self.state == "503":
                    s.sendall(answer(b"away", "503 Service Unavailable"))
                elif self.state != "mute":
                    must = ", must-revalidate" if target.startswith("/must") else ", stale-if-error=600"
                    s.sendall(answer(b"%s %d" % (target.encode(), self.version), fields=[("Cache-Control", "max-age=1" + must)]))
        except OSError:
            pass
        finally:
            s.close()

    def turn(self):
        self.state = random.choice([s for s in self.STATES if s != self.state])
        self.turns[self.state] += 1
        self.version += 1
        if self.state == "refuses":
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        else:
            self.listen()
        while self.state != "answers" and self.taken:
            s = self.taken.pop()
            if self.state != "mute":
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()


def test_a_backend_that_flaps_under_load(serve):
    """Who may have a stale answer always gets one; nobody gets one of what must be validated."""
    backend = Flapping()
    done, wrong, counts = threading.Event(), [], {}
    lock = threading.Lock()

    def load(number):
        chance = random.Random(number)
        client = None
        while not done.is_set():
            target = f"/{chance.choice(['may', 'must'])}{chance.randint(0, 9)}"
            try:
                client = client or server.connect()
                got = client.get("/p" + target)
                if got["Connection"] == "close":
                    client.close()
                    client = None
            except (OSError, Truncated) as e:
                client = None
                wrong.append((target, repr(e)))
                continue
            said = (got["X-Cache"] or "-").split(" ")[0]
            with lock:
                counts[target[:4], got.status, said] = counts.get((target[:4], got.status, said), 0) + 1
            age = int(got["Age"] or 0)
            if target.startswith("/may") and (got.status != 200 or got.body.split(b" ")[0] != target.encode()):
                wrong.append((target, got.status, backend.state))
            if target.startswith("/must") and got.status == 200 and said == "HIT" and age > 1:
                wrong.append((target, "stale", age, backend.state))

    try:
        server = serve(config(backend, "ProxyTimeout 1\nMaxKeepAliveRequests 0\nKeepAliveTimeout 60\nCacheStaleOnError On\nProxyPassReverse /p/ http://127.0.0.1/\n", loops=2)
                       .replace(f":{backend.port}/\nCacheEnable", f":{backend.port}/ retry=0 timeout=1\nCacheEnable"))
        server.expect_trouble = True
        for i in range(10):
            for name in ("may", "must"):
                assert server.get(f"/p/{name}{i}").status == 200
        clients = [threading.Thread(target=load, args=(i,)) for i in range(8)]
        for client in clients:
            client.start()
        until = time.monotonic() + FLAP_SECONDS
        while time.monotonic() < until:
            done.wait(random.uniform(0.05, 0.6))
            backend.turn()
        while backend.state != "answers":
            backend.turn()
        wait_until(lambda: server.get("/p/must0").status == 200, "it answers again")
    finally:
        done.set()
        backend.close()
    for client in clients:
        client.join(60)
    told = ", ".join(f"{name} {status} {said}: {n}" for (name, status, said), n in sorted(counts.items()))
    print(f"{FLAP_SECONDS:g} s, turns {backend.turns}; {told}")
    assert not wrong, wrong[:10]
    assert sum(n for (name, status, _), n in counts.items() if name == "/may") > 50 and any(re.match("/may", k[0]) and k[2] == "HIT" for k in counts)


CHAOS_SECONDS = effort.seconds(4)


class Chaos:
    """Random requests over a few hundred targets whose answers are renewed by 304, vary, change, are purged, long, or not to be stored; a backend that
    tells of each what it said."""

    def __init__(self):
        self.versions, self.lock = {}, threading.Lock()
        self.asked, self.answered, self.hits, self.cut, self.kills, self.wrong = 0, 0, [0], 0, 0, []

    def body(self, target, version, who):
        return f"{target} {version} {who} ".encode() * (1 if target.startswith("/s") else 3000 if target.startswith("/m") else 60000)

    def script(self, connection, request):
        with self.lock:
            version = self.versions.setdefault(request.target, 1)
            if request.method == "POST":
                self.versions[request.target] += 1
                return answer(b"done")
        who = (request["X-Who"] or "-") if request.target.endswith("v") else "-"
        tag = f'"{version}{who}"'
        more = fields(("ETag", tag), *([("Vary", "X-Who")] if request.target.endswith("v") else []), age=len(request.target) % 3)
        if request.target.endswith("n"):
            more = [("Cache-Control", "no-store")]
        if request["If-None-Match"] == tag:
            return answer(b"", "304 Not Modified", more)
        return answer(self.body(request.target, version, who), fields=more)

    def client(self, server, number, done):
        chance, client = random.Random(number), None
        while not done.is_set():
            target = f"/{chance.choice('sssmml')}{chance.randint(0, 60)}{chance.choice(['', 'x', 'v', 'n'])}"
            who = chance.choice("abc")
            method = chance.choice(["GET"] * 60 + ["POST", "PURGE"])
            floor = self.versions.get(target, 1) if method == "GET" else 0
            try:
                client = client or server.connect()
                got = client.request(method, "/p" + target, [("X-Who", who)])
            except (OSError, Truncated):
                client, self.cut = None, self.cut + 1
                continue
            self.note(target, who if target.endswith("v") else "-", method, got, floor)
            if got["Connection"] == "close":
                client.close()
                client = None

    def note(self, target, who, method, got, floor):
        with self.lock:
            self.answered += 1
            newest = self.versions.get(target, 1)
            self.hits[-1] += method == "GET" and (got["X-Cache"] or "").startswith("HIT")
            whole = method != "GET" or got.status != 200 or got.body in [self.body(target, v, who) for v in range(max(1, floor - 1), newest + 1)] or \
                got.body in [self.body(target, v, who) for v in range(1, newest + 1)]
            if got.status != 200 or not whole:
                self.wrong.append((method, target, got.status, got.body[:60], len(got.body)))


def test_random_requests_and_kills(serve):
    """Processes are killed under random traffic, at any moment: no wrong or torn answer, hits as often at the end as at the beginning, nothing held."""
    chaos, done = Chaos(), threading.Event()
    with Backend({"*": chaos.script}) as backend:
        backend.requests = type("Forgetful", (list,), {"append": lambda self, item: None})()
        server = serve(config(backend, "ServerProcesses 2\nCacheMemory 32M\nCachePurge 127.0.0.1\nMaxKeepAliveRequests 40\n", loops=1))
        server.expect_trouble = True
        clients = [threading.Thread(target=chaos.client, args=(server, i, done)) for i in range(6)]
        for client in clients:
            client.start()
        for _ in range(6):
            until = time.monotonic() + CHAOS_SECONDS / 6
            while time.monotonic() < until:
                child = random.choice(server.children())
                done.wait(random.uniform(0.2, 1))
                try:
                    os.kill(child, signal.SIGKILL)
                    chaos.kills += 1
                except ProcessLookupError:
                    pass
                wait_until(lambda: child not in server.children() and len(server.children()) == 2, "another process serves")
            with chaos.lock:
                chaos.hits.append(0)
        done.set()
        for client in clients:
            client.join(60)
        print(f"{chaos.answered} answers, {chaos.kills} kills, {chaos.cut} cut; hits by sixths {chaos.hits[:6]}")
        assert not chaos.wrong, chaos.wrong[:5]
        assert min(chaos.hits[:6]) > 0 and min(chaos.hits[:6]) * 4 >= max(chaos.hits[:6]), chaos.hits
