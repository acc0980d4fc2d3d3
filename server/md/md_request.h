/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_REQUEST_H
#define BRIGADE_MD_REQUEST_H

/** @file md_request.h  What managed domains do to requests and handshakes. Blocking: no. */
#include "httpd.h"

/** Hooks, for a configuration that has managed domains: others do not pay for them. Threads: main. */
void md_request_wake(void);

/** This configuration has none, so far. */
void md_request_sleep(void);

/** For brg_cache_declare(). */
int md_request_depends(request_rec *r);

/** The handler md-status, and /.httpd/certificate-status (md_status.c). */
int md_status_handler(request_rec *r);
int md_status_is_asked(const request_rec *r);

/** A part of the server's status page. */
int md_status_page(request_rec *r, int flags);

#endif
