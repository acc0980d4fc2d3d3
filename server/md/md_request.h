/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_REQUEST_H
#define BRIGADE_MD_REQUEST_H

/** @file md_request.h  The effect of managed domains on requests and handshakes. Blocking: no. */
#include "httpd.h"
#include "http_config.h"

/** Hooks, for a configuration that has managed domains: others do not pay for them. Threads: main. */
void md_request_wake(void);

/** This configuration has none, so far. */
void md_request_sleep(void);

/** For brg_cache_declare(). */
int md_request_depends(request_rec *r);
/** A brg_cache_name_fn. */
apr_int64_t md_request_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                            const char *filename, const char *path_info, int is_file);

/** The handler md-status, and /.httpd/certificate-status (md_status.c). */
int md_status_handler(request_rec *r);
int md_status_is_asked(const request_rec *r);

/** A part of the server's status page. */
int md_status_page(request_rec *r, int flags);

#endif
