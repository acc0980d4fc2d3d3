/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "ap_regex.h"
#include "regex_limits.h"
#include "test_pool.h"

#define SUBJECT 8000
#define PATIENCE_MS 400 /* of one match, sanitizers included; without limits these take minutes */

static long cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* "unit" over and over, then "end". */
static char *subject_make(const char *unit, const char *end, size_t size)
{
    char *s = malloc(size + strlen(end) + 1);

    for (size_t i = 0; i < size; i++)
        s[i] = unit[i % strlen(unit)];
    strcpy(s + size, end);
    return s;
}

static int match(const char *pattern, const char *subject)
{
    ap_regex_t regex;
    int rc;

    assert_int_equal(ap_regcomp(&regex, pattern, 0), 0);
    rc = ap_regexec(&regex, subject, 0, NULL, 0);
    ap_regfree(&regex);
    return rc;
}

static void test_catastrophes_end(void **state)
{
    static const struct {
        const char *pattern, *unit, *end;
    } cases[] = {
        {"^(a+)+$", "a", "!"},
        {"(a+)+$", "a", "!"},
        {"^(a|aa)+$", "a", "!"},
        {"^a*a*a*a*[bc]", "a", "!"},
        {"a*a*a*a*[bc]", "a", "!"},
        {"^(.*)(.*)(.*)(.*)[xy]$", "a", "!"},
        {"(?:a|b)*(?:a|b)*[cd]", "ab", "!"},
        {"(?:a?){30}a{30}$", "a", "!"},
        {"([a-z]+ ?)+[0-9]$", "word ", "!"},
        /* no single position takes long */
        {"(a|aa)+[cd]", "aaaaaaaaaaaaaaaaaaX", "!"},
        {"(a|aa|aaa)+[cd]", "aaaaaaaaaaaaX", "!"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *subject = subject_make(cases[i].unit, cases[i].end, SUBJECT);
        unsigned failures = regex_failures();
        long begin = cpu_ms();
        int rc = match(cases[i].pattern, subject);

        if (cpu_ms() - begin > PATIENCE_MS)
            fail_msg("%s took %ld ms", cases[i].pattern, cpu_ms() - begin);
        assert_int_equal(regex_failures() - failures, rc != AP_REG_NOMATCH);
        if (rc != AP_REG_NOMATCH)
            assert_int_equal(rc, AP_REG_ESPACE);
        free(subject);
    }
}

/* Long, but honest: what the first try has no steps for is found by the second. */
static void test_hard_matches_are_found(void **state)
{
    static const struct {
        const char *pattern, *unit, *end;
        int rc;
    } cases[] = {
        {"b.*c.*[de]$", "ab", "c f", AP_REG_NOMATCH},
        {"(?:a|b)+c", "ab", "c", 0},
        {"^(?:a|b)+c$", "ab", "c", 0},
        {"a.*\\.html$", "aX", "/index.html", 0},
        {"(?:x|ab)*y$", "ab", "aby", 0},
        {"\\.(gif|jpe?g|png)$", "abc.", "gif", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *subject = subject_make(cases[i].unit, cases[i].end, SUBJECT / 4);

        if (match(cases[i].pattern, subject) != cases[i].rc)
            fail_msg("%s", cases[i].pattern);
        free(subject);
    }
}

/* The same offsets, whichever try finds them. */
static void test_groups_of_the_second_try(void **state)
{
    char *subject = subject_make("aX", "bbbc", 1000);
    ap_regmatch_t groups[2];
    ap_regex_t regex;

    regex_limit_set(300);
    assert_int_equal(ap_regcomp(&regex, "(b(?:b|c|bb)*)c", 0), 0);
    assert_int_equal(ap_regexec(&regex, subject, 2, groups, 0), 0);
    assert_int_equal(groups[0].rm_so, 1000);
    assert_int_equal(groups[0].rm_eo, 1004);
    assert_int_equal(groups[1].rm_eo, 1003);
    ap_regfree(&regex);
    regex_limit_set(REGEX_LIMIT_DEFAULT);
    free(subject);
}

static void test_limit_is_set(void **state)
{
    char *subject = subject_make("a", "!", 20);

    assert_int_equal(match("^(a+)+$", subject), AP_REG_ESPACE);
    regex_limit_set(REGEX_LIMIT_MAX);
    assert_int_equal(match("^(a+)+$", subject), AP_REG_NOMATCH);
    regex_limit_set(REGEX_LIMIT_DEFAULT);
    free(subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_catastrophes_end),
        cmocka_unit_test(test_hard_matches_are_found),
        cmocka_unit_test(test_groups_of_the_second_try),
        TEST_WITH_POOL(test_limit_is_set),
    };

    return cmocka_run_group_tests_name("regex_match", tests, NULL, NULL);
}
