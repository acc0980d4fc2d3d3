/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "figures.h"
#include "scores.h"
#include "kept_memory.h"
#include "ap_mpm.h"
#include "http_main.h"
#include "brigade/status.h"

#include <apr_general.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static apr_pool_t *pool;

static int set_up(void **state)
{
    static const scoreboard_limits limits = {.processes = 4, .threads = 6, .loops = 2};

    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    ap_pglobal = pool;
    scoreboard_set_limits(&limits);
    return ap_create_scoreboard(pool, SB_SHARED);
}

static int tear_down(void **state)
{
    (void)state;
    ap_cleanup_scoreboard(NULL);
    ap_pglobal = NULL;
    apr_pool_destroy(pool);
    return 0;
}

static void indexes_are_checked(void **state)
{
    worker_score copy;

    (void)state;
    assert_non_null(ap_get_scoreboard_worker_from_indexes(3, 5));
    assert_null(ap_get_scoreboard_worker_from_indexes(4, 0));
    assert_null(ap_get_scoreboard_worker_from_indexes(0, 6));
    assert_null(ap_get_scoreboard_worker_from_indexes(-1, 0));
    assert_null(ap_get_scoreboard_process(4));
    assert_null(scoreboard_loop_if(0, 2));
    assert_non_null(scoreboard_loop(0, 2)); /* somewhere harmless */
    assert_int_equal(ap_update_child_status_from_indexes(9, 9, SERVER_READY, NULL), -1);
    memset(&copy, 1, sizeof copy);
    ap_copy_scoreboard_worker(&copy, 9, 9);
    assert_int_equal(copy.status, 0);
}

static void entries_do_not_overlap(void **state)
{
    (void)state;
    for (int p = 0; p < 4; p++)
        for (int l = 0; l < 2; l++) {
            struct loop_score *s = scoreboard_loop(p, l);
            assert_int_equal((uintptr_t)s % LOOP_SCORE_LINE, 0);
            loop_score_set(&s->accesses, (uint64_t)p * 2 + (uint64_t)l);
            for (int t = 0; t < 6; t++)
                memset(ap_get_scoreboard_worker_from_indexes(p, t), 0x55, sizeof(worker_score));
            memset(ap_get_scoreboard_process(p), 0x55, sizeof(process_score));
        }
    for (int p = 0; p < 4; p++)
        for (int l = 0; l < 2; l++)
            assert_int_equal(loop_score_get(&scoreboard_loop(p, l)->accesses), p * 2 + l);
}

static void status_is_what_was_set(void **state)
{
    ap_sb_handle_t *sbh;
    worker_score copy;

    (void)state;
    scoreboard_slot_start(1, 4242, 3);
    ap_create_sb_handle(&sbh, pool, 1, 2);
    assert_int_equal(ap_update_child_status(sbh, SERVER_STARTING, NULL), SERVER_DEAD);
    assert_int_equal(ap_update_child_status(sbh, SERVER_READY, NULL), SERVER_STARTING);
    ap_extended_status = 1;
    assert_int_equal(ap_update_child_status_descr(sbh, SERVER_BUSY_WRITE, "a description"),
                     SERVER_READY);
    ap_extended_status = 0;
    ap_copy_scoreboard_worker(&copy, 1, 2);
    assert_int_equal(copy.status, SERVER_BUSY_WRITE);
    assert_int_equal(copy.pid, 4242);
    assert_int_equal(copy.generation, 3);
    assert_string_equal(copy.request, "a description");
    assert_int_equal(brg_status_letter(copy.status), 'W');
    assert_int_equal(brg_status_letter(-1), '?');
}

static void totals_outlive_processes(void **state)
{
    brg_status_totals totals;
    brg_status_process process;

    (void)state;
    for (int round = 1; round <= 3; round++) {
        scoreboard_slot_start(0, 100 + round, round);
        loop_score_add(&scoreboard_loop(0, 0)->accesses, 10);
        loop_score_add(&scoreboard_loop(0, 1)->bytes, 1000);
        assert_int_equal(brg_status_process_get(0, &process), 1);
        assert_int_equal(process.counts.accesses, 10);
        assert_int_equal(process.pid, 100 + round);
        assert_int_equal(brg_status_sum(&totals), 0);
        assert_int_equal(totals.counts.accesses, 10 * round);
        assert_int_equal(totals.counts.bytes, 1000 * round);
        assert_int_equal(totals.processes_n, 1);
        scoreboard_slot_end(0);
        assert_int_equal(brg_status_process_get(0, &process), 0);
    }
    assert_int_equal(brg_status_process_get(4, &process), -1);
}

static void more_room_keeps_what_counts(void **state)
{
    const scoreboard_limits more = {
        .processes = 9, .threads = 20, .loops = 5, .generation = 5, .totals_stay = 1};
    scoreboard_limits anew = more;
    uint64_t accesses, bytes;
    apr_time_t started = scoreboard_started();

    (void)state;
    scoreboard_slot_start(0, 1, 0);
    loop_score_add(&scoreboard_loop(0, 0)->accesses, 7);
    scoreboard_slot_end(0);
    ap_scoreboard_image->global->running_generation = 5;
    scoreboard_set_limits(&more);
    assert_int_equal(ap_create_scoreboard(pool, SB_SHARED), OK);
    scoreboard_ended_totals(&accesses, &bytes);
    assert_int_equal(accesses, 7);
    assert_int_equal(ap_scoreboard_image->global->running_generation, 5);
    assert_int_equal(ap_scoreboard_image->global->server_limit, 9);
    assert_true(scoreboard_started() == started);

    /* A restart: the old generation's processes end later, and do not count. */
    anew.totals_stay = 0;
    scoreboard_set_limits(&anew);
    assert_int_equal(ap_create_scoreboard(pool, SB_SHARED), OK);
    scoreboard_slot_start(0, 1, 4);
    loop_score_add(&scoreboard_loop(0, 0)->accesses, 3);
    scoreboard_slot_end(0);
    scoreboard_ended_totals(&accesses, &bytes);
    assert_int_equal(accesses, 0);
    assert_true(scoreboard_started() == started);
    assert_non_null(ap_get_scoreboard_worker_from_indexes(8, 19));
}

/* As at an upgrade: the memory stays, all that refers to it is forgotten. */
static void the_next_program_goes_on(void **state)
{
    uint64_t accesses, bytes;
    const kept_memory *k;

    (void)state;
    scoreboard_slot_start(0, 1, 0);
    loop_score_add(&scoreboard_loop(0, 0)->accesses, 7);
    scoreboard_slot_end(0);
    scoreboard_slot_start(2, 77, 0);
    loop_score_add(&scoreboard_loop(2, 1)->accesses, 3);
    ap_cleanup_scoreboard(NULL);
    assert_non_null(k = kept_memory_get(0));
    assert_memory_equal(k->name, "scoreboard-", 11);
    scoreboard_take_left();
    assert_true(ap_exists_scoreboard_image());
    scoreboard_ended_totals(&accesses, &bytes);
    assert_int_equal(accesses, 7);
    assert_int_equal(ap_get_scoreboard_process(2)->pid, 77);
    assert_int_equal(loop_score_get(&scoreboard_loop(2, 1)->accesses), 3);
    assert_int_equal(ap_scoreboard_image->global->server_limit, 4);
}

/* Of a layout that is not ours, or damaged: begun anew. */
static void what_cannot_be_understood_is_left(void **state)
{
    scoreboard_limits *limits = NULL;
    size_t bytes;
    char *memory;

    (void)state;
    ap_cleanup_scoreboard(NULL);
    memory = kept_memory_map_left(kept_memory_get(0)->name, &bytes);
    assert_non_null(memory);
    for (size_t i = 0; !limits && i < 4096; i += sizeof(int))
        if (!memcmp(memory + i, &(int[]){4, 6, 2}, 3 * sizeof(int)))
            limits = (scoreboard_limits *)(void *)(memory + i);
    assert_non_null(limits);
    limits->processes = 1 << 30;
    scoreboard_take_left();
    assert_false(ap_exists_scoreboard_image());
    assert_int_equal(set_up(NULL), 0);
}

static void other_processes_see_it(void **state)
{
    int status;
    pid_t child;

    (void)state;
    scoreboard_slot_start(2, 1, 0);
    if ((child = fork()) == 0) {
        loop_score_add(&scoreboard_loop(2, 1)->accesses, 3);
        ap_update_child_status_from_indexes(2, 4, SERVER_CLOSING, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(loop_score_get(&scoreboard_loop(2, 1)->accesses), 3);
    assert_int_equal(ap_get_scoreboard_worker_from_indexes(2, 4)->status, SERVER_CLOSING);
}

/* A reader never sees a string without an end, whatever the writer is at. */
static void *write_strings(void *baton)
{
    ap_sb_handle_t *sbh = baton;

    for (int i = 0; i < 2000; i++)
        ap_update_child_status_descr(sbh, SERVER_READY,
                                     i % 2 ? "x"
                                           : "a very long description that does not fit into "
                                             "the sixty-four bytes that there are for it");
    return NULL;
}

static void strings_always_end(void **state)
{
    ap_sb_handle_t *sbh;
    worker_score copy;
    pthread_t writer;

    (void)state;
    ap_extended_status = 1;
    ap_create_sb_handle(&sbh, pool, 0, 0);
    assert_int_equal(pthread_create(&writer, NULL, write_strings, sbh), 0);
    for (int i = 0; i < 2000; i++) {
        ap_copy_scoreboard_worker(&copy, 0, 0);
        assert_true(strlen(copy.request) < sizeof copy.request);
    }
    pthread_join(writer, NULL);
    ap_extended_status = 0;
}

/* ---- processors ---- */

typedef struct written {
    const char *from;
    size_t len;
} written;

/* The first and the last line of it. */
static uintptr_t first_line(const written *w)
{
    return (uintptr_t)w->from / LOOP_SCORE_LINE;
}

static uintptr_t last_line(const written *w)
{
    return ((uintptr_t)w->from + w->len - 1) / LOOP_SCORE_LINE;
}

/* Each has one writer, or one kind of writers: those of two have no line in common, so that no processor waits for
 * another one's counts. */
static void writers_share_no_line(void **state)
{
    enum { LOOPS = 2, PROCESSES = 4, OF_LOOP = 4 };
    written all[PROCESSES * LOOPS * OF_LOOP];
    size_t n = 0;

    for (int slot = 0; slot < PROCESSES; slot++)
        for (int i = 0; i < LOOPS; i++) {
            loop_figures *f = figures_of_loop(slot, i);

            all[n++] = (written){(char *)scoreboard_loop(slot, i), sizeof(loop_score)};
            all[n++] =
                (written){(char *)scoreboard_http2(slot, i), HTTP2_SCORES * sizeof(http2_score)};
            all[n++] = (written){(char *)&f->own, offsetof(loop_figures, others)};
            all[n++] = (written){(char *)&f->others, sizeof f->others};
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(last_line(&all[i]) < first_line(&all[k]) ||
                        last_line(&all[k]) < first_line(&all[i]));
}

#define BOARD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOARD(writers_share_no_line),    BOARD(indexes_are_checked),
        BOARD(entries_do_not_overlap),   BOARD(status_is_what_was_set),
        BOARD(totals_outlive_processes), BOARD(more_room_keeps_what_counts),
        BOARD(other_processes_see_it),   BOARD(strings_always_end),
        BOARD(the_next_program_goes_on), BOARD(what_cannot_be_understood_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
