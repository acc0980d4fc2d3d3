# SPDX-License-Identifier: Apache-2.0
"""MDDnsResponder: names are proven by dns-01 without a program; _acme-challenge is an alias into a zone of the server's own."""
import contextlib
import functools
import os
import shutil
import socket
import struct
import subprocess

import pytest

import acme_authority
import acme_site
import brigade
from acme_site import CONFIG, shown, sites
from pebble_authority import Pebble, program
from tls_site import start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]

RESPONDER = "MDCAChallenges dns-01\nMDDnsResponder acme.example 127.0.0.1:@DNS@ ns=ns.example\n"
TXT, SOA = 16, 6


def question(name, kind=TXT, number=7, flags=0x100):
    labels = b"".join(bytes([len(word)]) + word.encode() for word in name.split("."))
    return struct.pack("!6H", number, flags, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, kind, 1)


def texts(asked, message):
    """(code, TC, TXT values) of an answer."""
    assert message[:2] == asked[:2] and message[2] & 0x80 and message[12:len(asked)] == asked[12:]
    at, found = len(asked), []
    for _ in range(message[7]):
        kind, _, _, length = struct.unpack("!HHIH", message[at + 2:at + 12])
        if kind == TXT:
            found.append(message[at + 13:at + 12 + length].decode())
        at += 12 + length
    return message[3] & 15, bool(message[2] & 2), found


def over_udp(port, asked, timeout=None):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout or brigade.PATIENCE)
        s.sendto(asked, ("127.0.0.1", port))
        return s.recv(4096)


def over_tcp(port, *all_asked):
    with socket.create_connection(("127.0.0.1", port), brigade.PATIENCE) as s, s.makefile("rb") as f:
        s.sendall(b"".join(struct.pack("!H", len(a)) + a for a in all_asked))
        return [f.read(struct.unpack("!H", f.read(2))[0]) for _ in all_asked]


class Authority(acme_authority.Authority):
    """It looks at the record where the alias leads, over both transports."""

    def prove_dns(self, authz, expected):
        value = acme_authority.encode(acme_authority.hashlib.sha256(expected.encode()).digest())
        asked = question(f"{authz['name'].replace('*.', '')}.Acme.EXAMPLE")
        answers = [over_udp(self.ports["DNS"], asked), *over_tcp(self.ports["DNS"], asked)]
        self.seen = [texts(asked, a) for a in answers]
        return all(value in found for _, _, found in self.seen)


class Site(acme_site.Site):
    PORTS, AUTHORITY = ("HTTP", "TLS", "DNS"), Authority

    def __init__(self, serve, config="MDomain md.test\n"):
        super().__init__(serve.unstarted(CONFIG + RESPONDER + config))
        self.start()

    def wait_for_dns(self):
        def answers():
            try:
                return over_udp(self.ports["DNS"], question("acme.example", SOA), 0.2)
            except OSError:
                return None
        return brigade.wait_until(answers, "the DNS server")


@pytest.fixture(name="site")
def fixture_site(serve):
    yield from sites(functools.partial(Site, serve))


def test_a_wildcard(site):
    """Both names of the same record, at a time; afterwards the record is gone."""
    site = site("MDomain md.test *.md.test\n")
    brigade.wait_until(lambda: "DNS:*.md.test" in shown(site.ports["TLS"], "md.test"), "the certificate")
    asked = question("md.test.acme.example")
    brigade.wait_until(lambda: texts(asked, over_udp(site.ports["DNS"], asked)) == (0, False, []), "no record any more")


def test_what_it_answers(site):
    """Nothing of other zones; it is of the user of server processes, and asks for nothing itself."""
    site = site()
    site.server.expect_trouble = True
    site.wait_for_dns()
    for name, code in (("acme.example", 0), ("x.y.acme.example", 0), ("example", 5), ("www.example.org", 5)):
        asked = question(name)
        assert texts(asked, over_udp(site.ports["DNS"], asked))[0] == code, name
    first, second = question("acme.example", SOA, 1), question("acme.example", SOA, 2)
    assert [a[:2] for a in over_tcp(site.ports["DNS"], first, second)] == [first[:2], second[:2]]


def test_a_reload(site):
    """The next process waits for the port of the one before."""
    site = site()
    site.wait_for_dns()
    site.server.signal(10)
    site.server.wait_for_log("Doing graceful restart")
    site.wait_for_dns()


def test_floods(site):
    """Who asks too often is told to come over TCP, or gets nothing; connections that say nothing do not keep others out."""
    site = site()
    site.wait_for_dns()
    asked, answers = question("acme.example", SOA), []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.1", site.ports["DNS"]))
        s.settimeout(1)
        for _ in range(300):
            s.send(asked)
        try:
            while True:
                answers.append(s.recv(4096))
        except TimeoutError:
            pass
    cut = sum(texts(asked, a)[1] for a in answers)
    assert 20 <= len(answers) - cut <= 120 and cut and len(answers) < 250, (len(answers), cut)
    held = [socket.create_connection(("127.0.0.1", site.ports["DNS"]), brigade.PATIENCE) for _ in range(100)]
    try:
        assert over_tcp(site.ports["DNS"], asked)[0][3] & 15 == 0
    finally:
        for s in held:
            s.close()


def test_damaged(site):
    """Bytes of any kind, over both transports: it goes on."""
    site = site()
    site.wait_for_dns()
    asked = question("md.test.acme.example")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for i in range(len(asked)):
            s.sendto(asked[:i], ("127.0.0.1", site.ports["DNS"]))
            s.sendto(asked[:i] + b"\xff" * 100, ("127.0.0.1", site.ports["DNS"]))
    for data in (b"\0\0", b"\xff\xff" + b"x" * 600, b"\0\x05abc", b"\0"):
        with socket.create_connection(("127.0.0.1", site.ports["DNS"]), brigade.PATIENCE) as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                s.recv(10)
    assert over_tcp(site.ports["DNS"], asked)[0][3] & 15 == 0


def test_it_has_no_keys_of_names_on_demand(site):
    """Server processes read the memory with them; this process has nothing to do with it."""
    site = site("MDomain md.test\n<VirtualHost *:@TLS@>\nServerName hosting.test\nServerAlias *.hosting.test\nSSLEngine on\nMDOnDemand \"expr=true\"\n</VirtualHost>\n")
    site.wait_for_dns()

    def processes():
        found = {}
        for pid in site.server.children():
            with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/maps") as maps:
                found[comm.read().strip()] = maps.read()
        return found if "brigade-dns" in found else None
    found = brigade.wait_until(processes, "the DNS server's process")
    assert [name for name, maps in found.items() if "brigade-names" in maps] and "brigade-names" not in found["brigade-dns"]


def test_mistakes(serve):
    for line, words in (("acme.example", "takes a zone and addresses"), ("acme..example 127.0.0.1:53", "is no name of a zone"), ("acme.example ns=x.test", "takes a zone and addresses"),
                        ("acme.example 127.0.0.1:x", "is no ADDRESS:PORT"), (f"{'a' * 64}.test 127.0.0.1:53", "is no name of a zone"),
                        ("acme.example" + " 127.0.0.1:53" * 9, "at most 8 addresses")):
        server = serve.unstarted(f"BuiltinModule md_module On\nMDDnsResponder {line}\n")
        assert words in server.run("-t").stderr.decode(), line


class Unbound:
    """A resolver of others: it knows the alias, and asks the server for the zone."""

    def __init__(self, folder, dns):
        self.port = brigade.free_port()
        path = os.path.join(folder, "unbound.conf")
        with open(path, "w") as f:
            f.write(f"""server:
  interface: 127.0.0.1@{self.port}
  do-daemonize: no
  chroot: ""
  username: ""
  directory: "{folder}"
  pidfile: "{folder}/unbound.pid"
  use-syslog: no
  logfile: "{folder}/unbound.log"
  verbosity: 2
  module-config: "iterator"
  do-not-query-localhost: no
  qname-minimisation: yes
  use-caps-for-id: yes
  harden-below-nxdomain: yes
  local-zone: "md.test." redirect
  local-data: "md.test. 10 IN A 127.0.0.1"
  local-zone: "_acme-challenge.md.test." transparent
auth-zone:
  name: "_acme-challenge.md.test."
  zonefile: "{folder}/alias.zone"
  for-downstream: no
  for-upstream: yes
stub-zone:
  name: "acme.example."
  stub-addr: 127.0.0.1@{dns}
remote-control:
  control-enable: no
""")
        with open(os.path.join(folder, "alias.zone"), "w") as f:
            f.write("_acme-challenge.md.test. 10 IN SOA ns.test. h.ns.test. 1 3600 3600 3600 1\n_acme-challenge.md.test. 10 IN NS ns.test.\n"
                    "_acme-challenge.md.test. 10 IN CNAME md.test.acme.example.\n")
        self.process = subprocess.Popen([shutil.which("unbound", path="/usr/sbin:/usr/bin"), "-c", path])


@pytest.mark.slow
@pytest.mark.skipif(not program("pebble"), reason="pebble is not installed")
@pytest.mark.skipif(not shutil.which("unbound", path="/usr/sbin:/usr/bin"), reason="unbound is not installed")
def test_a_resolver_of_others(serve):
    """unbound follows the alias, label by label and with letters of any case, and finds the record."""
    config = CONFIG.replace("@ACME@/dir", "https://127.0.0.1:@ACME@/dir").replace("acme-tls/1", "") + RESPONDER + "MDomain md.test *.md.test\n"
    ports = {name: brigade.free_port() for name in ("HTTP", "TLS", "DNS")}
    server = serve.unstarted(config)
    folder = server.path("resolver")
    os.makedirs(folder)
    unbound = Unbound(folder, ports["DNS"])
    pebble = Pebble(server.path("made"), ports, dns=unbound.port)
    try:
        for name, value in {**ports, "ACME": pebble.port}.items():
            server.config = server.config.replace(f"@{name}@", str(value))
        start(server)
        brigade.wait_until(lambda: "DNS:*.md.test" in shown(ports["TLS"], "md.test"), "the certificate")
    finally:
        pebble.end()
        unbound.process.terminate()
        unbound.process.wait()

