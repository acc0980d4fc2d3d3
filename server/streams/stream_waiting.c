/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that memory did not answer, until it is their turn: a turn of the loop runs so many of a
 * connection's as of one of HTTP/1, and then others have theirs. All received frames are taken
 * before, so that a stream that the client reset is not run.
 *
 *   stream_wait()         the head is copied; the stream is on http_streams.waiting, by urgency
 *   stream_run_waiting()  from memory, if that can answer by now; by a plan (h1/h1_ahead.h), whose full way keeps the head; else
 *                     the driver of HTTP/1 has it, whose handlers are run together with those of others (loop_later())
 *
 * No more run at once than the client may have open, those included that it reset meanwhile: they wait as well; as they do
 * while workers have some that take long. */
#include "counted_lock.h"
#include "streams.h"
#include "cache_plan.h"
#include "connection.h"
#include "h1_ahead.h"
#include "h1_conn.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

struct stream_asked {
    apr_time_t turn;      /* of the loop, in which it came */
    cache_entry *planned; /* held; NULL */
    http_head head;       /* its room for fields is not there */
};

#define ASKED_HEAD (offsetof(stream_asked, head) + offsetof(http_head, own))

/* ---- heads ---- */

static size_t asked_size(const http_head *head)
{
    size_t size = ASKED_HEAD + head->n_fields * sizeof *head->field + head->method_len +
                  head->uri_len + head->bad_len;

    for (int i = 0; i < head->n_fields; i++)
        size += head->field[i].name_len + head->field[i].value_len;
    return size;
}

static const char *asked_put(char **to, const char *text, uint32_t len)
{
    char *at = *to;

    if (!text)
        return NULL;
    memcpy(at, text, len);
    *to += len;
    return at;
}

static stream_asked *asked_copy(const http_head *head)
{
    stream_asked *a = malloc(asked_size(head));
    char *to;

    if (!a)
        return NULL;
    memcpy(&a->head, head, offsetof(http_head, own));
    a->head.field = (http_field *)(void *)((char *)a + ASKED_HEAD);
    to = (char *)(a->head.field + head->n_fields);
    a->head.method = asked_put(&to, head->method, head->method_len);
    a->head.uri = asked_put(&to, head->uri, head->uri_len);
    a->head.bad = asked_put(&to, head->bad, head->bad_len);
    for (int i = 0; i < head->n_fields; i++) {
        http_field *f = &a->head.field[i];

        *f = head->field[i];
        f->name = asked_put(&to, f->name, f->name_len);
        f->value = asked_put(&to, f->value, f->value_len);
    }
    BRG_ASSERT((size_t)(to - (char *)a) <= asked_size(head));
    return a;
}

/* A plan is found with each look-up. */
static void asked_plan(stream_asked *a, cache_entry *planned)
{
    if (planned)
        cache_hold(planned);
    if (a->planned)
        cache_release(a->planned);
    a->planned = planned;
}

static void asked_free(stream_asked *a)
{
    asked_plan(a, NULL);
    free(a);
}

/* ---- waiting ---- */

int stream_wait(http_stream *s, const http_head *head, cache_entry *planned)
{
    http_streams *all = s->session;

    BRG_ASSERT(!s->asked_head && !s->ready_prev && s->bc);
    if (!(s->asked_head = asked_copy(head)))
        return -1;
    s->asked_head->turn = all->bc->loop->turn.began;
    s->asked_head->planned = NULL;
    asked_plan(s->asked_head, planned);
    all->waiting_n++;
    stream_ready(s);
    return 0;
}

/* @return its head, which is the caller's */
static stream_asked *waiting_over(http_stream *s)
{
    stream_asked *a = s->asked_head;

    BRG_ASSERT(a && s->session->waiting_n > 0);
    stream_unready(s);
    s->asked_head = NULL;
    s->session->waiting_n--;
    return a;
}

void stream_wait_end(http_stream *s)
{
    if (s->asked_head)
        asked_free(waiting_over(s));
}

/* ---- running ---- */

/* @return 1: it was answered, and s is gone */
static int waiting_from_memory(http_stream *s)
{
    brg_conn *bc = s->session->bc;
    cache_entry *planned;

    BRG_ASSERT(s->asked_head && !s->answered && !s->local_closed);
    if (!s->remote_closed || s->is_tunnel)
        return 0;
    if (s->session->protocol->answer_stored(s, &s->asked_head->head, &planned)) {
        bc->requests--; /* it was counted as a stream, too */
        return 1;
    }
    asked_plan(s->asked_head, planned);
    return 0;
}

/* conn_ahead_carrier.attach: a conn_rec of its own below the connection's. @return 0: it cannot have one */
static int waiting_attach(brg_conn *stream)
{
    http_stream *s = stream->below;
    http_streams *all = s->session;
    brg_conn *bc = all->bc;

    BRG_ASSERT(s->pipe && s->bc->master == bc && !s->bc->c); /* it did not run yet */
    if ((!bc->c && connection_attach(bc) != APR_SUCCESS) ||
        connection_attach_stream(s->bc) != APR_SUCCESS)
        return 0;
    connection_stream_timeout(s->bc, all->terms.timeout);
    if (!all->terms.buffering)
        core_output_at_once(s->bc);
    return 1;
}

static void waiting_run(http_stream *s)
{
    stream_asked *a;

    if (!waiting_attach(s->bc)) {
        s->session->protocol->fail(s);
        return;
    }
    a = waiting_over(s);
    h1_stream_run(s->bc, &a->head);
    asked_free(a);
}

/* ---- by a plan ---- */

/* On the loop, while nobody else has s. */
static void ahead_unreserve(http_stream *s)
{
    s->session->reserved -= s->pipe->reserved;
    s->pipe->reserved = 0;
}

/* conn_ahead_carrier.full */
static void ahead_full(brg_conn *bc)
{
    http_stream *s = bc->below;
    http_streams *all = s->session;
    stream_asked *a = s->ahead;

    BRG_ASSERT(a && s->bc == bc);
    ahead_unreserve(s);
    s->ahead = NULL;
    if (waiting_attach(bc)) {
        h1_stream_run(bc, &a->head);
    } else {
        all->protocol->fail(s);
        all->protocol->wants(all);
    }
    asked_free(a);
}

/* conn_ahead_carrier.reserve: bytes put into the pipe count twice until it is over. */
static int ahead_reserve(brg_conn *bc, size_t len)
{
    http_stream *s = bc->below;
    http_streams *all = s->session;
    int room;

    BRG_ASSERT(!s->pipe->reserved && !bc->c);
    lock_counted(&all->lock, LOCK_STREAMS);
    room = len <= (size_t)all->terms.max_memory &&
           all->out_bytes + all->reserved + len <= (size_t)STREAM_OUTPUT_MOST;
    if (room)
        s->pipe->reserved = len;
    pthread_mutex_unlock(&all->lock);
    all->reserved += room ? len : 0;
    return room;
}

static const conn_ahead_carrier stream_carrier = {
    .full = ahead_full, .reserve = ahead_reserve, .attach = waiting_attach};

void stream_ahead_end(http_stream *s)
{
    ahead_unreserve(s);
    if (s->ahead)
        asked_free(s->ahead);
    s->ahead = NULL;
}

/* The first request of a connection takes the full way: hooks of connections see it. @return 1: it was sent on, and waits no longer */
static int waiting_goes_ahead(http_stream *s)
{
    stream_asked *a = s->asked_head;

    BRG_ASSERT(a && !s->ahead && s->bc->state == CONN_HEAD);
    if (!a->planned || !s->session->bc->c)
        return 0;
    s->ahead = waiting_over(s);
    if (h1_ahead_begin_stream(s->bc, a->planned, &a->head, &stream_carrier))
        return 1;
    s->asked_head = a;
    s->ahead = NULL;
    s->session->waiting_n++;
    return 0;
}

/* Slow requests occupy the processors already: preparing more of them is in vain if the client
 * leaves. */
static http_stream *waiting_next(const http_streams *all)
{
    BRG_ASSERT(all->running_n >= all->waiting_n);
    if (all->running_n - all->waiting_n >= (unsigned)all->terms.max_streams ||
        all->bc->queue.longs_n >= STREAM_LONGS_MOST)
        return NULL;
    return stream_first(all->waiting);
}

void stream_run_waiting(http_streams *all)
{
    brg_loop *loop = all->bc->loop;
    const int others = loop->turn.more_ready;
    http_stream *s;

    while (!all->bc->failed && !all->bc->pending && !all->ending &&
           (s = waiting_next(all)) != NULL) {
        if (stream_turn_is_over(all) || loop->turn.later_n == LOOP_COHORT) {
            all->more = 1;
            break;
        }
        /* Nothing can have come to memory since it was looked for there. */
        if ((all->answered || s->asked_head->turn != loop->turn.began) && waiting_from_memory(s))
            continue;
        all->answered++;
        loop->turn.more_ready = others || all->waiting_n > 1;
        if (!waiting_goes_ahead(s))
            waiting_run(s);
    }
    loop->turn.more_ready = others;
}
