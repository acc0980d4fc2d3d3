/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_EXPR_H
#define AP_EXPR_H

/**
 * @file ap_expr.h
 * Expressions as in <If> and Require expr. Parse once, with the configuration; evaluate for each request.
 * A parsed expression is read-only: any number of threads may evaluate it.
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_regex.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A part of a parsed expression; its inside is the parser's. */
typedef struct ap_expr_node ap_expr_t;

/** A parsed expression and where it came from. */
typedef struct {
    ap_expr_t *root_node;
    const char *filename;
    unsigned int line_number;
    unsigned int flags; /**< AP_EXPR_FLAG_* */
    int module_index;   /**< whose log level applies */
} ap_expr_info_t;

#define AP_EXPR_FLAG_SSL_EXPR_COMPAT 1      /**< syntax of SSLRequire too */
#define AP_EXPR_FLAG_DONT_VARY 2            /**< add nothing to Vary */
#define AP_EXPR_FLAG_RESTRICTED 4           /**< nothing that reads files or runs programs */
#define AP_EXPR_FLAG_STRING_RESULT 8        /**< a string with %{...}, not a condition */
#define AP_EXPR_FLAG_RESTRICTED_FILE_FUNC 16 /**< no functions that read files */

/** > 0 true, 0 false, < 0 error: *err is its text. May block if the expression reads a file or a
 * name. */
AP_DECLARE(int) ap_expr_exec(request_rec *r, const ap_expr_info_t *expr, const char **err);
/** The same; groups of the last match stay in @a pmatch, its subject in *source. */
AP_DECLARE(int)
ap_expr_exec_re(request_rec *r, const ap_expr_info_t *expr, apr_size_t nmatch, ap_regmatch_t *pmatch,
                const char **source, const char **err);

/** State of one evaluation; fill in everything, then ap_expr_exec_ctx(). */
typedef struct {
    request_rec *r; /**< may be NULL, as c */
    conn_rec *c;
    server_rec *s;
    apr_pool_t *p;
    const char **err;
    const ap_expr_info_t *info;
    ap_regmatch_t *re_pmatch;
    apr_size_t re_nmatch;
    const char **re_source;
    const char **vary_this;     /**< NULL: do not collect */
    const char **result_string; /**< for AP_EXPR_FLAG_STRING_RESULT */
    void *data;                 /**< for lookup functions */
    int reclvl;                 /**< 0 at the start */
} ap_expr_eval_ctx_t;
/** Evaluate with a state of the caller's. > 0 true (or a string was made), 0 false, < 0 error. */
AP_DECLARE(int) ap_expr_exec_ctx(ap_expr_eval_ctx_t *ctx);

/* For string expressions. NULL with *err set on error. */
AP_DECLARE(const char *)
ap_expr_str_exec(request_rec *r, const ap_expr_info_t *expr, const char **err);
/** The same, with captures as ap_expr_exec_re() has them. */
AP_DECLARE(const char *)
ap_expr_str_exec_re(request_rec *r, const ap_expr_info_t *expr, apr_size_t nmatch,
                    ap_regmatch_t *pmatch, const char **source, const char **err);

/* ---- Offering operators, functions and variables ------------------------------------------------------- */

/** An operator such as -f. @a data: as the lookup gave it. 0 or 1. */
typedef int ap_expr_op_unary_t(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg);
/** An operator between two words. 0 or 1. */
typedef int ap_expr_op_binary_t(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg1,
                                const char *arg2);
typedef const char *(ap_expr_string_func_t)(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg);
typedef apr_array_header_t *(ap_expr_list_func_t)(ap_expr_eval_ctx_t *ctx, const void *data,
                                                  const char *arg);
typedef const char *(ap_expr_var_func_t)(ap_expr_eval_ctx_t *ctx, const void *data);

/** The parser's question for the provider of a name. */
typedef struct {
    int type;
#define AP_EXPR_FUNC_VAR 0
#define AP_EXPR_FUNC_STRING 1
#define AP_EXPR_FUNC_LIST 2
#define AP_EXPR_FUNC_OP_UNARY 3
#define AP_EXPR_FUNC_OP_BINARY 4
    const char *name;
    int flags;
    apr_pool_t *pool;
    apr_pool_t *ptemp;
    const void **func; /**< the answer, as the next */
    const void **data;
    const char **err;
    const char *arg; /**< the argument, if it is known already */
} ap_expr_lookup_parms;

/** OK with *func set, DECLINED, or anything else with *err set. */
typedef int(ap_expr_lookup_fn_t)(ap_expr_lookup_parms *parms);
/** Runs the hook below. */
AP_DECLARE_NONSTD(int) ap_expr_lookup_default(ap_expr_lookup_parms *parms);
/** Find the provider of a name. First that does not decline. */
AP_DECLARE_HOOK(int, expr_lookup, (ap_expr_lookup_parms *parms))

/* ---- Parsing ------------------------------------------------------------------------------------------- */

/** Fill @a info, whose flags are set. NULL or a message. lookup_fn NULL: the default. */
AP_DECLARE(const char *)
ap_expr_parse(apr_pool_t *pool, apr_pool_t *ptemp, ap_expr_info_t *info, const char *expr,
              ap_expr_lookup_fn_t *lookup_fn);
/** For a directive. NULL with *err set on error. */
AP_DECLARE(ap_expr_info_t *)
ap_expr_parse_cmd_mi(const cmd_parms *cmd, const char *expr, unsigned int flags, const char **err,
                     ap_expr_lookup_fn_t *lookup_fn, int module_index);
/** The same for the module of this file. */
#define ap_expr_parse_cmd(cmd, expr, flags, err, lookup_fn) \
    ap_expr_parse_cmd_mi(cmd, expr, flags, err, lookup_fn, APLOG_MODULE_INDEX)

/** Called by the core before the configuration is read. */
AP_DECLARE(void) ap_expr_init(apr_pool_t *pool);

#ifdef __cplusplus
}
#endif
#endif
