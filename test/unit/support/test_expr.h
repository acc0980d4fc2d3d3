/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_EXPR_H
#define BRIGADE_TEST_EXPR_H

/**
 * @file test_expr.h
 * Expressions for tests: a group setup that has their hooks, and a parser.
 */
#include "httpd.h"
#include "ap_expr.h"
#include "http_log.h"
#include "apr_hooks.h"
#include "test_pool.h"
#include <stdlib.h>
#include <time.h>

static apr_pool_t *hook_pool;

static int hooks_setup(void **state)
{
    apr_initialize();
    setenv("TZ", "UTC", 1);
    tzset();
    setenv("EXPR_TEST_OS", "from-os", 1);
    apr_pool_create(&hook_pool, NULL);
    apr_hook_global_pool = hook_pool;
    ap_expr_init(hook_pool);
    return 0;
}

static ap_expr_info_t *parse(const char *text, unsigned flags, const char **err)
{
    ap_expr_info_t *info = apr_pcalloc(test_pool, sizeof(*info));

    info->filename = "test.conf";
    info->line_number = 1;
    info->flags = flags;
    info->module_index = APLOG_NO_MODULE;
    *err = ap_expr_parse(test_pool, test_pool, info, text, NULL);
    return info;
}

#endif
