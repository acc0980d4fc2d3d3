# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand: frames as bytes, for tests that send what no client library would."""
import socket
import struct

import brigade

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
PRIORITY_UPDATE = 16
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, _, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, \
    COMPRESSION_ERROR, _, ENHANCE_YOUR_CALM = range(12)
INDEXED_STATUS = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def integer(value, bits, first=0):
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def line(name, value):
    """A literal that enters no table."""
    name, value = name.encode("latin-1"), value.encode("latin-1")
    return b"\x00" + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_block(path="/", method="GET", authority="localhost", scheme="http", fields=()):
    pseudo = [(":method", method), (":scheme", scheme), (":path", path), (":authority", authority)]
    return b"".join(line(n, v) for n, v in [*pseudo, *fields])


def status_of(block):
    """The status, which this server puts first."""
    if block[0] & 0x80:
        return INDEXED_STATUS[block[0] & 0x7f]
    assert block[:2] == b"\x08\x03", block[:8]
    return int(block[2:5])


class Closed(Exception):
    pass


class Connection:
    """A connection in the clear, with prior knowledge."""

    def __init__(self, port, settings=b"", preface=True, wrap=None):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if wrap:
            self.sock = wrap(self.sock)
        self.data = b""
        if preface:
            self.send(PREFACE + frame(SETTINGS, payload=settings))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def request(self, stream=1, end=True, **more):
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, request_block(**more)))

    def receive(self):
        """The next frame: kind, flags, stream, payload."""
        while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], "big"):
            try:
                more = self.sock.recv(65536)
            except ConnectionResetError:
                raise Closed from None
            if not more:
                raise Closed
            self.data += more
        size = int.from_bytes(self.data[:3], "big")
        kind, flags, stream = self.data[3], self.data[4], int.from_bytes(self.data[5:9], "big") & 0x7fffffff
        payload, self.data = self.data[9:9 + size], self.data[9 + size:]
        return kind, flags, stream, payload

    def expect(self, *kinds, stream=None):
        """The next frame of one of these kinds; others are passed over."""
        while True:
            got = self.receive()
            if got[0] in kinds and stream in (None, got[2]):
                return got

    def response(self, stream=1):
        """Status and body of a stream; (None, code) if it was reset."""
        status, body = None, b""
        while True:
            kind, flags, _, payload = self.expect(HEADERS, DATA, RST_STREAM, GOAWAY, stream=None)
            if kind == GOAWAY:
                return None, int.from_bytes(payload[4:8], "big")
            if _ != stream:
                continue
            if kind == RST_STREAM:
                return None, int.from_bytes(payload, "big")
            if kind == HEADERS:
                status = status_of(payload) if status is None or status < 200 else status
            else:
                body += payload
            if flags & END_STREAM:
                return status, body

    def goaway(self):
        """The code of GOAWAY; None: closed without one."""
        try:
            return int.from_bytes(self.expect(GOAWAY)[3][4:8], "big")
        except Closed:
            return None
