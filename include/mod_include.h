/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _MOD_INCLUDE_H
#define _MOD_INCLUDE_H 1

/** @file mod_include.h  Adding elements to server-parsed pages. */
#include "apr_pools.h"
#include "apr_optional.h"
#include "apr_strings.h"
#include "httpd.h"
#include "util_filter.h"

/* dodecode of ap_ssi_get_tag_and_value. */
#define SSI_VALUE_DECODED 1
#define SSI_VALUE_RAW 0

/* leave_name of ap_ssi_parse_string: treatment of an unknown variable. */
#define SSI_EXPAND_LEAVE_NAME 1
#define SSI_EXPAND_DROP_NAME 0

/** Put the page's error message into the output. */
#define SSI_CREATE_ERROR_BUCKET(ctx, f, bb) \
    APR_BRIGADE_INSERT_TAIL((bb), apr_bucket_pool_create(apr_pstrdup((ctx)->pool, (ctx)->error_str), \
                                                         strlen((ctx)->error_str), (ctx)->pool, \
                                                         (f)->c->bucket_alloc))

/* include_ctx_t.flags, and masks that clear some. */
#define SSI_FLAG_PRINTING (1 << 0) /**< not in a branch that is skipped */
#define SSI_FLAG_COND_TRUE (1 << 1) /**< a branch was taken */
#define SSI_FLAG_SIZE_IN_BYTES (1 << 2)
#define SSI_FLAG_NO_EXEC (1 << 3)
#define SSI_FLAG_COND_ERROR (1 << 4)
#define SSI_FLAG_SIZE_ABBREV (~(SSI_FLAG_SIZE_IN_BYTES))
#define SSI_FLAG_CLEAR_PRINT_COND (~((SSI_FLAG_PRINTING) | (SSI_FLAG_COND_TRUE)))
#define SSI_FLAG_CLEAR_PRINTING (~(SSI_FLAG_PRINTING))

/** State of a page while it is parsed. */
typedef struct {
    apr_pool_t *pool;
    apr_pool_t *dpool; /**< for one element */
    int flags;
    int if_nesting_level; /**< of skipped conditions */
    int flush_now;
    unsigned argc; /**< attributes of the element */
    const char *error_str;
    const char *time_str;
    request_rec *r;
    struct ssi_internal_ctx *intern;
} include_ctx_t;

/** An element's function: append to the brigade. */
typedef apr_status_t(include_handler_fn_t)(include_ctx_t *, ap_filter_t *, apr_bucket_brigade *);

/** Next attribute; *tag NULL: no more. */
APR_DECLARE_OPTIONAL_FN(void, ap_ssi_get_tag_and_value,
                        (include_ctx_t * ctx, char **tag, char **tag_val, int dodecode));
/** Replace variables. To @a out of @a length bytes, or a new string if that is NULL. */
APR_DECLARE_OPTIONAL_FN(char *, ap_ssi_parse_string,
                        (include_ctx_t * ctx, const char *in, char *out, apr_size_t length,
                         int leave_name));
APR_DECLARE_OPTIONAL_FN(void, ap_register_include_handler, (char *tag, include_handler_fn_t *func));

#endif
