# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 over the built-in TLS: ALPN by virtual host, hosts that share a connection, variables, load. What does not need TLS is in
../protocol/test_http2.py."""
import shutil
import socket
import ssl
import subprocess

import pytest

import brigade
from h2_client import H2SPEC, Connection
from tls_site import certificate

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")]

CONFIG = """
BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
BuiltinModule http2_module On
LoadModule http2_module @MODULES@/mod_http2.so
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
Listen 127.0.0.1:@TLS@
AddOutputFilter INCLUDES .shtml
Options +Includes
LogFormat "%v %H %U %>s %{SSL_PROTOCOL}x" tls
CustomLog @ROOT@/logs/tls.log tls
<VirtualHost *:@TLS@>
ServerName first.test
Protocols h2 http/1.1
SSLEngine on
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName second.test
Protocols http/1.1
SSLEngine on
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName third.test
Protocols http/1.1 h2
SSLEngine on
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName old.test
Protocols h2 http/1.1
SSLEngine on
SSLProtocol TLSv1.2
</VirtualHost>
<Directory @ROOT@/htdocs>
Options +Includes
</Directory>
"""
FILES = {"a.txt": "first\n", "b.txt": "b" * 10240, "page.shtml": '<!--#echo var="HTTPS" --> <!--#echo var="HTTP2" -->\n'}


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), FILES, modules=())
    certificate(made)
    made.tls = tls
    return made.start()


def connect(server, name, protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(protocols)
    return Connection(server.tls, preface="h2" in protocols, wrap=lambda s: context.wrap_socket(s, server_hostname=name))


@pytest.mark.parametrize("name,offered,chosen", [
    ("first.test", ["h2", "http/1.1"], "h2"), ("first.test", ["http/1.1", "h2"], "h2"), ("first.test", ["http/1.1"], "http/1.1"),
    ("second.test", ["h2", "http/1.1"], "http/1.1"), ("third.test", ["h2", "http/1.1"], "http/1.1"), ("third.test", ["h2"], "h2")])
def test_alpn(server, name, offered, chosen):
    with connect(server, name, offered) as c:
        assert c.sock.selected_alpn_protocol() == chosen
        if chosen == "h2":
            c.request(1, path="/a.txt", authority=name, scheme="https")
            assert c.response(1) == (200, b"first\n")


@pytest.mark.parametrize("cipher,chosen", [("ECDHE-ECDSA-AES128-GCM-SHA256", "h2"),
                                           ("ECDHE-ECDSA-AES128-SHA256", "http/1.1")])
def test_ciphers_that_http2_does_without(server, cipher, chosen):
    """H2ModernTLSOnly is on, as in Apache."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(cipher + ":@SECLEVEL=0")
    with context.wrap_socket(socket.create_connection(("127.0.0.1", server.tls)), server_hostname="first.test") as s:
        assert (s.cipher()[0], s.selected_alpn_protocol()) == (cipher, chosen)


def test_host_of_another_handshake(server):
    with connect(server, "first.test", ["h2"]) as c:
        for stream, (host, status) in {1: ("first.test", 200), 3: ("old.test", 421), 5: ("first.test", 200)}.items():
            c.request(stream, path="/a.txt", authority=host, scheme="https")
            assert c.response(stream)[0] == status
    server.wait_for_log("AH02032")
    server.wait_for_log("first.test HTTP/2.0 /a.txt 200 TLSv1", "logs/tls.log")


def test_variables(server):
    with connect(server, "first.test", ["h2"]) as c:
        for stream in (1, 3, 5):
            c.request(stream, path="/page.shtml", authority="first.test", scheme="https")
            assert c.response(stream) == (200, b"on on\n")


@pytest.mark.skipif(not H2SPEC, reason="h2spec is not installed")
def test_h2spec(server):
    """All cases of its strict mode."""
    done = subprocess.run([H2SPEC, "-S", "-t", "-k", "-h", "127.0.0.1", "-p", str(server.tls), "-P", "/b.txt"], capture_output=True, timeout=60)
    assert b"146 tests, 146 passed, 0 skipped, 0 failed" in done.stdout, done.stdout.decode().split("Failures:")[-1]


@pytest.mark.skipif(not shutil.which("h2load"), reason="h2load is not installed")
def test_load(server):
    for path in ("/b.txt", "/page.shtml"):
        done = subprocess.run(["h2load", "-n", "400", "-c", "4", "-m", "32", f"https://127.0.0.1:{server.tls}{path}"], capture_output=True,
                              timeout=60)
        assert b"400 succeeded, 0 failed" in done.stdout, done.stdout
