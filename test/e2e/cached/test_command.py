# SPDX-License-Identifier: Apache-2.0
"""-k purge, -k soft-purge and -k cache: what the command line ends, and says, of answers that a running server has stored."""
import os
import re
import shutil
import signal
import subprocess

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, is_written, kind, start_with_disk
from tls_site import TLSClient, certificate, start

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def tagged(connection, request):
    if request["If-None-Match"]:
        return b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"
    tags = {"/a": "red,green", "/b": "green", "/c": "blue"}.get(request.target, "none")
    return answer(request.target.encode(), fields=fields(("Cache-Tag", tags), ("Vary", "Accept-Language"), ("ETag", '"1"'),
                                                         ("Content-Language", request["Accept-Language"])))


def told(server, *args):
    """Of the command line, which finds the server by its PidFile."""
    wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
    return server.run("-k", *args)


def known(server, *paths, language="de"):
    return [kind(server.get(p, headers={"Accept-Language": language})) for p in paths]


PATHS = ("/p/a", "/p/b", "/p/c", "/p/x/d", "/p/x/e?q")


@pytest.mark.parametrize("names,gone", [
    (["http://localhost/p/a"], {"/p/a"}),
    (["HTTP://LOCALHOST/p/x/*"], {"/p/x/d", "/p/x/e?q"}),
    (["http://localhost/p/*"], set(PATHS)),
    (["tag:green"], {"/p/a", "/p/b"}),
    (["tag:red", "http://localhost/p/c"], {"/p/a", "/p/c"}),
    (["tag:other", "http://elsewhere/p/a", "https://localhost/p/a"], set())])
def test_purge(serve, backend, names, gone):
    backend.scripts["*"] = tagged
    server = serve(config(backend, loops=2))
    known(server, *PATHS)
    assert known(server, *PATHS) == ["HIT"] * 5
    done = told(server, "purge", *names)
    assert done.returncode == 0 and done.stdout.decode().splitlines() == ["purged: " + n for n in names], done
    assert known(server, *PATHS) == ["MISS" if p in gone else "HIT" for p in PATHS]


def test_soft(serve, backend):
    backend.scripts["*"] = tagged
    server = serve(config(backend))
    known(server, "/p/a")
    done = told(server, "soft-purge", "http://localhost/p/a")
    assert (done.returncode, done.stdout) == (0, b"stale: http://localhost/p/a\n")
    assert "purged softly" in told(server, "cache", "http://localhost/p/a").stdout.decode()
    assert known(server, "/p/a", "/p/a") == ["REVALIDATE", "HIT"]


def test_purge_of_https(serve, backend):
    server = serve.unstarted(config(backend, "SSLEngine On\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n"))
    certificate(server)
    start(server)
    backend.scripts["/a"] = answer(b"of https\n", fields=fields())
    client = TLSClient(server)
    assert [kind(client.request("GET", "/p/a")) for _ in range(3)] == ["MISS", "HIT", "HIT"]
    text = told(server, "cache", "https://localhost/*").stdout.decode()
    url = re.search(r"^https://\S+$", text, re.M)[0]
    assert told(server, "purge", url.replace("https:", "http:")).returncode == 0
    assert kind(client.request("GET", "/p/a")) == "HIT"
    assert told(server, "purge", url).returncode == 0
    assert kind(client.request("GET", "/p/a")) == "MISS"


def test_what_is_stored(serve, backend):
    backend.scripts["*"] = tagged
    server = serve(config(backend))
    known(server, "/p/a")
    known(server, "/p/a", "/p/a", language="fr")
    done = told(server, "cache", "http://localhost/p/a")
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b"", done
    for line in ("varies by accept-language", "answer 200 OK, de, 2 bytes", "answer 200 OK, fr, 2 bytes", "tags red, green",
                 "lies in memory", r"age \d+ s", r"fresh for \d+ s, its lifetime is 100 s", r"hits \d"):
        assert re.search("^  " + line.replace(" ", " +") + "$", text, re.M), (line, text)
    assert told(server, "cache", "tag:red").stdout.count(b"  answer") == 2
    assert told(server, "cache", "http://localhost/p/*").stdout.count(b"  answer") == 2
    # Looking is no hit.
    assert re.findall(r"hits +(\S+)", told(server, "cache", "http://localhost/p/a").stdout.decode()) == re.findall(r"hits +(\S+)", text)


def test_why_it_was_not_stored(serve, backend):
    backend.scripts["/a"] = answer(b"a", fields=[("Cache-Control", "no-store")])
    server = serve(config(backend))
    assert known(server, "/p/a", "/p/a", "/p/a") == ["MISS"] * 3
    done = told(server, "cache", "http://localhost/p/a")
    assert done.returncode == 1
    assert re.fullmatch(rb"nothing is in memory\nan answer was not stored \(status 200, \d+ s ago, 3 in a row\): Cache-Control: no-store present\n",
                        done.stdout), done
    assert told(server, "cache", "http://localhost/p/b").stdout == b"nothing is in memory\n"


def test_the_disk(serve, backend, tmp_path):
    backend.scripts["*"] = tagged
    server, _ = start_with_disk(serve, backend, tmp_path)
    known(server, "/p/b")
    wait_until(lambda: is_written(server), "the disk")
    wait_until(lambda: b"in memory and on disk" in told(server, "cache", "http://localhost/p/b").stdout, "the record")
    assert told(server, "purge", "tag:green").returncode == 0
    server.stop()
    server.start()
    assert known(server, "/p/b") == ["MISS"]


def test_all(serve, backend):
    """How much there is, and what requests hold: nothing when none is there, also where answers were renewed by a 304."""
    backend.scripts["*"] = tagged
    server = serve(config(backend, loops=2))
    for path in PATHS:
        known(server, path)
        assert told(server, "soft-purge", "http://localhost" + path).returncode == 0
        assert known(server, *[path] * 20) == ["REVALIDATE", *["HIT"] * 19]
    done = told(server, "cache")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.decode().splitlines())
    assert done.returncode == 0 and lines["objects"].startswith("10 of "), done  # each has the names of its fields beside it
    assert (lines["fetches"], lines["waiting"], lines["held"]) == ("0, 0 bytes", "0", "0")


@pytest.mark.parametrize("args,said", [
    ([], "which URL, URL* or tag:NAME?"),
    (["/p/a"], "/p/a: neither a URL (http://HOST/PATH or https://HOST/PATH) nor tag:NAME"),
    (["ftp://localhost/"], "ftp://localhost/: neither a URL"),
    (["http://user@localhost/"], "neither a URL"),
    (["tag:"], "tag:: a tag has a name"),
    (["http://localhost/" + 600 * "x" + "*"], "a longer beginning than 512 bytes")])
def test_mistakes(serve, backend, args, said):
    server = serve(config(backend))
    done = told(server, "purge", *args)
    assert done.returncode == 2 and said in done.stderr.decode(), done


def test_no_server(serve, backend):
    server = serve(config(backend))
    wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
    server.stop()
    done = server.run("-k", "purge", "http://localhost/p/a")
    assert done.returncode == 2 and b"not running" in done.stderr


def test_a_server_without_stored_answers(serve):
    done = told(serve(""), "cache", "http://localhost/")
    assert done.returncode == 2 and b"stores no answers" in done.stderr, done


def test_after_a_reload(serve, backend):
    backend.scripts["*"] = tagged
    server = serve(config(backend))
    known(server, "/p/a")
    server.signal(signal.SIGUSR1)
    server.wait_for_log("AH00493|Graceful restart requested|generation")
    assert told(server, "purge", "http://localhost/p/a").returncode == 0
    assert known(server, "/p/a") == ["MISS"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_gives_its_rights_up(serve, backend):
    """What reads memory that server processes can write does so with their rights."""
    backend.scripts["*"] = tagged
    server = serve(config(backend))
    known(server, "/p/a")
    wait_until(lambda: server.read("logs/httpd.pid").strip(), "the PidFile")
    trace = server.path("trace")
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=setuid,setgid,setgroups,write", *server.command("-k", "cache", "http://localhost/p/a")],
                   check=True, env={**server.env, "ASAN_OPTIONS": "detect_leaks=0"}, capture_output=True)
    calls = open(trace).read()
    assert re.search(r"setuid\([1-9]\d*\) += 0.*write\(1", calls, re.S), calls


MANAGER = """<Location /cache>
SetHandler cache-manager
{}
</Location>
<Location /open>
SetHandler cache-manager
</Location>
"""


def test_the_page(serve, backend):
    backend.scripts["*"] = tagged
    server = serve(config(backend, MANAGER.format("Require ip 127.0.0.1")))
    known(server, "/p/a", "/p/b")
    got = server.get("/cache?http://localhost/p/a")
    assert got.status == 200 and got["Cache-Control"] == "no-store" and b"tags     red, green" in got.body, got.body
    assert b"POST" in server.get("/cache").body
    assert server.get("/cache?nothing").status == 400
    assert server.request("POST", "/cache?http%3A%2F%2Flocalhost/p/a", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert server.request("POST", "/cache?http://localhost/p/a", headers={"Origin": "http://elsewhere.example"}).status == 403
    assert known(server, "/p/a") == ["HIT"]
    assert server.request("POST", "/cache?http%3A%2F%2Flocalhost/p/a", headers={"Sec-Fetch-Site": "none"}).body == b"purged\n"
    assert known(server, "/p/a", "/p/b") == ["MISS", "HIT"]
    assert server.request("POST", "/cache?soft&tag:green").body == b"stale\n"
    assert known(server, "/p/a", "/p/b") == ["REVALIDATE"] * 2
    assert server.request("PUT", "/cache?tag:green").status == 405


@pytest.mark.parametrize("require", ["Require ip 192.0.2.1", "Require all denied"])
def test_the_page_is_denied(serve, backend, require):
    server = serve(config(backend, MANAGER.format(require)))
    assert server.get("/cache?tag:green").status == 403
    assert server.request("POST", "/cache?tag:green").status == 403


def test_the_page_is_denied_without_require(serve, backend):
    server = serve.unstarted("")
    server.bare = True
    server.config = "\n".join(line for line in server.preamble().splitlines() if "Directory" not in line and "Require" not in line
                              and "Options" not in line and "AllowOverride" not in line) + "\n" + config(backend, MANAGER.format("Require all granted"))
    server.start()
    assert server.get("/open?tag:green").status == 403
    assert server.get("/cache?tag:green").status == 200
    assert b"no Require says who may use it" in server.error_log()


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_the_page_for_browsers(serve, backend):
    """What is stored, why not, and forms without a script; others get the text."""
    backend.scripts["*"] = tagged
    backend.scripts["/none"] = answer(b"x", fields=[("Cache-Control", "no-store")])
    server = serve(config(backend, "BuiltinPages modern\n" + MANAGER.format("Require ip 127.0.0.1")))
    known(server, "/p/a", "/p/b", "/p/b", "/p/none")
    got = server.get("/cache", headers=BROWSER)
    body = got.body.decode()
    assert got["Content-Type"].startswith("text/html") and "<script" not in body and "frame-ancestors 'none'" in got["Content-Security-Policy"]
    assert "http://localhost/p/b" in body.split("Asked for most")[1].split("</section>")[0]
    assert "http://localhost/p/a" in body.split("Biggest")[1].split("</section>")[0]
    assert "Cache-Control: no-store present" in body.split("Why answers were not stored")[1]
    found = server.get("/cache?find=http%3A%2F%2Flocalhost%2Fp%2Fa", headers=BROWSER).body.decode()
    assert "tags     red, green" in found
    action = re.search(r'<form method="post" action="(\?[^"]*)">.*?<button>Purge: ', found)[1]
    assert server.request("POST", "/cache" + action, headers={**BROWSER, "Sec-Fetch-Site": "cross-site"}).status == 403
    done = server.request("POST", "/cache" + action, headers={**BROWSER, "Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"})
    assert done.status == 303 and done["Location"].endswith("/cache?find=http%3a%2f%2flocalhost%2fp%2fa"), done
    assert known(server, "/p/a", "/p/b") == ["MISS", "HIT"]
    assert server.get("/cache" + re.search(r'href="(\?style=\w+)"', body)[1])["Content-Type"].startswith("text/css")
    assert b"GET ?URL says" in server.get("/cache").body


def test_the_page_escapes(serve, backend):
    backend.scripts["*"] = tagged
    server = serve(config(backend, "BuiltinPages modern\n" + MANAGER.format("Require ip 127.0.0.1")))
    known(server, "/p/a?<script>alert(1)</script>")
    for query in ("", "?find=http%3A%2F%2Flocalhost%2Fp%2F%3Cscript%3E*", "?find=%22%3E%3Cscript%3E"):
        assert b"<script" not in server.get("/cache" + query, headers=BROWSER).body


@pytest.mark.parametrize("loops", [1, 2])
def test_hit_rate_by_virtual_host(serve, backend, loops):
    """Loops and workers count, and what the loop's own cache answers counts, too; a host that nobody asked has no row."""
    backend.scripts["*"] = tagged
    backend.scripts["/none"] = answer(b"x", fields=[("Cache-Control", "no-store")])
    server = serve.unstarted("")
    rest = config(backend, f"EventLoops {loops}\nBuiltinPages modern\n" + MANAGER.format("Require ip 127.0.0.1"))
    server.config = rest + "<VirtualHost *:@PORT@>\nServerName one.example\n</VirtualHost>\n<VirtualHost *:@PORT@>\nServerName two.example\n</VirtualHost>\n"
    server.start()
    for host, path, times in ("one.example", "/p/a", 10), ("two.example", "/p/none", 3), ("two.example", "/p/b", 2):
        for _ in range(times):
            assert server.get(path, headers={"Host": host}).status == 200

    def rates():
        body = server.get("/cache", headers={**BROWSER, "Host": "one.example"}).body.decode().split("Hit rate by virtual host")[1].split("</section>")[0]
        return dict(re.findall(r"<tr><td>(\S+?)(?::\d+)?</td><td class=\"n\">(.*?) %</td>", body))
    wanted = {"one.example": '10</td><td class="n">9</td><td class="n">90.0', "two.example": '5</td><td class="n">1</td><td class="n">20.0'}
    wait_until(lambda: rates() == wanted, f"rates, not {rates()}")
