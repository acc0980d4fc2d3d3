/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes, also such as die at any step or write what they like: nothing torn is found. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_store.h"

static void child_ends(pid_t pid, int how)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == how);
    store_process_ended(f.s, pid);
}

static void test_two_processes(void **state)
{
    pid_t pid;

    (void)state;
    pid = fork();
    if (!pid) {
        f.r = store_reader_open(f.s);
        _exit(f.r && !put("http://child/", 12345) && !put("http://child/2", 2000000) ? 0 : 1);
    }
    child_ends(pid, 0);
    assert_int_equal(has(f.r, "http://child/", 12345), 0);
    assert_int_equal(has(f.r, "http://child/2", 2000000), 0);
}

/* Writers and readers in four processes, for some thousand rounds: what is found is right. */
static void test_many_at_once(void **state)
{
    pid_t pid[4];

    (void)state;
    for (int p = 0; p < 4; p++) {
        pid[p] = fork();
        if (pid[p])
            continue;
        f.r = store_reader_open(f.s);
        srand((unsigned)p + 1);
        for (int i = 0; i < 2000; i++) {
            const int which = rand() % 150;
            const uint64_t length = (uint64_t)which * (uint64_t)which * 40;
            char text[40];
            store_key key;
            uint32_t flight;

            snprintf(text, sizeof text, "http://a/%d", which);
            key = key_of(text);
            if (has(f.r, text, length) < -1)
                _exit(1);
            if (rand() % 100 == 0)
                store_purge_mark(f.s, store_mark_of_key(&key), 0);
            if (rand() % 3 == 0 && store_flight_begin(f.r, &key, 0, NOW, &flight) == STORE_LEAD) {
                const store_head head = head_of(text, rand() & 1 ? length : STORE_LENGTH_UNKNOWN);

                if (put_with(&head, length, flight))
                    store_flight_end(f.r, flight, 0);
            }
        }
        _exit(0);
    }
    for (int p = 0; p < 4; p++)
        child_ends(pid[p], 0);
}

/* A process that was taken over may write what it likes: others read nothing beyond the memory. */
static void test_hostile_memory(void **state)
{
    const size_t tables = (size_t)((char *)f.s->pin - f.s->base);

    (void)state;
    srand(5);
    for (int round = 0; round < 300; round++) {
        char text[40];

        for (int i = 0; i < 50; i++) {
            snprintf(text, sizeof text, "http://a/%d", i);
            put(text, 3000);
        }
        for (int i = 0; i < 200; i++) {
            char *at = rand() & 1 ? f.s->data + (size_t)rand() % (2 * STORE_SEGMENT)
                                  : f.s->base + sizeof(store_shared) +
                                        (size_t)rand() % (tables - sizeof(store_shared));

            *at = (char)rand();
        }
        for (int i = 0; i < 50; i++) {
            const char *p;
            store_found found;
            store_key key;
            int lost;

            snprintf(text, sizeof text, "http://a/%d", i);
            key = key_of(text);
            store_find(f.other, &key, NOW, &found);
            if (found.view.reader) {
                uint64_t off = 0;
                size_t n, sum = 0;

                for (int k = 0; k < 100 && (n = store_body(&found.view, off, &p, &lost));
                     k++, off += n)
                    for (size_t b = 0; b < n; b++)
                        sum += (unsigned char)p[b];
                assert_true(sum < SIZE_MAX);
                store_release(&found.view);
            }
        }
        store_each(f.other, see, &(seen){0});
    }
}

#ifdef BRG_DEBUG_ASSERTIONS
static int steps_left;

static void die_at_step(const char *where)
{
    (void)where;
    if (!steps_left--)
        _exit(7);
}

/* A life in which each step is taken: writes of all kinds, purges, eviction. */
static void live(void)
{
    const store_key key = key_of("http://led/");
    uint32_t flight;
    char text[40];
    store_head head;
    store_found found;

    if (store_flight_begin(f.r, &key, 0, NOW, &flight) == STORE_LEAD) {
        head = head_of("http://led/", STORE_LENGTH_UNKNOWN);
        put_with(&head, 100000, flight);
    }
    head = head_of("http://long/", STORE_LENGTH_UNKNOWN);
    put_with(&head, 1500000, 0);
    if (store_find(f.r, &key, NOW, &found)) {
        if (found.view.reader)
            store_write_refreshed(f.r, &head, &found.view, 0);
        store_release(&found.view);
    }
    for (int i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        put(text, 400000);
        has(f.r, text, 400000);
        if (i == 15) {
            store_purge_mark(f.s, store_mark_of_key(&key), i & 1);
            store_purge_prefix(f.s, "http://lo", 9, 0);
        }
    }
}

/* Nobody may find anything that is not whole, wait for the dead, or lose memory for good. */
static void check_after_death(int step)
{
    const store_key key = key_of("http://led/");
    uint32_t flight;
    char text[40];
    int found;

    found = has(f.r, "http://led/", 100000);
    if (found < -1)
        fail_msg("torn at step %d", step);
    if (has(f.r, "http://long/", 1500000) < -1)
        fail_msg("torn at step %d", step);
    for (int i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "http://a/%d", i);
        if (has(f.r, text, 400000) < -1)
            fail_msg("%s is torn at step %d", text, step);
    }
    if (store_flight_begin(f.r, &key, 0, NOW, &flight) != STORE_LEAD)
        fail_msg("no lead behind step %d", step);
    store_flight_end(f.r, flight, 0);
    for (int i = 0; i < 12; i++) {
        snprintf(text, sizeof text, "http://b/%d", i);
        if (put(text, 500000))
            fail_msg("no memory behind step %d", step);
        if (has(f.r, text, 500000) != 0)
            fail_msg("lost behind step %d", step);
    }
}

static void test_killed_at_each_step(void **state)
{
    int steps = 0, ended = 0;

    (void)state;
    for (; !ended && steps < 3000; steps += steps < 100 ? 1 : 29) {
        int status;
        const pid_t pid = fork();

        if (!pid) {
            f.r = store_reader_open(f.s);
            steps_left = steps;
            store_test_step = die_at_step;
            live();
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        ended = WEXITSTATUS(status) == 0;
        store_process_ended(f.s, pid);
        check_after_death(steps);
    }
    assert_true(ended && steps > 100);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_two_processes),
        T(test_many_at_once),
        T(test_hostile_memory),
#ifdef BRG_DEBUG_ASSERTIONS
        T(test_killed_at_each_step),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
