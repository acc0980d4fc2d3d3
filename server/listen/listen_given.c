/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets that the service manager opened: sd_listen_fds(3).
 *
 * They stay open for the manager, and wait with their connections while the server is not there. So
 * nothing is bound beside them: all loops poll copies of the one descriptor.
 */
#include "listen_sockets.h"
#include "brigade/assert.h"

#include "http_log.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define GIVEN_FIRST 3 /* SD_LISTEN_FDS_START */
#define GIVEN_MOST 1024

typedef struct listen_given {
    int fd;
    struct sockaddr_storage addr;
    char *name; /* FileDescriptorName= of the socket unit; "" = none */
    unsigned taken : 1, told : 1;
} listen_given;

static listen_given *given; /* in the heap: configurations come and go */
static int given_n;

/* ---- taking them ---- */

static int given_option(int fd, int name)
{
    int value = -1;
    socklen_t len = sizeof value;

    return getsockopt(fd, SOL_SOCKET, name, &value, &len) ? -1 : value;
}

/* 1 for a TCP socket that listens. */
static int given_fits(listen_given *g)
{
    socklen_t len = sizeof g->addr;

    return given_option(g->fd, SO_TYPE) == SOCK_STREAM && given_option(g->fd, SO_ACCEPTCONN) == 1 &&
           !getsockname(g->fd, (struct sockaddr *)&g->addr, &len) &&
           (g->addr.ss_family == AF_INET || g->addr.ss_family == AF_INET6);
}

static void given_take(int fd, const char *name, size_t name_len)
{
    listen_given *g;

    BRG_ASSERT(fd >= GIVEN_FIRST && given_n < GIVEN_MOST);
    given = ap_realloc(given, (size_t)(given_n + 1) * sizeof *given);
    g = given + given_n;
    *g = (listen_given){.fd = fd, .name = ap_malloc(name_len + 1)};
    memcpy(g->name, name, name_len);
    g->name[name_len] = '\0';
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (given_fits(g)) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        given_n++;
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, NULL,
                 "LISTEN_FDS: descriptor %d (%s) is no TCP socket that listens: it is not used", fd,
                 g->name);
    free(g->name);
}

void listen_given_begin(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    int n = fds ? atoi(fds) : 0;

    BRG_ASSERT(!given);
    if (pid && n > 0 && n <= GIVEN_MOST && apr_atoi64(pid) == getpid()) {
        for (int i = 0; i < n; i++) {
            size_t len = names ? strcspn(names, ":") : 0;

            given_take(GIVEN_FIRST + i, names ? names : "", len);
            if (names)
                names = names[len] ? names + len + 1 : NULL;
        }
    }
    unsetenv("LISTEN_PID"); /* not for programs that the server starts */
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

/* ---- finding them ---- */

static int given_port(const listen_given *g)
{
    return ntohs(g->addr.ss_family == AF_INET
                     ? ((const struct sockaddr_in *)(const void *)&g->addr)->sin_port
                     : ((const struct sockaddr_in6 *)(const void *)&g->addr)->sin6_port);
}

static int given_is_any(const listen_given *g)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&g->addr;

    if (g->addr.ss_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
    return ((const struct sockaddr_in *)(const void *)&g->addr)->sin_addr.s_addr == INADDR_ANY;
}

static int given_is_at(const listen_given *g, const ap_listen_rec *rec)
{
    const apr_sockaddr_t *sa = rec->bind_addr;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&g->addr;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&g->addr;

    if (g->addr.ss_family != sa->sa.sin.sin_family || given_port(g) != sa->port)
        return 0;
    return sa->family == APR_INET6
               ? !memcmp(&six->sin6_addr, &sa->sa.sin6.sin6_addr, sizeof six->sin6_addr)
               : four->sin_addr.s_addr == sa->sa.sin.sin_addr.s_addr;
}

static int given_covers(const listen_given *g, const ap_listen_rec *rec)
{
    return given_is_any(g) && given_port(g) == rec->bind_addr->port;
}

/* The socket's name is the port of the Listen line, or its protocol. */
static int given_is_named(const listen_given *g, const ap_listen_rec *rec)
{
    char port[16];

    apr_snprintf(port, sizeof port, "%d", rec->bind_addr->port);
    return !strcmp(g->name, port) || !strcmp(g->name, rec->protocol);
}

int listen_given_find(const ap_listen_rec *rec)
{
    static int (*const fits[])(const listen_given *,
                               const ap_listen_rec *) = {given_is_at, given_covers, given_is_named};

    for (size_t way = 0; way < sizeof fits / sizeof *fits; way++)
        for (listen_given *g = given; g < given + given_n; g++)
            if (!g->taken && fits[way](g, rec)) {
                BRG_ASSERT(g->fd >= GIVEN_FIRST);
                g->taken = 1;
                return g->fd;
            }
    return -1;
}

void listen_given_return(int fd)
{
    for (listen_given *g = given; g < given + given_n; g++)
        if (g->fd == fd) {
            BRG_ASSERT(g->taken);
            g->taken = 0;
        }
}

void listen_given_use(int fd)
{
    for (listen_given *g = given; g < given + given_n; g++)
        if (g->fd == fd)
            g->taken = 1;
}

int listen_given_handed(int i, const char **name)
{
    BRG_ASSERT(i >= 0);
    if (i >= given_n)
        return -1;
    *name = given[i].name;
    return given[i].fd;
}

void listen_given_take(int fd, const char *name)
{
    if (given_n < GIVEN_MOST)
        given_take(fd, name, strlen(name));
}

void listen_given_tell(void)
{
    for (listen_given *g = given; g < given + given_n; g++) {
        if (!g->taken && !g->told)
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, NULL,
                         "LISTEN_FDS: no Listen line is for the socket of port %d (%s): clients "
                         "that connect to it wait",
                         given_port(g), g->name);
        g->told = !g->taken;
    }
}
