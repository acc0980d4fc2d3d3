# SPDX-License-Identifier: Apache-2.0
"""Answers that are compressed by a plan (test_planned_coding.py has random answers that are whole at once): bodies in pieces, long ones, such as are
cut at each byte, for clients that are slow or leave; from backends of all kinds, over HTTP/1 and HTTP/2, by the built-in coders and beside
Apache's files. A server without plans sends the same fields and bodies that mean the same."""
import fcntl
import gzip
import random
import re
import subprocess
import termios
import zlib

import pytest

import brigade
import effort
import h2_client
from backend import Backend
from brigade import APACHE_MODULES, PATIENCE, wait_until
from codings import needs_all, unbrotli
from http3_client import ask, http3_python
from http_client import Truncated
from planned_scripts import SCRIPTS, old
from planned_site import CONFIG, DATE, full_ways, neutral, text_of
from script_backend import STDOUT, Script, end, record
from tls_site import certificate

pytestmark = [pytest.mark.only("brigade"), needs_all]

SEED = int(effort.seed(random.randrange(1 << 30)))
TYPED = [DATE, "Content-Type: text/html", "ETag: \"v1\""]
GZIP, BROTLI = "AddOutputFilterByType DEFLATE text/html\n", "AddOutputFilterByType BROTLI_COMPRESS text/html\n"
SITES = {"gzip": GZIP, "br": BROTLI, "zstd": "AddOutputFilterByType ZSTD_COMPRESS text/html\n", "gzip always": "SetOutputFilter DEFLATE\n", "gzip by a file": GZIP, "br by a file": BROTLI}
LOADS = {site: f"BuiltinModules all\nLoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n" for site, name in (("gzip by a file", "deflate"), ("br by a file", "brotli"))}
LOG = "KeepAliveTimeout 300\nMaxKeepAliveRequests 0\nRequestReadTimeout header=0 body=0\nProtocols h2c http/1.1\nCustomLog logs/access.log all\n" \
      "LogFormat \"- %U %>s %{Content-Type}o %{Content-Encoding}o %{Vary}o %{ETag}o %{Content-Length}o\" all\n"


def text_like(chance, n):
    words = [bytes(chance.choices(b"abcdefgh<>/= ", k=chance.randrange(1, 12))) for _ in range(60)]
    return b"".join(chance.choice(words) for _ in range(n))[:n]


BODIES = {"short": 400, "a page": 12000, "of some blocks": 90000, "long": 700000}


def plain(coding, data, whole=True):
    """What a body means, as far as it came."""
    if coding == "gzip":
        inflate = zlib.decompressobj(31)
        return inflate.decompress(data) if not whole else gzip.decompress(data)
    if coding == "br":
        return unbrotli(data) if whole else b""
    if coding == "zstd":
        return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=whole).stdout if data else b""
    return data


def meaning(server, head, data, whole):
    """Fields and body of an answer. Whether its length is told depends on when it came."""
    coding = re.search(rb"^content-encoding: *(\w+)", head, re.M | re.I)
    fields = re.sub(rb"(?i)\r\n(transfer-encoding: chunked|content-length: \d+)", b"", neutral(server, head))
    return fields, plain(coding and coding[1].decode(), data, whole), whole


class OverHTTP1:
    def __init__(self, server):
        self.server, self.client, self.lengths = server, server.connect(), []

    def ask(self, target, fields, last=False):
        lines = "".join(f"{n}: {v}\r\n" for n, v in [("Host", "localhost"), *fields, *([("Connection", "close")] if last else [])])
        self.client.send(f"GET {target} HTTP/1.1\r\n{lines}\r\n")
        return self.answer()

    def answer(self):
        head, data = b"", b""
        try:
            head = self.client.read_until(b"\r\n\r\n")
            self.lengths.append(b"content-length:" in head.lower())
            if b"chunked" in head.lower():
                while n := int(self.client.read_until(b"\r\n"), 16):
                    data += self.client.read_exactly(n)
                    assert self.client.read_exactly(2) == b"\r\n"
                self.client.read_until(b"\r\n")
            else:
                data += self.client.read_exactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
            return meaning(self.server, head, data, True)
        except (Truncated, OSError) as cut:
            rest = cut.args[0] if cut.args and isinstance(cut.args[0], bytes) else b""
            return meaning(self.server, head, data + rest, False) if head else "nothing"

    def close(self):
        self.client.close()


class OverHTTP2:
    def __init__(self, server):
        self.server, self.client, self.lengths = server, h2_client.Client("127.0.0.1", server.port, PATIENCE), []

    def ask(self, target, fields, last=False):
        try:
            got = self.client.request("GET", target, fields)
            self.lengths.append(b"content-length:" in got.head.lower())
            return (*meaning(self.server, got.head, got.body, True), *got.trailers)
        except Truncated as cut:
            blocks, data = cut.args[0]["blocks"], b"".join(cut.args[0]["body"])
            head = "\r\n".join(f"{n}: {v}" for n, v in blocks[0]).encode() if blocks else b""
            return meaning(self.server, head, data, False) if head else "nothing"

    def close(self):
        self.client.socket.close()


def in_pieces(data, cuts):
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]


def lengthy(body, more=()):
    return text_of("200 OK", *TYPED, *more, f"Content-Length: {len(body)}", body=body)


def chunked(body, size=5000, tail="\r\n"):
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[i:i + size]), body[i:i + size]) for i in range(0, len(body), size))
    return text_of("200 OK", *TYPED, "Transfer-Encoding: chunked") + chunks + b"0\r\n" + tail.encode()


def of_script(body, size=30000):
    head = "".join(f"{line}\r\n" for line in TYPED[1:]).encode() + b"\r\n"
    first = record(STDOUT, head + body[:size], padding=3)
    return first + b"".join(record(STDOUT, body[i:i + size]) for i in range(size, len(body), size)) + end()


FRAMES = {"length": lengthy, "chunks": chunked, "trailers": lambda body: chunked(body, tail="X-T: 1\r\n\r\n"), "close": lambda body: text_of("200 OK", *TYPED, body=body), "fcgi": of_script,
          "scgi": lambda body: text_of("200 OK", *TYPED[1:], body=body)[len("HTTP/1.1 200 OK\r\n"):], "uwsgi": lengthy}
SPOKEN = ("fcgi", "scgi", "uwsgi")


class Origin:
    """A backend, whose answer to /x is a list of pieces; each is sent once the one before has left."""

    def __init__(self, frame, closes=False):
        self.pieces, self.closes, self.asked = [], closes, 0
        self.spoken = frame if frame in SPOKEN else None
        self.backend = Script(frame, self.by_script) if self.spoken else Backend({"*": self.by_http})

    def by_script(self, params, body, send):
        self.asked += 1
        for piece in self.pieces:
            send(piece)
        return not self.closes

    def by_http(self, connection, request):
        self.asked += 1
        for piece in self.pieces:
            connection.send(piece)
        return False if self.closes else None

    def __enter__(self):
        self.backend.__enter__()
        return self

    def __exit__(self, *_):
        self.backend.__exit__(*_)

    @property
    def target(self):
        return "/x.php" if self.spoken == "fcgi" else "/p/x"

    def site(self):
        if self.spoken:
            passed = f"ProxyPass /p/ unix:{self.backend.path}|{self.spoken}://localhost/\n"
            return SCRIPTS.replace("{path}", self.backend.path) if self.spoken == "fcgi" else passed
        return f"ProxyPass /p/ http://127.0.0.1:{self.backend.port}/\n"


def twins(serve, origin, site, more=""):
    text = LOADS.get(site, "") + CONFIG + origin.site() + SITES[site] + LOG + more
    return [serve(first + text, files={"x.php": old}) for first in ("", "FileCacheEntries 0\n")]


def accept(site):
    return [("Accept-Encoding", site.split()[0])]


def lines_of(server):
    return [line for line in server.read("logs/access.log").splitlines() if line.startswith(b"- ") and b"/metrics" not in line]


def settled(server, n):
    wait_until(lambda: len(lines_of(server)) == n, f"{n} lines of the log")
    return lines_of(server)


PROTOCOLS = pytest.mark.parametrize("protocol", [OverHTTP1, OverHTTP2], ids=["http1", "http2"])


@PROTOCOLS
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("site", SITES)
def test_pieces(serve, site, frame, protocol):
    """Bodies of all sizes, cut where chance has it."""
    chance = random.Random(SEED)
    with Origin(frame, closes=frame == "close") as origin:
        servers = twins(serve, origin, site)
        origin.pieces = [FRAMES[frame](text_like(chance, 3000))]
        clients = [protocol(server) for server in servers]
        for client in clients:
            for _ in range(5):
                client.ask(origin.target, accept(site))
        before, n = full_ways(servers[0]), 0
        for size in BODIES.values():
            for many in (0, 1, 3):
                body = text_like(chance, size)
                answer = FRAMES[frame](body)
                cuts = sorted(chance.randrange(120, len(answer)) for _ in range(many))
                origin.pieces = in_pieces(answer, cuts)
                got = [client.ask(origin.target, accept(site)) for client in clients]
                assert got[0] == got[1], f"TEST_SEED={SEED}: {size} bytes, cut at {cuts}"
                assert got[0][1:3] == (body, True) and b"encoding: " + site.split()[0].encode() in got[0][0].lower(), f"TEST_SEED={SEED}"
                n += 1
        ways = full_ways(servers[0]) - before
        for client in clients:
            client.close()
        logs = [re.sub(rb" \S+$", b"", b"\n".join(settled(server, n + 5)), flags=re.M) for server in servers]
        assert logs[0] == logs[1]
        # Where little of a body of unknown length is here, the filters see to it.
        assert ways <= (0 if frame in ("length", "uwsgi") else n // 2)


def is_cut(got, body):
    """The client has nothing, an error, or less than the answer, and sees that."""
    return got == "nothing" or re.match(rb"HTTP/\S+ 50[023] ", got[0]) or not got[2] and body.startswith(got[1])


@PROTOCOLS
@pytest.mark.parametrize("frame", ["length", "chunks", "fcgi", "uwsgi"])
@pytest.mark.parametrize("site", ["gzip", "gzip by a file"])
def test_an_answer_that_is_cut_at_each_byte(serve, site, frame, protocol):
    """Whether its head is sent before the end is found depends on when that comes."""
    body = text_like(random.Random(SEED), 150)
    answer = FRAMES[frame](body)
    with Origin(frame, closes=True) as origin:
        servers = twins(serve, origin, site)
        for n in range(len(answer)):
            got = []
            for server in servers:
                client = protocol(server)
                origin.pieces = [answer]
                for _ in range(2 if n else 5):
                    assert client.ask(origin.target, accept(site))[1] == body
                origin.pieces = [answer[:n]]
                got.append(client.ask(origin.target, accept(site)))
                client.close()
            assert got[0] == got[1] or all(is_cut(one, body) for one in got), f"TEST_SEED={SEED}: cut at {n}"
            assert n >= len(answer) - 16 or is_cut(got[0], body)


def paused(origin, wait, *pieces):
    """The last of them is sent when wait has something."""
    def script(connection, request):
        for piece in pieces[:-1]:
            connection.send(piece)
        wait_until(lambda: wait, "the client has what came before")
        connection.send(pieces[-1])
    origin.backend.scripts["*"] = script


@pytest.mark.parametrize("site", SITES)
def test_each_piece_goes_at_once(serve, site):
    """As events of a stream: the client can read it before the next one is here."""
    first, second = b"an event\n" * 40, b"another one\n"
    with Origin("length") as origin:
        server, _ = twins(serve, origin, site)
        came, answer = [], chunked(first + second, size=len(first))
        client = OverHTTP1(server)
        origin.pieces = [answer]
        for _ in range(5):
            client.ask(origin.target, accept(site))
        before, at = full_ways(server), answer.index(b"an event")
        paused(origin, came, answer[:at + len(first) + 2], answer[at + len(first) + 2:])
        client.client.send(f"GET {origin.target} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {accept(site)[0][1]}\r\n\r\n")
        client.client.read_until(b"\r\n\r\n")
        data = client.client.read_exactly(int(client.client.read_until(b"\r\n"), 16))
        if site.startswith("gzip"):
            assert plain("gzip", data, whole=False) == first
        came.append(1)
        client.client.read_exactly(2)
        while n := int(client.client.read_until(b"\r\n"), 16):
            data += client.client.read_exactly(n)
            client.client.read_exactly(2)
        assert plain(site.split()[0], data) == first + second
        assert full_ways(server) == before
        client.close()


def read_by_the_server(sock):
    """All that was sent there."""
    while fcntl.ioctl(sock, termios.TIOCOUTQ, b"1234") != bytes(4):
        pass


@PROTOCOLS
@pytest.mark.parametrize("site", ["gzip", "gzip by a file"])
def test_pieces_that_come_soon_leave_together(serve, site, protocol):
    """As a page of PHP, whose last piece is a moment behind the first: its length is told. A machine may be slow in some tries."""
    body = text_like(random.Random(1), 12000)
    first, rest = record(STDOUT, b"Content-Type: text/html\r\n\r\n" + body[:8000]), record(STDOUT, body[8000:]) + end()

    def in_two(params, text, send):
        send(first)
        read_by_the_server(send.__self__)
        send(rest)

    with Script("fcgi", in_two) as backend:
        server = serve(LOADS.get(site, "") + CONFIG + SCRIPTS.replace("{path}", backend.path) + SITES[site] + LOG, files={"x.php": old})
        client = protocol(server)
        for _ in range(5):
            client.ask("/x.php", accept(site))
        before = full_ways(server)
        client.lengths.clear()
        assert all(client.ask("/x.php", accept(site))[1] == body for _ in range(40))
        assert full_ways(server) == before and sum(client.lengths) > 10
        client.close()


@pytest.mark.parametrize("site", ["gzip", "gzip by a file"])
def test_what_a_backend_said_before_it_failed(serve, site):
    """It waits for more, and goes when there is none."""
    body = text_like(random.Random(1), 8000)

    def whole(params, text, send):
        send(record(STDOUT, b"Content-Type: text/html\r\n\r\n" + body) + end())

    def cut(params, text, send):
        send(record(STDOUT, b"Content-Type: text/html\r\n\r\n" + body) + record(STDOUT, b"more")[:8])
        read_by_the_server(send.__self__)
        return False

    with Script("fcgi", whole) as backend:
        server = serve(LOADS.get(site, "") + CONFIG + SCRIPTS.replace("{path}", backend.path) + SITES[site] + LOG, files={"x.php": old})
        client = OverHTTP1(server)
        for _ in range(5):
            client.ask("/x.php", accept(site))
        backend.script = cut
        before = full_ways(server)
        assert client.ask("/x.php", accept(site))[1:3] == (body, False)
        assert full_ways(server) == before
        client.close()


@PROTOCOLS
@pytest.mark.parametrize("site", ["gzip", "gzip by a file"])
def test_a_client_that_leaves(serve, site, protocol):
    """Within a long answer: the backend's connection ends, and nothing stays."""
    body = random.Random(SEED).randbytes(1000000) * 20
    with Origin("length") as origin:
        server, _ = twins(serve, origin, site)
        client = protocol(server)
        origin.pieces = [lengthy(body[:1000])]
        for _ in range(5):
            client.ask(origin.target, accept(site))
        before, asked = full_ways(server), origin.asked
        origin.pieces = [lengthy(body)]
        sock = client.client.socket
        block = h2_client.request_block(path=origin.target, method="GET", fields=[("accept-encoding", "gzip")])
        sock.sendall(h2_client.frame(h2_client.HEADERS, 5, client.client.next_id, block) if protocol is OverHTTP2 else
                     f"GET {origin.target} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n".encode())
        wait_until(lambda: origin.asked > asked, "it is asked for")
        came = 0
        while came < 100000:
            came += len(sock.recv(65536))
        client.close()
        wait_until(lambda: origin.backend.open == 0, "the backend's connection is closed")
        assert full_ways(server) == before


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_client_that_reads_late(serve, framing):
    """What it leaves waits, on disk too, and is whole."""
    chance = random.Random(SEED)
    body = chance.randbytes(6000000)
    with Origin("length") as origin:
        server, _ = twins(serve, origin, "gzip")
        client = OverHTTP1(server)
        origin.pieces = [FRAMES[framing](body[:5000])]
        for _ in range(5):
            client.ask(origin.target, accept("gzip"))
        before, asked = full_ways(server), origin.asked
        origin.pieces = [FRAMES[framing](body)]
        client.client.send(f"GET {origin.target} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
        wait_until(lambda: origin.asked > asked, "it is asked for")
        for _ in range(20):
            assert server.get("/metrics").status == 200  # others are answered meanwhile
        got = client.answer()
        assert got[1:] == (body, True)
        assert full_ways(server) <= before + 20  # the pages
        client.close()


PYTHON = http3_python(brigade.REPOSITORY)
HTTP3 = "Protocols h3 http/1.1\nListen 127.0.0.1:@TLS@ https\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"


@pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)")
@pytest.mark.parametrize("frame", ["length", "chunks", "fcgi"])
def test_over_http3(serve, frame):
    body = text_like(random.Random(SEED), 90000)
    told = []
    with Origin(frame) as origin:
        origin.pieces = in_pieces(FRAMES[frame](body), [30000])
        for more in ("", "FileCacheEntries 0\n"):
            tls = brigade.free_port()
            server = serve.unstarted(CONFIG + more + HTTP3.replace("@TLS@", str(tls)) + origin.site() + GZIP, files={"x.php": old})
            certificate(server)
            server.start()
            before = full_ways(server)
            got = ask(PYTHON, "aioquic", [{"url": f"https://127.0.0.1:{tls}{origin.target}", "headers": {"accept-encoding": "gzip"}}] * 8)
            assert more or full_ways(server) - before <= 4
            told.append([(a.status, {n: v for n, v in a.headers.items() if n not in ("date", "content-length")}, gzip.decompress(a.body)) for a in got])
    assert told[0] == told[1] and told[0][0][2] == body
