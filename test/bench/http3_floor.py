#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernel alone takes for a KB that leaves by UDP or TCP, without a server: the floor under test/bench/http3.py, over the same pair of
veth devices.

    test/bench/http3_floor.py [--megabytes 200] [--rounds 3]

A program sends zeros from its memory, and one at the other end reads them. 'udp N': N datagrams of 1,452 bytes in one call (UDP_SEGMENT); 'udp
44, GRO': the reader takes them together, too; 'tcp': 16 KB in a call. Shown is the sender's processor time in microseconds by KB, the least of
the rounds, and beside it what OpenSSL's AES-128-GCM takes for a KB in pieces of 1,400 bytes and of 16 KB, the records of TLS. Needs root.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]
from link import CLIENT, Cable, why_not  # noqa: E402

SENDER = """import resource, socket, sys
kind, host, total, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
piece = bytes(1452 * n if kind == "udp" else 16384)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
s.connect((host, 9999))
if kind == "udp":
    s.setsockopt(socket.IPPROTO_UDP, 103, 1452)
def spent():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime
before, sent = spent(), 0
while sent < total:
    s.sendall(piece) if kind == "tcp" else s.send(piece)
    sent += len(piece)
print((spent() - before) * 1e6 * 1024 / sent)
"""
READER = """import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if sys.argv[1] == "udp" else socket.SOCK_STREAM)
s.bind((sys.argv[2], 9999))
if sys.argv[1] == "tcp":
    s.listen()
elif sys.argv[3] == "1":
    s.setsockopt(socket.IPPROTO_UDP, 104, 1)
print(flush=True)
s = s.accept()[0] if sys.argv[1] == "tcp" else s
while s.recv(65536):
    pass
"""
ROWS = [("udp 1", "udp", 1, 0), ("udp 6", "udp", 6, 0), ("udp 12", "udp", 12, 0), ("udp 24", "udp", 24, 0), ("udp 44", "udp", 44, 0), ("udp 44, GRO", "udp", 44, 1), ("tcp", "tcp", 1, 0)]


def measured(link, kind, n, gro, total):
    reader = subprocess.Popen(link.command(1, [sys.executable, "-c", READER, kind, CLIENT, str(gro)]), stdout=subprocess.PIPE)
    try:
        reader.stdout.readline()
        return float(subprocess.run(link.command(0, [sys.executable, "-c", SENDER, kind, CLIENT, str(total), str(n)]), capture_output=True, text=True, check=True).stdout)
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close()


def cipher(size):
    """Microseconds by KB."""
    told = subprocess.run(["openssl", "speed", "-seconds", "1", "-evp", "aes-128-gcm", "-bytes", str(size)], capture_output=True, text=True, check=True).stdout
    return 1024 / (float(re.search(r"([\d.]+)k\s*$", told)[1]) * 1000) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if why_not():
        sys.exit(why_not())
    with tempfile.TemporaryDirectory(prefix="brigade-floor-") as root, Cable(root) as link:
        for name, kind, n, gro in ROWS:
            total = (arguments.megabytes << 20) // (10 if n == 1 and kind == "udp" else 1)
            print(f"{name:14}{min(measured(link, kind, n, gro, total) for _ in range(arguments.rounds)):8.2f}", flush=True)
    for size in (1400, 16384):
        print(f"aes {size:<10}{min(cipher(size) for _ in range(arguments.rounds)):8.2f}", flush=True)


if __name__ == "__main__":
    main()
