# SPDX-License-Identifier: Apache-2.0
"""A server of scripts: FastCGI, SCGI or uwsgi; what it gets is seen, and what it answers is the test's."""
import os
import socket
import struct
import tempfile
import threading

BEGIN, END, PARAMS, STDIN, STDOUT, STDERR = 1, 3, 4, 5, 6, 7


def record(kind, data=b"", padding=0, number=1):
    return struct.pack("!BBHHBx", 1, kind, number, len(data), padding) + data + b"p" * padding


def end():
    return record(END, b"\0" * 8)


class Script:
    """A server of one of the three protocols. script(params, body, send) answers."""

    def __init__(self, protocol, script):
        self.protocol, self.script, self.seen, self.open = protocol, script, [], 0
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.path = f"{self.folder}/s"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        self.open += 1
        try:
            with connection, connection.makefile("rb") as f:
                while True:
                    params, body, keep = getattr(self, "_read_" + self.protocol)(f)
                    self.seen.append((params, body))
                    if self.script(params, body, connection.sendall) is False or not keep:
                        return
        except (OSError, EOFError, struct.error, ValueError):
            pass
        finally:
            self.open -= 1

    @staticmethod
    def _read_fcgi(f):
        params, body, keep = b"", b"", False
        while True:
            head = f.read(8)
            if len(head) < 8:
                raise EOFError
            version, kind, number, n, padding = struct.unpack("!BBHHBx", head)
            assert version == 1 and number == 1
            data = f.read(n)
            f.read(padding)
            if kind == BEGIN:
                keep = bool(data[2] & 1)
            elif kind == PARAMS:
                params += data
            elif kind == STDIN and n:
                body += data
            elif kind == STDIN:
                return Script._pairs(params), body, keep

    @staticmethod
    def _pairs(data):
        found, at = {}, 0

        def length():
            nonlocal at
            n = data[at]
            if n & 0x80:
                n = struct.unpack("!I", data[at:at + 4])[0] & 0x7fffffff
                at += 3
            at += 1
            return n
        while at < len(data):
            name, value = length(), length()
            found[data[at:at + name].decode(errors="surrogateescape")] = data[at + name:at + name + value].decode(errors="surrogateescape")
            at += name + value
        return found

    @staticmethod
    def _read_scgi(f):
        n = b""
        while not n.endswith(b":"):
            c = f.read(1)
            if not c:
                raise EOFError
            n += c
        words = f.read(int(n[:-1])).split(b"\0")[:-1]
        assert f.read(1) == b","
        params = {words[i].decode(): words[i + 1].decode() for i in range(0, len(words), 2)}
        assert words[0] == b"CONTENT_LENGTH" and params["SCGI"] == "1"
        return params, f.read(int(params["CONTENT_LENGTH"])), False

    @staticmethod
    def _read_uwsgi(f):
        head = f.read(4)
        if len(head) < 4:
            raise EOFError
        data, at, params = f.read(struct.unpack("<xHx", head)[0]), 0, {}
        while at < len(data):
            pair = []
            for _ in range(2):
                n = struct.unpack("<H", data[at:at + 2])[0]
                pair.append(data[at + 2:at + 2 + n].decode())
                at += 2 + n
            params[pair[0]] = pair[1]
        return params, f.read(int(params.get("CONTENT_LENGTH") or 0)), False

    def answer(self, send, body, status="200 OK", fields=""):
        if self.protocol == "uwsgi":
            send(f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{fields}\r\n".encode() + body)
            return
        text = f"Status: {status}\r\nContent-Type: text/plain\r\n{fields}\r\n".encode() + body
        if self.protocol == "scgi":
            send(text)
            return
        for at in range(0, len(text), 60000):
            send(record(STDOUT, text[at:at + 60000], padding=at % 7))
        send(record(STDOUT) + end())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
