/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "figures.h"
#include "scores.h"
#include "http_main.h"
#include "brigade/status.h"

#include <apr_general.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static apr_pool_t *pool;

static void limits_are(int processes, int stay)
{
    const scoreboard_limits limits = {
        .processes = processes, .threads = 6, .loops = 2, .generation = 0, .totals_stay = stay};

    scoreboard_set_limits(&limits);
    assert_int_equal(ap_create_scoreboard(pool, SB_SHARED), OK);
}

static int set_up(void **state)
{
    (void)state;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    ap_pglobal = pool;
    limits_are(4, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ap_cleanup_scoreboard(NULL);
    ap_pglobal = NULL;
    apr_pool_destroy(pool);
    return 0;
}

static void test_each_time_has_its_bucket(void **state)
{
    (void)state;
    for (int i = 0; i < BRG_BUCKETS - 1; i++) {
        assert_int_equal(figures_bucket(brg_bucket_bound(i)), i);
        assert_int_equal(figures_bucket(brg_bucket_bound(i) + 1), i + 1);
    }
    for (uint64_t us = 1, at = 0; us < (uint64_t)1 << 40; us += us / 7 + 1) {
        while (brg_bucket_bound((int)at) && us > brg_bucket_bound((int)at))
            at++;
        assert_int_equal(figures_bucket(us), at);
    }
    assert_int_equal(figures_bucket(0), 0);
    assert_int_equal(figures_bucket(UINT64_MAX), BRG_BUCKETS - 1);
    assert_int_equal(brg_bucket_bound(BRG_BUCKETS - 1), 0);
}

static void test_families_stand_together(void **state)
{
    (void)state;
    for (int i = 0; i < BRG_FIGURES_N; i++) {
        const brg_figure *f = brg_figure_of(i);
        const size_t len = strlen(f->family);

        assert_int_equal(f->kind == BRG_COUNTER, len > 6 && !strcmp(f->family + len - 6, "_total"));
        assert_true(f->divisor && *f->help);
        for (int j = 0; j < i; j++) {
            const brg_figure *g = brg_figure_of(j);

            if (strcmp(f->family, g->family))
                continue;
            assert_string_equal(brg_figure_of(i - 1)->family, f->family);
            assert_true(f->labels && g->labels && strcmp(f->labels, g->labels));
        }
    }
    assert_null(brg_figure_of(BRG_FIGURES_N));
}

static void count_some(int slot)
{
    loop_figures *f = figures_of_loop(slot, 1);
    const figures_ended one = {
        .host = 0, .protocol = BRG_PROTOCOL_H2_TLS, .status = 404, .us = 30, .bytes = 9};

    figures_request(f, 1, &one);
    figures_request(f, 0, &one);
    figures_add(&f->own.value[BRG_FIGURE_WARM], 5);
    figures_set(&f->own.value[BRG_FIGURE_RESIDENT], 100);
    figures_set(&f->own.value[BRG_FIGURE_LONGEST], (uint64_t)slot + 7);
}

/* Counters outlive a process, what is of the moment does not. */
static void test_what_stays_of_a_process(void **state)
{
    brg_figures sum;

    (void)state;
    for (int slot = 0; slot < 2; slot++) {
        scoreboard_slot_start(slot, getpid(), 0);
        count_some(slot);
    }
    assert_int_equal(brg_figures_sum(&sum), 0);
    assert_int_equal(sum.host[0][BRG_PROTOCOL_H2_TLS].by_class[3], 4);
    assert_int_equal(sum.host[0][BRG_PROTOCOL_H2_TLS].bytes, 36);
    assert_int_equal(sum.took[BRG_TOOK_FULL].n[2], 4);
    assert_int_equal(sum.took[BRG_TOOK_FULL].sum_us, 120);
    assert_int_equal(sum.value[BRG_FIGURE_WARM], 10);
    assert_int_equal(sum.value[BRG_FIGURE_RESIDENT], 200);
    assert_int_equal(sum.value[BRG_FIGURE_LONGEST], 8);
    scoreboard_slot_end(1);
    assert_int_equal(brg_figures_sum(&sum), 0);
    assert_int_equal(sum.host[0][BRG_PROTOCOL_H2_TLS].by_class[3], 4);
    assert_int_equal(sum.host[0][BRG_PROTOCOL_H2_TLS].bytes, 36);
    assert_int_equal(sum.value[BRG_FIGURE_WARM], 10);
    assert_int_equal(sum.value[BRG_FIGURE_RESIDENT], 100);
    assert_int_equal(sum.value[BRG_FIGURE_LONGEST], 7);
}

/* A scoreboard that is too small is made anew; then a restart begins at 0. */
static void test_totals_over_restarts(void **state)
{
    brg_figures sum;

    (void)state;
    scoreboard_slot_start(0, getpid(), 0);
    count_some(0);
    scoreboard_slot_end(0);
    limits_are(9, 1);
    assert_int_equal(brg_figures_sum(&sum), 0);
    assert_int_equal(sum.value[BRG_FIGURE_WARM], 5);
    limits_are(9, 0);
    assert_int_equal(brg_figures_sum(&sum), 0);
    assert_int_equal(sum.value[BRG_FIGURE_WARM], 0);
    assert_int_equal(sum.took[BRG_TOOK_FULL].sum_us, 0);
}

static int is_named(const char *name)
{
    const char *had;

    for (int i = 1; (had = brg_figure_host(i)); i++)
        if (!strcmp(had, name))
            return i;
    return 0;
}

/* One virtual host beside the main one, which has no name. */
static int place_of(char *name, int generation)
{
    process_rec process = {.pool = pool, .pconf = pool};
    server_rec *main_server = apr_pcalloc(pool, sizeof *main_server);
    server_rec *virtual = apr_pcalloc(pool, sizeof *virtual);

    main_server->process = virtual->process = &process;
    main_server->next = virtual;
    virtual->is_virtual = 1;
    virtual->server_hostname = name;
    figures_name_hosts(main_server, generation);
    return figures_host(virtual);
}

static void test_hosts_that_are_gone_make_room(void **state)
{
    const figures_ended one = {.host = 1, .status = 200};
    char name[16], first[16] = "h0", late[16] = "late", later[16] = "later";
    brg_figures sum;

    (void)state;
    scoreboard_slot_start(0, getpid(), 0);
    for (int i = 0; i < BRG_FIGURE_HOSTS - 2; i++) {
        snprintf(name, sizeof name, "h%d", i);
        assert_int_equal(place_of(name, i), i + 2); /* 1: the main one */
    }
    figures_request(figures_of_loop(0, 0), 1, &(figures_ended){.host = 2, .status = 200});
    assert_int_equal(place_of(late, 70), 0); /* a process that knows them all lives */
    scoreboard_slot_end(0);
    scoreboard_slot_start(0, getpid(), 70);
    figures_request(figures_of_loop(0, 0), 1, &one);
    assert_int_equal(place_of(late, 71), 2);
    assert_true(is_named("late") && !is_named("h0") && is_named("h1"));
    assert_int_equal(place_of(late, 72), 2);
    assert_int_equal(place_of(later, 73), 3);
    assert_int_equal(place_of(first, 74), 4);
    assert_int_equal(brg_figures_sum(&sum), 0);
    assert_int_equal(sum.host[0][0].by_class[1], 1);
    assert_int_equal(sum.host[1][0].by_class[1], 1);
    assert_int_equal(sum.host[2][0].by_class[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_time_has_its_bucket),
        cmocka_unit_test(test_families_stand_together),
        cmocka_unit_test_setup_teardown(test_what_stays_of_a_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_totals_over_restarts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hosts_that_are_gone_make_room, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
