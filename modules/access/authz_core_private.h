/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTHZ_CORE_PRIVATE_H
#define AUTHZ_CORE_PRIVATE_H

/**
 * @file authz_core_private.h
 * Parts of mod_authz_core: configuration tree (authz_core_tree.c), its evaluation
 * (authz_core_eval.c), the providers all, env, method and expr (authz_core_providers.c) and
 * provider aliases (authz_core_alias.c).
 *
 * The tree is built while the configuration (or an .htaccess file) is read and is never changed
 * afterwards, so that any number of threads may evaluate it.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_request.h"
#include "mod_auth.h"
#include "util_cfgtree.h"

/** How the results of a container's children are combined. */
typedef enum authz_op {
    AUTHZ_OP_ANY, /**< one grant is enough */
    AUTHZ_OP_ALL, /**< one denial is enough */
} authz_op;

/** AuthMerging for a section's rules. */
typedef enum authz_merge {
    AUTHZ_MERGE_UNSET,
    AUTHZ_MERGE_OFF,
    AUTHZ_MERGE_AND,
    AUTHZ_MERGE_OR,
} authz_merge;

/** One Require line (provider set) or container (provider NULL, first set). */
typedef struct authz_node authz_node;
struct authz_node {
    authz_node *next, *first, *last;
    const authz_provider *provider;
    const char *provider_name;
    const char *args;
    const ap_directive_t *line; /**< of a Require; NULL: of a container */
    const void *parsed;
    apr_int64_t limited; /**< bit per method number for which the node counts; -1: all */
    authz_op op;
    unsigned negate : 1;
    unsigned merged : 1; /**< made by AuthMerging, not by a container in a file */
    /** the outcome depends on more than path, method and configuration */
    unsigned is_volatile : 1;
    unsigned of_user : 1;  /**< it depends on the user, as providers in BRG_AUTHZ_USER_GROUP do */
    unsigned of_more : 1;  /**< and on more than path, method, configuration and user */
    unsigned may_wait : 1; /**< on an event loop its provider may wait without saying so */
};

typedef struct authz_dir_conf {
    authz_node *root; /**< NULL: no rules here */
    authz_node *open; /**< container being read; root's stand-in while directives are read */
    authz_merge merge;
    int forbid;          /**< AuthzSendForbiddenOnFailure: 0, 1, or -1 where not given */
    int grants_all;      /**< root grants every request: nothing to evaluate */
    int queued_to_check; /**< already in the list for check_config */
} authz_dir_conf;

extern module authz_core_module;

/** The name of @a node in the log and in messages, from @a p. */
const char *authz_node_name(apr_pool_t *p, const authz_node *node);

/** Directive setters and merging (authz_core_tree.c). */
const char *authz_cmd_require(cmd_parms *cmd, void *mconfig, const char *args);
const char *authz_cmd_container(cmd_parms *cmd, void *mconfig, const char *args);
const char *authz_cmd_merging(cmd_parms *cmd, void *mconfig, const char *arg);
void *authz_dir_create(apr_pool_t *p, char *dir);
void *authz_dir_merge(apr_pool_t *p, void *base, void *add);

/**
 * Rules read from now on are recorded for authz_tree_check; NULL stops that. Called on the thread
 * that reads the configuration only.
 */
void authz_tree_begin(apr_pool_t *pconf);

/** Refuse containers that can never grant. @return OK, or an HTTP status after logging why */
int authz_tree_check(apr_pool_t *ptemp, server_rec *s);

/**
 * Evaluate @a node for @a r.
 * @param parent_op  how the parent combines: decides the result of a node limited to other methods
 */
authz_status authz_eval(request_rec *r, const authz_node *node, authz_op parent_op);

/** Register all, env, method and expr. */
void authz_providers_register(apr_pool_t *p);

/** Which Require lines there are at and below @a node, with file, line and section: for the log, from @a p; "" where none is. */
const char *authz_tree_place(apr_pool_t *p, const authz_node *node);

/** The rules at and below @a node as text in @a p, equal if and only if they are. */
const char *authz_tree_text(apr_pool_t *p, const authz_node *node);

/** The request, and all that it came from, was judged by something that the next one may not share. */
void authz_mark_volatile(request_rec *r);

/** 1 if the provider names its dependencies itself, each time it is asked. */
int authz_provider_tells(const authz_provider *provider);

/** 1 if the provider's answer depends only on path, method and configuration, or on variables whose
 * setters declare their dependencies. */
int authz_provider_is_static(const authz_provider *provider, const void *parsed);

/** 1 if @a provider is built in and never reads AUTHZ_PROVIDER_NAME_NOTE. */
int authz_provider_is_own(const authz_provider *provider);

/** 1 if @a provider is "all" and @a parsed says "granted". */
int authz_provider_grants_all(const authz_provider *provider, const void *parsed);

/**
 * Let @a provider read the rest of a Require line, where it wants to. As in Apache, it may ask the temporary pool for
 * AUTHZ_PROVIDER_NAME_NOTE to know which of its names the line has.
 * @return NULL and @a parsed, or a message
 */
const char *authz_parse_line(cmd_parms *cmd, const authz_provider *provider, const char *name,
                             const char *args, const void **parsed);

/** <AuthzProviderAlias> (authz_core_alias.c). */
const char *authz_cmd_alias(cmd_parms *cmd, void *mconfig, const char *args);

/** The message for a provider that no module offers. */
const char *authz_unknown_provider(const cmd_parms *cmd, const char *name);
void authz_alias_reset(apr_pool_t *pconf);

#endif
