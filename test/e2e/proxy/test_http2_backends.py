# SPDX-License-Identifier: Apache-2.0
"""Backends of HTTP/2 whose connections carry several requests at a time."""
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
import time

import pytest

from backend import Backend as Http1Backend
from brigade import wait_until
from h2_client import PING, RST_STREAM, WINDOW_UPDATE, Client
from h2_streams import Backend
from ports import free_port, named_localhost
from processes import accepts
from tls_site import certificate

pytestmark = pytest.mark.only("brigade")

MIB = 1 << 20


def setting(name, value):
    return name.to_bytes(2, "big") + value.to_bytes(4, "big")


def config(backend, parameters="", more=""):
    return f"EventLoops 1\nServerProcesses 1\nTimeout 30\nProxyPass /p/ h2c://127.0.0.1:{backend.port}/ {parameters}\n{more}\n"


class Clients:
    """Requests at the same time, each on a connection of its own."""

    def __init__(self, server):
        self.server, self.got, self.threads = server, {}, []

    def ask(self, path, **more):
        def run():
            method = "POST" if "body" in more else "GET"
            try:
                with self.server.connect() as client:
                    self.got[path] = client.request(method, path, **more)
            except Exception as error:  # of any kind: the test sees that it is no answer
                self.got[path] = error

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def answers(self):
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive()
        return self.got


def test_requests_share_a_connection(serve):
    with Backend() as backend:
        server = serve(config(backend))
        clients = Clients(server)
        for i in range(40):
            clients.ask(f"/p/{i}")
        for stream in reversed(backend.wait_streams(40)):
            stream.answer(stream.path.encode())
        got = clients.answers()
        assert {path: r.body for path, r in got.items()} == {f"/p/{i}": f"/{i}".encode() for i in range(40)}
        assert len(backend.connections) == 1
        assert sorted(s.number for s in backend.streams) == list(range(1, 80, 2))


def test_no_more_streams_than_the_backend_takes(serve):
    """With as many connections as may be, the others wait for a stream."""
    most = [0]

    def script(stream):
        with backend.lock:
            most[0] = max(most[0], sum(1 for s in backend.streams if not s.fields.get("done")))
        time.sleep(0.02)
        stream.fields["done"] = "1"
        stream.answer()

    with Backend(script, settings=setting(3, 3)) as backend:
        server = serve(config(backend, "max=1"))
        assert server.get("/p/first").body == b"ok\n"  # its SETTINGS came
        clients = Clients(server)
        for i in range(20):
            clients.ask(f"/p/{i}")
        assert all(r.status == 200 for r in clients.answers().values())
        assert len(backend.connections) == 1 and most[0] <= 3


def test_another_connection_where_streams_are_short(serve):
    with Backend(settings=setting(3, 2)) as backend:
        server = serve(config(backend))
        clients = Clients(server)
        clients.ask("/p/first")
        backend.wait_streams(1)[0].answer()
        clients.answers()
        for i in range(6):
            clients.ask(f"/p/{i}")
        streams = backend.wait_streams(7)
        assert all(sum(s.path != "/first" for s in c.streams.values()) == 2 for c in backend.connections)
        for stream in streams[1:]:
            stream.answer()
        assert all(r.status == 200 for r in clients.answers().values())
        assert len(backend.connections) == 3


def test_a_client_leaves(serve):
    """Its stream is reset; the others on the connection are answered, and so are later ones."""
    with Backend() as backend:
        server = serve(config(backend))
        clients = Clients(server)
        clients.ask("/p/stays")
        backend.wait_streams(1)
        leaver = server.connect()
        leaver.send(b"GET /p/leaves HTTP/1.1\r\nHost: x\r\n\r\n")
        left = backend.wait_streams(2)[1]
        leaver.close()
        backend.wait(lambda: left.reset is not None)
        assert left.reset == 8 and left.connection is backend.streams[0].connection
        left.answer(b"too late" * 10000)
        backend.streams[0].answer(b"here")
        assert clients.answers()["/p/stays"].body == b"here"
        clients.ask("/p/next")
        backend.wait_streams(3)[2].answer(b"next")
        assert clients.answers()["/p/next"].body == b"next" and len(backend.connections) == 1


@pytest.mark.parametrize("more", [{}, {"body": b"x" * 1000}])
def test_goaway(serve, more):
    """Streams that the backend has not looked at are sent once more, over another connection; those below are answered on this one."""
    with Backend() as backend:
        server = serve(config(backend))
        clients = Clients(server)
        clients.ask("/p/below")
        backend.wait_streams(1)
        for i in range(3):
            clients.ask(f"/p/{i}", **more)
        streams = backend.wait_streams(4)
        streams[0].connection.goaway(streams[0].number)
        again = backend.wait_streams(7)[4:]
        assert all(s.connection is backend.connections[1] for s in again)
        for stream in again:
            if more:
                backend.wait(lambda s=stream: s.ended)
                assert stream.body == more["body"]
            stream.answer(b"again")
        streams[0].answer(b"below")
        got = clients.answers()
        assert got.pop("/p/below").body == b"below" and [r.body for r in got.values()] == [b"again"] * 3
        wait_until(lambda: backend.connections[0].closed)


def test_refused_streams(serve):
    """Once more at no charge; and then fewer at a time."""
    with Backend() as backend:
        server = serve(config(backend, "max=1"))
        clients = Clients(server)
        for i in range(4):
            clients.ask(f"/p/{i}", body=b"once")
        streams = backend.wait_streams(4)
        streams[3].refuse()
        streams[0].answer()
        again = backend.wait_streams(5)[4]
        assert again.path == streams[3].path and again.connection is streams[3].connection
        for stream in [*streams[1:3], again]:
            stream.answer()
        assert all(r.status == 200 for r in clients.answers().values())


def test_one_reset_is_of_one_request(serve):
    with Backend() as backend:
        server = serve(config(backend))
        clients = Clients(server)
        for i in range(5):
            clients.ask(f"/p/{i}")
        streams = backend.wait_streams(5)
        streams[2].refuse(code=2)
        for stream in streams[:2] + streams[3:]:
            stream.answer()
        got = clients.answers()
        assert got["/p" + streams[2].path].status == 502
        assert sorted(r.status for r in got.values()) == [200] * 4 + [502] and len(backend.connections) == 1
        assert b"the backend reset the stream" in server.error_log()


def test_a_connection_that_breaks(serve):
    """What was answered is passed on, what was not is asked once more if it may be."""
    with Backend() as backend:
        server = serve(config(backend))
        clients = Clients(server)
        clients.ask("/p/first")
        backend.wait_streams(1)
        for i in range(3):
            clients.ask(f"/p/{i}")
        backend.wait_streams(4)
        clients.ask("/p/post", body=b"x")
        backend.wait_streams(5)
        backend.connections[0].close()
        again = [s for s in backend.wait_streams(8)[5:]]
        assert sorted(s.path for s in again) == ["/0", "/1", "/2"]
        for stream in again:
            stream.answer(b"again")
        got = clients.answers()
        assert got["/p/post"].status == 502 and [got[f"/p/{i}"].body for i in range(3)] == [b"again"] * 3
        assert got["/p/first"].status == 502  # of a connection that was new


def test_a_slow_client_holds_up_nobody(serve):
    """Its stream gets no more room once it is behind; the connection's is given back at once."""
    body = b"x" * (8 * MIB)

    def script(stream):
        stream.answer(body if stream.path == "/slow" else b"quick")

    with Backend(script) as backend:
        server = serve(config(backend, more="OutputSpoolSize 0"))
        slow = server.connect()
        slow.send(b"GET /p/slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        backend.wait_streams(1)
        wait_until(lambda: backend.connections[0].windows.get(1) == 0)
        for i in range(20):
            assert server.get(f"/p/{i}").body == b"quick"
        assert len(backend.connections) == 1 and backend.connections[0].windows[1] < MIB
        assert slow.read_response().body == body
        slow.close()


class Uploader(Client):
    """Tells when its body has left."""
    sent = None

    def _send_body(self, answer, body):
        super()._send_body(answer, body)
        self.sent.set()


@pytest.mark.parametrize("size", [132000, 140000, 160000])
def test_a_window_that_opens_at_once(serve, size):
    """More than the server frames at a time is there when it opens, and all of it goes."""
    with Backend(settings=setting(4, MIB), credits=False) as backend:
        server = serve(config(backend, more="Protocols h2c http/1.1"), {"a.txt": "a"})
        with Uploader("127.0.0.1", server.port, 20) as client:
            client.sent, got = threading.Event(), []
            thread = threading.Thread(target=lambda: got.append(client.request("POST", "/p/x", body=b"u" * size)), daemon=True)
            thread.start()
            stream = backend.wait_streams(1)[0]
            assert client.sent.wait(20)
            assert server.get("/a.txt").status == 200  # the loop has read all that was sent before
            stream.connection.credit(0, MIB)
            backend.wait(lambda: stream.ended, 10)
            assert stream.body == b"u" * size
            stream.answer()
            thread.join(20)
            assert got[0].status == 200


def test_uploads_share_the_window(serve):
    """Each gets its part, whoever came first."""
    with Backend(settings=setting(4, MIB), credits=False) as backend:
        server = serve(config(backend))
        clients = Clients(server)
        for i in range(4):
            clients.ask(f"/p/{i}", body=bytes([i]) * 200000)
        streams = backend.wait_streams(4)
        connection = streams[0].connection
        assert all(s.connection is connection for s in streams)
        backend.wait(lambda: sum(len(s.body) for s in streams) == 65535)
        for _ in range(40):
            before = sum(len(s.body) for s in streams)
            connection.credit(0, 10000)
            backend.wait(lambda n=before: sum(len(s.body) for s in streams) == n + 10000)
        parts = sorted(len(s.body) for s in streams)
        assert parts[0] > 60000, parts
        connection.credit(0, MIB)
        for stream in streams:
            backend.wait(lambda s=stream: s.ended)
            assert stream.body == bytes([int(stream.path[1:])]) * 200000
            stream.answer()
        assert all(r.status == 200 for r in clients.answers().values())


def test_an_idle_connection_speaks(serve):
    """PING and SETTINGS between requests are answered, and it serves the next one; after GOAWAY it does not."""
    with Backend(lambda stream: stream.answer()) as backend:
        server = serve(config(backend))
        assert server.get("/p/1").status == 200
        connection = backend.connections[0]
        connection.ping()
        backend.wait(lambda: any(kind == PING for kind, *_ in connection.frames))
        assert server.get("/p/2").status == 200 and len(backend.connections) == 1
        connection.goaway(3)
        wait_until(lambda: connection.closed)
        assert server.get("/p/3").status == 200 and len(backend.connections) == 2


def test_the_rest_of_what_nobody_wants(serve):
    """A client leaves within a large answer: what was on its way is dropped, and the connection serves others."""
    with Backend() as backend:
        server = serve(config(backend))
        leaver = server.connect()
        leaver.send(b"GET /p/large HTTP/1.1\r\nHost: x\r\n\r\n")
        stream = backend.wait_streams(1)[0]
        stream.head()
        stream.data(b"x" * 20000)
        leaver.read_until(b"x" * 1000)
        leaver.close()
        backend.wait(lambda: stream.reset is not None)
        stream.data(b"x" * 100000, end=True)
        clients = Clients(server)
        clients.ask("/p/next")
        backend.wait_streams(2)[1].answer(b"next")
        assert clients.answers()["/p/next"].body == b"next" and len(backend.connections) == 1


def test_a_backend_that_fell_silent_gets_no_more(serve):
    """Requests that time out on a connection leave it to nobody else."""
    with Backend() as backend:
        server = serve(config(backend, "timeout=2"))
        clients = Clients(server)
        clients.ask("/p/1")
        backend.wait_streams(1)
        assert clients.answers()["/p/1"].status == 504
        backend.script = lambda stream: stream.answer()
        assert server.get("/p/2").status == 200 and len(backend.connections) == 2


@pytest.mark.parametrize("parameters", ["disablereuse=on"])
def test_connections_that_are_not_shared(serve, parameters):
    with Backend() as backend:
        server = serve(config(backend, parameters))
        clients = Clients(server)
        for i in range(3):
            clients.ask(f"/p/{i}")
        for stream in backend.wait_streams(3):
            stream.answer()
        assert all(r.status == 200 for r in clients.answers().values()) and len(backend.connections) == 3


@named_localhost
@pytest.mark.threads
@pytest.mark.parametrize("scheme", ["h2c", "h2"])
def test_through_another_brigade(serve, scheme):
    """Bodies of all sizes, both ways, at the same time, over a connection of HTTP/2 of each loop."""
    def script(connection, request):
        n = int(request.target.split("/")[1].split("?")[0])
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (n + len(request.body)) + b"b" * n + request.body

    with Http1Backend({"*": script}) as last:
        tls = "SSLEngine on\nSSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n" if scheme == "h2" else ""
        middle = serve.unstarted(f"EventLoops 1\nProtocols {scheme} http/1.1\n{tls}ProxyPass /p/ http://127.0.0.1:{last.port}/\n", {}, wait=not tls)
        if tls:
            certificate(middle)
        middle.start()
        wait_until(lambda: accepts(middle.port), "the backend")
        server = serve(f"EventLoops 2\nServerProcesses 1\nSSLProxyEngine on\nProxyPass /q/ {scheme}://localhost:{middle.port}/p/\n")
        wrong = []

        def client(seed):
            with server.connect() as c:
                for i in range(12):
                    n, m = (seed * 7919 + i * 104729) % 300000, (seed * 15485863 + i * 32452843) % 200000
                    body = bytes([seed]) * m
                    got = c.request("POST", f"/q/{n}?{seed}-{i}", body=body)
                    if got.status != 200 or got.body != b"b" * n + body:
                        wrong.append((seed, i, got.status, len(got.body), n + m))

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
        assert not wrong


@pytest.mark.threads
def test_workers_have_connections_of_their_own(serve):
    """An included page is asked for by a worker, which waits: nobody else uses its connection meanwhile."""
    def script(stream):
        if stream.path == "/large":
            stream.answer(b"l" * 600000)
        else:
            stream.answer(stream.path.encode())

    with Backend(script) as backend:
        server = serve(config(backend, more="<Location />\nAddOutputFilter INCLUDES .shtml\nOptions +Includes\n</Location>"),
                       {"p.shtml": "[<!--#include virtual='/p/a' -->|<!--#include virtual='/p/large' -->|<!--#include virtual='/p/b' -->]"})
        clients = Clients(server)
        for i in range(12):
            clients.ask(f"/p.shtml?{i}")
            clients.ask(f"/p/{i}")
        got = clients.answers()
        for i in range(12):
            assert got[f"/p.shtml?{i}"].body == b"[/a|" + b"l" * 600000 + b"|/b]" and got[f"/p/{i}"].body == f"/{i}".encode()
        before = len(backend.connections)
        assert server.get("/p.shtml").body.endswith(b"|/b]") and len(backend.connections) == before  # they are kept
        backend.connections[-1].close()
        assert server.get("/p.shtml").status == 200


NGINX = """daemon off; pid @/pid; error_log @/errors; worker_processes 1; user @USER@;
events { worker_connections 512; }
http { log_format c "$connection $uri $status"; access_log @/access c; keepalive_requests 100000;
client_body_temp_path @/b; proxy_temp_path @/p; fastcgi_temp_path @/f; uwsgi_temp_path @/u; scgi_temp_path @/s;
server { listen 127.0.0.1:@PORT@ http2; root @/site; } }
"""


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx(serve):
    with tempfile.TemporaryDirectory(prefix="brigade-nginx-") as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/site")
        bodies = {f"/{n}": os.urandom(n) for n in (1, 1000, 16384, 70000, 1000000)}
        for name, body in bodies.items():
            with open(f"{folder}/site{name}", "wb") as f:
                f.write(body)
        port, user = free_port(), pwd.getpwuid(os.getuid()).pw_name
        with open(f"{folder}/conf", "w", encoding="utf-8") as f:
            f.write(NGINX.replace("@USER@", user).replace("@PORT@", str(port)).replace("@", folder))
        with subprocess.Popen(["nginx", "-c", f"{folder}/conf", "-e", f"{folder}/errors"]) as nginx:
            try:
                wait_until(lambda: accepts(port), "nginx")
                server = serve(f"EventLoops 1\nServerProcesses 1\nProxyPass /p/ h2c://127.0.0.1:{port}/\n")
                wrong = []

                def client():
                    with server.connect() as c:
                        for _ in range(4):
                            for name, body in bodies.items():
                                got = c.request("GET", f"/p{name}")
                                if got.status != 200 or got.body != body:
                                    wrong.append((name, got.status, len(got.body)))

                threads = [threading.Thread(target=client) for _ in range(20)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join(120)
                assert not wrong
            finally:
                nginx.terminate()
        with open(f"{folder}/access", encoding="utf-8") as f:
            lines = [line.split() for line in f]
        assert len(lines) == 400 and len({line[0] for line in lines}) == 1


def test_streams_are_reset_once_they_are_over_here(serve):
    """An answer before the end of the body: the backend is told that the rest does not come, and nothing is mixed up."""
    with Backend(settings=setting(4, 1000)) as backend:
        backend.credits = False
        server = serve(config(backend))
        clients = Clients(server)
        clients.ask("/p/first")
        backend.wait_streams(1)[0].answer()  # its SETTINGS came
        clients.answers()
        clients.ask("/p/1", body=b"x" * 50000)
        stream = backend.wait_streams(2)[1]
        stream.answer(b"enough")
        backend.wait(lambda: stream.reset is not None)
        assert stream.reset == 0 and clients.answers()["/p/1"].body == b"enough"
        clients.ask("/p/2")
        backend.wait_streams(3)[2].answer(b"next")
        assert clients.answers()["/p/2"].body == b"next" and len(backend.connections) == 1
        assert not any(kind in (RST_STREAM, WINDOW_UPDATE) and number == 5 for kind, number, _ in backend.connections[0].frames)
