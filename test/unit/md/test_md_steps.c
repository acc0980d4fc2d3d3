/* SPDX-License-Identifier: Apache-2.0 */
/* What comes next, of orders and of managed domains. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "apr_general.h"
#include "md_conf.h"
#include "md_steps.h"

#define DAY (86400 * APR_USEC_PER_SEC)
#define HOUR (3600 * APR_USEC_PER_SEC)

static apr_pool_t *p;

static md_order order_of(const char *status, int n)
{
    md_order order = {.status = md_status_of(status), .deadline = 1000};

    order.authzs = apr_array_make(p, 2, sizeof(md_authz));
    while (n-- > 0)
        *(md_authz *)apr_array_push(order.authzs) = (md_authz){.status = MD_PENDING, .slot = -1};
    return order;
}

static void test_words(void **state)
{
    assert_int_equal(md_status_of("pending"), MD_PENDING);
    assert_int_equal(md_status_of("valid"), MD_VALID);
    assert_int_equal(md_status_of("revoked"), MD_INVALID);
    assert_int_equal(md_status_of(""), MD_INVALID);
    assert_int_equal(md_status_of(NULL), MD_INVALID);
}

static void test_an_order(void **state)
{
    md_order order = order_of("pending", 2);
    md_authz *all = (md_authz *)order.authzs->elts;
    int which;

    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_ANSWER);
    assert_int_equal(which, 0);
    all[0].answered = 1;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_ANSWER);
    assert_int_equal(which, 1);
    all[1].answered = 1;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_LOOK);
    all[0].status = MD_VALID;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_LOOK);
    assert_int_equal(which, 1);
    all[1].status = MD_VALID;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_POLL);
    order.status = MD_READY;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_FINALIZE);
    order.finalized = 1;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_POLL);
    order.status = MD_PROCESSING;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_POLL);
    order.status = MD_VALID;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_FAIL);
    order.certificate = "https://ca/cert";
    assert_int_equal(md_order_next(&order, 999, &which), MD_STEP_DOWNLOAD);
    assert_int_equal(md_order_next(&order, 1000, &which), MD_STEP_FAIL);
}

static void test_orders_that_fail(void **state)
{
    md_order order = order_of("pending", 2);
    int which;

    ((md_authz *)order.authzs->elts)[1].status = MD_INVALID;
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_FAIL);
    assert_int_equal(which, 1);
    order = order_of("deactivated", 1);
    assert_int_equal(md_order_next(&order, 0, &which), MD_STEP_FAIL);
    assert_int_equal(which, -1);
}

static void test_waits(void **state)
{
    md_order order = order_of("pending", 1);
    apr_interval_time_t before = 0;

    for (order.looks = 0; order.looks < 100; order.looks++) {
        const apr_interval_time_t wait = md_order_wait(&order, 0);

        assert_true(wait >= before && wait <= 10 * APR_USEC_PER_SEC);
        before = wait;
    }
    assert_int_equal(md_order_wait(&order, 3 * APR_USEC_PER_SEC), 3 * APR_USEC_PER_SEC);
    assert_int_equal(md_order_wait(&order, DAY), 60 * APR_USEC_PER_SEC);
}

static md_state certificate_of(apr_time_t from, apr_time_t until)
{
    return (md_state){.mode = MD_AUTO,
                      .used = 1,
                      .complete = 1,
                      .from = from,
                      .until = until,
                      .window = {.percent = 33},
                      .chance = 0.5};
}

static void test_renewal(void **state)
{
    md_state s = certificate_of(0, 100 * DAY);

    assert_int_equal(md_renew_at(&s, DAY), 67 * DAY);
    s.window = (md_window){.length = 30 * DAY};
    assert_int_equal(md_renew_at(&s, DAY), 70 * DAY);
    s.until = 6 * DAY; /* it does not live as long as that */
    assert_int_equal(md_renew_at(&s, DAY), 4 * DAY);
    s.mode = MD_MANUAL;
    assert_int_equal(md_renew_at(&s, DAY), 0);
    s.mode = MD_AUTO;
    s.used = 0;
    assert_int_equal(md_renew_at(&s, DAY), 0);
    s.mode = MD_ALWAYS;
    assert_int_equal(md_renew_at(&s, DAY), 4 * DAY);
    s.complete = 0;
    assert_int_equal(md_renew_at(&s, DAY), DAY);
    s.next_try = 2 * DAY;
    assert_int_equal(md_renew_at(&s, DAY), 2 * DAY);
}

static void test_advice(void **state)
{
    md_state s = certificate_of(0, 100 * DAY);

    s.ari_from = 10 * DAY;
    s.ari_until = 20 * DAY;
    assert_int_equal(md_renew_at(&s, DAY), 15 * DAY);
    s.ari_until = s.ari_from; /* nonsense */
    assert_int_equal(md_renew_at(&s, DAY), 67 * DAY);
    s.ari_from = 80 * DAY; /* later than it would be */
    s.ari_until = 90 * DAY;
    assert_int_equal(md_renew_at(&s, DAY), 67 * DAY);
    s.ari_from = 1; /* at once, and always */
    s.ari_until = 3;
    s.last_run = 5 * DAY;
    assert_int_equal(md_renew_at(&s, 5 * DAY), 5 * DAY + HOUR);
}

static void test_retries(void **state)
{
    assert_int_equal(md_retry_after(5, 1, 0), 5);
    assert_int_equal(md_retry_after(5, 4, 0), 40);
    assert_int_equal(md_retry_after(10, 1, 1), 15);
    assert_int_equal(md_retry_after(APR_USEC_PER_SEC, 1000, 0), DAY);
    assert_true(md_retry_after(0, 1, 0) > 0);
}

static void test_lengths_of_time(void **state)
{
    apr_interval_time_t length;
    md_window window;

    assert_int_equal(md_duration("5", 'd', &length), 0);
    assert_int_equal(length, 5 * DAY);
    assert_int_equal(md_duration("10mi", 'd', &length), 0);
    assert_int_equal(length, 600 * APR_USEC_PER_SEC);
    assert_int_equal(md_duration("5MS", 's', &length), 0);
    assert_int_equal(length, 5000);
    assert_int_equal(md_duration("x", 's', &length), -1);
    assert_int_equal(md_duration("", 's', &length), -1);
    assert_int_equal(md_duration("3w", 's', &length), -1);
    assert_int_equal(md_duration("1m", 's', &length), -1);
    assert_int_equal(md_duration("10minutes", 's', &length), 0);
    assert_int_equal(length, 600 * APR_USEC_PER_SEC);
    assert_int_equal(md_duration("-1h", 's', &length), 0);
    assert_int_equal(length, -3600 * APR_USEC_PER_SEC);
    assert_int_equal(md_duration("99999999999d", 's', &length), 0);
    assert_int_equal(length, 36500 * DAY);
    assert_int_equal(md_duration("99999999999999999999", 's', &length), -1);
    assert_null(md_window_read("33%", &window));
    assert_int_equal(window.percent, 33);
    assert_non_null(md_window_read("100%", &window));
    assert_null(md_window_read("%", &window));
    assert_int_equal(window.percent, 0);
    assert_non_null(md_window_read("-1%", &window));
}

static void test_challenges(void **state)
{
    apr_array_header_t *wanted = apr_array_make(p, 2, sizeof(const char *)),
                       *offered = apr_array_make(p, 2, sizeof(const char *));

    APR_ARRAY_PUSH(wanted, const char *) = "tls-alpn-01";
    APR_ARRAY_PUSH(wanted, const char *) = "http-01";
    assert_null(md_challenge_choose(wanted, offered));
    APR_ARRAY_PUSH(offered, const char *) = "http-01";
    assert_string_equal(md_challenge_choose(wanted, offered), "http-01");
    APR_ARRAY_PUSH(offered, const char *) = "tls-alpn-01";
    assert_string_equal(md_challenge_choose(wanted, offered), "tls-alpn-01");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_an_order),
                                       cmocka_unit_test(test_orders_that_fail),
                                       cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_renewal),
                                       cmocka_unit_test(test_advice),
                                       cmocka_unit_test(test_retries),
                                       cmocka_unit_test(test_lengths_of_time),
                                       cmocka_unit_test(test_challenges)};
    int rc;

    apr_initialize();
    apr_pool_create(&p, NULL);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    apr_pool_destroy(p);
    apr_terminate();
    return rc;
}
