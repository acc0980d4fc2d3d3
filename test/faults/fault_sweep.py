# SPDX-License-Identifier: Apache-2.0
"""One fault after the other in a server that goes on serving, and what must hold after each."""
import collections
import errno
import os
import re
import signal
import time

import fault_table as table
from brigade import wait_until
from fault_control import FOREVER, SERVER, name_of
from fault_site import FLOOD_BYTES, exchange

MOST_CALLS = 12   # of one kind in one exchange that are tried in turn
SLOW_SECONDS = 0.6  # no exchange of the site takes a tenth of that
GONE = {errno.EPIPE, errno.ECONNRESET, errno.ETIMEDOUT, errno.ENOTCONN}
NOT_THERE = {errno.ENOENT, errno.ENOTDIR}

Finding = collections.namedtuple("Finding", "what shape call kind n fault where detail")


class Sweep:
    def __init__(self, site, faults, name, shape):
        self.site, self.faults, self.name, self.shape = site, faults, name, shape
        self.server = site.server
        self.findings, self.tried, self.missed = [], collections.Counter(), 0
        self.pid = wait_until(site.processes, "a server process")[0]
        for _ in range(4):
            self.expected = self._exchange().key()
        assert exchange(site, shape).end == "whole"
        self.expected = self._exchange().key()
        self.base = self._descriptors()

    # -- looks --

    def _exchange(self, patience=3):
        self.site.touch(*self.shape.touched)
        return exchange(self.site, self.shape, patience)

    def _descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _cpu_seconds(self):
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as f:
                fields = f.read().rsplit(b")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except FileNotFoundError:
            return 0

    def counts(self):
        """What a clean exchange calls."""
        before = self.faults.counts(SERVER)
        self._exchange()
        return self.faults.counted(SERVER, before)

    # -- faults --

    def points(self):
        """(call, class, n, last, fault) that are worth trying."""
        for (call, kind), count in sorted(self.counts().items()):
            if (call, kind) in self.shape.stock:
                continue
            step = max(1, count // MOST_CALLS)
            for fault in table.faults_for(call, kind):
                tries = range(1, count + 1, step) if fault != "delay" else range(1, min(count, 3) + 1)
                for n in tries:
                    yield call, kind, n, n, fault
                if fault not in table.NOT_FOREVER and fault != "delay":
                    yield call, kind, 1, FOREVER, fault

    def run(self, points):
        for point in points:
            try:
                self._one(*point)
            except FileNotFoundError:  # no /proc/PID any more
                self._found("CRASH", point, f"{self.pid} ended behind it; children {self.site.processes()}")
                self._begin_anew()
        return self.findings

    def _found(self, what, point, detail=""):
        call, kind, n, last, fault = point
        self.findings.append(Finding(what, self.name, call, kind, f"{n}.." if last != n else n, name_of(fault),
                                     f"{self.faults.where()} [{self.faults.what}]", detail))

    def _one(self, *point):
        call, kind, n, last, fault = point
        f, size, began, busy = self.faults, self.site.log_size(), time.monotonic(), self._cpu_seconds()
        with f.armed(call, kind, fault, n, last, pid=self.pid):
            outcome = self._exchange(patience=3 if last == n else 1)
        if not f.hits:
            self.missed += 1
            return
        f.delays_over()
        self.tried[call, kind, name_of(fault)] += 1
        took = time.monotonic() - began
        if not self._alive(point, size):
            return
        busy = self._cpu_seconds() - busy
        if took > SLOW_SECONDS and busy > took / 2:
            self._found("SPIN", point, f"{busy:.1f} s of computing in {took:.1f} s")
        self._judge(point, outcome, size, took)
        self._after(point, size)

    def _alive(self, point, size):
        call, kind, n, last, fault = point
        if last != n and (call, kind, fault) in table.ENDS_PROCESS:
            wait_until(lambda: self.pid not in self.site.processes(), "the end of the process")
            if "the process ends" not in self.site.log_since(size):
                self._found("SILENT", point, "the process ended")
            self._begin_anew()
            return False
        now = self.site.processes()
        if now == [self.pid]:
            return True
        self._found("CRASH", point, f"children {now}; " + self.site.log_since(size)[-600:])
        self._begin_anew()
        return False

    def _begin_anew(self):
        """With whatever process serves now."""
        wait_until(lambda: len(self.site.processes()) == 1 and self._control(), "another process", 40)
        self.pid = self.site.processes()[0]
        for _ in range(3):
            self._exchange()
        self.base = self._descriptors()

    def _renew(self):
        """A process that did not recover goes, so that what comes next starts from a good one."""
        self.server.signal(signal.SIGUSR1)
        wait_until(lambda: self.pid not in self.site.processes(), "a reload", 40)
        self._begin_anew()

    def _control(self):
        try:
            return self.server.get("/control.txt").body == b"control\n"
        except Exception:  # any trouble is a no
            return False

    def _judge(self, point, outcome, size, took):
        call, kind, n, last, fault = point
        said = self.site.log_since(size)
        if len(said) > FLOOD_BYTES:
            self._found("FLOOD", point, f"{len(said)} bytes in {took:.1f} s: {said[:200]}")
        if outcome.end == "torn":
            self._found("TORN", point, outcome.detail)
        elif outcome.end == "hung":
            if last == n:
                self._found("HUNG", point, f"{outcome!r} after {took:.1f} s; log: {said[-300:]}")
        elif outcome.end == "whole" and outcome.key() == self.expected:
            return
        elif table.is_benign(call, fault):
            self._found("LOST", point, f"{outcome!r} log: {said[-300:]}")
        else:
            self._judge_failure(point, outcome, size)

    def _judge_failure(self, point, outcome, size):
        call, kind, n, last, fault = point
        differs = [(a, e) for a, e in zip(outcome.key(), self.expected) if a != e]
        wrong = [(a, e) for a, e in differs if a[0] < 400 and not
                 (self.shape.marks and isinstance(a[1], bytes) and self.shape.marks in a[1]) and not
                 (self.shape.lacks and a[:2] == e[:2] and all(x in (y, None) for x, y in zip(a[2], e[2])))]
        if wrong and fault not in NOT_THERE:
            self._found("WRONG", point, f"{shorten(wrong[0])} log: {self.site.log_since(size)[-300:]}")
        excused = (fault in GONE and kind == "socket") or (fault in NOT_THERE and not outcome.end == "closed")
        if not excused and not self._told(size):
            self._found("SILENT", point, repr(outcome))

    def _told(self, size):
        """Lines for a service are sent by a thread."""
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            if re.search(r"\[[\w-]*:(emerg|alert|crit|error|warn|notice|info)\]", self.site.log_since(size)):
                return True
            time.sleep(0.01)
        return False

    def _after(self, point, size):
        found = len(self.findings)
        if not any(self._control() for _ in range(3)):
            self._found("STUCK", point, "no answer on a new connection; " + self.site.log_since(size)[-300:])
        again, took = self._timed()
        if again.end != "whole" or again.key() != self.expected:
            once_more = self._exchange()
            still = once_more.end != "whole" or once_more.key() != self.expected
            self._found("STALE" if still else "LATE", point, f"{again!r}, then {once_more!r}")
        elif took > SLOW_SECONDS and min(self._timed()[1] for _ in range(3)) > SLOW_SECONDS:
            self._found("SLOW", point, f"from now on each exchange takes {took:.1f} s")
        if len(self.findings) > found:
            self._renew()
        else:
            self._leaks(point)

    def _timed(self):
        began = time.monotonic()
        outcome = self._exchange()
        return outcome, time.monotonic() - began

    def _settled(self, seconds=0.3):
        deadline = time.monotonic() + seconds
        while self._descriptors() > self.base and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._descriptors() - self.base

    def _leaks(self, point):
        """A descriptor more than before may be kept for a reason; one more each time is lost."""
        if self._settled() <= 0:
            return
        call, kind, n, last, fault = point
        start = self._descriptors()
        for _ in range(5):
            with self.faults.armed(call, kind, fault, n, last, pid=self.pid):
                self._exchange(1)
            self._exchange()
        time.sleep(0.3)
        grown = self._descriptors() - start
        if grown >= 4:
            self._found("LEAK", point, f"{grown} descriptors by 5 faults")
        self.base = max(self.base, self._descriptors())


def shorten(pair):
    def text(a):
        return (a[0], a[1][:120] if isinstance(a[1], bytes) else a[1], a[2])
    return f"{text(pair[0])} for {text(pair[1])}"
