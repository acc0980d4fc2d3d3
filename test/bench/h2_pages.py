#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of 100 small objects over HTTP/2 and TLS: a page, three style sheets, six scripts and 90 images.

    BRIGADE=out/release/brigade test/bench/h2_pages.py [--pages 300] [SERVER ...]

Servers: brigade, nginx, h2o, as far as they are installed, one process or loop each. h2load asks for the list of URIs with 100
streams at once. Shown are processor time of the server for a page (8 connections, all pages), and the time from the first byte of a new
connection to the last byte of a page, median and 9 of 10 of single visits.
"""
import argparse
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from idle_tls import COMMANDS, CONFIGS, WITH_HTTP2, processes  # noqa: E402

SERVERS = ["brigade", "nginx", "h2o"]


def configuration(name):
    text = WITH_HTTP2[name](CONFIGS[name])
    return text.replace("access_log off;", "access_log off; open_file_cache max=1000; keepalive_requests 100000000;")


def make_page(folder):
    """Returns the names, in the order in which a browser asks for them."""
    rng = random.Random(1)
    names = ["index.html", *(f"style{i}.css" for i in range(3)), *(f"script{i}.js" for i in range(6)), *(f"image{i}.png" for i in range(90))]
    for name in names:
        size = {"html": 12000, "css": 6000, "js": 9000}.get(name.rsplit(".", 1)[1]) or rng.randrange(400, 6000)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(rng.randbytes(size))
        os.utime(os.path.join(folder, name), (1_000_000_000, 1_000_000_000))
    return names


def cpu_seconds(pid):
    total = 0
    for p in processes(pid):
        with open(f"/proc/{p}/schedstat", encoding="ascii") as f:
            first = int(f.read().split()[0])
        tasks = 0
        for task in os.listdir(f"/proc/{p}/task"):
            with open(f"/proc/{p}/task/{task}/schedstat", encoding="ascii") as f:
                tasks += int(f.read().split()[0])
        total += max(first, tasks)
    return total / 1e9


def load(uris, *args):
    """Seconds that h2load says."""
    out = subprocess.run(["h2load", "-i", uris, *map(str, args)], capture_output=True, text=True, timeout=300).stdout
    good = re.search(r"status codes: (\d+) 2xx, 0 3xx, 0 4xx, 0 5xx", out)
    if not good:
        raise SystemExit(f"h2load:\n{out}")
    value, unit = re.search(r"finished in ([\d.]+)(us|ms|s)", out).groups()
    return float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def start(name, program, root, port):
    path = f"{root}/{name}.conf"
    with open(path, "w", encoding="ascii") as f:
        f.write(configuration(name).format(root=root, port=port))
    with open(f"{root}/{name}.out", "wb") as out:
        server = subprocess.Popen([program, *COMMANDS[name], path], stdout=out, stderr=out)
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{name} does not answer")


def measure(name, program, root, names, pages):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = start(name, program, root, port)
    try:
        uris = f"{root}/uris"
        with open(uris, "w", encoding="ascii") as f:
            f.writelines(f"https://127.0.0.1:{port}/{n}\n" for n in names)
        load(uris, "-c", 2, "-m", 100, "-n", 1000)
        before = cpu_seconds(server.pid)
        load(uris, "-c", 8, "-m", 100, "-n", 100 * pages)
        cpu = (cpu_seconds(server.pid) - before) / pages
        visits = sorted(load(uris, "-c", 1, "-m", 100, "-n", 100) for _ in range(31))
        return cpu, statistics.median(visits), visits[27]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("servers", nargs="*", default=SERVERS)
    a = parser.parse_args()
    root = tempfile.mkdtemp(prefix="h2-pages-")
    os.chmod(root, 0o755)
    try:
        os.mkdir(f"{root}/htdocs")
        names = make_page(f"{root}/htdocs")
        with open(f"{root}/mime.types", "w", encoding="ascii") as f:
            f.write("text/html html\ntext/css css\ntext/javascript js\nimage/png png\n")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
        print("| Server | Processor, a page | To the last byte | 9 of 10 |\n|---|---|---|---|")
        for name in a.servers:
            program = os.environ.get("BRIGADE", "out/release/brigade") if name == "brigade" else shutil.which(name)
            if program:
                cpu, median, most = measure(name, program, root, names, a.pages)
                print(f"| {name} | {cpu * 1e6:.0f} us | {median * 1e3:.2f} ms | {most * 1e3:.2f} ms |", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
