/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a connection: the table of those that are there, and how they end. */
#include "h2_private.h"
#include "brigade/assert.h"
#include <stdlib.h>

static unsigned stream_bucket(uint32_t id)
{
    return id / 2 % H2_BUCKETS;
}

h2_stream *h2_stream_find(const h2_session *h, uint32_t id)
{
    h2_stream *s = h->bucket[stream_bucket(id)];

    while (s && s->id != id)
        s = s->next;
    return s;
}

h2_stream *h2_stream_open(h2_session *h, uint32_t id)
{
    h2_stream *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    BRG_ASSERT(id && !h2_stream_find(h, id));
    s->tag = H2_STREAM_TAG;
    s->id = id;
    s->session = h;
    s->window = h->peer_window;
    s->recv_window = h->conf.window;
    s->urgency = H2_URGENCY_DEFAULT;
    s->next = h->bucket[stream_bucket(id)];
    h->bucket[stream_bucket(id)] = s;
    h->streams_n++;
    h->open_n++;
    h->bc->loop->http2_streams_n++;
    return s;
}

static h2_list *stream_list(const h2_stream *s)
{
    BRG_ASSERT(s->urgency < H2_URGENCIES);
    return s->asked_head ? &s->session->waiting[s->urgency] : &s->session->ready[s->urgency];
}

void h2_stream_ready(h2_stream *s)
{
    h2_list *list = stream_list(s);

    if (s->ready_prev || s->local_closed)
        return;
    s->ready_next = NULL;
    s->ready_prev = list->tail;
    *list->tail = s;
    list->tail = &s->ready_next;
}

void h2_stream_unready(h2_stream *s)
{
    if (!s->ready_prev)
        return;
    *s->ready_prev = s->ready_next;
    if (s->ready_next)
        s->ready_next->ready_prev = s->ready_prev;
    else
        stream_list(s)->tail = s->ready_prev;
    s->ready_prev = NULL;
}

/* The client counts it no more. */
static void stream_closed(h2_stream *s)
{
    if (s->local_closed)
        return;
    BRG_ASSERT(s->session->open_n > 0);
    s->session->open_n--;
    s->local_closed = 1;
}

void h2_stream_release(h2_stream *s)
{
    h2_session *h = s->session;
    h2_stream **at = &h->bucket[stream_bucket(s->id)];

    BRG_ASSERT_TAG(s, H2_STREAM_TAG);
    if (!s->local_closed || s->bc)
        return;
    BRG_ASSERT(!s->asked_head && h->streams_n > h->open_n); /* the client counts it no more */
    h2_stream_unready(s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    h->streams_n--;
    h->bc->loop->http2_streams_n--;
    h2_file_end(s);
    if (s->owner)
        shared_release(s->owner);
    h2_pipe_free(s);
    s->tag = 0;
    free(s);
    if (!h->streams_n)
        h->bc->idle_until = h->bc->loop->monotonic + h->bc->base->keep_alive_timeout;
}

/* Nothing more is sent on it. */
static void stream_over(h2_stream *s)
{
    h2_wait_end(s);
    h2_stream_unready(s);
    stream_closed(s);
    s->remote_closed = 1;
    if (s->pipe)
        h2_pipe_cancel(s);
    else if (s->bc && !loop_self()) /* no worker will return it: their threads have ended */
        s->bc->driver->drop(s->bc);
    h2_stream_release(s);
}

void h2_reset_id(h2_session *h, uint32_t id, h2_error code)
{
    uint8_t payload[4];

    BRG_ASSERT(id && id <= h->last_id); /* a stream that there was */
    h->reset_ids[h->reset_at++ % (sizeof h->reset_ids / sizeof *h->reset_ids)] = id;
    h2_put32(payload, code);
    h2_ctl(h, H2_RST_STREAM, 0, id, payload, sizeof payload);
}

int h2_was_reset(const h2_session *h, uint32_t id)
{
    for (size_t i = 0; i < sizeof h->reset_ids / sizeof *h->reset_ids; i++)
        if (h->reset_ids[i] == id)
            return 1;
    return 0;
}

void h2_stream_reset(h2_stream *s, h2_error code)
{
    BRG_ASSERT_TAG(s, H2_STREAM_TAG);
    if (!s->local_closed)
        h2_reset_id(s->session, s->id, code);
    stream_over(s);
}

void h2_stream_cancel(h2_stream *s)
{
    BRG_ASSERT_TAG(s, H2_STREAM_TAG);
    stream_over(s);
}

void h2_stream_sent(h2_stream *s)
{
    h2_session *h = s->session;

    BRG_ASSERT(!s->local_closed);
    h2_limit_earn(h);
    h2_stream_unready(s);
    stream_closed(s);
    if (!s->remote_closed) { /* the rest of the body is of no use: RFC 9113, 8.1 */
        s->remote_closed = 1;
        h2_reset_id(h, s->id, H2_NO_ERROR);
        if (s->bc)
            h2_pipe_abandon(s);
    }
    h2_stream_release(s);
}
