# SPDX-License-Identifier: Apache-2.0
"""Event loops and workers that do not come to an end: it is told where they are, and their process is replaced."""
import http.client
import os
import re
import select
import signal
import socket

import pytest

import brigade
from service_manager import Manager
from trouble import compiled

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow]
BUSY = 8 * brigade.PATIENCE  # for some seconds of processor time, where others want the processors, too


def site(serve, config="", loops=1, **kwargs):
    return serve.unstarted(f'LoadModule busy_module "{compiled("mod_busy")}"\nEventLoops {loops}\n{config}'
                           "<Location /spin>\nSetHandler spin\n</Location>\n"
                           "<Location /filtered.txt>\nSetOutputFilter BUSY_SPIN\n</Location>\n"
                           "<Location /metrics>\nSetHandler metrics\n</Location>\n", {"a.txt": "a", "filtered.txt": "f"}, **kwargs)


def ask(server, target):
    """Send it, where files need not be waited for: on an event loop, where the query does not say otherwise. A worker reads the names of
    a folder once some were looked for in vain, for each loop: so what goes before comes over the same connection."""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=brigade.PATIENCE)
    for before in ("/a.txt", target.partition("?")[0] + "?once") * 8:
        client.sendall(f"GET {before} HTTP/1.1\r\nHost: spins.example\r\n\r\n".encode())
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 200
        answer.read()
    client.sendall(f"GET {target} HTTP/1.1\r\nHost: spins.example\r\n\r\n".encode())
    return client


@pytest.mark.parametrize("target, where", [("/spin", "hook handler"), ("/filtered.txt", "output filter busy_spin"),
                                           ("/spin?sleep", "hook handler")])
def test_a_loop_that_stands_is_replaced(serve, target, where):
    server = site(serve, "LoopTimeout 3\n").start()
    pid, = server.children()
    with ask(server, target):
        server.wait_for_log(rf"child pid {pid}: event loop 0 has been in one turn for 1 s")
        server.wait_for_log(rf'event loop 0, after 1 s in one turn on connection \d+ from 127\.0\.0\.1 while serving '
                            rf'"GET {re.escape(target)} HTTP/1\.1" for spins\.example.*: it is in module mod_busy\.c, {where}, at \S+')
        server.wait_for_log(rf"child pid {pid}: event loop 0 has been in one turn for \d+ s \(LoopTimeout\): the process is replaced")
        assert server.get("/a.txt").body == b"a"  # of its successor
        server.wait_for_log(rf"child pid {pid} does not end: it is killed")
    assert server.get("/a.txt").body == b"a"
    assert b"\nbrigade_processes_replaced_total 1\n" in server.get("/metrics").body
    brigade.wait_until(lambda: b"\nbrigade_loops_stalled 0\n" in server.get("/metrics").body, "no loop stands")


def test_without_a_timeout_it_is_told(serve):
    server = site(serve, "LoopTimeout 0\n", loops=2).start()
    with ask(server, "/spin"):
        server.wait_for_log(r"event loop (\d) has been in one turn for 1 s")
        server.wait_for_log(r"event loop (\d) has been in one turn for 10 s")
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        for c in clients:
            c.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        answers = select.select(clients, [], [], brigade.PATIENCE)[0]  # of the other loop
        assert b"\nbrigade_loops_stalled 1\n" in answers[0].makefile("rb").read()
    assert b"is replaced" not in server.error_log()
    server.stop()


def test_a_reload_ends_the_old_process(serve):
    server = site(serve, "LoopTimeout 3\n").start()
    pid, = server.children()
    with ask(server, "/spin"):
        server.wait_for_log("for 1 s")
        server.signal(signal.SIGUSR1)
        server.wait_for_log(rf"child pid {pid}.*\(LoopTimeout\): the process is ended")
        server.wait_for_log(rf"child pid {pid} does not end: it is killed")
        assert server.get("/a.txt").body == b"a"


def test_the_watchdog_is_told_the_truth(serve, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    try:
        server = site(serve, "LoopTimeout 0\n", env={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}).start()
        manager.next("WATCHDOG")
        with ask(server, "/spin"):
            while manager.next("WATCHDOG", "STATUS").get("STATUS") != "No event loop comes to the end of its turn":
                pass
            server.wait_for_log("watchdog is not told any more")
            manager.socket.settimeout(2)
            with pytest.raises(TimeoutError):
                manager.next("WATCHDOG")
    finally:
        manager.close()
    server.stop()


def test_a_process_that_was_stopped_is_no_stall(serve):
    """Nor is it replaced while somebody looks at it with a debugger."""
    server = site(serve, "LoopTimeout 2\n").start()
    pid, = server.children()
    os.kill(pid, signal.SIGSTOP)
    with socket.create_connection(("127.0.0.1", server.port)):
        os.kill(pid, signal.SIGCONT)
        assert server.get("/a.txt").body == b"a"
    with ask(server, "/spin"):
        server.wait_for_log("in one turn for 1 s")
        os.kill(pid, signal.SIGSTOP)
        server.wait_for_log("in one turn for 10 s")
    assert b"LoopTimeout" not in server.error_log()
    os.kill(pid, signal.SIGCONT)
    server.wait_for_log(r"\(LoopTimeout\): the process is replaced")


def test_workers(serve):
    server = site(serve, "WorkerTimeout 12\n").start()
    pid, = server.children()
    with ask(server, "/spin?worker"):
        server.wait_for_log(r"worker thread \d+ has used the processor for 1\d s for one request", seconds=BUSY)
        server.wait_for_log(r'worker thread \d+, after 1\d s of processor time on connection .* while serving "GET /spin\?worker HTTP/1.1"'
                            r".*: it is in module mod_busy\.c, hook handler, at ")
        server.wait_for_log(r"\(WorkerTimeout\): the process is replaced", seconds=BUSY)
        server.wait_for_log(rf"child pid {pid} does not end: it is killed")
    assert server.get("/a.txt").body == b"a"


def test_prefork(serve):
    server = site(serve, "LoadModule mpm_prefork_module x\nStartServers 1\nWorkerTimeout 12\n").start()
    with ask(server, "/spin?worker"):
        server.wait_for_log(r"child pid \d+ has used the processor for 1\d s for one request", seconds=BUSY)
        server.wait_for_log(r'while serving "GET /spin\?worker HTTP/1.1".*: it is in module mod_busy\.c, hook handler, at ')
        server.wait_for_log(r"\(WorkerTimeout\): the process is replaced", seconds=BUSY)
        server.wait_for_log(r"child pid \d+ does not end: it is killed")
    assert server.get("/a.txt").body == b"a"
