/* SPDX-License-Identifier: Apache-2.0 */
/* Says of fixups that it comes behind mod_proxy and before mod_rewrite, which comes before mod_proxy. */
#include "httpd.h"
#include "http_config.h"
#include "http_request.h"

static int circle_fixup(request_rec *r)
{
    return DECLINED;
}

static void circle_hooks(apr_pool_t *p)
{
    static const char *const before[] = {"mod_proxy.c", NULL}, *const after[] = {"mod_rewrite.c",
                                                                                 NULL};

    ap_hook_fixups(circle_fixup, before, after, APR_HOOK_FIRST);
}

module AP_MODULE_DECLARE_DATA circle_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, circle_hooks, 0};
