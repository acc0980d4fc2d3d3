/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of modules by the last name of a path that leads to no file: one answer serves all names that are decided alike. */
#include "placement_private.h"
#include "brigade/assert.h"
#include "hook_link.h"
#include "hook_lists.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "module_rows.h"
#include "stock_policy.h"
#include <string.h>

/* Of the hooks before the phases: their work may be for each request, but is the same for all paths. */
static int names_hook_is_early(int hook)
{
    return hook == HOOK_create_request || hook == HOOK_post_read_request ||
           hook == HOOK_quick_handler;
}

/* Logs are shown the name of each request. */
static int names_hook_is_passed(int hook, int handlers)
{
    return hook == HOOK_log_transaction || (hook == HOOK_handler && !handlers);
}

/* Rows of built-in modules do not tell of files that are loaded in their place; those of others do where their directives are not used. */
static int names_row_is_true(const declaration *d, const module_row *row)
{
    return !d->stock ||
           (!row->is_builtin && stock_rule_says_static(d->stock) && !stock_rule_is_void(d->stock));
}

static int names_link_is_told(const hook_link *l, int hook)
{
    const declaration *d = declaration_of(l->module);
    const module_row *row = module_row_named(l->module);

    return (d && (d->name_fn || (d->name_free && names_row_is_true(d, row)))) ||
           (row && row->early_alike && names_hook_is_early(hook));
}

static int names_links_are_told(const hook_link *l, int n, int hook)
{
    for (int i = 0; i < n; i++)
        if (!names_link_is_told(l + i, hook))
            return 0;
    return 1;
}

static int names_lists_are_told(const hook_lists *lists, int handlers)
{
    const apr_array_header_t *others[] = {ap_hook_get_pre_read_request(),
                                          ap_hook_get_dirwalk_stat(), ap_hook_get_force_authn(),
                                          ap_hook_get_insert_error_filter()};

    for (int hook = 0; hook < HOOK_LISTS_N; hook++)
        if (!names_hook_is_passed(hook, handlers) &&
            !names_links_are_told(lists->by_hook[hook].links, lists->by_hook[hook].n, hook))
            return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] &&
            !names_links_are_told(hook_link_at(others[i], 0), others[i]->nelts, HOOK_fixups))
            return 0;
    return 1;
}

/* Lists are made anew where other hooks count. */
int policy_names_are_told(const server_rec *s, int handlers)
{
    hook_lists *lists = (hook_lists *)(uintptr_t)hook_lists_of(s);
    unsigned char *kept = lists ? &lists->names[handlers != 0] : NULL;
    unsigned char told = kept ? __atomic_load_n(kept, __ATOMIC_RELAXED) : 1;

    if (kept && stock_rules_are_void()) /* by an access file, just now perhaps */
        return names_lists_are_told(lists, handlers);
    if (!told) {
        told = (unsigned char)(1 + names_lists_are_told(lists, handlers));
        __atomic_store_n(kept, told, __ATOMIC_RELAXED);
    }
    return told == 2;
}

int policy_names_ask(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                     const char *filename, const char *path_info, int is_file, policy_names *out)
{
    BRG_ASSERT(policy_found.surveyed && policy_found.names_n <= POLICY_NAMES_MOST);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < policy_found.names_n; i++)
        if ((out->said[i] = policy_found.names[i](s, dir, path, filename, path_info, is_file)) < 0)
            return -1;
    return 0;
}

int policy_names_hold(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                      const char *filename, const char *path_info, int is_file,
                      const policy_names *said)
{
    BRG_ASSERT_DEBUG(policy_found.surveyed);
    for (int i = 0; i < policy_found.names_n; i++)
        if (policy_found.names[i](s, dir, path, filename, path_info, is_file) != said->said[i])
            return 0;
    return 1;
}

int policy_names_see_alike(const ap_conf_vector_t *one, const ap_conf_vector_t *other,
                           const module *but)
{
    for (const declaration *d = declarations; d < declarations + declarations_n; d++)
        if (d->name_fn && d->hooks_requests && d->of != but && d->of != &core_module &&
            ap_get_module_config(one, d->of) != ap_get_module_config(other, d->of))
            return 0;
    return 1;
}
