# SPDX-License-Identifier: Apache-2.0
"""Configurations and folders in which each directive of a module stands in the first, the second, or both of two sections that hold
for a request of its own; and what both servers make of them."""
import functools
import http.client
import os
import re

import brigade
from stock import driver
from tls_site import certificate

from . import arguments
import effort

# Modules whose directives are known under another name than their file's.
FILES = {"core": None, "http_core": None, "so": None, "unixd": None, "log_config": None, "logio": None, "version": None, "watchdog": None, "event": None, "util_ldap": "ldap"}
# Modules without which the directives would do little.
NEEDS = {"cache_disk": ["cache"], "cache_socache": ["cache", "socache_shmcb"], "authn_socache": ["socache_shmcb"], "auth_basic": ["authn_file"], "auth_digest": ["authn_file"], "auth_form": ["authn_file", "request", "session_cookie"],
         "authn_core": ["authn_file", "auth_basic", "authz_user"], "dav": ["dav_fs"], "dav_lock": ["dav_fs"], "core": ["deflate"], "mime": ["deflate"], "filter": ["deflate"], "session_crypto": ["session_cookie"], "session_dbd": ["dbd"],
         "proxy": ["proxy_http", "proxy_balancer", "slotmem_shm", "lbmethod_byrequests"], "ssl": ["socache_shmcb"], "md": ["ssl", "socache_shmcb"], "lbmethod_heartbeat": ["proxy", "proxy_balancer", "slotmem_shm"],
         "proxy_hcheck": ["proxy_http", "watchdog"], "proxy_html": ["xml2enc"], "http2": ["ssl", "socache_shmcb"], "unixd": ["suexec"], "event": [], "cache": ["cache_disk"]}
# Apache's binaries in place of built-in modules.
REPLACED = "binaries" in effort.LONG
SECTIONS = ["Directory", "Location", "Files", "If", "htaccess"]
HOSTS = ["host-first", "host-second", "host-both"]
PLACES = {"first": (1, 0), "second": (0, 1), "both": (1, 1)}
# Of mod_testtables.c: contexts in which a directive is allowed.
IN_HTACCESS, IN_SECTION = 31, 31 | 64
SCRIPT = """require "apache2"
function decline(r) return apache2.DECLINED end
function fixup(r) r.headers_out["X-Lua"] = "yes" return apache2.OK end
function authz(r) return apache2.AUTHZ_GRANTED end
function handle(r) r:puts("lua") return apache2.OK end
function filter(r) coroutine.yield() while bucket do coroutine.yield(bucket) end end
"""
CONF = {"users": "user:$apr1$salt$none\n", "groups": "all: user\n", "hook.lua": SCRIPT, "charset.conv": "en ISO8859-1 English\nxx UTF-8 any\n", "proxies": "10.0.0.0/8\n", "magic": "0 string magic text/x-magic\n", "ticket": 48 * "k",
        "included.conf": "Header set X-Included yes\n", "users.dbm.pag": "", "users.dbm.dir": "", "certs/readme": ""}
FOUND = re.compile(rb"exit signal|Segmentation|Assertion|AddressSanitizer|runtime error:|AH00051|AH00052|BRG_")


class Directive:
    """One line of the table."""

    def __init__(self, module, line):
        self.alone, self.reason = line.startswith("!"), None
        if line.startswith("-"):
            self.name, _, self.reason = line[1:].partition(" ")
        line = line.lstrip("!-")
        self.module, self.text = module, line.replace("|", "\n").replace("@C@", "@ROOT@/conf")
        self.name = re.split(r"[ >\n]", self.text)[0]
        self.folder = re.sub(r"\W", "s-", self.name)

    def __repr__(self):
        return f"{self.module}:{self.name}"


@functools.cache
def table():
    """Module -> its directives."""
    found, module = {}, None
    for line in arguments.TEXT.strip().splitlines():
        if line.startswith("["):
            module = line[1:-1]
            found[module] = []
        else:
            found[module].append(Directive(module, line))
    return found


@functools.cache
def loads(module):
    """Modules to load for it, in order; None where it is not installed."""
    file = FILES.get(module, module)
    names = [d for n in [*NEEDS.get(module, []), *([file] if file else [])] for d in ([*driver.depends(n)] or [n]) if not d.startswith("mpm_")]
    names = [n for n in dict.fromkeys(names) if n not in ("watchdog", *brigade.APACHE_LOADS, *brigade.APACHE_LOADS_IF_THERE)]
    if not all(os.path.exists(f"{driver.MODULES}/mod_{n}.so") for n in names):
        return None
    return names


@functools.cache
def keys():
    """A certificate is made once."""
    server = brigade.Server()
    try:
        certificate(server)
        return server.read("conf/key.pem"), server.read("conf/cert.pem")
    finally:
        server.remove()


class Site:
    """A configuration with its files and the requests that it is asked: (host, target)."""

    def __init__(self):
        self.config, self.files, self.requests = "", {}, []


def section(kind, path, number, line, site):
    """The first (0) or second (1) of two sections of that kind that hold for htdocs/PATH/sub/a.txt."""
    end = ("", "/sub")[number]
    if kind == "htaccess":
        site.files[f"{path}{end}/.htaccess"] = line + "\n"
        return ""
    argument = {"Directory": f"@ROOT@/htdocs/{path}{end}", "Location": f"/{path}{end}", "Files": ("a.txt", "*.txt")[number], "If": ('"true"', '"1 == 1"')[number]}[kind]
    text = f"<{kind} {argument}>\n{line}\n</{kind}>\n"
    return text if kind in ("Directory", "Location") else f"<Directory @ROOT@/htdocs/{path}>\n{text}</Directory>\n"


def in_sections(kind, directives):
    """Each directive three times; and, as a fourth, in the first section with another directive of the module in the second."""
    site = Site()
    for i, directive in enumerate(directives):
        other = directives[(i + 1) % len(directives)]
        for place, lines in {**{p: [directive.text if there else "" for there in two] for p, two in PLACES.items()}, "beside": [directive.text, other.text]}.items():
            path = f"{directive.folder}/{place}"
            site.config += "".join(section(kind, path, n, line, site) for n, line in enumerate(lines))
            site.files[f"{path}/sub/a.txt"] = "a\n"
            site.requests += [("localhost", f"/{path}/sub/a.txt"), ("localhost", f"/{path}/sub/")]
    return site


def in_hosts(kind, directives):
    """Each directive in the main server, in a virtual host of its own, or both."""
    first, second = PLACES[kind.partition("-")[2]]
    site = Site()
    site.config = "".join(d.text + "\n" for d in directives if first)
    for directive in directives:
        host = f"{directive.folder.lower()}.test"
        site.config += f"<VirtualHost *:@PORT@>\nServerName {host}\n{directive.text if second else ''}\n</VirtualHost>\n"
        site.requests += [(host, "/a.txt"), (host, "/sub/")]
    site.files = {"a.txt": "a\n", "sub/b.txt": "b\n"}
    return site


def make_site(kind, directives):
    return in_sections(kind, directives) if kind in SECTIONS else in_hosts(kind, directives)


def replaced(module):
    """Whether Apache's own binary takes the place of a module that is built in."""
    return REPLACED and f"mod_{module}.c" in driver.built_in() and os.path.exists(f"{driver.MODULES}/mod_{module}.so")


def make_server(binary, module, site):
    # What a module of Apache's leaks is not looked for: mod_lua does not free its regular expressions.
    server = brigade.Server("", binary=binary, modules=loads(module), env={"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=66"})
    there = [] if server.apache else [*loads(module), *([module] if replaced(module) else [])]
    off = f"BuiltinModule {module}_module Off\n" if replaced(module) and not server.apache else ""
    server.config = off + "".join(f"LoadModule {m}_module {driver.MODULES}/mod_{m}.so\n" for m in there) + site.config
    key, cert = keys()
    for name, text in {**CONF, "key.pem": key, "cert.pem": cert, "both.pem": cert + key}.items():
        server.write(name, text, base="conf")
    for name, text in site.files.items():
        server.write(name, text.replace("@ROOT@", server.root))
    os.mkdir(server.path("work"))
    os.chmod(server.path("work"), 0o777)
    driver.settle(server.path("htdocs"))
    return server


def accepted(binary, module, site):
    """Whether the program accepts the configuration, and what it says."""
    server = make_server(binary, module, site)
    try:
        done = server.run("-t")
        return done.returncode == 0, (done.stderr + server.error_log())[-1500:].decode(errors="replace")
    finally:
        server.remove()


NOT_STARTED = "does not start"
SHOWN = 12  # differences, at most, of one server
IGNORED = ("date", "server", "content-length", "connection", "keep-alive", "upgrade", "transfer-encoding", "age")


class Asker:
    """Requests on a connection that is kept while the server keeps it."""

    def __init__(self, server):
        self.server, self.client = server, None

    def ask(self, host, target):
        for attempt in (0, 1):
            fresh = self.client is None
            self.client = self.client or http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=brigade.PATIENCE)
            try:
                self.client.request("GET", target, headers={"Host": host, "Accept-Encoding": "identity"})
                answer = self.client.getresponse()
                body = answer.read()
                fields = sorted(n.lower() for n, _ in answer.getheaders() if n.lower() not in IGNORED)
                return answer.status, fields, re.sub(rb"<address>.*?</address>|port \d+", b"", body).replace(self.server.root.encode(), b"@ROOT@") if answer.status == 200 else b""
            except (OSError, http.client.HTTPException) as e:
                self.close()
                if fresh or attempt:
                    return type(e).__name__
        return None

    def close(self):
        if self.client:
            self.client.close()
        self.client = None


def answers(binary, module, site):
    """What the server answers to each request, or that it does not start; and trouble that its log tells of."""
    server = make_server(binary, module, site)
    server.expect_trouble, seen = True, {}
    try:
        try:
            server.start()
            asker = Asker(server)
            for request in site.requests:
                seen[request] = asker.ask(*request)
            asker.close()
        except AssertionError:
            seen = NOT_STARTED
        if seen == NOT_STARTED or not any(isinstance(a, tuple) for a in seen.values()):  # sockets are open before modules refuse to start
            return NOT_STARTED, server.error_log()[-1000:].decode(errors="replace")
        server.stop()
        return seen, "" if server.apache or not FOUND.search(server.error_log()) else server.error_log()[-3000:].decode(errors="replace")
    finally:
        server.close()


def offered(kind, directive, contexts):
    """Whether the table of the module allows it there."""
    if kind in HOSTS:
        return True
    return bool(contexts.get((directive.module, directive.name.lower()), 0) & (IN_HTACCESS if kind == "htaccess" else IN_SECTION))


def agreed(module, kind, directives, differences):
    """Those directives that both accept there; where one accepts what the other refuses is a difference."""
    if not directives:
        return []
    site = make_site(kind, directives)
    if all(accepted(b, module, site)[0] for b in (driver.APACHE, brigade.BINARY)):
        return directives
    both = []
    for directive in directives:
        said = [accepted(b, module, make_site(kind, [directive])) for b in (driver.APACHE, brigade.BINARY)]
        if said[0][0] != said[1][0]:
            differences.append(f"{directive} {kind}: Apache {'accepts' if said[0][0] else 'refuses'} {directive.text!r}, Brigade does not agree: {said[said[0][0]][1]}")
        elif said[0][0]:
            both.append(directive)
    return both


def compare(module, kind, directives):
    """What differs between both servers with these directives in sections of that kind."""
    differences = []
    together = agreed(module, kind, [d for d in directives if not (d.alone and kind in HOSTS)], differences)
    groups = [together] + [agreed(module, kind, [d], differences) for d in directives if d.alone and kind in HOSTS]
    for group in groups:
        if not group:
            continue
        (apache, refusal), (here, trouble) = [answers(b, module, make_site(kind, group)) for b in (driver.APACHE, brigade.BINARY)]
        if isinstance(apache, str) or isinstance(here, str):
            if apache != here:
                differences.append(f"{group} {kind}: {'Apache' if apache == NOT_STARTED else 'Brigade'} does not start: {refusal or trouble}")
            continue
        if trouble:
            differences.append(f"{group} {kind}: {trouble}")
        wrong = [f"{module} {kind} {request}: Apache {apache[request]!r:.300}; Brigade {here[request]!r:.300}" for request in apache if apache[request] != here[request]]
        differences += wrong[:SHOWN] + ([f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else [])
    return differences
