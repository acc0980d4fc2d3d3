/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of any kind in a loop's poll set, and that a removed one is not called any more. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "loop.h"

typedef struct user {
    struct loop_io io;
    int ends[2];
    unsigned calls;
    uint32_t events;
    struct user *removes; /* another one that is taken out by the first call */
} user;

static brg_loop loop;

static void user_ready(struct loop_io *io, uint32_t events)
{
    user *u = loop_io_of(io, user, io);

    u->calls++;
    u->events = events;
    if (u->removes) {
        assert_int_equal(loop_io_remove(&loop, &u->removes->io, u->removes->ends[0]), 0);
        memset(&u->removes->io, 0, sizeof u->removes->io); /* as if it were freed */
        u->removes = NULL;
    }
}

static void user_begin(user *u)
{
    memset(u, 0, sizeof *u);
    u->io.ready = user_ready;
    assert_int_equal(pipe(u->ends), 0);
    assert_int_equal(loop_io_add(&loop, &u->io, u->ends[0], EPOLLIN), 0);
}

static void user_end(user *u)
{
    close(u->ends[0]);
    close(u->ends[1]);
}

static int turn(void)
{
    struct epoll_event events[LOOP_EVENTS];
    int n = epoll_wait(loop.poll.fd, events, LOOP_EVENTS, 0);

    loop_io_run(&loop, events, n);
    return n;
}

static int setup(void **state)
{
    memset(&loop, 0, sizeof loop);
    loop.poll.fd = epoll_create1(EPOLL_CLOEXEC);
    return loop.poll.fd < 0;
}

static int teardown(void **state)
{
    return close(loop.poll.fd);
}

static void test_events_reach_their_owner(void **state)
{
    user a, b;

    user_begin(&a);
    user_begin(&b);
    assert_int_equal(turn(), 0);
    assert_int_equal(write(b.ends[1], "x", 1), 1);
    assert_int_equal(turn(), 1);
    assert_int_equal(a.calls, 0);
    assert_int_equal(b.calls, 1);
    assert_int_equal(b.events, EPOLLIN);
    user_end(&a);
    user_end(&b);
}

static void test_change(void **state)
{
    user a;

    user_begin(&a);
    assert_int_equal(write(a.ends[1], "x", 1), 1);
    assert_int_equal(loop_io_change(&loop, &a.io, a.ends[0], 0), 0);
    assert_int_equal(turn(), 0);
    assert_int_equal(loop_io_change(&loop, &a.io, a.ends[0], EPOLLIN), 0);
    assert_int_equal(turn(), 1);
    user_end(&a);
}

static void test_removed_in_the_same_turn(void **state)
{
    user a, b;

    user_begin(&a);
    user_begin(&b);
    a.removes = &b;
    b.removes = &a; /* whichever comes first takes the other out */
    assert_int_equal(write(a.ends[1], "x", 1), 1);
    assert_int_equal(write(b.ends[1], "x", 1), 1);
    assert_int_equal(turn(), 2);
    assert_int_equal(a.calls + b.calls, 1);
    user_end(&a);
    user_end(&b);
}

static void test_errors_are_told(void **state)
{
    user a;

    user_begin(&a);
    assert_int_not_equal(loop_io_add(&loop, &a.io, a.ends[0], EPOLLIN), 0);
    assert_int_equal(loop_io_remove(&loop, &a.io, a.ends[0]), 0);
    assert_int_not_equal(loop_io_remove(&loop, &a.io, a.ends[0]), 0);
    user_end(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_reach_their_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_in_the_same_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors_are_told, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
