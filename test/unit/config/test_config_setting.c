/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of single fields: which arguments they take, what they write, what they say of others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_pool.h"
#include "setting.h"

typedef struct fields {
    char before;
    signed char small;
    char behind;
    int word, number;
    apr_int64_t large;
} fields;

typedef const char *take1(cmd_parms *cmd, void *dir, const char *arg);

static fields global;

static void *of_global(const cmd_parms *cmd)
{
    return &global;
}

static const char *set(take1 *setter, conf_setting *setting, fields *section, const char *arg)
{
    const command_rec command = {.name = "Directive"};
    cmd_parms cmd = {.pool = test_pool, .temp_pool = test_pool, .cmd = &command, .info = setting};

    return setter(&cmd, section, arg);
}

static void test_numbers(void **state)
{
    static const char *const wrong[] = {"", "x", "9x", "-3", "8", "1e1", "99999999999999999999", " "};
    conf_setting s = {CONF_FIELD(fields, number), .least = -2, .most = 7};
    fields section = {.number = 1};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *error = set(conf_set_number, &s, &section, wrong[i]);

        assert_non_null(error);
        assert_ptr_equal(strstr(error, "Directive: parameter must be a number between -2 and 7: "), error);
        assert_int_equal(section.number, 1);
    }
    assert_null(set(conf_set_number, &s, &section, "-2"));
    assert_int_equal(section.number, -2);
    assert_null(set(conf_set_number_begin, &s, &section, "7"));
    assert_int_equal(section.number, 7);
    assert_non_null(set(conf_set_number_begin, &s, &section, "8"));
    s.refusal = "no";
    assert_string_equal(set(conf_set_number, &s, &section, "8"), "no");
    s.of = of_global;
    assert_null(set(conf_set_number, &s, NULL, "3"));
    assert_int_equal(global.number, 3);
}

static void test_bytes(void **state)
{
    static const char *const wrong[] = {"", "x", "1x", "1KK", "-1", "0", "99999999999G", "1 K", "K"};
    conf_setting s = {CONF_FIELD(fields, large), .least = 1, .most = APR_INT64_MAX};
    fields section = {.large = 5};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(set(conf_set_bytes, &s, &section, wrong[i]));
    assert_int_equal(section.large, 5);
    assert_null(set(conf_set_bytes, &s, &section, "100"));
    assert_int_equal(section.large, 100);
    assert_null(set(conf_set_bytes, &s, &section, "8k"));
    assert_int_equal(section.large, 8192);
    assert_null(set(conf_set_bytes, &s, &section, "2G"));
    assert_int_equal(section.large, 2ll << 30);
    s.most = 4096;
    assert_string_equal(set(conf_set_bytes, &s, &section, "8K"), "Directive must be from 1 to 4096 bytes");
}

static void test_times(void **state)
{
    conf_setting s = {CONF_FIELD(fields, large), .least = 1};
    fields section = {0};

    assert_null(set(conf_set_time, &s, &section, "3"));
    assert_int_equal(section.large, 3000000);
    assert_null(set(conf_set_time, &s, &section, "20ms"));
    assert_int_equal(section.large, 20000);
    assert_string_equal(set(conf_set_time, &s, &section, "0"), "Directive takes a time above 0, not \"0\"");
    assert_string_equal(set(conf_set_time, &s, &section, "1y"), "Directive takes a time above 0, not \"1y\"");
}

static void test_words(void **state)
{
    static const conf_word words[] = {{"on", 1}, {"off", -1}, {"auto", 7}, {NULL, 0}};
    conf_setting s = {CONF_FIELD(fields, word), .words = words};
    fields section = {0};

    assert_null(set(conf_set_word, &s, &section, "AUTO"));
    assert_int_equal(section.word, 7);
    assert_string_equal(set(conf_set_word, &s, &section, "aut"), "Directive takes on, off or auto, not \"aut\"");
    assert_int_equal(section.word, 7);
    assert_string_equal(conf_word_question(test_pool, words, "autoo"), "; did you mean 'auto'?");
}

/* A field of one byte leaves its neighbours alone. */
static void test_flags(void **state)
{
    conf_setting s = {CONF_FIELD(fields, small), .least = 1, .most = 2};
    const command_rec command = {.name = "Directive"};
    cmd_parms cmd = {.pool = test_pool, .temp_pool = test_pool, .cmd = &command, .info = &s};
    fields section = {.before = 9, .behind = 9};

    assert_null(conf_set_flag(&cmd, &section, 1));
    assert_int_equal(section.small, 2);
    assert_null(conf_set_flag(&cmd, &section, 0));
    assert_int_equal(section.small, 1);
    assert_true(section.before == 9 && section.behind == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_numbers), TEST_WITH_POOL(test_bytes), TEST_WITH_POOL(test_times),
                                       TEST_WITH_POOL(test_words), TEST_WITH_POOL(test_flags)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
