/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CORE_IN: the bottom of every connection's input chain.
 *
 * Bytes come from one of two sources. On our own sockets it is the buffer of the brg_conn, so that
 * the connection driver, which parses request heads in place, and the filters always agree about
 * the position of the input: bytes that a filter did not ask for stay in the buffer. On all other
 * connections (to back ends, or where a module put a network bucket of its own) it is a brigade.
 * core_input_peek and core_input_consume hide the difference; each mode is written once on top of
 * them.
 *
 * At the end of the input every mode answers APR_EOF, never an EOS bucket: EOS is the protocol's to
 * say.
 */
#include "connection.h"
#include "loop.h"
#include "brigade/assert.h"
#include "clock.h"

#include "http_config.h"
#include "http_log.h"
#include "brigade/read_timeout.h"

#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(core);

/* Bytes: a shorter piece is copied, and the buffer stays free for more. */
#define CORE_INPUT_COPIED 1024

/* Bytes: a longer line is handed on in pieces, as APR's line splitter does. */
#define CORE_INPUT_LINE_MAX 8192

/* Tells a context of ours from a core_net_rec, which has a pointer to its socket there. */
static const char core_input_tag;

struct core_input {
    const void *tag;
    conn_rec *c;
    brg_conn *bc; /* NULL: bb is the source */
    apr_socket_t *csd;
    apr_bucket_brigade *bb;
    /* owns the buffer of bc while buckets refer to it (brg_conn.input.shared), or NULL */
    apr_bucket *whole;
    int cleaned; /* core_input_end() is registered */
    /* RequestReadTimeout body=, counted anew for each request. */
    brg_read_timeout limit;
    apr_time_t started, deadline;
    uint32_t request; /* bc->requests + 1 that started belongs to; 0 = none yet */
    uint32_t late;    /* likewise, of the request that waited beyond deadline; 0 = none */
};

AP_DECLARE_DATA ap_filter_rec_t *ap_core_input_filter_handle;

static APR_OPTIONAL_FN_TYPE(brg_read_timeouts_of) * core_input_timeouts;

struct core_input *core_input_create(conn_rec *c, brg_conn *bc, apr_socket_t *csd)
{
    struct core_input *in = apr_pcalloc(c->pool, sizeof *in);

    in->tag = &core_input_tag;
    in->c = c;
    in->bc = bc;
    in->csd = csd;
    return in;
}

/* A module that makes connections all by itself (mod_wsgi's daemons) adds the filter as Apache's
 * core does. */
static struct core_input *core_input_of(ap_filter_t *f)
{
    const core_net_rec *net = f->ctx;

    if (((struct core_input *)f->ctx)->tag != &core_input_tag)
        f->ctx = core_input_create(net->c, NULL, net->client_socket);
    return f->ctx;
}

apr_status_t core_input_insert_network_bucket(conn_rec *c, apr_bucket_brigade *bb,
                                              apr_socket_t *csd)
{
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_socket_create(csd, bb->bucket_alloc));
    return APR_SUCCESS;
}

/* A module may supply the network bucket itself; then the connection's buffer has only the bytes
 * before it. */
static int core_input_source_is_hooked(void)
{
    apr_array_header_t *hooks = ap_hook_get_insert_network_bucket();
    return hooks && hooks->nelts > 1;
}

static apr_status_t core_input_open_brigade(struct core_input *in)
{
    BRG_ASSERT(!in->bb);
    in->bb = apr_brigade_create(in->c->pool, in->c->bucket_alloc);
    if (in->bc && conn_in_size(in->bc)) {
        apr_size_t n = conn_in_size(in->bc);
        apr_brigade_write(in->bb, NULL, NULL, in->bc->input.at + in->bc->input.off, n);
        conn_in_consume(in->bc, n);
    }
    if (in->bc && in->bc->input.shared)
        conn_in_unshare(in->bc);
    in->bc = NULL;
    return ap_run_insert_network_bucket(in->c, in->bb, in->csd);
}

/* ---- time ---- */

static apr_interval_time_t core_input_rate_window(const struct core_input *in)
{
    const brg_read_timeout *l = &in->limit;
    return l->max_us > l->first_us ? l->max_us : 0;
}

static void core_input_start_clock(struct core_input *in, apr_time_t now)
{
    brg_read_timeouts all;

    BRG_ASSERT(in->bc != NULL);
    if (!core_input_timeouts || in->request == in->bc->requests + 1)
        return;
    memset(&all, 0, sizeof all);
    core_input_timeouts(in->c->base_server, &all);
    in->request = in->bc->requests + 1;
    in->limit = all.body;
    in->started = now;
    in->deadline = in->started + in->limit.first_us;
}

/* Progress buys time: min_rate bytes are worth one second, up to max_us in all. */
static void core_input_progress(struct core_input *in, apr_size_t n)
{
    apr_interval_time_t window = core_input_rate_window(in);

    if (!in->limit.first_us || !in->limit.min_rate)
        return;
    in->deadline += (apr_interval_time_t)n * APR_USEC_PER_SEC / in->limit.min_rate;
    if (window && in->deadline > in->started + window)
        in->deadline = in->started + window;
}

void connection_log_late(brg_conn *bc, const char *stage)
{
    const module *m = ap_find_linked_module("mod_reqtimeout.c");
    const int index = m ? m->module_index : APLOG_MODULE_INDEX;
    server_rec *s = bc->base;

    if (bc->c)
        ap_log_cerror(__FILE__, __LINE__, index, APLOG_INFO, 0, bc->c,
                      APLOGNO(01382) "Request %s read timeout", stage);
    else if (APLOG_MODULE_IS_LEVEL(s, index, APLOG_INFO))
        ap_log_error(__FILE__, __LINE__, index, APLOG_INFO, 0, s,
                     APLOGNO(01382) "Request %s read timeout", stage);
}

static apr_status_t core_input_read(struct core_input *in, apr_read_type_e block)
{
    apr_interval_time_t timeout = connection_timeout(in->c);
    int limited = 0;
    apr_status_t rv;

    BRG_ASSERT_TAG(in->bc, CONN_TAG);
    BRG_ASSERT(!conn_in_size(in->bc));
    if (block == APR_BLOCK_READ) {
        const apr_time_t now = clock_monotonic();

        core_input_start_clock(in, now);
        if (in->limit.first_us) {
            apr_interval_time_t left = in->deadline - now;
            if (left <= 0)
                left = 0;
            limited = timeout < 0 || left < timeout;
            if (limited)
                timeout = left;
        }
    }
    rv = conn_read(in->bc, block, timeout);
    if (APR_STATUS_IS_EAGAIN(rv) && in->late == in->bc->requests + 1) {
        rv = APR_TIMEUP;
        limited = 1;
    }
    if (limited && APR_STATUS_IS_TIMEUP(rv))
        connection_log_late(in->bc, "body");
    return rv;
}

apr_time_t core_input_body_due(struct core_input *in, apr_time_t now)
{
    BRG_ASSERT(conn_on_loop());
    if (!in->bc) /* a module reads the socket */
        return 0;
    core_input_start_clock(in, now);
    return in->limit.first_us ? in->deadline : 0;
}

void core_input_body_late(struct core_input *in)
{
    BRG_ASSERT(in->bc && in->limit.first_us);
    in->late = in->bc->requests + 1;
}

/* ---- the two sources ---- */

static apr_status_t core_input_peek_brigade(struct core_input *in, apr_read_type_e block,
                                            const char **data, apr_size_t *len)
{
    while (!APR_BRIGADE_EMPTY(in->bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(in->bb);
        apr_status_t rv;

        if (APR_BUCKET_IS_EOS(e))
            return APR_EOF;
        rv = apr_bucket_read(e, data, len, block);
        if (rv != APR_SUCCESS || *len)
            return rv;
        apr_bucket_delete(e);
    }
    return APR_EOF;
}

/* At least one byte of input, left where it is. */
static apr_status_t core_input_peek(struct core_input *in, apr_read_type_e block, const char **data,
                                    apr_size_t *len)
{
    apr_status_t rv = APR_SUCCESS;

    if (!in->bc)
        return core_input_peek_brigade(in, block, data, len);
    if (!conn_in_size(in->bc))
        rv = core_input_read(in, block);
    if (rv != APR_SUCCESS)
        return rv;
    *data = in->bc->input.at + in->bc->input.off;
    *len = conn_in_size(in->bc);
    return APR_SUCCESS;
}

/* Drop n bytes that peek showed. */
static void core_input_consume(struct core_input *in, apr_size_t n)
{
    if (in->bc && conn_on_loop())
        core_input_start_clock(in, in->bc->loop->monotonic);
    core_input_progress(in, n);
    if (in->bc) {
        BRG_ASSERT(n <= conn_in_size(in->bc));
        conn_in_consume(in->bc, n);
        return;
    }
    apr_bucket *e = APR_BRIGADE_FIRST(in->bb);
    if (n < e->length)
        apr_bucket_split(e, n);
    apr_bucket_delete(e);
}

/* ---- buckets that refer to the buffer ---- */

static void core_input_unshare(struct core_input *in)
{
    if (in->whole)
        apr_bucket_destroy(in->whole);
    in->whole = NULL;
}

/* Before the end of the bucket allocator. */
static apr_status_t core_input_end(void *data)
{
    struct core_input *in = data;

    if (in->whole && in->bc && in->bc->input.shared)
        conn_in_unshare(in->bc);
    core_input_unshare(in);
    return APR_SUCCESS;
}

void core_input_idle(struct core_input *in)
{
    if (!in->bc || !in->bc->input.shared)
        core_input_unshare(in);
}

/* 1: in->whole is the connection's buffer. */
static int core_input_share(struct core_input *in, apr_bucket_alloc_t *list)
{
    if (in->bc->input.shared) {
        BRG_ASSERT(in->whole && ((apr_bucket_heap *)in->whole->data)->base == in->bc->input.at);
        return in->whole->list == list;
    }
    core_input_unshare(in); /* the connection let go of that one */
    if (list != in->c->bucket_alloc)
        return 0;
    in->whole = apr_bucket_heap_create(in->bc->input.at, in->bc->input.cap, free, list);
    if (!in->whole)
        return 0;
    in->bc->input.shared = 1;
    if (!in->cleaned)
        apr_pool_cleanup_register(in->c->pool, in, core_input_end, apr_pool_cleanup_null);
    in->cleaned = 1;
    return 1;
}

/* Bytes of the connection's buffer. A long piece refers to it, and the next read goes behind it. */
static apr_bucket *core_input_bucket(struct core_input *in, const char *data, apr_size_t n,
                                     apr_bucket_alloc_t *list)
{
    apr_bucket *e;

    if (n <= CORE_INPUT_COPIED || !core_input_share(in, list) ||
        apr_bucket_copy(in->whole, &e) != APR_SUCCESS)
        return apr_bucket_heap_create(data, n, NULL, list);
    e->start = data - in->bc->input.at;
    e->length = n;
    return e;
}

/* Move n bytes that peek showed into bb. */
static void core_input_take(struct core_input *in, apr_bucket_brigade *bb, const char *data,
                            apr_size_t n)
{
    if (in->bc) {
        APR_BRIGADE_INSERT_TAIL(bb, core_input_bucket(in, data, n, bb->bucket_alloc));
        core_input_consume(in, n);
        return;
    }
    apr_bucket *e = APR_BRIGADE_FIRST(in->bb);

    BRG_ASSERT(!APR_BRIGADE_EMPTY(in->bb) && n <= e->length);
    core_input_progress(in, n);
    if (n < e->length)
        apr_bucket_split(e, n);
    APR_BUCKET_REMOVE(e);
    APR_BRIGADE_INSERT_TAIL(bb, e);
}

/* ---- modes ---- */

/* A non-blocking caller that finds nothing gets an empty brigade and success, as Apache's modules
 * expect. */
static apr_status_t core_input_nothing(apr_status_t rv, apr_read_type_e block)
{
    return block == APR_NONBLOCK_READ && APR_STATUS_IS_EAGAIN(rv) ? APR_SUCCESS : rv;
}

/* The buffer may be full while there is more. Modules (mod_lua's WebSockets) rely on one bucket
 * with all received bytes, up to the size of APR's socket buckets. */
static void core_input_complete(struct core_input *in, const char **data, apr_size_t *len,
                                apr_off_t readbytes)
{
    while (in->bc && (apr_off_t)*len < readbytes && *len < APR_BUCKET_BUFF_SIZE &&
           in->bc->input.len == in->bc->input.cap) {
        const apr_status_t rv = conn_read(in->bc, APR_NONBLOCK_READ, 0);

        *data = in->bc->input.at + in->bc->input.off;
        *len = conn_in_size(in->bc);
        if (rv != APR_SUCCESS) /* why is told to the next caller */
            break;
    }
}

static apr_status_t core_input_readbytes(struct core_input *in, apr_bucket_brigade *bb,
                                         apr_read_type_e block, apr_off_t readbytes)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = core_input_peek(in, block, &data, &len);

    if (rv != APR_SUCCESS)
        return core_input_nothing(rv, block);
    core_input_complete(in, &data, &len, readbytes);
    core_input_take(in, bb, data, (apr_off_t)len > readbytes ? (apr_size_t)readbytes : len);
    return APR_SUCCESS;
}

static apr_status_t core_input_speculate(struct core_input *in, apr_bucket_brigade *bb,
                                         apr_read_type_e block, apr_off_t readbytes)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = core_input_peek(in, block, &data, &len);

    if (rv != APR_SUCCESS)
        return core_input_nothing(rv, block);
    if ((apr_off_t)len > readbytes)
        len = (apr_size_t)readbytes;
    APR_BRIGADE_INSERT_TAIL(bb, in->bc ? core_input_bucket(in, data, len, bb->bucket_alloc)
                                       : apr_bucket_heap_create(data, len, NULL, bb->bucket_alloc));
    return APR_SUCCESS;
}

static apr_status_t core_input_getline(struct core_input *in, apr_bucket_brigade *bb,
                                       apr_read_type_e block)
{
    apr_size_t taken = 0, len;
    const char *data, *lf;
    apr_status_t rv;

    do {
        rv = core_input_peek(in, block, &data, &len);
        if (rv != APR_SUCCESS) /* the bytes before the end are still a line */
            return taken ? APR_SUCCESS : core_input_nothing(rv, block);
        if (len > CORE_INPUT_LINE_MAX - taken)
            len = CORE_INPUT_LINE_MAX - taken;
        if ((lf = memchr(data, APR_ASCII_LF, len)) != NULL)
            len = (apr_size_t)(lf - data) + 1;
        taken += len;
        core_input_take(in, bb, data, len);
    } while (!lf && taken < CORE_INPUT_LINE_MAX);
    return APR_SUCCESS;
}

static apr_status_t core_input_eat_crlf(struct core_input *in)
{
    const char *data;
    apr_size_t len, n;
    apr_status_t rv;

    while ((rv = core_input_peek(in, APR_NONBLOCK_READ, &data, &len)) == APR_SUCCESS) {
        for (n = 0; n < len && (data[n] == APR_ASCII_CR || data[n] == APR_ASCII_LF); n++)
            continue;
        if (n)
            core_input_consume(in, n);
        if (n < len)
            return APR_SUCCESS;
    }
    return rv;
}

/* Everything, now and later: the caller gets the source itself and this filter is left with
 * nothing. */
static apr_status_t core_input_exhaust(struct core_input *in, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;

    if (in->bc)
        rv = core_input_open_brigade(in);
    APR_BRIGADE_CONCAT(bb, in->bb);
    return rv;
}

apr_status_t ap_core_input_filter(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                  apr_read_type_e block, apr_off_t readbytes)
{
    struct core_input *in = core_input_of(f);

    if (mode == AP_MODE_INIT)
        return APR_SUCCESS;
    if (!in->bb && (!in->bc || core_input_source_is_hooked())) {
        apr_status_t rv = core_input_open_brigade(in);
        if (rv != APR_SUCCESS)
            return rv;
    }
    switch (mode) {
    case AP_MODE_READBYTES:
        return readbytes > 0 ? core_input_readbytes(in, bb, block, readbytes) : APR_EGENERAL;
    case AP_MODE_SPECULATIVE:
        return readbytes > 0 ? core_input_speculate(in, bb, block, readbytes) : APR_EGENERAL;
    case AP_MODE_GETLINE:
        return core_input_getline(in, bb, block);
    case AP_MODE_EATCRLF:
        return core_input_eat_crlf(in);
    case AP_MODE_EXHAUSTIVE:
        return core_input_exhaust(in, bb);
    default:
        return APR_ENOTIMPL;
    }
}

static void core_input_retrieve(void)
{
    core_input_timeouts = APR_RETRIEVE_OPTIONAL_FN(brg_read_timeouts_of);
}

void core_input_register(apr_pool_t *p)
{
    ap_core_input_filter_handle =
        ap_register_input_filter("CORE_IN", ap_core_input_filter, NULL, AP_FTYPE_NETWORK);
    ap_hook_optional_fn_retrieve(core_input_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
}
