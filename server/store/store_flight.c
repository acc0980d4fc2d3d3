/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches that are under way: which request leads, and which ones wait for it. */
#include "store_private.h"

#include <string.h>

/* Beside the states of store.h: a new flight that was not yet compared with others of its key, and
 * one that lost. */
#define STORE_FLIGHT_TENTATIVE 14u
#define STORE_FLIGHT_LOST 15u

static uint32_t store_flight_state_of(uint32_t word)
{
    return word & 0xffff;
}

/* The entry of a handle: entry in the lower half (from 1 on), sequence in the upper one. */
store_flight *store_flight_of(const store *s, uint32_t flight)
{
    const uint32_t i = flight & 0xffff;

    return i && i <= s->limits.flights ? s->flight + i : NULL;
}

static uint64_t store_flight_slot(const store_key *key, uint32_t flight)
{
    return store_slot_make(STORE_SLOT_FLIGHT, 0, (uint64_t)(flight >> 16) << 16 | (flight & 0xffff),
                           key);
}

/* 1 if the entry is still that of the handle; *word as it was read. */
static int store_flight_is(const store_flight *f, uint32_t flight, uint32_t *word)
{
    *word = atomic_load(&f->state);
    return *word >> 16 == flight >> 16;
}

static int store_flight_is_over(uint32_t word)
{
    const uint32_t state = store_flight_state_of(word);

    return !state || (state > STORE_FLIGHT_GROWS + 1 && state != STORE_FLIGHT_TENTATIVE);
}

int store_flight_lasts(const store_flight *f)
{
    return !store_flight_is_over(atomic_load(&f->state));
}

/* An entry that nobody uses; those of the dead are taken as well. 0: none */
static uint32_t store_flight_new(store_reader *reader, const store_key *key, uint64_t mark)
{
    store *s = reader->s;

    for (uint32_t tries = 0; tries < s->limits.flights; tries++) {
        const uint32_t i = atomic_fetch_add(&s->shared->next_flight, 1) % s->limits.flights + 1;
        store_flight *f = s->flight + i;
        uint32_t word = atomic_load(&f->state);
        const uint32_t next = (word & 0xffff0000u) + 0x10000u;

        if (!store_flight_is_over(word) && store_owner_lives(s, atomic_load(&f->owner)))
            continue;
        /* Claimed as lost first: nobody reads the key before it is whole. */
        if (!atomic_compare_exchange_strong(&f->state, &word, next | STORE_FLIGHT_LOST))
            continue;
        if (!store_flight_is_over(word)) {
            atomic_fetch_sub(&s->shared->flights, 1);
            atomic_fetch_sub(&s->shared->flight_bytes, atomic_exchange(&f->bytes, 0));
        }
        STORE_STEP("flight claimed");
        atomic_store(&f->owner, store_owner(reader->row, reader->incarnation));
        f->key = *key;
        f->mark = mark;
        atomic_store(&f->link, 0);
        atomic_store(&f->bytes, 0);
        for (int k = 0; k < STORE_WAIT_WORDS; k++)
            atomic_store(&f->waits[k], 0);
        atomic_fetch_add(&s->shared->flights, 1);
        atomic_store(&f->state, next | STORE_FLIGHT_TENTATIVE);
        return next | i;
    }
    return 0;
}

static int store_flight_change(store_flight *f, uint32_t flight, uint32_t from, uint32_t to)
{
    uint32_t word = (flight & 0xffff0000u) | from;

    return atomic_compare_exchange_strong(&f->state, &word, (flight & 0xffff0000u) | to);
}

static void store_flight_close(store *s, uint32_t flight, uint32_t state)
{
    store_flight *f = store_flight_of(s, flight);
    uint32_t word;
    _Atomic uint64_t *at;
    uint64_t slot;

    if (!f || !store_flight_is(f, flight, &word) || store_flight_is_over(word))
        return;
    slot = store_flight_slot(&f->key, flight);
    if (!atomic_compare_exchange_strong(&f->state, &word, (flight & 0xffff0000u) | state))
        return;
    STORE_STEP("flight ended");
    atomic_fetch_sub(&s->shared->flights, 1);
    atomic_fetch_sub(&s->shared->flight_bytes, atomic_exchange(&f->bytes, 0));
    at = store_slot_find(s, &f->key, slot);
    if (at)
        atomic_compare_exchange_strong(at, &slot, 0);
}

void store_flight_finish(store *s, uint32_t flight, store_flight_state how)
{
    store_flight_close(s, flight, (uint32_t)how + 1);
}

void store_flights_of_dead(store *s)
{
    for (uint32_t i = 1; i <= s->limits.flights && atomic_load(&s->shared->flights); i++) {
        const uint32_t word = atomic_load(&s->flight[i].state);

        if (store_flight_is_over(word) || store_owner_lives(s, atomic_load(&s->flight[i].owner)))
            continue;
        STORE_COUNT(s, orphans);
        store_flight_finish(s, (word & 0xffff0000u) | i, STORE_FLIGHT_FAILED);
    }
}

/* Another flight of this key: its handle, or 0. Slots of flights that are over, or whose leader died, are cleared. */
static uint32_t store_flight_other(store_reader *reader, const store_key *key, uint32_t own,
                                   int *position)
{
    store *s = reader->s;

    for (int i = 0; i < STORE_SLOTS; i++) {
        _Atomic uint64_t *at = store_slot_at(s, key, i);
        uint64_t slot = atomic_load(at);
        const uint64_t link = store_slot_link(slot);
        const uint32_t flight = (uint32_t)(link >> 16 & 0xffff) << 16 | (uint32_t)(link & 0xffff);
        store_flight *f = store_flight_of(s, flight);
        uint32_t word;

        if (store_slot_kind(slot) != STORE_SLOT_FLIGHT || (slot & 0xffff) != (key->b & 0xffff) ||
            flight == own)
            continue;
        if (!f || !store_flight_is(f, flight, &word) || store_flight_is_over(word)) {
            atomic_compare_exchange_strong(at, &slot, 0);
            continue;
        }
        if (f->key.a != key->a || f->key.b != key->b)
            continue;
        if (!store_owner_lives(s, atomic_load(&f->owner))) {
            STORE_COUNT(s, orphans);
            store_flight_finish(s, flight, STORE_FLIGHT_FAILED);
            atomic_compare_exchange_strong(at, &slot, 0);
            continue;
        }
        *position = i;
        return flight;
    }
    return 0;
}

static int store_flight_position(const store *s, const store_key *key, const _Atomic uint64_t *at)
{
    for (int i = 0; i < STORE_SLOTS; i++)
        if (store_slot_at(s, key, i) == at)
            return i;
    return STORE_SLOTS;
}

/* Of two flights that began at the same time the one in the earlier slot leads, unless the other has the lead already. */
static store_lead store_flight_contend(store_reader *reader, const store_key *key, uint32_t own,
                                       int ours, uint32_t *flight)
{
    store *s = reader->s;
    int theirs;

    for (int tries = 0; tries < 64; tries++) {
        const uint32_t other = store_flight_other(reader, key, own, &theirs);
        store_flight *f = store_flight_of(s, other);
        uint32_t word;

        if (!f) {
            if (store_flight_change(store_flight_of(s, own), own, STORE_FLIGHT_TENTATIVE,
                                    STORE_FLIGHT_WAITS + 1)) {
                *flight = own;
                return STORE_LEAD;
            }
            break; /* another one was before us */
        }
        if (!store_flight_is(f, other, &word))
            continue;
        if (store_flight_state_of(word) == STORE_FLIGHT_TENTATIVE && ours < theirs) {
            if (store_flight_change(f, other, STORE_FLIGHT_TENTATIVE, STORE_FLIGHT_LOST)) {
                atomic_fetch_sub(&s->shared->flights, 1);
                continue; /* its slot is cleared by store_flight_other() */
            }
            continue;
        }
        *flight = other;
        store_flight_close(s, own, STORE_FLIGHT_LOST);
        STORE_COUNT(s, collapsed);
        return STORE_FOLLOW;
    }
    store_flight_close(s, own, STORE_FLIGHT_LOST);
    *flight = store_flight_other(reader, key, own, &theirs);
    return *flight ? STORE_FOLLOW : STORE_ALONE;
}

static int store_pass_holds(const store *s, const store_key *key, apr_time_t now)
{
    for (int i = 0; i < STORE_SLOTS; i++) {
        const uint64_t slot = atomic_load(store_slot_at(s, key, i));

        if (store_slot_passes(key, slot, now))
            return 1;
    }
    return 0;
}

store_lead store_flight_begin(store_reader *reader, const store_key *key, uint64_t mark,
                              apr_time_t now, uint32_t *flight)
{
    store *s = reader->s;
    _Atomic uint64_t *at;
    uint32_t own;
    int position;

    *flight = store_flight_other(reader, key, 0, &position);
    if (*flight) {
        STORE_COUNT(s, collapsed);
        return STORE_FOLLOW;
    }
    if (store_pass_holds(s, key, now) || !(own = store_flight_new(reader, key, mark)))
        return STORE_ALONE;
    BRG_ASSERT(store_flight_of(s, own));
    at = store_slot_put(s, key, store_flight_slot(key, own));
    STORE_STEP("flight put");
    if (!at) {
        store_flight_close(s, own, STORE_FLIGHT_LOST);
        return STORE_ALONE;
    }
    return store_flight_contend(reader, key, own, store_flight_position(s, key, at), flight);
}

/* The record that grows, as a view. */
static int store_flight_view(store_reader *reader, store_flight *f, const store_key *key,
                             store_view *view)
{
    store *s = reader->s;
    const uint64_t link = atomic_load(&f->link);
    const uint32_t segment = store_link_segment(link);
    store_record *r;
    uint32_t state;

    if (!link || segment >= s->segments)
        return 0;
    store_pin(reader, segment);
    state = atomic_load(&s->segment[segment].state);
    if ((state == STORE_SEG_OPEN || state == STORE_SEG_SEALED) &&
        (atomic_load(&s->segment[segment].generation) & 0x1ff) == (link >> 34 & 0x1ff) &&
        (r = store_record_at(s, link)) && r->key.a == key->a && r->key.b == key->b &&
        store_view_make(reader, r, view))
        return 1;
    store_unpin(reader, segment);
    return 0;
}

store_flight_state store_flight_look(store_reader *reader, uint32_t flight, const store_key *key,
                                     store_view *view)
{
    store *s = reader->s;
    store_flight *f = store_flight_of(s, flight);
    uint32_t word, state;

    if (!f || !store_flight_is(f, flight, &word))
        return STORE_FLIGHT_DONE; /* so long ago that its entry has another use: look the key up */
    state = store_flight_state_of(word);
    if (store_flight_is_over(word))
        return state == STORE_FLIGHT_LOST || !state ? STORE_FLIGHT_FAILED
                                                    : (store_flight_state)(state - 1);
    if (f->key.a != key->a || f->key.b != key->b)
        return STORE_FLIGHT_DONE;
    if (!store_owner_lives(s, atomic_load(&f->owner))) {
        STORE_COUNT(s, orphans);
        store_flight_finish(s, flight, STORE_FLIGHT_FAILED);
        return STORE_FLIGHT_ORPHAN;
    }
    if (state == STORE_FLIGHT_TENTATIVE)
        return STORE_FLIGHT_WAITS;
    if (state == STORE_FLIGHT_GROWS + 1 && view && !store_flight_view(reader, f, key, view))
        return store_flight_is(f, flight, &word) && !store_flight_is_over(word) ? STORE_FLIGHT_WAITS
                                                                                : STORE_FLIGHT_DONE;
    return (store_flight_state)(state - 1);
}

void store_flight_wait(store_reader *reader, uint32_t flight)
{
    store_flight *f = store_flight_of(reader->s, flight);

    if (f)
        atomic_fetch_or(&f->waits[reader->row / 64], 1ull << reader->row % 64);
}

size_t store_flight_waiters(store_reader *reader, uint32_t flight, uint64_t *rows, size_t words)
{
    store_flight *f = store_flight_of(reader->s, flight);
    size_t n = words < STORE_WAIT_WORDS ? words : STORE_WAIT_WORDS;

    for (size_t i = 0; i < n; i++)
        rows[i] = f ? atomic_load(&f->waits[i]) : 0;
    return n;
}

void store_flight_end(store_reader *reader, uint32_t flight, apr_time_t pass_until)
{
    store_flight *f = store_flight_of(reader->s, flight);
    store_key key;

    if (!f)
        return;
    BRG_ASSERT(store_flight_of(reader->s, flight) == f);
    key = f->key;
    store_flight_finish(reader->s, flight, pass_until ? STORE_FLIGHT_PASS : STORE_FLIGHT_FAILED);
    if (pass_until)
        store_slot_pass(reader->s, &key, (uint32_t)apr_time_sec(pass_until));
}
