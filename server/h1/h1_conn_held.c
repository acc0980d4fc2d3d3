/* SPDX-License-Identifier: Apache-2.0 */
/* Connections in CONN_WAIT: the handler of their request waits for something other than the client
 * (request_wait.h).
 *
 * Meanwhile the loop writes the handler's output so far, reads the body where the handler wants it,
 * and looks whether the client is there. A client that closed its side has left, unless it said
 * that this request is its last: then it may have ended its sending alone. */
#include "connection.h"
#include "crash.h"
#include "h1_conn_private.h"
#include "loop.h"
#include "request_wait.h"
#include "scores.h"
#include "brigade/assert.h"

static int held_client_left(const brg_conn *bc)
{
    if (bc->transport == &conn_nobody) /* it left long ago: now nobody wants the response */
        return bc->c->aborted;
    return bc->failed || bc->c->aborted ||
           (bc->read_eof && !conn_in_size(bc) && !request_wait_reads(bc) &&
            !request_wait_is_last(bc) && !bc->master);
}

/* The request may have others to serve. @return 0: it ends, bc is gone */
static int held_outlives(brg_conn *bc)
{
    if (bc->transport == &conn_nobody || !conn_outlive(bc)) {
        h1_conn_drop(bc);
        return 0;
    }
    bc->c->aborted = 0;
    bc->c->keepalive = AP_CONN_CLOSE;
    return 1;
}

int h1_held_write(brg_conn *bc)
{
    apr_status_t rv;

    if (!core_output_pending(bc))
        return 1;
    rv = core_output_flush(bc);
    h1_conn_count_bytes(bc);
    if (APR_STATUS_IS_EAGAIN(rv) && h1_conn_waits_for_disk(bc)) {
        h1_conn_write_cold(bc);
        return 0;
    }
    if (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv))
        return 1;
    return held_outlives(bc);
}

static apr_time_t held_due(const brg_conn *bc)
{
    apr_time_t due = request_wait_due(bc), write_due = bc->loop->monotonic + h1_conn_patience(bc);

    return core_output_pending(bc) && write_due < due ? write_due : due;
}

/* Nothing that the handler waits for may have come. @return 0 */
static int held_wait(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_WAIT && request_waits(bc->c));
    if (request_wait_arm(bc))
        request_wait_failed(bc);
    h1_conn_wait(bc, held_due(bc));
    return 0;
}

int h1_held_begin(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_REQUEST && bc->held.waiting && !bc->held.r);
    conn_enter(bc, CONN_WAIT);
    if (request_wait_reads(bc))
        conn_fill(bc);
    request_wait_look(bc);
    /* Others are to be served before it goes on. The end of input may be here already, and no event tells of it again. */
    if (request_wait_is_over(bc) || bc->rd_hup || bc->read_eof)
        loop_ready(bc->loop, bc);
    return held_wait(bc);
}

static int held_end(brg_conn *bc)
{
    request_rec *first = NULL, *r = request_wait_of(bc);
    int status = OK;
    request_end end;

    BRG_ASSERT(bc->state == CONN_WAIT && request_wait_is_over(bc));
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    conn_enter(bc, CONN_REQUEST);
    loop_request_begins(bc->loop, r->the_request, strlen(r->the_request));
    scoreboard_show(bc->loop->line, SERVER_BUSY_WRITE);
    crash_serving(r);
    end = request_wait_end(bc, &first, &status);
    crash_serving(NULL);
    if (end == REQUEST_LEFT)
        bc->held.status = status;
    return h1_conn_handled(bc, first, end, 0);
}

int h1_held_go_on(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_WAIT && loop_self() == bc->loop);
    /* What stands before the end was sent before this turn's look at the file watches. */
    if (request_wait_reads(bc) || bc->rd_hup)
        conn_fill(bc);
    if (held_client_left(bc) && !held_outlives(bc))
        return 0;
    if (!h1_held_write(bc))
        return 0;
    request_wait_look(bc);
    return request_wait_is_over(bc) ? held_end(bc) : held_wait(bc);
}

int h1_held_expired(brg_conn *bc)
{
    if (bc->loop->monotonic < request_wait_due(bc)) /* the client took no output for Timeout */
        return held_outlives(bc) && h1_held_write(bc) ? held_wait(bc) : 0;
    request_wait_expired(bc);
    return held_end(bc);
}
