# SPDX-License-Identifier: Apache-2.0
"""Ids of requests, and error logs of JSON."""
import json
import os
import re

import pytest

from brigade import wait_until

pytestmark = pytest.mark.only("brigade")

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
FILES = {"a.txt": "A"}
LOGS = """CustomLog @ROOT@/logs/access.log "%L %{X-Request-Id}i %U"
    LogLevel debug
    """


def lines(server, name, n):
    def complete():
        with open(server.path("logs", name), "rb") as f:
            data = f.read()
        return data.endswith(b"\n") and data.count(b"\n") >= n and data
    return [line.decode() for line in wait_until(complete, "the lines").split(b"\n")[:-1]]


def aged(server):
    for name in os.listdir(server.path("htdocs")):
        os.utime(server.path("htdocs", name), (1, 1))


def test_each_request_has_an_id_in_both_logs_and_in_scripts(serve):
    server = serve(LOGS + "RequestId On\nErrorLogFormat \"%L %M\"\nRequestIdTrust 192.0.2.0/24\n", FILES)
    aged(server)
    for _ in range(5):  # the full way, and from memory
        server.get("/a.txt", [("X-Request-Id", "mine")])
    server.get("/none")
    said = [line.split() for line in lines(server, "access.log", 6)]
    assert all(re.fullmatch(UUID, one) and one == two for one, two, _ in said), said
    assert len({one for one, _, _ in said}) == 6
    missing = next(one for one, _, path in said if path == "/none")
    with open(server.path("logs/error_log"), encoding="utf-8") as f:
        assert any(line.startswith(missing + " ") for line in f)


def test_the_id_of_a_trusted_client_is_kept_if_it_is_sound(serve):
    server = serve(LOGS + "RequestId On\nRequestIdTrust 127.0.0.0/8\nRequestIdResponse On\n", FILES)
    aged(server)
    for sent in ["a-1:b/c=", "a-1:b/c=", "with blank", 'quo"te', "x" * 129, "x" * 128]:
        answer = server.get("/a.txt", [("X-Request-Id", sent)])
        kept = sent in ("a-1:b/c=", "x" * 128)
        assert answer["X-Request-Id"] == sent if kept else re.fullmatch(UUID, answer["X-Request-Id"])
    assert len(lines(server, "access.log", 6)) == 6


def test_a_host_without_ids_has_none(serve):
    server = serve(LOGS.replace("debug", "warn") + """<VirtualHost *:@PORT@>
        ServerName plain
        </VirtualHost>
        <VirtualHost *:@PORT@>
        ServerName ids
        RequestId On
        RequestIdHeader Correlation-Id
        </VirtualHost>
        """, FILES)
    aged(server)
    for host in ["plain", "ids"] * 4:
        assert server.get("/a.txt", host=host).status == 200
    said = [line.split()[0] for line in lines(server, "access.log", 8)]
    ids = [one for one in said if re.fullmatch(UUID, one)]
    assert len(said) == 8 and said.count("-") == 4 and len(set(ids)) == 4


@pytest.mark.parametrize("line,words", [("RequestIdTrust nowhere", "RequestIdTrust: nowhere is no address"),
                                        ("RequestIdHeader a:b", "RequestIdHeader takes the name of a field")])
def test_mistakes_are_named(serve, line, words):
    server = serve.unstarted(line + "\n", FILES)
    done = server.run("-t")
    assert done.returncode and words in done.stderr.decode()


@pytest.mark.parametrize("name,message,code,level", [("json", "message", "code", "level"), ("ecs", "message", "event.code", "log.level")])
def test_error_log_of_json_is_valid_whatever_arrives(serve, name, message, code, level):
    server = serve(LOGS + f"""RequestId On
        ErrorLogFormat {name}
        ErrorLogFormat request "first message of %{{Referer}}i"
        LogLevel trace4
        """, FILES)
    for bad in [b"\xff\xfe", b'"\\', b"\x1b[0m", "\u20ac".encode(), b"x" * 6000]:
        server.raw(b"GET /no" + bad.hex().encode() + b"%ff%22%0a HTTP/1.1\r\nHost: localhost\r\nReferer: " + bad +
                   b"\r\ntraceparent: 00-" + bad[:40] + b"\r\nConnection: close\r\n\r\n")
        server.raw(b"BAD\xff\"\\ " + bad + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    access = [line.split()[0] for line in lines(server, "access.log", 10)]
    with open(server.path("logs/error_log"), "rb") as f:
        said = [json.loads(line.decode()) for line in f.read().split(b"\n")[:-1]]
    assert said and all(line[message] or line[level] for line in said)
    ids = {line.get("request_id") or line.get("http.request.id") for line in said}
    assert access[0] in ids
    assert any(re.fullmatch(r"AH\d{5}", line.get(code, "")) for line in said)
    assert any(line[message].startswith("first message of") for line in said)
    assert {line[level] for line in said} >= {"notice", "debug"}


@pytest.mark.parametrize("config", ["", "RequestId On\n"])
def test_the_id_of_an_error_page_is_in_the_default_log(serve, config):
    server = serve.unstarted(config + "ProxyPass /x/ http://127.0.0.1:1/\nBuiltinPages modern\n", FILES)
    server.pages = None
    server.start()
    page = server.get("/x/a", [("Accept", "text/html")])
    shown = re.search(rb"<small>Request (\S+)</small>", page.body)
    assert page.status == 503 and shown, page.body
    server.wait_for_log(rb"\[proxy_http:error\] .*AH01114.*, request: " + re.escape(shown[1]) + rb"\n")


def test_lines_are_those_of_apache_where_pages_are(serve):
    server = serve("ProxyPass /x/ http://127.0.0.1:1/\nBuiltinPages apache\n", FILES)
    page = server.get("/x/a", [("Accept", "text/html")])
    assert page.status == 503 and b"Request" not in page.body
    server.wait_for_log(r"AH01114: HTTP: failed to make connection to backend: 127\.0\.0\.1\n")
