/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of modules, and providers. */
#include "info_private.h"
#include "ap_mpm.h"
#include "ap_provider.h"
#include "brigade/assert.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mpm_common.h"
#include <string.h>

/* Of each hook, the functions are an array of structures that differ in the type of the first member alone. */
typedef ap_LINK_handler_t info_link;

static const info_hook info_startup_hooks[] = {
    {"Pre-Config", ap_hook_get_pre_config},
    {"Check Configuration", ap_hook_get_check_config},
    {"Test Configuration", ap_hook_get_test_config},
    {"Post Configuration", ap_hook_get_post_config},
    {"Open Logs", ap_hook_get_open_logs},
    {"Pre-MPM", ap_hook_get_pre_mpm},
    {"MPM", ap_hook_get_mpm},
    {"Drop Privileges", ap_hook_get_drop_privileges},
    {"Retrieve Optional Functions", ap_hook_get_optional_fn_retrieve},
    {"Child Init", ap_hook_get_child_init},
    {NULL, NULL},
};

const info_hook info_request_hooks[] = {
    {"Pre-Connection", ap_hook_get_pre_connection},
    {"Create Connection", ap_hook_get_create_connection},
    {"Process Connection", ap_hook_get_process_connection},
    {"Create Request", ap_hook_get_create_request},
    {"Pre-Read Request", ap_hook_get_pre_read_request},
    {"Post-Read Request", ap_hook_get_post_read_request},
    {"Header Parse", ap_hook_get_header_parser},
    {"HTTP Scheme", ap_hook_get_http_scheme},
    {"Default Port", ap_hook_get_default_port},
    {"Quick Handler", ap_hook_get_quick_handler},
    {"Pre-Translate Name", ap_hook_get_pre_translate_name},
    {"Translate Name", ap_hook_get_translate_name},
    {"Map to Storage", ap_hook_get_map_to_storage},
    {"Check Access", ap_hook_get_access_checker_ex},
    {"Check Access (legacy)", ap_hook_get_access_checker},
    {"Verify User ID", ap_hook_get_check_user_id},
    {"Note Authentication Failure", ap_hook_get_note_auth_failure},
    {"Verify User Access", ap_hook_get_auth_checker},
    {"Check Type", ap_hook_get_type_checker},
    {"Fixups", ap_hook_get_fixups},
    {"Insert Filters", ap_hook_get_insert_filter},
    {"Content Handlers", ap_hook_get_handler},
    {"Transaction Logging", ap_hook_get_log_transaction},
    {"Insert Errors", ap_hook_get_insert_error_filter},
    {"Generate Log ID", ap_hook_get_generate_log_id},
    {NULL, NULL},
};

static const info_hook info_other_hooks[] = {
    {"Monitor", ap_hook_get_monitor},
    {"Child Status", ap_hook_get_child_status},
    {"End Generation", ap_hook_get_end_generation},
    {"Error Logging", ap_hook_get_error_log},
    {"Query MPM Attributes", ap_hook_get_mpm_query},
    {"Query MPM Name", ap_hook_get_mpm_get_name},
    {"Register Timed Callback", ap_hook_get_mpm_register_timed_callback},
    {"Extend Expression Parser", ap_hook_get_expr_lookup},
    {"Set Management Items", ap_hook_get_get_mgmt_items},
    {NULL, NULL},
};

int info_hook_has(const info_hook *hook, const char *module_name)
{
    const apr_array_header_t *links = hook->get();

    for (int i = 0; links && i < links->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(links, i, const info_link).szName, module_name))
            return 1;
    return 0;
}

static void info_one_hook(request_rec *r, const info_hook *hook, char separator)
{
    const apr_array_header_t *links = hook->get();

    BRG_ASSERT(hook->title != NULL);
    ap_rprintf(r, "<dt><strong>%s:</strong>\n <br /><tt>\n", hook->title);
    for (int i = 0; links && i < links->nelts; i++) {
        const info_link *link = &APR_ARRAY_IDX(links, i, const info_link);

        ap_rprintf(r, "&nbsp;&nbsp; %02d <a href=\"%c%s\">%s</a> <br/>", link->nOrder, separator,
                   link->szName, link->szName);
    }
    ap_rputs("\n  </tt>\n</dt>\n", r);
}

static void info_group(request_rec *r, const char *name, const char *title, const info_hook *hooks,
                       char separator)
{
    ap_rprintf(r, "<h2><a name=\"%s_hooks\">%s Hooks</a></h2>\n<dl>", name, title);
    for (; hooks->title; hooks++)
        info_one_hook(r, hooks, separator);
    ap_rputs("</dl>\n<hr />\n", r);
}

void info_hooks(request_rec *r, char separator)
{
    info_group(r, "startup", "Startup", info_startup_hooks, separator);
    info_group(r, "request", "Request", info_request_hooks, separator);
    info_group(r, "other", "Other", info_other_hooks, separator);
}

void info_handlers(request_rec *r, const module *m)
{
    static const info_hook handler = {NULL, ap_hook_get_handler};

    ap_rputs(
        info_hook_has(&handler, m->name) ? "<tt> <em>yes</em></tt>" : "<tt> <em>none</em></tt>", r);
}

/* ---- providers ---- */

static int info_compare_groups(const void *a, const void *b)
{
    const ap_list_provider_groups_t *one = a, *other = b;
    const int order = strcmp(one->provider_group, other->provider_group);

    return order ? order : strcmp(one->provider_version, other->provider_version);
}

static int info_compare_names(const void *a, const void *b)
{
    const ap_list_provider_names_t *one = a, *other = b;

    return strcmp(one->provider_name, other->provider_name);
}

static void info_group_of_providers(request_rec *r, const ap_list_provider_groups_t *group)
{
    apr_array_header_t *names =
        ap_list_provider_names(r->pool, group->provider_group, group->provider_version);

    BRG_ASSERT(names->elt_size == (int)sizeof(ap_list_provider_names_t));
    qsort(names->elts, (size_t)names->nelts, (size_t)names->elt_size, info_compare_names);
    ap_rprintf(r, "<dt><strong>%s</strong> (version <tt>%s</tt>):\n <br />\n",
               group->provider_group, group->provider_version);
    for (int i = 0; i < names->nelts; i++)
        ap_rprintf(r, "<tt>&nbsp;&nbsp;%s</tt><br/>",
                   APR_ARRAY_IDX(names, i, const ap_list_provider_names_t).provider_name);
    ap_rputs("\n</dt>\n", r);
}

void info_providers(request_rec *r)
{
    apr_array_header_t *groups = ap_list_provider_groups(r->pool);

    BRG_ASSERT(groups->elt_size == (int)sizeof(ap_list_provider_groups_t));
    qsort(groups->elts, (size_t)groups->nelts, (size_t)groups->elt_size, info_compare_groups);
    ap_rputs("<h2><a name=\"providers\">Providers</a></h2>\n<dl>", r);
    for (int i = 0; i < groups->nelts; i++)
        info_group_of_providers(r, &APR_ARRAY_IDX(groups, i, const ap_list_provider_groups_t));
    ap_rputs("</dl>\n<hr />\n", r);
}
