/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_VARBUF_H
#define AP_VARBUF_H

/** @file util_varbuf.h  Strings that grow. Memory goes back early: the pool only frees the last of it. */
#include "apr.h"
#include "apr_allocator.h"
#include "httpd.h"
#include "http_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As strlen: not known, count it. */
#define AP_VARBUF_UNKNOWN APR_SIZE_MAX

struct ap_varbuf_info;
struct ap_varbuf {
    char *buf;         /**< ends with NUL */
    apr_size_t avail;  /**< room without the NUL */
    apr_size_t strlen; /**< length, or AP_VARBUF_UNKNOWN */
    apr_pool_t *pool;
    struct ap_varbuf_info *info;
};

/** @a init_size 0: allocate when needed. */
AP_DECLARE(void) ap_varbuf_init(apr_pool_t *pool, struct ap_varbuf *vb, apr_size_t init_size);
/** Make room for @a new_size without the NUL; the pool's abort function runs if there is no memory. */
AP_DECLARE(void) ap_varbuf_grow(struct ap_varbuf *vb, apr_size_t new_size);
AP_DECLARE(void) ap_varbuf_free(struct ap_varbuf *vb);
AP_DECLARE(void) ap_varbuf_strmemcat(struct ap_varbuf *vb, const char *str, int len);
#define ap_varbuf_strcat(vb, str) ap_varbuf_strmemcat(vb, str, strlen(str))
/** Copy with text before and after; either may be NULL, so may @a new_len. */
AP_DECLARE(char *)
ap_varbuf_pdup(apr_pool_t *p, struct ap_varbuf *vb, const char *prepend, apr_size_t prepend_len,
               const char *append, apr_size_t append_len, apr_size_t *new_len);
/** Append the result of ap_pregsub_ex. APR_ENOMEM if the whole is longer than @a maxlen (0: no
 * limit). */
AP_DECLARE(apr_status_t)
ap_varbuf_regsub(struct ap_varbuf *vb, const char *input, const char *source, apr_size_t nmatch,
                 ap_regmatch_t pmatch[], apr_size_t maxlen);
/** ap_cfg_getline into it, in place of its content. APR_ENOSPC if the line is longer than @a
 * max_len. */
AP_DECLARE(apr_status_t)
ap_varbuf_cfg_getline(struct ap_varbuf *vb, ap_configfile_t *cfp, apr_size_t max_len);

#ifdef __cplusplus
}
#endif
#endif
