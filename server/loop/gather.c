/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered output (gather.h): one writev for the answers of a turn; the rest waits in pieces with
 * the connection. */
#include "gather.h"
#include "file_output.h"
#include "transport.h"
#include "loop.h"
#include "scores.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* One piece of output that waits: bytes (a copy, or the owner's), or a part of the owner's file. */
struct pending_piece {
    struct pending_piece *next;
    shared_ref *owner;  /* held, or NULL for own bytes */
    const char *data;   /* NULL: a file */
    apr_off_t off, len; /* of the file; for bytes only len */
    size_t copied;      /* own bytes, in the loop's output_memory */
    int fd;             /* bytes: where sendfile() finds them at off, or -1 */
    file_way way;
    file_kept *kept; /* of the owner's file, or NULL */
};

struct conn_pending {
    struct pending_piece *first, **tail;
};

/* NULL: out of memory. This connection ends and others go on: nothing that was to follow may be sent
 * now, since a part of the stream would be missing. */
static struct pending_piece *pending_add(brg_conn *bc, size_t extra)
{
    struct pending_piece *part = bc->failed ? NULL : malloc(sizeof *part + extra);

    if (part && !bc->pending) {
        if ((bc->pending = malloc(sizeof *bc->pending)) != NULL) {
            bc->pending->first = NULL;
            bc->pending->tail = &bc->pending->first;
        }
    }
    if (!part || !bc->pending) {
        free(part);
        bc->failed = 1;
        pending_drop(bc);
        return NULL;
    }
    memset(part, 0, sizeof *part);
    part->fd = -1;
    *bc->pending->tail = part;
    bc->pending->tail = &part->next;
    return part;
}

static void pending_add_copy(brg_conn *bc, const char *data, size_t len)
{
    struct pending_piece *part = pending_add(bc, len);

    if (!part)
        return;
    memcpy(part + 1, data, len);
    brg_buffer_copied(len);
    part->data = (const char *)(part + 1);
    part->len = (apr_off_t)len;
    part->copied = len;
    bc->loop->output_memory += len;
}

/* @return NULL: out of memory */
static struct pending_piece *pending_add_held(brg_conn *bc, const char *data, size_t len,
                                              shared_ref *owner)
{
    struct pending_piece *part = pending_add(bc, 0);

    if (!part)
        return NULL;
    part->data = data;
    part->len = (apr_off_t)len;
    part->owner = owner;
    shared_hold(owner);
    return part;
}

static void pending_pop(brg_conn *bc)
{
    struct pending_piece *part = bc->pending->first;

    BRG_ASSERT(bc->loop->output_memory >= part->copied);
    bc->loop->output_memory -= part->copied;
    bc->pending->first = part->next;
    if (part->owner)
        shared_release(part->owner);
    free(part);
}

void pending_drop(brg_conn *bc)
{
    if (!bc->pending)
        return;
    while (bc->pending->first)
        pending_pop(bc);
    free(bc->pending);
    bc->pending = NULL;
}

static void sent(brg_conn *bc, brg_figure_id way, uint64_t n)
{
    bc->ways |= loop_way_bit(way);
    loop_score_add(&bc->loop->score->bytes, n);
    figures_add(&bc->loop->figures->own.value[way], n);
}

static file_wait file_may_wait(const brg_conn *bc)
{
    return bc->loop->prefork ? FILE_WAITS : FILE_CACHED;
}

/* *way becomes reads once a window failed. *full: the socket took less than was read, so another
 * read would be in vain. */
static ssize_t file_send_bytes(brg_conn *bc, file_kept *kept, int fd, off_t off, size_t len,
                               file_way *way, int *full)
{
    struct iovec iov;
    file_window w;
    ssize_t n;

    if (file_output_open_kept(&w, kept, fd, off, len, *way, file_may_wait(bc))) {
        bc->cold = errno == EAGAIN;
        return -1;
    }
    if (!w.mapped)
        *way = FILE_BY_READS;
    if (!w.len)
        return 0;
    iov = (struct iovec){(void *)(uintptr_t)w.data, w.len};
    n = transport_sendv(bc, &iov, 1, w.mapped && len > w.len);
    /* A mapping may have ended early with its file: no event would come for a socket that is not full. */
    *full = n > 0 && (size_t)n < w.len && (!w.mapped || file_reaches(fd, off + (off_t)w.len));
    file_window_close(&w);
    if (n >= 0 || errno != EFAULT || *way == FILE_BY_READS)
        return n;
    *way = FILE_BY_READS;
    return file_send_bytes(bc, NULL, fd, off, len, way, full);
}

/* TLS would touch a mapping itself. The rest of a file is read, unless the whole file is mapped. */
static file_way file_way_now(const brg_conn *bc, const file_kept *kept, file_way way, apr_off_t len)
{
    if (way == FILE_BY_SENDFILE)
        return transport_sends_files(bc) ? way : FILE_BY_READS;
    return way == FILE_BY_WINDOW && transport_is_plain(bc) &&
                   ((kept && kept->map) || (size_t)len >= file_limits_now.window_least)
               ? way
               : FILE_BY_READS;
}

/* >0 bytes went out; 0 the file ended early; -1 errno; EAGAIN with bc->cold: the disk has to be asked.
 * *way changes once it has failed. *full: the socket will take no more now. */
static ssize_t file_send(brg_conn *bc, file_kept *kept, int fd, off_t off, apr_off_t len,
                         file_way *way, int *full)
{
    ssize_t n;

    bc->cold = 0;
    *full = 0;
    *way = file_way_now(bc, kept, *way, len);
    if (*way == FILE_BY_SENDFILE) {
        n = file_output_sendfile(bc, -1, fd, off, (size_t)len, file_may_wait(bc));
        if (n >= 0 || errno != EINVAL)
            return n;
        *way = FILE_BY_READS;
    }
    return file_send_bytes(bc, kept, fd, off, (size_t)len, way, full);
}

/* Bytes, without a copy while the kernel can. */
static ssize_t bytes_send(brg_conn *bc, struct pending_piece *part)
{
    struct iovec iov = {(void *)(uintptr_t)part->data, (size_t)part->len};
    off_t off = part->off;
    ssize_t n;

    if (part->fd >= 0) {
        n = transport_sendfile(bc, part->fd, &off, (size_t)part->len);
        if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
            return n;
        part->fd = -1;
    }
    return transport_sendv(bc, &iov, 1, part->next != NULL);
}

static ssize_t pending_write(brg_conn *bc, struct pending_piece *part, int *full)
{
    bc->cold = 0;
    return part->data ? bytes_send(bc, part)
                      : file_send(bc, part->kept, part->fd, part->off, part->len, &part->way, full);
}

/* @param by_sendfile  bytes that had a descriptor; where it failed, they have none any more */
static brg_figure_id pending_way(const struct pending_piece *part, int by_sendfile)
{
    if (!part->data)
        return loop_file_way(part->way);
    return by_sendfile && part->fd >= 0 ? BRG_FIGURE_SENT_SENDFILE : BRG_FIGURE_SENT_MEMORY;
}

apr_status_t pending_send(brg_conn *bc)
{
    struct pending_piece *part;

    while (bc->pending && (part = bc->pending->first) != NULL) {
        const int by_sendfile = part->data && part->fd >= 0;
        int full = 0;
        ssize_t n = pending_write(bc, part, &full);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return APR_EAGAIN;
        if (n <= 0) { /* the peer is gone, or the file was cut short under way */
            apr_status_t rv = n < 0 ? errno : APR_EOF;

            conn_fail(bc, rv, part->data ? "cannot write to the client" : "cannot send a file");
            pending_drop(bc);
            return rv;
        }
        sent(bc, pending_way(part, by_sendfile), (uint64_t)n);
        part->len -= n;
        part->off += n;
        if (part->data)
            part->data += n;
        if (!part->len)
            pending_pop(bc);
        else if (full)
            return APR_EAGAIN;
    }
    pending_drop(bc);
    return bc->failed ? APR_ECONNABORTED : APR_SUCCESS;
}

void pending_read_disk(const brg_conn *bc)
{
    const struct pending_piece *part = bc->pending ? bc->pending->first : NULL;

    if (part && !part->data)
        file_output_warm(part->fd, part->off, part->len);
}

void gather_add_head(gather *g, size_t len)
{
    struct iovec *last = g->iov_n ? &g->iov[g->iov_n - 1] : NULL;
    char *head = gather_head(g);

    BRG_ASSERT_DEBUG(g->iov_n < GATHER_IOV);
    if (last && (char *)last->iov_base + last->iov_len == head)
        last->iov_len += len; /* two heads without a body between them */
    else
        g->iov[g->iov_n++] = (struct iovec){head, len};
    g->used += len;
    g->bytes += len;
}

void gather_add_behind(gather *g, const char *data, size_t len)
{
    BRG_ASSERT(gather_fits_behind(g, len));
    memcpy(gather_head(g), data, len);
    brg_buffer_copied(len);
    gather_add_head(g, len);
}

void gather_add_body(gather *g, const char *data, size_t len, shared_ref *owner)
{
    if (!len)
        return;
    BRG_ASSERT_DEBUG(g->iov_n < GATHER_IOV);
    g->iov[g->iov_n++] = (struct iovec){(void *)(uintptr_t)data, len};
    g->bytes += len;
    g->held[g->held_n++] = owner;
    shared_hold(owner);
    brg_buffer_shared();
}

void gather_add_lent(gather *g, const char *data, size_t len)
{
    if (!len)
        return;
    BRG_ASSERT_DEBUG(g->iov_n < GATHER_IOV);
    g->iov[g->iov_n++] = (struct iovec){(void *)(uintptr_t)data, len};
    g->bytes += len;
    g->held[g->held_n++] = NULL;
}

static void gather_reset(gather *g)
{
    for (int i = 0; i < g->held_n; i++)
        if (g->held[i])
            shared_release(g->held[i]);
    g->iov_n = g->held_n = 0;
    g->bytes = g->used = 0;
}

/* Bodies are found again by their order: every vector outside the scratch area is the next held
 * one's. */
static void gather_keep(gather *g, brg_conn *bc, size_t written)
{
    int held = 0;

    for (int i = 0; i < g->iov_n && !bc->failed; i++) {
        const char *data = g->iov[i].iov_base;
        size_t len = g->iov[i].iov_len;
        int ours = data >= g->scratch && data < g->scratch + GATHER_SCRATCH;
        shared_ref *owner = ours ? NULL : g->held[held++];

        if (written >= len) {
            written -= len;
            continue;
        }
        if (!owner)
            pending_add_copy(bc, data + written, len - written);
        else
            (void)pending_add_held(bc, data + written, len - written, owner);
        written = 0;
    }
}

void gather_flush(gather *g, brg_conn *bc, int more)
{
    ssize_t n = 0;

    if (!g->iov_n)
        return;
    if (!bc->pending && !bc->failed) {
        do
            n = transport_sendv(bc, g->iov, g->iov_n, more);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno != EAGAIN)
            conn_fail(bc, errno, "cannot write to the client");
        if (n < 0)
            n = 0;
        sent(bc, BRG_FIGURE_SENT_MEMORY, (uint64_t)n);
    }
    if ((size_t)n < g->bytes && !bc->failed)
        gather_keep(g, bc, (size_t)n);
    gather_reset(g);
}

static void pending_add_piece(brg_conn *bc, const memory_piece *piece, apr_off_t off, size_t len,
                              shared_ref *owner)
{
    struct pending_piece *part = pending_add_held(bc, piece->data + off, len, owner);

    if (!part)
        return;
    part->fd = memory_piece_fd(piece);
    part->off = piece->off + off;
}

/* Bytes that left by sendfile(). Fewer than len: with EAGAIN the socket is full. */
static size_t piece_send(brg_conn *bc, int fd, off_t at, size_t len)
{
    size_t gone = 0;
    ssize_t n;

    do {
        n = transport_sendfile(bc, fd, &at, len - gone);
        gone += n > 0 ? (size_t)n : 0;
        if (!n)
            errno = EINVAL;
    } while (gone < len && (n > 0 || (n < 0 && errno == EINTR)));
    sent(bc, BRG_FIGURE_SENT_SENDFILE, gone);
    return gone;
}

/* Where sendfile() fails, the bytes are in memory: writev() finds the same error, or does without. */
void gather_send_piece(gather *g, brg_conn *bc, const memory_piece *piece, apr_off_t off,
                       size_t len, shared_ref *owner)
{
    int full = 1;

    BRG_ASSERT(transport_is_plain(bc) && off >= 0 && (size_t)off + len <= piece->len);
    gather_flush(g, bc, 1);
    if (!bc->pending && !bc->failed) {
        const size_t gone = piece_send(bc, memory_piece_fd(piece), piece->off + off, len);

        off += (apr_off_t)gone;
        len -= gone;
        full = len && errno == EAGAIN;
    }
    if (len && !full) {
        gather_add_body(g, piece->data + off, len, owner);
        return;
    }
    brg_buffer_shared();
    if (len)
        pending_add_piece(bc, piece, off, len, owner);
}

void gather_send_file(brg_conn *bc, shared_ref *owner, file_kept *kept, int fd, apr_off_t off,
                      apr_off_t len, file_way way)
{
    struct pending_piece *part;
    int full = 0;

    while (!bc->pending && !bc->failed && !full && len > 0) {
        ssize_t n = file_send(bc, kept, fd, off, len, &way, &full);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            conn_fail(bc, n < 0 ? errno : APR_EOF, "cannot send a file");
            return;
        }
        sent(bc, loop_file_way(way), (uint64_t)n);
        off += n;
        len -= n;
    }
    if (len <= 0 || bc->failed || !(part = pending_add(bc, 0)))
        return;
    part->fd = fd;
    part->way = way;
    part->kept = kept;
    part->off = off;
    part->len = len;
    part->owner = owner;
    shared_hold(owner);
}
