/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_RESPONSE_H
#define BRIGADE_H1_H1_RESPONSE_H

/**
 * @file h1_response.h
 * Response heads: how a request_rec's status and header tables become bytes (h1_head_format.c),
 * what the HTTP_HEADER filter does before that (h1_response.c), and the parts that a stored
 * answer is patched with.
 */
#include "httpd.h"
#include "http_answer.h"
#include "http_text.h"
#include "util_filter.h"
#include <stddef.h>

/** How HTTP/1 sends stored responses. */
extern const http_codec h1_codec;

/**
 * Write the head of r's final response: status line, Date, Server, headers_out in order, blank
 * line. headers_out is taken as it is; the HTTP_HEADER filter has merged and completed it by then.
 *
 * @param buf   [out] room for h1_head_size() bytes
 * @return length
 * Threads: r's. Blocking: no.
 */
size_t h1_format_head(const request_rec *r, char *buf);

/** An upper bound of what h1_format_head() writes. */
size_t h1_head_size(const request_rec *r);

/**
 * The Keep-Alive and Connection lines as Apache sends them.
 *
 * @param buf        room for H1_CONNECTION_MAX bytes
 * @param close      the connection ends after this answer
 * @param asked      the request named keep-alive in Connection (then the answer tells its terms)
 * @param timeout    KeepAliveTimeout
 * @param left       requests still allowed on this connection after this one's predecessors;
 * negative = no limit
 * @return length, may be 0
 */
size_t h1_format_connection(char *buf, int close, int asked, apr_interval_time_t timeout, int left);
#define H1_CONNECTION_MAX 96

/**
 * For the CHUNK filter: the response head that leads the first brigade and must not be chunked.
 * @param head  the bucket; compared by address only
 */
void h1_chunk_insert(request_rec *r, const apr_bucket *head);

#endif
