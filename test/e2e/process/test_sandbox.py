# SPDX-License-Identifier: Apache-2.0
"""Sandbox On: a server process reaches what the configuration names, and nothing else."""
import ctypes
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.request

import pytest

from brigade import APACHE_MODULES, PATIENCE, SANDBOX, unprivileged_user, wait_until
from module_source import compile_file, preloaded
from processes import configured, reload
from tls_site import TLSAuthority, certificate

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(bool(SANDBOX), reason="each of these has a sandbox of its own")]

FILES = {"a.txt": "A\n", "page.shtml": '<!--#include virtual="/a.txt" --><!--#exec cmd="echo started" -->', "sub/.htaccess": "AddType text/x-y .y\n", "sub/a.y": "Y"}
ESCAPE = "LoadModule escape_module @ROOT@/escape.so\n<Location /escape>\nSetHandler escape\n</Location>\n"
# What came of it, and since which version of Landlock; before that it works (0: the filter of system calls has it).
WAYS = {"passwd": ("EACCES", 1), "list": ("EACCES", 1), "write": ("EACCES", 1), "page": ("EACCES", 1), "supervisor": ("EACCES", 1), "fifo": ("EACCES", 1),
        "log": ("EACCES", 1), "log-replaced": ("EACCES", 1),
        "listen": ("EACCES", 4), "abstract": ("EPERM", 6)}
WAYS |= {way: ("EPERM", 0) for way in [
    "shell", "ptrace", "raw", "packet", "vsock", "mount", "namespace", "clone", "sibling", "signal", "uring", "bpf", "privileges", "logs",
    "port", "unbound", "mptcp", "sctp", "udplite", "ping", "netlink", "owner", "sigio", "lease", "bpf-filter", "hops",
    *(f"other-{what}" for what in ["kill", "tgkill", "sigqueue", "prlimit", "priority", "priorities", "ioprio", "affinity", "scheduler", "pages", "migrate", "robust"])]}
WAYS |= {way: ("out", 0) for way in ["itself", "udp", "tcp", "routes", "option"]}


def expected(version):
    return {way: what if version >= since else "out" for way, (what, since) in WAYS.items()}


def landlock():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


# As older kernels have it: 2 is of Debian 12, 3 of Linux 6.2, 4 of 6.7, 6 of 6.12.
VERSIONS = sorted({0, 1, 2, 3, 4, 6, landlock()} & set(range(landlock() + 1)))
needs_landlock = pytest.mark.skipif(not landlock(), reason="the kernel has no Landlock, or it is switched off")


@pytest.fixture(scope="module")
def old_landlock_so(tmp_path_factory):
    folder = tmp_path_factory.mktemp("landlock")
    os.chmod(folder, 0o755)
    os.chmod(folder.parent, 0o755)
    return compile_file(os.path.join(os.path.dirname(__file__), "old_landlock.c"), folder / "old_landlock.so", "-ldl")


@pytest.fixture
def other():
    """A process of the server's user that is none of the server's."""
    user = unprivileged_user()
    identity = {"user": user, "group": "www-data" if user == "www-data" else "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "600"], **identity) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def abstract():
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"brigade-test-{os.getpid()}"
        listener.bind("\0" + name)
        listener.listen(8)
        yield name


@pytest.fixture
def escaping(serve, other, abstract):
    """A server with the bad module. What it could write to is writable for everybody."""
    def make(config, env=None, **more):
        server = serve.unstarted(ESCAPE + config, FILES, **more)
        outside = server.path("outside")
        os.mkdir(outside)
        os.chmod(outside, 0o777)
        temp = server.path("temp")
        os.mkdir(temp)
        os.chmod(temp, 0o777)
        os.chmod(server.path("htdocs/a.txt"), 0o666)
        os.chmod(server.path("logs"), 0o777)
        server.write("old_log", "", base="logs")
        os.chmod(server.path("logs/old_log"), 0o666)
        server.env.update(env or {})
        server.env.update(ESCAPE_PID=str(other), ESCAPE_ABSTRACT=abstract, ESCAPE_FIFO=server.path("temp/fifo"),
                          ESCAPE_LOG=server.path("logs/old_log"), ESCAPE_LOG_MOVED=server.path("logs/older_log"))
        server.env.update(TMPDIR=temp, ESCAPE_FOLDER=f"{outside}/escaped", ESCAPE_PAGE=server.path("htdocs/a.txt"))
        server.write("big.txt", "big" * 1000)
        compile_file(os.path.join(os.path.dirname(__file__), "escape.c"), server.path("escape.so"))
        server.start()
        wait_until(lambda: configured(server), "the start")
        return server
    return make


def attempt(server, way):
    return server.get(f"/escape?{way}").body.decode()


@needs_landlock
@pytest.mark.parametrize("args", [[], ["-X"]], ids=["processes", "one"])
def test_a_bad_module_is_stopped(escaping, args):
    server = escaping("Sandbox Required\nOutputSpoolDir @ROOT@/temp\n", args=args)
    assert {way: attempt(server, way) for way in WAYS} == expected(landlock())
    assert server.get("/a.txt").body == b"A\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_module_on_older_kernels(escaping, old_landlock_so, version):
    """What the version of Landlock lacks works; all else is refused, by the filter of system calls."""
    server = escaping("Sandbox On\nOutputSpoolDir @ROOT@/temp\n", env={"LD_PRELOAD": preloaded(old_landlock_so), "OLD_LANDLOCK": str(version)})
    wanted = expected(version)
    if os.geteuid() == 0:
        wanted["supervisor"] = "EACCES"  # it is of another user
    assert {way: attempt(server, way) for way in WAYS} == wanted


def test_programs_do_not_signal_the_supervisor(escaping, old_landlock_so):
    """Where programs may be started, and Landlock does not hold signals, they signal each other."""
    server = escaping("Sandbox On\nOutputSpoolDir @ROOT@/temp\nSandboxAllow exec /bin /usr/bin\n",
                      env={"LD_PRELOAD": preloaded(old_landlock_so), "OLD_LANDLOCK": "5"})
    assert [attempt(server, way) for way in ["shell", "signal", "itself", "other-kill", "other-prlimit"]] == ["out", "EPERM", "out", "out", "EPERM"]


def test_it_is_not_without_the_sandbox(escaping):
    """The attempts themselves work, or the tests above would show nothing."""
    server = escaping("OutputSpoolDir @ROOT@/temp\n")
    ways = {way: attempt(server, way) for way in WAYS}
    # Some need what this kernel or user does not have.
    assert {way for way, came in ways.items() if came != "out"} <= {
        "supervisor", "signal", "raw", "packet", "vsock", "mount", "namespace", "clone", "uring", "bpf", "privileges", "logs", "mptcp", "sctp", "udplite",
        "ping", "netlink", "lease", "bpf-filter", "other-migrate"}, ways


@needs_landlock
def test_what_is_allowed_is(escaping):
    server = escaping("Sandbox On\nOutputSpoolDir @ROOT@/temp\nSandboxAllow read /etc/passwd /missing\nSandboxAllow write @ROOT@/htdocs\nSandboxAllow exec /bin /usr/bin\n")
    assert [attempt(server, way) for way in ["passwd", "page", "shell", "list"]] == ["out", "out", "out", "EACCES"]
    server.config = server.config.replace("SandboxAllow read /etc/passwd /missing\n", "")
    reload(server, server.config)
    wait_until(lambda: len(server.children()) == 1, "the old process to end")
    assert attempt(server, "passwd") == "EACCES"


@pytest.mark.parametrize("mpm", ["", "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\n"], ids=["event", "prefork"])
def test_pages_are_served(serve, mpm):
    server = serve(mpm + 'Sandbox On\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n<Directory @ROOT@/htdocs>\nOptions +Includes\n</Directory>\n'
                   'Alias /other @ROOT@/other\n<Directory @ROOT@/other>\nRequire all granted\n</Directory>\n'
                   'CustomLog "|$cat >>@ROOT@/logs/piped" "%r"\nCustomLog logs/access_log "%r"\n', FILES)
    server.write("o.txt", "O\n", base="other")
    for _ in range(4):
        assert server.get("/a.txt").body == b"A\n"
    assert server.get("/sub/a.y")["Content-Type"] == "text/x-y"
    body = server.get("/page.shtml").body
    assert body.startswith(b"A\n") and b"started" not in body
    assert server.get("/sub/").status == 200
    assert server.get("/missing").status == 404
    assert server.get("/other/o.txt").status in (200, 403)  # made after the start
    server.wait_for_log("Sandbox: Options .*exec cmd")
    os.kill(server.children()[0], signal.SIGKILL)
    wait_until(lambda: server.get("/a.txt").body == b"A\n", "a new process")
    server.expect_trouble = True
    wait_until(lambda: server.read("logs/piped").count(b"GET /a.txt") >= 4, "the piped log")


@needs_landlock
def test_authorities_of_a_folder_are_found(serve):
    """OpenSSL looks for them when a client comes, in the server process."""
    server = serve.unstarted("SSLEngine On\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\nSSLVerifyClient require\nSSLVerifyDepth 2\n"
                             "SSLCACertificatePath @ROOT@/ca\nOutputSpoolDir @ROOT@/temp\nSandbox Required\n", FILES, wait=False)
    os.mkdir(server.path("temp"))
    os.chmod(server.path("temp"), 0o777)
    server.env["TMPDIR"] = server.path("temp")  # what lies below it can be reached
    certificate(server)
    authority = TLSAuthority(server.path("made"))
    client = authority.make("client", "client")
    os.mkdir(server.path("ca"))
    name = subprocess.run(["openssl", "x509", "-noout", "-hash", "-in", server.path("made/ca.pem")], check=True, capture_output=True, text=True).stdout.strip()
    shutil.copy(server.path("made/ca.pem"), server.path(f"ca/{name}.0"))
    server.start()
    wait_until(lambda: configured(server), "the start")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(client["cert"], client["key"])
    answer = urllib.request.urlopen(f"https://127.0.0.1:{server.port}/a.txt", context=context, timeout=PATIENCE)
    assert answer.read() == b"A\n"


def test_the_dump(serve):
    server = serve.unstarted("Sandbox On\nSandboxAllow exec /usr/lib/cgi-bin\nAliasMatch ^/x/(.*) @ROOT@/x/$1/y\n"
                             "<Directory />\nRequire all denied\n</Directory>\n<Directory @ROOT@/plain>\nAllowOverride All\n</Directory>\n"
                             '<Directory "@ROOT@/quoted folder">\nAllowOverride All\n</Directory>\n')
    out = server.run("-t", "-D", "DUMP_SANDBOX").stdout.decode()
    assert re.search(r"^Sandbox On$", out, re.M)
    assert f"  read  {server.root}/htdocs  # DocumentRoot" in out
    assert f"  read  {server.root}/x (not there)  # AliasMatch" in out
    assert f"  read  {server.root}/plain (not there)  # <Directory" in out and f"  read  {server.root}/quoted folder (not there)  # <Directory" in out
    assert re.search(r"^  exec  /usr/lib/cgi-bin", out, re.M)
    assert "read  / " not in out
    assert f"write {server.root}/logs" not in out and re.search(rf"DefaultRuntimeDir {server.root}/logs/?: modules cannot write files there, since logs are in it", out)


@pytest.mark.skipif(not os.path.exists(f"{APACHE_MODULES}/mod_cgi.so"), reason="apache2 is not installed")
@pytest.mark.parametrize("lines, is_said", [("ScriptAlias /cgi/ @ROOT@/cgi/", True), ("ScriptAliasMatch ^/cgi/(.*) @ROOT@/cgi/$1", True), ("AddHandler cgi-script .cgi", True),
                                            ("<Location /c>\nSetHandler cgi-script\n</Location>", True), ("Alias /cgi/ @ROOT@/cgi/", False), ("AddHandler other .cgi", False),
                                            ("ScriptAlias /cgi/ @ROOT@/cgi/\nSandboxAllow exec @ROOT@/cgi", False)])
def test_the_dump_tells_of_programs(serve, lines, is_said):
    server = serve.unstarted(f"Sandbox On\nBuiltinModule cgi_module Off\nBuiltinModule cgid_module Off\nLoadModule cgi_module @MODULES@/mod_cgi.so\n{lines}\n")
    os.mkdir(server.path("cgi"))
    out = server.run("-t", "-D", "DUMP_SANDBOX").stdout.decode()
    assert ("CGI scripts are not started" in out) == is_said, out


def test_the_dump_has_a_folder_for_files_of_modules(serve):
    server = serve.unstarted("Sandbox On\nDefaultRuntimeDir @ROOT@/run\nSandboxAllow write @ROOT@\n")
    os.mkdir(server.path("run"))
    out = server.run("-t", "-D", "DUMP_SANDBOX").stdout.decode()
    assert re.search(rf"^  write {server.root}/run/?.*  # files of modules", out, re.M)
    assert f"SandboxAllow {server.root}: server processes can read and replace logs there ({server.root}/logs/error_log)" in out


@pytest.mark.skipif(not os.path.exists(f"{APACHE_MODULES}/mod_dav_fs.so"), reason="apache2 is not installed")
@pytest.mark.parametrize("folder", ["@ROOT@/dav", '"@ROOT@/dav"'])
def test_the_dump_has_folders_that_can_be_written(serve, folder):
    server = serve.unstarted("Sandbox On\nLoadModule dav_module @MODULES@/mod_dav.so\nLoadModule dav_fs_module @MODULES@/mod_dav_fs.so\nDavLockDB @ROOT@/logs/locks\n"
                             f"<Directory {folder}>\nDav On\n</Directory>\n")
    assert f"  write {server.root}/dav (not there)  # Dav" in server.run("-t", "-D", "DUMP_SANDBOX").stdout.decode()


@pytest.mark.parametrize("line, message", [("Sandbox Maybe", "Sandbox takes Off, On or Required"), ("SandboxAllow", "SandboxAllow takes read, write or exec"),
                                           ("SandboxAllow run /bin", "SandboxAllow takes read, write or exec"), ("SandboxAllow read", "SandboxAllow takes read, write or exec"),
                                           ("<Directory />\nSandbox On\n</Directory>", "not allowed")])
def test_mistakes(serve, line, message):
    done = serve.unstarted(line + "\n").run("-t")
    assert done.returncode == 1 and message.encode() in done.stderr, done.stderr
