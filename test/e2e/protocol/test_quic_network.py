# SPDX-License-Identifier: Apache-2.0
"""QUIC with other people's clients over a network that loses, changes, repeats and reorders datagrams, gives the client another port, and
with what clients may do on a connection: the cases of the interop runner that need no other machine."""
import hashlib
import json
import os
import shutil
import subprocess

import pytest

import brigade
from http3_client import ask, http3_python
from tls_site import certificate
from udp_relay import Relay

PYTHON = http3_python(brigade.REPOSITORY)
SCENES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "quic_scenes.py")
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 h2 http/1.1
EventLoops 2
H3HandshakeTimeout 30s
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
</VirtualHost>
"""
SMALL, LARGE = hashlib.sha256(b"s").digest() * 300, hashlib.sha256(b"l").digest() * 30000


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), {"small": SMALL, "large": LARGE})
    certificate(made)
    made.tls = tls
    yield made.start()


def scene(port, name, path="/small"):
    done = subprocess.run([PYTHON, SCENES, str(port), name, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    expected = hashlib.sha256(SMALL if path == "/small" else LARGE).hexdigest()
    assert set(told.get("digests", [expected])) == {expected}, told
    return told


@pytest.mark.parametrize("name, path", [("handshake", "/large"), ("chacha20", "/large"), ("multiplexing", "/small"), ("keyupdate", "/large"),
                                        ("connection_ids", "/small"), ("migration", "/large")])
def test_scene(server, name, path):
    scene(server.tls, name, path)


def test_versions(server):
    assert scene(server.tls, "v2")["version"] == 0x6b3343cf
    assert scene(server.tls, "compatible")["version"] == 0x6b3343cf  # RFC 9368: begun in version 1
    assert scene(server.tls, "only_v1")["version"] == 1
    assert scene(server.tls, "unknown_version")["version"] == 1


def test_resumption(server):
    assert scene(server.tls, "resumption")["resumed"]


def test_amplification(server):
    told = scene(server.tls, "amplification")
    assert 0 < told["came"] <= 3 * told["sent"], told


def test_flood(server):
    """First packets of clients that never answer: most are answered with a Retry, and who proves its address gets on."""
    told = scene(server.tls, "flood")
    assert told["retries"] >= 300 and told["answers"] >= 800, told


def curl(port, path, n=1):
    """Connections of their own."""
    expected = SMALL if path == "/small" else LARGE
    for _ in range(n):
        answer = ask(PYTHON, "curl", [{"url": f"https://127.0.0.1:{port}{path}"}], timeout=90)[0]
        assert (answer.status, answer.version) == (200, "3"), answer
        assert answer.body == expected


@pytest.mark.parametrize("network, path, n", [
    ({"loss": 0.2}, "/small", 4),                       # handshakeloss
    ({"corrupt": 0.3}, "/small", 4),                    # handshakecorruption
    ({"loss": 0.02, "delay": 0.005}, "/large", 1),      # transferloss
    ({"corrupt": 0.02, "delay": 0.005}, "/large", 1),   # transfercorruption
    ({"delay": 0.1}, "/large", 1),                      # longrtt
    ({"delay": 0.01, "jitter": 0.01, "twice": 0.05}, "/large", 1)])
def test_bad_network(server, network, path, n):
    with Relay(server.tls, **network) as relay:
        curl(relay.port, path, n)


def test_parameters_that_do_not_fit(server):
    """They name another first packet than came: the connection ends, and that alone. Where the first one came damaged, the next one counts."""
    assert scene(server.tls, "bad_parameters")["refused"]
    with Relay(server.tls) as relay:
        relay.renamed = 1
        curl(relay.port, "/small")
        assert relay.renamed is None


@pytest.mark.parametrize("after", [2, 6, 12, 30])
def test_rebinding(server, after):
    """A NAT gives the client another port in the handshake, or while bytes come."""
    with Relay(server.tls, delay=0.003) as relay:
        relay.rebind_after = after
        curl(relay.port, "/large")
        assert relay.rebind_after is None and len(relay.back) == 2


def test_blackhole(server):
    """Nothing comes through for a while."""
    with Relay(server.tls, delay=0.002) as relay:
        relay.hole = (40, 1.5)
        curl(relay.port, "/large")
        assert relay.hole_ends and relay.lost
