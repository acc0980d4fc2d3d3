#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write MODULES.md: each of Apache's stock modules, and whether its binary loads and works.

  module_table.py RESULTS.xml [MODULES.md]

RESULTS.xml is what pytest --junit-xml wrote of test/compat/test_stock_modules.py (build/test: out/test/compat.xml).
"""
import os
import re
import sys
import xml.etree.ElementTree as tree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "test", "compat"), os.path.join(ROOT, "test", "e2e")]
from stock import driver, notes, table  # noqa: E402

HEAD = """# Apache's modules on Brigade

Debian's binaries of Apache 2.4.71's modules. *works*: a configuration with the module's main directives answers the same
requests with the same status, header fields and body on Apache and on Brigade, the module alone and beside the others of
its group (`test/compat/test_stock_modules.py`). This file is written by `build/tools/module_table.py` from the results of
that test.

| module | group | result | remarks |
|---|---|---|---|
"""


def results(path):
    """module -> list of (passed, text) of its cases."""
    found = {}
    for case in tree.parse(path).getroot().iter("testcase"):
        match = re.match(r"test_alone\[(\w+?)(-\w+)?\]$", case.get("name"))
        if not match:
            continue
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        state = "skipped" if case.find("skipped") is not None else "differs" if bad is not None else "works"
        if bad is not None and "did not start" in (bad.get("message") or ""):
            state = "does not load"
        found.setdefault(match[1], []).append(state)
    return found


def rows(path):
    states = results(path)
    groups = {case.module: group for group, cases in table.GROUPS.items() for case in cases}
    built_in = {name[4:-2] for name in driver.built_in() if name.startswith("mod_")}
    names = {f[4:-3] for f in os.listdir(driver.MODULES) if f.startswith("mod_") and f.endswith(".so")} | set(groups)
    for name in sorted(names):
        worst = next((s for s in ("does not load", "differs", "skipped", "works") if s in states.get(name, ())), "not tried")
        if name.startswith("mpm_"):
            worst = "works" if name == "mpm_prefork" else "refused"
        remarks = ([notes.NOTES[name]] if name in notes.NOTES else []) + (["built in as well"] if name in built_in else [])
        yield f"| {name} | {groups.get(name, '')} | {worst} | {'; '.join(remarks)} |\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    to = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "MODULES.md")
    with open(to, "w") as f:
        f.write(HEAD + "".join(rows(sys.argv[1])))


if __name__ == "__main__":
    main()
