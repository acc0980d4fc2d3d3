# SPDX-License-Identifier: Apache-2.0
"""Figures of buffers: what is made, shared by reference and copied on the way to the client."""
import hashlib
import json
import os
import subprocess
import re
import socket
import ssl
import threading

import pytest

import brigade
from backend import Backend, answer
from h2_client import line
from h2_streams import Backend as StreamBackend
from memory_site import STATUS, is_stock

pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(is_stock(), reason="built with stock APR pools")]
LARGE = b"0123456789abcdef" * (3 << 16)  # more than a socket takes at once, and than is kept in memory
FILES = {"small.txt": "hello\n" * 100, "middle.txt": "hello\n" * 2000, "middle.bin": LARGE[:300000], "large.bin": LARGE, "dir/a": "", "dir/b": "",
         "page.shtml": "x" * 20000 + '<!--#echo var="DATE_GMT" -->' + "y" * 20000}
ONE = STATUS + "EventLoops 1\nMaxKeepAliveRequests 0\n"
WHOLE_WAY = "FileCacheEntries 0\n"
SSI = ("AddType text/html .shtml\n<Directory @ROOT@/htdocs>\nOptions +Includes\n"
       "AddOutputFilter INCLUDES .shtml\n</Directory>\n")


def serve_old(serve, config, files=None):
    """The files are old enough to be remembered."""
    server = serve(config, files or FILES)
    for folder, _, names in os.walk(server.path("htdocs")):
        for name in names:
            os.utime(os.path.join(folder, name), (1.7e9, 1.7e9))
    return server


def counted(server, what):
    """What the figures grow by while what() happens, less what it takes to look at them."""
    with server.connect() as c:
        def look():
            figures = json.loads(c.request("GET", "/st?memory=json").body)["buffers"]
            c.request("POST", "/st?memory=reset")
            return figures
        look()
        idle = look()
        what(c)
        now = look()
    return {name: now[name] - idle[name] for name in now}


def get(target, body, times=20):
    def what(client):
        for _ in range(times):
            assert client.request("GET", target).body == body
    return what


@pytest.mark.parametrize("config", [
    WHOLE_WAY, WHOLE_WAY + "EnableSendfile On\n", WHOLE_WAY + "EnableMMAP Off\n", "", "EnableSendfile On\n",
])
@pytest.mark.parametrize("target, body", [("/middle.bin", LARGE[:300000]), ("/large.bin", LARGE)], ids=["middle", "large"])
def test_bodies_of_files_are_not_copied(serve, config, target, body):
    grown = counted(serve_old(serve, ONE + config), get(target, body))
    assert grown["copied_bytes"] < 1000, grown  # the digits of larger figures


@pytest.mark.parametrize("config", [WHOLE_WAY, "EnableSendfile On\n", ""])
def test_nor_for_clients_that_do_not_read(serve, config):
    server = serve_old(serve, ONE + config)

    def what(client):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            s.settimeout(brigade.PATIENCE)
            s.connect(("127.0.0.1", server.port))
            s.sendall(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3
                      + b"GET /large.bin HTTP/1.0\r\n\r\n")
            server.get("/small.txt")  # its loop was at the other connection meanwhile
            assert sum(len(data) for data in iter(lambda: s.recv(1 << 20), b"")) > 4 * len(LARGE)
    grown = counted(server, what)
    assert grown["copied_bytes"] < 4096, grown  # of heads that waited, at most


def test_remembered_bodies_are_shared(serve):
    server = serve_old(serve, ONE)
    for _ in range(3):
        server.get("/middle.txt")
        server.get("/small.txt")
    grown = counted(server, get("/middle.txt", FILES["middle.txt"].encode(), 50))
    assert grown["shared"] >= 40 and grown["copied_bytes"] < 1000 and grown["created"] <= 20, grown
    body = FILES["small.txt"].encode()  # so short that a copy costs less than a piece of its own
    grown = counted(server, get("/small.txt", body, 50))
    assert grown["copied_bytes"] <= 50 * len(body) + 1000 and grown["created"] <= 20, grown


def test_growth_is_no_copy(serve):
    """The pieces of a head that is longer than a buffer of a connection: they move into larger ones, which counts apart."""
    fields = {f"X-{n}": "v" * 1000 for n in range(12)}

    def what(client):
        for _ in range(5):
            assert client.request("GET", "/a.txt", headers=fields).status == 200

    grown = counted(serve_old(serve, ONE, {"a.txt": "a"}), what)
    assert grown["grown"] >= 1 and grown["grown_bytes"] >= 4096, grown
    assert grown["copied_bytes"] < 5 * 16000, grown


def test_what_is_written_piece_by_piece_is_copied(serve):
    server = serve_old(serve, ONE)
    page = server.get("/dir/").body
    grown = counted(server, get("/dir/", page))
    assert grown["copied_bytes"] >= 20 * len(page) * 0.9 and grown["copied"] > 20, grown


def test_long_text_of_pages_is_shared(serve):
    server = serve_old(serve, ONE + SSI)

    def what(client):
        for _ in range(20):
            assert len(client.request("GET", "/page.shtml").body) > 40000
    counted(server, what)
    grown = counted(server, what)
    assert grown["shared"] >= 40 and 20 * 5 <= grown["copied_bytes"] < 20 * 100, grown


def test_a_head_is_copied_once(serve):
    """All strings of a request lie in one copy of its head: a long head has no byte that is copied twice."""
    server = serve_old(serve, ONE + WHOLE_WAY)
    head = b"GET /small.txt?a=b HTTP/1.1\r\nHost: localhost\r\nUser-Agent: " + b"u" * 300 + b"\r\nCookie: " + b"c" * 700

    def what(client):
        with socket.create_connection(("127.0.0.1", server.port), timeout=brigade.PATIENCE) as s:
            for _ in range(20):
                s.sendall(head + b"\r\n\r\n")
                answer = b""
                while not answer.endswith(b"hello\n" * 100):
                    answer += s.recv(65536)
    grown = counted(server, what)
    assert grown["copied"] == 20 and abs(grown["copied_bytes"] - 20 * len(head)) < 200, grown  # what looks differs by some digits


def test_in_every_shape(serve):
    server = serve_old(serve, ONE + WHOLE_WAY)
    server.get("/dir/")
    text = server.get("/st?memory=prometheus").body.decode()
    for name in ("created", "shared", "copied", "copied_bytes", "grown", "grown_bytes"):
        assert re.search(r"^# TYPE brigade_memory_buffer_%s_total counter$" % name, text, re.M)
        assert re.search(r'^brigade_memory_buffer_%s_total\{pid="\d+"\} \d+$' % name, text, re.M)
    auto = server.get("/st?auto").body.decode()
    assert int(re.search(r"^MemoryBuffersCopiedBytes: (\d+)$", auto, re.M)[1]) > 500
    page = server.get("/st").body.decode()
    assert re.findall(r"<th[^>]*>(\w+)</th>", page[page.index("<th>Buffers</th>"):]) == [
        "Buffers", "Created", "Shared", "Copied", "CopiedBytes", "Grown", "GrownBytes"]
    server.request("POST", "/st?memory=reset")
    assert json.loads(server.get("/st?memory=json").body)["buffers"]["copied_bytes"] < 4000


def test_http2_counts_what_it_copies(serve):
    """A file is read into what frames are made of: nothing of it is copied, whether it is answered from memory or not."""
    server = serve_old(serve, ONE + WHOLE_WAY + "Protocols h2c http/1.1\n")

    def what(client):
        done = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{size_download}", f"http://127.0.0.1:{server.port}/large.bin"], capture_output=True)
        assert int(done.stdout) == len(LARGE)
    assert counted(server, what)["copied_bytes"] < len(LARGE) / 100


PARTS = "x" * 20000 + '<!--#include virtual="/small.txt" -->' + "y" * 20000


@pytest.mark.parametrize("more", ["", "<Directory @ROOT@/htdocs>\nSSIETag parts\nSSILastModified parts\n</Directory>\n"], ids=["files alone", "with an ETag"])
def test_pages_that_nobody_stores_are_not_flattened(serve, more):
    """A page that is made of files alone, rendered at every request: the cache takes nothing, so nothing is copied for it, nor for its ETag."""
    server = serve(ONE + WHOLE_WAY + SSI + more, {**FILES, "page.shtml": PARTS})

    def what(client):
        for _ in range(20):
            assert len(client.request("GET", "/page.shtml").body) == 40600
    counted(server, what)
    grown = counted(server, what)
    assert grown["copied_bytes"] < 20 * 1000, grown


def test_a_page_with_an_etag_is_not_flattened_for_each_client(serve):
    """It depends on a cookie, so it is rendered for each of its values."""
    page = "x" * 20000 + '<!--#if expr="%{HTTP_COOKIE} =~ /a/" -->a<!--#endif -->' + "y" * 20000
    server = serve(ONE + SSI + "<Directory @ROOT@/htdocs>\nSSIETag parts\n</Directory>\n", {**FILES, "page.shtml": page})

    def what(client):
        for i in range(20):
            answer = client.request("GET", "/page.shtml", headers={"Cookie": f"b={i}"})
            assert len(answer.body) == 40000 and "ETag" in dict(answer.headers)
    counted(server, what)
    grown = counted(server, what)
    assert grown["copied_bytes"] < 20 * 1000, grown


def test_pages_that_are_asked_for_once_are_not_flattened(serve):
    """The cache would take them, from the second request on."""
    names = [f"page{i}.shtml" for i in range(20)]
    server = serve_old(serve, ONE + SSI, {**FILES, **{name: PARTS for name in names}})

    def what(client):
        for name in names:
            assert len(client.request("GET", f"/{name}").body) == 40600
    grown = counted(server, what)
    assert grown["copied_bytes"] < 20 * 1000, grown


def test_a_page_is_copied_when_it_is_stored(serve):
    server = serve_old(serve, ONE + SSI, {**FILES, "page.shtml": PARTS})

    def what(client):
        for _ in range(20):
            assert len(client.request("GET", "/page.shtml").body) == 40600
    grown = counted(server, what)
    # Once more where the run that armed the entry looked at other files than the next: the entry is armed anew.
    assert 40600 <= grown["copied_bytes"] < 2 * 40600 + 4 * 1000, grown


def test_request_bodies_are_not_copied(serve):
    """What is read from a client lies in blocks that become the handler's buckets: the first small reads are copied, no more."""
    server = serve_old(serve, ONE + 'ScriptAlias /run "@ROOT@/run.cgi"\n<Directory @ROOT@>\nOptions +ExecCGI\nRequire all granted\n</Directory>\n')
    with open(server.path("run.cgi"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nmd5sum\n")
    os.chmod(server.path("run.cgi"), 0o755)
    body = os.urandom(1 << 20)

    def what(client):
        for _ in range(4):
            assert client.request("POST", "/run", body=body).body.decode().split()[0] == hashlib.md5(body).hexdigest()
    counted(server, what)
    grown = counted(server, what)
    assert grown["copied_bytes"] < 4 * len(body) / 20, grown


class TLSBackend(Backend):
    def __init__(self, pem, scripts):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*pem)
        super().__init__(scripts)

    def _serve(self, connection):
        connection.socket = self.context.wrap_socket(connection.socket, server_side=True)
        super()._serve(connection)


def chunks(body, size):
    pieces = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def backend_of(kind, body, pem):
    """@return it, and the URL below ProxyPass"""
    head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\n"
    if kind == "h2":
        def script(stream):
            stream.head("200", line("cache-control", "max-age=100"), line("content-length", str(len(body))))
            stream.data(body, end=True)
        return StreamBackend(script), "h2c://127.0.0.1"
    if kind == "tls":
        return TLSBackend(pem, {"*": head + b"Content-Length: %d\r\n\r\n" % len(body) + body}), "https://localhost"
    if kind.startswith("chunked"):
        return Backend({"*": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks(body, int(kind[7:]))}), "http://127.0.0.1"
    return Backend({"*": head + b"Content-Length: %d\r\n\r\n" % len(body) + body}), "http://127.0.0.1"


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pem")
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


# Bytes that are copied of a body: of which the length is told, what comes with the head. Without a length a body is copied into the store, and one
# that did not come whole moves once more at its end, to lie beside others, if it is short.
@pytest.mark.parametrize("kind, size, most", [
    ("length", 10_240, 10_240), ("length", 200_000, 165_000), ("length", 900_000, 165_000), ("tls", 10_240, 10_240), ("tls", 200_000, 165_000), ("tls", 900_000, 165_000),
    ("chunked8000", 10_240, 10_240), ("chunked8000", 200_000, 400_000), ("chunked8000", 900_000, 940_000), ("chunked200000", 900_000, 910_000),
    ("h2", 10_240, 10_240)])
def test_how_often_what_is_stored_is_copied(serve, pem, kind, size, most):
    """A backend's answer: what comes behind its head is read into the store's memory; the loop's copy for later requests is one."""
    body = os.urandom(size)
    backend, url = backend_of(kind, body, pem)
    with backend:
        server = serve(ONE + f"SSLProxyEngine On\nProxyPass /p/ {url}:{backend.port}/\nCacheEnable memory /p/\n", FILES)
        for n in range(3):
            missed = counted(server, get(f"/p/{n}", body, 1))
            hits = counted(server, get(f"/p/{n}", body, 4))
            assert missed["copied_bytes"] <= most + 1000, missed
            assert hits["copied_bytes"] <= size + 1000, hits


@pytest.mark.parametrize("size", [10_240, 400_000])
def test_a_first_hit_is_sent_where_it_lies(serve, size):
    """The store's own memory is sent: a loop makes a copy when it is asked again."""
    body = os.urandom(size)
    with Backend({"*": answer(body, fields=[("Cache-Control", "max-age=100")])}) as backend:
        server = serve(ONE + f"ProxyPass /p/ http://127.0.0.1:{backend.port}/\nCacheEnable memory /p/\n", FILES)
        counted(server, get("/p/known", body, 5))  # how requests of the host go
        for n in range(3):
            counted(server, get(f"/p/{n}", body, 1))
            assert counted(server, get(f"/p/{n}", body, 1))["copied_bytes"] < 1000
            assert size <= counted(server, get(f"/p/{n}", body, 3))["copied_bytes"] < size + 1000


def test_frames_behind_the_head_are_copied_into_the_store_alone(serve):
    """HTTP/2 of a backend: what comes once the head has passed goes from the connection's block into the store's memory."""
    body, passed = os.urandom(600_000), threading.Event()

    def script(stream):
        stream.head("200", line("cache-control", "max-age=100"), line("content-length", str(len(body))))
        stream.data(body[:10_000])
        assert passed.wait(30)
        stream.data(body[10_000:], end=True)

    def what(client):
        client.send(b"GET /p/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.read_until(b"\r\n\r\n")
        first = client.read_exactly(1)
        passed.set()
        assert first + client.read_exactly(len(body) - 1) == body

    with StreamBackend(script) as backend:
        server = serve(ONE + f"ProxyPass /p/ h2c://127.0.0.1:{backend.port}/\nCacheEnable memory /p/\n", FILES)
        assert counted(server, what)["copied_bytes"] <= len(body) + 3 * 10_000 + 1000
