/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_CORE_H
#define MOD_CORE_H

/** @file mod_core.h  Inner parts of HTTP that few modules need. */
#include "apr.h"
#include "apr_buckets.h"
#include "httpd.h"
#include "util_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Filters that the core puts on each request: HTTP_IN. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_http_input_filter_handle;
/** HTTP_HEADER. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_http_header_filter_handle;
/** CHUNK, the chunked transfer coding. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_chunk_filter_handle;
/** HTTP_OUTERROR. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_http_outerror_filter_handle;
/** BYTERANGE. */
AP_DECLARE_DATA extern ap_filter_rec_t *ap_byterange_filter_handle;

/** Input filter: a request body without its framing. */
AP_DECLARE(apr_status_t)
ap_http_filter(ap_filter_t *f, apr_bucket_brigade *b, ap_input_mode_t mode, apr_read_type_e block,
               apr_off_t readbytes);
/* Output filters: chunks; errors that turn up while the body is sent. */
AP_DECLARE(apr_status_t) ap_http_chunk_filter(ap_filter_t *f, apr_bucket_brigade *b);
/** HTTP_OUTERROR: the effect of error buckets and of the end of a response on the connection. */
AP_DECLARE(apr_status_t) ap_http_outerror_filter(ap_filter_t *f, apr_bucket_brigade *b);

/** ErrorDocument for ap_index_of_response(), NULL: none. */
AP_DECLARE(char *) ap_response_code_string(request_rec *r, int error_index);
/** Status line, Date and Server, to @a bb. */
AP_DECLARE(void) ap_basic_http_header(request_rec *r, apr_bucket_brigade *bb);
/* Answers to TRACE and OPTIONS. OK or a status. */
AP_DECLARE_NONSTD(int) ap_send_http_trace(request_rec *r);
/** Answer OPTIONS with Allow. OK, or DECLINED for HTTP/0.9. */
AP_DECLARE(int) ap_send_http_options(request_rec *r);

/** The separator in multipart/byteranges; made anew for each configuration. */
AP_DECLARE_DATA extern const char *ap_multipart_boundary;

/** Nothing is to be done here: random bytes are the kernel's. Kept for modules that call it. */
AP_CORE_DECLARE(void) ap_init_rng(apr_pool_t *p);
/** As ap_init_rng(). */
AP_CORE_DECLARE(void) ap_random_parent_after_fork(void);

#ifdef __cplusplus
}
#endif
#endif
