# SPDX-License-Identifier: Apache-2.0
"""build/bench measures with the programs that people use, and writes a page; each table of docs/benchmarks.md names the program that makes it."""
import json
import os
import re
import shutil
import subprocess

import pytest

import brigade

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="measures Brigade")]
PROGRAM = re.compile(r"`(?:BRIGADE=\S+ |pytest -s )?((?:test|build)/[\w./-]+|brigade --[a-z-]+|bench_\w+)")
BY_HAND = "No program makes this table"


def bench(*arguments, status=0):
    done = subprocess.run([f"{TOP}/build/bench", *arguments], capture_output=True, text=True, env=os.environ | {"BRIGADE": brigade.BINARY}, timeout=brigade.PATIENCE * 10)
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.mark.skipif(not (shutil.which("wrk") and shutil.which("openssl")), reason="wrk is not installed")
def test_a_page_with_pictures(tmp_path):
    done = bench("-s", "brigade", "-w", "webstone,ab", "--seconds", "1", "--rounds", "1", "--out", str(tmp_path))
    assert "WebStone's mix, 24 clients" in done.stdout
    with open(tmp_path / "results.json", encoding="utf-8") as f:
        results = json.load(f)["results"]
    for row in results.values():
        assert row["brigade"][0]["requests"] > 10 and row["brigade"][0]["cpu"] > 0 and not row["brigade"][0]["errors"]
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 2 and "Brigade/" in page and page.count("<rect") == 2 * len(results)


@pytest.mark.slow
def test_what_files_cost_by_way():
    done = subprocess.run([f"{TOP}/test/bench/large_files.py", "--sizes", "1K,64K", "--bytes", "1M", "--ways", "read,sendfile"], capture_output=True, text=True,
                          env=os.environ | {"BRIGADE": brigade.BINARY}, timeout=brigade.PATIENCE * 10, check=True)
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", done.stdout, re.M)
    assert [row[:2] for row in rows] == [("read", "1K"), ("read", "64K"), ("sendfile", "1K"), ("sendfile", "64K")]
    assert all(int(n) > 0 for row in rows for n in row[2:])


@pytest.mark.skipif(not (shutil.which("wrk") and shutil.which("openssl")), reason="wrk is not installed")
def test_a_table_for_the_document(tmp_path):
    done = bench("-s", "brigade", "-w", "wrk", "--seconds", "1", "--rounds", "1", "--markdown", "--out", str(tmp_path))
    rows = re.findall(r"^\| wrk -c 64, [^|]+ \| [\d.]+ \([\d,]+\) \|$", done.stdout, re.M)
    assert len(rows) == 2 and re.search(r"^\| \| Brigade/[^|]+ \|$", done.stdout, re.M), done.stdout


def test_what_it_does_not_know():
    assert "unknown: iis" in bench("-s", "iis", status=2).stderr
    assert "more than 0" in bench("--rounds", "0", status=2).stderr


def test_tables_name_their_programs():
    with open(f"{TOP}/docs/benchmarks.md", encoding="utf-8") as f:
        sections = re.split(r"^##+ ", f.read(), flags=re.M)[1:]
    for section in sections:
        before = re.split(r"(?:^\|.*\n)+", section, flags=re.M)  # each table
        for text in before[:-1]:
            assert PROGRAM.search(text) or BY_HAND in text, (section.splitlines()[0], text[-200:])
        for name in PROGRAM.findall(section):
            assert not name.startswith(("test/", "build/")) or os.path.exists(f"{TOP}/{name}"), name
