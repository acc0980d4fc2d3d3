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

    def make(config, env=None, **more):
        ports = {name: brigade.free_port() for name in ("HTTP", "TLS")}
        server = serve.unstarted(CONFIG + config)
        pebble = Pebble(server.path("made"), ports, env, **more)
        pebbles.append(pebble)
        for name, value in {**ports, "ACME": f"https://127.0.0.1:{pebble.port}"}.items():
            server.config = server.config.replace(f"@{name}@", str(value))
        start(server)
        brigade.wait_until(lambda: "Pebble" in shown(ports["TLS"], "md.test"), "the certificate")
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


def has_profiles():
    """Not Debian 12's."""
    with open(program("pebble"), "rb") as f:
        return b"Profiles" in f.read()


def test_a_profile(got):
    """Of six days."""
    if not has_profiles():
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
