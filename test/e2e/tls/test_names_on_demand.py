# SPDX-License-Identifier: Apache-2.0
"""MDOnDemand: names get a certificate when a client asks for them, if the host says that they are its."""
import concurrent.futures
import functools
import http.server
import os
import shutil
import subprocess
import threading
import time

import pytest

import acme_site
import brigade
from acme_site import FALLBACK, MANAGED, shown, sites, status

pytestmark = [pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
              pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="of the built-in md module")]

HOSTS = MANAGED + """Listen 127.0.0.1:@HTTP@
Listen 127.0.0.1:@TLS@
LogLevel md:info
<VirtualHost *:@HTTP@>
ServerName hosting.test
ServerAlias *.test *.example
VirtualDocumentRoot @ROOT@/sites/%0
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName hosting.test
ServerAlias *.test *.example
VirtualDocumentRoot @ROOT@/sites/%0
SSLEngine on
Protocols h2 http/1.1 acme-tls/1
@ASK@
</VirtualHost>
<Directory @ROOT@/sites>
Require all granted
</Directory>
"""


class Site(acme_site.Site):
    def __init__(self, serve, ask="MDOnDemand folder", more=""):
        super().__init__(serve.unstarted((more + HOSTS).replace("@ASK@", ask)))

    def folder(self, *names):
        for name in names:
            os.makedirs(self.server.path(f"sites/{name}"), exist_ok=True)
            with open(self.server.path(f"sites/{name}/index.html"), "w") as f:
                f.write(f"of {name}")

    def shown(self, name):
        """It may wait for as long as MDOnDemandLimits says, at most a minute."""
        return shown(self.ports["TLS"], name, 60 + brigade.PATIENCE)

    def ordered(self):
        return [name for order in self.authority.orders for name in order["names"]]

    def wait(self, name):
        brigade.wait_until(lambda: f"DNS:{name}\n" in self.shown(name), f"the certificate of {name}")


@pytest.fixture(name="site")
def fixture_site(serve):
    yield from sites(functools.partial(Site, serve))


@pytest.mark.parametrize("way", ["http-01", "tls-alpn-01"])
def test_the_first_handshake_waits(site, way):
    """It gets the certificate that it asked for, not what stands in; the next ones do not wait."""
    site = site(more=f"MDCAChallenges {way}\nMDOnDemandLimits wait=60\n")
    site.folder("a.test")
    site.start()
    text = site.shown("a.test")
    assert "DNS:a.test\n" in text and "Test authority" in text
    assert site.shown("a.test") == text and site.ordered() == ["a.test"]
    answer = status(site.ports["TLS"], "a.test")
    assert " 200" in answer.split("\n")[0]


def test_other_names_get_what_stands_in(site):
    """Without an order, and at once; a name with a folder made meanwhile is found out a minute later, or by another server."""
    site = site()
    site.folder("a.test")
    site.start()
    began = time.monotonic()
    for name in ("b.test", "c.d.test", "x.example", "-x.test", "hosting.test", "nobody.invalid", "a_b.test"):
        assert FALLBACK in site.shown(name), name
    assert time.monotonic() - began < 30 + 9 * brigade.PATIENCE
    site.wait("a.test")
    assert site.ordered() == ["a.test"]


def test_a_reload_and_a_restart_order_nothing(site):
    site = site()
    site.folder("a.test", "b.test")
    site.start()
    for name in ("a.test", "b.test"):
        site.wait(name)
    before = site.shown("a.test")
    site.server.signal(10)
    brigade.wait_until(lambda: site.shown("a.test") == before, "the same certificate after a reload")
    site.server.stop()
    site.start()
    assert site.shown("a.test") == before, "it waits for the store, too"
    assert sorted(site.ordered()) == ["a.test", "b.test"]


@pytest.mark.slow
def test_a_daemon_that_is_killed(site):
    """The next one takes what is known out of the store, and orders what is asked for."""
    site = site()
    site.folder("a.test", "b.test")
    site.server.expect_trouble = True
    site.start()
    site.wait("a.test")
    supervisor = site.server.process.pid
    for pid in subprocess.run(["pgrep", "-P", str(supervisor), "-x", "brigade-md"], check=True, capture_output=True).stdout.split():
        os.kill(int(pid), 9)
    site.server.wait_for_log("another one is started")
    site.wait("b.test")
    site.wait("a.test")
    assert sorted(site.ordered()) == ["a.test", "b.test"]


def test_an_expression(site):
    site = site("""MDOnDemand "expr=%{HTTP_HOST} =~ /^[a-m].*\\.test$/" """)
    site.start()
    site.wait("k.test")
    assert FALLBACK in site.shown("z.test")
    assert site.ordered() == ["k.test"]


class Ask(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if "=slow" in self.path:
            self.server.go_on.wait(60)
        self.send_response(200 if self.path.endswith("=yes.test") else 302 if "=moved" in self.path else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *unused):
        pass


@pytest.fixture(name="asked")
def fixture_asked():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ask)
    server.asked, server.go_on = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.go_on.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_url(site, asked):
    """200 alone means yes; a question is asked once, not for each handshake."""
    site = site(f"MDOnDemand url=http://127.0.0.1:{asked.server_port}/may?key=1")
    site.start()
    site.wait("yes.test")
    for name in ("no.test", "moved.test"):
        assert FALLBACK in site.shown(name)
        assert FALLBACK in site.shown(name)
    assert asked.asked == [f"/may?key=1&domain={name}" for name in ("yes.test", "no.test", "moved.test")]
    assert site.ordered() == ["yes.test"]


def test_names_that_are_asked_for_take_no_place(site, asked):
    """Nobody knows yet whether they are the host's."""
    site = site(f"MDOnDemand url=http://127.0.0.1:{asked.server_port}/may", "MDOnDemandLimits names=1 wait=0\n")
    site.server.expect_trouble = True
    site.start()
    assert FALLBACK in site.shown("slow.test")
    brigade.wait_until(lambda: asked.asked, "the question")
    site.wait("yes.test")
    assert b"names= of MDOnDemandLimits is reached" not in site.server.error_log()


def test_nobody_answers(site):
    """The name gets what stands in, and the log tells."""
    port = brigade.free_port()
    site = site(f"MDOnDemand url=http://127.0.0.1:{port}/")
    site.server.expect_trouble = True
    site.start()
    assert FALLBACK in site.shown("a.test")
    assert b"a.test: nobody says whether the name is one of this host's" in site.server.error_log()
    assert not site.ordered()


def test_rate(site):
    """Two certificates an hour; a third name waits for its time with what stands in."""
    site = site(more="MDOnDemandLimits rate=2/h\n")
    names = [f"{letter}.test" for letter in "abcd"]
    site.folder(*names)
    site.server.expect_trouble = True
    site.start()
    for name in names[:2]:
        site.wait(name)
    for name in names[2:]:
        assert FALLBACK in site.shown(name)
    assert sorted(site.ordered()) == names[:2]
    assert b"rate= of MDOnDemandLimits is reached" in site.server.error_log()
    site.wait("a.test")


def test_names(site):
    """As many as are kept; those that are in use keep their place."""
    site = site(more="MDOnDemandLimits names=2\n")
    names = [f"{letter}.test" for letter in "abc"]
    site.folder(*names)
    site.server.expect_trouble = True
    site.start()
    for name in names[:2]:
        site.wait(name)
    assert FALLBACK in site.shown(names[2])
    assert b"names= of MDOnDemandLimits is reached" in site.server.error_log()
    assert sorted(site.ordered()) == names[:2]


def test_an_order_that_fails(site):
    """The name is left alone until MDRetryDelay is over, and is ordered again when it is asked for again."""
    site = site(more="MDOnDemandLimits wait=60\n")
    site.server.config = site.server.config.replace("MDRetryDelay 100ms", "MDRetryDelay 1s")
    site.folder("a.test")
    site.authority.lies.add("invalid")
    site.server.expect_trouble = True
    site.start()
    assert FALLBACK in site.shown("a.test")
    assert len(site.authority.orders) == 1
    site.authority.lies.clear()
    site.wait("a.test")
    assert len(site.authority.orders) == 2


def test_a_flood_of_names(site):
    """Names that nobody has cost no order, hold nobody up, and leave names that are known alone."""
    site = site(more="MDOnDemandLimits wait=60\n")
    site.folder("a.test")
    site.start()
    site.wait("a.test")

    def flood(i):
        return FALLBACK in site.shown(f"n{i}.x{i % 7}.test")

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        floods = [pool.submit(flood, i) for i in range(300)]
        began = time.monotonic()
        assert "DNS:a.test\n" in site.shown("a.test")
        assert time.monotonic() - began < 2 * brigade.PATIENCE
        assert all(f.result() for f in floods)
    assert site.ordered() == ["a.test"]
    assert "DNS:a.test\n" in site.shown("a.test")


def test_handshakes_that_leave(site):
    """Clients that go while their handshake waits take nothing with them."""
    import socket
    import ssl
    site = site(more="MDOnDemandLimits wait=60\n")
    site.authority.lies.add("busy")
    site.folder("a.test", "b.test")
    site.server.expect_trouble = True
    site.start()
    for _ in range(100):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="a.test")
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        with socket.create_connection(("127.0.0.1", site.ports["TLS"])) as s:
            s.sendall(outgoing.read())
    site.authority.lies.clear()
    site.wait("b.test")


@pytest.mark.parametrize("more", ["LoadModule mpm_prefork_module @PREFORK@\n", "Sandbox Required\n"])
def test_other_processes(site, more):
    """Server processes of one thread, which runs the loop and its requests in turn; and such as can open no file of the store."""
    prefork = f"{brigade.APACHE_MODULES}/mod_mpm_prefork.so"
    if "@PREFORK@" in more and not os.path.exists(prefork):
        pytest.skip("mod_mpm_prefork is not installed")
    site = site(more=more.replace("@PREFORK@", prefork) + "MDOnDemandLimits wait=60\n")
    site.folder("a.test")
    site.start()
    assert "DNS:a.test\n" in site.shown("a.test") and FALLBACK in site.shown("b.test")


def test_beside_a_host_of_its_own(site):
    """AutoHTTPS: the ServerName has a managed domain, which no pattern of other names joins."""
    site = site()
    site.server.config = site.server.config[:site.server.config.index("<VirtualHost")].replace(f"Listen 127.0.0.1:{site.ports['TLS']}\n", "") + f"""
<VirtualHost *:{site.ports['HTTP']}>
AutoHTTPS On
ServerName hosting.test
ServerAlias *.test
VirtualDocumentRoot @ROOT@/sites/%0
MDOnDemand folder
</VirtualHost>
<Directory @ROOT@/sites>
Require all granted
</Directory>
"""
    site.folder("a.test", "hosting.test")
    site.start()
    site.wait("hosting.test")
    site.wait("a.test")
    assert sorted(site.ordered()) == ["a.test", "hosting.test"]
    assert " 200" in status(site.ports["TLS"], "a.test").split("\n")[0]
    assert "ocation: https://a.test" in status(site.ports["HTTP"], "a.test", scheme="http")


def test_the_mistakes(serve):
    for lines, words in (("MDOnDemand folder", "VirtualDocumentRoot in the same server"), ("MDOnDemand folder=/x/%9z%", "a format as VirtualDocumentRoot takes"),
                         ("MDOnDemand On", "takes folder"), ("MDOnDemand url=ftp://x/", "no URL of http"), ("MDOnDemand expr=%{", "cannot parse")):
        server = serve.unstarted(MANAGED.replace("@ACME@", "https://127.0.0.1:1").replace("@HTTP@", "80").replace("@TLS@", "443") + f"""
<VirtualHost *:@PORT@>
ServerName a.test
SSLEngine on
{lines}
</VirtualHost>""")
        assert words in server.run("-t").stderr.decode(), lines
    server = serve.unstarted("BuiltinModule md_module On\nMDOnDemand folder=/srv/%0\n")
    assert "needs a server with SSLEngine on" in server.run("-t").stderr.decode()
