# SPDX-License-Identifier: Apache-2.0
"""WordPress of Debian's package with a database and PHP-FPM of its own, and its visitors.

LSCACHE_WP names the folder of the plugin "LiteSpeed Cache" as it was published (litespeed-cache.php lies in it); without it only WordPress is there."""
import contextlib
import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request

import brigade
from php_fpm import IS_THERE as PHP_IS_THERE
from php_fpm import POOL, php

WORDPRESS = "/usr/share/wordpress"
MARIADB = next((p for p in ("/usr/sbin/mariadbd", "/usr/sbin/mysqld") if os.access(p, os.X_OK)), None)
PLUGIN = os.environ.get("LSCACHE_WP")
IS_THERE = PHP_IS_THERE and bool(MARIADB) and os.path.isdir(WORDPRESS) and bool(shutil.which("mariadb-install-db"))
SALTS = ("AUTH_KEY", "SECURE_AUTH_KEY", "LOGGED_IN_KEY", "NONCE_KEY", "AUTH_SALT", "SECURE_AUTH_SALT", "LOGGED_IN_SALT", "NONCE_SALT")
SETTINGS = """<?php
define('DB_NAME', 'wp'); define('DB_USER', 'root'); define('DB_PASSWORD', ''); define('DB_HOST', 'localhost:%s'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
%s
$table_prefix = 'wp_';
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true); define('AUTOMATIC_UPDATER_DISABLED', true); define('WP_CACHE', true); define('FS_METHOD', 'direct');
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']); define('WP_SITEURL', 'http://' . $_SERVER['HTTP_HOST']);
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
INSTALL = """<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'localhost'; $_SERVER['REQUEST_URI'] = '/'; $_SERVER['REQUEST_METHOD'] = 'GET'; $_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
function wp_mail() { return true; }
wp_install('Site', 'admin', 'admin@example.org', true, '', 'secret');
switch_theme('plain');
foreach (['anna', 'bert'] as $name) wp_create_user($name, 'secret', "$name@example.org");
echo 'installed';
"""
# Each page that PHP makes has a number of its own, and the name of the user it was made for.
THEME = """<!DOCTYPE html><html><head><?php wp_head(); ?></head><body>
<?php while (have_posts()) { the_post(); echo '<article><h1>'; the_title(); echo '</h1>'; the_content(); echo '</article>'; if (is_singular()) comments_template(); } ?>
<p>made <?php echo bin2hex(random_bytes(8)); ?> for <?php echo wp_get_current_user()->user_login ?: 'nobody'; ?></p><?php wp_footer(); ?></body></html>
"""
CONFIG = """DocumentRoot {root}
DirectoryIndex index.php
<Directory "{root}">
AllowOverride All
Options FollowSymLinks
Require all granted
</Directory>
<FilesMatch "\\.php$">
SetHandler "proxy:unix:{socket}|fcgi://localhost"
</FilesMatch>
# WordPress writes its rules for a server of this name.
ProxyFCGISetEnvIf "true" SERVER_SOFTWARE "Apache"
"""


def _make(folder):
    site = f"{folder}/site"
    shutil.copytree(WORDPRESS, site, ignore=shutil.ignore_patterns("wp-config.php", "languages"), ignore_dangling_symlinks=True)
    theme = f"{site}/wp-content/themes/plain"
    os.makedirs(theme, exist_ok=True)
    os.makedirs(f"{site}/wp-content/uploads", exist_ok=True)
    for name, text in {"style.css": "/*\nTheme Name: Plain\n*/\n", "index.php": THEME, "comments.php": "<?php wp_list_comments(); comment_form();\n"}.items():
        with open(f"{theme}/{name}", "w") as f:
            f.write(text)
    with open(f"{site}/wp-config.php", "w") as f:
        f.write(SETTINGS % (f"{folder}/db/s", "".join(f"define('{name}', '{name.lower()}');" for name in SALTS)))
    with open(f"{site}/.htaccess", "w"):
        pass
    if PLUGIN:
        shutil.copytree(PLUGIN, f"{site}/wp-content/plugins/litespeed-cache", ignore=shutil.ignore_patterns(".git"))
    subprocess.run(["chown", "-R", "www-data", site], check=True)
    return site


@contextlib.contextmanager
def _database(folder):
    data = f"{folder}/db"
    os.mkdir(data)
    shutil.chown(data, "mysql")
    subprocess.run(["mariadb-install-db", "--user=mysql", f"--datadir={data}", "--auth-root-authentication-method=normal"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process = subprocess.Popen([MARIADB, "--no-defaults", "--user=mysql", f"--datadir={data}", f"--socket={data}/s", "--skip-networking", f"--pid-file={data}/pid"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        brigade.wait_until(lambda: not subprocess.run(["mariadb", "-S", f"{data}/s", "-u", "root", "-e", "create database if not exists wp"], capture_output=True).returncode, "mariadb", 60)
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def wordpress():
    """(its folder, the socket of PHP-FPM)"""
    with tempfile.TemporaryDirectory(prefix="brigade-wp-") as folder:
        os.chmod(folder, 0o755)
        site = _make(folder)
        with open(f"{folder}/install.php", "w") as f:
            f.write(INSTALL)
        with _database(folder), php(POOL, children=4) as fpm:
            done = subprocess.run(["php", "-d", "memory_limit=256M", "-d", "sendmail_path=/bin/true", f"{folder}/install.php", site], capture_output=True)
            assert done.stdout.endswith(b"installed"), done.stdout + done.stderr
            yield site, f"{fpm}/socket"


def database(site, command):
    """Carry out a command on the database of the WordPress in that folder."""
    subprocess.run(["mariadb", "-S", f"{os.path.dirname(site)}/db/s", "-u", "root", "-e", command, "wp"], check=True)


class Visitor:
    """With cookies of their own."""

    def __init__(self, port, user=None):
        self.base = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        if user:
            self.get("/wp-login.php")
            self.get("/wp-login.php", {"log": user, "pwd": "secret", "wp-submit": "Log In", "testcookie": "1", "redirect_to": self.base + "/wp-admin/"})

    def get(self, path, data=None, **fields):
        body = data if isinstance(data, bytes) or data is None else urllib.parse.urlencode(data).encode()
        try:
            got = self.opener.open(urllib.request.Request(self.base + path, body, fields), timeout=60)
        except urllib.error.HTTPError as e:
            got = e
        self.status, self.headers, self.text = got.status, got.headers, got.read().decode(errors="replace")
        return self.text

    def made(self, path):
        """(the page's number, for whom it was made)"""
        found = re.search(r"made (\w+) for (\w+)", self.get(path))
        assert found, self.text[-2000:]
        return found.groups()

    # -- what an administrator does --

    def set_permalinks(self):
        nonce = re.search(r'name="_wpnonce" value="(\w+)"', self.get("/wp-admin/options-permalink.php"))[1]
        self.get("/wp-admin/options-permalink.php", {"_wpnonce": nonce, "selection": "/%postname%/", "permalink_structure": "/%postname%/", "submit": "Save"})
        assert self.status == 200

    def activate_plugin(self):
        """By the link of the page of plugins, as its own installer does the rest."""
        link = re.search(r'href="(plugins\.php\?action=activate&amp;plugin=litespeed-cache[^"]+)"', self.get("/wp-admin/plugins.php"))[1]
        self.get("/wp-admin/" + link.replace("&amp;", "&"))
        self.get("/wp-admin/")
        assert self.status == 200

    def edit(self, post, title):
        nonce = re.search(r'createNonceMiddleware\(\s*"(\w+)"', self.get(f"/wp-admin/post.php?post={post}&action=edit"))[1]
        self.get(f"/wp-json/wp/v2/posts/{post}?_locale=user", json.dumps({"title": title}).encode(), **{"Content-Type": "application/json", "X-WP-Nonce": nonce, "X-HTTP-Method-Override": "PUT"})
        assert self.status == 200, self.text
