/* SPDX-License-Identifier: Apache-2.0 */
/* mod_logio: bytes of a request on the wire, for access logs: %I received, %O sent, %S both, %^FB
 * time to the first byte. The server counts for each connection; the bytes sent for a request are
 * those since the one before it was logged; the bytes received, from its making to that of the
 * next, since a pipelined request is read before its predecessor is logged. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_log_config.h"
#include "util_filter.h"
#include "brigade/connection.h"
#include "brigade/decimal.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include "apr_optional.h"
#include "apr_strings.h"

AP_DECLARE_MODULE(logio);

/* Of a request from the client, in its configuration vector. */
typedef struct logio_request {
    apr_off_t from, to;       /* received when it was made, and when the next was; -1: none yet */
    apr_time_t first_byte_us; /* since the request began; 0: none yet */
} logio_request;

/* Of a connection. */
typedef struct logio_conn {
    logio_request *latest;                /* NULL: it was logged */
    apr_off_t sent;                       /* when the last request was logged */
    apr_off_t added_received, added_sent; /* told by modules, since then */
    apr_off_t last_sent;                  /* bytes of the last request */
} logio_conn;

typedef struct logio_dir_conf {
    int ttfb; /* LogIOTrackTTFB; -1: not set */
} logio_dir_conf;

static ap_filter_rec_t *logio_filter_handle;

static logio_conn *logio_conn_of(conn_rec *c)
{
    logio_conn *lc = ap_get_module_config(c->conn_config, &logio_module);

    if (!lc) {
        lc = apr_pcalloc(c->pool, sizeof *lc);
        ap_set_module_config(c->conn_config, &logio_module, lc);
    }
    return lc;
}

/* The request that led to r, as it came from the client. */
static logio_request *logio_request_of(const request_rec *r)
{
    while (r->main || r->prev)
        r = r->prev ? r->prev : r->main;
    return ap_get_module_config(r->request_config, &logio_module);
}

static void logio_bytes(request_rec *r, apr_off_t *received, apr_off_t *sent)
{
    const logio_conn *lc = logio_conn_of(r->connection);
    const logio_request *lr = logio_request_of(r);

    brg_connection_octets(r->connection, received, sent);
    if (lr)
        *received = (lr->to < 0 ? *received : lr->to) - lr->from;
    *received += lc->added_received;
    *sent += lc->added_sent - lc->sent;
}

static int logio_create_request(request_rec *r)
{
    logio_conn *lc;
    logio_request *lr;
    apr_off_t sent;

    if (r->main || r->prev)
        return OK;
    lc = logio_conn_of(r->connection);
    lr = apr_pcalloc(r->pool, sizeof *lr);
    brg_connection_octets(r->connection, &lr->from, &sent);
    lr->to = -1;
    if (lc->latest)
        lc->latest->to = lr->from;
    lc->latest = lr;
    ap_set_module_config(r->request_config, &logio_module, lr);
    return OK;
}

/* ---- for modules ---- */

static void ap_logio_add_bytes_out(conn_rec *c, apr_off_t bytes)
{
    logio_conn_of(c)->added_sent += bytes;
}

static void ap_logio_add_bytes_in(conn_rec *c, apr_off_t bytes)
{
    logio_conn_of(c)->added_received += bytes;
}

static apr_off_t ap_logio_get_last_bytes(conn_rec *c)
{
    return logio_conn_of(c)->last_sent;
}

/* ---- log items ---- */

static const char *logio_text(request_rec *r, apr_off_t bytes)
{
    return apr_off_t_toa(r->pool, bytes);
}

static const char *logio_received(request_rec *r, char *arg)
{
    apr_off_t received, sent;

    logio_bytes(r, &received, &sent);
    return logio_text(r, received);
}

static const char *logio_sent(request_rec *r, char *arg)
{
    apr_off_t received, sent;

    logio_bytes(r, &received, &sent);
    return logio_text(r, sent);
}

static const char *logio_both(request_rec *r, char *arg)
{
    apr_off_t received, sent;

    logio_bytes(r, &received, &sent);
    return logio_text(r, received + sent);
}

static const char *logio_first_byte(request_rec *r, char *arg)
{
    const logio_request *lr = logio_request_of(r);

    return lr && lr->first_byte_us ? apr_psprintf(r->pool, "%" APR_TIME_T_FMT, lr->first_byte_us)
                                   : NULL;
}

static int logio_log_transaction(request_rec *r)
{
    logio_conn *lc = logio_conn_of(r->connection);
    apr_off_t received, sent;

    brg_connection_octets(r->connection, &received, &sent);
    lc->last_sent = sent + lc->added_sent - lc->sent;
    lc->sent = sent;
    if (lc->latest == logio_request_of(r))
        lc->latest = NULL;
    lc->added_received = lc->added_sent = 0;
    return OK;
}

/* ---- answers from memory ---- */

/* Bytes that modules reported have to be added: their filters are not there when a stored answer is
 * sent. */
static apr_size_t logio_stored_received(const brg_transaction *a, char *out)
{
    return brg_decimal_put(out, (apr_uint64_t)a->received);
}

static apr_size_t logio_stored_sent(const brg_transaction *a, char *out)
{
    return brg_decimal_put(out, (apr_uint64_t)a->sent);
}

static apr_size_t logio_stored_both(const brg_transaction *a, char *out)
{
    return brg_decimal_put(out, (apr_uint64_t)(a->received + a->sent));
}

/* A request before it is not logged yet, or a module told of bytes: they are the record's to count. */
static int logio_stored_ready(const brg_transaction *a)
{
    const logio_conn *lc = ap_get_module_config(a->connection->conn_config, &logio_module);

    return !lc || (!lc->latest && !lc->added_received && !lc->added_sent);
}

static void logio_stored_log(const brg_transaction *a)
{
    logio_conn *lc = ap_get_module_config(a->connection->conn_config, &logio_module);
    apr_off_t received;

    if (!lc)
        lc = logio_conn_of(a->connection);
    lc->last_sent = a->sent;
    brg_connection_octets(a->connection, &received, &lc->sent);
}

/* ---- the first byte ---- */

static apr_status_t logio_first_byte_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    logio_request *lr = f->ctx;

    if (!APR_BRIGADE_EMPTY(bb) && !lr->first_byte_us) {
        lr->first_byte_us = apr_time_now() - r->request_time;
        ap_remove_output_filter(f);
    }
    return ap_pass_brigade(f->next, bb);
}

static void logio_insert_filter(request_rec *r)
{
    const logio_dir_conf *conf = ap_get_module_config(r->per_dir_config, &logio_module);
    logio_request *lr = logio_request_of(r);

    if (conf->ttfb != 1 || r->main || !lr)
        return;
    ap_add_output_filter_handle(logio_filter_handle, lr, r, r->connection);
}

static int logio_depends(request_rec *r)
{
    const logio_dir_conf *conf = ap_get_module_config(r->per_dir_config, &logio_module);

    return conf->ttfb == 1 ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

/* ---- configuration ---- */

static void *logio_create_dir_conf(apr_pool_t *p, char *dir)
{
    logio_dir_conf *conf = apr_palloc(p, sizeof *conf);

    conf->ttfb = -1;
    return conf;
}

static void *logio_merge_dir_conf(apr_pool_t *p, void *basev, void *overv)
{
    const logio_dir_conf *over = overv;

    return over->ttfb == -1 ? basev : overv;
}

static const char *logio_set_ttfb(cmd_parms *cmd, void *confv, int on)
{
    logio_dir_conf *conf = confv;

    conf->ttfb = on;
    return NULL;
}

static const command_rec logio_commands[] = {
    AP_INIT_FLAG("LogIOTrackTTFB", logio_set_ttfb, NULL, OR_ALL,
                 "Set to 'ON' to enable tracking time to first byte"),
    {.name = NULL},
};

static const struct {
    const char *tag;
    ap_log_handler_fn_t *text;
    brg_transaction_item_fn *stored;
} logio_items[] = {
    {"I", logio_received, logio_stored_received},
    {"O", logio_sent, logio_stored_sent},
    {"S", logio_both, logio_stored_both},
    {"^FB", logio_first_byte, NULL},
};

static int logio_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    APR_OPTIONAL_FN_TYPE(ap_register_log_handler) *add =
        APR_RETRIEVE_OPTIONAL_FN(ap_register_log_handler);
    APR_OPTIONAL_FN_TYPE(brg_register_transaction_item) *add_stored =
        APR_RETRIEVE_OPTIONAL_FN(brg_register_transaction_item);

    for (size_t i = 0; add && i < sizeof logio_items / sizeof *logio_items; i++)
        add(pconf, apr_pstrdup(pconf, logio_items[i].tag), logio_items[i].text, 0);
    for (size_t i = 0; add_stored && i < sizeof logio_items / sizeof *logio_items; i++)
        if (logio_items[i].stored)
            add_stored(logio_items[i].tag, logio_items[i].stored);
    return OK;
}

static void logio_register_hooks(apr_pool_t *p)
{
    static const char *const after[] = {"mod_log_config.c", NULL};

    ap_hook_pre_config(logio_pre_config, after, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_create_request(logio_create_request, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_filter(logio_insert_filter, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_log_transaction(logio_log_transaction, after, NULL, APR_HOOK_REALLY_LAST);
    logio_filter_handle = ap_register_output_filter("LOGIO_TTFB_OUT", logio_first_byte_filter, NULL,
                                                    AP_FTYPE_RESOURCE);
    APR_REGISTER_OPTIONAL_FN(ap_logio_add_bytes_out);
    APR_REGISTER_OPTIONAL_FN(ap_logio_add_bytes_in);
    APR_REGISTER_OPTIONAL_FN(ap_logio_get_last_bytes);
    brg_cache_declare(&logio_module, logio_depends);
    brg_hooks_need_directive(&logio_module, "insert_filter", "LogIOTrackTTFB", BRG_HOOKS_BY_SERVER);
    brg_transaction_log_declare(&logio_module, logio_stored_ready, logio_stored_log);
}

module AP_MODULE_DECLARE_DATA logio_module = {
    STANDARD20_MODULE_STUFF, logio_create_dir_conf, logio_merge_dir_conf, NULL, NULL,
    logio_commands,          logio_register_hooks,  AP_MODULE_FLAG_NONE,
};
