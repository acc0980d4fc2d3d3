/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends: sessions and their streams. A session lives as long as its connection; while it has streams, its loop's
 * exchanges find it (upstream_share()), and its socket's events are its own. Source: RFC 9113, 5.1, 6.8. */
#include "proxy_h2_private.h"
#include "loop.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

/* ---- streams ---- */

static void stream_unlink(h2c_stream *st)
{
    h2c_session *s = st->s;

    *st->prev = st->next;
    if (st->next)
        st->next->prev = st->prev;
    else
        s->last = st->prev;
    s->streams_n--;
    if (s->data_of == st)
        s->data_of = NULL; /* the rest of that frame is nobody's */
    if (s->found == st)
        s->found = NULL;
    st->s = NULL;
}

static void stream_free(h2c_stream *st)
{
    h2c_block *b;

    while ((b = st->blocks) != NULL) {
        st->blocks = b->next;
        free(b);
    }
    apr_brigade_cleanup(st->data);
    st->data_n = 0;
}

h2c_stream *h2c_stream_open(h2c_session *s, proxy_exchange *x)
{
    h2c_stream *st = apr_pcalloc(x->pool, sizeof *st);

    BRG_ASSERT(!s->leaving && !s->bad && s->next <= H2_STREAM_MAX);
    st->s = s;
    st->x = x;
    st->id = s->next;
    s->next += 2;
    st->began = exchange_now(x);
    st->window = s->initial;
    st->body = apr_brigade_create(x->pool, x->alloc);
    st->data = apr_brigade_create(x->pool, x->alloc);
    st->blocks_last = &st->blocks;
    st->length = -1;
    st->prev = s->last;
    *s->last = st;
    s->last = &st->next;
    s->streams_n++;
    return st;
}

h2c_stream *h2c_stream_find(h2c_session *s, uint32_t id)
{
    h2c_stream *st = s->found;

    if (st && st->id == id)
        return st;
    for (st = s->first; st && st->id != id;)
        st = st->next;
    s->found = st;
    return st;
}

void h2c_stream_wake(h2c_stream *st)
{
    proxy_exchange *x = st->x;

    if (x->loop)
        x->ticket.notify(x->ticket.baton);
}

void h2c_stream_fault(h2c_stream *st, const char *why)
{
    BRG_ASSERT(st->s); /* a stream that left gets no frames */
    if (!st->bad)
        st->bad = why;
    h2c_stream_wake(st);
}

void h2c_session_wake_senders(const h2c_session *s)
{
    for (h2c_stream *st = s->first; st; st = st->next)
        if (st->x->body.held || (st->last && !st->ended))
            h2c_stream_wake(st);
}

/* ---- sessions ---- */

static void session_end(void *baton)
{
    h2c_session *s = baton;

    BRG_ASSERT(s->next & 1); /* streams of a client are odd */
    while (s->first) {
        h2c_stream *st = s->first;

        stream_unlink(st);
        stream_free(st);
    }
    hpack_table_free(&s->table);
    h2_block_free(&s->block);
    free(s->out);
    free(s);
}

static void session_over(h2c_session *s)
{
    s->leaving = 1;
    upstream_unshare(s->cc);
    for (h2c_stream *st = s->first; st; st = st->next)
        h2c_stream_wake(st);
}

void h2c_session_fault(h2c_session *s, const char *why)
{
    if (!s->bad)
        s->bad = why;
    session_over(s);
}

void h2c_session_broken(h2c_session *s, apr_status_t rv)
{
    BRG_ASSERT(rv != APR_SUCCESS && !APR_STATUS_IS_EAGAIN(rv));
    if (s->broken == APR_SUCCESS)
        s->broken = rv;
    session_over(s);
}

int h2c_session_has_room(const h2c_session *s)
{
    return !s->leaving && s->streams_n < s->most && s->next < H2_STREAM_MAX - 2;
}

void h2c_session_read(h2c_session *s)
{
    upstream_conn *cc = s->cc;
    apr_status_t rv;

    while (!s->bad && s->broken == APR_SUCCESS) {
        rv = upstream_recv(cc, H2C_HEAD_MOST);
        if (rv == APR_SUCCESS) {
            s->heard = cc->bc.loop ? cc->bc.loop->monotonic : 0;
            h2c_demux(s);
        } else {
            if (rv != APR_EAGAIN)
                h2c_session_broken(s, rv);
            return;
        }
    }
}

/* The event of a socket whose session has streams. */
static void session_event(void *baton)
{
    h2c_session *s = baton;
    const apr_size_t waited = s->out_to - s->out_from;

    h2c_session_read(s);
    h2c_write(s);
    if (waited > s->out_to - s->out_from)
        h2c_session_wake_senders(s);
}

/* An event between exchanges: PING, SETTINGS, the rest of an answer that nobody wanted. @return 1: it can serve others */
static int session_idle(void *baton)
{
    h2c_session *s = baton;

    BRG_ASSERT(!s->first);
    h2c_session_read(s);
    h2c_write(s);
    return !s->leaving && s->out_from == s->out_to && !upstream_in_size(s->cc);
}

h2c_session *h2c_session_get(upstream_conn *cc)
{
    h2c_session *s = cc->session;

    if (!s) {
        if (!(s = calloc(1, sizeof *s)))
            return NULL;
        hpack_table_init(&s->table, HPACK_DEFAULT_TABLE_SIZE);
        s->cc = cc;
        s->last = &s->first;
        s->next = 1;
        s->most = cc->on_loop ? *upstream_shared_most(cc) : 0;
        if (!s->most)
            s->most = H2C_STREAMS;
        s->window = H2_WINDOW_DEFAULT;
        s->initial = H2_WINDOW_DEFAULT;
        s->frame_most = H2_FRAME_MAX;
        cc->session = s;
        cc->session_end = session_end;
        cc->session_idle = session_idle;
        h2c_greet(s);
    }
    cc->notify = session_event;
    cc->baton = s;
    if (cc->on_loop && upstream_origin_settings(cc->origin)->shared && !cc->shared)
        upstream_share(cc);
    return s;
}

/* Its last stream is over: others may use it later. */
static void session_rest(h2c_session *s)
{
    upstream_conn *cc = s->cc;

    if (s->leaving || s->out_from != s->out_to || s->next >= H2_STREAM_MAX - 2 || s->block.stream) {
        upstream_close(cc);
        return;
    }
    free(s->out);
    s->out = NULL;
    s->out_from = s->out_to = s->out_cap = 0;
    upstream_keep(cc);
}

/* RFC 9113, 8.1: the answer is not wanted any more; or the answer came before the body was sent, which ends here. */
static void stream_reset(h2c_session *s, const h2c_stream *st)
{
    if (s->leaving && (s->bad || s->broken != APR_SUCCESS))
        return;
    if (!st->over || !st->ended)
        h2c_put_number(s, H2_RST_STREAM, st->id, st->over ? H2_NO_ERROR : H2_CANCEL);
}

/* Nobody may be there any more. */
static int session_is_silent(const h2c_session *s, const h2c_stream *st)
{
    const apr_time_t since = s->heard > st->began ? s->heard : st->began;

    return exchange_now(st->x) - since > H2C_SILENT_US;
}

void h2c_stream_leave(h2c_stream *st)
{
    h2c_session *s = st->s;

    apr_brigade_cleanup(st->body);
    if (!s)
        return;
    stream_reset(s, st);
    if (!st->over && session_is_silent(s, st)) {
        s->leaving = 1;
        upstream_unshare(s->cc);
    }
    if (st->over && st->ended)
        s->control = 0;
    stream_unlink(st);
    stream_free(st);
    if (!s->bad && s->broken == APR_SUCCESS)
        h2c_write(s);
    if (!s->first)
        session_rest(s);
    else if (s->cc->on_loop && h2c_session_has_room(s))
        upstream_shared_tell(s->cc);
}
