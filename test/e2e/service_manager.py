# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the service manager: what it hears, and how it starts a server with sockets."""
import os
import socket
import subprocess
import sys

import brigade

# What the manager does between fork and exec: descriptors from 3 on, and the process' own number.
HAND_OVER = """import os, sys
fds, names, command = [int(n) for n in sys.argv[1].split()], sys.argv[2], sys.argv[3:]
for i, fd in enumerate(fds):
    os.dup2(fd, 100 + i)
for i in range(len(fds)):
    os.dup2(100 + i, 3 + i)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES=names)
os.closerange(3 + len(fds), 200)
os.execv(command[0], command)
"""



class Manager:
    """The manager's end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path[1:] if path[0] == "@" else path)
        self.socket.settimeout(brigade.PATIENCE)

    def next(self, *names):
        """The next message that has one of these variables, as a dict."""
        while True:
            said = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())
            if any(name in said for name in names):
                return said

    def close(self):
        self.socket.close()


def with_sockets(server, sockets, names=""):
    """Let the server be started as the manager does."""
    def spawn():
        with open(server.path("logs/stderr"), "ab") as out:
            fds = [s.fileno() for s in sockets]
            server.process = subprocess.Popen([sys.executable, "-c", HAND_OVER, " ".join(map(str, fds)), names, *server.command(*server.args, "-DFOREGROUND")], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=server.env,
                                              start_new_session=True, pass_fds=fds)
    server._spawn = spawn
    return server


def listening(address="127.0.0.1", port=0, family=socket.AF_INET):
    s = socket.socket(family)
    s.bind((address, port))
    s.listen(100)
    return s
