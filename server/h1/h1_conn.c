/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of HTTP/1 connections on an event loop.
 *
 * A request that the response cache can answer never gets a conn_rec or request_rec: its answer is
 * put behind those to earlier requests in the loop's scratch area, and all of them leave in one
 * write when the input is used up. Any other request gets Apache's objects: conn_rec, request_rec,
 * phases, handler and filters; on the loop where nothing can block, else on a worker
 * (h1_conn_worker.c).
 *
 * Deadlines are in h1_conn_wait.c, request bodies that are awaited in h1_conn_body.c, connections that
 * modules drive in h1_module_driven.c. */
#include "placement.h"
#include "connection.h"
#include "h1_conn.h"
#include "h1_ahead.h"
#include "h1_conn_private.h"
#include "h1_response.h"
#include "loop.h"
#include "request_parts.h"
#include "request_wait.h"
#include "response_cache.h"
#include "scores.h"
#include "crash.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

void h1_conn_close(brg_conn *bc)
{
    pending_drop(bc);
    if (bc->held.r && bc->state != CONN_WORKER)
        h1_body_abandon(bc);
    if (bc->held.waiting)
        request_wait_abandon(bc);
    if (bc->ahead)
        h1_ahead_drop(bc);
    if (bc->c)
        connection_detach(bc);
    loop_close(bc->loop, bc);
}

void h1_conn_drop(brg_conn *bc)
{
    bc->failed = 1;
    h1_conn_close(bc);
}

void h1_conn_count_bytes(brg_conn *bc)
{
    uint64_t n = core_output_take_bytes(bc);

    if (n)
        loop_score_add(&bc->loop->score->bytes, n);
}

/* All output of a full-way request is out, or waits. 1: go on with the next head. */
int h1_conn_written(brg_conn *bc)
{
    apr_status_t rv = pending_flush(bc);

    if (rv == APR_SUCCESS && bc->c && core_output_pending(bc)) {
        rv = core_output_flush(bc);
        h1_conn_count_bytes(bc);
    }
    if (APR_STATUS_IS_EAGAIN(rv) && h1_conn_waits_for_disk(bc)) {
        h1_conn_write_cold(bc);
        return 0;
    }
    if (APR_STATUS_IS_EAGAIN(rv)) {
        h1_conn_wait_write(bc);
        return 0;
    }
    if (rv != APR_SUCCESS || bc->failed) {
        bc->failed = 1;
        h1_conn_close(bc);
        return 0;
    }
    if (bc->above) { /* it was asked for another protocol */
        conn_enter(bc, CONN_HEAD);
        h1_conn_to_others(bc);
        return 0;
    }
    if (bc->close_after != CONN_KEEP) {
        h1_conn_linger(bc);
        return 0;
    }
    conn_enter(bc, CONN_HEAD);
    return 1;
}

int h1_conn_end(brg_conn *bc)
{
    if (bc->ahead) /* it is answered, or its handler did not want it */
        h1_ahead_drop(bc);
    transaction_end(bc, h1_conn_server(bc), TRANSACTION_FULL);
    h1_conn_count_bytes(bc);
    if (bc->close_after == CONN_KEEP && !bc->failed && !bc->pending && core_output_gathers(bc)) {
        conn_enter(bc, CONN_HEAD);
        return 1; /* h1_conn_heads() flushes, at the latest when the input is used up */
    }
    return h1_conn_written(bc);
}

/* After request_finish(), on the loop. 1: go on with the next head. */
int h1_conn_after_request(brg_conn *bc)
{
    if (bc->c->aborted)
        bc->failed = 1;
    if (bc->c->keepalive != AP_CONN_KEEPALIVE || bc->master)
        bc->close_after = CONN_DRAIN;
    return h1_conn_end(bc);
}

/* The result of the phases, or H1_TO_WORKER: a worker does the rest, by bc->held.status. */
static int h1_conn_phases(brg_conn *bc, request_rec *r)
{
    if (r->status != HTTP_OK)
        return r->status;
    bc->held.status = H1_PHASES_PENDING;
    if (!phases_may_run_inline() || phases_may_wait(r))
        return H1_TO_WORKER;
    bc->held.status = request_phases(r);
    if (bc->held.status == REQUEST_AUTH_PENDING)
        return H1_TO_WORKER;
    if (bc->held.status == OK && h1_body_is_unwanted(r))
        return H1_DISCARD;
    return bc->held.status != OK || request_may_run_inline(r) ? bc->held.status : H1_TO_WORKER;
}

/* Apache's way. */
int h1_conn_full(brg_conn *bc, const http_head *head)
{
    request_rec *r;
    uint32_t wait_for;
    int status;

    if (!bc->c && connection_attach(bc) != APR_SUCCESS) {
        bc->failed = 1;
        h1_conn_close(bc);
        return 0;
    }
    transaction_enter(bc, TRANSACTION_ROUTE);
    bc->ways = 0;
    bc->c->keepalives = (int)bc->requests;
    bc->c->keepalive = AP_CONN_UNKNOWN;
    if (head->line)
        loop_request_begins(bc->loop, head->line, head->line_len);
    else
        loop_request_begins(bc->loop, head->uri ? head->uri : "", head->uri_len);
    r = request_create(bc->c, head);
    conn_in_consume(bc, head->head_len);
    conn_enter(bc, CONN_REQUEST);
    bc->close_after = CONN_KEEP;
    crash_serving(r);
    scoreboard_show(bc->loop->line, SERVER_BUSY_WRITE);
    status = h1_conn_phases(bc, r);
    wait_for = status == H1_TO_WORKER ? h1_body_to_wait_for(bc, r) : 0;
    if (status == H1_DISCARD || wait_for) {
        crash_serving(NULL);
        loop_request_pauses(bc->loop);
        return h1_body_begin(bc, r, wait_for);
    }
    if (status == OK && loop_later(bc->loop, bc)) {
        crash_serving(NULL);
        loop_request_pauses(bc->loop);
        bc->held.r = r;
        return 0;
    }
    return h1_conn_handle(bc, r, status);
}

int h1_conn_handle_waiting(brg_conn *bc, int status)
{
    request_rec *r = bc->held.r;

    bc->held.r = NULL;
    loop_request_begins(bc->loop, r->the_request, strlen(r->the_request));
    scoreboard_show(bc->loop->line, SERVER_BUSY_WRITE);
    return h1_conn_handle(bc, r, status);
}

void h1_stream_run(brg_conn *bc, const http_head *head)
{
    BRG_ASSERT(bc->master && bc->c && bc->driver == &h1_driver && bc->state == CONN_HEAD);
    if (bc->transaction == TRANSACTION_END)
        transaction_enter(bc, TRANSACTION_HEAD);
    (void)h1_conn_full(bc, head);
}

/* A page that came to the response cache, or may do so, is made here some times more. @param page  0: unknown */
static void conn_took_long(brg_loop *loop, uint64_t page, request_end end)
{
    const cache_verdict verdict =
        end == REQUEST_LEFT ? CACHE_KEEPS_NOT : cache_verdict_of(loop->cache);

    if (!page)
        return;
    if (verdict == CACHE_KEEPS)
        loop_page_is_quick(loop, page);
    else
        loop_page_took_long(loop, page, verdict == CACHE_MAY_KEEP);
}

/* The handler, or an answer of the server's own. A request that waits goes to a worker, as does a
 * page that took long here the last time, if there is room: the connections of the loop would wait
 * for it. */
int h1_conn_handle(brg_conn *bc, request_rec *r, int status)
{
    brg_loop *loop = bc->loop;
    const uint64_t page = status == OK && !loop->prefork ? loop_page_early(loop, r) : 0;
    request_end end = REQUEST_LEFT;

    BRG_ASSERT(bc->state == CONN_REQUEST && !bc->held.r);
    transaction_enter(bc, TRANSACTION_SOURCE);
    crash_serving(r);
    loop_request_runs(loop, r);
    if (page && loop_takes_long(loop, page) && h1_conn_long_to_worker(bc, r, page)) {
        crash_serving(NULL);
        loop_request_left(loop);
        scoreboard_show(loop->line, SERVER_READY);
        return 0;
    }
    if (status != H1_TO_WORKER) {
        end = request_finish_on_loop(r, &status);
        if (end == REQUEST_LEFT)
            bc->held.status = status;
    }
    crash_serving(NULL);
    return h1_conn_handled(bc, r, end, page);
}

int h1_conn_handled(brg_conn *bc, request_rec *r, request_end end, uint64_t page)
{
    brg_loop *loop = bc->loop;
    apr_interval_time_t took = 0;

    if (end == REQUEST_WAITS)
        loop_request_pauses(loop);
    else if (end == REQUEST_LEFT && !page)
        loop_request_left(loop);
    else
        took = loop_request_ended(loop);
    scoreboard_show(loop->line, SERVER_READY);
    if (end == REQUEST_WAITS)
        return h1_held_begin(bc);
    if (page && took >= LOOP_LONG_US)
        conn_took_long(loop, loop_page_late(loop, end == REQUEST_LEFT ? r : NULL, page), end);
    else if (page && loop->long_pages)
        loop_page_is_quick(loop, page);
    return end == REQUEST_LEFT ? h1_conn_to_worker(bc, r) : h1_conn_after_request(bc);
}

/* Gathered answers first, so that a full-way answer cannot overtake them. With the last one the connection's end leaves.
 * 1: go on. */
static int h1_conn_flush_gathered(brg_conn *bc, gather *g)
{
    gather_flush(g, bc, bc->close_after != CONN_KEEP && !bc->master);
    return h1_conn_written(bc);
}

/* One head. 1: go on with the next. */
static int h1_conn_head(brg_conn *bc, http_head *head, gather *g)
{
    cache_entry *planned;

    transaction_enter(bc, TRANSACTION_HEAD);
    if (head->status == 0 && !bc->pending && (!bc->c || !core_output_pending(bc))) {
        if (cache_answer(bc->loop->cache, bc, head, &h1_codec, &planned)) {
            conn_in_consume(bc, head->head_len);
            if (bc->close_after != CONN_KEEP || bc->pending)
                return h1_conn_flush_gathered(bc, g);
            return 1;
        }
        if (planned && h1_ahead_begin(bc, planned, head, g))
            return 0;
    }
    if (h1_module_driven_wants(bc, head)) {
        transaction_enter(bc, TRANSACTION_END);
        bc->gated = 0;
        if (h1_conn_flush_gathered(bc, g))
            h1_module_driven_take(bc);
        return 0;
    }
    /* The answer may gather with that to the last request, but not if it may be long in coming. */
    if (!g->iov_n && !bc->pending && !head->has_body && phases_may_run_inline() &&
        core_output_gathers(bc))
        return h1_conn_full(bc, head);
    return h1_conn_flush_gathered(bc, g) && h1_conn_full(bc, head);
}

/* The peer closed, or fell silent in the middle of a head. */
static void h1_conn_head_ended(brg_conn *bc)
{
    bc->close_after = CONN_SHUT;
    h1_conn_linger(bc);
}

int h1_conn_others_claim(brg_conn *bc)
{
    int open = 0;

    if (bc->requests || bc->master || !conn_in_size(bc))
        return 0;
    for (unsigned i = CONN_HTTP1 + 1; i < CONN_PROTOCOLS; i++) {
        const conn_protocol *other = conn_protocol_of(i);
        const int claims = other && other->claims
                               ? other->claims(bc, bc->input.at + bc->input.off, conn_in_size(bc))
                               : 0;

        if (claims > 0) {
            bc->becomes = other->number;
            return 1;
        }
        open |= claims;
    }
    return open;
}

void h1_conn_to_others(brg_conn *bc)
{
    const conn_protocol *other = conn_protocol_of(bc->becomes);

    BRG_ASSERT(other && bc->becomes != CONN_HTTP1);
    bc->driver = other->driver;
    bc->driver->run(bc);
}

/* Others are to be served before the next request of bc, which is here already. */
static void h1_conn_yield(brg_conn *bc, gather *g)
{
    if (!h1_conn_flush_gathered(bc, g))
        return;
    loop_again(bc->loop, bc);
    wheel_cancel(&bc->loop->wheel, &bc->timer); /* it waits for us, not for its peer */
}

/* @param answered  requests of bc in this turn already */
static void h1_conn_heads(brg_conn *bc, unsigned answered)
{
    gather *g = bc->loop->out;
    http_head *head = h1_conn_scratch_head();
    h1_result result = H1_DONE;

    if (!bc->requests && h1_conn_others_claim(bc) > 0 && !h1_module_driven_is(bc)) {
        h1_conn_to_others(bc);
        return;
    }
    while (conn_in_size(bc)) {
        if (answered && loop_turn_is_over(bc->loop, answered)) {
            h1_conn_yield(bc, g);
            return;
        }
        size_t scanned = bc->input.scanned;

        result = h1_parse(head, bc->input.at + bc->input.off, conn_in_size(bc), &scanned,
                          h1_limits_for(bc));
        bc->input.scanned = (uint32_t)scanned;
        if (result == H1_MORE && bc->input.len == bc->input.cap && bc->input.cap >= LOOP_IN_MOST) {
            head->status = HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
            head->why = "request head larger than the server keeps";
            head->head_len = (uint32_t)conn_in_size(bc);
            result = H1_BAD;
        }
        if (result == H1_MORE)
            break;
        if (!h1_conn_head(bc, head, g))
            return;
        answered++;
    }
    if (!h1_conn_flush_gathered(bc, g))
        return;
    if (bc->read_eof && !bc->rd_ready)
        h1_conn_head_ended(bc);
    else
        h1_conn_wait_head(bc);
}

static void h1_conn_run(brg_conn *bc)
{
    int module_driven;

    BRG_ASSERT(bc->fd >= 0 && loop_self() == bc->loop);
    if (bc->state == CONN_REQUEST) {
        if (h1_conn_handle_waiting(bc, OK))
            h1_conn_heads(bc, 1);
        return;
    }
    if (bc->failed && bc->state != CONN_WORKER && bc->state != CONN_WAIT) {
        h1_conn_close(bc);
        return;
    }
    module_driven = h1_module_driven_is(bc);
    if (h1_conn_is_back_from_disk(bc) && bc->failed) {
        h1_conn_close(bc);
        return;
    }
    switch (bc->state) {
    case CONN_WORKER:
        if (module_driven) {
            h1_module_driven_returned(bc);
            return;
        }
        if (!h1_conn_returned(bc))
            return;
        break;
    case CONN_WRITE:
        if (module_driven) {
            h1_module_driven_written(bc);
            return;
        }
        if (!h1_conn_written(bc))
            return;
        bc->input.began =
            bc->loop->monotonic; /* the time in which nothing was read is not the peer's */
        bc->idle_until = bc->loop->monotonic + h1_conn_server(bc)->keep_alive_timeout;
        break;
    case CONN_BODY:
        if (!h1_body_go_on(bc))
            return;
        break;
    case CONN_WAIT:
        if (!(h1_ahead_waits(bc) ? h1_ahead_go_on(bc) : h1_held_go_on(bc)))
            return;
        break;
    default:
        if (module_driven) {
            if (bc->c)
                h1_module_driven_readable(bc);
            else
                h1_module_driven_start(bc);
            return;
        }
        break;
    }
    h1_conn_heads(bc, 0);
}

/* A head that did not arrive in time: answered with 408 if at least its first line is there. */
static void h1_conn_head_timeout(brg_conn *bc)
{
    http_head *head = h1_conn_scratch_head();

    connection_log_late(bc, "header");
    if (h1_head_of_part(head, bc->input.at + bc->input.off, conn_in_size(bc), h1_limits_for(bc))) {
        head->status = HTTP_REQUEST_TIME_OUT;
        head->why = "the request head did not arrive in time";
        head->head_len = (uint32_t)conn_in_size(bc);
        transaction_enter(bc, TRANSACTION_HEAD);
        h1_conn_full(bc, head);
        return;
    }
    h1_conn_head_ended(bc);
}

static void h1_conn_expired(brg_conn *bc)
{
    switch (bc->state) {
    case CONN_HEAD:
    case CONN_IDLE:
        if (bc->c && h1_module_driven_is(bc)) {
            h1_module_driven_expired(bc);
            return;
        }
        if (conn_in_size(bc)) {
            h1_conn_head_timeout(bc);
            return;
        }
        bc->close_after = bc->requests ? CONN_DRAIN : CONN_SHUT;
        h1_conn_linger(bc);
        return;
    case CONN_WORKER:
        return;
    case CONN_BODY:
        h1_body_expired(bc);
        return;
    case CONN_WAIT:
        if (h1_ahead_waits(bc) ? h1_ahead_expired(bc) : h1_held_expired(bc))
            h1_conn_heads(bc, 0);
        return;
    default:
        bc->failed = 1; /* the peer took nothing for Timeout, or lingers too long */
        h1_conn_close(bc);
    }
}

const struct conn_driver h1_driver = {.name = "http/1",
                                      .run = h1_conn_run,
                                      .expired = h1_conn_expired,
                                      .drop = h1_conn_drop,
                                      .refused = h1_conn_refused,
                                      .work = h1_conn_work};
