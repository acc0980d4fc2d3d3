/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TRANSACTION_TRANSACTION_H
#define BRIGADE_TRANSACTION_TRANSACTION_H

/**
 * @file transaction.h
 * One request and its answer on a connection or a stream, below request_rec: its states, and its end, which is the same for all
 * protocols and for all ways of answering.
 *
 *   state   what is done in it                                       next
 *   ------  -------------------------------------------------------  -------------------
 *   END     nothing: no head has come, or the request is over        HEAD
 *   HEAD    the head is complete; memory is looked up                HEAD (output went first), GATE, ROUTE, SOURCE, SEND,
 *                                                                    END (it goes on as a stream, or with modules)
 *   GATE    limits are asked before a stored answer                  as HEAD, but GATE
 *   ROUTE   a request_rec: virtual host, walks, phases               SOURCE
 *   SOURCE  the handler runs, or the backend of a plan is awaited    ROUTE, SOURCE (back from a worker), END
 *   SEND    a stored answer is written                               LOG
 *   LOG     a stored answer is told to figures and logs              END
 *
 * A connection may close in any of them. The request_rec of SOURCE is logged and destroyed by its EOR bucket, as in Apache,
 * when the last byte is written: that may be after END.
 *
 * Threads: the owner of the connection. Blocking: no.
 */
#include "loop.h"
#include "http_head.h"
#include "httpd.h"
#include "brigade/assert.h"

typedef enum transaction_state {
    TRANSACTION_END,
    TRANSACTION_HEAD,
    TRANSACTION_GATE,
    TRANSACTION_ROUTE,
    TRANSACTION_SOURCE,
    TRANSACTION_SEND,
    TRANSACTION_LOG,
    TRANSACTION_STATES
} transaction_state;

/** By state: a bit for each that may follow. */
extern const uint8_t transaction_next[TRANSACTION_STATES];

static inline void transaction_enter(brg_conn *bc, transaction_state to)
{
    BRG_ASSERT_DEBUG(bc->transaction < TRANSACTION_STATES);
    BRG_ASSERT_DEBUG(transaction_next[bc->transaction] & 1u << to);
    bc->transaction = (uint8_t)to;
}

/** How a request was answered, as figures have it. */
typedef enum transaction_way {
    TRANSACTION_STORED, /**< from memory, within the turn */
    TRANSACTION_FULL
} transaction_way;

/** @a n requests are over. */
static inline void transaction_count(brg_loop *loop, unsigned n, transaction_way way)
{
    loop->ended_n += n;
    if (way == TRANSACTION_FULL)
        loop->full_n += n;
}

/** The request is over for bc: it is counted, and the time of keep-alive and that of the next head begin.
 * @param s  whose KeepAliveTimeout counts */
static inline void transaction_end(brg_conn *bc, const server_rec *s, transaction_way way)
{
    transaction_enter(bc, TRANSACTION_END);
    transaction_count(bc->loop, 1, way);
    bc->requests++;
    bc->head_began = bc->loop->monotonic;
    bc->idle_until = bc->loop->monotonic + s->keep_alive_timeout;
}

/** 1 if @a s lets the connection stay behind an answer to a client that does not want it closed: as ap_set_keepalive() decides. */
static inline int transaction_keeps(const brg_conn *bc, const server_rec *s)
{
    if (!s->keep_alive || s->keep_alive_timeout <= 0 ||
        (s->keep_alive_max && (int)bc->requests >= s->keep_alive_max))
        return 0;
    return atomic_load_explicit(&loops_phase, memory_order_relaxed) == LOOPS_RUN;
}

#endif
