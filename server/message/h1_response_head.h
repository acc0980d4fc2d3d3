/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MESSAGE_H1_RESPONSE_HEAD_H
#define BRIGADE_MESSAGE_H1_RESPONSE_HEAD_H

/**
 * @file h1_response_head.h
 * Heads of HTTP/1 responses, parsed in place as h1_parse.h does those of requests, with the same fields.
 *
 * Framing is judged as strictly as that of a request: a response that could be read in two ways is
 * refused, since the next bytes would be taken for the response to another request.
 *
 * Threads: any. Blocking: no. Source: RFC 9112, sections 4, 5 and 6.3.
 */
#include "h1_parse.h"

/** How the end of a response's body is found. */
typedef enum h1_body_end {
    H1_BODY_NONE,    /**< no body, whatever the fields say */
    H1_BODY_LENGTH,  /**< after head->content_length bytes */
    H1_BODY_CHUNKED, /**< with the last chunk (h1_chunked.h) */
    H1_BODY_CLOSE,   /**< with the connection */
    H1_BODY_TUNNEL   /**< the rest is not HTTP: 101, or a successful CONNECT */
} h1_body_end;

/**
 * Parse the response head at the start of @a buf.
 *
 * @param head     [out]    code, major, minor, fields; line is the status line. The reason stands
 *   behind the code there
 * @param scanned  [in,out] as for h1_parse()
 * @param limits   of the sizes; unsafe allows line ends without CR
 * @return H1_BAD: head->status is 502, head->why tells the error (a format, as for requests)
 */
h1_result h1_parse_response(http_head *head, const char *buf, size_t len, size_t *scanned,
                            const h1_limits *limits);

/** The same for the trailer section behind a chunked body: fields alone, head->code is 0. */
h1_result h1_parse_trailers(http_head *head, const char *buf, size_t len, size_t *scanned,
                            const h1_limits *limits);

/** The reason phrase of head->line, which may be empty: its length is returned. */
size_t h1_response_reason(const http_head *head, const char **reason);

/**
 * How the body ends of a response that h1_parse_response() took.
 * @param method_id  of the request: HTTP_METHOD_HEAD counts
 * @param connect    the request's method was CONNECT
 */
h1_body_end h1_response_body(const http_head *head, int method_id, int connect);

/** 1 if the backend lets its connection stay (RFC 9112, 9.3), should the end of the body be told otherwise. */
static inline int h1_response_keeps(const http_head *head)
{
    return !head->close && (head->minor >= 1 || head->keep_alive);
}

#endif
