# SPDX-License-Identifier: Apache-2.0
"""What a visitor's browser does: keeps cookies and connections, follows redirects, gets the parts of a page once, sends forms."""
import gzip
import html.parser
import re
import time
import urllib.parse
import zlib

import brigade
from http_client import Truncated

BOUNDARY = "----a-part-of-a-form"
NO_BUTTONS = ("submit", "button", "image", "reset", "file")


class Page(html.parser.HTMLParser):
    """Forms, links and parts of a page."""

    def __init__(self, text):
        super().__init__()
        self.forms, self.links, self.parts = [], [], []
        self.area = self.select = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        a = {k: v or "" for k, v in attrs}
        if tag == "form":
            self.forms.append((a, {}))
        elif tag == "a" and "href" in a:
            self.links.append(a["href"])
        elif tag in ("script", "img") and "src" in a:
            self.parts.append(a["src"])
        elif tag == "link" and {"stylesheet", "icon", "preload"} & set(a.get("rel", "").split()):
            self.parts.append(a.get("href", ""))
        elif self.forms and "name" in a and "disabled" not in a:
            self.field(tag, a)
        if tag == "option" and self.select and (("selected" in a) or self.select not in self.forms[-1][1]):
            self.forms[-1][1][self.select] = a.get("value", "")

    def field(self, tag, a):
        fields = self.forms[-1][1]
        kind = a.get("type", "text").lower()
        if tag == "input" and kind in ("checkbox", "radio"):
            if "checked" in a:
                fields[a["name"]] = a.get("value", "on")
        elif tag == "input" and kind not in NO_BUTTONS:
            fields[a["name"]] = a.get("value", "")
        elif tag == "textarea":
            self.area = a["name"]
            fields[self.area] = ""
        elif tag == "select":
            self.select = a["name"]

    def handle_data(self, data):
        if self.area:
            self.forms[-1][1][self.area] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.area = None
        if tag == "select":
            self.select = None


def decoded(answer):
    coding = answer["Content-Encoding"]
    if coding == "gzip" and answer.body:
        answer.body = gzip.decompress(answer.body)
    elif coding == "deflate" and answer.body:
        answer.body = zlib.decompress(answer.body)
    return answer


def multipart(form, files):
    lines = []
    for name, value in form.items():
        lines += [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value.encode() + b"\r\n"]
    for name, (file, kind, content) in files.items():
        lines += [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\nContent-Type: {kind}\r\n\r\n'.encode() + content + b"\r\n"]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode()


class Browser:
    """seen: (what was asked, answer), in their order."""

    def __init__(self, server):
        self.server, self.cookies, self.client, self.seen, self.parts = server, {}, None, [], set()
        self.at, self.page = "http://localhost/", None

    def ask(self, method, target, body=b"", kind=None, more=()):
        """One request; its redirects are not followed."""
        url = re.sub(r"^http://localhost:\d+", "http://localhost", urllib.parse.urljoin(self.at, target))
        parts = urllib.parse.urlsplit(url)
        path = urllib.parse.quote(urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, "")), safe="/?&=%:;,+@!$'()*~[]#|")
        headers = [("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"), ("Accept", "text/html,*/*;q=0.8"), ("Accept-Language", "en"), ("Accept-Encoding", "gzip"), ("Referer", self.at), *more]
        here = {name: value for name, (value, where) in self.cookies.items() if parts.path.startswith(where)}
        if here:
            headers.append(("Cookie", "; ".join(f"{k}={v}" for k, v in here.items())))
        if method == "POST":
            headers += [("Origin", "http://localhost"), ("Content-Type", kind), ("Content-Length", str(len(body)))]
        answer = self.send(method, path, headers, body)
        self.keep(answer, parts.path)
        self.seen.append((f"{method} {path}", decoded(answer)))
        return answer, url

    def send(self, method, path, headers, body):
        for fresh in (False, True):
            if fresh or not self.client:
                self.client = self.server.connect(60)
            try:
                answer = self.client.request(method, path, headers, body)
            except (Truncated, BrokenPipeError, ConnectionResetError):
                if fresh:
                    raise
                continue  # the server closed a connection at rest
            if (answer["Connection"] or "").lower() == "close":
                self.close()
            return answer

    def keep(self, answer, path):
        for line in answer.all("Set-Cookie"):
            first, *rest = [p.strip() for p in line.split(";")]
            name, _, value = first.partition("=")
            said = {k.lower(): v for k, _, v in (p.partition("=") for p in rest)}
            if value in ("", "deleted") or said.get("max-age") == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value, said.get("path") or path.rsplit("/", 1)[0] + "/"

    def visit(self, method, target, body=b"", kind=None, more=()):
        """As ask; goes on to where it is sent, and gets the parts of the page."""
        answer, url = self.ask(method, target, body, kind, more)
        for _ in range(10):
            if answer.status not in (301, 302, 303, 307) or not answer["Location"]:
                break
            self.at = url
            answer, url = self.ask("GET", answer["Location"])
        self.answer = answer
        if "html" in (answer["Content-Type"] or ""):
            self.at, self.page = url, Page(answer.body.decode("utf-8", "replace"))
            for part in self.page.parts:
                where = urllib.parse.urljoin(url, part).split("#")[0]
                known = re.sub(r"\d{9,}", "", where)  # without the time
                if where.startswith("http://localhost/") and known not in self.parts:
                    self.parts.add(known)
                    self.ask("GET", where)
        return self.answer

    @staticmethod
    def next_second():
        """Returns when the clock shows another second."""
        now = int(time.time())
        brigade.wait_until(lambda: int(time.time()) > now, "the next second")

    def get(self, target, more=()):
        return self.visit("GET", target, more=more)

    def post(self, target, form):
        return self.visit("POST", target, urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded")

    def form(self, *names):
        """Attributes and fields of the first form with these fields."""
        for attributes, fields in self.page.forms:
            if all(name in fields for name in names):
                return attributes, dict(fields)
        raise AssertionError(f"no form with {names} at {self.at}: {[list(f) for _, f in self.page.forms]} {self.answer.status} {self.answer.body[:3000]}")

    def submit(self, values, files=None, has=(), without=()):
        """Sends the form that has the fields `has` (by default all of `values` that it must have) with these values changed."""
        attributes, fields = self.form(*has)
        fields = {k: v for k, v in {**fields, **values}.items() if k not in without}
        target = urllib.parse.urljoin(self.at, attributes.get("action") or self.at)
        if attributes.get("method", "get").lower() != "post":
            return self.get(target.split("?")[0] + "?" + urllib.parse.urlencode(fields))
        if files or "multipart" in attributes.get("enctype", ""):
            return self.visit("POST", target, multipart(fields, files or {}), f"multipart/form-data; boundary={BOUNDARY}")
        return self.post(target, fields)

    def link(self, part):
        """The first link with this in it."""
        for href in self.page.links:
            if part in href:
                return href
        raise AssertionError(f"no link with {part} at {self.at}: {self.page.links}")

    def close(self):
        if self.client:
            self.client.close()
        self.client = None
