# SPDX-License-Identifier: Apache-2.0
"""Conditions of requests that memory answers: lists of tags, weak ones, dates of any kind, with ranges and without; as a server without a cache answers them."""
import email.utils
import itertools
import os
import re
import time

import pytest

from cache_site import await_hits, hits, one_loop, settle, warm

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]
METRICS = "<Location /metrics>\nSetHandler metrics\n</Location>\nMaxKeepAliveRequests 0\n"


def date(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


def seen(answer):
    boundary = re.search(rb"boundary=(\w+)", answer.head)
    head, body = (part.replace(boundary[1], b"boundary") if boundary else part for part in (answer.head, answer.body))
    length = b"|content-length" if boundary else b""  # that of a boundary differs
    return answer.status, re.sub(rb"(?mi)^(date%s): .*$" % length, b"", head), body


def tags(tag):
    return [tag, f"W/{tag}", f'"x", {tag}', f'{tag}, "x"', f'W/"y", W/{tag}', '"x"', 'W/"x"', '"x", "y"', "*", "x", f"x, {tag}", f"{tag} ,", '"', "", f"w/{tag}", '"x' * 100]


def dates(changed):
    now = time.time()
    return [date(changed), date(changed - 1), date(changed + 1), date(now - 5), date(now + 1000), "yesterday", "", "Sunday, 06-Nov-94 08:49:37 GMT", date(now) + " " * 300 + "x"]


def same_answers(servers, requests):
    clients = [server.connect() for server in servers]
    for fields in requests:
        got = [seen(client.get("/a.txt", fields)) for client in clients]
        assert got[0] == got[1], fields


@pytest.mark.parametrize("age", [1e6, 30], ids=["at rest", "changed just now"])
def test_as_without_a_cache(serve, age):
    servers = [one_loop(serve, METRICS + f"FileCacheEntries {n}\n", files={"a.txt": "0123456789" * 30}) for n in (1000, 0)]
    changed = int(time.time() - age)
    for server in servers:
        os.utime(server.path("htdocs/a.txt"), (changed, changed))
    warm(servers[0], "/a.txt")
    tag = servers[0].get("/a.txt")["ETag"]
    ranged = [{}, {"Range": "bytes=2-4"}, {"Range": "bytes=1-2,5-8"}]
    requests = [{**a, **b} for a, b in itertools.product([{"If-None-Match": t} for t in tags(tag)] + [{"If-Modified-Since": d} for d in dates(changed)], ranged)]
    requests += [{**r, "If-Range": v} for r in ranged for v in tags(tag)[:3] + dates(changed)]
    requests += [{"If-None-Match": '"x"', "If-Modified-Since": date(changed)}, {"If-None-Match": tag, "If-Modified-Since": date(changed - 9)}]
    for _ in range(3):
        same_answers(servers, requests)


def test_memory_answers_lists_and_weak_tags(serve):
    server = one_loop(serve, METRICS, files={"a.txt": "0123456789" * 30})
    settle(server.path("htdocs"))
    warm(server, "/a.txt")
    tag = server.get("/a.txt")["ETag"]
    asked = [f"W/{tag}", f'"x", {tag}', '"x", "y"', 'W/"x"', "*"] * 8
    with server.connect() as client:
        assert client.get("/a.txt", {"If-None-Match": tag}).status == 304  # its head comes the full way
        before = hits(server)
        for value in asked:
            assert client.get("/a.txt", {"If-None-Match": value}).status == (200 if value in ('"x", "y"', 'W/"x"') else 304)
    await_hits(server, before + len(asked))
