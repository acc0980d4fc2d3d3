# SPDX-License-Identifier: Apache-2.0
"""The classic site (alone_site.py) on a machine without Apache's files beside Apache with its modules: one configuration, and byte for byte
the same answers, over HTTP and over HTTPS with a certificate of an ACME authority. Brigade's are asked for as often as it takes to come from
memory. As root, Apache's folders are hidden from Brigade in a mount namespace of its own; else its modules are hidden alone, as the
configuration names a folder that is not there."""
import glob
import os
import re
import shutil
import ssl
import subprocess

import pytest

import alone_site
import auth_digest
import brigade
from acme_authority import Authority
from acme_site import shown
from backend import Backend, answer
from http_client import Client
from pebble_authority import Pebble, program
from php_fpm import IS_THERE, php
from stock import driver
from tls_site import start

HIDDEN = ["/usr/lib/apache2", "/usr/share/apache2", "/etc/apache2"]
TIMES = 3  # the third answer comes from memory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK) or not alone_site.apache_has_all(), reason="the peer is absent: Apache and its modules are not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]


def hiding():
    """The words in front of a command that hide Apache from it; none where namespaces cannot be had."""
    binds = f"mount --bind /dev/null {driver.APACHE} && " + " && ".join(f"mount -t tmpfs -o size=4k none {d}" for d in HIDDEN if os.path.isdir(d))
    words = ["unshare", "-m", "sh", "-c", f'{binds} && exec "$@"', "sh"]
    seen = subprocess.run([*words, "ls", *HIDDEN], capture_output=True, text=True)
    return words if os.geteuid() == 0 and not seen.returncode and "modules" not in seen.stdout else []


class Site(brigade.Server):
    """The site on one of the servers, with an authority of its own; all is said by the configuration, nothing by the command line."""

    def __init__(self, binary, fpm, backend, authority):
        self.http, self.tls, self.kind = brigade.free_port(), brigade.free_port(), authority
        super().__init__(alone_site.CONFIG, bare=True, modules=None, pages=None, binary=binary)
        self.values = {"LOADS": alone_site.loads(), "USER": brigade.unprivileged_user(), "GROUP": "www-data", "HTTP": self.http, "TLS": self.tls, "FPM": fpm, "BACKEND": backend}
        if self.apache:
            os.symlink(driver.MODULES, self.path("modules"))
        for name, content in alone_site.FILES.items():
            self.write(name.replace("@ROOT@", self.root), content.replace("@BCRYPT@", "abcdefghijklmnopqrstuu9uPBM7sp4Ru93YxEK4H7hIKAYkzoiF2").replace("@ROOT@", self.root))
        for script in [*glob.glob(self.path("cgi/*")), self.path("htdocs/programs/env.sh")]:
            os.chmod(script, 0o755)
        for folder in ("htdocs", "users", "cgi", "conf"):
            driver.settle(self.path(folder))
        self.authority = None

    def expand(self, text):
        for name, value in self.values.items():
            text = text.replace(f"@{name}@", str(value))
        return super().expand(text)

    def command(self, *args):
        plain = [self.binary, "-d", self.root, "-f", self.path("conf/httpd.conf"), *args]
        return plain if self.apache else [*hiding(), *plain]

    def begin(self):
        """Until it has its certificate; mod_md wants a restart for it."""
        self.authority = self.kind(self.path("made"), {"HTTP": self.http, "TLS": self.tls})
        self.values["ACME"] = self.authority.url
        start(self)
        if self.apache:
            self.wait_for_log("AH10059: The Managed Domain alone.test has been setup")
            self.signal(10)
        brigade.wait_until(lambda: "Test authority" in (seen := shown(self.tls, "alone.test")) or "Pebble" in seen, "the certificate")

    def close(self, failed=False):
        super().close(failed)
        if self.authority:
            self.authority.end()

    def client(self, scheme):
        c = Client("127.0.0.1", self.tls if scheme == "https" else self.port, brigade.PATIENCE)
        if scheme == "https":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            c.socket = context.wrap_socket(c.socket, server_hostname="alone.test")
        return c

    def ask(self, scheme, method, target, headers, body):
        with self.client(scheme) as c:
            return c.request(method, target, headers, body, host="alone.test")

    def normal(self, response, target):
        """Without what differs between any two servers, as the framing of what a program made: it depends on how fast that was."""
        def unified(text):
            for name, value in {"ROOT": self.root, "PORT": self.port, "TLS": self.tls, "BACKEND": self.values["BACKEND"]}.items():
                text = re.sub(rf"(?<!\d){re.escape(str(value))}(?!\d)", name, text)
            return re.sub(r'(nonce|rspauth)="[^"]*"', r'\1="OWN"', text)

        fields = {n.lower(): unified(v) for n, v in response.headers if n.lower() not in ("date", "server", "expires")}
        if re.search(r"\.(shtml|sh|php|own)\b", target):
            for name in ("content-length", "transfer-encoding"):
                fields.pop(name, None)
        # docs/differences-from-apache.md: tags of negotiated files; with Apache also of the page that tells that there is none
        if "etag" in fields:
            fields["etag"] = re.sub(r'^"([^";]*)(;[^"]*)?"?$', r'"\1"' if response.status == 404 else r'"\1\2"', fields["etag"])
        if "allow" in fields:
            fields["allow"] = sorted(fields["allow"].split(","))
        return response.status, fields, unified(response.body.decode("latin-1"))


def application(connection, request):
    """Of the backend: it says what it was asked."""
    path = request.target.split("?")[0]
    if path == "/moved":
        return answer(b"moved\n", "302 Found", [("Location", f"http://127.0.0.1:{connection.socket.getsockname()[1]}/other?x")])
    if path == "/missing":
        return answer(b"not in the application\n", "404 Not Found", [("Content-Type", "text/plain")])
    told = [f"{request.method} {request.target}", *(f"{n}: {request[n]}" for n in ("Host", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Server", "X-In"))]
    return answer("\n".join(told).encode() + b"\n" + request.body, fields=[("Content-Type", "text/plain"), ("Set-Cookie", "a=b; path=/")])


@pytest.fixture(name="sites", scope="module", params=[Authority, pytest.param(Pebble, marks=pytest.mark.skipif(not program("pebble"), reason="pebble is not installed"))])
def fixture_sites(request):
    with php() as fpm, Backend({"*": application}) as backend:
        both = [Site(binary, fpm, backend.port, request.param) for binary in (driver.APACHE, brigade.BINARY)]
        try:
            for site in both:
                site.begin()
            yield both
        finally:
            for site in both:
                site.close()


def steps():
    """(name, of php, method, target, fields, body)"""
    for step in alone_site.STEPS:
        line, headers, body = step if isinstance(step, tuple) and len(step) == 3 else (*step, b"") if isinstance(step, tuple) else (step, {}, b"")
        kind, _, line = line.partition(" ") if line.startswith(("php ", "digest ")) else ("", "", line)
        method, _, target = line.rpartition(" ")
        yield f"{line} {headers}", kind, method or "GET", target, headers, body


def known(site, target):
    """The field of somebody who knows the password."""
    with site.client("http") as c:
        field = c.request("GET", target, host="alone.test")["WWW-Authenticate"]
    told = dict(re.findall(r'(\w+)="?([^",]*)"?', field[len("Digest "):]))
    return {"Authorization": auth_digest.field(told, target, user="ann", password="ann-secret")}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_answers(sites, scheme):
    apache, ours = sites
    differ, asked = {}, 0
    for name, kind, method, target, headers, body in steps():
        if kind == "php" and not IS_THERE:
            continue
        asked += 1
        answers = []
        for site, times in ((apache, 1), (ours, TIMES if method in ("GET", "HEAD") and kind != "digest" else 1)):
            fields = known(site, target) if kind == "digest" else headers
            answers += [site.normal(site.ask(scheme, method, target, fields, body), target) for _ in range(times)]
        if any(a != answers[0] for a in answers):
            differ[name] = answers
    assert not differ, "\n".join(f"{n}: " + "\n    ".join(map(str, a)) for n, a in differ.items())
    assert asked > 80


def test_no_file_is_loaded(sites):
    """All is in the program: -M names no module of a file, and no process has one open."""
    ours = sites[1]
    shown_modules = subprocess.run(ours.command("-M"), capture_output=True, text=True, check=True).stdout
    assert "(shared)" not in shown_modules
    missing = [m for m in alone_site.MODULES if f" {m}_module (static)" not in shown_modules and m not in ("mpm_event", "slotmem_shm", "socache_shmcb")]
    assert not missing, shown_modules
    for child in ours.children():
        with open(f"/proc/{child}/maps") as f:
            assert not re.search(r"mod_\w+\.so", f.read())


def test_apache_is_hidden():
    if os.geteuid() != 0:
        pytest.skip("mount namespaces are root's")
    if not hiding():
        pytest.skip("no mount namespaces here")
    seen = subprocess.run([*hiding(), "sh", "-c", f"ls {' '.join(HIDDEN)}; {driver.APACHE} -v"], capture_output=True, text=True)
    assert "mod_" not in seen.stdout and seen.returncode
