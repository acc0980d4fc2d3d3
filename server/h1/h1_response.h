/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_RESPONSE_H
#define BRIGADE_H1_H1_RESPONSE_H

/**
 * @file h1_response.h
 * Response heads: from a request_rec's status and header tables to bytes
 * (h1_head_format.c), the HTTP_HEADER filter before that (h1_response.c), the patches of a stored
 * answer, and the same response without such bytes for a stream of another protocol (h1_stream.c).
 */
#include "httpd.h"
#include "http_answer.h"
#include "http_head.h"
#include "http_response.h"
#include "http_text.h"
#include "util_filter.h"
#include <stddef.h>

/** How HTTP/1 sends stored responses. */
extern const http_codec h1_codec;

/** Lengths from h1_head_size(). Its user's. */
typedef struct h1_head_lengths {
    const char *status; /**< code and reason */
    size_t status_len;
    http_lengths fields; /**< n is -1 before http_response_is_sendable() measured them */
} h1_head_lengths;

/** An upper bound of h1_format_head()'s output. Threads: r's. Blocking: no. */
size_t h1_head_size(const request_rec *r, h1_head_lengths *lengths);

/**
 * Write the head of r's final response: status line, Date, Server, headers_out in order, blank
 * line. headers_out is taken as it is; the HTTP_HEADER filter has merged and completed it by then.
 *
 * @param lengths  by h1_head_size(), since when r did not change
 * @param buf      [out] room for h1_head_size() bytes
 * @return length
 * Threads: r's. Blocking: no.
 */
size_t h1_format_head(const request_rec *r, const h1_head_lengths *lengths, char *buf);

/** The beginning of a head. */
typedef struct h1_top {
    const char *status; /**< code and reason */
    const char *date;
    const char *server; /**< NULL: the server's own, or none */
    size_t status_len, date_len, server_len;
} h1_top;

/** Status line, Date and Server. @param protocol  of 8 bytes @return the end of the text. Threads:
 * any. */
char *h1_format_top(char *p, const char *protocol, const h1_top *top);

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

#define H1_TOP_FIELDS 2 /**< Date, Server */

/**
 * The fields of the same head, Date and Server first.
 * @param lengths  its fields as of h1_head_lengths
 * @param field  [out] room for H1_TOP_FIELDS more than headers_out has; they point into r's tables
 * @return how many
 */
int h1_list_head(const request_rec *r, h1_head_lengths *lengths, http_field *field);

/** The fields of @a table, in order. @return how many */
int h1_list_table(const apr_table_t *table, http_field *field);

/* ---- h1_stream.c; r's thread ---- */

/** 1 if r's connection is a stream that takes parts of responses (transport.h) rather than bytes. */
int h1_stream_is(const request_rec *r);

/**
 * Its head, for the front of the first brigade.
 * @param whole    no body follows
 * @param lengths  its fields as of h1_head_lengths
 * @return NULL: no memory
 */
apr_bucket *h1_stream_head(request_rec *r, int whole, h1_head_lengths *lengths);

/** An interim response. NULL: no memory. @param fields  headers_out is sent, too, but for fields
 * that could split a response */
apr_bucket *h1_stream_interim(request_rec *r, int fields);

/**
 * The end of the response, with r->trailers_out, for where EOS stands.
 * @return NULL: a trailer cannot be sent, which is logged, or no memory: the response is to stay incomplete
 */
apr_bucket *h1_stream_end(request_rec *r);

/**
 * For the CHUNK filter: the response head that leads the first brigade and must not be chunked.
 * @param head  the bucket; compared by address only
 */
void h1_chunk_insert(request_rec *r, const apr_bucket *head);

#endif
