/* SPDX-License-Identifier: Apache-2.0 */
/* Access logs and other log_transaction hooks see remembered answers too: a request_rec is made for
 * them from the head and from what was kept of the request that filled the entry. */
#include "connection.h"
#include "cache_private.h"
#include "placement.h"
#include "request_parts.h"
#include "http_config.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

struct cache_observed {
    apr_pool_t *pool;
    apr_table_t *headers_out, *env, *notes;
    const char *filename, *handler, *content_type, *uri, *args;
    apr_finfo_t finfo;
};

static apr_table_t *observe_copy(apr_pool_t *p, const apr_table_t *t)
{
    const apr_array_header_t *from = apr_table_elts(t);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)from->elts;
    apr_table_t *copy = apr_table_make(p, from->nelts + 1);

    for (int i = 0; i < from->nelts; i++)
        apr_table_add(copy, e[i].key, e[i].val);
    return copy;
}

int cache_observe_keep(cache_entry *e, request_rec *r)
{
    struct cache_observed *o;
    apr_pool_t *pool;

    if (apr_pool_create_unmanaged_ex(&pool, NULL, NULL) != APR_SUCCESS)
        return -1;
    o = apr_pcalloc(pool, sizeof *o);
    o->pool = pool;
    o->headers_out = observe_copy(pool, r->headers_out);
    apr_table_unset(o->headers_out, "Connection");
    apr_table_unset(o->headers_out, "Keep-Alive");
    o->env = observe_copy(pool, r->subprocess_env);
    o->notes = observe_copy(pool, r->notes);
    o->filename = apr_pstrdup(pool, r->filename);
    o->handler = apr_pstrdup(pool, r->handler);
    o->content_type = apr_pstrdup(pool, r->content_type);
    o->uri = apr_pstrdup(pool, r->uri);
    o->args = apr_pstrdup(pool, r->args);
    o->finfo = r->finfo;
    e->log = o;
    return 0;
}

void cache_observe_drop(cache_entry *e)
{
    if (e->log)
        apr_pool_destroy(e->log->pool);
    e->log = NULL;
}

static void observe_dated(request_rec *r, const http_answer *answer)
{
    char *date = apr_palloc(r->pool, APR_RFC822_DATE_LEN);

    apr_rfc822_date(date, r->request_time + answer->dated_after);
    apr_table_setn(r->headers_out, answer->dated_name, date);
}

/* The entry is held while r lives, so r may point into it. */
static void observe_fill(request_rec *r, const cache_entry *e, int status, apr_off_t body_sent)
{
    const struct cache_observed *o = e->log;

    r->status = status;
    r->status_line = ap_get_status_line(status);
    r->filename = (char *)(uintptr_t)o->filename;
    r->canonical_filename = r->filename;
    r->handler = o->handler;
    r->content_type = o->content_type;
    r->uri = (char *)(uintptr_t)o->uri;
    r->args = (char *)(uintptr_t)o->args;
    r->finfo = o->finfo;
    r->mtime = e->mtime;
    r->bytes_sent = body_sent;
    r->clength = body_sent;
    r->sent_bodyct = 1;
    r->headers_out = apr_table_copy(r->pool, o->headers_out);
    if (e->head.answer->dated_name)
        observe_dated(r, e->head.answer);
    apr_table_overlap(r->subprocess_env, o->env, APR_OVERLAP_TABLES_SET);
    apr_table_overlap(r->notes, o->notes, APR_OVERLAP_TABLES_SET);
}

void cache_observe(cache_entry *e, brg_conn *bc, const http_head *head, int status,
                   size_t head_sent, apr_off_t body_sent)
{
    request_rec *r;

    if (!bc->c && connection_attach(bc) != APR_SUCCESS)
        return; /* the answer stands; there is just no memory to log it with */
    bc->c->keepalives = (int)bc->requests + (bc->close_after == CONN_KEEP);
    r = request_create(bc->c, head);
    cache_hold(e);
    observe_fill(r, e, status, body_sent);
    bc->c->keepalive = bc->close_after == CONN_KEEP ? AP_CONN_KEEPALIVE : AP_CONN_CLOSE;
    policy_observe(r);
    core_output_add_bytes(bc, (apr_off_t)head_sent + body_sent);
    bc->consumed += head->head_len; /* as if it were taken already, which the caller does next */
    ap_run_log_transaction(r);
    bc->consumed -= head->head_len;
    apr_pool_destroy(r->pool);
    cache_release(e);
}
