# SPDX-License-Identifier: Apache-2.0
"""What an answer depends on beside its own file: access files and indexes through links, names that are missing, mounts,
parts of pages. Each case is asked for until its answer is stored, changed, and asked for again."""
import os
import shutil
import subprocess
import time

import pytest

import brigade
from brigade import wait_until
from cache_site import hits, one_loop, settle, warm

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

DENY = "Require all denied\n"
ALLOW = "Require all granted\n"
ALL = '<Directory "@ROOT@/htdocs">\nAllowOverride All\nOptions FollowSymLinks Includes\n</Directory>\n'


def swap(link, target):
    os.symlink(target, link + ".new")
    os.rename(link + ".new", link)


def replace_folder(path, files):
    os.rename(path, path + ".old")
    os.mkdir(path)
    for name, text in files.items():
        with open(os.path.join(path, name), "w") as f:
            f.write(text)


def link_rules(s):
    os.symlink("../rules/current/acl", s.path("htdocs/d/.htaccess"))


class Case:
    def __init__(self, setup, change, after, target="/d/a.txt", before=200, config="", body=None):
        self.setup, self.change, self.after = setup, change, after
        self.target, self.before, self.config, self.body = target, before, config, body


CASES = {
    "access file through a folder link that is swapped": Case(
        lambda s: (os.symlink("one", s.path("htdocs/rules/current")), link_rules(s)),
        lambda s: swap(s.path("htdocs/rules/current"), "two"), 403),
    "access file whose target's folder is replaced": Case(
        lambda s: (os.symlink("one", s.path("htdocs/rules/current")), link_rules(s)),
        lambda s: replace_folder(s.path("htdocs/rules/one"), {"acl": DENY}), 403),
    "access file that is a link, its target made": Case(
        lambda s: (os.rename(s.path("htdocs/rules/two"), s.path("htdocs/rules/current")), os.unlink(s.path("htdocs/rules/current/acl"))),
        lambda s: (s.write("rules/current/acl", DENY), os.symlink("../rules/current/acl", s.path("htdocs/d/.htaccess"))), 403),
    "access file with a folder in its name": Case(
        lambda s: os.mkdir(s.path("htdocs/d/.conf")), lambda s: s.write("d/.conf/acl", DENY), 403,
        config="AccessFileName .conf/acl\n"),
    "access file with a folder that comes": Case(
        lambda s: None, lambda s: (os.mkdir(s.path("htdocs/d/.new")), s.write("d/.new/acl", DENY), os.rename(s.path("htdocs/d/.new"), s.path("htdocs/d/.conf"))), 403,
        config="AccessFileName .conf/acl\n"),
    "first index that is a bad link and becomes good": Case(
        lambda s: os.symlink("../away/first.html", s.path("htdocs/d/first.html")),
        lambda s: (os.mkdir(s.path("htdocs/away")), s.write("away/first.html", "first")), 200,
        target="/d/", config="DirectoryIndex first.html a.txt\n", body=b"first"),
    "missing name that is a dangling link": Case(
        lambda s: os.symlink("../away/b.txt", s.path("htdocs/d/b.txt")),
        lambda s: (os.mkdir(s.path("htdocs/away")), s.write("away/b.txt", "there")), 200, target="/d/b.txt", before=403),
    "missing folder": Case(
        lambda s: None, lambda s: (os.makedirs(s.path("htdocs/new/x")), s.write("new/x/b.txt", "there")), 200,
        target="/new/x/b.txt", before=404),
    "link's target moves under the owner's policy": Case(
        lambda s: os.symlink("a.txt", s.path("htdocs/d/l.txt")),
        lambda s: os.lchown(s.path("htdocs/d/l.txt"), 12345, 12345), 403, target="/d/l.txt",
        config='<Directory "@ROOT@/htdocs">\nOptions -FollowSymLinks +SymLinksIfOwnerMatch\n</Directory>\n'),
    "part of a page: a better index": Case(
        lambda s: s.write("page.shtml", '[<!--#include virtual="/d/" -->]'),
        lambda s: s.write("d/first.html", "first"), 200, target="/page.shtml",
        config="DirectoryIndex first.html a.txt\nAddOutputFilter INCLUDES .shtml\nAddType text/html .shtml\n", body=b"[first]"),
    "size of a folder's index in a page": Case(
        lambda s: s.write("page.shtml", '<!--#config sizefmt="bytes" --><!--#fsize virtual="/d/" -->'),
        lambda s: s.write("d/first.html", "first"), 200, target="/page.shtml",
        config="DirectoryIndex first.html a.txt\nAddOutputFilter INCLUDES .shtml\nAddType text/html .shtml\n", body=b"5"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_change(serve, name):
    case = CASES[name]
    server = one_loop(serve, ALL + case.config, files={"d/a.txt": "a file", "rules/one/acl": ALLOW, "rules/two/acl": DENY})
    case.setup(server)
    settle(server.path("htdocs"))
    warm(server, case.target, status=case.before)
    case.change(server)
    answer = server.get(case.target)
    assert answer.status == case.after
    if case.body is not None:
        assert answer.body == case.body


@pytest.mark.slow
def test_no_304_for_a_page_whose_part_is_another_file(serve):
    """Not from what is kept of a rendering either, which files have to be older than two seconds for."""
    server = one_loop(serve, ALL + "DirectoryIndex first.html a.txt\nAddOutputFilter INCLUDES .shtml\nAddType text/html .shtml\n"
                      '<Directory "@ROOT@/htdocs">\nSSIETag parts\n</Directory>\n',
                      files={"d/a.txt": "old", "page.shtml": '<!--#echo var="HTTP_X_FOO" --><!--#include virtual="/d/" -->'})
    settle(server.path("htdocs"))
    made = time.time()
    brigade.wait_until(lambda: time.time() > made + 2.5, "old files")
    headers = {"X-Foo": "x"}
    tag = server.get("/page.shtml", headers)["ETag"]
    headers["If-None-Match"] = tag
    for _ in range(3):
        assert tag and server.get("/page.shtml", headers).status == 304
    server.write("d/first.html", "new")
    answer = server.get("/page.shtml", headers)
    assert (answer.status, answer.body) == (200, b"xnew")


def may_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def mount(server, *args):
    """In the mount namespace of the server."""
    subprocess.run(["nsenter", "-m", "-t", str(server.process.pid), *args], check=True, capture_output=True)


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("allow", [ALL, ""])
def test_mounts(serve, allow, tmp_path):
    """A mount over a folder, a bind of another, and the end of both: no event of inotify tells of them."""
    script = tmp_path / "in-namespace"
    script.write_text(f'#!/bin/sh\nexec unshare -m --propagation private {os.path.abspath(brigade.BINARY)} "$@"\n')
    script.chmod(0o755)
    server = one_loop(serve, allow, files={"d/a.txt": "below", "e/a.txt": "bound"}, binary=str(script))
    settle(server.path("htdocs"))
    folder = server.path("htdocs/d")
    warm(server, "/d/a.txt", b"below")
    mount(server, "mount", "-t", "tmpfs", "none", folder)
    assert server.get("/d/a.txt").status == 404
    mount(server, "mount", "--bind", server.path("htdocs/e"), folder)
    warm(server, "/d/a.txt", b"bound")
    mount(server, "umount", folder)
    assert server.get("/d/a.txt").status == 404
    mount(server, "umount", folder)
    warm(server, "/d/a.txt", b"below")


HITS = "<Location /metrics>\nSetHandler metrics\n</Location>\n"


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("allow", [ALL, ""])
def test_lower_layers(serve, allow, tmp_path):
    """What changes beneath an overlay is no event, and is seen all the same; what does not change is sent from memory."""
    script = tmp_path / "in-namespace"
    script.write_text(f'#!/bin/sh\nexec unshare -m --propagation private {os.path.abspath(brigade.BINARY)} "$@"\n')
    script.chmod(0o755)
    server = one_loop(serve, allow + HITS, files={"lower/a.txt": "below", "lower/index.html": "index", "lower/.htaccess": "# nothing\n", "upper/u.txt": "upper", "work/w": "", "d/x": ""},
                      binary=str(script))
    os.unlink(server.path("htdocs/work/w"))
    settle(server.path("htdocs"))
    under = ",".join(f"{kind}={server.path('htdocs', name)}" for kind, name in (("lowerdir", "lower"), ("upperdir", "upper"), ("workdir", "work")))
    mount(server, "mount", "-t", "overlay", "overlay", "-o", under, server.path("htdocs/d"))
    stored = 0
    for target, name, old in (("/d/a.txt", "lower/a.txt", b"below"), ("/d/", "lower/index.html", b"index"), ("/d/u.txt", "upper/u.txt", b"upper")):
        warm(server, target, old)
        assert [server.get(target).body for _ in range(40)] == [old] * 40
        stored += 40
        wait_until(lambda: hits(server) >= stored, "answers from memory")
        server.write(name, b"new " + old)
        assert server.get(target).body == b"new " + old
        settle(server.path("htdocs"))
        warm(server, target, b"new " + old)
    if allow:
        server.write("lower/.htaccess", DENY)
        assert server.get("/d/a.txt").status == 403


@pytest.mark.skipif(os.geteuid() != 0, reason="root sets the owner")
def test_folder_that_cannot_be_watched(serve):
    """Of mode 0711: it can be passed through, not read. Where links are looked at, nothing is stored by a stat alone."""
    server = one_loop(serve, 'User nobody\n<Directory "@ROOT@/htdocs">\nOptions SymLinksIfOwnerMatch\n</Directory>\n', files={"d/a.txt": "a file"})
    settle(server.path("htdocs"))
    os.chmod(server.path("htdocs/d"), 0o711)
    warm(server, "/d/a.txt", b"a file")
    os.rename(server.path("htdocs/d/a.txt"), server.path("htdocs/d/b.txt"))
    os.symlink("b.txt", server.path("htdocs/d/a.txt"))
    os.lchown(server.path("htdocs/d/a.txt"), 12345, 12345)
    assert server.get("/d/a.txt").status == 403
    shutil.rmtree(server.path("htdocs/d"))
