/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that modules change: of heads, of what answers are selected by, and of what logs show. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "stock_policy.h"
#include "placement_private.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include "test_pool.h"
#include "test_request.h"

static module changer = {.name = "mod_changer.c"};

static void directive(const char *name, const char *args)
{
    const cmd_parms cmd = {.pool = test_pool};

    stock_remoteip_directive(&cmd, name, args);
}

static int is_in(const char *name)
{
    http_head head = {.n_fields = 2};

    head.field = head.own;
    head.field[0] = (http_field){.name = "Host", .name_len = 4};
    head.field[1] = (http_field){.name = name, .name_len = (uint32_t)strlen(name)};
    return changed_fields_in(&head);
}

static void test_fields_of_heads(void **state)
{
    assert_false(changed_fields_are_there());
    assert_false(is_in("X-Forwarded-For"));
    directive("RemoteIPTrustedProxy", "10.0.0.1");
    assert_false(changed_fields_are_there());
    directive("remoteipheader", "X-Forwarded-For");
    directive("RemoteIPProxiesHeader", "\"X-By\"");
    brg_cache_changes_field(&changer, test_pool, "X-Own");
    assert_true(changed_fields_are_there());
    assert_true(is_in("x-forwarded-for"));
    assert_true(is_in("X-By"));
    assert_true(is_in("x-own"));
    assert_false(is_in("X-Forwarded"));
    assert_false(is_in("X-Forwarded-For2"));
    assert_false(is_in("Y-Own"));
}

/* They are those of a configuration: with its pool they are gone. */
static void test_forgotten_with_the_configuration(void **state)
{
    assert_false(changed_fields_are_there());
}

static void test_selected_by(void **state)
{
    request_rec *r = test_request_kept(test_pool, NULL, NULL),
                *other = test_request_kept(test_pool, NULL, NULL);

    brg_cache_vary(r, "Accept", NULL, NULL);
    assert_null(changed_fields_vary(r));
    directive("RemoteIPHeader", "X-Forwarded-For");
    brg_cache_changes_field(&changer, test_pool, "x-own");
    assert_null(changed_fields_vary(r));
    brg_cache_vary(other, "Accept", NULL, NULL);
    brg_cache_vary(other, "X-Own", NULL, NULL);
    assert_string_equal(changed_fields_vary(other), "mod_changer.c");
    brg_cache_vary(r, "x-forwarded-for", NULL, NULL);
    assert_string_equal(changed_fields_vary(r), "mod_remoteip.c");
}

/* More fields than are looked at: one of them may be changed. */
static void test_selected_by_many(void **state)
{
    static const char *const names[] = {"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9"};
    request_rec *r = test_request_kept(test_pool, NULL, NULL);

    brg_cache_changes_field(&changer, test_pool, "X-Own");
    for (int i = 0; i < 8; i++)
        brg_cache_vary(r, names[i], NULL, NULL);
    assert_null(changed_fields_vary(r));
    brg_cache_vary(r, names[8], NULL, NULL);
    assert_string_equal(changed_fields_vary(r), "mod_changer.c");
}

static void test_shown_by_logs(void **state)
{
    policy_found.stored_loggers.n = 0;
    assert_false(changed_fields_are_shown("Referer"));
    brg_transaction_log_shows(test_pool, "User-Agent");
    brg_transaction_log_shows(test_pool, "referer");
    assert_true(changed_fields_are_shown("Referer"));
    assert_true(changed_fields_are_shown("user-agent"));
    assert_false(changed_fields_are_shown("Cookie"));
    brg_transaction_log_shows(test_pool, NULL); /* any */
    assert_true(changed_fields_are_shown("Cookie"));
}

/* Who logs with a request_rec may show every field. */
static void test_shown_by_unknown_logs(void **state)
{
    policy_found.stored_loggers.n = 0;
    assert_false(changed_fields_are_shown("Referer"));
    policy_found.stored_loggers.n = -1;
    assert_true(changed_fields_are_shown("Referer"));
    policy_found.stored_loggers.n = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_fields_of_heads), TEST_WITH_POOL(test_forgotten_with_the_configuration),
        TEST_WITH_POOL(test_selected_by),     TEST_WITH_POOL(test_selected_by_many),
        TEST_WITH_POOL(test_shown_by_logs),   TEST_WITH_POOL(test_shown_by_unknown_logs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
