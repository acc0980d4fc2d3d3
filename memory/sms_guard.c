/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One heap block for each allocation, so that writing beyond it or after its end shows.
 *
 * Under the address sanitizer or valgrind the block has exactly the size asked for, from malloc,
 * and they see everything. Without them each block lies between two zones of a known pattern which
 * are looked at when it is freed, and waits in a queue, overwritten, for a while: a write to it
 * there is found when it leaves.
 *
 * On top of another kind than the operating system blocks come from there instead, with zones, and
 * the queue is off.
 */
#include "sms_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

#define GUARD_REDZONE_DEFAULT 32
#define GUARD_QUARANTINE_DEFAULT ((size_t)1 << 20)
#define GUARD_PATTERN 0xb7
#define GUARD_NEW 0xa5
#define GUARD_FREED 0xdb
#define GUARD_LIVE 0x60a4dedbu

/* At the begin of the zone before a block; the same place holds the queue's link once it is freed.
 */
typedef struct guard_head {
    struct guard_head *next;
    size_t bytes, bytes_again; /* a free with a wrong size is told from an overrun */
    uint64_t state;
} guard_head;

typedef struct guard_sms {
    brg_sms base;
    int plain;         /* a tool watches: no zones, no queue */
    size_t redzone;    /* behind a block; as many before it, after the head */
    size_t quarantine; /* most bytes in the queue */
    size_t queued;
    guard_head *oldest, **newest;
} guard_sms;

static inline size_t guard_before(const guard_sms *g)
{
    return sizeof(guard_head) + g->redzone;
}

static inline size_t guard_all(const guard_sms *g, size_t bytes)
{
    return guard_before(g) + bytes + g->redzone;
}

static inline guard_head *guard_head_of(const guard_sms *g, void *block)
{
    return (guard_head *)((char *)block - guard_before(g));
}

static void *guard_raw(guard_sms *g, size_t bytes)
{
    return g->base.parent == brg_sms_os() ? malloc(bytes) : brg_sms_take(&g->base, bytes);
}

static void guard_raw_free(guard_sms *g, void *raw, size_t bytes)
{
    if (g->base.parent == brg_sms_os())
        free(raw);
    else
        brg_sms_give(&g->base, raw, bytes);
}

static int guard_is(const unsigned char *at, size_t n, unsigned char pattern)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (at[i] != pattern)
            return 0;
    return 1;
}

static void *guard_allocate(brg_sms *s, size_t bytes)
{
    guard_sms *g = (guard_sms *)s;
    guard_head *head;
    unsigned char *block;

    if (g->plain)
        return malloc(bytes);
    head = guard_raw(g, guard_all(g, bytes));
    if (head == NULL)
        return NULL;
    head->bytes = head->bytes_again = bytes;
    head->state = GUARD_LIVE;
    block = (unsigned char *)head + guard_before(g);
    memset(head + 1, GUARD_PATTERN, g->redzone);
    memset(block, GUARD_NEW, bytes);
    memset(block + bytes, GUARD_PATTERN, g->redzone);
    return block;
}

static void guard_check(const guard_sms *g, const guard_head *head, size_t bytes)
{
    const unsigned char *block = (const unsigned char *)head + guard_before(g);

    if (head->state == ~(uint64_t)GUARD_LIVE)
        sms_panic(&g->base, "a block was freed twice", block);
    if (head->state != GUARD_LIVE || head->bytes != head->bytes_again ||
        !guard_is((const unsigned char *)(head + 1), g->redzone, GUARD_PATTERN))
        sms_panic(&g->base, "bytes before a block were overwritten", block);
    if (head->bytes != bytes)
        sms_panic(&g->base, "a block was freed with another size than it has", block);
    if (!guard_is(block + bytes, g->redzone, GUARD_PATTERN))
        sms_panic(&g->base, "bytes behind a block were overwritten", block);
}

/* The block that waited longest leaves. Under the lock. */
static void guard_release_oldest(guard_sms *g)
{
    guard_head *head = g->oldest;
    const unsigned char *block = (const unsigned char *)head + guard_before(g);

    if (!guard_is(block, head->bytes, GUARD_FREED))
        sms_panic(&g->base, "a block was written after it was freed", block);
    g->oldest = head->next;
    if (g->oldest == NULL)
        g->newest = &g->oldest;
    g->queued -= guard_all(g, head->bytes);
    free(head);
}

static void guard_queue(guard_sms *g, guard_head *head)
{
    pthread_mutex_lock(&g->base.counts->lock);
    head->next = NULL;
    *g->newest = head;
    g->newest = &head->next;
    g->queued += guard_all(g, head->bytes);
    while (g->queued > g->quarantine)
        guard_release_oldest(g);
    pthread_mutex_unlock(&g->base.counts->lock);
}

static void guard_free(brg_sms *s, void *block, size_t bytes)
{
    guard_sms *g = (guard_sms *)s;
    guard_head *head;

    if (g->plain) {
        free(block);
        return;
    }
    head = guard_head_of(g, block);
    guard_check(g, head, bytes);
    head->state = ~(uint64_t)GUARD_LIVE;
    memset(block, GUARD_FREED, bytes);
    if (g->quarantine == 0)
        guard_raw_free(g, head, guard_all(g, bytes));
    else
        guard_queue(g, head);
}

static void guard_destroy(brg_sms *s)
{
    guard_sms *g = (guard_sms *)s;

    while (g->oldest != NULL)
        guard_release_oldest(g);
}

static void guard_statistics(const brg_sms *s, brg_sms_figures *out)
{
    if (s->parent == brg_sms_os())
        out->held_bytes = out->live_bytes;
}

static void guard_describe(const brg_sms *s, char *out, size_t n)
{
    const guard_sms *g = (const guard_sms *)s;
    char redzone[24], quarantine[24];

    snprintf(out, n, "redzone=%s,quarantine=%s", sms_format_size(g->redzone, redzone),
             sms_format_size(g->quarantine, quarantine));
}

static const char *guard_verify(const brg_sms *s)
{
    const guard_sms *g = (const guard_sms *)s;
    const guard_head *head;
    size_t queued = 0;

    for (head = g->oldest; head != NULL; head = head->next) {
        queued += guard_all(g, head->bytes);
        if (!guard_is((const unsigned char *)head + guard_before(g), head->bytes, GUARD_FREED))
            return "guard: a block was written after it was freed";
    }
    return queued == g->queued && queued <= g->quarantine ? NULL : "guard: the queue is broken";
}

static const brg_sms_ops guard_ops = {
    .kind = "guard",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_PER_BLOCK,
    .allocate = guard_allocate,
    .free = guard_free,
    .destroy = guard_destroy,
    .statistics = guard_statistics,
    .describe = guard_describe,
    .verify = guard_verify,
};

const char *sms_guard_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                             int params_n, apr_pool_t *p)
{
    size_t redzone = GUARD_REDZONE_DEFAULT, quarantine = GUARD_QUARANTINE_DEFAULT;
    const char *message = NULL;
    guard_sms *g;
    int i, on_heap = parent == brg_sms_os();

    for (i = 0; i < params_n && message == NULL; i++)
        if (sms_param_is(&params[i], "redzone"))
            message = sms_param_size(&params[i], 16, 65536, &redzone, p);
        else if (sms_param_is(&params[i], "quarantine"))
            message = sms_param_size(&params[i], 0, SMS_LARGEST, &quarantine, p);
        else
            message = sms_param_unknown(&params[i], p);
    if (message != NULL)
        return message;
    *out = brg_sms_make(sizeof(guard_sms), &guard_ops, parent);
    if (*out == NULL)
        return "out of memory";
    g = (guard_sms *)*out;
    g->plain = on_heap && (SMS_ASAN || RUNNING_ON_VALGRIND);
    g->redzone = SMS_ROUND(redzone, BRG_SMS_ALIGNMENT);
    g->quarantine = on_heap ? quarantine : 0;
    g->newest = &g->oldest;
    return NULL;
}
