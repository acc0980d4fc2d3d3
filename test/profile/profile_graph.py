# SPDX-License-Identifier: Apache-2.0
"""The call graph of a shape, as text: for each function who calls it, how often and at what cost, itself, and what it calls. The columns
are those of gprof: share of the request with all that is below, instructions of its own, of what it calls, calls."""
import collections

LEAST = 20  # instructions for a request: what costs less, with all below it, has no entry


def entries(profile):
    """[(function, own, below, calls, {caller: (instructions, calls)}, {callee: ...})], the dearest first."""
    callers, callees = collections.defaultdict(dict), collections.defaultdict(dict)
    below, calls = collections.Counter(), collections.Counter()
    for (caller, callee), n in profile.below.items():
        if caller == callee:  # a recursion: its cost is in that of the first call
            continue
        one = (n, profile.calls.get((caller, callee), 0))
        callers[callee][caller] = callees[caller][callee] = one
        below[caller] += n
        calls[callee] += one[1]
    names = set(profile.functions) | set(callers) | set(callees)
    found = [(name, profile.functions.get(name, 0), below[name], calls[name], callers[name], callees[name]) for name in names]
    return sorted((e for e in found if e[1] + e[2] >= LEAST), key=lambda e: (-e[1] - e[2], e[0]))


def line(share, own, under, calls, name):
    return f"{share:>7} {own:10.1f} {under:10.1f} {calls:9.2f}  {name}"


def text_of(shape, profile):
    lines = [f"{shape}: {profile.instructions:.0f} instructions for a request", "", f"{'share':>7} {'own':>10} {'below':>10} {'calls':>9}  function; its callers above, what it calls below", ""]
    for name, own, under, calls, callers, callees in entries(profile):
        lines += [line("", 0, n, times, f"    {who}") for who, (n, times) in sorted(callers.items(), key=lambda c: c[1]) if n >= 0.05]
        lines.append(line(f"{100 * (own + under) / profile.instructions:.1f} %", own, under, calls, name))
        lines += [line("", 0, n, times, f"    {what}") for what, (n, times) in sorted(callees.items(), key=lambda c: -c[1][0]) if n >= 0.05]
        lines.append("")
    return "\n".join(lines)
