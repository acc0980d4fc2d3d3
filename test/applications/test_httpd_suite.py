# SPDX-License-Identifier: Apache-2.0
"""The suite that Apache's project has for httpd (github.com/apache/httpd-tests), on Apache and here with one configuration: what fails here
and not there is in KNOWN with its reason, and an entry that does not fail any more fails the test.

    HTTPD_TESTS=FOLDER        a checkout of the suite, which is copied
    HTTPD_TESTS_PERL=FOLDERS  where its Perl modules are, in addition to Perl's own (Apache::Test, LWP, ...): a PERL5LIB
    HTTPD_TESTS_ONLY="t/..."  files of it, instead of all

docs/internals/suites.md tells what came of it."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import brigade
from ports import free_port
from stock import driver

SUITE = os.environ.get("HTTPD_TESTS", "")
PERL = os.environ.get("HTTPD_TESTS_PERL", "")
ONLY = os.environ.get("HTTPD_TESTS_ONLY", "").split()
pytestmark = [
    pytest.mark.skipif(not os.path.exists(f"{SUITE}/t/TEST.PL") and not os.path.exists(f"{SUITE}/Makefile.PL"), reason="HTTPD_TESTS names no checkout of apache/httpd-tests"),
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
LEFT_OUT = {"mpm_prefork", "mpm_worker", "cgi", "ldap", "authnz_ldap", "authnz_fcgi", "security2", "php8.2", "wsgi", "fcgid", "xsendfile", "md", "authnz_mellon"}

# What fails here and not on Apache: file, subtests ("all": the file ends early), reason.
KNOWN = {
    "t/apache/chunkinput.t": ("2-3 5 7 9 11 13 15 17 19 21 27 29", "a transfer coding in HTTP/1.0 is refused (docs/differences-from-apache.md, ambiguous framing)"),
    "t/apache/headers.t": ("11-12 14-15 17-18 20-21 23-24", "folded fields are refused (docs/differences-from-apache.md)"),
    "t/apache/http_strict.t": ("all", "folded fields are refused, and half a head has no answer: the file ends at it"),
    "t/apache/pr49328.t": ("1", "a page that is there as a whole is sent with its length: too short to be compressed (length of parsed pages)"),
    "t/apache/pr17629.t": ("3", "the same, a page of 17 bytes"),
    "t/apache/pr43939.t": ("3", "the same, a page of 18 bytes"),
    "t/modules/deflate.t": ("3-4 7-8 11-12 15-16 19-20 23-24 27-28 31-32 35-36 39-40 43-44", "a body that cannot be inflated is 400, as in Apache 2.5, also where the handler says OK (bodies that cannot be read)"),
    "t/modules/info.t": ("1", "it expects all modules that -l lists to be loaded"),
    "t/modules/lua.t": ("34", "r.banner is this server's name"),
    "t/ssl/varlookup.t": ("6", "SERVER_SOFTWARE: the suite asks for what -v says"),
}


def numbers(text):
    """Of "1-3 5, 7"."""
    found = set()
    for one in re.findall(r"\d+(?:-\d+)?", text):
        first, _, last = one.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def summary(output):
    """File -> its failed subtests, or "all" where it ended early; and how many subtests there were."""
    failed, name = {}, None
    for line in output.partition("Test Summary Report")[2].splitlines():
        if head := re.match(r"(t/\S+\.t)\s+\(Wstat: (\d+)", line):
            name = head[1]
            failed[name] = set() if head[2] == "0" else "all"
        elif name and line.startswith("  ") and "TODO" not in line and failed[name] != "all":
            failed[name] = "all" if "Bad plan" in line else failed[name] | numbers(line.partition("tests:")[2] or line.partition("test:")[2] or line)
    totals = re.search(r"^Files=(\d+), Tests=(\d+)", output, re.M)
    assert totals, output[-3000:]
    return failed, int(totals[2])


class Suite:
    """A copy of the suite, configured for one program."""

    def __init__(self, program, where):
        self.root = where
        shutil.copytree(SUITE, where, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        self.env = {**os.environ, "PERL5LIB": PERL, "HOME": where, "LD_LIBRARY_PATH": ":".join(glob.glob(f"{PERL.split(':')[-1]}/../..")) if PERL else ""}
        self.user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        with open(f"{where}/loads.conf", "w", encoding="ascii") as f:
            f.write(f"ServerRoot {where}\nTypesConfig /etc/mime.types\n" + "".join(f"LoadModule {name}_module {path}\n" for name, path in modules()))
        if self.user:
            subprocess.run(["chown", "-R", "65534:65534", where], check=True)
        done = self.run("perl", "Makefile.PL", "-apxs", shutil.which("apxs") or "/usr/bin/apxs", "-httpd", program, "-httpd_conf", f"{where}/loads.conf")
        if done.returncode:
            pytest.skip(f"the suite cannot be configured (HTTPD_TESTS_PERL?): {done.stdout[-500:]}")

    def run(self, *command, seconds=1500):
        return subprocess.run([*self.user, *command], cwd=self.root, env=self.env, capture_output=True, text=True, errors="replace", timeout=seconds, stdin=subprocess.DEVNULL)

    def test(self):
        files = ONLY or sorted(os.path.relpath(f, self.root) for f in glob.glob(f"{self.root}/t/**/*.t", recursive=True))
        output = self.run("t/TEST", "-port", str(free_port()), *files).stdout
        return (*summary(output), output) if "Test Summary Report" in output else ({}, summary("Test Summary Report" + output)[1], output)


def modules():
    """Each module of Apache's that the suite may ask for, those first that others need."""
    first = ["mpm_event", "authn_core", "authz_core", "proxy", "slotmem_shm", "cache", "session", "dav", "dbd", "ssl"]
    there = [os.path.basename(f)[4:-3] for f in sorted(glob.glob(f"{driver.MODULES}/mod_*.so"))]
    for name in [*first, *(m for m in there if m not in first)]:
        if name in there and not any(name.startswith(out) for out in LEFT_OUT - {"cgi"}) and name != "cgi":
            yield name, f"{driver.MODULES}/mod_{name}.so"


def test_suite():
    with tempfile.TemporaryDirectory(prefix="brigade-suite-") as root:
        os.chmod(root, 0o755)
        program = shutil.copy(brigade.BINARY, f"{root}/brigade")
        os.chmod(program, 0o755)
        apaches, there, _ = Suite(driver.APACHE, f"{root}/apache").test()
        ours, here, output = Suite(program, f"{root}/here").test()
    print(f"{here} subtests here, {there} on Apache")
    wrong = []
    for name in sorted({*ours, *KNOWN}):
        known = KNOWN.get(name, ("", ""))[0]
        known = known if known == "all" else numbers(known)
        failed = ours.get(name, set())
        if failed != "all" and apaches.get(name) != "all":
            failed = failed - apaches.get(name, set())
        if ONLY and name not in ONLY:
            continue
        if failed != known and not (failed == "all" and apaches.get(name) == "all"):
            wrong.append(f"{name}: failed {sorted(failed) if failed != 'all' else failed}, known {sorted(known) if known != 'all' else known}")
    assert not wrong, "\n".join(wrong) + "\n" + output[-2000:]
