/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a table: blocks by size, and when a freed one may be used again. */
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "brigade/assert.h"
#include "asn_private.h"

/* The rest that announcements leave, so that routes can still be taken away from a full table. */
#define SPARE (256u << 10)
#define CHUNK 4096

apr_status_t brg_asn_table_create(brg_asn_table **table, size_t bytes, apr_pool_t *p)
{
    size_t least = sizeof(asn_shared) + 4 * SPARE;
    brg_asn_table *t = apr_palloc(p, sizeof *t);
    apr_status_t rv;

    t->size = bytes > least ? bytes : least;
    if ((rv = brg_one_writer_create(&t->memory, "brigade-asn", t->size, p)))
        return rv;
    t->shared = brg_one_writer_read(t->memory);
    *table = t;
    return APR_SUCCESS;
}

void brg_asn_table_hand(const brg_asn_table *table, int on)
{
    brg_one_writer_hand(table->memory, on);
}

size_t brg_asn_table_bytes(const brg_asn_table *table)
{
    return (size_t)asn_get_wide(&table->shared->bytes);
}

void asn_account(brg_asn_writer *w)
{
    asn_put_wide(&w->table->bytes, w->next + sizeof *w + w->interned_size * sizeof *w->interned);
}

static size_t step_of(int kind)
{
    return kind == BLOCK_NODE ? NODE_STEP : DATA_STEP;
}

static size_t class_of(int kind, size_t bytes)
{
    return (bytes + step_of(kind) - 1) / step_of(kind);
}

/* Readers that were overtaken may look at a free block: its link is a word like all others. */
static void push(brg_asn_writer *w, int kind, size_t class, uint32_t at)
{
    asn_put(asn_at(w->table, at), w->free[kind][class]);
    w->free[kind][class] = at;
}

static uint32_t pop(brg_asn_writer *w, int kind, size_t class)
{
    uint32_t at = w->free[kind][class];

    if (at)
        w->free[kind][class] = asn_get(asn_at(w->table, at));
    return at;
}

/* Bytes that were never used. */
static size_t fresh(brg_asn_writer *w, size_t bytes, int spare)
{
    size_t at = (w->next + NODE_STEP - 1) / NODE_STEP * NODE_STEP;

    if (at + bytes + BLOCK_LARGEST + (spare ? 0 : SPARE) > w->size)
        return 0;
    w->next = at + bytes;
    asn_account(w);
    return at;
}

static size_t fresh_data(brg_asn_writer *w, size_t bytes, int spare)
{
    size_t at, rest = w->chunk_end - w->chunk;

    if (rest < bytes) {
        if (!(at = fresh(w, CHUNK, spare)))
            return 0;
        for (size_t most; rest; rest -= most, w->chunk += most) { /* of no use for this one */
            most = rest < BLOCK_LARGEST ? rest : BLOCK_LARGEST;
            push(w, BLOCK_DATA, most / DATA_STEP, (uint32_t)(w->chunk / ASN_UNIT));
        }
        w->chunk = at;
        w->chunk_end = at + CHUNK;
    }
    at = w->chunk;
    w->chunk += bytes;
    return at;
}

uint32_t asn_take(brg_asn_writer *w, int kind, size_t bytes, int spare)
{
    size_t class = class_of(kind, bytes), at;
    uint32_t used = pop(w, kind, class);

    BRG_ASSERT(bytes && bytes <= BLOCK_LARGEST);
    if (used)
        return used;
    bytes = class * step_of(kind);
    at = kind == BLOCK_NODE ? fresh(w, bytes, spare) : fresh_data(w, bytes, spare);
    return (uint32_t)(at / ASN_UNIT);
}

void asn_retire(brg_asn_writer *w, int kind, uint32_t at, size_t bytes)
{
    asn_retired *r = &w->kept[w->retired % ASN_TABLE_KEPT];

    BRG_ASSERT(at && (size_t)at * ASN_UNIT + bytes <= w->size);
    asn_put_wide(&w->table->retired, ++w->retired);
    if (r->at)
        push(w, r->kind, r->class, r->at);
    *r = (asn_retired){at, (uint16_t)class_of(kind, bytes), (uint16_t)kind};
}

brg_asn_writer *brg_asn_writer_begin(brg_asn_table *table)
{
    brg_asn_writer *w = calloc(1, sizeof *w);
    asn_shared *shared = brg_one_writer_write(table->memory);

    if (!w)
        return NULL;
    if (apr_generate_random_bytes(w->key, sizeof w->key) != APR_SUCCESS) {
        free(w);
        return NULL;
    }
    w->table = shared;
    w->size = table->size;
    asn_put(&shared->used, 0);
    for (int i = 0; i < ASN_TABLE_RIBS; i++) {
        asn_put(&shared->ribs[i].ready, 0);
        for (int f = 0; f < 2; f++) {
            asn_put(&shared->ribs[i].root[f], 0);
            asn_put(&shared->ribs[i].routes[f], 0);
        }
    }
    /* Readers may be in the last writer's blocks. */
    w->retired = asn_get_wide(&shared->retired) + 2 * ASN_TABLE_KEPT;
    asn_put_wide(&shared->retired, w->retired);
    w->next = sizeof *shared;
    asn_account(w);
    return w;
}

void brg_asn_writer_end(brg_asn_writer *w)
{
    for (int i = 0; i < ASN_TABLE_RIBS; i++)
        free(w->fresh[i]);
    free(w->interned);
    free(w);
}
