/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in http3 module: servers that speak HTTP/3, and announcements to clients. */
#include "h3_private.h"
#include "connection.h"
#include "core_settings.h"
#include "driver.h"
#include "h2_hints.h"
#include "http_text.h"
#include "tls_conf.h"
#include "tls_connection.h"
#include "tls_quic.h"
#include "ap_mpm.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

AP_DECLARE_MODULE(http3);

#define ALT_SVC_ROOM 48 /* bytes of the field's value */

/* ---- which servers ---- */

static int h3_offered;

static int server_names(const server_rec *s)
{
    const apr_array_header_t *list = core_server_conf_of(s)->protocols;

    for (int i = 0; i < list->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(list, i, const char *), "h3"))
            return 1;
    return 0;
}

/* "Listen ADDRESS https" and "Protocol https" mean TLS, too. */
static int server_has_tls(const server_rec *s)
{
    const char *protocol = ap_get_server_protocol((server_rec *)(uintptr_t)s);
    const int enabled = tls_conf_of(s)->enabled;

    return enabled == 1 || (enabled == TLS_UNSET && protocol && !strcmp(protocol, "https"));
}

int h3_is_offered(void)
{
    return h3_offered;
}

int h3_is_named(const server_rec *s)
{
    return server_names(s) && server_has_tls(s);
}

int h3_is_spoken(const server_rec *s)
{
    return h3_offered && h3_is_named(s);
}

/* The handshake is QUIC's, whose clients speak nothing else. */
static int protocol_chosen(const server_rec *s, const unsigned char *in, size_t len)
{
    return server_names(s);
}

static const conn_protocol protocol = {.number = CONN_HTTP3,
                                       .name = "h3",
                                       .driver = &h3_driver,
                                       .is_quic = 1,
                                       .chosen = protocol_chosen};

static apr_status_t protocol_unset(void *unused)
{
    conn_protocol_set(CONN_HTTP3, NULL, 0);
    h3_endpoints_set(0);
    h3_offered = 0;
    return APR_SUCCESS;
}

/* RFC 9460: a record that announces HTTP/3 to browsers before their first visit. */
static void record_print(apr_file_t *out, const server_rec *s, apr_pool_t *p)
{
    const h3_server_conf *sc = ap_get_module_config(s->module_config, &http3_module);
    const int port = sc->port > 0 ? sc->port : s->addrs ? s->addrs->host_port : s->port;
    const int is_other = port && port != 443;
    const apr_array_header_t *list = core_server_conf_of(s)->protocols;
    const char *alpn = "";

    for (int i = 0; i < list->nelts; i++)
        if (*APR_ARRAY_IDX(list, i, const char *) == 'h' &&
            strcmp(APR_ARRAY_IDX(list, i, const char *), "h2c") != 0 &&
            strcmp(APR_ARRAY_IDX(list, i, const char *), AP_PROTOCOL_HTTP1) != 0)
            alpn =
                apr_pstrcat(p, alpn, *alpn ? "," : "", APR_ARRAY_IDX(list, i, const char *), NULL);
    apr_file_printf(out, "%16s %s%s. HTTPS 1 . alpn=\"%s\"\n", "",
                    is_other ? apr_psprintf(p, "_%d._https.", port) : "",
                    s->server_hostname ? s->server_hostname : "localhost", alpn);
}

/* Behind the virtual hosts of -t -D DUMP_VHOSTS. */
static void records_print(const server_rec *s, apr_pool_t *p)
{
    apr_file_t *out;

    if (apr_file_open_stdout(&out, p) != APR_SUCCESS)
        return;
    apr_file_printf(out, "DNS records for HTTP/3:\n");
    for (; s; s = s->next)
        if (h3_is_spoken(s))
            record_print(out, s, p);
}

/* Before listening sockets are opened. */
static int module_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int threaded = 1, wanted = 0;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    for (server_rec *v = s; v; v = v->next)
        wanted |= server_names(v);
    apr_pool_cleanup_register(p, NULL, protocol_unset, apr_pool_cleanup_null);
    if (wanted && threaded == AP_MPMQ_NOT_SUPPORTED) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "HTTP/3 is not offered: a server process with one thread (mpm_prefork) cannot "
                     "serve several streams at once");
        wanted = 0;
    }
    h3_offered = wanted;
    h3_endpoints_set(wanted);
    if (wanted && ap_exists_config_define("DUMP_VHOSTS"))
        records_print(s, ptemp);
    return OK;
}

/* The value of Alt-Svc, by the port that clients come to. */
static char *alt_svc_put(char *to, int port, int age)
{
    char *at = to;

    memcpy(at, "h3=\":", 5);
    at += 5;
    at += http_put_number(at, (apr_uint64_t)port);
    memcpy(at, "\"; ma=", 6);
    at += 6;
    at += http_put_number(at, (apr_uint64_t)age);
    *at = '\0';
    BRG_ASSERT(at < to + ALT_SVC_ROOM);
    return to;
}

static void server_settle(server_rec *s, apr_pool_t *p)
{
    h3_server_conf *sc = ap_get_module_config(s->module_config, &http3_module), conf;

    BRG_ASSERT(sc && h3_offered);
    h3_conf_of(s, &conf);
    if (!conf.alt_svc)
        return;
    if (sc == ap_get_module_config(ap_server_conf->module_config, &http3_module) &&
        s != ap_server_conf) {
        sc = apr_pmemdup(p, sc, sizeof *sc);
        ap_set_module_config(s->module_config, &http3_module, sc);
    }
    sc->alt_svc_port = conf.port ? conf.port : s->addrs ? s->addrs->host_port : s->port;
    sc->alt_svc_text = alt_svc_put(apr_palloc(p, ALT_SVC_ROOM), sc->alt_svc_port, conf.alt_svc_age);
}

static void server_tunnels(server_rec *s, int work)
{
    h3_server_conf *sc = ap_get_module_config(s->module_config, &http3_module);

    sc->websockets = work;
}

static const char *server_name(const server_rec *s)
{
    return s->server_hostname ? s->server_hostname : "the main server";
}

/* The first server's settings hold for a connection before its client names a host. */
static void server_compare(const server_rec *main_server, const server_rec *s)
{
    const apr_port_t port = s->addrs ? s->addrs->host_port : s->port;
    const server_rec *first = h3_first_server(main_server, port);
    h3_server_conf here, there;

    h3_conf_of(s, &here);
    h3_conf_of(first, &there);
    if (s != first && !h3_conf_is_alike(&here, &there))
        ap_log_error(
            APLOG_MARK, APLOG_WARNING, 0, s,
            "%s:%u: settings of HTTP/3 have no effect where they differ from those of %s, the "
            "first host with HTTP/3 at the port: they hold before a client names a host",
            server_name(s), port, server_name(first));
}

static int module_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    h3_server_conf *sc = ap_get_module_config(s->module_config, &http3_module);
    const char *why = NULL;
    int n = 0, tunnels = 0;

    if (h3_offered && !tls_quic_works(&why)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "HTTP/3 is not offered: %s", why);
        h3_offered = 0;
        h3_endpoints_set(0);
    }
    if (h3_offered && sc->websockets == 1)
        tunnels = h2_tunnels_work(s, "H3WebSockets");
    for (server_rec *v = s; h3_offered && v; v = v->next)
        if (h3_is_named(v)) {
            server_tunnels(v, tunnels);
            server_settle(v, p);
            server_compare(s, v);
            n++;
        }
    if (h3_offered && !n)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "Protocols h3 has no effect: HTTP/3 needs TLS, and no server whose Protocols "
                     "names it has "
                     "SSLEngine On");
    conn_protocol_set(CONN_HTTP3, h3_offered ? &protocol : NULL, 0);
    return OK;
}

/* ---- telling clients ---- */

/* RFC 7838, 3. Clients that come over HTTP/3 know it. */
static int alt_svc_tell(request_rec *r)
{
    const h3_server_conf *sc = ap_get_module_config(r->server->module_config, &http3_module);
    const brg_conn *bc = sc->alt_svc_text ? connection_of(r->connection) : NULL;
    const int port = bc ? r->connection->local_addr->port : 0;
    h3_server_conf conf;

    if (!bc || bc->protocol == CONN_HTTP3 || !tls_of(r->connection) || r->main || r->prev)
        return DECLINED;
    if (port == sc->alt_svc_port || sc->port != H3_UNSET) {
        apr_table_setn(r->err_headers_out, "Alt-Svc", sc->alt_svc_text);
        return DECLINED;
    }
    h3_conf_of(r->server, &conf);
    apr_table_setn(r->err_headers_out, "Alt-Svc",
                   alt_svc_put(apr_palloc(r->pool, ALT_SVC_ROOM), port, conf.alt_svc_age));
    return DECLINED;
}

static const char *spoken(const conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    return bc && bc->protocol == CONN_HTTP3 ? "h3" : NULL;
}

/* By server, protocol and port, by which responses are stored apart. */
static int module_depends(request_rec *r)
{
    return BRG_CACHE_STATIC;
}

static void module_hooks(apr_pool_t *p)
{
    ap_hook_check_config(module_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(module_post_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_post_read_request(alt_svc_tell, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_protocol_get(spoken, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(h3_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_handlers_are_for(&http3_module, "http3-status");
    h3_status_register(p);
    brg_cache_declare(&http3_module, module_depends);
}

module AP_MODULE_DECLARE_DATA http3_module = {
    STANDARD20_MODULE_STUFF, NULL,        NULL,         h3_server_create,
    h3_server_merge,         h3_commands, module_hooks, AP_MODULE_FLAG_NONE};
