#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/modules.md: each of Apache's stock modules, and whether its binary loads and works.

  module_table.py RESULTS.xml [docs/modules.md]

RESULTS.xml is what pytest --junit-xml wrote of test/compat/test_stock_modules.py, test_packages.py and
test_loaded_modules.py (build/test: out/test/compat.xml). Rows of packages that are not installed, and tables whose tests
were not run, are taken from the file as it is.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as tree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "test", "compat"), os.path.join(ROOT, "test", "e2e")]
from stock import driver, notes, packages, table  # noqa: E402

HEAD = """# Apache's modules on Brigade

Debian's binaries of Apache 2.4.71's modules. *works*: a configuration with the module's main directives answers the same
requests with the same status, header fields and body on Apache and on Brigade, the module alone and beside the others of
its group (`test/compat/test_stock_modules.py`). This file is written by `build/tools/module_table.py` from the results of
that test.

| module | group | result | remarks |
|---|---|---|---|
"""


PACKAGES = """
## Modules of other projects

As Debian 12 packages them, with the .load and .conf files of the package, compared with Apache in the same way
(`test/compat/test_packages.py`, for those that are installed). *loads*: it was loaded, and pages were served as before.

| module | package | result | remarks |
|---|---|---|---|
"""


MEMORY = """
## Modules and answers in memory

What a module that is loaded as Debian has it, and that nothing is used of, does to answers from memory
(`test/compat/test_loaded_modules.py`). *yes*: they stay there; those that the module's directives ask something of are
made each time, or kept for each kind of request. Modules that Debian enables or that are built in keep none out. For one
answer, `brigade -t -D DUMP_CACHE URL` or `LogLevel debug` says which module kept it out, and why.

What that costs, in instructions of a request for 10 KiB from memory (`test/bench/instructions.py`): 2,589 with what is built
in; 2,562 with 51 modules that people enable on Debian loaded as well, of which nothing is used (0.99 times); 2,770 with all
of Debian's .conf files for them, too (1.07 times: BrowserMatch makes a variant for each kind of User-Agent).

Beside the table: mod_php, with mpm_prefork, keeps out what PHP answers, and nothing else. With mod_qos, which counts and delays
connections, each request runs.

| module | answers stay in memory | why not |
|---|---|---|
"""


def results(path, pattern=r"test_alone\[(\w+?)(-\w+)?\]$"):
    """What the pattern finds -> list of what came of its cases."""
    found = {}
    for case in tree.parse(path).getroot().iter("testcase"):
        match = re.match(pattern, case.get("name"))
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
    names = {f[4:-3] for f in packages.own_files() if f.startswith("mod_")} | set(groups)
    for name in sorted(names):
        worst = next((s for s in ("does not load", "differs", "skipped", "works") if s in states.get(name, ())), "not tried")
        if name.startswith("mpm_"):
            worst = "works" if name == "mpm_prefork" else "refused"
        remarks = ([notes.NOTES[name]] if name in notes.NOTES else []) + (["built in as well"] if name in built_in else [])
        yield f"| {name} | {groups.get(name, '')} | {worst} | {'; '.join(remarks)} |\n"


def package_of(name):
    """The Debian package whose .load file it is."""
    for path in glob.glob("/var/lib/dpkg/info/libapache2-mod-*.list"):
        with open(path) as f:
            if f"/mods-available/{name}.load\n" in f.read():
                return os.path.basename(path)[:-len(".list")]
    return ""


def former_rows(path):
    """Rows of the second table, by module."""
    try:
        with open(path) as f:
            text = f.read().partition(PACKAGES.splitlines()[1])[2].partition(MEMORY.splitlines()[1])[0]
            rows_ = re.findall(r"^\| (\S+) \| .* \|$", text, re.M)
            lines = text.splitlines(True)
    except FileNotFoundError:
        return {}
    return {name: next(line for line in lines if line.startswith(f"| {name} |")) for name in rows_ if name != "module"}


def package_rows(path, former):
    driven, loaded = results(path, r"test_packaged\[([\w.-]+?)\]$"), results(path, r"test_loads\[([\w.-]+)\]$")
    states = {name: [s if s != "works" else "loads" for s in found] for name, found in loaded.items()}
    for case in packages.CASES:
        key = f"{case.module}-{case.name}" if case.name != case.module else case.module
        for name in case.packaged or [packages.LOADED_BY_HAND[case.name]]:
            states.setdefault(name, []).extend(driven.get(key, ["skipped"]))
    rows_ = dict(former)
    for name, found in states.items():
        if set(found) == {"skipped"}:
            continue
        plain = "php" if name == packages.PHP_NAME else name
        worst = next(s for s in ("does not load", "differs", "loads", "works", "skipped") if s in found)
        note = notes.PACKAGED.get(plain, "")
        worst = "loads" if worst == "works" and ("loaded only" in note or "no more" in note) else worst
        rows_[name] = f"| {name} | {package_of(name)} | {worst} | {note} |\n"
    for name in set(packages.available()) - set(states):
        rows_[name] = f"| {name} | {package_of(name)} | not tried | {notes.PACKAGED.get(name, '').replace('not tried: ', '').replace('not tried', '')} |\n"
    return [rows_[name] for name in sorted(rows_)]


def memory_rows(path, former):
    """Rows of modules that were not tried now stay as they are."""
    rows_ = {name: f"| {name} |{rest}\n" for name, rest in re.findall(r"(?m)^\| (\S+) \|(.*)$", former) if name != "module"}
    for case in tree.parse(path).getroot().iter("testcase"):
        name = re.match(r"test_loaded_and_unused\[(.+)\]$", case.get("name"))
        said = [p.get("value") for p in case.iter("property") if p.get("name") == "memory"]
        if name and said:
            reason = said[0].partition("not kept in memory: ")[2]
            rows_[name[1]] = f"| {name[1]} | {'no' if reason else 'yes'} | {reason} |\n"
    return [rows_[name] for name in sorted(rows_)]


def table_as_it_is(path, heading):
    """From that heading to the next one."""
    with open(path) as f:
        found = re.search(rf"(?ms)^{re.escape(heading)}$.*?(?=^## |\Z)", f.read())
    return found[0].rstrip("\n") + "\n" if found else ""


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    to = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "docs/modules.md")
    former = former_rows(to)
    memory = "".join(memory_rows(sys.argv[1], table_as_it_is(to, "## Modules and answers in memory")))
    memory = MEMORY + memory if memory else "\n" + table_as_it_is(to, "## Modules and answers in memory")
    if results(sys.argv[1]):
        text = HEAD + "".join(rows(sys.argv[1])) + PACKAGES + "".join(package_rows(sys.argv[1], former))
    else:
        text = table_as_it_is(to, "# Apache's modules on Brigade") + "\n" + table_as_it_is(to, "## Modules of other projects")
    with open(to, "w") as f:
        f.write(text + memory)


if __name__ == "__main__":
    main()
