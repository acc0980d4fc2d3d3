/* SPDX-License-Identifier: Apache-2.0 */
/* The table of stored answers, their sizes, and displacement. */
#include "cache_absent_private.h"
#include "cache_alike_private.h"
#include "cache_observed_private.h"
#include "cache_parts_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "universal_hash.h"
#include <stdlib.h>
#include <string.h>

/* Victims that are looked at for one new answer. */
#define VICTIMS_MOST 64

/* ---- look-up ---- */

uint64_t cache_hash(const cache_place *at, const char *host, size_t host_len, const char *uri,
                    size_t uri_len)
{
    const uint64_t seed = (uint64_t)(uintptr_t)at->listener ^ (uint64_t)(uintptr_t)at->chain << 16 ^
                          (uint64_t)at->protocol << 8;

    return universal_hash(seed, host, host_len, uri, uri_len);
}

static inline __attribute__((always_inline)) cache_entry *
table_find(response_cache *c, const cache_place *at, const char *host, size_t host_len,
           const char *uri, size_t uri_len, const cache_asked *asked, uint64_t h)
{
    cache_entry *e = c->bucket[h & (c->buckets_n - 1)];

    for (; e; e = e->next)
        if (e->hash == h && e->host_len == host_len && e->uri_len == uri_len &&
            e->listener == at->listener && e->chain == at->chain && e->protocol == at->protocol &&
            !memcmp(e->key, host, host_len) && !memcmp(e->key + host_len, uri, uri_len) &&
            (e->vary_n == e->gated || cache_vary_matches(c, e, asked)))
            return e;
    return NULL;
}

/* The query consists of the characters that RFC 3986, 3.4 has for queries: a target with others may be refused. */
static int cache_query_is_regular(const char *query, size_t len)
{
    static const char others[] = "-._~!$&'()*+,;=:@/?%";

    for (size_t i = 0; i < len; i++) {
        char c = query[i], letter = (char)(c | 0x20);

        if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') &&
            !memchr(others, c, sizeof others - 1))
            return 0;
    }
    return 1;
}

size_t cache_path_len(const char *uri, size_t uri_len)
{
    const char *mark = memchr(uri, '?', uri_len);
    size_t len = mark ? (size_t)(mark - uri) : uri_len;

    return mark && cache_query_is_regular(mark + 1, uri_len - len - 1) ? len : uri_len;
}

/* An entry that is for its path with any query. Apart, so that a plain hit saves no registers for it. */
static __attribute__((noinline)) cache_entry *
table_find_path(response_cache *c, const cache_place *at, const char *host, size_t host_len,
                const char *uri, size_t uri_len, const cache_asked *asked)
{
    const size_t path_len = cache_path_len(uri, uri_len);
    cache_entry *e;

    if (path_len == uri_len)
        return NULL;
    e = table_find(c, at, host, host_len, uri, path_len, asked,
                   cache_hash(at, host, host_len, uri, path_len));
    return e && e->any_query ? e : NULL;
}

cache_entry *cache_find(response_cache *c, const cache_place *at, const char *host, size_t host_len,
                        const char *uri, size_t uri_len, const cache_asked *asked, uint64_t *hash)
{
    cache_entry *e;

    *hash = cache_hash(at, host, host_len, uri, uri_len);
    e = table_find(c, at, host, host_len, uri, uri_len, asked, *hash);
    return e ? e : table_find_path(c, at, host, host_len, uri, uri_len, asked);
}

int cache_same_key(const cache_entry *a, const cache_entry *b)
{
    return a->host_len == b->host_len && a->uri_len == b->uri_len && a->listener == b->listener &&
           a->chain == b->chain && a->protocol == b->protocol &&
           !memcmp(a->key, b->key, a->host_len + a->uri_len);
}

/* ---- by last use ---- */

static void queue_take_out(response_cache *c, cache_entry *e)
{
    cache_queue *q = &c->queue[e->queue];

    *(e->newer ? &e->newer->older : &q->newest) = e->older;
    *(e->older ? &e->older->newer : &q->oldest) = e->newer;
}

static void queue_put(response_cache *c, cache_entry *e)
{
    cache_queue *q = &c->queue[e->queue];

    e->newer = NULL;
    e->older = q->newest;
    *(q->newest ? &q->newest->newer : &q->oldest) = e;
    q->newest = e;
    e->moved = ++q->moves;
}

/* Entries with an open file have a list of their own, since they are few: displacement need not
 * search all. */
static void files_take_out(response_cache *c, cache_entry *e)
{
    if (!e->has_file)
        return;
    *(e->file_newer ? &e->file_newer->file_older : &c->file_newest) = e->file_older;
    *(e->file_older ? &e->file_older->file_newer : &c->file_oldest) = e->file_newer;
    e->has_file = 0;
}

void cache_note_file(response_cache *c, cache_entry *e)
{
    BRG_ASSERT(e->in_cache);
    files_take_out(c, e);
    if (!e->body || e->body->fd < 0)
        return;
    e->has_file = 1;
    e->file_newer = NULL;
    e->file_older = c->file_newest;
    *(c->file_newest ? &c->file_newest->file_newer : &c->file_oldest) = e;
    c->file_newest = e;
}

/* One of the newest stays where it is: a busy entry does not write to its neighbours. */
void cache_touch(response_cache *c, cache_entry *e)
{
    const cache_queue *q = &c->queue[e->queue];
    cache_admission *a = &c->admission;

    if (!e->in_cache) /* it is lent: cache_route_entry() */
        return;
    admission_sample(a, c->entries_n);
    if (e->stamp.epoch != a->epoch)
        e->uses = (uint8_t)(a->epoch - e->stamp.epoch < ADMISSION_COUNT_BITS
                                ? e->uses >> (a->epoch - e->stamp.epoch)
                                : 0);
    e->uses += e->uses < ADMISSION_COUNT_MOST;
    e->stamp = admission_now(a);
    if (q->moves - e->moved > q->n / 4) {
        queue_take_out(c, e);
        queue_put(c, e);
        if (e->has_file)
            cache_note_file(c, e);
    }
}

/* ---- entries ---- */

static void table_grow(response_cache *c)
{
    uint32_t n = c->buckets_n * 2;
    cache_entry **bucket = calloc(n, sizeof *bucket), *e, *next;

    BRG_ASSERT(!c->is_workers && (c->buckets_n & (c->buckets_n - 1)) == 0);
    if (!bucket)
        return;
    for (uint32_t i = 0; i < c->buckets_n; i++)
        for (e = c->bucket[i]; e; e = next) {
            next = e->next;
            e->next = bucket[e->hash & (n - 1)];
            bucket[e->hash & (n - 1)] = e;
        }
    free(c->bucket);
    c->bucket = bucket;
    c->buckets_n = n;
}

/* Without the key of the hash nobody can make a long chain; should a chain get long, it is cut. */
static void table_bound_chain(response_cache *c, const cache_entry *e)
{
    cache_entry *last = NULL;
    int n = 0;

    for (cache_entry *o = e->next; o; o = o->next, n++)
        last = o;
    if (n >= CACHE_CHAIN_MOST)
        cache_forget(c, last);
}

/* The last reference is gone. */
static void entry_end(shared_ref *ref)
{
    cache_entry *e = (cache_entry *)(void *)((char *)ref - offsetof(cache_entry, ref));

    BRG_ASSERT(!e->in_cache && !e->owner.n);
    cache_observe_drop(e);
    cache_vary_drop(e);
    cache_head_drop(&e->head);
    cache_head_drop(&e->head_304);
    cache_ranges_drop(e);
    cache_body_put(e->body);
    cache_layers_drop(e);
    cache_lifetime_drop(e);
    cache_composed_drop(e);
    cache_plan_drop(e);
    free(e->path);
    free(e->fingerprint);
    free(e);
}

void cache_hold(cache_entry *e)
{
    shared_hold(&e->ref);
}

void cache_release(cache_entry *e)
{
    BRG_ASSERT(e->ref.n > 0);
    shared_release(&e->ref);
}

cache_entry *cache_add(response_cache *c, const cache_place *at, const char *host, size_t host_len,
                       const char *uri, size_t uri_len, uint64_t hash, int queue)
{
    cache_entry *e = cache_new(sizeof *e + host_len + uri_len + 1), **bucket;

    BRG_ASSERT(queue >= 0 && queue < CACHE_QUEUES);
    if (!e)
        return NULL;
    memcpy(e->key, host, host_len);
    memcpy(e->key + host_len, uri, uri_len);
    e->host_len = (uint32_t)host_len;
    e->uri_len = (uint32_t)uri_len;
    e->listener = at->listener;
    e->chain = at->chain;
    e->protocol = (uint8_t)at->protocol;
    e->hash = hash;
    e->queue = (uint8_t)queue;
    e->stamp = admission_now(&c->admission);
    e->ref = (shared_ref){1, entry_end};
    e->in_cache = 1;
    if (c->entries_n >= c->buckets_n && !c->is_workers)
        table_grow(c);
    bucket = &c->bucket[hash & (c->buckets_n - 1)];
    e->next = *bucket;
    *bucket = e;
    queue_put(c, e);
    c->queue[queue].n++;
    c->entries_n++;
    cache_account(c, e);
    table_bound_chain(c, e);
    return e;
}

void cache_forget(response_cache *c, cache_entry *e)
{
    cache_entry **p = &c->bucket[e->hash & (c->buckets_n - 1)];

    if (!e->in_cache)
        return;
    BRG_ASSERT(e->ref.n > 0 && c->entries_n > 0);
    BRG_ASSERT(c->is_workers || !c->loop || loop_self() == c->loop || !loop_self());
    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
    queue_take_out(c, e);
    files_take_out(c, e);
    cache_absent_drop(c, e);
    cache_alike_drop(c, e);
    cache_sources[e->source].end(c, e);
    if (e->body)
        cache_body_unuse(c, e->body);
    BRG_ASSERT(c->queue[e->queue].bytes >= e->bytes && c->bytes >= e->bytes);
    c->entries_n--;
    c->queue[e->queue].n--;
    c->queue[e->queue].bytes -= e->bytes;
    c->bytes -= e->bytes;
    e->in_cache = 0;
    cache_release(e);
}

/* ---- memory ---- */

/* A head is stored in a neutral form, and in that of each protocol once that has been used. */
static size_t head_bytes(const cache_head *head)
{
    size_t one = head->answer ? cache_block(head->answer->bytes) : 0;

    return one * (CONN_PROTOCOLS + (conn_protocol_of(CONN_HTTP3) != NULL));
}

static size_t text_bytes(const char *text)
{
    return text ? cache_block(strlen(text) + 1) : 0;
}

static size_t ranges_bytes(const cache_ranges *ranges)
{
    if (!ranges)
        return 0;
    return cache_block(sizeof *ranges) + head_bytes(&ranges->part) + head_bytes(&ranges->parts) +
           head_bytes(&ranges->outside) + (ranges->page ? cache_block(ranges->page_len) : 0) +
           text_bytes(ranges->part_type);
}

static size_t entry_bytes(const cache_entry *e)
{
    return cache_block(sizeof *e + e->host_len + e->uri_len + 1) + cache_vary_bytes(e) +
           head_bytes(&e->head) + head_bytes(&e->head_304) + ranges_bytes(e->ranges) +
           cache_observed_bytes(e) + text_bytes(e->path) + text_bytes(e->fingerprint) +
           cache_layers_bytes(e) + cache_lifetime_bytes(e) + cache_composed_bytes(e) +
           cache_plan_bytes(e) + cache_absent_bytes(e) + cache_alike_bytes(e) +
           (e->filled || e->uncacheable ? 0 : e->reserved);
}

void cache_account(response_cache *c, cache_entry *e)
{
    size_t bytes = entry_bytes(e);

    BRG_ASSERT(e->in_cache && e->queue < CACHE_QUEUES);
    c->queue[e->queue].bytes += bytes - e->bytes;
    c->bytes += bytes - e->bytes;
    e->bytes = bytes;
}

size_t cache_bytes(const response_cache *c)
{
    return c->bytes + (c->watch ? watch_bytes(c->watch) : 0);
}

/* ---- displacement ---- */

size_t cache_bytes_most(const response_cache *c, const brg_core_conf *conf)
{
    return conf->file_cache_bytes == BRG_FILE_CACHE_BY_MEMORY ? c->bytes_most
                                                              : (size_t)conf->file_cache_bytes;
}

typedef struct cache_limits {
    size_t entries, bytes;
} cache_limits;

static cache_limits limits_of(const response_cache *c, const brg_core_conf *conf, int queue)
{
    cache_limits l = {(size_t)conf->file_cache_entries_n, cache_bytes_most(c, conf)};

    if (queue == CACHE_ERRORS) {
        l.entries = l.entries / CACHE_ERRORS_PART + 1;
        l.bytes = l.bytes / CACHE_ERRORS_PART + 1;
    }
    return l;
}

/* An error depends on names that do not exist, which are not shared as a rule: their size is
 * charged to the share of errors. */
static size_t error_bytes(const response_cache *c)
{
    return c->queue[CACHE_ERRORS].bytes + c->queue[CACHE_ERRORS].n * 256;
}

static int is_over(const response_cache *c, const brg_core_conf *conf, int queue, size_t entries,
                   size_t bytes)
{
    cache_limits l = limits_of(c, conf, queue);

    if (queue == CACHE_ERRORS)
        return c->queue[queue].n + entries > l.entries || error_bytes(c) + bytes > l.bytes;
    return c->entries_n + entries > l.entries || cache_bytes(c) + bytes > l.bytes;
}

static void displace(response_cache *c, cache_entry *e)
{
    BRG_ASSERT(e->in_cache && !c->is_workers);
    admission_keep(&c->admission, e->hash, admission_uses(&c->admission, e->uses, e->stamp));
    c->figures.displaced++;
    cache_forget(c, e);
}

static unsigned entry_uses(response_cache *c, cache_entry *e)
{
    if (cache_sources[e->source].has_changed(c, e))
        return 0; /* it would never be sent again */
    return admission_uses(&c->admission, e->uses, e->stamp);
}

/* Bytes that are free when e has gone, at least. */
static size_t entry_frees(const cache_entry *e)
{
    return e->bytes + (e->body && e->body->users == 1 ? e->body->bytes : 0);
}

/* Entries that would go for a new answer: the first of the queue. Each counts for one use more than
 * it has: requests in turn differ by one, and many small entries that go for one would be armed
 * anew. */
typedef struct table_victims {
    size_t n, bytes;
    unsigned uses;
} table_victims;

static table_victims victims_for(response_cache *c, int queue, size_t need)
{
    table_victims v = {0, 0, 0};
    cache_entry *e = c->queue[queue].oldest;

    for (; e && v.n < VICTIMS_MOST && (!v.n || v.bytes < need); e = e->newer) {
        v.n++;
        v.bytes += entry_frees(e);
        v.uses += entry_uses(c, e) + 1;
    }
    return v;
}

int cache_make_room(response_cache *c, const brg_core_conf *conf, int queue, unsigned count,
                    size_t bytes)
{
    int by_bytes = is_over(c, conf, queue, 0, bytes);
    table_victims v;

    BRG_ASSERT(!c->is_workers); /* a shadow cache has one entry, which is there */
    if (bytes > limits_of(c, conf, queue).bytes)
        return 0;
    if (!by_bytes && !is_over(c, conf, queue, 1, 0))
        return 1;
    if (by_bytes && queue == CACHE_ANSWERS)
        c->admission.full = 1;
    v = victims_for(c, queue, by_bytes ? bytes : 0);
    if (!v.n || !(by_bytes ? admission_is_denser(count, bytes, v.uses, v.bytes) : count > v.uses))
        return 0;
    while (v.n-- && c->queue[queue].oldest && is_over(c, conf, queue, 1, bytes))
        displace(c, c->queue[queue].oldest);
    return !is_over(c, conf, queue, 1, bytes);
}

/* The least recently used entries close their files. */
static void trim_files(response_cache *c)
{
    while (c->file_oldest && c->files_n > c->files_most)
        displace(c, c->file_oldest);
}

/* An entry that a worker filled counts when its loop takes it over. */
void cache_trim(response_cache *c, const brg_core_conf *conf)
{
    if (c->is_workers)
        return;
    for (int queue = CACHE_QUEUES; queue-- > 0;)
        while (c->queue[queue].oldest && is_over(c, conf, queue, 0, 0))
            displace(c, c->queue[queue].oldest);
    if (c->files_n > c->files_most)
        trim_files(c);
}
