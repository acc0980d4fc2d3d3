# SPDX-License-Identifier: Apache-2.0
"""What programs inherit that the server starts: limits and descriptors."""
import os
import resource

import pytest

from brigade import wait_until

INCLUDES = """<Directory @ROOT@/htdocs>
    Options +Includes
</Directory>
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
"""
SSI = ("include", "cgid")


def exec_page(serve, command, config="", **more):
    """What a command prints that a page runs."""
    server = serve(INCLUDES + config, {"a.shtml": f'<!--#exec cmd="{command}" -->'}, modules=SSI, **more)
    return server.get("/a.shtml").body.decode().strip()


LIMIT = {resource.RLIMIT_NOFILE: (200, 4000)}


def test_exec_has_the_limit_of_the_start(serve):
    """The server raises its limit of descriptors for connections; programs get the one that it was started with."""
    assert exec_page(serve, "ulimit -S -n; ulimit -H -n", limits=LIMIT).split() == ["200", "4000"]


LOGGER = 'CustomLog "|/bin/sh @ROOT@/htdocs/logger" "%r"\n'


def test_piped_logger_has_the_limit_of_the_start(serve):
    server = serve(LOGGER, {"logger": 'ulimit -S -n > "$(dirname "$0")/../logs/limit"; exec cat > /dev/null'}, limits=LIMIT)
    server.wait_for_log("200\n", "logs/limit")


@pytest.mark.parametrize("module", ["cgi", "cgid"])
@pytest.mark.only("brigade")
def test_cgi_has_the_limit_of_the_start(serve, module):
    """RLimitCPU and the like still count beside it."""
    if not os.path.exists(f"/usr/lib/apache2/modules/mod_{module}.so"):
        pytest.skip(f"mod_{module} is not installed")

    def script(path):
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; ulimit -S -n; ulimit -S -t\n")
        os.chmod(path, 0o755)
    server = serve(f"LoadModule {module}_module @MODULES@/mod_{module}.so\nScriptSock @ROOT@/logs/cgisock\nRLimitCPU 77\n"
                   .replace("ScriptSock @ROOT@/logs/cgisock\n" if module == "cgi" else "\0", "")
                   + "ScriptAlias /cgi/ @ROOT@/cgi/\n<Directory @ROOT@/cgi>\n    Require all granted\n</Directory>\n",
                   {"../cgi/a": script}, limits=LIMIT)
    assert wait_until(lambda: server.get("/cgi/a").body, "the script").split() == [b"200", b"77"]


def test_exec_cannot_read_the_error_log(serve):
    """Standard error of a program is the error log, which it must not be able to read back."""
    flags = exec_page(serve, "sed -n s/flags://p /proc/self/fdinfo/2")
    assert int(flags, 8) & os.O_ACCMODE == os.O_WRONLY


def test_piped_logger_cannot_read_the_error_log(serve):
    server = serve(LOGGER, {"logger": 'cat /proc/self/fdinfo/2 > "$(dirname "$0")/../logs/flags"; exec cat > /dev/null'})
    found = server.wait_for_log(r"flags:\s+([0-7]+)", "logs/flags")
    assert int(found.group(1), 8) & os.O_ACCMODE == os.O_WRONLY
