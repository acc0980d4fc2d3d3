# SPDX-License-Identifier: Apache-2.0
"""Requests of tree.py, their answers and what of these two servers have to say alike, and connections that take batches."""
import email.utils
import re
import time

import support
import tree_kinds
import tree_site
from http_client import Client
from support import brigade

CONDITIONS = ["If-None-Match", "If-Modified-Since", "Range", "Accept-Encoding", "If-Range", "If-Match", "Cache-Control", "User-Agent"]


def avoided(text):
    return any(re.fullmatch(pattern, text) for pattern in tree_kinds.AVOIDED)


TARGETS = [t for t in tree_site.ALL_TARGETS if not avoided(t)]


class Request:
    def __init__(self, rng, seen, target=None, plain=False):
        self.target = target or rng.choice(TARGETS)
        self.method = "HEAD" if rng.random() < 0.08 else "GET"
        self.fields = []
        if not plain and rng.random() < 0.3:
            tag, date = seen.get(self.target, ('"x"', "Sun, 09 Sep 2001 01:46:40 GMT"))
            choices = {"If-None-Match": [tag, tag, '"x"', "*", f'"y", {tag}'], "If-Modified-Since": [date, date, "Fri, 01 Jan 2100 00:00:00 GMT", "Sun, 09 Sep 2001 01:46:50 GMT"], "Range": ["bytes=0-4", "bytes=-3", "bytes=2-3,6-7", "bytes=999999-"], "Accept-Encoding": ["gzip", "identity", "br, gzip;q=0.5", "zstd, br;q=0.9", "gzip;q=0", "*"],
                       "If-Range": [tag, date], "If-Match": [tag, '"x"'], "Cache-Control": ["no-cache"], "User-Agent": ["robot"]}
            for name in rng.sample(CONDITIONS, rng.choice([1, 1, 2])):
                self.fields.append((name, rng.choice(choices[name])))
                if name == "If-Range":
                    self.fields.append(("Range", "bytes=0-4"))
            if rng.random() < 0.1:
                name = self.fields[0][0]
                self.fields.append((name, rng.choice(choices[name]) if name in choices else self.fields[0][1]))
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: localhost", *(f"{n}: {v}" for n, v in self.fields)]
        self.bytes = ("\r\n".join(lines) + "\r\n\r\n").encode()

    def __str__(self):
        return f"{self.method} {self.target} {self.fields or ''}"


class Answer:
    __slots__ = ("status", "fields", "body")

    def __init__(self, head, body):
        lines = head.split(b"\r\n")
        self.status = int(lines[0][9:12])
        self.fields = sorted(line for line in lines[1:] if not line.startswith((b"Date:", b"Server:", b"Keep-Alive:", b"Connection:")))
        self.body = body

    def get(self, name):
        name = name.lower() + b":"
        for line in self.fields:
            if line.lower().startswith(name):
                return line[len(name):].strip().decode("latin-1")
        return None

    def same(self, other):
        """In all that counts between two servers of one kind. What is fresh to one may not be to the other a moment later."""
        if (self.status, self.fields, self.body) == (other.status, other.fields, other.body):  # most: a walk is long
            return True
        fresh = self.fresh() or other.fresh()
        return self.mind(fresh) == other.mind(fresh)

    def mind(self, fresh):
        fields, body = self.fields, self.body
        boundary = (self.get(b"Content-Type") or "").partition("boundary=")[2].encode()
        if boundary:  # its length is random
            fields = [line.replace(boundary, b"B") for line in fields if not line.startswith(b"Content-Length")]
            body = body.replace(boundary, b"B")
        if fresh:
            fields = [line.replace(b'ETag: W/', b"ETag: ") for line in fields if not line.startswith(b"Last-Modified")]
        return self.status, fields, body

    def fresh(self):
        """Does it go with the time? Tags of what changed just now are weak, dates of the future are those of now."""
        date = self.get(b"Last-Modified")
        return b'ETag: W/' in b"".join(self.fields) or date and email.utils.parsedate_to_datetime(date).timestamp() > time.time() - 30

    def with_apache(self):
        """What Apache says as well."""
        if self.status in (200, 206) and not self.get(b"Content-Range") and "multipart" not in (self.get(b"Content-Type") or ""):
            return self.status, self.get(b"Content-Type"), self.body
        return self.status, self.get(b"Location")

    def __repr__(self):
        return f"{self.status} {b'; '.join(self.fields).decode('latin-1')[:300]} | {self.body[:120]!r} ({len(self.body)})"


class Peer(Client):
    """A connection that takes batches."""

    def __init__(self, server, place=None):
        self.server, self.place = server, place
        self.again()

    def again(self):
        super().__init__("127.0.0.1", self.server.port, brigade.PATIENCE, self.place)

    def batch(self, requests):
        found, sent = [], False
        for _ in range(3):
            rest = requests[len(found):]
            if not rest:
                break
            if sent:
                self.close()
                self.again()
            self.send(b"".join(q.bytes for q in rest))
            sent = True
            try:
                for q in rest:
                    found.append(self.one(q.method == "HEAD"))
            except Exception as e:  # a connection that ended: the rest once more
                if not isinstance(e, (ConnectionError, support.http_client.Truncated)):
                    raise
        return found

    def one(self, is_head):
        head = self.read_until(b"\r\n\r\n")
        if is_head or head[9:12] in (b"304", b"204"):
            return Answer(head, b"")
        at = head.find(b"Content-Length: ")
        if at >= 0:
            return Answer(head, self.read_exactly(int(head[at + 16:].split(b"\r\n", 1)[0])))
        if b"Transfer-Encoding: chunked" in head:
            return Answer(head.replace(b"\r\nTransfer-Encoding: chunked", b""), self._chunked()[0])
        return Answer(head, self.read_to_end())
