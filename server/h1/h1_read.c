/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of connections whose input passes filters of modules: heads are read line by line
 * through those filters on a worker, and the connection is driven by the plain loop of
 * h1_process_connection().
 */
#include "connection.h"
#include "h1_conn_private.h"
#include "conn.h"
#include "memory_refusal.h"
#include "h1_request.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_protocol.h"
#include "http_request.h"
#include "request_parts.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(core);

#define READ_FIRST_BYTES 4096

typedef struct head_reader {
    conn_rec *c;
    apr_pool_t *p;
    apr_bucket_brigade *bb;
    http_head *head;
    h1_limits limits;
    char *buf;
    size_t len, cap, scanned;
} head_reader;

static void reader_append(head_reader *rd, const char *data, apr_size_t len)
{
    BRG_ASSERT(rd->len <= rd->cap);
    if (rd->len + len > rd->cap) {
        const size_t cap = 2 * (rd->len + len);
        char *bigger = apr_palloc(rd->p, cap);

        memcpy(bigger, rd->buf, rd->len);
        brg_buffer_grown(rd->len);
        rd->buf = bigger;
        rd->cap = cap;
    }
    memcpy(rd->buf + rd->len, data, len);
    brg_buffer_copied(len);
    rd->len += len;
}

/* Take the chain's bytes. GETLINE ends with a line, so nothing behind the head is taken. */
static apr_status_t reader_take(head_reader *rd)
{
    apr_status_t rv = APR_SUCCESS;
    size_t before = rd->len;

    BRG_ASSERT(rd->bb && rd->scanned <= rd->len);
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(rd->bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(rd->bb);
        const char *data;
        apr_size_t len = 0;

        if (APR_BUCKET_IS_EOS(e))
            rv = APR_EOF;
        else if (!APR_BUCKET_IS_METADATA(e))
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS && len)
            reader_append(rd, data, len);
        apr_bucket_delete(e);
    }
    apr_brigade_cleanup(rd->bb);
    return rv == APR_SUCCESS && rd->len == before ? APR_EOF : rv;
}

/* Keep-alive time applies until the next request begins, Timeout from then on. */
static void reader_set_timeout(conn_rec *c, apr_interval_time_t timeout)
{
    apr_socket_t *csd = ap_get_conn_socket(c);

    if (csd)
        apr_socket_timeout_set(csd, timeout);
}

static h1_result reader_run(head_reader *rd, apr_status_t *rv)
{
    h1_result res = H1_MORE;

    while (res == H1_MORE) {
        const int first = rd->len == 0;

        *rv = ap_get_brigade(rd->c->input_filters, rd->bb, AP_MODE_GETLINE, APR_BLOCK_READ, 0);
        if (*rv == APR_SUCCESS)
            *rv = reader_take(rd);
        if (*rv != APR_SUCCESS)
            return H1_MORE;
        if (first)
            reader_set_timeout(rd->c, rd->c->base_server->timeout);
        res = h1_parse(rd->head, rd->buf, rd->len, &rd->scanned, &rd->limits);
    }
    return res;
}

/* Read the next request of a connection through its input filters.
 * @return the request (r->status as request_create() sets it), or NULL: nothing more comes
 * Threads: a worker. Blocking: yes. */
static request_rec *h1_read_request(conn_rec *c)
{
    head_reader rd = {.c = c, .cap = READ_FIRST_BYTES};
    request_rec *r = NULL;
    apr_status_t rv;

    BRG_ASSERT(c->pool && c->bucket_alloc && !conn_on_loop());
    apr_pool_create(&rd.p, c->pool);
    rd.bb = apr_brigade_create(rd.p, c->bucket_alloc);
    rd.head = apr_palloc(rd.p, sizeof(*rd.head));
    rd.buf = apr_palloc(rd.p, rd.cap);
    h1_limits_of(c->base_server, &rd.limits);
    if (reader_run(&rd, &rv) != H1_MORE) {
        r = request_create(c, rd.head);
    } else if (APR_STATUS_IS_TIMEUP(rv) && rd.len && rd.head->line) {
        rd.head->status = HTTP_REQUEST_TIME_OUT;
        rd.head->why = "timeout while the request head was read";
        r = request_create(c, rd.head);
    }
    apr_brigade_destroy(rd.bb);
    apr_pool_destroy(rd.p);
    return r;
}

request_rec *ap_read_request(conn_rec *c)
{
    request_rec *r = h1_read_request(c);
    int status;

    if (!r)
        return NULL;
    status = r->status != HTTP_OK ? r->status : ap_post_read_request(r);
    if (status != OK) {
        request_finish(r, status);
        return NULL;
    }
    return r;
}

static void connection_flush(conn_rec *c)
{
    apr_bucket_brigade *bb = apr_brigade_create(c->pool, c->bucket_alloc);

    BRG_ASSERT(c->output_filters != NULL);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    ap_pass_brigade(c->output_filters, bb);
    apr_brigade_destroy(bb);
}

/* 1: the next request is here already, in a filter or on the socket. */
static int connection_has_input(conn_rec *c)
{
    apr_bucket_brigade *bb = apr_brigade_create(c->pool, c->bucket_alloc);
    int has = ap_check_pipeline(c, bb, DEFAULT_LIMIT_BLANK_LINES) == APR_SUCCESS;

    apr_brigade_destroy(bb);
    return has;
}

/* process_connection hook: drive c through its filters until it ends. Threads: a worker. Blocking:
 * yes. */
static int h1_process_connection(conn_rec *c)
{
    brg_conn *bc = connection_of(c);
    request_rec *r;

    BRG_ASSERT(!conn_on_loop());
    if (bc && bc->module_driven && h1_module_driven_is_others(bc))
        return OK;
    c->keepalive = AP_CONN_UNKNOWN;
    while ((r = h1_read_request(c)) != NULL) {
        const int status = r->status != HTTP_OK ? r->status : request_phases(r);

        request_finish(r, status);
        connection_flush(c);
        if (c->keepalive != AP_CONN_KEEPALIVE || c->aborted)
            break;
        if (bc && !connection_has_input(c)) {
            c->cs->state = CONN_STATE_KEEPALIVE; /* the loop waits for the next request */
            return OK;
        }
        c->keepalive = AP_CONN_UNKNOWN;
        reader_set_timeout(c, c->base_server->keep_alive_timeout);
    }
    if (c->cs)
        c->cs->state = CONN_STATE_LINGER;
    return OK;
}

void h1_register_hooks(apr_pool_t *p)
{
    ap_hook_process_connection(h1_process_connection, NULL, NULL, APR_HOOK_REALLY_LAST);
    memory_refusal_asks(h1_body_is_over);
}
