# SPDX-License-Identifier: Apache-2.0
"""OpenSSL itself as a client, for what Python's ssl module does not let one do."""
import ctypes
import ctypes.util
import socket

import brigade

try:
    LIB = ctypes.CDLL("libssl.so.3")
except OSError:
    LIB = None
TLS1_2, TLS1_3 = 0x0303, 0x0304
SET_MIN, SET_MAX = 123, 124
KEY_UPDATE_NOT_REQUESTED, KEY_UPDATE_REQUESTED = 0, 1

if LIB:
    for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
        getattr(LIB, name).restype = ctypes.c_void_p


class Peer:
    """A connection whose handshake is done."""

    def __init__(self, port, version=TLS1_3, patience=None):
        self.socket = socket.create_connection(("127.0.0.1", port), patience or brigade.PATIENCE)
        self.socket.setblocking(True)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, b"\x14" + b"\0" * 15)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, b"\x14" + b"\0" * 15)
        self.context = ctypes.c_void_p(LIB.SSL_CTX_new(ctypes.c_void_p(LIB.TLS_client_method())))
        for what in (SET_MIN, SET_MAX):
            LIB.SSL_CTX_ctrl(self.context, what, ctypes.c_long(version), None)
        self.ssl = ctypes.c_void_p(LIB.SSL_new(self.context))
        LIB.SSL_set_fd(self.ssl, self.socket.fileno())
        assert LIB.SSL_connect(self.ssl) == 1, "handshake"

    def write(self, data):
        return LIB.SSL_write(self.ssl, data, len(data))

    def read(self, most=65536):
        buffer = ctypes.create_string_buffer(most)
        n = LIB.SSL_read(self.ssl, buffer, most)
        return buffer.raw[:n] if n > 0 else b""

    def read_to_end(self):
        data = b""
        while True:
            more = self.read()
            if not more:
                return data
            data += more

    def update_key(self, kind=KEY_UPDATE_NOT_REQUESTED):
        return LIB.SSL_key_update(self.ssl, kind) == 1 and LIB.SSL_do_handshake(self.ssl) == 1

    def renegotiate(self):
        """Ask for it; 1 if the server went along."""
        return LIB.SSL_renegotiate(self.ssl) == 1 and LIB.SSL_do_handshake(self.ssl) == 1

    def close(self):
        LIB.SSL_free(self.ssl)
        LIB.SSL_CTX_free(self.context)
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
