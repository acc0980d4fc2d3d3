#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cache against its own absence: a site changes in random ways, and after each change a server that remembers says
what a server says that remembers nothing (FileCacheEntries 0), and what Apache says.

    test/campaign/tree.py --steps 1000000            a long walk (as root it has a mount namespace of its own)
    test/campaign/tree.py --sweep                    each kind of change alone, on a fresh site
    test/campaign/tree.py --kinds                    the names of the kinds
    test/campaign/tree.py --directives "FileCacheValidate stat"
    test/campaign/tree.py --places                   clients in several networks: Require asn, Require ip, SetEnvIf, conditions
    test/campaign/tree.py --directives "SetOutputFilter BROTLI_COMPRESS;ZSTD_COMPRESS;DEFLATE"

A step is a change and three batches of requests: the first is compared, the next two are met by what it left behind. A
disagreement is shrunk: the fewest changes after which one request still tells it. Kinds in tree_kinds.MISSED are not used
by the walk; the sweep tries them, and tells of those that pass.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib

if __name__ == "__main__":  # a long walk goes on while the machine has other work: nobody waits for it
    os.environ.setdefault("TEST_PATIENCE", "45")
import tree_kinds
import tree_site
from support import brigade
from tree_requests import TARGETS, Answer, Peer, Request, avoided

EPISODE = 150  # steps on one site
POOL = 10  # requests of a batch
PLACES = ["127.0.0.1", "127.1.0.1", "127.2.0.1", "127.0.0.9"]  # of clients, with --places
BY_PLACE = """ASTable file NETWORKS
SetEnvIf Remote_Addr ^127\\.1\\. by_address
SetEnvIf Client_ASN ^64496$ by_network
Header set X-Address yes env=by_address
Header set X-Network yes env=by_network
<If "%{CLIENT_ASN} == '64497'">
    Header set X-If yes
</If>
<LocationMatch "^/(a\\.html|pages/|sub/x|idx/|lchain/|rw/)">
    <RequireAny>
        Require asn 64490-64496
        Require ip 127.2.0.0/16
    </RequireAny>
</LocationMatch>
<LocationMatch "^/(b\\.txt|list/|neg/)">
    <RequireAll>
        Require all granted
        Require not ip 127.0.0.9
        Require not asn 64498
    </RequireAll>
</LocationMatch>
"""


def in_own_namespace():
    """Mounts of the walk are seen by nobody else."""
    return os.geteuid() == 0 and os.environ.get("TREE_NAMESPACE") == "1"


def enter_namespace():
    if os.geteuid() == 0 and not in_own_namespace() and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0:
        os.environ["TREE_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])


# ---- a walk ----

class Servers:
    """Three that serve one site."""

    def __init__(self, site, directives="", apache=True):
        text = site.config()
        self.places = "ASTable" in directives
        loads = "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in tree_site.MODULES if m != "include")
        ours = loads + "EventLoops 1\n" + directives + "\n" + text
        kinds = {"remembering": brigade.Server(ours), "plain": brigade.Server("FileCacheEntries 0\nSSICacheSize 2000\n" + ours)}
        if apache and os.path.exists("/usr/sbin/apache2"):
            kinds["apache"] = brigade.Server(text.replace("ServerLimit 1\n", ""), binary="/usr/sbin/apache2", modules=tree_site.MODULES)
        self.servers, self.peers, self.elsewhere = kinds, {}, {}
        try:
            for name, server in kinds.items():
                server.start()
                self.peers[name] = Peer(server)
        except BaseException:
            self.close(True)
            raise

    def ask(self, name, requests):
        """From the same place for the same requests, whichever server is asked."""
        place = PLACES[zlib.crc32(requests[0].bytes) % len(PLACES)] if self.places and name != "apache" else PLACES[0]
        if place == PLACES[0]:
            return self.peers[name].batch(requests)
        if (name, place) not in self.elsewhere:
            self.elsewhere[name, place] = Peer(self.servers[name], place)
        return self.elsewhere[name, place].batch(requests)

    def close(self, failed=False):
        for peer in [*self.peers.values(), *self.elsewhere.values()]:
            peer.close()
        errors = []
        for server in self.servers.values():
            try:
                server.expect_trouble = failed
                server.close()
            except AssertionError as e:
                errors.append(str(e))
        assert not errors, "\n".join(errors)


class Step:
    """A change that can be made again on another site."""

    def __init__(self, kind, change, name, seed):
        self.kind, self.change, self.name, self.seed = kind, change, name, seed

    def make(self, site):
        """False: there was nothing to change."""
        try:
            self.change(site, self.name, site.path(self.name), random.Random(self.seed))
            return True
        except TimeoutError:
            raise
        except (tree_kinds.Skip, OSError, subprocess.CalledProcessError):
            return False

    def __str__(self):
        return f"{self.kind}: {self.name} ({self.seed})"


def missed(kind, name=""):
    for pattern, (item, _) in tree_kinds.MISSED.items():
        if re.fullmatch(pattern, kind) or re.fullmatch(pattern, f"{kind}: {name}"):
            return item
    return None


class Disagreement(Exception):
    def __init__(self, who, request, one, two):
        super().__init__(f"{request}\n    {who[0]}: {one}\n    {who[1]}: {two}")
        self.who, self.request = who, request


class Walk:
    def __init__(self, seed, directives="", mounts=True, apache=True):
        self.rng, self.directives, self.apache = random.Random(seed), directives, apache
        self.kinds = [k for k in tree_kinds.KINDS if mounts or not re.match("bind|unmount|tmpfs|remount", k[0])]
        self.counts, self.statuses, self.used, self.failures = collections.Counter(), collections.Counter(), collections.Counter(), []
        self.tried = set()
        self.shrink_apache, self.with_apache_shrunk, self.history = 0, [], []
        self.differs, self.samples, self.last = collections.Counter(), {}, None

    def target_of(self, step):
        return self.rng.choice([t for t in tree_site.targets_of(step.name) if not avoided(t)] or TARGETS)

    def next_step(self):
        kind, change, names = self.rng.choice(self.kinds)
        return Step(kind, change, self.rng.choice(names), self.rng.randrange(1 << 30))

    def episode(self, steps, until):
        site = tree_site.Site()
        history, seen = [], {}
        self.history = history
        try:
            servers = Servers(site, self.directives, self.apache)
            try:
                pool = [Request(self.rng, seen) for _ in range(POOL)]
                self.compare(servers, pool, seen)
                done = 0
                while done < steps and time.monotonic() < until:
                    step = self.next_step()
                    if missed(step.kind, step.name) or avoided(step.kind):
                        continue
                    for _ in range(3):
                        pool[self.rng.randrange(POOL)] = Request(self.rng, seen, self.target_of(step), plain=self.rng.random() < 0.6)
                    pool[self.rng.randrange(POOL)] = Request(self.rng, seen)
                    self.compare(servers, pool, seen)
                    if not step.make(site):
                        self.counts["nothing to change"] += 1
                        continue
                    history.append(step)
                    self.last = step
                    self.used[step.kind] += 1
                    self.compare(servers, pool, seen)
                    done += 1
                    self.counts["steps"] += 1
                    if self.rng.random() < 0.3:
                        self.mend(site, history)
            except Disagreement as e:
                servers.close()
                site.remove_all()
                self.failures.append(e)
                self.tell(e, self.shrink(history, e), history)
                return
            except TimeoutError as e:
                servers.close(failed=True)
                self.failures.append(e)
                self.tell(f"no answer in {brigade.PATIENCE:.0f} s", None, history)
                return
            servers.close()
        finally:
            site.remove_all()

    @staticmethod
    def tell(failure, shrunk, history):
        """At once: a long walk is looked at while it goes on."""
        print("\nDISAGREEMENT", failure)
        if shrunk:
            print("after:", *(f"    {s}" for s in shrunk[0]), f"  {shrunk[1]}", sep="\n")
        else:
            print("not shown again; the last of", len(history), "changes:", *(f"    {s}" for s in history[-12:]), sep="\n")
        sys.stdout.flush()

    def mend(self, site, history):
        """So that the site does not decay: something is as it was."""
        kinds = [k for k in self.kinds if k[0].startswith("restore of")]
        kind, change, names = self.rng.choice(kinds)
        step = Step(kind, change, self.rng.choice(names), 0)
        if not missed(step.kind, step.name) and step.make(site):
            history.append(step)

    def compare(self, servers, pool, seen):
        """The first answers are those of what was kept; twice more so that something is kept again."""
        plain = servers.ask("plain", pool)
        for _ in range(3):
            first = servers.ask("remembering", pool)
            for q, a, b in zip(pool, first, plain):
                if not a.same(b) and not self.second_passed(q, a, b):
                    raise Disagreement(("remembering", "plain"), q, a, b)
            self.counts["answers compared"] += len(pool)
        if "apache" in servers.peers:
            for q, a, b in zip(pool, plain, self.ask_apache(servers, pool)):
                if not q.fields and q.method == "GET" and a.with_apache() != b.with_apache():
                    self.differs[(q.target, a.status, b.status)] += 1
                    if (q.target, a.status, b.status) not in self.samples and self.shrink_apache:
                        self.shrink_apache -= 1
                        self.with_apache_shrunk.append(((q.target, a.status, b.status), self.shrink(self.history, Disagreement(("plain", "apache"), q, a, b), fails=self.fails_with_apache)))
                    self.samples.setdefault((q.target, a.status, b.status), f"{a}\n          {b}\n          after {self.last}")
        for q, a in zip(pool, plain):
            self.statuses[a.status] += 1
            self.counts["coded"] += a.get(b"Content-Encoding") is not None
            if a.status == 200:
                seen[q.target] = (a.get(b"ETag") or '"x"', a.get(b"Last-Modified") or "Sun, 09 Sep 2001 01:46:40 GMT")

    @staticmethod
    def second_passed(q, a, b):
        """A file of the future is modified now: what was modified in this second was not when the second server was asked."""
        return any(name == "If-Modified-Since" for name, _ in q.fields) and {a.status, b.status} == {200, 304} and a.fresh() and b.fresh()

    def ask_apache(self, servers, pool):
        """It opens FIFOs, and waits: then it has nothing to say."""
        try:
            servers.peers["apache"].socket.settimeout(1)
            return servers.ask("apache", pool)
        except TimeoutError:
            self.counts["Apache waits"] += 1
            servers.peers["apache"].close()
            servers.peers["apache"] = Peer(servers.servers["apache"])
            return []

    # -- shrinking --

    def fails_with_apache(self, steps, target):
        """The same for Apache, after all of them."""
        site, q = tree_site.Site(), Request(random.Random(0), {}, target, plain=True)
        q.method, q.bytes = "GET", f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        try:
            servers = Servers(site, self.directives)
            try:
                for step in steps:
                    step.make(site)
                a, b = servers.ask("plain", [q])[0], (self.ask_apache(servers, [q]) or [None])[0]
                return Disagreement(("plain", "apache"), q, a, b) if b and a.with_apache() != b.with_apache() else None
            finally:
                servers.close()
        finally:
            site.remove_all()

    def fails(self, steps, target):
        """Do these changes on a fresh site, with one plain request around each, lead to a disagreement?"""
        site = tree_site.Site()
        q = Request(random.Random(0), {}, target, plain=True)
        q.method, q.bytes = "GET", f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        try:
            servers = Servers(site, self.directives, apache=False)
            try:
                for step in [None, *steps]:
                    if step and not step.make(site):
                        continue
                    plain = servers.ask("plain", [q])[0]
                    for _ in range(3):
                        a = servers.ask("remembering", [q])[0]
                        if not a.same(plain):
                            return Disagreement(("remembering", "plain"), q, a, plain)
            finally:
                servers.close()
        finally:
            site.remove_all()
        return None

    def shrink(self, history, failure, budget=40, fails=None):
        """The fewest changes that still show it; None if it does not show again."""
        fails = fails or self.fails
        target, steps, found = failure.request.target, list(history), None
        for size in (1, 2, 4, 8, 16, len(history)):
            budget -= 1
            found = fails(steps[-size:], target)
            if found:
                steps = steps[-size:]
                break
        if not found:
            return None
        size = max(1, len(steps) // 2)
        while budget > 0:
            cut, at = False, 0
            while at < len(steps) and budget > 0 and len(steps) > 1:
                fewer = steps[:at] + steps[at + size:]
                budget -= 1
                again = fails(fewer, target)
                if again:
                    steps, found, cut = fewer, again, True
                else:
                    at += size
            if size == 1 and not cut:
                break
            size = max(1, size // 2)
        return steps, found

    # -- each kind alone --

    def sweep(self, until, only=None, all_names=False):
        """kind -> what was missed, each on the plan as it is, with all its targets warm."""
        results, passed = collections.defaultdict(list), collections.Counter()
        work = [(kind, change, name) for kind, change, names in self.kinds for name in (names if all_names or only else [self.rng.choice(names)]) if not only or re.search(only, f"{kind}: {name}")]
        self.rng.shuffle(work)
        examples = {example for _, example in tree_kinds.MISSED.values()}
        first = [(kind, change, name) for kind, change, names in self.kinds for name in names if f"{kind}: {name}" in examples]
        if not only:
            assert not in_own_namespace() or len(first) == len(examples), "an example in MISSED is no kind"
            work = [*first, *(w for w in work if w not in first)]
        state = None
        try:
            for kind, change, name in work:
                if time.monotonic() > until:
                    break
                if state is None:
                    site = tree_site.Site()
                    site.visible = True
                    state = (site, Servers(site, self.directives, apache=False))
                if self.sweep_one(*state, Step(kind, change, name, self.rng.randrange(1 << 30)), results, passed):
                    self.undo(site)
                else:
                    state[1].close(failed=True)
                    site.remove_all()
                    state = None
        finally:
            if state:
                state[1].close()
                state[0].remove_all()
        return results, passed

    def sweep_one(self, site, servers, step, results, passed):
        """False: the servers are not fit for the next."""
        label = f"{step.kind}: {step.name}"
        for peer in servers.peers.values():
            peer.socket.settimeout(3)
        try:
            prepared = self.prepare(site, step.kind, step.name)
            pool = [Request(random.Random(1), {}, t, plain=True) for t in tree_site.targets_of(step.name)]
            for _ in range(4):
                before = servers.ask("remembering", pool)
            if not all(map(Answer.same, before, servers.ask("plain", pool))):
                results[f"{label}, before it"].append(f"{pool[0]}: {before}")
                return False
            if not step.make(site):
                return True
            passed[step.kind] += 1
            self.tried.add(label)
            plain = servers.ask("plain", pool)
            for time_ in (1, 2, 3):
                for q, a, b in zip(pool, servers.ask("remembering", pool), plain):
                    if not a.same(b):
                        results[label].append(f"{q} ({time_}. time{prepared})\n    remembering: {a}\n    plain: {b}")
                if label in results:
                    return False
            return True
        except TimeoutError:
            results[label].append(f"no answer to one of {[str(q) for q in pool]}")
            return False

    def prepare(self, site, kind, name):
        """What must have been done before such a kind can be."""
        def first(op_kind, ops):
            Step(op_kind, ops, name, 1).make(site)
            return f", after {op_kind}"
        if kind.startswith("move back"):
            return first("move away", tree_kinds.move_away)
        if kind.startswith(("unmount", "remount")) and in_own_namespace():
            return first("bind", tree_kinds.bind_folder if os.path.isdir(site.path(name)) else tree_kinds.bind_file)
        op = kind.split(" of ")[0]
        if "that was not there" in kind and op not in ("create", "arrives whole"):
            os.makedirs(os.path.dirname(site.path(name)), exist_ok=True)
        if name not in tree_site.PLAN and not os.path.lexists(site.path(name)) and op not in ("write", "replace", "hard link", "O_TMPFILE", "create", "FIFO", "socket") and not op.startswith("link "):
            os.makedirs(os.path.dirname(site.path(name)), exist_ok=True)
            return first("write", tree_kinds.write) if "folder" not in kind.split(" of ")[1] else first("create", lambda s, n, p, r: os.makedirs(p))
        if name in tree_site.PLAN and tree_site.PLAN[name].startswith("-> ") and op == "restore":
            return first("unlink", tree_kinds.unlink)
        return ""

    @staticmethod
    def undo(site):
        """The plan again."""
        site.unmount()
        for top in os.listdir(site.root):
            site.remove(site.path(top))
        site.clock = tree_site.OLD
        for name in tree_site.PLAN:
            site.restore(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--directives", default="")
    parser.add_argument("--places", action="store_true", help="clients in several networks, and rules that tell them apart")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--only", help="kinds (a pattern), with --sweep")
    parser.add_argument("--all-names", action="store_true", help="with --sweep: each kind with all that it can be done to")
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--most", type=int, default=20, help="stop after so many disagreements")
    parser.add_argument("--shrink-apache", type=int, default=0, help="find the fewest changes for so many differences from Apache")
    parser.add_argument("--no-apache", action="store_true")
    options = parser.parse_args()
    if options.kinds:
        print(*(f"{kind}  [{missed(kind) or ''}]" for kind, _, _ in tree_kinds.KINDS), sep="\n")
        return 0
    enter_namespace()
    if options.places:
        networks = tempfile.NamedTemporaryFile("w", suffix=".txt")  # pylint: disable=consider-using-with
        networks.write("127.0.0.0/16 64496\n127.1.0.0/16 64497\n")
        networks.flush()
        os.chmod(networks.name, 0o644)
        options.directives += "\n" + BY_PLACE.replace("NETWORKS", networks.name)
        options.no_apache = True
    os.umask(0o022)
    began = time.monotonic()
    until = began + options.seconds
    walk = Walk(options.seed, options.directives.replace("\\n", "\n"), mounts=in_own_namespace(), apache=not options.no_apache)
    walk.shrink_apache = options.shrink_apache
    if options.sweep:
        return sweep(walk, until, options)
    while walk.counts["steps"] < options.steps and time.monotonic() < until and len(walk.failures) < options.most:
        walk.episode(min(EPISODE, options.steps - walk.counts["steps"]), until)
        print(f"{walk.counts['steps']} steps of {len(walk.used)} kinds, {walk.counts['answers compared']} answers, {time.monotonic() - began:.0f} s, {len(walk.failures)} disagreements", flush=True)
    print(f"answers by status: {dict(sorted(walk.statuses.items()))}; {walk.counts['coded']} in a coding")
    for key, shrunk in walk.with_apache_shrunk:
        print("\nOtherwise in Apache:", key, *(["after:", *(f"    {s}" for s in shrunk[0]), f"  {shrunk[1]}"] if shrunk else ["(not shown again)"]), sep="\n")
    if walk.differs:
        print("\nOtherwise in Apache:", *(f"    {n:5} {key[0]}: {key[1]}, Apache {key[2]}\n          {walk.samples[key]}" for key, n in walk.differs.most_common(40)), sep="\n")
    return 1 if walk.failures else 0


def sweep(walk, until, options):
    results, passed = walk.sweep(until, options.only, options.all_names)
    bad = 0
    for kind, found in sorted(results.items()):
        item = missed(*kind.removesuffix(", before it").split(": "))
        bad += not item
        print(f"MISSED [{item or 'NEW'}] {kind}\n  {found[0]}")
    for pattern, (item, example) in tree_kinds.MISSED.items():
        if example in walk.tried and example not in results:
            print(f"MENDED [{item}] {example}: take {pattern} out of tree_kinds.MISSED")
            bad += 1
    print(f"{sum(passed.values())} changes of {len(passed)} kinds, {len(results)} missed, {bad} of them not expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
