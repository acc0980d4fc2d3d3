# SPDX-License-Identifier: Apache-2.0
"""What the tests of trouble share: a look into the server, clients that read slowly, a module that misbehaves."""
import atexit
import functools
import json
import os
import shutil
import socket
import subprocess
import tempfile

import pytest

import brigade
from brigade import wait_until
from http_client import Client, Truncated

STATUS = "<Location /server-status>\nSetHandler server-status\n</Location>\n"
TROUBLE = "LoadModule trouble_module {}\n<Location /trouble>\nSetHandler trouble\n</Location>\n"
SCAN_BYTES = 64 << 20


@functools.lru_cache(None)
def sanitizer():
    """"address", "thread" or "" for the binary under test."""
    with open(brigade.BINARY, "rb") as f:
        text = f.read(SCAN_BYTES)
    return "address" if b"__asan_init" in text else "thread" if b"__tsan_init" in text else ""


@functools.lru_cache(None)
def filters_are_checked():
    """True where the checks between filters are compiled in."""
    with open(brigade.BINARY, "rb") as f:
        return b"BRG_FILTER_CHECK" in f.read(SCAN_BYTES)


@functools.lru_cache(None)
def compiled(name, *options):
    """modules/NAME.c as a loadable module; the test is skipped where it cannot be made."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(tempfile.mkdtemp(prefix="brigade-module-"), f"{name}.so")
    atexit.register(shutil.rmtree, os.path.dirname(path), ignore_errors=True)
    os.chmod(os.path.dirname(path), 0o755)
    try:
        flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], capture_output=True, text=True)
        done = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-g", "-I",
                               os.path.join(brigade.REPOSITORY, "include"), *flags.stdout.split(), *options,
                               os.path.join(here, "modules", f"{name}.c"), "-o", path],
                              capture_output=True, text=True)
    except FileNotFoundError as e:
        pytest.skip(f"needs a compiler: {e}")
    assert done.returncode == 0, done.stderr
    return path


def trouble_module():
    return compiled("mod_trouble")


def with_trouble(config=""):
    return TROUBLE.format(trouble_module()) + config


def status(server):
    """The status page as data; needs STATUS in the configuration."""
    return json.loads(server.get("/server-status?json").body)


def open_connections(server):
    return status(server)["totals"]["connections"]["open"]


def wait_for_connections(server, most):
    """Until no more than so many are open, that of the status page not counted where it is its own."""
    wait_until(lambda: open_connections(server) <= most + 1, f"at most {most} connections")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid):
    """Private bytes of a process."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("Private_Clean:", "Private_Dirty:"))) * 1024


def answers(server, target="/a.txt", body=None):
    """True if a new connection gets a good answer."""
    try:
        r = server.get(target)
        return r.status == 200 and (body is None or r.body == body)
    except (OSError, Truncated):
        return False


def asked(server, target):
    """The answer, or None if the process went while it was asked."""
    try:
        return server.get(target)
    except (OSError, Truncated):
        return None


def slow_client(server, receive_bytes=4096):
    """A client whose system takes little before it is read from."""
    c = Client.__new__(Client)
    c.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    c.socket.settimeout(brigade.PATIENCE)
    c.socket.connect((server.address, server.port))
    c.buffer = b""
    return c


def reset(client):
    """Close so that the peer gets a reset."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    client.close()
