# SPDX-License-Identifier: Apache-2.0
"""Reloads: no request is lost over any number of them, whatever changes, and nothing is left behind."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from brigade import APACHE_MODULES, BINARY, free_port, is_apache, wait_until
from http_client import Truncated, request_bytes
from processes import Load, accepts, configured, reload
from trouble import answers, descriptors, sanitizer, slow_client

FILES = {"a.txt": "A\n", "big.bin": bytes(range(256)) * 60_000}
BASE = "MaxKeepAliveRequests 0\nKeepAliveTimeout 30\n"


def settled(server, n=1):
    """Only the newest generation is left."""
    wait_until(lambda: len(server.children()) == n, f"{n} processes instead of {server.children()}")


def wrk(server, seconds, connections=20):
    return subprocess.Popen(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"http://127.0.0.1:{server.port}/a.txt"],
                            stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed")
@pytest.mark.threads
def test_twenty_graceful_restarts_under_wrk(serve):
    """Not one failed request, and of the twenty generations, or as many as there are under the load, one remains."""
    server = serve(BASE + "EventLoops 2\n", FILES)
    load, reloads = wrk(server, 6), 0
    while reloads < 20 and load.poll() is None:
        reload(server)
        reloads += 1
    assert reloads > 3
    output = load.communicate(timeout=60)[0]
    assert "Socket errors" not in output and "Non-2xx" not in output, output
    assert int(re.search(r"(\d+) requests in", output)[1]) > 500
    settled(server)


@pytest.mark.only("brigade")
def test_reload_that_is_asked_for_during_the_start(serve):
    """It comes after the start; it does not end the server."""
    for _ in range(10):
        server = serve.unstarted('CustomLog "|$cat >>@ROOT@/logs/piped" "%r"\n', FILES, wait=False)
        server.start()
        wait_until(lambda: server._children() or server.process.poll() is not None, "a first child")
        server.signal(signal.SIGUSR1)
        server.signal(signal.SIGHUP)
        wait_until(lambda: answers(server), "an answer")
        wait_until(lambda: configured(server) >= 2, "the second configuration")
        assert server.stop() == 0


@pytest.mark.only("brigade")
@pytest.mark.threads
@pytest.mark.slow
def test_restarts_faster_than_processes_start(serve):
    """Signals that come one upon the other: the last configuration serves in the end, and no request is lost."""
    server = serve(BASE + "ServerProcesses 3\nHeader set X-Gen 0\n", FILES)
    with Load(server, clients=4) as load:
        for turn in range(40):
            server.write_config(BASE + f"ServerProcesses 3\nHeader set X-Gen {turn}\n")
            count = configured(server)
            server.signal(signal.SIGUSR1)
            wait_until(lambda: configured(server) > count, "the new configuration")
        wait_until(lambda: server.get("/a.txt")["X-Gen"] == "39", "the last configuration")
        count = load.done
        wait_until(lambda: load.done > count + 100, "requests")
    assert load.failed == []
    settled(server, 3)


@pytest.mark.only("brigade")
@pytest.mark.threads
@pytest.mark.parametrize("keepalive", [True, False])
def test_everything_changes_under_load(serve, keepalive):
    """More and fewer loops, processes and workers: the sockets of loops that are no more are served by others."""
    shapes = [(1, 1), (4, 1), (2, 3), (1, 1), (3, 2), (1, 2), (2, 1)]
    server = serve(BASE + "EventLoops 1\n", FILES)
    with Load(server, clients=6, keepalive=keepalive) as load:
        for loops, processes in shapes:
            reload(server, BASE + f"EventLoops {loops}\nServerProcesses {processes}\nThreadsPerChild {loops * 5}\n")
            count = load.done
            wait_until(lambda: load.done > count + 60, "requests")
            settled(server, processes)
    assert load.failed == []


@pytest.mark.only("brigade")
@pytest.mark.threads
def test_ports_come_and_go_under_load(serve):
    server = serve(BASE, FILES)
    ports = [free_port() for _ in range(3)]
    with Load(server, clients=4, keepalive=False) as load:
        for chosen in (ports[:1], ports, ports[1:2], [], ports[2:]):
            reload(server, BASE + "".join(f"Listen 127.0.0.1:{p}\n" for p in chosen))
            settled(server)
            for p in ports:
                assert accepts(p) == (p in chosen)
            count = load.done
            wait_until(lambda: load.done > count + 30, "requests")
    assert load.failed == []


@pytest.mark.only("brigade")
def test_nothing_is_left_behind(serve):
    """Descriptors, processes and memory of the supervisor are the same after one restart and after many."""
    server = serve(BASE + 'CustomLog "|$cat >>@ROOT@/logs/piped" "%r"\nServerProcesses 2\n', FILES)

    def turn():
        reload(server)
        assert answers(server)
        wait_until(lambda: sum(c in servers(server) for c in server.children()) == 2, "two processes")

    def figures():
        pid = server.process.pid
        with open(f"/proc/{pid}/statm") as f:
            resident = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        with open(f"/proc/{pid}/maps") as f:
            maps = len(f.readlines())
        return descriptors(pid), maps, resident

    for _ in range(5):
        turn()
    wait_until(lambda: len(server.children()) <= 3, "old processes and logs to go")
    before = figures()
    for _ in range(25):
        turn()
    wait_until(lambda: len(server.children()) <= 3, "old processes and logs to go")
    after = figures()
    assert after[0] <= before[0] + 1, "descriptors"
    if not sanitizer():
        assert after[1] <= before[1] + 4, "mappings"
        assert after[2] <= before[2] + (2 << 20), "memory"


def servers(server):
    """Children that are server processes, not piped logs."""
    found = []
    for pid in server.children():
        try:
            if os.path.samefile(f"/proc/{pid}/exe", server.binary):
                found.append(pid)
        except OSError:
            pass
    return found


def begin_download(server):
    c = slow_client(server, 200_000)
    c.send(request_bytes("GET", "/big.bin"))
    assert c.read_head().status == 200
    return c


def test_old_generation_finishes_its_answers(serve):
    """A download that began before the reload ends after it; its process stays as long, and no longer."""
    server = serve(BASE, FILES)
    with begin_download(server) as c:
        old = reload(server, BASE + "Header set X-Gen 2\n")
        assert wait_until(lambda: server.get("/a.txt")["X-Gen"] == "2", "the new configuration")
        assert old <= set(server.children()), "the old process went too early"
        assert c.read_exactly(len(FILES["big.bin"])) == FILES["big.bin"]
    wait_until(lambda: not old & set(server.children()), "the old process to end")


def test_idle_connections_end_with_their_generation(serve):
    server = serve(BASE, FILES)
    with server.connect() as c:
        c.get("/a.txt")
        old = reload(server)
        begin = time.monotonic()
        assert c.at_end() and time.monotonic() - begin < 6
    wait_until(lambda: not old & set(server.children()), "the old process to end")


@pytest.mark.only("brigade")
@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=0-"}, {"Content-Length": "0"}])
def test_connection_of_an_old_generation_is_told_to_close(serve, headers):
    """A request that comes on a connection kept alive from before is still answered, with "close"."""
    server = serve(BASE, FILES)
    for _ in range(3):
        with server.connect() as c:
            c.get("/a.txt")
            old = set(server.children())
            server.signal(signal.SIGUSR1)

            def told():
                r = c.get("/a.txt", headers)
                assert r.body == b"A\n"
                return r["Connection"] == "close"
            wait_until(told, "the end of the connection")
            assert c.at_end()
        wait_until(lambda: not old & set(server.children()), "the old process to end")


def test_restart_does_not_wait(serve):
    """HUP ends what is under way, and the new processes serve at once."""
    server = serve(BASE, FILES)
    with begin_download(server) as c:
        old = reload(server, number=signal.SIGHUP)
        wait_until(lambda: not old & set(server.children()), "the old process to end")
        with pytest.raises(Truncated):
            c.read_exactly(len(FILES["big.bin"]))
    wait_until(lambda: answers(server), "an answer")


@pytest.mark.only("brigade")
@pytest.mark.threads
def test_restarts_under_load_refuse_nobody(serve):
    """With HUP open connections may break, but the sockets stay: new ones are always taken."""
    server = serve(BASE, FILES)
    with Load(server, clients=4) as load:
        for _ in range(5):
            old = reload(server, number=signal.SIGHUP)
            wait_until(lambda: not old & set(server.children()), "old processes to end")
            count = load.done
            wait_until(lambda: load.done > count + 30, "requests")
    assert not [f for f in load.failed if "Refused" in f], load.failed[:3]


@pytest.mark.parametrize("number,limit,whole", [(signal.SIGWINCH, 0, True), (signal.SIGWINCH, 1, False),
                                                (signal.SIGTERM, 0, False)])
def test_ends(serve, number, limit, whole):
    """WINCH waits for what is under way, at most GracefulShutdownTimeout; TERM does not wait."""
    server = serve(BASE + (f"GracefulShutdownTimeout {limit}\n" if limit else ""), FILES)
    with begin_download(server) as c:
        begin = time.monotonic()
        server.signal(number)
        wait_until(lambda: not accepts(server.port), "the sockets to close")
        if whole:
            assert server.process.poll() is None
            assert c.read_exactly(len(FILES["big.bin"])) == FILES["big.bin"]
        wait_until(lambda: server.process.poll() is not None, "the end")
        assert time.monotonic() - begin < limit + 6
        if not whole:
            with pytest.raises(Truncated):
                c.read_exactly(len(FILES["big.bin"]))


def test_term_cuts_a_graceful_stop_short(serve):
    server = serve(BASE, FILES)
    with begin_download(server):
        server.signal(signal.SIGWINCH)
        wait_until(lambda: not accepts(server.port), "the sockets to close")
        assert server.process.poll() is None
        assert server.stop() == 0


@pytest.mark.only("brigade")
@pytest.mark.parametrize("mistake", ["Nonsense\n", "<Directory />\n", "Listen nowhere.invalid:80\n", "ErrorLog /nowhere/x\n",
                                     "CustomLog /nowhere/x common\n", "LoadModule x_module nowhere.so\n",
                                     "Include conf/missing.conf\n", "DocumentRoot /nowhere\n"])
def test_reload_with_a_mistake_changes_nothing(serve, mistake):
    """Again and again, by signal and by command; and the next good one is taken."""
    server = serve("Header set X-Gen 1\n", FILES)
    wait_until(lambda: server.read("logs/httpd.pid"), "the PID file")
    before = server.children()
    with server.connect() as c:
        for number in (signal.SIGUSR1, signal.SIGHUP):
            size = len(server.error_log())
            server.write_config("Header set X-Gen 2\n" + mistake)
            server.signal(number)
            wait_until(lambda: re.search(rb"nfiguration|rror|yntax", server.error_log()[size:]), "the reason in the log")
            assert c.get("/a.txt")["X-Gen"] == "1"
            assert server.get("/a.txt")["X-Gen"] == "1"
    done = server.run("-k", "graceful")
    assert done.returncode == 1 and done.stderr
    assert server.children() == before and server.process.poll() is None
    reload(server, "Header set X-Gen 3\n")
    wait_until(lambda: server.get("/a.txt")["X-Gen"] == "3", "the third configuration")


@pytest.mark.only("brigade")
def test_worn_process_is_replaced(serve):
    """MaxConnectionsPerChild: its successor serves before it goes, so nobody is refused."""
    server = serve("MaxConnectionsPerChild 50\n", FILES)
    first = server.children()
    for n in range(400):
        assert server.get("/a.txt").body == b"A\n"
        if n > 60 and not set(first) & set(server.children()):
            break
    wait_until(lambda: not set(first) & set(server.children()), "another process")
    settled(server)


# ---- The queue of connections that nobody accepted yet --------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGWINCH, signal.SIGUSR1])
def test_a_graceful_end_serves_what_waits_in_the_queue(serve, number):
    """Connections that wait to be accepted when the order comes are answered, all of them, and at once."""
    server = serve("", FILES)
    children = server.children()
    for pid in children:
        os.kill(pid, signal.SIGSTOP)
    waiting = [server.connect() for _ in range(400)]
    for c in waiting:
        c.send("GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
    before = server.error_log().count(b"gracefully")
    server.signal(number)
    if number == signal.SIGWINCH:
        wait_until(lambda: server.error_log().count(b"gracefully") > before, "the order")
    else:
        wait_until(lambda: set(server.children()) - set(children), "the new processes")
    begin = time.monotonic()
    for pid in children:
        os.kill(pid, signal.SIGCONT)
    lost = 0
    for c in waiting:
        try:
            lost += c.read_response().body != b"A\n"
        except (Truncated, OSError):
            lost += 1
        c.close()
    assert lost == 0
    assert time.monotonic() - begin < 5


# ---- A configuration that cannot be read to its end -----------------------------------------------------------

@pytest.mark.only("brigade")
@pytest.mark.parametrize("read_once", [False, True])
@pytest.mark.slow
def test_a_reload_that_waits_for_a_fifo_can_be_ended(serve, read_once):
    """Where the check of the new configuration waits, and where its reading in place does."""
    server = serve("", FILES)
    fifo = server.path("conf/fifo.conf")
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    server.write_config(f"Include {fifo}\n")
    before = set(server.children())
    server.signal(signal.SIGUSR1)
    end = wait_until(lambda: writer(fifo), "a reader")
    check = set(server.children()) - before
    if read_once:
        for turn in range(2):  # as a start reads it
            wait_until(lambda: any(has_open(p, fifo) for p in check), "the check to open it")
            os.write(end, b"# read\n")
            os.close(end)
            if turn == 0:
                wait_until(lambda: not any(has_open(p, fifo) for p in check), "the check to close it")
                end = wait_until(lambda: writer(fifo), "the check to read it again")
        wait_until(lambda: not check & set(server.children()), "the check to end")
        end = wait_until(lambda: writer(fifo), "the next reader, the server itself")
    try:
        assert server.get("/a.txt").body == b"A\n"
        children = server.children()
        begin = time.monotonic()
        server.signal(signal.SIGTERM)
        server.process.wait(10)
        assert time.monotonic() - begin < 6
        wait_until(lambda: not [p for p in children if os.path.exists(f"/proc/{p}")], "all processes to end")
    finally:
        os.close(end)


def has_open(pid, path):
    try:
        return path in [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
    except OSError:  # closed meanwhile, or gone
        return os.path.exists(f"/proc/{pid}/fd")


def writer(fifo):
    """A descriptor to write to a FIFO, if somebody reads from it."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


# ---- Daemons of modules ---------------------------------------------------------------------------------------

@pytest.mark.skipif(not os.path.exists(os.path.join(APACHE_MODULES, "mod_wsgi.so")), reason="needs mod_wsgi")
@pytest.mark.slow
def test_reloads_with_wsgi_daemons_lose_no_request(serve):
    """The daemons go with their configuration: no process of it may still need them then."""
    server = serve("MaxKeepAliveRequests 0\n" + ("" if is_apache(BINARY) else "EventLoops 1\n") +
                   "LoadModule wsgi_module @MODULES@/mod_wsgi.so\nWSGISocketPrefix @ROOT@/logs/wsgi\n"
                   "WSGIDaemonProcess app processes=2 threads=5 shutdown-timeout=1\nWSGIProcessGroup app\n"
                   "WSGIScriptAlias /app @ROOT@/htdocs/app.wsgi\n",
                   dict(FILES, **{"app.wsgi": "def application(environ, start_response):\n"
                                              "    start_response('200 OK', [('Content-Length', '2')])\n    return [b'A\\n']\n"}),
                   env={"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=66"})  # Python leaks at its end
    wait_until(lambda: server.get("/app").body == b"A\n", "the application")
    with Load(server, clients=6, keepalive=False, target="/app") as load:
        for _ in range(3):
            reload(server)
            count = load.done
            wait_until(lambda: load.done > count + 100, "more requests")
    assert len(load.failed) <= (40 * 3 if is_apache(BINARY) else 0)
