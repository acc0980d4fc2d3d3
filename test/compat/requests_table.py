# SPDX-License-Identifier: Apache-2.0
"""The requests that are sent to Apache and to Brigade, by the configuration that they are sent to.

A case is (name, bytes). Names are unique within a group and stay as they are: the list of differences uses
them. Each request asks for the connection to be closed, or is so broken that it is.
"""

OLD, SETTLED, FUTURE = "Mon, 01 Jan 2001 00:00:00 GMT", "Sun, 09 Sep 2001 01:46:40 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"


def request(method, target, headers=(), body=b"", version="1.1", host="site.example"):
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{n}: {v}" for n, v in headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    if not any(n == "Connection" for n, _ in headers):
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def named(prefix, cases):
    return [(f"{prefix}: {name}", data) for name, data in cases]


TARGETS = [
    "/", "/index.html", "/a.txt", "/empty.txt", "/page.css", "/script.js", "/image.png", "/data.unknown", "/noext", "/archive.tar.gz",
    "/page.html.de", "/dir", "/dir/", "/dir/index.html", "/dir?query", "/dir/sub", "/dir/sub/", "/open", "/open/", "/closed", "/closed/",
    "/none", "/none/", "/none/more", "/dir/none", "/a.txt/", "/a.txt/info", "/index.html/info/more", "/a.txt?query", "/a.txt?", "/?q",
    "//", "//a.txt", "/dir//index.html", "///dir///sub///", "/./a.txt", "/dir/./index.html", "/dir/../a.txt", "/dir/sub/../../a.txt",
    "/dir/..", "/dir/.", "/..", "/../a.txt", "/dir/../../a.txt", "/%2e%2e/a.txt", "/dir/%2e%2e/a.txt", "/%2e/a.txt", "/%61.txt",
    "/%41.txt", "/A.txt", "/a%2etxt", "/dir%2findex.html", "/dir%2Findex.html", "/%2f", "/%2F%2F", "/%00", "/a.txt%00", "/%", "/%4",
    "/%zz", "/a%20b.txt", "/a+b.txt", "/a b.txt", "/caf%C3%A9.txt", "/%ff", "/a.txt;x=1", "/a;b.txt", "/a%3bb.txt", "/100%25.txt",
    "/a.txt%20", "/a.txt.", "/a.txt~", "/.htaccess", "/.htpasswd", "/dir/.htaccess", "/.hidden", "/a\\b", "/a%5cb", "/dir\\index.html",
    "/a&b.txt", "/a'b", '/a"b', "/<script>", "/%3Cscript%3E", "/a|b", "/a^b", "/a`b", "/a{b}", "/[x]", "/*", "*", "a.txt", "?x", "#x",
    "/a.txt#frag", "/a.txt?x#frag", "http://site.example/a.txt", "http://site.example", "http://site.example?x", "http://other.example/a.txt",
    "HTTP://SITE.EXAMPLE/a.txt", "http://site.example:8080/dir", "https://site.example/a.txt", "ftp://site.example/a.txt",
    "http://user:pw@site.example/a.txt", "http:///a.txt", "http://", "http:/a.txt", "//site.example/a.txt", "/" + "x" * 200,
    "/" + "x/" * 100, "/" + "x" * 300, "/dir/sub/deep/er/none", "/dir/link.txt", "/linkdir/index.html", "/loop", "/dangling", "/secret.txt",
    "/big.bin", "/1k.bin", "/64k.bin", "/~user/", "/cgi-bin/test", "/icons/", "/server-status", "/a.txt?%00", "/a.txt?%zz", "/a.txt?a b",
    "/dir/sub?x=1&y=2", "/dir/sub?%3Cscript%3E", "/%c0%ae%c0%ae/a.txt", "/a.txt%2f", "/dir/%2e", "/dir/%2e/", "/dir/..%2fa.txt",
]

METHODS = ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PROPFIND", "get", "Get", "GETX", "BREW", "M-SEARCH", "LOCK"]

RANGES = ["bytes=0-0", "bytes=0-4", "bytes=5-", "bytes=-5", "bytes=-1", "bytes=0-", "bytes=0-9", "bytes=0-99", "bytes=10-", "bytes=10-20",
          "bytes=9-", "bytes=9-9", "bytes=99-", "bytes=-0", "bytes=-10", "bytes=-99", "bytes=5-2", "bytes=a-b", "bytes=", "bytes=-", "bytes",
          "chars=0-1", "bytes=0-1,4-5", "bytes=0-1, 4-5", "bytes=0-1 ,4-5", "bytes=4-5,0-1", "bytes=0-5,3-9", "bytes=0-1,2-3", "bytes=0-0,-1",
          "bytes=0-1,20-30", "bytes=20-30,40-50", "bytes=0-1,,4-5", ",bytes=0-1", "bytes=0-1,", "bytes=0-1;4-5", "Bytes=0-1", "BYTES=0-1",
          "bytes =0-1", "bytes= 0-1", "bytes=0 - 1", "bytes=0-1,4-5,7-8", "bytes=0-0,0-0,0-0", "bytes=9-9,0-0", "bytes=+0-1", "bytes=0-+1",
          "bytes=00-01", "bytes=18446744073709551616-", "bytes=0-18446744073709551616", "bytes=9223372036854775807-", "bytes=-9223372036854775808",
          "bytes=0x0-0x1", "none", "bytes=*", "bytes=0-1,a-b", "bytes=1-0,0-1", "bytes=0-1\t", "bytes=\t0-1"]

CONDITIONS = [
    [("If-Modified-Since", SETTLED)], [("If-Modified-Since", OLD)], [("If-Modified-Since", FUTURE)], [("If-Modified-Since", "x")],
    [("If-Modified-Since", "")], [("If-Modified-Since", SETTLED + "; length=10")], [("If-Modified-Since", "Sunday, 09-Sep-01 01:46:40 GMT")],
    [("If-Modified-Since", "Sun Sep  9 01:46:40 2001")], [("If-Modified-Since", "sun, 09 sep 2001 01:46:40 gmt")],
    [("If-Unmodified-Since", SETTLED)], [("If-Unmodified-Since", OLD)], [("If-Unmodified-Since", FUTURE)], [("If-Unmodified-Since", "x")],
    [("If-None-Match", "ETAG")], [("If-None-Match", "W/ETAG")], [("If-None-Match", '"x"')], [("If-None-Match", "*")], [("If-None-Match", '"x", ETAG')],
    [("If-None-Match", 'ETAG, "x"')], [("If-None-Match", '"x","y"')], [("If-None-Match", "x")], [("If-None-Match", "")],
    [("If-None-Match", '"x'), ], [("If-Match", "ETAG")], [("If-Match", "W/ETAG")], [("If-Match", '"x"')], [("If-Match", "*")],
    [("If-Match", '"x", ETAG')], [("If-Match", "")], [("If-None-Match", "ETAG"), ("If-Modified-Since", SETTLED)],
    [("If-None-Match", '"x"'), ("If-Modified-Since", SETTLED)], [("If-None-Match", "ETAG"), ("If-Modified-Since", OLD)],
    [("If-Match", "ETAG"), ("If-Unmodified-Since", OLD)], [("If-Match", '"x"'), ("If-Unmodified-Since", SETTLED)],
    [("If-Match", "ETAG"), ("If-None-Match", "ETAG")], [("If-Modified-Since", SETTLED), ("If-Unmodified-Since", SETTLED)],
    [("If-Range", "ETAG"), ("Range", "bytes=0-1")], [("If-Range", '"x"'), ("Range", "bytes=0-1")], [("If-Range", SETTLED), ("Range", "bytes=0-1")],
    [("If-Range", OLD), ("Range", "bytes=0-1")], [("If-Range", FUTURE), ("Range", "bytes=0-1")], [("If-Range", "W/ETAG"), ("Range", "bytes=0-1")],
    [("If-Range", "x"), ("Range", "bytes=0-1")], [("If-Range", "ETAG")], [("If-None-Match", "ETAG"), ("Range", "bytes=0-1")],
    [("If-None-Match", '"x"'), ("Range", "bytes=0-1")], [("If-None-Match", "*"), ("Range", "bytes=0-1")],
    [("If-Modified-Since", SETTLED), ("Range", "bytes=0-1")], [("If-Match", '"x"'), ("Range", "bytes=99-")],
    [("If-Range", '"x"'), ("Range", "bytes=99-")], [("If-Range", "ETAG"), ("Range", "bytes=99-")],
]

FIELDS = [
    [("Accept", "text/html")], [("Accept", "image/png")], [("Accept-Encoding", "gzip")], [("Accept-Language", "de")], [("Accept-Charset", "utf-8")],
    [("TE", "trailers")], [("Upgrade", "h2c"), ("Connection", "Upgrade, close")], [("Via", "1.1 proxy")], [("Cookie", "a=b")], [("Referer", "http://x/")],
    [("Authorization", "Basic eDp5")], [("Authorization", "nonsense")], [("Max-Forwards", "0")], [("Cache-Control", "no-cache")], [("Pragma", "no-cache")],
    [("Expect", "100-continue")], [("Expect", "nothing")], [("Expect", "")], [("Connection", "close, Foo")], [("Connection", "CLOSE")],
    [("X-Empty", "")], [("X-Long", "y" * 4000)], [("X-High", "\xe9\xff")], [("User-Agent", "Mozilla/4.0 (compatible; MSIE 6.0)")],
    [("Range", "bytes=0-1"), ("Range", "bytes=4-5")], [("Request-Range", "bytes=0-1")], [("Content-Type", "text/plain")], [("Content-Length", "0")],
    [("Accept", ""), ("Accept", "*/*")], [("From", "a@b")], [("Date", OLD)], [("Proxy-Connection", "keep-alive")], [("Keep-Alive", "300")],
]

HOSTS = ["site.example", "SITE.EXAMPLE", "site.example.", "site.example:80", "site.example:8080", "site.example:", "site.example:0", "site.example:99999",
         "site.example:x", "second.example", "alias.example", "x.wild.example", "wild.example", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "::1",
         "[::1", "a_b.example", "a b", "a/b", "a?b", "a#b", "a@b", "a,b", "-a", "a..b", ".a", "a.", ".", "", " ", "xn--nxasmq6b", "a%20b", "\xe9.example",
         "x" * 255, "a\tb", "site.example, other.example", "*", "site.example:80:80", "0", "1.2.3.4.5", "999.1.1.1", "unheard-of.example"]


def plain():
    cases = [(t, request("GET", t)) for t in TARGETS]
    found = named("get", cases)
    found += named("http10", [(t, request("GET", t, version="1.0", host=None)) for t in TARGETS[:40]])
    found += named("method", [(f"{m} {t}", request(m, t)) for m in METHODS for t in ("/a.txt", "/dir", "/none", "/dir/", "/closed/")])
    found += named("method", [(f"{m} * or authority", request(m, "site.example:80" if m == "CONNECT" else "*")) for m in METHODS])
    found += named("body", [(f"{m} {t}", request(m, t, body=b"a=1&b=2")) for m in ("GET", "POST", "PUT", "OPTIONS", "TRACE") for t in ("/a.txt", "/none", "/dir")])
    found += named("range", [(f"{r} of {t}", request("GET", t, [("Range", r)])) for r in RANGES for t in ("/ten.txt", "/empty.txt")])
    found += named("range", [(f"{r} of 1k", request("GET", "/1k.bin", [("Range", r)])) for r in RANGES[22:32]])
    found += named("range", [(f"HEAD {r}", request("HEAD", "/ten.txt", [("Range", r)])) for r in RANGES[:12]])
    found += named("range", [(f"many {n}", request("GET", "/1k.bin", [("Range", "bytes=" + ",".join(f"{i * 4}-{i * 4 + 1}" for i in range(n)))]))
                             for n in (2, 19, 20, 21, 100, 199, 200, 201, 250)])
    found += named("range", [(f"overlaps {n}", request("GET", "/1k.bin", [("Range", "bytes=" + ",".join(f"0-{i + 5}" for i in range(n)))]))
                             for n in (2, 10, 20, 21, 22, 30)])
    found += named("range", [(f"reversals {n}", request("GET", "/1k.bin", [("Range", "bytes=" + ",".join(f"{900 - i * 9}-{901 - i * 9}" for i in range(n)))]))
                             for n in (2, 10, 20, 21, 22, 30)])
    found += named("condition", [(f"{m} {c}", request(m, "/ten.txt", c)) for m in ("GET", "HEAD", "POST") for c in CONDITIONS])
    found += named("field", [(str(f)[:60], request("GET", "/a.txt", f)) for f in FIELDS])
    found += named("host", [(repr(h), request("GET", "/a.txt", host=h)) for h in HOSTS])
    found += named("host", [(f"redirect {h!r}", request("GET", "/dir", host=h)) for h in HOSTS[:22]])
    found += named("host", [("none", request("GET", "/a.txt", host=None)), ("two", request("GET", "/a.txt", [("Host", "x")])),
                            ("absolute and other", request("GET", "http://second.example/a.txt")),
                            ("absolute and bad", request("GET", "http://second.example/a.txt", host="a b"))])
    return found


MAPPED = [
    "/alias/one.txt", "/alias", "/alias/", "/aliasx/one.txt", "/aliasfile", "/match/one", "/match/one.txt", "/old", "/old/more", "/old?q", "/oldx", "/perm",
    "/perm/a?b", "/temp", "/seeother", "/gone", "/gone/x", "/missing-by-redirect", "/rm/abc", "/rm/", "/r307", "/r308", "/rel", "/none", "/errors/none",
    "/errors/forbidden", "/errors/text", "/errors/url", "/errors/broken", "/errors/shtml", "/denied/", "/denied/x.txt", "/local/x.txt", "/net/x.txt",
    "/method/x.txt", "/env/x.txt", "/expr/x.txt?let", "/expr/x.txt", "/all/x.txt", "/any/x.txt", "/nested/x.txt", "/order1/x.txt", "/order2/x.txt", "/order3/x.txt",
    "/order4/x.txt", "/satisfy/x.txt", "/auth/x.txt", "/list/", "/list/?C=N;O=D", "/list/?C=S;O=A", "/list/?C=M;O=A", "/list/?C=D;O=D", "/list/?C=X;O=A",
    "/list/?C=N", "/list/?P=a*", "/list/?F=0", "/list/?F=1", "/list/?F=2", "/list/?V=1", "/list/?garbage", "/list/?C=N;O=A;F=2;P=*.txt", "/plainlist/", "/htmllist/",
    "/iconlist/", "/readmelist/", "/xhtmllist/", "/suppress/", "/emptylist/", "/ignore/", "/foldersfirst/", "/width/", "/desc/", "/index1/", "/index2/", "/index3/",
    "/index4/", "/index5/", "/noslash", "/noslash/", "/fallback/none", "/fallback/x.txt", "/fallback/none/more?q", "/mime/a.txt", "/mime/a.html", "/mime/a.html.de",
    "/mime/a.de.html", "/mime/a.html.gz", "/mime/a.tar.gz", "/mime/a.utf8.html", "/mime/a.x.y.z", "/mime/noext", "/mime/.html", "/mime/a.own", "/mime/a.HTML",
    "/mime/a.b%20c.html", "/forced/a.txt", "/charset/a.txt", "/charset/a.png", "/charset/a.html", "/removed/a.html", "/lang/a.txt", "/handler/a.txt", "/headers/a.txt",
    "/headers/none", "/headers/dir", "/expires/a.txt", "/expires/a.html", "/expires/a.png", "/expires/none", "/etag/none/a.txt", "/etag/size/a.txt", "/etag/all/a.txt",
    "/etag/inode/a.txt", "/etag/minus/a.txt", "/etag/digest/a.txt", "/pathinfo/on/a.txt/more", "/pathinfo/off/a.txt/more", "/pathinfo/default/a.txt/more",
    "/slashes/on/d%2fa.txt", "/slashes/nodecode/d%2fa.txt", "/slashes/off/d%2fa.txt", "/ht/a.txt", "/ht/denied/a.txt", "/ht/bad/a.txt", "/ht/sub/a.txt", "/ht/sub/deep/a.txt",
    "/ht/redirect", "/ht/redirect/x", "/ht/index/", "/ht/error/none", "/ht/files/a.txt", "/ht/files/b.txt", "/ht/if/a.txt?x", "/ht/if/a.txt", "/ht/limit/a.txt", "/ht/notallowed/a.txt",
    "/ht/type/a.own", "/ht/options/", "/ht/.htaccess", "/if/a.txt", "/if/a.txt?one", "/if/a.txt?two", "/if/nested/a.txt?one", "/loc/a.txt", "/loc/glob/b/a.txt", "/loc/re/123",
    "/loc/re/abc", "/Files/a.secret", "/ht/a.secret", "/links/follow/in.txt", "/links/none/in.txt", "/links/owner/in.txt", "/links/follow/out.txt", "/links/none/dir/a.txt",
    "/links/follow/dir/a.txt", "/links/follow/loop", "/links/follow/dangling", "/ranges/none/ten.txt", "/trace/a.txt", "/body/a.txt", "/merge/off//a.txt", "/x%2fy", "/setenv/a.txt",
    "/filter/a.txt", "/nosuchhandler/a.txt",
]


def mapped():
    found = named("get", [(t, request("GET", t)) for t in MAPPED])
    found += named("head", [(t, request("HEAD", t)) for t in MAPPED if "list" in t or "error" in t or t.startswith(("/old", "/gone", "/ht"))])
    found += named("post", [(t, request("POST", t, body=b"x=1")) for t in ("/method/x.txt", "/list/", "/old", "/errors/none", "/denied/", "/ht/limit/a.txt", "/fallback/none")])
    found += named("options", [(t, request("OPTIONS", t)) for t in ("/list/", "/denied/", "/old", "/none", "/ht/limit/a.txt", "/headers/a.txt")])
    found += named("agent", [(f"{a} {t}", request("GET", t, [("User-Agent", a)])) for a in ("Mozilla/2", "curl/8", "RoboBot/1") for t in ("/setenv/a.txt", "/env/x.txt", "/headers/a.txt")])
    found += named("cookie", [(c, request("GET", "/setenv/a.txt", [("Cookie", c)])) for c in ("a=1", "b=2; a=1", "")])
    found += named("range", [(r, request("GET", "/ranges/none/ten.txt", [("Range", r)])) for r in ("bytes=0-1", "bytes=0-1,3-4", "bytes=99-")])
    found += named("range", [(f"{d} {r}", request("GET", f"/ranges/{d}/ten.txt", [("Range", r)])) for d in ("two", "overlap", "reverse", "unlimited")
                             for r in ("bytes=0-0,2-2", "bytes=0-0,2-2,4-4", "bytes=0-5,3-9", "bytes=0-5,3-9,1-4", "bytes=8-9,5-6,2-3", "bytes=8-9,5-6")])
    found += named("body", [(f"{n}", request("POST", "/body/a.txt", body=b"x" * n)) for n in (1, 10, 11, 100)])
    found += named("body", [("chunked small", request("POST", "/body/a.txt", [("Transfer-Encoding", "chunked")]) + b"5\r\nhello\r\n0\r\n\r\n"),
                            ("chunked large", request("POST", "/body/a.txt", [("Transfer-Encoding", "chunked")]) + b"40\r\n" + b"x" * 64 + b"\r\n0\r\n\r\n")])
    found += named("host", [(f"{h} {t}", request("GET", t, host=h)) for h in ("second.example", "x.wild.example", "path.example") for t in ("/", "/dir", "/none", "/vpath/a.txt", "/old")])
    found += named("trace", [(m, request("TRACE", "/trace/a.txt", [("X-A", m)])) for m in ("x", "\xe9")])
    found += named("conditional", [(f"{t} {c}", request("GET", t, c)) for t in ("/expires/a.txt", "/headers/a.txt", "/ht/a.txt", "/etag/none/a.txt") for c in CONDITIONS[:4] + CONDITIONS[13:16]])
    return found


def raw(line="GET /a.txt HTTP/1.1", fields=b"", host=b"Host: site.example\r\n", body=b"", end=b"Connection: close\r\n\r\n"):
    return (line.encode("latin-1") if isinstance(line, str) else line) + b"\r\n" + host + fields + end + body


LINES = ["", " ", "GET", "GET ", "GET /a.txt", "GET /a.txt ", "GET  /a.txt HTTP/1.1", "GET /a.txt  HTTP/1.1", "GET /a.txt HTTP/1.1 ", " GET /a.txt HTTP/1.1", "GET\t/a.txt\tHTTP/1.1",
         "GET /a.txt HTTP", "GET /a.txt HTTP/", "GET /a.txt HTTP/1", "GET /a.txt HTTP/1.", "GET /a.txt HTTP/.1", "GET /a.txt HTTP/11", "GET /a.txt HTTP/1.10", "GET /a.txt HTTP/01.1",
         "GET /a.txt HTTP/1.2", "GET /a.txt HTTP/2.0", "GET /a.txt HTTP/0.9", "GET /a.txt HTTP/9.9", "GET /a.txt http/1.1", "GET /a.txt HTTP/1.1.1", "GET /a.txt HTTP/1,1", "GET /a.txt HTTPS/1.1",
         "GET /a.txt XTTP/1.1", "GET /a b HTTP/1.1", "GET /a\x01b HTTP/1.1", "GET /a\x7fb HTTP/1.1", "GET /a\xe9b HTTP/1.1", "GET /a\x00b HTTP/1.1", "GET /a\rb HTTP/1.1", "G\x00ET /a.txt HTTP/1.1",
         "G(ET /a.txt HTTP/1.1", "G/T /a.txt HTTP/1.1", "G\xe9T /a.txt HTTP/1.1", "GET HTTP/1.1", "/a.txt HTTP/1.1", "GET a.txt HTTP/1.1", "GET \\a.txt HTTP/1.1", "X" * 100 + " /a.txt HTTP/1.1",
         "GET /" + "x" * 9000 + " HTTP/1.1", "GET /a.txt?" + "x" * 8000 + " HTTP/1.1", "Y" * 9000, "PRI * HTTP/2.0", "HELO example.com", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", "{\"json\": 1}"]

BAD_FIELDS = [b"X: y\r\n", b"X:y\r\n", b"X:\r\n", b"X: \r\n", b"X : y\r\n", b"X\t: y\r\n", b" X: y\r\n", b"\tX: y\r\n", b": y\r\n", b":\r\n", b"X\r\n", b"X y\r\n", b"X: a\x00b\r\n", b"X: a\x01b\r\n", b"X: a\x7fb\r\n",
              b"X: a\x80b\r\n", b"X: a\rb\r\n", b"X: a\tb\r\n", b"X: a\x0bb\r\n", b"X\xe9: y\r\n", b"X@Y: y\r\n", b"X(Y): y\r\n", b"X,Y: y\r\n", b"X;Y: y\r\n", b"X=Y: y\r\n", b"X[Y]: y\r\n", b"X\"Y: y\r\n",
              b"X!#$%&'*+-.^_`|~: y\r\n", b"X: a\r\n b\r\n", b"X: a\r\n\tb\r\n", b"X: a\r\n \r\n", b"X: a\r\n\r\r\n", b"X: a\n", b"X: a\nY: b\n", b"X: a\r\n" * 99, b"X: a\r\n" * 101, b"X: " + b"y" * 8100 + b"\r\n",
              b"X: " + b"y" * 8300 + b"\r\n", b"X" * 8300 + b": y\r\n", b"X: a\r\n" + b" b\r\n" * 50, b"Content-Length: 0\r\nContent-Length: 0\r\n", b"Host: site.example\r\n", b"Host : site.example\r\n", b"hOST: other\r\n"]

BODIES = [
    (b"Content-Length: 5\r\n", b"hello"), (b"Content-Length: 0\r\n", b""), (b"Content-Length: \r\n", b""), (b"Content-Length: -1\r\n", b""), (b"Content-Length: +5\r\n", b"hello"),
    (b"Content-Length: 5 \r\n", b"hello"), (b"Content-Length: 05\r\n", b"hello"), (b"Content-Length: 0x5\r\n", b"hello"), (b"Content-Length: 5,5\r\n", b"hello"), (b"Content-Length: 5, 6\r\n", b"hello!"),
    (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"), (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"), (b"Content-Length: abc\r\n", b""), (b"Content-Length: 5a\r\n", b"hello"),
    (b"Content-Length: 99999999999999999999\r\n", b""), (b"Content-Length: 9223372036854775808\r\n", b""), (b"Content-Length: 5\r\n", b"hel"), (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: CHUNKED\r\n", b"5\r\nhello\r\n0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\nX: y\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"5;x=y\r\nhello\r\n0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\n", b"5 \r\nhello\r\n0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\n", b"5\nhello\n0\n\n"),
    (b"Transfer-Encoding: chunked\r\n", b"x\r\nhello\r\n0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\n", b"-5\r\nhello\r\n0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\n", b"5\r\nhelloX0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"fffffffffffffffff\r\n"), (b"Transfer-Encoding: chunked\r\n", b"7fffffffffffffff\r\nx"), (b"Transfer-Encoding: chunked\r\n", b"5\r\nhel"), (b"Transfer-Encoding: chunked\r\n", b""),
    (b"Transfer-Encoding: identity\r\n", b""), (b"Transfer-Encoding: gzip\r\n", b""), (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
    (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: \r\n", b""), (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: chunkedx\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked,\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: chunked ,\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: , chunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked;q=1\r\n", b"0\r\n\r\n"), (b"Transfer-Encoding: \"chunked\"\r\n", b"0\r\n\r\n"), (b"Expect: 100-continue\r\nContent-Length: 5\r\n", b"hello"), (b"Expect: 100-Continue\r\nContent-Length: 5\r\n", b"hello"),
    (b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), (b"Expect: other\r\nContent-Length: 5\r\n", b"hello"), (b"Content-Encoding: gzip\r\nContent-Length: 5\r\n", b"hello"),
]


def malformed():
    found = named("line", [(repr(line[:70]), raw(line)) for line in LINES])
    found += named("field", [(repr(f[:50]) + str(len(f)), raw(fields=f)) for f in BAD_FIELDS])
    found += named("body", [(f"{m} {f.decode('latin-1')!r} {b[:24]!r}", raw(f"{m} /a.txt HTTP/1.1", f, body=b)) for m in ("POST", "GET") for f, b in BODIES])
    found += named("body", [(f"1.0 {f.decode('latin-1')!r} {b[:24]!r}", raw("POST /a.txt HTTP/1.0", f, body=b)) for f, b in BODIES[:20]])
    found += named("end", [("bare lf", b"GET /a.txt HTTP/1.1\nHost: site.example\nConnection: close\n\n"), ("mixed", b"GET /a.txt HTTP/1.1\r\nHost: site.example\nConnection: close\r\n\n"),
                           ("bare cr", b"GET /a.txt HTTP/1.1\rHost: site.example\rConnection: close\r\r"), ("crcrlf", b"GET /a.txt HTTP/1.1\r\r\nHost: site.example\r\n\r\n"),
                           ("only crlf", b"\r\n\r\n\r\n\r\n"), ("nothing", b""), ("one byte", b"G"), ("crlf then request", b"\r\n" + raw()), ("lf then request", b"\n" + raw()),
                           ("many crlf", b"\r\n" * 12 + raw()), ("0.9", b"GET /a.txt\r\n"), ("0.9 with lf", b"GET /a.txt\n"), ("cut in line", b"GET /a.t"), ("cut in field", b"GET /a.txt HTTP/1.1\r\nHos"),
                           ("cut before end", b"GET /a.txt HTTP/1.1\r\nHost: site.example\r\n"), ("nul", b"\0" * 20 + b"\r\n\r\n")])
    found += named("pipeline", [("two", raw(end=b"\r\n") + raw("GET /ten.txt HTTP/1.1")), ("error between", raw(end=b"\r\n") + raw("GET /none HTTP/1.1", end=b"\r\n") + raw("GET /ten.txt HTTP/1.1")),
                                ("head between", raw("HEAD /a.txt HTTP/1.1", end=b"\r\n") + raw("GET /ten.txt HTTP/1.1")), ("bad between", raw(end=b"\r\n") + b"BAD\r\n\r\n" + raw()),
                                ("body between", raw("POST /a.txt HTTP/1.1", b"Content-Length: 3\r\n", body=b"abc", end=b"\r\n") + raw("GET /ten.txt HTTP/1.1")),
                                ("after close", raw() + raw("GET /ten.txt HTTP/1.1")), ("1.0 keep", raw("GET /a.txt HTTP/1.0", b"Connection: keep-alive\r\n", end=b"\r\n") + raw("GET /ten.txt HTTP/1.0")),
                                ("1.0 no keep", raw("GET /a.txt HTTP/1.0", end=b"\r\n") + raw("GET /ten.txt HTTP/1.0")), ("blank between", raw(end=b"\r\n") + b"\r\n" + raw("GET /ten.txt HTTP/1.1"))])
    return found


def lenient():
    wanted = ("GET  /a", "GET /a.txt  ", "GET\t", "GET /a b", "HTTP/1.1 ", " GET", "http/1.1", "0.9", "XTTP", "HTTP/1.2", "G(ET", "HTTPS")
    found = named("line", [(repr(line[:70]), raw(line)) for line in LINES if any(w in line for w in wanted)])
    found += named("field", [(repr(f[:50]) + str(len(f)), raw(fields=f)) for f in BAD_FIELDS[:34]])
    found += named("end", [("bare lf", b"GET /a.txt HTTP/1.1\nHost: site.example\nConnection: close\n\n"), ("0.9", b"GET /a.txt\r\n")])
    return found


def limited():
    found = named("line", [(str(n), raw("GET /a.txt?" + "x" * n + " HTTP/1.1")) for n in (10, 60, 76, 77, 78, 79, 80, 81, 82, 100, 200, 5000)])
    found += named("fields", [(str(n), raw(fields=b"".join(b"X%d: y\r\n" % i for i in range(n)))) for n in (1, 5, 7, 8, 9, 10, 20)])
    found += named("field size", [(str(n), raw(fields=b"X: " + b"y" * n + b"\r\n")) for n in (10, 90, 95, 96, 97, 98, 99, 100, 101, 120, 200, 5000)])
    found += named("joined size", [(str(n), raw(fields=b"X: " + b"y" * (n // 2) + b"\r\nZ: z\r\nx: " + b"y" * (n - n // 2) + b"\r\n"))
                                   for n in (0, 10, 96, 97, 98, 99, 100, 150, 180)])
    found += named("joined size", [("three", raw(fields=b"Cookie: " + b"y" * 30 + b"\r\n" + b"Cookie: " + b"y" * 35 + b"\r\nCOOKIE: " + b"y" * 35 + b"\r\n")),
                                   ("two names", raw(fields=b"X: " + b"y" * 60 + b"\r\nY: " + b"y" * 60 + b"\r\n"))])
    found += named("body", [(str(n), raw("POST /a.txt HTTP/1.1", b"Content-Length: %d\r\n" % n, body=b"x" * n)) for n in (0, 1, 49, 50, 51, 100, 5000)])
    return found
