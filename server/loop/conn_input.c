/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a connection that is not consumed yet: its buffer, and reading into it.
 *
 * On the loop conn_fill() alone reads, at the start of a turn and never between, so that
 * everything that is answered was sent before the loop looked at the file watches. A worker reads a
 * request's body by conn_read(), and waits for it. */
#include "loop.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include "http_config.h"
#include "http_log.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>

#define CONN_WAIT_STEP_US APR_USEC_PER_SEC

APLOG_USE_MODULE(core);

int conn_error_is_peers(apr_status_t rv)
{
    switch (rv) {
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
        return 1;
    default:
        return 0;
    }
}

void conn_fail(brg_conn *bc, apr_status_t rv, const char *what)
{
    bc->failed = 1;
    if (conn_error_is_peers(rv))
        return;
    if (rv == APR_EOF) { /* as core_write.c says it */
        rv = 0;
        what = "a file became shorter while it was sent";
    }
    if (bc->c)
        ap_log_cerror(APLOG_MARK, rv ? APLOG_ERR : APLOG_WARNING, rv, bc->c,
                      "%s: connection closed", what);
    else
        ap_log_error(APLOG_MARK, rv ? APLOG_ERR : APLOG_WARNING, rv, bc->loop->server,
                     "%s: connection closed", what);
}

/* A buffer for a body that fills one after the other. */
#define CONN_IN_BODY 65536

/* Into another buffer. The one before is freed, unless buckets have it. @param cap  LOOP_IN_BYTES or more */
static int conn_in_move(brg_conn *bc, uint32_t cap)
{
    const uint32_t size = (uint32_t)conn_in_size(bc);
    char *in = malloc(cap);

    if (!in)
        return -1;
    if (size) {
        memcpy(in, bc->input.at + bc->input.off, size);
        brg_buffer_grown(size);
    }
    if (bc->input.shared)
        bc->input.shared = 0;
    else if (bc->input.cap == LOOP_IN_BYTES && conn_on_loop())
        loop_in_put(bc->loop, bc->input.at);
    else
        free(bc->input.at);
    bc->input.at = in;
    bc->input.off = 0;
    bc->input.len = size;
    bc->input.cap = cap;
    return 0;
}

void conn_in_unshare(brg_conn *bc)
{
    uint32_t cap = LOOP_IN_BYTES;

    BRG_ASSERT(bc->input.shared && bc->input.at);
    while (cap < conn_in_size(bc))
        cap *= 2;
    if (!conn_in_size(bc) || conn_in_move(bc, cap)) {
        if (conn_in_size(bc))
            bc->read_eof = bc->failed = 1;
        conn_in_release(bc);
    }
}

/* Make room for at least one more byte. Moves or grows the buffer, so pointers into it end here. */
static int conn_in_room(brg_conn *bc)
{
    const uint32_t more = bc->input.cap * 2;

    if (!bc->input.at) {
        /* Workers read too, and the loop's free list is not theirs. */
        bc->input.at = conn_on_loop() ? loop_in_get(bc->loop) : malloc(LOOP_IN_BYTES);
        bc->input.off = bc->input.len = 0;
        bc->input.cap = bc->input.at ? LOOP_IN_BYTES : 0;
        return bc->input.at ? 0 : -1;
    }
    if (bc->input.len < bc->input.cap)
        return 0;
    if (bc->input.shared) {
        const int grows = more <= CONN_IN_BODY ||
                          (conn_in_size(bc) > bc->input.cap / 2 && bc->input.cap < LOOP_IN_MOST);

        return conn_in_move(bc, grows ? more : bc->input.cap);
    }
    if (bc->input.off) {
        memmove(bc->input.at, bc->input.at + bc->input.off, bc->input.len - bc->input.off);
        brg_buffer_copied(bc->input.len - bc->input.off);
        bc->input.len -= bc->input.off;
        bc->input.off = 0;
        return 0;
    }
    return bc->input.cap >= LOOP_IN_MOST ? -1 : conn_in_move(bc, more);
}

void conn_in_release(brg_conn *bc)
{
    if (!bc->input.at)
        return;
    if (bc->input.shared)
        bc->input.shared = 0;
    else if (bc->input.cap == LOOP_IN_BYTES)
        loop_in_put(bc->loop, bc->input.at);
    else
        free(bc->input.at);
    bc->input.at = NULL;
    bc->input.off = bc->input.len = bc->input.cap = 0;
}

/* One recv. APR_SUCCESS: bytes came, *got of them. */
static apr_status_t conn_recv(brg_conn *bc, uint64_t *got)
{
    apr_status_t rv;
    ssize_t n;
    size_t room;

    if (bc->read_eof)
        return APR_EOF;
    if (conn_in_room(bc))
        return APR_ENOMEM;
    room = bc->input.cap - bc->input.len;
    do
        n = transport_recv(bc, bc->input.at + bc->input.len, room);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        bc->input.len += (uint32_t)n;
        *got = (uint64_t)n;
        return (size_t)n < room ? APR_INCOMPLETE : APR_SUCCESS;
    }
    if (n == 0) {
        bc->read_eof = 1;
        return APR_EOF;
    }
    if (errno == EAGAIN)
        return errno;
    rv = errno;
    bc->read_eof = 1;
    conn_fail(bc, rv, "cannot read from the client");
    return rv;
}

apr_status_t socket_wait(int fd, int for_write, apr_interval_time_t timeout)
{
    struct pollfd p = {.fd = fd, .events = for_write ? POLLOUT : POLLIN};
    apr_interval_time_t ms = timeout < 0 ? -1 : (timeout + 999) / 1000;
    int n;

    do
        n = poll(&p, 1, ms > INT_MAX ? -1 : (int)ms);
    while (n < 0 && errno == EINTR);
    return n > 0 ? APR_SUCCESS : n == 0 ? APR_TIMEUP : errno;
}

static apr_status_t wait_once(brg_conn *bc, int for_write, apr_interval_time_t timeout)
{
    return bc->transport && bc->transport->wait ? bc->transport->wait(bc, for_write, timeout)
                                                : socket_wait(bc->fd, for_write, timeout);
}

/* In steps, to see whether somebody else needs this thread. */
apr_status_t conn_wait(brg_conn *bc, int for_write, apr_interval_time_t timeout)
{
    apr_interval_time_t stall = bc->loop->config->stall_us, waited = 0, step;
    apr_status_t rv;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(!conn_on_loop());
    if (!stall)
        return wait_once(bc, for_write, timeout);
    do {
        step = waited < stall ? stall : CONN_WAIT_STEP_US;
        if (timeout >= 0 && step > timeout - waited)
            step = timeout - waited;
        rv = wait_once(bc, for_write, step);
        waited += step;
    } while (rv == APR_TIMEUP && (timeout < 0 || waited < timeout) &&
             !worker_pool_is_short(bc->loop->workers));
    return rv;
}

apr_status_t conn_read(brg_conn *bc, apr_read_type_e block, apr_interval_time_t timeout)
{
    /* Bytes behind the body are a head, and must not be read after the look at the file watches. */
    if (bc->state == CONN_BODY)
        return bc->read_eof ? APR_EOF : APR_EAGAIN;
    for (;;) {
        uint64_t got = 0;
        apr_status_t rv = conn_recv(bc, &got);

        if (conn_on_loop())
            bc->loop->turn.read_n += got;
        else if (got)
            figures_add_shared(&bc->loop->figures->others.value[BRG_FIGURE_READ], got);

        if (rv == APR_INCOMPLETE)
            return APR_SUCCESS;
        if (!APR_STATUS_IS_EAGAIN(rv) || block == APR_NONBLOCK_READ || conn_on_loop())
            return rv;
        rv = conn_wait(bc, 0, timeout);
        if (rv != APR_SUCCESS)
            return rv;
    }
}

/* A lingering connection: further input is dropped. */
static void conn_sink(brg_conn *bc)
{
    char sink[4096];
    ssize_t n;

    for (int i = 0; i < 16; i++) {
        n = transport_recv(bc, sink, sizeof sink);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            bc->read_eof = 1;
            return;
        }
        if (n < 0)
            return;
    }
    bc->rd_ready = 1;
}

void conn_fill(brg_conn *bc)
{
    uint64_t got = 0;
    apr_status_t rv;

    BRG_ASSERT_DEBUG(loop_self() == bc->loop);
    BRG_ASSERT_DEBUG(bc->input.off <= bc->input.len && bc->input.len <= bc->input.cap);
    /* While output waits nothing is read: requests of a client that takes no responses would need memory
     * without end. */
    if (!bc->rd_ready || bc->state == CONN_WRITE || bc->state == CONN_WORKER)
        return;
    if ((bc->state == CONN_BODY || bc->state == CONN_WAIT) && conn_in_size(bc) >= LOOP_BODY_BYTES)
        return; /* answer the received bytes first; the rest is read in the next turn */
    bc->rd_ready = 0;
    if (bc->state == CONN_LINGER) {
        conn_sink(bc);
        return;
    }
    if (!conn_in_size(bc) && bc->requests && bc->state != CONN_BODY && bc->state != CONN_WAIT)
        bc->input.began = bc->loop->monotonic;
    rv = conn_recv(bc, &got);
    bc->loop->turn.read_n += got;
    if (bc->state == CONN_IDLE)
        conn_enter(bc, CONN_HEAD);
    /* A read that filled the buffer may have left something behind, and no further event will tell.
     * A short one left nothing but possibly the end of the stream, whose event came, with this one or
     * before, or is still to come. */
    if (rv == APR_SUCCESS || (rv == APR_INCOMPLETE && bc->rd_hup))
        bc->rd_ready = 1;
}
