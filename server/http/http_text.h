/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_TEXT_H
#define BRIGADE_HTTP_HTTP_TEXT_H

/** @file http_text.h
 * Dates and numbers as heads have them. Threads: any. */
#include "apr.h"
#include "apr_time.h"
#include <stddef.h>

#define HTTP_DATE_LEN 29 /**< "Sun, 06 Nov 1994 08:49:37 GMT" */

/**
 * The Date value for @a now, formatted once a second per thread.
 * @return HTTP_DATE_LEN bytes, NUL-terminated, valid until the calling thread's next call
 */
const char *http_date_now(apr_time_t now);

/** @a when as heads have it, HTTP_DATE_LEN bytes and a NUL, as apr_rfc822_date() writes it. */
void http_put_date(char *to, apr_time_t when);

/** Decimal digits of n into buf (at least 20 bytes), not terminated. @return how many */
size_t http_put_number(char *buf, apr_uint64_t n);

#endif
