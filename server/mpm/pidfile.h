/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MPM_PIDFILE_H
#define BRIGADE_MPM_PIDFILE_H

/**
 * @file pidfile.h
 * The file that names the running server's process.
 */
#include "apr_file_io.h"
#include <sys/types.h>

/**
 * Read the process id from @a path.
 * @return APR_SUCCESS; APR_EGENERAL when the file holds no sensible process id; else why it cannot
 * be read
 */
apr_status_t pidfile_read(apr_pool_t *p, const char *path, pid_t *pid);

/**
 * Might the owner of the file at @a path, which names @a pid, send that process a signal himself? A
 * process of another user (an unprivileged server, and any program that took it over) can have any
 * number in a file of its own.
 */
int pidfile_is_believed(const char *path, pid_t pid);

/**
 * Write @a pid to @a path atomically (a temporary file is renamed): readers see the old file or the new one.
 * @return APR_SUCCESS, or why not; the old file is then unchanged
 */
apr_status_t pidfile_write(apr_pool_t *p, const char *path, pid_t pid);

/** Remove @a path if it still names @a pid: another server may have taken it over. */
apr_status_t pidfile_remove(apr_pool_t *p, const char *path, pid_t pid);

/** 0 for "none", as PidFile has it where there is to be no file: a container, whose only server is known
 * without one. */
int pidfile_wanted(const char *filename);

/**
 * Write the calling process's number to @a filename (relative to DefaultRuntimeDir), unless it was
 * written by an earlier call and stands there still: a reload with a full disk is no reason to end.
 * @return APR_SUCCESS, also for a name that is ignored; else why not, which is logged
 */
apr_status_t pidfile_log(apr_pool_t *p, const char *filename);

/** The path of the file that pidfile_log() wrote, or that the program before this one did; NULL: none. */
void pidfile_logged(const char *path);
const char *pidfile_which(void);

/** Remove that file if it still names the calling process; the configuration that named it may be gone. */
void pidfile_remove_logged(apr_pool_t *p);

#endif
