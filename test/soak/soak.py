#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixed traffic for a long time, and whether anything grows: memory, descriptors, inotify watches, threads, processes.

    BRIGADE=out/release/brigade test/soak/soak.py --seconds 3600 --connections 5000 --svg soak.svg

Static files, pages with includes, listings, errors, ranges, uploads, clients that read slowly and clients that say nothing; the same
files over HTTP/3, with connections that are kept and new ones (where http3_client.py finds an interpreter); files that change; every minute the access log is rotated and the server reloads. Prints what it measured as a text plot;
the exit status is 1 if an answer was wrong or a figure grew after the warm-up. What is measured is the supervisor, and the
server process that is the newest: those of earlier configurations end when their last client is through.
"""
import argparse
import asyncio
import hashlib
import os
import random
import resource
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import brigade  # noqa: E402
from http3_client import Load, http3_python  # noqa: E402
from soak_measure import Samples, descriptors_of, grown, processes_of  # noqa: E402
from tls_site import certificate  # noqa: E402

CONFIG = """Timeout 60
KeepAliveTimeout 30
MaxKeepAliveRequests 200
LogFormat "%h %t \\"%r\\" %>s %b %D" soak
CustomLog logs/access soak
ErrorDocument 404 /errors/404.shtml
<Directory @ROOT@/htdocs>
    Options +Includes +Indexes
    AddOutputFilter INCLUDES .shtml
    IndexOptions FancyIndexing
    DirectoryIndex index.html
</Directory>
"""
HTTP3 = """Listen 127.0.0.1:@TLS@ https
Protocols h3 h2 http/1.1
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<VirtualHost *:@TLS@>
SSLEngine on
</VirtualHost>
"""
FIXED = {"fixed/small.txt": b"small\n" * 10, "fixed/middle.bin": bytes(range(256)) * 200, "fixed/large.bin": bytes(range(251)) * 6000}
FILES_N = 400
CONNECTING = 20  # seconds that a connection may take, twice
GRACE = 2 * CONNECTING + 20  # for what was begun just before the end
BIG = 2_000_000
UPLOAD = b"u" * 60_000


def files():
    made = {f"files/{i % 20}/f{i}.txt": f"{i}\n" * (1 + i * 7 % 3000) for i in range(FILES_N)}
    made.update({f"list/{i}/{k}.html": "x" * k for i in range(10) for k in range(30)})
    made.update({"big.bin": b"0123456789abcdef" * (BIG // 16), "errors/404.shtml": 'no <!--#echo var="REDIRECT_URL" -->\n',
                 "ssi/part.shtml": '<!--#echo var="DOCUMENT_NAME" -->', "ht/.htaccess": "Header set X-H h\n", "ht/a.txt": "a\n",
                 "ssi/page.shtml": '<!--#include virtual="part.shtml" --><!--#include file="../files/0/f0.txt" -->'
                                   '<!--#if expr="v(\'QUERY_STRING\') =~ /x/" -->x<!--#endif --><!--#fsize file="page.shtml" -->'})
    return made


class Traffic:
    """Clients as tasks; each does one kind of thing after the other until the time is over."""

    def __init__(self, server, options):
        self.server, self.options = server, options
        self.random = random.Random(options.seed)
        self.sizes = {name: len(content) for name, content in files().items()}
        self.done, self.wrong, self.refused, self.late, self.by_kind = 0, [], 0, 0, {}
        self.end = time.monotonic() + options.seconds
        self.open = 0

    def over(self):
        return time.monotonic() >= self.end

    def choose(self):
        """(kind, method, target, fields, body, expected statuses, expected length or None)"""
        pick, r = self.random.random(), self.random
        if pick < 0.45:
            i = r.randrange(FILES_N)
            name = f"files/{i % 20}/f{i}.txt"
            return "static", "GET", "/" + name, "", b"", (200,), self.sizes[name]
        if pick < 0.60:
            return "page", "GET", f"/ssi/page.shtml?{r.choice('xyz')}{r.randrange(50)}", "", b"", (200,), None
        if pick < 0.68:
            return "listing", "GET", f"/list/{r.randrange(10)}/", "", b"", (200,), None
        if pick < 0.80:
            return "error", "GET", f"/none/{r.randrange(10 ** 9)}", "", b"", (404,), None
        if pick < 0.86:
            return "upload", "POST", "/files/0/f0.txt", f"Content-Length: {len(UPLOAD)}\r\n", UPLOAD, (200, 405), None
        if pick < 0.92:
            return "range", "GET", "/big.bin", "Range: bytes=100-5099\r\n", b"", (206,), 5000
        if pick < 0.96:
            return "htaccess", "GET", f"/ht/a.txt?{r.randrange(1000)}", "", b"", (200,), 2
        return "head", "HEAD", "/big.bin", "", b"", (200,), 0

    async def one(self, reader, writer):
        """True if the connection goes on."""
        kind, method, target, fields, body, statuses, length = self.choose()
        writer.write(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode() + body)
        await writer.drain()
        status, head, got = await read_answer(reader, method)
        if status not in statuses or (length is not None and got != length):
            self.wrong.append(f"{kind} {target}: {status}, {got} bytes")
        self.done += 1
        self.by_kind[kind] = self.by_kind.get(kind, 0) + 1
        return b"connection: close" not in head.lower()

    async def polite(self):
        """Requests with pauses in between. A connection may end between two answers, not within one."""
        reader, writer = await self.connect()
        try:
            while not self.over():
                begun = [False]
                try:
                    if not await self.one(StartedReader(reader, begun), writer):
                        return
                except (asyncio.IncompleteReadError, ConnectionError) as e:
                    if begun[0]:
                        self.wrong.append(f"cut off: {e!r}")
                    return
                await asyncio.sleep(self.random.random() * 2 * self.options.pause)
        finally:
            self.close(writer)

    async def slow(self):
        """Reads a large file in small pieces, or leaves in the middle."""
        reader, writer = await self.connect(limit=8192)
        try:
            writer.write(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for _ in range(self.random.randrange(5, 100)):
                if self.over() or not await reader.read(16384):
                    break
                await asyncio.sleep(0.05)
        finally:
            self.close(writer)

    async def silent(self):
        """A connection with half a head, or none."""
        reader, writer = await self.connect()
        try:
            writer.write(self.random.choice([b"", b"GET /half HTTP/1.1\r\nHost:"]))
            await asyncio.wait_for(reader.read(100), 1 + 4 * self.random.random())
        except asyncio.TimeoutError:
            pass
        finally:
            self.close(writer)

    async def connect(self, limit=65536):
        for _ in range(2):
            try:
                pair = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.server.port, limit=limit), CONNECTING)
                self.open += 1
                return pair
            except ConnectionRefusedError as e:
                self.refused += 1
                last = e
            except asyncio.TimeoutError as e:  # also where the clients have too little of the machine
                self.late += 1
                last = e
        raise ConnectionError(repr(last))

    def close(self, writer):
        self.open -= 1
        writer.close()

    async def client(self, number):
        await asyncio.sleep(self.options.ramp * number / self.options.connections)
        while not self.over():
            kind = self.slow if number % 10 == 3 else self.silent if number % 10 == 7 else self.polite
            try:
                await kind()
            except (ConnectionError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.1)

    async def changes(self):
        """Files are replaced while they are served, with contents of the same length."""
        while not self.over():
            i = self.random.randrange(FILES_N)
            name = f"files/{i % 20}/f{i}.txt"
            temporary = self.server.write("new", files_content(i))
            os.replace(temporary, self.server.path("htdocs", name))
            await asyncio.sleep(0.1)

    async def reloads(self):
        while self.options.reload and not self.over():
            await asyncio.sleep(min(self.options.reload, max(self.end - time.monotonic(), 0)))
            if self.over():
                return
            os.replace(self.server.path("logs/access"), self.server.path("logs/access.1"))
            self.server.signal(signal.SIGUSR1)


class StartedReader:
    """Notes that an answer has begun."""

    def __init__(self, reader, begun):
        self.reader, self.begun = reader, begun

    async def readuntil(self, mark):
        first = await self.reader.readexactly(1)
        self.begun[0] = True
        return first + await self.reader.readuntil(mark)

    async def readexactly(self, n):
        return await self.reader.readexactly(n)


def files_content(i):
    return f"{i}\n" * (1 + i * 7 % 3000)


async def read_answer(reader, method):
    """(status, head, length of the body)"""
    head = await reader.readuntil(b"\r\n\r\n")
    status, low = int(head[9:12]), head.lower()
    if method == "HEAD" or status == 304:
        return status, head, 0
    if b"transfer-encoding: chunked" in low:
        got = 0
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            await reader.readexactly(size + 2)
            if not size:
                return status, head, got
            got += size
    length = int(low.split(b"content-length:")[1].split(b"\r\n")[0])
    left = length
    while left:
        left -= len(await reader.readexactly(min(left, 65536)))
    return status, head, length


async def sample(traffic, samples):
    while not traffic.over():
        samples.take(traffic.server.process.pid, open=traffic.open, done=traffic.done)
        await asyncio.sleep(traffic.options.every)


class OverHTTP3:
    """Clients of HTTP/3 in a process of their own, for each of the fixed files one that keeps its connection and one with a new one each time."""

    def __init__(self, server, port):
        requests = [{"url": f"https://127.0.0.1:{port}/{name}", "sha1": hashlib.sha1(data).hexdigest(), "kept": kept, "pause": 0.05} for name, data in FIXED.items() for kept in (True, False)]
        self.load = Load(http3_python(brigade.REPOSITORY), requests) if http3_python(brigade.REPOSITORY) else None

    def end(self):
        """What was wrong; how many answers came."""
        told = self.load.end() if self.load else {"faults": [], "done": 0}
        return [f"HTTP/3: {fault}" for fault in told["faults"][:5]], told["done"]


async def all_of(traffic, samples):
    """What did not end, by name: a client's number, or what the other tasks do."""
    tasks = [asyncio.create_task(traffic.client(i), name=f"client {i}") for i in range(traffic.options.connections)]
    tasks += [asyncio.create_task(t, name=t.__name__) for t in (traffic.changes(), traffic.reloads(), sample(traffic, samples))]
    _, late = await asyncio.wait(tasks, timeout=traffic.options.seconds + GRACE)
    for task in tasks:
        if not task.done():
            task.cancel()
        elif task.exception():
            raise task.exception()
    return sorted(task.get_name() for task in late)


def settle(server, baseline, seconds=40):
    """Wait until the connections have gone; the descriptors that are left beyond those of the beginning."""
    deadline = time.monotonic() + seconds
    while True:
        processes = processes_of(server.process.pid)
        extra = descriptors_of(processes[-1]) - baseline if len(processes) == 1 else None
        if (extra is not None and extra <= 0) or time.monotonic() > deadline:
            return len(processes), extra
        time.sleep(0.2)


def run(options):
    """(figures as text, complaints)"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    tls = brigade.free_port()
    server = brigade.Server(CONFIG + (HTTP3.replace("@TLS@", str(tls)) if http3_python(brigade.REPOSITORY) else ""), {**files(), **FIXED})
    certificate(server)
    with server:
        for target in ("/files/0/f0.txt", "/list/0/", "/ssi/page.shtml"):
            server.get(target)
        brigade.wait_until(lambda: processes_of(server.process.pid), "a server process")
        baseline = descriptors_of(processes_of(server.process.pid)[-1])
        traffic, samples, http3 = Traffic(server, options), Samples(), OverHTTP3(server, tls)
        late = asyncio.run(all_of(traffic, samples))
        wrong, over_http3 = http3.end()
        left, extra = settle(server, baseline + 16)
        complaints = grown(samples, options.warm_up) + wrong
        if late:
            complaints.append(f"{len(late)} did not end: {', '.join(late[:5])}")
        if traffic.refused:
            complaints.append(f"{traffic.refused} connections were refused")
        if traffic.late:
            complaints.append(f"{traffic.late} connections took more than {CONNECTING} s")
        if traffic.wrong:
            complaints.append(f"{len(traffic.wrong)} answers were wrong: {traffic.wrong[:5]}")
        if left != 1 or extra > 0:
            complaints.append(f"after the end: {left} processes, {extra} descriptors too many")
        figures = f"{traffic.done} answers ({', '.join(f'{k} {n}' for k, n in sorted(traffic.by_kind.items()))}), {over_http3} over HTTP/3, " \
                  f"{samples.generations()} configurations"
        return figures, complaints, samples


def options_of(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--reload", type=float, default=60, help="seconds between reloads, 0: none")
    parser.add_argument("--warm-up", type=float, default=600, help="seconds after which nothing may grow")
    parser.add_argument("--pause", type=float, default=4, help="mean seconds between two requests of a client")
    parser.add_argument("--ramp", type=float, default=20, help="seconds until all clients are there")
    parser.add_argument("--every", type=float, default=2, help="seconds between two samples")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", help="write a plot there")
    return parser.parse_args(arguments)


def main():
    options = options_of()
    figures, complaints, samples = run(options)
    print(samples.plot())
    print(figures)
    if options.svg:
        samples.write_svg(options.svg)
    for complaint in complaints:
        print("grew or failed:", complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
