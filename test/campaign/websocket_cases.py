# SPDX-License-Identifier: Apache-2.0
"""What a client can say over a WebSocket, of the kinds that conformance suites try: lengths, control frames, reserved bits and opcodes,
fragments, UTF-8, closing, large messages, compression. A case is a name, the bytes behind the handshake, and whether the other side
has to refuse them (then it need not read all)."""
import struct
import zlib

MASK = b"\x37\xfa\x21\x3d"
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GOOD_CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]
BAD_CODES = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535]
WORD = "Hello-µ@ßöäüàá-UTF-8!!".encode()
BAD_TEXTS = [b"\x80", b"\xbf", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
             b"\xfe", b"\xff", b"\xce\xba\xe1", b"\xf0\x9f\x98", WORD[:-5] + b"\xed\xa0\x80edited", b"\xc1\xbf", b"\xfc\x84\x80\x80\x80\x80"]
GOOD_TEXTS = [b"", b"\x00", b"\x7f", "\u0080".encode(), "\u07ff".encode(), "\u0800".encode(), "\uffff".encode(), "\ufffe".encode(), "\U00010000".encode(), "\U0010ffff".encode(),
              "\ud7ff".encode(), "\ue000".encode(), "\ufffd".encode(), "κόσμε".encode(), "😀".encode(), WORD]


def frame(opcode, data=b"", fin=True, bits=0, mask=MASK, form=None):
    """form: 0, 126 or 127, where the length is to be said in more bytes than it needs."""
    n = len(data)
    form = form if form is not None else 0 if n < 126 else 126 if n < 65536 else 127
    length = bytes([n]) if form == 0 else struct.pack(">BH", 126, n) if form == 126 else struct.pack(">BQ", 127, n)
    if mask is not None:
        length = bytes([length[0] | 0x80]) + length[1:] + mask
        pad = (mask * (n // 4 + 1))[:n]
        data = (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(n, "big")
    return bytes([fin << 7 | bits << 4 | opcode]) + length + data


def close(code=1000, reason=b""):
    return frame(CLOSE, struct.pack(">H", code) + reason)


def fragments(opcode, data, size, between=b""):
    parts = [data[i:i + size] for i in range(0, len(data), size)] or [b""]
    return between.join(frame(CONT if i else opcode, part, fin=i == len(parts) - 1) for i, part in enumerate(parts))


def lengths():
    for n in (0, 1, 124, 125, 126, 127, 128, 1000, 65534, 65535, 65536, 65537, 262144, 1048576, 4194304):
        for opcode in (TEXT, BINARY):
            yield f"{n} bytes as {opcode}", frame(opcode, b"*" * n), False
    yield "every byte value", frame(BINARY, bytes(range(256)) * 300), False
    yield "a mask of zeros", frame(BINARY, bytes(range(256)), mask=bytes(4)), False
    yield "a mask that makes a head of HTTP", frame(BINARY, b"\x00" * 64, mask=b"\r\n\r\n"), False
    for form in (126, 127):
        yield f"5 bytes with a length of form {form}", frame(TEXT, b"short", form=form), True
    yield "no mask", frame(TEXT, b"bare", mask=None), True
    yield "a length with its first bit", b"\x82\xff\x80" + bytes(7) + MASK, True


def controls():
    for opcode in (PING, PONG):
        for n in (0, 1, 125):
            yield f"control {opcode} of {n}", frame(opcode, bytes(range(n))), False
        yield f"control {opcode} of 126", frame(opcode, b"*" * 126), True
        yield f"control {opcode} in fragments", frame(opcode, b"a", fin=False) + frame(CONT, b"b"), True
    yield "ten pings", b"".join(frame(PING, b"payload-%d" % i) for i in range(10)), False
    yield "a pong that nobody asked for, then a ping", frame(PONG, b"unasked") + frame(PING, b"ping"), False


def reserved():
    for bits in range(1, 8):
        yield f"reserved bits {bits}", frame(TEXT, WORD) + frame(TEXT, WORD, bits=bits) + frame(PING), True
        yield f"reserved bits {bits} of a ping", frame(PING, b"x", bits=bits), True
    for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
        yield f"opcode {opcode}", frame(TEXT, WORD) + frame(opcode, b"data") + frame(PING), True


def fragmented():
    for size in (1, 2, 3, 5, 1024):
        for opcode in (TEXT, BINARY):
            yield f"fragments of {size} as {opcode}", fragments(opcode, WORD * (200 if size > 100 else 2), size), False
            yield f"fragments of {size} as {opcode} with pings between", fragments(opcode, WORD * 2, size, frame(PING, b"between")), False
    for n in (64, 256, 1024, 4096, 65536):
        yield f"a million bytes in frames of {n}", fragments(BINARY, bytes(range(256)) * 4096, n), False
    yield "empty fragments", frame(TEXT, fin=False) + frame(CONT, fin=False) + frame(CONT), False
    yield "an empty one in the middle", frame(TEXT, b"a", fin=False) + frame(CONT, fin=False) + frame(CONT, b"b"), False
    yield "a continuation of nothing", frame(CONT, b"lost"), True
    yield "a continuation of nothing, not the last", frame(CONT, b"lost", fin=False) + frame(TEXT, b"x"), True
    yield "a text inside a text", frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), True
    yield "a continuation behind the last", fragments(TEXT, b"abcd", 2) + frame(CONT, b"e"), True


def texts():
    for i, text in enumerate(GOOD_TEXTS):
        yield f"text {i}", frame(TEXT, text), False
        yield f"text {i}, split at each byte", fragments(TEXT, text, 1), False
    for i, text in enumerate(BAD_TEXTS):
        yield f"bad text {i}", frame(TEXT, text), True
        yield f"bad text {i}, split at each byte", fragments(TEXT, text, 1), True
        yield f"bad text {i} as a reason", frame(CLOSE, b"\x03\xe8" + text), True


def closing():
    for code in GOOD_CODES:
        yield f"close {code}", close(code, b"a reason"), False
    for code in BAD_CODES:
        yield f"close {code}", close(code), True
    yield "close without a code", frame(CLOSE), False
    yield "close with one byte", frame(CLOSE, b"\x03"), True
    yield "close with a reason of 123", close(1000, b"r" * 123), False
    yield "close with a reason of 124", close(1000, b"r" * 124), True
    yield "two closes", close() + close(), True
    yield "a message behind a close", close() + frame(TEXT, b"late"), True
    yield "a ping behind a close", close() + frame(PING, b"late"), True
    yield "a close inside a message", frame(TEXT, b"a", fin=False) + close(), True


def deflated(data):
    packer = zlib.compressobj(wbits=-15)
    return (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


def compressed():
    for n in (0, 16, 1024, 65536, 1048576):
        yield f"deflated {n}", frame(TEXT, deflated(b"abcdefgh" * (n // 8)), bits=4), False
    yield "deflated in fragments", frame(TEXT, deflated(WORD * 9)[:7], fin=False, bits=4) + frame(CONT, deflated(WORD * 9)[7:]), False
    yield "deflated wrongly", frame(TEXT, b"\xff\xff\xff\xff", bits=4), True
    yield "deflated, the bit on a continuation", frame(TEXT, b"a", fin=False) + frame(CONT, b"b", bits=4), True


def cases():
    """(name, bytes, refused, extension)"""
    for kind in (lengths, controls, reserved, fragmented, texts):
        for name, data, refused in kind():
            yield name, data + close(), refused, ""
    for name, data, refused in closing():
        yield name, data, refused, ""
    for name, data, refused in compressed():
        yield name, data + close(), refused, "permessage-deflate"
