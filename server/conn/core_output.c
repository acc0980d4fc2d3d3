/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CORE: the bottom of every connection's output chain.
 *
 * It decides three things about the buckets that arrive; core_write.c does the writing.
 *
 *   Now or later?   A response that is complete is written at once, straight from the buckets as
 *                   they came. If the next request already waits in the input, it is set aside, so
 *                   that both answers share a system call (FlushMaxPipelined bounds that). Pieces of
 *                   a response gather until they are worth a call.
 *   Wait or not?    A loop never waits: bytes that the socket does not take stay for
 *                   core_output_flush.
 *                   A worker waits when a FLUSH asks for it or when more than FlushMaxThreshold bytes
 *                   of memory are pending, but for no longer than OUTPUT_PATIENCE_US in a response:
 *                   then the output goes to disk, and the loop sends it (core_spool.c). Of a handler that
 *                   waits on a loop, what a slow client leaves goes there, too (core_park.c).
 *   Copy or keep?   The rest is set aside: transient data is copied, files are kept by reference.
 *
 * Buckets that wait are always set aside already. So when something waits, new buckets are set
 * aside before they join the queue; when nothing waits, they are written first and only the rest is
 * set aside.
 */
#include "core_output_private.h"
#include "bucket_part.h"
#include "memory_refusal.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/connection.h"

#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

#include "apr_portable.h"

APLOG_USE_MODULE(core);

#define OUTPUT_WORTH_A_CALL (16 * 1024)
#define OUTPUT_SPOOL_FILE (64 * 1024) /* a larger file ends the spool, and waits as it is */
#define OUTPUT_MEMORY_MAX 65535       /* FlushMaxThreshold, where nothing is configured */

AP_DECLARE_DATA ap_filter_rec_t *ap_core_output_filter_handle;

static const char core_output_tag;

/* Between calls it has nothing, so the end of the pool finds nothing in it either. */
static apr_bucket_brigade *core_output_own(const struct core_output *out, apr_bucket_brigade *bb)
{
    *bb = (apr_bucket_brigade){.p = out->c->pool, .bucket_alloc = out->c->bucket_alloc};
    APR_RING_INIT(&bb->list, apr_bucket, link);
    return bb;
}

struct core_output *core_output_create(conn_rec *c, brg_conn *bc, apr_socket_t *csd)
{
    struct core_output *out = apr_pcalloc(c->pool, sizeof *out);
    apr_os_sock_t fd = -1;

    if (bc)
        fd = bc->fd;
    else
        apr_os_sock_get(&fd, csd);
    out->tag = &core_output_tag;
    out->c = c;
    out->bc = bc;
    out->fd = fd;
    out->bb = apr_brigade_create(c->pool, c->bucket_alloc);
    out->unsent = core_output_own(out, &out->own[0]);
    out->spare = core_output_own(out, &out->own[1]);
    return out;
}

/* A module that makes connections all by itself (mod_wsgi's daemons) adds the filter as Apache's
 * core does. */
static struct core_output *core_output_of(ap_filter_t *f)
{
    const core_net_rec *net = f->ctx;

    if (((struct core_output *)f->ctx)->tag != &core_output_tag)
        f->ctx = core_output_create(net->c, NULL, net->client_socket);
    return f->ctx;
}

/* ---- state ---- */

static int core_output_waits(const struct core_output *out)
{
    return !APR_BRIGADE_EMPTY(out->bb) || (out->spool && core_spool_is_active(out));
}

static void core_output_update(struct core_output *out)
{
    core_spool_count(out);
    out->c->data_in_output_filters = core_output_waits(out);
    if (APR_BRIGADE_EMPTY(out->bb)) {
        if (out->kept)
            apr_pool_clear(out->kept);
        out->memory = 0;
        out->responses = 0;
        out->blocked = 0;
    }
    if (__builtin_expect(out->memory != out->counted || out->park, 0))
        core_park_update(out);
}

/* The error is latched before anything is destroyed, so that whoever logs the requests that go with
 * it sees an aborted connection. */
static apr_status_t core_output_fail(struct core_output *out, apr_status_t rv)
{
    if (!out->error)
        out->error = rv;
    connection_abort(out->c);
    core_spool_fail(out, rv);
    apr_brigade_cleanup(out->bb);
    apr_brigade_cleanup(out->unsent);
    core_output_update(out);
    return out->error;
}

void core_output_drop(struct core_output *out)
{
    if (core_output_waits(out))
        core_output_fail(out, APR_ECONNABORTED);
    core_park_drop(out);
    core_spool_drop(out);
}

int core_output_pending(const brg_conn *bc)
{
    return bc->out && core_output_waits(bc->out);
}

apr_size_t core_output_memory(const brg_conn *bc)
{
    return bc->out ? bc->out->memory : 0;
}

apr_off_t core_output_bytes(const conn_rec *c)
{
    brg_conn *bc = connection_of(c);
    return bc && bc->out ? bc->out->bytes : 0;
}

static const core_server_config *core_output_config(const struct core_output *out)
{
    return ap_get_core_module_config(out->c->base_server->module_config);
}

static apr_size_t core_output_threshold(const struct core_output *out)
{
    apr_size_t n = core_output_config(out)->flush_max_threshold;
    return n ? n : OUTPUT_MEMORY_MAX;
}

/* 1 if the answer may wait for that to the next request, which is here already. */
static int core_output_may_gather(const struct core_output *out)
{
    int most = core_output_config(out)->flush_max_pipelined;

    return out->bc && conn_in_size(out->bc) && (most < 0 || out->responses < most) &&
           out->c->keepalive == AP_CONN_KEEPALIVE;
}

int core_output_gathers(const brg_conn *bc)
{
    const struct core_output *out = bc->out;

    return core_output_pending(bc) && !core_spool_is_active(out) && !out->error &&
           !out->c->aborted && !out->blocked && out->memory <= core_output_threshold(out) &&
           core_output_may_gather(out);
}

void core_output_at_once(brg_conn *bc)
{
    if (bc->out)
        bc->out->at_once = 1;
}

void core_output_add_bytes(brg_conn *bc, apr_off_t n)
{
    if (bc->out)
        bc->out->reported += n;
}

BRG_DECLARE(void) brg_connection_octets(conn_rec *c, apr_off_t *received, apr_off_t *sent)
{
    const brg_conn *bc = connection_of(c);

    *received = bc ? (apr_off_t)bc->input.consumed : 0;
    *sent = bc && bc->out ? bc->out->reported : 0;
}

uint64_t core_output_take_bytes(brg_conn *bc)
{
    struct core_output *out = bc->out;
    apr_off_t n = out ? out->bytes - out->taken : 0;

    BRG_ASSERT(n >= 0);
    if (n)
        out->taken = out->bytes;
    return (uint64_t)n;
}

/* ---- setting aside ---- */

static apr_status_t core_output_keep(struct core_output *out, apr_bucket *e)
{
    apr_status_t rv = apr_bucket_setaside(e, out->kept);
    const char *data;
    apr_size_t len;

    if (rv != APR_ENOTIMPL)
        return rv;
    rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
    return rv == APR_SUCCESS ? apr_bucket_setaside(e, out->kept) : rv;
}

static apr_status_t core_output_keep_all(struct core_output *out, apr_bucket_brigade *bb)
{
    apr_bucket *e;
    apr_status_t rv;

    if (!out->kept) {
        apr_pool_create(&out->kept, out->c->pool);
        apr_pool_tag(out->kept, "output set aside");
    }
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e))
        if ((rv = core_output_keep(out, e)) != APR_SUCCESS && rv != APR_ENOTIMPL)
            return rv;
    return APR_SUCCESS;
}

/* ---- writing ---- */

/* Write without waiting. APR_EAGAIN is not an error here: the rest waits. */
static apr_status_t core_output_try(struct core_output *out)
{
    apr_status_t rv = core_output_write(out);
    return rv == APR_EAGAIN ? APR_SUCCESS : rv;
}

/* The writing that a batch of buckets asks for. */
typedef enum { OUTPUT_KEEP, OUTPUT_TRY, OUTPUT_LIMIT, OUTPUT_ALL } output_want;

/* Queue all of unsent and write as wanted. */
static apr_status_t core_output_push(struct core_output *out, apr_size_t memory, output_want want)
{
    int queue = want == OUTPUT_KEEP || core_output_waits(out);
    apr_status_t rv = APR_SUCCESS;

    if (queue)
        rv = core_output_keep_all(out, out->unsent);
    if (rv != APR_SUCCESS)
        return rv;
    APR_BRIGADE_CONCAT(out->bb, out->unsent);
    out->memory += memory;
    if (want == OUTPUT_TRY)
        rv = core_output_try(out);
    else if (want == OUTPUT_LIMIT)
        rv = core_output_wait(out, core_output_threshold(out));
    else if (want == OUTPUT_ALL)
        rv = core_output_wait(out, 0);
    if (rv == APR_SUCCESS && !queue && !APR_BRIGADE_EMPTY(out->bb))
        rv = core_output_keep_all(out, out->bb);
    return rv;
}

/* ---- the filter ---- */

/* Facts of a brigade's buckets so far. */
typedef struct output_scan {
    apr_size_t memory; /* bytes that are core_output_is_memory() */
    apr_off_t bytes;   /* of all data */
    int files;         /* some of it is in files */
    int ends;          /* a response ends in it */
} output_scan;

/* Push the part of unsent before e; unsent then starts with e. */
static apr_status_t core_output_push_before(struct core_output *out, apr_bucket *e,
                                            output_scan *seen, output_want want)
{
    apr_status_t rv;

    BRG_ASSERT(APR_BRIGADE_EMPTY(out->spare));
    apr_brigade_split_ex(out->unsent, e, out->spare);
    rv = core_output_push(out, seen->memory, want);
    APR_BRIGADE_CONCAT(out->unsent, out->spare);
    *seen = (output_scan){0};
    return rv;
}

static int core_output_spool_wants(const struct core_output *out, const apr_bucket *e)
{
    if (!core_spool_takes(out) || !APR_BRIGADE_EMPTY(out->bb) ||
        e != APR_BRIGADE_FIRST(out->unsent))
        return 0;
    if (APR_BUCKET_IS_METADATA(e))
        return APR_BUCKET_IS_FLUSH(e) || APR_BUCKET_IS_EOS(e);
    return !APR_BUCKET_IS_FILE(e) || e->length <= OUTPUT_SPOOL_FILE;
}

/* 1: e is the next of all, and of the kind that a spool takes. */
static inline int core_output_is_spools(const struct core_output *out, const apr_bucket *e)
{
    return out->spool && core_output_spool_wants(out, e);
}

/* Data of unknown length: have it at hand before it is queued. Earlier output must not wait for it.
 */
static apr_status_t core_output_resolve(struct core_output *out, apr_bucket *e, output_scan *seen)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);

    if (!APR_STATUS_IS_EAGAIN(rv))
        return rv;
    rv = core_output_push_before(out, e, seen, OUTPUT_ALL);
    if (core_output_is_spools(out, e)) /* that reads it */
        return rv;
    return rv == APR_SUCCESS ? apr_bucket_read(e, &data, &len, APR_BLOCK_READ) : rv;
}

static void core_output_count(output_scan *seen, const apr_bucket *e)
{
    if (APR_BUCKET_IS_EOS(e) || AP_BUCKET_IS_EOR(e))
        seen->ends = 1;
    if (bucket_is_part(e))
        seen->bytes++; /* it gathers as data does */
    if (APR_BUCKET_IS_METADATA(e))
        return;
    seen->bytes += (apr_off_t)e->length;
    seen->files |= APR_BUCKET_IS_FILE(e);
    if (core_output_is_memory(e))
        seen->memory += e->length;
}

static output_want core_output_last_want(struct core_output *out, const output_scan *seen)
{
    if (!seen->bytes) /* else the socket is full or a response gathers: no change */
        return APR_BRIGADE_EMPTY(out->bb) ? OUTPUT_TRY : OUTPUT_KEEP;
    if (seen->ends)
        return !seen->files && core_output_may_gather(out) ? OUTPUT_KEEP : OUTPUT_TRY;
    if (out->at_once || (apr_off_t)out->memory + seen->bytes >= OUTPUT_WORTH_A_CALL)
        return OUTPUT_TRY;
    return OUTPUT_KEEP;
}

/* The first of unsent goes to disk. Output that the loop sends needs no FLUSH, and an EOS carries
 * nothing. */
static apr_status_t core_output_spool_first(struct core_output *out)
{
    apr_bucket *e = APR_BRIGADE_FIRST(out->unsent);
    apr_size_t len, taken = 0;
    apr_status_t rv = APR_SUCCESS;
    const char *data;

    if (APR_BUCKET_IS_EOS(e))
        out->waited_us = 0;
    if (!APR_BUCKET_IS_METADATA(e)) {
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS && len)
            rv = core_spool_append(out, data, len, &taken);
        if (rv == CORE_SPOOL_NONE && taken)
            apr_bucket_split(e, taken);
        else if (rv == CORE_SPOOL_NONE)
            return APR_SUCCESS;
        else if (rv != APR_SUCCESS)
            return rv;
    }
    apr_bucket_delete(e);
    return APR_SUCCESS;
}

static apr_status_t core_output_todo(struct core_output *out)
{
    apr_size_t threshold = core_output_threshold(out);
    apr_bucket_brigade *unsent = out->unsent;
    apr_bucket *e = APR_BRIGADE_FIRST(unsent), *next;
    apr_status_t rv = APR_SUCCESS;
    output_scan seen = {0};

    for (; e != APR_BRIGADE_SENTINEL(unsent); e = next) {
        if (!core_output_is_spools(out, e) && e->length == (apr_size_t)-1)
            rv = core_output_resolve(out, e, &seen);
        if (rv == APR_SUCCESS && core_output_is_spools(out, e)) {
            rv = core_output_spool_first(out);
            next = APR_BRIGADE_FIRST(unsent);
            if (rv != APR_SUCCESS)
                return rv;
            continue;
        }
        if (rv != APR_SUCCESS)
            return rv;
        next = APR_BUCKET_NEXT(e);
        core_output_count(&seen, e);
        if (APR_BUCKET_IS_FLUSH(e))
            rv = core_output_push_before(out, next, &seen, OUTPUT_ALL);
        else if (out->memory + seen.memory > threshold)
            rv = core_output_push_before(out, next, &seen, OUTPUT_LIMIT);
        if (rv != APR_SUCCESS)
            return rv;
    }
    if (APR_BRIGADE_EMPTY(unsent))
        return APR_SUCCESS;
    if (seen.ends)
        out->waited_us = 0;
    out->responses += seen.ends;
    return core_output_push(out, seen.memory, core_output_last_want(out, &seen));
}

/* The end of a response whose bytes are all sent, by itself, as each is that is written at once: nothing is gathered or written. */
static int core_output_is_end(const struct core_output *out, const apr_bucket_brigade *bb)
{
    const apr_bucket *e = APR_BRIGADE_FIRST(bb);

    return e != APR_BRIGADE_SENTINEL(bb) && AP_BUCKET_IS_EOR(e) &&
           APR_BUCKET_NEXT(e) == APR_BRIGADE_SENTINEL(bb) && APR_BRIGADE_EMPTY(out->bb) &&
           APR_BRIGADE_EMPTY(out->unsent) && !out->spool && !out->park && out->bc &&
           !transport_takes_parts(out->bc);
}

static void core_output_end(struct core_output *out, apr_bucket_brigade *bb)
{
    BRG_ASSERT(!out->memory && !out->error);
    apr_bucket_delete(APR_BRIGADE_FIRST(bb)); /* bb may be of the request, which ends */
    out->waited_us = 0;
    core_output_update(out);
}

/* bb NULL: a module or MPM-like caller asks to write on what waits, without waiting for the socket.
 */
apr_status_t ap_core_output_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    struct core_output *out = core_output_of(f);
    apr_status_t rv;

    if (__builtin_expect(brg_pool_refused(out->c->pool), 0))
        memory_refusal_cuts(out->c);
    if (bb && !out->error && !out->c->aborted && core_output_is_end(out, bb)) {
        core_output_end(out, bb);
        return APR_SUCCESS;
    }
    if (bb)
        APR_BRIGADE_CONCAT(out->unsent, bb);
    if (out->error || out->c->aborted) {
        core_output_fail(out, APR_ECONNABORTED);
        return APR_ECONNABORTED;
    }
    rv = bb ? core_output_todo(out) : core_output_try(out);
    if (rv != APR_SUCCESS)
        return core_output_fail(out, rv);
    core_output_update(out);
    return APR_SUCCESS;
}

/* ---- for the connection driver ---- */

apr_status_t core_output_flush(brg_conn *bc)
{
    struct core_output *out = bc->out;
    apr_status_t rv;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (!out)
        return APR_SUCCESS;
    BRG_ASSERT(out->tag == &core_output_tag && out->bc == bc);
    if (out->error)
        return out->error;
    if (out->c->aborted)
        return core_output_fail(out, APR_ECONNABORTED);
    rv = core_output_write(out);
    if (rv != APR_SUCCESS && rv != APR_EAGAIN)
        return core_output_fail(out, rv);
    core_output_update(out);
    return rv;
}

void core_output_register(apr_pool_t *p)
{
    ap_core_output_filter_handle =
        ap_register_output_filter("CORE", ap_core_output_filter, NULL, AP_FTYPE_NETWORK);
}
