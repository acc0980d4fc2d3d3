/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of stored responses that are in files: read some frames at a time, as far as the page cache has them. For what a
 * disk has to be asked a worker does so, by a brg_conn that is nothing else:
 *
 *   step      moved on by                           the stream has
 *   --------  ------------------------------------  ---------------------------------------
 *   warm      the loop reads and sends              at most one stream_chunk
 *   cold      file_disk_ask(): the worker pool      bc, without a pipe: it sends nothing
 *   warm      the worker has returned: file_run()   as before
 */
#include "streams.h"
#include "file_output.h"
#include "brigade/assert.h"
#include <errno.h>
#include <stdlib.h>

#define FILE_READ 65536 /* bytes at once, where nobody else takes turns with the http_stream */

/* ---- the disk ---- */

/* The worker's needs; the stream may be over before it comes to it, but is not freed. */
static http_stream *file_stream(const brg_conn *bc)
{
    http_stream *s = bc->above;

    BRG_ASSERT_TAG(s, STREAM_TAG);
    BRG_ASSERT(s->bc == bc && !s->pipe && s->owner);
    return s;
}

static void file_work(brg_conn *bc)
{
    const http_stream *s = file_stream(bc);

    file_output_warm(s->now.fd, s->now.off, (off_t)s->now.len);
}

/* The stream has its brg_conn no more. */
static http_stream *file_disk_end(brg_conn *bc)
{
    http_stream *s = file_stream(bc);

    s->bc = NULL;
    BRG_ASSERT(s->session->running_n > 0);
    s->session->running_n--;
    bc->above = NULL;
    loop_close(bc->loop, bc);
    return s;
}

static void file_run(brg_conn *bc)
{
    http_stream *s = file_disk_end(bc);
    http_streams *all = s->session;

    all->progress = bc->loop->monotonic; /* the client did not keep it waiting */
    if (s->local_closed)
        stream_release(s);
    else
        stream_ready(s);
    all->protocol->wants(all);
}

/* The worker's job releases the stream. */
static void file_drop(brg_conn *bc)
{
    (void)file_disk_end(bc);
}

static const struct conn_driver file_driver = {.name = "stream file",
                                               .run = file_run,
                                               .expired = file_drop,
                                               .drop = file_drop,
                                               .refused = file_run,
                                               .work = file_work};

static void file_disk_ask(http_stream *s)
{
    brg_conn *bc = loop_stream(s->session->bc);

    BRG_ASSERT(!s->bc && !s->pipe && !s->file && s->owner);
    if (!bc) {
        s->failed = 1;
        return;
    }
    s->bc = bc;
    bc->driver = &file_driver;
    bc->above = s;
    bc->queue.must_run = 1;
    bc->work.since = bc->loop->monotonic;
    s->session->running_n++;
    figures_add(&bc->loop->figures->own.value[BRG_FIGURE_COLD], 1);
    conn_enter(bc, CONN_WORKER);
    if (worker_pool_submit(bc->loop->workers, bc)) {
        (void)file_disk_end(bc);
        s->failed = 1;
    }
}

/* ---- reading ---- */

static void file_fail(http_stream *s, int error)
{
    s->failed = 1;
    s->session->protocol->file_failed(s, error);
}

/* 0: some bytes are in the chunk. */
static int file_fill(http_stream *s, stream_chunk *c)
{
    ssize_t n = file_output_read(s->now.fd, c->data, c->cap, s->now.off, FILE_CACHED);

    BRG_ASSERT(!c->len);
    if (n > 0) {
        c->len = (uint32_t)n;
        return 0;
    }
    if (n < 0 && errno == EAGAIN)
        file_disk_ask(s);
    else
        file_fail(s, n < 0 ? errno : 0);
    return -1;
}

/* As much as may be sent, so that little waits in memory for a slow client. */
static size_t file_share(const http_stream *s, int64_t window, size_t may_send)
{
    const size_t most = s->now.len < FILE_READ ? s->now.len : FILE_READ;

    if (s->incremental && s->ready_next) /* others take turns with it */
        return may_send;
    return (int64_t)most > window ? (size_t)window : most;
}

const char *stream_file_read(http_stream *s, int64_t window, size_t *len)
{
    size_t here;

    BRG_ASSERT(!s->bc && *len && !s->now.data);
    if (!s->file) {
        stream_chunk *c = stream_chunk_new(file_share(s, window, *len));

        if (!c || file_fill(s, c)) {
            s->failed |= !c;
            free(c);
            return NULL;
        }
        s->file = c;
    }
    here = s->file->len - s->file->off;
    BRG_ASSERT(here > 0);
    *len = here < *len ? here : *len;
    return (const char *)s->file->data + s->file->off;
}

void stream_file_sent(http_stream *s, size_t len)
{
    stream_chunk *c = s->file;

    BRG_ASSERT(c && len <= c->len - c->off && len <= s->now.len);
    c->off += (uint32_t)len;
    s->now.off += (apr_off_t)len;
    s->now.len -= len;
    if (c->off == c->len)
        stream_file_end(s);
}

void stream_file_end(http_stream *s)
{
    if (s->file)
        shared_release(&s->file->ref);
    s->file = NULL;
}
