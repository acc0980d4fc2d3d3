/* SPDX-License-Identifier: Apache-2.0 */
/* Which modules take part in requests and connections, and their declarations: the registered hooks are
 * walked once per configuration, when all have been registered. */
#include "placement_private.h"
#include "brigade/assert.h"
#include "coding.h"
#include "request_context.h"
#include "stock_policy.h"
#include "filter_registry.h"
#include "hook_link.h"
#include "hook_lists.h"
#include "module_rows.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include <string.h>

APLOG_USE_MODULE(core);

policy_summary policy_summary_now;
policy_findings policy_found;

typedef apr_array_header_t *hook_get_fn(void);

/* All but the handlers: a redirect or a refusal comes to none. */
static hook_get_fn *const phase_hooks[] = {
    ap_hook_get_create_request,     ap_hook_get_pre_read_request,
    ap_hook_get_post_read_request,  ap_hook_get_quick_handler,
    ap_hook_get_pre_translate_name, ap_hook_get_translate_name,
    ap_hook_get_map_to_storage,     ap_hook_get_header_parser,
    ap_hook_get_check_user_id,      ap_hook_get_fixups,
    ap_hook_get_type_checker,       ap_hook_get_access_checker,
    ap_hook_get_access_checker_ex,  ap_hook_get_auth_checker,
    ap_hook_get_insert_filter,      ap_hook_get_log_transaction,
    ap_hook_get_post_perdir_config, ap_hook_get_dirwalk_stat,
    ap_hook_get_force_authn,        ap_hook_get_insert_error_filter,
};

/* Those of a request that a quick handler answers. */
static hook_get_fn *const early_hooks[] = {
    ap_hook_get_create_request, ap_hook_get_pre_read_request, ap_hook_get_post_read_request,
    ap_hook_get_quick_handler,  ap_hook_get_log_transaction,
};

static hook_get_fn *const handler_hooks[] = {ap_hook_get_handler};

static hook_get_fn *const connection_hooks[] = {
    ap_hook_get_create_connection,
    ap_hook_get_pre_connection,
    ap_hook_get_process_connection,
};

int policy_is_declared(const module *m)
{
    return declaration_of(m->name) != NULL || stock_rule_of(m) != NULL;
}

/* Declare for Apache's own modules that were loaded as binaries. */
static void declare_stock(void)
{
    BRG_ASSERT(ap_loaded_modules != NULL);
    for (module **m = ap_loaded_modules; *m; m++) {
        const stock_rule *rule = declaration_of((*m)->name) ? NULL : stock_rule_of(*m);
        declaration *d;

        if (rule && (d = declaration_add(*m, rule->depends, rule->depends == NULL)) != NULL)
            d->stock = rule;
    }
}

static int survey(hook_get_fn *const *hooks, size_t n, const char *kind)
{
    int plain = 1;

    BRG_ASSERT(n > 0 && declarations_n >= 0);
    for (size_t i = 0; i < n; i++) {
        const apr_array_header_t *links = hooks[i]();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            declaration *d = declaration_of(l->module);

            if (d) {
                d->hooks_requests = 1;
                if (hooks[i] != ap_hook_get_handler)
                    d->hooks_phases = 1;
                continue;
            }
            if (plain)
                policy_found.undeclared = l->module;
            plain = 0;
            ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, ap_server_conf,
                         "%s hooks %s without a declaration: these run on worker threads",
                         l->module ? l->module : "a module", kind);
        }
    }
    return plain;
}

/* By the module that asks for most: a module of which nothing is known drives all connections. */
static void survey_connections(void)
{
    const size_t n = sizeof connection_hooks / sizeof *connection_hooks;

    policy_summary_now.connections =
        survey(connection_hooks, n, "connections") ? CONNS_PLAIN : CONNS_MODULE_DRIVEN;
    for (size_t i = 0; i < n && policy_summary_now.connections == CONNS_PLAIN; i++) {
        const apr_array_header_t *links = connection_hooks[i]();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            const declaration *d = declaration_of(l->module);

            if (d && d->stock && d->stock->by_filters)
                policy_summary_now.connections = CONNS_BY_FILTERS;
        }
    }
}

/* Collect the post_read_request hooks whose effect logs show (mod_remoteip, mod_request_id). */
static void survey_observers(void)
{
    apr_array_header_t *links = ap_hook_get_post_read_request();

    policy_found.observers_n = 0;
    for (int k = 0; links && k < links->nelts; k++) {
        const hook_link *l = hook_link_at(links, k);
        const declaration *d = declaration_of(l->module);

        if (d && ((d->stock && d->stock->observes) || d->unobserved) &&
            policy_found.observers_n <
                (int)(sizeof policy_found.observers / sizeof *policy_found.observers))
            policy_found.observers[policy_found.observers_n++] =
                (ap_HOOK_post_read_request_t *)l->function;
    }
}

/* Observers that can tell for which answers they have nothing to do. @return how many; -1: one cannot */
static int survey_observers_ready(policy_stored_loggers *s)
{
    int n = 0;

    for (const declaration *d = declarations; d < declarations + declarations_n; d++)
        n += d->unobserved != NULL;
    if (n != policy_found.observers_n || n > POLICY_LOGGERS_MOST)
        return -1;
    n = 0;
    for (const declaration *d = declarations; d < declarations + declarations_n; d++)
        if (d->unobserved) {
            s->log[n] = NULL;
            s->ready[n++] = d->unobserved;
        }
    return n;
}

static void survey_stored_loggers(void)
{
    policy_stored_loggers *s = &policy_found.stored_loggers;
    apr_array_header_t *links = ap_hook_get_log_transaction();

    policy_found.logs_idle = 0;
    s->n = survey_observers_ready(s);
    for (int k = 0; links && k < links->nelts && s->n >= 0; k++) {
        const declaration *d = declaration_of(hook_link_at(links, k)->module);

        if (d && d->log_declared && !d->log_stored)
            continue;
        if (d && d->stock && d->stock->logs_idle) {
            policy_found.logs_idle = 1;
            continue;
        }
        if (!d || !d->log_stored || s->n == (int)(sizeof s->log / sizeof *s->log)) {
            s->n = -1;
            return;
        }
        s->ready[s->n] = d->log_ready;
        s->log[s->n++] = d->log_stored;
    }
}

/* The core always has a say. */
static void survey_early(void)
{
    for (declaration *d = declarations; d < declarations + declarations_n; d++)
        d->hooks_early = d->fn == request_depends;
    for (size_t i = 0; i < sizeof early_hooks / sizeof *early_hooks; i++) {
        const apr_array_header_t *links = early_hooks[i]();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            declaration *d = declaration_of(l->module);

            if (d)
                d->hooks_early = 1;
        }
    }
}

static int early_links_are_alike(const hook_link *l, int n)
{
    for (int i = 0; i < n; i++) {
        const module_row *row = l[i].module ? module_row_named(l[i].module) : NULL;

        if (!row || !row->early_alike)
            return 0;
    }
    return 1;
}

int policy_early_is_known(const server_rec *s)
{
    static const int early[] = {HOOK_create_request, HOOK_post_read_request, HOOK_quick_handler};
    const hook_lists *lists = hook_lists_of(s);
    const apr_array_header_t *before = ap_hook_get_pre_read_request();

    for (size_t i = 0; lists && i < sizeof early / sizeof *early; i++)
        if (!early_links_are_alike(lists->by_hook[early[i]].links, lists->by_hook[early[i]].n))
            return 0;
    return lists && early_links_are_alike(hook_link_at(before, 0), before ? before->nelts : 0);
}

/* The modules that take part in authentication. */
static void survey_auth(void)
{
    static hook_get_fn *const hooks[] = {ap_hook_get_check_user_id, ap_hook_get_auth_checker};

    policy_found.auth_plain = 1;
    policy_found.auth_asked_n = 0;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        const apr_array_header_t *links = hooks[i]();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            const declaration *d = declaration_of(l->module);

            policy_found.auth_plain &= d && d->auth_inline;
        }
    }
    for (const declaration *d = declarations; d < declarations + declarations_n; d++)
        if (d->auth_waits && policy_found.auth_asked_n < (int)(sizeof policy_found.auth_asked /
                                                               sizeof *policy_found.auth_asked))
            policy_found.auth_asked[policy_found.auth_asked_n++] = d->auth_waits;
}

/* A module without room in the table counts as silent. */
static void survey_names(void)
{
    policy_found.names_n = 0;
    for (declaration *d = declarations; d < declarations + declarations_n; d++)
        if (d->name_fn && d->hooks_requests && policy_found.names_n < POLICY_NAMES_MOST)
            policy_found.names[policy_found.names_n++] = d->name_fn;
        else if (d->name_fn && d->hooks_requests)
            d->name_fn = NULL;
}

/* Of whom requests have to ask something. */
static void survey_declarations(void)
{
    policy_found.asked_n = policy_found.stock_n = policy_found.stock_filters_wait =
        policy_found.waiters_n = 0;
    policy_found.client_changer = NULL;
    policy_found.authenticate = policy_found.query = policy_found.query_by_rule =
        policy_found.rewrite = 0;
    atomic_store(&policy_found.phases_differ, atomic_load(&policy_found.phases_asked) != NULL);
    for (const declaration *d = declarations; d < declarations + declarations_n; d++) {
        if ((d->never && d->hooks_phases) ||
            (d->fn && d->hooks_requests && !(d->stock && stock_rule_says_static(d->stock))))
            policy_found.asked[policy_found.asked_n++] = d;
        if (d->stock && !strcmp(d->name, "mod_rewrite.c"))
            policy_found.rewrite = 1;
        else
            policy_found.query |= d->hooks_requests && !d->query_free;
        policy_found.query_by_rule |= d->query_free && d->stock && d->stock->unless;
        if (d->phases_wait) {
            policy_found.waiters[policy_found.waiters_n++] = d;
            atomic_store(&policy_found.phases_differ, 1);
        }
        if (!d->stock)
            continue;
        if (d->stock->changes_client)
            policy_found.client_changer = d->name;
        policy_found.stock[policy_found.stock_n++] = d;
        policy_found.stock_filters_wait |= !d->stock->filters_work;
        policy_found.authenticate |= stock_rule_authenticates(d->stock);
        if (d->stock->phases_wait)
            atomic_store(&policy_found.phases_differ, 1);
    }
    filter_declarations_changed();
}

void policy_survey_hooks(void)
{
    coding_survey();
    declarations_drop_unloaded();
    declare_stock();
    for (int i = 0; i < declarations_n; i++)
        declarations[i].hooks_requests = declarations[i].hooks_phases = 0;
    survey_observers();
    survey_stored_loggers();
    survey_connections();
    policy_found.surveyed = 1;
    policy_found.handlers_plain = survey(handler_hooks, 1, "handlers");
    policy_summary_now.phases_plain =
        survey(phase_hooks, sizeof phase_hooks / sizeof *phase_hooks, "requests");
    survey_early();
    survey_auth();
    survey_names();
    survey_declarations();
}

static int policy_is_in(hook_get_fn *const *hooks, size_t n, const module *m)
{
    for (size_t i = 0; i < n; i++) {
        apr_array_header_t *links = hooks[i]();

        for (int k = 0; links && k < links->nelts; k++) {
            const hook_link *l = hook_link_at(links, k);

            if (l->module && !strcmp(l->module, m->name))
                return 1;
        }
    }
    return 0;
}

int policy_hooks_phases(const module *m)
{
    return policy_is_in(phase_hooks, sizeof phase_hooks / sizeof *phase_hooks, m);
}

int policy_hooks_requests(const module *m)
{
    return policy_hooks_phases(m) || policy_is_in(handler_hooks, 1, m);
}

int policy_hooks_connections(const module *m)
{
    return policy_is_in(connection_hooks, sizeof connection_hooks / sizeof *connection_hooks, m);
}

static int policy_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    policy_survey_hooks();
    hook_lists_make(s, pconf);
    return OK;
}

void policy_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(policy_post_config, NULL, NULL, APR_HOOK_REALLY_LAST);
}
