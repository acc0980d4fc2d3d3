# SPDX-License-Identifier: Apache-2.0
"""Which look-ups in tables a request makes: by table and key, with who makes them, from a server that tells of them
(lookups.c); and what a look-up costs, by callgrind. A table is named by the line of the source that makes it."""
import collections
import os
import re
import subprocess

import profile_measure as measure
from profile_site import SHAPES, Client, Server, Site

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ASKED = 100  # requests
# Look-ups of a request in all, by shape: what a change may not exceed. Less is a reason to lower them.
BUDGETS = {"full": 22, "worker": 23, "ssi": 35, "http2-full": 30}
MOST_OF_A_KEY = 3  # of one key in one table: who asks a fourth time keeps the answer instead
WRAPPERS = "memory/pool_table.h:"  # what asks is the function around these
CALLS = {"get", "set", "setn", "add", "addn", "merge", "mergen", "unset"}


def telling(program):
    """The same server, which tells of its look-ups."""
    return os.path.join(os.path.dirname(program), "test", "brigade_lookups")


def why_not(program):
    """'' or why look-ups of this program cannot be told apart."""
    return "" if os.path.exists(telling(program)) else "brigade_lookups is not built"


def asking(said):
    """{address: (function, place)} of what addr2line -a -f -i says: the innermost that is written out there, but for the wrapper of a look-up."""
    found = {}
    for part in re.split(r"^0x0*(?=[0-9a-f])", said, flags=re.M)[1:]:
        address, *lines = part.splitlines()
        pairs = list(zip(lines[::2], lines[1::2]))
        found[address] = next((pair for pair in pairs if WRAPPERS not in pair[1]), pairs[-1])
    return found


class Places:
    """Of addresses in the program: the function, and the variable that the line of the source assigns to."""

    def __init__(self, program, addresses):
        addresses = sorted(a for a in addresses if re.fullmatch(r"[0-9a-f]+", a))
        said = subprocess.run(["addr2line", "-a", "-f", "-i", "-e", program], input="\n".join(addresses), capture_output=True, text=True, check=True).stdout
        found = asking(said)
        self.functions = {a: measure.plain_name(name) for a, (name, _) in found.items()}
        self.lines = {a: place for a, (_, place) in found.items()}

    def function(self, place):
        return self.functions.get(place, place)

    def assigned(self, place):
        # Objects may come from a cache of compilations in another folder: the path counts from the room's folder on.
        found = re.search(r"((?:server|modules|filters|memory)/[\w./-]+):(\d+)", self.lines.get(place, ""))
        if not found:
            return self.function(place)
        with open(os.path.join(ROOT, found.group(1)), encoding="utf-8") as f:
            line = f.read().splitlines()[int(found.group(2)) - 1]
        name = re.search(r"(\w+) = apr_table_", line)
        return name.group(1) if name else self.function(place)


def read_lines(text, skipped):
    """Look-ups as (call, place of the table's making, key, caller), and how many of each.
    @param skipped  bytes at the beginning in which tables are made, but look-ups do not count"""
    made, found = {}, collections.Counter()
    at = 0
    for line in text.splitlines(keepends=True):
        call, table, place, *key = line.rstrip("\n").split(" ", 3)
        if call == "make":
            made[table] = place
        elif call in CALLS and at >= skipped:
            found[call, made.get(table, ""), key[0], place] += 1
        at += len(line.encode())
    return found


def record(program, shape):
    with Site() as site, Server(site, telling(program), SHAPES[shape][0], ["env", "BRIGADE_LOOKUPS=@ROOT@/lookups"]) as server:
        client = Client(server, shape)
        client.run(measure.WARM)
        skipped = os.path.getsize(f"{server.root}/lookups")
        client.run(ASKED)
        client.close()
        with open(f"{server.root}/lookups", encoding="utf-8", errors="replace") as f:
            return f.read(), skipped


def measure_shape(program, shape):
    """{(call, table, key, function): look-ups for a request}"""
    found = read_lines(*record(program, shape))
    places = Places(telling(program), {of for key in found for of in (key[1], key[3])})
    named = collections.Counter()
    for (call, table, key, place), n in found.items():
        named[call, places.assigned(table), key, places.function(place)] += n / ASKED
    return named


def by_key(named):
    """{(kind, table, key): look-ups}, kind 'get' or 'put'"""
    keys = collections.Counter()
    for (call, table, key, _), n in named.items():
        keys["get" if call == "get" else "put", table, key] += n
    return keys


def cost(profile):
    """(look-ups, instructions of each with all that is below it) by callgrind"""
    wanted = re.compile(measure.KINDS["table look-ups"])
    edges = [(edge, n) for edge, n in profile.calls.items() if wanted.match(edge[1]) and not wanted.match(edge[0])]
    calls = sum(n for _, n in edges)
    return calls, sum(profile.below[edge] for edge, _ in edges) / calls if calls else 0


def text_of(shape, named, calls, each):
    keys = by_key(named)
    lines = [f"{shape}: {sum(keys.values()):.1f} look-ups in tables for a request; by callgrind {calls:.1f}, {each:.0f} instructions each", ""]
    for (kind, table, key), n in sorted(keys.items(), key=lambda item: (-item[1], item[0])):
        if n >= 0.05:
            who = collections.Counter()
            for (call, of, asked, function), times in named.items():
                if of == table and asked == key and (call == "get") == (kind == "get"):
                    who[function] += times
            lines.append(f"  {n:6.1f}  {kind}  {table + '[' + key + ']':44}  " + ", ".join(f"{name} {times:.1f}" for name, times in who.most_common()))
    return "\n".join(lines) + "\n"


def report(program, shapes):
    profiles = measure.measure(program, shapes)
    return "\n".join(text_of(shape, measure_shape(program, shape), *cost(profiles[shape])) for shape in shapes)
