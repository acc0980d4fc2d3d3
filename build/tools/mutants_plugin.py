# SPDX-License-Identifier: Apache-2.0
"""For pytest, in a tree whose sources have mutants behind switches: which of them does each test reach?

A line of MUTANTS_FOUND for each test: its name, whether it passed, seconds, numbers of mutants that it reached, with what was started for it.
"""
import json
import mmap
import os

import pytest

FOUND = os.environ.get("MUTANTS_FOUND")
reports = {}


def pytest_runtest_logreport(report):
    reports.setdefault(report.nodeid, []).append(report)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    yield
    if not FOUND:
        return
    with open(os.environ["BRIGADE_MUTANT_SEEN"], "r+b") as file, mmap.mmap(file.fileno(), 0) as seen:
        numbers = [n for n, byte in enumerate(seen[:]) if byte]
        seen[:] = bytes(len(seen))
    parts = reports.pop(item.nodeid, [])
    passed = bool(parts) and all(part.outcome == "passed" for part in parts)
    with open(FOUND, "a", encoding="utf-8") as out:
        print(json.dumps([item.nodeid, passed, round(sum(part.duration for part in parts), 2), numbers]), file=out)
