/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends: frames that carry nothing of an answer: settings, windows, pings, ends. Source: RFC 9113, 6.4 to 6.9, 8.7. */
#include "proxy_h2_private.h"
#include <string.h>

/* Answers to the backend wait while it reads nothing. @return 0: too many */
static int control_answer(h2c_session *s, const uint8_t *data, apr_size_t len)
{
    if (s->out_to - s->out_from > H2C_OUT_MOST) {
        h2c_session_fault(s, "a flood of frames");
        return 0;
    }
    h2c_out(s, data, len);
    return 1;
}

static h2_breach settings_window(h2c_session *s, uint32_t value)
{
    h2_breach breach = {H2_NO_ERROR, NULL};

    for (h2c_stream *st = s->first; st && !breach.why; st = st->next)
        breach = h2_window_add(&st->window, (int64_t)value - s->initial);
    s->initial = value;
    if (!breach.why)
        h2c_session_wake_senders(s);
    return breach;
}

static void settings_streams(h2c_session *s, uint32_t value)
{
    s->most = value < H2C_STREAMS_MOST ? value : H2C_STREAMS_MOST;
    if (!s->cc->on_loop)
        return;
    *upstream_shared_most(s->cc) = s->most;
    if (h2c_session_has_room(s))
        upstream_shared_tell(s->cc);
}

static h2_breach settings_one(void *baton, unsigned id, uint32_t value)
{
    h2c_session *s = baton;

    if (id == H2_SET_INITIAL_WINDOW_SIZE)
        return settings_window(s, value);
    if (id == H2_SET_MAX_FRAME_SIZE)
        s->frame_most = value < 65536 ? value : 65536;
    else if (id == H2_SET_MAX_CONCURRENT_STREAMS)
        settings_streams(s, value);
    return (h2_breach){H2_NO_ERROR, NULL};
}

static void control_settings(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    uint8_t ack[H2_FRAME_HEAD];

    if (f->flags & H2_ACK || !h2c_is_right(s, h2_settings_read(p, f->len, settings_one, s)))
        return;
    h2_put_frame(ack, 0, H2_SETTINGS, H2_ACK, 0);
    (void)control_answer(s, ack, sizeof ack);
}

static void control_ping(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    uint8_t pong[H2_FRAME_HEAD + 8];

    if (f->flags & H2_ACK)
        return;
    memcpy(h2_put_frame(pong, 8, H2_PING, H2_ACK, 0), p, 8);
    (void)control_answer(s, pong, sizeof pong);
}

static void control_window(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    h2c_stream *st = f->stream ? h2c_stream_find(s, f->stream) : NULL;
    int64_t *window = f->stream ? (st ? &st->window : NULL) : &s->window;

    if (!window || !h2c_is_right(s, h2_window_add(window, h2_get32(p) & H2_WINDOW_MAX)))
        return;
    if (st)
        h2c_stream_wake(st);
    else
        h2c_session_wake_senders(s);
}

/* RFC 9113, 8.7: the backend has not looked at the request, so it is sent again at no charge. */
static void stream_untouched(h2c_stream *st)
{
    st->untouched = 1;
    h2c_stream_fault(st, "the backend refused the stream");
}

static void control_reset(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    h2c_stream *st = h2c_stream_find(s, f->stream);

    if (!st)
        return;
    st->ended = 1; /* no more is sent */
    if (st->over)
        return;
    st->over = 1;
    if (h2_get32(p) == H2_REFUSED_STREAM && !st->headed) {
        if (s->streams_n > 1 && s->most >= s->streams_n)
            s->most = s->streams_n - 1;
        stream_untouched(st);
    } else {
        h2c_stream_fault(st, "the backend reset the stream");
    }
}

static void control_goaway(h2c_session *s, const uint8_t *p)
{
    s->leaving = 1;
    upstream_unshare(s->cc);
    for (h2c_stream *st = s->first; st; st = st->next)
        if ((h2_get32(p) & H2_STREAM_MAX) < st->id && !st->headed)
            stream_untouched(st);
}

void h2c_control(h2c_session *s, const h2_frame *f, const uint8_t *p)
{
    switch (f->type) {
    case H2_SETTINGS:
        control_settings(s, f, p);
        break;
    case H2_PING:
        control_ping(s, f, p);
        break;
    case H2_WINDOW_UPDATE:
        control_window(s, f, p);
        break;
    case H2_RST_STREAM:
        control_reset(s, f, p);
        break;
    case H2_GOAWAY:
        control_goaway(s, p);
        break;
    default:
        break;
    }
}
