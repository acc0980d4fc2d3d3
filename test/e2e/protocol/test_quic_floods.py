# SPDX-License-Identifier: Apache-2.0
"""Floods of QUIC, by a client that makes its frames itself (quic_attacks.py): where there is a limit the connection ends, and the log says why; where
there is none a frame costs less than the packet that it comes in. Other clients are answered, and memory does not grow. With -s each prints what it
cost: docs/benchmarks.md has the table."""
import json
import os
import re
import subprocess

import pytest

import brigade
from http3_client import ask, http3_python
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
ATTACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "quic_attacks.py")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)")]
CONFIG = """
Protocols h3 h2 http/1.1
LogLevel info http3:debug
EventLoops 1
ServerProcesses 1
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
</VirtualHost>
"""
NO_USE, WRONG = "error 0x1: too many frames of no use", "error 0x{}: a frame that is wrong"
AGAIN = "HTTP/3 connection ended: {}, again and again"
# what the log says; None: there is no limit
EXPECTED = {
    "ping": NO_USE, "path challenge": NO_USE, "ack of what was not sent": WRONG.format("a"), "optimistic ack": WRONG.format("a"), "crypto gaps": WRONG.format("d"),
    "streams beyond the limit": WRONG.format("4"), "new connection ids": WRONG.format("9"), "connection ids that retire others": WRONG.format("9"),
    "retired ids": WRONG.format("a"), "credit that is no more": NO_USE, "credit by single bytes": NO_USE, "credit of the connection by single bytes": None,
    "reset again and again": None, "stop again and again": None, "requests, reset at once": "requests that are cancelled, again and again|" + WRONG.format("4"),
    "empty stream frames": NO_USE, "tiny stream frames": NO_USE, "blocked": NO_USE, "nothing but padding": None, "unknown frames": WRONG.format("7"),
    "http/3: frames of unknown types": AGAIN.format("frames of unknown types"), "http/3: DATA without bytes": AGAIN.format("DATA frames without data"),
    "http/3: PRIORITY_UPDATE": AGAIN.format("PRIORITY_UPDATE frames"), "http/3: MAX_PUSH_ID": AGAIN.format("MAX_PUSH_ID frames"),
    "http/3: malformed requests": "HTTP/3 connection ended: ", "http/3: heads without an end": "HTTP/3 connection ended: field sections that wait for their end, too many",
    "qpack: lines that are long when they are read": None, "qpack: sections that wait for a table": "ended with error 0x200: field section that cannot be decoded",
    "qpack: a table of 0 bytes, again and again": AGAIN.format("instructions of QPACK"), "qpack: streams that are cancelled": AGAIN.format("instructions of QPACK"),
    "first packets": None, "handshakes": None, "migrations": NO_USE, "slow reader": None}


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), {"small": b"small", "big.bin": os.urandom(1 << 20)})
    certificate(made)
    made.tls = tls
    yield made.start()


def spent(server):
    """Of the server processes: seconds of processor time, bytes in memory."""
    seconds = memory = 0
    for pid in server.children():
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return seconds, memory


def attacked(server, name, seconds):
    done = subprocess.run([PYTHON, ATTACKS, str(server.tls), name, str(seconds)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_all_are_here():
    told = subprocess.run([PYTHON, ATTACKS, "0", "list", "0"], capture_output=True, text=True, check=True).stdout
    assert set(json.loads(told)) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_flood(server, name):
    log, before = len(server.read("logs/error_log")), spent(server)
    told = attacked(server, name, 1.5)
    seconds, memory = (b - a for a, b in zip(before, spent(server)))
    print(f"\n{name}: {told}, {seconds / 1.5:.0%} of a core, {seconds * 1e6 / max(told['packets'], 1):.0f} us a packet, memory {memory / 1e6:+.1f} MB")
    if EXPECTED[name]:
        assert re.search(EXPECTED[name].encode(), server.read("logs/error_log")[log:]), server.read("logs/error_log")[log:][-2000:]
    if name == "first packets":
        assert told["retries"] > told["packets"] / 2
    assert memory < 60e6
    assert ask(PYTHON, "curl", [{"url": f"https://127.0.0.1:{server.tls}/small"}])[0].body == b"small"
