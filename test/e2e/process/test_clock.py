# SPDX-License-Identifier: Apache-2.0
"""The clock of the machine is set while the server runs: no deadline depends on it."""
import os
import struct
import threading
import time

import pytest

import module_source
from brigade import wait_until
from http_client import Truncated

HOUR = 3600
FILES = {"a.txt": "A\n"}
CONFIG = "KeepAliveTimeout 1\nTimeout 1\nRequestReadTimeout header=1 body=1\n"

pytestmark = pytest.mark.only("brigade")


@pytest.fixture(scope="module")
def clock_so(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clock")
    os.chmod(folder, 0o755)
    os.chmod(folder.parent, 0o755)
    return module_source.compile_file(os.path.join(os.path.dirname(__file__), "stepped_clock.c"),
                                      folder / "stepped_clock.so", "-ldl")


class Clock:
    def __init__(self, path):
        self.path = path
        self.step(0)

    def step(self, seconds):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as f:
            f.write(struct.pack("=q", seconds))


@pytest.fixture
def stepped(serve, clock_so, tmp_path):
    """serve(), and a clock that can be set."""
    clock = Clock(str(tmp_path / "step"))

    def start(config, files=FILES):
        return serve(config, files, env={"LD_PRELOAD": module_source.preloaded(clock_so), "STEP_FILE": clock.path}), clock
    return start


def seconds_until_closed(c):
    begin = time.monotonic()
    try:
        c.read_response()
        raise AssertionError("an answer where none was asked for")
    except Truncated:
        return time.monotonic() - begin


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_date_follows_the_clock(stepped, step):
    server, clock = stepped(CONFIG)
    clock.step(step)

    def ahead():
        date = time.strptime(server.get("/a.txt")["Date"], "%a, %d %b %Y %H:%M:%S GMT")
        return abs(time.mktime(date) - time.mktime(time.gmtime()) - step) < 60
    wait_until(ahead, "a Date of the new time")


@pytest.mark.parametrize("step", [-HOUR, HOUR])
@pytest.mark.parametrize("sent", [b"", b"GET /a.txt HT"])
def test_deadlines_hold_when_the_clock_is_set(stepped, step, sent):
    """Neither never (a step back) nor at once (a step forward): after the second that was configured."""
    server, clock = stepped(CONFIG)
    with server.connect() as c, server.connect() as other:
        assert c.request("GET", "/a.txt").status == 200  # waits for the next one now
        other.request("GET", "/a.txt")
        c.send(sent)
        clock.step(step)
        assert server.get("/a.txt").status == 200  # the loop has seen the new time
        assert 0.3 < seconds_until_closed(c) < 5


@pytest.mark.parametrize("step", [-HOUR, HOUR])
@pytest.mark.slow
def test_a_client_that_takes_nothing_is_dropped_in_time(stepped, step):
    server, clock = stepped(CONFIG, dict(FILES, big=b"x" * 20_000_000))
    with server.connect() as c:
        c.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        c.read_head()
        clock.step(step)
        server.get("/a.txt")
        threading.Event().wait(2.5)  # the time out itself is what is tested
        with pytest.raises((Truncated, ConnectionResetError)):
            c.read_exactly(20_000_000)


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_uploads_to_programs_end_in_time(stepped, step):
    server, clock = stepped(
        CONFIG + "ScriptAlias /cgi/ @ROOT@/cgi/\n<Directory @ROOT@/cgi>\nRequire all granted\n</Directory>\n"
        "LoadModule cgid_module @MODULES@/mod_cgid.so\nScriptSock @ROOT@/logs/cgisock\n")
    script = server.write("../cgi/echo", "#!/bin/sh\ncat >/dev/null\nprintf 'Content-Type: text/plain\\n\\nA\\n'\n")
    os.chmod(os.path.dirname(script), 0o755)
    os.chmod(script, 0o755)
    with server.connect() as c:
        c.send("POST /cgi/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc")
        wait_until(lambda: True, "the body to be waited for")
        clock.step(step)
        begin = time.monotonic()
        try:
            c.read_response()
        except Truncated:
            pass
        assert time.monotonic() - begin < 8
