/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_AHEAD_H
#define BRIGADE_H1_H1_AHEAD_H

/**
 * @file h1_ahead.h
 * A request that is sent on to its backend ahead of its request_rec: a plan
 * (cache/cache_plan.h) has the decisions of its phases. Its head stays in the connection's input
 * until it is answered. A simple answer goes to the client as it comes; for any other the request
 * is made of that head then, runs its phases, and its handler takes over the exchange
 * (h1_ahead_take()).
 *
 *   state of bc   moved on by                              next
 *   ------------  ---------------------------------------  -----------------------------------------------
 *   CONN_WAIT     the head of a simple answer came         ahead->answers: the same, as its pieces come
 *   with ahead    any other answer, or a failure;          the request is made; bc->ahead is its handler's
 *                 the client left; the time is over
 *   ... answers   the answer ended                         CONN_HEAD, or as after any output
 *                 the client left, or takes nothing        closed
 *
 * Where the phases of such a request run on a worker, or wait, the exchange stays in bc->ahead
 * until its handler is back on the loop: the request is not sent a second time.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "conn.h"
#include "http_head.h"

struct cache_entry;
struct conn_ahead;

/** Result of a step of an answer. */
typedef enum h1_ahead_step {
    H1_AHEAD_WAITS,
    H1_AHEAD_ANSWERED, /**< it is sent, or waits for the client; bc->close_after is set */
    H1_AHEAD_FULL      /**< the full way has to go on; nothing was sent */
} h1_ahead_step;

/** The carrier of a request that is no connection of HTTP/1 (streams/stream_waiting.c). */
typedef struct conn_ahead_carrier {
    /** Complete bc for the full way, and run its request (h1_stream_run()). bc may be gone
     * afterwards. */
    void (*full)(brg_conn *bc);
    /** So many bytes of an answer are taken, whether the client takes them or not. @return 0: that is too much */
    int (*reserve)(brg_conn *bc, size_t len);
    /** bc gets a conn_rec: its filters' output waits for the client as a request's does. @return 0:
     * it cannot have one */
    int (*attach)(brg_conn *bc);
} conn_ahead_carrier;

/** Embedded in an object of its owner's. */
struct conn_ahead {
    const struct conn_ahead_kind *kind;
    const conn_ahead_carrier *carrier; /**< NULL: a connection of HTTP/1 */
    const http_head *head;             /**< with carrier: lives until that goes the full way */
    struct cache_entry *entry;         /**< of its plan; held by the owner */
    uint32_t head_len;                 /**< bytes at the front of bc's input that are its head */
    uint8_t close, keep_alive, minor;  /**< as in its http_head */
    uint8_t expired;                   /**< the time is over; go_on() takes note of it */
    uint8_t again;                     /**< go_on() is to be called, whatever comes */
    uint8_t answers;                   /**< the request is not made any more */
    uint8_t full;                      /**< its request is made; nothing is told any more */
    apr_time_t due;                    /**< monotonic; go_on() may change it */
};

typedef struct conn_ahead_kind {
    /** Something may have come. */
    h1_ahead_step (*go_on)(brg_conn *bc);
    /** The request is made, and bc may be with a worker until its handler takes this over: input
     * from the backend waits. */
    void (*full)(struct conn_ahead *ahead);
    /** It is over, or nobody took it over: give all back. */
    void (*drop)(struct conn_ahead *ahead);
} conn_ahead_kind;

/**
 * Send the request of a stream on, whose driver is that of HTTP/1.
 * @param bc  its master has a conn_rec @param e  with a plan @param head  lives until @a carrier goes the full way, or bc ends
 * @return 1: bc waits, with bc->ahead, or is gone; 0: nothing was done
 */
int h1_ahead_begin_stream(brg_conn *bc, struct cache_entry *e, const http_head *head,
                          const conn_ahead_carrier *carrier);

/** 1: bc is in CONN_WAIT for the exchange, and has no request yet. */
static inline int h1_ahead_waits(const brg_conn *bc)
{
    return bc->ahead && !bc->ahead->full;
}

/** The connection of the client, with its conn_rec. */
static inline brg_conn *h1_ahead_client(brg_conn *bc)
{
    return bc->master ? bc->master : bc;
}

/** The head of bc->ahead; of HTTP/1: parsed once more, and valid until the calling thread parses another one. */
const http_head *h1_ahead_head(brg_conn *bc);

/** For the handler of a request: the exchange that was begun for it, which is the caller's now.
 * NULL: nothing was. */
struct conn_ahead *h1_ahead_take(brg_conn *bc);

/** 1 if the connection stays behind the answer. @param asked  [out] the client named keep-alive in Connection */
int h1_ahead_keeps(const brg_conn *bc, const server_rec *s, int *asked);

#endif
