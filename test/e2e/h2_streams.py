# SPDX-License-Identifier: Apache-2.0
"""A backend of HTTP/2 whose connections carry several streams: what it gets is seen, when and what it answers is the test's."""
import socket
import threading

from h2_client import ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, line
from hpack_decoder import Decoder


class Stream:
    def __init__(self, connection, number, fields):
        self.connection, self.number, self.fields = connection, number, dict(fields)
        self.body, self.ended, self.reset = b"", False, None

    @property
    def path(self):
        return self.fields[":path"]

    def answer(self, body=b"ok\n", status="200"):
        """A small one in one piece: an answer that has begun is not asked for once more."""
        if len(body) < 1000:
            self.connection.take_window(self.number, len(body))
            self.connection.send(frame(HEADERS, END_HEADERS, self.number, line(":status", status)) + frame(DATA, END_STREAM, self.number, body))
            return
        self.head(status)
        self.data(body, end=True)

    def head(self, status="200", *lines):
        self.connection.send(frame(HEADERS, END_HEADERS, self.number, line(":status", status) + b"".join(lines)))

    def data(self, body, end=False):
        """Within the windows: waits for them."""
        at = 0
        while at < len(body) or end:
            n = self.connection.take_window(self.number, min(len(body) - at, 16384)) if at < len(body) else 0
            last = end and at + n == len(body)
            self.connection.send(frame(DATA, END_STREAM if last else 0, self.number, body[at:at + n]))
            at += n
            if at == len(body):
                return

    def refuse(self, code=7):
        self.connection.send(frame(RST_STREAM, 0, self.number, code.to_bytes(4, "big")))


class Connection:
    def __init__(self, backend, sock, number):
        self.backend, self.sock, self.number = backend, sock, number
        self.streams, self.order, self.frames = {}, [], []
        self.window, self.windows, self.initial = 65535, {}, 65535
        self.lock = threading.Condition()
        self.closed = False

    def send(self, data):
        with self.lock:
            try:
                self.sock.sendall(data)
            except OSError:
                pass

    def take_window(self, stream, most):
        with self.lock:
            if not self.lock.wait_for(lambda: self.closed or self.streams[stream].reset is not None or
                                      min(self.window, self.windows.get(stream, self.initial)) > 0, 30):
                raise TimeoutError
            n = max(0, min(most, self.window, self.windows.get(stream, self.initial))) or most
            self.window -= n
            self.windows[stream] = self.windows.get(stream, self.initial) - n
            return n

    def _read(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def serve(self):
        decoder = Decoder()
        try:
            assert self._read(len(PREFACE)) == PREFACE
            self.send(frame(SETTINGS, 0, 0, self.backend.settings))
            while True:
                head = self._read(9)
                kind, flags, number = head[3], head[4], int.from_bytes(head[5:9], "big")
                payload = self._read(int.from_bytes(head[:3], "big"))
                self._take(decoder, kind, flags, number, payload)
        except (OSError, EOFError):
            pass
        finally:
            with self.lock:
                self.closed = True
                self.lock.notify_all()
            self.backend.changed()
            self.sock.close()

    def _take(self, decoder, kind, flags, number, payload):
        wanted = None
        with self.lock:
            self.frames.append((kind, number, len(payload)))
            if kind == HEADERS:
                assert flags & END_HEADERS
                wanted = self.streams[number] = Stream(self, number, decoder.decode(payload))
                wanted.ended = bool(flags & END_STREAM)
            elif kind == DATA:
                self.streams[number].body += payload
                self.streams[number].ended = bool(flags & END_STREAM)
            elif kind == RST_STREAM:
                self.streams[number].reset = int.from_bytes(payload, "big")
            elif kind == SETTINGS and not flags & ACK:
                for at in range(0, len(payload), 6):
                    if payload[at + 1] == 4:
                        self.initial = int.from_bytes(payload[at + 2:at + 6], "big")
                self.sock.sendall(frame(SETTINGS, ACK))
            elif kind == WINDOW_UPDATE and not number:
                self.window += int.from_bytes(payload, "big")
            elif kind == WINDOW_UPDATE:
                self.windows[number] = self.windows.get(number, self.initial) + int.from_bytes(payload, "big")
            self.lock.notify_all()
        if kind == DATA and self.backend.credits:
            self.credit(0, len(payload))
            self.credit(number, len(payload))
        if wanted:
            self.backend.came(wanted)
        self.backend.changed()

    def credit(self, number, n):
        if n:
            self.send(frame(WINDOW_UPDATE, 0, number, n.to_bytes(4, "big")))

    def goaway(self, last, code=0):
        self.send(frame(GOAWAY, 0, 0, last.to_bytes(4, "big") + code.to_bytes(4, "big")))

    def ping(self):
        self.send(frame(PING, 0, 0, b"12345678"))

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)


class Backend:
    """`script(stream)` runs in a thread of its own for each stream; without one, streams wait for the test. `credits` False: windows for what
    clients send are the test's, too."""

    def __init__(self, script=None, settings=b"", credits=True):
        self.script, self.settings, self.credits = script, settings, credits
        self.connections, self.streams = [], []
        self.lock = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, sock, len(self.connections))
            self.connections.append(connection)
            threading.Thread(target=connection.serve, daemon=True).start()

    def came(self, stream):
        with self.lock:
            self.streams.append(stream)
        if self.script:
            threading.Thread(target=self.script, args=(stream,), daemon=True).start()

    def changed(self):
        with self.lock:
            self.lock.notify_all()

    def wait(self, what, seconds=30):
        with self.lock:
            assert self.lock.wait_for(what, seconds), [(s.connection.number, s.number, s.path, s.reset) for s in self.streams]

    def wait_streams(self, n):
        self.wait(lambda: len(self.streams) >= n)
        return self.streams[:n]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:  # it does not listen just now
            pass
        self.listener.close()
        self.close_connections()

    def close_connections(self):
        for connection in self.connections:
            try:
                connection.close()
            except OSError:
                pass
