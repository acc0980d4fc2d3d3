/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_request_id: an id for each request, the same in both logs (%L), for CGI scripts and other
 * servers, and, on demand, in the response. It is the id from a trusted client, or a new one.
 *
 * An id that is made is a UUID of version 7 (RFC 9562): it begins with the time, so ids sort by it.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(request_id);

#define ID_TEXT 37    /* a UUID, NUL included */
#define ID_ACCEPT 128 /* longest id that is taken from a client */
#define ID_FIELD "X-Request-Id"

extern module request_id_module;

typedef struct id_config {
    int on, respond;             /* -1: not set */
    const char *field;           /* NULL: not set */
    apr_array_header_t *trusted; /* of apr_ipsubnet_t *; NULL: not set */
} id_config;

static uint64_t id_secret; /* of this process */
static atomic_uint_fast64_t id_count;

static const id_config *id_config_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &request_id_module);
}

/* ---- making one ---- */

/* A permutation of 64 bits (splitmix64): successive counts give values that look like random ones, and no value twice. */
static uint64_t id_scatter(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static const char *id_make(apr_pool_t *p, apr_time_t now)
{
    const uint64_t n =
        id_scatter(id_secret + atomic_fetch_add_explicit(&id_count, 1, memory_order_relaxed));
    const uint64_t ms = (uint64_t)now / 1000 & 0xffffffffffffu;
    const uint64_t high = ms << 16 | 0x7000 | (n >> 52),
                   low = (n << 10 >> 2 & 0x3fffffffffffffffu) | 0x8000000000000000u;
    static const char hex[] = "0123456789abcdef";
    char *id = apr_palloc(p, ID_TEXT), *at = id;

    for (int i = 0; i < 32; i++) {
        const uint64_t half = i < 16 ? high : low;

        if (i == 8 || i == 12 || i == 16 || i == 20)
            *at++ = '-';
        *at++ = hex[half >> (60 - i % 16 * 4) & 15];
    }
    *at = '\0';
    BRG_ASSERT(at - id == ID_TEXT - 1);
    return id;
}

/* ---- taking one ---- */

static int id_is_trusted(const id_config *conf, const conn_rec *c)
{
    for (int i = 0; conf->trusted && c->client_addr && i < conf->trusted->nelts; i++)
        if (apr_ipsubnet_test(APR_ARRAY_IDX(conf->trusted, i, apr_ipsubnet_t *), c->client_addr))
            return 1;
    return 0;
}

/* An id that may go into logs, fields and environments as it is. */
static int id_is_sound(const char *id)
{
    apr_size_t n = 0;

    for (; id[n]; n++)
        if (n == ID_ACCEPT || !(apr_isalnum(id[n]) || strchr("-._~+/=:@", id[n])))
            return 0;
    return n > 0;
}

static const char *id_of(request_rec *r, const id_config *conf)
{
    const char *sent = r->headers_in ? apr_table_get(r->headers_in, conf->field) : NULL;

    return sent && id_is_sound(sent) && id_is_trusted(conf, r->connection)
               ? sent
               : id_make(r->pool, r->request_time);
}

/* ---- hooks ---- */

/* Also where a message comes before post_read_request. */
static int id_generate(const conn_rec *c, const request_rec *r, const char **id)
{
    const id_config *conf = r ? id_config_of(r->server) : NULL;

    if (!conf || conf->on != 1)
        return DECLINED;
    *id = id_of((request_rec *)(uintptr_t)r, conf);
    return OK;
}

static int id_post_read(request_rec *r)
{
    const id_config *conf = id_config_of(r->server);

    if (conf->on != 1 || r->prev || r->main)
        return DECLINED;
    if (!r->log_id)
        r->log_id = id_of(r, conf);
    brg_cache_each_time(r);
    apr_table_setn(r->headers_in, conf->field, r->log_id);
    if (conf->respond == 1)
        apr_table_setn(r->err_headers_out, conf->field, r->log_id);
    return DECLINED;
}

static int id_depends(request_rec *r)
{
    const id_config *conf = id_config_of(r->server);

    return conf->on == 1 && conf->respond == 1 ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

static int id_is_off_for(const brg_transaction *a)
{
    return id_config_of(a->server)->on != 1;
}

static int id_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int used = 0;

    for (; s; s = s->next) {
        id_config *conf = ap_get_module_config(s->module_config, &request_id_module);

        if (!conf->field)
            conf->field = ID_FIELD;
        if (conf->on != 1)
            continue;
        used = 1;
        brg_cache_changes_field(&request_id_module, pconf, conf->field);
    }
    if (used)
        brg_transaction_observe(&request_id_module, id_is_off_for);
    return OK;
}

static void id_child_init(apr_pool_t *p, server_rec *s)
{
    apr_status_t rv = apr_generate_random_bytes((unsigned char *)&id_secret, sizeof id_secret);

    if (rv == APR_SUCCESS)
        return;
    ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s,
                 "no random bytes for request ids: they are made of time and process");
    id_secret = id_scatter((uint64_t)apr_time_now()) ^ (uint64_t)getpid();
}

/* ---- configuration ---- */

static void *id_create(apr_pool_t *p, server_rec *s)
{
    id_config *conf = apr_pcalloc(p, sizeof *conf);

    conf->on = conf->respond = -1;
    return conf;
}

static void *id_merge(apr_pool_t *p, void *basev, void *addv)
{
    const id_config *base = basev, *add = addv;
    id_config *conf = apr_pmemdup(p, add, sizeof *add);

    conf->on = add->on >= 0 ? add->on : base->on;
    conf->respond = add->respond >= 0 ? add->respond : base->respond;
    conf->field = add->field ? add->field : base->field;
    conf->trusted = add->trusted ? add->trusted : base->trusted;
    return conf;
}

static id_config *id_config_for(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &request_id_module);
}

static const char *id_cmd_on(cmd_parms *cmd, void *dummy, int flag)
{
    id_config_for(cmd)->on = flag;
    return NULL;
}

static const char *id_cmd_respond(cmd_parms *cmd, void *dummy, int flag)
{
    id_config_for(cmd)->respond = flag;
    return NULL;
}

static const char *id_cmd_field(cmd_parms *cmd, void *dummy, const char *name)
{
    for (const char *s = name; *s; s++)
        if (!apr_isalnum(*s) && *s != '-')
            return "RequestIdHeader takes the name of a field: letters, digits and hyphens";
    id_config_for(cmd)->field = name;
    return *name ? NULL : "RequestIdHeader takes the name of a field";
}

static const char *id_cmd_trust(cmd_parms *cmd, void *dummy, const char *where)
{
    id_config *conf = id_config_for(cmd);
    char *address = apr_pstrdup(cmd->pool, where), *mask = strchr(address, '/');
    apr_ipsubnet_t *net;
    apr_status_t rv;

    if (mask)
        *mask++ = '\0';
    rv = apr_ipsubnet_create(&net, address, mask, cmd->pool);
    if (rv != APR_SUCCESS)
        return apr_psprintf(
            cmd->pool,
            "RequestIdTrust: %s is no address, and no network such as 10.0.0.0/8 or fd00::/8",
            where);
    if (!conf->trusted)
        conf->trusted = apr_array_make(cmd->pool, 4, sizeof net);
    APR_ARRAY_PUSH(conf->trusted, apr_ipsubnet_t *) = net;
    return NULL;
}

static const command_rec id_directives[] = {
    AP_INIT_FLAG("RequestId", id_cmd_on, NULL, RSRC_CONF,
                 "whether each request has an id, which %L of both logs shows and scripts and "
                 "other servers get"),
    AP_INIT_FLAG("RequestIdResponse", id_cmd_respond, NULL, RSRC_CONF,
                 "whether responses have the id, too: none of them is answered from memory then"),
    AP_INIT_TAKE1("RequestIdHeader", id_cmd_field, NULL, RSRC_CONF,
                  "the field that has the id: X-Request-Id"),
    AP_INIT_ITERATE("RequestIdTrust", id_cmd_trust, NULL, RSRC_CONF,
                    "addresses and networks of clients whose ids are taken"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

static void id_register_hooks(apr_pool_t *p)
{
    ap_hook_generate_log_id(id_generate, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(id_post_read, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_post_config(id_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(id_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&request_id_module, id_depends);
    brg_hooks_need_directive(&request_id_module, "post_read_request", NULL, BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA request_id_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, id_create, id_merge, id_directives, id_register_hooks, 0,
};
