# SPDX-License-Identifier: Apache-2.0
"""One client cannot keep an event loop to itself, and what does so all the same is told."""
import re
import threading
import time

import pytest

from brigade import wait_until
from http_client import request_bytes
from trouble import compiled

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A\n"}


@pytest.fixture
def busy(serve):
    return serve(f'EventLoops 1\nMaxKeepAliveRequests 0\nLoadModule busy_module "{compiled("mod_busy")}"\n'
                 "<Location /busy>\nSetHandler busy\n</Location>\n", FILES)


def test_pipelined_requests_give_way_to_other_clients(busy):
    """Sixty requests of 20 ms each lie in the input at once: others are served in between."""
    done = []

    def read_all(c):
        for _ in range(60):
            assert c.read_response().body == b"done\n"
            done.append(time.monotonic())
    with busy.connect() as greedy, busy.connect() as modest:
        assert modest.get("/a.txt").status == 200
        greedy.send(request_bytes("GET", "/busy?20") * 60)
        reader = threading.Thread(target=read_all, args=(greedy,))
        reader.start()
        wait_until(lambda: done, "the first answer")
        for _ in range(5):
            assert modest.get("/a.txt").status == 200
        before = len(done)
        reader.join()
    assert before < 25, f"{before} of 60 answers before five to another client"
    assert len(done) == 60


@pytest.mark.slow
def test_a_connection_that_gives_way_is_not_taken_for_a_silent_one(serve):
    """Its requests wait for their turn longer than a request head may take to arrive, or the next request."""
    server = serve(f'EventLoops 1\nMaxKeepAliveRequests 0\nKeepAliveTimeout 1\nRequestReadTimeout header=1\nTimeout 1\n'
                   f'LoadModule busy_module "{compiled("mod_busy")}"\n<Location /busy>\nSetHandler busy\n</Location>\n',
                   FILES)
    with server.connect() as one, server.connect() as other:
        for c in (one, other):
            c.send(request_bytes("GET", "/busy?50") * 30)
        for _ in range(30):
            assert one.read_response().status == 200
            assert other.read_response().status == 200


def test_a_long_turn_leaves_idle_clients_their_time(serve):
    """KeepAliveTimeout is counted from the end of an answer, not from the beginning of the turn that made it."""
    server = serve(f'EventLoops 1\nKeepAliveTimeout 500ms\nLoadModule busy_module "{compiled("mod_busy")}"\n'
                   "<Location /busy>\nSetHandler busy\n</Location>\n", FILES)
    with server.connect() as c:
        assert c.get("/busy?800").body == b"done\n"
        threading.Event().wait(0.2)
        assert c.get("/a.txt").body == b"A\n"


def test_a_turn_that_takes_long_is_told_once(busy):
    for _ in range(3):
        assert busy.get("/busy?150").status == 200
    told = busy.wait_for_log(r"event loop 0 was blocked: a turn with 1 requests took (\d+) ms, of which (\d+) ms for "
                             r'"GET /busy\?150 HTTP/1.1"; \d+ connections waited')
    assert 140 < int(told[1]) < 5000 and 140 < int(told[2])
    assert len(re.findall(rb"a turn with \d+ requests took", busy.error_log())) == 1
