/* SPDX-License-Identifier: Apache-2.0 */
#ifndef USERTRACK_PRIVATE_H
#define USERTRACK_PRIVATE_H

/** @file usertrack_private.h  Text that mod_usertrack reads. */
#include "httpd.h"

/** The value of a cookie in a Cookie field (may be NULL), in @a p; NULL: it is not there, or empty.
 */
const char *track_find(apr_pool_t *p, const char *field, const char *name);

/** 1 if track_find() would find it in @a field of @a len bytes. */
int track_has(const char *field, apr_size_t len, const char *name);

/** CookieExpires in words: "plus 1 year 2 weeks". @param seconds [out] 0 or more, at most
 * TRACK_LONGEST. @return NULL, or the error */
const char *track_period(apr_pool_t *p, const char *arg, apr_int64_t *seconds);

#define TRACK_LONGEST (APR_INT64_C(1) << 40)

#endif
