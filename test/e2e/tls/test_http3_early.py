# SPDX-License-Identifier: Apache-2.0
"""Early data (0-RTT) of HTTP/3: what memory answers is answered before the handshake is over, all else waits for its end. It needs a program that was
built with OpenSSL 3.5.1 or later; others refuse the directive."""
import json
import os
import subprocess

import pytest

import brigade
import http3_client
from http3_client import ask, http3_python
from processes import reload
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
CONFIG = """
Protocols h3 h2 http/1.1
EventLoops 1
H3EarlyData On
@MORE@
Listen 127.0.0.1:@TLS@ https
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
ScriptAlias /cgi/ @ROOT@/cgi/
<Directory @ROOT@/cgi>
Require all granted
</Directory>
"""
SCRIPT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\necho \"$REQUEST_METHOD\"\ncat\n"


def refusal():
    """Why this program has no early data; None: it has."""
    done = subprocess.run([brigade.BINARY, "-t", "-C", "H3EarlyData On", "-f", "/dev/null"], capture_output=True, text=True)
    return done.stderr if "H3EarlyData" in done.stderr else None


def made(serve, more=""):
    tls = brigade.free_port()
    server = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@MORE@", more), {"page.html": "a page\n"})
    os.chmod(server.write("who", SCRIPT, base="cgi"), 0o755)
    certificate(server)
    server.tls = tls
    return server


def get(server, *requests):
    return ask(PYTHON, "early", [{"url": f"https://127.0.0.1:{server.tls}{r}"} if isinstance(r, str) else dict(r, url=f"https://127.0.0.1:{server.tls}{r['url']}") for r in requests])


def test_refused():
    why = refusal()
    if why is None:
        pytest.skip("this program has early data")
    assert "H3EarlyData On needs OpenSSL 3.5.1 or later" in why


taken = pytest.mark.skipif(not PYTHON or refusal() is not None, reason="no interpreter with aioquic, or no early data in this program")


@taken
def test_answered_from_memory(serve):
    server = made(serve)
    os.utime(server.path("htdocs/page.html"), (1e9, 1e9))  # one that changed just now is not stored
    server.start()
    answers = get(server, *["/page.html"] * 12)
    assert [a.status for a in answers] == [200] * 12 and {a.body for a in answers} == {b"a page\n"}
    assert [bool(a.early) for a in answers] == [False] + [True] * 11
    assert answers[-1].confirmed is False, "it was answered when the handshake was over"


@taken
def test_all_else_waits(serve):
    server = made(serve).start()
    answers = get(server, "/page.html", "/cgi/who", {"url": "/cgi/who", "body": b"a body"}, {"url": "/cgi/who", "body": b"x" * 100000}, {"url": "/page.html", "method": "DELETE"})
    assert [a.early for a in answers[1:]] == [True] * 4
    assert all(a.confirmed for a in answers), answers
    assert [a.status for a in answers] == [200, 200, 200, 200, 405]
    assert answers[2].body == b"POST\na body" and answers[3].body == b"POST\n" + b"x" * 100000


@taken
@pytest.mark.parametrize("old,new", [("H3MaxConcurrentStreams 50", "H3MaxConcurrentStreams 40"), ("H3WebSockets On", "H3WebSockets Off")])
def test_not_with_other_limits(serve, old, new):
    """A ticket of a server that promised more: RFC 9000, 7.4.1; RFC 9114, 7.2.4.2."""
    server = made(serve, old).start()
    order = {"requests": [{"url": f"https://127.0.0.1:{server.tls}/page.html"}] * 2, "between": True}
    client = subprocess.Popen([PYTHON, http3_client.__file__, "early"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdin.write(json.dumps(order) + "\n")
    client.stdin.flush()
    assert client.stdout.readline() == "between\n"
    before = reload(server, server.config.replace(old, new))
    brigade.wait_until(lambda: not before & set(server.children()), "the end of the old processes")
    told = json.loads(client.communicate("go\n", timeout=60)[0])
    assert [t["status"] for t in told] == [200, 200]
    assert told[1]["resumed"] and not told[1]["taken"], told
