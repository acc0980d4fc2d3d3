/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_STATUS_H
#define BRIGADE_HTTP_STATUS_H

/**
 * @file brigade/http_status.h
 * Results of hooks, HTTP status codes, methods. Part of httpd.h.
 */
#include "ap_config.h"
#include "apr_errno.h"
#include "apr_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Results ------------------------------------------------------------------------------------------- */

/* Exit status of a server process, read by its supervisor: the last two say "do not start me again". */
#define APEXIT_OK 0x0
#define APEXIT_INIT 0x2
#define APEXIT_CHILDINIT 0x3
#define APEXIT_CHILDSICK 0x7
#define APEXIT_CHILDFATAL 0xf

/* The server's own range of apr_status_t. */
#define AP_START_USERERR (APR_OS_START_USERERR + 2000)
#define AP_USERERR_LEN 1000
#define AP_DECLINED (AP_START_USERERR + 0)

/* Results of hooks and handlers, besides an HTTP status. */
#define OK 0         /**< this phase is done */
#define DECLINED -1  /**< not mine, ask the next */
#define DONE -2      /**< the response is out, skip the rest */
#define SUSPENDED -3 /**< somebody else will go on with it */

/* Results of filters; handlers pass them on as their result. */
#define AP_NOBODY_WROTE -100
#define AP_NOBODY_READ -101
#define AP_FILTER_ERROR -102

/** Number of status codes with a text of their own. */
#define RESPONSE_CODES 104

/** Status codes: RFC 9110, 15, and the registry of IANA. */
#define HTTP_CONTINUE 100
#define HTTP_SWITCHING_PROTOCOLS 101
#define HTTP_PROCESSING 102
#define HTTP_EARLY_HINTS 103
#define HTTP_OK 200
#define HTTP_CREATED 201
#define HTTP_ACCEPTED 202
#define HTTP_NON_AUTHORITATIVE 203
#define HTTP_NO_CONTENT 204
#define HTTP_RESET_CONTENT 205
#define HTTP_PARTIAL_CONTENT 206
#define HTTP_MULTI_STATUS 207
#define HTTP_ALREADY_REPORTED 208
#define HTTP_IM_USED 226
#define HTTP_MULTIPLE_CHOICES 300
#define HTTP_MOVED_PERMANENTLY 301
#define HTTP_MOVED_TEMPORARILY 302
#define HTTP_SEE_OTHER 303
#define HTTP_NOT_MODIFIED 304
#define HTTP_USE_PROXY 305
#define HTTP_TEMPORARY_REDIRECT 307
#define HTTP_PERMANENT_REDIRECT 308
#define HTTP_BAD_REQUEST 400
#define HTTP_UNAUTHORIZED 401
#define HTTP_PAYMENT_REQUIRED 402
#define HTTP_FORBIDDEN 403
#define HTTP_NOT_FOUND 404
#define HTTP_METHOD_NOT_ALLOWED 405
#define HTTP_NOT_ACCEPTABLE 406
#define HTTP_PROXY_AUTHENTICATION_REQUIRED 407
#define HTTP_REQUEST_TIME_OUT 408
#define HTTP_CONFLICT 409
#define HTTP_GONE 410
#define HTTP_LENGTH_REQUIRED 411
#define HTTP_PRECONDITION_FAILED 412
#define HTTP_REQUEST_ENTITY_TOO_LARGE 413
#define HTTP_REQUEST_URI_TOO_LARGE 414
#define HTTP_UNSUPPORTED_MEDIA_TYPE 415
#define HTTP_RANGE_NOT_SATISFIABLE 416
#define HTTP_EXPECTATION_FAILED 417
#define HTTP_MISDIRECTED_REQUEST 421
#define HTTP_UNPROCESSABLE_ENTITY 422
#define HTTP_LOCKED 423
#define HTTP_FAILED_DEPENDENCY 424
#define HTTP_UPGRADE_REQUIRED 426
#define HTTP_PRECONDITION_REQUIRED 428
#define HTTP_TOO_MANY_REQUESTS 429
#define HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE 431
#define HTTP_UNAVAILABLE_FOR_LEGAL_REASONS 451
#define HTTP_INTERNAL_SERVER_ERROR 500
#define HTTP_NOT_IMPLEMENTED 501
#define HTTP_BAD_GATEWAY 502
#define HTTP_SERVICE_UNAVAILABLE 503
#define HTTP_GATEWAY_TIME_OUT 504
#define HTTP_VERSION_NOT_SUPPORTED 505
#define HTTP_VARIANT_ALSO_VARIES 506
#define HTTP_INSUFFICIENT_STORAGE 507
#define HTTP_LOOP_DETECTED 508
#define HTTP_NOT_EXTENDED 510
#define HTTP_NETWORK_AUTHENTICATION_REQUIRED 511

/** Classes of status codes. */
#define ap_is_HTTP_INFO(x) (((x) >= 100) && ((x) < 200))
#define ap_is_HTTP_SUCCESS(x) (((x) >= 200) && ((x) < 300))
#define ap_is_HTTP_REDIRECT(x) (((x) >= 300) && ((x) < 400))
#define ap_is_HTTP_ERROR(x) (((x) >= 400) && ((x) < 600))
#define ap_is_HTTP_CLIENT_ERROR(x) (((x) >= 400) && ((x) < 500))
#define ap_is_HTTP_SERVER_ERROR(x) (((x) >= 500) && ((x) < 600))
#define ap_is_HTTP_VALID_RESPONSE(x) (((x) >= 100) && ((x) < 600))

/** After these the stream may be out of step, so the connection ends. */
#define ap_status_drops_connection(x) \
    ((x) == HTTP_BAD_REQUEST || (x) == HTTP_REQUEST_TIME_OUT || (x) == HTTP_LENGTH_REQUIRED \
     || (x) == HTTP_REQUEST_ENTITY_TOO_LARGE || (x) == HTTP_REQUEST_URI_TOO_LARGE \
     || (x) == HTTP_INTERNAL_SERVER_ERROR || (x) == HTTP_SERVICE_UNAVAILABLE \
     || (x) == HTTP_NOT_IMPLEMENTED)
#define AP_STATUS_IS_HEADER_ONLY(x) ((x) == HTTP_NO_CONTENT || (x) == HTTP_NOT_MODIFIED)

/* ---- Methods ------------------------------------------------------------------------------------------- */

/* request_rec.method_number. HEAD is M_GET with header_only. Extensions follow M_INVALID. */
#define M_GET 0
#define M_PUT 1
#define M_POST 2
#define M_DELETE 3
#define M_CONNECT 4
#define M_OPTIONS 5
#define M_TRACE 6
#define M_PATCH 7
#define M_PROPFIND 8
#define M_PROPPATCH 9
#define M_MKCOL 10
#define M_COPY 11
#define M_MOVE 12
#define M_LOCK 13
#define M_UNLOCK 14
#define M_VERSION_CONTROL 15
#define M_CHECKOUT 16
#define M_UNCHECKOUT 17
#define M_CHECKIN 18
#define M_UPDATE 19
#define M_LABEL 20
#define M_REPORT 21
#define M_MKWORKSPACE 22
#define M_MKACTIVITY 23
#define M_BASELINE_CONTROL 24
#define M_MERGE 25
#define M_INVALID 26
/** Methods that can have a number: bits of a mask. */
#define METHODS 64
/** AP_METHOD_BIT << M_x is the method's bit in a mask. */
#define AP_METHOD_BIT ((apr_int64_t)1)

/** A set of methods: those with a number as bits, the rest by name. */
typedef struct ap_method_list_t ap_method_list_t;
/** A set of methods, see below. */
struct ap_method_list_t {
    apr_int64_t method_mask;
    apr_array_header_t *method_list;
};

#ifdef __cplusplus
}
#endif
#endif
