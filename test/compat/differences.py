# SPDX-License-Identifier: Apache-2.0
"""Where Brigade answers otherwise than Apache 2.4.71, and why.

key -> (pattern of the requests that show it, as group/name; reason). docs/differences-from-apache.md has each key, in bold.
"""

DIFFERENCES = {
    "precedence of conditions": (
        r"condition: (GET|HEAD) \[\('(If-None-Match', 'ETAG'\), \('If-Modified-Since', 'Mon"
        r"|If-Modified-Since', '[^']*'\), \('If-Unmodified-Since')|condition: \w+ \[\('If-Match', 'ETAG'\), \('If-Unm",
        "RFC 9110, 13.2.2: an entity tag outweighs a date. Apache evaluates both."),
    "ranges of GET only": (
        r"range: HEAD |condition: (HEAD|POST) \[\('(If-Range', '(ETAG|Sun, 09[^']*)'|If-None-Match', '\"x\"')\), \('Range'"
        r"|condition: POST \[\('If-Modified-Since', 'Sun, 09[^']*'\), \('Range'",
        "RFC 9110, 14.2: Range is defined for GET alone. Apache honours it for HEAD and POST."),
    "white space in ranges": (
        r"range: bytes=(0-1, 4-5|0-1 ,4-5| 0-1|\t0-1) of (/ten|1k)",
        "RFC 9110, 5.6.1: a list may have white space. Apache ignores such a field."),
    "416 tells the length": (
        r"range: bytes=(10-|10-20|99-|20-30,40-50|9223372036854775807-) of /ten|condition: GET \[\('If-Range', 'ETAG'\), .*bytes=99-'",
        "RFC 9110, 15.5.17: Content-Range says how long the file is. Apache leaves it out."),
    "no ranges, no 416": (
        r"mapped/range: bytes=99-$",
        "Where MaxRanges forbids ranges the field is ignored, as RFC 9110, 14.2 has it. Apache still answers 416."),
    "length of many parts": (
        r"range: many (100|199|200)$",
        "The length of a multipart response is known, so it is sent. Apache sends long ones in chunks."),
    "length of error pages": (
        r"(limited/body: (51|100|5000)|mapped/body: (11|100|chunked large))$"
        r"|malformed/body: .*b'(5\\nhello|x\\r\\nhello|-5\\r\\nhello|5\\r\\nhelloX0|fffffffffffffffff)",
        "An error page that ends a connection has a Content-Length all the same."),
    "chunks beyond the limit": (
        r"malformed/body: .*b'7fffffffffffffff\\r\\nx'",
        "A chunk that goes beyond LimitRequestBody is refused with 413 when its size is known, and nothing of it is read. Apache "
        "reads as far as the limit first."),
    "ambiguous framing": (
        r"malformed/body: .*(chunked\\r\\nContent-Length|Content-Length: 5\\r\\nTransfer-Encoding|chunked, chunked"
        r"|chunked\\r\\nTransfer-Encoding|gzip, chunked)|malformed/body: 1\.0 'Transfer-Encoding: (chunked|CHUNKED)",
        "Content-Length beside Transfer-Encoding, a transfer coding twice or in HTTP/1.0, or one that nobody decodes is "
        "refused: a request has one reading. Apache picks one."),
    "folded fields": (
        r"(malformed|lenient)/field: b'(X: a\\r\\n( |\\t)b| X: y|\\tX: y)(?!.*'7$)|lenient/field: b'( |\\t)X: y",
        "RFC 9112, 5.2: a folded field is refused. Apache joins its lines."),
    "100 only when it helps": (
        r"malformed/body: (POST|GET) 'Expect: 100-[Cc]ontinue",
        "A body that has arrived, or that nobody will read, is not asked for. Apache sends 100 before it skips a body."),
    "absolute targets": (
        r"get: http://(/a\.txt)?$|host: absolute and bad$",
        "RFC 9110, 4.2.1: a target without a host is refused, and so is a bad Host beside an absolute target. Apache takes both."),
    "HTTP versions": (
        r"line: '(GET /a\.txt|PRI \*) HTTP/(2\.0|9\.9)'",
        "A major version that is not spoken here gets 505. Apache answers as if it were 1.1."),
    "half a head": (
        r"end: (cut in field|cut before end|bare cr)$",
        "A client that leaves in the middle of a request head gets no answer. Apache answers 400 in some of these cases."),
}

# Differences that no single request shows.
OTHERS = {
    "types by magic files": "test_mime_magic.py: texts of rules that ask for more than their value, negative offsets, blanks behind a "
                            "type, files of pack.",
    "bare line feeds": "An empty line before a request ends with CR LF; a bare line feed is refused. Apache passes it over "
                       "if it came together with the request before.",
    "bodies that a handler leaves": "The response of a handler that does not read the request's body is sent before the body is "
                                    "read; one with bad framing then ends the connection. Apache reads it first, and answers 400.",
    "bodies that cannot be read": "Where a filter refused the request's body and the handler says OK all the same, the answer is 400, as in Apache 2.5. "
                                  "Apache 2.4 sends the page.",
    "merged trailers": "MergeTrailers On merges them when the body is read, for a file or a refusal behind its response. In Apache conditions "
                       "and Connection of a trailer still count there.",
    "output of programs, compressed": "What a program has written is compressed and sent at once. Apache waits for 69 bytes or the end.",
    "half-closed connections": "A client that ends its sending behind a request which may have others after it has left, where the server waits for "
                               "a program or a backend. Apache goes on.",
    "stored answers of backends": "mod_cache keeps the rules of RFC 9111 where Apache's does not: Date and Server are those of the stored answer, those who "
                                  "ask for what is fetched wait for it, cookies are not stored, stale-while-revalidate and stale-if-error hold.",
    "TRACE": "TraceEnable is off unless a configuration turns it on.",
    "expressions that take too long": "The match of a regular expression is given up after RegexMatchLimit steps, and its "
                                      "request gets 500. Apache takes it for an expression that does not match.",
    "a bad configuration at a reload": "The running configuration stays, and the log says why. Apache ends.",
    "starts that -t tries out": "-t fails if a start would, and names the line (test_cases.py compares with a start of Apache). "
                                "Apache's finds mistakes of lines, not files and programs that are not there.",
    "codings by weight": "The client's weights decide between the built-in deflate, brotli and zstd (test_compression.py). Apache "
                         "takes the first filter whose coding is named.",
    "conditions of coded responses": "The entity tag of a coded form is answered with 304 (test_compression.py). Apache compares "
                                     "with the tag of the file.",
    "compression and credentials": "What depends on credentials is not compressed unless DeflatePrivate and the like say so.",
    "levels of compression": "Where no directive gives one, they are other ones than Apache's.",
    "files without a size": "A file of /proc says that it is empty, and has a content: it is sent, without validators. "
                            "Apache sends nothing.",
}

# The same for test_cases.py: key -> (pattern of file/name, reason).
CASES = {
    "words of expression errors": (
        r"^(mod_alias/(r29|a8)|mod_authz_core/(expr|expr2|expr3|expr-quotes)|mod_authz_host/(host9|fdns7)"
        r"|mod_headers/(hta|header err2[01])|mod_log_config/(cond9|err36)|mod_setenvif/seie8|mod_filter/flt err6 .*)$",
        "An expression that cannot be parsed is refused at the same place; what was expected there is said in words. Apache "
        "names the tokens of its grammar."),
    "connection state of pipelined requests": (
        r"^mod_log_config/keepalive$",
        "Answers to pipelined requests are written, and then logged, together: %X and %k show the connection as it is then."),
    "length of the Server field": (
        r"^mod_log_config/item60$",
        "The product's name has another length, and so has the head that %O counts."),
    "length of a refusal": (
        r"^mod_request/kept body for an include$",
        "The page that refuses a body has a Content-Length. Apache's has none."),
    "refused response fields": (
        r"^refused_headers/refused always \w+( text)?$",
        "A response that cannot have the fields that a configuration gives it is 500 without them and without a body, and says "
        "that the connection ends. Apache's does not say so."),
    "tags of negotiated files": (
        r"mod_mime/mime negotiation$",
        "RFC 9110, 8.8.3: an entity tag ends with a quote. Apache leaves it out of the tags of negotiated files."),
    "length of parsed pages": (
        r"mod_env/env subreq$|mod_mime/mime filters$|mod_autoindex/hr-8-$",
        "A page of includes that is there as a whole is sent with its length. Apache sends it in chunks."),
}
