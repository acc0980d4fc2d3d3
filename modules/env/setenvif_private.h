/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SETENVIF_PRIVATE_H
#define BRIGADE_SETENVIF_PRIVATE_H

/**
 * @file setenvif_private.h
 * Conditions of mod_setenvif as compiled by its directives (setenvif_cmd.c) and run by
 * mod_setenvif.c. Made when the configuration is read; only read afterwards, by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "apr_strmatch.h"
#include "apr_tables.h"
#include "brigade/client_network.h"

extern module AP_MODULE_DECLARE_DATA setenvif_module;

/** The subject of a condition. */
typedef enum setenvif_source {
    SETENVIF_NAMED,        /**< request header, or else environment variable, of that name */
    SETENVIF_HEADER_REGEX, /**< the last request header whose name matches */
    SETENVIF_REMOTE_ADDR,
    SETENVIF_NETWORK, /**< of the client, where there is ASTable */
    SETENVIF_REMOTE_HOST,
    SETENVIF_REQUEST_URI,
    SETENVIF_REQUEST_METHOD,
    SETENVIF_REQUEST_PROTOCOL,
    SETENVIF_SERVER_ADDR,
    SETENVIF_EXPR
} setenvif_source;

typedef struct setenvif_change {
    const char *name;
    const char *value;     /**< NULL: remove the variable */
    unsigned has_refs : 1; /**< value has $ or & and is to be expanded after a regex match */
} setenvif_change;

typedef struct setenvif_rule {
    setenvif_source source;
    const char *name;                    /**< as written */
    ap_regex_t *name_regex;              /**< SETENVIF_HEADER_REGEX */
    const apr_strmatch_pattern *literal; /**< the value contains this; else regex */
    ap_regex_t *regex;
    ap_expr_info_t *expr;        /**< SETENVIF_EXPR */
    apr_array_header_t *changes; /**< setenvif_change */
    int network;                 /**< SETENVIF_NETWORK: which variable (brigade/client_network.h) */
    /** the one field that it looks at, by any source; NULL: none, or it is not known by name */
    const char *field;
    int bit; /**< rules of a server that look at the client alone: which bit of setenvif_clients() says that it matches; else -1 */
    unsigned repeats : 1; /**< same subject as the rule before it, even if that rule changed it */
} setenvif_rule;

typedef struct setenvif_conf {
    apr_array_header_t *rules; /**< setenvif_rule; NULL = none */
    /** a rule looks at more than request line, named request fields, the client's address and the
     * dependencies of its expression */
    int varies;
    int names;   /**< a rule looks for a field by an expression on names */
    int asks;    /**< a rule looks at the request line, or at an expression */
    int clients; /**< a rule looks at the client's address */
    int bits; /**< of a server: how many rules have one; 0 if not all that look at the client do */
    /** of a server: the fields that its rules look at (made by setenvif_fields(); NULL while that
     * has not run) */
    struct setenvif_field *fields;
    int fields_n;
} setenvif_conf;

/** A request field that rules of a server look at. */
typedef struct setenvif_field {
    const char *name;
    const apr_array_header_t *rules; /**< all of the server's; those of this field count */
    /** the rules that match say all; else (values are copied) the value itself does */
    int by_rule;
} setenvif_field;

/** Declare the dependencies of r's environment (setenvif_depend.c). @return BRG_CACHE_* */
int setenvif_depends(request_rec *r);

/** What the rules say of a path. A brg_cache_name_fn. */
apr_int64_t setenvif_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                          const char *filename, const char *path_info, int is_file);

/** List the fields that the rules of a server look at, and number rules about the client, once its
 * configuration is read. */
void setenvif_list_fields(apr_pool_t *p, setenvif_conf *conf);

/** 1 if the rule looks at the client's address alone. */
static inline int setenvif_is_of_client(const setenvif_rule *rule)
{
    return rule->source == SETENVIF_REMOTE_ADDR || rule->source == SETENVIF_NETWORK;
}

/** Bit by bit, which of the rules of a server that look at the client match; @a data is a setenvif_conf. A
 * brg_cache_client_fn: -1 if it cannot be said. */
apr_int64_t setenvif_clients(const void *data, apr_sockaddr_t *client);

/**
 * The subject of a rule about the client, in @a room.
 * @return its length; -1: there is no table yet
 */
apr_ssize_t setenvif_client_text(const setenvif_rule *rule, apr_sockaddr_t *client,
                                 char room[BRG_CLIENT_NETWORK_ROOM]);

extern const command_rec setenvif_commands[];

#endif
