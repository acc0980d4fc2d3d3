/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESH_SEARCH_H
#define BRIGADE_FRESHNESS_FRESH_SEARCH_H

/**
 * @file fresh_search.h
 * No-Vary-Search: parts of a query that have no say in a response. Source: draft-ietf-httpbis-no-vary-search, sections 2 to 4.
 *
 * Threads: any. Blocking: no.
 */
#include <stddef.h>

/** The content of a value. Texts lead into it. */
typedef struct fresh_search {
    int key_order; /**< the order of parameters has none */
    int all; /**< no parameter counts, except listed ones; else: listed ones do not count */
    const char *names; /**< strings of an inner list, as they are written */
    size_t names_len;
} fresh_search;

/** @return 1; 0: it is not valid, or says nothing: all of the query counts */
int fresh_search_read(fresh_search *to, const char *value, size_t len);

/** 1: the parameter counts. @param name  as it stands in the query, in front of "=" */
int fresh_search_counts(const fresh_search *search, const char *name, size_t len);

#endif
