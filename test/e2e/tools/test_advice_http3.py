# SPDX-License-Identifier: Apache-2.0
"""`brigade --advice` about HTTP/3: chains of certificates, and room in sockets."""
import re
import subprocess

import pytest

from brigade import free_port

pytestmark = pytest.mark.only("brigade")

CONFIG = """
Protocols @PROTOCOLS@
Listen 127.0.0.1:@TLS@ https
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
SSLCertificateFile @ROOT@/conf/chain.pem
SSLCertificateKeyFile @ROOT@/conf/a.key
</VirtualHost>
"""


def made(serve, parts, protocols="h3 h2 http/1.1"):
    server = serve.unstarted(CONFIG.replace("@TLS@", str(free_port())).replace("@PROTOCOLS@", protocols))
    chain = ""
    for i in range(parts):
        name = "ab"[i > 0]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={'localhost' if not i else f'authority {i}'}", "-keyout", server.path(f"conf/{name}.key"),
                        "-out", server.path(f"conf/{name}.pem")], check=True, capture_output=True)
        with open(server.path(f"conf/{name}.pem")) as f:
            chain += f.read()
    server.write("chain.pem", chain, base="conf")
    return server.run("--advice").stdout.decode(), chain


def der_bytes(chain):
    return sum(len(__import__("base64").b64decode(body)) + 5 for body in re.findall(r"-----BEGIN CERTIFICATE-----\n(.*?)-----END", chain, re.S))


def test_a_long_chain(serve):
    out, chain = made(serve, 4)
    found = re.search(r"^\S+:\d+: the chain of \S+chain\.pem has (\d+) bytes: a new client of HTTP/3 waits a round trip longer", out, re.M)
    assert found and int(found[1]) == der_bytes(chain) > 2800, out


@pytest.mark.parametrize("parts,protocols", [(2, "h3 http/1.1"), (4, "h2 http/1.1")])
def test_a_short_chain_or_no_http3(serve, parts, protocols):
    assert "the chain of" not in made(serve, parts, protocols)[0]


@pytest.mark.parametrize("name", ["rmem_max", "wmem_max"])
def test_room_in_sockets(serve, name):
    try:
        with open(f"/proc/sys/net/core/{name}") as f:
            now = int(f.read())
    except OSError:
        pytest.skip("this kernel does not tell")
    out = made(serve, 1)[0]
    assert (f"net.core.{name} is {now}: sockets of HTTP/3 ask for 4194304 bytes" in out) == (now < 4194304), out
    assert f"net.core.{name}" not in made(serve, 1, "h2 http/1.1")[0]
