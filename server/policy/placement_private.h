/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_PLACEMENT_PRIVATE_H
#define BRIGADE_POLICY_PLACEMENT_PRIVATE_H

/**
 * @file placement_private.h
 * Findings of survey.c, for the questions of requests (placement.c).
 * Threads: written by the main thread while the configuration is read, read by all afterwards; atomics by any.
 */
#include "placement.h"
#include "declarations.h"
#include "http_protocol.h"

typedef struct policy_findings {
    int surveyed;           /**< policy_survey_hooks() ran in this process */
    const char *undeclared; /**< the first module without a declaration, where not all are plain */
    int handlers_plain, authenticate, auth_plain;
    int query;         /**< a module that hooks requests may look at the query */
    int query_by_rule; /**< some may where a directive of stock_rule.unless is used */
    int rewrite;       /**< mod_rewrite is there, which does so where RewriteEngine is on */
    const char *client_changer; /**< policy_client_changer() */
    atomic_int phases_differ;   /**< requests have to be asked whether their phases wait */
    _Atomic(policy_waits_fn *) phases_asked;   /**< by policy_phases_ask() */
    ap_HOOK_post_read_request_t *observers[4]; /**< hooks of modules whose rule observes */
    int observers_n;
    /** whose answer may be other than BRG_CACHE_STATIC */
    const declaration *asked[DECLARATIONS_MOST];
    int asked_n;
    const declaration *stock[DECLARATIONS_MOST]; /**< of stock modules */
    int stock_n, stock_filters_wait; /**< the latter: filters of some of them may wait */
    const declaration *waiters[DECLARATIONS_MOST]; /**< with brg_phases_wait_declare() */
    int waiters_n;
    brg_auth_waits_fn *auth_asked[4]; /**< brg_auth_ask() */
    int auth_asked_n;
    brg_cache_name_fn *names[POLICY_NAMES_MOST]; /**< brg_cache_name_declare() */
    int names_n;
    policy_stored_loggers stored_loggers; /**< n < 0: a request_rec is needed */
    int logs_idle;                        /**< some loggers are none by stock_rule.logs_idle */
} policy_findings;

extern policy_findings policy_found;

#endif
