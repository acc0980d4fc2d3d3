# SPDX-License-Identifier: Apache-2.0
"""TLS of HTTP/3: virtual hosts by name, keys that take long to sign with, client certificates, versions, resumption; the certificate of a host
changes without a restart."""
import os
import shutil
import subprocess

import pytest

import brigade
from http3_client import ask, http3_python
from tls_site import TLSAuthority

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 h2 http/1.1
EventLoops 2
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/first.pem
SSLCertificateKeyFile @ROOT@/conf/first.key
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
Options +Includes
SSLOptions +StdEnvVars
</Directory>
<VirtualHost *:@TLS@>
ServerName first.test
SSLEngine on
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName long.test
SSLEngine on
SSLCertificateFile @ROOT@/conf/long.pem
SSLCertificateKeyFile @ROOT@/conf/long.key
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName client.test
SSLEngine on
SSLVerifyClient require
SSLCACertificateFile @ROOT@/conf/ca/ca.pem
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName old.test
SSLEngine on
SSLProtocol TLSv1.2
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName without.test
SSLEngine on
Protocols h2 http/1.1
</VirtualHost>
"""
PAGE = '<!--#echo var="SERVER_NAME" --> <!--#echo var="SSL_SERVER_S_DN_CN" --> <!--#echo var="SSL_CLIENT_S_DN_CN" --> <!--#echo var="SSL_CIPHER" -->\n'


def make(server, name, kind):
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", server.path(f"conf/{name}.key"),
                    "-out", server.path(f"conf/{name}.pem")], check=True, capture_output=True)


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), {"page.shtml": PAGE})
    make(made, "first", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
    make(made, "long", ["rsa:4096"])
    made.authority = TLSAuthority(made.path("conf/ca"))
    made.tls = tls
    return made.start()


def get(server, name, n=1, **more):
    return ask(PYTHON, "curl", [{"url": f"https://{name}:{server.tls}/page.shtml", "resolve": f"{name}:{server.tls}:127.0.0.1", **more} for _ in range(n)])


@pytest.mark.parametrize("name,subject", [("first.test", "first"), ("long.test", "long")])
def test_hosts_by_name(server, name, subject):
    """A large key signs at a worker."""
    for answer in get(server, name, 3):
        assert answer.status == 200 and answer.body.decode().split()[:2] == [name, subject], answer


def test_client_certificates(server):
    made = server.authority.make("visitor", "client")
    assert get(server, "client.test")[0].error
    answer = get(server, "client.test", cert=made["cert"], key=made["key"])[0]
    assert answer.body.decode().split()[:3] == ["client.test", "first", "visitor"], answer


@pytest.mark.parametrize("name", ["old.test", "without.test"])
def test_hosts_without_it(server, name):
    """One has no TLS 1.3, the other one no h3 in Protocols: the handshake fails, and tells why."""
    assert get(server, name)[0].error


def test_a_renewed_certificate(server):
    """Without a restart."""
    make(server, "renewed", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
    for kind in ["key", "pem"]:
        os.rename(server.path(f"conf/renewed.{kind}"), server.path(f"conf/first.{kind}"))
    brigade.wait_until(lambda: b"renewed" in get(server, "first.test")[0].body, "the new certificate", 30)
