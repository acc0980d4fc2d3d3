# SPDX-License-Identifier: Apache-2.0
"""Pages with parts that take their time: no event loop waits for them, and limits of time end them."""
import errno
import os
import time

import pytest

from ssi_site import CONF, ERROR, body, echo, include, set_to

pytestmark = pytest.mark.only("brigade")

ONE_LOOP = "EventLoops 1\n" + CONF
CGI = {
    "cgid": "<IfModule !mod_cgid.c>\n    LoadModule cgid_module @MODULES@/mod_cgid.so\n</IfModule>\nScriptSock @ROOT@/logs/cgisock\n",
    "cgi": "<IfModule !mod_cgi.c>\n    LoadModule cgi_module @MODULES@/mod_cgi.so\n</IfModule>\n",
}
SCRIPTS = """ScriptAlias /cgi-bin/ @ROOT@/htdocs/cgi-bin/
<Directory @ROOT@/htdocs/cgi-bin>
    Options +ExecCGI
</Directory>
"""
HEAD = "#!/bin/sh\necho Content-Type: text/plain\necho\n"
GATE = '<!--#exec cmd="cat gate" -->'


def script(server, name, text):
    path = server.write(f"cgi-bin/{name}", text)
    os.chmod(path, 0o755)


def make_gate(server):
    os.mkfifo(server.path("htdocs", "gate"))
    os.chmod(server.path("htdocs", "gate"), 0o666)


def open_gate(path):
    """Its writing end, when the page's program has opened it for reading."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "w")
        except OSError as error:
            assert error.errno == errno.ENXIO and time.monotonic() < deadline, error
            os.sched_yield()


def check_that_the_loop_goes_on(server, target, expected, status=200):
    """The page waits at the gate; other requests are answered meanwhile; then it is whole."""
    with server.connect() as c:
        c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with open_gate(server.path("htdocs", "gate")) as f:
            for _ in range(3):
                assert body(server, "/plain.txt") == b"plain"
            f.write("opened")
        answer = c.read_response()
    assert (answer.status, answer.body) == (status, expected)


PAGES = {"plain.txt": "plain", "a.shtml": "[" + include("b.shtml") + "]", "b.shtml": "b" + include("c.shtml"), "c.shtml": "c" + GATE}


def test_the_first_exec_that_a_loop_meets_in_an_include(serve):
    server = serve(ONE_LOOP, files=PAGES)
    make_gate(server)
    for _ in range(2):
        check_that_the_loop_goes_on(server, "/a.shtml", b"[bcopened]")


def test_an_exec_that_comes_to_an_include(serve):
    server = serve(ONE_LOOP, files={**PAGES, "c.shtml": "c"})
    make_gate(server)
    for n in range(3):
        assert body(server, f"/a.shtml?{n}") == b"[bc]"
    server.write("c.shtml", "c" + GATE)
    check_that_the_loop_goes_on(server, "/a.shtml?5", b"[bcopened]")
    server.write("c.shtml", "d")
    for n in range(3):
        assert body(server, f"/a.shtml?{n}") == b"[bd]"


def test_exec_in_a_streamed_page(serve):
    server = serve("SSICacheSize 0\n" + ONE_LOOP, files=PAGES)
    make_gate(server)
    check_that_the_loop_goes_on(server, "/a.shtml", b"[bcopened]")


def test_exec_in_an_error_document(serve):
    server = serve(ONE_LOOP + "ErrorDocument 404 /a.shtml\n", files=PAGES)
    make_gate(server)
    check_that_the_loop_goes_on(server, "/nothing", b"[bcopened]", 404)


def test_exec_after_a_redirect_inside(serve):
    server = serve("LoadModule rewrite_module @MODULES@/mod_rewrite.so\n" + ONE_LOOP,
                   files={**PAGES, ".htaccess": "RewriteEngine On\nRewriteRule ^moved$ /a.shtml\n"})
    make_gate(server)
    check_that_the_loop_goes_on(server, "/moved", b"[bcopened]")


@pytest.mark.parametrize("cgi", ["cgid", "cgi"])
def test_a_script_in_an_include(serve, cgi):
    server = serve(CGI[cgi] + ONE_LOOP + SCRIPTS, files={**PAGES, "b.shtml": "b" + include("/cgi-bin/wait")})
    script(server, "wait", HEAD + "cat ../gate\n")
    make_gate(server)
    for _ in range(2):
        check_that_the_loop_goes_on(server, "/a.shtml", b"[bopened]")


def test_a_page_that_begins_anew_shows_nothing_twice(serve):
    """Variables, the number of includes and messages are those of one run."""
    server = serve(ONE_LOOP + "SSIMaxIncludes 3\n", files={
        "a.shtml": set_to("n", "${n}+") + include("d.txt") + include("b.shtml") + echo("n") + echo("HTTP_HOST"),
        "b.shtml": set_to("n", "${n}-") + '<!--#exec cmd="echo x" -->' + include("d.txt"), "d.txt": "d"})
    for _ in range(3):
        assert body(server, "/a.shtml") == b"dx\nd+-localhost"


def test_a_large_page_that_begins_on_a_loop(serve):
    server = serve(ONE_LOOP, files={**PAGES, "a.shtml": "x" * 300000 + include("b.shtml") + "y" * 300000})
    make_gate(server)
    for _ in range(2):
        check_that_the_loop_goes_on(server, "/a.shtml", b"x" * 300000 + b"bcopened" + b"y" * 300000)


# -- limits of time -------------------------------------------------------------------------------------------


def limited(serve, conf, **files):
    return serve(ONE_LOOP + conf, files={"a.shtml": "a" + include("b.shtml") + "c", "plain.txt": "plain", **files})


def check_that_it_ends(server, begins, limit, within=15):
    began = time.monotonic()
    text = body(server, "/a.shtml")
    assert time.monotonic() - began < within
    assert text.startswith(begins) and text.endswith(b"c") and ERROR in text, text
    assert text.replace(ERROR, b"").strip(b"abc.\n") == b"", text
    server.wait_for_log(limit)


# One byte a second, without end.
DRIP = "while :; do printf .; sleep 1; done"


def test_a_command_that_drips_in_an_include(serve):
    server = limited(serve, "SSIIncludeTimeout 700ms\n", **{"b.shtml": f'b<!--#exec cmd="{DRIP}" -->'})
    check_that_it_ends(server, b"ab.", "SSIIncludeTimeout")


@pytest.mark.slow
@pytest.mark.parametrize("cgi", ["cgid", "cgi"])
@pytest.mark.parametrize("text", [
    pytest.param("#!/bin/sh\nexec sleep 300\n", id="no head"),
    pytest.param("#!/bin/sh\necho Content-Type: text/plain\nexec sleep 300\n", id="half a head"),
    pytest.param(HEAD + "exec sleep 300\n", id="no body"),
    pytest.param(HEAD + DRIP + "\n", id="drips"),
])
def test_a_script_that_hangs(serve, cgi, text):
    server = limited(serve, "SSIIncludeTimeout 700ms\n" + CGI[cgi] + SCRIPTS, **{"b.shtml": "b" + include("/cgi-bin/hang")})
    script(server, "hang", text)
    check_that_it_ends(server, b"a", "SSIIncludeTimeout")


@pytest.mark.parametrize("cgi", ["cgid", "cgi"])
def test_exec_cgi(serve, cgi):
    server = limited(serve, "SSIExecTimeout 700ms\n" + CGI[cgi] + SCRIPTS, **{
        "b.shtml": 'b<!--#exec cgi="/cgi-bin/hang" -->', "d.shtml": 'd<!--#exec cgi="/cgi-bin/tell" -->', "e.shtml": "e" + include("d.shtml"),
        "f.shtml": '<!--#exec cgi="/cgi-bin/away" -->|<!--#exec cgi="/cgi-bin/none" -->|<!--#exec cgi="/plain.txt?x" -->'})
    script(server, "hang", HEAD + "exec sleep 300\n")
    script(server, "tell", HEAD + 'echo "$QUERY_STRING $PATH_INFO $DOCUMENT_URI"\n')
    script(server, "away", "#!/bin/sh\necho 'Location: http://localhost/?a&b'\necho\n")
    assert body(server, "/d.shtml?x=1") == b"dx=1  /d.shtml\n"
    assert body(server, "/e.shtml?x=1") == b"ed  /e.shtml\n"
    link = "http://localhost/?a&amp;b"
    assert body(server, "/f.shtml") == f'<a href="{link}">{link}</a>|'.encode() + ERROR + b"|" + ERROR
    check_that_it_ends(server, b"ab", "SSIExecTimeout")
