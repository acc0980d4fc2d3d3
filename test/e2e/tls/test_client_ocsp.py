# SPDX-License-Identifier: Apache-2.0
"""SSLOCSPEnable and its siblings: a responder is asked about certificates of clients. Apache does the same with the same configuration
(BRIGADE=/usr/sbin/apache2)."""
import contextlib
import http.client
import os
import shutil
import socket
import ssl
import threading

import pytest

import brigade
from ocsp_responder import Responder, make_clients
from tls_site import TLSAuthority, certificate

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")

OVERRIDE = "SSLOCSPOverrideResponder on\nSSLOCSPDefaultResponder @OCSP@"
HOSTS = {
    "on": "SSLOCSPEnable on",
    "leaf": "SSLOCSPEnable leaf",
    "lax": "SSLOCSPEnable on no_ocsp_for_cert_ok",
    "default": "SSLOCSPEnable on\nSSLOCSPDefaultResponder @OCSP@/ours",
    "silent": f"SSLOCSPEnable on\nSSLOCSPResponderTimeout 3\n{OVERRIDE}/silent",
    "garbage": f"SSLOCSPEnable on\n{OVERRIDE}/garbage",
    "https": "SSLOCSPEnable on\nSSLOCSPOverrideResponder on\nSSLOCSPDefaultResponder https://127.0.0.1:9/",
    "stranger": f"SSLOCSPEnable on\n{OVERRIDE}/stranger",
    "unverified": f"SSLOCSPEnable on\nSSLOCSPNoVerify on\n{OVERRIDE}/stranger",
    "trusted": f"SSLOCSPEnable on\nSSLOCSPResponderCertificateFile @ROOT@/stranger/ca.pem\n{OVERRIDE}/stranger",
    "replayed": f"SSLOCSPEnable on\n{OVERRIDE}/replay",
    "nonceless": f"SSLOCSPEnable on\nSSLOCSPUseRequestNonce off\n{OVERRIDE}/replay",
    "fresh": f"SSLOCSPEnable on\nSSLOCSPUseRequestNonce off\nSSLOCSPResponseMaxAge 0\nSSLOCSPResponseTimeSkew 0\n{OVERRIDE}/old",
    "proxied": "SSLOCSPEnable on\nSSLOCSPProxyURL @OCSP@",
    "anybody": "SSLOCSPEnable on\nSSLVerifyClient optional_no_ca",
}
COMMON = """
SSLSessionCache none
SSLSessionTickets off
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
SSLCACertificateFile @ROOT@/made/ca.pem
SSLVerifyDepth 3
"""
DIRECTORIES = """<VirtualHost *:@PORT@>
ServerName directories
SSLEngine on
SSLOCSPEnable on
<Location /asked>
SSLVerifyClient require
</Location>
</VirtualHost>
"""


@pytest.fixture(scope="module")
def site(serve_module):
    with contextlib.ExitStack() as ends:
        responder = Responder()
        threading.Thread(target=responder.serve_forever, daemon=True).start()
        ends.callback(responder.shutdown)
        ends.callback(responder.over.set)
        hosts = "".join(f"<VirtualHost *:@PORT@>\nServerName {name}\nSSLEngine on\nSSLVerifyClient require\n{lines}\n</VirtualHost>\n" for name, lines in HOSTS.items())
        loads = "" if brigade.is_apache(brigade.BINARY) else "BuiltinModule ssl_module On\nEventLoops 1\n"
        server = serve_module.unstarted(loads + COMMON + (hosts + DIRECTORIES).replace("@OCSP@", responder.url), {"asked/a.txt": "asked\n", "a.txt": "text\n"}, modules=("socache_shmcb", "ssl"))
        certificate(server)
        ours, stranger = TLSAuthority(server.path("made")), TLSAuthority(server.path("stranger"))
        make_clients(ours, responder.url)
        responder.folders = {"ours": ours.folder, "stranger": stranger.folder, "middle": f"{ours.folder}/middle"}
        stranger.make("client", "stranger", extensions=f"authorityInfoAccess=OCSP;URI:{responder.url}/ours\n")
        server.responder = responder
        yield server.start()


def ask(server, host, unit, version=ssl.TLSVersion.TLSv1_3, target="/a.txt"):
    """The status of an answer, or the alert that came in its place."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.post_handshake_auth = False, ssl.CERT_NONE, True
    context.minimum_version = context.maximum_version = version
    if unit:
        folder = server.path("stranger" if unit == "stranger" else "made")
        context.load_cert_chain(os.path.join(folder, f"{unit}.pem"), os.path.join(folder, f"{unit}.key"))
    client = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=brigade.PATIENCE, context=context)
    wrap = context.wrap_socket
    client._context = type("C", (), {"wrap_socket": staticmethod(lambda s, server_hostname=None: wrap(s, server_hostname=host))})()
    try:
        client.request("GET", target, headers={"Host": host})
        answer = client.getresponse()
        answer.read()
        return answer.status
    except ssl.SSLError as e:
        return e.reason.replace("SSLV3_ALERT_", "")
    finally:
        client.close()


def logged(server, text):
    if not (server.apache and text.startswith(("AH01918", "AH01920"))):  # it says these for debugging alone
        server.wait_for_log(text)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("unit, answer", [("good", 200), ("revoked", "CERTIFICATE_REVOKED"), ("unknown", "HANDSHAKE_FAILURE"), ("stranger", "TLSV1_ALERT_UNKNOWN_CA")])
def test_statuses(site, unit, answer, version):
    assert ask(site, "on", unit, version) == answer
    if unit != "stranger":
        logged(site, f"AH03239: OCSP validation completed, certificate status: {unit}")


@pytest.mark.parametrize("host, unit, answer, message", [
    ("leaf", "under", 200, "status: good"), ("on", "under", "CERTIFICATE_REVOKED", "status: revoked"),
    ("on", "mute", "HANDSHAKE_FAILURE", "AH01918: no OCSP responder"), ("lax", "mute", 200, ""), ("lax", "revoked", "CERTIFICATE_REVOKED", ""),
    ("default", "mute", 200, ""), ("default", "revoked", "CERTIFICATE_REVOKED", ""), ("default", "far", "HANDSHAKE_FAILURE", ""),
    ("https", "good", "HANDSHAKE_FAILURE", "AH01920: cannot handle OCSP responder URI 'https://"), ("garbage", "good", "HANDSHAKE_FAILURE", ""),
    ("stranger", "good", "HANDSHAKE_FAILURE", "AH01925: failed to verify the OCSP response"), ("unverified", "good", 200, ""), ("trusted", "good", 200, ""),
    ("fresh", "good", "HANDSHAKE_FAILURE", "AH02273: OCSP response outside validity period"),
    ("anybody", "good", 200, ""), ("anybody", "revoked", "CERTIFICATE_REVOKED", ""), ("anybody", "stranger", "HANDSHAKE_FAILURE", "AH02038: cannot perform OCSP validation"), ("anybody", None, 200, ""),
])
def test_settings(site, host, unit, answer, message):
    assert ask(site, host, unit) == answer
    logged(site, message)


def test_nonce(site):
    assert ask(site, "on", "good") == 200  # a response that is kept
    assert ask(site, "nonceless", "good") == 200
    assert ask(site, "replayed", "good") == "HANDSHAKE_FAILURE"
    logged(site, r"AH01924: Bad OCSP responder answer \(bad nonce\)")


def test_proxy(site):
    assert ask(site, "proxied", "far") == 200
    assert "http://ocsp.invalid/ours" in [line.replace(":80/", "/") for line in site.responder.lines]


def test_others_do_not_wait_for_a_silent_responder(site):
    seen = []
    slow = threading.Thread(target=lambda: seen.append(ask(site, "silent", "good")))
    slow.start()
    assert site.responder.silent.wait(brigade.PATIENCE)
    for _ in range(5):
        assert ask(site, "directories", None) == 200
    assert slow.is_alive() and not seen
    slow.join(brigade.PATIENCE)
    assert seen == ["HANDSHAKE_FAILURE"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_directories(site, version):
    """A certificate that is asked for by a directory is asked about, too."""
    before = len(site.responder.lines)
    assert ask(site, "directories", "good", version) == 200 and len(site.responder.lines) == before
    assert ask(site, "directories", "good", version, "/asked/a.txt") == 200 and len(site.responder.lines) == before + 1
    assert ask(site, "directories", "revoked", version, "/asked/a.txt") in ("CERTIFICATE_REVOKED", 403)


def early(server, host, unit):
    """The first flight of TLS 1.2, and a Certificate behind it that does not wait for the server's."""
    context, sent = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO()
    context.check_hostname, context.verify_mode, context.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    with open(os.path.join(server.path("made"), f"{unit}.pem"), encoding="ascii") as f:
        der = ssl.PEM_cert_to_DER_cert(f.read())
    chain = len(der).to_bytes(3, "big") + der
    message = b"\x0b" + (len(chain) + 3).to_bytes(3, "big") + len(chain).to_bytes(3, "big") + chain
    return sent.read() + b"\x16\x03\x03" + len(message).to_bytes(2, "big") + message


def test_a_certificate_that_comes_too_early(site):
    """It is a worker that asks about it all the same."""
    before, processes = len(site.responder.lines), site.children()
    with socket.create_connection(("127.0.0.1", site.port), timeout=brigade.PATIENCE) as s:
        s.sendall(early(site, "on", "good"))
        brigade.wait_until(lambda: len(site.responder.lines) > before, "the question")
    assert ask(site, "on", "good") == 200
    assert site.children() == processes
