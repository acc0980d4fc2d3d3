/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_UTIL_MD5_H
#define APACHE_UTIL_MD5_H

/** @file util_md5.h  MD5 sums as text. */
#include "apr_md5.h"
#include "apr_file_io.h"
#include "ap_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As hexadecimal digits. */
AP_DECLARE(char *) ap_md5(apr_pool_t *a, const unsigned char *string);
AP_DECLARE(char *) ap_md5_binary(apr_pool_t *a, const unsigned char *buf, int len);
/* As base 64: a sum under way; a file from its start to its end, which stays at its start. */
AP_DECLARE(char *) ap_md5contextTo64(apr_pool_t *p, apr_md5_ctx_t *context);
AP_DECLARE(char *) ap_md5digest(apr_pool_t *p, apr_file_t *infile);

#ifdef __cplusplus
}
#endif
#endif
