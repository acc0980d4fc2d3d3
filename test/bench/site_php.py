#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a page of PHP costs that WordPress' rules lead to, with the cache on: the server's processor time of a hit beside that of a file with the same bytes,
and beside the page without a cache.

    BRIGADE=out/release/brigade test/bench/site_php.py [--seconds 3] [--urls 200]

As root, with php-fpm and wrk. Every URL below /blog/ leads to index.php, which answers 12 KB; hits are asked for with --urls URLs by
turns, so that one place of memory alone does not answer all. Goal: a hit costs at most 1.1 of the file."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("e2e", "bench")]
os.environ.setdefault("BRIGADE", str(pathlib.Path(__file__).resolve().parents[2] / "out/release/brigade"))

import brigade  # noqa: E402
from page_cache import used  # noqa: E402
from php_fpm import IS_THERE, POOL, php  # noqa: E402

PAGE = ('<?php header("X-Powered-By: x"); header("Link: <http://localhost/wp-json/>; rel=\\"https://api.w.org/\\""); '
        'for ($i = 0; $i < 200; $i++) echo "<p>a line of the page, number $i, of $_SERVER[REQUEST_URI]</p>\\n";')
RULES = ("RewriteEngine On\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteBase /blog/\nRewriteRule ^index\\.php$ - [L]\n"
         "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /blog/index.php [L]\n")
CONFIG = """EventLoops 1
DirectoryIndex index.html index.php
Header always set X-Content-Type-Options nosniff
<Directory "@ROOT@/htdocs">
Options Indexes FollowSymLinks
AllowOverride All
Require all granted
</Directory>
<FilesMatch "\\.php$">
SetHandler "proxy:unix:{socket}|fcgi://localhost/"
</FilesMatch>
"""
CACHES = {
    "none": "",
    "`CacheEnable`, recipe": "CacheEnable memory /blog/\nCacheDefaultExpire 600\nCacheIgnoreNoLastMod On\nCacheBypassCookies wordpress_logged_in_*\nCacheIgnoreQuery utm_*\n",
    "`LiteSpeedCache`": "LiteSpeedCache On\n",
}
TURNS = """local n = 0
request = function() n = n % %d + 1; return wrk.format("GET", string.format("%s", n)) end
"""


def cost(server, path, urls, seconds):
    """Microseconds of the server's processor time for each request, and requests a second."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(TURNS.replace("%d", str(urls), 1).replace('"%s"', f'"{path}"', 1))
        script.flush()
        wrk = ["wrk", "-t1", "-c8", "-s", script.name, f"http://127.0.0.1:{server.port}"]
        subprocess.run([*wrk, "-d2"], capture_output=True, check=True)
        before = used(server.process.pid)
        text = subprocess.run([*wrk, f"-d{seconds}"], capture_output=True, check=True, text=True).stdout
        assert "Non-2xx" not in text, text
        spent = used(server.process.pid) - before
    return spent / int(re.search(r"(\d+) requests in", text)[1]) * 1e6, float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=3)
    options.add_argument("--urls", type=int, default=200)
    options = options.parse_args()
    if not IS_THERE:
        sys.exit("php-fpm is not there, or this is not root")
    with php(POOL, children=2) as fpm:
        print("| site-php, cache | CPU of a page, us | of a file of that size | requests/s |\n|---|---|---|---|")
        for name, lines in CACHES.items():
            control = "CacheLookup on\nRewriteEngine On\nRewriteRule .* - [E=Cache-Control:max-age=600]\n" if "LiteSpeed" in name else ""
            with brigade.Server(lines + CONFIG.format(socket=f"{fpm}/socket"), {"blog/.htaccess": control + RULES, "blog/index.php": PAGE}) as server:
                text = server.get("/blog/2026/1/a-title/").body
                for n in range(1, options.urls + 1):
                    server.write(f"files/{n}/page.html", text)
                assert not lines or server.get("/blog/2026/1/a-title/")["Age"] is not None, "it is stored"
                page_cost, rate = cost(server, "/blog/2026/%d/a-title/", options.urls, options.seconds)
                file_cost, _ = cost(server, "/files/%d/page.html", options.urls, options.seconds)
            print(f"| {name} | {page_cost:.1f} | {page_cost / file_cost:.2f} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
