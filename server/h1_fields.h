/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_FIELDS_H
#define BRIGADE_H1_FIELDS_H

/**
 * @file h1_fields.h
 * The part of the head parser that knows what field lines mean (h1_fields.c), for h1_parse.c and
 * for trailers.
 */
#include "h1_parse.h"

/** head->why of a request that lacks Host. */
extern const char h1_why_no_host[];

/** Id of a field name of @a len bytes, H1_OTHER for one that the core does not look at. */
h1_field_id h1_field_id_of(const char *name, size_t len);

/**
 * Note field number @a index of head, just parsed: known[], repeated, and what Connection says.
 */
void h1_field_note(h1_head *head, uint16_t index);

/**
 * Judge the fields together, once all are there: Host, Content-Length, Transfer-Encoding. Sets
 * has_body, chunked, content_length.
 * @return 0, or the status to refuse with (head->why, head->bad set, status left to the caller)
 */
int h1_fields_judge(h1_head *head, int unsafe);

/**
 * Content-Length's grammar: digits and nothing else, below 2^63.
 * @return 0 and *out set, or -1
 */
int h1_parse_length(const char *value, size_t len, uint64_t *out);

#endif
