/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_REQUEST_H
#define MOD_REQUEST_H

/** @file mod_request.h  Keeping a request body for later readers. */
#include "apr.h"
#include "apr_buckets.h"
#include "apr_optional.h"
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The module that keeps bodies for later readers. */
extern module AP_MODULE_DECLARE_DATA request_module;

/** Names of its filters: one keeps a body, one gives it out. */
#define KEEP_BODY_FILTER "KEEP_BODY"
#define KEPT_BODY_FILTER "KEPT_BODY"

/** Its configuration: KeptBodySize. */
typedef struct {
    apr_off_t keep_body; /**< bytes */
    int keep_body_set;
} request_dir_conf;

/** Let sub-requests of @a r read the body that was kept. */
APR_DECLARE_OPTIONAL_FN(void, ap_request_insert_filter, (request_rec * r));
/** Let @a r read the client's bytes again. */
APR_DECLARE_OPTIONAL_FN(void, ap_request_remove_filter, (request_rec * r));

#ifdef __cplusplus
}
#endif
#endif
