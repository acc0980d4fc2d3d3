# SPDX-License-Identifier: Apache-2.0
"""RequestLimit: requests a second, in flight, connections and bytes, by keys of all kinds, over each protocol."""
import base64
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time

import pytest

import brigade
from backend import Backend, answer
import h2_client
import held
from brigade import wait_until
from http_client import Truncated
from tls_site import certificate

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A" * 100, "b.txt": "B" * 100, "sub/c.txt": "C", "big.bin": "x" * 300000}
FIGURES = "<Location /figures>\nSetHandler metrics\n</Location>\n"


def started(serve, config, files=FILES, **more):
    server = serve(config, files, **more)
    for folder, _, names in os.walk(server.path("htdocs")):
        for name in names:  # old enough for the response cache
            os.utime(os.path.join(folder, name), (1, 1))
    return server


def statuses(server, n, target="/a.txt", headers=(), **more):
    with server.connect() as c:
        return [c.request("GET", target, headers, **more).status for _ in range(n)]


def figure(server, name, path="/figures"):
    found = re.findall(rf"^{re.escape(name)}[ {{].*?(\d+)$", server.get(path).body.decode(), re.M)
    return sum(map(int, found))


def hits(server):
    return figure(server, "brigade_cache_hits_total")


# ---- rates ----

@pytest.mark.parametrize("processes", [1, 2])
def test_more_than_rate_and_burst_get_429(serve, processes):
    """On connections of their own, so that both processes have some; most are answered from memory."""
    server = started(serve, f"ServerProcesses {processes}\nRequestLimit one rate=1/h burst=19\n")
    got = [server.get("/a.txt") for _ in range(30)]
    assert [a.status for a in got] == [200] * 20 + [429] * 10
    refused = got[-1]
    assert 3500 < int(refused["Retry-After"]) <= 3600
    assert refused["RateLimit-Policy"] == '"one";q=1;w=3600'
    assert re.fullmatch(r'"one";r=0;t=3[56]\d\d', refused["RateLimit"])
    assert got[0]["RateLimit"] is None and got[0]["Retry-After"] is None
    server.wait_for_log("RequestLimit one: refused for 127.0.0.1")


def test_answers_from_memory_are_counted_and_stay_in_memory(serve):
    server = started(serve, "RequestLimit one rate=1/h burst=99 \"when=%{REQUEST_URI} -strmatch '/*.txt'\"\n" + FIGURES)
    assert statuses(server, 50) == [200] * 50
    wait_until(lambda: hits(server) >= 45, "figures, once a second")
    assert statuses(server, 60) == [200] * 50 + [429] * 10


def test_a_rate_comes_back(serve):
    server = started(serve, "RequestLimit one rate=20/s\n")
    assert statuses(server, 2)[0] == 200
    wait_until(lambda: server.get("/a.txt").status == 429, "a refusal")
    wait_until(lambda: server.get("/a.txt").status == 200, "another turn")


@pytest.mark.parametrize("act", [signal.SIGUSR1, signal.SIGHUP])
def test_a_reload_keeps_counts(serve, act):
    server = started(serve, "ServerProcesses 2\nRequestLimit one rate=1/h burst=9\n")
    assert statuses(server, 10) == [200] * 10
    before = set(server.children())
    server.signal(act)
    wait_until(lambda: server.children() and not before & set(server.children()), "new processes")
    assert server.get("/a.txt").status == 429


# ---- keys ----

KEYS = [("by=client", {}, {}),
        ("by=prefix/8/16", {}, {}),
        ("by=all", {}, {}),
        ("by=field:X-Api-Key", {"headers": [("X-Api-Key", "one")]}, {"headers": [("X-Api-Key", "two")]}),
        ("by=field:User-Agent", {"headers": [("User-Agent", "k" * 700 + "1")]}, {"headers": [("User-Agent", "k" * 700 + "2")]}),
        ("by=client,path", {}, {"target": "/b.txt"}),
        ("by=host", {"host": "one"}, {"host": "two"}),
        ('"key=%{REQUEST_URI}"', {}, {"target": "/b.txt"}),
        ('"key=%{HTTP:X-Api-Key}"', {"headers": [("X-Api-Key", "one")]}, {"headers": [("X-Api-Key", "two")]}),
        ('"key=%{tolower:%{HTTP_USER_AGENT}}-%{REQUEST_METHOD}"', {"headers": [("User-Agent", "One")]}, {"headers": [("User-Agent", "two")]}),
        ("\"when=%{HTTP:X-Api-Key} =~ /^o/\"", {"headers": [("X-Api-Key", "one")]}, {})]


@pytest.mark.parametrize("key,mine,others", KEYS)
def test_keys(serve, key, mine, others):
    """Another key has a count of its own; a stored answer does not give it that of whom it was made for."""
    server = started(serve, f"RequestLimit one rate=1/h burst=9 {key}\n")
    assert statuses(server, 12, **mine) == [200] * 10 + [429] * 2
    if others:
        assert statuses(server, 12, **others) == [200] * 10 + [429] * 2


HEADS = [('"key=%{HTTP:X-Api-Key}"', [("X-Api-Key", "one")]),
         ('"key=%{REQUEST_METHOD} %{req_novary:X-Api-Key}" "when=-n %{HTTP:X-Api-Key}"', [("x-api-key", "one"), ("X-Api-Key", "two")]),
         ("\"when=-n %{HTTP:X-Api-Key} && %{HTTP_HOST} != 'other'\"", [("X-Api-Key", "one")]),
         ("\"when=%{HTTP_USER_AGENT} =~ /bot/\" \"key=%{HTTP_USER_AGENT}\" by=client", [("User-Agent", "a bot")])]


@pytest.mark.parametrize("terms,headers", HEADS)
def test_expressions_of_heads_count_answers_from_memory(serve, terms, headers):
    """The full way is taken by none but those that are too many; others are not counted."""
    server = started(serve, f"RequestLimit one rate=1/h burst=99 {terms}\n" + FIGURES)
    assert statuses(server, 50, headers=headers) == [200] * 50
    wait_until(lambda: hits(server) >= 45, "figures, once a second")
    others = [s for _ in range(2) for s in statuses(server, 60, headers=[("User-Agent", "other")])]
    assert others == [200] * 120
    assert statuses(server, 60, headers=headers) == [200] * 50 + [429] * 10


@pytest.mark.parametrize("by,apart", [("client", True), ("prefix/24/64", False), ("prefix", False), ("prefix/32/128", True)])
def test_addresses(serve, by, apart):
    server = started(serve, f"RequestLimit one rate=1/h burst=4 by={by}\n")

    def ask(source):
        with server.connect(source=source) as c:
            return [c.request("GET", "/a.txt").status for _ in range(5)]
    assert ask("127.0.0.1") == [200] * 5
    assert ask("127.0.0.9") == [200 if apart else 429] * 5


@pytest.mark.parametrize("by,apart", [("as", False), ("route", True)])
def test_networks(serve, by, apart):
    """Two routes of one AS; a client of no known network is not counted."""
    server = serve.unstarted(f"ASTable file @ROOT@/conf/nets\nRequestLimit one rate=1/h burst=4 by={by}\n", FILES)
    server.write("nets", "127.0.0.0/24 64500\n127.1.0.0/24 64500\n", base="conf")
    server.start()
    os.utime(server.path("htdocs", "a.txt"), (1, 1))

    def ask(source):
        with server.connect(source=source) as c:
            return [c.request("GET", "/a.txt").status for _ in range(6)]
    server.wait_for_log("routes")
    wait_until(lambda: 429 in ask("127.0.0.1"), "the table")
    assert ask("127.1.0.1") == ([200] * 5 + [429] if apart else [429] * 6)
    assert ask("127.2.0.1") == [200] * 6


def test_without_a_value_of_the_field_nothing_is_counted(serve):
    server = started(serve, "RequestLimit one rate=1/h by=field:X-Api-Key\n")
    assert statuses(server, 8) == [200] * 8


@pytest.mark.parametrize("more", ["", ",client"])
@pytest.mark.parametrize("name", ["X-Api-Key", "X-K", "User-Agent"])
def test_lines_of_a_field_are_one_value(serve, name, more):
    """As modules and backends see them, also where the answer is in memory: a second line is no way to have the key of the first one alone."""
    server = started(serve, f"RequestLimit one rate=1/h burst=4 by=field:{name}{more}\n")
    statuses(server, 4)
    assert statuses(server, 3, headers=[(name, "one"), (name, "two")]) == [200] * 3
    assert statuses(server, 3, headers=[(name, "one, two")]) == [200] * 2 + [429]
    assert statuses(server, 1, headers=[(name, "one"), ("X-Else", "1"), (name, "two")]) == [429]
    assert statuses(server, 6, headers=[(name, "one")]) == [200] * 5 + [429]
    assert statuses(server, 1, headers=[(name, "one"), (name, "three")]) == [200]


def test_by_user(serve):
    server = started(serve, """RequestLimit one rate=1/h burst=4 by=user
        <Location /sub>
        AuthType Basic
        AuthName x
        AuthUserFile @ROOT@/conf/users
        Require valid-user
        </Location>
        """, {**FILES})
    server.write("users", "".join(f"{u}:{{SHA}}{base64.b64encode(__import__('hashlib').sha1(b'p').digest()).decode()}\n" for u in "xy"),
                 base="conf")
    aged = server.path("conf", "users")
    os.utime(aged, (1, 1))

    def ask(user):
        field = "Basic " + base64.b64encode(f"{user}:p".encode()).decode()
        return statuses(server, 8, "/sub/c.txt", [("Authorization", field)])
    assert ask("x") == [200] * 5 + [429] * 3
    assert ask("y") == [200] * 5 + [429] * 3
    assert statuses(server, 8) == [200] * 8


def test_by_the_client_that_a_proxy_names(serve):
    server = started(serve, "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\nRequestLimit one rate=1/h burst=4\n")
    for client in ("192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3"):
        assert statuses(server, 6, headers=[("X-Forwarded-For", client)]) == [200] * 5 + [429]
    assert statuses(server, 1, headers=[("X-Forwarded-For", "192.0.2.3")]) == [429]  # the same as IPv6


# ---- places ----

def test_sections_and_hosts(serve):
    server = started(serve, """RequestLimit all rate=1/h burst=19
        <Directory @ROOT@/htdocs/sub>
        RequestLimit few rate=1/h burst=2
        </Directory>
        <Location /sub/free>
        RequestLimit few off
        </Location>
        <VirtualHost *:@PORT@>
        ServerName localhost
        </VirtualHost>
        <VirtualHost *:@PORT@>
        ServerName other
        RequestLimit all rate=1/h
        </VirtualHost>
        <VirtualHost *:@PORT@>
        ServerName free
        RequestLimit all off
        </VirtualHost>
        """, {**FILES, "sub/free/d.txt": "D"})
    assert statuses(server, 5, "/sub/c.txt") == [200] * 3 + [429] * 2
    assert statuses(server, 5, "/sub/free/d.txt") == [200] * 5
    assert statuses(server, 14) == [200] * 10 + [429] * 4  # 10 were taken before
    assert statuses(server, 3, host="other") == [200, 429, 429]
    assert statuses(server, 30, host="free") == [200] * 30


def test_redirects_errors_and_refused_files_count(serve):
    server = started(serve, "RequestLimit one rate=1/h burst=5\nRedirect /r /a.txt\n")
    assert [server.get(t).status for t in ("/r", "/none", "/r", "/none", "/a.txt", "/a.txt", "/r", "/none")] \
        == [302, 404, 302, 404, 200, 200, 429, 429]


# ---- what becomes of what is too much ----

def test_delays(serve):
    server = started(serve, "RequestLimit one rate=4/s burst=3 delay=1\n")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        begun = time.monotonic()
        got = sorted((f.result()[1], f.result()[0]) for f in [
            pool.submit(lambda: (server.get("/a.txt").status, time.monotonic() - begun)) for _ in range(6)])
    assert sorted(s for _, s in got) == [200] * 4 + [429] * 2
    last = max(t for t, s in got if s == 200)
    assert 0.45 <= last  # the fourth waits for two turns; the second for none


def test_close(serve):
    server = started(serve, "RequestLimit one rate=1/h burst=1 excess=close\n")
    assert [server.get("/a.txt").status for _ in range(2)] == [200] * 2
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        s.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(100) == b""


def test_status(serve):
    server = started(serve, "RequestLimit one rate=1/h status=503\nErrorDocument 503 \"later\"\n")
    assert server.get("/a.txt").status == 200
    answer = server.get("/a.txt")
    assert (answer.status, answer.body) == (503, b"later") and answer["Retry-After"]


def test_dry_run(serve):
    server = started(serve, "RequestLimit one rate=1/h burst=1 dry-run\n" + FIGURES)
    assert statuses(server, 20) == [200] * 20
    server.wait_for_log(r"RequestLimit one: refused \(dry-run\) for 127.0.0.1")
    assert figure(server, 'brigade_limit_dry_run_total') >= 18


# ---- in flight, connections, bandwidth ----

@pytest.mark.parametrize("processes,keys", [(1, ""), (2, ""), (2, "RequestLimitKeys 1024\n"), (1, "RequestLimitKeys 300000\n")])
def test_in_flight(serve, processes, keys):
    """Two downloads of which nobody reads are in flight; when one ends, another may begin."""
    server = started(serve, f"ServerProcesses {processes}\n{keys}RequestLimit two inflight=2\n", {**FILES, "huge.bin": "h" * 40000000})
    ask = b"GET /huge.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"
    open_ones = []
    for _ in range(2):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(20)
        s.connect(("127.0.0.1", server.port))
        s.sendall(ask)
        assert b" 200 " in s.recv(64)
        open_ones.append(s)
    for target in ("/huge.bin", "/a.txt", "/a.txt"):
        answer = server.get(target)
        assert answer.status == 429 and answer["Retry-After"] == "1"
    wait_until(lambda: held.of_limits(server) == {"requests in flight of RequestLimit": 2}, "what is looked at when each test ends")
    open_ones.pop().close()
    wait_until(lambda: server.get("/a.txt").status == 200, "a place")
    for s in open_ones:
        s.close()
    wait_until(lambda: server.get("/a.txt").status == 200, "places")


def test_a_process_that_dies_gives_its_places_back(serve):
    server = started(serve, "ServerProcesses 1\nRequestLimit two inflight=1\n", {**FILES, "huge.bin": "h" * 40000000})
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(20)
        s.connect(("127.0.0.1", server.port))
        s.sendall(b"GET /huge.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in s.recv(64)
        assert server.get("/a.txt").status == 429
        victim = server.children()[0]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in server.children() and server.children(), "another process")

        def answered():
            try:
                return server.get("/a.txt").status == 200
            except OSError:
                return False
        wait_until(answered, "its place")
    server.expect_trouble = True


@pytest.mark.parametrize("processes", [1, 2])
def test_connections(serve, processes):
    server = started(serve, f"ServerProcesses {processes}\nRequestLimit conns connections=3 by=client\n")

    def enters():
        c = server.connect()
        try:
            if c.request("GET", "/a.txt").status == 200:
                return c
        except (OSError, Truncated):
            pass
        c.close()
        return None
    held = [wait_until(enters, "the end of who asked whether the server listens") for _ in range(3)]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        try:
            s.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert s.recv(100) == b""
        except ConnectionResetError:
            pass
    with server.connect(source="127.0.0.7") as other:
        assert other.request("GET", "/a.txt").status == 200
    held.pop().close()
    held.append(wait_until(enters, "a place"))
    for c in held:
        c.close()


def test_bandwidth_is_shared_by_requests_of_a_key(serve):
    """300 kB twice, at 400 kB a second after a burst of 200 kB: a second at least."""
    server = started(serve, "RequestLimit bytes bandwidth=400000 burst=200000\n")
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        got = [f.result() for f in [pool.submit(server.get, "/big.bin") for _ in range(2)]]
    assert [len(a.body) for a in got] == [300000] * 2
    assert 0.8 < time.monotonic() - begun < 10
    assert statuses(server, 3) == [200] * 3


def test_small_answers_within_the_bandwidth_come_from_memory(serve):
    server = started(serve, "RequestLimit bytes bandwidth=10M\n" + FIGURES)
    assert statuses(server, 40) == [200] * 40
    wait_until(lambda: hits(server) >= 30, "figures, once a second")


# ---- protocols ----

def test_http2_in_the_clear(serve):
    server = started(serve, "Protocols h2c http/1.1\nRequestLimit one rate=1/h burst=9\n")
    got = []
    with h2_client.Connection(server.port) as c:
        for stream in range(1, 25, 2):
            c.request(stream, path="/a.txt")
            got.append(c.response(stream)[0])
    assert got == [200] * 10 + [429] * 2
    assert server.get("/a.txt").status == 429  # the same client, whatever it speaks


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_tls(serve, protocol):
    tls = brigade.free_port()
    server = serve.unstarted(f"""Listen 127.0.0.1:{tls}
        SSLCertificateFile @ROOT@/conf/cert.pem
        SSLCertificateKeyFile @ROOT@/conf/key.pem
        Protocols h2 http/1.1
        RequestLimit one rate=1/h burst=9
        <VirtualHost *:{tls}>
        ServerName localhost
        RequestLimit conns connections=1
        SSLEngine on
        </VirtualHost>
        """, FILES)
    certificate(server)
    server.start()
    os.utime(server.path("htdocs", "a.txt"), (1, 1))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    got = []
    with h2_client.Connection(tls, preface=protocol == "h2", wrap=context.wrap_socket) as c:
        for stream in range(1, 25, 2):
            if protocol == "h2":
                c.request(stream, path="/a.txt", scheme="https")
                got.append(c.response(stream)[0])
            else:
                c.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
                got.append(int(c.sock.recv(65536).split()[1]))
        with pytest.raises((ssl.SSLError, OSError)):
            context.wrap_socket(socket.create_connection(("127.0.0.1", tls), timeout=20))
    assert got[:10] == [200] * 10 and got[10] == 429


# ---- what operators see ----

def test_busiest_keys_are_told(serve):
    server = started(serve, """RequestLimit api rate=1/h burst=3 by=field:X-Api-Key
        <Location /status>
        SetHandler server-status
        </Location>
        """ + FIGURES)
    for key in ("loud", 'qu"o\\te'):
        statuses(server, 20, headers=[("X-Api-Key", key)])
    text = server.get("/figures").body.decode()
    assert 'brigade_limit_refused_total{limit="api",host="",section=""} 32' in text
    assert re.search(r'^brigade_limit_busiest\{limit="api",key="loud"\} \d\d', text, re.M)
    assert 'key="qu?o?te"' in text
    live = json.loads(server.get("/status/live?data=0").body)
    assert live["limits"][0]["name"] == "api" and live["limits"][0]["refused"] == 32
    assert {k["key"] for k in live["limit_keys"]} == {"loud", "qu?o?te"}
    assert b"RequestLimit api" in server.get("/status?auto").body


def test_keys_without_end_do_not_grow_memory(serve):
    """Many more keys than places: nothing is refused that was not asked for too often, and memory stays."""
    server = started(serve, "MaxKeepAliveRequests 0\nRequestLimitKeys 1024\nRequestLimit one rate=1/h burst=1 by=field:X-K\n" + FIGURES)
    with server.connect() as c:
        assert {c.request("GET", "/a.txt", [("X-K", str(i))]).status for i in range(6000)} == {200}
    assert figure(server, "brigade_limit_keys_displaced_total") >= 4000


# ---- the configuration ----

@pytest.mark.parametrize("line,says", [
    ("RequestLimit", "is no name"), ("RequestLimit a/b rate=1/s", "is no name"), ("RequestLimit a", "wants one of rate="),
    ("RequestLimit a rate=0/s", "wants requests of a time"), ("RequestLimit a rate=1/d", "wants requests of a time"),
    ("RequestLimit a rate=1000000001/s", "wants requests of a time"), ("RequestLimit a rate=1/s inflight=2", "has one of rate="),
    ("RequestLimit a inflight=0", "from 1 on"), ("RequestLimit a bandwidth=1T", "bytes a second"),
    ("RequestLimit a rate=1/s by=", "wants keys"), ("RequestLimit a rate=1/s by=x", "wants client, prefix"),
    ("RequestLimit a rate=1/s by=client,prefix", "one of client, prefix"), ("RequestLimit a rate=1/s by=prefix/33", "prefix/IPV4"),
    ("RequestLimit a rate=1/s by=field:", "name of a request field"), ("RequestLimit a rate=1/s by=as", "needs a table"),
    ("RequestLimit a rate=1/s status=200", "from 400 to 599"), ("RequestLimit a rate=1/s excess=x", "refuse, delay or close"),
    ("RequestLimit a inflight=1 delay=1", "only requests of a rate"), ("RequestLimit a inflight=1 burst=1", "burst= belongs"),
    ("RequestLimit a connections=1 by=user", "before a request"), ("RequestLimit a rate=1/s by=user delay=0", "before their user"),
    ("RequestLimit a rate=1/s\nRequestLimit a rate=2/s", "the name is taken"), ("RequestLimit a rate=1/s x=1", "is not known"),
    ('RequestLimit a rate=1/s "key=%{"', "key=%{"), ("RequestLimitKeys 10", "from 1024 to"),
    ("<Location />\nRequestLimit a connections=1\n</Location>", "not for sections")])
def test_mistakes(serve, line, says):
    server = serve.unstarted(line + "\n", FILES)
    ran = server.run("-t")
    assert ran.returncode and says in ran.stderr.decode(), ran.stderr


def test_a_takeover_names_the_lines_of_other_modules(serve):
    server = serve.unstarted("DOSSiteCount 50\nDOSHTTPStatus 429\n<IfModule !none.c>\nQS_LocRequestLimit /a 30\nQS_SrvMaxConnPerIP 40\n</IfModule>\n")
    server.port = brigade.free_port()
    server.write_config()
    said = subprocess.run([server.binary, "--takeover-check", server.path("conf/httpd.conf")], capture_output=True, text=True,
                          timeout=brigade.PATIENCE).stdout
    assert "DOSSiteCount 50: RequestLimit site by=client rate=50/s burst=50" in said, said
    assert "DOSHTTPStatus 429: status=429" in said and "<Location /a> RequestLimit place by=all inflight=30" in said
    assert "QS_SrvMaxConnPerIP 40: RequestLimit connections by=client connections=40" in said


def test_a_takeover_goes_on_without_modules_whose_files_are_not_there(serve):
    """Their lines count as refused, in <IfModule> too, and what takes their place is told."""
    server = serve.unstarted("LoadModule evasive20_module /nowhere/mod_evasive20.so\nLoadModule own_module /nowhere/own.so\n<IfModule mod_evasive20.c>\n"
                             "DOSSiteCount 50\n<IfModule mod_own.c>\nOwnLine On\n</IfModule>\n</IfModule>\n<IfModule !mod_own.c>\nHeader set X-A b\n</IfModule>\n"
                             "<IfModule mod_none.c>\nNoneLine On\n</IfModule>\n")
    server.port = brigade.free_port()
    server.write_config()
    done = subprocess.run([server.binary, "--takeover-check", server.path("conf/httpd.conf")], capture_output=True, text=True, timeout=brigade.PATIENCE)
    assert done.returncode == 1 and "Refused: 4 lines" in done.stdout and "Can Brigade take over? No" in done.stdout, done
    assert "DOSSiteCount 50: RequestLimit site by=client rate=50/s burst=50" in done.stdout
    for line in ("LoadModule, offered by evasive20_module: /nowhere/mod_evasive20.so is not there", "DOSSiteCount, offered by mod_evasive20",
                 "OwnLine, offered by no module that is here"):
        assert line in done.stderr, done.stderr
    assert "Header" not in done.stderr and "NoneLine" not in done.stderr
    plain = subprocess.run([server.binary, "-t", "-d", server.root, "-f", server.path("conf/httpd.conf")], capture_output=True, text=True, timeout=brigade.PATIENCE)
    assert plain.returncode and "Cannot load /nowhere/mod_evasive20.so" in plain.stderr


@pytest.mark.parametrize("more", ["", "FileCacheEntries 0\n"])
@pytest.mark.parametrize("limit", ["one rate=1/h burst=4", "one key=user rate=1/h burst=4"])
def test_stored_answers_of_backends_count(serve, limit, more):
    """A limit of a section, and one by user: what mod_cache answers counts, too."""
    users = "me:{SHA}" + base64.b64encode(hashlib.sha1(b"me").digest()).decode() + "\n"
    with Backend({"*": answer(b"x", fields=[("Cache-Control", "public, max-age=100")])}) as backend:
        server = serve(f"""
EventLoops 1
ProxyPass /p/ http://127.0.0.1:{backend.port}/
CacheEnable memory /p/
{more}
<Location /p/limited>
AuthType Basic
AuthName x
AuthUserFile @ROOT@/htdocs/users
Require valid-user
RequestLimit {limit}
</Location>
""", files={"users": users})
        got = [server.get("/p/limited", headers={"Authorization": "Basic bWU6bWU="}).status for _ in range(9)]
        assert got == [200] * 5 + [429] * 4
        assert len(backend.requests) == 1
        assert [server.get("/p/other").status for _ in range(9)] == [200] * 9
