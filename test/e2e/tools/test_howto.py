# SPDX-License-Identifier: Apache-2.0
"""The tables of the how-tos (docs/guides): what they list is there, and does something."""
import pathlib
import re
import shutil
import subprocess

import pytest

from brigade import BINARY, wait_until

HOWTO = pathlib.Path(__file__).resolve().parents[3] / "docs/guides"
pytestmark = pytest.mark.only("brigade")


def section(name, title=""):
    """The text of a how-to below a heading."""
    text = (HOWTO / f"{name}.md").read_text()
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0] if title else text


def first_cells(text):
    return [re.findall(r"`([^`]+)`", row.replace("\\|", "|").split("` |")[0] + "`") for row in text.splitlines() if row.startswith("| `")]


def test_variables_of_expressions(serve):
    """Each is known where a response is made, and those that always have a value have one."""
    names = re.findall(r"\b[A-Z][A-Z0-9_]+[A-Z0-9]\b", section("10-conditions", "Variables").split("and with TLS")[0])
    empty = {"QUERY_STRING", "PATH_INFO", "AUTH_TYPE", "REMOTE_HOST", "REMOTE_USER", "REMOTE_IDENT", "SERVER_ADMIN", "REQUEST_LOG_ID", "CONN_LOG_ID", "SCRIPT_USER", "SCRIPT_GROUP",
             "HANDLER", "CONTEXT_PREFIX", "CONTENT_TYPE"} | {n for n in names if n.startswith("HTTP_") and n != "HTTP_HOST"}
    assert len(names) > 50 and empty <= set(names)
    server = serve("".join(f'Header set X-{name} "expr=[%{{{name}}}]"\n' for name in names), {"a.txt": "a"})
    given = {name.lower(): value for name, value in server.get("/a.txt").headers}
    assert [n for n in names if given[f"x-{n}".lower()] == "[]" and n not in empty] == []


def test_functions_of_expressions(serve):
    names = re.findall(r"`(\w+)`", section("10-conditions", "Functions"))
    assert len(names) > 18
    server = serve("".join(f"Header set X-Is-{name} yes \"expr={name}('/nowhere') == {name}('/nowhere')\"\n" for name in names if name != "ldap"), {"a.txt": "a"})
    answer = str(server.get("/a.txt").headers).lower()
    assert [name for name in names if name != "ldap" and f"x-is-{name}".lower() not in answer] == []


COMPARISONS = ["'a' == 'a' && 'a' != 'b' && 'a' < 'b' && 'a' <= 'a' && 'b' > 'a' && 'b' >= 'b'", "1 -eq 1 && 1 -ne 2 && 1 -lt 2 && 1 -le 1 && 10 -gt 9 && 2 -ge 2 && 1 eq 1",
               "'Aa' =~ /^aa$/i && 'b' !~ m#a#", "'a' in {'a', 'b'}", "-n 'a' && -z '' && -T 'on' && ! -T 'off'", "-R '127.0.0.0/8'", "'192.0.2.1' -ipmatch '192.0.2.0/24'",
               "'abc' -strmatch 'a*' && 'ABC' -strcmatch 'a*' && 'abc' -fnmatch 'a?c'",
               "-e '@ROOT@/htdocs' && -d '@ROOT@/htdocs' && -f '@ROOT@/htdocs/a.txt' && -s '@ROOT@/htdocs/a.txt' && ! -L '@ROOT@/htdocs/a.txt' && ! -x '@ROOT@/htdocs/a.txt'",
               "-U '/a.txt' && ! -U '/closed'", "! false && (true || false)", "'a' . 'b' == 'ab'", "'ab' =~ /(b)/ && $1 == 'b'"]


def test_comparisons_of_expressions(serve):
    """Each of the table's operators stands in one of these, which are true."""
    text = " ".join(COMPARISONS)
    listed = [word for words in first_cells(section("10-conditions", "Comparisons")) for word in words if re.fullmatch(r"-\w+|[=!<>&|]+", word)]
    assert len(listed) > 20 and [word for word in listed if word not in text and word != "-F"] == []
    server = serve("".join(f'Header set X-True-{n} yes "expr={e}"\n' for n, e in enumerate(COMPARISONS)) + "<Location /closed>\nRequire all denied\n</Location>\n", {"a.txt": "a"})
    answer = str(server.get("/a.txt").headers).lower()
    assert [e for n, e in enumerate(COMPARISONS) if f"x-true-{n}'" not in answer] == []


def test_items_of_log_formats(serve):
    """Each item of the table is taken, and none of those that every request has a value for is empty."""
    items = [item for words in first_cells(section("12-log-formats")) for item in words if item.startswith("%")]
    items = [item.replace("FORMAT", "%Y").replace("%{NAME}x", "%{SSL_PROTOCOL}x").replace("NAME", "Host") for item in items]
    empty = {"%l", "%u", "%R", "%X", "%q", "%^FB", "%L", "%{SSL_PROTOCOL}x", "%S", "%{allocs}M", "%{bytes}M", "%{zeroed}M", "%b"} | {i for i in items if "Host}" in i and i != "%{Host}i"}
    empty |= {i for i in items if i.startswith("%{backend-")}
    assert len(items) > 45
    server = serve("".join(f'CustomLog logs/items "{n} {item}"\n' for n, item in enumerate(items)), {"a.txt": "a" * 10})
    server.get("/a.txt", headers=[("Host", "h.example")])
    lines = wait_until(lambda: len(found := server.read("logs/items").decode().splitlines()) == len(items) and found, "a line of each item")
    values = dict(line.split(" ", 1) if " " in line else (line, "") for line in lines)
    assert [item for n, item in enumerate(items) if values[str(n)] in ("", "-", item) and item not in empty] == []


def test_memory_systems_of_the_table(serve):
    text = section("08-memory-systems").split("\n## ")[0]
    lines = re.findall(r"`(MemorySystem [^`]+)`", text) + [f"MemorySystem request {system}" for system in re.findall(r"\| `((?:limit|tracking|guard|fault)[^`]+)`", text)]
    assert len(lines) >= 5
    for line in lines:
        assert serve.unstarted(line + "\n").run("-t").returncode == 0, line


def test_figures_and_settings_of_capacity(serve):
    """What the page tells to look at and to set is there."""
    text = section("06-capacity")
    known = subprocess.run([BINARY, "-L"], capture_output=True, text=True, timeout=60).stdout
    settings = {name for row in text.splitlines() if row.startswith("|") for name in re.findall(r"`([A-Z]\w+)`", row.split("|")[3])}
    assert len(settings) > 10 and [name for name in settings if not re.search(rf"^<?{name}\b", known, re.M)] == []
    server = serve("<Location /m>\nSetHandler metrics\n</Location>\n<Location /s>\nSetHandler server-status\n</Location>\n")
    assert [name for name in re.findall(r"`(brigade_\w+)`", text) if name.encode() not in server.get("/m").body] == []
    assert b"LogLinesLost" in server.get("/s?auto").body


@pytest.mark.skipif(not shutil.which("php-fpm8.2"), reason="php-fpm is not installed")
def test_php_as_the_page_has_it(serve):
    """PHP-FPM answers scripts, what is no script is 404, and other files come from the server."""
    config = re.search(r"```apache \(php\)\n(.*?)```", section("02-php-fpm"), re.S)[1]
    if not all(pathlib.Path(module).exists() for module in re.findall(r"/usr/\S+\.so", config)):
        pytest.skip("apache2 is not installed")
    server = serve.unstarted(config.replace("/run/php/php-fpm.sock", "@ROOT@/fpm.sock"), {"index.php": "<?php echo 6 * 7;", "a.txt": "a"})
    socket = server.path("fpm.sock")
    server.write("fpm.conf", f"[global]\nerror_log={server.root}/fpm.log\n[www]\nlisten={socket}\nlisten.mode=0666\npm=static\npm.max_children=1\nuser=nobody\ngroup=nogroup\n", base="conf")
    fpm = subprocess.Popen(["php-fpm8.2", "-n", "-R", "-F", "-y", server.path("conf/fpm.conf")], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: pathlib.Path(socket).exists(), "PHP-FPM")
        server.start()
        assert server.get("/").body == b"42" and server.get("/index.php").body == b"42"
        assert server.get("/none.php").status == 404 and server.get("/a.txt").body == b"a"
    finally:
        fpm.terminate()
        fpm.wait(20)
