#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an answer over HTTP/3 costs a server: processor time, in one run, beside other servers, and beside our own HTTP/2.

    BRIGADE=out/release/brigade H2O_HTTPCLIENT=PROGRAM test/bench/http3.py [--server brigade --server h2o=PROGRAM --server nginx=PROGRAM --server caddy=PROGRAM]
                                [--rounds 3] [--awake] [SHAPE ...]

Servers have one thread for requests each, no access log, and the same files; the client is h2o-httpclient. Both are in network namespaces
with a pair of veth devices between them: an MTU of 1500, GSO on. A shape is a size and how many streams are asked for at once over one
connection; 'handshake' is a connection for each request of 100 bytes. Shown is the server's processor time, user and system, in microseconds: by
request (100 B, handshake), else by KB; the least of the rounds, which take the servers in turn. brigade-h2: the same over HTTP/2 and TLS. On veth
the sender's time has the receiver's part of the kernel in it, for all alike. --awake: a program without an end runs on each core when nobody else
wants it, so that none sleeps: what the kernel takes to wake one is counted for who is woken, and is a part of what a request alone takes that differs
from run to run. Needs root.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "campaign"), HERE]
import cores  # noqa: E402
import http3_interop  # noqa: E402
from link import SERVER, SERVER6, Cable, why_not  # noqa: E402

SIZES = {"100B": 100, "10KB": 10 << 10, "100KB": 100 << 10, "1MB": 1 << 20, "20MB": 20 << 20}
# requests of a run are as many as take about so long; the number is found by a first run
SHAPES = {"100B": (1, 4000), "10KB": (1, 3000), "100KB": (1, 600), "1MB": (1, 100), "20MB": (1, 5), "100B-32": (32, 20000), "10KB-32": (32, 10000), "handshake": (0, 100)}


def configured(name, root):
    text, command, _, off = http3_interop.SERVERS[name]
    text = text.format(root=root, four=SERVER, six=SERVER6, validation=off, certificate="cert.pem", more="EventLoops 1\nMaxKeepAliveRequests 0")
    text = "\n".join(line for line in text.split("\n") if not line.startswith(("LogFormat", "CustomLog")))
    text = text.replace("access_log off;", "access_log off; open_file_cache max=1000; keepalive_requests 1000000000; quic_gso on;").replace("H3HandshakeTimeout 60s", "H3HandshakeTimeout 10s")
    with open(f"{root}/{name}.conf", "w", encoding="ascii") as f:
        f.write(text.replace("max_concurrent_streams 300", "max_concurrent_streams 128"))
    shutil.copy(f"{root}/{name}.conf", f"{root}/conf")
    return command


def started(link, name, program, root):
    command = configured(name, root)
    server = subprocess.Popen(link.command(0, command(program, root)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": root, "GOMAXPROCS": "1"})
    until = time.monotonic() + 30
    while ":443" not in subprocess.run(link.command(0, ["ss", "-Hlnu"]), capture_output=True, text=True).stdout:
        if time.monotonic() > until or server.poll() is not None:
            sys.exit(f"{name} does not start")
        time.sleep(0.05)
    return server


def spent(pid):
    """Nanoseconds of each thread of a server."""
    return {task: int((cores.read(f"/proc/{p}/task/{task}/schedstat") or "0").split()[0]) for p in cores.processes_of(pid) for task in os.listdir(f"/proc/{p}/task")}


def between(before, after):
    """Nanoseconds of the threads that are still there: some servers have others that end."""
    return sum(ns - before.get(task, 0) for task, ns in after.items())


def asked(link, client, version, size, streams, times):
    """Ask so often. @return bytes of bodies"""
    ways = {"3": ["-3", "100", "-W", "1000000"], "2": ["-2", "100"]}[version]
    url = f"https://{SERVER}/{size}"
    commands = [[client, "-k", *ways, "-t", str(times), "-C", str(streams), "-o", "/dev/null", url]] if streams else [[client, "-k", *ways, "-o", "/dev/null", url]] * times
    for command in commands:
        done = subprocess.run(link.command(1, command), capture_output=True, timeout=200)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr[-500:].decode(errors='replace')}")
    return times * SIZES[size]


def measured(link, client, server, version, shape):
    streams, times = SHAPES[shape]
    size = "100B" if shape == "handshake" else shape.split("-")[0]
    asked(link, client, version, size, streams, max(times // 20, 1))
    before = spent(server.pid)
    total = asked(link, client, version, size, streams, times)
    took = between(before, spent(server.pid)) / 1000
    return took / times if size == "100B" else took * 1024 / total


def spinners():
    """Programs that keep each core awake, and give way to all others."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    for one, core in zip(made, sorted(os.sched_getaffinity(0))):
        os.sched_setaffinity(one.pid, {core})
        os.sched_setscheduler(one.pid, os.SCHED_IDLE, os.sched_param(0))
    return made


def servers():
    found = {"brigade": os.environ.get("BRIGADE", "out/release/brigade"), "h2o": shutil.which("h2o"), "caddy": shutil.which("caddy")}
    return [f"{name}={program}" for name, program in found.items() if program]


def run(arguments, root, client):
    figures = {}
    with Cable(root) as link:
        for _ in range(arguments.rounds):
            for one in arguments.server or servers():
                name, _, program = one.partition("=")
                server = started(link, name, os.path.abspath(program or os.environ["BRIGADE"]), root)
                try:
                    for shape in arguments.shapes or SHAPES:
                        for row, version in ((name, "3"), ("brigade-h2", "2"))[:2 if name == "brigade" else 1]:
                            figure = measured(link, client, server, version, shape)
                            figures.setdefault(row, {}).setdefault(shape, []).append(figure)
                finally:
                    server.terminate()
                    server.wait()
    return figures


def show(figures, shapes):
    print(f"{'':12}" + "".join(f"{shape:>10}" for shape in shapes))
    for name, row in figures.items():
        print(f"{name:12}" + "".join(f"{min(row[shape]):10.2f}" for shape in shapes))
    others = [row for name, row in figures.items() if not name.startswith("brigade")]
    for text, rows in (("of the best", others), ("of our h2", [figures["brigade-h2"]] if "brigade-h2" in figures else [])):
        if rows and "brigade" in figures:
            print(f"{text:12}" + "".join(f"{min(figures['brigade'][shape]) / min(min(row[shape]) for row in rows):10.2f}" for shape in shapes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--awake", action="store_true")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(SHAPES))
    arguments = parser.parse_args()
    client = os.environ.get("H2O_HTTPCLIENT") or shutil.which("h2o-httpclient")
    if why_not() or not client:
        sys.exit(why_not() or "no h2o-httpclient (H2O_HTTPCLIENT)")
    root = tempfile.mkdtemp(prefix="brigade-http3-")
    idle = spinners() if arguments.awake else []
    try:
        http3_interop.site(root)
        for name, size in SIZES.items():
            with open(f"{root}/htdocs/{name}", "wb") as f:
                f.write(os.urandom(size))
        show(run(arguments, root, client), arguments.shapes or list(SHAPES))
    finally:
        for one in idle:
            one.kill()
            one.wait()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
