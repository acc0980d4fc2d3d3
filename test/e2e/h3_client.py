# SPDX-License-Identifier: Apache-2.0
"""Requests over HTTP/3 as http_client has them, by aioquic in the process of the tests: it is taken from the interpreter of http3_client.py where the
tests' own has none."""
import select
import socket
import ssl
import subprocess
import sys
import time

import brigade
from http3_client import http3_python
from http_client import Truncated, of_fields

NO_ERROR = 0x100
AT_ONCE = 0.002  # seconds, more than an acknowledgement may wait in aioquic


def _borrowed():
    python = http3_python(brigade.REPOSITORY)
    assert python, "TEST_PROTOCOL=h3 needs an interpreter with aioquic (http3_client.py)"
    return subprocess.run([python, "-c", "import aioquic, os; print(os.path.dirname(aioquic.__path__[0]))"], check=True, capture_output=True, text=True).stdout.strip()


def _load():
    """Classes of aioquic. Its packages may be newer than those of this interpreter, and are first in its path for these imports alone."""
    global QuicConfiguration, QuicConnection, H3Connection, HeadersReceived, DataReceived, ConnectionTerminated, StreamReset, HandshakeCompleted
    folder = _borrowed()
    sys.path.insert(0, folder)
    try:
        from aioquic.h3.connection import H3Connection
        from aioquic.h3.events import DataReceived, HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.connection import QuicConnection
        from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamReset
    finally:
        sys.path.remove(folder)


class Client:
    """Requests one after the other on a connection. It sends and hears only while a request is under way: in between it is silent."""

    def __init__(self, address, port, timeout, source=None):
        if "QuicConnection" not in globals():
            _load()
        self.timeout, self.over, self.is_up, self.answers = timeout, None, False, {}
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((source or "", 0))
            self.socket.connect((address, port))
            self.quic = QuicConnection(configuration=QuicConfiguration(
                alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, server_name="localhost", max_data=1 << 28, max_stream_data=1 << 26))
            self.http = H3Connection(self.quic)
            self.http._check_content_length = lambda _stream: None  # it knows no HEAD and no 304: see _whole()
            self.quic.connect((address, port), now=time.monotonic())
            self._until(lambda: self.is_up)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket.fileno() < 0:
            return
        self.quic.close(error_code=NO_ERROR)
        try:
            self._send(time.monotonic())
        except OSError:
            pass  # nobody is there any more
        self.socket.close()

    # -- datagrams -----------------------------------------------------------------------------------------

    def _send(self, now):
        for data, _ in self.quic.datagrams_to_send(now=now):
            self.socket.send(data)

    def _hear(self, wait):
        """Take all datagrams that are there, after waiting for one. @return whether there were any"""
        if not select.select([self.socket], [], [], max(wait, 0))[0]:
            return False
        while True:
            try:
                data = self.socket.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return True
            if data[-16:] == self.quic._peer_cid.stateless_reset_token:  # which aioquic does not know
                self.over = "stateless reset"
            self.quic.receive_datagram(data, self.socket.getpeername(), now=time.monotonic())

    def _until(self, is_done):
        """Go on with the connection; fails if nothing comes of it for the client's time. What came is acknowledged before it returns."""
        last = time.monotonic()
        while not is_done():
            self._send(time.monotonic())
            due, now = self.quic.get_timer() or last + self.timeout, time.monotonic()
            if not self._hear(min(due, last + self.timeout) - now) and time.monotonic() >= due:
                self.quic.handle_timer(now=time.monotonic())
            if self._events() or self.over:
                last = time.monotonic()
            if self.over and not is_done():
                raise Truncated(self.over)
            if time.monotonic() - last > self.timeout:
                raise TimeoutError("timed out")
        if not self.over:
            self._send(time.monotonic() + AT_ONCE)

    # -- events --------------------------------------------------------------------------------------------

    def _events(self):
        had = 0
        while (event := self.quic.next_event()) is not None:
            had += 1
            if isinstance(event, ConnectionTerminated):
                self.over = event
            elif isinstance(event, HandshakeCompleted):
                self.is_up = True
            elif isinstance(event, StreamReset) and event.stream_id in self.answers:
                self.answers[event.stream_id].update(over=True, reset=event)
            for one in self.http.handle_event(event):
                self._take(one)
        return had

    def _take(self, one):
        answer = self.answers.get(one.stream_id)
        if answer is None:
            return
        if isinstance(one, HeadersReceived):
            answer["blocks"].append([(n.decode("latin-1"), v.decode("latin-1")) for n, v in one.headers])
        elif isinstance(one, DataReceived):
            answer["body"].append(one.data)
        answer["over"] = answer["over"] or one.stream_ended

    # -- requests ------------------------------------------------------------------------------------------

    def request(self, method, target, headers=(), body=b"", version="1.1", host="localhost"):
        extra = list(headers.items()) if isinstance(headers, dict) else list(headers)
        body = body.encode() if isinstance(body, str) else body
        authority = next((v for n, v in extra if n.lower() == "host"), host)
        fields = [(":method", method), (":scheme", "https"), (":authority", authority), (":path", target)]
        fields += [(n.lower(), v) for n, v in extra if n.lower() != "host"]
        if body and "content-length" not in [n for n, _ in fields]:
            fields.append(("content-length", str(len(body))))
        stream = self.quic.get_next_available_stream_id()
        answer = self.answers[stream] = {"blocks": [], "body": [], "over": False, "reset": None}
        self.http.send_headers(stream, [(n.encode("latin-1"), v.encode("latin-1", "surrogateescape")) for n, v in fields], end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self._until(lambda: answer["over"])
        del self.answers[stream]
        return self._whole(method, answer)

    def get(self, target, headers=(), **more):
        return self.request("GET", target, headers, **more)

    @staticmethod
    def _whole(method, answer):
        if answer["reset"] or not answer["blocks"]:
            raise Truncated(answer)
        response = of_fields("HTTP/3", answer["blocks"], b"".join(answer["body"]))
        length = response["content-length"]
        if length is not None and method != "HEAD" and response.status != 304 and int(length) != len(response.body):
            raise Truncated(answer)
        return response

    def at_end(self):
        """True if the server ends the connection; waits for it."""
        try:
            self._until(lambda: self.over)
        except (Truncated, ConnectionRefusedError):
            pass
        return True
