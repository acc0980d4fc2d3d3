# SPDX-License-Identifier: Apache-2.0
"""HTTP/3 with curl and aioquic (http3_client.py): files, pages, programs, backends, bodies both ways, many requests at once."""
import base64
import hashlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess

import pytest

import brigade
from backend import Backend
from http3_client import ask, http3_python
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
Options +Includes
</Directory>
Protocols h3 h2 http/1.1
EventLoops 2
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
LogFormat "%H %>s %U %{SSL_PROTOCOL}x" h3
CustomLog @ROOT@/logs/h3.log h3
H2EarlyHints on
<Location /metrics>
SetHandler metrics
</Location>
<VirtualHost *:@TLS@>
ServerName localhost
SSLEngine on
ScriptAlias /cgi/ @ROOT@/cgi/
<Location /http3-status>
SetHandler http3-status
</Location>
<Location /server-status>
SetHandler server-status
</Location>
ProxyPass /up/ http://127.0.0.1:@BACKEND@/
<Directory @ROOT@/cgi>
Require all granted
Options +ExecCGI
SSLOptions +StdEnvVars
</Directory>
<Location /hinted.shtml>
H2EarlyHint Link "</a.css>; rel=preload"
</Location>
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName other.test
SSLEngine on
Protocols h2 http/1.1
</VirtualHost>
"""
BIG = hashlib.sha256(b"x").digest() * 8000
SCRIPT = """#!/bin/sh
printf 'Content-Type: text/plain\\n\\n'
echo "$SERVER_PROTOCOL $REQUEST_METHOD $HTTPS $SSL_PROTOCOL"
sha1sum
"""


@pytest.fixture(scope="module")
def server(serve_module):
    with Backend() as backend:
        tls = brigade.free_port()
        made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@BACKEND@", str(backend.port)),
                                      {"a.txt": "first\n", "big.bin": BIG, "page.shtml": '<!--#echo var="SERVER_PROTOCOL" -->\n', "hinted.shtml": "x\n"})
        os.makedirs(made.path("cgi"))
        with open(made.path("cgi/sum.cgi"), "w") as f:
            f.write(SCRIPT)
        os.chmod(made.path("cgi/sum.cgi"), 0o755)
        certificate(made)
        made.tls, made.url = tls, f"https://127.0.0.1:{tls}"
        yield made.start()


def get(server, client, *paths, **settings):
    return ask(PYTHON, client, [{"url": server.url + p} for p in paths], **settings)


@pytest.mark.parametrize("client", ["curl", "aioquic"])
def test_files_and_pages(server, client):
    for _ in range(2):  # the full way, and from memory
        first, big, page, none = get(server, client, "/a.txt", "/big.bin", "/page.shtml", "/none")
        assert (first.status, first.body, first.version) == (200, b"first\n", "3"), first
        assert first.headers["content-length"] == "6" and "alt-svc" not in first.headers
        assert (big.status, big.body) == (200, BIG)
        assert (page.status, page.body) == (200, b"HTTP/3.0\n")
        assert none.status == 404


def test_head(server):
    """aioquic takes the length that the head of an answer without a body tells for a fault."""
    head = ask(PYTHON, "curl", [{"url": server.url + "/a.txt", "method": "HEAD"}])[0]
    assert (head.status, head.headers["content-length"], head.body) == (200, "6", b"")


@pytest.mark.parametrize("client", ["curl", "aioquic"])
def test_condition_and_range(server, client):
    tag = get(server, client, "/a.txt")[0].headers["etag"]
    url = server.url + "/a.txt"
    same, part = ask(PYTHON, client, [{"url": url, "headers": {"If-None-Match": tag}}, {"url": url, "headers": {"Range": "bytes=1-3"}}])
    assert (same.status, same.body) == (304, b"")
    assert (part.status, part.body, part.headers["content-range"]) == (206, b"irs", "bytes 1-3/6")


@pytest.mark.parametrize("client", ["curl", "aioquic"])
@pytest.mark.parametrize("size", [0, 1, 5000, 300000])
def test_bodies(server, client, size):
    body = os.urandom(size)
    sums = ask(PYTHON, client, [{"url": server.url + "/cgi/sum.cgi", "body": body}])[0]
    assert sums.status == 200 and sums.body.split(b"\n")[0] == b"HTTP/3.0 POST on TLSv1.3", sums
    assert sums.body.split(b"\n")[1].split()[0].decode() == hashlib.sha1(body).hexdigest()


def test_status(server):
    """The handler http3-status, with members as mod_http3 has them; the same in server-status."""
    for _ in range(2):
        assert ask(PYTHON, "curl", [{"url": server.url + "/big.bin"}])[0].status == 200

    def told():
        return json.loads(ask(PYTHON, "curl", [{"url": server.url + "/http3-status"}])[0].body)

    brigade.wait_until(lambda: told()["total_bytes_written"] > 2 * len(BIG) and told()["rtt_samples"] > 5, "figures")
    now = told()
    assert now["quic_backend"] == "brigade" and now["total_connections"] >= 2 and now["total_streams"] >= 2 and now["total_bytes_read"] > 0 and "live_workers" in now
    assert 0 < now["rtt_mean_ms"] < 1000 and now["packets_written"] > 300 and now["datagrams_by_gso"] > 100 and now["send_calls"] < now["datagrams_written"]
    text = ask(PYTHON, "curl", [{"url": server.url + "/server-status?auto"}])[0].body.decode()
    assert int(re.search(r"^HTTP3BytesOut: (\d+)$", text, re.M)[1]) >= now["total_bytes_written"]
    assert b"<h2>HTTP/3</h2>" in ask(PYTHON, "curl", [{"url": server.url + "/server-status"}])[0].body
    refused = ask(PYTHON, "curl", [{"url": server.url + "/http3-status", "body": b"x"}])[0]
    assert refused.status == 405 and refused.headers["allow"].startswith("GET")


def test_bytes_are_counted_by_the_way_they_went(server):
    """Memory, as all that TCP does not send."""
    def sent():
        return int(re.search(rb'^brigade_sent_by_way_bytes_total\{way="memory"\} (\d+)', server.get("/metrics").body, re.M)[1])

    before = sent()
    assert ask(PYTHON, "curl", [{"url": server.url + "/big.bin"}])[0].status == 200
    assert sent() - before > len(BIG)


def test_records_of_dns(server):
    printed = subprocess.run(server.command("-t", "-D", "DUMP_VHOSTS"), capture_output=True, env=server.env, timeout=60).stdout.decode()
    assert f'_{server.tls}._https.localhost. HTTPS 1 . alpn="h3,h2"' in printed and "other.test. HTTPS" not in printed, printed


def hits(server):
    return int(re.search(rb"^brigade_cache_hits_total (\d+)", server.get("/metrics").body, re.M)[1])


def test_answers_from_memory(server):
    def come():  # once the file is not new any more
        was = hits(server)
        get(server, "curl", *["/a.txt?memory"] * 12)
        return hits(server) >= was + 8 or None
    brigade.wait_until(come, "answers from memory")


def test_many_at_once(server):
    paths = ["/a.txt", "/big.bin", "/page.shtml", "/cgi/sum.cgi"] * 15
    answers = get(server, "aioquic", *paths, together=True)
    assert [a.status for a in answers] == [200] * len(paths)
    assert all(a.body == BIG for a, p in zip(answers, paths) if p == "/big.bin")


def test_urgent_ones_come_first(server):
    """The large one was asked for before, and is less urgent. The client may send the two in datagrams of their own, some time apart."""
    requests = [{"url": server.url + "/big.bin", "headers": {"priority": u}} for u in ["u=3", "u=3", "u=6", "u=0"]]
    tries = [ask(PYTHON, "aioquic", requests, together=True, alone=2) for _ in range(4)]  # then it is in memory
    assert all(a.body == BIG for answers in tries for a in answers)
    assert [0, 1, 3, 2] in [answers[0].order for answers in tries]


def test_what_is_logged(server):
    get(server, "curl", "/a.txt?logged")
    brigade.wait_until(lambda: b"HTTP/3.0 200 /a.txt TLSv1.3" in server.read("logs/h3.log"), "the log's line")


@pytest.mark.parametrize("name,told", [("localhost", True), ("other.test", False)])
def test_alt_svc(server, name, told):
    """Over TCP with TLS it is told, by hosts that have it, also from memory."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for _ in range(2):
        with context.wrap_socket(socket.create_connection(("127.0.0.1", server.tls)), server_hostname=name) as s:
            s.sendall(f"GET /a.txt HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: s.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200") and (f'Alt-Svc: h3=":{server.tls}"; ma=86400\r\n'.encode() in answer) == told, answer
        assert b"\r\nUpgrade: h2\r\n" in answer, "no connection of TCP changes to h3"


def test_a_proxied_answer(server):
    one, two = get(server, "curl", "/up/x", "/up/x")
    assert (one.status, one.body) == (two.status, two.body) and one.status == 200


def test_interim_responses(server):
    hinted = get(server, "aioquic", "/hinted.shtml?1")[0]
    assert hinted.interim and hinted.interim[0] == [103, {"link": "</a.css>; rel=preload"}], hinted.interim
    assert hinted.body == b"x\n"


@pytest.mark.skipif(not shutil.which("gtlsclient"), reason="gtlsclient (ngtcp2-client) is not installed")
@pytest.mark.parametrize("more", [[], ["-n", "20"], ["--key-update=1ms"], ["--change-local-addr=1ms"]], ids=["plain", "many", "key-update", "migration"])
def test_gtlsclient(server, more, tmp_path):
    done = subprocess.run(["gtlsclient", "-q", *more, "--exit-on-all-streams-close", f"--download={tmp_path}", "127.0.0.1", str(server.tls), "https://localhost/big.bin"],
                          capture_output=True, timeout=60)
    assert (tmp_path / "big.bin").read_bytes() == BIG, done.stderr[-2000:]


@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed")
def test_chromium(server, tmp_path):
    key = subprocess.run(["openssl", "x509", "-in", server.path("conf/cert.pem"), "-pubkey", "-noout"], capture_output=True, check=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key, capture_output=True, check=True).stdout
    pin = base64.b64encode(hashlib.sha256(der).digest()).decode()
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", f"--origin-to-force-quic-on=localhost:{server.tls}",
                           "--host-resolver-rules=MAP localhost 127.0.0.1", f"--ignore-certificate-errors-spki-list={pin}", "--dump-dom", f"https://localhost:{server.tls}/page.shtml"],
                          capture_output=True, timeout=120)
    assert b"HTTP/3.0" in done.stdout, done.stderr[-2000:]
