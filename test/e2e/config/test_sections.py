# SPDX-License-Identifier: Apache-2.0
"""Sections, their order of merging, conditions, .htaccess and virtual hosts."""
import os
import re
import threading
import urllib.parse

import pytest

FILES = {"a.txt": "A", "b.html": "B", "d/a.txt": "DA", "d/e/a.txt": "DEA", "d/e/x.html": "DEX", "index.html": "I"}


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module("""
Header set X-Mark server
<Directory @ROOT@/htdocs>
    Header append X-Mark dir
</Directory>
<Directory @ROOT@/htdocs/d/>
    Header append X-Mark dir-d
</Directory>
<Directory "@ROOT@/htdocs/d/*">
    Header append X-Mark dir-d-glob
</Directory>
<DirectoryMatch "/htdocs/d/e/">
    Header append X-Mark match-e
</DirectoryMatch>
<Directory ~ "/htdocs/.*e">
    Header append X-Mark tilde-e
</Directory>
<Files a.txt>
    Header append X-Mark file-a
</Files>
<Files "*.html">
    Header append X-Mark file-html
</Files>
<FilesMatch "^a\\.(?<EXT>txt)$">
    Header append X-Mark filesmatch
    Header set X-Ext "%{MATCH_EXT}e"
</FilesMatch>
<Location /d>
    Header append X-Mark loc-d
</Location>
<Location "/d/*/a.txt">
    Header append X-Mark loc-glob
</Location>
<LocationMatch "^/(?<FIRST>[a-z])/">
    Header append X-Mark locmatch
    Header set X-First "%{MATCH_FIRST}e"
</LocationMatch>
<If "%{REQUEST_URI} =~ m#x.html#">
    Header append X-Mark if
</If>
<ElseIf "%{REQUEST_URI} == '/b.html'">
    Header append X-Mark elseif
</ElseIf>
<Else>
    Header append X-Mark else
</Else>
""", FILES)


@pytest.mark.parametrize("target,marks", [
    ("/a.txt", "server, dir, file-a, filesmatch, else"),
    ("/b.html", "server, dir, file-html, elseif"),
    ("/d/a.txt", "server, dir, dir-d, dir-d-glob, file-a, filesmatch, loc-d, locmatch, else"),
    ("/d/e/a.txt", None),
    ("/d/e/x.html", None),
])
def test_order_of_merging(server, target, marks):
    r = server.get(target)
    got = r["X-Mark"].split(", ")
    if marks:
        assert ", ".join(m for m in got if m not in ("tilde-e",)) == marks
    order = ["server", "dir", "dir-d", "dir-d-glob", "match-e", "file-a", "file-html", "filesmatch", "loc-d", "loc-glob",
             "locmatch", "if", "elseif", "else"]
    seen = [order.index(m) for m in got if m in order]
    assert seen == sorted(seen), got
    if target == "/d/e/a.txt":
        assert {"dir-d-glob", "match-e", "loc-glob"} <= set(got), got
    if target == "/d/e/x.html":
        assert got[-1] == "if"
    assert r["X-Ext"] == ("txt" if target.endswith("a.txt") else None) or r["X-Ext"] == "(null)"
    assert r["X-First"] == ("d" if target.startswith("/d/") else None)


@pytest.mark.parametrize("method,shown", [("GET", "get"), ("HEAD", "get"), ("POST", "except"), ("OPTIONS", "except")])
def test_limit(serve, method, shown):
    server = serve("<Location />\n<Limit GET>\nRequire all granted\n</Limit>\n<LimitExcept GET>\nRequire all denied\n"
                   "</LimitExcept>\n</Location>\n", FILES)
    assert (server.request(method, "/a.txt").status == 200) == (shown == "get")


@pytest.mark.parametrize("condition,true", [
    ("true", True), ("false", False), ("1 -eq 1", True), ("'a' == 'b'", False), ("%{REQUEST_METHOD} == 'GET'", True),
    ("%{HTTP:X-Test} == 'yes'", True), ("-n req('X-Test')", True), ("-z req('X-None')", True),
    ("%{QUERY_STRING} =~ /q=1/", True), ("%{REMOTE_ADDR} -ipmatch '127.0.0.0/8'", True), ("-R '10.0.0.0/8'", False),
    ("%{REQUEST_URI} in {'/a.txt','/b'}", True), ("! false && (true || false)", True),
    ("tolower('ABC') == 'abc'", True), ("md5('x') == '9dd4e461268c8034f5c8564e155c67a6'", True),
    ("'abc' =~ /^(.)b/ && $1 == 'a'", True), ("%{HTTP_HOST} -strcmatch 'LOCAL*'", True),
    ("%{HTTP_HOST} -strmatch 'LOCAL*'", False), ("-f '/etc/passwd'", True), ("-d '/etc/passwd'", False),
    ("base64('abc') == 'YWJj'", True), ("%{TIME_YEAR} -gt 2000", True), ("osenv('NOT_SET') == ''", True),
    ("'10' -gt '9'", True), ("'10' > '9'", False), ("%{REQUEST_SCHEME} == 'http'", True),
])
def test_if_expressions(serve, condition, true):
    server = serve(f'<If "{condition}">\nHeader set X-If yes\n</If>\n', FILES)
    assert (server.get("/a.txt?q=1", {"X-Test": "yes"})["X-If"] == "yes") == true


# ---- .htaccess ------------------------------------------------------------------------------------------------

def test_htaccess_is_seen_at_once(serve):
    server = serve("", FILES)
    with server.connect() as c:
        assert c.get("/d/a.txt")["X-H"] is None
        for value in ("1", "2", "3", "4"):
            server.write("d/.htaccess", f"Header set X-H {value}\n")
            assert c.get("/d/a.txt")["X-H"] == value
            assert c.get("/d/e/a.txt")["X-H"] == value
        server.write("d/e/.htaccess", "Header set X-H below\n")
        assert c.get("/d/e/a.txt")["X-H"] == "below"
        assert c.get("/d/a.txt")["X-H"] == "4"
        os.unlink(server.path("htdocs/d/.htaccess"))
        os.unlink(server.path("htdocs/d/e/.htaccess"))
        assert c.get("/d/a.txt")["X-H"] is None
        assert c.get("/d/e/a.txt")["X-H"] is None
        server.write("d/.htaccess", "Require all denied\n")
        assert c.get("/d/a.txt").status == 403
        server.write("d/.htaccess", "Nonsense\n")
        assert c.get("/d/a.txt").status == 500
    server.wait_for_log(r"Invalid command 'Nonsense'")


@pytest.mark.parametrize("override,line,status", [
    ("None", "Header set X-H 1", 200), ("None", "Nonsense", 200), ("All", "Nonsense", 500), ("All", "Header set X-H 1", 200),
    ("FileInfo", "Header set X-H 1", 200), ("Indexes", "Header set X-H 1", 500), ("AuthConfig", "Require all denied", 403),
    ("Limit", "Require all denied", 500), ("Limit", "Deny from all", 403), ("Options", "Options None", 200),
    ("Options=Indexes", "Options Indexes", 200), ("Options=Indexes", "Options ExecCGI", 500),
    ("All Nonfatal=Unknown", "Nonsense", 200), ("FileInfo Nonfatal=Override", "Options None", 200),
    ("All", "Listen 1", 500), ("All", "<Directory />", 500), ("All", "<Files a.txt>\nRequire all denied\n</Files>", 403),
    ("All", "<If \"true\">\nRequire all denied\n</If>", 403), ("FileInfo", "ErrorDocument 404 gone", 200),
])
def test_allow_override(serve, override, line, status):
    server = serve(f"<Directory @ROOT@/htdocs>\nAllowOverride {override}\n</Directory>\n", {"a.txt": "A", ".htaccess": line + "\n"})
    r = server.get("/a.txt")
    assert r.status == status
    if "Header" in line and status == 200:
        assert r["X-H"] == (None if override == "None" else "1")


def test_allow_override_list(serve):
    server = serve("<Directory @ROOT@/htdocs>\nAllowOverride None\nAllowOverrideList Header\n</Directory>\n", FILES)
    server.write(".htaccess", "Header set X-H 1\n")
    assert server.get("/a.txt")["X-H"] == "1"
    server.write(".htaccess", "Require all denied\n")
    assert server.get("/a.txt").status == 500


def test_access_file_name(serve):
    server = serve("AccessFileName .first .second\n", {"d/a.txt": "A", "d/.second": "Header set X-H second\n"})
    assert server.get("/d/a.txt")["X-H"] == "second"
    server.write("d/.first", "Header set X-H first\n")
    assert server.get("/d/a.txt")["X-H"] == "first"


# ---- Virtual hosts --------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def hosts(serve_module):
    return serve_module("""
<VirtualHost *:@PORT@>
    ServerName first.example
    Header set X-Host first
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName second.example
    ServerAlias alias.example *.wild.example ?.single.example
    Header set X-Host second
    DocumentRoot @ROOT@/htdocs/d
</VirtualHost>
<VirtualHost 127.0.0.1:1>
    ServerName third.example
    Header set X-Host third
</VirtualHost>
""", FILES)


@pytest.mark.parametrize("host,shown,body", [
    ("first.example", "first", b"A"), ("second.example", "second", b"DA"), ("SECOND.Example", "second", b"DA"),
    ("second.example.", "second", b"DA"), ("second.example:1234", "second", b"DA"), ("alias.example", "second", b"DA"),
    ("a.wild.example", "second", b"DA"), ("a.b.wild.example", "second", b"DA"), ("wild.example", "first", b"A"),
    ("x.single.example", "second", b"DA"), ("xy.single.example", "first", b"A"), ("unknown.example", "first", b"A"),
    ("third.example", "first", b"A"), ("127.0.0.1", "first", b"A"),
])
def test_virtual_host(hosts, host, shown, body):
    r = hosts.get("/a.txt", host=host)
    assert (r["X-Host"], r.body) == (shown, body)


def test_hosts_that_come_again(serve):
    """What the last Host fields said is remembered: of each the name as it was sent, its port, and the host that has it."""
    server = serve("""
<VirtualHost *:@PORT@>
    ServerName first.example
    ErrorDocument 404 first
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName second.example
    ServerAlias *.wild.example
    ErrorDocument 404 second
</VirtualHost>
""", FILES)
    asked = [("first.example", "first"), ("second.example", "second"), ("Second.Example", "second"), ("second.example:81", "second"),
             ("second.example:82", "second"), ("sECOND.example", "second"), ("a.wild.example", "second"), ("b.wild.example", "second"),
             ("unknown.example", "first"), ("x" * 60 + ".wild.example", "second")]
    with server.connect() as c:
        for n in range(3):
            for host, shown in asked:  # paths that nobody asked for: no answer comes from memory
                assert c.get(f"/none{n}", host=host).body.decode().startswith(shown), (n, host)
                to = urllib.parse.urlsplit(c.get(f"/d?{n}", host=host)["Location"])
                name, _, port = host.lower().partition(":")
                assert to.hostname == name and (not port or to.port == int(port)), (n, host)
    assert server.get("/none", host="second.example/x").status == 400


def test_virtual_host_changes_on_a_connection(hosts):
    with hosts.connect() as c:
        for host, body in (("first.example", b"A"), ("second.example", b"DA")) * 4:
            assert c.get("/a.txt", host=host).body == body


def test_absolute_target_outweighs_host(hosts):
    assert hosts.get("http://second.example/a.txt", host="first.example").body == b"DA"


def test_strict_host_check(serve):
    server = serve("StrictHostCheck On\n<VirtualHost *:@PORT@>\nServerName known.example\n</VirtualHost>\n", FILES)
    assert server.get("/a.txt", host="known.example").status == 200
    assert server.get("/a.txt", host="unknown.example").status == 400


def test_several_ports_and_ipv6(serve):
    import socket
    from brigade import free_port
    extra = free_port()
    has_v6 = True
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError:
        has_v6 = False
    server = serve(f"Listen 127.0.0.1:{extra}\n" + ("Listen [::1]:@PORT@\n" if has_v6 else "")
                   + f"<VirtualHost *:{extra}>\nHeader set X-Port extra\n</VirtualHost>\n", FILES)
    from http_client import Client
    with Client("127.0.0.1", extra, 10) as c:
        assert c.get("/a.txt")["X-Port"] == "extra"
    assert server.get("/a.txt")["X-Port"] is None
    if has_v6:
        with Client("::1", server.port, 10) as c:
            assert c.get("/a.txt").body == b"A"


@pytest.mark.parametrize("config,condition", [
    ("<IfModule mod_mime.c>\n%s</IfModule>\n", True), ("<IfModule mime_module>\n%s</IfModule>\n", True),
    ("<IfModule !mod_mime.c>\n%s</IfModule>\n", False), ("<IfModule mod_nothing.c>\n%s</IfModule>\n", False),
    ("Define A\n<IfDefine A>\n%s</IfDefine>\n", True), ("<IfDefine A>\n%s</IfDefine>\n", False),
    ("<IfFile @ROOT@/htdocs/a.txt>\n%s</IfFile>\n", True), ("<IfFile @ROOT@/none>\n%s</IfFile>\n", False),
    ("<IfVersion >= 2.4.0>\n%s</IfVersion>\n", True), ("<IfVersion > 2.5>\n%s</IfVersion>\n", False),
    ("<IfDirective Header>\n%s</IfDirective>\n", True), ("<IfSection Files>\n%s</IfSection>\n", True),
    ("<IfModule mod_mime.c>\n<IfModule mod_nothing.c>\nX\n</IfModule>\n%s</IfModule>\n", True),
])
def test_conditional_sections(serve, config, condition):
    server = serve(config % "Header set X-Here yes\n", FILES)
    assert (server.get("/a.txt")["X-Here"] == "yes") == condition


def test_define_and_variables(serve):
    server = serve("Define WORD one\nDefine BOTH ${WORD}-two\nHeader set X-V \"${BOTH} ${PATH_LIKE}\"\nUnDefine WORD\n"
                   "Header set X-U \"${WORD}\"\n", FILES, env={"PATH_LIKE": "from env"})
    r = server.get("/a.txt")
    assert r["X-V"] == "one-two from env" and r["X-U"] == "${WORD}"


def test_defines_of_the_command_line(serve):
    server = serve("<IfDefine CLI>\nHeader set X-D yes\n</IfDefine>\n", FILES,
                   args=["-D", "CLI", "-c", "Header set X-C yes", "-C", "Define EARLY 1"])
    r = server.get("/a.txt")
    assert (r["X-D"], r["X-C"]) == ("yes", "yes")


def test_includes(serve):
    server = serve.unstarted("Include conf/one.conf\nInclude conf/many/*.conf\nIncludeOptional conf/none/*.conf\n"
                             "Include @ROOT@/conf/dir\n", FILES)
    server.write("one.conf", "Header append X-I one\n", base="conf")
    for name in ("c", "a", "b"):
        server.write(f"many/{name}.conf", f"Header append X-I {name}\n", base="conf")
    server.write("dir/z", "Header append X-I z\n", base="conf")
    server.start()
    assert server.get("/a.txt")["X-I"] == "one, a, b, c, z"


LIMITS = """RegisterHttpMethod BREW
<Directory @ROOT@/htdocs/known>
<Limit SERVED>
Require all denied
</Limit>
</Directory>
"""


@pytest.mark.parametrize("section", ["<Limit {}>", "<Limit GET {}>", "<LimitExcept {}>", "<Files a.txt>\n<Limit {}>", "<If true>\n<LimitExcept {}>"])
def test_access_files_register_no_methods(serve, section):
    """Names of methods belong to the process. As in Apache, a section of an access file that needs another one is refused, however often it is asked for."""
    server = serve(LIMITS, files={"a/a.txt": "a", "known/a.txt": "a"})
    server.expect_trouble = True
    for i in range(80):
        ends = "".join(f"</{name}>\n" for name in reversed([line[1:].split()[0] for line in section.splitlines()]))
        server.write("a/.htaccess", f"{section.format(f'FOO{i}')}\nRequire all denied\n{ends}")
        assert server.get("/a/a.txt").status == 500
    assert b"AH01610" not in server.error_log()
    assert b"Could not register method 'FOO79' for <Limit" in server.error_log()
    # What the configuration registered is still known by its name.
    for method, target, status in (("BREW", "/a/a.txt", 500), ("SERVED", "/known/a.txt", 403), ("BREW", "/known/a.txt", 405), ("FOO79", "/known/a.txt", 501)):
        assert server.request(method, target).status == status, method


def test_access_files_limit_known_methods(serve):
    server = serve(LIMITS, files={"a/a.txt": "a", "a/.htaccess": "<Limit BREW SERVED PROPFIND>\nRequire all denied\n</Limit>\n"})
    assert [server.request(m, "/a/a.txt").status for m in ("GET", "BREW", "SERVED", "PROPFIND")] == [200, 403, 403, 403]


@pytest.mark.parametrize("directive", ["AllowOverride All", "AllowOverride None", "AllowOverrideList Header", "AllowOverrideList None"])
def test_access_files_do_not_widen_what_they_may(serve, directive):
    server = serve("<Directory @ROOT@/htdocs>\nAllowOverride None\nAllowOverrideList AllowOverride AllowOverrideList\n</Directory>\n",
                   files={"a/a.txt": "a", "a/.htaccess": directive + "\n"})
    server.expect_trouble = True
    assert server.get("/a/a.txt").status == 500
    assert b"cannot occur within htaccess files" in server.error_log()


@pytest.mark.only("brigade")
def test_many_access_files_at_once(serve):
    """Access files that change while several loops and workers read them leave nothing behind that the next one could meet."""
    texts = ["<Limit NEW{}>\n</Limit>\n", "Options All -Indexes\n", "<IfModule core.c>\nHeader set X {}\n", "Optios {}\n", "HostnameLookups Off\n", "CacheEnable disk /{}\n",
             "<Limit GET>\nRequire all granted\n</Limit>\n", "SetEnvIf Host x{} A\n", "ErrorDocument 404 /n{}\n", "AddOutputFilter DEFLATE .x{}\n", "FilterDeclare f{}\n"]
    server = serve("EventLoops 2\n<Directory @ROOT@/htdocs>\nAllowOverrideList HostnameLookups\n</Directory>\n", files={"d/a.txt": "a"})
    server.expect_trouble = True

    seen = set()

    def ask(n):
        for i in range(60):
            server.write(f"d{n}/a.txt", "a")
            server.write(f"d{n}/.htaccess", texts[(i + n) % len(texts)].format(i))
            seen.add(server.get(f"/d{n}/a.txt").status)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {200, 500} and server.get("/d/a.txt").body == b"a"
    assert not re.search(rb"AH01610|Sanitizer|runtime error|exit signal", server.error_log())


def test_messages_about_access_files_go_to_the_virtual_host(serve):
    server = serve("<VirtualHost *:@PORT@>\nServerName v.test\nErrorLog @ROOT@/logs/v_log\nDocumentRoot @ROOT@/htdocs\n</VirtualHost>\n",
                   files={"d/a.txt": "a", "d/.htaccess": "DefaultType text/x-old\nErrorDocument 401 http://example.org/\nPassEnv NOT_THERE_AT_ALL\n"})
    assert server.request("GET", "/d/a.txt", host="v.test").status == 200
    for number in ("AH00117", "AH00113", "AH01506"):
        server.wait_for_log(number, "logs/v_log")
        assert number.encode() not in server.error_log()


def test_lines_of_a_single_host(serve):
    """-S shows the aliases of hosts that share an address, as Apache does."""
    host = "<VirtualHost 127.0.0.{}:8081>\nServerName {}.test\nServerAlias alias.{}.test\n</VirtualHost>\n"
    shown = serve.unstarted(host.format(1, "a", "a")).run("-S").stdout.decode()
    assert "a.test" in shown and "alias" not in shown
    shown = serve.unstarted(host.format(1, "a", "a") + host.format(1, "b", "b")).run("-S").stdout.decode()
    assert "alias alias.a.test" in shown and "alias alias.b.test" in shown
