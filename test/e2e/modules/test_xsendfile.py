# SPDX-License-Identifier: Apache-2.0
"""X-Sendfile: which files programs may name, conditions and parts of them, and what becomes of the program's own body."""
import os

import pytest

import brigade

pytestmark = pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_xsendfile.so") and brigade.is_apache(brigade.BINARY), reason="mod_xsendfile.so is not installed")
SCRIPT = """#!/bin/sh
printf 'Content-Type: text/own\\r\\n'
printf '%b' "$(printf '%s' "$QUERY_STRING" | sed 's/_/\\\\0/g')"
printf '\\r\\n'
head -c 200000 /dev/zero
"""
CONFIG = """LoadModule xsendfile_module /usr/lib/apache2/modules/mod_xsendfile.so
AddHandler cgi-script .cgi
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
Options +ExecCGI +Includes
XSendFile On
</Directory>
<Directory @ROOT@/htdocs/path>
XSendFilePath @ROOT@/private
</Directory>
<Directory @ROOT@/htdocs/off>
XSendFile Off
</Directory>
<Directory @ROOT@/htdocs/own>
XSendFileIgnoreEtag On
</Directory>
"""


@pytest.fixture(scope="module")
def server(serve_module):
    made = serve_module.unstarted(CONFIG, {**{f"{d}/x.cgi": SCRIPT for d in ("path", "off", "own")}, "path/near.txt": "near\n", "page.shtml": "page\n"},
                                  modules=["cgid", "include"])
    for folder in ("path", "off", "own"):
        os.chmod(made.path("htdocs", f"{folder}/x.cgi"), 0o755)
    for name in ("private/f.txt", "privateer/f.txt"):
        made.write(name, "0123456789\n", base=".")
        os.utime(made.path(name), (1e9, 1e9))
    return made.start()


def ask(server, name, more="", folder="path", headers=None, method="GET"):
    query = "".join("_%03o" % b for b in f"X-Sendfile: {name.replace('@', server.root)}\r\n{more}".encode())
    return server.request(method, f"/{folder}/x.cgi?{query}", headers or {})


def test_the_file_takes_the_place_of_the_body(server):
    r = ask(server, "@/private/f.txt", "Content-Encoding: gzip\r\nX-Other: kept\r\n")
    assert (r.status, r.body, r["Content-Length"], r["Content-Type"]) == (200, b"0123456789\n", "11", "text/own")
    assert r["Last-Modified"] == "Sun, 09 Sep 2001 01:46:40 GMT" and r["ETag"] and r["X-Other"] == "kept"
    assert not r["X-Sendfile"] and not r["Content-Encoding"]
    with server.connect() as c:  # nothing of the program's body is left on the connection
        for _ in range(3):
            query = "".join("_%03o" % b for b in f"X-Sendfile: near.txt\r\n".encode())
            assert c.get(f"/path/x.cgi?{query}").body == b"near\n"


@pytest.mark.parametrize("name, message", [
    ("@/private/none", "cannot open file"), ("@/private", "not a file"), ("@/privateer/f.txt", "unable to find file"), ("/etc/passwd", "unable to find file"),
    ("../off/x.cgi", "unable to find file"), ("@/private/../privateer/f.txt", "unable to find file"), ("@/private/%2e", "cannot open file")])
def test_files_that_are_not_sent(server, name, message):
    r = ask(server, name)
    assert r.status == 404 and not r["X-Sendfile"]
    server.wait_for_log(f"xsendfile: {message}")


def test_conditions_and_parts(server):
    tag = ask(server, "@/private/f.txt")["ETag"]
    assert ask(server, "@/private/f.txt", headers={"If-None-Match": tag}).status == 304
    assert ask(server, "@/private/f.txt", headers={"If-Modified-Since": "Sun, 09 Sep 2001 01:46:40 GMT"}).status == 304
    r = ask(server, "@/private/f.txt", headers={"Range": "bytes=2-4"})
    assert (r.status, r.body, r["Content-Range"]) == (206, b"234", "bytes 2-4/11")
    assert ask(server, "@/private/f.txt", method="HEAD")["Content-Length"] == "11"


def test_validators_of_the_program(server):
    assert ask(server, "@/private/f.txt", 'ETag: "own"\r\n')["ETag"] == '"own"'
    assert ask(server, "@/private/f.txt", 'ETag: "own"\r\n', folder="own")["ETag"] != '"own"'


def test_other_responses(server):
    r = ask(server, "@/private/f.txt", "Status: 201 Made\r\n")
    assert (r.status, len(r.body)) == (201, 200000)
    r = ask(server, "@/private/f.txt", folder="off")
    assert len(r.body) == 200000 and r["X-Sendfile"]
