# SPDX-License-Identifier: Apache-2.0
"""What the cases of Apache's mod_http3 ask (its folder test/http3, 2026-08), asked of Brigade with the clients at hand: that suite drives a curl
program with HTTP/3, which Debian 12 has not. Tests have the numbers of its files; docs/internals/suites.md has the table, and what differs on
purpose. Cases that only look at a configuration file, or for words of a log, have no twin."""
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess

import pytest

import brigade
from http3_client import ask, http3_python, send, tunnel
from http3_frames import CONTROL, DATA, GET, HEADERS, MESSAGE_ERROR, POST, PRIORITY_UPDATE, SETTINGS, frame, number, section
from tls_site import TLSClient, certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 http/1.1
Listen 127.0.0.1:@TLS@ https
<VirtualHost *:@TLS@>
ServerName test1.test
ServerAlias *.wild.test
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
H3MaxConcurrentStreams 100
H3AddressValidation on
H3MaxRequestBodySize 10485760
LimitRequestFieldSize 1024
LimitRequestFields 30
ErrorDocument 404 /missing.html
ScriptAlias /cgi/ @ROOT@/cgi/
<Directory @ROOT@/cgi>
Require all granted
Options +ExecCGI
SSLOptions +StdEnvVars
</Directory>
<Location /hops.html>
Header always set Connection close
Header always set Keep-Alive "timeout=5, max=100"
Header always set X-Hop-Nominated by-connection
Header always merge Connection X-Hop-Nominated
</Location>
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName test2.test
SSLEngine on
SSLCertificateFile @ROOT@/conf/two.pem
SSLCertificateKeyFile @ROOT@/conf/two.key
DocumentRoot @ROOT@/two
<Directory @ROOT@/two>
Require all granted
</Directory>
H3AltSvcMaxAge 30
</VirtualHost>
<VirtualHost *:@TLS@>
ServerName test3.test
SSLEngine on
SSLCertificateFile @ROOT@/conf/two.pem
SSLCertificateKeyFile @ROOT@/conf/two.key
H3AltSvc off
</VirtualHost>
"""
SCRIPT = """#!/bin/sh
printf 'Content-Type: text/plain\\n\\n'
echo "$REQUEST_METHOD $REQUEST_SCHEME $HTTPS $SSL_PROTOCOL $SSL_CIPHER $SSL_CIPHER_USEKEYSIZE $SSL_CIPHER_EXPORT $SSL_SESSION_RESUMED $REMOTE_ADDR"
sha256sum
"""
LARGE = hashlib.sha256(b"y").digest() * (4 << 15)  # 4 MB


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), {"index.html": "first\n", "a.txt": "first\n", "hops.html": "x\n", "missing.html": "none\n", "large.bin": LARGE})
    certificate(made)
    for folder in ("cgi", "two"):
        os.makedirs(made.path(folder))
    with open(made.path("cgi/echo.cgi"), "w", encoding="ascii") as f:
        f.write(SCRIPT)
    os.chmod(made.path("cgi/echo.cgi"), 0o755)
    with open(made.path("two/index.html"), "w", encoding="ascii") as f:
        f.write("second\n")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test2.test",
                    "-keyout", made.path("conf/two.key"), "-out", made.path("conf/two.pem")], check=True, capture_output=True)
    made.tls, made.url = tls, f"https://127.0.0.1:{tls}"
    return made.start()


def curl(server, path, host="test1.test", **more):
    return ask(PYTHON, "curl", [{"url": f"https://{host}:{server.tls}{path}", "resolve": f"{host}:{server.tls}:127.0.0.1", **more}])[0]


def echoed(answer):
    words, digest = answer.body.decode().splitlines()[:2]
    return words.split(), digest.split()[0]


def over_tcp(server, name, path="/index.html"):
    client = TLSClient(type("At", (), {"port": server.tls}), name=name)
    return client.get(path, host=name)


def test_001_002_get(server):
    assert over_tcp(server, "test1.test").status == 200
    answer = curl(server, "/index.html")
    assert (answer.status, answer.version, answer.body) == (200, "3", b"first\n")


def test_004_concurrency(server):
    """GET, POST and PUT by 18 connections at once, four times; then it still answers."""
    kinds = [("/index.html", {}, {200})] + [("/", {"body": b"x" * 512}, {200, 404, 405})] * 2
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        jobs = [(pool.submit(curl, server, path, **more), expected) for _ in range(8) for path, more, expected in kinds]
        assert all(job.result().status in expected for job, expected in jobs)
    assert curl(server, "/index.html").status == 200


def test_007_priority_update(server):
    """Of a request that did not come yet: no fault."""
    control = (True, b"\0" + frame(SETTINGS) + frame(PRIORITY_UPDATE, number(0) + b""), False)
    told = send(PYTHON, server.url, [control, (False, frame(HEADERS, section(*GET)), True)])
    assert told["error"] is None and bytes.fromhex(told["streams"]["0"]["data"]).endswith(b"first\n"), told


def test_008_many_streams(server):
    """20 GETs and a body of 100,000 bytes on one connection."""
    requests = [{"url": server.url + "/index.html"} for _ in range(20)] + [{"url": server.url + "/no-upload", "body": bytes(i % 251 for i in range(100_000))}]
    answers = ask(PYTHON, "aioquic", requests, together=True)
    assert [a.status for a in answers[:20]] == [200] * 20 and answers[20].status in (200, 404, 405)


@pytest.mark.parametrize("name,told", [("test1.test", "86400"), ("test2.test", "30"), ("test3.test", None)])
def test_009_alt_svc(server, name, told):
    """Without persist=1, which would have clients keep it for networks that lead no UDP; and not over HTTP/3 itself."""
    assert over_tcp(server, name).all("Alt-Svc") == ([f'h3=":{server.tls}"; ma={told}'] if told else [])
    assert "alt-svc" not in curl(server, "/index.html", name).headers


@pytest.mark.parametrize("method,size", [("POST", 13), ("POST", 2 << 20)])
def test_010_bodies(server, method, size):
    body = os.urandom(size)
    words, digest = echoed(curl(server, "/cgi/echo.cgi", body=body))
    assert words[0] == method and digest == hashlib.sha256(body).hexdigest()


def test_010_body_above_the_limit(server):
    """It is cut off; mod_http3 may answer 413, or do so, too."""
    told = curl(server, "/cgi/echo.cgi", body=b"x" * (11 << 20))
    assert told.status in (None, 0, 413), told


def test_012_018_024_what_scripts_see(server):
    words, _ = echoed(curl(server, "/cgi/echo.cgi"))
    assert words[:4] == ["GET", "https", "on", "TLSv1.3"] and words[4].startswith("TLS_") and int(words[5]) >= 128 and words[6:] == ["false", "Initial", "127.0.0.1"]


def test_013_fields_of_connections(server):
    answer = curl(server, "/hops.html")
    assert answer.status == 200 and answer.headers["content-type"], answer
    assert not {"connection", "keep-alive"} & set(answer.headers), answer


def test_013_029_hosts_and_certificates(server):
    assert curl(server, "/", "test2.test").body == b"second\n" and curl(server, "/", "a.wild.test").body == b"first\n"


def test_015_017_large(server):
    assert curl(server, "/large.bin").body == LARGE


@pytest.mark.parametrize("name,lines,data", [
    ("001 no method", GET[1:], b""), ("002 no path", GET[:3], b""), ("003 no scheme", [GET[0], *GET[2:]], b""), 
    ("005 a pseudo field twice", [*GET, GET[0]], b""), ("006 a connection's field", [*GET, ("connection", "close")], b""), ("007 te", [*GET, ("te", "gzip")], b""),
    ("008 a length that is not so", [*POST, ("content-length", "10")], frame(DATA, b"abc")), ("010 an empty path", [*GET[:3], (":path", "")], b""),
    ("011 an unknown pseudo field", [*GET, (":protocol", "websocket")], b"")], ids=lambda v: v if isinstance(v, str) else "")
def test_020_malformed(server, name, lines, data):
    told = send(PYTHON, server.url, [CONTROL, (False, frame(HEADERS, section(*lines)) + data, True), (False, frame(HEADERS, section(*GET, ("te", "trailers"))), True)])
    assert told["error"] is None and told["streams"]["0"]["reset"] == MESSAGE_ERROR, told
    assert bytes.fromhex(told["streams"]["4"]["data"]).endswith(b"first\n"), told


def test_020_004_no_authority(server):
    """It is answered before its stream ends, which RFC 9114 (4.1.2) allows."""
    told = send(PYTHON, server.url, [CONTROL, (False, frame(HEADERS, section(*GET[:2], GET[3])), True)])
    assert told["error"] is None and b"Bad Request" in bytes.fromhex(told["streams"]["0"]["data"]), told


@pytest.mark.parametrize("more,status", [
    ([("x-small", "v")], 200), ([("x-big", "z" * 4096)], 431), ([("x-ok", "z" * 512)], 200), ([(f"x-h{i}", "v") for i in range(40)], 431), ([(f"x-h{i}", "v") for i in range(10)], 200)])
def test_025_limits_of_heads(server, more, status):
    assert curl(server, "/index.html", headers=dict(more)).status == status


def test_025_a_long_path(server):
    """LimitRequestLine holds for it, as over HTTP/1."""
    assert curl(server, "/" + "a" * 9000).status == 414


def test_027_settings(server):
    """There is no table to insert into."""
    settings = tunnel(PYTHON, server.url, [GET], [(0, "", True, None)])["settings"]
    assert settings.get("1", 0) == 0 and settings.get("7", 0) == 0, settings


def test_028_error_document(server):
    three, one = curl(server, "/no-such-path"), over_tcp(server, "test1.test", "/no-such-path")
    assert three.status == one.status == 404 and three.body == one.body == b"none\n"


def test_032_sockets_of_the_parent(server):
    """They stay over a reload."""
    def inodes():
        with open("/proc/net/udp", encoding="ascii") as f:
            bound = {line.split()[9] for line in f.readlines()[1:] if int(line.split()[1].rpartition(":")[2], 16) == server.tls}
        held = {m[1] for fd in os.listdir(f"/proc/{server.process.pid}/fd") if (m := re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{server.process.pid}/fd/{fd}")))}
        return bound & held
    assert inodes()
    server.run("-k", "graceful")
    server.wait_for_log("Graceful restart requested|resuming normal operations")
    assert inodes() and curl(server, "/index.html").status == 200
