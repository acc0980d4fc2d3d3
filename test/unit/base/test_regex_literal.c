/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns that are plain text match as PCRE2 has it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ap_regex.h"
#include "regex_private.h"

static int is_literal(const ap_regex_t *regex)
{
    return ((const regex_code *)regex->re_pcre)->literal.len != 0;
}

/* The same in a group that captures nothing, which is no plain text any more. */
static void compare(const char *pattern, const char *subject, size_t len, int cflags)
{
    ap_regex_t one, other;
    ap_regmatch_t here[3], there[3];
    char grouped[64];
    int rc;

    snprintf(grouped, sizeof grouped, "(?:%s)", pattern);
    if (ap_regcomp(&one, pattern, cflags))
        return;
    assert_int_equal(ap_regcomp(&other, grouped, cflags), 0);
    assert_false(is_literal(&other));
    rc = ap_regexec_len(&one, subject, len, 3, here, 0);
    if (rc != ap_regexec_len(&other, subject, len, 3, there, 0))
        fail_msg("%s, '%.*s'", pattern, (int)len, subject);
    if (!rc)
        assert_memory_equal(here, there, sizeof here);
    ap_regfree(&one);
    ap_regfree(&other);
}

static void test_which_are(void **state)
{
    static const struct {
        const char *pattern;
        int cflags, is;
    } cases[] = {{"\\.png$", 0, 1},
                 {"^index\\.php$", 0, 1},
                 {"/wp-admin/", 0, 1},
                 {"^/a b", 0, 1},
                 {"^$", 0, 0},
                 {"", 0, 0},
                 {"a.b", 0, 0},
                 {"a$b", 0, 0},
                 {"a|b", 0, 0},
                 {"\\d", 0, 0},
                 {"\\", 0, 0},
                 {"a{2}", 0, 0},
                 {"(a)", 0, 0},
                 {"a", AP_REG_ICASE, 0},
                 {"^a", AP_REG_NEWLINE, 0},
                 {"a$", AP_REG_NO_DEFAULT, 0},
                 {"^a", AP_REG_NO_DEFAULT, 1},
                 {"a$", AP_REG_NO_DEFAULT | AP_REG_DOLLAR_ENDONLY, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ap_regex_t regex;

        if (ap_regcomp(&regex, cases[i].pattern, cases[i].cflags))
            continue;
        if (is_literal(&regex) != cases[i].is)
            fail_msg("%s", cases[i].pattern);
        ap_regfree(&regex);
    }
}

static char *put_some(char *to, const char *from, int most)
{
    for (int n = rand() % most; n; n--)
        *to++ = from[(size_t)rand() % strlen(from)];
    *to = '\0';
    return to;
}

static void test_as_pcre2(void **state)
{
    static const int cflags[] = {0, AP_REG_NO_DEFAULT, AP_REG_ICASE, AP_REG_NEWLINE};

    srand(7);
    for (int i = 0; i < 20000; i++) {
        char pattern[24], subject[24], *to = pattern;

        if (rand() % 3 == 0)
            *to++ = '^';
        to = put_some(to, "ab.\\./", 5);
        if (rand() % 3 == 0)
            strcpy(to, "$");
        to = put_some(subject, "ab./\n", 8);
        compare(pattern, subject, (size_t)(to - subject), cflags[rand() % 4]);
    }
}

static void test_nul_bytes_are_text(void **state)
{
    compare("b$", "a\0b", 3, 0);
    compare("b", "a\0b", 3, 0);
    compare("^a$", "a\0", 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_are),
        cmocka_unit_test(test_as_pcre2),
        cmocka_unit_test(test_nul_bytes_are_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
