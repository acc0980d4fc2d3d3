/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_STOCK_POLICY_H
#define BRIGADE_POLICY_STOCK_POLICY_H

/**
 * @file stock_policy.h
 * What Apache's own modules, loaded as binaries, would declare if they could
 * (brigade/response_cache.h).
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/response_cache.h"

typedef struct stock_rule {
    const char *name;              /**< module->name */
    brg_cache_fn *depends; /**< NULL: never remembered, but does not wait */
    int (*waits)(request_rec *r);  /**< after the phases: 1 if its handler or filter may wait, or
                                      work long; or NULL */
    const char *unless;            /**< a directive with which none of this is true; or NULL */
    int by_filters; /**< a connection on which its pre_connection hook put no filter, and which asks
                       for no other protocol, is none of its business */
} stock_rule;

/** The rule for a module, NULL if it has to be believed to depend on everything. Call once the
 * configuration is read. */
const stock_rule *stock_rule_of(const module *m);

/**
 * A directive of @a m was read for @a section. One in an .htaccess file may end what is known of
 * its module, for good. A conf_directive_fn (configuration.h).
 */
void stock_policy_directive(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                     const ap_directive_t *d);

/** @name mod_rewrite: its rules are read as they pass (stock_rewrite.c) */
/** @{ */
typedef struct stock_rewrite_notes stock_rewrite_notes;
/** The module whose directory configuration has the notes, merged by stock_rewrite_merge(). Called
 * by it when it registers its hooks. */
void stock_rewrite_keep_in(const module *m);
void stock_rewrite_directive(const cmd_parms *cmd, ap_conf_vector_t *section, const char *name,
                             const char *args);
void *stock_rewrite_merge(apr_pool_t *p, void *base_conf, void *add_conf);
int stock_rewrite(request_rec *r); /**< BRG_CACHE_* */
/** @} */

/** 1 if the module of that rule asks who it is: credentials may take long to check. */
int stock_rule_authenticates(const stock_rule *rule);

/** 1 if a directive ended what was known of the module of that rule. */
int stock_rule_is_void(const stock_rule *rule);

#endif
