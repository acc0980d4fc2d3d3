# SPDX-License-Identifier: Apache-2.0
"""What a server says from memory is what it says when it remembers nothing: two servers with the same random
configuration and site get the same random requests, between which files change. DIFFERENTIAL_SECONDS asks for more than
the short run, DIFFERENTIAL_SEED for other runs; a failure tells the seed of its round."""
import collections
import email.utils
import os
import random
import re
import shutil
import socket
import tempfile
import time

import pytest

import brigade
from either_client import ASKED
from http_client import Client, Truncated, request_bytes

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

SEED = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
SECONDS = float(os.environ.get("DIFFERENTIAL_SECONDS", "0"))
ROUNDS = 10  # of the short run
AHEAD = 6  # sites that are made before they are used: what was changed just now is not remembered everywhere
MODULES = ("rewrite", "deflate", "negotiation")

FIELDS = {
    "User-Agent": ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Mozilla/2.0 (X11)", "robot/1", "a robot with a long name/2", "", "Old/2"],
    "Cookie": ["theme=dark", "a=b; theme=dark", "theme=light", "a=b"],
    "Accept-Encoding": ["gzip", "gzip, deflate, br", "identity", "gzip;q=0", "gzip;q=0.5, *;q=0.1", "*", "", "x-gzip", "GZIP", "deflate;q=1, gzip;q=0.2", "gzip,,br"],
    "Accept-Language": ["en", "de", "de, en;q=0.5", "fr", "en;q=0.1, de;q=0.9", "*"],
    "Accept": ["text/html", "*/*", "image/*, */*;q=0.1", "text/plain;q=0.5"],
    "Referer": ["http://localhost/", "http://bad.example/x", "-"],
    "X-Foo": ["a", "b", "ab", "", "1", "on", "%{X}e"],
    "X-Bar": ["a", "yes"],
    "DNT": ["1", "0"],
}
AGENTS = ["robot", "^Mozilla/2", "^$", "Firefox", "^Old/[1-3]", "."]
ATTRIBUTES = [("User-Agent", AGENTS), ("Cookie", ["theme=dark", "^a=(.)"]), ("Referer", ["bad\\.example", "localhost"]), ("X-Foo", ["^a$", "b", "^$", "(.+)"]), ("X-Bar", ["a"]),
              ("Accept-Language", ["^de", "en"]), ("Request_Method", ["GET", "HEAD"]), ("^Cookie$", ["theme=dark", "^a=(.)"]), ("Request_Protocol", ["1\\.0"]), ("Request_URI", ["\\.html$", "sub/"]), ("Remote_Addr", ["127\\.0\\.0\\.2"]),
              ("Server_Addr", ["127"]), ("^X-.*", ["a"]), ("V1", [".", "on"]), ("Accept-Encoding", ["gzip"]), ("Host", ["two"]), ("If-None-Match", ["."])]
VARIABLES = ["V1", "V2", "V3", "no-gzip", "gzip-only-text/html", "nokeepalive", "force-gzip", "dont-vary", "downgrade-1.0", "REDIRECT_STATUS"]
EXPRESSIONS = ["%{HTTP_USER_AGENT} =~ /robot/", "%{HTTP:X-Foo} == 'a'", "%{REQUEST_METHOD} == 'HEAD'", "%{SERVER_PROTOCOL} == 'HTTP/1.0'", "-n %{HTTP_COOKIE}", "%{REQUEST_URI} =~ m#sub/#", "-z reqenv('V1')",
               "%{QUERY_STRING} =~ /x/", "%{REMOTE_ADDR} -ipmatch '127.0.0.2'", "%{REQUEST_STATUS} == '404'", "%{CONTENT_TYPE} =~ /html/", "%{HTTP_HOST} =~ /two/", "-f '%{DOCUMENT_ROOT}/sub/late.html'",
               "-R '127.0.0.2'", "%{HTTP_REFERER} -strmatch '*bad*'", "%{req_novary:X-Bar} == 'a'", "resp('X-One') == 'x'", "true", "tolower(%{HTTP:X-Foo}) == 'a'", "%{REQUEST_FILENAME} -fnmatch '*.html'", "%{HTTPS} == 'on'"]
OFTEN = ["/", "/index.html", "/a.html", "/big.html", "/b.txt", "/plain.shtml", "/none.html", "/sub/x.html", "/long.html", "/image.png", "/sub/", "/link.html", "/sub/late.html"]
TARGETS = [*OFTEN, *OFTEN, "/", "/index.html", "/a.html", "/big.html", "/b.txt", "/page.shtml", "/plain.shtml", "/parts.shtml", "/none.html", "/sub/", "/sub", "/sub/x.html", "/sub/late.html", "/sub/page.shtml", "/neg", "/neg.html", "/var",
           "/alias/x.html", "/alias/", "/link.html", "/dirlink/x.html", "/empty.html", "/image.png", "/a.html?x=1", "/page.shtml?x=1", "/%61.html", "/sub/../a.html", "/a.html/more", "/page.shtml/more", "/list/", "/list/?C=S;O=D", "/x.js", "/err.html", "/long.html"]
HOSTS = ["localhost"] * 30 + ["two", "two", "three:80", "LOCALHOST", "Two", "none", "www.two"]
TEXT = "".join(random.Random(1).choices(["the ", "quick ", "brown ", "fox\n"], k=900))
PAGES = ['<!--#echo var="HTTP_USER_AGENT" -->', '<!--#if expr="%{HTTP_COOKIE} =~ /dark/" -->dark<!--#else -->light<!--#endif -->', '<!--#include virtual="/part.html" -->', '<!--#include virtual="/sub/x.html" -->',
         '<!--#include virtual="/sub/page.shtml" -->', '<!--#include virtual="/sub/late.html" -->', '<!--#include file="part.html" -->', '<!--#echo var="QUERY_STRING" -->', '<!--#fsize file="part.html" -->', '<!--#echo var="V1" -->',
         '<!--#set var="x" value="$V2-$HTTP_X_FOO" --><!--#echo var="x" -->', '<!--#flastmod virtual="/a.html" -->', '<!--#config timefmt="%Y" --><!--#echo var="DATE_LOCAL" -->', '<!--#echo var="LAST_MODIFIED" -->',
         '<!--#if expr="v(\'REQUEST_METHOD\') == \'HEAD\'" -->h<!--#endif -->', '<!--#echo var="DOCUMENT_URI" -->', '<!--#echo var="REQUEST_URI" -->', '<!--#echo var="HTTP_HOST" -->', '<!--#echo var="REMOTE_ADDR" -->', '<!--#if expr="-A \'/sub/x.html\'" -->ok<!--#endif -->', '<!--#echo var="HTTP_ACCEPT_LANGUAGE" -->',
         '<!--#echo var="SERVER_PROTOCOL" -->', '<!--#if expr="-R \'127.0.0.2\'" -->two<!--#endif -->', '<!--#include virtual="/neg" -->', '<!--#echo var="HTTP_ACCEPT_ENCODING" -->', '<!--#echo var="HTTP_REFERER" -->', "text\n", "<p>more</p>\n"]


# ---- configurations ----

class Grammar:
    def __init__(self, rng):
        self.rng = rng
        self.tame = rng.random() < 0.75  # nothing of which hardly any answer would be remembered

    def some(self, makers, most):
        return [self.rng.choice(makers)() for _ in range(min(self.rng.randint(0, most), self.rng.randint(0, most)))]

    def variable(self):
        return self.rng.choice(VARIABLES[:3] if self.rng.random() < 0.8 else VARIABLES)

    def condition(self):
        kind = self.rng.random()
        if kind < 0.4:
            return f" env={self.rng.choice(['', '!'])}{self.variable()}"
        return f' "expr={self.rng.choice(EXPRESSIONS)}"' if kind < 0.55 else ""

    def header(self):
        rng = self.rng
        field = rng.choice(["X-One", "X-Two", "Vary", "Cache-Control", "ETag", "Last-Modified", "Expires", "Set-Cookie", "Content-Language", "Content-Type"] if rng.random() < 0.5 else ["X-One", "X-Two"])
        value = rng.choice(["x", "%{V1}e", "%{V2}e-%{HTTP_HOST}e", "a b", "Tue, 01 Jan 2002 00:00:00 GMT", "expr=%{REQUEST_URI}", "expr=%{HTTP:X-Foo}", "expr=%{REQUEST_STATUS}"]if field[0] == "X" else ["x", "Tue, 01 Jan 2002 00:00:00 GMT"])
        action = rng.choice(["set", "append", "merge", "add", "unset", "edit", "edit*", "setifempty", "echo", "note"][:8 if self.tame else 10])
        always = rng.choice(["", "", "always "])
        if action in ("edit", "edit*"):
            return f"Header {always}{action} {field} x y-$0{self.condition()}"
        if action == "unset":
            return f"Header {always}unset {field}{self.condition()}"
        if action == "echo":
            return f"Header {always}echo ^X-F{self.condition()}"
        if action == "note":
            return f"Header {always}note {field} hdr"
        return f'Header {always}{action} {field} "{value}"{self.condition()}'

    def request_header(self):
        field = self.rng.choice(["X-Foo", "User-Agent", "Cookie", "Accept-Encoding", "X-Bar", "If-None-Match", "Accept-Language", "Range", "Referer", "X-None"])
        how = self.rng.choice(['set {} a', "unset {}", 'append {} b', 'edit {} a b', 'setifempty {} "%{{V1}}e"', "unset {} early", "set {} gzip", 'add {} "%t"', 'edit* {} . "$0%{{V2}}e"'])
        return f"RequestHeader {how.format(field)}{'' if 'early' in how else self.condition()}"

    def set_env_if(self):
        rng = self.rng
        name, patterns = rng.choice(ATTRIBUTES[:6] if rng.random() < 0.6 else [a for a in ATTRIBUTES if not self.tame or a[0][:3] in ("Req", "^Co") or "_" not in a[0] and a[0][0] != "^"])
        sets = " ".join(rng.choice([self.variable(), f"!{self.variable()}", f"{self.variable()}=x", f"{self.variable()}=$1", f"{self.variable()}=$0"]) for _ in range(rng.randint(1, 2)))
        return f'{rng.choice(["SetEnvIf", "SetEnvIfNoCase"])} {name} "{rng.choice(patterns)}" {sets}'

    def set_env_if_expr(self):
        return f'SetEnvIfExpr "{self.rng.choice(EXPRESSIONS)}" {self.variable()}'

    def browser_match(self):
        return f'BrowserMatch "{self.rng.choice(AGENTS)}" {self.variable()}'

    def deflate(self):
        return self.rng.choice(["AddOutputFilterByType DEFLATE text/html text/plain", "SetOutputFilter DEFLATE", "AddOutputFilterByType DEFLATE application/javascript text/html"])

    def expires(self):
        rng = self.rng
        base = rng.choice(["access plus 1 month", "A3600", "access plus 0 seconds", "now plus 2 hours", "access plus 1 month", "modification plus 1 year"][:5 if self.tame else 6])
        return "ExpiresActive On\n" + rng.choice([f'ExpiresByType text/html "{base}"', f'ExpiresDefault "{base}"', f'ExpiresByType image/png "{base}"'])

    def rewrite(self, in_server=False):
        rng = self.rng
        tests = ["%{HTTP_USER_AGENT} robot", "%{HTTP_COOKIE} theme=dark", "%{THE_REQUEST} ^HEAD", "%{HTTP:X-Foo} ^a$", "%{HTTP_HOST} two", "%{REQUEST_METHOD} =GET", "%{QUERY_STRING} x", "%{REMOTE_ADDR} \\.2$", "%{ENV:V1} .", "%{HTTP_REFERER} bad",
                 "%{HTTP:Accept-Encoding} gzip", "%{REQUEST_FILENAME} !-f", "%{REQUEST_FILENAME} !-d", "%{REQUEST_FILENAME} -f", "%{DOCUMENT_ROOT}%{REQUEST_URI} -f", "%{DOCUMENT_ROOT}%{REQUEST_URI}.html -f", "%{DOCUMENT_ROOT}/sub/late.html -f",
                 "%{REQUEST_FILENAME} -s", "%{SERVER_PROTOCOL} 1\\.0", "%{HTTP:X-Bar}%{HTTP:X-Foo} ^ab", "expr \"%{HTTP_COOKIE} =~ /dark/\"", "%{REQUEST_URI} -U", "%{HTTP_ACCEPT} html", "%{IS_SUBREQ} true", "%{HTTP:If-None-Match} .", "%{REQUEST_FILENAME} -l"]
        if self.tame:
            tests = [t for t in tests if "ADDR" not in t and "-U" not in t and "late" not in t and ".html -f" not in t and not (in_server and "FILENAME" in t)]
        lines = ["RewriteEngine On"]
        for _ in range(rng.randint(1, 3)):
            for _ in range(rng.randint(0, 2)):
                test = rng.choice(tests)
                lines.append("RewriteCond " + test + rng.choice(["", "", " [OR]", " [NC]"]))
            slash = "/" if in_server else ""
            lines.append(rng.choice([f"RewriteRule . - [E=V{rng.randint(1, 3)}:1]", "RewriteRule . - [E=V1:%{HTTP:X-Foo}]", f"RewriteRule ^{slash}(a|x)\\.html$ /index.html [L]", f"RewriteRule ^{slash}a\\.html$ - [F]", f"RewriteRule ^{slash}b - [G]",
                                     f"RewriteRule ^{slash}x\\.js$ /a.html [R=302,L]", f"RewriteRule ^{slash}none /b.txt [PT]", f"RewriteRule ^{slash}image - [T=text/html]", f"RewriteRule ^{slash}empty /sub/%{{HTTP:X-Foo}}.html", f"RewriteRule ^{slash}a /%1.html"]))
        return "\n".join(lines)

    def require(self):
        return self.rng.choice(["Require all granted", "Require all granted", "Require ip 127.0.0.1", "Deny from env=V2", "Require not env V2\nRequire all granted", f'Require expr "{self.rng.choice(EXPRESSIONS)}"'] if self.tame else ["Require all granted", "Require env V1", "Require ip 127.0.0.2", "Require method GET", f'Require expr "{self.rng.choice(EXPRESSIONS)}"', "Require not env V2\nRequire all granted", "Require local",
                                "<RequireAny>\nRequire env V2\nRequire method GET HEAD\n</RequireAny>", "Order allow,deny\nAllow from env=V1", "Order deny,allow\nDeny from env=V2", "<Limit POST>\nRequire all denied\n</Limit>"])

    def options(self):
        return "Options " + " ".join(self.rng.choice(["+", "-"]) + o for o in self.rng.sample(["Indexes", "Includes", "SymLinksIfOwnerMatch", "MultiViews"][:3 if self.tame else 4], self.rng.randint(1, 3)))

    def error_document(self):
        return f"ErrorDocument {self.rng.choice([404, 403])} " + self.rng.choice(["/err.html", '"not here"', "/page.shtml", "http://other.example/", "/missing.html", "default"])

    def index(self):
        return "DirectoryIndex " + self.rng.choice(["index.html", "late.html index.html", "page.shtml", "disabled", "x.html neg", "/a.html", "index.html page.shtml"]) + self.rng.choice(["", "", "\nDirectorySlash Off"])

    def mime(self):
        return self.rng.choice(["AddType text/x-y .html", "AddDefaultCharset utf-8", "ForceType text/plain", "AddEncoding x-gzip .gz", "FileETag None", "FileETag MTime Size", "FileETag All", "AddOutputFilter INCLUDES .html", "DefaultType none",
                                "SetEnv V1 set", "PassEnv PATH", "UnsetEnv V1", "XBitHack full", "SSILastModified on", "SSILastModified parts", "FallbackResource /a.html", "AddLanguage en .html", "IndexOptions FancyIndexing", "SetEnv V3 three", "SSIETag on", "SSIETag parts", "RewriteOptions Inherit", "ContentDigest Off"])

    def section(self, of):
        body = "\n".join(self.lines(2, nested=True))
        files = [f'<Files "{of}">\n{body}\n</Files>', f'<FilesMatch "\\.(html|txt)$">\n{body}\n</FilesMatch>']
        return self.rng.choice([*files, f'<If "{self.rng.choice(EXPRESSIONS)}">\n{body}\n</If>', f'<If "{self.rng.choice(EXPRESSIONS)}">\n{body}\n</If>\n<Else>\nHeader set X-Else 1\n</Else>'])

    def lines(self, most, nested=False, in_server=False):
        makers = [self.header] * 5 + [self.request_header, self.set_env_if, self.set_env_if, self.set_env_if, self.set_env_if_expr, self.browser_match, self.expires, self.require, self.error_document, self.index, self.mime, self.mime, self.options]
        makers += [self.deflate] * 3
        if not nested:
            makers += [lambda: self.section(self.rng.choice(["*.html", "a.html", "*.shtml"]))] * 2 + [lambda: self.rewrite(in_server)] * 2
        if in_server:
            makers = [m for m in makers if m not in (self.require, self.options, self.mime)]
        found = self.some(makers, most)
        return [line for line in found if not (nested and line.startswith("RewriteEngine"))]

    def directories(self, site):
        blocks = []
        for folder in ("", "/sub", "/list"):
            if self.rng.random() < 0.6:
                body = "\n".join(self.lines(3))
                blocks.append(f'<Directory "{site}/htdocs{folder}">\n{body}\n</Directory>')
        for where in ("<Location /sub>", '<LocationMatch "html$">', "<Location />", '<LocationMatch "/$">', '<LocationMatch "^/(sub)?$">'):
            if self.rng.random() < 0.3:
                blocks.append(where + "\n" + "\n".join(self.lines(3)) + "\n</" + where[1:].split()[0] + ">")
        return blocks

    def config(self, site):
        rng = self.rng
        override = rng.choice(["All", "All", "None", "FileInfo Options=Indexes,Includes,MultiViews", "None"])
        base = [f'<Directory "{site}">\nOptions Indexes FollowSymLinks Includes{rng.choice(["", "", "", " MultiViews"])}\nAllowOverride {override}\nRequire all granted\n</Directory>',
                f'DocumentRoot "{site}/htdocs"', f'Alias /alias "{site}/htdocs/sub"', "AddType text/html .shtml", "AddOutputFilter INCLUDES .shtml", "AddHandler type-map .var", "AddLanguage en .en", "AddLanguage de .de", "AddEncoding gzip .gz",
                "DirectoryIndex index.html", rng.choice(["", "SSIETag parts\nSSILastModified parts", "SSIETag parts"]), rng.choice(["", "EnableSendfile On", "FileCacheMaxFileSize 4K", "FileCacheValidate stat" if override == "None" else ""])]
        tail = [f'<VirtualHost *:@PORT@>\nServerName localhost\n' + "\n".join(self.lines(3, in_server=True)) + "\n</VirtualHost>"] if rng.random() < 0.7 else []
        if tail:
            tail.append(f'<VirtualHost *:@PORT@>\nServerName two\nServerAlias www.two\nDocumentRoot "{site}/{rng.choice(["htdocs", "htdocs/sub"])}"\n' + "\n".join(self.lines(3, in_server=True)) + "\n</VirtualHost>")
        return "\n".join(base + self.lines(4, in_server=True) + self.directories(site) + tail) + "\n"

    def htaccess(self):
        return "\n".join(self.lines(3)) + "\n"


def preamble():
    loads = [f"LoadModule {m}_module {brigade.APACHE_MODULES}/mod_{m}.so" for m in MODULES]
    return "\n".join(loads) + "\nServerLimit 1\nEventLoops 1\nKeepAliveTimeout 60\n"


# ---- the site ----

class Site:
    """Files that both servers serve; their times lie in the past."""

    def __init__(self, rng):
        self.rng, self.clock, self.changes = rng, 1_000_000_000, []
        self.root = tempfile.mkdtemp(prefix="brigade-differential-")
        os.chmod(self.root, 0o755)
        os.makedirs(self.path("sub"))
        os.mkdir(self.path("list"))
        for name in ("index.html", "a.html", "b.txt", "part.html", "neg.html.en", "neg.html.de", "err.html", "x.js", "sub/x.html", "sub/index.html", "list/one.txt", "list/two.html"):
            self.write(name, self.text())
        for name in ("page.shtml", "parts.shtml", "sub/page.shtml"):
            self.write(name, self.page())
        self.write("plain.shtml", 'plain <!--#include file="part.html" -->\n')
        self.write("empty.html", "")
        self.write("big.html", TEXT * 4)
        self.write("long.html", TEXT * 60)
        self.write("image.png", "\x89PNG" * 500)
        self.write("var.var", "URI: var\n\nURI: neg.html.en\nContent-type: text/html\nContent-language: en\n\nURI: neg.html.de\nContent-type: text/html\nContent-language: de\n")
        os.symlink("a.html", self.path("link.html"))
        os.symlink("sub", self.path("dirlink"))

    def path(self, name):
        return os.path.join(self.root, "htdocs", name)

    def text(self):
        return f"text {self.rng.randint(0, 99):02}\n" + TEXT[:self.rng.choice([0, 0, 100, 3000])]

    def page(self):
        return "\n".join(self.rng.choices(PAGES, k=self.rng.randint(1, 4))) + "\n" + TEXT[:self.rng.choice([0, 1000])]

    def touch(self, path, again=False):
        self.clock += 0 if again else 1
        os.utime(path, (self.clock, self.clock))

    def write(self, name, text, by_rename=False):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        to = path + ".new" if by_rename else path
        with open(to, "w", encoding="latin-1") as f:
            f.write(text)
        self.touch(to, again=self.rng.random() < 0.2)
        if by_rename:
            os.rename(to, path)

    def remove(self, name):
        if os.path.lexists(self.path(name)):
            os.unlink(self.path(name))

    def link(self, name, targets):
        self.remove(name)
        os.symlink(self.rng.choice(targets), self.path(name))

    def remove_all(self):
        shutil.rmtree(self.root)

    def content(self, name, grammar):
        return grammar.htaccess() if name.endswith(".htaccess") else self.page() if name.endswith(".shtml") else self.text()

    def swap(self):
        there, away = self.path("sub"), self.path("sub-away")
        if os.path.isdir(away):
            shutil.rmtree(there, ignore_errors=True)
            os.rename(away, there)
        else:
            os.rename(there, away)

    def deploy(self, grammar):
        """All files in a folder of their own take the place of those that were there."""
        there, new, old = (os.path.join(self.root, n) for n in ("htdocs", "htdocs.new", "htdocs.old"))
        shutil.copytree(there, new, symlinks=True)
        for name in ("a.html", "part.html", "sub/x.html"):
            path = os.path.join(new, name)
            if os.path.exists(path):
                with open(path, "w") as f:
                    f.write(self.text())
                self.touch(path)
        os.rename(there, old)
        os.rename(new, there)
        shutil.rmtree(old)

    def change(self, grammar):
        rng = self.rng
        name = rng.choice([".htaccess", ".htaccess", "sub/.htaccess", "a.html", "index.html", "part.html", "page.shtml", "parts.shtml", "sub/x.html", "sub/index.html", "sub/late.html", "sub/late.html", "sub/page.shtml", "none.html",
                           "index.html.en", "neg.html.fr", "neg.html", "err.html", "list/three.txt", "list/index.html", "list/.htaccess", "a.html.en", "var", "big.html"])
        what = rng.choice(["write", "write", "rename", "remove", "touch", "link", "swap", "mode", "folder", "deploy"])
        if not os.path.isdir(self.path(os.path.dirname(name))) and what != "swap" or what == "folder" and not os.path.isdir(self.path("sub")):
            return
        self.changes.append(f"{what} {name}")
        if what in ("write", "rename"):
            text = self.content(name, grammar)
            self.changes.append(text if name.endswith((".htaccess", ".shtml")) else f"{len(text)} bytes")
            self.write(name, text, what == "rename")
        elif what == "remove":
            self.remove(name)
        elif what == "touch" and os.path.exists(self.path(name)):
            self.touch(self.path(name))
        elif what == "mode" and os.path.exists(self.path(name)):
            os.chmod(self.path(name), rng.choice([0o600, 0o644, 0o755]))
        elif what == "folder":
            os.chmod(self.path(rng.choice(["sub", "list"])), rng.choice([0o700, 0o755, 0o755]))
        elif what == "deploy":
            self.deploy(grammar)
        elif what == "link":
            self.link("link.html", ["a.html", "b.txt", "sub/x.html", "nowhere"])
            self.link("dirlink", ["sub", "list"])
        elif what == "swap":
            self.swap()


# ---- requests ----

class Request:
    def __init__(self, rng, seen, like=None):
        self.target = like.target if like else rng.choice(TARGETS)
        self.method = rng.choices(["GET", "HEAD", "POST", "OPTIONS"], [40, 4, 1, 1])[0]
        self.version = rng.choices(["1.1", "1.0"], [8, 1])[0]
        self.host = rng.choice(HOSTS)
        self.fields = [(n, rng.choice(FIELDS[n])) for n in rng.sample(list(FIELDS), rng.choice([0, 0, 1, 1, 1, 2, 3]))]
        if rng.random() < 0.5:
            self.fields = [("Accept-Encoding", rng.choice(["gzip", "gzip", "gzip, deflate, br", "identity"])), *((n, v) for n, v in self.fields if n != "Accept-Encoding")]
        if rng.random() < 0.05 and self.fields:
            self.fields.append((self.fields[0][0], rng.choice(FIELDS[self.fields[0][0]])))
        if rng.random() < 0.25:
            self.fields += self.conditions(rng, seen)
        if rng.random() < 0.15:
            self.fields.append(("Range", rng.choice(["bytes=0-9", "bytes=-5", "bytes=2-3,5-6", "bytes=999999-", "x"])))
        if rng.random() < 0.1 or self.version == "1.0" and rng.random() < 0.5:
            self.fields.append(("Connection", rng.choice(["close", "keep-alive", "Keep-Alive, x"])))
        if self.version == "1.0" and rng.random() < 0.2:
            self.host = None
        self.body = b"x=y" if self.method == "POST" else b""

    def conditions(self, rng, seen):
        tag, date = seen.get(self.target, ('"x"', "Sun, 09 Sep 2001 01:46:40 GMT"))
        dates = [date, date, email.utils.formatdate(1_000_000_000 + rng.randint(-5, 2000), usegmt=True), "Fri, 01 Jan 2100 00:00:00 GMT", "x", "Tue, 01 Jan 2002 00:00:00 GMT"]
        tags = [tag, tag, "W/" + tag, '"x"', "*", f'"x", {tag}', tag.replace("-gzip", ""), tag[:-1] + '-gzip"', "x"]
        found = []
        for name, values, odds in (("If-None-Match", tags, 0.5), ("If-Modified-Since", dates, 0.5), ("If-Match", tags, 0.05), ("If-Unmodified-Since", dates, 0.05), ("If-Range", [tag, date], 0.05)):
            if rng.random() < odds:
                found.append((name, rng.choice(values)))
        return found

    def bytes(self):
        return request_bytes(self.method, self.target, self.fields, self.body, self.version, self.host)

    def __str__(self):
        return f"{self.method} {self.target} HTTP/{self.version} Host: {self.host} {self.fields}"


class Peer(Client):
    def __init__(self, server, source):
        self.socket = socket.create_connection(("127.0.0.1", server.port), brigade.PATIENCE, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.server = server

    def exchange(self, requests):
        """What comes back for a batch; None after the last answer of a connection that ended."""
        try:
            self.send(b"".join(q.bytes() for q in requests))
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = []
        for q in requests:
            try:
                found.append(self.read_response(q.method))
            except Truncated as e:
                found.append(None if not e.args[0] else f"cut off after {e.args[0]!r}")
                break
        return found


class NewerPeer:
    """One that asks over the protocol of TEST_PROTOCOL, one request after the other."""

    def __init__(self, server, source):
        self.server, self.client = server, ASKED.Client("127.0.0.1", server.port, brigade.PATIENCE, source=source)

    def exchange(self, requests):
        found = []
        for q in requests:
            try:
                found.append(self.client.request(q.method, q.target, [f for f in q.fields if f[0] != "Connection"], q.body, host=q.host or "localhost"))
            except Truncated:
                return [*found, None]
        return found

    def close(self):
        self.client.close()


# Of what a request was made and what it got, with what the logs of stored answers take from different places.
LOG = ('LogFormat "%h %l %u \\"%r\\" %>s %b %m %U %q %f %H %{Referer}i %{User-Agent}i %{Range}i %{Cookie}i %{ETag}o %{Vary}o %{Content-Range}o %{Content-Length}o '
       '%{Location}o %{no-gzip}e" compared\nCustomLog logs/compared compared\n')
BOUNDARY = re.compile(r"boundary=(\w+)")


def seconds_of(text):
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return None


def as_said(answer, server):
    """The parts of an answer that must be the same."""
    if not hasattr(answer, "head"):
        return answer
    port, date, fields = str(server.port), seconds_of(answer["Date"] or ""), []
    boundary = BOUNDARY.search(answer["Content-Type"] or "")
    for name, value in answer.headers:
        if name.lower() == "date":
            value = "now"
        elif name.lower() == "expires" and date is not None and seconds_of(value) is not None and abs(seconds_of(value) - date) < 86400 * 365:
            value = f"now + {round((seconds_of(value) - date) / 4) * 4}"
        elif name.lower() == "content-length" and boundary:
            value = str(int(value) - answer.body.count(boundary[1].encode()) * len(boundary[1]))
        fields.append((name, re.sub(r"\bt=\d+", "t=NOW", BOUNDARY.sub("boundary=B", value.replace(port, "PORT")))))
    body = re.sub(rb"\bt=\d+", b"t=NOW", answer.body.replace(port.encode(), b"PORT"))
    if boundary:
        body = body.replace(boundary[1].encode(), b"B")
    fields.sort(key=lambda field: field[0].lower())  # the order counts among those of one name only
    return answer.status, answer.version, fields, body, answer.trailers


# ---- a round ----

class Round:
    def __init__(self, seed, site):
        self.rng = random.Random(seed)
        self.site, self.seed, self.seen, self.history = site, seed, {}, []
        self.grammar = Grammar(self.rng)
        self.logged = self.rng.random() < 0.5
        self.text = self.configuration()
        self.peers = None
        self.counts = {}

    def configuration(self):
        return preamble() + self.grammar.config(self.site.root) + (LOG if self.logged else "")

    def usable(self):
        """A configuration that the grammar made may be refused: then simply another."""
        for _ in range(20):
            probe = brigade.Server(self.text)
            try:
                if probe.run("-t").returncode == 0:
                    return True
                self.text = self.configuration()
            finally:
                probe.remove()
        return False

    def run(self, epochs, until):
        if not self.usable():
            return
        with brigade.Server(self.text) as usual, brigade.Server("FileCacheEntries 0\nSSICacheSize 2000\n" + self.text) as plain:
            self.servers = (usual, plain)
            try:
                pool = [Request(self.rng, self.seen) for _ in range(6)]
                for _ in range(epochs):
                    if time.monotonic() > until:
                        break
                    for _ in range(2):
                        pool[self.rng.randrange(6)] = Request(self.rng, self.seen)
                        pool[self.rng.randrange(6)] = Request(self.rng, self.seen, like=self.rng.choice(pool))
                    for _ in range(self.rng.randint(4, 14)):
                        self.batch(self.rng.choices(pool, k=self.rng.choice([1, 2, 4, 7, 9])))
                    for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
                        self.site.change(self.grammar)
                        self.history.append(self.site.changes[-2:])
            finally:
                self.hang_up()
            if self.logged:
                self.compare_logs()

    def compare_logs(self):
        """In any order: requests of several connections end as they like. The boundary of several parts has a length of its own."""
        for server in self.servers:
            server.stop()
        both = []
        for server in self.servers:
            with open(server.path("logs/compared"), "rb") as f:
                lines = re.sub(rb"\bt=\d+", b"t=NOW", f.read().replace(str(server.port).encode(), b"PORT")).splitlines()
            both.append(collections.Counter(re.sub(rb"\d+", b"N", line) if b"=2-3,5-6" in line else line for line in lines))
        one, other = (sorted((lines - others).elements()) for lines, others in (both, both[::-1]))
        assert one == other, f"seed {self.seed}:\n{one[:3]}\n{other[:3]}\n{self.text}"

    def hang_up(self):
        for peer in self.peers or ():
            peer.close()
        self.peers = None

    def batch(self, requests):
        if self.peers and self.rng.random() < 0.1:
            self.hang_up()
        if not self.peers:
            source = self.rng.choice(["127.0.0.1"] * 3 + ["127.0.0.2"])
            self.peers = [(NewerPeer if ASKED else Peer)(s, source) for s in self.servers]
        said = [[as_said(a, p.server) for a in p.exchange(requests)] for p in self.peers]
        self.history.append(requests)
        if said[0] != said[1]:
            raise AssertionError(self.report(requests, *said))
        for q, a in zip(requests, said[0]):
            if isinstance(a, tuple):
                self.counts[a[0]] = self.counts.get(a[0], 0) + 1
                fields = dict(a[2])
                self.seen[q.target] = (fields.get("ETag", '"x"'), fields.get("Last-Modified", "Sun, 09 Sep 2001 01:46:40 GMT"))
        if said[0][-1] is None or len(said[0]) < len(requests) or any(("Connection", "close") in a[2] for a in said[0] if isinstance(a, tuple)):
            self.hang_up()

    def report(self, requests, one, two):
        at = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)) - 1)
        target = requests[at].target
        lines = [f"seed {self.seed}: {requests[at]}", f"remembered: {str(one[at])[:1500]}", f"each time:  {str(two[at])[:1500]}", f"({len(one)} and {len(two)} answers)", "configuration:", self.text]
        for step in self.history[-60:]:
            lines += [f"  {q}" for q in step if isinstance(q, Request) and q.target == target]
            lines += [f"  change: {c}" for c in step if isinstance(c, str)]
        for folder in ("", "sub/", "list/"):
            path = self.site.path(folder + ".htaccess")
            if os.path.exists(path):
                with open(path) as f:
                    lines.append(f"{folder}.htaccess now:\n{f.read()}")
        return "\n".join(lines)


@pytest.mark.slow
def test_remembered_answers_are_those_of_each_time():
    if not all(os.path.exists(f"{brigade.APACHE_MODULES}/mod_{m}.so") for m in MODULES):
        pytest.skip("no modules of Apache")
    start, counts = time.monotonic(), {}
    until = start + (SECONDS or brigade.PATIENCE / 2)
    seeds = range(SEED * 10000, SEED * 10000 + (10000 if SECONDS else ROUNDS))
    sites = {seed: Site(random.Random(seed)) for seed in seeds[:AHEAD]}
    try:
        for seed in seeds:
            if time.monotonic() > until:
                break
            if seed + AHEAD in seeds:
                sites[seed + AHEAD] = Site(random.Random(seed + AHEAD))
            one = Round(seed, sites[seed])
            one.run(12, until)
            sites.pop(seed).remove_all()
            for status, count in one.counts.items():
                counts[status] = counts.get(status, 0) + count
    finally:
        for site in sites.values():
            site.remove_all()
    print(f"answers by status: {dict(sorted(counts.items()))}")
    assert counts.get(200, 0) > 0
