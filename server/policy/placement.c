/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of requests to the survey: where they may run, and whether their answers may be stored. */
#include "placement_private.h"
#include "brigade/assert.h"
#include "coding.h"
#include "conn.h"
#include "core_settings.h"
#include "request_context.h"
#include "stock_policy.h"
#include "filter_registry.h"
#include "brigade/wait.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include <string.h>

/* 1 if a filter of a policy_found.stock module, whose rule does not say that filters go without waiting, is on the chain. */
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
    for (int i = 0; i < policy_found.stock_n; i++)
        if (stock_rule_waits(policy_found.stock[i]->stock, r))
            return 1;
    if (!policy_found.stock_filters_wait)
        return 0;
    return stock_filter_waits(r->output_filters) || stock_filter_waits(r->input_filters);
}

void policy_observe(request_rec *r)
{
    BRG_ASSERT(policy_found.observers_n <=
               (int)(sizeof policy_found.observers / sizeof *policy_found.observers));
    for (int i = 0; i < policy_found.observers_n; i++)
        (void)policy_found.observers[i](r);
}

const policy_stored_loggers *policy_stored_log(void)
{
    return policy_found.stored_loggers.n < 0 || declarations_phases_wait() ||
                   (policy_found.logs_idle && stock_rules_are_void())
               ? NULL
               : &policy_found.stored_loggers;
}

int policy_auth_runs_inline(void)
{
    return policy_found.auth_plain;
}

int policy_query_counts(const request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    return policy_found.query || !found || found->query ||
           (policy_found.query_by_rule && stock_rules_are_void()) ||
           (policy_found.rewrite && stock_is_marked("mod_rewrite.c"));
}

void policy_phases_ask(policy_waits_fn *fn)
{
    atomic_store(&policy_found.phases_asked, fn);
    if (fn)
        atomic_store(&policy_found.phases_differ, 1);
}

static int phases_wait_for(const request_rec *r)
{
    policy_waits_fn *also = atomic_load_explicit(&policy_found.phases_asked, memory_order_relaxed);

    if (also && also(r))
        return 1;
    for (int i = 0; i < policy_found.stock_n; i++)
        if (policy_found.stock[i]->stock->phases_wait &&
            policy_found.stock[i]->stock->phases_wait(r))
            return 1;
    for (int i = 0; i < policy_found.waiters_n; i++)
        if (policy_found.waiters[i]->phases_wait(r))
            return 1;
    return 0;
}

static int phases_authenticate_for(const request_rec *r)
{
    const char *field = apr_table_get(r->headers_in, "Authorization");

    if (!field || policy_found.authenticate)
        return field != NULL;
    for (int i = 0; i < policy_found.auth_asked_n; i++)
        if (policy_found.auth_asked[i](r, field))
            return 1;
    return 0;
}

int phases_may_wait(const request_rec *r)
{
    return ((policy_found.authenticate || policy_found.auth_asked_n) &&
            phases_authenticate_for(r)) ||
           (atomic_load_explicit(&policy_found.phases_differ, memory_order_relaxed) &&
            phases_wait_for(r));
}

BRG_DECLARE(void) brg_request_needs_worker(request_rec *r)
{
    request_mark_blocking(r);
}

BRG_DECLARE(int) brg_request_may_wait(request_rec *r)
{
    if (!policy_found.handlers_plain || request_may_block(r) || stock_waits(r))
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

BRG_DECLARE(int) brg_filter_is_declared(const ap_filter_rec_t *frec)
{
    return filter_declaration(frec) != NULL;
}

int request_handler_may_run_inline(request_rec *r)
{
    return policy_found.handlers_plain && !request_may_block(r) &&
           filter_chain_is_declared(r->output_filters) &&
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
    for (int i = 0; stock_rules_are_void() && i < policy_found.stock_n; i++)
        if (stock_rule_is_void(policy_found.stock[i]->stock))
            return policy_found.stock[i];
    return NULL;
}

/* The core may repeat the statement of another module about the request that led to this one. */
static policy_reason policy_reason_of(const declaration *d, const request_rec *r, const char *why)
{
    const char *who, *marked = request_volatile_why(r, &who);

    return d->fn == request_depends && marked ? (policy_reason){who, marked, 0}
                                              : (policy_reason){d->name, why, 0};
}

int policy_keeps_out(const module *m, policy_reason *reason)
{
    const declaration *d = declaration_of(m->name);

    BRG_ASSERT(policy_found.surveyed);
    *reason = (policy_reason){m->name, d ? policy_each_time : policy_unknown, 0};
    return d ? d->never && d->hooks_phases : policy_hooks_requests(m);
}

int policy_undeclared(policy_reason *reason)
{
    const int is_unknown = !policy_summary_now.phases_plain || !policy_found.handlers_plain;

    *reason = (policy_reason){is_unknown ? policy_found.undeclared : NULL, policy_unknown, 0};
    return is_unknown;
}

/* @param early  only modules that hook requests before their phases */
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
    for (int i = 0; i < policy_found.asked_n && worst < BRG_CACHE_VOLATILE; i++) {
        const char *why = NULL;
        int answer;

        if (early && !policy_found.asked[i]->hooks_early)
            continue;
        answer = policy_ask_one(policy_found.asked[i], r, &why);
        if (answer <= worst)
            continue;
        worst = answer;
        *reason = policy_reason_of(policy_found.asked[i], r, why);
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
    BRG_ASSERT(policy_found.surveyed);
    return policy_found.client_changer;
}

BRG_DECLARE(int) brg_cache_ask(request_rec *r)
{
    policy_reason reason;

    return request_is_debugged(r) ? BRG_CACHE_VOLATILE : policy_ask_modules(r, &reason);
}
