# SPDX-License-Identifier: Apache-2.0
"""Listings as BuiltinPages modern has them."""
import html.parser
import os
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.only("brigade")

VOID = {"meta", "link", "input", "img", "br", "hr"}
STOCK = "/usr/lib/apache2/modules"
NAMES = [b"<script>alert(1)<", b"new\nline.txt", b"'single' \"double\".txt", b"bad\xff\xc3\x28utf8.txt", b"\xe2\x80\xaeevil",
         b"a&amp;b", b"100%.txt", b"?C=N", b"#frag", b"a+b", b"javascript:alert(1)", "\u00fcber.txt".encode(), b"tab\tand\x01control", b"-"]


class Page(html.parser.HTMLParser):
    """A strict reader of HTML: every element is ended, in order; attributes are quoted once; collects links, cells, ids."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.links, self.rows, self.ids, self.tags = [], [], [], [], set()
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)) and not any(name.startswith("on") for name in names), (tag, attrs)
        attrs = dict(attrs)
        assert "style" not in attrs
        assert tag != "script" or (re.fullmatch(r"\?script=[0-9a-f]{8}", attrs["src"]) and set(attrs) == {"src", "defer"})
        self.tags.add(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag == "a":
            self.links.append([attrs["href"], ""])
        if tag == "tr":
            self.rows.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        assert "script" not in self.open  # its text comes from a URL
        if "a" in self.open:
            self.links[-1][1] += data
        if "tr" in self.open:
            self.rows[-1] += data


def listing(server, target="/top/"):
    response = server.get(target)
    assert response.status == 200 and response["Content-Type"].lower() == "text/html;charset=utf-8"
    text = response.body.decode("utf-8")  # strict
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>\n<html lang=\"en\">") and len(page.ids) == len(set(page.ids))
    assert not page.tags & {"style", "iframe"}
    return page, text


def names(page):
    return [href for href, _ in page.links if not href.startswith(("?", "/"))]


def test_names_of_any_bytes(serve):
    server = serve("BuiltinPages modern\n")
    os.mkdir(server.path("htdocs/top"))
    for name in NAMES:
        with open(os.path.join(server.path("htdocs/top").encode(), name), "wb") as f:
            f.write(b"content of " + name)
    page, text = listing(server)
    assert len(names(page)) == len(NAMES)
    for name in names(page):
        target = "/top/" + name.removeprefix("./")
        assert re.fullmatch(r"[!-~]+", name) and not re.match(r"[a-z]+:", name), name
        body = server.get(target).body
        assert body.startswith(b"content of "), (name, body)
    shown = [text for _, text in page.links]
    assert "<script>alert(1)<" in shown and "new\ufffdline.txt" in shown and "bad\ufffd\ufffd(utf8.txt" in shown and "a&amp;b" in shown


def test_style_sheet(serve):
    server = serve("BuiltinPages modern\nIndexOptions IgnoreClient\n", {"top/a": ""})
    _, text = listing(server)
    query = re.search(r'<link rel="stylesheet" href="(\?style=[0-9a-f]{8})">', text)[1]
    for target in ("/top/" + query, "/top/?style=0"):
        style = server.get(target)
        assert style["Content-Type"] == "text/css; charset=utf-8" and "max-age" in style["Cache-Control"]
        assert b"url(" not in style.body and b"@import" not in style.body and b"prefers-color-scheme: dark" in style.body
    head = server.request("HEAD", "/top/" + query)
    assert int(head["Content-Length"]) == len(style.body) and head.body == b""
    assert b"prefers" not in serve("BuiltinPages apache\n", {"top/a": ""}).get("/top/" + query).body


def test_order_filter_and_path(serve):
    files = {f"top/in/{name}": "x" * size for name, size in (("file10.txt", 5), ("File9.txt", 3000), ("z.pdf", 7), ("b/c", 0))}
    server = serve("BuiltinPages modern\n", files)
    page, text = listing(server, "/top/in/")
    assert names(page) == ["b/", "File9.txt", "file10.txt", "z.pdf"]
    assert "<h1>in</h1>" in text and '<a href="/top/">top</a>' in text and "1 folder, 3 files" in text
    assert "2.9 KiB" in text and 'title="3000 bytes"' in text and 'aria-sort="ascending"><a href="?C=N;O=D">' in text
    assert names(listing(server, "/top/in/?C=S;O=D")[0]) == ["b/", "File9.txt", "z.pdf", "file10.txt"]
    page, text = listing(server, "/top/in/?P=*.txt")
    assert names(page) == ["File9.txt", "file10.txt"] and 'value="*.txt"' in text and '?C=S;O=A;P=*.txt"' in text
    page, text = listing(server, "/top/in/?P=%22%3E%3Cb%3E+x%FF")
    assert not names(page) and 'value="&quot;&gt;&lt;b&gt; x\ufffd"' in text and "b" not in page.tags
    assert [href for href, _ in listing(server, "/top/")[0].links if href.startswith("/")][0] == "/"
    for query, sign in (("?F=0", "<ul>"), ("?F=1", "<pre>"), ("?F=2", "<table>")):
        assert f"<title>Index of /top/in</title>\n </head>\n <body>\n<h1>Index of /top/in</h1>\n" in server.get("/top/in/" + query).body.decode()
        assert sign in server.get("/top/in/" + query).body.decode()


def test_options_still_count(serve):
    server = serve("BuiltinPages modern\nIndexIgnore *.bak\nAddDescription \"<b>bold</b> words\" *.txt\nHeaderName HEADER.html\n"
                   "ReadmeName README.txt\nIndexStyleSheet /own.css\nIndexHeadInsert \"<meta name=robots content=none>\"\nIndexOptions ScanHTMLTitles\n"
                   "AddIcon (TXT,/icons/t.gif) .txt\n<Directory @ROOT@/htdocs/less>\nIndexOptions +SuppressSize +SuppressLastModified +SuppressIcon"
                   " +IgnoreClient -FoldersFirst\n</Directory>\n",
                   {"top/a.txt": "", "top/a.bak": "", "top/HEADER.html": "<p>above</p>\n", "top/README.txt": "a <below>\n", "less/b": "", "less/z/f": "",
                    "top/d.html": "<title>A &amp; <b onclick=x>B</title>"})
    page, text = listing(server)
    assert "a.bak" not in text and '<td class="x"><b>bold</b> words</td>' in text and "<p>above</p>" in text and "<pre>\na &lt;below&gt;\n</pre>" in text
    assert '<link rel="stylesheet" href="/own.css">' in text and "<meta name=robots content=none>" in text and "<h1>" not in text
    assert '<img src="/icons/t.gif" alt="TXT"' in text and '<td class="x">A &amp; &lt;b onclick=x&gt;B</td>' in text
    page, text = listing(server, "/less/")
    assert names(page) == ["b", "z/"] and "Size" not in text and "<time" not in text and "<form" not in text and "<i " not in text and "?C=" not in text


@pytest.mark.parametrize("lines,modern", [
    ("", True),
    (f"LoadModule unique_id_module {STOCK}/mod_unique_id.so\n", True),
    (f"LoadModule mpm_event_module {STOCK}/mod_mpm_event.so\nLoadModule authz_core_module {STOCK}/mod_authz_core.so\n", False),
    (f"LoadModule authz_core_module {STOCK}/mod_authz_core.so\n<Directory @ROOT@/htdocs/top>\nBuiltinPages modern\n</Directory>\n", True),
    ("BuiltinPages apache\n", False)], ids=["ours", "ours and a module", "Apache's", "Apache's but here", "said"])
def test_where_it_is_the_default(serve, lines, modern):
    server = serve(lines, {"top/a": "", "top/.htaccess": ""}, pages=None)
    assert (b"<!DOCTYPE html>" in server.get("/top/").body) == modern
    server.write("top/.htaccess", f"BuiltinPages {'apache' if modern else 'modern'}\n")
    assert (b"<!DOCTYPE html>" in server.get("/top/").body) != modern


def test_mistake(serve):
    server = serve.unstarted("BuiltinPages old\n")
    assert b"BuiltinPages must be followed by apache, modern or negotiated" in server.run("-t").stderr


BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="no Chromium")
def test_browser_with_a_strict_policy(serve, tmp_path):
    """The style applies under default-src 'self', and the console stays empty."""
    server = serve("BuiltinPages modern\nHeader always set Content-Security-Policy \"default-src 'self'\"\n", {"top/a.txt": "", "favicon.ico": ""})
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={tmp_path}", "--dump-dom",
                           f"http://127.0.0.1:{server.port}/top/"], capture_output=True, timeout=60)
    assert b'href="a.txt"' in done.stdout and b"CONSOLE" not in done.stderr, done.stderr.decode()
