/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_COMPOSED_PRIVATE_H
#define BRIGADE_CACHED_CACHED_COMPOSED_PRIVATE_H

/** @file cached_composed_private.h  Pages with parts that are stored (cached_composed.c). */
#include "cached_private.h"

/** Parts of a page that the store answered, or has now (cached_composed.c). A part that is a page has a list of its own, too. */
struct cached_composed {
    apr_time_t until;  /**< the first of its parts ends */
    uint32_t asked;    /**< parts that were looked for */
    uint32_t kept;     /**< of these: stored, or found so */
    const char *names; /**< of fields by which parts vary, joined by ","; "": none */
    uint32_t marks_n;  /**< STORE_MARKS_MOST + 1: too many */
    uint64_t marks[STORE_MARKS_MOST + 1];
};

/** A part of a page, which is @a r's, is looked for. Threads: that of the page */
void cached_composed_ask(const request_rec *r);
/** It is served from @a q->found.view. */
void cached_composed_serve(const cached_request *q);
/** It is being stored: with that head; and was stored. */
void cached_composed_save(const cached_request *q, const store_head *head);
void cached_composed_saved(const cached_request *q);
/** Its answer varies by the fields of its parts, and of the rules that led to it. */
void cached_composed_vary(const cached_request *q);
/** NULL: the page of @a q may be stored as far as its parts are concerned; else why not */
const char *cached_composed_refused(const cached_request *q);
/** It lasts as long as the first of them, and ends with each: @a terms, and the marks of @a head, a new array. */
void cached_composed_apply(cached_request *q, fresh_terms *terms, store_head *head);
/** 1: since then a part was looked for, or access to one was decided by the user. The page that
 * comes now is not for others. */
int cached_composed_grew(const cached_request *q);

#endif
