# SPDX-License-Identifier: Apache-2.0
"""Processes: start, stop, reload, signals, crashes, and resources that run out."""
import os
import pwd
import re
import resource
import shutil
import signal
import subprocess
import threading
import time

import pytest

import brigade
import module_source
from brigade import wait_until
from http_client import Truncated
from processes import Load, accepts

FILES = {"index.html": "home\n", "a.txt": "A\n", "big.bin": b"x" * 3_000_000}


# ---- Start and stop -------------------------------------------------------------------------------------------

def test_term_ends_everything(serve):
    server = serve("", FILES)
    children = server.children()
    wait_until(lambda: server.read("logs/httpd.pid"), "the PID file")
    assert server.get("/a.txt").status == 200
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 5
    assert not accepts(server.port)
    assert not os.path.exists(server.path("logs/httpd.pid"))
    assert not [p for p in children if os.path.exists(f"/proc/{p}")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_that_stop(serve, number):
    server = serve("", FILES)
    server.signal(number)
    wait_until(lambda: server.process.poll() is not None, "the end")
    assert not accepts(server.port)


def test_pid_file(serve):
    server = serve("", FILES)
    assert int(wait_until(lambda: server.read("logs/httpd.pid"), "the PID file")) == server.process.pid
    os.kill(int(server.read("logs/httpd.pid")), 0)


def test_background_start_and_k_commands(serve):
    server = serve.unstarted("", FILES)
    done = server.run("-k", "start")
    assert done.returncode == 0, done.stderr.decode()
    pid = int(wait_until(lambda: server.read("logs/httpd.pid"), "the PID file"))
    try:
        wait_until(lambda: accepts(server.port), "the server")
        assert server.get("/a.txt").body == b"A\n"
        for command in ("graceful", "restart", *(() if server.apache else ("reload",))):
            assert server.run("-k", command).returncode == 0
            wait_until(lambda: accepts(server.port), "the server")
            wait_until(lambda: server.get("/a.txt").status == 200, "an answer")
        again = server.run("-k", "start")
        assert b"already running" in again.stdout + again.stderr
        assert server.run("-k", "stop").returncode == 0
        wait_until(lambda: not os.path.exists(f"/proc/{pid}") and not accepts(server.port), "the end")
        gone = server.run("-k", "graceful-stop")
        assert b"not running" in gone.stdout + gone.stderr
    finally:
        if os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.only("brigade")
@pytest.mark.parametrize("command", ["graceful", "reload"])
def test_a_reload_starts_no_server(serve, command):
    """Where none runs, the PidFile that was looked at is named."""
    server = serve.unstarted("", FILES)
    done = server.run("-k", command)
    assert done.returncode == 1 and f"PidFile {server.path('logs/httpd.pid')} was looked at".encode() in done.stderr, done
    assert b"nothing is reloaded" in done.stderr and not accepts(server.port) and not server.error_log()
    server.write("httpd.pid", "999999999\n", base="logs")
    done = server.run("-k", command)
    assert done.returncode == 1 and b"(pid 999999999?) not running; PidFile" in done.stderr and not accepts(server.port), done


@pytest.mark.only("brigade")
def test_the_status_of_a_server(serve):
    server = serve.unstarted("", FILES)
    done = server.run("-k", "status")
    assert done.returncode == 3 and b"not running; PidFile" in done.stderr, done
    server.start()
    wait_until(lambda: server.read("logs/httpd.pid"), "the PID file")
    done = server.run("-k", "status")
    assert (done.returncode, done.stdout.decode()) == (0, f"httpd (pid {server.process.pid}) running, PidFile {server.path('logs/httpd.pid')}\n"), done


def test_graceful_stop_lets_requests_end(serve):
    server = serve("GracefulShutdownTimeout 20\n", FILES)
    with server.connect() as c:
        c.send("GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = c.read_head()
        server.signal(signal.SIGWINCH)
        wait_until(lambda: not accepts(server.port), "the sockets to close")
        assert c.read_exactly(int(head["Content-Length"])) == FILES["big.bin"]
    wait_until(lambda: server.process.poll() is not None, "the end")
    assert server.process.returncode == 0


@pytest.mark.only("brigade")
@pytest.mark.parametrize("how", ["move", "remove", "replace"])
def test_log_files_that_are_moved_are_opened_anew(serve, how):
    server = serve("CustomLog @ROOT@/logs/access.log %U\n", FILES)
    assert server.get("/a.txt?0").status == 200
    wait_until(lambda: server.read("logs/access.log"), "a line")
    log, old = server.path("logs/access.log"), server.path("logs/access.log.1")
    if how == "remove":
        os.unlink(log)
    else:
        os.rename(log, old)
    if how == "replace":
        with open(log, "w", encoding="utf-8"):
            os.chmod(log, 0o640)

    def logged():
        server.get("/late.txt")
        return b"/late.txt" in server.read("logs/access.log")
    server.wait_for_log("log files were moved or removed")
    wait_until(logged, "a line in the new file")
    assert server.read("logs/error_log").count(b"log files were moved") == 1
    os.rename(server.path("logs/error_log"), server.path("logs/error_log.1"))
    wait_until(lambda: b"resuming normal operations" in server.read("logs/error_log"), "the new error log")


MOVER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    int (*real)(int, const char *, uint32_t) = (int (*)(int, const char *, uint32_t))dlsym(RTLD_NEXT, "inotify_add_watch");
    size_t len = strlen(path);
    char old[4096];
    static int moved;

    snprintf(old, sizeof old, "%s.1", path);
    if (len > 11 && !strcmp(path + len - 11, "/access.log") && moved++ < 2) { /* a start opens logs twice */
        rename(path, old);
        if (REPLACED)
            fclose(fopen(path, "w"));
    }
    return real(fd, path, mask);
}
"""


@pytest.mark.only("brigade")
@pytest.mark.parametrize("replaced", [0, 1])
def test_a_log_file_that_is_moved_before_it_is_watched(serve, tmp_path, replaced):
    (tmp_path / "mover.c").write_text(MOVER)
    so = module_source.compile_file(tmp_path / "mover.c", tmp_path / "mover.so", "-ldl", f"-DREPLACED={replaced}")
    server = serve("CustomLog @ROOT@/logs/access.log %U\n", FILES, env={"LD_PRELOAD": module_source.preloaded(so)})
    server.wait_for_log("log files were moved or removed")

    def logged():
        server.get("/late.txt")
        return b"/late.txt" in server.read("logs/access.log")
    wait_until(logged, "a line in the new file")
    assert server.read("logs/error_log").count(b"log files were moved") == 1


READY = "<Location /ready>\nSetHandler ready\n</Location>\n"


@pytest.mark.only("brigade")
def test_readiness_turns_before_the_ports_close(serve):
    server = serve(READY + "GracefulDrainDelay 60\n", FILES)
    answer = server.get("/ready")
    assert (answer.status, answer.body, answer["Cache-Control"]) == (200, b"ready\n", "no-store")
    assert server.request("HEAD", "/ready").status == 200 and server.request("POST", "/ready").status == 405
    server.signal(signal.SIGWINCH)
    wait_until(lambda: server.get("/ready").status == 503, "readiness to turn")
    assert server.get("/ready").body == b"draining\n" and server.get("/a.txt").status == 200
    server.signal(signal.SIGHUP)
    server.wait_for_log("it takes no new configuration")
    assert server.get("/a.txt").status == 200
    server.signal(signal.SIGWINCH)  # enough
    wait_until(lambda: server.process.poll() is not None, "the end")
    assert server.process.returncode == 0


@pytest.mark.only("brigade")
def test_serving_on_ends_by_itself_or_by_an_order_to_end(serve):
    for delay, order in ((1, None), (60, signal.SIGTERM)):
        server = serve(READY + f"GracefulDrainDelay {delay}\n", FILES)
        server.signal(signal.SIGWINCH)
        wait_until(lambda: b"serving on for" in server.error_log(), "the delay to begin")
        if order:
            server.signal(order)
        wait_until(lambda: server.process.poll() is not None, "the end")
        assert server.process.returncode == 0


def test_single_process_debug_mode(serve):
    server = serve("", FILES, args=["-X"])
    assert server.get("/a.txt").body == b"A\n"
    assert server.stop() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_serves_as_user_and_group(serve):
    server = serve("", FILES)
    user = brigade.unprivileged_user()
    server.get("/a.txt")

    def uids():
        found = set()
        for child in server.children():
            with open(f"/proc/{child}/status") as f:
                found |= set(re.search(r"Uid:\s+(.*)", f.read())[1].split())
        return found
    wait_until(lambda: uids() == {str(pwd.getpwnam(user).pw_uid)}, "the processes to change their user")


# ---- Reload ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_reload_takes_the_new_configuration(serve, number):
    server = serve("Header set X-Gen 1\n", FILES)
    assert server.get("/a.txt")["X-Gen"] == "1"
    server.write_config("Header set X-Gen 2\n")
    server.signal(number)

    def new():
        try:
            return server.get("/a.txt")["X-Gen"] == "2"
        except (OSError, Truncated):
            return False
    wait_until(new, "the new configuration")


@pytest.mark.only("brigade")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_reload_with_a_bad_configuration_keeps_the_old_one(serve, number):
    server = serve("Header set X-Gen 1\n", FILES)
    server.write_config("Nonsense\n")
    server.signal(number)
    server.wait_for_log(r"Invalid command 'Nonsense'")
    for _ in range(5):
        assert server.get("/a.txt")["X-Gen"] == "1"
    server.write_config("Header set X-Gen 3\n")
    server.signal(number)
    wait_until(lambda: server.get("/a.txt")["X-Gen"] == "3", "the third configuration")


@pytest.mark.threads
@pytest.mark.parametrize("keepalive", [True, False])
def test_graceful_restart_loses_no_request(serve, keepalive):
    server = serve("MaxKeepAliveRequests 0\n", FILES)
    with Load(server, keepalive=keepalive) as load:
        for turn in range(4):
            before = server.children()
            server.signal(signal.SIGUSR1)
            wait_until(lambda: set(server.children()) - set(before), "new processes")
            count = load.done
            wait_until(lambda: load.done > count + 50, "requests")
    if not server.apache:
        assert load.failed == []
    else:
        assert len(load.failed) < 20, load.failed[:5]


@pytest.mark.slow
def test_graceful_restart_under_wrk(serve):
    if not shutil.which("wrk"):
        pytest.skip("wrk is not installed")
    server = serve("MaxKeepAliveRequests 0\n", FILES)
    wrk = subprocess.Popen(["wrk", "-t1", "-c20", "-d3s", f"http://127.0.0.1:{server.port}/a.txt"], stdout=subprocess.PIPE, text=True)
    for _ in range(3):
        before = server.children()
        server.signal(signal.SIGUSR1)
        wait_until(lambda: set(server.children()) - set(before), "new processes")
    output = wrk.communicate(timeout=30)[0]
    assert "Non-2xx" not in output, output
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    if errors and not server.apache:
        assert errors[1] == "0" and errors[4] == "0", output


def test_reload_adds_and_removes_ports(serve):
    extra = brigade.free_port()
    server = serve("", FILES)
    server.write_config(f"Listen 127.0.0.1:{extra}\n")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: accepts(extra), "the new port")
    assert server.get("/a.txt").status == 200
    server.write_config("")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: not accepts(extra), "the port to close")
    assert server.get("/a.txt").status == 200


def test_logs_can_be_rotated(serve):
    server = serve("CustomLog logs/access \"%r\"\n", FILES)
    server.get("/a.txt?before")
    server.wait_for_log(b"before", "logs/access")
    os.rename(server.path("logs/access"), server.path("logs/access.1"))
    server.signal(signal.SIGUSR1)
    wait_until(lambda: os.path.exists(server.path("logs/access")), "a new log")

    def logged():
        server.get("/a.txt?after")
        return b"after" in server.read("logs/access")
    wait_until(logged, "a line in the new log")
    assert b"before" not in server.read("logs/access")


# ---- Trouble --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_process_that_dies_is_replaced(serve, number):
    server = serve("", FILES)
    server.expect_trouble = True
    for _ in range(2):
        child = server.children()[0]
        os.kill(child, number)
        wait_until(lambda: child not in server.children(), "a new process")

        def answers():
            try:
                return server.get("/a.txt").body == b"A\n"
            except (OSError, Truncated):
                return False
        wait_until(answers, "an answer")
        assert accepts(server.port)
    if number != signal.SIGKILL:
        server.wait_for_log(r"exit signal")


def test_crashes_under_load_leave_listeners_open(serve):
    server = serve("", FILES)
    server.expect_trouble = True
    with Load(server) as load:
        for _ in range(3):
            child = server.children()[0]
            os.kill(child, signal.SIGSEGV)
            wait_until(lambda: child not in server.children(), "a new process")
            count = load.done
            wait_until(lambda: load.done > count + 20, "requests")
    assert not [f for f in load.failed if "Refused" in f], load.failed[:3]


@pytest.mark.only("brigade")
def test_descriptors_run_out_and_return(serve):
    server = serve("KeepAliveTimeout 30\n", FILES, limits={resource.RLIMIT_NOFILE: 64})
    server.get("/a.txt")
    clients = []
    try:
        for _ in range(120):
            c = server.connect(timeout=2)
            clients.append(c)
            c.send("GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        served = 0
        for c in clients[:4]:
            try:
                served += c.read_response().status in (200, 503)
            except (OSError, Truncated):
                pass
        assert served > 0
        assert server.process.poll() is None
    finally:
        for c in clients:
            c.close()

    def answers():
        try:
            return server.get("/a.txt").body == b"A\n"
        except (OSError, Truncated):
            return False
    wait_until(answers, "an answer once descriptors are free")
    # Each request that found no file has a line of its own; what is told of connections is told now and then.
    complaints = [line for line in server.error_log().splitlines() if b"oo many open files" in line and b"[client " not in line]
    assert len(complaints) < 30


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_disk_full_for_logs(serve):
    server = serve("CustomLog /dev/full \"%r\"\nCustomLog logs/access \"%r\"\n", FILES)
    for _ in range(5):
        assert server.get("/a.txt").body == b"A\n"
    server.wait_for_log(rb"GET /a.txt", "logs/access")


def test_idle_connections_do_not_stop_others(serve):
    server = serve("", FILES)
    idle = [server.connect() for _ in range(200)]
    try:
        for c in idle[::2]:
            c.send("GET /a")
        assert server.get("/a.txt").body == b"A\n"
    finally:
        for c in idle:
            c.close()


@pytest.mark.threads
def test_load_from_many_clients(serve):
    server = serve("MaxKeepAliveRequests 0\nKeepAliveTimeout 15\n", FILES)
    with Load(server, clients=12) as load:
        wait_until(lambda: load.done > 1500, "requests")
    assert load.failed == []


@pytest.mark.threads
def test_load_with_new_connections(serve):
    server = serve("", FILES)
    with Load(server, clients=6, keepalive=False) as load:
        wait_until(lambda: load.done > 400, "requests")
    assert load.failed == []


@pytest.mark.threads
def test_files_change_under_load(serve):
    """Readers see one version or another, never a mixture."""
    server = serve("MaxKeepAliveRequests 0\n", FILES)
    server.write("moving.txt", "0" * 5000)
    stop, wrong = threading.Event(), []

    def reader():
        with server.connect() as c:
            while not stop.is_set():
                r = c.get("/moving.txt")
                if len(set(r.body)) != 1 or len(r.body) != 5000:
                    wrong.append(r.body[:20])
    threads = [threading.Thread(target=reader) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for i in range(150):
            server.write("moving.tmp", chr(48 + i % 75) * 5000)
            os.rename(server.path("htdocs/moving.tmp"), server.path("htdocs/moving.txt"))
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert wrong == []


@pytest.mark.only("brigade")
def test_leaves_no_shared_memory_or_semaphores(serve):
    def ipcs():
        done = subprocess.run(["ipcs", "-ms"], capture_output=True, text=True)
        return done.stdout.count("\n")
    if not shutil.which("ipcs"):
        pytest.skip("ipcs is not installed")
    before = ipcs()
    server = serve("", FILES)
    server.get("/a.txt")
    server.stop()
    assert ipcs() == before


@pytest.mark.only("brigade")
def test_one_process_says_nothing_wrong_of_its_pid_file(serve):
    """As root it has given up the right to remove it by the time it ends."""
    server = serve("", args=["-X"])
    server.get("/")  # until then a signal may meet a process that does not wait for signals yet
    assert server.stop() == 0
    assert b"AH00095" not in server.error_log()
    server.args = []
    server.start()
    assert server.get("/").status in (200, 403, 404)


@pytest.mark.only("brigade")
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="gives up root")
@pytest.mark.parametrize("line, told", [("User nobody\nGroup nogroup", 0), ("User '#65534'", 0), ("User www-data\nGroup www-data", 1), ("Group www-data", 1), ("User none-such", 1),
                                        ("ChrootDir /tmp", 1)])
def test_a_user_that_has_no_effect(serve, line, told):
    """Is told once, where it is another one than the server's own."""
    server = serve.unstarted(line + "\nListen 127.0.0.1:@PORT@\nServerRoot @ROOT@\nErrorLog /dev/null\nTypesConfig /dev/null\nPidFile @ROOT@/logs/pid\n", bare=True)
    command = server.command
    server.command = lambda *more: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command(*more)]
    done = server.run("-t")
    assert done.returncode == 0 and done.stderr.count(b"have no effect") == told, done.stderr
