/* SPDX-License-Identifier: Apache-2.0 */
/* fsize and flastmod: size and modification time of a file. */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "brigade/files.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

/* The outcome of a look-up by a sub-request that is never run. @return 1: there is such a file */
static int file_info(include_ctx_t *ctx, const ssi_arg *arg, const char *target, request_rec *sub,
                     apr_finfo_t *finfo)
{
    int found = sub->status == HTTP_OK && sub->finfo.filetype != APR_NOFILE;

    BRG_ASSERT(sub->main == ctx->r);
    ssi_depends_lookup(ctx, sub);
    *finfo = sub->finfo;
    ssi_lookup_keep(ctx, arg, target, sub, 0);
    ap_destroy_sub_req(sub);
    return found;
}

/* Where a loop would wait for the file, the page runs again on a worker. */
static int file_looked_up(include_ctx_t *ctx, const ssi_arg *arg, const char *target,
                          request_rec *sub, apr_finfo_t *finfo)
{
    if (sub->status != BRG_WOULD_WAIT)
        return file_info(ctx, arg, target, sub, finfo);
    ssi_about_to_wait(ctx);
    memset(finfo, 0, sizeof *finfo);
    ap_destroy_sub_req(sub);
    return 1;
}

static int file_by_name(include_ctx_t *ctx, const ssi_arg *arg, const char *name,
                        apr_finfo_t *finfo)
{
    request_rec *r = ctx->r;
    char *path;
    apr_status_t rv = apr_filepath_merge(
        &path, NULL, name, APR_FILEPATH_SECUREROOTTEST | APR_FILEPATH_NOTABSOLUTE, ssi_dpool(ctx));

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(02668) "unable to access file \"%s\" in parsed file %s", name,
                      r->filename);
        return 0;
    }
    if (file_looked_up(ctx, arg, name, ap_sub_req_lookup_file(path, r, NULL), finfo))
        return 1;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(02670) "unable to lookup information about \"%s\" in parsed file %s",
                  name, r->filename);
    return 0;
}

static int file_by_uri(include_ctx_t *ctx, const ssi_arg *arg, const char *uri, apr_finfo_t *finfo)
{
    if (file_looked_up(ctx, arg, uri, ap_sub_req_lookup_uri(uri, ctx->r, NULL), finfo))
        return 1;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                  APLOGNO(01339) "unable to get information about \"%s\" in parsed file %s", uri,
                  ctx->r->filename);
    return 0;
}

static int file_find(include_ctx_t *ctx, const char *element, const ssi_arg *arg,
                     apr_finfo_t *finfo)
{
    const char *name = ssi_expand(ctx, arg->decoded, SSI_EXPAND_DROP_NAME);
    const apr_finfo_t *known = ssi_lookup_find(ctx, arg, name);

    if (known) {
        *finfo = *known;
        return 1;
    }
    if (!strcmp(arg->name, "file"))
        return file_by_name(ctx, arg, name, finfo);
    if (!strcmp(arg->name, "virtual"))
        return file_by_uri(ctx, arg, name, finfo);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                  APLOGNO(01340) "unknown parameter \"%s\" to tag %s in %s", arg->name, element,
                  ctx->r->filename);
    return 0;
}

/* 1,234,567 */
static void file_size_in_bytes(ssi_out *out, apr_off_t size)
{
    char digits[32], text[48];
    int n = apr_snprintf(digits, sizeof digits, "%" APR_OFF_T_FMT, size), to = 0;

    for (int i = 0; i < n; i++) {
        if (i && digits[i - 1] != '-' && (n - i) % 3 == 0)
            text[to++] = ',';
        text[to++] = digits[i];
    }
    ssi_out_bytes(out, text, (apr_size_t)to);
}

static int file_show_size(include_ctx_t *ctx, void *unused, const ssi_arg *arg)
{
    apr_finfo_t finfo;
    char text[5];

    if (!file_find(ctx, "fsize", arg, &finfo))
        return 0;
    if (ctx->flags & SSI_FLAG_SIZE_IN_BYTES)
        file_size_in_bytes(&ctx->intern->out, finfo.size);
    else
        ssi_out_text(&ctx->intern->out, apr_strfsize(finfo.size, text));
    return 1;
}

apr_status_t ssi_do_fsize(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_attributes(ctx, APLOGNO(01350), 1, file_show_size, NULL);
    return APR_SUCCESS;
}

static int file_show_time(include_ctx_t *ctx, void *unused, const ssi_arg *arg)
{
    apr_finfo_t finfo;

    if (!file_find(ctx, "flastmod", arg, &finfo))
        return 0;
    ssi_out_text(&ctx->intern->out, ap_ht_time(ssi_dpool(ctx), finfo.mtime, ctx->time_str, 0));
    return 1;
}

apr_status_t ssi_do_flastmod(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_attributes(ctx, APLOGNO(01351), 1, file_show_time, NULL);
    return APR_SUCCESS;
}
