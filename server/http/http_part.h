/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_PART_H
#define BRIGADE_HTTP_HTTP_PART_H

/**
 * @file http_part.h
 * Parts of a representation, as a Range field asks for them, and as Content-Range and
 * multipart/byteranges tell them (RFC 9110 sections 14.2, 14.4 and 14.6): one reading for the byterange
 * filter and for stored responses. Threads: any. Blocking: no.
 *
 * Odd sets of ranges are treated as Apache does: a range that touches the one before it is merged with
 * that one, and a set that would send more than the whole, or goes beyond a limit, is ignored.
 */
#include "httpd.h"
#include <stddef.h>

/** Both ends count; 0 <= first <= last < length. */
typedef struct http_part {
    apr_off_t first, last;
    apr_off_t length; /**< of the whole */
} http_part;

#define HTTP_PART_ROOM 80 /**< the longest value of Content-Range, with the null byte */

/** MaxRanges, MaxRangeOverlaps, MaxRangeReversals; INT_MAX: no limit. */
typedef struct http_part_limits {
    int parts; /**< 0: Range is not looked at */
    int overlaps, reversals;
} http_part_limits;

/** The limits that are configured for @a r. */
void http_part_limits_of(http_part_limits *out, const request_rec *r);

typedef enum http_parts_verdict {
    HTTP_PARTS_WHOLE,   /**< the field counts for nothing: send the whole */
    HTTP_PARTS_SOME,    /**< send the parts */
    HTTP_PARTS_OUTSIDE, /**< none is within reach: 416 */
    HTTP_PARTS_NO_ROOM  /**< there are more parts than were to be read */
} http_parts_verdict;

/**
 * Read the value of a Range field.
 * @param length  of the whole
 * @param part [out] the parts, in the order in which they are sent
 * @param room  of @a part; at most so many parts as the value has commas and one more are needed
 * @param n [out] with HTTP_PARTS_SOME: how many there are, at least 1
 */
http_parts_verdict http_parts_read(const char *value, size_t len, apr_off_t length,
                                   const http_part_limits *limits, http_part *part, int room,
                                   int *n);

/** Write the value of Content-Range. @param out room for HTTP_PART_ROOM bytes @return its length */
size_t http_part_text(char *out, const http_part *part);

/** @name multipart/byteranges with ap_multipart_boundary */
/** @{ */
/** Room that the head of a part with this media type needs at most. NULL: none is told. */
size_t http_part_head_room(const char *type);
/** Write the head of a part. @return its length */
size_t http_part_head(char *out, const char *type, const http_part *part);
/** Room for, and the text of, the end behind the last part. @return its length */
size_t http_parts_end_room(void);
size_t http_parts_end(char *out);
/** Bytes of the whole multipart body. */
apr_off_t http_parts_length(const char *type, const http_part *part, int n);
/** @} */

#endif
