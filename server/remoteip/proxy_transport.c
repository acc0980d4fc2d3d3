/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection from accept to the end of its PROXY header. Then TLS, or the protocol, takes over.
 *
 * Nothing behind the header is read: it belongs to the next transport. So each read first peeks
 * (MSG_PEEK), and then takes bytes of the header alone.
 */
#include "remoteip_private.h"
#include "proxy_header.h"
#include "driver.h"
#include "loop.h"
#include "transport.h"
#include "vhosts.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "brigade/read_timeout.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(remoteip);

#define PROXY_TAG 0x50524f58u

/* brg_conn.below until the header is complete. */
typedef struct proxy_wait {
    uint32_t tag, len;
    uint32_t skip; /* bytes of the header that are to be dropped still */
    int bad;       /* not a header: the connection ends */
    proxy_source source;
    unsigned char data[PROXY_HEADER_KEEP];
} proxy_wait;

static const apr_array_header_t *proxy_exceptions; /* of remoteip_proxy; NULL: none */

static const struct conn_transport proxy_transport;
static const struct conn_driver proxy_driver;

/* ---- the end of the header ---- */

/* Rules are written for addresses of IPv4 as such. */
static void proxy_tell(struct conn_peer *peer, const proxy_source *source)
{
    const unsigned char *mapped =
        source->family == AF_INET6 ? remoteip_mapped(source->address) : NULL;

    peer->family = mapped ? AF_INET : source->family;
    peer->port = source->port;
    memcpy(peer->address, mapped ? mapped : source->address, mapped ? 4 : sizeof peer->address);
    if (peer->family)
        inet_ntop(peer->family, peer->address, peer->ip, sizeof peer->ip);
}

static void proxy_done(brg_conn *bc)
{
    proxy_wait *w = bc->below;

    BRG_ASSERT_TAG(w, PROXY_TAG);
    BRG_ASSERT(loop_self() == bc->loop && !bc->peer);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    bc->client.len = bc->client.told = 0; /* the client is another one than the socket's peer */
    if ((bc->peer = calloc(1, sizeof *bc->peer)) != NULL)
        proxy_tell(bc->peer, &w->source);
    else
        bc->failed = 1;
    w->tag = 0;
    free(w);
    bc->below = NULL;
    bc->transport = NULL;
    bc->driver = bc->loop->config->services->driver;
    bc->input.began = bc->loop->monotonic;
    loop_front_done(bc);
}

static ssize_t proxy_bad(const brg_conn *bc, proxy_wait *w, const char *why)
{
    char name[CONN_CLIENT_TEXT];

    ap_log_error(APLOG_MARK, APLOG_ERR, 0, bc->base,
                 "RemoteIPProxyProtocol: %s sent %s; its connection is closed",
                 conn_client(bc, name), why);
    w->bad = 1;
    errno = EAGAIN;
    return -1;
}

/* Drop the rest of the header. 1: all dropped; else the result of recv() */
static ssize_t proxy_skip(const brg_conn *bc, proxy_wait *w)
{
    unsigned char scratch[PROXY_HEADER_MOST];
    ssize_t n = 1;

    BRG_ASSERT(w->skip <= sizeof scratch);
    while (w->skip && (n = recv(bc->fd, scratch, w->skip, 0)) > 0)
        w->skip -= (uint32_t)n;
    return w->skip ? n : 1;
}

/* Take @a len bytes that were seen. The result of recv(), which may be less. */
static ssize_t proxy_take(const brg_conn *bc, proxy_wait *w, size_t len)
{
    ssize_t n;

    BRG_ASSERT(len > 0 && len <= sizeof w->data - w->len);
    do
        n = recv(bc->fd, w->data + w->len, len, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        w->len += (uint32_t)n;
    return n;
}

/* Read the header as far as it has come. 1: it is complete; else the result of recv(): 0, or -1
 * with errno */
static ssize_t proxy_step(const brg_conn *bc, proxy_wait *w)
{
    const char *why = NULL;
    ssize_t n;
    size_t take;
    int rc;

    BRG_ASSERT(w->len < sizeof w->data || w->skip);
    while (!w->skip) {
        if ((n = recv(bc->fd, w->data + w->len, sizeof w->data - w->len, MSG_PEEK)) <= 0)
            return n;
        if ((rc = proxy_header_read(w->data, w->len + (size_t)n, &w->source, &why)) < 0)
            return proxy_bad(bc, w, why);
        take = rc && (size_t)rc < w->len + (size_t)n ? (size_t)rc - w->len : (size_t)n;
        if ((n = proxy_take(bc, w, take)) <= 0)
            return n;
        if (!rc || (size_t)n < take)
            continue;
        w->skip = (uint32_t)rc - w->len;
        break;
    }
    return proxy_skip(bc, w);
}

static ssize_t proxy_recv(brg_conn *bc, void *buf, size_t len)
{
    ssize_t n;

    BRG_ASSERT_TAG((proxy_wait *)bc->below, PROXY_TAG);
    if ((n = proxy_step(bc, bc->below)) <= 0)
        return n;
    proxy_done(bc);
    if (bc->failed) {
        errno = ENOMEM;
        return -1;
    }
    return transport_recv(bc, buf, len);
}

/* Nothing is said to a client of which nothing is known. */
static ssize_t proxy_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    errno = EPIPE;
    return -1;
}

static int proxy_shut(brg_conn *bc)
{
    return 0;
}

static void proxy_end(brg_conn *bc)
{
    free(bc->below);
    bc->below = NULL;
    bc->transport = NULL;
}

static const struct conn_transport proxy_transport = {.name = "proxy header",
                                                      .recv = proxy_recv,
                                                      .sendv = proxy_sendv,
                                                      .shut = proxy_shut,
                                                      .end = proxy_end};

/* ---- the driver ---- */

static void proxy_close(brg_conn *bc)
{
    BRG_ASSERT(bc->driver == &proxy_driver && !bc->c);
    bc->failed = 1;
    loop_close(bc->loop, bc);
}

static apr_time_t proxy_due(const brg_conn *bc)
{
    APR_OPTIONAL_FN_TYPE(brg_read_timeouts_of) *limits =
        APR_RETRIEVE_OPTIONAL_FN(brg_read_timeouts_of);
    apr_interval_time_t most = bc->base->timeout;
    brg_read_timeouts of;

    memset(&of, 0, sizeof of);
    if (limits)
        limits(bc->base, &of);
    if (of.header.first_us && of.header.first_us < most)
        most = of.header.first_us;
    return bc->input.began + most;
}

static void proxy_run(brg_conn *bc)
{
    const proxy_wait *w = bc->below;

    BRG_ASSERT(loop_self() == bc->loop && bc->state == CONN_HEAD &&
               bc->transport == &proxy_transport);
    conn_in_release(bc);
    if (w->bad) {
        proxy_end(bc);
        loop_linger(bc->loop, bc);
    } else if (bc->failed || bc->read_eof || loop_poll(bc->loop, bc))
        proxy_close(bc);
    else if (!bc->timer.prev)
        wheel_set(&bc->loop->wheel, &bc->timer, proxy_due(bc));
}

static void proxy_expired(brg_conn *bc)
{
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, bc->base,
                 "RemoteIPProxyProtocol: no header in time; a connection is closed");
    proxy_close(bc);
}

/* A connection in its header is never with a worker. */
static void proxy_refused(brg_conn *bc)
{
    BRG_ASSERT(bc->state != CONN_WORKER);
}

static const struct conn_driver proxy_driver = {.name = "proxy header",
                                                .run = proxy_run,
                                                .expired = proxy_expired,
                                                .drop = proxy_close,
                                                .refused = proxy_refused,
                                                .work = proxy_refused};

/* ---- new connections ---- */

static int proxy_is_excepted(const brg_conn *bc)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;
    socklen_t len = sizeof peer;
    apr_sockaddr_t address;

    if (!proxy_exceptions || getpeername(bc->fd, &peer.any, &len))
        return 0;
    memset(&address, 0, sizeof address);
    address.family = peer.any.sa_family;
    if (peer.any.sa_family == AF_INET)
        address.sa.sin = peer.v4;
    else
        address.sa.sin6 = peer.v6;
    address.ipaddr_len = peer.any.sa_family == AF_INET ? 4 : 16;
    address.ipaddr_ptr = peer.any.sa_family == AF_INET ? (void *)&address.sa.sin.sin_addr
                                                       : (void *)&address.sa.sin6.sin6_addr;
    for (int i = 0; i < proxy_exceptions->nelts; i++)
        if (apr_ipsubnet_test(APR_ARRAY_IDX(proxy_exceptions, i, remoteip_proxy).net, &address))
            return 1;
    return 0;
}

static void proxy_accepted(brg_conn *bc)
{
    proxy_wait *w;

    BRG_ASSERT(!bc->below && !bc->transport && !bc->peer);
    vhost_of_connection(bc);
    if (remoteip_conf_of(bc->base)->expects != 1 || proxy_is_excepted(bc)) {
        loop_front_done(bc);
        return;
    }
    if (!(w = calloc(1, sizeof *w))) {
        loop_front_done(bc);
        bc->failed = 1;
        return;
    }
    w->tag = PROXY_TAG;
    bc->below = w;
    bc->driver = &proxy_driver;
    bc->transport = &proxy_transport;
}

void proxy_expect(int on, const apr_array_header_t *exceptions)
{
    proxy_exceptions = exceptions;
    loop_front_set(on ? proxy_accepted : NULL);
}
