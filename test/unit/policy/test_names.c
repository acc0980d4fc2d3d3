/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all modules tell by which names they decide: a hook of a module of which nothing is known ends it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "hook_lists.h"
#include "http_request.h"
#include "placement.h"
#include "test_config.h"
#include "apr_hooks.h"

static apr_status_t foreign_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    return AP_DECLINED;
}

static int told(int with_foreign)
{
    assert_true(test_config_read("ServerName a\n"));
    if (with_foreign) {
        apr_hook_debug_current = "mod_nobody_knows.c";
        ap_hook_dirwalk_stat(foreign_stat, NULL, NULL, APR_HOOK_MIDDLE);
        apr_hook_debug_current = NULL;
        apr_hook_sort_all();
    }
    policy_survey_hooks();
    hook_lists_make(ap_server_conf, test_process->pconf);
    return policy_names_are_told(ap_server_conf, 0);
}

static void a_module_that_looks_at_files(void **state)
{
    assert_true(told(0));
    assert_false(told(1));
    assert_true(told(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_module_that_looks_at_files)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
