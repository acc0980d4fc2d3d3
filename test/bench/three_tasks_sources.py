# SPDX-License-Identifier: Apache-2.0
"""What somebody writes for the tasks of three_tasks.py: configuration and source, as short as each server takes it."""
import re

GUIDE = __import__("pathlib").Path(__file__).resolve().parents[2] / "docs/guides/07-write-a-filter.md"
UPPER = re.search(r"(?s)```c\n(.*?)```", GUIDE.read_text())[1]

BRIGADE_HTTPS = """
ServerRoot @DIR@
TypesConfig /etc/mime.types
ServerName localhost
Listen @PORT@
Listen @TLS@ https
Protocols h2 http/1.1
DocumentRoot @DIR@/site
DirectoryIndex index.html
<VirtualHost *:@PORT@>
    Redirect permanent / https://localhost:@TLS@/
</VirtualHost>
<VirtualHost *:@TLS@>
    SSLEngine On
    SSLCertificateFile @DIR@/cert.pem
    SSLCertificateKeyFile @DIR@/key.pem
</VirtualHost>
"""
APACHE_MODULES = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "mime", "dir"))
APACHE_COMMON = APACHE_MODULES + "ServerRoot @DIR@\nTypesConfig /etc/mime.types\nPidFile @DIR@/logs/pid\nErrorLog @DIR@/logs/error\n"
APACHE_HTTPS = APACHE_COMMON + "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in (
    "ssl", "http2", "alias", "socache_shmcb")) + BRIGADE_HTTPS.partition("mime.types\n")[2]
NGINX_COMMON = """
pid logs/pid;
error_log logs/error;
events {}
http {
    include /etc/nginx/mime.types;
    access_log logs/access;
"""
NGINX_HTTPS = NGINX_COMMON + """
    server {
        listen @PORT@;
        return 301 https://localhost:@TLS@$request_uri;
    }
    server {
        listen @TLS@ ssl http2;
        root @DIR@/site;
        ssl_certificate @DIR@/cert.pem;
        ssl_certificate_key @DIR@/key.pem;
    }
}
"""
CADDY_HTTPS = """
{
    http_port @PORT@
    https_port @TLS@
    admin off
    skip_install_trust
}
localhost {
    tls internal
    root * @DIR@/site
    file_server
}
"""

SSI = """
Listen @PORT@
ServerName localhost
DocumentRoot @DIR@/site
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory @DIR@/site>
    Options +Includes
</Directory>
"""
BRIGADE_SSI = "ServerRoot @DIR@\nTypesConfig /etc/mime.types" + SSI + "MemoryTrace @DIR@/requests.trace requests=1000\n"
APACHE_SSI = APACHE_COMMON + "LoadModule include_module /usr/lib/apache2/modules/mod_include.so\n" + SSI.lstrip()
NGINX_SSI = NGINX_COMMON + """
    server {
        listen @PORT@;
        root @DIR@/site;
        ssi on;
        ssi_types text/html;
        types { text/html shtml html; }
    }
}
"""

TEXT = "Listen @PORT@\nServerName localhost\nDocumentRoot @DIR@/site\nAddOutputFilter UPPER txt\n"
BRIGADE_FILTER = "ServerRoot @DIR@\nTypesConfig /etc/mime.types\nLoadModule upper_module @DIR@/mod_upper.so\n" + TEXT
APACHE_FILTER = APACHE_COMMON + "LoadModule upper_module @DIR@/.libs/mod_upper.so\n" + TEXT
NGINX_TEXT = "load_module source/objs/ngx_upper_module.so;\n" + NGINX_COMMON.lstrip() + """
    server {
        listen @PORT@;
        root @DIR@/site;
        location ~ \\.txt$ { upper on; }
    }
}
"""
NGINX_FILTER_CONFIG = """
ngx_addon_name=ngx_upper_module
ngx_module_type=HTTP_AUX_FILTER
ngx_module_name=ngx_upper_module
ngx_module_srcs=$ngx_addon_dir/ngx_upper.c
. auto/module
"""
NGINX_FILTER = r"""
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

typedef struct {
    ngx_flag_t on;
} upper_conf;

static ngx_http_output_header_filter_pt upper_next_header;
static ngx_http_output_body_filter_pt upper_next_body;
extern ngx_module_t ngx_upper_module;

static void *upper_create(ngx_conf_t *cf)
{
    upper_conf *conf = ngx_pcalloc(cf->pool, sizeof(*conf));
    if (conf)
        conf->on = NGX_CONF_UNSET;
    return conf;
}

static char *upper_merge(ngx_conf_t *cf, void *parent, void *child)
{
    upper_conf *above = parent, *conf = child;
    ngx_conf_merge_value(conf->on, above->on, 0);
    return NGX_CONF_OK;
}

static ngx_int_t upper_header(ngx_http_request_t *r)
{
    upper_conf *conf = ngx_http_get_module_loc_conf(r, ngx_upper_module);
    if (conf->on)
        r->filter_need_in_memory = 1;
    return upper_next_header(r);
}

static ngx_int_t upper_body(ngx_http_request_t *r, ngx_chain_t *in)
{
    upper_conf *conf = ngx_http_get_module_loc_conf(r, ngx_upper_module);
    ngx_chain_t *out = NULL, **last = &out;
    if (!conf->on || !in)
        return upper_next_body(r, in);
    for (; in; in = in->next) {
        ngx_buf_t *b = in->buf;
        ngx_chain_t *link = ngx_alloc_chain_link(r->pool);
        if (!link)
            return NGX_ERROR;
        if (ngx_buf_in_memory(b) && b->last > b->pos) {
            ngx_buf_t *copy = ngx_create_temp_buf(r->pool, b->last - b->pos);
            if (!copy)
                return NGX_ERROR;
            for (u_char *from = b->pos; from < b->last; from++)
                *copy->last++ = ngx_toupper(*from);
            copy->flush = b->flush;
            copy->last_buf = b->last_buf;
            copy->last_in_chain = b->last_in_chain;
            b->pos = b->last;
            b = copy;
        }
        link->buf = b;
        link->next = NULL;
        *last = link;
        last = &link->next;
    }
    return upper_next_body(r, out);
}

static ngx_int_t upper_init(ngx_conf_t *cf)
{
    upper_next_header = ngx_http_top_header_filter;
    ngx_http_top_header_filter = upper_header;
    upper_next_body = ngx_http_top_body_filter;
    ngx_http_top_body_filter = upper_body;
    return NGX_OK;
}

static ngx_command_t upper_commands[] = {
    {ngx_string("upper"), NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(upper_conf, on), NULL},
    ngx_null_command,
};
static ngx_http_module_t upper_context = {NULL, upper_init, NULL, NULL, NULL, NULL, upper_create, upper_merge};
ngx_module_t ngx_upper_module = {
    NGX_MODULE_V1, &upper_context, upper_commands, NGX_HTTP_MODULE, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NGX_MODULE_V1_PADDING,
};
"""
CADDY_TEXT = """
{
    http_port @PORT@
    admin off
    order upper before file_server
}
http://localhost {
    root * @DIR@/site
    upper
    file_server
}
"""
CADDY_FILTER = """
package main

import (
    "bytes"
    "net/http"

    "github.com/caddyserver/caddy/v2"
    caddycmd "github.com/caddyserver/caddy/v2/cmd"
    "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
    "github.com/caddyserver/caddy/v2/modules/caddyhttp"
    _ "github.com/caddyserver/caddy/v2/modules/standard"
)

type Upper struct{}

type upperWriter struct{ http.ResponseWriter }

func (w upperWriter) Write(p []byte) (int, error) { return w.ResponseWriter.Write(bytes.ToUpper(p)) }

func (Upper) CaddyModule() caddy.ModuleInfo {
    return caddy.ModuleInfo{ID: "http.handlers.upper", New: func() caddy.Module { return new(Upper) }}
}

func (Upper) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
    return next.ServeHTTP(upperWriter{w}, r)
}

func init() {
    caddy.RegisterModule(Upper{})
    httpcaddyfile.RegisterHandlerDirective("upper", func(httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) { return Upper{}, nil })
}

func main() { caddycmd.Main() }
"""
