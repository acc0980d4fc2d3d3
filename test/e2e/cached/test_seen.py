# SPDX-License-Identifier: Apache-2.0
"""What is seen of stored answers: figures, the field Cache-Status, logs."""
import json
import re
import signal

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, kind

pytestmark = pytest.mark.only("brigade")

PAGES = """<Location /metrics>
SetHandler metrics
</Location>
<Location /status>
SetHandler server-status
</Location>
"""


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def samples(server):
    text = server.get("/metrics").body.decode()
    return {name + labels: int(value) for name, labels, value in re.findall(r"^brigade_shared_cache_(\w+)(\{.*\})? (\d+)$", text, re.M)}


def results(server):
    return {k.split('"')[1]: n for k, n in samples(server).items() if k.startswith("requests_total") and n}


def validated(connection, request):
    if request["If-None-Match"]:
        return answer(b"", "304 Not Modified", fields(("ETag", '"1"'), age=0))
    return answer(b"stored\n", fields=fields(("ETag", '"1"'), age=0))


def cache_status(server, path, **more):
    return server.get(path, **more)["Cache-Status"]


def test_figures(serve, backend):
    backend.scripts["*"] = answer(b"stored\n", fields=fields())
    backend.scripts["/private"] = answer(b"x", fields=[("Cache-Control", "private")])
    backend.scripts["/old"] = validated
    server = serve(config(backend, PAGES + "CachePurge 127.0.0.1"))
    assert results(server) == {} and samples(server)["max_bytes"] == 128 << 20
    for path in ("/p/a", "/p/a", "/p/b", "/p/private", "/p/private", "/p/old", "/p/old"):
        assert server.get(path).status == 200
    assert server.request("POST", "/p/b", body=b"x").status == 200
    assert server.request("PURGE", "/p/a").status == 200
    assert results(server) == {"hit": 1, "miss": 3, "pass": 2, "revalidated": 1, "invalidated": 1}
    now = samples(server)
    assert now["stored_total"] == 4 and now["purges_total"] == 2 and now["fetches"] == 0 and now["bytes"] > 0
    assert now['disk_faults_total{reason="failed"}'] == 0 and now["disk_max_bytes"] == 0
    for page in ("/metrics?json", "/status?json", "/metrics/live?data=0"):
        told = json.loads(server.get(page).body)["shared_cache"]
        assert told["hits"] == 1 and told["misses"] == 3 and told["purges"] == 2, page


def test_figures_go_on_when_a_process_is_replaced(serve, backend):
    backend.scripts["*"] = answer(b"stored\n", fields=fields(age=1000))
    server = serve(config(backend, PAGES))
    server.get("/p/a")
    child = server.children()[0]
    server.signal(signal.SIGUSR1)
    wait_until(lambda: child not in server.children(), "another process serves")
    server.get("/p/a")
    assert results(server) == {"hit": 1, "miss": 1}


def test_no_figures_where_nothing_is_stored(serve):
    server = serve(PAGES)
    assert samples(server) == {}
    assert json.loads(server.get("/metrics?json").body)["shared_cache"] is None


def test_cache_status(serve, backend):
    backend.scripts["*"] = lambda c, r: answer(b"stored\n", fields=fields(("Vary", "Accept-Language")))
    backend.scripts["/near"] = answer(b"x", fields=fields(("Cache-Status", "origin; hit")))
    backend.scripts["/private"] = answer(b"x", fields=[("Cache-Control", "private")])
    backend.scripts["/old"] = validated
    server = serve(config(backend, "ServerName cache.example\nCacheStatusHeader On"))
    assert cache_status(server, "/p/a") == "cache.example; fwd=uri-miss; ttl=100; stored"
    assert re.fullmatch(r"cache\.example; hit; ttl=(100|9\d)", cache_status(server, "/p/a"))
    assert cache_status(server, "/p/a", headers={"Accept-Language": "de"}) == "cache.example; fwd=vary-miss; ttl=100; stored"
    assert cache_status(server, "/p/a", headers={"Cache-Control": "no-cache"}) == "cache.example; fwd=request; ttl=100; stored"
    assert cache_status(server, "/p/private") == 'cache.example; fwd=uri-miss; detail="Cache-Control: private present"'
    assert cache_status(server, "/p/old") == "cache.example; fwd=uri-miss; ttl=0; stored"
    assert re.fullmatch(r"cache\.example; fwd=stale; fwd-status=304; ttl=(0|-\d)", cache_status(server, "/p/old"))
    assert cache_status(server, "/p/near") == "origin; hit, cache.example; fwd=uri-miss; ttl=100; stored"
    assert cache_status(server, "/p/near").startswith("origin; hit, cache.example; hit; ttl=")


def test_cache_status_of_a_stale_answer(serve, backend):
    backend.scripts["*"] = answer(b"stored\n", fields=fields(("ETag", '"1"'), age=0))
    server = serve(config(backend, "ServerName cache.example\nCacheStatusHeader On\n" + PAGES))
    assert kind(server.get("/p/a")) == "MISS"
    backend.scripts["*"] = answer(b"broken\n", "503 Not Now")
    got = server.get("/p/a")
    assert got.body == b"stored\n" and re.fullmatch(r"cache\.example; fwd=stale; fwd-status=503; ttl=(0|-\d)", got["Cache-Status"])
    assert results(server) == {"miss": 1, "stale": 1}


def test_no_cache_status_unless_asked_for(serve, backend):
    backend.scripts["*"] = answer(b"stored\n", fields=fields())
    server = serve(config(backend))
    assert cache_status(server, "/p/a") is None and cache_status(server, "/p/a") is None


def test_hits_by_kind_in_squids_words(serve, backend):
    backend.scripts["*"] = answer(b"stored\n", fields=fields(("ETag", '"1"')))
    backend.scripts["/private"] = answer(b"x", fields=[("Cache-Control", "private")])
    backend.scripts["/gone"] = answer(b"gone\n", "410 Gone", fields())
    backend.scripts["/same"] = validated
    backend.scripts["/new"] = lambda c, r: answer(b"%d" % len(backend.requests), fields=fields(("ETag", f'"{len(backend.requests)}"'), age=0))
    backend.scripts["/behind"] = answer(b"old\n", fields=[("Cache-Control", "max-age=0, stale-while-revalidate=100"), ("ETag", '"1"')])
    backend.scripts["/fails"] = lambda c, r: answer(b"no", "503 Service Unavailable") if r["If-None-Match"] else \
        answer(b"old\n", fields=[("Cache-Control", "max-age=0, stale-if-error=100"), ("ETag", '"1"')])
    server = serve(config(backend, 'CustomLog @ROOT@/logs/squid.log "%U %{cache-result}e/%>s"\n'))
    no_cache, tagged = {"Cache-Control": "no-cache"}, {"If-None-Match": '"1"'}
    said = []
    for path, headers, result in [
            ("a", {}, "TCP_MISS/200"), ("a", {}, "TCP_HIT/200"), ("a", {}, "TCP_HIT/200"), ("a", tagged, "TCP_IMS_HIT/304"), ("a", no_cache, "TCP_CLIENT_REFRESH_MISS/200"),
            ("private", {}, "TCP_MISS/200"), ("private", {}, "TCP_MISS/200"), ("gone", {}, "TCP_MISS/410"), ("gone", {}, "TCP_NEGATIVE_HIT/410"),
            ("gone", {}, "TCP_NEGATIVE_HIT/410"), ("gone", {}, "TCP_NEGATIVE_HIT/410"), ("same", {}, "TCP_MISS/200"), ("same", {}, "TCP_REFRESH_HIT/200"),
            ("new", {}, "TCP_MISS/200"), ("new", {}, "TCP_REFRESH_MISS/200"), ("behind", {}, "TCP_MISS/200"), ("behind", {}, "TCP_STALE_HIT/200"),
            ("fails", {}, "TCP_MISS/200"), ("fails", {}, "TCP_REF_FAIL_HIT/200")]:
        server.get("/p/" + path, headers=headers)
        said.append(f"/p/{path} {result}")

    def lines():
        with open(server.path("logs/squid.log"), encoding="ascii") as f:
            return f.read().splitlines()

    wait_until(lambda: len(lines()) >= len(said), "the log")
    assert lines() == said
