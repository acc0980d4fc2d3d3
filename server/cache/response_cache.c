/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up in the resolution cache, and answers from it. cache_store.c fills it. */
#include "cache_private.h"
#include "scores.h"
#include "apr_date.h"
#include <string.h>
#include <unistd.h>

/* ---- table ---- */

uint64_t cache_mix(uint64_t h, const char *s, size_t len)
{
    uint64_t w;

    for (; len >= 8; s += 8, len -= 8) {
        memcpy(&w, s, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    w = len;
    while (len--)
        w = w << 8 | (unsigned char)*s++;
    h = (h ^ w) * 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 29);
}

cache_entry *cache_find(response_cache *c, const brg_listener *l, const void *chain,
                        const char *host, size_t host_len, const char *uri, size_t uri_len,
                        const cache_asked *asked, uint64_t *hash)
{
    cache_entry *e;
    uint64_t h = cache_mix((uint64_t)(uintptr_t)l ^ (uint64_t)(uintptr_t)chain, host, host_len);

    *hash = h = cache_mix(h, uri, uri_len);
    for (e = c->bucket[h & (c->buckets_n - 1)]; e; e = e->next)
        if (e->hash == h && e->host_len == host_len && e->uri_len == uri_len && e->listener == l &&
            e->chain == chain && !memcmp(e->key, host, host_len) &&
            !memcmp(e->key + host_len, uri, uri_len) &&
            (!e->vary_n || cache_vary_matches(c, e, asked)))
            return e;
    return NULL;
}

int cache_same_key(const cache_entry *a, const cache_entry *b)
{
    return a->host_len == b->host_len && a->uri_len == b->uri_len && a->listener == b->listener &&
           a->chain == b->chain && !memcmp(a->key, b->key, a->host_len + a->uri_len);
}

static void cache_unlink_age(response_cache *c, cache_entry *e)
{
    if (e->newer)
        e->newer->older = e->older;
    else
        c->newest = e->older;
    if (e->older)
        e->older->newer = e->newer;
    else
        c->oldest = e->newer;
}

static void cache_link_age(response_cache *c, cache_entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    if (c->newest)
        c->newest->newer = e;
    else
        c->oldest = e;
    c->newest = e;
}

void cache_touch(response_cache *c, cache_entry *e)
{
    if (c->newest == e)
        return;
    cache_unlink_age(c, e);
    cache_link_age(c, e);
}

static void cache_grow(response_cache *c)
{
    uint32_t n = c->buckets_n * 2;
    cache_entry **bucket = calloc(n, sizeof *bucket), *e, *next;

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

void cache_hold(cache_entry *e)
{
    shared_hold(&e->ref);
}

void cache_release(cache_entry *e)
{
    shared_release(&e->ref);
}

/* The last reference is gone. */
static void cache_end(shared_ref *ref)
{
    cache_entry *e = (cache_entry *)(void *)((char *)ref - offsetof(cache_entry, ref));

    if (e->fd >= 0)
        close(e->fd);
    cache_observe_drop(e);
    cache_vary_drop(e);
    cache_head_drop(&e->head);
    cache_head_drop(&e->head_304);
    free(e->body);
    free(e->path);
    free(e->fingerprint);
    free(e->key);
    free(e);
}

cache_entry *cache_add(response_cache *c, const brg_listener *l, const void *chain,
                       const char *host, size_t host_len, const char *uri, size_t uri_len,
                       uint64_t hash)
{
    cache_entry *e = calloc(1, sizeof *e), **p;

    if (!e || !(e->key = malloc(host_len + uri_len + 1))) {
        free(e);
        return NULL;
    }
    memcpy(e->key, host, host_len);
    memcpy(e->key + host_len, uri, uri_len);
    e->host_len = (uint32_t)host_len;
    e->uri_len = (uint32_t)uri_len;
    e->listener = l;
    e->chain = chain;
    e->hash = hash;
    e->fd = -1;
    e->ref = (shared_ref){1, cache_end};
    e->in_cache = 1;
    if (c->entries_n >= c->buckets_n)
        cache_grow(c);
    p = &c->bucket[hash & (c->buckets_n - 1)];
    e->next = *p;
    *p = e;
    cache_link_age(c, e);
    c->entries_n++;
    e->bytes = sizeof *e + host_len + uri_len;
    c->bytes += e->bytes;
    return e;
}

void cache_forget(response_cache *c, cache_entry *e)
{
    cache_entry **p = &c->bucket[e->hash & (c->buckets_n - 1)];

    if (!e->in_cache)
        return;
    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
    cache_unlink_age(c, e);
    if (c->watch && !c->is_workers) /* a shadow entry has no watches, and the set is the loop's */
        watch_remove(c->watch, &e->owner);
    c->entries_n--;
    c->bytes -= e->bytes;
    c->files_n -= e->fd >= 0;
    e->in_cache = 0;
    cache_release(e);
}

/* Those that were not used for longest let their files go. */
static void cache_trim_files(response_cache *c)
{
    cache_entry *e = c->oldest, *next;

    for (; e && c->files_n > c->files_most; e = next) {
        next = e->newer;
        if (e->fd >= 0)
            cache_forget(c, e);
    }
}

void cache_trim(response_cache *c, const brg_core_conf *conf)
{
    while (c->oldest && (c->entries_n > (uint32_t)conf->file_cache_entries_n ||
                         (apr_off_t)c->bytes > conf->file_cache_bytes))
        cache_forget(c, c->oldest);
    if (c->files_n > c->files_most)
        cache_trim_files(c);
}

/* ---- answering ---- */

static int head_is_simple(const http_head *h)
{
    const int16_t *k = h->known;

    return (h->method_id == HTTP_METHOD_GET || h->method_id == HTTP_METHOD_HEAD) && h->major == 1 &&
           h->uri[0] == '/' && !h->has_body && !h->repeated && !h->upgrade &&
           (k[HTTP_F_RANGE] & k[HTTP_F_IF_RANGE] & k[HTTP_F_IF_MATCH] &
            k[HTTP_F_IF_UNMODIFIED_SINCE] & k[HTTP_F_EXPECT] & k[HTTP_F_TRANSFER_ENCODING] &
            k[HTTP_F_CONTENT_LENGTH]) == -1;
}

static int entry_is_current(response_cache *c, cache_entry *e)
{
    const brg_core_conf *conf;

    if (e->watched)
        return !watch_changed(c->watch, &e->owner);
    conf = core_conf_of(e->server);
    if (conf->file_cache_validate == BRG_VALIDATE_AGE &&
        c->loop->now - e->checked < conf->file_cache_age_us)
        return 1;
    if (!cache_stat_same(e))
        return 0;
    e->checked = c->loop->now;
    return 1;
}

enum { COND_NONE, COND_NOT_MODIFIED, COND_ASK };

/* Apache's reading of RFC 9110 section 13.1.3: a date in the future says nothing. */
static int not_modified_since(apr_time_t mtime, apr_time_t since, apr_time_t now)
{
    return apr_time_sec(since) >= apr_time_sec(mtime) && since <= now;
}

/* The simple cases of RFC 9110 section 13; lists and weak tags are left to the full way. */
static int entry_condition(const cache_entry *e, const http_head *h, apr_time_t now)
{
    const http_field *f;

    if (h->known[HTTP_F_IF_NONE_MATCH] >= 0) {
        size_t len = strlen(e->etag);

        f = &h->field[h->known[HTTP_F_IF_NONE_MATCH]];
        if (!len || f->value_len < 2 || f->value[0] != '"' ||
            memchr(f->value + 1, '"', f->value_len - 2))
            return COND_ASK;
        return f->value_len == len && !memcmp(f->value, e->etag, len) ? COND_NOT_MODIFIED
                                                                      : COND_NONE;
    }
    if (h->known[HTTP_F_IF_MODIFIED_SINCE] >= 0) {
        char date[64];
        size_t len;

        f = &h->field[h->known[HTTP_F_IF_MODIFIED_SINCE]];
        len = f->value_len;
        if (!e->last_modified[0] || len >= sizeof date)
            return COND_ASK;
        if (len == strlen(e->last_modified) && !memcmp(f->value, e->last_modified, len))
            return COND_NOT_MODIFIED;
        memcpy(date, f->value, len);
        date[len] = '\0';
        return not_modified_since(e->mtime, apr_date_parse_http(date), now) ? COND_NOT_MODIFIED
                                                                            : COND_NONE;
    }
    return COND_NONE;
}

/* As ap_set_keepalive() decides. */
static int answer_keeps(const brg_conn *bc, const server_rec *s, const http_head *h)
{
    if (h->close || (h->minor == 0 && !h->keep_alive) || !s->keep_alive ||
        (s->keep_alive_max && (int)bc->requests >= s->keep_alive_max))
        return 0;
    return atomic_load_explicit(&loops_phase, memory_order_relaxed) == LOOPS_RUN;
}

/* @return its length; 0: it cannot be sent in this form, or there is no memory */
static size_t put_head(response_cache *c, cache_head *head, const brg_conn *bc, const server_rec *s,
                       const http_head *h, const http_codec *codec, int keep)
{
    http_stored_head *form = &head->form[codec->id];
    const http_answer_terms terms = {
        .now = c->loop->now,
        .close = !keep,
        .asked = h->keep_alive,
        .keep_alive_s = (long)apr_time_sec(s->keep_alive_timeout),
        .left = s->keep_alive_max ? s->keep_alive_max - (int)bc->requests : -1};
    size_t len;

    if (!form->text && codec->serialise(form, head->answer))
        return 0;
    len = codec->put(gather_head(&c->gather), form, head->answer, &terms);
    gather_add_head(&c->gather, len);
    return len;
}

static void put_body(response_cache *c, cache_entry *e, brg_conn *bc)
{
    if (e->body) {
        gather_add_body(&c->gather, e->body, (size_t)e->body_len, &e->ref);
        return;
    }
    gather_flush(&c->gather, bc, 1);
    gather_send_file(bc, &e->ref, e->fd, 0, e->body_len);
}

static int answer(response_cache *c, cache_entry *e, brg_conn *bc, const http_head *h,
                  const http_codec *codec, int not_modified)
{
    const server_rec *s = e->server;
    int frame = e->frame_before + e->frame_after;
    int keep = answer_keeps(bc, s, h), with_body = !not_modified && h->method_id == HTTP_METHOD_GET;
    size_t head_sent;

    if (!gather_has_room(&c->gather))
        gather_flush(&c->gather, bc, 0);
    head_sent = put_head(c, not_modified ? &e->head_304 : &e->head, bc, s, h, codec, keep);
    if (!head_sent)
        return 0;
    if (with_body && e->body_len)
        put_body(c, e, bc);
    if (!keep)
        bc->close_after = h->close || h->minor == 0 ? CONN_SHUT : CONN_DRAIN;
    bc->idle_until = c->loop->now + s->keep_alive_timeout;
    if (e->observed)
        cache_observe(e, bc, h, not_modified ? HTTP_NOT_MODIFIED : e->status,
                      head_sent + (size_t)(with_body ? frame : 0),
                      with_body ? e->body_len - frame : 0);
    return 1;
}

int cache_answer(response_cache *c, brg_conn *bc, const http_head *h, const http_codec *codec)
{
    const cache_asked asked = {.head = h};
    const http_field *host;
    cache_entry *e;
    uint64_t hash;
    int cond;

    if (!c->buckets_n || !head_is_simple(h) || h->known[HTTP_F_HOST] < 0 || bc->failed)
        return 0;
    host = &h->field[h->known[HTTP_F_HOST]];
    e = cache_find(c, bc->listener, bc->chain, host->value, host->value_len, h->uri, h->uri_len,
                   &asked, &hash);
    if (!e)
        return 0;
    if (!entry_is_current(c, e)) {
        cache_forget(c, e);
        return 0;
    }
    if (!e->filled ||
        ((e->status != HTTP_OK || e->coded || !e->body_len) && h->method_id != HTTP_METHOD_GET))
        return 0; /* the head of the answer to HEAD is another one */
    if (e->not_first && bc->requests == 0)
        return 0; /* it says which other protocols there are */
    if (e->frame_before && h->minor == 0)
        return 0; /* knows no chunks */
    cond = e->status == HTTP_OK ? entry_condition(e, h, c->loop->now) : COND_NONE;
    if (cond == COND_ASK || (cond == COND_NOT_MODIFIED && !e->head_304.answer))
        return 0;
    cache_touch(c, e);
    return answer(c, e, bc, h, codec, cond == COND_NOT_MODIFIED);
}

gather *cache_gather(response_cache *c)
{
    return &c->gather;
}

void cache_refresh(brg_loop *loop)
{
    if (loop->cache->watch && loop->cache->entries_n)
        watch_drain(loop->cache->watch);
}

void cache_create(brg_loop *loop)
{
    response_cache *c = apr_pcalloc(loop->pool, sizeof *c);
    const brg_core_conf *conf = core_conf_of(loop->server);

    loop->cache = c;
    c->loop = loop;
    c->files_most = loop->config->max_files / loop->config->n_loops;
    if (conf->file_cache_entries_n <= 0)
        return;
    c->buckets_n = 1024;
    c->bucket = calloc(c->buckets_n, sizeof *c->bucket);
    if (!c->bucket)
        c->buckets_n = 0;
    if (conf->file_cache_validate == BRG_VALIDATE_INOTIFY)
        c->watch = watch_set_create((size_t)conf->file_cache_entries_n);
}

void cache_destroy(brg_loop *loop)
{
    response_cache *c = loop->cache;

    while (c->oldest)
        cache_forget(c, c->oldest);
    if (c->watch)
        watch_set_destroy(c->watch);
    c->watch = NULL;
    free(c->bucket);
    c->bucket = NULL;
    c->buckets_n = 0;
}
