/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of a connection of HTTP/1, without a request_rec: an answer that is whole when it is
 * looked at leaves in one write, from the memory that it was read into. Of any other, the
 * connection's filter has the pieces, which keeps the bytes that its client does not take yet. */
#include "exchange_direct_private.h"
#include "connection.h"
#include "proxy_fields.h"
#include "gather.h"
#include "http_text.h"
#include "loop.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <string.h>

#define DIRECT_IOV 24 /* pieces of an answer that leaves in one write */

static char *h1_put_line(char *p, const http_field *f)
{
    p = mempcpy(p, f->name, f->name_len);
    p = mempcpy(p, ": ", 2);
    p = mempcpy(p, f->value, f->value_len);
    return mempcpy(p, "\r\n", 2);
}

/* The head, without what tells of the connection, and of a body that is not known yet, where the loop gathers its output. The last
 * field of a script stands behind those. */
static void h1_put_head(proxy_ahead *a, const direct_head *d)
{
    char *head = gather_head(a->bc->loop->out),
         *p = h1_format_top(head, AP_SERVER_PROTOCOL, &d->top);
    const char *lines = NULL; /* that stand so, one behind the other */
    size_t n = 0, len;

    BRG_ASSERT(!a->bc->loop->out->iov_n && !a->bc->pending);
    for (int i = 0; i < d->n; i++, n += len) {
        const http_field *f = d->field[i];

        len = proxy_field_line(f);
        if (len && lines && f->name == lines + n)
            continue;
        p = lines ? mempcpy(p, lines, n) : p;
        lines = len ? f->name : NULL;
        n = 0;
        if (!len)
            p = h1_put_line(p, f);
    }
    p = lines ? mempcpy(p, lines, n) : p;
    for (int i = 0; i + 1 < d->last_n; i++)
        p = h1_put_line(p, &d->last[i]);
    if (d->last_n)
        a->last_len = (uint8_t)(h1_put_line(a->last, &d->last[d->last_n - 1]) - a->last);
    BRG_ASSERT(a->last_len <= sizeof a->last);
    a->head = head;
    a->head_len = (uint32_t)(p - head);
}

static int h1_takes(proxy_exchange *x, http_head *head)
{
    proxy_ahead *a = direct_of(x);
    direct_head d;

    if (!direct_takes(a, head, &d) ||
        (cache_plan_is_logged(a->base.entry) && !direct_log_is_ready(a, &d)))
        return 0;
    a->told.status = head->code;
    h1_put_head(a, &d);
    return 1;
}

/* The rest of the head. @param n  of the body, if that is known and not told; -1 */
static void h1_end_head(proxy_ahead *a, apr_off_t n)
{
    const server_rec *s = a->plan->server;
    char *p = (char *)(uintptr_t)a->head + a->head_len;
    int asked;
    const int keep = h1_ahead_keeps(a->bc, s, &asked);

    if (!direct_tells_length(a) && n >= 0) {
        p = stpcpy(p, "Content-Length: ");
        p += http_put_number(p, (apr_uint64_t)n);
        p = stpcpy(p, "\r\n");
    }
    p += h1_format_connection(p, !keep, asked, s->keep_alive_timeout,
                              s->keep_alive_max ? s->keep_alive_max - (int)a->bc->requests : -1);
    if (!direct_tells_length(a) && n < 0) {
        p = stpcpy(p, "Transfer-Encoding: chunked\r\n");
        a->chunks = 1;
    }
    p = mempcpy(p, a->last, a->last_len);
    p = stpcpy(p, "\r\n");
    a->closes = !keep;
    a->head_len = (uint32_t)(p - a->head);
    a->told.head_sent = a->head_len;
    BRG_ASSERT(a->head_len <= GATHER_HEAD_MAX);
}

/* @return how many pieces; -1: more than fit */
static int h1_pieces(const proxy_exchange *x, struct iovec *iov, apr_off_t *bytes)
{
    int n = 0;

    *bytes = x->answer.lent;
    for (apr_bucket *e = APR_BRIGADE_FIRST(x->in); e != APR_BRIGADE_SENTINEL(x->in);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (n == DIRECT_IOV || apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return -1;
        iov[n++] = (struct iovec){(void *)(uintptr_t)data, len};
        *bytes += (apr_off_t)len;
    }
    if (x->answer.lent)
        iov[n++] = (struct iovec){(void *)(uintptr_t)upstream_in(x->cc), x->answer.lent};
    return n;
}

/* The @a n bytes at hand are all of the body, and its length is told. Compressed bytes were held back to its end, behind trailers. */
static int h1_is_whole(const proxy_exchange *x, apr_off_t n)
{
    const proxy_ahead *a = direct_of(x);

    if (!x->answer.complete)
        return 0;
    return a->coded ? !direct_coded_is_early(a) : !(n && a->trailers);
}

/* Head and body in one write. @return 0: it is in too many pieces */
static int h1_pass_whole(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    struct gather *g = a->bc->loop->out;
    struct iovec iov[DIRECT_IOV + 1];
    apr_off_t bytes;
    const int n = h1_pieces(x, iov, &bytes);

    BRG_ASSERT(!g->iov_n && !a->bc->pending);
    if (n < 0 || !h1_is_whole(x, bytes))
        return 0;
    if (a->kept)
        a->head = memcpy(gather_head(g), a->kept, a->head_len);
    h1_end_head(a, bytes);
    gather_add_head(g, a->head_len);
    for (int i = 0; i < n; i++)
        gather_add_lent(g, iov[i].iov_base, iov[i].iov_len);
    gather_flush(g, a->bc, 0);
    a->told.body_sent = bytes;
    a->head = NULL;
    return 1;
}

static apr_bucket *h1_text(const proxy_exchange *x, const char *text, apr_size_t len)
{
    return apr_bucket_heap_create(text, len, NULL, x->alloc);
}

/* A piece as a chunk. */
static void h1_frame(proxy_exchange *x, apr_off_t n)
{
    proxy_ahead *a = direct_of(x);
    char line[24];
    int len;

    if (n) {
        len = apr_snprintf(line, sizeof line, "%" APR_UINT64_T_HEX_FMT "\r\n", (apr_uint64_t)n);
        APR_BRIGADE_INSERT_HEAD(x->in, h1_text(x, line, (apr_size_t)len));
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_immortal_create("\r\n", 2, x->alloc));
        a->told.head_sent += (apr_size_t)len + 2;
    }
    if (!x->answer.complete)
        return;
    APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_immortal_create("0\r\n\r\n", 5, x->alloc));
    a->told.head_sent += 5;
}

static void h1_pass_piece(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    apr_off_t n = 0;

    if (x->answer.lent)
        APR_BRIGADE_INSERT_TAIL(x->in, h1_text(x, upstream_in(x->cc), x->answer.lent));
    (void)apr_brigade_length(x->in, 1, &n);
    if (a->head)
        h1_end_head(a, h1_is_whole(x, n) ? n : -1);
    if (a->chunks)
        h1_frame(x, n);
    if (a->head)
        APR_BRIGADE_INSERT_HEAD(x->in, h1_text(x, a->head, a->head_len));
    a->head = NULL;
    a->told.body_sent += n;
    if (x->answer.complete || !exchange_has_more(x))
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_flush_create(x->alloc));
    if (ap_pass_brigade(a->bc->c->output_filters, x->in) != APR_SUCCESS || a->bc->c->aborted)
        a->bc->failed = 1;
}

static void h1_pass(proxy_exchange *x)
{
    proxy_ahead *a = direct_of(x);
    const int pass = a->coded ? direct_coded_pass(x) : 1;

    a->bc->failed |= pass < 0;
    if (pass > 0 && (!a->head || !x->answer.complete || !h1_pass_whole(x)))
        h1_pass_piece(x);
    x->answer.passed = 1;
    apr_brigade_cleanup(x->in);
    if (a->bc->failed)
        exchange_client_left(x);
}

/* Clients of HTTP/1 get none. */
static void h1_trailer(proxy_exchange *x, const http_field *f)
{
    (void)f;
    direct_of(x)->trailers = 1;
}

static void h1_cut(proxy_exchange *x)
{
    direct_of(x)->closes = 1;
}

static int h1_is_behind(proxy_exchange *x)
{
    return exchange_is_behind(x, direct_of(x)->bc);
}

const proxy_sink proxy_sink_h1 = {.lends = 1,
                                  .ahead = 1,
                                  .request = direct_request,
                                  .head = h1_takes,
                                  .answered = direct_answered,
                                  .trailer = h1_trailer,
                                  .pass = h1_pass,
                                  .cut = h1_cut,
                                  .works = direct_works,
                                  .is_behind = h1_is_behind};
