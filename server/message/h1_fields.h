/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_FIELDS_H
#define BRIGADE_H1_H1_FIELDS_H

/**
 * @file h1_fields.h
 * The half of the head parser that knows the meaning of field lines
 * (h1_fields.c), for h1_parse.c and for trailers.
 */
#include "h1_parse.h"
#include "brigade/assert.h"

/** Text of the client's page about a field that LimitRequestFieldSize refuses. */
extern const char h1_note_field_size[];

/** The tokens of a Connection field: close, keep_alive, upgrade. */
void h1_note_connection(http_head *head, const http_field *field);

/**
 * Note field number @a index of head, just parsed: known[], repeated, and the tokens of Connection.
 */
static inline void h1_field_note(http_head *head, uint16_t index)
{
    const http_field *field = &head->field[index];

    BRG_ASSERT(field->id < HTTP_FIELD_IDS);
    if (field->id == HTTP_F_OTHER)
        return;
    if (head->known[field->id] >= 0)
        head->repeated = 1;
    else
        head->known[field->id] = (int16_t)index;
    if (field->id == HTTP_F_CONNECTION)
        h1_note_connection(head, field);
}

/**
 * Judge the fields together, once all are there: their joined size, Host, Content-Length, Transfer-Encoding. Sets
 * has_body, chunked, content_length.
 * @return 0, or the status to refuse with (head->why, head->bad set, status left to the caller)
 */
int h1_fields_judge(http_head *head, const h1_limits *limits);

#endif
