# SPDX-License-Identifier: Apache-2.0
"""The built-in deflate and brotli beside Apache's modules: random requests with Accept-Encoding, Range and conditions, the same logs.

Apache does not read all weights; so it is sent the one coding that is right, and has to answer the same. `build/test` sends 300 requests;
TEST_COUNT=5000 as many as that, TEST_SEED=2 others.
"""
import contextlib
import gzip
import os
import random
import re

import pytest

import effort
import brigade
from stock import driver

COUNT, SEED = effort.count(300), int(effort.seed(1))
pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]
TEXT = "".join(f"line {i * i} of a text that can be compressed, as most of them can\n" for i in range(90)).encode()
FILES = {"a.html": TEXT, "b.css": TEXT[:700], "image.png": bytes(range(256)) * 9, "short.html": b"short\n", "edge.html": TEXT[:68], "edge2.html": TEXT[:69], "empty.html": b"",
         "big.html": TEXT * 40, "ready.html.gz": gzip.compress(TEXT, mtime=0)}
CHAINS = {"d": ["gzip"], "b": ["br"], "bd": ["br", "gzip"], "db": ["gzip", "br"], "t": ["br", "gzip"], "keep": ["gzip"], "gone": ["gzip"]}
FILTER = {"gzip": "DEFLATE", "br": "BROTLI_COMPRESS"}
CONFIG = """MaxKeepAliveRequests 0
DeflateCompressionLevel 6
BrotliCompressionQuality 5
DeflateFilterNote Input in
DeflateFilterNote Output out
DeflateFilterNote ratio
BrotliFilterNote ratio
LogFormat "%m %U %>s %B %{in}n %{out}n %{ratio}n" z
CustomLog "@ROOT@/logs/z.log" z
AddEncoding x-gzip .gz
AddType text/html .html
AddType text/css .css
AddType image/png .png
<Location /t>
    AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/css
</Location>
""" + "".join(f'Alias /{name} "@ROOT@/htdocs"\n' for name in CHAINS) + "".join(
    f"<Location /{name}>\n    SetOutputFilter {';'.join(FILTER[c] for c in chain)}\n</Location>\n" for name, chain in CHAINS.items() if name != "t")
WORDS = ["gzip", "br", "x-gzip", "GZIP", "Br", "deflate", "identity", "*", "zstd", "bro", "gzipp"]
WEIGHTS = ["", "", "", ";q=1", ";q=0", ";q=0.5", "; q=0.2", ";q=0.001", " ;q=0.9", ";Q=0.7"]


def weight(parameters):
    return float(re.sub(r"[;\s]*[qQ]=", "", parameters) or 1) if parameters else 1.0


def preferred(accept, chain):
    """What RFC 9110 says of the codings of a chain."""
    if accept is None:
        return None
    said = {}
    for member in accept.split(","):
        word, _, rest = member.strip().partition(";")
        said.setdefault({"x-gzip": "gzip"}.get(word.strip().lower(), word.strip().lower()), weight(rest))
    best = max(chain, key=lambda c: said.get(c, said.get("*", 0)))  # of equal ones the first
    most = said.get(best, said.get("*", 0))
    return best if most > 0 and said.get("identity", 0) <= most else None


def accept_encoding(rng):
    if rng.random() < 0.15:
        return None
    words = rng.sample(WORDS, rng.randint(1, 4))
    if "x-gzip" in words or "GZIP" in words:  # of two members for the same coding the first counts, which Apache is not told
        words = [w for w in words if w != "gzip"]
    if "x-gzip" in words and "GZIP" in words:
        words.remove("GZIP")
    if "Br" in words and "br" in words:
        words.remove("br")
    return rng.choice([", ", ","]).join(w + rng.choice(WEIGHTS) for w in words)


@pytest.fixture(scope="module")
def servers():
    """Files of the same age have the same entity tags."""
    with contextlib.ExitStack() as stack:
        both = []
        for binary in (driver.APACHE, brigade.BINARY):
            server = brigade.Server(CONFIG, FILES, binary=binary, modules=("filter", "deflate", "brotli"))
            stack.callback(server.close, False)
            for name in FILES:
                os.utime(server.path("htdocs", name), (1.7e9, 1.7e9))
            both.append(server.start())
        yield both


def fields_of(answer, without=()):
    boundary = re.search(r"boundary=(\w+)", answer["Content-Type"] or "")
    dull = {"date", "server", "connection", "keep-alive", *without}
    text = sorted(f"{n}: {v}" for n, v in answer.headers if n.lower() not in dull)
    return [t.replace(boundary[1], "BOUNDARY") for t in text] if boundary else text


def compare(peer, ours, rng, request):
    chain_name, target, method, accept, extra = request
    chain = [c for c in CHAINS[chain_name] if c != "gzip" or len(FILES[target.rpartition("/")[2]]) >= 69]  # a short body does not gain
    coding = preferred(accept, chain) if chain else None
    fields = {k: v for k, v in extra.items()}
    theirs = peer.request(method, target, {**fields, **({"Accept-Encoding": coding} if coding else {})})
    own = ours.request(method, target, {**fields, **({} if accept is None else {"Accept-Encoding": accept})})
    shown = (method, target, accept, extra, coding)
    assert own.status == theirs.status, shown
    if own.status == 416:
        return
    without = ()
    if own.status == 304:
        without = ("etag", "vary", "content-encoding")  # ours are those of the response that it stands for
    elif target.endswith("big.html"):
        without = ("content-length", "transfer-encoding")
    if "multipart" in (own["Content-Type"] or ""):
        without = ("content-length",)  # boundaries are of different lengths
    assert fields_of(own, without) == fields_of(theirs, without), shown
    if own["Content-Encoding"] == "gzip" and own.status == 200 and method == "GET":
        assert gzip.decompress(own.body) == gzip.decompress(theirs.body), shown
    elif "multipart" not in (own["Content-Type"] or ""):
        assert own.body == theirs.body, shown


def random_request(rng):
    chain = rng.choice(list(CHAINS))
    name = rng.choice([*FILES, "a.html", "a.html", "b.css"])
    method = "HEAD" if rng.random() < 0.15 and name != "empty.html" else "GET"  # of nothing, nothing is compressed
    extra = {}
    if method == "GET" and name != "big.html" and rng.random() < 0.3:
        first = rng.randint(0, 900)
        extra["Range"] = "bytes=" + rng.choice([f"{first}-{first + rng.randint(0, 400)}", f"{first}-", f"-{rng.randint(1, 700)}", "0-9,20-29"])
    elif rng.random() < 0.1:
        extra["If-Modified-Since"] = rng.choice(["Tue, 14 Nov 2023 22:13:20 GMT", "Mon, 13 Nov 2023 22:13:20 GMT"])
    return chain, f"/{chain}/{name}", method, accept_encoding(rng), extra


def test_random_requests(servers):
    rng = random.Random(SEED)
    with servers[0].connect() as peer, servers[1].connect() as ours:
        for _ in range(COUNT):
            compare(peer, ours, rng, random_request(rng))


def test_logs(servers):
    """Notes of the compression, in answers of the full way and from memory."""
    lines = []
    for server in servers:
        with server.connect() as c:
            for _ in range(5):
                for target in ("/d/a.html", "/b/a.html", "/d/short.html"):
                    c.get(target, {"Accept-Encoding": "gzip, br", "User-Agent": "log"})
        server.stop()
        lines.append(server.read("logs/z.log").decode().splitlines()[-15:])
    assert lines[0] == lines[1]
