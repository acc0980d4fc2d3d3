#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a request that memory does not answer: all phases, filters and the file (FileCacheEntries 0).

    BRIGADE=out/release/brigade test/bench/full_way.py [--other OTHER/brigade] [--connections 4,32,64] [--rounds 5]

A file of 10 KiB over connections that are kept alive, the server on one processor, wrk on another. Beside it the floor: a
program that makes the same system calls and nothing else (full_way_floor.c). All are measured in turn, in several rounds, so
that what disturbs the machine hits all alike; microseconds of the server's threads for each request, median and least.
Needs wrk, a C compiler and two processors.
"""
import argparse
import glob
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import cores

NOT_STORED = "FileCacheEntries 0\n"


def nanoseconds(pids):
    return sum(int(cores.read(path).split()[0] or 0) for pid in pids for path in glob.glob(f"/proc/{pid}/task/*/schedstat"))


def floor_started(root, port):
    server = subprocess.Popen([f"{root}/floor", str(port), f"{root}/htdocs/10k.bin"])
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return server
        except OSError:
            time.sleep(0.05)
    sys.exit("the floor does not listen")


def measured(program, root, connections, seconds):
    port = cores.free_port()
    server = floor_started(root, port) if program == "floor" else cores.started(program, root, port, 1, 1, NOT_STORED)
    try:
        pids = cores.processes_of(server.pid)
        for pid in pids:
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})
        wrk = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
        cores.load(port, connections, 1, wrk).communicate(timeout=60)
        before = nanoseconds(pids)
        text = cores.load(port, connections, seconds, wrk).communicate(timeout=seconds + 60)[0]
        return (nanoseconds(pids) - before) / 1000 / cores.requests_in(text)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other")
    parser.add_argument("--connections", default="4,32,64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    arguments = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is needed (Debian: wrk)")
    programs = ["floor", os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))]
    programs += [os.path.abspath(arguments.other)] if arguments.other else []
    with tempfile.TemporaryDirectory(prefix="brigade-full-way-") as root:
        cores.site(root)
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", f"{root}/floor", os.path.join(os.path.dirname(os.path.abspath(__file__)), "full_way_floor.c")],
                       check=True)
        for connections in map(int, arguments.connections.split(",")):
            found = {program: [] for program in programs}
            for _ in range(arguments.rounds):
                for program in programs:
                    found[program].append(measured(program, root, connections, arguments.seconds))
            print(f"{connections} connections")
            for program, costs in found.items():
                print(f"  {statistics.median(costs):7.2f} us, least {min(costs):7.2f}  {program}", flush=True)


if __name__ == "__main__":
    main()
