# SPDX-License-Identifier: Apache-2.0
"""A request that was sent by a plan is not sent again where its answer, or its client, asks for phases: wherever these run."""
import h2_client
import pytest

import planned_site
from backend import Backend
from brigade import PATIENCE
from http_client import Truncated
from planned_site import ANSWERS, PLAIN

pytestmark = pytest.mark.only("brigade")

FIELDS = {"plain": {}, "basic": {"Authorization": "Basic eDp5"}, "bearer": {"Authorization": "Bearer abc"}}


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


def connect(server, http2):
    return h2_client.Client("127.0.0.1", server.port, PATIENCE) if http2 else server.connect()


def get(client, http2, target, fields):
    """@return the status, or None"""
    try:
        if http2:
            return client.get(target, list(fields.items())).status
        client.send("\r\n".join([f"GET {target} HTTP/1.1", "Host: localhost", *(f"{n}: {v}" for n, v in fields.items()), "", ""]))
        got = client.read_response()
        return client.read_response().status if got.status < 200 else got.status
    except (Truncated, OSError):
        return None


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
@pytest.mark.parametrize("fields", FIELDS)
def test_it_reaches_the_backend_once(serve, backend, fields, http2):
    server = serve(planned_site.config(backend, "Protocols h2c http/1.1\n"))
    for name, script in ANSWERS.items():
        backend.scripts["/x"] = PLAIN
        with connect(server, http2) as client:
            for _ in range(3):
                assert get(client, http2, "/p/x", {}) == 200
            backend.scripts["/x"] = script
            requests, connections = len(backend.requests), backend.connections
            get(client, http2, "/p/x", FIELDS[fields])
            assert [r.target for r in backend.requests[requests:]] == ["/x"], name
            assert backend.connections == connections, name


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
@pytest.mark.parametrize("excess", ["excess=delay rate=50/s burst=100 delay=2", "rate=1/m burst=20"], ids=["delay", "refuse"])
def test_a_limit_behind_a_plan(serve, backend, excess, http2):
    """Each request counts once, though it was sent; an error page that the same backend makes is another request."""
    server = serve(planned_site.config(backend, f"Protocols h2c http/1.1\nRequestLimit all by=all {excess}\nErrorDocument 429 /p/limited\n"))
    secret = planned_site.text_of("200 OK", planned_site.DATE, planned_site.TYPE, "Transfer-Encoding: chunked", body=b"6\r\nsecret\r\n0\r\n\r\n")
    backend.scripts["/limited"] = planned_site.answer(b"limited", fields=planned_site.DATED)
    bodies = []
    with connect(server, http2) as client:
        for n in range(30):
            backend.scripts["/x"] = secret if n > 2 else PLAIN
            before = len(backend.requests)
            if http2:
                got = client.get("/p/x", [])
            else:
                client.send("GET /p/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
                got = client.read_response()
            sent = [r.target for r in backend.requests[before:]]
            assert sent.count("/x") <= 1 and (got.body == b"limited") == ("/limited" in sent)
            bodies.append(got.body)
    allowed = bodies.count(b"secret") + bodies.count(b"hello\n")
    assert allowed == 30 if "delay" in excess else allowed == 21
