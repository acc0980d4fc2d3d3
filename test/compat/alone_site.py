# SPDX-License-Identifier: Apache-2.0
"""A site of everything that the classic web has, by one configuration; Apache runs it with its modules, Brigade without a file of them."""
import base64
import hashlib

from stock import driver

# As Debian has them; LoadModule names files below ServerRoot, where Apache finds a link to its folder and Brigade nothing.
MODULES = """mpm_event authn_core authn_file auth_basic auth_digest authz_core authz_host authz_user authz_groupfile alias rewrite cgid userdir
negotiation include mime mime_magic dir autoindex env setenvif headers expires actions asis speling filter deflate substitute macro allowmethods
proxy proxy_http proxy_fcgi proxy_balancer lbmethod_byrequests slotmem_shm status http2 socache_shmcb ssl md""".split()

CONFIG = """
ServerRoot @ROOT@
PidFile logs/httpd.pid
Mutex file:@ROOT@/logs default
@LOADS@
User @USER@
Group @GROUP@
Listen 127.0.0.1:@PORT@
Listen 127.0.0.1:@HTTP@
Listen 127.0.0.1:@TLS@
ServerName alone.test
ServerTokens Prod
ServerSignature Off
TraceEnable Off
ErrorLog logs/error_log
LogLevel info
TypesConfig conf/mime.types
MimeMagicFile conf/magic
LogFormat "%h %u \\"%r\\" %>s %B" short
Timeout 30

MDomain alone.test
MDStoreDir @ROOT@/md
MDCertificateAuthority @ACME@/dir
MDCertificateAgreement accepted
MDContactEmail nobody@alone.test
MDCACertificateFile @ROOT@/made/ca.pem
MDPortMap http:@HTTP@ https:@TLS@
MDPrivateKeys secp256r1
SSLSessionCache shmcb:@ROOT@/logs/sessions(512000)
MDStapling off

<Macro site $docs>
    DocumentRoot $docs
    CustomLog logs/access_log short
    DirectoryIndex index.html index.shtml index.php
    <Directory $docs>
        Options FollowSymLinks
        AllowOverride All
        Require all granted
    </Directory>
    <Files ".ht*">
        Require all denied
    </Files>
    <Directory $docs/basic>
        AuthType Basic
        AuthName "basic"
        AuthUserFile conf/users
        AuthGroupFile conf/groups
        Require valid-user
    </Directory>
    <Directory $docs/basic/group>
        Require group staff
    </Directory>
    <Directory $docs/basic/one>
        <RequireAny>
            Require user ann
            Require ip 192.0.2.0/24
        </RequireAny>
    </Directory>
    <Directory $docs/digest>
        AuthType Digest
        AuthName "digest"
        AuthUserFile conf/digests
        Require valid-user
    </Directory>
    ScriptAlias /cgi-bin/ @ROOT@/cgi/
    <Directory @ROOT@/cgi>
        Require all granted
    </Directory>
    <Directory $docs/programs>
        Options +ExecCGI
        AddHandler cgi-script .sh
        Action own-type /cgi-bin/env.sh
        AddHandler own-type .own
    </Directory>
    <FilesMatch "\\.php$">
        SetHandler "proxy:unix:@FPM@/socket|fcgi://php/"
    </FilesMatch>
    <Proxy balancer://app>
        BalancerMember http://127.0.0.1:@BACKEND@
    </Proxy>
    ProxyPass /app/ balancer://app/
    ProxyPassReverse /app/ http://127.0.0.1:@BACKEND@/
    ProxyPassReverse /app/ balancer://app/
    UserDir @ROOT@/users/*/public
    <Directory @ROOT@/users/*/public>
        AllowOverride AuthConfig FileInfo
        Options MultiViews SymLinksIfOwnerMatch
        Require method GET HEAD
    </Directory>
    <Directory $docs/languages>
        Options +MultiViews
        AddLanguage en .en
        AddLanguage de .de
        AddLanguage fr .fr
        LanguagePriority fr en
        ForceLanguagePriority Prefer Fallback
        AddHandler type-map .var
    </Directory>
    <Directory $docs/includes>
        Options +IncludesNOEXEC
        AddType text/html .shtml
        AddOutputFilter INCLUDES .shtml
        XBitHack Full
    </Directory>
    <Directory $docs/listed>
        Options +Indexes
        IndexOptions FancyIndexing NameWidth=* SuppressLastModified
    </Directory>
    <Directory $docs/changed>
        SetOutputFilter SUBSTITUTE
        Substitute "s/colour/color/q"
    </Directory>
    <Directory $docs/asis>
        AddHandler send-as-is .asis
    </Directory>
    <Directory $docs/near>
        CheckSpelling On
    </Directory>
    <Location /read-only>
        AllowMethods GET HEAD OPTIONS
    </Location>
    <Location /aged>
        ExpiresActive On
        ExpiresDefault "access plus 0 seconds"
        Header set X-Aged "%{REQUEST_SCHEME}e"
    </Location>
    SetEnvIf User-Agent "^old" OLD=1
    Header set X-Old yes env=OLD
    AddOutputFilterByType DEFLATE text/css
    RewriteEngine On
    RewriteMap numbers txt:conf/numbers
    RewriteRule ^/moved/(.*)$ /elsewhere/$1 [R=301,L]
    RewriteRule ^/number/(\\w+)$ /files/${numbers:$1|default}.txt [PT]
    RewriteCond %{QUERY_STRING} ^secret$
    RewriteRule ^/gone - [G]
    RewriteCond %{HTTPS} =on
    RewriteRule ^/scheme$ /files/one.txt
    ErrorDocument 404 /files/missing.html
</Macro>
<VirtualHost *:@PORT@ *:@HTTP@>
    ServerName alone.test
    Use site @ROOT@/htdocs
</VirtualHost>
<VirtualHost *:@TLS@>
    ServerName alone.test
    SSLEngine on
    Protocols h2 http/1.1 acme-tls/1
    Use site @ROOT@/htdocs
</VirtualHost>
"""

ENVIRONMENT = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "PATH_TRANSLATED", "QUERY_STRING", "REMOTE_USER", "AUTH_TYPE", "SERVER_PROTOCOL", "GATEWAY_INTERFACE",
               "CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_X_IN", "REDIRECT_STATUS", "REDIRECT_URL", "REQUEST_SCHEME", "HTTPS", "SERVER_NAME", "DOCUMENT_ROOT", "CONTEXT_PREFIX")
SCRIPT = "#!/bin/sh\necho 'Content-Type: text/plain'\necho 'X-Own: yes'\necho\n" + "".join(f"echo {n}=\"${n}\"\n" for n in ENVIRONMENT) + "cat\n"
DIGEST_REALM = "digest"


def sha(password):
    return "{SHA}" + base64.b64encode(hashlib.sha1(password.encode()).digest()).decode()


WORDPRESS = """RewriteEngine On
RewriteBase /blog/
RewriteRule ^index\\.html$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /blog/index.html [L]
"""
FILES = {
    "index.html": "<h1>alone</h1>\n", "files/one.txt": "one\n", "files/default.txt": "default\n", "files/missing.html": "<p>missing</p>\n", "files/page.css": "p { color: red }\n" * 50,
    "files/script": "#!/bin/sh\n" + "#" * 80 + "\n", "files/page": "<html> by its content\n", "basic/a.txt": "for all users\n", "basic/group/a.txt": "for a group\n", "basic/one/a.txt": "for one\n",
    "digest/a.txt": "for digests\n", "programs/env.sh": SCRIPT, "programs/x.own": "own\n", "blog/index.html": "the blog\n", "blog/a.txt": "a file of the blog\n", "blog/.htaccess": WORDPRESS,
    "languages/page.html.en": "english\n", "languages/page.html.de": "deutsch\n", "languages/page.html.fr": "français\n", "languages/map.var": "URI: map\n\nURI: page.html.en\nContent-Type: text/html\nContent-Language: en\n\nURI: page.html.de\nContent-Type: text/html\nContent-Language: de\n",
    "includes/page.shtml": '<!--#set var="a" value="b" --><!--#echo var="a" --> <!--#include virtual="/files/one.txt" --><!--#if expr="v(\'QUERY_STRING\') = /x/" -->x<!--#else -->y<!--#endif --><!--#include virtual="/cgi-bin/env.sh?q" -->\n',
    "listed/b.txt": "b\n", "listed/a.html": "a\n", "listed/sub/c": "c\n", "changed/a.txt": "colour and colour\n", "asis/a.asis": "Status: 203 As it is\nContent-Type: text/x-as-is\nX-As: is\n\nbody\n",
    "near/Name.txt": "near\n", "read-only/a.txt": "read\n", "aged/a.txt": "aged\n", "index.php": "<?php header('X-Php: yes'); echo $_SERVER['REQUEST_METHOD'], ' ', $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '', ' ', $_SERVER['QUERY_STRING'], ' ', file_get_contents('php://input');",
    "@ROOT@/cgi/env.sh": SCRIPT, "@ROOT@/cgi/status.sh": "#!/bin/sh\nprintf 'Status: 404 No\\nContent-Type: text/plain\\n\\nnot here\\n'\n", "@ROOT@/cgi/local.sh": "#!/bin/sh\nprintf 'Location: /files/one.txt\\n\\n'\n", "@ROOT@/cgi/nph-own.sh": "#!/bin/sh\nprintf 'HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 4\\r\\n\\r\\nnph\\n'\n",
    "@ROOT@/users/ann/public/index.html": "ann's page\n", "@ROOT@/users/ann/public/page.html.en": "ann's english\n", "@ROOT@/users/ann/public/closed/.htaccess": "AuthType Basic\nAuthName ann\nAuthUserFile @ROOT@/conf/users\nRequire user ann\n", "@ROOT@/users/ann/public/closed/a.txt": "ann's own\n",
    "@ROOT@/conf/users": f"ann:{sha('ann-secret')}\nbob:$2y$05$@BCRYPT@\n", "@ROOT@/conf/groups": "staff: ann\nothers: bob\n",
    "@ROOT@/conf/digests": f"ann:{DIGEST_REALM}:" + hashlib.md5(f"ann:{DIGEST_REALM}:ann-secret".encode()).hexdigest() + "\n",
    "@ROOT@/conf/numbers": "one one\n", "@ROOT@/conf/magic": "0 string #!/bin/sh application/x-shellscript\n",
}


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


ANN, BOB = basic("ann", "ann-secret"), basic("bob", "bob-secret")
STEPS = [
    "/", "HEAD /", "/none", "/.htaccess", "/files/one.txt", ("/files/one.txt", {"Range": "bytes=1-2"}), ("/files/one.txt", {"If-Modified-Since": "Sun, 09 Sep 2001 01:46:40 GMT"}), ("/files/one.txt", {"User-Agent": "old one"}),
    "/files/script", "/files/page", ("/files/page.css", {"Accept-Encoding": "gzip"}), "/files/page.css",
    "/basic/a.txt", ("/basic/a.txt", ANN), ("/basic/a.txt", BOB), ("/basic/a.txt", basic("ann", "wrong")), ("/basic/a.txt", basic("eve", "x")), ("/basic/group/a.txt", ANN), ("/basic/group/a.txt", BOB), ("/basic/one/a.txt", ANN), ("/basic/one/a.txt", BOB),
    "digest /digest/a.txt", "/digest/a.txt",
    "/blog/", "/blog/a.txt", "/blog/2026/a-post?p=1", "/blog/none/", "/moved/a%20b?c=d", "/number/one", "/number/none", "/gone", "/gone?secret", "/scheme",
    "/cgi-bin/env.sh", ("/cgi-bin/env.sh/more/path?a=b+c", {"X-In": "in"}), ("POST /cgi-bin/env.sh?q", {"Content-Type": "text/plain"}, b"a body\n"), "/cgi-bin/status.sh", "/cgi-bin/local.sh", "/cgi-bin/nph-own.sh", "/cgi-bin/none.sh", "HEAD /cgi-bin/env.sh",
    "/programs/env.sh?x", "/programs/x.own?y", "/programs/",
    "php /index.php", "php /index.php/info?a=b", ("php POST /index.php", {"Content-Type": "text/plain"}, b"posted"), "php /none.php",
    "/app/", "/app/page?x=y", ("POST /app/form", {}, b"form"), "/app/moved", "/app/missing",
    "/~ann", "/~ann/", "/~ann/page", "/~ann/page.html", "/~ann/closed/a.txt", ("/~ann/closed/a.txt", ANN), ("/~ann/closed/a.txt", BOB), "/~none/", ("POST /~ann/", {}, b"x"),
    "/languages/page", "/languages/page.html", *[("/languages/page", {"Accept-Language": v}) for v in ("de", "en;q=0.5, de;q=0.7", "it", "fr, *;q=0.1", "en-GB")], ("/languages/map.var", {"Accept-Language": "de"}), "/languages/map.var", "/languages/none",
    "/includes/page.shtml", "/includes/page.shtml?x", "/listed/", "/listed/?C=N;O=D", "/listed", "/changed/a.txt", "/asis/a.asis", "/near/name.txt", "/near/Nmae.txt", "/read-only/a.txt", ("POST /read-only/a.txt", {}, b"x"), "OPTIONS /read-only/a.txt", "/aged/a.txt",
]


def loads():
    return "\n".join(f"LoadModule {m}_module modules/{'mod_' if not m.startswith('mod_') else ''}{m}.so" for m in MODULES)


def apache_has_all():
    import os
    return all(os.access(f"{driver.MODULES}/mod_{m}.so", os.R_OK) for m in MODULES)
