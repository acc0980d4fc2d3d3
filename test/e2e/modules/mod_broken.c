/* SPDX-License-Identifier: Apache-2.0 */
/* Filters with one mistake each, and two without any, to see that brigade-filter-test tells them
 * apart. They make x of every letter a that follows a letter b. */
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <string.h>

typedef struct broken_ctx {
    char last;
    apr_bucket_brigade *out;
    const char *kept;
    apr_size_t kept_len;
} broken_ctx;

static broken_ctx *broken_ctx_of(ap_filter_t *f)
{
    broken_ctx *ctx = f->ctx;

    if (!ctx) {
        ctx = f->ctx = apr_pcalloc(f->r->pool, sizeof *ctx);
        ctx->out = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    }
    return ctx;
}

/* The changed copy of a data bucket in its place. */
static apr_status_t broken_change(ap_filter_t *f, apr_bucket *b, char *last)
{
    const char *data;
    apr_size_t len;
    char *copy;
    apr_status_t rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);

    if (rv != APR_SUCCESS || !len)
        return rv;
    copy = apr_bucket_alloc(len, f->c->bucket_alloc);
    for (apr_size_t i = 0; i < len; i++) {
        copy[i] = *last == 'b' && data[i] == 'a' ? 'x' : data[i];
        *last = data[i];
    }
    APR_BUCKET_INSERT_BEFORE(
        b, apr_bucket_heap_create(copy, len, apr_bucket_free, f->c->bucket_alloc));
    return APR_SUCCESS;
}

static apr_status_t broken_each(ap_filter_t *f, apr_bucket_brigade *bb, char *last)
{
    apr_bucket *b, *next;
    apr_status_t rv = APR_SUCCESS;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb) && rv == APR_SUCCESS; b = next) {
        next = APR_BUCKET_NEXT(b);
        if (APR_BUCKET_IS_METADATA(b))
            continue;
        rv = broken_change(f, b, last);
        next = APR_BUCKET_NEXT(b);
        apr_bucket_delete(b);
    }
    return rv;
}

static apr_status_t good(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_status_t rv = broken_each(f, bb, &broken_ctx_of(f)->last);

    return rv == APR_SUCCESS ? ap_pass_brigade(f->next, bb) : rv;
}

/* Forgets what the brigade before ended with. */
static apr_status_t cut(ap_filter_t *f, apr_bucket_brigade *bb)
{
    char last = 0;
    apr_status_t rv = broken_each(f, bb, &last);

    return rv == APR_SUCCESS ? ap_pass_brigade(f->next, bb) : rv;
}

/* Takes away the first bucket that is of a kind. */
static void broken_drop(apr_bucket_brigade *bb, int (*is)(const apr_bucket *b))
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        if (is(b)) {
            apr_bucket_delete(b);
            return;
        }
    }
}

static int is_eos(const apr_bucket *b)
{
    return APR_BUCKET_IS_EOS(b);
}

static int is_flush(const apr_bucket *b)
{
    return APR_BUCKET_IS_FLUSH(b);
}

static int is_other(const apr_bucket *b)
{
    return APR_BUCKET_IS_METADATA(b) && !is_eos(b) && !is_flush(b);
}

static apr_status_t no_eos(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_drop(bb, is_eos);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t no_flush(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_drop(bb, is_flush);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t no_meta(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_drop(bb, is_other);
    return ap_pass_brigade(f->next, bb);
}

static int broken_at_end(apr_bucket_brigade *bb)
{
    return !APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb));
}

static apr_status_t two_eos(ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (broken_at_end(bb))
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t after_eos(ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (broken_at_end(bb))
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create("-", 1, f->c->bucket_alloc));
    apr_table_unset(f->r->headers_out, "Content-Length");
    return ap_pass_brigade(f->next, bb);
}

/* A bucket that was passed on belongs to the next filter. */
static apr_status_t twice(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_ctx *ctx = broken_ctx_of(f);
    apr_bucket *first = APR_BRIGADE_FIRST(bb);
    apr_status_t rv;

    apr_table_unset(f->r->headers_out, "Content-Length");
    if (APR_BRIGADE_EMPTY(bb) || APR_BUCKET_IS_METADATA(first))
        return ap_pass_brigade(f->next, bb);
    APR_BUCKET_REMOVE(first);
    APR_BRIGADE_INSERT_TAIL(ctx->out, first);
    rv = ap_pass_brigade(f->next, ctx->out);
    APR_BRIGADE_INSERT_HEAD(bb, first);
    return rv == APR_SUCCESS ? ap_pass_brigade(f->next, bb) : rv;
}

static apr_status_t no_remove(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_ctx *ctx = broken_ctx_of(f);

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb), *next; b != APR_BRIGADE_SENTINEL(bb); b = next) {
        next = APR_BUCKET_NEXT(b);
        APR_BRIGADE_INSERT_TAIL(ctx->out, b);
    }
    return ap_pass_brigade(f->next, ctx->out);
}

/* Keeps the pointer to the last byte and sends it with the next brigade. */
static apr_status_t transient(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_ctx *ctx = broken_ctx_of(f);
    apr_bucket *last = APR_BRIGADE_LAST(bb);
    const char *data;
    apr_size_t len;

    if (ctx->kept) {
        APR_BRIGADE_INSERT_HEAD(
            bb, apr_bucket_immortal_create(ctx->kept, ctx->kept_len, f->c->bucket_alloc));
        ctx->kept = NULL;
    }
    if (!APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_TRANSIENT(last)) {
        apr_bucket_read(last, &data, &len, APR_BLOCK_READ);
        ctx->kept = data;
        ctx->kept_len = len;
        apr_bucket_delete(last);
    }
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t length(ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (broken_at_end(bb))
        APR_BUCKET_INSERT_BEFORE(APR_BRIGADE_LAST(bb),
                                 apr_bucket_immortal_create("!", 1, f->c->bucket_alloc));
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t leaves(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_ctx *ctx = broken_ctx_of(f);

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb), *copy; b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        if (APR_BUCKET_IS_EOS(b))
            copy = apr_bucket_eos_create(f->c->bucket_alloc);
        else if (APR_BUCKET_IS_FLUSH(b))
            copy = apr_bucket_flush_create(f->c->bucket_alloc);
        else if (apr_bucket_copy(b, &copy) != APR_SUCCESS)
            continue;
        APR_BRIGADE_INSERT_TAIL(ctx->out, copy);
    }
    return ap_pass_brigade(f->next, ctx->out);
}

static apr_status_t leaks(ap_filter_t *f, apr_bucket_brigade *bb)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb), *copy; b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        if (APR_BUCKET_IS_HEAP(b) && apr_bucket_copy(b, &copy) == APR_SUCCESS) {
            APR_BUCKET_INSERT_BEFORE(b, copy);
            APR_BUCKET_REMOVE(b); /* and never seen again */
            b = copy;
        }
    }
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t ignores(ap_filter_t *f, apr_bucket_brigade *bb)
{
    (void)ap_pass_brigade(f->next, bb);
    return APR_SUCCESS;
}

static apr_status_t goes_on(ap_filter_t *f, apr_bucket_brigade *bb)
{
    broken_ctx *ctx = broken_ctx_of(f);
    apr_status_t rv = APR_SUCCESS;

    while (!APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);
        apr_status_t result;

        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(ctx->out, b);
        result = ap_pass_brigade(f->next, ctx->out);
        apr_brigade_cleanup(ctx->out);
        rv = rv == APR_SUCCESS ? result : rv;
    }
    return rv;
}

/* What it sends depends on the request before. */
static apr_status_t state(ap_filter_t *f, apr_bucket_brigade *bb)
{
    static char number = '0';

    if (broken_at_end(bb)) {
        number = number == '9' ? '0' : number + 1;
        apr_table_unset(f->r->headers_out, "Content-Length");
        APR_BUCKET_INSERT_BEFORE(APR_BRIGADE_LAST(bb),
                                 apr_bucket_heap_create(&number, 1, NULL, f->c->bucket_alloc));
    }
    return ap_pass_brigade(f->next, bb);
}

/* Looks at the first byte of a bucket that has none. */
static apr_status_t crashes(ap_filter_t *f, apr_bucket_brigade *bb)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        const char *data;
        apr_size_t len;

        if (!APR_BUCKET_IS_METADATA(b) &&
            apr_bucket_read(b, &data, &len, APR_BLOCK_READ) == APR_SUCCESS && !len)
            *(volatile char *)8 = 'x';
    }
    return ap_pass_brigade(f->next, bb);
}

/* Waits for an EOS that is in the next brigade. */
static apr_status_t loops(ap_filter_t *f, apr_bucket_brigade *bb)
{
    volatile int turns = 0;

    while (!APR_BRIGADE_EMPTY(bb) && !broken_at_end(bb))
        turns++;
    return ap_pass_brigade(f->next, bb);
}

/* Takes b->length for the length, which is not known before it was read. */
static apr_status_t size(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_off_t sum = 0;

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b))
        sum += (apr_off_t)(apr_ssize_t)b->length;
    return sum < 0 ? APR_EGENERAL : ap_pass_brigade(f->next, bb);
}

/* ---- input ---- */

static apr_status_t in_change(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                              apr_read_type_e block, apr_off_t most, char *last)
{
    apr_status_t rv = ap_get_brigade(f->next, bb, mode, block, most);

    return rv == APR_SUCCESS ? broken_each(f, bb, last) : rv;
}

static apr_status_t in_good(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                            apr_read_type_e block, apr_off_t most)
{
    return in_change(f, bb, mode, block, most, &broken_ctx_of(f)->last);
}

static apr_status_t in_cut(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                           apr_read_type_e block, apr_off_t most)
{
    char last = 0;

    return in_change(f, bb, mode, block, most, &last);
}

static apr_status_t in_much(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                            apr_read_type_e block, apr_off_t most)
{
    return ap_get_brigade(f->next, bb, mode, block, most + 1);
}

static apr_status_t in_nothing(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                               apr_read_type_e block, apr_off_t most)
{
    return APR_SUCCESS;
}

#define BROKEN_OUT(name) ap_register_output_filter(#name, name, NULL, AP_FTYPE_RESOURCE)
#define BROKEN_IN(name) ap_register_input_filter(#name, name, NULL, AP_FTYPE_RESOURCE)

static void broken_hooks(apr_pool_t *p)
{
    BROKEN_OUT(good);
    BROKEN_OUT(cut);
    BROKEN_OUT(no_eos);
    BROKEN_OUT(no_flush);
    BROKEN_OUT(no_meta);
    BROKEN_OUT(two_eos);
    BROKEN_OUT(after_eos);
    BROKEN_OUT(twice);
    BROKEN_OUT(no_remove);
    BROKEN_OUT(transient);
    BROKEN_OUT(length);
    BROKEN_OUT(leaves);
    BROKEN_OUT(leaks);
    BROKEN_OUT(ignores);
    BROKEN_OUT(goes_on);
    BROKEN_OUT(state);
    BROKEN_OUT(crashes);
    BROKEN_OUT(loops);
    BROKEN_OUT(size);
    BROKEN_IN(in_good);
    BROKEN_IN(in_cut);
    BROKEN_IN(in_much);
    BROKEN_IN(in_nothing);
}

AP_DECLARE_MODULE(broken) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, broken_hooks};
