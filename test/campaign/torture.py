#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Truth of the cache under torture: writers change files, links, folders, modes and access files as fast as they can; each
change has a number, and the answer to a request shows of which number it is.

    test/campaign/torture.py --seconds 1800
    test/campaign/torture.py --processes 2 --loops 2 --mounts --seconds 60

What a writer has finished is acknowledged. An answer must not be older than what was acknowledged before its request was
sent, nor newer than what was begun when it arrived; and it must be whole, unless its file is written in place.
"""
import argparse
import collections
import multiprocessing
import os
import random
import re
import subprocess
import sys
import threading
import time

import support
import tree
import tree_requests
import tree_kinds
from http_client import Truncated
from support import brigade

PIECE = b"%06d "
CONFIG = """
MaxKeepAliveRequests 0
DirectoryIndex index.html index.txt
KeepAliveTimeout 60
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory "@ROOT@/htdocs">
Options Indexes FollowSymLinks Includes
AllowOverride All
</Directory>
"""


def contents(n):
    """Of one number from end to end; its length changes, too."""
    return PIECE % n * (20 + n * 37 % 400)


# ---- what is changed: each kind makes version n from version n - 1, and knows what n looks like ----

class Kind:
    in_place = False
    mounts = False
    target = "f.html"

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self.prepare()

    def path(self, name="f.html"):
        return os.path.join(self.folder, name)

    def prepare(self):
        self.put("f.html", 0)

    def put(self, name, n, data=None):
        new = self.path(name) + ".new"
        with open(new, "wb") as f:
            f.write(contents(n) if data is None else data)
        self.settle(new, n)
        os.rename(new, self.path(name))

    @staticmethod
    def settle(path, n):
        """What was written just now is not remembered: its time lies in the past."""
        os.utime(path, (1_000_000_000 + n, 1_000_000_000 + n))

    def link(self, name, target):
        os.symlink(target, self.path(name) + ".new")
        os.rename(self.path(name) + ".new", self.path(name))

    def versions(self, answer):
        """Lowest and highest number that an answer shows."""
        found = {int(w) for w in re.findall(rb"\d{6}(?= )", answer.body)}
        return (min(found), max(found)) if found else None

    def fits(self, answer, low, high):
        if answer.status != 200:
            return f"status {answer.status}"
        seen = self.versions(answer)
        if seen is None:
            return None if self.in_place and low != high else "empty"
        if seen[0] < low:
            return f"old: {seen[0]}"
        if seen[1] > high:
            return f"of the future: {seen[1]}"
        if (seen[0] != seen[1] or self.body(answer) != contents(seen[0])) and not (self.in_place and low != high):
            return "torn"
        return None

    def body(self, answer):
        return answer.body


class Replaced(Kind):
    def change(self, n):
        self.put("f.html", n)


class HardLinked(Kind):
    def change(self, n):
        self.put("g", n)
        os.link(self.path("g"), self.path("h"))
        os.rename(self.path("h"), self.path("f.html"))


class Linked(Kind):
    def prepare(self):
        self.put("v0", 0)
        self.link("f.html", "v0")

    def change(self, n):
        self.put(f"v{n % 3}", n)
        self.link("f.html", f"v{n % 3}")

    def fits(self, answer, low, high):  # a name is used again after three changes
        return super().fits(answer, low, high)


class FolderLink(Kind):
    target = "cur/f.html"

    def prepare(self):
        for i in range(3):
            os.mkdir(self.path(f"d{i}"))
        self.put("d0/f.html", 0)
        self.link("cur", "d0")

    def change(self, n):
        self.put(f"d{n % 3}/f.html", n)
        self.link("cur", f"d{n % 3}")


class Exchanged(Kind):
    target = "d/f.html"

    def prepare(self):
        os.mkdir(self.path("d"))
        os.mkdir(self.path("e"))
        self.put("d/f.html", 0)

    def change(self, n):
        self.put("e/f.html", n)
        tree_kinds.exchange(self.path("d"), self.path("e"))


class Written(Kind):
    in_place = True

    def change(self, n):
        with open(self.path(), "wb") as f:
            f.write(contents(n))
        self.settle(self.path(), n)


class Overwritten(Kind):
    in_place = True

    def change(self, n):
        with open(self.path(), "r+b", buffering=0) as f:
            f.write(contents(n))
            f.truncate()
        self.settle(self.path(), n)


class Large(Replaced):
    def put(self, name, n, data=None):
        super().put(name, n, contents(n) * 40)

    def body(self, answer):
        size = len(answer.body) // 40
        return answer.body[:size] if answer.body == answer.body[:size] * 40 else b""


class Moded(Kind):
    """Even: 200, odd: 403."""

    def change(self, n):
        os.chmod(self.path(), 0 if n % 2 else 0o644)

    def state(self, n):
        return 403 if n % 2 else 200

    def fits(self, answer, low, high):
        return None if answer.status in {self.state(n) for n in range(low, min(high, low + 1) + 1)} else f"status {answer.status}"


class FolderMode(Moded):
    target = "d/f.html"

    def prepare(self):
        os.mkdir(self.path("d"))
        self.put("d/f.html", 0)

    def change(self, n):
        os.chmod(self.path("d"), 0o700 if n % 2 else 0o755)


class Denied(Moded):
    def change(self, n):
        self.put(".htaccess", n, b"Require all denied\n" if n % 2 else b"Require all granted\n")


class DeniedInPlace(Moded):
    """Written in place; half a file is an error, which no one may take for leave."""

    def change(self, n):
        with open(self.path(".htaccess"), "wb", buffering=0) as f:
            f.write(b"Require all denied\n" if n % 2 else b"Require all granted\n")
        self.settle(self.path(".htaccess"), n)

    def fits(self, answer, low, high):
        return None if low != high else super().fits(answer, low, high)


class DeniedThere(Moded):
    """The access file comes and goes."""

    def change(self, n):
        if n % 2:
            self.put(".htaccess", n, b"Require all denied\n")
        else:
            os.unlink(self.path(".htaccess"))


class DeniedAbove(Denied):
    target = "d/e/f.html"

    def prepare(self):
        os.makedirs(self.path("d/e"))
        self.put("d/e/f.html", 0)


class Gone(Moded):
    def change(self, n):
        if n % 2:
            os.rename(self.path(), self.path("away"))
        else:
            os.rename(self.path("away"), self.path())

    def state(self, n):
        return 404 if n % 2 else 200


class AccessFile(Kind):
    def prepare(self):
        super().prepare()
        self.change(0)

    def change(self, n):
        self.put(".htaccess", n, b"Header set X-Version %d\n" % n)

    def fits(self, answer, low, high):
        seen = answer.get(b"X-Version")
        if answer.status != 200 or seen is None:
            return f"status {answer.status}, {seen}"
        return "old" if int(seen) < low else "of the future" if int(seen) > high else None


class Indexed(Kind):
    """Even: index.html shows, odd: it is away, and index.txt shows."""
    target = ""

    def prepare(self):
        self.put("index.html", 0)
        self.put("index.txt", 0, b"second")

    def change(self, n):
        if n % 2:
            os.unlink(self.path("index.html"))
        else:
            self.put("index.html", n)

    def fits(self, answer, low, high):
        if answer.status != 200:  # it may go between the look at it and its opening
            return f"status {answer.status}" if low == high or answer.status not in (403, 404) else None
        if answer.body == b"second":
            return None if low != high or low % 2 else "index.txt in place of index.html"
        if low == high and low % 2:
            return f"index.html, which is gone: {self.versions(answer)}"
        return super().fits(answer, low, high)


class Listed(Kind):
    """A listing: the name of its one file is the number."""
    target = "d/"

    def prepare(self):
        os.mkdir(self.path("d"))
        self.put("d/v000000 ", 0)

    def change(self, n):
        os.rename(self.path(f"d/v{n - 1:06} "), self.path(f"d/v{n:06} "))

    def fits(self, answer, low, high):
        found = re.findall(rb"v(\d{6})", answer.body)
        if answer.status != 200:
            return f"status {answer.status}"
        if not found:
            return None if low != high else "nothing listed"
        return "old" if int(found[0]) < low else "of the future" if int(found[0]) > high else None


class Page(Kind):
    target = "p.shtml"

    def prepare(self):
        self.put("part.html", 0)
        self.put("p.shtml", 0, b'<!--#include virtual="part.html" -->')

    def change(self, n):
        self.put("part.html", n)


class ErrorPage(Kind):
    target = "none.html"

    def prepare(self):
        self.put("e.html", 0)
        self.put(".htaccess", 0, f"ErrorDocument 404 /{os.path.basename(self.folder)}/e.html\n".encode())

    def change(self, n):
        self.put("e.html", n)

    def fits(self, answer, low, high):
        if answer.status != 404:
            return f"status {answer.status}"
        answer.status = 200
        return super().fits(answer, low, high)


class Mounted(Kind):
    """A file is mounted over the file, and unmounted."""
    mounts = True

    def prepare(self):
        super().prepare()
        self.put("g", 0)

    def change(self, n):
        if n % 2:
            self.put("g", n)
            subprocess.run(["mount", "--bind", self.path("g"), self.path()], check=True, capture_output=True)
        else:
            with open(self.path("f2"), "wb") as f:
                f.write(contents(n))
            subprocess.run(["umount", "-l", self.path()], check=True, capture_output=True)
            os.rename(self.path("f2"), self.path())


KINDS = [Replaced, HardLinked, Linked, FolderLink, Exchanged, Written, Overwritten, Large, Moded, FolderMode, Denied, DeniedInPlace, DeniedThere, DeniedAbove, Gone, AccessFile, Indexed, Listed, Page, ErrorPage, Mounted]
# What is known to fail, and the item of issue 10.
MISSED = {}


# ---- writers and readers ----

def writer(kind, at, begun, done, stop, pause):
    n = 0
    rng = random.Random(at)
    while not stop.is_set():
        n += 1
        begun[at] = n
        kind.change(n)
        done[at] = n
        # Now and then long enough for something to be remembered.
        stop.wait(rng.choice([0, 0, pause, pause, pause * 5, pause * 20]))


class Reader:
    def __init__(self, server, kinds, begun, done, seed):
        self.server, self.kinds, self.begun, self.done, self.rng = server, kinds, begun, done, random.Random(seed)
        self.peers, self.tags = [], [{} for _ in kinds]
        self.counts, self.failures = collections.Counter(), []

    def run(self, until, connections):
        self.peers = [tree_requests.Peer(self.server) for _ in range(connections)]
        while time.monotonic() < until:
            for peer in self.peers:
                self.turn(peer)
            if self.rng.random() < 0.05:
                at = self.rng.randrange(len(self.peers))
                self.peers[at].close()
                self.peers[at] = tree_requests.Peer(self.server)
        for peer in self.peers:
            peer.close()

    def turn(self, peer):
        chosen = [self.rng.randrange(len(self.kinds)) for _ in range(self.rng.choice([1, 1, 3]))] * self.rng.choice([1, 1, 2])
        requests, lows = [], []
        for at in chosen:
            tag = self.rng.choice(list(self.tags[at])[-2:]) if self.tags[at] and self.rng.random() < 0.2 else None
            requests.append((at, tag))
        data = b"".join(self.bytes(at, tag) for at, tag in requests)
        lows = [self.done[at] for at in chosen]
        peer.send(data)
        for (at, tag), low in zip(requests, lows):
            try:
                answer = peer.one(False)
            except (Truncated, ConnectionError) as e:
                self.cut(at, low, e)
                self.peers[self.peers.index(peer)] = tree_requests.Peer(self.server)
                return
            self.check(at, tag, low, self.begun[at], answer)

    def cut(self, at, low, error):
        """A file that is cut short while it is sent can only end the connection."""
        self.counts["cut off"] += 1
        if not self.kinds[at].in_place or self.begun[at] == low:
            self.failures.append((type(self.kinds[at]).__name__, f"/{at}/{self.kinds[at].target}: cut off: {error!r:.200}; done {low}, begun {self.begun[at]}"))

    def bytes(self, at, tag):
        condition = f"If-None-Match: {tag}\r\n" if tag else ""
        return f"GET /{at}/{self.kinds[at].target} HTTP/1.1\r\nHost: localhost\r\n{condition}\r\n".encode()

    def check(self, at, tag, low, high, answer):
        kind = self.kinds[at]
        name = type(kind).__name__
        self.counts[name] += 1
        if answer.status == 304:
            answer = self.tags[at][tag]
            self.counts["304"] += 1
        wrong = kind.fits(answer, low, high)
        if wrong:
            self.failures.append((name, f"{name} /{at}/{kind.target}: {wrong}; done before the request {low}, begun at the answer {high}: {answer}{' as 304' if tag else ''}"))
        mine = answer.get(b"ETag")
        if answer.status == 200 and mine and not isinstance(kind, (Moded, AccessFile)) and not mine.startswith("W/"):
            self.tags[at][mine] = answer
            while len(self.tags[at]) > 4:
                self.tags[at].pop(next(iter(self.tags[at])))


def read_all(server, kinds, begun, done, seed, until, connections, results):
    reader = Reader(server, kinds, begun, done, seed)
    try:
        reader.run(until, connections)
    except Exception as e:  # told, and not lost with the process
        reader.failures.append(("reader", f"{type(e).__name__}: {e}"))
    results.put((reader.counts, reader.failures))


def torture(seconds, loops=2, processes=1, readers=2, connections=8, directives="", mounts=False, pause=0.002, only=None, seed=1):
    """(counts, failures by kind, changes)"""
    context = multiprocessing.get_context("fork")
    config = f"EventLoops {loops}\nServerProcesses {processes}\nServerLimit {max(processes, 1)}\n{directives}\n{CONFIG}"
    with brigade.Server(config) as server:
        wanted = [k for k in KINDS if (mounts or not k.mounts) and (not only or re.fullmatch(only, k.__name__))]
        kinds = [k(os.path.join(server.root, "htdocs", str(i))) for i, k in enumerate(wanted)]
        begun, done = context.RawArray("q", len(kinds)), context.RawArray("q", len(kinds))
        results, stop, until = context.Queue(), threading.Event(), time.monotonic() + seconds
        workers = [context.Process(target=read_all, args=(server, kinds, begun, done, seed * 100 + i, until, connections, results)) for i in range(readers)]
        for worker in workers:
            worker.start()
        writers = [threading.Thread(target=writer, args=(k, i, begun, done, stop, pause)) for i, k in enumerate(kinds)]
        for one in writers:
            one.start()
        counts, failures = collections.Counter(), collections.defaultdict(list)
        try:
            for _ in workers:
                some, wrong = results.get(timeout=seconds + 60)
                counts.update(some)
                for name, text in wrong:
                    failures[name].append(text)
        finally:
            stop.set()
            for one in writers:
                one.join()
            for worker in workers:
                worker.join()
            for kind in kinds:
                if kind.mounts:
                    subprocess.run(["umount", "-l", kind.path()], capture_output=True, check=False)
        return counts, failures, sum(done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.002, help="seconds between changes")
    parser.add_argument("--directives", default="")
    parser.add_argument("--only", help="kinds (a pattern)")
    parser.add_argument("--mounts", action="store_true", help="as root: mount over files, too")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.mounts:
        tree.enter_namespace()
    counts, failures, changes = torture(options.seconds, options.loops, options.processes, options.readers, options.connections, options.directives.replace("\\n", "\n"), options.mounts, options.pause, options.only, options.seed)
    print(f"{sum(counts.values()) - counts['304']} answers ({counts['304']} of them 304), {changes} changes: {dict(counts)}")
    bad = [name for name in failures if name not in MISSED]
    for name, texts in failures.items():
        print(f"{name} [{MISSED.get(name, 'NEW')}]: {len(texts)}", *texts[:3], sep="\n    ")
    for name, item in MISSED.items():
        if counts[name] and name not in failures:
            print(f"MENDED [{item}] {name}: take it out of torture.MISSED")
            bad.append(name)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
