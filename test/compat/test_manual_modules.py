# SPDX-License-Identifier: Apache-2.0
"""Modules as Apache's documentation for developers describes them, written for these tests: the same source is built by
Apache's apxs and by the installed brigade-apxs, and both servers answer the same."""
import os
import shutil
import socket

import pytest

import brigade
from module_source import prefix, run  # noqa: F401
from test_compare import APACHE, normal, pytestmark  # noqa: F401

SOURCES = {"mod_manual_digest.c": "modules", "mod_manual_case.c": "modules", "mod_manual_export.c": "modules",
           "mod_manual_import.c": "modules", "mod_manual_generic.c": "modules", "mod_sample_echo.c": "../samples", "mod_sample_expr.c": "../samples"}
HERE = os.path.dirname(os.path.abspath(__file__))
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def built(prefix, tmp_path_factory):  # noqa: F811
    """{apache or not: {module: .so}}"""
    if not shutil.which("apxs"):
        pytest.skip("Apache's apxs is not installed")
    result = {}
    for apache, apxs in ((True, "apxs"), (False, f"{prefix}/bin/brigade-apxs")):
        folder = tmp_path_factory.mktemp("built")
        shutil.copy(os.path.join(HERE, "modules", "manual_export.h"), folder)
        result[apache] = {}
        for source, place in SOURCES.items():
            shutil.copy(os.path.join(HERE, place, source), folder)
            run(apxs, "-Wc,-Wall", "-Wc,-Werror", "-c", source, cwd=folder)
            name = source[len("mod_"):-2]
            result[apache][name] = str(folder / (".libs/" if apache else "") / f"mod_{name}.so")
    return result


class Both:
    def __init__(self, built, modules, config, files=None):
        self.servers = []
        for binary in (APACHE, brigade.BINARY):
            loads = "".join(f'LoadModule {m}_module "{built[brigade.is_apache(binary)][m]}"\n' for m in modules)
            server = brigade.Server(loads + config, files, binary=binary)
            for folder, _, names in os.walk(server.path("htdocs")):  # the same validators
                for name in names:
                    os.utime(os.path.join(folder, name), (1e9, 1e9))
            self.servers.append(server)

    def __enter__(self):
        for server in self.servers:
            server.__enter__()
        return self

    def __exit__(self, *why):
        for server in self.servers:
            server.__exit__(*why)

    def same(self, method, target, headers=(), body=b"", host="localhost"):
        """The answer, which is that of both."""
        theirs, ours = (s.request(method, target, headers, body, host=host) for s in self.servers)
        assert normal(ours) == normal(theirs)
        return ours


def test_a_handler_with_arguments_forms_and_directives(built):
    config = """
    ManualName main
    ManualNote one 1
    <Location "/">
        SetHandler manual-digest
        ManualKinds md5
    </Location>
    <Location "/in">
        ManualEnabled On
        ManualRounds 3
        ManualKinds sha1 md5
    </Location>
    <VirtualHost *:@PORT@>
        DocumentRoot @ROOT@/htdocs
        ServerName first
        ManualNote two
    </VirtualHost>
    <VirtualHost *:@PORT@>
        DocumentRoot @ROOT@/htdocs
        ServerName other
        ManualName other
        ManualNote one 11
    </VirtualHost>
    """
    files = {"in/a.txt": "a", "in/b/big.bin": b"x" * 100000, "out.txt": "o", "in/b/.htaccess": "ManualKinds sha1\n"
             "ManualEnabled Off\n<Files *.bin>\nManualEnabled On\n</Files>\n", "in/b/c.txt": "c"}
    with Both(built, ["manual_digest"], config, files) as both:
        answer = both.same("GET", "/in/a.txt?digest=md5&word=%3Cb%3E+x", host="first")
        assert b"md5 0cc175b9c0f1b6a831c399e269772661\n" in answer.body and b"word word = &lt;b&gt;+x\n" in answer.body
        assert b"enabled 1, rounds 3, merges several\nkind md5\nkind sha1\nkind md5\nserver main\n" in answer.body
        assert b"digest" not in both.same("GET", "/in/a.txt", host="first").body.split(b"kind")[0]
        both.same("GET", "/in/b/big.bin/path/info?digest=sha1", host="other")
        both.same("POST", "/in/a.txt?digest=md5&x=1", FORM, b"digest=sha1&x=2&y=%41", host="other")
        both.same("POST", "/in/a.txt?digest=md5", {"Content-Type": "text/plain"}, b"digest=sha1", host="other")
        for target, status in {"/in/b/c.txt": 200, "/out.txt": 403, "/in/": 403, "/in/none": 404}.items():
            assert both.same("GET", target, host="other").status == status
        both.same("HEAD", "/in/a.txt", host="first")


@pytest.mark.parametrize("line", ["ManualEnabled Maybe", "ManualRounds 12", "ManualKinds md5 md4", "ManualNote", "ManualName",
                                  "<Directory />\nManualName x\n</Directory>", "ManualNote a b c", "ManualRounds 1"])
def test_what_directives_refuse(built, line):
    said = []
    for server in Both(built, ["manual_digest"], line + "\n").servers:
        done = server.run("-t")
        said.append((done.returncode, (done.stdout + done.stderr).decode().replace(server.root, "ROOT").split(":\n")[-1]))
        server.close()
    assert said[0][0] == said[1][0] and said[0][0] != 0
    assert said[0][1].splitlines()[-1] == said[1][1].splitlines()[-1]


def test_filters_in_both_directions(built):
    config = """
    <Location "/echo">
        SetHandler manual-echo
    </Location>
    <VirtualHost *:@PORT@>
        DocumentRoot @ROOT@/htdocs
        ServerName plain
    </VirtualHost>
    <VirtualHost *:@PORT@>
        DocumentRoot @ROOT@/htdocs
        ServerName out
        ManualCaseOut On
    </VirtualHost>
    <VirtualHost *:@PORT@>
        DocumentRoot @ROOT@/htdocs
        ServerName in
        ManualCaseIn On
    </VirtualHost>
    """
    chunked = {"Transfer-Encoding": "chunked", "Content-Type": "text/plain"}
    with Both(built, ["manual_case"], config, {"a.txt": "small\n" * 3000}) as both:
        for host in ("plain", "out", "in"):
            for target in ("/echo", "/echo?brigades"):
                both.same("POST", target, {"Content-Type": "text/plain"}, b"some words, " * 1000, host=host)
                both.same("POST", target, chunked, b"5\r\nwords\r\n3\r\nend\r\n0\r\n\r\n", host=host)
                both.same("GET", target, host=host)
            both.same("GET", "/a.txt", host=host)
            both.same("GET", "/a.txt", {"Range": "bytes=3-8"}, host=host)
            both.same("HEAD", "/a.txt", host=host)
        assert both.same("POST", "/echo", {"Content-Type": "text/plain"}, b"abc", host="in").body == b"ABC"
        assert both.same("GET", "/a.txt", host="out").body == b"SMALL\n" * 3000


SHARED = """
<Location "/export">
    SetHandler manual-export
</Location>
<Location "/import">
    SetHandler manual-import
</Location>
<Location "/other">
    SetHandler manual-other
</Location>
"""


@pytest.mark.parametrize("modules", [["manual_export", "manual_import"], ["manual_import", "manual_export"],
                                     ["manual_export"], ["manual_import"]], ids=" ".join)
def test_optional_functions_hooks_and_providers(built, modules):
    with Both(built, modules, SHARED, {"a.txt": "a\n", "export": "", "import": "", "other": ""}) as both:
        answer = both.same("GET", "/export")
        if "manual_export" in modules:
            order = answer.body.split(b"\n")[0].split()[1:]
            assert order[0] == b"really_first" and order[-1] == b"really_last" and b"after_import" in order
            if len(modules) == 2:
                assert order.index(b"import") < order.index(b"after_import")
                assert b"heard: something\nheard last: something\nsaid: 0\n" in answer.body
                assert b"2 providers of manual\ndouble of 21 is 42\n" in answer.body
        assert (answer.status == 200) and both.same("GET", "/import?you").status == 200
        both.same("GET", "/other")
        both.same("GET", "/other?redirect")


def test_generic_hooks(built):
    with Both(built, ["manual_export", "manual_generic"], SHARED, {"export": ""}) as both:
        body = both.same("GET", "/export").body
        assert b"told generic\ntold generic again\n" in body and b"name generic, checks of 1 and 7: 0 409\n" in body
    with Both(built, ["manual_export"], SHARED, {"export": ""}) as both:
        assert b"name (none), checks of 1 and 7: 0 0\n" in both.same("GET", "/export").body
    for server in Both(built, ["manual_generic", "manual_export"], SHARED).servers:  # the wrong order
        done = server.run("-t")
        assert done.returncode == 1 and b"manual_hook_" in done.stdout + done.stderr
        server.close()


def test_expressions_and_another_protocol(built):
    ports = [brigade.free_port(), brigade.free_port()]
    with Both(built, ["sample_echo", "sample_expr"], 'Header set X-Rot "expr=%{rot13:%{REQUEST_URI}}"\n',
              {"a.txt": "a"}) as both:
        assert both.same("GET", "/a.txt")["X-Rot"] == "/n.gkg"
    said = []
    for server, port in zip(Both(built, ["sample_echo"], "").servers, ports):
        server.config += (f"Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\nSampleEcho On\n</VirtualHost>\n")
        with server, socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE) as s:
            s.sendall(b"one\ntwo\nlast without an end")
            s.shutdown(socket.SHUT_WR)
            got = b""
            while data := s.recv(1000):
                got += data
        said.append(got)
    assert said[0] == said[1] and said[0].startswith(b"1: one\n2: two\n")
