/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_PIPE_PRIVATE_H
#define BRIGADE_H2_H2_PIPE_PRIVATE_H

/**
 * @file h2_pipe_private.h
 * Between the halves of a stream's transport: what begins, ends and comes (h2_pipe.c), and the response (h2_pipe_output.c).
 */
#include "counted_lock.h"
#include "h2_private.h"
#include "brigade/assert.h"

/** The stream that @a bc runs. */
static inline h2_stream *pipe_stream(const brg_conn *bc)
{
    h2_stream *s = bc->below;

    BRG_ASSERT_TAG(s, H2_STREAM_TAG);
    BRG_ASSERT(s->bc == bc && s->pipe && bc->master == s->session->bc);
    return s;
}

/** The session's lock: nobody holds it for longer than it takes to copy some kilobytes. */
static inline void pipe_lock(h2_stream *s)
{
    lock_counted(&s->session->lock, LOCK_HTTP2);
}

static inline void pipe_unlock(h2_stream *s)
{
    pthread_mutex_unlock(&s->session->lock);
}

/** What was changed by the thread that runs the request: the loop is to look at it. Threads: that one. */
void h2_pipe_changed(h2_stream *s);

/* Of conn_transport: the loop, or the worker that runs the request. */

ssize_t h2_pipe_sendv(brg_conn *bc, const struct iovec *iov, int n, int more);
ssize_t h2_pipe_put(brg_conn *bc, shared_ref *part);
ssize_t h2_pipe_give(brg_conn *bc, void *base, const char *data, size_t len);
ssize_t h2_pipe_send_file(brg_conn *bc, int fd, off_t off, size_t len, file_wait wait);
void h2_pipe_sent(brg_conn *bc);

#endif
