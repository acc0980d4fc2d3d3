# SPDX-License-Identifier: Apache-2.0
"""Under a service manager: what it is told (Type=notify), and sockets that it opened."""
import os
import re
import signal
import socket
import time

import pytest

import brigade
from service_manager import Manager, listening, with_sockets

pytestmark = pytest.mark.only("brigade")

STATUS = "<Location /server-status>\nSetHandler server-status\n</Location>\n"


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    made = Manager(f"@brigade-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify"))
    made.name = made.socket.getsockname()
    made.name = "@" + made.name[1:].decode() if isinstance(made.name, bytes) else made.name
    yield made
    made.close()


def test_the_manager_is_told(serve, manager):
    server = serve.unstarted("", env={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"})
    before = time.monotonic()
    server.start()
    ready = manager.next("READY")
    assert ready["READY"] == "1" and int(ready["MAINPID"]) == server.process.pid
    for _ in range(3):
        assert manager.next("WATCHDOG")["WATCHDOG"] == "1"
    assert time.monotonic() - before > 0.2  # every 0.2 seconds; a machine that stands still delays the first
    server.raw(b"GET / HTTP/1.0\r\n\r\n")
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    server.signal(signal.SIGUSR1)
    reloading = manager.next("RELOADING")
    assert now <= int(reloading["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert manager.next("READY")["READY"] == "1"
    server.write("httpd.conf", "Nonsense\n", base="conf")
    server.signal(signal.SIGHUP)
    manager.next("RELOADING")
    assert manager.next("READY")["READY"] == "1"  # with the old one
    server.signal(signal.SIGTERM)
    assert manager.next("STOPPING")["STOPPING"] == "1"


def test_a_watchdog_of_another_process(serve, manager):
    server = serve.unstarted("", env={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"})
    server.start()
    manager.next("READY")
    server.signal(signal.SIGTERM)
    assert "STOPPING" in manager.next("WATCHDOG", "STOPPING")


@pytest.mark.parametrize("name", ["nonsense", "vsock:2:1", "/" + "x" * 200])
def test_a_manager_that_cannot_be_told(serve, name):
    server = serve.unstarted("", env={"NOTIFY_SOCKET": name}).start()
    assert b"the service manager is not told" in server.read("logs/stderr")
    assert server.get("/").status in (200, 403)


def test_programs_of_the_site_do_not_speak_to_the_manager(serve, manager):
    server = serve.unstarted('LoadModule cgi_module @MODULES@/mod_cgi.so\n<Directory @ROOT@/htdocs>\nOptions +ExecCGI\nSetHandler cgi-script\n</Directory>\n',
                             {"env.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nenv; ls /proc/self/fd | wc -l\n"}, env={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "9000000"})
    if not os.path.exists(f"{brigade.APACHE_MODULES}/mod_cgi.so"):
        pytest.skip("there is no mod_cgi")
    os.chmod(server.path("htdocs/env.cgi"), 0o755)
    with listening() as s:
        with_sockets(server, [s]).start()
        body = server.get("/env.cgi").body
    assert b"SERVER_NAME" in body and not re.search(rb"^(NOTIFY|WATCHDOG|LISTEN)_", body, re.M)


@pytest.mark.parametrize("loops", [1, 3])
def test_a_socket_of_the_manager_is_served(serve, loops):
    """It waits with what comes while the server is not there."""
    with listening() as s:
        port = s.getsockname()[1]
        server = serve.unstarted(f"EventLoops {loops}\nServerProcesses 2\nListen 127.0.0.1:{port}\n" + STATUS, {"a.txt": "a"})
        waiting = socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE)
        waiting.sendall(b"GET /a.txt HTTP/1.0\r\n\r\n")
        with_sockets(server, [s]).start()
        assert waiting.makefile("rb").read().endswith(b"\r\n\r\na")
        server.port = port
        for _ in range(30):
            assert server.get("/a.txt").status == 200
        server.raw(b"GET / HTTP/1.0\r\n\r\n")
        server.signal(signal.SIGUSR1)
        server.wait_for_log("Doing graceful restart")
        for _ in range(30):
            assert server.get("/a.txt").status == 200
        assert b"LISTEN_FDS" not in server.error_log()
        server.stop()
        with socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE) as late:  # the manager has it still
            late.sendall(b"GET /a.txt HTTP/1.0\r\n\r\n")
            server.process = None
            first = server.port
            server._spawn()
            assert late.makefile("rb").read().endswith(b"\r\n\r\na")
            server.port = first


def test_restarts_lose_no_connection(serve):
    with listening() as s:
        port = s.getsockname()[1]
        server = serve.unstarted(f"EventLoops 2\nListen 127.0.0.1:{port}\n", {"a.txt": "a"})
        with_sockets(server, [s]).start()
        for _ in range(3):
            server.stop()
            clients = [socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE) for _ in range(20)]
            for c in clients:
                c.sendall(b"GET /a.txt HTTP/1.0\r\n\r\n")
            server._spawn()
            for c in clients:
                assert c.makefile("rb").read().endswith(b"\r\n\r\na")
                c.close()


@pytest.mark.parametrize("name,listen", [("https", "Listen 127.0.0.1:{} https"), ("{}", "Listen 127.0.0.1:{}")])
def test_a_socket_is_found_by_its_name(serve, name, listen):
    """Where the manager opened another port than the configuration names."""
    with listening() as s:
        other = brigade.free_port()
        server = serve.unstarted(listen.format(other) + "\n", {"a.txt": "a"})
        with_sockets(server, [s], name.format(other)).start()
        server.port = s.getsockname()[1]
        assert server.get("/a.txt").body == b"a"
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", other), timeout=1)


def test_all_addresses_for_one_listen(serve):
    with listening("0.0.0.0") as s:
        port = s.getsockname()[1]
        server = serve.unstarted(f"Listen 127.0.0.1:{port}\n", {"a.txt": "a"})
        with_sockets(server, [s]).start()
        server.port = port
        assert server.get("/a.txt").body == b"a"


def test_what_nobody_serves_is_told(serve):
    with listening() as s, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        server = serve.unstarted("", {"a.txt": "a"})
        with_sockets(server, [s, datagrams], "web:names").start()
        assert server.get("/a.txt").body == b"a"
        said = server.read("logs/stderr") + server.error_log()
        assert b"no Listen line is for the socket of port %d (web)" % s.getsockname()[1] in said
        assert b"(names) is no TCP socket that listens" in said


def test_numbers_of_another_process(serve):
    """LISTEN_PID is somebody else's: the variables are not this server's, and are not passed on."""
    server = serve.unstarted("", {"a.txt": "a"}, env={"LISTEN_PID": "1", "LISTEN_FDS": "1"}).start()
    assert server.get("/a.txt").body == b"a"
    assert b"LISTEN_FDS" not in server.error_log()
