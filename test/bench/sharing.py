#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines of memory would go to and fro between processors, by simulation: for machines with more processors than this one.

    BRIGADE=out/release/brigade test/bench/sharing.py [--loops 2] [--requests 400] [--target /10k.bin] [--config 'FileCacheEntries 0']

The server runs under valgrind (lackey), which writes down each load and store, and which thread runs. Each thread is taken for a processor
with a cache of its own: where one touches a line of 64 bytes that another one has written, the line has to be fetched from there; where one
writes what others have read, their copies go. Told are fetches for a request, by line: *shared* if the threads touched the same bytes, *false*
if they only lie in one line. Locked instructions are not told apart from others: what they guard is.
"""
import argparse
import collections
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cores  # noqa: E402

LINE = 64
CONFIG_MORE = "ServerProcesses 1\n"
SCHEDULED = re.compile(r"SCHED\[(\d+)\]: +acquired lock")
ACCESS = re.compile(r"^ ([LSM]) +([0-9a-f]+),(\d+)$")


class Lines:
    """Caches of all threads, one line after the other."""

    def __init__(self):
        self.writer, self.readers, self.bytes_of = {}, collections.defaultdict(set), {}
        self.fetched, self.false = collections.Counter(), collections.Counter()

    def touch(self, thread, address, size, writes):
        for line in range(address // LINE, (address + size - 1) // LINE + 1):
            last, readers = self.writer.get(line), self.readers[line]
            came = last is not None and last != thread and thread not in readers
            if came:
                self.fetched[line] += 1
                if not self.overlaps(line, address, size):
                    self.false[line] += 1
            if writes:
                self.written(line, thread, address, size)
            else:
                readers.add(thread)

    def overlaps(self, line, address, size):
        return bool(self.bytes_of.get(line, 0) & self.mask(line, address, size))

    @staticmethod
    def mask(line, address, size):
        first, end = max(address, line * LINE) - line * LINE, min(address + size, (line + 1) * LINE) - line * LINE
        return (1 << end) - (1 << first)

    def written(self, line, thread, address, size):
        if self.writer.get(line) != thread:
            self.bytes_of[line] = 0
        self.writer[line] = thread
        self.bytes_of[line] |= self.mask(line, address, size)
        self.readers[line] = {thread}


class Trace(threading.Thread):
    """Reads what valgrind writes, from a pipe."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.lines, self.counting, self.threads = path, Lines(), False, set()

    def run(self):
        thread = 0
        with open(self.path, encoding="utf-8", errors="replace") as f:
            for text in f:
                if text[0] == " ":
                    found = self.counting and ACCESS.match(text)
                    if found:
                        self.threads.add(thread)
                        self.lines.touch(thread, int(found.group(2), 16), int(found.group(3)), found.group(1) != "L")
                elif text[0] == "-" and (found := SCHEDULED.search(text)):
                    thread = int(found.group(1))


def ask(clients, target, n):
    head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for i in range(n):
        s = clients[i % len(clients)]
        s.sendall(head)
        left = None
        data = b""
        while left is None or left > 0:
            data += s.recv(1 << 16)
            if left is None and b"\r\n\r\n" in data:
                at = data.index(b"\r\n\r\n") + 4
                whole = at + int(re.search(rb"(?i)content-length: (\d+)", data[:at]).group(1))
                left = whole
            if left is not None:
                left = whole - len(data)


def measured(program, loops, requests, target, more):
    with tempfile.TemporaryDirectory(prefix="brigade-sharing-") as root:
        cores.site(root)
        os.utime(f"{root}/htdocs/10k.bin", (1.7e9, 1.7e9))
        os.mkfifo(f"{root}/trace")
        trace = Trace(f"{root}/trace")
        trace.start()
        port = cores.free_port()
        with open(f"{root}/httpd.conf", "w", encoding="utf-8") as f:
            f.write(cores.CONFIG.format(root=root, port=port, loops=loops, processes=1) + more + "\n")
        server = subprocess.Popen(["valgrind", "--tool=lackey", "--basic-counts=no", "--trace-mem=yes", "--trace-sched=yes", f"--log-file={root}/trace",
                                   program, "-D", "FOREGROUND", "-f", f"{root}/httpd.conf"], stderr=subprocess.DEVNULL)
        try:
            clients = [connected(port, server) for _ in range(4 * loops)]
            ask(clients, target, 10 * len(clients))
            trace.counting = True
            ask(clients, target, requests)
            trace.counting = False
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=120)
    return trace


def connected(port, server):
    until = time.monotonic() + 300
    while time.monotonic() < until and server.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=300)
        except OSError:
            time.sleep(0.2)
    sys.exit("sharing.py: the server does not listen")


def text_of(lines, requests):
    fetched, false = sum(lines.fetched.values()), sum(lines.false.values())
    rows = [f"{fetched / requests:.2f} lines for a request come from another processor, {false / requests:.2f} of them are shared by mere neighbourhood", ""]
    for line, n in lines.fetched.most_common(12):
        rows.append(f"  {line * LINE:#016x} {n / requests:8.3f}  {'false' if lines.false[line] > n / 2 else 'shared'}")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--target", default="/10k.bin")
    parser.add_argument("--config", default="", help="more lines")
    parser.add_argument("--most", type=float, help="fail if more lines than that come from others for a request")
    arguments = parser.parse_args()
    program = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))
    trace = measured(program, arguments.loops, arguments.requests, arguments.target, arguments.config)
    print(text_of(trace.lines, arguments.requests))
    print(f"\n{len(trace.threads)} threads ran")
    return 1 if arguments.most is not None and sum(trace.lines.fetched.values()) > arguments.most * arguments.requests else 0


if __name__ == "__main__":
    sys.exit(main())
