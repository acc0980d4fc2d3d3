#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Access files and server configurations of the wild: which of their answers come from memory, and whether all are Apache's.

    test/campaign/wild.py --access FOLDER --server FOLDER      files that you have collected; none is in this repository
    test/campaign/wild.py --access FOLDER --why                and why others do not, by `-t -D DUMP_CACHE`: slower
    test/campaign/wild.py --access FOLDER --only NAME -v       one file: each answer that does not come from memory, and why

Each file gets a small site (SITE) and serves it by Brigade (BRIGADE, or out/release/brigade) and by the installed Apache. What a visitor
may ask for is asked of both five times: files, folders, names that are missing, hidden files, what redirects and rules speak of; and
series of names that nobody asked for before. Status, fields and bytes are compared; the access log (%{cache-result}e) tells which answers
came from memory. wild_files.py has what is changed in a configuration before it can start.
A file that Apache refuses as a whole is counted apart: Brigade has to refuse it, too. Lines of a server configuration that Apache
refuses are left out.
"""
import argparse
import collections
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile

import support
import htaccess
import wild_files
from backend import Backend, answer
from htaccess import APACHE, SETTLED, Answer, tell
from http_client import raw_exchange, request_bytes
from script_backend import Script, STDOUT, end, record
from support import brigade

ROUNDS = 5
BASE = """authz_core authz_host access_compat authn_core authn_file authz_user authz_groupfile auth_basic alias dir mime env setenvif autoindex
deflate filter headers expires rewrite negotiation reqtimeout actions include socache_shmcb ssl http2 version proxy proxy_http proxy_fcgi unixd""".split()
MORE = """allowmethods asis brotli substitute speling status remoteip macro vhost_alias userdir cgi dav dav_fs info proxy_balancer slotmem_shm
lbmethod_byrequests proxy_wstunnel ratelimit request sed usertrack imagemap mime_magic auth_digest authn_anon authz_dbm authn_dbm cern_meta
cache cache_disk xml2enc proxy_html session session_cookie proxy_connect proxy_ftp authz_owner ident log_debug ext_filter charset_lite dumpio""".split()
TEXT = "<p>text of a page</p>\n" * 30
SITE = {"index.html": "<h1>index</h1>\n" + TEXT, "index.php": "php", "page.html": "<h1>page</h1>\n" + TEXT, "page.php": "php", "style.css": "p { color: red }\n" * 60,
        "script.js": "f(1);\n" * 200, "pic.png": b"\x89PNG" * 90, "pic.jpg": b"\xff\xd8" * 90, "pic.svg": "<svg/>\n" * 30, "font.woff2": b"wOF2" * 60,
        "robots.txt": "User-agent: *\n", "favicon.ico": b"\0\0\1\0" * 20, "doc.pdf": b"%PDF" * 80, "data.json": "{}\n" * 60, ".env": "SECRET=1\n", ".git/config": "[core]\n",
        "backup.sql": "select 1;\n", "sub/index.html": "<h1>sub</h1>\n" + TEXT, "sub/page.html": "<h1>sub page</h1>\n" + TEXT, "sub/style.css": "a { top: 0 }\n" * 60,
        "bare/pic.png": b"\x89PNG" * 70, "bare/note.txt": "note\n" * 40, **{f"new/n{n}.html": f"<h1>new {n}</h1>\n" + TEXT + "x" * n for n in range(7)}}
ASKED = ["/", "/index.html", "/page.html", "/style.css", "/script.js", "/pic.png", "/pic.jpg", "/pic.svg", "/font.woff2", "/robots.txt", "/favicon.ico", "/doc.pdf", "/data.json",
         "/style.css?v=1", "/index.php", "/page.php", "/sub", "/sub/", "/sub/page.html", "/sub/style.css", "/bare/", "/bare/note.txt", "/none.html", "/none", "/none/", "/no/such.css",
         "/none.jpg", "/.env", "/.git/config", "/.htaccess", "/backup.sql"]
SERIES = ["/none-%d.html", "/none/%d", "/none%d.jpg", "/new/n%d.html"]
BROWSER = [("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"), ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
           ("Accept-Language", "en-US,en;q=0.5"), ("Accept-Encoding", "gzip, deflate, br"), ("Connection", "close")]
KINDS = ["file", "redirect", "refusal", "miss"]
COMMON = """ServerRoot @ROOT@
PidFile @ROOT@/logs/httpd.pid
Mutex file:@ROOT@/logs default
Listen 127.0.0.1:@PORT@
Listen 127.0.0.1:@TLS@
ServerName localhost:80
ServerAdmin admin@localhost
ErrorLog @ROOT@/logs/error_log
LogLevel warn
CustomLog @ROOT@/logs/asked "%{X-Ask}i %{cache-result}e"
TypesConfig @ROOT@/conf/mime.types
<IfModule mod_dav_fs.c>
    DavLockDB @ROOT@/logs/dav
</IfModule>
<Directory />
    AllowOverride None
    Require all denied
</Directory>
<Directory @SITE@>
    Options Indexes FollowSymLinks
    AllowOverride @OVERRIDE@
    Require all granted
</Directory>
<FilesMatch "^\\.ht">
    Require all denied
</FilesMatch>
<FilesMatch "\\.php$">
    SetHandler "proxy:unix:@SCRIPT@|fcgi://localhost"
</FilesMatch>
"""
OF_ACCESS_FILE = """DocumentRoot @SITE@
<VirtualHost *:@TLS@>
    ServerName localhost:443
    SSLEngine On
    SSLCertificateFile @FILES@.pem
</VirtualHost>
"""


class Wild(brigade.Server):
    """With its configuration alone, as in htaccess.py."""

    def command(self, *args):
        return [self.binary, "-d", self.root, "-f", self.path("conf/httpd.conf"), *args]


def script(params, body, send):
    lines = "".join(f"{n}={params.get(n)}\n" for n in ("REQUEST_METHOD", "REQUEST_URI", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "REDIRECT_STATUS", "REDIRECT_URL"))
    send(record(STDOUT, ("Content-Type: text/html\r\nX-Script: yes\r\n\r\n" + lines + TEXT).encode()) + record(STDOUT) + end())


def page(connection, request):
    return answer(f"{request.target}\n{TEXT}".encode(), fields=[("Content-Type", "text/html"), ("X-Script", "yes")])


class Place:
    """What all files share: backends, certificates, modules."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="brigade-wild-")
        os.chmod(self.folder, 0o755)
        self.files = self.folder + "/ours"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.files + ".key", "-out", self.files + ".crt",
                        "-subj", "/CN=localhost", "-days", "30"], check=True, capture_output=True)
        wild_files.write(self.folder, "ours.pem", wild_files.read(self.files + ".key") + wild_files.read(self.files + ".crt"))
        wild_files.write(self.folder, "ours.users", "u:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")
        wild_files.write(self.folder, "ours.groups", "g: u\n")
        self.http, self.script = Backend({"*": page}), Script("fcgi", script)
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        there = [m for m in MORE if os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so")]
        loads = "".join(self.load(m) for m in ["mpm_event", *BASE, *there])
        config = wild_files.write(self.folder, "all.conf", loads + f"ServerName localhost\nDefaultRuntimeDir {self.folder}\nErrorLog {self.folder}/error_log\n")
        said = subprocess.run([APACHE, "-f", config, "-L"], capture_output=True, text=True, check=False).stdout
        assert "AddOutputFilter" in said, "Apache does not list its directives"
        self.module_of = {d.lower(): m for d, m in re.findall(r"^(<?[A-Za-z]\w*)\s+\(mod_(\w+)\.c\)", said, re.M) if m in there}

    @staticmethod
    def load(module):
        path = f"{brigade.APACHE_MODULES}/mod_{module}.so"
        return f"LoadModule {module}_module {path}\n" if os.path.exists(path) else ""

    def loads(self, text):
        """LoadModule lines: what Debian has enabled, and sites enable first, and what the text's directives need."""
        wanted = [self.module_of[d.lower()] for d in re.findall(r"(?m)^\s*(<?[A-Za-z]\w*)", text) if d.lower() in self.module_of]
        if "proxy_balancer" in wanted or "balancer://" in text:
            wanted = ["slotmem_shm", "lbmethod_byrequests", "proxy_balancer", *wanted]
        if "dav" in wanted:
            wanted.append("dav_fs")
        return "".join(self.load(m) for m in ["mpm_event", *BASE, *dict.fromkeys(wanted)])

    def close(self):
        self.http.close()
        self.script.listener.close()
        shutil.rmtree(self.script.folder, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


class Refused(Exception):
    """A configuration that a server does not start with."""


class Pair:
    """Apache and Brigade with one configuration and one site."""

    def __init__(self, place, config, text):
        self.place, self.servers, self.number = place, [], 0
        try:
            for binary in (APACHE, brigade.BINARY):
                own = "" if brigade.is_apache(binary) else "EventLoops 1\n"
                user = brigade.unprivileged_user()
                who = f"User {user}\nGroup {'www-data' if user == 'www-data' else 'nogroup'}\n" if os.geteuid() == 0 else ""
                server = Wild(place.loads(text) + own + who + config, bare=True, binary=binary, modules=None, pages=None)
                server.tls_port, server.context = brigade.free_port(), place.tls
                server.config = server.config.replace("@TLS@", str(server.tls_port))
                self.servers.append(server)
                try:
                    server.start()
                except AssertionError as e:
                    raise Refused(f"{os.path.basename(binary)}: {re.sub(r'brigade-test-[^/]*', 'ROOT', str(e)[-400:])}") from None
        except BaseException:
            self.close()
            raise

    def ask(self, number, secure, host, target, mark="-"):
        """The answer of Apache (0) or Brigade (1)."""
        server, data = self.servers[number], request_bytes("GET", target, [*BROWSER, ("X-Ask", mark)], b"", "1.1", host)
        got = htaccess.Request.over_tls(server, data) if secure else raw_exchange("127.0.0.1", server.port, data, brigade.PATIENCE, half_close=True)
        return without_names(Answer.of(re.sub(rb"(?<=:)(%d|%d)(?=/)" % (server.port, server.tls_port), b"PORT", got)))

    def results(self, count):
        """What Brigade's access log says: mark -> result."""
        server = self.servers[1]
        brigade.wait_until(lambda: server.read("logs/asked").count(b"\n") >= count, f"{count} lines of the access log")
        return dict(line.decode().split(" ", 1) for line in server.read("logs/asked").splitlines())

    def why(self, host, target):
        """What -t -D DUMP_CACHE says of a URL."""
        said = self.servers[1].run("-t", "-D", "DUMP_CACHE", f"http://{host}{target}").stdout.decode("latin-1")
        if "memory: yes" in said:
            return "DUMP_CACHE: it is kept"
        m = re.search(r"memory: no\n\s+(.*)", said)
        return re.sub(r"/[\w./-]*brigade-[\w./-]*|\d+", "N", m[1]) if m else "DUMP_CACHE says nothing"

    def close(self):
        for server in self.servers:
            server.close(failed=False) if server.process else server.remove()


def without_names(a):
    """What says which server it is, and that of ServerSignature, does not count."""
    body = re.sub(rb"<address>.*?</address>", b"", a.plain(), flags=re.S)
    if body != a.plain():
        a.body = body
        a.fields = [(n, v) for n, v in a.fields if n.lower() != "content-length"]
    return a


def kind_of(a, target):
    status = int(a.line.split()[1])
    if a.script:
        return "script"
    if status in (200, 206, 304):
        return "listing" if b"<title>Index of" in a.plain() or b"Parent Directory" in a.plain() else "file"
    return {301: "redirect", 302: "redirect", 303: "redirect", 307: "redirect", 308: "redirect", 401: "refusal", 403: "refusal", 404: "miss", 410: "miss"}.get(status, str(status))


class Report:
    def __init__(self, why, verbose):
        self.why, self.verbose = why or verbose, verbose
        self.share, self.reasons, self.differences = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        self.files, self.refused, self.alone, self.left_out = 0, [], [], collections.Counter()

    def show(self, name):
        print(f"\n== {name}: {self.files} files served, {len(self.refused)} refused by both, {len(self.alone)} refused by one alone ==")
        for label in ("again", "new names"):
            for kind in KINDS:
                n, all_ = self.share[label, kind, True], self.share[label, kind, True] + self.share[label, kind, False]
                if all_:
                    print(f"{kind:9} {label:10} {n:6} of {all_:6} from memory, {100 * n / all_:5.1f} %")
        others = {k: v for (label, k, _), v in self.share.items() if k not in KINDS and label == "again"}
        print("others:", ", ".join(f"{k} {sum(v for (l, kk, _), v in self.share.items() if kk == k)}" for k in sorted(others)))
        if self.why:
            print("why not, and in how many files:")
        for (label, kind, why), n in self.reasons.most_common(30):
            print(f"  {n:5} {kind} {label}: {why}")
        for name_, why in self.alone:
            print(f"refused by one alone: {name_}: {why}")
        for line, n in self.left_out.most_common(15):
            print(f"left out {n}: {line}")
        print(f"{sum(map(len, self.differences.values()))} differences of {len(self.differences)} kinds")
        for text, where in sorted(self.differences.items(), key=lambda d: -len(d[1])):
            print(f"  {len(where):4} {text}\n       {where[0]}")


def measure(pair, name, hosts, targets, report):
    """Ask for all, compare, count."""
    asked, lines = [], 0
    for number, (host, secure) in enumerate(hosts):
        for target in [*(ASKED if number == 0 or secure else ASKED[:4]), *targets]:
            asked.append((host, secure, "again", [target] * ROUNDS))
        asked += [(host, secure, "new names", [s % n for n in range(ROUNDS + 2)]) for s in SERIES]
    kinds, different = {}, False
    for number, (host, secure, label, series) in enumerate(asked):
        ours = [pair.ask(1, secure, host, target, f"{number}.{n}") for n, target in enumerate(series)]
        lines += len(ours)
        for n, target in enumerate(series):
            b = ours[n]
            if n == 0 or target != series[n - 1]:
                a = pair.ask(0, secure, host, target)  # after Brigade: what a server looks for may tell the kernel something
            if a != b:
                text = re.sub(r"brigade-\w+-[^/]*|\d{3,}|127\.0\.0\.1:\d+", "N", tell(a, b))[:300]
                report.differences[text].append(f"{name}: {'https' if secure else 'http'}://{host}{target}, answer {n + 1}")
                different = True
        kinds[number] = kind_of(b, target)
    results = pair.results(lines)
    if all(k == "500" for k in kinds.values()):
        report.refused.append(name)
        return different
    report.files += 1
    looked, whys = collections.Counter(), set()
    for number, (host, secure, label, series) in enumerate(asked):
        kind, result = kinds[number], results.get(f"{number}.{len(series) - 1}", "none")
        kept = "MEM_HIT" in result
        report.share[label, kind, kept] += 1
        if kept or kind not in KINDS:
            continue
        why = pair.why(host, series[-1]) if report.why and not secure and (report.verbose or not looked[label, kind]) else ""
        looked[label, kind] += 1
        if why:
            whys.add((label, kind, why))
        if report.verbose:
            print(f"{name}: {kind} {label} {host}{series[-1]}: {result}: {why}")
    report.reasons.update(whys)
    return different


def fill(folder, place):
    for name, content in SITE.items():
        wild_files.write(folder, name, content)


def settle(folder):
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            os.utime(os.path.join(path, name), (SETTLED, SETTLED))
        os.chmod(path, 0o755)
        os.utime(path, (SETTLED, SETTLED))


def access_file(place, path, name, report):
    text = wild_files.of_access_file(wild_files.read(path), place.http.port, place.script.path)
    site = tempfile.mkdtemp(dir=place.folder)
    fill(site, place)
    targets, hosts = wild_files.targets_of(text)
    wild_files.write(site, ".htaccess", text)
    settle(site)
    config = expand(COMMON + OF_ACCESS_FILE, place, site, "All")
    secure = re.search(r"(?i)HTTPS|SERVER_PORT|REQUEST_SCHEME|X-Forwarded-Proto", text)
    asked = [("site.example", False), ("www.site.example", False)] + ([("site.example", True)] if secure else []) + [(h, False) for h in hosts[:2]]
    pair = Pair(place, config, text)
    try:
        return measure(pair, name, asked, targets[:12], report)
    finally:
        pair.close()


def expand(config, place, site, override):
    return config.replace("@SITE@", site).replace("@OVERRIDE@", override).replace("@SCRIPT@", place.script.path).replace("@FILES@", place.files)


def server_configuration(place, path, name, report):
    base = tempfile.mkdtemp(dir=place.folder)
    os.chmod(base, 0o755)
    made = wild_files.Made(wild_files.read(path), base, place.files, place.http.port, place.script.path)
    fill(base + "/default", place)
    for root, is_site in made.roots:
        fill(root, place)
    settle(base)
    text = made.text
    own = expand(COMMON, place, base, "None") + f"DocumentRoot {base}/default\n"
    while True:
        try:
            pair = Pair(place, own + text, text)
            break
        except Refused as e:
            text = without_refused(place, own, text, str(e), name, report)
            if text is None:
                report.refused.append(name)
                return False
    targets, _ = wild_files.targets_of(text)
    try:
        return measure(pair, name, made.hosts[:6], targets[:12], report)
    finally:
        pair.close()


def without_refused(place, own, text, error, name, report):
    """The text without the line that Apache refuses; None: there is no such line. Brigade has to refuse it, too."""
    server = Wild(place.loads(text) + own + text, bare=True, binary=APACHE, modules=None, pages=None)
    server.config = server.config.replace("@TLS@", str(brigade.free_port()))
    ours = Wild(place.loads(text) + own + text, bare=True, modules=None, pages=None)
    ours.config = server.config
    try:
        theirs, mine = [s.run("-t") for s in (server, ours)]
        m = re.search(rb"on line (\d+) of \S*httpd.conf:\s*(?:\n)?(.*)", theirs.stderr)
        if (theirs.returncode == 0) != (mine.returncode == 0) or theirs.returncode == 0:
            report.alone.append((name, re.sub(r"brigade-test-[^/]*|\s+", " ", (theirs.stderr[-200:] + b" / " + mine.stderr[-300:]).decode("latin-1") + error[-300:])))
            return None
    finally:
        server.remove()
        ours.remove()
    if not m:
        return None
    lines = (place.loads(text) + own + text).split("\n")
    at = int(m[1]) - 1
    before = len((place.loads(text) + own).split("\n")) - 1
    report.left_out[re.sub(r"brigade-\S*|\d+", "N", m[2].decode("latin-1"))[:110]] += 1
    if at < before:
        return None
    body, at = lines[before:], at - before
    section = re.match(r"\s*<(\w+)", body[at])
    last = at
    if section:
        last = next((i for i in range(at, len(body)) if re.match(rf"(?i)\s*</{section[1]}", body[i])), at)
    return "\n".join(body[:at] + [""] * (last + 1 - at) + body[last + 1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--access", metavar="FOLDER", help="access files, whatever their names")
    parser.add_argument("--server", metavar="FOLDER", help="server configurations")
    parser.add_argument("--only", default="", help="files whose names have this")
    parser.add_argument("--why", action="store_true", help="tell what keeps answers out of memory")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell of each answer that did not come from memory")
    arguments = parser.parse_args()
    if not arguments.access and not arguments.server:
        parser.error("--access or --server has to name a folder")
    place, differ = Place(), 0
    try:
        for label, folder, run in (("access files", arguments.access, access_file), ("server configurations", arguments.server, server_configuration)):
            if not folder:
                continue
            report = Report(arguments.why, arguments.verbose)
            for name in sorted(n for n in os.listdir(folder) if arguments.only in n):
                try:
                    run(place, os.path.join(folder, name), name, report)
                except (Refused, AssertionError, OSError) as e:
                    report.alone.append((name, re.sub(r"\s+", " ", str(e))[-600:]))
                print(".", end="", file=sys.stderr, flush=True)
            report.show(label)
            differ += len(report.differences) + len(report.alone)
    finally:
        place.close()
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
