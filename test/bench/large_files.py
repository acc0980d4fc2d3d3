#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What files cost through the server, by size and by the way they go: from memory, read, from a window that is mapped, by sendfile.

    BRIGADE=out/release/brigade test/bench/large_files.py [--most 1G] [--bytes 256M] [--sizes 1K,1M] [--ways window,read]

One loop, one client on the loopback interface that drops what it gets. Three figures for each: MB/s, milliseconds of the server's
processor time for a GiB, and connections a second where each has one request. The least time and the greatest rate of three runs count.
"""
import argparse
import os
import socket
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "test/e2e"))
import brigade  # noqa: E402

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZES = ["1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M", "64M", "256M", "1G"]
MEMORY_MOST = 64 << 20
WAYS = {  # the lines that make all files go this way
    "memory": "FileCacheMaxFile 64M\nFileCacheSize 512M\n",
    "read": "FileCacheMaxFile 0\nEnableMMAP Off\n",
    "window": "FileCacheMaxFile 0\nFileWindowLeast 1\n",
    "sendfile": "FileCacheMaxFile 0\nEnableSendfile On\n",
}
RUNS = 3
CONNECTIONS = 1000
CONNECTIONS_BYTES = 1 << 30


def bytes_of(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def cpu(pids):
    """Seconds, by the clock of each process (clock_getcpuclockid(3)): ticks would be too coarse."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def connect(server):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


class Client:
    """Counts what comes without looking at it: the length of a response is known once its head was seen."""

    def __init__(self, server, target, size):
        self.server, self.room = server, bytearray(1 << 20)
        self.request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self.closing = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        with connect(server) as s:
            s.sendall(self.request)
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(4096)
            if not head.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(head[:200])
            self.whole = head.index(b"\r\n\r\n") + 4 + size

    def get(self, s):
        s.sendall(self.request)
        left = self.whole
        while left > 0:
            n = s.recv_into(self.room, 0, socket.MSG_TRUNC)
            if n <= 0:
                raise RuntimeError("the server closed the connection")
            left -= n

    def get_alone(self):
        with connect(self.server) as s:
            s.sendall(self.closing)
            while s.recv_into(self.room, 0, socket.MSG_TRUNC) > 0:
                pass


def measured(server, size, target, total):
    """(MB/s, ms of processor time for a GiB, connections/s)"""
    client, pids = Client(server, target, size), server.children()
    times = max(2, min(total // size, 20000))
    with connect(server) as s:
        for _ in range(4):
            client.get(s)  # stored, warm
        rates, costs = [], []
        for _ in range(RUNS):
            began, before = time.monotonic(), cpu(pids)
            for _ in range(times):
                client.get(s)
            rates.append(times * size / 1e6 / (time.monotonic() - began))
            costs.append((cpu(pids) - before) * 1e3 * (1 << 30) / (times * size))
    n = max(2, min(CONNECTIONS, CONNECTIONS_BYTES // size))
    alone = []
    for _ in range(RUNS):
        began = time.monotonic()
        for _ in range(n):
            client.get_alone()
        alone.append(n / (time.monotonic() - began))
    return max(rates), min(costs), max(alone)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", default="1G", help="largest size")
    parser.add_argument("--bytes", default="256M", help="sent for each figure, at least twice the file")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--ways", default=",".join(WAYS))
    args = parser.parse_args()
    sizes = [s for s in args.sizes.split(",") if bytes_of(s) <= bytes_of(args.most)]
    print(f"| way | size | MB/s | ms for a GiB | connections/s |\n|---|---|---|---|---|", flush=True)
    for way in args.ways.split(","):
        with brigade.Server("EventLoops 1\nServerProcesses 1\nMaxKeepAliveRequests 0\n" + WAYS[way]) as server:
            for name in sizes:
                size = bytes_of(name)
                if way == "memory" and size > MEMORY_MOST:
                    continue
                path = server.write(f"{name}.bin", b"x" * min(size, 1 << 20))
                os.truncate(path, size)
                with open(path, "r+b") as f:
                    for off in range(0, size, 1 << 20):
                        f.seek(off)
                        f.write(b"x" * min(1 << 20, size - off))
                os.utime(path, (1.7e9, 1.7e9))
                brigade.wait_until(lambda made=os.stat(path).st_ctime: time.time() > made + 2.1, "rest")
                rate, cost, alone = measured(server, size, f"/{name}.bin", bytes_of(args.bytes))
                print(f"| {way} | {name} | {rate:.0f} | {cost:.0f} | {alone:.0f} |", flush=True)
                os.unlink(path)


if __name__ == "__main__":
    main()
