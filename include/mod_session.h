/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_SESSION_H
#define MOD_SESSION_H

/** @file mod_session.h  Sessions: names and values that follow a user from request to request. */
#include "apr_hooks.h"
#include "apr_optional.h"
#include "apr_tables.h"
#include "apr_uuid.h"
#include "apr_pools.h"
#include "apr_time.h"
#include "httpd.h"
#include "http_config.h"
#include "ap_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How functions and data of mod_session are declared. */
#define SESSION_DECLARE(type) AP_DECLARE(type)
#define SESSION_DECLARE_NONSTD(type) AP_DECLARE(type)
#define SESSION_DECLARE_DATA AP_DECLARE_DATA

/** The note of a request in which its session is. */
#define MOD_SESSION_NOTES_KEY "mod_session_key"
/* Names under which a login is kept. */
#define MOD_SESSION_USER "user"
#define MOD_SESSION_PW "pw"

typedef struct {
    apr_pool_t *pool;
    apr_uuid_t *uuid;
    const char *remote_user;
    apr_table_t *entries;
    const char *encoded;
    apr_time_t expiry;
    long maxage; /**< seconds, 0: for ever */
    int dirty;
    int cached;
    int written;
} session_rec;

typedef struct {
    int enabled;
    int enabled_set;
    long maxage;
    int maxage_set;
    const char *header;
    int header_set;
    int env;
    int env_set;
    apr_array_header_t *includes;
    apr_array_header_t *excludes;
    apr_time_t expiry_update_time;
    int expiry_update_set;
} session_dir_conf;

/* For modules that store (load, save: first that does not decline) or encode (all, decode in reverse). */
APR_DECLARE_EXTERNAL_HOOK(ap, SESSION, apr_status_t, session_load, (request_rec * r, session_rec **z))
APR_DECLARE_EXTERNAL_HOOK(ap, SESSION, apr_status_t, session_save, (request_rec * r, session_rec *z))
APR_DECLARE_EXTERNAL_HOOK(ap, SESSION, apr_status_t, session_encode,
                          (request_rec * r, session_rec *z))
APR_DECLARE_EXTERNAL_HOOK(ap, SESSION, apr_status_t, session_decode,
                          (request_rec * r, session_rec *z))

/* For modules that use one; @a z NULL: the request's. */
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_session_get,
                        (request_rec * r, session_rec *z, const char *key, const char **value));
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_session_set,
                        (request_rec * r, session_rec *z, const char *key, const char *value));
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_session_load, (request_rec *, session_rec **));
APR_DECLARE_OPTIONAL_FN(apr_status_t, ap_session_save, (request_rec *, session_rec *));

extern module AP_MODULE_DECLARE_DATA session_module;

#ifdef __cplusplus
}
#endif
#endif
