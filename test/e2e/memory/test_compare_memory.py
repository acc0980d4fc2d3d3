# SPDX-License-Identifier: Apache-2.0
"""`brigade --compare-memory URL...` serves a site with each memory system in turn, and tells what requests cost, also while that site runs."""
import json
import os
import re
import xml.etree.ElementTree

import pytest

import brigade
from memory_site import is_stock

pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="an option of Brigade's"), pytest.mark.default_memory,
              pytest.mark.skipif(is_stock(), reason="built with stock APR pools")]
FILES = {"a.html": "a\n" * 100, "page.shtml": '<!--#include virtual="a.html" -->\n'}
CONFIG = """<Directory @ROOT@/htdocs>
    Options +Includes
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
"""
SYSTEMS = ["as configured", "arena", "trivial", "blocks", "system", "limit(16M) arena", "tracking(quiet) arena", "guard", "jemalloc", "mimalloc"]


def compared(server, *arguments, status=0):
    """{URL: {memory system: microseconds; None where it is not there}}"""
    done = server.run("--compare-memory", "requests=80", "rounds=1", *arguments)
    assert done.returncode == status, done.stderr
    tables = {}
    for line in done.stdout.decode().splitlines():
        head = re.match(r"(\S+): 80 requests", line)
        if head:
            table = tables.setdefault(head.group(1), {})
            continue
        row = re.match(r"(\S.*?) +(?:([\d.]+) +\d+% +[\d.]+ +\d+ +[\d.]+|-)$", line)
        if row and not line.startswith("memory system"):
            assert row.group(1) not in table, done.stdout  # each is told once
            table[row.group(1)] = float(row.group(2)) if row.group(2) else None
    return tables


def test_each_system_serves_the_site_while_it_runs(serve, tmp_path):
    server = serve(CONFIG, FILES)
    picture = tmp_path / "m.svg"
    tables = compared(server, f"svg={picture}", "/a.html", "/page.shtml")
    assert list(tables) == ["/a.html", "/page.shtml"]
    for table in tables.values():
        assert list(table) == SYSTEMS
        assert all(table[name] for name in SYSTEMS if name not in ("jemalloc", "mimalloc")), table
    drawn = xml.etree.ElementTree.parse(picture).getroot()
    bars = [e for e in drawn if e.tag.endswith("rect") and e.get("x")]
    assert len(bars) >= 2 * (len(SYSTEMS) - 2)
    assert server.get("/a.html").status == 200  # it serves as before


def test_another_program_is_a_row(serve):
    server = serve(CONFIG, FILES)
    table = compared(server, f"with={brigade.BINARY}", "/a.html")["/a.html"]
    assert len(table) == len(SYSTEMS) + 1 and list(table.values())[-1] > 0
    assert list(compared(server, "with=/nowhere/brigade", "/a.html")["/a.html"].values())[-1] is None


MODULES = [os.path.join(os.path.dirname(brigade.BINARY), f"modules/sms_{kind}.so") for kind in ("jemalloc", "mimalloc")]


@pytest.mark.skipif(not all(map(os.path.exists, MODULES)), reason="jemalloc and mimalloc are not built")
def test_module_files_are_rows(serve, tmp_path):
    """They make the program begin anew, with the whole command line."""
    load = "".join(f"LoadModule sms_{kind}_module {so}\n" for kind, so in zip(("jemalloc", "mimalloc"), MODULES))
    server = serve(load + CONFIG, FILES)
    page, figures = tmp_path / "m.html", tmp_path / "m.json"
    table = compared(server, f"html={page}", f"json={figures}", "/a.html")["/a.html"]
    assert list(table) == SYSTEMS and all(table.values()), table
    with open(figures, encoding="utf-8") as f:
        found = json.load(f)["urls"]["/a.html"]
    assert {name: round(one["cpu_us"], 2) for name, one in found.items()} == table
    assert all(one["cpu_us_most"] >= one["cpu_us"] > 0 and one["rate"] >= one["rate_least"] > 0 for one in found.values())
    text = page.read_text()
    assert "<svg" in text and "jemalloc" in text and text.endswith("</html>\n")


def test_a_result_may_fail(serve):
    server = serve("MemorySystem request guard\nMemorySystem bucket guard\nMemorySystem connection guard\n" + CONFIG, FILES)
    done = server.run("--compare-memory", "requests=80", "rounds=1", "most=1.2", "/page.shtml")
    assert done.returncode == 1 and b"what is configured costs" in done.stderr, done.stderr
    assert server.run("--compare-memory", "requests=80", "rounds=1", "most=1000", "/page.shtml").returncode == 0


def test_what_cannot_be_compared(serve):
    server = serve(CONFIG, FILES)
    for arguments in ([], ["requests=0", "/a.html"], ["rounds=0", "/a.html"], ["rounds=-1", "/a.html"]):
        done = server.run("--compare-memory", *arguments)
        assert done.returncode == 2 and b"Usage: " in done.stderr
    assert server.run("--compare-memory", "svg=/nowhere/m.svg", "requests=40", "rounds=1", "/a.html").returncode == 2
    assert server.run("-c", "NoSuchDirective", "--compare-memory", "/a.html").returncode == 2
    assert server.run("--compare-memory", "nourl", "requests=40", "rounds=1").returncode == 2
