# SPDX-License-Identifier: Apache-2.0
"""Backends of the site under faults: one of each protocol that the server speaks, made when a configuration names it."""
import os
import subprocess
import sys
import tempfile

import backend as http_backend
import h2_streams
from brigade import unprivileged_user
from script_backend import Script

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "proxy"))
from test_tls_backends import TLSBackend  # noqa: E402

SMALL = b"from a backend\n"
PIECES = [b"%d" % i * 3000 for i in range(10)]
MIDDLE = b"".join(b"%15d\n" % i for i in range(4096))
BIG = b"".join(b"%15d\n" % i for i in range(160_000))
STORED = [("Cache-Control", "max-age=1000")]


def chunked(*pieces):
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in [*pieces, b""])


def to_the_end(_connection, _request):
    _connection.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + MIDDLE)
    return False


def echo(connection, request):
    """What comes is sent back, in the protocol that the client wanted, until it closes."""
    connection.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    while True:
        data, connection.buffer = connection.buffer, b""
        if data:
            connection.send(data)
        connection.more()


SCRIPTS = {"/small": http_backend.answer(SMALL), "/big": http_backend.answer(BIG), "/chunked": chunked(*PIECES), "/close": to_the_end,
           "/count": lambda _, request: http_backend.answer(b"length %d\n" % len(request.body)), "/echo": echo,
           "/stored": http_backend.answer(SMALL * 20, fields=STORED), "/large": http_backend.answer(BIG[:1_000_000], fields=STORED)}


def forgetting(backend):
    """For as long as a sweep takes."""
    backend.requests = Forgetful()
    return backend


class Forgetful(list):
    def append(self, item):
        pass


def _script(protocol):
    def run(params, body, send):
        made = BIG if "big" in params["REQUEST_URI"] else b"length %d\n" % len(body)
        script.answer(send, made)
    script = Script(protocol, run)
    script.seen = Forgetful()
    return script.path


def _streams():
    def run(stream):
        with stream.connection.lock:
            stream.connection.lock.wait_for(lambda: stream.ended or stream.connection.closed or stream.reset is not None)
        stream.answer(BIG if stream.path == "/big" else b"length %d\n" % len(stream.body))
    backend = h2_streams.Backend(run)
    backend.streams = Forgetful()
    return str(backend.port)


def _over_tls():
    folder = tempfile.mkdtemp()
    pem = os.path.join(folder, "backend.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=backend", "-keyout", pem, "-out",
                    pem + ".cert"], capture_output=True, check=True)
    with open(pem, "ab") as f, open(pem + ".cert", "rb") as certificate:
        f.write(certificate.read())
    return str(forgetting(TLSBackend(pem, SCRIPTS)).port)


def _cache_root():
    root = tempfile.mkdtemp(prefix="brigade-faults-")
    if os.geteuid() == 0:
        os.chmod(root, 0o755)
        subprocess.run(["chown", unprivileged_user(), root], check=True)
    return root


KINDS = {"@BACKEND@": lambda: str(forgetting(http_backend.Backend(SCRIPTS)).port), "@OTHER@": lambda: str(forgetting(http_backend.Backend(SCRIPTS)).port),
         "@TLSBACKEND@": _over_tls, "@STREAMS@": _streams, "@FCGI@": lambda: _script("fcgi"), "@SCGI@": lambda: _script("scgi"),
         "@CACHEROOT@": _cache_root}


def filled_in(config):
    """A configuration whose backends are there."""
    for mark, make in KINDS.items():
        if mark in config:
            config = config.replace(mark, make())
    return config
