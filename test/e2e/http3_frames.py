# SPDX-License-Identifier: Apache-2.0
"""Frames of HTTP/3 by hand (RFC 9114, 7; RFC 9204)."""
from hpack_decoder import integer

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID, PRIORITY_UPDATE = 0, 1, 3, 4, 5, 7, 13, 0xf0700
NO_ERROR, GENERAL, INTERNAL, STREAM_CREATION, CLOSED_CRITICAL, FRAME_UNEXPECTED, FRAME_ERROR, EXCESSIVE_LOAD, ID_ERROR, SETTINGS_ERROR, MISSING_SETTINGS, \
    REJECTED, CANCELLED, INCOMPLETE, MESSAGE_ERROR = range(0x100, 0x10f)
DECOMPRESSION, ENCODER, DECODER = 0x200, 0x201, 0x202


def number(n):
    """RFC 9000, 16."""
    for bits, size in [(6, 1), (14, 2), (30, 4), (62, 8)]:
        if n < 1 << bits:
            return (n | ({1: 0, 2: 1, 4: 2, 8: 3}[size] << (8 * size - 2))).to_bytes(size, "big")
    raise ValueError(n)


def frame(kind, payload=b""):
    return number(kind) + number(len(payload)) + payload


def line(name, value):
    name, value = name.encode("latin-1"), value.encode("latin-1")
    return integer(len(name), 3, 0x20) + name + integer(len(value), 7) + value


def section(*lines):
    return b"\0\0" + b"".join(line(n, v) for n, v in lines)


GET = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/a.txt")]
POST = [(":method", "POST"), *GET[1:]]
HEAD = frame(HEADERS, section(*GET))
CONTROL = (True, b"\0" + frame(SETTINGS), False)
ANSWER = b"first\n".hex()
