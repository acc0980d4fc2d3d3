# SPDX-License-Identifier: Apache-2.0
"""Streams of requests over the grammar of RFC 9112 and its known abuses, made from a seed.

A stream is one to four requests that a client sends at once on a connection, the last of them well formed. Each names
its stream and its place in its target, so that whoever reads a request that is none is found out. An abuse has a name;
most streams have one, so that a disagreement can be laid to it.
"""
import random

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"  # a request that lies in a body, where nobody may see one


class Request:
    """The parts of a request as they are sent."""

    def __init__(self, method, target, body=b""):
        self.method, self.target, self.version = method, target, b"HTTP/1.1"
        self.line = None  # instead of method, target and version
        self.host = [b"Host: h"]
        self.fields = [b"User-Agent: t", b"Accept: */*"]
        self.framing = [b"Content-Length: %d" % len(body)] if body or method in (b"POST", b"PUT") else []
        self.body = body
        self.eol, self.end, self.before = b"\r\n", None, b""

    def bytes(self):
        line = self.line if self.line is not None else b" ".join((self.method, self.target, self.version))
        head = [line, *self.host, *self.fields, *self.framing]
        end = self.eol if self.end is None else self.end
        return self.before + b"".join(part + self.eol for part in head) + end + self.body


def chunked(data, size=b"%x", after=b"\r\n", last=b"0\r\n\r\n"):
    return (size % len(data) if b"%" in size else size) + b"\r\n" + data + after + last


ABUSES = {}  # name -> function(rng, request)


def abuse(name, change):
    assert name not in ABUSES, name
    ABUSES[name] = change


def _set(**parts):
    def change(rng, q):
        for name, value in parts.items():
            setattr(q, name, value(q) if callable(value) else value)
    return change


def _field(*lines, first=False):
    def change(rng, q):
        q.fields = [*lines, *q.fields] if first else [*q.fields, *lines]
    return change


def _framed(framing, body):
    """A POST with these fields of framing and this body; a body may be a function of the plain one."""
    def change(rng, q):
        plain = rng.choice([b"hello", b"hello", HIDDEN, b"x" * 40])
        q.method = b"POST"
        q.body = body(plain) if callable(body) else body
        q.framing = [f(plain) if callable(f) else f for f in framing]
    return change


def _name(text):
    return repr(text)[2:-1]


def length(form):
    return lambda plain: form.replace(b"N", b"%d" % len(plain)).replace(b"X", b"%x" % len(plain))


# ---- request lines ----

for _line in (b"M  T V", b"M T  V", b" M T V", b"M T V ", b"M\tT\tV", b"M T\tV", b"M\x0bT\x0bV", b"M\x0cT V", b"M T", b"M", b"", b"M T V x", b"M T x V", b"M T\x00 V",
              b"M\x00 T V", b"M T V\x00", b"\x00M T V", b"M T\r V", b"M T \rV", b"M T V\r", b"\rM T V", b"T V", b"M V", b"M T\xa0V", b"M T #x V", b"M\xc2\xa0T V", b"M T\x1fV", b"\xef\xbb\xbfM T V", b"M T/V"):
    abuse(f"line {_name(_line)}", lambda rng, q, f=_line: setattr(q, "line", _fill(f, q)))
for _version in (b"HTTP/1.0", b"HTTP/1.2", b"HTTP/1.9", b"HTTP/2.0", b"HTTP/3.0", b"HTTP/0.9", b"HTTP/1", b"HTTP/1.", b"HTTP/.1", b"HTTP/11", b"HTTP/1.1.1", b"HTTP/01.1", b"HTTP/1.01", b"HTTP/1.10", b"http/1.1", b"Http/1.1",
                 b"HTTP /1.1", b"HTTP/ 1.1", b"HTTP/1 .1", b"HTTP/+1.1", b"HTTP/-1.1", b"HTTPS/1.1", b"XTTP/1.1", b"HTTP/1.1;x", b"HTTP/1,1", b"HTTP\\1.1", b"HTTP/A.1", b"HTTP/1.x", b"ICY/1.1", b"1.1", b"HTTP/4294967297.1",
                 b"HTTP/1.4294967297"):
    abuse(f"version {_name(_version)}", _set(version=_version))
for _method in (b"get", b"Get", b"GETX", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PATCH", b"PRI", b"G@T", b"G,T", b"G\x00T", b"GET:", b"\"GET\"", b"G\xe9T", b"M-SEARCH", b"(GET)", b"GE T", b"!#$%&'*+-.^_`|~", b"X" * 70):
    abuse(f"method {_name(_method[:20])}", _set(method=_method))


def _fill(form, q):
    out = b""
    for byte in form:
        one = bytes([byte])
        out += {b"M": q.method, b"T": q.target, b"V": q.version}.get(one, one)
    return out


# ---- targets ----

for _target in (b"http://hT", b"http://h:80T", b"http://otherT", b"HTTP://hT", b"https://hT", b"ftp://hT", b"http://u:p@hT", b"http://u@hT", b"http://", b"http:///x", b"http:T", b"http:/T", b"http://h", b"http://h?T", b"http://h#T", b"//hT", b"//T",
                b"///T", b"*", b"h:80", b"h", b"x", b"?x", b"#x", b"T#frag", b"T?", b"T?a b", b"T?%00", b"T%00", b"T%0d%0aX:%20y", b"T%0a", b"T%20HTTP/1.1", b"T%", b"T%zz", b"T%2", b"T%2f..%2fx", b"T/../x", b"/..T", b"/%2e%2eT", b"/./T", b"T/.",
                b"T/..", b"T//x", b"T\\x", b"T%5cx", b"T;x=y", b"T|x", b"T<x>", b"T\"x\"", b"T^x", b"T`x", b"T{x}", b"T[x]", b"T\x7fx", b"T\x80x", b"T\xffx", b"T\x01x", b"T\x1bx", b"T\xc0\xafx", b"T%c0%afx", b"T%u0041", b"T+x", b"T&x=y", b"T'x",
                b"T:x", b"T@x", b"http://h\x00T", b"http://h T", b"http://[::1]T", b"http://[::1T", b"http://h:xT", b"http://h:99999T", b"http://h:T", b"http://h,oT", b"http://h\\T", b"http://h@otherT", b"T" + b"x" * 3000, b"T" + b"x" * 9000, b"T?" + b"a=b&" * 100):
    abuse(f"target {_name(_target[:24])}{len(_target) if len(_target) > 24 else ''}", _set(target=lambda q, f=_target: f.replace(b"T", q.target)))

# ---- fields ----

for _line in (b"X : y", b"X: y\r", b"X: a\rb", b"X: a\r\n b", b"X: a\r\n\tb", b"X: a\n b", b"X:\r\n y", b" X: y", b"\tX: y", b"X", b"X y", b": y", b"X:", b"X:y", b"X:  y  ", b"X:\ty\t", b"X\x00: y", b"X: \x00", b"X: a\x00b", b"X: a\x01b", b"X: a\x0bb",
              b"X: a\x0cb", b"X: a\x7fb", b"X: \xe9\xff", b"X\xe9: y", b"X(: y", b"X[]: y", b"X,Y: y", b"X/Y: y", b"X;: y", b"X\x0b: y", b"X\x0c: y", b"X\xa0: y", b"\xa0X: y", b"X\t: y", b"X: y\nY: z", b"X: y\r\r\nY: z", b"X: y\n\rY: z", b"\x00", b"\r", b"\x0b", b"X: y\x85Y: z",
              b"X_Y: z", b"X:" + b"y" * 4000, b"X:" + b"y" * 9000, b"X" * 300 + b": y", b"GET /hidden HTTP/1.1", b"Host", b"X: y\r\n\x0bY: z", b"X: y\r\n\r X: z", b"X:\x00y", b"=", b"X=y", b"X; y: z"):
    abuse(f"field {_name(_line[:24])}{len(_line) if len(_line) > 24 else ''}", _field(_line))
for _line in (b" X: y", b"\tX: y", b"\x0bX: y", b"\r", b"\x00", b": y"):
    def _first(rng, q, line=_line):
        q.host = [line, *q.host]
    abuse(f"first field {_name(_line)}", _first)
abuse("field 150 of them", _field(*[b"X%d: y" % i for i in range(150)]))
abuse("field one name 150 times", _field(*[b"X: y"] * 150))
abuse("field empty line and spaces", _set(end=b" \r\n\r\n"))

# ---- hosts ----

for _host in ([], [b"Host: h", b"Host: h"], [b"Host: h", b"Host: other"], [b"Host:"], [b"Host: h, other"], [b"Host: h other"], [b"Host: h/x"], [b"Host: h@other"], [b"Host: h:x"], [b"Host: h:"], [b"Host: h:80:80"], [b"Host: h\x00"], [b"Host: h\x00other"], [b"Host : h"],
              [b"Host\t: h"], [b"Host:\r\n h"], [b" Host: h"], [b"host: h", b"HOST: other"], [b"Host: [::1]"], [b"Host: [::1"], [b"Host: h?x"], [b"Host: h#x"], [b"Host: \xe9"], [b"Host: h%00"], [b"Host: h\\x"], [b"Host: 'h'"], [b"Host: h\tother"], [b"Host: " + b"h" * 300], [b"Host:\th"], [b"Host: h "], [b"Host: h."], [b"Host: .."]):
    abuse(f"host {[_name(h[:20]) for h in _host]}", _set(host=_host))

# ---- framing: Content-Length ----

CL = b"Content-Length: "
for _value in (b"+N", b"-N", b"N,N", b"N, N", b"N,M", b"N N", b"0xX", b"00N", b"N.0", b"N;", b"N\x00", b"\x00N", b"N\x0b", b"\x0bN", b"\x0cN", b"N\xa0", b"'N'", b"\"N\"", b"", b" ", b",N", b"N,", b"18446744073709551616", b"18446744073709551621", b"4294967301", b"-1", b"N e0", b"Ne0",
               b"\tN", b"N\t", b"  N  ", b"\r\n N", b"N\r\n ", b"\n N", b"N\rX", b"9223372036854775808", b"99999999999999999999999", b"0", b"N\x1f", b"N-1", b"0N", b"N\r", b"\rN"):
    def _value_of(plain, value=_value):
        return CL + value.replace(b"N", b"%d" % len(plain)).replace(b"X", b"%x" % len(plain)).replace(b"M", b"%d" % (len(plain) + 1))
    abuse(f"length {_name(_value)}", _framed([_value_of], lambda plain: plain))
for _names, _lines in (("twice the same", [b"Content-Length: N", b"Content-Length: N"]), ("twice, zero first", [b"Content-Length: 0", b"Content-Length: N"]), ("twice, zero last", [b"Content-Length: N", b"Content-Length: 0"]), ("space before colon", [b"Content-Length : N"]), ("tab before colon", [b"Content-Length\t: N"]),
                       ("underscore", [b"Content_Length: N"]), ("lower case", [b"content-length: N"]), ("no value", [b"Content-Length"]), ("space first", [b" Content-Length: N"]), ("NUL in the name", [b"Content-Length\x00: N"]), ("vertical tab in the name", [b"Content-Length\x0b: N"]), ("spelled in two", [b"Content-\r\n Length: N"]),
                       ("zero then space before colon", [b"Content-Length: 0", b"Content-Length : N"]), ("folded after another field", [b"X: y\r\n Content-Length: 0", b"Content-Length: N"]), ("after a bare LF", [b"X: y\nContent-Length: N"]), ("after a bare CR", [b"X: y\rContent-Length: N"]), ("missing", []),
                       ("after a bare CR, and zero", [b"X: y\rContent-Length: N", b"Content-Length: 0"]), ("one too many", [b"Content-Length: M"]), ("one too few", [b"Content-Length: L"]), ("in Connection", [b"Content-Length: N", b"Connection: Content-Length"]), ("with a BOM", [b"\xef\xbb\xbfContent-Length: N"])):
    abuse(f"length {_names}", _framed([lambda plain, f=f: f.replace(b"N", b"%d" % len(plain)).replace(b"M", b"%d" % (len(plain) + 1)) if not f.endswith(b": L") else CL + b"%d" % (len(plain) - 1) for f in _lines], lambda plain: plain))
for _m in (b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"TRACE", b"PUT", b"CONNECT"):
    def _with_body(rng, q, m=_m):
        _framed([length(b"Content-Length: N")], lambda plain: plain)(rng, q)
        q.method = m
    abuse(f"length with {_m.decode()}", _with_body)

def _head_with_a_request(rng, q):
    """Its body has the form of a request: read as one, the answers that follow are out of step."""
    form = rng.choice([([length(b"Content-Length: N")], lambda plain: HIDDEN * 2), ([b"Transfer-Encoding: chunked"], lambda plain: chunked(HIDDEN))])
    _framed(*form)(rng, q)
    if q.framing[0].startswith(CL):
        q.framing = [CL + b"%d" % len(q.body)]
    q.method = b"HEAD"


abuse("HEAD with a request as its body", _head_with_a_request)

# ---- framing: Transfer-Encoding ----

for _value in (b"chunked", b"Chunked", b"CHUNKED", b"  chunked  ", b"\tchunked\t", b"\x0bchunked", b"chunked\x0b", b"\x0cchunked", b"chunked\x00", b"\x00chunked", b"chunked,", b",chunked", b", chunked", b"chunked, ,", b"chunked, chunked", b"chunked,chunked", b"identity", b"identity, chunked", b"chunked, identity",
               b"gzip", b"gzip, chunked", b"chunked, gzip", b"x", b"xchunked", b"chunkedx", b"chunked;q=1", b"chunked;", b"\"chunked\"", b"'chunked'", b"chun ked", b"chunked chunked", b"\r\n chunked", b"chunked\r\n ", b"chunked\r\n x", b"\n chunked", b"chunked\r", b"chunk", b"", b"\xa0chunked", b"chunked\xa0", b"trailers, chunked", b"compress",
               b"chunked\x1f", b"c\xc5\xa0hunked", b"deflate, chunked", b"chunked, x", b"\rchunked"):
    def _te(rng, q, value=_value):
        _framed([b"Transfer-Encoding: " + value], chunked)(rng, q)
    abuse(f"coding {_name(_value)}", _te)
for _names, _lines in (("twice", [b"Transfer-Encoding: chunked"] * 2), ("chunked and identity", [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"]), ("identity and chunked", [b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked"]), ("chunked and x", [b"Transfer-Encoding: chunked", b"Transfer-Encoding: x"]),
                       ("x and chunked", [b"Transfer-Encoding: x", b"Transfer-Encoding: chunked"]), ("space before colon", [b"Transfer-Encoding : chunked"]), ("tab before colon", [b"Transfer-Encoding\t: chunked"]), ("space first", [b" Transfer-Encoding: chunked"]), ("underscore", [b"Transfer_Encoding: chunked"]), ("lower case", [b"transfer-encoding: chunked"]),
                       ("NUL in the name", [b"Transfer-Encoding\x00: chunked"]), ("vertical tab in the name", [b"Transfer-Encoding\x0b: chunked"]), ("spelled in two", [b"Transfer-\r\n Encoding: chunked"]), ("after a bare LF", [b"X: y\nTransfer-Encoding: chunked"]), ("after a bare CR", [b"X: y\rTransfer-Encoding: chunked"]), ("folded after another", [b"X: y\r\n Transfer-Encoding: chunked"]),
                       ("in Connection", [b"Transfer-Encoding: chunked", b"Connection: Transfer-Encoding"]), ("TE", [b"TE: chunked"]), ("no space", [b"Transfer-Encoding:chunked"]), ("empty and chunked", [b"Transfer-Encoding:", b"Transfer-Encoding: chunked"])):
    abuse(f"coding {_names}", _framed(_lines, chunked))
    for _where in ("length first", "length last"):
        def _both(rng, q, lines=_lines, where=_where):
            _framed([], chunked)(rng, q)
            lengths = [CL + b"%d" % rng.choice([len(q.body), len(q.body), 0, 3, 4, 5, 6])]
            q.framing = lengths + lines if where == "length first" else lines + lengths
        abuse(f"both: {_names}, {_where}", _both)
for _value in (b"identity", b"x", b"xchunked", b"chunked, identity", b"\x0bchunked", b"chunked\x00", b"chunked;q=1", b"gzip", b"", b",", b"chunked"):
    def _te_and_cl(rng, q, value=_value):
        _framed([b"Transfer-Encoding: " + value], chunked)(rng, q)
        q.framing.insert(rng.randint(0, 1), CL + b"%d" % rng.choice([len(q.body), 0, 5]))
    abuse(f"both: {_name(_value)}", _te_and_cl)


def _old_coding(rng, q):
    _framed([b"Transfer-Encoding: chunked"], chunked)(rng, q)
    q.version = b"HTTP/1.0"
    q.fields.append(b"Connection: keep-alive")


abuse("coding in HTTP/1.0", _old_coding)
for _m in (b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"TRACE"):
    def _coded(rng, q, m=_m):
        _framed([b"Transfer-Encoding: chunked"], chunked)(rng, q)
        q.method = m
    abuse(f"coding with {_m.decode()}", _coded)

# ---- chunks ----

for _names, _body in (
        ("extension", lambda d: chunked(d, b"%x;x=y")), ("extension, no value", lambda d: chunked(d, b"%x;x")), ("extension, quoted", lambda d: chunked(d, b'%x;x="y z"')), ("extension, empty", lambda d: chunked(d, b"%x;")), ("extension, spaces", lambda d: chunked(d, b"%x ; x = y")), ("extension, quoted CRLF", lambda d: chunked(d, b'%x;x="\r\n"')),
        ("extension, bare LF", lambda d: chunked(d, b"%x;x\ny")), ("extension, bare CR", lambda d: chunked(d, b"%x;x\ry")), ("extension, NUL", lambda d: chunked(d, b"%x;\x00")), ("extension, long", lambda d: chunked(d, b"%x;" + b"x" * 5000)), ("extension, high bytes", lambda d: chunked(d, b"%x;\xff")), ("extension, no semicolon", lambda d: chunked(d, b"%x x=y")),
        ("size upper case", lambda d: chunked(d, b"%X")), ("size zeros first", lambda d: chunked(d, b"0000%x")), ("size many zeros", lambda d: chunked(d, b"0" * 40 + b"%x")), ("size 0x", lambda d: chunked(d, b"0x%x")), ("size +", lambda d: chunked(d, b"+%x")), ("size -", lambda d: chunked(d, b"-%x")), ("size space first", lambda d: chunked(d, b" %x")), ("size space last", lambda d: chunked(d, b"%x ")),
        ("size tab last", lambda d: chunked(d, b"%x\t")), ("size empty", lambda d: chunked(d, b"")), ("size NUL", lambda d: chunked(d, b"%x\x00")), ("size h", lambda d: chunked(d, b"%xh")), ("size two", lambda d: chunked(d, b"%x 5")), ("size 2^64", lambda d: chunked(d, b"10000000000000000")), ("size 2^64+n", lambda d: b"1%016x\r\n" % len(d) + d + b"\r\n0\r\n\r\n"),
        ("size 2^32+n", lambda d: b"1%08x\r\n" % len(d) + d + b"\r\n0\r\n\r\n"), ("size f...f", lambda d: chunked(d, b"ffffffffffffffff")), ("size decimal", lambda d: chunked(d, b"%d")), ("size _", lambda d: chunked(d, b"1_%x")), ("size vertical tab", lambda d: chunked(d, b"%x\x0b")), ("size comma", lambda d: chunked(d, b"%x,5")),
        ("line end LF", lambda d: b"%x\n" % len(d) + d + b"\r\n0\r\n\r\n"), ("line ends LF", lambda d: (b"%x\n" % len(d) + d + b"\n0\n\n")), ("line end CR", lambda d: b"%x\r" % len(d) + d + b"\r\n0\r\n\r\n"), ("line end CRCRLF", lambda d: b"%x\r\r\n" % len(d) + d + b"\r\n0\r\n\r\n"), ("line end LFCR", lambda d: b"%x\n\r" % len(d) + d + b"\r\n0\r\n\r\n"),
        ("data end LF", lambda d: chunked(d, after=b"\n")), ("data end CR", lambda d: chunked(d, after=b"\r")), ("data end missing", lambda d: chunked(d, after=b"")), ("data end XX", lambda d: chunked(d, after=b"XX")), ("data end CRX", lambda d: chunked(d, after=b"\rX")), ("data end LFLF", lambda d: chunked(d, after=b"\n\n")), ("data end CRCRLF", lambda d: chunked(d, after=b"\r\r\n")),
        ("data end twice", lambda d: chunked(d, after=b"\r\n\r\n")), ("data too short", lambda d: chunked(d + b"xy", b"%d" % 3)), ("data too long", lambda d: chunked(d, b"%x1")),
        ("last 00", lambda d: chunked(d, last=b"00\r\n\r\n")), ("last 000000000000000000", lambda d: chunked(d, last=b"0" * 18 + b"\r\n\r\n")), ("last LF", lambda d: chunked(d, last=b"0\n\n")), ("last LF CRLF", lambda d: chunked(d, last=b"0\n\r\n")), ("last CRLF LF", lambda d: chunked(d, last=b"0\r\n\n")), ("last CR", lambda d: chunked(d, last=b"0\r\r")), ("last missing", lambda d: chunked(d, last=b"")),
        ("last without end", lambda d: chunked(d, last=b"0\r\n")), ("last with extension", lambda d: chunked(d, last=b"0;x=y\r\n\r\n")), ("last twice", lambda d: chunked(d, last=b"0\r\n\r\n0\r\n\r\n")), ("last with data", lambda d: chunked(d, last=b"0\r\nxy\r\n\r\n")), ("last -0", lambda d: chunked(d, last=b"-0\r\n\r\n")), ("last 0x0", lambda d: chunked(d, last=b"0x0\r\n\r\n")), ("last space", lambda d: chunked(d, last=b"0 \r\n\r\n")), ("last empty size", lambda d: chunked(d, last=b"\r\n\r\n")),
        ("two", lambda d: b"3\r\nabc\r\n" + chunked(d)), ("many", lambda d: b"".join(b"1\r\n%c\r\n" % c for c in d) + b"0\r\n\r\n"), ("none", lambda d: b"0\r\n\r\n"), ("line before", lambda d: b"\r\n" + chunked(d)),
        ("trailer", lambda d: chunked(d, last=b"0\r\nX: y\r\n\r\n")), ("trailer Content-Length", lambda d: chunked(d, last=b"0\r\nContent-Length: 5\r\n\r\n")), ("trailer Transfer-Encoding", lambda d: chunked(d, last=b"0\r\nTransfer-Encoding: chunked\r\n\r\n")), ("trailer Host", lambda d: chunked(d, last=b"0\r\nHost: other\r\n\r\n")), ("trailer folded", lambda d: chunked(d, last=b"0\r\nX: y\r\n z\r\n\r\n")),
        ("trailer space first", lambda d: chunked(d, last=b"0\r\n X: y\r\n\r\n")), ("trailer no colon", lambda d: chunked(d, last=b"0\r\nX\r\n\r\n")), ("trailer is a request", lambda d: chunked(d, last=b"0\r\n" + HIDDEN)), ("trailer LF", lambda d: chunked(d, last=b"0\r\nX: y\n\r\n")), ("trailer LFs", lambda d: chunked(d, last=b"0\r\nX: y\n\n")), ("trailer NUL", lambda d: chunked(d, last=b"0\r\nX: \x00\r\n\r\n")), ("trailer bare CR", lambda d: chunked(d, last=b"0\r\nX: a\rb\r\n\r\n")),
        ("trailer space before colon", lambda d: chunked(d, last=b"0\r\nX : y\r\n\r\n")), ("trailer 150", lambda d: chunked(d, last=b"0\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(150)) + b"\r\n")), ("trailer long", lambda d: chunked(d, last=b"0\r\nX: " + b"y" * 9000 + b"\r\n\r\n")), ("trailer empty name", lambda d: chunked(d, last=b"0\r\n: y\r\n\r\n"))):
    abuse(f"chunk {_names}", _framed([b"Transfer-Encoding: chunked"], _body))

# ---- line ends ----

for _eol in (b"\n", b"\r", b"\n\r", b"\r\r\n", b" \r\n", b"\r\n\x00", b"\x00\r\n", b"\x0b\r\n", b"\r\x00\n", b"\x85"):
    abuse(f"line end {_name(_eol)}", _set(eol=_eol))
for _end in (b"\n", b"\r", b"", b"\r\r\n", b"\n\r\n", b" \r\n", b"\x00\r\n", b"\r\n\r\n", b"\n\n", b"\x0b\r\n"):
    abuse(f"head end {_name(_end)}", _set(end=_end))
for _before in (b"\r\n", b"\n", b"\r", b"\r\n" * 5, b"\n" * 20, b"\r\n" * 300, b" ", b"\t", b"\x00", b" \r\n", b"x\r\n", b"\r\r\n", b"\x16\x03\x01\x00", b"\x80", b"0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n"):
    abuse(f"before {_name(_before[:24])}{len(_before) if len(_before) > 24 else ''}", _set(before=_before))

# ---- fields with a meaning ----

for _line in (b"Connection: close", b"Connection: keep-alive", b"Connection: close, keep-alive", b"Connection: Host", b"Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", b"Connection: upgrade\r\nUpgrade: websocket", b"Upgrade: h2c", b"Upgrade: TLS/1.0\r\nConnection: upgrade", b"Connection: \x00close", b"Connection: close\x00",
              b"Connection:close ,", b"Connection: Content-Length, Transfer-Encoding", b"Keep-Alive: 300", b"Proxy-Connection: close", b"Max-Forwards: 0", b"X-HTTP-Method-Override: PUT", b"X-Original-URL: /hidden", b"X-Rewrite-URL: /hidden", b"X-Forwarded-Host: other", b"Forwarded: host=other", b"Range: bytes=0-1", b"If-Match: \"x\"",
              b"If-None-Match: *", b"TE: trailers", b"TE: trailers, chunked", b"Trailer: X", b"Expect: 100-continue", b"Content-Encoding: gzip", b"Content-Type: multipart/form-data; boundary=\"\r\n\"", b"Proxy: http://other/", b"Content-Length: 0"):
    abuse(f"with {_name(_line[:40])}", _field(_line))
for _expect in (b"100-continue", b"100-Continue", b"100-continue, x", b"x", b"", b"100", b"100-continue\r\n x", b"100-continue=1", b"200-ok"):
    abuse(f"expect {_name(_expect)}", _framed([b"Expect: " + _expect, length(b"Content-Length: N")], lambda d: d))
    abuse(f"expect chunked {_name(_expect)}", _framed([b"Expect: " + _expect, b"Transfer-Encoding: chunked"], chunked))


# ---- anything at all ----

def _mutate(rng, data):
    data = bytearray(data)
    at = rng.randrange(len(data))
    kind = rng.randrange(6)
    if kind == 0:
        data[at] = rng.randrange(256)
    elif kind == 1:
        data[at:at] = rng.choice([b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b",", b";", b"\r\n\r\n", b"\x0b", b"\xff", b"0", b"\r\n "])
    elif kind == 2:
        del data[at:at + rng.choice([1, 1, 1, 2, 5, 20])]
    elif kind == 3:
        data[at:at] = data[at:at + rng.choice([1, 2, 10, 40])]
    elif kind == 4:
        data[at] ^= 1 << rng.randrange(8)
    else:
        other = rng.randrange(len(data))
        data[at], data[other] = data[other], data[at]
    return bytes(data)


class Stream:
    """data: what is sent; cut: where it is divided into two writes, or None; tags: its abuses."""

    def __init__(self, seed, number):
        rng = random.Random(f"{seed}-{number}")
        self.number, self.tags = number, []
        count = rng.choice([1, 2, 2, 3])
        requests = []
        for i in range(count):
            body = rng.choice([b"", b"", b"a=b", HIDDEN, b"x" * 100])
            q = Request(b"POST" if body else rng.choice([b"GET", b"GET", b"HEAD", b"POST"]), b"/s%d-%d" % (number, i), body)
            if body and rng.random() < 0.4:
                q.framing, q.body = [b"Transfer-Encoding: chunked"], chunked(body)
            requests.append(q)
        for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 1, 1, 2, 3])):
            self.tags.append(rng.choice(NAMES))
            ABUSES[self.tags[-1]](rng, rng.choice(requests))
        data = [q.bytes() for q in requests]
        if not self.tags or rng.random() < 0.1:
            at = rng.randrange(count)
            data[at] = _mutate(rng, data[at])
            self.tags.append("bytes")
        last = b"GET /s%d-end HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" % number
        self.pieces = [*data, last]
        self.data = b"".join(self.pieces)
        self.cut = rng.randrange(1, len(self.data)) if rng.random() < 0.2 else None


NAMES = sorted(ABUSES)
