/* SPDX-License-Identifier: Apache-2.0 */
/* Which modules take part in requests and connections, and what they declared of themselves. The
 * survey walks the registered hooks once per configuration; requests only read its result. */
#include "core_settings.h"
#include "brigade/assert.h"
#include "placement.h"
#include "coding.h"
#include "conn.h"
#include "declarations.h"
#include "request_context.h"
#include "stock_policy.h"
#include "filter_registry.h"
#include "brigade/response_cache.h"
#include "brigade/wait.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "hook_link.h"
#include "hook_lists.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_hooks.h"
#include <stdatomic.h>
#include <string.h>

APLOG_USE_MODULE(core);

static const char *phases_undeclared; /* the first module without a declaration, where not plain */
static int phases_plain, handlers_plain, phases_authenticate, auth_plain;
static atomic_int phases_differ;
static _Atomic(policy_waits_fn *) phases_asked;   /* by policy_phases_ask() */
static ap_HOOK_post_read_request_t *observers[4]; /* hooks of modules whose rule observes */
static int observers_n;
/* Those whose answer may be other than BRG_CACHE_STATIC. */
static const declaration *asked[DECLARATIONS_MOST];
static const declaration *stock[DECLARATIONS_MOST];   /* of stock modules */
static const declaration *waiters[DECLARATIONS_MOST]; /* with brg_phases_wait_declare() */
static int waiters_n;
static const char *client_changer;       /* policy_client_changer() */
static brg_auth_waits_fn *auth_asked[4]; /* brg_auth_ask() */
static int auth_asked_n;
static int asked_n, stock_n, stock_filters_wait; /* the latter: filters of some of them may wait */
static int phases_query;    /* a module that hooks requests may look at the query */
static int phases_rewrite;  /* mod_rewrite is there, which does so where RewriteEngine is on */
static int policy_surveyed; /* policy_survey_hooks() ran in this process */
static enum { CONNS_PLAIN, CONNS_BY_FILTERS, CONNS_MODULE_DRIVEN } connections_kind;

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

/* 1 if a filter of a stock module, whose rule does not say that filters go without waiting, is on the chain. */
static int stock_filter_waits(const ap_filter_t *f)
{
    for (; f; f = f->next) {
        const declaration *d = filter_declaration(f->frec);

        if (d && d->stock && !d->stock->filters_work)
            return 1;
    }
    return 0;
}

static int stock_waits(request_rec *r)
{
    for (int i = 0; i < stock_n; i++)
        if (stock_rule_waits(stock[i]->stock, r))
            return 1;
    if (!stock_filters_wait)
        return 0;
    return stock_filter_waits(r->output_filters) || stock_filter_waits(r->input_filters);
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
                phases_undeclared = l->module;
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

    connections_kind =
        survey(connection_hooks, n, "connections") ? CONNS_PLAIN : CONNS_MODULE_DRIVEN;
    for (size_t i = 0; i < n && connections_kind == CONNS_PLAIN; i++) {
        const apr_array_header_t *links = connection_hooks[i]();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            const declaration *d = declaration_of(l->module);

            if (d && d->stock && d->stock->by_filters)
                connections_kind = CONNS_BY_FILTERS;
        }
    }
}

/* Collect the post_read_request hooks whose effect logs show (mod_remoteip, mod_request_id). */
static void survey_observers(void)
{
    apr_array_header_t *links = ap_hook_get_post_read_request();

    observers_n = 0;
    for (int k = 0; links && k < links->nelts; k++) {
        const hook_link *l = hook_link_at(links, k);
        const declaration *d = declaration_of(l->module);

        if (d && ((d->stock && d->stock->observes) || d->unobserved) &&
            observers_n < (int)(sizeof observers / sizeof *observers))
            observers[observers_n++] = (ap_HOOK_post_read_request_t *)l->function;
    }
}

void policy_observe(request_rec *r)
{
    BRG_ASSERT(observers_n <= (int)(sizeof observers / sizeof *observers));
    for (int i = 0; i < observers_n; i++)
        (void)observers[i](r);
}

static policy_stored_loggers stored_loggers; /* n < 0: a request_rec is needed */

/* Observers that can tell for which answers they have nothing to do. @return how many; -1: one cannot */
static int survey_observers_ready(policy_stored_loggers *s)
{
    int n = 0;

    for (const declaration *d = declarations; d < declarations + declarations_n; d++)
        n += d->unobserved != NULL;
    if (n != observers_n || n > POLICY_LOGGERS_MOST)
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
    policy_stored_loggers *s = &stored_loggers;
    apr_array_header_t *links = ap_hook_get_log_transaction();

    s->n = survey_observers_ready(s);
    for (int k = 0; links && k < links->nelts && s->n >= 0; k++) {
        const declaration *d = declaration_of(hook_link_at(links, k)->module);

        if (d && d->log_declared && !d->log_stored)
            continue;
        if (!d || !d->log_stored || s->n == (int)(sizeof s->log / sizeof *s->log)) {
            s->n = -1;
            return;
        }
        s->ready[s->n] = d->log_ready;
        s->log[s->n++] = d->log_stored;
    }
}

const policy_stored_loggers *policy_stored_log(void)
{
    return stored_loggers.n < 0 || declarations_phases_wait() ? NULL : &stored_loggers;
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

/* Who takes part in authentication. */
static void survey_auth(void)
{
    static hook_get_fn *const hooks[] = {ap_hook_get_check_user_id, ap_hook_get_auth_checker};

    auth_plain = 1;
    auth_asked_n = 0;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        const apr_array_header_t *links = hooks[i]();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            const declaration *d = declaration_of(l->module);

            auth_plain &= d && d->auth_inline;
        }
    }
    for (const declaration *d = declarations; d < declarations + declarations_n; d++)
        if (d->auth_waits && auth_asked_n < (int)(sizeof auth_asked / sizeof *auth_asked))
            auth_asked[auth_asked_n++] = d->auth_waits;
}

int policy_auth_runs_inline(void)
{
    return auth_plain;
}

/* Of whom requests have to ask something. */
static void survey_declarations(void)
{
    asked_n = stock_n = stock_filters_wait = waiters_n = 0;
    client_changer = NULL;
    phases_authenticate = phases_query = phases_rewrite = 0;
    atomic_store(&phases_differ, atomic_load(&phases_asked) != NULL);
    for (const declaration *d = declarations; d < declarations + declarations_n; d++) {
        if ((d->never && d->hooks_phases) ||
            (d->fn && d->hooks_requests && !(d->stock && stock_rule_says_static(d->stock))))
            asked[asked_n++] = d;
        if (d->stock && !strcmp(d->name, "mod_rewrite.c"))
            phases_rewrite = 1;
        else
            phases_query |= d->hooks_requests && !d->query_free;
        if (d->phases_wait) {
            waiters[waiters_n++] = d;
            atomic_store(&phases_differ, 1);
        }
        if (!d->stock)
            continue;
        if (d->stock->changes_client)
            client_changer = d->name;
        stock[stock_n++] = d;
        stock_filters_wait |= !d->stock->filters_work;
        phases_authenticate |= stock_rule_authenticates(d->stock);
        if (d->stock->phases_wait)
            atomic_store(&phases_differ, 1);
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
    policy_surveyed = 1;
    handlers_plain = survey(handler_hooks, 1, "handlers");
    phases_plain = survey(phase_hooks, sizeof phase_hooks / sizeof *phase_hooks, "requests");
    survey_early();
    survey_auth();
    survey_declarations();
}

int policy_query_counts(const request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    return phases_query || !found || found->query ||
           (phases_rewrite && stock_is_marked("mod_rewrite.c"));
}

int phases_may_run_inline(void)
{
    return phases_plain && !declarations_phases_wait();
}

void policy_phases_ask(policy_waits_fn *fn)
{
    atomic_store(&phases_asked, fn);
    if (fn)
        atomic_store(&phases_differ, 1);
}

static int phases_wait_for(const request_rec *r)
{
    policy_waits_fn *also = atomic_load_explicit(&phases_asked, memory_order_relaxed);

    if (also && also(r))
        return 1;
    for (int i = 0; i < stock_n; i++)
        if (stock[i]->stock->phases_wait && stock[i]->stock->phases_wait(r))
            return 1;
    for (int i = 0; i < waiters_n; i++)
        if (waiters[i]->phases_wait(r))
            return 1;
    return 0;
}

static int phases_authenticate_for(const request_rec *r)
{
    const char *field = apr_table_get(r->headers_in, "Authorization");

    if (!field || phases_authenticate)
        return field != NULL;
    for (int i = 0; i < auth_asked_n; i++)
        if (auth_asked[i](r, field))
            return 1;
    return 0;
}

int phases_may_wait(const request_rec *r)
{
    return ((phases_authenticate || auth_asked_n) && phases_authenticate_for(r)) ||
           (atomic_load_explicit(&phases_differ, memory_order_relaxed) && phases_wait_for(r));
}

BRG_DECLARE(void) brg_request_needs_worker(request_rec *r)
{
    request_mark_blocking(r);
}

BRG_DECLARE(int) brg_request_may_wait(request_rec *r)
{
    if (!handlers_plain || request_may_block(r) || stock_waits(r))
        return 1;
    for (const ap_filter_t *f = r->output_filters; f && f->r == r; f = f->next)
        if (!f->frec->providers && !brg_filter_is_declared(f->frec))
            return 1;
    return 0;
}

BRG_DECLARE(int) brg_request_rerun_on_worker(request_rec *r)
{
    return conn_on_loop() && request_mark_rerun(r);
}

int connections_are_plain(void)
{
    return connections_kind == CONNS_PLAIN;
}

int connections_tell_by_filters(void)
{
    return connections_kind == CONNS_BY_FILTERS;
}

BRG_DECLARE(int) brg_filter_is_declared(const ap_filter_rec_t *frec)
{
    return filter_declaration(frec) != NULL;
}

int request_handler_may_run_inline(request_rec *r)
{
    return handlers_plain && !request_may_block(r) && filter_chain_is_declared(r->output_filters) &&
           filter_chain_is_declared(r->input_filters) && !stock_waits(r);
}

static int request_is_without_body(const request_rec *r)
{
    return !r->read_chunked && r->remaining == 0 &&
           (request_is_bodyless(r) || (!apr_table_get(r->headers_in, "Content-Length") &&
                                       !apr_table_get(r->headers_in, "Transfer-Encoding")));
}

int request_may_run_inline(request_rec *r)
{
    return (request_reads(r) || request_is_without_body(r)) && request_handler_may_run_inline(r);
}

BRG_DECLARE(void) brg_wait_reads_body(request_rec *r)
{
    request_mark_reads(r);
}

static const char policy_unknown[] = "it may depend on anything, or wait: it runs for each request";
static const char policy_each_time[] = "it has to run for each request";

static int policy_ask_one(const declaration *d, request_rec *r, const char **why)
{
    BRG_ASSERT(!(d->fn && d->never));
    *why = d->never ? policy_each_time
                    : "the answer depends on more than its target, files and request fields";
    return d->never ? BRG_CACHE_VOLATILE : d->fn(r);
}

/* A module whose rule a directive of an .htaccess file ended, or NULL. */
static const declaration *policy_void(void)
{
    for (int i = 0; stock_rules_are_void() && i < stock_n; i++)
        if (stock_rule_is_void(stock[i]->stock))
            return stock[i];
    return NULL;
}

/* What the core says may be what another module said of the request that led to this one. */
static policy_reason policy_reason_of(const declaration *d, const request_rec *r, const char *why)
{
    const char *who, *marked = request_volatile_why(r, &who);

    return d->fn == request_depends && marked ? (policy_reason){who, marked, 0}
                                              : (policy_reason){d->name, why, 0};
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

int policy_keeps_out(const module *m, policy_reason *reason)
{
    const declaration *d = declaration_of(m->name);

    BRG_ASSERT(policy_surveyed);
    *reason = (policy_reason){m->name, d ? policy_each_time : policy_unknown, 0};
    return d ? d->never && d->hooks_phases : policy_hooks_requests(m);
}

int policy_undeclared(policy_reason *reason)
{
    const int is_unknown = !phases_plain || !handlers_plain;

    *reason = (policy_reason){is_unknown ? phases_undeclared : NULL, policy_unknown, 0};
    return is_unknown;
}

/* @param early  only of those that hook requests before their phases */
static int policy_ask(request_rec *r, policy_reason *reason, int early)
{
    int worst = policy_undeclared(reason) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
    const declaration *ended = policy_void();
    const char *changes;

    if (ended && worst < BRG_CACHE_VOLATILE) {
        *reason = (policy_reason){
            ended->name, "an .htaccess file uses a directive with which it may depend on anything",
            0};
        worst = BRG_CACHE_VOLATILE;
    }
    for (int i = 0; i < asked_n && worst < BRG_CACHE_VOLATILE; i++) {
        const char *why = NULL;
        int answer;

        if (early && !asked[i]->hooks_early)
            continue;
        answer = policy_ask_one(asked[i], r, &why);
        if (answer <= worst)
            continue;
        worst = answer;
        *reason = policy_reason_of(asked[i], r, why);
    }
    if (worst < BRG_CACHE_VOLATILE && (changes = changed_fields_vary(r)) != NULL) {
        *reason = (policy_reason){changes, "it changes a field that the answer depends on", 0};
        worst = BRG_CACHE_VOLATILE;
    }
    return worst;
}

int policy_ask_modules(request_rec *r, policy_reason *reason)
{
    return policy_ask(r, reason, 0);
}

int policy_ask_early(request_rec *r, policy_reason *reason)
{
    return policy_ask(r, reason, 1);
}

const char *policy_client_changer(void)
{
    BRG_ASSERT(policy_surveyed);
    return client_changer;
}

BRG_DECLARE(int) brg_cache_ask(request_rec *r)
{
    policy_reason reason;

    return request_is_debugged(r) ? BRG_CACHE_VOLATILE : policy_ask_modules(r, &reason);
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
