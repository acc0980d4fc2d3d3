/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TRANSACTION_TRANSACTION_H
#define BRIGADE_TRANSACTION_TRANSACTION_H

/**
 * @file transaction.h
 * One request and its answer on a connection or a stream, below request_rec:
 * accessors for limits and expressions, whether a request_rec was made or not (logs:
 * brigade/transaction.h); its states; and its end, which is the same for all protocols and for all
 * ways of answering.
 *
 *   state   what is done in it                                       next
 *   ------  -------------------------------------------------------  -------------------
 *   END     nothing: no head has come, or the request is over        HEAD
 *   HEAD    the head is complete; memory is looked up                HEAD (output went first), GATE, ROUTE, SOURCE, SEND,
 *                                                                    END (it goes on as a stream, or with modules)
 *   GATE    limits are asked before a stored answer, or a plan       as HEAD, but GATE
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
#include "ap_expr.h"
#include "brigade/assert.h"
#include <string.h>

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
    loop->turn.ended_n += n;
    if (way == TRANSACTION_FULL)
        loop->turn.full_n += n;
}

/** The request is over for bc: it is counted, and the time of keep-alive and that of the next head begin.
 * @param s  whose KeepAliveTimeout counts */
static inline void transaction_end(brg_conn *bc, const server_rec *s, transaction_way way)
{
    transaction_enter(bc, TRANSACTION_END);
    transaction_count(bc->loop, 1, way);
    bc->gated = 0;
    bc->requests++;
    bc->input.began = bc->loop->monotonic;
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

/** A request, to be asked about. */
typedef struct transaction {
    brg_conn *bc;          /**< where it came in; over HTTP/2 the connection of the stream */
    const http_head *head; /**< NULL: r is set */
    request_rec *r;        /**< NULL: none was made */
    const void *stored;    /**< the entry of memory that would answer it, or NULL */
    /** Of that entry: the request's user, in @a out (BRG_CACHE_USER_ROOM bytes); NULL: the answer
     * is for all. */
    const char *(*user)(const struct transaction *t, char *out);
    apr_off_t len;  /**< bytes of the body that would be sent */
    int only_looks; /**< nothing is counted yet: another gate is asked after this one */
} transaction;

/** The client's address in bytes. @return as conn_client_address() */
size_t transaction_client(const transaction *t, const uint8_t **address);

/** Is the condition met? @return 1, 0; below 0: *err tells */
int transaction_holds(const transaction *t, const ap_expr_info_t *info, const char **err);
/** The value of a string expression; NULL: *err tells. It lasts as long as r; without it, until this thread asks again. */
const char *transaction_text(const transaction *t, const ap_expr_info_t *info, const char **err);

/** transaction_names() of a name in other letters. */
int transaction_is_named(const char *a, const char *b, size_t len);

/* Most clients write a name as the configuration has it. */
static inline int transaction_names(const char *a, const char *b, size_t len)
{
    uint64_t x[4];

    if (len < sizeof *x || len > 2 * sizeof *x)
        return transaction_is_named(a, b, len);
    memcpy(&x[0], a, sizeof *x);
    memcpy(&x[1], b, sizeof *x);
    memcpy(&x[2], a + len - sizeof *x, sizeof *x);
    memcpy(&x[3], b + len - sizeof *x, sizeof *x);
    return (x[0] == x[1] && x[2] == x[3]) || transaction_is_named(a, b, len);
}

/**
 * The value of a request field. Of several lines r has one value; without it that is left to the full way.
 * @param id     http_field_id_of() @a name
 * @param value  [out] NULL: no such field
 * @return its length; -1: there are several lines
 */
static inline apr_ssize_t transaction_field(const transaction *t, int id, const char *name,
                                            size_t name_len, const char **value)
{
    const http_head *h = t->head;
    const http_field *f = NULL;

    if (t->r)
        return (*value = apr_table_get(t->r->headers_in, name)) ? (apr_ssize_t)strlen(*value) : 0;
    *value = NULL;
    if (id != HTTP_F_OTHER)
        f = h->known[id] >= 0 ? &h->field[h->known[id]] : NULL;
    for (int i = 0; id == HTTP_F_OTHER && i < h->n_fields; i++)
        if (h->field[i].name_len == name_len &&
            transaction_names(h->field[i].name, name, name_len)) {
            if (f)
                return -1;
            f = &h->field[i];
        }
    if (!f)
        return 0;
    if (id != HTTP_F_OTHER && h->repeated)
        return -1;
    *value = f->value;
    return (apr_ssize_t)f->value_len;
}

#endif
