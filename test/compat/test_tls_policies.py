# SPDX-License-Identifier: Apache-2.0
"""Which virtual hosts may be asked for over the handshake of another: SSLVHostSNIPolicy and SSLStrictSNIVHostCheck, in Apache
with mod_ssl and in the built-in module. Each virtual host differs from the first in one directive."""
import os
import shutil
import subprocess

import pytest

import brigade
from test_tls_clients import ask, context_for, make_authority
from stock import driver

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]

DIFFERENCES = {
    "same": "", "certificate": "SSLCertificateFile @ROOT@/conf/other.pem\nSSLCertificateKeyFile @ROOT@/conf/other.key", "protocol": "SSLProtocol TLSv1.2 TLSv1.3", "allbut": "SSLProtocol all -SSLv3",
    "ciphers": "SSLCipherSuite HIGH", "ciphers13": "SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256", "order": "SSLHonorCipherOrder on", "optional": "SSLVerifyClient optional", "require": "SSLVerifyClient require",
    "none": "SSLVerifyClient none", "depth": "SSLVerifyDepth 3", "ca": "SSLCACertificateFile @ROOT@/conf/other.pem", "capath": "SSLCACertificatePath @ROOT@/conf", "crl": "SSLCARevocationCheck chain\nSSLCARevocationFile @ROOT@/conf/crl.pem",
    "names": "SSLCADNRequestFile @ROOT@/conf/other.pem", "tickets": "SSLSessionTickets off", "timeout": "SSLSessionCacheTimeout 77", "command": "SSLOpenSSLConfCmd Groups P-256", "options": "SSLOptions +StdEnvVars",
}
HOST = "<VirtualHost *:@TLS@>\nServerName {}.test\nSSLEngine on\nSSLCACertificateFile @ROOT@/conf/cert.pem\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n{}\n</VirtualHost>\n"
CONFIG = "SSLVHostSNIPolicy @POLICY@\nSSLSessionCache none\nLogLevel ssl:info\nServerName outer\nListen 127.0.0.1:@TLS@\n" + HOST.format("first", "") + "".join(HOST.format(n, text) for n, text in DIFFERENCES.items())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    for name in ("cert", "other"):
        make_authority(folder, name)
    os.rename(folder / "cert.key", folder / "key.pem")
    subprocess.run(["openssl", "ca", "-config", "other.cnf", "-gencrl", "-out", "crl.pem"], cwd=folder, check=True, capture_output=True)
    return folder


def make(binary, files, config):
    server = brigade.Server("", binary=binary, modules=["ssl"])
    server.tls = brigade.free_port()
    for name in ("cert.pem", "key.pem", "other.pem", "other.key", "crl.pem"):
        shutil.copy(files / name, server.path(f"conf/{name}"))
    server.config = ("" if server.apache else f"BuiltinModule ssl_module Auto\nLoadModule ssl_module {driver.MODULES}/mod_ssl.so\n") + config.replace("@TLS@", str(server.tls))
    server.write("a.txt", "text\n")
    driver.settle(server.path("htdocs"))
    return server


def statuses(server, files, name, host):
    seen = ask(server, context_for(files, "1.3", None), name, [("GET", "/a.txt", None)], host=host)[0]
    return seen if isinstance(seen, str) else seen[0]


@pytest.mark.parametrize("policy", ["secure", "strict", "authonly", "insecure"])
def test_policy(files, policy):
    seen = []
    for binary in (driver.APACHE, brigade.BINARY):
        with make(binary, files, CONFIG.replace("@POLICY@", policy)) as server:
            seen.append({host: statuses(server, files, "first.test", f"{host}.test") for host in DIFFERENCES})
            seen[-1].update({f"from {host}": statuses(server, files, f"{host}.test", "first.test") for host in DIFFERENCES if host != "require"})
            assert b"is not offered by the built-in" not in server.error_log()
            if policy == "secure":
                assert b"AH02032: Hostname first.test provided via SNI and hostname require.test provided via HTTP" in server.error_log()
    assert {k: (v, seen[1][k]) for k, v in seen[0].items() if v != seen[1][k]} == {}


@pytest.mark.parametrize("strict", ["first", "same"])
def test_strict_check(files, strict):
    """Clients without a server name."""
    config = CONFIG.replace("@POLICY@", "secure").replace(f"ServerName {strict}.test", f"ServerName {strict}.test\nSSLStrictSNIVHostCheck on")
    seen = []
    for binary in (driver.APACHE, brigade.BINARY):
        with make(binary, files, config) as server:
            seen.append([statuses(server, files, None, host) for host in ("first.test", "same.test", "require.test", "tickets.test") for _ in range(2)])
    assert seen[1] == seen[0]
