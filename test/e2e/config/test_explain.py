# SPDX-License-Identifier: Apache-2.0
"""`--explain URL` says which lines of the configuration make the answer to a request what it is; the server then answers so."""
import json
import os
import re
import socket

import pytest

import brigade

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="an option of Brigade's")
WORDPRESS = """# BEGIN WordPress
RewriteEngine On
RewriteBase /wp/
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /wp/index.php [L]
"""
FILES = {"a.html": "a\n", "index.html": "index\n", "wp/index.php": "php\n", "wp/a.css": "css\n", "wp/.htaccess": WORDPRESS, "secret/s.txt": "secret\n", "secret/.htaccess": "Require ip 192.0.2.7\n",
         "list/x.txt": "x\n", "page.shtml": '<!--#exec cmd="touch @ROOT@/ran" -->\n', "b/b.html": "b\n", "cgi/a.cgi": "#!/bin/sh\n", "error.html": "error\n", "shown/x.txt": "x\n"}
CONFIG = """LoadModule cgid_module @MODULES@/mod_cgid.so
ScriptSock @ROOT@/logs/cgisock
LogFormat "%h %U" short
CustomLog @ROOT@/logs/main short
ErrorDocument 404 /error.html
<VirtualHost *:@PORT@>
    ServerName a.example
    DocumentRoot @ROOT@/htdocs
    CustomLog @ROOT@/logs/a short env=!quiet
    CustomLog @ROOT@/logs/wp short "expr=%{REQUEST_URI} =~ m#^/wp/#"
    Alias /other @ROOT@/htdocs/b
    Redirect permanent /old /new
    ProxyPass /api/ balancer://app/
    <Proxy balancer://app>
        BalancerMember http://127.0.0.1:1 route=one
    </Proxy>
    Header set X-Host a
    RewriteEngine On
    RewriteRule ^/gone - [G]
    RewriteRule ^/go(.*)$ http://far.example$1 [R=302]
    <Directory @ROOT@/htdocs>
        Options FollowSymLinks Indexes Includes ExecCGI
        AllowOverride All
        AddHandler application/x-php-app .php
        AddHandler cgi-script .cgi
        AddType text/html .shtml
        AddOutputFilter INCLUDES .shtml
    </Directory>
    <Files "*.css">
        Header set X-Css yes
    </Files>
    <Location /a.html>
        <If "%{HTTP:X-Kind} == 'b'">
            Header set X-Kind b
        </If>
    </Location>
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName b.example
    DocumentRoot @ROOT@/htdocs/b
    <Location /closed>
        Require all denied
    </Location>
</VirtualHost>
"""


@pytest.fixture(scope="module")
def site():
    server = brigade.Server(CONFIG, FILES)
    for name in FILES:
        os.utime(server.path("htdocs", name), (1e9, 1e9))
    server.write("page.shtml", FILES["page.shtml"].replace("@ROOT@", str(server.path("."))))
    with server:
        yield server


def explain(server, *arguments):
    done = server.run("--explain", *arguments)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def explained(server, *arguments):
    status, out, err = explain(server, *arguments)
    assert status == 0, (out, err)
    return out


def ask(server, path, host="a.example", **fields):
    """Status, fields and body of the answer of the server that runs."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode())
        head, _, body = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), body


@pytest.mark.parametrize("path,host,said", [
    ("/a.html", "a.example", ["Answer: 200 OK", "/htdocs/a.html", "Header set X-Host a", "Kept in memory: yes"]),
    ("/", "a.example", ["Answer: 200 OK", "File: @ROOT@/htdocs/index.html"]),
    ("/none", "a.example", ["Answer: 404 Not Found", "Internal redirect to /error.html", "File: @ROOT@/htdocs/none", "File: @ROOT@/htdocs/error.html"]),
    ("/secret/s.txt", "a.example", ["Answer: 403 Forbidden", "/secret/.htaccess:1: Require ip 192.0.2.7", "Messages of the error log:\n    AH01630: client denied", "Handler: none is asked"]),
    ("/old/x", "a.example", ["Answer: 301 Moved Permanently", "Redirect permanent /old /new\n        /old/x -> /new/x"]),
    ("/gone", "a.example", ["Answer: 410 Gone", "RewriteRule ^/gone - [G]\n        matches /gone: answered with status 410"]),
    ("/gox", "a.example", ["Answer: 302 Found", "Location: http://far.examplex", "RewriteRule ^/gone - [G]\n        does not match /gox"]),
    ("/other/b.html", "a.example", ["Answer: 200 OK", "Alias /other @ROOT@/htdocs/b\n        /other/b.html -> @ROOT@/htdocs/b/b.html"]),
    ("/wp/a.css", "a.example", ["Answer: 200 OK", "<Files \"*.css\">", "RewriteCond %{REQUEST_FILENAME} !-f\n        does not hold", "Type: text/css"]),
    ("/list/", "a.example", ["Answer: 200 OK", "Handler: httpd/unix-directory", "Kept in memory: no\n  httpd/unix-directory"]),
    ("/b.html", "b.example", ["Answer: 200 OK", "Virtual host: b.example", "logs/main short\n"]),
    ("/closed", "b.example", ["Answer: 403 Forbidden", "<Location /closed>"]),
    ("/a.html", "nobody.example", ["Virtual host: a.example", "the first one of this address, since none has the name"]),
])
def test_as_the_server_answers(site, path, host, said):
    out = explained(site, f"http://{host}{path}")
    status, fields, _ = ask(site, path, host)
    assert f"Answer: {status} " in out
    location = re.search(r"^    Location: (.*)", out, re.M)
    assert (location[1] if location else None) == fields.get("Location")
    for text in said:
        assert text.replace("@ROOT@", str(site.path(".")).rstrip("/.").rstrip("/")) in out, out


def test_every_place_is_true(site):
    """FILE:LINE: names the line that stands there."""
    out = explained(site, "http://a.example/wp/2024/post")
    places = re.findall(r"^ +(/\S+):(\d+): (\S+)", out, re.M)
    assert len(places) > 15
    for file, line, word in places:
        with open(file) as text:
            assert text.read().split("\n")[int(line) - 1].split()[0].lower() == word.lower(), (file, line, word)


def test_order_of_sections(site):
    """As they are merged: <Directory>, .htaccess, <Files>, <Location>."""
    out = explained(site, "http://a.example/wp/a.css")
    found = [out.index(word) for word in ("<Directory ", "wp/.htaccess\n", "<Files ")]
    assert found == sorted(found)


def test_wordpress(site):
    out = explained(site, "http://a.example/wp/2024/post")
    assert "matches 2024/post -> /wp/index.php" in out and "Internal redirect to /wp/index.php" in out
    assert "Answer: would be made by handler application/x-php-app, which is not run" in out
    assert "/logs/wp short" in out and "its condition does not hold" not in out


def test_conditions(site):
    assert "Header set X-Kind b" not in explained(site, "http://a.example/a.html")
    assert "Header set X-Kind b" in explained(site, "-H", "X-Kind: b", "http://a.example/a.html")
    assert ask(site, "/a.html", X_Kind="b")[1]["X-Kind"] == "b" and "X-Kind" not in ask(site, "/a.html")[1]


def test_a_log_that_is_not_written(site):
    out = explained(site, "http://a.example/a.html")
    assert re.search(r"logs/wp short .*\(no: its condition does not hold\)", out) and "logs/main" not in out and 'LogFormat "%h %U" short' in out


def test_the_client(site):
    assert "Answer: 403" in explained(site, "http://a.example/secret/s.txt")
    assert "Answer: 200" in explained(site, "--from", "192.0.2.7", "http://a.example/secret/s.txt")


def test_methods_and_hosts(site):
    assert "Answer: 405 Method Not Allowed" in explained(site, "-X", "PUT", "http://a.example/a.html")
    assert "Virtual host: b.example" in explained(site, "GET /b.html HTTP/1.1", "-H", "Host: b.example")


def found(items):
    """All items of a report, those below others, too."""
    for item in items:
        yield item
        yield from found(item.get("lines", ()))


@pytest.mark.parametrize("arguments", [["http://a.example/none"], ["http://a.example/wp/2024/post"], ["http://a.example/api/v1"], ["http://a.example/old/x"],
                                       ["-H", "X-Kind: b", "http://a.example/a.html"], ["http://b.example/closed"], ["http://nobody.example/a.html"]])
def test_json_has_what_the_text_has(site, arguments):
    """Each line of the text, in its order; places are members of their own."""
    out = explained(site, *arguments)
    report = json.loads(explained(site, "--json", *arguments))["report"]
    assert [item["name"] for item in report][:3] == ["request", "answer", "virtual_host"] and report[0]["text"] == "GET " + arguments[-1]
    lines = iter(out.splitlines())
    for item in found(report):
        place = f"{item['file']}:{item['line']}" if "file" in item else ""
        assert any(item.get("text", "") in line and place in line for line in lines), item


def test_json_of_any_bytes(site):
    report = json.loads(explained(site, "--json", "http://a.example/a%22%5C.html"))["report"]
    assert report[1]["text"] == "404 Not Found"


@pytest.mark.parametrize("path,lines", [
    ("/wp/a.css", ["{mime}: text/css\n        type of .css"]),
    ("/page.shtml", ["AddType text/html .shtml\n        type text/html", "AddOutputFilter INCLUDES .shtml\n        output filter includes"]),
    ("/wp/index.php", ["AddHandler application/x-php-app .php\n        handler application/x-php-app"]),
])
def test_the_line_of_a_type(site, path, lines):
    out = explained(site, f"http://a.example{path}")
    for line in lines:
        file = re.search(r"(\S+mime\S*:\d+): text/css", out)[1] if "{mime}" in line else ""
        assert line.replace("{mime}", file) in out, out


def test_a_type_without_a_file(site):
    """Nearer lines win, and only these are told; .unknown has none."""
    more = ["-c", "AddType text/x-far .css\n<Directory @ROOT@/htdocs/wp>\nAddType text/x-near .css\n</Directory>".replace("@ROOT@", str(site.path(".")).rstrip("/."))]
    done = site.run(*more, "--explain", "http://a.example/wp/a.css").stdout.decode()
    assert "type text/x-near" in done and "type text/x-far" not in done and "type of .css" not in done and "Type: text/x-near" in done


def test_no_backend_is_asked(site):
    out = explained(site, "http://a.example/api/v1")
    assert "Answer: would be sent to balancer://app/v1" in out and "ProxyPass /api/ balancer://app/\n        /api/v1 -> balancer://app/v1" in out
    assert "http://127.0.0.1:1" in out and "route=one" in out and re.search(r"merged:\n    \S+: <Proxy balancer://app>\n        \S+: BalancerMember", out)
    listed = site.run("-t", "-D", "DUMP_PROXY").stdout.decode()
    assert [line.strip() for line in out.splitlines() if "route=one" in line and "BalancerMember" not in line] == [line.strip() for line in listed.splitlines() if "route=one" in line]


@pytest.mark.parametrize("path,said", [("/page.shtml", "by filter INCLUDES"), ("/cgi/a.cgi", "by handler cgi-script, which is not run")])
def test_nothing_is_run(site, path, said):
    out = explained(site, f"http://a.example{path}")
    assert "Answer: would be made " + said in out and not os.path.exists(site.path("ran"))


def test_the_cache_names_the_line(site):
    done = site.run("-c", "<If \"%{TIME_HOUR} == '25'\">\nSetEnv X 1\n</If>", "-C", "<If \"-n %{TIME}\">\nSetEnv Y 1\n</If>", "--explain", "http://a.example/a.html")
    out = done.stdout.decode()
    assert "Kept in memory: no\n  core.c: the condition of an <If>" in out, (out, done.stderr)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["/a", "/b"], ["-X"], ["-H", "nofield", "/a"], ["--no", "x", "/a"], ["--from", "nowhere", "/a"], ["--from", "::1", "/a"], ["-X", "G T", "/a"], ["-H", "A: b\r\nC: d", "/a"]])
def test_mistakes(site, arguments):
    status, out, err = explain(site, *arguments)
    assert status == 2 and not out and err


def test_nothing_is_written(site):
    before = {name: os.stat(site.path("logs", name)).st_size for name in os.listdir(site.path("logs"))}
    explained(site, "http://a.example/secret/s.txt")
    assert {name: os.stat(site.path("logs", name)).st_size for name in os.listdir(site.path("logs"))} == before
