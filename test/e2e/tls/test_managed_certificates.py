# SPDX-License-Identifier: Apache-2.0
"""Certificates that Debian's mod_md gets from an ACME authority (pebble, of Debian's package), for the built-in ssl module."""
import json
import os
import shutil
import socket
import ssl
import subprocess

import pytest

import brigade
from tls_site import TLSAuthority, start

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_md.so"), reason="mod_md is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="Apache needs a restart")]

CONFIG = """
BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
LoadModule md_module @MODULES@/mod_md.so
LogLevel md:info
MDStoreDir @ROOT@/md
MDCertificateAuthority https://127.0.0.1:@ACME@/dir
MDCertificateAgreement accepted
MDContactEmail nobody@md.test
MDCACertificateFile @ROOT@/made/ca.pem
MDPortMap http:@HTTP@ https:@TLS@
MDStapling off
<MDomain md.test>
MDCAChallenges http-01
</MDomain>
<MDomain alpn.test>
MDCAChallenges tls-alpn-01
</MDomain>
Listen 127.0.0.1:@HTTP@
Listen 127.0.0.1:@TLS@
<VirtualHost *:@HTTP@>
ServerName md.test
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName md.test
SSLEngine on
Protocols http/1.1 acme-tls/1
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName alpn.test
SSLEngine on
Protocols http/1.1 acme-tls/1
</VirtualHost>
"""


class Pebble:
    """The authority; it asks for proofs at the server's ports."""

    def __init__(self, folder, authority, http, tls):
        made = authority.make("127.0.0.1", "pebble", extensions="subjectAltName=IP:127.0.0.1\n")
        self.port, manage, dns, self.processes = brigade.free_port(), brigade.free_port(), brigade.free_port(), []
        with open(os.path.join(folder, "pebble.json"), "w") as f:
            json.dump({"pebble": {"listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{manage}",
                                  "certificate": made["cert"], "privateKey": made["key"], "httpPort": http, "tlsPort": tls,
                                  "ocspResponderURL": "", "externalAccountBindingRequired": False}}, f)
        self.out = open(os.path.join(folder, "pebble.log"), "wb")
        self._start("pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", f"127.0.0.1:{dns}", "-http01", "",
                    "-https01", "", "-tlsalpn01", "", "-management", f"127.0.0.1:{brigade.free_port()}")
        self._start("pebble", "-config", os.path.join(folder, "pebble.json"), "-dnsserver", f"127.0.0.1:{dns}")
        brigade.wait_until(self._answers, "pebble")

    def _start(self, *command):
        self.processes.append(subprocess.Popen(command, stdout=self.out, stderr=self.out, env={**os.environ, "PEBBLE_VA_NOSLEEP": "1"}))

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait()
        self.out.close()


def issuer(port, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), brigade.PATIENCE), server_hostname=name) as s:
        der = s.getpeercert(binary_form=True)
    return subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-issuer"], input=der, check=True, capture_output=True).stdout.decode()


@pytest.mark.skipif(not shutil.which("pebble"), reason="pebble is not installed")
def test_got_from_an_authority(serve):
    """By http-01 and by tls-alpn-01; activated without anybody's help."""
    ports = {name: brigade.free_port() for name in ("HTTP", "TLS")}
    server = serve.unstarted(CONFIG, modules=())
    pebble = Pebble(server.path("made"), TLSAuthority(server.path("made")), ports["HTTP"], ports["TLS"])
    try:
        for name, port in {**ports, "ACME": pebble.port}.items():
            server.config = server.config.replace(f"@{name}@", str(port))
        start(server)
        assert "Pebble" not in issuer(ports["TLS"], "md.test"), "mod_md's own, meanwhile"
        for name in ("md.test", "alpn.test"):
            server.wait_for_log(f"TLS: mod_md has a new certificate for {name}: graceful restart")
            brigade.wait_until(lambda: "Pebble" in issuer(ports["TLS"], name), f"the certificate of {name}")
        assert server.error_log().count(b"Doing graceful restart") <= 2
    finally:
        pebble.end()
