/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of routes: many routes have the same, which are in the table once. */
#include <stdlib.h>
#include <string.h>
#include "brigade/assert.h"
#include "asn_private.h"

/* As it will be in the table. */
typedef struct image {
    uint32_t words[BLOCK_LARGEST / 4];
    size_t count;
} image;

/* As many bytes of a path as make whole segments within the limit; a segment that does not fit is left out. */
static size_t path_fits(const unsigned char *path, size_t bytes)
{
    size_t at = 0;

    while (bytes - at >= 2 && bytes - at - 2 >= 4u * path[at + 1] &&
           at + 2 + 4u * path[at + 1] <= ASN_PATH_MAX)
        at += 2 + 4u * path[at + 1];
    return at;
}

static void image_add(image *m, const void *from, size_t bytes)
{
    size_t words = (bytes + 3) / 4;

    if (!bytes)
        return;
    m->words[m->count + words - 1] = 0;
    memcpy(m->words + m->count, from, bytes);
    m->count += words;
}

static void image_make(image *m, const brg_asn_attributes *a)
{
    size_t path = path_fits(a->path, a->path_bytes);
    size_t communities =
        a->communities_count < ASN_COMMUNITIES ? a->communities_count : ASN_COMMUNITIES;
    size_t large = a->large_count < ASN_LARGE ? a->large_count : ASN_LARGE;

    m->count = ATTR_BEGIN;
    m->words[ATTR_HOLDERS] = 1;
    m->words[ATTR_ORIGIN] = a->origin;
    m->words[ATTR_COUNTS] =
        (uint32_t)(path | communities << COUNTS_PATH | large << (COUNTS_PATH + COUNTS_COMMUNITIES));
    image_add(m, a->path, path);
    image_add(m, a->communities, communities * 4);
    image_add(m, a->large, large * 12);
}

static uint32_t image_hash(const brg_asn_writer *w, const image *m)
{
    const size_t bytes = (m->count - ATTR_ORIGIN) * sizeof *m->words;

    return (uint32_t)apr_siphash(m->words + ATTR_ORIGIN, bytes, w->key, 1, 3);
}

static size_t words_of(uint32_t counts)
{
    size_t path, communities, large;

    asn_counts_read(counts, &path, &communities, &large);
    return ATTR_BEGIN + (path + 3) / 4 + communities + 3 * large;
}

static asn_word *block_of(const brg_asn_writer *w, uint32_t ref)
{
    return asn_at(w->table, ref);
}

static int same(const asn_word *block, const image *m)
{
    for (size_t i = ATTR_HASH; i < m->count; i++)
        if (asn_get(block + i) != m->words[i])
            return 0;
    return 1;
}

/* Where the hash table has an equal one, or the free place for it. */
static uint32_t *find(const brg_asn_writer *w, const image *m)
{
    size_t mask = w->interned_size - 1, i = m->words[ATTR_HASH] & mask;

    while (w->interned[i] && !same(block_of(w, w->interned[i]), m))
        i = (i + 1) & mask;
    return &w->interned[i];
}

static int grow(brg_asn_writer *w)
{
    size_t size = w->interned_size ? 2 * w->interned_size : 1024;
    uint32_t *larger = calloc(size, sizeof *larger), ref;

    if (!larger)
        return 0;
    for (size_t i = 0, at; i < w->interned_size; i++) {
        if (!(ref = w->interned[i]))
            continue;
        for (at = asn_get(block_of(w, ref) + ATTR_HASH) & (size - 1); larger[at];)
            at = (at + 1) & (size - 1);
        larger[at] = ref;
    }
    free(w->interned);
    w->interned = larger;
    w->interned_size = size;
    asn_account(w);
    return 1;
}

void asn_attributes_hold_again(brg_asn_writer *w, brg_asn_ref ref)
{
    asn_word *holders = block_of(w, ref) + ATTR_HOLDERS;

    BRG_ASSERT(asn_get(holders));
    asn_put(holders, asn_get(holders) + 1);
}

apr_status_t brg_asn_attributes_hold(brg_asn_writer *w, const brg_asn_attributes *a,
                                     brg_asn_ref *ref)
{
    image m;
    uint32_t *at;
    asn_word *block;

    if (w->interned_count >= w->interned_size - w->interned_size / 4 && !grow(w))
        return APR_ENOMEM;
    image_make(&m, a);
    m.words[ATTR_HASH] = image_hash(w, &m);
    at = find(w, &m);
    if ((*ref = *at)) {
        asn_attributes_hold_again(w, *ref);
        return APR_SUCCESS;
    }
    if (!(*ref = asn_take(w, BLOCK_DATA, m.count * 4, 0)))
        return APR_ENOMEM;
    block = block_of(w, *ref);
    for (size_t i = 0; i < m.count; i++)
        asn_put(block + i, m.words[i]);
    *at = *ref;
    w->interned_count++;
    return APR_SUCCESS;
}

/* Out of the hash table; those behind it that it pushed away move up. */
static void forget(brg_asn_writer *w, uint32_t ref)
{
    size_t mask = w->interned_size - 1, hole = asn_get(block_of(w, ref) + ATTR_HASH) & mask, home;

    while (w->interned[hole] != ref)
        hole = (hole + 1) & mask;
    for (size_t i = (hole + 1) & mask; w->interned[i]; i = (i + 1) & mask) {
        home = asn_get(block_of(w, w->interned[i]) + ATTR_HASH) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            w->interned[hole] = w->interned[i];
            hole = i;
        }
    }
    w->interned[hole] = 0;
    w->interned_count--;
}

void brg_asn_attributes_release(brg_asn_writer *w, brg_asn_ref ref)
{
    asn_word *block = block_of(w, ref);
    uint32_t holders = asn_get(block + ATTR_HOLDERS);

    asn_put(block + ATTR_HOLDERS, holders - 1);
    if (holders > 1)
        return;
    forget(w, ref);
    asn_retire(w, BLOCK_DATA, ref, 4 * words_of(asn_get(block + ATTR_COUNTS)));
}
