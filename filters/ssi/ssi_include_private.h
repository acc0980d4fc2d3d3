/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_INCLUDE_PRIVATE_H
#define SSI_INCLUDE_PRIVATE_H

/** @file ssi_include_private.h  Parts of a page: sub-requests, their time limits and threads, and
 *   known look-ups. */
#include "ssi_private.h"

/* ---- ssi_include.c, ssi_timeout.c ---- */

/** The filter behind all filters of a sub-request: its output becomes that of the page. */
apr_status_t ssi_capture(ap_filter_t *f, apr_bucket_brigade *bb);

/** A copy of sub->server whose timeout may be changed until sub->pool ends. It is never freed.
 * Threads: any. */
server_rec *ssi_timeout_server(request_rec *sub);

/** The link of a sub-request, which has until @a deadline (0: no limit): waits with the server's
 * timeout end then. */
ssi_link *ssi_sub_begin(include_ctx_t *ctx, request_rec *sub, apr_time_t deadline);
/** @a sub ended with @a status. 1 if that was because its deadline was over. */
int ssi_sub_is_late(request_rec *sub, int status);
/** 1 if the deadline is over. @a link: may be NULL */
int ssi_link_is_late(ssi_link *link);
/** Waits of the sub-request of @a link, also in reads of @a e (may be NULL), end with its deadline.
 */
void ssi_sub_set_timeout(ssi_link *link, apr_bucket *e);
/** When an include that begins now has to be over; 0: no limit. */
apr_time_t ssi_include_deadline(const ssi_state *s);
/** Messages about an include of page @a r that failed. */
void ssi_log_late(const request_rec *r, const char *target);
void ssi_log_failed(const request_rec *r, const char *target, int status);
/** A sub-request that was run on this thread is no longer needed. */
void ssi_sub_end(request_rec *sub);

/* ---- ssi_lookups.c ---- */

/** @a ctx begins to render @a page: may look-ups of its directives be used? */
void ssi_lookups_begin(include_ctx_t *ctx, ssi_page *page);
/**
 * The file that @a target of the running directive's @a arg led to before, if it would again; the page then depends on it.
 * @param target  from ssi_expand() of @a arg
 * @return NULL: it has to be looked up. Valid until the next call
 */
const apr_finfo_t *ssi_lookup_find(include_ctx_t *ctx, const ssi_arg *arg, const char *target);
/** The same, and its content becomes output of the page. @return 0: it is to be included as ever */
int ssi_lookup_show(include_ctx_t *ctx, const ssi_arg *arg, const char *target);
/** @a sub is the result of looking up @a target of @a arg. Kept where nothing but the file had a
 *   say. @a as_file: its content was shown as it is */
void ssi_lookup_keep(include_ctx_t *ctx, const ssi_arg *arg, const char *target, request_rec *sub,
                     int as_file);
/** Free all look-ups of @a page. */
void ssi_lookups_free(ssi_page *page);

/* ---- ssi_beside.c ---- */

/** The type of buckets that stand for the output of an include that another worker runs. */
extern const apr_bucket_type_t ssi_beside_type;
#define SSI_BUCKET_IS_BESIDE(e) ((e)->type == &ssi_beside_type)
/** An include that comes here may run on another worker, as far as can be said before its look-up. */
int ssi_beside_may(include_ctx_t *ctx);
/** 1 if the output of @a sub may have to be waited for, and does not change the page. */
int ssi_beside_is_for(request_rec *sub);
/**
 * Let another worker run @a sub, from brg_sub_req_apart(). Its output, or the error message, will stand where the page is now.
 * @param stub  shown instead if it fails or is empty; NULL: none. Lives as long as the page
 * @return 1: sub is not the caller's any more. 0: no worker is free; sub was spoilt by the attempt, and can only be destroyed
 */
int ssi_beside_start(include_ctx_t *ctx, const ssi_arg *arg, request_rec *sub, const char *stub);
/** The filter behind all filters of such a sub-request. */
apr_status_t ssi_beside_output(ap_filter_t *f, apr_bucket_brigade *bb);

#endif
