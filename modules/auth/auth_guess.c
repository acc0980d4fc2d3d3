/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong guesses are slowed down. Each takes a place in a bucket that empties with the time; while
 * it is full, credentials of that client that are not known already are refused without a look at
 * them. So neither the guessing nor the work that it makes goes faster than the buckets empty. One
 * bucket is of a client and a user, a larger one of the client: a mistyped password of one user
 * behind an address that many share does not keep the others out.
 *
 * Looking takes no lock: a value read in the middle of a write is off by one guess. */
#include "auth_memory.h"
#include "brigade/assert.h"
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

/* The bucket of that key, or else the first to be empty. */
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

/* @return until when its bucket is full, if it is */
static apr_time_t guess_add(const char *client, const char *user, apr_time_t each, int places,
                            apr_time_t now)
{
    apr_uint64_t key;
    guess_bucket *b;

    if (!guess_key(&key, client, user))
        return 0;
    BRG_ASSERT(places > 1 && each > 0);
    b = guess_find(key);
    if (b->of != key || b->empty < now)
        b->empty = now;
    b->of = key;
    b->empty += each;
    if (b->empty > now + places * each) /* it never holds more, however many threads add at once */
        b->empty = now + places * each;
    BRG_ASSERT(b->empty > now && b->empty <= now + places * each);
    return b->empty - (places - 1) * each;
}

/* ---- clients and users ---- */

/* Until when some client's guesses at a user are refused, by the user's hash; at any user; of any user by some client. */
#define GUESS_USERS 4096 /* a power of two */
static _Atomic apr_int64_t guess_user_until[GUESS_USERS], guess_users_until, guess_client_until;

static void guess_reach(_Atomic apr_int64_t *until, apr_time_t when)
{
    if (atomic_load_explicit(until, memory_order_relaxed) < when)
        atomic_store_explicit(until, when, memory_order_relaxed);
}

static int guess_lasts(const _Atomic apr_int64_t *until, apr_time_t now)
{
    return atomic_load_explicit(until, memory_order_relaxed) > now;
}

/* @return 0: it has no place */
static int guess_user_place(const char *user, apr_size_t len, apr_uint64_t *place)
{
    const auth_piece piece = {user, len};
    auth_mark mark;

    if (!auth_mark_make(&mark, 'U', &piece, 1))
        return 0;
    *place = mark.word[0] & (GUESS_USERS - 1);
    BRG_ASSERT(*place < GUESS_USERS);
    return 1;
}

int auth_guess_is_quiet(void)
{
    const apr_time_t now = brg_monotonic_now();

    return !guess_lasts(&guess_client_until, now) && !guess_lasts(&guess_users_until, now);
}

int auth_guess_concerns(const char *user)
{
    const apr_time_t now = brg_monotonic_now();
    apr_uint64_t place;

    return guess_lasts(&guess_client_until, now) || !guess_user_place(user, strlen(user), &place) ||
           guess_lasts(&guess_user_until[place], now);
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
    apr_uint64_t place;
    apr_time_t full;

    pthread_mutex_lock(&guess_lock);
    full = guess_add(client, user, GUESS_USER_US, GUESS_USER_PLACES, now);
    if (full > now) {
        guess_reach(&guess_users_until, full);
        if (guess_user_place(user, strlen(user), &place))
            guess_reach(&guess_user_until[place], full);
    }
    full = guess_add(client, NULL, GUESS_CLIENT_US, GUESS_CLIENT_PLACES, now);
    if (full > now)
        guess_reach(&guess_client_until, full);
    pthread_mutex_unlock(&guess_lock);
}
