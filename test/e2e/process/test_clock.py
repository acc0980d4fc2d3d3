# SPDX-License-Identifier: Apache-2.0
"""The clock of the machine is set while the server runs: no deadline depends on it."""
import base64
import hashlib
import os
import re
import select
import shutil
import socket
import ssl
import struct
import threading
import time

import pytest

import acme_site
import brigade
import module_source
from acme_authority import Authority
from brigade import wait_until
from http_client import Truncated
from tls_site import certificate, start

HOUR = 3600
FILES = {"a.txt": "A\n"}
CONFIG = "KeepAliveTimeout 1\nTimeout 1\nRequestReadTimeout header=1 body=1\n"

pytestmark = pytest.mark.only("brigade")


@pytest.fixture(scope="module")
def clock_so(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clock")
    os.chmod(folder, 0o755)
    os.chmod(folder.parent, 0o755)
    return module_source.compile_file(os.path.join(os.path.dirname(__file__), "stepped_clock.c"),
                                      folder / "stepped_clock.so", "-ldl")


class Clock:
    def __init__(self, path):
        self.path = path
        self.step(0)

    def step(self, seconds):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as f:
            f.write(struct.pack("=q", seconds))


@pytest.fixture
def clock(clock_so, tmp_path):
    clock = Clock(str(tmp_path / "step"))
    clock.env = {"LD_PRELOAD": module_source.preloaded(clock_so), "STEP_FILE": clock.path}
    return clock


@pytest.fixture
def stepped(serve, clock):
    """serve(), and a clock that can be set."""
    return lambda config, files=FILES: (serve(config, files, env=clock.env), clock)


def seconds_until_closed(c):
    begin = time.monotonic()
    try:
        c.read_response()
        raise AssertionError("an answer where none was asked for")
    except Truncated:
        return time.monotonic() - begin


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_date_follows_the_clock(stepped, step):
    server, clock = stepped(CONFIG)
    clock.step(step)

    def ahead():
        date = time.strptime(server.get("/a.txt")["Date"], "%a, %d %b %Y %H:%M:%S GMT")
        return abs(time.mktime(date) - time.mktime(time.gmtime()) - step) < 60
    wait_until(ahead, "a Date of the new time")


@pytest.mark.parametrize("step", [-HOUR, HOUR])
@pytest.mark.parametrize("sent", [b"", b"GET /a.txt HT"])
def test_deadlines_hold_when_the_clock_is_set(stepped, step, sent):
    """Neither never (a step back) nor at once (a step forward): after the second that was configured."""
    server, clock = stepped(CONFIG)
    with server.connect() as c, server.connect() as other:
        assert c.request("GET", "/a.txt").status == 200  # waits for the next one now
        other.request("GET", "/a.txt")
        c.send(sent)
        clock.step(step)
        assert server.get("/a.txt").status == 200  # the loop has seen the new time
        assert 0.3 < seconds_until_closed(c) < 5


@pytest.mark.parametrize("step", [-HOUR, HOUR])
@pytest.mark.slow
def test_a_client_that_takes_nothing_is_dropped_in_time(stepped, step):
    server, clock = stepped(CONFIG, dict(FILES, big=b"x" * 20_000_000))
    with server.connect() as c:
        c.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        c.read_head()
        clock.step(step)
        server.get("/a.txt")
        threading.Event().wait(2.5)  # the time out itself is what is tested
        with pytest.raises((Truncated, ConnectionResetError)):
            c.read_exactly(20_000_000)


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_uploads_to_programs_end_in_time(stepped, step):
    server, clock = stepped(
        CONFIG + "ScriptAlias /cgi/ @ROOT@/cgi/\n<Directory @ROOT@/cgi>\nRequire all granted\n</Directory>\n"
        "LoadModule cgid_module @MODULES@/mod_cgid.so\nScriptSock @ROOT@/logs/cgisock\n")
    script = server.write("../cgi/echo", "#!/bin/sh\ncat >/dev/null\nprintf 'Content-Type: text/plain\\n\\nA\\n'\n")
    os.chmod(os.path.dirname(script), 0o755)
    os.chmod(script, 0o755)
    with server.connect() as c:
        c.send("POST /cgi/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc")
        wait_until(lambda: True, "the body to be waited for")
        clock.step(step)
        begin = time.monotonic()
        try:
            c.read_response()
        except Truncated:
            pass
        assert time.monotonic() - begin < 8


WATCHDOG = r"""
#include <stdio.h>
#include "mod_watchdog.h"

static apr_status_t tick(int state, void *path, apr_pool_t *p)
{
    FILE *f = state == AP_WATCHDOG_STATE_RUNNING ? fopen(path, "a") : NULL;

    if (f) {
        fputs("tick\n", f);
        fclose(f);
    }
    return APR_SUCCESS;
}

static int begin(apr_pool_t *p, apr_pool_t *log, apr_pool_t *temp, server_rec *s)
{
    APR_OPTIONAL_FN_TYPE(ap_watchdog_get_instance) *get = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_get_instance);
    APR_OPTIONAL_FN_TYPE(ap_watchdog_register_callback) *add = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_register_callback);
    ap_watchdog_t *w;

    return get(&w, "ticking", 1, 0, p) || add(w, 100000, ap_server_root_relative(p, "logs/ticks"), tick);
}

static void ticking_hooks(apr_pool_t *p)
{
    ap_hook_post_config(begin, NULL, NULL, APR_HOOK_MIDDLE);
}
"""


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_watchdogs_go_on(stepped, step, tmp_path):
    """Those of other modules ask backends whether they live, and renew certificates."""
    so = module_source.compile_text(str(tmp_path), "ticking", WATCHDOG)
    server, clock = stepped(f"BuiltinModule watchdog_module On\nLoadModule ticking_module {so}\n")

    def ticks():
        path = server.path("logs/ticks")
        return os.path.getsize(path) if os.path.exists(path) else 0
    wait_until(lambda: ticks() > 5, "a watchdog that runs")
    clock.step(step)
    for _ in range(2):
        before = ticks()
        wait_until(lambda: ticks() > before + 15, "a watchdog that runs after the clock was set")


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_handshakes_that_a_directory_asks_for_end_in_time(serve, clock, step):
    """A client that sends a part of its answer and then nothing holds its worker for Timeout, and has that long."""
    server = serve.unstarted(
        "BuiltinModule ssl_module On\nEventLoops 1\nTimeout 2\nSSLEngine on\nSSLCertificateFile conf/cert.pem\n"
        "SSLCertificateKeyFile conf/key.pem\nSSLCACertificateFile conf/cert.pem\n"
        "<Location /asked>\nSSLVerifyClient require\n</Location>\n", dict(FILES, **{"asked/a.txt": "A\n"}), env=clock.env)
    certificate(server)
    start(server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.post_handshake_auth = False, ssl.CERT_NONE, True
    with socket.create_connection(("127.0.0.1", server.port), 20) as raw, context.wrap_socket(raw) as s:
        s.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(65536).endswith(b"A\n")
        s.sendall(b"GET /asked/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert select.select([s], [], [], 20)[0]  # it is asked for a certificate
        clock.step(step)
        os.write(s.fileno(), b"\x17\x03")  # the beginning of a record
        begin = time.monotonic()
        while select.select([s], [], [], 20)[0] and os.read(s.fileno(), 65536):
            pass
        assert 0.5 < time.monotonic() - begin < 15


DAY = 24 * HOUR


def basic(password):
    return {"Authorization": "Basic " + base64.b64encode(f"joe:{password}".encode()).decode()}


@pytest.mark.parametrize("step", [-DAY, DAY])
def test_passwords_and_limits_when_the_clock_is_set(stepped, step):
    """Who is known stays known, who is not stays unknown; a limit of an hour neither ends nor lasts longer."""
    server, clock = stepped("<Location /b>\nAuthType Basic\nAuthName r\nAuthUserFile @ROOT@/conf/users\nRequire valid-user\n</Location>\n"
                            "<Location /limited>\nRequestLimit one rate=1/h burst=1\n</Location>\n",
                            {**FILES, "b/a.txt": "B\n", "limited/a.txt": "L\n", "../conf/users": "joe:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"})

    def passwords():
        return [server.request("GET", "/b/a.txt", basic(word)).status for word in ("secret", "secret", "wrong", "secret")]
    assert passwords() == [200, 200, 401, 200]
    assert [server.get("/limited/a.txt").status for _ in range(3)] == [200, 200, 429]
    for to in (step, 0, -step):
        clock.step(to)
        wait_until(lambda: is_date(server, to), "a Date of the new time")
        assert passwords() == [200, 200, 401, 200]
        answer = server.get("/limited/a.txt")
        assert answer.status == 429 and 0 < int(answer["Retry-After"]) <= HOUR


def is_date(server, step):
    date = time.strptime(server.get("/a.txt")["Date"], "%a, %d %b %Y %H:%M:%S GMT")
    return abs(time.mktime(date) - time.mktime(time.gmtime()) - step) < 60


@pytest.mark.parametrize("step", [-DAY, DAY])
def test_nonces_when_the_clock_is_set(stepped, step):
    """A nonce of another day is stale, or of no day yet: the client gets a new one, which is taken."""
    sums = hashlib.md5(b"joe:r:secret").hexdigest()
    server, clock = stepped("EventLoops 1\n<Location /d>\nAuthType Digest\nAuthName r\nAuthUserFile @ROOT@/conf/users\nRequire valid-user\n</Location>\n",
                            {**FILES, "d/a.txt": "D\n", "../conf/users": f"joe:r:{sums}\n"})

    def ask(nonce):
        middle = hashlib.md5(b"GET:/d/a.txt").hexdigest()
        response = hashlib.md5(f"{sums}:{nonce}:00000001:abc:auth:{middle}".encode()).hexdigest()
        return server.request("GET", "/d/a.txt", {"Authorization": f'Digest username="joe", realm="r", nonce="{nonce}", uri="/d/a.txt", response="{response}", '
                                                  'algorithm=MD5, qop=auth, nc=00000001, cnonce="abc"'})

    def nonce_of(answer):
        return re.search(r'nonce="([^"]*)"', answer["WWW-Authenticate"])[1]
    nonce = nonce_of(server.get("/d/a.txt"))
    assert ask(nonce).status == 200
    for to in (step, 0):
        clock.step(to)
        wait_until(lambda: is_date(server, to), "a Date of the new time")
        answer = ask(nonce)
        assert answer.status == 401
        nonce = nonce_of(answer)
        assert ask(nonce).status == 200


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_managed_certificates_when_the_clock_is_set(serve, clock):
    """In its last third a certificate of a day is renewed, also if the clock jumps there; it is used when the clock is back."""
    ports = {name: brigade.free_port() for name in ("HTTP", "TLS")}
    server = serve.unstarted(acme_site.CONFIG + "MDCheckInterval 1s\nMDRenewViaARI off\nMDomain md.test\n", env=clock.env)
    authority = Authority(server.path("made"), ports, days=1)
    try:
        for name, value in {**ports, "ACME": authority.url}.items():
            server.config = server.config.replace(f"@{name}@", str(value))
        start(server)

        def serial():
            text = acme_site.shown(ports["TLS"], "md.test")
            return text.split("Serial Number:")[1].split("Signature")[0] if "Test authority" in text else None
        first = wait_until(serial, "the certificate")
        clock.step(20 * HOUR)
        wait_until(lambda: serial() not in (None, first), "another certificate")
        clock.step(-20 * HOUR)
        wait_until(lambda: is_date(server, -20 * HOUR), "a Date of the new time")
        assert serial(), "one that begins later is shown all the same"
    finally:
        authority.end()
