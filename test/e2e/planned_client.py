# SPDX-License-Identifier: Apache-2.0
"""A client whose requests may be sent on by a plan: what it sends and gets, and whether phases ran for it."""
import re

from planned_site import full_ways

HEAD = "GET /p/x HTTP/1.1\r\nHost: localhost\r\n"


REQUESTS = {
    "plain": HEAD + "\r\n",
    "fields": HEAD + "Accept: */*\r\nUser-Agent: a b\r\nCookie: a=b\r\nAuthorization: Basic eDp5\r\nX-Real-IP: 192.0.2.1\r\n\r\n",
    "keep-alive": HEAD + "Connection: keep-alive\r\n\r\n",
    "close": HEAD + "Connection: close\r\n\r\n",
    "named": HEAD + "X-B: 1\r\nConnection: X-B\r\n\r\n",
    "named-and-close": HEAD + "X-B: 1\r\nConnection: close, X-B\r\n\r\n",
    "hop": HEAD + "Keep-Alive: timeout=3\r\nProxy-Connection: keep-alive\r\nTrailer: X-C\r\n\r\n",
    "te": HEAD + "TE: trailers\r\nConnection: TE\r\n\r\n",
    "upgrade": HEAD + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "query": HEAD.replace("/x", "/x?a=b&c=%20d?e") + "\r\n",
    "query-empty": HEAD.replace("/x", "/x?") + "\r\n",
    "forwarded": HEAD + "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Server: b\r\nX-Forwarded-Proto: https\r\n\r\n",
    "forwarded-host": HEAD + "x-forwarded-host: a\r\n\r\n",
    "forwarded-server": HEAD + "X-forwarded-server: a\r\n\r\n",
    "via": HEAD + "Via: 1.0 a\r\n\r\n",
    "max-forwards": HEAD + "Max-Forwards: 3\r\n\r\n",
    "max-forwards-0": HEAD + "Max-Forwards: 0\r\n\r\n",
    "proxy-authorization": HEAD + "Proxy-Authorization: Basic eDp5\r\n\r\n",
    "twice": HEAD + "X-B: 1\r\nX-b: 2\r\n\r\n",
    "twice-known": HEAD + "Cookie: a=b\r\nCookie: c=d\r\n\r\n",
    "blanks": HEAD + "X-B:1\r\nX-C:   2  \r\nX-D:\r\n\r\n",
    "range": HEAD + "Range: bytes=1-2\r\n\r\n",
    "conditions": HEAD + "If-None-Match: \"x\"\r\nIf-Modified-Since: Fri, 20 Nov 2026 08:00:00 GMT\r\n\r\n",
    "if-match": HEAD + "If-Match: \"x\"\r\n\r\n",
    "expect": HEAD + "Expect: 100-continue\r\n\r\n",
    "large": HEAD + f"X-B: {'b' * 3900}\r\n\r\n",
    "head": "HEAD /p/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "post": "POST /p/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
    "get-with-a-body": HEAD + "Content-Length: 3\r\n\r\nabc",
    "empty-body": HEAD + "Content-Length: 0\r\n\r\n",
    "1.0": "GET /p/x HTTP/1.0\r\nHost: localhost\r\n\r\n",
    "1.0-keep-alive": "GET /p/x HTTP/1.0\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n",
    "other-host": "GET /p/x HTTP/1.1\r\nHost: other:81\r\n\r\n",
    "absolute": "GET http://localhost/p/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "encoded": "GET /p/%78 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "elsewhere": "GET /q HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


def one(client, text):
    """A request as it is, and the bytes of its answer; the connection's end where the body's is not told."""
    client.send(text)
    return rest(client, text.startswith("HEAD"))


def rest(client, headed=False):
    head = client.read_until(b"\r\n\r\n")
    length = re.search(rb"^content-length: *(\d+)", head, re.M | re.I)
    if headed or re.match(rb"HTTP/1.1 (1|204|304)", head):
        return head
    if length:
        return head + b"\r\n\r\n" + client.read_exactly(int(length[1]))
    if re.search(rb"^transfer-encoding: *chunked", head, re.M | re.I):
        return head + b"\r\n\r\n" + client.read_chunks()
    return head + b"\r\n\r\n" + client.read_to_end()


def warm(server, client, head=HEAD):
    """From here on there is a plan, if there may be one, and a connection to the backend that waits."""
    for _ in range(4):
        one(client, head + "\r\n")


def outcome(server, backend, text, head=HEAD):
    """What client and backend get of a request on a connection that had some."""
    with server.connect() as client:
        warm(server, client, head)
        before = len(backend.requests)
        got = one(client, text)
        return got, [(r.head, r.raw_body) for r in backend.requests[before:]]


def is_planned(server, head=HEAD, text=None, first=2):
    """1: of ten requests to a target no more than the first ones of the connection take the full way: two, and some more where files are watched."""
    before = full_ways(server)
    with server.connect() as client:
        warm(server, client, head)
        for _ in range(6):
            one(client, text or head + "\r\n")
    return full_ways(server) <= before + first
