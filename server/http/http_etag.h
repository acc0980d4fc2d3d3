/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_ETAG_H
#define BRIGADE_HTTP_HTTP_ETAG_H

/**
 * @file http_etag.h
 * The components of a file's entity tag, by FileETag. Threads: any. */
#include "httpd.h"
#include "http_core.h"

#define HTTP_ETAG_ROOM 88 /**< three numbers, or a digest */

/** The components of tags in a folder: etag_components_t. */
int http_etag_bits(const core_dir_config *conf);

/** The text between the quotes, in @a out of HTTP_ETAG_ROOM bytes: by INode, Size and MTime of @a bits. @param mtime  microseconds
 * @return its length */
size_t http_etag_put(char *out, int bits, apr_uint64_t inode, apr_uint64_t size,
                     apr_uint64_t mtime);

#endif
