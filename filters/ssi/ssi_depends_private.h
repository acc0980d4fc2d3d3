/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_DEPENDS_PRIVATE_H
#define SSI_DEPENDS_PRIVATE_H

/** @file ssi_depends_private.h  Dependencies of a page, its validators, and those of earlier
 *   renderings. */
#include "ssi_private.h"

/* ---- ssi_depends.c ---- */

/** 1: a cache has this part, and sends it when it is run: nobody waits for it. */
int ssi_is_stored(request_rec *sub);
/** The page depends on a part that came so, after it was run. */
void ssi_depends_stored(include_ctx_t *ctx, request_rec *sub);

/** Add @a what, SSI_DEPENDS_*, to the page's dependencies. */
void ssi_depends(include_ctx_t *ctx, int what);
void ssi_depends_top(ssi_top *top, int what);
/** It depends on a file; @a finfo NULL: on its not being there. */
void ssi_depends_path(ssi_top *top, const char *path, const apr_finfo_t *finfo);
/** On a request field, by the name that it has in requests. */
void ssi_depends_field(ssi_top *top, const char *name);
/** On a variable. */
void ssi_depends_variable(include_ctx_t *ctx, const char *name);
/** On the outcome of a look-up. */
void ssi_depends_lookup(include_ctx_t *ctx, request_rec *sub);
/** The same of a look-up that would find @a path again, whose outcome depends on that file alone. */
void ssi_depends_file(include_ctx_t *ctx, const char *path, const apr_finfo_t *finfo);

/* ---- ssi_validators.c ---- */

/** The page is complete: its length, its validators, the response cache. Does nothing for an included page.
 * @return OK; HTTP_NOT_MODIFIED: the body is not sent; HTTP_BAD_GATEWAY: the response must be cut off */
int ssi_complete(include_ctx_t *ctx);
/** The validators of a page are known before it runs. @return as ap_meets_conditions() */
int ssi_validators_meet(request_rec *r, const ssi_validators *known);
/** @a bb is sent before the page is complete: it counts for its ETag. */
void ssi_digest_brigade(ssi_top *top, apr_bucket_brigade *bb);

/* ---- ssi_renderings.c ---- */

/** The page was made from @a path, absolute; @a finfo NULL: it does not exist. */
void ssi_rendering_part(ssi_top *top, const char *path, const apr_finfo_t *finfo);
/** A look-up asked for @a path, absolute, and took nothing from it: it does not exist, or is a directory. */
void ssi_rendering_looked_at(ssi_top *top, const char *path);
/** The .htaccess files that the look-up of @a r asked for, those of @a until and its list left out. */
void ssi_rendering_htaccess(ssi_top *top, const request_rec *r,
                            const struct htaccess_result *until);
/** The page read a value; the first reading of a name counts. */
void ssi_rendering_read(ssi_top *top, const char *name, const char *value, int kind);
/** Keep the validators of the page that was just rendered. */
void ssi_rendering_keep(include_ctx_t *ctx, const ssi_validators *found);
/** Validators of an earlier rendering that would be the same now, or NULL. Valid until the page's next one
 * is kept. */
const ssi_validators *ssi_rendering_find(request_rec *r, ssi_top *top, ssi_page *page);
/** Free a page's list. */
void ssi_renderings_free(ssi_rendering *v);

#endif
