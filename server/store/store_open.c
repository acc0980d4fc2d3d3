/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the memory, and the rows of loops. */
#include "store_private.h"
#include "keyed_hash.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#ifdef BRG_DEBUG_ASSERTIONS
void (*store_test_step)(const char *where);
#endif

void store_limits_default(store_limits *limits, uint64_t bytes)
{
    *limits = (store_limits){.bytes = bytes,
                             .object_bytes = bytes / 8,
                             .flight_bytes = bytes / 4,
                             .variants = 64,
                             .marks = 32,
                             .purges = 65536,
                             .readers = 256,
                             .flights = 4096};
}

void store_limits_change(store *s, const store_limits *asked)
{
    store_limits usual;

    store_limits_default(&usual, s->limits.bytes);
    s->limits.variants = asked->variants ? asked->variants : usual.variants;
    s->limits.marks = asked->marks ? asked->marks : usual.marks;
    s->limits.objects_most = asked->objects_most;
    s->limits.flight_bytes = asked->flight_bytes ? asked->flight_bytes : usual.flight_bytes;
    if (s->limits.flight_bytes > s->limits.bytes)
        s->limits.flight_bytes = s->limits.bytes;
    BRG_ASSERT(s->limits.marks <= STORE_MARKS_MOST && s->limits.variants > 0);
}

/* Where each table begins; the last one is the end. */
typedef struct store_layout {
    uint32_t segments, buckets, purges;
    size_t row, segment, slot, flight, purge, pin, data, end;
} store_layout;

static size_t store_pages(size_t n)
{
    return (n + 4095) & ~(size_t)4095;
}

static uint32_t store_power(uint64_t n, uint32_t most)
{
    uint32_t power = 64;

    while (power < n && power < most)
        power *= 2;
    return power;
}

/* Twice as many segments as may be full: one with a growing object counts only with the bytes that are in it. */
static void store_layout_make(store_layout *l, const store_limits *limits)
{
    const uint64_t full = limits->bytes / STORE_SEGMENT,
                   objects = limits->objects ? limits->objects : limits->bytes / 1024;

    l->segments = full > 120000 ? 240000 : (uint32_t)(2 * full + 16);
    l->buckets = objects / 6 > 1u << 28 ? 1u << 28 : (uint32_t)(objects / 6) + 64;
    l->purges = store_power(limits->purges, 1u << 24);
    l->row = store_pages(sizeof(store_shared));
    l->segment = l->row + store_pages(limits->readers * sizeof(store_row));
    l->slot = l->segment + store_pages(l->segments * sizeof(store_segment));
    l->flight = l->slot + store_pages((size_t)l->buckets * STORE_BUCKET * 8);
    l->purge = l->flight + store_pages(((size_t)limits->flights + 1) * sizeof(store_flight));
    l->pin = l->purge + store_pages(l->purges * sizeof(store_purge));
    l->data = l->pin + store_pages((size_t)limits->readers * l->segments * 4);
    l->data = (l->data + STORE_SEGMENT - 1) / STORE_SEGMENT * STORE_SEGMENT;
    l->end = l->data + (size_t)l->segments * STORE_SEGMENT;
}

static store_limits store_limits_sane(const store_limits *limits)
{
    store_limits sane = *limits;

    if (sane.bytes < 8 * STORE_SEGMENT)
        sane.bytes = 8 * STORE_SEGMENT;
    if (sane.readers > STORE_ROWS_MOST)
        sane.readers = STORE_ROWS_MOST;
    if (!sane.readers)
        sane.readers = 1;
    if (sane.flights > 65535)
        sane.flights = 65535;
    if (!sane.flights)
        sane.flights = 1;
    if (sane.marks > STORE_MARKS_MOST)
        sane.marks = STORE_MARKS_MOST;
    return sane;
}

size_t store_size(const store_limits *limits)
{
    const store_limits sane = store_limits_sane(limits);
    store_layout l;

    store_layout_make(&l, &sane);
    return l.end;
}

static void store_format(store *s, uint64_t layout)
{
    /* New memory is zero, as most of it has to be. Memory of another layout has another size. */
    memset(s->base, 0, (size_t)((char *)s->pin - s->base));
    if (getrandom(s->shared->secret, sizeof s->shared->secret, 0) !=
        (ssize_t)sizeof s->shared->secret) {
        keyed_hash_seed();
        memcpy(s->shared->secret, keyed_hash_key, sizeof keyed_hash_key);
    }
    s->shared->epoch = 1;
    s->shared->bytes = s->limits.bytes;
    s->shared->layout = layout;
    __atomic_store_n(&s->shared->magic, STORE_MAGIC, __ATOMIC_RELEASE); /* after all else */
}

static store *store_describe(void *memory, const store_limits *limits, uint64_t *layout)
{
    store *s = calloc(1, sizeof *s);
    store_layout l;

    BRG_ASSERT(memory && !((uintptr_t)memory & 4095));
    if (!s)
        return NULL;
    s->limits = store_limits_sane(limits);
    store_layout_make(&l, &s->limits);
    BRG_ASSERT(l.end > l.data && l.data > l.pin && l.buckets);
    s->base = memory;
    s->bytes = l.end;
    s->segments = l.segments;
    s->buckets = l.buckets;
    s->purges = l.purges;
    s->shared = memory;
    s->row = (void *)(s->base + l.row);
    s->segment = (void *)(s->base + l.segment);
    s->slot = (void *)(s->base + l.slot);
    s->flight = (void *)(s->base + l.flight);
    s->purge = (void *)(s->base + l.purge);
    s->pin = (void *)(s->base + l.pin);
    s->data = s->base + l.data;
    *layout =
        l.end ^ (uint64_t)l.buckets << 40 ^ (uint64_t)s->limits.readers << 20 ^ s->limits.flights;
    return s;
}

store *store_open(void *memory, const store_limits *limits)
{
    uint64_t layout;
    store *s = store_describe(memory, limits, &layout);

    if (s && (s->shared->magic != STORE_MAGIC || s->shared->layout != layout))
        store_format(s, layout);
    return s;
}

store *store_attach(void *memory, size_t bytes)
{
    const store_shared *shared = memory;
    store_limits limits;
    uint64_t layout;
    store *s;

    if (bytes < sizeof *shared || shared->magic != STORE_MAGIC ||
        shared->bytes > (uint64_t)bytes) /* not to be trusted, as all that lies there */
        return NULL;
    store_limits_default(&limits, shared->bytes);
    if (store_size(&limits) != bytes)
        return NULL;
    s = store_describe(memory, &limits, &layout);
    if (s && shared->layout != layout)
        store_close(&s);
    return s;
}

void store_secret_use(store *s, const uint64_t secret[2])
{
    if (memcmp(s->shared->secret, secret, sizeof s->shared->secret)) {
        store_purge_all(s, 0); /* keys of before mean nothing now */
        memcpy(s->shared->secret, secret, sizeof s->shared->secret);
    }
}

void store_close(store **s)
{
    BRG_ASSERT(*s);
    free(*s);
    *s = NULL;
}

int store_owner_lives(const store *s, uint32_t owner)
{
    const uint32_t row = owner & 0x3ff;

    return row < s->limits.readers && atomic_load(&s->row[row].state) == STORE_ROW_LIVE &&
           (atomic_load(&s->row[row].incarnation) & 0xfff) == owner >> 10;
}

void store_process_ended(store *s, int64_t pid)
{
    BRG_ASSERT(pid > 0);
    for (uint32_t i = 0; i < s->limits.readers; i++) {
        uint32_t state = atomic_load(&s->row[i].state);

        if ((state == STORE_ROW_LIVE || state == STORE_ROW_CLAIMED) &&
            atomic_load(&s->row[i].pid) == pid)
            atomic_compare_exchange_strong(&s->row[i].state, &state, STORE_ROW_DEAD);
    }
}

void store_look_for_ended(store *s)
{
    for (uint32_t i = 0; i < s->limits.readers; i++) {
        const uint32_t state = atomic_load(&s->row[i].state);
        const int64_t pid = atomic_load(&s->row[i].pid);

        if ((state == STORE_ROW_LIVE || state == STORE_ROW_CLAIMED) && pid > 1 && pid < INT32_MAX &&
            kill((pid_t)pid, 0) && errno == ESRCH)
            store_process_ended(s, pid);
    }
}

static int store_row_claim(store *s, uint32_t i)
{
    uint32_t state = atomic_load(&s->row[i].state);

    if ((state != STORE_ROW_FREE && state != STORE_ROW_DEAD) ||
        !atomic_compare_exchange_strong(&s->row[i].state, &state, STORE_ROW_CLAIMED))
        return 0;
    atomic_store(&s->row[i].pid, getpid());
    STORE_STEP("row claimed");
    /* Pins of the last owner of this row are void. */
    for (uint32_t k = 0; k < s->segments; k++)
        if (atomic_load_explicit(&s->pin[(size_t)i * s->segments + k], memory_order_relaxed))
            atomic_store(&s->pin[(size_t)i * s->segments + k], 0);
    atomic_fetch_add(&s->row[i].incarnation, 1);
    atomic_store(&s->row[i].state, STORE_ROW_LIVE);
    return 1;
}

store_reader *store_reader_open(store *s)
{
    store_reader *reader = calloc(1, sizeof *reader);

    for (uint32_t i = 0; reader && i < s->limits.readers; i++) {
        if (!store_row_claim(s, i))
            continue;
        reader->s = s;
        reader->row = i;
        reader->clock =
            i * 4096 % (s->buckets * STORE_BUCKET); /* loops begin at places of their own */
        reader->incarnation = atomic_load(&s->row[i].incarnation);
        store_flights_of_dead(s);
        return reader;
    }
    free(reader);
    return NULL;
}

void store_reader_close(store_reader **reader)
{
    store_reader *r = *reader;

    BRG_ASSERT(r && r->row < r->s->limits.readers);
    for (int i = 0; i < STORE_CLASSES; i++)
        if (r->open[i])
            store_segment_seal(r->s, r->open[i] - 1);
    atomic_store(&r->s->row[r->row].state, STORE_ROW_FREE);
    free(r);
    *reader = NULL;
}

uint32_t store_reader_row(const store_reader *reader)
{
    return reader->row;
}

static void store_hash_begin(const store *s, keyed_hash *h)
{
    const uint64_t *key = s->shared->secret;

    *h = (keyed_hash){key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull ^ 0xee,
                      key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull};
}

store_key store_key_of(const store *s, const char *text, size_t len, const char *more,
                       size_t more_len)
{
    keyed_hash h;
    store_key key;

    store_hash_begin(s, &h);
    keyed_hash_number(&h, more_len ? 2 : 1);
    keyed_hash_bytes(&h, text, len);
    keyed_hash_number(&h, len);
    if (more_len) {
        keyed_hash_bytes(&h, more, more_len);
        keyed_hash_number(&h, more_len);
    }
    h.v2 ^= 0xee;
    for (int i = 0; i < 4; i++)
        keyed_round(&h);
    key.a = h.v0 ^ h.v1 ^ h.v2 ^ h.v3;
    h.v1 ^= 0xdd;
    for (int i = 0; i < 4; i++)
        keyed_round(&h);
    key.b = h.v0 ^ h.v1 ^ h.v2 ^ h.v3;
    return key;
}

uint64_t store_mark_of(const store *s, const char *tag, size_t len)
{
    const store_key key = store_key_of(s, tag, len, "tag", 3);

    return key.a | 1;
}

/* Tags have odd marks, keys even ones. */
uint64_t store_mark_of_key(const store_key *key)
{
    const uint64_t mark = (key->a ^ (key->b << 1)) & ~1ull;

    return mark ? mark : 2;
}
