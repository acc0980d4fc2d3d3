# SPDX-License-Identifier: Apache-2.0
"""EarlyHints learn: 103 with what the last answers of a page named, once two clients got it."""
import itertools
import shutil
import subprocess
import threading

import pytest

import brigade
import h2_client
from backend import Backend, answer
from script_backend import Script

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")]
PAGE = b"""<!doctype html><html><head><title>x</title>
<!-- <link rel="stylesheet" href="/comment.css"> -->
<link rel="stylesheet" href="/css/site.css?ver=6.1">
<LINK HREF='late.css' REL='stylesheet'>
<link rel="alternate stylesheet" href="/alternate.css"><link rel=stylesheet media=print href=/print.css>
<link rel="stylesheet" href="https://elsewhere.example/far.css"><link rel="stylesheet" href="//elsewhere.example/far.css">
<link rel="stylesheet" href="http://localhost/own.css"><link rel="icon" href="/icon.png">
<link rel="preload" as="font" href="/font.woff2"><link rel="preload" as="image" href="/picture.png">
<style>a { content: "<link rel=stylesheet href=/style.css>" }</style>
<script>document.write("<link rel='stylesheet' href='/written.css'>")</script>
<script type="module" src="/app.js" crossorigin></script><script nomodule src="/old.js"></script>
<script src="data:text/javascript,1"></script><script src="/a&amp;b.js"></script><script src="../up.js"></script>
<script async src="/plain.js"></script></head><body>page</body></html>"""
LEARNT = ["</css/site.css?ver=6.1>; rel=preload; as=style", "</p/late.css>; rel=preload; as=style", "</own.css>; rel=preload; as=style",
          "</font.woff2>; rel=preload; as=font; crossorigin", "</app.js>; rel=modulepreload; crossorigin", "</plain.js>; rel=preload; as=script"]
HTML = [("Content-Type", "text/html; charset=utf-8")]
ACCEPT = "Accept: text/html,*/*"


def config(backend, more=""):
    return f"""ServerProcesses 1
Protocols h2c http/1.1
ProxyPass /p/ http://127.0.0.1:{backend.port}/p/
<Location /p/>
EarlyHints learn
</Location>
<Location /p/off/>
EarlyHints off
</Location>
{more}
"""


def heads(server, path="/p/a", client=1, protocol="--http2-prior-knowledge", fields=(ACCEPT,)):
    """[(status, Link fields)] of what one client gets."""
    done = subprocess.run(["curl", "-s", "-D", "-", "-o", "/dev/null", protocol, "--interface", f"127.0.0.{client}", "--max-time", str(int(brigade.PATIENCE)),
                           "-H", "Host: localhost", *(part for field in fields for part in ("-H", field)), f"http://127.0.0.1:{server.port}{path}"],
                          capture_output=True, check=True)
    return [(int(head.split()[1]), [line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("link: ")])
            for head in done.stdout.decode().split("\r\n\r\n") if head]


@pytest.fixture
def backend():
    with Backend({"*": answer(PAGE, fields=HTML)}) as backend:
        yield backend


@pytest.mark.parametrize("loops", [1, 2])
def test_learnt_from_html(serve, backend, loops):
    """Not before a second client got it; then for everybody, before the backend answers."""
    server = serve(config(backend, f"EventLoops {loops}\n"))
    assert [status for status, _ in heads(server)] == [200]
    assert [status for status, _ in heads(server)] == [200], "one client alone"
    assert [status for status, _ in heads(server, client=2)] == [200]
    assert heads(server, client=3) == [(103, LEARNT), (200, [])]
    held, seen = threading.Event(), []

    def waits(connection, request):
        seen.append(held.wait(brigade.PATIENCE))
        return answer(PAGE, fields=HTML)
    backend.scripts["*"] = waits
    with h2_client.Connection(server.port) as h2:
        h2.request(1, path="/p/a", fields=[("accept", "text/html")])
        assert h2_client.status_of(h2.expect(h2_client.HEADERS)[3]) == 103 and not seen
        held.set()
        assert h2_client.status_of(h2.expect(h2_client.HEADERS)[3]) == 200


@pytest.mark.parametrize("path", ["/p/a%3Fb/c", "/p/a%23b/c", "/p/a%2541/c"])
def test_relative_targets_of_odd_paths(serve, backend, path):
    """The decoded path of the page with a relative target behind it would be a path with a query: such targets are left out."""
    backend.scripts["*"] = answer(b"<link rel=stylesheet href=late.css><script src=/plain.js></script>", fields=HTML)
    server = serve(config(backend))
    for client in (1, 2):
        heads(server, path, client=client)
    assert heads(server, path, client=3)[0] == (103, ["</plain.js>; rel=preload; as=script"])


@pytest.mark.parametrize("rules", ["FallbackResource /i/i.php", "RewriteEngine On\nRewriteRule . /i/i.php [L]", "DirectoryIndex i.php"])
def test_learnt_where_rules_lead_to_the_script(serve, rules):
    """As with WordPress. Relative targets are of the page that the client asked for."""
    page = b"<link rel=stylesheet href=late.css><script src=/plain.js></script>"
    with Script("fcgi", lambda params, body, send: one.answer(send, page, fields="Content-Type: text/html\r\n")) as one:
        server = serve(f'ServerProcesses 1\nProtocols h2c http/1.1\nEarlyHints learn\n<Directory @ROOT@/htdocs/p>\n{rules}\n</Directory>\n'
                       f'<Files "i.php">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</Files>\n', files={"i/i.php": "", "p/i.php": ""})
        path = "/p/" if "Index" in rules else "/p/a"
        for client in (1, 2):
            heads(server, path, client=client)
        assert heads(server, path, client=3)[0] == (103, ["</p/late.css>; rel=preload; as=style", "</plain.js>; rel=preload; as=script"])
        assert [status for status, _ in heads(server, "/i/i.php", client=3)] == [200], "that is another page"


def test_learnt_from_fields(serve, backend):
    backend.scripts["*"] = answer(b"x", fields=[("Content-Type", "text/plain"), ("Link", '</a.css>; rel="preload"; as=style, <https://x.example/b.css>; rel=preload; as=style'),
                                                ("Link", "<c.js>;as=script;rel=preload;crossorigin, </next>; rel=next, </m.js>; rel=modulepreload")])
    server = serve(config(backend))
    for client in (1, 2):
        heads(server, client=client)
    assert heads(server)[0] == (103, ["</a.css>; rel=preload; as=style", "</p/c.js>; rel=preload; as=script; crossorigin", "</m.js>; rel=modulepreload"])


def test_what_one_client_got_is_not_told(serve, backend):
    """A target that is another one for each client, and one that is gone."""
    numbers = itertools.count()
    backend.scripts["*"] = lambda connection, request: answer(f"<link rel=stylesheet href=/all.css><script src=/of/{next(numbers)}.js></script>".encode(), fields=HTML)
    server = serve(config(backend))
    for client in (1, 2, 3, 4):
        heads(server, client=client)
    assert heads(server, client=5)[0] == (103, ["</all.css>; rel=preload; as=style"])
    backend.scripts["*"] = answer(b"<p>Nothing any more", fields=HTML)
    for client in range(1, 40):
        heads(server, client=client % 9 + 1)
    assert [status for status, _ in heads(server)] == [200]


@pytest.mark.parametrize("said", ["private", "max-age=0, Private", "no-cache, no-store, must-revalidate"])
def test_a_users_own_page_teaches_nothing(serve, backend, said):
    """Who comes from two networks counts as two clients: what his page alone names would be told to all."""
    server = serve(config(backend))
    backend.scripts["*"] = answer(b"<link rel=stylesheet href=/of/anna.css>", fields=[*HTML, ("Cache-Control", said)])
    for client in (1, 2, 1, 2):
        heads(server, client=client)
    assert [status for status, _ in heads(server, client=3)] == [200]
    backend.scripts["*"] = answer(PAGE, fields=HTML)
    for client in (1, 2):
        heads(server, client=client)
    assert heads(server, client=3)[0] == (103, LEARNT), "answers for all teach the next one"


@pytest.mark.parametrize("how", ["http/1.1", "no page is wanted", "a fetch", "off", "another path", "authorization", "post"])
def test_who_is_told_nothing(serve, backend, how):
    server = serve(config(backend))
    for client in (1, 2):
        heads(server, client=client)
    more = {"http/1.1": {"protocol": "--http1.1"}, "no page is wanted": {"fields": ["Accept: image/*"]}, "a fetch": {"fields": [ACCEPT, "Sec-Fetch-Mode: cors"]},
            "off": {"path": "/p/off/a"}, "another path": {"path": "/p/b"}, "authorization": {"fields": [ACCEPT, "Authorization: Basic eDp5"]},
            "post": {"fields": [ACCEPT, "X-HTTP-Method: POST"], "path": "/p/post"}}[how]
    assert [status for status, _ in heads(server, client=3, **more)] == [200]
    assert [status for status, _ in heads(server, client=3, fields=[ACCEPT, "Sec-Fetch-Mode: navigate"])] == [103, 200]


def test_compressed_pages(serve, backend):
    """The page is read before it is compressed here; one that the backend compressed is not read."""
    server = serve(config(backend, "AddOutputFilterByType DEFLATE text/html\n"))
    for client in (1, 2):
        heads(server, client=client, fields=[ACCEPT, "Accept-Encoding: gzip"])
    assert heads(server, fields=[ACCEPT, "Accept-Encoding: gzip"])[0] == (103, LEARNT)


def test_files_and_stored_answers_need_none(serve, backend):
    """What is there at once is sent at once."""
    backend.scripts["*"] = answer(PAGE, fields=[*HTML, ("Cache-Control", "max-age=600")])
    server = serve(config(backend, "CacheEnable memory /p/\nEarlyHints learn\n"), files={"a.html": PAGE.decode()})
    for client in (1, 2, 3):
        assert [status for status, _ in heads(server, client=client)] == [200]
        assert [status for status, _ in heads(server, "/a.html", client=client)] == [200]
    assert len(backend.requests) == 1


def test_strange_pages(serve, backend):
    """Elements that do not end, bytes of any kind, pages of many pieces: the body is what the backend sent."""
    server = serve(config(backend))
    for n, page in enumerate((b"<link", b"<link rel=stylesheet href=/a", b"<script src='", b"<link rel=stylesheet href='/a\r\nX: y'>", b"<link rel=stylesheet href=\"/a\xff\x00\">",
                              b"<!--", b"<style>", b"<link " * 3000, b"<link rel=stylesheet href=/" + b"a" * 300 + b">", b"<" * 20000,
                              b"".join(b"<link rel=stylesheet href=/%d.css>" % i for i in range(2000)))):
        backend.scripts["*"] = answer(page, fields=HTML)
        for client in (1, 2, 3):
            found = heads(server, f"/p/{n}", client=client)
            assert found[-1][0] == 200 and all(len(links) <= 8 for _, links in found)
        assert server.get(f"/p/{n}").body == page
        if n < 10:
            assert len(found) == 1, page[:80]


def test_mistakes(serve):
    done = serve.unstarted("EarlyHints on\n").run("-t")
    assert done.returncode == 1 and b"EarlyHints must be learn or off" in done.stderr
