# SPDX-License-Identifier: Apache-2.0
"""Directory listings: what they say of folders, and that nobody waits for a large one."""
import gzip
import os
import re
import select
import threading
import time

import pytest

from brigade import wait_until
from trouble import STATUS, compiled, status

ENTRIES = 20000
WORST = 0.5  # of the time that a large listing takes: in less all small files are there meanwhile. One try in five has to do


def folder(server):
    """Below /top: a folder with an index file, links to it, a folder without one."""
    for name in ("top/sub", "top/plain"):
        os.makedirs(server.path("htdocs", name))
    server.write("top/sub/index.html", "abc")
    os.utime(server.path("htdocs/top/sub/index.html"), (978307200, 978307200))
    os.symlink("sub", server.path("htdocs/top/link"))
    server.write("top/file.html", "<title>T</title>")


CONFIG = """IndexOptions FancyIndexing
AddDescription "the folder" sub
AddDescription "the index" index.html
AddIcon (SUB,/i/sub.png) sub
AddIcon (IDX,/i/idx.png) index.html
AddIcon (DIR,/i/dir.png) ^^DIRECTORY^^
"""


def test_a_folder_with_an_index_file_is_a_folder(serve):
    server = serve(CONFIG)
    folder(server)
    page = server.get("/top/").body.decode()
    for name in ("sub", "link"):
        assert re.search(rf'<a href="{name}/">{name}/</a> +2001-01-01 \d\d:00 +-', page), page
    assert '<img src="/i/sub.png" alt="[SUB]"> <a href="sub/">' in page
    assert re.search(r'href="sub/".* the folder', page)
    assert '<img src="/i/dir.png" alt="[DIR]"> <a href="plain/">' in page
    assert '<img src="/i/dir.png" alt="[DIR]"> <a href="/">Parent Directory</a>' in page
    assert "the index" not in page


@pytest.mark.parametrize("n", [3, 500], ids=["short", "over 8 KB"])
def test_listings_are_compressed(serve, n):
    server = serve("LoadModule deflate_module @MODULES@/mod_deflate.so\nAddOutputFilterByType DEFLATE text/html\n",
                   {f"top/{i}.txt": "" for i in range(n)})
    plain = server.get("/top/")
    packed = server.get("/top/", {"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip" and packed["Content-Length"]
    assert gzip.decompress(packed.body) == plain.body


@pytest.mark.only("brigade")
@pytest.mark.parametrize("kind", ["small", "many", "link", "framed"])
def test_small_listings_wait_for_no_worker(serve, kind):
    """A loop lists a small folder itself. What may take longer is for a worker, who is busy here."""
    server = serve(f'LoadModule busy_module "{compiled("mod_busy")}"\n<Location /sleep>\nSetHandler sleep\n</Location>\n'
                   "EventLoops 1\nServerLimit 1\nThreadsPerChild 1\n" + STATUS + ("ReadmeName README.html\n" if kind == "framed" else ""),
                   {f"top/{i:03}": "" for i in range(110 if kind == "many" else 3)} | {"top/README.html": "read me"})
    if kind == "link":
        os.symlink("000", server.path("htdocs/top/111"))
    want = server.get("/top/").body
    assert want.count(b"<li>") == len(os.listdir(server.path("htdocs/top"))) + 1
    with server.connect() as busy, server.connect() as c:
        busy.send("GET /sleep?1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: status(server)["totals"]["connections"]["busy"] == 1, "the worker to sleep")
        c.send("GET /top/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert c.read_response().body == want
        still_asleep = not select.select([busy.socket], [], [], 0)[0]
        assert busy.read_response().body == b"slept\n"
    assert still_asleep == (kind == "small")


def slowest(server, target, asked):
    """Ask for a small file until asked is set; the seconds of the slowest answer."""
    times = []
    with server.connect() as c:
        while not asked.is_set() or len(times) < 20:
            began = time.perf_counter()
            c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert c.read_response().status == 200
            times.append(time.perf_counter() - began)
    return max(times)


@pytest.mark.only("brigade")
@pytest.mark.slow
def test_a_large_listing_stops_nobody(serve):
    """A small file that is asked for while a loop makes the listing waits for most of it."""
    server = serve("EventLoops 1\nFileCacheEntries 0\nMaxKeepAliveRequests 0\n", {"small.txt": "s"})
    os.mkdir(server.path("htdocs/large"))
    for i in range(ENTRIES):
        open(server.path(f"htdocs/large/{i}"), "w").close()
    results = []
    for _ in range(5):
        ended = threading.Event()
        listing, began = [], time.perf_counter()

        def ask():
            listing.append(server.get("/large/"))
            listing.append(time.perf_counter() - began)
            ended.set()

        thread = threading.Thread(target=ask)
        thread.start()
        worst = slowest(server, "/small.txt", ended)
        thread.join()
        results.append((worst, listing[1]))
        assert listing[0].body.count(b"<li>") >= ENTRIES
        if worst < WORST * listing[1]:
            return
    raise AssertionError(f"slowest answers, and seconds of the listings: {results}")
