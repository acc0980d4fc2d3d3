# SPDX-License-Identifier: Apache-2.0
"""What build/tools/check_tls.py says of a server with today's settings, and of one with those of long ago."""
import os
import shutil
import subprocess
import sys

import pytest

import brigade
from tls_site import certificate

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module"), pytest.mark.slow]
PROGRAM = os.path.join(brigade.REPOSITORY, "build", "tools", "check_tls.py")
CONFIG = "BuiltinModule ssl_module On\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"


def check(serve, lines):
    s = serve.unstarted(CONFIG + lines, {"a.txt": "text\n"}, modules=())
    certificate(s)
    s.start()
    done = subprocess.run([sys.executable, PROGRAM, f"127.0.0.1:{s.port}", "--name", "localhost"], capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout


def test_settings_of_today(serve):
    status, shown = check(serve, "SSLProtocol all -TLSv1 -TLSv1.1\nSSLCipherSuite ECDHE+AESGCM:ECDHE+CHACHA20\nSSLHonorCipherOrder on\n")
    assert status == 0, shown
    assert "BAD" not in shown
    for line in ("TLS 1.1 .*not offered", "TLS 1.2 .*offered", "TLS 1.3 .*offered", "ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_AES_256_GCM_SHA384", "the server's",
                 "no RSA key exchange", "renegotiation by clients *refused", "extended master secret .*yes", "compression .*not offered", "heartbeat .*not offered"):
        assert brigade.re.search(line, shown), (line, shown)


def test_settings_of_long_ago(serve):
    status, shown = check(serve, "SSLProtocol all\nSSLCipherSuite ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-GCM-SHA384:@SECLEVEL=0\n")
    assert status == 1, shown
    assert brigade.re.search("BAD TLS 1.0 .*offered", shown) and brigade.re.search("BAD TLS 1.1 .*offered", shown), shown
    assert "the client's" in shown
