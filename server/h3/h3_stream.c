/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of QUIC: each has an object from its beginning until QUIC has sent all of it, and those of requests a stream of
 * ../streams while memory does not answer. */
#include "h3_private.h"
#include "qpack.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(http3);

/* ---- objects ---- */

static h3_stream *stream_new(h3_session *h, quic_stream *qs)
{
    h3_stream *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->tag = H3_STREAM_TAG;
    x->h = h;
    x->qs = qs;
    x->kind = quic_id_is_uni(quic_stream_id(qs)) ? H3_UNTYPED : H3_REQUEST;
    x->next = h->all;
    x->prev = &h->all;
    if (h->all)
        h->all->prev = &x->next;
    h->all = x;
    return x;
}

void h3_stream_drop_block(h3_stream *x)
{
    BRG_ASSERT(x->h->kept >= x->block_cap);
    x->h->kept -= x->block_cap;
    free(x->block);
    x->block = NULL;
    x->block_len = x->block_cap = 0;
}

void h3_stream_free(h3_stream *x)
{
    BRG_ASSERT_TAG(x, H3_STREAM_TAG);
    BRG_ASSERT(!x->s);
    h3_stream_head_over(x);
    *x->prev = x->next;
    if (x->next)
        x->next->prev = x->prev;
    h3_stream_drop_block(x);
    x->tag = 0;
    free(x);
}

int h3_stream_keep(h3_stream *x, const uint8_t *data, size_t len)
{
    const size_t need = x->block_len + len;

    BRG_ASSERT(x->block_len <= x->block_cap && need <= UINT32_MAX / 2);

    if (need > x->block_cap) {
        const size_t cap = need < 512 ? 512 : need * 2;
        uint8_t *block;

        if (x->h->kept + (cap - x->block_cap) > H3_KEPT_MOST) {
            h3_stream_reset(x, H3_EXCESSIVE_LOAD);
            h3_limit_fault(x->h, "field sections that wait for their end, too many");
            return -1;
        }
        if (!(block = realloc(x->block, cap))) {
            h3_fail(x->h, H3_INTERNAL_ERROR, "no memory");
            return -1;
        }
        x->block = block;
        x->h->kept += (uint32_t)cap - x->block_cap;
        x->block_cap = (uint32_t)cap;
    }
    if (len)
        memcpy(x->block + x->block_len, data, len);
    x->block_len = (uint32_t)need;
    return 0;
}

/* ---- heads that take their time ---- */

static void stream_head_begins(h3_stream *x)
{
    BRG_ASSERT(x->kind == H3_REQUEST);
    if (x->owes_head || x->got_head)
        return;
    x->owes_head = 1;
    x->head_began = x->h->streams.bc->loop->monotonic;
    x->h->heads_n++;
}

void h3_stream_head_over(h3_stream *x)
{
    if (!x->owes_head)
        return;
    BRG_ASSERT(x->h->heads_n > 0);
    x->owes_head = 0;
    x->h->heads_n--;
}

apr_time_t h3_stream_oldest(const h3_session *h)
{
    apr_time_t oldest = INT64_MAX;

    BRG_ASSERT(h->heads_n > 0);
    for (const h3_stream *x = h->all; x; x = x->next)
        if (x->owes_head && x->head_began < oldest)
            oldest = x->head_began;
    return oldest;
}

void h3_stream_late(h3_session *h, apr_time_t since)
{
    for (h3_stream *x = h->all; x && !h->streams.ending; x = x->next)
        if (x->owes_head && x->head_began <= since) {
            h3_stream_reset(x, H3_REQUEST_INCOMPLETE);
            h3_limit_fault(h, "request heads that do not come to their end, again and again");
        }
}

/* ---- the end of a request ---- */

void h3_stream_detach(h3_stream *x)
{
    BRG_ASSERT(!x->s || x->s->carrier == x);
    if (x->s)
        x->s->carrier = NULL;
    x->s = NULL;
}

/* Its request ends. */
static void stream_end_request(h3_stream *x)
{
    http_stream *s = x->s;

    h3_stream_detach(x);
    h3_stream_head_over(x);
    x->over = 1;
    h3_stream_drop_block(x);
    if (s)
        stream_cancel(s);
}

void h3_stream_reset(h3_stream *x, h3_error code)
{
    const int comes = !x->s || !x->s->remote_closed;

    BRG_ASSERT_TAG(x, H3_STREAM_TAG);
    if (x->over)
        return;
    quic_stream_reset(x->qs, code);
    if (comes)
        quic_stream_stop(x->qs, code);
    stream_end_request(x);
}

/* ---- calls of QUIC ---- */

static void user_stream_came(quic_stream *qs)
{
    h3_session *h = quic_conn_bc(quic_stream_conn(qs))->above;
    const uint64_t id = quic_stream_id(qs);
    h3_stream *x = stream_new(h, qs);

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    if (!x) {
        h3_fail(h, H3_INTERNAL_ERROR, "no memory");
        return;
    }
    quic_stream_set_user(qs, x);
    if (x->kind != H3_REQUEST)
        return;
    if (h->goaway_sent && id >= h->next_request) { /* it was told that they are not taken */
        h3_stream_reset(x, H3_REQUEST_REJECTED);
        return;
    }
    if (id >= h->next_request)
        h->next_request = id + 4;
}

static void user_data(quic_stream *qs, const uint8_t *data, size_t len, int fin)
{
    h3_stream *x = quic_stream_user(qs);

    BRG_ASSERT_TAG(x, H3_STREAM_TAG);
    BRG_ASSERT(x->qs == qs && (len || fin));
    if (x->over || x->h->streams.ending)
        quic_stream_credit(qs, len);
    else if (x->kind == H3_REQUEST) {
        stream_head_begins(x);
        h3_frame_request(x, data, len, fin);
    } else
        h3_control_data(x, data, len, fin);
    h3_wants(x->h);
}

/* A stream that the connection lives by. */
static int stream_is_critical(const h3_stream *x)
{
    return x->kind == H3_CONTROL || x->kind == H3_ENCODER || x->kind == H3_DECODER;
}

static void user_reset(quic_stream *qs, uint64_t code)
{
    h3_stream *x = quic_stream_user(qs);
    h3_session *h = x->h;

    BRG_ASSERT_TAG(x, H3_STREAM_TAG);
    if (stream_is_critical(x)) {
        h3_fail(h, H3_CLOSED_CRITICAL_STREAM, "a critical stream was reset");
    } else if (x->kind == H3_REQUEST && !x->over && !(x->s && x->s->remote_closed)) {
        quic_stream_reset(qs, H3_REQUEST_CANCELLED);
        stream_end_request(x);
        h3_limit_waste(h, "requests that are cancelled, again and again");
    }
    h3_wants(h);
}

static void user_stopped(quic_stream *qs, uint64_t code)
{
    h3_session *h = quic_conn_bc(quic_stream_conn(qs))->above;
    h3_stream *x = quic_stream_user(qs);

    BRG_ASSERT_TAG(h, H3_SESSION_TAG);
    if (qs == h->control) {
        h3_fail(h, H3_CLOSED_CRITICAL_STREAM, "the control stream is not read");
    } else if (x && !x->over) {
        if (!x->s || !x->s->remote_closed)
            quic_stream_stop(qs, H3_REQUEST_CANCELLED);
        stream_end_request(x);
        h3_limit_waste(h, "requests that are cancelled, again and again");
    }
    h3_wants(h);
}

static void user_ended(quic_stream *qs)
{
    h3_stream *x = quic_stream_user(qs);
    h3_session *h = x->h;

    BRG_ASSERT_TAG(x, H3_STREAM_TAG);
    BRG_ASSERT(x->qs == qs);
    stream_end_request(x);
    h3_stream_free(x);
    if (h->goaway_came)
        h3_wants(h); /* it may have been the last one */
}

static void user_room(quic_stream *qs)
{
    h3_stream *x = quic_stream_user(qs);

    BRG_ASSERT(!x || x->qs == qs);
    if (x && x->s && !x->s->asked_head)
        stream_ready(x->s);
    if (x)
        h3_wants(x->h);
}

/* ---- callbacks of the room of streams ---- */

static void protocol_sent(http_stream *s)
{
    h3_stream *x = s->carrier;
    const int comes = !s->remote_closed;

    BRG_ASSERT(x && x->s == s && !s->local_closed);
    stream_limit_earn(s->session);
    h3_stream_detach(x);
    stream_unready(s);
    stream_closed(s);
    if (comes) { /* the rest of the body is of no use: RFC 9114, 4.1 */
        s->remote_closed = 1;
        x->over = 1;
        quic_stream_stop(x->qs, H3_NO_ERROR);
        if (s->bc)
            stream_pipe_abandon(s);
    }
    stream_release(s);
}

static void protocol_wants(http_streams *all)
{
    h3_wants((h3_session *)(void *)all);
}

/* QUIC gives the connection the credit that a stream leaves. */
static void protocol_credit(http_streams *all, http_stream *s, uint32_t bytes)
{
    h3_stream *x = s ? s->carrier : NULL;

    if (x && bytes)
        quic_stream_credit(x->qs, bytes);
}

static void protocol_fail(http_stream *s)
{
    h3_stream *x = s->carrier;

    if (x)
        h3_stream_reset(x, H3_INTERNAL_ERROR);
    else
        stream_cancel(s);
}

static void protocol_file_failed(const http_stream *s, int error)
{
    const server_rec *server = s->session->bc->base;

    if (error)
        ap_log_error(APLOG_MARK, APLOG_ERR, error, server, "HTTP/3 stream %u: cannot read a file",
                     (unsigned)s->id);
    else
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "HTTP/3 stream %u: a file became shorter while it was sent", (unsigned)s->id);
}

const stream_protocol h3_protocol = {.name = "HTTP/3.0",
                                     .name_len = 8,
                                     .major = 3,
                                     .put_status = qpack_put_status,
                                     .put_line = qpack_put_line,
                                     .put_plain = qpack_put_plain,
                                     .window = h3_output_window,
                                     .put_data = h3_output_data,
                                     .put_block = h3_output_block,
                                     .sent = protocol_sent,
                                     .wants = protocol_wants,
                                     .credit = protocol_credit,
                                     .answer_stored = h3_answer_stored,
                                     .fail = protocol_fail,
                                     .file_failed = protocol_file_failed};

const quic_user h3_user = {.begun = h3_session_begun,
                           .up = h3_session_up,
                           .stream_came = user_stream_came,
                           .data = user_data,
                           .reset = user_reset,
                           .stopped = user_stopped,
                           .ended = user_ended,
                           .room = user_room,
                           .fill = h3_output_fill,
                           .closed = h3_session_closed};
