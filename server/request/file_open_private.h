/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_FILE_OPEN_PRIVATE_H
#define BRIGADE_REQUEST_FILE_OPEN_PRIVATE_H

/**
 * @file file_open_private.h
 * How files are opened for requests: not at all on a loop if that would wait (file_open.c), nor over
 * links that are not allowed (file_open_links.c), nor on a file system that may hang (file_mounts.c).
 */
#include "httpd.h"
#include "apr_file_io.h"

/**
 * Open @a name, which may be a directory, following links.
 *
 * @param cached  fail with APR_EAGAIN where the kernel would have to wait for a disk
 * @param file    [out] owned by r->pool
 */
apr_status_t file_open_name(apr_file_t **file, request_rec *r, const char *name, int cached);

/**
 * Open @a path, descending component by component: a link is followed if @a links allows it there
 * (request_files.links).
 *
 * @param path  absolute, without empty or dot segments
 * @return a descriptor, or -1 with errno; ELOOP: a link that is not allowed
 * Threads: any. Blocking: yes.
 */
int file_open_by_links(const char *path, const char *links);

/**
 * 1 if @a path lies on a file system that asks another machine or process for its files, and so may
 * not answer. Decided by the mount points alone: the file system is not asked.
 * Threads: any; no lock.
 */
int file_mounts_may_hang(const char *path);

/**
 * A file of device @a dev was opened: if it is on a file system that was mounted since the mount points
 * were read, they are read again.
 * Threads: any. Blocking: reads /proc/self/mountinfo in that case.
 */
void file_mounts_seen(apr_dev_t dev);

/** turn_end hook: read the mount points again if they changed. One poll() a second. */
void file_mounts_turn(apr_time_t now);

/** Read the mount points. Main thread, before requests. */
void file_mounts_open(void);

/** Ask the kernel now whether mounts changed, for a decision that must not be a second old. Seldom. */
void file_mounts_look(void);

/** Open a file for a loop, which is not a request's. @return -1 with errno: EAGAIN where the kernel would have to wait */
int file_open_at_hand(const char *path);

/** Read @a len bytes from its beginning. @return -1: there are fewer, or the kernel would have to wait */
int file_read_at_hand(int fd, char *data, size_t len);

/**
 * An apr_file_t that owns @a fd, as if apr_file_open() had made it: it is closed with @a p, or with
 * the pool that it is set aside to. On failure @a fd is closed. (file_descriptor.c)
 */
apr_status_t file_of_descriptor(apr_file_t **file, int fd, apr_int32_t flags, apr_pool_t *p);

#endif
