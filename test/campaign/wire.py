#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One reading of every request: streams of wire_grammar.py are sent to servers, and what they made of them is compared.

    test/campaign/wire.py --count 100000             all servers that are installed
    test/campaign/wire.py --seed 7 --only 1234       what each makes of one stream
    test/campaign/wire.py --without lighttpd         (it is slow to close)

Compared are: Brigade alone with Apache and nginx alone; Brigade as a proxy with Brigade alone; and, for each proxy, the
bytes that it sent to its back end: what a strict reader finds in them is what Brigade, Apache and nginx find when they get
them on one connection. A disagreement is of one of these classes:

    second reading   both took a request at one place, and it is not the same one, or its body is not
    laxer, stricter  the first took what the second refused, or the other way round
    close            one of them ended the connection without a refusal
    waits            one of them neither answered nor closed
    odd              a proxy sent what no strict reader takes
"""
import argparse
import collections
import concurrent.futures
import re
import sys
import time

import support  # noqa: F401
import wire_grammar
import wire_servers
from wire_differences import KNOWN

ALONE = ("brigade", "apache", "nginx")
LAST = b"GET /s0-end HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
LAST_SEEN = wire_servers.Seen(b"GET", b"/s0-end")
FRONTS = ("brigade", "apache", "nginx", "lighttpd", "h2o")


REFUSED = ("refused", "cut", "dropped")


def compare(a, b, proxy=False):
    """Class of the disagreement and place of it, or None. A proxy may answer for itself."""
    if proxy and len(a.statuses) == len(b.statuses):
        left = iter(b.requests)
        if all(any(x.same(y) for y in left) for x in a.requests):
            return None
    for i, (x, y) in enumerate(zip(a.requests, b.requests)):
        if not x.same(y):
            return "second reading", i
    one, two = len(a.requests), len(b.requests)
    if one == two:
        # The end counts where one went on: refusing what the other waits for is no other reading.
        return None
    short, place = (a, one) if one < two else (b, two)
    long = b if short is a else a
    if short.end in REFUSED and long.end in REFUSED and len(long.requests) == place + 1 and long.statuses[place:place + 1] >= [400]:
        return None  # both refuse it, one of them because of its method and the other because of its body
    if short.end in REFUSED:
        return ("stricter" if short is a else "laxer"), place
    return ("waits" if short.end == "open" else "close"), place


class Finding:
    def __init__(self, pair, kind, stream, detail):
        self.pair, self.kind, self.stream, self.detail = pair, kind, stream, detail

    def known(self):
        """The reason, if it has one."""
        for pair, kind, tag, reason in KNOWN:
            if re.fullmatch(pair, self.pair) and re.fullmatch(kind, self.kind) and tag(self.stream):
                return reason
        return None


class Campaign:
    def __init__(self, seed, alone=ALONE, fronts=FRONTS):
        self.seed, self.counts, self.findings, self.readings = seed, collections.Counter(), [], 0
        self.alone, self.fronts = {}, {}
        self.suspects = []
        self.threads = concurrent.futures.ThreadPoolExecutor(12)  # they wait for servers
        try:
            for kind in alone:
                if wire_servers.there(kind):
                    self.alone[kind] = wire_servers.alone(kind)
            for kind in fronts:
                if wire_servers.there(kind):
                    self.fronts[kind] = wire_servers.front(kind)
        except BaseException:
            self.close(True)
            raise

    def close(self, failed=False):
        self.threads.shutdown()
        for reader in [*self.alone.values(), *self.fronts.values()]:
            reader.close(failed)

    def look(self, stream, **more):
        """(readings by name, [(pair, class, detail)])"""
        found = []
        asked = [{k: self.threads.submit(r.read, stream, **more) for k, r in readers.items()} for readers in (self.alone, self.fronts)]
        alone, fronts = ({k: answer.result() for k, answer in some.items()} for some in asked)
        self.readings += len(alone) + len(fronts)
        ours = alone["brigade"]

        def note(pair, a, b, proxy=False, but=()):
            kind = compare(a, b, proxy)
            if kind and kind[0] not in but:
                found.append((pair, kind[0], f"at {kind[1]}:\n    {a}\n    {b}"))
        for name in alone:
            if name != "brigade":
                note(f"brigade, {name}", ours, alone[name])
        again = {}
        for name, reading in fronts.items():
            if reading.raw and not reading.odd and (len(reading.raw) > 1 or stream.tags):
                data = b"".join(map(self._plain, reading.raw)) + LAST
                again[name] = {back: self.threads.submit(reader.read_bytes, data, **more) for back, reader in self.alone.items()}
        for name, reading in fronts.items():
            if name == "brigade":
                note("brigade >, brigade", reading, ours, proxy=True)
            for odd in reading.odd:
                found.append((f"{name} >", "odd", odd))
            for back, answer in again.get(name, {}).items():
                self.readings += 1
                note(f"{name} > {back}, strict", answer.result(), wire_servers.Reading([*reading.requests, LAST_SEEN], "closed"), but=("stricter",))
        return {**alone, **{f"{k} >": r for k, r in fronts.items()}}, found

    @staticmethod
    def _plain(raw):
        """A request of a proxy, as if it kept its connection to the back end."""
        head, mark, body = raw.partition(b"\r\n\r\n")
        return re.sub(rb"(?i)\r\nConnection: close(?=\r\n|$)", b"", head) + mark + body

    def streams(self, numbers, until=None):
        done = 0
        for number in numbers:
            if until and time.monotonic() > until:
                break
            stream = wire_grammar.Stream(self.seed, number)
            self.take(stream)
            done += 1
        self.confirm()
        return done

    def take(self, stream):
        found = [Finding(pair, kind, stream, detail) for pair, kind, detail in self.look(stream)[1]]
        if all(f.known() for f in found):
            self.count(found)
        else:
            self.suspects.append((stream, {(f.pair, f.kind) for f in found}))

    def count(self, found, none="one reading"):
        self.findings += found
        self.counts.update(f"{f.kind}: {'explained' if f.known() else 'NOT EXPLAINED'}" for f in found)
        if not found:
            self.counts[none] += 1

    def confirm(self):
        """What has no explanation is looked at once more, with patience: a late answer is no other reading."""
        for stream, kinds in self.suspects:
            _, found = self.look(stream, quiet=0.4, patience=4.0)
            self.count([Finding(pair, kind, stream, detail) for pair, kind, detail in found if (pair, kind) in kinds], "one reading, with patience")
        self.suspects = []

    def shrink(self, finding, budget=150):
        """A smaller stream with the same disagreement."""
        stream, best = finding.stream, finding.stream.data
        size = max(1, len(best) // 4)
        while budget > 0:
            at, cut = 0, False
            while at < len(best) and budget > 0:
                stream.data, stream.cut = best[:at] + best[at + size:], None
                budget -= 1
                if stream.data and any((p, k) == (finding.pair, finding.kind) for p, k, _ in self.look(stream)[1]):
                    best, cut = stream.data, True
                else:
                    at += size
            if not cut and size == 1:
                break
            size = size if cut else max(1, size // 2)
        stream.data = best
        return best


def table(findings, known):
    rows = collections.defaultdict(list)
    for f in findings:
        if bool(f.known()) == known:
            rows[(f.pair, f.kind, f.known() or " + ".join(f.stream.tags))].append(f)
    for (pair, kind, why), found in sorted(rows.items(), key=lambda row: row[0]):
        yield f"{len(found):6}  {pair:28} {kind:15} {why}   (as {found[0].stream.number})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="one stream, with all readings")
    parser.add_argument("--seconds", type=float, help="stop then")
    parser.add_argument("--without", default="", help="proxies to leave out, with commas")
    parser.add_argument("--shrink", type=int, default=0, help="print smaller streams for so many that are not explained")
    parser.add_argument("--details", type=int, default=10)
    options = parser.parse_args()
    without = options.without.split(",")
    campaign = Campaign(options.seed, fronts=[f for f in FRONTS if f not in without])
    try:
        if options.only is not None:
            stream = wire_grammar.Stream(options.seed, options.only)
            print(stream.tags, stream.data, sep="\n")
            readings, found = campaign.look(stream, quiet=0.4)
            for name, reading in readings.items():
                print(f"{name:12} {reading}")
            print(*found, sep="\n")
            return 0
        until = time.monotonic() + options.seconds if options.seconds else None
        began, done, told = time.monotonic(), 0, 0
        for first in range(options.first, options.first + options.count, 2000):
            done += campaign.streams(range(first, min(first + 2000, options.first + options.count)), until)
            print(f"{done} streams, {campaign.readings} readings, {time.monotonic() - began:.0f} s, {dict(campaign.counts)}", flush=True)
            for f in [f for f in campaign.findings if not f.known()][told:options.details]:
                print(f"\nstream {f.stream.number} {f.stream.tags} {f.pair}: {f.kind} {f.detail}\n    {f.stream.data!r}"[:3000], flush=True)
                told += 1
            if until and time.monotonic() > until:
                break
        print("Explained:", *table(campaign.findings, True), sep="\n")
        print("Not explained:", *table(campaign.findings, False), sep="\n")
        left = [f for f in campaign.findings if not f.known()]
        shrunk = set()
        for f in left:
            if len(shrunk) < options.shrink and (f.pair, f.kind, *f.stream.tags) not in shrunk:
                shrunk.add((f.pair, f.kind, *f.stream.tags))
                print(f"\n{f.pair} {f.kind} {f.stream.tags}: {campaign.shrink(f)!r}")
        return 1 if left else 0
    finally:
        campaign.close()


if __name__ == "__main__":
    sys.exit(main())
