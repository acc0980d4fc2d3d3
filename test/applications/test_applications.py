# SPDX-License-Identifier: Apache-2.0
"""Applications of Debian's packages with their own configuration, behind php-fpm and behind mod_php with prefork: visitors click
through them, and both servers show the same."""
import glob
import os
import re
import threading

import pytest

import brigade
import scripts
import test_debian_config as debian
from browser import Browser
from machine import Machine
from stock import driver

pytestmark = debian.pytestmark
PHP = ["php-fpm", "libapache2-mod-php", "php-sqlite3", "php-mysql", "php-xml", "php-mbstring", "php-intl", "php-gd", "php-curl"]
PACKAGES = {"roundcube": ["roundcube-core", "roundcube-sqlite3"], "dokuwiki": ["dokuwiki"], "mediawiki": ["mediawiki"], "adminer": ["adminer", "mariadb-server"],
            "phpmyadmin": ["phpmyadmin", "mariadb-server"], "wordpress": ["wordpress", "wordpress-theme-twentytwentyone", "mariadb-server"]}
MODULES = ["rewrite", "headers", "expires"]


@pytest.fixture(scope="module")
def packages():
    """A Debian with all applications that can be had, and their names."""
    try:
        machine = Machine()
    except OSError as e:
        pytest.skip(str(e))
    try:
        def install(*names, more=()):
            return machine.run("apt-get", "install", "-y", "--no-install-recommends", *more, *names)
        had = [name for name, needs in PACKAGES.items() if install(*PHP, *needs, more=["-s"]).returncode == 0]
        if not had:
            pytest.skip("packages of PHP and applications cannot be had")
        done = install(*PHP, *{p for name in had for p in PACKAGES[name]})
        if done.returncode:
            pytest.skip(f"packages cannot be installed: {done.stderr[-500:]}")
        for name in had:
            scripts.PREPARE.get(name, lambda _: None)(machine)
        yield machine, had
    finally:
        machine.close()


class Site:
    """A copy of that Debian with its services, and a web server in it."""

    def __init__(self, binary, way, parent, had):
        self.machine, self.server = Machine(parent), None
        try:
            for folder in self.glob("/etc/php/*/*/conf.d"):  # Adminer counts failed logins there
                self.machine.write(f"{folder}/99-test.ini", "sys_temp_dir = /var/tmp\n")
            if way == "fpm":
                self.machine.must("sh", "-c", "a2enconf $(basename -a /etc/apache2/conf-available/php*-fpm.conf)")
                self.machine.start(self.fpm(), "-F", ready=lambda: self.glob("/run/php/*.sock"))
            if self.machine.exists("/usr/sbin/mariadbd"):
                self.machine.start("/usr/sbin/mariadbd", "--user=mysql", "--skip-networking", ready=lambda: self.machine.run("mariadb", "-e", scripts.DATABASE).returncode == 0)
            embedded = ["mpm_prefork", *self.php()]
            more, without = (["proxy", "proxy_fcgi"], embedded) if way == "fpm" else (embedded, ["mpm_event"])
            self.server = debian.DebianServer(binary, MODULES + more, scripts.CONFIG, without)
            with self.machine:
                self.server.start()
        except BaseException:
            self.close()
            raise

    def glob(self, pattern):
        with self.machine:
            return glob.glob(pattern)

    def fpm(self):
        return self.glob("/usr/sbin/php-fpm*")[0]

    def php(self):
        return [os.path.basename(p)[:-5] for p in self.glob("/etc/apache2/mods-available/php*.load")]

    def close(self):
        try:
            if self.server:
                self.server.close()
        finally:
            self.machine.close()


@pytest.fixture(scope="module", params=["fpm", "mod_php"])
def sites(request, packages):
    pair = []
    try:
        for binary in (driver.APACHE, brigade.BINARY):
            pair.append(Site(binary, request.param, *packages))
        yield pair
    finally:
        for site in pair:
            site.close()


def test_built_in_modules_alone(sites):
    """As Debian's configuration is: no file of Apache's is loaded, and of others mod_php at most."""
    here = sites[1]
    with here.machine:
        done = here.server.run("-M")
    assert done.returncode == 0
    files = re.findall(rb" (\w+) \(shared\)", done.stdout)
    assert [f for f in files if not f.startswith(b"php")] == [], done.stdout


COMMON = [(r"localhost:\d+|\bPort \d+", "localhost"), (r"(?:Apache|Brigade)/[\d.]+(?: \([^)]*\))?", "SERVER"), (r"(?i)\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*, \d\d? [a-z]{3} \d{4} [\d:]{8}(?: GMT| [+-]\d{4})?", "DATE"),
          (r"\d{4}[-/]\d\d[-/]\d\d(?:T|%20|\+|\s)\d\d(?::|%3A)\d\d(?:(?::|%3A)\d\d)?(?:Z|[+-]\d\d:?\d\d)?", "DATE"), (r"\b1[78]\d{8}(?:\.\d+)?\b", "SECONDS"), (r"\b\d\d:\d\d(?::\d\d)?\b", "TIME")]
GAINS_LITTLE = 69  # bytes; mod_deflate's coding of less is longer
LEFT_OUT = ("date", "server", "set-cookie", "content-length", "transfer-encoding", "connection", "keep-alive", "etag")


def plain(text, nonces):
    for pattern, by in nonces:
        text = re.sub(pattern, by, text)
    return text


def said(asked, answer, nonces):
    fields = sorted((k.lower(), plain(v, nonces)) for k, v in answer.headers if k.lower() not in LEFT_OUT)
    if len(answer.body) < GAINS_LITTLE:  # docs/differences-from-apache.md, "length of parsed pages"
        fields = [(k, v.replace(",Accept-Encoding", "")) for k, v in fields if k != "content-encoding"]
    cookies = [re.sub(r"=[^;]*", "=VALUE", c, count=1) for c in answer.all("Set-Cookie")]
    cookies = sorted(plain(re.sub(r"(?i)expires=[^;]*|max-age=\d{2,}", "EXPIRES", c), nonces) for c in cookies)
    text = answer.body.decode("utf-8", "surrogateescape")
    return plain(asked, nonces), answer.status, answer.reason, fields, cookies, plain(text, nonces).splitlines()


def click(site, script, into):
    browser = Browser(site.server)
    into.append(browser)
    try:
        script(browser)
        browser.done = True
    except BaseException as e:  # told by the caller
        browser.done = e
    finally:
        browser.close()


def around(one, other):
    """Where two lines part."""
    at = max(len(os.path.commonprefix([one, other])) - 60, 0)
    return one[at:at + 160], other[at:at + 160]


def differences(browsers, nonces):
    found = []
    for one, other in zip(*(b.seen for b in browsers)):
        a, b = (said(*x, nonces) for x in (one, other))
        if a[:5] != b[:5]:
            found.append((a[:5], b[:5]))
        elif a[5] != b[5]:
            lines = [around(x, y) for x, y in zip(a[5], b[5]) if x != y]
            found.append((a[0], len(a[5]), len(b[5]), lines[:2]))
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_application(sites, packages, name):
    if name not in packages[1]:
        pytest.skip(f"the packages {PACKAGES[name]} cannot be had")
    seen = [], []
    threads = [threading.Thread(target=click, args=(site, scripts.SCRIPTS[name], into)) for site, into in zip(sites, seen)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    browsers = [into[0] for into in seen]
    found = differences(browsers, scripts.NONCES.get(name, []) + COMMON)
    counts = [len(b.seen) for b in browsers]
    print(name, counts)
    assert not found, "\n".join([f"{len(found)} of {counts}"] + [str(f)[:1500] for f in found[:8]])
    for b in browsers:
        assert b.done is True, (b.server.binary, b.done, [asked for asked, _ in b.seen[-5:]])
    assert counts[0] == counts[1] > 20
