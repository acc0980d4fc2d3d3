#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handshakes by second and by CPU time of the server: full and resumed ones, kinds of keys, one event loop and two.

    BRIGADE=out/release/brigade test/bench/handshakes.py [--seconds 2] [--servers brigade,nginx] [--only WORD] [--locks | --storm]

A client is a process of its own with a connection at a time: a handshake, a request for 100 bytes, the end. Shown are
handshakes in a second, microseconds of CPU time that the server took for each (all its processes; the figure to trust on a
machine that does other work), and how many of them resumed a session. --locks counts the futex calls of the server by strace
while it makes handshakes with two loops: a lock that loops share and wait for would be among them. --storm shows how long a
kept-alive client waits for answers while eight others make handshakes with one loop.
"""
import argparse
import multiprocessing
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

BRIGADE = """ServerName localhost
ServerRoot {root}
Listen 127.0.0.1:{port}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig /dev/null
EventLoops {loops}
MaxKeepAliveRequests 0
ServerProcesses 1
User nobody
DocumentRoot {root}/htdocs
SSLEngine on
SSLCertificateFile {root}/cert.pem
SSLCertificateKeyFile {root}/key.pem
SSLSessionTickets {tickets}
SSLSessionCache "shmcb:{root}/cache(512000)"
<Directory {root}/htdocs>
Require all granted
</Directory>
"""
NGINX = """worker_processes {loops}; pid {root}/pid; error_log {root}/error_log; daemon off; user nobody nogroup;
events {{ worker_connections 1000; }}
http {{ access_log off; keepalive_requests 1000000; ssl_session_cache shared:c:1m; ssl_session_tickets {tickets};
server {{ listen 127.0.0.1:{port} ssl reuseport; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {root}/cert.pem;
ssl_certificate_key {root}/key.pem; root {root}/htdocs; }} }}
"""
KEYS = {"P-256": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "RSA-2048": ["rsa:2048"], "RSA-3072": ["rsa:3072"],
        "RSA-4096": ["rsa:4096"]}
TICK = os.sysconf("SC_CLK_TCK")
REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

# name: (loops, key, version, how sessions are resumed)
SHAPES = {
    "full, TLS 1.3": (1, "P-256", ssl.TLSVersion.TLSv1_3, None),
    "full, TLS 1.3, two loops": (2, "P-256", ssl.TLSVersion.TLSv1_3, None),
    "full, TLS 1.2": (1, "P-256", ssl.TLSVersion.TLSv1_2, None),
    "ticket, TLS 1.3": (1, "P-256", ssl.TLSVersion.TLSv1_3, "on"),
    "ticket, TLS 1.2": (1, "P-256", ssl.TLSVersion.TLSv1_2, "on"),
    "cache, TLS 1.3": (1, "P-256", ssl.TLSVersion.TLSv1_3, "off"),
    "cache, TLS 1.2": (1, "P-256", ssl.TLSVersion.TLSv1_2, "off"),
    "full, RSA-2048": (1, "RSA-2048", ssl.TLSVersion.TLSv1_3, None),
    "full, RSA-3072": (1, "RSA-3072", ssl.TLSVersion.TLSv1_3, None),
    "full, RSA-4096": (1, "RSA-4096", ssl.TLSVersion.TLSv1_3, None),
}


def client(port, version, resume, until, out):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    session, made, resumed = None, 0, 0
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(plain, session=session) as s:
                s.sendall(REQUEST)
                while s.recv(4096):
                    pass
                made, resumed = made + 1, resumed + s.session_reused
                session = s.session if resume else None
    out.put((made, resumed))


def waiting(port, until, out):
    """Milliseconds that a kept-alive client waits, in order."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    times = []
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20)) as s:
        while time.monotonic() < until:
            began, got = time.monotonic(), b""
            s.sendall(REQUEST.replace(b"Connection: close\r\n", b""))
            while b"x" * 100 not in got:
                got += s.recv(4096)
            times.append((time.monotonic() - began) * 1000)
            time.sleep(0.002)
    out.put(sorted(times))


def storm(kind, key, seconds):
    server, out, times = Server(kind, 1, key, None), multiprocessing.Queue(), multiprocessing.Queue()
    try:
        until = time.monotonic() + seconds
        clients = [multiprocessing.Process(target=client, args=(server.port, ssl.TLSVersion.TLSv1_3, None, until, out)) for _ in range(8)]
        clients.append(multiprocessing.Process(target=waiting, args=(server.port, until, times)))
        for c in clients:
            c.start()
        waited, made = times.get(timeout=60), sum(out.get(timeout=60)[0] for _ in clients[1:])
        for c in clients:
            c.join()
    finally:
        server.close()
    part = [waited[len(waited) * n // 100] for n in (50, 90, 99)]
    print(f"{key:10} {kind:8} {made / seconds:6.0f} handshakes/s   others wait {part[0]:6.2f} ms (median) {part[1]:6.2f} (90 %) {part[2]:6.2f} (99 %)", flush=True)


class Server:
    def __init__(self, kind, loops, key, tickets):
        self.root = tempfile.mkdtemp(prefix="brigade-handshakes-")
        os.chmod(self.root, 0o755)
        os.makedirs(f"{self.root}/htdocs")
        with open(f"{self.root}/htdocs/a.txt", "wb") as f:
            f.write(b"x" * 100)
        subprocess.run(["openssl", "req", "-x509", "-newkey", *KEYS[key], "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout",
                        f"{self.root}/key.pem", "-out", f"{self.root}/cert.pem"], check=True, capture_output=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        text = (NGINX if kind == "nginx" else BRIGADE).format(root=self.root, port=self.port, loops=loops, tickets=tickets or "on")
        with open(f"{self.root}/conf", "w", encoding="utf-8") as f:
            f.write(text)
        program = os.path.abspath(os.environ.get("BRIGADE", "out/release/brigade"))
        command = ["nginx", "-c", f"{self.root}/conf", "-e", f"{self.root}/error_log"] if kind == "nginx" else \
            [program, "-DFOREGROUND", "-f", f"{self.root}/conf"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        time.sleep(0.3)

    def processes(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="ascii") as f:
            return [int(pid) for pid in f.read().split()] or [self.process.pid]

    def cpu(self):
        total = 0
        for pid in self.processes():
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICK

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        shutil.rmtree(self.root)


def run(server, version, resume, seconds, clients=4):
    out, until, before = multiprocessing.Queue(), time.monotonic() + seconds, server.cpu()
    began = time.monotonic()
    workers = [multiprocessing.Process(target=client, args=(server.port, version, resume, until, out)) for _ in range(clients)]
    for w in workers:
        w.start()
    made, resumed = map(sum, zip(*(out.get(timeout=seconds + 60) for _ in workers)))
    took = time.monotonic() - began
    for w in workers:
        w.join()
    return made / took, (server.cpu() - before) / made * 1e6, resumed / made, made


def locks(seconds):
    """Futex calls by handshake, of all threads of the server process, with one loop and with two."""
    for loops in (1, 2):
        server = Server("brigade", loops, "P-256", None)
        try:
            run(server, ssl.TLSVersion.TLSv1_3, False, 0.5)
            trace = subprocess.Popen(["strace", "-f", "-c", "-e", "trace=futex", "-p", str(server.processes()[0])],
                                     stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            time.sleep(0.5)
            *_, made = run(server, ssl.TLSVersion.TLSv1_3, False, seconds)
            trace.send_signal(signal.SIGINT)
            text = trace.communicate(timeout=20)[1]
            calls = re.search(r"(\d+)\s+(?:\d+\s+)?futex", text)
            print(f"{loops} loops: {made} handshakes, {calls[1] if calls else 0} futex calls", flush=True)
        finally:
            server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--servers", default="brigade,nginx")
    parser.add_argument("--only", default="")
    parser.add_argument("--locks", action="store_true")
    parser.add_argument("--storm", action="store_true")
    options = parser.parse_args()
    if options.locks:
        locks(options.seconds)
        return
    kinds = [k for k in options.servers.split(",") if k == "brigade" or shutil.which(k)]
    if options.storm:
        for key in KEYS:
            for kind in kinds:
                storm(kind, key, options.seconds)
        return
    for name, (loops, key, version, resume) in SHAPES.items():
        if options.only not in name:
            continue
        for kind in kinds:
            server = Server(kind, loops, key, resume)
            try:
                run(server, version, bool(resume), 0.3)
                by_second, cpu, resumed, _ = run(server, version, bool(resume), options.seconds)
                print(f"{name:26} {kind:8} {by_second:8.0f} /s {cpu:8.0f} us {resumed:6.0%} resumed", flush=True)
            finally:
                server.close()


if __name__ == "__main__":
    main()
