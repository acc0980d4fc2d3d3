# SPDX-License-Identifier: Apache-2.0
"""Apache and Brigade on the same configuration and documents: every response must be the same.

Compared are the status line, all header fields but Date and Server, and the body. What differs on purpose is
listed in differences.py with its reason; a listed difference that is none any more fails, too.
"""
import os
import re
import shutil
import tempfile

import pytest

import brigade
import requests_table
import shared_site
from differences import CASES, DIFFERENCES, OTHERS
from http_client import Response, split_responses

APACHE = os.environ.get("APACHE", "/usr/sbin/apache2")
REPOSITORY = brigade.REPOSITORY

pytestmark = [
    pytest.mark.skipif(not os.access(APACHE, os.X_OK), reason=f"the peer is absent: {APACHE} is not installed"),
    pytest.mark.skipif(not os.access(brigade.BINARY, os.X_OK), reason=f"{brigade.BINARY} is not built"),
    pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="nothing to compare Apache with"),
]

GROUPS = {
    "plain": (requests_table.plain, shared_site.CORE),
    "mapped": (requests_table.mapped, shared_site.CORE + shared_site.VHOSTS),
    "malformed": (requests_table.malformed, shared_site.CORE),
    "lenient": (requests_table.lenient, shared_site.CORE + "HttpProtocolOptions Unsafe\n"),
    "limited": (requests_table.limited, shared_site.CORE + "LimitRequestLine 100\nLimitRequestFields 10\n"
                "LimitRequestFieldSize 100\nLimitRequestBody 50\n"),
}


def all_cases():
    for group, (table, _) in GROUPS.items():
        for name, data in table():
            yield pytest.param(group, name, data, id=f"{group}/{name}")


@pytest.fixture(scope="module")
def documents():
    root = tempfile.mkdtemp(prefix="brigade-docs-")
    os.chmod(root, 0o755)
    shared_site.make(root)
    yield root
    shutil.rmtree(root, ignore_errors=True)


class Pair:
    """The two servers of a group."""

    def __init__(self, documents, config):
        self.servers = []
        for binary in (APACHE, brigade.BINARY):
            server = brigade.Server(config.replace("@DOCS@", documents), binary=binary)
            self.servers.append(server)
            server.write("main.conf", shared_site.MAIN.replace("@DOCS@", documents), base="conf")
            server.start()
        with self.servers[0].connect() as c:
            self.etag = c.get("/ten.txt", {"Connection": "close"})["ETag"]

    def answers(self, data):
        data = data.replace(b"ETAG", (self.etag or "").encode())
        return [server.raw(data, half_close=True) for server in self.servers]

    def close(self):
        errors = []
        for server in self.servers:
            try:
                server.close()
            except AssertionError as e:
                errors.append(str(e))
        assert not errors, errors


@pytest.fixture(scope="module")
def pairs(documents):
    made = {}

    def get(group):
        if group not in made:
            made[group] = Pair(documents, GROUPS[group][1])
        return made[group]
    yield get
    for pair in made.values():
        pair.close()


def normal(answer):
    """A response in a form that can be compared: no Date, no Server, no order of fields or of methods in Allow, no random
    boundary."""
    if not isinstance(answer, Response):
        return answer
    boundary = re.search(r"boundary=\"?([^\";]+)", answer["Content-Type"] or "")
    body, fields = answer.body, []
    for name, value in answer.headers:
        if name.lower() in ("date", "server"):
            continue
        if boundary:
            value = value.replace(boundary[1], "BOUNDARY")
        if name.lower() == "allow":
            value = ", ".join(sorted(re.split(r"\s*,\s*", value)))
        fields.append((name.lower(), value))
    if boundary:
        body = body.replace(boundary[1].encode(), b"BOUNDARY")
        # Its length is a server's own business; the content length tells the same for both once it is removed.
        fields = [(n, "" if n == "content-length" else v) for n, v in fields]
    if any(n == "expires" for n, _ in fields) and any("max-age" in v for _, v in fields):
        fields = [(n, "TIME" if n in ("expires", "cache-control") else v) for n, v in fields]
    return answer.version, answer.status, answer.reason, sorted(fields), body, answer.trailers


def methods(data):
    """Methods of the requests in a byte string, as far as one can tell."""
    return [m.decode() for m in re.findall(rb"(?:^|\r\n\r\n)([A-Z-]+) [^\r\n]* HTTP/1", data)]


def compare(data, answers):
    """None, or what differs."""
    kinds = [[normal(r) for r in split_responses(a, methods(data))] for a in answers]
    if kinds[0] == kinds[1]:
        return None
    return f"Apache:  {kinds[0]!r}\nBrigade: {kinds[1]!r}"


def listed(group, name):
    for key, (pattern, _) in DIFFERENCES.items():
        if re.search(pattern, f"{group}/{name}"):
            return key
    return None


@pytest.mark.parametrize("group,name,data", all_cases())
def test_same_response(pairs, group, name, data):
    difference = compare(data, pairs(group).answers(data))
    key = listed(group, name)
    if key:
        assert difference, f"listed as a difference ({key}), but both answer the same"
    else:
        assert difference is None, difference


def differences_of_answers():
    with open(os.path.join(REPOSITORY, "docs/differences-from-apache.md")) as f:
        return f.read().split("\n## ", 1)[0]


def test_differences_are_documented():
    documented = set(re.findall(r"^- \*\*(.+?)\*\*", differences_of_answers(), re.MULTILINE))
    assert documented == set(DIFFERENCES) | set(OTHERS) | set(CASES)


@pytest.mark.parametrize("key", DIFFERENCES)
def test_a_request_shows_the_difference(key):
    names = [f"{group}/{name}" for group, (table, _) in GROUPS.items() for name, _ in table()]
    assert [n for n in names if re.search(DIFFERENCES[key][0], n)]
