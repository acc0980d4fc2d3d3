# SPDX-License-Identifier: Apache-2.0
"""TEST_PROTOCOL: which protocol requests of brigade.Server are asked over in place of HTTP/1, what the server needs for it, and clients that do so."""
import os
import socket
import ssl
import subprocess
import tempfile
import threading

import h2_client
import h3_client
import http_client
from h2_client import can_say

# All clients have request(), get(), close() and at_end().


class Http2:
    """In the clear, with prior knowledge, on the server's port."""
    LINES = "Protocols h2c http/1.1"
    Client = h2_client.Client

    @staticmethod
    def suits(server):
        """Not where a test has clients of its own, nor where the process model has no newer protocol."""
        return not server.apache and not server.bare and "mpm_prefork" not in server.config and "connect" not in vars(server)

    @staticmethod
    def prepare(server):
        pass

    wrap = None  # of connections for HTTP/1


class Http3:
    """The server's port has TLS: what HTTP/3 cannot say is said over HTTP/1 and TLS."""
    LINES = """Protocols h3 http/1.1
H3AltSvc off
SSLEngine on
SSLCertificateFile @ROOT@/conf/either.pem"""
    Client = h3_client.Client
    pem = None

    @staticmethod
    def suits(server):
        """Other ports of the test's own, and TLS of its own, are as it says."""
        return Http2.suits(server) and not any(word in server.config for word in ("Listen", "SSLEngine", "Protocols", "ProxyProtocol"))

    @classmethod
    def prepare(cls, server):
        if cls.pem is None:
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                                "-keyout", f"{folder}/key", "-out", f"{folder}/cert"], check=True, capture_output=True)
                cls.pem = "".join(open(f"{folder}/{name}", encoding="ascii").read() for name in ("cert", "key"))
        server.write("either.pem", cls.pem, base="conf")

    @staticmethod
    def wrap(sock):
        """TLS 1.2: no tickets come behind the handshake, so that a socket is readable when an answer is there."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        return TLSSocket.over(context, sock)


class TLSSocket(ssl.SSLSocket):
    """One whose other half goes on after shutdown(), as without TLS."""

    @classmethod
    def over(cls, context, sock):
        context.sslsocket_class = cls
        return context.wrap_socket(sock, server_hostname="localhost")

    def shutdown(self, how):
        socket.socket.shutdown(self, how)


ASKED = {"": None, "h2": Http2, "h3": Http3}[os.environ.get("TEST_PROTOCOL", "")]


def protocol_of(server):
    """None: HTTP/1. Programs that ask by themselves (-D DUMP_CACHE) do so of a server that was not started as of any."""
    return ASKED if ASKED and server.is_started and ASKED.suits(server) else None


class EitherClient(http_client.Client):
    """A client whose requests are those of a newer protocol where that can say them, until a test sends bytes of its own: then it is HTTP/1's."""

    def __init__(self, address, port, timeout, source=None):
        self.where, self.timeout, self.source, self.buffer = (address, port), timeout, source, b""
        self.http1, self.newer = None, None
        self.lock = threading.Lock()  # a test may send in one thread and read in another

    @property
    def socket(self):
        with self.lock:
            if not self.http1:
                self.http1 = http_client.Client(*self.where, self.timeout, self.source, ASKED.wrap).socket
        return self.http1

    def close(self):
        for one in self.http1, self.newer:
            if one:
                one.close()

    def at_end(self):
        return super().at_end() if self.http1 or not self.newer else self.newer.at_end()

    def request(self, method, target, headers=(), body=b"", version="1.1", host="localhost"):
        extra = list(headers.items()) if isinstance(headers, dict) else list(headers)
        if self.http1 or not can_say(method, target, extra, version, host):
            return super().request(method, target, headers, body, version, host)
        self.newer = self.newer or ASKED.Client(*self.where, self.timeout, source=self.source)
        return self.newer.request(method, target, extra, body, version, host)
