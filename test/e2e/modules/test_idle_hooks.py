# SPDX-License-Identifier: Apache-2.0
"""Hooks that have nothing to do are not called (brigade/hooks.h), until a directive asks for them: in the configuration of a
server, or in an .htaccess file."""
import os

import pytest

import brigade
from module_source import compile_file

pytestmark = pytest.mark.only("brigade")
HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = """ServerName main.test
<VirtualHost *:@PORT@>
    ServerName one.test
    {one}
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName two.test
</VirtualHost>
"""


@pytest.fixture(scope="module")
def needs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("needs")
    os.chmod(folder, 0o755)
    os.chmod(folder.parent, 0o755)
    return f'LoadModule needs_module "{compile_file(os.path.join(HERE, "mod_needs.c"), folder / "mod_needs.so")}"\n'


def fixup(server, host="localhost", target="/a.txt"):
    return server.get(target, host=host)["X-Fixup"]


def test_without_directive(serve, needs):
    server = serve(needs, files={"a.txt": "a"})
    assert fixup(server) is None


def test_with_directive(serve, needs):
    server = serve(needs + "NeedsFixup Off\n", files={"a.txt": "a"})
    assert fixup(server) == "called"


def test_by_server(serve, needs):
    server = serve(needs + HOSTS.format(one="<Location />\nNeedsFixup On\n</Location>"), files={"a.txt": "a"})
    assert (fixup(server, "one.test"), fixup(server, "two.test")) == ("called", None)


def test_by_access_file(serve, needs):
    """Once such a file was read they are called in all servers, also where it is not."""
    server = serve(needs + HOSTS.format(one="") + "<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n",
                   files={"a.txt": "a", "below/a.txt": "a", "below/.htaccess": "NeedsFixup On\n"})
    assert (fixup(server, "one.test"), fixup(server, "two.test")) == (None, None)
    assert fixup(server, "one.test", "/below/a.txt") == "called"
    assert (fixup(server, "one.test"), fixup(server, "two.test")) == ("called", "called")


def test_handlers(serve, needs):
    server = serve(needs + "".join(f"<Location /{n}.txt>\nSetHandler {name}\n</Location>\n" for n, name in
                                   enumerate(("needed", "Needed", "gate:unix", "gate"))) + "AddType text/needed needed\n",
                   files={"a.txt": "a", "b.needed": "b", **{f"{n}.txt": "x" for n in range(4)}})
    called = [server.get(f"/{name}")["X-Handler"] for name in ("a.txt", "b.needed", "0.txt", "1.txt", "2.txt", "3.txt")]
    assert called == [None, "text/needed", "needed", None, "gate:unix", None]


ACCESS = """<Directory @ROOT@/htdocs>
    AllowOverride All
    Options FollowSymLinks MultiViews
</Directory>
"""
LINES = {
    "Header set X-Way there": lambda answer: answer["X-Way"] == "there",
    "Redirect /a.txt /b.txt": lambda answer: answer.status == 302,
    "RewriteEngine On\nRewriteRule ^a.txt$ b.txt": lambda answer: answer.body == b"b",
    "ExpiresActive On\nExpiresDefault A60": lambda answer: answer["Expires"],
    "Order deny,allow\nDeny from all": lambda answer: answer.status == 403,
    "SetEnvIf Request_URI a mark=set\nHeader set X-Way %{mark}e": lambda answer: answer["X-Way"] == "set",
    "Action text/plain /none virtual": lambda answer: answer.status != 200,
    "CookieTracking On": lambda answer: answer["Set-Cookie"],
    "AddOutputFilterByType SUBSTITUTE text/plain\nSubstitute s/a/X/": lambda answer: answer.body == b"X",
}


@pytest.mark.parametrize("lines", LINES)
def test_access_files_of_modules(serve, lines):
    """What no other line of the configuration names: the first .htaccess file has it work at once, in the request that reads it."""
    server = serve(ACCESS, files={"a.txt": "a", "b.txt": "b"})
    plain = server.get("/a.txt")
    assert plain.status == 200 and plain.body == b"a"
    server.write(".htaccess", lines + "\n")
    assert LINES[lines](server.get("/a.txt"))
