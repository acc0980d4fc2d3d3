# SPDX-License-Identifier: Apache-2.0
"""FastCGI, SCGI and uwsgi: what scripts get, what clients get, and scripts on bad days."""
import io
import os
import signal
import socket
import threading
import zlib

import pytest

from brigade import wait_until
from script_backend import STDERR, STDOUT, Script, end, record

pytestmark = pytest.mark.only("brigade")


def config(script, more=""):
    return f'EventLoops 1\nProxyPass /s/ "unix:{script.path}|{script.protocol}://localhost/srv/" {more}\n'


@pytest.mark.parametrize("protocol", ["fcgi", "scgi", "uwsgi"])
def test_requests(serve, protocol):
    def script(params, body, send):
        one.answer(send, b"%s %d " % (params["REQUEST_METHOD"].encode(), len(body)) + body[:3])
    with Script(protocol, script) as one:
        server = serve(config(one))
        got = server.get("/s/a.php?q=1", headers={"X-Y": "z", "Proxy": "evil"})
        assert got.status == 200 and got.body == b"GET 0 " and got["Content-Type"] == "text/plain"
        params = one.seen[0][0]
        assert params["QUERY_STRING"] == "q=1" and params["REQUEST_URI"] == "/s/a.php?q=1" and params["HTTP_X_Y"] == "z"
        assert "HTTP_PROXY" not in params
        for size in (1, 5000, 60000, 3000000):
            body = b"abc" + b"x" * size
            assert server.request("POST", "/s/b.php", body=body).body == b"POST %d abc" % len(body)
            assert one.seen[-1][1] == body and one.seen[-1][0]["CONTENT_LENGTH"] == str(len(body))
        with server.connect() as client:
            client.send(b"POST /s/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            if protocol != "fcgi":  # as Apache's modules
                assert client.read_response().status == 411
                return
            assert client.read_response().body == b"POST 5 abc"
            assert one.seen[-1][0]["CONTENT_LENGTH"] == "5" and "HTTP_TRANSFER_ENCODING" not in one.seen[-1][0]
            client.send(b"POST /s/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"8000\r\n" + b"y" * 0x8000 + b"\r\n") * 10 + b"0\r\n\r\n")
            assert client.read_response().body == b"POST 327680 yyy"
        wait_until(lambda: one.open == 0, "no connection is kept")


@pytest.mark.parametrize("protocol", ["fcgi", "scgi", "uwsgi"])
def test_answers(serve, protocol):
    big = bytes(range(256)) * 8000

    def script(params, body, send):
        which = params["REQUEST_URI"].split("/")[-1]
        if which == "big":
            one.answer(send, big)
        elif which == "missing":
            one.answer(send, b"no\n", "404 Not Here", "X-A: b\r\n")
        else:
            one.answer(send, b"", "302 Found", "Location: http://elsewhere/\r\n")
    with Script(protocol, script) as one:
        server = serve(config(one))
        for _ in range(2):
            assert server.get("/s/big").body == big
        got = server.get("/s/missing")
        assert got.status == 404 and got.body == b"no\n" and got["X-A"] == "b"
        got = server.get("/s/moved")
        assert got.status == 302 and got["Location"] == "http://elsewhere/"


def test_handler(serve):
    """As PHP-FPM is set up: SetHandler."""
    with Script("fcgi", lambda params, body, send: one.answer(send, params["SCRIPT_FILENAME"].encode())) as one:
        server = serve(f'<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</FilesMatch>\nAcceptPathInfo On\n',
                       {"a.php": "<?php ?>"})
        assert server.get("/a.php").body == b"proxy:fcgi://localhost/" + server.path("htdocs", "a.php").encode()  # as Apache; FPM knows it
        assert server.get("/a.php/info").status == 200 and one.seen[-1][0]["PATH_INFO"] == "/info"
        assert server.get("/none.php").status in (200, 404)


def test_handlers_of_one_server(serve):
    """Each loop knows what they mean, whatever the file and the virtual host: two sockets, a URL with a path, one with variables."""
    def text(params, body, send):
        one.answer(send, f"one {params['SCRIPT_FILENAME']}".encode())

    def other_text(params, body, send):
        two.answer(send, f"two {params['SCRIPT_FILENAME']}".encode())
    with Script("fcgi", text) as one, Script("fcgi", other_text) as two:
        server = serve(f'EventLoops 1\n<Files "*.one">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</Files>\n'
                       f'<Files "*.two">\nSetHandler "proxy:unix:{two.path}|fcgi://localhost/dir"\n</Files>\n'
                       f'<Files "*.bare">\nSetHandler "proxy:unix:{two.path}|fcgi://localhost:9000"\n</Files>\n'
                       f'<Files "*.each">\nSetHandler "expr=proxy:unix:{two.path}|fcgi://localhost/%{{QUERY_STRING}}"\n</Files>\n',
                       {"a b.one": "", "c.two": "", "d.bare": "", "e.each": ""})
        root = server.path("htdocs")
        for n in range(40):
            assert server.get("/a%20b.one").body == f"one proxy:fcgi://localhost/{root}/a b.one".encode()
            assert server.get("/c.two").body == f"two proxy:fcgi://localhost/dir{root}/c.two".encode()
            assert server.get("/d.bare").body == f"two proxy:fcgi://localhost:9000{root}/d.bare".encode()
            assert server.get(f"/e.each?{n}").body == f"two proxy:fcgi://localhost/{n}{root}/e.each".encode()


def test_scripts_that_read_slowly(serve):
    """A socket that is full is gone on with when there is room, also a Unix socket, which is not asked for room before."""
    def script(params, body, send):
        one.answer(send, b"%d" % len(body))
    with Script("fcgi", script) as one:
        server = serve(config(one))
        for size in (300000, 2000000, 7000000):
            assert server.request("POST", "/s/a", body=b"x" * size).body == b"%d" % size


@pytest.mark.parametrize("protocol", ["fcgi", "scgi"])
def test_scripts_that_are_documents_of_errors(serve, protocol):
    """The status of the error stays, as with Apache, unless the script says another."""
    def script(params, body, send):
        head = {"/said.php": b"Status: 200 Here\r\n", "/other.php": b"Status: 410 Gone\r\n"}.get(params["SCRIPT_NAME"], b"")
        text = head + b"Content-Type: text/plain\r\n\r\nfor " + params.get("REDIRECT_STATUS", "none").encode()
        send(record(STDOUT, text) + record(STDOUT) + end() if protocol == "fcgi" else text)
        return protocol == "fcgi"
    with Script(protocol, script) as one:
        folders = "".join(f"<Location /{name}/>\nErrorDocument 404 /{name}.php\n</Location>\n" for name in ("plain", "said", "other"))
        server = serve(f'EventLoops 1\n<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{one.path}|{protocol}://localhost"\n</FilesMatch>\n{folders}',
                       files={f"{name}.php": "" for name in ("plain", "said", "other")})
        for name, status in (("plain", 404), ("said", 200), ("other", 410)):
            for _ in range(2):
                got = server.get(f"/{name}/none.html")
                assert got.status == status and got.body == b"for 404"
        assert server.get("/plain.php").status == 200


def test_redirects_of_names_of_scripts_come_from_memory(serve):
    """A phase answers before the handler, which is then no dependency; what the script answers is asked for each time."""
    def script(params, body, send):
        one.answer(send, b"script")
    with Script("fcgi", script) as one:
        rules = "RewriteEngine On\nRewriteRule ^index\\.php$ http://elsewhere.example/ [R=301,L]\nRedirect 302 /none.php /page.html\nRewriteRule ^gone\\.php$ - [G]\n"
        server = serve(f'EventLoops 1\nCustomLog @ROOT@/logs/asked "%U %{{cache-result}}e"\n<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost"\n</FilesMatch>\n',
                       files={"index.php": "", "page.php": "", ".htaccess": rules})
        for name in ("index.php", "page.php", ".htaccess"):
            os.utime(server.path("htdocs", name), (1e9, 1e9))
        wanted = {"/index.php": 301, "/none.php": 302, "/gone.php": 410, "/page.php": 200}
        for target, status in wanted.items():
            assert [server.get(target).status for _ in range(6)] == [status] * 6
        lines = wait_until(lambda: (got := server.read("logs/asked").decode().splitlines()) and len(got) == 24 and got, "24 lines")
        assert {line.split()[0] for line in lines[5::6] if "MEM_HIT" in line} == {"/index.php", "/none.php", "/gone.php"}


def test_rules_of_a_folder_that_lead_on_twice(serve):
    """The target of a rule is no file, and the next rule leads on to a script, which waits for its backend there."""
    def script(params, body, send):
        one.answer(send, b"%s for %s, %d" % (params["SCRIPT_NAME"].encode(), params["REQUEST_URI"].encode(), len(body)))
    with Script("fcgi", script) as one:
        rules = ("RewriteEngine On\nRewriteCond %{REQUEST_URI} ^/admin/\nRewriteRule . none.php [L]\n"
                 "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . index.php\n")
        server = serve(f'EventLoops 1\n<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost"\n</FilesMatch>\n',
                       files={"index.php": "", ".htaccess": rules})
        for size in (0, 5, 300000):
            for target in ("/admin/", "/admin/x?y=1", "/other"):
                got = server.request("POST" if size else "GET", target, body=b"b" * size)
                assert got.status == 200 and got.body == b"/index.php for %s, %d" % (target.encode(), size)


def test_what_a_script_is_may_change(serve):
    """What is known of its file ends with a change of its path: it becomes a folder, goes, comes back; its folder moves."""
    with Script("fcgi", lambda params, body, send: one.answer(send, params["SCRIPT_FILENAME"].rsplit("/", 1)[1].encode())) as one:
        server = serve(f'EventLoops 1\nDirectoryIndex index.html\n<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</FilesMatch>\n'
                       "AcceptPathInfo On\n", {"in/a.php": "<?php ?>", "other/index.html": "index"})
        folder, path = server.path("htdocs", "in"), server.path("htdocs", "in", "a.php")

        def known():
            for _ in range(4):
                assert server.get("/in/a.php").body == b"a.php"
            assert server.get("/in/a.php/info").body == b"a.php" and one.seen[-1][0]["PATH_INFO"] == "/info"
        known()
        os.remove(path)
        os.mkdir(path)
        for _ in range(3):
            got = server.get("/in/a.php")
            assert got.status == 301 and got["Location"].endswith("/in/a.php/")
        os.rmdir(path)
        with open(path, "w", encoding="utf-8") as f:
            f.write("<?php ?>")
        known()
        os.rename(folder, folder + "2")
        os.symlink(server.path("htdocs", "other"), folder)
        os.mkdir(server.path("htdocs", "other", "a.php"))
        for _ in range(3):
            assert server.get("/in/a.php").status == 301
        os.remove(folder)
        os.rename(folder + "2", folder)
        known()


@pytest.mark.parametrize("kind", ["server-status", "balancer-manager", "proxy:http://127.0.0.1:1/", "proxy-server", "cgi-script", "httpd/send-as-is"])
@pytest.mark.parametrize("protocol,directive,field", [("fcgi", "ProxyFCGIInternalRedirect On", "X-Accel-Redirect"), ("scgi", "", "Location"), ("fcgi", "", "X-None")])
def test_types_are_no_handlers(serve, protocol, directive, field, kind):
    """What a script says of its answer's type chooses no handler here, not even where the answer leads to a file of this server."""
    def script(params, body, send):
        text = f"Content-Type: {kind}\r\n{field}: /a.txt\r\n\r\nfrom the script".encode()
        send(text if protocol == "scgi" else record(STDOUT, text) + end())
    with Script(protocol, script) as one:
        server = serve(config(one) + directive + "\n", {"a.txt": "from the file"})
        for _ in range(2):
            assert server.get("/s/x").body == (b"from the script" if field == "X-None" else b"from the file")


@pytest.mark.parametrize("protocol", ["fcgi", "scgi", "uwsgi"])
def test_names_of_fields(serve, protocol):
    """Two fields never become one variable: only letters, digits and hyphens do."""
    with Script(protocol, lambda params, body, send: one.answer(send, b"ok")) as one:
        server = serve(config(one))
        got = server.raw(b"GET /s/a HTTP/1.1\r\nHost: x\r\nX-Own: mine\r\nX_Own: theirs\r\nX.Own: theirs\r\nProxy: evil\r\nAuth_User: root\r\nConnection: close\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 200 ")
        params = one.seen[0][0]
        assert params["HTTP_X_OWN"] == "mine" and not {"HTTP_PROXY", "HTTP_AUTH_USER"} & set(params)


def test_pieces_of_records(serve):
    """Records in every cut."""
    text = record(STDERR, b"message") + record(STDOUT, b"Content-Type: text/plain\r\n\r\nab") + record(STDOUT, b"", 5) + record(STDOUT, b"cd", 3) + end()

    def script(params, body, send):
        n = int(params["QUERY_STRING"])
        for at in range(0, len(text), n):
            send(text[at:at + n])
    with Script("fcgi", script) as one:
        server = serve(config(one))
        for n in range(1, 30):
            assert server.get(f"/s/x?{n}").body == b"abcd"
        assert server.error_log().count(b"AH01071: Got error 'message', script: ") == 29


FILE = b"content of a file\n" * 100


@pytest.mark.parametrize("protocol,directive,field", [
    ("fcgi", "ProxyFCGIInternalRedirect On", "X-Accel-Redirect"), ("fcgi", "ProxyFCGIInternalRedirect X-Here", "X-Here"),
    ("scgi", "", "Location"), ("scgi", "ProxySCGIInternalRedirect X-Here", "X-Here")])
def test_answers_that_name_one_of_this_server(serve, protocol, directive, field):
    with Script(protocol, lambda params, body, send: one.answer(send, b"not this" * 9000, fields=f"{field}: /a.txt\r\nSet-Cookie: a=b\r\n")) as one:
        server = serve(config(one) + directive + "\n", {"a.txt": FILE.decode()})
        for method in ("GET", "POST"):
            got = server.request(method, "/s/x", body=b"" if method == "GET" else b"y" * 100)
            assert got.status == 200 and got.body == FILE and got["Set-Cookie"] == "a=b" and got[field] is None
        assert server.get("/s/x", headers={"Range": "bytes=0-6"}).body == FILE[:7]
        assert server.get("/a.txt").body == FILE and len(one.seen) == 3
        wait_until(lambda: one.open == 0, "no connection is kept")


@pytest.mark.parametrize("protocol,directive,field", [
    ("fcgi", "", "X-Accel-Redirect"), ("fcgi", "ProxyFCGIInternalRedirect Off", "X-Accel-Redirect"), ("fcgi", "", "X-Sendfile"),
    ("scgi", "ProxySCGIInternalRedirect Off", "Location"), ("scgi", "", "X-Sendfile")])
def test_answers_that_may_not(serve, protocol, directive, field):
    with Script(protocol, lambda params, body, send: one.answer(send, b"this", fields=f"{field}: /a.txt\r\n")) as one:
        server = serve(config(one) + directive + "\n", {"a.txt": FILE.decode()})
        got = server.get("/s/x")
        assert got.body == b"this" and got[field] == "/a.txt"


@pytest.mark.parametrize("protocol,directive", [("scgi", "ProxySCGISendfile On"), ("fcgi", "XSendFile On\nXSendFilePath @ROOT@/htdocs/files")])
def test_answers_that_name_a_file(serve, protocol, directive):
    with Script(protocol, lambda params, body, send: one.answer(send, b"not this", fields=f"X-Sendfile: {name}\r\n")) as one:
        more = "LoadModule xsendfile_module @MODULES@/mod_xsendfile.so\nBuiltinModule xsendfile_module On\n" if protocol == "fcgi" else ""
        server = serve.unstarted(more + config(one) + directive + "\n")
        os.makedirs(server.path("htdocs", "files"))
        name = server.path("htdocs", "files", "a.txt")
        with open(name, "wb") as f:
            f.write(FILE)
        server.start()
        got = server.get("/s/x")
        assert got.status == 200 and got.body == FILE and got["X-Sendfile"] is None
        os.unlink(name)
        assert server.get("/s/x").status == (404 if protocol == "fcgi" else 500)  # as Apache's modules


BODY_SIZES = [16384, 16385, 65536, 70000, 131072, 1000001, 6000000]


@pytest.mark.parametrize("kind", ["length", "chunked"])
@pytest.mark.parametrize("limit", ["", "OutputSpoolSize 131072 262144\n", "OutputSpoolSize 0\n", "OutputSpoolDir @ROOT@/gone\n"], ids=["disk", "limit", "off", "gone"])
def test_bodies_that_go_by_disk(serve, kind, limit):
    """They reach the script whole, also where the disk takes none, or a part, of them."""
    with Script("fcgi", lambda params, body, send: one.answer(send, b"%d" % zlib.crc32(body))) as one:
        server = serve.unstarted(config(one) + limit + "LimitRequestBody 0\n")
        os.mkdir(server.path("gone"))
        server.start()
        assert server.get("/s/x").status == 200
        os.rmdir(server.path("gone"))
        for size in BODY_SIZES:
            body = os.urandom(1024) * (size // 1024) + b"x" * (size % 1024)
            with server.connect() as c:
                head = "Content-Length: %d" % size if kind == "length" else "Transfer-Encoding: chunked"
                c.send(f"POST /s/x HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n")
                c.send(body if kind == "length" else b"%x\r\n%s\r\n0\r\n\r\n" % (size, body))
                assert c.read_response().body == b"%d" % zlib.crc32(body)
            assert one.seen[-1][0]["CONTENT_LENGTH"] == str(size)


@pytest.mark.skipif(os.geteuid() != 0, reason="root sets the size of the socket's buffer")
def test_a_page_that_is_compressed_leaves_the_loop_to_others(serve):
    """Piece by piece: between two of them others are answered."""
    body = b"hello " * 3_000_000  # which becomes so little that its client never is behind

    def at_once(params, body_, send):
        send.__self__.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)  # SO_SNDBUFFORCE
        with io.BytesIO() as all_of_it:
            one.answer(all_of_it.write, body)
            for pid in server.children():
                os.kill(pid, signal.SIGSTOP)
            send(all_of_it.getvalue())
        sent.append(1)
        for pid in server.children():
            os.kill(pid, signal.SIGCONT)
    with Script("fcgi", at_once) as one:
        server = serve(f'EventLoops 1\nMaxKeepAliveRequests 0\n<Files x.php>\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\nSetOutputFilter DEFLATE\n</Files>\n',
                       {"x.php": "", "a.txt": "a\n"})
        got, sent = [], []

        def page():
            with server.connect() as c:
                got.append(c.get("/x.php", {"Accept-Encoding": "gzip"}).body)
        client = threading.Thread(target=page)
        with server.connect() as c:
            assert c.get("/a.txt").status == 200
            client.start()
            others = 0
            while not got:
                c.get("/a.txt")
                others += len(sent)
        assert zlib.decompress(got[0], 31) == body and others > 5, others  # of some 270 pieces; whole, one or two


def test_a_script_waits_for_no_slow_client(serve):
    """A body is there before the script is asked, whatever its size; the body of one that leaves is nobody's."""
    with Script("fcgi", lambda params, body, send: one.answer(send, b"%d" % len(body))) as one:
        server = serve(config(one) + "ServerLimit 1\n")
        with server.connect() as c, server.connect() as other:
            for client in (c, other):
                client.send("POST /s/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + "y" * 999999)
            assert server.get("/s/y").status == 200
            wait_until(lambda: spools(server) == 2, "two files")
            wait_until(lambda: len(one.seen) == 1 and one.open == 0, "the script is done")
            other.close()
            c.send("y")
            assert c.read_response().body == b"1000000"
        wait_until(lambda: spools(server) == 0, "the files to go")


def spools(server):
    return sum("(deleted)" in os.readlink(f"/proc/{pid}/fd/{fd}") and "/#" in os.readlink(f"/proc/{pid}/fd/{fd}")
               for pid in server.children() for fd in os.listdir(f"/proc/{pid}/fd") if os.path.lexists(f"/proc/{pid}/fd/{fd}"))


def test_a_body_on_disk_is_sent_once_more(serve):
    """The first member takes the request and closes."""
    with Script("fcgi", lambda params, body, send: False) as bad, Script("fcgi", lambda params, body, send: good.answer(send, b"%d" % zlib.crc32(body))) as good:
        server = serve(f"""EventLoops 1
<Proxy balancer://b>
BalancerMember unix:{bad.path}|fcgi://bad lbset=0
BalancerMember unix:{good.path}|fcgi://good lbset=1
</Proxy>
ProxyPass /s/ balancer://b/
""")
        body = os.urandom(500000)
        assert server.request("PUT", "/s/x", body=body).body == b"%d" % zlib.crc32(body)
        assert bad.seen[0][1] == body


class Narrow(Script):
    """One child, and hardly a backlog, as PHP-FPM on a busy day."""

    def __init__(self, script):
        super().__init__("fcgi", script)

    def _accept(self):
        self.listener.listen(0)
        while True:
            try:
                self._serve(self.listener.accept()[0])
            except OSError:
                return


@pytest.mark.parametrize("how", ["ProxyPass", "SetHandler", "worker"])
def test_a_full_backlog_is_waited_for(serve, how):
    """60 clients at once: all get their answers, and nobody is told that the socket has no room."""
    with Narrow(lambda params, body, send: one.answer(send, params["QUERY_STRING"].encode())) as one:
        if how == "SetHandler":
            more, target = f'<Location /s>\nSetHandler "proxy:unix:{one.path}|fcgi://localhost/"\n</Location>\n', "/s"
        elif how == "ProxyPass":
            more, target = config(one), "/s/x"
        else:  # a sub-request runs on a worker
            more, target = config(one) + "<Directory @ROOT@/htdocs>\nOptions +Includes\nAddOutputFilter INCLUDES .shtml\n</Directory>\n", "/a.shtml"
        server = serve("EventLoops 1\n" + more, {"s": "", "a.shtml": '<!--#include virtual="/s/x?$QUERY_STRING" -->'})
        clients = [server.connect() for _ in range(60)]
        for n, c in enumerate(clients):
            c.send(f"GET {target}?{n} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        for n, c in enumerate(clients):
            got = c.read_response()
            assert got.status == 200 and (how == "worker" or got.body == b"%d" % n), (n, got)
        assert b"AH02454" not in server.error_log()


def test_a_backlog_that_stays_full(serve):
    """It is waited for no longer than for a connection."""
    with Narrow(lambda params, body, send: done.wait(30)) as one:
        done = threading.Event()
        server = serve(config(one, "connectiontimeout=1 timeout=20"))
        clients = [server.connect() for _ in range(6)]
        for c in clients:
            c.send("GET /s/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        server.wait_for_log("AH02454")
        done.set()
        assert {c.read_response().status for c in clients} >= {503}
        assert server.get("/").status != 503


def test_kept_connections(serve):
    with Script("fcgi", lambda params, body, send: one.answer(send, b"x")) as one:
        server = serve(config(one, "enablereuse=on"))
        for _ in range(10):
            assert server.get("/s/x").body == b"x"
        assert one.open == 1


BAD = {"nothing": b"", "end alone": end(), "another version": b"\2" + record(STDOUT, b"x")[1:], "another request": record(STDOUT, b"Status: 200\r\n\r\n", number=7),
       "half a head": record(STDOUT, b"Status: 200"), "no fields": record(STDOUT, b"what\r\n\r\n") + end(), "endless": record(STDOUT, b"X: " + b"y" * 60000) * 30}


@pytest.mark.parametrize("how", BAD)
def test_bad_answers(serve, how):
    with Script("fcgi", lambda params, body, send: send(BAD[how]) or False) as one:
        server = serve(config(one))
        assert server.get("/s/x").status in (500, 502, 503)
        assert server.get("/").status != 503


def test_a_cut_answer(serve):
    with Script("fcgi", lambda params, body, send: send(record(STDOUT, b"Content-Type: text/plain\r\n\r\nabc")) or False) as one:
        server = serve(config(one))
        with server.connect() as client:
            client.send(b"GET /s/x HTTP/1.1\r\nHost: x\r\n\r\n")
            assert not client.read_to_end().endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("protocol,head_bytes", [("uwsgi", b"HTTP/1.1 100 Continue\r\n\r\n"), ("uwsgi", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
                                                 ("scgi", b"Status: 100 Continue\r\n\r\n"), ("scgi", b"Status: 0\r\n\r\n"), ("fcgi", b"Status: 101 X\r\n\r\n"),
                                                 ("uwsgi", b"HTTP/1.1 099 X\r\n\r\n"), ("uwsgi", b"HTTP/1.1 200 OK\r\nA: b\nC\r\n\r\n")])
def test_statuses_that_end_no_request(serve, protocol, head_bytes):
    with Script(protocol, lambda params, body, send: send(head_bytes + b"body")) as script:
        server = serve(f"EventLoops 1\nProxyPass /s/ unix:{script.path}|{protocol}://localhost/\n")
        for _ in range(2):
            assert server.get("/s/x").status in (500, 502, 503)
        assert server.get("/").status != 500


@pytest.mark.parametrize("version,code", [("HTTP/2.0", 200), ("HTTP/3.0", 200), ("HTTP/2", 200), ("HTTP/20", 502), ("HTTP/x.0", 502)])
def test_uwsgi_names_the_version_of_the_request(serve, version, code):
    """uWSGI answers with its SERVER_PROTOCOL, which is HTTP/2.0 where the client's is."""
    with Script("uwsgi", lambda params, body, send: send(f"{version} 200 Fine\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi".encode())) as one:
        server = serve(config(one))
        for _ in range(8):  # by a plan in the end
            got = server.get("/s/x")
            assert got.status == code and (code == 502 or (got["X-A"], got.body) == ("b", b"hi"))


@pytest.mark.parametrize("plans", ["", "FileCacheEntries 0\n"], ids=["planned", "full"])
@pytest.mark.parametrize("length, body", [(5, b"hello"), (3, b"hel"), (10, b"hello")], ids=["right", "too-short", "too-long"])
def test_lengths_that_uwsgi_scripts_tell(serve, length, body, plans):
    """A client takes so many bytes for the body: what is behind them is not sent, and the connection ends where they do not come."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\nhello" % length
    with Script("uwsgi", lambda params, body, send: send(answer)) as one:
        server = serve(plans + config(one))
        for _ in range(6):
            with server.connect() as client:
                for _ in range(2 if length == len(body) else 1):
                    client.send(b"GET /s/x HTTP/1.1\r\nHost: x\r\n\r\n")
                    assert b"Content-Length: %d\r\n" % length in client.read_until(b"\r\n\r\n") + b"\r\n"
                    assert (client.read_exactly(length) if length == len(body) else client.read_to_end()) == body


def test_an_uwsgi_script_gets_a_path_that_is_decoded(serve):
    with Script("uwsgi", lambda params, body, send: one.answer(send, params["SCRIPT_FILENAME"].encode())) as one:
        assert serve(config(one)).get("/s/a%20b/c").body.endswith(b"/a b/c")


@pytest.mark.parametrize("status, title", [("503", "503 Unknown Reason"), ("503 Very Busy", "503 Very Busy"), ("418", "418 Unknown Reason"), ("404 Gone Fishing", "404 Gone Fishing")])
def test_reasons_of_scripts_under_error_override(serve, status, title):
    """A number alone has no reason that is known, also where its usual one would be."""
    def script(params, body, send):
        send(record(STDOUT, f"Status: {status}\r\nContent-Type: text/plain\r\n\r\nx".encode()) + record(STDOUT) + end())
    with Script("fcgi", script) as one:
        got = serve(config(one, "\nProxyErrorOverride On")).get("/s/x")
        assert (got.status, got.reason) == (int(title[:3]), title[4:]) and f"<title>{title}</title>".encode() in got.body
