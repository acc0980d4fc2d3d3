# SPDX-License-Identifier: Apache-2.0
"""Remembered answers that depend on request fields: each kind of request keeps getting its own."""
import email.utils
import os
import time

import pytest

from brigade import APACHE_MODULES, wait_until
from cache_site import one_loop, settle, warm

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]


def turns(server, target, cases, rounds=6):
    """Ask for the same target as several kinds of clients, in turns: (headers, field, its value)."""
    with server.connect() as c:
        for _ in range(rounds):
            for headers, field, value in cases:
                answer = c.get(target, headers)
                assert answer.status == 200 and answer[field] == value, (headers, answer.headers)


BY_BROWSER = """
SetEnvIf User-Agent robot is_robot
SetEnvIf User-Agent "^Old/[1-3]" is_old
SetEnvIf X-Kind ^a$ is_a
Header set X-Class robot env=is_robot
Header set X-Class old env=is_old
Header set X-Class a env=is_a
"""
CLASSES = [({}, None), ({"User-Agent": "a robot of this name"}, "robot"), ({"User-Agent": "Another robot, with a name that is longer"}, "robot"),
           ({"User-Agent": "Old/2"}, "old"), ({"User-Agent": "Old/4"}, None), ({"X-Kind": "a"}, "a"), ({"X-Kind": "aa"}, None), ({"User-Agent": "robot", "X-Kind": "a"}, "a")]


def test_kinds_of_clients(serve):
    server = one_loop(serve, BY_BROWSER, files={"a.txt": "a"})
    settle(server.path("htdocs"))
    turns(server, "/a.txt", [(h, "X-Class", v) for h, v in CLASSES])


@pytest.mark.parametrize("where", ["Directory", ".htaccess"])
def test_values_count_in_folders(serve, where):
    rules = BY_BROWSER if where == "Directory" else ""
    server = one_loop(serve, f'<Directory "@ROOT@/htdocs">\nAllowOverride All\n{rules}</Directory>\n', files={"a.txt": "a", **({} if rules else {".htaccess": BY_BROWSER})})
    settle(server.path("htdocs"))
    turns(server, "/a.txt", [(h, "X-Class", v) for h, v in CLASSES])


def test_copied_value(serve):
    server = one_loop(serve, 'SetEnvIf X-Name "^(.*)$" NAME=$1\nHeader set X-One one env=NAME\nHeader set X-Hello "%{NAME}e"\n', files={"a.txt": "a"})
    settle(server.path("htdocs"))
    turns(server, "/a.txt", [({"X-Name": f"n{i}"}, "X-Hello", f"n{i}") for i in range(12)])


def test_more_kinds_than_are_kept(serve):
    rules = "".join(f"SetEnvIf X-Name ^n{i}$ n{i}\nHeader set X-Is {i} env=n{i}\n" for i in range(20))
    server = one_loop(serve, rules, files={"a.txt": "a"})
    settle(server.path("htdocs"))
    turns(server, "/a.txt", [({"X-Name": f"n{i}"}, "X-Is", str(i)) for i in range(20)], rounds=4)


def test_rules_of_hosts_beside_those_of_all(serve):
    hosts = "".join(f"<VirtualHost *:@PORT@>\nServerName h{i}\nSetEnvIf X-Kind ^a$ is_a\n</VirtualHost>\n" for i in range(40))
    server = one_loop(serve, "MaxKeepAliveRequests 0\n" + BY_BROWSER.replace("SetEnvIf X-Kind ^a$ is_a\n", "") + "<VirtualHost *:@PORT@>\nServerName localhost\nSetEnvIf X-Kind ^a$ is_a\n</VirtualHost>\n" + hosts, files={"a.txt": "a"})
    settle(server.path("htdocs"))
    turns(server, "/a.txt", [(h, "X-Class", v) for h, v in CLASSES])
    with server.connect() as c:
        for _ in range(4):
            for i in range(40):
                assert c.get("/a.txt", {"X-Kind": "a" if i % 2 else "b"}, host=f"h{i}")["X-Class"] == ("a" if i % 2 else None)


REWRITE = f"LoadModule rewrite_module {APACHE_MODULES}/mod_rewrite.so\n"
OF_FOLDERS = ["SetEnvIf X-Kind ^a$ is_a", "SetEnvIfExpr \"%{HTTP:X-Kind} == 'a'\" is_a", "RewriteEngine On\nRewriteCond %{HTTP:X-Kind} ^a$\nRewriteRule .* - [E=is_a:1]"]


@pytest.mark.parametrize("rules", OF_FOLDERS)
def test_sections_that_hold_for_a_folder_alone(serve, rules):
    """What was looked at before the index file took the folder's place counts, too."""
    if "Rewrite" in rules and not os.path.exists(f"{APACHE_MODULES}/mod_rewrite.so"):
        pytest.skip("no mod_rewrite")
    server = one_loop(serve, (REWRITE if "Rewrite" in rules else "") + f'<LocationMatch "^/$">\n{rules}\n</LocationMatch>\nHeader set X-Class a env=is_a\n', files={"index.html": "a"})
    settle(server.path("htdocs"))
    turns(server, "/", [({"X-Kind": "a"}, "X-Class", "a"), ({"X-Kind": "b"}, "X-Class", None), ({}, "X-Class", None)])


def test_client_without_keep_alive(serve):
    server = one_loop(serve, "BrowserMatch Poor nokeepalive\n", files={"a.txt": "a"})
    settle(server.path("htdocs"))
    for _ in range(5):
        for agent, said in (("Poor", "close"), ("Rich", None)):
            with server.connect() as c:
                assert c.get("/a.txt", {"User-Agent": agent})["Connection"] == said


BY_NAME = """
SetEnvIf ^X-Own\\d one IS_ONE
SetEnvIfNoCase ^(X-cept-Encoding|X{5}|~{5})$ ^(gzip|x+)$ LIKES_GZIP
SetEnvIf ^X-Own\\D one IS_LETTER
Header set X-Class gzip env=LIKES_GZIP
Header set X-Class one env=IS_ONE
Header set X-Class letter env=IS_LETTER
"""
NAMES = [({}, None), ({"x-cept-encoding": "gzip"}, "gzip"), ({"XXXXX": "xxx"}, "gzip"), ({"XXXXX": "none"}, None), ({"X-Other": "gzip"}, None), ({"X-Own7": "one"}, "one"),
         ({"X-Owns": "one"}, "letter"), ({"x-own7": "one"}, None), ({"Accept-Encoding": "gzip"}, None), ({"X-Own": "one"}, None)]


@pytest.mark.parametrize("where", ["server", "Directory", ".htaccess"])
def test_rules_that_look_for_names_of_fields(serve, where):
    """Who sends no such field gets the answer for all of them, from memory; each of the others is answered anew."""
    rules = BY_NAME if where == "Directory" else ""
    server = one_loop(serve, (BY_NAME if where == "server" else "") + f'CustomLog @ROOT@/logs/asked "%{{cache-result}}e"\n<Directory "@ROOT@/htdocs">\nAllowOverride All\n{rules}</Directory>\n',
                      files={"a.txt": "a", **({".htaccess": BY_NAME} if where == ".htaccess" else {})})
    settle(server.path("htdocs"))
    turns(server, "/a.txt", [(h, "X-Class", v) for h, v in NAMES])
    lines = wait_until(lambda: (got := server.read("logs/asked").split()) and len(got) == 6 * len(NAMES) and got)
    kept = [lines[-len(NAMES):][i] == b"TCP_MEM_HIT" for i in range(len(NAMES))]
    assert kept == [not any(n.lower() in ("x-cept-encoding", "xxxxx", "x-own7", "x-owns") for n in h) for h, _ in NAMES]


def test_one_field_twice(serve):
    server = one_loop(serve, "SetEnvIf X-Kind ^a$ is_a\nHeader set X-Class a env=is_a\n", files={"a.txt": "a"})
    settle(server.path("htdocs"))
    warm(server, "/a.txt", b"a", **{"X-Kind": "a"})
    with server.connect() as c:
        c.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX-Kind: a\r\nX-Kind: a\r\n\r\n")
        assert c.read_response()["X-Class"] is None


def seconds(date):
    return email.utils.parsedate_to_datetime(date).timestamp()


@pytest.mark.parametrize("after,seconds_after", [("access plus 1 hour", 3600), ("A-100", 0)])
def test_expires_goes_with_the_date(serve, after, seconds_after):
    """The date goes on while the answer is remembered."""
    server = one_loop(serve, f'ExpiresActive On\nExpiresDefault "{after}"\nLogFormat "%{{Expires}}o" probe\nCustomLog logs/probe probe\n', files={"a.txt": "a"})
    settle(server.path("htdocs"))
    first, answer, end = None, None, time.time() + 5
    while time.time() < end and (answer is None or answer["Date"] == first["Date"]):
        answer = server.get("/a.txt")
        first = first or answer
        assert seconds(answer["Expires"]) - seconds(answer["Date"]) == seconds_after
        assert answer["Cache-Control"] == f"max-age={seconds_after}"
        unchanged = server.get("/a.txt", {"If-None-Match": answer["ETag"]})
        assert unchanged.status == 304 and seconds(unchanged["Expires"]) - seconds(unchanged["Date"]) == seconds_after
    assert answer["Expires"] != first["Expires"]
    server.wait_for_log(answer["Expires"], "logs/probe")


def test_expires_by_modification(serve):
    server = one_loop(serve, 'ExpiresActive On\nExpiresDefault M1000000000\n', files={"a.txt": "a"})
    settle(server.path("htdocs"))
    for _ in range(5):
        answer = server.get("/a.txt")
        left = int(answer["Cache-Control"].removeprefix("max-age="))
        assert seconds(answer["Expires"]) - seconds(answer["Date"]) - left in (0, 1)
        assert seconds(answer["Expires"]) == 2.7e9
