/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_UPSTREAM_UPSTREAM_H
#define BRIGADE_UPSTREAM_UPSTREAM_H

/**
 * @file upstream.h
 * Connections that this server makes: to backends. An origin is a place that connections lead to (address, Unix socket, TLS
 * settings); each event loop keeps idle connections to it, so that a request of a loop takes one of its own without a lock.
 * Workers, which serve requests that may block, share a pool of their own.
 *
 *   upstream_conn   moved on by                              whose
 *   -----------   ---------------------------------------  ----------------------------------------
 *   connecting    upstream_go(): the socket, then TLS        the exchange that opened it
 *   ready         upstream_send(), upstream_recv()             the exchange
 *   shared        upstream_keep(), upstream_close()            its protocol's session
 *   idle          upstream_take(); data, an end, ttl: closed its place: the loop polls it
 *   closed        upstream_close()                           freed at the end of the turn
 *
 * The room knows connections and bytes, and no protocol of backends: codecs are in server/proxy.
 *
 * Threads: a upstream_conn has one owner at a time, its loop or one worker. Nothing blocks on a loop; on a worker name look-ups
 * and upstream_wait() do.
 */
#include "conn.h"
#include "httpd.h"
#include "apr_buckets.h"
#include <stdatomic.h>
#include <sys/uio.h>

struct tls_proxy_ctx;

typedef struct upstream_origin upstream_origin;
typedef struct upstream_conn upstream_conn;
struct upstream_address;

/** The configuration of an origin. Strings live as long as the origin. */
typedef struct upstream_settings {
    server_rec *server; /**< whose log and Timeout count */
    const char *host;   /**< name or address, without brackets; NULL with path */
    apr_port_t port;
    const char *path;                                         /**< of a Unix socket; NULL: TCP */
    const struct tls_proxy_ctx *tls; /* tls_client_context */ /**< NULL: clear */
    const char *sni;  /**< name for TLS; NULL: the host, if it is a name */
    const char *alpn; /**< wire form; NULL: none */
    /** the head of a CONNECT, which a proxy gets before TLS begins; NULL: none is on the way */
    const char *tunnel;
    /** 1: no connection may be made to that address; NULL: to any. Threads: any. Blocking: no. */
    int (*refuses)(const server_rec *server, const struct sockaddr *address);
    apr_sockaddr_t *from;    /**< local address (ProxySourceAddress), or NULL */
    int max;                 /**< open connections of this process; 0: any number */
    int smax;                /**< idle ones that are kept whatever their age; -1: none beyond ttl */
    apr_interval_time_t ttl; /**< idle connections live so long, microseconds; 0: 60 s */
    /** addresses are looked up again after it; 0: 60 s, in the background */
    apr_interval_time_t address_ttl;
    int receive_buffer;     /**< SO_RCVBUF; 0: the system's */
    unsigned reuse : 1;     /**< connections are kept */
    unsigned shared : 1;    /**< several exchanges of a loop use one at a time (upstream_share()) */
    unsigned keepalive : 1; /**< SO_KEEPALIVE */
} upstream_settings;

/**
 * Make an origin that lives as long as the configuration.
 * @param p  pconf, or a pool that lives as long as the process; strings of @a settings live as long
 * Threads: main, while the configuration is read; later any that has @a p for itself.
 */
upstream_origin *upstream_origin_make(apr_pool_t *p, const upstream_settings *settings);

/**
 * Make an origin for one request: it keeps no connections.
 * @param p  the request's: the caller's hold ends with it; strings of @a settings are copied
 * @return NULL: no memory
 * Threads: the request's. Blocking: no.
 */
upstream_origin *upstream_origin_once(apr_pool_t *p, const upstream_settings *settings);

const upstream_settings *upstream_origin_settings(const upstream_origin *origin);

/** Counts of an origin's connections, of this process, that others look at. */
typedef struct upstream_gauges {
    _Atomic int32_t open, idle; /**< connections, the idle ones among the open */
    _Atomic int32_t waiting;    /**< requests that wait for a connection or an address */
} upstream_gauges;

/** Count in @a gauges, which live as long as the process. Of origins that live as long as the configuration.
 * Threads: main, before loops and workers start. */
void upstream_origin_gauges(upstream_origin *origin, upstream_gauges *gauges);

/** Forget the known address: connecting failed. Threads: any. */
void upstream_origin_doubt(upstream_origin *origin);

/* ---- waiting ---- */

/** How a loop tells an exchange that something came: an event, an address, its turn. Threads: the loop's. */
typedef void upstream_notify_fn(void *baton);

/** A place in the queue for a connection, or for an address: embedded in the exchange. Zeroed at first. */
typedef struct upstream_ticket {
    struct upstream_ticket *next, **prev; /**< prev NULL: not queued */
    struct upstream_pool *pool;
    upstream_notify_fn *notify; /**< set by the owner */
    void *baton;
} upstream_ticket;

/** Leave the queue. Also where it is not in one. Threads: the loop's. */
void upstream_ticket_leave(upstream_ticket *ticket);

/* ---- connections ---- */

typedef enum upstream_failure {
    UPSTREAM_FINE,
    UPSTREAM_NO_ADDRESS,  /**< the name has none */
    UPSTREAM_NO_CONNECT,  /**< refused, unreachable, out of descriptors: error says it */
    UPSTREAM_NO_HANDSHAKE /**< TLS: why says it */
} upstream_failure;

struct upstream_conn {
    brg_conn bc; /**< socket, loop and transport; on no list of the loop's */
    upstream_origin *origin;
    struct upstream_pool *pool;
    upstream_conn *next, **prev; /**< of the pool's idle ones, or those before a full backlog */
    upstream_notify_fn *notify;  /**< an event came; NULL while idle */
    void *baton;
    char *block; /**< bytes that came and are not taken yet: block[from .. to) */
    uint32_t from, to, cap;
    uint32_t uses;       /**< exchanges so far, this one included */
    apr_status_t error;  /**< with a failure */
    const char *why;     /**< of TLS; a constant or of the connection */
    uint16_t address_at; /**< which of the origin's addresses it tries */
    uint8_t state;
    uint8_t failure;            /**< upstream_failure */
    uint8_t rd_ready, wr_ready; /**< the socket may give or take something */
    uint8_t hung_up; /**< the end stands behind the readable bytes: no event tells of it again */
    uint8_t eof;
    uint8_t on_loop;
    uint8_t opened;                           /**< it is counted */
    uint8_t crowded;                          /**< it waits for a place in a full backlog */
    apr_interval_time_t waited_us;            /**< of a worker that connects, so far */
    apr_time_t idle_since;                    /**< monotonic */
    const struct upstream_address *addresses; /**< while it connects */
    uint16_t addresses_n;
    struct upstream_race *race; /**< addresses that are tried beside; NULL: none */
    uint8_t polls_room;         /**< the loop's poll set tells of room to write */
    uint8_t wants_write;        /**< the handshake, or a step before it, waits for room */
    uint32_t tunnel_sent;       /**< bytes of the CONNECT */
    void *session;              /**< of the protocol, as long as the connection; NULL */
    void (*session_end)(void *session);
    int (*session_idle)(
        /** an event while it is idle, of a protocol in which that may be; NULL: it is closed.
         * @return 1: it stays, and all that came was taken */
        void *session);
    uint8_t shared;              /**< on its pool's list */
    uint8_t connecting;          /**< counted there */
    char peer[CONN_CLIENT_TEXT]; /**< the address that it leads to, as text */
};

/** An idle connection of this loop, or of the workers (@a loop NULL); NULL: not found. Blocking:
 * no. */
upstream_conn *upstream_take(upstream_origin *origin, brg_loop *loop);

/**
 * Begin to connect.
 *
 * @param ticket  on a loop: queued, and told, where APR_EAGAIN is returned since an address is looked up or as many
 *                connections are open as may; the caller then tries upstream_take() and this again
 * @return APR_SUCCESS: *out is to be gone on with by upstream_go(); APR_EACCES: the settings refuse an address; APR_EAGAIN; APR_ENOMEM;
 *         APR_NOTFOUND: the name has no address
 * Threads: the loop's, or a worker. Blocking: on workers for a name.
 */
apr_status_t upstream_open(upstream_origin *origin, brg_loop *loop, upstream_ticket *ticket,
                           upstream_conn **out);

/**
 * Go on with connecting, the next address included, and with the handshake.
 * @return APR_SUCCESS: ready; APR_EAGAIN: upstream_wants() names the event; else cc->failure,
 *   cc->error, cc->why
 * Blocking: no.
 */
apr_status_t upstream_go(upstream_conn *cc);

/* ---- connections of settings.shared, on loops ---- */

/** Let others find a connection that is ready, and tell the waiting ones. */
void upstream_share(upstream_conn *cc);

/** They find it no more. Also where it is not shared. */
void upstream_unshare(upstream_conn *cc);

/** The first that is shared on this loop; those behind it follow by next. NULL: not found. */
upstream_conn *upstream_shared(upstream_origin *origin, brg_loop *loop);

/** 1: one is being connected on this loop, for which @a ticket now waits. */
int upstream_awaits_shared(upstream_origin *origin, brg_loop *loop, upstream_ticket *ticket);

/** Exchanges that a connection to the backend takes at a time, as its protocol learnt on this loop.
 * 0 at first. */
unsigned *upstream_shared_most(upstream_conn *cc);

/** A shared connection can take another exchange: tell the waiting ones. */
void upstream_shared_tell(upstream_conn *cc);

/** POLLIN or POLLOUT: the event for upstream_go(). */
short upstream_wants(const upstream_conn *cc);

/** Wait for the socket. Threads: workers. Blocking. @return APR_SUCCESS, APR_TIMEUP, an error */
apr_status_t upstream_wait(upstream_conn *cc, short events, apr_interval_time_t timeout);

/**
 * Send. @param sent [out] bytes taken @param more further bytes follow at once
 * @return APR_SUCCESS, APR_EAGAIN (with *sent 0) or the error. Blocking: no.
 */
apr_status_t upstream_send(upstream_conn *cc, const struct iovec *iov, int n, int more,
                           apr_size_t *sent);

/**
 * Read into cc->block once.
 * @param most  bytes the block may hold (a head that is larger is an error: APR_ENOSPC)
 * @return APR_SUCCESS: more is there; APR_EAGAIN, APR_EOF, APR_ENOSPC, APR_ENOMEM or the error. Blocking: no.
 */
apr_status_t upstream_recv(upstream_conn *cc, uint32_t most);

#define UPSTREAM_BLOCKS 4 /**< that a long body is read into at once */

/** Bytes of a body that nobody looks at, read past cc->block. */
typedef struct upstream_blocks {
    struct iovec at[UPSTREAM_BLOCKS]; /**< whole blocks of net_block_get() */
    int n;
    apr_size_t len; /**< bytes that came, all blocks together */
} upstream_blocks;

/**
 * Read once into blocks. After APR_SUCCESS they are the caller's: upstream_blocks_pass() or upstream_blocks_end().
 * @param most  bytes of the body that are to come. More than those may be read: the caller cuts them off
 * @return as upstream_recv(), without APR_ENOSPC. Blocking: no.
 */
apr_status_t upstream_recv_blocks(upstream_conn *cc, upstream_blocks *b, apr_size_t most);

/**
 * Read once into @a at, which has room for @a room bytes of the @a most that are to come. Of any connection.
 * @param excess  bytes beyond @a most that came, and are lost
 * @return as upstream_recv_blocks()
 */
apr_status_t upstream_recv_into(upstream_conn *cc, char *at, apr_size_t room, uint64_t most,
                                apr_size_t *got, apr_size_t *excess);

/** 1: that may be called: nothing lies between the socket and the body. */
int upstream_can_recv_blocks(const upstream_conn *cc);

/** The received bytes become buckets behind @a bb, a small piece at the end as a copy; the rest of
 * the blocks goes back. */
void upstream_blocks_pass(upstream_blocks *b, apr_bucket_brigade *bb);

/** All go back. */
void upstream_blocks_end(upstream_blocks *b);

static inline uint32_t upstream_in_size(const upstream_conn *cc)
{
    return cc->to - cc->from;
}

static inline const char *upstream_in(const upstream_conn *cc)
{
    return cc->block + cc->from;
}

/** Drop @a n bytes from the front. */
void upstream_in_take(upstream_conn *cc, uint32_t n);

#define UPSTREAM_COPIED 4096 /**< bytes up to which a piece is copied */

/**
 * All that waits, in the memory that it was read into, if they are a good part of it. The connection reads into another block then.
 * @param at   [out] where they are in it
 * @param cap  [out] its size
 * @param end  [out] frees it, on any thread
 * @return NULL: they are few, and stay
 */
char *upstream_in_give(upstream_conn *cc, uint32_t *at, uint32_t *cap, void (**end)(void *));

/** The first @a n bytes as a bucket: without a copy where they are many. The connection reads into another block then. */
apr_bucket *upstream_in_bucket(upstream_conn *cc, uint32_t n, apr_bucket_alloc_t *alloc);

/** No bytes wait and none are to come: the exchange is over, keep the connection for another. It is not the caller's any more. */
void upstream_keep(upstream_conn *cc);

/** Close it. It is not the caller's any more. */
void upstream_close(upstream_conn *cc);

#endif
