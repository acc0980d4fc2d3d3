# SPDX-License-Identifier: Apache-2.0
"""A small HTTP client that hides nothing: it sends what it is told and keeps every byte that came back."""
import http.client
import socket


class Response:
    def __init__(self, head, body=b"", trailers=()):
        self.head, self.body, self.trailers = head, body, list(trailers)
        lines = head.split(b"\r\n")
        parts = lines[0].split(b" ", 2)
        self.version = parts[0].decode("latin-1")
        self.status = int(parts[1])
        self.reason = parts[2].decode("latin-1") if len(parts) > 2 else ""
        self.headers = [tuple(p.decode("latin-1").strip(" \t") for p in line.split(b":", 1)) for line in lines[1:] if line]

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def __getitem__(self, name):
        """Value of a header field, None if it is not there; several are joined as HTTP allows."""
        values = self.all(name)
        return ", ".join(values) if values else None

    def __repr__(self):
        return f"<{self.version} {self.status} {self.headers} {self.body[:200]!r}>"


def of_fields(version, blocks, body):
    """A Response of fields as newer versions of HTTP have them: those of 1xx are passed over, those behind the first block are trailers."""
    blocks = [b for b in blocks if not (b[0][0] == ":status" and b[0][1].startswith("1"))]
    status = int(blocks[0][0][1])
    lines = [f"{version} {status} {http.client.responses.get(status, '')}", *(f"{n}: {v}" for n, v in blocks[0][1:])]
    return Response("\r\n".join(lines).encode("latin-1"), body, [f"{n}: {v}" for b in blocks[1:] for n, v in b])


class Truncated(Exception):
    """The connection ended in the middle of a response."""


def request_bytes(method, target, headers=(), body=b"", version="1.1", host="localhost"):
    extra = list(headers.items()) if isinstance(headers, dict) else list(headers)
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None and not any(n.lower() == "host" for n, _ in extra):
        lines.append(f"Host: {host}")
    names = {n.lower() for n, _ in extra}
    if body and not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{n}: {v}" for n, v in extra]
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("latin-1", "surrogateescape") + (body.encode() if isinstance(body, str) else body)


class Client:
    """One connection. wrap, a function, puts a layer over the socket."""

    def __init__(self, address, port, timeout, source=None, wrap=None):
        self.socket = socket.create_connection((address, port), timeout=timeout, source_address=source and (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if wrap:
            self.socket = wrap(self.socket)
        self.buffer = b""

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def read_until(self, mark):
        while mark not in self.buffer:
            if not self._fill():
                raise Truncated(self.buffer)
        found, self.buffer = self.buffer.split(mark, 1)
        return found

    def read_exactly(self, n):
        pieces, had = [self.buffer], len(self.buffer)
        while had < n:  # joined once: a body may have many megabytes
            self.buffer = b""
            more = self._fill()
            pieces.append(self.buffer)
            had += len(self.buffer)
            if not more:
                raise Truncated(b"".join(pieces))
        whole = b"".join(pieces)
        found, self.buffer = whole[:n], whole[n:]
        return found

    def read_to_end(self):
        while self._fill():
            pass
        found, self.buffer = self.buffer, b""
        return found

    def at_end(self):
        """True if the server closed the connection and nothing is left; waits for either."""
        return not self.buffer and not self._fill()

    def read_head(self):
        return Response(self.read_until(b"\r\n\r\n"))

    def _chunked(self):
        pieces, trailers = [], []
        while True:
            size = int(self.read_until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                break
            pieces.append(self.read_exactly(size))
            assert self.read_exactly(2) == b"\r\n", "no line end after a chunk"
        while True:
            line = self.read_until(b"\r\n")
            if not line:
                return b"".join(pieces), trailers
            trailers.append(line.decode("latin-1"))

    def read_chunks(self):
        """A body in chunks as it came, trailers included; chunk by chunk, since a server does not wait for a client that takes its time."""
        raw = b""
        while True:
            line = self.read_until(b"\r\n") + b"\r\n"
            size = int(line.split(b";")[0], 16)
            raw += line + (self.read_exactly(size + 2) if size else b"")
            if not size:
                break
        while line := self.read_until(b"\r\n"):
            raw += line + b"\r\n"
        return raw + b"\r\n"

    def read_response(self, method="GET", interim=False):
        """A whole response; 1xx are passed over unless interim is set."""
        while True:
            r = self.read_head()
            if r.status >= 200 or interim or r.status == 101:
                break
        if method == "HEAD" or r.status < 200 or r.status in (204, 304):
            return r
        if "chunked" in (r["Transfer-Encoding"] or "").lower():
            r.body, r.trailers = self._chunked()
        elif r["Content-Length"] is not None:
            r.body = self.read_exactly(int(r.all("Content-Length")[0]))
        else:
            r.body = self.read_to_end()
        return r

    def request(self, method, target, headers=(), body=b"", version="1.1", host="localhost"):
        self.send(request_bytes(method, target, headers, body, version, host))
        return self.read_response(method)

    def get(self, target, headers=(), **more):
        return self.request("GET", target, headers, **more)


def raw_exchange(address, port, data, timeout, half_close=False, wrap=None):
    """Send bytes and read to the end of the connection."""
    with Client(address, port, timeout, wrap=wrap) as c:
        try:
            c.send(data)
            if half_close:
                c.half_close()
        except (BrokenPipeError, ConnectionResetError):
            pass
        return c.read_to_end()


def split_responses(data, methods=None):
    """The responses in a byte string, by their own framing; what remains is the last element if not empty."""
    found, methods = [], list(methods or [])
    while data:
        if b"\r\n\r\n" not in data:
            found.append(data)
            break
        head, data = data.split(b"\r\n\r\n", 1)
        r = Response(head)
        method = methods.pop(0) if methods and r.status >= 200 else "GET"
        if method != "HEAD" and r.status >= 200 and r.status not in (204, 304):
            if r["Transfer-Encoding"]:
                r.body, data = dechunk(data)
            else:
                length = int(r["Content-Length"]) if r["Content-Length"] is not None else len(data)
                r.body, data = data[:length], data[length:]
        found.append(r)
    return found


def dechunk(data):
    body = b""
    while True:
        line, data = data.split(b"\r\n", 1)
        size = int(line.split(b";")[0], 16)
        if size == 0:
            return body, data.split(b"\r\n", 1)[1]
        body, data = body + data[:size], data[size + 2:]
