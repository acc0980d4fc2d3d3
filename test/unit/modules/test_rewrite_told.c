/* SPDX-License-Identifier: Apache-2.0 */
/* Names that rules of a folder, or of a server, treat alike: the same value; and such as nobody can tell of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <apr_general.h>
#include <apr_strings.h>
#include <string.h>
#include "brigade/response_cache.h"
#include "rewrite_private.h"

static apr_pool_t *told_pool;
static rewrite_conf told_server, told_section;
static void *told_vector[2][16];

static void told_begins(void)
{
    apr_pool_clear(told_pool);
    rewrite_module.module_index = 7;
    memset(&told_server, 0, sizeof told_server);
    memset(&told_section, 0, sizeof told_section);
    told_server.rules = apr_array_make(told_pool, 4, sizeof(rewrite_rule));
    told_section.on = 1;
    told_section.directory = "/site/docs/";
    told_section.rules = apr_array_make(told_pool, 4, sizeof(rewrite_rule));
    told_vector[0][7] = &told_server;
    told_vector[1][7] = &told_section;
}

/* @param tested, test  of its one condition; NULL: it has none */
static void told_rule_in(apr_array_header_t *rules, const char *pattern, const char *output,
                         unsigned flags, const char *tested, rewrite_test test, int negated)
{
    rewrite_rule *rule = apr_array_push(rules);

    memset(rule, 0, sizeof *rule);
    rule->flags = flags | (strcmp(output, "-") ? 0 : REWRITE_F_NOSUB);
    rule->pattern = pattern;
    rule->regex = ap_pregcomp(told_pool, pattern, AP_REG_EXTENDED);
    rule->output = output;
    rule->conds = apr_array_make(told_pool, 1, sizeof(rewrite_cond));
    assert_non_null(rule->regex);
    if (tested) {
        rewrite_cond *cond = apr_array_push((apr_array_header_t *)(uintptr_t)rule->conds);

        memset(cond, 0, sizeof *cond);
        cond->input = tested;
        cond->test = test;
        cond->negated = (unsigned)negated;
    }
    rewrite_tell_rule(rule);
}

static void told_rule(const char *pattern, const char *output, unsigned flags, const char *tested,
                      rewrite_test test, int negated)
{
    told_rule_in(told_section.rules, pattern, output, flags, tested, test, negated);
}

/* Of the server, with or without one condition. */
static void told_server_rule(const char *pattern, const char *output, unsigned flags,
                             const char *tested, rewrite_test test)
{
    told_server.on = 1;
    told_rule_in(told_server.rules, pattern, output, flags, tested, test, 1);
}

/* Before the walk: all of the path behind the prefix, or, where that is "", its last name. */
static apr_int64_t told_path(const char *prefix, const char *name)
{
    server_rec s = {.module_config = (ap_conf_vector_t *)told_vector[0]};

    return rewrite_name(&s, (ap_conf_vector_t *)told_vector[1],
                        apr_pstrcat(told_pool, prefix, name, NULL), NULL, name, 0);
}

static apr_int64_t told_behind(const char *name, const char *rest)
{
    server_rec s = {.module_config = (ap_conf_vector_t *)told_vector[0]};

    return rewrite_name(&s, (ap_conf_vector_t *)told_vector[1],
                        apr_pstrcat(told_pool, "/docs/", name, rest, NULL),
                        apr_pstrcat(told_pool, "/site/docs/", name, NULL), rest, 0);
}

static apr_int64_t told(const char *name, int is_file)
{
    server_rec s = {.module_config = (ap_conf_vector_t *)told_vector[0]};

    return rewrite_name(&s, (ap_conf_vector_t *)told_vector[1],
                        apr_pstrcat(told_pool, "/docs/", name, NULL),
                        apr_pstrcat(told_pool, "/site/docs/", name, NULL), "", is_file);
}

#define MOVED (REWRITE_F_REDIRECT | REWRITE_F_LAST)

static void whole_names_go_the_same_way(void **state)
{
    told_begins();
    told_rule("^(.*)$", "https://elsewhere.example/$1", MOVED, NULL, REWRITE_REGEX, 0);
    assert_true(told("a", 0) >= 0);
    assert_true(told("a", 0) == told("another-1.x", 0));
}

static void parts_of_names_are_not_told(void **state)
{
    told_begins();
    told_rule("^old-(.*)$", "/new/$1", MOVED, NULL, REWRITE_REGEX, 0);
    assert_true(told("old-a", 0) == BRG_CACHE_NAME_COUNTS);
    assert_true(told("new", 0) >= 0 && told("new", 0) == told("other", 0));
}

static void groups_that_are_not_used_do_not_count(void **state)
{
    told_begins();
    told_rule("^old-(.*)$", "/new/$0", MOVED, NULL, REWRITE_REGEX, 0);
    assert_true(told("old-a", 0) >= 0 && told("old-a", 0) == told("old-bc", 0));
    assert_true(told("old-a", 0) != told("new", 0));
}

static void names_of_different_rules_differ(void **state)
{
    told_begins();
    told_rule("^a", "-", REWRITE_F_STATUS, NULL, REWRITE_REGEX, 0);
    told_rule("^b", "-", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
    told_rule("^c", "/index", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
    assert_true(told("a1", 0) == told("a2", 0) && told("b1", 0) == told("b2", 0));
    assert_true(told("a1", 0) != told("b1", 0) && told("a1", 0) != told("d", 0));
    assert_true(told("c1", 0) == told("c2", 0) &&
                told("c1", 0) != told("d", 0)); /* led elsewhere, all to one place */
}

static void conditions_look_at_nothing_that_goes_with_the_name(void **state)
{
    static const struct {
        const char *tested;
        rewrite_test test;
        int is_told;
    } cases[] = {
        {"%{HTTP_USER_AGENT}", REWRITE_REGEX, 1}, {"%{HTTP:X-Own}", REWRITE_SAME, 1},
        {"%{REQUEST_URI}", REWRITE_SAME, 0},      {"x%{REQUEST_URI}", REWRITE_REGEX, 0},
        {"%{THE_REQUEST}", REWRITE_REGEX, 0},     {"$1", REWRITE_REGEX, 0},
        {"${map:x}", REWRITE_REGEX, 0},           {"%{HTTPS}", REWRITE_EXPR, 0},
        {"%{DOCUMENT_ROOT}/x", REWRITE_FILE, 0},  {"%{HTTP_HOST}", REWRITE_URL, 0},
        {"%{REQUEST_FILENAME}", REWRITE_LINK, 1}, {"%{REQUEST_FILENAME}", REWRITE_PROGRAM, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told_begins();
        told_rule("^(.*)$", "https://elsewhere.example/$1", MOVED, cases[i].tested, cases[i].test,
                  0);
        assert_int_equal(told("a", 0) >= 0, cases[i].is_told);
    }
}

static void rules_for_what_is_no_file_leave_files_alone(void **state)
{
    told_begins();
    told_rule(".", "/index.php", REWRITE_F_LAST, "%{REQUEST_FILENAME}", REWRITE_FILE, 1);
    assert_true(told("a", 1) >= 0 && told("a", 1) == told("b", 1));
    assert_true(told("a", 0) >= 0 && told("a", 0) != told("a", 1));
    told_begins();
    told_rule("^(.)", "/%1", REWRITE_F_LAST, "%{REQUEST_FILENAME}", REWRITE_FILE, 0);
    assert_true(told("a", 0) >= 0);
    assert_true(told("a", 1) == BRG_CACHE_NAME_COUNTS);
}

static void files_may_be_links(void **state)
{
    told_begins();
    told_rule(".", "/index.php", REWRITE_F_LAST, "%{REQUEST_FILENAME}", REWRITE_LINK, 1);
    assert_true(told("a", 0) >= 0 && told("a", 0) == told("b", 0));
    assert_true(told("a", 1) == BRG_CACHE_NAME_COUNTS);
}

/* A folder is found by comparing the path with what the rule matched of it. */
static void conditions_on_the_path_and_groups_of_it_are_told(void **state)
{
    static const char *const inputs[] = {"%{REQUEST_URI}::$0", "%{REQUEST_URI}::$1"};

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        rewrite_cond *cond;

        told_begins();
        told_rule("^(.*)$", "-", 0, inputs[i], REWRITE_REGEX, 0);
        told_rule("^", "%{ENV:BASE}/index.php", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
        cond = &APR_ARRAY_IDX(APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule).conds, 0,
                              rewrite_cond);
        cond->captures = 1;
        cond->regex = ap_pregcomp(told_pool, "^(/.+)/([b-z]*)::\\2$", AP_REG_EXTENDED);
        rewrite_tell_rule(&APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule));
        assert_true(told("a1", 0) >= 0 && told("a1", 0) == told("b1", 0));
        assert_true(told("b", 0) == BRG_CACHE_NAME_COUNTS); /* a variable of it */
    }
}

static void what_goes_on_with_another_path_is_not_told(void **state)
{
    told_begins();
    told_rule("^a", "https://elsewhere.example/", REWRITE_F_REDIRECT, NULL, REWRITE_REGEX, 0);
    assert_true(told("a", 0) >= 0); /* no rule is behind it */
    told_rule("^b", "-", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
    assert_true(told("a", 0) == BRG_CACHE_NAME_COUNTS);
}

static void rules_match_what_goes_on_behind_a_name(void **state)
{
    told_begins();
    told_rule("/feed/?$", "/feed.php", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
    told_rule(".", "/index.php", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
    assert_true(told_behind("a", "/b/") >= 0);
    assert_true(told_behind("a", "/b/") == told_behind("c", "/d"));
    assert_true(told_behind("a", "/b/") == told("c", 0));
    assert_true(told_behind("a", "/feed/") == told_behind("c", "/d/feed"));
    assert_true(told_behind("a", "/feed/") != told_behind("a", "/b/"));
}

static void paths_of_conditions_are_matched_anew(void **state)
{
    rewrite_cond *cond;

    told_begins();
    told_rule(".", "/index.php", REWRITE_F_LAST, "%{REQUEST_URI}", REWRITE_REGEX, 1);
    assert_true(told("a", 0) == BRG_CACHE_NAME_COUNTS); /* an expression that cannot be matched */
    cond =
        &APR_ARRAY_IDX(APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule).conds, 0, rewrite_cond);
    cond->regex = ap_pregcomp(told_pool, "^/docs/[ab]", AP_REG_EXTENDED);
    rewrite_tell_rule(&APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule));
    assert_true(told("a", 0) >= 0 && told("a", 0) == told("b", 0));
    assert_true(told("c", 0) >= 0 && told("c", 0) != told("a", 0));
    cond->captures = 1;
    rewrite_tell_rule(&APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule));
    assert_true(told("c", 0) == BRG_CACHE_NAME_COUNTS);
    assert_true(told("a", 0) >= 0 && told("a", 0) == told("b", 0)); /* it does nothing */
}

/* Whatever a rule would do, it does not where one of its conditions fails for the path, or all that OR joins. */
static void rules_whose_conditions_fail_are_told(void **state)
{
    rewrite_rule *rule;
    rewrite_cond *cond;

    told_begins();
    told_rule("^", "%1", REWRITE_F_LAST, "%{REQUEST_URI}", REWRITE_SAME, 0);
    rule = &APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule);
    cond = apr_array_push((apr_array_header_t *)(uintptr_t)rule->conds);
    memset(cond, 0, sizeof *cond);
    cond->input = "%{REQUEST_URI}";
    cond->regex = ap_pregcomp(told_pool, "^/docs/[ab]", AP_REG_EXTENDED);
    cond = &APR_ARRAY_IDX(rule->conds, 0, rewrite_cond);
    cond->operand = "/docs/X";
    cond->or_next = cond->nocase = 1;
    rewrite_tell_rule(rule);
    assert_true(told("c", 0) >= 0 && told("c", 0) == told("d", 0));
    assert_true(told("a", 0) == BRG_CACHE_NAME_COUNTS && told("x", 0) == BRG_CACHE_NAME_COUNTS);
    cond->or_next = 0;
    rewrite_tell_rule(rule);
    assert_true(told("a", 0) >= 0 && told("x", 0) == told("a", 0) && told("c", 0) == told("a", 0));
    cond->input = "%{THE_REQUEST}";
    rewrite_tell_rule(rule);
    assert_true(told("c", 0) >= 0 && told("a", 0) == BRG_CACHE_NAME_COUNTS);
    cond->or_next = 1;
    rewrite_tell_rule(rule);
    assert_true(told("c", 0) == BRG_CACHE_NAME_COUNTS);
}

static void paths_that_a_name_is_part_of_are_not_told(void **state)
{
    static const char *const outputs[] = {"/index.php/$1", "/%{REQUEST_URI}", "/%1", "http://a/"};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        told_begins();
        told_rule("^(a)", outputs[i], REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
        assert_true(told("ab", 0) == BRG_CACHE_NAME_COUNTS);
    }
}

static void paths_that_end_with_a_name_are_told(void **state)
{
    static const char *const outputs[] = {"public/$1", "/index.php?q=$1&x=$0",
                                          "a.php?%{REQUEST_URI}"};
    static const char *const others[] = {"public/$1.php", "$1",     "p?%{QUERY_STRING}",
                                         "p?${m:$1}",     "p?\\$1", "p?q=%1"};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        told_begins();
        told_rule("^(.*)$", outputs[i], REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
        assert_true(told_behind("a", "/b") >= 0 && told_behind("a", "/b") == told("c", 0));
        told_rule("^never", "-", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
        assert_true(told("a", 0) >= 0);
        APR_ARRAY_IDX(told_section.rules, 0, rewrite_rule).flags = 0; /* they match what it made */
        assert_true(told("a", 0) == BRG_CACHE_NAME_COUNTS);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        told_begins();
        told_rule("^(.*)$", others[i], REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
        assert_true(told("a", 0) == BRG_CACHE_NAME_COUNTS);
    }
}

/* Those behind "a" are gone through, since the chain is skipped; it says nothing of its own. */
static void chained_rules_are_skipped_together(void **state)
{
    told_begins();
    told_rule("^x", "-", REWRITE_F_CHAIN, NULL, REWRITE_REGEX, 0);
    told_rule("^(.*)$", "/all", REWRITE_F_LAST, NULL, REWRITE_REGEX, 0);
    told_rule("^b", "-", REWRITE_F_STATUS, NULL, REWRITE_REGEX, 0);
    assert_true(told("a", 0) >= 0 && told("a", 0) != told("b", 0));
    assert_true(told("x", 0) == BRG_CACHE_NAME_COUNTS);
}

static void rules_of_a_server_are_told_of_a_path(void **state)
{
    told_begins();
    told_server_rule("^/a/(.*)$", "https://elsewhere.example/$1", MOVED, NULL, REWRITE_REGEX);
    assert_true(told_path("/a/", "b/c") >= 0);
    assert_true(told_path("/a/", "b/c") == told_path("/a/", "d"));
    assert_true(told_path("/", "a/b") == BRG_CACHE_NAME_COUNTS); /* a part of it */
    assert_true(told_path("/", "b/c") >= 0 && told_path("/", "b/c") != told_path("/a/", "b"));
    assert_true(told("b", 0) == told("c", 0)); /* it does not match */
    told_server_rule("^/([a-z]+)/[^/]+/(.*)$", "/$1/$2", MOVED, NULL, REWRITE_REGEX);
    assert_true(told_path("/b/c/", "d/e") >= 0);
    assert_true(told_path("/b/c/", "d/e") == told_path("/b/c/", "f"));
    assert_true(told_path("/b/", "c/d") == BRG_CACHE_NAME_COUNTS);
}

static void rules_of_a_server_know_no_files(void **state)
{
    told_begins();
    told_server_rule("^/a/(.*)$", "https://elsewhere.example/$1", MOVED, "%{REQUEST_FILENAME}",
                     REWRITE_FILE);
    assert_true(told_path("/a/", "b") == BRG_CACHE_NAME_COUNTS);
    assert_true(told_path("/c/", "b") >= 0);
}

static void rules_of_a_server_that_lead_elsewhere_here_count_names(void **state)
{
    told_begins();
    told_server_rule("^/docs/a", "/one", REWRITE_F_LAST, NULL, REWRITE_REGEX);
    assert_true(told("a", 0) == BRG_CACHE_NAME_COUNTS);
    assert_true(told("b", 0) >= 0 && told("b", 0) == told("c", 0));
}

/* A rule of the server stands before those of the folder. */
static void both_are_told(void **state)
{
    told_begins();
    told_server_rule("^/docs/a", "-", 0, NULL, REWRITE_REGEX);
    told_rule("^.b", "-", REWRITE_F_STATUS, NULL, REWRITE_REGEX, 0);
    assert_true(told("a", 0) != told("c", 0) && told("ab", 0) != told("a", 0));
    assert_true(told("ab", 0) == told("abc", 0) && told("ab", 0) != told("cb", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_names_go_the_same_way),
        cmocka_unit_test(rules_whose_conditions_fail_are_told),
        cmocka_unit_test(parts_of_names_are_not_told),
        cmocka_unit_test(groups_that_are_not_used_do_not_count),
        cmocka_unit_test(names_of_different_rules_differ),
        cmocka_unit_test(conditions_look_at_nothing_that_goes_with_the_name),
        cmocka_unit_test(rules_for_what_is_no_file_leave_files_alone),
        cmocka_unit_test(what_goes_on_with_another_path_is_not_told),
        cmocka_unit_test(rules_match_what_goes_on_behind_a_name),
        cmocka_unit_test(paths_of_conditions_are_matched_anew),
        cmocka_unit_test(paths_that_a_name_is_part_of_are_not_told),
        cmocka_unit_test(paths_that_end_with_a_name_are_told),
        cmocka_unit_test(files_may_be_links),
        cmocka_unit_test(conditions_on_the_path_and_groups_of_it_are_told),
        cmocka_unit_test(chained_rules_are_skipped_together),
        cmocka_unit_test(rules_of_a_server_are_told_of_a_path),
        cmocka_unit_test(rules_of_a_server_know_no_files),
        cmocka_unit_test(rules_of_a_server_that_lead_elsewhere_here_count_names),
        cmocka_unit_test(both_are_told),
    };
    int failed;

    apr_initialize();
    apr_pool_create(&told_pool, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    apr_terminate();
    return failed;
}
