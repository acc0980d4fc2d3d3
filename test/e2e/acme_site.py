# SPDX-License-Identifier: Apache-2.0
"""What tests of the built-in md module share."""
import socket
import ssl
import subprocess

import brigade

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


def shown(port, name):
    """The certificate that a host shows: its text."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), brigade.PATIENCE) as plain, context.wrap_socket(plain, server_hostname=name) as s:
        der = s.getpeercert(binary_form=True)
    return subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-text"], input=der, check=True, capture_output=True).stdout.decode()


def status(port, name, target="/", scheme="https", headers=()):
    done = subprocess.run(["curl", "-skg", "--resolve", f"{name}:{port}:127.0.0.1", "-o", "/dev/null", "-D", "-",
                           *(x for h in headers for x in ("-H", h)), f"{scheme}://{name}:{port}{target}"], check=True, capture_output=True)
    return done.stdout.decode()
