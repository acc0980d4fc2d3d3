# SPDX-License-Identifier: Apache-2.0
"""Requests that sections refuse: -t tells of a document root that nobody may see, the log tells which line refuses."""
import os
import re

import pytest

import brigade

pytestmark = pytest.mark.only("brigade")
HEAD = "ServerRoot @ROOT@\nListen 127.0.0.1:@PORT@\nServerName localhost\nErrorLog logs/error_log\nPidFile logs/httpd.pid\nTypesConfig /dev/null\n"
USER = f"User {brigade.unprivileged_user()}\n" if os.geteuid() == 0 else ""
WALL = '<Directory "/">\nAllowOverride None\nRequire all denied\n</Directory>\n'
ROOT = 'DocumentRoot "@ROOT@/htdocs"\n'
OPEN = "<Directory {}>\nRequire all granted\n</Directory>\n"


def said(serve, text, files=None):
    server = serve.unstarted(HEAD + USER + text, files or {"a.txt": "a"}, bare=True)
    done = server.run("-t")
    assert done.returncode == 0 and b"Syntax OK" in done.stderr, done.stderr
    return server, [line for line in done.stderr.decode().splitlines() if "DocumentRoot" in line]


@pytest.mark.parametrize("text,count", [
    (WALL + ROOT, 1), (ROOT + WALL, 1), (WALL + ROOT + OPEN.format("/srv"), 1), (WALL + ROOT + "<Location /server-status>\nRequire local\n</Location>\n", 1),
    (WALL + ROOT + 'RedirectMatch 404 "/[.]"\nRedirect /old /new\nAlias /docs/ /tmp/\n', 1),
    (WALL + "<VirtualHost *:@PORT@>\nServerName a.test\n" + ROOT + "</VirtualHost>\n", 1), (OPEN.format("/") + ROOT + "<Directory @ROOT@>\nRequire all denied\n</Directory>\n", 1),
    # somebody may see it, or a part, or it is not what is asked for
    (ROOT, 0), (WALL + ROOT + OPEN.format('"@ROOT@/htdocs/"'), 0), (WALL + ROOT + OPEN.format("@ROOT@"), 0), (WALL + ROOT + OPEN.format("@ROOT@/htdocs/public"), 0),
    (WALL + ROOT + OPEN.format("/*"), 0), (WALL + ROOT + "<DirectoryMatch htdocs>\nRequire all granted\n</DirectoryMatch>\n", 0),
    (WALL + ROOT + "<Location />\nRequire all granted\n</Location>\n", 0), (WALL + ROOT + "Redirect / https://b.test/\n", 0),
    (WALL + ROOT + 'ProxyPass "/" "http://127.0.0.1:1/"\n', 0), (WALL + ROOT + "<Location />\nSetHandler server-status\n</Location>\n", 0),
    (WALL + "<VirtualHost *:@PORT@>\nServerName a.test\n" + ROOT + OPEN.format("@ROOT@/htdocs") + "</VirtualHost>\n", 0),
    (WALL.replace("all denied", "ip 10.0.0.0/8") + ROOT, 0), ("<Directory />\n<Limit POST>\nRequire all denied\n</Limit>\n</Directory>\n" + ROOT, 0)])
def test_a_document_root_that_nobody_may_see(serve, text, count):
    server, lines = said(serve, text)
    assert len(lines) == count, lines
    conf = server.read("conf/httpd.conf").decode().splitlines()
    for line in lines:
        found = re.search(r"httpd\.conf:(\d+): DocumentRoot \S+: every request is refused \(403\) by \S+httpd\.conf:(\d+): Require all denied, in <Directory \S+> of line (\d+); "
                          r"a section <Directory \"\S+\"> with the line Require all granted lets clients see it$", line)
        assert [conf[int(n) - 1].split()[0] for n in found.groups()] == ["DocumentRoot", "Require", "<Directory"], line
    server.start()
    assert server.get("/a.txt").status == 403 or not count


@pytest.mark.skipif(os.geteuid() != 0, reason="gives up root")
def test_a_document_root_that_the_user_may_not_enter(serve):
    server = serve.unstarted(HEAD + USER + ROOT, {"a.txt": "a"}, bare=True)
    os.chmod(server.path("htdocs"), 0o700)
    done = server.run("-t")
    folder = re.escape(server.path("htdocs"))
    assert done.returncode == 0 and re.search(rf"httpd\.conf:\d+: DocumentRoot {folder}: the user of the server \(User \S+\) may not enter {folder}, so .*: chmod o\+x {folder}$",
                                              done.stderr.decode(), re.M), done.stderr
    server.start()
    assert server.get("/a.txt").status == 403
    os.chmod(server.path("htdocs"), 0o755)


@pytest.mark.parametrize("lines,place", [
    ("<Location /a.txt>\nRequire all denied\n</Location>\n", r"httpd\.conf:{}: Require all denied, in <Location /a\.txt> of line {}"),
    ("<Location /a.txt>\n<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.1\n</RequireAll>\n</Location>\n", r"httpd\.conf:{}: Require not ip 127\.0\.0\.1, in <Location /a\.txt> of line {}, the last of 2"),
    ("<Location /a.txt>\nOrder allow,deny\nAllow from all\nDeny from 127.0.0.1\n</Location>\n", r"httpd\.conf:{}: Deny from 127\.0\.0\.1, in <Location /a\.txt> of line {}"),
    ("<Location /a.txt>\nOrder allow,deny\n</Location>\n", r"httpd\.conf:{}: Order allow,deny, in <Location /a\.txt> of line {}"),
    ("<If \"true\">\nRequire all denied\n</If>\n", r'httpd\.conf:{}: Require all denied, in <If "true"> of line {}'),
    ("Include conf/part.conf\n", r"conf/part\.conf:2: Require all denied, in <Location /a\.txt> of line 1")])
def test_the_log_names_the_line_that_refuses(serve, lines, place):
    server = serve.unstarted("# first\n" + lines, {"a.txt": "a"})
    server.write("part.conf", "<Location /a.txt>\nRequire all denied\n</Location>\n", base="conf")
    server.start()
    assert server.get("/a.txt").status == 403
    conf = server.read("conf/httpd.conf").decode().splitlines()
    word = re.sub(r"\\", "", place.split(": ")[1].split(", in ")[0])
    numbers = [] if "part" in place else [conf.index(word, conf.index("# first")) + 1, conf.index("# first") + 2]
    server.wait_for_log(r"AH01(630|797): client denied by server configuration: \S+/htdocs/a\.txt \(\S+" + place.format(*numbers) + r"\)\n")


def test_the_log_names_a_line_of_an_access_file(serve):
    server = serve("", {"a.txt": "a", ".htaccess": "# note\nRequire all denied\n"})
    assert server.get("/a.txt").status == 403
    server.wait_for_log(r"AH01630: client denied by server configuration: \S+/a\.txt \(\S+/htdocs/\.htaccess:2: Require all denied\)\n")


def test_a_user_who_may_not(serve):
    server = serve("<Location /a.txt>\nAuthType Basic\nAuthName x\nAuthUserFile @ROOT@/conf/users\nRequire user b\n</Location>\n", {"a.txt": "a"})
    server.write("users", "a:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\n", base="conf")  # a:a
    assert server.get("/a.txt", {"Authorization": "Basic YTph"}).status == 401
    server.wait_for_log(r'AH01631: user a: authorization failure for "/a\.txt": \(\S+httpd\.conf:\d+: Require user b, in <Location /a\.txt> of line \d+\)\n')
