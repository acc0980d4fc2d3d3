# SPDX-License-Identifier: Apache-2.0
"""Debian's own /etc/apache2, unchanged but for port and folders: `brigade -f` serves what apache2 does."""
import contextlib
import http.client
import os
import re
import shutil
import ssl
import subprocess
import tempfile

import pytest

import brigade
import debian_tree
from stock import driver
from stock.access import GOOD, BAD, PASSWORDS
from stock.driver import Case, Step

pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK), reason=f"the peer is absent: {driver.APACHE} is not installed"),
    pytest.mark.skipif(not os.path.isdir(debian_tree.ETC + "/mods-available"), reason="this is no Debian"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
    pytest.mark.skipif(os.geteuid() != 0, reason="its User and Group ask for root"),
]

SCRIPT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\necho \"$REQUEST_METHOD $QUERY_STRING $SCRIPT_NAME\"\ncat\n"
FILES = {
    "index.html": "<h1>It works</h1>\n", "a.txt": "text\n" * 50, "image.png": b"\x89PNG\r\n\x1a\n", "list/b.txt": "b\n", "list/c.html": "c\n", "list/d.tar.gz": "d", "list/sub/x": "x\n",
    ".htaccess": "", "private/a.txt": "secret\n", "private/.htaccess": "AuthType Basic\nAuthName private\nAuthUserFile @ROOT@/www/passwords\nRequire valid-user\n",
    "app/index.html": "app\n", "app/.htaccess": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.*)$ index.html?path=$1 [L,QSA]\nRewriteRule ^old$ /a.txt [R=301,L]\n",
    "neg/page.html.en": "english\n", "neg/page.html.de": "deutsch\n", "neg/.htaccess": "Options +MultiViews\n", "cgi/a.cgi": SCRIPT, "cgi/.htaccess": "Options +ExecCGI\nAddHandler cgi-script .cgi\n",
    "caf\u00e9.txt": "coffee\n",
}
GZIP = {"Accept-Encoding": "gzip"}
DEFAULT_STEPS = [
    "/", "/index.html", "/a.txt", "/a.txt", "/a.txt", Step("/a.txt", GZIP), Step("/index.html", GZIP), Step("/a.txt", {"Range": "bytes=0-3"}), "HEAD /a.txt", "/image.png", "/none", "/list", "/list/",
    "/list/?C=S;O=D", "/.htaccess", Step("/server-status", host="localhost", skip_body=True), "/icons/text.gif", "/icons/", "/cgi-bin/none", "POST /a.txt", "OPTIONS /a.txt", "TRACE /a.txt",
    "/caf%c3%a9.txt", "/%2e%2e/etc/passwd", Step("/a.txt", {"If-Modified-Since": "Sun, 09 Sep 2001 01:46:40 GMT"}), Step("/", version="1.0"), Step("/", host="unknown.example"), "/manual/",
]
MORE_STEPS = DEFAULT_STEPS + [
    "/private/a.txt", Step("/private/a.txt", GOOD), Step("/private/a.txt", BAD), Step("HEAD /private/a.txt", GOOD), Step("POST /private/a.txt", GOOD, "body"), "/app/", "/app/some/where?x=1", "/app/old", "/app/index.html",
    Step("/neg/page", {"Accept-Language": "de"}), Step("/neg/page", {"Accept-Language": "en"}), "/neg/page.html", "/neg/none",
    # Whether mod_deflate is asked depends on how much of the output has come: see docs/differences-from-apache.md.
    Step("/cgi/a.cgi?q=1", skip=["vary"]), Step("POST /cgi/a.cgi", {}, "posted", skip=["vary"]), Step("HEAD /cgi/a.cgi", skip=["vary"]),
    Step("/private/a.txt", GOOD), "/private/a.txt", Step("/private/a.txt", {**GOOD, **GZIP}),
]
# Apache leaves the quotation mark at the end of a negotiated entity tag out.
UNIFY = [(r"(;[0-9a-f-]+)$", r'\1"'), (r"Apache/[\d.]+ \((?:Debian|Brigade/[\d.]+)\)|Brigade/[\d.]+ \(Unix\)|Brigade/[\d.]+|Apache/[\d.]+", "SERVER")]
ALLOW = "<Directory @ROOT@/www/>\nAllowOverride All\n</Directory>\n"


class DebianServer(brigade.Server):
    """Started with that tree instead of a configuration of its own."""

    def __init__(self, binary, modules=(), conf="", without=(), tls=0):
        super().__init__(binary=binary)
        self.more, self.conf, self.tls, self.without = modules, conf, tls, without

    def write_config(self, config=None):
        for name in ("etc", "www", "run", "lock", "log"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        self.env.update(debian_tree.copy(self.root, self.port, self.more, self.conf.replace("@ROOT@", self.root),
                                         without=self.without, tls=self.tls))
        for name, content in FILES.items():
            text = content.replace("@ROOT@", self.root) if isinstance(content, str) else content
            os.chmod(self.write(name, text, base="www/html"), 0o755)
        self.write("passwords", PASSWORDS, base="www")
        driver.settle(self.path("www"))

    def command(self, *args):
        return [self.binary, "-d", self.path("etc"), "-f", self.path("etc/apache2.conf"), *args]

    def error_log(self):
        return self.read("log/error.log") + self.read("logs/stderr")


def compare(steps, modules=(), conf="", without=()):
    servers = [DebianServer(binary, modules, conf, without) for binary in (driver.APACHE, brigade.BINARY)]
    try:
        for server in servers:
            server.start()
        case = Case("debian", "", steps, unify=UNIFY, unframed=True)
        differences = driver.drive(servers, case)
        for server in servers:  # the last line may be written a second later
            brigade.wait_until(lambda: server.read("log/access.log").count(b"\n") >= len(steps), "the access log")
        return differences, [server.read("log/access.log") for server in servers]
    finally:
        for server in servers:
            server.close()


def test_default_modules():
    differences, logs = compare(DEFAULT_STEPS)
    assert not differences, "\n".join(differences)
    unlike = rb"\[[^]]*\]|(?<=\" )\d+ \d+"  # time; status and bytes, which have the length of the Server field in them
    lines = [sorted(re.sub(unlike, b"", line) for line in log.splitlines()) for log in logs]
    assert lines[0] == lines[1]


def test_with_htaccess_rewrite_passwords_and_cgi():
    differences, _ = compare(MORE_STEPS, ["rewrite", "cgi", "headers", "expires", "include"], ALLOW)
    assert not differences, "\n".join(differences)


PRINT_SSL = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nenv | grep -E '^(SSL_|HTTPS|REQUEST_SCHEME|SERVER_PORT)' | sort\n"
ITS_OWN = r"(SSL_SESSION_ID|SSL_VERSION_INTERFACE|SERVER_PORT)=[^\n]*"


@pytest.mark.skipif(not os.access("/etc/ssl/private/ssl-cert-snakeoil.key", os.R_OK), reason="no snakeoil certificate (package ssl-cert)")
@pytest.mark.parametrize("mpm", ["mpm_event", "mpm_prefork"])
def test_default_ssl_site(mpm):
    """a2enmod ssl, a2ensite default-ssl: with the built-in module."""
    without = [name for name in ("mpm_event", "mpm_worker", "mpm_prefork") if name != mpm]
    servers = [DebianServer(binary, [mpm, "ssl", "socache_shmcb", "cgid"], "".join(f"{line}\n" for line in (ALLOW, "ScriptSock @ROOT@/run/cgisock")), without, brigade.free_port()) for binary in (driver.APACHE, brigade.BINARY)]
    context = ssl._create_unverified_context()
    seen = []
    try:
        for server in servers:
            FILES["cgi/ssl.cgi"] = PRINT_SSL
            server.start()
            answers = []
            for target in ("/", "/a.txt", "/a.txt", "/cgi/ssl.cgi", "/cgi-bin/none", "/list", "/private/a.txt"):
                with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", server.tls, timeout=brigade.PATIENCE, context=context)) as client:
                    client.request("GET", target, headers={"Host": "localhost"})
                    answer = client.getresponse()
                    body = answer.read() if answer.status == 200 else b""
                    answers.append((target, answer.status, re.sub(r":\d+/", ":PORT/", answer.getheader("Location", "")), answer.getheader("ETag"), re.sub(ITS_OWN, r"\1", body.decode())))
            seen.append(answers)
        assert seen[0] == seen[1]
        assert "SSL_PROTOCOL=TLSv1" in seen[1][3][4] and "REQUEST_SCHEME=https" in seen[1][3][4]
        done = servers[1].run("-M")
        assert b"ssl_module (static)" in done.stdout and b"is not offered" not in done.stderr + servers[1].error_log()
    finally:
        FILES.pop("cgi/ssl.cgi", None)
        for server in servers:
            server.close()


def test_every_line_is_offered_or_named():
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        env = debian_tree.copy(root, 80)
        done = subprocess.run([brigade.BINARY, "-t", "-d", f"{root}/etc", "-f", f"{root}/etc/apache2.conf"], env=dict(os.environ, **env), capture_output=True, text=True)
        assert done.returncode == 0 and "Syntax OK" in done.stderr, done.stderr
        assert "unsupported" not in done.stderr, done.stderr
        for mapped in ("StartServers", "MinSpareThreads", "MaxSpareThreads"):
            assert f"{mapped} has no effect here" in done.stderr
        with open(f"{root}/etc/conf-enabled/zz-test.conf", "a") as f:
            f.write("SSLEngine On\n")
        done = subprocess.run([brigade.BINARY, "-t", "-d", f"{root}/etc", "-f", f"{root}/etc/apache2.conf"], env=dict(os.environ, **env), capture_output=True, text=True)
        assert done.returncode == 1 and "zz-test.conf" in done.stderr and "SSLEngine" in done.stderr, done.stderr


@pytest.mark.skipif(not os.path.exists(f"{debian_tree.ETC}/mods-available/cgid.load"), reason="no cgid")
def test_start_lets_go_of_the_callers_output():
    """`brigade -k start | cat` returns, also where a module has daemons."""
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        env = dict(os.environ, **debian_tree.copy(root, brigade.free_port(), ["cgid"]))
        os.makedirs(f"{root}/run/socks")
        command = [brigade.BINARY, "-d", f"{root}/etc", "-f", f"{root}/etc/apache2.conf", "-k"]
        try:
            done = subprocess.run([*command, "start"], env=env, stdout=subprocess.PIPE, timeout=brigade.PATIENCE)
            assert done.returncode == 0
        finally:
            subprocess.run([*command, "stop"], env=env, timeout=brigade.PATIENCE)


SOFTWARE = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\necho \"$SERVER_SOFTWARE\"\n"


@pytest.mark.parametrize("conf,seen", [("", r"Apache/2\.4\.\d+ \(Brigade/[\d.]+\)"), ("ServerSoftware brigade\nServerTokens Prod\n", "Brigade"), ('ServerSoftware "My server"\n', "My server")])
def test_what_applications_see(conf, seen):
    server = DebianServer(brigade.BINARY, ["cgi"], ALLOW + conf)
    write = server.write_config

    def write_all(config=None):
        write(config)
        os.chmod(server.write("cgi/soft.cgi", SOFTWARE, base="www/html"), 0o755)
    server.write_config = write_all
    with server:
        answer = server.get("/cgi/soft.cgi")
        assert re.fullmatch(seen, answer.body.decode().strip()) and answer["Server"].startswith("Brigade")


APACHECTL = "/usr/sbin/apache2ctl"
ENVVARS = """export APACHE_RUN_USER=www-data APACHE_RUN_GROUP=www-data APACHE_PID_FILE={root}/run/apache2.pid APACHE_RUN_DIR={root}/run
export APACHE_LOCK_DIR={root}/lock APACHE_LOG_DIR={root}/log LANG=C
"""
WRAPPER = '#!/bin/bash\nexec -a /usr/sbin/apache2 {binary} "$@"\n'


@pytest.mark.skipif(not os.path.exists(APACHECTL), reason="no apache2ctl")
def test_debians_ways():
    """What the guide says: apache2ctl starts it, and logrotate finds it."""
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        debian_tree.copy(root, brigade.free_port())
        wrapper = f"{root}/brigade-apache2"
        with open(wrapper, "w") as f:
            f.write(WRAPPER.format(binary=os.path.abspath(brigade.BINARY)))
        os.chmod(wrapper, 0o755)
        with open(f"{root}/etc/envvars", "w") as f:
            f.write(ENVVARS.format(root=root) + f'export APACHE_HTTPD={wrapper}\nexport APACHE_ARGUMENTS="-d {root}/etc -f apache2.conf"\n')
        env = dict(os.environ, APACHE_CONFDIR=f"{root}/etc", APACHE_STARTED_BY_SYSTEMD="true")

        def ctl(*args):
            return subprocess.run([APACHECTL, *args], env=env, capture_output=True, text=True, timeout=brigade.PATIENCE)

        def found():
            return subprocess.run(["pgrep", "-f", f"^/usr/sbin/apache2 .*{root}"], capture_output=True, text=True).stdout.split()
        assert ctl("configtest").returncode == 0
        assert ctl("start").returncode == 0
        try:
            with open(f"{root}/run/apache2.pid") as f:
                assert f.read().strip() in found()
            os.rename(f"{root}/log/error.log", f"{root}/log/error.log.1")
            assert ctl("graceful").returncode == 0
            brigade.wait_until(lambda: os.path.exists(f"{root}/log/error.log"), "a new log")
        finally:
            assert ctl("stop").returncode == 0


def test_takeover_check():
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        debian_tree.copy(root, 80, ["unique_id"])
        with open(f"{root}/etc/envvars", "w") as f:
            f.write(ENVVARS.format(root=root))

        def check():
            return subprocess.run([brigade.BINARY, "--takeover-check", f"{root}/etc"], capture_output=True, text=True, timeout=brigade.PATIENCE)
        done = check()
        assert done.returncode == 0 and "Can Brigade take over? Yes" in done.stdout, done
        assert "Modules that keep answers out of memory:\n  none" in done.stdout and "Refused: 0 lines" in done.stdout
        # which MPM is enabled is Debian's to say
        if "as with Apache's mpm_prefork" not in done.stdout:
            assert "StartServers: ServerProcesses" in done.stdout and "150 requests of a process may wait" in done.stdout
        with open(f"{root}/etc/conf-enabled/zz-test.conf", "a") as f:
            f.write("SSLEngine On\n")
        done = check()
        assert done.returncode == 1 and "Can Brigade take over? No" in done.stdout and "zz-test.conf:2: unsupported: SSLEngine" in done.stderr, done
        os.unlink(f"{root}/etc/apache2.conf")
        assert check().returncode == 1


def test_takeover_check_of_a_second_apache():
    """apache2ctl makes its /run folder when it starts it."""
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        debian_tree.copy(root, 80, ["unique_id"])
        text = ENVVARS.format(root=root)
        assert "APACHE_RUN_DIR=" in text

        def check(run):
            with open(f"{root}/etc/envvars", "w") as f:
                f.write(re.sub(r"APACHE_RUN_DIR=.*", f"APACHE_RUN_DIR={root}/{run}", text))
            return subprocess.run([brigade.BINARY, "--takeover-check", f"{root}/etc"], capture_output=True, text=True, timeout=brigade.PATIENCE)
        done = check("apache2-many")
        assert done.returncode == 0 and "Can Brigade take over? Yes" in done.stdout, done
        assert not os.path.exists(f"{root}/apache2-many")
        with open(f"{root}/etc/apache2.conf") as f:
            lines = f.read()
        with open(f"{root}/etc/apache2.conf", "w") as f:
            f.write(lines.replace("${APACHE_RUN_DIR}", f"{root}/elsewhere"))
        done = check("apache2-many")
        assert done.returncode == 1 and "DefaultRuntimeDir must be a valid directory" in done.stderr, done
