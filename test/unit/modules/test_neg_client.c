/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "neg_private.h"
#include "apr_general.h"

static apr_pool_t *pool;

static int set_up(void **state)
{
    (void)state;
    return apr_initialize() || apr_pool_create(&pool, NULL);
}

static void test_ranges(void **state)
{
    static const struct {
        const char *field;
        int n;
        const char *name;
        int q, level; /* thousandths, of the last */
    } cases[] = {
        {"", 0, NULL, 0, 0},
        {" , ,", 0, NULL, 0, 0},
        {"en", 1, "en", 1000, 0},
        {"en , DE ; Q = 0.5", 2, "de", 500, 0},
        {"text/html", 1, "text/html", 1000, 2000},
        {"text/html;level=1;q=.25", 1, "text/html", 250, 1000},
        {"a;q=0", 1, "a", 0, 0},
        {"a;q=7", 1, "a", 1000, 0},
        {"a;q=x", 1, "a", 1000, 0},
        {"a;x=\"b,c;q=0\";q=0.5,b", 2, "b", 1000, 0},
        {"a;x=\"never ends", 1, "a", 1000, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const apr_array_header_t *list = neg_ranges(pool, cases[i].field);
        const neg_range *last;

        if (list->nelts != cases[i].n)
            fail_msg("%s: %d", cases[i].field, list->nelts);
        if (!list->nelts)
            continue;
        last = &APR_ARRAY_IDX(list, list->nelts - 1, neg_range);
        assert_string_equal(last->name, cases[i].name);
        assert_int_equal((int)(last->q * 1000 + 0.5F), cases[i].q);
        assert_int_equal((int)(last->level * 1000 + 0.5F), cases[i].level);
    }
    assert_null(neg_ranges(pool, NULL));
}

static void test_languages(void **state)
{
    const apr_array_header_t *list = neg_languages(pool, "en, pt-BR");

    (void)state;
    assert_int_equal(list->nelts, 2);
    assert_string_equal(APR_ARRAY_IDX(list, 1, const char *), "pt-br");
    assert_null(neg_languages(pool, " , "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_languages)};

    return cmocka_run_group_tests(tests, set_up, NULL);
}
