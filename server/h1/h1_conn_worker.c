/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that may wait: a connection's way to a worker, the work there, and the way back.
 *
 *   loop                                worker
 *   h1_conn_to_worker()
 *     h1_conn_hand_over()  -- queue --> h1_conn_work(): the rest of the phases, the handler, filters
 *   h1_conn_returned()     <--------    loop_return()
 *   h1_conn_refused()      <- the queue: it waited too long, or its client left
 *
 * Output that waits for a disk goes the same way without a request: h1_conn_write_cold(), and back by
 * h1_conn_is_back_from_disk().
 *
 * Nobody else touches the connection between h1_conn_hand_over() and h1_conn_returned(). */
#include "clock.h"
#include "connection.h"
#include "crash.h"
#include "gather.h"
#include "h1_conn_private.h"
#include "loop.h"
#include "request_parts.h"
#include "response_cache.h"
#include "scoreboard.h"
#include "scores.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_log.h"
#include <poll.h>

APLOG_USE_MODULE(core);

/* Retry-After of a request that no worker could run */
#define H1_RETRY_SECONDS 2
#define H1_REFUSED_LOG_US apr_time_from_sec(10) /* one such line per loop in this time */

/* From here on a worker owns bc: the loop has it on no list and waits for nothing. 0 on success. */
int h1_conn_hand_over(brg_conn *bc, request_rec *r)
{
    BRG_ASSERT(loop_self() == bc->loop && bc->c && !bc->held.r && bc->state != CONN_WORKER);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    loop_unlist(bc->loop, bc);
    /* A thread of a module may have the output of a suspended request already: that stays counted until the loop has it again. */
    if (!r || bc->held.status != SUSPENDED)
        core_output_leaves_loop(bc);
    bc->held.r = r;
    bc->queue.must_run = r ? bc->held.status == SUSPENDED : bc->held.status == H1_WRITE_PENDING;
    bc->work.since = bc->loop->monotonic;
    conn_enter(bc, CONN_WORKER);
    return worker_pool_submit(bc->loop->workers, bc);
}

/* The next event tells of room that comes from now on (loop_poll()). */
static int socket_is_full(const brg_conn *bc)
{
    struct pollfd room = {.fd = bc->fd, .events = POLLOUT};

    return !bc->master && poll(&room, 1, 0) == 0;
}

int h1_conn_waits_for_disk(const brg_conn *bc)
{
    return bc->cold && !bc->loop->prefork && !socket_is_full(bc);
}

void h1_conn_write_cold(brg_conn *bc)
{
    BRG_ASSERT(bc->cold && (bc->pending || core_output_pending(bc)));
    if (!bc->c && connection_attach(bc) != APR_SUCCESS) {
        h1_conn_drop(bc);
        return;
    }
    figures_add(&bc->loop->figures->own.value[BRG_FIGURE_COLD], 1);
    bc->held.status = H1_WRITE_PENDING;
    if (h1_conn_hand_over(bc, NULL))
        h1_conn_drop(bc);
}

int h1_conn_is_back_from_disk(brg_conn *bc)
{
    if (bc->state != CONN_WORKER || bc->held.status != H1_WRITE_PENDING)
        return 0;
    BRG_ASSERT(!bc->held.r && !bc->queue.refused);
    connection_on_thread(bc);
    bc->held.status = OK;
    conn_enter(bc, bc->held.waiting || bc->ahead ? CONN_WAIT : CONN_WRITE);
    return 1;
}

/* How many of its streams a connection has with workers since they take long. */
static void long_set(brg_conn *bc, int takes_long)
{
    if (bc->master)
        bc->master->queue.longs_n =
            (uint8_t)(bc->master->queue.longs_n + takes_long - bc->queue.takes_long);
    bc->queue.takes_long = (uint8_t)takes_long;
}

/* No worker runs bc's request: 503, unless the client has left. */
static int worker_refuse(brg_conn *bc, const char *why)
{
    static _Thread_local apr_time_t said;
    request_rec *r = bc->held.r;

    conn_enter(bc, CONN_REQUEST);
    bc->held.r = NULL;
    bc->queue.refused = CONN_NOT_REFUSED;
    long_set(bc, 0);
    cache_from_worker(bc);
    if (bc->held.status == SUSPENDED) { /* nobody but its module can end it */
        request_await_module(bc->c);
        return h1_conn_after_request(bc);
    }
    if (!bc->c->aborted && bc->loop->monotonic - said >= H1_REFUSED_LOG_US) {
        said = bc->loop->monotonic;
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "no worker thread for this request, and possibly others: %s. All of the "
                      "MaxRequestWorkers threads are at work; see WorkerQueueSize",
                      why);
    }
    request_end_with_error(r, HTTP_SERVICE_UNAVAILABLE, H1_RETRY_SECONDS);
    return h1_conn_after_request(bc);
}

int h1_conn_to_worker(brg_conn *bc, request_rec *r)
{
    if (bc->held.status == OK)
        cache_to_worker(bc, r);
    if (h1_conn_hand_over(bc, r) == 0)
        return 0;
    return worker_refuse(bc, "the queue is full");
}

int h1_conn_long_to_worker(brg_conn *bc, request_rec *r, uint64_t page)
{
    bc->held.status = OK;
    bc->work.page = page;
    long_set(bc, 1);
    cache_to_worker(bc, r);
    if (h1_conn_hand_over(bc, r) == 0)
        return 1;
    conn_enter(bc, CONN_REQUEST);
    long_set(bc, 0);
    bc->held.r = NULL;
    cache_from_worker(bc);
    return 0;
}

/* A worker pool gave bc back without having run it. */
void h1_conn_refused(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_WORKER && bc->queue.refused);
    if (!bc->held.r) { /* modules drive it: there is no request to answer */
        h1_conn_drop(bc);
        return;
    }
    if (bc->queue.refused == CONN_REFUSED_LEFT)
        bc->c->aborted = 1;
    connection_on_thread(bc);
    worker_refuse(bc, "it waited for WorkerQueueTimeout");
}

/* Answers to earlier requests shall not wait for this one's. */
static void worker_flush(brg_conn *bc)
{
    while (core_output_pending(bc) && APR_STATUS_IS_EAGAIN(core_output_flush(bc)))
        if (conn_wait(bc, 1, h1_conn_server(bc)->timeout) != APR_SUCCESS)
            bc->c->aborted = 1;
}

static void worker_run(brg_conn *bc, request_rec *r, int status)
{
    worker_flush(bc);
    crash_serving(r);
    ap_update_child_status(bc->c->sbh, SERVER_BUSY_WRITE, r);
    if (status == H1_PHASES_PENDING)
        status = request_phases(r);
    else if (status == REQUEST_AUTH_PENDING)
        status = request_phases_resume(r);
    if (status == SUSPENDED && bc->held.waiting) { /* in a phase: the loop goes on with it */
        crash_serving(NULL);
        return;
    }
    if (status == OK &&
        h1_body_is_unwanted(r)) { /* the loop throws it away, however slowly it comes */
        bc->held.r = r;
        bc->held.status = OK;
        crash_serving(NULL);
        return;
    }
    cache_worker_fill_begin(bc);
    if (status == REQUEST_FOLLOW_PENDING)
        request_follow(r);
    else
        request_finish(r, status);
    cache_worker_fill_end();
    crash_serving(NULL);
}

/* bc->work.page is a page that proved to be quick, if any. */
static void worker_run_long(brg_conn *bc, request_rec *r)
{
    const apr_time_t began = clock_of_thread();

    worker_run(bc, r, OK);
    if (clock_of_thread() - began >= LOOP_LONG_US / 2)
        bc->work.page = 0;
}

void h1_conn_work(brg_conn *bc)
{
    request_rec *r = bc->held.r;
    const int suspended = r && bc->held.status == SUSPENDED;

    BRG_ASSERT(bc->state == CONN_WORKER && bc->c);
    bc->held.r = NULL;
    if (suspended) /* a handler on the loop left it to a thread of its module, which has the connection */
        request_await_module(bc->c);
    connection_on_thread(bc);
    if (suspended)
        bc->held.status = OK;
    else if (bc->held.status == H1_WRITE_PENDING && bc->pending)
        pending_read_disk(bc);
    else if (bc->held.status == H1_WRITE_PENDING)
        core_output_flush(bc); /* errors are latched: the loop sees them */
    else if (bc->queue.takes_long)
        worker_run_long(bc, r);
    else if (r)
        worker_run(bc, r, bc->held.status);
    else
        h1_module_driven_work(bc);
    scoreboard_show(
        ap_get_scoreboard_worker_from_indexes(bc->loop->config->slot, brg_thread_index()),
        SERVER_READY);
}

int h1_conn_returned(brg_conn *bc)
{
    connection_on_thread(bc);
    if (bc->queue.takes_long && bc->work.page && !bc->queue.refused)
        loop_page_is_quick(bc->loop, bc->work.page);
    long_set(bc, 0);
    if (bc->queue.refused) {
        h1_conn_refused(bc);
        return 0;
    }
    conn_enter(bc, CONN_REQUEST);
    cache_from_worker(bc);
    if (bc->held.waiting)
        return h1_held_begin(bc);
    if (bc->held.r) {
        request_rec *r = bc->held.r;

        bc->held.r = NULL;
        return h1_body_begin(bc, r, 0);
    }
    return h1_conn_after_request(bc);
}
