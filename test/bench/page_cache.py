#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WordPress with a small shop behind page caches: requests a second and processor time of the front page, for a visitor and for a buyer; pages and carts
that were shown to somebody they were not made for, and pages that were old after an edit.

    LSCACHE_WP=FOLDER WP_PLUGINS=FOLDER BRIGADE=out/release/brigade test/bench/page_cache.py [--seconds 3] [--only WORD]

As root, with wordpress, mariadb-server, php8.2-mysql and wrk; apache2, nginx and varnish are left out where they are not installed. LSCACHE_WP is the
folder of the plugin "LiteSpeed Cache", WP_PLUGINS one with folders nginx-helper and wp-super-cache; rows whose plugin is not there are left out.
page_cache_shop.php is the shop."""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("e2e", "compat")]
os.environ.setdefault("BRIGADE", str(pathlib.Path(__file__).resolve().parents[2] / "out/release/brigade"))

import brigade  # noqa: E402
import wordpress_site  # noqa: E402
from ports import free_port  # noqa: E402
from wordpress_site import CONFIG, Visitor, wordpress  # noqa: E402

PLUGINS = os.environ.get("WP_PLUGINS", "")
COOKIES = "wordpress_logged_in_* wp-postpass_* comment_author_* shop_items"
RECIPE = f"CacheEnable memory /\nCacheDefaultExpire 60\nCacheIgnoreNoLastMod On\nCacheBypassCookies {COOKIES}\nCacheIgnoreQuery utm_* fbclid gclid\n"
NGINX = """worker_processes 1; daemon off; pid {tmp}/nginx.pid; error_log {tmp}/nginx.log; user www-data;
events {{ worker_connections 512; }}
http {{ include /etc/nginx/mime.types; access_log off; sendfile on; keepalive_requests 1000000;
fastcgi_cache_path {tmp}/cache levels=1:2 keys_zone=pages:10m; client_body_temp_path {tmp}/body; proxy_temp_path {tmp}/proxy; fastcgi_temp_path {tmp}/fastcgi; uwsgi_temp_path {tmp}/uwsgi; scgi_temp_path {tmp}/scgi;
map $http_cookie $own {{ default 0; "~wordpress_logged_in|wp-postpass|comment_author|shop_items" 1; }}
server {{ listen 127.0.0.1:{port}; root {root}; index index.php;
location / {{ try_files $uri $uri/ /index.php?$args; }}
location ~ \\.php$ {{ include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_pass unix:{socket};
fastcgi_cache pages; fastcgi_cache_key $scheme$request_method$host$request_uri; fastcgi_cache_valid 200 60s; fastcgi_cache_bypass $own; fastcgi_no_cache $own; fastcgi_ignore_headers Expires Cache-Control; }} }} }}
"""


@contextlib.contextmanager
def nginx(root, socket, tmp, text=NGINX, **more):
    port = free_port()
    with open(f"{tmp}/nginx.conf", "w") as f:
        f.write(text.format(tmp=tmp, port=port, root=root, socket=socket, **more))
    process = subprocess.Popen(["nginx", "-c", f"{tmp}/nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        brigade.wait_until(lambda: os.path.exists(f"{tmp}/nginx.pid"), "nginx")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


VCL = """vcl 4.1;
backend default {{ .host = "127.0.0.1"; .port = "{port}"; }}
sub vcl_recv {{
    if (req.method == "BAN") {{ ban("obj.status != 0"); return (synth(200)); }}
    if (req.http.Cookie ~ "wordpress_logged_in|wp-postpass|comment_author|shop_items" || req.url ~ "wp-(login|admin)|[?&]add=") {{ return (pass); }}
    unset req.http.Cookie;
}}
sub vcl_backend_response {{ if (!bereq.uncacheable) {{ unset beresp.http.Set-Cookie; set beresp.ttl = 60s; }} }}
"""


@contextlib.contextmanager
def varnish(config, tmp, site):
    """In front of Apache; the shop's plugin sends it a BAN after an edit."""
    port = free_port()
    with server(config, "/usr/sbin/apache2", APACHE) as (behind, _):
        with open(f"{tmp}/default.vcl", "w") as f:
            f.write(VCL.format(port=behind))
        wordpress_site.database(site, f"replace into wp_options (option_name, option_value, autoload) values ('shop_ban_port', '{port}', 'yes')")
        process = subprocess.Popen(["/usr/sbin/varnishd", "-F", "-n", f"{tmp}/varnish", "-a", f"127.0.0.1:{port}", "-f", f"{tmp}/default.vcl", "-s", "malloc,64m", "-T", "none"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            brigade.wait_until(lambda: not subprocess.run(["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{port}/page.html"]).returncode, "varnish")
            yield port, process.pid
        finally:
            process.terminate()
            process.wait()
            wordpress_site.database(site, "delete from wp_options where option_name = 'shop_ban_port'")


@contextlib.contextmanager
def with_plugin(site, name, then, started):
    """A server, while a plugin of WP_PLUGINS is active; PHP code sets it up."""
    code = ("$_SERVER = ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'DOCUMENT_ROOT' => '%s', 'SERVER_NAME' => 'localhost'] + $_SERVER;"
            "require '%s/wp-load.php'; require_once ABSPATH . 'wp-admin/includes/admin.php'; wp_set_current_user(1); %s echo 'done';")

    def run(text):
        done = subprocess.run(["php", "-d", "memory_limit=256M", "-r", code % (site, site, text)], capture_output=True, text=True)
        assert done.stdout.endswith("done"), done.stdout + done.stderr
        subprocess.run(["chown", "-R", "www-data", site], check=True)

    file = {"nginx-helper": "nginx-helper/nginx-helper.php", "wp-super-cache": "wp-super-cache/wp-cache.php"}[name]
    shutil.copytree(f"{PLUGINS}/{name}", f"{site}/wp-content/plugins/{name}", dirs_exist_ok=True)
    run(f"activate_plugin('{file}');")
    run(then)
    try:
        with started as one:
            yield one
    finally:
        run(f"deactivate_plugins('{file}');")


HELPER = "update_site_option('rt_wp_nginx_helper_options', ['enable_purge' => 1, 'cache_method' => 'enable_fastcgi', 'purge_method' => 'unlink_files', 'purge_homepage_on_edit' => 1, 'purge_page_on_mod' => 1]);"
SUPER = ("wp_cache_enable(); wp_super_cache_enable(); wp_cache_setting('wp_cache_mod_rewrite', 1); wp_cache_setting('wp_cache_not_logged_in', 1); wp_cache_setting('wp_cache_clear_on_post_edit', 1); wp_cache_setting('wpsc_rejected_cookies', ['shop_items']); $GLOBALS['wpsc_rejected_cookies'] = ['shop_items'];"
         "$GLOBALS['wp_cache_mod_rewrite'] = 1; $GLOBALS['super_cache_enabled'] = true; wpsc_update_htaccess();")
APACHE = ("proxy", "proxy_fcgi", "rewrite", "dir", "mime", "headers", "expires")


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


def load(port, pid, path, seconds, cookie=None):
    """(requests a second, microseconds of the server's processor time for each)"""
    wrk = ["wrk", "-t1", "-c8", *(["-H", f"Cookie: {cookie}"] if cookie else []), f"http://127.0.0.1:{port}{path}"]
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


def cart_of(who, path):
    found = re.search(r"cart (?:<!--.*?-->|\s)*(\d+)(?:<!--.*?-->|\s)*\.</p>", who.get(path))
    assert found, who.text[-1500:]
    return int(found[1])


def buyers(port, rounds=5):
    """(carts that were not the buyer's own, the cookies of one)"""
    wrong, people = 0, [Visitor(port) for _ in range(4)]
    for i in range(rounds):
        for n, who in enumerate(people):
            for _ in range(n):
                who.get(f"/hello-world/?add={i}")
        for path in ("/", "/hello-world/") * 2:
            for n, who in enumerate(people):
                wrong += cart_of(who, path) != (i + 1) * n
    jar = next(h.cookiejar for h in people[3].opener.handlers if hasattr(h, "cookiejar"))
    return wrong, "; ".join(f"{c.name}={c.value}" for c in jar)


def measure(name, started, seconds, names=True):
    """names=False: the theme writes names into pages that are not to be private, since its plugin takes blocks for what is."""
    with started as (port, pid):
        Visitor(port).made("/")
        rate, cost = load(port, pid, "/", seconds)
        file = load(port, pid, "/page.html", seconds)[1]
        shared, old = f"{wrongly_shared(port)} of 120" if names else "-", old_after_an_edit(port)
        carts, cookies = buyers(port)
        buyer = load(port, pid, "/", seconds, cookies)[0]
    print(f"| {name} | {rate:,.0f} | {cost:.1f} | {cost / file:.2f} | {buyer:,.0f} | {shared} | {carts} of 80 | {old} of 10 |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=3)
    options.add_argument("--only", default="", help="rows whose name has this word")
    options = options.parse_args()
    if not wordpress_site.IS_THERE:
        sys.exit("wordpress, mariadb-server, php8.2-mysql or php-fpm is not there, or this is not root")
    with wordpress() as (root, socket):
        config, tmp = CONFIG.format(root=root, socket=socket), os.path.dirname(root)
        shutil.copytree(pathlib.Path(__file__).parent, f"{root}/wp-content/mu-plugins", ignore=lambda _, names: [n for n in names if n != "page_cache_shop.php"])
        with open(f"{root}/wp-config.php", "r+") as f:
            text = f.read().replace("<?php\n", f"<?php\ndefine('RT_WP_NGINX_HELPER_CACHE_PATH', '{tmp}/cache');\n", 1)
            f.seek(0)
            f.write(text)
        with server(config) as (port, _):
            admin = Visitor(port, "admin")
            admin.set_permalinks()
            with open(f"{root}/page.html", "w") as f:
                f.write(Visitor(port).get("/"))
        print("| Page cache | requests/s | CPU of the server, us | of a file of that size | requests/s with a cart | wrongly shared | wrong carts | old after an edit |\n"
              "|---|---|---|---|---|---|---|---|")
        for name, started in rows(root, socket, config, tmp):
            if options.only in name:
                measure(name, started, options.seconds)
        if wordpress_site.PLUGIN and options.only in "LiteSpeedCache":
            with server("LiteSpeedCache On\n" + config) as (port, _):
                Visitor(port, "admin").activate_plugin()
            measure("Brigade, `LiteSpeedCache On` and the plugin", server("LiteSpeedCache On\n" + config), options.seconds)
            wordpress_site.database(root, "update wp_options set option_value = '1' where option_name = 'litespeed.conf.esi'")
            blocks = f'<Directory "{root}">\nOptions +Includes\nSSIEsi On\n</Directory>\n'
            measure("Brigade, the same, the cart as a block (ESI)", server("LiteSpeedCache On\n" + config + blocks), options.seconds, names=False)


def rows(root, socket, config, tmp):
    yield "Brigade, `CacheEnable` and `CacheBypassCookies`", server("CacheStatusHeader On\n" + RECIPE + config)
    if os.path.exists("/usr/sbin/varnishd"):
        yield "Varnish in front of Apache, BAN after an edit", varnish(config, tmp, root)
    if os.path.exists("/usr/sbin/nginx"):
        yield "nginx, `fastcgi_cache` for 60 s", nginx(root, socket, tmp)
        if os.path.isdir(f"{PLUGINS}/nginx-helper"):
            yield "nginx, `fastcgi_cache` and the plugin Nginx Helper", with_plugin(root, "nginx-helper", HELPER, nginx(root, socket, tmp))
    if os.path.exists("/usr/sbin/apache2"):
        yield "Apache and PHP-FPM, no page cache", server(config, "/usr/sbin/apache2", APACHE)
        if os.path.isdir(f"{PLUGINS}/wp-super-cache"):
            yield "Apache and WP Super Cache's rules", with_plugin(root, "wp-super-cache", SUPER, server(config, "/usr/sbin/apache2", APACHE))
            yield "Brigade and WP Super Cache's rules", with_plugin(root, "wp-super-cache", SUPER, server(config))


if __name__ == "__main__":
    main()
