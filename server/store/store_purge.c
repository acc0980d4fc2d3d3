/* SPDX-License-Identifier: Apache-2.0 */
/* Each purge has a number, which grows. A table has the number of the last purge of each key and tag. An object knows up to
 * which number it was compared with that table (its stamp): so a hit costs one comparison while nothing is purged, and a purge
 * costs the same however many objects it ends. A purge that the table forgets raises the floor: all objects with a stamp
 * below it are purged. */
#include "store_private.h"

#include <string.h>

#define STORE_PURGE_PROBES 8
#define STORE_SOFT_MARK 0x9e3779b97f4a7c14ull

uint32_t store_epoch(const store *s)
{
    return atomic_load(&s->shared->epoch);
}

static void store_raise(_Atomic uint32_t *to, uint32_t epoch)
{
    uint32_t now = atomic_load(to);

    while (now < epoch && !atomic_compare_exchange_weak(to, &now, epoch))
        ;
}

/* Stands for the number of a purge until it has one, and counts for all objects. No two are the same: a process that gives the
 * purge its number late does not give it to the next purge of that mark. */
static uint64_t store_purge_begun(store *s)
{
    return UINT64_C(1) << 63 | atomic_fetch_add(&s->shared->purgers, 1);
}

/* The number of a purge that is visible already, or more than UINT32_MAX if that mark was purged
 * anew. Readers help, so nobody waits for a dead purger. */
static uint64_t store_purge_number(store *s, _Atomic uint64_t *epoch)
{
    uint64_t now = atomic_load(epoch);
    uint32_t number;

    if (now <= UINT32_MAX)
        return now;
    number = atomic_fetch_add(&s->shared->epoch, 1) + 1;
    STORE_STEP("purge numbered");
    atomic_compare_exchange_strong(epoch, &now, number);
    return atomic_load(epoch);
}

/* All that was stored before it is purged. */
static void store_raise_floor(store *s, _Atomic uint64_t *epoch)
{
    const uint64_t number = store_purge_number(s, epoch);

    store_raise(&s->shared->floor, number > UINT32_MAX ? store_epoch(s) : (uint32_t)number);
}

static store_purge *store_purge_at(const store *s, uint64_t mark, uint32_t probe)
{
    return s->purge + (((mark >> 8) * 0x9e3779b97f4a7c15ull >> 20) + probe) % s->purges;
}

static store_purge *store_purge_place(store *s, uint64_t mark)
{
    store_purge *oldest = NULL;
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < STORE_PURGE_PROBES; i++) {
        store_purge *e = store_purge_at(s, mark, i);
        const uint64_t there = atomic_load(&e->mark);
        const uint64_t epoch = there ? store_purge_number(s, &e->epoch) : 0;

        if (there == mark)
            return e;
        if (!oldest || epoch < least) {
            oldest = e;
            least = epoch;
        }
    }
    return oldest;
}

static void store_purge_add(store *s, uint64_t mark)
{
    BRG_ASSERT(mark);
    STORE_COUNT(s, purges);
    for (int tries = 0; tries < 64; tries++) {
        store_purge *e = store_purge_place(s, mark);
        uint64_t there = atomic_load(&e->mark);

        if (there != mark) {
            if (there)
                store_raise_floor(s, &e->epoch);
            if (!atomic_compare_exchange_strong(&e->mark, &there, mark))
                continue;
        }
        atomic_store(&e->epoch, store_purge_begun(s));
        STORE_STEP("purge written");
        store_purge_number(s, &e->epoch);
        if (atomic_load(&e->mark) == mark)
            return;
    }
    store_raise(&s->shared->floor,
                atomic_fetch_add(&s->shared->epoch, 1) + 1); /* rather too much than too little */
}

/* Was this mark purged after the object of this stamp was looked at? */
static int store_purge_after(store *s, uint64_t mark, uint32_t stamp)
{
    for (uint32_t i = 0; i < STORE_PURGE_PROBES; i++) {
        store_purge *e = store_purge_at(s, mark, i);

        if (atomic_load(&e->mark) == mark)
            return store_purge_number(s, &e->epoch) > stamp;
    }
    return 0;
}

static int store_prefix_purged(store *s, const store_parts *parts, uint32_t stamp)
{
    int purged = 0;

    for (int i = 0; i < STORE_PREFIXES; i++) {
        store_prefix *e = s->shared->prefix + i;
        const uint32_t len = e->len;

        if (atomic_load(&e->state) == 2 && len <= STORE_PREFIX_MOST && len <= parts->text_len &&
            !memcmp(e->text, parts->text, len) && store_purge_number(s, &e->epoch) > stamp)
            purged |= e->soft ? 1 : 2;
    }
    return purged > 2 ? 2 : purged;
}

static int store_marks_purged(store *s, const store_record *r, const store_parts *parts,
                              uint32_t stamp)
{
    const int variant = (atomic_load(&r->word) & STORE_REC_VARIANT) != 0;
    int purged = 0;

    for (uint32_t i = 0; i < parts->marks_n + !variant; i++) {
        uint64_t mark = store_mark_of_key(&r->key);

        if (i < parts->marks_n)
            memcpy(&mark, parts->marks + 8 * (size_t)i, 8);
        if (store_purge_after(s, mark, stamp))
            return 2;
        if (store_purge_after(s, mark ^ STORE_SOFT_MARK, stamp))
            purged = 1;
    }
    return purged;
}

int store_is_purged(store *s, store_record *r, const store_parts *parts)
{
    /* The number first: a purge meanwhile has a larger one, and is seen by the next look. */
    const uint32_t epoch = atomic_load(&s->shared->epoch);
    uint32_t stamp = atomic_load(&r->stamp);
    int purged, more;

    if (stamp >= epoch)
        return 0;
    if (atomic_load(&s->shared->floor) > stamp || atomic_load(&s->shared->all_hard) > stamp)
        return 2;
    purged = atomic_load(&s->shared->all_soft) > stamp;
    more = store_marks_purged(s, r, parts, stamp);
    purged = more > purged ? more : purged;
    more = store_prefix_purged(s, parts, stamp);
    purged = more > purged ? more : purged;
    if (purged == 2)
        return 2;
    if (purged)
        atomic_fetch_or(&r->word, STORE_REC_SOFT);
    atomic_compare_exchange_strong(&r->stamp, &stamp, epoch);
    return purged;
}

void store_purge_mark(store *s, uint64_t mark, int soft)
{
    store_purge_add(s, soft ? mark ^ STORE_SOFT_MARK : mark);
}

void store_purge_all(store *s, int soft)
{
    STORE_COUNT(s, purges);
    store_raise(soft ? &s->shared->all_soft : &s->shared->all_hard,
                atomic_fetch_add(&s->shared->epoch, 1) + 1);
}

/* The oldest place; that of a purger that died while writing, after ten seconds. */
static store_prefix *store_prefix_place(store *s, uint64_t now)
{
    store_prefix *oldest = NULL;

    for (int i = 0; i < STORE_PREFIXES; i++) {
        store_prefix *e = s->shared->prefix + i;
        const uint32_t state = atomic_load(&e->state);

        if (state == 1 && now - atomic_load(&e->since) < 10000000)
            continue;
        if (!state)
            return e;
        if (!oldest || atomic_load(&e->epoch) < atomic_load(&oldest->epoch))
            oldest = e;
    }
    return oldest;
}

apr_status_t store_purge_prefix(store *s, const char *text, size_t len, int soft)
{
    const uint64_t now = (uint64_t)apr_time_now();

    BRG_ASSERT(text || !len);
    if (len > STORE_PREFIX_MOST)
        return APR_EINVAL;
    STORE_COUNT(s, purges);
    for (int tries = 0; tries < 64; tries++) {
        store_prefix *e = store_prefix_place(s, now);
        uint32_t state = e ? atomic_load(&e->state) : 0;

        if (!e)
            break;
        if (state == 2)
            store_raise_floor(s, &e->epoch);
        else if (state)
            store_raise(&s->shared->floor, store_epoch(s));
        if (!atomic_compare_exchange_strong(&e->state, &state, 1))
            continue;
        atomic_store(&e->since, now);
        e->len = (uint32_t)len;
        e->soft = (uint32_t)soft;
        memcpy(e->text, text, len);
        atomic_store(&e->epoch, store_purge_begun(s));
        STORE_STEP("prefix written");
        atomic_store(&e->state, 2);
        store_purge_number(s, &e->epoch);
        return APR_SUCCESS;
    }
    store_raise(&s->shared->floor, atomic_fetch_add(&s->shared->epoch, 1) + 1);
    return APR_SUCCESS;
}
