/* SPDX-License-Identifier: Apache-2.0 */
/* The next piece of a stream's response: of a stored one, from memory or from a file, or of a
 * running request's. The protocol puts it into frames, and says which stream is next. */
#include "counted_lock.h"
#include "streams.h"
#include "brigade/assert.h"
#include <pthread.h>

/* Bytes of a stream's data that may be sent in one frame now. */
static size_t output_may_send(const http_stream *s, size_t have)
{
    const http_streams *all = s->session;
    int64_t most = all->protocol->window(s);

    if (most <= 0)
        return 0;
    if (most > all->terms.frame_most)
        most = all->terms.frame_most;
    return have < (size_t)most ? have : (size_t)most;
}

/* ---- stored responses ---- */

static void output_file_some(http_stream *s, size_t n)
{
    const char *data = stream_file_read(s, s->session->protocol->window(s), &n);

    if (!data)
        return;
    BRG_ASSERT(n && n <= s->left);
    s->left -= n;
    s->session->protocol->put_data(s, data, n, &s->file->ref, !s->left);
    stream_file_sent(s, n);
}

/* 1: s was sent whole. */
static int output_stored_some(http_stream *s)
{
    size_t n = output_may_send(s, s->now.len);

    BRG_ASSERT_DEBUG(s->left && s->now.len && s->now.len <= s->left);
    if (!n)
        return 0;
    if (s->now.data) {
        s->left -= n;
        s->session->protocol->put_data(s, s->now.data, n, s->owner, !s->left);
        s->now.data += n;
        s->now.len -= n;
    } else {
        output_file_some(s, n);
    }
    if (!s->now.len && s->more_n) {
        s->now = *s->more++;
        s->more_n--;
    }
    return !s->left;
}

int stream_stored_at_once(http_stream *s)
{
    return s->left <= (size_t)s->session->terms.frame_most && s->now.data && !s->more_n &&
           output_stored_some(s);
}

void stream_stored_wait(http_stream *s, const http_stream *now, const http_stream *as,
                        const cache_reply *reply)
{
    BRG_ASSERT(now->left && !s->owner && !s->pipe);
    s->now = now->now;
    s->more = now->more;
    s->more_n = now->more_n;
    s->left = now->left;
    s->owner = now->owner;
    s->urgency = as->urgency;
    s->incremental = as->incremental;
    s->asked = as->asked;
    stream_rank(s, reply->urgency, reply->len);
    s->remote_closed = s->answered = 1;
    stream_ready(s);
}

/* ---- running requests ---- */

/* All of them, which end here. 1: the last ended the stream */
static int output_blocks(http_stream *s, stream_block *blocks)
{
    int last = 0;

    for (stream_block *b = blocks, *next; b; b = next) {
        next = b->next;
        if (!s->session->bc->failed) {
            last |= b->last;
            s->session->protocol->put_block(s, b);
        }
        shared_release(&b->ref);
    }
    return last;
}

/* With the lock held: drop the sent part of the queue. */
static void output_chunk_sent(http_stream *s, stream_chunk *c, size_t n)
{
    stream_pipe *p = s->pipe;

    BRG_ASSERT(n <= p->out_bytes && n <= s->session->out_bytes);
    c->off += (uint32_t)n;
    p->out_bytes -= n;
    s->session->out_bytes -= n;
    if (c->off < c->len || (c->len < c->cap && !c->next && !p->over))
        return; /* it is filled further */
    p->out = c->next;
    if (p->out_last == c)
        p->out_last = NULL;
    shared_release(&c->ref);
}

/* With the lock held: the end behind all data. */
static void output_end(http_stream *s)
{
    stream_block *trailers = s->pipe->trailers;

    BRG_ASSERT(s->pipe->over && !s->pipe->out_bytes);

    s->pipe->trailers = NULL;
    if (trailers)
        output_blocks(s, trailers);
    else
        s->session->protocol->put_data(s, NULL, 0, NULL, 1);
}

/* The next frame. *done: the stream is sent whole. @return 1: there is more */
static int output_pipe(http_stream *s, int *done)
{
    stream_pipe *p = s->pipe;
    stream_block *blocks;
    stream_chunk *c;
    size_t n = 0;
    int more, last;

    lock_counted(&s->session->lock, LOCK_STREAMS);
    blocks = p->blocks;
    p->blocks = NULL;
    p->blocks_tail = &p->blocks;
    *done = output_blocks(s, blocks);
    c = p->out;
    if (c && !*done && (n = output_may_send(s, c->len - c->off)) > 0) {
        last = p->over && n == p->out_bytes && !p->trailers && !p->answer.bad;
        s->session->protocol->put_data(s, (char *)c->data + c->off, n, &c->ref, last);
        output_chunk_sent(s, c, n);
        *done = last;
    }
    more = p->out_bytes > 0;
    if (!*done && !more && p->over && !p->answer.bad) {
        output_end(s);
        *done = 1;
    }
    pthread_mutex_unlock(&s->session->lock);
    return more && n;
}

int stream_output(http_stream *s)
{
    const stream_protocol *protocol = s->session->protocol;
    int more, done = 0;

    BRG_ASSERT_DEBUG(s->ready_prev && !s->asked_head && !s->local_closed);
    if (s->failed && !s->bc) {
        protocol->fail(s);
        return 0;
    }
    if (s->pipe) {
        more = output_pipe(s, &done);
    } else {
        done = !stream_file_waits(s) && output_stored_some(s);
        more = !done && !stream_file_waits(s) && output_may_send(s, s->left) > 0;
    }
    if (done) {
        protocol->sent(s);
        return 0;
    }
    if (!more)
        stream_unready(s);
    if (s->pipe)
        stream_pipe_go_on(s); /* it may make more at once */
    return more;
}
