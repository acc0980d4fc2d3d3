/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STREAMS_STREAM_PIPE_PRIVATE_H
#define BRIGADE_STREAMS_STREAM_PIPE_PRIVATE_H

/**
 * @file stream_pipe_private.h
 * Between the halves of a stream's transport: begin, end and input
 * (stream_pipe.c), and the response (stream_pipe_output.c).
 */
#include "counted_lock.h"
#include "streams.h"
#include "brigade/assert.h"

/** The stream that @a bc runs. */
static inline http_stream *pipe_stream(const brg_conn *bc)
{
    http_stream *s = bc->below;

    BRG_ASSERT_TAG(s, STREAM_TAG);
    BRG_ASSERT(s->bc == bc && s->pipe && bc->master == s->session->bc);
    return s;
}

/** The session's lock: nobody holds it for longer than it takes to copy some kilobytes. */
static inline void pipe_lock(http_stream *s)
{
    lock_counted(&s->session->lock, LOCK_STREAMS);
}

static inline void pipe_unlock(http_stream *s)
{
    pthread_mutex_unlock(&s->session->lock);
}

/** A change by the thread that runs the request: the loop is to look at it. Threads: that one. */
void stream_pipe_changed(http_stream *s);

/* Of conn_transport: the loop, or the worker that runs the request. */

ssize_t stream_pipe_sendv(brg_conn *bc, const struct iovec *iov, int n, int more);
ssize_t stream_pipe_put(brg_conn *bc, shared_ref *part);
ssize_t stream_pipe_give(brg_conn *bc, void *base, void (*end)(void *), const char *data,
                         size_t len);
ssize_t stream_pipe_send_file(brg_conn *bc, int fd, off_t off, size_t len, file_wait wait);
void stream_pipe_sent(brg_conn *bc);

#endif
