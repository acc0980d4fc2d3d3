/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_EXPR_EXPR_SUBJECT_H
#define BRIGADE_EXPR_EXPR_SUBJECT_H

/**
 * @file expr_subject.h
 * Expressions over heads, where there is no request_rec: limits before stored answers, health checks. Variables that need
 * more than the heads have no value then, as have functions of modules (ap_expr_eval_ctx_t.r and .c are NULL).
 */
#include "http_head.h"
#include "httpd.h"
#include "ap_expr.h"

typedef struct expr_subject {
    const http_head *asked;    /**< of the request; NULL: a GET without fields */
    const http_head *answered; /**< of the answer; NULL: before it */
    server_rec *server;        /**< whose log has errors; NULL: nobody is told */
    apr_pool_t *pool;          /**< of values */
    const void *own;           /**< for functions of the evaluator */
} expr_subject;

/** @return 1, 0; below 0: *err tells. Threads: any. Blocking: where a function of it blocks. */
int expr_subject_exec(const expr_subject *subject, const ap_expr_info_t *info, const char **err);

/** The value of a string expression in the subject's pool; NULL: *err tells. */
const char *expr_subject_str(const expr_subject *subject, const ap_expr_info_t *info,
                             const char **err);

/** The subject of the evaluation; NULL: a request_rec, or nothing. For functions of expressions. */
const expr_subject *expr_subject_of(const ap_expr_eval_ctx_t *ctx);

/** A field of a head, several lines of which are one value; NULL: not in it. Memory: @a p */
const char *expr_head_field(apr_pool_t *p, const http_head *head, const char *name);

#endif
