/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a connection waits for, and deadlines: the rest of a head, the next request, a
 * socket that takes output. */
#include "connection.h"
#include "h1_conn_private.h"
#include "loop.h"

void h1_conn_linger(brg_conn *bc)
{
    if (bc->failed || bc->close_after == CONN_SHUT || bc->read_eof || bc->master) {
        h1_conn_close(bc);
        return;
    }
    if (bc->c)
        connection_detach(bc);
    loop_linger(bc->loop, bc);
}

/* Wait for the socket with a deadline; a connection that cannot be polled is lost. */
static void h1_conn_wait_for(brg_conn *bc, apr_time_t due, int idle)
{
    if (loop_wait(bc, due, idle)) {
        bc->failed = 1;
        h1_conn_close(bc);
    }
}

void h1_conn_wait(brg_conn *bc, apr_time_t due)
{
    h1_conn_wait_for(bc, due, 0);
}

apr_interval_time_t h1_conn_patience(const brg_conn *bc)
{
    return bc->master && bc->c ? connection_timeout(bc->c) : h1_conn_server(bc)->timeout;
}

/* RequestReadTimeout for all of it, Timeout for the next piece of it. */
apr_time_t h1_conn_read_due(const brg_conn *bc, const brg_read_timeout *t, uint64_t came)
{
    apr_time_t piece = bc->loop->monotonic + h1_conn_patience(bc);
    apr_interval_time_t limit = t->first_us;

    if (!limit)
        return piece;
    if (t->min_rate)
        limit += apr_time_from_sec((apr_time_t)came) / t->min_rate;
    if (t->max_us && limit > t->max_us)
        limit = t->max_us;
    return bc->input.began + limit < piece ? bc->input.began + limit : piece;
}

static apr_time_t h1_conn_head_due(const brg_conn *bc)
{
    return h1_conn_read_due(bc, &h1_read_timeouts(h1_conn_server(bc))->header, conn_in_size(bc));
}

/* How long the connection may stay silent between requests. A process that ends waits no longer
 * than for a request that is on its way already. */
static apr_time_t h1_conn_idle_due(const brg_conn *bc)
{
    apr_time_t soon = bc->loop->monotonic + LOOP_DRAIN_US;

    if (soon < bc->idle_until &&
        atomic_load_explicit(&loops_phase, memory_order_relaxed) != LOOPS_RUN)
        return soon;
    return bc->idle_until;
}

void h1_conn_wait_head(brg_conn *bc)
{
    if (bc->rd_ready) {
        loop_again(bc->loop, bc);
        return;
    }
    if (conn_in_size(bc)) {
        h1_conn_wait(bc, h1_conn_head_due(bc));
        return;
    }
    connection_input_idle(bc);
    if (bc->requests)
        conn_enter(bc, CONN_IDLE);
    h1_conn_wait_for(bc, bc->requests ? h1_conn_idle_due(bc) : h1_conn_head_due(bc), 1);
}

void h1_conn_wait_write(brg_conn *bc)
{
    conn_enter(bc, CONN_WRITE);
    h1_conn_wait(bc, bc->loop->monotonic + h1_conn_patience(bc));
}
