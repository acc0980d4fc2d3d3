/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the trie, taken apart and put together. */
#include <string.h>
#include "brigade/assert.h"
#include "asn_private.h"

unsigned asn_node_words(const asn_wide *node)
{
    unsigned words = asn_count(asn_get_wide(node + NODE_COUNTS), COUNT_ALL_ROUTES);

    for (int i = 0; i < 4; i++)
        words += asn_bits(asn_get_wide(node + NODE_CHILDREN + i));
    return words;
}

static const asn_word *open_half(const asn_wide *bits, const asn_word *from, uint32_t *to)
{
    for (unsigned i = 0; i < 4; i++)
        for (uint64_t left = asn_get_wide(bits + i); left; left &= left - 1)
            to[64 * i + (unsigned)__builtin_ctzll(left)] = asn_get(from++);
    return from;
}

void asn_node_open(const asn_wide *node, asn_flat *flat)
{
    const asn_word *words = asn_words(node);

    memset(flat, 0, sizeof *flat);
    words = open_half(node + NODE_ROUTES, words, flat->routes);
    open_half(node + NODE_CHILDREN, words, flat->children);
}

typedef struct half {
    uint64_t bits[4];
    unsigned before[5];
} half;

static void half_count(half *h, const uint32_t *words)
{
    h->before[0] = 0;
    for (unsigned i = 0; i < 4; i++) {
        h->bits[i] = 0;
        for (unsigned b = 0; b < 64; b++)
            h->bits[i] |= (uint64_t)(words[64 * i + b] != 0) << b;
        h->before[i + 1] = h->before[i] + asn_bits(h->bits[i]);
    }
}

static asn_word *half_write(const half *h, const uint32_t *from, asn_wide *bits, asn_word *to)
{
    for (unsigned i = 0; i < 4; i++) {
        asn_put_wide(bits + i, h->bits[i]);
        for (uint64_t left = h->bits[i]; left; left &= left - 1)
            asn_put(to++, from[64 * i + (unsigned)__builtin_ctzll(left)]);
    }
    return to;
}

uint32_t asn_node_close(brg_asn_writer *w, const asn_flat *flat, int spare)
{
    half routes, children;
    uint32_t at;
    asn_wide *node;
    uint64_t counts;

    half_count(&routes, flat->routes);
    half_count(&children, flat->children);
    BRG_ASSERT(routes.before[4] + children.before[4]);
    at = asn_take(w, BLOCK_NODE,
                  NODE_WIDES * 8 + 4 * (size_t)(routes.before[4] + children.before[4]), spare);
    if (!at)
        return 0;
    node = asn_at(w->table, at);
    counts = (uint64_t)routes.before[4] << 8 * COUNT_ALL_ROUTES;
    for (int i = 1; i < 4; i++) {
        counts |= (uint64_t)routes.before[i] << 8 * (COUNT_ROUTES + i);
        counts |= (uint64_t)children.before[i] << 8 * (COUNT_CHILDREN + i);
    }
    asn_put_wide(node + NODE_COUNTS, counts);
    half_write(&children, flat->children, node + NODE_CHILDREN,
               half_write(&routes, flat->routes, node + NODE_ROUTES, asn_words(node)));
    return asn_made(at, ASN_NODE);
}
