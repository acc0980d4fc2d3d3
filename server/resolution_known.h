/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_RESOLUTION_KNOWN_H
#define BRIGADE_RESOLUTION_KNOWN_H

/**
 * @file resolution_known.h
 * What Apache's own modules, loaded as binaries, would declare if they could
 * (brigade/resolution.h).
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/resolution.h"

typedef struct known_module_rule {
    const char *name;              /**< module->name */
    brg_resolution_fn *resolution; /**< NULL: never remembered, but does not wait */
    int (*waits)(request_rec *r);  /**< after the phases: 1 if its handler or filter may wait, or
                                      work long; or NULL */
    const char *unless;            /**< a directive with which none of this is true; or NULL */
    int by_filters; /**< a connection on which its pre_connection hook put no filter, and which asks
                       for no other protocol, is none of its business */
} known_module_rule;

/** The rule for a module, NULL if it has to be believed to depend on everything. Call once the
 * configuration is read. */
const known_module_rule *known_rule_of(const module *m);

/**
 * A directive of @a m was read for @a section. One in an .htaccess file may end what is known of
 * its module, for good.
 */
void known_directive(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                     const ap_directive_t *d);

/** @name mod_rewrite: its rules are read as they pass (known_rewrite.c) */
/** @{ */
typedef struct known_rewrite_notes known_rewrite_notes; /**< in a directory's part of mod_so */
void known_rewrite_directive(const cmd_parms *cmd, ap_conf_vector_t *section, const char *name,
                             const char *args);
void *known_rewrite_merge(apr_pool_t *p, void *base_conf, void *add_conf);
int known_rewrite(request_rec *r); /**< BRG_RESOLUTION_* */
/** @} */

/** 1 if the module of that rule asks who it is: credentials may take long to check. */
int known_authenticates(const known_module_rule *rule);

/** 1 if a directive ended what was known of the module of that rule. */
int known_is_void(const known_module_rule *rule);

#endif
