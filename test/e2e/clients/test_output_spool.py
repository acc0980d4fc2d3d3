# SPDX-License-Identifier: Apache-2.0
"""A worker whose client takes its answer slowly leaves the rest to the loop, on disk, within bounds."""
import os
import re
import socket
import ssl
import struct
import time

import pytest

import brigade
from brigade import wait_until
from http_client import request_bytes
from tls_site import TLSClient, certificate
from trouble import STATUS, compiled, filters_are_checked, sanitizer, status

pytestmark = pytest.mark.only("brigade")

TWO = "EventLoops 1\nServerLimit 1\nThreadsPerChild 2\nMaxKeepAliveRequests 0\nTimeout 60\n"
LOG = 'LogFormat "%U%q %>s %B %O %X" sent\nCustomLog @ROOT@/logs/sent_log sent\n'
HANDLERS = "".join(f"<Location /{name}>\nSetHandler {name}\n</Location>\n" for name in ("sleep", "much", "drip"))


TLS = """BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
SSLEngine on
SSLCipherSuite ALL
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
"""


def start_tls(serve, version, suite, *args):
    """A server of which all is TLS."""
    server = serve.unstarted(TLS + args[0], *args[1:], modules=())
    certificate(server)
    server.connect = lambda timeout=None: TLSClient(server, ssl.TLSVersion[version], suite)
    return server.start()


@pytest.fixture(params=["clear", "TLSv1_3", "TLSv1_2 ECDHE-ECDSA-AES128-SHA256"])
def begin(serve, request):
    """As serve, over all that a connection may be; the last one's records are OpenSSL's."""
    version, _, suite = request.param.partition(" ")
    return serve if version == "clear" else lambda *args: start_tls(serve, version, suite, *args)


def with_handlers(config=""):
    return TWO + f'LoadModule busy_module "{compiled("mod_busy")}"\n' + HANDLERS + STATUS + config


def ask(server, target):
    """A client that reads nothing yet; the kernel keeps some three megabytes for it."""
    c = server.connect()
    c.send(request_bytes("GET", target))
    return c


def counters(size):
    return struct.pack(f"={size // 8}Q", *range(size // 8))


def busy(server):
    return status(server)["totals"]["connections"]["busy"]


def spools(server):
    """Descriptors of files without a name, of all processes of the server."""
    n = 0
    for pid in server.children():
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                n += bool(re.search(r"/#\d+ \(deleted\)|brigade-output", os.readlink(f"/proc/{pid}/fd/{fd}")))
            except OSError:
                pass
    return n


def sent_lines(server, n):
    """Lines of the log about answers of /much and /drip, once there are so many."""
    def lines():
        return [line for line in server.read("logs/sent_log").decode().splitlines() if line.startswith(("/much", "/drip"))]
    wait_until(lambda: len(lines()) >= n, f"{n} lines in the log")
    return lines()


@pytest.mark.parametrize("flush", ["", "flush-"])
def test_readers_that_stop_hold_no_worker(begin, flush):
    server = begin(with_handlers(LOG))
    size = 12_000_000
    want = counters(size)
    readers = [ask(server, f"/much?{flush}{size}") for _ in range(6)]
    wait_until(lambda: busy(server) == 0 and spools(server) == 6, "all handlers to end")
    assert server.get("/sleep?1").status == 200
    for c in readers:
        assert c.read_response().body == want
        assert c.get("/much?8").body == counters(8)
        c.close()
    wait_until(lambda: spools(server) == 0, "the files to go")
    lines = [line.split() for line in sent_lines(server, 12) if "?8 " not in line]
    assert all(line[1] == "200" and int(line[2]) == size and int(line[3]) > size and line[4] == "+" for line in lines), lines


@pytest.mark.parametrize("target", ["/much?16000000", "/big.bin"])
@pytest.mark.slow
def test_keep_alive_begins_when_the_answer_is_out(serve, target):
    """However long the client took for it."""
    server = serve(with_handlers("KeepAliveTimeout 1\n"), {"big.bin": counters(16_000_000)})
    with ask(server, target) as c:
        time.sleep(1.5)
        assert c.read_response().body == counters(16_000_000)
        assert c.get("/much?8").body == counters(8)


def read_bytes(c, n):
    """Of a chunked body, its framing counted too."""
    got = len(c.buffer)
    c.buffer = b""
    while got < n:
        data = c.socket.recv(65536)
        assert data
        got += len(data)


def test_what_was_flushed_is_sent_while_its_handler_goes_on(begin):
    server = begin(with_handlers("ServerLimit 1\nThreadsPerChild 4\n"))
    size = 8_000_000
    target = f"/drip?{size},6000"
    with ask(server, target) as c, ask(server, target) as other:
        for one in (c, other):
            one.read_head()
        wait_until(lambda: spools(server) == 2, "output on disk")
        begin = time.monotonic()
        read_bytes(c, size)
        read_bytes(other, size)
        assert time.monotonic() - begin < 4
        assert busy(server) >= 2  # their handlers sleep still


def test_a_small_ring_comes_round(begin):
    """Clients that go on taking something get all of it, whatever the limit is."""
    server = begin(with_handlers("OutputSpoolSize 262144\n"))
    size = 16_000_000
    want = counters(size)
    readers = [ask(server, f"/much?{size}") for _ in range(2)]
    wait_until(lambda: spools(server) == 2, "output on disk")
    for c in readers:
        assert c.read_response().body == want
        c.close()


def test_all_together_have_a_limit(begin):
    server = begin(with_handlers("OutputSpoolSize 64M 64m\nServerLimit 1\nThreadsPerChild 8\n"))
    size = 16_000_000
    readers = [ask(server, f"/much?{size}") for _ in range(8)]
    server.wait_for_log("OutputSpoolSize: all responses together have reached their limit")
    assert server.get("/server-status?json").status == 200
    want = counters(size)
    for c in readers:
        assert c.read_response().body == want
        c.close()
    wait_until(lambda: spools(server) == 0, "the files to go")


def test_readers_beyond_the_limit_give_their_workers_up(serve):
    """64 readers that stop in 300 MB each: whatever has room for them, others are served."""
    server = serve(with_handlers("ServerLimit 1\nThreadsPerChild 64\nOutputSpoolSize 65536\nWorkerStallTimeout 1\n"))
    stopped = [ask(server, "/much?300000000") for _ in range(64)]
    wait_until(lambda: busy(server) == 64, "all workers in their answers")
    begin = time.monotonic()
    assert server.get("/sleep?1").status == 200
    assert time.monotonic() - begin < 8
    for c in stopped:
        c.close()
    wait_until(lambda: busy(server) == 0, "the workers to be free")


@pytest.mark.parametrize("off", ["OutputSpoolSize 0\n", "OutputSpoolDir @ROOT@/gone\n"])
def test_without_a_file_the_worker_waits(serve, off):
    server = serve.unstarted(with_handlers("ServerLimit 1\nThreadsPerChild 4\n" + off))
    if "gone" in off:
        os.mkdir(server.path("gone"))
    server.start()
    assert server.get("/sleep?1").status == 200  # the configuration is read for the last time
    if "gone" in off:
        os.rmdir(server.path("gone"))
    size = 8_000_000
    with ask(server, f"/much?{size}") as c, ask(server, f"/much?{size}") as other:
        if "gone" in off:
            server.wait_for_log("cannot make a file for output")
        wait_until(lambda: busy(server) >= 2, "two handlers at work")
        assert spools(server) == 0
        for one in (c, other):
            assert one.read_response().body == counters(size)


def test_a_client_that_leaves_takes_its_file_along(begin):
    server = begin(with_handlers(LOG))
    with ask(server, "/much?12000000") as first, ask(server, "/drip?12000000,1500") as second:
        wait_until(lambda: spools(server) == 2, "output on disk")
        for c in (first, second):
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: spools(server) == 0, "the files to go")
    for line in sent_lines(server, 2):
        assert line.split()[4] == "X", line


def memory(server):
    """The most that a server process had resident, bytes."""
    most = 0
    for pid in server.children():
        with open(f"/proc/{pid}/status") as f:
            most = max(most, int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) * 1024)
    return most


@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_cgi.so"), reason="no mod_cgi")
def test_a_script_that_nobody_reads_is_not_read_into_memory(serve):
    """It writes faster than the server reads from it, so that the server never has to wait for it: on the loop it waits for its client,
    without a worker and without a disk."""
    server = serve('LoadModule cgi_module @MODULES@/mod_cgi.so\n<Directory @ROOT@/htdocs>\nOptions +ExecCGI\nAddHandler cgi-script .cgi\n</Directory>\n',
                   {"a.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec head -c 20000000 /dev/zero\n", "b.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nB\\n'\n"})
    for name in ("a.cgi", "b.cgi"):
        os.chmod(server.path("htdocs", name), 0o755)
    assert server.get("/b.cgi").body == b"B\n"
    before = memory(server)
    readers = [ask(server, "/a.cgi") for _ in range(16)]
    for c in readers:
        assert c.read_exactly(1)
    assert server.get("/b.cgi").body == b"B\n"
    assert memory(server) - before < (128_000_000 if sanitizer() or filters_are_checked() else 16_000_000)
    for c in readers:
        c.buffer = b"H" + c.buffer
        assert len(c.read_response().body) == 20_000_000
        c.close()


@pytest.mark.slow
def test_a_client_that_takes_nothing_for_the_timeout(begin):
    server = begin(with_handlers("Timeout 2\n"))
    with ask(server, "/much?12000000"), ask(server, "/drip?12000000,5000"):
        wait_until(lambda: spools(server) == 2, "output on disk")
        wait_until(lambda: spools(server) == 0, "both to be given up")


@pytest.mark.parametrize("line,message", [
    ("OutputSpoolSize x", b"OutputSpoolSize"), ("OutputSpoolSize 1000", b"at least 65536"),
    ("OutputSpoolSize 1000000 65536", b"all responses together"), ("OutputSpoolDir /nothing/there", b"not a directory")])
def test_bad_values_are_refused(serve, line, message):
    done = serve.unstarted(line + "\n").run("-t")
    assert done.returncode == 1 and message in done.stdout + done.stderr
