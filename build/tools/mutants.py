#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which mistakes do the tests notice?

    build/mutants server/freshness                 30 mutants of a folder, drawn by a seed
    build/mutants --count 100 --seed 7 filters/ssi
    build/mutants --units server/message           unit tests alone: seconds for each
    build/mutants --list server/store              what could be drawn, without a run

A mutant is the source with one operator, constant, condition or call changed. Each is built and tried by what "build/test changed"
would run for its file: unit tests, models and fuzz replays first, then those script tests of test/rooms.txt that pass without it, until one fails. A
mutant that no test notices is printed with its line: a test is missing, or the line does nothing. Lines are drawn among those that the
tests reach (--everywhere: all), as a build with coverage tells. It works in out/mutants, on what is committed, and changes nothing
else. The exit status is 0 if at least --least percent were noticed.
"""
import argparse
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import changed_tests  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
WORK = TOP / "out" / "mutants"
TREE = WORK / "tree"

# What is changed: (name, pattern, replacement). A pattern is looked for in code without comments and texts.
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "++": "--", "--": "++"}
OPERATOR = re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|&&|\|\||<|>|\+|-)(?= [\w(!*&\"'-])")
STEP = re.compile(r"(?<=\w)(\+\+|--)(?=[;)])")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
CONDITION = re.compile(r"\b(if|while) \((?=.*\)(?: \{)?$)")
CALL = re.compile(r"^( +)(?!return|goto|break|continue|BRG_ASSERT)([a-z]\w*\(.*\));$")
SKIPPED = re.compile(r"^\s*(#|\*|/\*|BRG_ASSERT|case |default:|static const|extern |typedef |\})|APLOG|ap_log_|_log_")


def blank(text):
    """Comments and texts made of blanks, so that places stay."""
    def blanks(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blanks, text, flags=re.S)


def mutants_of_line(line, code):
    """(what, the line changed) for each way to change it."""
    def put(match, new):
        return line[:match.start()] + new + line[match.end():]
    for match in OPERATOR.finditer(code):
        yield f"{match.group(1)} to {SWAPS[match.group(1)]}", put(match, SWAPS[match.group(1)])
    for match in STEP.finditer(code):
        yield f"{match.group(1)} to {SWAPS[match.group(1)]}", put(match, SWAPS[match.group(1)])
    for match in NUMBER.finditer(code):
        new = 0 if match.group(1) == "1" else int(match.group(1)) + 1 # two truths are the same
        yield f"{match.group(1)} to {new}", put(match, str(new))
    match = CONDITION.search(code)
    if match:
        close = code.rindex(")")
        yield "condition negated", line[:match.end()] + "!(" + line[match.end():close] + ")" + line[close:]
    match = CALL.match(code)
    if match:
        yield "call left out", line[:match.start(2)] + "(void)0;"


def bodies(code):
    """Numbers of the lines that lie in a function."""
    depth, inside = 0, set()
    for number, line in enumerate(code.split("\n"), 1):
        if depth and not line.startswith("{"):
            inside.add(number)
        depth += line.count("{") - line.count("}")
        if line.startswith(("typedef", "struct", "static const", "enum", "union")) or (depth and line.endswith("= {")):
            inside.discard(number)
    return inside


def mutants_of_file(path, reached):
    text = path.read_text()
    code = blank(text)
    lines, codes, inside = text.split("\n"), code.split("\n"), bodies(code)
    name = str(path.relative_to(TREE))
    for number, (line, clean) in enumerate(zip(lines, codes), 1):
        if number not in inside or SKIPPED.search(line) or (reached is not None and number not in reached.get(name, ())):
            continue
        for what, changed in mutants_of_line(line, clean.rstrip()):
            yield {"file": name, "line": number, "what": what, "before": line, "after": changed}


def run(words, log, seconds, **more):
    """@return the exit status; None: it took too long"""
    with open(log, "a", encoding="utf-8") as out:
        print("+", *words, file=out, flush=True)
        try:
            return subprocess.run(words, stdout=out, stderr=out, timeout=seconds, check=False, **more).returncode
        except subprocess.TimeoutExpired:
            return None


def build(preset, log):
    if not (TREE / "out" / preset / "build.ninja").exists() and run(["cmake", "--preset", preset], log, 300, cwd=TREE):
        sys.exit(f"build/mutants: the configuration of {preset} failed, see {log}")
    return run(["cmake", "--build", "--preset", preset, "-j", str(os.cpu_count() or 2)], log, 1800, cwd=TREE)


def scripts(paths, preset, log, seconds, *more):
    words = [changed_tests_python(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *more, *paths]
    return run(words, log, seconds, cwd=TREE / "test", env={**os.environ, "BRIGADE": str(TREE / "out" / preset / "brigade")})


def changed_tests_python():
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode == 0:
            return python
    sys.exit("build/mutants: there is no python3 with pytest")


def reached_lines(folder, paths, log):
    """{file: lines that ran} by a build with coverage."""
    if build("coverage", log):
        sys.exit(f"build/mutants: the build with coverage failed, see {log}")
    objects = TREE / "out" / "coverage"
    for old in objects.glob("**/*.gcda"):
        old.unlink()
    run(["ctest", "--preset", "coverage", "-j", str(os.cpu_count() or 2)], log, 900, cwd=TREE)
    if paths:
        scripts(paths, "coverage", log, 1800, "--maxfail=1000")
    found = {}
    for data in objects.glob(f"CMakeFiles/brigade_{folder.replace('/', '_')}*.dir/**/*.gcda"):
        done = subprocess.run(["gcov", "--json-format", "--stdout", data.name], cwd=data.parent, capture_output=True, check=False)
        with contextlib.suppress(ValueError):
            text = gzip.decompress(done.stdout) if done.stdout[:2] == b"\x1f\x8b" else done.stdout
            for file in json.loads(text)["files"]:
                path = os.path.normpath(os.path.join(objects, file["file"]))
                lines = {line["line_number"] for line in file["lines"] if line["count"]}
                with contextlib.suppress(ValueError):
                    found.setdefault(str(pathlib.Path(path).relative_to(TREE)), set()).update(lines)
    return found


def noticed_by(mutant, paths, log):
    """What noticed it; "" if nothing did; None if it is no program."""
    path = TREE / mutant["file"]
    text = path.read_text()
    lines = text.split("\n")
    lines[mutant["line"] - 1] = mutant["after"]
    path.write_text("\n".join(lines))
    try:
        if build("dev", log) != 0:
            return None
        if units(log) != 0:
            return "units"
        for test in paths:
            status = scripts([test], "dev", log, 900)
            if status not in (0, 5):
                return test
        return ""
    finally:
        path.write_text(text)


def prepare():
    WORK.mkdir(parents=True, exist_ok=True)
    if not TREE.exists():
        subprocess.run(["git", "-C", str(TOP), "clone", "-q", "--shared", str(TOP), str(TREE)], check=True)
    head = subprocess.run(["git", "-C", str(TOP), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["git", "-C", str(TREE), "checkout", "-q", "--force", "--detach", head], check=True)


def drawn(folder, count, seed, reached):
    found = [m for path in sorted((TREE / folder).glob("**/*.c")) for m in mutants_of_file(path, reached)]
    random.Random(seed).shuffle(found)
    return found[:count] if count else found


def units(log):
    words = ["ctest", "--preset", "dev", "-E", "assert_share|doc_files|manual", "-j", str(os.cpu_count() or 2), "--stop-on-failure", "--timeout", "60"]
    return run(words, log, 600, cwd=TREE)


def report(done):
    right = [m for m in done if m["by"]]
    for m in done:
        if not m["by"]:
            print(f"{m['file']}:{m['line']}: {m['what']}: nobody notices\n    {m['before'].strip()}\n    {m['after'].strip()}")
    share = 100 * len(right) / len(done) if done else 100
    print(f"{len(done)} mutants, {len(right)} noticed ({share:.0f} %), {sum(m['by'] == 'units' for m in right)} of them by unit tests")
    (WORK / "mutants.json").write_text(json.dumps(done, indent=1))
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="of server/, filters/, modules/ or memory")
    parser.add_argument("--count", type=int, default=30, help="mutants (30)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--units", action="store_true", help="unit tests, models and fuzz replays alone")
    parser.add_argument("--everywhere", action="store_true", help="also in lines that no test reaches")
    parser.add_argument("--least", type=int, default=85, metavar="PERCENT")
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args()
    folder, log = wanted.folder.rstrip("/"), WORK / "mutants.log"
    prepare()
    log.write_text("")
    if not (TREE / folder).is_dir():
        sys.exit(f"build/mutants: there is no folder {folder}")
    if wanted.list:
        for m in drawn(folder, 0, wanted.seed, None):
            print(f"{m['file']}:{m['line']}: {m['what']}")
        return 0
    table = changed_tests.rooms((TOP / "test/rooms.txt").read_text())
    paths = [] if wanted.units else changed_tests.selection([f"{folder}/x.c"], table)
    if build("dev", log) or units(log):
        sys.exit(f"build/mutants: the tree does not build, or its unit tests fail without a mutant, see {log}")
    paths = [path for path in paths if (TREE / "test" / path).exists() and scripts([path], "dev", log, 900) in (0, 5)]
    reached = None if wanted.everywhere else reached_lines(folder, paths, log)
    done, began = [], time.monotonic()
    for m in drawn(folder, 0, wanted.seed, reached):
        if len(done) == wanted.count:
            break
        m["by"] = noticed_by(m, paths, log)
        if m["by"] is not None:
            done.append(m)
            print(f"[{time.monotonic() - began:.0f} s] {len(done)}/{wanted.count} {m['file']}:{m['line']} {m['what']}: {m['by'] or 'NOBODY'}",
                  file=sys.stderr, flush=True)
    return 0 if report(done) >= wanted.least else 1


if __name__ == "__main__":
    sys.exit(main())
