/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_UPSTREAM_UPSTREAM_PRIVATE_H
#define BRIGADE_UPSTREAM_UPSTREAM_PRIVATE_H

/**
 * @file upstream_private.h
 * Between the files of the room: origins with their pools and addresses (upstream_origin.c, upstream_resolve.c), connecting
 * (upstream_connect.c), bytes (upstream_bytes.c), idle connections (upstream_pool.c).
 */
#include "upstream.h"
#include "loop.h"
#include <pthread.h>
#include <sys/socket.h>

typedef struct upstream_address upstream_address;

#define UPSTREAM_LOOPS_MOST 256    /**< loops of a process that have a pool of their own */
#define UPSTREAM_ADDRESSES_MOST 16 /**< addresses of a name that are tried */
/** RFC 8305, 5 and 8: the next address is tried beside */
#define UPSTREAM_RACE_US apr_time_from_msec(250)
#define UPSTREAM_TTL_US apr_time_from_sec(60)
#define UPSTREAM_ADDRESS_TTL_US apr_time_from_sec(60)

/** A socket address, as connect() takes it. */
struct upstream_address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    } to;
};

/** Never changed once it is published. */
typedef struct upstream_addresses {
    unsigned n;
    upstream_address at[UPSTREAM_ADDRESSES_MOST];
} upstream_addresses;

struct tls_client_sessions;

/** The connections of one loop, or of the workers, to an origin. */
typedef struct upstream_pool {
    upstream_origin *origin;
    brg_loop *loop;      /**< NULL: the workers' */
    upstream_conn *idle; /**< the most recently used first */
    _Atomic unsigned idle_n;
    upstream_ticket *first, **last; /**< waiting ones */
    upstream_conn *crowded; /**< connections that found its backlog full, in order, by next */
    /** settings.shared: that have exchanges, in the order of upstream_share() */
    upstream_conn *shared;
    unsigned shared_most;  /**< upstream_shared_most() */
    unsigned connecting_n; /**< settings.shared: that are being connected */
    _Atomic unsigned waiting_n;
    struct loop_guest guest; /**< the loop ends: so do idle connections */
    /** an address came, a connection may be opened, or one is wanted elsewhere */
    struct loop_note note;
    struct tls_client_sessions *sessions; /**< of TLS; NULL: none yet */
    atomic_int wanted;    /**< another loop waits for a connection: close an idle one */
    pthread_mutex_t lock; /**< of the workers' pool */
} upstream_pool;

typedef enum upstream_resolve_state {
    UPSTREAM_UNKNOWN,
    UPSTREAM_ASKED,
    UPSTREAM_KNOWN,
    UPSTREAM_NAMELESS
} upstream_resolve_state;

struct upstream_origin {
    upstream_settings conf;
    upstream_gauges *gauges, own; /**< gauges: own, unless somebody looks at them */
    _Atomic unsigned open;
    _Atomic(upstream_addresses *) addresses;
    upstream_addresses *older;     /**< the resolver's: freed with the next but one */
    _Atomic apr_time_t known_at;   /**< monotonic */
    atomic_int resolving;          /**< upstream_resolve_state */
    upstream_origin *resolve_next; /**< in the resolver's queue */
    upstream_address fixed;        /**< of a Unix socket, or an address that is no name */
    unsigned is_fixed : 1;
    unsigned is_kept : 1;  /**< of the configuration; else of one request, and counted */
    _Atomic unsigned refs; /**< of one request's: that request, the resolver, a note on its way */
    upstream_pool workers;
    _Atomic(upstream_pool *)
        pool[]; /**< kept: [UPSTREAM_LOOPS_MOST], by the index of loops; else [1] */
};

enum {
    UPSTREAM_CONNECTING,
    UPSTREAM_TUNNEL,
    UPSTREAM_HANDSHAKE,
    UPSTREAM_READY,
    UPSTREAM_IDLE,
    UPSTREAM_CLOSED
};

/** The pool of @a loop, made when it is first asked for; NULL loop: the workers'. NULL: no memory. */
upstream_pool *upstream_pool_of(upstream_origin *origin, brg_loop *loop);

/** Be queued in @a pool, and told. Threads: its loop's. */
void upstream_ticket_wait(upstream_pool *pool, upstream_ticket *ticket);

/** Tell the waiting ones in @a pool to try again. Threads: its loop's. */
void upstream_pool_tell(upstream_pool *pool);

/** Have all pools told that have somebody waiting. Threads: any. */
void upstream_origin_tell(upstream_origin *origin);

/**
 * Addresses to connect to.
 * @param to  [out] the origin's own, or a copy: upstream_addresses_free()
 * @return APR_SUCCESS; APR_EAGAIN: asked, the pools are told later; APR_NOTFOUND; APR_ENOMEM
 * Blocking: on workers (@a may_block).
 */
apr_status_t upstream_resolve(upstream_origin *origin, int may_block, const upstream_address **to,
                              unsigned *n);
void upstream_addresses_free(const upstream_origin *origin, const upstream_address *addresses);

/** The connection tries no more addresses. */
void upstream_addresses_end(upstream_conn *cc);

/** Pools in origin->pool. */
static inline int upstream_pools(const upstream_origin *origin)
{
    return origin->is_kept ? UPSTREAM_LOOPS_MOST : 1;
}

/** Of an origin of one request: somebody else has it, too; no longer. Others ignore it. Threads: any. */
void upstream_origin_hold(upstream_origin *origin);
void upstream_origin_release(upstream_origin *origin);

/** Count one more open connection, if there may be, or @a must: a worker does not wait, since there are few of them.
 * @return 0: there may not */
int upstream_count_open(upstream_origin *origin, int must);
void upstream_count_closed(upstream_origin *origin);

/** loop_io_fn and loop_timer_fn of its brg_conn. */
void upstream_ready(struct loop_io *io, uint32_t events);
void upstream_expired(struct loop_timer *timer);

/** Leave the queue before a full backlog; also where it is not in it. Tell the first that waits for the same socket. Threads: the
 * loop's. (upstream_connect.c) */
void upstream_crowd_leave(upstream_conn *cc);
void upstream_crowd_tell(const upstream_origin *origin);

/* ---- sockets that connect ---- */

/** A socket on its way to @a a. @param fd  [out] -1, or to be closed, also with an error
 * @return 0: connected; EINPROGRESS; else the errno */
int upstream_socket(const upstream_conn *cc, const upstream_address *a, int *fd);

/** @return APR_SUCCESS: it is connected; APR_EAGAIN: on its way; else how it failed. Blocking: no. */
apr_status_t upstream_socket_outcome(int fd);

/** The connection's socket is @a fd from now on, which leads to @a a; it has one no more where that fails. */
apr_status_t upstream_socket_is(upstream_conn *cc, int fd, const upstream_address *a);

/* ---- addresses that are tried beside each other (upstream_race.c) ---- */

/** There are more addresses: after UPSTREAM_RACE_US the next one is tried, too. */
void upstream_race_arm(upstream_conn *cc);

/** Try the next address now. */
void upstream_race_next(upstream_conn *cc);

/** 1: another address than that of its socket is connected; its socket is the connection's now. */
int upstream_race_won(upstream_conn *cc);

/** The connection's socket failed. 1: that of another try, which goes on, is in its place. */
int upstream_race_goes_on(upstream_conn *cc);

/** Close the others, if there are any. */
void upstream_race_end(upstream_conn *cc);

/** upstream_wait() of a connection that has several addresses. */
apr_status_t upstream_race_wait(upstream_conn *cc, short events, apr_interval_time_t timeout);

/** Give its block back. */
void upstream_block_end(upstream_conn *cc);

/** A connection of settings.shared is connected, or never will be: tell the waiting ones. Also
 * where it was told before (upstream_shared.c). */
void upstream_connecting_over(upstream_conn *cc);

/** Free sessions of TLS that are kept. */
void upstream_sessions_end(upstream_pool *pool);

/** The proxy on the way: a CONNECT to it, and its answer. @return as upstream_go() (upstream_tunnel.c) */
apr_status_t upstream_tunnel(upstream_conn *cc);

/** The TLS half of upstream_go(). @return as that */
apr_status_t upstream_handshake(upstream_conn *cc);

#endif
