# SPDX-License-Identifier: Apache-2.0
"""CGI programs by the server's own daemon, on bad days: floods, programs that never end, that end early, that leave others behind, a
daemon that dies, reloads under load."""
import os
import signal
import threading

import pytest

from brigade import wait_until

pytestmark = pytest.mark.only("brigade")
CONFIG = """
EventLoops 1
<Directory "@ROOT@/htdocs/cgi">
    Options +ExecCGI +Includes
    SetHandler cgi-script
</Directory>
<Directory "@ROOT@/htdocs/cgi/slow">
    CGIDScriptTimeout 1
</Directory>
<Files "*.shtml">
    SetHandler none
    SetOutputFilter INCLUDES
</Files>
"""
HEAD = "printf 'Content-Type: text/plain\\n\\n'\n"
SCRIPTS = {
    "ok": HEAD + "echo ok",
    "echo": HEAD + "cat",
    "stream": HEAD + "echo begun; read line; echo \"got $line\"; read line; echo \"then $line\"",
    "flood": "i=0; while [ $i -lt 20000 ]; do echo 'a line of forty bytes, and some more of it' >&2; i=$((i+1)); done\n" + HEAD + "echo end",
    "deaf": "exec 0<&-\n" + HEAD + "echo deaf",
    "early": "printf 'Content-Ty'",
    "slow/never": "echo $$ > @ROOT@/work/pid; sleep 600",
    "slow/half": HEAD + "echo half; sleep 600",
    "forks": "sh -c 'echo $$ > @ROOT@/work/child; exec sleep 600' &\necho $$ > @ROOT@/work/pid\n" + HEAD + "echo begun; wait",
    "leaves": "sh -c 'echo $$ > @ROOT@/work/child; exec sleep 600' >/dev/null 2>&1 </dev/null &\n" + HEAD + "echo left",
    "big": HEAD + "head -c 3000000 /dev/zero",
    "env": HEAD + "echo \"$HTTP_X_LONG\" | wc -c",
}


@pytest.fixture(params=["", "Sandbox On\n"], ids=["open", "sandbox"])
def server(request, serve):
    def prepare(s):
        os.mkdir(s.path("work"))
        os.chmod(s.path("work"), 0o777)
        for name, text in SCRIPTS.items():
            os.chmod(s.write(f"cgi/{name}", "#!/bin/sh\n" + text.replace("@ROOT@", s.root) + "\n"), 0o755)
        s.write("cgi/page.shtml", '[<!--#include virtual="ok" -->|<!--#exec cgi="ok" -->]')
    s = serve.unstarted(request.param + CONFIG)
    prepare(s)
    return s.start()


def pid_in(server, name):
    path = server.path("work", name)
    return wait_until(lambda: os.path.exists(path) and open(path).read().strip() and int(open(path).read()))


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def daemons(server):
    """Processes of the supervisor with the daemon's name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "brigade-cgid" and int(rest.split()[1]) == server.process.pid:
            found.append(int(pid))
    return found


def test_answers(server):
    assert server.get("/cgi/ok").body == b"ok\n"
    assert server.request("POST", "/cgi/echo", body=b"x" * 300000).body == b"x" * 300000
    assert server.get("/cgi/page.shtml").body == b"[ok\n|ok\n]"
    assert len(server.get("/cgi/big").body) == 3000000


def test_both_ways_at_a_time(server):
    client = server.connect()
    client.send(b"POST /cgi/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
    client.read_until(b"got one")
    client.send(b"4\r\ntwo\n\r\n0\r\n\r\n")
    client.read_until(b"then two")


def test_a_flood_of_errors_is_bounded(server):
    assert server.get("/cgi/flood").body == b"end\n"
    log = server.error_log().decode()
    assert "more than 262144 bytes; the rest is not logged" in log
    assert log.count("a line of forty bytes") < 8000


def test_a_program_that_does_not_listen(server):
    client = server.connect()
    assert client.request("POST", "/cgi/deaf", {}, b"x" * 3000000).body == b"deaf\n"
    assert client.request("GET", "/cgi/ok").body == b"ok\n"


def test_a_head_without_end(server):
    server.expect_trouble = True
    assert server.get("/cgi/early").status == 500
    assert "early" in server.error_log().decode()


def test_a_program_that_never_ends(server):
    server.expect_trouble = True
    assert server.get("/cgi/slow/never").status == 504
    pid = pid_in(server, "pid")
    wait_until(lambda: not is_there(pid))


def test_half_an_answer_is_no_answer(server):
    server.expect_trouble = True
    client = server.connect()
    client.send(b"GET /cgi/slow/half HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = client.read_to_end()
    assert b"half" in answer and not answer.endswith(b"0\r\n\r\n")


def test_all_processes_end_with_the_client(server):
    client = server.connect()
    client.send(b"GET /cgi/forks HTTP/1.1\r\nHost: localhost\r\n\r\n")
    client.read_until(b"begun")
    pids = pid_in(server, "pid"), pid_in(server, "child")
    assert all(map(is_there, pids))
    client.close()
    wait_until(lambda: not any(map(is_there, pids)))


def test_what_a_program_leaves_behind_lives_on(server):
    assert server.get("/cgi/leaves").body == b"left\n"
    child = pid_in(server, "child")
    assert server.get("/cgi/ok").body == b"ok\n"
    assert is_there(child)
    os.kill(child, signal.SIGKILL)


def test_the_daemon_dies(server):
    server.expect_trouble = True
    [old] = daemons(server)
    assert server.get("/cgi/ok").body == b"ok\n"
    os.kill(old, signal.SIGKILL)
    assert server.get("/cgi/ok").body == b"ok\n"
    assert [old] != daemons(server)
    assert "AH01239: cgid daemon process died, restarting" in server.error_log().decode()


def test_a_long_environment(serve, server):
    assert int(server.get("/cgi/env", {"X-Long": "x" * 8000}).body) == 8001


def test_reloads_under_load(server):
    failed, over = [], threading.Event()

    def ask():
        while not over.is_set():
            answer = server.get("/cgi/ok")
            if answer.status != 200 or answer.body != b"ok\n":
                failed.append(answer)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for n in range(1, 4):
        server.signal(signal.SIGUSR1)
        wait_until(lambda: server.error_log().count(b"resuming normal operations") > n)
    over.set()
    for asker in askers:
        asker.join()
    assert not failed
    wait_until(lambda: len(daemons(server)) == 1)


def test_a_script_of_action_is_told_the_handler(serve):
    def script(path):
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'; echo $REDIRECT_HANDLER\n")
        os.chmod(path, 0o755)
    server = serve("ScriptAlias /cgi/ @ROOT@/htdocs/cgi/\nAction my-type /cgi/env\nAddHandler my-type .my\nAction text/x-b /cgi/env\nAddType text/x-b .b\n",
                   files={"a.my": "x", "a.b": "x", "cgi/env": script})
    assert server.get("/a.my").body == b"my-type\n" and server.get("/a.b").body == b"text/x-b\n"
