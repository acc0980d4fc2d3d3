# SPDX-License-Identifier: Apache-2.0
"""Directives of mod_http2: each one that Apache's module has is honoured, taken with a notice, or refused by name; and what those
do that test_http2.py does not look at."""
import os
import re
import shutil
import struct
import subprocess
import time

import pytest

import brigade
from brigade import wait_until
from h2_client import DATA, END_STREAM, HEADERS, PADDED, RST_STREAM, WINDOW_UPDATE, Connection, frame, status_of
from trouble import STATUS, compiled, status

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")
HANDLERS = "".join(f"<Location /{name}>\nSetHandler {name}\n</Location>\n" for name in ("sleep", "much", "piece"))
FILES = {"a.txt": "first\n", "b.txt": "b" * 10240, "page.shtml": "<!--#echo var=\"REQUEST_METHOD\" -->\n", "x/a.txt": "other\n"}
BASE = "Protocols h2c http/1.1\n"
HONOURED = {"H2Direct": "off", "H2EarlyHints": "on", "H2ModernTLSOnly": "off", "H2OutputBuffering": "off", "H2MaxSessionStreams": "10",
            "H2WindowSize": "65535", "H2StreamMaxMemSize": "32768", "H2MaxHeaderBlockLen": "16384", "H2MaxStreamErrors": "3",
            "H2MaxDataFrameLen": "1000", "H2Padding": "4", "H2StreamTimeout": "5", "H2EarlyHint": "Link </a>", "H2PushResource": "/a.css",
            "H2Upgrade": "on", "H2WebSockets": "on"}
NOTICES = {"H2Push": "on", "H2PushPriority": "* after", "H2PushDiarySize": "64", "H2MinWorkers": "1", "H2MaxWorkers": "9",
           "H2MaxWorkerIdleSeconds": "9", "H2TLSWarmUpSize": "9", "H2TLSCoolDownSecs": "9", "H2CopyFiles": "on",
           "H2SerializeHeaders": "on", "H2SessionExtraFiles": "5"}
REFUSED = {"H2ProxyRequests": "on"}


def stock_commands():
    """The names in the table of Debian's module."""
    try:
        with open(os.path.join(brigade.APACHE_MODULES, "mod_http2.so"), "rb") as f:
            text = f.read()
    except OSError:
        pytest.skip("Apache's mod_http2.so is not installed")
    names = {n.decode() for n in re.findall(rb"\0(H2[A-Z][A-Za-z]+)(?=\0)", text)}
    return {n for n in names if not n.isupper() and n not in ("H2EOS", "H2HEADERS", "H2PUSH")}


def test_every_directive_of_apaches_module(serve):
    known = {**HONOURED, **NOTICES, **REFUSED}
    assert stock_commands() <= set(known)
    server = serve.unstarted(BASE + "".join(f"{n} {v}\n" for n, v in {**HONOURED, **NOTICES}.items()), FILES)
    done = server.run("-t")
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    for name in NOTICES:
        assert f"{name} has no effect here: " in said
    assert not any(f"{name} has no effect here" in said for name in HONOURED)


@pytest.mark.parametrize("line,said", [(f"{n} {v}", f"{n} on") for n, v in REFUSED.items()] + [
    ("H2Padding 9", "from 0 to 8"), ("H2StreamTimeout x", "must be a time"), ("H2EarlyHint Link \" \"", "its value"),
    ("H2EarlyHint \"a b\" c", "cannot be sent"), ("H2PushResource /a b", "[add] URI [critical]")])
def test_what_is_refused(serve, line, said):
    done = serve.unstarted(BASE + line + "\n", FILES).run("-t")
    assert done.returncode == 1 and said in (done.stdout + done.stderr).decode()


def heads_of(server, path):
    """All heads of a response, as lists of lines."""
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-s", "-D", "-", "-o", "/dev/null", "--http2-prior-knowledge", "--max-time", str(int(brigade.PATIENCE)),
                           f"http://127.0.0.1:{server.port}{path}"], capture_output=True)
    assert done.returncode == 0, done
    return [head.split("\r\n") for head in done.stdout.decode().split("\r\n\r\n") if head]


def test_early_hints(serve):
    server = serve(BASE + "H2EarlyHints on\nH2EarlyHint Link </a.css>;rel=preload\n"
                          "<Location /x>\nH2PushResource /x.js\nH2PushResource add /y.js critical\nH2EarlyHint X-Early yes\n</Location>\n", FILES)
    for path, hints in (("/a.txt", ["link: </a.css>;rel=preload"]),
                        ("/x/a.txt", ["link: </x.js>; rel=preload, </y.js>; rel=preload; critical", "x-early: yes"])):
        early, final = heads_of(server, path)
        assert early == ["HTTP/2 103 ", *hints]
        assert final[0] == "HTTP/2 200 " and not any(line.startswith(("link", "x-early")) for line in final)


def test_no_hints_without_early_hints(serve):
    server = serve(BASE + "H2EarlyHint Link </a.css>\nH2PushResource /x.js\n", FILES)
    assert [head[0] for head in heads_of(server, "/a.txt")] == ["HTTP/2 200 "]


def test_padding(serve):
    """From memory and in full: data and heads are the same, lengths are not."""
    server = serve(BASE + "H2Padding 8\n", FILES)
    lengths = set()
    with Connection(server.port) as h2:
        for stream in range(1, 41, 2):
            path = "/b.txt" if stream % 4 == 1 else "/page.shtml"
            h2.request(stream, path=path)
            _, flags, _, payload = h2.expect(HEADERS)
            assert flags & PADDED and not any(payload[len(payload) - payload[0]:])
            assert status_of(payload[1:]) == 200
            body, taken = b"", 0
            while not flags & END_STREAM:
                _, flags, _, payload = h2.expect(DATA)
                taken += len(payload)
                if flags & PADDED:
                    lengths.add(payload[0])
                    assert not any(payload[len(payload) - payload[0]:])
                    payload = payload[1:len(payload) - payload[0]]
                body += payload
            h2.send(frame(WINDOW_UPDATE, payload=struct.pack("!I", taken)) if taken else b"")
            assert body == FILES[path[1:]].encode() or path == "/page.shtml"
    assert len(lengths) > 5 and max(lengths) > 64


def test_padding_never_goes_beyond_a_window(serve):
    server = serve(BASE + "H2Padding 8\n", FILES)
    with Connection(server.port, settings=struct.pack("!HI", 4, 5)) as h2:
        h2.request(1, path="/a.txt")
        got = b""
        left = 5
        while True:
            _, flags, _, payload = h2.expect(DATA)
            assert len(payload) <= left
            left += 5 - len(payload)
            got += payload[1:len(payload) - payload[0]] if flags & PADDED else payload
            if flags & END_STREAM:
                break
            h2.send(frame(WINDOW_UPDATE, stream=1, payload=struct.pack("!I", 5)))
        assert got == b"first\n"


def with_handlers(more):
    return BASE + f'LoadModule busy_module "{compiled("mod_busy")}"\n' + HANDLERS + STATUS + more


def test_stream_timeout(serve):
    """A stream whose client takes nothing is given up, although the connection has twenty times as long."""
    server = serve(with_handlers("EventLoops 1\nServerLimit 1\nThreadsPerChild 2\nTimeout 60\nH2StreamTimeout 500ms\n"))
    with Connection(server.port) as h2:
        began = time.monotonic()
        h2.request(1, path="/much?1000000")
        h2.request(3, path="/much?1000000")
        gone = {h2.expect(RST_STREAM)[2], h2.expect(RST_STREAM)[2]}
        assert gone == {1, 3} and time.monotonic() - began < 10
        h2.send(frame(WINDOW_UPDATE, payload=struct.pack("!I", 100000)))
        h2.request(5, path="/sleep?1")
        assert h2.response(5) == (200, b"slept\n")
    wait_until(lambda: status(server)["workers"]["busy"] == 0, "the workers to be free")


@pytest.mark.parametrize("buffering", ["on", "off"])
def test_output_buffering(serve, buffering):
    server = serve(with_handlers(f"H2OutputBuffering {buffering}\n"))
    with Connection(server.port) as h2:
        h2.request(1, path="/piece?1500")
        began = time.monotonic()
        first = h2.expect(DATA)[3]
        assert (first == b"begin " and time.monotonic() - began < 1) == (buffering == "off")


def test_field_block_of_a_response_over_the_limit(serve):
    server = serve(BASE + f"H2MaxHeaderBlockLen 1024\n<Location /b.txt>\nHeader set X-Long {'x.' * 1000}\n</Location>\n", FILES)
    with Connection(server.port) as h2:
        h2.request(1, path="/b.txt")
        assert h2.response(1)[0] is None
        h2.request(3, path="/a.txt")
        assert h2.response(3) == (200, b"first\n")


LOAD = "LoadModule http2_module @MODULES@/mod_http2.so\n"
APACHES = "LoadModule mpm_event_module @MODULES@/mod_mpm_event.so\nLoadModule authz_core_module @MODULES@/mod_authz_core.so\n"
SSL = "LoadModule ssl_module @MODULES@/mod_ssl.so\n"


@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_http2.so"), reason="no mod_http2.so")
@pytest.mark.parametrize("lines,kind", [
    (LOAD, b"static"), (APACHES + LOAD, b"static"), (APACHES + LOAD + SSL, b"static"), (APACHES + "BuiltinModule http2_module Off\n" + LOAD, b"shared"),
    (APACHES + LOAD + "H2ProxyRequests on\n", b"shared"), (APACHES + LOAD + "H2WebSockets on\n", b"static"), (APACHES + LOAD + SSL + "SSLEngine optional\n", b"shared"),
    (APACHES + "BuiltinModule ssl_module Off\n" + LOAD + SSL, b"shared")])
def test_which_module_is_taken(serve, lines, kind):
    done = serve.unstarted(lines, {}, modules=()).run("-M")
    assert b"http2_module (%s)" % kind in done.stdout, done
