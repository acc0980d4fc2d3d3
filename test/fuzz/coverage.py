#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the files that a fuzz target is for its kept inputs reach, as a table.

    test/fuzz/coverage.py                    all targets, kept inputs (corpus/, regression/)
    test/fuzz/coverage.py ssi_lex config     these alone
    test/fuzz/coverage.py --more FOLDER      with what a search left in FOLDER/TARGET, too
    test/fuzz/coverage.py --lines ssi_lex    the lines that no input reaches

A target says what it is for in a comment ("Covers: FILE ..."). The build lies in out/fuzz-coverage. Needs clang, llvm-cov and
llvm-profdata.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.join(TOP, "out", "fuzz-coverage")


def targets():
    return sorted(name[:-2] for name in os.listdir(os.path.join(HERE, "targets")) if name.endswith(".c"))


def covers(target):
    with open(os.path.join(HERE, "targets", target + ".c"), encoding="utf-8") as f:
        comment = re.search(r"Covers:(.*?)\*/", f.read(), re.DOTALL)
    return re.findall(r"[\w/]+\.c", comment[1]) if comment else []


def build():
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": TOP}
    subprocess.run(["cmake", "--preset", "dev", "-B", BUILD, "-DCMAKE_C_COMPILER=clang", "-DBRIGADE_WERROR=OFF",
                    "-DCMAKE_C_FLAGS=-fprofile-instr-generate -fcoverage-mapping"], **quiet)
    subprocess.run(["cmake", "--build", BUILD, "--target", "fuzz_replay"], **quiet)


def inputs(target, more):
    folders = [os.path.join(HERE, "corpus", target), os.path.join(HERE, "regression", target)]
    folders += [os.path.join(more, target)] if more else []
    return [f for f in folders if os.path.isdir(f)]


def replay(target, more, work):
    """Path of the program and of what it counted."""
    program, raw, profile = os.path.join(BUILD, "test", "fuzz_replay"), os.path.join(work, "raw"), os.path.join(work, target)
    subprocess.run([program, f"fuzz_{target}", *inputs(target, more)], check=True, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "LLVM_PROFILE_FILE": raw})
    subprocess.run(["llvm-profdata", "merge", "-sparse", raw, "-o", profile], check=True)
    os.remove(raw)
    return program, profile


def report(target, program, profile, lines):
    """{kind: per cent}"""
    files = {os.path.join(TOP, name) for name in covers(target)}
    arguments = [program, f"-instr-profile={profile}"]
    data = json.loads(subprocess.run(["llvm-cov", "export", "-summary-only", *arguments], check=True, capture_output=True).stdout)
    found = [f for f in data["data"][0]["files"] if os.path.realpath(f["filename"]) in files]
    assert len(found) == len(files), f"not all of {files} are in {program}"
    if lines:
        text = subprocess.run(["llvm-cov", "show", *arguments, *(f["filename"] for f in found)], check=True, capture_output=True, text=True).stdout
        print(*(line for line in text.splitlines() if line.startswith("/") or re.match(r" *\d+\| +0\|", line)), sep="\n")
    return {kind: 100 * sum(f["summary"][kind]["covered"] for f in found) / max(1, sum(f["summary"][kind]["count"] for f in found))
            for kind in ("functions", "lines", "branches")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--more", metavar="FOLDER")
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    names = options.targets or targets()
    build()
    print("| Target | Inputs | Functions | Lines | Branches | Of |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            if not covers(name):
                sys.exit(f"test/fuzz/targets/{name}.c does not say what it covers")
            totals = report(name, *replay(name, options.more, work), options.lines)
            n = sum(len(os.listdir(folder)) for folder in inputs(name, options.more))
            print(f"| `{name}` | {n} |", *(f"{percent:.0f} % |" for percent in totals.values()),
                  ", ".join(f"`{file}`" for file in covers(name)), "|", flush=True)


if __name__ == "__main__":
    main()
