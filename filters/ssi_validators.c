/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the output of a page depends on, and what follows from that when it is complete: length,
 * validators, and whether the answer may be remembered.
 *
 * Validators cover all parts: Last-Modified is the newest part's, and the ETag is made of the bytes
 * that were rendered, so it changes with every file, variable and setting that shows in them.
 */
#include "ssi_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/resolution.h"

void ssi_track_top(ssi_top *top, int what)
{
    top->track |= what;
}

void ssi_track(include_ctx_t *ctx, int what)
{
    ctx->intern->top->track |= what;
}

void ssi_track_path(ssi_top *top, const char *path, apr_time_t mtime)
{
    apr_pool_t *p = top->r->pool;

    if (top->track & SSI_TRACK_VOLATILE)
        return;
    if (!path || *path != '/') {
        top->track |= SSI_TRACK_VOLATILE;
        return;
    }
    if (mtime > top->newest)
        top->newest = mtime;
    if (!top->paths) {
        top->paths = apr_array_make(p, 8, sizeof(char *));
        top->paths_seen = apr_hash_make(p);
    }
    if (apr_hash_get(top->paths_seen, path, APR_HASH_KEY_STRING))
        return;
    path = apr_pstrdup(p, path);
    apr_hash_set(top->paths_seen, path, APR_HASH_KEY_STRING, path);
    APR_ARRAY_PUSH(top->paths, const char *) = path;
}

/* ---- variables ---- */

/* Those of the connection and of the moment. All others come from the URI, the configuration and
 * the file, or from modules, which tell the server themselves what they depend on. */
static const char *const track_volatile[] = {"DATE_LOCAL",      "DATE_GMT",     "REQUEST_METHOD",
                                             "SERVER_PROTOCOL", "SERVER_ADDR",  "SERVER_PORT",
                                             "CONTENT_LENGTH",  "CONTENT_TYPE", "AUTH_TYPE",
                                             "UNIQUE_ID",       "HTTPS",        "REQUEST_SCHEME"};

static const char *track_header_name(apr_pool_t *p, const char *var)
{
    char *name = apr_pstrdup(p, var), last = '-';

    for (char *c = name; *c; last = *c++)
        *c = *c == '_' ? '-' : (char)(last == '-' ? apr_toupper(*c) : apr_tolower(*c));
    return name;
}

static void track_header(ssi_top *top, const char *var)
{
    top->track |= SSI_TRACK_HEADERS;
    if (!top->vary)
        top->vary = apr_array_make(top->r->pool, 4, sizeof(char *));
    APR_ARRAY_PUSH(top->vary, const char *) = track_header_name(top->r->pool, var);
}

void ssi_track_name(include_ctx_t *ctx, const char *name)
{
    ssi_top *top = ctx->intern->top;

    if (top->track & SSI_TRACK_VOLATILE)
        return;
    if (!strncasecmp(name, "HTTP_", 5)) {
        if (strcasecmp(name + 5, "HOST"))
            track_header(top, name + 5);
        return;
    }
    if (!strncasecmp(name, "REMOTE_", 7) || !strncasecmp(name, "SSL_", 4) ||
        !strncasecmp(name, "REDIRECT_", 9)) {
        top->track |= SSI_TRACK_VOLATILE;
        return;
    }
    for (size_t i = 0; i < sizeof track_volatile / sizeof *track_volatile; i++)
        if (!strcasecmp(name, track_volatile[i]))
            top->track |= SSI_TRACK_VOLATILE;
}

/* A look-up is a matter of files, if the modules that took part in it say so. Whatever it found:
 * its path is watched. */
void ssi_track_lookup(include_ctx_t *ctx, request_rec *sub)
{
    ssi_top *top = ctx->intern->top;

    if (top->track & SSI_TRACK_VOLATILE)
        return;
    if ((sub->finfo.filetype != APR_REG && sub->finfo.filetype != APR_NOFILE) ||
        (sub->status != HTTP_OK && sub->status != HTTP_NOT_FOUND)) {
        top->track |= SSI_TRACK_VOLATILE;
        return;
    }
    if (brg_resolution_ask(sub) == BRG_RESOLUTION_VOLATILE)
        top->track |= SSI_TRACK_ASKED;
    ssi_track_path(top, sub->filename, sub->finfo.filetype == APR_REG ? sub->finfo.mtime : 0);
}

/* ---- the ETag ---- */

static apr_uint64_t digest_step(apr_uint64_t h, apr_uint64_t w)
{
    unsigned __int128 m = (unsigned __int128)(h ^ w) * 0x9e3779b97f4a7c15ull;

    return (apr_uint64_t)m ^ (apr_uint64_t)(m >> 64);
}

static const char *digest_body(apr_pool_t *p, const char *body, apr_size_t len)
{
    apr_uint64_t a = 0x243f6a8885a308d3ull, b = 0x13198a2e03707344ull, w = len;

    a = digest_step(a, len);
    for (; len >= 8; body += 8, len -= 8) {
        memcpy(&w, body, 8);
        a = digest_step(a, w);
        b = digest_step(b ^ a, w);
    }
    w = 1;
    while (len--)
        w = w << 8 | (unsigned char)*body++;
    a = digest_step(a, w);
    b = digest_step(b ^ a, w);
    return apr_psprintf(p, "\"%016" APR_UINT64_T_HEX_FMT "%016" APR_UINT64_T_HEX_FMT "\"", a, b);
}

/* ---- completion ---- */

static int complete_validators(include_ctx_t *ctx, const char *body, apr_size_t len)
{
    request_rec *r = ctx->r;
    const ssi_dir_conf *conf = ctx->intern->conf;
    ssi_top *top = ctx->intern->top;

    if (conf->last_modified == SSI_PARTS && !(top->track & SSI_TRACK_HEADERS)) {
        r->mtime = 0;
        ap_update_mtime(r, top->newest);
        ap_set_last_modified(r);
    }
    if (conf->etag == SSI_PARTS)
        apr_table_setn(r->headers_out, "ETag", digest_body(r->pool, body, len));
    for (int i = 0; top->vary && i < top->vary->nelts; i++)
        apr_table_mergen(r->headers_out, "Vary", APR_ARRAY_IDX(top->vary, i, const char *));
    r->no_local_copy = 0;
    return r->method_number == M_GET && r->status == HTTP_OK ? ap_meets_conditions(r) : OK;
}

static const char *complete_flat(include_ctx_t *ctx, apr_size_t len)
{
    char *body = apr_palloc(ctx->pool, len + 1);
    apr_size_t n = len;

    brg_buffer_copied(len);
    return apr_brigade_flatten(ctx->intern->out.bb, body, &n) == APR_SUCCESS && n == len ? body
                                                                                         : NULL;
}

static int complete_is_outermost(const include_ctx_t *ctx)
{
    return !ctx->r->main && ctx->intern->top->r == ctx->r;
}

int ssi_complete(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;
    request_rec *r = ctx->r;
    apr_size_t len = s->out.held;
    int parts = s->conf->last_modified == SSI_PARTS || s->conf->etag == SSI_PARTS;
    int volatile_ = s->top->track & SSI_TRACK_VOLATILE, status = OK;
    const char *body;

    if (!complete_is_outermost(ctx) || s->out.passed || s->out.status != APR_SUCCESS)
        return OK;
    ssi_out_settle(&s->out);
    ap_set_content_length(r, (apr_off_t)len);
    if (volatile_ || (!parts && s->top->track) || !(body = complete_flat(ctx, len)))
        return OK;
    if (parts)
        status = complete_validators(ctx, body, len);
    if (!s->top->track) {
        APR_ARRAY_PUSH(s->top->paths, const char *) = NULL;
        brg_resolution_offer_body(r, s->f->next, body, len,
                                  (const char *const *)(const void *)s->top->paths->elts);
    }
    return status;
}
