# SPDX-License-Identifier: Apache-2.0
"""Large files that stay open for stored responses stay mapped; from what length on files are mapped is a directive."""
import os
import re
import shutil
import subprocess
import time

import pytest

from brigade import BINARY, wait_until

ONE = "EventLoops 1\nServerProcesses 1\n"
LARGE = os.urandom(1 << 20) * 20


def old(server, name, content):
    path = server.write(name, content)
    os.utime(path, (1.7e9, 1.7e9))
    wait_until(lambda: time.time() > os.stat(path).st_ctime + 2.1, "rest")
    return path


def mappings(server, path):
    """Lengths of what server processes have mapped of a file."""
    found = []
    for pid in server.children():
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            found += [int(end, 16) - int(start, 16)
                      for start, end in re.findall(rf"^([0-9a-f]+)-([0-9a-f]+) .* {re.escape(path)}", f.read(), re.M)]
    return found


def take(server, target, content, times=4):
    with server.connect() as c:
        for _ in range(times):
            assert c.get(target).body == content


@pytest.mark.slow
def test_a_stored_file_stays_mapped(serve):
    server = serve(ONE)
    path = old(server, "large.bin", LARGE)
    take(server, "/large.bin", LARGE)
    assert mappings(server, path) == [len(LARGE)]
    take(server, "/large.bin", LARGE)
    assert mappings(server, path) == [len(LARGE)]
    with server.connect() as c:
        assert c.get("/large.bin", {"Range": "bytes=9000001-18000000"}).body == LARGE[9000001:18000001]
    other = LARGE[:10 << 20]
    server.write("new.bin", other)
    os.rename(server.path("htdocs", "new.bin"), path)
    take(server, "/large.bin", other, 1)
    assert mappings(server, f"{path} (deleted)") == []


def traced(server, tmp_path, calls, what):
    """Lines of strace: such calls of the server while what() happens."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    trace = subprocess.Popen(["strace", "-f", "-o", str(tmp_path / "calls"), "-e", f"trace={calls}"] + [a for p in server.children() for a in ("-p", str(p))],
                             stderr=subprocess.PIPE, text=True)
    try:
        line = trace.stderr.readline()
        if "attached" not in line:
            pytest.skip(line)
        what()
    finally:
        trace.terminate()
        trace.communicate()
    return [line for line in (tmp_path / "calls").read_text().splitlines() if "MAP_ANONYMOUS" not in line]


@pytest.mark.slow
def test_what_is_mapped_is_neither_mapped_anew_nor_read(serve, tmp_path):
    """Not its end either, of which less is left than a file has to have to be mapped."""
    server = serve(ONE)
    old(server, "large.bin", LARGE)
    take(server, "/large.bin", LARGE)
    calls = traced(server, tmp_path, "mmap,preadv2", lambda: take(server, "/large.bin", LARGE, 3))
    # One byte is read to see whether the disk has to be waited for.
    assert not [call for call in calls if re.search(r"(mmap|preadv2)\(", call) and not call.endswith(" = 1")], calls[:10]


@pytest.mark.slow
@pytest.mark.parametrize("size", [128 << 10, 1 << 20])
def test_windows_are_as_long_as_the_directive_says(serve, tmp_path, size):
    server = serve(ONE + f"FileCacheEntries 0\nFileWindowSize {size}\n")
    old(server, "large.bin", LARGE)
    calls = traced(server, tmp_path, "mmap", lambda: take(server, "/large.bin", LARGE, 1))
    lengths = [int(n) for n in re.findall(r"mmap\(NULL, (\d+), PROT_READ, MAP_SHARED", "\n".join(calls))]
    assert lengths and size <= max(lengths) <= size + 4096, lengths  # what the socket took may end within a page
    assert sum(n >= size for n in lengths) > len(lengths) / 2, lengths


@pytest.mark.slow
def test_a_file_that_is_cut_short_stays_no_danger(serve):
    server = serve(ONE)
    path = old(server, "large.bin", LARGE)
    take(server, "/large.bin", LARGE)
    os.truncate(path, 5 << 20)
    take(server, "/large.bin", LARGE[:5 << 20], 2)
    os.truncate(path, 0)
    take(server, "/large.bin", b"", 2)


@pytest.mark.slow
@pytest.mark.parametrize("directives, mapped", [("", False), ("FileWindowLeast 64K\n", True), ("FileWindowLeast 64K\nEnableMMAP Off\n", False),
                                                ("FileWindowLeast 64K\nEnableSendfile On\n", False)])
def test_from_what_length_on_files_are_mapped(serve, directives, mapped):
    server = serve(ONE + "FileCacheMaxFile 16K\n" + directives)
    content = LARGE[:300000]
    path = old(server, "file.bin", content)
    take(server, "/file.bin", content)
    assert bool(mappings(server, path)) == mapped


@pytest.mark.parametrize("least, sent", [("100K", True), ("400K", False)])
def test_from_what_length_on_files_leave_by_sendfile(serve, tmp_path, least, sent):
    server = serve(ONE + f"FileCacheEntries 0\nEnableSendfile On\nFileSendfileLeast {least}\n")
    content = LARGE[:300000]
    server.write("file.bin", content)
    calls = traced(server, tmp_path, "sendfile,sendfile64", lambda: take(server, "/file.bin", content, 2))
    assert bool([call for call in calls if "sendfile" in call]) == sent, calls[:10]


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "FileCacheEntries 0\n", "FileCacheEntries 0\nEnableSendfile On\nFileSendfileLeast 1\n"])
def test_small_windows(serve, more):
    server = serve(ONE + "FileWindowLeast 1\nFileWindowSize 64K\n" + more)
    old(server, "large.bin", LARGE)
    take(server, "/large.bin", LARGE, 2)
    old(server, "tiny.bin", b"x")
    take(server, "/tiny.bin", b"x", 3)


@pytest.mark.slow
def test_the_ways_are_measured(tmp_path):
    """By size from 1 KiB on: each figure is a positive number of milliseconds."""
    result = subprocess.run([BINARY, "--calibrate-delivery", tmp_path], capture_output=True, text=True, timeout=300, check=True)
    rows = [line.split() for line in result.stdout.splitlines() if re.match(r" +\d+ ", line)]
    assert [int(row[0]) for row in rows] == [1, 4, 8, 16, 64, 256, 1024, 4096, 8192, 16384, 102400]
    assert all(len(row) == 4 and all(float(cost) > 0 for cost in row[1:]) for row in rows)
    failed = subprocess.run([BINARY, "--calibrate-delivery", tmp_path / "none"], capture_output=True, text=True, timeout=60, check=False)
    assert failed.returncode == 1 and "cannot make a file in" in failed.stderr


@pytest.mark.parametrize("line, message", [
    ("FileWindowLeast 0", b"FileWindowLeast must be from 1 to 2147483647 bytes"), ("FileWindowLeast 1", b""), ("FileWindowLeast 2G", b"FileWindowLeast must be"),
    ("FileWindowSize 65535", b"FileWindowSize must be from 65536 to 1073741824 bytes"), ("FileWindowSize 64K", b""), ("FileWindowSize 1G", b""),
    ("FileWindowSize 1025M", b"FileWindowSize must be"), ("FileWindowSize", b"FileWindowSize takes one argument"), ("FileWindowSize 8Q", b"FileWindowSize"),
    ("FileSendfileLeast -1", b"FileSendfileLeast"), ("FileSendfileLeast 1m", b""), ("FileSendfileLeast 0", b"FileSendfileLeast must be"),
    ("<VirtualHost *>\nFileWindowSize 1M\n</VirtualHost>", b"FileWindowSize cannot occur within <VirtualHost> section"),
])
def test_what_the_directives_take(serve, line, message):
    result = serve.unstarted(line + "\n").run("-t")
    assert (result.returncode == 0) == (message == b"") and message in result.stdout + result.stderr, result
