/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUBREQUEST_H
#define BRIGADE_SUBREQUEST_H

/**
 * @file brigade/subrequest.h
 * Sub-requests that another thread runs, beside the request that they are a part of.
 */
#include "httpd.h"
#include "util_filter.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * As ap_sub_req_lookup_uri(), with memory that the sub-request shares with no other request.
 * Threads: the request's. Blocking: as the phases of the request.
 */
BRG_DECLARE(request_rec *)
brg_sub_req_apart(const char *new_uri, const request_rec *r, ap_filter_t *next_filter);

/**
 * Before another thread runs (ap_run_sub_req()) the result of brg_sub_req_apart() with status 200.
 * It has a conn_rec of its own from now on, with the main request's as master where that has none,
 * no body, and writes to @a to in place of the filter @a next that it was looked up with.
 *
 * Until the other thread is done with it, the main request must not end, and nobody but that thread may use sub. sub->main is
 * a copy from now on, with the memory of sub. The thread of the main request destroys it.
 *
 * @param to  a filter whose function the other thread calls; as @a next not one of sub's own
 * Threads: the main request's. Blocking: no.
 */
BRG_DECLARE(void) brg_sub_req_leave(request_rec *sub, const ap_filter_t *next, ap_filter_t *to);

/**
 * 1 if another look-up of the same name for the same target would find the same, as long as
 * brg_file_is_same() says so of sub->filename: all modules say that the outcome depends on target,
 * configuration and that file alone, which is a plain one; no access file, no link and no variable
 * had a say. For modules that look up the same again and again, in a request of the same virtual
 * host, method and target.
 * Threads: the request's. Blocking: no.
 */
BRG_DECLARE(int) brg_sub_req_is_settled(request_rec *sub);

/**
 * 1 if a look finds the version of the file that @a finfo tells of (device, inode, size, times). 0 also where the look would
 * wait, and @a r may go on on a worker.
 *
 * @param path   absolute
 * @param finfo  of an earlier look, with APR_FINFO_MIN
 * Threads: the request's. Blocking: as the look-up of a sub-request of @a r.
 */
BRG_DECLARE(int) brg_file_is_same(const request_rec *r, const char *path, const apr_finfo_t *finfo);

#ifdef __cplusplus
}
#endif
#endif
