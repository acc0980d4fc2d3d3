/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_SAVE_PRIVATE_H
#define BRIGADE_CACHED_CACHED_SAVE_PRIVATE_H

/** @file cached_save_private.h  Storing: the filter (cached_save.c), the head (cached_save_head.c), 304 and errors (cached_validated.c), unsafe requests (cached_invalidate.c). */
#include "cached_private.h"

extern ap_filter_rec_t *cached_save_filter, *cached_place_filter, *cached_invalidate_filter,
    *cached_drop_filter;
extern ap_filter_rec_t *cached_part_filter; /**< cached_save_filter of a part of a page */

/** The handler's answer comes to q. */
void cached_add_save(cached_request *q, request_rec *r);
apr_status_t cached_save(ap_filter_t *f, apr_bucket_brigade *in);
apr_status_t cached_invalidate(ap_filter_t *f, apr_bucket_brigade *in);
/** 1: this response is not stored, but the next one to the same target may be. */
int cached_is_of_request(const request_rec *r, fresh_why why);
/** The client has its answer, see cached_request.answered: r says so again. */
void cached_restore_answer(const cached_request *q);
/** A 304 came to a request with validators of the stored object. @return 1: the client was answered
 */
int cached_validated(cached_request *q, ap_filter_t *f, apr_status_t *rv);
/** An error came: is the stored object sent in place of it? */
int cached_stale_on_error(cached_request *q, int code);
/** The head of q's stored object, with the marks of @a fields. */
void cached_head_fill(cached_request *q, store_head *head, const fresh_terms *terms,
                      const char *bytes, uint32_t len, const fresh_head *fields);
/** Store what lies under a key in place of an answer: the names that tell variants apart, or a rule. @return 1: it is stored */
int cached_save_rule(const cached_request *q, const store_head *head);
/** Send the stored answer in place of an error. */
apr_status_t cached_send_stale(cached_request *q, ap_filter_t *f, int code);
/** Fields of the response as they would be sent. */
uint32_t cached_response_fields(request_rec *r, http_field **field);
/** Where the response has Vary: @a head is for the variant of this request, which q leads from now on. @return 0: it cannot be stored */
int cached_save_variant(cached_request *q, const fresh_response *response, store_head *head);

/* ---- tags (cached_tags.c) ---- */

#define CACHED_MARKS (STORE_MARKS_MOST + 1) /**< one more is too many */

/** Marks of the tags and groups of a response, each once. @param mark  room for CACHED_MARKS. @return how many */
uint32_t cached_marks(const cached_request *q, const fresh_head *fields, uint64_t *mark);
/** q->save.tags of these fields. */
void cached_tags(cached_request *q, const fresh_head *fields);
/** Purge the groups that Cache-Group-Invalidation of an unsafe request's response names. @param
 * value  NULL: no such field */
void cached_groups_end(cached_request *q, const char *value);

#endif
