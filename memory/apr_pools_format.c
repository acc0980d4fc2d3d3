/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: apr_psprintf and apr_pvsprintf.
 *
 * Text is formatted where it will stay: into the room that the current chunk has, then, should that
 * not be enough, into a chunk of twice the size, with a copy of the text so far. Such a chunk
 * becomes the pool's when the text is complete; until then nothing of the pool has changed.
 *
 * In a per-block pool the text grows in one block, which is the newest, and is cut to its length at
 * the end.
 */
#include "pool_private.h"
#include "apr_lib.h"
#include <stdarg.h>

#define FORMAT_FIRST 256 /* first size of an empty buffer */

typedef struct format_state {
    apr_vformatter_buff_t out; /* first: APR hands this back */
    apr_pool_t *pool;
    char *start;
    apr_memnode_t *chunk; /* not yet the pool's; NULL while in its current one */
    apr_size_t size;      /* of the block of a per-block pool */
    const void *site;     /* where the text is asked for */
} format_state;

/* The last byte of the room is kept for the end of the string. */
static void format_into(format_state *f, char *start, apr_size_t written, apr_size_t room)
{
    f->start = start;
    f->out.curpos = start + written;
    f->out.endpos = start + room - 1;
}

static int format_grow_chunk(format_state *f)
{
    apr_size_t written = (apr_size_t)(f->out.curpos - f->start);
    apr_size_t want = written < FORMAT_FIRST ? FORMAT_FIRST : 2 * written;
    apr_memnode_t *chunk = pool_chunk(f->pool, want);
    char *start;

    if (chunk == NULL)
        return -1;
    start = pool_chunk_start(chunk);
    memcpy(start, f->start, written);
    if (f->chunk != NULL)
        apr_allocator_free(f->pool->allocator, f->chunk);
    f->chunk = chunk;
    format_into(f, start, written, (apr_size_t)(chunk->endp - start));
    return 0;
}

static int format_grow_block(format_state *f)
{
    apr_size_t written = (apr_size_t)(f->out.curpos - f->start);
    char *start = pool_block_resize(f->pool, f->start, f->size, 2 * f->size);

    if (start == NULL)
        return -1;
    f->size *= 2;
    format_into(f, start, written, f->size);
    return 0;
}

static int format_full(apr_vformatter_buff_t *out)
{
    format_state *f = (format_state *)out;

    return f->pool->per_block ? format_grow_block(f) : format_grow_chunk(f);
}

static char *format_in_chunk(format_state *f, const char *format, va_list ap)
{
    brg_pool_head *head = &f->pool->head;
    apr_size_t n;

    f->chunk = NULL;
    if (head->bump < head->end) {
        format_into(f, head->bump, 0, (apr_size_t)(head->end - head->bump));
    } else {
        f->start = f->out.curpos = head->bump;
        if (format_grow_chunk(f) != 0)
            return pool_out_of_memory(f->pool);
    }
    if (apr_vformatter(format_full, &f->out, format, ap) == -1) {
        if (f->chunk != NULL)
            apr_allocator_free(f->pool->allocator, f->chunk);
        return pool_out_of_memory(f->pool);
    }
    *f->out.curpos++ = '\0';
    n = (apr_size_t)(f->out.curpos - f->start);
    head->allocations++;
    if (f->chunk != NULL)
        pool_chunk_add(f->pool, f->chunk, n);
    else
        head->bump += BRG_POOL_ROUND(n);
    return f->start;
}

static char *format_in_block(format_state *f, const char *format, va_list ap)
{
    char *start = pool_block(f->pool, FORMAT_FIRST, f->site);
    char *cut;
    apr_size_t n;

    if (start == NULL)
        return NULL;
    f->size = FORMAT_FIRST;
    format_into(f, start, 0, FORMAT_FIRST);
    if (apr_vformatter(format_full, &f->out, format, ap) == -1)
        return pool_out_of_memory(f->pool);
    *f->out.curpos++ = '\0';
    n = (apr_size_t)(f->out.curpos - f->start);
    if (n == f->size)
        return f->start;
    cut = pool_block_resize(f->pool, f->start, f->size, n);
    return cut != NULL ? cut : f->start;
}

static inline char *format_text(apr_pool_t *p, const char *format, va_list ap, const void *site)
{
    format_state f;

    f.pool = p;
    f.site = site;
    return p->per_block ? format_in_block(&f, format, ap) : format_in_chunk(&f, format, ap);
}

APR_DECLARE(char *) apr_pvsprintf(apr_pool_t *p, const char *fmt, va_list ap)
{
    return format_text(p, fmt, ap, __builtin_return_address(0));
}

APR_DECLARE_NONSTD(char *) apr_psprintf(apr_pool_t *p, const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start(ap, fmt);
    text = format_text(p, fmt, ap, __builtin_return_address(0));
    va_end(ap);
    return text;
}
