# SPDX-License-Identifier: Apache-2.0
"""brigade-site: a virtual host from one command, which the server takes, and which goes again. With PHP it is tried by the guide "A site in
one command" (test_carry_out.py)."""
import os
import pathlib
import re
import subprocess

import pytest

import brigade
from backend import Backend
from brigade import BINARY, wait_until
from script_backend import Script

pytestmark = pytest.mark.only("brigade")
PROGRAM = pathlib.Path(brigade.REPOSITORY, "build/tools/brigade-site")


@pytest.fixture
def server(serve):
    server = serve.unstarted("IncludeOptional @ROOT@/conf/conf.d/*.conf\n")
    os.mkdir(server.path("conf/conf.d"))
    server.start()
    return server


def site(server, *arguments):
    """Exit status, and all that it said."""
    command = server.command()
    config = command[command.index("-f") + 1]
    done = subprocess.run([PROGRAM, "--brigade", BINARY, "--config", config, "--no-https", *arguments], capture_output=True, text=True, timeout=brigade.PATIENCE * 4, env=server.env)
    return done.returncode, done.stdout + done.stderr


def left(server):
    return sorted(os.listdir(server.path("conf/conf.d")))


def status(server, host, path="/"):
    return server.get(path, headers={"Host": host}).status


def test_files(server, tmp_path):
    root = tmp_path / "documents"
    root.mkdir()
    (root / "index.html").write_text("of a.test")
    (root / ".env").write_text("secret")
    for path in (root, *root.parents):
        if path.stat().st_uid == os.getuid() and len(path.parts) > 2:
            path.chmod(path.stat().st_mode | 0o055)
    code, said = site(server, "a.test", "--alias", "www.a.test", "--root", str(root), "--port", str(server.port))
    assert code == 0 and "site      " in said and "documents " in said, said
    wait_until(lambda: server.get("/", headers={"Host": "www.a.test"}).body == b"of a.test", "the site is served")
    got = server.get("/", headers={"Host": "a.test"})
    assert got["X-Content-Type-Options"] == "nosniff" and status(server, "a.test", "/.env") == 404
    assert site(server, "--list")[1] == "a.test\n"
    code, said = site(server, "a.test", "--root", str(root))
    assert code == 2 and "has a site already" in said
    code, said = site(server, "--remove", "a.test")
    assert code == 0 and "is gone" in said and left(server) == [] and (root / "index.html").exists()
    wait_until(lambda: server.get("/", headers={"Host": "a.test"}).body != b"of a.test", "it is gone")


def test_an_application(server):
    with Backend() as backend:
        assert site(server, "app.test", "--proxy", f"http://127.0.0.1:{backend.port}", "--port", str(server.port))[0] == 0
        wait_until(lambda: server.get("/x", headers={"Host": "app.test"}).body == b"ok\n", "it is served")
        assert backend.requests[-1]["Host"] == "app.test" and backend.requests[-1]["X-Forwarded-Proto"] == "http"


def test_a_port_comes_and_goes_with_its_sites(server):
    port = brigade.free_port()
    for name in ("a.test", "b.test"):
        assert site(server, name, "--proxy", "http://127.0.0.1:1", "--port", str(port))[0] == 0
    assert left(server) == ["a.test.conf", "b.test.conf", f"brigade-site-port-{port}.conf"]
    for name, rest in (("a.test", 2), ("b.test", 0)):
        assert site(server, "--remove", name)[0] == 0 and len(left(server)) == rest


def test_what_was_changed_by_hand_is_kept(server):
    assert site(server, "a.test", "--proxy", "http://127.0.0.1:1", "--port", str(server.port))[0] == 0
    with open(server.path("conf/conf.d/a.test.conf"), "a", encoding="ascii") as f:
        f.write("# mine\n")
    code, said = site(server, "--remove", "a.test")
    assert code == 0 and "changed by hand" in said and left(server) == ["a.test.conf.removed"]


@pytest.mark.parametrize("wordpress", [False, True])
def test_php_is_printed(server, tmp_path, wordpress):
    """What the server takes, and a pool of its own."""
    php = tmp_path / "php/8.9/fpm"
    (php / "pool.d").mkdir(parents=True)
    code, said = site(server, "b.test", "--wordpress" if wordpress else "--php", "--user", "blog", "--root", "/srv/b", "--php-config", str(php), "--print")
    assert code == 0 and "user = blog" in said and "listen = /run/php/b.test.sock" in said and 'SetHandler "proxy:unix:/run/php/b.test.sock|fcgi://b.test"' in said
    assert ("CacheEnable memory /" in said) == wordpress and left(server) == [] and not os.listdir(php / "pool.d")
    host = said.split("</VirtualHost>")[0] + "</VirtualHost>\n"
    done = server.run("-c", re.sub(r"^#.*\n", "", host, flags=re.M).replace(":80>", f":{server.port}>"), "-t", port=server.port)
    assert done.returncode == 0, done.stderr


def php_site(server, tmp_path, one, *arguments):
    """A site whose PHP is a script of the test; its documents."""
    pools, root = tmp_path / "php/8.9/fpm/pool.d", tmp_path / "documents"
    pools.mkdir(parents=True)
    (pools / "www.conf").write_text(f"[www]\nlisten = {one.path}\n")
    for name in ("index.php", "account.php", "wp-content/plugins/p/ajax.php", "wp-content/plugins/p/a.css", "wp-includes/b.js", "wp-content/uploads/x.php"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("file")
    for path in (root, *root.parents):
        if path.stat().st_uid == os.getuid() and len(path.parts) > 2:
            path.chmod(path.stat().st_mode | 0o055)
    code, said = site(server, "a.test", "--php-config", str(pools.parent), "--root", str(root), "--port", str(server.port), *arguments)
    assert code == 0, said
    wait_until(lambda: status(server, "a.test", "/index.php") == 200, "the site is served")
    return root


def test_a_name_of_a_style_sheet_makes_no_page_public(server, tmp_path):
    """A script that answers for /ajax.php/x.css, and the page of an address without a file, have what they say themselves; files are kept for a year."""
    with Script("fcgi", lambda params, body, send: one.answer(send, params["SCRIPT_NAME"].encode())) as one:
        php_site(server, tmp_path, one, "--wordpress")
        server.expect_trouble = True
        for path in ("/wp-content/plugins/p/a.css", "/wp-includes/b.js"):
            assert server.get(path, headers={"Host": "a.test"})["Cache-Control"] == "public, max-age=31536000", path
        for path, script in (("/wp-content/plugins/p/ajax.php/x.css", b"/wp-content/plugins/p/ajax.php"), ("/wp-content/none.css", b"/index.php"), ("/wp-includes/none.js", b"/index.php")):
            for cookie in ("wordpress_logged_in_x=1", "a=b"):
                got = server.get(path, headers={"Host": "a.test", "Cookie": cookie})
                assert got.body == script and got["Cache-Control"] is None, got
        assert status(server, "a.test", "/wp-content/uploads/x.php") == 403


@pytest.mark.parametrize("kind", ["--wordpress", "--php"])
def test_what_one_visitor_sends_is_in_no_page_for_all(server, tmp_path, kind):
    """Fields that an application may believe, other spellings of the address, and visitors who are somebody."""
    def page(params, body, send):
        seen = [params.get(name, "-") for name in ("HTTP_X_FORWARDED_HOST", "HTTP_X_ORIGINAL_URL", "HTTP_X_REWRITE_URL", "HTTP_X_HTTP_METHOD_OVERRIDE", "HTTP_COOKIE")]
        one.answer(send, " ".join((params["REQUEST_URI"], *seen)).encode())
    with Script("fcgi", page) as one:
        php_site(server, tmp_path, one, kind, "--cache")
        evil = {"X-Forwarded-Host": "evil", "X-Original-URL": "/evil", "X-Rewrite-URL": "/evil", "X-HTTP-Method-Override": "POST"}
        for path in ("/index.php/a", "//index.php/a", "/index.php/%61"):
            for _ in range(2):
                assert server.get(path, headers={"Host": "a.test", **evil}).body == f"{path} - - - - -".encode()
        for cookie in ("wordpress_logged_in_1=x", "wordpress.logged.in.1=x") if kind == "--wordpress" else ("PHPSESSID=1", "a=b; laravel_session=1", "SSESSabc=1", "phpbb3_x_sid=1", "auth_token=1", "remember_me=1"):
            assert server.get("/account.php", headers={"Host": "a.test", "Cookie": cookie}).body.endswith(cookie.encode()), cookie
        assert server.get("/account.php", headers={"Host": "a.test"}).body == b"/account.php - - - - -"


@pytest.mark.parametrize("arguments, said", [
    ([], "one name"), (["a b"], "no host name"), (["../x"], "no host name"), (["a.test", "--root", 'x'], "absolute path"), (["a.test", "--root", '/a"b'], "absolute path"),
    (["a.test", "--root", "/a/../b"], "absolute path"), (["a.test", "--root", "/a\nb"], "absolute path"), (["a.test", "--proxy", "http://a b/"], "is wanted"),
    (["a.test", "--proxy", "ftp://a/"], "is wanted"), (["a.test", "--proxy", "http://a/", "--php"], "has no files"), (["a.test", "--user", "x"], "is for PHP"),
    (["a.test", "--port", "0"], "ports are"), (["a.test", "--alias", "*"], "no host name"), (["--remove", "a.test"], "there is no such site"),
    (["a.test", "--php", "--php-config", "/nowhere", "--user", "A B", "--root", "/srv/a"], "no user name"), (["--nonsense"], "--help")])
def test_mistakes(server, arguments, said):
    code, out = site(server, *arguments)
    assert code == 2 and said in out and left(server) == [], out


def test_a_file_of_somebody_else_stays(server):
    server.write("conf.d/a.test.conf", "# mine\n", base="conf")
    assert site(server, "--remove", "a.test")[0] == 2 and left(server) == ["a.test.conf"]


def test_a_configuration_that_reads_no_sites(serve):
    server = serve.unstarted("")
    os.mkdir(server.path("conf/conf.d"))
    server.start()
    code, said = site(server, "a.test", "--proxy", "http://127.0.0.1:1", "--port", str(server.port))
    assert code == 1 and "IncludeOptional" in said and left(server) == []


def test_a_mistake_comes_first(server):
    server.write("conf.d/wrong.conf", "Nonsense\n", base="conf")
    code, said = site(server, "a.test", "--proxy", "http://127.0.0.1:1")
    assert code == 2 and "comes first" in said and "Nonsense" in said and left(server) == ["wrong.conf"]
