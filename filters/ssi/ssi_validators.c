/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a complete page: its length, its validators, and whether the response cache may store
 * it.
 *
 * Validators cover all parts: Last-Modified is the newest part's, and the ETag is made of the bytes
 * that were rendered, so it changes with every file, variable and setting that shows in them.
 */
#include "ssi_depends_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

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

static void digest_add(ssi_digest *d, const char *data, apr_size_t len)
{
    apr_size_t have = d->len & 7;
    apr_uint64_t w;

    BRG_ASSERT(data != NULL || !len);
    BRG_ASSERT(d->len || (!d->a && !d->b));

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

/* The bytes are in memory. Bytes of a file or a pipe are not read twice. */
static int digest_is_there(const apr_bucket *e)
{
    return SSI_BUCKET_IS_SPAN(e) || APR_BUCKET_IS_HEAP(e) || APR_BUCKET_IS_POOL(e) ||
           APR_BUCKET_IS_TRANSIENT(e) || APR_BUCKET_IS_IMMORTAL(e) || APR_BUCKET_IS_MMAP(e);
}

void ssi_digest_brigade(ssi_top *top, apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); top->kept_page && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e))
            continue;
        if (digest_is_there(e) && apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS)
            digest_add(&top->digest, data, len);
        else
            ssi_depends_top(top, SSI_DEPENDS_VOLATILE);
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

    return (ssi_validators){
        .etag = digest_tag(top->r->pool, digest),
        .vary = complete_vary(top),
        .newest = top->depends & (SSI_DEPENDS_FIELDS | SSI_DEPENDS_UNDATED) ? 0 : top->newest,
        .large = ctx->intern->out.passed};
}

static void validators_set_vary(request_rec *r, const char *fields)
{
    const char *name;

    while (*fields && *(name = ap_getword(r->pool, &fields, ',')))
        if (!ap_find_token(r->pool, apr_table_get(r->headers_out, "Vary"), name))
            apr_table_mergen(r->headers_out, "Vary", name);
}

/* Headers for @a found. */
static void ssi_validators_set(request_rec *r, const ssi_dir_conf *conf,
                               const ssi_validators *found)
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

    BRG_ASSERT(known->etag != NULL);
    BRG_ASSERT(!r->main);

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

/* Bytes read of files stay in the buckets, which are sent next. @return -1: it cannot be read */
static int complete_digest(const apr_bucket_brigade *bb, ssi_digest *digest)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_METADATA(e))
            continue;
        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return -1;
        digest_add(digest, data, len);
    }
    return 0;
}

static int complete_validators(include_ctx_t *ctx)
{
    request_rec *r = ctx->r;
    ssi_digest digest = {0};
    ssi_validators found;

    BRG_ASSERT(!(ctx->intern->top->depends & SSI_DEPENDS_VOLATILE));
    if (complete_digest(ctx->intern->out.bb, &digest))
        return OK;
    found = complete_found(ctx, &digest);
    ssi_validators_set(r, ctx->intern->conf, &found);
    if (!(ctx->intern->top->depends & SSI_DEPENDS_UNKEPT))
        ssi_rendering_keep(ctx, &found);
    return r->method_number == M_GET && r->status == HTTP_OK ? ap_meets_conditions(r) : OK;
}

/*
 * A part was sent already, so these validators are for the next request of the page. If an ETag was sent
 * that is wrong now, since a file was changed meanwhile, the response must not look complete.
 */
static int complete_streamed(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;
    ssi_top *top = s->top;
    ssi_validators found = {0};

    BRG_ASSERT(s->out.passed);
    ssi_digest_brigade(top, s->out.bb);
    if (top->kept_page && !(top->depends & SSI_DEPENDS_UNKEPT)) {
        found = complete_found(ctx, &top->digest);
        ssi_rendering_keep(ctx, &found);
    }
    if (!top->announced_tag || (found.etag && !strcmp(found.etag, top->announced_tag)))
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                  "a part of the page changed while it was sent: the response is cut off: %s",
                  ctx->r->filename);
    return HTTP_BAD_GATEWAY;
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
    int is_volatile = s->top->depends & SSI_DEPENDS_VOLATILE, status = OK;
    int is_kept = !(s->top->depends & ~SSI_DEPENDS_KEPT);

    BRG_ASSERT_TAG(s, SSI_STATE_TAG);
    BRG_ASSERT_TAG(s->top, SSI_TOP_TAG);
    BRG_ASSERT(!s->page && !s->top->rerun);
    if (!complete_is_outermost(ctx) || s->out.status != APR_SUCCESS)
        return OK;
    ssi_out_end_block(&s->out);
    if (s->out.passed)
        return complete_streamed(ctx);
    if (s->top->announced_tag) {
        ssi_headers_prepare(r, s->conf);
        apr_table_unset(r->headers_out, "ETag");
    }
    if (s->top->besides)
        return OK; /* the length of other workers' output is not known */
    ap_set_content_length(r, (apr_off_t)len);
    if (is_volatile || (!parts && !is_kept))
        return OK;
    if (parts)
        status = complete_validators(ctx);
    if (is_kept) {
        BRG_ASSERT(s->top->paths && s->top->paths->nelts > 0); /* the page's own file */
        APR_ARRAY_PUSH(s->top->paths, const char *) = NULL;
        brg_cache_offer_brigade(r, s->f->next, s->out.bb, len,
                                (const char *const *)(const void *)s->top->paths->elts);
    }
    return status;
}
