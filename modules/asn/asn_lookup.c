/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's side. A reader that was overtaken sees blocks in their second life: each place is
 * checked against the table's size before it is used, each walk ends, and its result is thrown away
 * then. */
#include <string.h>
#include "asn_private.h"

/* Attempts: more than one only when this thread did not run for some time in the middle of it. */
#define ATTEMPTS 1000

/* A walk over one rib. */
typedef struct walk {
    const brg_asn_table *table;
    const unsigned char *address;
    unsigned last; /* number of the last node there can be */
    uint32_t attr; /* 0: no route */
    unsigned length;
} walk;

/* The writer leaves as much as the largest block has behind the last one. */
static const void *in_table(const brg_asn_table *t, uint32_t place)
{
    size_t at = (size_t)place * ASN_UNIT;

    return at >= sizeof *t->shared && at <= t->size - BLOCK_LARGEST ? asn_at(t->shared, place)
                                                                    : NULL;
}

int asn_covers(const unsigned char *a, const unsigned char *b, unsigned length)
{
    unsigned whole = length / 8, rest = length % 8;

    return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) >> (8 - rest)));
}

static void try_leaf(walk *k, uint32_t place)
{
    const asn_word *leaf = in_table(k->table, place);
    uint32_t address[4], length;

    if (!leaf)
        return;
    length = asn_get(leaf + LEAF_LENGTH);
    for (int i = 0; i < 4; i++)
        address[i] = asn_get(leaf + LEAF_ADDRESS + i);
    if (length <= 8 * (k->last + 1) &&
        asn_covers((const unsigned char *)address, k->address, length)) {
        k->attr = asn_place(asn_get(leaf + LEAF_ATTR));
        k->length = length;
    }
}

/* The longest route of a node itself. */
static int try_node(walk *k, const asn_wide *node, unsigned depth)
{
    unsigned rank;

    for (unsigned bits = 8; bits-- > 0;)
        if (asn_member(node, NODE_ROUTES, COUNT_ROUTES, asn_route_number(k->address, depth, bits),
                       &rank)) {
            k->attr = asn_place(asn_get(asn_words(node) + rank));
            k->length = 8 * depth + bits;
            return 1;
        }
    return 0;
}

static uint32_t child_of(const walk *k, const asn_wide *node, unsigned depth)
{
    unsigned rank;

    if (!asn_member(node, NODE_CHILDREN, COUNT_CHILDREN, k->address[depth], &rank))
        return 0;
    return asn_get(asn_words(node) + asn_count(asn_get_wide(node + NODE_COUNTS), COUNT_ALL_ROUTES) +
                   rank);
}

/* Down as far as nodes lead, then up to the first one with a route. */
static void walk_rib(walk *k, uint32_t word)
{
    const asn_wide *path[16];
    unsigned depth = 0;

    k->attr = 0;
    for (; asn_tag(word) == ASN_NODE && depth <= k->last; depth++) {
        if (!(path[depth] = in_table(k->table, asn_place(word))))
            return;
        __builtin_prefetch(path[depth] +
                           8); /* where the words are, likely: not in the line of the bits */
        __builtin_prefetch(path[depth] + 16);
        word = child_of(k, path[depth], depth);
    }
    if (asn_tag(word) == ASN_ATTR) {
        k->attr = asn_place(word);
        k->length = 8 * depth;
    } else if (asn_tag(word) == ASN_LEAF) {
        try_leaf(k, asn_place(word));
    }
    while (!k->attr && depth-- > 0)
        if (try_node(k, path[depth], depth))
            return;
}

static void copy_words(const asn_word **from, uint32_t *to, size_t words)
{
    for (size_t i = 0; i < words; i++)
        to[i] = asn_get((*from)++);
}

static void read_detail(const asn_word *attr, brg_asn_detail *d)
{
    uint32_t counts = asn_get(attr + ATTR_COUNTS);

    attr += ATTR_BEGIN;
    asn_counts_read(counts, &d->path_bytes, &d->communities_count, &d->large_count);
    copy_words(&attr, d->path, (d->path_bytes + 3) / 4);
    copy_words(&attr, d->communities, d->communities_count);
    copy_words(&attr, d->large, 3 * d->large_count);
}

/* @return 0 for states that only an overtaken reader can see */
static int read_route(const brg_asn_table *t, uint32_t place, brg_asn_route *route,
                      brg_asn_detail *detail)
{
    const asn_word *attr = in_table(t, place);

    if (!attr)
        return 0;
    route->origin = asn_get(attr + ATTR_ORIGIN);
    if (detail)
        read_detail(attr, detail);
    return 1;
}

static int look(const brg_asn_table *t, brg_asn_family family, const unsigned char *address,
                brg_asn_route *route, brg_asn_detail *detail)
{
    walk k = {.table = t, .address = address, .last = family == ASN_IPV4 ? 3 : 15};
    uint32_t best = 0, root;
    unsigned length = 0, ribs = asn_get(&t->shared->used);

    for (unsigned i = 0; i < ribs && i < ASN_TABLE_RIBS; i++) {
        if (!(root = asn_get(&t->shared->ribs[i].root[family])))
            continue;
        walk_rib(&k, root);
        if (k.attr && (!best || k.length > length)) {
            best = k.attr;
            length = k.length;
            route->rib = (unsigned char)i;
        }
    }
    route->length = (unsigned char)length;
    return best && read_route(t, best, route, detail);
}

int brg_asn_lookup(const brg_asn_table *table, brg_asn_family family, const unsigned char *address,
                   brg_asn_route *route, brg_asn_detail *detail)
{
    uint64_t begin;
    int found;

    for (int i = 0; i < ATTEMPTS; i++) {
        begin = asn_get_wide(&table->shared->retired);
        found = look(table, family, address, route, detail);
        if (asn_get_wide(&table->shared->retired) - begin <= ASN_TABLE_KEPT)
            return found;
    }
    return 0;
}

int brg_asn_ready(const brg_asn_table *table)
{
    for (int i = 0; i < ASN_TABLE_RIBS; i++)
        if (asn_get(&table->shared->ribs[i].ready))
            return 1;
    return 0;
}

void brg_asn_rib_read(const brg_asn_table *table, int rib, brg_asn_rib_figures *figures)
{
    const asn_rib *r = &table->shared->ribs[rib];

    for (int f = 0; f < 2; f++)
        figures->routes[f] = asn_get(&r->routes[f]);
    figures->updates = asn_get_wide(&r->updates);
    figures->last_update = (apr_time_t)asn_get_wide(&r->last_update);
    figures->ready = (int)asn_get(&r->ready);
}
