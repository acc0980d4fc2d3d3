# SPDX-License-Identifier: Apache-2.0
"""Records of TLS: sizes around every limit, all cipher suites, KeyUpdate, alerts, what does not belong there."""
import hashlib
import os
import shutil
import socket
import ssl
import subprocess

import pytest

import brigade
from http_client import Client, request_bytes
from tls_site import TLSClient, certificate

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_cgi.so"), reason="there is no mod_cgi")]

SIZES = [0, 1, 2, 1368, 1369, 1370, 2047, 2048, 2049, 16_000, 16_383, 16_384, 16_385, 32_768, 49_151, 65_535, 65_536, 65_537, 66_905, 300_001]
LARGE = 8_000_000
SUITES_13 = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256", "TLS_AES_128_CCM_SHA256"]
SUITES_12 = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-SHA256",
             "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES256-CCM", "ECDHE-ECDSA-AES128-CCM8"]
CONFIG = f"""
LoadModule ssl_module @MODULES@/mod_ssl.so
SSLSessionCache none
MaxKeepAliveRequests 0
LogFormat "%f %{{SSL_TLS_SNI}}x %{{SSL_PROTOCOL}}x %{{SSL_CIPHER}}x %{{SSL_SESSION_RESUMED}}x %{{SSL_SESSION_ID}}x" tls
CustomLog @ROOT@/logs/tls.log tls
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
SSLCipherSuite TLSv1.3 {":".join(SUITES_13)}
SSLCipherSuite ALL:@SECLEVEL=0
LoadModule cgi_module @MODULES@/mod_cgi.so
AddHandler cgi-script .cgi
<Directory @ROOT@/htdocs>
Options +ExecCGI
</Directory>
"""
SUM = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec md5sum\n"


@pytest.fixture(scope="module")
def server(serve_module):
    files = {f"{n}.bin": os.urandom(n) for n in SIZES} | {"large.bin": os.urandom(LARGE), "sum.cgi": SUM}
    own = "" if brigade.is_apache(brigade.BINARY) else "BuiltinModule ssl_module On\n"
    made = serve_module.unstarted(own + CONFIG, files, modules=())
    certificate(made)
    os.chmod(made.path("htdocs/sum.cgi"), 0o755)
    return made.start()


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_of_every_size(server, version):
    with TLSClient(server, version) as c:
        for _ in range(3):  # the third time from memory
            for n in SIZES:
                assert c.get(f"/{n}.bin").body == server.read(f"htdocs/{n}.bin"), n


@pytest.mark.parametrize("version", VERSIONS)
def test_pipelined_answers(server, version):
    order = SIZES + SIZES[::-1]
    with TLSClient(server, version) as c:
        for _ in range(3):
            c.send(b"".join(request_bytes("GET", f"/{n}.bin") for n in order))
            for n in order:
                assert c.read_response().body == server.read(f"htdocs/{n}.bin"), n


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("piece", [1, 7, 16_384, 1_000_000])
def test_requests_in_records_of_every_size(server, version, piece):
    """A record is what is sent by one call, up to 16 KiB."""
    with TLSClient(server, version) as c:
        for n in (0, 1, 4095, 4096, 4097) if piece < 100 else (16_383, 16_384, 16_385, 100_000, 2_000_000):
            body = os.urandom(n)
            data = request_bytes("POST", "/sum.cgi", body=body)
            for at in range(0, len(data), piece):
                c.send(data[at:at + piece])
            assert c.read_response().body.split()[0].decode() == hashlib.md5(body).hexdigest(), n


@pytest.mark.parametrize("suite", SUITES_12)
def test_cipher_suites_12(server, suite):
    with TLSClient(server, ssl.TLSVersion.TLSv1_2, f"{suite}:@SECLEVEL=0") as c:  # CCM8 is below level 1 since OpenSSL 3.2
        assert c.socket.cipher()[0] == suite
        for _ in range(2):
            assert c.get("/large.bin").body == server.read("htdocs/large.bin")
            assert c.get("/1.bin").body == server.read("htdocs/1.bin")


@pytest.mark.parametrize("suite", SUITES_13)
def test_cipher_suites_13(server, suite):
    for target in ("large.bin", "1.bin"):
        done = subprocess.run(["curl", "-sSk", "--tlsv1.3", "--tls13-ciphers", suite, f"https://127.0.0.1:{server.port}/{target}"],
                              capture_output=True, check=True, timeout=brigade.PATIENCE)
        assert done.stdout == server.read(f"htdocs/{target}")


def test_connections_are_told_apart(server):
    """Open at the same time, and alike but for one thing each: variables are each one's own."""
    kinds = [(ssl.TLSVersion.TLSv1_2, SUITES_12[0], "one.test"), (ssl.TLSVersion.TLSv1_2, SUITES_12[1], "one.test"),
             (ssl.TLSVersion.TLSv1_3, None, "one.test"), (ssl.TLSVersion.TLSv1_3, None, "two.test"),
             (ssl.TLSVersion.TLSv1_3, None, "one.test")]
    clients = [TLSClient(server, *kind) for kind in kinds * 2]
    expected = []
    for _ in range(2):
        for n, c in enumerate(clients):
            assert c.get(f"/none-{n}").status == 404
            expected.append(f"none-{n} {kinds[n % len(kinds)][2]} {c.socket.version()} {c.socket.cipher()[0]} Initial".encode())
    def lines():
        return [line.rsplit(b"/", 1)[1].rsplit(b" ", 1) for line in server.read("logs/tls.log").splitlines() if b"/none-" in line]
    brigade.wait_until(lambda: len(lines()) == len(expected), "lines of the log")
    assert sorted(line[0] for line in lines()) == sorted(expected)  # each loop writes its own
    ids = [line[1] for line in lines() if b"TLSv1.3" in line[0]]
    assert len(set(ids)) == len(ids) // 2 and all(len(i) == 64 for i in ids)
    for c in clients:
        c.close()


class SClient:
    """openssl s_client: it sends a KeyUpdate, or renegotiates, when it reads a line with one letter."""

    def __init__(self, server, *options):
        self.process = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.read = b""

    def until(self, mark):
        while mark not in self.read:
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, self.read[-500:]
            self.read += data
        found, self.read = self.read.split(mark, 1)
        return found

    def say(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(brigade.PATIENCE)


@pytest.mark.parametrize("letter", [b"k\n", b"K\n"])
def test_key_update_between_answers(server, letter):
    with SClient(server, "-tls1_3") as c:
        c.until(b"Verify return code")
        for n in (1, 16_385, 65_537) * 2:
            c.say(letter)
            c.until(b"KEYUPDATE\n")
            c.say(request_bytes("GET", f"/{n}.bin"))
            c.until(f"Content-Length: {n}\r\n".encode())
            c.until(b"\r\n\r\n")
            c.until(server.read(f"htdocs/{n}.bin"))


ASKED = """SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
SSLCACertificateFile @ROOT@/conf/cert.pem
<Location /asked>
SSLVerifyClient optional
</Location>
"""


@pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="records are OpenSSL's")
def test_what_cannot_be_asked_after_a_key_update(serve):
    """The client's certificate cannot be asked for on this connection any more: the client is sent to the same place on another."""
    server = serve.unstarted(ASKED, {"asked/a.txt": "asked\n"}, modules=())
    certificate(server)
    server.start()
    for letter in (b"", b"k\n"):
        with SClient(server, "-tls1_3", "-enable_pha") as c:
            c.until(b"Verify return code")
            if letter:
                c.say(letter)
                c.until(b"KEYUPDATE\n")
            c.say(request_bytes("GET", "/asked/a.txt?x=%20y", host=f"localhost:{server.port}"))
            if not letter:
                c.until(b"HTTP/1.1 200 OK\r\n")
                c.until(b"\r\n\r\nasked\n")
                continue
            c.until(b"HTTP/1.1 307 Temporary Redirect\r\n")
            head = c.until(b"\r\n\r\n")
            assert f"Location: https://localhost:{server.port}/asked/a.txt?x=%20y\r\n".encode() in head + b"\r\n" and b"Connection: close" in head
            c.until(b"closed")


@pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="Apache closes such a connection")
def test_key_update_in_the_middle_of_a_download(server):
    """The second request is encrypted with the new keys, and so is what is left of the first answer."""
    large = server.read("htdocs/large.bin")
    with SClient(server, "-tls1_3") as c:
        c.until(b"Verify return code")
        c.say(request_bytes("GET", "/large.bin"))
        c.until(b"\r\n\r\n" + large[:100_000])  # nothing more is read, and the sockets are full
        c.say(b"K\n")
        rest = c.until(b"KEYUPDATE\n")
        c.say(request_bytes("GET", "/1.bin"))
        rest += c.until(b"HTTP/1.1 200 OK\r\n")
        assert rest == large[100_000:]
        c.until(b"Content-Length: 1\r\n")


def test_renegotiation_is_refused(server):
    with SClient(server, "-tls1_2") as c:
        c.until(b"Verify return code")
        c.say(b"R\n")
        c.until(b"RENEGOTIATING\n")
        c.until(b"no renegotiation")
    with TLSClient(server) as c:
        assert c.get("/1.bin").status == 200


@pytest.mark.parametrize("version", VERSIONS)
def test_the_end_is_told(server, version):
    with TLSClient(server, version, suppress_ragged_eofs=False) as c:
        assert c.get("/1.bin", {"Connection": "close"}).status == 200
        assert c.socket.recv(1) == b""  # SSLEOFError without close_notify


@pytest.mark.parametrize("version", VERSIONS)
def test_the_clients_end_is_heard(server, version):
    with TLSClient(server, version) as c:
        c.send(request_bytes("GET", "/300001.bin"))
        assert c.read_response().body == server.read("htdocs/300001.bin")
        raw = c.socket.unwrap()  # close_notify, and waits for the server's
        raw.settimeout(brigade.PATIENCE)
        assert raw.recv(1) == b""


def raw_client(server, version):
    """A connection whose records the test writes itself after the handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    s = socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE)
    while True:
        try:
            tls.do_handshake()
            s.sendall(outgoing.read())
            return s, tls, incoming, outgoing
        except ssl.SSLWantReadError:
            s.sendall(outgoing.read())
            incoming.write(s.recv(65536))


def sealed(tls, outgoing, data):
    tls.write(data)
    return outgoing.read()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 24, 25])
def test_records_too_short_for_a_tag_get_an_alert(server, version, length):
    s, _, _, _ = raw_client(server, version)
    with s, TLSClient(server, version) as other:
        s.sendall(b"\x17\x03\x03" + bytes([0, length]) + bytes(length))
        s.shutdown(socket.SHUT_WR)
        data = b""
        while more := s.recv(65536):
            data += more
        assert data, "an alert is the last that comes"
        assert other.get("/1.bin").status == 200, "with all its connections"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("where", range(0, 60, 4))
def test_spoiled_records_end_the_connection(server, version, where):
    s, tls, incoming, outgoing = raw_client(server, version)
    with s:
        record = bytearray(sealed(tls, outgoing, request_bytes("GET", "/1.bin")))
        record[where if where != 4 else 5] ^= 0x41
        s.sendall(record)
        s.shutdown(socket.SHUT_WR)
        data = b""
        while more := s.recv(65536):
            data += more
        incoming.write(data)
        incoming.write_eof()
        with pytest.raises((ssl.SSLError, ssl.SSLEOFError)):
            assert tls.read(100) != b""
            tls.read(100)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_in_single_bytes(server, version):
    s, tls, incoming, outgoing = raw_client(server, version)
    with s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in sealed(tls, outgoing, request_bytes("GET", "/1.bin")):
            s.sendall(bytes([byte]))
        while True:
            incoming.write(s.recv(65536))
            try:
                assert tls.read(1000).startswith(b"HTTP/1.1 200 ")
                break
            except ssl.SSLWantReadError:
                pass


@pytest.mark.parametrize("version", VERSIONS)
def test_several_requests_in_one_packet_of_many_records(server, version):
    s, tls, incoming, outgoing = raw_client(server, version)
    with s:
        data = b"".join(sealed(tls, outgoing, bytes([b])) for b in request_bytes("GET", "/1.bin") * 20)
        s.sendall(data + sealed(tls, outgoing, request_bytes("GET", "/2.bin", {"Connection": "close"})))
        got = b""
        while True:
            more = s.recv(65536)
            incoming.write(more) if more else incoming.write_eof()
            try:
                while plain := tls.read(65536):
                    got += plain
                break
            except ssl.SSLWantReadError:
                pass
        assert got.count(b"HTTP/1.1 200 ") == 21
