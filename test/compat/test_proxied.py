# SPDX-License-Identifier: Apache-2.0
"""Back ends that break off, behind mod_proxy_http: both servers tell their client the same. On a connection that the client has
used before, no answer at all is one that it may ask for once more."""
import os
import re
import socket
import struct
import threading

import pytest

import brigade
import h2_client
from stock import driver

pytestmark = pytest.mark.skipif(not os.path.exists(driver.APACHE) or brigade.is_apache(brigade.BINARY), reason="Apache beside Brigade")
CONFIG = """Protocols h2c http/1.1
LogFormat "%X %>s %B %r" short
CustomLog @ROOT@/logs/access_log short
ProxyPass /to/ http://127.0.0.1:@BACKEND@/
"""
MODULES = ["proxy", "proxy_http"]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# What the back end sends before it closes.
BREAKS = {"nothing": b"", "reset": None, "head": b"HTTP/1.1 200 OK\r\nContent-Le", "interim": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
          "continue": b"HTTP/1.1 100 Continue\r\n\r\n", "length": b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok",
          "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "long-head": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20000}


def talk(connection):
    data = b""
    with connection:
        while True:
            while b"\r\n\r\n" not in data:
                more = connection.recv(65536)
                if not more:
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            name = head.split(b" ")[1].strip(b"/").split(b"?")[0].decode()
            if name == "ok":
                connection.sendall(OK)
            elif name == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            else:
                return connection.sendall(BREAKS[name])


@pytest.fixture(scope="module")
def servers():
    backend = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                threading.Thread(target=talk, args=(backend.accept()[0],), daemon=True).start()
            except OSError:
                return
    threading.Thread(target=accept, daemon=True).start()
    both = []
    for binary in (driver.APACHE, brigade.BINARY):
        server = brigade.Server("", binary=binary, modules=[*MODULES, "http2"])
        loads = "" if server.apache else "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES)
        server.config = loads + CONFIG.replace("@BACKEND@", str(backend.getsockname()[1]))
        both.append(server)
    try:
        for server in both:
            server.start()
        yield both
    finally:
        for server in both:
            server.close()
        backend.close()


def tidy(data):
    return re.sub(rb"\r\n(Date|Server): [^\r]*", b"", data)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("how", BREAKS)
def test_broken_backend(servers, how, kept):
    before = b"GET /to/ok HTTP/1.1\r\nHost: localhost\r\n\r\n" if kept else b""
    seen, logged = [], []
    for server in servers:
        seen.append(tidy(server.raw(before + f"GET /to/{how}?{kept} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())))
        logged.append(server.wait_for_log(rf"- \d+ \d+ GET /to/{how}\?{kept} HTTP/1.1\n", "logs/access_log")[0])
    assert seen[0] == seen[1]
    assert logged[0] == logged[1]
    if kept and how in ("nothing", "reset", "continue"):
        assert seen[1] == OK, "the client may ask again: there is no answer"


def test_broken_backend_of_a_stream(servers):
    """A stream that ends without an answer is asked again by nobody: it gets one, and others go on."""
    with h2_client.Client("127.0.0.1", servers[1].port, brigade.PATIENCE) as client:
        assert [client.request("GET", f"/to/{name}").status for name in ("ok", "nothing", "ok")] == [200, 502, 200]
