# SPDX-License-Identifier: Apache-2.0
"""Twins for FastCGI: random requests to a server that sends them on by plans and to one that has none, over HTTP/1 and HTTP/2. Backends get
the same variables in the same order, clients the same answers, and logs tell the same. TEST_COUNT=60000 sends so many, TEST_SEED repeats
them."""
import random
import re
import shutil

import pytest

import effort
from planned_peers import compare
from planned_scripts import ANSWERS, LOG, SCRIPTS, Request, ScriptsOfHTTP1, ScriptsOfHTTP2, old, script
from planned_site import CONFIG
from script_backend import Script
from tls_site import TLSClient, certificate, start

pytestmark = pytest.mark.only("brigade")

COUNT = effort.count(6000, 60000)
SEED = int(effort.seed(random.randrange(1 << 30)))
FILES = ["/a.php", "/d/b.php"]
TARGETS = [target.format(file) for file in FILES for target in (*["{}"] * 6, *["{}?a=b"] * 3, "{}?", "{}?x=%2f?y", "{}/info", "{}/info/more?q", "/.{}", "//{}", "http://localhost{}", "/%64/b.php", "/d/", "/d/?x=y", "/d", "/none.php", "/new/{}")]
RULES = "RewriteEngine On\nRewriteRule ^metrics$ - [L]\nRewriteRule ^d/b\\.php$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /d/b.php [L]\n"
SITES = {
    "plain": (SCRIPTS, {}),
    "variables": (SCRIPTS + "SetEnv A b\nSetEnv HTTP_X_B fixed\nSetEnvIf Cookie (.*) TASTE=$1\nSetEnv PHP_VALUE x=y\nPassEnv HOME\n", {}),
    "own": (SCRIPTS + "SetEnv REMOTE_PORT 1\nSetEnv SERVER_NAME x\nSetEnv REQUEST_URI y\n", {}),
    "passwords": (SCRIPTS + "<Location />\nCGIPassAuth On\n</Location>\nSetEnvIf Authorization (.+) HTTP_AUTHORIZATION=$1\n", {}),
    "changed": (SCRIPTS + "RequestHeader set X-B 2\nRequestHeader set X-New 3\nRequestHeader unset Referer\n", {}),
    "unset": (SCRIPTS + "RequestHeader unset X-Forwarded-For\nRequestHeader unset Via\nRequestHeader set X-Forwarded-Host h\nRequestHeader unset X-Forwarded-Server\n", {}),
    "edited": (SCRIPTS + "RequestHeader set X-New 1\nRequestHeader edit X-B ^(.)$ $1$1\nRequestHeader setifempty X-C 5\nRequestHeader append Cookie x=y\nRequestHeader edit* Referer r ss\n", {}),
    "edits": (SCRIPTS + "Header set X-New 1\nHeader always append X-A c\nHeader always edit Set-Cookie a=b a=c\nHeader always unset X-Powered-By\nHeader set ETag e\n", {}),
    "generic": (SCRIPTS + "<Location />\nProxyFCGIBackendType GENERIC\nProxyFCGISetEnvIf \"%{{REQUEST_URI}} =~ /info/\" SEEN yes\n</Location>\n", {}),
    "fixed": (SCRIPTS + "<Location />\nProxyFCGISetEnvIf true SERVER_SOFTWARE Apache\nProxyFCGISetEnvIf \"'a' == 'a' && ! false\" NEW \"x y\"\nProxyFCGISetEnvIf false GATEWAY_INTERFACE no\n"
              "ProxyFCGISetEnvIf true !SERVER_ADMIN\n</Location>\n", {}),
    "fixed own": (SCRIPTS + "<Location />\nProxyFCGISetEnvIf true HTTP_X_B 1\nProxyFCGISetEnvIf true REMOTE_ADDR 127.0.0.1\nProxyFCGISetEnvIf true QUERY_STRING \"\"\n</Location>\n", {}),
    "added": (SCRIPTS + "AddDefaultCharset utf-8\nProxyStatusField On\nProxyVia On\nProxyErrorOverride On 404\nErrorDocument 404 /here.txt\n", {}),
    "here": (SCRIPTS + "<Location />\nProxyFCGIInternalRedirect On\n</Location>\n", {}),
    "worker": (SCRIPTS + "<Proxy fcgi://localhost/ enablereuse=on>\n</Proxy>\n", {}),
    "pass": ("ProxyPass /metrics !\nProxyPass / unix:{path}|fcgi://localhost/srv/ enablereuse=on\n", {}),
    "matched": ("ProxyPassMatch ^/(.*\\.php(/.*)?)$ unix:{path}|fcgi://localhost/srv/$1\n", {}),
    "written": (SCRIPTS + "RewriteEngine On\nRewriteRule ^/new/(.*) /d/b.php?q=$1 [PT]\nRewriteRule ^/a.php$ /a.php? [PT,E=Q:%{{QUERY_STRING}}]\n", {}),
    "rules": (SCRIPTS + "<Directory />\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\n", {".htaccess": RULES}),
    "authorization": (SCRIPTS + "<Directory />\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\n",
                      {".htaccess": RULES.replace("RewriteRule ^d", "RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteRule ^d", 1)}),
}


TLS = "SSLEngine On\nSSLCertificateFile conf/cert.pem\nSSLCertificateKeyFile conf/key.pem\n"


def told_over_tls(server, backend, name):
    """What comes of requests over a connection that began with this name, and how many of them took the full way."""
    peer = ScriptsOfHTTP1(server, backend)
    peer.client = TLSClient(server, name=name)
    peer.port = peer.client.socket.getsockname()[1]

    def ways():
        peer.client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return sum(int(n) for n in re.findall(rb'not_kept_total{reason="(?:handler|worker)"} (\d+)', peer.answer(False)))
    before, got = ways(), []
    for n in range(8):
        at = peer.count()
        peer.client.send(f"GET /a.php?{n} HTTP/1.1\r\nHost: localhost\r\nX-Answer: php\r\n\r\n")
        answer = peer.answer(False)
        got.append((re.sub(rb"\r\nDate: [^\r]*", b"", answer), peer.since(at)))
    full = ways() - before
    peer.leave()
    return got, full


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_clients_over_tls(serve):
    """The name that TLS began with is a variable, of connections that have one."""
    with Script("fcgi", script) as backend:
        told = []
        for first in ("", "FileCacheEntries 0\n"):
            server = serve.unstarted(first + CONFIG + SCRIPTS.replace("{path}", backend.path) + TLS, {"a.php": "x"})
            certificate(server)
            start(server)
            told.append([told_over_tls(server, backend, name) for name in ("localhost", "other.example", None, "localhost")])
        for planned, full in zip(*told):
            assert planned[0] == full[0]
        seen = [dict(requests[0][1][0][0]).get("SSL_TLS_SNI") for requests, _ in told[0]]
        assert seen == ["localhost", "other.example", None, "localhost"]
        assert [ways for _, ways in told[0]][1] <= 3 and told[0][3][1] <= 3 < told[1][3][1], [ways for _, ways in told[0]]


@pytest.mark.parametrize("protocol", [ScriptsOfHTTP1, ScriptsOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("site", SITES)
def test_random_requests(serve, site, protocol):
    more, files = SITES[site]
    files = {"a.php": "x", "d/b.php": "x", "here.txt": old, **files}
    with Script("fcgi", script) as backend:
        text = CONFIG + more.replace("{path}", backend.path).replace("{{", "{").replace("}}", "}") + LOG
        servers = [serve(first + text, files=files) for first in ("", "FileCacheEntries 0\n")]
        asked, ways = compare([protocol(server, backend) for server in servers], lambda chance: Request(chance, TARGETS, ANSWERS), COUNT // len(SITES) // 2, SEED)
    print(f"{site}: {asked} requests, {ways} of them the full way")
    assert ways < asked * .9 or site in ("generic", "here", "fixed own"), "some go on by a plan"
