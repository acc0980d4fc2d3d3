/* SPDX-License-Identifier: Apache-2.0 */
/* Why a configuration cannot be used: which messages count, and which line is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "generation.h"
#include "test_pool.h"

APLOG_USE_MODULE(core);

static ap_directive_t line[3];

/* <VirtualHost> with a line in it, and one behind. */
static int setup(void **state)
{
    test_pool_setup(state);
    memset(line, 0, sizeof line);
    line[0] = (ap_directive_t){.directive = "<VirtualHost",
                               .args = "/in/a/section",
                               .filename = "a.conf",
                               .line_num = 1,
                               .first_child = &line[1],
                               .next = &line[2]};
    line[1] = (ap_directive_t){.directive = "CustomLog",
                               .args = "\"/logs/access\" combined",
                               .filename = "a.conf",
                               .line_num = 2};
    line[2] = (ap_directive_t){.directive = "SSLSessionCache",
                               .args = "shmcb:/run/cache(512000)",
                               .filename = "b.conf",
                               .line_num = 7};
    ap_conftree = line;
    conf_fault_phase();
    return 0;
}

static int teardown(void **state)
{
    conf_fault_end();
    ap_conftree = NULL;
    return test_pool_teardown(state);
}

static void logged(int level, apr_status_t status, const char *text)
{
    ap_log_error(APLOG_MARK, level | APLOG_STARTUP, status, NULL, "%s", text);
}

static const char *found(const char *message)
{
    conf_fault_found(message);
    return conf_fault();
}

static void nothing_is_wrong_at_first(void **state)
{
    assert_string_equal(conf_fault(), "");
    assert_false(conf_fault_is_placed());
}

static void the_line_with_the_file_is_named(void **state)
{
    logged(APLOG_ERR, 0, "could not open /logs/access");
    assert_string_equal(found("failed"), "CustomLog \"/logs/access\" combined on line 2 of a.conf: "
                                         "could not open /logs/access");
    assert_true(conf_fault_is_placed());
}

static void a_file_inside_of_a_word_is_found(void **state)
{
    logged(APLOG_CRIT, 0, "cannot create /run/cache");
    assert_string_equal(found("failed"), "SSLSessionCache shmcb:/run/cache(512000) on line 7 of "
                                         "b.conf: cannot create /run/cache");
}

/* Of words that a message has, the longest is meant. */
static void the_longest_word_wins(void **state)
{
    line[2].args = "/logs";
    logged(APLOG_ERR, 0, "could not open /logs/access");
    assert_non_null(strstr(found("failed"), "on line 2 of a.conf"));
}

static void short_and_plain_words_name_no_line(void **state)
{
    line[1].args = "/lo combined";
    logged(APLOG_ERR, 0, "/lo: combined is no format");
    assert_string_equal(found("failed"), "/lo: combined is no format");
    assert_false(conf_fault_is_placed());
}

static void sections_are_not_named_themselves(void **state)
{
    logged(APLOG_ERR, 0, "cannot see /in/a/section");
    assert_string_equal(found("failed"), "cannot see /in/a/section");
}

static void messages_with_a_place_keep_it(void **state)
{
    logged(APLOG_ERR, 0, "Syntax error on line 9 of c.conf:");
    logged(APLOG_ERR, 0, "no /logs/access");
    assert_string_equal(found("failed"), "Syntax error on line 9 of c.conf: no /logs/access");
    assert_false(conf_fault_is_placed());
}

static void messages_are_joined(void **state)
{
    logged(APLOG_ERR, 0, "One.");
    logged(APLOG_ERR, 0, "Two");
    logged(APLOG_ERR, 0, "Three\nfour");
    assert_string_equal(found("failed"), "One; Two; Three four");
}

static void warnings_are_no_reason(void **state)
{
    logged(APLOG_WARNING, 0, "odd");
    logged(APLOG_NOTICE, 0, "by the way");
    assert_string_equal(found("it failed"), "it failed");
    assert_true(conf_fault_is_placed()); /* nothing of it was logged */
}

static void errors_of_the_system_are_spelled(void **state)
{
    const char *text;

    logged(APLOG_ERR, ENOENT, "the file");
    text = found("failed");
    assert_non_null(strstr(text, "(2)"));
    assert_non_null(strstr(text, "No such file"));
    assert_non_null(strstr(text, ": the file"));
}

static void a_module_is_named_without_a_line(void **state)
{
    conf_fault_module("mod_x.c");
    logged(APLOG_ERR, 0, "does not start");
    assert_string_equal(found("failed"), "module mod_x.c: does not start");
    assert_false(conf_fault_is_placed()); /* each message tells its module */
}

static void the_first_fault_stays(void **state)
{
    (void)found("one");
    logged(APLOG_ERR, 0, "two");
    assert_string_equal(found("three"), "one");
}

static void a_phase_begins_anew(void **state)
{
    conf_fault_module("mod_x.c");
    logged(APLOG_ERR, 0, "of before");
    (void)found("failed");
    conf_fault_phase();
    assert_string_equal(conf_fault(), "");
    assert_string_equal(found("of now"), "of now");
}

static void nobody_listens_behind_the_end(void **state)
{
    conf_fault_end();
    logged(APLOG_ERR, 0, "unheard");
    assert_string_equal(found("failed"), "failed");
}

static void long_faults_are_cut(void **state)
{
    char text[1000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 8; i++)
        logged(APLOG_ERR, 0, text);
    assert_in_range(strlen(found("failed")), 2000, 3071);
}

#define FAULT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(nothing_is_wrong_at_first),
        FAULT(the_line_with_the_file_is_named),
        FAULT(a_file_inside_of_a_word_is_found),
        FAULT(the_longest_word_wins),
        FAULT(short_and_plain_words_name_no_line),
        FAULT(sections_are_not_named_themselves),
        FAULT(messages_with_a_place_keep_it),
        FAULT(messages_are_joined),
        FAULT(warnings_are_no_reason),
        FAULT(errors_of_the_system_are_spelled),
        FAULT(a_module_is_named_without_a_line),
        FAULT(the_first_fault_stays),
        FAULT(a_phase_begins_anew),
        FAULT(nobody_listens_behind_the_end),
        FAULT(long_faults_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
