# SPDX-License-Identifier: Apache-2.0
"""Reloads, upgrades and crashes while clients ask over HTTP/3: connections of the old generation go on to their end, new ones come to the
new one."""
import hashlib
import json
import os
import shutil
import signal
import subprocess

import pytest

import effort
import brigade
import http3_client
from http3_client import Load, ask, http3_python
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"), pytest.mark.slow]

CONFIG = """
Protocols h3 h2 http/1.1
EventLoops @LOOPS@
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
<VirtualHost *:@TLS@>
SSLEngine on
</VirtualHost>
"""
FILES = {"a.txt": "first\n", "big.bin": hashlib.sha256(b"x").digest() * 40000}


@pytest.fixture
def server(serve):
    tls = brigade.free_port()
    made = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@LOOPS@", "2"), FILES)
    certificate(made)
    made.tls, made.url = tls, f"https://127.0.0.1:{tls}"
    return made.start()


def load(server):
    def request(name, kept):
        content = FILES[name] if isinstance(FILES[name], bytes) else FILES[name].encode()
        return {"url": f"{server.url}/{name}", "sha1": hashlib.sha1(content).hexdigest(), "kept": kept}
    return Load(PYTHON, [request("a.txt", False), request("a.txt", True), request("big.bin", False), request("big.bin", True)])


def generation(server):
    return server.error_log().count(b"resuming normal operations")


def renew(server, order):
    was = generation(server)
    order()
    brigade.wait_until(lambda: generation(server) > was, "the new generation")
    assert ask(PYTHON, "curl", [{"url": server.url + "/a.txt"}])[0].status == 200


def checked(running):
    found = running.end()
    assert not found["faults"] and found["done"] > 20, found


def test_reloads(server):
    running = load(server)
    for _ in range(effort.count(6)):
        renew(server, lambda: server.signal(signal.SIGUSR1))
    checked(running)


def test_other_numbers_of_loops(server):
    running = load(server)
    for loops in ["3", "1", "2"]:
        server.write_config(server.config.replace("EventLoops 2", f"EventLoops {loops}"))
        renew(server, lambda: server.signal(signal.SIGUSR1))
    checked(running)


def test_upgrades(server):
    running = load(server)
    for _ in range(effort.count(3)):
        renew(server, lambda: subprocess.run(server.command("-k", "upgrade"), check=True, capture_output=True, env=server.env, timeout=60))
    checked(running)


def test_tickets(server):
    """One of before is good in the processes that came then."""
    order = {"requests": [{"url": server.url + "/a.txt"}] * 2, "between": True}
    client = subprocess.Popen([PYTHON, http3_client.__file__, "early"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdin.write(json.dumps(order) + "\n")
    client.stdin.flush()
    assert client.stdout.readline() == "between\n"
    before = set(server.children())
    renew(server, lambda: server.signal(signal.SIGUSR1))
    brigade.wait_until(lambda: not before & set(server.children()), "the end of the old processes")
    told = json.loads(client.communicate("go\n", timeout=60)[0])
    assert [t["status"] for t in told] == [200, 200] and [bool(t["resumed"]) for t in told] == [False, True], told


def test_a_crash(server):
    """A client of the process that was killed learns it, and connects anew."""
    assert ask(PYTHON, "curl", [{"url": server.url + "/a.txt"}])[0].status == 200
    for pid in server.children():
        os.kill(pid, signal.SIGKILL)
    brigade.wait_until(lambda: ask(PYTHON, "curl", [{"url": server.url + "/a.txt"}])[0].status == 200, "an answer")
