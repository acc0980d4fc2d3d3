# SPDX-License-Identifier: Apache-2.0
"""What .htaccess files say: blocks of lines as applications, kits and guides for webmasters have them, each with the folder
of the trial in place of @BASE@. Of ~{one|another}~ one is chosen at
random."""
import re

FRONT = {
    "pages by index.php": """RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase @BASE@
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . @BASE@index.php [L]""",
    "clean addresses": """RewriteEngine on
RewriteRule "/\\.|^\\.(?!well-known/)" - [F]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteCond %{REQUEST_URI} !=/favicon.ico
RewriteRule ^ index.php [L]""",
    "path info": """RewriteEngine On
RewriteCond %{QUERY_STRING} (<|%3C)([^s]*s)+cript.*(>|%3E) [NC,OR]
RewriteCond %{QUERY_STRING} GLOBALS(=|\\[|\\%[0-9A-Z]{0,2})
RewriteRule .* index.php [F]
RewriteCond %{REQUEST_URI} !^@BASE@index\\.php
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule .* index.php [L]""",
    "no trailing slash": """<IfModule mod_rewrite.c>
    <IfModule mod_negotiation.c>
        Options -MultiViews -Indexes
    </IfModule>
    RewriteEngine On
    RewriteCond %{HTTP:Authorization} .
    RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
    RewriteCond %{REQUEST_FILENAME} !-d
    RewriteCond %{REQUEST_URI} (.+)/$
    RewriteRule ^ %1 [L,R=301]
    RewriteCond %{REQUEST_FILENAME} !-d
    RewriteCond %{REQUEST_FILENAME} !-f
    RewriteRule ^ index.php [L]
</IfModule>""",
    "base by itself": """DirectoryIndex index.php
<IfModule mod_negotiation.c>
    Options -MultiViews
</IfModule>
<IfModule mod_rewrite.c>
    RewriteEngine On
    RewriteCond %{REQUEST_URI}::$0 ^(/.+)/(.*)::\\2$
    RewriteRule .* - [E=BASE:%1]
    RewriteCond %{HTTP:Authorization} .+
    RewriteRule ^ - [E=HTTP_AUTHORIZATION:%0]
    RewriteCond %{ENV:REDIRECT_STATUS} =""
    RewriteRule ^index\\.php(?:/(.*)|$) %{ENV:BASE}/$1 [R=301,L]
    RewriteCond %{REQUEST_FILENAME} !-f
    RewriteRule ^ %{ENV:BASE}/index.php [L]
</IfModule>
<IfModule !mod_rewrite.c>
    RedirectMatch 307 ^/$ /index.php/
</IfModule>""",
    "web root below": """<IfModule mod_rewrite.c>
    RewriteEngine on
    RewriteRule ^$ sub/ [L]
    RewriteRule (.*) sub/$1 [L]
</IfModule>""",
    "fallback": "FallbackResource @BASE@index.php",
    "fallback off": "FallbackResource disabled",
    "query": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.*)$ index.php?q=$1 [L,~{QSA|QSD|NC|B|NE}~]",
    "id": "RewriteEngine On\nRewriteRule ^item/([0-9]+)/?$ page.html?id=$1 [L,QSA]\nRewriteRule ^old/(.*)$ a.html [R=~{301|302|307|308|303}~,L]",
}

REWRITES = {
    "suffix": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME}.html -f\nRewriteRule ^([^.]+)$ $1.html [~{L|END|NC,L|PT}~]",
    "suffix away": "RewriteEngine On\nRewriteCond %{THE_REQUEST} \\s/+(.+?)\\.html[\\s?] [NC]\nRewriteRule ^ /%1 [R=301,L,NE]",
    "webp": "RewriteEngine On\nRewriteCond %{HTTP_ACCEPT} image/webp\nRewriteCond %{REQUEST_FILENAME} (.+)\\.(?:jpe?g|png)$\nRewriteCond %1.webp -f\nRewriteRule (.+)\\.(jpe?g|png)$ $1.webp [T=image/webp,E=accept:1]\nHeader append Vary Accept env=REDIRECT_accept",
    "webp short": "RewriteEngine On\nRewriteCond %{HTTP_ACCEPT} image/webp\nRewriteRule ^(.+)\\.(png|gif)$ $1.webp [T=image/webp,~{L|NC|E=REQUEST_image}~]",
    "hotlinks": "RewriteEngine On\nRewriteCond %{HTTP_REFERER} !^$\nRewriteCond %{HTTP_REFERER} !^https?://(www\\.)?localhost [NC]\nRewriteRule \\.(png|jpg|gif)$ - [F,NC]",
    "robots": "RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} ^(bad|evil)bot [NC,OR]\nRewriteCond %{HTTP_USER_AGENT} libwww\nRewriteRule .* - [~{F|G|R=404|R=403|R=410|R=418|F,L}~]",
    "https": "RewriteEngine On\nRewriteCond %{HTTPS} ~{off|!=on}~\nRewriteCond %{HTTP:X-Forwarded-Proto} !https\nRewriteRule ^secure(.*)$ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]",
    "www": "RewriteEngine on\nRewriteCond %{HTTP_HOST} ^www\\.(.+)$ [NC]\nRewriteRule ^(.*)$ http://%1/$1 [R=301,L]",
    "folder": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} -d\nRewriteCond %{REQUEST_URI} !(.*)/$\nRewriteRule ^(.*)$ @BASE@$1/ [R=301,L]",
    "precompressed": "RewriteEngine On\nRewriteCond %{HTTP:Accept-Encoding} gzip\nRewriteCond %{REQUEST_FILENAME}\\.gz -s\nRewriteRule ^(.*)\\.css $1\\.css\\.gz [QSA]\nRewriteRule \\.css\\.gz$ - [T=text/css,E=no-gzip:1]\n<FilesMatch \"(\\.js\\.gz|\\.css\\.gz)$\">\nHeader append Content-Encoding gzip\nHeader append Vary Accept-Encoding\n</FilesMatch>",
    "environment": "RewriteEngine On\nRewriteRule ^(.*)$ - [E=SEEN:$1]\nHeader set X-Seen \"%{SEEN}e\" ~{|env=SEEN}~",
    "cookie": "RewriteEngine On\nRewriteCond %{HTTP_COOKIE} !seen\nRewriteRule ^page - [CO=seen:1:localhost:~{0|60}~:@BASE@]",
    "conditions": "RewriteEngine On\nRewriteCond %{REQUEST_METHOD} ^(TRACE|TRACK|DELETE)\nRewriteRule .* - [F]\nRewriteCond %{QUERY_STRING} ^(.*&)?no=1\nRewriteRule ^(.*)$ $1? [R=302,L]",
    "skip": "RewriteEngine On\nRewriteRule ^a\\.html$ - [S=1]\nRewriteRule ^(a|b)\\.html$ page.html\nRewriteRule ^b\\.txt$ a.html [C]\nRewriteRule ^a\\.html$ page.html",
    "inherit": "RewriteEngine On\nRewriteOptions ~{Inherit|InheritBefore|MergeBase|IgnoreInherit}~\nRewriteRule ^b.txt$ a.html",
    "cached pages": "RewriteEngine On\nRewriteCond %{REQUEST_METHOD} ~{GET|!POST}~\nRewriteCond %{QUERY_STRING} ^$\nRewriteCond %{HTTP_COOKIE} !logged_in\nRewriteCond %{DOCUMENT_ROOT}@BASE@sub/$1 -f\nRewriteRule ^(.*)$ @BASE@sub/$1 [L]",
    "handler": "RewriteEngine On\nRewriteRule \\.txt$ - [~{H=cgi-script|T=text/css|T=text/html}~]",
    "off": "RewriteEngine Off",
    "host and protocol": "RewriteEngine On\nRewriteCond %{SERVER_PORT} ^~{80|443}~$\nRewriteCond %{HTTP_HOST} !^localhost\nRewriteRule (.*) http://localhost/$1 [R]",
}

HEADERS = {
    "edge": 'Header set X-UA-Compatible "IE=edge"\n<FilesMatch "\\.(css|js|png|gif|webp)$">\nHeader unset X-UA-Compatible\n</FilesMatch>',
    "frames": "Header ~{set|always set}~ X-Frame-Options ~{SAMEORIGIN|DENY}~ ~{|\"expr=%{CONTENT_TYPE} =~ m#text/html#i\"}~",
    "sniffing": 'Header ~{set|always set|append|merge}~ X-Content-Type-Options "nosniff"',
    "policy": "Header ~{set|always set}~ Content-Security-Policy \"default-src 'self'; img-src *\" \"expr=%{CONTENT_TYPE} =~ m#text\\/(html|javascript)|application\\/pdf|xml#i\"",
    "strict": 'Header always set Strict-Transport-Security "max-age=31536000; includeSubDomains" ~{|"expr=%{HTTPS} == \'on\'"|env=HTTPS}~',
    "referrer": 'Header set Referrer-Policy "strict-origin-when-cross-origin" "expr=%{CONTENT_TYPE} =~ m#text\\/(css|html|javascript)|application\\/pdf|xml#i"',
    "no tags": "Header unset ETag\nFileETag None",
    "tags": "FileETag ~{MTime Size|INode MTime Size|None|All|Digest}~",
    "powered": "Header ~{unset|always unset}~ X-Powered-By",
    "cache": 'Header ~{set|append|merge}~ Cache-Control "~{max-age=86400, public|no-cache|private, must-revalidate|no-transform|max-age=0, no-store}~"',
    "cache by type": '<FilesMatch "\\.(html|htm|css|js|txt)$">\nHeader set Cache-Control "max-age=~{60|3600}~, ~{public|proxy-revalidate}~"\n</FilesMatch>\n<FilesMatch "\\.(php|cgi)$">\nHeader unset Cache-Control\nHeader set Cache-Control "private, no-store"\n</FilesMatch>',
    "origins": 'Header set Access-Control-Allow-Origin "*" ~{|env=IS_CORS}~\n<IfModule mod_setenvif.c>\nSetEnvIf Origin ":" IS_CORS\n</IfModule>',
    "origin back": 'SetEnvIf Origin "^https?://(.+)$" ORIGIN=$0\nHeader set Access-Control-Allow-Origin %{ORIGIN}e env=ORIGIN\nHeader ~{merge|append|add}~ Vary Origin',
    "methods": 'Header set Access-Control-Allow-Methods "GET, POST, OPTIONS"\nHeader always set Access-Control-Max-Age 600\n<LimitExcept GET POST HEAD OPTIONS>\nRequire all denied\n</LimitExcept>',
    "connection": "Header ~{set|append|merge}~ Connection ~{keep-alive|Keep-Alive}~",
    "edit": 'Header ~{edit|always edit}~ ~{Content-Type|ETag|Last-Modified|Vary|Location|Cache-Control}~ "~{^(.)|html|$}~" "~{x$1|y}~"',
    "vary": "Header ~{append|merge|set|add|always set}~ Vary ~{User-Agent|Accept-Encoding|\"Accept-Encoding, User-Agent\"|*}~",
    "cookie": 'Header ~{add|set|always add}~ Set-Cookie "seen=1; Path=/~{; HttpOnly|}~" ~{|env=FIRST}~\nSetEnvIf Cookie "^$" FIRST',
    "language": "Header set Content-Language \"~{de|en-US}~\"\nDefaultLanguage ~{en|de}~",
    "request": "RequestHeader ~{set|unset|append|merge}~ ~{Accept-Encoding|X-Own|Range|If-None-Match}~ ~{gzip|x}~",
    "request unset": "RequestHeader unset ~{Accept-Encoding|Range|If-None-Match|Cookie|Proxy}~",
    "type": "Header set Content-Type \"~{text/html; charset=utf-8|text/plain|application/json}~\"",
    "early": "Header ~{set|unset|add}~ X-Early ~{1|2}~ early",
    "note": "Header set X-Time \"%{HTTP_HOST}e\"\nHeader echo ^X-Own",
    "if": "<If \"%{~{HTTP_USER_AGENT|QUERY_STRING|REQUEST_URI|HTTP_ACCEPT}~} =~ /~{bot|no|html|webp}~/\">\nHeader set X-If yes\n</If>\n<Else>\nHeader set X-If no\n</Else>",
    "robots tag": "<Files ~ \"\\.(png|txt)$\">\nHeader set X-Robots-Tag \"noindex\"\n</Files>",
}

EXPIRES = {
    "default": 'ExpiresActive ~{on|On|Off}~\nExpiresDefault "~{access plus 1 month|now plus 2 days|modification plus 1 year|A3600|M60}~"',
    "types": 'ExpiresActive On\nExpiresByType text/css "access plus 1 year"\nExpiresByType text/html "access plus 0 seconds"\nExpiresByType image/png "access plus 1 month"\nExpiresByType ~{image/webp|text/plain|application/javascript}~ "~{modification|access}~ plus ~{1 week|2 hours}~"',
    "in files": '<FilesMatch "\\.(png|css|js)$">\nExpiresActive On\nExpiresDefault A2592000\n</FilesMatch>',
    "and cache": 'ExpiresActive On\nExpiresDefault A600\nHeader ~{append|merge|set}~ Cache-Control "public"',
    "unset": "ExpiresActive On\nExpiresDefault A10\nHeader unset ~{Expires|Cache-Control|Last-Modified}~",
}

CONTENT = {
    "deflate": "AddOutputFilterByType DEFLATE text/html text/plain text/css application/javascript image/svg+xml",
    "deflate old": "SetOutputFilter DEFLATE\nSetEnvIfNoCase Request_URI \\.(?:gif|jpe?g|png|webp)$ no-gzip dont-vary\nBrowserMatch ^Mozilla/4 gzip-only-text/html\nBrowserMatch ^Mozilla/4\\.0[678] no-gzip\nBrowserMatch \\bMSIE !no-gzip !gzip-only-text/html",
    "brotli": "AddOutputFilterByType BROTLI_COMPRESS text/html text/plain text/css\nAddOutputFilterByType DEFLATE text/html text/css",
    "both": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/css application/javascript",
    "mangled": '<IfModule mod_setenvif.c>\n<IfModule mod_headers.c>\nSetEnvIfNoCase ^(Accept-EncodXng|X-cept-Encoding|X{15}|~{15}|-{15})$ ^((gzip|deflate)\\s*,?\\s*)+|[X~-]{4,13}$ HAVE_Accept-Encoding\nRequestHeader append Accept-Encoding "gzip,deflate" env=HAVE_Accept-Encoding\n</IfModule>\n</IfModule>',
    "includes": "Options +Includes\nAddType text/html .shtml\n~{AddOutputFilter INCLUDES .shtml|AddHandler server-parsed .shtml|AddOutputFilterByType INCLUDES text/html}~",
    "bit": "Options +Includes\nXBitHack ~{on|full}~",
    "substitute": "AddOutputFilterByType SUBSTITUTE text/html\nSubstitute \"s|text|TEXT|~{i|n|ni|q}~\"",
    "charset": "AddDefaultCharset ~{utf-8|Off|On|ISO-8859-1}~",
    "charsets": "AddCharset utf-8 .css .js .html .txt",
    "types": "AddType ~{application/x-own|text/html}~ .~{txt|css|own|php5}~\nAddType image/webp .webp\nAddType text/javascript js mjs",
    "forced": "<Files ~{a.html|b.txt}~>\nForceType ~{text/plain|application/octet-stream|none}~\nHeader set Content-Disposition attachment\n</Files>",
    "encodings": "AddEncoding gzip .gz\n<FilesMatch \"\\.css\\.gz$\">\nForceType text/css\n</FilesMatch>\nRemoveType .gz",
    "languages": "AddLanguage de .de\nAddLanguage en .en\nLanguagePriority ~{en de|de en}~\nForceLanguagePriority ~{Prefer|Fallback|Prefer Fallback|None}~\nOptions +MultiViews",
    "remove": "~{RemoveHandler|RemoveType|RemoveOutputFilter|RemoveEncoding|RemoveCharset|RemoveLanguage}~ .~{php|html|css|gz}~",
    "handlers": "~{AddHandler cgi-script|AddHandler default-handler|AddType application/x-httpd-php}~ .~{php|cgi|php5}~",
    "action": "Action own-type @BASE@index.php ~{|virtual}~\nAddHandler own-type .own",
    "asis": "AddHandler send-as-is .asis",
    "multiviews": "Options ~{+|-}~MultiViews\nMultiviewsMatch ~{Any|NegotiatedOnly|Handlers}~",
    "extra path": "AcceptPathInfo ~{On|Off|Default}~",
    "filter": "FilterDeclare PACK CONTENT_SET\nFilterProvider PACK DEFLATE \"%{CONTENT_TYPE} =~ m#^text/#\"\nFilterChain PACK",
    "sendfile": "EnableSendfile ~{On|Off}~\nEnableMMAP ~{On|Off}~",
    "pass auth": "CGIPassAuth ~{On|Off}~\nSetEnv APP_ENV ~{prod|dev}~\nPassEnv PATH\nUnsetEnv APP_ENV",
}

ACCESS = {
    "files": "<Files ~{.htaccess|.env|a.html|\"*.txt\"|~ \"^.*\\.([Hh][Tt])\"}~>\n~{Require all denied|Order allow,deny\\nDeny from all|Order Deny,Allow\\nDeny from all\\nAllow from 127.0.0.1}~\n</Files>",
    "match": '<FilesMatch "(^\\.|\\.(engine|inc|install|bak|sql|sh|sw[op]|own)(~|\\.orig|\\.save)?$|^(composer\\.(json|lock)|web\\.config)$)">\n<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n<IfModule !mod_authz_core.c>\nOrder allow,deny\n</IfModule>\n</FilesMatch>',
    "old": "Order ~{allow,deny|deny,allow|mutual-failure}~\nAllow from ~{all|127.0.0.1|10.0.0.0/8|localhost|env=let}~\nDeny from ~{all|none|192.168|env=let}~\nSetEnvIf User-Agent bot let",
    "limit": "<Limit~{ GET POST| PUT DELETE| OPTIONS}~>\n~{Require all denied|Order allow,deny\\nAllow from all|Deny from all}~\n</Limit>",
    "basic": "AuthType Basic\nAuthName \"~{Members only|x}~\"\nAuthUserFile @USERS@\nRequire ~{valid-user|user u|user nobody}~",
    "any": "Satisfy ~{any|all}~\nAuthType Basic\nAuthName x\nAuthUserFile @USERS@\nRequire valid-user\nOrder deny,allow\nDeny from ~{all|10.0.0.1}~\nAllow from ~{127.0.0.1|10.0.0.2}~",
    "require": "<RequireAny>\nRequire ~{ip 127.0.0.1|ip 10|local|all granted|env let|method GET}~\nRequire ~{not ip 10.0.0.1|all granted|host localhost|expr \"%{QUERY_STRING} != 'no=1'\"}~\n</RequireAny>",
    "robots": "SetEnvIfNoCase User-Agent \"bot\" bad_bot\n<RequireAll>\nRequire all granted\nRequire not env bad_bot\n</RequireAll>",
    "options": "Options ~{-Indexes|+Indexes|All|None|-Indexes +FollowSymLinks|+FollowSymLinks|+SymLinksIfOwnerMatch|-ExecCGI|Indexes FollowSymLinks ExecCGI}~",
    "index": "DirectoryIndex ~{index.html index.php|index.php|none.html|disabled|a.html index.html|/top.html|sub/}~",
    "slash": "DirectorySlash ~{Off|On}~\nDirectoryCheckHandler ~{On|Off}~",
    "index redirect": "DirectoryIndexRedirect ~{on|permanent|off|303}~",
    "listing": "Options +Indexes\nIndexOptions ~{FancyIndexing|FancyIndexing HTMLTable SuppressDescription|+FoldersFirst +NameWidth=*|-FancyIndexing|None|IgnoreCase}~\nIndexIgnore *.gz ..\nIndexOrderDefault ~{Ascending Name|Descending Size}~\n~{ReadmeName|HeaderName}~ a.html",
    "errors": "ErrorDocument ~{404|403|401|500}~ ~{@BASE@page.html|@BASE@none.html|\"Sorry\"|default|/top.html|http://localhost/x|@BASE@index.php}~",
    "redirects": "Redirect ~{301|302|303|307|308|410|404|permanent|gone|418|451}~ @BASE@old ~{|http://localhost/new|@BASE@a.html}~",
    "redirect match": "RedirectMatch ~{301|302|404|403|410}~ ~{^(.*)\\.gif$|\"^/t[0-9]+/old(.*)$\"|(?i)\\.bak$}~ ~{|http://localhost$1.png|/top.html}~",
    "signature": "ServerSignature Off",
    "variables": "SetEnv ~{no-gzip|force-no-vary|nokeepalive|force-response-1.0|downgrade-1.0|dont-vary|redirect-carefully|gzip-only-text/html}~ ~{1|}~",
    "by browser": "BrowserMatch bot ~{nokeepalive|force-response-1.0|no-gzip|force-no-vary}~",
    "length": "LimitRequestBody ~{0|10|1000000}~",
    "case": "CheckSpelling ~{On|Off}~\nCheckCaseOnly On",
    "digest": "ContentDigest ~{On|Off}~",
    "if module": "<IfModule mod_none.c>\nNonsense\n</IfModule>\n<IfModule mod_~{rewrite|alias|headers}~.c>\nHeader set X-Module yes\n</IfModule>\n<IfVersion >= 2.4>\nHeader set X-Version 24\n</IfVersion>",
    "nonsense": "~{php_value upload_max_filesize 10M|Nonsense here|AddType|</IfModule>}~",
}
GROUPS = [FRONT, REWRITES, REWRITES, HEADERS, HEADERS, HEADERS, EXPIRES, CONTENT, CONTENT, ACCESS, ACCESS]
CHOICE = re.compile(r"~\{(.*?)\}~", re.DOTALL)


def fill(rng, text):
    """One of the words of each choice."""
    return CHOICE.sub(lambda found: rng.choice(found[1].split("|")), text).replace("\\n", "\n")


def block(rng):
    group = rng.choice(GROUPS)
    return fill(rng, group[rng.choice(sorted(group))])
