# SPDX-License-Identifier: Apache-2.0
"""A disk below stored answers (CacheRoot) that hangs: calls of its thread do not come back. What is in memory is sent, what is not is fetched,
meanwhile; only who asks for what lies on that disk alone waits."""
import os
import threading

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import fields, is_written, kind, start_with_disk
from fault_control import FOREVER, LIBRARY, SERVER, Faults

pytestmark = [pytest.mark.only("brigade"), pytest.mark.slow, pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built")]

HANGS = 30000  # milliseconds


@pytest.fixture
def backend():
    with Backend() as backend:
        backend.scripts["*"] = lambda c, r: answer(r.target.encode() * 2000, fields=fields(age=1000))
        yield backend


def site(serve, backend, tmp_path):
    """A server with the library, and its control."""
    faults = Faults(str(tmp_path / "faults"))
    server, _ = start_with_disk(lambda config: serve(config, env={**os.environ, **faults.environment()}), backend, tmp_path, "CachePurge 127.0.0.1")
    faults.check()
    return server, faults


def hangs(faults):
    return faults.hits > faults.control.returned


def test_a_disk_that_hangs_while_it_writes(serve, backend, tmp_path):
    server, faults = site(serve, backend, tmp_path)
    server.get("/p/hot")
    wait_until(lambda: is_written(server), "the disk works")
    with faults.armed("pwrite", "file", "delay", last=FOREVER, role=SERVER, delay_ms=HANGS):
        server.get("/p/written")
        wait_until(lambda: hangs(faults), "the disk hangs")
        for i in range(5):
            assert kind(server.get("/p/hot")) == "HIT" and kind(server.get(f"/p/new{i}")) == "MISS" and kind(server.get(f"/p/new{i}")) == "HIT"
            assert server.request("PURGE", f"/p/new{i}").status == 200 and kind(server.get(f"/p/new{i}")) == "MISS"
        assert hangs(faults), "they were answered while it hung"
    wait_until(lambda: not hangs(faults), "the disk goes on: until then it has the answer that it writes", 4 * HANGS / 1000)


def test_a_disk_that_hangs_while_it_reads(serve, backend, tmp_path):
    server, _ = start_with_disk(serve, backend, tmp_path)
    server.get("/p/cold")
    wait_until(lambda: is_written(server), "it is written")
    server.stop()
    server, faults = site(serve, backend, tmp_path)
    assert kind(server.get("/p/hot")) == "MISS"
    fetched = len([r for r in backend.requests if r.target == "/cold"])
    with faults.armed("pread", "file", "delay", role=SERVER, delay_ms=HANGS):
        got = []
        waiting = [threading.Thread(target=lambda: got.append(server.connect(timeout=120).get("/p/cold").body)) for _ in range(4)]
        for client in waiting:
            client.start()
        wait_until(lambda: hangs(faults), "the disk hangs")
        for i in range(5):
            assert kind(server.get("/p/hot")) == "HIT" and kind(server.get(f"/p/new{i}")) == "MISS" and kind(server.get(f"/p/new{i}")) == "HIT"
        assert hangs(faults) and not got, "they were answered while it hung"
    for client in waiting:
        client.join(120)
    assert got == [b"/cold" * 2000] * 4
    assert len([r for r in backend.requests if r.target == "/cold"]) - fetched <= 1, "out of the disk when it goes on, or fetched once"
