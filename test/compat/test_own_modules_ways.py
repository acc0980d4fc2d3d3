# SPDX-License-Identifier: Apache-2.0
"""Modules of our own beside Apache's, all loaded: what each does to requests of every method, to files, folders, what is not there, type
maps and path information; as they come, by way of a proxy, and by an internal redirect. So what a module asks of proxyreq, main,
prev, method_number, finfo, notes and the environment is Apache's."""
import re

import pytest

import test_own_modules
from test_own_modules import answers

pytestmark = test_own_modules.pytestmark
MODULES = """rewrite headers setenvif proxy proxy_http alias dir mime env expires negotiation include autoindex actions speling userdir vhost_alias asis
status info cgid auth_basic authn_core authn_file authz_user authz_host authz_groupfile authz_owner access_compat allowmethods filter
deflate mime_magic unique_id usertrack ratelimit request substitute authn_anon""".split()

# Name of a folder -> its section.
SECTIONS = {
    "plain": "",
    "mv": "Options +MultiViews",
    "dirindex": "DirectoryIndex a.txt /idx",
    "dirslash": "DirectorySlash Off",
    "dircheck": "DirectoryCheckHandler On\nSetHandler none",
    "fallback": "FallbackResource /fb.txt",
    "idxredir": "DirectoryIndexRedirect on\nDirectoryIndex a.txt",
    "map": "AddHandler type-map .var",
    "asis": "AddHandler send-as-is .asis",
    "act": "Action text/plain /fb.txt",
    "actv": "Action x/y /fb.txt virtual\nAddType x/y .txt",
    "script": "Script PUT /fb.txt\nScript POST /fb.txt",
    "spel": "CheckSpelling On",
    "allow": "AllowMethods GET OPTIONS",
    "exp": 'ExpiresActive On\nExpiresDefault "access plus 1 hour"',
    "hdr": "Header set X-Seen in\nHeader onsuccess append X-Seen ok\nHeader always append X-Always yes\nRequestHeader set X-R 1",
    "hdrerr": "Header always set X-Seen e\nHeader edit* X-Seen e f",
    "inc": "Options +Includes\nSetOutputFilter INCLUDES",
    "subst": "AddOutputFilterByType SUBSTITUTE text/plain\nSubstitute s/a/b/",
    "status": "SetHandler server-status",
    "info": "SetHandler server-info",
    "auth": "AuthType Basic\nAuthName x\nAuthUserFile @ROOT@/conf/none\nRequire valid-user",
    "anon": "AuthType Basic\nAuthName x\nAuthBasicProvider anon\nAnonymous *\nRequire valid-user",
    "owner": "AuthType Basic\nAuthName x\nAuthBasicProvider anon\nAnonymous *\nRequire file-owner",
    "method": "Require method GET",
    "limitx": "<LimitExcept GET>\nRequire all denied\n</LimitExcept>",
    "compat": "Order deny,allow\nDeny from all\nAllow from env=LET",
    "rwd": "RewriteEngine On\nRewriteRule ^zz$ a.txt\nRewriteRule ^yy$ a.txt [R]\nRewriteRule ^ns - [F]\nRewriteRule ^t$ a.txt [T=x/z,E=Q:1]",
    "redir": "RedirectMatch ^(.*)/gone$ $1/a.txt",
    "redirg": "Redirect gone",
    "err": 'ErrorDocument 404 /fb.txt\nErrorDocument 403 "no"\nErrorDocument 405 /fb.txt',
    "env": 'SetEnv A 1\nSetEnvIf Request_Method P B=1\nHeader set X-Seen "%{A}e %{B}e %{REDIRECT_A}e %{REDIRECT_STATUS}e %{REDIRECT_URL}e"',
    "expr": 'Header always set X-Seen "expr=%{REQUEST_STATUS} %{IS_SUBREQ} %{REQUEST_FILENAME} %{HANDLER} %{CONTENT_TYPE} %{REQUEST_METHOD} %{DOCUMENT_URI} %{PATH_INFO}"',
    "cgi": "Options +ExecCGI\nAddHandler cgi-script .txt",
    "type": "ForceType x/f",
    "deflate": "SetOutputFilter DEFLATE",
    "lang": "AddLanguage de .de\nDefaultLanguage fr\nAddCharset utf-8 .txt\nAddEncoding x-gzip .gz",
    "pathinfo": "AcceptPathInfo On",
}
FILES = {"a.txt": "a text\n", "b.html.de": "<p>d\n", "b.html.en": "<p>e\n", "m.var": "URI: a.txt\nContent-Type: text/plain\n\nURI: b.html.en\nContent-Type: text/html\n",
         "s.asis": "Status: 201 X\nContent-Type: x/y\n\nbody", "z.txt.gz": "zz", "sub/a.txt": "suba", "i.shtml": '<!--#include virtual="a.txt" --><!--#echo var="DOCUMENT_URI" -->'}
TARGETS = ["a.txt", "", "sub", "none", "b", "m.var", "s.asis", "a.txt/x", "zz", "gone", "i.shtml", "A.TXT", "z.txt"]
METHODS = ["HEAD", "POST", "PUT", "OPTIONS", "TRACE", "PROPFIND", "FOO", "DELETE"]
FIELDS = ("Content-Type", "Location", "Allow", "Vary", "Content-Location", "X-Seen", "X-Always", "Content-Language", "Content-Encoding", "WWW-Authenticate", "TCN", "Accept-Ranges")
REST = """MimeMagicFile /etc/apache2/magic
TraceEnable On
SetEnvIf X-Let . LET
RewriteEngine On
RewriteRule ^/in/(.*) /$1
ProxyPass /p/ http://127.0.0.1:@PORT@/
ProxyPassReverse /p/ http://127.0.0.1:@PORT@/
"""


def plain(answer):
    """Without the folder of the server, and the order of methods."""
    method, target, status, *rest, body = answer
    rest = [re.sub(r"/tmp/brigade-test-\w+", "ROOT", line) for line in rest]
    rest = [f"Allow: {sorted(line[7:].split(','))}" if line.startswith("Allow: ") else line for line in rest]
    return method, target, status, *rest, re.sub(rb"/tmp/brigade-test-\w+", b"ROOT", body) if "/status/" not in target and "/info/" not in target else b""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["", "/p", "/in"], ids=["as they come", "proxied", "rewritten"])
def test_ways_of_requests(way):
    config = REST + "".join(f"<Directory @ROOT@/htdocs/{name}>\n{lines}\n</Directory>\n<Location /p/{name}>\n{lines.replace('RewriteEngine On', 'RewriteEngine Off')}\n</Location>\n"
                            for name, lines in SECTIONS.items())
    files = {"fb.txt": "fallback a\n", "idx": "index a\n", **{f"{name}/{file}": text for name in SECTIONS for file, text in FILES.items()}}
    asked = [("GET", f"{way}/{name}/{target}", {}) for name in SECTIONS for target in TARGETS]
    asked += [(method, f"{way}/{name}/{target}", {"Content-Length": "0"} if method in ("POST", "PUT") else {}) for name in SECTIONS for method in METHODS for target in TARGETS[:4]]
    apache, ours = ([plain(a) for a in found] for found in answers(config, files, asked, modules=MODULES, fields=FIELDS))
    differ = [f"Apache: {a}\nhere:   {b}" for a, b in zip(apache, ours) if a != b]
    assert not differ, f"{len(differ)} of {len(asked)}\n" + "\n".join(differ[:20])
