# SPDX-License-Identifier: Apache-2.0
"""The sample site as `cmake --install` leaves it, and as the Debian packages lay it out: each link of its pages works."""
import html
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.parse

import pytest

import brigade
from http_client import Client

TOP = pathlib.Path(brigade.REPOSITORY)
MISSING = "/no/such/page"  # the sample shows its page for these
DEPTH = 2
pytestmark = pytest.mark.only("brigade")


@pytest.fixture(scope="module")
def installed():
    """The prefix of an installation, in a folder that other users may enter."""
    build = pathlib.Path(brigade.BINARY).parent
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("not a build folder of CMake")
    if not (build / "manual/html/index.html").exists():
        pytest.skip("the manual's pages are not built")
    with tempfile.TemporaryDirectory(prefix="brigade-test-") as folder:
        os.chmod(folder, 0o755)
        prefix = pathlib.Path(folder) / "installed"
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True, timeout=120)
        yield prefix


@pytest.fixture
def packaged(installed):
    """What the packages consist of: the installed tree, arranged by debian/arrange, with its paths led into a folder."""
    with tempfile.TemporaryDirectory(prefix="brigade-test-") as folder:
        os.chmod(folder, 0o755)
        root = pathlib.Path(folder)
        tree = root / "usr/lib/brigade"
        tree.parent.mkdir(parents=True)
        subprocess.run(["cp", "-R", installed, tree], check=True, timeout=60)
        (tree / "share/doc/brigade").mkdir(parents=True, exist_ok=True)
        (tree / "bin/brigade-membench-stock").touch()
        conf = tree / "conf/httpd.conf"
        conf.write_text(conf.read_text().replace(str(installed), "/usr/lib/brigade"))
        subprocess.run(["sh", TOP / "debian/arrange", tree, root], check=True, capture_output=True, timeout=60)
        (root / "run/brigade").mkdir(parents=True)
        conf = root / "etc/brigade/httpd.conf"
        text = re.sub(r"(?<![\w.])/(etc/brigade|usr|var/log|run/brigade)(?=/|\")", rf"{root}/\1", conf.read_text())
        conf.write_text(text.replace("User www-data", f"User {brigade.unprivileged_user()}").replace("Group www-data", "Group nogroup"))
        for link in (tree / "conf", root / "etc/brigade/modules"):
            to = os.readlink(link)
            link.unlink()
            link.symlink_to(f"{root}{to}")
        yield root


class Running:
    """A server with a configuration that is given but for its port."""

    def __init__(self, program, conf, pid):
        self.program, self.conf, self.pid = program, conf, pid
        self.port = brigade.free_port()

    def run(self, *more):
        done = subprocess.run([self.program, "-f", self.conf, *more], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr

    def __enter__(self):
        text = self.conf.read_text()
        assert text.count("\nListen 8080\n") == 1
        self.before = text
        self.conf.write_text(text.replace("\nListen 8080\n", f"\nListen 127.0.0.1:{self.port}\n"))
        self.run("-t")
        self.run("-k", "start")
        brigade.wait_until(self.answers, "the server")
        return self

    def answers(self):
        try:
            return self.get("/robots.txt").status == 200
        except OSError:
            return False

    def get(self, path):
        with Client("127.0.0.1", self.port, brigade.PATIENCE) as client:
            return client.request("GET", path)

    def __exit__(self, *_):
        self.run("-k", "stop")
        brigade.wait_until(lambda: not self.pid.exists(), "its end")
        self.conf.write_text(self.before)


def links(path, body):
    """Paths of the same server that a page leads to, with what it is made of."""
    for to in re.findall(r'\b(?:href|src)="([^"]+)"', re.sub(r"(?s)<script>.*?</script>|<pre>.*?</pre>", "", body)):
        target = urllib.parse.urlsplit(urllib.parse.urljoin(f"http://site{path}", html.unescape(to)))
        if target.scheme == "http" and target.netloc == "site":
            yield target.path + (f"?{target.query}" if target.query else "")


def walk(server):
    """{path: answer} of all that the first page leads to, within DEPTH steps."""
    seen, level = {}, ["/"]
    for depth in range(DEPTH + 1):
        following = []
        for path in level:
            if path in seen:
                continue
            seen[path] = server.get(path)
            if depth < DEPTH and "text/html" in (seen[path]["Content-Type"] or ""):
                following += links(path, seen[path].body.decode())
        level = following
    return seen


def faults(seen):
    for path, answer in seen.items():
        if answer.status != (404 if path == MISSING else 200):
            yield f"{path}: {answer.status}"
        if "text/html" in (answer["Content-Type"] or "") and b"<!--#" in answer.body:
            yield f"{path}: a directive of server-side includes"


def look(server):
    seen = walk(server)
    assert list(faults(seen)) == []
    assert {"/docs/", "/server-status", "/server-status/live", "/files/", "/live.shtml", "/downloads/sample.bin", MISSING} <= seen.keys()
    assert len([path for path in seen if path.startswith("/docs/")]) > 80
    assert b"<title>Not here</title>" in seen[MISSING].body
    assert b"numbers.csv" in seen["/files/"].body and b"Put together by the server" in seen["/live.shtml"].body
    assert b"<h1>The manual of Brigade</h1>" in seen["/docs/"].body
    part = server.get("/downloads/sample.bin").body
    assert len(part) == 3 << 20 and part[3200:].startswith(b"record 00000100 at byte 0003200\n")


def test_places_that_the_configuration_names_are_there(installed):
    """Folders and files below the prefix; -V names the file of media types that is installed."""
    text = (installed / "conf/httpd.conf").read_text()
    assert "IncludeOptional conf/conf.d/*.conf" in text and (installed / "conf/conf.d").is_dir()
    shown = subprocess.run([installed / "bin/brigade", "-V"], capture_output=True, text=True, timeout=60).stdout
    assert (installed / re.search('AP_TYPES_CONFIG_FILE="(.*)"', shown)[1]).is_file()


def test_as_installed(installed):
    with Running(installed / "bin/brigade", installed / "conf/httpd.conf", installed / "logs/httpd.pid") as server:
        look(server)


def test_as_packaged(packaged):
    with Running(packaged / "usr/sbin/brigade", packaged / "etc/brigade/httpd.conf", packaged / "run/brigade/brigade.pid") as server:
        look(server)


def test_messages_name_the_file_that_one_edits(packaged):
    """/etc/brigade/httpd.conf, not what a link in the package's tree calls it."""
    conf = packaged / "etc/brigade/httpd.conf"
    with conf.open("a") as out:
        out.write("Nonsense on\n")
    done = subprocess.run([packaged / "usr/sbin/brigade", "-t"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and re.search(rf"line \d+ of {re.escape(str(conf))}:", done.stderr), done.stderr


def test_a_site_of_ones_own_shows_none_of_the_sample(installed):
    """Another DocumentRoot: neither the sample's page for what is missing, nor includes, nor listings."""
    with tempfile.TemporaryDirectory(prefix="brigade-test-") as folder:
        os.chmod(folder, 0o755)
        root = pathlib.Path(folder)
        (root / "files").mkdir()
        (root / "robots.txt").write_text("User-agent: *\n")
        (root / "a.shtml").write_text('<!--#echo var="X" -->')
        conf = installed / "conf/own.conf"
        text = (installed / "conf/httpd.conf").read_text()
        conf.write_text(text.replace(f'DocumentRoot "{installed}/htdocs"', f'DocumentRoot "{root}"')
                        + f'<Directory "{root}">\nRequire all granted\n</Directory>\n')
        with Running(installed / "bin/brigade", conf, installed / "logs/httpd.pid") as server:
            assert server.get("/a.shtml").body == b'<!--#echo var="X" -->'
            assert server.get("/files/").status == 403
            missing = server.get(MISSING)
            assert missing.status == 404 and b"<title>Not here</title>" not in missing.body
