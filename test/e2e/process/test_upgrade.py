# SPDX-License-Identifier: Apache-2.0
"""-k upgrade: another program takes the place of the one that runs, and no client sees it."""
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

import effort
import brigade
from brigade import BINARY, wait_until
from cache_site import await_hits, hits
from module_source import compile_text
from processes import Load, configured, reload
from service_manager import Manager, listening, with_sockets
from tls_site import certificate
from trouble import descriptors, sanitizer, slow_client

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A\n", "big.bin": bytes(range(256)) * 30_000}
BASE = "MaxKeepAliveRequests 0\nKeepAliveTimeout 30\n"
ROUNDS = effort.count(3)  # 100 by hand

# As a new program that does not start, or is not even found good by its trial.
FAILS = """
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "http_log.h"
static int is_trial(void)
{
    char line[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t n = read(fd, line, sizeof line);

    close(fd);
    return n > 4 && memmem(line, (size_t)n, "\\0-t", 4) != NULL;
}
static int new_program(apr_pool_t *p)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    if (is_trial() != TRIAL)
        return 0;
    return !strstr(self, "(deleted)") && !access(ap_server_root_relative(p, "logs/fail"), F_OK);
}
static void *volatile last;
static pthread_t other;
static void *sleeps(void *data)
{
    for (;;)
        pause();
}
static int fails_open(apr_pool_t *p, apr_pool_t *l, apr_pool_t *t, server_rec *s)
{
    if (!new_program(p))
        return OK;
    if (AT == 1)
        return 500;
    if (AT == 2)
        exit(0);
    if (AT == 3)
        raise(SIGSEGV);
    if (AT == 5)
        for (;;)
            pause();
    if (AT == 7 && !pthread_create(&other, NULL, sleeps, NULL)) /* with a second thread malloc() takes locks */
        for (unsigned n = 0;; n++)
            free(last), last = malloc(2000 + n % 9000);
    return OK;
}
static void fails_child(apr_pool_t *p, server_rec *s)
{
    if (AT == 4 && new_program(p))
        exit(1);
    if (AT == 6 && new_program(p))
        for (;;)
            pause();
}
static void fails_hooks(apr_pool_t *p)
{
    ap_hook_open_logs(fails_open, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(fails_child, NULL, NULL, APR_HOOK_MIDDLE);
}
"""


@pytest.fixture
def own(serve):
    """Servers whose program is a copy of their own."""
    def make(config="", files=None, **more):
        server = serve.unstarted(BASE + config, files or FILES, **more)
        server.binary = server.path("brigade")
        shutil.copy(BINARY, server.binary)
        return server
    return make


def up(server):
    """Start it; the program reads its configuration twice before it is up."""
    server.start()
    wait_until(lambda: configured(server), "the start")
    wait_until(server.children, "processes")
    return server


def replace(server, content=None):
    """What a package does: another file by the same name."""
    new = server.binary + ".new"
    if content is None:
        shutil.copy(BINARY, new)
    else:
        with open(new, "wb") as f:
            f.write(content)
        os.chmod(new, 0o755)
    os.rename(new, server.binary)


def is_new(server):
    """The supervisor runs the file that is there now."""
    there = os.stat(server.binary)
    here = os.stat(f"/proc/{server.process.pid}/exe")
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def upgrade(server):
    """It takes over, and the processes of the old one are told to end."""
    before, count = set(server.children()), configured(server)
    replace(server)
    done = subprocess.run(server.command("-k", "upgrade"), capture_output=True, env=server.env, timeout=60)
    assert done.returncode == 0, done
    wait_until(lambda: configured(server) > count, "the new program")
    wait_until(lambda: set(server.children()) - before, "new processes")
    assert is_new(server)
    return before


def settled(server, n=1):
    wait_until(lambda: len(server.children()) == n, f"{n} processes")


@pytest.mark.slow
@pytest.mark.parametrize("mpm", ["", "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\nStartServers 3\nMaxSpareServers 5\n"], ids=["event", "prefork"])
def test_under_load(own, mpm):
    server = up(own(mpm + ("EventLoops 2\n" if not mpm else "")))
    pid, number = server.process.pid, wait_until(lambda: server.read("logs/httpd.pid"), "the pid file")
    with Load(server, clients=2) as kept, Load(server, clients=1, keepalive=False) as fresh:
        for _ in range(ROUNDS):
            upgrade(server)
    assert not kept.failed and not fresh.failed, (kept.failed[:5], fresh.failed[:5])
    assert server.process.poll() is None and server.process.pid == pid
    assert server.read("logs/httpd.pid") == number
    if not mpm:
        settled(server)


def test_nothing_is_left_behind(own):
    server = up(own('CustomLog "|$cat >>@ROOT@/logs/piped" "%r"\n'))
    server.get("/a.txt")
    upgrade(server)
    settled(server, 2)
    first = descriptors(server.process.pid)
    for _ in range(3):
        assert server.get("/a.txt").body == b"A\n"
        upgrade(server)
        settled(server, 2)
    assert descriptors(server.process.pid) <= first
    assert server.get("/a.txt").body == b"A\n"
    assert server.stop() == 0
    wait_until(lambda: server.read("logs/piped").count(b"GET /a.txt") == 5, "the lines of all programs")


def test_a_download_goes_on(own):
    server = up(own())
    with slow_client(server) as c:
        c.send("GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        head = c.socket.recv(100)
        upgrade(server)
        assert len(server.children()) == 2  # the old one has this client still
        body = head
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        while data := c.socket.recv(1 << 20):
            body += data
    assert body.split(b"\r\n\r\n", 1)[1] == FILES["big.bin"]
    settled(server)


def test_figures_go_on(own):
    """What the old program counted counts on, that of its processes that still finish included."""
    server = up(own('<Location "/status">\nSetHandler server-status\n</Location>\n<Location "/metrics">\nSetHandler metrics\n</Location>\n'))

    def total():
        status = dict(line.split(": ", 1) for line in server.get("/status?auto").body.decode().splitlines() if ": " in line)
        metrics = re.search(r"^brigade_requests_total (\d+)", server.get("/metrics").body.decode(), re.M)
        started = re.search(r"^brigade_start_time_seconds (\S+)", server.get("/metrics").body.decode(), re.M)
        return int(status["Total Accesses"]), int(metrics[1]), float(started[1]), int(status["Total kBytes"])

    for _ in range(50):
        server.get("/a.txt")
    before = total()
    assert before[0] >= 50
    with slow_client(server) as c:
        c.send("GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        c.socket.recv(100)
        upgrade(server)
        during = total()
        assert len(server.children()) == 2 and before[0] < during[0] < before[0] + 20 and before[1] < during[1] < before[1] + 20
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        while c.socket.recv(1 << 20):
            pass
    settled(server)
    after = total()
    assert during[0] < after[0] < during[0] + 20 and after[2] == before[2]
    assert during[3] < len(FILES["big.bin"]) // 1024 <= after[3]


@pytest.mark.parametrize("way", [upgrade, reload], ids=["upgrade", "reload"])
def test_what_was_hot_is_stored_sooner(own, way):
    """In a folder that the new process does not know, it is answered from memory from the third request on, anything else from the
    fourth."""
    server = up(own("EventLoops 1\nServerProcesses 1\n<Location /metrics>\nSetHandler metrics\n</Location>\n",
                    {"hot.txt": "A\n", "cold/cold.txt": "A\n"}))
    for name in ("hot.txt", "cold/cold.txt"):
        os.utime(server.path("htdocs", name), (time.time() - 3600,) * 2)

    def fetch(target, times):
        with server.connect() as c:
            for _ in range(times):
                assert c.get(target).body == b"A\n"

    fetch("/hot.txt", 10)
    way(server)
    settled(server)
    await_hits(server, 7)
    before = hits(server)
    assert before == 7  # counted by a process that ended within the second
    fetch("/hot.txt", 13)
    fetch("/cold/cold.txt", 13)
    await_hits(server, before + 21)
    assert hits(server) == before + 21


@pytest.mark.parametrize("content, why", [(b"\x7fELF\2\1\1\0" + bytes(8) + b"\2\0\xf7\0" + bytes(100), "Exec format error"), (b"#!/bin/sh\nexit 0\n", "is no Brigade"),
                                          (b"#!/bin/sh\necho broken >&2\nexit 1\n", "broken")], ids=["machine", "other", "broken"])
def test_a_program_that_is_no_good(own, content, why):
    server = up(own())
    before = server.children()
    replace(server, content)
    server.signal(signal.SIGUSR2)
    server.wait_for_log(why)
    server.wait_for_log("goes on")
    assert server.get("/a.txt").body == b"A\n" and server.children() == before
    os.unlink(server.binary)
    server.signal(signal.SIGUSR2)
    server.wait_for_log("No such file")
    assert server.get("/a.txt").body == b"A\n" and server.children() == before
    upgrade(server)


@pytest.mark.parametrize("order", [signal.SIGUSR2, signal.SIGUSR1], ids=["upgrade", "reload"])
def test_a_trial_that_hangs(own, order):
    """The supervisor looks after its processes again when the time is over."""
    server = up(own("ReloadTimeout 1\n"))
    before = server.children()
    os.mkfifo(server.path("conf/waits"))
    server.write("httpd.conf", server.read("conf/httpd.conf").decode() + f"Include {server.path('conf/waits')}\n", base="conf")
    server.signal(order)
    server.wait_for_log(r"within 1 seconds \(ReloadTimeout\)")
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: server.children() not in ([], before), "the next process")
    assert server.get("/a.txt").body == b"A\n"


def test_a_configuration_that_is_no_good(own):
    server = up(own())
    before = server.children()
    server.write("httpd.conf", "Nonsense\n", base="conf")
    replace(server)
    server.signal(signal.SIGUSR2)
    server.wait_for_log("does not find the configuration usable")
    assert server.get("/a.txt").body == b"A\n" and server.children() == before and not is_new(server)


@pytest.mark.parametrize("where,why", [(1, "mod_fails.c: AH00015"), (2, r"mod_fails.c called exit\(\) in hook open_logs"),
                                       (3, "by signal 11: .*crashed in module mod_fails.c, hook open_logs"), (5, "has not read the configuration within 1 seconds")])
def test_a_program_whose_trial_fails(own, where, why):
    """Nothing changes, whatever a module does in it."""
    if where == 3 and sanitizer():
        pytest.skip("the sanitizer ends a process that crashes")
    server = own("LoadModule fails_module @ROOT@/mod_fails.so\nReloadTimeout 1\n")
    server.expect_trouble = where == 3
    compile_text(server.root, "fails", FAILS, f"-DAT={where}", "-DTRIAL=1")
    up(server)
    server.write("fail", "", base="logs")
    before = server.children()
    replace(server)
    with Load(server, clients=2) as load:
        server.signal(signal.SIGUSR2)
        server.wait_for_log(why)
        wait_until(lambda: server.children() == before, "the trial to end")
    assert not load.failed, load.failed[:5]
    assert not is_new(server) and configured(server) == 1


@pytest.mark.parametrize("where", [1, 2, 3, 4, 5, 6, 7], ids=["refuses", "exits", "crashes", "children", "hangs", "children hang", "is busy with the heap"])
def test_a_program_that_does_not_come_up(own, where):
    """The old one goes on: the same program, with processes that serve."""
    if where == 3 and sanitizer():
        pytest.skip("the sanitizer ends a process that crashes")
    server = own("LoadModule fails_module @ROOT@/mod_fails.so\nReloadTimeout 1\n")
    server.expect_trouble = where == 3
    compile_text(server.root, "fails", FAILS, f"-DAT={where}", "-DTRIAL=0")
    up(server)
    assert server.get("/a.txt").body == b"A\n"  # its process has looked for the file
    first = os.stat(f"/proc/{server.process.pid}/exe").st_ino
    server.write("fail", "", base="logs")
    count = configured(server)
    replace(server)
    with Load(server, clients=2) as load:
        server.signal(signal.SIGUSR2)
        server.wait_for_log("the one before it goes on")
        wait_until(lambda: configured(server) > count + (where in (4, 6)), "the old program")
    assert not load.failed, load.failed[:5]
    assert os.stat(f"/proc/{server.process.pid}/exe").st_ino == first
    settled(server)
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        assert re.search(r"^SigBlk:\t0+$", f.read(), re.M)
    os.unlink(server.path("logs/fail"))
    upgrade(server)
    assert server.get("/a.txt").body == b"A\n"
    settled(server)


def test_an_upgrade_before_the_last_one_is_done(own):
    """The next program takes over from one whose processes are not up yet."""
    server = own("LoadModule fails_module @ROOT@/mod_fails.so\nReloadTimeout 30\n")
    compile_text(server.root, "fails", FAILS, "-DAT=6", "-DTRIAL=0")
    up(server)
    assert server.get("/a.txt").body == b"A\n"  # its process has looked for the file
    server.write("fail", "", base="logs")
    replace(server)
    with Load(server, clients=2) as load:
        server.signal(signal.SIGUSR2)
        wait_until(lambda: configured(server) == 2 and len(server.children()) == 2, "a program whose process hangs")
        os.unlink(server.path("logs/fail"))
        replace(server)
        server.signal(signal.SIGUSR2)
        wait_until(lambda: configured(server) == 3 and is_new(server), "the next program")
        count = load.done
        wait_until(lambda: load.done > count + 100, "requests")
    assert not load.failed, load.failed[:5]
    upgrade(server)
    assert server.get("/a.txt").body == b"A\n"


def test_tls_sessions_are_resumed(own):
    tls = "SSLEngine On\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"
    server = own(tls + "SSLSessionCache shmcb:@ROOT@/logs/cache(512000)\n", wait=False)
    certificate(server)
    up(server)

    def connected(version, options=0, before=None):
        context = before[0] if before else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if not before:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.minimum_version = context.maximum_version = version
            context.options |= options
        with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
            with context.wrap_socket(s, server_hostname="localhost", session=before[1] if before else None) as t:
                t.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                while t.recv(1000):
                    pass
                return t.session_reused, (context, t.session)

    ways = [(ssl.TLSVersion.TLSv1_3, 0), (ssl.TLSVersion.TLSv1_2, 0), (ssl.TLSVersion.TLSv1_2, ssl.OP_NO_TICKET)]
    sessions = [connected(*way)[1] for way in ways]
    upgrade(server)
    settled(server)
    assert [connected(*way, before=session)[0] for way, session in zip(ways, sessions)] == [True] * 3


def test_the_service_manager(own, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    given = listening()
    server = own(env={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"})
    with_sockets(server, [given])
    server.start()
    given.close()
    assert int(manager.next("READY")["MAINPID"]) == server.process.pid
    for _ in range(2):
        replace(server)
        server.signal(signal.SIGUSR2)
        assert "MONOTONIC_USEC" in manager.next("RELOADING")
        assert int(manager.next("READY")["MAINPID"]) == server.process.pid
        assert is_new(server)
        assert manager.next("WATCHDOG")["WATCHDOG"] == "1"
    server.signal(signal.SIGTERM)
    assert "STOPPING" in manager.next("STOPPING")
    manager.close()


def test_sockets_of_the_service_manager(own):
    """They are used on, and those that a reload after it takes in are still known."""
    sockets = [listening(), listening()]
    ports = [s.getsockname()[1] for s in sockets]
    server = own()
    with_sockets(server, sockets, "one:two")
    server.port = ports[0]
    server.write_config()
    server._spawn()
    for s in sockets:
        s.close()
    assert server._ready()
    wait_until(lambda: configured(server), "the start")
    upgrade(server)
    assert server.get("/a.txt").body == b"A\n"
    assert server.error_log().count(b"no Listen line is for") >= 2  # told by both programs
    server.config += f"Listen 127.0.0.1:{ports[1]}\n"
    server.write_config()
    count = configured(server)
    server.signal(signal.SIGUSR1)
    wait_until(lambda: configured(server) > count, "the reload")
    server.port = ports[1]
    wait_until(lambda: server.get("/a.txt").body == b"A\n", "an answer at the other socket")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="gives up root")
def test_rights_of_the_service_manager(own):
    """The supervisor that is not root keeps what it was given, for the next program, too; server processes, whose memory is closed to others
    of the user, and programs that it starts have nothing of it."""
    server = own('CustomLog "|$grep ^CapPrm /proc/self/status >>@ROOT@/logs/rights; exec cat" "%r"\n')
    for folder, _, names in os.walk(server.root):
        for path in [folder] + [os.path.join(folder, name) for name in names]:
            os.chown(path, 65534, 65534)
    command = server.command
    server.command = lambda *more: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service",
                                    *command(*more)]
    up(server)

    def permitted(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return int(re.search(r"^CapPrm:\t(\w+)", f.read(), re.M)[1], 16)

    def rights():
        """Of the supervisor, of its server processes, and whether their memory is closed: the kernel gives these files to root."""
        try:
            serving = [pid for pid in server.children() if os.readlink(f"/proc/{pid}/exe") == os.readlink(f"/proc/{server.process.pid}/exe")]
            return permitted(server.process.pid), {permitted(pid) for pid in serving}, {os.stat(f"/proc/{pid}/io").st_uid == 0 for pid in serving}
        except (FileNotFoundError, ProcessLookupError):
            return None  # one of them has ended
    wait_until(lambda: rights() == (1 << 10, {0}, {True}), "processes that gave up what they need not have")
    upgrade(server)
    wait_until(lambda: rights() == (1 << 10, {0}, {True}), "processes of the other program")
    assert {line.split()[1] for line in server.read("logs/rights").splitlines()} == {b"0" * 16}


def test_one_process_refuses(own):
    server = own(args=["-X"]).start()
    wait_until(lambda: server.get("/a.txt").status == 200, "an answer")
    server.signal(signal.SIGUSR2)
    server.wait_for_log(r"\(-X\) cannot reload")
    assert server.get("/a.txt").body == b"A\n"


def test_a_server_that_does_not_know_the_signal(own):
    """It would be its end: nothing is sent."""
    server = own()
    with subprocess.Popen(["sleep", "60"]) as other:
        server.write("httpd.pid", f"{other.pid}\n", base="logs")
        done = server.run("-k", "upgrade")
        assert done.returncode == 1 and b"cannot be upgraded" in done.stderr and other.poll() is None
        other.kill()
    os.unlink(server.path("logs/httpd.pid"))


def test_no_server_runs(own):
    done = own().run("-k", "upgrade")
    assert b"not running" in done.stdout and done.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed")
def test_under_wrk(own):
    server = up(own("EventLoops 2\n"))
    load = subprocess.Popen(["wrk", "-t1", "-c20", f"-d{max(2, ROUNDS // 2)}s", f"http://127.0.0.1:{server.port}/a.txt"], stdout=subprocess.PIPE, text=True)
    for _ in range(ROUNDS):
        upgrade(server)
    output = load.communicate(timeout=120)[0]
    assert "Socket errors" not in output and "Non-2xx" not in output, output
    assert int(re.search(r"(\d+) requests in", output)[1]) > 500
    settled(server)


LEAVES = """#!/bin/sh
case " $* " in *" -t "*) exec @BINARY@ "$@";; esac
@END@
"""


@pytest.mark.parametrize("end", ["exit 0", "kill -9 $$", "exec /bin/false"])
def test_a_program_that_leaves_without_a_word(own, end):
    """It passes its trial, and nothing in it leads back: the program before it goes on, as another process."""
    server = up(own())
    first, number = server.process.pid, server.read("logs/httpd.pid")
    replace(server, LEAVES.replace("@BINARY@", BINARY).replace("@END@", end).encode())
    with Load(server, clients=2) as load:
        server.signal(signal.SIGUSR2)
        server.wait_for_log("the one before it goes on")
        server.process.wait(20)
        wait_until(lambda: server.read("logs/httpd.pid").strip() not in (b"", number.strip()), "another process")
        wait_until(lambda: configured(server) == 2, "the configuration")
        count = load.done
        wait_until(lambda: load.done > count + 100, "requests")
    assert not load.failed, load.failed[:5]
    after = int(server.read("logs/httpd.pid"))
    assert after != first
    replace(server)
    os.kill(after, signal.SIGUSR2)  # and can be upgraded
    wait_until(lambda: configured(server) == 3, "the next program")
    assert server.get("/a.txt").body == b"A\n"
    os.kill(after, signal.SIGTERM)
    wait_until(lambda: not os.path.exists(f"/proc/{after}"), "the end")


@pytest.mark.skipif(os.geteuid() != 0, reason="for the program that root runs")
@pytest.mark.parametrize("what, why", [("file", "does not belong to root"), ("mode", "can be written to by others"), ("folder", "can be written to by others"),
                                       ("link", "does not belong to root")])
def test_a_program_that_others_can_exchange(own, what, why):
    """Root does not run it: neither the program nor a folder above it is somebody else's, nor is one that a link leads to."""
    server = own()
    os.mkdir(server.path("sbin"))
    os.mkdir(server.path("real"))
    server.binary = server.path("sbin/brigade")
    shutil.copy(BINARY, server.path("real/brigade"))
    os.symlink("../real/brigade", server.binary)
    up(server)
    before = server.children()
    program = server.path("real/brigade")
    {"file": lambda: os.chown(program, 65534, 0), "mode": lambda: os.chmod(program, 0o775),
     "folder": lambda: os.chmod(server.path("real"), 0o777), "link": lambda: os.chown(server.path("sbin"), 65534, 0)}[what]()
    server.signal(signal.SIGUSR2)
    assert why in server.wait_for_log(r"is not run as root: .*").group().decode()
    assert server.get("/a.txt").body == b"A\n" and server.children() == before
    os.chown(program, 0, 0)
    os.chmod(program, 0o755)
    os.chmod(server.path("real"), 0o755)
    os.chown(server.path("sbin"), 0, 0)
    count = configured(server)
    server.signal(signal.SIGUSR2)
    wait_until(lambda: configured(server) > count, "the upgrade")


def test_limits_count_on(own):
    """What keys have used is in memory that the new program takes over."""
    server = up(own("RequestLimit one rate=1/h burst=9\n"))
    while server.get("/a.txt").status == 200:
        pass
    upgrade(server)
    assert server.get("/a.txt").status == 429
