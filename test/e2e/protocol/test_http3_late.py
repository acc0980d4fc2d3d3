# SPDX-License-Identifier: Apache-2.0
"""Clients of HTTP/3 that hold a connection: heads that do not come to their end, packets without requests, field sections in pieces."""
import json
import os
import re
import shutil
import subprocess
import time

import pytest

import brigade
from http3_client import ask, http3_python, send
from http3_frames import CONTROL, DATA, EXCESSIVE_LOAD, HEAD, HEADERS, INCOMPLETE, NO_ERROR, POST, frame, number, section
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
ATTACKS = os.path.join(brigade.REPOSITORY, "test/e2e/quic_attacks.py")
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 http/1.1
RequestReadTimeout header=2
H3IdleTimeout @IDLE@
@MORE@
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<VirtualHost *:@TLS@>
SSLEngine on
</VirtualHost>
"""


def site(serve, idle="30s", more=""):
    tls = brigade.free_port()
    made = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@IDLE@", idle).replace("@MORE@", more), {"a.txt": "first\n"})
    certificate(made)
    made.url = f"https://127.0.0.1:{tls}"
    return made.start()


@pytest.mark.parametrize("cut", [1, 5, len(HEAD) - 1])
def test_a_head_without_end(serve, cut):
    """While packets come all the time, and another request is answered."""
    told = send(PYTHON, site(serve).url, [CONTROL, (False, HEAD[:cut], False), (False, HEAD, True)], pings=True)
    assert "late" not in told and told["error"] is None
    assert told["streams"]["0"]["reset"] == INCOMPLETE
    assert b"first\n" in bytes.fromhex(told["streams"]["4"]["data"]) and told["streams"]["4"]["fin"]


def test_directives_of_mod_http3(serve):
    """Its configuration starts; what has no effect here is told."""
    names = ["H3MaxConnections", "H3MaxResponseBodySize", "H3MaxWindow", "H3MaxWorkerIdleSeconds", "H3MaxWorkers", "H3MinWorkers", "H3QpackBlockedStreams", "H3QpackTableCapacity",
             "H3SocketBufferSize", "H3StreamBufferSize"]
    done = serve.unstarted("".join(f"{n} 16\n" for n in names) + "H3QuicEngine openssl\nH3StreamTimeout 20\nH3MaxStreamErrors 3\n").run("-t")
    out = (done.stderr + done.stdout).decode()
    assert "Syntax OK" in out and all(n in out for n in [*names, "H3QuicEngine"]), out
    assert "H3StreamTimeout" not in out and "H3MaxStreamErrors" not in out


def test_settings_of_virtual_hosts(serve):
    """As configurations of mod_http3 have them. Those of the first host at the port hold, whatever name the client asks for."""
    host = "<VirtualHost *:@TLS@>\nServerName {}\nSSLEngine on\nH3MaxRequestBodySize {}\nH3MaxStreamErrors {}\nH3IdleTimeout 20\nH3HandshakeTimeout 5\n" \
        "H3MaxConcurrentStreams 10\nH3StreamTimeout 30\nH3AddressValidation off\nH3EarlyData off\n</VirtualHost>\n"
    hosts = host.format("first.test", 1000, 2) + host.format("localhost", 9000, 2) + host.format("third.test", 1000, 2)
    tls = brigade.free_port()
    server = serve.unstarted((CONFIG.split("H3IdleTimeout")[0] + "Listen 127.0.0.1:@TLS@ https\nSSLCertificateFile @ROOT@/conf/cert.pem\n"
                              "SSLCertificateKeyFile @ROOT@/conf/key.pem\n" + hosts).replace("@TLS@", str(tls)), {"a.txt": "first\n"})
    certificate(server)
    server.start()
    body = frame(HEADERS, section(*POST)) + frame(DATA, 1200 * b"x")
    told = send(PYTHON, f"https://127.0.0.1:{tls}", [CONTROL, (False, body, True), (False, HEAD, True)])
    assert told["streams"]["0"]["reset"] == EXCESSIVE_LOAD and told["streams"]["4"]["fin"], told
    log = server.read("logs/error_log").decode()
    assert set(re.findall(r"(\S+): settings of HTTP/3 have no effect where they differ from those of first.test", log)) == {f"localhost:{tls}"}, log


def test_faults_beyond_what_is_allowed(serve):
    server = site(serve, more="H3MaxStreamErrors 2")
    told = send(PYTHON, server.url, [CONTROL] + [(False, frame(HEADERS, section((":method", "GET"))), True)] * 6)
    assert told["error"] == EXCESSIVE_LOAD and len([s for s in told["streams"].values() if s["reset"] is not None]) <= 3, told


def test_packets_without_requests(serve):
    began = time.monotonic()
    told = send(PYTHON, site(serve, "3s").url, [CONTROL], pings=True)
    assert told["error"] == NO_ERROR, told
    assert time.monotonic() - began > 2.5


@pytest.mark.slow
def test_idle_connections_make_room(serve):
    """Clients that ask for nothing keep nobody out until H3IdleTimeout is over: there is room for 20."""
    server = site(serve, "300s", "EventLoops 1\nServerProcesses 1\nMaxRequestWorkers 10\nAsyncRequestWorkerFactor 1\n<Location /metrics>\nSetHandler metrics\n</Location>")
    done = subprocess.run([PYTHON, ATTACKS, server.url.rpartition(":")[2], "handshakes", "4"], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["connections"] > 40, done.stdout + done.stderr
    assert ask(PYTHON, "curl", [{"url": server.url + "/a.txt"}])[0].body == b"first\n"
    assert int(re.search(rb"^brigade_connections_shed_total (\d+)", server.get("/metrics").body, re.M)[1]) > 20


def test_sections_in_pieces(serve):
    """What one connection may have the server keep of them is bounded."""
    piece = number(HEADERS) + number(60000) + b"\0\0" + b"x" * 40000
    told = send(PYTHON, site(serve).url, [CONTROL] + [(False, piece, False)] * 30)
    resets = [s["reset"] for s in told["streams"].values() if s["reset"] is not None]
    assert told["error"] == EXCESSIVE_LOAD and resets and set(resets) == {EXCESSIVE_LOAD}, told
