# SPDX-License-Identifier: Apache-2.0
"""testssl.sh (a package of Debian) on a site with the directives that TLS needs and no other, here and on Apache: what it complains of
here it complains of there. docs/internals/suites.md tells what that is."""
import csv
import os
import shutil
import subprocess

import pytest

import support  # noqa: F401 pylint: disable=unused-import
from support import brigade
from tls_site import certificate, start

TESTSSL = os.environ.get("TESTSSL") or shutil.which("testssl") or shutil.which("testssl.sh")
SECONDS = 280
COMPLAINTS = {"LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL"}
APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
SITE = """Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
    ServerName localhost
    SSLEngine on
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
"""


def complaints(binary):
    tls = brigade.free_port()
    server = brigade.Server(SITE.replace("@TLS@", str(tls)), {"index.html": "the page"}, binary=binary, modules=["socache_shmcb", "ssl"])
    certificate(server)
    start(server)
    try:
        report = server.path("report.csv")
        subprocess.run([TESTSSL, "--quiet", "--color", "0", "--warnings", "off", "--ip", "127.0.0.1", "--nodns", "none", "--csvfile", report, "-p", "-s", "-P", "-S", "-h", "-U",
                        f"localhost:{tls}"], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        with open(report, encoding="utf-8") as f:
            found = {row["id"]: row["finding"] for row in csv.DictReader(f) if row["severity"] in COMPLAINTS}
        assert server.get("/").status == 200
        server.check_logs()
    finally:
        server.stop()
    server.remove()
    return found


@pytest.mark.slow
@pytest.mark.only("brigade")
@pytest.mark.skipif(not TESTSSL, reason="testssl.sh is not installed")
@pytest.mark.skipif(not os.access(APACHE, os.X_OK), reason="Apache is not installed")
def test_complaints():
    here, there = complaints(brigade.BINARY), complaints(APACHE)
    print(here)
    assert "cert_chain_of_trust" in here, "it did not come that far"
    assert set(here) <= set(there), {name: text for name, text in here.items() if name not in there}
