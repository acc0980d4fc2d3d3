/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILE_KEPT_H
#define BRIGADE_FILE_KEPT_H

/**
 * @file file_kept.h
 * Contents of files that filters read again and again. They stay in memory, shared by all threads of the
 * process, as long as the file has the same identity, size and times. A memory mapping would do the same,
 * but the process would crash when the file is truncated.
 */
#include "httpd.h"
#include "apr_buckets.h"

#define FILE_KEPT_DEFAULT (16 << 20)  /**< bytes in all */
#define FILE_KEPT_BODY_MOST (2 << 20) /**< bytes of one file */

/**
 * Append the content of @a file, which r->finfo describes, to @a bb, if it is kept or becomes so: it was
 * asked for before, and was not changed lately.
 * @param file  NULL: only if it is kept
 * @return 1: it is in @a bb; 0: nothing was done, read the file
 * Threads: any. Blocking: on a worker; on a loop it is not kept if reading would wait (brg_file_pread()).
 */
int file_kept_insert(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file);

/** Limit of all bytes that are kept; 0: none are. Main thread, while the configuration is read. */
void file_kept_limit(apr_size_t bytes);

#endif
