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

struct resolution_lent {
    resolution_cache cache;
    resolution_entry *bucket;
    resolution_entry *entry, *twin; /* held */
};

static _Thread_local resolution_lent *lend_here;

resolution_cache *resolution_lent_cache(void)
{
    return lend_here ? &lend_here->cache : NULL;
}

void resolution_lent_begin(brg_conn *bc)
{
    lend_here = bc->lent;
}

void resolution_lent_end(void)
{
    lend_here = NULL;
}

/* ---- on the loop, on the way to a worker ---- */

static resolution_entry *lend_twin(resolution_lent *lent, const resolution_entry *e, request_rec *r)
{
    resolution_entry *t = resolution_add(&lent->cache, e->listener, e->chain, e->key, e->host_len,
                                         e->key + e->host_len, e->uri_len, e->hash);

    if (!t)
        return NULL;
    resolution_hold(t);
    t->watched = 1;
    t->server = e->server;
    if (!resolution_selectors_take(&lent->cache, t, r) && (t->basis = strdup(e->basis)) != NULL)
        return t;
    resolution_forget(&lent->cache, t);
    resolution_release(t);
    return NULL;
}

static void lend_entry(resolution_cache *c, resolution_entry *e, brg_conn *bc, request_rec *r)
{
    resolution_lent *lent = calloc(1, sizeof *lent);

    if (!lent)
        return;
    lent->cache.is_lent = 1;
    lent->cache.watch = c->watch; /* says that there is one; the twin has no watches */
    lent->cache.bucket = &lent->bucket;
    lent->cache.buckets_n = 1;
    lent->cache.files_most = 1;
    if (!(lent->twin = lend_twin(lent, e, r))) {
        free(lent);
        return;
    }
    lent->entry = e;
    e->lent = 1;
    resolution_hold(e);
    bc->lent = lent;
}

void resolution_lend(brg_conn *bc, request_rec *r)
{
    resolution_cache *c = resolution_store_cache();
    resolution_entry *e;

    if (!c || !c->watch || !resolution_offer_early(r))
        return;
    e = resolution_primed_for(c, r);
    if (e && !e->filled && !e->hopeless && !e->lent && e->watched && !e->owner.changed)
        lend_entry(c, e, bc, r);
    request_offer_drop(r);
}

/* ---- and back ---- */

static void lend_move_head(resolution_head *to, resolution_head *from)
{
    resolution_head_drop(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static void lend_adopt(resolution_cache *c, resolution_entry *e, resolution_entry *t)
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
    free(e->basis);
    e->basis = NULL;
    c->fills++;
}

void resolution_take_back(brg_conn *bc)
{
    resolution_cache *c = bc->loop->cache;
    resolution_lent *lent = bc->lent;
    resolution_entry *e, *t;

    if (!lent)
        return;
    bc->lent = NULL;
    e = lent->entry;
    t = lent->twin;
    e->lent = 0;
    if (t->filled && e->in_cache && !e->filled && !e->owner.changed)
        lend_adopt(c, e, t);
    else if (!e->filled)
        e->hopeless = t->hopeless || ++e->tries >= LEND_TRIES;
    if (t->in_cache)
        resolution_forget(&lent->cache, t);
    resolution_release(t);
    resolution_release(e);
    free(lent);
    resolution_trim(c, core_conf_of(bc->loop->server));
}
