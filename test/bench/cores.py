#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests per second, processor time per request and balance of connections with one and two event loops and processes, or
from one loop to as many as there are processors.

    BRIGADE=out/release/brigade test/bench/cores.py [--seconds 5] [--connections 64]
    BRIGADE=out/release/brigade test/bench/cores.py --loops [N] [--pin] [--system arena --system system] [--stock out/stock/brigade]

--loops: one process with 1 to N event loops (the processors of the machine). --pin: each loop keeps to a processor of its own, and
the client to those that are left, or to all where none is; more loops than processors are refused. --system: the same with each of
these memory systems ("all": with each kind that there is) for requests, connections and buckets; requests then take the full way. --stock: so with a
program that was built with BRIGADE_MEMORY=OFF, in rows of their own. 'rate' is how much of the rate of so many single loops is
reached, 'time' the processor time of a request with one loop as a part of that with so many: where loops hinder each other, both fall; where
the client has no processor of its own, which is said below the table, the rate falls alone.

Needs wrk. A stored file of 10 KiB is asked for over connections that are kept alive. What is shown for each setting:
requests per second, processor time of the server per request (user and system, microseconds), and how the connections of
the client lie on the event loops: most and fewest on one loop, as the kernel tells them of each epoll set. On a machine
with two processors the client and the server share them: the rate tells little there, time per request what it is about.
"""
import argparse
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# (EventLoops of each process, ServerProcesses)
SETTINGS = [(1, 1), (2, 1), (1, 2), (2, 2)]
CONFIG = """ServerName localhost
ServerRoot {root}
Listen 127.0.0.1:{port}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig {root}/mime.types
EventLoops {loops}
ServerProcesses {processes}
MaxKeepAliveRequests 0
KeepAliveTimeout 60
DocumentRoot {root}/htdocs
<Directory {root}/htdocs>
Require all granted
</Directory>
"""
TICKS = os.sysconf("SC_CLK_TCK")
SYSTEMS = ("arena", "trivial", "blocks arena", "system", "limit(16M) arena", "tracking(quiet) arena", "guard", "os", "jemalloc", "mimalloc")
FULL_WAY = "FileCacheEntries 0\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


def processes_of(parent):
    """The process and all that come of it."""
    found = [parent]
    for pid in found:
        for children in glob.glob(f"/proc/{pid}/task/*/children"):
            found += [int(child) for child in read(children).split()]
    return found


def processor_seconds(pids):
    ticks = 0
    for pid in pids:
        fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12]) if fields else 0
    return ticks / TICKS


def established(port):
    """Inodes of the server's ends of connections to the port."""
    rows = [row.split() for row in read("/proc/net/tcp").splitlines()[1:]]
    return {row[9] for row in rows if row[3] == "01" and int(row[1].split(":")[1], 16) == port}


def connections_by_loop(pids, port):
    """How many connections each epoll set holds; sets that hold no listening socket and no connection are none of a loop."""
    inodes, counts = established(port), []
    for pid in pids:
        sockets = {}
        for fd in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                sockets[os.path.basename(fd)] = os.readlink(fd)
            except OSError:
                continue
        ours = {fd for fd, to in sockets.items() if to[8:-1] in inodes and to.startswith("socket:")}
        for fd in (fd for fd, to in sockets.items() if to == "anon_inode:[eventpoll]"):
            held = set(re.findall(r"^tfd:\s*(\d+)", read(f"/proc/{pid}/fdinfo/{fd}"), re.M))
            counts.append(len(held & ours))
    return counts


def balance(counts, loops):
    """The sets with most connections are the loops'; a loop without any counts as none."""
    counts = sorted(counts, reverse=True)[:loops]
    counts += [0] * (loops - len(counts))
    return counts[0], counts[-1]


def site(root):
    os.chmod(root, 0o755)
    os.mkdir(f"{root}/htdocs")
    with open(f"{root}/htdocs/10k.bin", "wb") as f:
        f.write(b"x" * 10240)
    open(f"{root}/mime.types", "w", encoding="utf-8").close()


def started(program, root, port, loops, processes, more=""):
    with open(f"{root}/httpd.conf", "w", encoding="utf-8") as f:
        f.write(CONFIG.format(root=root, port=port, loops=loops, processes=processes) + more)
    server = subprocess.Popen([program, "-D", "FOREGROUND", "-f", f"{root}/httpd.conf"], stderr=subprocess.PIPE)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return server
        except OSError:
            if server.poll() is not None:
                sys.exit(server.stderr.read().decode())
            time.sleep(0.05)
    server.kill()
    sys.exit("the server does not listen")


def load(port, connections, seconds, before=()):
    """@param before  of the command"""
    return subprocess.Popen([*before, "wrk", "-t1", f"-c{connections}", f"-d{seconds}", f"http://127.0.0.1:{port}/10k.bin"],
                            stdout=subprocess.PIPE, text=True)


def requests_in(text):
    return int(re.search(r"(\d+) requests in", text).group(1))


EPOLL_CALLS = {"x86_64": {232, 281, 441}, "aarch64": {22, 441}}  # epoll_wait, epoll_pwait, epoll_pwait2


def waits_for_events(pid, thread):
    call = read(f"/proc/{pid}/task/{thread}/syscall").split()
    return bool(call) and call[0].isdigit() and int(call[0]) in EPOLL_CALLS.get(os.uname().machine, ())


def threads_of_loops(pids, loops, seconds=5):
    """Those that wait for events while nobody asks for anything; where that cannot be seen, those that used most processor time."""
    until = time.monotonic() + seconds
    times = []
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            fields = read(path).rpartition(")")[2].split()
            if fields:
                times.append((int(fields[11]) + int(fields[12]), pid, int(path.split("/")[4])))
    while time.monotonic() < until:
        found = [thread for _, pid, thread in times if waits_for_events(pid, thread)]
        if len(found) == loops:
            return found
        time.sleep(0.05)
    return [thread for _, _, thread in sorted(times, reverse=True)[:loops]]


def pin(pids, loops):
    """@return what stands before the client's command"""
    cpus = sorted(os.sched_getaffinity(0))
    for n, thread in enumerate(threads_of_loops(pids, loops)):
        os.sched_setaffinity(thread, {cpus[n % len(cpus)]})
    left = cpus[loops:] or cpus
    return ["taskset", "-c", ",".join(map(str, left))]


def measured(program, loops, processes, arguments, more=""):
    with tempfile.TemporaryDirectory(prefix="brigade-cores-") as root:
        site(root)
        port = free_port()
        server = started(program, root, port, loops, processes, more)
        try:
            load(port, arguments.connections, 1).communicate(timeout=60)
            pids = processes_of(server.pid)
            where = pin(pids, loops * processes) if arguments.pin else []
            before = processor_seconds(pids)
            client = load(port, arguments.connections, arguments.seconds, where)
            time.sleep(arguments.seconds / 2)
            counts = connections_by_loop(pids, port)
            text = client.communicate(timeout=arguments.seconds + 60)[0]
            spent = processor_seconds(pids) - before
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()
    rate = float(re.search(r"Requests/sec:\s*([\d.]+)", text).group(1))
    return rate, spent * 1e6 / requests_in(text), balance(counts, loops * processes)


def why_not(loops, processors, pinned):
    """'' or why so many loops cannot be measured."""
    if loops < 1:
        return "a process has one event loop or more"
    if pinned and loops > processors:
        return f"{loops} loops cannot have a processor each: there are {processors}, so that N of --loops N is at most {processors}"
    return ""


def caveats(most, processors):
    """What the figures of up to so many loops do not tell on this machine."""
    shared = [n for n in range(1, most + 1) if n >= processors]
    lines = []
    if shared:
        lines.append(f"{processors} processors: from {shared[0]} loops on the client shares them with the server, and the rate is no measure of the server.")
    if most > processors:
        lines.append(f"From {processors + 1} loops on they take turns on the processors: nothing can be faster.")
    return lines


def against_one(rows):
    """@param rows  [(loops, requests/s, microseconds of processor time)], the first of one loop
    @return for each what is reached of the rate of so many single loops, and of the processor time of one, as parts of 1"""
    loops, one, cheap = rows[0]
    assert loops == 1
    return [(rate / one / n, cheap / cost if cost else 1.0) for n, rate, cost in rows]


def systems_of(names):
    """Memory systems to measure; None: what the configuration has without a line."""
    return list(SYSTEMS) if names == ["all"] else names or [None]


def lines_of(program, system):
    """Of the configuration. A system that is a module is loaded from where the program was built."""
    if not system:
        return ""
    kind = system.split()[-1].split("(")[0]
    module = os.path.join(os.path.dirname(program), "modules", f"sms_{kind}.so")
    load = f"LoadModule sms_{kind}_module {module}\n" if os.path.exists(module) else ""
    return load + FULL_WAY + "".join(f"MemorySystem {scope} {system}\n" for scope in ("request", "connection", "bucket"))


def by_loops(program, arguments):
    """A table of 1 to N loops, for each memory system."""
    processors = len(os.sched_getaffinity(0))
    most = processors if arguments.loops == 0 else arguments.loops
    refused = why_not(most, processors, arguments.pin)
    if refused:
        sys.exit(refused)
    form, heads = "{:>24} {:>5} {:>11} {:>11} {:>7} {:>7} {:>6} {:>6}", ("memory system", "loops", "requests/s", "us/request", "rate", "time", "most", "fewest")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads) if arguments.markdown else form.format(*heads) + f"   load {os.getloadavg()[0]:.1f}")
    measures = [(system or "default", program, lines_of(program, system)) for system in systems_of(arguments.system)]
    if arguments.stock:
        measures.append(("stock APR pools", os.path.abspath(arguments.stock), FULL_WAY))
    for name, binary, lines in measures:
        rows = []
        for loops in range(1, most + 1):
            rate, cost, (largest, fewest) = measured(binary, loops, 1, arguments, lines)
            rows.append((loops, rate, cost))
            of_rate, of_time = against_one(rows)[-1]
            row = (name, loops, f"{rate:.0f}", f"{cost:.2f}", f"{100 * of_rate:.0f} %", f"{100 * of_time:.0f} %", largest, fewest)
            print("| " + " | ".join(map(str, row)) + " |" if arguments.markdown else form.format(*row), flush=True)
    print("\n".join(caveats(most, processors)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--loops", type=int, nargs="?", const=0, default=None)
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--system", action="append")
    parser.add_argument("--stock", metavar="PROGRAM")
    parser.add_argument("--markdown", action="store_true", help="the table as docs/benchmarks.md has it")
    arguments = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is needed (Debian: wrk)")
    program = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))
    if arguments.loops is not None:
        by_loops(program, arguments)
        return
    print(f"{'loops':>5} {'processes':>9} {'requests/s':>11} {'us/request':>11} {'most':>6} {'fewest':>6}   load {os.getloadavg()[0]:.1f}")
    for loops, processes in SETTINGS:
        rate, cost, (most, fewest) = measured(program, loops, processes, arguments)
        print(f"{loops:5} {processes:9} {rate:11.0f} {cost:11.2f} {most:6} {fewest:6}", flush=True)


if __name__ == "__main__":
    main()
