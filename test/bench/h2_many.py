#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many streams, and many connections, of HTTP/2 in the clear: what they leave in memory.

    BRIGADE=out/release/brigade test/bench/h2_many.py [--streams 100000] [--connections 10000]

First that many streams over one connection, from memory and by workers (POST); then that many connections that have had an answer each
and stay, while eight others ask for files. Memory is the private memory of all processes of the server.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), HERE]

import brigade  # noqa: E402
from h2_client import Client  # noqa: E402
from idle_tls import private_bytes  # noqa: E402

CONFIG = """
Protocols h2c http/1.1
LoadModule reflector_module @MODULES@/mod_reflector.so
EventLoops 1
ServerProcesses 1
MaxRequestWorkers 20000
KeepAliveTimeout 600
MaxKeepAliveRequests 0
<Location /echo>
SetHandler reflector
</Location>
"""
FILES = {"a.txt": "x" * 100, "b.txt": "b" * 10240, "echo": "", "body": "y" * 1000}


def h2load(server, path, *args):
    out = subprocess.run(["h2load", *map(str, args), f"http://127.0.0.1:{server.port}{path}"], capture_output=True, text=True, timeout=580).stdout
    done = re.search(r"finished in ([\d.]+m?s), (\S+) req/s", out)
    good = re.search(r"status codes: (\d+) 2xx, 0 3xx, 0 4xx, 0 5xx", out)
    if not done or not good:
        raise SystemExit(f"h2load:\n{out}")
    return good[1], done[2]


def settled(server):
    """Private memory in KiB, after a moment in which idle memory is given back."""
    time.sleep(3)
    return private_bytes(server.process.pid) // 1024


def streams(server, count):
    for what, path, more in (("from memory", "/b.txt", []), ("by workers", "/echo", ["-d", server.path("htdocs/body")])):
        h2load(server, path, "-n", 1000, "-c", 1, "-m", 100, *more)
        before = settled(server)
        n, rate = h2load(server, path, "-n", count, "-c", 1, "-m", 100, *more)
        print(f"{n} streams over one connection, {what}: {rate} a second, memory {before} -> {settled(server)} KiB", flush=True)


def connections(server, count):
    before = settled(server)
    held = []
    for _ in range(count):
        c = Client("127.0.0.1", server.port, 20)
        assert c.get("/a.txt").status == 200
        held.append(c)
    idle = settled(server)
    print(f"{count} idle connections: {before} -> {idle} KiB, {(idle - before) / count:.2f} KiB for each", flush=True)
    n, rate = h2load(server, "/b.txt", "-n", 100000, "-c", 8, "-m", 32)
    print(f"{n} streams of 8 others meanwhile: {rate} a second, memory {settled(server)} KiB", flush=True)
    again = sum(c.get("/a.txt").status == 200 for c in held)
    print(f"{again} of them were answered again", flush=True)
    for c in held:
        c.socket.close()
    print(f"all closed: {settled(server)} KiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=100000)
    parser.add_argument("--connections", type=int, default=10000)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(40000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    with brigade.Server(CONFIG, FILES) as server:
        streams(server, options.streams)
        connections(server, options.connections)


if __name__ == "__main__":
    main()
