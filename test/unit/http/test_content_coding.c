/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "brigade/content_coding.h"
#include <string.h>

enum { BR = BRG_CODING_BROTLI, ZSTD = BRG_CODING_ZSTD, GZIP = BRG_CODING_GZIP };

/* Codings in an order, two bits each. */
#define LIST(a, b, c) ((a) | (b) << 2 | (c) << 4)
#define ALL LIST(BR, ZSTD, GZIP)

static int accepted(brg_codings codings, const char *value)
{
    return brg_coding_accepted((const void *)(intptr_t)codings, value, value ? strlen(value) : 0);
}

static void test_lists(void **state)
{
    brg_codings list = brg_codings_append(0, BRG_CODING_GZIP);

    list = brg_codings_append(list, BRG_CODING_BROTLI);
    assert_int_equal(brg_codings_append(list, BRG_CODING_GZIP), list);
    assert_int_equal(list, LIST(GZIP, BR, 0));
    assert_int_equal(brg_coding_named("ZSTD"), ZSTD);
    assert_int_equal(brg_coding_named("deflate"), BRG_CODING_NONE);
    assert_string_equal(brg_coding_name(BRG_CODING_BROTLI), "br");
}

static void test_order(void **state)
{
    assert_int_equal(accepted(ALL, "gzip, br, zstd"), BR);
    assert_int_equal(accepted(LIST(GZIP, BR, 0), "br, gzip"), GZIP);
    assert_int_equal(accepted(ALL, "gzip;q=0.9, br;q=0.8, zstd;q=0.85"), GZIP);
    assert_int_equal(accepted(ALL, "gzip;q=0.001,br;q=0.000"), GZIP);
    assert_int_equal(accepted(ALL, "*;q=0.5, gzip"), GZIP);
    assert_int_equal(accepted(ALL, "*;q=0.5, gzip;q=0.4"), BR);
    assert_int_equal(accepted(ALL, "*, br;q=0"), ZSTD);
    assert_int_equal(accepted(LIST(BR, 0, 0), "gzip"), 0);
    assert_int_equal(accepted(LIST(GZIP, 0, 0), "x-gzip"), GZIP);
    assert_int_equal(accepted(LIST(GZIP, 0, 0), "X-GZIP;q=0"), 0);
    assert_int_equal(accepted(ALL, NULL), 0);
    assert_int_equal(accepted(0, "br"), 0);
}

static void test_identity(void **state)
{
    assert_int_equal(accepted(ALL, "identity, br;q=0.5"), 0);
    assert_int_equal(accepted(ALL, "identity;q=0.5, br;q=0.5"), BR);
    assert_int_equal(accepted(ALL, "identity;q=0, gzip;q=0.1"), GZIP);
    assert_int_equal(accepted(ALL, "identity;q=0"), 0);
    assert_int_equal(accepted(ALL, "identity;q=0.5, *;q=0.4"), 0);
}

/* What counts where the first one cannot be. */
static void test_all_in_order(void **state)
{
#define ACCEPTED(value) brg_codings_accepted((const void *)(intptr_t)ALL, value, strlen(value))
    assert_int_equal(ACCEPTED("gzip, br, zstd"), ALL);
    assert_int_equal(ACCEPTED("gzip;q=0.9, br;q=0.8, zstd;q=0.85"), LIST(GZIP, ZSTD, BR));
    assert_int_equal(ACCEPTED("*;q=0.5, gzip"), LIST(GZIP, BR, ZSTD));
    assert_int_equal(ACCEPTED("*, br;q=0"), LIST(ZSTD, GZIP, 0));
    assert_int_equal(ACCEPTED("identity;q=0.5, *;q=0.4, gzip"), LIST(GZIP, 0, 0));
    assert_int_equal(ACCEPTED(""), 0);
}

static void test_odd_values(void **state)
{
    static const struct {
        const char *value;
        int coding;
    } table[] = {{"", 0},          {",", 0},         {" , ,br", BR},     {"br;", BR},
                 {"br ; q=1", BR}, {"br;q=1.5", BR}, {"br;q=", 0},       {"br;q=2", 0},
                 {"br;x=1", 0},    {"br;q=0.", 0},   {"br;Q=0.1", BR},   {"b r", 0},
                 {"bro", 0},       {"\tbr\t", BR},   {"br;q=0.0001", 0}, {"br;q=0, br", 0},
                 {";q=1", 0},      {"*;q=", 0}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(accepted(LIST(BR, 0, 0), table[i].value), table[i].coding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_all_in_order),
        cmocka_unit_test(test_odd_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
