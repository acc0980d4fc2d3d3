# SPDX-License-Identifier: Apache-2.0
"""docs/mistakes.md: each server that is installed says of each mistake what the table has."""
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

import brigade
from thirty_mistakes import MORE, OF_CADDY

pytestmark = pytest.mark.only("brigade")
TABLE = pathlib.Path(brigade.REPOSITORY) / "docs/mistakes.md"
MODULES = "/usr/lib/apache2/modules"
COMMON = "ServerRoot DIR\nServerName localhost\nPidFile DIR/pid\nErrorLog DIR/error\nListen 127.0.0.1:PORT\nDocumentRoot DIR/htdocs\n"
HEADS = {"Brigade": f"User {brigade.unprivileged_user()}\nTypesConfig /dev/null\nBuiltinModule ssl_module On\n" + COMMON,
         "Apache": "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "alias", "ssl", "dir")) + COMMON}
COMMANDS = {"Brigade": [brigade.BINARY, "-t", "-f"], "Apache": [shutil.which("apache2") or "/usr/sbin/apache2", "-t", "-f"],
            "nginx": [shutil.which("nginx") or "/usr/sbin/nginx", "-t", "-c"],
            "Caddy": ["caddy", "validate", "--adapter", "caddyfile", "--config"]}


def nginx(inner="", beside="", listen="127.0.0.1:PORT"):
    return ("pid DIR/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + beside
            + "\nserver {\nlisten " + listen + ";\nserver_name localhost;\n" + inner + "\n}\n}\n")


def caddy(inner="", site="http://localhost:PORT", options=""):
    return "{\n admin off\n" + options + "}\n" + site + " {\n" + inner + "\n}\n"


VHOST = "<VirtualHost *:PORT>\nServerName a.test\n</VirtualHost>\n"
MISTAKES = {  # the beginning of the row: lines for Brigade and Apache, files for nginx and Caddy
    "`DocumentRot`": ("DocumentRot /srv/www\n", nginx("rot /srv/www;"), caddy("rot * /srv/www")),
    "a section": ("<Directory DIR/htdocs>\nRequire all granted\n", "pid DIR/pid;\nevents {}\nhttp {\nserver { listen 127.0.0.1:PORT;\n}\n",
                  "http://localhost:PORT {\n root * /srv\n"),
    "a folder": ("DocumentRoot DIR/nowhere\n", nginx("root DIR/nowhere;"), caddy("root * DIR/nowhere\nfile_server")),
    "`onn`": ("KeepAlive onn\n", nginx("gzip onn;"), caddy("file_server {\nbrowse onn x\n}")),
    "a time": ("Timeout abc\n", nginx("keepalive_timeout abc;"), caddy(options=" grace_period abc\n")),
    "a certificate": ("SSLEngine on\nSSLCertificateFile DIR/none.pem\n",
                      nginx("ssl_certificate DIR/none.pem; ssl_certificate_key DIR/a.key;", listen="127.0.0.1:PORT ssl"),
                      caddy("tls DIR/none.pem DIR/a.key", "https://localhost:PORT")),
    "the key": ("SSLEngine on\nSSLCertificateFile DIR/a.pem\nSSLCertificateKeyFile DIR/b.key\n",
                nginx("ssl_certificate DIR/a.pem; ssl_certificate_key DIR/b.key;", listen="127.0.0.1:PORT ssl"),
                caddy("tls DIR/a.pem DIR/b.key", "https://localhost:PORT")),
    "`^/(old`": ('RedirectMatch "^/(old" /new\n', nginx("rewrite ^/(old /new;"), caddy("@x path_regexp ^/(old\nredir @x /new")),
    "two virtual hosts": (VHOST + VHOST, nginx("server_name a.test;", "server { listen 127.0.0.1:PORT; server_name a.test; }"),
                          caddy() + "http://localhost:PORT {\n}\n"),
    "a module": (f"LoadModule headrs_module {MODULES}/mod_headrs.so\n", "load_module DIR/ngx_headrs.so;\n" + nginx(),
                 caddy("headrs", options=" order headrs first\n"))}


TEN = list(MISTAKES)
MISTAKES.update((key, (lines, of_nginx, OF_CADDY.get(key))) for key, (lines, of_nginx) in MORE.items())


def rows():
    """{beginning of the mistake: {server: cell}}"""
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    found = {}
    for name, *cells in lines:
        if name == "Mistake":
            continue
        (key,) = [key for key in MISTAKES if name.startswith(key)]
        if cells[1].startswith("the same"):
            cells[1] = cells[0]
        found[key] = dict(zip(lines[0][1:], cells))
    return found


ROWS = rows()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "htdocs").mkdir()
    for name in "ab":
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"], check=True, capture_output=True, timeout=60)
    return folder


def test_each_mistake_has_a_row():
    assert list(ROWS) == list(MISTAKES) and len(MISTAKES) == 40


@pytest.mark.parametrize("mistake", MISTAKES)
def test_none_is_silent_that_another_one_names(mistake):
    """What is said, by refusal or warning, has its words in the cell."""
    others = [cell for server, cell in ROWS[mistake].items() if server != "Brigade"]
    assert "`" in ROWS[mistake]["Brigade"] or not any("`" in cell for cell in others)
    assert mistake in TEN or "`" in ROWS[mistake]["Brigade"]


@pytest.fixture(scope="module")
def taken():
    """A port that another program listens at."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield str(other.getsockname()[1])


@pytest.mark.parametrize("server", COMMANDS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_server_says_so(folder, taken, mistake, server):
    command = COMMANDS[server]
    if not shutil.which(command[0]):
        pytest.skip(f"{server} is not installed")
    lines, of_nginx, of_caddy = MISTAKES[mistake]
    if {"nginx": of_nginx, "Caddy": of_caddy}.get(server, "") is None:
        pytest.skip("it has no such mistake, or is not asked")
    text = {"nginx": of_nginx, "Caddy": of_caddy}.get(server) or HEADS[server] + lines
    conf = folder / f"{server}.conf"
    conf.write_text(text.replace("DIR", str(folder)).replace("PORT", str(brigade.free_port())).replace("MODULES", MODULES).replace("TAKEN", taken))
    done = subprocess.run([*command, conf], capture_output=True, text=True, timeout=120, cwd=folder)
    said = (done.stdout + done.stderr).replace(str(folder), "/srv").replace('\\"', '"').replace("`", "")
    cell = ROWS[mistake][server]
    assert (done.returncode == 0) == cell.startswith("passes"), said
    for words in re.findall(r"`([^`]+)`", cell):
        words = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:...", words)
        pattern = ".*".join(map(re.escape, re.split(r" ?\.\.\. ?", words)))
        assert re.search(pattern, said, re.S), (words, said)
