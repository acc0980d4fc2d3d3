# SPDX-License-Identifier: Apache-2.0
"""A backend of tests: it records every byte that it gets, and answers by path, as a script says, also wrongly."""
import socket
import threading


class Request:
    def __init__(self, head, body, raw_body, number, connection):
        self.head, self.body, self.raw_body, self.number, self.connection = head, body, raw_body, number, connection
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.method, self.target, self.version = lines[0].split(" ")
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:] if line]

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def __getitem__(self, name):
        values = self.all(name)
        return ", ".join(values) if values else None


class Closed(Exception):
    """The other side closed in the middle of something."""


class Connection:
    """What a script has of a connection."""

    def __init__(self, sock, number):
        self.socket, self.number, self.buffer, self.served = sock, number, b"", 0

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise Closed
        self.buffer += data

    def until(self, end):
        while end not in self.buffer:
            self.more()
        data, self.buffer = self.buffer.split(end, 1)
        return data

    def exactly(self, n):
        while len(self.buffer) < n:
            self.more()
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def chunks(self):
        body, raw = b"", b""
        while True:
            line = self.until(b"\r\n")
            n = int(line, 16)
            data = self.exactly(n)
            raw += line + b"\r\n" + data
            if n == 0:
                while self.until(b"\r\n"):
                    pass
                return body, raw
            self.exactly(2)
            body += data

    def send(self, data):
        self.socket.sendall(data)


def proxied(backend, more="", parameters=""):
    """A configuration of one loop that leads /p/ to the backend."""
    return f"""
EventLoops 1
ProxyPass /p/ http://127.0.0.1:{backend.port}/ {parameters}
{more}
"""


def answer(body=b"ok\n", status="200 OK", fields=()):
    """A whole answer of HTTP/1.1."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"] + [f"{n}: {v}" for n, v in fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class Backend:
    """with Backend({"/x": script}) as backend: script is bytes, or a function (connection, request) that returns bytes to send, None (all
    is sent), or False: the connection is closed. The path "*" stands for all others. `bodies` False: bodies are left to scripts."""

    def __init__(self, scripts=None, bodies=True, address=None):
        self.scripts, self.bodies = {"*": answer()}, bodies
        self.scripts.update(scripts or {})
        self.requests, self.connections, self.open = [], 0, 0
        self.lock = threading.Lock()
        self.sockets = set()
        if address and address.startswith("/"):
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(address)
        else:
            self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
            self.port = self.listener.getsockname()[1]
        self.listener.listen(512)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            if sock.family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections += 1
                self.open += 1
                self.sockets.add(sock)
                connection = Connection(sock, self.connections)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            while self._one(connection):
                pass
        except (OSError, Closed):
            pass
        finally:
            with self.lock:
                self.open -= 1
                self.sockets.discard(connection.socket)
            connection.socket.close()

    def _body(self, connection, request):
        if request["Transfer-Encoding"]:
            request.body, request.raw_body = connection.chunks()
        elif request["Content-Length"]:
            request.body = request.raw_body = connection.exactly(int(request["Content-Length"]))

    def _one(self, connection):
        head = connection.until(b"\r\n\r\n")
        request = Request(head, b"", b"", connection.served, connection)
        connection.served += 1
        with self.lock:
            self.requests.append(request)
        script = self.scripts.get(request.target.split("?")[0], self.scripts["*"])
        if self.bodies and not (request["Expect"] and callable(script)):
            if request["Expect"]:
                connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._body(connection, request)
        result = script(connection, request) if callable(script) else script
        if result:
            connection.send(result)
        return result is not False

    def body(self, connection, request):
        """For scripts that read it late."""
        self._body(connection, request)
        return request.body

    def close_connections(self):
        with self.lock:
            for sock in self.sockets:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.listener.close()
        self.close_connections()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def upper(connection, request):
    """An echo in capitals, behind a greeting; it ends with its client's bytes."""
    connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: b\r\nSec-WebSocket-Accept: x\r\n\r\nhello")
    while True:
        data = connection.buffer or connection.socket.recv(65536)
        connection.buffer = b""
        if not data:
            connection.send(b"bye")
            return False
        connection.send(data.upper())
