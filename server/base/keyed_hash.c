/* SPDX-License-Identifier: Apache-2.0 */
/* The random key of hash tables. */
#include "keyed_hash.h"
#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t keyed_hash_key[2];

/* Without getrandom (refused by a filter of system calls, say) weaker sources have to do. */
static void seed_weakly(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    keyed_hash_key[0] = (uint64_t)(uintptr_t)&now ^ (uint64_t)now.tv_nsec << 32;
    keyed_hash_key[1] = (uint64_t)(uintptr_t)&seed_weakly ^ (uint64_t)getpid() << 40;
}

static void seed_once(void)
{
    if (getrandom(keyed_hash_key, sizeof keyed_hash_key, 0) != (ssize_t)sizeof keyed_hash_key)
        seed_weakly();
}

void keyed_hash_seed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, seed_once);
}
