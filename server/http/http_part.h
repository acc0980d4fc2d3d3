/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_PART_H
#define BRIGADE_HTTP_HTTP_PART_H

/**
 * @file http_part.h
 * One part of a representation, as a Range field asks for it and Content-Range tells it (RFC 9110
 * sections 14.2 and 14.4): what stored answers need of them. The byterange filter reads every other
 * form. Threads: any. Blocking: no.
 */
#include "apr.h"
#include <stddef.h>

/** Both ends count; 0 <= first <= last < length. */
typedef struct http_part {
    apr_off_t first, last;
    apr_off_t length; /**< of the whole */
} http_part;

#define HTTP_PART_ROOM 80 /**< the longest value of Content-Range, with the null byte */

/**
 * Read the value of a Range field.
 * @param length  of the whole
 * @return 1: it asks for one part, which can be sent; 0: for anything else (several parts, none within
 * reach, another unit, malformed), and @a out is not to be used
 */
int http_part_parse(http_part *out, const char *value, size_t len, apr_off_t length);

/** Write the value of Content-Range. @param out room for HTTP_PART_ROOM bytes @return its length */
size_t http_part_text(char *out, const http_part *part);

#endif
