/* SPDX-License-Identifier: Apache-2.0 */
/* Says on standard output, when a configuration is read, which directives each module offers: source file, name, and in
 * which contexts they are allowed. */
#include "httpd.h"
#include "http_config.h"
#include <stdio.h>

static int tables_print(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    for (const module *m = ap_top_module; m; m = m->next)
        for (const command_rec *c = m->cmds; c && c->name; c++)
            printf("directive %s %s %d\n", m->name, c->name, c->req_override);
    fflush(stdout);
    return OK;
}

static void tables_hooks(apr_pool_t *p)
{
    ap_hook_check_config(tables_print, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA testtables_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, tables_hooks,
};
