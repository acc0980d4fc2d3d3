/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which targets are answered from memory often, in memory that all processes share and that outlives reloads and
 * programs: a cache that begins anew stores them at their first request instead of the second.
 *
 *   hot_slot [sets][ways]: a hash of host and target, how often it was answered, and when last
 *
 * Nobody waits for it. Writers of one slot may overwrite each other: then a count is lower than it should be. Whoever
 * finds two targets of one hash makes the server store one answer sooner than another; no more hangs on it, so the hash has
 * no key.
 */
#include "cache_private.h"
#include "kept_memory.h"
#include "http_config.h"
#include "http_log.h"
#include "mpm_common.h"
#include <errno.h>
#include <stdatomic.h>

APLOG_USE_MODULE(core);

#define HOT_SETS 512
#define HOT_WAYS 8
#define HOT_FADE_S 60     /* half of a count is forgotten in this time */
#define HOT_FORGET_S 3600 /* an entry unused for so long is not hot */

typedef struct hot_slot {
    _Atomic uint64_t hash;        /* 0: empty */
    _Atomic uint32_t count, seen; /* seen: seconds of clock_monotonic() */
} hot_slot;

static hot_slot *hot; /* NULL: there is no memory for it */

static int hot_begin(apr_pool_t *p, ap_scoreboard_e type)
{
    if (hot)
        return OK;
    hot = kept_memory_map("hot-targets-1", HOT_SETS * HOT_WAYS * sizeof *hot);
    if (!hot)
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, NULL,
                     "no memory for the list of hot targets: caches begin without it");
    return OK;
}

void cache_hot_register(void)
{
    ap_hook_pre_mpm(hot_begin, NULL, NULL, APR_HOOK_MIDDLE);
}

static uint64_t hot_add(uint64_t hash, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)s[i]) * 1099511628211u;
    return (hash ^ len) * 1099511628211u;
}

/* The first slot of the set that a target has one in. */
static hot_slot *hot_set(const char *host, size_t host_len, const char *uri, size_t uri_len,
                         uint64_t *hash)
{
    *hash = hot_add(hot_add(14695981039346656037u, host, host_len), uri, uri_len);
    *hash += !*hash;
    return hot + (*hash >> 40) % HOT_SETS * HOT_WAYS;
}

static uint32_t hot_value(const hot_slot *slot, uint32_t now)
{
    const uint32_t halved = (now - atomic_load(&slot->seen)) / HOT_FADE_S;

    return halved < 32 ? atomic_load(&slot->count) >> halved : 0;
}

static hot_slot *hot_find(hot_slot *set, uint64_t hash)
{
    for (int i = 0; i < HOT_WAYS; i++)
        if (atomic_load(&set[i].hash) == hash)
            return set + i;
    return NULL;
}

static hot_slot *hot_least(hot_slot *set, uint32_t now)
{
    hot_slot *least = set;

    for (int i = 1; i < HOT_WAYS; i++)
        if (hot_value(set + i, now) < hot_value(least, now))
            least = set + i;
    BRG_ASSERT(least >= hot && least < hot + HOT_SETS * HOT_WAYS);
    return least;
}

void cache_hot_note(const char *host, size_t host_len, const char *uri, size_t uri_len, uint32_t n,
                    apr_time_t now)
{
    const uint32_t second = (uint32_t)apr_time_sec(now);
    hot_slot *set, *slot;
    uint64_t hash;

    BRG_ASSERT(n > 0);
    if (!hot)
        return;
    set = hot_set(host, host_len, uri, uri_len, &hash);
    slot = hot_find(set, hash);
    if (slot) {
        n += hot_value(slot, second);
    } else {
        slot = hot_least(set, second);
        if (hot_value(slot, second) > n)
            return;
        atomic_store(&slot->hash, hash);
    }
    atomic_store(&slot->count, n);
    atomic_store(&slot->seen, second);
}

int cache_hot_is(const char *host, size_t host_len, const char *uri, size_t uri_len, apr_time_t now)
{
    const hot_slot *slot;
    hot_slot *set;
    uint64_t hash;

    if (!hot)
        return 0;
    set = hot_set(host, host_len, uri, uri_len, &hash);
    slot = hot_find(set, hash);
    return slot && (uint32_t)apr_time_sec(now) - atomic_load(&slot->seen) < HOT_FORGET_S;
}
