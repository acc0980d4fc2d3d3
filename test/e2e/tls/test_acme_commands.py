# SPDX-License-Identifier: Apache-2.0
"""Programs that the built-in md module tells what happens (MDMessageCmd, MDNotifyCmd), and proxies on the way to authorities (MDHttpProxy)."""
import os
import shutil
import socket
import threading

import pytest

import brigade
from acme_authority import Authority
from acme_site import CONFIG, FALLBACK, shown
from tls_site import start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]


@pytest.fixture(name="site")
def fixture_site(serve):
    authorities = []

    def make(config):
        ports = {name: brigade.free_port() for name in ("HTTP", "TLS")}
        server = serve.unstarted(CONFIG + config, files={"index.html": "the page"})
        server.authority = Authority(server.path("made"), ports)
        authorities.append(server.authority)
        for name, value in {**ports, "ACME": server.authority.url}.items():
            server.config = server.config.replace(f"@{name}@", str(value))
        server.tls = ports["TLS"]
        return server

    yield make
    for authority in authorities:
        authority.end()


def has_certificate(server):
    return "Test authority" in shown(server.tls, "md.test")


def program(server, then="", name="tell.sh"):
    """One that writes down its arguments, one call a line, and as whom it was called."""
    path, record = server.path(name), server.path(f"{name}.said")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\necho "$(id -u) $*" >> {record}\n{then}\n')
    os.chmod(path, 0o755)
    open(record, "w").close()
    os.chmod(record, 0o666)
    return lambda: open(record).read().split("\n")[:-1]


def test_what_happens(site):
    """In its order, behind the arguments of the directive, as the user of server processes."""
    server = site('MDMessageCmd @ROOT@/tell.sh first "second one"\nMDNotifyCmd @ROOT@/notify.sh names\nMDomain md.test www.md.test\n')
    told, notified = program(server), program(server, name="notify.sh")
    start(server)
    brigade.wait_until(lambda: has_certificate(server), "the certificate")
    brigade.wait_until(lambda: any("installed" in line for line in told()), "what happens at last")
    user = {line.split(" ")[0] for line in told()}
    assert user == {line.split(" ")[0] for line in notified()} and (os.geteuid() != 0 or "0" not in user)
    events = [line.split(" ", 1)[1] for line in told()]
    assert all(e.startswith("first second one ") for e in events)
    events = [e[len("first second one "):] for e in events]
    assert events[0] == "renewing md.test" and events[-2:] == ["renewed md.test", "installed md.test"]
    ways = [e for e in events if e.startswith("challenge-setup:")]
    assert {w.split(":")[2] for w in ways} == {"md.test md.test", "www.md.test md.test"} and len(events) == 3 + len(ways)
    assert [line.split(" ", 1)[1] for line in notified()] == ["names md.test www.md.test"]


@pytest.mark.parametrize("event", ["renewing", "challenge-setup"])
def test_one_that_refuses(site, event):
    """Nothing is got as long as it does; when it is asked again, it may."""
    server = site("MDMessageCmd @ROOT@/tell.sh\nMDomain md.test\n")
    server.expect_trouble = True
    told = program(server, f'case "$1" in {event}*) test -e {server.path("allowed")} ;; esac')
    start(server)
    brigade.wait_until(lambda: f"the program of MDMessageCmd prevents it ({event})".encode() in server.error_log(), "the refusal")
    brigade.wait_until(lambda: any(" errored md.test" in line for line in told()), "that it is told")
    assert not any("renewed" in line for line in told()) and FALLBACK in shown(server.tls, "md.test")
    server.write("allowed", "", base=".")
    brigade.wait_until(lambda: has_certificate(server), "the certificate")


def test_programs_that_cannot_run(site):
    """One that is not there is a refusal; MDNotifyCmd's alone changes nothing."""
    server = site("MDNotifyCmd @ROOT@/none\nMDomain md.test\n")
    server.expect_trouble = True
    start(server)
    brigade.wait_until(lambda: has_certificate(server), "the certificate")
    brigade.wait_until(lambda: b"/none failed with exit code 127." in server.error_log(), "the complaint")


class Proxy:
    """Of CONNECT: `answer` to each, and the tunnel if it is a good one."""

    def __init__(self, answer=b"HTTP/1.1 200 Connection established\r\n\r\n"):
        self.answer, self.asked = answer, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            data = client.recv(1)
            if not data:
                return client.close()
            head += data
        self.asked.append(head.decode())
        client.sendall(self.answer)
        if b" 200 " not in self.answer:
            return client.close()
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        to = socket.create_connection((host, int(port)))
        back = threading.Thread(target=self._copy, args=(to, client), daemon=True)
        back.start()
        self._copy(client, to)
        back.join()
        client.close()
        return to.close()

    @staticmethod
    def _copy(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


@pytest.fixture(name="proxy")
def fixture_proxy(request):
    proxy = Proxy(*getattr(request, "param", ()))
    yield proxy
    proxy.close()


def test_through_a_proxy(site, proxy):
    """All that the authority is asked."""
    server = site(f"MDHttpProxy http://127.0.0.1:{proxy.port}\nMDomain md.test\n")
    start(server)
    brigade.wait_until(lambda: has_certificate(server), "the certificate")
    to = server.authority.url[len("https://"):]
    assert proxy.asked and all(head == f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n" for head in proxy.asked)


@pytest.mark.parametrize("proxy", [(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",), (b"HTTP/1.1 200",), (b"no proxy\r\n\r\n",), (b"",)], indirect=True)
def test_proxies_that_refuse(site, proxy):
    """The authority is not asked past them."""
    server = site(f"MDHttpProxy http://127.0.0.1:{proxy.port}\nMDomain md.test\n")
    server.expect_trouble = True
    start(server)
    brigade.wait_until(lambda: b"encountered error for the 1. time" in server.error_log(), "the complaint")
    assert FALLBACK in shown(server.tls, "md.test") and not server.authority.asked and proxy.asked


def test_a_proxy_that_is_down(site):
    server = site(f"MDHttpProxy http://127.0.0.1:{brigade.free_port()}\nMDomain md.test\n")
    server.expect_trouble = True
    start(server)
    brigade.wait_until(lambda: b"encountered error for the 1. time" in server.error_log(), "the complaint")
    assert not server.authority.asked
