# SPDX-License-Identifier: Apache-2.0
"""How far requests go (Max-Forwards), which URLs rules may send them to, and by which proxies (ProxyRemote): as Apache's mod_proxy."""
import re
import socket
import ssl
import subprocess
import threading

import pytest

import brigade
from test_proxy_targets import Backend, Site, pytestmark  # noqa: F401  pylint: disable=unused-import

NOT_COMPARED = ("X-Forwarded-", "Connection:", "Proxy-agent:")  # connections to proxies on the way are not kept here


class Whole(Backend):
    """Keeps whole heads, all of them, until they are taken."""

    def __init__(self, name):
        self.heads = []
        super().__init__(name)

    def record(self, head):
        lines = head.decode("latin1").split("\r\n")
        self.heads.append((lines[0], *sorted(line for line in lines[1:] if not line.startswith(NOT_COMPARED))))
        return lines[0]

    def head(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return None
            data += more
        return self.record(data.split(b"\r\n\r\n")[0])

    def talk(self, connection):
        with connection:
            while self.head(connection):
                connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{self.name}".encode())

    def take(self):
        heads, self.heads = self.heads, []
        return heads


class Secure(Whole):
    """Over TLS."""
    context = None

    def talk(self, connection):
        try:
            super().talk(self.context.wrap_socket(connection, server_side=True))
        except OSError:
            connection.close()


class Proxy(Whole):
    """A proxy on the way, with tunnels. `mode`: "relay", "close" (no answer), "refuse" (407)."""
    mode = "relay"

    def talk(self, connection):
        with connection:
            line = self.head(connection)
            if not line or self.mode == "close":
                return
            if self.mode == "refuse":
                connection.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            elif line.startswith("CONNECT"):
                self.tunnel(connection, line.split()[1].rsplit(":", 1))
            else:
                connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n{self.name}".encode())

    def tunnel(self, connection, address):
        with socket.create_connection((address[0], int(address[1]))) as other:
            connection.sendall(b"HTTP/1.0 200 Connection Established\r\nX-Y: z\r\n\r\n")
            back = threading.Thread(target=self.pump, args=(other, connection), daemon=True)
            back.start()
            self.pump(connection, other)
            back.join()

    @staticmethod
    def pump(source, to):
        try:
            while data := source.recv(65536):
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Ways(Site):
    """a and s (TLS) are backends, p and q proxies on the way."""

    def __init__(self, config, folder):
        super().__init__("")
        for backend in self.backends.values():
            backend.socket.close()
        self.backends = {"a": Whole("a"), "s": Secure("s"), "p": Proxy("p"), "q": Proxy("q")}
        key, chain = folder / "key.pem", folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", chain, "-days", "2", "-subj", "/CN=127.0.0.1"],
                       check=True, capture_output=True)
        self.backends["s"].context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.backends["s"].context.load_cert_chain(chain, key)
        loads = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in ("socache_shmcb", "ssl", "proxy_connect"))
        for server in self.servers:
            server.config = loads + server.config + self.place(config)

    def place(self, text):
        for name, backend in self.backends.items():
            text = text.replace(f"@{name}@", f"127.0.0.1:{backend.port}")
        return text

    def ask(self, server, request):  # pylint: disable=arguments-differ
        """(answer without what differs by nature, {backend: heads that it got})"""
        answer = server.raw(self.place(request).encode("latin1")).decode("latin1")
        answer = re.sub(r"(Date|Server): [^\r]*\r\n", "", answer)
        return answer, {name: got for name, backend in self.backends.items() if (got := backend.take())}

    def both(self, request):  # pylint: disable=arguments-differ
        return [self.ask(server, request) for server in self.servers]


def request(method, target, fields="", body=""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nHost: front.example\r\n{fields}{length}Connection: close\r\n\r\n{body}"


FORWARDS = """UseCanonicalName Off
TraceEnable On
ProxyRequests On
RewriteEngine On
ProxyPass /a/ http://@a@/
<VirtualHost *>
ServerName five.example
ProxyMaxForwards 5
RewriteEngine On
RewriteRule ^/ne/(.*)$ http://@a@/x$1 [P,NE]
RewriteRule ^/p/(.*)$ http://@a@/x$1 [P]
RewriteRule ^/q/(.*)$ http://@a@/x?$1 [P,NE]
RewriteRule ^/q2/(.*)$ http://@a@/x?$1 [P]
RewriteRule ^/b/(.*)$ http://@a@/x?$1 [P,B]
ProxyPass /a/ http://@a@/
</VirtualHost>
"""


@pytest.fixture(scope="module")
def forwards(tmp_path_factory):
    with Ways(FORWARDS, tmp_path_factory.mktemp("tls")) as site:
        yield site


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "GET", "PUT"])
@pytest.mark.parametrize("value", [None, "0", "1", "10", " 5", "x", "-1", "5x", "", "99999999999999999999", "00", "0, 1", "+3", "0x10"])
def test_max_forwards(forwards, method, value):
    fields = "" if value is None else f"Max-Forwards: {value}\r\n"
    for target in ("/a/x", "http://@a@/y"):
        for body in ("", "abc") if method == "PUT" else ("",):
            apache, here = forwards.both(request(method, target, fields, body))
            assert apache == here


@pytest.mark.parametrize("path", ["ne", "p", "q", "q2", "b"])
@pytest.mark.parametrize("text", ["a", "a%20b", "a%0ab", "a%09b", "a%7fb", "a%01b", "a%3fb", "a%c3%a9", "a+b", "a%25b", "a%22b", "%20"])
def test_urls_of_rules(forwards, path, text):
    apache, here = forwards.both(request("GET", f"/{path}/{text}"))
    assert apache == here
    if path == "ne" and "%20" in text:
        assert here[0].startswith("HTTP/1.1 403 ")
        assert forwards.servers[1].wait_for_log("AH10415")


REMOTE = """UseCanonicalName Off
ProxyRequests On
SSLProxyEngine On
SSLProxyCheckPeerName off
SSLProxyCheckPeerCN off
ProxyPass /a/ http://@a@/
ProxyPass /s/ https://@s@/
"""
TARGETS = ["/a/x", "http://@a@/x", "/s/x"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ways", ["ProxyRemote * http://@p@", "ProxyRemote * https://@p@", "ProxyRemote http http://@p@\nProxyRemote https http://@q@",
                                  "ProxyRemoteMatch x$ http://@p@", "ProxyRemote http://@a@/x http://@p@", "ProxyRemote * http://@p@\nNoProxy 127.0.0.1"])
def test_ways(tmp_path, ways, target):
    with Ways(REMOTE + ways + "\n", tmp_path) as site:
        apache, here = site.both(request("GET", target))
        assert apache == here and " 200 " in here[0]


@pytest.mark.parametrize("target", TARGETS)
def test_credentials(tmp_path, target):
    """Within a tunnel the backend does not get them, which Apache's does."""
    with Ways(REMOTE + "ProxyRemote * http://@p@ user:pass\n", tmp_path) as site:
        (_, apache), (_, here) = site.both(request("GET", target))
        assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in here["p"][0] and here["p"] == apache["p"]
        assert "dXNlcjpwYXNz" not in str(here.get("s"))


def test_other_ways(tmp_path):
    """A proxy that gives no answer: the next that is named, then none. Apache keeps the address of the first. What may not be sent twice is not."""
    with Ways(REMOTE + "ProxyRemote * http://@p@\nProxyRemote * http://@q@\n", tmp_path) as site:
        site.backends["p"].mode = "close"
        here = site.servers[1]
        answer, got = site.ask(here, request("GET", "/a/x"))
        assert answer.endswith("q") and list(got) == ["p", "q"]
        answer, got = site.ask(here, request("POST", "/a/x", body="abc"))
        assert " 502 " in answer and list(got) == ["p"]
        site.backends["q"].mode = "close"
        answer, got = site.ask(here, request("GET", "/a/x"))
        assert answer.endswith("a") and list(got) == ["a", "p", "q"] and got["a"][0][0] == "GET /x HTTP/1.1"


@pytest.mark.parametrize("mode", ["close", "refuse"])
def test_no_tunnel(tmp_path, mode):
    with Ways(REMOTE + "ProxyRemote * http://@p@\n", tmp_path) as site:
        site.backends["p"].mode = mode
        apache, here = site.both(request("GET", "/s/x"))
        assert apache == here and here[0].startswith("HTTP/1.1 503 ")
        assert brigade.wait_until(lambda: b"CONNECT" in site.servers[1].error_log(), "a line that says why")
