# SPDX-License-Identifier: Apache-2.0
"""Small servers behind a proxy: FastCGI, SCGI, uwsgi and AJP ports that answer with what they were asked."""
import socket
import struct
import threading

ASKED = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "SERVER_PROTOCOL", "HTTP_X_IN", "CONTENT_LENGTH", "REQUEST_URI")


def answer(variables, body):
    told = "".join(f"{n}={variables[n]}\n" for n in ASKED if n in variables)
    length = len(body)
    if "status" in variables.get("REQUEST_URI", ""):
        return b"Status: 418 Tea\r\nContent-Type: text/plain\r\n\r\nshort\n"
    if "long" in variables.get("REQUEST_URI", ""):
        return b"Content-Type: text/plain\r\n\r\n" + b"a line of a long answer\n" * 20000
    return f"Content-Type: text/plain\r\nX-Own: yes\r\n\r\n{told}{length} bytes\n".encode()


class Stream:
    def __init__(self, connection):
        self.connection, self.data = connection, b""

    def exactly(self, n):
        while len(self.data) < n:
            more = self.connection.recv(65536)
            if not more:
                raise EOFError
            self.data += more
        found, self.data = self.data[:n], self.data[n:]
        return found

    def until(self, mark):
        while mark not in self.data:
            more = self.connection.recv(65536)
            if not more:
                raise EOFError
            self.data += more
        found, self.data = self.data.split(mark, 1)
        return found


def fcgi_pairs(data):
    found, at = {}, 0
    while at < len(data):
        lengths = []
        for _ in range(2):
            n = data[at]
            if n & 128:
                n = struct.unpack(">I", data[at:at + 4])[0] & 0x7fffffff
                at += 4
            else:
                at += 1
            lengths.append(n)
        name, value = data[at:at + lengths[0]], data[at + lengths[0]:at + sum(lengths)]
        found[name.decode("latin-1")], at = value.decode("latin-1"), at + sum(lengths)
    return found


def fcgi(stream, send):
    params, body, keep, role = b"", b"", 0, 0
    while True:
        _, kind, request, length, padding, _ = struct.unpack(">BBHHBB", stream.exactly(8))
        content = stream.exactly(length)
        stream.exactly(padding)
        if kind == 1:
            role, keep = content[1], content[2] & 1
        elif kind == 4:
            params += content
            if not content and role == 2:  # an authorizer gets no body
                break
        elif kind == 5 and content:
            body += content
        elif kind == 5:
            break
    data = answer(fcgi_pairs(params), body)
    for at in range(0, len(data), 32000):
        part = data[at:at + 32000]
        send(struct.pack(">BBHHBB", 1, 6, request, len(part), 0, 0) + part)
    send(struct.pack(">BBHHBB", 1, 6, request, 0, 0, 0) + struct.pack(">BBHHBB", 1, 3, request, 8, 0, 0) + b"\0" * 8)
    return keep


def scgi(stream, send):
    head = stream.exactly(int(stream.until(b":")))
    stream.exactly(1)
    words = head.decode("latin-1").split("\0")
    variables = dict(zip(words[::2], words[1::2]))
    send(answer(variables, stream.exactly(int(variables.get("CONTENT_LENGTH") or 0))))


def uwsgi(stream, send):
    _, length, _ = struct.unpack("<BHB", stream.exactly(4))
    data, variables, at = stream.exactly(length), {}, 0
    while at < len(data):
        words = []
        for _ in range(2):
            n = struct.unpack("<H", data[at:at + 2])[0]
            words.append(data[at + 2:at + 2 + n].decode("latin-1"))
            at += 2 + n
        variables[words[0]] = words[1]
    made = answer(variables, stream.exactly(int(variables.get("CONTENT_LENGTH") or 0)))
    status = b"418 Tea" if made.startswith(b"Status") else b"200 OK"
    send(b"HTTP/1.0 " + status + b"\r\n" + made)


class Backend:
    """One port, served by threads until close()."""

    def __init__(self, serve):
        self.serve, self.socket = serve, socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection:
            stream = Stream(connection)
            try:
                while self.serve(stream, connection.sendall):
                    pass
            except (EOFError, OSError):
                pass

    def close(self):
        self.socket.close()


class Backends:
    """All of them, by the word that stands for the port in configurations."""

    def __init__(self):
        self.running = {"@FCGI@": Backend(fcgi), "@SCGI@": Backend(scgi), "@UWSGI@": Backend(uwsgi)}

    def expand(self, text):
        for word, backend in self.running.items():
            text = text.replace(word, str(backend.port))
        return text

    def close(self):
        for backend in self.running.values():
            backend.close()
