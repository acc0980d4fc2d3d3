# SPDX-License-Identifier: Apache-2.0
"""RequestLimit beside planned requests (test_planned.py): each request is counted once, whichever way it goes in the end."""
import time

import pytest

import h2_client
from backend import Backend
from brigade import PATIENCE
from planned_client import HEAD, REQUESTS, is_planned, one, warm
from planned_site import ANSWERS, CONFIG, PLAIN, config, twins

pytestmark = pytest.mark.only("brigade")

# Ways that a request with a plan may go: by it, or the full way, before or behind the backend's answer.
TEXTS = {"plain": HEAD + "\r\n", "range": REQUESTS["range"], "te": REQUESTS["te"], "twice": REQUESTS["twice"], "large": REQUESTS["large"], "head": REQUESTS["head"]}


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


def status(text):
    return int(text.split(b" ")[1])


LIMITS = {
    "client": "RequestLimit a by=client rate=1/h burst=19",
    "client and field": "RequestLimit a by=client \"key=%{HTTP_COOKIE}\" rate=1/h burst=19",
    "expression": "RequestLimit a \"key=%{HTTP_HOST}\" rate=1/h burst=19",
    "two": "RequestLimit a by=client rate=1/h burst=19\nRequestLimit b rate=1/h burst=30",
    "section": "<Location /p/>\nRequestLimit a by=client rate=1/h burst=19\n</Location>",
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("limit", LIMITS)
def test_each_request_counts_once(serve, backend, limit, kind):
    for server in twins(serve, backend, LIMITS[limit]):
        with server.connect() as client:
            warm(server, client, HEAD + "Cookie: a=b\r\n")
            got = [status(one(client, TEXTS[kind].replace("\r\n\r\n", "\r\nCookie: a=b\r\n\r\n"))) for _ in range(20)]
        assert [s for s in got if s == 429] == [429] * 4 and 429 not in got[:16], server


@pytest.mark.parametrize("name", ["304", "401", "early-hints", "no-type", "garbage"])
def test_answers_that_need_the_request(serve, backend, name):
    """Phases run for a request that was sent: it is not counted once more."""
    backend.scripts["/x"] = PLAIN
    for server in twins(serve, backend, LIMITS["client"]):
        with server.connect() as client:
            warm(server, client)
            backend.scripts["/x"] = ANSWERS[name]
            got = []
            for _ in range(20):
                got.append(status(one(client, HEAD + "\r\n")))
                if name == "early-hints" and got[-1] == 103:
                    got[-1] = status(one(client, ""))
            backend.scripts["/x"] = PLAIN
        assert [s for s in got if s == 429] == [429] * 4, server


@pytest.mark.parametrize("limit", LIMITS)
def test_there_are_plans_beside_rates(serve, backend, limit):
    server = serve(config(backend, LIMITS[limit].replace("burst=19", "burst=99").replace("burst=30", "burst=99")))
    assert is_planned(server)


@pytest.mark.parametrize("limit", ["RequestLimit a by=client inflight=99", "RequestLimit a by=client bandwidth=100M"])
def test_what_depends_on_the_answer_has_none(serve, backend, limit):
    assert not is_planned(serve(config(backend, limit)))


def test_delays(serve, backend):
    """Requests that need no delay have a plan; others wait."""
    server = serve(config(backend, "RequestLimit a by=client rate=4/s burst=99 delay=9"))
    with server.connect() as client:
        began = time.monotonic()
        got = [status(one(client, HEAD + "\r\n")) for _ in range(16)]
        assert got == [200] * 16 and time.monotonic() - began > 1


def test_streams(serve, backend):
    """Those of HTTP/2, with answers that are sent as they came and such that need the request."""
    backend.scripts["/y"] = ANSWERS["304"]
    for server in (serve(more + config(backend, "Protocols h2c http/1.1\n" + LIMITS["client"])) for more in ("", "FileCacheEntries 0\n")):
        client = h2_client.Client("127.0.0.1", server.port, PATIENCE)
        got = [int(client.request("GET", f"/p/{name}", [], b"").head.split(b" ")[1]) for name in "xy" * 15]
        assert sorted(got) == [200] * 10 + [304] * 10 + [429] * 10, server


def test_the_count_ends_with_its_request(serve, backend):
    """A file's requests on the same connection are counted, too."""
    server = serve(CONFIG + config(backend, LIMITS["client"]), files={"a.txt": "a"})
    with server.connect() as client:
        got = [status(one(client, text)) for _ in range(15) for text in (HEAD + "\r\n", HEAD.replace("/p/x", "/a.txt") + "\r\n")]
    assert got == [200] * 20 + [429] * 10
