# SPDX-License-Identifier: Apache-2.0
"""Logs: no request waits for the reader of a pipe, and no line is lost where there is room for it."""
import os
import re
import signal
import threading
import time

import pytest

import brigade
from brigade import wait_until
from http_client import request_bytes
from processes import Load, reload

FILES = {"a.txt": "A\n", "b.shtml": '<!--#exec cmd="echo B" -->'}

# A logger that reads nothing until it is told to.
LOGGER = """
root=$(dirname "$0")/..
while [ ! -e "$root/logs/go" ]; do [ -d "$root/logs" ] || exit; sleep 0.02; done
exec cat >> "$root/logs/out"
"""
PIPED = 'CustomLog "|/bin/sh @ROOT@/conf/logger" wide\n'
WIDE = 'LogFormat "' + "x" * 7000 + ' %r" wide\n'  # a few hundred fill the pipe and all buffers behind it

shapes = pytest.mark.parametrize("loops,processes", [(1, 1), (2, 2)])


def serve_piped(serve, loops=1, processes=1, config=""):
    server = serve.unstarted(f"EventLoops {loops}\nServerProcesses {processes}\nMaxKeepAliveRequests 0\n{WIDE}{PIPED}{config}"
                             "<Location /status>\nSetHandler server-status\n</Location>\n", FILES)
    server.write("logger", LOGGER, base="conf")
    return server.start()


def ask(server, count, connections=8):
    """Pipelined requests on several connections; all are answered."""
    for _ in range(connections):
        with server.connect() as c:
            for begin in range(0, count // connections, 50):
                c.send(b"".join(request_bytes("GET", f"/a.txt?{begin + i}") for i in range(50)))
                for _ in range(50):
                    assert c.read_response().body == b"A\n"


def go(server):
    server.write("go", "", base="logs")


def lines(server, name="logs/out"):
    return len(server.read(name).splitlines())


@shapes
@pytest.mark.only("brigade")
@pytest.mark.threads
def test_stuck_logger_holds_nobody_up(serve, loops, processes):
    """What its buffer does not take is dropped and counted; the log tells when that begins and when it ends."""
    server = serve_piped(serve, loops, processes)
    count = 4000 * processes
    ask(server, count)
    server.wait_for_log(r"transfer log .* takes lines too slowly and its buffer is full")
    go(server)
    wait_until(lambda: len(re.findall(rb"can be written again; (\d+) lines were lost", server.error_log()))
               == server.error_log().count(b"buffer is full"), "the end of it")
    lost = sum(int(n) for n in re.findall(rb"(\d+) lines were lost", server.error_log()))
    assert lost > 0
    wait_until(lambda: lines(server) + lost == count, "all lines that were not lost")
    assert f"LogLinesLost: {lost}\n".encode() in server.get("/status?auto").body
    assert f'"log_lines_lost":{lost}'.encode() in server.get("/status?json").body
    assert server.error_log().count(b"buffer is full") <= processes


@shapes
@pytest.mark.only("brigade")
def test_wait_loses_no_line(serve, loops, processes):
    server = serve_piped(serve, loops, processes, "LogOverflow wait\n")
    count = 1600
    client = threading.Thread(target=ask, args=(server, count))
    client.start()
    client.join(0.5)  # it is held up by now, or will be; either is right
    go(server)
    client.join(brigade.PATIENCE)
    assert not client.is_alive()
    wait_until(lambda: lines(server) == count, "every line")
    assert b"lost" not in server.error_log()


@shapes
@pytest.mark.only("brigade")
def test_stuck_reader_of_the_error_log(serve, loops, processes):
    """Lines that it does not take are dropped; the first one after that says how many."""
    server = serve.unstarted(f'EventLoops {loops}\nServerProcesses {processes}\nErrorLog "|/bin/sh @ROOT@/conf/logger"\n'
                             "LogLevel trace6\nMaxKeepAliveRequests 0\n", FILES)
    server.write("logger", LOGGER, base="conf")
    server.start()
    ask(server, 2000 * processes)
    go(server)
    wait_until(lambda: server.get("/a.txt") and b"lines of error logs were lost" in server.read("logs/out"), "the count")
    assert all(line.startswith(b"[") for line in server.read("logs/out").splitlines() if b"lost" in line)


@pytest.mark.only("brigade")
def test_overflow_is_checked(serve):
    done = serve.unstarted("LogOverflow perhaps\n").run("-t")
    assert done.returncode and b"LogOverflow must be drop or wait" in done.stderr


@shapes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGWINCH])
@pytest.mark.only("brigade")
@pytest.mark.slow
def test_stuck_logger_does_not_keep_a_process(serve, loops, processes, number):
    server = serve_piped(serve, loops, processes)
    ask(server, 400)
    begin = time.monotonic()
    server.signal(number)
    wait_until(lambda: server.process.poll() is not None, "the end")
    assert time.monotonic() - begin < 10
    assert re.search(rb"takes no lines: ending without it; \d+ lines were lost", server.error_log())
    go(server)


@pytest.mark.parametrize("buffered", ["Off", "On"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize("loops,processes", [(1, 1), (2, 2)])
def test_every_line_is_there_at_the_end(serve, number, loops, processes, buffered):
    """Of a stop, and of a reload, after which the log was renamed."""
    shape = "" if brigade.is_apache(brigade.BINARY) else f"EventLoops {loops}\nServerProcesses {processes}\n"
    server = serve(f'{shape}MaxKeepAliveRequests 0\nBufferedLogs {buffered}\nCustomLog logs/access "%r"\n', FILES)
    if number == signal.SIGTERM:
        ask(server, 400)
        server.stop()
        assert lines(server, "logs/access") == 400
        return
    with Load(server) as load:
        os.rename(server.path("logs/access"), server.path("logs/old"))
        before = reload(server)
        count = load.done
        wait_until(lambda: load.done > count + 100, "requests after the reload")
    assert load.failed == []
    wait_until(lambda: not [p for p in before if os.path.exists(f"/proc/{p}")], "the old processes to end")
    server.stop()
    assert lines(server, "logs/old") + lines(server, "logs/access") == load.done


def test_lines_are_in_order(serve):
    """Of one connection whose requests are answered by its loop and by workers in turn."""
    server = serve('MaxKeepAliveRequests 0\nCustomLog logs/access "%r"\n<Directory @ROOT@/htdocs>\nOptions +Includes\n</Directory>\n'
                   "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n", FILES, modules=("include", "cgid"))
    with server.connect() as c:
        for n in range(200):
            name = "b.shtml" if n % 3 == 0 else "a.txt"
            assert c.request("GET", f"/{name}?{n}").body == name[0].upper().encode() + b"\n"
    wait_until(lambda: lines(server, "logs/access") == 200, "200 lines")
    assert [int(n) for n in re.findall(rb"\?(\d+)", server.read("logs/access"))] == list(range(200))


@pytest.mark.only("brigade")
def test_many_logs_share_a_writer(serve):
    """One thread writes all files of a file system."""
    hosts = "".join(f'<VirtualHost *:@PORT@>\nServerName h{n}\nCustomLog logs/access{n} "%r"\n</VirtualHost>\n' for n in range(60))
    server = serve(f"EventLoops 1\nServerLimit 1\nThreadsPerChild 4\nMaxKeepAliveRequests 0\n{hosts}", FILES)
    with server.connect() as c:
        for n in range(240):
            assert c.request("GET", f"/a.txt?{n}", host=f"h{n % 60}").status == 200
    for n in range(60):
        wait_until(lambda n=n: lines(server, f"logs/access{n}") == 4, "four lines")
    assert len(os.listdir(f"/proc/{server.children()[0]}/task")) < 20


@pytest.mark.slow
def test_a_program_that_could_not_be_started_again_is_tried_once_more(serve):
    """Its file is being replaced, say, or there are too many processes at the moment."""
    server = serve.unstarted('LogFormat "%r" short\nCustomLog "|@ROOT@/conf/program @ROOT@" short\n', FILES)
    path = server.write("program", '#!/bin/sh\necho $$ > "$1/logs/pid"\nexec cat >> "$1/logs/out"\n', base="conf")
    os.chmod(path, 0o755)
    server.start()
    assert server.get("/a.txt").status == 200
    wait_until(lambda: lines(server) == 1, "a line")
    os.rename(path, path + ".away")
    os.kill(int(server.read("logs/pid")), signal.SIGKILL)
    server.wait_for_log("AH00107: piped_log_maintenance: unable to respawn")
    os.rename(path + ".away", path)
    assert server.get("/a.txt").status == 200
    wait_until(lambda: lines(server) == 2, "the line that waited in the pipe")
