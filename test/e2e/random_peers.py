# SPDX-License-Identifier: Apache-2.0
"""Clients and backends that talk as they like, and a model of what each client may get.

The target of a request says what its backend does: /KIND/IDENTITY/SIZE/SEED. Each byte of a body, of requests and of answers, follows from the
identity: whoever gets a byte of another's is seen at once.
"""
import random
import re
import socket
import struct
import threading

from backend import Backend
from h2_client import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE, Connection, frame, line, request_block
from h2_client import Closed as H2Closed
from h2_streams import Backend as Streams
from hpack_decoder import Decoder
from http_client import Client, Truncated

IDENTITY = re.compile(rb"id[a-z]\d+n\d+")
EXTRA = b"idz0n000"
WHOLE = ("length", "chunked", "close", "interim", "empty", "drops", "missing")  # answers that all clients get
NO_HEAD = ("before", "half", "garbage")                                        # there is none
CUT = ("short", "badchunk", "resets")                                          # there is a beginning
ODD = ("extra", "early", "nobody", "both")                                     # more than there should be, or before its time
KINDS = WHOLE * 3 + NO_HEAD + CUT + ODD


def body_of(identity, size):
    return ((identity + ":").encode() * (size // (len(identity) + 1) + 1))[:size]


def cut(rnd, data, most=4):
    """The same bytes in some pieces."""
    places = sorted(rnd.randrange(len(data) + 1) for _ in range(rnd.randrange(most)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]


def chunks(rnd, body, end=b"0\r\n\r\n"):
    return b"".join(b"%x%s\r\n%s\r\n" % (len(p), rnd.choice([b"", b";a=b"]), p) for p in cut(rnd, body, 6) if p) + end


def reset(sock):
    """Close it in the rudest way."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def head(status="200 OK", *fields):
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode()


def http1_answer(kind, rnd, identity, size):
    """@return the head; what follows it; whether the connection stays, None: it is reset"""
    body, length = body_of(identity, size), f"Content-Length: {size}"
    ok, begun, in_chunks = head("200 OK", length), rnd.randrange(size + 1), "Transfer-Encoding: chunked"
    last = rnd.choice([b"0\r\n\r\n", b"0\r\nX-T: " + identity.encode() + b"\r\n\r\n"])
    made = {
        "length": lambda: (ok, body, True),
        "missing": lambda: (head("404 Not Found", length), body, True),
        "interim": lambda: (head("103 Early Hints", f"Link: </{identity}>") * rnd.randrange(1, 4) + ok, body, True),
        "chunked": lambda: (head("200 OK", in_chunks), chunks(rnd, body, last), True),
        "close": lambda: (head("200 OK", "Connection: close"), body, False),
        "empty": lambda: (head("204 No Content"), b"", True),
        "drops": lambda: (ok, body, False),
        "before": lambda: (b"", b"", False),
        "half": lambda: (ok[:rnd.randrange(1, len(ok) - 2)], b"", False),
        "garbage": lambda: (rnd.randbytes(rnd.randrange(1, 300)).replace(b"HTTP", b"....") + b"\r\n\r\n", b"", False),
        "short": lambda: (head("200 OK", f"Content-Length: {size + 1 + rnd.randrange(5)}"), body[:begun], False),
        "badchunk": lambda: (head("200 OK", in_chunks), chunks(rnd, body[:begun], b"zz\r\n\r\n"), False),
        "resets": lambda: (ok, body[:begun], None),
        "extra": lambda: (ok, body + head("200 OK", f"Content-Length: {len(EXTRA)}") + EXTRA, True),
        "early": lambda: (head("413 Request Entity Too Large", length, "Connection: close"), body, False),
        "nobody": lambda: (head("304 Not Modified", length), body, True),
        "both": lambda: (head("200 OK", length, in_chunks), chunks(rnd, body), True),
    }
    return made[kind]()


class RandomBackend(Backend):
    """It does as the target says; /any/ leaves it to chance. What it was told wrongly is in .wrong, and how often it got what in .seen."""

    def __init__(self, seed=0, fields=()):
        self.seen, self.wrong, self.fields, self.calm = {}, [], fields, False
        self.chance = random.Random(seed)
        self.says_continue = seed % 2 == 0
        super().__init__({"*": self.script}, bodies=False)
        self.requests = Forgetful()

    def script(self, connection, request):
        found = re.fullmatch(r"/(\w+)/(id[a-z]\d+n\d+)/(\d+)/(\d+)", request.target)
        if not found:
            self.wrong.append(f"a backend was asked for {request.line!r}")
            return False
        kind, identity, size, rnd = found[1], found[2], int(found[3]), random.Random(int(found[4]))
        with self.lock:
            self.seen[request.method, identity] = self.seen.get((request.method, identity), 0) + 1
            if kind == "any":
                kind, rnd = "length" if self.calm else self.chance.choice(KINDS), random.Random(self.chance.random())
        if kind != "early" or request.method != "POST":
            go_on = self.says_continue and request["Expect"]
            if go_on:
                connection.send(head("100 Continue"))
            got = self.body(connection, request)
            if got != (body_of(identity, int(request["X-Size"])) if request.method == "POST" else b""):
                self.wrong.append(f"the body of {request.line!r} was {got[:80]!r}, {len(got)} bytes")
        first, rest, stays = http1_answer(kind, rnd, identity, size)
        if self.fields:
            first = first.replace(b"200 OK\r\n", b"200 OK\r\n" + self.chance.choice(self.fields), 1)
        for piece in cut(rnd, first if request.method == "HEAD" else first + rest):
            connection.send(piece)
        if stays is None:
            reset(connection.socket)
        return None if stays else False

    def _serve(self, connection):
        try:
            super()._serve(connection)
        except ValueError as e:  # a request that is none
            self.wrong.append(repr(e))


class Forgetful(list):
    def append(self, item):
        pass


class RandomStreams(Streams):
    """The same over HTTP/2: streams that are reset, refused, cut, and connections that end under them."""

    def __init__(self, seed=0):
        self.wrong, self.chance = [], random.Random(seed)
        super().__init__(self.answers)
        self.streams = Forgetful()

    def answers(self, stream):
        try:
            self._answers(stream)
        except (OSError, TimeoutError, KeyError):
            pass

    def _answers(self, stream):
        _, kind, identity, size, seed = stream.path.split("/")
        c, size, rnd = stream.connection, int(size), random.Random(int(seed))
        with c.lock:
            c.lock.wait_for(lambda: stream.ended or stream.reset is not None or c.closed, 30)
        if stream.reset is not None or c.closed:
            return
        body, expected = body_of(identity, size), int(stream.fields["x-size"])
        if stream.body != body_of(identity, expected):
            self.wrong.append(f"the body of {stream.path} was {stream.body[:80]!r}, {len(stream.body)} bytes")
        if kind in ("before", "garbage"):
            stream.refuse(rnd.choice([2, 8, 11]))
        elif kind == "half":
            c.close()
        elif kind == "empty":
            c.send(frame(HEADERS, END_HEADERS | END_STREAM, stream.number, line(":status", "204")))
        elif stream.fields[":method"] == "HEAD":
            c.send(frame(HEADERS, END_HEADERS | END_STREAM, stream.number, line(":status", "404" if kind == "missing" else "200")))
        else:
            self._body(stream, kind, rnd, body)

    @staticmethod
    def _body(stream, kind, rnd, body):
        cuts = kind in ("short", "badchunk", "resets")
        length = [line("content-length", str(len(body) + (kind == "short")))] if kind not in ("chunked", "badchunk") else []
        if kind == "interim":
            stream.head("103", line("link", "</>"))
        stream.head("404" if kind == "missing" else "413" if kind == "early" else "200", *length)
        for piece in cut(rnd, body[:rnd.randrange(len(body) + 1)] if cuts else body):
            if piece:
                stream.data(piece)
        if kind == "badchunk":
            stream.refuse(rnd.choice([2, 8]))
        elif kind == "resets":
            stream.connection.close()
        else:
            stream.connection.send(frame(DATA, END_STREAM, stream.number))


class Asked:
    """One request and its fate: status None: nothing came; whole: to its end."""

    def __init__(self, rnd, identity, prefix, kinds, large):
        self.kind, self.identity = rnd.choice(kinds), identity
        self.method = rnd.choice(["GET", "GET", "GET", "HEAD", "POST"]) if self.kind not in ("both", "extra", "any") else "GET"
        self.size = rnd.choice([0, 1, 200, 5000, 70_000, large])
        self.target = f"{prefix}/{self.kind}/{identity}/{self.size}/{rnd.randrange(1 << 30)}"
        self.sent = body_of(identity, rnd.choice([0, 10, 9000, 40_000])) if self.method == "POST" else b""
        self.status, self.body, self.whole, self.head, self.given_up = None, b"", False, b"", False
        self.last = False
        self.expects = bool(self.sent) and rnd.random() < 0.4
        self.knocks = rnd.random() < 0.3  # credentials, for which phases run on a worker
        self.go = threading.Event()  # the body may be sent, or an answer came without it

    def parts(self, rnd):
        """Its head, and its body as it is framed."""
        fields = ["Host: localhost", f"X-Size: {len(self.sent)}", *(["Connection: close"] if self.last else []),
                  *(["Expect: 100-continue"] if self.expects else []), *(["Authorization: Basic eDp5"] if self.knocks else [])]
        body = self.sent
        if self.method == "POST" and rnd.random() < 0.5:
            fields.append("Transfer-Encoding: chunked")
            body = chunks(rnd, body)
        elif self.method == "POST":
            fields.append(f"Content-Length: {len(body)}")
        return "\r\n".join([f"{self.method} {self.target} HTTP/1.1", *fields, "", ""]).encode(), body

    def __repr__(self):
        return f"{self.method} {self.target}: {self.status} {self.head[:300]!r} {len(self.body)} bytes, whole {self.whole}"

    def is_of_another(self):
        named = IDENTITY.match(self.body)
        return self.whole and bool(named) and self.body == body_of(named[0].decode(), len(self.body))

    def wrong(self, tolerant=False):
        """Why it may not be so; None: it may. `tolerant`: the connection to the backend may end by another's fault."""
        own = self.status in (200, 204, 304, 404, 413)
        strangers = {i for i in IDENTITY.findall(self.head + (b"" if own else self.body))} - {self.identity.encode()}
        if strangers:
            return f"bytes of {strangers}"
        expected = b"" if self.method == "HEAD" or self.status in (204, 304) else body_of(self.identity, self.size)
        if tolerant and (self.body == EXTRA or self.is_of_another()):
            return None  # a whole answer that nobody asked for came late: it looks like that of the next request, whose own may come for the one behind it
        if own and not expected.startswith(self.body):
            at = next((i for i, (a, b) in enumerate(zip(expected, self.body)) if a != b), min(len(expected), len(self.body)))
            return f"other bytes from {at} on: {self.body[max(at - 20, 0):at + 100]!r} for {expected[max(at - 20, 0):at + 100]!r}"
        if own and self.whole and self.body != expected:
            return f"{len(expected) - len(self.body)} bytes are missing"
        if self.given_up or self.kind == "any":
            return None
        if own and self.whole:
            return "it is no answer" if self.kind in NO_HEAD or (self.kind in ("short", "badchunk") and self.method != "HEAD") else None
        if self.kind in WHOLE and self.method != "POST" and not tolerant:
            return "it is whole at its backend"
        if self.status is not None and not own and self.status not in (500, 502, 503):
            return "the status"
        return None


class Http1Talk:
    """Some requests on a connection, one behind the other, in pieces, and how it ends."""

    def __init__(self, port, rnd, asked):
        self.port, self.rnd, self.asked = port, rnd, asked
        self.leaves = rnd.choice(["stays"] * 6 + ["half", "closes", "resets", "garbage"])
        if self.leaves == "half":  # whoever ends his sending has left, unless he said that this request is his last
            asked[0].last = len(asked) == 1
            for a in asked:
                a.given_up = not a.last

    def run(self, patience):
        with Client("127.0.0.1", self.port, patience) as c:
            parts = [a.parts(self.rnd) for a in self.asked]
            if self.leaves in ("closes", "resets"):
                self._leave(c, b"".join(head + body for head, body in parts))
                return
            self._exchange(c, self._turns(parts))

    def _turns(self, parts):
        """What is sent at once, each with the request that then waits for its 100."""
        turns, data = [], b""
        for a, (head, body) in zip(self.asked, parts):
            data += head
            if a.expects and self.rnd.random() < 0.8:
                turns.append((data, a))
                data = b""
            data += body
        if self.leaves == "garbage":
            data += b"\1" + self.rnd.randbytes(20).replace(b"\n", b"") + b"\r\n\r\n"
        return [*turns, (data, None)]

    def _leave(self, c, data):
        """In the middle: what the others got is as if it had never been there."""
        for a in self.asked:
            a.given_up = True
        c.socket.setblocking(False)  # the server takes no more than it can answer
        try:
            for piece in cut(self.rnd, data[:self.rnd.randrange(len(data) + 1)]):
                c.socket.send(piece)
            if self.rnd.random() < 0.5:
                c.socket.recv(self.rnd.randrange(1, 5000))
        except OSError:
            pass
        if self.leaves == "resets":
            reset(c.socket)

    def _exchange(self, c, turns):
        sender = threading.Thread(target=self._send, args=(c, turns), daemon=True)
        sender.start()
        try:
            for a in self.asked:
                if not self._read(c, a):
                    break
        finally:
            for a in self.asked:
                a.go.set()
        try:
            c.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        sender.join()

    def _send(self, c, turns):
        try:
            for data, waits in turns:
                for piece in cut(self.rnd, data, 6):
                    c.send(piece)
                if waits:
                    waits.go.wait()
            if self.leaves == "half":
                c.half_close()
        except OSError:
            pass

    @staticmethod
    def _read(c, a):
        """@return whether another answer may come"""
        try:
            r = c.read_head()
            while 100 <= r.status < 200:
                if r.status == 100:
                    a.go.set()
                r = c.read_head()
        except Truncated as e:
            a.head = e.args[0]
            return False
        a.status, a.head = r.status, r.head
        try:
            if a.method != "HEAD" and a.status not in (204, 304):
                if r["Transfer-Encoding"]:
                    a.body, _ = c._chunked()
                elif r["Content-Length"] is not None:
                    a.body = c.read_exactly(int(r["Content-Length"]))
                else:
                    a.body = c.read_to_end()
            a.whole = True
        except Truncated as e:
            a.body = a.body or e.args[0] if r["Content-Length"] is not None else b""
            return False
        except (ValueError, AssertionError):
            a.body = b"no chunk"
            return False
        return (r["Connection"] or "").lower() != "close"

    def wrong(self, tolerant=False):
        found, over = [], False
        for a in self.asked:
            if over and a.status is None:
                continue  # behind an answer that ended the connection
            why = a.wrong(tolerant)
            if why:
                found.append(f"{why}: {a!r} (client: {self.leaves}, of {len(self.asked)})")
            over = over or not a.whole or a.status == 413 or a.status >= 400 or b"close" in a.head.lower()
        return found


class Http2Talk:
    """Streams at once, of which some are given up."""

    def __init__(self, port, rnd, asked):
        self.port, self.rnd, self.asked, self.leaves = port, rnd, asked, rnd.choice(["stays"] * 5 + ["closes"])

    def run(self, _patience):
        with Connection(self.port, settings=struct.pack("!HI", 4, 0x7fffffff)) as c:
            c.send(frame(WINDOW_UPDATE, payload=struct.pack("!I", 0x7fff0000 - 65535)))
            out, streams, room = [], {}, 60_000
            for i, a in enumerate(self.asked):
                room -= len(a.sent)
                if room < 0 or len(a.sent) > 60_000:
                    a.given_up = True
                    continue
                streams[2 * i + 1] = a
                out.append(self._head(2 * i + 1, a))
                if not a.expects:
                    out.append(self._body(2 * i + 1, a))
                if self.rnd.random() < 0.15:
                    a.given_up = True
                    out.append(frame(RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08"))
            data = b"".join(out)
            if self.leaves == "closes":
                data = data[:self.rnd.randrange(len(data) + 1)]
                for a in self.asked:
                    a.given_up = True
            try:
                for piece in cut(self.rnd, data, 6):
                    c.send(piece)
                if self.leaves == "stays":
                    self._read(c, streams)
            except TimeoutError:
                raise  # nobody waits in vain
            except (OSError, H2Closed):
                pass

    @staticmethod
    def _head(stream, a):
        more = [*([("expect", "100-continue")] if a.expects else []), *([("authorization", "Basic eDp5")] if a.knocks else [])]
        block = request_block(a.target, a.method, fields=[("x-size", str(len(a.sent))), *more])
        return frame(HEADERS, END_HEADERS | (0 if a.sent else END_STREAM), stream, block)

    def _body(self, stream, a):
        pieces = [p for p in cut(self.rnd, a.sent, 4)] if a.sent else []
        pieces = [p[i:i + 16000] for p in pieces for i in range(0, len(p), 16000)]
        return b"".join(frame(DATA, END_STREAM if i == len(pieces) - 1 else 0, stream, p) for i, p in enumerate(pieces))

    def _read(self, c, streams):
        decoder, open_ = Decoder(), {n for n, a in streams.items() if not a.given_up}
        while open_:
            kind, flags, number, payload = c.receive()
            if kind == GOAWAY and payload[4:8] != b"\0\0\0\0":
                return
            if kind == HEADERS:
                lines = decoder.decode(payload)
                if number in streams and lines[0] == (":status", "100") and streams[number].expects and not streams[number].given_up:
                    c.send(self._body(number, streams[number]))
                elif number in streams and lines[0][0] == ":status" and not lines[0][1].startswith("1"):
                    streams[number].status, streams[number].head = int(lines[0][1]), str(lines).encode()
            elif kind == DATA and number in streams:
                streams[number].body += payload
            elif kind == SETTINGS and not flags & 1:
                c.send(frame(SETTINGS, 1))
            elif kind == RST_STREAM:
                if payload != b"\0\0\0\0":  # else: no more of the request is wanted
                    open_.discard(number)
            if kind in (HEADERS, DATA) and flags & END_STREAM and number in streams:
                streams[number].whole = True
                open_.discard(number)

    def wrong(self, tolerant=False):
        return [f"{why}: {a!r} (HTTP/2)" for a in self.asked for why in [a.wrong(tolerant)] if why]
