/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESH_FIELDS_H
#define BRIGADE_FRESHNESS_FRESH_FIELDS_H

/**
 * @file fresh_fields.h
 * The fields that a cache reads: Cache-Control, targeted ones, dates, Age, entity tags.
 *
 * Nothing is copied. Threads: any. Blocking: no.
 */
#include "http_head.h"
#include "apr_time.h"

#define FRESH_SPAN_MOST 2147483648u /**< delta-seconds: all that is more. RFC 9111, 1.2.2 */

#define FRESH_CC_NO_CACHE 0x1u /**< without field names */
#define FRESH_CC_NO_STORE 0x2u
#define FRESH_CC_NO_TRANSFORM 0x4u
#define FRESH_CC_PRIVATE 0x8u /**< without field names */
#define FRESH_CC_PUBLIC 0x10u
#define FRESH_CC_MUST_REVALIDATE 0x20u
#define FRESH_CC_PROXY_REVALIDATE 0x40u
#define FRESH_CC_MUST_UNDERSTAND 0x80u
#define FRESH_CC_IMMUTABLE 0x100u
#define FRESH_CC_ONLY_IF_CACHED 0x200u
#define FRESH_CC_MAX_AGE 0x400u
#define FRESH_CC_S_MAXAGE 0x800u
#define FRESH_CC_MAX_STALE 0x1000u /**< the value is FRESH_SPAN_MOST where none is given */
#define FRESH_CC_MIN_FRESH 0x2000u
#define FRESH_CC_SWR 0x4000u
#define FRESH_CC_SIE 0x8000u
#define FRESH_CC_NO_CACHE_FIELDS 0x10000u /**< no-cache="..." */
#define FRESH_CC_PRIVATE_FIELDS 0x20000u  /**< private="..." */
#define FRESH_CC_WRONG 0x40000u           /**< some max-age or s-maxage has a wrong form */
#define FRESH_CC_PRESENT 0x80000u         /**< the field was there */

/** Directives, of all lines of a field. Of a directive that comes twice with a value the smaller one counts. */
typedef struct fresh_cc {
    uint32_t has;                                               /**< FRESH_CC_* */
    uint32_t max_age, s_maxage, max_stale, min_fresh, swr, sie; /**< seconds, if has says so */
} fresh_cc;

/** Add a line of Cache-Control. RFC 9111, 5.2. @param cc  zero before the first */
void fresh_cc_add(fresh_cc *cc, const char *value, size_t len);

/**
 * Read a targeted field, its lines joined. RFC 9213, 2.1: a structured dictionary.
 * @return 1; 0: no such dictionary, or an empty one: the field is ignored
 */
int fresh_cc_targeted(fresh_cc *cc, const char *value, size_t len);

/** The next directive of a line. @param arg  its argument without quotes, or NULL */
int fresh_cc_next(const char **p, const char *end, const char **name, size_t *name_len,
                  const char **arg, size_t *arg_len, int *quoted);

/** Digits and nothing else. @return 0, or -1; more than FRESH_SPAN_MOST is that. RFC 9111, 1.2.2 */
int fresh_span(const char *value, size_t len, uint32_t *seconds);

/** Age of a line: the first element counts. @return 0, or -1: ignore it. RFC 9111, 5.1 */
int fresh_age_parse(const char *value, size_t len, uint32_t *seconds);

/**
 * An HTTP-date in each of its three forms, in any case; years of two digits as RFC 9110 has them.
 * @param now  0: two digits are a year from 1970 to 2069
 * @return 0: another form. RFC 9110, 5.6.7
 */
apr_time_t fresh_date(const char *value, size_t len, apr_time_t now);

/** An entity tag. */
typedef struct fresh_etag {
    const char *opaque; /**< without quotes */
    uint32_t len;
    uint8_t weak, quoted; /**< quoted 0: the origin left the quotes away */
} fresh_etag;

/** The next tag of a list; "*" is a tag of one byte without quotes. @return 0 at the end. RFC 9110, 8.8.3, 13.1.2 */
int fresh_etag_next(const char **p, const char *end, fresh_etag *tag);

/** 1 if both name one representation. @param strong  weak ones never do. RFC 9110, 8.8.3.2 */
int fresh_etag_same(const fresh_etag *a, const fresh_etag *b, int strong);

/** 1 if two names are the same in any case. */
int fresh_name_is(const char *name, size_t len, const char *lower, size_t lower_len);

#endif
