# SPDX-License-Identifier: Apache-2.0
"""Proxies in front of the server: the PROXY protocol, and request fields that they fill in."""
import os
import shutil
import socket
import ssl
import struct
import subprocess

import pytest

import h2_client
import tls_site
from brigade import BINARY, PATIENCE, free_port, is_apache, wait_until

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LOADED = "LoadModule remoteip_module @MODULES@/mod_remoteip.so\n"
LOG = 'CustomLog @ROOT@/logs/access.log "%a %h %{c}a %>s %U"\n'
PLAIN_LOG = 'CustomLog @ROOT@/logs/access.log "%a %h %>s %U"\n'
FRONT = "RemoteIPProxyProtocol On\nRemoteIPProxyProtocolExceptions 127.0.0.1\n"


def v2(command, family, block=b"", length=None, version=2):
    return SIGNATURE + bytes([version << 4 | command, family]) + struct.pack(">H", len(block) if length is None else length) + block


V4 = socket.inet_aton("192.0.2.1") + socket.inet_aton("192.0.2.2") + struct.pack(">HH", 1111, 80)
MAPPED = socket.inet_pton(socket.AF_INET6, "::ffff:192.0.2.1") * 2 + struct.pack(">HH", 1111, 80)
V6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1") * 2 + struct.pack(">HH", 1111, 80)
TLV = b"\x03\0\4\1\2\3\4"
# What the client then is; None: the connection is closed.
HEADERS = {
    "tcp4": (b"PROXY TCP4 192.0.2.1 192.0.2.2 1111 80\r\n", "192.0.2.1"),
    "tcp6": (b"PROXY TCP6 2001:db8::1 ::1 1111 80\r\n", "2001:db8::1"),
    "v2-mapped": (v2(1, 0x21, MAPPED), "192.0.2.1"),
    "unknown-more": (b"PROXY UNKNOWN a b c d\r\n", "127.0.0.2"),
    "v2-tcp4": (v2(1, 0x11, V4), "192.0.2.1"),
    "v2-tcp6": (v2(1, 0x21, V6), "2001:db8::1"),
    "v2-tlv": (v2(1, 0x11, V4 + TLV * 3), "192.0.2.1"),
    "local": (v2(0, 0), "127.0.0.2"),
    "local-addresses": (v2(0, 0x11, V4), "127.0.0.2"),
    "none": (b"", None),
    "no-address": (b"PROXY TCP4 192.0.2.1x 192.0.2.2 1111 80\r\n", None),
    "protocol": (b"PROXY TCP9 192.0.2.1 192.0.2.2 1111 80\r\n", None),
    "long": (b"PROXY UNKNOWN " + b"x" * 100 + b"\r\n", None),
    "v2-short": (v2(1, 0x11, V4[:6]), None),
    "v2-command": (v2(5, 0x11, V4), None),
    "v2-version": (v2(1, 0x11, V4, version=1), None),
    "v2-datagram": (v2(1, 0x12, V4), None),
}
# As the protocol has it; Apache answers otherwise.
STRICT = {
    "mapped": (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 1111 80\r\n", "192.0.2.1"),
    "mapped-hex": (b"PROXY TCP6 ::FFFF:c000:201 ::1 1111 80\r\n", "192.0.2.1"),
    "half": (b"PROXY TCP4 192.0.2.1 192.0.2.2 11", None),
    "unknown": (b"PROXY UNKNOWN\r\n", "127.0.0.2"),
    "v2-unspecified": (v2(1, 0), "127.0.0.2"),
    "v2-unix": (v2(1, 0x31, b"/x".ljust(216, b"\0")), "127.0.0.2"),
    "v2-long-tlv": (v2(1, 0x11, V4 + b"\4\1\0" + b"x" * 256 + TLV), "192.0.2.1"),
    "v2-length": (v2(1, 0x11, V4 + b"x" * 4100), None),
    "port": (b"PROXY TCP4 192.0.2.1 192.0.2.2 70000 80\r\n", None),
    "more": (b"PROXY TCP4 192.0.2.1 192.0.2.2 1111 80 9\r\n", None),
    "zeros": (b"PROXY TCP4 192.0.2.1 192.0.2.2 01111 80\r\n", None),
    "line-feed": (b"PROXY TCP4 192.0.2.1 192.0.2.2 1111 80\n", None),
}


def connect(port):
    """As a proxy does: from another address than tests have as a rule."""
    s = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=("127.0.0.2", 0))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def received(s):
    data = b""
    try:
        while more := s.recv(65536):
            data += more
    except ConnectionResetError:
        pass
    return data


def lines(server, n):
    """What the log says of the file; lines of loops and workers need not be in the order of requests."""
    def found():
        said = [line for line in server.read("logs/access.log").decode().splitlines() if "/a.txt" in line]
        return said if len(said) >= n else None
    return sorted(wait_until(found, "the log"))


def check(serve, headers):
    server = serve(LOADED + LOG + FRONT, {"a.txt": "A"})
    for name, (header, client) in headers.items():
        with connect(server.port) as s:
            s.sendall(header + REQUEST)
            answer = received(s)
        assert answer.startswith(b"HTTP/1.1 200") if client else not answer, (name, answer)
    wanted = [f"{client} {client} 127.0.0.2 200 /a.txt" for _, client in headers.values() if client]
    assert lines(server, len(wanted)) == sorted(wanted)
    server.expect_trouble = True


def test_headers(serve):
    check(serve, HEADERS)


RULES = {"env": "SetEnvIf Remote_Addr ^192\\.0\\.2\\.1$ bad\n<RequireAll>\nRequire all granted\nRequire not env bad\n</RequireAll>",
         "not": "<RequireAll>\nRequire all granted\nRequire not ip 192.0.2.1\n</RequireAll>", "ip": "Require ip 192.0.2.0/24",
         "equal": "Require expr %{REMOTE_ADDR} == '192.0.2.1'", "match": "Require expr %{REMOTE_ADDR} -ipmatch '192.0.2.0/24'", "network": "Require expr -R '192.0.2.0/24'",
         "six": "Require expr %{IPV6} == 'on'", "old": "Order allow,deny\nAllow from 192.0.2.1"}


def test_rules_for_addresses_of_ipv4_that_come_as_ipv6(serve):
    """By the PROXY protocol, by a request field, and to a socket that takes both; from memory, too."""
    both = free_port()
    rules = "".join(f"<Location /{name}>\n{rule}\n</Location>\n" for name, rule in RULES.items())
    server = serve(LOADED + FRONT + f"Listen [::]:{both}\nRemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.0/8\n" + rules
                   + f"<VirtualHost *:{both}>\nRemoteIPProxyProtocol Off\n</VirtualHost>\n", {f"{name}/a.txt": "A" for name in RULES})
    ways = [] if is_apache(BINARY) else [(server.port, STRICT["mapped"][0], b"")]  # Apache has the text as it was sent
    ways += [(server.port, HEADERS["v2-mapped"][0], b""), (both, b"", b"X-Forwarded-For: ::ffff:192.0.2.1\r\n")]
    for _ in range(3):
        for port, header, field in ways:
            answers = []
            for name in RULES:
                with connect(port) as s:
                    s.sendall(header + REQUEST.replace(b"/a.txt", f"/{name}/a.txt".encode()).replace(b"\r\n\r\n", b"\r\n" + field + b"\r\n"))
                    answers.append(received(s)[9:12].decode())
            assert answers == ["403", "403", "200", "200", "200", "200", "403", "200"]
    assert server.get("/six/a.txt", [("X-Forwarded-For", "2001:db8::7")]).status == 403  # it is the connection that counts


@pytest.mark.only("brigade")
def test_headers_of_the_protocol_that_apache_reads_otherwise(serve):
    check(serve, STRICT)


@pytest.mark.only("brigade")
def test_answers_come_from_memory_and_are_logged_with_the_client(serve):
    server = serve(PLAIN_LOG + FRONT, {"a.txt": "A"})
    os.utime(server.path("htdocs/a.txt"), (1, 1))
    for i in range(8):
        with connect(server.port) as s:
            for byte in HEADERS["v2-tlv" if i % 2 else "tcp6"][0]:  # however it is cut
                s.sendall(bytes([byte]))
            s.sendall(REQUEST.replace(b"Connection: close\r\n", b"") + REQUEST)
            assert received(s).count(b"HTTP/1.1 200") == 2
    assert server.get("/a.txt").status == 200  # an exception
    assert lines(server, 17) == ["127.0.0.1 127.0.0.1 200 /a.txt"] + ["192.0.2.1 192.0.2.1 200 /a.txt"] * 8 + ["2001:db8::1 2001:db8::1 200 /a.txt"] * 8


@pytest.mark.only("brigade")
def test_before_tls_and_http2(serve):
    server = serve.unstarted(LOG + FRONT + """Protocols h2 h2c http/1.1
        <VirtualHost *:@PORT@>
        SSLEngine On
        SSLCertificateFile @ROOT@/conf/cert.pem
        SSLCertificateKeyFile @ROOT@/conf/key.pem
        </VirtualHost>
        """, {"a.txt": "A"})
    tls_site.certificate(server)
    tls_site.start(server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for protocol in (["http/1.1"], ["h2"]):
        context.set_alpn_protocols(protocol)
        raw = connect(server.port)
        raw.sendall(HEADERS["v2-tlv"][0])
        with context.wrap_socket(raw, server_hostname="localhost") as s:
            if protocol == ["h2"]:
                s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_client.frame(4) +
                          h2_client.frame(1, 5, 1, h2_client.request_block("/a.txt")))
                got = b""
                while b"\0\0\1\0\1\0\0\0\1A" not in got:
                    got += s.recv(4096)
            else:
                s.sendall(REQUEST)
                assert received(s).startswith(b"HTTP/1.1 200")
    assert lines(server, 2) == ["192.0.2.1 192.0.2.1 127.0.0.2 200 /a.txt"] * 2
    server.expect_trouble = True


@pytest.mark.only("brigade")
def test_a_header_that_does_not_come_is_not_waited_for(serve):
    server = serve(FRONT + "RequestReadTimeout header=1\n", {"a.txt": "A"})
    with connect(server.port) as s:
        s.sendall(b"PROXY TCP4 192")
        assert received(s) == b""
    server.wait_for_log("no header in time")


@pytest.mark.only("brigade")
@pytest.mark.skipif(not shutil.which("haproxy"), reason="haproxy is not installed")
@pytest.mark.parametrize("how", ["send-proxy", "send-proxy-v2", "send-proxy-v2-ssl-cn", "option"])
def test_behind_haproxy(serve, how, tmp_path):
    front = "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.0/8\n" if how == "option" else FRONT
    server = serve(PLAIN_LOG + front, {"a.txt": "A"})
    port = free_port()
    (tmp_path / "haproxy.cfg").write_text(f"""defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
{"  option forwardfor" if how == "option" else ""}
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  source 127.0.0.2
  server s 127.0.0.1:{server.port} {"" if how == "option" else how}
""")
    proxy = subprocess.Popen(["haproxy", "-db", "-f", str(tmp_path / "haproxy.cfg")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=("127.0.0.5", 0)) as s:
                s.sendall(REQUEST)
                return received(s)
        except ConnectionRefusedError:
            return b""
    try:
        wait_until(lambda: ask().startswith(b"HTTP/1.1 200"), "haproxy")
        for _ in range(4):
            assert ask().startswith(b"HTTP/1.1 200")
    finally:
        proxy.terminate()
        proxy.wait()
    assert set(lines(server, 5)) == {"127.0.0.5 127.0.0.5 200 /a.txt"}


FORWARDED = ["192.0.2.7", "192.0.2.7, 198.51.100.3", "192.0.2.7,198.51.100.3 , 203.0.113.9", "nonsense", "192.0.2.7, nonsense", "10.1.2.3", "192.0.2.7, 10.1.2.3",
             "192.0.2.7, 203.0.113.9, 10.1.2.3", "2001:db8::7", "fe80::1", "2001:db8::7, 203.0.113.9", "", ",", "192.0.2.7,", " 192.0.2.7 ", "192.0.2.7:80", "[2001:db8::7]",
             "172.16.0.1", "172.32.0.1", "169.254.1.1", "127.0.0.1", "0.0.0.0", "192.0.2.300", "::ffff:192.0.2.7", "192.0.2.7, 203.0.113.9, 203.0.113.9"]
SETTINGS = {
    "all": "", "internal": "RemoteIPInternalProxy 127.0.0.0/8\n", "trusted": "RemoteIPTrustedProxy 127.0.0.1\n", "others": "RemoteIPInternalProxy 192.0.2.0/24\n",
    "chain": "RemoteIPInternalProxy 127.0.0.1 10.0.0.0/8\nRemoteIPTrustedProxy 203.0.113.0/24 2001:db8::/32\nRemoteIPProxiesHeader X-By\n",
    "list": "RemoteIPInternalProxyList conf/proxies\n"}


@pytest.mark.parametrize("name", SETTINGS)
def test_request_fields(serve, name):
    """Beside Apache, where it is installed."""
    config = LOADED + "RemoteIPHeader X-Forwarded-For\n" + SETTINGS[name] + \
        'CustomLog @ROOT@/logs/access.log "%a|%{c}a|%{X-Forwarded-For}i|%{X-By}i|%{remoteip-proxy-ip-list}n|%U"\n'
    said = []
    for binary in dict.fromkeys([BINARY, "/usr/sbin/apache2"]):
        if not os.access(binary, os.X_OK):
            continue
        server = serve.unstarted(config, {"a.txt": "A"}, binary=binary)
        server.write("proxies", "# inside\n127.0.0.1 10.0.0.0/8 # and\n\n203.0.113.0/24\n", base="conf")
        server.start()
        for _ in range(3):  # the full way, and from memory
            for value in FORWARDED:
                assert server.get("/a.txt", [("X-Forwarded-For", value)]).status == 200
        said.append(sorted(lines(server, 3 * len(FORWARDED))))  # each connection has a worker of its own
    assert all(one == said[0] for one in said)


def test_a_list_of_addresses_costs_by_its_length(serve):
    """As many as a field of the usual size has: each of them took memory for all before it."""
    server = serve(LOADED + "RemoteIPHeader X-Forwarded-For\nRemoteIPProxiesHeader X-By\nMemorySystem request limit(1M) arena\n"
                   'CustomLog @ROOT@/logs/access.log "%a|%{X-By}i|%U"\n', {"a.txt": "A"})
    hops = [f"8.8.{n // 250}.{n % 250}" for n in range(800)]
    assert server.get("/a.txt", [("X-Forwarded-For", ",".join(hops))]).status == 200
    assert lines(server, 1) == [f"8.8.0.0|{', '.join(['127.0.0.1', *hops[:0:-1]])}|/a.txt"]


@pytest.mark.parametrize("name", ["none", "no-address", "v2-short", "v2-datagram"])
def test_a_wrong_header_is_no_reset(serve, name):
    """A client that sends more than was read, and goes on, sees the end."""
    server = serve(LOADED + FRONT, {"a.txt": "A"})
    with connect(server.port) as s:
        s.sendall(HEADERS[name][0] + REQUEST + b"x" * (0 if is_apache(BINARY) else 300_000))
        assert s.recv(100) == b""
        if not is_apache(BINARY):
            for _ in range(3):
                s.sendall(b"more")
                assert s.recv(100) == b""
    server.expect_trouble = True
