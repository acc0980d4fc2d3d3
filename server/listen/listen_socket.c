/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets behind Listen, which outlive every configuration.
 *
 * All sockets of an address have SO_REUSEPORT, so that the kernel spreads connections over the
 * loops. The first of them is bound without it, and gets it only afterwards: otherwise a second
 * server of the same user would bind to the same port without an error and take half of the
 * connections.
 */
#include "listen_sockets.h"
#include "brigade/assert.h"

#include "http_config.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* All sockets of one address. Lives in the heap: configurations come and go. */
typedef struct listen_address {
    struct listen_address *next;
    struct sockaddr_storage addr;
    socklen_t addr_len;
    ap_listen_rec *rec; /* of the running configuration; NULL: not asked for */
    int *fds, n;
    int given; /* of the service manager: fds are copies of it; -1: they are the server's own */
    int v6only, defer; /* of the running configuration */
} listen_address;

static listen_address *listen_first;
static int listen_processes = 1, listen_loops = 1;

void listen_set_shares(int processes, int loops)
{
    BRG_ASSERT(processes > 0 && loops > 0);
    listen_processes = processes;
    listen_loops = loops;
}

int listen_socket_any(void)
{
    return listen_first != NULL;
}

int listen_sockets(void)
{
    int n = 0;

    for (listen_address *a = listen_first; a; a = a->next)
        n += a->n;
    return n;
}

/* ---- one socket ---- */

static int listen_set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* Options that accepted sockets inherit, which saves the calls for each of them. */
static int listen_set_inherited(int fd, const listen_options *options)
{
    if (listen_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) < 0 ||
        listen_set(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0)
        return -1;
    if (options->send_bytes && listen_set(fd, SOL_SOCKET, SO_SNDBUF, options->send_bytes) < 0)
        return -1;
    if (options->receive_bytes && listen_set(fd, SOL_SOCKET, SO_RCVBUF, options->receive_bytes) < 0)
        return -1;
    return 0;
}

static int listen_set_options(int fd, int family, int v6only, const listen_options *options)
{
    if (listen_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
        return -1;
    if (family == AF_INET6 && listen_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6only) < 0)
        return -1;
    return listen_set_inherited(fd, options);
}

static int listen_bind(int fd, const listen_address *a)
{
    if (a->n && listen_set(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&a->addr, a->addr_len) < 0)
        return -1;
    return a->n ? 0 : listen_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

static int listen_start(int fd, int defer, const listen_options *options)
{
    if (defer)
        (void)listen_set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, options->defer_accept_s);
    return listen(fd, options->backlog);
}

static apr_status_t listen_log(const listen_address *a, const char *what, int error)
{
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, error, ap_pglobal,
                  APLOGNO(00072) "make_sock: could not %s address %pI", what, a->rec->bind_addr);
    return error;
}

static void listen_keep(listen_address *a, int fd)
{
    a->fds = ap_realloc(a->fds, (size_t)(a->n + 1) * sizeof *a->fds);
    a->fds[a->n++] = fd;
}

static apr_status_t listen_add_copy(listen_address *a, int defer, const listen_options *options)
{
    int fd = fcntl(a->given, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return listen_log(a, "copy the socket of", errno);
    (void)listen_set_inherited(fd, options);
    (void)listen_start(fd, defer, options);
    listen_keep(a, fd);
    return APR_SUCCESS;
}

/* @return a descriptor; -1: logged, errno is set */
static int listen_make_socket(const listen_address *a, const listen_options *options)
{
    int family = a->addr.ss_family, error;
    const char *what = "make a socket for";
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    BRG_ASSERT(a->rec != NULL && a->n >= 0);
    if (fd >= 0 && listen_set_options(fd, family, a->v6only, options) == 0) {
        what = "bind to";
        if (listen_bind(fd, a) == 0) {
            what = "listen on";
            if (listen_start(fd, a->defer, options) == 0)
                return fd;
        }
    }
    error = errno;
    if (fd >= 0)
        close(fd);
    listen_log(a, what, error);
    errno = error;
    return -1;
}

static apr_status_t listen_add(listen_address *a, const listen_options *options)
{
    int fd = listen_make_socket(a, options);

    if (fd < 0)
        return errno;
    listen_keep(a, fd);
    return APR_SUCCESS;
}

/* ---- sockets that server processes changed ---- */

static int listen_is_accepting(int fd)
{
    int value = 0;
    socklen_t len = sizeof value;

    return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) && value;
}

static int listen_is_at_its_address(const listen_address *a, int fd)
{
    struct sockaddr_storage addr = {0};
    socklen_t len = sizeof addr;

    /* Behind family and port other members are as zero in one as in the other. */
    return !getsockname(fd, (struct sockaddr *)&addr, &len) && len == a->addr_len &&
           !memcmp(&addr, &a->addr, len);
}

/* @return 0: it does not listen, and cannot be made to */
static int listen_revive(const listen_address *a, int fd, const listen_options *options)
{
    int fresh;

    if ((a->given >= 0 || listen_is_at_its_address(a, fd)) &&
        listen_start(fd, a->defer, options) == 0)
        return 1;
    if (a->given >= 0 || (fresh = listen_make_socket(a, options)) < 0)
        return 0;
    if (dup3(fresh, fd, O_CLOEXEC) < 0) {
        close(fresh);
        return 0;
    }
    close(fresh);
    return 1;
}

static void listen_look_at(const listen_address *a, int fd, const listen_options *options)
{
    int flags = fcntl(fd, F_GETFL), level;

    if (flags >= 0 && !(flags & O_NONBLOCK)) /* or the next process waits in accept() */
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (listen_is_accepting(fd))
        return;
    level = listen_revive(a, fd, options) ? APLOG_ERR : APLOG_ALERT;
    ap_log_perror(APLOG_MARK, level, 0, ap_pglobal,
                  "a server process ended a listening socket of %pI: %s", a->rec->bind_addr,
                  level == APLOG_ERR ? "it listens again" : "it cannot be opened again");
}

void listen_socket_restore(const listen_options *options)
{
    for (const listen_address *a = listen_first; a; a = a->next)
        for (int i = 0; a->rec && i < a->n; i++)
            listen_look_at(a, a->fds[i], options);
}

int listen_socket_try(ap_listen_rec *rec, int v6only)
{
    static const listen_options none;
    listen_address a = {.rec = rec, .addr_len = rec->bind_addr->salen};
    int family = rec->bind_addr->sa.sin.sin_family, error = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    BRG_ASSERT((size_t)a.addr_len <= sizeof a.addr);
    memcpy(&a.addr, &rec->bind_addr->sa, a.addr_len);
    if (fd < 0 || listen_set_options(fd, family, v6only, &none) || listen_bind(fd, &a))
        error = errno;
    if (fd >= 0)
        close(fd);
    return !error || (listen_log(&a, "bind to", error), 0);
}

/* ---- one address ---- */

static void listen_close(listen_address *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->fds[i] >= 0)
            close(a->fds[i]);
    listen_given_return(a->given);
    free(a->fds);
    free(a);
}

static listen_address *listen_find(const ap_listen_rec *rec)
{
    const apr_sockaddr_t *sa = rec->bind_addr;
    listen_address *a = listen_first;

    while (a && (a->addr_len != sa->salen || memcmp(&a->addr, &sa->sa, sa->salen)))
        a = a->next;
    return a;
}

static listen_address *listen_make(const ap_listen_rec *rec)
{
    listen_address *a = ap_calloc(1, sizeof *a), **end = &listen_first;

    BRG_ASSERT((size_t)rec->bind_addr->salen <= sizeof a->addr);
    memcpy(&a->addr, &rec->bind_addr->sa, rec->bind_addr->salen);
    a->addr_len = rec->bind_addr->salen;
    a->given = listen_given_find(rec);
    while (*end)
        end = &(*end)->next;
    return *end = a;
}

static void listen_forget(listen_address *gone)
{
    listen_address **at = &listen_first;

    while (*at != gone) {
        BRG_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = gone->next;
    listen_close(gone);
}

apr_status_t listen_socket_ensure(ap_listen_rec *rec, int n, int v6only, int defer,
                                  const listen_options *options)
{
    listen_address *a = listen_find(rec);
    int was = a ? a->n : 0;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(n > 0);
    if (a && a->rec) {
        a->rec = rec;
        return listen_log(a, "bind to", EADDRINUSE); /* the same Listen twice */
    }
    if (!a)
        a = listen_make(rec);
    a->rec = rec;
    a->v6only = v6only;
    a->defer = defer;
    for (int i = 0; i < was; i++)
        listen_start(a->fds[i], defer, options);
    while (rv == APR_SUCCESS && a->n < n)
        rv = a->given >= 0 ? listen_add_copy(a, defer, options) : listen_add(a, options);
    if (rv != APR_SUCCESS && a->n == 0) {
        listen_forget(a);
        return rv;
    }
    BRG_ASSERT(a->n > 0 && a->fds[0] >= 0);
    /* Fewer sockets than loops still serve everybody. */
    apr_os_sock_put(&rec->sd, &a->fds[0], rec->bind_addr->pool);
    rec->active = 1;
    return APR_SUCCESS;
}

void listen_socket_mark(void)
{
    for (listen_address *a = listen_first; a; a = a->next)
        a->rec = NULL;
}

void listen_socket_sweep(void)
{
    for (listen_address *a = listen_first, *next; a; a = next) {
        next = a->next;
        if (!a->rec)
            listen_forget(a);
    }
}

void listen_socket_close_all(void)
{
    listen_socket_mark();
    listen_socket_sweep();
    listen_udp_close_all();
}

/* ---- from program to program ---- */

int listen_socket_handed(int i, listen_handed *out)
{
    const listen_address *a = listen_first;

    while (a && i-- > 0)
        a = a->next;
    if (!a)
        return 0;
    BRG_ASSERT(a->n > 0);
    *out = (listen_handed){
        .addr = a->addr, .addr_len = a->addr_len, .given = a->given, .fds = a->fds, .n = a->n};
    return 1;
}

void listen_socket_take(const listen_handed *from)
{
    listen_address *a = ap_calloc(1, sizeof *a);

    BRG_ASSERT(from->n > 0 && from->addr_len <= sizeof a->addr);
    a->addr = from->addr;
    a->addr_len = from->addr_len;
    a->given = from->given;
    listen_given_use(a->given);
    for (int i = 0; i < from->n; i++)
        listen_keep(a, from->fds[i]);
    a->next = listen_first;
    listen_first = a;
}

/* ---- shares ---- */

static int listen_owner(int socket)
{
    BRG_ASSERT(socket >= 0);
    return socket % (listen_processes * listen_loops);
}

static void listen_release_others(int process)
{
    BRG_ASSERT(process >= 0 && process < listen_processes);
    for (listen_address *a = listen_first; a; a = a->next)
        for (int i = 0; i < a->n; i++)
            if (listen_owner(i) / listen_loops != process) {
                close(a->fds[i]);
                a->fds[i] = -1;
            }
    listen_udp_release_others(process * listen_loops, listen_loops);
}

static brg_listener *listen_make_listener(apr_pool_t *p, const listen_address *a, int i)
{
    const int fd = a->fds[i];
    brg_listener *l = apr_pcalloc(p, sizeof *l);

    BRG_ASSERT(fd >= 0);
    l->fd = fd;
    l->addr = a->rec->bind_addr;
    l->lr = a->rec;
    l->tcp = 1;
    l->shared = a->given >= 0;
    l->udp_fd = listen_udp_of(a->rec, i, &l->udp_route); /* with the first of a loop's */
    return l;
}

static brg_listener **listen_for_loop(apr_pool_t *p, int owner)
{
    brg_listener **list = apr_pcalloc(p, sizeof *list * (apr_size_t)(listen_sockets() + 1));
    int n = 0;

    for (listen_address *a = listen_first; a; a = a->next)
        for (int i = 0; a->rec && i < a->n; i++)
            if (listen_owner(i) == owner)
                list[n++] = listen_make_listener(p, a, i);
    BRG_ASSERT(n <= listen_sockets());
    return list;
}

brg_listener ***listen_for_process(apr_pool_t *p, int process, int keep_all)
{
    brg_listener ***all = apr_pcalloc(p, sizeof *all * (apr_size_t)listen_loops);

    for (int i = 0; i < listen_loops; i++)
        all[i] = listen_for_loop(p, process * listen_loops + i);
    if (!keep_all)
        listen_release_others(process);
    return all;
}
