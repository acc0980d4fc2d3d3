/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STORE_STORE_PRIVATE_H
#define BRIGADE_STORE_STORE_PRIVATE_H

/**
 * @file store_private.h
 * The layout of the shared memory, and the parts of the store.
 *
 * A slot is one of
 *   object  kind 2 | hits 3 | generation 9 | segment 18 | granule 16 | tag 16
 *   flight  kind 2 | -    3 | -          9 | entry   18 | sequence 16 | tag 16
 *   pass    kind 2 | ghost 1 | more of the tag 13 | until 32 (seconds; of a ghost, which eviction it was) | tag 16
 * from the top down to the tag in the lowest bits. A ghost is a key whose object was evicted before its second hit.
 *
 * States of a segment, each changed by compare-and-swap; owner is the row that changes it:
 *   FREE -> OPEN (appended to) -> SEALED -> SWEEPING (its slots go) -> DYING (until nobody has it pinned)
 *   -> PUNCHING (its pages are given back) -> FREE with the next generation
 * A process that meets SWEEPING or PUNCHING of a dead owner does it again.
 */
#include "store.h"
#include "brigade/assert.h"
#include <stdatomic.h>

#define STORE_MAGIC 0x3365726f74736272ull
#define STORE_GRANULE 16u
#define STORE_GRANULES (STORE_SEGMENT / STORE_GRANULE)
#define STORE_BUCKET 8                  /* slots */
#define STORE_SHARED_MOST (768u * 1024) /* bytes of a record in a segment with others */
#define STORE_PREFIXES 64
#define STORE_PREFIX_MOST 512
#define STORE_VARIANT_COUNTS 65536
#define STORE_ROWS_MOST 1024
#define STORE_WAIT_WORDS (STORE_ROWS_MOST / 64)

enum { STORE_SLOT_NONE, STORE_SLOT_OBJECT, STORE_SLOT_FLIGHT, STORE_SLOT_PASS };
enum {
    STORE_SEG_FREE,
    STORE_SEG_OPEN,
    STORE_SEG_SEALED,
    STORE_SEG_SWEEPING,
    STORE_SEG_DYING,
    STORE_SEG_PUNCHING
};
enum { STORE_CLASS_SMALL, STORE_CLASS_MAIN, STORE_CLASS_LARGE, STORE_CLASSES };
enum { STORE_ROW_FREE, STORE_ROW_CLAIMED, STORE_ROW_LIVE, STORE_ROW_DEAD };

/* Of a record's word: state 3 | flags 7 | owner's row 10 | its incarnation 12. */
enum { STORE_REC_WRITING = 1, STORE_REC_COMPLETE, STORE_REC_BROKEN };
#define STORE_REC_STATE 7u
#define STORE_REC_SOFT 8u
#define STORE_REC_VARY 16u
/* a link follows the header: to the next piece, or to the record whose body this is */
#define STORE_REC_LINKED 32u
#define STORE_REC_BORROWS 64u
#define STORE_REC_PIECE 128u
#define STORE_REC_VARIANT 256u /* its first mark is that of the key whose variant it is */
#define STORE_REC_OWNER 10     /* from this bit on */

/* 40 bytes in front of an object. */
typedef struct store_record {
    _Atomic uint32_t word;
    _Atomic uint32_t size; /* granules, low 17 bits; number of marks above */
    store_key key;
    _Atomic uint32_t stamp;  /* the epoch up to which purges were looked at */
    uint32_t head_len;       /* text with its length in front, terms, head */
    _Atomic uint64_t length; /* of the body: committed bytes; of a piece: its own */
} store_record;

_Static_assert(sizeof(store_record) == 40, "an object costs 40 bytes and its slot");

typedef struct store_row {
    _Atomic uint32_t state, incarnation;
    _Atomic int64_t pid;
    char rest[48];
} store_row;

typedef struct store_segment {
    _Atomic uint32_t state, generation, used, owner; /* used: granules; owner: store_owner() */
    /* anchor: the segment whose pins hold this one, too */
    _Atomic uint32_t kind, anchor, anchor_generation;
    _Atomic uint32_t counted; /* bytes that it is charged with */
    _Atomic uint64_t order;
    char rest[24];
} store_segment;

typedef struct store_flight {
    _Atomic uint32_t state; /* store_flight_state + 1 | sequence << 16; 0: never used */
    _Atomic uint32_t owner;
    store_key key;
    uint64_t mark;
    _Atomic uint64_t link; /* to the record that grows */
    _Atomic uint64_t bytes;
    _Atomic uint64_t waits[STORE_WAIT_WORDS];
    char rest[16];
} store_flight;

typedef struct store_purge {
    _Atomic uint64_t mark;
    _Atomic uint64_t epoch; /* beyond 32 bits: it is being made (store_purge.c) */
} store_purge;

typedef struct store_prefix {
    _Atomic uint64_t epoch, since; /* epoch: as of a store_purge */
    _Atomic uint32_t state;        /* 0 none, 1 is written, 2 ready */
    uint32_t soft, len;
    char text[STORE_PREFIX_MOST];
} store_prefix;

typedef struct store_shared {
    uint64_t magic, layout; /* layout: a sum over the limits */
    uint64_t bytes;         /* of the limits */
    uint64_t secret[2];
    _Atomic uint64_t order;
    _Atomic uint32_t epoch, floor, all_hard, all_soft, next_flight, flights, purgers;
    _Atomic uint64_t flight_bytes, objects;
    _Atomic uint64_t stored, evicted, promoted, refused, purges, broken, orphans, collapsed;
    store_prefix prefix[STORE_PREFIXES];
    /** of a key: some bits of its mark 16 | how many 16 */
    _Atomic uint32_t variants[STORE_VARIANT_COUNTS];
} store_shared;

/* Each process's own data: sizes are never read out of the memory. */
struct store {
    store_limits limits;
    char *base;
    size_t bytes;
    uint32_t segments, buckets, purges;
    store_shared *shared;
    store_row *row;
    store_segment *segment;
    _Atomic uint64_t *slot;
    store_flight *flight;
    store_purge *purge;
    _Atomic uint32_t *pin; /* row by row, of each segment */
    char *data;
};

struct store_reader {
    store *s;
    uint32_t row, incarnation;
    uint32_t open[STORE_CLASSES]; /* segment + 1 */
    uint32_t used[STORE_CLASSES]; /* granules of it */
    uint32_t clock;               /* the slot at which store_slot_trim() goes on */
};

struct store_writer {
    store_reader *reader;
    store_record *record;
    uint32_t segment, flight;
    store_key key;
    uint64_t mark, asked; /* asked: the length that was announced */
    store_record *piece;  /* that is written now: the record itself, or a piece */
    uint32_t piece_segment, piece_room, piece_used;
    uint64_t total;
    uint32_t own; /* it has segments of its own */
};

/* A test ends the process at one of these. */
#ifdef BRG_DEBUG_ASSERTIONS
extern void (*store_test_step)(const char *where);
#define STORE_STEP(where)           \
    do {                            \
        if (store_test_step)        \
            store_test_step(where); \
    } while (0)
#else
#define STORE_STEP(where) ((void)0)
#endif

/* ---- rows */
static inline uint32_t store_owner(uint32_t row, uint32_t incarnation)
{
    return (incarnation & 0xfff) << 10 | row;
}
int store_owner_lives(const store *s, uint32_t owner);

/* ---- links and slots */
static inline uint64_t store_link(uint32_t generation, uint32_t segment, uint32_t granule)
{
    return (uint64_t)(generation & 0x1ff) << 34 | (uint64_t)(segment & 0x3ffff) << 16 |
           (granule & 0xffff);
}
/* In links that lie in memory; without it the link is empty. */
#define STORE_LINK_SET (1ull << 63)
static inline uint32_t store_link_segment(uint64_t link)
{
    return (uint32_t)(link >> 16) & 0x3ffff;
}
static inline uint64_t store_slot_make(int kind, uint32_t hits, uint64_t link, const store_key *key)
{
    return (uint64_t)kind << 62 | (uint64_t)(hits & 7) << 59 | (link & 0x7ffffffffffull) << 16 |
           (key->b & 0xffff);
}
static inline int store_slot_kind(uint64_t slot)
{
    return (int)(slot >> 62);
}
/* store_head.worth of a record. */
static inline uint32_t store_worth(const store_record *r)
{
    return atomic_load_explicit(&r->size, memory_order_relaxed) >> 24 & STORE_WORTH_MOST;
}

static inline uint32_t store_slot_hits(uint64_t slot)
{
    return (uint32_t)(slot >> 59) & 7;
}
static inline uint64_t store_slot_link(uint64_t slot)
{
    return slot >> 16 & 0x7ffffffffffull;
}

/* The 16 slots of a key, in two buckets; i from 0. */
static inline _Atomic uint64_t *store_slot_at(const store *s, const store_key *key, int i)
{
    const uint32_t part = i < STORE_BUCKET ? (uint32_t)key->a : (uint32_t)(key->b >> 16);
    const uint64_t bucket =
        (uint64_t)part * s->buckets >> 32; /* any number of buckets, without a division */

    return s->slot + bucket * STORE_BUCKET + (unsigned)i % STORE_BUCKET;
}
#define STORE_SLOTS (2 * STORE_BUCKET)
#define STORE_SLOT_HIT (1ull << 59)
#define STORE_SLOT_HITS (7ull << 59)

/* Put a slot into an empty place, or into that of the least worth. NULL: all places are flights */
_Atomic uint64_t *store_slot_put(store *s, const store_key *key, uint64_t slot);
/* The place of this very slot. NULL: it is gone */
_Atomic uint64_t *store_slot_find(const store *s, const store_key *key, uint64_t slot);
/* Remember that its object was evicted. */
void store_slot_ghost(store *s, const store_key *key);
/* Remember that responses of this key cannot be stored, for so many seconds of the clock. */
void store_slot_pass(store *s, const store_key *key, uint32_t until);
/** Objects beyond store_limits.objects_most go, but for the one at @a keep. */
void store_slot_trim(store_reader *reader, const _Atomic uint64_t *keep);
int store_slot_is_pass(const store_key *key, uint64_t slot);
/* The slot is a pass of this key that holds. */
int store_slot_passes(const store_key *key, uint64_t slot, apr_time_t now);
/* Was it evicted lately before its second hit? */
int store_slot_has_ghost(const store *s, const store_key *key);

/* ---- records */
/* The record that a link leads to, within its bounds. NULL: it is gone. The caller has the segment pinned, or owns it. */
store_record *store_record_at(const store *s, uint64_t link);
/* Of a record with STORE_REC_LINKED: the link behind its header. */
static inline _Atomic uint64_t *store_record_link(store_record *r)
{
    return (void *)(r + 1);
}
/* The parts of a record, in place. */
typedef struct store_parts {
    uint64_t link;
    const char *marks, *text, *terms, *head, *body;
    uint32_t marks_n, text_len, head_len, body_room;
} store_parts;
/* -1: they do not fit into the segment */
int store_record_parts(const store *s, const store_record *r, store_parts *parts);
/* The object that a slot leads to, whose segment is pinned then; NULL: it is another key's (key NULL: whosever), or gone. */
store_record *store_slot_pin(store_reader *reader, const store_key *key, _Atomic uint64_t *at,
                             uint64_t slot, store_parts *parts);
/* Is an object of this key purged? 0, 1 softly, 2 */
int store_is_purged(store *s, store_record *r, const store_parts *parts);
/* Take the object of this slot out of the table. */
void store_object_forget(store *s, const store_key *key, uint64_t slot);
/* A slot that led to an object has another value now: count that. */
void store_object_gone(store *s, uint64_t slot);
/* Variants of a key, about: keys with many of them are counted well. */
uint32_t store_variants(const store *s, uint64_t mark);
void store_variants_add(store *s, uint64_t mark, int by);
/* Build a view of a record whose segment is pinned. 0: it cannot be read */
int store_view_make(store_reader *reader, store_record *r, store_view *view);

/* ---- segments */
void store_pin(store_reader *reader, uint32_t segment);
void store_unpin(store_reader *reader, uint32_t segment);
/* Room for a record. @param evict  others may go for it. @return NULL: no memory now */
store_record *store_alloc(store_reader *reader, int kind, int evict, uint32_t bytes,
                          uint32_t *segment);
/* A segment of one's own. -1: none */
int64_t store_segment_own(store_reader *reader, int kind);
void store_segment_seal(store *s, uint32_t segment);
/* It is to be freed once nobody has it pinned. */
void store_segment_drop(store *s, uint32_t segment);
/* Free as much as possible, and evict until @a bytes more have place. 0, or -1 */
int store_make_room(store_reader *reader, uint64_t bytes);
uint64_t store_bytes_used(const store *s, uint32_t *free_segments);

static inline uint32_t store_segment_of(const store *s, const void *p)
{
    return (uint32_t)((size_t)((const char *)p - s->data) / STORE_SEGMENT);
}
static inline uint32_t store_granule_of(const store *s, const void *p)
{
    return (uint32_t)((size_t)((const char *)p - s->data) % STORE_SEGMENT / STORE_GRANULE);
}
static inline uint64_t store_link_of(const store *s, const void *p)
{
    const uint32_t segment = store_segment_of(s, p);

    return store_link(s->segment[segment].generation, segment, store_granule_of(s, p));
}

/* ---- flights */
store_flight *store_flight_of(const store *s, uint32_t flight);
/* Flights of dead owners are over: nobody may ask for their keys again. */
void store_flights_of_dead(store *s);
/* It is not over. */
int store_flight_lasts(const store_flight *f);
void store_flight_finish(store *s, uint32_t flight, store_flight_state how);

#define STORE_COUNT(s, what) atomic_fetch_add_explicit(&(s)->shared->what, 1, memory_order_relaxed)

#endif
