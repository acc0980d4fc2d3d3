/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of outgoing connections. The network is read into a block of its own, which leaves as a bucket: nothing is copied
 * but small pieces, for which a whole block would be too much to hold. */
#include "upstream_private.h"
#include "net_block.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define UPSTREAM_SHARE 4 /* of a block, that is worth holding all of it */

void upstream_block_end(upstream_conn *cc)
{
    if (cc->cap == NET_BLOCK)
        net_block_put(cc->block);
    else
        free(cc->block);
    cc->block = NULL;
    cc->from = cc->to = cc->cap = 0;
}

/* Room behind the received bytes. */
static apr_status_t block_room(upstream_conn *cc, uint32_t most)
{
    char *bigger;
    uint32_t cap;

    if (!cc->block) {
        cc->block = net_block_get();
        cc->cap = cc->block ? NET_BLOCK : 0;
        return cc->block ? APR_SUCCESS : APR_ENOMEM;
    }
    if (cc->to < cc->cap)
        return APR_SUCCESS;
    if (cc->from) {
        memmove(cc->block, cc->block + cc->from, upstream_in_size(cc));
        cc->to -= cc->from;
        cc->from = 0;
        return APR_SUCCESS;
    }
    if (cc->cap >= most)
        return APR_ENOSPC;
    cap = cc->cap * 2;
    bigger = malloc(cap);
    if (!bigger)
        return APR_ENOMEM;
    memcpy(bigger, cc->block, cc->to);
    brg_buffer_grown(cc->to);
    if (cc->cap == NET_BLOCK)
        net_block_put(cc->block);
    else
        free(cc->block);
    cc->block = bigger;
    cc->cap = cap;
    return APR_SUCCESS;
}

/* Of a read of @a n bytes, or errno, into @a room. */
static apr_status_t recv_outcome(upstream_conn *cc, ssize_t n, size_t room)
{
    if (n > 0) {
        /* A short read emptied the socket, and the next event tells of more; a layer says if it holds another record. */
        if ((size_t)n < room && !cc->hung_up && !cc->bc.rd_ready)
            cc->rd_ready = 0;
        return APR_SUCCESS;
    }
    if (n < 0 && errno == EAGAIN) {
        cc->rd_ready = 0;
        return APR_EAGAIN;
    }
    cc->eof = 1;
    return n == 0 ? APR_EOF : errno;
}

static ssize_t recv_bytes(upstream_conn *cc, char *at, apr_size_t room)
{
    ssize_t n;

    cc->bc.rd_ready = 0;
    do
        n = transport_recv(&cc->bc, at, room);
    while (n < 0 && errno == EINTR);
    return n;
}

apr_status_t upstream_recv(upstream_conn *cc, uint32_t most)
{
    apr_status_t rv;
    size_t room;
    ssize_t n;

    if (cc->eof)
        return APR_EOF;
    if (!cc->rd_ready)
        return APR_EAGAIN;
    if ((rv = block_room(cc, most)) != APR_SUCCESS)
        return rv;
    room = cc->cap - cc->to;
    n = recv_bytes(cc, cc->block + cc->to, room);
    if (n > 0)
        cc->to += (uint32_t)n;
    return recv_outcome(cc, n, room);
}

/* Blocks for @a most bytes, and room for one more, so that a read which takes all is a short one. */
static void blocks_get(upstream_blocks *b, apr_size_t most)
{
    b->n = 0;
    do {
        b->at[b->n].iov_base = net_block_get();
        if (!b->at[b->n].iov_base)
            break;
        b->at[b->n].iov_len = NET_BLOCK;
    } while (++b->n < UPSTREAM_BLOCKS && (apr_size_t)b->n * NET_BLOCK <= most);
}

int upstream_can_recv_blocks(const upstream_conn *cc)
{
    return transport_is_plain(&cc->bc);
}

apr_status_t upstream_recv_blocks(upstream_conn *cc, upstream_blocks *b, apr_size_t most)
{
    apr_status_t rv;
    ssize_t n;

    BRG_ASSERT(upstream_can_recv_blocks(cc));
    b->n = 0;
    b->len = 0;
    if (cc->eof || !cc->rd_ready)
        return cc->eof ? APR_EOF : APR_EAGAIN;
    blocks_get(b, most);
    if (!b->n)
        return APR_ENOMEM;
    do
        n = readv(cc->bc.fd, b->at, b->n);
    while (n < 0 && errno == EINTR);
    rv = recv_outcome(cc, n, (apr_size_t)b->n * NET_BLOCK);
    if (rv == APR_SUCCESS)
        b->len = (apr_size_t)n;
    else
        upstream_blocks_end(b);
    return rv;
}

/* As upstream_recv_into(). Behind the last byte another record may be held, of which nothing else would tell. */
static apr_status_t recv_into_from_layer(upstream_conn *cc, char *at, apr_size_t room,
                                         uint64_t most, apr_size_t *got, apr_size_t *excess)
{
    char behind[64];
    ssize_t n = recv_bytes(cc, at, room);
    apr_status_t rv = recv_outcome(cc, n, room);

    if (rv != APR_SUCCESS)
        return rv;
    *got = (apr_size_t)n;
    if (*got < most || !cc->bc.rd_ready)
        return APR_SUCCESS;
    n = recv_bytes(cc, behind, sizeof behind);
    (void)recv_outcome(cc, n, sizeof behind);
    *excess = n > 0 ? (apr_size_t)n : 0;
    return APR_SUCCESS;
}

apr_status_t upstream_recv_into(upstream_conn *cc, char *at, apr_size_t room, uint64_t most,
                                apr_size_t *got, apr_size_t *excess)
{
    char behind[64];
    struct iovec to[2] = {{at, room}, {behind, sizeof behind}};
    apr_size_t all;
    apr_status_t rv;
    ssize_t n;

    BRG_ASSERT(room && room <= most);
    *got = *excess = 0;
    if (cc->eof || !cc->rd_ready)
        return cc->eof ? APR_EOF : APR_EAGAIN;
    if (!transport_is_plain(&cc->bc))
        return recv_into_from_layer(cc, at, room, most, got, excess);
    all = room + (room == most ? sizeof behind : 0);
    do
        n = readv(cc->bc.fd, to, all > room ? 2 : 1);
    while (n < 0 && errno == EINTR);
    rv = recv_outcome(cc, n, all);
    if (rv != APR_SUCCESS)
        return rv;
    *got = (apr_size_t)n < room ? (apr_size_t)n : room;
    *excess = (apr_size_t)n - *got;
    return APR_SUCCESS;
}

void upstream_blocks_end(upstream_blocks *b)
{
    while (b->n)
        net_block_put(b->at[--b->n].iov_base);
    b->len = 0;
}

void upstream_blocks_pass(upstream_blocks *b, apr_bucket_brigade *bb)
{
    BRG_ASSERT(b->len <= (apr_size_t)b->n * NET_BLOCK);
    for (int i = 0; i < b->n; i++) {
        char *block = b->at[i].iov_base;
        const apr_size_t here = b->len < NET_BLOCK ? b->len : NET_BLOCK;
        apr_bucket *e = NULL;

        if (here > UPSTREAM_COPIED)
            e = apr_bucket_heap_create(block, NET_BLOCK, net_block_put, bb->bucket_alloc);
        else if (here)
            e = apr_bucket_heap_create(block, here, NULL, bb->bucket_alloc);
        if (here <= UPSTREAM_COPIED)
            net_block_put(block);
        if (!e)
            continue;
        e->length = here;
        APR_BRIGADE_INSERT_TAIL(bb, e);
        b->len -= here;
    }
    b->n = 0;
}

/* From now on room is reported, also room that is there already. @return APR_EAGAIN or an error */
static apr_status_t send_poll_room(upstream_conn *cc)
{
    int error;

    if (!cc->on_loop || cc->polls_room)
        return APR_EAGAIN;
    error = loop_io_change(cc->bc.loop, &cc->bc.io, cc->bc.fd,
                           EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    cc->polls_room = !error;
    return error ? error : APR_EAGAIN;
}

apr_status_t upstream_send(upstream_conn *cc, const struct iovec *iov, int n, int more,
                           apr_size_t *sent)
{
    ssize_t got;

    *sent = 0;
    if (!cc->wr_ready)
        return APR_EAGAIN;
    do
        got = transport_sendv(&cc->bc, iov, n, more);
    while (got < 0 && errno == EINTR);
    if (got >= 0) {
        *sent = (apr_size_t)got;
        return APR_SUCCESS;
    }
    if (errno != EAGAIN)
        return errno;
    cc->wr_ready = 0;
    return send_poll_room(cc);
}

void upstream_in_take(upstream_conn *cc, uint32_t n)
{
    BRG_ASSERT(n <= upstream_in_size(cc));
    BRG_ASSERT(cc->block || !n);
    cc->from += n;
    if (cc->from == cc->to)
        cc->from = cc->to = 0;
}

/* The block is the caller's. */
static char *block_leaves(upstream_conn *cc, uint32_t *at, uint32_t *cap, void (**end)(void *))
{
    char *block = cc->block;

    BRG_ASSERT(block && cc->from <= cc->to && cc->to <= cc->cap);
    *at = cc->from;
    *cap = cc->cap;
    *end = cc->cap == NET_BLOCK ? net_block_put : free;
    cc->block = NULL;
    cc->from = cc->to = cc->cap = 0;
    return block;
}

char *upstream_in_give(upstream_conn *cc, uint32_t *at, uint32_t *cap, void (**end)(void *))
{
    const uint32_t n = upstream_in_size(cc);

    return n > UPSTREAM_COPIED && n >= cc->cap / UPSTREAM_SHARE ? block_leaves(cc, at, cap, end)
                                                                : NULL;
}

static apr_bucket *bucket_of_block(upstream_conn *cc, uint32_t n, apr_bucket_alloc_t *alloc)
{
    void (*end)(void *);
    uint32_t at, cap;
    char *block = block_leaves(cc, &at, &cap, &end);
    apr_bucket *e = apr_bucket_heap_create(block, cap, end, alloc);

    e->start = at;
    e->length = n;
    return e;
}

apr_bucket *upstream_in_bucket(upstream_conn *cc, uint32_t n, apr_bucket_alloc_t *alloc)
{
    apr_bucket *e;

    BRG_ASSERT(n && n <= upstream_in_size(cc));
    if (n > UPSTREAM_COPIED && n == upstream_in_size(cc))
        return bucket_of_block(cc, n, alloc);
    e = apr_bucket_heap_create(upstream_in(cc), n, NULL, alloc);
    upstream_in_take(cc, n);
    return e;
}
