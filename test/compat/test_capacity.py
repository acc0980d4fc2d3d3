# SPDX-License-Identifier: Apache-2.0
"""How much may wait at the same time with the MPM file of Debian: as much as Apache lets wait."""
import asyncio
import contextlib
import os
import threading

import pytest

import brigade
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
MODULES = ["proxy", "proxy_http", "proxy_wstunnel"]
MPM = """StartServers 2
MinSpareThreads 25
MaxSpareThreads 75
ThreadLimit 64
ThreadsPerChild 25
MaxRequestWorkers 150
MaxConnectionsPerChild 0
"""
CONFIG = MPM + """ProxyPass /socket ws://127.0.0.1:@BACKEND@/socket
ProxyPass /held http://127.0.0.1:@BACKEND@/held
ProxyPass /quick http://127.0.0.1:@BACKEND@/quick
"""


class Backend:
    """Answers nobody who asks for /held before `together` of them are there; /socket stays open."""

    def __init__(self):
        self.together, self.held = 0, []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=500), self.loop).result(10)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /socket"):
                writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                await reader.read()
            else:
                if head.startswith(b"GET /held"):
                    await self.hold()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")
                await writer.drain()
        writer.close()

    async def hold(self):
        mine = self.loop.create_future()
        self.held.append(mine)
        if len(self.held) >= self.together:
            for other in self.held:
                other.set_result(None)
            self.held = []
        await mine

    def close(self):
        self.loop.call_soon_threadsafe(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


@pytest.fixture(scope="module")
def backend():
    backend = Backend()
    yield backend
    backend.close()


@pytest.fixture(scope="module", params=["apache", "brigade", "brigade, two loops"])
def server(request, backend):
    binary = driver.APACHE if request.param == "apache" else brigade.BINARY
    config = CONFIG.replace("@BACKEND@", str(backend.port))
    if binary != driver.APACHE:
        loads = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES)
        config = ("EventLoops 2\n" if "two" in request.param else "") + loads + config
    server = brigade.Server(config, {"a.txt": "A\n"}, binary=binary, modules=MODULES)
    try:
        server.start()
        yield server
    finally:
        server.close()


async def ask(port, path, *fields):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *fields, "", ""]).encode())
    return reader, writer, await reader.readline()


async def status_of(port, path):
    _, writer, line = await ask(port, path, "Connection: close")
    writer.close()
    return line.split()[1]


async def bounded(what):
    return await asyncio.wait_for(what, 60)


@pytest.mark.parametrize("n", [60, 150])
def test_requests_that_wait(server, backend, n):
    """All of them are at the backend before one of them is answered."""
    async def run():
        return await asyncio.gather(*[status_of(server.port, "/held") for _ in range(n)])
    backend.together = n
    assert asyncio.run(bounded(run())) == [b"200"] * n


def test_websockets(server):
    """100 are connected, and what others ask for is answered meanwhile."""
    async def run():
        clients = await asyncio.gather(*[ask(server.port, "/socket", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
                                         for _ in range(100)])
        lines = [line for _, _, line in clients]
        others = [await status_of(server.port, "/quick"), await status_of(server.port, "/a.txt")]
        for _, writer, _ in clients:
            writer.close()
        return lines, others
    lines, others = asyncio.run(bounded(run()))
    assert [line.split()[1] for line in lines] == [b"101"] * 100
    assert others == [b"200", b"200"]
