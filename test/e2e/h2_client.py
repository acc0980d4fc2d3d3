# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand: frames as bytes, for tests that send what no client library would (Connection), and requests as http_client has
them (Client)."""
import os
import re
import shutil
import socket
import struct

from hpack_decoder import Decoder, integer
from http_client import Truncated, of_fields

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
PRIORITY_UPDATE = 16
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, _, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, \
    COMPRESSION_ERROR, _, ENHANCE_YOUR_CALM = range(12)
H2SPEC = shutil.which("h2spec") or shutil.which("h2spec", path=os.path.expanduser("~/go/bin"))
INDEXED_STATUS = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


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
    assert block[:2] in (b"\x08\x03", b"H\x03"), block[:8]
    return int(block[2:5])


class Closed(Exception):
    pass


class Connection:
    """A connection in the clear, with prior knowledge."""

    def __init__(self, port, settings=b"", preface=True, wrap=None):
        import brigade  # which has this one
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


TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OF_A_CONNECTION = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te"}


def can_say(method, target, headers, version, host):
    """True if HTTP/2 has a way to say this request; tests of the syntax of HTTP/1 have others."""
    names = [n.lower() for n, _ in headers]
    return (version == "1.1" and host is not None and TOKEN.fullmatch(method) and method != "CONNECT" and
            (target.startswith("/") or (target == "*" and method == "OPTIONS")) and
            re.fullmatch(r"[!-~]+", target) and all(map(TOKEN.fullmatch, names)) and
            not any(re.search(r"[\r\n\0]|^[ \t]|[ \t]$", v) for _, v in headers) and
            sum(len(n) + len(v) + 8 for n, v in headers) + len(target) < 16000 and  # one frame
            not OF_A_CONNECTION & set(names) and names.count("host") + names.count("content-length") <= 1)


class Client:
    """Requests one after the other on a connection with prior knowledge; for windows of the server it waits, its own are open.
    tls, a function, puts a layer over the socket."""

    def __init__(self, address, port, timeout, tls=None, source=None):
        self.socket = socket.create_connection((address, port), timeout=timeout, source_address=source and (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls(self.socket)
        self.data, self.decoder, self.next_id = b"", Decoder(), 1
        self.window, self.initial, self.stream_window = 65535, 65535, 65535
        self.socket.sendall(PREFACE + frame(SETTINGS, payload=struct.pack("!HI", 4, 0x7fffffff)) +
                            frame(WINDOW_UPDATE, payload=struct.pack("!I", 0x7fff0000 - 65535)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    receive = Connection.receive

    def at_end(self):
        """True if the server closes the connection before it answers more; waits for either."""
        try:
            while self.receive()[0] not in (HEADERS, DATA):
                pass
        except Closed:
            return True
        return False

    @property
    def sock(self):
        return self.socket

    def _settings(self, flags, payload):
        if flags & ACK:
            return
        for at in range(0, len(payload), 6):
            what, value = struct.unpack_from("!HI", payload, at)
            if what == 4:
                self.stream_window += value - self.initial
                self.initial = value
        self.socket.sendall(frame(SETTINGS, ACK))

    def _frame(self, answer):
        """Take the next frame."""
        try:
            kind, flags, stream, payload = self.receive()
        except Closed:
            raise Truncated(answer) from None
        if kind in (HEADERS, DATA) and flags & PADDED:
            payload = payload[1:len(payload) - payload[0]]
        if kind == SETTINGS:
            self._settings(flags, payload)
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, payload=payload))
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if stream == 0:
                self.window += more
            elif stream == answer["stream"]:
                self.stream_window += more
        elif kind in (HEADERS, CONTINUATION):
            answer["block"] += payload
            if kind == HEADERS:
                answer["last"] = flags & END_STREAM
            if flags & END_HEADERS:
                answer["blocks"].append(self.decoder.decode(answer["block"]))
                answer["block"], answer["over"] = b"", bool(answer["last"])
        elif kind == DATA and stream == answer["stream"]:
            answer["body"].append(payload)
            answer["over"] = bool(flags & END_STREAM)
        elif kind == RST_STREAM and stream == answer["stream"] or kind == GOAWAY and int.from_bytes(payload[:4], "big") < answer["stream"]:
            raise Truncated(answer)

    def _send_body(self, answer, body):
        at = 0
        while at < len(body) and not answer["over"]:
            room = min(self.window, self.stream_window, 16384, len(body) - at)
            if room <= 0:
                self._frame(answer)
                continue
            last = END_STREAM if at + room == len(body) else 0
            self.socket.sendall(frame(DATA, last, answer["stream"], body[at:at + room]))
            self.window, self.stream_window, at = self.window - room, self.stream_window - room, at + room

    def request(self, method, target, headers=(), body=b"", version="1.1", host="localhost"):
        extra = list(headers.items()) if isinstance(headers, dict) else list(headers)
        body = body.encode() if isinstance(body, str) else body
        authority = next((v for n, v in extra if n.lower() == "host"), host)
        fields = [(n.lower(), v) for n, v in extra if n.lower() != "host"]
        if body and "content-length" not in [n for n, _ in fields]:
            fields.append(("content-length", str(len(body))))
        answer = {"stream": self.next_id, "block": b"", "blocks": [], "body": [], "over": False}
        self.next_id += 2
        self.stream_window = self.initial
        self.socket.sendall(frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), answer["stream"],
                                  request_block(target, method, authority, "http", fields)))
        self._send_body(answer, body)
        while not answer["over"]:
            self._frame(answer)
        return of_fields("HTTP/2", answer["blocks"], b"".join(answer["body"]))

    def get(self, target, headers=(), **more):
        return self.request("GET", target, headers, **more)
