/* SPDX-License-Identifier: Apache-2.0 */
/* Log levels by module: their names, and how those of a section merge with those around it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "http_log.h"
#include "configuration.h"

static void test_names(void **state)
{
    static const char *const names[] = {"emerg",  "alert",  "crit",   "error",  "warn",   "notice",
                                        "info",   "debug",  "trace1", "trace2", "trace3", "trace4",
                                        "trace5", "trace6", "trace7", "Trace8"};
    int level = -1;

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        assert_null(ap_parse_log_level(names[i], &level));
        assert_int_equal(level, APLOG_EMERG + i);
    }
    assert_non_null(ap_parse_log_level("trace9", &level));
    assert_non_null(ap_parse_log_level("", &level));
    assert_int_equal(level, APLOG_TRACE8);
}

static int level_in(const char *host, const char *name)
{
    const module *m = ap_find_linked_module(name);

    assert_non_null(m);
    return ap_get_server_module_loglevel(test_config_server(host), m->module_index);
}

/* A host's own line is merged with the server's module by module, unless it names a level for all. */
static void test_hosts(void **state)
{
    assert_true(test_config_read("LogLevel info mime:debug alias_module:trace1\n"
                                 "Listen 80\n"
                                 "<VirtualHost *:80>\nServerName part\nLogLevel mime:error\n"
                                 "</VirtualHost>\n"
                                 "<VirtualHost *:80>\nServerName all\nLogLevel crit\n"
                                 "</VirtualHost>\n"
                                 "<VirtualHost *:80>\nServerName none\n</VirtualHost>\n"));
    assert_int_equal(level_in(NULL, "mod_mime.c"), APLOG_DEBUG);
    assert_int_equal(level_in(NULL, "mod_dir.c"), APLOG_INFO);
    assert_int_equal(level_in("part", "mod_mime.c"), APLOG_ERR);
    assert_int_equal(level_in("part", "mod_alias.c"), APLOG_TRACE1);
    assert_int_equal(level_in("part", "mod_dir.c"), APLOG_INFO);
    assert_int_equal(level_in("all", "mod_mime.c"), APLOG_CRIT);
    assert_int_equal(level_in("all", "mod_alias.c"), APLOG_CRIT);
    assert_int_equal(level_in("none", "mod_mime.c"), APLOG_DEBUG);
    assert_int_equal(level_in("none", "mod_dir.c"), APLOG_INFO);
}

static void test_refused(void **state)
{
    assert_false(test_config_read("LogLevel loud"));
    assert_non_null(strstr(test_messages, "Log level keyword must be one of"));
    assert_false(test_config_read("LogLevel nope_module:debug"));
    assert_false(test_config_read("LogLevel mime:loud"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_hosts),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
