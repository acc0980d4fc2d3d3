/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong guesses are slowed down. Each takes a place in a bucket that empties with the time; while it is full, credentials
 * of that client that are not known already are refused without a look at them. So neither the guessing nor the work that
 * it makes goes faster than the buckets empty. One bucket is of a client and a user, a larger one of the client: a
 * mistyped password of one user behind an address that many share does not keep the others out.
 *
 * Looking takes no lock: what is read while it is written is of one guess more or less. */
#include "auth_memory.h"
#include "brigade/loop.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define GUESS_SETS 2048 /* a power of two */
#define GUESS_WAYS 4

/* Places of a bucket, and microseconds until one of them is free again. */
#define GUESS_USER_PLACES 20
#define GUESS_USER_US apr_time_from_sec(1)
#define GUESS_CLIENT_PLACES 100
#define GUESS_CLIENT_US apr_time_from_msec(200)

typedef struct guess_bucket {
    _Atomic apr_uint64_t of;
    _Atomic apr_int64_t empty; /* when it will be */
} guess_bucket;

static guess_bucket guess_table[GUESS_SETS][GUESS_WAYS];
static pthread_mutex_t guess_lock = PTHREAD_MUTEX_INITIALIZER;

static int guess_key(apr_uint64_t *key, const char *client, const char *user)
{
    const auth_piece piece[] = {{client, strlen(client)}, {user, user ? strlen(user) : 0}};
    auth_mark mark;

    if (!auth_mark_make(&mark, user ? 'u' : 'c', piece, user ? 2 : 1))
        return 0;
    *key = mark.word[0];
    return 1;
}

/* The bucket of that key, or else the one that is empty first. */
static guess_bucket *guess_find(apr_uint64_t key)
{
    guess_bucket *set = guess_table[key & (GUESS_SETS - 1)], *first = set;

    for (int i = 0; i < GUESS_WAYS; i++) {
        if (set[i].of == key)
            return &set[i];
        if (set[i].empty < first->empty)
            first = &set[i];
    }
    return first;
}

static int guess_is_full(const char *client, const char *user, apr_time_t most, apr_time_t now)
{
    apr_uint64_t key;
    const guess_bucket *b;

    if (!guess_key(&key, client, user))
        return 0;
    b = guess_find(key);
    return b->of == key && b->empty - now > most;
}

static void guess_add(const char *client, const char *user, apr_time_t each, apr_time_t now)
{
    apr_uint64_t key;
    guess_bucket *b;

    if (!guess_key(&key, client, user))
        return;
    b = guess_find(key);
    if (b->of != key || b->empty < now)
        b->empty = now;
    b->of = key;
    b->empty += each;
}

int auth_guess_is_refused(const char *client, const char *user)
{
    const apr_time_t now = brg_monotonic_now();

    return guess_is_full(client, user, (GUESS_USER_PLACES - 1) * GUESS_USER_US, now) ||
           guess_is_full(client, NULL, (GUESS_CLIENT_PLACES - 1) * GUESS_CLIENT_US, now);
}

void auth_guess_was_wrong(const char *client, const char *user)
{
    const apr_time_t now = brg_monotonic_now();

    pthread_mutex_lock(&guess_lock);
    guess_add(client, user, GUESS_USER_US, now);
    guess_add(client, NULL, GUESS_CLIENT_US, now);
    pthread_mutex_unlock(&guess_lock);
}
