/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait on their loop for something other than their client (brigade/wait.h).
 *
 * A brg_waiting is shared by the loop and by a thread that resumes it, so it is no part of the request's pool: where a note of
 * such a thread is on its way when the request ends, the note's call frees it.
 */
#include "request_wait.h"
#include "handler_private.h"
#include "connection.h"
#include "loop.h"
#include "request_context.h"
#include "request_parts.h"
#include "request_context.h"
#include "request_wait_private.h"
#include "brigade/assert.h"
#include "brigade/wait.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_poll.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

APLOG_USE_MODULE(core);

struct brg_waiting {
    struct loop_io io;
    struct loop_note note;
    brg_conn *bc;
    request_rec *r; /* the waiting request: from the network, or its redirect's target */
    brg_wait_for wanted;
    brg_wait_go_on_fn *go_on;
    brg_wait_gone_fn *gone;
    void *baton;
    apr_time_t due; /* 0: not armed yet */
    uint64_t input; /* bytes of the connection that had come when it began */
    int came;       /* set of BRG_WAIT_*; the loop's */
    int polled;
    int body_first; /* due is that of the body */
    int last;       /* the client said that no other request follows */
    int over;       /* nobody waits any more; freed by the note that is on its way */
};

static struct brg_waiting *waiting_of(const conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    return bc ? bc->held.waiting : NULL;
}

int request_waits(const conn_rec *c)
{
    return waiting_of(c) != NULL;
}

static uint64_t waiting_input(const brg_conn *bc)
{
    return bc->input.consumed + conn_in_size(bc);
}

/* ---- for modules ---- */

BRG_DECLARE(int) brg_wait_possible(const request_rec *r)
{
    const brg_conn *bc = connection_of(r->connection);

    return !r->main && bc && !bc->module_driven && !bc->held.waiting &&
           request_wait_place_of(r) != REQUEST_WAITS_NOWHERE;
}

/* The driver is to run. */
static void waiting_came(brg_conn *bc, int what)
{
    BRG_ASSERT(bc->held.waiting->bc == bc && !bc->held.waiting->over);
    bc->held.waiting->came |= what;
    if (bc->state == CONN_WAIT) /* else a worker has it, and looks when it is back */
        loop_ready(bc->loop, bc);
}

static void waiting_resumed(struct loop_note *note)
{
    struct brg_waiting *w = loop_io_of(note, struct brg_waiting, note);

    if (w->over)
        free(w);
    else
        waiting_came(w->bc, BRG_WAIT_RESUMED);
}

static int waiting_is_last(request_rec *r)
{
    return r->proto_num < HTTP_VERSION(1, 1) ||
           ap_find_token(r->pool, apr_table_get(r->headers_in, "Connection"), "close");
}

#define WAITING_SPARE 64 /* that a loop keeps */

static struct brg_waiting *waiting_make(void)
{
    brg_loop *loop = loop_self();
    struct brg_waiting *w = loop ? loop->spare.waiting : NULL;

    if (!w)
        return calloc(1, sizeof *w);
    loop->spare.waiting = *(void **)w;
    loop->spare.waiting_n--;
    memset(w, 0, sizeof *w);
    return w;
}

BRG_DECLARE(int)
brg_wait(request_rec *r, const brg_wait_for *wanted, brg_wait_go_on_fn *go_on,
         brg_wait_gone_fn *gone, void *baton)
{
    struct brg_waiting *w = brg_wait_possible(r) && go_on ? waiting_make() : NULL;

    if (!w) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "a module wants this request to wait, which is not possible here");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    w->note.run = waiting_resumed;
    w->bc = connection_of(r->connection);
    w->r = r;
    w->wanted = *wanted;
    w->go_on = go_on;
    w->gone = gone;
    w->baton = baton;
    w->input = waiting_input(w->bc);
    w->last = waiting_is_last(r);
    w->bc->held.waiting = w;
    if (wanted->waiting)
        *wanted->waiting = w;
    return SUSPENDED;
}

BRG_DECLARE(void) brg_wait_resume(brg_waiting *w)
{
    loop_note_post(w->bc->loop, &w->note);
}

void request_wait_came(struct brg_waiting *w)
{
    BRG_ASSERT(loop_self() == w->bc->loop);
    waiting_came(w->bc, BRG_WAIT_RESUMED);
}

int request_wait_stays(request_rec *r, int (*stays)(void *baton), void *baton)
{
    brg_conn *bc = connection_of(r->connection);

    if (!bc || bc->master || bc->module_driven)
        return 0;
    bc->held.stays = stays;
    bc->held.stays_baton = baton;
    if (!stays && bc->transport == &conn_nobody)
        r->connection->aborted = 1;
    return 1;
}

BRG_DECLARE(apr_size_t) brg_wait_output(const request_rec *r)
{
    const brg_conn *bc = connection_of(r->connection);

    return bc ? core_output_memory(bc) : 0;
}

/* ---- on the loop ---- */

static void waiting_ready(struct loop_io *io, uint32_t events)
{
    struct brg_waiting *w = loop_io_of(io, struct brg_waiting, io);

    (void)events;
    waiting_came(w->bc, BRG_WAIT_FD);
}

/* A client that is slow with a body keeps no handler waiting for longer than a worker. Behind an
 * Upgrade there is no deadline. */
static void waiting_body_due(struct brg_waiting *w)
{
    const apr_time_t now = w->bc->loop->monotonic;
    const apr_time_t due = ap_request_has_body(w->r) ? connection_body_due(w->bc, now) : 0;

    w->body_first = due && due < w->due;
    if (w->body_first)
        w->due = due;
}

int request_wait_arm(brg_conn *bc)
{
    struct brg_waiting *w = bc->held.waiting;
    apr_interval_time_t timeout = w->wanted.timeout;
    uint32_t events = 0;
    int error;

    BRG_ASSERT(w->bc == bc && loop_self() == bc->loop);
    if (w->due)
        return 0;
    w->due = bc->loop->monotonic + (timeout > 0 ? timeout : w->r->server->timeout);
    if (w->wanted.body)
        waiting_body_due(w);
    if (w->wanted.fd < 0)
        return 0;
    if (w->wanted.fd_events & APR_POLLIN)
        events |= EPOLLIN | EPOLLRDHUP;
    if (w->wanted.fd_events & APR_POLLOUT)
        events |= EPOLLOUT;
    w->io.ready = waiting_ready;
    error = loop_io_add(bc->loop, &w->io, w->wanted.fd, events);
    w->polled = !error;
    return error;
}

apr_time_t request_wait_due(const brg_conn *bc)
{
    return bc->held.waiting->due;
}

int request_wait_is_last(const brg_conn *bc)
{
    return bc->held.waiting->last;
}

int request_wait_reads(const brg_conn *bc)
{
    return bc->held.waiting->wanted.body;
}

void request_wait_look(brg_conn *bc)
{
    struct brg_waiting *w = bc->held.waiting;

    if (w->wanted.body && (bc->read_eof || waiting_input(bc) > w->input))
        w->came |= BRG_WAIT_BODY;
    if (w->wanted.room && core_output_memory(bc) <= BRG_WAIT_LOW_WATER)
        w->came |= BRG_WAIT_ROOM;
}

void request_wait_expired(brg_conn *bc)
{
    struct brg_waiting *w = bc->held.waiting;

    if (w->body_first)
        connection_body_late(bc);
    w->came |= w->body_first ? BRG_WAIT_BODY : BRG_WAIT_TIMEOUT;
}

void request_wait_failed(brg_conn *bc)
{
    waiting_came(bc, BRG_WAIT_FD);
}

request_rec *request_wait_of(const brg_conn *bc)
{
    return bc->held.waiting->r;
}

int request_wait_is_over(const brg_conn *bc)
{
    return bc->held.waiting->came != 0;
}

/* Nothing of it reaches the connection any more. Another thread may still resume it, until go_on() or gone() has
 * told it not to: so it is freed after these. */
static struct brg_waiting *waiting_take(brg_conn *bc)
{
    struct brg_waiting *w = bc->held.waiting;

    BRG_ASSERT(w->bc == bc && !w->over); /* it is taken once */
    if (w->polled)
        loop_io_remove(bc->loop, &w->io, w->wanted.fd);
    bc->held.waiting = NULL;
    w->over = 1;
    return w;
}

static void waiting_free(struct brg_waiting *w)
{
    brg_loop *loop = loop_self();

    if (atomic_load(&w->note.posted)) /* waiting_resumed() frees it */
        return;
    if (!loop || loop->spare.waiting_n >= WAITING_SPARE) {
        free(w);
        return;
    }
    *(void **)w = loop->spare.waiting;
    loop->spare.waiting = w;
    loop->spare.waiting_n++;
}

/* The request that came from the network. */
static request_rec *request_first(request_rec *r)
{
    while (r->prev)
        r = r->prev;
    return r;
}

request_end request_wait_end(brg_conn *bc, request_rec **first, int *status)
{
    struct brg_waiting *w = waiting_take(bc);
    request_rec *r = w->r;
    const int in_handler = request_wait_place_of(r) == REQUEST_WAITS_IN_HANDLER;
    const char *configured = r->handler;

    BRG_ASSERT(bc->state == CONN_REQUEST && w->came && loop_self() == bc->loop);
    *first = request_first(r);
    if (r == *first && request_wait_place_of(r) ==
                           REQUEST_WAITS_IN_HANDLER) /* an internal redirect of go_on() may wait */
        request_allow_rerun(r);
    request_allow_follow(*first);
    if (in_handler)
        handler_name(r); /* go_on() may run handlers, which count on one */
    *status = w->go_on(r, w->baton, w->came);
    if (in_handler)
        r->handler = configured;
    waiting_free(w);
    if (request_wait_place_of(r) == REQUEST_WAITS_IN_ACCESS &&
        (*status == OK || *status == DECLINED) && !request_waits(r->connection)) {
        *status = REQUEST_AUTH_PENDING; /* its hooks once more */
        return REQUEST_LEFT;
    }
    return request_go_on(*first, r, status);
}

void request_wait_abandon(brg_conn *bc)
{
    struct brg_waiting *w = waiting_take(bc);
    request_rec *first = request_first(w->r);

    if (w->gone)
        w->gone(w->r, w->baton);
    waiting_free(w);
    request_go_on_gone(first);
}
