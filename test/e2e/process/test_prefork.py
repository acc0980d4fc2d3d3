# SPDX-License-Identifier: Apache-2.0
"""LoadModule mpm_prefork_module: modules that know nothing of threads live in processes of one thread each."""
import os
import re
import signal
import threading

import pytest

from brigade import wait_until
from http_client import request_bytes
from processes import configured, reload
from trouble import compiled, sanitizer, with_trouble

pytestmark = pytest.mark.threads
FILES = {"a.txt": "A\n", "big.bin": bytes(range(256)) * 8000}
FEW = "StartServers 1\nMinSpareServers 1\nMaxSpareServers 2\n"


def prefork(config="", load="mpm_prefork"):
    return (f"LoadModule {load}_module @MODULES@/mod_{load}.so\nLoadModule alone_module {compiled('mod_alone')}\n"
            "<Location /alone>\nSetHandler alone\n</Location>\n" + config)


def threads(pid):
    """Without the one that ThreadSanitizer may have for itself."""
    n = len(os.listdir(f"/proc/{pid}/task"))
    return 1 if n == 2 and sanitizer() == "thread" else n


class Held:
    """Requests whose handler waits until they are let go, each on a connection of its own."""

    def __init__(self, server, n):
        self.server, self.gate, self.answers = server, server.path("htdocs", "gate"), []
        self.threads = [threading.Thread(target=self.ask) for _ in range(n)]
        for t in self.threads:
            t.start()

    def ask(self):
        self.answers.append(self.server.get(f"/alone?hold={self.gate}"))

    def let_go(self):
        open(self.gate, "w").close()
        for t in self.threads:
            t.join()
        os.remove(self.gate)
        return [a.body.split()[0] for a in self.answers if a.status == 200]


def test_all_code_of_modules_runs_on_the_thread_of_child_init(serve):
    server = serve(prefork("StartServers 2\n"), FILES)
    pids = set()
    for _ in range(20):
        with server.connect() as c:
            for method, body in (("GET", b""), ("POST", b"x" * 10_000)):
                r = c.request(method, "/alone", [], body)
                pid, away = r.body.split(b"\n")[0].split()
                assert (r.status, away) == (200, b"0")
                assert r.body.split(b"\n", 1)[1] == body
                pids.add(int(pid))
            assert c.request("GET", "/big.bin").body == FILES["big.bin"]
            assert c.request("GET", "/a.txt").body == b"A\n"
    assert pids <= set(server.children())
    assert {threads(pid) for pid in server.children()} == {1}
    server.stop()
    assert b"another thread" not in server.error_log()
    assert b"stopping: at once" in server.error_log()


def test_what_modules_are_told_of_the_model(serve):
    server = serve(prefork("<IfModule mpm_prefork_module>\nStartServers 3\n</IfModule>\n"
                           "<IfModule prefork.c>\nMinSpareServers 3\nMaxSpareServers 7\nMaxRequestWorkers 20\n</IfModule>\n"
                           "<IfModule mpm_event_module>\nError \"not this one\"\n</IfModule>\n"
                           "<IfModule event.c>\nError \"nor by its other name\"\n</IfModule>\n"), FILES)
    said = server.get("/alone?ask").body.decode().splitlines()
    assert said[-1] == "prefork"
    assert {"2: 0 0", "3: 0 2", "5: 0 1", "6: 0 1", "7: 0 3", "9: 0 7", "12: 0 20", "13: 0 1", "14: 70023 -1"} <= set(said)
    assert b"mpm_prefork_module" in server.run("-M").stdout


def test_a_module_that_bears_no_threads(serve):
    server = serve(prefork(load="mpm_event"), FILES, args=["-DNO_THREADS"], wait=False)
    assert server.process.wait(30) == 1
    assert b"needs \"LoadModule mpm_prefork_module" in server.error_log()
    assert serve(prefork(FEW), FILES, args=["-DNO_THREADS"]).get("/alone").status == 200


@pytest.mark.slow
def test_processes_come_and_go_with_the_load(serve):
    """Six requests that take long need six processes, and one waits in vain for a seventh."""
    server = serve(prefork(FEW + "MaxRequestWorkers 6\n"), FILES)
    wait_until(lambda: len(server.children()) == 1, "one process at first")
    held = Held(server, 6)
    wait_until(lambda: len(server.children()) == 6, "six processes")
    server.wait_for_log("AH00161")
    assert len(set(held.let_go())) == 6
    wait_until(lambda: len(server.children()) <= 2, "two processes in the end")
    assert server.get("/a.txt").body == b"A\n"


def test_a_request_that_takes_long_keeps_nobody_waiting(serve):
    server = serve(prefork("StartServers 2\nMinSpareServers 1\n"), FILES)
    held = Held(server, 1)
    for _ in range(30):
        assert server.get("/a.txt").body == b"A\n"
        assert server.get("/alone").status == 200
    assert not held.answers
    assert len(held.let_go()) == 1


def test_connections_that_wait_for_nothing_do_not_shut_others_out(serve):
    """All processes have a connection that is kept alive: another client is served all the same."""
    server = serve(prefork("StartServers 2\nMinSpareServers 1\nMaxRequestWorkers 2\nKeepAliveTimeout 60\n"), FILES)
    kept = [server.connect() for _ in range(2)]
    for c in kept:
        assert c.request("GET", "/alone").status == 200
    server.wait_for_log("AH00161")
    for _ in range(3):
        assert server.get("/alone").status == 200
    for c in kept:
        assert c.request("GET", "/alone").status == 200
        c.close()


def test_a_worn_process_is_replaced(serve):
    server = serve(prefork(FEW + "MaxRequestWorkers 1\nMaxConnectionsPerChild 3\n"), FILES)
    first = server.children()[0]
    seen = set()

    def other():
        seen.add(int(server.get("/alone").body.split()[0]))
        return seen - {first}
    wait_until(other, "another process")
    wait_until(lambda: first not in server.children(), "the end of the first process")


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_reloads_from_one_model_to_the_other(serve, number):
    server = serve(prefork(FEW), FILES)
    assert server.get("/alone?ask").body.endswith(b"prefork\n")
    for load, name in (("mpm_event", b"event"), ("mpm_prefork", b"prefork"), ("mpm_worker", b"event"), ("mpm_prefork", b"prefork")):
        config = prefork(FEW if name == b"prefork" else "ThreadsPerChild 5\n", load)
        before = reload(server, config, number)
        wait_until(lambda: not before & set(server.children()), "the end of the former processes")
        assert server.get("/alone?ask").body.endswith(name + b"\n")
        assert {threads(pid) == 1 for pid in server.children()} == {name == b"prefork"}
    assert f"[mpm_{name.decode()}:notice]".encode() in server.error_log()


def test_a_graceful_reload_lets_a_long_request_end(serve):
    server = serve(prefork(FEW), FILES)
    held = Held(server, 1)
    wait_until(lambda: len(server.children()) == 2, "a process to spare")
    before = configured(server)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: configured(server) > before, "the new configuration")
    for _ in range(10):
        assert server.get("/alone").status == 200
    assert len(held.let_go()) == 1


def test_a_crash_costs_one_request(serve):
    server = serve(prefork("StartServers 3\nMinSpareServers 1\n") + with_trouble(), FILES)
    server.expect_trouble = True
    held = Held(server, 1)
    with server.connect() as c:
        c.send(request_bytes("GET", "/trouble?crash"))
        assert c.at_end()
    server.wait_for_log("exit signal Segmentation fault")
    assert server.get("/alone").status == 200
    assert len(held.let_go()) == 1


def test_version_names_the_process_model(serve):
    server = serve(prefork(""), FILES)
    said = server.run("-V").stdout
    assert re.search(rb"Server MPM: +prefork\n +threaded: +no\n +forked: +yes \(variable process count\)", said), said


def test_one_process_in_the_foreground(serve):
    server = serve(prefork("MaxRequestWorkers 3\n"), FILES, args=["-X"])
    assert int(server.get("/alone").body.split()[0]) == server.process.pid
    assert server.get("/big.bin").body == FILES["big.bin"]
    assert threads(server.process.pid) == 1


@pytest.mark.parametrize("line,problem", [
    ("ThreadsPerChild 5\n", rb"ThreadsPerChild"),
])
def test_directives_that_do_not_fit(serve, line, problem):
    server = serve(prefork(line), wait=False)
    server.process.wait(30)
    assert re.search(problem, server.error_log())


def test_http2_is_not_offered(serve):
    """One thread cannot serve several streams: a line says so, and neither the preface nor an Upgrade field gets it."""
    server = serve(prefork(FEW + "Protocols h2c http/1.1\n"), FILES)
    server.wait_for_log("HTTP/2 is not offered")
    assert server.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0").startswith(b"HTTP/1.1 505 ")
    asked = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"
    answer = server.raw(asked)
    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"\r\n\r\nA\n")
