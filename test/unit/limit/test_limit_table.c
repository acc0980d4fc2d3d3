/* SPDX-License-Identifier: Apache-2.0 */
/* The table of limits: rates, counts, their bounds, and several processes and threads at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apr_general.h"
#include "limit_table.h"

#define KEYS 4096
#define PROCESSES 3
#define MS UINT64_C(1000000)
#define S (1000 * MS)

static limit_table table;
static void *memory;

static int fresh(void **state)
{
    const size_t bytes = limit_table_bytes(KEYS, PROCESSES);

    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(limit_table_open(&table, memory, KEYS, PROCESSES), 0);
    return 0;
}

static int end(void **state)
{
    munmap(memory, limit_table_bytes(KEYS, PROCESSES));
    return 0;
}

static uint64_t key_of(uint64_t n)
{
    const uint64_t key = universal_hash_by(&table.header->secret, n, "", 0, "", 0);

    return key ? key : 1;
}

static int take(uint64_t n, uint64_t burst, uint64_t now)
{
    return limit_rate_takes(&table, key_of(n), 10 * MS, burst * 10 * MS, now);
}

static void test_a_burst_and_then_the_rate(void **state)
{
    uint64_t ahead, now = 5 * S;

    for (int i = 0; i < 6; i++)
        assert_true(take(1, 5, now));
    assert_false(take(1, 5, now));
    assert_false(limit_rate_take(&table, key_of(1), 10 * MS, 50 * MS, now, &ahead));
    assert_int_equal(ahead, 10 * MS); /* then there is room for one */
    assert_false(take(1, 5, now + 10 * MS - 1));
    assert_true(take(1, 5, now + 10 * MS));
    assert_false(take(1, 5, now + 10 * MS));
    assert_true(take(2, 5, now)); /* another key */
}

/* What a long silence saves up is the burst, and no more. */
static void test_silence_saves_no_more_than_the_burst(void **state)
{
    int taken = 0;

    assert_true(take(1, 3, 1));
    while (taken < 100 && take(1, 3, 1000 * S))
        taken++;
    assert_int_equal(taken, 4);
}

/* Random requests in random time: never more than rate and burst allow, in any window from the beginning. */
static void test_never_more_than_rate_and_burst(void **state)
{
    unsigned seed = 11;
    uint64_t now = S, taken = 0;

    for (int i = 0; i < 200000; i++) {
        now += (uint64_t)(rand_r(&seed) % 4) * MS;
        taken += (uint64_t)take(7, 20, now);
        assert_true(taken <= 21 + (now - S) / (10 * MS));
    }
    assert_true(taken >= (now - S) / (10 * MS)); /* and it is used up, since more is asked for */
}

static void test_charged_bytes_are_ahead(void **state)
{
    assert_int_equal(limit_rate_charge(&table, key_of(1), S, 10 * S), 0);
    assert_int_equal(limit_rate_charge(&table, key_of(1), S, 10 * S), S);
    assert_int_equal(limit_rate_ahead(&table, key_of(1), 11 * S), S);
    assert_int_equal(limit_rate_ahead(&table, key_of(1), 13 * S), 0);
    assert_int_equal(limit_rate_ahead(&table, key_of(2), 10 * S), 0);
}

/* Ten million keys pass by: the table stays as it is, and the key that owes most keeps its place. */
static void test_ten_million_keys(void **state)
{
    for (int i = 0; i < 2000; i++)
        (void)take(1, 1000, S);
    assert_false(take(1, 1000, S));
    for (uint64_t i = 2; i < 10000000; i++)
        assert_true(take(i, 3, S));
    assert_false(take(1, 1000, S));
    assert_true(atomic_load(&table.header->displaced) > 9000000);
}

/* Keys of an attack do not take the places of others that were not asked for longer: those paid for go first. */
static void test_what_is_paid_for_gives_way_first(void **state)
{
    for (uint64_t i = 0; i < KEYS / 4; i++)
        assert_true(take(i, 3, S));
    for (uint64_t i = KEYS; i < KEYS + KEYS / 4; i++)
        assert_true(take(i, 3, 2 * S));
    assert_true(atomic_load(&table.header->displaced) < KEYS / 16);
}

/* ---- counts ---- */

static void test_counts(void **state)
{
    uint32_t place[4];

    for (int i = 0; i < 3; i++) {
        assert_true(limit_count_enter(&table, key_of(1), 3, 0, &place[i]));
        assert_true(place[i] != 0);
    }
    assert_false(limit_count_enter(&table, key_of(1), 3, 0, &place[3]));
    assert_int_equal(limit_count_of(&table, key_of(1)), 3);
    assert_true(limit_count_enter(&table, key_of(2), 1, 0, &place[3]));
    limit_count_leave(&table, 0, place[0]);
    assert_int_equal(limit_count_of(&table, key_of(1)), 2);
    assert_true(limit_count_enter(&table, key_of(1), 3, 0, &place[0]));
    assert_false(limit_count_enter(&table, key_of(1), 3, 0, &place[0]));
}

static void test_who_holds_a_place_keeps_it(void **state)
{
    uint32_t place, kept = 0;

    for (uint64_t i = 0; i < 100 * (uint64_t)KEYS; i++) {
        assert_true(limit_count_enter(&table, key_of(i), 1, 0, &place));
        kept += place != 0;
    }
    assert_int_equal(kept, KEYS / 4); /* as many as there are places */
    assert_int_equal(atomic_load(&table.header->unkept), 100 * KEYS - KEYS / 4);
}

static void test_a_process_that_died_holds_nothing(void **state)
{
    uint32_t place;

    for (int i = 0; i < 5; i++)
        assert_true(limit_count_enter(&table, key_of(1), 9, (uint32_t)(i % 2), &place));
    limit_count_forget(&table, 0);
    assert_int_equal(limit_count_of(&table, key_of(1)), 2);
    limit_count_forget(&table, 0);
    limit_count_forget(&table, PROCESSES + 5); /* there is none */
    assert_int_equal(limit_count_of(&table, key_of(1)), 2);
}

/* ---- together ---- */

#define TOGETHER 100000

static void *many_takes(void *data)
{
    uintptr_t taken = 0;

    for (int i = 0; i < TOGETHER; i++)
        taken += (uintptr_t)take(1, TOGETHER / 2, S);
    return (void *)taken;
}

/* Two processes of two threads each ask for one key: as many are let in as there may be. */
static void test_processes_count_together(void **state)
{
    _Atomic uintptr_t *sum =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[2];

    assert_ptr_not_equal(sum, MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (!children[i]) {
            pthread_t thread;
            void *mine, *its;

            if (pthread_create(&thread, NULL, many_takes, NULL))
                _exit(1);
            mine = many_takes(NULL);
            pthread_join(thread, &its);
            atomic_fetch_add(sum, (uintptr_t)mine + (uintptr_t)its);
            _exit(0);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    /* Who lost a race eight times in a row is let in, uncounted: seldom. */
    assert_in_range(atomic_load(sum), TOGETHER / 2 + 1, TOGETHER / 2 + 1 + TOGETHER / 100);
    munmap((void *)sum, 4096);
}

static void *many_visits(void *data)
{
    unsigned seed = (unsigned)(uintptr_t)data;

    for (int i = 0; i < TOGETHER; i++) {
        const uint64_t key = key_of((uint64_t)rand_r(&seed) % 5000);
        uint32_t place;

        if (limit_count_enter(&table, key, 2, (uint32_t)(uintptr_t)data % PROCESSES, &place) &&
            place)
            limit_count_leave(&table, (uint32_t)(uintptr_t)data % PROCESSES, place);
    }
    return NULL;
}

static void test_all_that_came_have_left(void **state)
{
    pthread_t thread[4];

    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, many_visits, (void *)i), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < table.count_sets * LIMIT_WAYS; i++)
        assert_int_equal(atomic_load(&table.counts[i].value), 0);
}

/* ---- memory that was left, figures ---- */

static void test_what_was_left_counts_on(void **state)
{
    limit_table again;
    uint64_t ahead;

    for (int i = 0; i < 6; i++)
        assert_true(take(1, 5, S));
    assert_int_equal(limit_table_open(&again, memory, KEYS, PROCESSES), 0);
    assert_false(limit_rate_take(&again, key_of(1), 10 * MS, 50 * MS, S, &ahead));
}

static void test_rows(void **state)
{
    unsigned char taken[LIMIT_ROWS] = {0}, again[LIMIT_ROWS] = {0};

    for (uint64_t i = 1; i <= LIMIT_ROWS; i++)
        assert_int_equal(limit_row_of(&table, i, "name", taken), i - 1);
    assert_int_equal(limit_row_of(&table, 1000, "name", taken), -1);
    assert_int_equal(limit_row_of(&table, 7, "name", again), 6); /* as before */
    atomic_store(&table.header->row[0].refused, 9);
    assert_int_equal(limit_row_of(&table, 1000,
                                  "a name that is much too long for the room that there is", again),
                     0);
    assert_int_equal(atomic_load(&table.header->row[0].refused), 0);
    assert_true(strlen(table.header->row[0].name) < LIMIT_NAME_ROOM);
}

static uint64_t asked_of(const char *text, uint64_t now)
{
    limit_busy busy[LIMIT_BUSY];
    const int n = limit_busy_get(&table, busy, now);

    for (int i = 0; i < n; i++)
        if (!strcmp(busy[i].text, text))
            return busy[i].asked;
    return 0;
}

static void test_the_busiest_stay_among_thousands(void **state)
{
    unsigned seed = 7, mine = 0;

    for (int i = 0; i < 100000; i++) {
        const int is_mine = rand_r(&seed) % 5 == 0;
        const uint64_t n = is_mine ? 1 : 2 + (uint64_t)rand_r(&seed) % 50000;

        mine += (unsigned)is_mine;
        limit_busy_note(&table, n, 0, is_mine ? "mine" : "other", is_mine ? 4 : 5, 1, 0, S);
    }
    assert_true(asked_of("mine", S) >= mine);
    assert_in_range(asked_of("mine", 601 * S), mine / 3, 2 * mine / 3); /* ten minutes later */
    assert_int_equal(asked_of("mine", 100000 * S), 0);
}

static void test_long_texts_and_a_holder_that_died(void **state)
{
    char text[500];

    memset(text, 'x', sizeof text);
    limit_busy_note(&table, 1, 0, text, sizeof text, 1, 1, S);
    text[LIMIT_TEXT_ROOM - 1] = '\0';
    assert_int_equal(asked_of(text, S), 1);
    atomic_store(&table.header->taken, (int64_t)S);
    assert_int_equal(asked_of(text, S + 1), 0); /* somebody has it */
    assert_int_equal(asked_of(text, 3 * S), 1); /* who is gone */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, fresh, end)
        T(test_a_burst_and_then_the_rate),
        T(test_silence_saves_no_more_than_the_burst),
        T(test_never_more_than_rate_and_burst),
        T(test_charged_bytes_are_ahead),
        T(test_ten_million_keys),
        T(test_what_is_paid_for_gives_way_first),
        T(test_counts),
        T(test_who_holds_a_place_keeps_it),
        T(test_a_process_that_died_holds_nothing),
        T(test_processes_count_together),
        T(test_all_that_came_have_left),
        T(test_what_was_left_counts_on),
        T(test_rows),
        T(test_the_busiest_stay_among_thousands),
        T(test_long_texts_and_a_holder_that_died),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
