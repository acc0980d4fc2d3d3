# SPDX-License-Identifier: Apache-2.0
"""A tier that machines share (CacheSocache), and who writes there has gone over to an enemy: records with right sums and wrong contents, servers that
are slow, cut their answers, or send more than was asked for. He may answer for the site (docs/internals/trust.md); nobody crashes, hangs, or sends what
is no HTTP."""
import contextlib
import os
import random
import socket
import struct
import threading
import time

import pytest

import effort
from backend import Backend, answer
from brigade import wait_until
from cached_site import fields, kind
from tier_site import TIERS, Listener, config, has_hit, tier

pytestmark = pytest.mark.only("brigade")
both = pytest.mark.parametrize("name", sorted(TIERS))
MASK = (1 << 64) - 1
HEAD = "<QQQQQqqIIIIHHIIIIIII"  # server/cached/cached_tier_record.c, with the terms of server/freshness/freshness.h in the middle
NAMES = ("magic", "sum", "life", "node", "body_len", "asked", "stored", "age", "lifetime", "swr", "sie", "flags", "code", "reserved", "text_len", "variant_len",
         "tags_len", "head_len", "vary", "reserved2")
ROUNDS = effort.count(40, 300)


def summed(data):
    """disk_sum_of()"""
    a, b = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
    full = len(data) // 8 * 8
    rest = data[full:]
    for w in (*struct.unpack(f"<{full // 8}Q", data[:full]), int.from_bytes(rest, "little"), len(rest) + 1):
        a = (a ^ w) * 0xff51afd7ed558ccd & MASK
        a ^= a >> 29
        b = ((b << 27 | b >> 37) & MASK) + w & MASK
    return a ^ (b * 0xc4ceb9fe1a85ec53 & MASK)


class Record:
    def __init__(self, data):
        size = struct.calcsize(HEAD)
        self.head = dict(zip(NAMES, struct.unpack(HEAD, data[:size])))
        self.parts, at = {}, size
        for part in ("text", "variant", "tags", "head"):
            self.parts[part] = data[at:at + self.head[part + "_len"]]
            at += self.head[part + "_len"]
        self.parts["body"] = data[at:]

    def bytes(self, lengths=None):
        for part, value in self.parts.items():
            self.head[part + "_len"] = (lengths or {}).get(part, len(value))
        data = struct.pack(HEAD, *self.head.values()) + b"".join(self.parts.values())
        return data[:8] + struct.pack("<Q", summed(data[16:])) + data[16:]


def head_of(pairs, line=b"", count=None):
    out = struct.pack("<HH", len(line), len(pairs) if count is None else count) + line + b"\0"
    for name, value in pairs:
        out += struct.pack("<HI", len(name), len(value)) + name + b"\0" + value + b"\0"
    return out


def with_head(*args, **more):
    def change(r):
        r.parts["head"] = head_of(*args, **more)
    return change


def with_fields(**values):
    return lambda r: r.head.update(values)


def with_part(part, value):
    return lambda r: r.parts.__setitem__(part, value)


TYPE = (b"Content-Type", b"text/plain")
POISON = {
    "same": lambda r: None,
    "value with a line": with_head([TYPE, (b"X-A", b"1\r\nX-Evil: 1")]),
    "value with a response": with_head([(b"X-A", b"1\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nX-Evil: 1\r\n\r\n")]),
    "value with a control": with_head([(b"X-A", b"a\x01\x7fb")]),
    "value with a bare line feed": with_head([(b"X-A", b"1\nX-Evil: 1")]),
    "name with a line": with_head([(b"X-A: 1\r\nX-Evil", b"1")]),
    "name with a blank": with_head([(b"X Evil", b"1")]),
    "name with a colon": with_head([(b"X-Evil:", b"1")]),
    "line of a response": with_head([TYPE], line=b"200 OK\r\nX-Evil: 1"),
    "line of another status": with_head([TYPE], line=b"404 Not Found"),
    "line without a number": with_head([TYPE], line=b"evil"),
    "length": with_head([TYPE, (b"Content-Length", b"999999")]),
    "length 0": with_head([(b"Content-Length", b"0")]),
    "two lengths": with_head([(b"Content-Length", b"0"), (b"Content-Length", b"5")]),
    "coding": with_head([TYPE, (b"Transfer-Encoding", b"chunked")]),
    "connection": with_head([TYPE, (b"Connection", b"upgrade"), (b"Upgrade", b"h2c")]),
    "cookie": with_head([(b"Set-Cookie", b"a=evil")]),
    "range": with_head([(b"Content-Range", b"bytes 0-4/5")]),
    "more fields than there are": with_head([TYPE], count=60000),
    "no head": with_part("head", b""), "short head": with_part("head", b"\0\0\0"), "long head": with_part("head", os.urandom(300000)),
    "a thousand fields": with_head([(b"X-%d" % i, b"v" * 200) for i in range(1000)]),
    "tags": with_part("tags", b"".join(b"t%d\0" % i for i in range(5000))), "empty tags": with_part("tags", b"\0" * 400),
    "body gone": with_part("body", b""), "long body": with_part("body", b"x" * 900000),
    "names": lambda r: (r.head.update(vary=1), with_part("head", b"cookie,accept")(r)),
    "names without a head": lambda r: (r.head.update(vary=1), with_part("head", b"")(r)),
    "names, many": lambda r: (r.head.update(vary=1), with_part("head", b"a," * 60000)(r)),
    "names with a star": lambda r: (r.head.update(vary=1), with_part("head", b"*")(r)),
    "names with lines": lambda r: (r.head.update(vary=1), with_part("head", b"a\r\nX-Evil: 1,\0b")(r)),
    **{f"code {n}": with_fields(code=n) for n in (0, 100, 101, 103, 204, 206, 304, 401, 416, 599, 600, 999, 65535)},
    **{f"flags {n}": with_fields(flags=n) for n in (128, 512, 65535)},
    "from tomorrow": with_fields(stored=int(time.time() * 1e6) + 10**12), "from the end": with_fields(stored=2**63 - 1),
    "from before": with_fields(stored=-2**63), "old": with_fields(age=2**32 - 1), "for ever": with_fields(lifetime=2**32 - 1, swr=2**32 - 1, sie=2**32 - 1),
    "old for ever": with_fields(age=2**32 - 1, lifetime=2**32 - 1), "asked for at the end": with_fields(asked=2**63 - 1), "asked for before": with_fields(asked=-2**63),
    "another life": with_fields(life=1), "no life": with_fields(life=0), "another node": with_fields(node=2**64 - 1)}
LENGTHS = [{"body": n} for n in (2**64 - 1, 2**63, 1 << 32)] + [{part: n} for part in ("text", "variant", "tags", "head") for n in (0, 2**32 - 1, 2**31, 1 << 20)]


@pytest.fixture
def backend():
    with Backend() as backend:
        backend.scripts["*"] = lambda c, r: answer(r.target.encode() + b" of the backend", fields=fields(("ETag", '"1"'), age=1000))
        yield backend


def fill(serve, backend, t, paths):
    a = serve(config(backend, t.place))
    for path in paths:
        a.get(path)
    wait_until(lambda: t.objects() >= len(paths) + 2, "the answers are in the tier")
    a.stop()


def look(server, path, name):
    """What one connection gets, twice, and another target behind it: each is an answer by itself."""
    for headers in ({}, {"Range": "bytes=0-3"}, {"If-None-Match": '"1"'}, {"Cache-Control": "max-age=0"}):
        with server.connect() as c:
            for target in (path, path, "/p/other"):
                got = c.get(target, headers=list(headers.items()))
                assert got.status >= 200 and got["X-Evil"] is None and got["Transfer-Encoding"] != "gzip", (name, got)
                assert not [1 for field, value in got.headers if " " in field or any(c < " " and c != "\t" for c in value)], (name, got)
                if target == "/p/other":
                    assert got.body in (b"/other of the backend", b"/oth", b""), (name, got)
                if got["Connection"] == "close":
                    break


@pytest.mark.parametrize("more", ["", "FileCacheEntries 0\n"])
def test_records_of_an_enemy(serve, backend, more):
    """Each with a right sum; a process that reads it goes on, and what it sends is one answer."""
    with tier("redis") as t:
        names = sorted(POISON) + [f"length {n}" for n in range(len(LENGTHS))]
        fill(serve, backend, t, [f"/p/{n}" for n in range(len(names))])
        which = {}

        def change(value):
            r = Record(value)
            assert r.bytes() == value  # the layout is as we know it
            path = r.parts["text"].split(b"/p/")[1]
            n = int(path)
            which[n] = names[n]
            if names[n] in POISON:
                POISON[names[n]](r)
                return r.bytes()
            return r.bytes(LENGTHS[int(names[n].split()[1])])
        t.each(change)
        assert len(which) == len(names)
        b = serve(config(backend, t.place, more))
        children = b.children()
        for n, name in enumerate(names):
            look(b, f"/p/{n}", name)
        assert b.children() == children and kind(b.get(f"/p/{names.index('same')}")) == "HIT"


def test_random_records(serve, backend):
    """Some bytes of each are others, its sum is right."""
    rnd = random.Random(5)
    with tier("redis") as t:
        fill(serve, backend, t, [f"/p/{n}" for n in range(ROUNDS)])

        def change(value):
            value = bytearray(value)
            for _ in range(rnd.choice([1, 1, 2, 5])):
                at = rnd.randrange(16, len(value))
                value[at:at + 1] = rnd.choice([bytes([rnd.randrange(256)]), b"\0", b"\xff", b"\r\n", b""])
            return bytes(value[:8]) + struct.pack("<Q", summed(bytes(value[16:]))) + bytes(value[16:])
        t.each(change)
        b = serve(config(backend, t.place))
        children = b.children()
        for n in range(ROUNDS):
            with b.connect() as c:
                for _ in range(2):
                    got = c.get(f"/p/{n}")
                    assert got.status >= 200
                    if got["Connection"] == "close":
                        break
                else:
                    assert c.get("/p/other").body == b"/other of the backend"
        assert b.children() == children


class Between(Listener):
    """Between the server and the tier: it does something to what the tier says."""

    def __init__(self, port, how):
        self.port_behind, self.how = port, how
        super().__init__()

    def _serve(self, s):
        with contextlib.suppress(OSError):
            behind = socket.create_connection(("127.0.0.1", self.port_behind))
            self.open.append(behind)
            threading.Thread(target=self._pump, args=(behind, s, self.how), daemon=True).start()
            self._pump(s, behind, None)

    @staticmethod
    def _pump(a, b, how):
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                for piece in how(data) if how else [data]:
                    if piece is None:
                        break
                    b.sendall(piece)
                else:
                    continue
                break
        for s in (a, b):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


def slowly(data):
    for i in range(0, len(data), 97):
        threading.Event().wait(0.002)
        yield data[i:i + 97]


BETWEEN = {"slow": slowly, "cut in the middle": lambda d: [d[:len(d) // 2], None], "cut at the end": lambda d: [d[:-1], None], "twice": lambda d: [d, d],
           "more": lambda d: [d, b"VALUE x 0 3\r\nabc\r\nEND\r\n$3\r\nabc\r\n"], "bytes lost": lambda d: [d[:9], d[10:]],
           "longer than told": lambda d: [d.replace(b"\r\n", b"x\r\n", 1)], "byte by byte": lambda d: [d[i:i + 1] for i in range(len(d))]}


@both
@pytest.mark.parametrize("how", sorted(BETWEEN))
def test_between(serve, backend, name, how):
    """Everyone is answered, at once or by the backend, and with what is asked for."""
    with tier(name) as t:
        fill(serve, backend, t, [f"/p/{n}" for n in range(12)])
        with contextlib.closing(Between(t.port, BETWEEN[how])) as between:
            b = serve(config(backend, f"{name}:127.0.0.1:{between.port}"))
            children = b.children()
            for _ in range(2):
                for n in range(12):
                    got = b.get(f"/p/{n}")
                    assert (got.status, got.body) == (200, b"/%d of the backend" % n), (how, n, got)
            wait_until(lambda: has_hit(b, "/p/3"), "it is in memory")
            assert b.request("PURGE", "/p/3").status == 200
            assert b.get("/p/3").body == b"/3 of the backend" and b.children() == children
