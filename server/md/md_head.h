/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_HEAD_H
#define BRIGADE_MD_HEAD_H

/**
 * @file md_head.h
 * Answers of an authority over HTTP/1, from their bytes (h1_response_head.h, h1_chunked.h). Threads: any. Blocking: no.
 */
#include "apr_pools.h"
#include "apr_tables.h"
#include "apr_time.h"

/** An answer. */
typedef struct md_answer {
    int status;
    int more; /**< it is not complete, or ends with its connection */
    apr_table_t *fields;
    const char *body; /**< @a len bytes, and a NUL */
    apr_size_t len;
} md_answer;

/** A URL in its parts. */
typedef struct md_url {
    int is_tls, port;
    const char *host;      /**< without the brackets of an address */
    const char *path;      /**< with the query */
    const char *authority; /**< for Host */
} md_url;

/** @return 0, or -1: neither http nor https, or with a user, blanks or control characters */
int md_url_read(apr_pool_t *p, const char *text, md_url *url);

/**
 * @return NULL, or its error if no more bytes come
 * @param no_body  1: its head is all (HEAD, CONNECT)
 * @param answer   [out] its strings are copies
 * @return NULL, or what is wrong with it if no more bytes come
 */
const char *md_answer_read(apr_pool_t *p, const char *data, apr_size_t len, int no_body,
                           md_answer *answer);

/** Retry-After: until when; 0: it does not say. */
apr_time_t md_answer_retry(const md_answer *answer, apr_time_t now);

#endif
