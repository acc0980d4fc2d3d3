# SPDX-License-Identifier: Apache-2.0
"""Backends of server processes that are in a sandbox: TCP by address and by name, Unix sockets, FastCGI of a handler, TLS."""
import ctypes
import os
import sys

import pytest

from backend import Backend
from brigade import SANDBOX
from ports import named_localhost

sys.path.insert(0, os.path.dirname(__file__))
from test_scripts import Script  # noqa: E402
from test_tls_backends import TLSBackend, config, papers  # noqa: E402, F401  (a fixture)

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(bool(SANDBOX), reason="each of these has a sandbox of its own"),
              pytest.mark.skipif(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1, reason="the kernel has no Landlock, or it is switched off")]
ON = "Sandbox Required\nEventLoops 1\n"


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("localhost", marks=named_localhost)])
def test_tcp(serve, host):
    with Backend() as backend:
        assert serve(f"{ON}ProxyPass /p/ http://{host}:{backend.port}/\n").get("/p/x").body == b"ok\n"


def test_unix_socket(serve, tmp_path):
    path = f"/tmp/b{os.getpid()}.{id(tmp_path)}"
    with Backend(address=path):
        os.chmod(path, 0o777)
        got = serve(f'{ON}ProxyPass /p/ "unix:{path}|http://localhost/"\n').get("/p/x")
    os.unlink(path)
    assert got.body == b"ok\n"


def test_fastcgi_of_a_handler(serve):
    with Script("fcgi", lambda params, body, send: one.answer(send, b"script")) as one:
        handler = f'<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</FilesMatch>\n'
        assert serve(ON + handler, {"a.php": ""}).get("/a.php").body == b"script"


@named_localhost
def test_tls(serve, papers):  # noqa: F811
    with TLSBackend(papers["good"]) as backend:
        assert serve("Sandbox Required\n" + config(backend, papers)).get("/p/x").body == b"ok\n"
