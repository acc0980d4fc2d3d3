# SPDX-License-Identifier: Apache-2.0
"""Answers to planned requests (test_planned.py): whole and in pieces, long, cut, late, and for clients that leave."""
import re
import socket

import pytest

from backend import Backend, answer
from brigade import wait_until
from http_client import Truncated
from planned_client import HEAD, is_planned, one, outcome, rest, warm
from planned_site import ANSWERS, DATE, DATED, NOT_WHOLE, PIECES, PLAIN, TYPE, WHOLE, config, full_ways, in_pieces, neutral, text_of, twins

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


def what_comes(client):
    """Interim answers included; nothing where the connection ends instead."""
    try:
        got = rest(client)
        return got + rest(client) if got.startswith(b"HTTP/1.1 103") else got
    except (Truncated, OSError):
        return b"closed"


@pytest.mark.parametrize("more", ["", "ProxyPassReverse /p/ http://127.0.0.1:{port}/\nProxyPassReverseCookiePath / /p/\nProxyPassReverseCookieDomain inner outer\n",
                                  "ProxyStatusField On\nAddDefaultCharset latin1\nServerName \"localhost\"\n"], ids=["plain", "reverse", "added"])
def test_answers_are_sent_as_without_a_plan(serve, backend, more):
    servers = twins(serve, backend, more.replace("{port}", str(backend.port)))
    for name, script in ANSWERS.items():
        got = []
        for server in servers:
            with server.connect() as client:
                backend.scripts["/x"] = PLAIN
                warm(server, client)
                backend.scripts["/x"] = script.replace(b"{port}", str(backend.port).encode()) if isinstance(script, bytes) else script
                client.send(HEAD + ("Connection: close\r\n" if name == "early-hints" else "") + "\r\n")
                got.append(neutral(server, what_comes(client)))
        assert got[0] == got[1], name


def test_whole_answers_need_no_request(serve, backend):
    server = serve(config(backend))
    for name in WHOLE:
        backend.scripts["/x"] = ANSWERS[name]
        assert is_planned(server), name
    for name in NOT_WHOLE:
        backend.scripts["/x"] = ANSWERS[name]
        assert not is_planned(server), name


def body_of(client, head):
    """What of it came, whatever it was framed with; and how it ended."""
    length = re.search(rb"^content-length: *(\d+)", head, re.M | re.I)
    try:
        if length:
            return client.read_exactly(int(length[1])), "whole"
        if b"chunked" in head:
            return client._chunked()[0], "whole"  # a length is told where all came at once
        return client.read_to_end(), "whole"
    except (Truncated, OSError, ValueError) as cut:
        if b"chunked" not in head:
            return cut.args[0], "cut"
        return b"", "cut"


def piecemeal(server, client, log):
    """Head and body of an answer, if the connection goes on behind it, and its line of the log."""
    try:
        head = client.read_until(b"\r\n\r\n")
    except (Truncated, OSError):
        return "closed", log()
    return neutral(server, head), body_of(client, head), log()


PIECEMEAL = "LogFormat \"%>s %b %B %X %m %U %q %{X-A}o %{Content-Type}o\" all\nCustomLog logs/access.log all\n"


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_pieces_are_sent_as_without_a_plan(serve, backend, name, version):
    """Heads, bodies, logs, and what the next client gets."""
    got = []
    for server in twins(serve, backend, PIECEMEAL):
        backend.scripts["/x"] = PLAIN
        with server.connect() as client:
            warm(server, client)
            backend.scripts["/x"] = PIECES[name]
            client.send(HEAD.replace("1.1", version) + "Connection: close\r\n\r\n")
            got.append(piecemeal(server, client, lambda s=server: wait_until(lambda: s.read("logs/access.log").count(b"\n") == 5, "its line") and s.read("logs/access.log")))
        backend.scripts["/x"] = PLAIN
        assert b" 200 " in outcome(server, backend, HEAD + "\r\n")[0]
    lines = [re.sub(rb"\r\n(Transfer-Encoding: chunked|Content-Length: \d+)", b"", g[0]) if len(g) == 3 else g[0] for g in got]
    for i, g in enumerate(got):  # fields of an answer that failed behind its head are in no log here
        got[i] = tuple(re.sub(rb"(\n502 .*) \S+ \S+\n", rb"\1\n", part) if isinstance(part, bytes) else part for part in g)
    assert lines[0] == lines[1] and [g[1:] for g in got][0] == [g[1:] for g in got][1]


@pytest.mark.parametrize("name", ["head-alone", "two", "bytes", "long", "middling", "chunks", "chunks-in-pieces", "no-chunk", "trailers", "long-chunks"])
def test_pieces_need_no_request(serve, backend, name):
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = PIECES[name]
        before = full_ways(server)
        for _ in range(6):
            one(client, HEAD + "\r\n")
    assert full_ways(server) == before


def test_a_client_that_leaves_within_an_answer(serve, backend):
    """Its backend's connection ends, and the log has what was sent."""
    server = serve(config(backend, PIECEMEAL))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: (connection.send(text_of("200 OK", DATE, TYPE, "Content-Length: 9", body=b"abc")), connection.more())
        client.send(HEAD + "\r\n")
        client.read_until(b"\r\n\r\nabc")
    wait_until(lambda: backend.open == 0, "the backend's connection is closed")
    assert wait_until(lambda: server.read("logs/access.log").count(b"\n") == 5, "its line")
    assert server.read("logs/access.log").splitlines()[-1].startswith(b"200 3 3 ")


def pausing(came):
    """A script of the backend: half of an answer, and the rest when came has something."""
    def script(connection, request):
        connection.send(text_of("200 OK", DATE, TYPE, "Content-Length: 4", body=b"ab"))
        wait_until(lambda: came, "the client has it")
        connection.send(b"cd")
    return script


def test_a_client_that_ends_its_sending(serve, backend):
    """Within an answer to its last request: it has the rest."""
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        came = []
        backend.scripts["/x"] = pausing(came)
        client.send(HEAD + "Connection: close\r\n\r\n")
        client.read_until(b"\r\n\r\nab")
        client.half_close()
        came.append(1)
        assert client.read_to_end() == b"cd"


def test_a_backend_that_is_silent_within_an_answer(serve, backend):
    server = serve(config(backend, parameters="timeout=1"))
    with server.connect() as client:
        warm(server, client)
        backend.scripts["/x"] = lambda connection, request: (connection.send(text_of("200 OK", DATE, TYPE, "Content-Length: 4", body=b"ab")), connection.more())
        client.send(HEAD + "\r\n")
        assert client.read_to_end().endswith(b"\r\n\r\nab")
    assert wait_until(lambda: b"AH01110" in server.error_log(), "the reason")


def test_a_piece_is_not_waited_for(serve, backend):
    """A client gets the beginning of an answer while its backend pauses."""
    server = serve(config(backend))
    with server.connect() as client:
        warm(server, client)
        came = []
        backend.scripts["/x"] = pausing(came)
        client.send(HEAD + "\r\n")
        client.read_until(b"\r\n\r\nab")
        came.append(1)
        assert client.read_exactly(2) == b"cd"


BLOCK = 32768  # what the network is read into
LENGTHS = [BLOCK - 200, *range(BLOCK - 120, BLOCK - 100), BLOCK, BLOCK + 1, 2 * BLOCK - 110, 2 * BLOCK, 100000, 4 * BLOCK - 120,
           4 * BLOCK - 1, 4 * BLOCK + 1, 300000]


def long_answer(length):
    """Each of its bytes tells where it stands."""
    body = b"".join(b"%07d\n" % i for i in range(length // 8 + 1))[:length]
    return answer(body, fields=DATED), body


def test_long_answers(serve, backend):
    """Of one block of memory and more: whole, in pieces wherever those end, with bytes behind them, and cut."""
    server = serve(config(backend))
    for length in LENGTHS:
        whole, body = long_answer(length)
        cuts = [1, len(whole) - length + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, len(whole) - 1]
        for script in [whole, *(in_pieces(whole[:at], whole[at:]) for at in cuts if at < len(whole)), whole + b"HTTP/1.1 200 OK\r\n\r\n"]:
            backend.scripts["/x"] = PLAIN
            with server.connect() as client:
                warm(server, client)
                backend.scripts["/x"] = script
                assert one(client, HEAD + "\r\n").endswith(b"\r\n\r\n" + body), length
                backend.scripts["/x"] = PLAIN
                assert one(client, HEAD + "\r\n").endswith(b"\r\n\r\nhello\n"), length


@pytest.mark.parametrize("length", [BLOCK + 1, 100000])
def test_a_long_answer_that_is_cut(serve, backend, length):
    server = serve(config(backend))
    whole, _ = long_answer(length)

    def cut_at(at):
        def script(connection, request):
            connection.send(whole[:at])
            return False
        return script
    for at in (BLOCK - 1, BLOCK, BLOCK + 1, len(whole) - 1):
        if at >= len(whole):
            continue
        backend.scripts["/x"] = PLAIN
        with server.connect() as client:
            warm(server, client)
            backend.scripts["/x"] = cut_at(at)
            client.send(HEAD + "\r\n")
            with pytest.raises((Truncated, OSError)):
                rest(client)


def test_long_answers_are_planned_where_all_is_here(serve, backend):
    """A backend's write, and so the server's read, may be in pieces: of some answers at least one comes whole."""
    server = serve(config(backend))
    backend.scripts["/x"] = long_answer(60000)[0]
    with server.connect() as client:
        warm(server, client)
        before = full_ways(server)
        for _ in range(50):
            one(client, HEAD + "\r\n")
    assert full_ways(server) < before + 50


def test_a_long_answer_for_a_client_that_reads_later(serve, backend):
    """The backend is free before the client has taken it."""
    server = serve(config(backend))
    whole, body = long_answer(120000)
    with server.connect() as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        warm(server, client)
        backend.scripts["/x"] = whole
        client.send((HEAD + "\r\n") * 20)
        wait_until(lambda: len(backend.requests) >= 4 + 2, "the next one was asked for")
        for _ in range(20):
            assert rest(client).endswith(b"\r\n\r\n" + body)
