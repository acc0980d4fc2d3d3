/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SMS_PRIVATE_H
#define BRIGADE_SMS_PRIVATE_H

/*
 * Common parts of the built-in kinds: counters, the per-thread slots that hold them, and a few tools.
 *
 * A *slot* is the part of one thread in one system: its counters, and behind them whatever the kind
 * wants to keep per thread (an arena). A system for one thread has a single slot. Slots outlive
 * their threads: when a thread ends, its slot is left without an owner and the next new thread
 * adopts it, counters and all.
 *
 * Locks are taken from child to parent: a kind that holds its counts->lock may call its parent.
 */
#include "brigade/sms.h"
#include "sms_kinds.h"
#include <pthread.h>
#include <stdatomic.h>

#define SMS_MAGIC 0x534d5331u

/* brg_sms.flags */
#define SMS_ONE_SLOT 1u /* the kind is for one thread */
#define SMS_SHARED 2u   /* declared shared: calls are made under counts->lock */
#define SMS_ROOT 4u     /* never destroyed */
#define SMS_COUNTS 8u /* the kind counts its blocks by itself, with the slot that it has at hand */

/* Larger requests are refused before a kind is called, so that kinds may add headers without a check. */
#define SMS_LARGEST ((size_t)PTRDIFF_MAX - ((size_t)1 << 32))

/* A thread of a system for many publishes its sum when it has changed by so much. */
#define SMS_DRIFT_BYTES 65536

#define SMS_ROUND(n, to) (((n) + ((to)-1)) & ~(size_t)((to)-1))

/* One writer each, the thread that has the slot; read by any. */
typedef struct sms_counters {
    _Atomic uint64_t allocations, bytes, frees, freed_bytes, refills, remote_frees, resets,
        failures;
    _Atomic int64_t held;
    _Atomic uint64_t high_water; /* one-slot systems only */
} sms_counters;

typedef struct sms_slot {
    sms_counters n;
    int64_t drift;             /* change of live bytes that counts->live does not know */
    const void *_Atomic owner; /* identity of the thread; NULL when it ended */
    brg_sms *system;
    struct sms_slot *next; /* constant once the slot is listed */
    _Alignas(16) unsigned char state[];
} sms_slot;

/* Callbacks of a kind with state per thread, for sms_make_threaded(). The callbacks run under
 * counts->lock. */
typedef struct sms_slot_rules {
    size_t state_bytes;
    void (*begin)(brg_sms *s, void *state); /* a new slot, zeroed */
    void (*end)(brg_sms *s, void *state);   /* its thread ended: keep nothing that nobody uses */
    /* Give back the reserves of threads that made no call since the last time. Without counts->lock; may be NULL. */
    void (*idle)(brg_sms *s);
} sms_slot_rules;

struct brg_sms_counts {
    uint64_t serial; /* never the same for two systems; 0: one slot */
    const sms_slot_rules *rules;
    sms_slot *_Atomic slots;
    pthread_mutex_t lock;
    /* members that all threads write are in no cache line that each reads at every call */
    char apart[64];
    _Atomic int64_t live;       /* published sums of all slots, for high_water */
    _Atomic int64_t high_water; /* most of live */
    char behind[64];
    sms_counters base; /* sums at the last reset of the counters */
    /* all systems with slots per thread or a lock; link NULL: not listed */
    struct brg_sms *next, **link;
};

/** A system with a slot per thread and state in each. NULL when memory is out. */
brg_sms *sms_make_threaded(size_t bytes, const brg_sms_ops *ops, brg_sms *parent,
                           const sms_slot_rules *rules);

/** Fill in a system that is not on the heap. */
void sms_counts_begin(brg_sms *s, const brg_sms_ops *ops, brg_sms *parent,
                      const sms_slot_rules *rules, struct brg_sms_counts *counts, sms_slot *one);

/** Let any thread use a system that is for one: its calls are made under counts->lock from now on.
 */
void sms_counts_share(brg_sms *s);

/** Forget the slots. Before the system is freed; no thread may use it any more. */
void sms_counts_end(brg_sms *s);

/** No thread's end calls into the system from now on. Before ops->destroy. */
void sms_counts_leave(brg_sms *s);

/** The slow way to this thread's slot. NULL when memory is out. */
sms_slot *sms_slot_find(brg_sms *s);

/* Where this thread's slots are, by serial number of the system; a cache before sms_slot_find(). */
#define SMS_THREAD_ENTRIES 64
typedef struct sms_thread_entry {
    uint64_t serial;
    sms_slot *slot;
} sms_thread_entry;
extern __thread sms_thread_entry sms_thread_entries[SMS_THREAD_ENTRIES]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The caller for whom a block is made; see brg_sms_allocate_from(). */
extern __thread const void *sms_call_site
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** This thread's slot; NULL when there is no memory for one. */
static inline sms_slot *sms_slot_here(brg_sms *s)
{
    struct brg_sms_counts *counts = s->counts;
    sms_thread_entry *entry;

    if (counts->serial == 0)
        return atomic_load_explicit(&counts->slots, memory_order_relaxed);
    entry = &sms_thread_entries[counts->serial % SMS_THREAD_ENTRIES];
    if (__builtin_expect(entry->serial == counts->serial, 1))
        return entry->slot;
    return sms_slot_find(s);
}

static inline void sms_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

void sms_count_drift(brg_sms *s, sms_slot *slot);

/** Count a block that was handed out, or taken back. */
static inline void sms_count_live(brg_sms *s, sms_slot *slot, int64_t more)
{
    if (s->counts->serial == 0) {
        uint64_t live = atomic_load_explicit(&slot->n.bytes, memory_order_relaxed) -
                        atomic_load_explicit(&slot->n.freed_bytes, memory_order_relaxed);

        if (live > atomic_load_explicit(&slot->n.high_water, memory_order_relaxed))
            atomic_store_explicit(&slot->n.high_water, live, memory_order_relaxed);
        return;
    }
    slot->drift += more;
    if (__builtin_expect(slot->drift >= SMS_DRIFT_BYTES || slot->drift <= -SMS_DRIFT_BYTES, 0))
        sms_count_drift(s, slot);
}

static inline void sms_count_allocated(brg_sms *s, sms_slot *slot, size_t bytes)
{
    sms_count(&slot->n.allocations, 1);
    sms_count(&slot->n.bytes, bytes);
    sms_count_live(s, slot, (int64_t)bytes);
}

static inline void sms_count_freed(brg_sms *s, sms_slot *slot, size_t bytes)
{
    sms_count(&slot->n.frees, 1);
    sms_count(&slot->n.freed_bytes, bytes);
    sms_count_live(s, slot, -(int64_t)bytes);
}

/** Bytes taken from where the system gets its memory (negative: given back). */
void sms_count_held(brg_sms *s, int64_t more);

/** The same, for a slot of which the caller is sure that nobody else writes to it. */
static inline void sms_count_slot_held(sms_slot *slot, int64_t more)
{
    atomic_store_explicit(&slot->n.held,
                          atomic_load_explicit(&slot->n.held, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

/** Calls that were made with the slot. */
static inline uint64_t sms_slot_calls(const sms_slot *slot)
{
    return atomic_load_explicit(&slot->n.allocations, memory_order_relaxed) +
           atomic_load_explicit(&slot->n.frees, memory_order_relaxed);
}

/* Parameters. */

/** The value of a size parameter. @return NULL or a message */
const char *sms_param_size(const brg_sms_param *param, size_t least, size_t most, size_t *out,
                           apr_pool_t *p);
/** 1 if @a param has that name, or has no name and is the first positional one that the kind takes.
 */
int sms_param_is(const brg_sms_param *param, const char *name);
/** The refusal of a parameter that a kind does not know. */
const char *sms_param_unknown(const brg_sms_param *param, apr_pool_t *p);
/** "64K", "2M", "1000" in a buffer of at least 24 bytes, which is returned. */
const char *sms_format_size(size_t bytes, char *buffer);

/* Kinds by name (sms_kinds.c). */

#define SMS_MESSAGE 640 /* longest message */

/** NULL: unknown. */
const sms_kind *sms_kind_find(const char *name);
/** A message about a specification, with all kinds that there are. */
const char *sms_kinds_told(const char *message, apr_pool_t *p);
int sms_kind_builtin(const sms_kind *kind);

/** Bytes to keep in reserve where a specification does not say. 0: no limit */
size_t sms_default_keep(void);

/** A message about a kind's table, or NULL (sms_check.c). */
const char *sms_check_ops(const brg_sms_ops *ops);

/** A broken invariant or a caller's misuse: say it on stderr and abort. */
void sms_panic(const brg_sms *s, const char *what, const void *block)
    __attribute__((noreturn, cold));

extern brg_sms_create_fn sms_system_create, sms_trivial_create, sms_blocks_create, sms_arena_create,
    sms_tracking_create, sms_guard_create, sms_limit_create, sms_fault_create, sms_os_create;

/* Poison: the address sanitizer shows each access to free memory. */
#if defined(__SANITIZE_ADDRESS__)
#define SMS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SMS_ASAN 1
#endif
#endif
#ifndef SMS_ASAN
#define SMS_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define SMS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SMS_TSAN 1
#endif
#endif
#ifndef SMS_TSAN
#define SMS_TSAN 0
#endif

#if SMS_ASAN
#include <sanitizer/asan_interface.h>
#define sms_poison(at, n) __asan_poison_memory_region((at), (n))
#define sms_unpoison(at, n) __asan_unpoison_memory_region((at), (n))
#else
#define sms_poison(at, n) ((void)(at), (void)(n))
#define sms_unpoison(at, n) ((void)(at), (void)(n))
#endif

#endif
