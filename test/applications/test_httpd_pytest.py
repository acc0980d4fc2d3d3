# SPDX-License-Identifier: Apache-2.0
"""The suite in Python that is part of httpd's source (test/modules: core, http1, http2, proxy), on Apache and here: what fails here and not there
is in KNOWN with its reason, and an entry that does not fail any more fails the test.

    HTTPD_PYTEST=FOLDER        the folder test/ of a checkout of httpd, which is copied
    HTTPD_PYTEST_PYTHON=FILE   an interpreter that has pytest, pyOpenSSL, websockets, filelock and python-multipart
    HTTPD_PYTEST_ONLY="..."    of the folders below test/modules, instead of all four; HTTPD_PYTEST_KEEP=1 keeps what was run

docs/internals/suites.md tells what came of it."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import pytest

import brigade
from ports import free_port
from stock import driver

SUITE = os.environ.get("HTTPD_PYTEST", "")
PYTHON = os.environ.get("HTTPD_PYTEST_PYTHON", sys.executable)
ONLY = os.environ.get("HTTPD_PYTEST_ONLY", "core http1 http2 proxy").split()
pytestmark = [
    pytest.mark.skipif(not os.path.exists(f"{SUITE}/pyhttpd/config.ini.in"), reason="HTTPD_PYTEST names no folder test/ of httpd's source"),
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]

# Tests that fail here and not on Apache, and why.
HALF = "half a head has no answer (docs/differences-from-apache.md)"
KNOWN = {
    r"TestRequestStrict::test_h1_007_01\[GET / HTTP/1\.0\\r\\r-None\]": HALF,
    r"TestRequestUnsafe::test_h1_006_01\[GET / HTTP/1\.0\\r\\nHost: localhost:80 x\\r\\n\\r-400-None\]": HALF,
    r"TestRequestUnsafe::test_h1_006_01\[GET / HTTP/1\.0\\r\\r-None-None\]": HALF,
}


class Suite:
    """A copy of the suite, configured for one program."""

    def __init__(self, program, where):
        self.where = where
        shutil.copytree(SUITE, f"{where}/test", symlinks=True)
        os.makedirs(f"{where}/bin")
        for name, command in (("apachectl", f'exec {program} "$@"'), ("apxs", f'exec {shutil.which("apxs")} "$@"')):
            with open(f"{where}/bin/{name}", "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\n{command}\n")
            os.chmod(f"{where}/bin/{name}", 0o755)
        self.configure({"prefix": where, "exec_prefix": where, "bindir": f"{where}/bin", "sbindir": f"{where}/bin", "libdir": "/usr/lib", "libexecdir": driver.MODULES,
                        "APR_BINDIR": "/usr/bin", "HTTPD_VERSION": "2.4.71", "progname": "apache2", "DSO_MODULES": "", "MPM_MODULES": "mpm_event",
                        "abs_srcdir": f"{where}/test/pyhttpd"})

        with open(f"{where}/test/clients/Makefile", "w", encoding="ascii") as f:
            f.write("all:\n\t-cc h2ws.c -o h2ws -lnghttp2\n")  # the client of WebSockets over HTTP/2

    def configure(self, words):
        with open(f"{self.where}/test/pyhttpd/config.ini.in", encoding="ascii") as f:
            text = re.sub(r"@(\w+)@", lambda m: words[m[1]], f.read())
        with open(f"{self.where}/test/pyhttpd/config.ini", "w", encoding="ascii") as f:
            f.write(re.sub(r"(_port2? = )\d+", lambda m: m[1] + str(free_port()), text))

    def test(self, folder):
        """Test -> whether it passed; not those that were left out."""
        report = f"{self.where}/{folder}.xml"
        done = subprocess.run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--junit-xml={report}", f"modules/{folder}"], cwd=f"{self.where}/test",
                              env={**os.environ, "MPM": "event"}, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
        self.stop()
        if not os.path.exists(report):
            pytest.skip(f"the suite cannot run (HTTPD_PYTEST_PYTHON?): {(done.stdout + done.stderr)[-500:]}")
        with open(f"{self.where}/{folder}.log", "w", encoding="utf-8") as f:
            f.write(done.stdout)
        outcomes = {}
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
            if case.find("skipped") is None:
                outcomes[name] = outcomes.get(name, True) and case.find("failure") is None and case.find("error") is None
        return outcomes

    def stop(self):
        """Servers that the suite has left."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if f" -d {self.where}/test/".encode() in b" " + f.read().replace(b"\0", b" "):
                        os.kill(int(pid), signal.SIGTERM)
            except OSError:
                pass


@pytest.mark.parametrize("folder", ONLY)
def test_suite(folder):
    where = tempfile.mkdtemp(prefix="brigade-pytest-")
    os.chmod(where, 0o755)
    program = shutil.copy(brigade.BINARY, f"{where}/brigade")
    there, here = Suite(driver.APACHE, f"{where}/apache").test(folder), Suite(program, f"{where}/here").test(folder)
    print(f"{folder}: {sum(here.values())} of {len(here)} pass here, {sum(there.values())} of {len(there)} on Apache")
    failed = {name for name, passed in here.items() if not passed and there.get(name)}
    known = {name for name in there if any(re.fullmatch(pattern, name) for pattern in KNOWN)}
    wrong = [f"fails here: {name}" for name in sorted(failed - known)] + [f"passes: {name}" for name in sorted(known - failed)]
    assert not wrong, "\n".join([*wrong, f"kept: {where}"])
    if not os.environ.get("HTTPD_PYTEST_KEEP"):
        shutil.rmtree(where)
