/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of buffers: how many there are made, how often one is referred to once more, and
 * copied bytes.
 *
 * Buckets with a buffer are made, copied and split by a few functions of APR-util. They are here
 * once more, counting, and the program exports them, so that libaprutil and modules use these.
 * Where libaprutil was linked to bind to itself, buckets work as ever, and less is counted.
 */
#pragma GCC visibility push(default)
#include "apr_buckets.h"
#pragma GCC visibility pop
#include "memory_scope.h"
#include <string.h>

static inline brg_buffer_figures *buffers_mine(void)
{
    memory_thread *t = memory_thread_mine;

    return &(__builtin_expect(t != NULL, 1) ? t : memory_thread_begin())->buffers;
}

BRG_DECLARE(void) brg_buffer_created(void)
{
    memory_count(&buffers_mine()->created, 1);
}

BRG_DECLARE(void) brg_buffer_shared(void)
{
    memory_count(&buffers_mine()->shared, 1);
}

BRG_DECLARE(void) brg_buffer_copied(apr_size_t bytes)
{
    brg_buffer_figures *mine = buffers_mine();

    memory_count(&mine->copied, 1);
    memory_count(&mine->copied_bytes, bytes);
}

BRG_DECLARE(void) brg_buffer_grown(apr_size_t bytes)
{
    brg_buffer_figures *mine = buffers_mine();

    memory_count(&mine->grown, 1);
    memory_count(&mine->grown_bytes, bytes);
}

/* ---- in place of APR-util's ---- */

APU_DECLARE(apr_bucket *)
apr_bucket_shared_make(apr_bucket *b, void *data, apr_off_t start, apr_size_t length)
{
    ((apr_bucket_refcount *)data)->refcount = 1;
    b->data = data;
    b->start = start;
    b->length = length;
    if (length != 0) /* metadata has no buffer */
        brg_buffer_created();
    return b;
}

/* A copy stands behind its head, and is freed with it. */
static void heap_is_one(void *base)
{
}

APU_DECLARE(apr_bucket *)
apr_bucket_heap_make(apr_bucket *b, const char *buf, apr_size_t length, void (*free_func)(void *))
{
    apr_bucket_heap *h = apr_bucket_alloc(sizeof(*h) + (free_func ? 0 : length), b->list);

    if (h == NULL)
        return NULL;
    h->base = (char *)(uintptr_t)buf;
    h->alloc_len = length;
    h->free_func = free_func;
    if (free_func == NULL) {
        h->base = (char *)(h + 1);
        if (length) /* modules have NULL for no bytes */
            memcpy(h->base, buf, length);
        h->free_func = heap_is_one;
        brg_buffer_copied(length);
    }
    apr_bucket_shared_make(b, h, 0, length);
    b->type = &apr_bucket_type_heap;
    return b;
}

/* Here too, since an archive's calls the one above without leaving its object file. */
APU_DECLARE(apr_bucket *)
apr_bucket_heap_create(const char *buf, apr_size_t length, void (*free_func)(void *),
                       apr_bucket_alloc_t *list)
{
    apr_bucket *b = apr_bucket_alloc(sizeof(*b), list);

    if (b == NULL)
        return NULL;
    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = list;
    if (apr_bucket_heap_make(b, buf, length, free_func) != NULL)
        return b;
    apr_bucket_free(b);
    return NULL;
}

APU_DECLARE_NONSTD(apr_status_t) apr_bucket_simple_copy(apr_bucket *a, apr_bucket **b)
{
    apr_bucket *copy = apr_bucket_alloc(sizeof(*copy), a->list);

    *b = copy;
    if (copy == NULL)
        return APR_ENOMEM;
    *copy = *a;
    if (a->length != 0)
        brg_buffer_shared();
    return APR_SUCCESS;
}

APU_DECLARE_NONSTD(apr_status_t) apr_bucket_simple_split(apr_bucket *a, apr_size_t point)
{
    apr_status_t rv;
    apr_bucket *rest;

    if (point > a->length)
        return APR_EINVAL;
    rv = apr_bucket_simple_copy(a, &rest);
    if (rv != APR_SUCCESS)
        return rv;
    a->length = point;
    rest->start += (apr_off_t)point;
    rest->length -= point;
    APR_BUCKET_INSERT_AFTER(a, rest);
    return APR_SUCCESS;
}

APU_DECLARE_NONSTD(apr_status_t) apr_bucket_shared_copy(apr_bucket *a, apr_bucket **b)
{
    apr_status_t rv = apr_bucket_simple_copy(a, b);

    if (rv == APR_SUCCESS)
        ((apr_bucket_refcount *)a->data)->refcount++;
    return rv;
}

APU_DECLARE_NONSTD(apr_status_t) apr_bucket_shared_split(apr_bucket *a, apr_size_t point)
{
    apr_status_t rv = apr_bucket_simple_split(a, point);

    if (rv == APR_SUCCESS)
        ((apr_bucket_refcount *)a->data)->refcount++;
    return rv;
}
