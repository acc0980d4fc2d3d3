# SPDX-License-Identifier: Apache-2.0
"""Certificates that change on the disk are taken without a reload, and shown to administrators."""
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading

import pytest

import brigade
from tls_site import TLSAuthority, start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="Apache needs a reload")]

CONFIG = """
BuiltinModule ssl_module On
KeepAliveTimeout 60
LoadModule ssl_module @MODULES@/mod_ssl.so
EventLoops 2
ServerProcesses 2
KeepAliveTimeout 60
Listen 127.0.0.1:@TLS@
<Location /status>
SetHandler server-status
</Location>
<VirtualHost *:@TLS@>
ServerName a.test
SSLEngine on
SSLCertificateFile @ROOT@/live/a/fullchain.pem
SSLCertificateKeyFile @ROOT@/live/a/privkey.pem
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName b.test
SSLEngine on
SSLCertificateFile @ROOT@/b/cert.pem
SSLCertificateKeyFile @ROOT@/b/key.pem
</VirtualHost>
""" + "".join(f"""
<VirtualHost *:@TLS@>
ServerName {name}.test
SSLEngine on
SSLCertificateFile @ROOT@/{name}/cert.pem
SSLCertificateKeyFile @ROOT@/{name}/key.pem
</VirtualHost>
""" for name in "cde")


class Site:
    """a.test has certbot's layout, b.test a folder of its own."""

    def __init__(self, unstarted):
        self.tls = brigade.free_port()
        self.server = unstarted(CONFIG.replace("@TLS@", str(self.tls)), {"x.txt": "x\n"}, modules=())
        self.authority = TLSAuthority(self.server.path("made"))
        self.version = 0
        os.makedirs(self.server.path("live/a"))
        os.makedirs(self.server.path("archive/a"))
        self.renew_a()
        for name in "bcde":
            os.makedirs(self.server.path(name))
            self.put(name, self.authority.make(f"{name}.test", f"{name}1"))
        start(self.server)

    def renew_a(self):
        """As certbot does it: new files in archive, then the links, one after the other."""
        self.version += 1
        made = self.authority.make("a.test", f"a{self.version}")
        for kind, name in (("cert", "fullchain"), ("key", "privkey")):
            file = f"{name}{self.version}.pem"
            shutil.copy(made[kind], self.server.path("archive/a", file))
            link = self.server.path("live/a", f"{name}.pem")
            if os.path.lexists(link):
                os.remove(link)
            os.symlink(f"../../archive/a/{file}", link)
        return f"a{self.version}"

    def put(self, name, made):
        for kind in ("cert", "key"):
            shutil.copy(made[kind], self.server.path(name, f"{kind}.pem"))

    def connect(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.tls), brigade.PATIENCE), server_hostname=name)

    def unit(self, name):
        """What the certificate says in OU: which one it is."""
        with self.connect(name) as s:
            return self.authority.unit(s.getpeercert(binary_form=True))

    def shows(self, name, unit, times=8):
        """All loops of all processes: connections go to any of them."""
        brigade.wait_until(lambda: self.unit(name) == unit, f"{unit} at {name}")
        brigade.wait_until(lambda: all(self.unit(name) == unit for _ in range(times)), f"{unit} at {name} in all loops")


@pytest.fixture(scope="module")
def site(serve_module):
    return Site(serve_module.unstarted)


def get(s):
    s.sendall(b"GET /x.txt HTTP/1.1\r\nHost: a.test\r\n\r\n")
    data = b""
    while not data.endswith(b"x\n"):
        more = s.recv(4096)
        assert more, data
        data += more
    return data


@pytest.mark.threads
def test_renewed_as_by_certbot_under_load(site):
    """No request fails meanwhile, and connections that are open keep going."""
    failed, count, end = [], [0], threading.Event()

    def load():
        while not end.is_set():
            try:
                with site.connect("a.test") as s:
                    assert get(s).startswith(b"HTTP/1.1 200")
                count[0] += 1
            except (OSError, AssertionError) as e:
                failed.append(e)

    threads = [threading.Thread(target=load) for _ in range(3)]
    with site.connect("a.test") as kept:
        children = site.server.children()
        get(kept)
        for t in threads:
            t.start()
        try:
            site.shows("a.test", site.renew_a())
            site.shows("a.test", site.renew_a())
        finally:
            end.set()
            for t in threads:
                t.join()
        get(kept)
    assert not failed and count[0] > 20
    assert site.server.children() == children, "no process was replaced"
    assert site.unit("b.test") == "b1"


@pytest.mark.threads
def test_renewed_and_reloaded_while_sessions_are_resumed(site):
    """No connection fails, whichever loop has which certificates; sessions outlast both."""
    failed, resumed, end = [], [0], threading.Event()

    def load(version):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = version
        session = None
        while not end.is_set():
            try:
                with socket.create_connection(("127.0.0.1", site.tls), brigade.PATIENCE) as plain:
                    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    with context.wrap_socket(plain, server_hostname="a.test", session=session) as s:
                        assert get(s).startswith(b"HTTP/1.1 200")
                        session = s.session
                        resumed[0] += s.session_reused
            except (OSError, AssertionError) as e:
                failed.append(e)

    threads = [threading.Thread(target=load, args=(v,)) for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3) * 2]
    for t in threads:
        t.start()
    try:
        for _ in range(2):
            unit, before = site.renew_a(), site.server.children()
            site.server.signal(signal.SIGUSR1)
            site.shows("a.test", unit)
            brigade.wait_until(lambda old=before: not set(old) & set(site.server.children()), "new processes")
    finally:
        end.set()
        for t in threads:
            t.join()
    assert not failed and resumed[0] > 20


def test_half_of_a_pair_waits_for_the_other(site):
    made = site.authority.make("b.test", "b2")
    shutil.copy(made["cert"], site.server.path("b/cert.pem"))
    assert site.unit("b.test") == "b1"
    shutil.copy(made["key"], site.server.path("b/key.pem"))
    site.shows("b.test", "b2")
    assert b"is not taken" not in site.server.error_log()


def test_folder_replaced_with_another_type_of_key(site):
    made = site.authority.make("b.test", "b3", key=("rsa", "rsa_keygen_bits:2048"))
    folder = site.server.path("b")
    os.mkdir(folder + ".new")
    shutil.copy(made["cert"], folder + ".new/cert.pem")
    shutil.copy(made["key"], folder + ".new/key.pem")
    os.rename(folder, folder + ".old")
    os.rename(folder + ".new", folder)
    site.shows("b.test", "b3")
    site.server.wait_for_log(r"new certificate for b.test:\d+ from .*/b/cert.pem: names b.test, issued by Test authority, 29 days left")


def test_key_that_only_root_may_read(site):
    made = site.authority.make("b.test", "b4")
    os.chmod(made["key"], 0o600)
    shutil.copy(made["key"], site.server.path("b/key.tmp"))
    os.chmod(site.server.path("b/key.tmp"), 0o600)
    shutil.copy(made["cert"], site.server.path("b/cert.pem"))
    os.rename(site.server.path("b/key.tmp"), site.server.path("b/key.pem"))
    site.shows("b.test", "b4")


def test_other_names_are_told(site):
    site.put("b", site.authority.make("other.test", "b5"))
    site.shows("b.test", "b5")
    site.server.wait_for_log(r"AH01909: b.test:\d+ server certificate does NOT include an ID which matches the server name")


@pytest.mark.slow
def test_bad_ones_are_not_taken(site):
    shutil.copy(site.authority.make("c.test", "c2")["key"], site.server.path("c/key.pem"))
    site.server.write("cert.pem", "nothing\n", base="d")
    site.put("e", site.authority.make("e.test", "e2", days=-1, old=9))
    for name, message in (("c", "AH02565"), ("d", "AH02561"), ("e", "e/cert.pem is expired")):
        site.server.wait_for_log(f"the changed certificate or key of {name}.test:\\d+ is not taken; the one before stays")
        assert site.server.error_log().count(message.encode()) == 1, "it is said once"
        assert site.unit(f"{name}.test") == f"{name}1"
    for name in "cde":
        site.put(name, site.authority.make(f"{name}.test", f"{name}3"))
    for name in "cde":
        site.shows(f"{name}.test", f"{name}3")


@pytest.mark.slow
def test_one_that_begins_later_is_taken_then(site):
    """No file changes any more when it does."""
    site.put("e", site.authority.make("e.test", "e7", old=-8 / 86400))
    site.server.wait_for_log("e/cert.pem is not valid yet: it is tried again when it is")
    assert site.unit("e.test") != "e7"
    site.shows("e.test", "e7")
    assert site.server.error_log().count(b"is not valid yet") == 1


def test_after_a_reload_too(site):
    unit = site.renew_a()
    site.shows("a.test", unit)
    before = site.server.children()
    os.kill(site.server.process.pid, signal.SIGUSR1)
    brigade.wait_until(lambda: not set(before) & set(site.server.children()), "new processes")
    site.put("b", site.authority.make("b.test", "b9"))
    site.shows("b.test", "b9")
    site.shows("a.test", unit)


# ---- shown ----

def test_status_page(site):
    site.put("c", site.authority.make("c.test", "c5", days=40))
    site.shows("c.test", "c5")
    server = site.server
    assert re.search(rf"<td>c.test:{site.tls}</td><td>EC</td><td>c.test</td><td>Test authority</td><td>39</td>".encode(), server.get("/status").body)
    assert f"Certificate c.test:{site.tls} EC: 39 days, names c.test, issuer Test authority, file {server.path('c/cert.pem')}\n".encode() in \
        server.get("/status?auto").body
    shown = {c["server"].split(":")[0]: c for c in json.loads(server.get("/status?certificates=json").body)["certificates"]}
    assert set(shown) == {f"{n}.test" for n in "abcde"}
    assert shown["c.test"]["days_left"] == 39 and shown["c.test"]["until"] > shown["c.test"]["since"] > shown["a.test"]["since"]
    figures = server.get("/status?certificates=prometheus").body.decode()
    assert re.search(rf'^brigade_certificate_not_after_seconds{{server="c.test:{site.tls}",key="EC",issuer="Test authority",file=".*"}} \d+$', figures, re.M)
    assert server.get("/status?certificates=reset").status == 404


def test_command_line(site):
    made = site.authority.make("d.test", "d5", days=3)
    site.put("d", made)
    site.shows("d.test", "d5")
    done = site.server.run("-t", "-D", "DUMP_CERTS")
    assert done.returncode == 0
    assert re.search(rf"Server certificates:\n(?s:.*)  {site.server.path('d/cert.pem')}\n    d.test:{site.tls}: EC, names d.test, issued by "
                     rf"Test authority, until .* GMT, 2 days left\n".encode(), done.stdout)
    assert f"the certificate of d.test:{site.tls} expires in" not in done.stderr.decode(), "3 days of a life of 3"


def test_warned_before_the_end(site):
    """At a start, and by -t: what has less than 14 days."""
    made = site.authority.make("e.test", "e5", days=10, old=50)
    site.put("e", made)
    site.shows("e.test", "e5")
    message = rf"the certificate of e.test:{site.tls} expires in 9 days \({site.server.path('e/cert.pem')}, issued by Test authority\)"
    done = site.server.run("-t")
    assert done.returncode == 0 and re.search(message.encode(), done.stderr) and b"Syntax OK" in done.stderr
    os.kill(site.server.process.pid, signal.SIGUSR1)
    site.server.wait_for_log(message)
