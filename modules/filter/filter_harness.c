/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness: it stands in the output chain for a smart filter.
 *
 * Only the first data shows the response's properties, so the choice of a provider waits until
 * then. From there on the provider runs in the harness's place in the chain; the harness keeps the
 * provider's context for it.
 */
#include "filter_private.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>

APLOG_USE_MODULE(filter);

/* A provider's context from its initialisation, until it is known which provider runs. */
typedef struct modfilter_prepared {
    const ap_filter_provider_t *provider;
    void *ctx;
    struct modfilter_prepared *next;
} modfilter_prepared;

#define MODFILTER_TAG 0x4d464c54u /* "MFLT" */

typedef struct modfilter_ctx {
    uint32_t tag;            /* MODFILTER_TAG: f->ctx leads here while no provider runs */
    ap_out_filter_func func; /**< of the chosen provider; NULL before the choice */
    void *provider_ctx;
    modfilter_prepared *prepared;
} modfilter_ctx;

/* r->request_config: the Range header while a filter that would break it may run. */
typedef struct modfilter_request {
    const char *range;
} modfilter_request;

static int modfilter_init_provider(ap_filter_t *f, modfilter_ctx *ctx,
                                   const ap_filter_provider_t *provider)
{
    modfilter_prepared *prepared;
    int status;

    if (provider->frec->filter_init_func == NULL)
        return OK;
    f->ctx = NULL;
    status = provider->frec->filter_init_func(f);
    if (status != OK) {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, f->c, APLOGNO(01378) "filter_init for %s failed",
                      provider->frec->name);
        return status;
    }
    prepared = apr_palloc(f->r->pool, sizeof(*prepared));
    prepared->provider = provider;
    prepared->ctx = f->ctx;
    prepared->next = ctx->prepared;
    ctx->prepared = prepared;
    return OK;
}

static modfilter_ctx *modfilter_ctx_make(apr_pool_t *p)
{
    modfilter_ctx *ctx = apr_pcalloc(p, sizeof(*ctx));

    ctx->tag = MODFILTER_TAG;
    return ctx;
}

int modfilter_init(ap_filter_t *f)
{
    modfilter_ctx *ctx = modfilter_ctx_make(f->r->pool);
    const ap_filter_provider_t *provider;

    for (provider = f->frec->providers; provider; provider = provider->next) {
        int status = modfilter_init_provider(f, ctx, provider);

        if (status != OK)
            return status;
    }
    f->ctx = ctx;
    return OK;
}

static void modfilter_trace(const ap_filter_t *f, const apr_bucket_brigade *bb)
{
    const apr_bucket *b;

    BRG_ASSERT(f->r);
    if (f->frec->debug != 1)
        return;
    ap_log_cerror(APLOG_MARK, APLOG_DEBUG, 0, f->c, APLOGNO(01375) "%s", f->frec->name);
    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        ap_log_cerror(APLOG_MARK, APLOG_DEBUG, 0, f->c,
                      APLOGNO(01376) "%s: type: %s, length: %" APR_SIZE_T_FMT, f->frec->name,
                      b->type->name ? b->type->name : "(unknown)", b->length);
    }
}

static int modfilter_matches_expr(request_rec *r, const ap_filter_provider_t *provider)
{
    const char *error = NULL;
    int matches = ap_expr_exec(r, provider->expr, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01379) "Error evaluating filter dispatch condition: %s", error);
        return 0;
    }
    ap_log_rerror(APLOG_MARK, APLOG_TRACE2, 0, r, "Expression condition for '%s' %s",
                  provider->frec->name, matches > 0 ? "matched" : "did not match");
    return matches > 0;
}

static int modfilter_matches_type(request_rec *r, const ap_filter_provider_t *provider)
{
    const char *type = r->content_type, **candidate;
    apr_size_t len;
    int matches = 0;

    if (type == NULL) {
        ap_log_rerror(APLOG_MARK, APLOG_TRACE2, 0, r,
                      "Content-Type condition for '%s' did not match: no Content-Type",
                      provider->frec->name);
        return 0;
    }
    len = strcspn(type, "; \t");
    ap_log_rerror(APLOG_MARK, APLOG_TRACE4, 0, r, "Content-Type '%s' ...", type);
    for (candidate = provider->types; *candidate && !matches; candidate++) {
        matches = strncmp(*candidate, type, len) == 0 && (*candidate)[len] == '\0';
        ap_log_rerror(APLOG_MARK, APLOG_TRACE4, 0, r, "... %s '%s'",
                      matches ? "matched" : "did not match", *candidate);
    }
    ap_log_rerror(APLOG_MARK, APLOG_TRACE2, 0, r, "Content-Type condition for '%s' %s",
                  provider->frec->name, matches ? "matched" : "did not match");
    return matches;
}

/* May a filter of these flags run, should the response come from elsewhere? */
static int modfilter_proxy_allows(const request_rec *r, unsigned int flags)
{
    const char *cache_control;

    if (r->proxyreq == PROXYREQ_NONE)
        return 1;
    if (flags & AP_FILTER_PROTO_NO_PROXY)
        return 0;
    if (flags & AP_FILTER_PROTO_TRANSFORM) {
        cache_control = apr_table_get(r->headers_out, "Cache-Control");
        return cache_control == NULL || ap_strcasestr(cache_control, "no-transform") == NULL;
    }
    return 1;
}

/* Make the headers describe the body behind the provider. */
static void modfilter_adjust_headers(request_rec *r, unsigned int flags)
{
    modfilter_request *kept = ap_get_module_config(r->request_config, &filter_module);

    if (r->proxyreq != PROXYREQ_NONE && (flags & AP_FILTER_PROTO_TRANSFORM)) {
        apr_table_addn(r->headers_out, "Warning",
                       apr_pstrcat(r->pool, "214 ", r->hostname ? r->hostname : "",
                                   " Transformation applied", NULL));
    }
    if (flags & AP_FILTER_PROTO_CHANGE) {
        apr_table_unset(r->headers_out, "Content-MD5");
        apr_table_unset(r->headers_out, "ETag");
        if (flags & AP_FILTER_PROTO_CHANGE_LENGTH)
            apr_table_unset(r->headers_out, "Content-Length");
    }
    if (flags & AP_FILTER_PROTO_NO_CACHE) {
        apr_table_unset(r->headers_out, "Last-Modified");
        apr_table_addn(r->headers_out, "Cache-Control", "no-cache");
    }
    if (flags & AP_FILTER_PROTO_NO_BYTERANGE) {
        apr_table_setn(r->headers_out, "Accept-Ranges", "none");
    } else if (kept && kept->range) {
        apr_table_setn(r->headers_in, "Range", kept->range);
        kept->range = NULL;
    }
}

static const ap_filter_provider_t *modfilter_provider_of(request_rec *r,
                                                         const ap_filter_rec_t *frec)
{
    const ap_filter_provider_t *provider = frec->providers;

    while (provider && !(provider->expr ? modfilter_matches_expr(r, provider)
                                        : modfilter_matches_type(r, provider)))
        provider = provider->next;
    return provider;
}

static unsigned int modfilter_flags_of(const ap_filter_provider_t *provider)
{
    return provider->has_flags ? provider->flags : provider->frec->proto_flags;
}

static int modfilter_choose(ap_filter_t *f, modfilter_ctx *ctx)
{
    request_rec *r = f->r;
    const ap_filter_provider_t *provider = modfilter_provider_of(r, f->frec);
    const modfilter_prepared *prepared;

    if (!provider || !modfilter_proxy_allows(r, modfilter_flags_of(provider)))
        return 0;
    modfilter_adjust_headers(r, modfilter_flags_of(provider));
    for (prepared = ctx->prepared; prepared && prepared->provider != provider;)
        prepared = prepared->next;
    ctx->provider_ctx = prepared ? prepared->ctx : NULL;
    ctx->func = provider->frec->filter_func.out_func;
    return 1;
}

/* Conditions that hold for all providers of the filter. */
static int modfilter_may_run(const ap_filter_t *f)
{
    const request_rec *r = f->r;

    BRG_ASSERT(f->frec);
    return (r->status == HTTP_OK || apr_table_get(r->subprocess_env, "filter-errordocs") != NULL) &&
           modfilter_proxy_allows(r, f->frec->proto_flags);
}

static int modfilter_has_wanted(const ap_filter_rec_t *frec,
                                int (*wanted)(const ap_filter_rec_t *frec))
{
    for (const ap_filter_provider_t *p = frec->providers; p; p = p->next)
        if (wanted(p->frec))
            return 1;
    return 0;
}

const ap_filter_rec_t *brg_filter_chosen(const ap_filter_t *f,
                                         int (*wanted)(const ap_filter_rec_t *frec))
{
    const ap_filter_provider_t *provider;

    if (f->frec->filter_func.out_func != modfilter_harness || !modfilter_may_run(f) ||
        (wanted && !modfilter_has_wanted(f->frec, wanted)))
        return NULL;
    provider = modfilter_provider_of(f->r, f->frec);
    return provider && modfilter_proxy_allows(f->r, modfilter_flags_of(provider)) ? provider->frec
                                                                                  : NULL;
}

/* @return 0: it goes by more than a type */
static int modfilter_is_by_type(const ap_filter_provider_t *provider, const ap_filter_rec_t *frec)
{
    return provider->frec == frec && !provider->expr && !modfilter_flags_of(provider);
}

const char *brg_filter_types(const ap_filter_t *f, apr_pool_t *p, const ap_filter_rec_t **frec)
{
    const ap_filter_rec_t *harness = f->frec;
    apr_size_t len = 1;
    char *types, *to;

    if (harness->filter_func.out_func != modfilter_harness || !harness->providers ||
        harness->debug || harness->proto_flags ||
        apr_table_get(f->r->subprocess_env, "filter-errordocs"))
        return NULL;
    *frec = harness->providers->frec;
    for (const ap_filter_provider_t *of = harness->providers; of; of = of->next) {
        if (!modfilter_is_by_type(of, *frec))
            return NULL;
        for (const char **type = of->types; *type; type++)
            len += strlen(*type) + 1;
    }
    types = to = apr_pcalloc(p, len);
    for (const ap_filter_provider_t *of = harness->providers; of; of = of->next)
        for (const char **type = of->types; *type; type++)
            to = stpcpy(to, *type) + 1;
    BRG_ASSERT(to == types + len - 1);
    return types;
}

apr_status_t modfilter_harness(ap_filter_t *f, apr_bucket_brigade *bb)
{
    modfilter_ctx *ctx = f->ctx;
    apr_status_t status;

    modfilter_trace(f, bb);
    if (ctx == NULL) /* inserted after the handler's filters were initialised */
        ctx = f->ctx = modfilter_ctx_make(f->r->pool);
    BRG_ASSERT_TAG(ctx, MODFILTER_TAG);
    if (ctx->func == NULL && (!modfilter_may_run(f) || !modfilter_choose(f, ctx))) {
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    f->ctx = ctx->provider_ctx;
    status = ctx->func(f, bb);
    ctx->provider_ctx = f->ctx;
    f->ctx = ctx;
    return status;
}

/* Ranges of the handler's output would be wrong behind a filter. */
static void modfilter_keep_range(request_rec *r, const ap_filter_rec_t *filter,
                                 modfilter_request *kept)
{
    const char *range = apr_table_get(r->headers_in, "Range");

    if (range &&
        (filter->proto_flags & (AP_FILTER_PROTO_NO_BYTERANGE | AP_FILTER_PROTO_CHANGE_LENGTH))) {
        kept->range = range;
        apr_table_unset(r->headers_in, "Range");
    }
}

/* The harness waits for nothing; a filter that it runs may. */
static void modfilter_choose_thread(request_rec *r, const ap_filter_rec_t *filter)
{
    for (const ap_filter_provider_t *p = filter->providers; p; p = p->next) {
        if (!brg_filter_is_declared(p->frec)) {
            brg_request_needs_worker(r);
            return;
        }
    }
}

void modfilter_insert(request_rec *r)
{
    const modfilter_conf *conf = ap_get_module_config(r->per_dir_config, &filter_module);
    const modfilter_link *link;
    modfilter_request *kept;

    if (conf->chain == NULL)
        return;
    kept = apr_pcalloc(r->pool, sizeof(*kept));
    ap_set_module_config(r->request_config, &filter_module, kept);
    for (link = conf->chain; link; link = link->next) {
        ap_filter_rec_t *filter = apr_hash_get(conf->filters, link->name, APR_HASH_KEY_STRING);

        if (filter == NULL) {
            ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                          APLOGNO(01380) "Unknown filter %s not added", link->name);
            continue;
        }
        ap_add_output_filter_handle(filter, NULL, r, r->connection);
        modfilter_keep_range(r, filter, kept);
        modfilter_choose_thread(r, filter);
    }
}
