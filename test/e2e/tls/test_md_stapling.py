# SPDX-License-Identifier: Apache-2.0
"""OCSP responses that the built-in md module gets and keeps: MDStapling and its family."""
import glob
import json
import os
import shutil
import subprocess

import pytest

import acme_site
import brigade
from acme_authority import Authority
from http3_client import ask, http3_python
from staple_responder import Responder
from tls_site import TLSAuthority, start

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]

PYTHON = http3_python(brigade.REPOSITORY)
CONFIG = """
BuiltinModule md_module On
EventLoops 1
ServerProcesses 1
MDStoreDir @ROOT@/md
MDRetryDelay 100ms
@GLOBAL@
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
ServerName a.test
SSLEngine on
@HOST@
SSLCertificateFile @ROOT@/made/a.pem
SSLCertificateKeyFile @ROOT@/made/a.key
</VirtualHost>
"""
STATUS = "<Location /md>\nSetHandler md-status\n</Location>\n<Location /server-status>\nSetHandler server-status\n</Location>\n"


class Site:
    def __init__(self, serve, everywhere="MDStapling on\n", host=""):
        self.tls = brigade.free_port()
        config = CONFIG.replace("@TLS@", str(self.tls)).replace("@GLOBAL@", everywhere).replace("@HOST@", host)
        self.server = serve.unstarted(config, {"x.txt": "x\n"})
        self.authority = TLSAuthority(self.server.path("made"))
        self.responder = Responder(self.server.path("made"))
        made = self.authority.make("a.test", "a", extensions=self.responder.aia)
        with open(made["cert"], "ab") as f, open(self.server.path("made/ca.pem"), "rb") as ca:
            f.write(ca.read())

    def start(self):
        start(self.server)
        return self

    def kept(self, name="other"):
        return glob.glob(self.server.path(f"md/ocsp/{name}/ocsp-*.json"))


@pytest.fixture(name="site")
def fixture_site(serve):
    made = []

    def make(*args, **more):
        made.append(Site(serve, *args, **more))
        return made[-1]

    yield make
    for site in made:
        site.responder.end()


def stapled(port, name="a.test", *options):
    """The status in the response that comes with the certificate; None: there is none."""
    out = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", name, "-status", *options], input=b"",
                         capture_output=True, timeout=brigade.PATIENCE).stdout
    assert b"BEGIN CERTIFICATE" in out
    return out.split(b"Cert Status: ")[1].split()[0].decode() if b"OCSP Response Status: successful" in out else None


def wait(site, status="good"):
    brigade.wait_until(lambda: stapled(site.tls) == status, f"a response: {status}")


@pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)")
@pytest.mark.parametrize("on", [True, False])
def test_stapled_over_http3(site, on):
    site = site(f"MDStapling {'on' if on else 'off'}\nProtocols h3 http/1.1\n").start()
    if on:
        wait(site)
    answer = ask(PYTHON, "curl", [{"url": f"https://a.test:{site.tls}/x.txt", "resolve": f"a.test:{site.tls}:127.0.0.1", "staple": site.server.path("made/ca.pem")}])[0]
    assert (answer.body == b"x\n") == on and (on or "status" in str(answer.error)), answer


@pytest.mark.parametrize("everywhere,host", [("MDStapling on\n", ""), ("", "MDStapling on"), ("", "SSLUseStapling on")],
                         ids=["everywhere", "one host", "of the ssl module"])
def test_stapled(site, everywhere, host):
    """The response is kept as mod_md keeps it, and used after a restart, whatever the responder does then."""
    site = site(everywhere, host).start()
    wait(site)
    assert stapled(site.tls, "a.test", "-tls1_2") == stapled(site.tls, "a.test", "-tls1_3") == "good"
    kept, = site.kept()
    with open(kept) as f:
        text = json.load(f)
    assert text["status"] == "good" and set(text["valid"]) == {"from", "until"} and text["response"]
    site.server.stop()
    site.responder.lies.add("busy")
    asked = site.responder.asked
    site.start()
    wait(site)
    assert site.responder.asked == asked


@pytest.mark.parametrize("everywhere", ["MDStapling on\nMDStapleOthers off\n", "MDStapling off\n"])
def test_not_wanted(site, everywhere):
    site = site(everywhere).start()
    assert stapled(site.tls) is None and not site.responder.asked and not os.path.exists(site.server.path("md/ocsp"))


LIES = {"busy": b"answers 503", "later": b"trylater", "nonsense": b"the response is none of OCSP", "empty": b"the response is empty",
        "long": b"the response is too long", "unsigned": b"is not signed by the issuer", "unknown": b"does not know the certificate"}


@pytest.mark.parametrize("lie", LIES)
def test_lies(site, lie):
    """Nothing is sent that a client would refuse; when the responder is itself again, its response is."""
    site = site()
    site.responder.lies.add(lie)
    site.start()
    brigade.wait_until(lambda: LIES[lie] in site.server.error_log(), "a complaint")
    assert stapled(site.tls) is None
    site.responder.lies.clear()
    wait(site)
    site.server.expect_trouble = True


def test_revoked(site):
    """Clients are told."""
    site = site()
    site.authority.revoke("a")
    site.start()
    wait(site, "revoked")


def test_renewed(site):
    """MDStaplingRenewWindow: with most of a minute left."""
    site = site("MDStapling on\nMDStaplingRenewWindow 99%\n")
    site.responder.life = ("-nmin", "1")
    site.start()
    wait(site)
    brigade.wait_until(lambda: site.responder.asked > 2, "further questions")
    assert stapled(site.tls) == "good"


def test_removed(site):
    """MDStaplingKeepResponse: of certificates that are not there any more."""
    site = site("MDStapling on\nMDStaplingKeepResponse 1d\n")
    os.makedirs(site.server.path("md/ocsp/gone.test"))
    for name, age in (("old", 2 * 86400), ("new", 3600)):
        path = site.server.path(f"md/ocsp/gone.test/ocsp-{name}.json")
        open(path, "w").close()
        os.utime(path, (os.stat(path).st_mtime - age,) * 2)
    site.start()
    wait(site)
    assert [os.path.basename(f) for f in site.kept("gone.test")] == ["ocsp-new.json"]


def test_told(site):
    """MDMessageCmd, and the pages."""
    site = site("MDStapling on\nMDMessageCmd @ROOT@/message\nLoadModule status_module @MODULES@/mod_status.so\n" + STATUS)
    with open(site.server.path("message"), "w") as f:
        f.write(f"#!/bin/sh\necho \"$@\" >> {site.server.path('messages')}\n")
    os.chmod(site.server.path("message"), 0o755)
    open(site.server.path("messages"), "w").close()
    os.chmod(site.server.path("messages"), 0o666)
    site.responder.lies.add("busy")
    site.start()

    def messages():
        with open(site.server.path("messages")) as f:
            return f.read()
    brigade.wait_until(lambda: "ocsp-errored other\n" in messages(), "a message")
    site.responder.lies.clear()
    brigade.wait_until(lambda: "ocsp-renewed other\n" in messages(), "another")
    wait(site)
    page = site.server.get("/server-status").body
    assert b"<h3>Managed Staplings</h3>" in page and b"<td>good</td>" in page
    site.server.expect_trouble = True


def test_of_a_managed_domain(serve):
    """From the moment on that its certificate is used, without a restart."""
    ports = {name: brigade.free_port() for name in ("HTTP", "TLS")}
    config = acme_site.CONFIG + "MDStapling on\nMDStapleOthers off\nMDCertificateCheck site https://check.test/?q=\nMDomain md.test\n" + STATUS
    server = serve.unstarted(config, {"index.html": "x"})
    authority = Authority(server.path("made"), ports)
    responder = Responder(server.path("made"))
    authority.extensions, authority.issued = responder.aia, responder.add
    try:
        for name, value in {**ports, "ACME": authority.url}.items():
            server.config = server.config.replace(f"@{name}@", str(value))
        start(server)
        brigade.wait_until(lambda: stapled(ports["TLS"], "md.test") == "good", "a response")
        domain, = json.loads(server.get("/md").body)["managed-domains"]
        assert domain["stapling"] is True and domain["cert"]["ocsp"]["status"] == "good"
        assert b"Doing graceful restart" not in server.error_log()
        page = server.get("/server-status").body.decode()
        assert f'<a href="https://check.test/?q={domain["cert"]["sha256-fingerprint"]}">site</a>' in page
    finally:
        responder.end()
        authority.end()
