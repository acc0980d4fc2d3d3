/* SPDX-License-Identifier: Apache-2.0 */
/* The directives of the sandbox. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "apr_strings.h"

static void check(const char *name, const char *args, int good)
{
    const char *line = apr_pstrcat(test_process->pool, name, " ", args, NULL);

    if (test_config_read(line) != good || (!good && !strstr(test_messages, name)))
        fail_msg("%s should be %s: %s", line, good ? "taken" : "refused", test_messages);
}

static void test_modes(void **state)
{
    check("Sandbox", "Off", 1);
    check("Sandbox", "on", 1);
    check("Sandbox", "Required", 1);
    check("Sandbox", "\"\"", 0);
    check("Sandbox", "yes", 0);
    check("Sandbox", "require", 0);
    assert_false(test_config_read("<VirtualHost *>\nSandbox On\n</VirtualHost>"));
}

static void test_allowed(void **state)
{
    check("SandboxAllow", "read /a", 1);
    check("SandboxAllow", "Write /a /b", 1);
    check("SandboxAllow", "exec a", 1);
    check("SandboxAllow", "read", 0);
    check("SandboxAllow", "all /a", 0);
    check("SandboxAllow", "/a", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modes),
                                       cmocka_unit_test(test_allowed)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
