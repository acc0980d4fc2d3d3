/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured of a response's fields, and when one need not be set again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "httpd.h"
#include "http_fields.h"
#include "http_response.h"
#include "apr_strings.h"

static apr_pool_t *pool;
static apr_table_t *fields;

static int setup(void **state)
{
    apr_pool_create(&pool, NULL);
    fields = apr_table_make(pool, 4);
    return 0;
}

static int teardown(void **state)
{
    apr_pool_destroy(pool);
    return 0;
}

static void a_field_is_measured_and_judged(void **state)
{
    http_measure m;

    http_field_measure("X-Name", "some value", &m);
    assert_int_equal(m.name, 6);
    assert_int_equal(m.value, 10);
    assert_true(m.name_is_safe && m.value_is_safe);
    http_field_measure("X Name", "some\rvalue", &m);
    assert_false(m.name_is_safe || m.value_is_safe);
    http_field_measure("", "", &m);
    assert_int_equal(m.name, 0);
    assert_false(m.name_is_safe);
    assert_true(m.value_is_safe);
}

static void lengths_are_those_of_the_table(void **state)
{
    http_lengths lengths = {.n = -1};

    apr_table_addn(fields, "ETag", "\"1\"");
    apr_table_addn(fields, "server", "x");
    apr_table_addn(fields, "Date", "today");
    http_lengths_of(fields, &lengths);
    assert_int_equal(lengths.n, 3);
    assert_int_equal(lengths.all, 4 + 3 + 6 + 1 + 4 + 5);
    assert_int_equal(lengths.field[2].value, 5);
    assert_int_equal(lengths.server, 1);
    assert_int_equal(lengths.date, 2);
    assert_int_equal(lengths.more, 0);
    apr_table_addn(fields, "DATE", "tomorrow");
    http_lengths_of(fields, &lengths);
    assert_int_equal(lengths.date, 2);
    assert_int_equal(lengths.more, 1);
}

static void of_many_fields_the_sum_is_kept(void **state)
{
    http_lengths lengths = {.n = -1};

    http_lengths_of(fields, &lengths);
    assert_int_equal(lengths.n, 0);
    assert_int_equal(lengths.date, -1);
    for (int i = 0; i < HTTP_LENGTHS_KEPT + 3; i++)
        apr_table_addn(fields, apr_psprintf(pool, "X-%02d", i), "v");
    apr_table_addn(fields, "Date", "today");
    http_lengths_of(fields, &lengths);
    assert_int_equal(lengths.all, (HTTP_LENGTHS_KEPT + 3) * 5 + 9);
    assert_int_equal(lengths.date, HTTP_LENGTHS_KEPT + 3);
}

static void only_one_field_of_the_name_says_it(void **state)
{
    assert_false(http_field_says(fields, "Content-Length", "1"));
    apr_table_addn(fields, "Content-Type", "1");
    apr_table_addn(fields, "content-length", "1");
    assert_true(http_field_says(fields, "Content-Length", "1"));
    assert_false(http_field_says(fields, "Content-Length", "11"));
    apr_table_addn(fields, "Content-Length", "1");
    assert_false(http_field_says(fields, "Content-Length", "1"));
}

#define FIELDS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIELDS_TEST(a_field_is_measured_and_judged),
        FIELDS_TEST(lengths_are_those_of_the_table),
        FIELDS_TEST(of_many_fields_the_sum_is_kept),
        FIELDS_TEST(only_one_field_of_the_name_says_it),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
