# SPDX-License-Identifier: Apache-2.0
"""TLS of the server's own: virtual hosts by SNI, protocols, clients' certificates, variables, limits. What any TLS server
does is in test_mod_ssl.py, which runs with the built-in module too."""
import base64
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time

import pytest

import brigade
from http_client import Client, Truncated, request_bytes
from tls_site import certificate, start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")]

CONFIG = """
BuiltinModule ssl_module On
LoadModule ssl_module @MODULES@/mod_ssl.so
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
LogFormat "%v %U %{SSL_PROTOCOL}x %{version}c %{SSL_CLIENT_S_DN_CN}x" tls
CustomLog @ROOT@/logs/tls.log tls
RequestReadTimeout handshake=1
ServerName outer
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
ServerName first.test
SSLEngine on
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName second.test
ServerAlias *.second.test
DocumentRoot @ROOT@/htdocs/second
SSLEngine on
SSLCertificateFile @ROOT@/conf/second.pem
SSLCertificateKeyFile @ROOT@/conf/second.key
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName alike.test
DocumentRoot @ROOT@/htdocs/second
SSLEngine on
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName old.test
SSLEngine on
SSLProtocol TLSv1.2
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName known.test
DocumentRoot @ROOT@/htdocs/second
SSLEngine on
SSLVerifyClient require
SSLCACertificateFile @ROOT@/conf/client.pem
SSLUserName SSL_CLIENT_S_DN_CN
</VirtualHost>
<Location /only>
SSLRequireSSL
</Location>
<Location /required>
Require ssl
</Location>
<Location /by-protocol>
Require expr %{SSL_PROTOCOL} == 'TLSv1.2'
</Location>
"""
FILES = {"a.txt": "first\n", "second/a.txt": "second\n", "only/a.txt": "only\n", "required/a.txt": "required\n", "by-protocol/a.txt": "by\n"}


def make_certificate(server, name, cn):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={cn}", "-keyout", server.path(f"conf/{name}.key"), "-out", server.path(f"conf/{name}.pem")],
                   check=True, capture_output=True)


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), FILES, modules=())
    certificate(made)
    make_certificate(made, "second", "second.test")
    make_certificate(made, "client", "somebody")
    made.tls = tls
    return made.start()


class TLSClient(Client):
    def __init__(self, server, name="first.test", **settings):
        super().__init__("127.0.0.1", server.tls, brigade.PATIENCE)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(settings.pop("alpn", ["http/1.1"]))
        if settings.pop("known", False):
            context.load_cert_chain(server.path("conf/client.pem"), server.path("conf/client.key"))
        for key, value in settings.items():
            setattr(context, key, value)
        self.socket = context.wrap_socket(self.socket, server_hostname=name)

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except (OSError, ssl.SSLError):
            data = b""
        self.buffer += data
        return bool(data)

    def names(self):
        der = self.socket.getpeercert(binary_form=True)
        return subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-subject"], input=der, check=True,
                              capture_output=True).stdout.decode()


def ask(server, target, host="first.test", **settings):
    with TLSClient(server, settings.pop("name", host), **settings) as c:
        return c.get(target, {"Host": host})


@pytest.mark.parametrize("name, subject, body", [("first.test", "localhost", b"first\n"), ("second.test", "second.test", b"second\n"),
                                                 ("WWW.Second.test", "second.test", b"second\n"), ("unknown.test", "localhost", b"first\n"),
                                                 (None, "localhost", b"first\n")])
def test_hosts_by_name(server, name, subject, body):
    for _ in range(4):  # by the third the answer is from memory
        with TLSClient(server, name) as c:
            assert subject in c.names()
            assert c.get("/a.txt", {"Host": name or "first.test"}).body == body


def test_alpn(server):
    with TLSClient(server, alpn=["x", "http/1.1"]) as c:
        assert c.socket.selected_alpn_protocol() == "http/1.1"
    with TLSClient(server, alpn=["x"]) as c:
        assert c.socket.selected_alpn_protocol() is None


def test_protocols_of_a_host(server):
    with TLSClient(server, "old.test") as c:
        assert c.socket.version() == "TLSv1.2"
    with TLSClient(server, "first.test") as c:
        assert c.socket.version() == "TLSv1.3"


def test_compatible_hosts_share_a_connection(server):
    with TLSClient(server, "first.test") as c:
        assert c.get("/a.txt", {"Host": "first.test"}).body == b"first\n"
        assert c.get("/a.txt", {"Host": "alike.test"}).body == b"second\n"
    for _ in range(3):
        assert ask(server, "/a.txt", "second.test", name="first.test").status == 421  # another certificate
    assert b"hostname second.test provided via HTTP have no compatible SSL setup for policy 'secure': different SSLCertificateFile" in server.error_log()


def test_clients_certificate(server):
    assert ask(server, "/a.txt", "known.test", known=True).body == b"second\n"
    with pytest.raises((OSError, Truncated)):
        ask(server, "/a.txt", "known.test")


def test_nothing_of_a_host_is_had_by_the_handshake_of_another(server):
    """Not from memory either."""
    for _ in range(4):
        assert ask(server, "/a.txt", "known.test", known=True).status == 200
    for name in ("first.test", None):
        for _ in range(3):
            assert ask(server, "/a.txt", "known.test", name=name).status == 421


def test_variables_in_logs(server):
    assert ask(server, "/none", "known.test", known=True, maximum_version=ssl.TLSVersion.TLSv1_2).status == 404
    for _ in range(3):
        assert ask(server, "/a.txt", "first.test").status == 200
    for line in (b"known.test /none TLSv1.2 TLSv1.2 somebody\n", b"first.test /a.txt TLSv1.3 TLSv1.3 -\n" * 3):
        brigade.wait_until(lambda line=line: line in server.read("logs/tls.log"), "lines of the log")


def test_what_depends_on_the_connection_is_not_remembered(server):
    for _ in range(4):
        assert ask(server, "/by-protocol/a.txt", maximum_version=ssl.TLSVersion.TLSv1_2).status == 200
        assert ask(server, "/by-protocol/a.txt").status == 403


@pytest.mark.parametrize("target", ["/only/a.txt", "/required/a.txt"])
def test_required(server, target):
    for _ in range(3):
        assert ask(server, target).status == 200
        with Client("127.0.0.1", server.port, brigade.PATIENCE) as c:
            assert c.get(target).status == 403


def test_unfinished_handshake(server):
    with socket.create_connection(("127.0.0.1", server.tls), brigade.PATIENCE) as s:
        s.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        began = time.monotonic()
        assert s.recv(100) == b""
        assert time.monotonic() - began < brigade.PATIENCE / 2


def test_rubbish(server):
    with socket.create_connection(("127.0.0.1", server.tls), brigade.PATIENCE) as s:
        s.sendall(os.urandom(16) + b"\x00" * 500)
        while s.recv(1000):
            pass
    assert ask(server, "/a.txt").status == 200


def test_many_at_once(server):
    with TLSClient(server) as c:
        c.send(request_bytes("GET", "/a.txt") * 90)
        assert {c.read_response().status for _ in range(90)} == {200}


LOAD = "BuiltinModule ssl_module Auto\nLoadModule ssl_module @MODULES@/mod_ssl.so\n"
APACHES = "LoadModule mpm_event_module @MODULES@/mod_mpm_event.so\nLoadModule authz_core_module @MODULES@/mod_authz_core.so\n"
needs_binary = pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_ssl.so"), reason="no mod_ssl.so")


@needs_binary
@pytest.mark.parametrize("lines, kind", [(LOAD, b"static"), (LOAD.replace("Auto", "On"), b"static"), (LOAD.replace("Auto", "Off"), b"shared"), (LOAD.splitlines(True)[1], b"static"), (APACHES + LOAD.splitlines(True)[1], b"static"),
                                         (APACHES + LOAD.replace("Auto", "Off"), b"shared"), (APACHES + LOAD.splitlines(True)[1] + "SSLSRPUnknownUserSeed x\n", b"shared"), ("BuiltinModules all\n" + LOAD.splitlines(True)[1], b"static"),
                                         (LOAD + "SSLSRPUnknownUserSeed x\n", b"shared"),
                                         (LOAD + "<IfModule ssl_module>\n<VirtualHost *:1>\nSSLEngine optional\n</VirtualHost>\n</IfModule>\n", b"shared")])
def test_which_module_is_taken(serve, lines, kind):
    assert b"ssl_module (%s)" % kind in serve.unstarted(lines, {}, modules=()).run("-M").stdout


@needs_binary
def test_what_is_not_offered_takes_the_binary(serve):
    """With a notice that names the line; after a reload, too; and the built-in module again when the line is gone."""
    config = LOAD + "SSLEngine on\nSSLSessionCache none\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"
    s = serve.unstarted(config + "SSLSRPUnknownUserSeed x\n", {"a.txt": "text\n"}, modules=())
    certificate(s)
    s.start()
    line = 1 + s.read("conf/httpd.conf").splitlines().index(b"SSLSRPUnknownUserSeed x")
    notice = b"httpd.conf:%d: SSLSRPUnknownUserSeed is not offered by the built-in mod_ssl.c" % line
    assert notice in s.run("-t").stderr
    s.wait_for_log("resuming normal operations")
    assert b"AH01876" in s.error_log()  # the binary's
    told = s.error_log().count(notice)
    assert told >= 1
    assert resumed(s, ssl.TLSVersion.TLSv1_3)[0] is False
    s.signal(signal.SIGUSR1)
    brigade.wait_until(lambda: s.error_log().count(notice) == told + 1, "the reload")
    s.config = config
    s.write_config()
    s.signal(signal.SIGUSR1)
    brigade.wait_until(lambda: s.error_log().count(b"resuming normal operations") > 2, "the second reload")
    assert s.error_log().count(notice) == told + 1
    assert resumed(s, ssl.TLSVersion.TLSv1_3)[0] is False


def test_without_the_binary_it_is_refused(serve):
    s = serve.unstarted("BuiltinModule ssl_module Auto\nLoadModule ssl_module modules/nowhere.so\nSSLSRPUnknownUserSeed x\n", {}, modules=())
    done = s.run("-t")
    assert done.returncode != 0 and b"SSLSRPUnknownUserSeed is not offered by the built-in ssl module" in done.stderr


@pytest.mark.parametrize("line", ["SSLEngine optional", "SSLSRPVerifierFile x", "SSLCryptoDevice x", "SSLFIPS on"])
def test_what_is_not_offered_is_refused_by_name(serve, line):
    s = serve.unstarted(f"BuiltinModule ssl_module On\n{line}\n", {}, modules=())
    done = s.run("-t")
    assert done.returncode != 0
    assert line.split()[0].encode() in done.stderr and b"BuiltinModule ssl_module Off" in done.stderr


RESUME = """
BuiltinModule ssl_module On
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
EventLoops 2
ServerProcesses 2
"""


def resumed(server, version, session=None):
    """A connection with a request, as a browser opens it: (was it resumed, its session)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2", "http/1.1"])
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if session:
        context = session[0]
    with socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE) as s:
        with context.wrap_socket(s, server_hostname="localhost", session=session[1] if session else None) as t:
            t.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while t.recv(1000):
                pass
            return t.session_reused, (context, t.session)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("how, works", [("SSLSessionCache none\n", True), ("SSLSessionTickets off\nSSLSessionCache shmcb:x(64000)\n", True),
                                        ("SSLSessionTickets off\nSSLSessionCache none\n", False)], ids=["tickets", "cache", "neither"])
def test_resumption(serve, version, how, works):
    """By whichever loop and process, and over a reload."""
    s = serve.unstarted(RESUME + how, {"a.txt": "text\n"}, modules=())
    certificate(s)
    s.start()
    for _ in range(2):
        first, session = resumed(s, version)
        assert not first
        assert {resumed(s, version, session)[0] for _ in range(8)} == {works}
    s.signal(signal.SIGUSR1)
    brigade.wait_until(lambda: s.error_log().count(b"resuming normal operations") > 1, "the reload")
    if version == ssl.TLSVersion.TLSv1_2 or "off" not in how:
        assert resumed(s, version, session)[0] == works


@pytest.mark.parametrize("how, tickets", [("", 1), ("SSLOpenSSLConfCmd NumTickets 3\n", 3), ("SSLSessionTickets off\nSSLSessionCache none\n", 0)])
def test_tickets_of_a_handshake(serve, how, tickets):
    """One of TLS 1.3, which reaches a client that asks for nothing, too; by name and by address."""
    s = serve.unstarted(RESUME + how, {"a.txt": "text\n"}, modules=())
    certificate(s)
    s.start()
    for name in (["-servername", "localhost"], ["-noservername"]):
        client = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{s.port}", "-tls1_3", "-msg", "-ign_eof", *name],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seen = 0
        while seen < tickets:
            line = client.stdout.readline()
            assert line, f"{seen} tickets"
            seen += b"NewSessionTicket" in line
        rest, _ = client.communicate(b"GET /a.txt HTTP/1.0\r\n\r\n", timeout=brigade.PATIENCE)
        assert b"200 OK" in rest and b"NewSessionTicket" not in rest


def test_ticket_answer_and_end_are_one_packet(serve):
    """Behind the server's messages of the handshake; the ticket leaves alone where the answer takes long, as on a busy machine."""
    s = serve.unstarted(RESUME + "EventLoops 1\nServerProcesses 1\n", {"a.txt": "text\n"}, modules=())
    certificate(s)
    os.utime(s.path("htdocs/a.txt"), (1e9, 1e9))
    s.start()
    context = ssl.create_default_context(cafile=s.path("conf/cert.pem"))
    for _ in range(4):
        with socket.create_connection(("127.0.0.1", s.port), brigade.PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as t:
                t.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                while t.recv(1000):
                    pass
                data_segments = struct.unpack_from("I", t.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 152)[0]
    assert 2 <= data_segments <= 3


def test_a_reload_with_a_bad_key_is_refused(serve):
    config = "BuiltinModule ssl_module On\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"
    s = serve.unstarted(config, {"a.txt": "text\n"}, modules=())
    certificate(s)
    make_certificate(s, "other", "other")
    s.start()
    s.wait_for_log("resuming normal operations")
    os.replace(s.path("conf/other.key"), s.path("conf/key.pem"))
    done = s.run("-t")
    assert done.returncode != 0 and b"AH02565" in done.stderr
    s.signal(signal.SIGUSR1)
    s.wait_for_log("the new configuration is not usable")
    assert not resumed(s, ssl.TLSVersion.TLSv1_3)[0]


def test_listen_https(serve):
    tls = brigade.free_port()
    s = serve.unstarted(f"BuiltinModule ssl_module On\nListen 127.0.0.1:{tls} https\nSSLCertificateFile @ROOT@/conf/cert.pem\n"
                        f"SSLCertificateKeyFile @ROOT@/conf/key.pem\n<VirtualHost 127.0.0.1:{tls}>\nServerName first.test\n</VirtualHost>\n", {"a.txt": "text\n", "dir/x": "x"}, modules=())
    certificate(s)
    s.start()
    s.tls = tls
    assert ask(s, "/a.txt").status == 200
    assert ask(s, "/dir")["Location"].startswith("https://")
    assert s.get("/a.txt").status == 200


def test_listen_https_at_another_address(serve):
    """A virtual host has the protocol of the Listen for its very address, as in Apache: the port alone does not count."""
    tls = brigade.free_port()
    s = serve.unstarted(f"BuiltinModule ssl_module On\nListen 127.0.0.1:{tls} https\n<VirtualHost *:{tls}>\nServerName first.test\n"
                        "</VirtualHost>\n", {"a.txt": "text\n"}, modules=())
    s.start()
    assert s.get("/a.txt").status == 200
    with Client("127.0.0.1", tls, brigade.PATIENCE) as c:
        assert c.get("/a.txt").status == 200


@pytest.mark.parametrize("processes", ["", "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\nStartServers 1\n"], ids=["loops", "prefork"])
def test_bodies_large_and_slow(serve, processes):
    """To who reads slowly and in small pieces, from a client with a small window."""
    s = serve.unstarted(processes + "BuiltinModule ssl_module On\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\n"
                        "SSLCertificateKeyFile @ROOT@/conf/key.pem\n", {"big.bin": os.urandom(1_500_000), "huge.bin": os.urandom(5_000_000)}, modules=())
    certificate(s)
    s.start()
    s.tls = s.port
    for name in ("big.bin", "big.bin", "big.bin", "huge.bin"):  # the first in memory, the second read from its file
        expected = s.read(f"htdocs/{name}")
        with TLSClient(s) as c:
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
            c.send(request_bytes("GET", f"/{name}") * 2)
            for _ in range(2):
                assert int(c.read_head()["Content-Length"]) == len(expected)
                assert c.read_exactly(len(expected)) == expected


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("bits", [2048, 3072])
def test_large_keys(serve, bits, version):
    """Signatures that take long are made by a worker, one at a time; clients that leave meanwhile, or say no more, hold up nobody."""
    s = serve.unstarted("BuiltinModule ssl_module On\nEventLoops 1\nServerProcesses 1\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n",
                        {"a.txt": "text\n"}, modules=())
    subprocess.run(["openssl", "req", "-x509", "-newkey", f"rsa:{bits}", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", s.path("conf/key.pem"), "-out", s.path("conf/cert.pem")],
                   check=True, capture_output=True)
    start(s)

    def threads():
        return max(len(os.listdir(f"/proc/{pid}/task")) for pid in s.children())
    before = threads()
    assert resumed(s, version)[0] is False
    assert threads() == before + (bits >= 3072)
    hello = client_hello(version)
    silent = []
    for i in range(60):
        c = socket.create_connection(("127.0.0.1", s.port), brigade.PATIENCE)
        c.sendall(hello)
        if i % 3:
            c.close()
        else:
            silent.append(c)
    session = resumed(s, version)[1]
    assert resumed(s, version, session)[0] is True
    for c in silent:
        assert c.recv(3) == b"\x16\x03\x03"  # ServerHello
        c.close()


LONG = """
BuiltinModule ssl_module On
EventLoops 1
ServerProcesses 1
SSLEngine on
SSLOpenSSLConfCmd Groups P-384:X25519
SSLCertificateFile @ROOT@/conf/rsa.pem
SSLCertificateKeyFile @ROOT@/conf/rsa.key
SSLCertificateFile @ROOT@/conf/ec.pem
SSLCertificateKeyFile @ROOT@/conf/ec.key
"""


def test_long_signatures_beside_a_short_key(serve):
    """A client that takes RSA alone has a worker sign, and so has one that needs a HelloRetryRequest; others have the loop sign with the
    short key. Told by the CPU time of the threads: one of RSA-3072 takes 1.5 ms."""
    s = serve.unstarted(LONG, {"a.txt": "text\n"}, modules=())
    for name, key in (("rsa", ["rsa:3072"]), ("ec", ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])):
        subprocess.run(["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", s.path(f"conf/{name}.key"),
                        "-out", s.path(f"conf/{name}.pem")], check=True, capture_output=True)
    start(s)
    pid = s.children()[0]

    def spent():
        return spent_by_threads(pid)

    def shares(*options):
        """CPU time of the loop, and of threads that signatures began; who signed."""
        before = spent()
        for _ in range(4):
            out = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{s.port}", *options], input=b"", capture_output=True, timeout=brigade.PATIENCE).stdout
        return {tid: (t - before.get(tid, 0)) / 1e6 for tid, t in spent().items()}, re.search(rb"Peer signature type: ([A-Za-z]+)", out)[1].lower()

    both, signed = shares()
    assert signed == b"ecdsa" and len(both) == len(spent())
    threads = set(spent())
    rsa = ["-sigalgs", "rsa_pss_rsae_sha256:RSA+SHA256"]
    for options in ([*rsa, "-groups", "P-384"], [*rsa, "-groups", "X448:P-384"]):
        by, signed = shares(*options)
        worker = sum(t for tid, t in by.items() if tid not in threads)
        assert signed == b"rsa" and worker > 4 * 0.6, by


def spent_by_threads(pid):
    out = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            out[tid] = int(f.read().split()[0])
    return out


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_forged_tickets_have_no_loop_sign(serve, tmp_path, version):
    """Who offers a session is answered on the loop, which signs with a large key if the session is none: once, then workers do."""
    s = serve.unstarted("BuiltinModule ssl_module On\nEventLoops 1\nServerProcesses 1\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n",
                        {"a.txt": "text\n"}, modules=())
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", s.path("conf/key.pem"), "-out", s.path("conf/cert.pem")],
                   check=True, capture_output=True)
    start(s)
    good, bad = str(tmp_path / "good.pem"), str(tmp_path / "bad.pem")

    def connect(*options):
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{s.port}", version, *options]
        out = subprocess.run(command, input=b"GET /a.txt HTTP/1.0\r\n\r\n", capture_output=True, timeout=brigade.PATIENCE).stdout
        return b"Reused, " in out
    connect("-ign_eof", "-sess_out", good)
    assert connect("-ign_eof", "-sess_in", good)
    with open(good, encoding="ascii") as f:
        der = bytearray(base64.b64decode("".join(line for line in f if "-" not in line)))
    at = der.rindex(b"\xaa\x81") if b"\xaa\x81" in der else der.rindex(b"\xaa\x82")  # [10]: the ticket
    der[at + 40] ^= 1
    with open(bad, "w", encoding="ascii") as f:
        f.write("-----BEGIN SSL SESSION PARAMETERS-----\n" + base64.encodebytes(der).decode() + "-----END SSL SESSION PARAMETERS-----\n")
    pid = s.children()[0]

    def busiest(times):
        before = spent_by_threads(pid)
        for _ in range(times):
            assert not connect("-ign_eof", "-sess_in", bad)
        return max(spent_by_threads(pid).items(), key=lambda thread: thread[1] - before.get(thread[0], 0))[0]
    loop = busiest(1)
    assert busiest(4) != loop
    assert connect("-ign_eof", "-sess_in", good), "by a worker"


def client_hello(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    return out.read()


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_name_is_acknowledged_where_a_server_has_it(serve, version):
    s = serve.unstarted("SSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n", {"a.txt": "text\n"})
    certificate(s)
    start(s)
    for name, known in (("localhost", True), ("other.example", False)):
        out = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{s.port}", "-servername", name, version, "-tlsextdebug"], input=b"",
                             capture_output=True, timeout=brigade.PATIENCE).stdout
        assert b"BEGIN CERTIFICATE" in out
        assert (b'TLS server extension "server name"' in out) == known, name
