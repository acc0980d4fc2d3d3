# SPDX-License-Identifier: Apache-2.0
"""`brigade --serve DIR [[ADDRESS:]PORT]`: a directory as a site, without a configuration file."""
import gzip
import http.client
import os
import re
import signal
import socket
import subprocess
import threading

import pytest

import brigade

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="an option of Brigade's")


@pytest.fixture
def folder(tmp_path):
    """A directory with a name that no line of a configuration could hold unquoted, readable for all."""
    root = tmp_path / 'a [b] "c" ${d} *'
    for name, text in {"page.html": "page\n" * 200, "sub/index.html": "index\n", ".env": "secret\n", ".git/config": "secret\n",
                       ".well-known/x.txt": "known\n", ".htaccess": "Deny from all\n"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in (root, *root.parents):
        if path.stat().st_uid == os.getuid() and len(path.parts) > 2:
            path.chmod(path.stat().st_mode | 0o055)
    (tmp_path / "temp").mkdir(mode=0o777)
    (tmp_path / "temp").chmod(0o777)
    return root


class Serving:
    def __init__(self, folder, *arguments, **more):
        self.temp = folder.parent / "temp"
        self.process = subprocess.Popen([brigade.BINARY, "--serve", str(folder), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "TMPDIR": str(self.temp)}, text=True, cwd="/", **more)
        self.line = self.process.stdout.readline()
        found = re.search(r"http://(\[.*\]|[^:]*):(\d+)/", self.line)
        assert found, (self.line, self.process.communicate(timeout=30))
        self.host, self.port = found[1].strip("[]"), int(found[2])

    def get(self, path, **fields):
        client = http.client.HTTPConnection(self.host, self.port, timeout=30)
        client.request("GET", path, headers=fields)
        answer = client.getresponse()
        body = answer.read()
        client.close()
        return answer, body

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def serving(folder):
    begun = []

    def begin(*arguments, **more):
        begun.append(Serving(folder, *arguments, **more))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.end()


def test_a_directory(serving, folder):
    before = sorted(os.walk(folder))
    site = serving()
    assert site.host == "127.0.0.1" and site.line.startswith(f"{folder}: ")
    answer, body = site.get("/")
    assert answer.status == 200 and b"page.html" in body and b".env" not in body and b".git" not in body
    answer, body = site.get("/page.html", **{"Accept-Encoding": "gzip"})
    assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/html") and gzip.decompress(body) == b"page\n" * 200
    assert site.get("/sub/")[1] == b"index\n" and site.get("/none")[0].status == 404
    assert len(os.listdir(site.temp)) == 1
    assert site.end()[0] == 0
    assert os.listdir(site.temp) == [] and sorted(os.walk(folder)) == before


@pytest.mark.parametrize("path,status", [("/.env", 404), ("/.git/config", 404), ("/.git/", 404), ("/sub/../.env", 404), ("/%2eenv", 404), ("/.well-known/x.txt", 200)])
def test_hidden_files(serving, path, status):
    assert serving().get(path)[0].status == status


def test_ports(serving):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert serving(str(port)).port == port


def test_a_free_port_where_that_is_taken(serving):
    ports = {serving().port, serving().port}
    assert len(ports) == 2


def test_an_address(serving):
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = taken.getsockname()[1]
    site = serving(f"127.0.0.2:{port}")
    assert (site.host, site.get("/page.html")[0].status) == ("127.0.0.2", 200)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port)).close()


def test_ended_at_any_moment(folder):
    """Control-C as soon as the place of the pid file is there, and a little later: it goes with the program."""
    temp = folder.parent / "temp"
    env = {**os.environ, "TMPDIR": str(temp)}
    for late in range(24):
        process = subprocess.Popen([brigade.BINARY, "--serve", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, cwd="/")
        while not any(name.startswith("brigade-serve") for name in os.listdir(temp)) and process.poll() is None:
            pass
        threading.Event().wait(late * 0.002)  # moments of its start, not a wait for something
        process.send_signal([signal.SIGINT, signal.SIGTERM][late % 2])
        process.wait(timeout=60)
        assert os.listdir(temp) == [], late


@pytest.mark.skipif(os.getuid() != 0, reason="root is needed to be someone else")
def test_any_user(serving):
    site = serving(user=65534, group=65534, extra_groups=[])
    assert site.get("/page.html")[0].status == 200
    assert site.end()[0] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="root is needed")
def test_root_serves_as_somebody_else(serving, folder):
    os.chown(folder, 65534, 65534)
    site = serving()
    assert "nobody serves" in site.process.stdout.readline()
    assert site.get("/page.html")[0].status == 200


@pytest.mark.skipif(os.getuid() != 0, reason="root is needed")
def test_root_says_who_may_not_read(folder):
    folder.chmod(0o700)
    done = subprocess.run([brigade.BINARY, "--serve", str(folder)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "would serve in place of root, may not read it" in done.stderr


@pytest.mark.parametrize("arguments,said", [
    (["/nowhere/at/all"], "/nowhere/at/all: No such file or directory"), (["/etc/passwd"], "/etc/passwd is no directory"), ([], "Usage: "),
    (["/", "0"], "a port (1 to 65535) is wanted"), (["/", "http"], "a port (1 to 65535) is wanted"), (["/", "name:80"], "no address of the machine"), (["/", "80", "90"], "Usage: ")])
def test_mistakes(arguments, said):
    done = subprocess.run([brigade.BINARY, "--serve", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and said in done.stderr and not done.stdout, done


def test_a_port_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run([brigade.BINARY, "--serve", str(folder), str(taken.getsockname()[1])], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "TMPDIR": str(folder.parent / "temp")})
    assert done.returncode == 1 and "in use" in done.stderr and not done.stdout, done
    assert os.listdir(folder.parent / "temp") == []
