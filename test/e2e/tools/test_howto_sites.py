# SPDX-License-Identifier: Apache-2.0
"""How-tos that are complete (docs/guides): a server is started with their configuration and does what they say."""
import base64
import http.client
import pathlib
import re
import shutil
import socket
import ssl
import subprocess

import pytest

from backend import Backend, answer
from brigade import BINARY, free_port, wait_until
from http_client import Client
from module_source import compile_file

HOWTO = pathlib.Path(__file__).resolve().parents[3] / "docs/guides"
pytestmark = pytest.mark.only("brigade")


def blocks(name, kind):
    return re.findall(rf"^```{re.escape(kind)}\n(.*?)^```$", (HOWTO / f"{name}.md").read_text(), re.M | re.S)


# ---- a static site ----

PAGES = {"www/index.html": "<p>Home</p>" * 200, "www/new.html": "new", "www/assets/app.1.css": "a{}", "www/api/a.json": "{}",
         "www/errors/404.html": "OUR 404", "www/errors/403.html": "OUR 403", "www/.git/config": "secret", "www/.env": "secret", "www/a/.svn/x": "secret", "www/.well-known/acme-challenge/t": "token"}


class Site:
    def __init__(self, server, plain, tls):
        self.server, self.plain, self.tls = server, plain, tls

    def get(self, path, host="www.example.org", secure=True, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", timeout=20)
        connection.sock = socket.create_connection(("127.0.0.1", self.tls if secure else self.plain), timeout=20)
        if secure:
            connection.sock = ssl._create_unverified_context().wrap_socket(connection.sock, server_hostname=host)
        connection.request("GET", path, headers={"Host": host, **{k.replace("_", "-"): v for k, v in fields.items()}})
        answer = connection.getresponse()
        answer.body, answer.field = answer.read(), answer.headers.get
        connection.close()
        return answer


def certificate(server):
    key, cert = server.path("key.pem"), server.path("cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                    "-subj", "/CN=www.example.org", "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    return key, cert


@pytest.fixture
def site(serve):
    """The configuration as it stands, with its ports and paths led elsewhere."""
    server = serve.unstarted()
    for name, text in PAGES.items():
        server.write(name, text, base="")
    key, cert = certificate(server)
    plain, tls = free_port(), free_port()
    text = blocks("22-static-site", "apache (complete)")[0]
    for old, new in (("Listen 80\n", f"Listen 127.0.0.1:{plain}\n"), ("Listen 443 https", f"Listen 127.0.0.1:{tls} https"), ("*:80>", f"*:{plain}>"),
                     ("*:443>", f"*:{tls}>"), ("/etc/letsencrypt/live/www.example.org/fullchain.pem", cert),
                     ("/etc/letsencrypt/live/www.example.org/privkey.pem", key), ("/srv/www", server.path("www")),
                     ('ServerRoot "/etc/brigade"', f'ServerRoot "{server.root}"'), ("/run/brigade/brigade.pid", server.path("logs/pid")),
                     ("/var/log/brigade/", server.path("logs/"))):
        assert old in text, old
        text = text.replace(old, new)
    conf = pathlib.Path(server.path("site.conf"))
    conf.write_text(text)
    for arguments in (["-t"], ["-k", "start"]):
        done = subprocess.run([BINARY, "-f", conf, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "warn" not in done.stderr.lower(), done.stderr
    pid = pathlib.Path(server.path("logs/pid"))
    found = Site(server, plain, tls)

    def answers():
        try:
            return found.get("/")
        except OSError:
            return None
    try:
        wait_until(answers, "the site")
        yield found
    finally:
        subprocess.run([BINARY, "-f", conf, "-k", "stop"], timeout=60, check=True)
        wait_until(lambda: not pid.exists(), "its end")


def test_static_site(site):
    home = site.get("/")
    assert home.status == 200 and home.field("Strict-Transport-Security") == "max-age=31536000" and home.field("Cache-Control") == "no-cache"
    assert home.field("Content-Type") == "text/html; charset=utf-8" and home.field("X-Content-Type-Options") == "nosniff"
    assert "frame-ancestors 'self'" in home.field("Content-Security-Policy")
    assert site.get("/", If_None_Match=home.field("ETag")).status == 304
    small = site.get("/", Accept_Encoding="gzip, br")
    assert small.field("Content-Encoding") in ("gzip", "br") and len(small.body) < len(home.body) // 4
    assert site.get("/assets/app.1.css").field("Cache-Control") == "public, max-age=31536000, immutable"
    assert site.get("/api/a.json").field("Access-Control-Allow-Origin") == "*" and home.field("Access-Control-Allow-Origin") is None


def test_static_site_redirects(site):
    for path, where, options in (("/a?b=c", "https://www.example.org/a?b=c", {"secure": False}),
                                 ("/", "https://www.example.org/", {"secure": False, "host": "example.org"}),
                                 ("/x", "https://www.example.org/x", {"host": "example.org"}),
                                 ("/old.html", "https://www.example.org/new.html", {}),
                                 ("/blog/17", "https://www.example.org/posts/17.html", {})):
        answer = site.get(path, **options)
        assert answer.status == 301 and answer.field("Location").replace(f":{site.tls}/", "/") == where, (path, answer.field("Location"))
    assert site.get("/.well-known/acme-challenge/t", secure=False).body == b"token"


def test_static_site_errors(site):
    for path, status, body in (("/none", 404, b"OUR 404"), ("/.git/config", 404, b"OUR 404"), ("/.env", 404, b"OUR 404"), ("/a/.svn/x", 404, b"OUR 404")):
        answer = site.get(path)
        assert (answer.status, answer.body) == (status, body)
        assert answer.field("Strict-Transport-Security")


def test_static_site_speaks_http2(site):
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", site.tls), timeout=20) as s, context.wrap_socket(s, server_hostname="www.example.org") as t:
        assert t.selected_alpn_protocol() == "h2"


# ---- passwords ----

def authorization(user, password):
    return [("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())]


@pytest.mark.skipif(not shutil.which("htpasswd"), reason="htpasswd is not installed")
def test_passwords(serve):
    """The files as htpasswd makes them; a new user counts at once."""
    text = "\n".join(blocks("23-passwords", "apache")).replace("/etc/brigade/", "@ROOT@/")
    server = serve.unstarted(text, {"private/a.txt": "private", "staff/a.txt": "staff"})
    commands = [line.split("#")[0].replace("/etc/brigade/users", server.path("users")).split()
                for line in blocks("23-passwords", "sh (not tried)")[0].splitlines() if line.startswith("htpasswd")]
    for i, command in enumerate(commands):
        subprocess.run([command[0], "-b", *command[1:], f"word{i}"], check=True, capture_output=True, timeout=60)
    server.write("groups", "staff: alice carol\n", base="")
    for name in ("users", "groups"):
        pathlib.Path(server.path(name)).chmod(0o644)
    server.start()
    refused = server.get("/private/a.txt")
    assert refused.status == 401 and refused["WWW-Authenticate"] == 'Basic realm="Private"'
    assert server.get("/private/a.txt", headers=authorization("alice", "word0")).body == b"private"
    assert server.get("/private/a.txt", headers=authorization("bob", "word1")).body == b"private"
    assert server.get("/private/a.txt", headers=authorization("bob", "word0")).status == 401
    assert server.get("/staff/a.txt", headers=authorization("alice", "word0")).body == b"staff"
    assert server.get("/staff/a.txt", headers=authorization("bob", "word1")).status == 401
    assert b"AH01617" in server.error_log()
    subprocess.run(["htpasswd", "-bB", server.path("users"), "eve", "word2"], check=True, capture_output=True, timeout=60)
    wait_until(lambda: server.get("/private/a.txt", headers=authorization("eve", "word2")).status == 200, "the new user")


# ---- an application behind it ----

def gone(backend):
    """At once: a thread in accept() takes another connection from a listener that is only closed."""
    backend.listener.shutdown(socket.SHUT_RDWR)
    backend.close()


def test_application(serve):
    """Files stay here, all else is the application's, with the client's host; its redirects lead to ours; WebSocket passes; 503 is ours."""
    def switched(connection, request):
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        connection.send(b"echo " + connection.exactly(5))
        return False

    with Backend({"/socket": switched, "/old": lambda c, r: answer(status="302 Found", fields=[("Location", f"http://127.0.0.1:{application.port}/new")])}) as application:
        port = free_port()
        text = blocks("28-application", "apache (one)")[0] + "".join(blocks("28-application", "apache"))
        for old, new in (("*:80>", f"*:{port}>"), ("127.0.0.1:3000", f"127.0.0.1:{application.port}"), ("/srv/app/assets", "@ROOT@/htdocs/assets"),
                         ("timeout=60", "timeout=60 retry=0")):
            assert old in text, old
            text = text.replace(old, new)
        server = serve(f"Listen 127.0.0.1:{port}\n{text}", {"assets/a.css": "a{}"})

        def get(path, headers=()):
            with Client("127.0.0.1", port, timeout=20) as client:
                return client.request("GET", path, headers=list(headers), host=f"www.example.org:{port}")
        assert get("/assets/a.css").body == b"a{}" and not application.requests
        assert get("/page").body == b"ok\n"
        (seen,) = application.requests
        assert (seen["Host"], seen["X-Forwarded-For"], seen["X-Forwarded-Proto"]) == (f"www.example.org:{port}", "127.0.0.1", "http")
        assert get("/old")["Location"] == f"http://www.example.org:{port}/new"
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            sock.sendall(b"GET /socket HTTP/1.1\r\nHost: www.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
            got = b""
            while not got.endswith(b"echo hello"):
                more = sock.recv(4096)
                assert more, got
                got += more
        gone(application)
        said = wait_until(lambda: (answered := get("/page")).status == 503 and answered, "the application's end")
        assert said.body == b"The application is being restarted." and get("/assets/a.css").status == 200
    assert server.error_log()


def test_several_applications(serve):
    """Each of the two answers; the third one when both are gone."""
    with Backend({"*": answer(b"1")}) as first, Backend({"*": answer(b"2")}) as second, Backend({"*": answer(b"3")}) as spare:
        text = blocks("28-application", "apache (several)")[0]
        for number, backend in enumerate((first, second, spare), 3001):
            assert f":{number}" in text
            text = text.replace(f":{number}", f":{backend.port}")
        server = serve(text)
        assert {server.get("/").body for _ in range(60)} == {b"1", b"2"}
        gone(first)
        gone(second)
        wait_until(lambda: server.get("/").body == b"3", "the spare one")


# ---- a module that waits ----

def test_waiting_module(serve, tmp_path):
    """It compiles without a warning, is one for event loops, and answers when the time is up."""
    source = tmp_path / "mod_pause.c"
    source.write_text(blocks("24-waiting-module", "c")[0])
    so = compile_file(source, tmp_path / "mod_pause.so", "-Werror")
    tmp_path.chmod(0o755)
    shown = subprocess.run([BINARY, "--check-module", so], capture_output=True, text=True, timeout=60).stdout
    assert "runs on event loops" in shown, shown
    server = serve(f"LoadModule pause_module {so}\n" + blocks("24-waiting-module", "apache (not tried)")[0])
    assert server.get("/pause?20").body == b"Time is up.\n"
    assert server.get("/pause?0").status == 400 and server.get("/pause?90000").status == 400


# ---- measuring ----

def test_benchmarking(serve):
    """The commands give the figures that the table explains, and those of processor time are numbers."""
    server = serve(blocks("25-benchmarking", "apache")[0], {"index.html": "a" * 1000})
    table = (HOWTO / "25-benchmarking.md").read_text()
    ab = [shutil.which("ab"), "-k", "-n", "200", "-c", "5", f"http://127.0.0.1:{server.port}/"]
    wrk = [shutil.which("wrk"), "-t", "1", "-c", "4", "-d", "1s", "--latency", f"http://127.0.0.1:{server.port}/"]
    for command, figures in ((ab, ("Failed requests", "Requests per second", "Time per request", "Transfer rate", "50%", "99%")),
                             (wrk, ("Requests/sec", "Transfer/sec", "50%", "99%"))):
        if command[0]:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            assert [f for f in figures if f not in done.stdout or f"`{f}`" not in table] == [], done.stdout
            assert "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout
