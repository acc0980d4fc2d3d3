# SPDX-License-Identifier: Apache-2.0
"""The built-in modules, by what their directives promise."""
import os
import re
import subprocess
import sys

import pytest

from brigade import wait_until

FILES = {"index.html": "home\n", "a.txt": "A\n", "d/b.txt": "B\n", "d/index.htm": "D\n", "page.html.de": "deutsch\n",
         "archive.tar.gz": "gz", "error.html": "own error page\n"}


@pytest.mark.parametrize("config,target,status,location,body", [
    ("Alias /x @ROOT@/htdocs/d\n", "/x/b.txt", 200, None, b"B\n"),
    ("Alias /x/ @ROOT@/htdocs/d/\n", "/x/b.txt", 200, None, b"B\n"),
    ("Alias /x @ROOT@/htdocs/d\n", "/xy/b.txt", 404, None, None),
    ("AliasMatch ^/y/(.*)\\.t$ @ROOT@/htdocs/d/$1.txt\n", "/y/b.t", 200, None, b"B\n"),
    ("Redirect /old /new\n", "/old", 302, "http://localhost/new", None),
    ("Redirect permanent /old http://other.example/new\n", "/old/more?q=1", 301, "http://other.example/new/more?q=1", None),
    ("Redirect 307 /old /new\n", "/old", 307, "http://localhost/new", None),
    ("Redirect 308 /old /new\n", "/old", 308, "http://localhost/new", None),
    ("Redirect seeother /old /new\n", "/old", 303, "http://localhost/new", None),
    ("Redirect gone /old\n", "/old", 410, None, None),
    ("Redirect 404 /old\n", "/old", 404, None, None),
    ("RedirectMatch ^/o(.)d$ /n$1w\n", "/old", 302, "http://localhost/nlw", None),
    ("RedirectPermanent /old /new\n", "/old", 301, "http://localhost/new", None),
    ("RedirectTemp /old /new\n", "/old", 302, "http://localhost/new", None),
    ("DirectoryIndex index.htm\n", "/d/", 200, None, b"D\n"),
    ("DirectoryIndex none index.htm\n", "/d/", 200, None, b"D\n"),
    ("DirectoryIndex disabled\nOptions -Indexes\n<Directory @ROOT@/htdocs>\nOptions -Indexes\n</Directory>\n", "/", 403, None, None),
    ("DirectoryIndex none /a.txt\n", "/d/", 200, None, b"A\n"),
    ("DirectoryIndexRedirect on\nDirectoryIndex index.htm\n", "/d/", 302, "http://localhost/d/index.htm", None),
    ("FallbackResource /a.txt\n", "/no/such", 200, None, b"A\n"),
    ("ErrorDocument 404 /error.html\n", "/none", 404, None, b"own error page\n"),
    ("ErrorDocument 404 \"plain text\"\n", "/none", 404, None, b"plain text"),
    ("ErrorDocument 404 http://other.example/\n", "/none", 302, "http://other.example/", None),
    ("ErrorDocument 404 /none-either\n", "/none", 404, None, None),
    ("<Location /a.txt>\nRequire all denied\n</Location>\nErrorDocument 403 \"no\"\n", "/a.txt", 403, None, b"no"),
    ("<Location /x>\nSetHandler server-status\nRequire all granted\n</Location>\n", "/x?auto", 200, None, None),
])
def test_mapping(serve, config, target, status, location, body):
    if config.startswith("Alias /x/"):
        config = config + "<Directory @ROOT@/htdocs/d>\nRequire all granted\n</Directory>\n"
    r = serve(config, FILES).get(target)
    assert r.status == status, r
    assert r["Location"] == location
    if body is not None:
        assert r.body == body


@pytest.mark.parametrize("config,target,field,value", [
    ("", "/a.txt", "Content-Type", "text/plain"),
    ("", "/archive.tar.gz", "Content-Type", "application/x-gzip"),
    ("AddType text/x-own .txt\n", "/a.txt", "Content-Type", "text/x-own"),
    ("AddCharset utf-8 .txt\n", "/a.txt", "Content-Type", "text/plain; charset=utf-8"),
    ("AddDefaultCharset utf-8\n", "/a.txt", "Content-Type", "text/plain; charset=utf-8"),
    ("AddDefaultCharset On\n", "/a.txt", "Content-Type", "text/plain; charset=iso-8859-1"),
    ("AddDefaultCharset utf-8\n", "/archive.tar.gz", "Content-Type", "application/x-gzip"),
    ("AddEncoding x-gzip .gz\n", "/archive.tar.gz", "Content-Encoding", "x-gzip"),
    ("AddLanguage de .de\n", "/page.html.de", "Content-Language", "de"),
    ("AddLanguage de .de\n", "/page.html.de", "Content-Type", "text/html"),
    ("DefaultLanguage fr\n", "/a.txt", "Content-Language", "fr"),
    ("ForceType image/gif\n<Directory @ROOT@/htdocs>\nForceType image/gif\n</Directory>\n", "/a.txt", "Content-Type", "image/gif"),
    ("RemoveType .txt\n<Directory @ROOT@/htdocs>\nRemoveType .txt\n</Directory>\n", "/a.txt", "Content-Type", None),
    ("Header set X-A \"%D %t\"\n", "/a.txt", "X-A", re.compile(r"^D=\d+ t=\d{16}$")),
    ("Header set X-A one\nHeader append X-A two\nHeader merge X-A two\nHeader merge X-A three\n", "/a.txt", "X-A", "one, two, three"),
    ("Header set X-A one\nHeader add X-A two\n", "/a.txt", "X-A", "one, two"),
    ("Header set X-A one\nHeader unset X-A\n", "/a.txt", "X-A", None),
    ("Header set X-A one\nHeader edit X-A o 0\n", "/a.txt", "X-A", "0ne"),
    ("Header set X-A ooo\nHeader edit* X-A o 0\n", "/a.txt", "X-A", "000"),
    ("Header setifempty X-A one\nHeader setifempty X-A two\n", "/a.txt", "X-A", "one"),
    ("Header set X-A yes \"expr=%{REQUEST_URI} == '/a.txt'\"\n", "/a.txt", "X-A", "yes"),
    ("Header set X-A yes \"expr=%{REQUEST_URI} == '/b.txt'\"\n", "/a.txt", "X-A", None),
    ("SetEnv VAR value\nHeader set X-A %{VAR}e\n", "/a.txt", "X-A", "value"),
    ("SetEnv VAR value\nHeader set X-A yes env=VAR\n", "/a.txt", "X-A", "yes"),
    ("Header set X-A yes env=!VAR\n", "/a.txt", "X-A", "yes"),
    ("SetEnvIf Request_URI a\\.txt HIT=1\nHeader set X-A %{HIT}e\n", "/a.txt", "X-A", "1"),
    ("SetEnvIf X-Req ^(.*)$ GOT=$1\nHeader set X-A %{GOT}e\n", "/a.txt", "X-A", "sent"),
    ("SetEnvIfNoCase X-Req SENT HIT\nHeader set X-A yes env=HIT\n", "/a.txt", "X-A", "yes"),
    ("BrowserMatch Test HIT\nHeader set X-A yes env=HIT\n", "/a.txt", "X-A", "yes"),
    ("SetEnvIfExpr \"%{REQUEST_METHOD} == 'GET'\" HIT\nHeader set X-A yes env=HIT\n", "/a.txt", "X-A", "yes"),
    ("SetEnv A 1\nUnsetEnv A\nHeader set X-A yes env=A\n", "/a.txt", "X-A", None),
    ("PassEnv HOME_OF_TEST\nHeader set X-A %{HOME_OF_TEST}e\n", "/a.txt", "X-A", "here"),
    ("RequestHeader set X-Req changed\nHeader echo X-Req\n", "/a.txt", "X-Req", re.compile("changed|sent")),
    ("Header always set X-A yes\n", "/none", "X-A", "yes"),
    ("Header set X-A yes\n", "/none", "X-A", None),
    ("ExpiresActive On\nExpiresByType text/plain \"access plus 1 hour\"\n", "/a.txt", "Cache-Control", "max-age=3600"),
    ("ExpiresActive On\nExpiresDefault A60\n", "/a.txt", "Cache-Control", "max-age=60"),
    ("ExpiresActive Off\nExpiresDefault A60\n", "/a.txt", "Cache-Control", None),
])
def test_response_fields(serve, config, target, field, value):
    server = serve(config, FILES, env={"HOME_OF_TEST": "here"})
    got = server.get(target, {"X-Req": "sent", "User-Agent": "Test/1"})[field]
    assert value.match(got) if hasattr(value, "match") else got == value, got


@pytest.mark.parametrize("rules,status", [
    ("Require all granted", 200), ("Require all denied", 403), ("Require ip 127.0.0.1", 200), ("Require ip 127", 200),
    ("Require ip 127.0.0.0/8", 200), ("Require ip 10.0.0.0/255.0.0.0", 403),     ("<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.1\n</RequireAll>", 403),
    ("<RequireAny>\nRequire ip 10\nRequire method GET\n</RequireAny>", 200),
    ("Require local", 200), ("Require method POST", 403),
    ("Require env LET", 200), ("Require expr \"%{REQUEST_URI} =~ /txt/\"", 200), ("Require expr false", 403),
    ("Order deny,allow\nDeny from all", 403), ("Order allow,deny\nAllow from 127.0.0.1", 200),
    ("Order deny,allow\nDeny from all\nAllow from env=LET", 200), ("Order allow,deny", 403), ("Order deny,allow", 200),
    ("Require all denied\nOrder deny,allow\nSatisfy Any", 200), ("Require all denied\nDeny from all\nOrder deny,allow", 403),
])
def test_access(serve, rules, status):
    config = f"SetEnvIf Request_URI a LET\n<Location /a.txt>\n{rules}\n</Location>\n"
    assert serve(config, FILES).get("/a.txt").status == status


# ---- Logs -----------------------------------------------------------------------------------------------------

LOG_ITEMS = [
    ("%h", r"127\.0\.0\.1"), ("%a", r"127\.0\.0\.1"), ("%{c}a", r"127\.0\.0\.1"), ("%A", r"127\.0\.0\.1"), ("%l", "-"),
    ("%u", "-"), ("%t", r"\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]"), ("%r", r"GET /a\.txt\?q HTTP/1\.1"),
    ("%s", "200"), ("%>s", "200"), ("%b", "2"), ("%B", "2"), ("%D", r"\d+"), ("%T", r"\d+"), ("%{us}T", r"\d+"),
    ("%{ms}T", r"\d+"), ("%f", r".*/htdocs/a\.txt"), ("%H", r"HTTP/1\.1"), ("%m", "GET"), ("%U", r"/a\.txt"), ("%q", r"\?q"),
    ("%v", "localhost"), ("%V", "localhost"), ("%p", r"\d+"), ("%{local}p", r"\d+"), ("%{remote}p", r"\d+"), ("%P", r"\d+"),
    ("%{tid}P", r"\d+"), ("%k", "0"), ("%X", r"[-+X]"), ("%L", ".+"), ("%R", ".*"), ("%%", "%"),
    ("%{User-Agent}i", "Test/1"), ("%{Content-Type}o", "text/plain"), ("%{None}i", "-"), ("%{VAR}e", "value"),
    ("%{Cookie}C", "-"), ("%{c}C", "crumb"), ("%{%Y}t", r"\d{4}"), ("%{sec}t", r"\d+"), ("%{msec_frac}t", r"\d{3}"),
    ("%{begin:usec}t", r"\d{16}"), ("%{end:sec}t", r"\d+"), ("%404s", "-"), ("%!404s", "200"), ("%200{User-Agent}i", "Test/1"),
]


def test_log_items(serve):
    fmt = "|".join(item for item, _ in LOG_ITEMS)
    server = serve(f"SetEnv VAR value\nLogFormat \"{fmt}\" all\nCustomLog logs/access all\n", FILES)
    server.get("/a.txt?q", {"User-Agent": "Test/1", "Cookie": "b=1; c=crumb"})
    line = server.wait_for_log(rb"[^\n]+\n", "logs/access")[0].decode().rstrip("\n")
    values = line.split("|")
    assert len(values) == len(LOG_ITEMS), line
    wrong = [(item, v) for (item, pattern), v in zip(LOG_ITEMS, values) if not re.fullmatch(pattern, v)]
    assert wrong == []


def test_log_escapes_what_the_client_sends(serve):
    server = serve("CustomLog logs/access \"%{X}i %U\"\n", FILES)
    server.get("/a.txt%22%0a", {"X": 'quote" back\\ tab\t\xe9'})
    line = server.wait_for_log(rb"[^\n]+\n", "logs/access")[0]
    assert b'quote\\" back\\\\ tab\\t\\xe9' in line and b"%0a" in line or b"\\n" in line


def test_conditional_and_several_logs(serve):
    server = serve("SetEnvIf Request_URI a\\.txt A\nCustomLog logs/a common env=A\nCustomLog logs/not-a common env=!A\n"
                   "CustomLog logs/expr common \"expr=%{REQUEST_STATUS} == 404\"\nLogFormat \"%h %l %u %t \\\"%r\\\" %>s %b\" common\n"
                   "TransferLog logs/transfer\n", FILES)
    server.get("/a.txt")
    server.get("/none")
    for name, has, lacks in (("a", b"/a.txt", b"/none"), ("not-a", b"/none", b"/a.txt"), ("expr", b"/none", b"/a.txt"),
                             ("transfer", b"/none", b"xx")):
        server.wait_for_log(has, f"logs/{name}")
        assert lacks not in server.read(f"logs/{name}")


def test_piped_log(serve):
    server = serve("CustomLog \"|/bin/cat >> @ROOT@/logs/piped\" \"%r\"\n".replace("|/bin/cat", "|$/bin/cat"), FILES)
    server.get("/a.txt")
    server.wait_for_log(rb"GET /a.txt HTTP/1.1\n", "logs/piped")


def test_piped_log_starts_again(serve):
    script = f"|{sys.executable} @ROOT@/pipe.py"
    server = serve.unstarted(f"CustomLog \"{script}\" \"%r\"\n", FILES)
    server.write("pipe.py", "import sys\n"
                 f"for line in sys.stdin:\n    open('{server.path('logs/piped')}', 'a').write(line)\n"
                 "    if 'stop' in line:\n        break\n", base="")
    server.start()
    server.get("/stop")
    server.wait_for_log(rb"GET /stop", "logs/piped")

    def logged():
        server.get("/again")
        return b"/again" in server.read("logs/piped")
    wait_until(logged, "the program to be started again")


@pytest.mark.threads
def test_access_log_is_complete(serve):
    server = serve("MaxKeepAliveRequests 0\nCustomLog logs/access \"%r %>s\"\n", FILES)
    with server.connect() as c:
        for i in range(200):
            c.get(f"/a.txt?{i}")
    wait_until(lambda: server.read("logs/access").count(b"\n") == 200, "200 lines")
    assert sorted(server.read("logs/access").split(b"\n")[:-1]) == sorted(f"GET /a.txt?{i} HTTP/1.1 200".encode() for i in range(200))


def test_error_log_format_and_levels(serve):
    server = serve("LogLevel warn\n<Location /loud>\nLogLevel info\n</Location>\n", FILES)
    server.get("/quiet-none")
    server.get("/loud/none")
    line = server.wait_for_log(rb"[^\n]*loud/?[^\n]*\n")[0].decode()
    assert re.match(r"^\[\w{3} \w{3} \d\d \d\d:\d\d:\d\d\.\d{6} \d{4}\] \[core:info\] \[pid \d+:tid \d+\] "
                    r"\[client 127\.0\.0\.1:\d+\] AH00128: File does not exist: .*/htdocs/loud", line), line
    assert b"quiet-none" not in server.read("logs/error_log")


def test_error_log_format_directive(serve):
    server = serve("ErrorLogFormat \"<%l> %M (%a)\"\nLogLevel info\n", FILES)
    server.get("/none")
    server.wait_for_log(rb"(?m)^<info> AH00128: File does not exist: .*/none \(127\.0\.0\.1:\d+\)$")


# ---- Listings and status --------------------------------------------------------------------------------------

def test_autoindex(serve):
    server = serve("IndexOptions FancyIndexing\nIndexIgnore *.hidden\n", {
        "list/b.txt": "bb", "list/a <x>.txt": "a", "list/sub/x": "x", "list/y.hidden": "h", "list/.dot": "d",
        "list/caf\u00e9": "c"})
    page = server.get("/list/").body
    for name in (b'href="b.txt"', b'href="a%20%3cx%3e.txt"', b'href="sub/"', b"a &lt;x&gt;.txt", b"Parent Directory",
                 b"<title>Index of /list</title>"):
        assert name in page or name.replace(b"%3cx%3e", b"%3Cx%3E") in page, (name, page)
    assert b"y.hidden" not in page
    down = server.get("/list/?C=N;O=D").body
    assert down.index(b"b.txt") < down.index(b"a%20")
    assert server.get("/list/?C=S;O=A").status == 200


def test_plain_listing_and_readme(serve):
    server = serve("IndexOptions -FancyIndexing\nHeaderName HEADER.html\nReadmeName README.html\n",
                   {"l/x.txt": "x", "l/HEADER.html": "<p>above</p>", "l/README.html": "<p>below</p>"})
    page = server.get("/l/").body
    assert page.index(b"above") < page.index(b"x.txt") < page.index(b"below")


def test_status_page(serve):
    server = serve("ExtendedStatus On\n<Location /status>\nSetHandler server-status\nRequire all granted\n</Location>\n", FILES)
    for _ in range(5):
        server.get("/a.txt")

    def figures():
        return dict(line.split(": ", 1) for line in server.get("/status?auto").body.decode().splitlines() if ": " in line)

    # A loop counts a request after its answer is on the wire.
    auto = wait_until(lambda: (f := figures()) and int(f["Total Accesses"]) >= 5 and f, "the requests to be counted")
    assert {"Uptime", "BusyWorkers", "IdleWorkers", "Scoreboard", "ServerVersion"} <= set(auto)
    page = server.get("/status")
    assert page["Content-Type"].startswith("text/html") and b"Server Status" in page.body


@pytest.mark.only("brigade")
def test_status_as_json(serve):
    import json
    server = serve("ExtendedStatus On\n<Location /status>\nSetHandler server-status\nRequire all granted\n</Location>\n", FILES)
    r = server.get("/status?json")
    assert r["Content-Type"].startswith("application/json")
    assert isinstance(json.loads(r.body), dict)


def test_curl_and_ab_agree(serve):
    server = serve("", FILES)
    if subprocess.run(["sh", "-c", "command -v curl"], capture_output=True).returncode:
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-sS", "-i", f"http://127.0.0.1:{server.port}/a.txt"], capture_output=True)
    assert done.stdout.startswith(b"HTTP/1.1 200 OK\r\n") and done.stdout.endswith(b"A\n")
    if subprocess.run(["sh", "-c", "command -v ab"], capture_output=True).returncode:
        pytest.skip("ab is not installed")
    done = subprocess.run(["ab", "-q", "-k", "-n", "2000", "-c", "20", f"http://127.0.0.1:{server.port}/a.txt"],
                          capture_output=True, text=True)
    assert re.search(r"Complete requests:\s+2000", done.stdout) and re.search(r"Failed requests:\s+0", done.stdout), done.stdout


def test_error_document_sees_the_request_that_failed(serve):
    server = serve("ErrorDocument 404 /error.html\nCustomLog logs/access \"%s %>s %U %{REDIRECT_STATUS}e %{REDIRECT_URL}e\"\n", FILES)
    assert server.get("/none?q").status == 404
    server.wait_for_log(rb"404 404 /none ", "logs/access")
    os.unlink(server.path("htdocs/error.html"))
    r = server.get("/none")
    assert r.status == 404 and b"Additionally, a 404 Not Found" in r.body
