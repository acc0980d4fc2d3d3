# SPDX-License-Identifier: Apache-2.0
"""Why readings differ: (pair, class, which streams show it, reason). Pairs and classes are patterns. Reasons in capitals of
Brigade are keys of docs/differences-from-apache.md. A reason that begins with "bug" is one that is to be mended: when it is,
its line goes, and the campaign fails for such a line that no stream shows any more (test_wire.py)."""
import re


def data(pattern, flags=re.I):
    wanted = re.compile(pattern, flags)
    return lambda stream: wanted.search(stream.data)


def tag(pattern):
    wanted = re.compile(pattern)
    return lambda stream: any(wanted.search(t) for t in stream.tags)


FRAMING = data(rb"^(Transfer-Encoding|\s+Content-Length|Content-Length)[^\n]*\n(?:[^\r\n][^\n]*\n)*?(Transfer-Encoding|Content-Length)|Transfer-Encoding:(?! *chunked *\r\n)", re.I | re.M)

KNOWN = [
    # Of the documentation.
    ("brigade, apache", "stricter", data(rb"\n[ \t]+[^\r\n]"), "FOLDED FIELDS"),
    ("brigade, apache", "stricter", FRAMING, "AMBIGUOUS FRAMING"),
    ("brigade, apache", "stricter", data(rb"HTTP/1\.0\r\n(?:[^\r\n][^\n]*\n)*?Transfer-Encoding"), "AMBIGUOUS FRAMING"),
    ("brigade, apache", "stricter", data(rb"HTTP/[2-9]\d*\.\d"), "HTTP VERSIONS"),
    ("brigade, apache", "stricter", data(rb" https?:///| https?://[ ?#]| https?://[^ ]* (?:[^\n]*\n)*?host: *[^\r\n]*[^a-z0-9.:\r\n -]| https?://[^ ]* (?:[^\n]*\n)*?host:[^\n]*\n(?:[^\r\n][^\n]*\n)*?host:"), "ABSOLUTE TARGETS"),
    ("brigade, apache", "stricter", data(rb"(^|[^\r])\n[A-Z]+ ", 0), "BARE LINE FEEDS: before a request"),
    ("brigade, apache", "stricter", lambda stream: {"bytes", "length one too few"} & set(stream.tags) and re.search(rb"\n[A-Z]+ /s\d", stream.data), "BARE LINE FEEDS: before a request"),
    ("brigade, apache", "stricter", lambda stream: any(t.startswith("host [") for t in stream.tags) and any("://" in t for t in stream.tags), "ABSOLUTE TARGETS"),
    ("brigade, apache", "stricter", tag(r"^before \\n$"), "BARE LINE FEEDS: before a request"),
    ("brigade, apache", "laxer", data(rb"^(?!POST )[A-Z]+ [^\n]*\n(?:[^\r\n][^\n]*\n)*?Transfer-Encoding", re.M), "BODIES THAT A HANDLER LEAVES: mod_reflector reads those of POST"),
    # Other servers.
    ("brigade, nginx", "stricter|laxer|close", lambda stream: True, "nginx draws other lines between what it takes and what it refuses"),
    ("brigade >, brigade", "second reading", data(rb" http:/"), "mod_proxy sends the path alone"),
    ("brigade >, brigade", "laxer", data(rb"[A-Z]+ (?:/|http://)[^ \n]* *\r\n", 0), "a request of HTTP/0.9 has an answer without a head"),
    ("brigade >, brigade", "stricter", data(rb"Max-Forwards"), "mod_proxy answers"),
    ("brigade >, brigade", "second reading", tag("method TRACE"), "the proxy answers TRACE itself"),
    ("brigade >, brigade", "second reading", tag(r"target T/../x"), "mod_proxy sends a path without dots"),
    ("brigade >, brigade", "second reading", data(rb"HEAD [^\n]*%00"), "the proxy's own 404 does not say that it answers a HEAD"),
    ("brigade >, brigade", "laxer", data(rb"(?:^|\n)[A-Za-z]*[a-z][A-Za-z]* /s", 0), "mod_proxy passes methods on that files refuse"),
    ("brigade >, brigade", "close", data(rb"Expect: *100-continue"), "100 ONLY WHEN IT HELPS: a body that is not read ends the connection"),
    (".*, strict", "close", data(rb"Expect: *100-continue"), "100 ONLY WHEN IT HELPS: a body that is not read ends the connection"),
    ("(h2o|nginx|lighttpd) >", "odd", lambda stream: True, "what other proxies send is not ours"),
    ("(h2o|nginx|lighttpd|apache) > nginx, strict", ".*", lambda stream: True, "neither end is ours"),
]
