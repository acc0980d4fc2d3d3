/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HEADERS_PRIVATE_H
#define BRIGADE_HEADERS_PRIVATE_H

/**
 * @file headers_private.h
 * Shared by the files of mod_headers: rules as compiled from Header and
 * RequestHeader, and their execution. Everything here is made when the configuration is read and
 * only read afterwards, by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "apr_tables.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA headers_module;

/** Which table a directive's rules act on. */
typedef enum headers_where {
    HEADERS_REQUEST, /**< r->headers_in */
    HEADERS_SUCCESS, /**< r->headers_out */
    HEADERS_ALWAYS   /**< r->err_headers_out */
} headers_where;

typedef enum headers_action {
    HEADERS_ADD,
    HEADERS_SET,
    HEADERS_APPEND,
    HEADERS_MERGE,
    HEADERS_UNSET,
    HEADERS_ECHO,
    HEADERS_EDIT,     /**< the first match */
    HEADERS_EDIT_ALL, /**< every match: edit* */
    HEADERS_SETIFEMPTY,
    HEADERS_NOTE
} headers_action;

/** Whom values are for. */
typedef struct headers_asker {
    apr_pool_t *pool;
    apr_time_t began; /**< r->request_time */
    request_rec *r;   /**< NULL: none was made; then headers_format_is_timed() */
} headers_asker;

/** The value of one %-tag; @a arg is the text in its braces. */
typedef const char *headers_tag_fn(const headers_asker *a, const char *arg);

typedef struct headers_piece {
    headers_tag_fn *tag; /**< NULL: @a text is literal */
    const char *text;
} headers_piece;

/** A compiled value. */
typedef struct headers_format {
    const char *literal;       /**< the whole value, when it has no tags */
    ap_expr_info_t *expr;      /**< expr=... */
    const char *expr_text;     /**< as written, for messages */
    apr_array_header_t *parts; /**< headers_piece, otherwise */
} headers_format;

typedef struct headers_rule {
    headers_action action;
    const char *name;     /**< header */
    headers_format value; /**< value, replacement (edit) or name of the note */
    ap_regex_t *regex;    /**< edit: pattern to replace; echo: pattern of names */
    const char *env;      /**< condition: this variable is set ... */
    ap_expr_info_t *expr; /**< ... or this holds; both NULL = always */
    const char *expr_text;
    brg_field_change change; /**< of a request: the rule's change of its field */
    unsigned env_negated : 1;
    unsigned early : 1;
    unsigned
        of_folder : 1; /**< it stands in an access file: it does not live as long as the configuration */
    unsigned content_type : 1; /**< name is Content-Type, which lives in r->content_type too */
} headers_rule;

typedef struct headers_conf {
    apr_array_header_t *rules[HEADERS_ALWAYS + 1]; /**< headers_rule; NULL = none */
    int varies; /**< the outcome of a rule for responses depends on more than URI, configuration, file and environment */
    int asks;   /**< a rule for responses has an expression */
    int varies_early; /**< the same of a rule that runs before the phases of a request */
} headers_conf;

/**
 * Compile @a text into @a out.
 * @return NULL, or its error
 */
const char *headers_format_parse(cmd_parms *cmd, const char *text, headers_format *out);

/**
 * The value for this request, in r->pool or in the configuration's. An expression that fails counts
 * as "" and is logged.
 */
const char *headers_format_run(request_rec *r, const headers_format *format);

/** The same for any asker. */
const char *headers_format_value(const headers_asker *a, const headers_format *format);

/** 1 if the value follows from the time and the load of the server alone. */
int headers_format_is_timed(const headers_format *format);

/** 1 if the value follows from the configuration, from variables whose setters declare their
 * dependencies, and from an expression, which is asked for each request. */
int headers_format_is_known(const headers_format *format);

/**
 * Run the rules of one stage on one table.
 * @param early  1: rules marked "early", 0: the others
 * @return 0 if a replacement failed and the request must end with a server error (logged), else 1
 */
int headers_apply(request_rec *r, apr_table_t *headers, const apr_array_header_t *rules, int early);

/** 1 if the rule is for @a r. A condition that fails is logged, and does not hold. */
int headers_condition_holds(request_rec *r, const headers_rule *rule);

/** 1 if @a value is one of the comma-separated elements of @a list. A comma in double quotes separates nothing. */
int headers_list_has(const char *list, const char *value);

/**
 * Replace the first match in a value, or all of them.
 * @param edited  [in,out] the value; it stays without a match. New ones are in @a p
 * @return 0: a replacement failed
 */
int headers_edit_value(apr_pool_t *p, const ap_regex_t *regex, int all, const char *template,
                       const char **edited);

/** Register what is told of rules for responses (brigade/head_edits.h). */
void headers_told_register(void);

/** 1 if all that the expressions of a rule look at is told for @a r. */
int headers_rule_is_told(request_rec *r, const headers_rule *rule);

/** The directives Header and RequestHeader. */
extern const command_rec headers_commands[];

#endif
