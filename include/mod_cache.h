/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_CACHE_H
#define MOD_CACHE_H

/** @file mod_cache.h  HTTP caches: providers of storage, and helpers for them. */
#include "httpd.h"
#include "apr_date.h"
#include "apr_optional.h"
#include "apr_hooks.h"
#include "cache_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How functions and data of mod_cache are declared. */
#define CACHE_DECLARE(type) AP_DECLARE(type)
#define CACHE_DECLARE_NONSTD(type) AP_DECLARE(type)
#define CACHE_DECLARE_DATA AP_DECLARE_DATA

typedef struct cache_info cache_info;
/** Of a stored response. */
struct cache_info {
    apr_time_t date;
    apr_time_t expire;
    apr_time_t request_time;
    apr_time_t response_time;
    int status;
    cache_control_t control;
};

typedef struct cache_object cache_object_t;
struct cache_object {
    const char *key;
    cache_object_t *next;
    cache_info info;
    void *vobj; /**< the provider's */
};

typedef struct cache_handle cache_handle_t;
/** An object in use by a request. */
struct cache_handle {
    cache_object_t *cache_obj;
    apr_table_t *req_hdrs;
    apr_table_t *resp_hdrs;
};

/** Group of the providers that keep responses. */
#define CACHE_PROVIDER_GROUP "cache"
/** Storage. The functions that return int: OK or DECLINED. */
typedef struct {
    int (*remove_entity)(cache_handle_t *h);
    apr_status_t (*store_headers)(cache_handle_t *h, request_rec *r, cache_info *i);
    apr_status_t (*store_body)(cache_handle_t *h, request_rec *r, apr_bucket_brigade *in,
                               apr_bucket_brigade *out);
    apr_status_t (*recall_headers)(cache_handle_t *h, request_rec *r);
    apr_status_t (*recall_body)(cache_handle_t *h, apr_pool_t *p, apr_bucket_brigade *bb);
    int (*create_entity)(cache_handle_t *h, request_rec *r, const char *urlkey, apr_off_t len,
                         apr_bucket_brigade *bb);
    int (*open_entity)(cache_handle_t *h, request_rec *r, const char *urlkey);
    int (*remove_url)(cache_handle_t *h, request_rec *r);
    apr_status_t (*commit_entity)(cache_handle_t *h, request_rec *r);
    apr_status_t (*invalidate_entity)(cache_handle_t *h, request_rec *r);
} cache_provider;

typedef enum {
    AP_CACHE_HIT,
    AP_CACHE_REVALIDATE,
    AP_CACHE_MISS,
    AP_CACHE_INVALIDATE
} ap_cache_status_e;
/* Environment variables that tell it. */
#define AP_CACHE_HIT_ENV "cache-hit"
#define AP_CACHE_REVALIDATE_ENV "cache-revalidate"
#define AP_CACHE_MISS_ENV "cache-miss"
#define AP_CACHE_INVALIDATE_ENV "cache-invalidate"
#define AP_CACHE_STATUS_ENV "cache-status"

CACHE_DECLARE(apr_time_t)
ap_cache_current_age(cache_info *info, const apr_time_t age_value, apr_time_t now);
/* Times as sixteen hexadecimal digits. */
CACHE_DECLARE(apr_time_t) ap_cache_hex2usec(const char *x);
CACHE_DECLARE(void) ap_cache_usec2hex(apr_time_t j, char *y);
/** A file name for a key, in so many levels of directories. */
CACHE_DECLARE(char *)
ap_cache_generate_name(apr_pool_t *p, int dirlevels, int dirlength, const char *name);
CACHE_DECLARE(const char *) ap_cache_tokstr(apr_pool_t *p, const char *list, const char **str);
/* Header fields except those that must not be stored. */
CACHE_DECLARE(apr_table_t *)
ap_cache_cacheable_headers(apr_pool_t *pool, apr_table_t *t, server_rec *s);
CACHE_DECLARE(apr_table_t *) ap_cache_cacheable_headers_in(request_rec *r);
CACHE_DECLARE(apr_table_t *) ap_cache_cacheable_headers_out(request_rec *r);
/** Parse; nonzero if anything was there. */
CACHE_DECLARE(int)
ap_cache_control(request_rec *r, cache_control_t *cc, const char *cc_header,
                 const char *pragma_header, apr_table_t *headers);

/** The cache's decision. Run all. */
APR_DECLARE_EXTERNAL_HOOK(cache, CACHE, int, cache_status,
                          (cache_handle_t *h, request_rec *r, apr_table_t *headers,
                           ap_cache_status_e status, const char *reason))
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_cache_generate_key,
                        (request_rec * r, apr_pool_t *p, const char **key));

#ifdef __cplusplus
}
#endif
#endif
