/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop's turn. epoll is used directly, edge-triggered, and not through apr_pollset: a
 * pollset wants an apr_socket_t and a pool for each socket, which is more memory than all else that
 * an idle connection needs, and level-triggered polling costs two system calls whenever a worker
 * takes a connection and gives it back. */
#include "loop.h"
#include "loop_drain.h"
#include "clock.h"
#include "crash.h"
#include "scores.h"
#include "thread_self.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_config.h"
#include "http_log.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define LOOP_WAIT_MS 1000 /* the turn_end hook is promised once a second */
#define LOOP_WAKE_TRIES 8
#define LOOP_DATE_US 10000    /* for so long the date goes by the monotonic clock */
#define LOOP_WAIT_FAILURES 16 /* of epoll_wait in a row, until the process is given up */

atomic_int loops_phase;

void loop_read_clocks(brg_loop *loop)
{
    loop->turn.began = loop->monotonic = clock_monotonic();
    if (loop->monotonic - loop->wall_read >= LOOP_DATE_US) {
        loop->wall_read = loop->monotonic;
        __atomic_store_n(&loop->wall_ahead, apr_time_now() - loop->monotonic, __ATOMIC_RELAXED);
    }
    loop->wall = loop->monotonic + loop->wall_ahead;
}

static void loop_returned(brg_loop *loop, brg_conn *bc)
{
    brg_conn *head = atomic_load_explicit(&loop->posted.returned, memory_order_relaxed);

    do {
        bc->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&loop->posted.returned, &head, bc,
                                                    memory_order_release, memory_order_relaxed));
}

/* EAGAIN: the counter is full, so the loop is awake; or the error is spurious, and a second try helps. */
void loop_wake(brg_loop *loop)
{
    const uint64_t one = 1;
    ssize_t n;
    int tries = LOOP_WAKE_TRIES;

    do
        n = write(loop->poll.wake_fd, &one, sizeof one);
    while (n < 0 && (errno == EINTR || errno == EAGAIN) && --tries);
    if (n >= 0)
        return;
    atomic_store(&loop->posted.wakes, 0); /* the next one tries again */
    ap_log_error(APLOG_MARK, APLOG_CRIT, errno, loop->server, "cannot wake an event loop");
}

void loop_return(brg_conn *bc)
{
    brg_loop *loop = bc->loop;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->state == CONN_WORKER && !loop_self());
    loop_returned(loop, bc);
    if (!atomic_exchange(&loop->posted.wakes, 1))
        loop_wake(loop);
}

static void loop_take_returned(brg_loop *loop)
{
    brg_conn *bc, *next;
    brg_conn *first = atomic_exchange_explicit(&loop->posted.returned, NULL, memory_order_acquire);

    loop_take_drains(loop); /* returned connections have drains, too: they were posted before */
    for (bc = first; bc; bc = next) {
        next = bc->next;
        BRG_ASSERT_TAG(bc, CONN_TAG);
        BRG_ASSERT(bc->state == CONN_WORKER && bc->loop == loop && !bc->timer.prev);
        if (bc->work.drain)
            loop_drain_end(bc->work.drain); /* the rest is the driver's */
        bc->rd_ready = 1; /* whatever events came meanwhile: find out by reading */
        loop_ready(loop, bc);
    }
    loop_take_notes(loop); /* all that workers posted before they returned */
}

/* Without a locked instruction in each turn: a worker wakes the loop after it has returned a
 * connection, so loop_woken() sees that, too. */
static int loop_has_returned(brg_loop *loop)
{
    return atomic_load_explicit(&loop->posted.returned, memory_order_relaxed) ||
           atomic_load_explicit(&loop->posted.notes, memory_order_relaxed) ||
           atomic_load_explicit(&loop->posted.drains, memory_order_relaxed);
}

void loop_woken(struct loop_io *io, uint32_t events)
{
    brg_loop *loop = loop_io_of(io, brg_loop, poll.wake);
    uint64_t n;

    (void)events;
    if (read(loop->poll.wake_fd, &n, sizeof n) < 0 && errno != EAGAIN)
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, loop->server,
                     "event loop: read from its eventfd");
    /* also acquires the writes of workers before the wake */
    (void)atomic_exchange(&loop->posted.wakes, 0);
}

void loop_publish(brg_loop *loop)
{
    struct loop_score *score = loop->score;

    loop_score_set(&score->connections, loop->conns.n);
    loop_score_set(&score->reading,
                   loop->conns.by_state[CONN_HEAD] + loop->conns.by_state[CONN_BODY]);
    loop_score_set(&score->keepalive, loop->conns.by_state[CONN_IDLE]);
    loop_score_set(&score->writing, loop->conns.by_state[CONN_WRITE]);
    loop_score_set(&score->busy,
                   loop->conns.by_state[CONN_WORKER] + loop->conns.by_state[CONN_WAIT]);
    loop_score_set(&score->lingering, loop->conns.by_state[CONN_LINGER]);
    loop_score_set(&score->http2, loop->http2.n);
    loop_score_set(&score->streams, loop->http2.streams);
    loop_score_add(&score->turns, 1);
}

/* Once a second: connections that waited too long for a worker, or whose clients left, wait no
 * longer. */
static void loop_refuse(brg_loop *loop)
{
    brg_conn *bc, *next;

    if (loop->prefork)
        return;
    for (bc = worker_pool_refuse(loop->workers, loop->monotonic); bc; bc = next) {
        next = bc->next;
        bc->rd_ready = 1;
        bc->driver->refused(bc);
    }
}

/* @param busy  there was something to do */
static void loop_end_turn(brg_loop *loop, int busy)
{
    if (loop->turn.closed)
        loop_reap(loop);
    if (busy || loop->turn.ended_n) {
        loop->unmeasured.requests += loop->turn.ended_n - loop->turn.full_n;
        if (++loop->unmeasured.turns >= LOOP_MEASURED || loop->slow.requests || loop->long_turn)
            loop_figures_turn(loop);
    }
    loop_slow_check(loop);
    loop_publish(loop);
    if (loop->conns.n > loop->conns.peak)
        loop->conns.peak = loop->conns.n;
    if (loop->monotonic - loop->spare.trimmed >= apr_time_from_sec(1)) {
        loop_refuse(loop);
        loop_drains_expire(loop);
        loop_trim(loop);
        loop_figures_second(loop);
    }
    if (loop->turn.ended_n || loop->monotonic - loop->turn.end_last >= apr_time_from_sec(1)) {
        loop_score_add(&loop->score->accesses, loop->turn.ended_n);
        loop->turn.ended_n = loop->turn.full_n = 0;
        loop->turn.end_last = loop->monotonic;
        brg_run_turn_end(loop->wall);
    }
}

static void loop_accept_resume(brg_loop *loop)
{
    if (loop->accept.last && loop->monotonic >= loop->accept.again)
        loop->accept.last = loop_accept_last(loop);
    if (loop->accept.on || atomic_load_explicit(&loops_phase, memory_order_relaxed) != LOOPS_RUN)
        return;
    if (loop_is_full(loop))
        loop_shed_if_wanted(loop);
    else if (loop->monotonic >= loop->accept.again)
        loop_listeners(loop, 1);
}

/* The only thread of a process: it does the work of workers, and hears the orders. */
static void loop_turn_prefork(brg_loop *loop)
{
    brg_conn *bc = worker_pool_take(loop->workers);

    if (bc) {
        loop_publish(loop); /* the supervisor sees that this process is busy */
        thread_self_set(NULL, loop->index);
        bc->driver->work(bc);
        thread_self_set(loop, loop->index);
        loop_read_clocks(loop);
        loop_returned(loop, bc);
        loop_take_returned(loop);
        loop->config->services->refresh(loop);
        loop_run_ready(loop);
    }
    loop->work_waits = bc != NULL;
    loop->config->orders(loop->config->baton, loop->poll.orders_come);
    loop->poll.orders_come = 0;
}

static void loop_orders(struct loop_io *io, uint32_t events)
{
    (void)events;
    loop_io_of(io, brg_loop, poll.orders)->poll.orders_come = 1;
}

static void loop_hear_orders(brg_loop *loop)
{
    const loops_config *conf = loop->config;

    loop->poll.orders.ready = loop_orders;
    for (size_t i = 0; i < sizeof conf->order_fds / sizeof *conf->order_fds; i++) {
        int fd = conf->order_fds[i],
            error = fd >= 0 ? loop_io_add(loop, &loop->poll.orders, fd, EPOLLIN) : 0;

        if (error)
            ap_log_error(APLOG_MARK, APLOG_CRIT, error, loop->server,
                         "event loop: poll of its orders");
    }
}

/* A poll set that is lost does not come back, and its connections with it: the supervisor starts
 * another process. */
static void loop_wait_failed(brg_loop *loop, int error)
{
    if (!loop->poll.failures++)
        ap_log_error(APLOG_MARK, APLOG_CRIT, error, loop->server, "event loop: epoll_wait");
    if (loop->poll.failures < LOOP_WAIT_FAILURES)
        return;
    ap_log_error(APLOG_MARK, APLOG_ALERT, error, loop->server,
                 "event loop: epoll_wait failed %d times in a row: the process ends",
                 loop->poll.failures);
    crash_exit_expected();
    _exit(APEXIT_CHILDSICK);
}

/* Milliseconds until the first alarm, at most @a most. */
static int loop_alarm_wait_ms(const brg_loop *loop, int most)
{
    for (const struct loop_alarm *a = loop->alarms; a; a = a->next)
        if (a->due < loop->monotonic + (apr_time_t)most * 1000)
            most = a->due <= loop->monotonic ? 0 : (int)((a->due - loop->monotonic + 999) / 1000);
    return most;
}

static void loop_alarms_run(brg_loop *loop)
{
    for (struct loop_alarm *a = loop->alarms, *next; a; a = next) {
        next = a->next;
        if (a->due <= loop->monotonic)
            a->run(a);
    }
}

void loop_alarm_add(brg_loop *loop, struct loop_alarm *alarm)
{
    alarm->next = loop->alarms;
    loop->alarms = alarm;
}

void loop_alarm_remove(brg_loop *loop, struct loop_alarm *alarm)
{
    struct loop_alarm **at = &loop->alarms;

    while (*at && *at != alarm)
        at = &(*at)->next;
    if (*at)
        *at = alarm->next;
}

static int loop_wait_ms(const brg_loop *loop)
{
    int wait, again = loop->drains ? loop_drains_wait_ms(loop) : -1;

    if (loop->turn.again || loop->turn.ready || loop->work_waits)
        return 0;
    wait = wheel_wait_ms(&loop->wheel, loop->monotonic,
                         loop->accept.on || loop->draining ? LOOP_WAIT_MS
                                                           : (int)(loop->shed.pause / 1000));
    if (loop->wants_worker && wait > loop->wants_worker)
        wait = loop->wants_worker;
    if (loop->alarms)
        wait = loop_alarm_wait_ms(loop, wait);
    return again >= 0 && again < wait ? again : wait;
}

void loop_turn(brg_loop *loop)
{
    struct epoll_event events[LOOP_EVENTS];
    int n, wait = loop_wait_ms(loop);

    loop_score_set(&loop->score->waits, 1);
    n = epoll_wait(loop->poll.fd, events, LOOP_EVENTS, wait);
    loop_score_set(&loop->score->waits, 0);
    loop_read_clocks(loop);
    if (n < 0 && errno != EINTR)
        loop_wait_failed(loop, errno);
    if (loop->turn.again)
        loop_read_again(loop);
    if (loop->drains)
        loop_drains_again(loop);
    if (n >= 0)
        loop->poll.failures = 0;
    loop_io_run(loop, events, n);
    if (loop_has_returned(loop))
        loop_take_returned(loop);
    if (loop->turn.ready) {
        loop->config->services->refresh(loop);
        loop_run_ready(loop);
    }
    wheel_expire(&loop->wheel, loop->monotonic);
    if (loop->prefork)
        loop_turn_prefork(loop);
    if (loop->alarms)
        loop_alarms_run(loop);
    if (loop->wants_worker)
        worker_pool_grow(loop->workers);
    loop_accept_resume(loop);
    loop_end_turn(loop, n > 0);
}

/* A connection that waits for its next request may get one at any moment: it is told "close" with
 * the next answer, and closed without one only when it stays silent. */
static void loop_begin_drain(brg_loop *loop)
{
    BRG_ASSERT(!loop->draining);
    loop->draining = 1;
    loop_listeners(loop, 0);
    if (loop->accept.datagrams)
        loop_datagrams_offered()->drain(loop);
    loop->accept.last = loop_accept_last(loop);
    for (brg_conn *bc = loop->conns.all, *next; bc; bc = next) {
        next = bc->all.next;
        if (bc->driver->drain)
            bc->driver->drain(bc);
        else if (bc->state == CONN_IDLE && bc->timer.due > loop->monotonic + LOOP_DRAIN_US)
            wheel_set(&loop->wheel, &bc->timer, loop->monotonic + LOOP_DRAIN_US);
    }
}

void loop_guest_add(brg_loop *loop, struct loop_guest *guest)
{
    BRG_ASSERT(loop_self() == loop && guest->end);
    guest->next = loop->guests;
    loop->guests = guest;
}

static void loop_guests_end(brg_loop *loop)
{
    struct loop_guest *guest;

    while ((guest = loop->guests) != NULL) {
        loop->guests = guest->next;
        guest->end(guest);
    }
}

void loop_begin(brg_loop *loop)
{
    thread_self_set(loop, loop->index);
    thread_self_uncancelled();
    loop_score_set(&loop->score->thread, (uint64_t)gettid());
    loop_read_clocks(loop);
    wheel_init(&loop->wheel, loop->monotonic);
    if (loop->prefork)
        loop_hear_orders(loop);
    loop_listeners(loop, 1);
}

void loop_main(brg_loop *loop)
{
    int phase;
    char crash_stack[CRASH_STACK_BYTES];
    stack_t old;

    crash_stack_begin(crash_stack, &old);
    loop->line = ap_get_scoreboard_worker_from_indexes(loop->config->slot, loop->index);
    ap_update_child_status_from_indexes(loop->config->slot, loop->index, SERVER_STARTING, NULL);
    ap_update_child_status_from_indexes(loop->config->slot, loop->index, SERVER_READY, NULL);
    loop_begin(loop);
    while ((phase = atomic_load_explicit(&loops_phase, memory_order_relaxed)) != LOOPS_DROP) {
        if (phase == LOOPS_DRAIN && !loop->draining)
            loop_begin_drain(loop);
        if (loop->draining && !loop->conns.n && !loop->accept.last)
            break;
        loop_turn(loop);
    }
    loop_drop_conns(loop, 0);
    loop_guests_end(loop);
    brg_run_turn_end(apr_time_now());
    loop_figures_second(loop); /* else the counts of the last second are lost */
    scoreboard_show(loop->line, SERVER_DEAD);
    loop_score_set(&loop->score->waits, 1);
    thread_self_end();
    crash_stack_end(&old);
}
