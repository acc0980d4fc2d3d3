#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks that people use, on the sample site: ab, wrk and h2load, and WebStone's mix of five files for 2 to 24 clients, with
this server and the others that are installed (nginx, lighttpd, Apache, h2o, Caddy).

    build/bench                              everything; some minutes
    build/bench -s brigade,nginx -w ab,wrk   some servers, some programs
    PATH=/opt/peers/bin:$PATH build/bench    newer peers in place of the system's

Writes out/bench/index.html (a page with pictures), out/bench/results.json and a table on standard output. Servers take turns in each
round, so that a drift of the machine hits all alike; figures are medians of the rounds. `us/request` is processor time of all
processes of the server: on a machine that the client shares, it is the figure to compare; requests per second depend on the client, too.
A spread above 10 %, or other load on the machine, is said. The exit status is 1 where an answer was an error.
"""
import argparse
import html
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_peers import PEERS, Running

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
OUT = os.path.join(TOP, "out", "bench")
# Bytes and shares of the five files of WebStone's standard mix.
WEBSTONE = [("500", 500, 350), ("5k", 5120, 500), ("50k", 51200, 140), ("500k", 512000, 9), ("5m", 5242880, 1)]
CLIENTS = [2, 4, 8, 12, 16, 20, 24]
MIX = """local files = {{{files}}}
math.randomseed({seed})
request = function()
    local n = math.random(1000)
    for _, f in ipairs(files) do
        if n <= f[2] then return wrk.format("GET", f[1]) end
        n = n - f[2]
    end
end
"""


def mix(root):
    path = f"{root}/mix.lua"
    with open(path, "w", encoding="utf-8") as f:
        f.write(MIX.format(files=", ".join(f'{{"/webstone/{name}.bin", {share}}}' for name, _, share in WEBSTONE), seed=1996))
    return path


def number(pattern, text, scale=1.0):
    found = re.search(pattern, text, re.M)
    return float(found.group(1)) * scale if found else 0.0


def milliseconds(pattern, text):
    found = re.search(pattern + r"\s*([\d.]+)(us|ms|s)", text, re.M)
    return float(found.group(1)) * {"us": 0.001, "ms": 1, "s": 1000}[found.group(2)] if found else 0.0


def run_ab(server, seconds, clients, path="/index.html"):
    text = run(["ab", "-q", "-k", "-c", str(clients), "-t", str(seconds), "-n", "100000000", f"http://127.0.0.1:{server.port}{path}"])
    return {"requests": number(r"^Complete requests:\s+(\d+)", text), "rate": number(r"^Requests per second:\s+([\d.]+)", text),
            "p50": number(r"^\s+50%\s+(\d+)", text), "p99": number(r"^\s+99%\s+(\d+)", text),
            "errors": number(r"^Non-2xx responses:\s+(\d+)", text) + number(r"^Failed requests:\s+(\d+)", text)}


def run_wrk(server, seconds, clients, path="/index.html", script=None):
    more = ["-s", script] if script else []
    text = run(["wrk", "-t1", f"-c{clients}", f"-d{seconds}", "--latency", *more, f"http://127.0.0.1:{server.port}{path}"])
    return {"requests": number(r"(\d+) requests in", text), "rate": number(r"^Requests/sec:\s+([\d.]+)", text), "p50": milliseconds(r"^\s+50%", text),
            "p99": milliseconds(r"^\s+99%", text), "errors": number(r"Non-2xx or 3xx responses: (\d+)", text)}


def run_h2load(server, seconds, clients, path="/index.html"):
    text = run(["h2load", "-t1", "-c", str(clients), "-m", "16", "-D", str(seconds), f"https://127.0.0.1:{server.tls}{path}"])
    return {"requests": number(r"(\d+) succeeded", text), "rate": number(r"finished in [\d.]+m?s, ([\d.]+) req/s", text), "p50": milliseconds(r"^time for request:\s+\S+\s+\S+", text),
            "p99": -1, "errors": number(r"(\d+) errored", text) + number(r"(\d+) [45]xx", text)}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def workloads(arguments, root):
    """[(name, program, what it is, how it runs)]"""
    every, script = [], mix(root)
    for path, what in (("/index.html", "the sample site's front page"), ("/webstone/50k.bin", "50 KiB")):
        size = os.path.getsize(f"{root}/files{path}")
        every += [(f"ab {path}", "ab", f"ab -k -c 16, {what} ({size:,} bytes)", lambda s, path=path: run_ab(s, arguments.seconds, 16, path)),
                  (f"wrk {path}", "wrk", f"wrk -c 64, {what}", lambda s, path=path: run_wrk(s, arguments.seconds, 64, path)),
                  (f"h2load {path}", "h2load", f"h2load -c 16 -m 16 over TLS, {what}", lambda s, path=path: run_h2load(s, arguments.seconds, 16, path))]
    every += [(f"webstone {n}", "webstone", f"WebStone's mix, {n} clients", lambda s, n=n: run_wrk(s, arguments.seconds, n, "/", script)) for n in CLIENTS]
    return [row for row in every if row[1] in arguments.workloads and shutil.which("wrk" if row[1] == "webstone" else row[1])]


def site(root):
    os.chmod(root, 0o755)
    shutil.copytree(f"{TOP}/test/site", f"{root}/files")
    os.makedirs(f"{root}/files/webstone")
    for name, size, _ in WEBSTONE:
        with open(f"{root}/files/webstone/{name}.bin", "wb") as f:
            f.write(os.urandom(size))
    shutil.copy(f"{TOP}/build/conf/mime.types", f"{root}/mime.types")
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=localhost",
         "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"])


def measure(servers, jobs, rounds):
    """{workload: {server: [figures of a round]}}"""
    results = {job[0]: {server.peer.name: [] for server in servers} for job in jobs}
    for turn in range(rounds):
        for name, _, _, how in jobs:
            for server in servers:
                before = server.processor_seconds()
                figures = how(server)
                figures["cpu"] = (server.processor_seconds() - before) * 1e6 / max(1, figures["requests"])
                results[name][server.peer.name].append(figures)
                print(f"\rround {turn + 1} of {rounds}: {name}, {server.peer.name}      ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return results


def medians(results):
    return {name: {server: {key: statistics.median(one[key] for one in rounds) for key in rounds[0]} | {"spread": spread(rounds)}
                   for server, rounds in row.items()} for name, row in results.items()}


def spread(rounds):
    """How far processor times of the rounds lie apart, as a part of the median."""
    times = [one["cpu"] for one in rounds]
    middle = statistics.median(times)
    return (max(times) - min(times)) / middle if middle else 0.0


def table(found, jobs, names):
    lines = []
    for name, _, what, _ in jobs:
        lines.append(what)
        lines.append(f"  {'':12} {'requests/s':>12} {'us/request':>11} {'50 % ms':>9} {'99 % ms':>9} {'errors':>7}")
        for server in names:
            f = found[name][server]
            lines.append(f"  {server:12} {f['rate']:12,.0f} {f['cpu']:11.1f} {f['p50']:9.2f} {'-' if f['p99'] < 0 else format(f['p99'], '.2f'):>9} {f['errors']:7.0f}{'  spread %.0f %%' % (100 * f['spread']) if f['spread'] > 0.1 else ''}")
    return "\n".join(lines)


def markdown(found, jobs, servers):
    """As docs/benchmarks.md has it: microseconds of processor time a request, and requests a second."""
    names = [server.peer.name for server in servers]
    lines = ["| | " + " | ".join(server.peer.version() for server in servers) + " |", "|---|" + "---|" * len(names)]
    for name, _, what, _ in jobs:
        lines.append(f"| {what} | " + " | ".join(f"{found[name][server]['cpu']:.1f} ({found[name][server]['rate']:,.0f})" for server in names) + " |")
    return "\n".join(lines)


def bars(found, jobs, names, key, title):
    """A picture: a group of bars for each workload."""
    height, left, width = 16, 190, 900
    rows = [(what, [(server, found[name][server][key]) for server in names]) for name, _, what, _ in jobs]
    most = max((value for _, row in rows for _, value in row), default=1) or 1
    y, out = 30, []
    for what, row in rows:
        out.append(f'<text x="4" y="{y + 11}" font-weight="bold">{html.escape(what)}</text>')
        y += height + 2
        for at, (server, value) in enumerate(row):
            hue = 210 if server == "brigade" else 30 + 12 * at
            out.append(f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{server}</text><rect x="{left}" y="{y}" width="{(width - left - 90) * value / most:.1f}" height="{height - 3}" '
                       f'fill="hsl({hue},{55 if server == "brigade" else 18}%,55%)"/><text x="{left + (width - left - 90) * value / most + 5:.1f}" y="{y + 12}">{value:,.1f}</text>')
            y += height
        y += 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" font-family="sans-serif" font-size="12" role="img" aria-label="{html.escape(title)}">'
            f'<text x="4" y="16" font-size="14">{html.escape(title)}</text>{"".join(out)}</svg>')


def page(found, jobs, servers, words):
    names = [server.peer.name for server in servers]
    versions = "".join(f"<li>{html.escape(server.peer.name)}: {html.escape(server.peer.version())}</li>" for server in servers)
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Brigade beside others</title><style>body{{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}'
            f'pre{{overflow:auto}}svg{{width:100%;height:auto}}</style></head><body><h1>Brigade beside others</h1><ul>{versions}</ul><p>{html.escape(words)}</p>'
            f'{bars(found, jobs, names, "cpu", "Processor time of the server, microseconds a request: less is better")}'
            f'{bars(found, jobs, names, "rate", "Requests a second, as the client gets them")}<pre>{html.escape(table(found, jobs, names))}</pre></body></html>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-s", "--servers", type=lambda s: s.split(","), default=[peer.name for peer in PEERS])
    parser.add_argument("-w", "--workloads", type=lambda s: s.split(","), default=["ab", "wrk", "h2load", "webstone"])
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement (3)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", default=OUT)
    parser.add_argument("--markdown", action="store_true", help="the table as docs/benchmarks.md has it")
    arguments = parser.parse_args()
    unknown = set(arguments.servers) - {peer.name for peer in PEERS} | set(arguments.workloads) - {"ab", "wrk", "h2load", "webstone"}
    if unknown or arguments.rounds < 1 or arguments.seconds <= 0:
        parser.error(f"unknown: {', '.join(sorted(unknown))}" if unknown else "rounds and seconds: more than 0")
    absent = [peer.name for peer in PEERS if peer.name in arguments.servers and not peer.found()]
    with tempfile.TemporaryDirectory(prefix="brigade-bench-") as root:
        site(root)
        jobs = workloads(arguments, root)
        servers = [Running(peer, root, f"{root}/files") for peer in PEERS if peer.name in arguments.servers and peer.found()]
        if not jobs or not servers:
            sys.exit("nothing can be measured: ab, wrk or h2load, and a server, have to be installed")
        started = []
        try:
            for server in servers:
                try:
                    started.append(server.__enter__())
                except RuntimeError as e:
                    print(f"left out: {e}", file=sys.stderr)
                    absent.append(server.peer.name)
            servers = started
            if not servers:
                sys.exit("no server starts")
            before = os.getloadavg()[0]
            results = measure(servers, jobs, arguments.rounds)
        finally:
            for server in started:
                server.__exit__()
        found = medians(results)
        words = f"{arguments.rounds} rounds of {arguments.seconds} s, {os.cpu_count()} processors, load at the beginning {before:.1f}." + \
            (" Something else ran meanwhile: compare processor times, and these with care." if before > 0.5 else "") + \
            (f" Not there: {', '.join(absent)}." if absent else "")
        os.makedirs(arguments.out, exist_ok=True)
        with open(f"{arguments.out}/index.html", "w", encoding="utf-8") as f:
            f.write(page(found, jobs, servers, words))
        with open(f"{arguments.out}/results.json", "w", encoding="utf-8") as f:
            json.dump({"versions": {s.peer.name: s.peer.version() for s in servers}, "words": words, "results": results}, f, indent=1)
    print(markdown(found, jobs, servers) if arguments.markdown else table(found, jobs, [server.peer.name for server in servers]))
    print(f"{words}\n{arguments.out}/index.html")
    sys.exit(1 if any(f["errors"] for row in found.values() for f in row.values()) else 0)


if __name__ == "__main__":
    main()
