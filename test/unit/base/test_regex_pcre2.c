/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>
#include "httpd.h"
#include "ap_regex.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "test_pool.h"

static const struct match_case {
    const char *pattern;
    int cflags;
    const char *subject;
    int eflags, rc, start, end; /* of the whole match */
} match_cases[] = {
    {"b+", 0, "abbc", 0, 0, 1, 3},
    {"", 0, "abc", 0, 0, 0, 0},
    {"x", 0, "abc", 0, AP_REG_NOMATCH, 0, 0},
    {"B", AP_REG_ICASE, "abc", 0, 0, 1, 2},
    {"a.b", 0, "a\nb", 0, 0, 0, 3},
    {"a.b", AP_REG_NO_DEFAULT, "a\nb", 0, AP_REG_NOMATCH, 0, 0},
    {"a$", 0, "a\n", 0, AP_REG_NOMATCH, 0, 0},
    {"a$", AP_REG_NO_DEFAULT, "a\n", 0, 0, 0, 1},
    {"^b", AP_REG_NEWLINE, "a\nb", 0, 0, 2, 3},
    {"^b", 0, "a\nb", 0, AP_REG_NOMATCH, 0, 0},
    {"^a", 0, "a", AP_REG_NOTBOL, AP_REG_NOMATCH, 0, 0},
    {"a$", 0, "a", AP_REG_NOTEOL, AP_REG_NOMATCH, 0, 0},
    {"\\xe9", 0, "\xe9", 0, 0, 0, 1},
    {"(?i)A", 0, "a", 0, 0, 0, 1},
};

static void test_match(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(match_cases) / sizeof(match_cases[0]); i++) {
        const struct match_case *c = &match_cases[i];
        ap_regmatch_t whole;
        ap_regex_t regex;

        assert_int_equal(ap_regcomp(&regex, c->pattern, c->cflags), 0);
        assert_int_equal(ap_regexec(&regex, c->subject, 1, &whole, c->eflags), c->rc);
        if (c->rc == 0) {
            assert_int_equal(whole.rm_so, c->start);
            assert_int_equal(whole.rm_eo, c->end);
        }
        ap_regfree(&regex);
    }
}

static void test_groups(void **state)
{
    ap_regmatch_t groups[5];
    ap_regex_t regex;

    assert_int_equal(ap_regcomp(&regex, "(a)|(b)(c)?", 0), 0);
    assert_int_equal(regex.re_nsub, 3);
    assert_int_equal(ap_regexec(&regex, "xb", 5, groups, 0), 0);
    assert_int_equal(groups[0].rm_so, 1);
    assert_int_equal(groups[1].rm_so, -1);
    assert_int_equal(groups[2].rm_so, 1);
    assert_int_equal(groups[3].rm_so, -1);
    assert_int_equal(groups[4].rm_eo, -1);
    assert_int_equal(ap_regexec(&regex, "xb", 0, NULL, 0), 0);
    assert_int_equal(ap_regexec_len(&regex, "xb", 1, 1, groups, 0), AP_REG_NOMATCH);
    ap_regfree(&regex);
}

/* More groups than a thread's ovector holds at first. */
static void test_many_groups(void **state)
{
    enum { N = 200 };
    char pattern[3 * N + 1], subject[N + 1];
    ap_regmatch_t groups[N + 1];
    ap_regex_t regex;
    int i;

    for (i = 0; i < N; i++) {
        memcpy(pattern + 3 * i, "(a)", 3);
        subject[i] = 'a';
    }
    pattern[3 * N] = subject[N] = '\0';
    assert_int_equal(ap_regcomp(&regex, pattern, 0), 0);
    assert_int_equal(ap_regexec(&regex, subject, 3, groups, 0), 0);
    assert_int_equal(groups[2].rm_so, 1);
    assert_int_equal(ap_regexec(&regex, subject, N + 1, groups, 0), 0);
    assert_int_equal(groups[N].rm_so, N - 1);
    ap_regfree(&regex);
}

static void test_errors(void **state)
{
    static const struct {
        const char *pattern, *text;
    } cases[] = {
        {"(", "bad argument at offset 1"},
        {"a{2,1}", "bad argument at offset 5"},
        {"*", "bad argument at offset 0"},
        {"a\\", "bad argument at offset 2"},
    };
    ap_regex_t regex;
    char text[64];
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rc = ap_regcomp(&regex, cases[i].pattern, 0);

        assert_int_equal(rc, AP_REG_INVARG);
        assert_int_equal(ap_regerror(rc, &regex, text, sizeof(text)), strlen(cases[i].text) + 1);
        assert_string_equal(text, cases[i].text);
        assert_null(ap_pregcomp(test_pool, cases[i].pattern, 0));
    }
    ap_regerror(AP_REG_NOMATCH, NULL, text, 6);
    assert_string_equal(text, "match");
}

/* A pattern that backtracks for ever is given up with an error. */
static void test_catastrophe(void **state)
{
    ap_regex_t regex;

    assert_int_equal(ap_regcomp(&regex, "(a|aa)+$", 0), 0);
    assert_int_equal(
        ap_regexec(&regex, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 0, NULL, 0),
        AP_REG_ESPACE);
    ap_regfree(&regex);
}

static void test_names(void **state)
{
    apr_array_header_t *names = apr_array_make(test_pool, 1, sizeof(char *));
    ap_regex_t *regex = ap_pregcomp(test_pool, "(x)(?<site>a)(?<page>b)", 0);

    assert_int_equal(ap_regname(regex, names, AP_REG_MATCH, 1), 2);
    assert_int_equal(names->nelts, 4);
    assert_null(APR_ARRAY_IDX(names, 0, const char *));
    assert_null(APR_ARRAY_IDX(names, 1, const char *));
    assert_string_equal(APR_ARRAY_IDX(names, 2, const char *), "MATCH_SITE");
    assert_string_equal(APR_ARRAY_IDX(names, 3, const char *), "MATCH_PAGE");
    names = apr_array_make(test_pool, 1, sizeof(char *));
    ap_regname(regex, names, NULL, 0);
    assert_string_equal(APR_ARRAY_IDX(names, 2, const char *), "site");
    ap_pregfree(test_pool, regex);
}

static void test_defaults(void **state)
{
    int before = ap_regcomp_get_default_cflags();
    ap_regex_t regex;

    assert_int_equal(before, AP_REG_DEFAULT);
    assert_int_equal(ap_regcomp_default_cflag_by_name("ICASE"), AP_REG_ICASE);
    assert_int_equal(ap_regcomp_default_cflag_by_name("DOLLAR_ENDONLY"), AP_REG_DOLLAR_ENDONLY);
    assert_int_equal(ap_regcomp_default_cflag_by_name("DOTALL"), AP_REG_DOTALL);
    assert_int_equal(ap_regcomp_default_cflag_by_name("NOSUCH"), 0);
    ap_regcomp_set_default_cflags(AP_REG_ICASE);
    ap_regcomp(&regex, "A", 0);
    assert_int_equal(ap_regexec(&regex, "a", 0, NULL, 0), 0);
    ap_regfree(&regex);
    ap_regcomp_set_default_cflags(before);
    assert_true(ap_pcre_version_string(AP_REG_PCRE_LOADED)[0] >= '1');
    assert_true(ap_pcre_version_string(AP_REG_PCRE_COMPILED)[0] >= '1');
}

static const struct subst_case {
    const char *pattern, *subject, *input, *out;
} subst_cases[] = {
    {"a(b)(x)?", "zab1", "[$0|$1|$2|$3]", "[ab|b||]"},
    {"a(b)", "ab", "\\$1 $ $a $$1 \\\\$1 & \\&", "$1 $ $a $b \\b & &"},
    {"a(b)", "ab", "$1x $10 ${1}", "bx b0 ${1}"},
    {"x", "x", "", ""},
    {"x", "x", "end\\", "end\\"},
    {"x", "x", "$", "$"},
};

static void test_subst(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(subst_cases) / sizeof(subst_cases[0]); i++) {
        const struct subst_case *c = &subst_cases[i];
        ap_regex_t *regex = ap_pregcomp(test_pool, c->pattern, 0);
        ap_regmatch_t groups[AP_MAX_REG_MATCH];

        assert_int_equal(ap_regexec(regex, c->subject, AP_MAX_REG_MATCH, groups, 0), 0);
        assert_string_equal(ap_pregsub(test_pool, c->input, c->subject, AP_MAX_REG_MATCH, groups),
                            c->out);
    }
    assert_string_equal(ap_pregsub(test_pool, "a$1\\b", "x", 0, NULL), "a$1\\b");
}

static void test_subst_limit(void **state)
{
    ap_regmatch_t whole = {0, 5};
    char *result = (char *)"unset", *big = apr_palloc(test_pool, 70001);

    assert_int_equal(ap_pregsub_ex(test_pool, &result, "$0", "abcde", 1, &whole, 6), APR_SUCCESS);
    assert_string_equal(result, "abcde");
    assert_int_equal(ap_pregsub_ex(test_pool, &result, "$0", "abcde", 1, &whole, 5), APR_ENOMEM);
    assert_null(result);
    assert_int_equal(ap_pregsub_ex(test_pool, &result, "$0", NULL, 1, &whole, 0), APR_EINVAL);
    memset(big, 'a', 70000);
    big[70000] = '\0';
    assert_null(ap_pregsub(test_pool, big, "abcde", 1, &whole));
    assert_int_equal(ap_pregsub_ex(test_pool, &result, big, "abcde", 1, &whole, 0), APR_SUCCESS);
}

static const struct plus_case {
    const char *pattern, *subject;
    int n; /* -1: does not compile */
    const char *out;
} plus_cases[] = {
    {"a.c", "xabcx", 1, NULL},
    {"/A/i", "a", 1, NULL},
    {"m#a#", "b", 0, NULL},
    {"s/a/b/", "aaa", 1, "baa"},
    {"s/A/b/gi", "aAa", 3, "bbb"},
    {"s#(a)(b)#$2$1#g", "xabxab", 2, "xbaxba"},
    {"s/x*/-/g", "abc", 4, "-a-b-c-"},
    {"s/b*/-/g", "abbc", 4, "-a--c-"},
    {"s/a/aa/g", "aXa", 2, "aaXaa"},
    {"s/a/", "a", -1, NULL},
    {"/(/", "a", -1, NULL},
    {"s/a", "s/a", 1, NULL},
    {"sab", "sab", 1, NULL},
    {"", "a", 1, NULL},
};

static void test_plus(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(plus_cases) / sizeof(plus_cases[0]); i++) {
        const struct plus_case *c = &plus_cases[i];
        ap_rxplus_t *rx = ap_rxplus_compile(test_pool, c->pattern);
        char *out = NULL;

        if (c->n < 0) {
            assert_null(rx);
            continue;
        }
        assert_int_equal(ap_rxplus_exec(test_pool, rx, c->subject, &out), c->n);
        if (c->out)
            assert_string_equal(out, c->out);
        else
            assert_null(out);
    }
}

static void test_plus_memory(void **state)
{
    ap_rxplus_t *rx = ap_rxplus_compile(test_pool, "/a(b)(x)?/");
    const char *match;
    char *out;
    int len;

    assert_int_equal(ap_rxplus_exec(test_pool, rx, "zabz", &out), 1);
    assert_int_equal(ap_rxplus_nmatch(rx), 3);
    assert_string_equal(ap_rxplus_pmatch(test_pool, rx, 1), "b");
    ap_rxplus_match(rx, 0, &len, &match);
    assert_int_equal(len, 2);
    assert_null(ap_rxplus_pmatch(test_pool, rx, 2));
    assert_null(ap_rxplus_pmatch(test_pool, rx, 7));
    assert_int_equal(ap_rxplus_exec(test_pool, rx, "none", &out), 0);
    assert_int_equal(ap_rxplus_nmatch(rx), 0);
}

static void *match_many(void *regex)
{
    ap_regmatch_t groups[2];
    long bad = 0;
    int i;

    for (i = 0; i < 1000; i++)
        bad += ap_regexec(regex, "xxaby", 2, groups, 0) != 0 || groups[1].rm_so != 3;
    return (void *)bad;
}

/* One compiled pattern, several threads, each with its own match data. */
static void test_threads(void **state)
{
    ap_regex_t *regex = ap_pregcomp(test_pool, "a(b)", 0);
    pthread_t threads[4];
    void *bad;
    int i;

    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, match_many, regex), 0);
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_many_groups), TEST_WITH_POOL(test_errors),
        TEST_WITH_POOL(test_catastrophe),   TEST_WITH_POOL(test_names),
        cmocka_unit_test(test_defaults),    TEST_WITH_POOL(test_subst),
        TEST_WITH_POOL(test_subst_limit),   TEST_WITH_POOL(test_plus),
        TEST_WITH_POOL(test_plus_memory),   TEST_WITH_POOL(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
