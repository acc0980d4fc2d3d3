/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output filter: of several blanks, tabs and line ends in a row, one stays.
 *
 *     brigade-apxs -c -i -a mod_sample_output.c
 *
 *     AddOutputFilter SQUEEZE html
 *
 *     brigade-filter-test mod_sample_output.so SQUEEZE < page.html
 *
 * It shows what a filter that changes content has to do: keep its state between calls, pass
 * metadata on in its place, read buckets whose length is not known, change the headers that depend
 * on the content, and stop when the next filter fails. It also tells Brigade that it waits for
 * nothing but what it reads, so that responses with it are made on event loops; elsewhere that part
 * is left out.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_buckets.h"

#if defined(__has_include)
#if __has_include("brigade/response_cache.h")
#include "brigade/response_cache.h"
#define SQUEEZE_DECLARES 1
#endif
#endif

module AP_MODULE_DECLARE_DATA sample_output_module;

/* Of one response. */
typedef struct squeeze_ctx {
    int in_space; /* the last byte that was seen is white space, and it was sent */
} squeeze_ctx;

static int squeeze_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A squeezed copy of the data, from the bucket allocator; its length in *len. */
static char *squeeze_copy(ap_filter_t *f, squeeze_ctx *ctx, const char *data, apr_size_t *len)
{
    char *copy = apr_bucket_alloc(*len, f->c->bucket_alloc);
    apr_size_t n = 0;

    for (apr_size_t i = 0; i < *len; i++) {
        int space = squeeze_is_space(data[i]);

        if (!space || !ctx->in_space)
            copy[n++] = data[i];
        ctx->in_space = space;
    }
    *len = n;
    return copy;
}

/* What the bucket holds is put before it, changed. Reading a bucket of unknown length puts the rest
 * behind it. */
static apr_status_t squeeze_bucket(ap_filter_t *f, apr_bucket *b)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);

    if (rv == APR_SUCCESS && len) {
        char *copy = squeeze_copy(f, f->ctx, data, &len);

        APR_BUCKET_INSERT_BEFORE(
            b, apr_bucket_heap_create(copy, len, apr_bucket_free, f->c->bucket_alloc));
    }
    return rv;
}

static apr_status_t squeeze_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *b = APR_BRIGADE_FIRST(bb);

    if (!f->ctx) { /* the first brigade */
        f->ctx = apr_pcalloc(f->r->pool, sizeof(squeeze_ctx));
        apr_table_unset(f->r->headers_out, "Content-Length");
        apr_table_unset(f->r->headers_out, "Content-MD5");
    }
    while (b != APR_BRIGADE_SENTINEL(bb)) {
        apr_bucket *done = b;
        apr_status_t rv;

        if (!APR_BUCKET_IS_METADATA(b)) {
            rv = squeeze_bucket(f, b);
            if (rv != APR_SUCCESS)
                return rv;
        }
        b = APR_BUCKET_NEXT(b); /* not before it was read */
        if (!APR_BUCKET_IS_METADATA(done))
            apr_bucket_delete(done);
    }
    return ap_pass_brigade(f->next, bb); /* its result is ours */
}

static void squeeze_register_hooks(apr_pool_t *p)
{
    ap_register_output_filter_protocol("SQUEEZE", squeeze_filter, NULL, AP_FTYPE_RESOURCE,
                                       AP_FILTER_PROTO_CHANGE | AP_FILTER_PROTO_CHANGE_LENGTH);
#ifdef SQUEEZE_DECLARES
    brg_cache_declare(&sample_output_module,
                           NULL); /* the output follows from the content alone */
#endif
}

AP_DECLARE_MODULE(sample_output) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL,
                                    squeeze_register_hooks,  0};
