# SPDX-License-Identifier: Apache-2.0
"""Each call of the libraries that compress fails once, as if they had no memory. A response is then sent without compression, or is
an error, or is cut off so that the client sees it; never a whole one that is wrong. What failed has a line in the error log. A
sample of long streams in build/test, all with TEST_LONG=faults."""
import gzip
import os

import pytest

import effort
import brigade
from cache_site import one_loop, settle
from call_faults import Faults, appears, library
from codings import decoded, needs_all
from http_client import Truncated

LIBRARY = library("coder")
COMPLETE = effort.everything("faults")
SAMPLE = 6
pytestmark = [pytest.mark.only("brigade"), needs_all,
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built")]

TEXT = b"".join(b"line %d of a text that can be compressed, as most of them can\n" % (i * i) for i in range(3000))
CONFIG = """FileCacheEntries 0
LoadModule cgi_module @MODULES@/mod_cgi.so
<Location />
    Options +ExecCGI
</Location>
AddHandler cgi-script .cgi
AddType text/html .html
AddOutputFilterByType BROTLI_COMPRESS;ZSTD_COMPRESS;DEFLATE text/html
<Files plain.gz>
    AddEncoding gzip .gz
    SetOutputFilter INFLATE
</Files>
<Files body.cgi>
    SetInputFilter DEFLATE
</Files>
"""
ECHO = 'x=$(cat; echo .)\nprintf "Content-Type: text/plain\\n\\n%s" "${x%.}"\n'
STREAM = 'printf "Content-Type: text/html\\n\\n"; exec cat "$DOCUMENT_ROOT/a.html"\n'


def request(method, target, fields, body=b""):
    return lambda s, n: s.request(method, f"{target}?{n}", fields, body)


SHAPES = {f"{kind}-{coding}": request("GET", target, {"Accept-Encoding": coding})
          for coding in ("gzip", "br", "zstd") for kind, target in (("file", "/a.html"), ("stream", "/stream.cgi"))}
SHAPES["inflate"] = request("GET", "/plain.gz", {})
SHAPES["body"] = request("POST", "/body.cgi", {"Content-Encoding": "gzip"}, gzip.compress(TEXT))


def acts(s, shape, n):
    """What a request came to: "right", "refused" or "cut off"; a complete response that is wrong is none of these."""
    try:
        answer = SHAPES[shape](s, n)
    except (OSError, Truncated):
        return "cut off"
    if answer.status != 200:
        assert answer.status in (400, 413, 500, 503), answer.status
        return "refused"
    assert decoded(answer) == TEXT, f"{shape} {n}: a whole response that is wrong: {len(decoded(answer))} bytes"
    return "right"


def spread(n):
    if COMPLETE or n <= SAMPLE:
        return range(1, n + 1)
    return sorted({1, 2, n} | {1 + i * (n - 1) // SAMPLE for i in range(SAMPLE)})


@pytest.fixture(scope="module")
def site(serve_module, tmp_path_factory):
    faults = Faults(LIBRARY, str(tmp_path_factory.mktemp("coders") / "faults"))
    s = one_loop(serve_module, CONFIG, files={"a.html": TEXT, "plain.gz": gzip.compress(TEXT), "body.cgi": "#!/bin/sh\n" + ECHO,
                                              "stream.cgi": "#!/bin/sh\n" + STREAM}, env=faults.environment())
    for name in ("body.cgi", "stream.cgi"):
        os.chmod(s.path("htdocs", name), 0o755)
    settle(s.path("htdocs"))
    return s, faults


@pytest.mark.parametrize("shape", SHAPES)
def test_each_call(site, shape):
    s, faults = site
    assert acts(s, shape, "first") == "right"
    process, before = s.children(), faults.counts()
    assert acts(s, shape, "second") == "right"
    calls = [after - n for n, after in zip(before, faults.counts())]
    tried, results = 0, {}
    for call, n in enumerate(calls):
        for number in spread(n):
            told = len(s.error_log())
            faults.arm(call, number)
            result = acts(s, shape, f"{call}-{number}")
            hit = faults.disarm()
            where = f"{faults.name(call)} number {number} of {n}"
            tried += hit
            results.setdefault(result, []).append(where)
            assert s.children() == process, f"{where}: the server process ended\n{s.error_log().decode()[-3000:]}"
            assert acts(s, shape, f"{call}-{number}-then") == "right", where
            if hit and "inflateReset" not in where:
                assert appears(lambda told=told: len(s.error_log()) > told), f"{where}: no line in the error log"
    # What a script writes comes in as many pieces as the machine makes of it, so a call more or less.
    assert tried >= max(3, sum(len(spread(n)) for n in calls) - (2 if shape.startswith("stream") else 0))
    print(f"{shape}: {tried} faults of {sum(calls)} calls", {k: len(v) for k, v in results.items()})
