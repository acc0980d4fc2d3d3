# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of RFC 9842 (ZstdDictionary): the next version of a file as what differs from the one that the client has."""
import base64
import hashlib
import os
import random
import shutil
import subprocess

import pytest

import brigade

pytestmark = pytest.mark.only("brigade")
MAGIC = bytes.fromhex("5e2a4d1820000000")


def text(seed, n):
    rnd = random.Random(seed)
    return "".join(f"function f{rnd.randrange(10**9)}(a) {{ return a * {rnd.randrange(10**9)}; }}\n" for _ in range(n // 60))


OLD = text(1, 120000)
NEW = OLD.replace("return a", "return b", 3) + text(2, 600)
CONFIG = """ServerProcesses 1
ZstdDictionary /assets/app*.js /other/*
SetOutputFilter ZSTD_COMPRESS
"""


def of(old):
    return f":{base64.b64encode(hashlib.sha256(old.encode()).digest()).decode()}:"


def asks(server, path, old, accept="gzip, br, zstd, dcb, dcz", more=()):
    return server.get(path, headers=[("Accept-Encoding", accept), ("Available-Dictionary", of(old)), *more])


def decoded(body, old, tmp_path):
    """As a browser decodes it: the head names the dictionary, the rest is a frame of zstd with it."""
    assert body[:8] == MAGIC and body[8:40] == hashlib.sha256(old.encode()).digest()
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    (tmp_path / "old").write_text(old)
    done = subprocess.run(["zstd", "-d", "-c", f"--patch-from={tmp_path / 'old'}"], input=body[40:], capture_output=True, check=True)
    return done.stdout.decode()


@pytest.fixture
def server(serve):
    server = serve(CONFIG, {"assets/app.1.js": OLD, "assets/app.2.js": NEW, "assets/other.css": OLD, "other/x.js": NEW})
    assert server.get("/assets/app.1.js")["Use-As-Dictionary"] == 'match="/assets/app*.js"'
    return server


@pytest.mark.parametrize("loops", [1, 2])
def test_another_file(serve, tmp_path, loops):
    """A tenth of what zstd alone comes to, and the same text."""
    server = serve(CONFIG + f"EventLoops {loops}\n", {"assets/app.1.js": OLD, "assets/app.2.js": NEW})
    server.get("/assets/app.1.js")
    plain = server.get("/assets/app.2.js", headers={"Accept-Encoding": "zstd"})
    assert plain["Content-Encoding"] == "zstd"
    for _ in range(3):
        got = asks(server, "/assets/app.2.js", OLD)
        assert got.status == 200 and got["Content-Encoding"] == "dcz" and len(got.body) * 10 < len(plain.body), (got, len(plain.body))
        assert {v.strip().lower() for v in got["Vary"].split(",")} == {"accept-encoding", "available-dictionary"}
        assert got["Use-As-Dictionary"] and got["ETag"].endswith('-dcz"') and got["Last-Modified"]
        assert decoded(got.body, OLD, tmp_path) == NEW
    assert server.get("/assets/app.2.js", headers={"Accept-Encoding": "gzip, zstd, dcz"})["Content-Encoding"] == "zstd"
    again = asks(server, "/assets/app.2.js", OLD, more=[("If-None-Match", got["ETag"])])
    assert again.status == 304 and not again.body


def test_the_version_before(server, tmp_path):
    """The file is another one now; what it was is still known."""
    server.write("assets/app.1.js", NEW)
    brigade.wait_until(lambda: server.get("/assets/app.1.js").body == NEW.encode(), "the new version")
    got = asks(server, "/assets/app.1.js", OLD)
    assert got["Content-Encoding"] == "dcz" and decoded(got.body, OLD, tmp_path) == NEW


@pytest.mark.parametrize("how", ["no dcz", "q=0", "q=0;", "unknown", "no hash", "not the rule's", "another rule's", "another site", "cors", "range", "head", "too different", "filtered"])
def test_without(serve, server, how, tmp_path):
    """The usual answer, whole and right."""
    path, accept, old, more = "/assets/app.2.js", "zstd, dcz", OLD, []
    if how == "no dcz":
        accept = "zstd, br"
    elif how in ("q=0", "q=0;"):
        accept = f"zstd, dcz;{how}"
    elif how == "unknown":
        old = "never seen"
    elif how == "no hash":
        more = [("Available-Dictionary", ":AAAA:")]
    elif how == "not the rule's":
        path = "/assets/other.css"
    elif how == "another rule's":
        path = "/other/x.js"
    elif how in ("another site", "cors"):
        more = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors" if how == "another site" else "cors")]
    elif how == "range":
        more = [("Range", "bytes=0-9")]
    elif how == "too different":
        server.write("assets/app.2.js", "".join(random.Random(3).choices([chr(n) for n in range(33, 126)], k=50000)))
    elif how == "filtered":
        server = serve(CONFIG + 'AddOutputFilterByType SUBSTITUTE text/javascript application/javascript\nSubstitute "s/function/FUNCTION/"\n',
                       {"assets/app.1.js": OLD, "assets/app.2.js": NEW})
        server.get("/assets/app.1.js")
    got = server.request("HEAD", path, headers=[("Accept-Encoding", accept), ("Available-Dictionary", of(old))]) if how == "head" else \
        server.get(path, headers=[("Accept-Encoding", accept), *([("Available-Dictionary", of(old))] if how != "no hash" else []), *more])
    assert got["Content-Encoding"] != "dcz" and got.status == (206 if how == "range" else 200), got


def test_a_version_beside_it(serve, tmp_path):
    """A process that is new finds it in the folder; and looks there no more than once a minute for what nobody has."""
    server = serve(CONFIG, {"assets/app.1.js": OLD, "assets/app.2.js": NEW, "assets/.app.3.js": text(3, 2000), "assets/other.css": text(4, 2000), "big/app.js": OLD})
    got = asks(server, "/assets/app.2.js", OLD)
    assert got["Content-Encoding"] == "dcz" and decoded(got.body, OLD, tmp_path) == NEW
    for hidden in (text(3, 2000), text(4, 2000), "unknown"):
        assert asks(server, "/assets/app.2.js", hidden)["Content-Encoding"] != "dcz"
    server.write("assets/app.4.js", text(5, 90000))
    assert asks(server, "/assets/app.2.js", text(5, 90000))["Content-Encoding"] != "dcz", "not before a minute is over"


def test_memory_has_a_bound(serve):
    """Each content, and what became of it, is counted; the oldest go."""
    files = {f"assets/app{n}.js": text(n, 1500000) for n in range(30)}
    server = serve(CONFIG, files)
    for n in range(30):
        assert server.get(f"/assets/app{n}.js")["Use-As-Dictionary"]
    os.unlink(server.path("htdocs/assets/app0.js"))
    assert asks(server, "/assets/app29.js", files["assets/app0.js"])["Content-Encoding"] != "dcz"
    assert sum(brigade_resident(server)) < 200e6


def test_there_is_a_bound_of_their_number(serve):
    """Each look goes through all of them."""
    files = {f"assets/app{n}.js": text(n, 1500) for n in range(1100)}
    server = serve(CONFIG, files)
    for path in files:
        assert server.get(f"/{path}").status == 200
    os.unlink(server.path("htdocs/assets/app999.js"))
    server.write("assets/app0.js", files["assets/app0.js"] + files["assets/app999.js"])
    assert server.get("/assets/app0.js").body == (files["assets/app0.js"] + files["assets/app999.js"]).encode()
    assert asks(server, "/assets/app0.js", files["assets/app999.js"])["Content-Encoding"] == "dcz"
    assert asks(server, "/assets/app0.js", files["assets/app0.js"])["Content-Encoding"] != "dcz"


def brigade_resident(server):
    for pid in server.children():
        with open(f"/proc/{pid}/status") as f:
            yield next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))


@pytest.mark.parametrize("line", ["ZstdDictionary assets/*", 'ZstdDictionary "/a b"', "ZstdDictionary /a(b)", "ZstdDictionary /:id/x", 'ZstdDictionary "/a\\"b"'])
def test_mistakes(serve, line):
    done = serve.unstarted(line + "\n").run("-t")
    assert done.returncode == 1 and b"a path from / on is wanted" in done.stderr, done.stderr
