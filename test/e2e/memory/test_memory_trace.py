# SPDX-License-Identifier: Apache-2.0
"""MemoryTrace: what requests do with memory, recorded from the live server and replayed by brigade-membench."""
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess

import pytest

from brigade import wait_until
from memory_site import BUILD, FILES, is_stock

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(is_stock(), reason="built with stock APR pools")]
PAGE = {"p.shtml": '<!--#set var="a" value="b" -->[<!--#echo var="a" -->]<!--#include virtual="/a.txt" -->' * 3}
SSI = ("FileCacheEntries 0\n<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n"
       "</Directory>\n")


def recorded(server, name="trace"):
    """The requests in the file, each a list of its steps; complains of what is none."""
    head, *lines = server.read("logs/" + name).decode().splitlines()
    assert head == "# brigade-memory-trace 1"
    requests = []
    for line in [line for line in lines if line[0] not in "#c"]:
        assert re.fullmatch(r"r|e|p \d+ \d+|[az] \d+ \d+( x\d+)?|k \d+( x\d+)?|[xd] \d+", line), line
        if line == "r":
            requests.append([])
        requests[-1].append(line)
    assert all(r[1] == "p 1 0" and r[-2:] == ["d 1", "e"] for r in requests)
    return requests


def letters(request):
    """How often each kind of step happened."""
    count = collections.Counter()
    for step in request:
        times = re.search(r" x(\d+)$", step)
        count[step[0]] += int(times[1]) if times else 1
    return count


def membench(path, *args):
    program = os.path.join(BUILD, "brigade-membench")
    if not os.path.exists(program):
        pytest.skip("brigade-membench was not built")
    return subprocess.run([program, "--seconds", "1", "--spec", "arena", *args, path], capture_output=True, timeout=60)


def test_recorded_and_replayed(serve, tmp_path):
    server = serve(SSI + "MemoryTrace logs/trace\nEventLoops 2\nSSIParallelIncludes 1\n", {**FILES, **PAGE})
    targets = ["/a.txt", "/p.shtml", "/dir/", "/none"] * 15
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(server.get, targets))
    requests = wait_until(lambda: (r := recorded(server)) and len(r) >= len(targets) and r, "the requests")
    assert len(requests) == len(targets)
    assert all(20 < letters(r)["a"] + letters(r)["z"] < 2000 and letters(r)["k"] > 0 for r in requests)
    assert any(letters(r)["p"] > 1 for r in requests)  # pools of sub-requests
    server.stop()
    report = tmp_path / "report.json"
    result = membench(server.path("logs/trace"), "--json", str(report))
    assert result.returncode == 0, result.stderr
    [trace] = json.loads(report.read_text())["traces"]
    assert trace["requests"] == len(targets) and trace["allocations"] > 20 * len(targets)
    assert all(row["ns_per_request"] > 0 for row in trace["results"] if row["system"] in ("arena", "stock APR pools"))


def test_what_is_counted_is_recorded(serve):
    """The log items and the trace tell of the same allocations: cleared or not, and those of cleanups."""
    server = serve('MemoryTrace logs/trace\nEventLoops 1\nFileCacheEntries 0\nLogFormat "%{allocs}M %{bytes}M" m\n'
                   "CustomLog logs/access m\n", FILES)
    for target in ("/a.txt", "/dir/"):
        server.get(target)
    lines = wait_until(lambda: (t := server.read("logs/access").split()) and len(t) == 4 and t, "the log")
    requests = wait_until(lambda: (r := recorded(server)) and len(r) == 2 and r, "the requests")
    for i, request in enumerate(requests):
        count = letters(request)
        total = count["a"] + count["z"] + count["k"]
        assert count["z"] > 0 and total - 6 <= int(lines[2 * i]) <= total  # what comes after the log


def test_ends_with_its_limit(serve):
    server = serve("MemoryTrace logs/trace requests=5\nFileCacheEntries 0\nEventLoops 2\n", FILES)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {r.status for r in pool.map(server.get, ["/a.txt"] * 40)} == {200}
    server.wait_for_log("MemoryTrace: .*/logs/trace is complete")
    assert len(recorded(server)) == 5
    server.get("/a.txt")
    assert len(recorded(server)) == 5 and server.error_log().count(b"is complete") == 1


def test_ends_with_its_bytes(serve):
    server = serve("MemoryTrace logs/trace bytes=4k\nFileCacheEntries 0\n", FILES)
    for _ in range(20):
        server.get("/a.txt")
    server.wait_for_log("is complete")
    assert 0 < len(recorded(server)) < 20 and len(server.read("logs/trace")) <= 4096


def test_virtual_hosts_with_systems_of_their_own(serve):
    server = serve("MemoryTrace logs/trace\nFileCacheEntries 0\nMemorySystem request trivial\n<VirtualHost *:@PORT@>\n"
                   "ServerName plain\nMemorySystem request system\n</VirtualHost>\n<VirtualHost *:@PORT@>\n"
                   "ServerName tight\nMemorySystem request limit(9k) arena\n</VirtualHost>\n",
                   {**FILES, **{f"many/a_rather_long_file_name_{i}": "" for i in range(300)}})
    assert server.get("/many/", host="plain").status == 200
    assert server.get("/many/", host="tight").status == 503
    assert server.get("/many/", host="other").status == 200
    wait_until(lambda: len(recorded(server)) == 3, "the requests")


def test_restart_goes_on_with_the_file(serve):
    server = serve("MemoryTrace logs/trace\nFileCacheEntries 0\n", FILES)
    for _ in range(3):
        server.get("/a.txt")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: server.read("logs/error_log").count(b"resuming normal operations") == 2, "the next generation")
    for _ in range(3):
        server.get("/a.txt")
    assert server.stop() == 0
    assert len(recorded(server)) == 6
    assert membench(server.path("logs/trace")).returncode == 0


@pytest.mark.parametrize("line, message", [
    ("MemoryTrace", "takes a file"),
    ("MemoryTrace logs/none/trace", r"cannot open .*/logs/none/trace: No such file"),
    ("MemoryTrace logs", r"cannot open .*/logs: Is a directory"),
    ("MemoryTrace conf/httpd.conf", "is there already and is no memory trace: it stays as it is"),
    ("MemoryTrace logs/t requests=0", "is no number above 0"),
    ("MemoryTrace logs/t bytes=lots", "is no number above 0"),
    ("MemoryTrace logs/t seconds=3", "none of requests=N, bytes=SIZE"),
    ("<VirtualHost *>\nMemoryTrace logs/t\n</VirtualHost>", "cannot occur within <VirtualHost>"),
])
def test_mistakes(serve, line, message):
    server = serve.unstarted(line + "\n")
    result = server.run("-t")
    text = result.stderr.decode()
    assert result.returncode == 1 and re.search(message, text), text
    assert re.search(r"line \d+ of ", text), text
    assert not os.path.exists(server.path("logs/t"))


def test_looking_at_the_configuration_makes_no_file(serve):
    server = serve.unstarted("MemoryTrace logs/trace\n")
    assert server.run("-t").returncode == 0
    assert not os.path.exists(server.path("logs/trace"))
