/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_EXPR_EXPR_DEPENDS_H
#define BRIGADE_EXPR_EXPR_DEPENDS_H

#include "ap_expr.h"

/** Does the value of an expression depend on more than the URI, the configuration and the names of
 * files?
 *  @return 0 if certainly not, so that a response may be stored with them; else 1. */
int expr_depends(const ap_expr_info_t *info);

/** Does it depend on the head of the request alone, on its method and its fields? Then a request_rec with pool, log, method and
 * headers_in is all that its evaluation looks at.
 *  @return 1 if certainly so, else 0 */
int expr_is_of_head(const ap_expr_info_t *info);

#endif
