#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches for inputs that end a fuzz target, over all targets in turn, for as long as wanted.

    test/fuzz/search.py --hours 8                    all targets, a minute each in turn, 8 hours of CPU in all
    test/fuzz/search.py --hours 1 ssi_lex config     these alone
    test/fuzz/search.py --folder /var/tmp/found      where inputs, findings and the ledger lie (out/fuzz-found)
    test/fuzz/search.py --table                      CPU minutes, executions and findings by target so far

Needs the preset fuzz, built. A search goes on where the last one in its folder ended: FOLDER/TARGET holds the inputs,
FOLDER/findings what ended a target, FOLDER/ledger.json what was spent. The exit status is 1 where there are findings.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", ".."))


def targets():
    return sorted(name[:-2] for name in os.listdir(os.path.join(HERE, "targets")) if name.endswith(".c"))


class Ledger:
    """What was spent and found, kept in a file."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "ledger.json")
        self.rows = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as f:
                self.rows = json.load(f)

    def add(self, target, cpu, executions, found):
        row = self.rows.setdefault(target, {"cpu": 0, "executions": 0, "found": []})
        row["cpu"] += cpu
        row["executions"] += executions
        row["found"] += found
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.rows, f, indent=1)
        os.rename(self.path + ".new", self.path)

    def cpu(self, names):
        return sum(self.rows.get(name, {}).get("cpu", 0) for name in names)

    def found(self, names):
        return [found for name in names for found in self.rows.get(name, {}).get("found", [])]

    def table(self, names):
        print("| Target | CPU minutes | Executions | Findings |\n|---|---|---|---|")
        for name in names:
            row = self.rows.get(name)
            if row:
                print(f"| `{name}` | {row['cpu'] / 60:.0f} | {row['executions']:,} | {len(row['found'])} |")
        print(f"| all | {self.cpu(names) / 60:.0f} | | {len(self.found(names))} |")


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def search(target, seconds, options, ledger):
    """One turn of a target. False: one of its kept inputs ends it, so that further turns would find nothing."""
    corpus, findings = os.path.join(options.folder, target), os.path.join(options.folder, "findings")
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(findings, exist_ok=True)
    kept = [os.path.join(HERE, kind, target) for kind in ("corpus", "regression")]
    before, spent = set(os.listdir(findings)), children_cpu()
    done = subprocess.run([os.path.join(options.binaries, f"fuzz_{target}"), f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0",
                           f"-artifact_prefix={findings}/{target}-", corpus, *filter(os.path.isdir, kept)],
                          env={"ASAN_OPTIONS": "detect_leaks=0", **os.environ}, cwd=options.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode("utf-8", "replace")
    found = sorted(set(os.listdir(findings)) - before)
    executions = re.search(r"number_of_executed_units:\s*(\d+)", said)
    spent = children_cpu() - spent
    ledger.add(target, spent, int(executions[1]) if executions else 0, found)
    if found or done.returncode:
        print(f"{target}: {', '.join(found) or done.returncode}\n{said[-3000:]}", flush=True)
    return not done.returncode or spent > 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=[])
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--turn", type=int, default=60, help="seconds of a target's turn")
    parser.add_argument("--folder", default=os.path.join(TOP, "out", "fuzz-found"))
    parser.add_argument("--binaries", default=os.path.join(TOP, "out", "fuzz", "test"))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.folder, options.binaries = os.path.abspath(options.folder), os.path.abspath(options.binaries)
    os.makedirs(options.folder, exist_ok=True)
    names, ledger = options.targets or targets(), Ledger(options.folder)
    unknown = [name for name in names if not os.path.exists(os.path.join(options.binaries, f"fuzz_{name}"))]
    if options.table:
        return ledger.table(names)
    if unknown:
        parser.error(f"not built: {' '.join(unknown)}")
    end = ledger.cpu(names) + options.hours * 3600
    going = list(names)
    while going and ledger.cpu(names) < end:
        target = min(going, key=lambda name: ledger.cpu([name]))
        if not search(target, options.turn, options, ledger):
            going.remove(target)
    ledger.table(names)
    return 1 if ledger.found(names) else 0


if __name__ == "__main__":
    sys.exit(main())
