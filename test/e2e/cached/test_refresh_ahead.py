# SPDX-License-Identifier: Apache-2.0
"""CacheRefreshAhead: what is asked for often is fetched before it is stale, and nobody waits for that."""
import threading
import time

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, kind

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def validated(tag='"1"', age=2):
    def script(connection, request):
        lines = fields(("ETag", tag), age=age)
        return answer(b"", "304 Not Modified", lines) if request["If-None-Match"] == tag else answer(b"stored\n", fields=lines)
    return script


@pytest.mark.parametrize("span", ["1", "50%", "1000"])
@pytest.mark.parametrize("entries", [1000, 0])
def test_never_stale(serve, backend, span, entries):
    backend.scripts["/a"] = validated()
    server = serve(config(backend, f"CacheRefreshAhead {span}\nFileCacheEntries {entries}\nMaxKeepAliveRequests 0"))
    with server.connect() as client:
        begin = paused = last = time.monotonic()
        ages = set()
        while len(backend.requests) < 4:
            got, now = client.get("/p/a"), time.monotonic()
            if now - last > 0.2:  # the machine had no time for one of us: what is asked for seldom may become stale
                paused = now
            last = now
            assert got.status == 200 and got.body == b"stored\n"
            if backend.requests[1:] and now - paused > 2.5:
                assert kind(got) == "HIT"
            ages.add(got["Age"])
            time.sleep(0.02)
            assert now - begin < 60
    assert len(backend.requests) <= now - begin + 2
    assert ages <= {None, "0", "1"}
    assert [r["If-None-Match"] for r in backend.requests[1:]] == ['"1"'] * (len(backend.requests) - 1)


def test_a_backend_has_a_limit(serve, backend):
    goes_on, times = threading.Event(), dict.fromkeys("abcd", 0)

    def script(connection, request):
        times[request.target[1]] += 1
        if times[request.target[1]] > 1:
            goes_on.wait(20)
        return answer(request.target.encode(), fields=fields(age=6))

    backend.scripts.update({f"/{name}": script for name in times})
    server = serve(config(backend, "CacheRefreshAhead 50% 2"))
    for name in times:
        server.get(f"/p/{name}")
    time.sleep(3.1)
    try:
        for rounds in range(4):
            for name in times:
                got = server.get(f"/p/{name}")
                assert kind(got) == "HIT" and got.body == f"/{name}".encode()
        wait_until(lambda: sum(times.values()) == 6, "two of them")
    finally:
        goes_on.set()
    wait_until(lambda: [server.get(f"/p/{name}") for name in times] and min(times.values()) == 2, "the others")
    assert max(times.values()) == 2


@pytest.mark.parametrize("line,most", [("CacheRefreshAhead 1 2", 2), ("", 8)])
def test_stale_ones_have_the_same_limit(serve, backend, line, most):
    """stale-while-revalidate: who comes beyond it gets the stale one, and the next client asks again."""
    names, again, goes_on = [f"/{i}" for i in range(12)], [], threading.Event()
    first = dict.fromkeys(names, True)
    stale = [("Cache-Control", "max-age=10, stale-while-revalidate=10000"), ("Age", "100")]

    def script(connection, request):
        if not first[request.target]:
            again.append(request.target)
            goes_on.wait(20)
            return answer(b"new", fields=fields())
        first[request.target] = False
        return answer(b"old", fields=stale)

    backend.scripts.update({name: script for name in names})
    server = serve(config(backend, line))
    for name in names:
        server.get("/p" + name)
    for _ in range(2):
        assert [server.get("/p" + name).body for name in names] == [b"old"] * 12
    wait_until(lambda: len(again) == most, "the requests that may be sent")
    assert server.get("/p" + names[-1]).body == b"old" and len(again) == most
    goes_on.set()
    wait_until(lambda: [server.get("/p" + name).body for name in names] == [b"new"] * 12, "the new ones")


def test_a_backend_that_fails_is_left_alone(serve, backend):
    backend.scripts["/a"] = answer(b"stored\n", fields=fields(age=4))
    server = serve(config(backend, "CacheRefreshAhead 50%"))
    server.get("/p/a")
    backend.scripts["/a"] = answer(b"", "503 Service Unavailable")
    time.sleep(2.1)
    for i in range(10):
        got = server.get("/p/a")
        assert (got.status, got.body, kind(got)) == (200, b"stored\n", "HIT")
    assert len(backend.requests) <= 3


@pytest.mark.parametrize("arguments,message", [
    ("0", "seconds from 1 to 86400"), ("51%", "from 1% to 50%"), ("1x", "seconds from 1 to 86400"), ("5%%", "from 1% to 50%"),
    ("5 0", "a number from 1 to 10000"), ("5 1x", "a number from 1 to 10000"), ("Off 5", "has no second argument")])
def test_wrong_arguments(serve, arguments, message):
    server = serve.unstarted(f"CacheRefreshAhead {arguments}\n")
    done = server.run("-t")
    assert done.returncode and message.encode() in done.stderr
