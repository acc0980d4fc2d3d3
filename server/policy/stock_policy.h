/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POLICY_STOCK_POLICY_H
#define BRIGADE_POLICY_STOCK_POLICY_H

/**
 * @file stock_policy.h
 * Declarations on behalf of Apache's own modules, loaded as binaries
 * (brigade/response_cache.h).
 */
#include "http_head.h"
#include "httpd.h"
#include "http_config.h"
#include "brigade/response_cache.h"

/** The facts about one module. Directives are named with blanks between them; one with the single argument "off" does
 * not count. */
typedef struct stock_rule {
    const char *name;      /**< module->name */
    int is_known;          /**< 0: the row of module_rows.def has no rule */
    brg_cache_fn *depends; /**< NULL: answers are never stored, but nothing waits */
    /** After the phases: 1 if its handler or a filter may wait, or work long; or NULL. */
    int (*waits)(request_rec *r);
    const char *handlers; /**< r->handler, separated by blanks, for which its handler may wait */
    const char *unless;   /**< directives with which none of this is true; or NULL */
    const char *marks;    /**< directives that stock_is_marked() tells of; or NULL */
    /** Before the phases: 1 if one of them may wait; or NULL. */
    int (*phases_wait)(const request_rec *r);
    /** It takes part in a connection only if its pre_connection hook put a filter there, or if the client asks for
     * another protocol. */
    int by_filters;
    int filters_work; /**< its filters do not wait, but for the cases of waits() */
    int changes_client; /**< it gives requests another client's address by fields that are not known here */
    int logs_idle; /**< without the directives of unless its log hook does nothing */
    int observes;  /**< logs want the values that its post_read_request hook makes of a request */
} stock_rule;

/** The rule for a module; NULL: without a rule, its responses may depend on anything. Call once the
 * configuration is read. */
const stock_rule *stock_rule_of(const module *m);

/**
 * A directive of @a m was read for @a section. One in an .htaccess file may end the knowledge of
 * its module, for good. A conf_directive_fn (configuration.h).
 */
void stock_policy_directive(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                            const ap_directive_t *d);

/** @name mod_rewrite: dependencies of its rules (stock_rewrite.c) */
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

/** 1 if the module of that rule authenticates users: it may take long to check a password. */
int stock_rule_authenticates(const stock_rule *rule);

/** 1 if the handler or a filter of that module may wait, or work long, for @a r. */
int stock_rule_waits(const stock_rule *rule, request_rec *r);

/** 1 if a directive of rule->marks is used, for the module of that name, which has a rule. */
int stock_is_marked(const char *name);

/** @name mod_cache: for which targets it may act (stock_cache.c) */
/** @{ */
void stock_cache_directive(const cmd_parms *cmd, const char *name, const char *args);
/** 1 if a CacheEnable line may match the target of @a r. */
int stock_cache_enabled(const request_rec *r);
/** @} */

/** @name mod_deflate, mod_brotli: how they compress (stock_coding.c) */
/** @{ */
struct brg_coding_step;
/** A directive of one of them was read. */
void stock_coding_directive(const module *m, const cmd_parms *cmd, const char *name,
                            const char *args);
/** Fill in what step->coding is made by on @a s. @return step->is_told */
int stock_coding_tell(const server_rec *s, struct brg_coding_step *step);
/** @} */

/** @name The request fields that mod_remoteip and others change (changed_fields.c) */
/** @{ */
void stock_remoteip_directive(const cmd_parms *cmd, const char *name, const char *args);
/** The module that changes a field by which the answer to @a r is selected (brg_cache_changes_field()), or NULL. Once all
 * modules were asked. */
const char *changed_fields_vary(const request_rec *r);
/** 1 if there are such fields at all. Once the configuration is read. */
int changed_fields_are_there(void);

/** 1 if a log may show the request field (brg_transaction_log_shows()). Threads: any. */
int changed_fields_are_shown(const char *name);

/** 1 if the head has a field that a module changes, or takes the client's address from. Threads: any. */
int changed_fields_in(const http_head *head);
/** @} */

/** 1 if a directive ended the knowledge of the module of that rule. */
int stock_rule_is_void(const stock_rule *rule);

/** 1 if some rule is void. */
int stock_rules_are_void(void);

/** 1 if rule->depends says of each request that it does not depend on more than files. */
int stock_rule_says_static(const stock_rule *rule);

#endif
