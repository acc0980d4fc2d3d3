/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to servers of small objects: kept, and with a deadline for each operation. */
#include "socache_client.h"
#include "brigade/loop.h"
#include "http_config.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "apr_memcache.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CLIENT_KEPT 16 /* idle connections to a server */
#define CLIENT_ALONE apr_time_from_sec(1)
#define CLIENT_SECONDS_MOST (30u * 86400 - 1)
#define CLIENT_SPAN_MOST apr_time_from_sec(3600)

struct socache_conn {
    socache_conn *next;
    int fd;
    apr_time_t deadline, used;
    size_t at, have;
    char in[8192];
};

struct socache_server {
    const char *host;
    apr_port_t port;
    pthread_mutex_t lock; /* of idle */
    socache_conn *idle;
    _Atomic apr_time_t alone; /* it is left alone until then */
};

socache_client *socache_client_make(apr_pool_t *p, const char *names, apr_port_t port)
{
    socache_client *client;

    if (!names || !*names)
        return NULL;
    client = apr_pcalloc(p, sizeof *client);
    client->names = apr_pstrdup(p, names);
    client->port = port;
    return client;
}

static apr_status_t client_server(socache_client *client, apr_pool_t *p, const char *name)
{
    socache_server *server = &client->server[client->n];
    char *host, *scope;
    apr_port_t port;
    apr_status_t rv = apr_parse_addr_port(&host, &scope, &port, name, p);

    if (rv != APR_SUCCESS)
        return rv;
    if (!host)
        return APR_EINVAL;
    server->host = host;
    server->port = port ? port : client->port;
    pthread_mutex_init(&server->lock, NULL);
    client->n++;
    return APR_SUCCESS;
}

static void client_close(socache_conn *c)
{
    close(c->fd);
    free(c);
}

static apr_status_t client_end(void *baton)
{
    socache_client *client = baton;

    for (int i = 0; i < client->n; i++)
        while (client->server[i].idle) {
            socache_conn *c = client->server[i].idle;

            client->server[i].idle = c->next;
            client_close(c);
        }
    return APR_SUCCESS;
}

apr_status_t socache_client_init(socache_client *client, apr_pool_t *p, const char *cname,
                                 const char **bad)
{
    char *names = apr_pstrdup(p, client->names), *last, *name;
    int n = 1;

    BRG_ASSERT(client->names && !client->n); /* once */
    for (const char *at = names; (at = strchr(at, ',')); at++)
        n++;
    client->prefix = apr_pstrcat(p, cname, ":", NULL);
    client->server = apr_pcalloc(p, (size_t)n * sizeof *client->server);
    for (name = apr_strtok(names, ",", &last); name; name = apr_strtok(NULL, ",", &last)) {
        const apr_status_t rv = client_server(client, p, name);

        *bad = name;
        if (rv != APR_SUCCESS)
            return rv;
    }
    apr_pool_cleanup_register(p, client, client_end, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

/* ---- connections ---- */

static apr_status_t client_wait(const socache_conn *c, short events)
{
    struct pollfd one = {.fd = c->fd, .events = events};
    const apr_time_t left = c->deadline - brg_monotonic_now();
    int n;

    if (left <= 0)
        return APR_TIMEUP;
    n = poll(&one, 1, (int)apr_time_as_msec(left) + 1);
    if (n < 0)
        return errno == EINTR ? APR_SUCCESS : errno;
    return n ? APR_SUCCESS : APR_TIMEUP;
}

static apr_status_t client_connect_to(socache_conn *c, const apr_sockaddr_t *to)
{
    const int one = 1;
    int error = 0;
    socklen_t len = sizeof error;
    apr_status_t rv;

    c->fd = socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return errno;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    rv = connect(c->fd, (const struct sockaddr *)&to->sa, to->salen) ? errno : APR_SUCCESS;
    if (rv == EINPROGRESS) {
        rv = client_wait(c, POLLOUT);
        if (rv == APR_SUCCESS)
            rv = getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error;
    }
    if (rv != APR_SUCCESS)
        close(c->fd);
    return rv;
}

static apr_status_t client_connect(const socache_client *client, const socache_server *server,
                                   socache_conn **to)
{
    socache_conn *c = calloc(1, sizeof *c);
    apr_sockaddr_t *addresses = NULL;
    apr_pool_t *p;
    apr_status_t rv = c ? apr_pool_create(&p, NULL) : APR_ENOMEM;

    if (rv != APR_SUCCESS) {
        free(c);
        return rv;
    }
    rv = apr_sockaddr_info_get(&addresses, server->host, APR_UNSPEC, server->port, 0, p);
    c->deadline = brg_monotonic_now() + client->timeout;
    for (const apr_sockaddr_t *a = rv == APR_SUCCESS ? addresses : NULL; a; a = a->next)
        if ((rv = client_connect_to(c, a)) == APR_SUCCESS)
            break;
    apr_pool_destroy(p);
    *to = c;
    if (rv != APR_SUCCESS)
        free(c);
    return rv;
}

/* A kept connection; one that was idle for too long is closed. */
static socache_conn *client_kept(const socache_client *client, socache_server *server)
{
    const apr_time_t now = brg_monotonic_now();
    socache_conn *c;

    pthread_mutex_lock(&server->lock);
    while ((c = server->idle)) {
        server->idle = c->next;
        if (!client->idle || now - c->used < client->idle)
            break;
        client_close(c);
    }
    pthread_mutex_unlock(&server->lock);
    return c;
}

static void client_keep(socache_server *server, socache_conn *c)
{
    int n = 0;

    c->used = brg_monotonic_now();
    pthread_mutex_lock(&server->lock);
    for (const socache_conn *at = server->idle; at; at = at->next)
        n++;
    if (n < CLIENT_KEPT && c->at == c->have) { /* nothing was said that nobody asked for */
        c->next = server->idle;
        server->idle = c;
        c = NULL;
    }
    pthread_mutex_unlock(&server->lock);
    if (c)
        client_close(c);
}

/* ---- bytes ---- */

static apr_status_t client_fill(socache_conn *c)
{
    for (;;) {
        const ssize_t n = recv(c->fd, c->in, sizeof c->in, 0);
        apr_status_t rv;

        if (n > 0) {
            c->at = 0;
            c->have = (size_t)n;
            return APR_SUCCESS;
        }
        if (!n)
            return APR_EOF;
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        if (errno == EAGAIN && (rv = client_wait(c, POLLIN)) != APR_SUCCESS)
            return rv;
    }
}

apr_status_t socache_send(socache_conn *c, const struct iovec *pieces, int n)
{
    struct iovec left[8];
    struct msghdr message = {.msg_iov = left, .msg_iovlen = (size_t)n};

    BRG_ASSERT(n > 0 && n <= 8);
    memcpy(left, pieces, (size_t)n * sizeof *left);
    while (message.msg_iovlen) {
        ssize_t sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);

        if (sent < 0 && errno == EAGAIN) {
            const apr_status_t rv = client_wait(c, POLLOUT);

            if (rv != APR_SUCCESS)
                return rv;
        } else if (sent < 0 && errno != EINTR) {
            return errno;
        }
        while (sent > 0 && message.msg_iovlen) {
            struct iovec *v = message.msg_iov;
            const size_t part = (size_t)sent < v->iov_len ? (size_t)sent : v->iov_len;

            v->iov_base = (char *)v->iov_base + part;
            v->iov_len -= part;
            sent -= (ssize_t)part;
            if (!v->iov_len) {
                message.msg_iov++;
                message.msg_iovlen--;
            }
        }
        while (message.msg_iovlen && !message.msg_iov->iov_len) { /* pieces of no bytes */
            message.msg_iov++;
            message.msg_iovlen--;
        }
    }
    return APR_SUCCESS;
}

apr_status_t socache_line(socache_conn *c, char *line)
{
    size_t n = 0;

    for (;;) {
        const apr_status_t rv = c->at < c->have ? APR_SUCCESS : client_fill(c);
        char ch;

        if (rv != APR_SUCCESS)
            return rv;
        ch = c->in[c->at++];
        if (ch == '\n')
            break;
        if (!ch || n == SOCACHE_LINE_MOST - 1)
            return APR_EGENERAL;
        line[n++] = ch;
    }
    if (n && line[n - 1] == '\r')
        n--;
    line[n] = '\0';
    return APR_SUCCESS;
}

/* So many bytes. @param to  NULL: they are dropped */
static apr_status_t socache_bytes(socache_conn *c, unsigned char *to, apr_size_t n)
{
    while (n) {
        const apr_status_t rv = c->at < c->have ? APR_SUCCESS : client_fill(c);
        size_t part = c->have - c->at;

        if (rv != APR_SUCCESS)
            return rv;
        part = part < n ? part : n;
        if (to) {
            memcpy(to, c->in + c->at, part);
            to += part;
        }
        c->at += part;
        n -= part;
    }
    return APR_SUCCESS;
}

apr_status_t socache_value(socache_conn *c, unsigned char *to, apr_size_t most, apr_size_t n)
{
    unsigned char end[2];
    apr_status_t rv = socache_bytes(c, n > most ? NULL : to, n);

    if (rv == APR_SUCCESS)
        rv = socache_bytes(c, end, 2);
    if (rv == APR_SUCCESS && (end[0] != '\r' || end[1] != '\n'))
        return APR_EGENERAL;
    return rv == APR_SUCCESS && n > most ? APR_ENOSPC : rv;
}

/* ---- operations ---- */

static int client_may_stay(apr_status_t rv)
{
    return rv == APR_SUCCESS || rv == APR_NOTFOUND || rv == APR_ENOSPC;
}

static apr_status_t client_talk(const socache_client *client, socache_server *server,
                                const char *key, socache_talk *talk, void *baton)
{
    for (;;) {
        socache_conn *c = client_kept(client, server);
        const int kept = c != NULL;
        apr_status_t rv = kept ? APR_SUCCESS : client_connect(client, server, &c);

        if (rv != APR_SUCCESS)
            return rv;
        c->deadline = brg_monotonic_now() + client->timeout;
        rv = talk(c, key, baton);
        if (client_may_stay(rv)) {
            client_keep(server, c);
            return rv;
        }
        client_close(c);
        if (!kept || APR_STATUS_IS_TIMEUP(rv) || rv == APR_EGENERAL)
            return rv;
    }
}

/* @return 0: too long */
static int client_key(const socache_client *client, const unsigned char *id, unsigned int len,
                      char key[SOCACHE_KEY_MOST])
{
    static const char digits[] = "0123456789abcdef";
    const size_t prefix = strlen(client->prefix);
    char *to = key + prefix;

    if (prefix + 2 * (size_t)len >= SOCACHE_KEY_MOST)
        return 0;
    memcpy(key, client->prefix, prefix);
    for (unsigned int i = 0; i < len; i++) {
        *to++ = digits[id[i] >> 4];
        *to++ = digits[id[i] & 15];
    }
    *to = '\0';
    return 1;
}

apr_status_t socache_client_do(socache_client *client, const unsigned char *id, unsigned int len,
                               socache_talk *talk, void *baton)
{
    char key[SOCACHE_KEY_MOST];
    apr_status_t rv = APR_ECONNREFUSED;
    unsigned first;

    if (!client_key(client, id, len, key))
        return APR_EINVAL;
    /* The hash of APR-util: nodes with Apache's files find the same server. */
    first = apr_memcache_hash_default(NULL, key, strlen(key));
    BRG_ASSERT(client->n > 0);
    for (int i = 0; i < client->n; i++) {
        socache_server *server = &client->server[(first + (unsigned)i) % (unsigned)client->n];

        if (atomic_load(&server->alone) > brg_monotonic_now())
            continue;
        rv = client_talk(client, server, key, talk, baton);
        if (client_may_stay(rv) || rv == APR_EGENERAL)
            return rv;
        atomic_store(&server->alone, brg_monotonic_now() + CLIENT_ALONE);
        if (APR_STATUS_IS_TIMEUP(rv))
            return rv; /* so long was waited */
    }
    return rv;
}

void socache_client_status(const socache_client *client, request_rec *r, const char *what,
                           int flags)
{
    for (int i = 0; i < client->n; i++)
        ap_rprintf(r, "%s server: %s:%u [%s]%s\n", what, client->server[i].host,
                   (unsigned)client->server[i].port,
                   atomic_load(&client->server[i].alone) > brg_monotonic_now() ? "Down" : "Up",
                   flags & AP_STATUS_SHORT ? "" : "<br />");
}

const char *socache_span(cmd_parms *cmd, const char *arg, apr_interval_time_t *span)
{
    if (ap_timeout_parameter_parse(arg, span, "s") != APR_SUCCESS)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " has wrong format", NULL);
    if (*span < 0 || *span > CLIENT_SPAN_MOST)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " can only be 0 or up to one hour.", NULL);
    return NULL;
}

unsigned socache_seconds(apr_time_t expiry)
{
    const apr_time_t left = expiry - apr_time_now();

    if (left < APR_USEC_PER_SEC)
        return 0;
    return apr_time_sec(left) > CLIENT_SECONDS_MOST ? CLIENT_SECONDS_MOST
                                                    : (unsigned)apr_time_sec(left);
}
