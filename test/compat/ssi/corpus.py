# SPDX-License-Identifier: Apache-2.0
"""The corpus of pages with server-side includes: how it is stored and served."""
import os

from . import elements, expressions, lexing, scope
from .page import encode

PAGES = lexing.ALL + elements.ALL + expressions.ALL + scope.ALL

# All files have this time: 2021-03-04 05:06:07 UTC.
TIME = 1614834367

CONFIG = """<IfModule !mod_include.c>
    LoadModule include_module @MODULES@/mod_include.so
</IfModule>
<IfModule !mod_cgid.c>
    LoadModule cgid_module @MODULES@/mod_cgid.so
</IfModule>
ScriptSock @ROOT@/logs/cgisock
LoadModule testcut_module @TESTCUT@
ServerName www.example.test:80
ServerAdmin admin@example.test
UseCanonicalName On
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot @DOCS@
AddType text/html .shtml .html
AddType text/plain .txt
AddType image/gif .gif
AddOutputFilter INCLUDES .shtml
SetEnv FROM_SETENV "from setenv"
SetEnvIf X-Setenvif yes FROM_SETENVIF=fromsetenvif
Redirect /moved /p/inc.txt
ScriptAlias /cgi/ @DOCS@/cgi/
<Directory @DOCS@>
    Options Includes FollowSymLinks ExecCGI
    AllowOverride All
    Require all granted
</Directory>
<Directory @DOCS@/denied>
    Require all denied
</Directory>
<VirtualHost *:@PORT@>
    ServerName www.example.test:80
</VirtualHost>
"""

HOSTS = {
    "percent.test": ("<%", "%>"),
    "aab.test": ("aab", "aa"),
    "one.test": ("{", "}"),
    "long.test": ("<!--#include-this-please:", ":thanks-->"),
    "end.test": (None, "?>"),
}


def config(docs, testcut, more=""):
    """Without testcut the pages may run on event loops."""
    text = more + (CONFIG if testcut else CONFIG.replace("LoadModule testcut_module @TESTCUT@\n", ""))
    for host, (start, end) in HOSTS.items():
        text += f"<VirtualHost *:@PORT@>\n    ServerName {host}:80\n"
        text += f"    SSIStartTag \"{start}\"\n" if start else ""
        text += f"    SSIEndTag \"{end}\"\n</VirtualHost>\n"
    return text.replace("@DOCS@", docs).replace("@TESTCUT@", testcut or "")


VARS = "".join(f'{v}=<!--#echo var="{v}" -->\n' for v in (
    "DOCUMENT_NAME", "DOCUMENT_URI", "DOCUMENT_ARGS", "DOCUMENT_PATH_INFO", "QUERY_STRING", "QUERY_STRING_UNESCAPED",
    "REQUEST_URI", "SCRIPT_NAME", "SCRIPT_FILENAME", "PATH_INFO"))

FILES = {
    "p/inc.txt": "included\n",
    "p/a b.txt": "with a space\n",
    "p/a&b.txt": "with an ampersand\n",
    "p/c:d.txt": "with a colon\n",
    "p/plain.html": "<p>plain &amp; simple</p>\n",
    "p/dot.gif": b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04",
    "p/big.txt": "".join(f"line {i} of a larger file\n" for i in range(4000)),
    "p/unreadable.txt": "secret\n",
    "p/directive.txt": '<!--#echo var="DOCUMENT_NAME" -->',
    "p/vars.shtml": VARS,
    "p/sets.shtml": '[inner sees <!--#echo var="a" -->]<!--#set var="a" value="changed" --><!--#set var="inner" value="set" -->',
    "p/errors.shtml": '[<!--#nothing -->|<!--#echo var="not_there" -->|<!--#config timefmt="%m" -->]',
    "p/configs.shtml": '<!--#config errmsg="inner" echomsg="inner" timefmt="%m" -->',
    "p/times.shtml": '[<!--#echo var="LAST_MODIFIED" -->]<!--#config timefmt="%j" -->[<!--#echo var="LAST_MODIFIED" -->]',
    "p/captures.shtml": '<!--#set var="n" value="[$1]" --><!--#echo var="n" --><!--#if expr="\'q\' =~ /(q)/" --><!--#endif -->',
    "p/open-if.shtml": 'a<!--#if expr="false" -->b',
    "p/expr-inner.shtml": "".join(
        f'<!--#if expr="{e}" -->yes<!--#else -->no<!--#endif -->\n' for e in (
            "v('DOCUMENT_URI') == '/p/expr-in-include.shtml'", "v('DOCUMENT_URI') =~ m#inner#", "%{IS_SUBREQ} == 'true'",
            "%{QUERY_STRING} == 'q=1'", "v('QUERY_STRING') == 'q=1'", "%{REQUEST_URI} =~ m#inner#")),
    "p/deep-1.shtml": '2<!--#include virtual="deep-2.shtml" -->2',
    "p/deep-2.shtml": '3<!--#include file="deep-3.shtml" -->3',
    "p/deep-3.shtml": '4<!--#include virtual="/p/inc.txt" -->4',
    "p/loop-a.shtml": 'a<!--#include virtual="loop-b.shtml" -->a',
    "p/loop-b.shtml": 'b<!--#include virtual="loop-a.shtml" -->b',
    "p/error-page.shtml": 'error page: <!--#echo var="REDIRECT_STATUS" --> <!--#echo var="REDIRECT_URL" -->',
    "p/sub/inner.txt": "inner\n",
    "p/sub/index.html": "index of sub\n",
    "p/sub/nested.shtml": '<!--#include virtual="inner.txt" --><!--#include file="inner.txt" -->'
                          '<!--#include virtual="../inc.txt" --><!--#include virtual="inc.txt" -->',
    "p/sub/nested-vars.shtml": 'sub <!--#include virtual="../vars.shtml" -->',
    "other/up.txt": "up and down\n",
    "denied/secret.txt": "secret\n",
    "cgi/hello.cgi": "#!/bin/sh\necho Content-Type: text/plain\necho\n"
                     "echo \"cgi: $QUERY_STRING|$PATH_INFO|$SCRIPT_NAME|$REQUEST_METHOD|$DOCUMENT_NAME\"\n",
    "cgi/redirect.cgi": "#!/bin/sh\necho 'Location: http://elsewhere.test/?a=1&b=<c>'\necho\n",
    "cgi/status.cgi": "#!/bin/sh\necho Status: 404 Nothing\necho Content-Type: text/plain\necho\necho not found here\n",
    "cgi/ssi.cgi": "#!/bin/sh\necho Content-Type: text/html\necho\necho '<!--#echo var=\"DOCUMENT_NAME\" -->'\n",
}
FILES.update({f"p/size-{n}.bin": (b"0123456789abcdef" * (n // 16 + 1))[:n] for n in elements.SIZES})


def store(docs):
    """Write the whole corpus below docs."""
    names = set()
    for page in PAGES:
        name = f"{page.folder}/{page.name}{page.suffix}"
        assert name not in names, name
        names.add(name)
        write(docs, name, page.body, page.mode)
        for file, content in page.files.items():
            write(docs, f"{page.folder}/{file}", content)
        if page.htaccess is not None:
            write(docs, f"{page.folder}/.htaccess", page.htaccess + "\n")
    for name, content in FILES.items():
        write(docs, name, encode(content), 0o755 if name.endswith(".cgi") else 0o644)
    os.chmod(os.path.join(docs, "p/unreadable.txt"), 0)
    for folder, folders, files in os.walk(docs):
        for name in folders + files:
            os.utime(os.path.join(folder, name), (TIME, TIME))


def write(docs, name, content, mode=0o644):
    path = os.path.join(docs, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(encode(content))
    os.chmod(path, mode)
