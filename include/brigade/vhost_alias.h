/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_VHOST_ALIAS_H
#define BRIGADE_VHOST_ALIAS_H

/**
 * @file brigade/vhost_alias.h The folder that mod_vhost_alias gives a name, for modules that ask
 * before there is a request.
 */
#include "httpd.h"
#include "apr_optional.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The folder of host @a name.
 * @param format  as of VirtualDocumentRoot; NULL: that of @a s
 * @return in @a p; NULL: @a format is invalid, @a s has none that goes by names, or the folder's
 *   name is too long
 * Threads: any. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(const char *, brg_vhost_alias_folder,
                        (const server_rec *s, const char *format, const char *name, int port,
                         apr_pool_t *p));

#ifdef __cplusplus
}
#endif
#endif
