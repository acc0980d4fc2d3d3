# SPDX-License-Identifier: Apache-2.0
"""Redirects and refusals from memory: those of the full way, until what they depend on changes, and with their lines in the error log."""
import os
import re

import pytest

from brigade import APACHE_MODULES
from cache_site import await_hits, hits, known, one_loop, settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

CONFIG = f"""LoadModule rewrite_module {APACHE_MODULES}/mod_rewrite.so
<Location /metrics>
SetHandler metrics
</Location>
<Directory "@ROOT@/htdocs">
AllowOverride All
</Directory>
Redirect /old http://localhost/new
Redirect gone /gone
RedirectMatch 301 "^/m/(.*)" "/$1"
RewriteEngine On
RewriteCond %{{HTTP:X-Forwarded-Proto}} !=https
RewriteRule ^/rw/(.*) https://localhost/$1 [R=301,L]
RewriteRule ^/f - [F]
"""
FILES = {"d/a.txt": "x", "deny/.htaccess": "Require all denied\n", "deny/a.txt": "x", "pd/.htaccess": "RewriteEngine On\nRewriteRule ^q/(.*)$ /r/$1 [R=302]\nRewriteRule ^g - [G]\n",
         "login/.htaccess": "AuthType Basic\nAuthName members\nAuthUserFile @ROOT@/htdocs/.users\nRequire valid-user\n", "login/a.txt": "x", ".users": "me:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=\n"}
TARGETS = {"/old/x": 302, "/old/x?y=1": 302, "/gone/x": 410, "/m/q": 301, "/rw/1": 301, "/f/1": 403, "/d": 301, "/d?x": 301, "/deny/a.txt": 403, "/deny/none": 403, "/pd/q/1": 302, "/pd/g": 410, "/none": 404, "/login/a.txt": 401}
SAID = ("Location", "Content-Type", "Content-Length", "WWW-Authenticate", "Connection")


def site(serve, more=""):
    server = one_loop(serve, more + CONFIG, files=FILES)
    path = server.path("htdocs/login/.htaccess")
    with open(path) as f:
        text = f.read().replace("@ROOT@", server.root)
    with open(path, "w") as f:
        f.write(text)
    settle(server.path("htdocs"))
    return server


def said(answer, server):
    return answer.status, [(answer[n] or "").replace(str(server.port), "PORT") for n in SAID], answer.body.replace(str(server.port).encode(), b"PORT")


def test_each_is_remembered(serve):
    server, plain = site(serve), site(serve, "FileCacheEntries 0\n")
    for target, status in TARGETS.items():
        with server.connect() as c, plain.connect() as p:
            before = hits(server)
            # A note for logs shows the name 1 of /rw/1 and /f/1: the second answer shows that they need entries of their own.
            for fields in [{}] * 7 + [{"If-None-Match": "*"}, {"Range": "bytes=0-1"}, {"X-Forwarded-Proto": "https"}]:
                one, other = c.get(target, fields), p.get(target, fields)
                assert said(one, server) == said(other, plain) and (one.status == status or fields)
        await_hits(server, before + 3)


@pytest.mark.parametrize("target,name,text", [
    ("/deny/a.txt", "deny/.htaccess", "Require all granted\n"), ("/d", "d", None), ("/none", "none", "x"), ("/pd/g", "pd/.htaccess", "Require all granted\n"),
    ("/login/a.txt", "login/.htaccess", "Require all granted\n"), ("/old/x", None, None)])
def test_changes_count_at_once(serve, target, name, text):
    server = site(serve)
    with server.connect() as c:
        for _ in range(5):
            assert c.get(target).status == TARGETS[target]
        if name is None:
            return
        path = server.path("htdocs", name)
        if text is None:
            os.rename(path, path + ".away")
        else:
            server.write(name, text)
        assert c.get(target).status == (404 if text is None or target == "/pd/g" else 200)


def test_an_access_file_that_appears(serve):
    """Below a folder that is passed, and in the one of the target."""
    server = site(serve)
    with server.connect() as c:
        for _ in range(5):
            assert c.get("/d").status == 301
        server.write("d/.htaccess", "Require all denied\n")
        assert c.get("/d").status == 403
        for _ in range(5):
            assert c.get("/d").status == 403
        os.unlink(server.path("htdocs/d/.htaccess"))
        assert c.get("/d").status == 301
        server.write(".htaccess", "Require all denied\n")
        assert c.get("/d").status == 403


def test_each_refusal_is_in_the_error_log(serve):
    server = site(serve, 'CustomLog @ROOT@/logs/access "%>s %U %{Referer}i"\n')
    with server.connect() as c:
        for _ in range(7):
            assert c.get("/deny/a.txt", {"Referer": "http://there/"}).status == 403
    server.stop()
    with open(server.path("logs/error_log")) as f:
        lines = [re.sub(r"^\[[^]]*\]|tid \d+|:\d+\]", "", line) for line in f if "AH01630" in line]
    assert len(lines) == 7 and len(set(lines)) == 1 and "client denied by server configuration" in lines[0] and "referer: http://there/" in lines[0]
    with open(server.path("logs/access")) as f:
        assert f.read().splitlines() == ["403 /deny/a.txt http://there/"] * 7


def written(server):
    """Calls by which its processes wrote to files."""
    count = 0
    for pid in server.children():
        with open(f"/proc/{pid}/io") as f:
            count += int(re.search(r"^syscw: (\d+)$", f.read(), re.M)[1])
    return count


def test_refusals_of_a_turn_are_written_together(serve):
    """In their order, each line whole."""
    server = site(serve)
    ask = "GET /deny/a.txt HTTP/1.1\r\nHost: localhost\r\nReferer: http://there/%d\r\n\r\n"
    with server.connect() as c:
        for _ in range(7):
            assert c.get("/deny/a.txt").status == 403
        before = written(server)
        c.socket.sendall("".join(ask % n for n in range(60)).encode())
        answers = b""
        while answers.count(b"HTTP/1.1 403") < 60:
            answers += c.socket.recv(65536)
        server.wait_for_log("referer: http://there/59\n", "logs/error_log")
        assert written(server) - before < 30
    with open(server.path("logs/error_log")) as f:
        seen = re.findall(r"^\[.*\] AH01630: client denied by server configuration: \S*/deny/a\.txt .*, referer: http://there/(\d+)$", f.read(), re.M)
    assert seen == [str(n) for n in range(60)]


def test_with_a_password_all_the_same(serve):
    server = site(serve)
    me, other = {"Authorization": "Basic bWU6bWU="}, {"Authorization": "Basic bWU6eW91"}
    with server.connect() as c:
        for _ in range(6):
            assert [c.get("/login/a.txt", fields).status for fields in ({}, other, {})] == [401, 401, 401]


def test_new_names_push_no_files_out(serve):
    server = site(serve, "FileCacheEntries 64\nMaxKeepAliveRequests 0\n")
    server.write("a.txt", "text")
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(6):
            assert c.get("/a.txt").status == 200
        for i in range(300):
            for _ in range(3):
                assert c.get(f"/old/{i}").status == 302
        before = hits(server)
        for _ in range(5):
            assert c.get("/a.txt").status == 200
    await_hits(server, before + 5)


def log_lines(server, name):
    """But for what is another one for each: times, threads, ports of clients."""
    with open(server.path(name), encoding="utf-8", errors="replace") as f:
        text = re.sub(rf"\b{server.port}\b", "PORT", f.read().replace(server.root, "ROOT"))
    for what, name in ((r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d\.\d{6} \d{4}", "TIME"), (r"pid \d+:tid \d+", "PID"), (r"127\.0\.0\.[01]:\d+", "CLIENT"), (r"request: [\w+/]{10,20}", "request: ID"), (r"^id [\w+/]{10,20}", "id ID"),
                       (r'"time":"[^"]*"|"pid":\d+|"tid":"?\d+"?|"client_port":\d+|"(request|connection)_id":"[^"]*"', "FIELD"), (r"( [\w+/]{18}){1,2}$", " ID")):
        text = re.sub(what, name, text, flags=re.M)
    return [line for line in text.splitlines() if "/deny/n" in line]


@pytest.mark.parametrize("more", ["", "BuiltinPages modern\n", "BuiltinPages apache\n", 'ErrorLogFormat "[%{u}t] [%-m:%l] %M %{Referer}i %L"\n', 'ErrorLogFormat request "request %L %{c}L"\n', "ErrorLogFormat json\n",
                                  "LogLevel crit\n", "LogLevel info\n", "RequestHeader set Referer http://set.example/\n", "RequestId On\n", "LogMaskClient 16 48\n"])
def test_lines_are_those_of_the_full_way(serve, more):
    """Each refusal has a line, by whatever way it is sent: in any format, with its fields, and the id that the access log shows."""
    servers = [site(serve, less + more.replace("[%{u}t]", "TIME") + 'LogFormat "id %L %{c}L %U" ids\nCustomLog @ROOT@/access ids\n') for less in ("", "FileCacheEntries 0\n")]
    referers = ["", "http://localhost/a", "a \\\"b\\\"", "x\\y", "tab\there", "\u00e9" * 3, "y" * 2000, "-"]
    with servers[0].connect() as c, servers[1].connect() as p:
        known(c, "/deny/")
        known(p, "/deny/")
        before = hits(servers[0])
        for i in range(40):
            fields = {"Referer": referers[i % len(referers)]} if i > 8 else {}
            one, other = (client.get(f"/deny/n{i}" if i % 3 else "/deny/nothing", fields) for client in (c, p))
            assert one.status == 403 and said(one, servers[0]) == said(other, servers[1])
        await_hits(servers[0], before + 15)
    for server in servers:
        server.stop()
    assert log_lines(servers[0], "logs/error_log") == log_lines(servers[1], "logs/error_log")
    assert [line.split()[0] for line in log_lines(servers[0], "access")] == [line.split()[0] for line in log_lines(servers[1], "access")]
    with open(servers[0].path("access")) as a, open(servers[0].path("logs/error_log"), encoding="utf-8", errors="replace") as e:
        ids, text = [line.split()[1] for line in a if "/deny/n" in line], e.read()
    assert ("-" in ids) == (more == "LogLevel crit\n")
    assert len(set(ids)) == (1 if more == "LogLevel crit\n" else 40)
    if "modern" in more or "%L" in more:
        assert all(text.count(an_id) == 1 for an_id in ids)
