#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assertions (BRG_ASSERT*) for each 1,000 lines of .c files in the rooms of a folder.

    build/tools/assert_share.py [--least FOLDER=NUMBER]...      default: server, filters, modules, memory

--least fails where a folder with all that is in it has fewer. Lines that are not code count, too.
"""
import argparse
import glob
import os
import re
import sys

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def count(path):
    """(lines, assertions) of a .c file; those in comments and definitions do not count."""
    with open(path) as f:
        text = f.read()
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return text.count("\n"), len(re.findall(r"^\s*BRG_ASSERT\w*\s*\(", code, re.M))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--least", action="append", default=[], metavar="FOLDER=NUMBER", help="fail below this share")
    args = parser.parse_args()
    least = {folder: float(number) for folder, _, number in (entry.partition("=") for entry in args.least)}
    failed = False
    for folder in least or ("server", "filters", "modules", "memory"):
        rooms = {}
        for path in glob.glob(f"{REPOSITORY}/{folder}/**/*.c", recursive=True):
            room = os.path.relpath(os.path.dirname(path), REPOSITORY)
            lines, found = count(path)
            have = rooms.setdefault(room, [0, 0])
            have[0], have[1] = have[0] + lines, have[1] + found
        for room, (lines, found) in sorted(rooms.items()):
            print(f"{1000 * found / lines:6.1f}  {found:4} in {lines:6} lines  {room}")
        lines, found = (sum(numbers) for numbers in zip(*rooms.values()))
        share = 1000 * found / lines
        print(f"{share:6.1f}  {found:4} in {lines:6} lines  {folder} in all")
        if share < least.get(folder, 0):
            print(f"{folder}: fewer than {least[folder]:g} assertions for each 1,000 lines (CONTRIBUTING.md, \"Code\")")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
