/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of all types over parts of the input. Those of this file count how many there are, so
 * that it shows when one is never destroyed. */
#include "filter_test.h"
#include "apr_mmap.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

int ft_live_blocks, ft_live_meta;

/* ---- heap ---- */

static void ft_block_free(void *block)
{
    ft_live_blocks--;
    free(block);
}

static char *ft_copy(const ft_run *run, const ft_step *step)
{
    char *copy = malloc(step->len ? step->len : 1);

    if (!copy)
        abort();
    memcpy(copy, run->in->data + step->at, step->len);
    return copy;
}

static apr_bucket *ft_heap(ft_run *run, const ft_step *step)
{
    ft_live_blocks++;
    return apr_bucket_heap_create(ft_copy(run, step), step->len, ft_block_free,
                                  run->c->bucket_alloc);
}

/* ---- what is only valid during the call ---- */

static apr_bucket *ft_transient(ft_run *run, const ft_step *step)
{
    ft_lent *lent = apr_array_push(run->lent);

    lent->data = ft_copy(run, step);
    lent->len = step->len;
    return apr_bucket_transient_create(lent->data, step->len, run->c->bucket_alloc);
}

static apr_bucket *ft_pooled(ft_run *run, const ft_step *step)
{
    apr_pool_t *p;

    apr_pool_create(&p, run->pool);
    APR_ARRAY_PUSH(run->pools, apr_pool_t *) = p;
    return apr_bucket_pool_create(apr_pmemdup(p, run->in->data + step->at, step->len + !step->len),
                                  step->len, p, run->c->bucket_alloc);
}

/* The blocks stay until the end of the run: what reads them late reads poison, and does not crash.
 */
void ft_lent_withdraw(ft_run *run)
{
    for (int i = 0; i < run->lent->nelts; i++) {
        const ft_lent *lent = &APR_ARRAY_IDX(run->lent, i, ft_lent);

        memset(lent->data, run->in->poison, lent->len);
    }
    /* A bucket that is still there takes its data along. */
    for (int i = 0; i < run->pools->nelts; i++)
        apr_pool_destroy(APR_ARRAY_IDX(run->pools, i, apr_pool_t *));
    run->pools->nelts = 0;
}

void ft_lent_free(ft_run *run)
{
    for (int i = 0; i < run->lent->nelts; i++)
        free(APR_ARRAY_IDX(run->lent, i, ft_lent).data);
    run->lent->nelts = 0;
}

/* ---- files ---- */

static apr_file_t *ft_file(ft_run *run)
{
    if (!run->file && apr_file_open(&run->file, run->in->path, APR_FOPEN_READ | APR_FOPEN_BINARY, 0,
                                    run->pool) != APR_SUCCESS)
        ft_usage("the copy of the input, %s, cannot be opened", run->in->path);
    return run->file;
}

static apr_bucket *ft_filed(ft_run *run, const ft_step *step)
{
    return apr_bucket_file_create(ft_file(run), (apr_off_t)step->at, step->len, run->pool,
                                  run->c->bucket_alloc);
}

/* A mapping belongs to one bucket and its copies. */
static apr_bucket *ft_mapped(ft_run *run, const ft_step *step)
{
    apr_mmap_t *map;

    if (apr_mmap_create(&map, ft_file(run), 0, run->in->len, APR_MMAP_READ, run->pool) !=
        APR_SUCCESS)
        ft_usage("the copy of the input cannot be mapped");
    return apr_bucket_mmap_create(map, (apr_off_t)step->at, step->len, run->c->bucket_alloc);
}

/* ---- a source whose length is not known ---- */

typedef struct ft_source {
    const char *data;
    apr_size_t left;
    int asked; /* a source that has nothing at the moment says so when it is not to be waited for */
} ft_source;

static const apr_bucket_type_t ft_unknown_type;

static void ft_unknown_destroy(void *data)
{
    free(data);
    ft_live_blocks--;
}

/* As of a pipe: what is there becomes a bucket of its own, and the rest follows it. */
static apr_status_t ft_unknown_read(apr_bucket *b, const char **str, apr_size_t *len,
                                    apr_read_type_e block)
{
    ft_source *source = b->data;
    apr_size_t n = source->left < 4000 ? source->left : 4000;
    apr_bucket *rest;
    char *copy;

    if (block == APR_NONBLOCK_READ && !source->asked++) {
        *str = NULL;
        *len = 0;
        return APR_EAGAIN;
    }
    source->asked = 0;
    if (n == 0) {
        ft_unknown_destroy(source);
        apr_bucket_immortal_make(b, "", 0);
        *str = b->data;
        *len = 0;
        return APR_SUCCESS;
    }
    copy = apr_bucket_alloc(n, b->list);
    memcpy(copy, source->data, n);
    source->data += n;
    source->left -= n;
    rest = apr_bucket_alloc(sizeof *rest, b->list);
    APR_BUCKET_INIT(rest);
    rest->free = apr_bucket_free;
    rest->list = b->list;
    rest->type = &ft_unknown_type;
    rest->length = (apr_size_t)-1;
    rest->start = -1;
    rest->data = source;
    apr_bucket_heap_make(b, copy, n, apr_bucket_free);
    APR_BUCKET_INSERT_AFTER(b, rest);
    *str = copy;
    *len = n;
    return APR_SUCCESS;
}

static const apr_bucket_type_t ft_unknown_type = {"UNKNOWN",
                                                  5,
                                                  APR_BUCKET_DATA,
                                                  ft_unknown_destroy,
                                                  ft_unknown_read,
                                                  apr_bucket_setaside_notimpl,
                                                  apr_bucket_split_notimpl,
                                                  apr_bucket_copy_notimpl};

static apr_bucket *ft_plain_bucket(ft_run *run, const apr_bucket_type_t *type)
{
    apr_bucket *b = apr_bucket_alloc(sizeof *b, run->c->bucket_alloc);

    memset(b, 0, sizeof *b);
    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = run->c->bucket_alloc;
    b->type = type;
    return b;
}

static apr_bucket *ft_unknown(ft_run *run, const ft_step *step)
{
    apr_bucket *b = ft_plain_bucket(run, &ft_unknown_type);
    ft_source *source = malloc(sizeof *source);

    if (!source)
        abort();
    *source = (ft_source){.data = run->in->data + step->at, .left = step->len};
    b->length = (apr_size_t)-1;
    b->start = -1;
    b->data = source;
    ft_live_blocks++;
    return b;
}

/* ---- metadata of a type that no filter knows ---- */

static apr_status_t ft_meta_read(apr_bucket *b, const char **str, apr_size_t *len,
                                 apr_read_type_e block)
{
    *str = NULL;
    *len = 0;
    return APR_SUCCESS;
}

static void ft_meta_destroy(void *data)
{
    ft_live_meta--;
}

static const apr_bucket_type_t ft_meta_type = {"METADATA",
                                               5,
                                               APR_BUCKET_METADATA,
                                               ft_meta_destroy,
                                               ft_meta_read,
                                               apr_bucket_setaside_noop,
                                               apr_bucket_split_notimpl,
                                               apr_bucket_copy_notimpl};

int ft_bucket_is_meta(const apr_bucket *b)
{
    return b->type == &ft_meta_type;
}

static apr_bucket *ft_data_bucket(ft_run *run, const ft_step *step)
{
    switch (step->type) {
    case FT_HEAP:
        return ft_heap(run, step);
    case FT_TRANSIENT:
        return ft_transient(run, step);
    case FT_POOL:
        return ft_pooled(run, step);
    case FT_FILE:
        return ft_filed(run, step);
    case FT_MMAP:
        return ft_mapped(run, step);
    case FT_UNKNOWN:
        return ft_unknown(run, step);
    default:
        return apr_bucket_immortal_create(run->in->data + step->at, step->len,
                                          run->c->bucket_alloc);
    }
}

apr_bucket *ft_bucket_make(ft_run *run, const ft_step *step)
{
    switch (step->kind) {
    case FT_FLUSH:
        run->flush_in++;
        return apr_bucket_flush_create(run->c->bucket_alloc);
    case FT_META:
        run->meta_in++;
        ft_live_meta++;
        return ft_plain_bucket(run, &ft_meta_type);
    case FT_EOS:
        run->eos_in++;
        return apr_bucket_eos_create(run->c->bucket_alloc);
    default:
        return ft_data_bucket(run, step);
    }
}
