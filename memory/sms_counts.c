/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and the slots that hold them.
 *
 * Each thread writes its own slot only, with plain stores that readers may see at any time; nothing
 * on the way of an allocation is shared. Resetting the counters cannot write to other threads'
 * slots, so it remembers the sums instead and statistics subtract them.
 */
#include "memory_scope.h"
#include "sms_private.h"
#include <stdlib.h>
#include <string.h>

__thread sms_thread_entry sms_thread_entries[SMS_THREAD_ENTRIES];
__thread const void *sms_call_site;

static pthread_once_t counts_once = PTHREAD_ONCE_INIT;
static pthread_key_t counts_key; /* its destructor tells that a thread ends */

/* All systems with slots per thread or a lock, newest first, so that children come before their
 * parents. */
static pthread_mutex_t counts_all_lock = PTHREAD_MUTEX_INITIALIZER;
static brg_sms *counts_all;
static _Atomic uint64_t counts_serial;

static const void *counts_self(void)
{
    return sms_thread_entries;
}

static sms_slot *counts_slots(const brg_sms *s)
{
    return atomic_load_explicit(&s->counts->slots, memory_order_acquire);
}

/* The slot of this thread becomes free for another one. Called with the list of all systems locked. */
static void counts_abandon(brg_sms *s, const void *self)
{
    sms_slot *slot;

    pthread_mutex_lock(&s->counts->lock);
    for (slot = counts_slots(s); slot != NULL; slot = slot->next) {
        if (atomic_load_explicit(&slot->owner, memory_order_relaxed) != self)
            continue;
        sms_count_drift(s, slot);
        /* Before the kind clears up: a thread that gives a block back from now on sees that no other will.
         */
        atomic_store(&slot->owner, NULL);
        if (s->counts->rules != NULL && s->counts->rules->end != NULL)
            s->counts->rules->end(s, slot->state);
    }
    pthread_mutex_unlock(&s->counts->lock);
}

static void counts_thread_end(void *self)
{
    brg_sms *s;

    pthread_mutex_lock(&counts_all_lock);
    for (s = counts_all; s != NULL; s = s->counts->next)
        counts_abandon(s, self);
    pthread_mutex_unlock(&counts_all_lock);
    memset(sms_thread_entries, 0, sizeof(sms_thread_entries));
}

/* The lock keeps systems from being destroyed meanwhile. */
uint64_t memory_idle(void)
{
    uint64_t calls = 0;
    sms_slot *slot;
    brg_sms *s;

    pthread_mutex_lock(&counts_all_lock);
    for (s = counts_all; s != NULL; s = s->counts->next) {
        for (slot = counts_slots(s); slot != NULL; slot = slot->next)
            calls += sms_slot_calls(slot);
        if (s->counts->rules != NULL && s->counts->rules->idle != NULL)
            s->counts->rules->idle(s);
    }
    pthread_mutex_unlock(&counts_all_lock);
    return calls;
}

/* A thread that forks (for a program to run) must not leave a copy behind in which the lock of
 * another thread is held for ever. Locks are taken as everywhere: the list, then children before
 * parents. */
static void counts_before_fork(void)
{
    brg_sms *s;

    pthread_mutex_lock(&counts_all_lock);
    for (s = counts_all; s != NULL; s = s->counts->next)
        pthread_mutex_lock(&s->counts->lock);
}

static void counts_after_fork(void)
{
    brg_sms *s;

    for (s = counts_all; s != NULL; s = s->counts->next)
        pthread_mutex_unlock(&s->counts->lock);
    pthread_mutex_unlock(&counts_all_lock);
}

static void counts_prepare(void)
{
    /* Without a key the slots of ended threads are never adopted: wasteful, but right. */
    (void)pthread_key_create(&counts_key, counts_thread_end);
    (void)pthread_atfork(counts_before_fork, counts_after_fork, counts_after_fork);
}

/* Threads' ends and forks go through these systems. */
static void counts_list(brg_sms *s)
{
    struct brg_sms_counts *counts = s->counts;

    pthread_once(&counts_once, counts_prepare);
    pthread_mutex_lock(&counts_all_lock);
    counts->next = counts_all;
    counts->link = &counts_all;
    if (counts->next != NULL)
        counts->next->counts->link = &counts->next;
    counts_all = s;
    pthread_mutex_unlock(&counts_all_lock);
}

void sms_counts_share(brg_sms *s)
{
    s->flags |= SMS_SHARED;
    counts_list(s);
}

/* The slot that this thread has or may adopt. Under counts->lock. */
static sms_slot *counts_adopt(brg_sms *s)
{
    const void *self = counts_self();
    sms_slot *slot, *orphan = NULL;

    for (slot = counts_slots(s); slot != NULL; slot = slot->next) {
        const void *owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);

        if (owner == self)
            return slot;
        if (owner == NULL)
            orphan = slot;
    }
    if (orphan != NULL)
        atomic_store(&orphan->owner, self);
    return orphan;
}

/* Under counts->lock. */
static sms_slot *counts_slot_make(brg_sms *s)
{
    const sms_slot_rules *rules = s->counts->rules;
    size_t bytes = SMS_ROUND(sizeof(sms_slot) + (rules != NULL ? rules->state_bytes : 0), 64);
    sms_slot *slot = aligned_alloc(64, bytes);

    if (slot == NULL)
        return NULL;
    memset(slot, 0, bytes);
    slot->system = s;
    atomic_init(&slot->owner, counts_self());
    if (rules != NULL && rules->begin != NULL)
        rules->begin(s, slot->state);
    slot->next = counts_slots(s);
    atomic_store_explicit(&s->counts->slots, slot, memory_order_release);
    return slot;
}

__attribute__((noinline)) sms_slot *sms_slot_find(brg_sms *s)
{
    sms_thread_entry *entry = &sms_thread_entries[s->counts->serial % SMS_THREAD_ENTRIES];
    sms_slot *slot;

    pthread_mutex_lock(&s->counts->lock);
    slot = counts_adopt(s);
    if (slot == NULL)
        slot = counts_slot_make(s);
    pthread_mutex_unlock(&s->counts->lock);
    if (slot == NULL)
        return NULL;
    (void)pthread_setspecific(counts_key, counts_self());
    entry->serial = s->counts->serial;
    entry->slot = slot;
    return slot;
}

void sms_counts_begin(brg_sms *s, const brg_sms_ops *ops, brg_sms *parent,
                      const sms_slot_rules *rules, struct brg_sms_counts *counts, sms_slot *one)
{
    s->magic = SMS_MAGIC;
    s->ops = ops;
    s->parent = parent;
    s->counts = counts;
    counts->rules = rules;
    pthread_mutex_init(&counts->lock, NULL);
    if (one != NULL) {
        s->flags |= SMS_ONE_SLOT;
        one->system = s;
        atomic_init(&counts->slots, one);
        return;
    }
    counts->serial = atomic_fetch_add_explicit(&counts_serial, 1, memory_order_relaxed) + 1;
    counts_list(s);
}

void sms_counts_leave(brg_sms *s)
{
    struct brg_sms_counts *counts = s->counts;

    if (counts->link == NULL)
        return;
    pthread_mutex_lock(&counts_all_lock);
    *counts->link = counts->next;
    if (counts->next != NULL)
        counts->next->counts->link = counts->link;
    counts->link = NULL;
    pthread_mutex_unlock(&counts_all_lock);
}

void sms_counts_end(brg_sms *s)
{
    sms_slot *slot = counts_slots(s), *next;

    pthread_mutex_destroy(&s->counts->lock);
    if (s->flags & SMS_ONE_SLOT)
        return;
    for (; slot != NULL; slot = next) {
        next = slot->next;
        free(slot);
    }
}

__attribute__((noinline)) void sms_count_drift(brg_sms *s, sms_slot *slot)
{
    struct brg_sms_counts *counts = s->counts;
    int64_t live =
        atomic_fetch_add_explicit(&counts->live, slot->drift, memory_order_relaxed) + slot->drift;
    int64_t high = atomic_load_explicit(&counts->high_water, memory_order_relaxed);

    slot->drift = 0;
    while (live > high &&
           !atomic_compare_exchange_weak_explicit(&counts->high_water, &high, live,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

void sms_count_held(brg_sms *s, int64_t more)
{
    sms_slot *slot = sms_slot_here(s);

    if (slot != NULL)
        sms_count_slot_held(slot, more);
}

#define COUNTS_ADD(field) \
    sms_count(&sum->field, atomic_load_explicit(&slot->n.field, memory_order_relaxed))

static void counts_sum(const brg_sms *s, sms_counters *sum)
{
    const sms_slot *slot;
    int64_t held = 0;

    memset(sum, 0, sizeof(*sum));
    for (slot = counts_slots(s); slot != NULL; slot = slot->next) {
        /* Frees before allocations: live bytes are never less than nothing for a block in flight.
         */
        COUNTS_ADD(frees);
        COUNTS_ADD(freed_bytes);
        COUNTS_ADD(allocations);
        COUNTS_ADD(bytes);
        COUNTS_ADD(refills);
        COUNTS_ADD(remote_frees);
        COUNTS_ADD(resets);
        COUNTS_ADD(failures);
        COUNTS_ADD(high_water);
        held += atomic_load_explicit(&slot->n.held, memory_order_relaxed);
    }
    atomic_store_explicit(&sum->held, held, memory_order_relaxed);
}

static uint64_t counts_live(const sms_counters *sum)
{
    return sum->bytes > sum->freed_bytes ? sum->bytes - sum->freed_bytes : 0;
}

static uint64_t counts_high_water(const brg_sms *s, const sms_counters *sum)
{
    int64_t high = atomic_load_explicit(&s->counts->high_water, memory_order_relaxed);
    uint64_t live = counts_live(sum), most = high > 0 ? (uint64_t)high : 0;

    if (s->flags & SMS_ONE_SLOT)
        most = sum->high_water;
    return most > live ? most : live;
}

BRG_DECLARE(void) brg_sms_statistics(const brg_sms *s, brg_sms_figures *out)
{
    const sms_counters *base = &s->counts->base;
    sms_counters sum;

    counts_sum(s, &sum);
    out->allocations = sum.allocations - base->allocations;
    out->bytes = sum.bytes - base->bytes;
    out->frees = sum.frees - base->frees;
    out->refills = sum.refills - base->refills;
    out->remote_frees = sum.remote_frees - base->remote_frees;
    out->resets = sum.resets - base->resets;
    out->failures = sum.failures - base->failures;
    out->live_bytes = counts_live(&sum);
    out->high_water_bytes = counts_high_water(s, &sum);
    out->held_bytes = sum.held > 0 ? (uint64_t)sum.held : 0;
    if (s->ops->statistics != NULL)
        s->ops->statistics(s, out);
}

BRG_DECLARE(void) brg_sms_statistics_reset(brg_sms *s)
{
    sms_counters sum;
    uint64_t live;
    sms_slot *one = s->flags & SMS_ONE_SLOT ? counts_slots(s) : NULL;

    counts_sum(s, &sum);
    live = counts_live(&sum);
    s->counts->base.allocations = sum.allocations;
    s->counts->base.bytes = sum.bytes;
    s->counts->base.frees = sum.frees;
    s->counts->base.refills = sum.refills;
    s->counts->base.remote_frees = sum.remote_frees;
    s->counts->base.resets = sum.resets;
    s->counts->base.failures = sum.failures;
    atomic_store_explicit(&s->counts->high_water, (int64_t)live, memory_order_relaxed);
    if (one != NULL)
        atomic_store_explicit(&one->n.high_water, live, memory_order_relaxed);
}
