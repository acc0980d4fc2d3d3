/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams in and out. Input is read in batches, of which the kernel joins datagrams of one client
 * (UDP_GRO); output is laid behind each other, and leaves in one call: datagrams of one size to one
 * address in one message (UDP_SEGMENT), messages to several addresses together. */
#include "quic_private.h"
#include "driver.h"
#include "http_config.h"
#include "http_log.h"
#include <errno.h>
#include <stdlib.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

APLOG_USE_MODULE(core);

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define SOCKET_BUFFER (4 << 20)
#define OUT_AGAIN 1000   /* microseconds until a socket that was full is tried again */
#define SOCKET_ROUNDS 16 /* batches of a turn */

typedef union socket_control {
    struct cmsghdr align;
    uint8_t bytes[128];
} socket_control;

/* What the kernel fills for a batch that came; what it does not change is set once. */
struct quic_in {
    struct mmsghdr m[QUIC_IN_MSGS];
    struct iovec iov[QUIC_IN_MSGS];
    quic_addr peer[QUIC_IN_MSGS];
    socket_control control[QUIC_IN_MSGS];
    uint8_t bytes[QUIC_IN_MSGS][QUIC_IN_BYTES];
};

quic_in *quic_in_new(void)
{
    quic_in *in = malloc(sizeof *in);

    if (!in)
        return NULL;
    memset(in, 0, offsetof(quic_in, bytes));
    for (int i = 0; i < QUIC_IN_MSGS; i++) {
        in->iov[i] = (struct iovec){in->bytes[i], QUIC_IN_BYTES};
        in->m[i].msg_hdr = (struct msghdr){.msg_name = &in->peer[i],
                                           .msg_iov = &in->iov[i],
                                           .msg_iovlen = 1,
                                           .msg_control = &in->control[i]};
    }
    return in;
}

static int socket_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

int quic_socket_begin(quic_endpoint *ep)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    int error, one = 1;

    if (getsockname(ep->fd, (struct sockaddr *)&bound, &len))
        return -1;
    ep->has_v6 = bound.ss_family == AF_INET6;
    if (ep->has_v6) {
        socket_option(ep->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
        socket_option(ep->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
        socket_option(ep->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    }
    socket_option(ep->fd, IPPROTO_IP, IP_PKTINFO, 1); /* of IPv4 on a socket of IPv6, too */
    socket_option(ep->fd, IPPROTO_IP, IP_RECVTOS, 1);
    socket_option(ep->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    socket_option(ep->fd, IPPROTO_UDP, UDP_GRO, 1);
    socket_option(ep->fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER);
    socket_option(ep->fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER);
    len = sizeof one;
    ep->has_gso = !getsockopt(ep->fd, IPPROTO_UDP, UDP_SEGMENT, &one, &len);
    ep->io.ready = quic_socket_ready;
    if ((error = loop_io_add(ep->loop, &ep->io, ep->fd, EPOLLIN | EPOLLET)) != 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, error, ep->loop->server, "QUIC: poll of the socket");
        return -1;
    }
    return 0;
}

/* ---- in ---- */

/* The kernel's data on a message: its destination, its ECN bits, the size of the joined datagrams.
 */
static void socket_told(struct msghdr *m, quic_addr *local, int *ecn, size_t *segment)
{
    int value;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        const uint8_t *data = CMSG_DATA(c);

        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            local->v4.sin_family = AF_INET;
            local->v4.sin_addr = ((const struct in_pktinfo *)(const void *)data)->ipi_addr;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            local->v6.sin6_family = AF_INET6;
            local->v6.sin6_addr = ((const struct in6_pktinfo *)(const void *)data)->ipi6_addr;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            *ecn = *data & 3;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&value, data, sizeof value);
            *ecn = value & 3;
        } else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            memcpy(&value, data, sizeof value);
            if (value > 0)
                *segment = (size_t)value;
        }
    }
}

static void socket_message(quic_endpoint *ep, struct msghdr *m, uint8_t *data, size_t len,
                           const quic_addr *peer)
{
    quic_addr local;
    size_t segment = len;
    int ecn = 0;

    memset(&local, 0, sizeof local);
    socket_told(m, &local, &ecn, &segment);
    for (size_t at = 0; at < len; at += segment)
        quic_datagram(ep, data + at, len - at < segment ? len - at : segment, peer, &local, ecn);
}

/* @return messages that came; 0: no more */
static int socket_read(quic_endpoint *ep)
{
    quic_in *in = ep->in;
    int n;

    for (int i = 0; i < QUIC_IN_MSGS; i++) {
        in->m[i].msg_hdr.msg_namelen = sizeof in->peer[i];
        in->m[i].msg_hdr.msg_controllen = sizeof in->control[i];
    }
    n = recvmmsg(ep->fd, in->m, QUIC_IN_MSGS, MSG_DONTWAIT, NULL);
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == ECONNREFUSED) ? -1 : 0;
    ep->loop->config->services->refresh(
        ep->loop); /* a change made before these were sent is seen by their answers */
    for (int i = 0; i < n; i++)
        socket_message(ep, &in->m[i].msg_hdr, in->bytes[i], in->m[i].msg_len, &in->peer[i]);
    return n;
}

void quic_socket_ready(struct loop_io *io, uint32_t events)
{
    quic_endpoint *ep = loop_io_of(io, quic_endpoint, io);
    int n = QUIC_IN_MSGS;

    (void)events;
    /* Fewer than asked for: no more waited, and the poll set tells of new ones. */
    for (int i = 0; (n == QUIC_IN_MSGS || n < 0) && i < SOCKET_ROUNDS; i++)
        n = socket_read(ep);
    if (n == QUIC_IN_MSGS ||
        n < 0) /* the rest in the next turn: adding it anew makes an event for waiting ones */
        loop_io_change(ep->loop, &ep->io, ep->fd, EPOLLIN | EPOLLET);
}

/* ---- out ---- */

static void out_send(quic_endpoint *ep);

/* Where the socket takes nothing and the buffer is full, the buffer's datagrams are lost, as if the
 * network had dropped them. */
uint8_t *quic_out_room(quic_endpoint *ep, size_t len)
{
    BRG_ASSERT(len <= QUIC_OUT_BYTES);
    if (ep->out_len + len > QUIC_OUT_BYTES)
        quic_out_flush(ep);
    if (ep->out_len + len > QUIC_OUT_BYTES)
        ep->out_len = ep->msg_n = 0;
    return ep->out + ep->out_len;
}

static int out_joins(const quic_endpoint *ep, const quic_out_msg *m, size_t len,
                     const quic_addr *peer, const quic_addr *local, int ecn)
{
    return ep->has_gso && !m->closed && len <= m->segment && m->n < QUIC_GSO_MOST &&
           m->len + len <= QUIC_GSO_BYTES && m->ecn == ecn && quic_addr_equal(&m->peer, peer) &&
           m->local.any.sa_family == local->any.sa_family && quic_addr_same_host(&m->local, local);
}

void quic_out_add(quic_endpoint *ep, size_t len, const quic_addr *peer, const quic_addr *local,
                  int ecn)
{
    quic_out_msg *m = ep->msg_n ? &ep->msg[ep->msg_n - 1] : NULL;

    BRG_ASSERT(len && ep->out_len + len <= QUIC_OUT_BYTES);
    ep->figures.datagrams_out++;
    ep->figures.bytes_out += len;
    if (ep->take) {
        ep->take(ep->take_of, ep->out + ep->out_len, len, peer, ecn);
        return;
    }
    if (m && out_joins(ep, m, len, peer, local, ecn)) {
        m->closed = len < m->segment;
        m->len += len;
        ep->figures.gso += m->n == 1 ? 2 : 1;
        m->n++;
    } else {
        if (ep->msg_n == QUIC_OUT_MSGS)
            out_send(ep);
        if (ep->msg_n == QUIC_OUT_MSGS)
            ep->msg_n = 0;
        ep->msg[ep->msg_n++] = (quic_out_msg){.peer = *peer,
                                              .local = *local,
                                              .off = ep->out_len,
                                              .len = len,
                                              .segment = (uint16_t)len,
                                              .n = 1,
                                              .ecn = (uint8_t)ecn};
    }
    ep->out_len += len;
    ep->alarm.due = 0; /* it leaves when the turn ends */
}

static void *out_control(struct msghdr *m, int level, int type, size_t len)
{
    struct cmsghdr *c = (struct cmsghdr *)(void *)((uint8_t *)m->msg_control + m->msg_controllen);

    BRG_ASSERT(m->msg_controllen + CMSG_SPACE(len) <= sizeof(socket_control));
    m->msg_controllen += CMSG_SPACE(len);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    return CMSG_DATA(c);
}

static void out_local(struct msghdr *m, const quic_addr *local)
{
    if (local->any.sa_family == AF_INET) {
        const struct in_pktinfo info = {.ipi_spec_dst = local->v4.sin_addr};

        memcpy(out_control(m, IPPROTO_IP, IP_PKTINFO, sizeof info), &info, sizeof info);
    } else if (local->any.sa_family == AF_INET6) {
        const struct in6_pktinfo info = {.ipi6_addr = local->v6.sin6_addr};

        memcpy(out_control(m, IPPROTO_IPV6, IPV6_PKTINFO, sizeof info), &info, sizeof info);
    }
}

static void out_message(quic_endpoint *ep, quic_out_msg *from, struct msghdr *m, struct iovec *iov,
                        socket_control *control)
{
    const int is_v4 =
        from->peer.any.sa_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&from->peer.v6.sin6_addr);
    const int tos = from->ecn;

    *iov = (struct iovec){ep->out + from->off, from->len};
    memset(control, 0, sizeof *control);
    *m = (struct msghdr){.msg_name = &from->peer,
                         .msg_namelen = from->peer.any.sa_family == AF_INET ? sizeof from->peer.v4
                                                                            : sizeof from->peer.v6,
                         .msg_iov = iov,
                         .msg_iovlen = 1,
                         .msg_control = control};
    out_local(m, &from->local);
    if (from->n > 1)
        memcpy(out_control(m, IPPROTO_UDP, UDP_SEGMENT, sizeof from->segment), &from->segment,
               sizeof from->segment);
    if (tos)
        memcpy(out_control(m, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TOS : IPV6_TCLASS,
                           sizeof tos),
               &tos, sizeof tos);
    if (!m->msg_controllen)
        m->msg_control = NULL;
}

/* A message that the kernel refuses is lost, as if the network had dropped it: loss recovery sends it again. */
static void out_failed(quic_endpoint *ep, unsigned at)
{
    if ((errno == EIO || errno == EINVAL) && ep->msg[at].n > 1)
        ep->has_gso = 0; /* a device that does not do it */
}

/* The rest waits for a moment: the socket is full. */
static void out_rest(quic_endpoint *ep, unsigned done)
{
    BRG_ASSERT(done <= ep->msg_n);
    ep->msg_n -= done;
    if (!ep->msg_n)
        return;
    memmove(ep->msg, ep->msg + done, ep->msg_n * sizeof *ep->msg);
    ep->blocked_until = ep->loop->monotonic + OUT_AGAIN;
}

static void out_count(const quic_endpoint *ep, unsigned from, unsigned n)
{
    uint64_t bytes = 0;

    BRG_ASSERT(n > 0 && from + n <= ep->msg_n);
    for (unsigned i = from; i < from + n; i++)
        bytes += ep->msg[i].len;
    loop_sent(ep->loop, BRG_FIGURE_SENT_MEMORY, bytes);
}

static void out_send(quic_endpoint *ep)
{
    struct mmsghdr m[QUIC_OUT_MSGS];
    struct iovec iov[QUIC_OUT_MSGS];
    socket_control control[QUIC_OUT_MSGS];
    unsigned done = 0;

    memset(m, 0, ep->msg_n * sizeof *m);
    for (unsigned i = 0; i < ep->msg_n; i++)
        out_message(ep, &ep->msg[i], &m[i].msg_hdr, &iov[i], &control[i]);
    while (done < ep->msg_n) {
        const int n = sendmmsg(ep->fd, m + done, ep->msg_n - done, MSG_DONTWAIT);

        ep->figures.sends++;
        if (n > 0) {
            out_count(ep, done, (unsigned)n);
            done += (unsigned)n;
        } else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            out_failed(ep, done++);
    }
    out_rest(ep, done);
}

void quic_out_flush(quic_endpoint *ep)
{
    if (ep->msg_n && !quic_out_is_blocked(ep))
        out_send(ep);
    if (!ep->msg_n)
        ep->out_len = 0;
}
