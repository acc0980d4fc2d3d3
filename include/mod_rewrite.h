/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_REWRITE_H
#define MOD_REWRITE_H 1

/** @file mod_rewrite.h  Maps of one's own for RewriteMap "int:". */
#include "apr_optional.h"
#include "httpd.h"

#define REWRITE_REDIRECT_HANDLER_NAME "redirect-handler"

/**
 * A note of a request: names of the fields that conditions of its folder's rules looked at, joined by ", ", whether they held or not;
 * "*": an expression did. Conditions with the flag NV leave none.
 */
#define BRG_REWRITE_FIELDS_NOTE "rewrite-fields"

/** Value of a key in r->pool, NULL if not found. */
typedef char *(rewrite_mapfunc_t)(request_rec *r, char *key);
APR_DECLARE_OPTIONAL_FN(void, ap_register_rewrite_mapfunc, (char *name, rewrite_mapfunc_t *func));

#endif
