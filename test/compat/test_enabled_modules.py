# SPDX-License-Identifier: Apache-2.0
"""a2enmod and a2dismod: a module is there where the configuration loads it, and only there, also where it is built in."""
import os
import re
import subprocess

import pytest

import brigade
import http_client
import debian_tree
import test_debian_config as debian
from stock import driver
from stock.driver import Case, Step

pytestmark = debian.pytestmark


def names(folder):
    path = f"{debian_tree.ETC}/{folder}"
    return sorted(f[:-5] for f in os.listdir(path) if f.endswith(".load")) if os.path.isdir(path) else []


ENABLED = [m for m in names("mods-enabled") if not m.startswith("mpm_")]
# Modules that Debian's Apache refuses alone, that want a program to talk to, or another process model.
SHARED = [m for m in names("mods-available") if m not in ENABLED and not m.startswith(("mpm_", "php"))]
HTACCESS = """<IfModule mod_headers.c>
Header set X-By headers
</IfModule>
<IfModule mod_expires.c>
ExpiresActive On
ExpiresDefault A60
</IfModule>
<IfModule mod_include.c>
Options +Includes
AddOutputFilter INCLUDES .shtml
</IfModule>
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteRule ^moved$ index.html
</IfModule>
"""
FILES = {"ht/.htaccess": HTACCESS, "ht/index.html": "index\n", "ht/page.shtml": '<!--#echo var="DOCUMENT_NAME" -->, long enough to be compressed: ' + 70 * "x" + "\n", "ht/bad/.htaccess": "Header set X-By headers\n", "ht/bad/a.txt": "a\n"}
STEPS = debian.DEFAULT_STEPS + [Step(t, unify=[(r"[A-Z][a-z]{2}, \d\d [^;]*GMT", "DATE")]) for t in ("/ht/index.html", "/ht/page.shtml", "/ht/moved", "/ht/bad/a.txt", "/ht/", "/ht/index.html")]


class EnabledServer(debian.DebianServer):
    def write_config(self, config=None):
        super().write_config(config)
        for name, text in FILES.items():
            self.write(name, text, base="www/html")
        driver.settle(self.path("www"))


def pair(modules=(), without=()):
    return [EnabledServer(binary, modules, debian.ALLOW, without) for binary in (driver.APACHE, brigade.BINARY)]


def listed(server, *args):
    done = server.run("-t", *args)
    return done.returncode, set(re.findall(r"^ (\w+_module)", done.stdout.decode(), re.M)), done.stderr


def compare(modules=(), without=()):
    """The same modules are listed, and the same is answered; or both refuse the configuration."""
    servers = pair(modules, without)
    try:
        codes, lists, errors = zip(*[listed(s, "-D", "DUMP_MODULES") for s in servers])
        assert (codes[0] == 0) == (codes[1] == 0), errors
        if codes[0]:
            return
        assert lists[1] - lists[0] == {"asn_module", "file_module", "limit_module", "memory_module", "metrics_module", "request_id_module", "early_hints_module"} and not lists[0] - lists[1]
        for server in servers:
            try:
                server.start()
                server.get("/")
            except (AssertionError, OSError, http_client.Truncated) as e:  # it wants something else, too: the other has to refuse it as well
                codes = [*codes, str(e)]
        if len(codes) > 2:
            assert len(codes) == 4, codes
            return
        differences = driver.drive(servers, Case("enabled", "", STEPS, unify=debian.UNIFY, unframed=True))
        assert not differences, "\n".join(differences[:20])
    finally:
        for server in servers:
            server.expect_trouble = True
            server.close()


@pytest.mark.parametrize("module", ENABLED)
def test_disabled(module):
    compare(without=[module])


def test_many_disabled():
    compare(without=["autoindex", "mime", "negotiation", "setenvif", "env", "reqtimeout", "status", "deflate", "dir", "filter"])


@pytest.mark.parametrize("module", SHARED)
def test_enabled(module):
    compare(list(driver.depends(module)))


def test_a_configuration_that_is_not_apaches_has_all():
    """Apache's name mod_authz_core or a process model; one of ours may add some of its modules."""
    rewrite = f"LoadModule rewrite_module {driver.MODULES}/mod_rewrite.so"
    authz = f"LoadModule authz_core_module {driver.MODULES}/mod_authz_core.so"
    mpm = f"LoadModule mpm_event_module {driver.MODULES}/mod_mpm_event.so"
    with brigade.Server() as server:
        done = subprocess.run([brigade.BINARY, "-d", server.root, "-f", server.path("conf/httpd.conf"), "-M"], capture_output=True, text=True, check=True)
        assert {"mime_module", "headers_module", "include_module"} <= set(re.findall(r"(\w+_module)", done.stdout))
        with open(server.path("conf/httpd.conf"), "a") as f:
            f.write("<IfModule !mod_headers.c>\nError none\n</IfModule>\n")
        for more, there in (("", True), ("BuiltinModules loaded", False), (rewrite, True), (authz, False), (mpm, True),
                            (f"{mpm}\n{rewrite}", False), (f"{rewrite}\n{mpm}", False), (f"{authz}\nBuiltinModules all", True)):
            with open(server.path("conf/more.conf"), "w") as f:
                f.write(f"<IfModule mod_expires.c>\nDefine EXPIRES\n</IfModule>\n{more}\n<IfDefine EXPIRES>\nError there\n</IfDefine>\n")
            done = subprocess.run([brigade.BINARY, "-d", server.root, "-f", server.path("conf/more.conf"), "-t"], capture_output=True, text=True)
            assert ("there" in done.stderr) == there, (more, done.stderr)
