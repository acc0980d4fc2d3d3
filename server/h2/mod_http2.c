/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in http2 module: settings, which connections speak HTTP/2, and what modules and scripts may ask. */
#include "h2_private.h"
#include "connection.h"
#include "core_settings.h"
#include "ap_mpm.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_http2.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"
#include <string.h>

AP_DECLARE_MODULE(http2);

#define UNSET (-1)
#define DEFAULT_STREAMS 100
#define DEFAULT_MEMORY 65536
#define DEFAULT_BLOCK 65536
#define DEFAULT_ERRORS 8

/* ---- settings ---- */

static void *server_create(apr_pool_t *p, server_rec *s)
{
    h2_server_conf *sc = apr_palloc(p, sizeof *sc);

    *sc = (h2_server_conf){UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET};
    return sc;
}

#define MERGE(field)        \
    if (sc->field == UNSET) \
        sc->field = base->field;

static void *server_merge(apr_pool_t *p, void *basev, void *addv)
{
    const h2_server_conf *base = basev;
    h2_server_conf *sc = apr_pmemdup(p, addv, sizeof *sc);

    MERGE(max_streams);
    MERGE(window);
    MERGE(max_errors);
    MERGE(max_memory);
    MERGE(max_block);
    MERGE(direct);
    MERGE(early_hints);
    MERGE(max_frame);
    return sc;
}

static int conf_value(int value, int without)
{
    return value == UNSET ? without : value;
}

void h2_conf_of(const server_rec *s, h2_server_conf *out)
{
    const h2_server_conf *sc = ap_get_module_config(s->module_config, &http2_module);

    BRG_ASSERT(sc != NULL);
    out->max_streams = conf_value(sc->max_streams, DEFAULT_STREAMS);
    out->window = conf_value(sc->window, H2_WINDOW_DEFAULT);
    out->max_errors = conf_value(sc->max_errors, DEFAULT_ERRORS);
    out->max_memory = conf_value(sc->max_memory, DEFAULT_MEMORY);
    out->max_block = conf_value(sc->max_block, DEFAULT_BLOCK);
    out->direct = sc->direct;
    out->early_hints = conf_value(sc->early_hints, 0);
    out->max_frame = conf_value(sc->max_frame, 0);
}

/* ---- directives ---- */

static h2_server_conf *cmd_conf(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &http2_module);
}

/* cmd->info: where in the settings. */
static const char *set_flag(cmd_parms *cmd, void *unused, int on)
{
    *(int *)((char *)cmd_conf(cmd) + (size_t)(uintptr_t)cmd->info) = on;
    return NULL;
}

typedef struct number_rule {
    size_t at;
    int least, most;
} number_rule;

static const char *set_number(cmd_parms *cmd, void *unused, const char *arg)
{
    const number_rule *rule = cmd->info;
    char *end;
    apr_int64_t n = apr_strtoi64(arg, &end, 10);

    if (end == arg || *end || n < rule->least || n > rule->most)
        return apr_psprintf(cmd->pool, "%s must be a number from %d to %d", cmd->cmd->name,
                            rule->least, rule->most);
    *(int *)((char *)cmd_conf(cmd) + rule->at) = (int)n;
    return NULL;
}

/* What has another shape here: cmd->info says which. */
static const char *set_notice(cmd_parms *cmd, void *unused, const char *args)
{
    ap_log_error(APLOG_MARK, APLOG_NOTICE | APLOG_STARTUP, 0, cmd->server, "%s has no effect: %s",
                 cmd->cmd->name, (const char *)cmd->info);
    return NULL;
}

static const char *set_off(cmd_parms *cmd, void *unused, int on)
{
    return on ? apr_pstrcat(cmd->pool, cmd->cmd->name,
                            " on: the built-in http2 module does not do that (", cmd->info,
                            "); LoadModule http2_module without BuiltinModule takes Apache's", NULL)
              : NULL;
}

static const char *set_refused(cmd_parms *cmd, void *unused, const char *args)
{
    return apr_pstrcat(cmd->pool, cmd->cmd->name,
                       ": the built-in http2 module does not do that; LoadModule http2_module "
                       "without BuiltinModule takes Apache's",
                       NULL);
}

#define AT(field) offsetof(h2_server_conf, field)
static const number_rule rule_streams = {AT(max_streams), 1, 100000},
                         rule_window = {AT(window), 1024, H2_WINDOW_MAX / 2},
                         rule_memory = {AT(max_memory), 1024, 1 << 30},
                         rule_block = {AT(max_block), 1024, 1 << 20},
                         rule_errors = {AT(max_errors), 0, 1 << 20},
                         rule_frame = {AT(max_frame), 0, 1 << 24};

#define NUMBER(name, rule, text) \
    AP_INIT_TAKE1(name, set_number, (void *)(uintptr_t) & (rule), RSRC_CONF, text)
#define NOTICE(name, why) \
    AP_INIT_RAW_ARGS(name, set_notice, (void *)(uintptr_t)(why), RSRC_CONF, why)
#define OFF(name, what) \
    AP_INIT_FLAG(name, set_off, (void *)(uintptr_t)(what), RSRC_CONF, "off: " what " is not done")
#define REFUSED(name) AP_INIT_RAW_ARGS(name, set_refused, NULL, RSRC_CONF, "not done")

static const char no_push[] = "browsers take no pushed responses, and none are sent";
static const char no_workers[] =
    "streams run on the event loops and their workers (ThreadsPerChild)";
static const char no_warm_up[] = "TLS records are short after each pause";
static const char no_copies[] = "files are never copied";

static const command_rec commands[] = {
    AP_INIT_FLAG("H2Direct", set_flag, (void *)AT(direct), RSRC_CONF,
                 "on: HTTP/2 is taken from clients that begin with its preface; default: on where "
                 "Protocols has h2c, else off"),
    AP_INIT_FLAG("H2EarlyHints", set_flag, (void *)AT(early_hints), RSRC_CONF,
                 "on: interim responses 103 are sent; default: off"),
    NUMBER("H2MaxSessionStreams", rule_streams, "open streams of a connection"),
    NUMBER("H2WindowSize", rule_window, "bytes of a request's body that wait to be read"),
    NUMBER("H2StreamMaxMemSize", rule_memory, "bytes of a response that wait for the client"),
    NUMBER("H2MaxHeaderBlockLen", rule_block, "bytes of a request's field block"),
    NUMBER("H2MaxStreamErrors", rule_errors,
           "faults of a client that are forgiven; each completed response makes up for one"),
    NUMBER("H2MaxDataFrameLen", rule_frame, "bytes of data in a frame; 0: as many as fit"),
    OFF("H2Upgrade", "the change from HTTP/1.1 by an Upgrade field"),
    OFF("H2ModernTLSOnly", "a look at the cipher"),
    OFF("H2ProxyRequests", "a forward proxy over HTTP/2"),
    OFF("H2WebSockets", "the extended CONNECT"),
    OFF("H2SerializeHeaders", "a request head as text"),
    NOTICE("H2Push", no_push),
    NOTICE("H2PushPriority", no_push),
    NOTICE("H2PushDiarySize", no_push),
    AP_INIT_RAW_ARGS("H2PushResource", set_notice, (void *)(uintptr_t)no_push, OR_FILEINFO,
                     no_push),
    NOTICE("H2MinWorkers", no_workers),
    NOTICE("H2MaxWorkers", no_workers),
    NOTICE("H2MaxWorkerIdleSeconds", no_workers),
    NOTICE("H2TLSWarmUpSize", no_warm_up),
    NOTICE("H2TLSCoolDownSecs", no_warm_up),
    AP_INIT_RAW_ARGS("H2CopyFiles", set_notice, (void *)(uintptr_t)no_copies, OR_FILEINFO,
                     no_copies),
    REFUSED("H2Padding"),
    REFUSED("H2OutputBuffering"),
    REFUSED("H2StreamTimeout"),
    AP_INIT_RAW_ARGS("H2EarlyHint", set_refused, NULL, OR_FILEINFO, "not done"),
    {.name = NULL}};

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

    if (len < 4 || memcmp(in, "PRI ", 4) || bc->loop->prefork || !server_speaks(bc->base, name))
        return 0;
    h2_conf_of(bc->base, &conf);
    return conf.direct == UNSET ? !bc->transport : conf.direct;
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

static const conn_protocol protocol = {
    .name = "h2", .driver = &h2_driver, .claims = protocol_claims, .chosen = protocol_chosen};

static int propose(conn_rec *c, request_rec *r, server_rec *s, const apr_array_header_t *offers,
                   apr_array_header_t *proposals)
{
    if (r || !offers || !conn_protocol_of() || list_index(offers, "h2") < 0)
        return DECLINED;
    APR_ARRAY_PUSH(proposals, const char *) = "h2";
    return OK;
}

/* The transport below goes on with it. */
static int take_over(conn_rec *c, request_rec *r, server_rec *s, const char *name)
{
    return !r && conn_protocol_of() && !strcmp(name, "h2") ? OK : DECLINED;
}

static const char *spoken(const conn_rec *c)
{
    const brg_conn *bc = connection_of((conn_rec *)(uintptr_t)c);

    if (!bc || !bc->http2)
        return NULL;
    return (bc->master ? bc->master : bc)->transport ? "h2" : "h2c";
}

static apr_status_t protocol_unset(void *unused)
{
    conn_protocol_set(NULL);
    return APR_SUCCESS;
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
    conn_protocol_set(wanted ? &protocol : NULL);
    return OK;
}

/* ---- what may be asked ---- */

static const h2_stream *stream_of(const conn_rec *c)
{
    const brg_conn *bc = connection_of((conn_rec *)(uintptr_t)c);

    return bc && bc->master && bc->http2 ? bc->below : NULL;
}

static int http2_is_h2(conn_rec *c)
{
    return spoken(c) != NULL;
}

static char *http2_var_lookup(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r, char *name)
{
    const h2_stream *stream = c ? stream_of(c) : NULL;

    if (!strcmp(name, "HTTP2"))
        return (char *)(uintptr_t)(c && http2_is_h2(c) ? "on" : "off");
    if (!strcmp(name, "H2PUSH") || !strcmp(name, "H2_PUSH"))
        return (char *)(uintptr_t)(c && http2_is_h2(c) ? "off" : "");
    if (stream && !strcmp(name, "H2_STREAM_ID"))
        return apr_psprintf(p, "%u", (unsigned)stream->id);
    if (stream && !strcmp(name, "H2_STREAM_TAG"))
        return apr_psprintf(p, "%ld-%u", c->master->id, (unsigned)stream->id);
    return (char *)(uintptr_t) "";
}

static void http2_get_num_workers(server_rec *s, int *least, int *most)
{
    *least = 0;
    if (ap_mpm_query(AP_MPMQ_MAX_THREADS, most) != APR_SUCCESS)
        *most = 0;
}

static int module_fixups(request_rec *r)
{
    static const char *const names[] = {"HTTP2", "H2PUSH", "H2_PUSH", "H2_STREAM_ID",
                                        "H2_STREAM_TAG"};

    if (!stream_of(r->connection))
        return DECLINED;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        apr_table_setn(
            r->subprocess_env, names[i],
            http2_var_lookup(r->pool, r->server, r->connection, r, (char *)(uintptr_t)names[i]));
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
    APR_REGISTER_OPTIONAL_FN(http2_is_h2);
    APR_REGISTER_OPTIONAL_FN(http2_var_lookup);
    APR_REGISTER_OPTIONAL_FN(http2_get_num_workers);
    brg_cache_declare(&http2_module, module_depends);
}

module AP_MODULE_DECLARE_DATA http2_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, server_create, server_merge, commands, module_hooks,
    AP_MODULE_FLAG_NONE};
