# SPDX-License-Identifier: Apache-2.0
"""Bytes that a request moves through memory from end to end, and at which rate: what the program moves, by callgrind's simulation of caches; what
the kernel copies for it, by the results of its system calls; and requests a second. Fewer copies in the program are no gain where the kernel
copies instead, or where the next reader waits for what a copy would have brought near."""
import re
import subprocess
import time

import profile_caches as caches
from profile_site import SHAPES, Client, Server, Site

COPY = ("read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg", "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg")
PASS = ("sendfile", "splice", "tee", "vmsplice", "copy_file_range")  # pages change hands
WARM, ASKED, SECONDS = 40, 100, 1.0
# Bytes of a request that a change may not exceed: copied by the kernel, and between the last cache and memory. Of 10 KB the body is copied once, into
# the socket; on the full way once more, out of the file; of 64 KB and 100 KB of files nothing is.
BUDGETS = {"stored": (11_200, 2_000), "full": (21_600, 6_000), "large": (1_200, 2_000), "hit": (11_200, 2_000)}


def read_calls(text):
    """{call: bytes} of what strace wrote"""
    moved = {}
    for name, n in re.findall(r"(?:^|\s)(\w+)\(.*\) += (\d+)$", text, re.M):
        moved[name] = moved.get(name, 0) + int(n)
    return moved


def copied_by_kernel(program, shape):
    """(bytes copied, bytes passed on without a copy, requests a second) of a request"""
    with Site() as site, Server(site, program, SHAPES[shape][0]) as server:
        client = Client(server, shape)
        client.run(WARM)
        began, n = time.monotonic(), 0
        while time.monotonic() - began < SECONDS:
            client.run(ASKED)
            n += ASKED
        rate = n / (time.monotonic() - began)
        path = f"{server.root}/calls"
        tracer = subprocess.Popen(["strace", "-f", "-s", "0", "-o", path, "-e", "trace=" + ",".join(COPY + PASS), "-p", str(server.process.pid)], stderr=subprocess.PIPE)
        tracer.stderr.readline()  # "Process ... attached"
        client.run(ASKED)
        tracer.terminate()
        tracer.communicate()
        client.close()
        with open(path, encoding="utf-8") as f:
            moved = read_calls(f.read())
    return sum(moved.get(call, 0) for call in COPY) / ASKED, sum(moved.get(call, 0) for call in PASS) / ASKED, rate


def measure(program, shapes):
    """{shape: (copied by the kernel, passed on, between the last cache and memory, requests a second)}"""
    simulated, found = caches.measure(program, shapes), {}
    for shape in shapes:
        copied, passed, rate = copied_by_kernel(program, shape)
        found[shape] = copied, passed, caches.traffic(simulated[shape]), rate
    return found


def more(found):
    """What exceeds its budget."""
    return [f"{shape}: {copied:.0f} bytes copied by the kernel and {lines:.0f} between cache and memory for a request, at most {BUDGETS[shape][0]} and {BUDGETS[shape][1]}"
            for shape, (copied, _, lines, _) in found.items() if shape in BUDGETS and (copied > BUDGETS[shape][0] or lines > BUDGETS[shape][1])]


def table(found):
    """As docs/benchmarks.md has it. A copy reads its bytes and writes them."""
    lines = ["| shape | copied by the kernel | passed on | cache to memory | requests/s | MB/s |", "|---|---|---|---|---|---|"]
    for shape, (copied, passed, lines_of, rate) in found.items():
        lines.append(f"| {shape} | {copied:.0f} | {passed:.0f} | {lines_of:.0f} | {rate:.0f} | {(2 * copied + lines_of) * rate / 1e6:.0f} |")
    return "\n".join(lines)
