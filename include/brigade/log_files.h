/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOG_FILES_H
#define BRIGADE_LOG_FILES_H

/**
 * @file brigade/log_files.h
 * Log files that somebody moves away, as logrotate does: the server then reads its configuration anew, gracefully, and so
 * opens them again.
 */
#include "apr_pools.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Watch a log file from now until @a p is cleared. Other than regular files are not watched.
 *
 * @param path  absolute; copied
 * @param fd    the open file
 * Threads: main, while logs are opened.
 */
BRG_DECLARE(void) brg_log_file_watch(apr_pool_t *p, const char *path, int fd);

#ifdef __cplusplus
}
#endif
#endif
