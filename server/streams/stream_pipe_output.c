/* SPDX-License-Identifier: Apache-2.0 */
/* The response of a stream that runs as a request, on its way into the memory that frames are sent from: parts and text
 * (stream_parts.c, stream_answer.c make blocks and data of them), memory that is taken over, files. */
#include "stream_pipe_private.h"
#include "thread_self.h"
#include "transport.h"
#include <errno.h>
#include <stdlib.h>

ssize_t stream_pipe_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    http_stream *s = pipe_stream(bc);
    size_t done = 0;
    int reset;

    pipe_lock(s);
    reset = s->pipe->reset;
    for (int i = 0; i < n && !reset && !s->pipe->answer.bad; i++) {
        size_t took = stream_answer_take(s, iov[i].iov_base, iov[i].iov_len);

        done += took;
        if (took < iov[i].iov_len)
            break;
    }
    reset |= s->pipe->answer.bad;
    pipe_unlock(s);
    if (reset) {
        errno = EPIPE;
        return -1;
    }
    if (done) {
        if (!more)
            stream_pipe_changed(s);
        return (ssize_t)done;
    }
    errno = EAGAIN;
    return -1;
}

/* transport.put */
ssize_t stream_pipe_put(brg_conn *bc, shared_ref *part)
{
    http_stream *s = pipe_stream(bc);
    ssize_t n = -1;

    pipe_lock(s);
    if (!s->pipe->reset && !s->pipe->answer.bad)
        n = stream_parts_put(s, part);
    else if (part)
        shared_release(part);
    pipe_unlock(s);
    if (n < 0)
        errno = EPIPE;
    return n;
}

/* With the lock held: how much of len bytes may be queued as a chunk of its own.
 * @return -1: *@a error; 0: they are few and behind others, or text, and go the way of sendv() */
static ssize_t room_of(const http_stream *s, size_t len, int *error)
{
    const int reset = s->pipe->reset || s->pipe->answer.bad;
    int own;
    const size_t room = stream_answer_room(s, len, &own);

    *error = reset ? EPIPE : EAGAIN;
    if (reset || !room)
        return -1;
    return own && s->pipe->answer.state == STREAM_ANSWER_PARTS ? (ssize_t)room : 0;
}

static ssize_t pipe_room(http_stream *s, size_t len)
{
    ssize_t n;
    int error;

    pipe_lock(s);
    n = room_of(s, len, &error);
    pipe_unlock(s);
    if (n < 0)
        errno = error;
    return n;
}

/* Queue it. The lock was not held since pipe_room(), but nobody else adds to the response. */
static ssize_t pipe_add(http_stream *s, stream_chunk *c)
{
    size_t n = 0;
    int reset;

    pipe_lock(s);
    reset = s->pipe->reset || s->pipe->answer.bad;
    if (!reset)
        n = stream_answer_add(s, c);
    pipe_unlock(s);
    if (!reset)
        return (ssize_t)n;
    c->given = NULL;
    shared_release(&c->ref);
    errno = EPIPE;
    return -1;
}

static ssize_t pipe_send(brg_conn *bc, const char *data, size_t len)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};

    return stream_pipe_sendv(bc, &iov, 1, 1);
}

/* @return as stream_pipe_give(); 0: it goes the way of sendv(), and c is freed */
static ssize_t pipe_give(http_stream *s, stream_chunk *c)
{
    ssize_t n;
    int error;

    pipe_lock(s);
    n = room_of(s, c->len, &error);
    if (n > 0)
        n = (ssize_t)stream_answer_add(s, c);
    pipe_unlock(s);
    if (n > 0)
        return n;
    c->given = NULL;
    shared_release(&c->ref);
    errno = error;
    return n;
}

/* transport.give */
ssize_t stream_pipe_give(brg_conn *bc, void *base, void (*end)(void *), const char *data,
                         size_t len)
{
    http_stream *s = pipe_stream(bc);
    stream_chunk *c = stream_chunk_of(base, end, data, len);
    ssize_t n = c ? pipe_give(s, c) : 0;

    if (n)
        return n;
    n = pipe_send(bc, data, len);
    if (n == (ssize_t)len)
        end(base);
    return n;
}

static ssize_t pipe_read_file(brg_conn *bc, int fd, void *buf, size_t len, off_t off,
                              file_wait wait)
{
    ssize_t n = file_output_read(fd, buf, len, off, wait);

    if (n < 0 && errno == EAGAIN)
        bc->cold = 1;
    return n;
}

static ssize_t pipe_send_read(brg_conn *bc, int fd, off_t off, size_t len, file_wait wait)
{
    char *buffer = thread_buffer();
    ssize_t n;

    if (!buffer) {
        errno = ENOMEM;
        return -1;
    }
    n = pipe_read_file(bc, fd, buffer, len < THREAD_BUFFER_BYTES ? len : THREAD_BUFFER_BYTES, off,
                       wait);
    return n > 0 ? pipe_send(bc, buffer, (size_t)n) : n;
}

/* transport.send_file: into the memory that frames are sent from. */
ssize_t stream_pipe_send_file(brg_conn *bc, int fd, off_t off, size_t len, file_wait wait)
{
    http_stream *s = pipe_stream(bc);
    ssize_t n = pipe_room(s, len);
    stream_chunk *c;

    if (n <= 0)
        return n < 0 ? n : pipe_send_read(bc, fd, off, len, wait);
    if (!(c = stream_chunk_new((size_t)n))) {
        errno = ENOMEM;
        return -1;
    }
    n = pipe_read_file(bc, fd, c->data, c->cap, off, wait);
    if (n > 0) {
        c->len = (uint32_t)n;
        return pipe_add(s, c);
    }
    shared_release(&c->ref);
    return n;
}

/* transport.sent. Once for all that a worker made, so that the loop has one turn with it. */
void stream_pipe_sent(brg_conn *bc)
{
    stream_pipe_changed(pipe_stream(bc));
}
