# SPDX-License-Identifier: Apache-2.0
"""Passwords that take long to check, on purpose: the event loop serves others meanwhile."""
import base64
import os
import select
import shutil
import subprocess

import pytest

import brigade

MODULES = ["auth_basic", "authn_core", "authn_file", "authz_user"]
pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads,
              pytest.mark.skipif(not all(os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so") for m in MODULES), reason="Apache's modules are not installed"),
              pytest.mark.skipif(not shutil.which("htpasswd"), reason="htpasswd is not installed")]

CONFIG = "EventLoops 1\n" + "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES) + """
<Directory @ROOT@/htdocs>
    Options +Includes +Indexes
    AllowOverride None
</Directory>
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
<DirectoryMatch /(inner|private)>
    AuthType Basic
    AuthName here
    AuthUserFile @ROOT@/passwords
    Require valid-user
</DirectoryMatch>
"""
PARTS = 6
USERS = ["parts", "list", "file", "plain"]  # a password that was checked once is known: each test has its own


def credentials(user):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:word".encode()).decode()}


@pytest.fixture(scope="module")
def server(serve_module):
    files = {"a.txt": "a", "private/part.txt": "part", "page.shtml": '<!--#include virtual="private/part.txt" -->' * PARTS, "plain.shtml": '<!--#include virtual="a.txt" -->'}
    files.update({f"list/inner{i}/x.txt": "x" for i in range(PARTS)})
    made = serve_module.unstarted(CONFIG, files, modules=())
    lines = [subprocess.run(["htpasswd", "-nbBC", "11", user, "word"], check=True, capture_output=True, text=True).stdout.strip() for user in USERS]
    made.write("passwords", "\n".join(lines) + "\n", base=".")
    return made.start()


@pytest.mark.parametrize("target,user,has", [("/page.shtml", "parts", b"part" * PARTS), ("/list/", "list", b"inner5/"), ("/private/part.txt", "file", b"part")])
def test_others_are_served(server, target, user, has):
    """The answer to who came second is there first."""
    with server.connect() as slow, server.connect() as quick:
        assert quick.get("/a.txt").body == b"a"
        slow.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {credentials(user)['Authorization']}\r\n\r\n".encode())
        for _ in range(2):
            assert quick.get("/a.txt").body == b"a"
        assert not select.select([slow.socket], [], [], 0)[0], "the loop waited"
        answer = slow.read_response()
        assert answer.status == 200 and has in answer.body


def test_who_may_not(server):
    assert server.get("/private/part.txt").status == 401
    assert b"part" not in server.get("/page.shtml").body
    assert server.get("/plain.shtml", credentials("plain")).body == b"a"
