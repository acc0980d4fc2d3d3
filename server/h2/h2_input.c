/* SPDX-License-Identifier: Apache-2.0 */
/* Input of the client: frames in the order in which they come, and their errors.
 *
 * A frame is looked at when it is complete, so the input buffer holds at most one incomplete frame:
 * 16 KiB. */
#include "h2_private.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define INPUT_EMPTY 100 /* DATA without data, in a row */
#define INPUT_TINY 16   /* bytes: less is little for a frame, if the body goes on */
/* one of so many is counted as cheap: typed or measured input comes in small pieces, too */
#define INPUT_TINY_SHARE 8
#define INPUT_SETTINGS 32 /* in one frame */
#define INPUT_CONTINUATIONS 8

static int input_is_right(h2_session *h, h2_breach breach)
{
    if (breach.why)
        h2_fail(h, breach.code, breach.why);
    return !breach.why;
}

/* ---- windows ---- */

static void input_window_update(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    http_stream *s = f->stream ? stream_find(&h->streams, f->stream) : NULL;
    const uint32_t bytes = h2_get32(payload) & H2_WINDOW_MAX;

    if (!f->stream) {
        if (!bytes)
            h2_fail(h, H2_PROTOCOL_ERROR, "WINDOW_UPDATE of 0");
        else if (input_is_right(h, h2_window_add(&h->window, bytes)) && h->window == bytes)
            streams_ready(&h->streams); /* it was closed */
        return;
    }
    if (!s) {
        if (f->stream > h->last_id)
            h2_fail(h, H2_PROTOCOL_ERROR, "WINDOW_UPDATE for a stream that is not open");
        else
            h2_limit_cheap(h, "WINDOW_UPDATE for streams that ended, again and again");
        return;
    }
    if (!bytes || h2_window_add(&s->window, bytes).why) {
        h2_stream_reset(s, bytes ? H2_FLOW_CONTROL_ERROR : H2_PROTOCOL_ERROR);
        h2_limit_fault(h, "wrong WINDOW_UPDATE frames, again and again");
        return;
    }
    if (bytes < 16 && h2_limit_cheap(h, "tiny WINDOW_UPDATE frames"))
        return;
    stream_ready(s);
}

/* ---- SETTINGS ---- */

static h2_breach input_setting(void *baton, unsigned id, uint32_t value)
{
    h2_session *h = baton;
    const int64_t delta = (int64_t)value - h->peer_window;
    h2_breach breach = {H2_NO_ERROR, NULL};

    if (id != H2_SET_INITIAL_WINDOW_SIZE) /* frames of a longer size are never sent, nor pushes */
        return breach;
    h->peer_window = value;
    for (int i = 0; i < STREAM_BUCKETS; i++)
        for (http_stream *s = h->streams.bucket[i]; s && !breach.why; s = s->next) {
            breach = h2_window_add(&s->window, delta);
            if (s->window > 0 && !s->local_closed)
                stream_ready(s);
        }
    return breach;
}

void h2_input_settings(h2_session *h, const uint8_t *payload, uint32_t len)
{
    (void)input_is_right(h, h2_settings_read(payload, len, input_setting, h));
}

static void input_settings(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    if (f->len > 6 * INPUT_SETTINGS) {
        h2_fail(h, H2_ENHANCE_YOUR_CALM, "SETTINGS with too many values");
    } else if (!(f->flags & H2_ACK)) {
        h2_input_settings(h, payload, f->len);
        if (!h->streams.ending &&
            !(h->settings_came && h2_limit_cheap(h, "SETTINGS, again and again")))
            h2_ctl(h, H2_SETTINGS, H2_ACK, 0, NULL, 0);
        h->settings_came = 1;
    } else {
        h2_limit_cheap(h, "SETTINGS that acknowledge, again and again");
    }
}

/* ---- DATA ---- */

/* @return 0; -1: f is longer than the window, and the connection ends */
static int input_window_use(h2_session *h, const h2_frame *f)
{
    h->recv_window -= (int32_t)f->len;
    if (h->recv_window >= 0)
        return 0;
    h2_fail(h, H2_FLOW_CONTROL_ERROR, "DATA over the connection's window");
    return -1;
}

static void input_data_late(h2_session *h, const h2_frame *f)
{
    h2_credit(h, 0, f->len);
    if (f->stream > h->last_id || !(f->stream & 1))
        h2_fail(h, H2_PROTOCOL_ERROR, "DATA on a stream that is not open");
    else if (!h2_was_reset(h, f->stream)) {
        h2_reset_id(h, f->stream, H2_STREAM_CLOSED);
        h2_limit_fault(h, "DATA on streams that ended, again and again");
    }
}

static void input_data_bad(http_stream *s, h2_error code)
{
    h2_session *h = h2_session_of(s);

    h2_stream_reset(s, code);
    h2_limit_fault(h, "faults in request bodies, again and again");
}

static void input_data_take(http_stream *s, const h2_frame *f, const uint8_t *payload, uint32_t len)
{
    h2_session *h = h2_session_of(s);
    const stream_body_said said = stream_body_take(s, payload, len);

    BRG_ASSERT(len <= f->len);
    if (said == STREAM_BODY_WRONG) {
        h2_credit(h, 0, f->len);
        input_data_bad(s, H2_PROTOCOL_ERROR);
        return;
    }
    if (f->len > len) { /* padding is not read by anybody */
        h2_credit(h, 0, f->len - len);
        s->recv_window += (int32_t)(f->len - len);
        if (!(f->flags & H2_END_STREAM))
            h2_credit(h, s->id, f->len - len);
    }
    if (said != STREAM_BODY_TAKEN)
        h2_credit(h, 0, len);
    if (said == STREAM_BODY_NO_MEMORY) {
        h2_stream_reset(s, H2_INTERNAL_ERROR);
        return;
    }
    if (f->flags & H2_END_STREAM && stream_body_end(s)) {
        input_data_bad(s, H2_PROTOCOL_ERROR);
        return;
    }
    if (s->pipe)
        stream_pipe_go_on(s);
}

static void input_data(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    http_stream *s = stream_find(&h->streams, f->stream);
    uint32_t len;

    if (h2_unpad(f, &payload, &len)) {
        h2_fail(h, H2_PROTOCOL_ERROR, "padding longer than its frame");
        return;
    }
    h->empty = len || f->flags & H2_END_STREAM ? 0 : h->empty + 1;
    if (h->empty > INPUT_EMPTY) {
        h2_fail(h, H2_ENHANCE_YOUR_CALM, "DATA frames without data, again and again");
        return;
    }
    if (len < INPUT_TINY && !(f->flags & H2_END_STREAM) && ++h->tiny % INPUT_TINY_SHARE == 0 &&
        h2_limit_cheap(h, "tiny DATA frames, again and again"))
        return;
    if (input_window_use(h, f))
        return;
    if (!s || s->local_closed) {
        input_data_late(h, f);
    } else if (s->remote_closed) {
        h2_credit(h, 0, f->len);
        input_data_bad(s, H2_STREAM_CLOSED);
    } else if ((s->recv_window -= (int32_t)f->len) < 0) {
        h2_credit(h, 0, f->len);
        input_data_bad(s, H2_FLOW_CONTROL_ERROR);
    } else {
        input_data_take(s, f, payload, len);
    }
}

/* ---- the others ---- */

static void input_priority(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    http_stream *s = stream_find(&h->streams, f->stream);

    if (f->len != 5) {
        if (s) {
            h2_stream_reset(s, H2_FRAME_SIZE_ERROR);
            h2_limit_fault(h, "PRIORITY frames of a wrong length, again and again");
        } else {
            h2_fail(h, H2_FRAME_SIZE_ERROR, "PRIORITY of another length than 5");
        }
        return;
    }
    if ((h2_get32(payload) & H2_STREAM_MAX) == f->stream) {
        h2_fail(h, H2_PROTOCOL_ERROR, "a stream that depends on itself");
        return;
    }
    h2_limit_cheap(h, "PRIORITY frames, again and again");
}

static void input_rst(h2_session *h, const h2_frame *f)
{
    http_stream *s;

    if (f->stream > h->last_id || !(f->stream & 1)) {
        h2_fail(h, H2_PROTOCOL_ERROR, "RST_STREAM for a stream that is not open");
        return;
    }
    s = stream_find(&h->streams, f->stream);
    if (s && !s->local_closed)
        stream_cancel(s);
    h2_limit_waste(h, "streams reset by the client, again and again");
}

static void input_ping(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    if (h2_limit_cheap(h, "PING, again and again"))
        return;
    else if (!(f->flags & H2_ACK))
        h2_ctl(h, H2_PING, H2_ACK, 0, payload, 8);
    else if (h->leaving && !h->goaway_sent)
        h2_goaway(h, H2_NO_ERROR);
}

static void input_priority_update(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    const uint32_t id = h2_get32(payload) & H2_STREAM_MAX;
    http_stream *s;

    if (!id) {
        h2_fail(h, H2_PROTOCOL_ERROR, "PRIORITY_UPDATE for stream 0");
        return;
    }
    if (h2_limit_cheap(h, "PRIORITY_UPDATE frames, again and again"))
        return;
    s = stream_find(&h->streams, id);
    if (s)
        stream_set_priority(s, (const char *)payload + 4, f->len - 4);
}

static void input_block(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    h2_block *b = &h->block;

    if (!(f->stream & 1))
        h2_fail(h, H2_PROTOCOL_ERROR, "HEADERS on a stream that is not the client's");
    else if (input_is_right(h, h2_block_take(b, f, payload, (uint32_t)h->conf.max_block,
                                             INPUT_CONTINUATIONS)) &&
             !b->stream) {
        h2_take_block(h, f->stream, b->flags, b->data, b->len);
        h2_block_free(b);
    }
}

static void input_frame(h2_session *h, const h2_frame *f, const uint8_t *payload)
{
    if (!h->settings_came && f->type != H2_SETTINGS) {
        h2_fail(h, H2_PROTOCOL_ERROR, "the first frame is not SETTINGS");
        return;
    }
    if (h->goaway_sent && f->stream > h->last_id && f->type != H2_HEADERS &&
        f->type != H2_CONTINUATION) {
        if (f->type == H2_DATA && !input_window_use(h, f))
            h2_credit(h, 0, f->len);
        return;
    }
    switch (f->type) {
    case H2_DATA:
        input_data(h, f, payload);
        break;
    case H2_HEADERS:
    case H2_CONTINUATION:
        input_block(h, f, payload);
        break;
    case H2_PRIORITY:
        input_priority(h, f, payload);
        break;
    case H2_RST_STREAM:
        input_rst(h, f);
        break;
    case H2_SETTINGS:
        input_settings(h, f, payload);
        break;
    case H2_PING:
        input_ping(h, f, payload);
        break;
    case H2_GOAWAY:
        h->goaway_came = 1;
        break;
    case H2_WINDOW_UPDATE:
        input_window_update(h, f, payload);
        break;
    case H2_PRIORITY_UPDATE:
        input_priority_update(h, f, payload);
        break;
    default: /* RFC 9113, 5.5: unknown types are dropped */
        h2_limit_cheap(h, "frames of unknown types, again and again");
        break;
    }
}

static int input_preface(h2_session *h)
{
    brg_conn *bc = h->streams.bc;
    size_t n = conn_in_size(bc) < H2_PREFACE_LEN ? conn_in_size(bc) : H2_PREFACE_LEN;

    BRG_ASSERT(!h->streams.n && !h->last_id); /* stream 1 of an upgrade waits for the preface */
    if (memcmp(bc->input.at + bc->input.off, H2_PREFACE, n) != 0) {
        h2_fail(h, H2_PROTOCOL_ERROR, "no preface of HTTP/2");
        return 0;
    }
    if (n < H2_PREFACE_LEN)
        return 0;
    conn_in_consume(bc, H2_PREFACE_LEN);
    h->preface = 1;
    h2_upgrade_run(h);
    return 1;
}

void h2_input(h2_session *h)
{
    brg_conn *bc = h->streams.bc;

    BRG_ASSERT_DEBUG(loop_self() == bc->loop && h->running && !h->streams.ending);
    if (!h->preface && conn_in_size(bc) && !input_preface(h))
        return;
    while (!h->streams.ending && conn_in_size(bc) >= H2_FRAME_HEAD) {
        if (stream_turn_is_over(&h->streams)) {
            h->streams.more = 1;
            return;
        }
        const uint8_t *in = (const uint8_t *)bc->input.at + bc->input.off;
        h2_frame f = h2_get_frame(in);

        if (!input_is_right(h, h2_frame_check(&f, &h->block)))
            return;
        if (conn_in_size(bc) < H2_FRAME_HEAD + f.len)
            break;
        input_frame(h, &f, in + H2_FRAME_HEAD);
        conn_in_consume(bc, H2_FRAME_HEAD + f.len);
        if (!h->block.stream)
            h->frame_began = bc->loop->monotonic;
    }
}
