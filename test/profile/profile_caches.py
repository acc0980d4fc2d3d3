# SPDX-License-Identifier: Apache-2.0
"""What a request costs the processor's caches: loads, stores and misses by function, by callgrind's simulation of caches of one size
on every machine; for each memory system, if wanted."""
import collections

from profile_measure import WARM, Dumps, settle
from profile_site import SHAPES, Client, Server, Site

EVENTS = ("Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw")
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"]
SYSTEMS = ("arena", "trivial", "blocks", "system")  # of requests, connections and buckets alike
REQUESTS = 100
LINE = 64
ROWS = (("loads", ("Dr",)), ("stores", ("Dw",)), ("I1 misses", ("I1mr",)), ("D1 load misses", ("D1mr",)), ("D1 store misses", ("D1mw",)),
        ("LL misses", ("ILmr", "DLmr", "DLmw")))


class Caches:
    """Of one shape, for a request: events by function."""

    def __init__(self, costs):
        self.costs = costs

    def sum(self, events):
        return sum(n for (event, _), n in self.costs.items() if event in events)

    def functions(self, events, most):
        found = collections.Counter()
        for (event, name), n in self.costs.items():
            if event in events:
                found[name] += n
        return found.most_common(most)


def configured(system):
    return "".join(f"MemorySystem {scope} {system}\n" for scope in ("request", "connection", "bucket")) if system else ""


def measure(program, shapes, system=None):
    """@return {shape: Caches}. @param system  a memory system; None: what the configuration has without a line"""
    into = {}
    with Site() as site:
        for configuration in sorted({SHAPES[s][0] for s in shapes}):
            with Server(site, program, configuration, ["valgrind", *Dumps.OPTIONS, *CACHES], patience=180, more=configured(system)) as server:
                dumps = Dumps(server, EVENTS)
                for shape in (s for s in shapes if SHAPES[s][0] == configuration):
                    client = Client(server, shape)
                    client.run(WARM)
                    settle(dumps)
                    idle = dumps.mark()[0]
                    client.run(REQUESTS)
                    busy = dumps.mark()[0]
                    client.close()
                    into[shape] = Caches({at: (n - idle.get(at, 0)) / REQUESTS for at, n in busy.items()})
    return into


def traffic(found):
    """Bytes between memory and the last cache, for a request: each miss moves a line."""
    return found.sum(("ILmr", "DLmr", "DLmw")) * LINE


def text_of(shape, found):
    lines = [f"{shape}: {SHAPES[shape][4]}", ""]
    for row, events in ROWS:
        where = ", ".join(f"{name} {n:.1f}" for name, n in found.functions(events, 6) if n >= 0.05)
        lines.append(f"  {row:16} {found.sum(events):9.1f}   {where}")
    lines.append(f"  {'memory traffic':16} {traffic(found):9.0f}   bytes, of lines that the last cache did not have")
    return "\n".join(lines) + "\n"


def table(program, shapes, systems=SYSTEMS):
    """Of all memory systems, as docs/benchmarks.md has it."""
    lines = ["| shape | memory system | " + " | ".join(row for row, _ in ROWS) + " |", "|---|---|" + "---|" * len(ROWS)]
    by_system = {system: measure(program, shapes, system) for system in systems}
    for shape in shapes:
        for system in systems:
            lines.append(f"| {shape} | {system} | " + " | ".join(f"{by_system[system][shape].sum(events):.0f}" for _, events in ROWS) + " |")
    return "\n".join(lines)
