# SPDX-License-Identifier: Apache-2.0
"""What requests hold of a server: all of it is 0 when none is there. Stored answers, fetches and their waiters as `-k cache` tells them; requests that
backends have, or that wait for a connection to one, and counts of RequestLimit (inflight, connections), as the memory has them in which server
processes count them (server/proxy/proxy_gauges.c, server/limit/limit_table.c)."""
import array
import os
import re
import subprocess

STORE = "/memfd:cached-store-4 (deleted)"
BACKENDS = "/memfd:proxy-gauges-1 (deleted)"
LIMITS = "/memfd:request-limits-1 (deleted)"
LIMITS_HEADER, LIMITS_LEAST, PLACE = 3 * 4096, 1024, 16  # table_header_bytes(), LIMIT_KEYS_LEAST, sizeof(limit_slot)
WAITING, BUSY, OF_A_BACKEND = 2, 3, 4  # of the numbers of a backend: open, idle, waiting, busy


def memory_of(pid, name):
    folder = f"/proc/{pid}/fd"
    for n in os.listdir(folder):
        try:
            if os.readlink(f"{folder}/{n}") == name:
                return f"{folder}/{n}"
        except FileNotFoundError:
            continue  # closed meanwhile
    return None


def pages_of(path):
    """Those that were written: the rest is 0."""
    with open(path, "rb") as f:
        at, end = 0, os.fstat(f.fileno()).st_size
        while at < end:
            try:
                at = os.lseek(f.fileno(), at, os.SEEK_DATA)
            except OSError:
                return
            to = os.lseek(f.fileno(), at, os.SEEK_HOLE)
            yield os.pread(f.fileno(), to - at, at)
            at = to


def of_backends(pid):
    path = memory_of(pid, BACKENDS)
    busy = waiting = 0
    for page in pages_of(path) if path else ():
        numbers = array.array("i", page)
        busy += sum(numbers[BUSY::OF_A_BACKEND])
        waiting += sum(numbers[WAITING::OF_A_BACKEND])
    return {"requests of backends": busy, "requests that wait for backends": waiting}


def of_stored_answers(server):
    told = subprocess.run(server.command("-k", "cache"), capture_output=True, env=server.env, timeout=60)
    if server.expect_trouble and told.returncode:
        return {}  # the test wrote into that memory
    assert told.returncode == 0, told
    numbers = {name.decode(): int(n) for name, n in re.findall(rb"^(\w+) +(\d+)", told.stdout, re.M)}
    return {"fetches": numbers["fetches"], "waiters": numbers["waiting"], "stored answers": numbers["held"]}


def places_of(keys):
    """table_sets() * LIMIT_WAYS"""
    places = LIMITS_LEAST
    while places < keys:
        places *= 2
    return places


def of_limits(server):
    """Connections may be there still: they are counted where their limits are, and nothing says whose a count is."""
    path = memory_of(server.process.pid, LIMITS)
    if not path or "connections=" in server.config:
        return {}
    keys = int((re.findall(r"^\s*RequestLimitKeys\s+(\d+)", server.config, re.M) or ["65536"])[-1])
    with open(path, "rb") as f:
        counts = os.pread(f.fileno(), places_of(keys // 4) * PLACE, LIMITS_HEADER + places_of(keys) * PLACE)
    return {"requests in flight of RequestLimit": sum(array.array("Q", counts)[1::2])}


def now(server):
    """What is not 0. A process that was killed leaves what it had of backends in a row that is not read any more."""
    held = {} if server.expect_trouble else of_backends(server.process.pid)
    if not server.expect_trouble:
        held.update(of_limits(server))
    if memory_of(server.process.pid, STORE):
        held.update(of_stored_answers(server))
    return {name: n for name, n in held.items() if n}
