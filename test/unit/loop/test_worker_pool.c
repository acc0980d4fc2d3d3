/* SPDX-License-Identifier: Apache-2.0 */
/* The worker pool with a driver of the test's own: order, bounds, deadlines, and clients that left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "clock.h"
#include "counted_lock.h"
#include "driver.h"
#include "loop.h"
#include "scoreboard.h"
#include "thread_self.h"
#include "transport.h"
#include "worker_pool_private.h"

#define WORKERS 2

static apr_pool_t *pool;
static loop_figures figures;
static brg_loop loop, other;
static loops_config config;
static atomic_int told_full;

/* Workers stand at the gate until it is opened; what they ran is noted in order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate = PTHREAD_COND_INITIALIZER, begun = PTHREAD_COND_INITIALIZER;
static int is_open, running, ran_n;
static brg_conn *ran[64], *came[64]; /* to the gate */

static void mock_work(brg_conn *bc)
{
    pthread_mutex_lock(&lock);
    assert_int_equal(bc->state, CONN_WORKER);
    assert_null(loop_self());
    came[running++] = bc;
    pthread_cond_broadcast(&begun);
    while (!is_open)
        pthread_cond_wait(&gate, &lock);
    ran[ran_n++] = bc;
    pthread_mutex_unlock(&lock);
}

static void mock_trim(void)
{
}

static const struct conn_driver driver = {.name = "mock", .work = mock_work};
static const loop_services services = {.driver = &driver, .thread_trim = mock_trim};

static void mock_full(int workers)
{
    assert_int_equal(workers, WORKERS);
    told_full++;
}

static void make_loop(brg_loop *of, worker_share *share)
{
    memset(of, 0, sizeof *of);
    of->config = &config;
    of->poll.wake_fd = eventfd(0, EFD_NONBLOCK);
    of->workers = worker_pool_create(pool, of, share);
    of->figures = &figures;
}

static int setup(void **state)
{
    worker_share *share;

    apr_pool_create(&pool, NULL);
    config = (loops_config){.services = &services, .slot = -1, .workers_full = mock_full};
    share = worker_share_create(pool, &(worker_bounds){.most = WORKERS, .own = WORKERS}, -1, 1, 0);
    make_loop(&loop, share);
    make_loop(&other, share);
    memset(&figures, 0, sizeof figures);
    is_open = running = ran_n = 0;
    told_full = 0;
    return 0;
}

static int teardown(void **state)
{
    pthread_mutex_lock(&lock);
    is_open = 1;
    pthread_cond_broadcast(&gate);
    pthread_mutex_unlock(&lock);
    worker_pool_stop(loop.workers);
    worker_pool_stop(other.workers);
    while (!worker_pool_ended(loop.workers) || !worker_pool_ended(other.workers))
        usleep(1000);
    close(loop.poll.wake_fd);
    close(other.poll.wake_fd);
    apr_pool_destroy(pool);
    return 0;
}

static void make(brg_conn *bc, int ends[2], apr_time_t queued_at)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    *bc = (brg_conn){.tag = CONN_TAG,
                     .loop = &loop,
                     .driver = &driver,
                     .fd = ends[0],
                     .state = CONN_WORKER,
                     .work.since = queued_at};
}

/* Both workers are at the gate. */
static void occupy(brg_conn *bc, int ends[][2])
{
    for (int i = 0; i < WORKERS; i++) {
        make(&bc[i], ends[i], clock_monotonic());
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
    }
    pthread_mutex_lock(&lock);
    while (running < WORKERS)
        pthread_cond_wait(&begun, &lock);
    pthread_mutex_unlock(&lock);
}

static int returned(void)
{
    const brg_loop *const of[] = {&loop, &other};
    int n = 0;

    for (int i = 0; i < 2; i++)
        for (brg_conn *bc = atomic_load(&of[i]->posted.returned); bc; bc = bc->next)
            n++;
    return n;
}

static void open_gate(int expected)
{
    pthread_mutex_lock(&lock);
    is_open = 1;
    pthread_cond_broadcast(&gate);
    pthread_mutex_unlock(&lock);
    while (returned() < expected)
        usleep(1000);
}

static int has_run(const brg_conn *bc)
{
    int found = 0;

    for (int i = 0; i < ran_n; i++)
        found |= ran[i] == bc;
    return found;
}

static void end(int ends[][2], int n)
{
    for (int i = 0; i < n; i++) {
        close(ends[i][0]);
        if (ends[i][1] >= 0)
            close(ends[i][1]);
    }
}

static void test_queue_is_bounded(void **state)
{
    brg_conn bc[WORKERS + 4];
    int ends[WORKERS + 4][2], alive, busy, waiting;

    worker_pool_bound(loop.workers, 2, 0);
    occupy(bc, ends);
    for (int i = WORKERS; i < WORKERS + 4; i++)
        make(&bc[i], ends[i], clock_monotonic());
    assert_false(worker_pool_is_short(loop.workers));
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS]), 0);
    assert_true(worker_pool_is_short(loop.workers));
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS + 1]), 0);
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS + 2]), WORKER_POOL_FULL);
    bc[WORKERS + 3].queue.must_run = 1;
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS + 3]), 0);
    worker_pool_figures(loop.workers, &alive, &busy, &waiting);
    assert_int_equal(alive, WORKERS);
    assert_int_equal(waiting, 3);
    open_gate(WORKERS + 3);
    assert_int_equal(ran_n, WORKERS + 3);
    end(ends, WORKERS + 4);
}

static uint64_t waits_counted(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < BRG_BUCKETS; i++)
        sum += figures.others.took[BRG_TOOK_QUEUE].n[i];
    return sum;
}

/* Each counts, also where a thread was free and it did not wait. */
static void test_waits_are_counted(void **state)
{
    brg_conn bc[WORKERS + 4];
    int ends[WORKERS + 4][2], alive, busy = 1, waiting;

    occupy(bc, ends);
    open_gate(WORKERS);
    assert_int_equal(waits_counted(), WORKERS);
    for (int i = WORKERS; i < WORKERS + 4; i++) {
        for (busy = 1; busy; usleep(1000))
            worker_pool_figures(loop.workers, &alive, &busy, &waiting);
        make(&bc[i], ends[i], clock_monotonic());
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
        open_gate(i + 1);
    }
    assert_int_equal(waits_counted(), WORKERS + 4);
    end(ends, WORKERS + 4);
}

static void test_late_ones_are_refused_in_order(void **state)
{
    brg_conn bc[WORKERS + 4], *out;
    int ends[WORKERS + 4][2];
    apr_time_t now = clock_monotonic();

    worker_pool_bound(loop.workers, 100, apr_time_from_sec(10));
    occupy(bc, ends);
    for (int i = 0; i < 4; i++) {
        make(&bc[WORKERS + i], ends[WORKERS + i], now - apr_time_from_sec(i == 3 ? 1 : 20 - i));
        bc[WORKERS + i].queue.must_run = i == 1;
        assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS + i]), 0);
    }
    out = worker_pool_refuse(loop.workers, now);
    assert_ptr_equal(out, &bc[WORKERS]);
    assert_int_equal(out->queue.refused, CONN_REFUSED_LATE);
    assert_ptr_equal(out->next, &bc[WORKERS + 2]);
    assert_null(out->next->next);
    assert_null(worker_pool_refuse(loop.workers, now));
    open_gate(WORKERS + 2);
    /* Workers note in any order what they ran. */
    assert_true(has_run(&bc[WORKERS + 1]) && has_run(&bc[WORKERS + 3]));
    assert_int_equal(ran_n, WORKERS + 2);
    end(ends, WORKERS + 4);
}

/* The queue is still whole after its last one was taken out. */
static void test_clients_that_left(void **state)
{
    brg_conn bc[WORKERS + 4], *out;
    int ends[WORKERS + 4][2];
    apr_time_t now = clock_monotonic();

    occupy(bc, ends);
    for (int i = WORKERS; i < WORKERS + 3; i++) {
        make(&bc[i], ends[i], now - (i == WORKERS ? 0 : apr_time_from_sec(2)));
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
    }
    close(ends[WORKERS][1]); /* just came: it may only have shut its side */
    close(ends[WORKERS + 2][1]);
    ends[WORKERS][1] = ends[WORKERS + 2][1] = -1;
    out = worker_pool_refuse(loop.workers, now);
    assert_ptr_equal(out, &bc[WORKERS + 2]);
    assert_int_equal(out->queue.refused, CONN_REFUSED_LEFT);
    assert_null(out->next);
    make(&bc[WORKERS + 3], ends[WORKERS + 3], now);
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS + 3]), 0);
    open_gate(WORKERS + 3);
    assert_int_equal(ran_n, WORKERS + 3);
    end(ends, WORKERS + 4);
}

/* A worker looks before it begins. */
static void test_work_for_nobody_is_not_begun(void **state)
{
    brg_conn bc[WORKERS + 1];
    int ends[WORKERS + 1][2];

    occupy(bc, ends);
    make(&bc[WORKERS], ends[WORKERS], clock_monotonic() - apr_time_from_sec(2));
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS]), 0);
    close(ends[WORKERS][1]);
    ends[WORKERS][1] = -1;
    open_gate(WORKERS + 1);
    assert_int_equal(ran_n, WORKERS);
    assert_int_equal(bc[WORKERS].queue.refused, CONN_REFUSED_LEFT);
    end(ends, WORKERS + 1);
}

/* All threads are one loop's: it does not keep them from another one, at work or idle. */
static void test_threads_go_where_work_waits(void **state)
{
    brg_conn bc[WORKERS + 2];
    int ends[WORKERS + 2][2], alive, busy, waiting;

    occupy(bc, ends);
    assert_int_equal(told_full, 0);
    make(&bc[WORKERS], ends[WORKERS], clock_monotonic());
    bc[WORKERS].loop = &other;
    assert_int_equal(worker_pool_submit(other.workers, &bc[WORKERS]), 0);
    assert_int_equal(told_full, 1);
    assert_int_equal(figures.own.value[BRG_FIGURE_WORKERS_FULL], 1);
    assert_true(worker_pool_is_short(loop.workers));
    assert_true(worker_pool_is_busy(loop.workers));
    open_gate(WORKERS + 1);
    assert_true(has_run(&bc[WORKERS]));
    assert_false(worker_pool_is_short(loop.workers));
    /* Now all wait, one of them for the other loop. */
    make(&bc[WORKERS + 1], ends[WORKERS + 1], clock_monotonic());
    bc[WORKERS + 1].loop = &other;
    assert_int_equal(worker_pool_submit(other.workers, &bc[WORKERS + 1]), 0);
    open_gate(WORKERS + 2);
    worker_pool_figures(loop.workers, &alive, &busy, &waiting);
    assert_in_range(alive, 0, WORKERS - 1);
    end(ends, WORKERS + 2);
}

/* Of what waits on two loops, what came first is first. */
static void test_loops_are_served_in_turn(void **state)
{
    enum { ROUNDS = 8 };
    brg_conn bc[WORKERS + ROUNDS];
    int ends[WORKERS + ROUNDS][2], mine = 0;
    apr_time_t now = clock_monotonic();

    occupy(bc, ends);
    for (int i = WORKERS; i < WORKERS + ROUNDS; i++) {
        make(&bc[i], ends[i], now + i);
        bc[i].loop = i % 2 ? &other : &loop;
        bc[i].queue.must_run = 1;
        assert_int_equal(worker_pool_submit(bc[i].loop->workers, &bc[i]), 0);
    }
    assert_int_equal(told_full, ROUNDS);
    open_gate(WORKERS + ROUNDS);
    for (int i = 0; i < WORKERS + ROUNDS / 2; i++)
        mine += ran[i]->loop == &other;
    assert_in_range(mine, 1, ROUNDS / 2);
    assert_false(worker_pool_is_short(loop.workers));
    end(ends, WORKERS + ROUNDS);
}

/* What takes long has some of the threads; what may wait is served meanwhile. */
static void test_what_takes_long_leaves_a_thread(void **state)
{
    brg_conn bc[4];
    int ends[4][2], alive, busy, waiting;
    const apr_time_t now = clock_monotonic();

    for (int i = 0; i < 4; i++) {
        make(&bc[i], ends[i], now - 20 + i);
        bc[i].queue.takes_long = i < 3;
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
    }
    pthread_mutex_lock(&lock);
    while (running < WORKERS)
        pthread_cond_wait(&begun, &lock);
    pthread_mutex_unlock(&lock);
    worker_pool_figures(loop.workers, &alive, &busy, &waiting);
    assert_int_equal(waiting, 2);
    assert_false(worker_pool_is_busy(loop.workers) && worker_pool_is_short(loop.workers));
    open_gate(4);
    assert_int_equal(ran_n, 4);
    assert_true(came[0] == &bc[3] || came[1] == &bc[3]); /* it did not stand behind them */
    end(ends, 4);
}

/* A thread that was there for the last request takes the next one without the lock, which this test holds meanwhile. */
static void test_a_thread_that_sits_needs_no_lock(void **state)
{
    brg_conn bc[8];
    int ends[8][2], alive, busy, waiting;

    is_open = 1;
    make(&bc[0], ends[0], clock_monotonic());
    assert_int_equal(worker_pool_submit(loop.workers, &bc[0]), 0);
    alarm(60); /* else it waits for itself for ever */
    for (int i = 1; i < 8; i++) {
        while (!atomic_load(&loop.workers->seated))
            usleep(100);
        make(&bc[i], ends[i], clock_monotonic());
        pthread_mutex_lock(&loop.workers->lock);
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
        while (returned() < i + 1)
            usleep(100);
        pthread_mutex_unlock(&loop.workers->lock);
    }
    alarm(0);
    while (!atomic_load(&loop.workers->seated))
        usleep(100);
    worker_pool_figures(loop.workers, &alive, &busy, &waiting);
    assert_int_equal(alive, 1);
    assert_int_equal(busy, 0);
    assert_int_equal(waiting, 0);
    assert_int_equal(atomic_load(&loop.workers->running), 0);
    end(ends, 8);
}

/* Holds the lock until somebody waits for it. */
static void *hold_until_waited(void *baton)
{
    atomic_int *is_held = baton;

    pthread_mutex_lock(&loop.workers->lock);
    atomic_store(is_held, 1);
    while (!lock_waits_take(LOCK_WORKERS))
        usleep(100);
    pthread_mutex_unlock(&loop.workers->lock);
    return NULL;
}

static void test_who_waits_for_the_lock_is_counted(void **state)
{
    atomic_int is_held = 0;
    brg_conn bc[1];
    pthread_t holder;
    int ends[1][2];

    is_open = 1;
    make(&bc[0], ends[0], clock_monotonic());
    lock_waits_take(LOCK_WORKERS);
    alarm(60); /* else the holder waits for ever */
    assert_int_equal(pthread_create(&holder, NULL, hold_until_waited, &is_held), 0);
    while (!atomic_load(&is_held))
        usleep(100);
    assert_int_equal(worker_pool_submit(loop.workers, &bc[0]), 0);
    pthread_join(holder, NULL);
    while (returned() < 1)
        usleep(100);
    alarm(0);
    end(ends, 1);
}

/* It is there for what needs the lock, too: what takes long, and another loop that no thread is left for. */
static void test_a_thread_that_sits_is_called(void **state)
{
    brg_conn bc[4];
    int ends[4][2];

    occupy(bc, ends);
    open_gate(WORKERS);
    while (!atomic_load(&loop.workers->seated))
        usleep(100);
    make(&bc[WORKERS], ends[WORKERS], clock_monotonic());
    bc[WORKERS].loop = &other;
    assert_int_equal(worker_pool_submit(other.workers, &bc[WORKERS]), 0);
    open_gate(WORKERS + 1);
    while (!atomic_load(&other.workers->seated) && !atomic_load(&loop.workers->seated))
        usleep(100);
    make(&bc[WORKERS + 1], ends[WORKERS + 1], clock_monotonic());
    bc[WORKERS + 1].queue.takes_long = 1;
    assert_int_equal(worker_pool_submit(loop.workers, &bc[WORKERS + 1]), 0);
    open_gate(WORKERS + 2);
    assert_int_equal(ran_n, WORKERS + 2);
    end(ends, WORKERS + 2);
}

/* Two loops that give work in bursts: whatever thread sits, is idle or is on its way, nothing is left behind. */
struct giver {
    brg_loop *loop;
    brg_conn *bc;
    int n;
};

static void *give_all(void *baton)
{
    const struct giver *g = baton;

    for (int i = 0; i < g->n; i++) {
        g->bc[i].loop = g->loop;
        g->bc[i].queue.takes_long = i % 7 == 0;
        g->bc[i].queue.must_run = 1;
        g->bc[i].work.since = clock_monotonic();
        while (worker_pool_submit(g->loop->workers, &g->bc[i]))
            usleep(10);
        if (i % 5 == 0)
            usleep((useconds_t)(i % 3) * 20);
    }
    return NULL;
}

static void test_nothing_is_left_behind(void **state)
{
    enum { EACH = 32, ROUNDS = 60 };
    static brg_conn bc[2 * EACH];
    int ends[2];

    is_open = 1;
    make(&bc[0], ends, clock_monotonic());
    for (int round = 0; round < ROUNDS; round++) {
        struct giver of[2] = {{&loop, bc, EACH}, {&other, bc + EACH, EACH}};
        pthread_t threads[2];

        pthread_mutex_lock(&lock);
        ran_n = running = 0;
        pthread_mutex_unlock(&lock);
        atomic_store(&loop.posted.returned, NULL);
        atomic_store(&other.posted.returned, NULL);
        for (int i = 1; i < 2 * EACH; i++)
            bc[i] = bc[0];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, give_all, &of[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        open_gate(2 * EACH);
        assert_int_equal(ran_n, 2 * EACH);
    }
    end(&ends, 1);
}

static int nobody_waits(const brg_conn *bc)
{
    return 1;
}

static void test_a_stream_that_was_reset_is_not_begun(void **state)
{
    static const struct conn_transport reset = {.name = "mock", .is_unwanted = nobody_waits};
    brg_conn bc[WORKERS + 2], *out;
    int ends[WORKERS + 2][2];
    const apr_time_t now = clock_monotonic();

    occupy(bc, ends);
    for (int i = WORKERS; i < WORKERS + 2; i++) {
        make(&bc[i], ends[i], now);
        bc[i].transport = &reset;
        bc[i].queue.must_run = i > WORKERS;
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
    }
    out = worker_pool_refuse(loop.workers, now);
    assert_ptr_equal(out, &bc[WORKERS]);
    assert_int_equal(out->queue.refused, CONN_REFUSED_LEFT);
    out->queue.refused = CONN_NOT_REFUSED;
    assert_int_equal(worker_pool_submit(loop.workers, out), 0);
    open_gate(WORKERS + 2);
    assert_true(has_run(&bc[WORKERS + 1]) && !has_run(&bc[WORKERS]));
    assert_int_equal(bc[WORKERS].queue.refused, CONN_REFUSED_LEFT);
    end(ends, WORKERS + 2);
}

#define BURST (WORKER_AT_ONCE + 6)

static int alive_after(apr_time_t now)
{
    brg_loop *const was = loop_self();

    loop.monotonic = now;
    thread_self_set(&loop, 0);
    worker_pool_grow(loop.workers);
    thread_self_set(was, 0);
    return atomic_load(&loop.workers->share->alive);
}

static void note(int n, apr_time_t took, apr_time_t computed)
{
    for (int i = 0; i < n; i++)
        worker_ran(loop.workers->share, loop.monotonic, took, computed);
}

/* A burst gets a few threads at once, more where they wait, and next to none where they compute. */
static void test_pace(void **state)
{
    worker_share *share =
        worker_share_create(pool, &(worker_bounds){.most = 2 * BURST, .own = 2 * BURST}, -1, 1, 0);
    brg_conn bc[BURST];
    int ends[BURST][2];
    const apr_time_t start = apr_time_from_sec(9);

    worker_pool_stop(loop.workers);
    close(loop.poll.wake_fd);
    share->processors = 1;
    make_loop(&loop, share);
    loop.monotonic = start;
    atomic_store(&share->ended, start);
    share->started = start;
    for (int i = 0; i < BURST; i++) {
        make(&bc[i], ends[i], clock_monotonic());
        assert_int_equal(worker_pool_submit(loop.workers, &bc[i]), 0);
    }
    assert_int_equal(share->alive, WORKER_AT_ONCE);
    assert_true(loop.wants_worker);
    pthread_mutex_lock(&lock);
    while (running < WORKER_AT_ONCE)
        pthread_cond_wait(&begun, &lock);
    pthread_mutex_unlock(&lock);

    assert_int_equal(alive_after(start + WORKER_UNKNOWN_US - 1), WORKER_AT_ONCE);
    assert_int_equal(alive_after(start + WORKER_UNKNOWN_US), WORKER_AT_ONCE + 1);
    assert_int_equal(alive_after(start + WORKER_UNKNOWN_US), WORKER_AT_ONCE + 1);
    note(16, 9000, 1000); /* nine take turns at one processor */
    assert_int_equal(alive_after(loop.monotonic + WORKER_STUCK_US - 1), WORKER_AT_ONCE + 1);
    note(1, 9000, 1000); /* it goes on */
    assert_int_equal(alive_after(loop.monotonic + WORKER_STUCK_US - 1), WORKER_AT_ONCE + 1);
    assert_int_equal(alive_after(loop.monotonic + 1), WORKER_AT_ONCE + 2); /* it does not */
    note(16, 90000, 1000);
    assert_int_equal(alive_after(loop.monotonic + WORKER_WAITING_US - 1), WORKER_AT_ONCE + 2);
    assert_int_equal(alive_after(loop.monotonic + 1), WORKER_AT_ONCE + 3);
    assert_true(loop.wants_worker);
    open_gate(BURST);
    assert_int_equal(alive_after(loop.monotonic + WORKER_STUCK_US), WORKER_AT_ONCE + 3);
    assert_false(loop.wants_worker); /* nothing waits */
    for (int i = 0; i < BURST; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_queue_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_ones_are_refused_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clients_that_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_work_for_nobody_is_not_begun, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_go_where_work_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loops_are_served_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_takes_long_leaves_a_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_thread_that_sits_needs_no_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_waits_for_the_lock_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_thread_that_sits_is_called, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_left_behind, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_that_was_reset_is_not_begun, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
    };
    int rc;

    apr_initialize();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    apr_terminate();
    return rc;
}
