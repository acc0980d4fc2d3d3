# SPDX-License-Identifier: Apache-2.0
"""What a newer OpenSSL brings: the post-quantum key exchange by default, compressed certificates. `brigade -V` says whether it does;
where it does not, the answers are as with any other."""
import re
import shutil
import subprocess

import pytest

import brigade
from tls_site import certificate, start

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]
CONFIG = """
BuiltinModule ssl_module On
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
"""


@pytest.fixture(scope="module")
def abilities():
    shown = subprocess.run([brigade.BINARY, "-V"], capture_output=True, text=True, timeout=brigade.PATIENCE).stdout
    found = re.search(r"^TLS: +OpenSSL (\d+)\.(\d+)\.\S+ .*, (X25519MLKEM768|no post-quantum key exchange), (no certificate compression|certificate compression.*)$",
                      shown, re.M)
    assert found, shown
    return (int(found[1]), int(found[2])), found[3], found[4]


@pytest.fixture(scope="module")
def server(serve_module):
    made = serve_module.unstarted(CONFIG, {"a.txt": "text\n"}, modules=())
    certificate(made)
    return start(made)


def handshake(server, *options):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_3", "-msg", *options], input=b"GET /a.txt HTTP/1.0\r\n\r\n",
                          capture_output=True, timeout=brigade.PATIENCE)
    return done.stdout.decode("latin-1")


def test_what_the_program_says_is_what_openssl_has(abilities):
    version, exchange, compression = abilities
    assert (exchange == "X25519MLKEM768") == (version >= (3, 5))
    assert version >= (3, 2) or compression == "no certificate compression"


def test_the_post_quantum_key_exchange_is_the_default(server, abilities):
    shown = handshake(server)
    assert "Verify return code" in shown
    if abilities[1] != "X25519MLKEM768":
        pytest.skip("this OpenSSL has no X25519MLKEM768")
    assert "X25519MLKEM768" in shown
    assert "X25519MLKEM768" not in handshake(server, "-groups", "X25519")


def test_certificates_are_sent_compressed_to_those_who_take_it(server, abilities):
    shown = handshake(server)
    assert "Verify return code" in shown
    if abilities[2] == "no certificate compression":
        pytest.skip("this OpenSSL compresses no certificates")
    assert "CompressedCertificate" in shown
    plain = handshake(server, "-no_rx_cert_comp")
    assert "CompressedCertificate" not in plain and "Verify return code" in plain
