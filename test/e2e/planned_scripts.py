# SPDX-License-Identifier: Apache-2.0
"""What tests of FastCGI by plans share: what scripts answer, clients and what backends got of them, and lines of logs."""
import os

from h2_client import OF_A_CONNECTION
from planned_peers import PeerOfHTTP1, PeerOfHTTP2
from script_backend import STDERR, STDOUT, end, record

TYPE = b"Content-type: Text/HTML;charset=UTF-8\r\n"
DATE = b"Fri, 20 Nov 2026 08:00:00 GMT"


def whole(*lines, body=b"hello\n"):
    return record(STDOUT, b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body, padding=5) + end()


TYPED = b"Content-type: text/plain"
ANSWERS = {
    "plain": whole(TYPED),
    "php": whole(b"X-Powered-By: PHP", TYPE[:-2], b"Expires: Thu, 19 Nov 1981 08:52:00 GMT", b"Cache-Control: no-store", b"Pragma: no-cache"),
    "empty": whole(TYPED, body=b""),
    "no-type": whole(b"X-A: b"),
    "bare": record(STDOUT, b"Content-Type: text/html\n\nhello\n") + end(),
    "many-records": record(STDOUT, TYPE + b"\r\n" + b"a" * 1000) + record(STDOUT, b"b" * 3000, padding=3) + record(STDOUT) + record(STDOUT, b"c" * 9) + end(),
    "head-alone": record(STDOUT, TYPE + b"\r\n") + record(STDOUT, b"body") + end(),
    "head-in-two": record(STDOUT, TYPE[:20]) + record(STDOUT, TYPE[20:] + b"\r\nbody") + end(),
    "status": whole(b"Status: 404 Not here", TYPED),
    "status-alone": whole(b"Status: 404", TYPED),
    "status-odd": whole(b"Status: 4x4 Odd", TYPED),
    "status-500": whole(b"Status: 500 Internal Server Error", TYPED),
    "status-304": whole(b"Status: 304 Not Modified", TYPED, body=b""),
    "status-204": whole(b"Status: 204 No Content", body=b""),
    "status-twice": whole(b"Status: 404 Not Found", b"Status: 403 Forbidden", TYPED),
    "interim": whole(b"Status: 103 Early Hints", TYPED),
    "location": whole(b"Status: 302 Found", b"Location: /elsewhere", b"X-A: b", TYPED),
    "location-alone": whole(b"Location: http://elsewhere.example/", TYPED),
    "cookies": whole(b"Set-Cookie: a=b; path=/", b"X-A: b", b"Set-Cookie: c=d", TYPED),
    "twice": whole(b"X-A: b", b"x-a: c", TYPED),
    "links": whole(b"Link: <a>; rel=x", b"X-A: b", b"Link: <b>", b"Vary: Origin", b"link:", b"vary: X-B", TYPED),
    "types": whole(TYPED, b"Content-Type: text/html"),
    "length": whole(b"Content-Length: 3", TYPED),
    "coding": whole(b"Transfer-Encoding: chunked", TYPED),
    "connection": whole(b"Connection: close", b"Keep-Alive: x", TYPED),
    "modified": whole(b"Last-Modified: " + DATE, b"ETag: \"x\"", b"X-A: b", TYPED),
    "modified-odd": whole(b"Last-Modified: Friday, 20-Nov-26 08:00:00 GMT", TYPED),
    "modified-later": whole(b"Last-Modified: Fri, 20 Nov 2099 08:00:00 GMT", TYPED),
    "date": whole(b"Date: " + DATE, b"Server: theirs", TYPED),
    "vary": whole(b"Vary: Cookie", TYPED),
    "vary-list": whole(b"Vary: Cookie, Accept , cookie", TYPED),
    "blanks": whole(b"X-A:   b  ", b"X-B:", b"X-C:c", TYPED + b" "),
    "bad-line": whole(b"no field", TYPED),
    "bad-name": whole(b"a b: c", TYPED),
    "bad-value": whole(b"X-A: \x01", TYPED),
    "language": whole(b"Content-Language: de", b"Content-Encoding: identity", TYPED),
    "proxy-status": whole(b"Proxy-Status: x", TYPED),
    "redirect": whole(b"X-Accel-Redirect: /here.txt", TYPED),
    "nothing": end(),
    "no-head": whole(),
    "stderr-first": record(STDERR, b"said first") + whole(TYPED),
    "stderr-last": whole(TYPED)[:-16] + record(STDERR, b"said last") + end(),
    "cut": whole(TYPED)[:-16],
    "cut-head": record(STDOUT, TYPE + TYPE)[:50],
    "more": whole(TYPED) + b"more",
    "other-version": b"\x02" + whole(TYPED)[1:],
    "other-request": record(STDOUT, TYPE + b"\r\nx", number=2) + end(),
    "long-head": whole(b"X-A: " + b"a" * 5000, TYPED),
    "many-fields": whole(*[b"X-%d: %d" % (i, i) for i in range(90)], TYPED),
    "medium": whole(TYPED, body=b"m" * 10240),
}
CLOSES = ("cut", "cut-head", "other-version", "other-request")  # more is waited for, or the rest is no answer


def script(params, body, send):
    name = params.get("HTTP_X_ANSWER", "plain")
    send(ANSWERS[name])
    return name not in CLOSES


def old(path):
    """A file that is the same for both of the twins."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("here\n")
    os.utime(path, (1700000000, 1700000000))


SCRIPTS = "<FilesMatch \"\\.php$\">\nSetHandler \"proxy:unix:{path}|fcgi://localhost/\"\n</FilesMatch>\nDirectoryIndex b.php\n"
LOG = "KeepAliveTimeout 300\nMaxKeepAliveRequests 0\nRequestReadTimeout header=0 body=0\nProtocols h2c http/1.1\n" \
      "LogFormat \"%{X-Left}i %m %U%q %>s %B %u %f %{X-A}o %{Content-Type}o %{Content-Length}o %{Set-Cookie}o %{Referer}i %{QUERY_STRING}e %{REQUEST_URI}e %{HTTP_X_B}e " \
      "%{REDIRECT_URL}e %{TASTE}e %{no-such}e %{SCRIPT_FILENAME}e\" all\nCustomLog logs/access.log all\n"


class PeerOfScripts:
    """What backends get, as the twins have it in common: each has its folder, its port, and its clients' ports."""

    def count(self):
        return len(self.backend.seen)

    def since(self, before):
        return [([(name, self.neutral(name, value)) for name, value in params.items()], body)
                for params, body in self.backend.seen[before:] if "HTTP_X_LEFT" not in params]

    def neutral(self, name, value):
        if name.endswith("REMOTE_PORT"):
            return value == str(self.port)
        if name.endswith(("H2_STREAM_ID", "H2_STREAM_TAG")):
            return value.split("-")[-1]
        return value.replace(str(self.server.root), "ROOT").replace(str(self.server.port), "PORT")

    def connect(self):
        client = super().connect()
        self.port = client.socket.getsockname()[1]
        return client


class ScriptsOfHTTP1(PeerOfScripts, PeerOfHTTP1):
    pass


class ScriptsOfHTTP2(PeerOfScripts, PeerOfHTTP2):
    pass


FIELDS = ["Accept: */*", "Cookie: a=b", "Cookie: c=d", "Authorization: Basic eDp5", "X-B: 1", "X-b:  2 ", "X_B: 3", "X-C:", "Referer: r", "Proxy: x",
          "Connection: keep-alive", "Connection: close", "Connection: TE", "TE: trailers", "Keep-Alive: timeout=3", "Upgrade: websocket", "Via: 1.0 a",
          "X-Forwarded-For: 192.0.2.1", "Max-Forwards: 3", "Range: bytes=1-2", "If-None-Match: \"x\"", "If-None-Match: *", "If-Match: \"y\"",
          "If-Modified-Since: Fri, 20 Nov 2026 08:00:00 GMT", "Expect: odd", "Proxy-Authorization: Basic eDp5", f"X-Long: {'b' * 3000}", f"X-Longer: {'b' * 200}",
          "Accept-Encoding: gzip", "Content-Type: text/x", "X-Odd:\t1\t2\t", *[f"X-{n}: {n}" for n in range(40)]]


class Request:
    """A random one. What its backend answers is named by a field."""

    def __init__(self, chance, targets, answers):
        self.method = chance.choices(["GET", "HEAD", "POST"], [95, 3, 2])[0]
        self.target = chance.choice(targets)
        answer = "plain" if chance.random() < .4 else chance.choice(list(answers))
        self.fields = [f"Host: {chance.choice(['localhost'] * 8 + ['other:81'])}", f"X-Answer: {answer}"]
        self.fields += chance.sample(FIELDS, chance.choice([0, 0, 0, 1, 1, 2, 4] + [40] * (chance.random() < .05)))
        chance.shuffle(self.fields)
        self.body = "abc" if self.method == "POST" else ""
        self.version = chance.choices(["1.1", "1.0"], [95, 5])[0]
        self.leaves = chance.random() if chance.random() < .02 else None

    @property
    def text(self):
        fields = [*self.fields, "Content-Length: 3"] if self.body else self.fields
        return "\r\n".join([f"{self.method} {self.target} HTTP/{self.version}", *fields, "", self.body])

    @property
    def of_stream(self):
        pairs = [(name, value.strip()) for name, _, value in (f.partition(":") for f in self.fields) if name.lower() not in OF_A_CONNECTION]
        return self.method, self.target.replace("http://localhost", ""), pairs, self.body.encode()
