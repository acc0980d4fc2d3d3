/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP sockets beside those of a Listen, for HTTP/3: one for each loop of each generation, so that packets of a connection come
 * to the loop that has it, also after a reload or an upgrade, until its process has ended.
 *
 * All sockets of an address are a group of SO_REUSEPORT, and stay in it for as long as the address
 * is configured: so the number of a socket in its group never changes. They are used in sets: a
 * generation takes a set whose processes have ended, or a new one. A classic BPF program, which
 * needs no privilege, chooses the socket: by a byte of the connection id (quic/quic.h), which only
 * the server knows to read; a datagram without such an id, from a new client, goes by its hash to
 * the set of the newest generation. Replacing the program is one step, and is made when that
 * generation serves.
 */
#include "listen_sockets.h"
#include "brigade/assert.h"

#include "http_log.h"
#include "http_main.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define UDP_SOCKETS 256 /* of an address: a connection id has a byte for it */
#define UDP_SETS 64
#define UDP_RECEIVE (2 << 20) /* bytes that wait for a loop; the system may allow less */

typedef struct udp_set {
    int first, n;   /* of the sockets of its address */
    int generation; /* that has it, or had it last */
} udp_set;

/* Lives in the heap: configurations come and go. */
typedef struct udp_address {
    struct udp_address *next;
    struct sockaddr_storage addr;
    socklen_t addr_len;
    const ap_listen_rec *rec; /* of the running configuration; NULL: not asked for */
    int v6only;
    int fds[UDP_SOCKETS], n;
    udp_set set[UDP_SETS];
    /* the set of this generation; and that of new clients, -1: none yet */
    int sets, current, routed;
} udp_address;

static udp_address *udp_first;
static uint32_t udp_key; /* quic_setup.route_key */

/* ---- the program ---- */

/* The position of an id, and its meaning: a number in the group, or the code behind. */
#define UDP_ROUTE(at, key, most)                                                              \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at) + 1), BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, (key)), \
        BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 8),                          \
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff), BPF_STMT(BPF_MISC | BPF_TAX, 0),         \
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (at) + 5),                                         \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 7), BPF_STMT(BPF_LD | BPF_MEM, 0),          \
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 24), BPF_STMT(BPF_MISC | BPF_TAX, 0),             \
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (at)), BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),     \
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (most), 1, 0), BPF_STMT(BPF_RET | BPF_A, 0)
#define UDP_ROUTE_N 15

#define UDP_LONG 0x80  /* in the first byte: a long header, whose id is behind version and length */
#define UDP_ID_BYTES 8 /* of the server's ids */

static int udp_route(const udp_address *a)
{
    const udp_set *set = &a->set[a->current];
    const uint32_t n = (uint32_t)set->n, first = (uint32_t)set->first, all = (uint32_t)a->n;
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, UDP_LONG, UDP_ROUTE_N + 1, 0),
                                 UDP_ROUTE(1, udp_key, all),
                                 BPF_STMT(BPF_JMP | BPF_JA, UDP_ROUTE_N + 2),
                                 BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 5),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UDP_ID_BYTES, 0, UDP_ROUTE_N),
                                 UDP_ROUTE(6, udp_key, all),
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 6),
                                 BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, udp_key),
                                 BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
                                 BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, n),
                                 BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, first),
                                 BPF_STMT(BPF_RET | BPF_A, 0)};
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    BRG_ASSERT(n > 0 && first + n <= all);
    if (all == 1) /* there is no group yet */
        return 0;
    return setsockopt(a->fds[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
}

/* ---- sockets ---- */

static int udp_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* The first of a group has SO_REUSEPORT only when it is bound, as listen_socket.c has it. */
static int udp_bind(const udp_address *a, int fd)
{
    if (a->addr.ss_family == AF_INET6 && udp_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, a->v6only))
        return -1;
    if ((a->n && udp_option(fd, SOL_SOCKET, SO_REUSEPORT, 1)) ||
        bind(fd, (const struct sockaddr *)&a->addr, a->addr_len))
        return -1;
    (void)udp_option(fd, SOL_SOCKET, SO_RCVBUF, UDP_RECEIVE);
    return a->n ? 0 : udp_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

static apr_status_t udp_add(udp_address *a)
{
    int fd = socket(a->addr.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

    if (fd >= 0 && !udp_bind(a, fd)) {
        a->fds[a->n++] = fd;
        return APR_SUCCESS;
    }
    error = errno;
    if (fd >= 0)
        close(fd);
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, error, ap_pglobal,
                  "make_sock: could not bind to UDP address %pI, for HTTP/3", a->rec->bind_addr);
    return error;
}

/* ---- sets ---- */

/* A set of n sockets for a generation. */
static apr_status_t udp_set_make(udp_address *a, int n, int generation)
{
    const int first = a->n;
    apr_status_t rv = APR_SUCCESS;

    if (a->sets == UDP_SETS || first + n > UDP_SOCKETS) {
        ap_log_perror(
            APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, ap_pglobal,
            "HTTP/3: %pI has %d UDP sockets already, of generations whose processes have not ended",
            a->rec->bind_addr, a->n);
        return APR_ENOSPC;
    }
    BRG_ASSERT(n > 0 && a->sets >= 0);
    while (rv == APR_SUCCESS && a->n < first + n)
        rv = udp_add(a);
    if (rv != APR_SUCCESS && a->n == first)
        return rv;
    /* Fewer would be another number of loops: the present ones stay, for a smaller set. */
    a->set[a->sets] = (udp_set){.first = first, .n = a->n - first, .generation = generation};
    a->current = a->sets++;
    return rv;
}

static int udp_set_free(const udp_address *a, int i, int n, int (*lives)(int generation))
{
    return i != a->routed && a->set[i].n >= n && !lives(a->set[i].generation);
}

static udp_address *udp_find(const ap_listen_rec *rec)
{
    udp_address *a = udp_first;

    while (a && (a->addr_len != rec->bind_addr->salen ||
                 memcmp(&a->addr, &rec->bind_addr->sa, a->addr_len) != 0))
        a = a->next;
    return a;
}

static udp_address *udp_make(const struct sockaddr *addr, socklen_t len)
{
    udp_address *a = ap_calloc(1, sizeof *a);

    BRG_ASSERT((size_t)len <= sizeof a->addr);
    memcpy(&a->addr, addr, len);
    a->addr_len = len;
    a->current = a->routed = -1;
    a->next = udp_first;
    return udp_first = a;
}

static void udp_forget(udp_address *gone)
{
    udp_address **at = &udp_first;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    BRG_ASSERT(gone->n <= UDP_SOCKETS && gone->sets <= UDP_SETS);
    for (int i = 0; i < gone->n; i++)
        if (gone->fds[i] >= 0)
            close(gone->fds[i]);
    free(gone);
}

apr_status_t listen_udp_ensure(const ap_listen_rec *rec, int n, int v6only, uint32_t key,
                               int generation, int (*lives)(int generation))
{
    udp_address *a = udp_find(rec);

    BRG_ASSERT(n > 0);
    if (!a)
        a = udp_make((const struct sockaddr *)&rec->bind_addr->sa, rec->bind_addr->salen);
    BRG_ASSERT(!a->sets || a->n);
    a->rec = rec;
    a->v6only = v6only;
    udp_key = key;
    for (int i = 0; i < a->sets; i++)
        if (udp_set_free(a, i, n, lives)) {
            a->set[i].generation = generation;
            a->current = i;
            return APR_SUCCESS;
        }
    return udp_set_make(a, n, generation);
}

void listen_udp_mark(void)
{
    for (udp_address *a = udp_first; a; a = a->next)
        a->rec = NULL;
}

void listen_udp_switch(void)
{
    for (udp_address *a = udp_first, *next; a; a = next) {
        next = a->next;
        if (!a->rec) {
            udp_forget(a); /* processes that drain have its sockets still */
            continue;
        }
        BRG_ASSERT(a->current >= 0 && a->current < a->sets);
        a->routed = a->current;
        if (udp_route(a))
            ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, ap_pglobal,
                          "HTTP/3: packets to %pI cannot be led to their event loops",
                          a->rec->bind_addr);
    }
}

void listen_udp_close_all(void)
{
    while (udp_first)
        udp_forget(udp_first);
}

int listen_udp_of(const ap_listen_rec *rec, int owner, uint8_t *route)
{
    const udp_address *a = udp_find(rec);
    const udp_set *set = a && a->rec && a->current >= 0 ? &a->set[a->current] : NULL;

    if (!set || owner >= set->n)
        return -1;
    BRG_ASSERT(owner >= 0 && set->first + owner < a->n);
    *route = (uint8_t)(set->first + owner);
    return a->fds[*route];
}

void listen_udp_release_others(int first, int n)
{
    for (udp_address *a = udp_first; a; a = a->next)
        for (int i = 0; i < a->n; i++) {
            const udp_set *set = a->rec && a->current >= 0 ? &a->set[a->current] : NULL;

            if (set && i >= set->first + first && i < set->first + first + n)
                continue;
            close(a->fds[i]);
            a->fds[i] = -1;
        }
}

/* ---- from program to program ---- */

int listen_udp_handed(int i, listen_udp_handed_over *out)
{
    const udp_address *a = udp_first;

    while (a && i-- > 0)
        a = a->next;
    if (!a)
        return 0;
    BRG_ASSERT(a->n > 0);
    *out = (listen_udp_handed_over){.addr = a->addr, .addr_len = a->addr_len, .n = a->n};
    memcpy(out->fds, a->fds, sizeof out->fds);
    for (int k = 0; k < a->sets; k++)
        for (int j = 0; j < a->set[k].n; j++)
            out->generation[a->set[k].first + j] = a->set[k].generation;
    return 1;
}

/* Sockets of one generation that follow each other are a set. New clients go to the newest set. */
void listen_udp_take(const listen_udp_handed_over *from)
{
    udp_address *a = udp_make((const struct sockaddr *)&from->addr, from->addr_len);

    BRG_ASSERT(from->n > 0);
    for (int i = 0; i < from->n && i < UDP_SOCKETS; i++) {
        udp_set *last = a->sets ? &a->set[a->sets - 1] : NULL;

        a->fds[a->n++] = from->fds[i];
        if (last && last->generation == from->generation[i])
            last->n++;
        else if (a->sets < UDP_SETS)
            a->set[a->sets++] = (udp_set){.first = i, .n = 1, .generation = from->generation[i]};
        if (a->routed < 0 || a->set[a->sets - 1].generation > a->set[a->routed].generation)
            a->routed = a->sets - 1;
    }
}
