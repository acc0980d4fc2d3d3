/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups are counted by thread, so that no line of memory goes from core to core. One in ASN_ASKS
 * goes to a table of the busiest networks, for all of them: Space-Saving (Metwally, Agrawal and
 * Abbadi, 2005): a network without a place takes that of the least busy one, and its count. Nobody
 * waits for that table: a thread that finds it taken leaves it. A process that died with it gives
 * it back after a second.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "brigade/assert.h"
#include "asn_count.h"

#define ASN_ASKS 8
#define AGE 87 /* one part of so many is forgotten in ASN_AGE_SECONDS */
#define STALE_US 1000000

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 + 1;
}

static int busy_take(asn_counts *c)
{
    int64_t now = now_us(), since = atomic_load(&c->taken);

    return (!since || now - since > STALE_US || since - now > STALE_US) &&
           atomic_compare_exchange_strong(&c->taken, &since, now);
}

static void busy_give_back(asn_counts *c)
{
    atomic_store(&c->taken, 0);
}

/* A slow former owner may write, too: the length stays in bounds. */
static int busy_length(const asn_counts *c)
{
    const int n = atomic_load_explicit(&c->busy_n, memory_order_relaxed);

    return n < 0 || n > ASN_BUSY ? 0 : n;
}

static void busy_put(asn_counts *c, uint32_t asn)
{
    const int n = busy_length(c);
    int at = 0, least = 0;

    for (; at < n && c->busy[at].asn != asn; at++)
        if (c->busy[at].count < c->busy[least].count)
            least = at;
    if (at == n && n < ASN_BUSY) {
        c->busy[at] = (brg_status_network_busy){.asn = asn};
        c->busy_n = n + 1;
    } else if (at == n) {
        c->busy[at = least].asn = asn;
    }
    BRG_ASSERT(at >= 0 && at < ASN_BUSY);
    c->busy[at].count += ASN_ASKS;
}

void asn_count(asn_counts *c, uint32_t origin)
{
    static _Thread_local unsigned mine, asks; /* mine: number of the slot and 1 */

    if (!mine)
        mine = atomic_fetch_add(&c->slots, 1) % ASN_COUNT_SLOTS + 1;
    atomic_fetch_add_explicit(&c->lookups[mine - 1].n, 1, memory_order_relaxed);
    if (++asks % ASN_ASKS || !origin || !busy_take(c))
        return;
    busy_put(c, origin);
    busy_give_back(c);
}

uint64_t asn_count_lookups(const asn_counts *c)
{
    uint64_t n = 0;

    for (int i = 0; i < ASN_COUNT_SLOTS; i++)
        n += atomic_load_explicit(&c->lookups[i].n, memory_order_relaxed);
    return n;
}

static int busier(const void *a, const void *b)
{
    const brg_status_network_busy *x = a, *y = b;

    return (x->count < y->count) - (x->count > y->count);
}

int asn_count_busy(asn_counts *c, brg_status_network_busy out[ASN_BUSY])
{
    int n;

    for (int tries = 0; !busy_take(c); tries++)
        if (tries == 100)
            return 0;
    n = busy_length(c);
    memcpy(out, c->busy, (size_t)n * sizeof *out);
    busy_give_back(c);
    qsort(out, (size_t)n, sizeof *out, busier);
    return n;
}

void asn_count_age(asn_counts *c)
{
    int kept = 0;

    if (!busy_take(c))
        return;
    for (int i = 0, n = busy_length(c); i < n; i++) {
        brg_status_network_busy one = c->busy[i];

        one.count -= (one.count + AGE - 1) / AGE;
        if (one.count)
            c->busy[kept++] = one;
    }
    c->busy_n = kept;
    busy_give_back(c);
}
