#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which mistakes do the tests notice?

    build/mutants                                  500 mutants of server/ and filters/, drawn by a seed
    build/mutants --count 30 server/freshness      of a folder
    build/mutants --units server/message           unit tests alone
    build/mutants --list server/store              what could be drawn, without a run
    build/mutants --report                         what is known, without a run (--units: of unit tests alone)

A mutant is the source with one operator, constant, condition or call changed. Each is tried by what "build/test changed" would run for
its file: unit tests, models and fuzz replays first, then the script tests of test/rooms.txt, but for those that are slow. One build has
all mutants, each behind a switch that the environment sets. So a first run of each test tells which mutants it reaches, and a mutant
takes the tests that reach it alone, cheap ones first, until one fails (a script test: twice). Of script tests a mutant gets --tests at
most. A mutant that no test notices is printed with its line: a test is missing, or the line does nothing. Mutants that no test reaches
are not counted. Those that change nothing that anybody could see stand in test/mutations/equal.txt, with the reason.

It works in out/mutants, on what is committed. Results are kept there: a run that was ended goes on, and after a commit the mutants that
nobody noticed are tried again (--anew: all). The exit status is 0 if at least --least percent were noticed.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import changed_tests  # noqa: E402
import mutants_source as source  # noqa: E402
import mutants_tree as tree  # noqa: E402
import mutants_try  # noqa: E402

EQUAL = tree.TOP / "test" / "mutations" / "equal.txt"
SWITCH_FILE = "server/base/util_list.c"
NOBODY, UNREACHED, COMPILER, TOGETHER = "", "unreached", "compiler", "switch"
LONG = 8.0  # seconds of a unit test that tries mutants of its own room alone
CHUNK = 40
BATCH = 8  # script tests of a mutant that one run of pytest takes


class State:
    """What is known, in a file: the draw, which test reaches what, and who noticed what."""

    def __init__(self, name):
        self.path = tree.WORK / f"{name}.json"
        self.lock = threading.Lock()
        self.head, self.noticed, self.units, self.scripts, self.mutants, self.built, self.silent = "", {}, {}, {}, [], False, {}
        if self.path.exists():
            self.__dict__.update(json.loads(self.path.read_text()))

    def save(self):
        with self.lock:
            kept = {name: copy.copy(getattr(self, name)) for name in ("head", "noticed", "units", "scripts", "mutants", "built", "silent")}
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(kept))
            part.rename(self.path)


def equal_ones(text):
    """{key: reason}"""
    return {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in text.splitlines() if re.match(r"[0-9a-f]{16} ", line)}


def population(folders, top):
    for folder in folders:
        paths = sorted((top / folder).glob("**/*.c")) if (top / folder).is_dir() else [top / folder]
        for path in paths:
            yield from source.mutants_of_text(str(path.relative_to(top)), path.read_text())


def drawn(folders, count, seed, top):
    """The same mutants for the same seed, as long as their lines are the same."""
    return sorted(population(folders, top), key=lambda m: source.order(m["key"], seed))[:count]


def committed(name):
    """The text of a file of the tree without switches, and {key: Change} of its mutants."""
    text = subprocess.run(["git", "-C", str(tree.TREE), "show", f"HEAD:{name}"], capture_output=True, text=True, check=True).stdout
    return text, {m["key"]: m["change"] for m in source.mutants_of_text(name, text)}


def compiles(mutant, commands):
    """Whether the mutant, written as somebody would by mistake, passes the compiler's warnings."""
    path = tree.TREE / mutant["file"]
    alone = path.with_name(path.stem + f".{mutant['key']}.c")
    text, changes = committed(mutant["file"])
    alone.write_text(source.plain(text, changes[mutant["key"]]))
    words = [str(alone) if word == str(path) else word for word in commands[str(path)]]
    try:
        at = words.index("-o")
        return subprocess.run([*words[:at], *words[at + 2:], "-fsyntax-only"], cwd=tree.TREE / "out" / "dev", capture_output=True, check=False).returncode == 0
    finally:
        alone.unlink()


def compile_commands():
    done = subprocess.run(["ninja", "-C", str(tree.TREE / "out" / "dev"), "-t", "compdb"], capture_output=True, text=True, check=True)
    found = {}
    for row in json.loads(done.stdout):
        if row["file"].endswith(".c") and " -c " in row["command"]:
            found.setdefault(str((tree.TREE / "out" / "dev" / row["file"]).resolve()), [w for w in shlex.split(row["command"]) if not w.endswith("ccache")])
    return found


def write_once(path, text):
    """What is there already keeps its date: no build."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_switches(wanted, names):
    """Each of these sources with its mutants behind switches, beside it; it includes that."""
    files = {name: [] for name in names}
    for m in wanted:
        files[m["file"]].append(m)
    for name, mutants in files.items():
        path = tree.TREE / name
        text, changes = committed(name)
        numbered = [(m["number"], changes[m["key"]]) for m in mutants]
        inner = path.with_suffix(".switched.h")
        write_once(inner, source.HEAD % name + source.switched(text, numbered) + (source.SWITCH if name == SWITCH_FILE else ""))
        write_once(path, f'#include "{inner.name}"\n')


def build_switches(wanted, log):
    """Mutants that the compiler refuses behind a switch go. @return the others"""
    known = {name: committed(name)[1] for name in {m["file"] for m in wanted}}
    names = sorted(known.keys() | {SWITCH_FILE})
    wanted = [m for m in wanted if m["key"] in known[m["file"]]]
    while True:
        write_switches(wanted, names)
        began = log.stat().st_size
        if tree.build("dev", log, "--", "-k", "0") == 0:
            return wanted
        text = log.read_bytes()[began:].decode(errors="replace")
        bad = {(match.group(1), int(match.group(2))) for match in re.finditer(r"^([\w/.]+\.c):(\d+):\d+: error", text, re.M)}
        near = [m for m in wanted if any((m["file"], n) in bad for n in range(m["line"] - 3, m["line"] + 4))]
        refused = near or [m for m in wanted if m["file"] in {file for file, _ in bad}]
        print(f"{len(refused)} mutants do not compile behind a switch", file=sys.stderr)
        if not refused:
            sys.exit(f"build/mutants: the tree does not build, see {log}")
        wanted = [m for m in wanted if m not in refused]


class Round:
    """One run: the mutants that are to be tried, by number, with two tests at a time."""

    def __init__(self, state, mutants, log):
        self.state, self.mutants, self.log, self.began, self.locks = state, mutants, log, time.monotonic(), {}
        self.units, self.scripts = mutants_try.Units("dev"), mutants_try.Scripts("dev")

    def each(self, call, things):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for n, done in enumerate([pool.submit(call, thing) for thing in things]):
                done.result()
                if n % 20 == 0:
                    self.state.save()
        self.state.save()

    def open(self):
        return [m for m in self.mutants if not self.state.noticed.get(m["key"])]

    def tell(self, text):
        print(f"[{time.monotonic() - self.began:.0f} s] {text}", file=sys.stderr, flush=True)

    def say(self, mutant, by):
        with self.state.lock:
            self.state.noticed[mutant["key"]] = by
        self.tell(f"{mutant['file']}:{mutant['line']} {mutant['what']}: {by or 'nobody yet'}")

    def map_units(self):
        def reach(name):
            if name not in self.state.units:
                self.state.units[name] = self.units.reach(name, self.log)
                if not self.state.units[name][0]:
                    self.tell(f"{name} fails without a mutant: it is not asked")
        self.each(reach, self.units.tests)

    def try_units(self, mutants):
        def attempt(mutant):
            room, file = mutant["file"].split("/")[1], pathlib.Path(mutant["file"]).stem
            for _, _, seconds, name in sorted((file not in name, f"_{room}_" not in name, row[1], name) for name, row in self.state.units.items()
                                              if row[0] and mutant["number"] in row[2] and (row[1] < LONG or f"_{room}_" in name)):
                if self.units.notices(name, seconds, mutant["number"], self.log):
                    self.say(mutant, name)
                    return
            self.state.silent[mutant["key"]] = True
        self.each(attempt, [m for m in mutants if m["key"] not in self.state.noticed and m["key"] not in self.state.silent])

    def rows_of(self, file):
        """Which mutants the tests of a file reach; found when it is asked for first."""
        with self.state.lock:
            lock = self.locks.setdefault(file, threading.Lock())
        with lock:
            if file not in self.state.scripts:
                self.state.scripts[file] = self.scripts.reach(file, self.log)
                self.tell(f"{file}: {len(self.state.scripts[file])} tests")
                self.state.save()
            return self.state.scripts[file]

    def try_file(self, mutant, file, most):
        """(who noticed, how many tests of the file were tried, whether one reaches it)"""
        rows = sorted((row[2], row[0]) for row in self.rows_of(file) if row[1] and mutant["number"] in row[3])
        for at in range(0, min(len(rows), most), BATCH):
            batch = rows[at:min(at + BATCH, most)] # the cheap ones first
            by = self.scripts.notices([name for _, name in batch], sum(seconds for seconds, _ in batch), mutant["number"], self.log)
            if by:
                return by, at, True
        return NOBODY, min(len(rows), most), bool(rows)

    def try_scripts(self, mutants, table, most):
        def attempt(mutant):
            reached, left = any(mutant["number"] in row[2] for row in self.state.units.values()), most
            for file in [file for path in changed_tests.selection([mutant["file"]], table) for file in files_of(path)]:
                by, n, is_reached = self.try_file(mutant, file, left)
                reached, left = reached or is_reached, left - n
                if by or left <= 0:
                    break
            else:
                by = NOBODY
            self.say(mutant, by or (NOBODY if reached else UNREACHED))
            self.state.save()
        self.each(attempt, [m for m in mutants if m["key"] not in self.state.noticed])

    def ask_compiler(self):
        commands = compile_commands()
        for m in self.open():
            if str(tree.TREE / m["file"]) in commands and not compiles(m, commands):
                self.say(m, COMPILER)
        self.state.save()


def files_of(path):
    full = tree.TREE / "test" / path
    return [str(file.relative_to(tree.TREE / "test")) for file in sorted(full.glob("**/test_*.py"))] if full.is_dir() else [path] if full.exists() else []


def kind_of(by):
    return "scripts" if "::" in by else by if by in (COMPILER, UNREACHED, TOGETHER) else "units" if by else "nobody"


def of_units(state):
    """Who noticed, of unit tests alone."""
    reached = {number for row in state.units.values() if row[0] for number in row[2]}
    asked = [m for m in state.mutants if m["key"] in state.noticed or m["key"] in state.silent]
    by = {m["key"]: state.noticed.get(m["key"], NOBODY) for m in asked}
    return {m["key"]: by[m["key"]] if kind_of(by[m["key"]]) in ("units", COMPILER, TOGETHER) else NOBODY if m["number"] in reached else UNREACHED
            for m in asked}


def report(state, count, equal, noticed):
    """@return percent that were noticed"""
    known = next((n for n, m in enumerate(state.mutants) if m["key"] not in noticed), len(state.mutants)) # a run that was ended
    counted = [m for m in state.mutants[:known] if noticed[m["key"]] not in (UNREACHED, TOGETHER)][:count]
    rooms = collections.defaultdict(collections.Counter)
    for m in counted:
        kind = kind_of(noticed[m["key"]])
        kind = "equal" if kind == "nobody" and m["key"] in equal else kind
        rooms["/".join(m["file"].split("/")[:2])][kind] += 1
        if kind == "nobody":
            print(f"{m['file']}:{m['line']}: {m['what']}: nobody notices\n    {m['key']} {m['before']}\n    {m['after']}")
    kinds = ("units", "scripts", "compiler", "equal", "nobody")
    print(f"| Room | Drawn | {' | '.join(kind.capitalize() for kind in kinds)} |\n|---|{'---|' * (len(kinds) + 1)}")
    for room, kinds_of in sorted(rooms.items()):
        print(f"| {room} | {kinds_of.total()} | {' | '.join(str(kinds_of[kind]) for kind in kinds)} |")
    total = sum(rooms.values(), collections.Counter())
    real = total.total() - total["equal"]
    share = 100 * (real - total["nobody"]) / real if real else 100
    print(f"| all | {total.total()} | {' | '.join(str(total[kind]) for kind in kinds)} |\n")
    print(f"{real} mutants but for equal ones, {real - total['nobody']} noticed ({share:.1f} %); "
          f"{sum(by == UNREACHED for by in noticed.values())} more are in lines that no test reaches")
    return share


def draw_anew(state, wanted):
    """The draw for what is committed now; what nobody noticed before another commit is open again."""
    tree.prepare()
    state.noticed = {} if wanted.anew else {key: by for key, by in state.noticed.items() if by not in (NOBODY, UNREACHED, TOGETHER)}
    state.head, state.units, state.scripts, state.built, state.silent = tree.head(), {}, {}, False, {}
    state.mutants = drawn(wanted.folders, wanted.count + wanted.count // 5, wanted.seed, tree.TREE)
    for number, m in enumerate(state.mutants, 1):
        m["number"] = number
        del m["change"]
    state.save()


def begin(state, wanted):
    log = tree.WORK / "mutants.log"
    asked = state.noticed.keys() | (state.silent.keys() if wanted.units else set())
    over = all(m["key"] in asked for m in state.mutants) # else it goes on where it was, whatever was committed meanwhile
    if wanted.anew or (over and state.head != tree.head()):
        draw_anew(state, wanted)
        log.write_text("")
    if not state.built:
        open_ones = [m for m in state.mutants if m["key"] not in state.noticed]
        built = {m["key"] for m in build_switches(open_ones, log)}
        state.noticed.update({m["key"]: TOGETHER for m in open_ones if m["key"] not in built})
        state.built = True
        state.save()
    return Round(state, [m for m in state.mutants if state.noticed.get(m["key"]) != TOGETHER], log)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=["server", "filters"], help="folders or files (server filters)")
    parser.add_argument("--count", type=int, default=500, help="mutants (500)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, default=32, help="script tests that a mutant gets (32)")
    parser.add_argument("--units", action="store_true", help="unit tests, models and fuzz replays alone")
    parser.add_argument("--anew", action="store_true", help="forget what is known")
    parser.add_argument("--least", type=int, default=85, metavar="PERCENT")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true")
    wanted = parser.parse_args()
    for folder in wanted.folders:
        if not (tree.TOP / folder).exists():
            sys.exit(f"build/mutants: there is no folder {folder}")
    if wanted.list:
        for m in population(wanted.folders, tree.TOP):
            print(f"{m['key']} {m['file']}:{m['line']}: {m['what']}: {m['after']}")
        return 0
    state = State(f"{'-'.join(folder.strip('/').replace('/', '_') for folder in wanted.folders)}-{wanted.seed}")
    equal = equal_ones(EQUAL.read_text()) if EQUAL.exists() else {}
    if not wanted.report:
        table = changed_tests.rooms((tree.TOP / "test/rooms.txt").read_text())
        this = begin(state, wanted)
        this.map_units()
        for at in range(0, len(this.mutants), CHUNK): # so that a run that is ended knows of the first ones of the draw
            this.try_units(this.mutants[at:at + CHUNK])
            if not wanted.units:
                this.try_scripts(this.mutants[at:at + CHUNK], table, wanted.tests)
        this.ask_compiler()
    return 0 if report(state, wanted.count, equal, of_units(state) if wanted.units else state.noticed) >= wanted.least else 1


if __name__ == "__main__":
    sys.exit(main())
