# SPDX-License-Identifier: Apache-2.0
"""Starts that fail: a reason that names what is at fault; a reload that fails stops nothing."""
import re
import signal
import socket

import pytest

from brigade import SANDBOX, wait_until
from processes import reload

FILES = {"index.html": "home\n", "a.txt": "A\n"}


@pytest.mark.parametrize("line,pattern", [
    ("ErrorLog @ROOT@/nowhere/error\n", rb"nowhere/"), ("CustomLog @ROOT@/nowhere/access common\n", rb"nowhere/access"),
    ("ErrorLog @ROOT@\n", rb"error log"), ("Listen 127.0.0.1:@PORT@\n", rb"127.0.0.1:\d+|Cannot define multiple Listeners"),
    ("PidFile @ROOT@/nowhere/pid\n", rb"nowhere/pid"), ("TypesConfig @ROOT@/nowhere/types\n", rb"nowhere/types")])
def test_start_fails_with_a_reason(serve, line, pattern):
    server = serve.unstarted(line, FILES)
    done = server.run("-DFOREGROUND")
    assert done.returncode != 0
    assert re.search(pattern, done.stderr + done.stdout + server.error_log()), done


def test_port_in_use(serve):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        server = serve.unstarted("", FILES)
        done = server.run("-DFOREGROUND", port=s.getsockname()[1])
        assert done.returncode != 0
        text = done.stderr + server.error_log()
        assert b"ddress already in use" in text and b"127.0.0.1:%d" % s.getsockname()[1] in text


@pytest.mark.only("brigade")
def test_port_in_use_at_a_reload(serve):
    """The new port cannot be had: said, and everything else goes on."""
    server = serve("", FILES)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        server.write_config(f"Listen 127.0.0.1:{s.getsockname()[1]}\nHeader set X-Gen 2\n")
        server.signal(signal.SIGUSR1)
        server.wait_for_log(rb"ddress already in use")
        for _ in range(10):
            assert server.get("/a.txt").body == b"A\n"


def test_document_root_missing(serve):
    """An error for the main server; for a virtual host a warning, and everything is not found until it is there."""
    done = serve.unstarted("DocumentRoot @ROOT@/later\n").run("-t")
    assert done.returncode == 1 and b"is not a directory" in done.stderr
    server = serve("<VirtualHost *:@PORT@>\nDocumentRoot @ROOT@/later\n<Directory @ROOT@/later>\nRequire all granted\n"
                   "</Directory>\n</VirtualHost>\n")
    assert re.search(rb"DocumentRoot \[.*later\] does not exist", server.error_log())
    with server.connect() as c:
        for _ in range(5):
            assert c.get("/x.txt").status in (403, 404)
        server.write("later/x.txt", "there", base=".")
        if not SANDBOX:
            assert c.get("/x.txt").body == b"there"
    if SANDBOX:  # what was not there at the start is not reached until then
        reload(server)
    wait_until(lambda: server.get("/x.txt").body == b"there", "the file")


@pytest.mark.only("brigade")
@pytest.mark.parametrize("line,pattern", [
    ("TypesConfig @ROOT@/nowhere/types\n", r"does not start: TypesConfig \S+/nowhere/types on line \d+ of \S+httpd.conf: .*AH01597"),
    ("PidFile @ROOT@/nowhere/pid\n", r"does not start: PidFile \S+nowhere/pid on line \d+ of \S+httpd.conf: .*AH00099"),
    ('CustomLog "|@ROOT@/nowhere/program" common\n', r"does not start: CustomLog .* on line \d+ of \S+httpd.conf: .*AH00104")])
@pytest.mark.parametrize("way", [["-k", "start"], ["-DFOREGROUND"]], ids=["background", "foreground"])
def test_a_start_that_fails_says_so_on_the_terminal(serve, line, pattern, way):
    """Whoever starts it sees why it fails, also when the log has the messages."""
    done = serve.unstarted(line, FILES).run(*way)
    assert done.returncode == 1
    assert re.search(pattern, done.stderr.decode()), done.stderr
