# SPDX-License-Identifier: Apache-2.0
"""Requests cost what golden.json says, or less. `build/profile --renew` writes it anew; `build/profile` shows where the cost is."""
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import profile_caches as caches  # noqa: E402
import profile_graph as graph  # noqa: E402
import profile_lookups as lookups  # noqa: E402
import profile_measure as measure  # noqa: E402
import profile_order as order  # noqa: E402
import profile_perf as perf  # noqa: E402
import profile_sites as sites  # noqa: E402
import profile_traffic as traffic  # noqa: E402
import profile_trend as trend  # noqa: E402
import request_profile as profile  # noqa: E402
import train  # noqa: E402

ALWAYS = ("stored", "http2", "full", "ssi", "scan")
PROGRAM = os.path.abspath(os.environ.get("BRIGADE", os.path.join(profile.HERE, "..", "..", "out", "release", "brigade")))


@pytest.fixture(scope="module")
def profiles():
    if measure.missing_tools():
        pytest.skip(f"not installed: {', '.join(measure.missing_tools())}")
    return measure.measure(PROGRAM, os.environ.get("PROFILE_SHAPES", "").split() or shapes_of(os.environ.get("TEST_SHARE")))


def shapes_of(share):
    """Some always, since shapes are compared with others; of the rest those of TEST_SHARE."""
    if not share:
        return None
    which, shares = map(int, share.split("/"))
    rest = [shape for shape in profile.SHAPES if shape not in ALWAYS]
    return [*ALWAYS, *rest[which % shares::shares]]


def check(findings, more=lambda: []):
    assert not findings, "\n".join([*findings, *more(), "If that is meant: build/profile --renew, in the same commit"])


def grown(golden, profiles):
    return profile.more(golden, profiles, "")


def test_system_calls(profiles):
    check(profile.more_system_calls(profile.load_golden(), profiles))


def test_allocations(profiles):
    check(profile.more_taken(profile.load_golden(), profiles))


def test_a_304_is_no_dearer_than_the_file(profiles):
    """On the full way, too: it opens the file, and neither reads nor sends it."""
    if "full-304" not in profiles:
        pytest.skip("not of this share")
    found = profiles
    for _ in range(3):  # what runs once a second may fall into one of them
        if found["full-304"].instructions < found["full"].instructions:
            return
        found = measure.measure(PROGRAM, ["full", "full-304"])
    assert found["full-304"].instructions < found["full"].instructions


def test_a_connection_costs_accept_and_close(profiles):
    """Where a log wants the client's address, too: nothing is asked that accept4() told or the listening socket knows."""
    if "connection" not in profiles:
        pytest.skip("not of this share")
    calls = profiles["connection"].system_calls
    assert calls["accept4"] <= 2 and calls["close"] == 1 and not {"fcntl", "getpeername", "getsockname", "setsockopt"} & set(calls), calls


def test_a_worker_reads_the_clock_once(profiles):
    """At the end of the request; the loop reads it in each of its two turns. It was nine times in all, and three locks: none is left in the way of one request after the other."""
    if "worker" not in profiles:
        pytest.skip("not of this share")
    reads = profiles["worker"].calls_of("clock reads")
    assert round(reads["thread_self_read"]) == 1, reads
    assert sum(n for name, n in reads.items() if name.startswith("worker_") or name in ("loop_request_ended", "score_update")) < 0.5, reads
    assert sum(profiles["worker"].calls_of("locks").values()) < 1.2  # a thread that sits gets its request without one; under valgrind it may have stood up


@pytest.mark.skipif(measure.missing_tools() != [] or not os.path.exists(PROGRAM), reason="not built")
def test_sites_of_all_allocations_are_known(profiles):
    """Those that the compiler wrote out at their place, too: the sum is what the pool itself counted."""
    found = sites.measure(PROGRAM, "full")
    assert abs(sum(found.values()) - profiles["full"].taken["allocations"]) < 1
    assert round(found["apr_table_make"]) >= 7 and round(found["request_create"]) >= 1


def test_look_ups_are_read():
    lines = ["make 0x10 aa ", "get 0x10 bb Host", "make 0x10 cc ", "get 0x10 bb Host", "setn 0x20 dd X-Two Words"]
    text = "\n".join(lines) + "\n"
    said = "0x0000000000001a2b\npool_table_get\n/x/memory/pool_table.h:81\nask_it\n/x/server/a.c:3\nmain\n/x/server/a.c:9\n0x0000000000000030\nplain\n??:0\n"
    assert lookups.asking(said) == {"1a2b": ("ask_it", "/x/server/a.c:3"), "30": ("plain", "??:0")}
    assert lookups.read_lines(text, 0) == {("get", "aa", "Host", "bb"): 1, ("get", "cc", "Host", "bb"): 1, ("setn", "", "X-Two Words", "dd"): 1}
    assert lookups.read_lines(text, text.index("make 0x10 cc")) == {("get", "cc", "Host", "bb"): 1, ("setn", "", "X-Two Words", "dd"): 1}
    named = {("get", "notes", "a", "f"): 1, ("get", "notes", "a", "g"): 2, ("setn", "notes", "a", "f"): 1}
    assert lookups.by_key(named) == {("get", "notes", "a"): 3, ("put", "notes", "a"): 1}
    assert "3.0  get  notes[a]" in lookups.text_of("full", named, 4, 20) and "g 2.0, f 1.0" in lookups.text_of("full", named, 4, 20)


@pytest.mark.skipif(not os.path.exists(PROGRAM) or bool(lookups.why_not(PROGRAM)), reason="not built, or APR is no library of its own")
@pytest.mark.parametrize("shape", lookups.BUDGETS)
def test_few_look_ups(shape):
    """In all tables of a request; none is asked again and again for the same. `build/profile --lookups` names who asks."""
    named = lookups.measure_shape(PROGRAM, shape)
    keys = lookups.by_key(named)
    assert round(keys["get", "headers_in", "Host"]) == 1 and round(keys["put", "headers_out", "Content-Length"]) >= 1
    assert sum(keys.values()) < lookups.BUDGETS[shape] + 0.5, lookups.text_of(shape, named, 0, 0)
    assert not [key for key, n in keys.items() if n > lookups.MOST_OF_A_KEY + 0.5], lookups.text_of(shape, named, 0, 0)
    asking = {function for _, _, _, function in named}
    assert len(asking) > 5 and "pool_table_get" not in asking, asking  # an inlined wrapper asks for nobody


def test_shares_add_up():
    """A curve of the sums: what the first functions cost together."""
    p = measure.Profile()
    p.functions.update({"a": 600, "b": 300, "c": 100})
    rows = re.findall(r"^  ([abc]) +(\d+) +([\d.]+) % +([\d.]+) %$", profile.text_of("stored", p), re.M)
    assert rows == [("a", "600", "60.0", "60.0"), ("b", "300", "30.0", "90.0"), ("c", "100", "10.0", "100.0")]


def test_the_call_graph_is_whole(profiles):
    """What a function costs with all below it is what its callers pay for it."""
    found = {e[0]: e for e in graph.entries(profiles["full"])}
    for name in ("ap_run_handler", "request_create", "ap_directory_walk"):
        _, own, below, calls, callers, _ = found[name]
        assert calls >= 1 and own > 0 and abs(own + below - sum(n for n, _ in callers.values())) < 0.02 * (own + below) + 5
    text = graph.text_of("full", profiles["full"])
    assert re.search(r"^ *[\d.]+ % +[\d.]+ +[\d.]+ +1\.00  request_create$", text, re.M)


def test_instructions(profiles):
    golden = profile.load_golden()
    differs = profile.same_signature(golden, measure.signature(PROGRAM, profiles))
    findings = profile.more(golden, profiles, differs)
    # What runs once a second, or a request that a busy machine made slow, may fall into one shape by chance: what grew is measured again.
    for _ in range(2):
        if not findings:
            return
        again = None if differs and not differs.startswith("openssl") else sorted({f.split(":")[0] for f in findings})
        findings = profile.more(golden, measure.measure(PROGRAM, again), differs)
    check(findings, lambda: [f"Compared by proportion: {differs}"] if differs else [])


def test_the_search_for_tags_is_cheap(profiles):
    """In 2001 it was a quarter of the time of a page, the kernel's included."""
    found = sum(n for name, n in profiles["scan"].functions.items() if name.startswith(("ssi_scan", "ssi_find")))
    kept = [name for name in profiles["ssi"].functions if name.startswith(("ssi_scan", "ssi_find"))] if "ssi" in profiles else []
    assert not kept  # a compiled page is not searched again
    assert 0 < found / profiles["scan"].instructions * measure.user_share(PROGRAM, "scan") < 0.05


@pytest.mark.skipif(measure.missing_tools() != [] or not os.path.exists(PROGRAM), reason="not built")
def test_arenas_spare_the_caches():
    """malloc() for each allocation was the first in loads and the second in stores of 2007."""
    arena, malloc = (caches.measure(PROGRAM, ["full"], system)["full"] for system in ("arena", "system"))
    assert arena.sum(("Dr",)) < malloc.sum(("Dr",)) and arena.sum(("Dw",)) < malloc.sum(("Dw",))
    assert arena.sum(("I1mr", "D1mr", "D1mw")) < malloc.sum(("I1mr", "D1mr", "D1mw"))
    assert not [name for name, _ in arena.functions(("Dr", "Dw"), 12) if name.endswith(("malloc", "free"))]


@pytest.mark.skipif(measure.missing_tools() != [] or not os.path.exists(PROGRAM), reason="not built")
def test_memory_traffic_keeps_to_its_budgets():
    """From end to end: what the kernel copies for a request, too. A rate belongs to it."""
    found = traffic.measure(PROGRAM, ["stored", "full", "large"])
    assert not traffic.more(found), traffic.table(found)
    assert found["stored"][0] > 10240 and found["large"][1] > 60000 and all(rate > 100 for *_, rate in found.values()), found


def test_results_of_calls_are_read():
    text = '7 recvfrom(3, ""..., 4096, 0, NULL, NULL) = 127\n7 writev(3, [...], 2)               = 10445\n7 read(3, ""..., 9) = -1 EAGAIN (x)\n7 <... read resumed>""..., 9) = 5\n'
    assert traffic.read_calls(text) == {"recvfrom": 127, "writev": 10445}
    assert traffic.more({"stored": (11_201, 0, 0, 1)}) and not traffic.more({"stored": (11_200, 0, 0, 1), "scan": (1 << 30, 0, 0, 1)})


def test_counters_of_the_processor_are_read():
    """As perf stat -x, writes them, with those that the processor does not have."""
    text = "1000000,,instructions:u,1000,100.00,,\n<not supported>,,stalled-cycles-frontend:u,0,100.00,,\n500000,,cycles:u,1000,100.00,,\n640,,cache-misses:u,1000,100.00,,\n"
    counts = perf.read_counts(text)
    assert counts == {"instructions": 1000000, "cycles": 500000, "cache-misses": 640}
    assert "40960 bytes" in perf.text_of("stored", counts) and "front end" not in perf.text_of("stored", counts)
    counts["stalled-cycles-frontend"] = 100000
    assert "20.0 % of the cycles" in perf.text_of("stored", counts)


@pytest.mark.skipif(bool(perf.supported()) or not os.path.exists(PROGRAM), reason="no counters, or not built")
def test_the_front_end_seldom_stalls():
    counts = perf.measure(PROGRAM, "full")
    assert counts["instructions"] > 10000 and counts.get("stalled-cycles-frontend", 0) < 0.6 * counts["cycles"]


@pytest.mark.skipif(measure.missing_tools() != [] or not os.path.exists(PROGRAM), reason="not built")
def test_statistics_are_a_small_part():
    """Inlined ones included; of an answer from memory, of a request that takes all phases, and of one on a worker."""
    for shape, most in (("stored", 0.011), ("full", 0.023), ("worker", 0.036)):
        part, whole = sites.statistics(PROGRAM, shape)
        assert 0 < sum(part.values()) < most * whole, (shape, part.most_common(5))


def test_shares_leave_no_shape_out():
    assert set().union(*(shapes_of(f"{n}/5") for n in range(5))) == set(profile.SHAPES) and shapes_of(None) is None


def test_what_grew_is_named():
    """A file that has less is not kept to, and the function is named."""
    p = measure.Profile()
    p.functions.update({"big": 1000, "small": 100})
    p.system_calls = {"writev": 2}
    p.status = 200
    p.calls["reader", "memcpy"] = 3
    golden = profile.as_golden({"stored": p}, {})
    assert not profile.more_system_calls(golden, {"stored": p}) and not grown(golden, {"stored": p})
    p.calls["reader", "memcpy"] = 3.4
    assert not profile.more_calls(golden, {"stored": p})
    p.calls["writer", "memcpy"] = 1
    assert profile.more_calls(golden, {"stored": p}) == ["stored: 4.4 memcpy for a request, were 3: reader 3.4, writer 1.0"]
    p.functions["small"] += 23
    p.system_calls["writev"] += 1
    golden["shapes"]["stored"]["taken"] = {"allocations": 20, "bytes": 3000}
    p.taken = {"allocations": 20, "bytes": 3050}
    assert not profile.more_taken(golden, {"stored": p})
    golden["shapes"]["stored"]["taken"]["zeroed"] = 1000
    p.taken = {"allocations": 20, "bytes": 3000, "zeroed": 1100}
    assert profile.more_taken(golden, {"stored": p}) == ["stored: 1100 zeroed of a request's pool, were 1000"]
    p.taken = {"allocations": 21, "bytes": 3100}
    assert profile.more_taken(golden, {"stored": p}) == ["stored: 21 allocations of a request's pool, were 20", "stored: 3100 bytes of a request's pool, were 3000"]
    assert profile.more_instructions(golden, {"stored": p}) == ["stored: 1123 instructions, were 1100 (+2.1 %)\n    small: 123, was 100"]
    assert profile.more_system_calls(golden, {"stored": p}) == ["stored: 3 calls of writev for a request, were 2"]


def profiles_of(costs):
    """@param costs  {shape: instructions of the one function of our own}"""
    made = {}
    for shape, n in costs.items():
        made[shape] = measure.Profile()
        made[shape].functions.update({"ours": n, "memcpy": 50})
        made[shape].own_names = frozenset({"ours"})
    return made


def test_elsewhere_a_shape_is_compared_with_the_others():
    costs = {"stored": 1000, "range": 1500, "tls": 2000, "full": 9000, "ssi": 20000}
    golden = profile.as_golden(profiles_of(costs), {})

    def findings(factors, all_by=1.0, differs="compiler: another"):
        return profile.more(golden, profiles_of({s: n * all_by * factors.get(s, 1) for s, n in costs.items()}), differs)

    assert not findings({}) and not findings({}, 1.2) and not findings({}, 0.8)  # another compiler, the same for all
    assert not findings({"stored": 1.05, "ssi": 0.95})
    assert [f.split(":")[0] for f in findings({"range": 1.3})] == ["range"]
    assert "ours: 1950, was 1500" in findings({"range": 1.3})[0]
    assert [f.split(":")[0] for f in findings({"stored": 1.2, "range": 1.2, "tls": 1.2}, 1.1)] == ["stored", "range", "tls"]
    assert [f.split(":")[0] for f in findings({"full": 1.2, "ssi": 1.2})] == ["full", "ssi"]
    assert [f.split(":")[0] for f in findings({}, 1.5)] == ["all shapes"]
    assert [f.split(":")[0] for f in findings({"range": 1.05}, 1, "processor: another")] == ["range"]
    assert [f.split(":")[0] for f in findings({}, 1.03, "openssl: another")] == ["stored", "range", "full", "ssi"]  # one to one, but for TLS
    assert [f.split(":")[0] for f in findings({}, 1.05, "processor: another")] == ["all shapes"]
    more_calls = profiles_of(costs)
    more_calls["full"].calls["reader", "malloc"] = 1
    more_calls["full"].calls["reader", "memcpy"] = 1
    assert profile.more(golden, more_calls, "compiler: another") == ["full: 1.0 malloc for a request, were 0: reader 1.0"]
    assert "shapes of each configuration" in profile.more(golden, profiles_of({"stored": 1000}), "compiler: another")[0]


def test_the_linker_gets_the_functions_of_the_golden_file():
    with open(order.ORDER, encoding="utf-8") as f:
        assert f.read() == order.script_of(profile.load_golden())


@pytest.mark.skipif(measure.missing_tools() != [] or not os.path.exists(PROGRAM), reason="not built")
def test_they_lie_side_by_side():
    """Functions of four rooms, within a quarter of a megabyte."""
    symbols = subprocess.run(["nm", "--defined-only", PROGRAM], capture_output=True, text=True, check=True).stdout
    places = {name: int(place, 16) for place, _, name in (line.split() for line in symbols.splitlines())}
    lain = [places[n] for n in ("h1_parse", "loop_turn", "ap_directory_walk", "ap_core_output_filter")]
    assert max(lain) - min(lain) < 1 << 18


@pytest.mark.skipif(measure.missing_tools() != [] or not os.path.exists(PROGRAM), reason="not built")
def test_the_training_asks_for_every_shape():
    answered = train.train(PROGRAM, 3)
    assert {shape: status for shape, status in answered.items() if status != 200} == {"not-modified": 304, "range": 206, "full-304": 304, "full-206": 206, "denied": 403, "missing": 404, "redirect": 301}
    assert all(profile.SHAPES[shape][1] in ("tls", "http3") for shape in set(profile.SHAPES) - set(answered))


def test_the_trend_tells_what_commits_did():
    def golden(instructions, calls, copies):
        return {"stored": {"instructions": instructions, "system calls": calls, "calls": {"memcpy": copies}}}

    old = golden(1000, {"writev": 1}, 2)
    assert trend.change_of({}, old) == ["stored is new: 1000"]
    assert trend.change_of(old, golden(996, {"writev": 1}, 2)) == []
    assert trend.change_of(old, golden(900, {"sendto": 1}, 3)) == ["stored 1000 -> 900 (-10.0 %)", "stored: sendto 0 -> 1", "stored: writev 1 -> 0", "stored: memcpy 2 -> 3"]
