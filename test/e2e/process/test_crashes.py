# SPDX-License-Identifier: Apache-2.0
"""Crashes: what was served is told, others are served, and what must not outlive a process goes with it."""
import os
import re
import signal
import socket
import time

import pytest

from brigade import wait_until
from http_client import request_bytes
from processes import Load
from trouble import STATUS, answers, reset, sanitizer, slow_client, status, with_trouble

FILES = {"index.html": "home\n", "a.txt": "A\n", "big.bin": b"x" * 2_000_000}


def connection_figures(server):
    return status(server)["totals"]["connections"]


@pytest.mark.only("brigade")
@pytest.mark.skipif(bool(sanitizer()), reason="sanitizers handle the signal themselves")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_crash_tells_what_was_served(serve, method):
    server = serve(with_trouble(), FILES)
    server.expect_trouble = True
    child = server.children()[0]
    with server.connect() as c:
        c.send(request_bytes(method, "/trouble?crash&n=17", {"Host": "some.example"}, b"x" if method == "POST" else b""))
        assert c.at_end()
    server.wait_for_log(rf'fatal signal SIGSEGV on connection \d+ from 127.0.0.1 while serving "{method} /trouble\?crash&n=17 HTTP/1.1" for some.example')
    server.wait_for_log(rf"child pid {child} exit signal Segmentation fault")
    wait_until(lambda: answers(server), "an answer from the next process")
    assert child not in server.children()


@pytest.mark.only("brigade")
def test_crash_leaves_the_other_process_unharmed(serve):
    """Two processes: whoever is connected to the other one notices nothing, and new connections find a process."""
    server = serve("ServerProcesses 2\nKeepAliveTimeout 60\nMaxKeepAliveRequests 0\n" + with_trouble(), FILES)
    server.expect_trouble = True
    clients = [server.connect() for _ in range(24)]
    try:
        homes = [int(c.get("/trouble?pid").body) for c in clients]
        assert set(homes) == set(server.children())
        victim = homes[0]
        waiting = [c for c, home in zip(clients, homes) if home != victim]
        for c in waiting:
            c.send(request_bytes("GET", "/trouble?wait=200"))
        os.kill(victim, signal.SIGSEGV)
        for c in waiting:
            assert c.read_response().status == 200
            assert c.get("/a.txt").body == b"A\n"
        for c, home in zip(clients, homes):
            assert home != victim or c.at_end()
        for _ in range(40):
            assert server.get("/a.txt").body == b"A\n"
        wait_until(lambda: len(server.children()) == 2 and victim not in server.children(), "a new process")
    finally:
        for c in clients:
            c.close()


@pytest.mark.only("brigade")
@pytest.mark.threads
def test_crashes_under_load(serve):
    """A connection may be lost with its process; none is ever refused, and no answer is wrong."""
    server = serve("ServerProcesses 2\nMaxKeepAliveRequests 0\n", FILES)
    server.expect_trouble = True
    with Load(server, clients=6) as load:
        for _ in range(5):
            child = server.children()[0]
            os.kill(child, signal.SIGSEGV)
            wait_until(lambda: child not in server.children() and len(server.children()) == 2, "a new process")
            count = load.done
            wait_until(lambda: load.done > count + 50, "requests")
    assert not [f for f in load.failed if "Refused" in f or "200" in f], load.failed[:3]


@pytest.mark.only("brigade")
def test_programs_start_with_a_clean_signal_mask(serve):
    server = serve(with_trouble(), FILES)
    for _ in range(3):
        assert re.match(rb"SigBlk:\s*0+\n$", server.get("/trouble?mask").body)


@pytest.mark.only("brigade")
def test_supervisor_that_is_killed_takes_its_processes_along(serve):
    """They finish what is under way and go, so that the ports are free for the next start."""
    server = serve("", FILES)
    child = server.children()[0]
    server.process.kill()
    server.process.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{child}"), "the process to end")
    with pytest.raises(OSError):
        socket.create_connection((server.address, server.port), timeout=1)


@pytest.mark.only("brigade")
def test_process_that_keeps_dying_is_started_more_slowly(serve):
    """So that a crash at the start does not fork without end; each death is told."""
    server = serve("", FILES)
    server.expect_trouble = True
    begin = time.monotonic()
    for _ in range(4):
        child = server.children()[0]
        os.kill(child, signal.SIGABRT)
        wait_until(lambda: child not in server.children(), "the end of a process")
    wait_until(lambda: answers(server), "an answer")
    assert time.monotonic() - begin > 0.3
    assert server.error_log().count(b"exit signal Abort") == 4


@pytest.mark.only("brigade")
def test_a_child_process_that_has_the_socket(serve):
    """Closing it then tells the poll set nothing: later events must not reach whoever has the connection's place."""
    server = serve("EventLoops 1\nSendBufferSize 60000\n" + with_trouble(STATUS), FILES)
    first, others, child = server.connect(), [], 0
    try:
        first.send(request_bytes("GET", "/trouble?fork", {"Connection": "close"}))
        child = int(first.read_response().body)
        wait_until(lambda: all(connection_figures(server)["closing"] == 0 for _ in range(3)), "its end")
        others = [slow_client(server) for _ in range(4)]
        for c in others:
            c.send(request_bytes("GET", "/big.bin"))
        wait_until(lambda: connection_figures(server)["writing"] == 4, "four that wait for room")
        reset(first)
        assert answers(server)
        assert [len(c.read_response().body) for c in others] == [2_000_000] * 4
    finally:
        for c in others:
            c.close()
        if child:
            os.kill(child, signal.SIGKILL)


@pytest.mark.only("brigade")
@pytest.mark.parametrize("graceful,ms", [(False, 150), (True, 150), (False, 20_000)], ids=["soon", "graceful", "late"])
def test_the_end_comes_while_workers_have_connections(serve, graceful, ms):
    """Those that come to their end are waited for, a graceful end waits for all; others are cut off."""
    server = serve("EventLoops 1\n" + with_trouble(STATUS), FILES)
    clients = [server.connect() for _ in range(6)]
    for c in clients:
        c.send(request_bytes("GET", f"/trouble?wait={ms}"))
    wait_until(lambda: connection_figures(server)["busy"] >= 6, "six requests at workers")
    server.signal(signal.SIGWINCH if graceful else signal.SIGTERM)
    if graceful:
        assert [c.read_response().status for c in clients] == [200] * 6
    assert server.process.wait(10) == 0
    for c in clients:
        c.close()


@pytest.mark.only("brigade")
@pytest.mark.skipif(bool(sanitizer()), reason="sanitizers make the start of a process slow")
def test_requests_that_kill_young_processes_do_not_delay_the_next(serve):
    """A process that had a connection is replaced at once, however young it was."""
    server = serve("ServerProcesses 1\n" + with_trouble(), FILES)
    server.expect_trouble = True
    begin = time.monotonic()
    for _ in range(9):
        before = server.children()
        with server.connect() as c:
            c.send(request_bytes("GET", "/trouble?crash"))
            assert c.at_end()
        wait_until(lambda: not set(server.children()) & set(before), "the next process")
    wait_until(lambda: answers(server), "an answer")
    assert time.monotonic() - begin < 8
    assert b"keeps dying" not in server.error_log()
