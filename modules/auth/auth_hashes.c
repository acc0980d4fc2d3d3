/* SPDX-License-Identifier: Apache-2.0 */
/* Readers take no lock: a slot whose count of writings is even, and the same before and after it was copied, was not
 * written meanwhile. */
#include "auth_hashes.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define HASHES_SETS 512 /* a power of two */
#define HASHES_WAYS 4
#define HASHES_WORDS (AUTH_HASH_MOST / sizeof(apr_uint64_t))

typedef struct hashes_slot {
    _Atomic apr_uint64_t writings; /* odd: one is under way */
    _Atomic apr_uint64_t key[2];
    _Atomic apr_int64_t until; /* 0: empty */
    _Atomic apr_uint64_t hash[HASHES_WORDS];
} hashes_slot;

static hashes_slot (*hashes_sets)[HASHES_WAYS];
static pthread_mutex_t hashes_lock = PTHREAD_MUTEX_INITIALIZER;

void auth_hashes_open(void)
{
    const size_t bytes = sizeof(hashes_slot) * HASHES_SETS * HASHES_WAYS;
    void *memory;

    if (hashes_sets)
        return;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    (void)madvise(memory, bytes, MADV_DONTDUMP);
    (void)madvise(memory, bytes, MADV_DONTFORK);
    (void)mlock(memory, bytes);
    hashes_sets = memory;
}

static int slot_has(const hashes_slot *slot, const auth_mark *key)
{
    return atomic_load_explicit(&slot->key[0], memory_order_relaxed) == key->word[0] &&
           atomic_load_explicit(&slot->key[1], memory_order_relaxed) == key->word[1];
}

static hashes_slot *hashes_set(const auth_mark *key)
{
    BRG_ASSERT(hashes_sets != NULL);
    return hashes_sets[key->word[0] & (HASHES_SETS - 1)];
}

/* The slot of that key, or else the first to end. */
static hashes_slot *hashes_place(const auth_mark *key)
{
    hashes_slot *set = hashes_set(key), *first = set;

    for (int i = 0; i < HASHES_WAYS; i++) {
        if (slot_has(&set[i], key))
            return &set[i];
        if (atomic_load_explicit(&set[i].until, memory_order_relaxed) <
            atomic_load_explicit(&first->until, memory_order_relaxed))
            first = &set[i];
    }
    return first;
}

int auth_hashes_put(const auth_mark *key, const char *hash, apr_time_t until)
{
    apr_uint64_t words[HASHES_WORDS] = {0};
    hashes_slot *slot;

    if (!hashes_sets || strlen(hash) >= AUTH_HASH_MOST)
        return 0;
    memcpy(words, hash, strlen(hash));
    pthread_mutex_lock(&hashes_lock);
    slot = hashes_place(key);
    BRG_ASSERT(!(atomic_load_explicit(&slot->writings, memory_order_relaxed) & 1)); /* the lock */
    atomic_fetch_add_explicit(&slot->writings, 1, memory_order_relaxed);
    /* Each release: not before the number is odd. */
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&slot->key[i], key->word[i], memory_order_release);
    for (size_t i = 0; i < HASHES_WORDS; i++)
        atomic_store_explicit(&slot->hash[i], words[i], memory_order_release);
    atomic_store_explicit(&slot->until, until, memory_order_release);
    atomic_fetch_add_explicit(&slot->writings, 1, memory_order_release);
    pthread_mutex_unlock(&hashes_lock);
    explicit_bzero(words, sizeof words);
    return 1;
}

/* @return until when it is kept; 0: it is written, or was */
static apr_time_t slot_copy(const hashes_slot *slot, char *hash)
{
    const apr_uint64_t before = atomic_load_explicit(&slot->writings, memory_order_acquire);
    const apr_time_t until = atomic_load_explicit(&slot->until, memory_order_acquire);
    apr_uint64_t words[HASHES_WORDS];

    /* Each acquire: before the number is read again. */
    for (size_t i = 0; i < HASHES_WORDS; i++)
        words[i] = atomic_load_explicit(&slot->hash[i], memory_order_acquire);
    if (before & 1 || atomic_load_explicit(&slot->writings, memory_order_relaxed) != before)
        return 0;
    memcpy(hash, words, sizeof words);
    hash[AUTH_HASH_MOST - 1] = '\0';
    return until;
}

apr_time_t auth_hashes_get(const auth_mark *key, char *hash)
{
    const hashes_slot *set;

    if (!hashes_sets)
        return 0;
    set = hashes_set(key);
    for (int i = 0; i < HASHES_WAYS; i++) {
        apr_time_t until;

        if (!slot_has(&set[i], key))
            continue;
        until = slot_copy(&set[i], hash);
        return slot_has(&set[i], key) && until > brg_monotonic_now() ? until : 0;
    }
    return 0;
}
