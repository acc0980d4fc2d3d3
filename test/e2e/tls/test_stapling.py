# SPDX-License-Identifier: Apache-2.0
"""OCSP responses in handshakes: mod_md fetches them, the built-in ssl module sends them."""
import os
import shutil
import subprocess

import pytest

import brigade
from tls_site import TLSAuthority, start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")]

CONFIG = """
BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
@GLOBAL@
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
ServerName a.test
SSLEngine on
SSLUseStapling on
SSLCertificateFile @ROOT@/made/a.pem
SSLCertificateKeyFile @ROOT@/made/a.key
</VirtualHost>
"""
MD = """
LoadModule md_module @MODULES@/mod_md.so
MDStoreDir @ROOT@/md
MDStapling on
MDStapleOthers on
"""


def site(serve, everywhere="", responder=None, key=()):
    tls = brigade.free_port()
    server = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@GLOBAL@", everywhere), {"x.txt": "x\n"}, modules=())
    authority = TLSAuthority(server.path("made"))
    made = authority.make("a.test", "a", *key, extensions=f"authorityInfoAccess=OCSP;URI:http://127.0.0.1:{responder}\n" if responder else "")
    with open(made["cert"], "ab") as f, open(server.path("made/ca.pem"), "rb") as ca:
        f.write(ca.read())
    server.tls = tls
    return server


def stapled(server, *options):
    out = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls}", "-servername", "a.test", "-status", *options], input=b"",
                         capture_output=True, timeout=brigade.PATIENCE).stdout
    assert b"CN=a.test" in out.replace(b" = ", b"=")  # as openssl 3.2 and later write it
    return b"OCSP Response Status: successful" in out and b"Cert Status: good" in out


@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_md.so"), reason="mod_md is not installed")
@pytest.mark.parametrize("key", [(), [("rsa", "rsa_keygen_bits:3072")]], ids=["signed by the loop", "signed by a worker"])
def test_responses_of_mod_md(serve, key):
    port = brigade.free_port()
    server = site(serve, MD, port, key)
    folder = server.path("made/")
    with open(server.path("logs/responder"), "wb") as log:
        responder = subprocess.Popen(["openssl", "ocsp", "-index", folder + "index", "-port", str(port), "-rsigner", folder + "ca.pem", "-rkey",
                                      folder + "ca.key", "-CA", folder + "ca.pem", "-ndays", "1"], stdout=log, stderr=log)
    try:
        start(server)
        brigade.wait_until(lambda: stapled(server), "a stapled response")
    finally:
        responder.kill()
        responder.wait()
    assert stapled(server, "-tls1_2") and stapled(server, "-tls1_3")


def test_nothing_to_staple(serve):
    server = site(serve)
    start(server)
    assert not stapled(server)
    server.wait_for_log(rf"AH02218: the certificate of a.test:{server.tls} names no OCSP responder: nothing to staple")


def test_nobody_who_staples(serve):
    """The certificate names a responder: what is not offered is said by name."""
    done = site(serve, "BuiltinModule md_module Off", responder=1).run("-t")
    assert b"SSLUseStapling On is not offered by the built-in ssl module" in done.stderr
