/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Includes that wait, side by side: the sub-request runs on another worker while the page goes on.
 *
 * In its place the output has a bucket of unknown length, as a pipe's: a read that may not wait
 * answers EAGAIN until there is something, and read bytes become a heap bucket before it. So the
 * order of output is that of the page, filters below flush the output before a part that is not
 * there yet, and a part of an included page moves with that page's output.
 *
 * The sub-request has memory and a conn_rec of its own (brigade/subrequest.h). Fields of both
 * threads are under its lock. For sub-requests on the page's own thread see ssi_beside_start().
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "http_core.h"
#include "http_request.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "brigade/subrequest.h"
#include <pthread.h>
#include <stdlib.h>

/* output that waits for the page; then its thread waits */
#define BESIDE_HELD ((apr_size_t)256 * 1024)
#define BESIDE_CHUNK 8000
/* in a page: each included page with one is kept until the whole page ends */
#define BESIDE_MOST 1000
#define BESIDE_TAG 0x53534942u /* "SSIB" */

typedef struct beside_chunk {
    struct beside_chunk *next;
    apr_size_t len, room;
    char data[];
} beside_chunk;

typedef struct ssi_beside {
    brg_beside work; /* first: argument of brg_worker_beside() */
    uint32_t tag;
    int refs; /* the bucket and the page's pool; both belong to the page's thread */
    ap_filter_t output;
    ssi_link *link;
    /* the page's thread alone */
    request_rec *page, *sub; /* sub: NULL after its end */
    const ssi_dir_conf *conf;
    const char *target, *error, *stub; /* stub: NULL: none */
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    beside_chunk *first, *last;
    apr_size_t held;
    int over, late, status; /* late, status: when it is over */
    int left;               /* nobody reads any more */
    int overflow;           /* with stub: it was more than SSIMaxValue */
    int any;                /* there was output */
} ssi_beside;

ap_filter_rec_t *ssi_beside_handle;

static ssi_beside *beside_of(void *data)
{
    ssi_beside *b = data;

    BRG_ASSERT_TAG(b, BESIDE_TAG);
    return b;
}

/* ---- the other thread ---- */

static beside_chunk *beside_room(ssi_beside *b, apr_size_t len)
{
    beside_chunk *c = b->last;
    apr_size_t room = len > BESIDE_CHUNK ? len : BESIDE_CHUNK;

    if (c && len <= c->room - c->len)
        return c;
    if (!(c = malloc(sizeof *c + room)))
        return NULL;
    c->next = NULL;
    c->len = 0;
    c->room = room;
    if (b->last)
        b->last->next = c;
    else
        b->first = c;
    return b->last = c;
}

/* With the lock held. The time that it waits for the page is not its own. */
static apr_status_t beside_wait_for_room(ssi_beside *b, apr_size_t len)
{
    apr_time_t began;

    if (b->stub) {
        apr_size_t most = (apr_size_t)b->conf->value_bytes_most;

        b->overflow = most && len > most - b->held;
        return b->overflow ? APR_ENOSPC : APR_SUCCESS;
    }
    if (b->held < BESIDE_HELD || b->left)
        return APR_SUCCESS;
    began = brg_monotonic_now();
    while (b->held >= BESIDE_HELD && !b->left)
        pthread_cond_wait(&b->changed, &b->lock);
    if (b->link->deadline)
        b->link->deadline += brg_monotonic_now() - began;
    return APR_SUCCESS;
}

static apr_status_t beside_add(ssi_beside *b, const char *data, apr_size_t len)
{
    beside_chunk *c = NULL;
    apr_status_t rv;

    pthread_mutex_lock(&b->lock);
    rv = beside_wait_for_room(b, len);
    if (rv == APR_SUCCESS && b->left)
        rv = APR_ECONNABORTED;
    if (rv == APR_SUCCESS && !(c = beside_room(b, len)))
        rv = APR_ENOMEM;
    if (rv == APR_SUCCESS) {
        memcpy(c->data + c->len, data, len);
        c->len += len;
        b->held += len;
        b->any = 1;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    if (rv == APR_SUCCESS)
        brg_buffer_copied(len);
    return rv;
}

static apr_status_t beside_bucket(ssi_beside *b, apr_bucket *e)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv;

    if (APR_BUCKET_IS_METADATA(e))
        return APR_SUCCESS;
    rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);
    if (APR_STATUS_IS_EAGAIN(rv)) {
        ssi_sub_set_timeout(b->link, e);
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (ssi_link_is_late(b->link))
            return APR_TIMEUP;
    }
    return rv == APR_SUCCESS && len ? beside_add(b, data, len) : rv;
}

apr_status_t ssi_beside_output(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_beside *b = beside_of(f->ctx);
    apr_status_t rv = ssi_link_is_late(b->link) ? APR_TIMEUP : APR_SUCCESS;

    BRG_ASSERT(f == &b->output);
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        rv = beside_bucket(b, APR_BRIGADE_FIRST(bb));
        apr_bucket_delete(APR_BRIGADE_FIRST(bb));
    }
    apr_brigade_cleanup(bb);
    return rv;
}

static void beside_run(brg_beside *work)
{
    ssi_beside *b = beside_of(work);
    ssi_top *top = b->link->top;
    int status = ap_run_sub_req(b->sub);
    int late = ssi_sub_is_late(b->sub, status);

    __atomic_fetch_sub(&top->beside_n, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&b->lock);
    b->status = status;
    b->late = late;
    b->over = 1;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock); /* b, and the request, may be gone */
}

/* ---- the end ---- */

static void beside_release(ssi_beside *b)
{
    beside_chunk *c, *next;

    BRG_ASSERT(b->refs > 0);
    if (--b->refs)
        return;
    BRG_ASSERT(b->over && !b->sub);
    for (c = b->first; c; c = next) {
        next = c->next;
        free(c);
    }
    b->tag = 0;
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* The other thread is done with everything. */
static void beside_join(ssi_beside *b)
{
    pthread_mutex_lock(&b->lock);
    b->left = 1;
    pthread_cond_broadcast(&b->changed);
    while (!b->over)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    ap_destroy_sub_req(b->sub);
    b->sub = NULL;
}

/* The pool of the page ends, before anything of it does. */
static apr_status_t beside_page_ends(void *data)
{
    ssi_beside *b = beside_of(data);

    beside_join(b);
    beside_release(b);
    return APR_SUCCESS;
}

/* The bucket ends. */
static void beside_end(ssi_beside *b)
{
    if (b->sub) {
        apr_pool_cleanup_kill(b->page->pool, b, beside_page_ends);
        beside_join(b);
        beside_release(b);
    }
    beside_release(b);
}

/* ---- the bucket ---- */

extern const apr_bucket_type_t ssi_beside_type;

static apr_bucket *beside_bucket_make(ssi_beside *b, apr_bucket_alloc_t *list)
{
    apr_bucket *e = apr_bucket_alloc(sizeof *e, list);

    APR_BUCKET_INIT(e);
    e->free = apr_bucket_free;
    e->list = list;
    e->type = &ssi_beside_type;
    e->data = b;
    e->start = 0;
    e->length = (apr_size_t)-1;
    return e;
}

static void beside_bucket_destroy(void *data)
{
    beside_end(beside_of(data));
}

/* The next output. @return APR_EOF: all is taken */
static apr_status_t beside_take(ssi_beside *b, apr_read_type_e block, beside_chunk **chunk)
{
    apr_status_t rv = APR_SUCCESS;

    pthread_mutex_lock(&b->lock);
    while ((!b->first || b->stub) && !b->over && block == APR_BLOCK_READ)
        pthread_cond_wait(&b->changed, &b->lock);
    if ((!b->first || b->stub) && !b->over) {
        rv = APR_EAGAIN;
    } else if (!b->first || (b->stub && (b->status || b->late || b->overflow))) {
        rv = APR_EOF;
    } else {
        *chunk = b->first;
        b->held -= b->first->len;
        if (!(b->first = b->first->next))
            b->last = NULL;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return rv;
}

/* It failed. */
static void beside_log(const ssi_beside *b)
{
    if (b->overflow)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, b->page,
                      "output of \"%s\" is over SSIMaxValue in parsed file %s", b->target,
                      b->page->filename);
    else if (b->late)
        ssi_log_late(b->page, b->target);
    else
        ssi_log_failed(b->page, b->target, b->status);
}

/* It is over. @return text of the page behind its output */
static const char *beside_last_words(const ssi_beside *b)
{
    if (!b->overflow && !b->late && !b->status)
        return b->any || !b->stub ? "" : b->stub;
    beside_log(b);
    return b->stub ? b->stub : b->error;
}

static void beside_bucket_ends(apr_bucket *e, ssi_beside *b)
{
    const char *text = b->sub && !b->link->top->stopped ? beside_last_words(b) : "";

    if (*text)
        apr_bucket_heap_make(e, text, strlen(text), NULL);
    else
        apr_bucket_immortal_make(e, "", 0);
    beside_end(b);
}

/* The chunk's memory becomes the bucket's. */
static void beside_bucket_takes(apr_bucket *e, ssi_beside *b, beside_chunk *chunk)
{
    apr_size_t len = chunk->len;

    APR_BUCKET_INSERT_AFTER(e, beside_bucket_make(b, e->list));
    apr_bucket_heap_make(e, (char *)chunk, sizeof *chunk + len, free);
    e->start += (apr_off_t)sizeof *chunk;
    e->length -= sizeof *chunk;
}

static apr_status_t beside_bucket_read(apr_bucket *e, const char **data, apr_size_t *len,
                                       apr_read_type_e block)
{
    ssi_beside *b = beside_of(e->data);
    beside_chunk *chunk = NULL;
    apr_status_t rv = beside_take(b, block, &chunk);

    if (APR_STATUS_IS_EAGAIN(rv))
        return rv;
    if (chunk && b->sub && !ssi_charge(b->link->top, b->conf, b->page, chunk->len)) {
        free(chunk);
        chunk = NULL;
    }
    if (chunk)
        beside_bucket_takes(e, b, chunk);
    else
        beside_bucket_ends(e, b);
    return apr_bucket_read(e, data, len, block);
}

const apr_bucket_type_t ssi_beside_type = {
    "SSI_BESIDE",
    5,
    APR_BUCKET_DATA,
    beside_bucket_destroy,
    beside_bucket_read,
    apr_bucket_setaside_noop,
    apr_bucket_split_notimpl,
    apr_bucket_copy_notimpl,
};

/* ---- the beginning ---- */

int ssi_beside_may(include_ctx_t *ctx)
{
    const ssi_state *s = ctx->intern;
    int most = s->conf->beside_most;

    if (most == 1 || s->out.memory || ctx->r->kept_body || brg_thread_is_loop() ||
        s->top->besides >= BESIDE_MOST)
        return 0;
    /* With the page's own thread there are so many. */
    return (!most || __atomic_load_n(&s->top->beside_n, __ATOMIC_RELAXED) < most - 1) &&
           brg_worker_beside(NULL);
}

/* Output of other pages belongs to their variables: it is made on the page's thread. */
static int beside_is_parsed(const request_rec *sub)
{
    for (const ap_filter_t *f = sub->output_filters; f && f->r == sub; f = f->next)
        if (f->frec == ssi_includes_handle)
            return 1;
    return 0;
}

int ssi_beside_is_for(request_rec *sub)
{
    return !beside_is_parsed(sub) && !ssi_is_plain_sub(sub) && brg_request_may_wait(sub);
}

static ssi_beside *beside_make(include_ctx_t *ctx, const ssi_arg *arg, request_rec *sub)
{
    ssi_beside *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->work.run = beside_run;
    b->tag = BESIDE_TAG;
    b->refs = 1;
    b->page = ctx->r;
    b->sub = sub;
    b->conf = ctx->intern->conf;
    b->target = apr_pstrdup(ctx->pool, arg->decoded);
    b->error = ctx->error_str;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    return b;
}

/* Requests of pages on the way to a part live until the outermost one ends. */
static void beside_keep_pages(include_ctx_t *ctx)
{
    request_rec *r = ctx->r;

    ctx->intern->top->besides++;
    while (r) {
        ssi_link *link = ap_get_module_config(r->request_config, &include_module);

        BRG_ASSERT(link && link->top == ctx->intern->top);
        link->besides = 1;
        r = link->parent;
    }
}

/* The argument of brg_worker_beside() is given to another thread from here on. */
static void beside_prepare(include_ctx_t *ctx, ssi_beside *b)
{
    b->link = ssi_sub_begin(ctx, b->sub, ssi_include_deadline(ctx->intern));
    b->link->beside = 1;
    b->output = (ap_filter_t){.frec = ssi_beside_handle, .ctx = b, .r = ctx->r};
    brg_sub_req_leave(b->sub, &ctx->intern->capture, &b->output);
    b->output.c = b->sub->connection;
}

int ssi_beside_start(include_ctx_t *ctx, const ssi_arg *arg, request_rec *sub, const char *stub)
{
    ssi_state *s = ctx->intern;
    ssi_beside *b = beside_make(ctx, arg, sub);

    if (!b)
        return 0;
    b->stub = stub;
    beside_prepare(ctx, b);
    ssi_about_to_wait(ctx);
    ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    __atomic_fetch_add(&s->top->beside_n, 1, __ATOMIC_RELAXED);
    if (!brg_worker_beside(&b->work)) {
        __atomic_fetch_sub(&s->top->beside_n, 1, __ATOMIC_RELAXED);
        b->over = 1;
        b->sub = NULL;
        beside_release(b);
        return 0;
    }
    apr_pool_pre_cleanup_register(ctx->r->pool, b, beside_page_ends);
    b->refs++;
    beside_keep_pages(ctx);
    ssi_out_bucket(&s->out, beside_bucket_make(b, s->f->c->bucket_alloc));
    return 1;
}
