/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's table of processes, with entries that have no process (test_supervisor_children.c has processes):
 * which index is served, when the next is due, who is told to end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <apr_general.h>
#include "http_main.h"
#include "scores.h"
#include "supervisor_parts.h"

#define PROCESSES 4
#define NO_PROCESS 0x7ffffff0 /* above any number that a process may have */

static sup_process process[PROCESSES];
static int ends[PROCESSES][2];

/* One process per index, of the current generation, none of them up. */
static int setup(void **state)
{
    memset(process, 0, sizeof process);
    sup_processes = NULL;
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends[i]), 0);
        process[i] = (sup_process){.next = sup_processes,
                                   .pid = NO_PROCESS + i,
                                   .index = i,
                                   .slot = i,
                                   .generation = mpm_generation,
                                   .fd = ends[i][0]};
        sup_processes = &process[i];
    }
    sup_children_want(PROCESSES);
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < PROCESSES; i++) {
        close(ends[i][1]);
        if (process[i].fd >= 0)
            close(process[i].fd);
    }
    sup_processes = NULL;
    sup_children_want(0);
    return 0;
}

static void say(int i, char what)
{
    assert_int_equal(send(ends[i][1], &what, 1, 0), 1);
    sup_children_hear(&process[i]);
}

static char order(int i)
{
    char c = 0;

    return recv(ends[i][1], &c, 1, 0) == 1 ? c : 0;
}

static void test_complete_when_all_are_up(void **state)
{
    for (int i = 0; i < PROCESSES; i++) {
        assert_false(sup_children_complete());
        say(i, SERVER_UP);
    }
    assert_true(sup_children_complete());
    assert_int_equal(sup_children_due(), 0);
}

/* A worn process leaves its index, serves on, and is told to go when its successor is up. */
static void test_worn_process_waits_for_its_successor(void **state)
{
    sup_process next = {.index = 1, .slot = 9, .generation = mpm_generation, .fd = -1};

    for (int i = 0; i < PROCESSES; i++)
        say(i, SERVER_UP);
    say(1, SERVER_WORN);
    assert_false(sup_children_complete());
    assert_true(sup_children_due() != 0);
    sup_children_retire();
    assert_false(process[1].stopping);
    next.next = sup_processes;
    sup_processes = &next;
    sup_children_want(PROCESSES);
    sup_children_retire();
    assert_false(process[1].stopping);
    next.up = 1;
    sup_children_retire();
    assert_true(process[1].stopping);
    assert_int_equal(order(1), SUP_GRACEFUL);
    assert_true(sup_children_complete());
}

/* However fast it is: a piece is read at a time, and there is an end. */
static void test_a_process_that_says_too_much_is_killed(void **state)
{
    char flood[4096];

    memset(flood, SERVER_UP, sizeof flood);
    assert_true(send(ends[1][1], flood, sizeof flood, MSG_DONTWAIT) > 0);
    sup_children_hear(&process[1]);
    assert_true(process[1].fd >= 0 && process[1].up);
    sup_children_hear(&process[1]);
    assert_int_equal(process[1].fd, -1);
    say(0, SERVER_UP);
    say(0, 'x');
    assert_true(process[0].fd >= 0 && process[0].up);
}

static void test_fewer_are_wanted(void **state)
{
    for (int i = 0; i < PROCESSES; i++)
        say(i, SERVER_UP);
    sup_children_scale(2);
    assert_int_equal(order(0), 0);
    assert_int_equal(order(2), SUP_GRACEFUL);
    assert_int_equal(order(3), SUP_GRACEFUL);
    assert_true(sup_children_complete());
    sup_children_scale(3);
    assert_false(sup_children_complete());
    assert_true(sup_children_due() != 0);
}

/* Processes of another generation serve no index of this one. */
static void test_other_generation(void **state)
{
    for (int i = 0; i < PROCESSES; i++)
        process[i].generation = mpm_generation - 1, process[i].up = 1;
    sup_children_want(PROCESSES);
    assert_false(sup_children_complete());
    sup_children_stop_all(mpm_generation, 0);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(order(i), SUP_TERMINATE);
}

/* A graceful end can be cut short, and is asked for once. */
static void test_stop(void **state)
{
    sup_children_stop(&process[0], 1);
    sup_children_stop(&process[0], 1);
    assert_int_equal(order(0), SUP_GRACEFUL);
    assert_int_equal(order(0), 0);
    sup_children_stop(&process[0], 0);
    assert_int_equal(order(0), SUP_TERMINATE);
}

/* Messages need a pool. */
static int group_setup(void **state)
{
    apr_initialize();
    return apr_pool_create(&ap_pglobal, NULL);
}

static int group_teardown(void **state)
{
    apr_pool_destroy(ap_pglobal);
    ap_pglobal = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_complete_when_all_are_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_worn_process_waits_for_its_successor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_process_that_says_too_much_is_killed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_fewer_are_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_generation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
