# SPDX-License-Identifier: Apache-2.0
"""test/bench/cores.py: what it reckons, what it refuses on a machine with few processors, and that loops keep to theirs."""
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from brigade import BINARY, wait_until

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench")
sys.path.insert(0, BENCH)

import cores  # noqa: E402

PROCESSORS = len(os.sched_getaffinity(0))


def run(*arguments):
    return subprocess.run([sys.executable, f"{BENCH}/cores.py", *arguments], capture_output=True, text=True, check=False, timeout=240, env={**os.environ, "BRIGADE": BINARY})


def test_many_loops_are_held_against_as_many_single_ones():
    rows = [(1, 1000.0, 10.0), (2, 1900.0, 10.0), (4, 2000.0, 20.0)]
    assert cores.against_one(rows) == [(1.0, 1.0), (0.95, 1.0), (0.5, 0.5)]


def test_what_the_machine_cannot_tell_is_said():
    assert not cores.caveats(2, 8)
    assert [line.split(":")[0] for line in cores.caveats(4, 4)] == ["4 processors"]
    shared, turns = cores.caveats(4, 2)
    assert "from 2 loops on the client shares" in shared and turns.startswith("From 3 loops on")


def test_more_loops_than_processors_are_refused():
    assert not cores.why_not(PROCESSORS, PROCESSORS, True) and not cores.why_not(PROCESSORS + 1, PROCESSORS, False)
    if shutil.which("wrk"):
        done = run("--loops", str(PROCESSORS + 1), "--pin")
        assert done.returncode and f"there are {PROCESSORS}" in done.stderr and not done.stdout


@pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk")
def test_each_loop_keeps_to_a_processor(tmp_path):
    root, port = str(tmp_path), cores.free_port()
    cores.site(root)
    loops = min(2, PROCESSORS)
    server = cores.started(BINARY, root, port, loops, 1)
    try:
        cores.load(port, 16, 1).communicate(timeout=60)
        pids = cores.processes_of(server.pid)
        where = cores.pin(pids, loops)
        kept = [os.sched_getaffinity(thread) for thread in cores.threads_of_loops(pids, loops)]
        assert sorted(len(cpus) for cpus in kept) == [1] * loops and len(set().union(*kept)) == loops
        assert where[:2] == ["taskset", "-c"]
        assert wait_until(lambda: cores.processor_seconds(pids) > 0)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def test_each_memory_system_has_its_rows():
    """All kinds that a server may have; each is what the server says that it uses."""
    systems = cores.systems_of(["all"])
    assert len(systems) == 10 and cores.systems_of(None) == [None] and cores.systems_of(["arena"]) == ["arena"]
    for system in systems:
        lines = cores.lines_of(BINARY, system)
        if system in ("jemalloc", "mimalloc") and "LoadModule" not in lines:
            continue  # its library was not there
        done = subprocess.run([BINARY, "-t", "-D", "DUMP_MEMORY", "-f", "/dev/null", "-c", "ErrorLog /dev/null", *(word for line in lines.splitlines() for word in ("-c", line))],
                              capture_output=True, text=True, check=False, timeout=60)
        assert re.search(rf"^  request +{re.escape(system.split('(')[0].split()[0])}", done.stdout, re.M), (system, done.stdout, done.stderr)


@pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk")
def test_the_table_has_a_row_for_each_number_of_loops():
    done = run("--loops", "--pin", "--seconds", "1", "--connections", "8", "--system", "arena", "--stock", BINARY)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ *stock APR pools +1 +\d+ +[\d.]+ +100 % +100 %", done.stdout, re.M), done.stdout
    rows = re.findall(r"^ *arena +(\d+) +\d+ +[\d.]+ +(\d+) % +(\d+) %", done.stdout, re.M)
    assert [int(n) for n, _, _ in rows] == list(range(1, PROCESSORS + 1)) and rows[0][1:] == ("100", "100")
    assert f"{PROCESSORS} processors: from {PROCESSORS} loops on the client shares them" in done.stdout
