/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind is for. What all have in common is in test/model/model_sms.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "brigade/memory_tree.h"
#include "sms_private.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static brg_sms *made(const char *spec)
{
    brg_sms *s;
    const char *message = brg_sms_create(&s, spec, NULL, NULL);

    if (message != NULL)
        fail_msg("%s: %s", spec, message);
    return s;
}

static brg_sms_figures figures_of(const brg_sms *s)
{
    brg_sms_figures f;

    brg_sms_statistics(s, &f);
    return f;
}

/* ---- arena ---- */

typedef struct errand {
    brg_sms *s;
    void **blocks;
    int n;
    size_t bytes;
} errand;

static void *take_blocks(void *data)
{
    errand *e = data;
    int i;

    for (i = 0; i < e->n; i++)
        e->blocks[i] = brg_sms_allocate(e->s, e->bytes);
    return NULL;
}

static void *give_blocks(void *data)
{
    errand *e = data;
    int i;

    for (i = 0; i < e->n; i++)
        brg_sms_free(e->s, e->blocks[i], e->bytes);
    return NULL;
}

static void in_a_thread(void *(*what)(void *), errand *e)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, what, e), 0);
    pthread_join(thread, NULL);
}

static void arena_gets_back_what_others_free(void **state)
{
    void *blocks[20], *first;
    errand e = {made("arena"), blocks, 20, 8192};
    brg_sms_figures f;

    take_blocks(&e);
    first = blocks[0];
    in_a_thread(give_blocks, &e);
    f = figures_of(e.s);
    assert_int_equal(f.remote_frees, 20);
    assert_int_equal(f.live_bytes, 0);
    e.n = 1;
    take_blocks(&e); /* the owner's next call takes them home */
    assert_ptr_equal(blocks[0], first);
    give_blocks(&e);
    assert_null(brg_sms_verify(e.s));
    assert_int_equal(figures_of(e.s).refills, 1);
    brg_sms_destroy(&e.s, NULL);
}

static void arena_of_an_ended_thread_keeps_nothing(void **state)
{
    void *blocks[100];
    errand e = {made("arena"), blocks, 100, 8192};

    brg_sms_free(e.s, brg_sms_allocate(e.s, 8192), 8192); /* this thread has an arena of its own */
    brg_sms_trim(e.s);
    in_a_thread(take_blocks, &e);
    assert_true(figures_of(e.s).held_bytes >= 100 * 8192);
    give_blocks(&e); /* to a home without a thread */
    assert_int_equal(figures_of(e.s).held_bytes, 0);
    assert_null(brg_sms_verify(e.s));
    in_a_thread(take_blocks, &e); /* a new thread adopts it */
    in_a_thread(give_blocks, &e);
    brg_sms_trim(e.s);
    assert_int_equal(figures_of(e.s).held_bytes, 0);
    brg_sms_destroy(&e.s, NULL);
}

static void arena_gives_back_after_a_peak(void **state)
{
    static void *blocks[4000];
    errand e = {made("arena(chunk=64k,keep=256k)"), blocks, 4000, 8192};
    brg_sms_figures os = figures_of(brg_sms_os());

    take_blocks(&e);
    assert_true(figures_of(brg_sms_os()).held_bytes - os.held_bytes >= 4000 * 8192);
    give_blocks(&e);
    assert_true(figures_of(e.s).held_bytes <= 256 * 1024 + 65536);
    assert_true(figures_of(brg_sms_os()).held_bytes - os.held_bytes <= 256 * 1024 + 65536);
    assert_null(brg_sms_verify(e.s));
    brg_sms_trim(e.s);
    assert_int_equal(figures_of(e.s).held_bytes, 0);
    brg_sms_destroy(&e.s, NULL);
}

#if SMS_ASAN || defined(__SANITIZE_THREAD__)
#define WATCHED 1 /* resident memory is mostly the tool's */
#else
#define WATCHED 0
#endif

static size_t resident_kb(void)
{
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* One of 20 connections stays when the others have gone. */
static void arena_gives_back_around_what_lives_on(void **state)
{
    static char *blocks[4000];
    brg_sms *s = made("arena");
    size_t before = resident_kb(), peak, after;
    int i;

    for (i = 0; i < 4000; i++) {
        blocks[i] = brg_sms_allocate(s, 16384);
        memset(blocks[i], i, 16384);
    }
    peak = resident_kb() - before;
    for (i = 0; i < 4000; i++)
        if (i % 20 != 0)
            brg_sms_free(s, blocks[i], 16384);
    brg_sms_trim(s);
    after = resident_kb() - before;
    if (!WATCHED && after > peak / 4)
        fail_msg("%zu KB of %zu KB are still there", after, peak);
    assert_null(brg_sms_verify(s));
    for (i = 0; i < 4000; i++)
        if (i % 20 == 0) {
            assert_int_equal((unsigned char)blocks[i][16383], i & 0xff);
            brg_sms_free(s, blocks[i], 16384);
        }
    for (i = 0; i < 100; i++) /* what was given back can be used */
        memset(blocks[i] = brg_sms_allocate(s, 16384), 1, 16384);
    for (i = 0; i < 100; i++)
        brg_sms_free(s, blocks[i], 16384);
    brg_sms_destroy(&s, NULL);
}

static void arena_asks_its_parent_rarely(void **state)
{
    brg_sms *s = made("arena");
    int i;

    for (i = 0; i < 10000; i++) {
        void *a = brg_sms_allocate(s, 8192), *b = brg_sms_allocate(s, 20000),
             *c = brg_sms_allocate(s, 200000);

        brg_sms_free(s, a, 8192);
        brg_sms_free(s, b, 20000);
        brg_sms_free(s, c, 200000);
    }
    assert_true(figures_of(s).refills <= 3);
    brg_sms_destroy(&s, NULL);
}

static void good_sizes_cost_nothing(void **state)
{
    static const char *const specs[] = {"arena", "trivial", "blocks", "os", "limit(100M) arena"};
    size_t i, n;

    for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        brg_sms *s = made(specs[i]);

        for (n = 1; n < 500000; n = n * 5 / 4 + 1) {
            size_t good = brg_sms_good_size(s, n);

            if (good < n || brg_sms_good_size(s, good) != good)
                fail_msg("%s: %zu -> %zu", specs[i], n, good);
        }
        brg_sms_destroy(&s, NULL);
    }
}

static void arena_knows_its_blocks(void **state)
{
    brg_sms *s = made("arena");
    char *block = brg_sms_allocate(s, 100);

    assert_int_equal(brg_sms_owns(s, block), 1);
    assert_int_equal(brg_sms_owns(s, block + 16), 0);
    assert_int_equal(brg_sms_owns(s, &s), 0);
    brg_sms_free(s, block, 100);
    assert_int_equal(brg_sms_owns(s, block), 0);
    brg_sms_destroy(&s, NULL);
}

/* ---- the others ---- */

static void trivial_keeps_no_more_than_told(void **state)
{
    brg_sms *s = made("trivial(keep=64k)");
    void *blocks[50];
    errand e = {s, blocks, 50, 10000};

    take_blocks(&e);
    give_blocks(&e);
    assert_true(figures_of(s).held_bytes <= 65536);
    assert_true(figures_of(s).held_bytes > 0);
    brg_sms_trim(s);
    assert_int_equal(figures_of(s).held_bytes, 0);
    brg_sms_destroy(&s, NULL);
}

static void trivial_reset_keeps_its_nodes(void **state)
{
    brg_sms *s = made("trivial");
    int i, round;

    for (round = 0; round < 100; round++) {
        for (i = 0; i < 20; i++)
            assert_non_null(brg_sms_allocate(s, i % 2 ? 100 : 8000));
        assert_int_equal(brg_sms_reset(s), 0);
        assert_null(brg_sms_verify(s));
    }
    assert_true(figures_of(s).refills <= 12);
    assert_int_equal(figures_of(s).resets, 100);
    brg_sms_destroy(&s, NULL);
}

static void blocks_reuses_the_newest(void **state)
{
    brg_sms *s = made("blocks(size=512)");
    void *a = brg_sms_allocate(s, 512), *b = brg_sms_allocate(s, 300),
         *large = brg_sms_allocate(s, 513);

    assert_ptr_equal((char *)a + 512, b);
    brg_sms_free(s, a, 512);
    brg_sms_free(s, b, 300);
    assert_ptr_equal(brg_sms_allocate(s, 1), b);
    assert_int_equal(figures_of(s).refills, 2);
    brg_sms_free(s, large, 513);
    brg_sms_free(s, b, 1);
    brg_sms_destroy(&s, NULL);
}

static void system_holds_what_lives(void **state)
{
    brg_sms *s = made("system");
    void *a = brg_sms_allocate(s, 600);

    assert_int_equal(figures_of(s).held_bytes, 600);
    brg_sms_free(s, a, 600);
    assert_int_equal(figures_of(s).held_bytes, 0);
    brg_sms_destroy(&s, NULL);
}

static void limit_counts_what_lives(void **state)
{
    brg_sms *s = made("limit(1000) system");
    void *a = brg_sms_allocate(s, 600), *b;

    assert_null(brg_sms_allocate(s, 401));
    b = brg_sms_allocate(s, 400);
    assert_non_null(b);
    assert_null(brg_sms_allocate(s, 1));
    assert_null(brg_sms_resize(s, b, 400, 401));
    a = brg_sms_resize(s, a, 600, 100);
    assert_non_null(a);
    b = brg_sms_resize(s, b, 400, 900);
    assert_non_null(b);
    brg_sms_free(s, a, 100);
    brg_sms_free(s, b, 900);
    a = brg_sms_allocate(s, 1000);
    assert_non_null(a);
    brg_sms_free(s, a, 1000);
    brg_sms_destroy(&s, NULL);
}

static void limit_has_a_status(void **state)
{
    brg_sms *s = made("limit(1000,status=413) limit(100) system");

    assert_int_equal(brg_sms_refusal_status(s), 0);
    assert_null(brg_sms_allocate(s, 1001));
    assert_int_equal(brg_sms_refusal_status(s), 413);
    brg_sms_free(s, brg_sms_allocate(s, 50), 50); /* there was still room for less */
    assert_int_equal(brg_sms_refusal_status(s), 413);
    assert_null(brg_sms_allocate(s, 101)); /* the other one's */
    assert_int_equal(brg_sms_refusal_status(s), 503);
    brg_sms_destroy(&s, NULL);
}

static uint64_t fault_pattern(const char *spec)
{
    brg_sms *s = made(spec);
    uint64_t failed = 0;
    int i;

    for (i = 0; i < 64; i++) {
        void *block = brg_sms_allocate(s, 10);

        if (block == NULL)
            failed |= (uint64_t)1 << i;
        brg_sms_free(s, block, 10);
    }
    brg_sms_destroy(&s, NULL);
    return failed;
}

static void fault_fails_as_told(void **state)
{
    uint64_t random = fault_pattern("fault(random=0.3,seed=5) system");

    assert_int_equal(fault_pattern("fault(nth=1) system"), 1);
    assert_int_equal(fault_pattern("fault(nth=10) system"), 1 << 9);
    assert_int_equal(fault_pattern("fault(from=61) system"), (uint64_t)15 << 60);
    assert_int_equal(fault_pattern("fault(random=1) system"), ~(uint64_t)0);
    assert_int_equal(fault_pattern("fault(random=0.3,seed=5) system"), random);
    assert_int_not_equal(fault_pattern("fault(random=0.3,seed=6) system"), random);
    assert_in_range(__builtin_popcountll(random), 8, 32);
}

static char report[2048];

static void to_report(void *baton, const char *text)
{
    strncat(report, text, sizeof(report) - strlen(report) - 2);
    strcat(report, "\n");
}

static void tracking_tells_who_holds_what(void **state)
{
    brg_sms *s = made("tracking(quiet) arena");
    void *a = brg_sms_allocate_from(s, 100, (const void *)strlen),
         *b = brg_sms_allocate_from(s, 50, (const void *)strlen);
    void *c = brg_sms_allocate_from(s, 120, (const void *)malloc), *d;

    report[0] = '\0';
    brg_sms_report(s, to_report, NULL);
    assert_non_null(strstr(report, "2 places have live blocks"));
    assert_non_null(strstr(report, "150 bytes in 2 blocks, the first is number 1, from "));
    assert_non_null(strstr(report, "120 bytes in 1 blocks, the first is number 3, from "));
    assert_true(strstr(report, "150 bytes") < strstr(report, "120 bytes"));
    assert_non_null(strstr(report, "largest 100, oldest 0 s, 150 since the last report"));
    report[0] = '\0';
    assert_non_null(d = brg_sms_allocate_from(s, 7, (const void *)strlen));
    brg_sms_report(s, to_report, NULL);
    assert_non_null(strstr(report, "157 bytes in 3 blocks"));
    assert_non_null(strstr(report, "largest 100, oldest 0 s, 7 since the last report"));
    assert_non_null(strstr(report, "largest 120, oldest 0 s, 0 since the last report"));
    brg_sms_free(s, d, 7);
    assert_int_equal(brg_sms_owns(s, b), 1);
    brg_sms_free(s, b, 50);
    assert_int_equal(brg_sms_owns(s, b), 0);
    brg_sms_free(s, a, 100);
    brg_sms_free(s, c, 120);
    report[0] = '\0';
    brg_sms_report(s, to_report, NULL);
    assert_string_equal(report, "tracking: 0 places have live blocks\n");
    brg_sms_destroy(&s, NULL);
}

static void *free_it(void *baton)
{
    void **pair = baton;

    brg_sms_free(pair[0], pair[1], 100);
    return NULL;
}

/* A block goes back to the thread that allocated it, whoever frees it: nobody else touches its list. */
static void arena_blocks_go_home(void **state)
{
    brg_sms *s = made("arena");
    void *pair[] = {s, brg_sms_allocate(s, 100)};
    brg_sms_figures figures;
    pthread_t other;

    assert_int_equal(pthread_create(&other, NULL, free_it, pair), 0);
    pthread_join(other, NULL);
    brg_sms_statistics(s, &figures);
    assert_int_equal(figures.remote_frees, 1);
    assert_ptr_equal(brg_sms_allocate(s, 100), pair[1]); /* it takes back what came home */
    brg_sms_free(s, pair[1], 100);
    brg_sms_statistics(s, &figures);
    assert_int_equal(figures.remote_frees, 1);
    brg_sms_destroy(&s, NULL);
}

/* More blocks than a look reads while it holds the lock: each is told once. */
static void tracking_is_read_in_slices(void **state)
{
    enum { MANY = 10000 };
    static void *block[MANY];
    brg_sms *s = made("tracking(quiet) arena");
    brg_sms_site site[3];

    for (int i = 0; i < MANY; i++)
        block[i] =
            brg_sms_allocate_from(s, 16, i % 4 ? (const void *)strlen : (const void *)malloc);
    for (int look = 0; look < 2; look++) {
        assert_int_equal(brg_sms_sites(s, site, 3), 2);
        assert_int_equal(site[0].blocks, MANY / 4 * 3);
        assert_int_equal(site[1].bytes, MANY / 4 * 16);
        assert_int_equal(site[0].more, look ? 0 : MANY / 4 * 3 * 16);
        assert_null(brg_sms_verify(s));
    }
    for (int i = 0; i < MANY; i++)
        brg_sms_free(s, block[i], 16);
    assert_int_equal(brg_sms_sites(s, site, 3), 0);
    brg_sms_destroy(&s, NULL);
    s = made("arena");
    assert_int_equal(brg_sms_sites(s, site, 3), -1);
    brg_sms_destroy(&s, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gets_back_what_others_free),
        cmocka_unit_test(arena_of_an_ended_thread_keeps_nothing),
        cmocka_unit_test(arena_gives_back_after_a_peak),
        cmocka_unit_test(arena_gives_back_around_what_lives_on),
        cmocka_unit_test(arena_asks_its_parent_rarely),
        cmocka_unit_test(good_sizes_cost_nothing),
        cmocka_unit_test(arena_knows_its_blocks),
        cmocka_unit_test(trivial_keeps_no_more_than_told),
        cmocka_unit_test(trivial_reset_keeps_its_nodes),
        cmocka_unit_test(blocks_reuses_the_newest),
        cmocka_unit_test(system_holds_what_lives),
        cmocka_unit_test(limit_counts_what_lives),
        cmocka_unit_test(limit_has_a_status),
        cmocka_unit_test(fault_fails_as_told),
        cmocka_unit_test(tracking_tells_who_holds_what),
        cmocka_unit_test(tracking_is_read_in_slices),
        cmocka_unit_test(arena_blocks_go_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
