# SPDX-License-Identifier: Apache-2.0
"""Twins for URLs that nobody asked for before, below the prefix of a ProxyPass to FastCGI, SCGI or uwsgi: one plan for all of them. Backends
get the same variables in the same order, clients the same answers, and logs tell the same as from a server without plans. TEST_COUNT=60000
sends so many, TEST_SEED repeats them."""
import random
import threading

import pytest

import effort
from brigade import PATIENCE, wait_until
from planned_peers import compare
from planned_scripts import ANSWERS, LOG, Request, ScriptsOfHTTP1, ScriptsOfHTTP2, old, script
from planned_site import CONFIG, full_ways
from script_backend import STDERR, STDOUT, Script, end, record

pytestmark = pytest.mark.only("brigade")

COUNT = effort.count(9000, 60000)
SEED = int(effort.seed(random.randrange(1 << 30)))
TO = "unix:{path}|{protocol}://localhost"
PASS = f"ProxyPass /p/ {TO}/base/\n"
TOLD = "LogFormat \"- %U%q %>s %{SCRIPT_NAME}e %{PATH_INFO}e %{SCRIPT_URL}e %{IMAGE}e %{REST}e %f\" told\nCustomLog logs/access.log told\n"

# name: (configuration, 1: most new URLs go by plans, 0: none does, None: some do, of those that are decided alike)
SITES = {
    "folder": (PASS, 1),
    "root": (f"ProxyPass /metrics !\nProxyPass /here.txt !\nProxyPass / {TO}/\n", 1),
    "no-slash": (f"ProxyPass /p {TO}/base\n", 1),
    "same": (f"ProxyPass /p/ {TO}/p/\n", 1),
    "pattern": (f"ProxyPassMatch ^/p/(.*)$ {TO}/base/$1\n", 0),
    "nocanon": (PASS.replace("base/\n", "base/ nocanon\n"), None),
    "kept": (PASS.replace("base/\n", "base/ enablereuse=on\n"), 1),
    "nested": (f"ProxyPass /p/deep/er/ {TO}/nested/\nProxyPass /p/deep/ !\n{PASS}", None),
    "variables": (f"{PASS}SetEnv A b\nSetEnv HTTP_X_B fixed\nSetEnvIf Request_URI \\.png$ IMAGE\nSetEnvIf Cookie (.*) TASTE=$1\n", 1),
    "copied": (f"{PASS}SetEnvIf Request_URI ^/p/(.*) REST=$1\n", 0),
    "own": (f"{PASS}SetEnv PATH_INFO /fixed/7\nSetEnv SCRIPT_NAME x\n", None),
    "conditions": (f"{PASS}<If \"%{{{{QUERY_STRING}}}} =~ /1/\">\nSetEnv REST of-query\n</If>\n", 0),
    "rules": (f"{PASS}RewriteEngine On\nRewriteRule ^/p/a/0 - [F]\n", None),
    "edits": (f"{PASS}Header set X-New 1\nHeader always append X-A c\nRequestHeader set X-B 2\nRequestHeader unset Referer\n", 1),
    "locations": (f"{PASS}<Location /p/deep>\nRequestHeader set X-Of section\n</Location>\n<LocationMatch ^/p/a/[0-4]>\nRequire all denied\n</LocationMatch>\n", None),
    "set": (f"{PASS}<Location />\nProxyFCGISetEnvIf true SCRIPT_FILENAME /fixed/7\nProxyFCGISetEnvIf true !SCRIPT_NAME\n</Location>\n", None),
    "generic": (f"{PASS}<Location />\nProxyFCGIBackendType GENERIC\n</Location>\n", None),
    "added": (f"{PASS}AddDefaultCharset utf-8\nProxyStatusField On\nProxyVia On\nProxyErrorOverride On 404\nErrorDocument 404 /here.txt\n", 1),
    "special": (f"ProxyPass /special/ {TO}/base/deep/ timeout=7\n{PASS}", 0),
}
PATHS = ["/p/{}", "/p/a/{}", "/p/deep/er/{}", "/p/deep/{}/", "/p/{}/x/y.html", "/p/a/{}.html", "/p/{}.png", "/p/{}/a-title.php/info", "/p/.{}", "/p//{}", "/p/./{}", "/p/%41{}", "/p/a/../{}",
         "/p/{};x=y", "/p/{}?", "/p/{}%20", "/p/", "/p", "/p{}", "/special/{}", "/p/p", "/p/base", "/p/fixed/7", "/p/localhost", "/p/p/p", "/p/http:{}", "http://localhost/p/{}", "/here.txt"]
QUERIES = ["", "", "", "?a=b", "?utm=x&y=%C3%A4", "?1", "?a[]=b|c", "?a=b?c=d", "?x=/p/../y"]


def targets(chance, n):
    return [(chance.choice(PATHS[:7]) if chance.random() < .8 else chance.choice(PATHS)).format(chance.randrange(10000)) + chance.choice(QUERIES) for _ in range(n)]


def plain(one):
    return lambda params, body, send: one[0].answer(send, params["REQUEST_URI"].encode())


def site_text(site, backend, spoken):
    return CONFIG + SITES[site][0].replace("{path}", backend.path).replace("{protocol}", spoken).replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("protocol", [ScriptsOfHTTP1, ScriptsOfHTTP2], ids=["http1", "http2"])
@pytest.mark.parametrize("spoken", ["fcgi", "scgi", "uwsgi"])
@pytest.mark.parametrize("site", SITES)
def test_new_urls(serve, site, spoken, protocol):
    one = []
    with Script(spoken, script if spoken == "fcgi" else plain(one)) as backend:
        one.append(backend)
        text = site_text(site, backend, spoken) + LOG + TOLD
        servers = [serve(first + text, files={"here.txt": old}) for first in ("", "FileCacheEntries 0\n")]
        count = COUNT // len(SITES) // 6
        answers = ["plain", "php", "cookies", *ANSWERS] if spoken == "fcgi" else ["plain"]
        urls = targets(random.Random(SEED), count)
        asked, ways = compare([protocol(server, backend) for server in servers], lambda chance: Request(chance, urls, answers), count, SEED, order=sorted)
    print(f"{site}, {spoken}: {asked} requests, {ways} of them the full way")
    assert asked < 200 or SITES[site][1] is None or (ways < asked * .8 if SITES[site][1] else ways > asked * .8)


@pytest.mark.parametrize("spoken", ["fcgi", "scgi", "uwsgi"])
@pytest.mark.parametrize("site", ["folder", "root", "no-slash"])
def test_one_plan_for_all(serve, site, spoken):
    """Once the prefix is known no new URL takes the full way, and each has its own variables."""
    one = []
    with Script(spoken, plain(one)) as backend:
        one.append(backend)
        server = serve(site_text(site, backend, spoken) + LOG)
        with server.connect() as client:
            for n in range(6):
                assert client.get(f"/p/first/{n}?s={n}").body == b"/p/first/%d?s=%d" % (n, n)
                assert client.get(f"/p/first/{n}").body == b"/p/first/%d" % n
            before = full_ways(server)
            for n in range(50):
                for path, query in ((f"/p/{n}", ""), (f"/p/{n}/a-title/", ""), (f"/p/tag/x/{n}", f"a={n}&b=/c")):
                    asked = path + ("?" + query if query else "")
                    assert client.get(asked).body == asked.encode()
                    got = backend.seen[-1][0]
                    assert got["QUERY_STRING"] == query and got["SCRIPT_NAME"] + got.get("PATH_INFO", "") == path
                    assert got["SCRIPT_FILENAME"].endswith(path.replace("/p/", {"folder": "/base/", "root": "/p/", "no-slash": "/base/"}[site]))
        assert full_ways(server) - before <= 1


def test_a_name_that_the_prefix_shows(serve):
    """The plan for all is made of another URL: what its variables have of the path could not be told of this."""
    one = []
    with Script("uwsgi", plain(one)) as backend:
        one.append(backend)
        server = serve(CONFIG + f"ProxyPass /base/ unix:{backend.path}|uwsgi://localhost/\n" + LOG)
        with server.connect() as client:
            client.get("/base/first")
            client.get("/base/second")
            client.get("/base/base")
            for n in range(20):
                client.get(f"/base/{n}")
                got = backend.seen[-1][0]
                assert (got["SCRIPT_NAME"], got["PATH_INFO"]) == ("/base", f"/{n}")
        assert full_ways(server) <= 4


def test_a_message_names_its_own_url(serve):
    """That of a script which says more once its head is on its way."""
    came = threading.Event()

    def says(params, body, send):
        send(record(STDOUT, b"Content-Type: text/plain\r\n\r\nabc"))
        if params["REQUEST_URI"] == "/p/told":
            assert came.wait(PATIENCE)
            send(record(STDERR, b"said late"))
        send(end())
    with Script("fcgi", says) as backend:
        server = serve(site_text("folder", backend, "fcgi"))
        with server.connect() as client:
            for n in range(6):
                client.get(f"/p/first/{n}")
            before = full_ways(server)
            client.send("GET /p/told HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.read_until(b"abc")
            came.set()
            client.read_until(b"0\r\n\r\n")
        assert full_ways(server) == before
        wait_until(lambda: b"said late" in server.read("logs/error_log"))
        assert b"script: fcgi://localhost/base/told" in server.read("logs/error_log")


def test_a_field_in_the_place_of_a_variable(serve):
    """The first field of a request stands where the last variable of the configuration would: others of its plan would lack that one."""
    one = []
    with Script("scgi", plain(one)) as backend:
        one.append(backend)
        server = serve(CONFIG + f"ProxyPass /p/ unix:{backend.path}|scgi://localhost/\nSetEnv HTTP_X_B fixed\n" + LOG)
        with server.connect() as client:
            for field, value in [("X-B: 1\r\n", "1")] * 6 + [("", "fixed")] * 6 + [("X-B: 1\r\n", "1")]:
                client.send(f"GET /p/x HTTP/1.1\r\n{field}Host: localhost\r\n\r\n")
                client.read_until(b"0\r\n\r\n")
                assert backend.seen[-1][0].get("HTTP_X_B") == value
