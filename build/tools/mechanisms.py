#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is each mechanism of docs/internals/mechanisms.md noticed when it is broken?

    build/mutants mechanisms               all rows of test/mutations/mechanisms.txt
    build/mutants mechanisms S0-7 S2-20    some of them
    build/mutants mechanisms --table       writes the table of the document from the results, without a run

For each row of the list a change is made to the source that takes the mechanism away, the program is built, and the test that the
document names is run: it has to fail. Before that, the same test has to pass on the tree as it is. It works in out/mutants, on what is
committed. Results are kept in out/mutants/mechanisms.json, so that rows can be run one after the other. The exit status is 0 if the test
of each row failed.
"""
import argparse
import json
import pathlib
import re
import shlex
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mutants_tree as mutants  # noqa: E402

LIST = mutants.TOP / "test" / "mutations" / "mechanisms.txt"
DOCUMENT = mutants.TOP / "docs" / "internals" / "mechanisms.md"
RESULTS = mutants.WORK / "mechanisms.json"
BEGIN, END = "<!-- the table of mutations -->\n", "<!-- its end -->\n"
SECONDS = 900
SETTING = re.compile(r"[A-Z]+_[A-Z]+=")
KINDS = {"unit": "dev", "script": "dev", "release": "release", "bench": "release"}


def read_list(text):
    """[{id, what, test, file, old, new}]; see the head of the list."""
    found = []
    for line in text.split("\n"):
        head = re.match(r"\[(S\d-\d+)\] (.+)$", line)
        if head:
            found.append({"id": head.group(1), "what": head.group(2), "test": "", "file": "", "old": [], "new": []})
        elif line.startswith(("test: ", "file: ")):
            found[-1][line[:4]] = line[6:]
        elif line.startswith("-"):
            found[-1]["old"].append(line[1:])
        elif line.startswith("+"):
            found[-1]["new"].append(line[1:])
        elif line and not line.startswith("#"):
            sys.exit(f"{LIST}: not understood: {line}")
    for row in found:
        row["old"], row["new"] = "\n".join(row["old"]), "\n".join(row["new"])
    return found


def why_not(row, tree):
    """'' or why the row cannot be carried out."""
    path = tree / row["file"]
    if row["test"].split(" ")[0] not in KINDS:
        return f"there is no kind of test {row['test'].split(' ')[0]}"
    if not path.is_file():
        return f"there is no {row['file']}"
    times = path.read_text().count(row["old"])
    return "" if times == 1 and row["old"] != row["new"] else f"{row['file']} has the text {times} times"


def carry_out(test, log):
    """0: it passed; None: it took too long"""
    kind, *words = shlex.split(test)
    if kind == "unit":
        return mutants.run(["ctest", "--preset", "dev", "-R", f"^{words[0]}$", "--no-tests=error", "--timeout", "120"], log, SECONDS, cwd=mutants.TREE)
    if kind == "bench":
        built = mutants.run(["cmake", "--build", "--preset", "release", "--target", words[0]], log, SECONDS, cwd=mutants.TREE)
        return built or mutants.run([str(mutants.TREE / "out" / "release" / "test" / words[0])], log, SECONDS)
    settings = dict(word.split("=", 1) for word in words if SETTING.match(word))
    return mutants.scripts([word for word in words if not SETTING.match(word)], KINDS[kind], log, SECONDS, settings=settings)


def noticed(row, log):
    """True, False, or why it cannot be told."""
    path = mutants.TREE / row["file"]
    text = path.read_text()
    path.write_text(text.replace(row["old"], row["new"]))
    try:
        if mutants.build(KINDS[row["test"].split(" ")[0]], log) != 0:
            return "it is no program"
        return carry_out(row["test"], log) != 0
    finally:
        path.write_text(text)


def passes(test, known, log):
    """Whether the test passes without a mutation, once for all rows that name it."""
    if test not in known:
        known[test] = mutants.build(KINDS[test.split(" ")[0]], log) == 0 and carry_out(test, log) == 0
    return known[test]


def result_of(row, known, log):
    reason = why_not(row, mutants.TREE)
    if reason:
        return reason
    if not passes(row["test"], known, log):
        return "the test fails without the mutation"
    return noticed(row, log)


def in_words(test):
    kind, *words = shlex.split(test)
    if kind in ("unit", "bench"):
        return f"`{words[0]}`"
    shapes = [("shapes " if " " in word else "shape ") + word.split("=")[1].replace(" ", ", ") for word in words if word.startswith("PROFILE_SHAPES=")]
    names = [word for word in words if word not in ("-k", "-m") and not SETTING.match(word)]
    return ", ".join([f"`{names[0].rsplit('/', 1)[-1]}`" + (f": `{' '.join(names[1:])}`" if names[1:] else ""), *shapes])


def table(rows, results):
    seen = sum(results.get(key_of(row)) is True for row in rows)
    lines = [f"{len(rows)} mutations of {len({row['id'] for row in rows})} rows; {seen} of them were noticed when they were carried out.", "", "| | Mutation | File | Test that fails |", "|---|---|---|---|"]
    for row in rows:
        state = results.get(key_of(row), "not run")
        not_seen = "" if state is True else f"**not seen failing** ({state or 'nobody notices'}): "
        lines.append(f"| {row['id']} | {row['what']} | `{row['file']}` | {not_seen}{in_words(row['test'])} |")
    return "\n".join(lines) + "\n"


def key_of(row):
    return f"{row['id']}: {row['what']}"


def put_table(rows, results):
    text = DOCUMENT.read_text()
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    DOCUMENT.write_text(text[:before] + table(rows, results) + text[after:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="writes the table of docs/internals/mechanisms.md")
    parser.add_argument("--missing", action="store_true", help="only rows without a result")
    parser.add_argument("row", nargs="*")
    wanted = parser.parse_args()
    rows = read_list(LIST.read_text())
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if wanted.table:
        put_table(rows, results)
        return 0
    unknown = set(wanted.row) - {row["id"] for row in rows}
    if unknown:
        sys.exit(f"build/mutants: the list has no row {', '.join(sorted(unknown))}")
    mutants.prepare()
    log, known, began, bad = mutants.WORK / "mechanisms.log", {}, time.monotonic(), 0
    for row in rows:
        if (wanted.row and row["id"] not in wanted.row) or (wanted.missing and results.get(key_of(row)) is True):
            continue
        state = result_of(row, known, log)
        bad += state is not True
        results[key_of(row)] = state
        RESULTS.write_text(json.dumps(results, indent=1))
        said = {True: "noticed", False: "NOBODY NOTICES"}.get(state, state)
        print(f"[{time.monotonic() - began:.0f} s] {key_of(row)}: {said}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
