# SPDX-License-Identifier: Apache-2.0
"""Add up the JUnit reports in a folder: one line per suite, then "N passed, N failed, N skipped" alone.

    python3 build/tools/sum_results.py FOLDER [passed|failed]

The second argument says what tests count as that failed beside others and passed alone (default: passed). Exit status 1 if anything failed, or nothing ran.
"""
import glob
import os
import sys
import xml.etree.ElementTree as ElementTree


def is_failed(case):
    return case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"


def key(case):
    return case.get("classname"), case.get("name")


def steadied(path):
    """Tests that failed beside others and passed when they were run once more, alone: NAME.again beside NAME.xml."""
    path = os.path.splitext(path)[0] + ".again"
    if not os.path.exists(path):
        return set()
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    return {key(c) for c in cases if c.find("skipped") is None} - {key(c) for c in cases if is_failed(c)}


def count(path, unsteady):
    """(passed, failed, skipped) of one report."""
    passed = failed = skipped = 0
    again = steadied(path)
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if is_failed(case) and key(case) in again:
            print(f"unsteady: {case.get('classname')} {case.get('name')}")
            passed += unsteady == "passed"
            failed += unsteady != "passed"
        elif is_failed(case):
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(folder, unsteady="passed"):
    total = [0, 0, 0]
    for path in sorted(glob.glob(os.path.join(folder, "*.xml"))):
        try:
            counts = count(path, unsteady)
        except ElementTree.ParseError:
            counts = (0, 1, 0)
        name = os.path.splitext(os.path.basename(path))[0]
        print(f"{name:<14} {counts[0]:>5} passed {counts[1]:>4} failed {counts[2]:>4} skipped")
        total = [a + b for a, b in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
