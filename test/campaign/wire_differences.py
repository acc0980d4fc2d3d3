# SPDX-License-Identifier: Apache-2.0
"""Why readings differ: (pair, class, which streams show it, reason). Pairs and classes are patterns. Reasons in capitals of
Brigade are keys of ARCHITECTURE.md, "Differences from Apache"; "issue 10" are bugs that are to be mended: when they are,
their lines go, and the campaign fails for a line that no stream shows any more (test_wire.py)."""
import re


def data(pattern, flags=re.I):
    wanted = re.compile(pattern, flags)
    return lambda stream: wanted.search(stream.data)


def tag(pattern):
    wanted = re.compile(pattern)
    return lambda stream: any(wanted.search(t) for t in stream.tags)


HEAD_WITH_BODY = data(rb"HEAD [^\n]*\n(?:[^\r\n][^\n]*\n)*?(Content-Length: *\+?[1-9]|Transfer-Encoding:[^\n]*chunked)")
FRAMING = data(rb"^(Transfer-Encoding|\s+Content-Length|Content-Length)[^\n]*\n(?:[^\r\n][^\n]*\n)*?(Transfer-Encoding|Content-Length)|Transfer-Encoding:(?! *chunked *\r\n)", re.I | re.M)

KNOWN = [
    # Bugs that are to be mended.
    ("brigade, .*|brigade >, brigade|.*> brigade, strict", "second reading|laxer|stricter|close", HEAD_WITH_BODY,
     "issue 10, new: the body of a HEAD request is read as the next request"),
    ("brigade >, brigade", "stricter|close", data(rb"Transfer-Encoding:[ \t,]*(,|\r\nTransfer-Encoding:)[ \t]*chunked"),
     "issue 10: a coding with an empty element passes the head; mod_proxy cannot send it"),
    # Of the documentation.
    ("brigade, apache", "stricter", data(rb"\n[ \t]+[^\r\n]"), "FOLDED FIELDS"),
    ("brigade, apache", "stricter", FRAMING, "AMBIGUOUS FRAMING"),
    ("brigade, apache", "stricter", data(rb"HTTP/1\.0\r\n(?:[^\r\n][^\n]*\n)*?Transfer-Encoding"), "AMBIGUOUS FRAMING"),
    ("brigade, apache", "stricter", data(rb"HTTP/[2-9]\d*\.\d"), "HTTP VERSIONS"),
    ("brigade, apache", "stricter", data(rb" https?:///| https?://[ ?#]| https?://[^ ]* (?:[^\n]*\n)*?host: *[^\r\n]*[^a-z0-9.:\r\n -]| https?://[^ ]* (?:[^\n]*\n)*?host:[^\n]*\n(?:[^\r\n][^\n]*\n)*?host:"), "ABSOLUTE TARGETS"),
    ("brigade, apache", "laxer", data(rb"Expect:"), "issue 10: 417 leaves the connection open, Apache closes it without saying so"),
    ("brigade, apache", "stricter", data(rb"(^|[^\r])\n[A-Z]+ ", 0), "a bare LF before a request is no empty line; Apache and nginx pass it over"),
    ("brigade, apache", "stricter", lambda stream: {"bytes", "length one too few"} & set(stream.tags) and re.search(rb"\n[A-Z]+ /s\d", stream.data), "a bare LF before a request is no empty line; Apache and nginx pass it over"),
    # Other servers.
    ("brigade, nginx", "stricter|laxer|close", lambda stream: True, "nginx draws other lines between what it takes and what it refuses"),
    ("brigade >, brigade", "second reading", data(rb" http:/"), "mod_proxy sends the path alone"),
    ("brigade >, brigade", "laxer", data(rb"[A-Z]+ /[^ \n]*\r\n", 0), "a request of HTTP/0.9 has an answer without a head"),
    ("brigade >, brigade", "stricter", data(rb"Max-Forwards"), "mod_proxy answers"),
    ("brigade >, brigade", "second reading", data(rb"HEAD [^\n]*%00"), "the proxy's own 404 does not say that it answers a HEAD"),
    (".*, strict", "close", data(rb"Expect: *100-continue"), "100 ONLY WHEN IT HELPS: a body that is not read ends the connection"),
    ("(h2o|nginx|lighttpd) >", "odd", lambda stream: True, "what other proxies send is not ours"),
    ("(h2o|nginx|lighttpd|apache) > nginx, strict", ".*", lambda stream: True, "neither end is ours"),
]
