# SPDX-License-Identifier: Apache-2.0
"""Start a server for a test, and end it.

    with Server("AddType text/x-y .y\\n", files={"a.y": "A"}) as server:
        assert server.get("/a.y").body == b"A"

The binary is $BRIGADE, by default out/release/brigade. It may also be Debian's apache2: the tests describe
behaviour that both share, and a test that only one of them can pass says so with `only`.
"""
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from either_client import EitherClient, protocol_of
import held
from h2_client import can_say
from http_client import Client, raw_exchange
import ports
from ports import free_port

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BINARY = os.path.abspath(os.environ.get("BRIGADE") or os.path.join(REPOSITORY, "out", "release", "brigade"))
APACHE_MODULES = os.environ.get("APACHE_MODULES", "/usr/lib/apache2/modules")

# A memory system for requests, in every server that the tests start: "tracking arena".
MEMORY = os.environ.get("TEST_MEMORY", "")

# Sanitizers make everything slower, and so may the machine.
PATIENCE = float(os.environ.get("TEST_PATIENCE", "20"))

# "On": every server that the tests start has its processes in the sandbox. Tests of links that leave a root, and of scripts,
# fail then, as they should.
SANDBOX = os.environ.get("TEST_SANDBOX", "")

# What must never be in a log.
TROUBLE = re.compile(rb"AddressSanitizer|ThreadSanitizer|LeakSanitizer|MemorySanitizer|runtime error:"
                     rb"|[Aa]ssertion|exit signal|core dump|Segmentation fault|AH00051|AH00052|BRG_")

# Modules of Apache that stand for what is built into Brigade.
APACHE_LOADS = ["authz_core", "authz_host", "access_compat", "dir", "mime", "alias", "env", "setenvif",
                "headers", "expires", "filter", "reqtimeout", "autoindex", "status"]
APACHE_LOADS_IF_THERE = ["log_config", "unixd", "version"]


def is_apache(binary):
    return os.path.basename(binary).startswith(("apache2", "httpd"))


def unprivileged_user():
    """Name of a user to serve as, when the tests run as root."""
    for name in ("www-data", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError("no unprivileged user")


def wait_until(condition, what="condition", seconds=None):
    """Poll until condition() is true, and return its value."""
    deadline = time.monotonic() + (seconds or PATIENCE)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        threading.Event().wait(0.005)


def memory_arguments(spec):
    """What a command line says for `MemorySystem request SPEC`, before any line of the configuration."""
    arguments = []
    for kind in ("jemalloc", "mimalloc"):
        if kind in spec:
            module = os.path.join(os.path.dirname(os.path.abspath(BINARY)), "modules", f"sms_{kind}.so")
            arguments += ["-C", f'LoadModule sms_{kind}_module "{module}"']
    return arguments + ["-C", f"MemorySystem request {spec}"] if spec else []


def skip_without_modules(config):
    """A configuration that loads one of Apache's modules wants apache2 installed: skip the test where it is not."""
    for path in re.findall(rf"^\s*LoadModule\s+\S+\s+({re.escape(APACHE_MODULES)}/\S+\.so)", config, re.MULTILINE):
        if not os.path.exists(path):
            import pytest  # the benches, which use this file too, do without
            pytest.skip(f"{path} is not installed")


def apache_preamble(binary_modules=None, mpm="mpm_event"):
    lines = [f"LoadModule {m}_module {APACHE_MODULES}/mod_{m}.so" for m in [mpm, *APACHE_LOADS, *(binary_modules or [])]]
    for module in APACHE_LOADS_IF_THERE:
        if os.path.exists(f"{APACHE_MODULES}/mod_{module}.so"):
            lines.append(f"LoadModule {module}_module {APACHE_MODULES}/mod_{module}.so")
    lines.append("Mutex file:@ROOT@/logs default")
    lines.append("TraceEnable Off")
    return "\n".join(lines) + "\n"


class Server:
    """A running server with a folder of its own: conf/, logs/, htdocs/.

    config    lines of configuration; @ROOT@ and @PORT@ are replaced
    files     name below htdocs -> content (str, bytes), or a function that gets the path
    args      further arguments of the command line
    bare      the configuration is complete, add nothing to it
    modules   that Apache loads besides those that Brigade has built in; None: none at all
    pages     BuiltinPages, before any line of the configuration; None: not said
    limits    resource limits, such as {resource.RLIMIT_NOFILE: 64}, or (soft, hard) in place of the number
    """
    mpm = "mpm_event"  # that Apache loads

    def __init__(self, config="", files=None, args=(), bare=False, binary=None, modules=(), env=None, wait=True,
                 address="127.0.0.1", limits=None, pages="apache"):
        self.binary = binary or BINARY
        self.apache = is_apache(self.binary)
        self.config, self.args, self.bare, self.modules = config, list(args), bare, modules
        self.env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=66",
                    "TSAN_OPTIONS": "exitcode=66:halt_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1", **(env or {})}
        if SANDBOX:
            self.env.setdefault("TMPDIR", "/var/tmp")  # not the folder above those of tests
        self.address, self.wait, self.limits, self.pages = address, wait, limits or {}, pages
        self.expect_trouble = self.is_started = False
        self.process = None
        self.root = tempfile.mkdtemp(prefix="brigade-test-")
        os.chmod(self.root, 0o755)
        for sub in ("conf", "logs", "htdocs"):
            os.mkdir(os.path.join(self.root, sub))
        for name, content in (files or {}).items():
            self.write(name, content)

    # -- files ---------------------------------------------------------------------------------------------

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def write(self, name, content, base="htdocs"):
        path = name if os.path.isabs(name) else self.path(base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if callable(content):
            content(path)
        else:
            with open(path, "wb") as f:
                f.write(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name):
        try:
            with open(self.path(name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return b""

    def error_log(self):
        return self.read("logs/error_log") + self.read("logs/stderr")

    def wait_for_log(self, pattern, name="logs/error_log", seconds=None):
        """Wait for a line in a log (seconds=None: PATIENCE); return the match."""
        wanted = re.compile(pattern.encode() if isinstance(pattern, str) else pattern)
        try:
            return wait_until(lambda: wanted.search(self.read(name)), f"{pattern!r} in {name}", seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}:\n{self.read(name).decode(errors='replace')[-3000:]}") from None

    # -- configuration -------------------------------------------------------------------------------------

    def preamble(self):
        lines = ["ServerRoot @ROOT@", "PidFile @ROOT@/logs/httpd.pid", f"Listen {self.address}:@PORT@",
                 "ServerName localhost", "ErrorLog @ROOT@/logs/error_log", "LogLevel info",
                 "DocumentRoot @ROOT@/htdocs", "TypesConfig @ROOT@/conf/mime.types",
                 "<Directory />", "    AllowOverride None", "    Require all denied", "</Directory>",
                 "<Directory @ROOT@/htdocs>", "    Options Indexes FollowSymLinks", "    AllowOverride All",
                 "    Require all granted", "</Directory>"]
        if protocol := protocol_of(self):
            protocol.prepare(self)
            lines.append(protocol.LINES)
        if os.geteuid() == 0:
            user = unprivileged_user()
            group = "www-data" if user == "www-data" else "nogroup"
            lines += [f"User {user}", f"Group {group}"]
        return "\n".join(lines) + "\n"

    def expand(self, text):
        return text.replace("@ROOT@", self.root).replace("@PORT@", str(self.port)).replace(
            "@MODULES@", APACHE_MODULES)

    def write_config(self, config=None):
        """Write conf/httpd.conf, also for a reload."""
        if config is not None and self.process and self.process.poll() is None:
            self.raw(b"GET / HTTP/1.0\r\n\r\n")  # a start reads the configuration twice: let it be over
        if config is not None:
            self.config = config
        text = self.config if self.bare else self.preamble() + self.config
        if self.apache and self.modules is not None:
            text = apache_preamble(self.modules, self.mpm) + text
        skip_without_modules(self.expand(text))
        if re.search(r"^\s*Sandbox (On|Required)$", text, re.M):
            self.env["ASAN_OPTIONS"] += ":detect_leaks=0"  # they are looked for by ptrace, which the sandbox refuses
        self.write("httpd.conf", self.expand(text), base="conf")
        if not os.path.exists(self.path("conf/mime.types")):
            shutil.copy(os.path.join(os.path.dirname(__file__), "mime.types"), self.path("conf/mime.types"))

    def command(self, *args):
        memory = [] if self.apache or "-t" in args else memory_arguments(MEMORY)
        if SANDBOX and not self.apache:
            scripts = f"{self.path('htdocs')} {self.path('cgi')}" if "cgi" in self.config else ""
            memory += ["-C", f"Sandbox {SANDBOX}", "-C", f"SandboxAllow exec /bin /usr/bin {scripts}", "-C", "SandboxAllow read /proc"]
        # Tests that load one of Apache's modules expect what is built in to be there without a line of its own.
        built_in = [] if self.apache else ["-C", "BuiltinModules all"]
        if self.pages and not self.apache:
            built_in += ["-C", f"BuiltinPages {self.pages}"]
        return [self.binary, "-d", self.root, "-f", self.path("conf/httpd.conf"), *built_in, *memory, *args]

    def run(self, *args, port=None):
        """Run the program once with this configuration, such as with -t; a CompletedProcess."""
        self.port = port or getattr(self, "port", None) or free_port()
        self.write_config()
        return subprocess.run(self.command(*args), capture_output=True, env=self.env, timeout=PATIENCE * 3)

    # -- life ----------------------------------------------------------------------------------------------

    def start(self):
        self.is_started = True
        for _ in range(5):
            self.port = free_port()
            self.write_config()
            self._spawn()
            if not self.wait or self._ready():
                return self
            if b"ddress already in use" not in self.error_log():
                break
        status = self.process.poll()
        raise AssertionError(f"the server did not start (status {status}):\n"
                             f"{self.error_log().decode(errors='replace')[-4000:]}")

    def _spawn(self):
        with open(self.path("logs/stderr"), "ab") as out:
            self.process = subprocess.Popen(self.command(*self.args, "-DFOREGROUND"), stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out, env=self.env, start_new_session=True,
                                            preexec_fn=self._set_limits if self.limits else None)

    def _set_limits(self):
        for what, value in self.limits.items():
            resource.setrlimit(what, value if isinstance(value, tuple) else (value, value))

    def _ready(self):
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection((self.address.strip("[]"), self.port), timeout=1).close()
                if ports.is_heard_by(self.port, self.process.pid):  # and not by somebody else
                    return self.process.poll() is None
            except OSError:
                pass
            threading.Event().wait(0.005)
        return False

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """End it with SIGTERM; returns its exit status. What does not end is killed, and fails the test."""
        self._end_daemon()
        if self.process is None:
            return None
        hung = False
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                hung = True
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        status, self.process = self.process.returncode, None
        assert not hung, "the server did not end on SIGTERM"
        return status

    def _end_daemon(self):
        """End what `-k start` left in the background: the process in our own PID file."""
        number = self.read("logs/httpd.pid").strip()
        if not number or (self.process and int(number) == self.process.pid):
            return
        try:
            with open(f"/proc/{int(number)}/cmdline", "rb") as f:
                if self.root.encode() not in f.read():
                    return
            os.kill(int(number), signal.SIGTERM)
            wait_until(lambda: not os.path.exists(f"/proc/{int(number)}"), "the background server to end")
        except (FileNotFoundError, ProcessLookupError):
            pass

    def check_logs(self):
        """Fail if a log tells of a crash, an assertion or a sanitizer's finding."""
        if self.expect_trouble or self.apache:  # Apache's processes may well crash while they end
            return
        for line in self.error_log().splitlines():
            if TROUBLE.search(line):
                raise AssertionError("trouble in the log:\n" + self.error_log().decode(errors="replace")[-6000:])

    def check_held(self):
        """Fail if a server without requests still holds something for one. What was on its way when a test ended may end by itself."""
        if self.apache or self.bare or not self.process or self.process.poll() is not None:
            return
        left = []
        try:
            wait_until(lambda: left.clear() or left.append(held.now(self)) or not left[0], "requests to let go of all")
        except AssertionError as e:
            raise AssertionError(f"{e}: {left}") from None

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def close(self, failed=False):
        try:
            if not failed:
                self.check_held()
            self.stop()
            self.check_logs()
        except BaseException:
            failed = True
            self.stop()
            raise
        finally:
            if failed or os.environ.get("KEEP"):
                print(f"kept: {self.root}")
            else:
                self.remove()

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close(failed=True)
            raise

    def __exit__(self, kind, value, trace):
        self.close(failed=kind is not None)

    # -- requests ------------------------------------------------------------------------------------------

    def connect(self, timeout=None, source=None):
        """source: the client's address"""
        make = EitherClient if protocol_of(self) else Client
        return make(self.address.strip("[]"), self.port, timeout or PATIENCE, source)

    def request(self, method, target, headers=(), body=b"", version="1.1", host="localhost"):
        """One request on a connection of its own."""
        extra = list(headers.items()) if isinstance(headers, dict) else list(headers)
        with self.connect() as c:
            if not (protocol_of(self) and can_say(method, target, extra, version, host)):
                extra.append(("Connection", "close"))
            return c.request(method, target, extra, body, version, host)

    def get(self, target, headers=(), **more):
        return self.request("GET", target, headers, **more)

    def raw(self, data, half_close=False):
        """Send bytes, and return all bytes up to the end of the connection."""
        protocol = protocol_of(self)
        return raw_exchange(self.address.strip("[]"), self.port, data, PATIENCE, half_close, protocol and protocol.wrap)

    # -- processes -----------------------------------------------------------------------------------------

    def children(self):
        """Process numbers of the server processes."""
        return wait_until(self._children, "server processes")

    def _children(self):
        try:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
                return [int(n) for n in f.read().split()]
        except FileNotFoundError:
            return []
