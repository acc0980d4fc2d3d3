/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILE_KEPT_H
#define BRIGADE_FILE_KEPT_H

/**
 * @file file_kept.h
 * Files that filters read again and again: their bytes stay in memory, shared by all threads of the
 * process, as long as the file has the same identity, size and times. A mapping would do the same,
 * but end the process when the file is cut short.
 */
#include "httpd.h"
#include "apr_buckets.h"

#define FILE_KEPT_DEFAULT (16 << 20) /**< bytes in all */
#define FILE_KEPT_BODY_MOST (2 << 20)

/**
 * Put all of @a file, which r->finfo describes, at the end of @a bb, if it is kept or worth it:
 * asked for before, and at rest.
 * @return 1: it is there; 0: nothing was done, read it
 * Threads: any. Blocking: for reading the file.
 */
int file_kept_insert(const request_rec *r, apr_bucket_brigade *bb, apr_file_t *file);

/** How many bytes may be kept; 0: none. While the configuration is read. */
void file_kept_limit(apr_size_t bytes);

#endif
