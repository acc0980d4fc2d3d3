# SPDX-License-Identifier: Apache-2.0
"""RequestHeader and answers from memory: what later phases read of a request changes, and nothing else."""
import pytest

from brigade import APACHE_MODULES
from cache_site import await_hits, one_loop, settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

UNIQUE = "LoadModule unique_id_module @MODULES@/mod_unique_id.so\n"
KEEP = {  # lines with which a file comes from memory for a plain request
    "set": "RequestHeader set X-Forwarded-Proto http",
    "unset, early": "RequestHeader unset Proxy early",
    "unset of a condition": "RequestHeader unset If-None-Match",
    "unset of ranges": "RequestHeader unset Range",
    "edit of conditions": 'RequestHeader edit If-None-Match "-gzip" ""',
    "append": "RequestHeader append X-Own b",
    "a variable": 'SetEnvIf User-Agent robot KIND=robot\nRequestHeader set X-Kind "%{KIND}e"',
    "under a condition": "SetEnvIf User-Agent robot KIND\nRequestHeader set X-Kind 1 env=KIND",
    "the time, which nobody reads": 'RequestHeader set X-Request-Start "%t"',
    "of a variable by a pattern": "SetEnvIf X-Forwarded-Proto https HTTPS=on\nRequestHeader set X-Forwarded-Proto http",
    "a field that a log shows": 'CustomLog @ROOT@/logs/shown "%{X-Shown}i"\nRequestHeader set X-Shown 1',
    "Header by a variable": 'SetEnvIf User-Agent robot KIND=robot\nHeader set X-Kind "%{KIND}e"',
    "a note": "Header note ETag tag",
    "an id for each request": UNIQUE,
    "clients of the machine": "<Location /a.txt>\nRequire local\n</Location>",
}
KEEP_NOT = {
    "an id that the answer shows": UNIQUE + 'Header set X-Id "%{UNIQUE_ID}e"',
    "an id that a rule looks at": UNIQUE + "RewriteEngine On\nRewriteCond %{ENV:UNIQUE_ID} ^.[A-M]\nRewriteRule ^/a /c",
    "an id that a variable follows": UNIQUE + "SetEnvIf UNIQUE_ID ^.[A-M] KIND=1",
    "Connection": "RequestHeader set Connection close",
    "a condition": 'RequestHeader set If-None-Match "*"',
    "a field that a log shows": 'CustomLog @ROOT@/logs/shown "%{X-Request-Start}i"\nRequestHeader set X-Request-Start "%t"',
    "the time": 'Header set X-Time "%t"',
}


@pytest.mark.parametrize("name", KEEP)
def test_lines_that_leave_files_in_memory(dump_cache, name):
    assert dump_cache(KEEP[name])


@pytest.mark.parametrize("name", KEEP_NOT)
def test_lines_that_cannot(dump_cache, name):
    assert not dump_cache(KEEP_NOT[name])


@pytest.fixture
def dump_cache(serve):
    def kept(lines):
        server = one_loop(serve, lines + "\n", files={"a.txt": "some text\n"})
        settle(server.path("htdocs"))
        done = server.run("-t", "-D", "DUMP_CACHE", "/a.txt")
        assert "Kept in memory: " in done.stdout.decode(), done.stderr
        return "Kept in memory: yes" in done.stdout.decode()
    return kept


def log_of(server, name):
    server.stop()
    with open(server.path("logs/" + name)) as f:
        return f.read().splitlines()


@pytest.mark.parametrize("record", ["", " %V"])  # which needs a request_rec
def test_logs_show_what_the_fields_became(serve, record):
    rules = 'RequestHeader set X-Set new\nRequestHeader unset User-Agent\nRequestHeader append X-Added b\nRequestHeader edit X-Edited a b\nRequestHeader setifempty Referer none\n'
    server = one_loop(serve, rules + f'CustomLog @ROOT@/logs/shown "%{{X-Set}}i|%{{User-Agent}}i|%{{X-Added}}i|%{{X-Edited}}i|%{{Referer}}i{record}"\n', files={"a.txt": "some text\n"})
    settle(server.path("htdocs"))
    kinds = [({}, "new|-|b|-|none"), ({"X-Set": "old", "User-Agent": "u"}, "new|-|b|-|none"), ({"X-Added": "a"}, "new|-|a, b|-|none"),
             ({"X-Edited": "aa"}, "new|-|b|ba|none"), ({"Referer": "r"}, "new|-|b|-|r")]
    with server.connect() as c:
        for _ in range(4):
            for fields, _line in kinds:
                assert c.get("/a.txt", fields).status == 200
    assert log_of(server, "shown") == [line + (" localhost" if record else "") for _fields, line in kinds] * 4


@pytest.mark.parametrize("record", ["", " %V"])
def test_each_answer_from_memory_has_an_id_of_its_own(serve, record):
    server = one_loop(serve, UNIQUE + f'CustomLog @ROOT@/logs/ids "%{{UNIQUE_ID}}e %{{UNIQUE_ID}}e %{{REDIRECT_UNIQUE_ID}}e{record}"\n', files={"a.txt": "some text\n"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(20):
            assert c.get("/a.txt").status == 200
    lines = [line.split() for line in log_of(server, "ids")]
    assert all(line[0] == line[1] and len(line[0]) == 27 and line[2] == "-" for line in lines), lines
    assert len({line[0] for line in lines}) == 20


@pytest.mark.parametrize("where", ["server", "access file"])
def test_visitors_with_a_cookie_are_answered_from_memory(serve, where):
    """Others get one of their own, each time."""
    lines = "CookieTracking On\nCookieName who\n"
    server = one_loop(serve, (lines if where == "server" else "") + 'CustomLog @ROOT@/logs/who "%{cookie}n"\n<Location /metrics>\nSetHandler metrics\n</Location>\n',
                      files={"a.txt": "some text\n", **({} if where == "server" else {".htaccess": lines})})
    settle(server.path("htdocs"))
    given = set()
    with server.connect() as c:
        for n in range(12):
            new = c.get("/a.txt", {"Cookie": "other=1"} if n % 2 else {})
            given.add(new["Set-Cookie"].partition(";")[0].partition("=")[2])
            known = c.get("/a.txt", {"Cookie": f"a=b; who=me{n}"})
            assert known.status == 200 and not known["Set-Cookie"]
    assert len(given) == 12
    if where == "server":
        await_hits(server, 8)
    lines = log_of(server, "who")[:24]
    assert lines[1::2] == [f"me{n}" for n in range(12)] and set(lines[::2]) == given


def test_clients_of_the_machine(serve):
    """By loopback from memory; who else is let in depends on the address of the server."""
    server = one_loop(serve, "RemoteIPHeader X-Client\nRemoteIPInternalProxy 127.0.0.1\n<Location /a.txt>\nRequire local\n</Location>\n", files={"a.txt": "some text\n"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(5):
            assert [c.get("/a.txt", {"X-Client": ip} if ip else {}).status for ip in (None, "127.0.0.9", "192.0.2.1", "::1", "10.1.1.1")] == [200, 200, 403, 200, 403]


def test_conditions_that_are_taken_away(serve):
    server = one_loop(serve, "RequestHeader unset If-None-Match\nRequestHeader unset Range\n", files={"a.txt": "some text\n"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        tag = c.get("/a.txt")["ETag"]
        for _ in range(5):
            assert c.get("/a.txt").status == 200
            assert c.get("/a.txt", {"If-None-Match": tag}).status == 200
            assert c.get("/a.txt", {"Range": "bytes=0-1"}).body == b"some text\n"


def test_a_coding_that_is_taken_away(serve):
    server = one_loop(serve, 'SetEnvIf X-Kind old OLD\nRequestHeader unset Accept-Encoding env=OLD\nSetOutputFilter DEFLATE\n', files={"a.txt": "some text\n" * 300})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(5):
            assert c.get("/a.txt", {"Accept-Encoding": "gzip"})["Content-Encoding"] == "gzip"
            assert c.get("/a.txt", {"Accept-Encoding": "gzip", "X-Kind": "old"})["Content-Encoding"] is None


CONDITIONS = {  # and whether each of the requests below gets the field
    "%{HTTP_USER_AGENT} =~ /robot/": "000010000",
    "-n %{HTTP_COOKIE}": "000001000",
    "%{HTTP:X-Kind} == 'a' || %{HTTP:X-Kind} == 'b'": "000000110",
    "%{HTTP:X-Kind} in {'a', 'b'}": "000000110",
    "-z %{HTTP_COOKIE} && !(%{HTTP_USER_AGENT} -strmatch '*bot*')": "111100111",
    "%{REMOTE_ADDR} -ipmatch '127.0.0.0/8' && %{HTTP:X-Kind} != 'b'": "111111101",
    "-R '10.0.0.0/8'": "000000000",
    "%{REQUEST_METHOD} == 'GET'": "000111110",
    "tolower(%{HTTP:X-Kind}) == 'a'": "000000100",
    "reqenv('KIND') == 'b'": "000000010",
    "-f '@ROOT@/htdocs/late.txt'": "000000000",
}
ASKS = [*[("HEAD", {})] * 3, ("GET", {}), ("GET", {"User-Agent": "a robot"}), ("GET", {"Cookie": "x"}), ("GET", {"X-Kind": "a"}), ("GET", {"X-Kind": "b"}), ("HEAD", {})]
USES = {"if": '<If "%s">\nHeader set X-Is 1\n</If>', "setenvif": 'SetEnvIfExpr "%s" IS\nHeader set X-Is 1 env=IS', "header": 'Header set X-Is 1 "expr=%s"',
        "rewrite": 'RewriteEngine On\nRewriteCond expr "%s"\nRewriteRule . - [E=IS:1]\nHeader set X-Is 1 env=IS'}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_kind_gets_its_own(serve, condition, use):
    lines = f'LoadModule rewrite_module {APACHE_MODULES}/mod_rewrite.so\nSetEnvIf X-Kind "(.+)" KIND=$1\n' + USES[use] % condition
    server = one_loop(serve, lines + "\n", files={"a.txt": "some text\n"})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(4):
            got = "".join(str(int(c.request(method, "/a.txt", fields)["X-Is"] is not None)) for method, fields in ASKS)
            assert got == CONDITIONS[condition]
        if "late" in condition:
            server.write("late.txt", "")
            assert c.get("/a.txt")["X-Is"]


DENIES = {"expr": 'Require expr "%{HTTP_USER_AGENT} !~ /robot/"', "env": "<RequireAll>\nRequire all granted\nRequire not env BAD\n</RequireAll>", "order": "Order allow,deny\nAllow from all\nDeny from env=BAD"}


@pytest.mark.parametrize("rule", DENIES)
@pytest.mark.parametrize("where", ["Directory", ".htaccess"])
def test_who_is_refused(serve, rule, where):
    rules = f'<Directory "@ROOT@/htdocs">\n{DENIES[rule]}\n</Directory>' if where == "Directory" else '<Directory "@ROOT@/htdocs">\nAllowOverride All\n</Directory>'
    server = one_loop(serve, f"SetEnvIf User-Agent robot BAD\n{rules}\n", files={"a.txt": "some text\n", **({".htaccess": DENIES[rule] + "\n"} if where != "Directory" else {})})
    settle(server.path("htdocs"))
    with server.connect() as c:
        for _ in range(6):
            assert [c.get("/a.txt", {"User-Agent": agent}).status for agent in ("a", "robot", "a", "b robot")] == [200, 403, 200, 403]
