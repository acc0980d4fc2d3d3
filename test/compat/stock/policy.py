# SPDX-License-Identifier: Apache-2.0
"""Policy and mapping."""
from .driver import Case, Step

GROUP = "policy and mapping"
A = {"a.txt": "text of a\n"}
SCRIPT = ("#!/bin/sh\nprintf 'Content-Type: text/plain\\nX-Own: yes\\n\\n'\necho \"$REQUEST_METHOD $SCRIPT_NAME|$PATH_INFO|$QUERY_STRING|$GATEWAY_INTERFACE|"
          "$SERVER_PROTOCOL|$REMOTE_ADDR|$HTTP_X_IN|$CONTENT_LENGTH|$CONTENT_TYPE|$PATH_TRANSLATED|$SERVER_NAME|$REQUEST_SCHEME|$CONTEXT_PREFIX\"\ncat\n")
CGI_FILES = {
    "a.cgi": SCRIPT, "status.cgi": "#!/bin/sh\nprintf 'Status: 418 Tea\\nContent-Type: text/plain\\n\\nshort\\n'\n",
    "location.cgi": "#!/bin/sh\nprintf 'Location: http://elsewhere.example/\\n\\n'\n", "local.cgi": "#!/bin/sh\nprintf 'Location: /index.html?from=cgi\\n\\n'\n",
    "nph-a.cgi": "#!/bin/sh\nprintf 'HTTP/1.0 202 Own\\r\\nContent-Type: text/own\\r\\n\\r\\nraw\\n'\n",
    "bad.cgi": "#!/bin/sh\necho no header here\n", "none.cgi": "#!/bin/sh\nexit 1\n", "notx.cgi": "not executable\n",
    "long.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\ni=0; while [ $i -lt 3000 ]; do echo \"line $i of a long answer\"; i=$((i+1)); done\n",
    "cond.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\nETag: \"e\"\\nLast-Modified: Sun, 09 Sep 2001 01:46:40 GMT\\n\\nbody\\n'\n",
    "err.cgi": "#!/bin/sh\necho complaint of the script >&2\nprintf 'Content-Type: text/plain\\n\\nok\\n'\n", "/index.html": "home\n",
}
CGI_STEPS = [
    "a.cgi?x=1&y", "a.cgi/extra/path?q", Step("POST a.cgi", {"Content-Type": "text/own"}, "body of the request"), "HEAD a.cgi", Step("a.cgi", {"X-In": "in"}),
    Step("POST a.cgi", {"Transfer-Encoding": "chunked"}, b"4\r\nabcd\r\n0\r\n\r\n"), Step("POST a.cgi", {}, "x" * 100000), "status.cgi", "location.cgi", "local.cgi",
    "nph-a.cgi", "bad.cgi", "none.cgi", "notx.cgi", "missing.cgi", "long.cgi", "cond.cgi", Step("cond.cgi", {"If-None-Match": "\"e\""}),
    Step("cond.cgi", {"Range": "bytes=0-1"}), "err.cgi",
]
CGI_CONFIG = "<Directory @D@>\nOptions +ExecCGI\nAddHandler cgi-script .cgi\n</Directory>\n"
LISTED = {"list/b.txt": "bb", "list/a.html": "<title>t</title>", "list/sub/x": "x", "list/c d.txt": "c"}
VOLATILE_LOG = [(r"\d+\.\d+|[0-9a-f-]{16,}", "N")]


def only_status(*names):
    return [Step(n, skip_body=True) for n in names]


CASES = [
    Case("rewrite", """
        RewriteEngine On
        RewriteMap lower int:tolower
        RewriteMap words txt:@D@/words.txt
        RewriteRule ^/rewrite/server/(.*)$ /rewrite/a.txt?server=$1 [PT,QSA]
        RewriteRule ^/rewrite/moved$ http://elsewhere.example/there [R=301,L]
        RewriteRule ^/rewrite/gone$ - [G]
        RewriteRule ^/rewrite/forbidden$ - [F]
        RewriteRule ^/rewrite/map/(.*)$ /rewrite/${words:${lower:$1}|default.txt} [L]
        RewriteRule ^/rewrite/env$ /rewrite/a.txt [E=SET:$0,L]
        RewriteRule ^/rewrite/cookie$ /rewrite/a.txt [CO=name:value:.example.org:10:/:secure:httponly,L]
        RewriteCond %{HTTP:X-Cond} ^(yes)$ [NC]
        RewriteCond %{QUERY_STRING} q=(\\d+)
        RewriteRule ^/rewrite/cond$ /rewrite/%1.txt? [L]
        RewriteCond @D@%{PATH_INFO} !-f
        RewriteRule ^/rewrite/teapot$ - [R=402]
        <Directory @D@>
            Header set X-Set "%{SET}e %{REDIRECT_SET}e %{THE_REQUEST}e" env=!none
        </Directory>
        """,
         ["server/x?y=1", "moved?q", "gone", "forbidden", "map/ONE", "map/none", "env", Step("cookie", unify=[(r"expires=[^;]*", "T")]), Step("cond?q=12", {"X-Cond": "Yes"}), "cond?q=12",
          "teapot", "a.txt", "ht/x/y", "ht/redirect", "ht/last", "ht/deep/file", "ht/if?z=1", "ht/loop", "ht/dir", "ht/", "ht/enc/a%20b%2fc", "HEAD ht/x/y", "POST ht/x"],
         {**A, "one.txt": "1\n", "12.txt": "twelve\n", "default.txt": "default\n", "words.txt": "one one.txt\ntwo two.txt\n", "ht/index.html": "index of ht\n", "ht/app.txt": "app\n",
          "ht/dir/index.html": "dir\n", "ht/deep/.htaccess": "RewriteEngine On\nRewriteRule ^file$ other.txt\n", "ht/deep/other.txt": "other\n",
          "ht/.htaccess": "RewriteEngine On\nRewriteBase /rewrite/ht/\nRewriteRule ^redirect$ /elsewhere [R]\nRewriteRule ^last$ app.txt [L]\nRewriteRule ^loop$ loop?x [QSA]\n"
          "RewriteCond %{QUERY_STRING} z=1\nRewriteRule ^if$ app.txt [QSD,T=text/x-own]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n"
          "RewriteRule . /rewrite/ht/app.txt [L,E=FRONT:1]\nHeader set X-Front \"%{REDIRECT_FRONT}e\"\n"}),
    Case("mime_magic", "MimeMagicFile /etc/apache2/magic\n", ["script", "gif", "html", "plain", "empty", "pdf", "gz"],
         {"script": "#!/usr/bin/perl\n", "gif": "GIF89a\x01\x01", "html": "<html>\n", "plain": "some words\n", "empty": "", "pdf": "%PDF-1.4\n", "gz": b"\x1f\x8b\x08\0\0\0"}),
    # Apache leaves the quotation mark at the end of such an entity tag out.
    Case("negotiation", """
        <Directory @D@>
            Options +MultiViews
            AddLanguage de .de
            AddLanguage en .en
            AddEncoding x-gzip .gz
            AddHandler type-map .var
            LanguagePriority en de
            ForceLanguagePriority Prefer Fallback
        </Directory>
        """, [Step("page", {"Accept-Language": lang}) for lang in ("de", "en;q=0.5, de", "fr", "*", "en-us, de;q=0.1")]
         + ["page", "page.html", "none", "map.var", Step("map.var", {"Accept": "text/plain"}), Step("map.var", {"Accept": "image/png"}), Step("page", {"Accept": "image/*"}),
            Step("both", {"Accept-Encoding": "gzip"}), "both", Step("page", {"Accept-Language": "de", "Negotiate": "vlist"}), Step("page", {"Accept-Language": "de", "Negotiate": "*"}), "HEAD page"],
         unify=[(r'(;[0-9a-f-]+)$', r'\1"')], files={"page.html.de": "deutsch\n", "page.html.en": "english\n", "both.txt": "plain\n" * 9, "both.txt.gz": "gz", "map.html": "<p>map\n", "map.txt": "map\n",
          "map.var": "URI: map.html\nContent-Type: text/html; qs=0.9\n\nURI: map.txt\nContent-Type: text/plain; qs=0.5\n"}),
    Case("actions", """
        ScriptAlias /actions-cgi/ @D@/cgi/
        Action own-type /actions-cgi/a.cgi
        Action text/x-acted /actions-cgi/a.cgi virtual
        <Directory @D@>
            AddHandler own-type .own
            AddType text/x-acted .acted
            Options +ExecCGI
        </Directory>
        <Directory @D@/cgi>
            SetHandler cgi-script
            Script PUT /actions-cgi/a.cgi
        </Directory>
        <Location /actions/put>
            Script PUT /actions-cgi/a.cgi
        </Location>
        """, ["a.own", "a.own/more?x", "missing.own", "a.acted", "missing.acted", Step("PUT put", {}, "put body"), "put"],
         {"a.own": "own\n", "a.acted": "acted\n", "cgi/a.cgi": SCRIPT}, needs=["cgi"], unframed=True),
    Case("vhost_alias", """
        <VirtualHost *:@PORT@>
            ServerName valias.example
            ServerAlias *.valias.example
            UseCanonicalName Off
            VirtualDocumentRoot @D@/%1/%2.1
            VirtualScriptAlias @D@/%1/cgi
        </VirtualHost>
        """, [Step("/a.txt", host="one.valias.example"), Step("/a.txt", host="two.valias.example"), Step("/a.txt", host="none.valias.example"), Step("/a.txt", host="ONE.valias.example")],
         {"one/v/a.txt": "one v\n", "two/v/a.txt": "two v\n"}, host="valias.example", alone=True),
    Case("userdir", "UserDir @D@/*/public\nUserDir disabled root\n", ["/~somebody/a.txt", "/~nobody", "/~somebody", "/~somebody/", "/~root/a.txt", "/~/a.txt"],
         {"somebody/public/a.txt": "home of somebody\n", "somebody/public/index.html": "i\n", "root/public/a.txt": "r\n"}),
    Case("speling", "<Directory @D@>\nCheckSpelling On\n</Directory>\n<Directory @D@/case>\nCheckCaseOnly On\n</Directory>\n",
         ["document.html", "documnet.html", "DOCUMENT.HTML", "dcoument.txt", "doxument.html", "nothing-like-it", "case/FILE.txt", "case/flie.txt", "document"],
         {"document.html": "d\n", "document.txt": "t\n", "case/file.txt": "f\n"}),
    Case("macro", "<Macro Answer $name $value>\nHeader set $name $value\n</Macro>\n<Location /macro>\nUse Answer X-Macro given\n</Location>\nUndefMacro Answer\n", ["a.txt"], A),
    Case("remoteip", """
        RemoteIPHeader X-Forwarded-For
        RemoteIPInternalProxy 127.0.0.1
        <Location /remoteip>
            Header set X-Seen "expr=%{REMOTE_ADDR} %{CONN_REMOTE_ADDR}"
        </Location>
        <Location /remoteip/closed>
            Require ip 10.1
        </Location>
        """, [Step("a.txt", {"X-Forwarded-For": "10.1.2.3"}), Step("a.txt", {"X-Forwarded-For": "192.0.2.1, 10.1.2.3"}), "a.txt", Step("a.txt", {"X-Forwarded-For": "rubbish"}),
              Step("closed/a.txt", {"X-Forwarded-For": "10.1.2.3"}), "closed/a.txt"], {**A, "closed/a.txt": "closed\n"}),
    Case("allowmethods", "<Location /allowmethods>\nAllowMethods GET\n</Location>\n<Location /allowmethods/reset>\nAllowMethods reset\n</Location>\n",
         ["a.txt", "HEAD a.txt", "POST a.txt", "OPTIONS a.txt", "PUT a.txt", "POST reset/a.txt"], {**A, "reset/a.txt": "r\n"}),
    Case("unique_id", "<Location /unique_id>\nHeader set X-Id %{UNIQUE_ID}e\n</Location>\n", [Step("a.txt", unify=[(r"^[\w@-]{24}$|^[\w@-]{27}$", "ID")]), Step("a.txt", unify=[(r"^[\w@-]{24}$|^[\w@-]{27}$", "ID")])], A),
    Case("usertrack", "<Location /usertrack>\nCookieTracking On\nCookieName Track\nCookieExpires \"2 weeks\"\nCookieStyle Cookie2\nCookieHttpOnly On\n</Location>\n",
         [Step("a.txt", unify=[(r"Track=[^;]*", "Track=V"), (r"(max-age|expires)=[^;]*", "T")]), Step("a.txt", {"Cookie": "Track=known"})], A),
    Case("log_debug", "<Location /log_debug>\nLogMessage \"seen %{REQUEST_URI}\" hook=all\nLogMessage only \"expr=%{QUERY_STRING} == 'x'\"\n</Location>\n", ["a.txt", "a.txt?x"], A,
         logs={"logs/error_log": r"log_debug:info\].*seen /log_debug/a\.txt\n(?s:.*) only"}),
    Case("log_forensic", "ForensicLog logs/forensic\nLogFormat \"%{forensic-id}n\" fid\nCustomLog logs/fid fid\n", [Step("a.txt?q", {"X-A": "b|c"})], A,
         logs={"logs/forensic": r"(?m)^\+([\w:.@-]+)\|GET /log_forensic/a.txt\?q HTTP/1.1\|Host:localhost\|X-A:b%7cc\n-\1$", "logs/fid": r"^[\w:.@-]{5,}\n"}, alone=True),
    Case("dumpio", "LogLevel dumpio:trace7\nDumpIOInput On\nDumpIOOutput On\n", ["a.txt", "HEAD a.txt", Step("POST a.txt", {}, "posted")], A,
         logs={"logs/error_log": r"(?s)dumpio_in.*GET /dumpio/a\.txt HTTP/1\.1.*dumpio_out.*(data-HEAP|data-MMAP|data-FILE|data-POOL)"}, alone=True),
    Case("info", "<Location /info/i>\nSetHandler server-info\n</Location>\nAddModuleInfo mod_info.c \"added text\"\n",
         [Step("i", skip_body=True, check=lambda r: None if b"added text" in r.body and b"Server Settings" in r.body and b"mod_info.c" in r.body and b"SetHandler" in r.body else f"not the page: {r.body[:300]}"),
          Step("i?list", skip_body=True), Step("i?mod_info.c", skip_body=True), Step("i?config", skip_body=True, check=lambda r: None if b"AddModuleInfo" in r.body else "no configuration"),
          Step("i?server", skip_body=True), Step("i?hooks", skip_body=True, check=lambda r: None if b"mod_info.c" in r.body else "no hooks"), Step("i?providers", skip_body=True)]),
    Case("asis", "<Directory @D@>\nAddHandler send-as-is asis\n</Directory>\n", ["a.asis", "HEAD a.asis", "bad.asis", "r.asis"],
         {"a.asis": "Status: 402 Pay\nContent-Type: text/own\nX-A: b\n\nbody\n", "bad.asis": "no header\n", "r.asis": "Location: http://elsewhere.example/\n\n"}),
    Case("cgi", CGI_CONFIG, CGI_STEPS, CGI_FILES, unframed=True),
    Case("cgid", CGI_CONFIG + "ScriptSock @ROOT@/work/cgisock\n", CGI_STEPS, CGI_FILES, alone=True, unframed=True),
    Case("imagemap", "<Directory @D@>\nAddHandler imap-file map\n</Directory>\n", ["a.map?5,5", "a.map?50,50", "a.map", "a.map?200,200"],
         {"a.map": "default /nowhere\nbase http://base.example/\nrect inside 0,0 10,10\ncircle round 50,50 50,60\n"}),
    Case("cern_meta", "<Directory @D@>\nMetaFiles On\nMetaDir .web\n</Directory>\n", ["a.txt"], {**A, ".web/a.txt.meta": "X-Meta: yes\n"}),
    Case("dialup", "<Directory @D@>\nModemStandard V.92\n</Directory>\n", ["a.txt"], A),  # Apache leaves HEAD, the next request or a long file without an answer
    Case("ident", "<Location /ident>\nIdentityCheck On\nIdentityCheckTimeout 1\n</Location>\n", ["a.txt"], A),
    Case("file_cache", "CacheFile @D@/c.txt\nMMapFile @D@/m.txt\n", ["c.txt", "m.txt", "HEAD c.txt", Step("m.txt", {"Range": "bytes=1-2"}), Step("c.txt", {"If-Modified-Since": "Sun, 09 Sep 2001 01:46:40 GMT"})],
         {"c.txt": "cached\n", "m.txt": "mapped\n"}),
    Case("suexec", "", ["a.txt"], A),
    Case("alias", """
        Alias /alias/x @D@/d
        AliasMatch ^/alias/m/(.*)$ @D@/d/$1
        ScriptAlias /alias/cgi @D@/cgi
        Redirect permanent /alias/old http://elsewhere.example/
        RedirectMatch 303 ^/alias/rm(.*) /to$1
        <Location /alias/loc>
            Redirect 307 /there
        </Location>
        """, ["x/a.txt", "m/a.txt", "old/more?q", "rm1", "loc/x", "cgi/a.cgi"], {"d/a.txt": "d\n", "cgi/a.cgi": SCRIPT}, needs=["cgi"], replaces=True, unframed=True),
    Case("headers", """
        <Directory @D@>
            Header set X-A one
            Header append X-A two
            Header edit X-A o 0
            Header always set X-B "%s %{REQUEST_METHOD}e"
            Header set X-C "expr=%{REQUEST_URI}"
            RequestHeader set X-In changed
            Header echo ^X-In
            Header unset ETag
        </Directory>
        """, [Step("a.txt", {"X-In": "given"}), "none", "HEAD a.txt", Step("a.txt", {"If-Modified-Since": "Sun, 09 Sep 2001 01:46:40 GMT"})], A, replaces=True),
    Case("expires", "<Directory @D@>\nExpiresActive On\nExpiresDefault M3600\nExpiresByType text/html \"access plus 1 hour\"\n</Directory>\n",
         ["a.txt", Step("b.html", unify=[(r"^\w{3}, \d\d \w{3} 20[2-9]\d.*", "T")])], {**A, "b.html": "b\n"}, replaces=True,
         unify=[(r"max-age=\d+", "max-age=N")]),
    Case("env", "<Directory @D@>\nSetEnv A one\nPassEnv HOME_OF_TEST\nUnsetEnv B\nHeader set X-A \"%{A}e %{HOME_OF_TEST}e %{B}e\"\n</Directory>\n", ["a.txt"], A, replaces=True),
    Case("setenvif", """
        SetEnvIf Request_URI a\\.txt$ URI=yes
        BrowserMatch Mozilla MOZ
        SetEnvIfNoCase X-In given GOT=$0
        <Directory @D@>
            Header set X-A "%{URI}e %{MOZ}e %{GOT}e"
        </Directory>
        """, [Step("a.txt", {"User-Agent": "Mozilla", "X-In": "Given"}), "a.txt"], A, replaces=True),
    Case("mime", "<Directory @D@>\nAddType text/own .own\nAddCharset utf-8 .utf8\nAddLanguage de .de\nAddEncoding x-gzip .gz\n</Directory>\n",
         ["a.own", "a.html.de", "a.utf8.html", "a.txt.gz", "noext", "a.own.de.gz"], {n: "x\n" for n in ("a.own", "a.html.de", "a.utf8.html", "a.txt.gz", "noext", "a.own.de.gz")}, replaces=True),
    Case("dir", "<Directory @D@>\nDirectoryIndex first.html second.html\n</Directory>\n<Directory @D@/fall>\nFallbackResource /dir/second.html\n</Directory>\n",
         ["", "sub", "sub/", "fall/none", "fall/"], {"second.html": "second\n", "sub/first.html": "first\n", "fall/x": "x"}, replaces=True),
    Case("autoindex", """
        IndexIgnore .??*
        <Directory @D@/list>
            IndexOptions FancyIndexing HTMLTable NameWidth=*
            AddDescription "a page" *.html
        </Directory>
        <Directory @D@/plain>
            IndexOptions -FancyIndexing
        </Directory>
        """, ["list/", "list/?C=S;O=D", "list/?C=N;O=D&P=*.txt", "plain/", "HEAD list/"], {**LISTED, "plain/x.txt": "x"}, replaces=True),
    Case("status", "ExtendedStatus On\n<Location /status/s>\nSetHandler server-status\n</Location>\n",
         [Step("s", skip_body=True, check=lambda r: None if b"Server Status" in r.body or b"Server Version" in r.body else "not the page"),
          Step("s?auto", skip_body=True, check=lambda r: None if b"Total Accesses: " in r.body and b"Scoreboard: " in r.body else r.body[:300]), Step("s?refresh=5", skip_body=True)], replaces=True),
    Case("filter", "FilterDeclare one\nFilterProvider one SUBSTITUTE \"%{CONTENT_TYPE} =~ m|^text/plain|\"\n<Directory @D@>\nFilterChain one\nSubstitute s/text/changed/\n</Directory>\n",
         ["a.txt", "b.html"], {**A, "b.html": "text\n"}, needs=["substitute"], replaces=True),
    Case("reqtimeout", "RequestReadTimeout header=5-10,minrate=500 body=5,minrate=500\n", ["a.txt", Step("POST a.txt", {}, "x" * 10000)], A, replaces=True, alone=True),
]
