# SPDX-License-Identifier: Apache-2.0
"""Sessions of clients with certificates: a client that would not be let in now is not let in by what it was given before. Apache does the
same with the same configuration (BRIGADE=/usr/sbin/apache2), but for what `only` says."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

import brigade
import http3_client
from ocsp_responder import Responder
from tls_site import TLSAuthority, certificate

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")

ours = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="Apache resumes such sessions")
HTTP3 = http3_client.http3_python(brigade.REPOSITORY)
LOAD = "" if brigade.is_apache(brigade.BINARY) else "BuiltinModule ssl_module On\nEventLoops 2\n"
COMMON = LOAD + """
SSLEngine on
SSLVerifyClient require
SSLVerifyDepth 3
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
SSLCACertificateFile @ROOT@/conf/authorities.pem
"""
KEPT = {"tickets": "SSLSessionCache none\n", "cache": "SSLSessionTickets off\nSSLSessionCache shmcb:@ROOT@/logs/cache(64000)\n"}
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
HOW = [pytest.param(lines, version, id=f"{name}-{version.name[4:]}") for name, lines in KEPT.items() for version in VERSIONS]
LISTS = "SSLCARevocationCheck leaf\nSSLCARevocationFile @ROOT@/conf/revoked.pem\n"
FOLDER = "SSLCARevocationCheck leaf\nSSLCARevocationPath @ROOT@/conf/lists\n"


def revocations(authority, path):
    subprocess.run(["openssl", "ca", "-config", os.path.join(authority.folder, "ca.cnf"), "-gencrl", "-crldays", "2", "-out", path], check=True,
                   capture_output=True)


def into_folder(server, number):
    """The list as OpenSSL finds it in a folder."""
    os.makedirs(server.path("conf/lists"), exist_ok=True)
    name = subprocess.run(["openssl", "crl", "-in", server.path("conf/revoked.pem"), "-noout", "-hash"], check=True, capture_output=True, text=True)
    shutil.copy(server.path("conf/revoked.pem"), server.path(f"conf/lists/{name.stdout.strip()}.r{number}"))


def site(serve, lines, **client):
    server = serve.unstarted(COMMON + lines, {"a.txt": "text\n"}, modules=("socache_shmcb", "ssl"))
    certificate(server)
    server.authority = TLSAuthority(server.path("made"))
    server.client = server.authority.make("client", "client", **client)
    shutil.copy(server.path("made/ca.pem"), server.path("conf/authorities.pem"))
    revocations(server.authority, server.path("conf/revoked.pem"))
    into_folder(server, 0)
    server.start()
    server.wait_for_log("resuming normal operations")
    return server


def context_of(server, version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.post_handshake_auth = False, ssl.CERT_NONE, True
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(server.client["cert"], server.client["key"])
    return context


def ask(server, context, session=None, target="/a.txt"):
    """(The answer's status or "refused", whether the session was resumed, the session that comes next)."""
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as s:
                s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target.encode())
                answer = s.recv(1000)
                while s.recv(1000):
                    pass
                return answer[9:12].decode(), s.session_reused, s.session
        except (ssl.SSLError, ConnectionError) as e:
            print(repr(e))
            return "refused", False, None


def revoke(server):
    """Of two lists of one second OpenSSL takes the first."""
    made = os.stat(server.path("conf/revoked.pem")).st_mtime
    brigade.wait_until(lambda: time.time() >= int(made) + 1, "the next second")
    server.authority.revoke("client")
    revocations(server.authority, server.path("conf/revoked.pem"))
    into_folder(server, 1)


def reload(server):
    """And wait for the end of the processes that have the old files."""
    before = set(server.children())
    server.signal(signal.SIGUSR1)
    brigade.wait_until(lambda: server.error_log().count(b"resuming normal operations") > 1 and not before & set(server.children()), "the reload")


def distrust(server):
    shutil.copy(TLSAuthority(server.path("stranger"))._path("ca.pem"), server.path("conf/authorities.pem"))


@pytest.mark.parametrize("lines, version", HOW)
@pytest.mark.parametrize("check, change", [(LISTS, revoke), (LISTS, distrust), (FOLDER, revoke)], ids=["list", "authority", "folder"])
def test_after_a_reload(serve, lines, version, check, change):
    """Files change in place; the lines stay the same."""
    server = site(serve, lines + check)
    context = context_of(server, version)
    status, _, session = ask(server, context)
    assert status == "200"
    assert [ask(server, context, session)[:2] for _ in range(3)] == [("200", True)] * 3
    change(server)
    reload(server)
    assert ask(server, context)[0] == "refused"
    assert [ask(server, context, session)[0] for _ in range(3)] == ["refused"] * 3


def ask_twice_over_http3(server, change):
    """What the client was told of its two connections, the second one by the first's ticket, with a change between them."""
    order = {"requests": [{"url": f"https://127.0.0.1:{server.port}/a.txt"}] * 2, "between": True, "cert": server.client["cert"], "key": server.client["key"]}
    client = subprocess.Popen([HTTP3, http3_client.__file__, "early"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdin.write(json.dumps(order) + "\n")
    client.stdin.flush()
    assert client.stdout.readline() == "between\n"
    change()
    return json.loads(client.communicate("go\n", timeout=60)[0])


@ours
@pytest.mark.skipif(not HTTP3, reason="no interpreter with aioquic (http3_client.py)")
@pytest.mark.parametrize("change", [None, revoke, distrust], ids=["nothing", "list", "authority"])
def test_over_http3(serve, change):
    server = site(serve, KEPT["tickets"] + LISTS + "Protocols h3 http/1.1\n")
    first, second = ask_twice_over_http3(server, lambda: (change and change(server), reload(server)))
    assert first["status"] == 200 and not first["resumed"]
    assert (second.get("status"), bool(second.get("resumed"))) == ((None, False) if change else (200, True)), second


@ours
@pytest.mark.parametrize("lines, version", HOW)
def test_without_a_reload(serve, lines, version):
    """A list that is put into the folder counts for whole handshakes and for resumed ones."""
    server = site(serve, lines + FOLDER)
    context = context_of(server, version)
    session = ask(server, context)[2]
    assert ask(server, context, session)[:2] == ("200", True)
    revoke(server)
    assert [ask(server, context, session)[0], ask(server, context)[0]] == ["refused"] * 2


@ours
@pytest.mark.parametrize("version", VERSIONS)
def test_by_a_certificate_of_a_directory(serve, version):
    """The client is asked in the middle of a connection; what it gets then is no good later either."""
    server = site(serve, KEPT["tickets"] + LISTS + "SSLVerifyClient none\n<Location /a.txt>\nSSLVerifyClient require\n</Location>\n")
    context = context_of(server, version)
    status, _, session = ask(server, context)
    assert status == "200"
    revoke(server)
    reload(server)
    assert ask(server, context, session)[0] in ("refused", "403")


@ours
@pytest.mark.parametrize("lines, version", HOW)
def test_a_responder_is_asked_each_time(serve, lines, version):
    responder = Responder()
    threading.Thread(target=responder.serve_forever, daemon=True).start()
    try:
        server = site(serve, lines + "SSLOCSPEnable on\n", extensions=f"authorityInfoAccess=OCSP;URI:{responder.url}/ours\n")
        folder = server.authority.folder
        responder.folders = {"ours": folder, "stranger": folder, "middle": folder}
        context = context_of(server, version)
        status, _, session = ask(server, context)
        assert status == "200" and ask(server, context, session)[0] == "200"
        server.authority.revoke("client")
        assert ask(server, context, session)[0] == "refused"
    finally:
        responder.shutdown()
        responder.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("lines, version", HOW)
def test_sessions_end(serve, lines, version):
    """With the time of the first handshake, however often they are taken up; and new ones begin."""
    if brigade.is_apache(brigade.BINARY) and version == ssl.TLSVersion.TLSv1_3:
        pytest.skip("without end")
    server = site(serve, lines + "SSLVerifyClient none\nSSLSessionCacheTimeout 2\n")
    context = context_of(server, version)
    began = time.monotonic()
    session, reused, taken = ask(server, context)[2], True, 0
    while reused:
        last = time.monotonic()
        assert last - began < 5
        status, reused, session = ask(server, context, session)
        taken += reused
        assert status == "200"
        threading.Event().wait(0.1)
    assert taken > 3 and time.monotonic() - began > 0.9  # it counts in whole seconds
    assert ask(server, context, session)[1]
