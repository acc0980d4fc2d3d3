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
