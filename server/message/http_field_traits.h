/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_FIELD_TRAITS_H
#define BRIGADE_HTTP_HTTP_FIELD_TRAITS_H

/**
 * @file http_field_traits.h
 * The properties of the fields that servers, clients and caches treat apart, in one table (http_field_traits.c).
 * Threads: any. Blocking: no.
 */
#include <stddef.h>

/** A set of these. A field without any goes everywhere as it is. */
typedef enum http_field_trait {
    HTTP_FIELD_OF_CONNECTION = 1 << 0, /**< HTTP/1 alone has it. Source: RFC 9113, 8.2.2 */
    HTTP_FIELD_HOP_BY_HOP = 1 << 1,    /**< ends at the next recipient. Source: RFC 9110, 7.6.1 */
    HTTP_FIELD_NOT_STORED = 1 << 2,    /**< no cache stores it. Source: RFC 9111, 3.1 */
    HTTP_FIELD_KEPT_BY_304 =
        1 << 3, /**< a 304 does not replace the stored one. Source: RFC 9111, 3.2 */
    HTTP_FIELD_NOT_IN_304 = 1 << 4, /**< a 304 does not repeat it. Source: RFC 9110, 15.4.5 */
    HTTP_FIELD_OF_BODY = 1 << 5,    /**< describes the body of a request; a sub-request has none */
    HTTP_FIELD_URL = 1 << 6,        /**< its value is a URL that ProxyPassReverse maps */
    HTTP_FIELD_COOKIE = 1 << 7,     /**< its value is a cookie that ProxyPassReverseCookie* maps */
} http_field_trait;

/**
 * @param name  a token of @a len bytes, one or more, in any case
 * @return a set of http_field_trait, 0 for most names
 */
unsigned http_field_traits_of(const char *name, size_t len);

#endif
