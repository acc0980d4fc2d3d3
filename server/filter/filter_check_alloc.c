/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bucket allocators that know their blocks. The functions below take the place of APR-util's in
 * this program, for libaprutil and for modules too; the memory still comes from APR-util's
 * allocator, so it is of the same scope and limits. Debug and sanitizer builds only: see
 * filter_check.h.
 */
#include "filter_check.h"
#include "stock_function.h"

#ifdef BRIGADE_FILTER_CHECK

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

#define CHECK_BITS 8 /* of the number of chains: at first, and at most */
#define CHECK_BITS_MOST 20
#define CHECK_CHAIN_LENGTH 4
#define CHECK_KEPT 256 /* freed blocks that are kept back */
#define CHECK_HEADER ((sizeof(filter_check_block) + 15) / 16 * 16)

/* The object that modules hold as apr_bucket_alloc_t, whose insides are APR-util's secret. One
 * thread at a time, as that. */
typedef struct filter_check_list {
    apr_bucket_alloc_t *real;
    filter_check_block **chains;
    unsigned bits;
    apr_size_t blocks_n;
    filter_check_block *kept[CHECK_KEPT];
    unsigned kept_at;
} filter_check_list;

static struct {
    apr_bucket_alloc_t *(*create_ex)(apr_allocator_t *);
    void (*destroy)(apr_bucket_alloc_t *);
    void *(*alloc)(apr_size_t, apr_bucket_alloc_t *);
    void (*free)(void *);
    apr_size_t (*floor)(apr_bucket_alloc_t *, apr_size_t);
} check_real;

static void __attribute__((constructor)) check_bind(void)
{
    *(void **)&check_real.create_ex = stock_function("apr_bucket_alloc_create_ex");
    *(void **)&check_real.destroy = stock_function("apr_bucket_alloc_destroy");
    *(void **)&check_real.alloc = stock_function("apr_bucket_alloc");
    *(void **)&check_real.free = stock_function("apr_bucket_free");
    *(void **)&check_real.floor = stock_function("apr_bucket_alloc_aligned_floor");
}

static void *check_memory(filter_check_block *b)
{
    return (char *)b + CHECK_HEADER;
}

static filter_check_block **check_chain(filter_check_list *list, const void *mem)
{
    /* Blocks are of few sizes, so that the low bits of their addresses say little. */
    uint64_t spread = (uint64_t)(uintptr_t)mem * 0x9e3779b97f4a7c15ull;

    return &list->chains[spread >> (64 - list->bits)];
}

/* A body in pieces of one byte is a lot of blocks. */
static void check_grow(filter_check_list *list)
{
    unsigned bits = list->bits;
    filter_check_block **old = list->chains, **chains, *b, *next;

    if (list->blocks_n < (apr_size_t)CHECK_CHAIN_LENGTH << bits || bits >= CHECK_BITS_MOST ||
        !(chains = calloc(1u << (bits + 2), sizeof *chains)))
        return;
    list->chains = chains;
    list->bits = bits + 2;
    for (unsigned i = 0; i < 1u << bits; i++)
        for (b = old[i]; b; b = next) {
            filter_check_block **chain = check_chain(list, check_memory(b));

            next = b->next;
            b->next = *chain;
            *chain = b;
        }
    free(old);
}

filter_check_block *filter_check_find(apr_bucket_alloc_t *list, const void *mem)
{
    filter_check_block *b = *check_chain((filter_check_list *)(void *)list, mem);

    while (b && check_memory(b) != mem)
        b = b->next;
    return b;
}

void filter_check_each(apr_bucket_alloc_t *list, void (*visit)(void *baton, filter_check_block *b),
                       void *baton)
{
    filter_check_list *check = (filter_check_list *)(void *)list;

    for (unsigned i = 0; i < 1u << check->bits; i++)
        for (filter_check_block *b = check->chains[i]; b; b = b->next)
            if (b->state == FILTER_CHECK_LIVE)
                visit(baton, b);
}

/* ---- in APR-util's place ---- */

APR_DECLARE_NONSTD(apr_bucket_alloc_t *)
apr_bucket_alloc_create_ex(apr_allocator_t *allocator) __attribute__((visibility("default")));
APR_DECLARE_NONSTD(apr_bucket_alloc_t *)
apr_bucket_alloc_create(apr_pool_t *p) __attribute__((visibility("default")));
APR_DECLARE_NONSTD(void)
apr_bucket_alloc_destroy(apr_bucket_alloc_t *list) __attribute__((visibility("default")));
APR_DECLARE_NONSTD(void *)
apr_bucket_alloc(apr_size_t size, apr_bucket_alloc_t *list) __attribute__((visibility("default")));
APR_DECLARE_NONSTD(void) apr_bucket_free(void *mem) __attribute__((visibility("default")));
APR_DECLARE_NONSTD(apr_size_t)
apr_bucket_alloc_aligned_floor(apr_bucket_alloc_t *list, apr_size_t size)
    __attribute__((visibility("default")));

apr_bucket_alloc_t *apr_bucket_alloc_create_ex(apr_allocator_t *allocator)
{
    filter_check_list *list = calloc(1, sizeof *list);

    if (!list)
        return NULL;
    list->bits = CHECK_BITS;
    list->chains = calloc(1u << CHECK_BITS, sizeof *list->chains);
    if (!list->chains || !(list->real = check_real.create_ex(allocator))) {
        free(list->chains);
        free(list);
        list = NULL;
    }
    return (apr_bucket_alloc_t *)(void *)list;
}

static apr_status_t check_pool_ends(void *list)
{
    apr_bucket_alloc_destroy(list);
    return APR_SUCCESS;
}

apr_bucket_alloc_t *apr_bucket_alloc_create(apr_pool_t *p)
{
    apr_bucket_alloc_t *list = apr_bucket_alloc_create_ex(apr_pool_allocator_get(p));

    if (list)
        apr_pool_cleanup_register(p, list, check_pool_ends, apr_pool_cleanup_null);
    return list;
}

static void check_forget(filter_check_list *list, filter_check_block *b)
{
    filter_check_block **at = check_chain(list, check_memory(b));

    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    list->blocks_n--;
    ASAN_UNPOISON_MEMORY_REGION(check_memory(b), b->size);
    check_real.free(b);
}

void apr_bucket_alloc_destroy(apr_bucket_alloc_t *alloc)
{
    filter_check_list *list = (filter_check_list *)(void *)alloc;

    /* A large block has a node of its own, which is freed here alone. */
    for (int i = 0; i < CHECK_KEPT; i++)
        if (list->kept[i])
            check_forget(list, list->kept[i]);
    for (unsigned i = 0; i < 1u << list->bits; i++)
        for (filter_check_block *b = list->chains[i]; b; b = b->next)
            ASAN_UNPOISON_MEMORY_REGION(check_memory(b), b->size);
    check_real.destroy(list->real);
    free(list->chains);
    free(list);
}

void *apr_bucket_alloc(apr_size_t size, apr_bucket_alloc_t *alloc)
{
    filter_check_list *list = (filter_check_list *)(void *)alloc;
    filter_check_block *b = check_real.alloc(CHECK_HEADER + size, list->real), **chain;
    const ap_filter_t *f = filter_check_running();

    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->owner = list;
    b->size = size;
    b->state = FILTER_CHECK_LIVE;
    if (f) {
        b->maker = f->frec->name;
        b->r = f->r;
    }
    check_grow(list);
    chain = check_chain(list, check_memory(b));
    b->next = *chain;
    *chain = b;
    list->blocks_n++;
    return check_memory(b);
}

apr_size_t apr_bucket_alloc_aligned_floor(apr_bucket_alloc_t *alloc, apr_size_t size)
{
    filter_check_list *list = (filter_check_list *)(void *)alloc;
    apr_size_t room = check_real.floor(list->real, CHECK_HEADER + size);

    return room > CHECK_HEADER ? room - CHECK_HEADER : size;
}

void apr_bucket_free(void *mem)
{
    filter_check_block *b = (filter_check_block *)(void *)((char *)mem - CHECK_HEADER);
    const ap_filter_t *f = filter_check_running();
    filter_check_list *list = b->owner;
    filter_check_block **kept;

    if (b->state != FILTER_CHECK_LIVE) {
        filter_check_say(
            f ? f->c : NULL, FILTER_CHECK_FATAL, "%s%s frees memory of a bucket%s%s%s that %s",
            f ? "filter " : "the server", f ? f->frec->name : "",
            b->state == FILTER_CHECK_FREED && b->maker ? " of filter " : "",
            b->state == FILTER_CHECK_FREED && b->maker ? b->maker : "",
            b->state == FILTER_CHECK_FREED ? "" : ",",
            b->state == FILTER_CHECK_FREED ? "was freed before" : "no bucket allocator gave out");
        return;
    }
    b->state = FILTER_CHECK_FREED;
    b->ender = f ? f->frec->name : NULL;
    memset(mem, FILTER_CHECK_FILL, b->size);
    ASAN_POISON_MEMORY_REGION(mem, b->size);
    kept = &list->kept[list->kept_at++ % CHECK_KEPT];
    if (*kept)
        check_forget(list, *kept);
    *kept = b;
}

#endif
