/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_COOKIES_H
#define UTIL_COOKIES_H

/** @file util_cookies.h  Cookies. The "2" functions are for RFC 2965. */
#include "apr_errno.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fields of cookies, old and of RFC 2965, and the attributes that set and remove one. */
#define SET_COOKIE "Set-Cookie"
#define SET_COOKIE2 "Set-Cookie2"
#define DEFAULT_ATTRS "HttpOnly;Secure;Version=1"
#define CLEAR_ATTRS "Version=1"

/** State of a search through Cookie fields. */
typedef struct {
    request_rec *r;
    const char *name;
    const char *encoded;
    apr_table_t *new_cookies;
    int duplicated;
} ap_cookie_do;

/* Set or clear one. After the fixed arguments: the tables to write to, then NULL. maxage in seconds. */
AP_DECLARE(apr_status_t)
ap_cookie_write(request_rec *r, const char *name, const char *val, const char *attrs, long maxage,
                ...) AP_FN_ATTR_SENTINEL;
/** The same by Set-Cookie2 of RFC 2965. */
AP_DECLARE(apr_status_t)
ap_cookie_write2(request_rec *r, const char *name2, const char *val, const char *attrs2, long maxage,
                 ...) AP_FN_ATTR_SENTINEL;
/** Have the client forget a cookie: no value, an age of 0. */
AP_DECLARE(apr_status_t)
ap_cookie_remove(request_rec *r, const char *name, const char *attrs, ...) AP_FN_ATTR_SENTINEL;
/** The same by Set-Cookie2. */
AP_DECLARE(apr_status_t)
ap_cookie_remove2(request_rec *r, const char *name2, const char *attrs2, ...) AP_FN_ATTR_SENTINEL;
/** *val NULL if the cookie is missing, or comes more than once. @a remove: take it from the
 * request. */
AP_DECLARE(apr_status_t)
ap_cookie_read(request_rec *r, const char *name, const char **val, int remove);
/** APR_EGENERAL if it cannot stand in a cookie. */
AP_DECLARE(apr_status_t) ap_cookie_check_string(const char *string);

#ifdef __cplusplus
}
#endif
#endif
