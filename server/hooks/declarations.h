/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_DECLARATIONS_H
#define BRIGADE_HOOKS_DECLARATIONS_H

/**
 * @file declarations.h
 * Declarations of modules about their hooks (brigade/response_cache.h), by
 * module. policy/ draws conclusions from it for requests.
 *
 * Threads: written by the main thread while the configuration is read, read by all afterwards.
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/auth.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include <stdatomic.h>

#define DECLARATIONS_MOST 128 /**< modules; those beyond count as undeclared */

struct stock_rule;

typedef struct declaration {
    const module *of;
    const char *name; /**< of->name: the key of the hook registry */
    brg_cache_fn *fn;
    int never;                           /**< responses with its part are not stored */
    const struct stock_rule *stock;      /**< declared in its stead (stock_policy.h), or NULL */
    int hooks_requests;                  /**< it hooks a phase of requests */
    int hooks_phases;                    /**< hooks that are no handlers */
    int hooks_early;                     /**< hooks that come before all others, or log */
    int query_free;                      /**< brg_cache_leaves_query(), or its row says so */
    int name_free;                       /**< its row says so */
    brg_cache_name_fn *name_fn;          /**< brg_cache_name_declare(), or NULL */
    brg_transaction_ready_fn *log_ready; /**< brg_transaction_log_declare(), or NULL */
    brg_transaction_log_fn *log_stored;  /**< both NULL, and log_declared: nothing is to be done */
    int log_declared;
    brg_transaction_ready_fn *unobserved; /**< brg_transaction_observe(), or NULL */
    brg_phases_wait_fn *phases_wait;      /**< brg_phases_wait_declare(), or NULL */
    int auth_inline;                      /**< brg_auth_declare() */
    brg_auth_waits_fn *auth_waits;        /**< brg_auth_ask(), or NULL */
} declaration;

extern declaration declarations[DECLARATIONS_MOST];
extern int declarations_n;

/** The declaration of the module of that name (module->name); NULL if it made none. */
declaration *declaration_of(const char *name);

/** Declare @a m, or change its declaration. NULL if there is no room. */
declaration *declaration_add(const module *m, brg_cache_fn *fn, int never);

/** All declarations are void: modules are about to register their hooks anew, some of them no more. */
void declarations_forget(void);

/** Drop those of modules that are loaded no more: a binary of the same name promised nothing. */
void declarations_drop_unloaded(void);

extern atomic_int declared_phases_wait; /**< written by declarations.c alone */

/** 1 if a directive asked for phases on workers (brg_phases_need_worker()). */
static inline int declarations_phases_wait(void)
{
    return atomic_load_explicit(&declared_phases_wait, memory_order_relaxed);
}

#endif
