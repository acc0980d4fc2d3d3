/* SPDX-License-Identifier: Apache-2.0 */
/* The transport of a stream that runs as a request: the body of the request comes from here as it
 * is. For the response see stream_pipe_output.c.
 *
 * The loop or a worker reads and writes; the loop alone brings bodies and takes output. Shared
 * fields are under the session's lock, which nobody holds for longer than copying some kilobytes
 * takes. */
#include "stream_pipe_private.h"
#include "clock.h"
#include "connection.h"
#include "h1_conn.h"
#include "loop_drain.h"
#include "thread_self.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* With the lock held: the loop is to look at it. @return 1: it has to be told */
static int pipe_mark(http_stream *s)
{
    if (s->pipe->dirty)
        return 0;
    s->pipe->dirty = 1;
    s->pipe->dirty_next = s->session->dirty;
    s->session->dirty = s;
    return 1;
}

/* Its worker returned it before the note that tells of it was seen, where the worker of another stream is about to post
 * that note. */
static void pipe_unmark(http_stream *s)
{
    http_stream **at = &s->session->dirty;

    if (!s->pipe->dirty)
        return;
    pipe_lock(s);
    while (*at && *at != s)
        at = &(*at)->pipe->dirty_next;
    if (*at)
        *at = s->pipe->dirty_next;
    s->pipe->dirty = 0;
    pipe_unlock(s);
}

/* Changes by the thread that runs the request. */
void stream_pipe_changed(http_stream *s)
{
    http_streams *all = s->session;
    int tell = 0;

    if (conn_on_loop()) {
        stream_ready(s);
        all->protocol->wants(all);
        return;
    }
    pipe_lock(s);
    tell = pipe_mark(s);
    pipe_unlock(s);
    if (tell)
        loop_note_post(all->bc->loop, &all->note);
}

/* ---- begin and end ---- */

int stream_pipe_begin(http_stream *s)
{
    http_streams *all = s->session;
    brg_conn *bc = loop_stream(all->bc);
    stream_pipe *p;

    BRG_ASSERT(!s->pipe && !s->bc && !s->owner); /* a stored response has none */
    if (!bc)
        return -1;
    p = stream_pipe_room(s);
    p->blocks_tail = &p->blocks;
    p->out_most = all->terms.max_memory;
    s->pipe = p;
    s->bc = bc;
    bc->driver = &h1_driver;
    bc->transport = &stream_pipe_transport;
    bc->below = s;
    all->running_n++;
    return 0;
}

/* With the lock held. */
static void pipe_drop_output(http_stream *s)
{
    stream_pipe *p = s->pipe;

    for (stream_chunk *c = p->out, *next; c; c = next) {
        next = c->next;
        shared_release(&c->ref);
    }
    for (stream_block *b = p->blocks, *next; b; b = next) {
        next = b->next;
        shared_release(&b->ref);
    }
    if (p->trailers)
        shared_release(&p->trailers->ref);
    p->trailers = NULL;
    p->out = p->out_last = NULL;
    p->blocks = NULL;
    p->blocks_tail = &p->blocks;
    s->session->out_bytes -= p->out_bytes;
    p->out_bytes = 0;
}

/* Bytes that nobody reads, and read bytes that are too few for a report, are the connection's
 * again. */
static void pipe_forget_body(http_stream *s)
{
    stream_pipe *p = s->pipe;

    s->session->protocol->credit(s->session, NULL, p->in_len - p->in_off + p->owed);
    p->in_off = p->in_len = p->owed = 0;
}

void stream_pipe_free(http_stream *s)
{
    stream_pipe *p = s->pipe;

    BRG_ASSERT(!s->bc);
    if (!p)
        return;
    pipe_unmark(s);
    if (p->out || p->blocks ||
        p->trailers) { /* no worker has it, but the count is that of all streams */
        pipe_lock(s);
        pipe_drop_output(s);
        pipe_unlock(s);
    }
    pipe_forget_body(s);
    stream_answer_free(&p->answer);
    free(p->in);
    free(p->trailers_in);
    s->pipe = NULL;
}

void stream_pipe_cancel(http_stream *s)
{
    stream_pipe *p = s->pipe;
    brg_conn *bc = s->bc;

    pipe_lock(s);
    p->reset = 1;
    pipe_drop_output(s);
    pipe_forget_body(s);
    pthread_cond_broadcast(&p->changed);
    pipe_unlock(s);
    if (bc && bc->state == CONN_WORKER && loop_self()) {
        if (bc->work.drain) /* its worker learns of it there */
            loop_drain_event(bc->loop, bc->work.drain);
        return;
    }
    if (!bc)
        return;
    bc->failed = 1;
    s->failed = 2; /* stream_release() is the caller's */
    bc->driver->drop(bc);
}

void stream_pipe_abandon(http_stream *s)
{
    pipe_lock(s);
    s->pipe->reset = 1;
    pthread_cond_broadcast(&s->pipe->changed);
    pipe_unlock(s);
}

/* transport.end: the request is over. */
static void pipe_end(brg_conn *bc)
{
    http_stream *s = pipe_stream(bc);
    http_streams *all = s->session;
    stream_pipe *p = s->pipe;

    BRG_ASSERT(!s->asked_head); /* stream_wait_end() comes first */
    stream_ahead_end(s);
    pipe_lock(s);
    stream_answer_end(s);
    stream_rank_told(s);
    p->over = 1;
    s->bc = NULL;
    pipe_unlock(s);
    bc->below = NULL;
    bc->transport = NULL;
    BRG_ASSERT(all->running_n > 0);
    if (all->n == all->running_n)
        all->progress = bc->loop->monotonic; /* nothing had to leave until now */
    all->running_n--;
    if ((bc->failed || p->answer.bad) && !s->failed)
        s->failed = 1;
    if (s->failed == 2)
        return;
    if (s->local_closed)
        stream_release(s);
    else
        stream_ready(s);
    all->protocol->wants(all);
}

/* ---- the body ---- */

int stream_pipe_body(http_stream *s, const uint8_t *data, size_t len)
{
    stream_pipe *p = s->pipe;
    int rc = 0;

    pipe_lock(s);
    BRG_ASSERT(!p->in_over && p->in_off <= p->in_len && p->in_len <= p->in_cap);
    if (p->in_off == p->in_len)
        p->in_off = p->in_len = 0;
    if (p->in_len + len > p->in_cap && p->in_off) {
        memmove(p->in, p->in + p->in_off, p->in_len - p->in_off);
        p->in_len -= p->in_off;
        p->in_off = 0;
        brg_buffer_copied(p->in_len);
    }
    if (p->in_len + len > p->in_cap) {
        size_t cap = p->in_len + len < STREAM_CHUNK ? STREAM_CHUNK : (p->in_len + len) * 2;
        char *in = realloc(p->in, cap);

        rc = in ? 0 : -1;
        p->in = in ? in : p->in;
        p->in_cap = in ? (uint32_t)cap : p->in_cap;
    }
    if (!rc) {
        memcpy(p->in + p->in_len, data, len);
        brg_buffer_copied(len);
        p->in_len += (uint32_t)len;
        pthread_cond_broadcast(&p->changed);
    }
    pipe_unlock(s);
    return rc;
}

void stream_pipe_body_over(http_stream *s, http_field *trailers, int n)
{
    stream_pipe *p = s->pipe;

    BRG_ASSERT(s->remote_closed && !p->in_over && !p->trailers_in); /* END_STREAM comes once */
    pipe_lock(s);
    p->in_over = 1;
    p->trailers_in = trailers;
    p->trailers_in_n = n;
    pthread_cond_broadcast(&p->changed);
    pipe_unlock(s);
}

/* transport.trailers. They change no more when recv() told the end. */
static const http_field *pipe_trailers(brg_conn *bc, int *n)
{
    const stream_pipe *p = pipe_stream(bc)->pipe;

    *n = p->trailers_in_n;
    return p->trailers_in;
}

static size_t pipe_take_body(stream_pipe *p, char *buf, size_t len)
{
    size_t n = p->in_len - p->in_off;

    n = n < len ? n : len;
    memcpy(buf, p->in + p->in_off, n);
    brg_buffer_copied(n);
    p->in_off += (uint32_t)n;
    p->owed += (uint32_t)n;
    return n;
}

/* With the lock held. 0: the end; -1: errno */
static ssize_t pipe_read(stream_pipe *p, char *buf, size_t len)
{
    if (p->reset) {
        errno = ECONNRESET;
        return -1;
    }
    if (p->in_off < p->in_len)
        return (ssize_t)pipe_take_body(p, buf, len);
    if (p->in_over)
        return 0;
    errno = EAGAIN;
    return -1;
}

static ssize_t pipe_recv(brg_conn *bc, void *buf, size_t len)
{
    http_stream *s = pipe_stream(bc);
    uint32_t owed;
    ssize_t n;

    pipe_lock(s);
    n = pipe_read(s->pipe, buf, len);
    owed = s->pipe->owed;
    if (n > 0 && (s->pipe->in_off < s->pipe->in_len || s->pipe->in_over))
        bc->rd_ready = 1; /* no event tells of the rest */
    if (s->pipe->in_off == s->pipe->in_len && s->pipe->in_cap > STREAM_CHUNK) {
        free(s->pipe->in);
        s->pipe->in = NULL;
        s->pipe->in_off = s->pipe->in_len = s->pipe->in_cap = 0;
    }
    pipe_unlock(s);
    if (n > 0 && owed >= (uint32_t)s->session->terms.window / 4)
        stream_pipe_changed(s);
    return n;
}

/* ---- waiting ---- */

static int pipe_is_ready(const http_stream *s, int for_write)
{
    const stream_pipe *p = s->pipe;

    if (p->reset)
        return 1;
    return for_write ? stream_pipe_has_room(s) : p->in_off < p->in_len || p->in_over;
}

static apr_status_t pipe_wait(brg_conn *bc, int for_write, apr_interval_time_t timeout)
{
    http_stream *s = pipe_stream(bc);
    struct timespec until;
    int rc = 0;

    BRG_ASSERT(!conn_on_loop());
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout < 0)
        timeout = apr_time_from_sec(86400);
    until.tv_sec += (time_t)apr_time_sec(timeout);
    until.tv_nsec += (long)apr_time_usec(timeout) * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pipe_lock(s);
    while (!rc && !pipe_is_ready(s, for_write))
        rc = pthread_cond_timedwait(&s->pipe->changed, &s->session->lock, &until);
    pipe_unlock(s);
    return rc == ETIMEDOUT ? APR_TIMEUP : rc ? rc : APR_SUCCESS;
}

/* Its client reset it, or is gone. */
static int pipe_is_unwanted(const brg_conn *bc)
{
    http_stream *s = pipe_stream(bc);
    int reset;

    pipe_lock(s);
    reset = s->pipe->reset;
    pipe_unlock(s);
    return reset;
}

static int pipe_shut(brg_conn *bc)
{
    return 0;
}

const struct conn_transport stream_pipe_transport = {.name = "stream",
                                                     .shared = 1,
                                                     .is_unwanted = pipe_is_unwanted,
                                                     .recv = pipe_recv,
                                                     .sendv = stream_pipe_sendv,
                                                     .encode = stream_parts_encode,
                                                     .add = stream_parts_add,
                                                     .put = stream_pipe_put,
                                                     .send_file = stream_pipe_send_file,
                                                     .give = stream_pipe_give,
                                                     .sent = stream_pipe_sent,
                                                     .trailers = pipe_trailers,
                                                     .shut = pipe_shut,
                                                     .end = pipe_end,
                                                     .wait = pipe_wait};

/* ---- on the loop ---- */

/* Read bytes of the body make room for more. */
static void pipe_credit(http_stream *s)
{
    uint32_t owed;

    pipe_lock(s);
    owed = s->pipe->owed >= (uint32_t)s->session->terms.window / 4 ? s->pipe->owed : 0;
    s->pipe->owed -= owed;
    pipe_unlock(s);
    if (owed)
        s->session->protocol->credit(s->session, s, owed);
}

void stream_pipe_go_on(http_stream *s)
{
    stream_pipe *p = s->pipe;
    brg_conn *bc = s->bc;
    int room, input;

    pipe_credit(s);
    if (!bc)
        return;
    pipe_lock(s);
    room = stream_pipe_has_room(s);
    input = p->in_off < p->in_len || p->in_over;
    pthread_cond_broadcast(&p->changed);
    pipe_unlock(s);
    if (bc->state == CONN_WORKER) {
        if (room && bc->work.drain)
            loop_drain_event(bc->loop, bc->work.drain);
    } else if (bc->state == CONN_WAIT) {
        bc->rd_ready |= input;
        loop_ready(bc->loop, bc);
    } else if (bc->state == CONN_WRITE ? room : bc->state == CONN_BODY && input) {
        bc->rd_ready |= input;
        conn_fill(bc);
        loop_ready(bc->loop, bc);
    }
}
