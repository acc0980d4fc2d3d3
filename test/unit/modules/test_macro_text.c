/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "macro_private.h"
#include "apr_general.h"
#include "apr_strings.h"

static apr_pool_t *pool;

static int set_up(void **state)
{
    (void)state;
    return apr_initialize() || apr_pool_create(&pool, NULL);
}

static void test_replace(void **state)
{
    static const struct {
        const char *names, *values, *line, *result;
    } cases[] = {
        {"", "", "a $x", "a $x"},
        {"$x", "1", "$x$x-$y", "11-$y"},
        {"$a $ab", "1 2", "$a $ab $abc", "1 2 2c"},
        {"$a ab", "1 2", "$ab-ab", "1b-2"},
        {"$x $y", "$y $x", "$x-$y", "$y-$x"},
        {"@x", "a", "@x", "\"a\""},
        {"@x", "'a\"\\b'", "@x.", "\"a\\\"\\\\b\"."},
        {"@x", "@x", "@x", "@x"},
        {"$x", "\"\"", "a$x", "a"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[MACRO_LINE];

        assert_null(macro_replace(cases[i].line, macro_words(pool, cases[i].names),
                                  macro_words(pool, cases[i].values), out, NULL));
        assert_string_equal(out, cases[i].result);
    }
}

static void test_the_longest_line(void **state)
{
    const apr_array_header_t *names = macro_words(pool, "$x $yyyyyyyyyy");
    char *value = apr_palloc(pool, MACRO_LINE), out[MACRO_LINE];
    apr_array_header_t *values = macro_words(pool, "x z");

    (void)state;
    memset(value, 'v', MACRO_LINE);
    value[MACRO_LINE - 2] = '\0';
    APR_ARRAY_IDX(values, 0, const char *) = value;
    assert_null(macro_replace("$x", names, values, out, NULL));
    assert_int_equal(strlen(out), MACRO_LINE - 2);
    assert_string_equal(macro_replace("$x.", names, values, out, NULL),
                        "cannot substitute, buffer size too small");
    /* each replacement has to fit, not the result alone */
    value[MACRO_LINE - 10] = '\0';
    assert_non_null(macro_replace("$x$yyyyyyyyyy", names, values, out, NULL));
    assert_null(macro_replace("$yyyyyyyyyy$x", names, values, out, NULL));
}

static void test_lines_are_a_file(void **state)
{
    apr_array_header_t *lines = apr_array_make(pool, 3, sizeof(const char *));
    ap_configfile_t *file;
    char line[MACRO_LINE], c;

    (void)state;
    APR_ARRAY_PUSH(lines, const char *) = "one";
    APR_ARRAY_PUSH(lines, const char *) = "";
    APR_ARRAY_PUSH(lines, const char *) = "three";
    file = macro_open(pool, "a name", lines);
    assert_int_equal(ap_cfg_getline(line, sizeof line, file), APR_SUCCESS);
    assert_string_equal(line, "one");
    assert_int_equal(ap_cfg_getc(&c, file), APR_SUCCESS);
    assert_int_equal(c, '\n');
    assert_int_equal(ap_cfg_getline(line, 4, file), APR_ENOSPC);
    assert_int_equal(ap_cfg_closefile(file), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_the_longest_line),
        cmocka_unit_test(test_lines_are_a_file),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
