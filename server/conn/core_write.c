/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From buckets to system calls: the cheapest sequence that puts a brigade on a non-blocking socket.
 *
 * A stream (bc->master) has no socket: its transport takes data, files and the parts of a response (bucket_part.h) in turn.
 *
 * Memory is gathered into one sendmsg. A small piece of a file is read behind it and leaves in the
 * same call; a large one follows by sendfile, announced with MSG_MORE so that the head does not
 * travel in a packet of its own. Where sendfile is not wanted (EnableSendfile Off, descriptors that
 * cannot) much of a file is mapped (EnableMMAP) and leaves in one call; the rest passes through a
 * buffer of the thread, block by block. This mapping, and any that a module put into the brigade,
 * is touched by the kernel alone: when the file shrank meanwhile, sendmsg fails with EFAULT where
 * user code would get SIGBUS.
 *
 * A loop reads only bytes that the page cache holds: where they end, it sets bc->cold, and a worker
 * writes on (h1_conn_worker.c), until the socket is full or a turn's share is written.
 *
 * A file that ends before its bucket does means that the promised length cannot be kept any more:
 * the error is latched and the connection closed, so that the client sees a short response instead
 * of a wrong one.
 */
#include "core_output_private.h"
#include "bucket_part.h"
#include "file_output.h"
#include "net_block.h"
#include "brigade/assert.h"
#include "transport.h"
#include "loop.h"

#include "http_log.h"

#include "apr_mmap.h"
#include "apr_portable.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

APLOG_USE_MODULE(core);

#define WRITE_IOVECS 64
/* A stream copies a shorter piece, behind its waiting bytes. */
#define WRITE_GIVE_BYTES 2048
#define WRITE_GIVE_SHARE 4 /* so does a smaller part of a piece of memory */
/* After this much, an event loop looks at its other connections. */
#define WRITE_TURN_BYTES (4 * 1024 * 1024)

/* One turn of gathering. */
typedef struct core_batch {
    struct iovec vec[WRITE_IOVECS];
    int n;
    apr_size_t bytes;   /* in vec */
    apr_bucket *last;   /* last bucket that vec holds, whole or in part */
    apr_bucket *file;   /* a file to send after vec */
    file_window window; /* the last vector, if it is of a file */
    apr_status_t stop;  /* why gathering ended early, if it is to be told */
    int cold;           /* because of a file that is not in memory */
    int to_stream;      /* whose transport takes parts, and memory */
} core_batch;

static int core_write_file_fd(const apr_bucket *e)
{
    const apr_bucket_file *a = e->data;
    apr_os_file_t fd = -1;

    apr_os_file_get(&fd, a->fd);
    return fd;
}

static int core_write_may_sendfile(const struct core_output *out, const apr_bucket *e)
{
    const apr_bucket_file *a = e->data;

    if (out->bc && transport_takes_parts(out->bc))
        return 1;
    return !out->no_sendfile && (!out->bc || transport_sends_files(out->bc)) &&
           e->length >= file_limits_now.sendfile_least &&
           (apr_file_flags_get(a->fd) & APR_FOPEN_SENDFILE_ENABLED) != 0;
}

/* ---- gathering ---- */

static void core_batch_add(core_batch *b, apr_bucket *e, const char *data, apr_size_t len)
{
    b->last = e;
    if (!len)
        return;
    BRG_ASSERT(b->n < WRITE_IOVECS);
    b->vec[b->n].iov_base = (void *)(uintptr_t)data;
    b->vec[b->n++].iov_len = len;
    b->bytes += len;
}

static file_wait core_write_may_wait(const struct core_output *out)
{
    return !out->bc || !conn_on_loop() || out->bc->loop->prefork ? FILE_WAITS : FILE_CACHED;
}

/* TLS would touch a mapping itself. */
static int core_write_may_map(const struct core_output *out, const apr_bucket *e)
{
    return !out->no_window && out->bc && transport_is_plain(out->bc) &&
           e->length >= file_limits_now.window_least &&
           ((const apr_bucket_file *)e->data)->can_mmap;
}

/* The buffer holds one piece of one file at a time. */
static apr_status_t core_batch_open_file(core_batch *b, const struct core_output *out,
                                         apr_bucket *e)
{
    const file_way way = core_write_may_map(out, e) ? FILE_BY_WINDOW : FILE_BY_READS;

    if (file_output_open(&b->window, core_write_file_fd(e), e->start, e->length, way,
                         core_write_may_wait(out))) {
        b->cold = errno == EAGAIN;
        return errno;
    }
    if (!b->window.len)
        return APR_EOF;
    core_batch_add(b, e, b->window.data, b->window.len);
    return APR_SUCCESS;
}

/* Much memory that nobody else has, that any thread may free at any time, and of which most is data: it may wait for long. */
static int core_write_may_give(const apr_bucket *e)
{
    const apr_bucket_heap *h = e->data;

    return APR_BUCKET_IS_HEAP(e) && e->length >= WRITE_GIVE_BYTES &&
           (h->free_func == free || h->free_func == net_block_put) &&
           e->length >= h->alloc_len / WRITE_GIVE_SHARE && h->refcount.refcount == 1;
}

/* 1: go on with the bucket after e. */
static int core_batch_take(core_batch *b, const struct core_output *out, apr_bucket *e)
{
    const char *data;
    apr_size_t len;

    if (b->to_stream && (bucket_is_part(e) || core_write_may_give(e))) /* core_write_next() */
        return 0;
    if (APR_BUCKET_IS_METADATA(e) || !e->length) {
        core_batch_add(b, e, NULL, 0);
        return 1;
    }
    if (APR_BUCKET_IS_FILE(e)) {
        if (core_write_may_sendfile(out, e))
            b->file = e;
        else
            b->stop = core_batch_open_file(b, out, e);
        return 0;
    }
    b->stop = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
    if (b->stop == APR_SUCCESS)
        core_batch_add(b, e, data, len);
    return b->stop == APR_SUCCESS;
}

static void core_batch_fill(core_batch *b, const struct core_output *out)
{
    apr_bucket_brigade *bb = out->bb;
    apr_bucket *e;

    b->n = 0;
    b->bytes = 0;
    b->last = b->file = NULL;
    b->window.map = NULL;
    b->window.len = 0;
    b->cold = 0;
    b->to_stream = out->bc && transport_takes_parts(out->bc);
    b->stop = APR_SUCCESS;
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb) && b->n < WRITE_IOVECS;
         e = APR_BUCKET_NEXT(e))
        if (!core_batch_take(b, out, e))
            break;
}

/* ---- sending ---- */

static ssize_t core_sendv(const struct core_output *out, const core_batch *b)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)b->vec, .msg_iovlen = (size_t)b->n};

    if (out->bc && !transport_is_plain(out->bc))
        return transport_sendv(out->bc, b->vec, b->n, b->file || transport_takes_parts(out->bc));
    return sendmsg(out->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT | (b->file ? MSG_MORE : 0));
}

/* Bytes of a stream are counted when its connection sends them. */
static void core_count(const struct core_output *out, brg_figure_id way, apr_size_t n)
{
    if (!n || !out->bc || transport_takes_parts(out->bc))
        return;
    out->bc->ways |= loop_way_bit(way);
    loop_sent(out->bc->loop, way, n);
}

/* A file's bytes are the last ones. */
static void core_count_batch(const struct core_output *out, const core_batch *b, apr_size_t sent)
{
    const apr_size_t before = b->bytes - b->window.len;

    core_count(out, BRG_FIGURE_SENT_MEMORY, sent < before ? sent : before);
    if (sent > before)
        core_count(out, loop_file_way(b->window.map ? FILE_BY_WINDOW : FILE_BY_READS),
                   sent - before);
}

static apr_status_t core_send(struct core_output *out, const core_batch *b, apr_size_t *sent)
{
    ssize_t n;

    *sent = 0;
    do
        n = core_sendv(out, b);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EFAULT && out->bc) {
        const int error = errno;

        if (conn_outlive(out->bc))
            n = core_sendv(out, b);
        else
            errno = error;
    }
    if (n < 0)
        return errno == EWOULDBLOCK ? APR_EAGAIN : errno;
    *sent = (apr_size_t)n;
    out->bytes += n;
    core_count_batch(out, b, *sent);
    /* A window may have ended early with its file: no event would come for a socket that is not full. */
    return *sent < b->bytes && !b->window.map ? APR_EAGAIN : APR_SUCCESS;
}

/* Not a byte of the window was taken: the file is read, which tells why. */
static apr_status_t core_send_window(struct core_output *out, core_batch *b, apr_size_t *sent)
{
    apr_status_t rv = core_send(out, b, sent);

    if (rv == APR_SUCCESS && *sent < b->bytes &&
        file_reaches(core_write_file_fd(b->last), b->last->start + (off_t)b->window.len))
        rv = APR_EAGAIN;
    file_window_close(&b->window);
    if (rv != EFAULT)
        return rv;
    out->no_window = 1;
    b->last = NULL;
    return APR_SUCCESS;
}

static void core_write_drop_first(struct core_output *out, apr_size_t len)
{
    apr_bucket *e = APR_BRIGADE_FIRST(out->bb);

    if (core_output_is_memory(e))
        out->memory -= len < out->memory ? len : out->memory;
    if (len < e->length && !APR_BUCKET_IS_METADATA(e))
        apr_bucket_split(e, len);
    out->reported += (apr_off_t)len; /* before an EOR bucket behind it logs its request */
    apr_bucket_delete(e);
}

/* Destroy sent buckets, and metadata among and behind them as far as the batch reached. */
static void core_write_drop(struct core_output *out, const core_batch *b, apr_size_t sent)
{
    int done = !b->last;

    while (!done) {
        apr_bucket *e = APR_BRIGADE_FIRST(out->bb);
        apr_size_t len = APR_BUCKET_IS_METADATA(e) ? 0 : e->length;

        BRG_ASSERT(!APR_BRIGADE_EMPTY(out->bb));
        done = e == b->last;
        if (len > sent) {
            if (sent)
                core_write_drop_first(out, sent);
            return;
        }
        sent -= len;
        core_write_drop_first(out, len);
    }
}

static ssize_t core_send_some_of_file(const struct core_output *out, const apr_bucket *e)
{
    const int fd = core_write_file_fd(e);
    const file_wait wait = core_write_may_wait(out);
    ssize_t n;

    if (!out->bc || !transport_takes_parts(out->bc))
        return file_output_sendfile(out->bc, out->fd, fd, e->start, e->length, wait);
    do
        n = out->bc->transport->send_file(out->bc, fd, e->start, e->length, wait);
    while (n < 0 && errno == EINTR);
    return n;
}

static apr_status_t core_sendfile(struct core_output *out, apr_bucket *e)
{
    ssize_t n = core_send_some_of_file(out, e);

    if (n < 0 && errno == EINVAL) {
        out->no_sendfile = 1;
        return APR_SUCCESS;
    }
    if (n < 0)
        return errno == EWOULDBLOCK ? APR_EAGAIN : errno;
    if (n == 0)
        return APR_EOF;
    out->bytes += n;
    core_count(out, BRG_FIGURE_SENT_SENDFILE, (apr_size_t)n);
    core_write_drop_first(out, (apr_size_t)n);
    return APR_SUCCESS;
}

static void core_given(void *base)
{
}

static apr_status_t core_give(struct core_output *out, apr_bucket *e)
{
    apr_bucket_heap *h = e->data;
    void (*const end)(void *) = h->free_func;
    const apr_size_t len = e->length;
    ssize_t n;

    BRG_ASSERT(h->refcount.refcount == 1);
    h->free_func = core_given;
    do
        n = out->bc->transport->give(out->bc, h->base, end, h->base + e->start, len);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)len)
        h->free_func = end;
    if (n < 0)
        return errno == EWOULDBLOCK ? APR_EAGAIN : errno;
    out->bytes += n;
    core_write_drop_first(out, (apr_size_t)n);
    return APR_SUCCESS;
}

static apr_status_t core_put_part(struct core_output *out, apr_bucket *e)
{
    ssize_t n;

    BRG_ASSERT(out->bc && transport_takes_parts(out->bc) && e == APR_BRIGADE_FIRST(out->bb));
    n = out->bc->transport->put(out->bc, bucket_part_take(e));
    if (n < 0)
        return errno;
    out->bytes += n;
    out->reported += n;
    apr_bucket_delete(e);
    return APR_SUCCESS;
}

static apr_status_t core_write_batch(struct core_output *out)
{
    apr_status_t rv = APR_SUCCESS;
    apr_size_t sent = 0;
    core_batch b;

    core_batch_fill(&b, out);
    if (b.window.map)
        rv = core_send_window(out, &b, &sent);
    else if (b.n)
        rv = core_send(out, &b, &sent);
    core_write_drop(out, &b, sent);
    if (rv == APR_SUCCESS && b.cold && out->bc)
        out->bc->cold = 1;
    if (rv != APR_SUCCESS)
        return rv;
    return b.file ? core_sendfile(out, b.file) : b.stop;
}

/* Buckets that a stream takes without a copy go to it by themselves; the others in batches. */
static apr_status_t core_write_next(struct core_output *out)
{
    apr_bucket *e = APR_BRIGADE_FIRST(out->bb);

    if (bucket_is_part(e))
        return core_put_part(out, e);
    return core_write_may_give(e) ? core_give(out, e) : core_write_batch(out);
}

static void core_write_log(const struct core_output *out, apr_status_t rv)
{
    if (APR_STATUS_IS_EOF(rv) || rv == EFAULT)
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, out->c,
                      "a file became shorter while it was sent: connection closed");
    else if (!conn_error_is_peers(rv))
        ap_log_cerror(APLOG_MARK, APLOG_ERR, rv, out->c,
                      "a response could not be read or written: connection closed");
    else
        ap_log_cerror(APLOG_MARK, APLOG_TRACE1, rv, out->c, "write failed");
}

apr_status_t core_write(struct core_output *out)
{
    apr_off_t start = out->bytes;
    const int to_stream = out->bc && transport_takes_parts(out->bc) && !APR_BRIGADE_EMPTY(out->bb);
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(!out->error); /* nothing is sent after a gap */
    if (out->bc)
        out->bc->cold = 0;
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(out->bb)) {
        if (out->bytes - start >= WRITE_TURN_BYTES && out->bc &&
            (conn_on_loop() || out->flushing)) {
            /* The socket may be far from full: no event would say that it goes on. */
            if (conn_on_loop())
                loop_again(out->bc->loop, out->bc);
            rv = APR_EAGAIN;
            break;
        }
        rv = to_stream ? core_write_next(out) : core_write_batch(out);
    }
    if (to_stream)
        out->bc->transport->sent(out->bc);
    out->blocked = rv == APR_EAGAIN;
    if (rv != APR_SUCCESS && rv != APR_EAGAIN)
        core_write_log(out, rv);
    return rv;
}

apr_status_t core_write_wait(struct core_output *out, apr_interval_time_t timeout)
{
    return out->bc ? conn_wait(out->bc, 1, timeout) : socket_wait(out->fd, 1, timeout);
}
