/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to the generic hooks of mod_manual_export.c, in an order of its own. */
#include "manual_export.h"
#include "http_config.h"
#include "http_protocol.h"

static const char *generic_no_name(request_rec *r)
{
    ap_rputs("(asked first)", r);
    return NULL; /* the next one is asked */
}

static const char *generic_name(request_rec *r)
{
    return "generic";
}

static const char *generic_other_name(request_rec *r)
{
    return "never asked";
}

static int generic_check(request_rec *r, int n)
{
    return n > 5 ? HTTP_CONFLICT : OK;
}

static int generic_check_last(request_rec *r, int n)
{
    ap_rprintf(r, "(%d passed) ", n);
    return DECLINED;
}

static void generic_tell(request_rec *r, const char *what)
{
    ap_rprintf(r, "told %s\n", what);
}

static void generic_tell_again(request_rec *r, const char *what)
{
    ap_rprintf(r, "told %s again\n", what);
}

static void generic_hooks(apr_pool_t *p)
{
    manual_hook_name(generic_other_name, NULL, NULL, APR_HOOK_LAST);
    manual_hook_name(generic_name, NULL, NULL, APR_HOOK_MIDDLE);
    manual_hook_name(generic_no_name, NULL, NULL, APR_HOOK_FIRST);
    manual_hook_check(generic_check_last, NULL, NULL, APR_HOOK_LAST);
    manual_hook_check(generic_check, NULL, NULL, APR_HOOK_FIRST);
    manual_hook_tell(generic_tell_again, NULL, NULL, APR_HOOK_LAST);
    manual_hook_tell(generic_tell, NULL, NULL, APR_HOOK_FIRST);
}

module AP_MODULE_DECLARE_DATA manual_generic_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, generic_hooks, 0};
