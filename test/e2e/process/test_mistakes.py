# SPDX-License-Identifier: Apache-2.0
"""Mistakes in configurations: directives that name a file, a folder, a user, an address or a program that is not there, or is no such
thing. Each at a start, at a reload and at an upgrade, while clients ask; nobody notices, and the line that is at fault is named."""
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from brigade import BINARY, free_port, wait_until
from module_source import compile_text
from processes import Load, accepts, configured, reload
from tls_site import certificate
from trouble import answers, sanitizer

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A\n"}
BASE = "MaxKeepAliveRequests 0\nKeepAliveTimeout 30\n"
OF_APACHE = "LoadModule {0}_module @MODULES@/mod_{0}.so\n"
REWRITE, CGID, DAV = (OF_APACHE.format(name) for name in ("rewrite", "cgid", "dav"))
SLOTS, PROXY = OF_APACHE.format("slotmem_shm"), OF_APACHE.format("proxy")


def tls(lines):
    """A virtual host over TLS with a certificate, and something that is wrong."""
    return ("Listen 127.0.0.1:@TLS@\n<VirtualHost 127.0.0.1:@TLS@>\nSSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\n"
            f"SSLCertificateKeyFile @ROOT@/conf/key.pem\n{lines}</VirtualHost>\n")


def tls_without(lines):
    return f"Listen 127.0.0.1:@TLS@\n<VirtualHost 127.0.0.1:@TLS@>\nSSLEngine on\n{lines}</VirtualHost>\n"


# name, lines, what the reason has in it
MISTAKES = [
    # files that are read
    ("types", "TypesConfig @ROOT@/nowhere/types\n", r"TypesConfig \S+/nowhere/types on line \d+ of \S+httpd.conf: .*AH01597"),
    ("types folder", "TypesConfig @ROOT@/conf\n", r"TypesConfig|on line \d+"),
    ("include", "Include @ROOT@/nowhere/*.conf\nInclude @ROOT@/nowhere/one.conf\n", r"on line \d+ of .*nowhere"),
    ("include twice", "Include @ROOT@/conf/broken.conf\n", r"on line 2 of \S+broken.conf.*Nonsense"),
    ("module", "LoadModule x_module @ROOT@/nowhere/mod_x.so\n", r"on line \d+ of .*nowhere/mod_x.so"),
    ("module text", "LoadModule x_module @ROOT@/conf/text\n", r"on line \d+ of .*conf/text"),
    ("library", "LoadFile @ROOT@/nowhere/lib.so\n", r"on line \d+ of .*nowhere/lib.so"),
    ("proxies", "RemoteIPTrustedProxyList @ROOT@/nowhere/list\n", r"on line \d+ of .*nowhere/list"),
    ("networks", "ASTable @ROOT@/nowhere/table\n", r"on line \d+ of .*ASTable"),
    ("rewrite map", REWRITE + "RewriteEngine on\nRewriteMap m txt:@ROOT@/nowhere/map\n", r"on line \d+ of .*nowhere/map"),
    # TLS
    ("certificate", tls_without("SSLCertificateFile @ROOT@/nowhere/cert.pem\n"), r"on line \d+ of .*nowhere/cert.pem"),
    ("certificate garbage", tls_without("SSLCertificateFile @ROOT@/conf/text\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"), r"conf/text"),
    ("no certificate", tls_without(""), r"line \d+ of"),
    ("key", tls_without("SSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/nowhere/key.pem\n"), r"on line \d+ of .*nowhere/key.pem"),
    ("key garbage", tls_without("SSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/text\n"), r"conf/text"),
    ("key of another", tls_without("SSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/other.pem\n"), r"line \d+ of"),
    ("chain", tls("SSLCertificateChainFile @ROOT@/nowhere/chain\n"), r"on line \d+ of .*nowhere/chain"),
    ("authorities", tls("SSLCACertificateFile @ROOT@/nowhere/ca\n"), r"on line \d+ of .*nowhere/ca"),
    ("authorities garbage", tls("SSLVerifyClient require\nSSLCACertificateFile @ROOT@/conf/text\n"), r"line \d+ of"),
    ("authorities folder", tls("SSLCACertificatePath @ROOT@/nowhere\n"), r"on line \d+ of .*nowhere"),
    ("revoked", tls("SSLCARevocationFile @ROOT@/nowhere/crl\n"), r"on line \d+ of .*nowhere/crl"),
    ("revoked folder", tls("SSLCARevocationPath @ROOT@/nowhere\n"), r"on line \d+ of .*nowhere"),
    ("names of authorities", tls("SSLCADNRequestFile @ROOT@/nowhere/ca\n"), r"on line \d+ of .*nowhere/ca"),
    ("responder's certificate", tls("SSLOCSPResponderCertificateFile @ROOT@/nowhere/ocsp\n"), r"on line \d+ of .*nowhere/ocsp"),
    ("ticket key", tls("SSLSessionTicketKeyFile @ROOT@/nowhere/key\n"), r"on line \d+ of .*nowhere/key"),
    ("ticket key short", tls("SSLSessionTicketKeyFile @ROOT@/conf/text\n"), r"conf/text"),
    ("proxy's certificate", tls("SSLProxyEngine on\nSSLProxyMachineCertificateFile @ROOT@/nowhere/own\n"), r"on line \d+ of .*nowhere/own"),
    ("proxy's authorities", tls("SSLProxyEngine on\nSSLProxyCACertificateFile @ROOT@/nowhere/ca\n"), r"on line \d+ of .*nowhere/ca"),
    ("proxy's authorities garbage", tls("SSLProxyEngine on\nSSLProxyCACertificateFile @ROOT@/conf/text\n"), r"line \d+ of"),
    ("ciphers", tls("SSLCipherSuite NOSUCHCIPHER\n"), r"line \d+ of"),
    ("OpenSSL command", tls("SSLOpenSSLConfCmd Curves no-such-curve\n"), r"line \d+ of"),
    ("pass phrase program", "SSLPassPhraseDialog exec:@ROOT@/nowhere/ask\n", r"on line \d+ of .*nowhere/ask"),
    ("pass phrase wrong", tls_without("SSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/closed.pem\n") +
     "SSLPassPhraseDialog exec:/bin/false\n", r"conf/closed.pem|line \d+ of"),
    # folders
    ("document root", "DocumentRoot @ROOT@/nowhere\n", r"on line \d+ of .*nowhere"),
    ("document root file", "DocumentRoot @ROOT@/conf/text\n", r"on line \d+ of .*conf/text"),
    ("server root", "ServerRoot @ROOT@/nowhere\n", r"on line \d+ of .*[Ss]erverRoot"),
    ("core dumps", "CoreDumpDirectory @ROOT@/nowhere\n", r"on line \d+ of .*nowhere"),
    ("spool", "OutputSpoolDir @ROOT@/nowhere\n", r"on line \d+ of .*nowhere"),
    ("other root", "ChrootDir @ROOT@/nowhere\n", r"on line \d+ of .*ChrootDir"),
    ("mutex folder", SLOTS + "Mutex file:@ROOT@/nowhere default\n", r"on line \d+ of .*nowhere|Mutex"),
    # logs
    ("error log", "ErrorLog @ROOT@/nowhere/error\n", r"ErrorLog \S+nowhere/error on line \d+ of|nowhere"),
    ("error log folder", "ErrorLog @ROOT@/conf\n", r"ErrorLog \S+ on line \d+ of"),
    ("error log of a host", "<VirtualHost *:@PORT@>\nErrorLog @ROOT@/nowhere/error\n</VirtualHost>\n", r"nowhere.*line \d+|:\d+"),
    ("custom log", "CustomLog @ROOT@/nowhere/access common\n", r"CustomLog \S+nowhere/access \S+ on line \d+|httpd.conf:\d+"),
    ("custom log folder", "CustomLog @ROOT@/conf common\n", r"CustomLog \S+ common on line \d+ of"),
    ("global log", "GlobalLog @ROOT@/nowhere/access common\n", r"nowhere/access"),
    ("transfer log", "TransferLog @ROOT@/nowhere/access\n", r"nowhere/access"),
    ("program of an error log", 'ErrorLog "|@ROOT@/nowhere/program x"\n', r"ErrorLog .* on line \d+ of .*AH00104"),
    ("program of a log", 'CustomLog "|@ROOT@/nowhere/program x" common\n', r"CustomLog .* on line \d+ of .*AH00104"),
    ("program of a log by name", 'CustomLog "|no-such-program x" common\n', r"AH00104: unable to start piped log program 'no-such-program x'"),
    ("program of a log text", 'CustomLog "|@ROOT@/conf/text" common\n', r"CustomLog .* on line \d+ of .*AH00104"),
    ("program of a map", REWRITE + "RewriteEngine on\nRewriteMap m prg:@ROOT@/nowhere/map\n", r"on line \d+ of .*nowhere/map"),
    ("lock of WebDAV", DAV + OF_APACHE.format("dav_fs") + "DavLockDB @ROOT@/nowhere/lock\nDav nonesuch\n", r"on line \d+ of"),
    ("pid file", "PidFile @ROOT@/nowhere/pid\n", r"PidFile \S+nowhere/pid on line \d+ of .*AH00099"),
    # users
    ("user", "User no-such-user\n", r"on line \d+ of .*(no-such-user|bad user)"),
    ("group", "Group no-such-group\n", r"on line \d+ of .*(no-such-group|bad group)"),
    # addresses
    ("listen name", "Listen no-such-host.invalid:@OTHER@\n", r"on line \d+ of|no-such-host.invalid"),
    ("listen twice", "Listen 127.0.0.1:@PORT@\n", r"on line \d+ of .*multiple Listeners"),
    ("listen nothing", "Listen 127.0.0.1\n", r"on line \d+ of"),
    ("trusted proxy", "RemoteIPHeader X-Forwarded-For\nRemoteIPTrustedProxy no-such-host.invalid\n", r"on line \d+ of"),
    ("network", "<Location /x>\nRequire ip 10.1.2.3.4\n</Location>\n", r"on line \d+ of"),
    ("proxy address", PROXY + "ProxyPass /x nonsense\n", r"on line \d+ of"),
    ("log service", "ErrorLog syslog:nonsense:x:y\n", r"on line \d+ of|syslog"),
    # modules and words
    ("word", "Nonsense on\n", r"on line \d+ of .*Nonsense"),
    ("section", "<Directory />\n", r"on line \d+ of|Directory"),
    ("balancer", PROXY + "<Proxy balancer://b>\nBalancerMember http://127.0.0.1:9\nProxySet lbmethod=nonesuch\n</Proxy>\n", r"on line \d+ of|lbmethod"),
    ("watchdog", "WatchdogInterval 0\n", r"on line \d+ of"),
]
SHARES = 9  # of the list; the first is part of every run


def furnish(server):
    """What the lines name besides what is not there."""
    certificate(server)
    make = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out"]
    subprocess.run([*make, server.path("conf/other.pem")], check=True, capture_output=True)
    subprocess.run([*make, server.path("conf/closed.pem"), "-aes256", "-pass", "pass:secret"], check=True, capture_output=True)
    server.write("text", "nonsense\n", base="conf")
    server.write("broken.conf", "# a comment\nNonsense on\n", base="conf")


def wrong(server, lines):
    return lines.replace("@TLS@", str(free_port())).replace("@OTHER@", str(free_port()))


@pytest.fixture
def own(serve):
    """Servers whose program is a copy of their own, which an upgrade starts."""
    def make():
        server = serve.unstarted(BASE, FILES)
        furnish(server)
        server.binary = server.path("brigade")
        shutil.copy(BINARY, server.binary)
        return server
    return make


def refused(server, number, pattern):
    """The order is not carried out, one line says why, and nothing else happened."""
    size, before = len(server.error_log()), server.children()
    server.signal(number)
    said = rb"(?:is not usable; the server goes on with the one it has|usable; the server goes on as it is): (.*)\n"
    try:
        reason = wait_until(lambda: re.search(said, server.error_log()[size:]), "the reason")[1].decode()
    except AssertionError as e:
        raise AssertionError(f"{e}: {server.error_log()[size:].decode()}") from None
    assert re.search(pattern, reason), reason
    added = server.error_log()[size:].decode().splitlines()
    assert len([line for line in added if not re.search(r"received|a turn with", line)]) == 1, added
    assert server.process.poll() is None and server.children() == before


share = pytest.mark.parametrize("share", [pytest.param(i, marks=pytest.mark.slow if i else ()) for i in range(SHARES)])


@share
def test_at_a_start(own, share):
    """It fails, its reason is told on the terminal and names the line; -t has told so before. Once mended, it starts."""
    server = own()
    for name, lines, pattern in MISTAKES[share::SHARES]:
        server.config = wrong(server, BASE + lines)
        for args in (["-t"], ["-k", "start"]):
            done = server.run(*args)
            assert done.returncode == 1, (name, args, done)
            assert re.search(pattern, done.stderr.decode(errors="replace").replace("\n", " ")), (name, args, done.stderr)
            assert b"Syntax OK" not in done.stderr, (name, args)
    server.config = BASE
    server.start()
    wait_until(lambda: answers(server), "an answer")


@share
def test_at_reloads_and_upgrades(own, share):
    """Under load, by either signal and by an upgrade; what comes after the mistake is mended is taken."""
    server = own()
    server.start()
    wait_until(lambda: configured(server), "the start")
    with Load(server, clients=2) as load:
        for turn, (_, lines, pattern) in enumerate(MISTAKES[share::SHARES]):
            server.write_config(wrong(server, BASE + f"Header set X-Gen wrong\n{lines}"))
            refused(server, signal.SIGUSR1 if turn % 2 else signal.SIGHUP, pattern)
            refused(server, signal.SIGUSR2, pattern)
            if turn % 3 == 0:
                reload(server, BASE + f"Header set X-Gen {turn}\n")
                wait_until(lambda: server.get("/a.txt")["X-Gen"] == str(turn), "the mended configuration")
                wait_until(lambda: len(server.children()) == 1, "the old processes to end")
        count = load.done
        wait_until(lambda: load.done > count + 20, "requests")
    assert not load.failed, load.failed[:5]
    count = configured(server)
    server.write_config(BASE)
    server.signal(signal.SIGUSR2)
    wait_until(lambda: configured(server) > count, "the upgrade")
    wait_until(lambda: answers(server), "an answer")


# ---- What no trial finds ---------------------------------------------------------------------------------------

# A module that fails in the supervisor alone, and not in the process that tries the configuration out.
FAILS = """
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "http_log.h"
static int is_trial(void)
{
    char line[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t n = read(fd, line, sizeof line);

    close(fd);
    return n > 4 && memmem(line, (size_t)n, "\\0-t", 4) != NULL;
}
static int fails(apr_pool_t *p, apr_pool_t *l, apr_pool_t *t, server_rec *s)
{
    const char *name = ap_server_root_relative(p, "logs/fail");
    char how = 0;
    int fd = open(name, O_RDONLY);

    if (fd < 0 || is_trial() != TRIAL || read(fd, &how, 1) != 1)
        return OK;
    close(fd);
    if (how == 'r')
        return HTTP_INTERNAL_SERVER_ERROR;
    if (how == 'e')
        exit(0);
    if (how == 's')
        raise(SIGSEGV);
    if (how == 'a')
        abort();
    return OK;
}
static void fails_hooks(apr_pool_t *p)
{
    ap_hook_post_config(fails, NULL, NULL, APR_HOOK_MIDDLE);
}
"""
MODULE = "LoadModule fails_module @ROOT@/mod_fails.so\n"
WAYS = pytest.mark.parametrize("how, why", [("r", r"module mod_fails.c: AH00016"), ("e", r"mod_fails.c called exit\(\) in hook post_config"),
                                            ("s", "crashed in module mod_fails.c, hook post_config"), ("a", "crashed in module mod_fails.c, hook post_config")],
                               ids=["refuses", "exits", "crashes", "aborts"])


@pytest.fixture
def failing(serve):
    def make(how, trial, config=""):
        if how in "sa" and sanitizer():
            pytest.skip("the sanitizer ends a process that crashes")
        server = serve.unstarted(MODULE + BASE + config, FILES)
        server.expect_trouble = how in "sa"
        compile_text(server.root, "fails", FAILS, f"-DTRIAL={trial}")
        server.start()
        wait_until(lambda: configured(server), "the start")
        server.write("fail", how, base="logs")
        return server
    return make


@WAYS
def test_a_module_that_fails_in_the_trial(failing, how, why):
    server = failing(how, 1)
    before = server.children()
    server.signal(signal.SIGUSR1)
    reason = server.wait_for_log("the server goes on with the one it has: (.*)").group(1).decode()
    assert re.search(why, reason), reason
    assert server.get("/a.txt").body == b"A\n" and server.children() == before and configured(server) == 1
    done = server.run("-t")
    assert done.returncode == 1 and re.search(why.encode(), done.stderr), done.stderr


@WAYS
def test_a_module_that_fails_after_a_good_trial(failing, how, why):
    """The supervisor stays, with its number and its processes, and takes the next configuration that is good. It tries by itself,
    too, less and less often."""
    server = failing(how, 0)
    pid, before = server.process.pid, server.children()
    with Load(server, clients=2) as load:
        server.signal(signal.SIGUSR1)
        server.wait_for_log("server processes go on with the one that they have")
        server.wait_for_log(why)
        assert server.children() == before
        count = load.done
        wait_until(lambda: load.done > count + 50, "requests")
        os.unlink(server.path("logs/fail"))
        server.signal(signal.SIGUSR1)
        wait_until(lambda: configured(server) == 2, "the configuration")
        wait_until(lambda: set(server.children()).isdisjoint(before), "its processes")
    assert not load.failed, load.failed[:5]
    assert server.process.poll() is None and server.process.pid == pid
    reload(server, MODULE + BASE + "Header set X-Gen 3\n")
    wait_until(lambda: server.get("/a.txt")["X-Gen"] == "3", "the third configuration")
    assert server.stop() == 0 and not os.path.exists(server.path("logs/httpd.pid"))


@pytest.mark.parametrize("how", ["r", "e"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGWINCH])
def test_the_end_without_a_configuration(failing, how, number):
    """A server that waits for one obeys: its processes, its sockets and its pid file go."""
    server = failing(how, 0, "GracefulShutdownTimeout 5\n")
    server.signal(signal.SIGUSR1)
    server.wait_for_log("server processes go on with the one that they have")
    children = server.children()
    server.signal(number)
    assert server.process.wait(20) == 0
    wait_until(lambda: not [p for p in children if os.path.exists(f"/proc/{p}")], "the processes to end")
    assert not os.path.exists(server.path("logs/httpd.pid")) and not accepts(server.port)


def test_it_heals_by_itself(failing):
    """Nobody has to order it."""
    server = failing("r", 0)
    server.signal(signal.SIGUSR1)
    server.wait_for_log("server processes go on with the one that they have")
    os.unlink(server.path("logs/fail"))
    wait_until(lambda: configured(server) == 2, "the configuration")


def test_processes_that_end_without_a_configuration(failing):
    """None can be started in their place. Each is told of, and is a reason to try again at once, not when the next attempt is due."""
    server = failing("r", 0, "ServerProcesses 2\n")
    wait_until(lambda: len(server.children()) == 2, "two processes")
    first, second = server.children()
    server.signal(signal.SIGUSR1)
    for n in range(1, 4):  # the next is due in 4 seconds
        wait_until(lambda: server.error_log().count(b"although its trial went well") == n, "an attempt")
    os.kill(first, signal.SIGKILL)
    server.wait_for_log("1 of 2 server processes serve, and without a configuration none can be started")
    wait_until(lambda: server.error_log().count(b"although its trial went well") == 4, "another attempt")
    os.unlink(server.path("logs/fail"))
    os.kill(second, signal.SIGKILL)
    server.wait_for_log("0 of 1 server processes serve")
    wait_until(lambda: configured(server) == 2 and len(server.children()) == 2, "the configuration and its processes")
    assert server.get("/a.txt").body == b"A\n"


def test_no_address_is_left(serve):
    """All that the new configuration listens at is somebody else's: the server keeps what it has."""
    server = serve(BASE, FILES)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        good = server.read("conf/httpd.conf").decode()
        server.write("httpd.conf", re.sub(r"(?m)^Listen .*$", f"Listen 127.0.0.1:{taken.getsockname()[1]}", good), base="conf")
        refused(server, signal.SIGUSR1, r"Listen \S+ on line \d+ of .*ddress already in use")
        assert server.get("/a.txt").body == b"A\n"


# ---- What is left alone ----------------------------------------------------------------------------------------

def test_a_trial_starts_no_program_and_writes_no_log(serve):
    """Programs of logs may open, rotate or truncate what the ones that run write; other logs have what the server wrote in them."""
    program = '"|$echo started $$ >>@ROOT@/logs/started; cat >>@ROOT@/logs/piped"'
    server = serve(f"CustomLog {program} common\nErrorLogFormat \"%M\"\n", FILES)
    wait_until(lambda: server.read("logs/started").count(b"started") >= 1 and configured(server), "the program")
    number, started = server.read("logs/httpd.pid"), server.read("logs/started")
    for args in (["-t"], ["-t"]):
        size = len(server.error_log())
        assert server.run(*args).returncode == 0
        assert len(server.error_log()) == size
    assert server.read("logs/started") == started and server.read("logs/httpd.pid") == number
    assert server.get("/a.txt").body == b"A\n"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="gives up root")
def test_the_check_of_somebody_else(serve):
    """-t by a user who could not start this server looks at what is written, as Apache's does."""
    server = serve.unstarted("CustomLog logs/access common\nErrorLog logs/error_log\nTypesConfig @ROOT@/nowhere/types\n", FILES)
    assert server.run("-t").returncode == 1
    os.chmod(server.root, 0o755)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *server.command("-t")], capture_output=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, b"Syntax OK"), done.stderr


def test_a_file_that_the_server_has(serve):
    """A lock file of a fixed name, which the server's own process made: a trial takes another one."""
    server = serve(REWRITE + "Mutex flock:@ROOT@/logs default OmitPID\nRewriteEngine on\nRewriteMap m prg:/bin/cat\n", FILES)
    wait_until(lambda: configured(server), "the start")
    assert os.path.exists(server.path("logs/rewrite-map"))
    for _ in range(3):
        reload(server)
    assert os.path.exists(server.path("logs/rewrite-map")) and server.run("-t").returncode == 0
    assert os.path.exists(server.path("logs/rewrite-map"))


def test_a_module_that_can_not_be_tried(failing):
    """ReloadTrial Check: beside a server that runs, modules set up nothing; what fails then leaves the processes alone, as ever."""
    server = failing("r", 1, "ReloadTrial Check\n")
    reload(server)
    assert server.run("-t").returncode == 0
    server.write_config(BASE + "ReloadTrial Check\nTypesConfig @ROOT@/nowhere/types\n")
    wait_until(lambda: len(server.children()) == 1, "the end of the process before the reload")
    before = server.children()
    server.signal(signal.SIGUSR1)
    server.wait_for_log(r"server processes go on with the one that they have: TypesConfig \S+/nowhere/types on line \d+ of ")
    assert server.get("/a.txt").body == b"A\n" and server.children() == before
    server.write_config(BASE + "Header set X-Gen 3\n")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: server.get("/a.txt")["X-Gen"] == "3", "the mended configuration")
