/* SPDX-License-Identifier: Apache-2.0 */
/* Routes come into the trie and go out of it. After each store readers find all routes that did not change. */
#include <string.h>
#include "brigade/assert.h"
#include "asn_private.h"

/* A place in the trie on the way to a prefix. */
typedef struct step {
    asn_word *word;
    unsigned depth; /* of the node that the word leads to */
} step;

static asn_wide *node_of(const brg_asn_writer *w, uint32_t word)
{
    BRG_ASSERT(asn_tag(word) == ASN_NODE);
    return asn_at(w->table, asn_place(word));
}

static void retire_node(brg_asn_writer *w, uint32_t word)
{
    if (word)
        asn_retire(w, BLOCK_NODE, asn_place(word),
                   NODE_WIDES * 8 + 4 * (size_t)asn_node_words(node_of(w, word)));
}

static void retire_leaf(brg_asn_writer *w, uint32_t word)
{
    asn_retire(w, BLOCK_DATA, asn_place(word), LEAF_WORDS * 4);
}

/* The attributes that a route's word leads to. */
static brg_asn_ref attr_of(const brg_asn_writer *w, uint32_t word)
{
    const asn_word *leaf;

    if (asn_tag(word) == ASN_ATTR)
        return asn_place(word);
    leaf = asn_at(w->table, asn_place(word));
    return asn_place(asn_get(leaf + LEAF_ATTR));
}

/* The word for a route below a node whose children are behind @a bits of it. */
static uint32_t route_word(brg_asn_writer *w, const brg_asn_prefix *p, unsigned bits,
                           brg_asn_ref ref, int spare)
{
    uint32_t at, address[4];
    asn_word *leaf;

    if (p->length == bits)
        return asn_made(ref, ASN_ATTR);
    if (!(at = asn_take(w, BLOCK_DATA, LEAF_WORDS * 4, spare)))
        return 0;
    leaf = asn_at(w->table, at);
    memcpy(address, p->address, sizeof address);
    asn_put(leaf + LEAF_ATTR, asn_made(ref, ASN_ATTR));
    asn_put(leaf + LEAF_LENGTH, p->length);
    for (int i = 0; i < 4; i++)
        asn_put(leaf + LEAF_ADDRESS + i, address[i]);
    return asn_made(at, ASN_LEAF);
}

/* The place in @a flat that a route has in a node of this depth; NULL: it is not in the node itself. */
static uint32_t *own_place(asn_flat *flat, const brg_asn_prefix *p, unsigned depth)
{
    if (p->length >= 8 * (depth + 1))
        return NULL;
    return &flat->routes[asn_route_number(p->address, depth, p->length - 8 * depth)];
}

/* The word of node @a node in the place of @a flat's; NULL: no such word. */
static asn_word *child_word(asn_wide *node, const unsigned char *address, unsigned depth)
{
    unsigned rank;

    if (!asn_member(node, NODE_CHILDREN, COUNT_CHILDREN, address[depth], &rank))
        return NULL;
    return asn_words(node) + asn_count(asn_get_wide(node + NODE_COUNTS), COUNT_ALL_ROUTES) + rank;
}

static asn_word *own_word(asn_wide *node, const brg_asn_prefix *p, unsigned depth)
{
    unsigned rank;

    if (!asn_member(node, NODE_ROUTES, COUNT_ROUTES,
                    asn_route_number(p->address, depth, p->length - 8 * depth), &rank))
        return NULL;
    return asn_words(node) + rank;
}

/* A route that has no place in its node. */
static apr_status_t add_place(brg_asn_writer *w, step s, const brg_asn_prefix *p, brg_asn_ref ref)
{
    asn_flat flat;
    uint32_t old = asn_get(s.word), made, *place, route = asn_made(ref, ASN_ATTR);

    if (old)
        asn_node_open(node_of(w, old), &flat);
    else
        memset(&flat, 0, sizeof flat);
    if (!(place = own_place(&flat, p, s.depth))) {
        place = &flat.children[p->address[s.depth]];
        if (!(route = route_word(w, p, 8 * (s.depth + 1), ref, 0)))
            return APR_ENOMEM;
    }
    *place = route;
    if (!(made = asn_node_close(w, &flat, 0))) {
        if (asn_tag(route) == ASN_LEAF)
            retire_leaf(w, route);
        return APR_ENOMEM;
    }
    asn_put(s.word, made);
    retire_node(w, old);
    return APR_SUCCESS;
}

/* A single route stands where nodes are needed now: make one for it. @param s  the word of the route */
static apr_status_t push_down(brg_asn_writer *w, step s)
{
    uint32_t word = asn_get(s.word), made, address[4];
    brg_asn_prefix p = {.length = (unsigned char)(8 * s.depth)};
    asn_flat flat;
    const asn_word *leaf = asn_at(w->table, asn_place(word));
    uint32_t *place;

    if (asn_tag(word) == ASN_LEAF) {
        p.length = (unsigned char)asn_get(leaf + LEAF_LENGTH);
        for (int i = 0; i < 4; i++)
            address[i] = asn_get(leaf + LEAF_ADDRESS + i);
        memcpy(p.address, address, sizeof address);
    }
    memset(&flat, 0, sizeof flat);
    if ((place = own_place(&flat, &p, s.depth)))
        *place = asn_made(attr_of(w, word), ASN_ATTR);
    else
        flat.children[p.address[s.depth]] =
            p.length == 8 * (s.depth + 1) ? asn_made(attr_of(w, word), ASN_ATTR) : word;
    if (!(made = asn_node_close(w, &flat, 0)))
        return APR_ENOMEM;
    asn_put(s.word, made);
    if (asn_tag(word) == ASN_LEAF && (place || p.length == 8 * (s.depth + 1)))
        retire_leaf(w, word);
    return APR_SUCCESS;
}

/* Is this the word of the prefix, and not of a longer one. */
static int is_route(const brg_asn_writer *w, uint32_t word, const brg_asn_prefix *p, unsigned bits)
{
    const asn_word *leaf = asn_at(w->table, asn_place(word));
    uint32_t address[4];

    if (asn_tag(word) == ASN_ATTR)
        return p->length == bits;
    if (asn_tag(word) != ASN_LEAF || asn_get(leaf + LEAF_LENGTH) != p->length)
        return 0;
    for (int i = 0; i < 4; i++)
        address[i] = asn_get(leaf + LEAF_ADDRESS + i);
    return asn_covers((const unsigned char *)address, p->address, p->length);
}

/* Other attributes for a route that is there. */
static apr_status_t change(brg_asn_writer *w, asn_word *word, brg_asn_ref ref)
{
    uint32_t old = asn_get(word);
    brg_asn_ref before = attr_of(w, old);
    asn_word *at = word;

    if (before == ref)
        return APR_SUCCESS;
    if (asn_tag(old) == ASN_LEAF)
        at = (asn_word *)asn_at(w->table, asn_place(old)) + LEAF_ATTR;
    asn_attributes_hold_again(w, ref);
    asn_put(at, asn_made(ref, ASN_ATTR));
    brg_asn_attributes_release(w, before);
    return APR_SUCCESS;
}

apr_status_t asn_trie_add(brg_asn_writer *w, asn_word *root, const brg_asn_prefix *p,
                          brg_asn_ref ref, int *added)
{
    step s = {root, 0};
    asn_word *word = NULL;
    unsigned bits = 0;
    apr_status_t rv;

    *added = 0;
    for (; asn_get(s.word); s = (step){word, s.depth + 1}) {
        bits = 8 * (s.depth + 1);
        if (p->length < bits)
            word = own_word(node_of(w, asn_get(s.word)), p, s.depth);
        else
            word = child_word(node_of(w, asn_get(s.word)), p->address, s.depth);
        if (!word)
            break;
        if (p->length < bits || is_route(w, asn_get(word), p, bits))
            return change(w, word, ref);
        if (asn_tag(asn_get(word)) != ASN_NODE && (rv = push_down(w, (step){word, s.depth + 1})))
            return rv;
    }
    if ((rv = add_place(w, s, p, ref)))
        return rv;
    asn_attributes_hold_again(w, ref);
    *added = 1;
    return APR_SUCCESS;
}

/* The replacement for a node with one word in it: the route itself. @return 0 if it has to stay */
static uint32_t lonely(brg_asn_writer *w, const asn_flat *flat, const brg_asn_prefix *p,
                       unsigned depth)
{
    unsigned which = 0, bits = 0;
    brg_asn_prefix route = *p;
    uint32_t word;

    while (which < 256 && !flat->routes[which] && !flat->children[which])
        which++;
    BRG_ASSERT(which < 256);
    if (!(word = flat->routes[which])) {
        word = flat->children[which];
        if (asn_tag(word) != ASN_ATTR)
            return asn_tag(word) == ASN_LEAF ? word : 0;
        bits = 8;
    } else {
        while (which >> (bits + 1))
            bits++;
        which = (which - (1u << bits)) << (8 - bits);
    }
    memset(route.address + depth, 0, sizeof route.address - depth);
    route.address[depth] = (unsigned char)which;
    route.length = (unsigned char)(8 * depth + bits);
    return route_word(w, &route, 8 * depth, asn_place(word), 1);
}

/* A node with one route in it goes; the route is in the word that led to the node. @return 1 if it did */
static int collapse(brg_asn_writer *w, step s, const brg_asn_prefix *p)
{
    uint32_t old = asn_get(s.word), made;
    asn_flat flat;

    if (asn_node_words(node_of(w, old)) != 1)
        return 0;
    asn_node_open(node_of(w, old), &flat);
    if (!(made = lonely(w, &flat, p, s.depth)))
        return 0;
    asn_put(s.word, made);
    retire_node(w, old);
    return 1;
}

/* Take the word for @a p out of the node that @a s leads to, with all below it. */
static apr_status_t remove_place(brg_asn_writer *w, step s, const brg_asn_prefix *p)
{
    uint32_t old = asn_get(s.word), made = 0, *place, gone;
    asn_flat flat;

    asn_node_open(node_of(w, old), &flat);
    if (!(place = own_place(&flat, p, s.depth)) || !*place)
        place = &flat.children[p->address[s.depth]];
    gone = *place;
    *place = 0;
    if (asn_node_words(node_of(w, old)) > 1 && !(made = asn_node_close(w, &flat, 1)))
        return APR_ENOMEM;
    asn_put(s.word, made);
    retire_node(w, old);
    asn_trie_drop(w, gone);
    return APR_SUCCESS;
}

/* The way to a route. @return how many nodes it goes through, 0: there is no such route */
static unsigned way_to(brg_asn_writer *w, asn_word *root, const brg_asn_prefix *p, step *path)
{
    asn_word *word = root;
    unsigned n = 0;

    for (;;) {
        if (asn_tag(asn_get(word)) != ASN_NODE)
            return 0;
        path[n] = (step){word, n};
        if (p->length < 8 * (n + 1))
            return own_word(node_of(w, asn_get(word)), p, n) ? n + 1 : 0;
        if (!(word = child_word(node_of(w, asn_get(word)), p->address, n)))
            return 0;
        n++;
        if (is_route(w, asn_get(word), p, 8 * n))
            return n;
    }
}

apr_status_t asn_trie_remove(brg_asn_writer *w, asn_word *root, const brg_asn_prefix *p)
{
    step path[17];
    unsigned n = way_to(w, root, p, path), top = n;
    apr_status_t rv;

    if (!n)
        return APR_NOTFOUND;
    while (top > 1 && asn_node_words(node_of(w, asn_get(path[top - 1].word))) == 1)
        top--; /* nothing else is in that node: it goes with the route */
    if ((rv = remove_place(w, path[top - 1], p)))
        return rv;
    while (top > 1 && collapse(w, path[top - 1], p))
        top--;
    return APR_SUCCESS;
}

void asn_trie_drop(brg_asn_writer *w, uint32_t word)
{
    const asn_wide *node;
    unsigned words;

    if (asn_tag(word) == ASN_NODE) {
        node = node_of(w, word);
        words = asn_node_words(node);
        for (unsigned i = 0; i < words; i++)
            asn_trie_drop(w, asn_get(asn_words(node) + i));
        retire_node(w, word);
    } else if (asn_tag(word) != ASN_NONE) {
        brg_asn_attributes_release(w, attr_of(w, word));
        if (asn_tag(word) == ASN_LEAF)
            retire_leaf(w, word);
    }
}
