/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_PLACEMENT_H
#define BRIGADE_POLICY_PLACEMENT_H

/**
 * @file placement.h
 * Where a request may run (on an event loop, or on a worker because something in it may wait), and
 * which dependencies it has: both follow from declarations of modules.
 *
 * The survey walks the registered hooks once per configuration; requests only read its result.
 * Threads: any, once the survey is made.
 */
#include "httpd.h"
#include "util_filter.h"
#include "http_config.h"
#include "brigade/transaction.h"
#include "declarations.h"

/** Look at the registered hooks: after the configuration was read (post_config). Threads: main. */
void policy_survey_hooks(void);

/** 1 if the module declared itself, or has a stock rule. */
int policy_is_declared(const module *m);

/** 1 if @a m hooks a phase of requests; a phase, or their handlers; a step of connections. While hooks are registered, or later. */
int policy_hooks_phases(const module *m);
int policy_hooks_requests(const module *m);
int policy_hooks_connections(const module *m);

/** Which module keeps a response from being stored, and why. */
typedef struct policy_reason {
    const char *module; /**< its file name (mod_x.c); NULL: nobody */
    const char *why;
    int kind; /**< cache_refusal (cache_fill_private.h), if it is one of the core's that figures tell apart; else 0 */
} policy_reason;

/** 1 if a module of which nothing is known hooks requests: no answer is stored. *reason names it. */
int policy_undeclared(policy_reason *reason);

/** 1 if the part of @a m in requests is such that no answer is stored, whatever is asked for. Once the
 * survey is made. */
int policy_keeps_out(const module *m, policy_reason *reason);

/** A module in use that may give requests another client's address by fields that it does not name, or NULL. */
const char *policy_client_changer(void);

/** The greatest answer of all modules for a request that is over: BRG_CACHE_*. *reason is whose it
 * was. */
int policy_ask_modules(request_rec *r, policy_reason *reason);

/** The same of those alone that take part in a request before its phases begin, and log it: of an answer of a quick handler. */
int policy_ask_early(request_rec *r, policy_reason *reason);

/** 1 if no module but those whose part is known hooks requests to @a s before their phases: none of these looks at the target, and
 * their work is done for each. Threads: any, once the survey is made. */
int policy_early_is_known(const server_rec *s);

/** 1 if the query of the target may have been looked at for @a r, which is answered with a plain file: by an
 * expression, or by a module that hooks requests and did not say that it leaves it (brg_cache_leaves_query()). */
int policy_query_counts(const request_rec *r);

/** @name names.c: decisions by the last name of a path that leads to no file */
/** @{ */

/** modules with such a function; those beyond are taken to have none */
#define POLICY_NAMES_MOST 12

/** The verdict of the modules with a function for it (brg_cache_name_declare()). */
typedef struct policy_names {
    apr_int64_t said[POLICY_NAMES_MOST]; /**< 0 where there are fewer */
} policy_names;

/** Ask of @a path; brg_cache_name_fn tells of the others. @return 0; -1: some module may decide each name in another way. Threads: any, once the survey is made. */
int policy_names_ask(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                     const char *filename, const char *path_info, int is_file, policy_names *out);

/** 1 if they say of @a path what they said before. */
int policy_names_hold(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                      const char *filename, const char *path_info, int is_file,
                      const policy_names *said);

/** 1 if the modules that are asked have the same configuration in both; @a but and the core aside, whose functions look at neither where no
 * file is looked for. */
int policy_names_see_alike(const ap_conf_vector_t *one, const ap_conf_vector_t *other,
                           const module *but);

/** 1 if the modules that take part in requests to @a s tell by policy_names_ask() all that they decide by a name.
 * @param handlers  1: those with a handler, too */
int policy_names_are_told(const server_rec *s, int handlers);
/** @} */

/** Findings of the survey for all requests. Written by survey.c alone. */
typedef struct policy_summary {
    int phases_plain; /**< all modules that hook phases of requests declared themselves */
    enum { CONNS_PLAIN, CONNS_BY_FILTERS, CONNS_MODULE_DRIVEN } connections;
} policy_summary;

extern policy_summary policy_summary_now;

/** 1 if no module but the core's own takes part in connections (create_connection, pre_connection, process_connection). */
static inline int connections_are_plain(void)
{
    return policy_summary_now.connections == CONNS_PLAIN;
}

/** 1 if the modules that do take part put filters on a connection before it is read from: they do not take part in a
 * connection without such filters. */
static inline int connections_tell_by_filters(void)
{
    return policy_summary_now.connections == CONNS_BY_FILTERS;
}

/** 1 if the phases themselves may run on an event loop: decided once per configuration. */
static inline int phases_may_run_inline(void)
{
    return policy_summary_now.phases_plain && !declarations_phases_wait();
}

/** 1 if phases of this request may wait: for credentials that a module may check, for the request
 * itself or for one that it leads to, or for a need of its target. Call before the phases. */
int phases_may_wait(const request_rec *r);

/** 1 if all modules that take part in authentication and authorization tell by themselves when they would wait
 * (brg_auth_declare()). */
int policy_auth_runs_inline(void);

/** From now on ask @a fn, too, whether phases of a request may wait. NULL: no longer. Threads: any */
typedef int policy_waits_fn(const request_rec *r);
void policy_phases_ask(policy_waits_fn *fn);

/** Run the post_read_request hooks whose effect logs show (mod_remoteip, mod_request_id) for a request that was answered from memory. */
void policy_observe(request_rec *r);

#define POLICY_LOGGERS_MOST 6

/** Modules that log stored answers without a request_rec, in the order of their hooks. */
typedef struct policy_stored_loggers {
    int n;
    brg_transaction_ready_fn *ready[POLICY_LOGGERS_MOST];
    /** NULL: of an observer, which has nothing to log */
    brg_transaction_log_fn *log[POLICY_LOGGERS_MOST];
} policy_stored_loggers;

/** The loggers; NULL: some module that logs cannot, or an observer changes logged data, or phases
 * wait. */
const policy_stored_loggers *policy_stored_log(void);

/**
 * 1 if every filter on r's chains and every module with a request hook is declared non-blocking and
 * no request body waits: the handler may run on an event loop. Call after request_phases().
 */
int request_may_run_inline(request_rec *r);

/** As request_may_run_inline(), for a request whose body was read or is not there. */
int request_handler_may_run_inline(request_rec *r);

/** Register the survey of hooks; called from the core module's register_hooks. */
void policy_register_hooks(apr_pool_t *p);

#endif
