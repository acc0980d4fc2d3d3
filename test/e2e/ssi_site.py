# SPDX-License-Identifier: Apache-2.0
"""What tests of server-side includes share."""
import os
import stat

CONF = """<IfModule !mod_include.c>
    LoadModule include_module @MODULES@/mod_include.so
</IfModule>
AddType text/html .shtml .html
AddType text/plain .txt
AddOutputFilter INCLUDES .shtml
<Directory @ROOT@/htdocs>
    Options Includes FollowSymLinks
    AllowOverride All
</Directory>
"""

ERROR = b"[an error occurred while processing this directive]"


def echo(name, more=""):
    return f'<!--#echo {more}var="{name}" -->'


def include(path, more=""):
    return f'<!--#include virtual="{path}" {more}-->'


def set_to(name, value):
    return f'<!--#set var="{name}" value="{value}" -->'


def condition(expr, yes="yes", no="no"):
    return f'<!--#if expr="{expr}" -->{yes}<!--#else -->{no}<!--#endif -->'


def body(server, target, headers=(), status=200, **more):
    answer = server.get(target, headers, **more)
    assert answer.status == status, answer.body
    return answer.body


def status_field(pid, name):
    """A number of kB from /proc/PID/status."""
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def resident_kb(server):
    return sum(status_field(pid, "VmRSS") for pid in server.children())


def open_files(server):
    """Descriptors of the server processes, without sockets and pipes."""
    count = 0
    for pid in server.children():
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                count += stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{fd}").st_mode)
            except FileNotFoundError:
                pass
    return count


def is_sanitized(server):
    with open(server.binary, "rb") as f:
        program = f.read()
    return b"__asan_init" in program or b"__tsan_init" in program
