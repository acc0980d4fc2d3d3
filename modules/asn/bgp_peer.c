/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of sessions: made, connected or accepted, read and written. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <time.h>
#include <unistd.h>
#include "brigade/assert.h"
#include "bgp_peer.h"

#define READS 16 /* at a time: the others have their turn */
#define TTL 255
#define DEAF_US 1000000

int64_t bgp_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void bgp_peer_begin(bgp_peer *p, const bgp_conf *conf, const bgp_owner *owner, void *data)
{
    bgp_session_begin(&p->session, conf, owner, data, bgp_now());
    p->fd = p->listener = -1;
    p->deaf = 0;
}

/* ---- sockets ---- */

static socklen_t length_of(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* RFC 5082: a packet that came over more routers than allowed has a smaller number left. */
static int set_hops(int fd, int family, unsigned hops)
{
    const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    const int sent = TTL, least = TTL + 1 - (int)hops;

    return setsockopt(fd, level, family == AF_INET ? IP_TTL : IPV6_UNICAST_HOPS, &sent,
                      sizeof sent) ||
           setsockopt(fd, level, family == AF_INET ? IP_MINTTL : IPV6_MINHOPCOUNT, &least,
                      sizeof least);
}

static int set_password(int fd, const bgp_conf *conf)
{
    struct tcp_md5sig key = {.tcpm_keylen = (uint16_t)strlen(conf->password)};

    BRG_ASSERT(key.tcpm_keylen <= TCP_MD5SIG_MAXKEYLEN);
    memcpy(&key.tcpm_addr, &conf->peer, sizeof key.tcpm_addr);
    memcpy(key.tcpm_key, conf->password, key.tcpm_keylen);
    return setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof key);
}

/* @return -1 with errno; every wish of the administrator is carried out */
static int open_socket(const bgp_conf *conf)
{
    const int family = conf->peer.ss_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if ((conf->hops && set_hops(fd, family, conf->hops)) ||
        (conf->password && set_password(fd, conf))) {
        const int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* A collector that ends and its successor may listen at the same time. */
static int bind_and_listen(int fd, const bgp_conf *conf)
{
    const int on = 1;

    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
           setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) ||
           bind(fd, (const struct sockaddr *)&conf->local, length_of(&conf->local)) ||
           listen(fd, 4);
}

int bgp_peer_listen(bgp_peer *p)
{
    const bgp_conf *conf = p->session.conf;
    int fd, error;

    if (!conf->listens || p->listener >= 0)
        return 0;
    if ((fd = open_socket(conf)) < 0)
        return errno;
    if (bind_and_listen(fd, conf)) {
        error = errno;
        close(fd);
        return error;
    }
    p->listener = fd;
    return 0;
}

static void peer_close(bgp_peer *p, const char *why)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    bgp_session_lost(&p->session, why, bgp_now());
}

/* ---- connections ---- */

static void peer_connect(bgp_peer *p)
{
    const bgp_conf *conf = p->session.conf;

    bgp_session_connecting(&p->session, bgp_now());
    if ((p->fd = open_socket(conf)) < 0 ||
        (conf->local.ss_family &&
         bind(p->fd, (const struct sockaddr *)&conf->local, length_of(&conf->local))) ||
        (connect(p->fd, (const struct sockaddr *)&conf->peer, length_of(&conf->peer)) &&
         errno != EINPROGRESS))
        peer_close(p, strerror(errno));
}

static void peer_connected(bgp_peer *p)
{
    int error = 0;
    socklen_t n = sizeof error;

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &n))
        error = errno;
    if (error)
        peer_close(p, strerror(error));
    else
        bgp_session_connected(&p->session, bgp_now());
}

static int same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return 0;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                   &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                   sizeof(struct in6_addr));
}

static void refuse(int fd)
{
    enum { REJECTED = 5 };
    unsigned char message[BGP_MESSAGE_MAX];
    size_t n = bgp_write_notification(message, &(bgp_fault){BGP_CEASE, REJECTED, NULL, {NULL, 0}});

    (void)!send(fd, message, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* Without descriptors or memory poll() would report the waiting peer again and again: the next
 * session listens anew, a running one goes on. */
static void not_accepted(bgp_peer *p, int error)
{
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED)
        return;
    if (p->session.state != BGP_ACTIVE) {
        p->deaf = bgp_now() + DEAF_US;
        p->session.owner->deaf(p->session.data, strerror(error));
        return;
    }
    close(p->listener);
    p->listener = -1;
    peer_close(p, strerror(error));
}

static void peer_accept(bgp_peer *p)
{
    struct sockaddr_storage from = {0};
    socklen_t n = sizeof from;
    int fd = accept4(p->listener, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        not_accepted(p, errno);
        return;
    }
    if (!same_host(&from, &p->session.conf->peer)) {
        close(fd); /* whoever it is learns nothing */
        return;
    }
    if (p->session.state == BGP_IDLE || !bgp_session_gives_way(&p->session)) {
        refuse(fd);
        return;
    }
    if (p->fd >= 0)
        peer_close(p, "the peer began anew");
    p->fd = fd;
    bgp_session_connected(&p->session, bgp_now());
}

/* ---- bytes ---- */

/* @return 0 if no bytes wait to be read */
static int peer_read(bgp_peer *p)
{
    bgp_session *s = &p->session;
    ssize_t n = recv(p->fd, s->in + s->in_n, sizeof s->in - s->in_n, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        peer_close(p, n ? strerror(errno) : "the peer closed the connection");
        return 0;
    }
    s->in_n += (size_t)n;
    bgp_session_input(s, bgp_now());
    return s->state >= BGP_OPEN_SENT;
}

static void peer_write(bgp_peer *p)
{
    bgp_session *s = &p->session;
    ssize_t n;

    if (p->fd < 0 || !s->out_n)
        return;
    n = send(p->fd, s->out, s->out_n, MSG_NOSIGNAL);
    if (n > 0)
        bgp_session_sent(s, (size_t)n);
    else if (errno != EAGAIN && errno != EINTR)
        peer_close(p, strerror(errno));
}

static void peer_event(bgp_peer *p)
{
    if (p->session.state == BGP_CONNECT)
        peer_connected(p);
    else if (p->session.state >= BGP_OPEN_SENT)
        for (int i = 0; i < READS && peer_read(p); i++)
            continue;
}

/* ---- the owner's calls ---- */

int bgp_peer_polls(const bgp_peer *p, struct pollfd polls[BGP_POLLS])
{
    const bgp_session *s = &p->session;
    int n = 0;

    if (p->listener >= 0 && bgp_now() >= p->deaf)
        polls[n++] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    if (p->fd >= 0)
        polls[n++] =
            (struct pollfd){.fd = p->fd,
                            .events = (short)((s->state >= BGP_OPEN_SENT ? POLLIN : 0) |
                                              (s->state == BGP_CONNECT || s->out_n ? POLLOUT : 0))};
    return n;
}

static void peer_due(bgp_peer *p)
{
    bgp_session *s = &p->session;
    int error;

    if (!s->conf->listens) {
        peer_connect(p);
        return;
    }
    bgp_session_listening(s);
    if ((error = bgp_peer_listen(p)))
        bgp_session_lost(s, strerror(error), bgp_now());
}

void bgp_peer_run(bgp_peer *p, const struct pollfd *polls, int n)
{
    for (int i = 0; i < n; i++) {
        if (!polls[i].revents)
            continue;
        if (polls[i].fd == p->listener)
            peer_accept(p);
        else if (polls[i].fd == p->fd)
            peer_event(p);
    }
    bgp_session_tick(&p->session, bgp_now());
    peer_write(p);
    if (p->session.close)
        peer_close(p, "closed");
    if (bgp_session_is_due(&p->session, bgp_now()))
        peer_due(p);
}

void bgp_peer_end(bgp_peer *p)
{
    bgp_session_shut(&p->session, bgp_now());
    peer_write(p);
    peer_close(p, "the server ends it");
    if (p->listener >= 0)
        close(p->listener);
    p->listener = -1;
}
