/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESH_RANGE_H
#define BRIGADE_FRESHNESS_FRESH_RANGE_H

/**
 * @file fresh_range.h
 * Ranges of stored responses: an answer from a whole one or from parts of one, and what to ask the origin for.
 *
 * Threads: any. Blocking: no. Source: RFC 9110, section 14; RFC 9111, sections 3.3 and 3.4.
 */
#include "fresh_vary.h"

#define FRESH_RANGES_MOST 32 /**< of a request; one with more is answered whole */

/** Bytes from first to last. */
typedef struct fresh_range {
    uint64_t first, last;
} fresh_range;

#define FRESH_LENGTH_UNKNOWN UINT64_MAX

/** Content-Range of a 206. @param total  [out] or FRESH_LENGTH_UNKNOWN. @return 0, or -1: a wrong form */
int fresh_content_range(const char *value, size_t len, fresh_range *range, uint64_t *total);

/** What a Range field asks for. */
typedef enum fresh_range_says {
    FRESH_RANGE_WHOLE, /**< another unit, a wrong form, or too many: the field is ignored */
    FRESH_RANGE_PARTS,
    FRESH_RANGE_NONE /**< 416: nothing of it is there */
} fresh_range_says;

/**
 * The ranges that Range asks for, of a representation of @a total bytes; those that overlap stay as they are asked.
 * @param out  FRESH_RANGES_MOST of them
 */
fresh_range_says fresh_ranges(const char *value, size_t len, uint64_t total, fresh_range *out,
                              uint32_t *n);

/** Parts that are stored of one representation, sorted and apart. */
typedef struct fresh_parts {
    uint64_t total; /**< or FRESH_LENGTH_UNKNOWN */
    uint32_t n;
    fresh_range part[FRESH_RANGES_MOST];
} fresh_parts;

/** Add a part. @return -1: too many parts, or another total: it is not added. Section 3.4 */
int fresh_parts_add(fresh_parts *parts, fresh_range range, uint64_t total);

/** 1 if all bytes are stored. */
int fresh_parts_whole(const fresh_parts *parts);

/** 1 if these bytes are stored. */
int fresh_parts_have(const fresh_parts *parts, fresh_range range);

/** The first gap: what is asked for to complete it. @return 0: there is none. The last is UINT64_MAX if the total is unknown */
int fresh_parts_gap(const fresh_parts *parts, fresh_range *gap);

/** 1 if two partial responses are of one representation: the same strong validator. Section 3.4 */
int fresh_parts_combine(const fresh_head *a, const fresh_head *b);

/** Text of Content-Range "bytes first-last/total" or, with @a range NULL, "bytes * /total". @return its length */
size_t fresh_content_range_text(char *room, size_t len, const fresh_range *range, uint64_t total);

#endif
