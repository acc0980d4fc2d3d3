#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What answers of another server cost: passed on, and from a cache that has them. Brigade, nginx and HAProxy (which caches nothing here)
before one backend, and a static file of the same length beside. Processor microseconds of the server for a request, by wrk.

    BRIGADE=out/release/brigade test/bench/another_server.py [--seconds 3] [--rounds 3] [-w proxy-1k,hit-10k,file-10k]

Servers take turns in each round; medians. The backend is Brigade with files.
"""
import argparse
import os
import shutil
import sys
import tempfile

from bench_peers import HTTPD, Peer, PEERS, Running
from common_tools import medians, measure, run, run_wrk

SIZES = {"1k": 1024, "10k": 10240, "100k": 102400, "1m": 1 << 20}
BRIGADE = HTTPD.replace("DocumentRoot", "CacheMemory 64M\nCacheEnable memory /hit\nCacheDefaultExpire 3600\nProxyPass /hit/ http://127.0.0.1:{backend}/ keepalive=On\n"
                                        "ProxyPass /proxy/ http://127.0.0.1:{backend}/ keepalive=On\nDocumentRoot")
NGINX = """worker_processes 1;
pid {root}/pid;
error_log {root}/error_log;
{user}
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=60s;
    proxy_cache_path {root}/cache keys_zone=all:10m;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    upstream backend {{ server 127.0.0.1:{backend}; keepalive 256; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{port};
        listen 127.0.0.1:{tls};
        location /file/ {{ alias {files}/; sendfile on; }}
        location /proxy/ {{ proxy_pass http://backend/; }}
        location /hit/ {{ proxy_pass http://backend/; proxy_cache all; proxy_cache_valid 200 1h; }}
    }}
}}
"""
HAPROXY = """global
    nbthread 1
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend all
    bind 127.0.0.1:{port}
    bind 127.0.0.1:{tls}
    http-request replace-path /proxy/(.*) /\\1
    default_backend one
backend one
    http-reuse always
    server one 127.0.0.1:{backend}
"""

def peers(backend):
    brigade = PEERS[0]
    texts = {"brigade": BRIGADE.replace("DocumentRoot", "Alias /file/ {files}/\nDocumentRoot", 1), "nginx": NGINX, "haproxy": HAPROXY}
    texts = {name: text.replace("{backend}", str(backend)) for name, text in texts.items()}
    return [Peer("brigade", brigade.program, texts["brigade"], brigade.command, "-v"), Peer("nginx", "nginx", texts["nginx"], PEERS[1].command, "-v"),
            Peer("haproxy", "haproxy", texts["haproxy"], ["-f", "{conf}"], "-v")]


def can(name, kind):
    return name != "haproxy" or kind == "proxy"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [f"{kind}-{size}" for kind in ("file", "proxy", "hit") for size in SIZES]
    parser.add_argument("-w", "--workloads", type=lambda s: s.split(","), default=every)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if set(arguments.workloads) - set(every):
        parser.error(f"workloads: {', '.join(every)}")
    with tempfile.TemporaryDirectory(prefix="brigade-bench-") as root:
        os.chmod(root, 0o755)
        os.mkdir(f"{root}/files")
        shutil.copy("/etc/mime.types", f"{root}/mime.types") if os.path.exists("/etc/mime.types") else open(f"{root}/mime.types", "w", encoding="utf-8").close()
        for name, size in SIZES.items():
            with open(f"{root}/files/{name}", "wb") as f:
                f.write(os.urandom(size))
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout", f"{root}/key.pem",
             "-out", f"{root}/cert.pem"])
        backend = Peer("backend", PEERS[0].program, HTTPD, PEERS[0].command, "-v")
        with Running(backend, root, f"{root}/files") as behind:
            found, started = {}, []
            try:
                for peer in peers(behind.port):
                    if peer.found():
                        started.append(Running(peer, root, f"{root}/files").__enter__())
                for name in arguments.workloads:
                    kind, size = name.split("-")
                    job = (name, "wrk", name, lambda s, kind=kind, size=size: run_wrk(s, arguments.seconds, 16, f"/{kind}/{size}"))
                    found[name] = medians(measure([s for s in started if can(s.peer.name, kind)], [job], arguments.rounds))[name]
            finally:
                for server in started:
                    server.__exit__()
    names = [s.peer.name for s in started]
    print(f"{'':12}" + "".join(f"{name:>12}" for name in names) + "   microseconds a request")
    for name, row in found.items():
        print(f"{name:12}" + "".join(f"{row[n]['cpu']:12.1f}" if n in row else f"{'-':>12}" for n in names) + (
            "   spread above 10 %" if any(f["spread"] > 0.1 for f in row.values()) else ""))
    sys.exit(1 if any(f["errors"] for row in found.values() for f in row.values()) else 0)


if __name__ == "__main__":
    main()
