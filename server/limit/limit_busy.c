/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The busiest keys, as Space-Saving finds them (Metwally, Agrawal and Abbadi, 2005): a key without
 * a slot takes that of the least busy one, and its count. One request in some, and each refusal, is
 * noted. Nobody waits: a process that finds the list taken leaves it. A process that died with it
 * gives it back after a second.
 */
#include "limit_table.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define BUSY_STALE 1000000000 /* nanoseconds */
#define BUSY_AGE 87           /* one part of so many is forgotten in BUSY_STEP */
#define BUSY_STEP UINT64_C(10000000000)
#define BUSY_STEPS_MOST 1000 /* after which nothing is left anyway */

static int busy_take(limit_table *t, uint64_t now)
{
    const int64_t at = (int64_t)now + 1;
    int64_t since = atomic_load(&t->header->taken);

    return (!since || at - since > BUSY_STALE || since - at > BUSY_STALE) &&
           atomic_compare_exchange_strong(&t->header->taken, &since, at);
}

static void busy_give_back(limit_table *t)
{
    atomic_store(&t->header->taken, 0);
}

/* Another process may write anything there: the length stays in bounds. */
static uint32_t busy_length(const limit_table *t)
{
    const uint32_t n = atomic_load_explicit(&t->header->busy_n, memory_order_relaxed);

    return n > LIMIT_BUSY ? 0 : n;
}

/* One part of all is forgotten. */
static void busy_age_once(limit_table *t)
{
    uint32_t kept = 0;

    for (uint32_t i = 0, n = busy_length(t); i < n; i++) {
        limit_busy one = t->header->busy[i];

        one.asked -= (one.asked + BUSY_AGE - 1) / BUSY_AGE;
        one.refused -= (one.refused + BUSY_AGE - 1) / BUSY_AGE;
        if (one.asked)
            t->header->busy[kept++] = one;
    }
    BRG_ASSERT(kept <= LIMIT_BUSY);
    atomic_store(&t->header->busy_n, kept);
}

/* The process that has the list ages it by the time that went by. */
static void busy_age(limit_table *t, uint64_t now)
{
    const uint64_t last = atomic_load(&t->header->aged);
    uint64_t steps = now > last ? (now - last) / BUSY_STEP : 0;

    if (!steps)
        return;
    atomic_store(&t->header->aged, now);
    for (steps = steps < BUSY_STEPS_MOST ? steps : BUSY_STEPS_MOST; steps && busy_length(t);
         steps--)
        busy_age_once(t);
}

/* The slot of a key: its own, a new one, or that of the least busy. */
static limit_busy *busy_slot(limit_table *t, uint64_t key)
{
    limit_busy *list = t->header->busy;
    const uint32_t n = busy_length(t);
    uint32_t least = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (list[i].key == key)
            return &list[i];
        if (list[i].asked < list[least].asked)
            least = i;
    }
    if (n == LIMIT_BUSY)
        return &list[least];
    atomic_store(&t->header->busy_n, n + 1);
    memset(&list[n], 0, sizeof list[n]);
    return &list[n];
}

void limit_busy_note(limit_table *t, uint64_t key, uint32_t row, const char *text, size_t len,
                     uint32_t asked, uint32_t refused, uint64_t now)
{
    limit_busy *b;

    BRG_ASSERT(row < LIMIT_ROWS && text);
    if (!busy_take(t, now))
        return;
    busy_age(t, now);
    b = busy_slot(t, key);
    if (b->key != key) {
        if (len >= LIMIT_TEXT_ROOM)
            len = LIMIT_TEXT_ROOM - 1;
        memcpy(b->text, text, len);
        b->text[len] = '\0';
        b->key = key;
        b->row = row;
        b->refused = 0;
    }
    b->asked += asked;
    b->refused += refused;
    busy_give_back(t);
}

static int busy_compare(const void *a, const void *b)
{
    const limit_busy *x = a, *y = b;

    return (x->asked < y->asked) - (x->asked > y->asked);
}

int limit_busy_get(limit_table *t, limit_busy out[LIMIT_BUSY], uint64_t now)
{
    uint32_t n;

    for (int tries = 0; !busy_take(t, now); tries++)
        if (tries == 100)
            return 0;
    busy_age(t, now);
    n = busy_length(t);
    BRG_ASSERT(n <= LIMIT_BUSY); /* busy_length() */
    memcpy(out, t->header->busy, n * sizeof *out);
    busy_give_back(t);
    for (uint32_t i = 0; i < n; i++)
        out[i].text[LIMIT_TEXT_ROOM - 1] = '\0';
    qsort(out, n, sizeof *out, busy_compare);
    return (int)n;
}
