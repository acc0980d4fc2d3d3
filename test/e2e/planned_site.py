# SPDX-License-Identifier: Apache-2.0
"""What tests of requests by a plan share: a server with such plans and one without, and what their backend answers."""
import re
import time

from backend import answer
from http_client import Truncated

DATED = [("Date", "Fri, 20 Nov 2026 08:00:00 GMT"), ("Content-Type", "text/plain")]
PLAIN = answer(b"hello\n", fields=[*DATED, ("X-A", "b")])
CONFIG = """EventLoops 1
KeepAliveTimeout 300
RequestReadTimeout header=0 body=0
<Location /metrics>
    SetHandler metrics
</Location>
"""


def config(backend, more="", parameters="", target="/"):
    return f"{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}{target} {parameters}\n{more}\n"


class Figures:
    """Reads /metrics over a connection of its own: a worker makes the page, and may count it after its client has it, but before the connection's next request."""

    def __init__(self, server):
        self.server, self.process, self.client, self.pages = server, server.process, server.connect(), 0

    def page(self):
        try:
            page = self.client.get("/metrics")
        except (OSError, Truncated):  # KeepAliveTimeout
            self.client = self.server.connect()
            page = self.client.get("/metrics")
        self.pages += 1
        return page.body.decode()

    def full_ways(self):
        page = self.page()
        return sum(int(n) for n in re.findall(r'^brigade_cache_not_kept_total{reason="(?:handler|worker)"} (\d+)$', page, re.M)) - self.pages + 1


def figures_of(server):
    if getattr(server, "figures", None) is None or server.figures.process is not server.process:
        server.figures = Figures(server)
    return server.figures


def full_ways(server):
    """Requests so far that took the full way to a handler, the proxy's or, before this one, that of this page, which is left out."""
    return figures_of(server).full_ways()


def twins(serve, backend, more="", **way):
    return serve(config(backend, more, **way)), serve(config(backend, "FileCacheEntries 0\n" + more, **way))


def neutral(server, got):
    """Without the time, and the port, that pages of the server's own have."""
    today = time.strftime("%d %b %Y", time.gmtime()).encode()  # of a Last-Modified that is still to come
    got = re.sub(rb"(?im)^(retry-after|ratelimit): (?!3\r)[^\r]*", rb"\1: SECONDS", got)  # how many of an hour are left
    got = re.sub(rb"(?i)\r\nDate: (?!Fri, 20 Nov 2026 08:00:00)[^\r]*|\r\nLast-Modified: \w+, " + today + rb"[^\r]*", b"", got)
    return re.sub(rb"\b%d\b" % server.port, b"PORT", got)


def in_pieces(*pieces):
    """A function for Backend: each piece when the one before has left, and was most likely read."""
    def script(connection, request):
        for piece in pieces:
            connection.send(piece)
        return None
    return script


def text_of(status, *lines, body=b""):
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


DATE, TYPE = "Date: Fri, 20 Nov 2026 08:00:00 GMT", "Content-Type: text/html"
ANSWERS = {
    "plain": PLAIN,
    "empty": text_of("200 OK", DATE, TYPE, "Content-Length: 0"),
    "no-type": text_of("200 OK", DATE, "Content-Length: 2", body=b"ab"),
    "no-date": text_of("200 OK", TYPE, "Content-Length: 2", body=b"ab"),
    "server": text_of("200 OK", DATE, TYPE, "Server: theirs", "Content-Length: 2", body=b"ab"),
    "two-dates": text_of("200 OK", DATE, "Date: x", TYPE, "Content-Length: 2", body=b"ab"),
    "two-servers": text_of("200 OK", DATE, "server: a", "Server: b", TYPE, "Content-Length: 2", body=b"ab"),
    "two-types": text_of("200 OK", DATE, TYPE, "Content-Type: text/plain", "Content-Length: 2", body=b"ab"),
    "two-lengths": text_of("200 OK", DATE, TYPE, "Content-Length: 2", "Content-Length: 2", body=b"ab"),
    "length-in-another-form": text_of("200 OK", DATE, TYPE, "Content-Length: 0002", body=b"ab"),
    "reason": text_of("200 Very well", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "no-reason": text_of("200 ", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "no-space": text_of("200", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "1.0": text_of("200 OK", DATE, TYPE, "Content-Length: 2", body=b"ab").replace(b"1.1", b"1.0", 1),
    "keep-alive": text_of("200 OK", DATE, TYPE, "Keep-Alive: timeout=5", "Connection: keep-alive", "Content-Length: 2", body=b"ab"),
    "named": text_of("200 OK", DATE, TYPE, "X-A: 1", "Connection: X-A", "Content-Length: 2", body=b"ab"),
    "hop": text_of("200 OK", DATE, TYPE, "TE: a", "Trailer: b", "Upgrade: c", "Proxy-Connection: d", "Content-Length: 2", body=b"ab"),
    "via": text_of("200 OK", DATE, TYPE, "Via: 1.1 a", "Content-Length: 2", body=b"ab"),
    "vary": text_of("200 OK", DATE, TYPE, "Vary: Cookie", "Content-Length: 2", body=b"ab"),
    "vary-list": text_of("200 OK", DATE, TYPE, "Vary: Cookie, Accept , cookie", "Content-Length: 2", body=b"ab"),
    "vary-twice": text_of("200 OK", DATE, TYPE, "Vary: Cookie", "vary: Accept", "Content-Length: 2", body=b"ab"),
    "location": text_of("302 Found", DATE, TYPE, "Location: http://127.0.0.1:{port}/y", "Content-Length: 2", body=b"ab"),
    "content-location": text_of("200 OK", DATE, TYPE, "Content-Location: http://127.0.0.1:{port}/y", "Content-Length: 2", body=b"ab"),
    "cookies": text_of("200 OK", DATE, TYPE, "Set-Cookie: a=b; path=/; domain=inner", "Set-Cookie: c=d", "Content-Length: 2", body=b"ab"),
    "coded": text_of("200 OK", DATE, TYPE, "Content-Encoding: gzip", "Content-Language: de", "ETag: \"x\"", "Content-Length: 2", body=b"ab"),
    "ranges": text_of("200 OK", DATE, TYPE, "Accept-Ranges: bytes", "Content-Length: 2", body=b"ab"),
    "blanks": text_of("200 OK", DATE, TYPE, "X-A:  b  ", "X-B:", "Content-Length: 2", body=b"ab"),
    "chunked": text_of("200 OK", DATE, TYPE, "Transfer-Encoding: chunked", body=b"2\r\nab\r\n0\r\n\r\n"),
    "204": text_of("204 No Content", DATE),
    "304": text_of("304 Not Modified", DATE, "ETag: \"x\""),
    "206": text_of("206 Partial Content", DATE, TYPE, "Content-Range: bytes 0-1/9", "Content-Length: 2", body=b"ab"),
    "400": text_of("400 Bad Request", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "401": text_of("401 Unauthorized", DATE, TYPE, "WWW-Authenticate: Basic realm=\"a\"", "Content-Length: 2", body=b"ab"),
    "404": text_of("404 Not Found", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "500": text_of("500 Internal Server Error", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "503": text_of("503 Service Unavailable", DATE, TYPE, "Retry-After: 3", "Content-Length: 2", body=b"ab"),
    "999": text_of("999 Odd", DATE, TYPE, "Content-Length: 2", body=b"ab"),
    "medium": answer(b"m" * 10240, fields=DATED),
    "large": answer(b"l" * 100000, fields=DATED),
    "long-head": text_of("200 OK", DATE, TYPE, "X-A: " + "a" * 5000, "Content-Length: 2", body=b"ab"),
    "many-fields": text_of("200 OK", DATE, TYPE, *[f"X-{i}: {i}" for i in range(90)], "Content-Length: 2", body=b"ab"),
    "early-hints": text_of("103 Early Hints", "Link: <a>") + PLAIN,
    "pieces": in_pieces(PLAIN[:40], PLAIN[40:-3], PLAIN[-3:]),
    "nothing": in_pieces(text_of("200 OK", DATE, TYPE, "Content-Length: 0")),
    "more-than-told": PLAIN + b"more",
    "garbage": b"garbage\r\n\r\n",
    "bad-field": text_of("200 OK", DATE, TYPE, "Content-Length: 2", "bad field", body=b"ab"),
    "both": text_of("200 OK", DATE, TYPE, "Content-Length: 2", "Transfer-Encoding: chunked", body=b"2\r\nab\r\n0\r\n\r\n"),
}



def then_close(*pieces):
    def script(connection, request):
        for piece in pieces:
            connection.send(piece)
        return False
    return script


CHUNKED = text_of("200 OK", DATE, TYPE, "Transfer-Encoding: chunked")
LONG = b"".join(b"%07d\n" % i for i in range(20000))
# Answers in pieces. How a body of unknown length is cut into chunks depends on when they came.
PIECES = {
    "head-alone": in_pieces(text_of("200 OK", DATE, TYPE, "Content-Length: 6"), b"hello\n"),
    "two": in_pieces(PLAIN[:-3], PLAIN[-3:]),
    "bytes": in_pieces(*(PLAIN[i:i + 1] for i in range(len(PLAIN)))),
    "long": in_pieces(answer(LONG, fields=DATED)[:40000], LONG[40000 - len(answer(LONG, fields=DATED)) + len(LONG):]),
    "middling": in_pieces(answer(LONG[:50000], fields=DATED)[:1000], LONG[1000 - len(answer(LONG[:50000], fields=DATED)) + 50000:50000]),
    "chunks": CHUNKED + b"2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n",
    "chunks-in-pieces": in_pieces(CHUNKED, b"2\r\nab\r\n3\r\nc", b"de\r\n0\r", b"\n\r\n"),
    "no-chunk": CHUNKED + b"0\r\n\r\n",
    "trailers": CHUNKED + b"2\r\nab\r\n0\r\nX-T: 1\r\n\r\n",
    "trailers-in-pieces": in_pieces(CHUNKED + b"2\r\nab\r\n0\r\nX-", b"T: 1\r\n\r", b"\n"),
    "long-chunks": in_pieces(CHUNKED + b"%x\r\n" % len(LONG) + LONG[:70000], LONG[70000:] + b"\r\n1\r\na\r\n0\r\n\r\n"),
    "bytes-behind-chunks": CHUNKED + b"2\r\nab\r\n0\r\n\r\nmore",
    "until-it-closes": then_close(text_of("200 OK", DATE, TYPE, body=b"ab"), b"cd"),
    "until-it-closes-1.0": then_close(text_of("200 OK", DATE, TYPE, body=b"ab").replace(b"1.1", b"1.0", 1)),
    "nothing-until-it-closes": then_close(text_of("200 OK", DATE, TYPE)),
    "cut": then_close(text_of("200 OK", DATE, TYPE, "Content-Length: 6", body=b"hel")),
    "cut-behind-the-head": then_close(text_of("200 OK", DATE, TYPE, "Content-Length: 6")),
    "cut-chunk": then_close(CHUNKED + b"9\r\nab"),
    "cut-before-a-chunk": then_close(CHUNKED),
    "no-last-chunk": then_close(CHUNKED + b"2\r\nab\r\n"),
    "bad-chunk": CHUNKED + b"zz\r\n",
    "bad-second-chunk": CHUNKED + b"2\r\nab\r\nzz\r\n",
    "bad-trailer": CHUNKED + b"2\r\nab\r\n0\r\na b\r\n\r\n",
}

# Of these: some that go on by a plan, and some that take the full way.
WHOLE = ("plain", "empty", "no-date", "server", "keep-alive", "hop", "vary", "cookies", "location", "404", "medium")
NOT_WHOLE = ("no-type", "vary-list", "401", "named")
