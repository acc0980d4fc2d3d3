/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting: a socket for each address in turn, then TLS. A connection that is taken from the idle ones skips all of it. */
#include "upstream_private.h"
#include "transport.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

/* until a full backlog is tried again, by a loop */
#define UPSTREAM_CROWDED_US apr_time_from_msec(50)
#define UPSTREAM_CROWDED_MS 10 /* and by a worker */

static void connect_name_path(upstream_conn *cc, const char *path)
{
    const size_t len = strnlen(path, sizeof cc->peer - 1);

    memcpy(cc->peer, path, len);
    cc->peer[len] = '\0';
}

static void connect_name(upstream_conn *cc, const upstream_address *a)
{
    const struct sockaddr_in *in = (const void *)&a->to.storage;
    const struct sockaddr_in6 *in6 = (const void *)&a->to.storage;
    const struct sockaddr_un *un = (const void *)&a->to.storage;
    char text[INET6_ADDRSTRLEN] = "";

    switch (a->to.any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &in->sin_addr, cc->peer, sizeof cc->peer);
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
        apr_cpystrn(cc->peer, text, sizeof cc->peer);
        break;
    default:
        connect_name_path(cc, un->sun_path);
    }
}

static void connect_options(const upstream_conn *cc, int fd, int family)
{
    const upstream_settings *conf = &cc->origin->conf;
    const int one = 1;

    if (conf->receive_buffer)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &conf->receive_buffer, sizeof conf->receive_buffer);
    if (family == AF_UNIX)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (conf->keepalive)
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

/* The local address, if it is of the same family. @return 0, or errno */
static int connect_from(const upstream_conn *cc, int fd, int family)
{
    const apr_sockaddr_t *from = cc->origin->conf.from;

    if (!from || from->family != family)
        return 0;
    return bind(fd, (const struct sockaddr *)&from->sa, from->salen) ? errno : 0;
}

/* A Unix socket tells of room after each piece that its peer has read: nobody asks before there was none (upstream_send()). */
static int connect_poll(upstream_conn *cc, int family)
{
    const uint32_t events = EPOLLIN | EPOLLRDHUP | EPOLLET;

    if (!cc->on_loop)
        return 0;
    cc->polls_room = family != AF_UNIX || !cc->wr_ready || cc->origin->conf.tls;
    return loop_io_add(cc->bc.loop, &cc->bc.io, cc->bc.fd,
                       cc->polls_room ? events | EPOLLOUT : events);
}

static void connect_socket_end(upstream_conn *cc)
{
    if (cc->bc.fd < 0)
        return;
    if (cc->on_loop && cc->bc.polled)
        loop_io_remove(cc->bc.loop, &cc->bc.io, cc->bc.fd);
    cc->bc.polled = 0;
    close(cc->bc.fd);
    cc->bc.fd = -1;
}

int upstream_socket(const upstream_conn *cc, const upstream_address *a, int *fd)
{
    const int family = a->to.any.sa_family;
    int error;

    *fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    connect_options(cc, *fd, family);
    if ((error = connect_from(cc, *fd, family)) != 0)
        return error;
    return connect(*fd, &a->to.any, a->len) ? errno : 0;
}

apr_status_t upstream_socket_outcome(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int error = 0;

    if (poll(&p, 1, 0) <= 0)
        return APR_EAGAIN;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
        return errno;
    return error;
}

apr_status_t upstream_socket_is(upstream_conn *cc, int fd, const upstream_address *a)
{
    int error;

    BRG_ASSERT(fd >= 0 && cc->state == UPSTREAM_CONNECTING);
    connect_socket_end(cc);
    cc->bc.fd = fd;
    connect_name(cc, a);
    error = connect_poll(cc, a->to.any.sa_family);
    cc->bc.polled = cc->on_loop && !error;
    if (error)
        connect_socket_end(cc);
    return error;
}

/* @return 0: connected, or on the way; else errno */
static int connect_to(upstream_conn *cc, const upstream_address *a)
{
    int fd;
    const int error = upstream_socket(cc, a, &fd);

    connect_name(cc, a);
    if (error == 0)
        cc->wr_ready = 1;
    else if (error != EINPROGRESS) {
        if (fd >= 0)
            close(fd);
        return error;
    }
    return upstream_socket_is(cc, fd, a);
}

/* ---- a backlog that is full ---- */

/* A Unix socket whose backlog is full says so at once (connect(2): EAGAIN), where TCP tries again by itself: the connection waits on
 * its loop, first come, first served, until another one to the same socket ends, or a moment passed. Requests whose handler names
 * the socket (SetHandler) have origins of their own, so all that wait are in one list. */
static _Thread_local upstream_conn *crowd;

static upstream_conn *crowd_find(const char *path)
{
    upstream_conn *cc = crowd;

    while (cc && (!path || strcmp(cc->origin->conf.path, path) != 0))
        cc = cc->next;
    return cc;
}

static void crowd_enter(upstream_conn *cc, int first)
{
    upstream_conn **at = &crowd;

    BRG_ASSERT(!cc->prev && cc->on_loop && cc->bc.fd < 0 && cc->origin->conf.path);
    while (*at && !first)
        at = &(*at)->next;
    cc->next = *at;
    cc->prev = at;
    if (cc->next)
        cc->next->prev = &cc->next;
    *at = cc;
    atomic_fetch_add_explicit(&cc->origin->gauges->waiting, 1, memory_order_relaxed);
    wheel_set(&cc->bc.loop->wheel, &cc->bc.timer, cc->bc.loop->monotonic + UPSTREAM_CROWDED_US);
}

void upstream_crowd_leave(upstream_conn *cc)
{
    if (!cc->crowded || !cc->prev)
        return;
    *cc->prev = cc->next;
    if (cc->next)
        cc->next->prev = cc->prev;
    cc->prev = NULL;
    atomic_fetch_sub_explicit(&cc->origin->gauges->waiting, 1, memory_order_relaxed);
    wheel_cancel(&cc->bc.loop->wheel, &cc->bc.timer);
}

void upstream_crowd_tell(const upstream_origin *o)
{
    upstream_conn *cc = __builtin_expect(crowd != NULL, 0) ? crowd_find(o->conf.path) : NULL;

    if (!cc)
        return;
    upstream_crowd_leave(cc);
    if (cc->notify)
        cc->notify(cc->baton);
}

/* Others wait already, or this socket has no room. */
static apr_status_t connect_waits(upstream_conn *cc)
{
    const int first = cc->crowded; /* it was told, and in vain */

    connect_socket_end(cc);
    cc->crowded = 1;
    if (cc->on_loop)
        crowd_enter(cc, first);
    return APR_SUCCESS;
}

static int connect_is_crowded(const upstream_conn *cc, const upstream_address *a)
{
    return a->to.any.sa_family == AF_UNIX && cc->on_loop && !cc->crowded && crowd &&
           crowd_find(cc->origin->conf.path);
}

/* The next address, until one is on its way. */
static apr_status_t connect_next(upstream_conn *cc, int error)
{
    while (cc->address_at < cc->addresses_n) {
        const upstream_address *a = &cc->addresses[cc->address_at];

        connect_socket_end(cc);
        if (connect_is_crowded(cc, a))
            return connect_waits(cc);
        error = connect_to(cc, a);
        if (error == EAGAIN && a->to.any.sa_family == AF_UNIX)
            return connect_waits(cc);
        cc->crowded = 0;
        cc->address_at++;
        if (!error) {
            upstream_race_arm(cc);
            return APR_SUCCESS;
        }
    }
    connect_socket_end(cc);
    upstream_race_end(cc);
    cc->failure = UPSTREAM_NO_CONNECT;
    cc->error = error;
    return error;
}

static void connect_done(upstream_conn *cc)
{
    upstream_race_end(cc);
    upstream_addresses_end(cc);
    cc->wr_ready = 1;
    cc->state = cc->origin->conf.tunnel ? UPSTREAM_TUNNEL
                : cc->origin->conf.tls  ? UPSTREAM_HANDSHAKE
                                        : UPSTREAM_READY;
}

static apr_status_t connect_again(upstream_conn *cc)
{
    apr_status_t rv;

    if (cc->prev) /* its turn has not come */
        return APR_EAGAIN;
    rv = connect_next(cc, 0);
    if (rv == APR_SUCCESS && cc->crowded)
        return APR_EAGAIN;
    if (cc->on_loop)
        upstream_crowd_tell(cc->origin); /* there may be room for more */
    return rv;
}

static apr_status_t connect_go(upstream_conn *cc)
{
    apr_status_t rv = cc->crowded ? connect_again(cc) : APR_SUCCESS;

    if (rv != APR_SUCCESS)
        return rv;
    for (;;) {
        rv = upstream_socket_outcome(cc->bc.fd);
        if (rv == APR_SUCCESS || (rv == APR_EAGAIN && upstream_race_won(cc))) {
            connect_done(cc);
            return APR_SUCCESS;
        }
        if (rv == APR_EAGAIN)
            return rv;
        if (!upstream_race_goes_on(cc) && (rv = connect_next(cc, rv)) != APR_SUCCESS)
            return rv;
    }
}

apr_status_t upstream_go(upstream_conn *cc)
{
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(cc->state < UPSTREAM_IDLE);
    if (cc->failure)
        return cc->error;
    if (cc->state == UPSTREAM_CONNECTING)
        rv = connect_go(cc);
    if (rv == APR_SUCCESS && cc->state == UPSTREAM_TUNNEL) {
        rv = upstream_tunnel(cc);
        if (rv == APR_SUCCESS)
            cc->state = UPSTREAM_HANDSHAKE;
    }
    if (rv == APR_SUCCESS && cc->state == UPSTREAM_HANDSHAKE) {
        rv = upstream_handshake(cc);
        if (rv == APR_SUCCESS)
            cc->state = UPSTREAM_READY;
    }
    return rv;
}

short upstream_wants(const upstream_conn *cc)
{
    return cc->state == UPSTREAM_CONNECTING || cc->wants_write ? POLLOUT : POLLIN;
}

/* A worker tries again now and then. */
static apr_status_t connect_wait_crowded(upstream_conn *cc, apr_interval_time_t timeout)
{
    (void)poll(NULL, 0, UPSTREAM_CROWDED_MS);
    cc->waited_us += apr_time_from_msec(UPSTREAM_CROWDED_MS);
    return timeout >= 0 && cc->waited_us >= timeout ? APR_TIMEUP : APR_SUCCESS;
}

apr_status_t upstream_wait(upstream_conn *cc, short events, apr_interval_time_t timeout)
{
    struct pollfd p = {.fd = cc->bc.fd, .events = events};
    int n;

    BRG_ASSERT(!cc->on_loop);
    if (cc->crowded)
        return connect_wait_crowded(cc, timeout);
    if (cc->state == UPSTREAM_CONNECTING && cc->addresses_n > 1)
        return upstream_race_wait(cc, events, timeout);
    do
        n = poll(&p, 1, timeout < 0 ? -1 : (int)((timeout + 999) / 1000));
    while (n < 0 && errno == EINTR);
    cc->rd_ready = cc->wr_ready = 1;
    return n > 0 ? APR_SUCCESS : n == 0 ? APR_TIMEUP : errno;
}

/* Of each that is kept: thousands may be, and nothing beside it. */
_Static_assert(sizeof(upstream_conn) <= 1024, "an idle connection to a backend is small");

static upstream_conn *connect_object(upstream_origin *o, upstream_pool *pool, brg_loop *loop)
{
    upstream_conn *cc = calloc(1, sizeof *cc);

    if (!cc)
        return NULL;
    upstream_origin_hold(o);
    cc->bc.tag = CONN_TAG;
    cc->bc.loop = loop;
    cc->bc.fd = -1;
    cc->bc.io.ready = upstream_ready;
    cc->bc.timer.expired = upstream_expired;
    cc->origin = o;
    cc->pool = pool;
    cc->on_loop = loop != NULL;
    cc->opened = 1;
    cc->uses = 1;
    cc->connecting = loop && o->conf.shared;
    if (cc->connecting) /* workers share a pool, and leave the loops' counter alone */
        pool->connecting_n++;
    return cc;
}

/* Another loop may have an idle one that counts. */
static void open_ask_others(upstream_origin *o, const upstream_pool *mine)
{
    for (int i = 0; i < upstream_pools(o); i++) {
        upstream_pool *pool = atomic_load_explicit(&o->pool[i], memory_order_acquire);

        if (pool && pool != mine && atomic_load(&pool->idle_n)) {
            atomic_store(&pool->wanted, 1);
            loop_note_post(pool->loop, &pool->note);
            return;
        }
    }
}

static int open_is_refused(const upstream_origin *o, const upstream_address *addresses, unsigned n)
{
    for (unsigned i = 0; o->conf.refuses && i < n; i++)
        if (o->conf.refuses(o->conf.server, &addresses[i].to.any))
            return 1;
    return 0;
}

apr_status_t upstream_open(upstream_origin *o, brg_loop *loop, upstream_ticket *ticket,
                           upstream_conn **out)
{
    upstream_pool *pool = upstream_pool_of(o, loop);
    const upstream_address *addresses = NULL;
    unsigned n = 0;
    apr_status_t rv = upstream_resolve(o, !loop, &addresses, &n);
    upstream_conn *cc;

    *out = NULL;
    if (rv == APR_EAGAIN)
        upstream_ticket_wait(pool, ticket);
    if (rv != APR_SUCCESS)
        return rv;
    if (!o->conf.path && open_is_refused(o, addresses, n)) {
        upstream_addresses_free(o, addresses);
        return APR_EACCES;
    }
    if (!upstream_count_open(o, !loop)) {
        upstream_addresses_free(o, addresses);
        upstream_ticket_wait(pool, ticket);
        open_ask_others(o, pool);
        return APR_EAGAIN;
    }
    cc = connect_object(o, pool, loop);
    if (!cc) {
        upstream_addresses_free(o, addresses);
        upstream_count_closed(o);
        return APR_ENOMEM;
    }
    cc->addresses = addresses;
    cc->addresses_n = (uint16_t)n;
    (void)connect_next(cc, 0); /* upstream_go() tells of errors */
    if (cc->wr_ready && !cc->crowded)
        connect_done(cc);
    *out = cc;
    return APR_SUCCESS;
}
