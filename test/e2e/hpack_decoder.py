# SPDX-License-Identifier: Apache-2.0
"""HPACK (RFC 7541) as a client decodes it: static and dynamic table, Huffman codes; its integers, both ways."""

# Bits of each symbol's code (appendix B), as one character each: '5' to '9' and 'a' (10) to 'u' (30). The code is canonical.
CODE_BITS = ("dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f5656566657766"
             "6567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqq"
             "srrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu")
STATIC = [(":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"), (":scheme", "http"),
          (":scheme", "https"), *((":status", s) for s in "200 204 206 304 400 404 500".split()), ("accept-charset", ""),
          ("accept-encoding", "gzip, deflate"), *((n, "") for n in (
              "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control "
              "content-disposition content-encoding content-language content-length content-location content-range content-type cookie "
              "date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified "
              "link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after server set-cookie "
              "strict-transport-security transfer-encoding user-agent vary via www-authenticate").split())]


def integer(value, bits, first=0):
    """5.1, as bytes, behind the bits of first."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _codes():
    """{(bits, code): symbol}"""
    bits = [int(c, 36) for c in CODE_BITS]
    found, code, last = {}, 0, 0
    for length, symbol in sorted((b, s) for s, b in enumerate(bits)):
        code <<= length - last
        found[length, code] = symbol
        code, last = code + 1, length
    return found


CODES = _codes()


def huffman(data):
    out, code, length = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            code, length = code << 1 | byte >> shift & 1, length + 1
            symbol = CODES.get((length, code))
            if symbol is not None:
                out.append(symbol)
                code, length = 0, 0
    assert length < 8 and code == (1 << length) - 1, "padding of a Huffman string"
    return bytes(out)


class Decoder:
    """Of one connection."""

    def __init__(self):
        self.table = []

    def _integer(self, bits):
        most = (1 << bits) - 1
        value = self.block[self.at] & most
        self.at += 1
        shift = 0
        while value >= most if shift == 0 else True:
            byte = self.block[self.at]
            self.at += 1
            value += (byte & 127) << shift
            shift += 7
            if not byte & 128:
                break
        return value

    def _string(self):
        coded = self.block[self.at] & 128
        size = self._integer(7)
        data = self.block[self.at:self.at + size]
        assert len(data) == size
        self.at += size
        return (huffman(data) if coded else data).decode("latin-1")

    def _line(self, index):
        return STATIC[index - 1] if index <= len(STATIC) else self.table[index - len(STATIC) - 1]

    def _evict(self, most=4096):
        while sum(len(n) + len(v) + 32 for n, v in self.table) > most:
            self.table.pop()

    def decode(self, block):
        """[(name, value)]"""
        self.block, self.at, lines = block, 0, []
        while self.at < len(block):
            first = block[self.at]
            if first & 0x80:
                lines.append(self._line(self._integer(7)))
            elif first & 0xe0 == 0x20:
                self._evict(self._integer(5))
            else:
                index = self._integer(6 if first & 0x40 else 4)
                name = self._line(index)[0] if index else self._string()
                lines.append((name, self._string()))
                if first & 0x40:
                    self.table.insert(0, lines[-1])
                    self._evict()
        return lines
