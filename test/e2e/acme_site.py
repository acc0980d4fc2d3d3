# SPDX-License-Identifier: Apache-2.0
"""What tests of the built-in md module share."""
import socket
import ssl
import subprocess

import brigade
from acme_authority import Authority
from tls_site import start

MANAGED = """
BuiltinModule md_module On
MDStoreDir @ROOT@/md
MDCertificateAuthority @ACME@/dir
MDCertificateAgreement accepted
MDContactEmail nobody@md.test
MDCACertificateFile @ROOT@/made/ca.pem
MDPortMap http:@HTTP@ https:@TLS@
MDRetryDelay 100ms
MDPrivateKeys secp256r1
"""
CONFIG = MANAGED + """Listen 127.0.0.1:@HTTP@
Listen 127.0.0.1:@TLS@
<VirtualHost *:@HTTP@>
ServerName md.test
ServerAlias www.md.test
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName md.test
ServerAlias www.md.test
SSLEngine on
Protocols h2 http/1.1 acme-tls/1
</VirtualHost>
"""
FALLBACK = "Apache Managed Domain Fallback"


class Site:
    """A server with an authority of its own, whose addresses are put into the configuration."""
    PORTS, AUTHORITY = ("HTTP", "TLS"), Authority

    def __init__(self, server, **more):
        self.ports, self.server = {name: brigade.free_port() for name in self.PORTS}, server
        self.authority = self.AUTHORITY(server.path("made"), self.ports, **more)
        for name, value in {**self.ports, "ACME": self.authority.url}.items():
            server.config = server.config.replace(f"@{name}@", str(value))

    def start(self):
        start(self.server)
        return self


def sites(make):
    """What a fixture yields: a function that makes one; their authorities end with the test."""
    made = []

    def one(*args, **more):
        made.append(make(*args, **more))
        return made[-1]

    yield one
    for site in made:
        site.authority.end()


def shown(port, name, patience=brigade.PATIENCE):
    """The certificate that a host shows: its text."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), patience) as plain, context.wrap_socket(plain, server_hostname=name) as s:
        der = s.getpeercert(binary_form=True)
    return subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-text"], input=der, check=True, capture_output=True).stdout.decode()


def status(port, name, target="/", scheme="https", headers=()):
    done = subprocess.run(["curl", "-skg", "--resolve", f"{name}:{port}:127.0.0.1", "-o", "/dev/null", "-D", "-",
                           *(x for h in headers for x in ("-H", h)), f"{scheme}://{name}:{port}{target}"], check=True, capture_output=True)
    return done.stdout.decode()
