/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CacheRefreshAhead: an answer that is asked for shortly before it becomes stale is sent, and then its backend is asked, as for
 * stale-while-revalidate. So no client waits for an answer that is asked for often. A backend gets a bounded number of these
 * requests at a time.
 */
#include "cached_private.h"
#include "conn.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AHEAD_BACKENDS 256 /* places for counts; backends that share one share its limit */
#define AHEAD_USUAL 8

#define AHEAD_VAIN 1024 /* keys for which it was in vain */
#define AHEAD_VAIN_S 10 /* for so long */

static _Atomic uint32_t ahead_now[AHEAD_BACKENDS]; /* of this process */
static _Atomic uint64_t ahead_vain[AHEAD_VAIN];    /* part of a key, until when in seconds */

const char *cached_refresh_cmd(cmd_parms *cmd, void *dir, const char *span, const char *most)
{
    cached_section *section = dir;
    char *end;
    const long n = strtol(span, &end, 10);
    const int is_part = *end == '%';

    (void)cmd;
    section->ahead_most = AHEAD_USUAL;
    if (!strcasecmp(span, "Off")) {
        section->ahead = 0;
        return most ? "CacheRefreshAhead Off has no second argument" : NULL;
    }
    if (end == span || end[is_part] || n < 1 || n > (is_part ? 50 : 86400))
        return "CacheRefreshAhead must be Off, seconds from 1 to 86400, or a part of the lifetime "
               "from 1% to 50%";
    section->ahead = n;
    section->ahead_is_part = (uint8_t)is_part;
    if (most) {
        const long requests = strtol(most, &end, 10);

        if (end == most || *end || requests < 1 || requests > 10000)
            return "CacheRefreshAhead: requests at a time to one backend are a number from 1 to "
                   "10000";
        section->ahead_most = (uint16_t)requests;
    }
    return NULL;
}

/* At most half of the lifetime, else each request would fetch. */
apr_time_t cached_refresh_of(const cached_section *section, const fresh_terms *terms)
{
    const apr_time_t all = apr_time_from_sec(terms->lifetime), wanted = section->ahead;

    if (wanted <= 0)
        return fresh_until(terms);
    return fresh_until(terms) - (section->ahead_is_part                ? all / 100 * wanted
                                 : apr_time_from_sec(wanted) < all / 2 ? apr_time_from_sec(wanted)
                                                                       : all / 2);
}

/* 1 if it was tried lately in vain: the backend failed, or its answer cannot be stored any more. */
static int ahead_is_vain(const cached_request *q)
{
    const store_key *key = q->key.has_variant ? &q->key.variant : &q->key.hash;
    const uint64_t vain =
        atomic_load_explicit(&ahead_vain[key->a % AHEAD_VAIN], memory_order_relaxed);

    return vain >> 32 == key->b >> 32 && (uint32_t)vain > (uint64_t)apr_time_sec(brg_now());
}

static void ahead_was_vain(const cached_request *q)
{
    const store_key *key = q->key.has_variant ? &q->key.variant : &q->key.hash;
    const uint64_t until = (uint64_t)apr_time_sec(brg_now()) + AHEAD_VAIN_S;

    atomic_store_explicit(&ahead_vain[key->a % AHEAD_VAIN],
                          key->b >> 32 << 32 | (until & UINT32_MAX), memory_order_relaxed);
}

int cached_refresh_is_due(const cached_request *q)
{
    return q->found.use == FRESH_SERVE && !q->found.soft && !q->found.alone &&
           fresh_is_get(&q->request) && cached_section_of(q->first)->ahead > 0 && conn_on_loop() &&
           cached_server_of(q->r->server)->lock != CACHED_OFF &&
           brg_now() >= cached_refresh_of(cached_section_of(q->first), &q->found.terms) &&
           !ahead_is_vain(q);
}

/* "proxy:http://host:port/path": the host and port, or the name of a balancer. */
static _Atomic uint32_t *ahead_count(const request_rec *r)
{
    const char *at = r->filename ? strstr(r->filename, "://") : NULL;
    uint32_t hash = 2166136261u;

    for (at = at ? at + 3 : ""; *at && *at != '/'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return &ahead_now[hash % AHEAD_BACKENDS];
}

int cached_refresh_begin(cached_request *q)
{
    _Atomic uint32_t *count = ahead_count(q->r);
    const uint16_t given = cached_section_of(q->first)->ahead_most;

    BRG_ASSERT(!q->lead.counts);
    if (atomic_fetch_add(count, 1) >= (given ? given : AHEAD_USUAL)) {
        atomic_fetch_sub(count, 1);
        return 0;
    }
    q->lead.counts = count;
    return 1;
}

void cached_refresh_end(cached_request *q)
{
    if (!q->lead.counts)
        return;
    BRG_ASSERT(atomic_load(q->lead.counts) > 0);
    atomic_fetch_sub(q->lead.counts, 1);
    q->lead.counts = NULL;
    if (q->stale.answered && !q->save.renewed)
        ahead_was_vain(q);
}
