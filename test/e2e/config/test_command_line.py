# SPDX-License-Identifier: Apache-2.0
"""The command line: what it shows, and what it refuses."""
import re
import subprocess

import pytest

import brigade


@pytest.mark.parametrize("arguments,code,patterns", [
    (["-v"], 0, [r"^Server version: .*Apache/2\.4\.\d+", r"^Server built:"]),
    (["-V"], 0, [r"Server's Module Magic Number: 20120211:\d+", r"Architecture:", r"Server MPM:\s+event",
                 r' -D HTTPD_ROOT="', r' -D SERVER_CONFIG_FILE="']),
    (["-l"], 0, [r"^Compiled in modules:", r"^  core\.c$", r"^  http_core\.c$", r"^  mod_so\.c$"]),
    (["-t"], 0, [r"^Syntax OK$"]),
    (["-M"], 0, [r"^Loaded Modules:", r"^ core_module \(static\)$"]),
    (["-S"], 0, [r"^VirtualHost configuration:", r'^ServerRoot: "', r"^PidFile:"]),
    (["-L"], 0, [r"^<Directory \(core\.c\)$", r"^DocumentRoot \(core\.c\)$"]),
    (["-h"], None, [r"Usage: "]),
    (["-t", "-D", "DUMP_VHOSTS"], 0, [r"^VirtualHost configuration:"]),
    (["-t", "-D", "DUMP_MODULES"], 0, [r"^Loaded Modules:"]),
    (["-t", "-c", "Nonsense on"], 1, [r"Invalid command 'Nonsense'"]),
    (["-t", "-C", "Define X 1", "-c", "ServerAdmin ${X}@example.com"], 0, [r"^Syntax OK$"]),
    (["-z"], 1, [r"Usage: "]),
])
def test_command_line(serve, arguments, code, patterns):
    done = serve.unstarted().run(*arguments)
    output = (done.stdout + done.stderr).decode()
    if code is not None:
        assert done.returncode == code, output
    for pattern in patterns:
        assert re.search(pattern, output, re.MULTILINE), output


def test_missing_configuration_file(serve, tmp_path):
    server = serve.unstarted()
    done = subprocess.run([brigade.BINARY, "-d", server.root, "-f", str(tmp_path / "none.conf"), "-t"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "none.conf" in done.stderr
