# SPDX-License-Identifier: Apache-2.0
"""Modules whose answers Brigade keeps in memory, or not, by what their configuration says: every request is sent as often
as it takes to be stored, and the answers are those of Apache. Modules that are loaded and have nothing to do keep nothing
out of memory; which do, with Debian's own configuration, is what build/tools/module_table.py writes into docs/modules.md."""
import os
import pwd
import re

import pytest

import brigade
import http_client
import test_debian_config as debian
import test_remembered as remembered
from stock import driver
from stock.driver import Step
from test_enabled_modules import ENABLED, names

pytestmark = debian.pytestmark
FORWARDED = [{}, {"X-Forwarded-For": "192.0.2.7"}, {"X-Forwarded-For": "192.0.2.8"}, {"X-Forwarded-For": "192.0.2.7, 192.0.2.9"}, {"X-Forwarded-For": "nonsense"}]
PAGES = ["/index.html", "/big.html", "/image.png", "/none.html"]
ROOT = pwd.getpwuid(0).pw_name
CASES = {
    "proxy": (["proxy", "proxy_http", "proxy_fcgi"], "ProxyPass /proxied http://127.0.0.1:1/\nProxyPass /proxied2/no !\nProxyPassMatch ^/im(.*) http://127.0.0.1:1/$1\n"
              "<Location /big.html>\nProxyPass !\n</Location>\n<FilesMatch \\.php$>\nSetHandler proxy:fcgi://127.0.0.1:1\n</FilesMatch>\n", [*PAGES, "/proxied/x", "/proxied2/no", "/x.php"]),
    "remoteip": (["remoteip"], "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n<Location /image.png>\nRequire ip 192.0.2.7\n</Location>\n"
                 "SetEnvIf Remote_Addr 192.0.2.8 eight\nHeader set X-Eight yes env=eight\n", [Step(p, h) for p in PAGES for h in FORWARDED]),
    "remoteip-log": (["remoteip"], "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n", [Step(p, h) for p in PAGES for h in FORWARDED]),
    "remoteip-setenvif": (["remoteip"], "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\nSetEnvIf X-Forwarded-For 7 seven\nHeader set X-Seven yes env=seven\n", [Step(p, h) for p in PAGES for h in FORWARDED]),
    "userdir": (["userdir"], f"UserDir @ROOT@/www/html/users\n", [*PAGES, f"/~{ROOT}/", f"/%7e{ROOT}/a.html", "/~nobody-at-all/a.html", f"/~{ROOT}/a.html"]),
    "dav": (["dav", "dav_fs"], "DavLockDB @ROOT@/run/DavLock\n<Location />\nDav On\n</Location>\n", [*PAGES, Step("OPTIONS /index.html"), Step("PROPFIND /none.html", {"Depth": "0"})]),
    "cache": (["cache", "cache_disk"], "CacheRoot @ROOT@/run\nCacheEnable disk /sub\nCacheEnable disk /big\nCacheIgnoreNoLastMod On\nCacheDefaultExpire 60\n",
              [Step(p, unify=[(r"^\d+$", "N")]) for p in [*PAGES, "/sub/x.html", "/SUB/x.html", "/%73ub/x.html"]]),
    "speling": (["speling"], "CheckSpelling On\n", [*PAGES, "/Index.html", "/image.pgn", "/index.html/more"]),
    "mime_magic": (["mime_magic"], "", [*PAGES, "/magic/html", "/magic/script", "/magic/plain", "/magic/empty"]),
    "usertrack": (["usertrack"], "<Location /big.html>\nCookieTracking On\n</Location>\n", [Step(p, h, unify=[(r"Apache=[^;]*", "COOKIE")]) for p in PAGES for h in ({}, {"Cookie": "Apache=1"})]),
    "vhost_alias": (["vhost_alias"], "UseCanonicalName Off\n<VirtualHost *:@PORT@>\nServerName other\nServerAlias *.test\nVirtualDocumentRoot @ROOT@/www/html/%1\n</VirtualHost>\n",
                    [Step(p, host=h) for p in ("/x.html", "/index.html") for h in ("sub.test", "users.test", "none.test", "localhost")]),
    "security2": (["unique_id", "security2"], "SecRuleEngine DetectionOnly\nSecRule REQUEST_URI big \"id:1,phase:1,deny\"\n", PAGES),
    "wsgi": (["wsgi"], "WSGIScriptAlias /app @ROOT@/www/html/app.wsgi\n", [*PAGES, "/app", "/app/x"]),
    "wsgi-processes": (["wsgi"], "WSGIScriptAlias /flags @ROOT@/www/html/flags.wsgi\n", ["/flags"]),
    "actions": (["actions", "cgid"], "Action image/png /cgi-bin/none\n", PAGES),
    "session": (["session", "session_cookie"], "<Location /big.html>\nSession Off\n</Location>\n", PAGES),
    "session-on": (["session", "session_cookie"], "Session On\nSessionCookieName s path=/\nSessionMaxAge 60\n", [Step(p, unify=[(r"expiry=\d+", "expiry")]) for p in PAGES]),
    "lua": (["lua"], "LuaPackagePath @ROOT@/?.lua\n", PAGES),
    "md": (["md"], "", [*PAGES, "/.well-known/acme-challenge/x"]),
    "rpaf": (["rpaf"], "<VirtualHost *:@PORT@>\nServerName other.test\nDocumentRoot @ROOT@/www/html/sub\n</VirtualHost>\nSetEnvIf Remote_Addr 192.0.2.8 eight\nHeader set X-Eight yes env=eight\n",
             [Step(p, h) for p in [*PAGES, "/x.html"] for h in [*FORWARDED, {"X-Forwarded-Host": "other.test"}, {"X-Host": "other.test", "X-Forwarded-For": "192.0.2.8"}]]),
    "dav_svn": (["dav", "dav_svn"], "<Location /svn>\nDAV svn\nSVNParentPath @ROOT@/run\n</Location>\n", [*PAGES, "/svn/none/x", "PROPFIND /svn/none/"]),
    "authz_svn": (["dav", "dav_svn", "authz_svn"], "", PAGES),
    "evasive": (["evasive"], "<IfModule mod_evasive20.c>\nDOSPageCount 1000\nDOSSiteCount 1000\n</IfModule>\n", PAGES),
    "xsendfile": (["xsendfile"], "<Location /big.html>\nXSendFile On\n</Location>\n", PAGES),
}
FILES = {"sub/x.html": "x\n", "magic/html": "<html> \n", "magic/script": "#!/bin/sh\n" + "x" * 80, "magic/plain": "a\n", "magic/empty": "", "users/a.html": "a\n", f"users/{ROOT}/a.html": "a\n", f"users/{ROOT}/index.html": "i\n", "users/index.html": "users\n",
         "flags.wsgi": "def application(e, start):\n    start('200 OK', [('Content-Type', 'text/plain')])\n    return [repr((e['wsgi.multiprocess'], e['wsgi.multithread'], e['wsgi.run_once'])).encode()]\n",
         "app.wsgi": "def application(e, start):\n    start('200 OK', [('Content-Type', 'text/plain')])\n    return [e['PATH_INFO'].encode()]\n"}


def there(modules):
    missing = [m for m in modules if m not in names("mods-available")]
    if missing:
        pytest.skip(f"not installed: {missing}")


@pytest.mark.parametrize("case", CASES)
def test_answers(case):
    modules, conf, steps = CASES[case]
    there(modules)
    remembered.compare([s if isinstance(s, Step) else Step(s) for s in steps], FILES, ["headers", *modules], conf)


def test_logged_addresses():
    """Also of answers from memory the log has the address that mod_remoteip yields."""
    there(["remoteip"])
    logged = []
    for binary in (driver.APACHE, brigade.BINARY):
        server = debian.DebianServer(binary, ["remoteip"], CASES["remoteip-log"][1])
        with server:
            asked = [h for _ in range(remembered.TIMES) for h in FORWARDED]
            with server.connect() as c:
                for headers in asked:
                    assert c.get("/a.txt", headers).status == 200
            lines = brigade.wait_until(lambda: (lambda found: found if len(found) == len(asked) else None)(re.findall(rb"(?m)^(\S+) .*GET /a.txt", server.read("log/access.log"))), "the access log")
            logged.append(lines)
    assert logged[0] == logged[1] and len(set(logged[0])) > 2


def test_a_name_like_one_that_was_missing():
    """mod_speling looks at the whole folder: what was not found is looked for again."""
    there(["speling"])
    server = debian.DebianServer(brigade.BINARY, ["speling"], "CheckSpelling On\n")
    with server:
        for _ in range(remembered.TIMES):
            assert server.get("/late.html").status == 404
        server.write("Late.html", "late\n", base="www/html")
        assert server.get("/late.html").status == 301


# Out of memory by what they are for, or because nothing is known of them.
KEEPS_OUT = {"dump_io", "echo", "case_filter", "qos", "evasive", "dnssd"}
AVAILABLE = [m for m in names("mods-available") if not m.startswith(("mpm_", "php")) and m not in ENABLED]


def answers_stay_in_memory(module):
    """What the log says of a file, with that module loaded as Debian does, and nothing of it used."""
    server = debian.DebianServer(brigade.BINARY, list(driver.depends(module)), "LogLevel debug\n")
    if server.run("-t").returncode:
        server.close()
        pytest.skip("it wants more of the configuration than Debian has")
    try:
        server.start()
        server.get("/")
    except (AssertionError, OSError, http_client.Truncated):
        refused = b"Configuration Failed" in server.error_log()
        server.expect_trouble = True
        server.close()
        if refused:
            pytest.skip("it wants more of the configuration than Debian has")
        raise
    try:
        path = server.write("old.html", "old\n", base="www/html")
        os.utime(path, (1e9, 1e9))
        with server.connect() as c:
            for name in ("first", "second"):  # the first answer may say that there are other protocols
                assert c.get("/old.html", {"Referer": f"http://{name}.example/"}).body == b"old\n"
        line = r"answer (?:would be|not) kept.*(?=, referer: http://second\.example/)"  # a thread writes the log, behind the answers
        server.wait_for_log(line, "log/error.log")
        return re.search(line, server.read("log/error.log").decode())[0]
    finally:
        server.close()


@pytest.mark.parametrize("module", AVAILABLE)
def test_loaded_and_unused(module, record_property):
    said = answers_stay_in_memory(module)
    record_property("memory", said)
    assert ("would be kept" in said) == (module not in KEEPS_OUT), said
