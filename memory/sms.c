/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch: every call to a memory system passes here, is checked, counted and, for a system that
 * was declared shared, made under its lock. Calls are for chunks, or for debugging kinds: the bump
 * path of pools does not come here.
 */
#include "sms_private.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic size_t dispatch_default_keep = (size_t)2 << 20;

BRG_DECLARE(void) brg_sms_set_default_keep(size_t bytes)
{
    atomic_store(&dispatch_default_keep, bytes);
}

size_t sms_default_keep(void)
{
    return atomic_load_explicit(&dispatch_default_keep, memory_order_relaxed);
}

void sms_panic(const brg_sms *s, const char *what, const void *block)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "memory system %s: %s (block %p)\n", s->ops->kind, what,
                     block);

    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
        abort();
    abort();
}

static inline void dispatch_check(const brg_sms *s)
{
    if (__builtin_expect(s->magic != SMS_MAGIC, 0))
        abort();
}

static inline void dispatch_lock(brg_sms *s)
{
    if (__builtin_expect(s->flags & SMS_SHARED, 0))
        pthread_mutex_lock(&s->counts->lock);
}

static inline void dispatch_unlock(brg_sms *s)
{
    if (__builtin_expect(s->flags & SMS_SHARED, 0))
        pthread_mutex_unlock(&s->counts->lock);
}

static inline void dispatch_count_allocation(brg_sms *s, size_t bytes, int succeeded)
{
    sms_slot *slot = sms_slot_here(s);

    if (__builtin_expect(slot == NULL, 0))
        return;
    if (__builtin_expect(succeeded, 1))
        sms_count_allocated(s, slot, bytes);
    else
        sms_count(&slot->n.failures, 1);
}

static inline void dispatch_count_free(brg_sms *s, size_t bytes)
{
    sms_slot *slot = sms_slot_here(s);

    if (__builtin_expect(slot != NULL, 1))
        sms_count_freed(s, slot, bytes);
}

static inline void *dispatch_allocate(brg_sms *s, size_t bytes)
{
    void *block = NULL;

    dispatch_check(s);
    if (bytes == 0)
        bytes = 1;
    if (__builtin_expect(s->flags & SMS_COUNTS && bytes <= SMS_LARGEST, 1)) {
        block = s->ops->allocate(s, bytes);
        if (__builtin_expect(block == NULL, 0))
            dispatch_count_allocation(s, bytes, 0);
        return block;
    }
    dispatch_lock(s);
    if (__builtin_expect(bytes <= SMS_LARGEST, 1))
        block = s->ops->allocate(s, bytes);
    dispatch_count_allocation(s, bytes, block != NULL);
    dispatch_unlock(s);
    return block;
}

BRG_DECLARE(void *) brg_sms_allocate(brg_sms *s, size_t bytes)
{
    sms_call_site = __builtin_return_address(0);
    return dispatch_allocate(s, bytes);
}

BRG_DECLARE(void *) brg_sms_allocate_from(brg_sms *s, size_t bytes, const void *site)
{
    sms_call_site = site;
    return dispatch_allocate(s, bytes);
}

BRG_DECLARE(void) brg_sms_free(brg_sms *s, void *block, size_t bytes)
{
    dispatch_check(s);
    if (block == NULL)
        return;
    if (bytes == 0)
        bytes = 1;
    if (__builtin_expect(s->flags & SMS_COUNTS, 1)) {
        s->ops->free(s, block, bytes);
        return;
    }
    dispatch_lock(s);
    dispatch_count_free(s, bytes);
    if (s->ops->free != NULL)
        s->ops->free(s, block, bytes);
    dispatch_unlock(s);
}

/* For kinds without a resize of their own. */
static void *dispatch_move(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    void *moved = s->ops->allocate(s, bytes);

    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    if (s->ops->free != NULL)
        s->ops->free(s, block, old_bytes);
    return moved;
}

BRG_DECLARE(void *) brg_sms_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    void *moved = NULL;

    sms_call_site = __builtin_return_address(0);
    if (block == NULL)
        return dispatch_allocate(s, bytes);
    dispatch_check(s);
    if (bytes == 0)
        bytes = 1;
    if (old_bytes == 0)
        old_bytes = 1;
    dispatch_lock(s);
    if (bytes <= SMS_LARGEST)
        moved = s->ops->resize != NULL ? s->ops->resize(s, block, old_bytes, bytes)
                                       : dispatch_move(s, block, old_bytes, bytes);
    if (moved == NULL || !(s->flags & SMS_COUNTS)) {
        if (moved != NULL)
            dispatch_count_free(s, old_bytes);
        dispatch_count_allocation(s, bytes, moved != NULL);
    }
    dispatch_unlock(s);
    return moved;
}

/* Everything is taken back: the freed bytes of all threads become equal to the given ones. */
static void dispatch_count_reset(brg_sms *s)
{
    sms_slot *slot = atomic_load_explicit(&s->counts->slots, memory_order_acquire);

    for (; slot != NULL; slot = slot->next) {
        uint64_t bytes = atomic_load_explicit(&slot->n.bytes, memory_order_relaxed);

        atomic_store_explicit(&slot->n.freed_bytes, bytes, memory_order_relaxed);
        slot->drift = 0;
    }
    atomic_store_explicit(&s->counts->live, 0, memory_order_relaxed);
    slot = sms_slot_here(s);
    if (slot != NULL)
        sms_count(&slot->n.resets, 1);
}

BRG_DECLARE(int) brg_sms_reset(brg_sms *s)
{
    dispatch_check(s);
    if (s->ops->reset == NULL)
        return -1;
    dispatch_lock(s);
    s->ops->reset(s);
    dispatch_count_reset(s);
    dispatch_unlock(s);
    return 0;
}

BRG_DECLARE(void *) brg_sms_take(brg_sms *s, size_t bytes)
{
    void *chunk = dispatch_allocate(s->parent, bytes);
    sms_slot *slot = sms_slot_here(s);

    if (slot != NULL)
        sms_count(&slot->n.refills, 1);
    if (chunk != NULL)
        sms_count_held(s, (int64_t)bytes);
    return chunk;
}

BRG_DECLARE(void) brg_sms_give(brg_sms *s, void *chunk, size_t bytes)
{
    sms_count_held(s, -(int64_t)bytes);
    brg_sms_free(s->parent, chunk, bytes);
}

/* One block for the kind's struct, its counters and, if one thread uses it, that thread's slot. */
BRG_DECLARE(brg_sms *) brg_sms_make(size_t bytes, const brg_sms_ops *ops, brg_sms *parent)
{
    size_t head = SMS_ROUND(bytes, 16), counts = SMS_ROUND(sizeof(struct brg_sms_counts), 16);
    int one = ops->threads == BRG_SMS_ONE_THREAD;
    char *at;

    if (bytes < sizeof(brg_sms) || bytes > SMS_LARGEST)
        return NULL;
    at = calloc(1, head + counts + (one ? sizeof(sms_slot) : 0));
    if (at == NULL)
        return NULL;
    sms_counts_begin((brg_sms *)at, ops, parent, NULL, (struct brg_sms_counts *)(at + head),
                     one ? (sms_slot *)(at + head + counts) : NULL);
    return (brg_sms *)at;
}

brg_sms *sms_make_threaded(size_t bytes, const brg_sms_ops *ops, brg_sms *parent,
                           const sms_slot_rules *rules)
{
    size_t head = SMS_ROUND(bytes, 16);
    char *at = calloc(1, head + sizeof(struct brg_sms_counts));

    if (at == NULL)
        return NULL;
    sms_counts_begin((brg_sms *)at, ops, parent, rules, (struct brg_sms_counts *)(at + head), NULL);
    return (brg_sms *)at;
}

BRG_DECLARE(void) brg_sms_destroy(brg_sms **s, brg_sms *until)
{
    brg_sms *at = *s, *parent;

    *s = NULL;
    for (; at != NULL && at != until && !(at->flags & SMS_ROOT); at = parent) {
        dispatch_check(at);
        parent = at->parent;
        sms_counts_leave(at);
        at->ops->destroy(at);
        sms_counts_end(at);
        at->magic = 0;
        free(at);
    }
}

BRG_DECLARE(int) brg_sms_per_block(const brg_sms *s)
{
    while (s->ops->per_block == BRG_SMS_AS_PARENT && s->parent != NULL)
        s = s->parent;
    return s->ops->per_block == BRG_SMS_PER_BLOCK;
}

BRG_DECLARE(brg_sms_threads) brg_sms_thread_rule(const brg_sms *s)
{
    for (; s != NULL; s = s->parent)
        if (s->ops->threads == BRG_SMS_ONE_THREAD && !(s->flags & SMS_SHARED))
            return BRG_SMS_ONE_THREAD;
    return BRG_SMS_ANY_THREAD;
}

BRG_DECLARE(size_t) brg_sms_good_size(const brg_sms *s, size_t bytes)
{
    while (s->ops->per_block == BRG_SMS_AS_PARENT && s->ops->good_size == NULL && s->parent != NULL)
        s = s->parent;
    if (s->ops->good_size == NULL || bytes == 0 || bytes > SMS_LARGEST)
        return bytes;
    return s->ops->good_size(s, bytes);
}

BRG_DECLARE(void) brg_sms_trim(brg_sms *s)
{
    for (; s != NULL; s = s->parent) {
        if (s->ops->trim == NULL)
            continue;
        dispatch_lock(s);
        s->ops->trim(s);
        dispatch_unlock(s);
    }
}

BRG_DECLARE(void) brg_sms_discard(brg_sms *s, void *part, size_t bytes)
{
    while (s->ops->discard == NULL && s->ops->per_block == BRG_SMS_AS_PARENT && s->parent != NULL)
        s = s->parent;
    if (s->ops->discard != NULL)
        s->ops->discard(s, part, bytes);
}

BRG_DECLARE(int) brg_sms_owns(const brg_sms *s, const void *block)
{
    return s->ops->owns != NULL ? s->ops->owns(s, block) : -1;
}

BRG_DECLARE(void)
brg_sms_report(const brg_sms *s, void (*line)(void *baton, const char *text), void *baton)
{
    for (; s != NULL; s = s->parent)
        if (s->ops->report != NULL)
            s->ops->report(s, line, baton);
}

BRG_DECLARE(int) brg_sms_refusal_status(const brg_sms *s)
{
    int status = 0;

    for (; s != NULL && status == 0; s = s->parent)
        if (s->ops->refusal_status != NULL)
            status = s->ops->refusal_status(s);
    return status;
}

BRG_DECLARE(const char *) brg_sms_verify(const brg_sms *s)
{
    const char *broken = NULL;

    for (; s != NULL && broken == NULL; s = s->parent) {
        if (s->magic != SMS_MAGIC)
            return "no memory system, or one that was destroyed";
        if (s->ops->verify != NULL)
            broken = s->ops->verify(s);
    }
    return broken;
}
