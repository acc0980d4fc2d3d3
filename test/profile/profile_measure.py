# SPDX-License-Identifier: Apache-2.0
"""What a request costs: instructions and calls by callgrind, system calls by strace, copied bytes by dhat. Each is the difference of
two states of one server that is warm, divided by the number of requests between them."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time

from profile_site import ANEW, CONFIGURATIONS, SHAPES, Client, Server, Site, is_there

WARM = 40
REQUESTS = {"stored": 1000, "full": 250}  # by configuration; others as full
DUMPED = 60  # of shapes of one request on each connection: callgrind writes a file at each of them
TRACED = 100
TICKS = 40  # of 10 ms: as long as times are measured
AGAIN = 6
OCCASIONAL = {"admission_age"}  # once in some thousand requests: whether it is seen is chance
TIMED = {"epoll_wait"}  # how often depends on when the client's packets come
ALIKE = {"fstat": "newfstatat"}  # what newer C libraries ask of a descriptor, and older ones

# What the report counts calls of, by the name of the called function.
KINDS = {
    "clock reads": r"(__vdso_|__)?(clock_gettime|gettimeofday|time)(_syscall)?(@.*)?$",
    "locks": r"_*pthread_(mutex_(try|timed)?lock|rwlock_(rd|wr|tryrd|trywr)lock|spin_lock)(@.*)?$",
    "strcasecmp": r"_*(strn?casecmp|apr_cstr_casecmp).*",
    "memcpy": r"_*mem(cpy|move|pcpy).*",
    "printf": r"(.*printf.*|apr_vformatter|conv_.*)$",
    "malloc": r"(malloc|calloc|realloc|posix_memalign|aligned_alloc)(@.*)?$",
    "apr_palloc": r"(apr_palloc|apr_pcalloc|apr_palloc_debug)$",
    "pstrdup": r"apr_(pstr(n|mem)?dup|pstrcat|pmemdup)$",
    "table look-ups": r"apr_table_(get|set|setn|merge|mergen|add|addn|unset)$",
    "array pushes": r"apr_array_push(_noclear)?$",
    "cleanups": r"apr_pool_(pre_)?cleanup_register$",
    "brigades": r"apr_brigade_create(_ex)?$",
    "brigade writes": r"apr_brigade_(write|puts|putc|putstrs|vputstrs|writev|printf|vprintf)$",
    "regexes": r"(pcre2_(match|jit_match|dfa_match)(_8)?|regexec)(@.*)?$",
    "realloc": r"realloc(@.*)?$",
    "setsockopt": r"_*setsockopt(@.*)?$",
}


class Profile:
    """Of one shape: instructions by function, calls by caller and callee."""

    def __init__(self):
        self.functions = collections.Counter()
        self.calls = collections.Counter()
        self.below = collections.Counter()  # instructions of calls, with all that is below them, by caller and callee
        self.system_calls = {}
        self.taken = {}  # from the request's pool, by the server's own count: inlined allocations are no calls
        self.status = 0
        self.own_names = frozenset()

    @property
    def instructions(self):
        return sum(self.functions.values())

    @property
    def own(self):
        """Instructions of the program's own functions: without the C library, APR, PCRE2 and OpenSSL."""
        return sum(n for name, n in self.functions.items() if name in self.own_names)

    def calls_of(self, kind):
        wanted = re.compile(KINDS[kind])
        found = collections.Counter()
        for (caller, callee), n in self.calls.items():
            # A wrapper of the same kind (PLT, ifunc, apr_pstrdup calling apr_palloc) does not hide who wants it.
            if wanted.match(callee) and not wanted.match(caller):
                found[caller] += n
        return found


def plain_name(name):
    """Without the number of the recursion, and what the compiler made of a function."""
    return re.sub(r"('\d+|\.(constprop|isra|part|cold|lto_priv)(\.\d+)*)+$", "", name)


def functions_of(program):
    """The names of the functions that the program itself defines."""
    symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    return frozenset(plain_name(fields[2]) for fields in map(str.split, symbols.splitlines()) if len(fields) == 3 and fields[1] in "tTwWi")


def read_callgrind(path, names, events=None):
    """Self cost by function, and calls. @param names  of this server's earlier dumps: they are numbered once
    @param events  the events of a cost line in their order: costs are by (event, function); None: instructions by function"""
    functions, calls, below = collections.Counter(), collections.Counter(), collections.Counter()
    current = callee = None
    skip = False

    def name_of(text):
        number, _, name = text.partition(")")
        if name:
            names[number] = plain_name(name.strip())
        return names[number]

    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("fn="):
                current = name_of(line[3:].rstrip())
            elif line.startswith("cfn="):
                callee = name_of(line[4:].rstrip())
            elif line.startswith("calls="):
                calls[current, callee] += int(line[6:].split()[0])
                skip = True
            elif line[0] in "+-*0123456789":
                costs = line.split()[1:]
                if skip:
                    below[current, callee] += int(costs[0]) if costs else 0
                elif events:
                    functions.update({(event, current): int(n) for event, n in zip(events, costs) if n != "0"})
                elif costs:
                    functions[current] += int(costs[0])
                skip = False
    return functions, calls, below


class Dumps:
    """callgrind writes what it counted since the last time when the server accepts a connection: a mark between requests."""

    reader = staticmethod(read_callgrind)
    OPTIONS = ["--tool=callgrind", "--callgrind-out-file=@ROOT@/cost", "--dump-before=loop_accept", "--vgdb=no"]

    def __init__(self, server, events=None):
        self.server = server
        self.events = events
        self.names = {}
        self.read = 0

    def _count(self):
        n = self.read
        while self._is_whole(f"{self.server.root}/cost.{n + 1}"):
            n += 1
        return n

    def mark(self):
        """@return since the last mark: costs by function; calls, and the costs of these, by caller and callee"""
        before = after = self._count()
        with socket.create_connection(("127.0.0.1", self.server.ports["plain"]), timeout=60) as s:
            until = time.monotonic() + 60
            while after == before:
                if time.monotonic() > until:
                    raise RuntimeError("callgrind wrote no dump: is loop_accept() still called for each new connection?")
                time.sleep(0.01)
                after = self._count()
            # The dump was written before loop_accept() began: it must have ended, or it would accept the next mark as well.
            s.shutdown(socket.SHUT_WR)
            s.recv(1)
        found = collections.Counter(), collections.Counter(), collections.Counter()
        while self.read < after:
            self.read += 1
            for into, more in zip(found, self.reader(f"{self.server.root}/cost.{self.read}", self.names, self.events)):
                into.update(more)
        return found

    @staticmethod
    def _is_whole(path):
        if not os.path.exists(path):
            return False
        with open(path, "rb") as f:
            f.seek(0, os.SEEK_END)
            f.seek(max(0, f.tell() - 200))
            return b"\ntotals:" in f.read()


def count_instructions(site, program, configuration, shapes, into):
    with Server(site, program, configuration, ["valgrind", *Dumps.OPTIONS], patience=180) as server:
        dumps = Dumps(server)
        for shape in shapes:
            requests = DUMPED if shape in ANEW else REQUESTS.get(configuration, REQUESTS["full"])
            client = Client(server, shape)
            client.run(WARM)
            settle(dumps)
            idle = dumps.mark()  # what a mark costs itself
            status = client.run(requests)
            busy = dumps.mark()
            client.close()
            into[shape].status = status
            for to, more, less in zip((into[shape].functions, into[shape].calls, into[shape].below), busy, idle):
                for name, n in more.items():
                    if name not in OCCASIONAL:
                        to[name] += (n - less.get(name, 0)) / requests


def settle(dumps):
    dumps.mark()
    dumps.mark()


def count_system_calls(site, program, configuration, shapes, into):
    with Server(site, program, configuration) as server:
        for shape in shapes:
            client = Client(server, shape)
            client.run(WARM)
            path = f"{server.root}/trace.{shape}"
            tracer = subprocess.Popen(["strace", "-f", "-c", "-o", path, "-p", str(server.process.pid)], stderr=subprocess.PIPE)
            tracer.stderr.readline()  # "Process ... attached"
            into[shape].status = client.run(TRACED)
            tracer.send_signal(signal.SIGINT)
            tracer.communicate()
            client.close()
            into[shape].system_calls = read_strace(path)


TAKEN = """LogFormat "%H %U %{{allocs}}M %{{bytes}}M{zeroed}" taken
CustomLog {root}/taken taken
"""


def count_taken(site, program, configuration, shapes, into):
    """Allocations and bytes of a request, inlined ones included. The log makes a request_rec, so the shapes of stored answers have none."""
    with open(program, "rb") as f:  # older ones, as those of --other, do not have it
        zeroed = " %{{zeroed}}M" if b"%{zeroed}M" in f.read() else ""
    with Server(site, program, configuration, more=TAKEN.replace("{zeroed}", zeroed)) as server:
        for shape in shapes:
            client = Client(server, shape)
            client.run(WARM)
            client.close()
        server.stop()
        with open(f"{server.root}/taken", encoding="utf-8") as f:
            lines = [line.split() for line in f]
    for shape in shapes:
        protocol = "HTTP/2.0" if SHAPES[shape][1].startswith("http2") else "HTTP/1.1"
        found = [tuple(map(int, line[2:5])) for line in lines if line[:2] == [protocol, SHAPES[shape][2]]][WARM // 2:]
        into[shape].taken = dict(zip(("allocations", "bytes", "zeroed"), map(statistics.median_low, zip(*found))))


def read_strace(path):
    """Calls of each kind, per request. What occurs less than once in two requests is of the clock, not of the request."""
    counts = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            fields = line.split()
            if len(fields) >= 5 and fields[-1] != "total" and fields[3].isdigit():
                n = int(fields[3]) / TRACED
                if n >= 0.5 and fields[-1] not in TIMED:
                    call = ALIKE.get(fields[-1], fields[-1])
                    counts[call] = counts.get(call, 0) + round(n)
    return counts


def measure(program, shapes=None):
    """@return {shape: Profile}"""
    into = {shape: Profile() for shape in shapes or SHAPES if is_there(program, shape)}
    own = functions_of(program)
    for profile in into.values():
        profile.own_names = own
    errors = []

    def run(count, configuration):
        try:
            wanted = [s for s in into if SHAPES[s][0] == configuration]
            if wanted:
                count(site, program, configuration, wanted, into)
        except Exception as error:  # of any kind: told by the thread that waits
            errors.append(error)

    with Site() as site:
        threads = [threading.Thread(target=run, args=(count_instructions, c)) for c in CONFIGURATIONS]
        for t in threads:
            t.start()
        for configuration in CONFIGURATIONS:
            run(count_system_calls, configuration)
        for configuration in CONFIGURATIONS[1:]:
            run(count_taken, configuration)
        for t in threads:
            t.join()
        if not errors:
            count_again(site, program, into)
    if errors:
        raise errors[0]
    return into


def count_again(site, program, into):
    """A page that takes two milliseconds on a loop goes to workers. Under valgrind that depends on what else the machine does:
    such a page is counted once more, with nothing beside it, until it stays on the loop."""
    for _ in range(AGAIN):
        if into.get("ssi") is None or not into["ssi"].functions["worker_pool_submit"]:
            return
        profile = Profile()
        profile.own_names, profile.system_calls, profile.taken = into["ssi"].own_names, into["ssi"].system_calls, into["ssi"].taken
        count_instructions(site, program, SHAPES["ssi"][0], ["ssi"], {"ssi": profile})
        if sum(profile.functions.values()) < sum(into["ssi"].functions.values()):
            into["ssi"] = profile


def times_of(pid):
    """(user, system) in ticks, of all threads"""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[11]), int(fields[12])


def user_share(program, shape):
    """Of the processor time of a request, the kernel's included, that of the program: what instructions are a part of."""
    with Site() as site, Server(site, program, SHAPES[shape][0]) as server:
        client = Client(server, shape)
        client.run(WARM)
        before = times_of(server.process.pid)
        user = system = 0
        while user + system < TICKS:
            client.run(TRACED)
            user, system = (now - then for now, then in zip(times_of(server.process.pid), before))
        client.close()
    return user / (user + system)


def copied_bytes(program, shape):
    """Bytes copied per request, by the functions on the way: the program under dhat twice, with a different number of requests."""
    totals = []
    for n in (50, 250):
        with Site() as site, Server(site, program, SHAPES[shape][0], ["valgrind", "--tool=dhat", "--mode=copy", "--dhat-out-file=@ROOT@/copies"], patience=180) as server:
            client = Client(server, shape)
            client.run(n)
            client.close()
            server.stop()
            with open(f"{server.root}/copies", encoding="utf-8") as f:
                totals.append(read_dhat(json.load(f)))
    return {site: (n - totals[0].get(site, 0)) / 200 for site, n in totals[1].items() if n > totals[0].get(site, 0)}


def read_dhat(data):
    sites = collections.Counter()
    for point in data["pps"]:
        way = []
        for frame in point["fs"]:
            found = re.match(r"(?:0x[0-9A-F]+: )?(\S+)", data["ftbl"][frame])
            name = plain_name(found.group(1)) if found else "?"
            if not re.match(r"_*mem(cpy|move|pcpy)|_*st[rp]n?cpy|_*strcat", name) and name not in way:
                way.append(name)
        sites[" < ".join(way[:3])] += point["tb"]
    return sites


def missing_tools():
    return [tool for tool in ("valgrind", "vgdb", "strace", "openssl") if not shutil.which(tool)]


def signature(program, profiles):
    """What instruction counts depend on beside the sources: compiler, C library's variants for this processor, OpenSSL."""
    comment = subprocess.run(["readelf", "-p", ".comment", program], capture_output=True, text=True, check=False).stdout
    compilers = sorted(set(re.findall(r"((?:GCC|clang|Debian clang)[^\n]*)", comment)))
    variants = set()
    for profile in profiles.values():
        variants |= {name for name in profile.functions if re.match(r"_+(mem|str)(?!\w*_chk)\w*_(avx|sse|evex|erms)", name)}
    openssl = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=False).stdout.split()[:2]
    return {"machine": os.uname().machine, "compiler": compilers, "openssl": " ".join(openssl), "variants": sorted(variants)}
