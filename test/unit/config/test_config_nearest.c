/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_pool.h"
#include "brigade/directive.h"

static void test_nearest(void **state)
{
    static const char *const names[] = {"Options", "Order", "DocumentRoot", "<Directory", "<DirectoryMatch",
                                        "Allow",   NULL,    "br",           "gzip",       "ab"};
    static const struct {
        const char *word, *meant; /* NULL: none */
    } cases[] = {
        {"Optoins", "Options"},         {"Option", "Options"},      {"opti0ns", "Options"},
        {"DocmentRot", "DocumentRoot"}, {"DocumentRootDir", "DocumentRoot"}, {"<Directry", "<Directory"},
        {"<DirectoryMach", "<DirectoryMatch"}, {"Alow", "Allow"},   {"gzpi", "gzip"},
        {"brr", "br"},                  {"OPTIONS", "Options"},     {"Xyzzy", NULL},
        {"Ordinary", NULL},             {"x", NULL},                {"", NULL},
        {"DocumentRotten", "DocumentRoot"}, {"DocumentRoutine", NULL},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        brg_nearest nearest = {cases[i].word, NULL, 0};

        for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
            brg_nearest_offer(&nearest, names[k]);
        if (cases[i].meant)
            assert_string_equal(nearest.name, cases[i].meant);
        else
            assert_null(nearest.name);
    }
}

static void test_question(void **state)
{
    brg_nearest nearest = {"Optoins", NULL, 0};

    assert_string_equal(brg_nearest_question(test_pool, &nearest), "");
    brg_nearest_offer(&nearest, "Options");
    assert_int_equal(nearest.distance, 1);
    assert_string_equal(brg_nearest_question(test_pool, &nearest), "; did you mean 'Options'?");
}

static void test_long(void **state)
{
    char word[200], name[200];
    brg_nearest nearest = {word, NULL, 0};

    for (size_t n = 40; n < sizeof word - 1; n++) {
        memset(word, 'a', n);
        memset(name, 'a', n);
        word[n] = name[n] = '\0';
        name[n / 2] = 'b';
        nearest.name = NULL;
        brg_nearest_offer(&nearest, name);
        assert_true((n <= 48) == (nearest.name != NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_nearest), TEST_WITH_POOL(test_question),
                                       TEST_WITH_POOL(test_long)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
