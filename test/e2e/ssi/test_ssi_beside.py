# SPDX-License-Identifier: Apache-2.0
"""Includes that wait, side by side. Each script waits at a gate of its own, so that a test decides when which one ends."""
import errno
import itertools
import os
import time

import h2_client
import pytest

from ssi_site import CONF, ERROR, body, echo, include, set_to

pytestmark = pytest.mark.only("brigade")

# Not mod_cgi: a program that it starts may inherit the pipe of one that is started at the same time.
CGI = "LoadModule cgid_module @MODULES@/mod_cgid.so\nScriptSock @ROOT@/logs/cgisock\n"
SCRIPTS = CGI + CONF + """ScriptAlias /cgi-bin/ @ROOT@/htdocs/cgi-bin/
<Directory @ROOT@/htdocs/cgi-bin>
    Options +ExecCGI
</Directory>
"""
SITE = "EventLoops 1\nServerLimit 1\nThreadsPerChild 24\n" + SCRIPTS
HEAD = "#!/bin/sh\necho Content-Type: text/plain\necho\n"


class Gates:
    """Scripts /cgi-bin/NAME: each prints what comes through its gate."""

    def __init__(self, server, names):
        self.server = server
        self.writers = {}
        script(server, "ready", HEAD)
        while server.get("/cgi-bin/ready").status != 200:  # mod_cgid gives its socket away after the start
            os.sched_yield()
        for name in names:
            os.mkfifo(self.path(name))
            os.chmod(self.path(name), 0o666)
            script(server, name, HEAD + f"exec cat ../gate-{name}\n")

    def path(self, name):
        return self.server.path("htdocs", f"gate-{name}")

    def wait_for(self, *names):
        """Until all these scripts run at the same time."""
        deadline = time.monotonic() + 30
        for name in names:
            while name not in self.writers:
                try:
                    self.writers[name] = os.open(self.path(name), os.O_WRONLY | os.O_NONBLOCK)
                except OSError as error:
                    assert error.errno == errno.ENXIO and time.monotonic() < deadline, (name, error)
                    os.sched_yield()

    def is_waiting(self, name):
        try:
            self.writers[name] = os.open(self.path(name), os.O_WRONLY | os.O_NONBLOCK)
            return True
        except OSError:
            return False

    def open(self, name, text=None):
        self.wait_for(name)
        os.set_blocking(self.writers[name], True)
        os.write(self.writers[name], (name if text is None else text).encode())
        os.close(self.writers.pop(name))
        while self.is_waiting(name): # the same reader: it must not meet the next writer
            os.close(self.writers.pop(name))
            os.sched_yield()


def script(server, name, text):
    os.chmod(server.write(f"cgi-bin/{name}", text), 0o755)


def start(serve, page, names, conf="", site=SITE, **files):
    server = serve(conf + site, files={"a.shtml": page, "plain.txt": "plain", "p.txt": "p", **{n.replace("_", "."): t for n, t in files.items()}})
    return server, Gates(server, names)


def ask(c, target="/a.shtml", more=""):
    c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())


def twice(text):
    return f"{text}(.|\\n)*{text}"


def script_includes(names):
    return "".join(f"({include('/cgi-bin/' + n)})" for n in names)


def test_all_run_at_once_and_end_in_any_order(serve):
    server, gates = start(serve, "<" + script_includes("xyz") + ">", "xyz")
    with server.connect() as c:
        for order in itertools.permutations("xyz"):
            ask(c)
            gates.wait_for(*"xyz")
            for name in order:
                gates.open(name)
            answer = c.read_response()
            assert (answer.status, answer.body) == (200, b"<(x)(y)(z)>"), order


def test_what_is_there_is_sent(serve):
    server, gates = start(serve, "before" + script_includes("xy") + "after", "xy")
    with server.connect() as c:
        ask(c)
        gates.wait_for("x", "y")
        c.read_until(b"before(")
        gates.open("x")
        c.read_until(b")(")
        gates.open("y", "last")
        c.read_until(b"last")


@pytest.mark.threads
def test_parts_of_included_pages(serve):
    """Those of an included page run beside those of the page, and beside those of its sister."""
    server, gates = start(serve, include("b.shtml") + script_includes("x") + include("c.shtml") + include("p.txt"), "xyzv",
                          b_shtml="b" + script_includes("yz") + set_to("s", "set") + "b", c_shtml="c" + echo("s") + script_includes("v") + "c")
    with server.connect() as c:
        for order in ("vxzy", "yzxv"):
            ask(c)
            gates.wait_for(*"xyzv")
            for name in order:
                gates.open(name)
            assert c.read_response().body == b"b(y)(z)b(x)cset(v)cp"


def test_wait_set_and_fallbacks_are_run_in_order(serve):
    for attribute in ('wait="yes"', 'set="s"', 'onerror="/p.txt"'):
        server, gates = start(serve, f'<!--#include virtual="/cgi-bin/x" {attribute} -->' + include("/cgi-bin/y"), "xy")
        with server.connect() as c:
            ask(c)
            gates.wait_for("x")
            assert body(server, "/plain.txt") == b"plain"
            assert not gates.is_waiting("y")
            gates.open("x")
            gates.open("y")
            assert c.read_response().body == (b"y" if "set" in attribute else b"xy")


def test_variables_are_those_of_the_place(serve):
    """A script sees what was set before it, and not what is set behind it; what it gets is not the page's."""
    server, gates = start(serve, set_to("v", "1") + include("/cgi-bin/tell?1") + set_to("v", "2") + include("/cgi-bin/tell?2") + echo("v")
                          + echo("QUERY_STRING"), "x")
    script(server, "tell", HEAD + 'printf "<$v $QUERY_STRING $REQUEST_URI>"\n')
    assert body(server, "/a.shtml?q") == b"<1 1 /a.shtml?q><2 2 /a.shtml?q>2q"


def test_failures_stand_in_their_places(serve):
    page = include("/cgi-bin/none") + "|" + include("/cgi-bin/x") + "|" + include("/cgi-bin/broken") + "|" + include("/none.txt") + "|"
    server, gates = start(serve, '<!--#config errmsg="[1]" -->' + page + '<!--#config errmsg="[2]" -->' + include("/cgi-bin/broken") + ".", "x")
    script(server, "broken", "#!/bin/sh\nexit 0\n")
    with server.connect() as c:
        ask(c)
        gates.open("x")
        assert c.read_response().body == b"[1]|x|[1]|[1]|[2]."
    server.wait_for_log(twice('unable to include "/cgi-bin/broken" in parsed file'))


STUB = 'stub="s" '


def test_stub(serve):
    """Shown in place of one that is empty or fails, whatever it had sent before."""
    server, gates = start(serve, '<!--#block name="s" -->stub<!--#endblock -->' + "".join(
        f'({include("/cgi-bin/" + n, STUB)})' for n in ("x", "empty", "broken", "y", "late")), ["x", "y", "late"],
        "SSIIncludeTimeout 1\n")
    script(server, "empty", HEAD)
    script(server, "broken", "#!/bin/sh\nexit 0\n")
    script(server, "late", HEAD + "echo some; exec cat ../gate-late\n")
    with server.connect() as c:
        ask(c)
        gates.wait_for("x", "y", "late")
        gates.open("y")
        gates.open("x")
        assert c.read_response().body == b"(x)(stub)(stub)(y)(stub)"


def test_a_limit_of_time_is_each_ones_own(serve):
    server, gates = start(serve, script_includes("xyz") + "end", "xyz", "SSIIncludeTimeout 1\n")
    with server.connect() as c:
        ask(c)
        gates.wait_for(*"xyz")
        gates.open("z")
        began = time.monotonic()
        assert c.read_response().body == b"(" + ERROR + b")(" + ERROR + b")(z)end"
        assert time.monotonic() - began < 20
    server.wait_for_log(twice("took longer than SSIIncludeTimeout"))


def test_how_many_run_at_once(serve):
    server, gates = start(serve, script_includes("xyzv"), "xyzv", "SSIParallelIncludes 2\n")
    with server.connect() as c:
        ask(c)
        gates.wait_for("x", "y")
        assert not gates.is_waiting("z")
        gates.open("y")
        gates.wait_for("z")
        assert not gates.is_waiting("v")
        gates.open("x")
        gates.open("z")
        gates.open("v")
        assert c.read_response().body == b"(x)(y)(z)(v)"
    server, gates = start(serve, script_includes("xy"), "xy", "SSIParallelIncludes 1\n")
    with server.connect() as c:
        ask(c)
        gates.wait_for("x")
        assert not gates.is_waiting("y")
        gates.open("x")
        gates.open("y")
        assert c.read_response().body == b"(x)(y)"


@pytest.mark.parametrize("workers", [1, 2])
def test_without_free_workers_they_run_one_after_the_other(serve, workers):
    server = serve(SITE.replace("ServerLimit 1\nThreadsPerChild 24", f"ServerLimit 1\nThreadsPerChild {workers}"), files={"a.shtml": script_includes("xyz")})
    gates = Gates(server, "xyz")
    with server.connect() as c:
        ask(c)
        for name in "xyz":
            gates.open(name)
        assert c.read_response().body == b"(x)(y)(z)"


def test_with_prefork_they_run_one_after_the_other(serve):
    server, gates = start(serve, script_includes("xy"), "xy", "LoadModule mpm_prefork_module @MODULES@/mod_mpm_prefork.so\n", SCRIPTS)
    with server.connect() as c:
        ask(c)
        gates.wait_for("x")
        assert not gates.is_waiting("y")
        gates.open("x")
        gates.open("y")
        assert c.read_response().body == b"(x)(y)"


LARGE = 3_000_000


def test_large_parts_are_whole(serve):
    """More than is held for the page, more than leaves at once, behind one that comes late."""
    server, gates = start(serve, "<" + include("/cgi-bin/x") + include("/cgi-bin/large?1") + "|" + "y" * 200000 + include("/cgi-bin/large?2") + ">", "x")
    script(server, "large", HEAD + f"head -c {LARGE} /dev/zero | tr '\\0' $QUERY_STRING\n")
    with server.connect() as c:
        ask(c)
        gates.open("x")
        assert c.read_response().body == b"<x" + b"1" * LARGE + b"|" + b"y" * 200000 + b"2" * LARGE + b">"


def test_the_size_of_a_page_has_its_limit(serve):
    server, gates = start(serve, include("/cgi-bin/large?1") + include("/cgi-bin/large?2") + "end", "x", "SSIMaxBytes 1M\n")
    script(server, "large", HEAD + f"head -c {LARGE} /dev/zero | tr '\\0' $QUERY_STRING\n")
    text = body(server, "/a.shtml")
    assert len(text) <= 1 << 20 and set(text) <= set(b"1end" + ERROR)
    server.wait_for_log("page has more than SSIMaxBytes")


@pytest.mark.threads
def test_clients_that_leave(serve):
    """The worker is free again, and so is everything else."""
    server, gates = start(serve, script_includes("xyz"), "xyz")
    for _ in range(3):
        with server.connect() as c:
            ask(c)
            gates.wait_for(*"xyz")
        for name in "zyx":
            gates.open(name, "text" * 100)
        assert body(server, "/plain.txt") == b"plain"
    with server.connect() as c:
        ask(c)
        for name in "xyz":
            gates.open(name)
        assert c.read_response().body == b"(x)(y)(z)"


def test_proxied_parts(serve):
    """Parts from another server; their heads are not the page's."""
    back, gates = start(serve, "", "xy")
    proxy = "LoadModule proxy_module @MODULES@/mod_proxy.so\nLoadModule proxy_http_module @MODULES@/mod_proxy_http.so\n"
    script(back, "cookie", "#!/bin/sh\necho Content-Type: text/plain\necho Set-Cookie: a=b\necho\nprintf cookie\n")
    server = serve(proxy + f"ProxyPass /back/ http://127.0.0.1:{back.port}/cgi-bin/\n" + SITE,
                   files={"a.shtml": "".join(f"({include('/back/' + n)})" for n in ("x", "none", "y", "cookie"))})
    with server.connect() as c:
        for order in ("xy", "yx"):
            ask(c, more="Cookie: c=d\r\n")
            gates.wait_for("x", "y")
            for name in order:
                gates.open(name)
            answer = c.read_response()
            assert answer.body.startswith(b"(x)(") and answer.body.endswith(b")(y)(cookie)")
            assert answer.all("Set-Cookie") == []


def test_over_http2(serve):
    server, gates = start(serve, "<" + script_includes("xyz") + ">", "xyz", "Protocols h2c http/1.1\n")
    with h2_client.Connection(server.port) as c:
        for stream, order in ((1, "zxy"), (3, "yzx")):
            c.request(stream, path="/a.shtml")
            gates.wait_for(*"xyz")
            for name in order:
                gates.open(name)
            assert c.response(stream) == (200, b"<(x)(y)(z)>")


@pytest.mark.threads
def test_many_pages_at_once(serve):
    """More than workers: none waits for ever."""
    server = serve(SITE.replace("ServerLimit 1\nThreadsPerChild 24", "ServerLimit 1\nThreadsPerChild 6"), files={"a.shtml": script_includes("tttt") + include("b.shtml"), "b.shtml": script_includes("tt")})
    Gates(server, "")
    script(server, "t", HEAD + "printf t\n")
    connections = [server.connect() for _ in range(20)]
    for c in connections:
        ask(c)
    for c in connections:
        assert c.read_response().body == b"(t)" * 6
        c.close()
