# SPDX-License-Identifier: Apache-2.0
"""The documents and configurations that Apache and Brigade share. Every file is old, so that its entity tag is strong."""
import os

SETTLED = 1_000_000_000

FILES = {
    "index.html": "<h1>index</h1>\n", "a.txt": "text of a\n", "A.txt": "capital\n", "empty.txt": "", "ten.txt": "0123456789", "page.css": "p{}\n",
    "script.js": "1;\n", "image.png": b"\x89PNG\r\n\x1a\n", "data.unknown": "?\n", "noext": "no\n", "archive.tar.gz": "gz", "page.html.de": "de\n",
    "dir/index.html": "dir\n", "dir/sub/index.html": "sub\n", "open/x.txt": "x\n", "closed/x.txt": "x\n", "a b.txt": "space\n", "a+b.txt": "plus\n",
    "caf\u00e9.txt": "coffee\n", "a;b.txt": "semi\n", "100%.txt": "percent\n", "a&b.txt": "and\n", ".htaccess": "# none\n", ".htpasswd": "x:y\n",
    ".hidden": "hidden\n", "secret.txt": "secret\n", "1k.bin": bytes(range(256)) * 4, "64k.bin": bytes(range(256)) * 256, "big.bin": bytes(range(256)) * 4096,
    "[x]": "brackets\n",
}

# Folders that the second configuration treats in as many ways.
FOLDERS = {
    "target": {"one.txt": "one\n", "index.html": "target\n"}, "denied": {"x.txt": "x\n"}, "local": {"x.txt": "x\n"}, "net": {"x.txt": "x\n"},
    "method": {"x.txt": "x\n"}, "env": {"x.txt": "x\n"}, "expr": {"x.txt": "x\n"}, "all": {"x.txt": "x\n"}, "any": {"x.txt": "x\n"}, "nested": {"x.txt": "x\n"},
    "order1": {"x.txt": "x\n"}, "order2": {"x.txt": "x\n"}, "order3": {"x.txt": "x\n"}, "order4": {"x.txt": "x\n"}, "satisfy": {"x.txt": "x\n"},
    "errors": {"page.html": "<p>error page</p>\n"}, "emptylist": {}, "noslash": {"index.html": "noslash\n"}, "fallback": {"x.txt": "x\n", "page.html": "fallback\n"},
    "mime": {n: n + "\n" for n in ("a.txt", "a.html", "a.html.de", "a.de.html", "a.html.gz", "a.tar.gz", "a.utf8.html", "a.x.y.z", "noext", ".html", "a.own", "a.HTML", "a.b c.html")},
    "forced": {"a.txt": "a\n"}, "charset": {"a.txt": "a\n", "a.png": "p", "a.html": "h\n"}, "removed": {"a.html": "h\n"}, "lang": {"a.txt": "a\n"}, "handler": {"a.txt": "a\n"},
    "headers": {"a.txt": "a\n", "dir/index.html": "d\n"}, "expires": {"a.txt": "a\n", "a.html": "h\n", "a.png": "p"}, "pathinfo/on": {"a.txt": "a\n"}, "pathinfo/off": {"a.txt": "a\n"},
    "pathinfo/default": {"a.txt": "a\n"}, "slashes/on/d": {"a.txt": "a\n"}, "slashes/nodecode/d": {"a.txt": "a\n"}, "slashes/off/d": {"a.txt": "a\n"},
    "if": {"a.txt": "a\n", "nested/a.txt": "a\n"}, "loc": {"a.txt": "a\n", "glob/b/a.txt": "a\n", "re/123": "n\n", "re/abc": "n\n"}, "Files": {"a.secret": "s\n"},
    "ranges/none": {"ten.txt": "0123456789"}, "ranges/two": {"ten.txt": "0123456789"}, "ranges/overlap": {"ten.txt": "0123456789"}, "ranges/reverse": {"ten.txt": "0123456789"},
    "ranges/unlimited": {"ten.txt": "0123456789"}, "trace": {"a.txt": "a\n"}, "body": {"a.txt": "a\n"}, "merge/off": {"a.txt": "a\n"}, "setenv": {"a.txt": "a\n"}, "filter": {"a.txt": "a\n"},
    "nosuchhandler": {"a.txt": "a\n"}, "second": {"index.html": "second\n", "dir/index.html": "d\n"},
    "links/follow": {}, "links/none": {}, "links/owner": {}, "linktarget": {"in.txt": "in\n", "a.txt": "a\n"},
    "ht": {"a.txt": "a\n", ".htaccess": "Header set X-Ht top\nRedirect /ht/redirect /elsewhere\n"},
    "ht/denied": {"a.txt": "a\n", ".htaccess": "Require all denied\n"}, "ht/bad": {"a.txt": "a\n", ".htaccess": "Nonsense here\n"},
    "ht/sub": {"a.txt": "a\n", "deep/a.txt": "a\n", ".htaccess": "Header append X-Ht sub\n"}, "ht/index": {"other.html": "other\n", ".htaccess": "DirectoryIndex other.html\n"},
    "ht/error": {".htaccess": "ErrorDocument 404 \"from htaccess\n"}, "ht/files": {"a.txt": "a\n", "b.txt": "b\n", ".htaccess": "<Files b.txt>\nRequire all denied\n</Files>\n"},
    "ht/if": {"a.txt": "a\n", ".htaccess": "<If \"%{QUERY_STRING} == 'x'\">\nHeader set X-If yes\n</If>\n"},
    "ht/limit": {"a.txt": "a\n", ".htaccess": "<Limit POST>\nRequire all denied\n</Limit>\n"}, "ht/notallowed": {"a.txt": "a\n", ".htaccess": "Timeout 5\n"},
    "ht/type": {"a.own": "a\n", ".htaccess": "AddType text/x-own .own\n"}, "ht/options": {"a.txt": "a\n", ".htaccess": "Options -Indexes\n"},
}
LISTS = ["list", "plainlist", "htmllist", "iconlist", "readmelist", "xhtmllist", "suppress", "ignore", "foldersfirst", "width", "desc"]
LISTED = {"b.txt": "b" * 1234, "a.html": "<title>A title</title>\n", "image.png": "p" * 99999, "archive.tar.gz": "g" * 5, "with space.txt": "s", "a&b<c>.txt": "e", "sub/x": "x", "zzz": "",
          "README.html": "<p>read me</p>\n", "HEADER.html": "<p>header</p>\n", ".hidden": "h", "file~": "backup", "core": "c", "caf\u00e9.txt": "c", "x" * 60 + ".txt": "long"}

CORE = """
ServerName site.example
ServerAdmin admin@site.example
ServerSignature Off
UseCanonicalName Off
DocumentRoot @DOCS@
KeepAliveTimeout 2
Timeout 10
<Directory @DOCS@>
    Options FollowSymLinks
    AllowOverride All
    Require all granted
</Directory>
<Directory @DOCS@/open>
    Options +Indexes
</Directory>
<Files ".ht*">
    Require all denied
</Files>
<Directory @DOCS@/closed>
    Require all denied
</Directory>
DirectoryIndex index.html
"""

VHOSTS = """
<VirtualHost *:@PORT@>
    ServerName site.example
    Include conf/main.conf
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName second.example
    ServerAlias alias.example *.wild.example
    DocumentRoot @DOCS@/second
    Header set X-Host second
</VirtualHost>
<VirtualHost *:@PORT@>
    ServerName path.example
    ServerPath /vpath
    Header set X-Host path
</VirtualHost>
"""

MAIN = """
Alias /alias @DOCS@/target
Alias /aliasfile @DOCS@/a.txt
AliasMatch ^/match/([a-z]+)$ @DOCS@/target/$1.txt
Redirect /old http://elsewhere.example/new
Redirect permanent /perm /to
Redirect temp /temp /to
Redirect seeother /seeother /to
Redirect gone /gone
Redirect 404 /missing-by-redirect
Redirect 307 /r307 /to
Redirect 308 /r308 /to
RedirectMatch ^/rm/(.*)$ /to/$1
Redirect /rel /to
ErrorDocument 404 default
<Location /errors>
    ErrorDocument 404 /errors/page.html
</Location>
<Location /errors/forbidden>
    Require all denied
    ErrorDocument 403 /errors/page.html
</Location>
<Location /errors/text>
    ErrorDocument 404 "plain text"
</Location>
<Location /errors/url>
    ErrorDocument 404 http://elsewhere.example/error
</Location>
<Location /errors/broken>
    ErrorDocument 404 /errors/not-there-either
</Location>
<Location /denied>
    Require all denied
</Location>
<Location /local>
    Require local
</Location>
<Location /net>
    Require ip 10 192.168.0.0/16
</Location>
<Location /method>
    Require method GET
</Location>
SetEnvIf User-Agent ^curl LET=1
<Location /env>
    Require env LET
</Location>
<Location /expr>
    Require expr "%{QUERY_STRING} == 'let'"
</Location>
<Location /all>
    <RequireAll>
        Require all granted
        Require not ip 127.0.0.1
    </RequireAll>
</Location>
<Location /any>
    <RequireAny>
        Require ip 10
        Require ip 127
    </RequireAny>
</Location>
<Location /nested>
    <RequireAll>
        <RequireAny>
            Require method GET
            Require ip 10
        </RequireAny>
        <RequireNone>
            Require ip 10
        </RequireNone>
    </RequireAll>
</Location>
<Location /order1>
    Order deny,allow
    Deny from all
    Allow from 127.0.0.1
</Location>
<Location /order2>
    Order allow,deny
    Allow from all
    Deny from 127
</Location>
<Location /order3>
    Order deny,allow
</Location>
<Location /order4>
    Order allow,deny
</Location>
<Location /satisfy>
    Require all denied
    Order deny,allow
    Satisfy any
</Location>
<Directory @DOCS@/list>
    Options +Indexes
    IndexOptions FancyIndexing
    IndexIgnore .??* *~
    AddDescription "A title page" a.html
</Directory>
<Directory @DOCS@/plainlist>
    Options +Indexes
    IndexOptions -FancyIndexing
</Directory>
<Directory @DOCS@/htmllist>
    Options +Indexes
    IndexOptions FancyIndexing HTMLTable
</Directory>
<Directory @DOCS@/iconlist>
    Options +Indexes
    IndexOptions FancyIndexing IconsAreLinks IconHeight=16 IconWidth=16
    AddIconByType (TXT,/icons/text.gif) text/*
    AddIcon /icons/folder.gif ^^DIRECTORY^^
    DefaultIcon /icons/unknown.gif
    AddAlt "archive" .gz
</Directory>
<Directory @DOCS@/readmelist>
    Options +Indexes
    IndexOptions FancyIndexing
    HeaderName HEADER.html
    ReadmeName README.html
</Directory>
<Directory @DOCS@/xhtmllist>
    Options +Indexes
    IndexOptions FancyIndexing XHTML HTMLTable Charset=utf-8
</Directory>
<Directory @DOCS@/suppress>
    Options +Indexes
    IndexOptions FancyIndexing SuppressLastModified SuppressSize SuppressDescription SuppressIcon SuppressRules SuppressColumnSorting
</Directory>
<Directory @DOCS@/ignore>
    Options +Indexes
    IndexOptions FancyIndexing IgnoreCase IgnoreClient ShowForbidden
    IndexIgnore *.txt
    IndexOrderDefault Descending Size
</Directory>
<Directory @DOCS@/foldersfirst>
    Options +Indexes
    IndexOptions FancyIndexing FoldersFirst VersionSort TrackModified UseOldDateFormat
</Directory>
<Directory @DOCS@/width>
    Options +Indexes
    IndexOptions FancyIndexing NameWidth=* DescriptionWidth=*
    IndexStyleSheet /style.css
    IndexHeadInsert "<meta name=x>"
</Directory>
<Directory @DOCS@/desc>
    Options +Indexes
    IndexOptions FancyIndexing ScanHTMLTitles NameWidth=20
</Directory>
<Directory @DOCS@/emptylist>
    Options +Indexes
</Directory>
<Location /index1>
    DirectoryIndex none.html
</Location>
<Directory @DOCS@/noslash>
    DirectorySlash Off
</Directory>
<Directory @DOCS@/fallback>
    FallbackResource /fallback/page.html
</Directory>
AddLanguage de .de
AddCharset utf-8 .utf8
AddEncoding x-gzip .gz
AddType text/x-own .own
<Directory @DOCS@/forced>
    ForceType image/x-forced
</Directory>
<Directory @DOCS@/charset>
    AddDefaultCharset utf-8
</Directory>
<Directory @DOCS@/removed>
    RemoveType .html
</Directory>
<Directory @DOCS@/lang>
    DefaultLanguage fr
</Directory>
<Directory @DOCS@/handler>
    AddHandler default-handler .txt
</Directory>
<Directory @DOCS@/headers>
    Header set X-Set one
    Header append X-Set two
    Header add X-Add 1
    Header add X-Add 2
    Header merge X-Merge a
    Header merge X-Merge a
    Header merge X-Merge b
    Header set X-Gone x
    Header unset X-Gone
    Header set X-Edit abcabc
    Header edit X-Edit b X
    Header set X-EditAll abcabc
    Header edit* X-EditAll b X
    Header setifempty X-Set three
    Header setifempty X-Empty first
    Header always set X-Always yes
    Header onsuccess set X-Success yes
    Header echo ^User-
    Header set X-Env "%{LET}e"
    Header set X-Cond yes env=LET
    Header set X-Expr "%{REQUEST_URI}e" "expr=%{REQUEST_URI} =~ /a.txt/"
    Header set X-Str "expr=%{REQUEST_METHOD} %{QUERY_STRING}"
    Header set Content-Type text/x-changed "expr=%{QUERY_STRING} == 'type'"
    Header note X-Set note
    RequestHeader set X-Request changed
</Directory>
<Directory @DOCS@/expires>
    ExpiresActive On
    ExpiresDefault "modification plus 1 day"
    ExpiresByType text/html M3600
    ExpiresByType image/png "access plus 1 year 2 months 3 weeks 4 days 5 hours 6 minutes 7 seconds"
</Directory>
Alias /etag/none @DOCS@/target/
Alias /etag/ @DOCS@/target/
<Location /etag/none>
    FileETag None
</Location>
<Directory @DOCS@/pathinfo/on>
    AcceptPathInfo On
</Directory>
<Directory @DOCS@/pathinfo/off>
    AcceptPathInfo Off
</Directory>
<Location /if>
    <If "%{QUERY_STRING} == 'one'">
        Header set X-If one
        <If "%{REQUEST_URI} =~ m#nested#">
            Header append X-If nested
        </If>
    </If>
    <ElseIf "%{QUERY_STRING} == 'two'">
        Header set X-If two
    </ElseIf>
    <Else>
        Header set X-If else
    </Else>
</Location>
<Location /loc>
    Header set X-Loc loc
</Location>
<Location "/loc/glob/*">
    Header append X-Loc glob
</Location>
<LocationMatch "^/loc/re/(?<NUM>[0-9]+)$">
    Header append X-Loc "%{MATCH_NUM}e"
</LocationMatch>
<FilesMatch "\\.secret$">
    Require all denied
</FilesMatch>
<Directory @DOCS@/links/follow>
    Options FollowSymLinks
</Directory>
<Directory @DOCS@/links/none>
    Options None
</Directory>
<Directory @DOCS@/links/owner>
    Options SymLinksIfOwnerMatch
</Directory>
<Directory @DOCS@/ranges/none>
    MaxRanges none
</Directory>
<Directory @DOCS@/ranges/two>
    MaxRanges 2
</Directory>
<Directory @DOCS@/ranges/overlap>
    MaxRangeOverlaps 1
</Directory>
<Directory @DOCS@/ranges/reverse>
    MaxRangeReversals 1
</Directory>
<Directory @DOCS@/ranges/unlimited>
    MaxRanges unlimited
    MaxRangeOverlaps unlimited
    MaxRangeReversals unlimited
</Directory>
<Location /body>
    LimitRequestBody 10
</Location>
<Directory @DOCS@/setenv>
    SetEnv A 1
    BrowserMatch Mozilla MOZ
    BrowserMatchNoCase robobot ROBO=yes
    SetEnvIf Cookie a=([0-9]) COOKIE=$1
    SetEnvIfExpr "%{REQUEST_METHOD} == 'GET'" ISGET
    Header set X-A "%{A}e %{MOZ}e %{ROBO}e %{COOKIE}e %{ISGET}e"
</Directory>
<Directory @DOCS@/nosuchhandler>
    SetHandler nobody-offers-this
</Directory>
TraceEnable On
"""

SLASHES = """
AllowEncodedSlashes NoDecode
"""


def link(path, to):
    os.symlink(to, path)


def make(docs):
    """Write all documents below @docs."""
    wanted = dict(FILES)
    for folder, files in FOLDERS.items():
        os.makedirs(os.path.join(docs, folder), exist_ok=True)
        wanted.update({f"{folder}/{name}": content for name, content in files.items()})
    for folder in LISTS:
        wanted.update({f"{folder}/{name}": content for name, content in LISTED.items()})
    for name, content in wanted.items():
        path = os.path.join(docs, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
    link(os.path.join(docs, "dir/link.txt"), "../a.txt")
    link(os.path.join(docs, "linkdir"), "dir")
    link(os.path.join(docs, "loop"), "loop")
    link(os.path.join(docs, "dangling"), "nowhere")
    for folder in ("follow", "none", "owner"):
        base = os.path.join(docs, "links", folder)
        link(os.path.join(base, "in.txt"), "../../linktarget/in.txt")
        link(os.path.join(base, "dir"), "../../linktarget")
        link(os.path.join(base, "out.txt"), "/etc/hostname")
        link(os.path.join(base, "loop"), "loop")
        link(os.path.join(base, "dangling"), "nowhere")
    age(docs)
    os.chmod(os.path.join(docs, "secret.txt"), 0)


def age(docs):
    """Make everything so old that no date is near now; a link's own date does not matter."""
    for folder, subfolders, files in os.walk(docs):
        for name in files + subfolders:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.utime(path, (SETTLED, SETTLED))
    os.utime(docs, (SETTLED, SETTLED))
