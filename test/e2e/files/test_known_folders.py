# SPDX-License-Identifier: Apache-2.0
"""What a loop knows of folders: each change in them is seen by the next request, and what has not changed is not looked at again."""
import os
import shutil
import subprocess
import time

import pytest

A = "Header always set X-A {}\nErrorDocument 404 gone\n"
SITE = {"index.html": "front\n", "404.html": "not here\n", "a/.htaccess": A.format("one"), "a/b/c/file.txt": "file\n", "a/b/index.html": "index\n",
        "php/index.html": "all of it\n", "php/.htaccess": "RewriteEngine On\nRewriteRule ^index\\.html$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\n"
                                                            "RewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /php/index.html [L]\n"}
CONF = """EventLoops 1
MaxKeepAliveRequests 0
ErrorDocument 404 /404.html
<Directory @ROOT@/htdocs>
    AllowOverride All
    Options FollowSymLinks
</Directory>
"""


@pytest.fixture
def site(serve):
    server = serve(CONF, SITE)
    with server.connect() as c:
        yield server, c


def known(c, *targets):
    """Each is asked for until all of its way is known."""
    for _ in range(8):
        answers = [c.get(t) for t in targets]
    return [(r.status, r["X-A"]) for r in answers]


def new(folder, n=[0]):
    """A name that nobody asked for before."""
    n[0] += 1
    return f"{folder}new{n[0]}"


def miss(c, folder, times=8):
    for _ in range(times):
        r = c.get(new(folder))
        assert r.status == 404, r


def test_a_file_that_comes_where_names_are_known(site):
    server, c = site
    miss(c, "/a/b/")
    server.write("a/b/late.txt", "late\n")
    assert c.get("/a/b/late.txt").body == b"late\n"
    os.rename(server.path("htdocs/a/b/late.txt"), server.path("htdocs/a/b/moved.txt"))
    assert c.get("/a/b/moved.txt").body == b"late\n"
    assert c.get("/a/b/late.txt").status == 404
    os.symlink("moved.txt", server.path("htdocs/a/b/link.txt"))
    assert c.get("/a/b/link.txt").body == b"late\n"
    os.makedirs(server.path("htdocs/a/b/folder"))
    server.write("a/b/folder/x", "x\n")
    assert c.get("/a/b/folder/x").body == b"x\n"
    os.remove(server.path("htdocs/a/b/moved.txt"))
    assert c.get("/a/b/moved.txt").status == 404
    assert c.get("/a/b/link.txt").status == 403  # it leads nowhere


@pytest.mark.parametrize("folder", ["", "a", "a/b", "a/b/c"])
@pytest.mark.parametrize("where", ["/a/b/c/file.txt", "/a/b/c/none", "/a/b/c/none/more"])
def test_a_deny_that_appears(site, folder, where):
    """Written, renamed into place, changed in place; and taken away again."""
    server, c = site
    status = 200 if where.endswith("txt") else 404
    path = server.path(os.path.join("htdocs", folder, ".htaccess"))
    before = open(path, encoding="ascii").read() if os.path.exists(path) else None
    known(c, where)
    with open(path, "w", encoding="ascii") as f:
        f.write("Require all denied\n")
    assert c.get(where).status == 403
    known(c, where)
    with open(path, "w", encoding="ascii") as f:
        f.write("Require all granted\n")
    assert c.get(where).status == status
    known(c, where)
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write("Require all denied\n")
    os.rename(path + ".new", path)
    assert c.get(where).status == 403
    known(c, where)
    os.remove(path)
    assert c.get(where).status == status
    if before:
        known(c, where)
        with open(path, "w", encoding="ascii") as f:
            f.write(before)
        assert c.get(where)["X-A"] == "one"


def test_what_a_folder_is(site):
    """Another one takes its place, or one above it; permissions go."""
    server, c = site
    assert known(c, "/a/b/c/file.txt", "/a/b/c/none") == [(200, "one"), (404, "one")]
    shutil.copytree(server.path("htdocs/a"), server.path("htdocs/other"))
    server.write("other/.htaccess", A.format("two"))
    os.rename(server.path("htdocs/a"), server.path("htdocs/was"))
    assert c.get("/a/b/c/none").status == 404
    os.rename(server.path("htdocs/other"), server.path("htdocs/a"))
    assert c.get("/a/b/c/file.txt")["X-A"] == "two"
    assert known(c, "/a/b/c/file.txt", "/a/b/c/none") == [(200, "two"), (404, "two")]
    os.rename(server.path("htdocs/a"), server.path("htdocs/other"))
    os.symlink("was", server.path("htdocs/a"))
    assert c.get("/a/b/c/none")["X-A"] == "one"
    assert known(c, "/a/b/c/file.txt", "/a/b/c/none") == [(200, "one"), (404, "one")]
    os.remove(server.path("htdocs/a"))
    os.symlink("other", server.path("htdocs/a"))
    assert c.get("/a/b/c/none")["X-A"] == "two"
    if os.geteuid() == 0:
        known(c, "/a/b/c/none")
        os.chmod(server.path("htdocs/other/b"), 0o700)
        assert c.get("/a/b/c/none").status == 403
        assert c.get("/a/b/c/file.txt").status == 403
        os.chmod(server.path("htdocs/other/b"), 0o755)
        assert c.get("/a/b/c/none").status == 404


def test_links_that_options_do_not_allow(serve):
    server = serve(CONF.replace("FollowSymLinks", "SymLinksIfOwnerMatch"), SITE)
    os.rename(server.path("htdocs/a"), server.path("htdocs/real"))
    os.symlink("real", server.path("htdocs/a"))
    with server.connect() as c:
        assert known(c, "/a/b/c/file.txt", "/a/b/c/none") == [(200, "one"), (404, "one")]
        if os.geteuid() == 0:
            os.lchown(server.path("htdocs/a"), 1, 1)
            assert c.get("/a/b/c/none").status == 403
            os.lchown(server.path("htdocs/a"), os.stat(server.path("htdocs/real")).st_uid, 0)
            assert c.get("/a/b/c/none").status == 404
        server.write(".htaccess", "Options None\n")
        assert c.get("/a/b/c/none").status == 403
        assert c.get("/real/b/c/none").status == 404


def test_a_file_that_an_access_file_asks_for(site):
    """<IfFile> is no part of what is known."""
    server, c = site
    server.write("a/.htaccess", f"<IfFile {server.path('htdocs/there')}>\nHeader always set X-A there\n</IfFile>\nErrorDocument 404 gone\n")
    assert known(c, "/a/b/c/none") == [(404, None)]
    server.write("there", "")
    assert c.get("/a/b/c/none")["X-A"] == "there"
    os.remove(server.path("htdocs/there"))
    assert c.get("/a/b/c/none")["X-A"] is None


def test_names_of_access_files(serve):
    server = serve("AccessFileName .first .second\n" + CONF, {**SITE, "a/b/.second": A.format("second")})
    with server.connect() as c:
        assert known(c, "/a/b/none") == [(404, "second")]
        server.write("a/b/.first", A.format("first"))
        assert c.get("/a/b/none")["X-A"] == "first"
        known(c, "/a/b/none")
        os.remove(server.path("htdocs/a/b/.first"))
        assert c.get("/a/b/none")["X-A"] == "second"


def test_hosts_have_their_own_configuration(serve):
    root = "<Directory @ROOT@/htdocs/a>\nHeader always append X-H {0}\n</Directory>\n"
    hosts = "".join(f"<VirtualHost *>\nServerName {h}\nDocumentRoot @ROOT@/htdocs\n{root.format(h)}</VirtualHost>\n" for h in ("one", "two"))
    server = serve(CONF + hosts, SITE)
    with server.connect() as c:
        for _ in range(6):
            for h in ("one", "two"):
                assert c.get("/a/b/none", {"Host": h})["X-H"] == h


def test_rewriting_sees_what_comes(site):
    server, c = site
    for n in range(8):
        assert c.get(f"/php/2026/{n}/title/").body == b"all of it\n"
    server.write("php/2026", "a file\n")
    assert c.get("/php/2026").body == b"a file\n"
    os.remove(server.path("htdocs/php/2026"))
    assert c.get("/php/2026").body == b"all of it\n"
    server.write("php/index.html", "changed\n")
    assert c.get("/php/2026").body == b"changed\n"
    os.remove(server.path("htdocs/php/index.html"))
    assert c.get("/php/2026").status in (404, 500)


def test_an_index_that_comes(site):
    server, c = site
    known(c, "/a/b/c/", "/a/b/")
    assert c.get("/a/b/c/").status == 403
    server.write("a/b/c/index.html", "late\n")
    assert c.get("/a/b/c/").body == b"late\n"


def test_an_error_document_that_changes(site):
    server, c = site
    old = time.time() - 100
    os.utime(server.path("htdocs/404.html"), (old, old))
    miss(c, "/")
    for n in range(3):
        server.write("404.html", f"changed {n}\n")
        os.utime(server.path("htdocs/404.html"), (old, old))
        for _ in range(5):
            assert c.get(new("/")).body == f"changed {n}\n".encode()
    os.chmod(server.path("htdocs/404.html"), 0)
    if os.geteuid() == 0:
        assert c.get(new("/")).body != b"changed 2\n"
    os.remove(server.path("htdocs/404.html"))
    r = c.get(new("/"))
    assert r.status == 404 and b"changed" not in r.body


def test_many_names_and_folders_are_bounded(site):
    """More folders than are known, each twice; and the first ones still answer as they should."""
    server, c = site
    for n in range(700):
        os.makedirs(server.path(f"htdocs/many/{n}"))
        server.write(f"many/{n}/x", "x\n")
    for _ in range(3):
        for n in range(700):
            assert c.get(f"/many/{n}/none").status == 404
    server.write("many/3/.htaccess", "Require all denied\n")
    server.write("many/699/.htaccess", "Require all denied\n")
    assert c.get("/many/3/none").status == 403
    assert c.get("/many/699/none").status == 403
    shutil.rmtree(server.path("htdocs/many"))
    assert c.get("/many/3/x").status == 404
    miss(c, "/many/4/")


@pytest.mark.parametrize("target,calls", [("/a/b/%d.png", {"recvfrom", "sendmsg"}), ("/php/2026/%d/title/", {"recvfrom", "sendmsg"})])
def test_what_is_known_is_not_looked_at(site, tmp_path, target, calls):
    if not shutil.which("strace"):
        pytest.skip("no strace")
    looked_at(*site, tmp_path, target)


def test_missing_names_are_known_to_a_process_with_one_thread(serve, tmp_path):
    """It reads the names of a folder itself."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    server = serve("LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\nStartServers 1\nMaxRequestWorkers 1\nServerLimit 1\nMaxKeepAliveRequests 0\nErrorDocument 404 gone\n", SITE)
    with server.connect() as c:
        looked_at(server, c, tmp_path, "/a/b/none%d", most=0)


def looked_at(server, c, tmp_path, target, most=15):
    old = time.time() - 100
    for name in ("404.html", "php/index.html"):
        os.utime(server.path("htdocs/" + name), (old, old))
    n, settled = 0, time.monotonic() + 0.3  # a file that was touched just now is not kept
    while n < 20 or time.monotonic() < settled:
        c.get(target % (1000 + n))
        n += 1
    trace = subprocess.Popen(["strace", "-f", "-o", str(tmp_path / "calls"), "-e", "trace=%file,%desc,recvfrom,sendmsg,futex"] + [a for p in server.children() for a in ("-p", str(p))],
                             stderr=subprocess.PIPE, text=True)
    try:
        line = trace.stderr.readline()
        if "attached" not in line:
            pytest.skip(line)
        for n in range(100, 110):
            c.get(target % n)
    finally:
        trace.terminate()
        trace.communicate()
    seen = [line for line in (tmp_path / "calls").read_text().splitlines() if any(f"{call}(" in line for call in ("open", "openat", "openat2", "newfstatat", "statx", "stat", "pread64", "preadv2", "futex"))]
    assert len(seen) <= most, "\n".join(seen[:40])  # a hundred and more, if each request looks; a worker may have come by once
