# SPDX-License-Identifier: Apache-2.0
"""Workers are few: clients that send or take slowly do not hold them all, and who waits for one does so within bounds."""
import os
import socket
import time

import pytest

from brigade import wait_until
from http_client import request_bytes
from trouble import STATUS, compiled, status, trouble_module

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A\n", "page.shtml": "<!--#echo var=\"DOCUMENT_NAME\" -->\n"}
TWO = "EventLoops 1\nServerLimit 1\nThreadsPerChild 2\nMaxKeepAliveRequests 0\n"


def with_sleep(config=""):
    return (f'LoadModule busy_module "{compiled("mod_busy")}"\n<Location /sleep>\nSetHandler sleep\n</Location>\n' + STATUS +
            config)


def figures(server):
    return status(server)["totals"]["connections"]


def occupy(server, n, ms):
    """n requests that a worker sleeps for."""
    clients = [server.connect() for _ in range(n)]
    for c in clients:
        c.send(request_bytes("GET", f"/sleep?{ms}"))
    return clients


def post_slowly(server, target, length=b"Content-Length: 100000"):
    c = server.connect()
    c.send(b"POST " + target.encode() + b" HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n")
    return c


# ---- Bodies ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("phases", ["loop", "worker"])
@pytest.mark.parametrize("body", ["plain", "chunked"])
def test_slow_posts_to_files_hold_no_worker(serve, body, phases):
    """Also where a module that declares nothing makes workers run all phases."""
    server = serve(TWO + with_sleep(f"LoadModule trouble_module {trouble_module()}\n" if phases == "worker" else ""), FILES)
    slow = [post_slowly(server, "/a.txt", b"Transfer-Encoding: chunked" if body == "chunked" else b"Content-Length: 20")
            for _ in range(8)]
    for _ in range(4):
        assert server.get("/sleep?1").status == 200
    for c in slow:
        c.send(b"5\r\nhello\r\n" if body == "chunked" else b"0123456789")
    assert server.get("/sleep?1").status == 200
    for c in slow:
        c.send(b"5\r\nhello\r\n0\r\nA: b\r\n\r\n" if body == "chunked" else b"0123456789")
        assert c.read_response().body == b"A\n"
        assert c.get("/a.txt").body == b"A\n"  # the next request begins where the body ended
        c.close()


def test_the_next_request_may_follow_the_body_at_once(serve):
    server = serve(TWO + with_sleep(), FILES)
    with server.connect() as c:
        c.send(request_bytes("POST", "/a.txt", body=b"x" * 100_000) + request_bytes("POST", "/sleep", body=b"y" * 50_000) +
               request_bytes("GET", "/a.txt"))
        assert c.read_response().body == b"A\n"
        assert c.read_response().body == b"slept\n"
        assert c.read_response().body == b"A\n"


@pytest.mark.parametrize("target", ["/a.txt", "/sleep"])
def test_a_body_that_does_not_come_is_given_up(serve, target):
    server = serve("RequestReadTimeout body=1\n" + TWO + with_sleep(), FILES)
    with post_slowly(server, target) as c:
        begin = time.monotonic()
        assert c.read_response().status == 408
        assert time.monotonic() - begin < 4
        assert c.at_end()
    server.wait_for_log("AH01382: Request body read timeout")


@pytest.mark.parametrize("target", ["/a.txt", "/page.shtml", "/sleep", "/nothing"])
def test_a_client_that_leaves_in_its_body(serve, target):
    server = serve("AddOutputFilter INCLUDES .shtml\nOptions +Includes\nCustomLog @ROOT@/logs/access_log \"%r %>s\"\n" + TWO +
                   with_sleep(), FILES)
    for how in (socket.SHUT_WR, socket.SHUT_RDWR):
        with post_slowly(server, target) as c:
            c.send(b"abc")
            c.socket.shutdown(how)
    wait_until(lambda: figures(server)["open"] <= 1, "the connections to end")
    assert server.get("/a.txt").body == b"A\n"


def test_bodies_for_programs_are_waited_for_on_the_loop(serve):
    server = serve(TWO + with_sleep(), FILES)
    slow = [post_slowly(server, "/sleep", b"Content-Length: 10") for _ in range(6)]
    for _ in range(3):
        assert server.get("/sleep?1").status == 200
    for c in slow:
        c.send(b"0123456789")
        assert c.read_response().status == 200
        c.close()


# ---- The queue ------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_full_queue_refuses(serve):
    server = serve(TWO + "WorkerQueueSize 3\n" + with_sleep(), FILES)
    for _ in range(2):
        status(server)  # the first needs a worker
    with_worker = occupy(server, 5, 1500)
    wait_until(lambda: figures(server)["busy"] == 5, "the queue to fill")
    r = server.get("/sleep?1")
    assert (r.status, r["Retry-After"], r["Connection"]) == (503, "2", "close")
    assert server.get("/a.txt").body == b"A\n"
    for c in with_worker:
        assert c.read_response().status == 200
    server.wait_for_log("no worker thread for this request, and possibly others: the queue is full")
    assert server.get("/sleep?1").status == 200


@pytest.mark.parametrize("limits", ["MaxRequestWorkers 5\n", "ServerLimit 1\nThreadsPerChild 5\n", "MaxRequestWorkers 100\nServerLimit 1\nThreadsPerChild 5\n",
                                    "ServerProcesses 1\nThreadsPerChild 5\n", "ThreadsPerChild 40\nThreadLimit 5\nServerLimit 1\n"])
def test_all_at_work_is_told_of(serve, limits):
    """Once in a while in the log, with each request in a figure."""
    server = serve("EventLoops 2\nStartServers 2\n<Location /metrics>\nSetHandler metrics\n</Location>\n" + limits + with_sleep(), FILES)
    for _ in range(24):
        status(server)  # later ones are answered by a loop, once each loop has had one
    with_worker = occupy(server, 5, 1500)
    wait_until(lambda: figures(server)["busy"] == 5, "all workers at work")
    assert b"AH00484" not in server.error_log() and status(server)["workers"]["full"] == 0
    waits = occupy(server, 3, 1)
    server.wait_for_log("AH00484: server reached MaxRequestWorkers setting")
    wait_until(lambda: status(server)["workers"]["full"] == 3, "the figure")
    assert server.get("/a.txt").body == b"A\n"
    metrics = server.get("/metrics").body
    assert b"brigade_workers_limit 5\n" in metrics and b"brigade_worker_full_total 3\n" in metrics
    assert b"WorkersFull: 3\n" in server.get("/server-status?auto").body
    assert b"3 requests had to wait" in server.get("/server-status").body
    for c in with_worker + waits:
        assert c.read_response().status == 200
    assert server.error_log().count(b"AH00484") == 1


@pytest.mark.slow
def test_who_waits_too_long_is_refused(serve):
    server = serve(TWO + "WorkerQueueTimeout 1\nErrorDocument 503 /sleep\n" + with_sleep(), FILES)
    begin = time.monotonic()
    with_worker = occupy(server, 2, 5000)
    with server.connect() as c:
        c.send(request_bytes("GET", "/sleep?1"))
        assert c.read_response().status == 503
        assert 0.9 < time.monotonic() - begin < 4
    for c in with_worker:
        assert c.read_response().status == 200


@pytest.mark.slow
def test_requests_of_clients_that_left_are_not_run(serve):
    server = serve(TWO + "CustomLog @ROOT@/logs/access_log \"%r %>s %X\"\n" + with_sleep(), FILES)
    busy = occupy(server, 2, 3000)
    gone = occupy(server, 40, 500)
    wait_until(lambda: figures(server)["busy"] == 42, "the requests to wait")
    for c in gone:
        c.close()
    wait_until(lambda: figures(server)["busy"] <= 2, "those that left to be forgotten")
    begin = time.monotonic()
    for c in busy:
        assert c.read_response().status == 200
    assert server.get("/sleep?1").status == 200
    assert time.monotonic() - begin < 6  # forty requests of half a second on two workers are ten
    wait_until(lambda: len(server.read("logs/access_log").splitlines()) >= 43, "all requests in the log")


@pytest.mark.parametrize("line,message", [
    ("WorkerQueueSize 0", b"WorkerQueueSize"), ("WorkerQueueSize x", b"WorkerQueueSize"), ("WorkerQueueTimeout -1", b"WorkerQueueTimeout")])
def test_bad_values_are_refused(serve, line, message):
    done = serve.unstarted(line + "\n").run("-t")
    assert done.returncode == 1 and message in done.stdout + done.stderr


# ---- Clients that stand still ---------------------------------------------------------------------------------

def test_readers_that_stopped_give_their_workers_up(serve):
    """Answers far larger than what is kept for a slow client: it has its worker until others need it."""
    server = serve(TWO + "Timeout 60\nWorkerStallTimeout 1\nOutputSpoolSize 65536\n" + with_sleep("<Location /endless>\nSetHandler endless\n</Location>\n"),
                   FILES)
    stopped = [server.connect() for _ in range(2)]
    for c in stopped:
        c.send(request_bytes("GET", "/endless"))
        assert c.read_head().status == 200
    wait_until(lambda: figures(server)["busy"] == 2, "two workers in their answers")
    time.sleep(1.5)
    assert figures(server)["busy"] == 2  # nobody needs them: they may take their time
    begin = time.monotonic()
    assert server.get("/sleep?1").status == 200
    assert time.monotonic() - begin < 6
    for c in stopped:
        c.close()
