/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_CONN_H
#define BRIGADE_LOOP_CONN_H

/**
 * @file conn.h
 * A client connection, private to server/.
 *
 * A brg_conn is small and belongs to one event loop. Its conn_rec, pool and filters (Apache's
 * connection) are attached only when a request needs them: a connection that asks for cached files
 * only, or that waits in keep-alive, costs a few hundred bytes.
 *
 * Life (bc->state; conn_enter() moves it, but for the first and the last):
 *
 *   state         moved on by                                 owner   legal in it
 *   ------------  ------------------------------------------  ------  --------------------------------
 *   (none)        loop_accept()                               loop    -> HEAD
 *   CONN_HEAD     a head is complete                          loop    read, answers from memory
 *   CONN_IDLE     the first byte of the next head             loop    read; closed when it stays silent
 *   CONN_REQUEST  the driver has made a request of the head   loop    c, r, phases and handler; within
 *                                                                     one turn only. Between phases
 *                                                                     and handler it may be on the
 *                                                                     list of loop_later()
 *   CONN_BODY     the request's body came (h1_conn_body.c)    loop    read; r waits in bc->held.r
 *   CONN_WAIT     its handler's event came, or the            loop    write what there is; the handler
 *                 client left (request_wait.h)                        goes on in CONN_REQUEST
 *   CONN_WORKER   worker_pool_submit() ... loop_return()      worker  everything, by the worker alone;
 *                                                                     blocking reads and writes. The
 *                                                                     loop looks at state only
 *   CONN_WRITE    the socket takes the rest of the output     loop    write; nothing is read
 *   CONN_LINGER   the peer closes, or time is over            loop    read and drop; c is gone
 *   (closed)      loop_close(); the end of the turn           loop    fd is -1; tag becomes 0
 *
 *   HEAD -> answered from memory -> HEAD | WRITE
 *   HEAD -> REQUEST -> [BODY ->] [WORKER ->] [WAIT -> REQUEST ->] WRITE -> HEAD | IDLE | LINGER
 *   any  -> closed, by an error, a deadline, or the end of the process
 *
 * In CONN_WORKER the connection is not in the timer wheel and on no list of the loop. It may still be in the poll
 * set; its events are ignored, since the loop looks again when the worker returns it, unless the worker left output
 * to the loop (loop_drain.h): the loop then sends that, and touches nothing else of the connection. Queued
 * connections that the pool refuses (bc->queue.refused) come back without having run.
 */
#include "httpd.h"
#include "apr_buckets.h"
#include "apr_network_io.h"
#include "loop_io.h"
#include "program_thread.h"
#include "timer_wheel.h"
#include <stdatomic.h>
#include <stdint.h>

typedef struct brg_loop brg_loop;
typedef struct brg_conn brg_conn;
struct conn_driver;
struct conn_transport;
struct conn_drain;
struct conn_ahead;

/** The versions of HTTP that connections speak, by number. Each has a driver (driver.h), a form of stored heads
 * (http_answer.h), and entries of the response cache of its own. */
typedef enum conn_protocol_number {
    CONN_HTTP1,
    CONN_HTTP2,
    CONN_HTTP3,
    CONN_PROTOCOLS
} conn_protocol_number;

/** A listening socket of one loop. Made by listen.c; lives as long as the generation that inherits
 * it. */
typedef struct brg_listener {
    int fd;
    apr_sockaddr_t *addr;     /**< as bound */
    struct ap_listen_rec *lr; /**< the Listen directive that it serves */
    int tcp;                  /**< TCP options apply */
    int shared;               /**< other loops poll the same socket */
    int udp_fd;        /**< datagrams to the same address (loop_datagrams); 0 or less: none */
    uint8_t udp_route; /**< its number among those of all loops */
    /** the addresses that count in place of the sockets' own; NULL: the sockets' own */
    const apr_sockaddr_t *pretended;
    /** from this one, where that is set; NULL: from that */
    const apr_sockaddr_t *pretended_client;
} brg_listener;

typedef enum conn_close_mode {
    CONN_KEEP, /**< wait for the next request */
    CONN_SHUT, /**< the peer expects no more and sends no more: close at once */
    /** our side is shut; the peer's last bytes are read for a while (RFC 9112 section 9.6) */
    CONN_DRAIN
} conn_close_mode;

typedef enum conn_state_id {
    CONN_HEAD, /**< a request head is arriving, or awaited for the first time */
    CONN_IDLE, /**< as CONN_HEAD: between requests, nothing came yet */
    CONN_REQUEST,
    CONN_WORKER,
    CONN_WRITE,
    CONN_LINGER,
    CONN_BODY,
    CONN_WAIT, /**< the request's handler waits for something other than the client */
    CONN_STATES
} conn_state_id;

/** Why a worker pool gave a connection back without having run it. */
typedef enum conn_refusal {
    CONN_NOT_REFUSED,
    CONN_REFUSED_LATE, /**< it waited for longer than WorkerQueueTimeout */
    CONN_REFUSED_LEFT  /**< its client closed its side meanwhile */
} conn_refusal;

/** Whom a proxy opened a connection for (the PROXY protocol). */
struct conn_peer {
    /** AF_INET, also for IPv4 written as IPv6 (::ffff:192.0.2.1); AF_INET6; 0: not told, the
     * socket's peer counts */
    uint8_t family;
    uint16_t port; /**< in host order */
    uint8_t address[16];
    char ip[46]; /**< the address as text; "" where family is 0 */
};

/** A request that does not run: it waits for a worker, its body, its handler's turn (loop_later()),
 * or an event that its handler named. */
struct conn_held {
    request_rec *r;
    /** the event that its handler waits for (request_wait.h), or NULL */
    struct brg_waiting *waiting;
    /** with a worker: the result of the phases; see H1_PHASES_PENDING */
    int status;
    int (*stays)(void *baton); /**< the client left: 1 if the request goes on; NULL: it does not */
    void *stays_baton;
};

/** A body that is waited for, or thrown away. */
struct conn_body {
    uint64_t from;   /**< brg_conn.input.consumed when CONN_BODY was entered */
    uint32_t wanted; /**< bytes of input to wait for */
    uint8_t discard; /**< it is thrown away */
};

/** Output of a worker that may be stored. */
struct conn_kept {
    struct cache_worker_fill *fill; /**< where its answer goes, or NULL */
    uint64_t asked;                 /**< hash of the target that it answered with a file; 0: none */
};

/** Input that is not consumed yet: at[off .. len). */
struct conn_input {
    char *at; /**< NULL while empty and waiting */
    uint32_t off, len, cap;
    /** buckets refer to it, and own it: it is appended to, and neither moved nor freed */
    uint8_t shared;
    uint32_t scanned;  /**< how far the search for the end of the head came */
    uint64_t consumed; /**< bytes that requests took so far */
    /** when the head being read began to arrive; in CONN_BODY, when that was entered */
    apr_time_t began;
};

/** What the worker pool is told of a connection, and says of it. */
struct conn_queue {
    uint8_t refused;    /**< conn_refusal: given back without having run */
    uint8_t must_run;   /**< it may not be refused */
    uint8_t waits;      /**< in the pool's queue: no thread was free for it */
    uint8_t takes_long; /**< with a worker since it takes long, not since it waits (loop_long.c) */
    uint8_t longs_n;    /**< so many of its streams are such */
};

/** In CONN_WORKER. */
struct conn_work {
    uint64_t page;            /**< takes_long: loop_page_of() of the request; 0: not quick */
    uint64_t round;           /**< its place, or its last stream's, in the queue (worker_queue.h) */
    struct conn_drain *drain; /**< the loop's: output that the loop sends */
    apr_time_t since;         /**< when that was entered */
    struct conn_kept kept;    /**< the response cache's */
};

/** The address of the socket's peer. */
struct conn_client {
    uint8_t len;   /**< bytes of at; 0: nobody asked yet (conn_client_address()) */
    uint8_t told;  /**< accept4() told at and port */
    uint16_t port; /**< in host order */
    uint8_t at[16];
};

#define CONN_PLACES 2 /**< places that a doorkeeper gives a connection at most */

#define CONN_TAG 0x434f4e4eu /**< brg_conn.tag */

struct brg_conn {
    struct loop_timer timer; /**< its deadline: driver->expired */
    struct loop_io io;       /**< its socket in the poll set */
    uint32_t tag;            /**< CONN_TAG from accept to the end of the object */
    brg_loop *loop;
    brg_listener *listener;
    const struct conn_driver *driver;       /**< the protocol (driver.h) */
    const struct conn_transport *transport; /**< NULL: the plain socket (transport.h) */
    void *below;                            /**< the transport's own */
    void *above; /**< the driver's own; with that of HTTP/1: the one of becomes is to follow */
    /** A stream: the connection that carries it. It has the other connection's descriptor, is in no
     * poll set and on no list of open connections, and its transport comes from the other
     * connection's driver. */
    brg_conn *master;
    /** NULL: no proxy told of one; that of a stream belongs to its master */
    struct conn_peer *peer;
    int fd;
    uint8_t state; /**< conn_state_id */
    /** fd is a UDP socket of others, too: it is neither polled nor closed with this one. The local address is
     * local, the client's client; of a stream they are its master's */
    uint8_t borrows;
    uint8_t polled;      /**< fd is in the poll set (edge-triggered, for input and output) */
    uint8_t rd_ready;    /**< a read may give something: set by an event, cleared by a short read */
    uint8_t read_eof;    /**< the peer shut its side */
    uint8_t rd_hup;      /**< by an event: the end stands behind the unread bytes */
    uint8_t failed;      /**< a read or write failed: close without lingering */
    uint8_t queued;      /**< on the loop's list of this turn */
    uint8_t close_after; /**< conn_close_mode: the step after the last byte of output */
    uint8_t transaction; /**< transaction_state (transaction.h) */
    uint8_t module_driven; /**< filters or hooks of modules take part in it (h1_module_driven.c) */
    struct conn_queue queue;
    uint8_t protocol; /**< conn_protocol_number of the connection; of a stream: its master's */
    uint8_t gated; /**< gates counted its request (cache_plan_admits()): limits do not once more */
    uint8_t ways;  /**< BRG_SENT_... by which bytes of files left for the request */
    uint8_t cold;  /**< the loop's last write ended at a file that is not in memory */
    uint32_t requests; /**< answered on this connection */
    /** module-driven: requests that ended and are not counted yet; threads of modules end some */
    _Atomic uint32_t ended;
    brg_conn *next; /**< list link: ready, returned by a worker, closed or spare */
    struct {
        brg_conn *next, **prev;
    } all; /**< the loop's open connections */

    const void *chain; /**< virtual hosts of the local address (vhosts.h) */
    server_rec *base;  /**< the server that the address alone leads to */

    struct conn_input input;
    apr_time_t idle_until; /**< keep-alive deadline that the last response left */

    /** the rest of stored answers that the socket did not take; usually NULL */
    struct conn_pending *pending;

    /* Apache's side, NULL until connection_attach(). */
    conn_rec *c;
    struct core_output *out;  /**< core_output.c's state; NULL until attached */
    struct conn_held held;    /**< the driver's: its request, while that waits */
    struct conn_ahead *ahead; /**< a request that was sent on before it is one (h1_ahead.h); NULL */
    union {
        struct conn_body body;        /**< the driver's, in CONN_BODY */
        const struct sockaddr *local; /**< with borrows, no stream; of the transport's */
    };
    struct conn_work work;
    struct conn_client client;
    uint32_t held_places[CONN_PLACES]; /**< the doorkeeper's (driver.h); 0: none */
    uint8_t becomes; /**< the protocol after its driver lets go of it; CONN_HTTP1: no change */
    uint8_t resumed; /**< module-driven: suspend_connection ran, resume_connection is due */
};

/* ---- conn_outlive.c ---- */

/** In place of a transport whose client left, while its request goes on for others: output is dropped, input has ended. */
extern const struct conn_transport conn_nobody;

/**
 * The client left. If the request goes on for others (bc->held.stays), the transport ends and only
 * the request stays.
 * @return 1; 0: it ends. Threads: the owner of the connection
 */
int conn_outlive(brg_conn *bc);

/* ---- conn_client.c ---- */

#define CONN_CLIENT_TEXT 48 /**< bytes that an address takes as text */

/** Whom a connection is with: as a proxy said, or the socket's peer, as text. Threads: any that may use bc. Blocking: no.
 * @return @a text; "a client" in it if the address is not known */
const char *conn_client(const brg_conn *bc, char text[CONN_CLIENT_TEXT]);

/** Keep @a sa, the peer's address from accept4(). Threads: the loop's. */
void conn_client_told(brg_conn *bc, const struct sockaddr *sa);

/**
 * The socket's peer as APR has it, in memory of @a p.
 * @return NULL: accept4() did not say, or a proxy did: the socket tells. Threads: the owner of bc. Blocking: no.
 */
apr_sockaddr_t *conn_client_sockaddr(const brg_conn *bc, apr_pool_t *p);

/** The local address, where the listening socket is bound to one. @return NULL: the socket tells. As conn_client_sockaddr(). */
apr_sockaddr_t *conn_local_sockaddr(const brg_conn *bc, apr_pool_t *p);

/** Make *@a a an address of APR_INET or APR_INET6, @a bytes in network order, without a port and a pool. Threads: any. */
void conn_sockaddr_put(apr_sockaddr_t *a, int family, const void *bytes);

/** The same in memory of @a p. Threads: any. */
apr_sockaddr_t *conn_sockaddr(apr_pool_t *p, int family, const void *bytes, apr_port_t port);

/**
 * The same as bytes, asked of the kernel once: 4 bytes of IPv4 (also if written as IPv6), else 16.
 * @param address  [out] lives as long as the connection
 * @return how many; 0: it is not known, or none of these
 * Threads: the loop's. Blocking: no.
 */
size_t conn_client_address(brg_conn *bc, const uint8_t **address);

/* ---- conn_input.c ---- */

/** 1 if @a rv is how a socket says that the peer, or the way to it, is gone. */
int conn_error_is_peers(apr_status_t rv);

/**
 * The connection cannot go on: bc->failed is set, and the error log says why, unless the peer is
 * gone. Closing it is the caller's.
 * @param rv    errno; APR_EOF: a file that was being sent ended early
 * @param what  the operation that failed, for the log
 * Threads: the owner of bc. Blocking: no.
 */
__attribute__((cold)) void conn_fail(brg_conn *bc, apr_status_t rv, const char *what);

/**
 * Make at least one more byte available in bc->input.
 *
 * @param block    APR_BLOCK_READ waits up to @a timeout (workers only; on a loop it is answered as
 * non-blocking)
 * @param timeout  microseconds; negative = for ever
 * @return APR_SUCCESS, APR_EAGAIN, APR_EOF, APR_TIMEUP or the socket's error
 * Threads: the owner of bc.
 */
apr_status_t conn_read(brg_conn *bc, apr_read_type_e block, apr_interval_time_t timeout);

/** Bytes at hand. */
static inline size_t conn_in_size(const brg_conn *bc)
{
    return bc->input.len - bc->input.off;
}

/** Drop @a n bytes that were consumed from the front of the input. */
static inline void conn_in_consume(brg_conn *bc, size_t n)
{
    bc->input.off += (uint32_t)n;
    bc->input.consumed += n;
    bc->input.scanned = 0;
    if (bc->input.off >= bc->input.len && !bc->input.shared)
        bc->input.off = bc->input.len = 0;
}

/** Unconsumed input moves to a buffer of the connection's own: buckets keep the shared one. With no
 * memory for it, the input ends as at an error. Threads: the owner of bc. */
void conn_in_unshare(brg_conn *bc);

/** The loop that the calling thread runs, or NULL. Written by thread_self.c alone. */
extern PROGRAM_THREAD_LOCAL brg_loop *loop_of_thread;

/** 1 when the caller runs on an event loop and must not wait. */
static inline int conn_on_loop(void)
{
    return loop_of_thread != NULL;
}

#endif
