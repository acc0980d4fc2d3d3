# SPDX-License-Identifier: Apache-2.0
"""The smallest configuration that serves a site, and where media types come from without TypesConfig."""
import os
import shutil

import pytest

import brigade

pytestmark = pytest.mark.only("brigade")
LINES = "Listen 127.0.0.1:@PORT@\nServerName localhost\nDocumentRoot @ROOT@/htdocs\n<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n"
REST = "PidFile @ROOT@/logs/httpd.pid\nErrorLog @ROOT@/logs/error_log\n" + (f"User {brigade.unprivileged_user()}\n" if os.geteuid() == 0 else "")
FILES = {"a.css": "a{}", "a.html": "a", "a.webp": "a", "a.own": "a"}


@pytest.fixture
def unstarted(serve):
    """-d is its folder: nothing that a build leaves elsewhere is found."""
    server = serve.unstarted(LINES + REST, FILES, bare=True)
    server.write_config = lambda config=None: server.write("httpd.conf", server.expand(config or server.config), base="conf")
    return server


def types(server):
    server.start()
    return [server.get("/" + name)["Content-Type"] for name in FILES]


def with_etc(server, tmp_path, types_of_machine):
    """The server sees an /etc of its own."""
    etc, plain = tmp_path / "etc", server.command
    etc.mkdir()
    for name in ("passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache"):
        shutil.copy(f"/etc/{name}", etc)
    if types_of_machine:
        (etc / "mime.types").write_text(types_of_machine)
    server.command = lambda *args: ["unshare", "-m", "sh", "-c", f'mount --bind {etc} /etc && exec "$@"', "sh", *plain(*args)]


NAMESPACES = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="makes an /etc of its own")


@NAMESPACES
def test_a_table_inside(unstarted, tmp_path):
    with_etc(unstarted, tmp_path, "")
    assert types(unstarted) == ["text/css", "text/html", "image/webp", None]
    assert unstarted.run("-t").returncode == 0


@NAMESPACES
def test_the_file_of_the_machine(unstarted, tmp_path):
    with_etc(unstarted, tmp_path, "text/x-machine own\n")
    assert types(unstarted) == [None, None, None, "text/x-machine"]


@pytest.mark.parametrize("place", ["conf/mime.types", "mime.types"])
def test_the_default_file(unstarted, place):
    unstarted.write(os.path.basename(place), "text/x-own own\n", base=os.path.dirname(place))
    assert types(unstarted) == [None, None, None, "text/x-own"]


def test_the_nearer_one(unstarted):
    unstarted.write("mime.types", "text/x-far own\n", base="")
    unstarted.write("mime.types", "text/x-near own\n", base="conf")
    assert types(unstarted)[3] == "text/x-near"


def test_a_file_that_a_line_names_has_to_be_there(unstarted):
    unstarted.config += "TypesConfig conf/none\n"
    done = unstarted.run("-t")
    assert done.returncode == 1 and b"AH01597" in done.stderr
