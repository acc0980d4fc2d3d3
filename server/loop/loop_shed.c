/* SPDX-License-Identifier: Apache-2.0 */
/* Room for new connections on a full loop: of the connections without a request, those that were
 * silent for the longest are closed, and those that only wait until the client closes wait no
 * longer. Else such clients would keep others out until KeepAliveTimeout or RequestReadTimeout is
 * over. */
#include "loop.h"
#include "driver.h"
#include <poll.h>
#include <string.h>

#define SHED_BINS 64                  /* of the time since the first of them said something */
#define SHED_PART_US (200 * 1000LL)   /* for the rest of a head that was begun */
#define SHED_LINGER_US (100 * 1000LL) /* for clients to close on their side */

typedef struct shed_span {
    apr_time_t first, last; /* when the clients last began to say something */
    unsigned n;             /* how many they are */
} shed_span;

/* Nothing was asked yet; or a head was begun, some time ago. A stream may be open from the first request on, where there are
 * streams. */
static int shed_owes_head(const brg_conn *bc)
{
    if (bc->state != CONN_HEAD || (bc->c && bc->module_driven))
        return 0;
    if (bc->requests ? bc->protocol != CONN_HTTP1 : !conn_in_size(bc))
        return !bc->requests;
    return bc->loop->monotonic - bc->input.began >= SHED_PART_US;
}

/* A connection on the list of a turn is about to be driven: something came. */
static int shed_may_close(const brg_conn *bc)
{
    return !bc->queued && bc->timer.prev && (bc->state == CONN_IDLE || shed_owes_head(bc));
}

static int shed_bin(const shed_span *span, const brg_conn *bc)
{
    apr_time_t width = (span->last - span->first) / SHED_BINS + 1;

    return (int)((bc->input.began - span->first) / width);
}

static shed_span shed_measure(const brg_loop *loop)
{
    shed_span span = {.first = INT64_MAX};

    for (const brg_conn *bc = loop->conns.all; bc; bc = bc->all.next) {
        if (!shed_may_close(bc))
            continue;
        span.n++;
        if (bc->input.began < span.first)
            span.first = bc->input.began;
        if (bc->input.began > span.last)
            span.last = bc->input.began;
    }
    return span;
}

/* The last of the bins that hold the first @a most. */
static int shed_last_bin(const brg_loop *loop, const shed_span *span, unsigned most)
{
    unsigned n[SHED_BINS], sum = 0;
    int bin = 0;

    memset(n, 0, sizeof n);
    for (const brg_conn *bc = loop->conns.all; bc; bc = bc->all.next)
        if (shed_may_close(bc))
            n[shed_bin(span, bc)]++;
    while (bin < SHED_BINS - 1 && (sum += n[bin]) < most)
        bin++;
    return bin;
}

static void shed_linger(brg_loop *loop, brg_conn *bc)
{
    apr_time_t due = loop->monotonic + SHED_LINGER_US;

    if (bc->idle_until <= due)
        return;
    bc->idle_until = due; /* whatever comes */
    wheel_set(&loop->wheel, &bc->timer, due);
}

static void shed_one(brg_loop *loop, brg_conn *bc)
{
    wheel_cancel(&loop->wheel, &bc->timer);
    bc->driver->expired(bc);
    if (bc->fd >= 0 && bc->state == CONN_LINGER)
        shed_linger(loop, bc);
}

static int shed_is_due(const brg_loop *loop)
{
    return !loop->prefork &&
           loop->conns.by_state[CONN_IDLE] + loop->conns.by_state[CONN_LINGER] +
                   loop->conns.by_state[CONN_HEAD] >
               0 &&
           loop->monotonic - loop->shed.last >= loop->shed.pause;
}

void loop_shed(brg_loop *loop)
{
    unsigned most, n = 0;
    shed_span span;
    int last;

    BRG_ASSERT(loop_self() == loop);
    if (!shed_is_due(loop))
        return;
    loop->shed.last = loop->monotonic;
    span = shed_measure(loop);
    most = span.n / 8 > LOOP_SHED ? span.n / 8 : LOOP_SHED;
    if (most > (span.n + 1) / 2)
        most = (span.n + 1) / 2;
    last = shed_last_bin(loop, &span, most);
    for (brg_conn *bc = loop->conns.all, *next; bc; bc = next) {
        next = bc->all.next;
        if (bc->state == CONN_LINGER) {
            shed_linger(loop, bc);
        } else if (n < most && shed_may_close(bc) && shed_bin(&span, bc) <= last) {
            shed_one(loop, bc);
            n++;
        }
    }
    BRG_ASSERT(n <= span.n);
    loop->shed.pause = apr_time_from_msec(
        n || loop->conns.by_state[CONN_LINGER] ? LOOP_SHED_MS : LOOP_SHED_VAIN_MS);
    figures_add(&loop->figures->own.value[BRG_FIGURE_SHED], n);
}

int loop_make_room(brg_loop *loop)
{
    if (!loop_is_full(loop))
        return 1;
    loop_note_post(loop, &loop->shed.note);
    return 0;
}

/* The poll set does not hold them while there is no room: others that share them shall be woken. */
static int shed_is_wanted(const brg_loop *loop)
{
    for (brg_listener **l = loop->accept.listeners; *l; l++) {
        struct pollfd waits = {.fd = (*l)->fd, .events = POLLIN};

        if (poll(&waits, 1, 0) > 0 && waits.revents & POLLIN)
            return 1;
    }
    return 0;
}

void loop_shed_if_wanted(brg_loop *loop)
{
    BRG_ASSERT(!loop->accept.on);
    if (!shed_is_due(loop) || !shed_is_wanted(loop))
        return;
    loop_shed(loop);
}
