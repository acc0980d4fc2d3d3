/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASN_PRIVATE_H
#define BRIGADE_ASN_PRIVATE_H

/**
 * @file asn_private.h
 * How a table lies in memory (asn_memory.c, asn_attributes.c, asn_trie.c, asn_rib.c, asn_lookup.c).
 *
 * A word of the trie has a type (two low bits) and a place (in units of 8 bytes from the table's
 * begin). Every word that a reader may see is loaded with acquire and stored with release: a reader
 * of a word of a block's second life also sees that the count of retired blocks went on.
 */
#include <stdatomic.h>
#include "apr_siphash.h"
#include "brigade/one_writer.h"
#include "asn_table.h"

#define ASN_UNIT 8

typedef _Atomic uint32_t asn_word;
typedef _Atomic uint64_t asn_wide;

/** Types of a word's target. */
enum { ASN_NONE, ASN_NODE, ASN_ATTR, ASN_LEAF, ASN_TAGS = 3 };

/** Words of a block of attributes; path, communities and large ones follow. */
enum { ATTR_HOLDERS, ATTR_HASH, ATTR_ORIGIN, ATTR_COUNTS, ATTR_BEGIN };

/** Words of a leaf: a route that is alone below its place, so that no nodes lead to it. */
enum { LEAF_ATTR, LEAF_LENGTH, LEAF_ADDRESS, LEAF_WORDS = LEAF_ADDRESS + 4 };

/** ATTR_COUNTS: bytes of the path, communities, large ones. */
enum { COUNTS_PATH = 11, COUNTS_COMMUNITIES = 10 };

/** Read it; never more than attributes may have, whatever it says. */
static inline void asn_counts_read(uint32_t counts, size_t *path, size_t *communities,
                                   size_t *large)
{
    *path = counts & ((1u << COUNTS_PATH) - 1);
    *communities = counts >> COUNTS_PATH & ((1u << COUNTS_COMMUNITIES) - 1);
    *large = counts >> (COUNTS_PATH + COUNTS_COMMUNITIES);
    *path = *path < ASN_PATH_MAX ? *path : ASN_PATH_MAX;
    *communities = *communities < ASN_COMMUNITIES ? *communities : ASN_COMMUNITIES;
    *large = *large < ASN_LARGE ? *large : ASN_LARGE;
}

/** Wide words of a node. Routes of 0 to 7 bits within it are numbered (1 << bits) + their value; routes of all 8 bits
 * are children, unless there is a node for longer ones: then they are its number 1. The words follow, those of the
 * routes first. */
enum { NODE_COUNTS, NODE_CHILDREN, NODE_ROUTES = NODE_CHILDREN + 4, NODE_WIDES = NODE_ROUTES + 4 };

/** Kinds of blocks, which have free lists of their own: nodes lie at cache lines. */
enum { BLOCK_NODE, BLOCK_DATA, BLOCK_KINDS };

#define NODE_STEP 64
#define DATA_STEP 8
#define BLOCK_LARGEST 3200 /* of 512 words behind a node's head, and attributes with everything */
#define BLOCK_CLASSES (BLOCK_LARGEST / DATA_STEP + 1)

typedef struct asn_rib {
    asn_word root[2];
    asn_word routes[2];
    asn_wide updates, last_update;
    asn_word ready;
} asn_rib;

/** The shared head at the table's begin. */
typedef struct asn_shared {
    asn_wide retired; /* blocks given up so far */
    asn_wide bytes;   /* taken, for figures */
    asn_word used;    /* ribs behind these never had a route */
    asn_rib ribs[ASN_TABLE_RIBS];
} asn_shared;

/** Of each process its own. The size is in no memory that others could write. */
struct brg_asn_table {
    const asn_shared *shared;
    size_t size;
    brg_one_writer *memory;
};

/** A node taken apart, to be changed. */
typedef struct asn_flat {
    uint32_t routes[256], children[256];
} asn_flat;

typedef struct asn_retired {
    uint32_t at;
    uint16_t class;
    uint16_t kind;
} asn_retired;

/** The writer's view of a rib: the readers', or the coming one. */
typedef struct asn_view {
    asn_word root[2];
    uint32_t routes[2];
} asn_view;

struct brg_asn_writer {
    asn_shared *table;
    size_t size;
    size_t next;             /* bytes that no block was made of yet begin here */
    size_t chunk, chunk_end; /* of these, for data */
    uint32_t free[BLOCK_KINDS][BLOCK_CLASSES];
    asn_retired kept[ASN_TABLE_KEPT];
    uint64_t retired;
    unsigned char key[APR_SIPHASH_KSIZE]; /* of the hash of attributes: peers choose these */
    uint32_t *interned;                   /* attributes by hash: open addressing, a power of two */
    size_t interned_size, interned_count;
    asn_view *fresh[ASN_TABLE_RIBS]; /* between begin and commit */
};

static inline void *asn_at(const asn_shared *t, uint32_t at)
{
    return (char *)(uintptr_t)t + (size_t)at * ASN_UNIT;
}

static inline uint32_t asn_place(uint32_t word)
{
    return word >> 2;
}

static inline uint32_t asn_tag(uint32_t word)
{
    return word & ASN_TAGS;
}

static inline uint32_t asn_made(uint32_t at, uint32_t tag)
{
    return at << 2 | tag;
}

static inline uint32_t asn_get(const asn_word *w)
{
    return atomic_load_explicit(w, memory_order_acquire);
}

static inline void asn_put(asn_word *w, uint32_t value)
{
    atomic_store_explicit(w, value, memory_order_release);
}

static inline uint64_t asn_get_wide(const asn_wide *w)
{
    return atomic_load_explicit(w, memory_order_acquire);
}

static inline void asn_put_wide(asn_wide *w, uint64_t value)
{
    atomic_store_explicit(w, value, memory_order_release);
}

/** Bits set: in line, since the instruction for it is not in the oldest machines that the server runs on. */
static inline unsigned asn_bits(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (unsigned)(x * 0x0101010101010101ull >> 56);
}

/** Bytes of NODE_COUNTS: how many routes, or children, come before the second, third and fourth quarter of them; the
 * byte of the first quarter of routes is the number of all routes. */
enum { COUNT_ROUTES = 0, COUNT_ALL_ROUTES = 0, COUNT_CHILDREN = 4 };

static inline unsigned asn_count(uint64_t counts, int which)
{
    return (unsigned)(counts >> (8 * which)) & 255;
}

/** Is bit @a i of the four wide words from @a base set; if so *rank is how many are before it. */
static inline int asn_member(const asn_wide *node, int base, int first_count, unsigned i,
                             unsigned *rank)
{
    uint64_t bits = asn_get_wide(node + base + i / 64), bit = 1ull << i % 64;

    if (!(bits & bit))
        return 0;
    *rank = asn_bits(bits & (bit - 1));
    if (i >= 64)
        *rank += asn_count(asn_get_wide(node + NODE_COUNTS), first_count + (int)(i / 64));
    return 1;
}

static inline asn_word *asn_words(const asn_wide *node)
{
    return (asn_word *)(uintptr_t)(node + NODE_WIDES);
}

/** The part of @a address that node number @a depth is about. */
static inline unsigned asn_route_number(const unsigned char *address, unsigned depth, unsigned bits)
{
    return (1u << bits) + ((unsigned)address[depth] >> (8 - bits));
}

/** Do the first @a length bits agree? */
int asn_covers(const unsigned char *a, const unsigned char *b, unsigned length);

/* ---- asn_memory.c ---- */

/** Room for @a bytes. @param spare  1 for changes that give back more than they take: may use the
 * last of the table
 * @return its place, 0 if the table is full */
uint32_t asn_take(brg_asn_writer *w, int kind, size_t bytes, int spare);

/** No word leads to the block any more: use it again once no reader can be in it. */
void asn_retire(brg_asn_writer *w, int kind, uint32_t at, size_t bytes);

/** As brg_asn_table_bytes() has to see it. */
void asn_account(brg_asn_writer *w);

/* ---- asn_attributes.c ---- */

void asn_attributes_hold_again(brg_asn_writer *w, brg_asn_ref ref);

/* ---- asn_trie.c ---- */

apr_status_t asn_trie_add(brg_asn_writer *w, asn_word *root, const brg_asn_prefix *prefix,
                          brg_asn_ref ref, int *added);
apr_status_t asn_trie_remove(brg_asn_writer *w, asn_word *root, const brg_asn_prefix *prefix);

/** Give up all that @a word leads to. */
void asn_trie_drop(brg_asn_writer *w, uint32_t word);

/* ---- asn_node.c ---- */

/** Routes and children of a node. */
unsigned asn_node_words(const asn_wide *node);
void asn_node_open(const asn_wide *node, asn_flat *flat);

/** Make a node. @return its word, 0 if the table is full. @a flat must have something in it. */
uint32_t asn_node_close(brg_asn_writer *w, const asn_flat *flat, int spare);

#endif
