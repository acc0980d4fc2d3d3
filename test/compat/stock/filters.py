# SPDX-License-Identifier: Apache-2.0
"""Filters and content."""
from .driver import Case, Step

GROUP = "filters and content"
LINES = "foo one\nabc Foo adc\nlast line without end foo"
LONG = "".join(f"line {i} of a text that is longer than one buffer\n" for i in range(3000))
HTML = ("<html><head><meta http-equiv=\"Content-Type\" content=\"text/html; charset=iso-8859-1\"><title>t</title></head>\n"
        "<body><a href=\"/from/x\">caf\u00e9</a><img src='/from/i.png'><script>var a = \"/from/s\";</script></body></html>\n")
NOW = [(r"^\w{3}, \d\d \w{3} 20[2-9]\d \d\d:\d\d:\d\d GMT$", "NOW")]  # when the body was made
GZIP = {"Accept-Encoding": "gzip"}


def post(target, body, **headers):
    return Step(f"POST {target}", headers, body)


CASES = [
    Case("substitute", """
        <Directory @D@>
            SetOutputFilter SUBSTITUTE
            Substitute "s/foo/bar/i"
            Substitute "s|a(.)c|[$1]|q"
            Substitute "s/LAST/first/ni"
        </Directory>
        <Directory @D@/inherit>
            SubstituteInheritBefore On
            Substitute s/one/two/
        </Directory>
        """, ["a.txt", "HEAD a.txt", "long.txt", "inherit/a.txt", Step("a.txt", {"Range": "bytes=0-3"}), "empty.txt"],
         {"a.txt": LINES, "long.txt": LONG.replace("line 1", "foo"), "inherit/a.txt": LINES, "empty.txt": ""}),
    Case("sed", """
        <Directory @D@>
            AddOutputFilter Sed txt
            OutputSed "s/foo/bar/g"
            OutputSed "2d"
        </Directory>
        <Location /sed/in>
            SetHandler reflector
            SetInputFilter Sed
            InputSed "s/a/b/g"
        </Location>
        """, ["a.txt", "HEAD a.txt", "long.txt", post("in", "banana\nand apple\n")],
         {"a.txt": LINES, "long.txt": LONG}, needs=["reflector"], unify=NOW),
    Case("ratelimit", """
        <Directory @D@>
            SetOutputFilter RATE_LIMIT
            SetEnv rate-limit 4000
            SetEnv rate-initial-burst 512
        </Directory>
        """, ["a.txt", "HEAD a.txt", "long.txt"], {"a.txt": LINES, "long.txt": LONG}),
    Case("deflate", """
        <Directory @D@>
            AddOutputFilterByType DEFLATE text/plain text/html
        </Directory>
        <Directory @D@/alter>
            SetOutputFilter DEFLATE
        </Directory>
        DeflateAlterETag NoChange
        DeflateCompressionLevel 9
        <Location /deflate/in>
            SetHandler reflector
            SetInputFilter DEFLATE
        </Location>
        <Directory @D@/coded>
            AddEncoding x-gzip .gz
            AddInputFilter DEFLATE .txt
        </Directory>
        """, ["coded/a.txt.gz", "HEAD coded/a.txt.gz", "coded/a.txt.gz", "coded/b.gz", Step("a.txt", GZIP), "a.txt", Step("HEAD a.txt", GZIP), Step("long.txt", GZIP), Step("alter/a.txt", GZIP), Step("a.bin", GZIP),
              Step("long.txt", {**GZIP, "Range": "bytes=0-9"}), Step("a.txt", {"Accept-Encoding": "gzip;q=0"}),
              Step("a.txt", {**GZIP, "If-None-Match": "\"x\""}), Step("a.txt", lambda rs: {**GZIP, "If-None-Match": rs[0]["ETag"]}),
              Step("POST in", {"Content-Encoding": "gzip"}, __import__("gzip").compress(LONG.encode(), mtime=0))],
         {"a.txt": LINES * 10, "long.txt": LONG, "alter/a.txt": LINES * 10, "a.bin": "binary", "coded/a.txt.gz": "x", "coded/b.gz": "y"}, needs=["filter", "reflector"], unify=NOW),
    Case("brotli", """
        BrotliCompressionQuality 5
        <Directory @D@>
            SetOutputFilter BROTLI_COMPRESS
        </Directory>
        """, [Step("a.txt", {"Accept-Encoding": "br"}), "a.txt", Step("HEAD a.txt", {"Accept-Encoding": "br"}),
              Step("long.txt", {"Accept-Encoding": "gzip, br"})], {"a.txt": LINES * 10, "long.txt": LONG}),
    Case("buffer", """
        <Directory @D@>
            SetOutputFilter BUFFER
            BufferSize 1000
        </Directory>
        <Location /buffer/in>
            SetHandler reflector
            SetInputFilter BUFFER
        </Location>
        """, ["a.txt", "long.txt", post("in", LONG)], {"a.txt": LINES, "long.txt": LONG}, needs=["reflector"], unify=NOW),
    Case("ext_filter", """
        ExtFilterDefine upper mode=output cmd="/usr/bin/tr a-z A-Z" outtype=text/x-upper
        ExtFilterDefine plain mode=output cmd="/bin/cat" intype=text/plain preservescontentlength
        ExtFilterDefine lower mode=input cmd="/usr/bin/tr A-Z a-z"
        <Directory @D@>
            SetOutputFilter upper
        </Directory>
        <Directory @D@/plain>
            SetOutputFilter plain
        </Directory>
        <Location /ext_filter/in>
            SetHandler reflector
            SetOutputFilter plain
            SetInputFilter lower
        </Location>
        """, ["a.txt", "long.txt", "plain/a.txt", "plain/long.txt", post("in", "SOME Words")],
         {"a.txt": LINES, "long.txt": LONG, "plain/a.txt": LINES, "plain/long.txt": LONG}, needs=["reflector"], unify=NOW),
    Case("case_filter", "<VirtualHost *:@PORT@>\nServerName case.example\nCaseFilter On\n</VirtualHost>\n",
         ["a.txt", "HEAD a.txt", "long.txt", "none"], {"a.txt": LINES, "long.txt": LONG}, host="case.example", alone=True),
    Case("case_filter_in", "CaseFilterIn On\n<Location /case_filter_in/in>\nSetHandler reflector\n</Location>\n",
         [post("in", "some words"), post("in", LONG), "a.txt"], {"a.txt": LINES}, needs=["reflector"], unify=NOW, alone=True),
    Case("bucketeer", "<Directory @D@>\nSetOutputFilter BUCKETEER\n</Directory>\n",
         ["a.txt", "b.txt", "long.txt"], {"a.txt": LINES, "b.txt": "one\x02two\x10three\x06four\x02\x02five", "long.txt": LONG}),
    Case("charset_lite", """
        <Directory @D@>
            CharsetSourceEnc ISO-8859-1
            CharsetDefault UTF-8
        </Directory>
        """, ["a.txt", "HEAD a.txt", "long.txt", "a.png"], {"a.txt": b"caf\xe9 \xfcber\n", "long.txt": LONG.encode() + b"\xe9", "a.png": b"\xe9"}),
    Case("data", "<Directory @D@>\nSetOutputFilter DATA\n</Directory>\n", ["a.txt", "long.txt", "a.png"],
         {"a.txt": LINES, "long.txt": LONG, "a.png": bytes(range(256))}),
    Case("reflector", "<Location /reflector/r>\nSetHandler reflector\nReflectorHeader X-In\nReflectorHeader X-From X-To\n</Location>\n",
         [post("r", "body", **{"X-In": "1", "X-From": "2"}), post("r", LONG), "r", Step("OPTIONS r"),
          Step("POST r", {"Transfer-Encoding": "chunked"}, b"4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n")], unify=NOW),
    Case("request", "<Location /request/r>\nKeptBodySize 100\nSetHandler reflector\n</Location>\n",
         [post("r", "small body"), post("r", "x" * 90)], needs=["reflector"], unify=NOW),
    Case("xml2enc", "<Directory @D@>\nxml2EncDefault iso-8859-1\nSetOutputFilter xml2enc\n</Directory>\n",
         ["a.html", "b.html", "a.txt"], {"a.html": HTML.encode("latin-1"), "b.html": b"<p>caf\xe9</p>\n", "a.txt": b"caf\xe9\n"}),
    Case("proxy_html", """
        <Directory @D@>
            ProxyHTMLEnable On
            ProxyHTMLLinks a href
            ProxyHTMLLinks img src
            ProxyHTMLURLMap /from /to
            SetEnv PROXY_HTML_FORCE 1
        </Directory>
        """, ["a.html", "HEAD a.html", "a.txt"], {"a.html": HTML, "a.txt": LINES}, needs=["xml2enc"]),
    Case("include", """
        <Directory @D@>
            Options +Includes
            AddType text/html .shtml
            AddOutputFilter INCLUDES .shtml
        </Directory>
        """, ["a.shtml", "b.shtml?x=1", "HEAD a.shtml", "long.shtml"],
         {"a.shtml": "<!--#set var=\"v\" value=\"1 $DOCUMENT_NAME\"--><!--#echo var=\"v\"-->\n<!--#include virtual=\"/include/inc.txt\"-->"
          "<!--#if expr=\"$v = /a/\"-->yes<!--#else-->no<!--#endif--><!--#fsize file=\"inc.txt\"--><!--#flastmod file=\"inc.txt\"-->",
          "b.shtml": "<!--#echo var=\"QUERY_STRING\"--><!--#exec cmd=\"echo hello\"--><!--#include virtual=\"none\"--><!--#bad-->", "inc.txt": "inc\n",
          "long.shtml": LONG + "<!--#include file=\"inc.txt\"-->" + LONG}, replaces=True),
]
