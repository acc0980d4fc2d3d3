# SPDX-License-Identifier: Apache-2.0
"""Header beside planned requests (test_planned.py): random rules of mod_headers for random answers, by plans and without, over HTTP/1 and
HTTP/2, from HTTP and FastCGI backends. Clients get the same, and logs tell the same. TEST_SEED repeats them, TEST_COUNT=1000 sets of rules are
tried."""
import random
import re
import time

import pytest

import effort
from backend import Backend
from planned_client import is_planned, one
from planned_peers import PeerOfHTTP1, PeerOfHTTP2, lines_of
from planned_scripts import ANSWERS as SCRIPTED
from planned_scripts import SCRIPTS, ScriptsOfHTTP1, ScriptsOfHTTP2, old, script
from planned_site import ANSWERS, CONFIG, DATE, PLAIN, TYPE, full_ways, text_of
from script_backend import Script

pytestmark = pytest.mark.only("brigade")

SETS = effort.count(24, 1000)
SEED = int(effort.seed(random.randrange(1 << 30)))
NAMES = ["X-A", "x-a", "X-B", "X-New", "Set-Cookie", "Cache-Control", "ETag", "Location", "Vary", "X-Powered-By", "Last-Modified", "Expires", "Via"]
RULES = ["set {} 1", "set {} \"%{{X}}e, b\"", "set {} \"\"", "append {} b", "append {} c", "add {} 2", "merge {} b", "merge {} Cookie", "setifempty {} 3", "unset {}",
         "edit {} ^(.*)$ \"$1; HttpOnly\"", "edit {} a \"\"", "edit* {} [ab] <$0>", "edit {} x %{{X}}e", "set {} \"%{{QUERY_STRING}}e\"", "set {} 4 env=X", "set {} 5 env=!X", "unset {} env=none",
         "set {} expr=%{{REQUEST_URI}}", "set {} 6 \"expr=%{{QUERY_STRING}} =~ /[3-5]/\"", "append {} 7 \"expr=%{{req:X-Answer}} == 'php'\""]
OTHERS = ["unset Server", "set Server mine", "always unset Server"]
RARE = ["setifempty {} expr=%{{req:X-Answer}}", "edit {} a expr=%{{req:X-Answer}}", "set {} 1 \"expr=%{{REQUEST_STATUS}} == 404\"", "set {} 1 early", "echo Referer", "note {} kept", "set Date x", "edit Server t T", "set Content-Type text/x"]
USED = [name for name in ANSWERS if name not in ("pieces", "nothing", "garbage", "bad-field", "both", "more-than-told")]
MANY = text_of("200 OK", DATE, TYPE, "X-A: a", "X-B: b, a", "Set-Cookie: a=b", "X-a: b", "Cache-Control: a, b", "Server: t", "Set-Cookie: c=d", "ETag: \"a\"", "Content-Length: 2", body=b"ab")
FEW = ["plain", "php", "empty", "status", "location", "location-alone", "cookies", "twice", "modified", "date", "vary", "vary-list", "blanks", "medium", "no-type"]


def rules(chance):
    """Of one place; most of them such that plans know them."""
    text = ""
    for _ in range(chance.choice([1, 1, 2, 3, 5, 8])):
        rule = chance.choice(RULES if chance.random() < .97 else RARE).format(chance.choice(NAMES))
        text += f"Header {chance.choice(['', '', 'always ', 'onsuccess '])}{rule}\n"
    return text + (f"Header {chance.choice(OTHERS)}\n" if chance.random() < .2 else "")


LOG = "KeepAliveTimeout 300\nMaxKeepAliveRequests 0\nProtocols h2c http/1.1\nCustomLog logs/access.log all\n" \
      "LogFormat \"- %U %>s %B %{X-A}o %{X-B}o %{X-New}o %{Content-Type}o %{Set-Cookie}o %{Cache-Control}o %{ETag}o %{Vary}o %{Via}o %{Server}o\" all\n"


class Request:
    method, leaves = "GET", None

    def __init__(self, place, name="", fields=()):
        self.place, self.target, self.fields = f"{place}>", place + name, ["Host: localhost", *fields]

    def ask(self, peers, query):
        """What both get: a plan is for any query."""
        self.query = query
        return [peer.ask(self) for peer in peers]

    @property
    def text(self):
        return "\r\n".join([f"GET {self.target}?{self.query} HTTP/1.1", *self.fields, "", ""])

    @property
    def of_stream(self):
        return "GET", f"{self.target}?{self.query}", [tuple(f.split(": ")) for f in self.fields if not f.startswith("Host")], b""


def places(chance, path):
    return "".join(f"<Location {path.format(n)}>\n{rules(chance)}</Location>\n" for n in range(SETS))


def asked_of(peers, requests):
    before, asked = full_ways(peers[0].server), 0
    for request in requests:
        for query in range(8):
            asked += 1
            planned, full = request.ask(peers, query)
            assert planned == full, f"TEST_SEED={SEED}: {request.text!r}\n{peers[0].server.read('conf/httpd.conf').decode().partition(request.place)[2].partition('</L')[0]}"
    ways = full_ways(peers[0].server) - before
    for peer in peers:
        peer.leave()
        peer.server.stop()
    lines = [sorted(lines_of(peer.server)) for peer in peers]
    assert lines[0] == lines[1]
    print(f"{asked} requests, {ways} of them the full way")
    assert ways < asked * .9, "some go on by a plan"


@pytest.mark.parametrize("protocol", [PeerOfHTTP1, PeerOfHTTP2], ids=["http1", "http2"])
def test_answers_of_http(serve, protocol):
    chance = random.Random(SEED)
    with Backend({}) as backend:
        for name, text in [*ANSWERS.items(), ("many", MANY)]:
            text = text.replace(b"{port}", str(backend.port).encode()) if isinstance(text, bytes) else text
            backend.scripts.update({f"/{n}/{name}": text for n in range(SETS)})
        text = CONFIG + f"ProxyPass /p/ http://127.0.0.1:{backend.port}/\nSetEnv X value\nProxyStatusField On\nProxyVia On\n" + places(chance, "/p/{}/") + LOG
        peers = [protocol(serve(more + text), backend) for more in ("", "FileCacheEntries 0\n")]
        asked_of(peers, [Request(f"/p/{n}/", chance.choice([*USED, *["many"] * len(USED)])) for n in range(SETS) for _ in range(4)])


@pytest.mark.parametrize("protocol", [ScriptsOfHTTP1, ScriptsOfHTTP2], ids=["http1", "http2"])
def test_answers_of_scripts(serve, protocol):
    chance = random.Random(SEED)
    with Script("fcgi", script) as backend:
        text = CONFIG + SCRIPTS.replace("{path}", backend.path) + "SetEnv X value\n" + places(chance, "/{}.php") + LOG
        peers = [protocol(serve(more + text, files={f"{n}.php": old for n in range(SETS)}), backend) for more in ("", "FileCacheEntries 0\n")]
        answers = [name for name in SCRIPTED if name in FEW]
        asked_of(peers, [Request(f"/{n}.php", fields=[f"X-Answer: {chance.choice(answers)}"]) for n in range(SETS) for _ in range(4)])


PLANNED = ["Header set X-New 1", "Header always set Strict-Transport-Security \"max-age=63072000\"", "Header unset X-A\nHeader always unset X-Powered-By",
           "Header edit Set-Cookie ^(.*)$ \"$1; HttpOnly\"", "Header merge Vary Accept-Encoding", "SetEnv X y\nHeader append Cache-Control %{X}e env=X",
           "Header set X-New \"%D %t\"", "Header always append X-New \"%l, %i of %b%%\"", "Header set X-New 1 \"expr=%{HTTP_USER_AGENT} =~ /x/\"", "Header set X-New expr=%{REQUEST_URI}?%{QUERY_STRING}"]


@pytest.mark.parametrize("setting", PLANNED)
def test_there_are_plans(serve, setting):
    with Backend({"*": PLAIN}) as backend:
        assert is_planned(serve(f"{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n{setting}\n"))


NOT_PLANNED = ["SetEnv X y\nHeader set X-New \"%t %{X}e\"", "SetEnv X y\nHeader set X-New expr=%{reqenv:X}", "Header set X-New 1 \"expr=%{resp:X-A} == 'b'\"", "Header set X-New expr=%{TIME_SEC}", "Header set X-New 1 \"expr=%{REQUEST_STATUS} == 200\"", "Header set X-New expr=%{REQUEST_STATUS}", "Header set Date x",
               "Header always set Server x", "Header set X-New \"%{BALANCER_WORKER_NAME}e\"", "Header note X-A kept", "Header echo Host", "Header always set X-New 1 early"]


@pytest.mark.parametrize("setting", NOT_PLANNED)
def test_each_request_is_made(serve, setting):
    with Backend({"*": PLAIN}) as backend:
        assert not is_planned(serve(f"{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n{setting}\n"))


def test_values_of_the_time(serve):
    """Each answer has its own, by a plan as without one."""
    with Backend({"*": PLAIN}) as backend:
        for more in ("", "FileCacheEntries 0\n"):
            server = serve(f"{more}{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\nHeader set X-New \"%D %t %i%%\"\nHeader edit X-A b \"%t\"\n")
            with server.connect() as client:
                for _ in range(12):
                    before = time.time()
                    got = one(client, "GET /p/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    took, began = re.search(rb"\r\nX-New: D=(\d+) t=(\d+) i=\d+%\r\n", got).groups()
                    assert before - .01 < int(began) / 1e6 < time.time() + .01 and int(took) / 1e6 < time.time() - before + .01
                    assert b"\r\nX-A: t=%b\r\n" % began in got


@pytest.mark.parametrize("rule,planned", [("Header set X-New {}", True), ("Header edit X-A b {}", False)])
def test_access_files(serve, rule, planned):
    """Their patterns do not live as long as a plan may. What they say now counts for each request."""
    with Backend({"*": PLAIN}) as backend:
        text = f"RewriteEngine On\nRewriteRule ^x$ http://127.0.0.1:{backend.port}/x [P]\n{rule}\n"
        server = serve(f"{CONFIG}<Directory />\nAllowOverride All\nRequire all granted\n</Directory>\n<Proxy http://127.0.0.1:{backend.port}/>\nProxySet timeout=60\n</Proxy>\n",
                       files={".htaccess": text.format("first")})
        assert is_planned(server, "GET /x HTTP/1.1\r\nHost: localhost\r\n", first=5) == planned
        with server.connect() as client:
            for n in range(20):
                server.write(".htaccess", text.format(f"value{n}"))
                for _ in range(n % 4 + 1):
                    assert b": value%d\r\n" % n in one(client, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
