/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_GATHER_H
#define BRIGADE_LOOP_GATHER_H

/**
 * @file gather.h
 * Output of stored answers: heads are written into a scratch area, bodies are
 * referenced, and all answers to pipelined requests leave in one writev. The rest that the socket
 * does not take is kept with the connection as a conn_pending.
 *
 * A loop sends from files only bytes that the page cache holds. Where that ends, bc->cold is set
 * and the rest waits: a worker calls pending_read_disk().
 *
 * Threads: the owning loop only, but for pending_read_disk().
 */
#include "conn.h"
#include "file_window.h"
#include "memory_file.h"
#include "shared_ref.h"
#include <sys/uio.h>

#define GATHER_IOV 128
#define GATHER_SCRATCH 16384
#define GATHER_HEAD_MAX 4096 /**< room that one head may take */

typedef struct gather {
    struct iovec iov[GATHER_IOV];
    shared_ref *held[GATHER_IOV]; /**< references to release once written */
    int iov_n, held_n;
    size_t bytes, used;
    char scratch[GATHER_SCRATCH];
} gather;

/** Room for one more answer, or frame, in at most four pieces? If not, flush first. */
static inline int gather_has_room(const gather *g)
{
    return g->iov_n + 4 <= GATHER_IOV && g->used + GATHER_HEAD_MAX <= GATHER_SCRATCH;
}

/** Where the next head may be written: GATHER_HEAD_MAX bytes. */
static inline char *gather_head(gather *g)
{
    return g->scratch + g->used;
}

/** The head of @a len bytes at gather_head() is complete. */
void gather_add_head(gather *g, size_t len);

/** the longest body for which a copy costs less than a vector of its own */
#define GATHER_COPY_MOST 6144

/** 1 if a body of @a len bytes would leave in one piece with its head, the only one so far. */
static inline int gather_fits_behind(const gather *g, size_t len)
{
    return g->iov_n == 1 && len <= GATHER_COPY_MOST && g->used == g->bytes &&
           g->used + len <= GATHER_SCRATCH;
}

/** Body bytes that are copied behind that head. */
void gather_add_behind(gather *g, const char *data, size_t len);

/** Body bytes that stay valid as long as @a owner is held. Takes a reference. */
void gather_add_body(gather *g, const char *data, size_t len, shared_ref *owner);

/** Body bytes that are the caller's until the next gather_flush(), which copies those that the
 * socket does not take. */
void gather_add_lent(gather *g, const char *data, size_t len);

/**
 * Write all. Bytes that the socket does not take become bc->pending.
 * @param more  a file follows at once: hold a part-filled segment back
 */
void gather_flush(gather *g, brg_conn *bc, int more);

/**
 * Send @a len bytes of the owner's file from @a off, after gather_flush(), by @a way or, where that cannot send
 * it, by another. Takes a reference where needed. If it cannot be sent, or memory is
 * short, bc->failed is set and nothing more is sent.
 * @param kept  the mapping of that file, the owner's; NULL: it has none that stays
 */
void gather_send_file(brg_conn *bc, shared_ref *owner, file_kept *kept, int fd, apr_off_t off,
                      apr_off_t len, file_way way);

/**
 * Send the gathered bytes, then @a len bytes of the owner's piece of memory from @a off by
 * sendfile(). Gathered bytes that the socket does not take become bc->pending; the rest of the
 * piece is added as by gather_add_body(). For connections without a layer over the socket.
 */
void gather_send_piece(gather *g, brg_conn *bc, const memory_piece *piece, apr_off_t off,
                       size_t len, shared_ref *owner);

/** pending_flush() where something is pending. */
apr_status_t pending_send(brg_conn *bc);

/** Go on with bc->pending. APR_SUCCESS: all written. APR_EAGAIN: the socket is full or, with bc->cold,
 * a disk has to be asked. Else failed. */
static inline apr_status_t pending_flush(brg_conn *bc)
{
    if (bc->pending)
        return pending_send(bc);
    return bc->failed ? APR_ECONNABORTED : APR_SUCCESS;
}

/**
 * Read the bytes that pending_flush() sends next, so that they are in memory.
 * Threads: a worker that owns the connection. Blocking: on the disk.
 */
void pending_read_disk(const brg_conn *bc);

/** Forget bc->pending. */
void pending_drop(brg_conn *bc);

#endif
