/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_EXPR_EXPR_DEPENDS_H
#define BRIGADE_EXPR_EXPR_DEPENDS_H

#include "ap_expr.h"

/** Does the value of an expression depend on more than the URI, the configuration and the names of
 * files?
 *  @return 0 if certainly not, so that a response may be stored with them; else 1. */
int expr_depends(const ap_expr_info_t *info);

/**
 * Name all that the value of an expression for @a r depends on, by brg_cache_vary() and its siblings. Call it where it is
 * evaluated; as brg_cache_depends_on_expression(), which marks r if that cannot be.
 * @return 0; 1: it depends on more */
int expr_name_all(request_rec *r, const ap_expr_info_t *info);

/** Does it depend on the head of the request alone, on its method and its fields? Then expr_subject.h can do without a
 * request_rec.
 *  @return 1 if certainly so, else 0 */
int expr_is_of_head(const ap_expr_info_t *info);

/** 1: its value is the same for each request. */
int expr_is_constant(const ap_expr_info_t *info);

#endif
