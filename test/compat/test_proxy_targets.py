# SPDX-License-Identifier: Apache-2.0
"""Where the proxy sends a request, what it says there of the target, and what of the answer clients see: as Apache's mod_proxy. Behind both
stand backends that record."""
import os
import re
import socket
import threading

import pytest

import brigade
from stock import driver

pytestmark = pytest.mark.skipif(not os.path.exists(driver.APACHE) or brigade.is_apache(brigade.BINARY), reason="Apache beside Brigade")
MODULES = ["slotmem_shm", "proxy", "proxy_http", "proxy_balancer", "lbmethod_byrequests", "lbmethod_bytraffic", "lbmethod_bybusyness", "rewrite",
           "headers", "setenvif", "env"]


class Backend:
    """Answers each request with its name, and keeps the line and the Host field of the last."""

    def __init__(self, name, path=None):
        self.name, self.last, self.extra, self.status = name, None, "", "200 OK"
        self.socket = socket.socket(socket.AF_UNIX) if path else socket.create_server(("127.0.0.1", 0))
        if path:
            self.socket.bind(path)
            self.socket.listen()
            os.chmod(path, 0o777)
        else:
            self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                threading.Thread(target=self.talk, args=(self.socket.accept()[0],), daemon=True).start()
            except OSError:
                return

    def talk(self, connection):
        data = b""
        with connection:
            while more := connection.recv(65536):
                data += more
                while b"\r\n\r\n" in data:
                    head, data = data.split(b"\r\n\r\n", 1)
                    lines = head.decode("latin1").split("\r\n")
                    self.last = (lines[0], *(line for line in lines if line.lower().startswith("host:")))
                    connection.sendall(f"HTTP/1.1 {self.status}\r\nContent-Length: 1\r\n{self.extra}\r\n{self.name}".encode())

    def take(self):
        last, self.last = self.last, None
        return last


class Site:
    """Both servers with one configuration, and backends a, b, c, u (a Unix socket)."""

    def __init__(self, config):
        self.folder = brigade.Server("")  # a place for the socket
        os.chmod(self.folder.root, 0o755)
        self.backends = {name: Backend(name) for name in "abc"}
        self.backends["u"] = Backend("u", self.folder.path("u.sock"))
        self.servers = []
        for name in "abc":
            config = config.replace(f"@{name}@", f"127.0.0.1:{self.backends[name].port}")
        for binary in (driver.APACHE, brigade.BINARY):
            server = brigade.Server("", binary=binary, modules=MODULES)
            loads = "" if server.apache else "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES)
            server.config = loads + config.replace("@u@", self.folder.path("u.sock"))
            self.servers.append(server)

    def __enter__(self):
        for server in self.servers:
            server.start()
        return self

    def __exit__(self, *args):
        for server in self.servers:
            server.close()
        for backend in self.backends.values():
            backend.socket.close()
        self.folder.remove()

    def ask(self, server, target, fields=""):
        """(status, fields that matter, which backend got what)"""
        raw = server.raw(f"GET {target} HTTP/1.1\r\nHost: front.example\r\nConnection: close\r\n{fields}\r\n".encode("latin1")).decode("latin1")
        head = raw.split("\r\n\r\n")[0]
        got = [(name, last) for name, backend in self.backends.items() if (last := backend.take())]
        named = re.findall(r"\r\n((?:Location|Set-Cookie|X-R): [^\r]*)", head)
        return head.split(" ")[1], [n.replace(str(server.port), "PORT") for n in named], got

    def both(self, target, fields=""):
        return [self.ask(server, target, fields) for server in self.servers]


TARGETS = """UseCanonicalName Off
ProxyPass /no !
ProxyPass /a/ http://@a@/
ProxyPass /b http://@b@/base
ProxyPass /raw http://@a@/nc nocanon
ProxyPass /encoded http://@a@/e mapping=encoded
ProxyPass /servlet http://@a@/s mapping=servlet
ProxyPass /u unix:@u@|http://sock.example/uu
ProxyPassMatch ^/m/(.*)$ http://@a@/mm/$1
ProxyPassMatch ^/whole/.*\\.gif$ http://@a@
ProxyPass /dead http://127.0.0.1:1/
<Location /loc>
ProxyPass http://@a@/loc
ProxyPassReverse http://@a@/loc
ProxyPassReverse /other
ProxyPassReverseCookiePath /app /loc
ProxyPassReverseCookieDomain a.internal front.example
</Location>
<LocationMatch ^/lm/([a-z]+)>
ProxyPass http://@a@/$1
</LocationMatch>
<LocationMatch ^/off/([a-z]+)>
ProxyPass !
</LocationMatch>
ProxyPass /off http://@b@/x
ProxyPassReverse /a/ http://@a@/
ProxyPassReverse /b http://@b@/base
<Proxy http://@a@/denied*>
Require all denied
</Proxy>
ProxyPass /sec http://@a@/denied
SetEnvIf X-No yes no-proxy
RewriteEngine On
RewriteRule ^/rw/(.*)$ http://@a@/rw/$1 [P]
RewriteRule ^/rwu/(.*)$ unix:@u@|http://x/rw/$1 [P]
<Location /override>
ProxyErrorOverride On 404
</Location>
ProxyPass /override http://@a@/o
ProxyPass /bal balancer://one/p
<Proxy balancer://one>
BalancerMember http://@a@/q/
</Proxy>
ProxyPassReverse /bal balancer://one/p
ProxyPass /none balancer://none/
AllowEncodedSlashes NoDecode
"""
PATHS = """/a/ /a/x /a /ax /a//x //a/x /a/x?q=1&b=%20 /a/%41b /a/%2f /a/x%2Fy /a/a%3bb;c /a/%3f?x /a/%25 /a/%20sp /a/%c3%a9 /a/"<>`{}|\\^ /a/../b /a/./x
/a/%2e%2e/b /a/%00 /a/%0a /a/x?%0a /a/~$-_.+!*'(),;:@&= /a/[x] /b /b/ /b/x /bx /b?x /no /no/a /raw/%41%20 /raw/x?y=1 /raw//x /raw /r%61w/x
/raw/%0d%0aX /encoded/%41 /encoded/a%2fb /%65ncoded/x /encoded/x?q /servlet/a;b=c/d /servlet;x/a /servlet;x /servlet/..;/x /servlet/%2e%2e/x /u/x /u
/m/abc /m/a%20b?q=1 /m/%3fx /m/a%0ab /m/@evil/ /whole/a.gif /whole/x%20y.gif /dead/ /loc /loc/x /locx /lm/abc /lm/abc/d /off/a /off/1 /sec/x /rw/a
/rw/a%20b /rw/a%3fb /rw/a?x=1 /rwu/a /override/x /a/%c0%ae /a/% /a/%zz /a/%5c /b/%2f..%2f /bal /bal/ /bal/x?y /none/x""".split()


@pytest.fixture(scope="module")
def targets():
    with Site(TARGETS) as site:
        yield site


@pytest.mark.parametrize("path", PATHS)
def test_targets(targets, path):
    apache, here = targets.both(path)
    assert apache == here


def test_no_proxy(targets):
    apache, here = targets.both("/a/x", "X-No: yes\r\n")
    assert apache == here and not here[2]


@pytest.mark.parametrize("location", ["http://@a@/foo", "http://@a@/loc/x", "/other/x", "/foo", "//@a@/foo", "http://other/", "HTTP://@a@/foo", "http://@a@",
                                      "http://@a@/locx", "http://@b@/base/x", "http://@a@/q/p/x"])
def test_answers(targets, location):
    a, b = (f"127.0.0.1:{targets.backends[name].port}" for name in "ab")
    backend = targets.backends["a"]
    backend.status = "302 Found"
    backend.extra = ("Location: " + location.replace("@a@", a).replace("@b@", b) + "\r\nSet-Cookie: a=b; path=/app/x; domain=a.internal; HttpOnly\r\n"
                     "Set-Cookie: c=d; Path=/app\r\nSet-Cookie: e=f; domain=.a.internal\r\nSet-Cookie: g=h;path=/apple\r\n")
    try:
        for path in ("/a/x", "/loc/x", "/bal/x"):
            apache, here = targets.both(path)
            assert apache == here
    finally:
        backend.status, backend.extra = "200 OK", ""


@pytest.mark.parametrize("status", ["404 Not Found", "500 No"])
def test_own_error_pages(targets, status):
    targets.backends["a"].status = status
    try:
        apache, here = targets.both("/override/x")
        assert apache == here
    finally:
        targets.backends["a"].status = "200 OK"


BALANCERS = {
    "req": ("lbmethod=byrequests", ["loadfactor=1", "loadfactor=2", "loadfactor=3.5"]),
    "busy": ("lbmethod=bybusyness", ["loadfactor=1", "loadfactor=2", "loadfactor=3"]),
    "standby": ("", ["status=+D", "status=+S", "status=+H"]),
    "spare": ("", ["", "status=+D", "status=+R"]),
    "drain": ("stickysession=S", ["route=a status=+N", "route=b", "route=c"]),
    "lbset": ("", ["lbset=1 status=+D", "lbset=2", "lbset=3"]),
    "sticky": ("stickysession=S|sid", ["route=a", "route=b", "route=c redirect=a status=+D"]),
    "force": ("stickysession=S nofailover=On", ["route=a status=+D", "route=b", ""]),
    "sep": ("stickysession=S stickysessionsep=!", ["route=a", "route=b", ""]),
    "sepoff": ("stickysession=S stickysessionsep=off scolonpathdelim=On", ["route=a", "route=b", ""]),
    "out": ("", ["status=+D", "status=+E", "status=+S"]),
    "ignore": ("", ["status=+E+I", "status=+E", ""]),
}
SESSIONS = ["", "?S=1.a&z=1", ";S=1.b", ";sid=q.a", "?a=1&S=1.b"]
COOKIES = ["S=x.a", "S=x.b", "S=x.c", "S=x.zz", "T=1; S=1.a", "XS=1.b", 'S="1.b"', "S=x!b", "S=b", "S=", "S=x.", "S=q.a.b", "s=x.a"]


@pytest.fixture(scope="module")
def balancers():
    config = 'Header add X-R "%{BALANCER_WORKER_ROUTE}e|%{BALANCER_ROUTE_CHANGED}e|%{BALANCER_SESSION_STICKY}e|%{BALANCER_SESSION_ROUTE}e|%{BALANCER_NAME}e"\n'
    for name, (params, members) in BALANCERS.items():
        lines = "".join(f"BalancerMember http://@{backend}@ {member}\n" for backend, member in zip("abc", members))
        config += f"ProxyPass /{name} balancer://{name}\n<Proxy balancer://{name}>\n{lines}" + (f"ProxySet {params}\n" if params else "") + "</Proxy>\n"
    with Site(config) as site:
        yield site


@pytest.mark.parametrize("name", BALANCERS)
def test_balancers(balancers, name):
    asked = [(f"/{name}/x", "")] * 12
    if "sticky" in BALANCERS[name][0]:
        asked += [(f"/{name}/x{session}", "") for session in SESSIONS] + [(f"/{name}/x", f"Cookie: {cookie}\r\n") for cookie in COOKIES]
    for target, fields in asked:
        apache, here = balancers.both(target, fields)
        assert apache == here, (target, fields)
