# SPDX-License-Identifier: Apache-2.0
"""What the status page tells, under the keys that Apache has; run with BRIGADE=/usr/sbin/apache2 too."""
import concurrent.futures
import os
import re
import signal
import time

import pytest

from brigade import wait_until

CONFIG = "ExtendedStatus On\n<Location /status>\nSetHandler server-status\n</Location>\n"


def report(server):
    lines = server.get("/status?auto").body.decode().splitlines()
    return {key: value.strip() for key, value in (line.split(":", 1) for line in lines if ":" in line)}


def generation(server):
    return int(report(server)["ParentServerMPMGeneration"])


def reload_with(server, number):
    """The first report of the new generation: processes of the old one answer what they accepted, too."""
    before = generation(server)
    server.signal(number)

    def new():
        seen = report(server)
        return int(seen["ParentServerMPMGeneration"]) > before and seen

    return wait_until(new, "the new generation")


def test_keys_are_those_of_apache(serve):
    server = serve(CONFIG, {"a.txt": "A"})
    server.get("/a.txt")
    keys = set(report(server))
    assert keys >= {"ServerVersion", "ServerMPM", "Server Built", "CurrentTime", "RestartTime",
                    "ParentServerConfigGeneration", "ParentServerMPMGeneration", "ServerUptimeSeconds", "ServerUptime",
                    "Load1", "Load5", "Load15", "Total Accesses", "Total kBytes", "Total Duration", "CPUUser",
                    "CPUSystem", "CPUChildrenUser", "CPUChildrenSystem", "Uptime", "BusyWorkers",
                    "GracefulWorkers", "IdleWorkers", "Processes", "Stopping", "ConnsTotal", "ConnsAsyncWaitIO",
                    "ConnsAsyncWriting", "ConnsAsyncKeepAlive", "ConnsAsyncClosing", "Scoreboard"}


def cpu_of(server):
    """Seconds of the supervisor and its processes, of those that have ended, too."""
    ticks = 0
    for pid in (server.process.pid, *server.children()):
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.only("brigade")
def test_processor_time_is_counted_once(serve):
    """Each thread of a process that answered knows the time of the whole process."""
    server = serve("ThreadsPerChild 8\n" + CONFIG, {"a.txt": "A"})
    begin = time.monotonic()
    while cpu_of(server) < 0.5 and time.monotonic() < begin + 30:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: server.get(f"/status?auto&{i}"), range(100)))
    shown = report(server)
    told = sum(float(shown[f"CPU{name}"]) for name in ("User", "System", "ChildrenUser", "ChildrenSystem"))
    assert 0.3 <= told <= cpu_of(server) + 0.02, told


def test_a_graceful_reload_keeps_totals_and_the_time_since_when_they_count(serve):
    server = serve(CONFIG, {"a.txt": "A"})
    for _ in range(20):
        server.get("/a.txt")
    before = wait_until(lambda: report(server)["Uptime"] != "0" and report(server), "a second to pass")
    after = reload_with(server, signal.SIGUSR1)
    assert [r["ParentServerConfigGeneration"] for r in (before, after)] == ["1", "2"]
    assert after["RestartTime"] == before["RestartTime"]
    assert int(after["Total Accesses"]) >= int(before["Total Accesses"])


def test_a_restart_begins_both_anew(serve):
    """Those who ask meanwhile are counted, too: many fewer than came before."""
    server = serve("MaxKeepAliveRequests 0\n" + CONFIG, {"a.txt": "A"})
    with server.connect() as connection:
        for _ in range(1000):
            connection.get("/a.txt")
    assert int(report(server)["Total Accesses"]) >= 1000
    assert int(reload_with(server, signal.SIGHUP)["Total Accesses"]) < 900
    wait_until(lambda: report(server)["Stopping"] == "0", "the old processes to end")
    assert int(report(server)["Total Accesses"]) < 900


def rows(server):
    """(client, host, request) of the lines that say W."""
    page = server.get("/status").body.decode()
    lines = re.findall(r"<tr><td><b>\d+-(\d+)</b>.*?</tr>", page, re.S)
    cells = [re.findall(r"<td[^>]*>(.*?)\s*</td>", m[0], re.S)
             for m in re.finditer(r"<tr><td><b>\d+-\d+</b>.*?</tr>", page, re.S)]
    assert len(lines) == len(cells)
    return [(c[-4], c[-2], c[-1]) for c in cells if "<b>W</b>" in c[3]]


def test_the_line_of_a_request_says_whose_it_is(serve):
    server = serve(CONFIG)
    found = rows(server)
    assert ("127.0.0.1", f"localhost:{server.port}", "GET /status HTTP/1.1") in found, found
    assert int(report(server)["BusyWorkers"]) >= 1


def test_accesses_are_those_of_the_connection(serve):
    """First of the three numbers: this request of its connection. A thread that serves none has 0."""
    server = serve(CONFIG, {"a.txt": "A"})
    with server.connect() as client:
        for _ in range(3):
            client.get("/a.txt")
        page = client.get("/status").body.decode()
    rows = [re.findall(r"<td[^>]*>(.*?)\s*</td>", row, re.S) for row in re.findall(r"<tr><td><b>\d+-\d+</b>.*?</tr>", page, re.S)]
    accesses = [(row[2].split("/")[0], row[3], row[-3]) for row in rows]
    assert ("4", "<b>W</b>", "http/1.1") in accesses
    assert {first for first, mode, _ in accesses if mode == "_"} <= {"0"}


@pytest.mark.only("brigade")
def test_lines_of_a_generation_that_is_gone_are_gone(serve):
    server = serve(CONFIG)
    rows(server)
    reload_with(server, signal.SIGUSR1)
    wait_until(lambda: len(server.children()) == 1, "the old process to end")
    wait_until(lambda: set(re.findall(r"<b>\d+-(\d+)</b>", server.get("/status").body.decode())) == {"1"}, "its lines to go")
