# SPDX-License-Identifier: Apache-2.0
"""Formats of access logs that are known by name, and lines of JSON."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

import brigade
from brigade import PATIENCE, wait_until

pytestmark = pytest.mark.only("brigade")

FILES = {"a.txt": "A", "caf\u00e9.txt": "B"}
AGENTS = [b"plain/1.0", b'quo"te back\\slash', "caf\u00e9 \u20ac \U0001f600".encode(), b"\xff\xfe\xc3", b"cut \xe2\x82", b"tab\there",
          b"\xed\xa0\x80 surrogate", b"\xc0\xaf overlong", b"\\x41 literal", b'"', b"-"]
TARGETS = [b"/a.txt", b"/caf%C3%A9.txt", b"/a.txt?q=%22%00%ff", b"/no%22pe%0a%01%7f%ff", b"/%e2%82%ac?" + b"x" * 3000]


def ask(server):
    """Each agent asks for each target three times: the full way, and from memory. @return how many"""
    for name in os.listdir(server.path("htdocs")):
        os.utime(server.path("htdocs", name), (time.time() - 3600,) * 2)
    for agent in AGENTS:
        request = b"".join(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: " + agent + b"\r\nReferer: \xe4\"\r\n\r\n"
                           for target in TARGETS for _ in range(3))
        server.raw(request + b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Request-Id: id-1\r\n\r\n")
    return len(AGENTS) * (3 * len(TARGETS) + 1)


def lines(server, n):
    def complete():
        with open(server.path("logs/access.log"), "rb") as f:
            data = f.read()
        return data.endswith(b"\n") and data.count(b"\n") >= n and data
    return [line.decode() for line in wait_until(complete, "the lines").split(b"\n")[:-1]]


@pytest.mark.parametrize("name,agent,path,status", [("json", "user_agent", "path", "status"),
                                                    ("ecs", "user_agent.original", "url.path", "http.response.status_code")])
def test_json_is_valid_whatever_clients_send(serve, name, agent, path, status):
    server = serve(f"CustomLog @ROOT@/logs/access.log {name}\n", FILES)
    n = ask(server)
    said = [json.loads(line) for line in lines(server, n)]
    assert len(said) == n
    agents = {line[agent] for line in said}
    assert {"plain/1.0", 'quo"te back\\slash', "caf\u00e9 \u20ac \U0001f600", "\ufffd\ufffd\ufffd", "cut \ufffd\ufffd", "tab\there", None} <= agents
    assert {"/a.txt", "/caf\u00e9.txt", "/\u20ac"} <= {line[path] for line in said}
    assert {200, 404} == {line[status] for line in said}
    assert {"id-1", None} == {line.get("request_id", line.get("http.request.id")) for line in said}
    assert said[0].get("http.version", "1.1") == "1.1" and said[0].get("protocol", "HTTP/1.1") == "HTTP/1.1"
    when = said[0].get("time") or said[0]["@timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d", when)


def test_what_a_start_says_is_json_too(serve):
    """Also messages of the reading that the log is opened for, and of later ones."""
    server = serve.unstarted("ErrorLogFormat json\nMinSpareThreads 25\nH2CopyFiles On\nH2CopyFiles Off\nH2MaxWorkers 5\n", FILES)
    server.start()
    said = [json.loads(line) for line in server.error_log().splitlines()]
    for name in ("MinSpareThreads", "H2CopyFiles", "H2MaxWorkers"):
        assert [line["level"] for line in said if line["message"].startswith(name + " has no effect here: ")] == ["notice"], name
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d", line["time"]) for line in said)
    server.signal(signal.SIGUSR1)
    server.wait_for_log("AH00493")
    wait_until(lambda: server.error_log().count(b"MinSpareThreads has no effect here") == 2, "the next reading")
    for line in server.error_log().splitlines():
        json.loads(line)


def test_json_of_ones_own(serve):
    server = serve("""LogFormat "json:{\\"a\\":\\"%m %U\\",\\"b\\":%>s,\\"c\\":%b,\\"d\\":\\"%{Nothing}i\\",\\"e\\":[\\"%{User-Agent}i\\"]}" own
        CustomLog @ROOT@/logs/access.log own
        """, FILES)
    server.get("/a.txt", [("User-Agent", 'x"y')])
    assert json.loads(lines(server, 1)[0]) == {"a": "GET /a.txt", "b": 200, "c": 1, "d": None, "e": ['x"y']}


@pytest.mark.parametrize("name,pattern", [
    ("combined", r'127\.0\.0\.1 - - \[[^]]+\] "GET /a\.txt HTTP/1\.1" 200 \d+ "-" "me"'),
    ("vhost_combined", r'localhost:\d+ 127\.0\.0\.1 - - \[[^]]+\] "GET /a\.txt HTTP/1\.1" 200 \d+ "-" "me"'),
    ("squid", r"\d{10}\.\d{3} \d+ 127\.0\.0\.1 TCP_MISS/200 \d+ GET http://localhost/a\.txt\?x=1 - HIER_NONE/- text/plain")])
def test_formats_known_by_name(serve, name, pattern):
    server = serve(f"CustomLog @ROOT@/logs/access.log {name}\n", FILES)
    server.get("/a.txt?x=1" if name == "squid" else "/a.txt", [("User-Agent", "me")])
    assert re.fullmatch(pattern, lines(server, 1)[0])


def test_squids_line_ends_with_the_network(serve):
    """As Lusca's did; answered from memory, too. Its time is the end of the request."""
    server = serve("ASTable file @ROOT@/networks.txt\nCustomLog @ROOT@/logs/access.log squid\n", {**FILES, "../networks.txt": "127.0.0.0/8 64500\n"})
    os.utime(server.path("htdocs/a.txt"), (time.time() - 3600,) * 2)
    over_one_connection(server, [("/a.txt", "")] * 6)
    said = lines(server, 6)
    assert all(line.endswith(" text/plain AS64500") for line in said) and "TCP_MEM_HIT/200" in said[-1]
    assert all(re.search(r" GET http://[^ /]+/a\.txt - ", line) for line in said)
    server.raw(b"GET http://elsewhere.example/a.txt?x HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n")
    assert " GET http://elsewhere.example/a.txt?x - " in lines(server, 7)[-1]


def test_squids_time_is_the_end(serve):
    server = serve("FileCacheEntries 0\nCustomLog @ROOT@/logs/access.log squid\nCustomLog @ROOT@/logs/times.log \"%{begin:sec}t.%{begin:msec_frac}t %{ms}T\"\n"
                   "LoadModule ratelimit_module modules/mod_ratelimit.so\n<Location /slow.bin>\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 100\n</Location>\n",
                   {**FILES, "slow.bin": "x" * 60_000})
    assert len(server.get("/slow.bin").body) == 60_000
    end, took = (float(word) for word in lines(server, 1)[0].split()[:2])
    begin = float(wait_until(lambda: server.read("logs/times.log").split(), "the other log")[0])
    assert took >= 100 and abs(end - begin - took / 1000) < 0.05


def test_a_format_of_that_name_goes_first(serve):
    server = serve('CustomLog @ROOT@/logs/access.log json\nLogFormat "%m mine" json\n', FILES)
    server.get("/a.txt")
    assert lines(server, 1) == ["GET mine"]


@pytest.mark.parametrize("target,pattern", [
    ("syslog:local1:www:", rb"<142>\w{3} [ \d]\d \d\d:\d\d:\d\d www\[\d+\]: GET /a\.txt (\d+)"),
    ("syslog:::", rb"<190>.* brigade\[\d+\]: GET /a\.txt (\d+)"),
    ("journald:www:", rb"PRIORITY=6\nSYSLOG_IDENTIFIER=www\nMESSAGE=GET /a\.txt (\d+)\n")])
def test_services_get_a_datagram_for_each_line(serve, target, pattern):
    server = serve.unstarted(f'CustomLog {target}@ROOT@/logger "%m %U %{{n}}i"\n', FILES)

    def listen():
        logger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        logger.bind(server.path("logger"))
        os.chmod(server.path("logger"), 0o777)
        logger.settimeout(PATIENCE)
        return logger

    def numbers(logger, until):
        found = []
        while until not in found:
            match = re.fullmatch(pattern, logger.recv(65536))
            if match:
                found.append(int(match[1]))
        return found
    with listen() as logger:
        server.start()
        for n in range(5):
            server.get("/a.txt", [("n", str(n))])
        assert sorted(numbers(logger, 4)) == [0, 1, 2, 3, 4]
    os.unlink(server.path("logger"))
    server.get("/a.txt", [("n", "5")])  # nobody is there
    server.wait_for_log("cannot write to transfer log")
    with listen() as logger:
        server.get("/a.txt", [("n", "6")])
        assert numbers(logger, 6) == [6]
    server.wait_for_log("can be written again; [1-9]\\d* lines were lost")
    server.expect_trouble = True


def logger_at(path):
    logger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    logger.bind(path)
    os.chmod(path, 0o777)
    logger.settimeout(PATIENCE)
    return logger


def until(logger, pattern):
    """Datagrams up to the first that has the pattern, which is the last of them."""
    found = [logger.recv(65536)]
    while not re.search(pattern, found[-1], re.S):
        found.append(logger.recv(65536))
    return found


FORBIDDEN = "<LocationMatch ^/x>\nRequire all denied\n</LocationMatch>\n"


@pytest.mark.parametrize("target,error,notice", [
    ("syslog:local1:www:", rb"^<139>\w{3} [ \d]\d \d\d:\d\d:\d\d www\[\d+\]: \[authz_core:error\] .*AH01630", rb"^<141>.*resuming normal operations"),
    ("journald:www:", rb"^PRIORITY=3\nSYSLOG_IDENTIFIER=www\nMESSAGE=\[authz_core:error\] .*AH01630.*[^\n]\n$", rb"^PRIORITY=5\n.*resuming normal operations")],
    ids=["syslog", "journald"])
def test_error_logs_in_services(serve, target, error, notice):
    """Of the main server; a virtual host without a log of its own has it, one with another tag uses that."""
    server = serve.unstarted(FORBIDDEN, FILES)
    server.config += (f"ErrorLog {target}{server.path('logger')}\n<VirtualHost *>\nServerName one\n</VirtualHost>\n"
                      f"<VirtualHost *>\nServerName two\nErrorLog {target.replace('www', 'other')}{server.path('logger')}\n</VirtualHost>\n")
    with logger_at(server.path("logger")) as logger:
        server.start()
        until(logger, notice)
        assert server.get("/xone", [("Host", "one")]).status == 403
        assert b"/xone" in until(logger, error)[-1]
        assert server.get("/xtwo", [("Host", "two")]).status == 403
        assert b"other" in until(logger, rb"/xtwo")[-1]
        assert server.stop() == 0
        until(logger, b"SIGTERM")


@pytest.mark.parametrize("target", ["syslog:::", "journald::"])
def test_a_service_that_stands_still_holds_nobody_up(serve, target):
    server = serve.unstarted(FORBIDDEN + "MaxKeepAliveRequests 0\nEventLoops 1\n<Location /status>\nSetHandler server-status\n</Location>\n", FILES)
    server.config += f"ErrorLog {target}{server.path('logger')}\n"
    with logger_at(server.path("logger")) as logger:
        server.start()
        began = time.monotonic()
        with server.connect() as c:
            for _ in range(1200):  # more than any queue of the kernel holds
                assert c.get("/xy").status == 403
        assert time.monotonic() - began < 10
        lost = int(re.search(rb"LogLinesLost: (\d+)", server.get("/status?auto").body)[1])
        assert lost >= 100
        logger.settimeout(0.2)
        try:
            while True:
                logger.recv(65536)
        except TimeoutError:
            logger.settimeout(PATIENCE)
        server.get("/xz")
        said = until(logger, b"/xz")
        assert int(re.search(rb"(\d+) lines of error logs were lost", b"".join(said))[1]) == lost
    os.unlink(server.path("logger"))
    assert server.get("/xz").status == 403  # nobody is there
    with logger_at(server.path("logger")) as logger:
        server.get("/xz")
        assert b"1 lines of error logs were lost" in until(logger, b"lines of error")[-1]


@pytest.mark.parametrize("target,words", [("syslog:nowhere", "unknown facility"), ("journald:a:b", "absolute path"), ("syslog::a b", "the tag has blanks")])
def test_mistakes_in_names_of_error_logs(serve, target, words):
    done = serve.unstarted(f'ErrorLog "{target}"\n', FILES).run("-t")
    assert done.returncode and words in done.stderr.decode()


@pytest.mark.parametrize("target,words", [("syslog:nowhere", "unknown facility"), ("journald:a:b", "absolute path"), ("syslog::a b", "the tag has blanks")])
def test_mistakes_in_names_of_services(serve, target, words):
    done = serve.unstarted(f'CustomLog "{target}" json\n', FILES).run("-t")
    assert done.returncode and words in done.stderr.decode()


def clients_of_both_ways(server):
    os.utime(server.path("htdocs/a.txt"), (time.time() - 3600,) * 2)
    for _ in range(3):  # the full way, and from memory
        for address in ("192.0.2.77", "2001:db8:1234:5678::9", "::ffff:198.51.100.7", "fe80::1"):
            server.get("/a.txt", [("X-Forwarded-For", address)])
    return set(lines(server, 12))


MASKED = {"192.0.2.0", "2001:db8:1234::", "198.51.100.0", "fe80::"}
REMOTE = "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n"


def test_addresses_are_masked_by_an_item(serve):
    server = serve(REMOTE + 'CustomLog @ROOT@/logs/access.log "%{mask=24,48}a %{mask=9,0}a %{c mask=24,48}a"\n', FILES)
    assert clients_of_both_ways(server) == {"192.0.2.0 192.0.0.0 127.0.0.0", "2001:db8:1234:: :: 127.0.0.0", "198.51.100.0 198.0.0.0 127.0.0.0",
                                 "fe80:: :: 127.0.0.0"}


def test_addresses_are_masked_in_all_logs(serve):
    server = serve(REMOTE + """LogMaskClient 24 48
        LogLevel debug
        CustomLog @ROOT@/logs/access.log "%a"
        CustomLog @ROOT@/logs/second.log "%h %{c}a %{mask=32,128}a"
        <Files secret>
            Require all denied
        </Files>
        """, FILES)
    assert clients_of_both_ways(server) == MASKED
    assert "192.0.2.0 127.0.0.0 192.0.2.77" in server.read("logs/second.log").decode()
    server.get("/secret", [("X-Forwarded-For", "203.0.113.99")])
    server.wait_for_log(r"\[client 203\.0\.113\.0:\d+\] .*denied by")
    said = server.read("logs/error_log").decode()
    assert "203.0.113.99" not in said and "127.0.0.1:" not in said.replace("server", "")


def test_names_of_clients_for_a_day(serve):
    server = serve(REMOTE + 'CustomLog @ROOT@/logs/access.log "%{salt}a"\n', FILES)
    before = clients_of_both_ways(server)
    assert len(before) == 4 and all(re.fullmatch("[0-9a-f]{16}", name) for name in before)
    old = set(server.children())
    server.signal(signal.SIGUSR1)
    wait_until(lambda: server.children() and not old & set(server.children()), "the processes after the reload")
    server.get("/a.txt", [("X-Forwarded-For", "::ffff:192.0.2.77")])
    day = int(time.time()) // 86400
    after = lines(server, 13)
    assert after[-1] in before or int(time.time()) // 86400 != day


@pytest.mark.parametrize("directive", ["LogMaskClient 33 48", "LogMaskClient 24", "LogMaskClient 24 129", "LogMaskClient 24 4x", "LogMaskClient On",
                                       'LogFormat "%{mask=24}a" x', 'LogFormat "%{mask=24,200}a" x'])
def test_a_mask_that_is_none_is_refused(serve, directive):
    server = serve.unstarted(directive + "\n", FILES)
    done = server.run("-t")
    assert done.returncode and b"bits to show of IPv4" in done.stderr


def over_one_connection(server, requests):
    """So that one event loop, each of which remembers answers for itself, has all of them: pairs of a target and a field."""
    last = len(requests) - 1
    server.raw("".join(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n" + (field and field + "\r\n") +
                       ("Connection: close\r\n" if i == last else "") + "\r\n" for i, (target, field) in enumerate(requests)).encode())


RESULT = 'CustomLog @ROOT@/logs/access.log "%{cache-result}e/%>s %{cache-hierarchy}e"\n'


@pytest.mark.parametrize("extra", ["", 'CustomLog @ROOT@/logs/record.log "%{Content-Type}o"\n'])  # the second needs a request_rec
def test_result_of_our_own_cache(serve, extra):
    server = serve(RESULT + extra + "<Files secret>\nRequire all denied\n</Files>\n", FILES)
    os.utime(server.path("htdocs/a.txt"), (time.time() - 3600,) * 2)
    tag = server.get("/a.txt")["ETag"]
    over_one_connection(server, [("/a.txt", "")] * 8 + [("/a.txt", f"If-None-Match: {tag}")] * 8 + [("/secret", ""), ("/none", "")])
    server.raw(b"no request\r\n\r\n")
    said = lines(server, 20)[1:]
    assert said[0] == "TCP_MISS/200 HIER_NONE/-"
    assert said[7] == "TCP_MEM_HIT/200 HIER_NONE/-"
    assert said[15] == "TCP_IMS_HIT/304 HIER_NONE/-"
    assert said[16:] == ["TCP_DENIED/403 HIER_NONE/-", "TCP_MISS/404 HIER_NONE/-", "NONE/400 HIER_NONE/-"]


CACHE = ["proxy", "proxy_http", "cache", "cache_socache", "socache_shmcb"]


@pytest.mark.skipif(not all(os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so") for m in CACHE), reason="Apache's modules are not installed")
def test_result_of_mod_cache_and_of_proxied_servers(serve):
    behind = serve('Header set Cache-Control "max-age=600"\n', FILES)
    server = serve("".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in CACHE) + RESULT + f"""
        CacheEnable socache /kept/
        CacheSocache shmcb
        ProxyPass /kept/ http://127.0.0.1:{behind.port}/
        ProxyPass /direct/ http://127.0.0.1:{behind.port}/
        """, FILES)
    for target in ("/direct/a.txt", "/kept/a.txt", "/kept/a.txt"):
        assert server.get(target).status == 200
    assert lines(server, 3) == ["TCP_MISS/200 HIER_DIRECT/127.0.0.1", "TCP_MISS/200 HIER_DIRECT/127.0.0.1", "TCP_HIT/200 HIER_NONE/-"]


CALAMARIS = os.environ.get("CALAMARIS") or shutil.which("calamaris")


@pytest.mark.skipif(not CALAMARIS, reason="calamaris is not installed")
def test_calamaris_reads_squids_format(serve):
    server = serve("CustomLog @ROOT@/logs/access.log squid\n", FILES)
    os.utime(server.path("htdocs/a.txt"), (time.time() - 3600,) * 2)
    over_one_connection(server, [("/a.txt", "")] * 10)
    said = lines(server, 10)
    hits = sum("TCP_MEM_HIT/200" in line for line in said)
    assert hits >= 5
    done = subprocess.run([CALAMARIS, "-a"], input="\n".join(said) + "\n", capture_output=True, text=True, timeout=PATIENCE)
    assert re.search(r"Total amount parsed:\s+lines\s+10", done.stdout) or re.search(r"parsed[^\n]*\b10\b", done.stdout), done.stdout[:2000]
    assert re.search(r"TCP_MEM_HIT\s+%d\b" % hits, done.stdout), done.stdout
