# SPDX-License-Identifier: Apache-2.0
"""Where a request allocates from its pools: callgrind counts each instruction, and the debug information says which of them are the
allocation itself (pool_inline.h), which the compiler writes out at its place in the files of server/. What is a call is one of its callers."""
import collections
import os
import re
import subprocess

from profile_measure import REQUESTS, WARM, Dumps, plain_name, settle, user_share
from profile_site import SHAPES, Client, Server, Site

COUNTED = "head->allocations++"  # the line that each allocation runs once
CALLED = "apr_palloc"


def counted_line(header):
    with open(header, encoding="utf-8") as f:
        return next(n for n, line in enumerate(f, 1) if COUNTED in line)


class Instructions(Dumps):
    """Dumps by instruction: how often those of one line of one file ran, by function."""

    OPTIONS = [*Dumps.OPTIONS, "--dump-instr=yes"]
    reader = staticmethod(lambda *_: ())  # they are read by read_dump()


def read_dump(path, names):
    """Executions of instructions by (function, address); addresses of functions, by name; who calls apr_palloc(), and how often.
    Positions are 'instruction line', each as a difference to the one before where it has a sign or is '*'."""
    found, entries, asked = collections.Counter(), {}, collections.Counter()
    function = callee = None
    at = 0
    called = False

    def name_of(text):
        number, _, name = text.partition(")")
        if name:
            names[number] = name.strip()
        return names[number]

    def moved(field):
        return at if field == "*" else at + int(field, 0) if field[0] in "+-" else int(field, 0)

    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("fn="):
                function = name_of(line[3:].rstrip())
            elif line.startswith("cfn="):
                callee = name_of(line[4:].rstrip())
            elif line.startswith("calls="):
                entries[callee] = moved(line.split()[1])
                asked[plain_name(function)] += int(line[6:].split()[0]) if callee == CALLED else 0
                called = True
            elif line[0] in "+-*0123456789":
                fields = line.split()
                at = moved(fields[0])
                if not called and len(fields) > 2:
                    found[function, at] += int(fields[2])
                called = False
    return found, entries, asked


def in_file(program, costs, entries):
    """The same by the addresses that the program's file has; callgrind has those of what lies in a segment of its own displaced."""
    symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    places = {fields[2]: int(fields[0], 16) for fields in map(str.split, symbols.splitlines()) if len(fields) == 3}
    return {(name, at - entries[name] + places[name]): n for (name, at), n in costs.items() if name in places and name in entries}


def of_files(program, addresses, wanted):
    """Those that the debug information has as the innermost of files whose paths match."""
    said = subprocess.run(["addr2line", "-a", "-i", "-e", program], input="\n".join(map(hex, addresses)), capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    return {int(address, 16) for address, place in zip(lines, lines[1:]) if address.startswith("0x") and wanted.search(place)}


def by_function(found):
    """The line may be more than one instruction: at each place it is the one that ran most often. Places are told apart by their addresses,
    which lie close together in one and far apart between two."""
    places = collections.Counter()
    last = {}
    for (function, address), n in sorted(found.items()):
        before, most = last.get(function, (None, 0))
        if before is not None and address - before < 16:
            places[function] += max(0, n - most)
            most = max(most, n)
        else:
            places[function] += n
            most = n
        last[function] = address, most
    return places


class Run:
    """A shape under callgrind, by instruction: for each of the two states, what ran; and what apr_palloc() was called by."""

    def __init__(self, program, shape):
        configuration = SHAPES[shape][0]
        self.requests = REQUESTS.get(configuration, REQUESTS["full"])
        counts = []
        with Site() as site, Server(site, program, configuration, ["valgrind", *Instructions.OPTIONS], patience=180) as server:
            dumps = Instructions(server)
            client = Client(server, shape)
            client.run(WARM)
            settle(dumps)
            for n in (0, self.requests):
                first = dumps.read
                if n:
                    client.run(n)
                dumps.mark()
                counts.append((first, dumps.read))
            client.close()
            names, entries, read, asked = {}, {}, {}, {}
            for number in range(1, dumps.read + 1):
                read[number], more, asked[number] = read_dump(f"{server.root}/cost.{number}", names)
                entries.update(more)

        def sums(of):
            return (sum((of[n] for n in range(first + 1, last + 1)), collections.Counter()) for first, last in counts)

        self.idle, self.busy = (in_file(program, costs, entries) for costs in sums(read))
        self.asked_idle, self.asked = sums(asked)


def executed(program, shape):
    """{(function, address): executions for a request} of the program's own instructions"""
    run = Run(program, shape)
    return {key: (n - run.idle.get(key, 0)) / run.requests for key, n in run.busy.items() if n > run.idle.get(key, 0)}


def measure(program, shape):
    """{function: allocations of pools in it, for a request}: written out there, or by its calls."""
    wanted = counted_line(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../memory/pool_inline.h"))
    run = Run(program, shape)
    places = of_files(program, sorted({at for _, at in run.busy}), re.compile(rf"pool_inline\.h:{wanted}\b"))
    idle, busy = (by_function({key: n for key, n in costs.items() if key[1] in places}) for costs in (run.idle, run.busy))
    busy.subtract(idle)
    found = collections.Counter()
    for name, n in busy.items():
        found[plain_name(name)] += n
    found.pop(CALLED, None)
    run.asked.subtract(run.asked_idle)
    found.update(run.asked)
    return {name: n / run.requests for name, n in found.items() if n > 0}


def text_of(shape, found):
    lines = [f"{shape}: {sum(found.values()):.1f} allocations from pools for a request, by the function that has them written out, or calls apr_palloc()", ""]
    return "\n".join(lines + [f"  {n:8.1f}  {name}" for name, n in sorted(found.items(), key=lambda c: (-c[1], c[0])) if n >= 0.05]) + "\n"


# What figures and the scoreboard cost, inlined or not.
STATISTICS = re.compile(r"/server/figures/|/loop/loop_figures\.c|/memory/(memory_counts\.c|apr_pools_counts\.c|counter\.h)")
# Of these what runs once a second, and what only a slow request runs: on a machine that is busy, or under valgrind, requests seem to pay for it.
BY_TIME = re.compile(r"figures_sample|figures_add_block|counts_sum_all|memory_counts_sum|brg_memory_figures_get|\w+_second|target_slow|slow_\w+")


def statistics(program, shape):
    """Instructions of a request that are statistics, by function, and all of the program: each counts for the file that its line is of. Work
    by the clock is in neither."""
    found = {key: n for key, n in executed(program, shape).items() if not BY_TIME.fullmatch(plain_name(key[0]))}
    places = of_files(program, sorted({at for _, at in found}), STATISTICS)
    whole = sum(found.values())
    by_name = collections.Counter()
    for (name, at), n in found.items():
        if at in places:
            by_name[plain_name(name)] += n
    return by_name, whole


def statistics_text(program, shape):
    by_name, whole = statistics(program, shape)
    part = sum(by_name.values())
    of_time = part / whole * user_share(program, shape)
    rows = [f"  {n:8.1f}  {name}" for name, n in by_name.most_common(12) if n >= 0.05]
    return "\n".join([f"{shape}: {part:.0f} of {whole:.0f} instructions for a request are statistics, {100 * part / whole:.1f} %; "
                      f"{100 * of_time:.2f} % of its processor time, the kernel's included", "", *rows]) + "\n"
