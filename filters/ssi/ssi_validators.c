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
#include "brigade/response_cache.h"

void ssi_track_top(ssi_top *top, int what)
{
    top->track |= what;
}

void ssi_track(include_ctx_t *ctx, int what)
{
    ctx->intern->top->track |= what;
}

void ssi_track_path(ssi_top *top, const char *path, const apr_finfo_t *finfo)
{
    apr_pool_t *p = top->r->pool;

    if (top->track & SSI_TRACK_VOLATILE)
        return;
    if (!path || *path != '/') {
        top->track |= SSI_TRACK_VOLATILE;
        return;
    }
    if (finfo && finfo->mtime > top->newest)
        top->newest = finfo->mtime;
    if (!top->paths) {
        top->paths = apr_array_make(p, 8, sizeof(char *));
        top->paths_seen = apr_hash_make(p);
    }
    if (apr_hash_get(top->paths_seen, path, APR_HASH_KEY_STRING))
        return;
    path = apr_pstrdup(p, path);
    apr_hash_set(top->paths_seen, path, APR_HASH_KEY_STRING, path);
    APR_ARRAY_PUSH(top->paths, const char *) = path;
    if (top->document)
        ssi_variant_part(top, path, finfo);
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

/* Its value is noted by who reads it. */
static void track_vary(ssi_top *top, const char *field)
{
    top->track |= SSI_TRACK_HEADERS;
    if (!top->vary)
        top->vary = apr_array_make(top->r->pool, 4, sizeof(char *));
    for (int i = 0; i < top->vary->nelts; i++)
        if (!strcasecmp(APR_ARRAY_IDX(top->vary, i, const char *), field))
            return;
    APR_ARRAY_PUSH(top->vary, const char *) = apr_pstrdup(top->r->pool, field);
}

void ssi_track_field(ssi_top *top, const char *name)
{
    if ((top->track & SSI_TRACK_VOLATILE) || !strcasecmp(name, "Host"))
        return;
    track_vary(top, name);
    ssi_variant_read(top, name, apr_table_get(top->r->headers_in, name), SSI_READ_FIELD);
}

void ssi_track_name(include_ctx_t *ctx, const char *name)
{
    ssi_top *top = ctx->intern->top;

    if (top->track & SSI_TRACK_VOLATILE)
        return;
    if (!strncasecmp(name, "HTTP_", 5)) {
        if (strcasecmp(name + 5, "HOST"))
            track_vary(top, track_header_name(top->r->pool, name + 5));
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

/* What the look-up went by on its way to sub->filename: a folder, index files that are not there. */
static void track_asked(ssi_top *top, const request_rec *sub)
{
    const char *paths[16];
    int n = top->depends_n, most = (int)(sizeof paths / sizeof *paths), all;

    do {
        all = brg_cache_dependencies(sub, n, paths, most);
        for (int i = 0; n + i < all && i < most && top->document; i++) {
            const char *path = paths[i];

            if (!strcmp(path, sub->filename) ||
                apr_hash_get(top->paths_seen, path, APR_HASH_KEY_STRING))
                continue;
            path = apr_pstrdup(top->r->pool, path);
            apr_hash_set(top->paths_seen, path, APR_HASH_KEY_STRING, path);
            ssi_variant_asked(top, path);
        }
        n += most;
    } while (n < all);
    if (all < 0)
        top->track |= SSI_TRACK_VOLATILE;
    top->depends_n = all;
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
    if (brg_cache_ask(sub) == BRG_CACHE_VOLATILE)
        top->track |= SSI_TRACK_ASKED;
    ssi_track_path(top, sub->filename, sub->finfo.filetype == APR_REG ? &sub->finfo : NULL);
    if (top->document && !(top->track & SSI_TRACK_VOLATILE)) {
        track_asked(top, sub);
        ssi_variant_htaccess(top, sub, ctx->r->htaccess);
    }
}

/* ---- the ETag ---- */

static apr_uint64_t digest_step(apr_uint64_t h, apr_uint64_t w)
{
    unsigned __int128 m = (unsigned __int128)(h ^ w) * 0x9e3779b97f4a7c15ull;

    return (apr_uint64_t)m ^ (apr_uint64_t)(m >> 64);
}

static void digest_word(ssi_digest *d, apr_uint64_t w)
{
    d->a = digest_step(d->a, w);
    d->b = digest_step(d->b ^ d->a, w);
}

/* The same however the bytes are cut. */
static void digest_add(ssi_digest *d, const char *data, apr_size_t len)
{
    apr_size_t have = d->len & 7;
    apr_uint64_t w;

    if (!d->len) {
        d->a = 0x243f6a8885a308d3ull;
        d->b = 0x13198a2e03707344ull;
    }
    d->len += len;
    for (; have && len; len--) {
        d->rest[have++] = (unsigned char)*data++;
        if (have == 8) {
            memcpy(&w, d->rest, 8);
            digest_word(d, w);
            have = 0;
        }
    }
    for (; len >= 8; data += 8, len -= 8) {
        memcpy(&w, data, 8);
        digest_word(d, w);
    }
    if (len)
        memcpy(d->rest, data, len);
}

static const char *digest_tag(apr_pool_t *p, const ssi_digest *d)
{
    ssi_digest end = *d;
    apr_uint64_t w = 0;

    memcpy(&w, d->rest, d->len & 7);
    digest_word(&end, w);
    digest_word(&end, d->len);
    return apr_psprintf(p, "\"%016" APR_UINT64_T_HEX_FMT "%016" APR_UINT64_T_HEX_FMT "\"", end.a,
                        end.b);
}

/* What has to be read from elsewhere is not read twice. */
static int digest_is_there(const apr_bucket *e)
{
    return SSI_BUCKET_IS_SPAN(e) || APR_BUCKET_IS_HEAP(e) || APR_BUCKET_IS_POOL(e) ||
           APR_BUCKET_IS_TRANSIENT(e) || APR_BUCKET_IS_IMMORTAL(e) || APR_BUCKET_IS_MMAP(e);
}

void ssi_digest_brigade(ssi_top *top, apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); top->document && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e))
            continue;
        if (digest_is_there(e) && apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS)
            digest_add(&top->digest, data, len);
        else
            ssi_track_top(top, SSI_TRACK_VOLATILE);
    }
}

/* ---- completion ---- */

static const char *complete_vary(const ssi_top *top)
{
    return top->vary ? apr_array_pstrcat(top->r->pool, top->vary, ',') : NULL;
}

static ssi_validators complete_found(include_ctx_t *ctx, const ssi_digest *digest)
{
    ssi_top *top = ctx->intern->top;

    return (ssi_validators){.etag = digest_tag(top->r->pool, digest),
                            .vary = complete_vary(top),
                            .newest = top->track & SSI_TRACK_HEADERS ? 0 : top->newest,
                            .large = ctx->intern->out.passed};
}

static void validators_set_vary(request_rec *r, const char *fields)
{
    const char *name;

    while (*fields && *(name = ap_getword(r->pool, &fields, ',')))
        if (!ap_find_token(r->pool, apr_table_get(r->headers_out, "Vary"), name))
            apr_table_mergen(r->headers_out, "Vary", name);
}

void ssi_validators_set(request_rec *r, const ssi_dir_conf *conf, const ssi_validators *found)
{
    if (conf->last_modified == SSI_PARTS && found->newest) {
        r->mtime = 0;
        ap_update_mtime(r, found->newest);
        ap_set_last_modified(r);
    }
    if (conf->etag == SSI_PARTS)
        apr_table_set(r->headers_out, "ETag", found->etag);
    if (found->vary)
        validators_set_vary(r, apr_pstrdup(r->pool, found->vary));
    r->no_local_copy = 0;
}

int ssi_validators_meet(request_rec *r, const ssi_validators *known)
{
    const ssi_dir_conf *conf = ssi_conf_of(r);
    int before = r->no_local_copy, status;

    ssi_headers_prepare(r, conf);
    ssi_validators_set(r, conf, known);
    status = ap_meets_conditions(r);
    if (status != OK)
        return status;
    if (known->large) {
        ssi_link_of(r)->top->announced_tag = apr_pstrdup(r->pool, known->etag);
        return OK;
    }
    r->no_local_copy = before;
    if (conf->etag == SSI_PARTS)
        apr_table_unset(r->headers_out, "ETag");
    return OK;
}

static int complete_validators(include_ctx_t *ctx, const char *body, apr_size_t len)
{
    request_rec *r = ctx->r;
    ssi_digest digest = {0};
    ssi_validators found;

    digest_add(&digest, body, len);
    found = complete_found(ctx, &digest);
    ssi_validators_set(r, ctx->intern->conf, &found);
    if (!(ctx->intern->top->track & SSI_TRACK_ASKED))
        ssi_variant_keep(ctx, &found);
    return r->method_number == M_GET && r->status == HTTP_OK ? ap_meets_conditions(r) : OK;
}

/*
 * Much of it is with the client. The validators are for the next one; if they were sent already and
 * are wrong now, since a file was changed meanwhile, the response must not look complete.
 */
static int complete_streamed(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;
    ssi_top *top = s->top;
    ssi_validators found = {0};

    ssi_digest_brigade(top, s->out.bb);
    if (top->document && !(top->track & (SSI_TRACK_VOLATILE | SSI_TRACK_ASKED))) {
        found = complete_found(ctx, &top->digest);
        ssi_variant_keep(ctx, &found);
    }
    if (!top->announced_tag || (found.etag && !strcmp(found.etag, top->announced_tag)))
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                  "a part changed while the page was sent, which ends here: %s", ctx->r->filename);
    return HTTP_BAD_GATEWAY;
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

    if (!complete_is_outermost(ctx) || s->out.status != APR_SUCCESS)
        return OK;
    ssi_out_settle(&s->out);
    if (s->out.passed)
        return complete_streamed(ctx);
    if (s->top->announced_tag) {
        ssi_headers_prepare(r, s->conf);
        apr_table_unset(r->headers_out, "ETag");
    }
    ap_set_content_length(r, (apr_off_t)len);
    if (volatile_ || (!parts && s->top->track) || !(body = complete_flat(ctx, len)))
        return OK;
    if (parts)
        status = complete_validators(ctx, body, len);
    if (!s->top->track) {
        APR_ARRAY_PUSH(s->top->paths, const char *) = NULL;
        brg_cache_offer_body(r, s->f->next, body, len,
                             (const char *const *)(const void *)s->top->paths->elts);
    }
    return status;
}
