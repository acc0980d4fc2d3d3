# SPDX-License-Identifier: Apache-2.0
"""When pages are parsed, what headers they get, and the directives of configuration."""
from .page import Page, pages

ECHO = '<!--#echo var="DOCUMENT_NAME" -->'
BODY = f'{ECHO}|<!--#echo var="not_there" -->|<!--#nothing -->|<!--#include virtual="/p/inc.txt" -->|<!--#exec cmd="echo run" -->'
FORMATS = '<!--#flastmod virtual="/p/inc.txt" -->|<!--#echo var="LAST_MODIFIED" -->'

# The same page under many .htaccess files.
HTACCESS = {
    "plain": "",
    "error": 'SSIErrorMsg "<i>oops</i>"',
    "error-empty": 'SSIErrorMsg ""',
    "undefined": 'SSIUndefinedEcho "<!-- undef -->"',
    "undefined-word": "SSIUndefinedEcho nothing",
    "last-modified": "SSILastModified on",
    "last-modified-off": "SSILastModified off",
    "etag": "SSIETag on",
    "etag-off": "SSIETag off",
    "both": "SSILastModified on\nSSIETag on",
    "etag-none": "SSIETag on\nFileETag None",
    "etag-all": "SSIETag on\nFileETag All",
    "noexec": "Options +IncludesNOEXEC",
    "noexec-only": "Options IncludesNOEXEC",
    "no-includes": "Options -Includes",
    "options-none": "Options None",
    "options-all": "Options All",
    "options-includes": "Options Includes",
    "options-minus-noexec": "Options -IncludesNOEXEC",
    "options-both": "Options +Includes +IncludesNOEXEC",
    "options-noexec-then": "Options +IncludesNOEXEC\nOptions +Includes",
    "legacy-off": "SSILegacyExprParser off",
    "remove-filter": "RemoveOutputFilter .shtml",
    "set-filter": "SetOutputFilter INCLUDES\nRemoveOutputFilter .shtml",
    "set-filter-twice": "SetOutputFilter INCLUDES",
    "handler": "RemoveOutputFilter .shtml\nRemoveType .shtml\nAddHandler server-parsed .shtml",
    "handler-set": "RemoveOutputFilter .shtml\nSetHandler server-parsed",
    "type": "RemoveOutputFilter .shtml\nAddType text/x-server-parsed-html .shtml",
    "type3": "RemoveOutputFilter .shtml\nAddType text/x-server-parsed-html3 .shtml",
    "charset": "AddDefaultCharset utf-8",
    "charset-type": 'AddType "text/html; charset=iso-8859-1" .shtml',
    "xml": "AddType application/xml .shtml",
    "no-type": "RemoveType .shtml",
    "expires": 'Header set X-After "%{not}e"',
    "setenv": "SetEnv not_there here",
    "accept-path-info": "AcceptPathInfo On",
    "bad-argument": "XBitHack maybe",
    "bad-directive-place": "SSIStartTag <%",
    "bad-flag": "SSILegacyExprParser maybe",
}

HTACCESS_PAGES = [Page(f"conf-{name}", BODY, htaccess=text, runs=True) for name, text in HTACCESS.items()]
HTACCESS_PAGES += [
    Page("conf-head", BODY, htaccess="SSILastModified on\nSSIETag on", method="HEAD", runs=True),
    Page("conf-since", BODY, htaccess="SSILastModified on", runs=True,
         headers=[("If-Modified-Since", "Fri, 01 Jan 2038 00:00:00 GMT")]),
    Page("conf-match", BODY, htaccess="SSIETag on", headers=[("If-None-Match", "*")], runs=True),
    Page("conf-since-full", BODY, htaccess="XBitHack full\nSSILastModified on\nSSIETag on", mode=0o755, runs=True,
         headers=[("If-Modified-Since", "Fri, 01 Jan 2038 00:00:00 GMT")]),
    Page("conf-path-info", '<!--#echo var="PATH_INFO" -->|<!--#echo var="DOCUMENT_PATH_INFO" -->|<!--#echo var="DOCUMENT_URI" -->'
         '|<!--#include virtual="/p/vars.shtml" -->', htaccess="AcceptPathInfo On", path="/a%20b/c", query="d=e"),
    Page("conf-time", FORMATS, htaccess='SSITimeFormat "%Y %j"'),
    Page("conf-time-bad", FORMATS, htaccess='SSITimeFormat "%Q %"'),
    Page("conf-time-two", FORMATS, htaccess='SSITimeFormat "%Y"\nSSITimeFormat "%m"'),
    Page("conf-error-inherits", '<!--#include virtual="sub/x.shtml" --><!--#nothing -->', htaccess='SSIErrorMsg "outer"',
         files={"sub/.htaccess": 'SSIErrorMsg "inner"\n', "sub/x.shtml": "<!--#nothing -->"}),
    Page("conf-sub-off", 'a<!--#include virtual="sub/x.shtml" -->b', htaccess="",
         files={"sub/.htaccess": "Options -Includes\n", "sub/x.shtml": f"{ECHO}"}),
    Page("conf-noexec-include-cgi", 'a<!--#include virtual="/cgi/hello.cgi" -->b<!--#include virtual="/p/inc.txt" -->'
         '<!--#include file="x.gif" --><!--#exec cgi="/cgi/hello.cgi" -->',
         htaccess="Options IncludesNOEXEC", files={"x.gif": b"GIF89a"}, runs=True),
    Page("conf-noexec-in-sub", 'a<!--#include virtual="sub/x.shtml" -->b<!--#exec cmd="echo outer" -->', htaccess="", runs=True,
         files={"sub/.htaccess": "Options IncludesNOEXEC\n", "sub/x.shtml": '<!--#exec cmd="echo inner" -->'}),
    Page("conf-order-case", BODY, htaccess="RemoveOutputFilter .shtml\nSetOutputFilter includes", runs=True),
    Page("conf-error-document", "x", htaccess="ErrorDocument 404 /p/error-page.shtml", path="-not-there"),
]

XBITS = []
for hack in ("off", "on", "full"):
    for mode in (0o644, 0o744, 0o654, 0o754):
        XBITS.append(Page(f"xbit-{hack}-{mode:o}", f"x{ECHO}y", htaccess=f"XBitHack {hack}", mode=mode, suffix=".html"))
XBITS += [
    Page("xbit-no-includes", f"x{ECHO}y", htaccess="XBitHack on\nOptions -Includes", mode=0o744, suffix=".html"),
    Page("xbit-text", f"x{ECHO}y", htaccess="XBitHack on", mode=0o744, suffix=".txt"),
    Page("xbit-charset", f"x{ECHO}y", htaccess='XBitHack on\nAddType "text/html; charset=utf-8" .html', mode=0o744,
         suffix=".html"),
    Page("xbit-since", f"x{ECHO}y", htaccess="XBitHack full", mode=0o754, suffix=".html",
         headers=[("If-Modified-Since", "Fri, 01 Jan 2038 00:00:00 GMT")]),
    Page("xbit-last-modified-off", f"x{ECHO}y", htaccess="XBitHack full\nSSILastModified off", mode=0o754, suffix=".html"),
    Page("xbit-last-modified-on", f"x{ECHO}y", htaccess="XBitHack on\nSSILastModified on", mode=0o744, suffix=".html"),
    Page("xbit-etag", f"x{ECHO}y", htaccess="XBitHack full\nSSIETag on", mode=0o754, suffix=".html"),
    Page("xbit-shtml", f"x{ECHO}y", htaccess="XBitHack full", mode=0o754),
    Page("xbit-include", 'x<!--#include virtual="y.html" -->', htaccess="XBitHack on", mode=0o744, suffix=".html",
         files={"y.html": ECHO}),
]

# What a folder allows, and what a folder in it makes of that.
OPTIONS = ["None", "Includes", "IncludesNOEXEC", "+Includes", "+IncludesNOEXEC", "-Includes", "-IncludesNOEXEC", "Indexes",
           "+Indexes", "All"]
EXEC = '<!--#exec cmd="echo run" -->|<!--#include virtual="/p/inc.txt" -->|<!--#include virtual="/p/dot.gif" -->'
OPTION_PAGES = [
    Page(f"options-{i}-{j}", EXEC, htaccess=f"Options {inner}", folder=f"options-{i}-{j}/sub", runs=True,
         files={"../.htaccess": f"Options {outer}\n"})
    for i, outer in enumerate(OPTIONS) for j, inner in enumerate(OPTIONS)]

# Virtual hosts with tags of their own; see configuration in corpus.py.
TAGS = pages("tags", [
    ("percent", '<%echo var="DOCUMENT_NAME" %>x<!--#echo var="DOCUMENT_NAME" --><%', {"host": "percent.test"}),
    ("percent-near", '<<%echo var="DOCUMENT_NAME" %>%><%<%echo var="DOCUMENT_NAME" %>%', {"host": "percent.test"}),
    ("percent-error", "a<%nothing%>b<%set%>c", {"host": "percent.test"}),
    ("percent-unterminated", 'a<%echo var="DOCUMENT_NAME" %', {"host": "percent.test"}),
    ("percent-quotes", '<%set var="x" value="%>" %><%echo var="x" %>', {"host": "percent.test"}),
    ("percent-unquoted", '<%echo var=DOCUMENT_NAME %>', {"host": "percent.test"}),
    ("percent-include", '<%include virtual="vars.shtml" %>', {"host": "percent.test"}),
    ("aab", 'aaab aab aaaabecho var="DOCUMENT_NAME" aa', {"host": "aab.test"}),
    ("aab-many", "aaaaaabecho var='DOCUMENT_NAME' aabb aaabecho var='DOCUMENT_NAME' bbaaa", {"host": "aab.test"}),
    ("one-byte", 'x{echo var="DOCUMENT_NAME" }y{echo var="DOCUMENT_URI"}z', {"host": "one.test"}),
    ("one-byte-nested", '{{echo var="DOCUMENT_NAME" }}', {"host": "one.test"}),
    ("one-byte-end", "{", {"host": "one.test"}),
    ("long", 'a<!--#include-this-please:echo var="DOCUMENT_NAME" :thanks-->b<!--#include-this-pleas', {"host": "long.test"}),
    ("long-near", '<!--#include-<!--#include-this-please:echo var="DOCUMENT_NAME" :thanks :thanks-->b', {"host": "long.test"}),
    ("end-only", 'a<!--#echo var="DOCUMENT_NAME" ?>b', {"host": "end.test"}),
])

ALL = HTACCESS_PAGES + OPTION_PAGES + XBITS + TAGS
