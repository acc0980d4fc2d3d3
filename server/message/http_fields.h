/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_FIELDS_H
#define BRIGADE_HTTP_HTTP_FIELDS_H

/**
 * @file http_fields.h
 * The grammar of fields that each version of HTTP has alike (RFC 9110). Nothing is copied; texts with a length need
 * no NUL behind them. Threads: any. Blocking: no.
 */
#include <stddef.h>
#include <stdint.h>

/**
 * The next element of a comma-separated list; empty ones are skipped.
 * @param p     [in,out] where to go on, moved behind the element
 * @param end   of the list
 * @param item, len  [out] the element without blanks around it
 * @return 0 at the end of the list. Source: RFC 9110, 5.6.1
 */
int http_list_next(const char **p, const char *end, const char **item, size_t *len);

/**
 * A Content-Length: digits and nothing else, below 2^63.
 * @return 0 and *out set, or -1. Source: RFC 9110, 8.6
 */
int http_parse_length(const char *value, size_t len, uint64_t *out);

/** 1 if @a p is a host, with or without a port from 1 to 65535: a Host field, or an authority. Source: RFC 9110, 7.2 */
int http_host_is_valid(const char *p, size_t len);

/** A field's name and value, measured and looked at in one walk: neither is read a second time. */
typedef struct http_measure {
    size_t name, value; /**< lengths */
    int name_is_safe, value_is_safe;
} http_measure;

/** @param name, value  end with NUL. The name may be empty: it is not safe */
void http_field_measure(const char *name, const char *value, http_measure *out);

/** 1 if @a name is a token and @a value has no control bytes: safe to send. Both end with NUL. */
int http_field_is_safe(const char *name, const char *value);
int http_name_is_safe(const char *name);
int http_value_is_safe(const char *value);

/** One of 64 places of a field name of one byte or more: names that differ in case alone have the same. */
static inline unsigned http_name_bit(const char *name, size_t len)
{
    return (unsigned)(len * 7 + (unsigned)(name[0] | 0x20) + 3 * (unsigned)(name[len - 1] | 0x20)) &
           63;
}

#endif
