/* SPDX-License-Identifier: Apache-2.0 */
/* The DNS server's process: of the user of server processes, in the sandbox where they are; it reads the memory of challenges, has
 * none of the private keys of names on demand, and opens no file. Who asks too often over UDP is told to come over TCP, whose
 * address is proven, or gets nothing. */
#include "md_daemon_private.h"
#include "md_demand.h"
#include "md_dns.h"
#include "http_log.h"
#include "http_main.h"
#include "unixd.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/log_service.h"
#include "brigade/loop.h"
#include "brigade/sandbox.h"
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

#define SERVE_ADDRESSES 8
#define SERVE_CONNS 32                       /* over TCP, at a time */
#define SERVE_ASKED 512                      /* bytes of a question over TCP */
#define SERVE_QUESTIONS 16                   /* of a connection */
#define SERVE_CONN_US (5 * APR_USEC_PER_SEC) /* it lasts */
#define SERVE_BATCH 64                       /* datagrams of a socket before the others */
#define SERVE_CLIENTS 1024                   /* rates that are kept, by network */
#define SERVE_RATE 20                        /* answers a second to one of them ... */
#define SERVE_BURST 40                       /* ... and at once */
#define SERVE_BIND_MS 200                    /* the server before may have the port still */

typedef struct serve_conn {
    int fd; /* -1: none */
    apr_time_t until;
    int questions;
    size_t got;
    uint8_t asked[2 + SERVE_ASKED];
} serve_conn;

typedef struct serving {
    const md_dns_zone *zone;
    server_rec *s;
    int control, n;
    int udp[SERVE_ADDRESSES], tcp[SERVE_ADDRESSES];
    serve_conn conns[SERVE_CONNS];
    apr_time_t paid[SERVE_CLIENTS];
    uint64_t salt;
    unsigned slips;
} serving;

/* ---- limits ---- */

/* @return bytes of its network: 24 bits of IPv4, 56 of IPv6 */
static size_t client_network(const struct sockaddr_storage *from, const uint8_t **at)
{
    if (from->ss_family == AF_INET) {
        *at = (const uint8_t *)&((const struct sockaddr_in *)(const void *)from)->sin_addr;
        return 3;
    }
    *at = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr.s6_addr;
    return 7;
}

static int client_may(serving *v, const struct sockaddr_storage *from)
{
    const apr_interval_time_t cost = APR_USEC_PER_SEC / SERVE_RATE;
    const apr_time_t now = brg_monotonic_now();
    const uint8_t *at;
    const size_t len = client_network(from, &at);
    uint64_t h = v->salt;
    apr_time_t *paid;

    for (size_t i = 0; i < len; i++)
        h = (h ^ at[i]) * UINT64_C(0x9E3779B97F4A7C15) ^ h >> 29;
    paid = &v->paid[h % SERVE_CLIENTS];
    if (*paid < now)
        *paid = now;
    if (*paid + cost - now > cost * SERVE_BURST)
        return 0;
    *paid += cost;
    return 1;
}

/* ---- UDP ---- */

static void udp_answer(serving *v, int fd)
{
    uint8_t asked[MD_DNS_UDP], to[MD_DNS_EDNS];

    for (int i = 0; i < SERVE_BATCH; i++) {
        struct sockaddr_storage from;
        socklen_t from_len = sizeof from;
        const ssize_t n = recvfrom(fd, asked, sizeof asked, MSG_DONTWAIT, (void *)&from, &from_len);
        int cut;
        size_t len;

        if (n < 0)
            return;
        cut = !client_may(v, &from);
        if (cut && v->slips++ % 2)
            continue;
        len = md_dns_answer(v->zone, asked, (size_t)n, to, sizeof to, 1, cut);
        if (len)
            (void)sendto(fd, to, len, MSG_DONTWAIT | MSG_NOSIGNAL, (void *)&from, from_len);
    }
}

/* ---- TCP ---- */

static void conn_close(serve_conn *c)
{
    BRG_ASSERT(c->fd >= 0);
    close(c->fd);
    c->fd = -1;
}

/* A free place, or the one that ends first. */
static serve_conn *conn_place(serving *v)
{
    serve_conn *first = &v->conns[0];

    for (int i = 0; i < SERVE_CONNS; i++) {
        serve_conn *c = &v->conns[i];

        if (c->fd < 0)
            return c;
        if (c->until < first->until)
            first = c;
    }
    conn_close(first);
    return first;
}

static void tcp_accept(serving *v, int fd)
{
    const int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (got >= 0)
        *conn_place(v) = (serve_conn){.fd = got, .until = brg_monotonic_now() + SERVE_CONN_US};
}

/* @return 1: a question was answered; 0: it is not all there; -1: the connection is over */
static int conn_answer(serving *v, serve_conn *c)
{
    uint8_t to[2 + MD_DNS_MOST];
    const size_t len = c->got < 2 ? 0 : (size_t)c->asked[0] << 8 | c->asked[1];
    size_t n;

    if (c->got < 2 || (len <= SERVE_ASKED && c->got < 2 + len))
        return 0;
    if (len > SERVE_ASKED || ++c->questions > SERVE_QUESTIONS)
        return -1;
    n = md_dns_answer(v->zone, c->asked + 2, len, to + 2, MD_DNS_MOST, 0, 0);
    to[0] = (uint8_t)(n >> 8);
    to[1] = (uint8_t)n;
    if (!n || send(c->fd, to, n + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(n + 2))
        return -1; /* a client that reads nothing */
    c->got -= 2 + len;
    memmove(c->asked, c->asked + 2 + len, c->got);
    return 1;
}

static void conn_read(serving *v, serve_conn *c)
{
    const ssize_t n = recv(c->fd, c->asked + c->got, sizeof c->asked - c->got, MSG_DONTWAIT);
    int rc = n > 0 ? 1 : -1;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->got += n > 0 ? (size_t)n : 0;
    while (rc > 0)
        rc = conn_answer(v, c);
    if (rc < 0)
        conn_close(c);
}

/* ---- the process ---- */

static int serve_socket(const apr_sockaddr_t *a, int type)
{
    const int fd = socket(a->family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (!bind(fd, (const struct sockaddr *)(const void *)&a->sa, a->salen) &&
        (type == SOCK_DGRAM || !listen(fd, SERVE_CONNS)))
        return fd;
    close(fd);
    return -1;
}

/* Where the port is somebody else's, it is waited for. @return 0: the server ends */
static int serve_bind(serving *v, int *fd, const apr_sockaddr_t *a, int type)
{
    struct pollfd polled = {.fd = v->control, .events = POLLIN};
    int told = 0;

    while ((*fd = serve_socket(a, type)) < 0) {
        if (told++ == 10)
            ap_log_error(APLOG_MARK, APLOG_ERR, errno, v->s,
                         "MDDnsResponder: no socket at port %d; this is tried until there is one",
                         a->port);
        if (poll(&polled, 1, SERVE_BIND_MS) > 0)
            return 0;
    }
    return 1;
}

static int serve_become_user(server_rec *s)
{
    static const char *const nothing[] = {NULL};
    const unixd_config_rec *u = &ap_unixd_config;

    if (geteuid() == 0 &&
        (setgid(u->group_id) || initgroups(u->user_name, u->group_id) || setuid(u->user_id))) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s,
                     "MDDnsResponder: its process cannot become %s", u->user_name);
        return -1;
    }
    return brg_sandbox_enter(s, &(brg_sandbox_needs){.read = nothing}) == APR_SUCCESS ? 0 : -1;
}

static int serve_poll(serving *v, struct pollfd *polled)
{
    const apr_time_t now = brg_monotonic_now();
    int n = 0;

    polled[n++] = (struct pollfd){.fd = v->control, .events = POLLIN};
    for (int i = 0; i < v->n; i++) {
        polled[n++] = (struct pollfd){.fd = v->udp[i], .events = POLLIN};
        polled[n++] = (struct pollfd){.fd = v->tcp[i], .events = POLLIN};
    }
    for (int i = 0; i < SERVE_CONNS; i++) {
        if (v->conns[i].fd >= 0 && v->conns[i].until <= now)
            conn_close(&v->conns[i]);
        polled[n++] = (struct pollfd){.fd = v->conns[i].fd, .events = POLLIN};
    }
    return poll(polled, (nfds_t)n, 1000);
}

static void serve_turn(serving *v, const struct pollfd *polled)
{
    const struct pollfd *conns = polled + 1 + 2 * v->n;

    for (int i = 0; i < SERVE_CONNS; i++)
        if (v->conns[i].fd >= 0 && conns[i].fd == v->conns[i].fd && conns[i].revents)
            conn_read(v, &v->conns[i]);
    for (int i = 0; i < v->n; i++) {
        if (polled[1 + 2 * i].revents)
            udp_answer(v, v->udp[i]);
        if (polled[2 + 2 * i].revents)
            tcp_accept(v, v->tcp[i]);
    }
}

static void serve_begin(serving *v)
{
    const apr_array_header_t *all = v->zone->addresses;
    int keep[] = {v->control, brg_error_log_descriptor(v->s)};

    BRG_ASSERT(all->nelts > 0 && all->nelts <= SERVE_ADDRESSES);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGWINCH, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "brigade-dns");
    daemon_close_others(keep, 2);
    for (; v->n < all->nelts; v->n++) {
        const apr_sockaddr_t *a = APR_ARRAY_IDX(all, v->n, const apr_sockaddr_t *);

        if (!serve_bind(v, &v->udp[v->n], a, SOCK_DGRAM) ||
            !serve_bind(v, &v->tcp[v->n], a, SOCK_STREAM))
            _exit(0);
    }
    for (int i = 0; i < SERVE_CONNS; i++)
        v->conns[i].fd = -1;
}

void md_dns_run(server_rec *s, int control, pid_t supervisor)
{
    serving *v = calloc(1, sizeof *v);
    struct pollfd polled[1 + 2 * SERVE_ADDRESSES + SERVE_CONNS];

    if (!v || getentropy(&v->salt, sizeof v->salt))
        _exit(1);
    v->zone = md_dns;
    v->s = s;
    v->control = control;
    md_demand_leave();
    serve_begin(v);
    if (serve_become_user(s))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* behind setuid(), which resets it */
    while (getppid() == supervisor && (serve_poll(v, polled) <= 0 || !polled[0].revents))
        serve_turn(v, polled);
    _exit(0);
}

/* ---- the directive ---- */

static const char *responder_zone(cmd_parms *cmd, const char *word, md_dns_zone *zone)
{
    char *name = apr_pstrdup(cmd->pool, word);
    const size_t len = strlen(name);

    ap_str_tolower(name);
    if (len && name[len - 1] == '.')
        name[len - 1] = '\0';
    if (!*name || strlen(name) > 200 || strstr(name, "..") || *name == '.' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != strlen(name))
        return apr_psprintf(cmd->pool, "MDDnsResponder: \"%s\" is no name of a zone", word);
    for (const char *at = name; at; at = (at = strchr(at, '.')) ? at + 1 : NULL)
        if (strcspn(at, ".") > 63)
            return apr_psprintf(cmd->pool, "MDDnsResponder: \"%s\" is no name of a zone", word);
    zone->name = name;
    return NULL;
}

static const char *responder_address(cmd_parms *cmd, const char *word, md_dns_zone *zone)
{
    apr_sockaddr_t *a;
    char *host, *scope;
    apr_port_t port;

    if (zone->addresses->nelts == SERVE_ADDRESSES)
        return "MDDnsResponder takes at most 8 addresses";
    if (apr_parse_addr_port(&host, &scope, &port, word, cmd->pool) || scope || !host ||
        apr_sockaddr_info_get(&a, host, APR_UNSPEC, port ? port : 53, 0, cmd->pool))
        return apr_psprintf(cmd->pool, "MDDnsResponder: \"%s\" is no ADDRESS:PORT", word);
    APR_ARRAY_PUSH(zone->addresses, apr_sockaddr_t *) = a;
    return NULL;
}

const char *md_set_dns_responder(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    md_dns_zone *zone = apr_pcalloc(cmd->pool, sizeof *zone), ns = {.name = NULL};

    zone->addresses = apr_array_make(cmd->pool, 2, sizeof(apr_sockaddr_t *));
    zone->serial = (uint32_t)apr_time_sec(apr_time_now());
    if (!error && argc < 2)
        return "MDDnsResponder takes a zone and addresses with ports";
    if (!error)
        error = responder_zone(cmd, argv[0], zone);
    for (int i = 1; i < argc && !error; i++) {
        if (strncasecmp(argv[i], "ns=", 3) != 0) {
            error = responder_address(cmd, argv[i], zone);
            continue;
        }
        error = responder_zone(cmd, argv[i] + 3, &ns);
        zone->ns = ns.name;
    }
    if (!error && !zone->addresses->nelts)
        return "MDDnsResponder takes a zone and addresses with ports";
    if (!error)
        md_dns = zone;
    return error;
}
