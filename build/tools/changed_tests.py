#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script tests that can notice a change, for pytest in test/: one path a line, nearest first.

    changed_tests.py [--base REVISION] [FILE ...]

FILE: what changed, relative to the top of the tree; without one, what differs from the base in commits, in the tree and in files that
are new. The base is the revision that was given; or, where the branch has an upstream, where it left that; or else the last commit's
parent. test/rooms.txt has the tests by folder. A test or a file that tests import is noticed by those that use it.
"""
import argparse
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
TESTS = TOP / "test"


def git(*words):
    done = subprocess.run(["git", "-C", str(TOP), *words], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def base_of(revision):
    """The commit that the change begins behind; None: there is only one commit."""
    ways = [["rev-parse", "--verify", "--quiet", revision]] if revision else \
        [["merge-base", "HEAD", "@{upstream}"], ["rev-parse", "--verify", "--quiet", "HEAD~1"]]
    head = git("rev-parse", "HEAD")
    for way in ways:
        found = git(*way)
        if found and (revision or found != head):
            return found[0]
    if revision:
        sys.exit(f"changed_tests.py: there is no revision {revision}")
    return None


def changed_files(revision):
    base = base_of(revision)
    return sorted(set((git("diff", "--name-only", base) if base else []) + git("ls-files", "--others", "--exclude-standard")))


def rooms(text):
    """[(folder, [test, ...])] of rooms.txt."""
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(words[0], words[1:]) for words in lines]


def is_below(file, folder):
    return file == folder or file.startswith(folder + "/")


def users_of(name, seen):
    """Tests that import the module, or that import such as do."""
    found = []
    word = re.compile(rf"^\s*(?:from {name} import|import (?:\w+, )*{name}\b)", re.M)
    for path in sorted(TESTS.glob("**/*.py")):
        if path.stem in seen or not word.search(path.read_text()):
            continue
        if path.name.startswith("test_"):
            found.append(str(path.relative_to(TESTS)))
        else:
            found += users_of(path.stem, seen | {path.stem})
    return found


def tests_of_test(file):
    path = TOP / file
    if path.suffix != ".py" or not path.exists():
        return []
    if path.name.startswith("test_"):
        return [str(path.relative_to(TESTS))]
    return users_of(path.stem, {path.stem})


def tests_of(file, table):
    found = []
    for folder, tests in sorted(table, key=lambda row: -len(row[0])): # the deepest folder first
        if is_below(file, folder):
            found += tests
    return tests_of_test(file) + found if file.startswith("test/") else found


def selection(files, table):
    """Each test once, those that most files ask for and that stand first in their lines before others."""
    place = {}
    for file in files:
        for n, test in enumerate(tests_of(file, table)):
            best, count = place.get(test, (n, 0))
            place[test] = (min(best, n), count + 1)
    chosen = sorted(place, key=lambda test: (place[test][0], -place[test][1], test))
    folders = [test for test in chosen if (TESTS / test).is_dir()]
    return [test for test in chosen if test in folders or not any(is_below(test, folder) for folder in folders)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the revision that the change is held against")
    parser.add_argument("file", nargs="*")
    wanted = parser.parse_args()
    files = wanted.file or changed_files(wanted.base)
    for test in selection(files, rooms((TESTS / "rooms.txt").read_text())):
        if (TESTS / test).exists():
            print(test)


if __name__ == "__main__":
    main()
