/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_FIELD_TRAITS_H
#define BRIGADE_HTTP_HTTP_FIELD_TRAITS_H

/**
 * @file http_field_traits.h
 * The properties of the fields that servers, clients and caches treat apart, in one table (http_field_traits.c).
 * Threads: any. Blocking: no.
 */
#include <stddef.h>
#include <stdint.h>

/** A set of these. A field without any goes everywhere as it is. */
typedef enum http_field_trait {
    HTTP_FIELD_OF_CONNECTION = 1 << 0, /**< HTTP/1 alone has it. Source: RFC 9113, 8.2.2 */
    HTTP_FIELD_HOP_BY_HOP = 1 << 1,    /**< ends at the next recipient. Source: RFC 9110, 7.6.1 */
    HTTP_FIELD_NOT_STORED = 1 << 2,    /**< no cache stores it. Source: RFC 9111, 3.1 */
    HTTP_FIELD_KEPT_BY_304 =
        1 << 3, /**< a 304 does not replace the stored one. Source: RFC 9111, 3.2 */
    HTTP_FIELD_OF_BODY = 1 << 5, /**< describes the body of a request; a sub-request has none */
    HTTP_FIELD_URL = 1 << 6,     /**< its value is a URL that ProxyPassReverse maps */
    HTTP_FIELD_COOKIE = 1 << 7,  /**< its value is a cookie that ProxyPassReverseCookie* maps */
} http_field_trait;

#define HTTP_FIELD_TRAITS_LONGEST 25

/** By length of a name: the traits that names of it have. */
extern const uint16_t http_field_traits_by_len[HTTP_FIELD_TRAITS_LONGEST + 1];

/** As http_field_traits_of(), of a length that some name has. */
unsigned http_field_traits_look_up(const char *name, size_t len);

/**
 * @param name    a token of @a len bytes, one or more, in any case
 * @param wanted  a set of http_field_trait: most names are told by their length to have none of them
 * @return those of @a wanted that the field has
 */
static inline unsigned http_field_traits_of(const char *name, size_t len, unsigned wanted)
{
    return len <= HTTP_FIELD_TRAITS_LONGEST && http_field_traits_by_len[len] & wanted
               ? http_field_traits_look_up(name, len) & wanted
               : 0;
}

#endif
