/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of a stream, without a request_rec: it has room for all of an answer before that begins. Blocks that the answer was read into
 * go with it. */
#include "exchange_direct_private.h"
#include "connection.h"
#include "brigade/assert.h"
#include <string.h>

/* @return 0: no memory */
static int stream_put_head(proxy_ahead *a, const direct_head *d)
{
    http_field field[HTTP_HEAD_OWN_FIELDS + H1_TOP_FIELDS + 1];
    const char *server = d->top.server ? d->top.server : ap_get_server_banner();
    const size_t server_len = d->top.server ? d->top.server_len : strlen(server);
    stream_fields fields = {
        .status = d->head->code, .is_whole = !a->x.left, .n = 1, .field = field};

    field[0] = direct_field("Date", 4, d->top.date, d->top.date_len);
    if (server_len)
        field[fields.n++] = direct_field("Server", 6, server, server_len);
    for (int i = 0; i < d->head->n_fields; i++)
        if (d->goes[i])
            field[fields.n++] = d->head->field[i];
    if (a->plan->via_len)
        field[fields.n++] = direct_via(a->plan);
    return (a->part = a->bc->transport->encode(a->bc, &fields)) != NULL;
}

static int stream_takes(proxy_exchange *x, http_head *head)
{
    proxy_ahead *a = direct_of(x);
    direct_head d;

    x->left = head->content_length;
    if (x->body_end != H1_BODY_LENGTH || !direct_takes(a, head, &d) ||
        (cache_plan_is_logged(a->base.entry) && !direct_log_is_ready(a, &d)) ||
        !a->base.carrier->reserve(a->bc, head->head_len + head->content_length))
        return 0;
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

/* The same of what the connection has. */
static int stream_put_lent(brg_conn *bc, const proxy_exchange *x)
{
    void (*end)(void *);
    uint32_t at, cap;
    char *block = upstream_in_size(x->cc) == x->lent ? upstream_in_give(x->cc, &at, &cap, &end) : NULL;

    if (!block)
        return stream_put(bc, upstream_in(x->cc), x->lent);
    if (bc->transport->give(bc, block, end, block + at, x->lent) == (ssize_t)x->lent)
        return 1;
    end(block);
    return 0;
}

static int stream_pass_all(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    brg_conn *bc = a->bc;

    if (!x->passed) {
        const ssize_t n = bc->transport->put(bc, a->part);

        a->part = NULL;
        a->told.head_sent = n > 0 ? (size_t)n : 1;
        if (n < 0)
            return 0;
    }
    for (apr_bucket *e = APR_BRIGADE_FIRST(x->in); e != APR_BRIGADE_SENTINEL(x->in);
         e = APR_BUCKET_NEXT(e)) {
        a->told.body_sent += (apr_off_t)e->length;
        if (!stream_put_bucket(bc, e))
            return 0;
    }
    a->told.body_sent += x->lent;
    if (x->lent && !stream_put_lent(bc, x))
        return 0;
    if (x->complete)
        return bc->transport->put(bc, NULL) >= 0;
    bc->transport->sent(bc);
    return 1;
}

static void stream_pass(proxy_exchange *x)
{
    brg_conn *bc = direct_of(x)->bc;

    BRG_ASSERT(bc->master && !bc->failed);
    if (!stream_pass_all(x))
        bc->failed = 1; /* its client sees that it breaks off */
    x->passed = 1;
    apr_brigade_cleanup(x->in);
    if (bc->failed)
        exchange_client_left(x);
}

static void stream_cut(proxy_exchange *x)
{
    direct_of(x)->bc->failed = 1;
}

/* There is room for all of it. */
static int stream_is_behind(proxy_exchange *x)
{
    (void)x;
    return 0;
}

const proxy_sink proxy_sink_stream = {.lends = 1,
                                      .request = direct_request,
                                      .head = stream_takes,
                                      .answered = direct_answered,
                                      .trailer = direct_trailer,
                                      .pass = stream_pass,
                                      .cut = stream_cut,
                                      .is_behind = stream_is_behind};
