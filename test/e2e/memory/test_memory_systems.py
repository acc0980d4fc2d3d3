# SPDX-License-Identifier: Apache-2.0
"""Memory systems: directives, scopes, figures, refusals; Debian's apache2 on the preloaded layer."""
import json
import os
import re
import shutil
import subprocess
import time
import sys
from contextlib import ExitStack

import pytest

import brigade
import http_client
from brigade import wait_until
from memory_site import BUILD, FILES, STATUS, is_stock
from trouble import compiled, sanitizer

pytestmark = pytest.mark.only("brigade")
KINDS = ["system", "trivial", "arena", "guard", "tracking arena", "limit(16M) arena", "os", "jemalloc", "mimalloc"]


if is_stock():
    pytestmark = pytest.mark.skip(reason="built with stock APR pools")


def kind_module(kind):
    """The LoadModule line that a kind needs; skips where its library was not there."""
    if kind not in ("jemalloc", "mimalloc"):
        return ""
    path = os.path.join(BUILD, "modules", f"sms_{kind}.so")
    if not os.path.exists(path):
        pytest.skip(f"{kind} was not built")
    return f'LoadModule sms_{kind}_module "{path}"\n'


def scope(server, name):
    scopes = json.loads(server.get("/st?memory=json").body)["scopes"]
    return next(s for s in scopes if s["scope"] == name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_serves(serve, kind):
    config = kind_module(kind) + "".join(f"MemorySystem {s} {kind}\n" for s in ("connection", "request", "bucket"))
    server = serve(config, FILES)
    for _ in range(3):
        assert server.get("/a.txt").body == b"hello\n"
        assert server.get("/big.txt").body == FILES["big.txt"].encode()
        assert server.get("/dir/").status == 200
        assert server.get("/nothing").status == 404
    assert server.stop() == 0


def test_virtual_hosts_with_systems_of_their_own(serve):
    """Each is shown, and counts in the figures of its scope."""
    kinds = ["limit(1M) arena", "limit(2M) arena", "tracking(quiet) arena", "limit(1M) arena"]
    hosts = "".join(f"<VirtualHost *:@PORT@>\nServerName host{i}.test\nMemorySystem request {kind}\n</VirtualHost>\n" for i, kind in enumerate(kinds))
    server = serve(STATUS + "<Location /metrics>\nSetHandler metrics\n</Location>\nFileCacheEntries 0\n<VirtualHost *:@PORT@>\nServerName localhost\n</VirtualHost>\n" + hosts, FILES)
    with server.connect() as c:
        for i in range(len(kinds)):
            assert c.request("GET", "/a.txt", {"Host": f"host{i}.test"}).body == b"hello\n"
    own = scope(server, "request")["hosts"]
    assert [(re.sub(r"line \d+", "line", h["name"]), h["system"].split("(chunk")[0]) for h in own] == [(f"host{i}.test, line", kind) for i, kind in enumerate(kinds)]
    assert all(h["systems"] and h["systems"][-1]["held_bytes"] > 0 for h in own)
    text = server.get("/st?memory=prometheus").body.decode()
    assert len(set(re.findall(r'scope="request",host="(host\d)\.test', text))) == 4
    assert b"request (host2.test, line" in server.get("/st").body
    held = sum(h["systems"][0]["held_bytes"] for h in own)
    wait_until(lambda: int(re.search(rb'memory_held_bytes\{scope="request"\} (\d+)', server.get("/metrics").body)[1]) >= held > 0, "the figure")


@pytest.mark.parametrize("name", ["process", "configuration", "log"])
@pytest.mark.parametrize("kind", ["system", "trivial", "guard", "tracking(quiet) arena"])
def test_other_scopes(serve, name, kind):
    server = serve(f"MemorySystem {name} {kind}\n", FILES)
    assert server.get("/a.txt").body == b"hello\n"
    server.signal(brigade.signal.SIGUSR1)
    server.wait_for_log("SIGUSR1 received")
    wait_until(lambda: server.read("logs/error_log").count(b"resuming normal operations") == 2, "the next generation")
    assert server.get("/a.txt").body == b"hello\n"


def test_restart_shows_no_stacks(serve):
    """The check of the configuration before a restart is -t, whose answer nobody asked for."""
    server = serve("MemorySystem request system\n", FILES)
    server.signal(brigade.signal.SIGUSR1)
    wait_until(lambda: server.read("logs/error_log").count(b"resuming normal operations") == 2, "the next generation")
    assert b"Memory systems" not in server.read("logs/stderr")


def test_stacks_are_shown(serve):
    server = serve.unstarted('MemorySystem request "limit(16M) arena(chunk=64k)"\nMemorySystem process trivial\n'
                             "<VirtualHost *:1>\nServerName other\nMemorySystem request 'system'\n</VirtualHost>\n")
    result = server.run("-t")
    assert result.returncode == 0 and b"Syntax OK" in result.stderr
    assert re.search(rb"^  request +limit\(16M\) arena\(chunk=64K,keep=\w+\)$", result.stdout, re.M), result.stdout
    assert re.search(rb"^  process +trivial\(", result.stdout, re.M)
    assert re.search(rb"^  request +system \(other, line \d+\)$", result.stdout, re.M)
    server.config = ""
    assert server.run("-t").stdout == b""
    assert b"connection" in server.run("-t", "-D", "DUMP_MEMORY").stdout


@pytest.mark.parametrize("line, message", [
    ("MemorySystem", "unknown scope"),
    ("MemorySystem requests arena", "there are process, configuration, connection, request, bucket, log"),
    ("MemorySystem request", "takes a scope and a specification"),
    ("MemorySystem request arnea", r'unknown memory system "arnea"; there are arena\(chunk=SIZE'),
    ("MemorySystem request arena(chunk=lots)", "is no size"),
    ("MemorySystem request arena(chink=64k)", "chink"),
    ("MemorySystem request limit(16M", r'MemorySystem request: "\)" is missing; there are arena\(chunk=SIZE'),
    ("MemorySystem request arena(chunk=64k,chunk=32k)", '"chunk" is there twice'),
    ('MemorySystem request "arena(chink=64k)"', 'arena: it does not know "chink=64k"; it takes chunk=SIZE, keep=SIZE'),
    ('MemorySystem request "limit(16M)" arena', 'MemorySystem request: "arena" follows what is in quotes'),
    ('MemorySystem request ""', "takes a scope and a specification"),
    ("MemorySystem request limit(16M, status=404) arena", 'status= is 503 or 413, not "404"'),
    ("MemorySystem request limit(16M, states=413) arena", "states"),
    ("MemorySystem request limit(status=413) arena", "it needs a size"),
    ("MemorySystem request limit(1M, 2M) arena", "2M"),
    ("<VirtualHost *>\nMemorySystem process arena\n</VirtualHost>", "cannot occur within <VirtualHost>"),
    ("<Directory />\nMemorySystem request arnea\n</Directory>", 'unknown memory system "arnea"'),
    ("<Location />\nMemorySystem connection arena\n</Location>", "MemorySystem connection: in a section only the scope request"),
    ("<Location />\n<Limit GET>\nMemorySystem request arena\n</Limit>\n</Location>", "cannot occur within <Limit>"),
    ("MemorySystem filter arena", "filters have no memory of their own.*<Location>"),
    ("MemoryReport perhaps", "must be On or Off"),
    ('LogFormat "%{other}M"', "must be %{allocs}M, %{bytes}M or %{zeroed}M"),
])
def test_mistakes(serve, line, message):
    result = serve.unstarted(line + "\n").run("-t")
    text = result.stderr.decode()
    assert result.returncode == 1, text
    assert re.search(message, text), text
    assert re.search(r"line \d+ of ", text), text


def test_loadable_kind_only_where_it_may_be(serve):
    config = kind_module("jemalloc") + "MemorySystem log jemalloc\n"
    result = serve.unstarted(config).run("-t")
    assert result.returncode == 1 and b"built in" in result.stderr


def test_request_system_of_virtual_host(serve):
    server = serve("LogFormat \"%V %s\" v\nCustomLog logs/access v\n"
                   "<VirtualHost *:@PORT@>\nServerName roomy\n</VirtualHost>\n"
                   "<VirtualHost *:@PORT@>\nServerName tight\nMemorySystem request limit(20k) arena\n</VirtualHost>\n"
                   "<VirtualHost *:@PORT@>\nServerName plain\nMemorySystem request system\n</VirtualHost>\n",
                   {**FILES, **{f"many/a_rather_long_file_name_{i}": "" for i in range(300)}})
    for _ in range(3):
        assert server.get("/many/", host="roomy").status == 200
        assert server.get("/many/", host="plain").status == 200
        assert server.get("/many/", host="tight").status == 503
        assert server.get("/a.txt", host="tight").status == 200
    assert b"needs more memory than it may have: answered with 503" in server.error_log()


LIMITED = "MemorySystem request limit(20k) arena\n"


@pytest.mark.parametrize("kind", ["system", "limit(1M) arena"])
@pytest.mark.parametrize("begin, end", [("<Directory @ROOT@/htdocs/tight>", "</Directory>"), ("<Location /tight>", "</Location>"),
                                        ("<LocationMatch ^/tight>", "</LocationMatch>"), ("<If \"%{REQUEST_URI} =~ m#^/tight#\">", "</If>")])
def test_request_system_of_sections(serve, begin, end, kind):
    """It may be another one than the host's, and is shown; a limit is that of the section alone."""
    many = {f"{folder}/a_rather_long_file_name_{i}": "" for folder in ("tight", "roomy") for i in range(300)}
    server = serve(STATUS + f"FileCacheEntries 0\nMemorySystem request {kind}\n{begin}\n{LIMITED}{end}\n", {**FILES, **many})
    for _ in range(3):
        assert server.get("/roomy/").status == 200
        assert server.get("/tight/").status == 503
        assert server.get("/tight/a_rather_long_file_name_7").status == 200
    assert b"needs more memory than it may have: answered with 503" in server.error_log()
    own = scope(server, "request")["hosts"]
    assert len(own) == 1 and re.search(r"tight|If", own[0]["name"]) and re.search(r", line \d+$", own[0]["name"]) and own[0]["system"].startswith("limit(20K) arena"), own
    result = server.run("-t")
    assert re.search(rb"^  request +limit\(20K\) arena\(.*line \d+\)$", result.stdout, re.M), result.stdout


def test_sections_behind_redirects_and_in_pages(serve):
    """An internal redirect goes on with the system of its own section; a subrequest has what its request has."""
    config = (SSI + "<Files greedy.shtml>\nMemorySystem request system\n</Files>\n<Location /tight>\n" + LIMITED + "</Location>\n"
              "<Location /none>\nMemorySystem request limit(8M) trivial\nErrorDocument 404 /tight/page.shtml\n</Location>\n")
    files = {**GREEDY, "tight/page.shtml": GREEDY["greedy.shtml"] + "told", "outer.shtml": '<!--#include virtual="/tight/page.shtml" -->'}
    server = serve(config, files)
    with server.connect() as c:
        for _ in range(4):
            assert c.request("GET", "/greedy.shtml").status == 200
            assert c.request("GET", "/outer.shtml").body.endswith(b"told")
            assert c.request("GET", "/tight/page.shtml").status == 503
            assert c.request("GET", "/none").status in (404, 503)
            assert c.request("GET", "/a.txt").body == b"hello\n"


def test_limit_ends_the_request_only(serve):
    server = serve("MemorySystem request limit(48k) arena\nLimitRequestFieldSize 60000\nFileCacheEntries 0\n", FILES)
    with server.connect() as other:
        for _ in range(5):
            assert server.get("/a.txt", headers=[("X-Large", "x" * 55000)]).status == 503
            assert server.get("/a.txt").status == 200
            assert other.request("GET", "/a.txt").status == 200


GREEDY = {**FILES, "greedy.shtml": "".join(f'<!--#set var="v{i}" value="{"x" * 500}" -->' for i in range(300))}
SSI = ("AddType text/html .shtml\n<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n"
       "</Directory>\n")


@pytest.mark.parametrize("spec, status", [("limit(64k)", 503), ("limit(64k,status=413)", 413), ("limit(64k,status=503)", 503)])
@pytest.mark.parametrize("method, body", [("GET", b""), ("POST", b"x" * 3000)])
def test_connection_goes_on_after_a_refusal(serve, spec, status, method, body):
    """What the client sent was read wholly, so it is known where its next request begins."""
    server = serve(SSI + f"MemorySystem request {spec} arena\n", GREEDY)
    with server.connect() as c:
        for _ in range(4):
            answer = c.request(method, "/greedy.shtml", body=body)
            assert answer.status == status and answer["Connection"] is None
            assert c.request("GET", "/a.txt").body == b"hello\n"
    assert f"needs more memory than it may have: answered with {status}".encode() in server.error_log()


def test_body_of_a_refused_request_is_no_request(serve):
    """Whether its body was read or the connection is closed: it is not taken for the next request."""
    server = serve("MemorySystem request limit(48k,status=413) arena\nLimitRequestFieldSize 60000\n"
                   "KeepAliveTimeout 1\n", FILES)
    hidden = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nX-Large: %s\r\nContent-Length: %d\r\n\r\n"
    answer = server.raw(head % (b"x" * 55000, len(hidden)) + hidden)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_status_of_a_limit_is_shown(serve):
    server = serve.unstarted("MemorySystem request limit(16M, status=413) arena\n")
    assert re.search(rb"^  request +limit\(16M,status=413\) arena\(", server.run("-t").stdout, re.M)


@pytest.mark.parametrize("kind", ["arena", "system"])
def test_fault_at_every_allocation_of_a_request(serve, kind):
    """Failing any one allocation gives the answer, 503 or a closed connection, and the process lives on."""
    statuses = set()
    hosts = "".join(f"<VirtualHost *:@PORT@>\nServerName h{n}\nMemorySystem request fault(nth={n}) {kind}\n"
                    "</VirtualHost>\n" for n in range(1, 60))
    server = serve("<VirtualHost *:@PORT@>\nServerName first\n</VirtualHost>\n" + hosts, FILES)
    before = server.children()
    for n in range(1, 60):
        for target in ("/a.txt", "/dir/"):
            try:
                statuses.add(server.get(target, host=f"h{n}").status)
            except http_client.Truncated:
                statuses.add("closed")  # the head was made already
        assert server.get("/a.txt", host=f"h{n}").status == 200
    assert {200, 503} <= statuses <= {200, 503, "closed"}
    assert server.children() == before


def test_figures(serve):
    server = serve(STATUS + "LogFormat \"%U %{allocs}M %{bytes}M %{zeroed}M\" m\nCustomLog logs/access m\n"
                   "MemorySystem request limit(16M) arena\n", FILES)
    server.get("/st?memory=json")
    before = scope(server, "request")
    for _ in range(20):
        server.get("/a.txt")
    after = scope(server, "request")
    assert after["system"].startswith("limit(16M) arena(")
    assert after["pools"]["pools"] >= before["pools"]["pools"] + 20
    assert after["pools"]["allocations"] > before["pools"]["allocations"] + 20 * 10
    assert after["pools"]["bytes"] > before["pools"]["bytes"]
    assert [s["kind"] for s in after["systems"]] == ["arena", "os"]
    # Another of these answers may have become ready in the meantime; sizes are those of the last one.
    line = wait_until(lambda: re.search(rb"^/a.txt (\d+) (\d+) (\d+)$", server.read("logs/access"), re.M), "the log")
    assert 10 <= int(line[1]) <= 60 and 1000 < int(line[2]) < 20000 and 100 < int(line[3]) < int(line[2])


WARM = STATUS + ("EventLoops 1\nMaxKeepAliveRequests 0\nFileCacheEntries 0\nLogFormat \"%U %{allocs}M\" m\n"
                 "CustomLog logs/access m\n")


@pytest.mark.default_memory
def test_warm_requests_allocate_little(serve):
    """At most 40 allocations (38 here; 120 were usual once; each built-in module that hooks requests may cost one), no chunk beyond the first, nothing from below the arena."""
    server = serve(WARM, FILES)
    with server.connect() as c:
        for _ in range(50):
            c.request("GET", "/a.txt")
            c.request("GET", "/st?memory=json")
        c.request("POST", "/st?memory=reset")
        for _ in range(1000):
            assert c.request("GET", "/a.txt").status == 200
        scopes = {s["scope"]: s for s in json.loads(c.request("GET", "/st?memory=json").body)["scopes"]}
    assert scopes["request"]["pools"]["refills"] == 0
    for scope_name in ("request", "connection", "bucket"):
        assert scopes[scope_name]["systems"][0]["refills"] == 0
    lines = wait_until(lambda: (x := re.findall(rb"^/a.txt (\d+)$", server.read("logs/access"), re.M)) and len(x) == 1050 and x,
                       "the log")
    assert max(int(n) for n in lines[50:]) <= 40


@pytest.mark.default_memory
@pytest.mark.parametrize("config", [WARM, WARM.replace("FileCacheEntries 0\n", "")])
def test_warm_requests_take_no_lock(serve, tmp_path, config):
    """Counted in the calls of pthread_mutex_lock and the like, of all libraries, by a preloaded one."""
    if sanitizer():
        pytest.skip("a sanitizer comes first")
    counter = tmp_path / "locks"
    counter.write_bytes(bytes(8))
    for path in (counter, tmp_path, *list(tmp_path.parents)[:2]):
        path.chmod(0o777)
    server = serve(config, FILES, env={"LD_PRELOAD": compiled("count_locks", "-ldl"), "LOCKS_FILE": str(counter)})
    with server.connect() as c:
        for _ in range(50):
            c.request("GET", "/a.txt")
        before, begun = int.from_bytes(counter.read_bytes(), "little"), time.monotonic()
        for _ in range(1000):
            assert c.request("GET", "/a.txt").status == 200
        after = int.from_bytes(counter.read_bytes(), "little")
    assert before > 0  # the library is there
    seconds = time.monotonic() - begun  # a few are those of a second's end
    assert after - before < 20 + 20 * seconds, "locks for 1,000 requests"


@pytest.mark.default_memory
def check_prometheus(text):
    """The text format as its specification has it: every family in one piece behind its HELP and TYPE, no sample twice,
    counters end in _total."""
    families, samples, family = {}, set(), None
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        head = re.fullmatch(r"# (HELP|TYPE) ([a-z_:][a-z0-9_:]*) (\S.*)", line)
        if head and head[1] == "HELP":
            family = head[2]
            assert family not in families, line
            families[family] = None
        elif head:
            assert head[2] == family and families[family] is None, line
            families[family] = head[3]
            assert head[3] == ("counter" if family.endswith("_total") else "gauge"), line
        else:
            label = r'\w+="(?:[^"\\\n]|\\["\\n])*"'
            sample = re.fullmatch(rf"([a-z_]+)\{{({label}(?:,{label})*)\}} \d+", line)
            assert sample and sample[1] == family and families[family] is not None, line
            assert (sample[1], sample[2]) not in samples, line
            samples.add((sample[1], sample[2]))


def test_other_shapes(serve):
    server = serve(STATUS, FILES)
    text = server.get("/st?memory=prometheus")
    assert text["Content-Type"].startswith("text/plain; version=0.0.4")
    check_prometheus(text.body.decode())
    assert b'brigade_memory_pool_allocations_total{' in text.body
    assert re.search(rb"^MemoryRequestAllocations: \d+$", server.get("/st?auto").body, re.M)
    assert b"<td>request</td><td>arena(" in server.get("/st").body
    refused = server.get("/st?memory=reset")
    assert (refused.status, refused["Allow"]) == (405, "POST")
    refused = server.request("POST", "/st?memory=json")
    assert (refused.status, refused["Allow"]) == (405, "GET,HEAD")
    assert server.get("/st?memory=nonsense").status == 404
    assert server.request("POST", "/st?memory=reset").status == 200


def test_nothing_is_shown_unasked(serve):
    server = serve("<Location /st>\nSetHandler server-status\n</Location>\n", FILES)
    assert b"Memory" not in server.get("/st?auto").body
    assert b"Memory of process" not in server.get("/st").body
    assert server.get("/st?memory=json").status == 404
    assert server.request("POST", "/st?memory=reset").status == 404


# ---- the preloaded layer ----

@pytest.fixture
def library():
    path = os.path.join(BUILD, "libbrigade-memory.so")
    if not os.path.exists(path):
        pytest.skip("libbrigade-memory.so was not built")
    return path


def test_preload_refuses_nonsense(library):
    result = subprocess.run(["/bin/true"], env=dict(os.environ, LD_PRELOAD=library, BRIGADE_MEMORY="nonsense"),
                            capture_output=True)
    assert result.returncode == 2 and b'unknown memory system "nonsense"' in result.stderr
    result = subprocess.run(["/bin/true"], env=dict(os.environ, LD_PRELOAD=library, BRIGADE_MEMORY_REPORT="never"),
                            capture_output=True)
    assert result.returncode == 2 and b"BRIGADE_MEMORY_REPORT" in result.stderr
    result = subprocess.run(["/bin/true"], env=dict(os.environ, LD_PRELOAD=library, BRIGADE_MEMORY_REPORT="exit,file="),
                            capture_output=True)
    assert result.returncode == 2 and b"file= has no path" in result.stderr


def test_preload_reports_to_a_file_at_the_end(library, tmp_path):
    """A file without a word about when."""
    report = tmp_path / "report"
    subprocess.run(["/bin/true"], env=dict(os.environ, LD_PRELOAD=library, BRIGADE_MEMORY_REPORT=f"file={report}"),
                   check=True)
    assert report.read_text().startswith("brigade memory, process ")


def test_preload_tells_of_a_refusal(library):
    """Programs rarely look whether they were given memory: what ends them next should not be a riddle."""
    program = ("import ctypes\napr = ctypes.CDLL(None)\napr.apr_initialize()\npool = ctypes.c_void_p()\n"
               "apr.apr_pool_create_ex(ctypes.byref(pool), None, None, None)\napr.apr_palloc.restype = ctypes.c_void_p\n"
               "print([apr.apr_palloc(pool, ctypes.c_size_t(1 << 22)) for _ in range(2)])\n")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                            env=dict(os.environ, LD_PRELOAD=library, BRIGADE_MEMORY="limit(1M) arena"))
    assert result.stdout == "[None, None]\n"
    assert result.stderr.startswith("brigade memory: a pool was refused memory (BRIGADE_MEMORY='limit(1M) arena")
    assert result.stderr.count("refused") == 1


APACHE = shutil.which("apache2", path="/usr/sbin:/usr/bin")


def apache_answers(serve, env):
    server = serve("<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\n",
                   {**FILES, "p.shtml": '<!--#set var="a" value="b" -->[<!--#echo var="a" -->]'
                                        '<!--#include virtual="/a.txt" -->' * 50},
                   binary=APACHE, env=env)
    answers = []
    for target in ("/a.txt", "/big.txt", "/p.shtml", "/dir/", "/dir", "/none", "/../x", "/%00"):
        answer = server.get(target)
        body = re.sub(rb"127\.0\.0\.1:\d+|Port \d+|localhost:\d+", b"", answer.body)
        answers.append((target, answer.status, answer["Content-Type"], body))
    server.stop()
    return server, answers


@pytest.mark.skipif(not APACHE, reason="no apache2 here")
@pytest.mark.parametrize("kind", ["arena", "trivial", "system", "tracking(quiet) arena", "guard"])
def test_apache_runs_on_it(serve, library, tmp_path, kind):
    os.chmod(tmp_path, 0o777)
    report = str(tmp_path / "report")
    _, expected = apache_answers(serve, {})
    server, got = apache_answers(serve, {"LD_PRELOAD": library, "BRIGADE_MEMORY": kind,
                                         "BRIGADE_MEMORY_REPORT": f"exit,USR2,file={report}"})
    assert got == expected
    assert b"Segmentation" not in server.error_log() and b"exit signal" not in server.error_log()
    text = open(report).read()
    assert re.search(r"brigade memory, process \d+: " + re.escape(kind.split()[0].split("(")[0]), text)
    assert re.search(r"pools: [1-9]\d* created", text)


def test_places_of_live_blocks_are_told(serve):
    """Of a running server, without a stop; what came since the last look grows with what is held."""
    server = serve("EventLoops 1\nServerProcesses 1\nMemorySystem connection tracking(quiet) arena\n" + STATUS, FILES)

    def looked():
        text = server.get("/st?memory=live").body.decode()
        part = text[text.index("\nconnection: tracking(quiet) arena"):].split("\nrequest:")[0]
        return text, {place: (int(held), int(more)) for held, place, more in
                      re.findall(r"^    (\d+) bytes in \d+ blocks, from (\S+).*; largest \d+, oldest \d+ s, (\d+) since the last look", part, re.M)}

    looked()
    _, before = looked()
    with ExitStack() as stack:
        for _ in range(20):
            c = stack.enter_context(server.connect())
            assert c.request("GET", "/dir/x.txt").status == 200
        text, after = looked()
    assert re.match(r"Server process \d+\. ", text)
    grown = {place: after[place][0] - before.get(place, (0, 0))[0] for place in after}
    assert max(grown.values()) >= 20 * 100, (before, after)
    assert sum(more for _, more in after.values()) >= sum(n for n in grown.values() if n > 0)
    assert server.request("POST", "/st?memory=live").status == 405


def test_pools_are_told_as_a_tree(serve):
    """Of each loop, by name, scope and system; with what grew since the last look. A request that is under way is a pool below its connection's."""
    server = serve("EventLoops 2\nServerProcesses 1\nMemorySystem connection tracking(quiet) arena\nMemorySystem request blocks arena\n" + STATUS, FILES)

    def look():
        seen = json.loads(server.get("/st?memory=live-json").body)
        return seen, {(p["name"], p["depth"], p["scope"]): p for p in seen["pools"]}

    first, before = look()
    assert before["apr_global_pool", 0, "process"]["pools"] == 1 and ("pconf", 2, "configuration") in before and first["since_s"] == 0
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(24)]
        for c in clients:
            assert c.request("GET", "/a.txt?x", headers={"If-Match": "*"}).status == 200  # not from memory
        for c in clients[:3]:
            c.socket.sendall(b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nsome")
        seen, after = brigade.wait_until(lambda: (found := look()) and found[1].get(("request", 1, "request"), {"pools": 0})["pools"] >= 3 and found, "three requests")
    connections = after["connection", 0, "connection"]
    assert connections["pools"] == 24 and connections["system"].startswith("tracking(quiet) arena") and connections["largest"] * 24 >= connections["bytes"] > 24 * 500
    assert connections["held"] >= connections["bytes"] and seen["since_s"] > 0 and seen["silent_loops"] == 0 == seen["left_out"]
    sites = [s for s in seen["sites"] if s["of"] == "connection"]
    assert sites and all(s["bytes"] >= s["largest"] > 0 and s["blocks"] > 0 and s["module"] for s in sites) and any(s["module"].startswith("libapr") for s in sites)
    text = server.get("/st?memory=live").body.decode()
    assert re.search(r"^apr_global_pool +1 .* process, arena", text, re.M) and re.search(r"^connection +\d+ +\d+ +\d+ +\d+ +-\d+  connection, tracking", text, re.M), text


def test_a_look_at_pools_in_one_thread(serve):
    server = serve("LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\n" + STATUS, FILES)
    seen = json.loads(server.get("/st?memory=live-json").body)
    assert seen["silent_loops"] == 0 and any(p["name"] == "process" for p in seen["pools"])
