# SPDX-License-Identifier: Apache-2.0
"""The error log in the same situation: both servers' lines have the same modules, levels and AH numbers."""
import collections
import os
import re
import signal
import socket

import pytest

import brigade
from stock import driver

pytestmark = pytest.mark.skipif(not os.path.exists(driver.APACHE) or brigade.is_apache(brigade.BINARY), reason="Apache beside Brigade")
SCRIPTS = {"half": "printf 'Content-Type: text/plain\\n'", "bare": "printf 'no field'", "long": "printf 'X: '; head -c 20000 /dev/zero | tr '\\0' x; printf '\\n\\nx'",
           "bad": "echo nonsense", "empty": "exit 0", "stderr": "echo oops >&2; printf 'Content-Type: text/plain\\n\\nx'", "late": "printf 'Content-Type: text/plain\\n\\nx'; sleep 2"}
CONFIG = """Timeout 1
RequestReadTimeout header=1 body=1
ScriptAlias /cgi/ @ROOT@/cgi/
<Directory @ROOT@/cgi>
    Require all granted
</Directory>
<Location /denied>
    Require all denied
</Location>
"""
# Of ours alone, or told at another moment.
OWN = re.compile(r"built in, so the file of LoadModule|the response could not be completed")


def lines(text):
    found = []
    for line in text.decode(errors="replace").splitlines():
        m = re.match(r"\[[^\]]*\] \[(\w*:\w+)\] (?:\[pid[^\]]*\] )?(?:\([^)]*\)[^:\[]*: )?(?:\[client[^\]]*\] )?(?:\([^)]*\)[^:\[]*: )?(AH\d+|[^:]*)", line)
        if m and not OWN.search(line):
            found.append((m[1], m[2]))
    return collections.Counter(found)


class Told:
    """A server, and what its log said in each situation."""

    def __init__(self, binary, model):
        script = "cgi" if model == "prefork" else "cgid"
        self.server = server = brigade.Server("", {"a.txt": "A\n"}, binary=binary, modules=[script])
        server.mpm = f"mpm_{model}"
        loads = f"LoadModule {script}_module @MODULES@/mod_{script}.so\n" + ("" if script == "cgi" else "ScriptSock @ROOT@/logs/sock\n")
        if not server.apache and model == "prefork":
            loads = "LoadModule mpm_prefork_module @MODULES@/mod_mpm_prefork.so\n" + loads
        server.config = (loads if not server.apache else loads.split("\n", 1)[1]) + CONFIG
        server.expect_trouble = True
        os.chmod(server.path("logs"), 0o777)
        for name, text in SCRIPTS.items():
            os.chmod(server.write(name, f"#!/bin/sh\n{text}\n", base="cgi"), 0o755)
        self.said, self.at = {}, 0

    def note(self, name, until=None):
        if until:
            brigade.wait_until(lambda: re.search(until, self.server.error_log()[self.at:]), name)
        self.said[name] = lines(self.server.error_log()[self.at:])
        self.at = len(self.server.error_log())

    def ask(self, name, data):
        self.server.raw(data, half_close=False)
        self.note(name)

    def slow(self, name, data):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=brigade.PATIENCE) as c:
            c.sendall(data)
            while c.recv(1000):
                pass
        self.note(name)

    def run(self):
        server = self.server.start()
        self.note("start", rb"AH00094")
        for target in (*[f"/cgi/{name}" for name in SCRIPTS], "/none", "/denied", "/cgi/none", "/a.txt/x", "/%zz"):
            self.ask(target, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        self.slow("slow head", b"GET / HT")
        self.slow("slow body", b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx")
        for number in (signal.SIGUSR1, signal.SIGHUP):
            server.signal(number)
            self.note(number.name, rb"resuming[^\n]*\n(.*\n)*.*AH00094")
        server.signal(signal.SIGTERM)
        server.process.wait(brigade.PATIENCE)
        self.note("SIGTERM", rb"SIGTERM")
        return self.said


@pytest.mark.slow
@pytest.mark.parametrize("model", ["event", "prefork"])
def test_numbers(model):
    said = []
    for binary in (driver.APACHE, brigade.BINARY):
        told = Told(binary, model)
        try:
            said.append(told.run())
        finally:
            told.server.close()
    for name in said[0]:
        del said[1][name]["cgid:error", "AH01215"]  # a line of stderr; Debian's mod_cgid writes the program's bytes alone
        if name == "/cgi/late":  # the handler here waits for the program by itself; Apache's core finds out while it reads
            continue
        assert said[0][name] == said[1][name], name
