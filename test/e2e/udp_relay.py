# SPDX-License-Identifier: Apache-2.0
"""A network between a client of UDP and a server on this machine, which loses, changes, repeats and holds up datagrams."""
import heapq
import random
import select
import socket
import threading
import time


class Relay:
    """loss, corrupt, twice: shares of datagrams; delay, jitter: seconds; one client at a time."""

    def __init__(self, port, loss=0.0, corrupt=0.0, twice=0.0, delay=0.0, jitter=0.0, seed=1):
        self.server = ("127.0.0.1", port)
        self.loss, self.corrupt, self.twice, self.delay, self.jitter = loss, corrupt, twice, delay, jitter
        self.random = random.Random(seed)
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.port = self.front.getsockname()[1]
        self.back = [self.socket()]
        self.client, self.held, self.count = None, [], [0, 0]
        self.bytes = [0, 0]  # to the server, to the client: as they were sent
        self.lost, self.rebind_after, self.over = 0, None, False
        self.renamed = None  # the number of a datagram to the server whose source connection id is changed
        self.hole, self.hole_ends = None, 0  # (after so many datagrams, for so many seconds) all are lost
        self.thread = threading.Thread(target=self.run, daemon=True)

    def socket(self):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.1", 0))
        made.connect(self.server)
        return made

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        for s in [self.front, *self.back]:
            s.close()

    def take(self, to_server, data):
        self.count[not to_server] += 1
        self.bytes[not to_server] += len(data)
        if to_server and self.rebind_after is not None and self.count[0] >= self.rebind_after:
            self.rebind_after = None
            self.back.append(self.socket())  # as a NAT that forgot the client: another port from now on
        if to_server and self.count[0] == self.renamed:
            self.renamed, at = None, 7 + data[5]
            data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        if self.hole and sum(self.count) >= self.hole[0]:
            self.hole_ends, self.hole = time.monotonic() + self.hole[1], None
        if self.random.random() < self.loss or time.monotonic() < self.hole_ends:
            self.lost += 1
            return
        if self.random.random() < self.corrupt:
            at = self.random.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << self.random.randrange(8)]) + data[at + 1:]
        for _ in range(1 + (self.random.random() < self.twice)):
            due = time.monotonic() + self.delay + self.random.random() * self.jitter
            heapq.heappush(self.held, (due, self.random.random(), to_server, data))

    def give(self):
        while self.held and self.held[0][0] <= time.monotonic():
            _, _, to_server, data = heapq.heappop(self.held)
            try:
                if to_server:
                    self.back[-1].send(data)
                elif self.client:
                    self.front.sendto(data, self.client)
            except OSError:
                pass

    def run(self):
        while not self.over:
            wait = min(0.05, max(0, self.held[0][0] - time.monotonic())) if self.held else 0.05
            for s in select.select([self.front, self.back[-1]], [], [], wait)[0]:
                try:
                    data, sender = s.recvfrom(65536)
                except OSError:
                    continue
                if s is self.front:
                    self.client = sender
                self.take(s is self.front, data)
            self.give()
