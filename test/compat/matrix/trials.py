# SPDX-License-Identifier: Apache-2.0
"""Lines of configurations, made of the valid arguments that arguments.py has for each directive, and what both servers make of them.
modules/mod_testlines.c tries thousands with one start."""
import functools
import os
import re
import shutil
import subprocess
import tempfile

import brigade
import peer_module
from stock import driver

from . import sites

# Modules whose directives the built-in modules offer in place of Apache's.
BUILT_IN = ("core http_core event so unixd log_config logio version watchdog authz_host authz_core access_compat reqtimeout request remoteip "
            "filter brotli deflate mime env expires headers setenvif status autoindex include ssl http2 dir alias actions allowmethods asis userdir usertrack vhost_alias cgid negotiation speling proxy proxy_connect proxy_fcgi "
            "proxy_scgi proxy_wstunnel proxy_hcheck substitute info xsendfile md mime_magic cache_socache socache_memcache socache_redis authn_core authn_file authn_dbm authn_anon authn_socache "
            "auth_basic auth_digest authz_groupfile authz_dbm rewrite macro").split()
LOADED = [m for m in ("deflate", "brotli", "include", "remoteip", "request", "logio", "watchdog", "http2", "ssl", "socache_shmcb", "cgid", "actions", "allowmethods", "asis", "userdir", "usertrack", "vhost_alias", "unique_id", "negotiation", "speling",
                        "slotmem_shm", "proxy", "proxy_http", "proxy_connect", "proxy_fcgi", "proxy_scgi", "proxy_balancer", "proxy_wstunnel", "proxy_hcheck", "substitute", "info", "xsendfile", "md", "mime_magic", "authn_core",
                        "authn_file", "authn_dbm", "authn_anon", "authn_socache", "auth_basic", "auth_digest", "authz_user", "authz_groupfile", "authz_dbm", "authz_owner", "rewrite", "macro", "cache", "cache_socache", "socache_memcache", "socache_redis")
          if os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so")]
# Words of which one takes the place of each argument: numbers at and beyond limits, units, signs, cases, quotes, names, paths, expressions.
VALUES = re.findall(r'"[^"]*"|\S+', r'''On Off on OFF "On" yes no true 1 0 -1 2 +1 007 0x10 1e3 1.5 "" " " 10s 10ms 10min 5h 1K 1k 1M 2g 99 100 101
200 404 999 32767 65535 65536 2147483647 2147483648 4294967295 4294967296 9223372036854775807 9223372036854775808 -2147483648 -2147483649
None All Default default unlimited auto * / /x x.y relative "a b" 'On' a,b a=b =b a= # expr=true expr=( %{HTTP_HOST} %{ ( [ ^( http://x/ file:
env:x !x -x +x ! - + zzqq é .. ~ \ :80 1:2 10.0.0.0/8 ::1 a/b text/html .html''')
# Arguments of kinds of sections, which arguments.py does not drive as directives.
SECTIONS = {"<Directory": "/x", "<DirectoryMatch": "^/x", "<Location": "/x", "<LocationMatch": "^/x", "<VirtualHost": "*:1", "Listen": "81"}
# What the main server does not allow stands in a section.
IN_DIRECTORY = re.compile(r"<(Require|Limit|If\b|Else)|(Require|Options|AllowOverride|AllowOverrideList|AuthMerging|Satisfy|allow|deny|order|AuthName|"
                          r"AuthType|AllowMethods|Auth(?!nCacheEnable|nCacheSOCache|DigestShmemSize)\w+|Anonymous\w*|RewriteBase|CGIPassAuth|ModMimeUsePathInfo|KeptBodySize|SSLRequire|SSLRequireSSL|SSLRenegBufferSize|SSLUserName|SSLOptions)\b", re.I)


def words(arguments):
    return re.findall(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|\S+', arguments)


def variants(base):
    """Arguments that are like `base`, and more."""
    w = words(base)
    found = ["", base, base.upper(), base.lower(), *(" ".join(w[:n] + w[n + 1:]) for n in range(len(w))),
             *((f"{base} {more}").strip() for more in ("extra", "On", "# comment", '""', "1", "a b c d")),
             '"' + base.replace('"', '\\"') + '"', " ".join('"' + x.strip("\"'") + '"' for x in w), base + '"', base + " \\", *VALUES]
    for n in range(len(w)):
        changed = [w[n] + "x", "x" + w[n], "+" + w[n], "-" + w[n], "!" + w[n], *(VALUES if len(w) > 1 else [])]
        found += [" ".join(w[:n] + [value] + w[n + 1:]) for value in changed]
    if len(w) == 1:
        found += [f"{w[0]} {value}" for value in [*VALUES[:12], "zzqq", "a b c"]]
    return list(dict.fromkeys(found))


def record(directive, arguments):
    """The lines with which a directive is tried."""
    first, *rest = directive.text.split("\n")
    if directive.reason:
        rest = [f"</{directive.name[1:]}>"] if directive.name.startswith("<") else []
    name = directive.name if directive.reason else first.split()[0].rstrip(">")
    text = "\n".join([f"{name} {arguments}>" if name.startswith("<") else f"{name} {arguments}".strip(), *rest])
    return f"<Directory /x>\n{text}\n</Directory>\n" if IN_DIRECTORY.match(name) else text + "\n"


def base_of(directive):
    """Its valid arguments; None: it is not tried."""
    first = directive.text.split("\n")[0]
    if directive.reason:
        return SECTIONS.get(directive.name)
    if "</" in first:
        return None
    return first[len(first.split()[0].rstrip(">")):].strip().rstrip(">" if first.startswith("<") else "")


@functools.cache
def directives():
    return [(m, d) for m in BUILT_IN for d in sites.table().get(m, []) if base_of(d) is not None]


def records(module):
    """(directive, its records)."""
    found = []
    for d in (d for m, d in directives() if m == module):
        base = base_of(d)
        lines = [record(d, arguments) for arguments in variants(base)]
        if d.name.startswith("<"):
            lines += [record(d, base).replace(base + ">", base + end, 1) for end in ("", "> x", "> # x")]
        found.append((d, lines))
    return found


@functools.cache
def strings(path):
    """Words that stand alone in a program: keywords are among them."""
    out = subprocess.run(["strings", "-n", "2", path], capture_output=True, check=True).stdout.decode(errors="replace")
    return sorted({w for w in out.split("\n") if re.fullmatch(r"[A-Za-z][A-Za-z0-9.-]{1,17}", w)}, key=str.lower)


def program_words(module):
    apache = f"{brigade.APACHE_MODULES}/mod_{module}.so"
    return sorted({*strings(apache if os.path.exists(apache) else driver.APACHE), *strings(brigade.BINARY)})


class Trials:
    """A folder with what the arguments name, for both servers."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="brigade-trials-")
        os.chmod(self.root, 0o755)
        key, cert = sites.keys()
        files = {**{name: text.encode() for name, text in sites.CONF.items()}, "key.pem": key, "cert.pem": cert, "both.pem": cert + key}
        for name, text in files.items():
            path = os.path.join(self.root, "conf", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(text)
        for folder in ("htdocs", "logs", "work"):
            os.mkdir(os.path.join(self.root, folder))

    def remove(self):
        shutil.rmtree(self.root)

    def run(self, binary, groups, config=""):
        """For each record of each group: (accepted, what was said)."""
        server = brigade.Server(binary=binary, modules=LOADED)
        try:
            module = peer_module.build("mod_testlines", server.apache, server.root)
            text = "\x1d".join("".join(r.replace("@ROOT@", self.root) + "\x1e" for r in group) for group in groups)
            server.write("list", text.replace("@C@", self.root + "/conf"), base=".")
            server.config = f"LoadModule testlines_module {module}\n{config}TestLines {server.path('list')}\n"
            server.port = brigade.free_port()
            server.write_config()
            done = subprocess.run(server.command("-t"), capture_output=True, env=server.env, timeout=3600)
            said = server.read("list.out").decode(errors="replace").split("\x1e")[:-1]
            assert len(said) == sum(map(len, groups)), done.stderr
            return [(s.startswith("0 "), s.partition(" ")[2].replace(server.root, "@ROOT@")) for s in said]
        finally:
            server.remove()

    def compare(self, groups):
        """(record, Apache, Brigade) for each; records that a group decides otherwise are tried again alone."""
        flat = [r for group in groups for r in group]
        apache, here = [self.run(b, groups) for b in (driver.APACHE, brigade.BINARY)]
        again = [i for i, (a, b) in enumerate(zip(apache, here)) if a[0] != b[0]]
        if again:
            for done, binary in ((apache, driver.APACHE), (here, brigade.BINARY)):
                for i, outcome in zip(again, self.run(binary, [[flat[i]] for i in again])):
                    done[i] = outcome
        return list(zip(flat, apache, here))
