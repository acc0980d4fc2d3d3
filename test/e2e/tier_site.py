# SPDX-License-Identifier: Apache-2.0
"""What tests of the tier that machines share have in common: memcached and Redis of their own, nodes in front of one backend, and
servers that say nothing, or nonsense."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

import brigade
from cached_site import kind

TIERS = {"memcache": "memcached", "redis": "redis-server"}


class Tier:
    """memcached or redis-server on a port of its own."""

    def __init__(self, name):
        self.name, self.port, self.folder = name, brigade.free_port(), tempfile.mkdtemp(prefix="brigade-tier-")
        self.process = None
        self.start()

    @property
    def place(self):
        return f"{self.name}:127.0.0.1:{self.port}"

    def command(self):
        if self.name == "redis":
            return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder, "--daemonize", "no"]
        return ["memcached", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-t", "1", *(["-u", "nobody"] if os.geteuid() == 0 else [])]

    def start(self):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        brigade.wait_until(self.answers, f"{self.name} answers")

    def answers(self):
        with contextlib.suppress(OSError):
            return bool(self.ask(b"PING" if self.name == "redis" else b"version"))
        return False

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait(20)
            self.process = None

    def ask(self, line):
        """The first piece of the answer to a line, which is a command of either protocol."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            s.sendall(line + b"\r\n")
            return s.recv(65536)

    def objects(self):
        if self.name == "redis":
            return int(self.ask(b"DBSIZE")[1:])
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            s.sendall(b"stats\r\n")
            text = b""
            while not text.endswith(b"END\r\n"):
                text += s.recv(65536)
        return int(text.split(b"STAT curr_items ")[1].split(b"\r\n")[0])

    def keys(self):
        """Of Redis."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            f = s.makefile("rwb")
            f.write(b"KEYS *\r\n")
            f.flush()
            keys = []
            for _ in range(int(f.readline()[1:])):
                n = int(f.readline()[1:])
                keys.append(f.read(n + 2)[:n])
            return keys

    def each(self, change):
        """Of Redis: change(value) in place of each stored answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            f = s.makefile("rwb")
            for key in self.keys():
                if not key.startswith(b"cache-socache:73"):  # "s", in hexadecimal digits
                    continue
                f.write(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key))
                f.flush()
                n = int(f.readline()[1:])
                value = change(f.read(n + 2)[:n])
                f.write(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value))
                f.flush()
                assert f.readline() == b"+OK\r\n"

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def tier(name):
    if not shutil.which(TIERS[name]):
        pytest.skip(f"{TIERS[name]} is not installed")
    return contextlib.closing(Tier(name))


class Listener:
    """A port of its own, whose connections a thread each serves: _serve(socket)."""

    def __init__(self):
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                s, _ = self.listener.accept()
                self.open.append(s)
                threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def close(self):
        self.listener.close()
        for s in self.open:
            s.close()


class Mute(Listener):
    """A server that accepts, and then does what `answer` says of the bytes that came; None: nothing at all."""

    def __init__(self, answer=None):
        self.answer, self.asked = answer, 0
        super().__init__()

    def _serve(self, s):
        with contextlib.suppress(OSError):
            while s.recv(65536):
                self.asked += 1
                if self.answer is not None:
                    s.sendall(self.answer)


def config(backend, place, more="", loops=2):
    return f"""
EventLoops {loops}
ProxyPass /p/ http://127.0.0.1:{backend.port}/
CacheSocache {place}
CacheEnable socache /p/
CacheHeader On
CachePurge 127.0.0.1
{more}
"""


def has_hit(server, path, headers=(), body=None):
    """It is answered from the store, and so."""
    got = server.get(path, headers=headers)
    return kind(got) == "HIT" and (body is None or got.body == body)
