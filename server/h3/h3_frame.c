/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a request's stream, in pieces of any size. A field section is looked at when it is whole, and where it came, if it came
 * in one piece; data as it comes. */
#include "h3_private.h"
#include <string.h>

size_t h3_head_take(h3_stream *x, const uint8_t *data, size_t len, int n, int *done)
{
    size_t taken = 0, need;

    BRG_ASSERT(n >= 1 && n <= 2 && x->head_n <= sizeof x->head);
    for (*done = 0;;) {
        need = 0;
        for (int i = 0; i < n; i++) {
            if (need >= x->head_n) {
                need++;
                break;
            }
            need += h3_int_len(x->head[need]);
        }
        if (x->head_n >= need) {
            *done = 1;
            return taken;
        }
        if (taken == len)
            return taken;
        x->head[x->head_n++] = data[taken++];
    }
}

/* ---- the beginning of a frame ---- */

static int frame_is_wrong(const h3_stream *x)
{
    if (x->type == H3_DATA)
        return !x->got_head || x->got_trailers;
    if (x->type == H3_HEADERS)
        return x->got_trailers;
    return x->type == H3_CANCEL_PUSH || x->type == H3_SETTINGS || x->type == H3_PUSH_PROMISE ||
           x->type == H3_GOAWAY || x->type == H3_MAX_PUSH_ID || h3_frame_is_h2(x->type) ||
           x->type == H3_PRIORITY_UPDATE || x->type == H3_PRIORITY_UPDATE_PUSH;
}

static void frame_begin(h3_stream *x)
{
    h3_session *h = x->h;

    BRG_ASSERT(!x->in_frame && x->head_n >= 2);
    x->type = h3_int_get(x->head);
    x->left = h3_int_get(x->head + h3_int_len(*x->head));
    x->head_n = 0;
    x->in_frame = 1;
    if (frame_is_wrong(x)) {
        h3_fail(h, H3_FRAME_UNEXPECTED, "a frame that a request's stream must not have there");
    } else if (x->type == H3_HEADERS && x->left > (uint64_t)h->streams.terms.max_block) {
        h3_stream_reset(x, H3_EXCESSIVE_LOAD);
        h3_limit_fault(h, "field sections that are too long, again and again");
    } else if (x->type != H3_DATA && x->type != H3_HEADERS) {
        h3_limit_cheap(h, "frames of unknown types, again and again");
    } else if (x->type == H3_DATA && !x->left) {
        h3_limit_cheap(h, "DATA frames without data, again and again");
    }
}

/* ---- content of frames ---- */

static void frame_body_bad(h3_stream *x, h3_error code)
{
    h3_stream_reset(x, code);
    h3_limit_fault(x->h, "faults in request bodies, again and again");
}

static void frame_body(h3_stream *x, const uint8_t *data, size_t len)
{
    h3_session *h = x->h;
    http_stream *s = x->s;
    stream_body_said said;

    BRG_ASSERT(x->got_head && len <= x->left);

    if (!s || s->remote_closed) {
        quic_stream_credit(x->qs, len); /* it was answered, and is of no use */
        return;
    }
    if (h->conf->max_body && s->came + len > (uint64_t)h->conf->max_body) {
        frame_body_bad(x, H3_EXCESSIVE_LOAD);
        return;
    }
    said = stream_body_take(s, data, len);
    if (said == STREAM_BODY_TAKEN)
        stream_pipe_go_on(s);
    else if (said == STREAM_BODY_UNWANTED)
        quic_stream_credit(x->qs, len);
    else if (said == STREAM_BODY_WRONG)
        frame_body_bad(x, H3_MESSAGE_ERROR);
    else
        h3_stream_reset(x, H3_INTERNAL_ERROR);
}

/* A whole field section. */
static void frame_section(h3_stream *x, const uint8_t *data, size_t len, int fin, int more)
{
    if (!h3_take_block(x, data, len, fin, more)) {
        h3_stream_drop_block(x);
        x->deferred = 0;
        return;
    }
    if (data == x->block || !h3_stream_keep(x, data, len))
        x->deferred = 1;
}

/* Bytes of a field section. @param more  bytes follow it */
static void frame_block(h3_stream *x, const uint8_t *data, size_t len, int fin, int more)
{
    BRG_ASSERT(len <= x->left && !x->deferred);
    quic_stream_credit(x->qs, len);
    if (len == x->left && !x->block_len)
        frame_section(x, data, len, fin, more);
    else if (!h3_stream_keep(x, data, len) && len == x->left)
        frame_section(x, x->block, x->block_len, fin, more);
}

/* ---- the stream ---- */

/* Bytes of the frame that is under way. @param fin, more  the end, or more bytes, behind them */
static void frame_bytes(h3_stream *x, const uint8_t *data, size_t len, int fin, int more)
{
    if (x->type == H3_HEADERS)
        frame_block(x, data, len, fin, more);
    else if (x->type == H3_DATA)
        frame_body(x, data, len);
    else
        quic_stream_credit(x->qs, len);
    x->left -= len;
    x->in_frame = x->left != 0;
}

static int frame_stops(const h3_stream *x)
{
    return x->over || x->h->streams.ending;
}

/* One step. @return bytes taken */
static size_t frame_step(h3_stream *x, const uint8_t *data, size_t len, int fin)
{
    size_t n = 0;
    int done = 1;

    if (!x->in_frame) {
        n = h3_head_take(x, data, len, 2, &done);
        quic_stream_credit(x->qs, n);
        if (done)
            frame_begin(x);
    }
    if (done && !frame_stops(x)) {
        const size_t part = x->left < len - n ? (size_t)x->left : len - n;

        if (part || !x->left)
            frame_bytes(x, data + n, part, fin && n + part == len, n + part < len);
        n += part;
    }
    return n;
}

/* The end of the stream. */
static void frame_over(h3_stream *x)
{
    BRG_ASSERT(!x->over && x->kind == H3_REQUEST);
    if (x->in_frame || x->head_n) {
        h3_fail(x->h, H3_FRAME_ERROR, "a stream that ends within a frame");
    } else if (x->deferred) {
        frame_section(x, x->block, x->block_len, 1, 0);
    } else if (!x->got_head) {
        frame_body_bad(x, H3_REQUEST_INCOMPLETE);
    } else if (x->s && !x->s->remote_closed) {
        if (stream_body_end(x->s))
            frame_body_bad(x, H3_MESSAGE_ERROR);
        else if (x->s->pipe)
            stream_pipe_go_on(x->s);
    }
}

void h3_frame_request(h3_stream *x, const uint8_t *data, size_t len, int fin)
{
    if (len && x->deferred) /* bytes follow a request that could have been without a body */
        frame_section(x, x->block, x->block_len, 0, 1);
    while (len && !frame_stops(x)) {
        const size_t n = frame_step(x, data, len, fin);

        data += n;
        len -= n;
    }
    if (len)
        quic_stream_credit(x->qs, len);
    else if (fin && !frame_stops(x))
        frame_over(x);
}
