# SPDX-License-Identifier: Apache-2.0
"""Small configurations, one behaviour each: Apache and Brigade must answer and log the same.

cases/*.json hold lists of cases:

    name      unique in its file
    conf      lines of configuration; ${SITE} (documents), ${LOGS}, ${PORT} and ${TYPES} are defined in it
    files     name below ${SITE} -> content, {"size": bytes}, {"script": text} or {"link": target}
    htaccess  folder below ${SITE} -> content of its .htaccess
    load      modules that both load, where they are not built in;  unload: that neither has
    requests  path, method, headers, body; or raw, the bytes to send. Without any, `-t` is compared.
    logs      names below ${LOGS} to compare;  lognorm: [pattern, replacement] for their lines
    noerrlog  the error log is not compared
    volatile  bodies of responses are not compared

All requests are sent ROUNDS times, since Brigade may answer a later one from memory. What differs on purpose is in
differences.py, CASES.
"""
import atexit
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import pytest

import brigade
from differences import CASES
from http_client import request_bytes, split_responses
from test_compare import APACHE, methods, normal, pytestmark  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 3
# Modules that a configuration with such a word needs.
NEEDED = {
    r"\b(Auth(Type|Name|UserFile|BasicProvider)|Require (not )?(user|valid-user|group))\b":
        ["authn_core", "authn_file", "authz_user", "authz_groupfile", "auth_basic"],
    r"\bRemoteIP": ["remoteip"],
}
SETTLED = 1_000_000_000

BASE = """ServerRoot @ROOT@
PidFile @ROOT@/logs/httpd.pid
Define SITE @ROOT@/htdocs
Define LOGS @ROOT@/logs
Define PORT @PORT@
Define TYPES @ROOT@/conf/mime.types
Include conf/modules.conf
Listen 127.0.0.1:@PORT@
ServerName localhost
ErrorLog @ROOT@/logs/error_log
DocumentRoot @ROOT@/htdocs
TypesConfig @ROOT@/conf/mime.types
%s<Directory @ROOT@/htdocs>
    AllowOverride All
</Directory>
"""


def all_cases():
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.json"))):
        file = os.path.basename(path)[:-len(".json")]
        with open(path) as f:
            found += [pytest.param(case, id=f"{file}/{case['name']}") for case in json.load(f)]
    return found


def user_lines():
    if os.geteuid():
        return ""
    user = brigade.unprivileged_user()
    return f"User {user}\nGroup {'www-data' if user == 'www-data' else 'nogroup'}\n"


@functools.lru_cache(maxsize=None)
def own_module(name, apache):
    """A module of modules/, built for one of the servers."""
    if not shutil.which("cc"):
        pytest.skip("there is no compiler")
    folder = tempfile.mkdtemp(prefix="brigade-modules-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder, True)
    headers = "/usr/include/apache2" if apache else os.path.join(brigade.REPOSITORY, "include")
    if not os.path.exists(f"{headers}/httpd.h"):
        pytest.skip(f"{headers}/httpd.h is not there")
    flags = subprocess.check_output(["pkg-config", "--cflags", "apr-1", "apr-util-1"], text=True).split()
    path = f"{folder}/mod_{name}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{headers}", *flags, "-o", path,
                    os.path.join(HERE, "modules", f"mod_{name}.c")], check=True)
    return path


def load_line(name, apache):
    own = os.path.exists(os.path.join(HERE, "modules", f"mod_{name}.c"))
    return f"LoadModule {name}_module {own_module(name, apache) if own else f'{brigade.APACHE_MODULES}/mod_{name}.so'}"


def module_lines(case, apache):
    """LoadModule lines; for Apache also of what Brigade has built in."""
    unload = case.get("unload", [])
    wanted = list(case.get("load", []))
    text = "\n".join([*case["conf"], *case.get("htaccess", {}).values()])
    for pattern, modules in NEEDED.items():
        if re.search(pattern, text):
            wanted += [m for m in modules if m not in wanted]
    if apache:
        built_in = ["mpm_event"] + brigade.APACHE_LOADS + brigade.APACHE_LOADS_IF_THERE + ["include"]
        wanted = [m for m in built_in + [w for w in wanted if w not in built_in] if m not in unload]
        wanted = [m for m in wanted if os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so")
                  or os.path.exists(os.path.join(HERE, "modules", f"mod_{m}.c"))]
        lines = [load_line(m, apache) for m in wanted]
        lines += ["Mutex file:@ROOT@/logs default", "TraceEnable Off"]
    else:
        lines = ["EventLoops 1"]  # so that lines of logs come in the order of the requests
        lines += [f"BuiltinModule {m}_module Off" for m in unload]
        lines += [load_line(m, apache) for m in wanted]
    return "\n".join(lines) + "\n"


def settle(server):
    """All documents are old, so that entity tags are strong and listings the same."""
    for folder, names, files in os.walk(server.path("htdocs")):
        for name in names + files:
            os.utime(os.path.join(folder, name), (SETTLED, SETTLED), follow_symlinks=False)
    os.utime(server.path("htdocs"), (SETTLED, SETTLED))


def sparse(path, size):
    with open(path, "wb") as f:
        f.truncate(size)


def script(path, text):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o755)


def content(what):
    if not isinstance(what, dict):
        return what
    if "size" in what:
        return lambda path: sparse(path, what["size"])
    if "script" in what:
        return lambda path: script(path, what["script"])
    return lambda path: os.symlink(what["link"], path)


def make(case, binary):
    server = brigade.Server(BASE % user_lines() + "\n".join(case["conf"]) + "\n", bare=True, binary=binary, modules=None)
    for name, what in case.get("files", {}).items():
        server.write(name, content(what))
    for name, text in case.get("htaccess", {}).items():
        server.write(name if name.endswith(".htaccess") else f"{name}/.htaccess", text)
    settle(server)
    lines = module_lines(case, server.apache)
    server.write("modules.conf", lines.replace("@ROOT@", server.root), base="conf")
    return server


def exchange(request):
    if "raw" in request:
        return request["raw"].encode("latin-1", "surrogateescape")
    headers = {"Connection": "close", **request.get("headers", {})}
    method = request.get("method", "GET")
    return request_bytes(method, request["path"], headers, request.get("body", "").encode())


class Result:
    """What one server made of a case."""

    def __init__(self, case, binary):
        self.case, self.answers, self.logs, self.checked = case, [], {}, None
        self.server = server = make(case, binary)
        try:
            if not case.get("requests") or not self.started():
                self.check()
                return
            try:
                for _ in range(ROUNDS):
                    self.answers += [self.ask(r) for r in case["requests"]]
            except ConnectionRefusedError:  # it ended after it had listened
                self.check()
                return
            # Programs behind piped logs are told to end with the server, whether they have read all or not.
            for name in case.get("logs", []) if any("|" in line for line in case["conf"]) else []:
                self.wait_for_pipe(name)
            server.stop()
            server.check_logs()
            self.read_logs()
        finally:
            server.expect_trouble = True
            server.close()

    def started(self):
        try:
            self.server.start()
            return True
        except AssertionError:
            return False

    def clean(self, text):
        """Without what differs from server to server and from run to run."""
        text = text.replace(self.server.root, "ROOT").replace(str(self.server.port), "PORT")
        text = re.sub(r"; did you mean '[^']*'\?|; write [^\n]*", "", text)  # Apache does not ask, and helps nobody
        text = re.sub(r"(\.htaccess):\d+: ", r"\1: ", text)
        text = re.sub(r"\bD=\d+", "D=N", text)  # a duration, as %D of mod_headers shows it
        text = re.sub(r"(Apache|Brigade)/[\d.]+( \((Debian|Unix)\))?", "SERVER", text)
        return re.sub(r"\b(client|PORT\] \[client) 127\.0\.0\.1:\d+", r"\1 CLIENT", text)

    def ask(self, request):
        data = exchange(request)
        answers = [normal(r) for r in split_responses(self.server.raw(data), methods(data))]
        kept = []
        for answer in answers:
            if isinstance(answer, tuple):
                version, status, reason, fields, body, trailers = answer
                body = "" if self.case.get("volatile") else self.clean(body.decode("latin-1"))
                fields = [(n, self.clean(v)) for n, v in fields
                          if not (self.case.get("volatile") and n == "content-length")]
                # The text of a page may have the length of a path or a name of a server in it.
                if any(mark in body for mark in ("ROOT", "PORT", "SERVER")):
                    fields = [(n, "LENGTH" if n == "content-length" else v) for n, v in fields]
                answer = (version, status, reason, fields, body, trailers)
            kept.append(answer)
        return f"{request.get('method', 'GET')} {request['path']}", kept

    def check(self):
        """The words of -t. Brigade's tries out a start: see fails_as_tried()."""
        done = self.server.run("-t")
        text = self.clean(done.stderr.decode(errors="replace"))
        lines = [re.sub(r"^\[[^\]]*\] \[[^\]]*\] \[[^\]]*\] ", "", line) for line in text.splitlines()
                 if "built in, so the file of LoadModule" not in line]
        self.checked = done.returncode, lines

    def fails_as_tried(self, checked):
        """A start of Apache fails, for the reason that a trial of Brigade's names behind the line that is at fault."""
        status, lines = checked
        found = re.fullmatch(r"brigade: a start would fail: .* on line \d+ of \S+: (.*)", lines[-1]) if lines else None
        if not status or not found:
            return False
        server = self.server = make(self.case, APACHE)
        try:
            return not self.started() and found[1] in self.clean(server.error_log().decode(errors="replace"))
        finally:
            server.expect_trouble = True
            server.close()

    def read_logs(self):
        for name in self.case.get("logs", []):
            if any("|" in line for line in self.case["conf"]):
                self.wait_for_pipe(name)
            text = self.clean(self.server.read(f"logs/{name}").decode("latin-1"))
            for pattern, replacement in self.case.get("lognorm", []):
                text = re.sub(pattern, replacement, text)
            self.logs[name] = text.splitlines()
        if not self.case.get("noerrlog"):
            self.logs["error_log"] = self.error_lines()

    def wait_for_pipe(self, name):
        """A program behind a piped log may outlive its server for a moment."""
        wanted = ROUNDS * len(self.case["requests"])
        for _ in range(100):
            if len(self.server.read(f"logs/{name}").splitlines()) >= wanted:
                return
            time.sleep(0.01)

    def error_lines(self):
        """Lines about requests: what is said of the start and the end of a server is its own."""
        lines = []
        for line in self.server.read("logs/error_log").decode("latin-1").splitlines():
            found = re.match(r"\[[^\]]*\] (\[[^\]]*\]) \[pid [^\]]*\] (.*\[client .*)", line)
            if found:
                text = re.sub(r"^((?:\(\d+\)[^:]*: )?)\w+\.c\(\d+\): ", r"\1", found[2])
                if re.search("AH01(630|631|797):", text):  # the line that refuses stands behind these
                    text = re.sub(r" (\(\S+:\d+: (?i:require|order|deny) .*\))?(?=, referer: |$)", "", text)
                lines.append(self.clean(f"{found[1]} {text}"))
        return lines


def differences_of(apache, ours):
    if apache.checked != ours.checked and not apache.fails_as_tried(ours.checked):
        yield f"-t\n  Apache:  {apache.checked}\n  Brigade: {ours.checked}"
    for theirs, mine in zip(apache.answers, ours.answers):
        if theirs != mine:
            yield f"{theirs[0]}\n  Apache:  {theirs[1]}\n  Brigade: {mine[1]}"
    for name, lines in apache.logs.items():
        if lines != ours.logs.get(name):
            for theirs, mine in zip(lines + ["(none)"] * 99, ours.logs.get(name, []) + ["(none)"] * 99):
                if theirs != mine:
                    yield f"{name}\n  Apache:  {theirs}\n  Brigade: {mine}"
                    break


def listed(name):
    for key, (pattern, _) in CASES.items():
        if re.search(pattern, name):
            return key
    return None


@pytest.mark.parametrize("case", all_cases())
def test_same_behaviour(case, request):
    key = listed(request.node.callspec.id)
    differ = list(differences_of(Result(case, APACHE), Result(case, brigade.BINARY)))
    if key:
        assert differ, f"listed as a difference ({key}), but both do the same"
    else:
        assert not differ, "\n".join([f"{len(differ)} differences"] + differ[:6])


@pytest.mark.parametrize("key", CASES)
def test_a_case_shows_the_difference(key):
    assert [p.id for p in all_cases() if re.search(CASES[key][0], p.id)]
