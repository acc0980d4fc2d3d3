/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESH_RANGE_H
#define BRIGADE_FRESHNESS_FRESH_RANGE_H

/**
 * @file fresh_range.h
 * Parts of representations, as origins tell of them, and whether two belong together.
 *
 * Threads: any. Blocking: no. Source: RFC 9110, section 14.4; RFC 9111, section 3.4.
 */
#include "fresh_vary.h"

/** Bytes from first to last. */
typedef struct fresh_range {
    uint64_t first, last;
} fresh_range;

#define FRESH_LENGTH_UNKNOWN UINT64_MAX

/** Content-Range of a 206. @param total  [out] or FRESH_LENGTH_UNKNOWN. @return 0, or -1: a wrong form */
int fresh_content_range(const char *value, size_t len, fresh_range *range, uint64_t *total);

/** 1 if two partial responses are of one representation: the same strong validator. Section 3.4 */
int fresh_parts_combine(const fresh_head *a, const fresh_head *b);

#endif
