# SPDX-License-Identifier: Apache-2.0
"""Crashes, resources that run out, logs that cannot be written, paths that try to get out, things that are no files."""
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import time

import pytest

from brigade import wait_until
from http_client import Truncated, request_bytes
from test_l_lifecycle import Load
from trouble import (STATUS, answers, descriptors, reset, sanitizer, slow_client, status, with_trouble)

FILES = {"index.html": "home\n", "a.txt": "A\n", "big.bin": b"x" * 2_000_000}


def asked(server, target):
    """The answer, or None if the process went while it was asked."""
    try:
        return server.get(target)
    except (OSError, Truncated):
        return None


def connection_figures(server):
    return status(server)["totals"]["connections"]


# ---- Crashes --------------------------------------------------------------------------------------------------

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
    server.wait_for_log(rf'fatal signal SIGSEGV while serving "{method} /trouble\?crash&n=17 HTTP/1.1" for some.example')
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


# ---- Resources ------------------------------------------------------------------------------------------------

@pytest.mark.only("brigade")
@pytest.mark.parametrize("loops,processes", [(1, 1), (2, 1), (2, 2)])
def test_connections_are_limited_by_process(serve, loops, processes):
    """MaxRequestWorkers is the number of connections of all: the rest wait in the kernel, and are served later."""
    server = serve(f"EventLoops {loops}\nServerProcesses {processes}\nMaxRequestWorkers {12 * processes}\n"
                   "KeepAliveTimeout 60\n", FILES)
    clients = [server.connect() for _ in range(60)]
    try:
        for c in clients:
            c.send(request_bytes("GET", "/a.txt"))
            c.socket.setblocking(False)

        def served():
            n = 0
            for c in clients:
                try:
                    c.buffer += c.socket.recv(1000)
                except BlockingIOError:
                    pass
                n += b"A\n" in c.buffer
            return n
        wait_until(lambda: served() >= 6 * processes, "the first answers")
        assert served() <= 12 * processes
        while clients:
            wait_until(lambda: served() > 0, "answers to those that waited")
            for c in [c for c in clients if b"A\n" in c.buffer]:
                c.close()
                clients.remove(c)
    finally:
        for c in clients:
            c.close()


@pytest.mark.only("brigade")
@pytest.mark.parametrize("loops", [1, 2])
def test_descriptors_run_out_again_and_again(serve, loops):
    """So few that connections alone use them up: those that wait are served when others go, and the log stays short."""
    server = serve(f"EventLoops {loops}\nKeepAliveTimeout 60\n", FILES, limits={resource.RLIMIT_NOFILE: 12 + 4 * loops})
    child = server.children()[0]
    begin = time.monotonic()
    for turn in range(2):
        clients = [server.connect() for _ in range(30)]
        for c in clients:
            c.send(request_bytes("GET", "/a.txt"))
        wait_until(lambda: server.error_log().count(b"cannot accept connections for now") > turn, "the message")
        for c in clients:
            r = c.read_response()
            assert r.status == 503 or r.body == b"A\n", r
            c.close()
    said = server.error_log().count(b"cannot accept connections for now")
    assert said <= time.monotonic() - begin + 1, "said more than once a second"
    assert server.children() == [child]


@pytest.mark.only("brigade")
def test_files_do_not_use_up_the_descriptors(serve):
    """Remembered files that are kept open leave room for connections."""
    files = {f"f{i}.bin": bytes([i % 256]) * 100_000 for i in range(150)}
    server = serve("EnableSendfile On\nEventLoops 2\nMaxKeepAliveRequests 0\n", files, limits={resource.RLIMIT_NOFILE: 128})
    for name in files:
        os.utime(server.path("htdocs", name), (1_500_000_000, 1_500_000_000))
    for _ in range(4):
        with server.connect() as one, server.connect() as two:
            for name, content in files.items():
                assert one.get("/" + name).body == content
                assert two.get("/" + name).body == content
    clients = [server.connect() for _ in range(30)]
    for c in clients:
        assert c.get("/f0.bin").status == 200
    for c in clients:
        c.close()
    wait_until(lambda: descriptors(server.children()[0]) < 70, "descriptors to be closed")
    assert b"oo many open files" not in server.error_log()


def test_threads_cannot_be_made(serve):
    """Work that needs a thread gets 503 or waits; the rest is served."""
    if os.geteuid() == 0:
        pytest.skip("limits of processes do not bind root")
    server = serve(with_trouble(), FILES)
    child = server.children()[0]
    limit = resource.prlimit(child, resource.RLIMIT_NPROC)
    resource.prlimit(child, resource.RLIMIT_NPROC, (1, limit[1]))
    assert server.get("/trouble?pid").status in (200, 503)


# ---- Logs and start -------------------------------------------------------------------------------------------

@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.threads
def test_all_logs_full(serve):
    server = serve("ErrorLog /dev/full\nCustomLog /dev/full \"%r\"\nLogLevel debug\n", FILES)
    with Load(server, clients=3) as load:
        wait_until(lambda: load.done > 300, "requests")
        for _ in range(20):
            assert server.get("/missing").status == 404
        server.signal(signal.SIGUSR1)
        count = load.done
        wait_until(lambda: load.done > count + 300, "requests")
    assert load.failed == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_disk_full_and_free_again(serve):
    server = serve.unstarted("ErrorLog @ROOT@/small/error\nCustomLog @ROOT@/small/access \"%r\"\n", FILES)
    small = server.path("small")
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k,mode=755", "none", small]).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        server.start()
        target = "/a.txt?" + "x" * 1000
        for _ in range(60):
            assert server.get(target).body == b"A\n"
        wait_until(lambda: os.statvfs(small).f_bfree == 0, "the disk to be full")
        os.truncate(os.path.join(small, "access"), 0)
        server.get("/a.txt?room-again")
        wait_until(lambda: b"room-again" in server.read("small/access"), "a line after there is room again")
        server.stop()
    finally:
        server.stop()
        subprocess.run(["umount", "-l", small])


@pytest.mark.parametrize("line,pattern", [
    ("ErrorLog @ROOT@/nowhere/error\n", rb"nowhere/"), ("CustomLog @ROOT@/nowhere/access common\n", rb"nowhere/access"),
    ("ErrorLog @ROOT@\n", rb"error log"), ("Listen 127.0.0.1:@PORT@\n", rb"127.0.0.1:\d+|Cannot define multiple Listeners"),
    ("PidFile @ROOT@/nowhere/pid\n", rb"nowhere/pid"), ("TypesConfig @ROOT@/nowhere/types\n", rb"nowhere/types")])
def test_start_fails_with_a_reason(serve, line, pattern):
    server = serve.unstarted(line, FILES)
    done = server.run("-DFOREGROUND")
    assert done.returncode != 0
    assert re.search(pattern, done.stderr + done.stdout + server.error_log()), done


def test_port_in_use(serve):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        server = serve.unstarted("", FILES)
        done = server.run("-DFOREGROUND", port=s.getsockname()[1])
        assert done.returncode != 0
        text = done.stderr + server.error_log()
        assert b"ddress already in use" in text and b"127.0.0.1:%d" % s.getsockname()[1] in text


@pytest.mark.only("brigade")
def test_port_in_use_at_a_reload(serve):
    """The new port cannot be had: said, and everything else goes on."""
    server = serve("", FILES)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        server.write_config(f"Listen 127.0.0.1:{s.getsockname()[1]}\nHeader set X-Gen 2\n")
        server.signal(signal.SIGUSR1)
        server.wait_for_log(rb"ddress already in use")
        for _ in range(10):
            assert server.get("/a.txt").body == b"A\n"


def test_document_root_missing(serve):
    """An error for the main server; for a virtual host a warning, and everything is not found until it is there."""
    done = serve.unstarted("DocumentRoot @ROOT@/later\n").run("-t")
    assert done.returncode == 1 and b"is not a directory" in done.stderr
    server = serve("<VirtualHost *:@PORT@>\nDocumentRoot @ROOT@/later\n<Directory @ROOT@/later>\nRequire all granted\n"
                   "</Directory>\n</VirtualHost>\n")
    assert re.search(rb"DocumentRoot \[.*later\] does not exist", server.error_log())
    with server.connect() as c:
        for _ in range(5):
            assert c.get("/x.txt").status in (403, 404)
        server.write("later/x.txt", "there", base=".")
        assert c.get("/x.txt").body == b"there"


# ---- Paths that try to get out --------------------------------------------------------------------------------

DOTS = ["..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "..;", "..%00", "%uff0e%uff0e",
        "....", ". .", "..%20", "%2e%2e%20"]
SLASHES = ["/", "%2f", "%2F", "\\", "%5c", "%252f", "//", "/./", "%c0%af", "/%00/", "%2f/", "/%2f"]


@pytest.mark.parametrize("setting", ["Off", "On", "NoDecode"])
def test_nothing_outside_the_root_is_served(serve, setting):
    """A file beside the document root, and everything above it, asked for in every spelling."""
    server = serve(f"AllowEncodedSlashes {setting}\nAlias /icons @ROOT@/icons\n"
                   "<Directory @ROOT@>\nRequire all granted\n</Directory>\n", {"d/e/f.txt": "F"})
    server.write("secret.txt", "SECRET", base=".")
    server.write("icons/i.txt", "I", base=".")
    with server.connect() as c:
        for start in ("/", "/d/", "/d/e/", "/icons/", "//", "/nowhere/", "/d/e/f.txt/", "/icons", "http://localhost/d/"):
            for dots in DOTS:
                for slash in SLASHES:
                    for depth in (1, 2, 3):
                        target = start + (dots + slash) * depth + "secret.txt"
                        try:
                            r = c.get(target)
                            gone = r["Connection"] == "close"
                        except Truncated:
                            gone = True
                        else:
                            assert b"SECRET" not in r.body and 300 <= r.status < 500, (target, r)
                        if gone:
                            c.close()
                            c.__init__(server.address, server.port, 20)
    assert server.get("/d/e/f.txt").body == b"F"


@pytest.mark.parametrize("target,statuses", [
    ("/a.txt%00", (400, 404)), ("/%00", (400, 404)), ("/a.txt%00.html", (400, 404)), ("/a%2etxt", (200,)),
    ("/%61.txt", (200,)), ("/a.txt%", (400,)), ("/a.txt%zz", (400,)), ("/a.txt%2", (400,)), ("/a.txt?%00", (200,)),
    ("/./a.txt", (200,)), ("/x/../a.txt", (200, 404)), ("/../a.txt", (400, 200)), ("//a.txt", (200,)), ("/a.txt/", (404,)),
    ("/a.txt/..", (200, 400, 403, 404)), ("/a.txt%ff", (404,)), ("/%e2%82%ac", (404,)), ("/" + "a" * 300, (403, 404)),
    ("/" + "d/" * 2500, (403, 404, 414)), ("/" + "%2e/" * 500, (200, 404)), ("/" + "../" * 50, (400, 404)),
    ("/~root/", (404,)), ("/a.txt::$DATA", (404,)), ("/con", (404,)), ("/*", (404,))])
def test_odd_targets(serve_odd, target, statuses):
    r = serve_odd.get(target)
    assert r.status in statuses, r
    assert serve_odd.get("/a.txt").body == b"A\n"


@pytest.fixture(scope="module")
def serve_odd(serve_module):
    return serve_module("", FILES)


# ---- What is no file ------------------------------------------------------------------------------------------

def make_socket(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)


def make_device(path):
    if os.geteuid():
        pytest.skip("needs root to make a device")
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # an endless source of zeros
    except PermissionError:
        pytest.skip("devices cannot be made here")


@pytest.mark.only("brigade")
@pytest.mark.parametrize("make", [os.mkfifo, make_socket, make_device])
def test_special_files(serve, make):
    """Refused at once, whoever waits at the other end; also by a link, in a listing, and in place of a file."""
    server = serve("", {"a.txt": "A\n", "d/x.txt": "X"})
    make(server.path("htdocs/d/odd.txt"))
    os.symlink("d/odd.txt", server.path("htdocs/link.txt"))
    with server.connect(timeout=5) as c:
        for method in ("GET", "HEAD", "POST"):
            for target in ("/d/odd.txt", "/link.txt", "/d/odd.txt/more"):
                assert c.request(method, target).status in (403, 404), (method, target)
        assert c.get("/d/").status == 200
        for _ in range(4):
            assert c.get("/d/x.txt").body == b"X"
        os.rename(server.path("htdocs/d/odd.txt"), server.path("htdocs/d/x.txt"))
        assert c.get("/d/x.txt").status == 403
        assert c.get("/a.txt").body == b"A\n"


def test_link_loops(serve):
    server = serve("", {"a.txt": "A\n"})
    root = server.path("htdocs")
    os.symlink("self", f"{root}/self")
    os.symlink("two", f"{root}/one")
    os.symlink("one", f"{root}/two")
    os.symlink(".", f"{root}/here")
    os.symlink("..", f"{root}/up")
    for target in ("/self", "/self/x", "/one", "/one/a.txt"):
        assert server.get(target).status in (403, 404), target
    assert server.get("/here/here/here/a.txt").body == b"A\n"
    assert server.get("/" + "here/" * 39 + "a.txt").status in (200, 403, 404)
    assert server.get("/" + "here/" * 200 + "a.txt").status in (200, 403, 404)
    assert server.get("/up/secret").status in (403, 404)
    assert server.get("/here/").status == 200


@pytest.mark.parametrize("name", [b"\xff", b"a\xc3", b"\x80\x81", b"x\ny", b"x\ry", b"tab\there", b"quo\"te", b"<b>", b"a&b",
                                  b"per%20cent", b"q?x", b"h#x", b"sp ace", b"\x01", b"\x7f", b"semi;colon", b"back\\slash",
                                  b"e\xcc\x81", b"\xe2\x80\xae", b"a" * 255])
def test_odd_names(serve_names, name):
    """Served under their escaped name, listed so that the link leads there, and no head or log line is split by them."""
    server, path = serve_names, os.path.join(serve_names.path("htdocs").encode(), name)
    with open(path, "wb") as f:
        f.write(b"content of it")
    try:
        escaped = "".join(f"%{b:02x}" for b in name)
        r = server.get("/" + escaped)
        assert r.body == b"content of it"
        listing = server.get("/").body
        links = [m.decode() for m in re.findall(rb'href="([^"]+)"', listing) if not m.startswith((b"?", b"/"))]
        assert len(links) == 1 and b"\nhref" not in listing, links
        assert server.get("/" + links[0].replace("&amp;", "&")).body == b"content of it"
        os.mkdir(path + b"d" if len(name) < 255 else path[:-1])
        r = server.get("/" + escaped + "d" if len(name) < 255 else "/" + escaped[:-3])
        assert r.status == 301 and len(r.all("Location")) == 1 and set(r["Location"]) <= {chr(c) for c in range(33, 127)}
    finally:
        os.unlink(path)
        os.rmdir(path + b"d" if len(name) < 255 else path[:-1])
    for line in server.error_log().splitlines():
        assert line.startswith(b"["), line


@pytest.fixture(scope="module")
def serve_names(serve_module):
    return serve_module("LogLevel debug\n")
