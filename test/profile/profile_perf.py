# SPDX-License-Identifier: Apache-2.0
"""What the processor itself counted while a shape was asked for: stalls of the front end, misses of its caches, memory traffic, by perf stat.
Virtual machines mostly have no counters: then the simulation (profile_caches.py) has to do."""
import re
import shutil
import signal
import subprocess

from profile_site import SHAPES, Client, Server, Site

EVENTS = ("instructions:u", "cycles:u", "stalled-cycles-frontend:u", "L1-icache-load-misses:u", "L1-dcache-load-misses:u", "iTLB-load-misses:u", "LLC-loads:u", "LLC-load-misses:u",
          "LLC-stores:u", "cache-misses:u")
REQUESTS = 5000
LINE = 64  # bytes of a line of a cache


def supported():
    """'' or why there are no counters."""
    if not shutil.which("perf"):
        return "perf is not installed"
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True, check=False)
    if done.returncode or "not supported" in done.stderr or "not counted" in done.stderr:
        return "the processor's counters cannot be read here: " + (re.sub(r"\s+", " ", done.stderr.strip())[:120] or "no reason given")
    return ""


def read_counts(text):
    """{event: count}, of what could be counted, from perf stat -x,"""
    counts = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[0].isdigit():
            counts[fields[2].partition(":")[0]] = int(fields[0])
    return counts


def measure(program, shape):
    """{event: count for a request}"""
    with Site() as site, Server(site, program, SHAPES[shape][0]) as server:
        client = Client(server, shape)
        client.run(REQUESTS // 10)
        counter = subprocess.Popen(["perf", "stat", "-x,", "-e", ",".join(EVENTS), "-p", str(server.process.pid)], stderr=subprocess.PIPE, text=True)
        client.run(REQUESTS)
        counter.send_signal(signal.SIGINT)
        counts = read_counts(counter.communicate()[1])
        client.close()
    return {event: n / REQUESTS for event, n in counts.items()}


def text_of(shape, counts):
    lines = [f"{shape}: {SHAPES[shape][4]}", ""] + [f"  {event:28} {n:12.1f}" for event, n in counts.items()]
    if counts.get("cycles") and "stalled-cycles-frontend" in counts:
        lines.append(f"  {'front end stalled':28} {100 * counts['stalled-cycles-frontend'] / counts['cycles']:12.1f} % of the cycles")
    if "cache-misses" in counts:
        lines.append(f"  {'memory traffic':28} {counts['cache-misses'] * LINE:12.0f} bytes")
    return "\n".join(lines) + "\n"
