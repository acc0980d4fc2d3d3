# SPDX-License-Identifier: Apache-2.0
"""What CacheRoot keeps: found again after a restart, read when memory has given it up, and never after it was purged."""
import os
import pwd
import re
import signal
import struct

import pytest

from backend import Backend, answer
from brigade import unprivileged_user, wait_until
from cached_site import fields, is_written, kind, start_with_disk as start

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def files(root):
    return b"".join(open(root / f"brigade-cache.{i}", "rb").read() for i in range(4))


def test_found_again_after_a_restart(serve, backend, tmp_path):
    body = os.urandom(3000000)
    backend.scripts["/long"] = answer(body, fields=fields(("X-A", "1"), age=1000))
    backend.scripts["/short"] = answer(b"short-body\n", fields=fields(age=1000))
    server, root = start(serve, backend, tmp_path)
    assert server.get("/p/long").body == body and server.get("/p/short").body == b"short-body\n"
    wait_until(lambda: is_written(server, 3000000) and b"short-body\n" in files(root), "they are written", 60)  # the disk may have much to do
    if os.geteuid() == 0:
        assert {os.stat(root / name).st_uid for name in os.listdir(root)} == {pwd.getpwnam(unprivileged_user()).pw_uid}
    server.stop()
    server, root = start(serve, backend, tmp_path)
    for _ in range(2):
        got = server.get("/p/long")
        assert got.body == body and kind(got) == "HIT" and got["X-A"] == "1"
        got = server.get("/p/short")
        assert got.body == b"short-body\n" and kind(got) == "HIT" and got["Content-Length"] == "11"
    assert len(backend.requests) == 2


def test_variants_after_a_restart(serve, backend, tmp_path):
    backend.scripts["/a"] = lambda c, r: answer(b"body-" + r["Accept-Language"].encode(), fields=fields(("Vary", "Accept-Language"), age=1000))
    server, root = start(serve, backend, tmp_path)
    for language in ("de", "fr"):
        server.get("/p/a", headers={"Accept-Language": language})
    wait_until(lambda: b"body-de" in files(root) and b"body-fr" in files(root), "they are written")
    server.stop()
    server, root = start(serve, backend, tmp_path)
    for language in ("de", "fr"):
        got = server.get("/p/a", headers={"Accept-Language": language})
        assert got.body == b"body-" + language.encode() and kind(got) == "HIT"
    assert len(backend.requests) == 2


def test_purged_ones_stay_away(serve, backend, tmp_path):
    backend.scripts["/a"] = lambda c, r: answer(b"body-%d\n" % len(backend.requests), fields=fields(age=1000))
    server, root = start(serve, backend, tmp_path)
    server.get("/p/a")
    wait_until(lambda: is_written(server), "it is written")
    server.request("DELETE", "/p/a")
    server.stop()
    server, root = start(serve, backend, tmp_path)
    got = server.get("/p/a")
    assert kind(got) == "MISS" and got.body == b"body-3\n"


def test_memory_is_small(serve, backend, tmp_path):
    backend.scripts["*"] = lambda c, r: answer(r.target.encode().ljust(200000, b"."), fields=fields(age=1000))
    server, root = start(serve, backend, tmp_path, "CacheMemory 8M")
    for n in range(100):
        assert kind(server.get(f"/p/{n}")) == "MISS"
        wait_until(lambda: b"/%d." % n in files(root)[:] or b"/%d......" % n in files(root), "it is written")
    for n in range(100):
        got = server.get(f"/p/{n}")
        assert kind(got) == "HIT" and got.body.startswith(b"/%d." % n) and len(got.body) == 200000
    assert len(backend.requests) == 100


def test_damaged_records_are_fetched_anew(serve, backend, tmp_path):
    backend.scripts["/a"] = answer(b"good-body" * 1000, fields=fields(age=1000))
    server, root = start(serve, backend, tmp_path)
    server.get("/p/a")
    wait_until(lambda: is_written(server, 9000), "it is written")
    server.stop()
    for i in range(4):
        path = root / f"brigade-cache.{i}"
        data = path.read_bytes()
        if b"good-body" in data:
            at = data.index(b"good-body") - 200
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(b"x" * 100)
    server, root = start(serve, backend, tmp_path)
    got = server.get("/p/a")
    assert got.body == b"good-body" * 1000 and kind(got) == "MISS" and len(backend.requests) == 2


def disk_sum(data):
    a, b, all64 = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, (1 << 64) - 1
    for word in [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data) // 8 * 8 + 8, 8)] + [len(data) % 8 + 1]:
        a = (a ^ word) * 0xff51afd7ed558ccd & all64
        a ^= a >> 29
        b = ((b << 27 | b >> 37) + word) & all64
    return a ^ b * 0xc4ceb9fe1a85ec53 & all64


# store.h and disk_private.h: where a record has its sums, and the bytes of its head; freshness.h: the time at the beginning of the terms.
HEAD_SUM, HEAD_BYTES, TEXT_LEN, SUM, HEAD = 64, 80, 88, 96, 104


@pytest.mark.parametrize("stored", [-1, -(1 << 63), (1 << 63) - 1, None])
def test_records_of_impossible_times_are_fetched_anew(serve, backend, tmp_path, stored):
    """Whoever can write the file can make its sums right: no time of a record is reckoned with that this server cannot have written."""
    backend.scripts["/a"] = answer(b"good-body" * 1000, fields=fields(age=1000))
    server, root = start(serve, backend, tmp_path)
    server.get("/p/a")
    wait_until(lambda: is_written(server, 9000) and b"good-body" in files(root), "it is written")
    server.stop()
    path = next(root / f"brigade-cache.{i}" for i in range(4) if b"good-body" in (root / f"brigade-cache.{i}").read_bytes())
    data = bytearray(path.read_bytes())
    at = data.index(b"good-body") - 1
    while True:  # back to the record: the only place whose sum is right
        record = data[at:at + HEAD]
        head_bytes, (text_len, marks_n) = int.from_bytes(record[HEAD_BYTES:HEAD_BYTES + 4], "little"), struct.unpack_from("<HH", record, TEXT_LEN)
        if at + HEAD + head_bytes < len(data) and record[SUM:] == disk_sum(record[:SUM]).to_bytes(8, "little"):
            break
        at -= 1
    if stored is not None:
        struct.pack_into("<q", data, at + HEAD + 8 * marks_n + text_len, stored)
        struct.pack_into("<Q", data, at + HEAD_SUM, disk_sum(data[at + HEAD:at + HEAD + head_bytes]))
        struct.pack_into("<Q", data, at + SUM, disk_sum(data[at:at + SUM]))
    path.write_bytes(data)
    server, root = start(serve, backend, tmp_path)
    got = server.get("/p/a")
    assert got.body == b"good-body" * 1000 and kind(got) == ("HIT" if stored is None else "MISS")


def test_programs_of_this_server(serve, backend, tmp_path):
    more = "AddHandler cgi-script .cgi\n<Directory @ROOT@/htdocs>\nOptions ExecCGI\n</Directory>\nDocumentRoot " + str(tmp_path)
    script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\nCache-Control: max-age=1000\\n\\n'\necho made-$$\n"
    (tmp_path / "a.cgi").write_text(script)
    (tmp_path / "a.cgi").chmod(0o755)
    more = f"AddHandler cgi-script .cgi\nAlias /x/ {tmp_path}/\n<Directory {tmp_path}>\nOptions ExecCGI\nRequire all granted\n</Directory>"
    server, root = start(serve, backend, tmp_path, more)
    first = server.get("/x/a.cgi")
    assert first.status == 200
    wait_until(lambda: is_written(server), "it is written")
    server.stop()
    server, root = start(serve, backend, tmp_path, more)
    got = server.get("/x/a.cgi")
    assert got.body == first.body and kind(got) == "HIT"


def test_folder_that_cannot_be_used(serve, backend):
    backend.scripts["/a"] = answer(b"ok\n", fields=fields())
    server = serve(f"ProxyPass /p/ http://127.0.0.1:{backend.port}/\nCacheEnable disk /\nCacheRoot @ROOT@/none\nCacheHeader On\n")
    server.wait_for_log("responses are stored in memory alone")
    assert [kind(server.get("/p/a")) for _ in range(2)] == ["MISS", "HIT"]
    server = serve(f"ProxyPass /p/ http://127.0.0.1:{backend.port}/\nCacheEnable disk /\nCacheHeader On\n")
    server.wait_for_log("AH00703: Cannot cache files to disk without a CacheRoot specified.")
    assert [kind(server.get("/p/a")) for _ in range(2)] == ["-", "-"]


def test_processes_that_are_killed(serve, backend, tmp_path):
    backend.scripts["*"] = lambda c, r: answer(b"body of " + r.target.encode() * 1000, fields=fields(age=1000))
    server, root = start(serve, backend, tmp_path)
    server.expect_trouble = True
    for n in range(20):
        for k in range(10):
            try:
                got = server.get(f"/p/{n % 3}-{k}")
                assert got.body == b"body of " + f"/{n % 3}-{k}".encode() * 1000
            except (OSError, AssertionError) as e:
                if isinstance(e, AssertionError):
                    raise
        child = server.children()[0]
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: child not in server.children(), "another process serves")
    wait_until(lambda: server.get("/p/0-0").status == 200, "it serves")
