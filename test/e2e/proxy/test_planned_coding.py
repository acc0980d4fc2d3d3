# SPDX-License-Identifier: Apache-2.0
"""Filters that compress beside planned requests (test_planned.py): random answers to random clients, by plans and without, over HTTP/1 and
HTTP/2, from HTTP and FastCGI backends, with the built-in modules and with Apache's files. What is compressed goes by a plan as what is left
alone does, and is the same byte for byte (test_planned_compression.py has bodies in pieces). TEST_SEED repeats them, TEST_COUNT=36000 sends so many."""
import random

import pytest

import effort
from backend import Backend, answer
from brigade import APACHE_MODULES
from codings import needs_all
from http_client import dechunk
from planned_client import is_planned
from planned_peers import PeerOfHTTP1, PeerOfHTTP2, lines_of
from planned_scripts import SCRIPTS, ScriptsOfHTTP1, ScriptsOfHTTP2, old, whole
from planned_site import CONFIG, DATE, full_ways, text_of
from script_backend import Script

pytestmark = [pytest.mark.only("brigade"), needs_all]

COUNT = effort.count(7200, 36000)
SEED = int(effort.seed(random.randrange(1 << 30)))
BODY = b"a line of text that becomes shorter\n" * 30
BODIES = [BODY] * 12 + [random.Random(1).randbytes(3000)] * 3 + [b"", b"short", BODY[:68], BODY[:69], BODY[:120]]
TYPES = ["text/html", "text/html; charset=utf-8", "text/css", "Text/HTML", "image/png", "application/json"]
MORE = [[], [], [], ["Cache-Control: no-store"], ["Cache-Control: max-age=3"], ["Cache-Control: public", "Cache-Control: private"], ["Vary: Cookie"], ["Vary: Origin"],
        ["Vary: Accept-Encoding"], ["Content-Encoding: br"], ["Content-Encoding: identity"], ["Content-Encoding: identity, gzip"], ["Content-Range: bytes 0-9/99"], ["ETag: \"x\""], ["ETag: \"x\"", "Vary: accept-encoding"], ["ETag: W/\"a long one\""], ["ETag: \"\""], ["ETag: x"], ["Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ=="],
        ["Cache-Control: no-transform"]]
SITES = {
    "by type": "AddOutputFilterByType DEFLATE text/html application/json\nAddOutputFilterByType DEFLATE text/css\n",
    "always": "SetOutputFilter DEFLATE\n",
    "always, by a file": "SetOutputFilter DEFLATE\nSetEnvIf Request_URI [24]$ no-gzip\n",
    "always one of two": "AddType text/css .css\nSetOutputFilter BROTLI_COMPRESS;DEFLATE\nHeader set X-New 1\n",
    "of two": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html\nHeader set X-New 1\n",
    "by browser": "AddType text/css .css\nAddOutputFilterByType DEFLATE text/html text/css\nSetEnvIf User-Agent old no-gzip\nSetEnvIf User-Agent odd gzip-only-text/html\nSetEnvIf User-Agent forced force-gzip\n",
    "for users": "AddOutputFilterByType DEFLATE text/html text/css\nDeflatePrivate On\nProxyStatusField On\n",
    "by a file": "AddOutputFilterByType DEFLATE text/html application/json\nAddOutputFilterByType DEFLATE text/css\n",
    "by a file, by browser": "AddType text/css .css\nAddOutputFilterByType DEFLATE text/html text/css\nSetEnvIf User-Agent old no-gzip\nSetEnvIf User-Agent odd gzip-only-text/html\n"
                             "SetEnvIf User-Agent forced force-gzip\n",
    "by two files": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html\nHeader set X-New 1\nSetEnvIf User-Agent old no-brotli\n",
    "edited": "AddOutputFilterByType DEFLATE text/html text/css\nDeflateAlterETag Remove\nHeader always set X-Always 1\nHeader set X-New 1\nHeader always append X-More 2\n",
    "edited, by a file": "AddOutputFilterByType DEFLATE text/html text/css\nHeader always set X-Always 1\nHeader set X-New 1\nHeader edit ETag x y\n",
    "as told": "AddOutputFilterByType DEFLATE text/html text/css\nDeflateCompressionLevel 9\nDeflateAlterETag NoChange\nDeflateBufferSize 60\nDeflateMemLevel 2\n",
    "as a file is told": "AddOutputFilterByType DEFLATE text/html text/css\nDeflateCompressionLevel 9\nDeflateMemLevel 3\nDeflateWindowSize 10\nDeflateBufferSize 20\nDeflateAlterETag Remove\n",
    "as two files are told": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/css\nBrotliCompressionQuality 9\nBrotliCompressionWindow 11\nBrotliCompressionMaxInputBlock 16\n"
                            "BrotliAlterETag NoChange\nDeflateAlterETag NoChange\n",
    "a file in a host": "AddOutputFilterByType DEFLATE text/html text/css\nDeflateCompressionLevel 1\nDeflateBufferSize 20\n<VirtualHost *:*>\nServerName localhost\n"
                        "DeflateAlterETag NoChange\n</VirtualHost>\n",
    "by a file, and ours": "AddOutputFilterByType DEFLATE;BROTLI_COMPRESS text/html\nAddOutputFilterByType BROTLI_COMPRESS text/css\n",
}
LOADS = {site: "BuiltinModules all\n" + "".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n" for name in (["deflate", "brotli"] if "two" in site else ["deflate"]))
         for site in SITES if "file" in site}
ACCEPTS = [[], [], ["Accept-Encoding: gzip"], ["Accept-Encoding: gzip, deflate, br"], ["Accept-Encoding: identity"], ["Accept-Encoding: gzip;q=0"], ["Accept-Encoding: br, gzip;q=0.5"],
           ["Accept-Encoding: br"], ["Accept-Encoding: x-gzip, deflate"], ["Accept-Encoding: GZIP"], ["Accept-Encoding: *"]]
FIELDS = [[], [], [], ["Authorization: Basic eDp5"], ["User-Agent: old"], ["User-Agent: odd"], ["User-Agent: forced"], ["Cookie: a=b"]]
LOG = "KeepAliveTimeout 300\nMaxKeepAliveRequests 0\nProtocols h2c http/1.1\nCustomLog logs/access.log all\n" \
      "LogFormat \"- %U %>s %B %{Content-Type}o %{Content-Encoding}o %{Vary}o %{Cache-Control}o %{ETag}o\" all\n"


class Request:
    method, leaves = "GET", None

    def __init__(self, target, fields):
        self.target, self.fields = target, ["Host: localhost", *fields]

    @property
    def text(self):
        return "\r\n".join([f"GET {self.target} HTTP/1.1", *self.fields, "", ""])

    @property
    def of_stream(self):
        return "GET", self.target, [tuple(f.split(": ")) for f in self.fields if not f.startswith("Host")], b""


def twins(serve, backend, protocol, text, **way):
    return [protocol(serve(more + text, **way), backend) for more in ("", "FileCacheEntries 0\n")]


def without_chunks(answer):
    """Where a body is cut into chunks is of no meaning."""
    got, asked = answer
    if not isinstance(got, bytes) or b"Transfer-Encoding: chunked" not in got:
        return answer
    head, _, body = got.partition(b"\r\n\r\n")
    return (head, dechunk(body)), asked


def ask(peers, requests):
    before = full_ways(peers[0].server)
    for request in requests:
        planned, full = (without_chunks(peer.ask(request)) for peer in peers)
        assert planned == full, f"TEST_SEED={SEED}: {request.text!r}"
    ways = full_ways(peers[0].server) - before
    for peer in peers:
        peer.leave()
        peer.server.stop()
    lines = [sorted(lines_of(peer.server)) for peer in peers]
    assert lines[0] == lines[1]
    print(f"{len(requests)} requests, {ways} of them the full way")
    assert ways < len(requests) * .95, "some go on by a plan"


def requests(chance, targets, fields=lambda n: ()):
    return [Request(target, [*chance.choice(ACCEPTS), *chance.choice(FIELDS), *fields(n)])
            for _ in range(COUNT // len(SITES) // 4 // 20) for n, target in [chance.choice(targets)] for _ in range(20)]


@pytest.mark.parametrize("protocol", [PeerOfHTTP1, PeerOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("site", SITES)
def test_answers_of_http(serve, site, protocol):
    chance = random.Random(SEED)
    with Backend({}) as backend:
        for n in range(60):
            body = chance.choice(BODIES)
            head = [DATE, f"Content-Type: {chance.choice(TYPES)}", *chance.choice(MORE)]
            framed = text_of("200 OK", *head, "Transfer-Encoding: chunked", body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
            backend.scripts[f"/{n}{'.css' if n % 4 == 0 else ''}"] = framed if chance.random() < .2 else text_of(chance.choice(["200 OK", "200 OK", "404 Not Found"]), *head, f"Content-Length: {len(body)}", body=body)
        peers = twins(serve, backend, protocol, LOADS.get(site, "") + CONFIG + f"ProxyPass /p/ http://127.0.0.1:{backend.port}/\n" + SITES[site] + LOG)
        ask(peers, requests(chance, [(n, f"/p/{n}{'.css' if n % 4 == 0 else ''}") for n in range(60)]))


@pytest.mark.parametrize("protocol", [ScriptsOfHTTP1, ScriptsOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("site", SITES)
def test_answers_of_scripts(serve, site, protocol):
    chance = random.Random(SEED)
    answers = [whole(f"Content-Type: {chance.choice(TYPES)}".encode(), *(line.encode() for line in chance.choice(MORE)), body=chance.choice(BODIES)) for _ in range(60)]

    def script(params, body, send):
        send(answers[int(params["HTTP_X_ANSWER"])])
        return True

    with Script("fcgi", script) as backend:
        peers = twins(serve, backend, protocol, LOADS.get(site, "") + CONFIG + SCRIPTS.replace("{path}", backend.path) + SITES[site] + LOG, files={f"{n}.php": old for n in range(60)})
        ask(peers, requests(chance, [(n, f"/{n}.php") for n in range(60)], lambda n: [f"X-Answer: {n}"]))


PLANNED = {"another type": ["Content-Type: image/png"], "for one client": ["Content-Type: text/html", "Cache-Control: no-store"],
           "coded": ["Content-Type: text/html", "Content-Encoding: br"], "not accepted": ["Content-Type: text/html"]}


@pytest.mark.parametrize("site,kind", [(site, kind) for site in ("by type", "by browser", "by a file", "by a file, by browser") for kind in PLANNED
                                       if "file" not in site or kind != "for one client"])  # Apache's compress that, too
def test_there_are_plans(serve, site, kind):
    """Of answers that are left alone, for clients that take gzip as well, if the answer says so."""
    fields = [f.split(": ") for f in PLANNED[kind]]
    with Backend({"*": answer(BODY, fields=[("Date", DATE[6:]), *fields])}) as backend:
        head = "GET /p/x HTTP/1.1\r\nHost: localhost\r\n" + ("" if kind == "not accepted" else "Accept-Encoding: gzip\r\n")
        assert is_planned(serve(f"{LOADS.get(site, '')}{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n{SITES[site]}"), head)


@pytest.mark.parametrize("site", ["by type", "by a file", "always", "always, by a file", "always one of two", "as told", "as a file is told", "as two files are told", "a file in a host"])
def test_what_is_compressed_has_them(serve, site):
    with Backend({"*": answer(BODY, fields=[("Date", DATE[6:]), ("Content-Type", "text/html")])}) as backend:
        head = "GET /p/x HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n"
        assert is_planned(serve(f"{LOADS.get(site, '')}{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n{SITES[site]}"), head)
        assert backend.connections <= 2  # they are kept


@pytest.mark.parametrize("site", ["by type", "by a file"])
@pytest.mark.parametrize("more,fields", [("DeflateFilterNote ratio\n", ""), ("", "Accept-Encoding: gzip;q=1\r\n")], ids=["notes", "weights"])
def test_what_the_filter_alone_can_say(serve, site, more, fields):
    """Its notes; and how a build of Apache's file reads weights."""
    with Backend({"*": answer(BODY, fields=[("Date", DATE[6:]), ("Content-Type", "text/html")])}) as backend:
        head = "GET /p/x HTTP/1.1\r\nHost: localhost\r\n" + (fields or "Accept-Encoding: gzip\r\n")
        planned = is_planned(serve(f"{LOADS.get(site, '')}{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n{SITES[site]}{more}"), head)
        assert planned == (not more and site == "by type")


@pytest.mark.parametrize("site", ["always one of two", "by two files"])
@pytest.mark.parametrize("quality", [9, 10])
def test_what_takes_long_has_no_plan(serve, site, quality):
    """A loop would stand still."""
    with Backend({"*": answer(BODY, fields=[("Date", DATE[6:]), ("Content-Type", "text/html")])}) as backend:
        text = f"{LOADS.get(site, '')}{CONFIG}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n{SITES[site]}BrotliCompressionQuality {quality}\n"
        assert is_planned(serve(text), "GET /p/x HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br\r\n") == (quality == 9)
