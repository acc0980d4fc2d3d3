/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_PARSE_H
#define BRIGADE_H1_H1_PARSE_H

/**
 * @file h1_parse.h
 * HTTP/1 heads of requests and responses, parsed in place: nothing is copied or allocated, every
 * pointer in the result points into the caller's buffer. Knows the grammar of RFC 9110 and RFC 9112
 * and the configured limits; knows no policy (virtual hosts, files, methods that a handler takes)
 * and no role: the server reads requests by it, a client responses.
 */
#include "http_head.h"

typedef struct h1_limits {
    uint32_t line;       /**< LimitRequestLine, bytes without the line end */
    uint32_t field_size; /**< LimitRequestFieldSize, bytes of one field line */
    uint32_t fields;     /**< LimitRequestFields; 0 = no limit but HTTP_HEAD_MAX_FIELDS */
    /** for more than HTTP_HEAD_OWN_FIELDS: HTTP_HEAD_MAX_FIELDS of them, the calling thread's; NULL
     * = no more than a head has itself */
    http_field *room;
    uint8_t unsafe;      /**< HttpProtocolOptions Unsafe */
    uint8_t allow_09;    /**< HttpProtocolOptions Allow0.9 */
    /** the line was made from another protocol's request, such as HTTP/2's; of a response: it may name that
     * ("HTTP/2.0", "HTTP/2"), as uwsgi has it */
    uint8_t any_major;
} h1_limits;

typedef enum h1_result {
    H1_MORE, /**< the head is not complete, no limit is passed: read more and call again */
    H1_DONE, /**< complete and well-formed */
    /** refuse with head->status and close: where the next request would start is not known */
    H1_BAD
} h1_result;

/**
 * Parse the request head at the start of @a buf.
 *
 * @param head      [out]    all but field[n_fields..] is set, also for H1_BAD (as far as the parse
 * came)
 * @param buf       [in]     bytes received; not modified; need not be NUL-terminated
 * @param len       [in]     how many
 * @param scanned   [in,out] 0 for a new request, else as the last call for this head left it: the
 * bytes that were searched, so that a head that arrives byte by byte costs linear time
 *
 * Folded lines, NUL, CR outside of a line end, a blank before a field's colon and two ways to tell
 * the length of a body are refused in every mode; "Unsafe" accepts only heads that cannot be read
 * in two ways.
 *
 * Threads: any. Blocking: no. Source: RFC 9112 sections 2 to 5.
 */
h1_result h1_parse(http_head *head, const char *buf, size_t len, size_t *scanned,
                   const h1_limits *limits);

/** As h1_parse, for a buffer that holds a request line and its line end only: fields are not looked
 * for. */
h1_result h1_parse_request_line(http_head *head, const char *buf, size_t len,
                                const h1_limits *limits);

/**
 * Parse a lone field line without its line end.
 * @return NULL, or why it is refused
 */
const char *h1_parse_field(http_field *field, const char *line, size_t len, const h1_limits *limits);

/** Set limits->room for the calling thread if limits->fields asks for it (h1_fields_room.c). */
void h1_fields_room(h1_limits *limits);

#endif
