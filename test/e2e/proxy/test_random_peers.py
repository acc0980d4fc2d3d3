# SPDX-License-Identifier: Apache-2.0
"""Clients and backends that send anything, in any pieces, and leave at any time: each client gets its own bytes, whole where its backend said all,
or an error; nobody gets another's, nobody waits in vain, and nothing is left. TEST_SECONDS is how long it runs, TEST_SEED repeats one."""
import json
import os
import random
import threading
import time

import pytest

import effort
from backend import Backend
from brigade import APACHE_MODULES, PATIENCE, wait_until
from h2_client import DATA, END_HEADERS, HEADERS, Connection, frame, request_block
from random_peers import KINDS, Asked, Http1Talk, Http2Talk, RandomBackend, RandomStreams, head, reset

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

SECONDS = effort.seconds(4)
SEED = int(effort.seed(random.randrange(1 << 30)))
FRAMED = tuple(k for k in KINDS if k not in ("extra", "nobody", "both"))
CONFIG = """EventLoops 2
Protocols h2c http/1.1
LogLevel crit
ProxyPass /p/ http://127.0.0.1:@BACKEND@/ retry=0
<Location /metrics>
SetHandler metrics
</Location>
"""


class Crowd:
    """So many clients, each with talks that follow from the seed."""

    def __init__(self, server, talks, kinds=KINDS, clients=4, names=None, tolerant=False):
        self.server, self.talks, self.kinds, self.names, self.tolerant = server, talks, kinds, names, tolerant
        self.until, self.wrong, self.asked_n, self.wholes = time.monotonic() + SECONDS, [], 0, 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._client, args=(i,)) for i in range(clients)]

    def _client(self, number):
        rnd, n = random.Random(f"{SEED}/{number}"), 0
        while time.monotonic() < self.until and not self.wrong:
            asked = []
            for _ in range(rnd.choice([1, 1, 2, 4])):
                identity = rnd.choice(self.names) if self.names else f"id{chr(97 + number)}{number}n{n}"
                asked.append(Asked(rnd, identity, "/p", self.kinds, 300_000))
                n += 1
            if self.names:  # an address says its length
                for a in asked:
                    a.size = 400 * len(a.identity) * (1 + int(a.identity.split("n")[1]))
                    a.target = f"/p/any/{a.identity}/{a.size}/0"
            self._talk(rnd.choice(self.talks)(self.server.port, rnd, asked))

    def _talk(self, talk):
        try:
            talk.run(PATIENCE)
            wrong = talk.wrong(self.tolerant)
        except Exception as e:  # whatever it was: it belongs to these requests
            wrong = [f"{e!r} with {talk.asked}"]
        with self.lock:
            self.asked_n += len(talk.asked)
            self.wholes += sum(a.whole for a in talk.asked)
            self.wrong += wrong

    def run(self):
        for t in self.threads:
            t.start()
        for t in self.threads:
            t.join()
        assert not self.wrong, f"TEST_SEED={SEED}: " + "\n".join(self.wrong[:5])
        assert self.wholes > self.asked_n / 4 > 0, (self.wholes, self.asked_n)


def at_rest(server, backend, on_workers=False):
    """No exchange is left, and each connection that the backend has is one that waits for the next. Those of workers, which nobody
    watches, may have ended."""
    def resting():
        b = json.loads(server.get("/metrics?json").body)["backends"][0]
        seen[:] = [b, backend.open]
        return b["in_flight"] == 0 == b["queue"] and b["connections"] == b["idle"] and (b["idle"] >= backend.open if on_workers else b["idle"] == backend.open)
    seen = []
    wait_until(resting, seen)


def posts_twice(backend):
    return [key for key, n in backend.seen.items() if key[0] == "POST" and n > 1]


@pytest.mark.parametrize("talks", [(Http1Talk,), (Http2Talk,), (Http1Talk, Http2Talk)], ids=["http1", "http2", "both"])
@pytest.mark.parametrize("odd", [False, True], ids=["framed", "odd"])
def test_everybody_gets_his_own(serve, talks, odd):
    """`odd`: bytes that nobody asked for may follow an answer, late, and end the next request of their connection."""
    kinds = KINDS if odd else FRAMED
    with RandomBackend(len(talks)) as backend:
        server = serve(CONFIG.replace("@BACKEND@", str(backend.port)))
        Crowd(server, talks, kinds=kinds, tolerant=odd).run()
        assert not backend.wrong, f"TEST_SEED={SEED}: {backend.wrong[:3]}"
        assert not posts_twice(backend), f"TEST_SEED={SEED}: {posts_twice(backend)}"
        at_rest(server, backend)


@pytest.mark.skipif(not os.path.exists(f"{APACHE_MODULES}/mod_dumpio.so"), reason="no modules of Apache's")
@pytest.mark.parametrize("talks", [(Http1Talk,), (Http1Talk, Http2Talk)], ids=["http1", "both"])
def test_requests_that_workers_run(serve, talks):
    """A module that may block takes part in each."""
    with RandomBackend(len(talks)) as backend:
        server = serve(f"LoadModule dumpio_module {APACHE_MODULES}/mod_dumpio.so\n" + CONFIG.replace("@BACKEND@", str(backend.port)))
        Crowd(server, talks, kinds=FRAMED).run()
        assert not backend.wrong, f"TEST_SEED={SEED}: {backend.wrong[:3]}"
        assert not posts_twice(backend), f"TEST_SEED={SEED}: {posts_twice(backend)}"
        at_rest(server, backend, on_workers=True)


def test_streams_of_a_backend(serve):
    """Connections to it carry requests of several clients, and may end under all of them."""
    with RandomStreams() as backend:
        server = serve(CONFIG.replace("@BACKEND@", str(backend.port)).replace("http://", "h2c://"))
        Crowd(server, (Http1Talk, Http2Talk), kinds=FRAMED, tolerant=True).run()
        assert not backend.wrong, f"TEST_SEED={SEED}: {backend.wrong[:3]}"
        wait_until(lambda: json.loads(server.get("/metrics?json").body)["backends"][0]["in_flight"] == 0, "rest", 90)


def test_from_the_cache(serve):
    """Answers that were broken on their way are not stored; those who follow one get no more of it than there was."""
    names = [f"idu{i}n{i}" for i in range(30)]
    control = [b"Cache-Control: max-age=%d\r\n" % age for age in (0, 0, 1, 100)] + [b"Cache-Control: no-store\r\n"]
    with RandomBackend(SEED, control) as backend:
        server = serve(CONFIG.replace("@BACKEND@", str(backend.port)) + "CacheEnable memory /p/\nCacheMemory 8M\n")
        Crowd(server, (Http1Talk, Http2Talk), names=names, kinds=("any",)).run()
        backend.calm = True
        for name in names:
            asked = [Asked(random.Random(1), name, "/p", ("any",), 1) for _ in range(2)]
            for a in asked:
                a.size = 400 * len(name) * (1 + int(name.split("n")[1]))
                a.target = f"/p/any/{name}/{a.size}/0"
                talk = Http1Talk(server.port, random.Random(1), [a])
                talk.leaves = "stays"
                talk.run(PATIENCE)
                assert a.status in (200, 404) and a.whole and not a.wrong(), f"TEST_SEED={SEED}: {a.wrong()}: {a!r}"
        at_rest(server, backend)


def test_a_client_that_leaves_behind_much(serve):
    """The end of its connection stands behind more than one read takes: the backend is let go all the same."""
    with Backend() as backend:
        server = serve("EventLoops 1\nProtocols h2c http/1.1\nTimeout 600\n"
                       f"ProxyPass /p/ http://127.0.0.1:{backend.port}/ retry=0\n<Location /metrics>\nSetHandler metrics\n</Location>\n")
        for _ in range(20):
            with Connection(server.port) as c:
                c.send(frame(HEADERS, END_HEADERS, 1, request_block("/p/a", "POST")) + frame(DATA, 0, 1, b"y" * 10_000))
        wait_until(lambda: json.loads(server.get("/metrics?json").body)["backends"][0]["in_flight"] == 0 == backend.open, "the backend to be let go")


@pytest.mark.parametrize("framing", ["close", "chunked"])
def test_what_was_begun_for_a_client_that_left_is_not_stored(serve, framing):
    """Where no length is announced, the end that a request comes to because its client left is none of the answer's."""
    body = b"".join(b"%15d\n" % i for i in range(20_000))

    def script(connection, request):
        wants = "Connection: close" if framing == "close" else "Transfer-Encoding: chunked"
        connection.send(head("200 OK", "Cache-Control: max-age=100", wants))
        for i in range(0, len(body), 40_000):
            piece = body[i:i + 40_000]
            connection.send(piece if framing == "close" else b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.send(b"" if framing == "close" else b"0\r\n\r\n")
        return False

    with Backend({"*": script}) as backend:
        server = serve(f"EventLoops 1\nProxyPass /p/ http://127.0.0.1:{backend.port}/ retry=0\nCacheEnable memory /p/\nCacheMemory 16M\n")
        for i in range(40):
            with server.connect() as c:
                c.send(f"GET /p/{i} HTTP/1.1\r\nHost: localhost\r\n\r\n")
                c.read_exactly(100)
                if i % 2:
                    reset(c.socket)
            for _ in range(2):
                assert server.get(f"/p/{i}").body == body
