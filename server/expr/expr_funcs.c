/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's functions of expressions: headers and environment, text, files.
 */
#include <stdlib.h>
#include <string.h>
#include "expr_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "util_md5.h"
#include "apr_escape.h"
#include "apr_file_io.h"
#include "apr_sha1.h"
#include "apr_strings.h"

APLOG_USE_MODULE(core);

static const char *expr_f_req_novary(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    const expr_subject *heads = expr_subject_of(ctx);
    const http_head *asked = heads ? heads->asked : NULL;

    if (ctx->r)
        return apr_table_get(ctx->r->headers_in, arg);
    if (asked && asked->authority && !ap_cstr_casecmp(arg, "Host")) /* RFC 9113, 8.3.1 */
        return apr_pstrmemdup(ctx->p, asked->authority, asked->authority_len);
    return expr_head_field(ctx->p, asked, arg);
}

const char *expr_f_req(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    expr_add_vary(ctx, arg);
    return expr_f_req_novary(ctx, data, arg);
}

static const char *expr_f_resp(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    const expr_subject *heads = expr_subject_of(ctx);
    const char *value;

    if (!ctx->r)
        return heads ? expr_head_field(ctx->p, heads->answered, arg) : NULL;
    value = apr_table_get(ctx->r->headers_out, arg);
    if (!value)
        value = apr_table_get(ctx->r->err_headers_out, arg);
    /* It moves to headers_out only when the head is made. */
    if (!value && !ap_cstr_casecmp(arg, "Content-Type"))
        value = ctx->r->content_type;
    return value;
}

static const char *expr_f_reqenv(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return ctx->r ? apr_table_get(ctx->r->subprocess_env, arg) : NULL;
}

static const char *expr_f_note(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return ctx->r ? apr_table_get(ctx->r->notes, arg) : NULL;
}

static const char *expr_f_osenv(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return getenv(arg);
}

static const char *expr_f_env(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    const char *value = expr_f_note(ctx, data, arg);

    if (!value)
        value = expr_f_reqenv(ctx, data, arg);
    return value ? value : getenv(arg);
}

static const char *expr_f_tolower(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    char *text = apr_pstrdup(ctx->p, arg);

    ap_str_tolower(text);
    return text;
}

static const char *expr_f_toupper(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    char *text = apr_pstrdup(ctx->p, arg);

    ap_str_toupper(text);
    return text;
}

static const char *expr_f_escape(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return ap_escape_uri(ctx->p, arg);
}

static const char *expr_f_unescape(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    char *text = apr_pstrdup(ctx->p, arg);
    int rc = ap_unescape_url_keep2f(text, 0);

    if (rc == OK)
        return text;
    if (ctx->r)
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, ctx->r,
                      APLOGNO(00538) "%s %% escape in unescape('%s') at %s:%d",
                      rc == HTTP_BAD_REQUEST ? "Bad" : "Forbidden", arg, ctx->info->filename,
                      (int)ctx->info->line_number);
    return NULL;
}

static const char *expr_f_base64(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return ap_pbase64encode(ctx->p, (char *)arg);
}

static const char *expr_f_unbase64(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return ap_pbase64decode(ctx->p, arg);
}

static const char *expr_f_md5(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return ap_md5(ctx->p, (const unsigned char *)arg);
}

static const char *expr_f_sha1(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    char *text = apr_palloc(ctx->p, 2 * APR_SHA1_DIGESTSIZE + 1);
    apr_sha1_ctx_t sha1;

    apr_sha1_init(&sha1);
    apr_sha1_update(&sha1, arg, (unsigned)strlen(arg));
    apr_sha1_final(digest, &sha1);
    ap_bin2hex(digest, APR_SHA1_DIGESTSIZE, text);
    return text;
}

static const char *expr_f_ldap(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    return apr_pescape_ldap(ctx->p, arg, APR_ESCAPE_STRING, APR_ESCAPE_LDAP_ALL);
}

static const char *expr_f_file(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_file_t *file;
    apr_finfo_t info;
    apr_size_t len = 0;
    apr_status_t rv;
    char *text = NULL;

    rv = apr_file_open(&file, arg, APR_READ, APR_OS_DEFAULT, ctx->p);
    if (rv != APR_SUCCESS) {
        *ctx->err = apr_psprintf(ctx->p, "Cannot open file %s", arg);
        return NULL;
    }
    rv = apr_file_info_get(&info, APR_FINFO_SIZE | APR_FINFO_TYPE, file);
    if (rv == APR_SUCCESS && info.filetype == APR_DIR)
        rv = APR_EINVAL;
    if (rv == APR_SUCCESS) {
        text = apr_palloc(ctx->p, (apr_size_t)info.size + 1);
        rv = apr_file_read_full(file, text, (apr_size_t)info.size, &len);
        BRG_ASSERT(len <= (apr_size_t)info.size);
        text[len] = '\0';
    }
    apr_file_close(file);
    if (rv == APR_SUCCESS || (rv == APR_EOF && text))
        return text;
    *ctx->err = apr_psprintf(ctx->p, "Cannot read from file %s", arg);
    return NULL;
}

static const char *expr_f_filesize(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_finfo_t info;

    if (apr_stat(&info, arg, APR_FINFO_MIN, ctx->p) != APR_SUCCESS || info.filetype != APR_REG)
        return "0";
    return apr_off_t_toa(ctx->p, info.size);
}

#define OFFER(name, func, flags)                 \
    {                                            \
        name, (const void *)func, flags, 0, NULL \
    }

const expr_offer expr_core_funcs[] = {
    OFFER("req", expr_f_req, EXPR_O_HEAD),
    OFFER("http", expr_f_req, EXPR_O_HEAD),
    OFFER("req_novary", expr_f_req_novary, EXPR_O_HEAD),
    OFFER("resp", expr_f_resp, EXPR_O_SITE | EXPR_O_ANSWER),
    OFFER("reqenv", expr_f_reqenv, EXPR_O_ENV),
    OFFER("v", expr_f_reqenv, EXPR_O_ENV),
    OFFER("note", expr_f_note, 0),
    OFFER("osenv", expr_f_osenv, EXPR_O_SITE),
    OFFER("env", expr_f_env, 0),
    OFFER("tolower", expr_f_tolower, EXPR_O_STATIC),
    OFFER("toupper", expr_f_toupper, EXPR_O_STATIC),
    OFFER("escape", expr_f_escape, EXPR_O_STATIC),
    OFFER("unescape", expr_f_unescape, EXPR_O_STATIC),
    OFFER("base64", expr_f_base64, EXPR_O_STATIC),
    OFFER("unbase64", expr_f_unbase64, EXPR_O_STATIC),
    OFFER("md5", expr_f_md5, EXPR_O_STATIC),
    OFFER("sha1", expr_f_sha1, EXPR_O_STATIC),
    OFFER("ldap", expr_f_ldap, EXPR_O_STATIC),
    OFFER("file", expr_f_file, EXPR_O_RESTRICTED | EXPR_O_FILE),
    OFFER("filesize", expr_f_filesize, EXPR_O_RESTRICTED | EXPR_O_FILE),
    OFFER(NULL, NULL, 0),
};
