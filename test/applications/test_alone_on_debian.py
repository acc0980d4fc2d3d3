# SPDX-License-Identifier: Apache-2.0
"""The classic site (compat/alone_site.py) on minimal roots of Debian 12 and 13 where no package of Apache is: the built tree is installed
there, serves by the configuration that Apache takes with its modules, and answers as Apache does, byte for byte."""
import contextlib
import os
import re
import subprocess
import tempfile

import pytest

import brigade
import test_alone
from backend import Backend
from debian_root import DebianRoot
from pebble_authority import Pebble, program
from stock import driver

pytestmark = test_alone.pytestmark
PROGRAM = "/usr/local/bin/brigade"
# What the package of the server depends on, php-fpm, and nothing of Apache.
PACKAGES = ["libapr1", "libaprutil1", "libbrotli1", "libcrypt1", "libmaxminddb0", "libpcre2-8-0", "libssl3", "libzstd1", "zlib1g", "media-types", "php-fpm"]


class SiteInside(test_alone.Site):
    """Brigade's, in a root."""

    def __init__(self, debian, fpm, backend):
        self.debian, self.fpm = debian, fpm
        super().__init__(brigade.BINARY, fpm, backend, Pebble)

    def command(self, *args):
        return [*self.debian.words([self.root, self.fpm]), PROGRAM, "-d", self.root, "-f", self.path("conf/httpd.conf"), *args]


def install(debian):
    """The files that the build installs, in a root where only its packages were."""
    build = os.path.dirname(os.path.abspath(brigade.BINARY))
    subprocess.run(["cmake", "--install", build], env={**os.environ, "DESTDIR": debian.path}, capture_output=True, check=True)
    assert os.access(debian.path + PROGRAM, os.X_OK)


@contextlib.contextmanager
def php(debian):
    """The folder of the socket of the root's php-fpm; it serves both, whose pages lie in /tmp."""
    with tempfile.TemporaryDirectory(prefix="brigade-fpm-") as folder:
        os.chmod(folder, 0o755)
        with open(f"{folder}/conf", "w") as f:
            f.write(test_alone.POOL.replace("@ROOT@", folder))
        process = subprocess.Popen([*debian.words([tempfile.gettempdir()]), debian.glob("/usr/sbin/php-fpm*")[0], "-F", "-y", f"{folder}/conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            brigade.wait_until(lambda: os.path.exists(f"{folder}/socket"), "php-fpm")
            yield folder
        finally:
            process.terminate()
            process.wait()


@pytest.fixture(name="debian", scope="module", params=["bookworm", "trixie"])
def fixture_debian(request):
    root = DebianRoot(request.param, PACKAGES)
    install(root)
    return root


@pytest.fixture(name="sites", scope="module")
def fixture_sites(debian):
    if not program("pebble"):
        pytest.skip("pebble is not installed")
    with php(debian) as fpm, Backend({"*": test_alone.application}) as backend:
        both = [test_alone.Site(driver.APACHE, fpm, backend.port, Pebble), SiteInside(debian, fpm, backend.port)]
        try:
            for site in both:
                site.begin()
            yield both
        finally:
            for site in both:
                site.close()


def test_nothing_of_apache_is_there(debian):
    names = debian.output("dpkg-query", "-W", "-f", "${Package}\\n").split()
    assert "php-fpm" in names and not [n for n in names if n.startswith(("apache2", "libapache2"))]
    assert not debian.glob("/usr/lib/apache2") and not debian.glob("/etc/apache2/apache2.conf") and not debian.glob("/usr/sbin/apache2")
    assert re.match(r"Server version: Brigade/", debian.output(PROGRAM, "-v"))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_answers(sites, scheme):
    test_alone.test_answers(sites, scheme)


def test_no_file_is_loaded(sites):
    test_alone.test_no_file_is_loaded(sites)
