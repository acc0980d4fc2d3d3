#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients ask for one answer that nobody has yet: how long after the backend's first byte do they have theirs?

    BRIGADE=out/release/brigade test/bench/first_byte.py [--clients 1000] [--bytes 10485760] [--rounds 5] [--first] [--loops 1,2] [--other nginx --other varnish]

The clients and the backend are one program (first_byte_load.c), so one clock measures both. For each server: requests to the backend,
clients that got all, and milliseconds from the backend's first byte to that of the first client, the median, the 99th of a hundred and
the last one, and to the last byte of all; the median of the rounds, and the best in brackets. The client reads on the same machine: with
fewer processors than loops, and one for itself, its own time is in the figures. The load of the machine stands beside them.
Needs a C compiler; nginx and varnishd where they are named (a path, or found in PATH).
"""
import argparse
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

CACHED = """
MaxRequestWorkers 2048
CacheEnable memory /
CacheMaxFileSize 64000000
CacheMemory 512M
ProxyPass / http://127.0.0.1:{backend}/
"""
NGINX = """daemon off; worker_processes {loops}; pid {root}/nginx.pid; error_log {root}/nginx.err;
events {{ worker_connections 4096; }}
http {{
access_log off;
client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
proxy_cache_path {root}/cache keys_zone=c:10m;
server {{ listen 127.0.0.1:{port};
location / {{ proxy_pass http://127.0.0.1:{backend}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_cache c; proxy_cache_lock on;
proxy_cache_lock_timeout 60s; proxy_cache_lock_age 60s; }} }} }}
"""
VCL = """vcl 4.1;
backend default {{ .host = "127.0.0.1"; .port = "{backend}"; }}
"""


def started(name, root, port, backend, loops):
    if os.path.basename(name) == "nginx":
        with open(f"{root}/nginx.conf", "w", encoding="utf-8") as f:
            f.write(NGINX.format(**locals()))
        command = [name, "-c", f"{root}/nginx.conf", "-e", f"{root}/nginx.err"]
    elif os.path.basename(name).startswith("varnish"):
        with open(f"{root}/vcl", "w", encoding="utf-8") as f:
            f.write(VCL.format(**locals()))
        os.makedirs(f"{root}/varnish", exist_ok=True)
        command = [name, "-F", "-a", f"127.0.0.1:{port}", "-f", f"{root}/vcl", "-n", f"{root}/varnish", "-s", "default,512m", "-j", "none",
                   "-p", "thread_pool_min=1000", "-p", "thread_pool_max=2000"]
    else:
        return cores.started(name, root, port, loops, 1, CACHED.format(**locals()))
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return server
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{name} does not listen")


def measured(name, root, arguments, loops):
    rows = []
    for _ in range(arguments.rounds):
        port, backend = cores.free_port(), cores.free_port()
        server = started(name, root, port, backend, loops)
        try:
            out = subprocess.run([f"{root}/load", str(port), str(backend), str(arguments.clients), str(arguments.bytes), "/long", *(["first"] if arguments.first else [])],
                                 capture_output=True, text=True, timeout=300, check=True).stdout
            rows.append([int(n) for n in out.split()])
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=10 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first", action="store_true", help="clients leave when all have their first byte")
    parser.add_argument("--loops", default="1,2")
    parser.add_argument("--other", action="append", default=[])
    arguments = parser.parse_args()
    programs = [os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))]
    for other in arguments.other:
        programs.append(shutil.which(other) or sys.exit(f"{other} is not installed"))
    print(f"{arguments.clients} clients, {arguments.bytes} bytes, {os.cpu_count()} processors; milliseconds, median of {arguments.rounds} rounds (best)")
    print(f"{'server':18} {'loops':>5} {'fetches':>7} {'whole':>6} {'first':>14} {'median':>14} {'99 %':>14} {'worst':>14} {'all of it':>16} {'load':>5}")
    with tempfile.TemporaryDirectory(prefix="brigade-first-byte-") as root:
        cores.site(root)
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", f"{root}/load",
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "first_byte_load.c")], check=True)
        for program in programs:
            for loops in map(int, arguments.loops.split(",")):
                rows = measured(program, root, arguments, loops)
                cells = [f"{statistics.median(column) / 1000:7.1f} ({min(column) / 1000:.1f})" for column in list(zip(*rows))[2:]]
                print(f"{os.path.basename(program):18} {loops:5} {max(r[0] for r in rows):7} {min(r[1] for r in rows):6} "
                      f"{cells[0]:>14} {cells[1]:>14} {cells[2]:>14} {cells[3]:>14} {cells[4]:>16} {os.getloadavg()[0]:5.1f}", flush=True)


if __name__ == "__main__":
    main()
