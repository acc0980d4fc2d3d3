/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that filters or hooks of modules take part in (mod_ssl, mod_http2, protocols of modules): a
 * worker runs the hooks, and the loop waits in between, so that a silent client holds no thread.
 *
 *   accepted -> attached -> WORKER: process_connection hooks; then c->cs->state names the next event
 *     keep-alive, more input   output is flushed -> IDLE on the loop -> readable -> WORKER ...
 *     anything else            WORKER: pre_close_connection, the last output -> lingering close
 *     silent for too long      as anything else
 *
 * Where no module's hook takes the connection, and its first bytes are those of another protocol that the server speaks
 * (conn_protocol), the loop hands it to the driver of that one, and the hooks have no further part in it.
 *
 * A module that read ahead says so by c->data_in_input_filters; then the hooks run again at once. */
#include "placement.h"
#include "connection.h"
#include "h1_conn_private.h"
#include "loop.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "mpm_common.h"
#include "response_cache.h"
#include <string.h>

APLOG_USE_MODULE(core);

/* ---- on a worker ---- */

int h1_module_driven_is_others(brg_conn *bc)
{
    int claims;

    if (bc->requests)
        return 0;
    while ((claims = h1_conn_others_claim(bc)) < 0)
        if (conn_read(bc, APR_BLOCK_READ, h1_conn_server(bc)->timeout) != APR_SUCCESS)
            return 0;
    if (claims)
        bc->held.status = H1_OTHERS;
    return claims;
}

/* The hooks returned: is the connection to be kept, and for which event? */
static int driven_goes_on(const conn_rec *c)
{
    if (c->aborted)
        return 0;
    switch (c->cs->state) {
    case CONN_STATE_ASYNC_WAITIO:
        return 1;
    case CONN_STATE_WRITE_COMPLETION:
    case CONN_STATE_KEEPALIVE:
        return c->keepalive == AP_CONN_KEEPALIVE;
    default:
        return 0; /* a module that knows nothing of these states, and is done */
    }
}

static void driven_end(conn_rec *c)
{
    c->cs->state = CONN_STATE_LINGER;
    if (!c->aborted && ap_prep_lingering_close(c) == 0)
        ap_flush_conn(c);
}

void h1_module_driven_work(brg_conn *bc)
{
    conn_rec *c = bc->c;

    if (bc->resumed)
        ap_run_resume_connection(c, NULL);
    bc->resumed = 0;
    bc->held.status = OK;
    do {
        if (bc->close_after != CONN_KEEP)
            break;
        c->cs->state = CONN_STATE_PROCESSING;
        c->cs->sense = CONN_SENSE_DEFAULT;
        ap_process_connection(c, ap_get_conn_socket(c));
        if (bc->held.status == H1_OTHERS)
            return;
        if (!driven_goes_on(c))
            bc->close_after = CONN_DRAIN;
    } while (bc->close_after == CONN_KEEP && c->data_in_input_filters &&
             c->cs->state != CONN_STATE_ASYNC_WAITIO);
    if (bc->close_after != CONN_KEEP) {
        driven_end(c);
        return;
    }
    ap_run_suspend_connection(c, NULL);
    bc->resumed = 1;
}

/* ---- on the loop ---- */

static void driven_submit(brg_conn *bc)
{
    if (h1_conn_hand_over(bc, NULL))
        h1_conn_close(bc);
}

void h1_module_driven_start(brg_conn *bc)
{
    if (connection_attach(bc) != APR_SUCCESS) {
        h1_conn_close(bc);
        return;
    }
    bc->close_after = CONN_KEEP;
    driven_submit(bc);
}

/* Which connections are: all, or those on which a module put a filter, before anything is read. */
int h1_module_driven_is(brg_conn *bc)
{
    if (connections_are_plain() || bc->master)
        return 0;
    if (!connections_tell_by_filters())
        bc->module_driven = 1;
    else if (!bc->c)
        bc->module_driven = connection_attach(bc) != APR_SUCCESS || !connection_is_plain(bc->c);
    return bc->module_driven;
}

/* The preface of HTTP/2 looks like a request to an HTTP/1 parser. */
int h1_module_driven_wants(const brg_conn *bc, const http_head *head)
{
    return connections_tell_by_filters() &&
           (head->upgrade ||
            (bc->requests == 0 && head->method_len == 3 && !memcmp(head->method, "PRI", 3)));
}

void h1_module_driven_take(brg_conn *bc)
{
    bc->module_driven = 1;
    bc->c->keepalives = (int)bc->requests;
    bc->c->keepalive = AP_CONN_UNKNOWN;
    bc->close_after = CONN_KEEP;
    bc->input.scanned = 0;
    driven_submit(bc);
}

/* Its output is written: wait for input, unless the module wants to write more. */
static void driven_wait(brg_conn *bc)
{
    const server_rec *s = bc->c->base_server;
    const conn_state_t *cs = bc->c->cs;

    if (conn_in_size(bc) ||
        (cs->state == CONN_STATE_ASYNC_WAITIO && cs->sense == CONN_SENSE_WANT_WRITE)) {
        driven_submit(bc);
        return;
    }
    conn_enter(bc, CONN_IDLE);
    bc->idle_until = bc->loop->monotonic +
                     (cs->state == CONN_STATE_ASYNC_WAITIO ? s->timeout : s->keep_alive_timeout);
    if (bc->rd_ready)
        loop_again(bc->loop, bc);
    h1_conn_wait(bc, bc->idle_until);
}

void h1_module_driven_readable(brg_conn *bc)
{
    if (conn_in_size(bc) || bc->read_eof) {
        driven_submit(bc);
        return;
    }
    conn_enter(bc, CONN_IDLE); /* there was nothing to read after all */
    h1_conn_wait(bc, bc->idle_until);
}

void h1_module_driven_returned(brg_conn *bc)
{
    if (bc->queue.refused) { /* its client left while it waited for a worker */
        bc->queue.refused = CONN_NOT_REFUSED;
        bc->failed = 1;
        h1_conn_close(bc);
        return;
    }
    connection_on_thread(bc);
    if (bc->held.status == H1_OTHERS && !bc->c->aborted) {
        bc->held.status = OK;
        bc->module_driven = 0;
        conn_enter(bc, CONN_HEAD);
        h1_conn_to_others(bc);
        return;
    }
    bc->requests++;
    h1_conn_count_bytes(bc);
    if (bc->c->aborted)
        bc->failed = 1;
    h1_module_driven_written(bc);
}

void h1_module_driven_written(brg_conn *bc)
{
    int goes_on = h1_conn_written(bc);
    unsigned ended;

    /* The object of a closed connection lives until the end of the turn: its last requests are counted too. */
    ended = atomic_exchange_explicit(&bc->ended, 0, memory_order_relaxed);
    transaction_count(bc->loop, ended, TRANSACTION_FULL);
    if (goes_on)
        driven_wait(bc);
}

void h1_module_driven_expired(brg_conn *bc)
{
    bc->close_after = CONN_DRAIN;
    driven_submit(bc);
}
