#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sweep found, for a failing test, and for a table over all sweeps:

    TEST_LONG=faults TEST_FOLDER=/some/folder python3 -m pytest test/faults
    test/faults/fault_report.py /some/folder
"""
import collections
import json
import os
import sys


def report(name, tried, findings, missed=0):
    """Text of the findings, each place once; kept in $TEST_FOLDER, too."""
    folder = os.environ.get("TEST_FOLDER")
    if folder:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as f:
            json.dump({"name": name, "missed": missed, "tried": [[*key, n] for key, n in sorted(tried.items())],
                       "findings": [list(map(str, found)) for found in findings]}, f)
    lines = [f"{name}: {sum(tried.values())} faults, {missed} not reached, {len(findings)} findings"]
    for (what, call, where), group in by_place(findings).items():
        lines.append(f"{what} {call}, {', '.join(sorted({f'{found[4]}:{found[5]}' for found in group}))}\n    at {where}\n"
                     f"    {group[0][7]}")
    print(lines[0])
    return "\n".join(lines)


def by_place(findings):
    """Findings by what happened, in which call, from where."""
    places = collections.OrderedDict()
    for found in findings:
        where = found[6].split(" [")[0]
        places.setdefault((found[0], f"{found[2]}({found[3]})", where), []).append(found)
    return places


def table(folder):
    """Calls and errors over all sweeps, and every place that did wrong."""
    tried, wrong, findings, missed = collections.Counter(), collections.Counter(), [], 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            data = json.load(f)
        missed += data["missed"]
        for call, kind, fault, n in data["tried"]:
            tried[call, kind, fault] += n
        findings += data["findings"]
    for found in findings:
        wrong[found[2], found[3], found[5]] += 1
    calls = collections.OrderedDict()
    for (call, kind, fault), n in sorted(tried.items()):
        bad = wrong[call, kind, fault]
        calls.setdefault((call, kind), []).append(f"{fault} {n}" + (f" ({bad} bad)" if bad else ""))
    for (call, kind), faults in calls.items():
        print(f"{call}({kind}): {', '.join(faults)}")
    print(f"\n{sum(tried.values())} faults, {missed} not reached, {len(findings)} findings, in these places:\n")
    for (what, call, where), group in sorted(by_place(findings).items()):
        shapes = sorted({found[1] for found in group})
        faults = sorted({f"{found[4]}:{found[5]}" for found in group})
        print(f"{what} {call} {' '.join(faults)[:100]}\n    at {where}\n    {' '.join(shapes)}: {group[0][7][:300]}")


if __name__ == "__main__":
    table(sys.argv[1])
