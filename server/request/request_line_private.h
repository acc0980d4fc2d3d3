/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_REQUEST_LINE_PRIVATE_H
#define BRIGADE_REQUEST_REQUEST_LINE_PRIVATE_H

/**
 * @file request_line_private.h
 * The request line, for the file that makes the request (request_create.c).
 */
#include "httpd.h"
#include "http_head.h"

/** Bytes that request_take_line_in() wants for the target of @a head. */
static inline size_t request_target_room(const http_head *head)
{
    return head->status || !head->uri ? 0 : 2 * ((size_t)head->uri_len + 1);
}

/** As request_take_line(). @param room  request_target_room() bytes that live as long as r->pool */
int request_take_line_in(request_rec *r, const http_head *head, char *room);

/**
 * As ap_parse_uri(), without the copy: sets unparsed_uri, parsed_uri, uri, args and, for an absolute
 * target, hostname.
 *
 * @param r    its method_number is set; r->status becomes HTTP_BAD_REQUEST if @a uri is not a URI
 * @param uri  lives as long as r->pool and is not changed any more
 */
void request_parse_uri(request_rec *r, char *uri);

#endif
