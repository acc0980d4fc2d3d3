#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What passwords, rewriting, maps and limits add to a file of 10 KiB, and what a CGI program costs beside Apache's cgid.

    BRIGADE=out/release/brigade test/bench/classic_site.py [--seconds 2] [--rounds 5] [WAY ...]

One server with one loop on one processor, wrk on another; all ways in turn, in several rounds, so that what disturbs the machine hits all
alike. Processor time of the server's processes for each request, and of its programs; the ratio is the median of those of the rounds.
Fails if a ratio is above its goal. Needs root, wrk, curl, htpasswd, two processors; apache2 for cgi.
"""
import argparse
import hashlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cores
from instructions import REWRITTEN

APACHE, MODULES = "/usr/sbin/apache2", "/usr/lib/apache2/modules"
JOE = "Authorization: Basic am9lOnNlY3JldA=="
# way: (target, what it is compared with, the most that may be)
WAYS = {"plain": ("/10k.bin", None, None), "sha": ("/sha/10k.bin", "plain", 1.1), "bcrypt": ("/bcrypt/10k.bin", "plain", 1.1), "digest": ("/digest/10k.bin", "plain", 1.3),
        "rewrite": ("/rewritten/10k.bin", "plain", 1.0), "limit": ("/limited/10k.bin", "plain", None), "map-10": ("/few/k7", "plain", None),
        "map-100000": ("/many/k70000", "map-10", 1.0), "cgi": ("/cgi/hello", "cgi-apache", 1.0)}
AUTH = """<Directory {root}/htdocs/{name}>
AuthType {kind}
AuthName r
AuthUserFile {root}/{name}
Require valid-user
</Directory>
"""
CGI = "ScriptAlias /cgi/ {root}/cgi/\nScriptSock {root}/sock\n<Directory {root}/cgi>\nRequire all granted\n</Directory>\n"
APACHE_CONFIG = """ServerName localhost
ServerRoot {root}
DefaultRuntimeDir {root}
Listen 127.0.0.1:{port}
PidFile {root}/apache.pid
ErrorLog {root}/apache.err
StartServers 1
ServerLimit 1
ThreadsPerChild 25
MaxRequestWorkers 25
MaxKeepAliveRequests 0
User www-data
Group www-data
DocumentRoot {root}/htdocs
"""
SLACK = 0.03  # what two runs of the same way differ by


def site(root):
    cores.site(root)
    for name in ("sha", "bcrypt", "digest", "rewritten", "limited"):
        os.mkdir(f"{root}/htdocs/{name}")
        os.link(f"{root}/htdocs/10k.bin", f"{root}/htdocs/{name}/10k.bin")
    for name, option in (("sha", "-s"), ("bcrypt", "-B")):
        subprocess.run(["htpasswd", "-cb" + option[1], f"{root}/{name}", "joe", "secret"], check=True, capture_output=True)
    with open(f"{root}/digest", "w", encoding="utf-8") as f:
        f.write("joe:r:" + hashlib.md5(b"joe:r:secret").hexdigest() + "\n")
    for name, n in (("few", 10), ("many", 100000)):
        with open(f"{root}/{name}.map", "w", encoding="utf-8") as f:
            f.write("".join(f"k{i} /10k.bin\n" for i in range(n)))
    os.mkdir(f"{root}/cgi")
    with open(f"{root}/cgi/hello", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nhello\\n'\n")
    os.chmod(f"{root}/cgi/hello", 0o755)


def configuration(root):
    text = "".join(AUTH.format(root=root, name=name, kind="Digest" if name == "digest" else "Basic") for name in ("sha", "bcrypt", "digest"))
    text += REWRITTEN.replace("{root}/htdocs", f"{root}/htdocs/rewritten").replace("RewriteBase /", "RewriteBase /rewritten/")
    text += f"<Directory {root}/htdocs/limited>\nRequestLimit one by=client rate=1000000/s burst=1000000\n</Directory>\nRewriteEngine On\n"
    text += "".join(f"RewriteMap {name} txt:{root}/{name}.map\nRewriteRule ^/{name}/(.*)$ ${{{name}:$1}} [PT]\n" for name in ("few", "many"))
    return text + CGI.format(root=root)


def apache(root, port):
    with open(f"{root}/apache.conf", "w", encoding="utf-8") as f:
        f.write("".join(f"LoadModule {m}_module {MODULES}/mod_{m}.so\n" for m in ("mpm_event", "authz_core", "alias", "cgid")))
        f.write(APACHE_CONFIG.format(root=root, port=port) + CGI.format(root=root).replace("/sock", "/apache.sock"))
    process = subprocess.Popen([APACHE, "-DFOREGROUND", "-f", f"{root}/apache.conf"], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while time.monotonic() < until and subprocess.run(["curl", "-sf", f"http://127.0.0.1:{port}/cgi/hello"], capture_output=True).returncode:
        time.sleep(0.05)
    return process


class Account:
    """Processor time of some processes and all that come of them, those that ended, too: a control group. Root's; of either version."""

    def __init__(self, name):
        version = next((f for f in ("cpuacct", "") if os.path.exists(f"/sys/fs/cgroup/{f}/cgroup.procs")), None)
        if version is None:
            sys.exit("there are no control groups here")
        self.folder = f"/sys/fs/cgroup/{version}/brigade-bench-{name}-{os.getpid()}"
        os.mkdir(self.folder)

    def add(self, parent):
        for pid in cores.processes_of(parent):
            with open(f"{self.folder}/cgroup.procs", "w", encoding="utf-8") as f:
                f.write(str(pid))

    def nanoseconds(self):
        old = cores.read(f"{self.folder}/cpuacct.usage")
        return int(old) if old else int(re.search(r"usage_usec (\d+)", cores.read(f"{self.folder}/cpu.stat"))[1]) * 1000

    def close(self):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                return os.rmdir(self.folder)
            except OSError:  # a program is not at its end yet
                time.sleep(0.05)


def digest(port, target):
    head = subprocess.run(["curl", "-si", f"http://127.0.0.1:{port}{target}"], capture_output=True, text=True).stdout
    nonce = re.search(r'nonce="([^"]*)"', head)[1]
    ha1, ha2 = (hashlib.md5(t.encode()).hexdigest() for t in ("joe:r:secret", f"GET:{target}"))
    response = hashlib.md5(f"{ha1}:{nonce}:00000001:abc:auth:{ha2}".encode()).hexdigest()
    return f'Authorization: Digest username="joe", realm="r", nonce="{nonce}", uri="{target}", response="{response}", algorithm=MD5, qop=auth, nc=00000001, cnonce="abc"'


def measured(account, port, way, seconds):
    target = WAYS.get(way, WAYS["cgi"])[0]
    field = digest(port, target) if way == "digest" else JOE if way in ("sha", "bcrypt") else "X: y"

    def run(seconds):
        command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "wrk", "-t1", "-c16", f"-d{seconds}", "-H", field, f"http://127.0.0.1:{port}{target}"]
        text = subprocess.run(command, capture_output=True, text=True).stdout
        if "Non-2xx" in text:
            sys.exit(f"{way}: {text}")
        return cores.requests_in(text)
    run(1)
    before = account.nanoseconds()
    n = run(seconds)
    return (account.nanoseconds() - before) / 1000 / n


def pinned(pid):
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("ways", nargs="*", default=list(WAYS))
    options = parser.parse_args()
    ways = list(dict.fromkeys([w for way in options.ways for w in ([WAYS[way][1]] if WAYS[way][1] else []) + [way]]))
    if not os.access(APACHE, os.X_OK):
        ways = [w for w in ways if not w.startswith("cgi")]
    program, figures, missed = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade")), {w: [] for w in ways}, 0
    with tempfile.TemporaryDirectory(prefix="brigade-classic-") as root:
        site(root)
        port, other = cores.free_port(), cores.free_port()
        all_cores = os.sched_getaffinity(0)
        pinned(0)  # what is started keeps it
        servers = [cores.started(program, root, port, 1, 1, configuration(root))]
        if "cgi-apache" in ways:
            servers.append(apache(root, other))
        os.sched_setaffinity(0, all_cores)
        accounts = [Account(str(i)) for i in range(len(servers))]
        for server, account in zip(servers, accounts):
            account.add(server.pid)
        try:
            for _ in range(options.rounds):
                for way in ways:
                    at = way == "cgi-apache"
                    figures[way].append(measured(accounts[at], other if at else port, way, options.seconds))
        finally:
            for server in servers:
                server.send_signal(signal.SIGTERM)
                server.wait(timeout=30)
            for account in accounts:
                account.close()
    for way in ways:
        _, base, goal = WAYS.get(way, (None, None, None))
        line = f"{way:12s} {statistics.median(figures[way]):9.2f} us"
        if base:
            ratio = statistics.median(a / b for a, b in zip(figures[way], figures[base]))
            missed += bool(goal) and ratio > goal + SLACK
            line += f"  {ratio:5.2f} of {base}" + (f" (at most {goal})" if goal else "")
        print(line, flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
