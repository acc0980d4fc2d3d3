# SPDX-License-Identifier: Apache-2.0
"""A server process that was taken over, in the sandbox: supervisor, collector and later processes go on, whatever it does to what they share.
docs/internals/trust.md lists the places."""
import contextlib
import hashlib
import os
import re
import signal
import socket
import ssl

import pytest

from brigade import PATIENCE, SANDBOX, TROUBLE, wait_until
from module_source import compile_file
from ports import free_port
from processes import configured
from tls_site import certificate

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(bool(SANDBOX), reason="each of these has a sandbox of its own")]

CONFIG = """LoadModule attack_module @ROOT@/attack.so
Sandbox On
Listen 127.0.0.1:@TLS@ https
SSLSessionCache shmcb:x(512000)
<VirtualHost 127.0.0.1:@TLS@>
ServerName localhost
SSLEngine On
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
</VirtualHost>
ASTable file @ROOT@/conf/networks
CustomLog logs/access_log "%r %{asn}C"
CustomLog "|$cat >>@ROOT@/logs/piped" "%r"
<Location /attack>
SetHandler attack
</Location>
<Location /status>
SetHandler server-status
</Location>
<Location /metrics>
SetHandler metrics
</Location>
"""
SHARED = """ServerProcesses 2
<Location /members/>
RequestLimit everyone by=client rate=100000/s burst=100000
RequestLimit together by=client inflight=1000
</Location>
CacheMemory 8M
CacheEnable memory /kept/
ProxyPass /kept/ http://127.0.0.1:@PORT@/ disablereuse=On
<Proxy balancer://members>
BalancerMember http://127.0.0.1:@PORT@ disablereuse=On
BalancerMember http://localhost:@PORT@ disablereuse=On
</Proxy>
ProxyPass /members/ balancer://members/
<Directory @ROOT@/htdocs/counted>
AuthType Digest
AuthName d
AuthUserFile @ROOT@/conf/digest
AuthDigestNcCheck On
Require valid-user
</Directory>
<Directory @ROOT@/htdocs/once>
AuthType Digest
AuthName d
AuthUserFile @ROOT@/conf/digest
AuthDigestNonceLifetime 0
Require valid-user
</Directory>
"""
EVENT = "OutputSpoolDir @ROOT@/temp\nEventLoops 2\n"
PREFORK = "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\nStartServers 2\nMinSpareServers 1\nMaxSpareServers 3\n"


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


class Site:
    def __init__(self, server):
        self.server = server
        self.tls = int(server.env["ATTACK_TLS"])

    def secure(self):
        """An answer over TLS, by a new session."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self.tls), timeout=PATIENCE) as plain, context.wrap_socket(plain) as s:
            s.sendall(b"GET /a.txt HTTP/1.0\r\n\r\n")
            answer = b""
            while piece := s.recv(65536):
                answer += piece
        return answer

    def attack(self, way):
        """@return the process, and what came of it; None: it did not live to tell"""
        answer = self.server.raw(f"GET /attack?{way} HTTP/1.0\r\n\r\n".encode())
        pid, _, done = answer.split(b"\r\n\r\n", 1)[1].partition(b" ")
        return int(pid), int(done) if done else None

    def collector(self):
        names = {pid: open(f"/proc/{pid}/comm", encoding="ascii").read().strip() for pid in self.server.children()}
        return next(pid for pid, name in names.items() if name == "brigade-asn")

    def serves(self):
        try:
            return self.server.get("/a.txt").body == b"A\n" and self.secure().endswith(b"A\n")
        except (OSError, ssl.SSLError, AssertionError, EOFError):
            return False

    def works(self):
        """All that shows or uses what is shared; and networks are known."""
        for target in ("/status", "/status?auto", "/metrics"):
            assert self.server.get(target).status == 200, target
        name = f"/a.txt?{os.urandom(4).hex()}"
        self.server.get(name)
        self.server.wait_for_log(rf"GET /a.txt\?{name[-8:]} HTTP/1.1 64501", "logs/access_log")
        self.server.wait_for_log(rf"GET /a.txt\?{name[-8:]} HTTP/1.1", "logs/piped")

    def by_digest(self, target):
        """Two requests of a client that is counted."""
        nonce, opaque = re.search('nonce="([^"]+)".* opaque="([^"]+)"', self.server.get(target)["WWW-Authenticate"]).groups()
        for nc in ("00000001", "00000002"):
            proof = md5(f"{md5('joe:d:secret')}:{nonce}:{nc}:c:auth:{md5(f'GET:{target}')}")
            answer = self.server.get(target, {"Authorization": f'Digest username="joe", realm="d", nonce="{nonce}", uri="{target}", qop=auth, nc={nc}, '
                                                               f'cnonce="c", response="{proof}", opaque="{opaque}"'})
            assert answer.status == 200, f"{target} {nc}"
            nonce = (re.search('nextnonce="([^"]+)"', answer["Authentication-Info"]) or [0, nonce])[1]

    def equals_work(self):
        """What processes share with each other. Workers may be in error, limits refuse, and a balancer wait, for what was written."""
        for i in range(20):
            self.by_digest("/counted/a.txt")
            self.by_digest("/once/a.txt")
            for target in (f"/kept/a.txt?{i % 3}", "/members/a.txt") if i % 5 == 0 else ():
                with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE / 20) as s, contextlib.suppress(TimeoutError):
                    s.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
                    assert s.recv(100)

    def end(self, pid):
        """The process that was taken over ends."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        wait_until(lambda: pid not in self.server._children(), "the end of the process")

    def check(self, pid):
        """Supervisor and collector are those that there were; a new process serves; a reload works, and processes of it serve."""
        supervisor, collector = self.server.process, self.collector()
        self.end(pid)
        wait_until(self.serves, "a new process")
        told = len(self.server.error_log())
        self.works()
        before = set(self.server.children())
        self.server.signal(signal.SIGHUP)
        wait_until(lambda: not (before - {collector} - self.pipes(before)) & set(self.server.children()), "processes of the new configuration")
        wait_until(self.serves, "the new configuration")
        self.works()
        assert supervisor.poll() is None and self.collector() == collector
        assert not TROUBLE.search(self.server.error_log()[told:]), self.server.error_log()[told:].decode(errors="replace")

    @staticmethod
    def pipes(pids):
        return {pid for pid in pids if os.path.exists(f"/proc/{pid}/comm") and open(f"/proc/{pid}/comm", encoding="ascii").read().strip() in ("sh", "cat")}


@pytest.fixture
def site(serve):
    def make(config=EVENT):
        tls = free_port()
        server = serve.unstarted((CONFIG + config).replace("@TLS@", str(tls)), {"a.txt": "A\n", "counted/a.txt": "A\n", "once/a.txt": "A\n"})
        server.env["ASAN_OPTIONS"] += ":detect_leaks=0"
        server.env["ATTACK_TLS"] = str(tls)
        temp = server.path("temp")
        os.mkdir(temp)
        os.chmod(temp, 0o777)
        certificate(server)
        server.write("digest", f"joe:d:{md5('joe:d:secret')}\n", base="conf")
        server.write("networks", "127.0.0.0/8 64501\n", base="conf")
        compile_file(os.path.join(os.path.dirname(__file__), "attack.c"), server.path("attack.so"))
        server.start()
        wait_until(lambda: configured(server), "the start")
        server.expect_trouble = True  # of the process that was taken over; check() looks at the others
        site = Site(server)
        wait_until(site.serves, "TLS")
        return site
    return make


@pytest.mark.parametrize("mpm", [EVENT, PREFORK], ids=["event", "prefork"])
@pytest.mark.parametrize("way", ["zeros", "ones", "text", "random"])
def test_shared_memory_is_written(site, way, mpm):
    site = site(mpm)
    pid, done = site.attack(f"memory-{way}")
    assert done is None or done > 1 << 20
    site.check(pid)


@pytest.mark.parametrize("way", ["zeros", "ones", "text", "random"])
def test_equals_go_on(site, way):
    """The process that was taken over writes while others serve, and goes on serving: nobody dies of it, and nobody waits for it."""
    site = site(EVENT + SHARED)
    site.equals_work()
    pid, _ = site.attack(f"memory-{way}")
    others = set(site.server.children()) - {pid}
    site.end(pid)
    wait_until(site.serves, "a new process")
    site.equals_work()
    assert others <= set(site.server.children())
    site.check(pid)
    site.equals_work()


def test_memory_of_one_writer_is_not(site):
    site = site()
    pid, done = site.attack("sealed")
    assert done == 0
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        maps = f.read().splitlines()
    assert {line.split("memfd:")[1].split()[0] for line in maps if "r--s" in line and "memfd:" in line} == {"brigade-tls", "brigade-asn", "brigade-asn-figures"}
    assert not [line for line in maps if "rw-s" in line and "brigade-" in line]


def test_limits_of_the_supervisor_stay(site):
    site = site()
    assert site.attack("limits")[1] == 0


def test_descriptors_are_changed(site):
    site = site()
    pid, done = site.attack("descriptors")
    assert done >= 1  # logs: it writes them
    site.check(pid)


def test_no_descriptor_is_the_supervisors(site):
    """Neither in the first process nor in one that came later."""
    site = site()
    first = site.attack("pid")[0]
    site.end(first)
    wait_until(site.serves, "a new process")
    later = site.attack("pid")[0]

    def descriptors(pid):
        """{number: name}; some are closed while one looks."""
        found = {}
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found[fd] = os.readlink(f"/proc/{pid}/fd/{fd}")
        return found

    ours = set(descriptors(site.server.process.pid).values())
    kinds = {"socket": 0, "pipe": 0}
    for name in set(descriptors(later).values()) & ours:
        kind = name.partition(":")[0]
        assert kind in kinds or "_log" in name or name in ("/dev/null", f"{site.server.root}/logs/stderr") or name.startswith("anon_inode"), name
        kinds[kind] = kinds.get(kind, 0) + 1
    assert kinds["socket"] == 4  # listening: two addresses of two loops
    for fd, name in descriptors(later).items():
        if name.startswith("pipe:"):
            with open(f"/proc/{later}/fdinfo/{fd}", encoding="ascii") as f:
                assert int(f.read().split("flags:")[1].split()[0], 8) & os.O_ACCMODE == os.O_WRONLY


@pytest.mark.parametrize("way", ["flood", "sent"])
def test_the_channel_is_flooded(site, way):
    site = site()
    pid, done = site.attack(way)
    if way == "flood":
        wait_until(lambda: pid not in site.server._children(), "the process that says too much to be killed")
        site.server.wait_for_log(f"child pid {pid} says more than a server process has to say")
    else:
        assert done
    site.check(pid)


@pytest.mark.parametrize("way", ["listening", "listening-connect"])
def test_listening_sockets_are_ended(site, way):
    site = site()
    with socket.create_server(("127.0.0.1", 0)) as other:
        pid, done = site.attack(f"{way}:{other.getsockname()[1]}")
    assert done == 4
    site.check(pid)
    assert site.server.read("logs/error_log").count(b"a server process ended a listening socket of 127.0.0.1") == 4


@pytest.mark.parametrize("way", ["zeros", "ones", "random"])
def test_an_upgrade_takes_what_was_written(site, way):
    """The next program of the supervisor goes on with memory of the one before."""
    site = site()
    supervisor = site.server.process
    pid, _ = site.attack(f"memory-{way}")
    before = set(site.server.children())
    site.server.signal(signal.SIGUSR2)
    wait_until(lambda: site.server.error_log().count(b"resuming normal operations") >= 2, "the next program")
    site.end(pid)
    wait_until(lambda: not before & set(site.server._children()), "the end of the processes of the one before")
    wait_until(site.serves, "the next program to serve")
    told = len(site.server.error_log())
    site.works()
    assert supervisor.poll() is None and not TROUBLE.search(site.server.error_log()[told:])
