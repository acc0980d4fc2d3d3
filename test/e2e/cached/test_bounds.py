# SPDX-License-Identifier: Apache-2.0
"""Bounds of what is stored, at both sides of each: answers, tags of an answer, variants of a URL, bytes on their way."""
import itertools
import re
import threading
import time

import pytest

import processes
from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, kind, kinds

pytestmark = pytest.mark.only("brigade")

METRICS = """<Location /metrics>
SetHandler metrics
</Location>
"""


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def figure(server, name):
    return int(re.search(rf"^brigade_shared_cache_{name} (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def tagged(n, name="Cache-Tag", glue=", "):
    return answer(b"x", fields=fields((name, glue.join(f"t{i}" for i in range(n)))))


@pytest.mark.parametrize("more,most", [("", 32), ("CacheMaxTags 1", 1), ("CacheMaxTags 100", 100)])
def test_tags(serve, backend, more, most):
    backend.scripts["/most"] = tagged(most)
    backend.scripts["/more"] = tagged(most + 1)
    backend.scripts["/keys"] = tagged(most, "Surrogate-Key", " ")
    backend.scripts["/same"] = answer(b"x", fields=fields(("Cache-Tag", ",".join(["t0"] * 200))))
    server = serve(config(backend, more + "\nCachePurge 127.0.0.1"))
    assert kinds(server, *[(f"/p/{name}", {}) for name in ("most", "most", "more", "more", "keys", "keys", "same", "same")]) == \
        ["MISS", "HIT", "MISS", "MISS", "MISS", "HIT", "MISS", "HIT"]
    server.request("PURGE", "/p/x", headers={"Cache-Tag": f"t{most - 1}"})
    assert kinds(server, ("/p/most", {}), ("/p/keys", {})) == ["MISS", "MISS"]


@pytest.mark.parametrize("more,most", [("", 64), ("CacheMaxVariants 1", 1), ("CacheMaxVariants 150", 150)])
def test_variants(serve, backend, more, most):
    backend.scripts["*"] = lambda c, r: answer(r["X-A"].encode(), fields=fields(("Vary", "X-A")))
    server = serve(config(backend, more))
    for i in range(most + 1):
        server.get("/p/a", headers={"X-A": str(i)})
    assert [kind(server.get("/p/a", headers={"X-A": str(i)})) for i in (0, most - 1, most)] == ["HIT", "HIT", "MISS"]
    assert kind(server.get("/p/b", headers={"X-A": "0"})) == "MISS" and kind(server.get("/p/b", headers={"X-A": "0"})) == "HIT"


@pytest.mark.parametrize("most", [1, 100])
def test_objects(serve, backend, most):
    """Never more, and those that are asked for all the time stay."""
    backend.scripts["*"] = answer(b"x", fields=fields())
    server = serve(config(backend, f"CacheMaxObjects {most}\n" + METRICS))
    assert figure(server, "max_objects") == most
    for i in range(most):
        server.get(f"/p/{i}")
    assert [kind(server.get(f"/p/{i}")) for i in range(most)] == ["HIT"] * most
    assert figure(server, "objects") == most and figure(server, "evicted_total") == 0
    for i in range(3 * most):
        server.get(f"/p/more{i}")
        assert most == 1 or kind(server.get("/p/0")) == "HIT"
    assert figure(server, "objects") == most and figure(server, "evicted_total") == 3 * most
    assert kind(server.get(f"/p/more{3 * most - 1}")) == "HIT"


def test_fewer_objects_by_a_reload(serve, backend):
    backend.scripts["*"] = answer(b"x", fields=fields())
    server = serve(config(backend, METRICS))
    for i in range(50):
        server.get(f"/p/{i}")
    assert figure(server, "objects") == 50 and figure(server, "max_objects") > 100000
    server.write_config(config(backend, "CacheMaxObjects 10\n" + METRICS))
    processes.reload(server)
    wait_until(lambda: figure(server, "max_objects") == 10, "the new bound")
    new = itertools.count()
    wait_until(lambda: server.get(f"/p/new{next(new)}").status == 200 and figure(server, "objects") == 10, "the others to go")


@pytest.mark.parametrize("more,kept", [("CacheMaxFetching 64K", False), ("CacheMaxFetching 8M", True)])
def test_bytes_on_their_way(serve, backend, more, kept):
    """While one is being fetched, of another one no more is stored."""
    go = threading.Event()

    def slow(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 1000000\r\n\r\n" + b"a" * 500000)
        go.wait(60)
        connection.send(b"a" * 500000)

    backend.scripts["/slow"] = slow
    backend.scripts["/other"] = answer(b"x" * 1000, fields=fields())
    server = serve(config(backend, more))
    got = []
    client = threading.Thread(target=lambda: got.append(server.get("/p/slow").body))
    client.start()
    try:
        wait_until(lambda: any(r.target == "/slow" for r in backend.requests), "the fetch")
        if not kept:
            wait_until(lambda: kind(server.get("/p/other")) == "MISS" and kind(server.get("/p/other")) == "MISS", "the bound")
        else:
            wait_until(lambda: kind(server.get("/p/other")) == "HIT", "the other one from memory")
    finally:
        go.set()
        client.join()
    assert got == [b"a" * 1000000]
    wait_until(lambda: kind(server.get("/p/other")) == "HIT", "it to be stored")


@pytest.mark.parametrize("line", ["CacheMaxTags 0", "CacheMaxTags 101", "CacheMaxTags x", "CacheMaxTags 5x", "CacheMaxVariants 0", "CacheMaxVariants 1000001",
                                  "CacheMaxVariants -1", "CacheMaxObjects 0", "CacheMaxObjects 1000000001", "CacheMaxObjects 1K",
                                  "<VirtualHost *>\nCacheMaxObjects 5\n</VirtualHost>", "CacheMaxFetching 1K", "CacheMaxFetching 97G", "CacheMaxFetching x",
                                  "<VirtualHost *>\nCacheMaxTags 5\n</VirtualHost>"])
def test_refused(serve, backend, line):
    with pytest.raises(AssertionError, match="CacheMax"):
        serve(config(backend, line))


def test_a_reload_changes_them(serve, backend):
    backend.scripts["*"] = tagged(10)
    server = serve(config(backend, "CacheMaxTags 9"))
    assert kinds(server, ("/p/a", {}), ("/p/a", {})) == ["MISS", "MISS"]
    server.write_config(config(backend, "CacheMaxTags 10"))
    processes.reload(server)
    wait_until(lambda: kinds(server, ("/p/b", {}), ("/p/b", {}))[1] == "HIT", "the new bound")


@pytest.mark.slow
def test_what_cost_a_backend_much_stays_longer(serve):
    """Each is asked for twice, and then others are, three times what memory holds."""
    def script(connection, request):
        if request.target.startswith("/dear"):
            time.sleep(0.09)  # what it costs
        return answer(b"x" * 40000, fields=fields(age=10000))

    with Backend({"*": script}) as backend:
        server = serve(config(backend, "CacheMemory 8M\nMaxKeepAliveRequests 0"))
        slow = 0
        with server.connect() as c:
            for path in [f"/p/{kind}{i}" for kind in ("dear", "cheap") for i in range(15)] + [f"/p/{i}" for i in range(600)]:
                began = time.monotonic()
                c.get(path)
                slow += "cheap" in path and time.monotonic() - began >= 0.02  # on a busy machine
                c.get(path)
            asked = len(backend.requests)
            for i in range(15):
                c.get(f"/p/dear{i}")
            dear = len(backend.requests) - asked
            for i in range(15):
                c.get(f"/p/cheap{i}")
            cheap = len(backend.requests) - asked - dear
    assert dear <= 3 and cheap >= 12 - slow, (dear, cheap, slow)
