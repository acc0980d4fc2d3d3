/* SPDX-License-Identifier: Apache-2.0 */
/* Offers an optional function, runs an optional hook and a hook of the server's, and asks
 * providers. */
#include "manual_export.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

#include <string.h>

APR_IMPLEMENT_OPTIONAL_HOOK_RUN_ALL(manual, MANUAL, int, say, (request_rec * r, const char *what),
                                    (r, what), OK, DECLINED)

APR_HOOK_STRUCT(APR_HOOK_LINK(name) APR_HOOK_LINK(check) APR_HOOK_LINK(tell))

APR_IMPLEMENT_EXTERNAL_HOOK_RUN_FIRST(manual, MANUAL, const char *, name, (request_rec * r), (r),
                                      NULL)
APR_IMPLEMENT_EXTERNAL_HOOK_RUN_ALL(manual, MANUAL, int, check, (request_rec * r, int number),
                                    (r, number), OK, DECLINED)
APR_IMPLEMENT_EXTERNAL_HOOK_VOID(manual, MANUAL, tell, (request_rec * r, const char *what),
                                 (r, what))

static const char *manual_greet(request_rec *r, const char *name)
{
    return apr_pstrcat(r->pool, "hello ", name, NULL);
}

/* ---- the order in which functions of one hook are called ---- */

static int export_note(request_rec *r, const char *who)
{
    const char *before = apr_table_get(r->notes, "order");

    apr_table_setn(r->notes, "order", before ? apr_pstrcat(r->pool, before, " ", who, NULL) : who);
    return DECLINED;
}

#define EXPORT_FIXUP(who)                  \
    static int fixup_##who(request_rec *r) \
    {                                      \
        return export_note(r, #who);       \
    }

EXPORT_FIXUP(last)
EXPORT_FIXUP(first)
EXPORT_FIXUP(middle)
EXPORT_FIXUP(really_last)
EXPORT_FIXUP(really_first)
EXPORT_FIXUP(number)
EXPORT_FIXUP(after_import)

/* ---- the handler ---- */

static void export_providers(request_rec *r)
{
    apr_array_header_t *names = ap_list_provider_names(r->pool, "manual", "0");
    const manual_provider *p = ap_lookup_provider("manual", "double", "0");

    ap_rprintf(r, "%d providers of manual\n", names->nelts);
    if (p)
        ap_rprintf(r, "%s of 21 is %d\n", p->name, p->twice(21));
    ap_rprintf(r, "provider of another version: %s\n",
               ap_lookup_provider("manual", "double", "1") ? "yes" : "no");
}

static int export_handler(request_rec *r)
{
    const char *order = apr_table_get(r->notes, "order");

    if (!r->handler || strcmp(r->handler, "manual-export"))
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    ap_rprintf(r, "order: %s\n", order ? order : "");
    ap_rprintf(r, "said: %d\n", manual_run_say(r, "something"));
    manual_run_tell(r, "generic");
    ap_rprintf(r, "name %s, checks of 1 and 7: %d %d\n",
               manual_run_name(r) ? manual_run_name(r) : "(none)", manual_run_check(r, 1),
               manual_run_check(r, 7));
    export_providers(r);
    return OK;
}

/* A redirection and a look at another URI. */
static int export_other(request_rec *r)
{
    request_rec *sub;

    if (!r->handler || strcmp(r->handler, "manual-other"))
        return DECLINED;
    if (r->args && !strcmp(r->args, "redirect")) {
        ap_internal_redirect("/export", r);
        return OK;
    }
    sub = ap_sub_req_lookup_uri("/a.txt", r, NULL);
    ap_set_content_type(r, "text/plain");
    ap_rprintf(r, "status %d, type %s, main %s\n", sub->status,
               sub->content_type ? sub->content_type : "(none)", sub->main == r ? "this" : "other");
    ap_destroy_sub_req(sub);
    sub = ap_sub_req_lookup_uri("/a.txt", r, r->output_filters);
    ap_rprintf(r, "ran: %d\n", ap_run_sub_req(sub));
    ap_destroy_sub_req(sub);
    return OK;
}

static void export_hooks(apr_pool_t *p)
{
    static const char *const after_import[] = {"mod_manual_import.c", NULL};

    APR_REGISTER_OPTIONAL_FN(manual_greet);
    ap_hook_fixups(fixup_last, NULL, NULL, APR_HOOK_LAST);
    ap_hook_fixups(fixup_really_last, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_fixups(fixup_middle, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(fixup_really_first, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_fixups(fixup_first, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_fixups(fixup_number, NULL, NULL, 15);
    ap_hook_fixups(fixup_after_import, after_import, NULL, APR_HOOK_FIRST + 1);
    ap_hook_handler(export_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(export_other, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA manual_export_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, export_hooks, 0};
