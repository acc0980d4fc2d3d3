# SPDX-License-Identifier: Apache-2.0
"""A router for tests: speaks as much of BGP-4 as is needed to be wrong in it, and BIRD."""
import os
import shutil
import socket
import struct
import subprocess

from brigade import wait_until
from ports import free_port

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
BIRD = shutil.which("bird") or (os.path.exists("/usr/sbin/bird") and "/usr/sbin/bird")


def message(kind, body=b""):
    return b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body


def opening(asn, router=b"\x0a\x00\x00\x02", hold=90, restart=None):
    able = b"\x01\x04\x00\x01\x00\x01" + b"\x01\x04\x00\x02\x00\x01" + b"\x41\x04" + struct.pack("!I", asn)
    if restart is not None:
        able += b"\x40\x02" + struct.pack("!H", restart)
    options = b"\x02" + bytes([len(able)]) + able
    return message(OPEN, b"\x04" + struct.pack("!HH", min(asn, 23456), hold) + router + bytes([len(options)]) + options)


def prefix(text):
    address, length = text.split("/")
    return bytes([int(length)]) + socket.inet_aton(address)[:(int(length) + 7) // 8]


def update(*prefixes, path=(), gone=(), attributes=None):
    withdrawn = b"".join(map(prefix, gone))
    if attributes is None:
        numbers = b"".join(struct.pack("!I", n) for n in path)
        attributes = b"\x40\x01\x01\x00" + b"\x40\x02" + bytes([2 + len(numbers), 2, len(path)]) + numbers + b"\x40\x03\x04\xc0\x00\x02\x01"
        attributes = attributes if prefixes else b""
    return message(UPDATE, struct.pack("!H", len(withdrawn)) + withdrawn + struct.pack("!H", len(attributes)) + attributes +
                   b"".join(map(prefix, prefixes)))


END_OF_RIB = update() + message(UPDATE, b"\x00\x00\x00\x06\x80\x0f\x03\x00\x02\x01")


class Router:
    """Listens; take() is the next session, up to our KEEPALIVE."""

    def __init__(self, asn):
        self.asn = asn
        self.listener = socket.create_server(("127.0.0.1", free_port()))
        self.listener.settimeout(20)
        self.port = self.listener.getsockname()[1]

    def take(self, first=None, restart=None):
        return Session(self.listener.accept()[0], self.asn if first is None else None, first or opening(self.asn, restart=restart))

    def close(self):
        self.listener.close()


class Session:
    def __init__(self, sock, asn, first):
        self.sock = sock
        sock.settimeout(20)
        sock.sendall(first)
        self.kind, self.body = self.read()
        if asn is not None:
            assert self.read()[0] == KEEPALIVE
            sock.sendall(message(KEEPALIVE))

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def read(self):
        head = self.exactly(19)
        return head[18], self.exactly(struct.unpack("!H", head[16:18])[0] - 19)

    def send(self, *messages):
        self.sock.sendall(b"".join(messages))

    def notification(self):
        """Code and subcode that this session ends with."""
        while True:
            kind, body = self.read()
            if kind == NOTIFICATION:
                return body[0], body[1]

    def close(self):
        self.sock.close()


class Bird:
    """BIRD as a router that has routes; connects to a server that waits, or waits itself."""

    def __init__(self, folder, routes, asn=64512, neighbor=65000, passive=True, neighbor_port=None, more=""):
        self.folder, self.port = str(folder), free_port()
        statics = "\n".join(f"route {r} blackhole;" for r in routes if ":" not in r)
        statics6 = "\n".join(f"route {r} blackhole;" for r in routes if ":" in r)
        port = f" port {neighbor_port}" if neighbor_port else f" port {free_port()}"
        with open(self.path("bird.conf"), "w", encoding="ascii") as f:
            f.write(f"""router id 10.0.0.1;
protocol device {{}}
protocol static s4 {{ ipv4; {statics} }}
protocol static s6 {{ ipv6; {statics6} }}
protocol bgp peer {{
    local 127.0.0.1 port {self.port} as {asn};
    neighbor 127.0.0.1{port} as {neighbor};
    multihop; {'passive on;' if passive else ''} error wait time 1, 2; connect delay time 1; connect retry time 1;
    {more}
    ipv4 {{ import none; next hop address 192.0.2.1;
            export filter {{ bgp_community.add((64512, 77)); bgp_path.prepend(64999); accept; }}; }};
    ipv6 {{ import none; next hop address 2001:db8::1; export all; }};
}}
""")
        self.start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        with open(self.path("bird.log"), "ab") as log:
            self.process = subprocess.Popen([BIRD, "-f", "-c", self.path("bird.conf"), "-s", self.path("bird.ctl"),
                                             "-P", self.path("bird.pid")], stdout=log, stderr=log)
        wait_until(lambda: os.path.exists(self.path("bird.ctl")), "BIRD")

    def tell(self, command):
        return subprocess.run(["birdc" if shutil.which("birdc") else "/usr/sbin/birdc", "-s", self.path("bird.ctl"), command],
                              capture_output=True, text=True, check=True, timeout=20).stdout

    def stop(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.path("bird.ctl")):
            os.unlink(self.path("bird.ctl"))
