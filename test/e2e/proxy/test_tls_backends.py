# SPDX-License-Identifier: Apache-2.0
"""Backends over TLS: answers and bodies of any size, on loops and on workers, kept connections, sessions, certificates of both sides, and
backends that are not who they should be."""
import os
import shutil
import ssl
import subprocess
import sys

import pytest

import brigade
from backend import Backend, answer
from ports import named_localhost

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "compat"))
from proxy_authority import Authority  # noqa: E402

pytestmark = [named_localhost, pytest.mark.only("brigade"), pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


class TLSBackend(Backend):
    def __init__(self, pem, scripts=None, asks=None, newest=None, ciphers=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem, pem)
        if newest:
            self.context.maximum_version = newest
        if ciphers:
            self.context.set_ciphers(ciphers)
        if asks:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(asks)
        self.seen, self.subjects = [], []
        super().__init__(scripts)

    def _serve(self, connection):
        raw = connection.socket
        try:
            connection.socket = self.context.wrap_socket(raw, server_side=True)
        except OSError:
            raw.close()
            return
        self.seen.append(connection.socket.session_reused)
        self.subjects.append(connection.socket.getpeercert())
        super()._serve(connection)


class ClearBackend(Backend):
    def _serve(self, connection):
        connection.more()
        connection.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        connection.socket.close()


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("papers"))
    os.chmod(folder, 0o755)
    ca, foreign = Authority(os.path.join(folder, "ca")), Authority(os.path.join(folder, "foreign"), "foreign")
    san = "subjectAltName=DNS:localhost\n"
    made = {"ca": ca.ca, "good": ca.issue("good", "localhost", san), "other": ca.issue("other", "other.test", "subjectAltName=DNS:other.test\n"),
            "expired": ca.issue("expired", "localhost", san, -3, -1), "foreign": foreign.issue("server", "localhost", san), "revoked": ca.issue("revoked", "localhost", san)}
    ca.revoke("revoked")
    ca.issue("client", "visitor")
    made.update(client=ca.path("client.pem"), crl=ca.crl(), path=os.path.join(folder, "path"))
    os.mkdir(made["path"])
    shutil.copy(ca.ca, os.path.join(made["path"], "ca.pem"))
    subprocess.run(["openssl", "rehash", made["path"]], check=True)
    return made


def config(backend, papers, lines="", more=""):
    require = f"SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyCACertificateFile {papers['ca']}\n"
    return f"EventLoops 1\nLogLevel ssl:info\n{require}{lines}\nProxyPass /p/ https://localhost:{backend.port}/\n{more}"


@pytest.mark.parametrize("ciphers", [None, "ECDHE-ECDSA-AES128-SHA256"], ids=["own", "openssl"])
@pytest.mark.parametrize("version", VERSIONS, ids=["1.2", "1.3"])
@pytest.mark.parametrize("size", [0, 1, 16384, 16385, 3000000])
def test_bodies(serve, papers, version, ciphers, size):
    body = bytes(range(251)) * (size // 251 + 1)
    with TLSBackend(papers["good"], {"/x": answer(body[:size])}, newest=version, ciphers=ciphers) as backend:
        server = serve(config(backend, papers))
        for _ in range(3):
            assert server.get("/p/x").body == body[:size]
            assert server.request("POST", "/p/post", body=body[:size]).status == 200
            assert backend.requests[-1].body == body[:size]
        assert backend.connections == 1


def test_on_workers(serve, papers):
    """A sub-request of a page that a worker makes."""
    with TLSBackend(papers["good"], {"/part": answer(b"part")}) as backend:
        server = serve(config(backend, papers, more="<Location />\nAddOutputFilter INCLUDES .shtml\nOptions +Includes\n</Location>"),
                       {"p.shtml": "[<!--#include virtual='/p/part' -->|<!--#include virtual='/p/part' -->]"})
        for _ in range(3):
            assert server.get("/p.shtml").body == b"[part|part]"


@pytest.mark.parametrize("version", VERSIONS, ids=["1.2", "1.3"])
def test_sessions(serve, papers, version):
    closing = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"
    with TLSBackend(papers["good"], {"*": lambda c, r: c.send(closing) or False}, newest=version) as backend:
        server = serve(config(backend, papers))
        for _ in range(6):
            assert server.get("/p/x").body == b"ok\n"
        assert backend.seen == [False] + [True] * 5


@pytest.mark.parametrize("version", VERSIONS, ids=["1.2", "1.3"])
def test_our_certificate(serve, papers, version):
    with TLSBackend(papers["good"], asks=papers["ca"], newest=version) as backend:
        server = serve(config(backend, papers, f"SSLProxyMachineCertificateFile {papers['client']}\n"))
        for _ in range(2):
            assert server.get("/p/x").body == b"ok\n"
        assert backend.subjects[0]["subject"] == ((("commonName", "visitor"),),)


@pytest.mark.parametrize("name,lines,message", [
    ("other", "", "AH02411: SSL Proxy: Peer certificate does not match for hostname localhost"),
    ("expired", "", "AH02276: Certificate Verification: Error"), ("expired", "SSLProxyVerify none\n", "AH02004: SSL Proxy: Peer certificate is expired"),
    ("foreign", "", "AH02276: Certificate Verification: Error"), ("revoked", "SSLProxyCARevocationCheck chain\nSSLProxyCARevocationFile @CRL@\n", "certificate revoked"),
])
def test_refused(serve, papers, name, lines, message):
    with TLSBackend(papers[name]) as backend:
        server = serve(config(backend, papers, lines.replace("@CRL@", papers["crl"])))
        for _ in range(2):
            assert server.get("/p/x").status == 500  # and not 503: others may be served
        assert not backend.requests
        brigade.wait_until(lambda: message.encode() in server.error_log())


@pytest.mark.parametrize("name", ["revoked", "other"])
def test_taken(serve, papers, name):
    with TLSBackend(papers[name]) as backend:
        server = serve(config(backend, papers, "SSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off\n"))
        assert server.get("/p/x").body == b"ok\n"


def test_folder_and_section(serve, papers):
    with TLSBackend(papers["good"]) as backend:
        lines = f"SSLProxyVerify require\nSSLProxyCACertificatePath {papers['path']}\n"
        server = serve(f"EventLoops 1\n<Proxy https://localhost:{backend.port}/>\nSSLProxyEngine on\n{lines}</Proxy>\nProxyPass /p/ https://localhost:{backend.port}/\n")
        assert server.get("/p/x").body == b"ok\n"


def test_no_tls_there(serve, papers):
    with ClearBackend() as backend:
        server = serve(config(backend, papers))
        assert server.get("/p/x").status == 500
        brigade.wait_until(lambda: b"AH02003: SSL Proxy connect failed" in server.error_log())
