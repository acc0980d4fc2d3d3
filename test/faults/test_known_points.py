# SPDX-License-Identifier: Apache-2.0
"""Faults that went wrong once, tried each time; the sweeps try them by chance or where all is tried."""
import os
from errno import EAGAIN, EBADF, ECONNABORTED, EINTR, EIO, EMFILE, ENFILE, ENOBUFS, ENOENT, ENOMEM, ENOSPC, ENOSYS, EPERM, EPIPE, EPROTO, ESPIPE, ESTALE

import pytest

from brigade import wait_until
from fault_control import FOREVER, LIBRARY, Faults
from fault_report import report
from fault_site import CGID, SHAPES, Site, exchange, has_module
from fault_sweep import Sweep
from test_life import ROLES, Reload, Start, Upgrade

pytestmark = [pytest.mark.only("brigade"),
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built")]

# Shape: (call, class, the number of the first call that fails, or a tuple of them, error[, it lasts])
REQUESTS = {
    "tls": [("read", "file", (17, 40, 65), EIO)],
    "cgi": [("read", "pipe", (1, 2, 3, 4, 5, 6), EIO), ("epoll_wait", "none", (3, 4, 5), EBADF)],
    "cgi-long": [("read", "pipe", (2, 25), EIO), ("sendmsg", "socket", 2, ENOMEM)],
    "deflate": [("read", "file", (1, 3, 10, 40), EIO)],
    "coded": [("read", "file", (1, 2, 3, 4, 5, 6, 7, 8, 9), EIO), ("lseek", "file", (1, 2, 3, 4, 5, 6, 7, 8, 9), ESPIPE)],
    "remembered": [("accept", "socket", 1, EPROTO, True), ("accept", "socket", 1, ECONNABORTED, True),
                   ("writev", "socket", 1, ENOBUFS, True), ("writev", "socket", 1, EINTR), ("send", "socket", 1, EINTR), ("epoll_wait", "none", 1, EBADF, True)],
    "sendfile": [("sendfile", "socket", 1, EIO, True), ("sendfile", "socket", (1, 2), EINTR), ("recv", "socket", 1, ENOMEM), ("sendmsg", "socket", 1, ENOMEM)],
    "sendfile-cold": [("sendfile", "socket", 3, EIO), ("epoll_ctl", "socket", 1, ENOSPC)],
    # A loop hands it to a worker, and that wakes the loop.
    "exec": [("read", "pipe", 1, EIO), ("poll", "none", (1, 2), ENOMEM), ("write", "other", 1, EAGAIN), ("write", "other", 1, EINTR)],
    "listing": [("readdir", "none", (1, 2, 3), EIO), ("opendir", "none", (1, 2), EMFILE), ("opendir", "none", 2, EIO),
                ("stat", "none", (2, 3, 4), EIO)],
    "upload": [("recv", "socket", (1, 2, 3), ENOMEM), ("fcntl", "socket", 1, EPERM), ("getpeername", "socket", 1, ENOBUFS)],
    "tunnel": [("send", "socket", (1, 2, 3), EPIPE), ("send", "socket", (1, 2), ENOBUFS), ("recv", "socket", (11, 12, 13), ENOMEM)],
    "http2-backend": [("recv", "socket", 2, ENOMEM)],
    "stored-disk": [("pread", "file", (16, 46), ESTALE)],
}


def points_of(rows):
    for call, kind, numbers, fault, *lasts in rows:
        for n in numbers if isinstance(numbers, tuple) else (numbers,):
            yield call, kind, n, FOREVER if lasts else n, fault


@pytest.mark.parametrize("name", REQUESTS)
def test_request(serve, tmp_path, name):
    shape = SHAPES[name]
    if shape.needs and not has_module(shape.needs):
        pytest.skip(f"no mod_{shape.needs}.so")
    faults = Faults(str(tmp_path / "faults"))
    site = Site(serve, faults, shape.config)
    site.server.start()
    faults.check()
    sweep = Sweep(site, faults, name, shape)
    points = list(points_of(REQUESTS[name]))
    findings = sweep.run(points)
    assert sweep.missed < len(points), "no fault was reached"
    assert not findings, report(name, sweep.tried, findings, sweep.missed)


@pytest.mark.skipif(not has_module("cgi"), reason="no mod_cgi.so")
def test_an_answer_that_is_lost_before_its_head_is_500(serve, tmp_path):
    shape, faults = SHAPES["cgi"], Faults(str(tmp_path / "faults"))
    site = Site(serve, faults, shape.config)
    site.server.start()
    pid = wait_until(site.processes, "a server process")[0]
    assert exchange(site, shape).end == "whole"
    seen = []
    # The first calls are for the request. How many are for the program, and which finds the beginning, is chance.
    for n in [*range(1, 16)] * 8:
        with faults.armed("recv", "socket", EIO, n, pid=pid):
            outcome = exchange(site, shape)
        seen.append([answer.status for answer in outcome.answers])
        assert outcome.end in ("whole", "closed"), outcome
        if [500] in seen:
            break
    assert [500] in seen, seen


def life(kind, serve, tmp_path, role, points, name):
    tried = kind(serve, tmp_path, name, CGID if has_module("cgid") else "")
    if kind is not Start:
        tried.begin()
    for point in points:
        tried.one(ROLES[role], point)
    assert not tried.findings, report(name, tried.tried, tried.findings, tried.missed)
    return tried


def test_a_full_disk_does_not_end_a_server_that_is_reloaded(serve, tmp_path):
    """Its number stands in the file already."""
    points = [("rename", "none", 1, FOREVER, ENOSPC), ("write", "file", 1, FOREVER, ENOSPC), ("close", "file", 1, FOREVER, EIO)]
    life(Reload, serve, tmp_path, "supervisor", points, "known-reload")


def test_a_start_that_fails_leaves_no_process_behind(serve, tmp_path):
    points = [("rename", "none", 1, 1, ENOSPC), ("write", "file", 1, 1, ENOSPC), ("getrandom", "none", 1, FOREVER, ENOSYS),
              ("dup", "file", 1, 1, EMFILE), ("fork", "none", 1, 1, EAGAIN), ("pipe", "none", 1, 1, ENFILE)]
    started = life(Start, serve, tmp_path, "supervisor", points, "known-start")
    assert started.tried, "no fault was reached"


def test_an_upgrade_that_cannot_begin_is_taken_back(serve, tmp_path):
    """The new program has no memory or no descriptors before it has taken over, or while it does; the old one goes on."""
    points = [("fopen", "none", 1, 1, ENOMEM), ("eventfd", "none", 1, 1, EMFILE), *(("mmap", "none", n, n, ENOMEM) for n in range(1, 7)),
              ("memfd_create", "none", 1, 1, EMFILE), ("execve", "none", 1, 1, ENOMEM), ("write", "file", 1, 1, ENOSPC)]
    upgraded = life(Upgrade, serve, tmp_path, "supervisor", points, "known-upgrade")
    assert upgraded.missed < 3


def test_a_root_that_is_gone_is_not_watched(serve, tmp_path):
    """As where a container ends. The root is the first folder that a process watches."""
    faults = Faults(str(tmp_path / "faults"))
    site = Site(serve, faults)
    site.server.start()
    pid = wait_until(site.processes, "a server process")[0]
    with faults.armed("inotify_add_watch", "none", ENOENT, 1, FOREVER, pid=pid):
        wait_until(lambda: site.server.get("/a.txt").status == 200 and faults.hits > 1, "a watch")
    assert site.processes() == [pid]


def test_a_process_that_cannot_accept_does_not_serve(serve, tmp_path):
    """The fault lasts for three seconds; then another process takes its place."""
    life(Start, serve, tmp_path, "process", [("epoll_ctl", "socket", 1, FOREVER, EPERM)], "known-process")


def test_lookups_that_would_wait_change_no_answer(serve, tmp_path):
    """openat2() on a loop says EAGAIN when a file was renamed anywhere meanwhile, too."""
    faults = Faults(str(tmp_path / "faults"))
    site = Site(serve, faults, "<Directory @ROOT@/htdocs>\nAllowOverride None\n</Directory>\n")  # those files are opened as ever
    server = site.server.start()
    server.write("folder/file.txt", "text")
    os.symlink("nowhere", server.path("htdocs/dangling"))
    pid = wait_until(site.processes, "a server process")[0]
    for target in ("/none.txt", "/none/x.txt", "/none/", "/folder/file.txt/info", "/folder/none/x", "/dangling", "/dangling/x", "/folder/"):
        expected = server.get(target).status
        for n in range(1, 6):
            with faults.armed("open", "none", EAGAIN, n, pid=pid):
                assert server.get(target).status == expected, f"{target}, look-up {n}"
