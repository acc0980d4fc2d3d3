/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of a stream, without a request_rec. Where it has room for all of an answer before that
 * begins, blocks that the answer was read into go with it. Else the stream gets a conn_rec, whose
 * filter has the pieces and keeps the bytes that its client does not take yet. */
#include "exchange_direct_private.h"
#include "bucket_part.h"
#include "connection.h"
#include "http_fields.h"
#include "http_text.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <string.h>

/* The last field of a script stands behind a length that is not known yet. @return how many of d->last come before it */
static int stream_keep_last(proxy_ahead *a, const direct_head *d)
{
    const http_field *f;

    if (!d->last_n || direct_tells_length(a))
        return d->last_n;
    f = &d->last[d->last_n - 1];
    BRG_ASSERT(HTTP_FIELD_IS(f, "Content-Type") && f->value_len <= sizeof a->last);
    memcpy(a->last, f->value, f->value_len);
    a->last_len = (uint8_t)f->value_len;
    return d->last_n - 1;
}

/* @return 0: no memory */
static int stream_put_head(proxy_ahead *a, const direct_head *d)
{
    http_field field[HTTP_HEAD_OWN_FIELDS + H1_TOP_FIELDS + DIRECT_MADE +
                     sizeof d->last / sizeof *d->last];
    const char *server = d->top.server ? d->top.server : ap_get_server_banner();
    const size_t server_len = d->top.server ? d->top.server_len : strlen(server);
    stream_fields fields = {.status = d->head->code,
                            .is_whole = direct_tells_length(a) && !a->x.h1.left,
                            .n = 1,
                            .field = field};

    field[0] = direct_field("Date", 4, d->top.date, d->top.date_len);
    if (server_len)
        field[fields.n++] = direct_field("Server", 6, server, server_len);
    for (int i = 0; i < d->n; i++)
        field[fields.n++] = *d->field[i];
    for (int i = 0, n = stream_keep_last(a, d); i < n; i++)
        field[fields.n++] = d->last[i];
    return (a->part = a->bc->transport->encode(a->bc, &fields)) != NULL;
}

static int stream_takes(proxy_exchange *x, http_head *head)
{
    proxy_ahead *a = direct_of(x);
    direct_head d;

    x->h1.left = x->h1.end == H1_BODY_LENGTH ? head->content_length : 0;
    if (!direct_takes(a, head, &d) ||
        (cache_plan_is_logged(a->base.entry) && !direct_log_is_ready(a, &d)))
        return 0;
    a->waits = !direct_tells_length(a) ||
               !a->base.carrier->reserve(a->bc, head->head_len + head->content_length);
    a->told.status = head->code;
    return stream_put_head(a, &d);
}

static int stream_put(brg_conn *bc, const char *data, apr_size_t len)
{
    const struct iovec iov = {(void *)(uintptr_t)data, len};

    return !len || bc->transport->sendv(bc, &iov, 1, 1) == (ssize_t)len;
}

static void block_was_given(void *block)
{
    (void)block;
}

/* The memory that it was read into may go with it. @return 0: it was not taken */
static int stream_put_bucket(brg_conn *bc, apr_bucket *e)
{
    apr_bucket_heap *h = e->data;
    void (*end)(void *);
    const char *data;
    apr_size_t len;

    if (!APR_BUCKET_IS_HEAP(e) || h->refcount.refcount != 1 || e->length <= UPSTREAM_COPIED)
        return apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS &&
               stream_put(bc, data, len);
    end = h->free_func;
    h->free_func = block_was_given;
    if (bc->transport->give(bc, h->base, end, h->base + e->start, e->length) == (ssize_t)e->length)
        return 1;
    h->free_func = end;
    return 0;
}

/* The same of the connection's blocks. */
static int stream_put_lent(brg_conn *bc, const proxy_exchange *x)
{
    void (*end)(void *);
    uint32_t at, cap;
    char *block =
        upstream_in_size(x->cc) == x->answer.lent ? upstream_in_give(x->cc, &at, &cap, &end) : NULL;

    if (!block)
        return stream_put(bc, upstream_in(x->cc), x->answer.lent);
    if (bc->transport->give(bc, block, end, block + at, x->answer.lent) == (ssize_t)x->answer.lent)
        return 1;
    end(block);
    return 0;
}

static shared_ref *stream_take_head(proxy_ahead *a)
{
    shared_ref *part = a->part;

    BRG_ASSERT(part && !a->told.head_sent);
    if (a->last_len) {
        const http_field type = direct_field("Content-Type", 12, a->last, a->last_len);

        (void)a->bc->transport->add(a->bc, part, &type);
    }
    a->told.head_sent = a->bc->transport->add(a->bc, part, NULL);
    a->part = NULL;
    return part;
}

static int stream_pass_all(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    brg_conn *bc = a->bc;

    if (a->part && bc->transport->put(bc, stream_take_head(a)) < 0)
        return 0;
    for (apr_bucket *e = APR_BRIGADE_FIRST(x->in); e != APR_BRIGADE_SENTINEL(x->in);
         e = APR_BUCKET_NEXT(e)) {
        a->told.body_sent += (apr_off_t)e->length;
        if (!stream_put_bucket(bc, e))
            return 0;
    }
    a->told.body_sent += x->answer.lent;
    if (x->answer.lent && !stream_put_lent(bc, x))
        return 0;
    if (x->answer.complete)
        return bc->transport->put(bc, NULL) >= 0;
    bc->transport->sent(bc);
    return 1;
}

/* ---- by its filter ---- */

/* The bytes at hand are the whole answer, and no trailers follow: its length is told. @return 0: it
 * is not, or there is no room */
static int stream_is_whole(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    char digits[24];
    apr_off_t n = 0;
    http_field length;

    (void)apr_brigade_length(x->in, 1, &n);
    n += x->answer.lent;
    if (!a->part || !x->answer.complete || a->trailer || direct_coded_is_early(a) ||
        !a->base.carrier->reserve(a->bc, (size_t)n + a->bc->transport->add(a->bc, a->part, NULL) +
                                             a->last_len))
        return 0;
    length = direct_field("Content-Length", 14, digits, http_put_number(digits, (apr_uint64_t)n));
    (void)a->bc->transport->add(a->bc, a->part, &length);
    return 1;
}

/* The stream's memory is its own, since a worker may have it: bytes at hand are copied there.
 * @return 0: no memory */
static int stream_attach(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    apr_bucket_alloc_t *alloc;

    if (!a->base.carrier->attach(a->bc))
        return 0;
    alloc = a->bc->c->bucket_alloc;
    for (apr_bucket *e = APR_BRIGADE_FIRST(x->in), *next; e != APR_BRIGADE_SENTINEL(x->in);
         e = next) {
        const char *data;
        apr_size_t len;

        next = APR_BUCKET_NEXT(e);
        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return 0;
        APR_BUCKET_INSERT_BEFORE(e, apr_bucket_heap_create(data, len, NULL, alloc));
        apr_bucket_delete(e);
    }
    x->alloc = x->in->bucket_alloc = alloc;
    return 1;
}

/* @return NULL: no memory */
static apr_bucket *stream_end(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    stream_fields fields = {.status = 0};
    shared_ref *part = NULL;

    if (a->trailer) {
        fields.n = a->trailer->nelts;
        fields.field = (const http_field *)(const void *)a->trailer->elts;
        if (!(part = a->bc->transport->encode(a->bc, &fields)))
            return NULL;
        a->told.head_sent += a->bc->transport->add(a->bc, part, NULL);
    }
    return bucket_part_create(part, x->alloc);
}

static int stream_pass_on(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    apr_bucket *end = NULL;
    apr_off_t n = 0;

    if (x->answer.lent)
        APR_BRIGADE_INSERT_TAIL(
            x->in, apr_bucket_heap_create(upstream_in(x->cc), x->answer.lent, NULL, x->alloc));
    (void)apr_brigade_length(x->in, 1, &n);
    a->told.body_sent += n;
    if (a->part)
        APR_BRIGADE_INSERT_HEAD(x->in, bucket_part_create(stream_take_head(a), x->alloc));
    if (x->answer.complete && !(end = stream_end(x)))
        return 0;
    if (end)
        APR_BRIGADE_INSERT_TAIL(x->in, end);
    if (x->answer.complete || !exchange_has_more(x))
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_flush_create(x->alloc));
    return ap_pass_brigade(a->bc->c->output_filters, x->in) == APR_SUCCESS && !a->bc->c->aborted;
}

static int stream_pass_some(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);

    a->waits = a->waits && (a->bc->c || !stream_is_whole(x));
    if (!a->waits)
        return stream_pass_all(x);
    return (a->bc->c || stream_attach(x)) && stream_pass_on(x);
}

static void stream_pass(proxy_exchange *x)
{
    const proxy_ahead *a = direct_of(x);
    brg_conn *bc = a->bc;
    const int pass = a->coded ? direct_coded_pass(x) : 1;

    BRG_ASSERT(bc->master && !bc->failed);
    if (pass < 0 || (pass && !stream_pass_some(x)))
        bc->failed = 1; /* its client sees that it breaks off */
    x->answer.passed = 1;
    apr_brigade_cleanup(x->in);
    if (bc->failed)
        exchange_client_left(x);
}

static void stream_cut(proxy_exchange *x)
{
    direct_of(x)->bc->failed = 1;
}

/* Behind a body whose length is not told; without framing fields. */
static void stream_trailer(proxy_exchange *x, const http_field *f)
{
    proxy_ahead *a = direct_of(x);
    apr_pool_t *p = exchange_pool(x);
    const int id = http_field_id_of(f->name, f->name_len);

    if (direct_tells_length(a) || id == HTTP_F_CONTENT_LENGTH || id == HTTP_F_TRANSFER_ENCODING ||
        id == HTTP_F_TRAILER)
        return;
    if (!a->trailer)
        a->trailer = apr_array_make(p, 4, sizeof(http_field));
    APR_ARRAY_PUSH(a->trailer, http_field) =
        direct_field(apr_pstrmemdup(p, f->name, f->name_len), f->name_len,
                     apr_pstrmemdup(p, f->value, f->value_len), f->value_len);
}

static int stream_is_behind(proxy_exchange *x)
{
    const proxy_ahead *a = direct_of(x);

    return a->waits && a->bc->c && exchange_is_behind(x, a->bc);
}

const proxy_sink proxy_sink_stream = {.lends = 1,
                                      .ahead = 1,
                                      .request = direct_request,
                                      .head = stream_takes,
                                      .answered = direct_answered,
                                      .trailer = stream_trailer,
                                      .pass = stream_pass,
                                      .cut = stream_cut,
                                      .works = direct_works,
                                      .is_behind = stream_is_behind};
