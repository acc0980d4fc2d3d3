# SPDX-License-Identifier: Apache-2.0
"""Apache's mod_http2 and Brigade's own HTTP/2 on the same configuration: the requests of test_compare.py that HTTP/2 can say, bodies,
variables, trailers and logs."""
import os
import re
import shutil
import tempfile

import pytest

import brigade
import h2_client
import shared_site
from h2_client import Client
from http_client import Truncated
from test_compare import APACHE, GROUPS, normal, listed, pytestmark  # noqa: F401

OPTIONS = """
Protocols h2c http/1.1
H2Direct on
H2Push Off
LogFormat "%m %U%q %>s %B %H %{HTTP2}e %{H2PUSH}e %{H2_STREAM_ID}e %r" h2
CustomLog @ROOT@/logs/h2.log h2
"""
EXTRA = """
AddOutputFilter INCLUDES .shtml
LoadModule cgi_module @MODULES@/mod_cgi.so
ScriptAlias /script @DOCS@/script
<Location /variables.shtml>
Options +Includes
</Location>
"""
SCRIPT = r"""#!/bin/sh
printf 'Content-Type: text/plain\r\nX-Long: %s\r\n\r\n' "$HTTP_X_LONG"
env | grep -Ev '^(REMOTE_PORT|SERVER_PORT|SERVER_SOFTWARE|H2_STREAM_TAG|UNIQUE_ID|PWD|_)=' | sort
md5sum
"""
VARIABLES = "SERVER_PROTOCOL HTTP2 H2PUSH H2_PUSH H2_PUSHED H2_PUSHED_ON H2_STREAM_ID REQUEST_METHOD REQUEST_SCHEME HTTPS SERVER_NAME HTTP_HOST CONTENT_LENGTH " \
            "REQUEST_URI QUERY_STRING HTTP_COOKIE HTTP_USER_AGENT GATEWAY_INTERFACE HTTP_TE"
PAGE = "".join(f'{v}=<!--#echo var="{v}" -->\n' for v in VARIABLES.split())
# Where HTTP/2 of the two differs, as (pattern of group/name, reason).
DIFFERENT = {
    "fragments": (r"#frag$", "A target with a fragment is malformed (RFC 9113, 8.3.1): the stream is reset. Apache answers 400."),
    "hosts": (r"host: ", "A host that cannot be one gets 400, as in HTTP/1. libnghttp2 resets the stream."),
    "trace": (r"trace: ", "Host stands where :authority did, before the fields. Apache appends it."),
}


@pytest.fixture(scope="module")
def documents():
    root = tempfile.mkdtemp(prefix="brigade-docs-")
    os.chmod(root, 0o755)
    shared_site.make(root)
    with open(os.path.join(root, "variables.shtml"), "w") as f:
        f.write(PAGE)
    with open(os.path.join(root, "script"), "w") as f:
        f.write(SCRIPT)
    os.chmod(os.path.join(root, "script"), 0o755)
    yield root
    shutil.rmtree(root, ignore_errors=True)


class Pair:
    def __init__(self, documents, config):
        self.servers = []
        for binary in (APACHE, brigade.BINARY):
            server = brigade.Server((config + OPTIONS).replace("@DOCS@", documents), binary=binary, modules=["http2", "include"])
            self.servers.append(server)
            server.write("main.conf", shared_site.MAIN.replace("@DOCS@", documents), base="conf")
            server.start()

    def ask(self, *request, of=()):
        """Both responses; a stream that was reset is the text of it."""
        found = []
        for server in of or self.servers:
            try:
                with Client("127.0.0.1", server.port, brigade.PATIENCE) as c:
                    found.append(c.request(*request))
            except Truncated:
                found.append("reset")
        return found

    def close(self):
        for server in self.servers:
            server.close()


@pytest.fixture(scope="module")
def pairs(documents):
    made = {}

    def get(group):
        if group not in made:
            made[group] = Pair(documents, EXTRA + shared_site.CORE if group == "own" else GROUPS[group][1])
        return made[group]
    yield get
    for pair in made.values():
        pair.close()


def parsed(data):
    """Method, target, fields, body, version and host of one well-formed request; None: it is none that HTTP/2 can say."""
    head, _, body = data.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    match = re.fullmatch(r"(\S+) (\S+) HTTP/1\.1", line)
    fields = [tuple(re.split(r":[ \t]*", f, maxsplit=1)) for f in fields]
    if not match or any(len(f) != 2 for f in fields) or b"HTTP/1" in body:
        return None
    hosts = [v for n, v in fields if n.lower() == "host"]
    fields = [f for f in fields if f[0].lower() not in ("host", "connection")]
    if len(hosts) != 1 or not h2_client.can_say(match[1], match[2], fields, "1.1", hosts[0]):
        return None
    return match[1], match[2], fields, body, "1.1", hosts[0]


@pytest.mark.parametrize("group", ["plain", "mapped"])
def test_same_response(pairs, group):
    pair, wrong, asked = pairs(group), [], 0
    with pair.servers[0].connect() as c:
        etag = c.get("/ten.txt", {"Connection": "close"})["ETag"] or ""
    for name, data in GROUPS[group][0]():
        request = parsed(data.replace(b"ETAG", etag.encode()))
        known = listed(group, name) or any(re.search(p, f"{group}/{name}") for p, _ in DIFFERENT.values())
        if not request:
            continue
        asked += 1
        apache, ours = map(normal, pair.ask(*request))
        if apache != ours and not known:
            wrong.append(f"{name}\nApache:  {apache!r}\nBrigade: {ours!r}")
    assert asked > 200 and not wrong, f"{len(wrong)} of {asked}:\n" + "\n".join(wrong[:20])


def over_http1(server, request):
    method, target, fields, body, _, host = request
    return server.request(method, target, fields, body, host=host)


def neutral(answer):
    """Without what only HTTP/1 says."""
    if answer == "reset":
        return answer
    answer.headers = [f for f in answer.headers if f[0].lower() not in ("connection", "keep-alive", "transfer-encoding", "upgrade")]
    return normal(answer)[1:]


@pytest.mark.parametrize("group", ["plain", "mapped"])
def test_same_response_as_over_http1(pairs, group):
    """Brigade alone, each request by itself."""
    server, wrong = pairs(group).servers[1], []
    for name, data in GROUPS[group][0]():
        request = parsed(data)
        if not request or any(re.search(p, f"{group}/{name}") for p, _ in DIFFERENT.values()):
            continue
        one, two = neutral(over_http1(server, request)), neutral(pairs(group).ask(*request, of=[server])[0])
        if one != two:
            wrong.append(f"{name}\nHTTP/1: {one!r}\nHTTP/2: {two!r}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("size", [0, 1, 1000, 70000, 300000])
def test_bodies_for_scripts(pairs, size):
    body = b"0123456789" * (size // 10 + 1)
    fields = [("Content-Type", "text/x"), ("X-Long", "v" * 3000), ("Cookie", "a=b"), ("Cookie", "c=d"), ("TE", "trailers")][:4 if size else 0]
    apache, ours = pairs("own").ask("POST", "/script/info?q=1", fields, body[:size])
    assert apache.body.decode().splitlines() == ours.body.decode().splitlines()
    for answer in (apache, ours):  # whether the length is known depends on how fast the script was
        answer.headers = [(name, value) for name, value in answer.headers if name.lower() != "content-length"]
    assert normal(apache) == normal(ours)


@pytest.mark.parametrize("fields", [[], [("Cookie", "a=b"), ("Cookie", "c=d")], [("User-Agent", "x"), ("X-Long", "v" * 3000)]], ids=len)
def test_variables(pairs, fields):
    apache, ours = pairs("own").ask("GET", "/variables.shtml?q=1", fields)
    assert apache.body.decode().splitlines() == ours.body.decode().splitlines()


def test_logs(pairs):
    lines = []
    for server in pairs("own").servers:
        with Client("127.0.0.1", server.port, brigade.PATIENCE) as c:
            for i, target in enumerate(["/a.txt?log", "/a.txt?log", "/none?log", "/dir?log", "/script?log"]):
                c.request("HEAD" if i == 3 else "GET", target)
        server.wait_for_log(r"/script\?log", "logs/h2.log")
        lines.append([line for line in server.read("logs/h2.log").decode().splitlines() if "?log" in line])
    assert lines[0] == lines[1]
