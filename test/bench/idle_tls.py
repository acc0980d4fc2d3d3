#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""User memory of an idle TLS connection that has had an answer and is kept alive.

    BRIGADE=out/release/brigade test/bench/idle_tls.py [-n 8000] [--http2] [--silent BYTES] [SERVER ...]

Servers: brigade, nginx, lighttpd, h2o, as far as they are installed; a P-256 certificate, TLS 1.3, one answer of 100 bytes
on each connection. With --silent the clients send so many bytes of a ClientHello (0: none) and nothing else. What is shown is what the private memory of all processes of the server grew by, by connection: between
a tenth of the connections and all of them, so that what the first ones make once does not count.
"""
import argparse
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time

CONFIGS = {
    "brigade": """ServerName localhost
ServerRoot {root}
Listen 127.0.0.1:{port}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig {root}/mime.types
EventLoops 1
ServerProcesses 1
MaxRequestWorkers 20000
KeepAliveTimeout 600
Timeout 600
RequestReadTimeout handshake=600
User nobody
DocumentRoot {root}/htdocs
SSLEngine on
SSLCertificateFile {root}/cert.pem
SSLCertificateKeyFile {root}/key.pem
<Directory {root}/htdocs>
Require all granted
</Directory>
""",
    "nginx": """worker_processes 1; pid {root}/pid; error_log {root}/error_log; daemon off;
events {{ worker_connections 20000; }}
http {{ keepalive_timeout 600; client_header_timeout 600; access_log off;
server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; root {root}/htdocs; }} }}
""",
    "lighttpd": """server.document-root = "{root}/htdocs"
server.port = {port}
server.bind = "127.0.0.1"
server.max-fds = 20000
server.max-connections = 10000
server.max-keep-alive-idle = 600
server.modules = ("mod_openssl")
ssl.engine = "enable"
ssl.pemfile = "{root}/cert.pem"
ssl.privkey = "{root}/key.pem"
""",
    "h2o": """listen: {{host: 127.0.0.1, port: {port}, ssl: {{certificate-file: {root}/cert.pem, key-file: {root}/key.pem}}}}
user: nobody
num-threads: 1
http1-request-timeout: 600
max-connections: 20000
hosts: {{default: {{paths: {{/: {{file.dir: {root}/htdocs}}}}}}}}
""",
}
COMMANDS = {"brigade": ["-DFOREGROUND", "-f"], "nginx": ["-c"], "lighttpd": ["-D", "-f"], "h2o": ["-c"]}


def processes(pid):
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            for child in f.read().split():
                found += processes(int(child))
    return found


def private_bytes(pid):
    total = 0
    for p in processes(pid):
        with open(f"/proc/{p}/smaps_rollup", encoding="ascii") as f:
            total += sum(int(kib) for kib in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", f.read(), re.M)) * 1024
    return total


# How a server is told to speak HTTP/2 over TLS.
WITH_HTTP2 = {
    "brigade": lambda c: c.replace("SSLEngine on", "Protocols h2 http/1.1\nSSLEngine on"),
    "nginx": lambda c: c.replace("ssl;", "ssl http2;", 1),
    "lighttpd": lambda c: c,
    "h2o": lambda c: c.replace("http1-request-timeout: 600", "http1-request-timeout: 600\nhttp2-idle-timeout: 600"),
}


def http2_frame(kind, flags, stream, payload):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def http2_request():
    """Preface, SETTINGS and a request whose fields enter no table."""
    block = b"\x82\x87" + b"\x04\x06/a.txt" + b"\x01\x09localhost"
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(4, 0, 0, b"") + http2_frame(1, 5, 1, block)


def connect(port, context):
    s = context.wrap_socket(socket.create_connection(("127.0.0.1", port), 20), server_hostname="localhost")
    if s.selected_alpn_protocol() == "h2":
        s.sendall(http2_request())
        data = b""
        while b"x" * 100 not in data:
            more = s.recv(4096)
            if not more:
                raise SystemExit(f"no answer: {data!r}")
            data += more
        s.sendall(http2_frame(4, 1, 0, b""))
        return s
    s.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
    data = b""
    while not data.endswith(b"x" * 100):
        more = s.recv(4096)
        if not more:
            raise SystemExit(f"no answer: {data!r}")
        data += more
    return s


def silent(port, context, length):
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    s = socket.create_connection(("127.0.0.1", port), 20)
    s.sendall(out.read()[:length])
    return s


def measure(name, program, count, root, http2=False, length=None):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with open(f"{root}/{name}.conf", "w", encoding="ascii") as f:
        f.write((WITH_HTTP2[name](CONFIGS[name]) if http2 else CONFIGS[name]).format(root=root, port=port))
    with open(f"{root}/{name}.out", "wb") as out:
        server = subprocess.Popen([program, *COMMANDS[name], f"{root}/{name}.conf"], stdout=out, stderr=out)
    held = []
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    with open(f"{root}/{name}.out", encoding="utf-8") as out:
                        raise SystemExit(f"{name} does not answer: {out.read()}") from None
                time.sleep(0.05)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if http2:
            context.set_alpn_protocols(["h2"])
        make = (lambda: connect(port, context)) if length is None else lambda: silent(port, context, length)
        held += [make() for _ in range(count // 10)]
        time.sleep(2)  # what is given back after a while
        before, n = private_bytes(server.pid), len(held)
        held += [make() for _ in range(count - n)]
        time.sleep(2)
        return (private_bytes(server.pid) - before) / (len(held) - n)
    finally:
        server.send_signal(signal.SIGTERM)
        for s in held:
            s.close()
        server.wait(20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=8000, help="connections")
    parser.add_argument("--http2", action="store_true", help="by ALPN")
    parser.add_argument("--silent", type=int, metavar="BYTES", help="clients that send so much of a ClientHello")
    parser.add_argument("servers", nargs="*", default=list(CONFIGS))
    a = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(40000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    root = tempfile.mkdtemp(prefix="idle-tls-")
    os.chmod(root, 0o755)
    try:
        os.mkdir(f"{root}/htdocs")
        for path, text in (("htdocs/a.txt", "x" * 100), ("mime.types", "text/plain txt\n")):
            with open(f"{root}/{path}", "w", encoding="ascii") as f:
                f.write(text)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-keyout", f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
        for name in a.servers:
            program = os.environ.get("BRIGADE", "out/release/brigade") if name == "brigade" else shutil.which(name)
            if program:
                print(f"{name:9s} {measure(name, program, a.n, root, a.http2, a.silent) / 1024:6.1f} KiB for each connection", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
