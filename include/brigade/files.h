/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILES_H
#define BRIGADE_FILES_H

/**
 * @file brigade/files.h
 * The file that a request was mapped to, opened and read as the server's own handler does it: under
 * the link options in force, and without a wait for a disk on an event loop.
 */
#include "httpd.h"
#include "apr_file_io.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Open r->filename for reading. No symbolic link is followed that Options does not allow where it
 * stands (FollowSymLinks, SymLinksIfOwnerMatch), also if one appeared since r->filename was looked
 * up. The opened file is a regular one; if it is not the one that was looked up, r->finfo becomes
 * that of the new one.
 *
 * @param file  [out] owned by r->pool, which closes it; O_NONBLOCK, close-on-exec
 * @return APR_SUCCESS; APR_EAGAIN on an event loop, if this would wait for a disk and
 *         brg_request_rerun_on_worker() is possible: call it and return OK (in hooks up to
 *         insert_filter: brg_request_needs_worker()); ELOOP if a link is not
 *         allowed; APR_EACCES also if it is no regular file any more; other errors of open(2)
 * Threads: the request's. Blocking: on a worker.
 */
BRG_DECLARE(apr_status_t) brg_file_open(apr_file_t **file, request_rec *r);

/**
 * r->filename, a regular file, is asked for in a way for which no response is stored: by an
 * internal redirect, or for its name alone. From the second time on the server keeps its
 * properties, as long as nothing of its path changes.
 * Threads: the request's; on a worker it does nothing. Blocking: as apr_stat(), of a file that was just used.
 */
BRG_DECLARE(void) brg_file_remember(const request_rec *r);

/**
 * 1 if r->finfo is such knowledge: it describes the present file, which nobody opened.
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_file_is_known(const request_rec *r);

/**
 * As apr_stat() with r->pool, at no cost for paths that the walk of @a r saw, or that the server
 * knows from the folders on the way: above all missing names. Known facts are as old as the
 * request, or newer. The caller says brg_cache_depends_on().
 *
 * @param path    absolute, or it is as apr_stat()
 * @param wanted  APR_FINFO_... bits; APR_FINFO_LINK: of a link itself
 * @return as apr_stat()
 * Threads: the request's. Blocking: as apr_stat(), where it is not known.
 */
BRG_DECLARE(apr_status_t)
brg_file_stat(apr_finfo_t *finfo, request_rec *r, const char *path, apr_int32_t wanted);

/**
 * Read from an open file, from the page cache alone if the request may still go on on a worker.
 *
 * @param len  [in,out] bytes wanted; bytes read, fewer only at the end of the file
 * @return APR_SUCCESS, also at the end of the file; APR_EAGAIN as for brg_file_open(); other errors of
 *         pread(2)
 * Threads: the request's. Blocking: on a worker.
 */
BRG_DECLARE(apr_status_t)
brg_file_pread(request_rec *r, apr_file_t *file, char *data, apr_size_t *len, apr_off_t offset);

/**
 * 1 if @a path, or something that may stand in or below the folder @a path, lies on a file system that asks
 * another machine or process for its files, and so may not answer: nothing in that folder may be looked at
 * on an event loop. Decided by the mount points alone.
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(int) brg_folder_may_hang(const char *path);

/** Status of a sub-request that was not looked up, since that might wait. */
#define BRG_WOULD_WAIT (-1003)

/**
 * From now on the look-up of a sub-request of @a r (or of its sub-requests) that leads to a file system
 * which may hang ends with status BRG_WOULD_WAIT on an event loop. For a handler that then calls
 * brg_request_rerun_on_worker().
 *
 * @param r  the client's own request
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(void) brg_request_let_lookups_fail(request_rec *r);

/**
 * 1 if the entity tag of r's file takes reading all of @a file: FileETag has Digest, and the digest of this version of the file
 * is not known to this process, or @a file is NULL. For a handler that then calls brg_request_rerun_on_worker(), or leaves the tag out on a loop.
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_etag_waits(const request_rec *r, apr_file_t *file);

#ifdef __cplusplus
}
#endif
#endif
