# SPDX-License-Identifier: Apache-2.0
"""--takeover-check on what Debian's packages put into /etc/apache2/conf-available: on a machine without Apache's files it says yes to each
that Apache takes with its modules, and names those that ask for a module which is not there."""
import glob
import os
import re
import subprocess
import tempfile

import pytest

import brigade
import debian_tree
import test_debian_config as debian
from applications import unpack
from stock import driver
from test_alone import hiding

pytestmark = debian.pytestmark
PACKAGES = """adminer apache2-doc backuppc bandwidthd cgit dwww ganglia-webfrontend gitweb gosa icingaweb2 javascript-common ldap-account-manager lightsquid mailman3-web
mediawiki munin nagios4-cgi nagvis ocsinventory-server php-horde php8.2-fpm php8.4-fpm phpldapadmin phpmyadmin phpsysinfo piuparts-master postfixadmin roundcube-core
simplesamlphp sitesummary slbackup-php smokeping sympa tt-rss xymon zabbix-frontend-php zoneminder libapache2-mod-shib doc-central""".split()
# What their postinst scripts and README.Debian ask for.
MODULES = ["cgid", "rewrite", "headers", "expires", "proxy", "proxy_fcgi", "proxy_http", "proxy_uwsgi", "authz_groupfile", "auth_digest", "include", "actions"]


def configurations(package):
    """(name, text) of what conf-available has of it: files there, or the one that its scripts lead a link to."""
    root, = unpack(package)
    for path in sorted(glob.glob(f"{root}/etc/apache2/conf-available/*.conf")) or sorted(glob.glob(f"{root}/etc/*/*apache*.conf")):
        if not os.path.exists(path):
            pytest.skip("a link to what its scripts make")
        name = os.path.basename(path)[:-5]
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            yield (package if name.startswith("apache") and name != "apache2-doc" else name), f.read()


@pytest.mark.parametrize("package", PACKAGES)
def test_takeover(package):
    found = list(configurations(package))
    assert found
    for name, text in found:
        apache, ours = check(name, text)
        told = f"{name}: {apache.stderr[-500:]} {ours.stdout[-500:]} {ours.stderr[-500:]}"
        assert (ours.returncode == 0) == (apache.returncode == 0) == ("Can Brigade take over? Yes" in ours.stdout), told
        assert ours.returncode or not hiding() or "0 modules from Apache's files" in ours.stdout, told
        if apache.returncode:  # a directive of a module that comes with no package of these: both name it
            directive = re.search(r"(?:Invalid command '|<)(\w+)", apache.stderr)
            assert directive, told
            assert directive[1] in ours.stderr, told


def check(name, text):
    """What Apache says of Debian's tree with that file enabled, and what Brigade says where Apache's files are hidden."""
    with tempfile.TemporaryDirectory(prefix="brigade-packages-") as root:
        os.chmod(root, 0o755)
        environment = debian_tree.copy(root, 80, MODULES)
        with open(f"{root}/etc/conf-enabled/{name}.conf", "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)
        with open(f"{root}/etc/envvars", "w") as f:
            f.write("".join(f"export {n}={v}\n" for n, v in environment.items()))

        def run(*command, env=None):
            return subprocess.run(command, capture_output=True, text=True, timeout=brigade.PATIENCE, env={**os.environ, **(env or {})})
        return (run(driver.APACHE, "-t", "-d", f"{root}/etc", "-f", "apache2.conf", env=environment),
                run(*hiding(), brigade.BINARY, "--takeover-check", f"{root}/etc"))
