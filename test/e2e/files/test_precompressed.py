# SPDX-License-Identifier: Apache-2.0
"""PrecompressedFiles: the coded form that stands beside a file."""
import gzip
import mmap
import os

import pytest

import brigade
from cache_site import one_loop, settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

ON = "PrecompressedFiles br zstd gzip\nAddType text/html .html\n"
FILES = {"a.html": "plain text", "a.html.br": "brotli", "a.html.gz": gzip.compress(b"plain text", mtime=0), "a.html.zst": "zstandard", "b.css": "css", "b.css.gz": "gz"}
PLAIN, BR, ZSTD, GZIP = b"plain text", b"brotli", b"zstandard", FILES["a.html.gz"]


def site(serve, config=ON, files=FILES, **more):
    server = one_loop(serve, config, files=files, **more)
    settle(server.path("htdocs"))
    return server


@pytest.mark.parametrize("accept,body,coding", [
    (None, PLAIN, None), ("gzip", GZIP, "gzip"), ("x-gzip", GZIP, "gzip"), ("gzip, deflate, br", BR, "br"), ("zstd,gzip", ZSTD, "zstd"), ("BR", BR, "br"),
    ("br;q=0, gzip", GZIP, "gzip"), ("gzip;q=0.9, br;q=0.5", GZIP, "gzip"), ("*", BR, "br"), ("*;q=0", PLAIN, None), ("gzip;q=0", PLAIN, None), ("*, br;q=0", ZSTD, "zstd"),
    ("gzip; q=0.001", GZIP, "gzip"), ("gzip;q=x", PLAIN, None), ("gzip;", GZIP, "gzip"), (",,gzip,,", GZIP, "gzip"), ("brx, xbr", PLAIN, None), ("identity", PLAIN, None), ("", PLAIN, None)])
def test_what_is_accepted(serve, accept, body, coding):
    server = site(serve)
    with server.connect() as c:
        for _ in range(4):  # the last ones are from memory
            answer = c.get("/a.html", {} if accept is None else {"Accept-Encoding": accept})
            assert (answer.status, answer.body, answer["Content-Encoding"], answer["Content-Type"]) == (200, body, coding, "text/html")
            assert answer["Vary"] == "Accept-Encoding" and answer["Content-Length"] == str(len(body))


def test_all_from_one_connection_and_from_memory(serve):
    """Each coding has an entry of its own: a change that inotify does not tell of shows what came from memory."""
    server = site(serve)
    wanted = [({}, PLAIN), ({"Accept-Encoding": "br"}, BR), ({"Accept-Encoding": "gzip"}, GZIP), ({"Accept-Encoding": "gzip;q=1.0"}, GZIP)]
    with server.connect() as c, open(server.path("htdocs/a.html.br"), "r+b") as f, mmap.mmap(f.fileno(), 6) as view:
        for _ in range(4):
            for fields, body in wanted:
                assert c.get("/a.html", fields).body == body
        view[0:6] = b"other!"
        assert c.get("/a.html", {"Accept-Encoding": "br"}).body == BR
        server.write("a.html.br", "newer!")
        assert c.get("/a.html", {"Accept-Encoding": "br"}).body == b"newer!"


def test_comes_and_goes(serve):
    """Siblings that appear, go, or are older than the file."""
    server = site(serve, files={"a.html": "plain"})
    br = {"Accept-Encoding": "br"}
    with server.connect() as c:
        for _ in range(4):
            answer = c.get("/a.html", br)
            assert answer.body == b"plain" and answer["Vary"] is None
        server.write("a.html.br", "coded")
        assert c.get("/a.html", br).body == b"coded"
        settle(server.path("htdocs"))
        for _ in range(4):
            assert c.get("/a.html", br).body == b"coded"
        os.utime(server.path("htdocs/a.html"), (1.75e9, 1.75e9))  # newer than its coded form
        for _ in range(4):
            answer = c.get("/a.html", br)
            assert answer.body == b"plain" and answer["Vary"] is None
        os.unlink(server.path("htdocs/a.html.br"))
        assert c.get("/a.html", br).body == b"plain"
        os.mkdir(server.path("htdocs/a.html.br"))
        assert c.get("/a.html", br).body == b"plain"


def test_validators_and_ranges(serve):
    server = site(serve, ON + "FileETag MTime\n")
    fields = {"Accept-Encoding": "br"}
    with server.connect() as c:
        for _ in range(4):
            plain, coded = c.get("/a.html"), c.get("/a.html", fields)
            assert plain["ETag"] != coded["ETag"] and coded["ETag"].startswith('"')
            assert c.get("/a.html", {"If-None-Match": coded["ETag"], **fields}).status == 304
            assert c.get("/a.html", {"If-None-Match": plain["ETag"], **fields}).body == BR
            assert c.get("/a.html", {"If-None-Match": coded["ETag"]}).body == PLAIN
            part = c.get("/a.html", {"Range": "bytes=2-3", "If-Range": coded["ETag"], **fields})
            assert (part.status, part.body, part["Content-Encoding"]) == (206, b"ot", "br")
            assert c.get("/a.html", {"Range": "bytes=2-3", "If-Range": coded["ETag"]}).body == PLAIN
            head = c.request("HEAD", "/a.html", fields)
            assert (head["Content-Length"], head["Content-Encoding"], head["Vary"]) == ("6", "br", "Accept-Encoding")


def test_what_is_left_alone(serve):
    """Pages that filters read, the siblings themselves, scripts, and where the directive does not hold."""
    server = site(serve, ON + 'AddOutputFilter INCLUDES .shtml\n<Directory "@ROOT@/htdocs">\nOptions +Includes\nAllowOverride FileInfo\n</Directory>\n'
                  '<Location "/off/">\nPrecompressedFiles off\n</Location>\n<Files "secret.html.br">\nRequire all denied\n</Files>\n',
                  files={**FILES, "p.shtml": "page", "p.shtml.br": "coded", "off/a.html": "off", "off/a.html.br": "x", "secret.html": "open", "secret.html.br": "closed",
                         "d/.htaccess": "PrecompressedFiles gzip\n", "d/a.html": "d", "d/a.html.br": "br", "d/a.html.gz": "gz", "inc.shtml": '<!--#include virtual="/a.html" -->'})
    every = {"Accept-Encoding": "br, gzip, zstd"}
    with server.connect() as c:
        for _ in range(4):
            assert c.get("/p.shtml", every).body == b"page"
            assert c.get("/inc.shtml", every).body == PLAIN
            assert c.get("/off/a.html", every).body == b"off"
            assert c.get("/secret.html", every).body == b"open"
            assert c.get("/d/a.html", every).body == b"gz"
            assert c.get("/a.html.br", every).body == BR
            assert c.get("/b.css", every).body == b"gz"
            assert c.get("/none.html", every).status == 404


def test_index_and_links(serve):
    server = site(serve, ON + 'DirectoryIndex index.html\n<Directory "@ROOT@/htdocs">\nOptions -FollowSymLinks\n</Directory>\n', files={"index.html": "plain", "index.html.br": "coded", "l.html": "l"})
    os.symlink("index.html.br", server.path("htdocs/l.html.br"))
    with server.connect() as c:
        for _ in range(4):
            assert c.get("/", {"Accept-Encoding": "br"}).body == b"coded"
            assert c.get("/l.html", {"Accept-Encoding": "br"}).body == b"l"


@pytest.mark.parametrize("line,words", [("PrecompressedFiles deflate", b"takes br, zstd, gzip or off, not deflate"), ("PrecompressedFiles br br", b"names br twice"),
                                        ("PrecompressedFiles", b"PrecompressedFiles requires")])
def test_messages(line, words):
    server = brigade.Server(line + "\n")
    try:
        done = server.run("-t")
        assert done.returncode != 0 and words in done.stderr
    finally:
        server.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="server processes have to be another user than the files' owner")
def test_who_may_not_read_the_file_gets_no_form_of_it(serve):
    """And a form that cannot be read is none: not at first, and not from memory."""
    server = site(serve)
    gz, plain = server.path("htdocs/a.html.gz"), server.path("htdocs/a.html")
    fields = {"Accept-Encoding": "gzip"}
    with server.connect() as c:
        for _ in range(2):
            for _ in range(4):
                assert c.get("/a.html", fields).body == GZIP
            os.chmod(plain, 0)
            for _ in range(4):
                assert c.get("/a.html", fields).status == 403
            os.chmod(plain, 0o644)
            os.chmod(gz, 0)
            for _ in range(4):
                answer = c.get("/a.html", fields)
                assert (answer.status, answer.body, answer["Content-Encoding"]) == (200, PLAIN, None)
            os.chmod(gz, 0o644)


@pytest.mark.parametrize("denied", ["a.html", "a.html.gz"])
def test_rules_for_either_name(serve, denied):
    server = site(serve, ON + f'<Files "{denied}">\nRequire all denied\n</Files>\n')
    with server.connect() as c:
        for _ in range(4):
            answer = c.get("/a.html", {"Accept-Encoding": "gzip"})
            assert answer.status == 403 if denied == "a.html" else (answer.status, answer.body) == (200, PLAIN)
