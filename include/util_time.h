/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_UTIL_TIME_H
#define APACHE_UTIL_TIME_H

/** @file util_time.h  Broken-down and formatted times, remembered for the last seconds. Any thread. */
#include "apr.h"
#include "apr_time.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds for which results are remembered. */
#define AP_TIME_RECENT_THRESHOLD 15

/* Options of ap_recent_ctime_ex. */
#define AP_CTIME_OPTION_NONE 0x0
#define AP_CTIME_OPTION_USEC 0x1    /**< microseconds */
#define AP_CTIME_OPTION_COMPACT 0x2 /**< ISO 8601 */
#define AP_CTIME_OPTION_GMTOFF 0x4  /**< difference from UTC */
#define AP_CTIME_OPTION_MSEC 0x8    /**< milliseconds */

AP_DECLARE(apr_status_t) ap_explode_recent_localtime(apr_time_exp_t *tm, apr_time_t t);
AP_DECLARE(apr_status_t) ap_explode_recent_gmt(apr_time_exp_t *tm, apr_time_t t);
/** To APR_CTIME_LEN bytes. */
AP_DECLARE(apr_status_t) ap_recent_ctime(char *date_str, apr_time_t t);
/** *len: room on entry, length with the NUL on return. APR_ENOMEM. */
AP_DECLARE(apr_status_t) ap_recent_ctime_ex(char *date_str, apr_time_t t, int option, int *len);
/** To APR_RFC822_DATE_LEN bytes. */
AP_DECLARE(apr_status_t) ap_recent_rfc822_date(char *date_str, apr_time_t t);

#ifdef __cplusplus
}
#endif
#endif
