# SPDX-License-Identifier: Apache-2.0
"""Random requests, changes and purges, beside a model of what RFC 9111 lets a shared cache send. TEST_SECONDS is how long it runs."""
import random
import threading
import time

import pytest

import effort
from backend import Backend, answer
from cache_site import await_hits
from cached_site import config, kind

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

SECONDS = effort.seconds(4)
PATHS = [f"/{i}" for i in range(8)]
KINDS = ["a", "b", "c", None]
CONTROLS = ["max-age=1", "max-age=2", "max-age=60", "public, max-age=60", "s-maxage=60", "max-age=60, must-revalidate", "no-store, max-age=60", "private, max-age=60",
            "no-cache, max-age=60"]
NEVER = ("no-store", "private", "no-cache")
SLACK = 0.35  # seconds in which either is right, where a lifetime ends


class Resource:
    """What an origin has, and when it said what."""

    def __init__(self, path):
        self.path, self.version = path, 0
        self.change()

    def change(self):
        self.version += 1
        self.control, self.varies, self.tagged = random.choice(CONTROLS), random.random() < 0.4, random.random() < 0.7

    def tag(self, name):
        return f'"{self.version}-{name}"'


class Model:
    def __init__(self):
        self.lock = threading.Lock()
        self.resources = {path: Resource(path) for path in PATHS}
        self.said = {}  # (path, version, kind or None): when the origin said it last, for how long
        self.purged = dict.fromkeys(PATHS, 0.0)
        self.asked, self.ahead = 0, False

    def origin(self, connection, request):
        with self.lock:
            self.asked += 1
            r = self.resources.get(request.target)
            if not r or request.method == "POST":
                return answer(b"done")
            name = (request["X-Kind"] or "-") if r.varies else "all"
            fields = [("Cache-Control", r.control), ("X-Version", str(r.version)), *([("ETag", r.tag(name))] if r.tagged else []),
                      *([("Vary", "X-Kind")] if r.varies else [])]
            self.said[request.target, r.version, name] = time.monotonic(), r.control
            if r.tagged and request["If-None-Match"] == r.tag(name):
                return answer(b"", "304 Not Modified", fields)
            user = request["Authorization"] if "public" not in r.control and "s-maxage" not in r.control and "must" not in r.control else None
            return answer(f"{r.path} {r.version} {name} {user or 'all'}".encode(), fields=fields)

    def fault(self, path, headers, got, begun):
        """What is wrong with a response from the store; None: nothing. @param begun  when it was asked for"""
        _, version, name, user = got.body.decode().split(" ")
        when, control = self.said[path, int(version), name]
        life = int(control.split("age=")[1].split(",")[0])
        if any(word in control for word in NEVER):
            return "it must not be stored"
        if name not in ("all", headers.get("X-Kind") or "-"):
            return "it is another variant"
        if user not in ("all", headers.get("Authorization")):
            return "it is another user's"
        if begun - when > life + SLACK:
            return "it is stale"
        if self.purged[path] > when:
            return "it was purged"
        if headers.get("Cache-Control") in ("no-cache", "max-age=0", "no-store"):
            return "the request forbids it"
        return None


def headers_of(model, path):
    headers = {}
    if random.random() < 0.7:
        headers["X-Kind"] = random.choice(KINDS[:3])
    if random.random() < 0.08:
        headers["Authorization"] = random.choice(["Basic YTph", "Basic Yjpi"])
    if random.random() < 0.06:
        headers["Cache-Control"] = random.choice(["no-cache", "max-age=0", "no-store"])
    if random.random() < 0.15:
        r = model.resources[path]
        headers["If-None-Match"] = r.tag(headers.get("X-Kind", "-") if r.varies else "all")
    return headers


def check(model, path, headers, got, begun):
    if got.status == 304:
        tag = got["ETag"]
        assert headers.get("If-None-Match") == tag, (path, headers, got)
        return
    assert got.status == 200, (path, headers, got)
    shown, version = got.body.decode().split(" ")[:2]
    assert shown == path and got["X-Version"] == version, got
    if kind(got) == "HIT":
        with model.lock:
            assert not model.fault(path, headers, got, begun), (path, headers, got, model.fault(path, headers, got, begun))


def step(model, server, clients, known):
    path = random.choice(PATHS)
    chance = random.random()
    client = random.choice(clients)
    if chance < 0.02:
        with model.lock:
            model.resources[path].change()
    elif chance < 0.03:
        method = random.choice(["PURGE", "POST"])
        assert client.request(method, "/p" + path, body=b"x" if method == "POST" else b"").status == 200
        with model.lock:
            model.purged[path] = time.monotonic()
        known.pop(path, None)
    elif chance < 0.033:
        time.sleep(random.random() * 0.5)
    else:
        headers = headers_of(model, path)
        with model.lock:
            asked = model.asked
        begun = time.monotonic()
        got = client.get("/p" + path, headers)
        check(model, path, headers, got, begun)
        plain = not headers.keys() - {"X-Kind"}
        if plain and known.get(path, {}).get(headers.get("X-Kind"), 0) > time.monotonic() + SLACK:
            assert (model.ahead or model.asked == asked) and kind(got) == "HIT", (path, headers, got, "it is stored, and fresh")
        learn(model, path, headers, got, known)


def learn(model, path, headers, got, known):
    """Until when this request is surely answered from the store."""
    control = got["Cache-Control"] or ""
    if got.status != 200 or headers.keys() - {"X-Kind"}:
        known.pop(path, None)  # what it did to the store is not followed
    elif kind(got) == "MISS" and not any(word in control for word in NEVER):
        life = int(control.split("age=")[1].split(",")[0])
        if not got["Vary"]:
            known[path] = {}
        known.setdefault(path, {})[headers.get("X-Kind")] = time.monotonic() + life
    elif kind(got) != "HIT":
        known.pop(path, None)


@pytest.mark.parametrize("more", ["", "FileCacheEntries 0", "CacheRefreshAhead 30%"])
def test_model(serve, more):
    seed = int(effort.seed(random.randrange(1 << 30)))
    random.seed(seed)
    print("TEST_SEED", seed)
    model = Model()
    model.ahead = "Ahead" in more
    with Backend({"*": model.origin}) as backend:
        server = serve(config(backend, f"CachePurge 127.0.0.1\nMaxKeepAliveRequests 0\nKeepAliveTimeout 60\n<Location /metrics>\nSetHandler metrics\n</Location>\n{more}",
                              loops=2))
        clients = [server.connect() for i in range(6)]
        known, steps, until = {}, 0, time.monotonic() + SECONDS
        while time.monotonic() < until:
            step(model, server, clients, known)
            steps += 1
        assert steps > 100
        if not more:
            await_hits(server, 20)
