/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in http2 module: choice of connections that speak HTTP/2, early hints, and questions of
 * modules and scripts. */
#include "h2_private.h"
#include "connection.h"
#include "h2_hints.h"
#include "core_settings.h"
#include "http_text.h"
#include "ap_mpm.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_text.h"
#include "mod_http2.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"
#include <string.h>

#define HTTP2_STREAM_NAME 48 /* bytes of two numbers with a dash between */

AP_DECLARE_MODULE(http2);

/* ---- which connections ---- */

static int list_index(const apr_array_header_t *list, const char *name)
{
    for (int i = 0; i < list->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(list, i, const char *), name))
            return i;
    return -1;
}

static int server_speaks(const server_rec *s, const char *name)
{
    return list_index(core_server_conf_of(s)->protocols, name) >= 0;
}

/* Prior knowledge. */
static int protocol_claims(const brg_conn *bc, const char *in, size_t len)
{
    const char *name = bc->transport ? "h2" : "h2c";
    h2_server_conf conf;

    if (memcmp(in, "PRI ", len < 4 ? len : 4) || bc->loop->prefork ||
        !server_speaks(bc->base, name))
        return 0;
    h2_conf_of(bc->base, &conf);
    if (conf.direct == H2_UNSET ? bc->transport != NULL : !conf.direct)
        return 0;
    return len < 4 ? -1 : 1;
}

/* Where a name is in the client's list of ALPN; -1: nowhere. */
static int alpn_index(const unsigned char *in, size_t len, const char *name)
{
    const size_t n = strlen(name);
    int i = 0;

    for (size_t at = 0; at < len; at += 1U + in[at], i++)
        if (in[at] == n && at + 1 + n <= len && !memcmp(in + at + 1, name, n))
            return i;
    return -1;
}

/* As ap_select_protocol() decides, where no other module proposes anything. */
static int protocol_chosen(const server_rec *s, const unsigned char *in, size_t len)
{
    const core_server_config *conf = core_server_conf_of(s);
    const int ours = list_index(conf->protocols, "h2"), theirs = alpn_index(in, len, "h2");
    const int other = list_index(conf->protocols, AP_PROTOCOL_HTTP1);
    const int other_asked = alpn_index(in, len, AP_PROTOCOL_HTTP1);

    if (ours < 0 || theirs < 0)
        return 0;
    if (other < 0 || other_asked < 0)
        return 1;
    return conf->protocols_honor_order == 0 ? theirs < other_asked : ours < other;
}

static int protocol_is_modern(const server_rec *s)
{
    h2_server_conf conf;

    h2_conf_of(s, &conf);
    return conf.modern;
}

static const conn_protocol protocol = {.number = CONN_HTTP2,
                                       .name = "h2",
                                       .driver = &h2_driver,
                                       .claims = protocol_claims,
                                       .chosen = protocol_chosen,
                                       .is_modern = protocol_is_modern};

/* Over TLS of a module HTTP/2 is that module's to carry. */
static int may_become(conn_rec *c, const request_rec *r)
{
    const brg_conn *bc = connection_of(c);

    return r ? h2_upgrade_fits(r) : bc && bc->transport && !bc->master;
}

static int propose(conn_rec *c, request_rec *r, server_rec *s, const apr_array_header_t *offers,
                   apr_array_header_t *proposals)
{
    const char *name = r ? "h2c" : "h2";

    if (!offers || !conn_protocol_of(CONN_HTTP2) || list_index(offers, name) < 0 ||
        !may_become(c, r))
        return DECLINED;
    APR_ARRAY_PUSH(proposals, const char *) = name;
    return OK;
}

/* The transport below goes on with it. */
static int take_over(conn_rec *c, request_rec *r, server_rec *s, const char *name)
{
    if (!conn_protocol_of(CONN_HTTP2) || strcmp(name, r ? "h2c" : "h2"))
        return DECLINED;
    if (r)
        h2_upgrade_begin(r);
    return OK;
}

static const char *spoken(const conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    if (!bc || bc->protocol != CONN_HTTP2)
        return NULL;
    return (bc->master ? bc->master : bc)->transport ? "h2" : "h2c";
}

static apr_status_t protocol_unset(void *unused)
{
    conn_protocol_set(CONN_HTTP2, NULL, 0);
    return APR_SUCCESS;
}

/* Apache's mod_proxy polls the client's socket, which a stream has not. */
int h2_tunnels_work(server_rec *s, const char *directive)
{
    const module *proxy = ap_find_linked_module("mod_proxy.c");

    if (!proxy || !proxy->dynamic_load_handle)
        return 1;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                 "%s On has no effect: it needs the built-in mod_proxy", directive);
    return 0;
}

static void tunnels_check(server_rec *s)
{
    h2_server_conf *conf = ap_get_module_config(s->module_config, &http2_module);

    if (conf->websockets == 1)
        conf->websockets = h2_tunnels_work(s, "H2WebSockets");
}

/* The variables that all streams have alike. */
static apr_table_t *http2_variables;

static void http2_variables_make(apr_pool_t *p)
{
    static const char *const all[][2] = {{"HTTP2", "on"},
                                         {"H2PUSH", "off"},
                                         {"H2_PUSH", "off"},
                                         {"H2_PUSHED", ""},
                                         {"H2_PUSHED_ON", ""}};

    http2_variables = apr_table_make(p, sizeof all / sizeof *all);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        apr_table_addn(http2_variables, all[i][0], all[i][1]);
}

static int module_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int threaded = 1, wanted = 0;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    for (server_rec *v = s; v; v = v->next)
        wanted |= server_speaks(v, "h2") || server_speaks(v, "h2c");
    apr_pool_cleanup_register(p, NULL, protocol_unset, apr_pool_cleanup_null);
    if (wanted && threaded == AP_MPMQ_NOT_SUPPORTED) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     APLOGNO(10034) "HTTP/2 is not offered: a server process with one thread "
                                    "(mpm_prefork) cannot serve several streams at once");
        wanted = 0;
    }
    for (server_rec *v = s; v; v = v->next)
        tunnels_check(v);
    conn_protocol_set(CONN_HTTP2, wanted ? &protocol : NULL, 1);
    http2_variables_make(p);
    return OK;
}

/* ---- early hints ---- */

static const http_stream *stream_of(const conn_rec *c)
{
    const brg_conn *bc = connection_of(c);
    const http_stream *s = bc && bc->master && bc->protocol == CONN_HTTP2 ? bc->below : NULL;

    BRG_ASSERT(!s || (s->tag == STREAM_TAG && s->bc == bc));
    return s;
}

/* Of HTTP/3, too: its streams send interim responses by the same directives. */
static int takes_hints(const conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    return bc && bc->master && bc->protocol != CONN_HTTP1;
}

static void hints_put(apr_table_t *to, const apr_array_header_t *hints, int merge)
{
    for (int i = 0; hints && i < hints->nelts; i++) {
        const h2_hint *hint = &APR_ARRAY_IDX(hints, i, const h2_hint);

        if (merge)
            apr_table_mergen(to, hint->name, hint->value);
        else
            apr_table_addn(to, hint->name, hint->value);
    }
}

/* The configured hints go out before the request's handler runs. */
static int hints_send(request_rec *r)
{
    const h2_server_conf *sc = ap_get_module_config(r->server->module_config, &http2_module);
    const h2_dir_conf *dc = ap_get_module_config(r->per_dir_config, &http2_module);
    const apr_array_header_t *pushes = dc->pushes ? dc->pushes : sc->pushes;
    const apr_array_header_t *hints = dc->hints ? dc->hints : sc->hints;
    apr_table_t *fields = r->headers_out;
    const char *line = r->status_line;
    const int status = r->status;

    if (sc->early_hints != 1 || !(pushes || hints) || !takes_hints(r->connection) ||
        !ap_is_initial_req(r) || r->expecting_100)
        return DECLINED;
    r->headers_out = apr_table_make(r->pool, 4);
    hints_put(r->headers_out, pushes, 1);
    hints_put(r->headers_out, hints, 0);
    r->status = HTTP_EARLY_HINTS;
    r->status_line = NULL;
    ap_send_interim_response(r, 1);
    r->headers_out = fields;
    r->status = status;
    r->status_line = line;
    return DECLINED;
}

/* ---- questions of modules ---- */

static int http2_is_h2(conn_rec *c)
{
    return spoken(c) != NULL;
}

/* "CONNECTION-STREAM". *@a id: the second number */
static char *http2_stream_name(apr_pool_t *p, const conn_rec *master, uint32_t stream, char **id)
{
    char *text = apr_palloc(p, HTTP2_STREAM_NAME), *to = text;

    BRG_ASSERT(master && master->id >= 0);
    to += http_put_number(to, (apr_uint64_t)master->id);
    *to++ = '-';
    to[http_put_number(to, stream)] = '\0';
    *id = to;
    return text;
}

static char *http2_var_lookup(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r, char *name)
{
    const http_stream *stream = c ? stream_of(c) : NULL;
    char *id, *tag;

    if (!strcmp(name, "HTTP2"))
        return (char *)(uintptr_t)(c && http2_is_h2(c) ? "on" : "off");
    if (!strcmp(name, "H2PUSH") || !strcmp(name, "H2_PUSH"))
        return (char *)(uintptr_t)(c && http2_is_h2(c) ? "off" : "");
    if (!stream || (strcmp(name, "H2_STREAM_ID") != 0 && strcmp(name, "H2_STREAM_TAG") != 0))
        return (char *)(uintptr_t) "";
    tag = http2_stream_name(p, c->master, stream->id, &id);
    return strcmp(name, "H2_STREAM_ID") ? tag : id;
}

static void http2_get_num_workers(server_rec *s, int *least, int *most)
{
    *least = 0;
    if (ap_mpm_query(AP_MPMQ_MAX_THREADS, most) != APR_SUCCESS)
        *most = 0;
}

/* All that http2_var_lookup() tells of a stream. */
static int module_fixups(request_rec *r)
{
    const http_stream *stream = stream_of(r->connection);
    apr_table_t *env = r->subprocess_env;
    const char *tag;
    char *id;

    if (!stream)
        return DECLINED;
    tag = http2_stream_name(r->pool, r->connection->master, stream->id, &id);
    apr_table_overlap(env, http2_variables,
                      apr_is_empty_table(env) ? APR_OVERLAP_TABLES_ADD : APR_OVERLAP_TABLES_SET);
    apr_table_setn(env, "H2_STREAM_ID", id);
    apr_table_setn(env, "H2_STREAM_TAG", tag);
    return DECLINED;
}

/* The variables above are the connection's; responses of HTTP/2 are stored apart. */
static int module_depends(request_rec *r)
{
    return BRG_CACHE_STATIC;
}

static void module_hooks(apr_pool_t *p)
{
    ap_hook_post_config(module_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_protocol_propose(propose, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_protocol_switch(take_over, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_protocol_get(spoken, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(module_fixups, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(hints_send, NULL, NULL, APR_HOOK_LAST);
    APR_REGISTER_OPTIONAL_FN(http2_is_h2);
    APR_REGISTER_OPTIONAL_FN(http2_var_lookup);
    APR_REGISTER_OPTIONAL_FN(http2_get_num_workers);
    brg_cache_declare(&http2_module, module_depends);
}

module AP_MODULE_DECLARE_DATA http2_module = {
    STANDARD20_MODULE_STUFF, h2_dir_create, h2_dir_merge, h2_server_create,
    h2_server_merge,         h2_commands,   module_hooks, AP_MODULE_FLAG_NONE};
