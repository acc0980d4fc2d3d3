/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PAGES_H
#define BRIGADE_PAGES_H

/**
 * @file brigade/pages.h
 * How pages look that the server makes itself: error pages and listings of directories.
 */
#include "httpd.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum brg_pages {
    BRG_PAGES_UNSET = 0,
    BRG_PAGES_APACHE,    /**< those of Apache 2.4, byte for byte */
    BRG_PAGES_MODERN,    /**< those of this server */
    BRG_PAGES_NEGOTIATED /**< the same; errors as JSON for clients that ask for JSON */
} brg_pages;

/**
 * The value of BuiltinPages for @a r; without it BRG_PAGES_APACHE where the configuration is
 * Apache's (it loads mod_authz_core, or a process model and other modules of Apache), else
 * BRG_PAGES_MODERN.
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(brg_pages) brg_pages_of(const request_rec *r);

/**
 * Text of any bytes for a page in UTF-8, in elements and in quoted attributes: HTML's characters
 * are escaped; control characters, and bytes that are not UTF-8, become U+FFFD, one by one.
 * @return in @a p
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(const char *) brg_html_text(apr_pool_t *p, const char *s);

#ifdef __cplusplus
}
#endif
#endif
