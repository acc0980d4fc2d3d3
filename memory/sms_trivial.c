/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classic pool allocator: nodes from the parent, kept on lists by size when they are freed, for
 * one thread.
 *
 * Most blocks are a pool's chunk, and get a node of their own. Small blocks are bumped
 * inside a node and go to a list by size when they are freed; their node stays until everything is
 * taken back.
 */
#include "sms_private.h"
#include "brigade/assert.h"
#include <stdio.h>

#define TRIVIAL_SMALL 2048 /* larger blocks have nodes of their own */
#define TRIVIAL_CELLS (TRIVIAL_SMALL / BRG_SMS_ALIGNMENT)
#define TRIVIAL_LISTS 32 /* of free nodes; the last is for all larger ones */
#define TRIVIAL_CHUNK_DEFAULT 8192

typedef struct trivial_node {
    struct trivial_node *next, **link;
    size_t bytes; /* with this head */
    size_t is_free;
} trivial_node;

_Static_assert(sizeof(trivial_node) % BRG_SMS_ALIGNMENT == 0,
               "blocks are aligned behind their heads");

typedef struct trivial_cell {
    struct trivial_cell *next;
} trivial_cell;

typedef struct trivial_sms {
    brg_sms base;
    size_t chunk, keep;   /* parameters; keep 0: everything */
    size_t free_bytes;    /* in free nodes */
    uint32_t stocked;     /* bit i: free_nodes[i] is not empty */
    trivial_node *used;   /* handed out */
    trivial_node *bumped; /* for small blocks; the first one is bumped in */
    char *bump, *end;
    trivial_node *free_nodes[TRIVIAL_LISTS];
    trivial_cell *cells[TRIVIAL_CELLS];
} trivial_sms;

static inline unsigned trivial_list(const trivial_sms *t, size_t bytes)
{
    size_t units = bytes / t->chunk;

    return units < TRIVIAL_LISTS ? (unsigned)units : TRIVIAL_LISTS - 1;
}

/* Node size for a block: multiples of half a chunk. */
static inline size_t trivial_node_bytes(const trivial_sms *t, size_t bytes)
{
    size_t half = t->chunk / 2, rounded = SMS_ROUND(bytes + sizeof(trivial_node), half);

    return rounded > t->chunk ? rounded : t->chunk;
}

static inline void trivial_unlink(trivial_node *node)
{
    *node->link = node->next;
    if (node->next != NULL)
        node->next->link = node->link;
}

static inline void trivial_link(trivial_node **list, trivial_node *node)
{
    node->next = *list;
    node->link = list;
    if (node->next != NULL)
        node->next->link = &node->next;
    *list = node;
}

/* A kept node of at least so many bytes: the first that fits in the lists that may have one. */
static trivial_node *trivial_reuse(trivial_sms *t, size_t bytes)
{
    uint32_t lists = t->stocked & (~(uint32_t)0 << trivial_list(t, bytes));
    trivial_node *node;
    unsigned i;

    for (; lists != 0; lists &= lists - 1) {
        i = (unsigned)__builtin_ctz(lists);
        for (node = t->free_nodes[i]; node != NULL && node->bytes < bytes; node = node->next)
            continue;
        if (node == NULL)
            continue;
        BRG_ASSERT(node->is_free && t->free_bytes >= node->bytes);
        trivial_unlink(node);
        if (t->free_nodes[i] == NULL)
            t->stocked &= ~((uint32_t)1 << i);
        t->free_bytes -= node->bytes;
        return node;
    }
    return NULL;
}

static trivial_node *trivial_node_get(trivial_sms *t, size_t bytes)
{
    trivial_node *node = t->stocked != 0 ? trivial_reuse(t, bytes) : NULL;

    if (node == NULL) {
        node = brg_sms_take(&t->base, bytes);
        if (node == NULL)
            return NULL;
        node->bytes = bytes;
    }
    node->is_free = 0;
    return node;
}

static void trivial_give(trivial_sms *t, trivial_node *node)
{
    sms_unpoison(node, node->bytes);
    brg_sms_give(&t->base, node, node->bytes);
}

/* The node is in no list, and nobody uses it. */
static void trivial_node_put(trivial_sms *t, trivial_node *node)
{
    unsigned list = trivial_list(t, node->bytes);

    BRG_ASSERT(!node->is_free);
    if (t->keep != 0 && t->free_bytes + node->bytes > t->keep) {
        trivial_give(t, node);
        return;
    }
    node->is_free = 1;
    sms_poison(node + 1, node->bytes - sizeof(*node));
    trivial_link(&t->free_nodes[list], node);
    t->stocked |= (uint32_t)1 << list;
    t->free_bytes += node->bytes;
}

static __attribute__((noinline)) int trivial_bump_more(trivial_sms *t)
{
    trivial_node *node = trivial_node_get(t, t->chunk);

    if (node == NULL)
        return -1;
    trivial_link(&t->bumped, node);
    t->bump = (char *)(node + 1);
    t->end = (char *)node + (node->bytes & ~(size_t)(BRG_SMS_ALIGNMENT - 1));
    sms_poison(t->bump, (size_t)(t->end - t->bump));
    return 0;
}

static inline void *trivial_small(trivial_sms *t, size_t bytes)
{
    size_t rounded = SMS_ROUND(bytes, BRG_SMS_ALIGNMENT);
    trivial_cell **cells = &t->cells[rounded / BRG_SMS_ALIGNMENT - 1], *cell = *cells;

    if (cell != NULL) {
        sms_unpoison(cell, bytes > sizeof(*cell) ? bytes : sizeof(*cell));
        *cells = cell->next;
        return cell;
    }
    if ((size_t)(t->end - t->bump) < rounded && trivial_bump_more(t) != 0)
        return NULL;
    cell = (trivial_cell *)t->bump;
    t->bump += rounded;
    sms_unpoison(cell, bytes);
    return cell;
}

static void *trivial_allocate(brg_sms *s, size_t bytes)
{
    trivial_sms *t = (trivial_sms *)s;
    trivial_node *node;

    if (bytes <= TRIVIAL_SMALL)
        return trivial_small(t, bytes);
    node = trivial_node_get(t, trivial_node_bytes(t, bytes));
    if (node == NULL)
        return NULL;
    trivial_link(&t->used, node);
    sms_unpoison(node + 1, bytes);
    return node + 1;
}

static void trivial_free(brg_sms *s, void *block, size_t bytes)
{
    trivial_sms *t = (trivial_sms *)s;
    trivial_node *node;

    if (bytes <= TRIVIAL_SMALL) {
        trivial_cell *cell = block;
        size_t rounded = SMS_ROUND(bytes, BRG_SMS_ALIGNMENT);

        sms_unpoison(cell, sizeof(*cell));
        cell->next = t->cells[rounded / BRG_SMS_ALIGNMENT - 1];
        t->cells[rounded / BRG_SMS_ALIGNMENT - 1] = cell;
        sms_poison(cell, rounded);
        return;
    }
    node = (trivial_node *)block - 1;
    if (node->is_free)
        sms_panic(s, "a block was freed twice", block);
    trivial_unlink(node);
    trivial_node_put(t, node);
}

static void trivial_free_list(trivial_sms *t, trivial_node **list)
{
    trivial_node *node;

    while ((node = *list) != NULL) {
        trivial_unlink(node);
        trivial_node_put(t, node);
    }
}

static void trivial_reset(brg_sms *s)
{
    trivial_sms *t = (trivial_sms *)s;
    int i;

    for (i = 0; i < TRIVIAL_CELLS; i++)
        t->cells[i] = NULL;
    t->bump = t->end = NULL;
    trivial_free_list(t, &t->used);
    trivial_free_list(t, &t->bumped);
}

static void trivial_trim(brg_sms *s)
{
    trivial_sms *t = (trivial_sms *)s;
    trivial_node *node;
    int i;

    for (i = 0; i < TRIVIAL_LISTS; i++)
        while ((node = t->free_nodes[i]) != NULL) {
            trivial_unlink(node);
            trivial_give(t, node);
        }
    t->stocked = 0;
    t->free_bytes = 0;
}

static void trivial_destroy(brg_sms *s)
{
    trivial_reset(s);
    trivial_trim(s);
}

static void trivial_describe(const brg_sms *s, char *out, size_t n)
{
    const trivial_sms *t = (const trivial_sms *)s;
    char chunk[24], keep[24];

    snprintf(out, n, "chunk=%s,keep=%s", sms_format_size(t->chunk, chunk),
             sms_format_size(t->keep, keep));
}

static size_t trivial_good_size(const brg_sms *s, size_t bytes)
{
    const trivial_sms *t = (const trivial_sms *)s;

    if (bytes <= TRIVIAL_SMALL)
        return SMS_ROUND(bytes, BRG_SMS_ALIGNMENT);
    return trivial_node_bytes(t, bytes) - sizeof(trivial_node);
}

static const char *trivial_verify_list(const trivial_node *node, size_t is_free)
{
    for (; node != NULL; node = node->next) {
        if (node->is_free != is_free)
            return "trivial: a node is in the wrong list";
        if (node->next != NULL && node->next->link != &node->next)
            return "trivial: a list of nodes is broken";
    }
    return NULL;
}

static const char *trivial_verify(const brg_sms *s)
{
    const trivial_sms *t = (const trivial_sms *)s;
    const char *broken = trivial_verify_list(t->used, 0);
    const trivial_node *node;
    size_t sum = 0;
    unsigned i;

    if (broken == NULL)
        broken = trivial_verify_list(t->bumped, 0);
    for (i = 0; i < TRIVIAL_LISTS && broken == NULL; i++) {
        broken = trivial_verify_list(t->free_nodes[i], 1);
        for (node = t->free_nodes[i]; node != NULL; node = node->next)
            sum += trivial_list(t, node->bytes) == i ? node->bytes : 0;
        if ((t->free_nodes[i] != NULL) != ((t->stocked >> i & 1) != 0))
            broken = "trivial: a list is not marked rightly";
    }
    if (broken == NULL && (sum != t->free_bytes || (t->keep != 0 && sum > t->keep)))
        broken = "trivial: the sum of free nodes is wrong or too large";
    return broken;
}

static const brg_sms_ops trivial_ops = {
    .kind = "trivial",
    .threads = BRG_SMS_ONE_THREAD,
    .per_block = BRG_SMS_CHUNKED,
    .allocate = trivial_allocate,
    .free = trivial_free,
    .reset = trivial_reset,
    .destroy = trivial_destroy,
    .describe = trivial_describe,
    .good_size = trivial_good_size,
    .trim = trivial_trim,
    .verify = trivial_verify,
};

const char *sms_trivial_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                               int params_n, apr_pool_t *p)
{
    size_t chunk = TRIVIAL_CHUNK_DEFAULT, keep = sms_default_keep();
    const char *message = NULL;
    int i;

    for (i = 0; i < params_n && message == NULL; i++)
        if (sms_param_is(&params[i], "chunk"))
            message = sms_param_size(&params[i], 4096, (size_t)1 << 30, &chunk, p);
        else if (sms_param_is(&params[i], "keep"))
            message = sms_param_size(&params[i], 0, SMS_LARGEST, &keep, p);
        else
            message = sms_param_unknown(&params[i], p);
    if (message != NULL)
        return message;
    if ((chunk & (chunk - 1)) != 0)
        return "chunk= is no power of two";
    *out = brg_sms_make(sizeof(trivial_sms), &trivial_ops, parent);
    if (*out == NULL)
        return "out of memory";
    ((trivial_sms *)*out)->chunk = chunk;
    ((trivial_sms *)*out)->keep = keep;
    return NULL;
}
