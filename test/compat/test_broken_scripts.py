# SPDX-License-Identifier: Apache-2.0
"""Scripts that give no answer, half of one or none that can be read, behind FastCGI, SCGI and uwsgi: status and page are Apache's. What is told
apart in docs/differences-from-apache.md stands in OWN."""
import os
import socket
import threading

import pytest

import brigade
from script_backend import STDOUT, record
from stock import driver

pytestmark = pytest.mark.skipif(not os.path.exists(driver.APACHE) or brigade.is_apache(brigade.BINARY), reason="Apache beside Brigade")
MODULES = ["proxy", "proxy_fcgi", "proxy_scgi", "proxy_uwsgi"]
SCHEMES = ["fcgi", "scgi", "uwsgi"]
HEAD = b"Content-Type: text/plain\r\n"
BREAKS = {
    "nothing": b"", "half-line": HEAD[:16], "cut": HEAD + b"X-A: b", "field": HEAD + b"no field\r\n\r\nbody", "low": b"Status: 99 x\r\n\r\n", "odd": b"Status: 2x0\r\n\r\n",
    "http-cut": b"HTTP/1.1 200 OK\r\nX-A: b", "http-field": b"HTTP/1.1 200 OK\r\nno field\r\n\r\nbody", "http-low": b"HTTP/1.1 99 OK\r\nA: b\r\n\r\nbody",
    "http-odd": b"HTTP/1.1 2x0 OK\r\nA: b\r\n\r\nbody", "garbage": b"garbage\r\n\r\nbody", "record-cut": record(STDOUT, HEAD + b"X"),
    "record-low": record(STDOUT, b"Status: 99 x\r\n\r\n"), "record-half": record(STDOUT, HEAD + b"\r\n")[:20], "silent": None}
OWN = {("silent", "uwsgi"): 504, ("record-cut", "uwsgi"): 502, ("record-low", "uwsgi"): 502}


def backend(held):
    """It answers by the name in the request's variables, and closes."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def answer(connection):
        with connection:
            got = connection.recv(65536)
            name = max((name for name in BREAKS if b"/is-" + name.encode() in got), key=len)
            if BREAKS[name] is None:
                held.wait(20)
            else:
                connection.sendall(BREAKS[name])

    def accept():
        while True:
            try:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
            except OSError:
                return
    threading.Thread(target=accept, daemon=True).start()
    return listener


@pytest.fixture(scope="module")
def servers():
    held, both = threading.Event(), []
    with backend(held) as listener:
        passes = "".join(f"ProxyPass /{scheme}/ {scheme}://127.0.0.1:{listener.getsockname()[1]}/ retry=0\n" for scheme in SCHEMES)
        for binary in (driver.APACHE, brigade.BINARY):
            server = brigade.Server("ProxyTimeout 1\n" + passes, binary=binary, modules=MODULES)
            if not server.apache:
                server.config = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES) + server.config
            both.append(server)
        try:
            for server in both:
                server.start()
            yield both
        finally:
            held.set()
            for server in both:
                server.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", BREAKS)
def test_broken_answers(servers, name, scheme):
    apache, own = [server.get(f"/{scheme}/is-{name}") for server in servers]
    if (name, scheme) in OWN:
        assert own.status == OWN[name, scheme] != apache.status
    else:
        assert (own.status, own.reason, own.body) == (apache.status, apache.reason, apache.body)
