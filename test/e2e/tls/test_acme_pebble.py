# SPDX-License-Identifier: Apache-2.0
"""Certificates that the built-in md module gets from pebble, an ACME authority for tests: nonces that it does not take, accounts that
are bound, profiles, both ways of proofs."""
import os
import subprocess

import pytest

import brigade
from acme_site import CONFIG, shown
from pebble_authority import Pebble, program
from tls_site import start


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not program("pebble") or not program("pebble-challtestsrv"), reason="pebble is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]


@pytest.fixture(name="got")
def fixture_got(serve):
    """A server that has its certificate."""
    pebbles = []

    def make(config, env=None, name="md.test", ready=None, **more):
        ports = {name: brigade.free_port() for name in ("HTTP", "TLS")}
        server = serve.unstarted(CONFIG + config)
        server.pebble = Pebble(server.path("made"), ports, env, **more)
        pebbles.append(server.pebble)
        for word, value in {**ports, "ACME": f"https://127.0.0.1:{server.pebble.port}"}.items():
            server.config = server.config.replace(f"@{word}@", str(value))
        start(server)
        if ready:
            ready(server)
        brigade.wait_until(lambda: "Pebble" in shown(ports["TLS"], name), "the certificate")
        server.ports = ports
        return server

    yield make
    for pebble in pebbles:
        pebble.end()


@pytest.mark.parametrize("way", ["http-01", "tls-alpn-01"])
@pytest.mark.parametrize("rejected", ["0", "50"])
def test_ways(got, way, rejected):
    """Half of all nonces are not taken, too."""
    server = got(f"MDomain md.test\nMDCAChallenges {way}\n", {"PEBBLE_WFE_NONCEREJECT": rejected})
    server.expect_trouble = rejected != "0"


def test_authorizations_of_before(got):
    """Two kinds of keys are two orders: the second finds valid authorizations."""
    server = got("MDPrivateKeys secp256r1 RSA 2048\nMDomain md.test\n", {"PEBBLE_AUTHZREUSE": "100"})
    assert sorted(os.listdir(server.path("md/domains/md.test"))) == ["md.json", "privkey.pem", "privkey.secp256r1.pem", "pubcert.pem",
                                                                     "pubcert.secp256r1.pem"]


def test_a_bound_account(got):
    got("MDExternalAccountBinding kid-1 zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W\nMDomain md.test\n",
        externalAccountBindingRequired=True,
        externalAccountMACKeys={"kid-1": "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"})


def knows(word):
    """Debian 12's pebble does not know profiles, nor dns-persist-01."""
    with open(program("pebble"), "rb") as f:
        return word in f.read()


@pytest.mark.parametrize("way", ["http-01", "tls-alpn-01"])
def test_an_address(got, way):
    """Of IPv6, alone, on six days."""
    if not knows(b"Profiles"):
        pytest.skip("this pebble has no profiles")
    server = got(f"Listen [::1]:@HTTP@\nListen [::1]:@TLS@\nMDProfile short\nMDCAChallenges {way}\nMDomain md.test\nMDomain ::1\n<VirtualHost *:@TLS@>\nServerName [::1]\nSSLEngine on\n"
                 "Protocols h2 http/1.1 acme-tls/1\n</VirtualHost>\n",
                 profiles={"default": {"description": "long", "validityPeriod": 7776000}, "short": {"description": "six days", "validityPeriod": 518400}})
    brigade.wait_until(lambda: "IP Address:0:0:0:0:0:0:0:1" in shown(server.ports["TLS"], "[::1]"), "the certificate of the address")


def test_names_on_demand(got):
    """A handshake comes with a certificate that did not exist when it began."""
    server = got("""MDomain md.test
MDOnDemandLimits wait=60
<VirtualHost *:@HTTP@>
ServerName hosting.test
ServerAlias *.hosting.test
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName hosting.test
ServerAlias *.hosting.test
SSLEngine on
Protocols h2 http/1.1 acme-tls/1
MDOnDemand "expr=%{HTTP_HOST} =~ /^[a-m]/"
</VirtualHost>
""", name="a.hosting.test")
    assert "DNS:k.hosting.test" in shown(server.ports["TLS"], "k.hosting.test")
    assert "Pebble" not in shown(server.ports["TLS"], "z.hosting.test")


def test_a_record_that_stays(got):
    """dns-persist-01: the log says which record is wanted; set once, it proves the name and its wildcard."""
    if not knows(b"dns-persist-01"):
        pytest.skip("this pebble does not know dns-persist-01")

    def ready(server):
        found = server.wait_for_log(rb'looks for the record  (\S+)\. IN TXT "([^"]+)"')
        server.pebble.record(found.group(1).decode(), found.group(2).decode())

    server = got("MDCAChallenges dns-persist-01\nMDomain md.test *.md.test\n", ready=ready)
    server.expect_trouble = True
    assert "DNS:*.md.test" in shown(server.ports["TLS"], "md.test")


def test_a_profile(got):
    """Of six days."""
    if not knows(b"Profiles"):
        pytest.skip("this pebble has no profiles")
    server = got("MDProfile short\nMDProfileMandatory on\nMDomain md.test\n",
                 profiles={"default": {"description": "long", "validityPeriod": 7776000}, "short": {"description": "six days", "validityPeriod": 518400}})
    done = subprocess.run(["openssl", "x509", "-noout", "-checkend", str(7 * 86400), "-in", server.path("md/domains/md.test/pubcert.secp256r1.pem")],
                          capture_output=True)
    assert done.returncode == 1, "it ends within a week"


@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_md.so"), reason="mod_md is not installed")
def test_apaches_module_goes_on_with_the_store(got, serve):
    """Its certificate is used, and no other one is asked for."""
    server = got("MDomain md.test\n")
    before = shown(server.ports["TLS"], "md.test")
    server.stop()
    lines = len(server.error_log())
    server.config = server.config.replace("BuiltinModule md_module On", f"BuiltinModule ssl_module On\nLoadModule ssl_module {brigade.APACHE_MODULES}/"
                                          f"mod_ssl.so\nLoadModule md_module {brigade.APACHE_MODULES}/mod_md.so\nLogLevel md:debug")
    start(server)
    assert shown(server.ports["TLS"], "md.test") == before
    assert b"Contacting ACME server" not in server.error_log()[lines:]
