# SPDX-License-Identifier: Apache-2.0
"""Certificates that the built-in md module gets from an ACME authority."""
import functools
import glob
import os
import re
import shutil
import subprocess

import pytest

import acme_site
import brigade
from acme_site import CONFIG, FALLBACK, shown, sites, status

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]

class Site(acme_site.Site):
    def __init__(self, serve, config="MDomain md.test\n", auto=None, **more):
        super().__init__(serve.unstarted(auto or CONFIG + config, files={"index.html": "the page"}), **more)

    def has(self, name="md.test"):
        return "Test authority" in shown(self.ports["TLS"], name)

    def wait(self, name="md.test"):
        brigade.wait_until(lambda: self.has(name), f"the certificate of {name}")


@pytest.fixture(name="site")
def fixture_site(serve):
    yield from sites(functools.partial(Site, serve))


@pytest.mark.parametrize("way", ["http-01", "tls-alpn-01"])
def test_got(site, way):
    """Used without a restart; until then the host answers 503 over what stands in."""
    site = site(f"MDomain md.test\nMDCAChallenges {way}\n")
    site.authority.lies.add("busy")
    site.start()
    assert FALLBACK in shown(site.ports["TLS"], "md.test")
    assert " 503" in status(site.ports["TLS"], "md.test").split("\n")[0]
    site.authority.lies.clear()
    site.wait()
    assert "DNS:md.test, DNS:www.md.test" in shown(site.ports["TLS"], "md.test")
    brigade.wait_until(lambda: " 200" in status(site.ports["TLS"], "md.test").split("\n")[0], "an answer")
    assert b"Doing graceful restart" not in site.server.error_log()
    assert all(kind == "valid" for kind in (a["status"] for a in site.authority.authzs))


def test_the_store(site):
    """It is mod_md's, and nobody but its owner can read it; it is used at the next start."""
    site = site().start()
    site.wait()
    folder = site.server.path("md")
    for file in ("md_store.json", "domains/md.test/privkey.secp256r1.pem", "domains/md.test/pubcert.secp256r1.pem", "domains/md.test/md.json"):
        assert os.stat(os.path.join(folder, file)).st_mode & 0o777 == 0o600, file
    account, = glob.glob(f"{folder}/accounts/ACME-127.0.0.1-0000/account.pem")
    with open(account) as f:
        assert "ENCRYPTED PRIVATE KEY" in f.read()
    brigade.wait_until(lambda: any(p.startswith("/renewal/") for p in site.authority.asked), "a question about renewal")
    site.server.stop()
    orders = len(site.authority.orders)
    site.start()
    assert site.has() and len(site.authority.orders) == orders


def test_renewed(site):
    """When the authority advises it (RFC 9773): the order says what it replaces."""
    site = site()
    site.start()
    site.wait()
    before = shown(site.ports["TLS"], "md.test")
    brigade.wait_until(lambda: any(p.startswith("/renewal/") for p in site.authority.asked), "a question about renewal")
    asked, = {p for p in site.authority.asked if p.startswith("/renewal/")}
    site.server.stop()
    site.authority.advice = (1, 2)
    os.unlink(site.server.path("md/jobs/md.test.json"))
    site.start()
    brigade.wait_until(lambda: shown(site.ports["TLS"], "md.test") != before, "another certificate")
    assert site.authority.orders[-1]["asked"]["replaces"] == asked[len("/renewal/"):]
    assert site.authority.accounts_made == 1
    brigade.wait_until(lambda: len({p for p in site.authority.asked if p.startswith("/renewal/")}) == 2, "a question about the new one")
    assert len(site.authority.orders) == 2, "the same advice for the new one is not followed at once"


def test_six_days(site):
    """Certificates that live shorter than MDRenewWindow are renewed in their last third, not without end."""
    site = site("MDRenewWindow 30d\nMDRenewViaARI off\nMDomain md.test\n", days=6).start()
    site.wait()
    brigade.wait_until(lambda: b"is used from now on" in site.server.error_log(), "the log")
    site.server.stop()
    site.start()
    assert site.has() and len(site.authority.orders) == 1


LIES = {"redirect": b"it redirects, which is not followed", "json": b"the answer is not JSON", "deep": b"the answer is not JSON",
        "no-directory": b"no directory of ACME", "busy": b"answers 503: later", "cut": b"the answer is cut",
        "nonsense": b"the answer is not HTTP", "endless": b"the answer is too long", "nonce": b"a nonce that nobody gave",
        "invalid": b"order status is 'invalid'", "words": b"order status is 'invalid'", "token": b"challenge is none",
        "other-name": b"is not for md.test", "other-key": b"do not match", "no-cert": b"is no certificate", "limit": b"answers 429: too many"}


@pytest.mark.parametrize("lie", LIES)
def test_lies(site, lie):
    """The host goes on with what it has; when the authority is itself again, it gets its certificate."""
    site = site()
    site.authority.lies.add(lie)
    site.start()
    brigade.wait_until(lambda: LIES[lie] in site.server.error_log(), "a complaint")
    assert FALLBACK in shown(site.ports["TLS"], "md.test")
    site.authority.lies.clear()
    site.wait()
    site.server.expect_trouble = True


def test_another_nonce(site):
    site = site()
    site.authority.lies.add("nonce-once")
    site.start()
    site.wait()
    assert b"encountered error" not in site.server.error_log()


def test_an_account_that_is_forgotten(site):
    """Another one is made."""
    site = site().start()
    site.wait()
    site.server.stop()
    site.authority.accounts.clear()
    shutil.rmtree(site.server.path("md/domains/md.test"))
    site.start()
    site.wait()
    assert site.authority.accounts_made == 2
    site.server.expect_trouble = True


def test_external_account_and_profile(site):
    site = site("MDExternalAccountBinding kid-1 c2VjcmV0LXNlY3JldA\nMDProfile short\nMDomain md.test\n", binding=("kid-1", "c2VjcmV0LXNlY3JldA"),
                profiles={"short": "six days"}).start()
    site.wait()
    assert site.authority.orders[-1]["asked"]["profile"] == "short"


@pytest.mark.parametrize("config,more,message", [
    ("MDProfile none\nMDProfileMandatory on\n", {}, b"mandatory ACME profile 'none' is not offered by CA"),
    ("MDCAChallenges dns-01\n", {}, b"'dns-01' is disabled because the directive 'MDChallengeDns01' is not configured"),
    ("", {"binding": ("a", "b")}, b"asks for an external account"),
    ("MDCertificateAgreement https://example.test/other\n", {}, b"agree to its terms of service"),
    ("MDCACertificateFile none\n", {}, b"its certificate is not trusted"),
])
def test_refusals(site, config, more, message):
    site = site(f"{config}MDomain md.test\n", **more).start()
    brigade.wait_until(lambda: message in site.server.error_log(), "a complaint")
    site.server.expect_trouble = True


def test_dns(site):
    """By a program, as the user of server processes, for a wildcard as well."""
    site = site("MDChallengeDns01 @ROOT@/dns.sh\nMDCAChallenges dns-01\nMDomain md.test *.md.test\n")
    program, record = site.server.path("dns.sh"), site.server.path("made/dns")
    with open(program, "w") as f:
        f.write(f'#!/bin/sh\necho "$@" >> {record}\n')
    os.chmod(program, 0o755)
    open(record, "w").close()
    os.chmod(record, 0o666)
    os.chmod(site.server.path("made"), 0o755)
    site.start()
    site.wait()
    with open(record) as f:
        lines = f.read().split("\n")
    assert sum(line.startswith("setup md.test ") for line in lines) >= 2
    assert "teardown md.test" in lines


@pytest.mark.parametrize("way", ["http-01", "tls-alpn-01"])
def test_an_address(site, way):
    """RFC 8738: beside a name, and by itself; proven by the address, or by the name that stands for it in a handshake."""
    site = site(f"MDomain 127.0.0.1 md.test\nMDCAChallenges {way}\n").start()
    site.wait()
    text = shown(site.ports["TLS"], "md.test")
    assert "IP Address:127.0.0.1" in text and "DNS:md.test" in text
    assert {(i["type"], i["value"]) for i in site.authority.orders[-1]["asked"]["identifiers"]} == {("ip", "127.0.0.1"), ("dns", "md.test"), ("dns", "www.md.test")}


@pytest.mark.parametrize("way", ["http-01", "tls-alpn-01"])
@pytest.mark.parametrize("written", ["2001:DB8:0:0::7", "[2001:db8::7]"])
def test_an_address_of_ipv6(site, way, written):
    """However it is written; proven in brackets, or by the name of ip6.arpa."""
    site = site(f"MDomain {written} md.test\nMDCAChallenges {way}\n").start()
    site.wait()
    assert "IP Address:2001:DB8:0:0:0:0:0:7" in shown(site.ports["TLS"], "md.test")
    assert ("ip", "2001:db8::7") in {(i["type"], i["value"]) for i in site.authority.orders[-1]["asked"]["identifiers"]}


def test_a_host_that_is_an_address(site):
    """Its ServerName has brackets; its certificate is that of the managed domain."""
    site = site("MDomain 2001:db8::7\n")
    site.server.config = site.server.config.replace("ServerName md.test", "ServerName [2001:db8::7]").replace("ServerAlias www.md.test", "")
    site.start()
    brigade.wait_until(lambda: "IP Address:2001:DB8:0:0:0:0:0:7" in shown(site.ports["TLS"], "x.test"), "the certificate")


PERSIST = "MDCAChallenges dns-persist-01\nMDomain md.test *.md.test\n"


def test_a_record_that_stays(site):
    """dns-persist-01: the log has the record; once somebody set it, names are proven by it, and renewed."""
    site = site(PERSIST)
    site.authority.persists = ["authority.example", "other.example"]
    site.server.expect_trouble = True
    site.start()
    found = brigade.wait_until(lambda: re.search(rb'looks for the record  (_validation-persist\.md\.test)\. IN TXT "([^"]+)"', site.server.error_log()), "the record")
    name, record = (part.decode() for part in found.groups())
    assert record.startswith(f"authority.example; accounturi={site.authority.url}/account/") and record.endswith("; policy=wildcard")
    assert not site.has()
    site.authority.records[name] = record
    site.wait()
    assert "DNS:md.test, DNS:*.md.test" in shown(site.ports["TLS"], "md.test") or "DNS:*.md.test, DNS:md.test" in shown(site.ports["TLS"], "md.test")
    assert not any("acme-challenge" in path for path in site.authority.asked)


@pytest.mark.parametrize("persists", [None, [], ["a b"], ['a"b'], ["A.example"], [7], ["x" * 300], [["a"]], [""]])
def test_a_record_of_nobody(site, persists):
    """It is not offered, or names what is no host: the job ends with a complaint, and no record is told."""
    site = site(PERSIST)
    site.authority.persists = persists
    site.server.expect_trouble = True
    site.start()
    said = b"None of offered challenge types" if persists is None else b"the authority's challenge is none"
    brigade.wait_until(lambda: said in site.server.error_log(), "a complaint")
    assert b"looks for the record" not in site.server.error_log()


def test_the_next_authority(site):
    """MDRetryFailover: after so many errors."""
    dead = brigade.free_port()
    site = site(f"MDRetryFailover 2\nMDCertificateAuthority https://127.0.0.1:{dead}/dir @ACME@/dir\nMDomain md.test\n").start()
    site.wait()
    assert b"encountered error for the 2. time" in site.server.error_log()
    site.server.expect_trouble = True


def test_require_https(site):
    site = site("<MDomainSet md.test>\nMDRequireHttps permanent\n</MDomainSet>\n").start()
    site.wait()
    answer = status(site.ports["HTTP"], "md.test", "/a?b", "http")
    assert " 301" in answer.split("\n")[0] and "\nLocation: https://md.test/a?b\r\n" in answer
    brigade.wait_until(lambda: "strict-transport-security: max-age=15768000" in status(site.ports["TLS"], "md.test"), "the field")
    assert " 404" in status(site.ports["HTTP"], "md.test", "/.well-known/acme-challenge/none", "http").split("\n")[0]


def test_the_daemon_dies(site):
    """Another one is started; the server serves on."""
    site = site().start()
    site.wait()
    daemon, = (pid for pid in site.server.children() if open(f"/proc/{pid}/comm").read() == "brigade-md\n")
    os.kill(daemon, 9)
    site.server.wait_for_log("the daemon of managed domains died")
    assert site.has()
    site.server.expect_trouble = True


def test_status(site):
    import json
    site = site("<Location /st>\nSetHandler md-status\n</Location>\nMDomain md.test\n").start()
    site.wait()

    def told():
        done = subprocess.run(["curl", "-s", "--resolve", f"md.test:{site.ports['HTTP']}:127.0.0.1", f"http://md.test:{site.ports['HTTP']}/st/md.test"],
                              check=True, capture_output=True)
        return json.loads(done.stdout)
    brigade.wait_until(lambda: told()["state"] == 2, "the state")
    assert told()["domains"] == ["md.test", "www.md.test"] and "valid" in told()["cert"]


AUTO = """
ServerName md.test
MDStoreDir @ROOT@/md
MDCertificateAuthority @ACME@/dir
MDCACertificateFile @ROOT@/made/ca.pem
MDPortMap http:@HTTP@ https:@TLS@
MDRetryDelay 100ms
Listen 127.0.0.1:@HTTP@
"""


@pytest.mark.parametrize("lines,hsts", [
    ("AutoHTTPS On\n", None),
    ("AutoHTTPS On hsts=600\n", "600"),
    ("<VirtualHost *:@HTTP@>\nServerName http://md.test:@HTTP@\nServerAlias www.md.test\nAutoHTTPS on\nHeader set X-Of host\n</VirtualHost>\n", None)])
def test_auto_https(site, lines, hsts):
    """A name is enough: TLS, HTTP/2, a redirect as soon as there is a certificate, and HSTS by choice."""
    site = site(auto=AUTO + lines)
    site.authority.lies.add("busy")
    site.start()
    assert " 200" in status(site.ports["HTTP"], "md.test", scheme="http").split("\n")[0], "in the clear, until there is a certificate"
    site.authority.lies.clear()
    site.wait()
    brigade.wait_until(lambda: "HTTP/2 200" in status(site.ports["TLS"], "md.test"), "an answer")
    answer = status(site.ports["TLS"], "md.test")
    assert (f"strict-transport-security: max-age={hsts}" in answer) if hsts else "strict-transport" not in answer
    assert ("x-of: host" in answer) == ("X-Of" in lines)
    answer = status(site.ports["HTTP"], "md.test", "/x", "http")
    assert (" 301" if hsts else " 302") in answer.split("\n")[0] and "Location: https://md.test/x\r\n" in answer
    if "www" in lines:
        assert "DNS:www.md.test" in shown(site.ports["TLS"], "md.test")


@pytest.mark.parametrize("lines,message", [("AutoHTTPS maybe\n", "unknown 'maybe'"), ("AutoHTTPS On hsts=x\n", "a number of seconds"),
                                           ("<VirtualHost *:9>\nAutoHTTPS On\n</VirtualHost>\n", "needs a ServerName"),
                                           ("MDPortMap https:-\nAutoHTTPS On\n", "no port is reached")])
def test_auto_https_mistakes(serve, lines, message):
    done = serve.unstarted("ServerName x.test\n" + lines).run("-t")
    assert done.returncode and message in done.stderr.decode()


def test_used_later(site):
    """MDActivationDelay: a new certificate waits, where there is one to go on with; the next start has another delay."""
    site = site("MDActivationDelay 1d\nMDomain md.test\n").start()
    site.wait()
    before = shown(site.ports["TLS"], "md.test")
    brigade.wait_until(lambda: any(p.startswith("/renewal/") for p in site.authority.asked), "a question about renewal")
    site.server.stop()
    site.authority.advice = (1, 2)
    os.unlink(site.server.path("md/jobs/md.test.json"))
    site.start()
    site.server.wait_for_log(r"md.test has a new certificate; it is used from \w+, .* on")
    site.server.stop()
    assert os.path.exists(site.server.path("md/jobs/md.test.staged/privkey.secp256r1.pem"))
    site.start()
    assert shown(site.ports["TLS"], "md.test") == before and len(site.authority.orders) == 2
    site.server.stop()
    site.server.config = site.server.config.replace("MDActivationDelay 1d", "MDActivationDelay 0")
    site.start()
    brigade.wait_until(lambda: shown(site.ports["TLS"], "md.test") != before, "the new one")
    assert not os.path.exists(site.server.path("md/jobs/md.test.staged")) and len(site.authority.orders) == 2
