/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of one size, for the blocks of bucket allocators, which ask for the same all the time.
 * Larger blocks go to the parent, both ways; the size from the caller tells them apart.
 */
#include "sms_private.h"
#include "brigade/assert.h"
#include <stdio.h>
#include <string.h>

#define BLOCKS_SIZE_DEFAULT 8192
#define BLOCKS_CELLS 16 /* in a chunk, at least */
#define BLOCKS_CHUNK_LEAST ((size_t)64 << 10)

typedef struct blocks_cell {
    struct blocks_cell *next;
} blocks_cell;

typedef struct blocks_chunk {
    struct blocks_chunk *next;
    char *bump; /* cells before it were handed out once */
} blocks_chunk;

/* A block that went to the parent: known, so that reset can take it back. */
typedef struct blocks_large {
    struct blocks_large *next, **link;
    size_t bytes; /* of the caller */
    size_t unused;
} blocks_large;

typedef struct blocks_sms {
    brg_sms base;
    size_t size, chunk;   /* parameters */
    size_t used, cells_n; /* cells handed out; in all chunks */
    blocks_cell *free;    /* newest first: it is the one most likely in the processor's cache */
    blocks_chunk *chunks; /* the first is bumped in */
    blocks_large *large;
} blocks_sms;

static inline char *blocks_end(const blocks_sms *b, const blocks_chunk *chunk)
{
    return (char *)chunk + b->chunk;
}

static __attribute__((noinline)) blocks_chunk *blocks_more(blocks_sms *b)
{
    blocks_chunk *chunk = brg_sms_take(&b->base, b->chunk);

    if (chunk == NULL)
        return NULL;
    chunk->next = b->chunks;
    chunk->bump = (char *)(chunk + 1);
    b->chunks = chunk;
    b->cells_n += (b->chunk - sizeof(*chunk)) / b->size;
    sms_poison(chunk->bump, b->chunk - sizeof(*chunk));
    return chunk;
}

static void *blocks_large_allocate(blocks_sms *b, size_t bytes)
{
    blocks_large *large = brg_sms_take(&b->base, bytes + sizeof(*large));

    if (large == NULL)
        return NULL;
    large->bytes = bytes;
    large->next = b->large;
    large->link = &b->large;
    if (large->next != NULL)
        large->next->link = &large->next;
    b->large = large;
    return large + 1;
}

static void blocks_large_free(blocks_sms *b, blocks_large *large)
{
    *large->link = large->next;
    if (large->next != NULL)
        large->next->link = large->link;
    brg_sms_give(&b->base, large, large->bytes + sizeof(*large));
}

static void *blocks_allocate(brg_sms *s, size_t bytes)
{
    blocks_sms *b = (blocks_sms *)s;
    blocks_cell *cell = b->free;
    blocks_chunk *chunk = b->chunks;

    if (bytes > b->size)
        return blocks_large_allocate(b, bytes);
    if (cell != NULL) {
        sms_unpoison(cell, bytes > sizeof(*cell) ? bytes : sizeof(*cell));
        b->free = cell->next;
        b->used++;
        return cell;
    }
    if (chunk == NULL || (size_t)(blocks_end(b, chunk) - chunk->bump) < b->size)
        chunk = blocks_more(b);
    if (chunk == NULL)
        return NULL;
    BRG_ASSERT_DEBUG(b->used < b->cells_n);
    cell = (blocks_cell *)chunk->bump;
    chunk->bump += b->size;
    b->used++;
    sms_unpoison(cell, bytes);
    return cell;
}

static void blocks_give_chunk(blocks_sms *b, blocks_chunk *chunk)
{
    BRG_ASSERT(b->cells_n >= (b->chunk - sizeof(*chunk)) / b->size);
    b->cells_n -= (b->chunk - sizeof(*chunk)) / b->size;
    sms_unpoison(chunk, b->chunk);
    brg_sms_give(&b->base, chunk, b->chunk);
}

/* No cell is handed out: free all chunks but one, and use that from its start. */
static void blocks_begin(blocks_sms *b)
{
    blocks_chunk *chunk = b->chunks, *next;

    b->used = 0;
    b->free = NULL;
    if (chunk == NULL)
        return;
    for (; chunk->next != NULL; chunk->next = next) {
        next = chunk->next->next;
        blocks_give_chunk(b, chunk->next);
    }
    chunk->bump = (char *)(chunk + 1);
    sms_poison(chunk->bump, b->chunk - sizeof(*chunk));
}

static void blocks_free(brg_sms *s, void *block, size_t bytes)
{
    blocks_sms *b = (blocks_sms *)s;
    blocks_cell *cell = block;

    if (bytes > b->size) {
        blocks_large_free(b, (blocks_large *)block - 1);
        return;
    }
    if (b->used == 0)
        sms_panic(s, "more was freed than handed out", block);
    sms_unpoison(cell, sizeof(*cell));
    cell->next = b->free;
    b->free = cell;
    sms_poison(cell, b->size);
    if (--b->used == 0 && b->chunks->next != NULL)
        blocks_begin(b);
}

static void *blocks_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    blocks_sms *b = (blocks_sms *)s;
    void *moved;

    if (old_bytes <= b->size && bytes <= b->size) {
        sms_unpoison(block, bytes);
        return block;
    }
    moved = blocks_allocate(s, bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    blocks_free(s, block, old_bytes);
    return moved;
}

static void blocks_reset(brg_sms *s)
{
    blocks_sms *b = (blocks_sms *)s;

    while (b->large != NULL)
        blocks_large_free(b, b->large);
    blocks_begin(b);
}

static void blocks_trim(brg_sms *s)
{
    blocks_sms *b = (blocks_sms *)s;

    if (b->used != 0 || b->chunks == NULL)
        return;
    blocks_begin(b);
    blocks_give_chunk(b, b->chunks);
    b->chunks = NULL;
}

static void blocks_destroy(brg_sms *s)
{
    blocks_reset(s);
    blocks_trim(s);
}

static void blocks_describe(const brg_sms *s, char *out, size_t n)
{
    const blocks_sms *b = (const blocks_sms *)s;
    char size[24], chunk[24];

    snprintf(out, n, "size=%s,chunk=%s", sms_format_size(b->size, size),
             sms_format_size(b->chunk, chunk));
}

static size_t blocks_good_size(const brg_sms *s, size_t bytes)
{
    const blocks_sms *b = (const blocks_sms *)s;

    if (bytes <= b->size)
        return b->size;
    return brg_sms_good_size(s->parent, bytes + sizeof(blocks_large)) - sizeof(blocks_large);
}

static const char *blocks_verify(const brg_sms *s)
{
    const blocks_sms *b = (const blocks_sms *)s;
    const blocks_chunk *chunk;
    const blocks_large *large;
    blocks_cell *cell, *next;
    size_t bumped = 0, in_list = 0;

    for (chunk = b->chunks; chunk != NULL; chunk = chunk->next)
        bumped += (size_t)(chunk->bump - (const char *)(chunk + 1)) / b->size;
    for (cell = b->free; cell != NULL && in_list <= bumped; cell = next, in_list++) {
        sms_unpoison(cell, sizeof(*cell));
        next = cell->next;
        sms_poison(cell, sizeof(*cell));
    }
    if (b->used + in_list != bumped || bumped > b->cells_n)
        return "blocks: cells were lost or counted twice";
    for (large = b->large; large != NULL; large = large->next)
        if (large->bytes <= b->size || (large->next != NULL && large->next->link != &large->next))
            return "blocks: the list of large blocks is broken";
    return NULL;
}

static const brg_sms_ops blocks_ops = {
    .kind = "blocks",
    .threads = BRG_SMS_ONE_THREAD,
    .per_block = BRG_SMS_CHUNKED,
    .allocate = blocks_allocate,
    .resize = blocks_resize,
    .free = blocks_free,
    .reset = blocks_reset,
    .destroy = blocks_destroy,
    .describe = blocks_describe,
    .good_size = blocks_good_size,
    .trim = blocks_trim,
    .verify = blocks_verify,
};

const char *sms_blocks_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                              int params_n, apr_pool_t *p)
{
    size_t size = BLOCKS_SIZE_DEFAULT, chunk = 0;
    const char *message = NULL;
    int i;

    for (i = 0; i < params_n && message == NULL; i++)
        if (sms_param_is(&params[i], "size"))
            message = sms_param_size(&params[i], 1, (size_t)1 << 24, &size, p);
        else if (sms_param_is(&params[i], "chunk"))
            message = sms_param_size(&params[i], 4096, (size_t)1 << 30, &chunk, p);
        else
            message = sms_param_unknown(&params[i], p);
    if (message != NULL)
        return message;
    size = SMS_ROUND(size, BRG_SMS_ALIGNMENT);
    if (chunk == 0)
        chunk = SMS_ROUND(size * BLOCKS_CELLS + sizeof(blocks_chunk), 4096);
    if (chunk < BLOCKS_CHUNK_LEAST && params_n == 0)
        chunk = BLOCKS_CHUNK_LEAST;
    if (chunk < size + sizeof(blocks_chunk))
        return "chunk= has no room for a block of size=";
    *out = brg_sms_make(sizeof(blocks_sms), &blocks_ops, parent);
    if (*out == NULL)
        return "out of memory";
    ((blocks_sms *)*out)->size = size;
    ((blocks_sms *)*out)->chunk = chunk;
    return NULL;
}
