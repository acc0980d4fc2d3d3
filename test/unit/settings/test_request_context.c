/* SPDX-License-Identifier: Apache-2.0 */
/* The core's marks about a request: to whom of a chain of sub-requests and redirects they come, and that none is lost without a block. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "request_context.h"
#include "http_log.h"
#include "http_protocol.h"
#include "brigade/auth.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include "test_pool.h"
#include "test_request.h"

static request_rec *first, *redirected, *part, *foreign;

static int begin(void **state)
{
    if (test_pool_setup(state))
        return -1;
    first = test_request_kept(test_pool, NULL, NULL);
    redirected = test_request_kept(test_pool, first, NULL);
    part = test_request_kept(test_pool, NULL, redirected);
    foreign = test_request(test_pool); /* whose configuration is not the core's */
    return 0;
}

static void test_who_led(void **state)
{
    assert_null(request_led_to(first));
    assert_ptr_equal(request_led_to(redirected), first);
    assert_ptr_equal(request_led_to(part), redirected);
    request_set_apart(part);
    assert_null(request_led_to(part));
}

static void test_volatile(void **state)
{
    const char *who;

    assert_null(request_volatile_why(part, &who));
    assert_null(who);
    request_mark_volatile(redirected, "a.c", "one");
    request_mark_volatile(part, "b.c", "two");
    assert_string_equal(request_volatile_why(part, &who), "two");
    assert_string_equal(who, "b.c");
    assert_string_equal(request_volatile_why(redirected, &who), "one"); /* the first reason stays */
    assert_string_equal(who, "a.c");
    assert_string_equal(request_volatile_why(first, &who), "one");
    assert_int_equal(request_depends(first), BRG_CACHE_VOLATILE);
    assert_int_equal(request_depends(test_request_kept(test_pool, NULL, NULL)), BRG_CACHE_STATIC);
    assert_int_equal(request_depends(foreign), BRG_CACHE_VOLATILE);
}

static void test_apart_says_nothing_of_others(void **state)
{
    const char *who;

    request_set_apart(part);
    request_mark_volatile(part, "b.c", "two");
    request_mark_blocking(part);
    assert_null(request_volatile_why(redirected, &who));
    assert_false(request_may_block(redirected));
    assert_true(request_may_block(part));
}

static void test_blocking(void **state)
{
    assert_false(request_may_block(first));
    request_mark_part_waits(part);
    request_mark_part_waits(part);
    assert_int_equal(request_marks_of(first)->parts_wait, 1);
    assert_true(request_may_block(first) && request_may_block(part));
    request_end_part(part);
    assert_false(request_may_block(first) || request_may_block(part));
    request_end_part(part);
    assert_int_equal(request_marks_of(first)->parts_wait, 0);
    request_mark_blocking(redirected);
    assert_true(request_may_block(first) && !request_may_block(part));
    request_end_part(redirected);
    assert_true(request_may_block(first));
    assert_true(request_may_block(foreign));
}

static void test_rerun(void **state)
{
    int status = OK;

    assert_false(request_mark_rerun(first));
    request_allow_rerun(first);
    request_allow_rerun(redirected);
    request_allow_rerun(part);
    assert_false(request_mark_rerun(part));
    assert_false(request_mark_rerun(redirected));
    request_marks_of(redirected)->follows = 1;
    assert_true(request_mark_rerun(redirected));
    assert_true(request_is_left(redirected));
    assert_true(request_may_block(first));
    assert_false(request_is_left(first));
    assert_true(request_mark_rerun(first));
    assert_true(request_takes_rerun(first, &status));
    assert_int_equal(status, OK);
    assert_false(request_takes_rerun(first, &status));
    assert_false(request_mark_rerun(first)); /* it was let once */

    request_allow_rerun(first);
    assert_true(request_mark_rerun(first));
    request_rerun_fails(first, 503);
    assert_true(request_takes_rerun(first, &status));
    assert_int_equal(status, 503);
    request_allow_rerun(first);
    assert_true(request_mark_rerun(first));
    assert_true(request_takes_rerun(first, &status));
    assert_int_equal(status, OK);
    assert_false(request_takes_rerun(foreign, &status));
    assert_false(request_is_left(foreign));
    request_marks_of(part)->left = 1;
    assert_true(request_is_left(part));
}

static void test_leaving_the_thread(void **state)
{
    request_rec *plain = test_request_kept(test_pool, NULL, NULL);

    assert_false(request_may_leave_thread(plain));
    request_allow_defer(plain, 1);
    assert_true(request_may_leave_thread(plain));
    request_allow_defer(plain, 0);
    assert_false(request_may_leave_thread(plain));
    request_allow_rerun(redirected);
    assert_false(request_may_leave_thread(redirected));
    request_marks_of(redirected)->follows = 1;
    assert_true(request_may_leave_thread(redirected));
    request_allow_rerun(part);
    assert_false(request_may_leave_thread(part));
}

static void test_lookups_that_may_fail(void **state)
{
    assert_false(request_lookup_may_fail(part));
    request_allow_lookups_to_fail(first, 1);
    assert_false(request_lookup_may_fail(part));
    request_allow_rerun(first);
    assert_true(request_lookup_may_fail(part));
    assert_false(request_lookup_may_fail(first)); /* no sub-request */
    request_allow_lookups_to_fail(first, 0);
    assert_false(request_lookup_may_fail(part));
}

/* A part counts for what holds it; what it was redirected to is the same part. */
static void test_guarded_parts(void **state)
{
    request_rec *moved = test_request_kept(test_pool, part, redirected);

    brg_cache_part_is_guarded(redirected);
    assert_false(request_has_guarded_part(first));
    brg_cache_part_is_guarded(moved);
    assert_false(request_has_guarded_part(part));
    assert_true(request_has_guarded_part(redirected));
    assert_true(request_has_guarded_part(first));
    assert_true(request_has_guarded_part(foreign));
}

static void test_marks_of_one(void **state)
{
    int before = 5;

    assert_false(request_runs_each_time(first));
    brg_cache_each_time(first);
    assert_true(request_runs_each_time(first));
    assert_false(request_runs_each_time(redirected));
    assert_true(request_runs_each_time(foreign));

    assert_false(request_announces(first));
    request_set_announces(first, 1);
    assert_true(request_announces(first));
    request_set_announces(first, 0);
    assert_false(request_announces(first));

    assert_null(request_connection(first, &before));
    assert_int_equal(before, 0);
    request_set_connection(first, 3, "close");
    assert_string_equal(request_connection(first, &before), "close");
    assert_int_equal(before, 3);
    assert_null(request_connection(foreign, &before));
    assert_int_equal(before, 0);

    assert_int_equal(request_body_status(first), OK);
    request_body_failed(first, 413);
    request_body_failed(first, 400);
    assert_int_equal(request_body_status(first), 400);
    assert_int_equal(request_body_status(foreign), OK);

    assert_false(brg_request_is_stored(first));
    request_mark_stored(first);
    assert_true(brg_request_is_stored(first));

    request_mark_reads(first);
    assert_true(request_reads(first));
    assert_false(request_reads(foreign));
    request_mark_bodyless(first);
    assert_true(request_is_bodyless(first));
    request_mark_refused(first);
    assert_true(request_is_refused(first));
    assert_false(request_is_refused(part));

    assert_int_equal(request_wait_place_of(first), REQUEST_WAITS_IN_HANDLER);
    request_set_wait_place(first, REQUEST_WAITS_NOWHERE);
    assert_int_equal(request_wait_place_of(first), REQUEST_WAITS_NOWHERE);
    assert_int_equal(request_wait_place_of(foreign), REQUEST_WAITS_IN_HANDLER);
}

static void test_auth_waits_once(void **state)
{
    assert_false(brg_auth_waits(first));
    brg_auth_would_wait(first);
    assert_true(brg_auth_waits(first));
    assert_false(brg_auth_waits(first));
    brg_auth_would_wait(foreign);
    assert_false(brg_auth_waits(foreign));
}

static void test_dates(void **state)
{
    const char *who;

    brg_cache_dated_field(first, "Expires", 10);
    brg_cache_dated_field(first, "Expires", 10);
    assert_string_equal(request_dated_field(first)->name, "Expires");
    assert_int_equal(request_dated_field(first)->after, 10);
    assert_null(request_volatile_why(first, &who));
    brg_cache_dated_field(first, "Expires", 11);
    assert_non_null(request_volatile_why(first, &who));
    first = test_request_kept(test_pool, NULL, NULL);
    brg_cache_dated_field(first, "Expires", 10);
    brg_cache_dated_field(first, "Date", 10);
    assert_non_null(request_volatile_why(first, &who));
}

static void test_offers(void **state)
{
    request_offer *offer = request_offer_begin(part);

    assert_null(request_offer_of(first));
    assert_null(request_offer_begin(foreign));
    assert_ptr_equal(request_offer_of(part), offer);
    assert_null(offer->etag);
    offer->etag = "x";
    assert_ptr_equal(request_offer_begin(part), offer);
    assert_null(offer->etag);
    assert_non_null(request_offer_begin(first));
    request_offer_drop(part);
    assert_null(request_offer_of(part));
    assert_null(request_offer_of(first));
}

static void test_sinks(void **state)
{
    ap_filter_t one = {0}, other = {0};
    const request_sink sink = {.filter = &one};

    assert_null(request_sink_of(first));
    request_sink_offer(first, &sink);
    first->output_filters = &other;
    assert_null(request_sink_of(first));
    first->output_filters = &one;
    assert_ptr_equal(request_sink_of(first), &sink);
}

/* Those of the block first, then as many as are wanted, and none twice. */
static void test_filters(void **state)
{
    ap_filter_t *made[32];

    for (int i = 0; i < 32; i++) {
        made[i] = request_conf_filters(first, 1);
        memset(made[i], i, sizeof *made[i]);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(made[i], made[k]);
    }
    for (int i = 0; i < 32; i++)
        assert_int_equal(((unsigned char *)made[i])[sizeof(ap_filter_t) - 1], i);
    assert_non_null(request_conf_filters(foreign, 1));
}

static void test_debugged(void **state)
{
    struct ap_logconf conf = {.level = APLOG_INFO};
    signed char *levels;

    first->log = &conf;
    assert_false(request_is_debugged(first));
    conf.level = APLOG_DEBUG;
    assert_true(request_is_debugged(first));
    conf.level = APLOG_WARNING;
    levels = apr_palloc(test_pool, 4096);
    memset(levels, APLOG_INFO, 4096);
    conf.module_levels = levels;
    assert_false(request_is_debugged(first));
    levels[0] = APLOG_DEBUG;
    assert_true(request_is_debugged(first));
}

static void test_a_brigade_of_main_and_parts(void **state)
{
    const request_marks *of_main = request_marks_of(redirected), *of_part = request_marks_of(part);

    assert_non_null(of_main->conf.bb);
    assert_ptr_equal(of_part->conf.bb, of_main->conf.bb);
    assert_ptr_not_equal(of_main->conf.bb, request_marks_of(first)->conf.bb);
    APR_BRIGADE_INSERT_TAIL(of_main->conf.bb,
                            apr_bucket_eos_create(redirected->connection->bucket_alloc));
    request_conf_end(redirected);
    assert_true(APR_BRIGADE_EMPTY(of_main->conf.bb));
    request_conf_end(foreign);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, test_pool_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who_led),
        TEST(test_volatile),
        TEST(test_apart_says_nothing_of_others),
        TEST(test_blocking),
        TEST(test_rerun),
        TEST(test_leaving_the_thread),
        TEST(test_lookups_that_may_fail),
        TEST(test_guarded_parts),
        TEST(test_marks_of_one),
        TEST(test_auth_waits_once),
        TEST(test_dates),
        TEST(test_offers),
        TEST(test_sinks),
        TEST(test_filters),
        TEST(test_debugged),
        TEST(test_a_brigade_of_main_and_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
