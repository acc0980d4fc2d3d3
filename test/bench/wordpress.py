#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WordPress without a page cache, as people have it (rules in .htaccess, PHP-FPM, compression, a combined log): processor time of the web server alone for
the front page, a post, the API, a style sheet, and a page with six of its files over HTTP/2, beside nginx and Apache.

    BRIGADE=out/release/brigade test/bench/wordpress.py [--seconds 5] [--rounds 3] [--cached] [--files]

As root, with wordpress, mariadb-server, php8.2-mysql, wrk and h2load; apache2 and nginx are left out where they are not installed. --cached: with the page
cache of each (nothing beside its first line), so that PHP makes each page once. --files: Brigade and Apache load Apache's mod_deflate from its file, as
Debian's configuration does."""
import argparse
import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("e2e", "bench")]
os.environ.setdefault("BRIGADE", str(pathlib.Path(__file__).resolve().parents[2] / "out/release/brigade"))

import brigade  # noqa: E402
import page_cache  # noqa: E402
from page_cache import APACHE, server, used  # noqa: E402
from wordpress_site import CONFIG, IS_THERE, Visitor, wordpress  # noqa: E402

BROWSER = ("Accept-Encoding: gzip", "Accept: text/html,*/*;q=0.8", "Accept-Language: en-GB,en;q=0.7", "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Firefox/150.0",
           "Cookie: _ga=GA1.2.1234567890.1700000000; theme=dark")
FILES = ("css/dist/block-library/style.min.css", "js/jquery/jquery.min.js", "js/jquery/jquery-migrate.min.js", "js/comment-reply.min.js", "js/wp-embed.min.js", "css/dashicons.min.css")
STYLE = "/wp-includes/" + FILES[0]
ROWS = {"front page": ("/",), "post": ("/hello-world/",), "API": ("/wp-json/wp/v2/posts",), "style sheet": (STYLE,),
        "page and 6 files, HTTP/2": ("/", *("/wp-includes/" + name for name in FILES))}
OURS = """Protocols h2c http/1.1
AddOutputFilterByType DEFLATE text/html text/css application/javascript text/javascript application/json
SetEnvIfNoCase ^Authorization$ "(.+)" HTTP_AUTHORIZATION=$1
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
CustomLog @ROOT@/logs/access.log combined
KeepAlive On
MaxKeepAliveRequests 0
"""
CACHE = "CacheEnable {kind} /\nCacheDefaultExpire 60\nCacheIgnoreNoLastMod On\nCacheIgnoreCacheControl On\nCacheIgnoreHeaders Set-Cookie\n"
DEFLATE = f"LoadModule deflate_module {brigade.APACHE_MODULES}/mod_deflate.so\n"
NGINX = """worker_processes 1; daemon off; pid {tmp}/nginx.pid; error_log {tmp}/nginx.log; user www-data;
events {{ worker_connections 512; }}
http {{ include /etc/nginx/mime.types; sendfile on; tcp_nopush on; keepalive_requests 1000000000; gzip on; gzip_vary on; gzip_comp_level 6; gzip_types text/css application/javascript text/javascript application/json;
log_format c '$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent"'; access_log {tmp}/access.log c;
open_file_cache max=10000 inactive=60s; open_file_cache_valid 30s; open_file_cache_errors on;
fastcgi_cache_path {tmp}/cache levels=1:2 keys_zone=pages:10m; client_body_temp_path {tmp}/body; proxy_temp_path {tmp}/proxy; fastcgi_temp_path {tmp}/fastcgi; uwsgi_temp_path {tmp}/uwsgi; scgi_temp_path {tmp}/scgi;
server {{ listen 127.0.0.1:{port}; http2 on; root {root}; index index.php;
location / {{ try_files $uri $uri/ /index.php?$args; }}
location ~ \\.php$ {{ include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_pass unix:{socket};
{cache} }} }} }}
"""
NGINX_CACHE = "fastcgi_cache pages; fastcgi_cache_key $scheme$request_method$host$request_uri; fastcgi_cache_valid 200 60s; fastcgi_ignore_headers Expires Cache-Control Set-Cookie;"


@contextlib.contextmanager
def nginx(root, socket, cached):
    with tempfile.TemporaryDirectory(prefix="brigade-nginx-") as tmp:
        os.chmod(tmp, 0o755)
        with page_cache.nginx(root, socket, tmp, NGINX, cache=NGINX_CACHE if cached else "") as one:
            yield one


def ask(port, paths, seconds):
    """How many requests were answered, all with 200."""
    fields = [word for field in BROWSER for word in ("-H", field)]
    if len(paths) == 1:
        text = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}", *fields, f"http://127.0.0.1:{port}{paths[0]}"], capture_output=True, check=True, text=True).stdout
        assert "Non-2xx" not in text, text
        return int(re.search(r"(\d+) requests in", text)[1])
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("".join(f"http://127.0.0.1:{port}{path}\n" for path in paths))
        f.flush()
        text = subprocess.run(["h2load", "-t1", "-c8", f"-m{len(paths)}", f"-D{seconds}", "-i", f.name, *fields], capture_output=True, check=True, text=True).stdout
    done, good = (int(re.search(pattern, text)[1]) for pattern in (r"(\d+) done", r"status codes: (\d+) 2xx"))
    assert done and good >= done - 8 * len(paths), text # streams that were open at the end have a head, or none
    return done


def measure(started, paths, seconds):
    """Microseconds of the server's processor time a request."""
    with started as (port, pid):
        ask(port, paths, 1)
        before = used(pid)
        requests = ask(port, paths, seconds)
        return (used(pid) - before) / requests * 1e6


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--cached", action="store_true")
    options.add_argument("--files", action="store_true")
    options = options.parse_args()
    if not IS_THERE:
        sys.exit("wordpress, mariadb-server, php8.2-mysql or php-fpm is not there, or this is not root")
    with wordpress() as (root, socket):
        base = CONFIG.format(root=root, socket=socket)
        with server(base) as (port, _):
            Visitor(port, "admin").set_permalinks()

        def httpd(binary, modules, kind):
            return server((DEFLATE if options.files or binary else "") + OURS + (CACHE.format(kind=kind) if options.cached else "") + base, binary, modules)

        makers = {"Brigade": lambda: httpd(None, (), "memory")}
        if os.path.exists("/usr/sbin/apache2"):
            makers["Apache"] = lambda: httpd("/usr/sbin/apache2", (*APACHE, "http2", "cache", "cache_socache", "socache_shmcb"), "socache")
        if subprocess.run(["sh", "-c", "command -v nginx"], capture_output=True, check=False).returncode == 0:
            makers["nginx"] = lambda: nginx(root, socket, options.cached)
        print(f"| us a request | {' | '.join(makers)} |\n|---|{'---|' * len(makers)}")
        for name, paths in ROWS.items():
            costs = {who: [] for who in makers}
            for _ in range(options.rounds):
                for who, make in makers.items():
                    costs[who].append(measure(make(), paths, options.seconds))
            print(f"| {name} | {' | '.join(f'{statistics.median(cost):.0f}' for cost in costs.values())} |", flush=True)


if __name__ == "__main__":
    main()
