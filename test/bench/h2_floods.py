#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What floods over HTTP/2 cost a server, and what others notice of them.

    BRIGADE=out/release/brigade test/bench/h2_floods.py [--seconds 2] [ATTACK ...]

A client attacks for some seconds, and comes again each time its connection is ended; meanwhile another asks for a small file every
few milliseconds. For each attack: the limit, connections that the attacker lost in a second, processor time of the server
in a second, how much its private memory grew at most, and how long the other client's requests took (median, 99 of 100).
"""
import argparse
import multiprocessing
import os
import statistics
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "e2e", "protocol"), HERE]

import brigade  # noqa: E402
from h2_client import DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, WINDOW_UPDATE, Client, Connection, frame, line, request_block  # noqa: E402
from idle_tls import private_bytes, processes  # noqa: E402
from test_http2 import FLOODS  # noqa: E402

CONFIG = """
Protocols h2c http/1.1
LoadModule reflector_module @MODULES@/mod_reflector.so
EventLoops 1
ServerProcesses 1
<Location /echo>
SetHandler reflector
</Location>
"""
FILES = {"a.txt": "first\n", "big.bin": os.urandom(1 << 20), "echo": "", "probe.txt": "p" * 100}
LIMITS = {
    "none": "", "rapid reset": "100 more than are completed", "provoked reset": "`H2MaxStreamErrors`",
    "short priority": "`H2MaxStreamErrors`", "malformed": "`H2MaxStreamErrors`",
    "ping": "1000 in a second", "ping ack": "1000 in a second", "settings": "1000 in a second", "settings ack": "1000 in a second", "priority": "1000 in a second",
    "priority update": "1000 in a second", "empty data": "100 in a row", "continuation": "8 frames", "long block": "`H2MaxHeaderBlockLen`",
    "too many streams": "`H2MaxSessionStreams`, then 100 more than are completed", "unknown": "1000 in a second", "indexed bomb": "68 KiB decoded, 256 fields",
    "tiny data": "1000 in a second, one of 8 counted", "closed windows": "1 MiB of output for a connection, then 16 KiB for a stream", "reader that stops": "the same",
    "window by bytes": "1000 in a second",
}


def bomb(i):
    """An entry of the table that later fields name again and again."""
    if not i:
        return frame(HEADERS, END_HEADERS | END_STREAM, 1, request_block("/a.txt") + b"\x40" + line("x-bomb", "b" * 3900)[1:])
    return frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, request_block("/a.txt") + b"\xbe" * 4000)


def tiny_data(i):
    return frame(HEADERS, END_HEADERS, 1, request_block("/echo", "POST")) if not i else frame(DATA, 0, 1, b"x")


def closed_windows(i):
    if not i:
        return frame(SETTINGS, payload=struct.pack("!HI", 4, 0))
    return frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, request_block("/big.bin")) if i < 100 else b""


def open_windows(i):
    if not i:
        return frame(SETTINGS, payload=struct.pack("!HI", 4, 0x7fffffff)) + frame(WINDOW_UPDATE, payload=struct.pack("!I", 0x7fff0000 - 65535))
    return frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, request_block("/big.bin")) if i < 100 else b""


def window_by_bytes(i):
    return closed_windows(i) if i < 2 else frame(WINDOW_UPDATE, 0, 3, struct.pack("!I", 1))


ATTACKS = {"none": None, **{name: make for name, (make, _) in FLOODS.items()}, "indexed bomb": bomb, "tiny data": tiny_data,
           "closed windows": closed_windows, "reader that stops": open_windows, "window by bytes": window_by_bytes}
HELD = {"closed windows", "reader that stops"}  # 20 connections, which stay


def cpu_seconds(pid):
    total = 0
    for p in processes(pid):
        with open(f"/proc/{p}/stat", encoding="ascii") as f:
            total += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


class Attack(multiprocessing.Process):
    """A process of its own, which shares no interpreter with the other client."""

    def __init__(self, server, name):
        super().__init__()
        self.port, self.make, self.held = server.port, ATTACKS[name], name in HELD
        self.connections, self.over = multiprocessing.Value("L", 0), multiprocessing.Event()
        self.pieces = [b"".join(self.make(i) for i in range(at, at + 50)) for at in range(0, 3000, 50)] if self.make else []

    def visit(self, c):
        for piece in self.pieces:
            if self.over.is_set():
                return
            c.send(piece)
        if self.make is not tiny_data and not self.held:
            c.goaway()

    def run(self):
        kept = []
        while not self.over.is_set() and self.make:
            if self.held and len(kept) == 20:
                time.sleep(0.01)
                continue
            self.connections.value += 1
            try:
                c = Connection(self.port)
                kept.append(c)
                self.visit(c)
            except OSError:
                pass
            if not self.held:
                kept.pop().sock.close()


def measure(name, seconds):
    with brigade.Server(CONFIG, FILES) as server, Client("127.0.0.1", server.port, 20) as probe:
        server.expect_trouble = True
        for path in ("/probe.txt", "/a.txt", "/big.bin"):
            for _ in range(5):
                probe.get(path)
        time.sleep(0.2)
        before, cpu, memory, took = private_bytes(server.process.pid), cpu_seconds(server.process.pid), 0, []
        attack = Attack(server, name)
        attack.start()
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            at = time.monotonic()
            assert probe.get("/probe.txt").status == 200
            took.append(time.monotonic() - at)
            time.sleep(0.003)
            if len(took) % 20 == 0:
                memory = max(memory, private_bytes(server.process.pid) - before)
        used = cpu_seconds(server.process.pid) - cpu
        attack.over.set()
        attack.join(5)
        attack.kill()
        took.sort()
        print(f"| {name} | {LIMITS[name]} | {attack.connections.value / seconds:.0f} | {used / seconds * 100:.0f} % | "
              f"{memory / 1024:.0f} KiB | {statistics.median(took) * 1e3:.1f} ms, {took[len(took) * 99 // 100] * 1e3:.1f} ms |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS), metavar="ATTACK")
    options = parser.parse_args()
    print("| Attack | Limit | Connections/s | Processor | Memory | Others |\n|---|---|---|---|---|---|")
    for name in options.attacks:
        measure(name, options.seconds)


if __name__ == "__main__":
    main()
