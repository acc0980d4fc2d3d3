# SPDX-License-Identifier: Apache-2.0
"""Thirty mistakes more for test_mistakes_table.py: {the beginning of the row: (lines for Brigade and Apache, a file for nginx or None)}. DIR, PORT
and MODULES are put in by the test; TAKEN is a port that another program listens at."""


def nginx(inner="", beside="", listen="127.0.0.1:PORT"):
    return ("pid DIR/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + beside
            + "\nserver {\nlisten " + listen + ";\nserver_name localhost;\n" + inner + "\n}\n}\n")


def caddy(inner="", site="http://localhost:PORT", options=""):
    return "{\n admin off\n" + options + "}\n" + site + " {\n" + inner + "\n}\n"


REWRITE = "LoadModule rewrite_module MODULES/mod_rewrite.so\n"
PROXY = "".join(f"LoadModule {n}_module MODULES/mod_{n}.so\n" for n in ("proxy", "proxy_http", "slotmem_shm", "proxy_balancer", "lbmethod_byrequests"))
HEADERS = "LoadModule headers_module MODULES/mod_headers.so\n"
AUTH = "".join(f"LoadModule {n}_module MODULES/mod_{n}.so\n" for n in ("authn_core", "auth_basic", "authn_file", "authz_user", "access_compat", "authz_host"))
ROOT = '<Directory "/">\nRequire all denied\n</Directory>\n'

MORE = {
    "a virtual host": ("<VirtualHost *:1>\nServerName a.test\n</VirtualHost>\n", None),
    "`server-staus`": ("<Location /s>\nSetHandler server-staus\n</Location>\n", nginx("location /s { stub_statsu; }")),
    "`combind`": ("CustomLog DIR/a combind\n", nginx("access_log DIR/a combind;")),
    "a rewrite rule": (REWRITE + "RewriteRule ^/a /b\n", None),
    "`^/a` in": (REWRITE + "<Directory DIR/htdocs>\nRewriteEngine On\nRewriteRule ^/a /b\n</Directory>\n", None),
    "`balancer://ap`": (PROXY + "<Proxy balancer://app>\nBalancerMember http://127.0.0.1:1\n</Proxy>\nProxyPass /x/ balancer://ap/\n",
                        nginx("location / { proxy_pass http://ap; }", "upstream app { server 127.0.0.1:1; }")),
    "a file of passwords": (AUTH + "<Location />\nAuthType Basic\nAuthName x\nAuthUserFile DIR/none\nRequire valid-user\n</Location>\n", nginx("auth_basic x; auth_basic_user_file DIR/none;")),
    "Basic without": (AUTH + "<Location />\nAuthType Basic\nAuthUserFile /dev/null\nRequire valid-user\n</Location>\n", None),
    "`http2`": ("Protocols http2\n", nginx(listen="127.0.0.1:PORT h2")),
    "a quote": (HEADERS + 'Header set X "abc\n', nginx('add_header X "abc;')),
    "a redirect": ("Redirect / /en/\n", nginx("return 301 /en/;")),
    "Order beside": (AUTH + "<Directory DIR/htdocs>\nOrder deny,allow\nDeny from all\nRequire all granted\n</Directory>\n", None),
    "`/app/` and": (PROXY + "ProxyPass /app/ http://127.0.0.1:3000/x\n", nginx("location /app/ { proxy_pass http://127.0.0.1:3000/x; }")),
    "an address": ("Listen 127.0.0.1:TAKEN\n", nginx(listen="127.0.0.1:TAKEN")),
    "a cache": ("LoadModule cache_module MODULES/mod_cache.so\nCacheEnable mem /\n", nginx("location / { proxy_pass http://127.0.0.1:1; proxy_cache mem; }")),
    "`10M`": ("LimitRequestBody 10M\n", nginx("client_max_body_size 10Mi;")),
    "`5m`": ("KeepAliveTimeout 5m\n", nginx("keepalive_timeout 5min;")),
    "`[R=301 L]`": (REWRITE + "RewriteEngine On\nRewriteRule ^/a /b [R=301 L]\n", nginx("rewrite ^/a /b 301 L;")),
    "`-Index`": ("<Directory DIR/htdocs>\nOptions -Index\n</Directory>\n", nginx("autoindex of;")),
    "`TLS1.2`": ("SSLProtocol TLS1.2\n", nginx("ssl_protocols TLS1.2;")),
    "a condition": ('<If "%{HTTP_HOST} = example.org">\n</If>\n', nginx("if ($host == example.org) { return 404; }")),
    "`=` between": (HEADERS + 'Header set Cache-Control = "no-cache"\n', nginx('add_header Cache-Control = "no-cache";')),
    "the status": ("Redirect /new /old permanent\n", nginx("return /old 301;")),
    "a document root": (ROOT + "DocumentRoot DIR/htdocs\n", nginx("location / { deny all; }")),
    "a URL": ("ServerName http://a.test/\n", nginx("server_name http://a.test/;")),
    "`.x text/x`": ("LoadModule mime_module MODULES/mod_mime.so\nTypesConfig /dev/null\nAddType .x text/x\n", nginx("types { .x text/x; }")),
    "a backend": (PROXY + "ProxyPass / localhost:3000\n", nginx("location / { proxy_pass localhost:3000; }")),
    "a variable": ("ServerAdmin ${NONE}@a.test\n", nginx("add_header X $none;")),
    "`try_files`": ("try_files $uri /index.html;\n", nginx("FallbackResource /index.html;")),
    "a user": ("User nobody-there\n", "user nobody-there;\n" + nginx()),
}

OF_CADDY = {
    "`server-staus`": caddy("metrisc /m"), "`combind`": caddy("log {\nformat combind\n}"), "`balancer://ap`": caddy("reverse_proxy http://ap"),
    "`http2`": caddy(options=" servers {\nprotocols http2\n}\n"), "a quote": caddy('header X "abc'), "a redirect": caddy("redir /en/* /en/"),
    "`/app/` and": caddy("reverse_proxy /app/* http://127.0.0.1:3000/x"), "an address": caddy(site="http://localhost:TAKEN"),
    "`10M`": caddy("request_body {\nmax_size 10Mx\n}"), "`5m`": caddy(options=" servers {\ntimeouts {\nidle 5min\n}\n}\n"), "`-Index`": caddy("file_server brows"),
    "`TLS1.2`": caddy("tls internal {\nprotocols TLS1.2\n}", "https://localhost:PORT"), "a condition": caddy("@x expression {http.request.host} == example.org\nrespond @x 404"),
    "`=` between": caddy('header Cache-Control = "no-cache" x'), "the status": caddy("redir /new 301 /old"), "a URL": caddy(site="http://http://a.test/"),
    "a variable": caddy('header X "{$NONE}"'), "`try_files`": caddy("FallbackResource /index.html"),
}
