/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to a backend that has several addresses, of which some refuse or say nothing; connections that are kept, and closed. The
 * loop is a poll set, a wheel and a clock of the test's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "upstream_private.h"
#include "clock.h"
#include "thread_self.h"
#include "apr_general.h"

#define ADDRESSES 4

static brg_loop loop;
static apr_pool_t *pool;
static server_rec server;
static unsigned told; /* calls of the connection's owner */

/* A backend: what it does, and where. */
typedef struct place_of {
    int listener, fillers[8], fillers_n;
    upstream_address address;
} place_of;

static place_of backends[ADDRESSES];
static int backends_n;

static void on_told(void *baton)
{
    assert_ptr_equal(baton, &loop);
    told++;
}

static unsigned descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static place_of *backend(void)
{
    place_of *b = &backends[backends_n++];
    struct sockaddr_in *in = (void *)&b->address.to.storage;
    socklen_t len = sizeof *in;

    assert_true(backends_n <= ADDRESSES);
    memset(b, 0, sizeof *b);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    b->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(b->listener, (struct sockaddr *)in, sizeof *in), 0);
    assert_int_equal(getsockname(b->listener, (struct sockaddr *)in, &len), 0);
    b->address.len = len;
    return b;
}

static void listens(void)
{
    assert_int_equal(listen(backend()->listener, 5), 0);
}

/* A bound socket that does not listen. */
static void refuses(void)
{
    (void)backend();
}

/* Its backlog is full: the kernel drops what asks for more. */
static void is_silent(void)
{
    place_of *b = backend();

    assert_int_equal(listen(b->listener, 0), 0);
    for (;;) {
        struct pollfd p = {.events = POLLOUT};

        assert_true(b->fillers_n < 8);
        p.fd = b->fillers[b->fillers_n++] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(p.fd, &b->address.to.any, b->address.len);
        if (poll(&p, 1, 20) == 0)
            return;
    }
}

/* An origin of a name that has these addresses. */
static upstream_origin *origin(upstream_settings conf)
{
    upstream_addresses *all = calloc(1, sizeof *all);
    upstream_origin *o;

    conf.server = &server;
    conf.host = "backend.test";
    o = upstream_origin_make(pool, &conf);
    for (int i = 0; i < backends_n; i++)
        all->at[all->n++] = backends[i].address;
    atomic_store(&o->addresses, all);
    atomic_store(&o->known_at, clock_monotonic());
    atomic_store(&o->resolving, UPSTREAM_KNOWN);
    return o;
}

static upstream_conn *opened(upstream_origin *o, brg_loop *on)
{
    static upstream_ticket ticket;
    upstream_conn *cc;

    assert_int_equal(upstream_open(o, on, &ticket, &cc), APR_SUCCESS);
    cc->notify = on_told;
    cc->baton = &loop;
    if (!on)
        thread_self_set(NULL, 1); /* a worker's from now on */
    return cc;
}

/* Events that are here, or come within a moment. */
static void turn(int ms)
{
    struct epoll_event events[LOOP_EVENTS];
    int n = epoll_wait(loop.poll.fd, events, LOOP_EVENTS, ms);

    loop_io_run(&loop, events, n);
}

static void time_passes(apr_interval_time_t us)
{
    loop.monotonic += us;
    wheel_expire(&loop.wheel, loop.monotonic);
}

/* @return as upstream_go() says, once it is no APR_EAGAIN */
static apr_status_t connected(upstream_conn *cc)
{
    apr_status_t rv;

    for (int i = 0; (rv = upstream_go(cc)) == APR_EAGAIN && i < 1000; i++)
        turn(10);
    return rv;
}

static int leads_to(const upstream_conn *cc)
{
    struct sockaddr_in to;
    socklen_t len = sizeof to;

    assert_int_equal(getpeername(cc->bc.fd, (struct sockaddr *)&to, &len), 0);
    for (int i = 0; i < backends_n; i++)
        if (((struct sockaddr_in *)(void *)&backends[i].address.to)->sin_port == to.sin_port)
            return i;
    return -1;
}

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    memset(&loop, 0, sizeof loop);
    loop.pool = pool;
    loop.poll.fd = epoll_create1(EPOLL_CLOEXEC);
    loop.monotonic = clock_monotonic();
    wheel_init(&loop.wheel, loop.monotonic);
    thread_self_set(&loop, 0);
    backends_n = 0;
    told = 0;
    return loop.poll.fd < 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < backends_n; i++) {
        close(backends[i].listener);
        while (backends[i].fillers_n)
            close(backends[i].fillers[--backends[i].fillers_n]);
    }
    apr_pool_destroy(pool);
    thread_self_end();
    return close(loop.poll.fd);
}

static unsigned idle(upstream_origin *o)
{
    unsigned sum = atomic_load(&o->workers.idle_n);

    for (int i = 0; i < upstream_pools(o); i++) {
        const upstream_pool *of_loop = atomic_load(&o->pool[i]);

        sum += of_loop ? atomic_load(&of_loop->idle_n) : 0;
    }
    return sum;
}

static void origin_over(upstream_origin *o)
{
    assert_int_equal(atomic_load(&o->open), 0);
    free(atomic_load(&o->addresses));
}

static void test_the_first_that_answers(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    listens();
    listens();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    assert_int_equal(connected(cc), APR_SUCCESS);
    assert_int_equal(leads_to(cc), 0);
    assert_null(cc->race);
    time_passes(2 * UPSTREAM_RACE_US); /* nothing is to be tried any more */
    assert_int_equal(leads_to(cc), 0);
    upstream_close(cc);
    origin_over(o);
}

static void test_refused_ones_are_passed_over(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    refuses();
    refuses();
    listens();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    assert_int_equal(connected(cc), APR_SUCCESS);
    assert_int_equal(leads_to(cc), 2);
    upstream_close(cc);
    origin_over(o);
}

static void test_a_silent_one_is_not_waited_for(void **state)
{
    unsigned before;
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    is_silent();
    listens();
    before = descriptors();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    assert_int_equal(upstream_go(cc), APR_EAGAIN);
    time_passes(UPSTREAM_RACE_US / 2);
    assert_null(cc->race);
    time_passes(UPSTREAM_RACE_US);
    assert_non_null(cc->race);
    turn(1000);
    assert_true(told > 0);
    assert_int_equal(connected(cc), APR_SUCCESS);
    assert_int_equal(leads_to(cc), 1);
    assert_string_equal(cc->peer, "127.0.0.1");
    assert_null(cc->race);
    assert_int_equal(descriptors(), before + 1);
    upstream_close(cc);
    assert_int_equal(descriptors(), before);
    origin_over(o);
}

static void test_one_that_fails_makes_room_for_the_next(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    is_silent();
    refuses();
    listens();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    time_passes(
        2 *
        UPSTREAM_RACE_US); /* the second begins, and fails; the third does not wait for its time */
    assert_int_equal(connected(cc), APR_SUCCESS);
    assert_int_equal(leads_to(cc), 2);
    upstream_close(cc);
    origin_over(o);
}

static void test_two_silent_ones(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    is_silent();
    is_silent();
    listens();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    time_passes(2 * UPSTREAM_RACE_US);
    assert_int_equal(upstream_go(cc), APR_EAGAIN);
    time_passes(2 * UPSTREAM_RACE_US);
    assert_int_equal(connected(cc), APR_SUCCESS);
    assert_int_equal(leads_to(cc), 2);
    upstream_close(cc);
    origin_over(o);
}

static void test_all_fail(void **state)
{
    unsigned before;
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    refuses();
    refuses();
    before = descriptors();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    assert_int_equal(connected(cc), ECONNREFUSED);
    assert_int_equal(cc->failure, UPSTREAM_NO_CONNECT);
    assert_int_equal(descriptors(), before);
    upstream_close(cc);
    origin_over(o);
}

static void test_given_up_in_the_middle(void **state)
{
    unsigned before;
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    is_silent();
    is_silent();
    before = descriptors();
    cc = opened(o = origin((upstream_settings){0}), &loop);
    time_passes(2 * UPSTREAM_RACE_US);
    assert_int_equal(upstream_go(cc), APR_EAGAIN);
    assert_int_equal(descriptors(), before + 2);
    upstream_close(cc);
    assert_int_equal(descriptors(), before);
    time_passes(10 * UPSTREAM_RACE_US);
    origin_over(o);
}

static void test_a_worker(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;
    apr_status_t rv;

    (void)state;
    is_silent();
    listens();
    cc = opened(o = origin((upstream_settings){0}), NULL);
    while ((rv = upstream_go(cc)) == APR_EAGAIN)
        assert_int_equal(upstream_wait(cc, upstream_wants(cc), apr_time_from_sec(60)), APR_SUCCESS);
    assert_int_equal(rv, APR_SUCCESS);
    assert_int_equal(leads_to(cc), 1);
    upstream_close(cc);
    origin_over(o);
}

static void test_a_worker_waits_no_longer_than_it_may(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;
    apr_status_t rv = APR_SUCCESS;

    (void)state;
    is_silent();
    is_silent();
    cc = opened(o = origin((upstream_settings){0}), NULL);
    for (int i = 0; i < 100 && upstream_go(cc) == APR_EAGAIN && rv == APR_SUCCESS; i++)
        rv = upstream_wait(cc, upstream_wants(cc), 2 * UPSTREAM_RACE_US);
    assert_int_equal(rv, APR_TIMEUP);
    upstream_close(cc);
    origin_over(o);
}

static void test_kept_and_taken(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;
    int other;

    (void)state;
    listens();
    o = origin((upstream_settings){.reuse = 1});
    cc = opened(o, &loop);
    assert_int_equal(connected(cc), APR_SUCCESS);
    other = accept(backends[0].listener, NULL, NULL);
    assert_null(upstream_take(o, &loop));
    upstream_keep(cc);
    assert_int_equal(idle(o), 1);
    assert_ptr_equal(upstream_take(o, &loop), cc);
    assert_int_equal(cc->uses, 2);
    upstream_keep(cc);
    close(other); /* its event closes ours */
    turn(1000);
    assert_int_equal(idle(o), 0);
    assert_null(upstream_take(o, &loop));
    origin_over(o);
}

/* Workers have a place of their own, whose connections are looked at when they are taken. */
static void test_kept_and_taken_by_workers(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;
    int other;

    (void)state;
    listens();
    o = origin((upstream_settings){.reuse = 1});
    cc = opened(o, NULL);
    while (upstream_go(cc) == APR_EAGAIN)
        assert_int_equal(upstream_wait(cc, upstream_wants(cc), apr_time_from_sec(60)), APR_SUCCESS);
    other = accept(backends[0].listener, NULL, NULL);
    upstream_keep(cc);
    assert_int_equal(idle(o), 1);
    assert_int_equal(atomic_load(&o->gauges->idle), 1);
    assert_ptr_equal(upstream_take(o, NULL), cc);
    assert_int_equal(cc->uses, 2);
    upstream_keep(cc);
    close(other);
    assert_null(upstream_take(o, NULL));
    assert_int_equal(idle(o), 0);
    origin_over(o);
}

/* An origin of one request is there as long as either the request or a connection. */
static void test_of_one_request(void **state)
{
    upstream_settings conf = {.server = &server, .host = "127.0.0.1"};
    upstream_ticket ticket = {.notify = on_told, .baton = &loop};
    upstream_conn *cc;
    upstream_origin *o;
    apr_pool_t *request;

    (void)state;
    listens();
    conf.port = ntohs(((struct sockaddr_in *)(void *)&backends[0].address.to)->sin_port);
    for (int request_first = 0; request_first < 2; request_first++) {
        apr_pool_create(&request, pool);
        o = upstream_origin_once(request, &conf);
        assert_int_equal(atomic_load(&o->refs), 1);
        assert_int_equal(upstream_open(o, &loop, &ticket, &cc), APR_SUCCESS);
        assert_int_equal(connected(cc), APR_SUCCESS);
        if (request_first)
            apr_pool_destroy(request);
        assert_int_equal(atomic_load(&o->refs), request_first ? 1 : 2);
        upstream_close(cc);
        if (!request_first) {
            assert_int_equal(atomic_load(&o->refs), 1);
            apr_pool_destroy(request);
        }
    }
}

/* Edge-triggered: the event that told of the end came while somebody had the connection. */
static void test_an_end_that_was_told_before(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;
    int other;

    (void)state;
    listens();
    o = origin((upstream_settings){.reuse = 1});
    for (int bytes = 0; bytes < 2; bytes++) {
        cc = opened(o, &loop);
        assert_int_equal(connected(cc), APR_SUCCESS);
        other = accept(backends[0].listener, NULL, NULL);
        if (bytes)
            assert_int_equal(write(other, "x", 1), 1);
        else
            close(other);
        told = 0;
        while (!told)
            turn(1000);
        upstream_keep(cc);
        assert_int_equal(atomic_load(&o->open), 0);
        if (bytes)
            close(other);
    }
    origin_over(o);
}

static void test_idle_ones_end_by_their_time(void **state)
{
    upstream_origin *o;
    upstream_conn *cc;

    (void)state;
    listens();
    o = origin((upstream_settings){.reuse = 1, .ttl = apr_time_from_sec(5)});
    cc = opened(o, &loop);
    assert_int_equal(connected(cc), APR_SUCCESS);
    upstream_keep(cc);
    time_passes(apr_time_from_sec(4));
    assert_int_equal(idle(o), 1);
    time_passes(apr_time_from_sec(2));
    assert_int_equal(idle(o), 0);
    origin_over(o);
}

static void test_as_many_as_may(void **state)
{
    upstream_ticket ticket = {.notify = on_told, .baton = &loop};
    upstream_origin *o;
    upstream_conn *cc, *none;

    (void)state;
    listens();
    o = origin((upstream_settings){.reuse = 1, .max = 1});
    cc = opened(o, &loop);
    assert_int_equal(connected(cc), APR_SUCCESS);
    assert_int_equal(upstream_open(o, &loop, &ticket, &none), APR_EAGAIN);
    assert_null(none);
    told = 0;
    upstream_keep(cc);
    assert_int_equal(told, 1);
    assert_ptr_equal(upstream_take(o, &loop), cc);
    upstream_close(cc);
    origin_over(o);
}

/* The connection that ends is a worker's: the loop hears that there is room. */
static void test_room_that_a_worker_leaves(void **state)
{
    upstream_ticket ticket = {.notify = on_told, .baton = &loop};
    upstream_origin *o;
    upstream_conn *cc, *none;

    (void)state;
    listens();
    loop.poll.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    o = origin((upstream_settings){.reuse = 1, .max = 1});
    cc = opened(o, NULL);
    thread_self_set(&loop, 0);
    assert_int_equal(upstream_open(o, &loop, &ticket, &none), APR_EAGAIN);
    told = 0;
    upstream_close(cc);
    loop_take_notes(&loop);
    assert_int_equal(told, 1);
    close(loop.poll.wake_fd);
    origin_over(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_that_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_ones_are_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_silent_one_is_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_that_fails_makes_room_for_the_next, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_two_silent_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_up_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_worker_waits_no_longer_than_it_may, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_and_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_and_taken_by_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_of_one_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_end_that_was_told_before, setup, teardown),
        cmocka_unit_test_setup_teardown(test_idle_ones_end_by_their_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_many_as_may, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room_that_a_worker_leaves, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
