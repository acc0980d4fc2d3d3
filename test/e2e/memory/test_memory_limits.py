# SPDX-License-Identifier: Apache-2.0
"""Requests that want more memory than they may have: they end, and nobody else notices."""
import threading

import pytest

import trouble
from brigade import wait_until
from http_client import Truncated
from memory_site import is_stock

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(is_stock(), reason="built with stock APR pools")]
MB = 1 << 20
HOG = "LoadModule hog_module {}\n<Location /hog>\nSetHandler hog\n</Location>\n"
KINDS = ["arena", "system", "guard", "tracking(quiet) trivial"]


def start(serve, config):
    return serve(HOG.format(trouble.compiled("mod_hog")) + config, {"a.txt": "hello\n"})


def others_are_served(server, before):
    assert server.get("/a.txt").body == b"hello\n"
    assert server.get("/hog?pool=100000/1000").body == b"had it\n"
    assert server.children() == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [f"{40 * MB}", f"{10 * MB}/1000", f"{50 * MB}/{5 * MB}"])
def test_overshoot(serve, kind, how):
    """In one block or in many, by far more than is left: 503."""
    server = start(serve, f"MemorySystem request limit(1M) {kind}\n")
    before = server.children()
    with server.connect() as kept:
        for _ in range(3):
            assert server.get(f"/hog?pool={how}").status == 503
            assert kept.request("GET", "/a.txt").body == b"hello\n"
    others_are_served(server, before)


@pytest.mark.parametrize("kind", KINDS)
def test_response_that_was_begun(serve, kind):
    """It is completed if little is missing, else it is cut off."""
    server = start(serve, f"MemorySystem request limit(1M) {kind}\n")
    before = server.children()
    assert len(server.get("/hog?write=1300000/1000").body) == 1300000
    with pytest.raises(Truncated):
        server.get(f"/hog?write={10 * MB}/1000")
    others_are_served(server, before)


def test_end_of_the_reserve(serve):
    """A request that goes on and on takes its process with it, cleanly, and there is another."""
    server = start(serve, "MemorySystem request limit(1M) arena\n")
    before = server.children()
    with pytest.raises((Truncated, OSError)):
        server.get(f"/hog?pool={100 * MB}/1000")
    server.wait_for_log(r'out of memory in scope request, memory system "limit\(1M\) arena')
    server.wait_for_log("ended unexpectedly with status 1\n")
    wait_until(lambda: server.children() and server.children() != before, "another process")
    assert server.get("/a.txt").body == b"hello\n"


@pytest.mark.parametrize("scope", ["connection", "bucket"])
def test_connection(serve, scope):
    """It ends with the response under way, or at once."""
    server = start(serve, f"MemorySystem {scope} limit({'64K' if scope == 'bucket' else '1K'}) system\n")
    before = server.children()
    if scope == "connection":
        with server.connect() as c:
            assert c.request("GET", "/a.txt?x").body == b"hello\n"
            assert c.at_end()
    else:
        with server.connect() as c:
            assert len(c.request("GET", "/hog?buckets=2000000/4000").body) == 2000000
            assert c.request("GET", "/a.txt?x").status == 200
            assert c.at_end()
        with pytest.raises((Truncated, OSError)):
            server.get("/hog?buckets=20000000/4000")  # each takes twice as much
    others_are_served(server, before)


def test_limit_under_load(serve):
    """Clients with well-behaved requests get every answer while others run into the limit all the time."""
    server = start(serve, "MemorySystem request limit(256K) arena\nMaxKeepAliveRequests 0\n")
    before = server.children()
    over = threading.Event()
    trouble_met, answers = [], [0]

    def well_behaved():
        with server.connect() as c:
            while not over.is_set():
                for target, body in (("/a.txt", b"hello\n"), ("/a.txt?x", b"hello\n"), ("/hog?pool=50000/100", b"had it\n")):
                    if c.request("GET", target).body != body:
                        raise AssertionError(target)
                    answers[0] += 1

    def hog():
        for i in range(60):
            target = ("/hog?pool=1000000/1000", "/hog?pool=5000000", "/hog?write=9000000/1000")[i % 3]
            try:
                if server.get(target).status != 503:
                    raise AssertionError(target)
            except Truncated:
                if "write" not in target:
                    raise

    def run(what):
        try:
            what()
        except BaseException as e:
            trouble_met.append(e)

    good = [threading.Thread(target=run, args=(well_behaved,)) for _ in range(4)]
    bad = [threading.Thread(target=run, args=(hog,)) for _ in range(4)]
    for thread in good + bad:
        thread.start()
    for thread in bad:
        thread.join()
    over.set()
    for thread in good:
        thread.join()
    assert not trouble_met
    assert answers[0] > 100
    assert server.children() == before


@pytest.mark.parametrize("kind", ["arena", "system", "trivial", "guard", "tracking(quiet) arena", "limit(16M) arena",
                                  "fault(random=0.001,seed=3) arena"])
def test_pools_end_in_any_order(serve, kind):
    """With cleanups that allocate, create and destroy."""
    server = start(serve, f"MemorySystem request {kind}\n")
    before = server.children()
    for seed in range(8):
        answer = server.get(f"/hog?pools=3000/{seed}")
        assert answer.body == b"all gone\n" or (kind.startswith("fault") and answer.status == 503)
    others_are_served(server, before) if not kind.startswith("fault") else None
    assert server.children() == before


PAGES = "<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\n"
LONG = '<!--#set var="a" value="0123456789abcdef" -->' + '<!--#set var="a" value="$a$a" -->' * 15


@pytest.mark.parametrize("text", ["", "x" * 3 * MB], ids=["at first", "after text"])
def test_values_of_a_page(serve, text):
    """One after the other, together far beyond the reserve: 503, or what was begun is cut off."""
    server = serve(PAGES + "MemorySystem request limit(16M) arena\n",
                   {"a.txt": "hello\n", "p.shtml": text + LONG + '<!--#set var="b" value="$a$a" -->' * 200 + "done"})
    before = server.children()
    for _ in range(2):
        try:
            assert server.get("/p.shtml").status == 503
        except Truncated:
            assert text
    assert server.get("/a.txt").body == b"hello\n"
    assert server.children() == before
