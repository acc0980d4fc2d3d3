/* SPDX-License-Identifier: Apache-2.0 */
/* New connections of a loop. */
#include "loop.h"
#include "driver.h"
#include "scores.h"
#include "thread_self.h"
#include "http_config.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define ACCEPT_BATCH 32 /* connections per listener and turn, so that open ones are not starved */

#define ACCEPT_LAST_BATCH 4096 /* the same for a process that ends */
#define ACCEPT_IN_VAIN 1024    /* clients that gave up, in a row */

static void accept_failed(brg_loop *loop, int error);

/* @return 0, or the last errno; a listener that is already in that state is no error */
static int listeners_poll(brg_loop *loop, int on)
{
    int error = 0;

    for (struct loop_listener *d = loop->accept.doors; d->listener; d++) {
        /* A shared socket wakes one of its pollers. */
        uint32_t exclusive = loop->prefork || d->listener->shared ? EPOLLEXCLUSIVE : 0;
        int rc = on ? loop_io_add(loop, &d->io, d->listener->fd, EPOLLIN | exclusive)
                    : loop_io_remove(loop, &d->io, d->listener->fd);

        if (rc && rc != (on ? EEXIST : ENOENT))
            error = rc;
    }
    return error;
}

int loop_listeners(brg_loop *loop, int on)
{
    int error;

    if (loop->accept.on == on)
        return 0;
    error = listeners_poll(loop, on);
    loop->accept.on = on;
    if (!error)
        return 0;
    if (on) {
        accept_failed(loop, error); /* not with some of them only */
    } else {
        ap_log_error(APLOG_MARK, APLOG_ERR, error, loop->server,
                     "event loop: a listening socket stays in the poll set");
    }
    return error;
}

static brg_conn *conn_object(brg_loop *loop)
{
    brg_conn *bc = loop->spare.conns;

    if (bc) {
        loop->spare.conns = bc->next;
        loop->spare.conns_n--;
    } else if (!(bc = malloc(sizeof *bc)))
        return NULL;
    memset(bc, 0, sizeof *bc);
    bc->tag = CONN_TAG;
    bc->loop = loop;
    bc->timer.expired = loop_conn_expired;
    bc->io.ready = loop_conn_ready;
    return bc;
}

brg_conn *loop_stream(brg_conn *master)
{
    brg_loop *loop = master->loop;
    brg_conn *bc = conn_object(loop);

    BRG_ASSERT(loop_self() == loop && !master->master && master->fd >= 0);
    if (!bc)
        return NULL;
    bc->master = master;
    bc->borrows = master->borrows;
    bc->listener = master->listener;
    bc->fd = master->fd;
    bc->chain = master->chain;
    bc->peer = master->peer;
    bc->base = master->base;
    bc->protocol = master->protocol;
    bc->rd_ready = 1;
    bc->input.began = loop->monotonic;
    loop->conns.streams[CONN_HEAD]++;
    return bc;
}

static void conn_enlist(brg_loop *loop, brg_conn *bc)
{
    bc->input.began = loop->monotonic;
    bc->all.next = loop->conns.all;
    bc->all.prev = &loop->conns.all;
    if (loop->conns.all)
        loop->conns.all->all.prev = &bc->all.next;
    loop->conns.all = bc;
    loop->conns.n++;
    loop->conns.by_state[CONN_HEAD]++;
    loop_score_add(&loop->score->accepted, 1);
}

static brg_conn *accept_conn(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *peer)
{
    brg_conn *bc = conn_object(loop);

    if (!bc)
        return NULL;
    bc->listener = l;
    bc->fd = fd;
    bc->rd_ready = 1;
    conn_client_told(bc, peer);
    bc->driver = loop->config->services->driver;
    loop->config->services->accepted(bc);
    conn_enlist(loop, bc);
    return bc;
}

brg_conn *loop_conn_begin(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *peer,
                          const struct sockaddr *local)
{
    brg_conn *bc = loop_is_full(loop) ? NULL : conn_object(loop);

    BRG_ASSERT(loop_self() == loop && fd >= 0 && local);
    if (!bc)
        return NULL;
    bc->listener = l;
    bc->fd = fd;
    bc->borrows = 1;
    bc->local = local;
    conn_client_told(bc, peer);
    bc->driver = loop->config->services->driver;
    loop_front_done(bc);
    if (!bc->failed) {
        conn_enlist(loop, bc);
        return bc;
    }
    bc->fd = -1;
    bc->all.next = loop->turn.closed;
    loop->turn.closed = bc;
    return NULL;
}

/* Connections cannot be accepted, for lack of descriptors or memory as a rule: wait until a
 * connection closes, or LOOP_SHED_VAIN_MS. Logged at most once a second by all loops of the process, since
 * each return to accepting may fail again. */
static void accept_failed(brg_loop *loop, int error)
{
    static _Atomic apr_time_t said;
    apr_time_t last = atomic_load(&said);

    loop_listeners(loop, 0);
    loop->accept.again = loop->monotonic + apr_time_from_msec(LOOP_SHED_VAIN_MS);
    if (error == EMFILE || error == ENFILE)
        loops_shed();
    if (loop->monotonic - last < apr_time_from_sec(1) ||
        !atomic_compare_exchange_strong(&said, &last, loop->monotonic))
        return;
    ap_log_error(APLOG_MARK, APLOG_CRIT, error, loop->server,
                 "cannot accept connections (%u open here): trying again ten times a second",
                 loop->conns.n);
}

/* A client that gave up, or a signal, does not matter, unless nothing else comes: the socket stays
 * readable, and the loop would do nothing but ask. */
static int accept_is_fatal(int error)
{
    static _Thread_local unsigned in_vain;

    if (error != EINTR && error != ECONNABORTED) {
        in_vain = 0;
        return error != EAGAIN;
    }
    return ++in_vain % ACCEPT_IN_VAIN == 0;
}

/* A thread that is alone takes one connection at a time: another would have to wait for whatever a
 * module does with the first. A connection that waits to be closed is no hindrance, and an idle one
 * is not while there is no free process anyway. */
int loop_is_full(const brg_loop *loop)
{
    unsigned n = loop->conns.n;

    if (!loop->prefork || loop->draining || n >= loop->conns.most)
        return n >= loop->conns.most;
    n -= loop->conns.by_state[CONN_LINGER];
    if (n && scoreboard_is_full())
        n -= loop->conns.by_state[CONN_IDLE];
    return n > 0;
}

/* One connection. 1: there may be more; 0: none waits; -1: there is no room, or it failed. */
static int accept_one(brg_loop *loop, brg_listener *l)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage most;
    } peer;
    socklen_t len = sizeof peer;
    brg_conn *bc;
    int fd;

    if (loop_is_full(loop)) {
        loop_listeners(loop, 0); /* the backlog holds the rest */
        return -1;
    }
    /* TCP_NODELAY is inherited from the listening socket; the local address is asked for when
     * someone wants it. */
    fd = accept4(l->fd, &peer.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (accept_is_fatal(errno)) {
            accept_failed(loop, errno);
            return -1;
        }
        return errno == EAGAIN ? 0 : 1; /* a client gave up; behind it others may wait */
    }
    if (!(bc = accept_conn(loop, l, fd, &peer.any))) {
        close(fd);
        accept_failed(loop, ENOMEM);
        return -1;
    }
    conn_fill(bc);
    loop_ready(loop, bc);
    return 1;
}

void loop_accept(struct loop_io *io, uint32_t events)
{
    struct loop_listener *d = loop_io_of(io, struct loop_listener, io);
    const uint64_t turn = loop_score_get(&d->loop->score->turns);
    /* A lone connection usually has no other behind it: a second accept() would be in vain, and the
     * poll set tells of more. Not where others poll the same socket: the kernel has woken this loop
     * alone, which must see at once that it is full. */
    const int is_shared = d->loop->prefork || d->listener->shared;
    const int most = is_shared || turn - d->turn <= 1 ? ACCEPT_BATCH : 1;
    int more = 1;

    (void)events;
    d->turn = turn;
    for (int i = 0; more == 1 && i < most; i++)
        more = accept_one(d->loop, d->listener);
}

/* If no other process has the socket, the connections in its queue would be lost with it. */
int loop_accept_last(brg_loop *loop)
{
    int open = 0;

    for (brg_listener **l = loop->accept.listeners; *l; l++) {
        int more = (*l)->fd >= 0;

        if (!more)
            continue;
        for (int i = 0; more == 1 && i < ACCEPT_LAST_BATCH; i++)
            more = accept_one(loop, *l);
        if (more != 0) {
            open++;
            continue;
        }
        close((*l)->fd); /* nobody shall wait in it any more */
        (*l)->fd = -1;
    }
    return open;
}
