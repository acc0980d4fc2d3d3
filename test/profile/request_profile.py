#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a request costs, by shape: system calls, instructions by function, allocations and copied bytes by call site.

    build/profile                       all shapes: text on standard output, out/profile/*.txt and *.svg
    build/profile stored full           some of them
    build/profile --copies              copied bytes by call site, too (valgrind's dhat; some seconds for each shape)
    build/profile --other OLD/brigade   beside another program: which functions grew and shrank
    build/profile --sites full          call sites of allocations from pools, those included that the compiler wrote out at their place
    build/profile --lookups full ssi    look-ups in tables by table and key, with who makes them, and what each costs
    build/profile --perf stored full    stalls, misses and memory traffic as the processor counts them, where its counters can be read
    build/profile --statistics stored   what figures and the scoreboard cost
    build/profile --trend               what each commit that changed golden.json did to requests: before and after
    build/profile --caches full ssi     loads, stores and misses of the processor's caches by function, in caches of one size on every machine
    build/profile --caches --systems full   the same by memory system, as a table
    build/profile --traffic             bytes that a request moves through memory, the kernel's copies included, and at which rate
    BRIGADE=out/dev/brigade build/profile --rooms   calls from one room into another
    build/profile --times               the kernel's share of the processor time, too (a second for each shape)
    build/profile --renew               write test/profile/golden.json and build/cmake/hot_functions.ld anew

out/profile/SHAPE.graph has the call graph: for each function its callers and what it calls, with calls and instructions of each.

Instructions are counted by callgrind, exactly: BRIGADE (out/release/brigade) is the program. build/test fails when a shape
costs 2 % more instructions than golden.json says, or one system call, allocation or copy more, and names the function that grew. A change that
means to cost more, or that costs less, renews the file in the same commit.

Instructions are compared one to one where compiler and variants of libc's functions for this processor are those of the file, those of TLS where OpenSSL is, too.
Elsewhere the instructions of the program's own functions are, and as ratios: another compiler makes all shapes dearer or cheaper by about
the same factor, so a shape has grown whose factor is 10 % above the others' (3 % where only the processor differs). System calls are
compared everywhere, and so are allocations, locks and the like, but for the copies that a compiler may write out.
"""
import argparse
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import profile_caches as caches  # noqa: E402
import profile_graph as graph  # noqa: E402
import profile_lookups as lookups  # noqa: E402
import profile_measure as measure  # noqa: E402
import profile_order as order  # noqa: E402
import profile_perf as perf  # noqa: E402
import profile_rooms as rooms  # noqa: E402
import profile_sites as sites  # noqa: E402
import profile_traffic as traffic  # noqa: E402
import profile_trend  # noqa: E402
from profile_site import SHAPES  # noqa: E402

GOLDEN = os.path.join(HERE, "golden.json")
OUT = os.path.join(HERE, "..", "..", "out", "profile")
TOLERANCE = 0.02
# A line of the log is handed to another thread, which takes one or several at a time; what a signature takes depends on its numbers.
TOLERANCES = {"log": 0.06, "squid": 0.06, "connection": 0.06, "http3-connection": 0.06}
# Of another processor, whose effect on functions of our own is below 1 %; and of another compiler (gcc and clang are 6 % apart):
# a shape against the others, and all of them together.
ELSEWHERE, ELSEWHERE_ALL = 0.03, 0.03
OTHER_COMPILER, OTHER_COMPILER_ALL = 0.10, 0.35
ELSEWHERE_CALLS = {"memcpy"}  # not compared there: the compiler decides which copies are calls
KEPT = 5  # functions with fewer instructions per request are not in the file


def as_golden(profiles, signature):
    return {"signature": signature,
            "shapes": {shape: {"status": p.status, "instructions": round(p.instructions), "own": round(p.own), "system calls": dict(sorted(p.system_calls.items())), "taken": p.taken,
                               "calls": {kind: round(sum(p.calls_of(kind).values()), 1) for kind in measure.KINDS},
                               "functions": {name: round(n) for name, n in sorted(p.functions.items()) if n >= KEPT}}
                       for shape, p in profiles.items()}}


def load_golden():
    with open(GOLDEN, encoding="utf-8") as f:
        return json.load(f)


def same_signature(golden, signature):
    """'' or what differs. OpenSSL is the last, since it matters least."""
    def other(*keys):
        return [f"{key}: {signature[key]}, the file has {golden['signature'][key]}" for key in keys if golden["signature"][key] != signature[key]]
    if other("machine", "compiler"):
        return other("machine", "compiler")[0]
    # __memcpy_avx_unaligned_erms: which of memcpy's variants this processor gets.
    old, new = ({name.split("_")[2]: name for name in s["variants"]} for s in (golden["signature"], signature))
    others = [f"{new[name]}, the file has {old[name]}" for name in sorted(set(old) & set(new)) if old[name] != new[name]]
    return f"processor: {others[0]}" if others else "".join(other("openssl"))


def uses_openssl(shape):
    return SHAPES[shape][1] in ("tls", "http3")


def grown(old, new):
    """(function, before, after), the one that grew most first."""
    names = set(old) | {n for n, cost in new.items() if cost >= KEPT}
    changes = [(n, old.get(n, 0), new.get(n, 0)) for n in names]
    return sorted((c for c in changes if c[2] > c[1] + 1), key=lambda c: c[1] - c[2])


def more_system_calls(golden, profiles):
    findings = []
    for shape, p in profiles.items():
        old = golden["shapes"].get(shape)
        if not old:
            findings.append(f"{shape}: not in golden.json")
            continue
        if p.status != old["status"]:
            findings.append(f"{shape}: status {p.status}, was {old['status']}")
        for call, n in sorted(p.system_calls.items()):
            if n > old["system calls"].get(call, 0):
                findings.append(f"{shape}: {n} calls of {call} for a request, were {old['system calls'].get(call, 0)}")
    return findings


def more_instructions(golden, profiles):
    findings = []
    for shape, p in profiles.items():
        old = golden["shapes"].get(shape)
        if not old or p.instructions <= old["instructions"] * (1 + TOLERANCES.get(shape, TOLERANCE)):
            continue
        lines = [f"    {name}: {after:.0f}, was {before:.0f}" for name, before, after in grown(old["functions"], p.functions)[:6]]
        findings.append(f"{shape}: {p.instructions:.0f} instructions, were {old['instructions']} "
                        f"({100 * (p.instructions / old['instructions'] - 1):+.1f} %)\n" + "\n".join(lines))
    return findings


def own_ratios(golden, profiles):
    """{shape: own instructions as a multiple of the file's}"""
    shapes = golden["shapes"]
    return {shape: p.own / shapes[shape]["own"] for shape, p in profiles.items() if p.own and shapes.get(shape, {}).get("own")}


def more_than_others(golden, profiles, other_compiler):
    """Where instructions cannot be compared one to one. The environment's factor is that of the configuration that grew least: what all
    stored shapes, or all full ones, have in common cannot grow unseen. A configuration has several shapes: the one in the middle counts."""
    ratios = own_ratios(golden, profiles)
    middles = [statistics.median(of) for of in ([r for shape, r in ratios.items() if SHAPES[shape][0] == c] for c in measure.REQUESTS) if of]
    if len(middles) < len(measure.REQUESTS):
        return ["shapes of each configuration are needed for a comparison with another environment's golden.json"]
    factor = min(middles)
    findings = []
    apart, apart_all = (OTHER_COMPILER, OTHER_COMPILER_ALL) if other_compiler else (ELSEWHERE, ELSEWHERE_ALL)
    if factor > 1 + apart_all:
        findings.append(f"all shapes: {factor:.2f} times the instructions of golden.json, more than the environment explains")
    for shape, ratio in ratios.items():
        if ratio / factor > 1 + max(apart, TOLERANCES.get(shape, 0)):
            lines = [f"    {name}: {after:.0f}, was {before:.0f}, of which {before * factor:.0f} were expected here"
                     for name, before, after in grown({n: c for n, c in golden["shapes"][shape]["functions"].items() if n in profiles[shape].own_names},
                                                      {n: c for n, c in profiles[shape].functions.items() if n in profiles[shape].own_names})[:6]]
            findings.append(f"{shape}: {profiles[shape].own:.0f} instructions in functions of our own, {golden['shapes'][shape]['own'] * factor:.0f} would be in "
                            f"proportion to the other shapes ({100 * (ratio / factor - 1):+.1f} %)\n" + "\n".join(lines))
    return findings


def more_taken(golden, profiles):
    """Of its pool: one allocation more, or 2 % more bytes, on any machine."""
    findings = []
    for shape, p in profiles.items():
        old = golden["shapes"].get(shape, {}).get("taken", {})
        for kind, most in (("allocations", 0), ("bytes", TOLERANCE), ("zeroed", TOLERANCE)):
            if p.taken.get(kind, 0) > old.get(kind, p.taken.get(kind, 0)) * (1 + most):
                findings.append(f"{shape}: {p.taken[kind]} {kind} of a request's pool, were {old[kind]}")
    return findings


def more(golden, profiles, differs):
    """All but the system calls. @param differs  of same_signature()"""
    if differs.startswith("openssl"):  # nothing else calls it
        profiles, differs = {shape: p for shape, p in profiles.items() if not uses_openssl(shape)}, ""
    if not differs:
        return more_instructions(golden, profiles) + more_calls(golden, profiles)
    return more_than_others(golden, profiles, differs.startswith(("compiler", "machine"))) + more_calls(golden, {shape: p for shape, p in profiles.items() if not uses_openssl(shape)}, ELSEWHERE_CALLS)


def more_calls(golden, profiles, without=frozenset()):
    """Of allocations, clock reads, copies: one more for a request."""
    findings = []
    for shape, p in profiles.items():
        old = golden["shapes"].get(shape, {}).get("calls", {})
        if shape in TOLERANCES:
            continue
        for kind, before in ((k, n) for k, n in old.items() if k not in without):
            sites = p.calls_of(kind)
            if sum(sites.values()) >= before + 0.5:
                where = ", ".join(f"{name} {n:.1f}" for name, n in ranked(sites, 5))
                findings.append(f"{shape}: {sum(sites.values()):.1f} {kind} for a request, were {before}: {where}")
    return findings


# -- the report -----------------------------------------------------------------------------------------------


def ranked(counter, most):
    return [(name, n) for name, n in sorted(counter.items(), key=lambda item: -item[1]) if n >= 0.05][:most]


def text_of(shape, p, other=None, copies=None):
    lines = [f"{shape}: {SHAPES[shape][4]} ({p.status})", "",
             f"  instructions {p.instructions:10.0f}" + (f"   other {other.instructions:.0f}, {p.instructions / other.instructions:.4f}" if other else ""),
             *(f"  {kind:12} {n:10}   of the request's pool" for kind, n in p.taken.items()),
             "  system calls " + (", ".join(f"{n} {call}" for call, n in sorted(p.system_calls.items())) or "none"), ""]
    for kind in measure.KINDS:
        sites = p.calls_of(kind)
        where = ", ".join(f"{name} {n:.1f}" for name, n in ranked(sites, 8))
        lines.append(f"  {kind:15} {sum(sites.values()):7.1f}   {where}")
    lines += ["", "  instructions of      own    share   sum"]
    total = 0
    for name, n in ranked(p.functions, 40):
        total += n
        lines.append(f"  {name[:44]:44} {n:9.0f} {100 * n / p.instructions:6.1f} % {100 * total / p.instructions:6.1f} %")
    if other:
        changes = sorted(((p.functions.get(n, 0) - other.functions.get(n, 0), n) for n in set(p.functions) | set(other.functions)), key=lambda c: -abs(c[0]))
        lines += ["", "  more and less than the other:"] + [f"  {d:+9.0f} {n}" for d, n in changes[:20] if abs(d) >= 2]
    if copies is not None:
        lines += ["", f"  copied bytes {sum(copies.values()):10.0f}"] + [f"  {n:9.0f} {site}" for site, n in ranked(copies, 20)]
    return "\n".join(lines) + "\n"


def svg_of(profiles):
    """For each shape a bar of its functions, in proportion, and how much of all the largest so many are."""
    rows, width, left = [], 900, 110
    y = 30
    for shape, p in profiles.items():
        rows.append(f'<text x="4" y="{y + 15}">{shape}</text><text x="{left + width + 8}" y="{y + 15}">{p.instructions:.0f} instructions, '
                    f'{sum(p.system_calls.values())} system calls</text>')
        x = left
        for i, (name, n) in enumerate(ranked(p.functions, 60)):
            w = width * n / p.instructions
            rows.append(f'<rect x="{x:.1f}" y="{y}" width="{max(w - 0.5, 0.2):.1f}" height="20" fill="hsl({i * 47 % 360},55%,70%)">'
                        f'<title>{name}: {n:.0f}, {100 * n / p.instructions:.1f} %</title></rect>')
            if w > 7 * len(name):
                rows.append(f'<text x="{x + 3:.1f}" y="{y + 14}" font-size="10">{name}</text>')
            x += w
        y += 32
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 260}" height="{y + 10}" font-family="sans-serif" font-size="12">'
            f'<rect width="100%" height="100%" fill="#fff"/><text x="{left}" y="18">Instructions of a request by function; the largest first</text>'
            + "".join(rows) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--caches", action="store_true")
    parser.add_argument("--systems", action="store_true")
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--lookups", action="store_true")
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("--statistics", action="store_true")
    parser.add_argument("--rooms", action="store_true")
    parser.add_argument("--traffic", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--trend", action="store_true")
    parser.add_argument("--other")
    parser.add_argument("--out", default=OUT)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(SHAPES))
    arguments = parser.parse_args()
    if arguments.trend:
        print(profile_trend.trend())
        return
    unknown = [s for s in arguments.shapes if s not in SHAPES]
    if unknown:
        parser.error(f"no shape {', '.join(unknown)}: there are {', '.join(SHAPES)}")
    if measure.missing_tools():
        sys.exit(f"not installed: {', '.join(measure.missing_tools())}")
    program = os.path.abspath(os.environ.get("BRIGADE", os.path.join(HERE, "..", "..", "out", "release", "brigade")))
    if arguments.caches:
        shapes = arguments.shapes or [s for s in SHAPES if not uses_openssl(s)]
        print(caches.table(program, shapes) if arguments.systems else "\n".join(caches.text_of(s, c) for s, c in caches.measure(program, shapes).items()))
        return
    if arguments.perf:
        why_not = perf.supported()
        print("\n".join(perf.text_of(shape, perf.measure(program, shape)) for shape in arguments.shapes or ["stored", "full", "ssi"]) if not why_not else why_not)
        sys.exit(1 if why_not else 0)
    if arguments.statistics:
        for shape in arguments.shapes or ["stored", "full", "worker"]:
            print(sites.statistics_text(program, shape), flush=True)
        return
    if arguments.traffic:
        found = traffic.measure(program, arguments.shapes or [*traffic.BUDGETS, "full-large", "proxied", "ssi"])
        print("\n".join([traffic.table(found), *traffic.more(found)]))
        sys.exit(1 if traffic.more(found) else 0)
    if arguments.sites:
        for shape in arguments.shapes or ["full", "ssi"]:
            print(sites.text_of(shape, sites.measure(program, shape)), flush=True)
        return
    if arguments.lookups:
        why_not = lookups.why_not(program)
        print(why_not or lookups.report(program, arguments.shapes or list(lookups.BUDGETS)))
        return
    if arguments.rooms:
        print("\n".join(rooms.text_of(s, c) for s, c in rooms.measure(program, arguments.shapes or rooms.FLOWS).items()))
        return
    profiles = measure.measure(program, arguments.shapes)
    others = measure.measure(os.path.abspath(arguments.other), arguments.shapes) if arguments.other else {}
    os.makedirs(arguments.out, exist_ok=True)
    for shape, p in profiles.items():
        copies = measure.copied_bytes(program, shape) if arguments.copies else None
        text = text_of(shape, p, others.get(shape), copies)
        if arguments.times:
            text += f"\n  of the processor time {100 * (1 - measure.user_share(program, shape)):.0f} % are the kernel's\n"
        print(text, flush=True)
        with open(os.path.join(arguments.out, f"{shape}.txt"), "w", encoding="utf-8") as f:
            f.write(text)
        with open(os.path.join(arguments.out, f"{shape}.graph"), "w", encoding="utf-8") as f:
            f.write(graph.text_of(shape, p))
    with open(os.path.join(arguments.out, "profile.svg"), "w", encoding="utf-8") as f:
        f.write(svg_of(profiles))
    if arguments.renew:
        golden = as_golden(profiles, measure.signature(program, profiles))
        if arguments.shapes and os.path.exists(GOLDEN):
            golden["shapes"] = {**load_golden()["shapes"], **golden["shapes"]}
        with open(GOLDEN, "w", encoding="utf-8") as f:
            json.dump(golden, f, indent=1, sort_keys=True)
            f.write("\n")
        order.write(golden)
    elif os.path.exists(GOLDEN):
        golden = load_golden()
        differs = same_signature(golden, measure.signature(program, profiles))
        if differs and not differs.startswith("openssl") and arguments.shapes:  # the others are what a shape is compared with
            print("Against golden.json: all shapes are needed; " + differs)
            return
        findings = more_system_calls(golden, profiles) + more_taken(golden, profiles) + more(golden, profiles, differs)
        ratios = "; ratios " + ", ".join(f"{shape} {r:.3f}" for shape, r in own_ratios(golden, profiles).items()) if differs else ""
        print("\n".join(["Against golden.json" + (f" (by proportion; {differs}{ratios})" if differs else "") + ":", *(findings or ["nothing grew"])]))


if __name__ == "__main__":
    main()
