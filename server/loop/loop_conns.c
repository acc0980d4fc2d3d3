/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a loop: their sockets in the poll set, input buffers, and the objects of
 * closed ones.
 *
 * An object whose connection was closed stays as it is until the end of the turn (loop->turn.closed), since it may be on
 * a list of the turn still; then it is kept for connections to come (loop->spare.conns), or freed. */
#include "loop.h"
#include "driver.h"
#include "loop_drain.h"
#include "thread_self.h"
#include "transport.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

void loop_conn_ready(struct loop_io *io, uint32_t events)
{
    brg_conn *bc = loop_io_of(io, brg_conn, io);
    brg_loop *loop = bc->loop;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (events & EPOLLRDHUP)
        bc->rd_hup = 1;
    if (bc->state == CONN_WORKER) {
        /* The worker reads by itself; loop_take_returned() looks again. */
        if (bc->work.drain && events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
            loop_drain_event(loop, bc->work.drain);
        return;
    }
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        bc->rd_ready = 1;
        if (bc->state == CONN_HEAD || bc->state == CONN_IDLE || bc->state == CONN_LINGER ||
            bc->state == CONN_BODY || (bc->state == CONN_WAIT && events & EPOLLRDHUP))
            conn_fill(bc);
        else if (events & (EPOLLHUP | EPOLLERR))
            bc->failed = 1;
        /* The end of input stands behind the read bytes, and no further event tells of it. */
        if (events & EPOLLRDHUP && !bc->read_eof)
            bc->rd_ready = 1;
    }
    if (bc->state == CONN_WRITE && !(events & EPOLLOUT) && !bc->failed)
        return; /* no room to write yet: the deadline stays */
    loop_ready(loop, bc);
}

void loop_conn_expired(struct loop_timer *t)
{
    brg_conn *bc = loop_io_of(t, brg_conn, timer);

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->fd >= 0 && bc->state != CONN_WORKER);
    bc->driver->expired(bc);
}

int loop_poll(brg_loop *loop, brg_conn *bc)
{
    int error;

    BRG_ASSERT(bc->loop == loop && bc->fd >= 0);
    if (bc->polled || bc->master || bc->borrows)
        return 0;
    error = loop_io_add(loop, &bc->io, bc->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    if (error) {
        conn_fail(bc, error, "cannot wait for the client");
        return -1;
    }
    bc->polled = 1;
    return 0;
}

int loop_wait(brg_conn *bc, apr_time_t due, int idle)
{
    brg_loop *loop = bc->loop;

    BRG_ASSERT(loop != NULL);
    if (loop_poll(loop, bc))
        return -1;
    if (due)
        wheel_set(&loop->wheel, &bc->timer, due);
    else
        wheel_cancel(&loop->wheel, &bc->timer);
    if (idle && !conn_in_size(bc))
        conn_in_release(bc);
    return 0;
}

char *loop_in_get(brg_loop *loop)
{
    void *buf = loop->spare.in;

    if (!buf)
        return malloc(LOOP_IN_BYTES);
    loop->spare.in = *(void **)buf;
    loop->spare.in_n--;
    return buf;
}

void loop_in_put(brg_loop *loop, char *buf)
{
    if (loop->spare.in_n >= LOOP_IN_SPARE) {
        free(buf);
        return;
    }
    *(void **)(void *)buf = loop->spare.in;
    loop->spare.in = buf;
    loop->spare.in_n++;
}

/* The stream's transport learns of it; the socket is its master's. */
static void loop_close_stream(brg_loop *loop, brg_conn *bc)
{
    wheel_cancel(&loop->wheel, &bc->timer);
    transport_end(bc);
    bc->fd = -1;
    conn_in_release(bc);
    bc->all.next = loop->turn.closed;
    loop->turn.closed = bc;
    loop->conns.streams[bc->state]--;
}

void loop_close(brg_loop *loop, brg_conn *bc)
{
    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->loop == loop && bc->fd >= 0 && !bc->c);
    if (bc->master) {
        loop_close_stream(loop, bc);
        return;
    }
    BRG_ASSERT(loop->conns.n > 0 && loop->conns.by_state[bc->state] > 0);
    if (bc->held_places[0])
        loop_doorkeeper_leave(bc);
    wheel_cancel(&loop->wheel, &bc->timer);
    if (bc->polled)
        loop_io_remove(loop, &bc->io, bc->fd);
    transport_end(bc);
    free(bc->peer);
    bc->peer = NULL;
    if (!bc->borrows)
        close(bc->fd);
    bc->fd = -1;
    conn_in_release(bc);
    *bc->all.prev = bc->all.next;
    if (bc->all.next)
        bc->all.next->all.prev = bc->all.prev;
    bc->all.next = loop->turn.closed;
    loop->turn.closed = bc;
    loop->conns.n--;
    loop->conns.by_state[bc->state]--;
    loop->accept.again = loop->monotonic; /* if descriptors had run out: here is one */
}

void loop_reap(brg_loop *loop)
{
    brg_conn *bc, *next = loop->turn.closed;

    loop->turn.closed = NULL;
    while ((bc = next) != NULL) {
        next = bc->all.next;
        BRG_ASSERT(bc->fd < 0 && !bc->timer.prev);
        if (bc->queued) { /* still on the list of the next turn */
            bc->all.next = loop->turn.closed;
            loop->turn.closed = bc;
            continue;
        }
        bc->tag = 0;
        if (loop->spare.conns_n >= LOOP_CONN_SPARE) {
            free(bc);
            continue;
        }
        bc->next = loop->spare.conns;
        loop->spare.conns = bc;
        loop->spare.conns_n++;
    }
}

void loop_drop_conns(brg_loop *loop, int with_workers)
{
    for (brg_conn *bc = loop->conns.all, *next; bc; bc = next) {
        next = bc->all.next;
        if (with_workers || bc->state != CONN_WORKER)
            bc->driver->drop(bc);
    }
}

void loop_free(brg_loop *loop)
{
    brg_conn *bc;

    BRG_ASSERT(!loop_self());
    loop_drop_conns(loop, 1);
    BRG_ASSERT(loop->conns.n == 0);
    if (loop->accept.datagrams)
        loop_datagrams_offered()->end(loop);
    while ((bc = loop->turn.closed) != NULL) {
        loop->turn.closed = bc->all.next;
        free(bc);
    }
    loop_spares_free(loop);
    loop->config->services->end(loop);
    close(loop->poll.fd);
    close(loop->poll.wake_fd);
}
