#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of QUIC's interop runner, with clients that nobody here wrote, over a link between two network namespaces (link_simulator.c: 15 ms,
10 Mbit/s, a queue of 25 packets, and the faults of the case):

    BRIGADE=out/release/brigade test/campaign/http3_interop.py [--server brigade|h2o|nginx|caddy[=PROGRAM]] [--client NAME] [--case NAME]

Prints a table in Markdown: client by case; 'yes', '-' (the client cannot), or why not, below the table. Bodies are compared by SHA-256; session
resumption and suites are looked up in the server's log where it is Brigade. Clients, as far as they are there: curl (pycurl) and
aioquic (test/README.md; early data only where the program's OpenSSL has it for QUIC), gtlsclient (ngtcp2-client), h2o-httpclient (H2O_HTTPCLIENT), quic-go (http3_go/, built where Go and its
modules can be had, or HTTP3_GO=PROGRAM), Chromium. Needs root, /dev/net/tun and a C compiler. All of it takes some ten minutes.
"""
import argparse
import base64
import collections
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
E2E = os.path.join(ROOT, "test/e2e")
sys.path.insert(0, E2E)
from http3_client import ask, http3_python  # noqa: E402
from link import SERVER, SERVER6, Link, why_not  # noqa: E402

BASE = {"delay": 15, "rate": 10, "queue": 25}
# what a client does, and the link; validation and chain are the server's
CASES = {
    "handshake": ("get", {}), "transfer": ("large", {}), "longrtt": ("get", {"delay": 375}), "chacha20": ("chacha20", {}),
    "multiplexing": ("many", {}), "retry": ("get", {"validation": True}), "resumption": ("resume", {}), "zerortt": ("early", {}),
    "http3": ("three", {}), "blackhole": ("large", {"hole": "600,2000"}), "keyupdate": ("keyupdate", {}), "ecn": ("ecn", {}),
    "amplificationlimit": ("get", {"chain": True, "drop": "3,7"}), "handshakeloss": ("each", {"loss": 30}), "transferloss": ("large", {"loss": 2}),
    "handshakecorruption": ("each", {"corrupt": 30}), "transfercorruption": ("large", {"corrupt": 2}), "ipv6": ("large", {"six": True}), "v2": ("v2", {}),
    "rebind-port": ("large", {"rebind": "700,port"}), "rebind-addr": ("large", {"rebind": "700,addr"}), "connectionmigration": ("migrate", {})}
FILES = {"small": 5000, "middle": 300_000, "large": 2_000_000}
BRIGADE = """ServerName localhost
ServerRoot {root}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig {root}/mime.types
Protocols h3 h2 http/1.1
H3HandshakeTimeout 60s
H3AddressValidation {validation}
{more}
Listen {four}:443 https
Listen [{six}]:443 https
LogFormat "%{{SSL_SESSION_RESUMED}}x %{{SSL_CIPHER}}x %H %>s" tls
CustomLog {root}/access_log tls
DocumentRoot {root}/htdocs
<Directory {root}/htdocs>
Require all granted
</Directory>
<VirtualHost *:443>
SSLEngine on
SSLCertificateFile {root}/{certificate}
SSLCertificateKeyFile {root}/key.pem
</VirtualHost>
"""
H2O = """num-threads: 1
listen:
  - &tls
    host: {four}
    port: 443
    ssl: {{certificate-file: {root}/{certificate}, key-file: {root}/key.pem}}
  - <<: *tls
    type: quic
    quic: {{retry: {validation}}}
  - <<: *tls
    host: "{six}"
    type: quic
    quic: {{retry: {validation}}}
hosts: {{default: {{paths: {{/: {{file.dir: {root}/htdocs}}}}}}}}
"""
NGINX = """daemon off; worker_processes 1; user root; pid {root}/pid; error_log {root}/error_log;
events {{ worker_connections 512; }}
http {{ access_log off; client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
quic_retry {validation}; ssl_early_data on; http3_max_concurrent_streams 300;
server {{ listen {four}:443 ssl; listen {four}:443 quic; listen [{six}]:443 quic; ssl_certificate {root}/{certificate}; ssl_certificate_key {root}/key.pem; root {root}/htdocs; }} }}
"""
CADDY = """{{
    admin off
    auto_https off
    default_sni localhost
    storage file_system {root}/caddy
}}
https://localhost, https://{four}, https://[{six}] {{
    tls {root}/{certificate} {root}/key.pem
    root * {root}/htdocs
    file_server
}}
"""
SERVERS = {"brigade": (BRIGADE, lambda program, root: [program, "-f", f"{root}/conf", "-DFOREGROUND"], "On", "Auto"),
           "h2o": (H2O, lambda program, root: [program, "-c", f"{root}/conf"], "ON", "OFF"),
           "nginx": (NGINX, lambda program, root: [program, "-c", f"{root}/conf", "-e", f"{root}/error_log"], "on", "off"),
           "caddy": (CADDY, lambda program, root: [program, "run", "--adapter", "caddyfile", "--config", f"{root}/conf"], None, "")}


class Failed(Exception):
    pass


class Case:
    """A server at one end of a link, for one client's case."""

    def __init__(self, root, server, program, settings):
        self.root, self.server, self.program = root, server, program
        self.validation, self.chain, self.six = (settings.pop(name, False) for name in ("validation", "chain", "six"))
        self.link = Link(root, **{**BASE, **settings})

    def __enter__(self):
        text, command, on, off = SERVERS[self.server]
        if self.validation and on is None:
            raise Failed("the server has no Retry of its own")
        with open(f"{self.root}/conf", "w", encoding="ascii") as f:
            f.write(text.format(root=self.root, four=SERVER, six=SERVER6, validation=on if self.validation else off, certificate="chain.pem" if self.chain else "cert.pem",
                                more="H3EarlyData On" if EARLY else ""))
        open(f"{self.root}/access_log", "w", encoding="ascii").close()
        self.link.__enter__()
        log = open(f"{self.root}/output", "wb")
        self.process = subprocess.Popen(self.link.command(0, command(self.program, self.root)), stdout=log, stderr=log, env={**os.environ, "HOME": self.root})
        until = time.monotonic() + 30
        while ":443" not in subprocess.run(self.link.command(0, ["ss", "-Hlnu"]), capture_output=True, text=True).stdout:
            if time.monotonic() > until or self.process.poll() is not None:
                self.__exit__()
                sys.exit(f"{self.server} does not start: {open(f'{self.root}/output').read()[-2000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.link.__exit__()

    @property
    def host(self):
        return SERVER6 if self.six else SERVER

    def url(self, name):
        return f"https://[{SERVER6}]/{name}" if self.six else f"https://{SERVER}/{name}"

    def run(self, command, seconds=90, **more):
        try:
            done = self.link.on_client(["timeout", str(seconds), *command], capture_output=True, cwd=self.root, **more)
        except subprocess.CalledProcessError as error:
            raise Failed(f"{os.path.basename(command[0])}: {error.returncode} {error.stderr[-300:].decode(errors='replace')}") from error
        return done.stdout

    def log(self):
        for _ in range(40):
            with open(f"{self.root}/access_log", encoding="ascii") as f:
                lines = f.read().splitlines()
            if lines or self.server != "brigade":
                break
            time.sleep(0.05)
        return lines

    def is_logged(self, word):
        if self.server == "brigade" and not any(word in line for line in self.log()):
            raise Failed(f"the log has no {word}: {self.log()[-2:]}")


def digest(name):
    return hashlib.sha256(CONTENT[name]).hexdigest()


def same(name, data):
    if data != CONTENT[name]:
        raise Failed(f"{name}: {len(data)} bytes, not those of the file")


class Client:
    """What most can: go(case, names) asks for these files, and compares them."""
    each_times = 8

    def get(self, case):
        self.go(case, ["small"])

    def large(self, case):
        self.go(case, ["large"])

    def three(self, case):
        self.go(case, ["small", "middle", "large"])

    def each(self, case):
        for _ in range(self.each_times):
            self.get(case)


class Curl(Client):
    def __init__(self, python, root):
        self.python, self.wrapper = python, f"{root}/curl-python"

    def go(self, case, names):
        with open(self.wrapper, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexec " + " ".join(case.link.command(1, [self.python])) + ' "$@"\n')
        os.chmod(self.wrapper, 0o755)
        try:
            answers = ask(self.wrapper, "curl", [{"url": case.url(name)} for name in names], timeout=90)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)[-300:]) from error
        for name, answer in zip(names, answers):
            if answer.version != "3":
                raise Failed(str(answer)[:300])
            same(name, answer.body)

    def many(self, case):
        order = {"do": "page", "version": "3", "visits": 1, "urls": [case.url("small")] * 100}
        case.run([self.python, os.path.join(ROOT, "test/bench/http3_load.py"), json.dumps(order)])

    ecn = Client.large


class Aioquic(Client):
    def __init__(self, python, root):
        self.python = python

    def scene(self, case, scene, name):
        told = json.loads(case.run([self.python, os.path.join(E2E, "quic_scenes.py"), "443", scene, f"/{name}", case.host]))
        if set(told.get("digests", [digest(name)])) != {digest(name)}:
            raise Failed(str(told)[:300])
        return told

    def get(self, case):
        self.scene(case, "handshake", "small")

    def large(self, case):
        self.scene(case, "handshake", "large")

    def three(self, case):
        self.scene(case, "handshake", "middle")

    def many(self, case):
        self.scene(case, "multiplexing", "small")

    def chacha20(self, case):
        self.scene(case, "chacha20", "middle")
        case.is_logged("CHACHA20")

    def keyupdate(self, case):
        self.scene(case, "keyupdate", "middle")

    def v2(self, case):
        if self.scene(case, "v2", "small")["version"] != 0x6b3343cf:
            raise Failed("another version")

    def resume(self, case):
        if not self.scene(case, "resumption", "small")["resumed"]:
            raise Failed("a full handshake")

    def migrate(self, case):
        self.scene(case, "migration", "middle")


class Gtlsclient(Client):
    def __init__(self, program, root):
        self.program, self.folder = program, f"{root}/gtls"
        if b'"v2"' in subprocess.run([program, "--help"], capture_output=True).stdout:  # 0.12.1 knows the number of a draft
            self.v2 = lambda case: self.go(case, ["large"], "--version=v2", "--available-versions=v2")

    def go(self, case, names, *more):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        case.run([self.program, "-q", *more, "--exit-on-all-streams-close", f"--download={self.folder}", case.host, "443", *(f"https://localhost/{name}" for name in names)])
        for name in names:
            with open(f"{self.folder}/{name}", "rb") as f:
                same(name, f.read())

    def each(self, case):
        for _ in range(8):
            self.go(case, ["small"], "--timeout=60s")

    def many(self, case):
        self.go(case, ["small"], "-n", "300")

    def chacha20(self, case):
        self.go(case, ["middle"], "--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305")
        case.is_logged("CHACHA20")

    def keyupdate(self, case):
        self.go(case, ["large"], "--key-update=300ms")

    def resume(self, case):
        for _ in range(2):
            case.run([self.program, "-q", f"--session-file={case.root}/session", "--timeout=3s", "--disable-early-data", case.host, "443", "https://localhost/small"])
        case.is_logged("Resumed")

    def early(self, case):
        for _ in range(2):
            out = case.run(["sh", "-c", 'exec "$@" 2>&1', "sh", self.program, f"--session-file={case.root}/session0", f"--tp-file={case.root}/parameters", "--timeout=3s", case.host, "443", "https://localhost/small"])
        case.is_logged("Resumed")
        if b"0RTT" not in out or b"rejected" in out:
            raise Failed("no early data")

    def migrate(self, case):
        self.go(case, ["large"], "--change-local-addr=500ms")

    ecn = Client.large


class H2OClient(Client):
    def __init__(self, program, root):
        self.program = program

    def go(self, case, name, *more):
        case.run([self.program, "-3", "100", "-k", "-f", "--io-timeout", "60000", *more, "-o", f"{case.root}/h2o-body", case.url(name)])
        with open(f"{case.root}/h2o-body", "rb") as f:
            body = f.read()
        os.unlink(f"{case.root}/h2o-body")
        return body

    def get(self, case):
        same("small", self.go(case, "small"))

    def large(self, case):
        same("large", self.go(case, "large", "-W", "1000000"))

    def three(self, case):
        same("middle", self.go(case, "middle"))

    def many(self, case):
        if len(self.go(case, "small", "-t", "100", "-C", "50")) % FILES["small"]:
            raise Failed("bytes are missing")

    def resume(self, case):
        for _ in range(2):
            same("small", self.go(case, "small", "-s", f"{case.root}/h2o-session"))
        case.is_logged("Resumed")


class QuicGo(Client):
    def __init__(self, program, root):
        self.program = program

    def go(self, case, names, *more, times=1):
        out = case.run([self.program, *more, *(case.url(name) for name in names)]).decode().split("\n")
        got = collections.Counter(line[5:] for line in out if line.startswith("body "))
        if set(got) != {digest(name) for name in names} or sum(got.values()) < times * len(names):
            raise Failed(str(out)[:300])
        return out

    def many(self, case):
        self.go(case, ["small"], "-times", "300", times=300)

    def v2(self, case):
        self.go(case, ["small"], "-v2")

    def resume(self, case):
        if "resumed" not in self.go(case, ["small"], "-resume", times=2):
            raise Failed("a full handshake")

    def early(self, case):
        if "early" not in self.go(case, ["small"], "-early", times=2):
            raise Failed("no early data")

    def migrate(self, case):
        self.go(case, ["large"], "-migrate", "10.9.8.2", times=2)

    keyupdate = Client.large  # it updates its keys by itself, first after 100 packets
    ecn = Client.large


class Chromium(Client):
    each_times = 3
    PAGE = """<!doctype html><title>x</title><pre id=out>none</pre><script>
(async () => { try { const names = location.hash.slice(1).split(","); const sums = [];
for (const body of await Promise.all(names.map(async (n, i) => await (await fetch("/" + n + "?" + i)).arrayBuffer())))
sums.push([...new Uint8Array(await crypto.subtle.digest("SHA-256", body))].map(b => b.toString(16).padStart(2, "0")).join(""));
const how = new Set(performance.getEntriesByType("resource").map(e => e.nextHopProtocol));
out.textContent = [...how].join() + " " + sums.join(" "); } catch (e) { out.textContent = "fault " + e; } })()</script>"""

    def __init__(self, program, root):
        self.program, self.root = program, root
        key = subprocess.run(["openssl", "x509", "-in", f"{root}/cert.pem", "-pubkey", "-noout"], capture_output=True, check=True).stdout
        der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key, capture_output=True, check=True).stdout
        self.pin = base64.b64encode(hashlib.sha256(der).digest()).decode()

    def go(self, case, names):
        shutil.rmtree(f"{self.root}/chromium", ignore_errors=True)
        host = f"[{case.host}]" if case.six else case.host
        out = case.run([self.program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.root}/chromium", "--origin-to-force-quic-on=localhost:443",
                        f"--host-resolver-rules=MAP localhost {host}", f"--ignore-certificate-errors-spki-list={self.pin}", "--virtual-time-budget=60000", "--dump-dom",
                        "https://localhost/interop.html#" + ",".join(names)]).decode()
        told = out.split('id="out">')[-1].split("<")[0].split()
        if told != ["h3", *(digest(name) for name in names)]:
            raise Failed(" ".join(told)[:200])

    def many(self, case):
        self.go(case, ["small"] * 100)


def quic_go(root):
    if os.environ.get("HTTP3_GO"):
        return os.environ["HTTP3_GO"]
    go = shutil.which("go") or "/usr/local/go/bin/go"
    program = f"{root}/http3_go"
    if os.path.exists(go) and not subprocess.run([go, "build", "-o", program, "."], cwd=f"{HERE}/http3_go", capture_output=True).returncode:
        return program
    return None


def clients(root):
    python = http3_python(ROOT)
    found = {"curl": (Curl, python), "aioquic": (Aioquic, python), "gtlsclient": (Gtlsclient, shutil.which("gtlsclient")),
             "h2o-httpclient": (H2OClient, os.environ.get("H2O_HTTPCLIENT") or shutil.which("h2o-httpclient")), "quic-go": (QuicGo, quic_go(root)),
             "Chromium": (Chromium, shutil.which("chromium"))}
    return {name: make(program, root) for name, (make, program) in found.items() if program}


def site(root):
    os.makedirs(f"{root}/htdocs")
    os.chmod(root, 0o755)
    rng = random.Random(1)
    made = {name: rng.randbytes(size) for name, size in FILES.items()}
    for name, data in {**made, "interop.html": Chromium.PAGE.encode()}.items():
        with open(f"{root}/htdocs/{name}", "wb") as f:
            f.write(data)
    open(f"{root}/mime.types", "w", encoding="ascii").write("text/html html\n")
    names = ",".join(["DNS:localhost", *(f"DNS:{i:03}.{'long' * 8}.localhost" for i in range(220))])
    for certificate, more in (("cert", ["-addext", "subjectAltName=DNS:localhost"]), ("chain", ["-key", f"{root}/key.pem", "-addext", f"subjectAltName={names}"])):
        how = more if "-key" in more else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{root}/key.pem", *more]
        subprocess.run(["openssl", "req", "-x509", *how, "-days", "9", "-subj", "/CN=localhost", "-out", f"{root}/{certificate}.pem"], check=True, capture_output=True)
    return made


def outcome(root, server, program, client, name):
    how, settings = CASES[name]
    if not hasattr(client, how) or (how == "early" and server == "brigade" and not EARLY):
        return "-", None
    try:
        with Case(root, server, program, dict(settings)) as case:
            getattr(client, how)(case)
            told = case.link.end()
        if how == "ecn" and told[1][4] < 0.9 * told[1][0]:
            return "no", f"{told[1][4]} of {told[1][0]} packets with ECT: its ACKs do not count them"
    except Failed as error:
        return "no", str(error)
    return "yes", None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default="brigade")
    parser.add_argument("--client", action="append")
    parser.add_argument("--case", action="append")
    arguments = parser.parse_args()
    if why_not():
        sys.exit(why_not())
    server, _, program = arguments.server.partition("=")
    program = os.path.abspath(program or (os.environ.get("BRIGADE", "out/release/brigade") if server == "brigade" else shutil.which(server) or server))
    root = tempfile.mkdtemp(prefix="brigade-interop-")
    global CONTENT, EARLY
    EARLY = server == "brigade" and b"H3EarlyData" not in subprocess.run([program, "-f", "/dev/null", "-C", "H3EarlyData On", "-t"], capture_output=True).stderr
    try:
        CONTENT = site(root)
        made = {name: c for name, c in clients(root).items() if not arguments.client or name in arguments.client}
        print("| case | " + " | ".join(made) + " |\n|---|" + "---|" * len(made), flush=True)
        why = []
        for name in arguments.case or CASES:
            row = []
            for client in made:
                told, reason = outcome(root, server, program, made[client], name)
                row.append(told)
                if reason:
                    why.append(f"- {name}, {client}: {reason}")
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)
        print("\n" + "\n".join(why))
        return 1 if why else 0
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    sys.exit(main())
