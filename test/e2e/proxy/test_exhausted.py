# SPDX-License-Identifier: Apache-2.0
"""Descriptors run out while requests go to backends: who gets none is told so, others are answered, and nothing stays."""
import resource
import threading

import pytest

from backend import Backend, answer
from brigade import wait_until
from trouble import descriptors

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]


@pytest.mark.parametrize("loops", [1, 2])
def test_descriptors_run_out(serve, loops):
    """Each request needs two of them, and there are too few for all."""
    go = threading.Event()

    def late(_connection, _request):
        go.wait(60)
        return answer(b"late\n")

    with Backend({"/late": late}) as backend:
        server = serve(f"EventLoops {loops}\nProxyPass /p/ http://127.0.0.1:{backend.port}/ disablereuse=on retry=0\n", {"a.txt": "A\n"},
                       limits={resource.RLIMIT_NOFILE: 40 + 10 * loops})
        child, before = server.children()[0], None
        for _ in range(3):
            go.clear()
            clients = [server.connect() for _ in range(40)]
            for client in clients:
                client.send(b"GET /p/late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            wait_until(lambda: b"oo many open files" in server.error_log(), "descriptors to run out")
            go.set()
            statuses = [client.read_response().status for client in clients]
            assert set(statuses) <= {200, 503} and statuses.count(200) >= 5, statuses
            for client in clients:
                client.close()
            wait_until(lambda: server.get("/p/late").body == b"late\n", "the backend to be asked again")
            assert server.get("/a.txt").body == b"A\n"
            if before:  # loops that have just begun open some of their own
                wait_until(lambda: descriptors(child) <= before + 2, f"descriptors to be closed: {descriptors(child)}, {before}")
            before = before or descriptors(child)
            assert backend.open == 0 or wait_until(lambda: backend.open == 0, "connections to the backend to be closed")
        assert server.children() == [child]
        lines = [line for line in server.error_log().splitlines() if b"oo many open files" in line]
        assert any(b"127.0.0.1" in line and str(backend.port).encode() in line for line in lines), lines[:3]
