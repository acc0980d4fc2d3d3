#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What requests cost that wait on their event loop (brigade/wait.h): 10,000 requests to mod_sample_wait, each of 100 ms, on one loop.

    BRIGADE=out/release/brigade test/bench/waiting.py [--connections 1000] [--requests 10000]

Prints memory beyond that of an idle server, threads beyond those at the start, processor time of a request and how long all took.
Fails if a worker ran a request. Needs wrk.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "test/e2e"))
import brigade  # noqa: E402
from module_source import compile_file  # noqa: E402

SCRIPT = "request = function() return wrk.format('GET', '/later?100') end\n"


def process(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(rf"^{field}:\s+(\d+)", f.read(), re.M)[1])


def cpu(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=10000)
    args = parser.parse_args()
    seconds = max(2, round(args.requests * 0.2 / args.connections))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        so = compile_file(f"{TOP}/test/samples/mod_sample_wait.c", f"{folder}/wait.so")
        script = os.path.join(folder, "wait.lua")
        with open(script, "w") as f:
            f.write(SCRIPT)
        with brigade.Server(f'LoadModule sample_wait_module "{so}"\nEventLoops 1\nMaxRequestWorkers 20000\nServerLimit 20000\nThreadLimit 64\n'
                            '<Location "/later">\nSetHandler sample-wait\n</Location>\n', {"a.txt": "a"}) as server:
            server.get("/later?1")
            pid = server.children()[0]
            memory, threads, before = process(pid, "VmRSS"), process(pid, "Threads"), cpu(pid)
            done = subprocess.run(["wrk", "-t1", f"-c{args.connections}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{server.port}/later"],
                                  capture_output=True, text=True, check=True).stdout
            n = int(re.search(r"(\d+) requests in", done)[1])
            print(f"{args.connections} connections: {n} requests in {seconds} s; {(process(pid, 'VmHWM') - memory) / 1024:.1f} MiB more at most, "
                  f"{process(pid, 'Threads') - threads} threads more, {1e6 * (cpu(pid) - before) / n:.0f} us of processor time a request")
            assert "Non-2xx" not in done and process(pid, "Threads") <= threads, done


if __name__ == "__main__":
    main()
