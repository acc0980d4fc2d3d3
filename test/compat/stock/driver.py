# SPDX-License-Identifier: Apache-2.0
"""Run a configuration and a list of requests on Apache and on Brigade, and compare what came back."""
import functools
import os
import re
import subprocess
import zlib

import brigade
import shared_site
from http_client import Response, Truncated

from . import backends

APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
MODULES = brigade.APACHE_MODULES
AVAILABLE = os.environ.get("APACHE_AVAILABLE", "/etc/apache2/mods-available")


class Case:
    """One module.

    module    its name without mod_
    config    its directives; @D@ is htdocs/<module>, @ROOT@ and @PORT@ as ever
    requests  steps, see Step; a string stands for one
    files     below htdocs/<module>, or anywhere with a leading /
    needs     other modules that have to be loaded before it
    replaces  built into Brigade: the binary takes the place of the built-in module
    unify     (pattern, replacement) for what differs between any two runs, applied to head and body
    logs      name of a log -> pattern that has to be found in it, on both servers, after the requests
    alone     its configuration would change what other modules of the group are asked
    host      of all requests
    programs  what has to be installed besides
    probe     function of a server that talks with it in other ways, and returns a text to be compared
    prepare   function of a server that is about to start
    packaged  names below Debian's mods-available: their .load and .conf files are included, and what these depend on
    first     lines before all others
    files_needed  that have to be there
    prefork   with mpm_prefork
    unframed  how the body is framed depends on how fast a program answers: not compared
    """

    def __init__(self, module, config, requests, files=None, needs=(), replaces=False, unify=(), logs=None, alone=False,
                 host="localhost", name=None, programs=(), unframed=False,
                 probe=None, prepare=None, packaged=(), prefork=False, first="", files_needed=()):
        self.programs, self.unframed, self.probe, self.prepare = list(programs), unframed, probe, prepare
        self.first, self.files_needed = first, list(files_needed)
        self.packaged, self.prefork = list(packaged), prefork
        self.module, self.name, self.config, self.needs, self.replaces = module, name or module, config, list(needs), replaces
        self.requests = [r if isinstance(r, Step) else Step(r) for r in requests]
        self.files, self.unify, self.logs, self.alone, self.host = dict(files or {}), list(unify), dict(logs or {}), alone, host

    def expanded(self):
        return self.config.replace("@D@", f"@ROOT@/htdocs/{self.name}")

    def written(self):
        return {n[1:] if n.startswith("/") else f"{self.name}/{n}": c for n, c in self.files.items()}


class Step:
    """A request: "METHOD TARGET" or "TARGET", below the case's folder unless it begins with /. Headers and body may be
    functions of the responses so far; check is called with the response of both servers; skip_body leaves the body and its
    length out, skip the fields that it names."""

    def __init__(self, line, headers=None, body=b"", check=None, skip_body=False, host=None, version="1.1", unify=(), skip=()):
        method, _, target = line.rpartition(" ")
        self.method, self.target, self.headers, self.body = method or "GET", target, headers or {}, body
        self.check, self.skip_body, self.host, self.version, self.unify = check, skip_body, host, version, list(unify)
        self.skip = ("date", "server", *skip)

    def url(self, case):
        return self.target if self.target.startswith(("/", "*", "http:")) else f"/{case.name}/{self.target}"


@functools.cache
def built_in():
    """What -l lists."""
    return subprocess.run([brigade.BINARY, "-l"], capture_output=True, text=True, check=True).stdout.split()


def loads(cases, apache):
    """LoadModule lines for the modules that the cases need, in order; none twice."""
    lines, seen = [], set(brigade.APACHE_LOADS + brigade.APACHE_LOADS_IF_THERE) if apache else set()
    for case in cases:
        if case.replaces and not apache and f"mod_{case.module}.c" in built_in():
            lines.append(f"BuiltinModule {case.module}_module Off")
    for case in cases:
        for module in [*case.needs, *([] if case.packaged or case.files_needed else [case.module])]:
            if module in seen or not os.path.exists(f"{MODULES}/mod_{module}.so"):
                continue
            if module == "watchdog":
                continue
            seen.add(module)
            lines.append(f"LoadModule {module}_module {MODULES}/mod_{module}.so")
    lines += packaged_loads(cases, apache, seen)
    return "\n".join(lines) + "\n"


def depends(name):
    """What a .load file says that it needs, and itself."""
    if not os.path.exists(f"{AVAILABLE}/{name}.load"):
        return
    with open(f"{AVAILABLE}/{name}.load") as f:
        for line in f:
            match = re.match(r"#\s*Depends:\s*(.*)", line)
            for other in re.split(r"[,\s]+", match[1].strip()) if match else ():
                if other and os.path.exists(f"{AVAILABLE}/{other}.load"):
                    yield from depends(other)
    yield name


def packaged_loads(cases, apache, seen):
    lines = []
    for name in dict.fromkeys(d for case in cases for p in case.packaged for d in depends(p)):
        if name.startswith("mpm_") or name in seen:
            continue
        if apache or f"mod_{name}.c" not in built_in() or name == "unique_id":  # which names requests only where it is loaded
            lines.append(f"Include {AVAILABLE}/{name}.load")
        if any(name in case.packaged for case in cases) and os.path.exists(f"{AVAILABLE}/{name}.conf"):
            lines.append(f"Include {AVAILABLE}/{name}.conf")
    return lines


class StockServer(brigade.Server):
    """With a second port, for TLS or other protocols, and the back ends."""
    backends = None
    tls = 0

    def expand(self, text):
        return super().expand(self.backends.expand(text).replace("@TLS@", str(self.tls)))


def make_server(binary, cases, extra="", behind=None):
    server = StockServer(binary=binary, bare=True, env={"HOME_OF_TEST": "here", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    server.backends, server.tls = behind or backends.Backends(), brigade.free_port()
    model = ""
    if any(case.prefork for case in cases):
        server.mpm = "mpm_prefork"
        model = "" if server.apache else f"LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so\n"
    model += "".join(case.first for case in cases)
    server.config = model + loads(cases, server.apache) + server.preamble() + extra + "".join(c.expanded() for c in cases)
    for case in cases:
        os.makedirs(server.path("htdocs", case.name), exist_ok=True)
        for name, content in case.written().items():
            path = server.write(name, content)
            if not callable(content) and content[:2] in ("#!", b"#!"):
                os.chmod(path, 0o755)
    settle(server.path("htdocs"))
    os.mkdir(server.path("work"))
    os.chmod(server.path("work"), 0o777)
    for case in cases:
        if case.prepare:
            case.prepare(server)
    return server


def settle(top):
    """All files old and of the same age, so that validators are the same."""
    for folder, _, files in os.walk(top, topdown=False):
        for name in files + ["."]:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.utime(path, (shared_site.SETTLED, shared_site.SETTLED))


class Conversation:
    """Requests on connections that are kept as long as the server keeps them."""

    def __init__(self, server):
        self.server, self.client = server, None

    def ask(self, case, step, before):
        headers = step.headers(before) if callable(step.headers) else step.headers
        body = step.body(before) if callable(step.body) else step.body
        for attempt in (0, 1):
            if self.client is None:
                self.client = self.server.connect(min(10, brigade.PATIENCE))
            try:
                response = self.client.request(step.method, step.url(case), headers, body, step.version,
                                               step.host or case.host)
            except (Truncated, ConnectionError, TimeoutError) as e:
                self.end()
                if attempt or isinstance(e, TimeoutError) or (isinstance(e, Truncated) and e.args[0]):
                    return e
                continue
            if "close" in (response["Connection"] or "") or step.version == "1.0":
                self.end()
            return response
        return None

    def end(self):
        if self.client:
            self.client.close()
        self.client = None


def plain_body(response):
    """Compressed bodies may be cut otherwise: what they say is compared."""
    if response["Content-Encoding"] == "gzip" and response.body:
        try:
            return zlib.decompress(response.body, 47)
        except zlib.error:
            pass
    return response.body


def normal(server, case, step, response):
    if not isinstance(response, Response):
        return repr(type(response))
    fields = []
    for name, value in response.headers:
        name = name.lower()
        if name in step.skip:
            continue
        if name in ("allow", "vary"):
            value = ", ".join(sorted(re.split(r"\s*,\s*", value)))
        if name == "content-length" and response["Content-Encoding"]:
            value = "N"
        if name in ("content-length", "transfer-encoding") and (step.skip_body or case.unframed):
            continue
        fields.append((name, unified(server, case, step, value)))
    body = "" if step.skip_body else unified(server, case, step, plain_body(response).decode("latin-1"))
    return response.version, response.status, response.reason, sorted(fields), body


def unified(server, case, step, text):
    text = text.replace(server.root, "@ROOT@").replace(str(server.port), "@PORT@")
    for pattern, replacement in [*case.unify, *step.unify]:
        text = re.sub(pattern, replacement, text)
    return text


def told(apache, brigade_):
    """The difference of two responses, briefly."""
    if isinstance(apache, str) or isinstance(brigade_, str):
        return f"Apache: {apache!r:.300}; Brigade: {brigade_!r:.300}"
    parts = []
    if apache[:3] != brigade_[:3]:
        parts.append(f"{apache[:3]} / {brigade_[:3]}")
    for name, there, other in (("Apache", apache, brigade_), ("Brigade", brigade_, apache)):
        alone = [f for f in there[3] if f not in other[3]]
        if alone:
            parts.append(f"only {name}: {alone}")
    if apache[4] != brigade_[4]:
        at = len(os.path.commonprefix([apache[4], brigade_[4]]))
        parts.append(f"bodies of {len(apache[4])} and {len(brigade_[4])} from {at}: {apache[4][at:at + 200]!r} / {brigade_[4][at:at + 200]!r}")
    return "\n    ".join(parts)


def probed(case, server):
    try:
        text = case.probe(server)
    except (OSError, AssertionError, Truncated) as e:
        text = f"failed: {e!r}"
    return text.replace(server.root, "@ROOT@").replace(str(server.port), "@PORT@").replace(str(server.tls), "@TLS@")


def drive(servers, case):
    """Ask both servers all that the case wants to know; a list of what differs."""
    differences, before = [], [[] for _ in servers]
    conversations = [Conversation(s) for s in servers]
    for step in case.requests:
        answers = []
        for i, server in enumerate(servers):
            response = conversations[i].ask(case, step, before[i])
            before[i].append(response)
            answers.append(normal(server, case, step, response))
            if step.check and isinstance(response, Response):
                problem = step.check(response)
                if problem:
                    differences.append(f"{step.method} {step.url(case)} on {server.binary}: {problem}")
        if answers[0] != answers[1]:
            differences.append(f"{step.method} {step.url(case)}: " + told(*answers))
    for conversation in conversations:
        conversation.end()
    if case.probe:
        seen = [probed(case, s) for s in servers]
        if seen[0] != seen[1]:
            differences.append("probe: " + told(*[("", 0, "", [], t) for t in seen]))
    for log, pattern in case.logs.items():
        for server in servers:
            try:
                server.wait_for_log(pattern, log)
            except AssertionError as e:
                differences.append(f"{server.binary}: {e}")
    return differences


def compare(cases, extra=""):
    """Start both servers with all the cases' configurations, drive each; case -> list of differences."""
    servers, found, behind = [], {}, backends.Backends()
    try:
        for binary in (APACHE, brigade.BINARY):
            servers.append(make_server(binary, cases, extra, behind))
            servers[-1].start()
        for case in cases:
            found[case.name] = drive(servers, case)
            for server in servers:
                if server.process.poll() is not None:
                    found[case.name].append(f"{server.binary} ended:\n{server.error_log()[-2000:].decode(errors='replace')}")
    finally:
        behind.close()
        errors = []
        for server in servers:
            try:
                server.close()
            except AssertionError as e:
                errors.append(f"{server.binary}: {e}")
        if errors:
            found.setdefault(cases[0].name, []).extend(errors)
    return found
