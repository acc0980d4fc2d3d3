# SPDX-License-Identifier: Apache-2.0
"""Requests that a loop sends to a backend by what was decided for others of their target, without phases. Everything that a backend and a
client get is held against a server without such plans (FileCacheEntries 0). Answers: test_planned_answers.py; what the configuration says:
test_planned_settings.py."""
import pytest

from backend import Backend, answer
from brigade import wait_until
from planned_client import HEAD, REQUESTS, is_planned, one, outcome, warm
from planned_site import DATED, PLAIN, config, neutral, twins
from processes import reload

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


def test_no_phases_run(serve, backend):
    server, without = twins(serve, backend)
    assert is_planned(server) and not is_planned(without)
    assert is_planned(server, text=HEAD + "Cookie: a=b\r\nAuthorization: Basic eDp5\r\nIf-None-Match: \"x\"\r\n\r\n")
    assert is_planned(server, text=HEAD.replace("/x", "/x?q=1") + "\r\n"), "one plan is for all queries"


def test_requests_are_sent_and_answered_as_without_a_plan(serve, backend):
    servers = twins(serve, backend)
    for name, text in REQUESTS.items():
        first, second = ((neutral(server, got), sent) for server in servers for got, sent in [outcome(server, backend, text)])
        assert first == second, name


def test_reload(serve, backend):
    server = serve(config(backend))
    assert is_planned(server)
    before = reload(server, config(backend, "ProxyAddHeaders Off"))
    wait_until(lambda: not before & set(server.children()), "the processes of before have ended")
    _, sent = outcome(server, backend, HEAD + "\r\n")
    assert b"X-Forwarded" not in sent[0][0]


@pytest.mark.parametrize("length", [6, 60000])
def test_logs_tell_the_same(serve, backend, length):
    backend.scripts["/x"] = answer(b"l" * length, fields=[*DATED, ("X-A", "b")])
    more = "LogFormat \"%h %u %r %>s %b %B %I %O %S %k %m %U %q %H %f %R %X %{X-A}o %{Date}o %{Content-Length}o %{Referer}i %{backend-tries}n %{cache-result}e %{cache-hierarchy}e %{cache-url}e\" all\n" \
           "CustomLog logs/access.log all\nLogFormat \"%h %>s %b %I %O %k %U %q %f %R %X %{X-A}o %{Date}o %{Server}o %{Content-Length}o %{Referer}i %{X}e %{cache-result}e %{cache-hierarchy}e\" some\n" \
           "CustomLog logs/some.log some\nSetEnv X y\n"
    for formats in (more, more.replace("CustomLog logs/access.log all\n", "")):
        lines = []
        for server in twins(serve, backend, formats):
            with server.connect() as client:
                for n in range(6):
                    one(client, HEAD.replace("/x", f"/x?{n}") + "Referer: r\r\nConnection: keep-alive\r\n\r\n")
            wait_until(lambda s=server: s.read("logs/some.log").count(b"\n") == 6, "six lines")
            lines.append([server.read("logs/some.log"), server.read("logs/access.log") if formats == more else ""])
        assert lines[0] == lines[1]


def test_pipelined_requests(serve, backend):
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        client.send((HEAD + "\r\n") * 5 + HEAD + "Connection: close\r\n\r\n")
        assert client.read_to_end().count(b"\r\n\r\nhello\n") == 6


def test_a_kept_connection_that_its_backend_closes(serve, backend):
    """Whatever is asked for next is answered, and once."""
    def close_behind(connection, request):
        connection.send(PLAIN)
        return False
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        for _ in range(20):
            backend.scripts["/x"] = close_behind
            assert b" 200 " in one(client, HEAD + "\r\n")
            backend.scripts["/x"] = PLAIN
            assert b" 200 " in one(client, HEAD + "\r\n")


def test_a_backend_that_closes_without_an_answer(serve, backend):
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        before = len(backend.requests)
        backend.scripts["/x"] = lambda connection, request: False if connection.served > 1 else PLAIN
        assert b" 200 " in one(client, HEAD + "\r\n")
        assert len(backend.requests) == before + 2, "a kept connection was tried, then a new one"


def test_a_backend_that_does_not_answer_in_time(serve, backend):
    server = serve(config(backend, parameters="timeout=1"))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: connection.more()
        assert b" 504 " in one(client, HEAD + "\r\n") or b" 502 " in one(client, HEAD + "\r\n")
    assert wait_until(lambda: b"AH01102" in server.error_log(), "the reason")


def test_a_client_that_leaves(serve, backend):
    """Its connection to the backend ends, and others are served."""
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: connection.more()
        before = backend.open
        client.send(HEAD + "\r\n")
        wait_until(lambda: len(backend.requests) > 4, "the request came")
        assert before == 1
    wait_until(lambda: backend.open == 0, "the backend's connection is closed")
    backend.scripts["/x"] = PLAIN
    assert b" 200 " in outcome(server, backend, HEAD + "\r\n")[0]
