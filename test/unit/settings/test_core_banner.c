/* SPDX-License-Identifier: Apache-2.0 */
/* The server's name by ServerTokens and ServerSoftware, with the words that modules add. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "httpd.h"
#include "core_settings.h"
#include "test_config.h"
#include "apr_strings.h"

static const char *full;

/* The name by a configuration. */
static const char *name_with(const char *line)
{
    if (!test_config_read(apr_pstrcat(test_process->pool, "DocumentRoot /tmp\n", line, NULL)))
        fail_msg("%s", test_messages);
    core_banner_complete();
    return ap_get_server_banner();
}

static char *product(void)
{
    return apr_pstrndup(test_process->pool, full, strcspn(full, "/"));
}

static void test_tokens(void **state)
{
    const char *version, *dot;

    full = apr_pstrdup(test_process->pool, name_with("ServerTokens Full\n"));
    version = apr_pstrndup(test_process->pool, full, strcspn(full, " "));
    assert_non_null(strstr(full, " ("));
    assert_string_equal(name_with(""), full);
    assert_string_equal(name_with("ServerTokens Min\n"), version);
    assert_string_equal(name_with("ServerTokens minimal\n"), version);
    assert_string_equal(name_with("ServerTokens Prod\n"), product());
    assert_string_equal(name_with("ServerTokens ProductOnly\n"), product());
    assert_string_equal(name_with("ServerTokens Major\n"),
                        apr_pstrndup(test_process->pool, version, strcspn(version, ".")));
    dot = strchr(version, '.') + 1;
    assert_string_equal(
        name_with("ServerTokens Minor\n"),
        apr_pstrndup(test_process->pool, version, (size_t)(dot - version) + strcspn(dot, ".")));
    assert_true(!strncmp(name_with("ServerTokens OS\n"), version, strlen(version)));
    assert_non_null(strstr(name_with("ServerTokens OS\n"), " ("));
}

/* The last line counts; what it said before is composed anew. */
static void test_two_lines(void **state)
{
    assert_string_equal(name_with("ServerTokens Full\nServerTokens Prod\n"), product());
}

static void test_refused(void **state)
{
    assert_int_equal(test_config_read("ServerTokens Everything\n"), 0);
    assert_non_null(strstr(test_messages, "ServerTokens takes 1 argument"));
    assert_int_equal(test_config_read("<VirtualHost *:1>\nServerTokens Prod\n</VirtualHost>\n"), 0);
    assert_int_equal(test_config_read("ServerSoftware \"\"\n"), 0);
    assert_non_null(strstr(test_messages, "ServerSoftware takes one argument"));
}

/* Words of modules are seen with Full alone; the description has them always. */
static void test_components(void **state)
{
    name_with("ServerTokens Min\n");
    ap_add_version_component(test_process->pconf, "mod_x/1");
    assert_null(strstr(ap_get_server_banner(), "mod_x/1"));
    assert_non_null(strstr(ap_get_server_description(), " mod_x/1"));
    ap_add_version_component(test_process->pconf, "y/2");
    assert_non_null(strstr(ap_get_server_description(), " mod_x/1 y/2"));
    name_with("ServerTokens Full\n");
    assert_null(strstr(ap_get_server_description(), "mod_x/1"));
    ap_add_version_component(test_process->pconf, "mod_x/1");
    assert_non_null(strstr(ap_get_server_banner(), " mod_x/1"));
}

static void test_software(void **state)
{
    name_with("ServerTokens Prod\n");
    assert_string_equal(core_software(), product());
    name_with("ServerTokens Prod\nServerSoftware Apache\n");
    assert_true(!strncmp(core_software(), "Apache/2.4", 10));
    name_with("ServerTokens Prod\nServerSoftware brigade\n");
    assert_string_equal(core_software(), product());
    name_with("ServerSoftware \"My server\"\n");
    assert_string_equal(core_software(), "My server");
    name_with("ServerTokens Prod\n");
    assert_string_equal(core_software(), product());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),   cmocka_unit_test(test_two_lines),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_components),
        cmocka_unit_test(test_software),
    };

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
