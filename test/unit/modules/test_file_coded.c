/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "file_coded.h"
#include <string.h>

enum { BR = 1, ZSTD, GZIP };

/* Codings in an order, two bits each. */
#define LIST(a, b, c) ((a) | (b) << 2 | (c) << 4)
#define ALL LIST(BR, ZSTD, GZIP)

static int accepted(int codings, const char *value)
{
    return file_codings_accepted((const void *)(intptr_t)codings, value, value ? strlen(value) : 0);
}

static void test_directive(void **state)
{
    file_codings codings = FILE_CODINGS_UNSET;

    assert_null(file_codings_add(NULL, &codings, "gzip"));
    assert_null(file_codings_add(NULL, &codings, "BR"));
    assert_int_equal(codings, LIST(GZIP, BR, 0));
    codings = FILE_CODINGS_UNSET;
    assert_null(file_codings_add(NULL, &codings, "off"));
    assert_int_equal(codings, 0);
}

static void test_order(void **state)
{
    assert_int_equal(accepted(ALL, "gzip, br, zstd"), ALL);
    assert_int_equal(accepted(LIST(GZIP, BR, 0), "br, gzip"), LIST(GZIP, BR, 0));
    assert_int_equal(accepted(ALL, "gzip;q=0.9, br;q=0.8, zstd;q=0.85"), LIST(GZIP, ZSTD, BR));
    assert_int_equal(accepted(ALL, "gzip;q=0.001,br;q=0.000"), LIST(GZIP, 0, 0));
    assert_int_equal(accepted(ALL, "*;q=0.5, gzip"), LIST(GZIP, BR, ZSTD));
    assert_int_equal(accepted(ALL, "*, br;q=0"), LIST(ZSTD, GZIP, 0));
    assert_int_equal(accepted(LIST(BR, 0, 0), "gzip"), 0);
    assert_int_equal(accepted(ALL, NULL), 0);
    assert_int_equal(accepted(0, "br"), 0);
}

static void test_odd_values(void **state)
{
    static const struct {
        const char *value;
        int codings;
    } table[] = {{"", 0},          {",", 0},         {" , ,br", BR},     {"br;", BR},
                 {"br ; q=1", BR}, {"br;q=1.5", BR}, {"br;q=", 0},       {"br;q=2", 0},
                 {"br;x=1", 0},    {"br;q=0.", 0},   {"br;Q=0.1", BR},   {"b r", 0},
                 {"bro", 0},       {"\tbr\t", BR},   {"br;q=0.0001", 0}, {"br;q=0, br", 0},
                 {";q=1", 0},      {"*;q=", 0}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(accepted(LIST(BR, 0, 0), table[i].value), table[i].codings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directive),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_odd_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
