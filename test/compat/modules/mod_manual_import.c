/* SPDX-License-Identifier: Apache-2.0 */
/* Uses what mod_manual_export.c offers, whether that is loaded before it, after it, or not at all.
 */
#include "manual_export.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

#include <string.h>

static APR_OPTIONAL_FN_TYPE(manual_greet) * import_greet;

static void import_retrieve(void)
{
    import_greet = APR_RETRIEVE_OPTIONAL_FN(manual_greet);
}

static int import_say(request_rec *r, const char *what)
{
    ap_rprintf(r, "heard: %s\n", what);
    return OK;
}

static int import_say_more(request_rec *r, const char *what)
{
    ap_rprintf(r, "heard last: %s\n", what);
    return DECLINED;
}

static int import_double(int n)
{
    return 2 * n;
}

static int import_fixup(request_rec *r)
{
    const char *before = apr_table_get(r->notes, "order");

    apr_table_setn(r->notes, "order",
                   before ? apr_pstrcat(r->pool, before, " import", NULL) : "import");
    return DECLINED;
}

static int import_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "manual-import"))
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    ap_rputs(import_greet ? import_greet(r, r->args ? r->args : "nobody") : "nobody there", r);
    return OK;
}

static void import_hooks(apr_pool_t *p)
{
    static const manual_provider provider = {"double", import_double},
                                 other = {"other", import_double};

    ap_hook_optional_fn_retrieve(import_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(manual, say, import_say_more, NULL, NULL, APR_HOOK_LAST);
    APR_OPTIONAL_HOOK(manual, say, import_say, NULL, NULL, APR_HOOK_MIDDLE);
    ap_register_provider(p, "manual", "double", "0", &provider);
    ap_register_provider(p, "manual", "other", "0", &other);
    ap_hook_fixups(import_fixup, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(import_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA manual_import_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, import_hooks, 0};
