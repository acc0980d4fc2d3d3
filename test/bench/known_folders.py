#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of what a loop knows of folders: many folders, each asked for a name in it that is not there, three times with other names.

    BRIGADE=out/release/brigade python3 test/bench/known_folders.py [--folders 100000] [--names 1000000]

Prints the resident memory of the server processes before, behind the folders and behind the names, and answers a second. docs/limits.md has the
bound: 8,192 folders of a process; names that are missing take nothing.
"""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from brigade import Server

BATCH = 200


def resident(server):
    """KiB of all server processes."""
    total = 0
    for pid in server.children():
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            total += next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    return total


def ask(c, targets):
    """Pipelined; every one of them is missing."""
    began = time.monotonic()
    for at in range(0, len(targets), BATCH):
        part = targets[at:at + BATCH]
        c.send(b"".join(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % t for t in part))
        for _ in part:
            assert c.read_response("GET").status == 404
    return len(targets) / (time.monotonic() - began)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--folders", type=int, default=100_000)
    ap.add_argument("--names", type=int, default=1_000_000)
    a = ap.parse_args()
    server = Server("EventLoops 1\nMaxKeepAliveRequests 0\nErrorDocument 404 no\nLogLevel crit\n", {"names/one": "1\n"})
    for n in range(a.folders):
        os.makedirs(server.path("htdocs", str(n // 1000), str(n % 1000)))
    try:
        server.start()
        with server.connect() as c:
            ask(c, [b"/names/none%d" % n for n in range(50)])
            print(f"before                  {resident(server):8d} KiB")
            for turn in range(3):
                rate = ask(c, [b"/%d/%d/none%d" % (n // 1000, n % 1000, turn) for n in range(a.folders)])
                print(f"{a.folders} folders, turn {turn}   {resident(server):8d} KiB   {rate:8.0f} answers a second", flush=True)
            rate = ask(c, [b"/names/missing%d" % n for n in range(a.names)])
            print(f"{a.names} missing names   {resident(server):8d} KiB   {rate:8.0f} answers a second")
    finally:
        server.close()


if __name__ == "__main__":
    main()
