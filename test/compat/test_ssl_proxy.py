# SPDX-License-Identifier: Apache-2.0
"""SSLProxy*: Apache with mod_ssl and Brigade with its built-in module forward the same requests to the same servers. Answers
are compared, and the numbers of the messages that tell why there is none."""
import os
import re
import shutil
import socketserver
import ssl
import subprocess
import tempfile
import threading

import pytest

import brigade
from ports import named_localhost
from proxy_authority import Authority
from stock import driver

pytestmark = [
    named_localhost,
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
PROXY = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in ("proxy", "proxy_http"))
REQUIRE = "SSLProxyVerify require\nSSLProxyCACertificateFile @CA@\n"
# Name: (backend, directives, host in ProxyPass)
CASES = {
    "plain": ("good", "", "localhost"),
    "verified": ("good", REQUIRE, "localhost"),
    "verified-path": ("good", "SSLProxyVerify require\nSSLProxyCACertificatePath @CAS@\n", "localhost"),
    "unknown-authority": ("foreign", REQUIRE, "localhost"),
    "unknown-optional": ("foreign", REQUIRE.replace("require", "optional"), "localhost"),
    "unknown-no-ca": ("foreign", REQUIRE.replace("require", "optional_no_ca"), "localhost"),
    "unknown-unverified": ("foreign", "", "localhost"),
    "no-authority": ("good", "SSLProxyVerify require\n", "localhost"),
    "address": ("good", "", "127.0.0.1"),
    "address-unchecked": ("good", "SSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off\n", "127.0.0.1"),
    "expired": ("expired", "", "localhost"),
    "expired-unchecked": ("expired", "SSLProxyCheckPeerExpire off\n", "localhost"),
    "early": ("early", "", "localhost"),
    "expired-verified": ("expired", REQUIRE + "SSLProxyCheckPeerExpire off\n", "localhost"),
    "deep": ("deep", REQUIRE + "SSLProxyVerifyDepth 1\n", "localhost"),
    "deep-allowed": ("deep", REQUIRE + "SSLProxyVerifyDepth 2\n", "localhost"),
    "shallow": ("good", REQUIRE + "SSLProxyVerifyDepth 0\n", "localhost"),
    "revoked": ("revoked", REQUIRE + "SSLProxyCARevocationCheck chain\nSSLProxyCARevocationFile @CRL@\n", "localhost"),
    "not-revoked": ("good", REQUIRE + "SSLProxyCARevocationCheck chain\nSSLProxyCARevocationFile @CRL@\n", "localhost"),
    "revoked-leaf": ("revoked", REQUIRE + "SSLProxyCARevocationCheck leaf\nSSLProxyCARevocationFile @CRL@\n", "localhost"),
    "no-crl": ("deep", REQUIRE + "SSLProxyVerifyDepth 5\nSSLProxyCARevocationCheck chain\nSSLProxyCARevocationFile @CRL@\n", "localhost"),
    "no-crl-ok": ("deep", REQUIRE + "SSLProxyVerifyDepth 5\nSSLProxyCARevocationCheck chain no_crl_for_cert_ok\nSSLProxyCARevocationFile @CRL@\n", "localhost"),
    "revoked-unchecked": ("revoked", REQUIRE, "localhost"),
    "old-server": ("old", "SSLProxyProtocol TLSv1.3\n", "localhost"),
    "new-server": ("good", "SSLProxyProtocol TLSv1.2\n", "localhost"),
    "ciphers": ("old", "SSLProxyCipherSuite ECDHE-ECDSA-AES256-GCM-SHA384\n", "localhost"),
    "no-ciphers": ("old", "SSLProxyCipherSuite AES256-GCM-SHA384\n", "localhost"),
    "suites": ("good", "SSLProxyCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256\n", "localhost"),
    "client": ("asks", "SSLProxyMachineCertificateFile @CLIENT@\n", "localhost"),
    "client-missing": ("asks", "", "localhost"),
    "client-folder": ("asks", "SSLProxyMachineCertificatePath @CLIENTS@\n", "localhost"),
    "client-chain": ("asks", "SSLProxyMachineCertificateFile @DEEPCLIENT@\nSSLProxyMachineCertificateChainFile @CHAIN@\n", "localhost"),
    "client-foreign": ("asks", "SSLProxyMachineCertificateFile @FOREIGN@\n", "localhost"),
    "off": ("good", "SSLProxyEngine off\n", "localhost"),
    "clear": ("clear", "", "localhost"),
    "gone": ("gone", "", "localhost"),
}
for which in ("", "on", "off"):
    for cn in ("", "on", "off"):
        lines = (f"SSLProxyCheckPeerName {which}\n" if which else "") + (f"SSLProxyCheckPeerCN {cn}\n" if cn else "")
        for backend in ("othername", "othercn", "wildcard"):
            CASES[f"{backend}-name-{which or 'unset'}-cn-{cn or 'unset'}"] = (backend, lines, "localhost")


class Answer(socketserver.BaseRequestHandler):
    """Tells the server name, the version and the client's name; "/close" is an answer without a length."""

    def handle(self):
        data, n = b"", 0
        while True:
            while b"\r\n\r\n" not in data:
                more = self.request.recv(65536)
                if not more or more[0] == 22:  # TLS, where none is spoken
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            want = int(length[1]) if length else 0
            while len(data) < want:
                data += self.request.recv(65536)
            body, data = data[:want], data[want:]
            n += 1
            target = head.split(b" ", 2)[1]
            tls = isinstance(self.request, ssl.SSLSocket)
            subject = dict(x[0] for x in (self.request.getpeercert() or {}).get("subject", ())).get("commonName") if tls else None
            text = f"{target.decode()} {self.server.seen.get(self.request)} {self.request.version() if tls else ''} {self.request.cipher()[0] if tls else ''} {subject} {len(body)} {hash(body) % 1000003}\n".encode()
            if target.startswith(b"/count"):
                text = b"%d\n" % n
            if target.startswith(b"/big"):
                text = text + b"x" * 3_000_000
            if target.startswith(b"/close") or target.startswith(b"/cut"):
                self.request.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + text)
                if target.startswith(b"/close"):
                    self.request.settimeout(0)
                    self.request.unwrap()  # does not wait for the other side's
                return
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)


class Backend(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True

    def __init__(self, pem=None, chain=None, asks=None, newest=None):
        super().__init__(("127.0.0.1", 0), Answer)
        self.seen = {}
        self.context = None
        if pem:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(chain or pem, pem)
            self.context.sni_callback = lambda s, name, _: self.seen.__setitem__(s, name)
            if newest:
                self.context.maximum_version = newest
            if asks:
                self.context.verify_mode = ssl.CERT_REQUIRED
                self.context.load_verify_locations(asks)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client):
        request.settimeout(brigade.PATIENCE)
        try:
            if self.context:
                request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client)
        except OSError:
            pass
        finally:
            self.seen.pop(request, None)
            request.close()

    @property
    def port(self):
        return self.server_address[1]


class Site:
    """The servers behind, and both proxies before them."""

    def __init__(self, folder):
        ca = Authority(os.path.join(folder, "ca"))
        sub = Authority(os.path.join(folder, "sub"), "sub", ca)
        foreign = Authority(os.path.join(folder, "foreign"), "foreign")
        san = "subjectAltName=DNS:localhost\n"
        good, revoked = ca.issue("good", "localhost", san), ca.issue("revoked", "localhost", san)
        ca.issue("client", "visitor")
        deep = sub.issue("deep", "localhost", san)
        sub.issue("client", "deep visitor")
        for made, parts in (("deepchain.pem", (deep, sub.ca)),):
            with open(os.path.join(folder, made), "wb") as out:
                for part in parts:
                    with open(part, "rb") as f:
                        out.write(f.read())
        ca.revoke("revoked")
        os.mkdir(os.path.join(folder, "clients"))
        shutil.copy(ca.path("client.pem"), os.path.join(folder, "clients"))
        os.mkdir(os.path.join(folder, "cas"))
        shutil.copy(ca.ca, os.path.join(folder, "cas", "ca.pem"))
        subprocess.run(["openssl", "rehash", os.path.join(folder, "cas")], check=True)
        self.backends = {
            "good": Backend(good), "revoked": Backend(revoked), "foreign": Backend(foreign.issue("server", "localhost", san)),
            "expired": Backend(ca.issue("expired", "localhost", san, -3, -1)), "early": Backend(ca.issue("early", "localhost", san, 1, 2)),
            "deep": Backend(deep, os.path.join(folder, "deepchain.pem")), "old": Backend(good, newest=ssl.TLSVersion.TLSv1_2),
            "asks": Backend(good, asks=ca.ca), "clear": Backend(),
            "othername": Backend(ca.issue("othername", "localhost", "subjectAltName=DNS:other.test\n")),
            "othercn": Backend(ca.issue("othercn", "other.test", san)),
            "wildcard": Backend(ca.issue("wildcard", "*.test", "subjectAltName=DNS:*.localhost\n")),
        }
        gone = brigade.free_port()
        self.names = names = {"CA": ca.ca, "CAS": os.path.join(folder, "cas"), "CRL": ca.crl(), "CLIENT": ca.path("client.pem"), "CLIENTS": os.path.join(folder, "clients"),
                 "DEEPCLIENT": sub.path("client.pem"), "CHAIN": sub.ca, "FOREIGN": foreign.path("server.pem")}
        config = PROXY + "SSLProxyEngine on\nLogLevel info ssl:info\nServerName outer\n"
        config += "<VirtualHost *:@PORT@>\nServerName outer\n</VirtualHost>\n"
        for name, (backend, lines, host) in CASES.items():
            for key, value in names.items():
                lines = lines.replace(f"@{key}@", value)
            port = self.backends[backend].port if backend in self.backends else gone
            config += f"<VirtualHost *:@PORT@>\nServerName {name}.test\nErrorLog @ROOT@/logs/{name}\n{lines}ProxyPass / https://{host}:{port}/\n</VirtualHost>\n"
        for name, extra in (("section", REQUIRE), ("section-foreign", REQUIRE)):
            port = self.backends["foreign" if "foreign" in name else "good"].port
            for key, value in names.items():
                extra = extra.replace(f"@{key}@", value)
            config += f"<VirtualHost *:@PORT@>\nServerName {name}.test\nErrorLog @ROOT@/logs/{name}\nSSLProxyEngine off\n<Proxy https://localhost:{port}/>\nSSLProxyEngine on\n{extra}</Proxy>\nProxyPass / https://localhost:{port}/\n</VirtualHost>\n"
        os.chmod(folder, 0o755)
        self.theirs = brigade.Server("LoadModule ssl_module @MODULES@/mod_ssl.so\n" + config, {}, binary=driver.APACHE).start()
        self.ours = brigade.Server("BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\n" + config, {}, modules=()).start()

    def close(self):
        for server in (self.theirs, self.ours):
            server.close()
        for backend in self.backends.values():
            backend.shutdown()
            backend.server_close()


@pytest.fixture
def serve():
    """Start a server that ends with the test."""
    made = []

    def start(*args, **settings):
        made.append(brigade.Server(*args, **settings))
        return made[-1].start()

    yield start
    for server in made:
        server.close()


@pytest.fixture(scope="module")
def site():
    with tempfile.TemporaryDirectory(prefix="brigade-test-") as folder:  # Apache's children look into folders, too
        made = Site(folder)
        yield made
        made.close()


NUMBERS = re.compile(rb"AH0(?:0961|1084|1097|1102|1898|1961|1992|1993|2002|2003|2004|2005|2040|2276|2411)")


def seen(server, name, target="/a", method="GET", body=b""):
    r = server.request(method, target, {"Content-Type": "text/plain"} if body else {}, body, host=f"{name}.test")
    return r.status, r.body, r["Content-Length"]


@pytest.mark.parametrize("name", list(CASES) + ["section", "section-foreign"])
def test_same(site, name):
    ours, theirs = seen(site.ours, name), seen(site.theirs, name)
    logs = [sorted(set(NUMBERS.findall(s.read(f"logs/{name}")))) for s in (site.ours, site.theirs)]
    if name in ("client-missing", "client-foreign"):  # the refusal comes while the request is written, or after it
        assert ours[0] >= 500 and theirs[0] >= 500
        return
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1] or ours[0] >= 400
    assert logs[0] == logs[1], site.ours.read(f"logs/{name}").decode()


@pytest.mark.parametrize("target", ["/close", "/big", "/big-again"])
def test_bodies(site, target):
    assert seen(site.ours, "plain", target) == seen(site.theirs, "plain", target)


@pytest.mark.parametrize("size", [1, 4096, 4097, 16384, 100_000, 3_000_000])
def test_request_bodies(site, size):
    body = os.urandom(size)
    ours, theirs = (seen(s, "plain", "/a", "POST", body) for s in (site.ours, site.theirs))
    assert ours == theirs and ours[0] == 200 and f" {size} ".encode() in ours[1]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("module", ["On", "Off"], ids=["builtin", "binary"])
def test_connections_are_used_again(site, serve, scheme, module):
    """By mod_proxy, to a server in the clear and with TLS."""
    backend = site.backends["good" if scheme == "https" else "clear"]
    s = serve(f"EventLoops 1\nBuiltinModule ssl_module {module}\nBuiltinModule proxy_module {module}\nLoadModule ssl_module @MODULES@/mod_ssl.so\n{PROXY}SSLProxyEngine on\n"
              f"ProxyPass / {scheme}://localhost:{backend.port}/\n", {}, modules=())
    s.expect_trouble = module == "Off"  # debug builds tell that mod_ssl passes on buckets of the client's connection
    assert [int(s.get("/count").body) for _ in range(5)] == [1, 2, 3, 4, 5]


def test_two_sections_of_a_server(site, serve):
    """Each with its own settings."""
    ports = [site.backends[name].port for name in ("good", "foreign")]
    s = serve(f"BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\n{PROXY}SSLProxyEngine on\n" + "".join(
        f"<Proxy https://localhost:{port}/>\nSSLProxyVerify {verify}\nSSLProxyCACertificateFile {site.names['CA']}\n</Proxy>\n"
        f"ProxyPass /{verify} https://localhost:{port}/\n" for port, verify in zip(ports, ("require", "none"))), {}, modules=())
    assert s.get("/require/a").status == s.get("/none/a").status == 200


@pytest.mark.parametrize("lines, message", [
    ("SSLProxyVerify maybe", b"Invalid argument"), ("SSLProxyVerifyDepth -1", b"Invalid argument"), ("SSLProxyProtocol TLSv9", b"Illegal protocol"),
    ("SSLProxyEngine on\nSSLProxyProtocol -all", b"AH02231: No SSL protocols available"), ("SSLProxyCACertificateFile @ROOT@/none", b"does not exist or is empty"),
    ("SSLProxyCACertificatePath @ROOT@/none", b"does not exist"), ("SSLProxyCARevocationCheck maybe", b"Invalid argument"),
    ("SSLProxyEngine on\nSSLProxyCARevocationCheck chain", b"AH01899"), ("SSLProxyEngine on\nSSLProxyCipherSuite NONE_SUCH", b"AH01898"),
    ("SSLProxyEngine on\nSSLProxyMachineCertificateFile @HALF@", b"AH02252"), ("<Directory />\nSSLProxyEngine on\n</Directory>", b"not allowed in"),
    ("SSLProxyEngine on\nSSLProxyCACertificateFile @ROOT@/conf/mime.types", b"AH02210")])
def test_mistakes(site, serve, lines, message):
    s = brigade.Server("BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\n" + PROXY + lines.replace("@HALF@", site.names["CA"]) + "\n", {}, modules=())
    try:
        done = s.run("-t")
    finally:
        s.close()
    assert done.returncode != 0
    assert re.search(message, done.stderr), done.stderr
