/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_HTTP_H
#define BRIGADE_MD_HTTP_H

/**
 * @file md_http.h
 * Requests to an authority, each over a connection of its own. Certificates are always verified. Redirects are not followed.
 * Threads: the process of a job. Blocking: at most MD_HTTP_SECONDS, or md_http.seconds.
 */
#include "md_head.h"

#define MD_HTTP_SECONDS 60
#define MD_HTTP_MOST (1 << 20) /**< bytes of an answer */

typedef struct md_http {
    const char *proxy;   /**< URL of http; NULL: none */
    const char *ca_file; /**< MDCACertificateFile; NULL: those of the system */
    const char *agent;
    int seconds; /**< 0: MD_HTTP_SECONDS */
} md_http;

/**
 * @param method  GET, HEAD or POST
 * @param type    of @a body; NULL: no body
 * @param error   [out] why there is no answer
 * @return NULL: no answer
 */
md_answer *md_http_ask(const md_http *http, apr_pool_t *p, const char *method, const char *url,
                       const char *type, const char *body, const char **error);

/** The same with a body of @a len bytes. */
md_answer *md_http_send(const md_http *http, apr_pool_t *p, const char *method, const char *url,
                        const char *type, const char *body, apr_size_t len, const char **error);

#endif
