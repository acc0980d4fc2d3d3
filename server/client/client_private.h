/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLIENT_CLIENT_PRIVATE_H
#define BRIGADE_CLIENT_CLIENT_PRIVATE_H

/**
 * @file client_private.h
 * Between the files of the room: origins with their places and addresses (client_origin.c, client_resolve.c), connecting
 * (client_connect.c), bytes (client_bytes.c), idle connections (client_pool.c).
 */
#include "client.h"
#include "loop.h"
#include <pthread.h>
#include <sys/socket.h>

typedef struct client_address client_address;

#define CLIENT_LOOPS_MOST 256    /**< loops of a process that have a place of their own */
#define CLIENT_ADDRESSES_MOST 16 /**< addresses of a name that are tried */
#define CLIENT_RACE_US \
    apr_time_from_msec(250) /**< RFC 8305, 5 and 8: the next address is tried beside */
#define CLIENT_TTL_US apr_time_from_sec(60)
#define CLIENT_ADDRESS_TTL_US apr_time_from_sec(60)

/** A socket address, as connect() takes it. */
struct client_address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    } to;
};

/** Never changed once it is published. */
typedef struct client_addresses {
    unsigned n;
    client_address at[CLIENT_ADDRESSES_MOST];
} client_addresses;

struct tls_client_sessions;

/** What one loop, or the workers, have of an origin. */
typedef struct client_place {
    client_origin *origin;
    brg_loop *loop;    /**< NULL: the workers' */
    client_conn *idle; /**< the one that was used last is first */
    _Atomic unsigned idle_n;
    client_ticket *first, **last; /**< those that wait */
    client_conn *crowded;         /**< those that found its backlog full, in order, by next */
    client_conn
        *shared; /**< settings.shared: that have exchanges, in the order of client_share() */
    unsigned shared_most;  /**< client_shared_most() */
    unsigned connecting_n; /**< settings.shared: that are being connected */
    _Atomic unsigned waiting_n;
    struct loop_guest guest; /**< the loop ends: so do idle connections */
    struct loop_note
        note; /**< an address came, a connection may be opened, or one is wanted elsewhere */
    struct tls_client_sessions *sessions; /**< of TLS; NULL: none yet */
    atomic_int wanted;    /**< another loop waits for a connection: close an idle one */
    pthread_mutex_t lock; /**< of the workers' place */
} client_place;

typedef enum client_resolve_state {
    CLIENT_UNKNOWN,
    CLIENT_ASKED,
    CLIENT_KNOWN,
    CLIENT_NAMELESS
} client_resolve_state;

struct client_origin {
    client_settings conf;
    client_gauges *gauges, own; /**< gauges: own, unless somebody looks at them */
    _Atomic unsigned open;
    _Atomic(client_addresses *) addresses;
    client_addresses *older;     /**< the resolver's: freed with the next but one */
    _Atomic apr_time_t known_at; /**< monotonic */
    atomic_int resolving;        /**< client_resolve_state */
    client_origin *resolve_next; /**< in the resolver's queue */
    client_address fixed;        /**< of a Unix socket, or an address that is no name */
    unsigned is_fixed : 1;
    unsigned is_kept : 1;  /**< of the configuration; else of one request, and counted */
    _Atomic unsigned refs; /**< of one request's: that request, the resolver, a note on its way */
    client_place workers;
    _Atomic(client_place *)
        place[]; /**< kept: [CLIENT_LOOPS_MOST], by the index of loops; else [1] */
};

enum {
    CLIENT_CONNECTING,
    CLIENT_TUNNEL,
    CLIENT_HANDSHAKE,
    CLIENT_READY,
    CLIENT_IDLE,
    CLIENT_CLOSED
};

/** The place of @a loop, made when it is first asked for; NULL loop: the workers'. NULL: no memory. */
client_place *client_place_of(client_origin *origin, brg_loop *loop);

/** Be queued in @a place, and told. Threads: its loop's. */
void client_ticket_wait(client_place *place, client_ticket *ticket);

/** Tell those that wait in @a place that they may try again. Threads: its loop's. */
void client_place_tell(client_place *place);

/** Have all places told that have somebody waiting. Threads: any. */
void client_origin_tell(client_origin *origin);

/**
 * Addresses to connect to.
 * @param to  [out] the origin's own, or a copy: client_addresses_free()
 * @return APR_SUCCESS; APR_EAGAIN: asked, the places are told later; APR_NOTFOUND; APR_ENOMEM
 * Blocking: on workers (@a may_block).
 */
apr_status_t client_resolve(client_origin *origin, int may_block, const client_address **to,
                            unsigned *n);
void client_addresses_free(const client_origin *origin, const client_address *addresses);

/** The connection tries no more addresses. */
void client_addresses_end(client_conn *cc);

/** Places in origin->place. */
static inline int client_places(const client_origin *origin)
{
    return origin->is_kept ? CLIENT_LOOPS_MOST : 1;
}

/** Of an origin of one request: somebody else has it, too; no longer. Others ignore it. Threads: any. */
void client_origin_hold(client_origin *origin);
void client_origin_release(client_origin *origin);

/** Count one more open connection, if there may be, or @a must: a worker does not wait, since there are few of them.
 * @return 0: there may not */
int client_count_open(client_origin *origin, int must);
void client_count_closed(client_origin *origin);

/** loop_io_fn and loop_timer_fn of its brg_conn. */
void client_ready(struct loop_io *io, uint32_t events);
void client_expired(struct loop_timer *timer);

/** Leave the queue before a full backlog; also where it is not in it. Tell the first that waits for the same socket. Threads: the
 * loop's. (client_connect.c) */
void client_crowd_leave(client_conn *cc);
void client_crowd_tell(const client_origin *origin);

/* ---- sockets that connect ---- */

/** A socket on its way to @a a. @param fd  [out] -1, or to be closed, also with an error
 * @return 0: connected; EINPROGRESS; else the errno */
int client_socket(const client_conn *cc, const client_address *a, int *fd);

/** @return APR_SUCCESS: it is connected; APR_EAGAIN: on its way; else how it failed. Blocking: no. */
apr_status_t client_socket_outcome(int fd);

/** The connection's socket is @a fd from now on, which leads to @a a; it has one no more where that fails. */
apr_status_t client_socket_is(client_conn *cc, int fd, const client_address *a);

/* ---- addresses that are tried beside each other (client_race.c) ---- */

/** There are more addresses: after CLIENT_RACE_US the next one is tried, too. */
void client_race_arm(client_conn *cc);

/** Try the next address now. */
void client_race_next(client_conn *cc);

/** 1: another address than that of its socket is connected; its socket is the connection's now. */
int client_race_won(client_conn *cc);

/** The connection's socket failed. 1: that of another try, which goes on, is in its place. */
int client_race_goes_on(client_conn *cc);

/** Close the others, if there are any. */
void client_race_end(client_conn *cc);

/** client_wait() of a connection that has several addresses. */
apr_status_t client_race_wait(client_conn *cc, short events, apr_interval_time_t timeout);

/** Give its block back. */
void client_block_end(client_conn *cc);

/** One of settings.shared is connected, or not to be: those that wait for it are told. Also where it was told before
 * (client_shared.c). */
void client_connecting_over(client_conn *cc);

/** Free sessions of TLS that are kept. */
void client_sessions_end(client_place *place);

/** The proxy on the way: a CONNECT to it, and its answer. @return as client_go() (client_tunnel.c) */
apr_status_t client_tunnel(client_conn *cc);

/** The TLS half of client_go(). @return as that */
apr_status_t client_handshake(client_conn *cc);

#endif
