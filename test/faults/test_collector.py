# SPDX-License-Identifier: Apache-2.0
"""Every system call of the collector of ASTable refused, short, interrupted and delayed, while a file of networks changes and a
router ends its session and begins another one.

The server answers all the time, by the table that it had or by the new one; afterwards the new file and a new session are taken
without anything else being done. The collector neither ends nor computes without end, has as many descriptors as before, and
what it could not do is in the error log.
"""
import errno
import os
import random
import socket
import threading
import time

import pytest

import effort
import fault_table as table
from bgp_router import END_OF_RIB, Session, opening, update
from brigade import wait_until
from mmdb_file import Database
from fault_control import FOREVER, LIBRARY, SERVER, Faults
from fault_report import report
from fault_site import Site
from ports import free_port
from test_life import COMPLETE, Life

pytestmark = [pytest.mark.only("brigade"),
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built")]

PEER, MOST_CALLS = 64512, 4
SAMPLE = effort.count(3)
OF_ROUTER, OF_FILE = "198.51.100.7", "203.0.113.7"
CONFIG = """ASTable file @ROOT@/htdocs/networks.txt
ASTable bgp 127.0.0.1 port={port} asn=65000 peer-asn=64512 retry=1
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
Header set X-Net "expr=%{{CLIENT_ASN}}"
"""
LISTENS = CONFIG.replace("port={port}", "listen=127.0.0.1:{port}")


class RouterThread(threading.Thread):
    """Takes each session, sends one route, and holds the connection."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held, self.sessions = None, 0
        self.start()

    def run(self):
        while True:
            try:
                taken = self.listener.accept()[0]
            except OSError:
                return
            try:
                session = Session(taken, PEER, opening(PEER))
                session.sock.sendall(update("198.51.100.0/24", path=[PEER, 64999]) + END_OF_RIB)
                self.held, self.sessions = taken, self.sessions + 1
            except (OSError, EOFError, AssertionError):
                taken.close()

    def kick(self):
        if self.held:
            self.held.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.kick()


@pytest.fixture
def router():
    r = RouterThread()
    yield r
    r.close()


def name_of_process(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def collectors(server):
    return [pid for pid in server._children() if name_of_process(pid) == "brigade-asn"]


class Collector(Life):
    def __init__(self, serve, tmp_path, router, config=CONFIG):
        super().__init__(serve, tmp_path, "collector", config.format(port=router.port))
        self.router, self.number = router, 64600
        self.change()
        self.server.start()
        self.faults.check()
        self.pid = wait_until(lambda: collectors(self.server), "the collector")[0]
        wait_until(lambda: self.up(0), "a table")
        assert self.work(20)
        self.base = self.descriptors()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", "rb") as f:
            fields = f.read().rsplit(b")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # -- work: another file, another session --

    def change(self):
        self.number += 1
        name = self.server.path("htdocs/networks.txt")
        with open(name + ".new", "w", encoding="ascii") as f:
            f.write(f"203.0.113.0/24 {self.number}\n")
        os.rename(name + ".new", name)

    def net(self, address):
        return self.server.get("/control.txt", [("X-Forwarded-For", address)])["X-Net"]

    def up(self, sessions):
        return (self.router.sessions > sessions and self.net(OF_ROUTER) == "64999" and
                self.net(OF_FILE) == str(self.number))

    def work(self, seconds, begin=True):
        """Whether both are taken in that time; answers by any other table are kept in self.wrong."""
        if begin:
            self.before, self.wrong = self.router.sessions, []
            old = str(self.number)
            self.change()
            self.allowed = {OF_ROUTER: ("64999",), OF_FILE: (old, str(self.number))}
            self.router.kick()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for address, allowed in self.allowed.items():
                if (seen := self.net(address)) not in allowed:
                    self.wrong.append((address, seen, allowed))
            if self.up(self.before):
                return True
            time.sleep(0.01)
        return False

    # -- faults --

    def points(self):
        self.faults.count_only(self.pid)
        before = self.faults.counts(SERVER)
        assert self.work(20)
        found = []
        for (call, kind), count in sorted(self.faults.counted(SERVER, before).items()):
            for fault in table.faults_for(call, kind):
                numbers = range(1, count + 1, max(1, count // MOST_CALLS)) if fault != "delay" else (1,)
                found += [(call, kind, n, n, fault) for n in numbers]
                if fault not in table.NOT_FOREVER and fault != "delay":
                    found.append((call, kind, 1, FOREVER, fault))
        return found

    def one(self, call, kind, n, last, fault):
        point, size, busy = (call, kind, n, last, fault), self.site.log_size(), self.cpu_seconds()
        with self.faults.armed(call, kind, fault, n, last, pid=self.pid):
            done = self.work(2.5)
        if not self.note(point):
            assert done or self.work(20, begin=False)
            return
        busy = self.cpu_seconds() - busy if collectors(self.server) == [self.pid] else 0
        done = done or self.work(20, begin=False)
        said = self.site.log_since(size)
        if self.wrong:
            self.found("WRONG", point, f"{self.wrong[:3]} {said[-300:]}")
        if not done:
            self.found("STALE", point, f"{self.net(OF_ROUTER)} {self.net(OF_FILE)}, not {self.number}; {said[-400:]}")
        self.judge(point, busy, said)

    def judge(self, point, busy, said):
        if busy > 1.5:
            self.found("SPIN", point, f"{busy:.1f} s of computing")
        if len(said) > 20_000:
            self.found("FLOOD", point, f"{len(said)} bytes: {said[:200]}")
        if collectors(self.server) != [self.pid]:
            self.found("CRASH", point, said[-600:])
            self.pid = wait_until(lambda: collectors(self.server), "another collector")[0]
            wait_until(lambda: self.work(20), "its table")
            self.base = self.descriptors()
        elif self.descriptors() > self.base:
            wait_until(lambda: self.up(self.before), "the session")
            self.found("LEAK", point, f"{self.descriptors()} descriptors for {self.base}")
            self.base = self.descriptors()


def test_each_call_of_the_collector(serve, tmp_path, router):
    c = Collector(serve, tmp_path, router)
    points = c.points()
    assert len(points) > 30, points
    assert "epoll_wait" not in [call for call, *_ in points], "calls of other processes"
    if not COMPLETE:
        points = random.Random("collector").sample(points, SAMPLE)
    for point in points:
        c.one(*point)
    assert not c.findings, report(c.name, c.tried, c.findings, c.missed)


def test_a_file_that_could_not_be_opened_is_tried_again(serve, tmp_path, router):
    """Nothing about it changes afterwards; it is told once."""
    c = Collector(serve, tmp_path, router)
    with c.faults.armed("open", "none", errno.EMFILE, 1, FOREVER, pid=c.pid):
        assert not c.work(1) and wait_until(lambda: c.faults.hits > 1, "another try")
    assert c.work(20, begin=False) and not c.wrong
    assert c.server.error_log().count(b"cannot be opened by the user") == 1


def test_a_database_that_could_not_be_opened_is_tried_again(serve, tmp_path):
    """Its library opens the file once more, by itself."""
    faults = Faults(str(tmp_path / "faults"))
    server = Site(serve, faults, "ASTable file @ROOT@/htdocs/networks.mmdb\n").server
    database(server, 64600)
    server.start()
    pid = wait_until(lambda: collectors(server), "the collector")[0]
    wait_until(lambda: b"networks.mmdb" in server.error_log(), "the first one")
    if b"was built without" in server.error_log():
        pytest.skip("built without libmaxminddb")
    with faults.armed("open", "none", errno.EMFILE, 2, FOREVER, pid=pid):
        database(server, 64601)
        server.wait_for_log("the networks read before stay in use")
    wait_until(lambda: server.error_log().count(b"1 routes of IPv4") == 2, "the other one", 20)


def database(server, number):
    content = Database({"203.0.113.0/24": {"autonomous_system_number": number}}).content()
    with open(server.path("htdocs/new"), "wb") as f:
        f.write(content)
    os.rename(server.path("htdocs/new"), server.path("htdocs/networks.mmdb"))


def test_a_collector_without_memory_for_a_while_goes_on(serve, tmp_path, router):
    """It cannot read what the supervisor may have said; the supervisor is there nevertheless."""
    c = Collector(serve, tmp_path, router)
    c.one("recv", "socket", 1, FOREVER, errno.ENOMEM)
    assert c.tried and not c.findings, c.findings


def test_a_collector_without_memory_to_wait_does_not_compute_without_end(serve, tmp_path, router):
    c = Collector(serve, tmp_path, router)
    c.one("poll", "none", 1, FOREVER, errno.ENOMEM)
    assert c.tried and not c.findings, c.findings


def test_a_collector_that_cannot_accept_listens_again(serve, tmp_path):
    """It waits meanwhile, rather than to ask poll() again and again, and says why."""
    faults, port = Faults(str(tmp_path / "faults")), free_port()
    server = Site(serve, faults, LISTENS.format(port=port)).server.start()
    pid = wait_until(lambda: collectors(server), "the collector")[0]
    with faults.armed("accept", "socket", errno.EMFILE, 1, FOREVER, pid=pid):
        with socket.create_connection(("127.0.0.1", port)):
            server.wait_for_log("no session: Too many open files")
            assert faults.hits < 20
    wait_until(lambda: begun(port), "a session", 20)
    assert collectors(server) == [pid]


def test_a_collector_that_cannot_accept_while_a_session_is_up_hears_the_next(serve, tmp_path):
    """It says so, and the router that begins anew meanwhile is answered a second later."""
    faults, port = Faults(str(tmp_path / "faults")), free_port()
    server = Site(serve, faults, LISTENS.format(port=port)).server.start()
    pid = wait_until(lambda: collectors(server), "the collector")[0]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        Session(s, PEER, opening(PEER))
        with faults.armed("accept", "socket", errno.EMFILE, 1, FOREVER, pid=pid), socket.create_connection(("127.0.0.1", port)):
            server.wait_for_log("a connection cannot be accepted: Too many open files")
            assert faults.hits < 20
        with socket.create_connection(("127.0.0.1", port), timeout=20) as late:
            assert late.recv(1)
    assert collectors(server) == [pid]


def begun(port):
    """Whether a session that the test begins comes to be."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
            Session(s, PEER, opening(PEER))
            return True
    except (OSError, EOFError):
        return False
