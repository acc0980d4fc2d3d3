/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_AHEAD_H
#define BRIGADE_H1_H1_AHEAD_H

/**
 * @file h1_ahead.h
 * A request that is sent on to its backend ahead of its request_rec: a plan (cache/cache_plan.h) says what its phases would
 * decide. Its head stays in the connection's input until its answer is known. An answer that is simple and whole goes to the
 * client as it came; for all else the request is made of that head then, runs its phases, and its handler takes over what was
 * begun (h1_ahead_take()).
 *
 *   state of bc   what moves it on                         next
 *   ------------  ---------------------------------------  -----------------------------------------------
 *   CONN_WAIT     the backend's whole answer came          it is sent: CONN_HEAD, or what sending leads to
 *   with ahead    any other answer, or a failure;          the request is made; bc->ahead is its handler's
 *                 the client left; the time is over
 *
 * Threads: the loop's. Blocking: no.
 */
#include "conn.h"
#include "http_head.h"

struct cache_entry;

/** What became of an answer. */
typedef enum h1_ahead_step {
    H1_AHEAD_WAITS,
    H1_AHEAD_ANSWERED, /**< it is sent, or waits in bc->pending; bc->close_after is set */
    H1_AHEAD_FULL      /**< the full way has to go on; nothing was sent */
} h1_ahead_step;

/** Embedded in an object of its owner's. */
struct conn_ahead {
    const struct conn_ahead_kind *kind;
    struct cache_entry *entry;        /**< of its plan; held by the owner */
    uint32_t head_len;                /**< bytes at the front of bc's input that are its head */
    uint8_t close, keep_alive, minor; /**< as in its http_head */
    uint8_t expired;                  /**< the time is over */
    apr_time_t due;                   /**< monotonic */
};

typedef struct conn_ahead_kind {
    /** Something may have come. */
    h1_ahead_step (*go_on)(brg_conn *bc);
    /** It is over, or nobody took it over: give all back. bc->ahead is NULL already. */
    void (*drop)(struct conn_ahead *ahead);
} conn_ahead_kind;

/** The head of bc->ahead, parsed once more. Valid until the calling thread parses another one. */
const http_head *h1_ahead_head(brg_conn *bc);

/** For the handler of a request: what was begun for it, which is the caller's now. NULL: nothing was. */
struct conn_ahead *h1_ahead_take(brg_conn *bc);

/** 1 if the connection stays behind the answer. @param asked  [out] the client named keep-alive in Connection */
int h1_ahead_keeps(const brg_conn *bc, const server_rec *s, int *asked);

#endif
