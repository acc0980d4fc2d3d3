# SPDX-License-Identifier: Apache-2.0
"""Twins: random requests with random answers, to a server that sends them on by plans and to one that has none, over HTTP/1 and HTTP/2 and
with all that plans are made beside. Clients and backends get the same, and logs tell the same. TEST_COUNT=60000 sends so many, TEST_SEED
repeats them."""
import random
import shutil
import subprocess

import pytest

import effort
from backend import Backend
from h2_client import OF_A_CONNECTION
from planned_peers import PeerOfHTTP1, PeerOfHTTP2, compare
from planned_site import ANSWERS, CONFIG, WHOLE

pytestmark = pytest.mark.only("brigade")

COUNT = effort.count(6000, 60000)
SEED = int(effort.seed(random.randrange(1 << 30)))
FIELDS = ["Accept: */*", "Cookie: a=b", "Cookie: c=d", "cookie:e=f", "Cookie: S=x.one", "Cookie: a=b; S=x.two", "Cookie: S=x.nobody", "Authorization: Basic eDp5",
          "Authorization: Basic eDp6", "Authorization: Bearer x", "X-B: 1", "X-b:  2 ", "X-C:", "Referer: r",
          "Connection: keep-alive", "Connection: close", "Connection: X-B", "Connection: X-B, close", "Connection: TE", "TE: trailers", "Keep-Alive: timeout=3",
          "Proxy-Connection: keep-alive", "Trailer: X-C", "Upgrade: websocket", "Connection: Upgrade", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Host: a",
          "x-forwarded-server: b", "Via: 1.0 a", "Max-Forwards: 3", "Max-Forwards: 0", "Range: bytes=1-2", "If-None-Match: \"x\"", "If-Match: \"y\"",
          "If-Modified-Since: Fri, 20 Nov 2026 08:00:00 GMT", "Expect: 100-continue", "Expect: odd", "Proxy-Authorization: Basic eDp5", f"X-Long: {'b' * 3000}",
          "Accept-Encoding: gzip", "Cache-Control: no-cache", "Pragma: no-cache", "X-Odd:\t1\t2\t"]
TARGETS = [*["/p/{}"] * 6, *["/p/{}?a=b"] * 3, "/p/{}?s=y.two", "/p/{}?", "/p/./{}", "/p//{}", "http://localhost/p/{}", "/p/{}?%2f?x", "/p/%6e%6f/../{}"]
# What ends both connections, and what is split as chance will have it, is left to the tests that have one such answer.
USED = [name for name in ANSWERS if name not in ("pieces", "nothing")]

WORKER = "<Proxy http://127.0.0.1:{port}/>\nProxySet timeout=60\n</Proxy>\nRewriteEngine On\n"
PASS = "ProxyPass /p/ http://127.0.0.1:{port}/\n"
BALANCER = "<Proxy balancer://b>\nBalancerMember http://127.0.0.1:{port} route=one\nBalancerMember http://localhost:{port} route=two\nProxySet %s\n</Proxy>\n" \
           "ProxyPass /p/ balancer://b/\nProxyPassReverse /p/ balancer://b/\n"
SITES = {
    "plain": PASS,
    "one-request": PASS.replace("/\n", "/ disablereuse=on\n"),
    "host": PASS + "ProxyPreserveHost On\n",
    "added": PASS + "AddDefaultCharset utf-8\nProxyStatusField On\nProxyVia On\n",
    "reverse": PASS + "ProxyPassReverse /p/ http://127.0.0.1:{port}/\nProxyPassReverseCookiePath / /p/\n",
    "sessions": BALANCER % "stickysession=S|s",
    "changed": PASS + "RequestHeader set X-B 2\nRequestHeader set X-C expr=%{REQUEST_SCHEME}\nRequestHeader unset Referer\n",
    "edits": PASS + "Header set X-New 1\nHeader append X-A c\nHeader edit Set-Cookie a=b a=c\nHeader always set X-Other 2\nHeader unset Server\nHeader merge Vary Cookie\n",
    "coded": PASS + "AddOutputFilterByType DEFLATE text/plain text/css\nHeader set X-New 1\n",
    "limits": PASS + "RequestLimit a \"key=%{HTTP_COOKIE}\" rate=1/h burst=40\nRequestLimit b rate=1/h burst=300\n",
    "edited": PASS + "RequestHeader set X-New 1\nRequestHeader edit X-B ^(.)$ $1$1\nRequestHeader setifempty X-C 5\nRequestHeader append Cookie x=y\nRequestHeader edit* Referer r ss\n",
    "hash": BALANCER % "lbmethod=hash failonstatus=599",
    "files": WORKER + "RewriteCond %{DOCUMENT_ROOT}/maintenance !-f\nRewriteRule ^/p/(.*) http://127.0.0.1:{port}/$1 [P]\n",
    "passwords": PASS + "<Location /p/>\nAuthType Basic\nAuthName x\nAuthUserFile htdocs/users\nRequire valid-user\n</Location>\n",
}
LOG = "MaxKeepAliveRequests 0\nProtocols h2c http/1.1\n" \
      "LogFormat \"%{X-Left}i %m %U%q %>s %B %u %{X-A}o %{Content-Type}o %{Set-Cookie}o %{Referer}i %{BALANCER_WORKER_ROUTE}e %{BALANCER_SESSION_ROUTE}e %{BALANCER_ROUTE_CHANGED}e\" all\n" \
      "CustomLog logs/access.log all\n"


class Request:
    def __init__(self, chance, leaving):
        self.method = chance.choices(["GET", "HEAD", "POST", "OPTIONS"], [90, 5, 3, 2])[0]
        self.target = chance.choice(TARGETS).format(chance.choice(WHOLE if chance.random() < .7 else USED))
        self.fields = [f"Host: {chance.choice(['localhost'] * 8 + ['other:81'])}", *chance.sample(FIELDS, chance.choice([0, 0, 0, 1, 1, 2, 4]))]
        chance.shuffle(self.fields)
        self.body = "abc" if self.method == "POST" or chance.random() < .02 else ""
        self.framing = chance.choice(["Content-Length: 3", "Content-Length: 3", "Transfer-Encoding: chunked"]) if self.body else None
        self.version = chance.choices(["1.1", "1.0"], [95, 5])[0]
        self.leaves = chance.random() if leaving and chance.random() < .02 else None
        if "/large" in self.target and "Range: bytes=1-2" in self.fields:
            self.fields.remove("Range: bytes=1-2")  # a part is sent of what came as a whole (as from Apache), which chance decides

    @property
    def text(self):
        fields = [*self.fields, self.framing] if self.framing else self.fields
        body = "3\r\nabc\r\n0\r\n\r\n" if self.framing and self.framing.startswith("Transfer") else self.body
        return "\r\n".join([f"{self.method} {self.target} HTTP/{self.version}", *fields, "", body])

    @property
    def of_stream(self):
        pairs = [(name, value.strip()) for name, _, value in (f.partition(":") for f in self.fields) if name.lower() not in OF_A_CONNECTION]
        return self.method, self.target.replace("http://localhost", ""), pairs, self.body.encode()


@pytest.mark.parametrize("protocol", [PeerOfHTTP1, PeerOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("site", SITES)
def test_random_requests(serve, site, protocol):
    if site == "passwords" and not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    users = "x:" + subprocess.run(["openssl", "passwd", "-apr1", "y"], capture_output=True, text=True, check=True).stdout if site == "passwords" else ""
    with Backend({}) as backend:
        for name, script in ANSWERS.items():
            backend.scripts[f"/{name}"] = script.replace(b"{port}", str(backend.port).encode()) if isinstance(script, bytes) else script
        text = CONFIG + (SITES[site] + LOG).replace("{port}", str(backend.port))
        peers = [protocol(serve(more + text, files={"users": users}), backend) for more in ("", "FileCacheEntries 0\n")]
        leaving = site not in ("sessions", "limits")  # what came before counts there
        asked, ways = compare(peers, lambda chance: Request(chance, leaving), COUNT // len(SITES) // 2, SEED)
    print(f"{site}: {asked} requests, {ways} of them the full way")
    assert ways < asked * (1 if site in ("passwords", "limits") else .9), "some go on by a plan"
