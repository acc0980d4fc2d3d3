/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose handlers ask a backend (SetHandler "proxy:..." for scripts): no answer of them is stored, but what they are is. While
 * nothing of the path changes, the walk of the next request needs no system call.
 *
 *   state    what moves it on                             what the walk does
 *   -------  -------------------------------------------  ---------------------
 *   SEEN     asked for once more: put under watch         looks
 *   WATCHED  a request that began behind that: what its   looks
 *            walk saw is kept
 *   KNOWN    an event: it is dropped                      takes what is kept
 *   REFUSED  cannot be watched                            looks
 *
 * Places are found by hash, one for each; a place that is in use is kept for KNOWN_KEPT_US. */
#include "cache_private.h"
#include "brigade/loop.h"
#include "http_core.h"
#include "http_request.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define KNOWN_FILES 64 /* a power of two */
#define KNOWN_KEPT_US apr_time_from_sec(10)

enum { KNOWN_SEEN, KNOWN_WATCHED, KNOWN_KNOWN, KNOWN_REFUSED };

typedef struct known_file {
    char *path; /* NULL: the place is free */
    uint32_t hash;
    int state;
    apr_time_t used;    /* monotonic */
    apr_time_t watched; /* time of day */
    watch_owner owner;
    apr_finfo_t info;
} known_file;

struct cache_known {
    int n; /* in KNOWN_KNOWN */
    known_file file[KNOWN_FILES];
};

static uint32_t known_hash(const char *path)
{
    uint32_t h = 2166136261u;

    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 16777619u;
    return h ^ h >> 16;
}

static void known_drop(response_cache *c, known_file *k)
{
    BRG_ASSERT(k->path && c->known->n >= 0);
    if (k->state == KNOWN_KNOWN)
        c->known->n--;
    watch_remove(c->watch, &k->owner);
    free(k->path);
    memset(k, 0, sizeof *k);
}

void cache_known_end(response_cache *c)
{
    for (int i = 0; c->known && i < KNOWN_FILES; i++)
        if (c->known->file[i].path)
            known_drop(c, &c->known->file[i]);
    free(c->known);
    c->known = NULL;
}

/* ---- what the walk asks ---- */

static apr_status_t known_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    response_cache *c = cache_store_cache();
    known_file *k;
    uint32_t hash;

    if (!c || !c->known || !c->known->n)
        return AP_DECLINED;
    hash = known_hash(r->filename);
    k = &c->known->file[hash % KNOWN_FILES];
    if (k->state != KNOWN_KNOWN || k->hash != hash || (wanted & ~k->info.valid) ||
        strcmp(k->path, r->filename) != 0)
        return AP_DECLINED;
    if (watch_changed(c->watch, &k->owner)) {
        known_drop(c, k);
        return AP_DECLINED;
    }
    k->used = c->loop->monotonic;
    *finfo = k->info;
    finfo->fname = r->filename;
    finfo->pool = r->pool;
    return APR_SUCCESS;
}

/* ---- what handlers tell ---- */

/* @return 0: another one that is asked for has the place */
static int known_take(response_cache *c, known_file *k, uint32_t hash, const char *path)
{
    if (k->path && k->state != KNOWN_SEEN && c->loop->monotonic - k->used < KNOWN_KEPT_US)
        return 0;
    if (k->path)
        known_drop(c, k);
    k->path = strdup(path);
    k->hash = hash;
    return k->path != NULL;
}

static void known_watch(response_cache *c, known_file *k)
{
    BRG_ASSERT(k->state == KNOWN_SEEN);
    k->state = KNOWN_REFUSED;
    if (watch_is_layered(k->path) || watch_add(c->watch, &k->owner, k->path, 0))
        return;
    k->watched = brg_now();
    k->state = KNOWN_WATCHED;
}

/* What was seen before the watch began may be no more. */
static void known_keep(response_cache *c, known_file *k, const request_rec *r)
{
    if (watch_changed(c->watch, &k->owner)) {
        known_drop(c, k);
        return;
    }
    if (r->request_time <= k->watched)
        return;
    k->info = r->finfo;
    k->info.valid &= ~(APR_FINFO_LINK | APR_FINFO_NAME);
    k->state = KNOWN_KNOWN;
    c->known->n++;
}

void cache_known_note(const request_rec *r)
{
    response_cache *c = cache_store_cache();
    known_file *k;
    uint32_t hash;

    if (!c || !c->watch || r->main || r->prev || r->finfo.filetype != APR_REG ||
        r->filename[0] != '/')
        return;
    if (!c->known && !(c->known = calloc(1, sizeof *c->known)))
        return;
    hash = known_hash(r->filename);
    k = &c->known->file[hash % KNOWN_FILES];
    if (!k->path || k->hash != hash || strcmp(k->path, r->filename) != 0) {
        (void)known_take(c, k, hash, r->filename);
        return;
    }
    k->used = c->loop->monotonic;
    if (k->state == KNOWN_SEEN)
        known_watch(c, k);
    else if (k->state == KNOWN_WATCHED)
        known_keep(c, k, r);
}

void cache_known_register(void)
{
    ap_hook_dirwalk_stat(known_stat, NULL, NULL, APR_HOOK_MIDDLE);
}
