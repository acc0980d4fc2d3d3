/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are sent on before they have a request_rec (h1_ahead.h). */
#include "h1_ahead.h"
#include "cache_plan.h"
#include "connection.h"
#include "h1_conn_private.h"
#include "loop.h"
#include "transport.h"
#include "brigade/assert.h"

/* The first request of a connection takes the full way: hooks of connections see it, and its answer may name other protocols. So does
 * one whose client may have left already: h1_conn_held.c looks. */
static int ahead_may_begin(const brg_conn *bc, const gather *g)
{
    return bc->requests && bc->c && !bc->master && !bc->read_eof && !bc->rd_hup && !bc->ahead &&
           !bc->above && !g->iov_n && !bc->module_driven && !h1_limits_for(bc)->unsafe &&
           bc->close_after == CONN_KEEP;
}

/* @return 1 */
static int ahead_begun(brg_conn *bc)
{
    transaction_enter(bc, TRANSACTION_SOURCE);
    conn_enter(bc, CONN_WAIT);
    if (bc->ahead->again)
        loop_ready(bc->loop, bc);
    h1_conn_wait(bc, bc->ahead->due);
    return 1;
}

int h1_ahead_begin(brg_conn *bc, cache_entry *e, const http_head *head, const gather *g)
{
    if (!ahead_may_begin(bc, g) || !cache_plan_begin(e, bc, head))
        return 0;
    BRG_ASSERT(bc->ahead && bc->ahead->entry == e && head->head_len <= conn_in_size(bc));
    bc->ahead->head_len = head->head_len;
    bc->ahead->close = head->close;
    bc->ahead->keep_alive = head->keep_alive;
    bc->ahead->minor = head->minor;
    bc->input.scanned = 0;
    return ahead_begun(bc);
}

int h1_ahead_begin_stream(brg_conn *bc, cache_entry *e, const http_head *head,
                          const conn_ahead_carrier *carrier)
{
    BRG_ASSERT(bc->master && bc->master->c && bc->state == CONN_HEAD && !bc->c && !bc->ahead);
    transaction_enter(bc, TRANSACTION_HEAD);
    if (!cache_plan_begin(e, bc, head))
        return 0;
    BRG_ASSERT(bc->ahead && bc->ahead->entry == e);
    bc->ahead->carrier = carrier;
    bc->ahead->minor = 1;
    bc->ahead->head = head;
    return ahead_begun(bc);
}

static const http_head *ahead_parse(const brg_conn *bc, const char *text)
{
    http_head *head = h1_conn_scratch_head();
    size_t scanned = 0;
    const h1_result result = h1_parse(head, text, conn_in_size(bc), &scanned, h1_limits_for(bc));

    BRG_ASSERT(result == H1_DONE);
    h1_conn_scratch_keep(text);
    return head;
}

/* An answer is looked at by several, one behind the other. */
const http_head *h1_ahead_head(brg_conn *bc)
{
    const char *text = bc->input.at + bc->input.off;
    const http_head *head = bc->ahead->head;

    if (head)
        return head;
    if (!(head = h1_conn_scratch_kept(text)))
        head = ahead_parse(bc, text);
    BRG_ASSERT(head->head_len == bc->ahead->head_len);
    return head;
}

struct conn_ahead *h1_ahead_take(brg_conn *bc)
{
    struct conn_ahead *ahead = bc->ahead;

    bc->ahead = NULL;
    return ahead;
}

void h1_ahead_drop(brg_conn *bc)
{
    if (bc->ahead)
        bc->ahead->kind->drop(bc->ahead);
    bc->ahead = NULL;
}

int h1_ahead_keeps(const brg_conn *bc, const server_rec *s, int *asked)
{
    const struct conn_ahead *ahead = bc->ahead;

    *asked = ahead->keep_alive;
    return !ahead->close && (ahead->minor || ahead->keep_alive) && transaction_keeps(bc, s);
}

/* The request is made now. Its handler goes on with the request to the backend; a client that left
 * meanwhile is found where all are. */
static int ahead_full(brg_conn *bc)
{
    const int left = bc->read_eof || bc->failed;
    const conn_ahead_carrier *carrier = bc->ahead->carrier;
    const http_head *head = h1_ahead_head(bc);

    BRG_ASSERT(!bc->ahead->full);
    bc->ahead->full = 1;
    bc->ahead->kind->full(bc->ahead);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    conn_enter(bc, CONN_HEAD);
    if (carrier) {
        carrier->full(bc);
        return 0;
    }
    if (h1_conn_full(bc, head))
        return 1;
    if (left && bc->fd >= 0 && bc->state == CONN_WAIT)
        loop_ready(bc->loop, bc);
    return 0;
}

/* @return as h1_conn_written() */
static int ahead_answered(brg_conn *bc)
{
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    if (!bc->ahead->carrier) {
        conn_in_consume(bc, bc->ahead->head_len);
        return h1_conn_end(bc);
    }
    if (bc->c) { /* its client may have to take some yet */
        bc->close_after = CONN_DRAIN;
        return h1_conn_end(bc);
    }
    h1_ahead_drop(bc);
    transaction_end(bc, bc->base, TRANSACTION_FULL);
    h1_conn_close(bc); /* the stream ends with its request */
    return 0;
}

/* As the client of a request whose handler waits (h1_conn_held.c): it may have ended its sending alone. */
static int ahead_client_left(const brg_conn *bc)
{
    const struct conn_ahead *ahead = bc->ahead;

    return bc->failed || (bc->read_eof && !bc->master && !ahead->close && ahead->minor &&
                          conn_in_size(bc) == ahead->head_len);
}

/* Its answer is on its way. @return 0: bc is gone, or a worker has it */
static int ahead_answers(brg_conn *bc)
{
    if (!ahead_client_left(bc))
        return !bc->c || h1_held_write(bc);
    h1_conn_drop(bc);
    return 0;
}

static apr_time_t ahead_due(const brg_conn *bc)
{
    const apr_time_t write_due = bc->loop->monotonic + h1_conn_patience(bc);

    return bc->c && core_output_pending(bc) && write_due < bc->ahead->due ? write_due
                                                                          : bc->ahead->due;
}

static int ahead_step(brg_conn *bc)
{
    switch (bc->ahead->kind->go_on(bc)) {
    case H1_AHEAD_WAITS:
        h1_conn_wait(bc, ahead_due(bc));
        return 0;
    case H1_AHEAD_ANSWERED:
        return ahead_answered(bc);
    default:
        return ahead_full(bc);
    }
}

int h1_ahead_go_on(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_WAIT && bc->ahead && loop_self() == bc->loop);
    if (bc->ahead->answers)
        return ahead_answers(bc) ? ahead_step(bc) : 0;
    return bc->failed || bc->read_eof ? ahead_full(bc) : ahead_step(bc);
}

int h1_ahead_expired(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_WAIT && bc->ahead);
    if (bc->loop->monotonic < bc->ahead->due) { /* the client took no output for Timeout */
        h1_conn_drop(bc);
        return 0;
    }
    bc->ahead->expired = 1;
    return ahead_step(bc);
}
