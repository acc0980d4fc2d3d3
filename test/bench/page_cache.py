#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WordPress behind page caches: requests a second and processor time of the front page, for a visitor; pages that were shown to somebody they
were not made for, and pages that were old after an edit.

    LSCACHE_WP=FOLDER BRIGADE=out/release/brigade test/bench/page_cache.py [--seconds 3]

As root, with wordpress, mariadb-server, php8.2-mysql and wrk; apache2 and nginx are left out where they are not installed. LSCACHE_WP is the folder of
the plugin "LiteSpeed Cache"; without it the row with the plugin is left out."""
import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("e2e", "compat")]
os.environ.setdefault("BRIGADE", str(pathlib.Path(__file__).resolve().parents[2] / "out/release/brigade"))

import brigade  # noqa: E402
import wordpress_site  # noqa: E402
from ports import free_port  # noqa: E402
from wordpress_site import CONFIG, Visitor, wordpress  # noqa: E402

COOKIES = "wordpress_logged_in_* wp-postpass_* comment_author_*"
RECIPE = f"CacheEnable memory /\nCacheDefaultExpire 60\nCacheIgnoreNoLastMod On\nCacheBypassCookies {COOKIES}\nCacheIgnoreQuery utm_* fbclid gclid\n"
NGINX = """worker_processes 1; daemon off; pid {tmp}/nginx.pid; error_log {tmp}/nginx.log; user www-data;
events {{ worker_connections 512; }}
http {{ include /etc/nginx/mime.types; access_log off; sendfile on; keepalive_requests 1000000;
fastcgi_cache_path {tmp}/cache keys_zone=pages:10m; client_body_temp_path {tmp}/body; proxy_temp_path {tmp}/proxy; fastcgi_temp_path {tmp}/fastcgi; uwsgi_temp_path {tmp}/uwsgi; scgi_temp_path {tmp}/scgi;
map $http_cookie $own {{ default 0; "~wordpress_logged_in|wp-postpass|comment_author" 1; }}
server {{ listen 127.0.0.1:{port}; root {root}; index index.php;
location / {{ try_files $uri $uri/ /index.php?$args; }}
location ~ \\.php$ {{ include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_pass unix:{socket};
fastcgi_cache pages; fastcgi_cache_key $scheme$host$request_uri; fastcgi_cache_valid 200 60s; fastcgi_cache_bypass $own; fastcgi_no_cache $own; fastcgi_ignore_headers Expires Cache-Control; }} }} }}
"""


@contextlib.contextmanager
def nginx(root, socket, tmp):
    port = free_port()
    with open(f"{tmp}/nginx.conf", "w") as f:
        f.write(NGINX.format(tmp=tmp, port=port, root=root, socket=socket))
    process = subprocess.Popen(["/usr/sbin/nginx", "-c", f"{tmp}/nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        brigade.wait_until(lambda: os.path.exists(f"{tmp}/nginx.pid"), "nginx")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def server(config, binary=None, modules=()):
    with brigade.Server(config, binary=binary, modules=modules) as one:
        yield one.port, one.process.pid


def family(pid):
    pids, found = [pid], []
    while pids:
        found.append(pids[0])
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pids[0]}/task/{pids[0]}/children") as f:
            pids += [int(child) for child in f.read().split()]
        pids.pop(0)
    return found


def used(pid):
    """Processor time of a process and those below it, in seconds."""
    ticks = 0
    for one in family(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{one}/stat") as f:
            ticks += sum(int(n) for n in f.read().rsplit(") ", 1)[1].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def load(port, pid, path, seconds):
    """(requests a second, microseconds of the server's processor time for each)"""
    wrk = ["wrk", "-t1", "-c8", f"http://127.0.0.1:{port}{path}"]
    subprocess.run([*wrk, "-d1"], capture_output=True, check=True)
    before = used(pid)
    text = subprocess.run([*wrk, f"-d{seconds}"], capture_output=True, check=True, text=True).stdout
    spent, requests = used(pid) - before, int(re.search(r"(\d+) requests in", text)[1])
    assert "Non-2xx" not in text, text
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), spent / requests * 1e6


def wrongly_shared(port, rounds=10):
    people = {None: Visitor(port), **{name: Visitor(port, name) for name in ("anna", "bert", "admin")}}
    return sum(who.made(path)[1] != (name or "nobody") for _ in range(rounds) for path in ("/", "/hello-world/", "/sample-page/") for name, who in people.items())


def old_after_an_edit(port, rounds=5):
    admin, visitor, old = Visitor(port, "admin"), Visitor(port), 0
    for i in range(rounds):
        visitor.made("/hello-world/")
        visitor.made("/hello-world/")
        admin.edit(1, f"Title {port} {i}")
        for path in ("/hello-world/", "/"):
            visitor.made(path)
            old += f"Title {port} {i}" not in visitor.text
    return old


def measure(name, started, seconds):
    with started as (port, pid):
        Visitor(port).made("/")
        rate, cost = load(port, pid, "/", seconds)
        file = load(port, pid, "/page.html", seconds)[1]
        shared, old = wrongly_shared(port), old_after_an_edit(port)
    print(f"| {name} | {rate:,.0f} | {cost:.1f} | {cost / file:.2f} | {shared} of 120 | {old} of 10 |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=3)
    seconds = options.parse_args().seconds
    if not wordpress_site.IS_THERE:
        sys.exit("wordpress, mariadb-server, php8.2-mysql or php-fpm is not there, or this is not root")
    with wordpress() as (root, socket):
        config = CONFIG.format(root=root, socket=socket)
        with server(config) as (port, _):
            admin = Visitor(port, "admin")
            admin.set_permalinks()
            with open(f"{root}/page.html", "w") as f:
                f.write(Visitor(port).get("/"))
        print("| Page cache | requests/s | CPU of the server, us | of a file of that size | wrongly shared | old after an edit |\n|---|---|---|---|---|---|")
        measure("Brigade, `CacheEnable` and `CacheBypassCookies`", server("CacheStatusHeader On\n" + RECIPE + config), seconds)
        if os.path.exists("/usr/sbin/nginx"):
            measure("nginx, `fastcgi_cache` for 60 s", nginx(root, socket, os.path.dirname(root)), seconds)
        if os.path.exists("/usr/sbin/apache2"):
            measure("Apache and PHP-FPM, no page cache", server(config, "/usr/sbin/apache2", ("proxy", "proxy_fcgi", "rewrite", "dir", "mime")), seconds)
        if wordpress_site.PLUGIN:
            with server("LiteSpeedCache On\n" + config) as (port, _):
                Visitor(port, "admin").activate_plugin()
            measure("Brigade, `LiteSpeedCache On` and the plugin", server("LiteSpeedCache On\n" + config), seconds)


if __name__ == "__main__":
    main()
