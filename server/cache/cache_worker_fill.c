/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that a worker makes, since it takes long to compress them, and that the loop remembers.
 *
 * The loop primes an entry when the request leaves for a worker. The next such request takes a
 * cache of its own along, whose only entry is a twin of the primed one; what is offered on the
 * worker goes there. When the connection is back, the loop moves what the twin was filled with into
 * its entry, if nothing changed in between. The two never touch the same cache.
 */
#include "cache_private.h"
#include "request_parts.h"
#include "http_core.h"
#include "http_protocol.h"
#include <stdlib.h>
#include <string.h>

#define LEND_TRIES 4 /* runs that may fail to fill an entry, before it is left alone */

struct cache_worker_fill {
    response_cache cache;
    cache_entry *bucket;
    cache_entry *entry, *twin; /* held */
};

static _Thread_local cache_worker_fill *lend_here;

response_cache *cache_of_worker(void)
{
    return lend_here ? &lend_here->cache : NULL;
}

void cache_worker_fill_begin(brg_conn *bc)
{
    lend_here = bc->fill;
}

void cache_worker_fill_end(void)
{
    lend_here = NULL;
}

/* ---- on the loop, on the way to a worker ---- */

static cache_entry *lend_twin(cache_worker_fill *lent, const cache_entry *e, request_rec *r)
{
    cache_entry *t = cache_add(&lent->cache, e->listener, e->chain, e->key, e->host_len,
                               e->key + e->host_len, e->uri_len, e->hash);

    if (!t)
        return NULL;
    cache_hold(t);
    t->watched = 1;
    t->server = e->server;
    if (!cache_vary_take(&lent->cache, t, r) && (t->fingerprint = strdup(e->fingerprint)) != NULL)
        return t;
    cache_forget(&lent->cache, t);
    cache_release(t);
    return NULL;
}

static void lend_entry(response_cache *c, cache_entry *e, brg_conn *bc, request_rec *r)
{
    cache_worker_fill *lent = calloc(1, sizeof *lent);

    if (!lent)
        return;
    lent->cache.is_workers = 1;
    lent->cache.watch = c->watch; /* says that there is one; the twin has no watches */
    lent->cache.bucket = &lent->bucket;
    lent->cache.buckets_n = 1;
    lent->cache.files_most = 1;
    if (!(lent->twin = lend_twin(lent, e, r))) {
        free(lent);
        return;
    }
    lent->entry = e;
    e->fill = 1;
    cache_hold(e);
    bc->fill = lent;
}

void cache_to_worker(brg_conn *bc, request_rec *r)
{
    response_cache *c = cache_store_cache();
    cache_entry *e;

    if (!c || !c->watch || !cache_offer_early(r))
        return;
    e = cache_armed_for(c, r);
    if (e && !e->filled && !e->uncacheable && !e->fill && e->watched && !watch_changed(c->watch, &e->owner))
        lend_entry(c, e, bc, r);
    request_offer_drop(r);
}

/* ---- and back ---- */

static void lend_move_head(cache_head *to, cache_head *from)
{
    cache_head_drop(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static void lend_adopt(response_cache *c, cache_entry *e, cache_entry *t)
{
    lend_move_head(&e->head, &t->head);
    e->body = t->body;
    e->body_len = t->body_len;
    e->path = t->path;
    e->log = t->log;
    t->body = t->path = NULL;
    t->log = NULL;
    e->frame_before = t->frame_before;
    e->frame_after = t->frame_after;
    e->coded = t->coded;
    e->observed = t->observed;
    e->not_first = t->not_first;
    e->status = t->status;
    e->server = t->server;
    e->stat = t->stat;
    e->checked = t->checked;
    e->mtime = t->mtime;
    memcpy(e->last_modified, t->last_modified, sizeof e->last_modified);
    memcpy(e->etag, t->etag, sizeof e->etag);
    e->bytes += (size_t)e->body_len;
    c->bytes += (size_t)e->body_len;
    e->filled = 1;
    free(e->fingerprint);
    e->fingerprint = NULL;
}

void cache_from_worker(brg_conn *bc)
{
    response_cache *c = bc->loop->cache;
    cache_worker_fill *lent = bc->fill;
    cache_entry *e, *t;

    if (!lent)
        return;
    bc->fill = NULL;
    e = lent->entry;
    t = lent->twin;
    e->fill = 0;
    if (t->filled && e->in_cache && !e->filled && !watch_changed(c->watch, &e->owner))
        lend_adopt(c, e, t);
    else if (!e->filled)
        e->uncacheable = t->uncacheable || ++e->tries >= LEND_TRIES;
    if (t->in_cache)
        cache_forget(&lent->cache, t);
    cache_release(t);
    cache_release(e);
    free(lent);
    cache_trim(c, core_conf_of(bc->loop->server));
}
