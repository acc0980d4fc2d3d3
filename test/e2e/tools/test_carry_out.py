# SPDX-License-Identifier: Apache-2.0
"""Guides are carried out as they stand (carry_out.py): their configurations, their commands, their ports and paths."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from brigade import BINARY, unprivileged_user
import carry_out

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDES = sorted((ROOT / "docs/guides").glob("[0-9]*.md"))
CARRIED_OUT = [path for path in GUIDES if path.stem.split("-", 1)[1] in carry_out.WORLDS]
pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation, and a machine that can have another one inside."""
    build = pathlib.Path(BINARY).resolve().parent
    if not (build / "cmake_install.cmake").exists() or not (build / "manual/html/index.html").exists():
        pytest.skip("not a build folder of CMake with all that is installed")
    if os.geteuid() or subprocess.run(["unshare", "-mnpf", "true"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("namespaces need root")
    assert unprivileged_user()
    folder = tmp_path_factory.mktemp("installed")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, capture_output=True, timeout=120)
    return folder


def carry(prefix, *guides):
    return subprocess.run([sys.executable, "-B", carry_out.__file__, prefix, *guides], capture_output=True, text=True, timeout=500)


@pytest.mark.parametrize("guide", CARRIED_OUT, ids=lambda path: path.stem)
def test_guide(prefix, guide):
    if guide.stem.endswith("php-fpm") and not list(pathlib.Path("/usr/sbin").glob("php-fpm8*")):
        pytest.skip("PHP-FPM is not installed")
    done = carry(prefix, guide)
    assert done.returncode == 0 and re.search(r"[1-9]\d* commands, no fault\n$", done.stdout), done.stdout + done.stderr


def test_numbers():
    """Without a gap, and each once."""
    assert [int(g.name[:2]) for g in GUIDES] == list(range(1, len(GUIDES) + 1))


def test_ten_guides_at_least():
    assert len(CARRIED_OUT) >= 10


@pytest.mark.parametrize("wrong, said", [
    ("```apache\nRedirect /a http://b.example/\n```\n```sh\ncurl -si http://www.example.org/a    # 404 Not Found\n```\n", "has no ['404 Not Found']"),
    ("```apache\nRedirct /a /b\n```\n```sh\ntrue\n```\n", "did you mean 'Redirect'"),
    ("```sh\ntest -e /srv/nothing\n```\n", "ends with 1")])
def test_faults_are_found(prefix, tmp_path, wrong, said):
    guide = tmp_path / "99-wrong.md"
    guide.write_text("# Wrong\n\n" + wrong)
    tmp_path.chmod(0o755)
    done = carry(prefix, guide)
    assert done.returncode == 1 and "a fault" in done.stdout and said in done.stdout, done.stdout + done.stderr


# ---- the words of other servers ----

def words_of_others():
    """(their word, our line): each cell's lines of the tables of the guide."""
    text = (ROOT / "docs/guides/30-from-nginx-or-caddy.md").read_text()
    for row in re.findall(r"^\| `.*$", text, re.M):
        theirs, ours = re.split(r"(?<!\\)\|", row.strip("|"), maxsplit=1)
        for line in re.findall(r"`([A-Z<][^`]* [^`]*)`", ours.replace("\\|", "|")):
            yield theirs.strip(), line


def test_words_of_other_servers(tmp_path):
    """Each line of ours is one that a configuration takes, of the server, of a virtual host or of a folder."""
    lines = sorted(set(line for _, line in words_of_others()))
    assert len(lines) > 50
    conf = tmp_path / "w.conf"
    refused = []
    for line in lines:
        section = re.match(r"<(\w+)", line)
        line += f"\n</{section[1]}>" if section else ""
        tried = [line, f"<Directory /srv>\n{line}\n</Directory>", f"<VirtualHost *:1>\n{line}\n</VirtualHost>"]
        told = []
        for text in tried:
            conf.write_text(f"ServerRoot {tmp_path}\nErrorLog /dev/null\nTypesConfig /dev/null\nPidFile none\nListen 127.0.0.1:1\nServerName m\n{text}\n")
            done = subprocess.run([BINARY, "-t", "-f", conf], capture_output=True, text=True, timeout=60, check=False)
            told.append(done.stderr)
            if done.returncode == 0 or re.search("no certificate configured|not readable|No such file|cannot be opened|does not exist", done.stderr):
                break
        else:
            refused.append((line, told[0]))
    assert refused == []
