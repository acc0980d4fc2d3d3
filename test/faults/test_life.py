# SPDX-License-Identifier: Apache-2.0
"""Every system call of a start and of a graceful reload refused, short, interrupted and delayed.

A start serves, or ends with a message and a status that is not 0; never does it hang. A reload takes effect, or says why not
while the processes of the configuration before serve on; no request is ever refused, the next reload works, and the
supervisor has as many descriptors as before.
"""
import os
import random
import re
import signal
import time

import pytest

import effort
import brigade
import fault_table as table
from brigade import wait_until
from fault_control import FOREVER, LIBRARY, SERVER, SUPERVISOR, Faults, name_of
from fault_report import report
from fault_site import CGID, NETWORKS, OWN_TLS, Site, has_module
from fault_sweep import Finding
import collections

COMPLETE = effort.everything("faults")
MOST_CALLS = 16
SAMPLE = {"start": 8, "reload": 6, "upgrade": 6}
START_SECONDS = 12
ROLES = {"supervisor": SUPERVISOR, "process": SERVER}

pytestmark = [pytest.mark.only("brigade"),
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built")]


def points_of(counts, seed, sample, forever):
    found = []
    for (call, kind), count in sorted(counts.items()):
        step = max(1, count // MOST_CALLS)
        for fault in table.faults_for(call, kind):
            numbers = range(1, count + 1, step) if fault != "delay" else (1,)
            found += [(call, kind, n, n, fault) for n in numbers]
            if forever and fault not in table.NOT_FOREVER and fault != "delay":
                found.append((call, kind, 1, FOREVER, fault))
    assert len(found) > 50
    return found if COMPLETE or len(found) <= sample else random.Random(seed).sample(found, sample)


class Life:
    """What starts and reloads have in common: findings about a site."""

    def __init__(self, serve, tmp_path, name, config=""):
        self.name = name
        self.faults = Faults(str(tmp_path / "faults"))
        self.site = Site(serve, self.faults, config)
        self.server = self.site.server
        self.findings, self.tried, self.missed = [], collections.Counter(), 0

    def found(self, what, point, detail=""):
        call, kind, n, last, fault = point
        self.findings.append(Finding(what, self.name, call, kind, f"{n}.." if last != n else n, name_of(fault),
                                     f"{self.faults.where(6)} [{self.faults.what}]", detail))

    def note(self, point):
        """Count the fault; whether it came to it at all."""
        if self.faults.hits:
            self.tried[point[0], point[1], name_of(point[4])] += 1
        else:
            self.missed += 1
        return bool(self.faults.hits)

    def serves(self, seconds=1):
        try:
            with self.server.connect(seconds) as c:
                return c.get("/control.txt").body == b"control\n"
        except Exception:  # any trouble is a no
            return False

    def log(self, most=400):
        return self.server.error_log()[-most:].decode(errors="replace")

    def group(self):
        """What runs still of the session that the server began."""
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", "rb") as f:
                    fields = f.read().rsplit(b")", 1)[1].split()
                if int(fields[3]) == self.session and fields[0] != b"Z":
                    left.append(int(pid))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return left


# ---- start ----

class Start(Life):
    def spawn(self):
        server = self.server
        for name in ("error_log", "stderr"):
            try:
                os.remove(server.path("logs", name))
            except FileNotFoundError:
                pass
        server.port, self.site.tls = brigade.free_port(), 0
        server.write_config()
        server._spawn()
        self.session = server.process.pid

    def settled(self):
        return "ended" if self.server.process.poll() is not None else "served" if self.serves() else None

    def counts(self, role):
        self.spawn()
        wait_until(lambda: self.settled() == "served", "a clean start")
        counts = self.faults.counts(role)
        assert self.end() == 0
        return counts

    def end(self):
        """Exit status after SIGTERM, None if that did not end it."""
        server = self.server
        if server.process.poll() is None:
            server.signal(signal.SIGTERM)
            try:
                server.process.wait(8)
            except Exception:
                os.killpg(server.process.pid, signal.SIGKILL)
                server.process.wait()
                server.process = None
                return None
        status, server.process = server.process.returncode, None
        return status

    def one(self, role, point):
        call, kind, n, last, fault = point
        self.faults.arm(call, kind, fault, n, last, role=role)
        self.spawn()
        deadline = time.monotonic() + (3 if last != n else START_SECONDS)
        while not (result := self.settled()) and time.monotonic() < deadline:
            time.sleep(0.005)
        if not result and last != n:
            self.faults.disarm()
            deadline = time.monotonic() + START_SECONDS
            while not (result := self.settled()) and time.monotonic() < deadline:
                time.sleep(0.005)
        reached = self.note(point)
        self.faults.disarm()
        status = self.end()
        if reached:
            self.judge(point, result, status)

    def judge(self, point, result, status):
        said = self.log(2000)
        if not result:
            self.found("HUNG", point, f"neither served nor ended in {START_SECONDS} s: {said[-400:]}")
        elif result == "ended" and (status == 0 or status is None or status < 0):
            self.found("STATUS", point, f"ended with status {status}: {said[-400:]}")
        elif result == "ended" and not said.strip():
            self.found("SILENT", point, f"ended with status {status}: {said!r}")
        elif result == "served" and status != 0:
            self.found("END", point, f"served, then ended with status {status}: {said[-400:]}")
        if re.search("exit signal|Segmentation|Assertion|Sanitizer|runtime error", said):
            self.found("CRASH", point, said[-1200:])
        if table.is_benign(point[0], point[4]) and result == "ended":
            self.found("LOST", point, f"status {status}: {said[-400:]}")
        deadline = time.monotonic() + 3
        while self.group() and time.monotonic() < deadline:
            time.sleep(0.01)
        for pid in self.group():
            self.found("ORPHAN", point, open(f"/proc/{pid}/cmdline", "rb").read().decode().replace("\0", " "))
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("role", ROLES)
def test_start(serve, tmp_path, role):
    start = Start(serve, tmp_path, f"start-{role}", CGID if has_module("cgid") else "")
    for point in points_of(start.counts(ROLES[role]), role, SAMPLE["start"], True):
        start.one(ROLES[role], point)
    text = report(start.name, start.tried, start.findings, start.missed)
    assert not start.findings, text


# ---- reload ----

class Reload(Life):
    order = signal.SIGUSR1

    def begin(self):
        self.server.start()
        self.faults.check()
        self.marker, self.applied = 0, 0
        self.session = self.server.process.pid
        for _ in range(3):
            assert self.clean(), f"a clean reload failed: {self.log(2000)}"
        self.base = self.descriptors()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def shown(self):
        """Number of the configuration that answers, 0 if there is no answer."""
        try:
            with self.server.connect(1) as c:
                return int(c.get("/control.txt")["X-Marker"] or 0)
        except Exception:
            return 0

    def ask(self):
        """Write the next configuration, and tell the server."""
        self.marker += 1
        self.server.write_config()
        with open(self.server.path("conf/httpd.conf"), "a", encoding="utf-8") as f:
            f.write(f"Header set X-Marker {self.marker}\n")
        self.server.signal(self.order)

    def said(self, size):
        return self.site.log_since(size)

    def watch(self, seconds, done):
        """Ask until done(), or the time is over; how many asked in vain."""
        vain, deadline = 0, time.monotonic() + seconds
        while time.monotonic() < deadline and self.server.process.poll() is None:
            shown = self.shown()
            vain += not shown and self.marker > 1
            if done(shown):
                return vain, True
            time.sleep(0.002)
        return vain, False

    def clean(self, seconds=15):
        self.ask()
        vain, done = self.watch(seconds, lambda shown: shown == self.marker)
        if done:
            deadline = time.monotonic() + seconds
            while len(self.site.processes()) != 1 and time.monotonic() < deadline:
                time.sleep(0.005)
        return done and len(self.site.processes()) == 1

    def counts(self, role):
        before = self.faults.counts(role)
        assert self.clean()
        return self.faults.counted(role, before)

    def one(self, role, point):
        call, kind, n, last, fault = point
        size = self.site.log_size()
        with self.faults.armed(call, kind, fault, n, last, role=role):
            self.ask()
            told = lambda: re.search(r":(emerg|alert|crit|error|warn)\]", self.said(size))
            vain, done = self.watch(8, lambda shown: shown == self.marker or (shown and told()))
        reached = self.note(point)
        if self.server.process.poll() is not None:
            self.found("ENDED", point, f"the supervisor, status {self.server.process.returncode}: "
                                       f"{self.said(size)[-600:]}{self.server.read('logs/stderr')[-300:]}")
            self.end()
            self.begin()
            return
        if not reached:
            return
        said = self.said(size)
        if vain > (role == SERVER):  # a fault of the process may meet one of our own requests
            self.found("REFUSED", point, f"{vain} requests in vain; {said[-400:]}")
        if not done and last == n and not told():
            self.found("SILENT", point, f"no effect and no message in 8 s: {said[-300:]}")
        if re.search("exit signal|Segmentation|Assertion|Sanitizer|runtime error", said):
            self.found("CRASH", point, said[-1200:])
        if not self.clean():
            self.found("STUCK", point, f"the next reload failed; shown {self.shown()} of {self.marker}, processes "
                                       f"{self.site.processes()}: {self.said(size)[-600:]}")
            self.end()
            self.begin()
            return
        self.leaks(role, point)

    def leaks(self, role, point):
        if self.descriptors() <= self.base:
            return
        call, kind, n, last, fault = point
        start = self.descriptors()
        for _ in range(4):
            with self.faults.armed(call, kind, fault, n, last, role=role):
                self.ask()
                self.watch(0.7, lambda shown: shown == self.marker)
            self.clean()
        grown = self.descriptors() - start
        if grown >= 3:
            self.found("LEAK", point, f"{grown} descriptors by 4 faults")
        self.base = max(self.base, self.descriptors())

    def end(self):
        if self.server.process and self.server.process.poll() is None:
            os.killpg(self.server.process.pid, signal.SIGKILL)
            self.server.process.wait()
        self.server.process = None
        for pid in self.group():
            os.kill(pid, signal.SIGKILL)


# What a reload has to do beside: certificates and keys, and another process that holds tables.
RELOADED = {"cgid": CGID if has_module("cgid") else "", "tls": OWN_TLS, "networks": NETWORKS}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", RELOADED)
def test_reload(serve, tmp_path, role, kind):
    reload = Reload(serve, tmp_path, f"reload-{kind}-{role}", RELOADED[kind])
    reload.begin()
    for point in points_of(reload.counts(ROLES[role]), role, SAMPLE["reload"], False):
        reload.one(ROLES[role], point)
    text = report(reload.name, reload.tried, reload.findings, reload.missed)
    assert not reload.findings, text


# ---- upgrade ----

class Upgrade(Reload):
    """The supervisor becomes the same program anew; one that cannot tells it on standard error, before it has a log."""
    order, behind = signal.SIGUSR2, 0

    def ask(self):
        self.behind = len(self.server.read("logs/stderr"))
        super().ask()

    def said(self, size):
        beside = self.server.read("logs/stderr")[self.behind:].decode(errors="replace")
        return super().said(size) + beside.replace("brigade:", "[:error]")


@pytest.mark.parametrize("role", ROLES)
def test_upgrade(serve, tmp_path, role):
    upgrade = Upgrade(serve, tmp_path, f"upgrade-{role}")
    upgrade.begin()
    for point in points_of(upgrade.counts(ROLES[role]), role, SAMPLE["upgrade"], False):
        upgrade.one(ROLES[role], point)
    text = report(upgrade.name, upgrade.tried, upgrade.findings, upgrade.missed)
    assert not upgrade.findings, text
