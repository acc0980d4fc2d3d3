# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 with prior knowledge where modules hook connections: each hook may take the connection, as with Apache."""
import os

import pytest

import brigade
from h2_client import END_STREAM, DATA, PREFACE, SETTINGS, Connection, frame
from module_source import compile_text

pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module"), pytest.mark.threads]
FILES = {"a.txt": "first\n"}
DECLINES = r"""
#include "http_connection.h"
static int seen(conn_rec *c) { apr_table_setn(c->notes, "seen", "1"); return DECLINED; }
static void sees_hooks(apr_pool_t *p) { ap_hook_process_connection(seen, NULL, NULL, APR_HOOK_FIRST); }
"""
MODULES = brigade.APACHE_MODULES


@pytest.fixture
def sees(serve, tmp_path):
    return serve(f'Protocols h2c http/1.1\nLoadModule sees_module "{compile_text(str(tmp_path), "sees", DECLINES)}"\n', FILES)


def test_a_module_that_leaves_connections_alone(sees):
    with Connection(sees.port) as c:
        for stream in (1, 3):
            c.request(stream, path="/a.txt")
            assert c.response(stream) == (200, b"first\n")
    assert sees.get("/a.txt").body == b"first\n"


def test_a_preface_in_pieces(sees):
    with Connection(sees.port, preface=False) as c:
        for byte in PREFACE[:6]:
            c.send(bytes([byte]))
        c.send(PREFACE[6:] + frame(SETTINGS))
        c.request(1, path="/a.txt")
        assert c.response(1) == (200, b"first\n")


@pytest.mark.parametrize("sent", [b"", b"P", b"PRI", b"PRI *"])
def test_a_client_that_leaves_within_the_preface(sees, sent):
    with Connection(sees.port, preface=False) as c:
        c.send(sent)
        c.sock.shutdown(1)
        while c.sock.recv(1000):
            pass
    assert sees.get("/a.txt").status == 200


def test_a_module_that_takes_connections(serve):
    server = serve(f"Protocols h2c http/1.1\nLoadModule echo_module {MODULES}/mod_echo.so\nProtocolEcho On\n", FILES)
    with Connection(server.port, preface=False) as c:
        c.send(PREFACE)
        came = b""
        while len(came) < len(PREFACE) and (more := c.sock.recv(100)):
            came += more
        assert came == PREFACE


@pytest.mark.skipif(not os.path.exists(f"{MODULES}/mod_security2.so"), reason="no mod_security2 (libapache2-mod-security2)")
def test_mod_security(serve):
    """Its rules hold for streams as for requests of HTTP/1, in fields and in bodies."""
    server = serve(f"Protocols h2c http/1.1\nLoadModule unique_id_module {MODULES}/mod_unique_id.so\n"
                   f"LoadModule security2_module {MODULES}/mod_security2.so\n<VirtualHost *>\nServerName localhost\nDocumentRoot @ROOT@/htdocs\n"
                   'SecRuleEngine On\nSecRequestBodyAccess On\nSecRule ARGS "@contains attack" "id:1,phase:2,deny,status:406"\n</VirtualHost>\n', FILES,
                   env={"ASAN_OPTIONS": "detect_leaks=0:exitcode=66"})  # what it leaks is its own
    with Connection(server.port) as c:
        c.request(1, path="/a.txt")
        assert c.response(1) == (200, b"first\n")
    with Connection(server.port) as c:
        c.request(1, path="/a.txt?x=attack")
        assert c.response(1)[0] == 406
    with Connection(server.port) as c:
        c.request(1, path="/a.txt", method="POST", end=False, fields=[("content-type", "application/x-www-form-urlencoded")])
        c.send(frame(DATA, END_STREAM, 1, b"x=attack"))
        assert c.response(1)[0] == 406
    assert server.get("/a.txt?x=attack").status == 406
