/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that a worker makes, since it takes long to compress them, and that the loop stores.
 *
 * The loop arms an entry when the request leaves for a worker. The next such request takes a cache
 * of its own along, whose only entry is a shadow of the armed one; offers on the worker go there.
 * When the connection is back, the loop moves the content of the shadow entry into its own entry,
 * if nothing changed in between. The two threads never touch the same cache.
 *
 * | State of the hand-over | Moved on by                       | Owner of shadow cache and entry |
 * |------------------------|-----------------------------------|---------------------------------|
 * | begun                  | cache_to_worker(), on the loop    | the loop, then with bc the worker |
 * | in use                 | cache_worker_fill_begin()         | the worker                      |
 * | over                   | cache_worker_fill_end()           | the worker, then with bc the loop |
 * | taken back             | cache_from_worker(), on the loop  | nobody: it is freed             |
 */
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include <stdlib.h>
#include <string.h>

#define FILL_TRIES 4 /* runs that may fail to fill an entry, before it is left alone */

typedef struct cache_worker_fill {
    response_cache cache;
    cache_entry *bucket;
    cache_entry *entry, *shadow; /* held */
} cache_worker_fill;

static _Thread_local cache_worker_fill *fill_here;

response_cache *cache_of_worker(void)
{
    return fill_here ? &fill_here->cache : NULL;
}

void cache_worker_fill_begin(brg_conn *bc)
{
    BRG_ASSERT(!fill_here); /* a worker serves one request at a time */
    BRG_ASSERT(!bc->work.kept.fill || bc->work.kept.fill->entry->fill);
    fill_here = bc->work.kept.fill;
}

void cache_worker_fill_end(void)
{
    BRG_ASSERT(!conn_on_loop());
    fill_here = NULL;
}

/* A worker answers the first request for a file that must be read from the disk, and the loop the
 * following ones: count it for admission. */
void cache_seen_on_worker(request_rec *r)
{
    brg_conn *bc = connection_of(r->connection);
    const char *host;
    cache_place at;

    if (loop_self() || r->main || r->prev || r->no_cache || !cache_request_is_plain(r))
        return;
    host = apr_table_get(r->headers_in, "Host");
    at = cache_place_of(bc);
    bc->work.kept.asked = cache_hash(&at, host, strlen(host), r->unparsed_uri, cache_target_len(r));
}

/* ---- on the loop, on the way to a worker ---- */

static cache_entry *shadow_create(cache_worker_fill *work, const cache_entry *e, request_rec *r)
{
    const cache_place at = {e->listener, e->chain, e->protocol};
    cache_entry *t = cache_add(&work->cache, &at, e->key, e->host_len, e->key + e->host_len,
                               e->uri_len, e->hash, e->queue);

    if (!t)
        return NULL;
    cache_hold(t);
    t->source = CACHE_SOURCE_LOOP;
    t->any_query = e->any_query;
    t->server = e->server;
    if (!cache_vary_take(&work->cache, t, r) && (t->fingerprint = strdup(e->fingerprint)) != NULL)
        return t;
    cache_forget(&work->cache, t);
    cache_release(t);
    return NULL;
}

static void fill_begin(response_cache *c, cache_entry *e, brg_conn *bc, request_rec *r)
{
    cache_worker_fill *work = calloc(1, sizeof *work);

    if (!work)
        return;
    work->cache.is_workers = 1;
    work->cache.watches = c->watches;
    work->cache.bucket = &work->bucket;
    work->cache.buckets_n = 1;
    work->cache.files_most = 1;
    if (!(work->shadow = shadow_create(work, e, r))) {
        free(work);
        return;
    }
    BRG_ASSERT(!bc->work.kept.fill && !e->fill && e->in_cache);
    work->entry = e;
    e->fill = 1;
    cache_hold(e);
    bc->work.kept.fill = work;
}

void cache_to_worker(brg_conn *bc, request_rec *r)
{
    response_cache *c = cache_store_cache();
    cache_entry *e;

    if (!c || !c->watch || !cache_offer_early(r))
        return;
    e = cache_armed_for(c, r);
    if (e && !e->filled && !e->uncacheable && !e->plans && !e->fill &&
        !cache_sources[e->source].fills_at_once && !cache_sources[e->source].has_changed(c, e))
        fill_begin(c, e, bc, r);
    request_offer_drop(r);
}

/* ---- and back ---- */

static void move_head(cache_head *to, cache_head *from)
{
    cache_head_drop(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static void adopt(response_cache *c, cache_entry *e, response_cache *from, cache_entry *t)
{
    BRG_ASSERT(from->is_workers && !c->is_workers);
    BRG_ASSERT(t->in_cache && !e->fill && !e->body); /* one owner of all that is taken over */
    move_head(&e->head, &t->head);
    if ((e->body = t->body) != NULL) {
        cache_body_unuse(from, t->body);
        cache_body_use(c, e->body);
        cache_note_file(c, e);
    }
    free(e->path);
    cache_observe_drop(e);
    e->path = t->path;
    e->log = t->log;
    t->body = NULL;
    t->path = NULL;
    t->log = NULL;
    e->frame_before = t->frame_before;
    e->frame_after = t->frame_after;
    e->coded = t->coded;
    e->observed = t->observed;
    cache_set_status(e, t->status);
    e->server = t->server;
    e->count = t->count;
    e->identity = t->identity;
    e->checked = t->checked;
    e->mtime = t->mtime;
    memcpy(e->last_modified, t->last_modified, sizeof e->last_modified);
    memcpy(e->etag, t->etag, sizeof e->etag);
    e->last_modified_len = t->last_modified_len;
    e->etag_len = t->etag_len;
    e->filled = 1;
    e->filled_304 = 0;
    free(e->fingerprint);
    e->fingerprint = NULL;
    c->figures.filled++;
    cache_account(c, e);
}

static void count_asked(response_cache *c, brg_conn *bc)
{
    if (bc->work.kept.asked && c->buckets_n) {
        admission_sample(&c->admission, c->entries_n);
        (void)admission_count(&c->admission, bc->work.kept.asked);
    }
    bc->work.kept.asked = 0;
}

void cache_from_worker(brg_conn *bc)
{
    response_cache *c = bc->loop->cache;
    cache_worker_fill *work = bc->work.kept.fill;
    cache_entry *e, *t;

    BRG_ASSERT(loop_self() == bc->loop);
    count_asked(c, bc);
    if (!work)
        return;
    bc->work.kept.fill = NULL;
    e = work->entry;
    t = work->shadow;
    BRG_ASSERT(e->fill && work->cache.is_workers);
    e->fill = 0;
    if (t->filled && t->in_cache && e->in_cache && !e->filled && !e->body &&
        !cache_sources[e->source].has_changed(c, e))
        adopt(c, e, &work->cache, t);
    else if (!e->filled)
        e->uncacheable = t->uncacheable || ++e->tries >= FILL_TRIES;
    if (t->in_cache)
        cache_forget(&work->cache, t);
    cache_release(t);
    cache_release(e);
    free(work);
    cache_trim(c, core_conf_of(bc->loop->server));
}
