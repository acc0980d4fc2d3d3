# SPDX-License-Identifier: Apache-2.0
"""What tests of caches share."""
import os
import re
import time

import brigade


def one_loop(serve, config, **more):
    """Each loop has its own cache: with one of them the second request meets what the first left."""
    return serve("EventLoops 1\n" + config, **more)


def settle(path):
    """Files as they are after a while: what was just written is not remembered yet."""
    for folder, _, names in os.walk(path):
        for name in names:
            if os.path.exists(os.path.join(folder, name)):  # no link that leads nowhere
                os.utime(os.path.join(folder, name), (1.7e9, 1.7e9))


def warm(server, target, body=None, status=200, **headers):
    """Ask often enough for the answer to be remembered."""
    with server.connect() as c:
        for _ in range(4):
            answer = c.get(target, headers)
            assert answer.status == status
            if body is not None:
                assert answer.body == body


def hits(server):
    """Answers from the response cache, as /metrics (SetHandler metrics) tells; it is brought up to date once a second."""
    return int(re.search(r"^brigade_cache_hits_total (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def await_hits(server, least):
    brigade.wait_until(lambda: hits(server) >= least, f"{least} answers from the response cache")


def known(client, folder):
    """The folder's names are read by a worker, when some were looked for in vain."""
    for i in range(60):
        client.get(f"{folder}warm{i}")


def lines(server, name):
    with open(server.path(name), encoding="utf-8", errors="replace") as f:
        text = re.sub(rf"\b{server.port}\b", "PORT", f.read().replace(server.root, "ROOT"))
    return [re.sub(r"^\[[^]]*\] |\[pid [^]]*\] |127.0.0.1:\d+|port \d+", "", line) for line in text.splitlines() if "warm" not in line and "metrics" not in line and ("[client" in line or name == "access")]


def from_memory(server, client, folder, extension=""):
    """How many of 20 names that were not asked for before are answered from memory. Figures are published once a second: those of
    /a.txt, which was answered from memory behind them, show that these are in."""
    for _ in range(6):
        assert client.get("/a.txt").status == 200
    before = steady(server)
    for i in range(20):
        client.get(f"{folder}new{i}{extension}")
    for _ in range(5):
        client.get("/a.txt")
    await_hits(server, before + 5)
    return steady(server) - before - 5


def steady(server):
    """The figure, once it stands still for longer than it takes to publish it."""
    found = [hits(server), time.monotonic()]

    def still():
        now = hits(server)
        if now != found[0]:
            found[:] = [now, time.monotonic()]
        return time.monotonic() - found[1] > 1.5
    brigade.wait_until(still, "figures at rest")
    return found[0]
