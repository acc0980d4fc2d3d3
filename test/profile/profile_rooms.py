# SPDX-License-Identifier: Apache-2.0
"""How often a request goes from one room to another: calls of a function whose file lies in another folder, by callgrind. A program that
was built without optimisation (out/dev/brigade) has all calls that the code has."""
import collections
import re

import profile_measure
from profile_measure import WARM, Dumps, settle
from profile_site import ANEW, SHAPES, Client, Server, Site

REQUESTS = 50
FLOWS = ("log", "http2", "worker", "full", "proxied", "hit")
ROOM = re.compile(r"(?:^|/)((?:server|modules|filters)/\w+|memory)/\w+\.c$")


def read_rooms(path, names, events=None):
    """Calls between rooms by (caller's room, callee's room, callee). Functions of headers belong to whom they are inlined into."""
    files, functions, calls = names.setdefault("files", {}), names.setdefault("functions", {}), collections.Counter()
    here = there = callee = None

    def name_of(table, text):
        number, _, name = text.rstrip().partition(")")
        if name:
            table[number] = name.strip()
        return table[number]

    def room_of(text):
        found = ROOM.search(name_of(files, text))
        return found.group(1) if found else None

    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("fl="):
                here = there = room_of(line[3:])
            elif line.startswith(("fi=", "fe=")):
                room_of(line[3:])
            elif line.startswith(("cfi=", "cfl=")):
                there = room_of(line[4:])
            elif line.startswith("fn="):
                name_of(functions, line[3:])
            elif line.startswith("cfn="):
                callee = profile_measure.plain_name(name_of(functions, line[4:]))
            elif line.startswith("calls="):
                if here and there and here != there:
                    calls[here, there, callee] += int(line[6:].split()[0])
                there = here
    return calls, collections.Counter()


class Rooms(Dumps):
    def mark(self):
        kept, profile_measure.read_callgrind = profile_measure.read_callgrind, read_rooms
        try:
            return super().mark()[0]
        finally:
            profile_measure.read_callgrind = kept


def measure(program, shapes):
    """@return {shape: calls between rooms, for a request}"""
    into = {}
    with Site() as site:
        for configuration in sorted({SHAPES[s][0] for s in shapes}):
            with Server(site, program, configuration, ["valgrind", *Dumps.OPTIONS], patience=180) as server:
                dumps = Rooms(server)
                for shape in (s for s in shapes if SHAPES[s][0] == configuration and s not in ANEW):
                    client = Client(server, shape)
                    client.run(WARM)
                    settle(dumps)
                    idle = dumps.mark()
                    client.run(REQUESTS)
                    busy = dumps.mark()
                    client.close()
                    into[shape] = {at: n for at in busy if (n := (busy[at] - idle.get(at, 0)) / REQUESTS) >= 0.5}
    return into


def text_of(shape, calls):
    ways = collections.Counter()
    for (here, there, _), n in calls.items():
        ways[here, there] += n
    lines = [f"{shape}: {SHAPES[shape][4]}", f"  calls into another room {sum(ways.values()):.0f}, rooms {len({room for way in ways for room in way})}"]
    return "\n".join(lines + [f"  {n:6.0f} {here} to {there}" for (here, there), n in ways.most_common(12)]) + "\n"
