/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SMS_ARENA_H
#define BRIGADE_SMS_ARENA_H

/*
 * An arena system has a *local* arena for each thread. A local arena takes *regions* from the
 * parent and cuts each into *cells* of one size class; a block above a quarter of a region
 * gets a region of its own.
 *
 * A region is in exactly one list of its home: avail[class] (it has a free cell), full, or empty
 * (no cell is handed out, the class may change). Only the thread that has the local arena touches
 * regions and lists. Any other thread that frees a cell pushes it on the home's remote list, and
 * the owner takes that whole list at its next call.
 *
 * The owner may sleep for long, and with it the cells that others freed. So an arena whose thread made no call for a while can be tidied
 * by another thread (sms_arena_idle.c).
 *
 * In each region: used <= capacity, and used + cells on its free list + cells never bumped ==
 * capacity.
 */
#include "sms_private.h"

#define ARENA_CLASSES 96
#define ARENA_LARGE ARENA_CLASSES /* class of a region that is one cell */

typedef struct arena_region arena_region;
typedef struct arena_local arena_local;

/* The head of a cell; the block follows it. */
typedef struct arena_cell {
    arena_region *region;
    struct arena_cell *next; /* of a free cell; ARENA_LIVE while it is handed out */
} arena_cell;

_Static_assert(sizeof(arena_cell) == BRG_SMS_ALIGNMENT, "blocks are aligned behind their heads");

struct arena_region {
    arena_region *next, **link;
    arena_local *home;
    arena_cell *free;
    char *bump;        /* next cell never handed out */
    size_t bytes;      /* as taken from the parent */
    size_t cell_bytes; /* with the head */
    uint32_t class_n;
    uint32_t used, capacity, bumped;
    uint32_t dirty; /* a cell was freed since the memory behind free ones was given back */
};

#define ARENA_REGION_HEAD SMS_ROUND(sizeof(arena_region), BRG_SMS_ALIGNMENT)

struct arena_local {
    brg_sms *system;
    _Atomic uint32_t busy;  /* the owner is inside; see sms_arena_idle.c */
    _Atomic uint32_t taken; /* another thread is inside, or looks whether it may: the owner waits */
    /* under counts->lock */
    uint64_t seen; /* the owner's calls when its arena was last looked at */
    int tidied;    /* since its last call */
    arena_region *avail[ARENA_CLASSES];
    arena_region *full;
    arena_region *empty; /* most recently emptied first */
    size_t empty_bytes;
    char apart[64];
    arena_cell *_Atomic remote; /* written by all threads: in a cache line of its own */
    char behind[64];
};

typedef struct arena_sms {
    brg_sms base;
    size_t chunk; /* bytes of a region */
    size_t keep;  /* most bytes of empty regions in a local arena */
    size_t cell_most;
    size_t class_bytes[ARENA_CLASSES]; /* without heads */
} arena_sms;

/* The value of next in a cell that is handed out. Never an address of a cell. */
#define ARENA_LIVE ((arena_cell *)(uintptr_t)0xa11ca7ed)

/* sms_arena.c */

/** Take a cell back on its home's thread. */
void arena_free_local(arena_local *local, arena_cell *cell);

static inline arena_sms *arena_of(arena_local *local)
{
    return (arena_sms *)local->system;
}

static inline void arena_unlink(arena_region *r)
{
    *r->link = r->next;
    if (r->next != NULL)
        r->next->link = r->link;
}

static inline void arena_link(arena_region **list, arena_region *r)
{
    r->next = *list;
    r->link = list;
    if (r->next != NULL)
        r->next->link = &r->next;
    *list = r;
}

/* sms_arena_regions.c */

/** A region of at least so many bytes, in no list and not formatted. NULL when memory is out. */
arena_region *arena_region_get(arena_local *local, size_t bytes);

/** Cut it into cells. */
void arena_region_format(arena_region *r, uint32_t class_n, size_t cell_bytes);

/** Nothing of the region, which is in no list, is handed out any more. */
void arena_retire(arena_local *local, arena_region *r);

/** Take all cells back at once, and keep at most so many bytes. */
void arena_empty_local(arena_local *local, size_t keep);

/* sms_arena_check.c; both only where no other thread uses the system */
int arena_owns(const brg_sms *s, const void *block);
const char *arena_verify(const brg_sms *s);

/* sms_remote.c */

/** Send a cell home. Any thread. */
void arena_remote_push(arena_local *home, arena_cell *cell);

/** Take back the cells that other threads sent. Owner, or the holder of counts->lock of a system
 * whose slot has no owner. */
void arena_remote_drain(arena_local *local);

/** Take the cells that came home to slots without a thread, and give them to the parent. */
void arena_remote_drain_orphans(brg_sms *s);

static inline int arena_remote_waiting(arena_local *local)
{
    return atomic_load_explicit(&local->remote, memory_order_relaxed) != NULL;
}

/** All that the arena does not need, for a thread that is idle or ended: cells that others freed are taken
 * home, regions without use go to the parent but for @a keep bytes, and so does the memory behind large free cells in the
 * others. */
void arena_tidy(arena_local *local, size_t keep);

static inline sms_slot *arena_slot(arena_local *local)
{
    return (sms_slot *)((char *)local - offsetof(sms_slot, state));
}

/* sms_arena_idle.c */

/** Tidy the arenas whose threads made no call since the last time. Any thread, one at a time. */
void arena_idle(brg_sms *s);

/** The owner found its arena taken. Returns when it has it, busy. */
void arena_enter_slowly(arena_local *local);

/* The order of the owner's two accesses, of which it makes millions, costs nothing there: the other
 * thread pays for both with membarrier(). ThreadSanitizer does not know that call. */
#if SMS_TSAN
#define ARENA_ORDER memory_order_seq_cst
#else
#define ARENA_ORDER memory_order_relaxed
#endif

/** The owner begins to touch its regions and lists. */
static inline void arena_enter(arena_local *local)
{
    atomic_store_explicit(&local->busy, 1, ARENA_ORDER);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&local->taken, SMS_TSAN ? memory_order_seq_cst
                                                                      : memory_order_acquire),
                         0))
        arena_enter_slowly(local);
}

static inline void arena_leave(arena_local *local)
{
    atomic_store_explicit(&local->busy, 0, memory_order_release);
}

#endif
