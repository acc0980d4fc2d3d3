# SPDX-License-Identifier: Apache-2.0
"""Figures of the whole server: SetHandler metrics."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import brigade
from brigade import wait_until
from tls_site import certificate

pytestmark = pytest.mark.only("brigade")

METRICS = "<Location /metrics>\nSetHandler metrics\n</Location>\n"
STATUS = "ExtendedStatus On\n<Location /status>\nSetHandler server-status\n</Location>\n"
OPEN = "application/openmetrics-text"
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? ([+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf|NaN))$")


def old_files(server):
    """Files whose answers may be kept at once."""
    for folder, _, names in os.walk(server.path("htdocs")):
        for name in names:
            os.utime(os.path.join(folder, name), (time.time() - 3600,) * 2)


def family_of(name, families):
    if name in families:
        return name
    for end in ("_bucket", "_sum", "_count", "_total"):
        if name.endswith(end) and name[:-len(end)] in families:
            return name[:-len(end)]
    raise AssertionError(f"a sample without a family: {name}")


def check_histograms(samples):
    buckets = {}
    for (name, labels), value in samples.items():
        if name.endswith("_bucket"):
            rest = tuple(x for x in labels if x[0] != "le")
            buckets.setdefault((name[:-7], rest), []).append((float(dict(labels)["le"]), value))
    assert buckets
    for (name, labels), of in buckets.items():
        assert of == sorted(of) and [n for _, n in of] == sorted(n for _, n in of), name
        assert of[-1][0] == float("inf") and of[-1][1] == samples[name + "_count", labels], name


def parse(text, is_open=False):
    """Samples by name and labels. As the formats have it: families in one piece, each sample once, names that fit types."""
    families, samples, now = {}, {}, None
    lines = text.split("\n")
    assert lines.pop() == ""
    if is_open:
        assert lines.pop() == "# EOF"
    for line in lines:
        if line.startswith("#"):
            kind, name, what = re.match(rf"# (HELP|TYPE) ({NAME}) (.*)$", line).groups()
            if kind == "HELP":
                assert name not in families, f"{name} twice"
                families[name], now = None, name
            else:
                assert name == now and families[name] is None and what in ("counter", "gauge", "histogram", "summary"), line
                families[name] = what
            continue
        match = SAMPLE.match(line)
        assert match, line
        labels = tuple(re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', match[2] or ""))
        assert family_of(match[1], families) == now, f"{line} outside of its family"
        if families[now] == "counter":
            assert match[1].endswith("_total") and (match[1] == now + "_total" if is_open else match[1] == now), line
        elif families[now] == "summary":
            assert match[1] in (now + "_sum", now + "_count"), line
        elif families[now] == "gauge":
            assert match[1] == now and not now.endswith("_total"), line
        assert (match[1], labels) not in samples, line
        samples[match[1], labels] = float(match[3])
    check_histograms(samples)
    return samples


def figures(server, **more):
    response = server.get("/metrics", **more)
    assert response.status == 200
    return parse(response.body.decode())


def value(samples, name, **labels):
    """The sum of the samples with these labels."""
    return sum(v for (n, with_), v in samples.items() if n == name and labels.items() <= dict(with_).items())


def test_both_texts_and_json_say_the_same(serve):
    server = serve(METRICS, {"a.txt": "A"})
    server.get("/a.txt")
    plain, opened, js = (server.get("/metrics", [("Accept", a)]) for a in ("*/*", OPEN, "application/json"))
    assert plain["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert opened["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert js["Content-Type"].startswith("application/json")
    names = [{k for k in parse(body.decode(), i) if not k[0].startswith("brigade_http_")}
             for i, body in enumerate((plain.body, opened.body))]
    assert names[0] == names[1]
    said = json.loads(js.body)
    assert {(f["name"], tuple(f["labels"].items())) for f in said["figures"]} <= names[0]
    assert {f["name"] + "_sum" for f in said["histograms"]} <= {n for n, _ in names[0]}
    assert said["requests"][0]["count"] >= 1 and said["requests"][0]["protocol"] == "h1"


@pytest.mark.parametrize("accept,kind", [
    ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1", "application/openmetrics"),
    ("text/plain;q=0.7, application/openmetrics-text;q=0.2", "text/plain"), ("text/html", "text/plain"), ("application/json", "application/json")])
def test_the_client_says_which_shape(serve, accept, kind):
    assert serve(METRICS).get("/metrics", [("Accept", accept)])["Content-Type"].startswith(kind)


def test_the_query_says_which_shape(serve):
    server = serve(METRICS)
    kinds = [server.get("/metrics?" + q)["Content-Type"].split(";")[0] for q in ("json", "openmetrics", "prometheus")]
    assert kinds == ["application/json", OPEN, "text/plain"]
    assert server.request("POST", "/metrics").status == 405


def test_every_request_of_every_process_is_counted(serve):
    server = serve("ServerProcesses 2\nEventLoops 2\n" + METRICS, {"a.txt": "A" * 1000})
    old_files(server)
    before = figures(server)
    for _ in range(40):
        assert server.get("/a.txt").status == 200
    assert [server.get("/a.txt", [("If-None-Match", server.get("/a.txt")["ETag"])]).status for _ in range(10)] == [304] * 10
    assert server.get("/nothing").status == 404

    def added(name, **labels):
        return value(figures(server), name, **labels) - value(before, name, **labels)
    # Each look at the figures is a request itself, counted when it is over.
    assert 50 <= added("brigade_http_requests_total", code="2xx", protocol="h1", tls="no") <= 54
    assert added("brigade_http_requests_total", code="3xx") == 10
    assert added("brigade_http_requests_total", code="4xx") == 1
    wait_until(lambda: added("brigade_request_duration_seconds_count") >= 61, "a second to pass")
    assert added("brigade_request_duration_seconds_sum") > 0
    assert added("brigade_sent_bytes_total") > 50 * 1000
    wait_until(lambda: added("brigade_received_bytes_total") > 60 * 20, "a second to pass")
    assert added("brigade_connections_accepted_total") >= 61
    assert value(figures(server), "brigade_processes") == 2


def test_answers_from_memory_have_durations(serve):
    server = serve("ServerProcesses 1\nEventLoops 1\n" + METRICS + STATUS, {"a.txt": "A"})
    old_files(server)
    with server.connect() as connection:
        for _ in range(50):
            assert connection.request("GET", "/a.txt").status == 200
    samples = wait_until(lambda: value(figures(server), "brigade_cache_hits_total") >= 40 and figures(server), "a second to pass")
    assert value(samples, "brigade_request_duration_seconds_count", by="memory") >= 40
    assert 0 < value(samples, "brigade_request_duration_seconds_sum", by="memory") < 5
    assert value(samples, "brigade_cache_entries", kind="answer") >= 1
    assert value(samples, "brigade_cache_watches") >= 1
    assert value(samples, "brigade_resident_bytes") > 1 << 20
    auto = dict(line.split(": ", 1) for line in server.get("/status?auto").body.decode().splitlines() if ": " in line)
    assert float(auto["DurationPerReq"]) > 0


@pytest.mark.parametrize("directive,least,most", [("FileCacheSize 5M\n", 10 << 20, 10 << 20), ("", 128 << 20, 2 << 30)])
def test_the_size_of_the_cache_is_told(serve, directive, least, most):
    """Of both event loops; where it is not set it goes by the machine."""
    server = serve(METRICS + "EventLoops 2\n" + directive)

    def size_of_both():
        told = value(figures(server), "brigade_cache_max_bytes")
        return told if told >= least else 0
    size = wait_until(size_of_both, "both loops to tell")
    assert size <= most
    if not directive:
        assert size == 128 << 20 or size <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 16


def test_reloads_keep_what_was_counted_and_restarts_do_not(serve):
    """Those who ask for figures are counted, too: many fewer than came before."""
    server = serve("MaxKeepAliveRequests 0\n" + METRICS, {"a.txt": "A"})
    with server.connect() as client:
        for _ in range(1000):
            client.get("/a.txt")

    def generation():
        return value(figures(server), "brigade_configuration_generation")
    for number, least, most in ((signal.SIGUSR1, 1000, 1900), (signal.SIGHUP, 0, 900)):
        before = generation()
        server.signal(number)
        wait_until(lambda: generation() > before, "the new generation")  # noqa: B023
        wait_until(lambda: value(figures(server), "brigade_processes_stopping") == 0, "the old processes to end")
        samples = figures(server)
        n = value(samples, "brigade_http_requests_total")
        assert least <= n <= most
        assert value(samples, "brigade_request_duration_seconds_count") <= most


def test_virtual_hosts_are_told_apart_up_to_a_bound(serve):
    hosts = "".join(f"<VirtualHost *>\nServerName h{i}.example\n</VirtualHost>\n" for i in range(80))
    server = serve(METRICS + hosts, {"a.txt": "A"})
    for i in (3, 5, 5, 79):
        assert server.get("/a.txt", host=f"h{i}.example").status == 200
    samples = figures(server)
    count = {dict(labels)["host"]: n for (name, labels), n in samples.items() if name == "brigade_http_requests_total"}
    assert (count["h3.example"], count["h5.example"]) == (1, 2)
    assert count["other"] >= 1 and "h79.example" not in count


@pytest.mark.parametrize("kept", [1000, 0])
def test_bytes_of_virtual_hosts_are_those_of_their_bodies(serve, kept):
    """From memory and on the full way, whole, in parts and in chunks; 304 and HEAD have none. Each report says the same."""
    server = serve(f"FileCacheEntries {kept}\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n" + METRICS + STATUS
                   + "<VirtualHost *>\nServerName main.example\n</VirtualHost>\n<VirtualHost *>\nServerName h.example\n</VirtualHost>\n",
                   {"a.txt": "A" * 1000, "page.shtml": 'page <!--#include virtual="/a.txt" -->\n'})
    old_files(server)
    got = []
    for _ in range(8):
        whole = server.get("/a.txt", host="h.example")
        for path, headers in (("/a.txt", [("If-None-Match", whole["ETag"])]), ("/a.txt", [("Range", "bytes=10-109")]),
                              ("/a.txt", [("Range", "bytes=0-9,20-39")]), ("/page.shtml", []), ("/none", [])):
            got.append(server.get(path, headers, host="h.example"))
        got += [whole, server.request("HEAD", "/a.txt", host="h.example")]
    assert {r.status for r in got} == {200, 206, 304, 404}
    bytes_of = sum(len(r.body) for r in got)
    wait_until(lambda: value(figures(server), "brigade_http_requests_total", host="h.example") == len(got), "the last request to end")
    assert value(figures(server), "brigade_http_body_bytes_total", host="h.example") == bytes_of
    for path in ("/metrics?json", "/status?json"):
        (row,) = [h for h in json.loads(server.get(path).body)["hosts"] if h["name"] == "h.example"]
        assert (row["bytes"], sum(row["class"]), row["class"][2]) == (bytes_of, len(got), 8)


def test_workers_are_counted(serve):
    server = serve("ServerProcesses 1\nBuiltinModules all\nLoadModule unique_id_module /usr/lib/apache2/modules/mod_unique_id.so\n"
                   + METRICS, {"a.txt": "A"})
    for _ in range(5):
        server.get("/a.txt")
    samples = wait_until(lambda: value(figures(server), "brigade_workers", state="alive") >= 1 and figures(server), "a second to pass")
    assert value(samples, "brigade_worker_wait_seconds_count") >= 1
    assert value(samples, "brigade_request_duration_seconds_count", by="handler") >= 5


WAYS = ("memory", "sendfile", "window", "read")


def sent_by_way(server):
    samples = figures(server)
    return {way: value(samples, "brigade_sent_by_way_bytes_total", way=way) for way in WAYS}


@pytest.mark.parametrize("lines, size, way", [
    ("", 5000, "memory"),
    ("FileCacheEntries 0\nEnableSendfile On\n", 200_000, "sendfile"),
    ("FileCacheEntries 0\nEnableSendfile Off\n", 200_000, "read"),
    ("FileCacheEntries 0\nEnableSendfile Off\n", 20_000_000, "window")])
def test_the_way_of_bodies_is_told(serve, lines, size, way):
    server = serve("ServerProcesses 1\nEventLoops 1\nCustomLog @ROOT@/logs/ways \"%U %{sent-by}e\"\n" + lines + METRICS, {"a.bin": b"x" * size})
    os.utime(server.path("htdocs", "a.bin"), (1.7e9, 1.7e9))
    times = 20 if way == "memory" else 3  # the last ones are answered from memory, on a way of their own
    before = sent_by_way(server)
    for _ in range(times):
        assert len(server.get("/a.bin").body) == size
    after = sent_by_way(server)
    grown = {name: after[name] - before[name] for name in WAYS}
    assert sum(grown.values()) >= times * size
    assert grown[way] >= (1 if way == "window" else times * size)  # what is left of a large file is read
    assert way == "window" or sum(grown[name] for name in WAYS if name not in (way, "memory")) == 0
    assert way == "memory" or grown["memory"] < size  # heads, and the figures themselves
    told = brigade.wait_until(lambda: (lines := re.findall(rb"^/a.bin (\S+)$", server.read("logs/ways"), re.M)) and len(lines) == times and lines, "the log")
    assert {word for line in told for word in line.decode().split("+")} <= {way, "read"} and all(way in line.decode() for line in told), told


@pytest.mark.parametrize("more", ["", "EnableSendfile On\n"])
def test_the_way_of_each_request_is_logged(serve, more):
    """On one connection: a file that is stored open, one that is stored in memory, a page, a 304, a HEAD."""
    server = serve("ServerProcesses 1\nEventLoops 1\nFileCacheMaxFile 64K\nCustomLog @ROOT@/logs/ways \"%m %U %{sent-by}e\"\n" + more + METRICS,
                   {"large.bin": b"x" * 3_000_000, "small.txt": "small", "dir/a": ""})
    for name in ("large.bin", "small.txt"):
        os.utime(server.path("htdocs", name), (1.7e9, 1.7e9))
    brigade.wait_until(lambda: time.time() > os.stat(server.path("htdocs", "large.bin")).st_ctime + 2.1, "rest")
    tag = server.get("/small.txt")["ETag"]
    with server.connect() as c:
        for _ in range(4):
            c.request("GET", "/large.bin"), c.request("GET", "/small.txt"), c.request("GET", "/dir/"), c.request("HEAD", "/large.bin")
            assert c.request("GET", "/small.txt", {"If-None-Match": tag}).status == 304
    lines = brigade.wait_until(lambda: (found := server.read("logs/ways").decode().split("\n")[:-1]) and len(found) == 21 and found, "the log")
    large = "sendfile" if more else "read"
    assert set(lines) == {f"GET /large.bin {large}", "GET /small.txt memory", "GET /dir/ memory", "HEAD /large.bin -", "GET /small.txt -"}, sorted(set(lines))


def test_waits_for_locks_are_told(serve):
    samples = figures(serve(METRICS, {"a.txt": "A"}))
    assert {dict(labels)["lock"] for name, labels in samples if name == "brigade_lock_waits_total"} == {"workers", "threads", "sections", "streams", "backends"}


def test_locks_of_the_way_of_requests_are_counted():
    """A file of the server that counts waits for some lock takes none without counting."""
    top = pathlib.Path(__file__).resolve().parents[3] / "server"
    files = {path: path.read_text() for path in top.glob("*/*.c") if path.name != "counted_lock.c"}
    counted = {path.name: text for path, text in files.items() if '#include "counted_lock.h"' in text}
    assert {"worker_pool.c", "worker_thread.c", "walk_merge.c"} <= set(counted) and len(counted) >= 8
    assert not [name for name, text in counted.items() if "pthread_mutex_lock(" in text]


def check_manual(server):
    """docs/metrics.md has the table that the server has."""
    top = os.path.join(os.path.dirname(__file__), *[".."] * 3)
    table = subprocess.run([sys.executable, os.path.join(top, "build/tools/metrics_table.py")], input=server.get("/metrics").body,
                           capture_output=True, check=True).stdout.decode()
    with open(os.path.join(top, "docs/metrics.md")) as f:
        assert f.read().endswith(table), table


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("openssl"), reason="curl or openssl is not installed")
def test_tls_and_http2_are_told_apart(serve):
    tls = brigade.free_port()
    server = serve.unstarted(f"""Listen 127.0.0.1:{tls}
        ASTable bgp 127.0.0.1 asn=65000 peer-asn=65001
        ASTable file @ROOT@/conf/networks
        ProxyPass /backend/ http://127.0.0.1:1/
        CacheEnable memory /backend/
        MaxKeepAliveRequests 0
        RequestLimit many rate=1000000/s
        CustomLog @ROOT@/logs/networks %{{asn}}C
        SSLCertificateFile @ROOT@/conf/cert.pem
        SSLCertificateKeyFile @ROOT@/conf/key.pem
        <VirtualHost *:{tls}>
        ServerName secure.test
        Protocols h2 http/1.1
        SSLEngine on
        </VirtualHost>
        """ + METRICS, {"a.txt": "A"})
    certificate(server)
    server.write("networks", "127.0.0.0/8 64496\n", base="conf")
    server.start()
    for options in (["--http2"], ["--http1.1"], ["--http1.1"]):
        subprocess.run(["curl", "-skf", *options, "--resolve", f"secure.test:{tls}:127.0.0.1", f"https://secure.test:{tls}/a.txt"],
                       check=True, capture_output=True, timeout=20)
    with server.connect() as c:  # until one of the look-ups that are looked at closer was of a known network
        brigade.wait_until(lambda: c.get("/a.txt").body == b"A" and all(n in c.get("/metrics").body for n in (b"brigade_asn_busiest{", b"brigade_limit_busiest{")),
                           "the busiest network and client")
    assert server.get("/backend/").status == 503
    samples = figures(server)
    host = f"secure.test:{tls}"
    assert [value(samples, "brigade_http_cached_total", host="localhost", result=r) for r in ("cached", "asked")] == [0, 1]
    assert [value(samples, "brigade_http_requests_total", host=host, protocol=p, tls="yes") for p in ("h1", "h2")] == [2, 1]
    assert value(samples, "brigade_tls_handshakes_total", outcome="full") == 3
    assert 86400 < value(samples, "brigade_certificate_not_after_seconds") - time.time() < 3 * 86400
    parse(server.get("/metrics", [("Accept", OPEN)]).body.decode(), is_open=True)
    check_manual(server)
